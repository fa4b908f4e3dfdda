"""Cycles of priorities, told at the pair that closes each."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Int

from ...sleptsov.model.priority import cycles, priority_order
from ..source import Report


_MAX_SHOWN = 20  # members of a cycle


def tell_cycles(
    pairs: Int[np.ndarray, "pairs 2"],
    num_transitions: int,
    report: Report,
    offset: Callable[[int], int],
    name: Callable[[int], str],
) -> None:
    """Tell every cycle.

    **Arguments:**

    - `pairs`: in the order of the file; the first transition of each beats the second.
    - `offset`, `name`: where pair i stands, and what transition t is called.
    """
    if len(pairs) == 0 or priority_order(pairs, num_transitions) is not None:
        return
    found = {_closing(pairs, members): members for members in cycles(pairs, num_transitions)}
    for pair, members in sorted(found.items()):
        if len(members) == 1:
            message = f"transition {name(members[0])} has priority over itself, a cycle of one"
        else:
            more = f" and {len(members) - _MAX_SHOWN} more" if len(members) > _MAX_SHOWN else ""
            cycle = ", ".join(map(name, members[:_MAX_SHOWN]))
            message = f"this closes a cycle of priorities: {cycle}{more}"
        report.error(offset(pair), f"{message} (drop one of its pairs)")


def _closing(pairs: Int[np.ndarray, "pairs 2"], members: Sequence[int]) -> int:
    """The first pair that leads back, if the pairs between the members are taken in order."""
    inside = np.flatnonzero(np.all(np.isin(pairs, members), axis=1))
    number = np.searchsorted(members, pairs[inside])  # members are in order
    low, high = 0, len(inside) - 1  # the first `high` + 1 pairs have a cycle
    while low < high:
        middle = (low + high) // 2
        if priority_order(number[: middle + 1], len(members)) is None:
            high = middle
        else:
            low = middle + 1
    return int(inside[low])
