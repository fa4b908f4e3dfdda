"""A configuration graph as the structure that a query speaks of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Int

from ...explore import Graph
from ...explore.successors import NO_EDGE, following, ranges
from ...machine import SomeConfigurations
from ..query.formula import Comparison
from .evaluation import Evaluation
from .kripke import Structure
from .labels import Labelling, Truth, Values


@dataclass(frozen=True, eq=False)
class View:
    """A structure whose states are configurations or, where a query asks for the steps that lead to
    them, pairs of a configuration and what is true of such a step.

    - `configuration`: that of each state.
    """

    graph: Graph
    structure: Structure
    labels: Labelling
    configuration: Int[np.ndarray, " states"]

    def edges(self, states: Sequence[int]) -> Int[np.ndarray, " steps"]:
        """An edge of the graph for every step of a path, or `NO_EDGE`."""
        structure, graph = self.structure, self.graph
        edges = np.full(max(len(states) - 1, 0), NO_EDGE)
        for step, (source, target) in enumerate(zip(states[:-1], states[1:], strict=True)):
            own = self.configuration[source]
            if not graph.is_halting[own]:
                choice = int(np.flatnonzero(structure.successors(source) == target)[0])
                edges[step] = graph.first_edge[own] + choice
        return edges


def labels_of(graph: Graph, comparisons: Sequence[Comparison]) -> Labelling:
    """The truth of comparisons in all configurations."""
    some = list(dict.fromkeys(comparisons))
    values = _evaluation_of(graph)

    def columns(configurations: SomeConfigurations) -> np.ndarray:
        values_of = values.of(configurations)
        truths = [values_of(comparison).compared(comparison) for comparison in some]
        return np.asarray(truths).reshape(2 * len(some), len(configurations)).T

    table = np.ascontiguousarray(graph.map(columns).T) if some else np.zeros((0, 0), bool)
    truths = zip(table[::2], table[1::2], strict=True)
    return Labelling(graph.num_configurations, dict(zip(some, truths, strict=True)))


def view_of(graph: Graph, comparisons: Sequence[Comparison]) -> View:
    """The structure for some comparisons."""
    of_step = [comparison for comparison in dict.fromkeys(comparisons) if comparison.is_of_step]
    others = [comparison for comparison in comparisons if not comparison.is_of_step]
    every = np.arange(graph.num_configurations, dtype=np.int32)
    steps = following(graph)
    structure = Structure(steps.first, steps.targets, graph.is_open)
    view = View(graph, structure, labels_of(graph, others), every)
    return _with_steps(view, of_step) if of_step else view


def sums_of(view: View, comparison: Comparison) -> Values:
    """The sums that a comparison is about, without variables of steps, in all states."""
    table = view.graph.map(partial(_evaluation_of(view.graph).table, comparison))
    table = table[view.configuration]
    return Values(table[:, 0], table[:, 1] > 0, table[:, 2] > 0)


def without_steps(graph: Graph) -> Structure:
    """The configurations, as if nothing were known of their successors."""
    size = graph.num_configurations
    return Structure(np.zeros(size + 1, np.int64), np.zeros(0, np.int32), np.ones(size, bool))


def _with_steps(view: View, comparisons: Sequence[Comparison]) -> View:
    """A state for every configuration and what is true of a step that led to it."""
    graph, structure = view.graph, view.structure
    truths = _truths_of_steps(view, comparisons)
    targets = np.append(structure.targets, 0)  # the last one leads to the initial configuration
    codes = np.zeros(len(targets), np.int64)
    for surely, may in truths:
        codes = np.unique(4 * codes + 2 * surely + may, return_inverse=True)[1]
    num_codes = int(codes.max()) + 1
    _, first, state = np.unique(
        targets.astype(np.int64) * num_codes + codes, return_index=True, return_inverse=True
    )
    configuration = targets[first]
    counts = np.diff(structure.first_edge)[configuration]
    first_edge = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    edges, _ = ranges(structure.first_edge, configuration)
    truth = {
        comparison: (surely[configuration], may[configuration])
        for comparison, (surely, may) in view.labels.truth.items()
    }
    for comparison, (surely, may) in zip(comparisons, truths, strict=True):
        truth[comparison] = (surely[first], may[first])
    paths = Structure(
        first_edge,
        state[edges].astype(np.int32),
        structure.is_open[configuration],
        initial=int(state[-1]),
    )
    return View(graph, paths, Labelling(len(configuration), truth), configuration)


def _truths_of_steps(view: View, comparisons: Sequence[Comparison]) -> list[Truth]:
    """The truth of comparisons after every edge of a structure, and at last in the initial
    configuration, to which no step led."""
    graph, structure = view.graph, view.structure
    evaluation = _evaluation_of(graph)
    is_step = np.repeat(~graph.is_halting, np.diff(structure.first_edge))
    targets = np.append(structure.targets, 0)
    of_steps = np.zeros((len(targets), len(comparisons)), np.int64)
    if graph.num_choices:
        of_steps[:-1][is_step] = graph.map_transitions(
            lambda steps: np.stack([evaluation.of_steps(c, steps) for c in comparisons], axis=1)
        )
    truths = []
    for number, comparison in enumerate(comparisons):
        table = graph.map(partial(evaluation.table, comparison))[targets]
        values = Values(table[:, 0] + of_steps[:, number], table[:, 1] > 0, table[:, 2] > 0)
        truths.append(values.compared(comparison))
    return truths


def _evaluation_of(graph: Graph) -> Evaluation:
    return Evaluation(graph.schema, graph.clock, graph.saturate)
