"""Which transitions depend on which place, for the engine `EventDriven`, and its tree of words."""

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Int

from snpjax_formats.bits import packed_bits
from snpjax_formats.ell import expanded

from ..._tiered import tiered
from .state import EventState


WORD = 32


class Dependents(eqx.Module):
    """The conditions of all transitions by place.

    Entry k of a place is satisfied where (tokens ^ flip[k]) >= bound[k]; padding always is.
    `num_transitions` does not count padding.
    """

    starts: Int[Array, " places_and_one"]
    transition: Int[Array, " entries"]
    flip: Int[Array, " entries"]
    bound: Int[Array, " entries"]
    num_transitions: Int[Array, ""]


def level_starts(num_transitions: int) -> list[int]:
    """Where each level of the tree begins among its words; the last one is a single word."""
    starts, size, total = [], num_transitions, 0
    while True:
        size = -(-size // WORD)
        starts.append(total)
        total += size
        if size == 1:
            return starts


@tiered(static_argnames=("size",))
def event_state(
    dependents: Dependents, marking: Int[Array, "places *paths"], *, size: int
) -> EventState:
    """What the engine keeps about a marking, counted from scratch; `size` transitions with
    padding, which never fires."""
    entry = jnp.arange(len(dependents.transition), dtype=jnp.int32)
    place = jnp.searchsorted(dependents.starts, entry, side="right") - 1
    tokens = marking.at[place].get(mode="clip")
    flip, bound = (expanded(x, tokens.ndim) for x in (dependents.flip, dependents.bound))
    is_broken = (tokens ^ flip) < bound
    is_padding = jnp.arange(size, dtype=jnp.int32) >= dependents.num_transitions
    padding = expanded(is_padding.astype(jnp.int32), tokens.ndim)
    unsatisfied = jnp.broadcast_to(padding, (size, *marking.shape[1:]))
    unsatisfied = unsatisfied.at[dependents.transition].add(is_broken.astype(jnp.int32))
    words, is_set = [], unsatisfied == 0
    while True:
        num = -(-len(is_set) // WORD)
        words.append(packed_bits(is_set.astype(jnp.uint32), num))
        is_set = words[-1] != 0
        if num == 1:
            break
    joined = lax.bitcast_convert_type(jnp.concatenate(words), jnp.int32)
    return EventState(unsatisfied, joined)
