"""What a system generates, read off its configuration graph: numbers and trains.

A set is complete up to a bound only where every path was followed that far; otherwise it is what
was found, and says so.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from .graph import Graph


@dataclass(frozen=True)
class Generated:
    """A set of numbers or trains, and up to which number or length nothing is missing."""

    values: tuple
    complete_up_to: int

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.values))
        return f"{{{listed}}}, complete up to {self.complete_up_to}"


def intervals(graph: "Graph", up_to: int, output: str | None = None) -> Generated:
    """The numbers that the system computes: steps between the first two spikes of an output (N2).

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


def halting_trains(graph: "Graph", up_to: int, output: str | None = None) -> Generated:
    """The trains of an output in halting computations of at most `up_to` steps: tuples of spikes a
    step, by length and then in order."""
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
