"""Where the places and transitions of a net are drawn, which its notes hold by their names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ...drawing.coordinates import noted_positions


if TYPE_CHECKING:
    from ..model.net import SleptsovNet

_NOTE = "positions"


def node_names(net: "SleptsovNet") -> list[str]:
    """The names of the places, then of the transitions."""
    places = [net.place_name(p) for p in range(net.num_places)]
    return places + [net.transition_name(t) for t in range(net.num_transitions)]


def given_positions(net: "SleptsovNet") -> Float[np.ndarray, "nodes 2"] | None:
    """The positions that a file gives to all nodes, places first (`net.notes["positions"]`).

    **Arguments:**

    - `net`: a net.

    **Returns:** the positions; `None` unless each node has a name of its own and a position with
    coordinates in range.
    """
    if _NOTE not in net.notes:
        return None
    names = node_names(net)
    return None if len(set(names)) < len(names) else noted_positions(net.notes[_NOTE], names)


def with_positions(
    net: "SleptsovNet", positions: Sequence[Sequence[float]] | None
) -> "SleptsovNet":
    """The net with other positions.

    **Arguments:**

    - `net`: a net.
    - `positions`: `[x, y]` of each node, places first, or `None` for no positions.
    """
    notes = {name: note for name, note in net.notes.items() if name != _NOTE}
    if positions is not None:
        pairs = zip(node_names(net), positions, strict=True)
        notes[_NOTE] = {name: [float(x), float(y)] for name, (x, y) in pairs}
    return net.replace(notes=notes)
