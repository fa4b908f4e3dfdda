"""From steps of a labelled graph to runs of the systems as they were given."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from ...choice import NO_RULE, GivenChoices
from ...explore.successors import NO_EDGE
from ...spiking.model.environment import environment_of
from ...spiking.model.population import AnySystem
from ..systems import SpikingGraph, system_of
from .comparison import Pair
from .labelled import Labelled, columns_of, emitted
from .nets import NetRun, net_run
from .result import OneRun


def path_along(labelled: Labelled, start: int, word: Sequence[int]) -> list[int] | None:
    """Steps from a configuration that bear these labels, if there are any: those that end at the
    configuration with the least number."""
    layers, current = [], np.asarray([start])
    for label in word:
        steps, _ = labelled.steps_of(current)
        steps = steps[labelled.labels[steps] == label]
        layers.append(steps)
        current = np.unique(labelled.targets[steps])
    if not len(current):
        return None
    path, target = [], int(current[0])
    for steps in reversed(layers):
        step = int(steps[labelled.targets[steps] == target][0])
        path.append(step)
        target = int(np.searchsorted(labelled.first_step, step, side="right")) - 1  # its source
    return path[::-1]


def reached_along(labelled: Labelled, start: int, word: Sequence[int]) -> Int[np.ndarray, " some"]:
    """The configurations after steps with these labels."""
    current = np.asarray([start])
    for label in word:
        steps, _ = labelled.steps_of(current)
        current = np.unique(labelled.targets[steps[labelled.labels[steps] == label]])
    return current


def nearest_step(
    labelled: Labelled, configurations: Int[np.ndarray, " some"], label: int
) -> int | None:
    """A step on the same input as that of a label."""
    steps, _ = labelled.steps_of(configurations)
    some = np.asarray(labelled.input_of(label))
    same = (labelled.rows[labelled.labels[steps], : labelled.num_inputs] == some).all(axis=1)
    return int(steps[same][0]) if same.any() else None


def answers(labelled: Labelled, configurations: Int[np.ndarray, " some"], label: int) -> list[int]:
    """The labels of steps on the same input as that of a label."""
    steps, _ = labelled.steps_of(configurations)
    found = np.unique(labelled.labels[steps])
    some = np.asarray(labelled.input_of(label))
    return found[(labelled.rows[found, : labelled.num_inputs] == some).all(axis=1)].tolist()


def run_along(labelled: Labelled, pair: Pair, side: int, path: Sequence[int]) -> OneRun | NetRun:
    """The run of a system or a net that makes the steps of a path."""
    edges = labelled.edges[np.asarray(path, np.int64)]
    if labelled.transitions is not None:
        return net_run(pair.graphs[side], edges, pair.systems[side])
    return run_of_edges(pair.graphs[side], edges, pair.systems[side], pair.inputs[side])


def run_of_edges(
    graph: SpikingGraph,
    edges: Int[np.ndarray, " steps"],
    system: AnySystem | None = None,
    inputs: Sequence[str] = (),
) -> OneRun:
    """The run that takes some edges of a graph, or `NO_EDGE` where it has halted.

    **Arguments:**

    - `system`: what to run, by default what was explored. It gets the input that was sent to the
      neurons `inputs` by the environment with which it was explored.
    """
    explored = system_of(graph)
    system = explored if system is None else system
    names = columns_of(system, system.output)
    rules = np.full((len(edges), system.num_neurons), NO_RULE)
    subsets = np.zeros_like(rules)
    outputs = np.zeros((len(edges), len(names)), np.int64)
    sent = np.zeros((len(edges), len(inputs)), np.int64)
    is_made = edges != NO_EDGE
    if is_made.any():
        steps = graph.transitions(edges[is_made])
        chosen = steps.choices
        # An environment stands after the neurons of the system, and before those that are created,
        # and astrocytes.
        width = steps.rules.shape[1] if steps.subsets is None else steps.subsets.shape[1]
        own = np.arange(width)
        own = own[(own < system.num_neurons) | (own >= explored.num_neurons)]
        rules, subsets = (np.full((len(edges), len(own)), empty) for empty in (NO_RULE, 0))
        rules[is_made] = np.asarray(chosen.rules)[: len(steps), own]
        if chosen.subsets is not None:
            subsets[is_made] = np.asarray(chosen.subsets)[: len(steps), own]
        outputs[is_made] = emitted(steps, system.output)
        sent[is_made] = emitted(steps, [environment_of(name) for name in inputs])
    trains = dict(zip(inputs, map(tuple, sent.T.tolist()), strict=True))
    if inputs:
        system = system.with_input({**system.input, **trains})
    by_name = dict(zip(names, map(tuple, outputs.T.tolist()), strict=True))
    return OneRun(system, GivenChoices(rules, subsets), len(edges), by_name, trains)
