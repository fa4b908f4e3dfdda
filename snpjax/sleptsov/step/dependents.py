"""Which transitions depend on which place, for the engine `EventDriven`, and its tree of words."""

import equinox as eqx
from jaxtyping import Array, Int

from .state import EventState


WORD = 32


class Dependents(eqx.Module):
    """The conditions of all transitions by place, and what holds of the initial marking.

    Entry k of a place is satisfied where (tokens ^ flip[k]) >= bound[k].
    """

    starts: Int[Array, " places_and_one"]
    transition: Int[Array, " entries"]
    flip: Int[Array, " entries"]
    bound: Int[Array, " entries"]
    initial: EventState


def level_starts(num_transitions: int) -> list[int]:
    """Where each level of the tree begins among its words; the last one is a single word."""
    starts, size, total = [], num_transitions, 0
    while True:
        size = -(-size // WORD)
        starts.append(total)
        total += size
        if size == 1:
            return starts
