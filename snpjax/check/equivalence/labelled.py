"""Two configuration graphs side by side, their steps labelled by what can be seen from outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from ...explore import Graph
from ...explore.successors import NO_EDGE, Following, following, ranges
from ...sleptsov.model.net import AbstractRunnableNet
from ...spiking.model.environment import environment_of
from ...spiking.model.population import AnySystem
from ...spiking.model.system import is_growing
from ...spiking.view.configurations import Transitions
from ..systems import SpikingGraph, positions, system_of
from .nets import steps_of_net, transition_names


#: One label: the spikes of the input neurons, then those of the outputs, then 1 for a halt.
StepLabel: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Labelled:
    """The configurations of two graphs: those of the first, then those of the second.

    A halting configuration steps to itself for ever and emits nothing; where the halt can be seen,
    that step has a label of its own.

    - `starts`: the initial configurations; those from `starts[1]` on are of the second graph.
    - `first_step`: the steps of configuration i are `first_step[i]` to `first_step[i + 1]`.
    - `targets`, `labels`: where each step leads, and which of `rows` it is.
    - `edges`: which edge of its graph each step is, or `NO_EDGE`.
    - `is_open`: the configurations whose steps are not known.
    - `rows`: the distinct labels, ascending; `num_inputs` of their entries are input.
    - `transitions`: of nets, the names of what fires: labels are the number of one of them, from 1
      on, and its multiplicity; a halting marking has no step unless the halt can be seen.
    """

    starts: tuple[int, int]
    first_step: Int[np.ndarray, " configurations_and_one"]
    targets: Int[np.ndarray, " steps"]
    labels: Int[np.ndarray, " steps"]
    edges: Int[np.ndarray, " steps"]
    is_open: Bool[np.ndarray, " configurations"]
    rows: Int[np.ndarray, "labels columns"]
    num_inputs: int
    sees_halting: bool
    transitions: tuple[str, ...] | None = None

    @property
    def num_configurations(self) -> int:
        return len(self.is_open)

    @property
    def num_labels(self) -> int:
        return len(self.rows)

    def side_of(self, configurations: Int[np.ndarray, " some"]) -> Int[np.ndarray, " some"]:
        """0 for a configuration of the first graph, 1 for one of the second."""
        return (configurations >= self.starts[1]).astype(np.int64)

    def steps_of(
        self, configurations: Int[np.ndarray, " some"]
    ) -> tuple[Int[np.ndarray, " steps"], Int[np.ndarray, " steps"]]:
        """The steps of some configurations, and of which of them each is."""
        return ranges(self.first_step, configurations)

    def input_of(self, label: int) -> StepLabel:
        return tuple(self.rows[label, : self.num_inputs].tolist())

    def output_of(self, label: int) -> StepLabel:
        stop = -1 if self.sees_halting else None
        return tuple(self.rows[label, self.num_inputs : stop].tolist())

    def is_halt(self, label: int) -> bool:
        return self.sees_halting and bool(self.rows[label, -1])


def side_by_side(
    first: Graph[Any, Any],
    second: Graph[Any, Any],
    *,
    inputs: tuple[Sequence[str], Sequence[str]] = ((), ()),
    sees_halting: bool = False,
) -> Labelled:
    """Two graphs as one labelled graph; outputs and `inputs` are matched by their order,
    transitions of nets by their names.

    **Raises:** `ValueError` if the systems do not have the same number of output neurons.
    """
    graphs, transitions = (first, second), None
    if isinstance(first.system, AbstractRunnableNet):
        transitions = transition_names(graphs)
        parts = [steps_of_net(one, transitions, sees_halting=sees_halting) for one in graphs]
    else:
        parts = _parts(graphs, inputs, sees_halting)
    start = first.num_configurations
    (own, own_rows), (others, other_rows) = parts
    targets = np.concatenate([own.targets.astype(np.int64), others.targets + start])
    first_step = np.concatenate([own.first, others.first[1:] + own.first[-1]])
    rows = np.concatenate([own_rows, other_rows])
    # Column by column: `np.unique` of whole rows is a slow sort of structures.
    labels = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, digit = np.unique(column, return_inverse=True)
        _, labels = np.unique(labels * len(values) + digit, return_inverse=True)
    _, where = np.unique(labels, return_index=True)
    return Labelled(
        starts=(0, start),
        first_step=first_step,
        targets=targets,
        labels=labels,
        edges=np.concatenate([own.edges, others.edges]),
        is_open=np.concatenate([graph.is_open for graph in graphs]),
        rows=rows[where],
        num_inputs=len(inputs[0]),
        sees_halting=sees_halting,
        transitions=transitions,
    )


def _parts(
    graphs: tuple[SpikingGraph, SpikingGraph],
    inputs: tuple[Sequence[str], Sequence[str]],
    sees_halting: bool,
) -> list[tuple[Following, Int[np.ndarray, "steps columns"]]]:
    """The steps of two systems by what their outputs emit."""
    systems = [system_of(graph) for graph in graphs]
    sizes = [len(columns_of(system, system.output)) for system in systems]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"The first system has {sizes[0]} output neurons, the second {sizes[1]}. Outputs are "
            "compared in their order: give both systems the same number."
        )
    return [
        _steps(graph, [*map(environment_of, names), *system.output], sees_halting)
        for graph, system, names in zip(graphs, systems, inputs, strict=True)
    ]


def _steps(
    graph: SpikingGraph, names: Sequence[str], sees_halting: bool
) -> tuple[Following, Int[np.ndarray, "steps columns"]]:
    """Labelled by what these neurons emit."""
    columns = columns_of(system_of(graph), names)
    emissions = np.zeros((0, len(columns)), np.int32)
    if graph.num_choices:
        emissions = graph.map_transitions(lambda steps: emitted(steps, names))
    steps = following(graph)
    is_made = steps.edges != NO_EDGE
    rows = np.zeros((len(is_made), len(columns) + sees_halting), np.int64)
    rows[is_made, : len(columns)] = emissions
    if sees_halting:
        rows[~is_made, -1] = 1
    return steps, rows


def emitted(steps: Transitions, names: Sequence[str]) -> Int[np.ndarray, "transitions columns"]:
    """What the neurons of these names emit, or all neurons with these labels together."""
    if steps.labels is None:
        return steps.emissions[:, positions(steps.system, names)]
    table = np.zeros((len(steps), len(names)), np.int64)
    for column, name in enumerate(names):
        table[:, column] = steps.emitted(name)
    return table


def columns_of(system: AnySystem, names: Sequence[str]) -> list[str]:
    """The columns of `emitted`: labels where neurons divide or bud, else all neurons of these
    names."""
    if is_growing(system):
        return list(names)
    return [system.name_of(int(i)) for i in positions(system, names)]
