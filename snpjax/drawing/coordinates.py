"""The coordinates of nodes in files and drawings, and their range."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

import numpy as np
from jaxtyping import Float


#: Coordinates are larger than `-COORDINATE_LIMIT` and smaller than `COORDINATE_LIMIT`.
COORDINATE_LIMIT = 1e9

#: Their range in messages.
COORDINATE_RANGE = "between -10^9 and 10^9"


def is_coordinate(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number in the range of coordinates."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -COORDINATE_LIMIT < value < COORDINATE_LIMIT


def noted_positions(noted: object, names: Sequence[str]) -> Float[np.ndarray, "nodes 2"] | None:
    """The positions of all nodes in a note of a model.

    **Arguments:**

    - `noted`: the note `"positions"`, `[x, y]` by name, or any other value of JSON.
    - `names`: the nodes.

    **Returns:** the positions; `None` unless each node has a position with coordinates in range.
    """
    if not isinstance(noted, Mapping) or not names:
        return None
    try:
        found = np.asarray([noted.get(name) for name in names], float)
    except (TypeError, ValueError, OverflowError):
        return None
    if found.shape != (len(names), 2):
        return None
    return found if (np.abs(found) < COORDINATE_LIMIT).all() else None
