"""Nets to compare: their steps are labelled by what fires."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Int

from ...choice import NO_RULE, GivenChoices
from ...explore import Graph
from ...explore.successors import NO_EDGE, Following, following
from ...run import run
from ...sleptsov.model.net import AbstractRunnableNet, SleptsovNet
from ...sleptsov.view.configurations import Firings, Markings


if TYPE_CHECKING:
    from ...sleptsov.view.solution import NetSolution


NetGraph: TypeAlias = Graph[Markings, Firings]


@dataclass(frozen=True, eq=False)
class NetRun:
    """A run of one net.

    - `system`: the net as it was given.
    - `choice`: the transitions to choose; `snpjax.run(system, choice=choice, max_steps=steps)`
      makes it.
    - `firings`: what fires in each step, in words; nothing after a halt.
    """

    system: AbstractRunnableNet
    choice: GivenChoices
    steps: int
    firings: tuple[str, ...]

    def replay(self) -> "NetSolution":
        """The run itself."""
        return run(self.system, choice=self.choice, max_steps=self.steps)

    def __str__(self) -> str:
        return f"  fires {', '.join(self.firings) or 'nothing'}"


def net_of(graph: Graph[Any, Any]) -> SleptsovNet:
    """The net that was explored."""
    assert isinstance(graph.system, AbstractRunnableNet)
    return graph.system._execution.net


def transition_names(graphs: Sequence[Graph[Any, Any]]) -> tuple[str, ...]:
    """The names of the transitions of some nets, each once."""
    nets = map(net_of, graphs)
    names = (net.transition_name(t) for net in nets for t in range(net.num_transitions))
    return tuple(dict.fromkeys(names))


def steps_of_net(
    graph: Graph[Any, Any], names: Sequence[str], *, sees_halting: bool
) -> tuple[Following, Int[np.ndarray, "steps columns"]]:
    """Labelled by the number of the name of what fires, from 1 on, and its multiplicity. Where the
    net has halted there is no step, or one that is labelled as a halt."""
    net = net_of(graph)
    number = {name: i for i, name in enumerate(names, start=1)}
    numbers = np.asarray([number[net.transition_name(t)] for t in range(net.num_transitions)], int)
    fired = np.zeros((0, 2), np.int64)
    if graph.num_choices:

        def labels(steps: Firings) -> np.ndarray:
            return np.stack([numbers[steps.transition], steps.multiplicity], axis=1)

        fired = graph.map_transitions(labels)
    steps = following(graph)
    is_made = steps.edges != NO_EDGE
    if not sees_halting:
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_made)])
        first, targets, edges = before[steps.first], steps.targets[is_made], steps.edges[is_made]
        return Following(first, targets, edges), fired.astype(np.int64)
    rows = np.zeros((len(is_made), 3), np.int64)
    rows[is_made, :2] = fired
    rows[~is_made, 2] = 1
    return steps, rows


def net_run(
    graph: Graph[Any, Any], edges: Int[np.ndarray, " steps"], system: AbstractRunnableNet
) -> NetRun:
    """The run of a net that takes some edges of its graph, or `NO_EDGE` where it has halted."""
    chosen = np.full((len(edges), 1), NO_RULE)
    is_made = edges != NO_EDGE
    words: tuple[str, ...] = ()
    if is_made.any():
        steps = graph.transitions(edges[is_made])
        chosen[is_made] = steps.transition[:, None]
        words = tuple(steps.texts())
    return NetRun(system, GivenChoices(chosen), len(edges), words)
