"""Which of the fireable transitions is chosen."""

import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Int, UInt32

from snpjax_formats.ell import expanded

from ...choice import (
    NO_RULE,
    AbstractChoice,
    FirstChoice,
    GivenChoices,
    NumberedChoice,
    UniformChoice,
    answer_of,
)
from .program import NetProgram
from .state import NetState


def check_choice(program: NetProgram, choice: AbstractChoice) -> None:
    """Refuse a choice that a net cannot make.

    **Raises:** `ValueError`.
    """
    if isinstance(choice, FirstChoice):
        return
    if program.has_order_only:
        raise ValueError(
            "The net comes with a total order of its transitions, which does not say between which "
            "of them there is a choice. Take FirstChoice(), or a net with priorities."
        )


def undominated(
    program: NetProgram, fireable: Bool[Array, "transitions *paths"]
) -> Bool[Array, "transitions *paths"]:
    """The fireable transitions that no fireable one beats, directly or through others."""
    above, below = program.beats
    if len(above) == 0:
        return fireable

    def more(carry):
        beaten, _ = carry
        source = (fireable | beaten).at[above].get(mode="fill", fill_value=False)
        new = beaten.at[below].max(source, mode="drop")
        return new, jnp.any(new != beaten)

    beaten, _ = lax.while_loop(
        lambda carry: carry[1], more, (jnp.zeros_like(fireable), jnp.asarray(True))
    )
    return fireable & ~beaten


def rank_of(
    choice: AbstractChoice, count: Int[Array, "*paths"], step: Int[Array, "*paths"]
) -> Int[Array, "*paths"]:
    """Which of this many candidates is chosen, counted in order of priority from 0."""
    if isinstance(choice, NumberedChoice):
        return choice.number.astype(jnp.int32)
    assert isinstance(choice, UniformChoice)
    fold = jr.fold_in if step.ndim == 0 else jax.vmap(jr.fold_in)
    # The words of a folded key are a hash, and so random themselves, see `snpjax.choice`.
    words = jr.key_data(fold(choice.key, step))
    return _scaled(words[..., 0] ^ words[..., 1], count)


def _scaled(bits: UInt32[Array, "*paths"], count: Int[Array, "*paths"]) -> Int[Array, "*paths"]:
    """floor(bits * count / 2^32), in 32-bit arithmetic."""
    count = count.astype(jnp.uint32)
    high, low = bits >> 16, bits & 0xFFFF
    more, less = count >> 16, count & 0xFFFF
    middle = ((high * less) & 0xFFFF) + ((low * more) & 0xFFFF) + ((low * less) >> 16)
    number = high * more + ((high * less) >> 16) + ((low * more) >> 16) + (middle >> 16)
    return number.astype(jnp.int32)


def chosen(
    program: NetProgram,
    choice: AbstractChoice,
    fireable: Bool[Array, "transitions *paths"],
    step: Int[Array, "*paths"],
) -> Int[Array, "*paths"]:
    """The position of the transition that fires, or `num_transitions`."""
    size = len(fireable)
    position = expanded(jnp.arange(size, dtype=jnp.int32), fireable.ndim)
    if not isinstance(choice, FirstChoice):
        some = undominated(program, fireable)
        before = jnp.cumsum(some, axis=0, dtype=jnp.int32)
        rank = rank_of(choice, before[-1], step)
        fireable = some & (before == rank[None] + 1)
    return jnp.min(jnp.where(fireable, position, size), axis=0, initial=size)


def selected(
    choice: AbstractChoice,
    positions: Int[Array, " transitions"],
    candidates: Bool[Array, "transitions *paths"],
    state: NetState,
) -> tuple[Int[Array, "*paths"], Bool[Array, "*paths"]]:
    """The position of the transition that a choice takes by the net's numbers, or
    `num_transitions`; and whether that is none of the candidates, or none although there are some.

    The net is one chooser, and its transitions are the alternatives.
    """
    size = len(candidates)
    if isinstance(choice, GivenChoices):
        choice = choice.within(1)
    by_number = candidates.at[positions].get(mode="fill", fill_value=False)
    number = answer_of(choice, by_number[:, None], state.step, state)[0]
    at = jnp.where(number >= 0, number, len(positions))  # negative ones would wrap
    position = positions.at[at].get(mode="fill", fill_value=size)
    places = expanded(jnp.arange(size, dtype=jnp.int32), candidates.ndim)
    is_candidate = jnp.any(candidates & (places == position[None]), axis=0)
    is_valid = is_candidate | ((number == NO_RULE) & ~jnp.any(candidates, axis=0))
    return jnp.where(is_candidate, position, size), ~is_valid
