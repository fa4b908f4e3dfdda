"""Concrete computations to a node of the tree, with as many spikes or tokens as one likes."""

from collections.abc import Mapping
from typing import Any

from .tree import OMEGA, AbstractSteps, Node


_MAX_STEPS = 10**6


def sequence(steps: AbstractSteps, node: Node, wanted: Mapping[int, int]) -> list[Any]:
    """The actions from the root to a node, whose `OMEGA` columns are made at least `wanted`.

    **Raises:** `ValueError` for more than 10^6 steps.
    """
    return _walk(steps, None, node, dict(wanted))[0]


def _walk(
    steps: AbstractSteps, start: Node | None, end: Node, needs: dict[int, int]
) -> tuple[list[Any], dict[int, int]]:
    """The actions from a node to one below it, and what must be in the `OMEGA` columns of the
    first, so that those of the last hold what they need. It goes backward."""
    found: list[Any] = []
    node = end
    while node is not start and node.parent is not None:
        for number in reversed(range(len(node.accelerated))):
            ancestor, more = node.accelerated[number]
            rounds = max((-(-needs.get(i, 0) // by) for i, by in more.items()), default=0)
            needs = {i: n for i, n in needs.items() if i not in more}
            once: list[Any] = []
            if rounds:
                once, before = _loop(steps, node, number, needs)
                _check(len(found) + rounds * len(once))
                # At most this much is lost in each round where there is as much as one likes.
                for column, need in before.items():
                    needs[column] = needs.get(column, 0) + rounds * need
            found[:0] = once * rounds
        found.insert(0, node.action)
        for column, loss in steps.taken(node.parent.counts, node.action).items():
            needs[column] = needs.get(column, 0) + loss
        node = node.parent
        _check(len(found))
    return found, needs


def _loop(
    steps: AbstractSteps, node: Node, number: int, needs: dict[int, int]
) -> tuple[list[Any], dict[int, int]]:
    """One round of an acceleration of a node. Columns that have become `OMEGA` since the ancestor
    by other accelerations end with as much as the ancestor has, for the next round, and as is
    needed afterwards: `needs` becomes what they need before the first round."""
    ancestor, _ = node.accelerated[number]
    earlier = node.accelerated[:number]
    plain = Node(node.counts, node.parent, node.action, earlier)
    later = {column for _, more in node.accelerated[number:] for column in more}
    columns = [
        column
        for column, (before, now) in enumerate(zip(ancestor.counts, node.counts, strict=True))
        if before != OMEGA == now and column not in later
    ]
    after = {i: max(ancestor.counts[i], needs.get(i, 0)) for i in columns}
    needs.update({i: ancestor.counts[i] for i in columns})
    return _walk(steps, ancestor, plain, after)


def _check(length: int) -> None:
    if length > _MAX_STEPS:
        raise ValueError(f"The computation has more than {_MAX_STEPS} steps.")
