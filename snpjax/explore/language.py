"""What a system generates, read off its configuration graph: numbers and trains.

A set is complete up to a bound only where every path was followed that far; otherwise it is what
was found, and says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np


if TYPE_CHECKING:
    from .graph import Graph

T = TypeVar("T")


@dataclass(frozen=True)
class Generated(Generic[T]):
    """A set of numbers, or of trains, in order: `list(found)`, `3 in found`, `len(found)`.

    - `values`: what was found.
    - `complete_up_to`: no number up to this one is missing, or no train up to this length. What is
      larger may be missing, because not every computation was followed that far; `40 in found` is a
      `ValueError` then, unless 40 was found.
    """

    values: tuple[T, ...]
    complete_up_to: int

    def __iter__(self) -> Iterator[T]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __contains__(self, one: object) -> bool:
        if one in self.values:
            return True
        size = len(one) if isinstance(one, tuple) else one
        if isinstance(size, int) and size > self.complete_up_to:
            raise ValueError(
                f"Whether {one!r} is generated is not known: what was found is complete up to "
                f"{self.complete_up_to} only. Pass a larger bound."
            )
        return False

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.values))
        return f"{{{listed}}}, complete up to {self.complete_up_to}"


def intervals(graph: "Graph", up_to: int, output: str | None = None) -> Generated[int]:
    """The numbers that the system computes: steps between the first two spikes of an output (N2).

    **Arguments:**

    - `up_to`: the largest number to find.
    - `output`: the name of an output neuron; not needed if there is only one.

    **Returns:** the numbers in ascending order, as the `values` of a `Generated`, which can be
    iterated over; `complete_up_to` is smaller than `up_to` where open configurations may compute
    more.

    **Raises:** `ValueError` for any other output, or a graph without edges.

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2006, section 3.
    """
    emits = graph.emitted(output) > 0
    sources, targets = graph.sources, graph.edge_targets
    silent_from, silent_to = sources[~emits], targets[~emits]
    silent = np.zeros(graph.num_configurations, bool)  # reached before the first spike
    silent[0] = True
    size = 0
    while size < (size := int(silent.sum())):
        silent[silent_to[silent[silent_from]]] = True
    now = np.zeros_like(silent)  # reached k steps after the first spike, before the second
    now[targets[emits & silent[sources]]] = True
    values = []
    complete = 0 if (silent & graph.is_open).any() else up_to
    for number in range(1, up_to + 1):
        if (now & graph.is_open).any():
            complete = min(complete, number - 1)
        if np.any(emits & now[sources]):
            values.append(number)
        following = np.zeros_like(now)
        following[silent_to[now[silent_from]]] = True
        now = following
        if not now.any():
            break
    return Generated(tuple(values), complete)


def halting_trains(
    graph: "Graph", up_to: int, output: str | None = None
) -> Generated[tuple[int, ...]]:
    """The spike trains of an output in halting computations.

    **Arguments:**

    - `up_to`: the largest number of steps.
    - `output`: the name of an output neuron; not needed if there is only one.

    **Returns:** tuples of the spikes in each step, by length and then in lexicographic order, as
    the `values` of a `Generated`; `complete_up_to` is smaller than `up_to` where open
    configurations may have more.

    **Raises:** `ValueError` for any other output, or a graph without edges.
    """
    emitted = graph.emitted(output)
    targets = graph.edge_targets
    reached = {(): np.asarray([0])}  # configurations by the train on the way to them
    found, complete = [], up_to
    for length in range(up_to + 1):
        following: dict[tuple[int, ...], list[np.ndarray]] = {}
        for train, configurations in reached.items():
            if graph.is_halting[configurations].any():
                found.append(train)
            if graph.is_open[configurations].any():  # something longer may follow
                complete = min(complete, length)
            edges = np.flatnonzero(np.isin(graph.sources, configurations))
            for spikes in np.unique(emitted[edges]).tolist():
                following.setdefault((*train, spikes), []).append(
                    targets[edges[emitted[edges] == spikes]]
                )
        reached = {train: np.unique(np.concatenate(parts)) for train, parts in following.items()}
    return Generated(tuple(sorted(found, key=lambda train: (len(train), train))), complete)
