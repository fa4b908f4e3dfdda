"""One firing, of all paths at once: how often, whether it fits, and the marking after it."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ..model.rules import AbstractRule, Petri
from .program import NetProgram
from .state import Failure


def fire(
    program: NetProgram,
    rule: AbstractRule,
    marking: Int[Array, "places *paths"],
    transition: Int[Array, "*paths"],
    wanted: Bool[Array, "*paths"],
) -> tuple[Int[Array, "places *paths"], Int[Array, "*paths"], Failure]:
    """The marking after one transition a path fires, where it is wanted and fits; its multiplicity
    there, else 0; and the failure where it is wanted and does not."""
    rows, most = program.rows, jnp.iinfo(marking.dtype).max
    last = program.num_transitions - 1
    at = jnp.minimum(transition, last)
    entry = jnp.arange(rows.widest, dtype=jnp.int32)
    index = entry.reshape(-1, *[1] * at.ndim) + rows.starts[at][None]
    is_one = index < rows.starts[at + 1][None]
    index = jnp.where(is_one, index, len(rows.place))
    # Past its row a transition takes nothing from an out-of-range place.
    place = rows.place.at[index].get(mode="fill", fill_value=program.num_places)
    take = rows.take.at[index].get(mode="fill", fill_value=0)
    gain = rows.gain.at[index].get(mode="fill", fill_value=0)
    where = (place,) if at.ndim == 0 else (place, jnp.arange(at.shape[0])[None])
    tokens = marking.at[where].get(mode="fill", fill_value=0)

    bounds = jnp.where(take > 0, tokens // jnp.maximum(take, 1), most)
    copies = jnp.min(bounds, axis=0)
    is_unbounded = program.unbounded[at]
    if isinstance(rule, Petri):
        copies = jnp.ones_like(copies)
        is_unbounded = jnp.zeros_like(is_unbounded)
    room = (most - tokens) // jnp.maximum(gain, 1)
    overflows = (gain > 0) & (copies[None] > room)
    # Entries are in order of places, so that the first is the least.
    culprit = jnp.min(jnp.where(overflows, place, program.num_places), axis=0)
    is_overflow = culprit < program.num_places
    failure = Failure(
        is_unbounded=wanted & is_unbounded,
        is_overflow=wanted & is_overflow & ~is_unbounded,
        transition=at,
        multiplicity=jnp.where(is_unbounded, 0, copies),
        place=culprit,
    )
    copies = jnp.where(wanted & ~is_unbounded & ~is_overflow, copies, 0)
    return marking.at[where].add(copies[None] * gain, mode="drop"), copies, failure
