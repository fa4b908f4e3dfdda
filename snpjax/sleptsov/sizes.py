"""How large the flat net of a high-level one is: nested sub-nets can double it with every level."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .model.net import SleptsovNet
from .model.validity import KINDS
from .subnets import clean_move, copy


if TYPE_CHECKING:
    from .linking import HighNet

#: Nodes, arcs and priorities that are linked by default. They take some 2 GB.
MAX_FLAT_SIZE = 2**25

#: For each input of a substitution, and for its output, besides the places of others.
NEW_PLACES_OF_COPY, NEW_PLACES_OF_MOVE = 4, 1
NEW_TRANSITIONS_OF_COPY, NEW_TRANSITIONS_OF_MOVE = 4, 4
#: Those that split and join the copies, and their arcs, also for each copy.
SPLIT_AND_JOIN, _ARCS, _ARCS_OF_COPY = 2, 3, 3


class FlatSize(NamedTuple):
    """What a flat net consists of."""

    places: int
    transitions: int
    arcs: int
    priorities: int

    @property
    def total(self) -> int:
        return sum(self)

    def refusal(self, most: int) -> str | None:
        """Why a net of this size is not linked, where at most so much is."""
        if self.total <= most:
            return None
        return (
            f"linked, the net has {self.places:,} places, {self.transitions:,} transitions, "
            f"{self.arcs:,} arcs and {self.priorities:,} priorities: {self.total:,} in all, of "
            f"which {most:,} are allowed (nest fewer sub-nets, or raise the limit: max_flat_size=, "
            "--max-flat-size)"
        )


def flat_size(high: "HighNet | SleptsovNet") -> FlatSize:
    """The size of the flat net, without linking it.

    **Arguments:**

    - `high`: a net with substitutions, or a flat one.

    **Returns:** the numbers of its places, transitions, arcs and priorities.
    """
    return _size(high, {})


def _size(high: "HighNet | SleptsovNet", known: dict[int, FlatSize]) -> FlatSize:
    """- `known`: sizes by the identity of the net, which may be in many places."""
    if isinstance(high, SleptsovNet):
        arcs = sum(len(getattr(high, kind)) for kind in KINDS)
        return FlatSize(high.num_places, high.num_transitions, arcs, len(high.priorities))
    if id(high) in known:
        return known[id(high)]
    net, (of_copy, of_move) = high.net, (_size(x().net, {}) for x in (copy, clean_move))
    places, transitions, priorities = net.num_places, net.num_transitions, len(net.priorities)
    is_plain = np.ones(net.num_transitions, bool)
    is_plain[[one.transition for one in high.substitutions]] = False
    arcs = sum(int(np.sum(is_plain[getattr(net, kind).transition])) for kind in KINDS)
    for one in high.substitutions:
        inner, num_inputs = _size(one.subnet, known), len(one.inputs)
        places += inner.places + NEW_PLACES_OF_COPY * num_inputs + NEW_PLACES_OF_MOVE
        transitions += inner.transitions - 1 + NEW_TRANSITIONS_OF_COPY * num_inputs
        transitions += SPLIT_AND_JOIN + NEW_TRANSITIONS_OF_MOVE
        arcs += inner.arcs + (of_copy.arcs + _ARCS_OF_COPY) * num_inputs + _ARCS + of_move.arcs
        priorities += inner.priorities + of_copy.priorities * num_inputs + of_move.priorities
    return known.setdefault(id(high), FlatSize(places, transitions, arcs, priorities))
