"""The same numbers: two systems compute the same set."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ..systems import SpikingGraph
from .comparison import AbstractComparison, Pair
from .result import SIDES, Agreement, Difference, Equivalence, digits
from .runs import run_of_edges


@dataclass(frozen=True)
class SameNumbers(AbstractComparison):
    """The same numbers computed: steps between the first two spikes of an output (N2), up to
    `up_to`. Outputs are compared in their order.

    Of a graph that is not complete, a number counts as missing only if no open configuration
    can lead to it.

    ```python
    snp.equivalent(generator, other, by=SameNumbers(up_to=20))
    ```

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2006, section 3.
    """

    up_to: int

    def __post_init__(self) -> None:
        if self.up_to < 1:
            raise ValueError(f"`up_to` is {self.up_to}. Give a number, 1 or more.")

    @property
    def environment(self) -> None:
        return None

    @property
    def depth(self) -> int | None:
        return None

    def compare(self, pair: Pair) -> Equivalence:
        if pair.noun == "net":
            raise NotImplementedError(
                "A net emits no spikes between which numbers are counted. Compare what nets "
                "compute by SameMarkings(places=[...], halting=True)."
            )
        systems = pair.systems
        if len(systems[0].output) != len(systems[1].output):
            raise ValueError(
                f"The first system has {len(systems[0].output)} outputs, the second "
                f"{len(systems[1].output)}. Outputs are compared in their order: give both "
                "systems the same number."
            )
        complete, sets = self.up_to, []
        for names in zip(systems[0].output, systems[1].output, strict=True):
            found = [
                graph.intervals(self.up_to, name)
                for graph, name in zip(pair.graphs, names, strict=True)
            ]
            missing = [
                (number, side)
                for side in (0, 1)
                for number in set(found[side].values) - set(found[1 - side].values)
                if number <= found[1 - side].complete_up_to
            ]
            if missing:
                number, side = min(missing)
                return self._different(pair, side, names, number)
            complete = min(complete, *(one.complete_up_to for one in found))
            sets.append(tuple(n for n in found[0].values if n <= complete))
        if complete == 0 and self.up_to > 0:
            return Equivalence(self, Agreement.UNKNOWN, pair.cut)
        texts = "; ".join(f"{{{', '.join(map(str, some))}}}" for some in sets)
        reason = f"both compute {texts} up to {complete}"
        if complete == self.up_to:
            return Equivalence(self, Agreement.EQUAL, reason)
        return Equivalence(self, Agreement.EQUAL_UP_TO, f"{reason}; {pair.cut}")

    def _different(self, pair: Pair, side: int, names: tuple[str, str], number: int) -> Equivalence:
        edges = _edges_computing(pair.graphs[side], names[side], number)
        shown = run_of_edges(pair.graphs[side], edges)
        statement = (
            f"The {SIDES[side]} system computes {number}, the {SIDES[1 - side]} does not: "
            f"{names[side]} emits {digits(shown.outputs[names[side]])}."
        )
        runs = (shown, None) if side == 0 else (None, shown)
        reason = f"one of them computes {number}"
        return Equivalence(self, Agreement.DIFFERENT, reason, Difference(statement, side, runs))

    def __str__(self) -> str:
        return f"numbers up to {self.up_to}"


def _edges_computing(graph: SpikingGraph, output: str, number: int) -> Int[np.ndarray, " steps"]:
    """The edges of a shortest computation of a number that is computed."""
    emits = graph.emitted(output) > 0
    sources, targets = graph.sources, graph.edge_targets
    silent = np.flatnonzero(~emits)
    # From `ahead[k]` the second spike can leave in the (k + 1)-th step.
    ahead = [np.zeros(graph.num_configurations, bool)]
    ahead[0][sources[emits]] = True
    for _ in range(number - 1):
        before = np.zeros(graph.num_configurations, bool)
        before[sources[silent[ahead[-1][targets[silent]]]]] = True
        ahead.append(before)
    firsts = np.flatnonzero(emits & ahead[number - 1][targets])
    # The edge by which each configuration is reached first, without a spike.
    by = np.full(graph.num_configurations, -1)
    reached = np.zeros(graph.num_configurations, bool)
    reached[0] = True
    while not reached[sources[firsts]].any():
        new = silent[reached[sources[silent]] & ~reached[targets[silent]]]
        by[targets[new[::-1]]] = new[::-1]
        reached[targets[new]] = True
    edge = int(firsts[reached[sources[firsts]]][0])
    path = [edge]
    while (source := int(sources[path[0]])) != 0 and by[source] >= 0:
        path.insert(0, int(by[source]))
    at = int(targets[edge])
    for left in reversed(range(number)):
        own = np.arange(graph.first_edge[at], graph.first_edge[at + 1])
        leads = emits[own] if left == 0 else ~emits[own] & ahead[left - 1][targets[own]]
        path.append(int(own[leads][0]))
        at = int(targets[path[-1]])
    return np.asarray(path)
