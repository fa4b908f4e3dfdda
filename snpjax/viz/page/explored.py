"""A configuration graph as values of JSON, for the page."""

from typing import Any

import numpy as np

from ...explore import Graph, explore
from ...spiking import SpikingSystem
from ...spiking.observed import Configurations, Transitions
from .stepping import Moment, Refused, Stepper


#: More than these are not drawn.
MOST_CONFIGURATIONS = 2_000
_MOST_CHOICES = 20_000
_LONGEST_LABEL = 60
_SUPERSCRIPTS = str.maketrans("0123456789()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁽⁾")


def explored(system: SpikingSystem, max_configurations: int) -> Graph:
    """The first configurations of a system, breadth-first.

    **Raises:** `Refused` for a system that cannot be explored.
    """
    try:
        return explore(system, max_configurations=max_configurations, chunks=[2**8])
    except (NotImplementedError, ValueError) as error:
        raise Refused(f"{error}") from None


def graph_json(graph: Graph) -> dict[str, Any]:
    """Configurations by number, as `<2⁽¹⁾,1,0>`, and the choices between them, several between the
    same two as one; too many are not listed."""
    merged: dict[tuple[int, int], dict[str, None]] = {}
    if 0 < graph.num_choices <= _MOST_CHOICES:
        steps = graph.transitions()
        labels = _emissions(steps)
        ends = zip(steps.sources.tolist(), steps.targets.tolist(), strict=True)
        for pair, label in zip(ends, labels, strict=True):
            merged.setdefault(pair, {})[label] = None
    return {
        "configurations": _texts(graph.configurations()),
        "depths": graph.depths.tolist(),
        "halting": graph.halting().tolist(),
        "open": np.flatnonzero(graph.is_open).tolist(),
        "edges": [[s, t, _joined(labels)] for (s, t), labels in merged.items()],
        "choices": graph.num_choices,
        "complete": graph.is_complete,
        "stop": graph.reason,
    }


def _texts(some: Configurations) -> list[str]:
    """The spikes of every configuration, timers raised; the step where it tells them apart."""
    with_step = bool(np.any(some.step != some.step[:1]))
    found = []
    for row, (spikes, timers) in enumerate(
        zip(some.spikes.tolist(), some.timers.tolist(), strict=True)
    ):
        labels = [""] * len(spikes) if some.labels is None else some.labels[row].tolist()
        counts = [
            f"{label}:{k}{_raised(timer)}" if label else f"{k}{_raised(timer)}"
            for k, timer, label in zip(spikes, timers, labels, strict=True)
            if label or some.labels is None
        ]
        text = f"<{','.join(counts)}>"
        found.append(f"{text} @{some.step[row]}" if with_step else text)
    return found


def _raised(timer: int) -> str:
    return f"({timer})".translate(_SUPERSCRIPTS) if timer else ""


def _emissions(steps: Transitions) -> list[str]:
    """What the output neurons emit in each step, `name=spikes`."""
    named = [(name, steps.emitted(name).tolist()) for name in steps.system.output]
    return [
        ", ".join(f"{name}={spikes[edge]}" for name, spikes in named if spikes[edge])
        for edge in range(len(steps))
    ]


def _joined(labels: dict[str, None]) -> str:
    text = " | ".join(filter(None, labels))
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 3]}..."


def follow(stepper: Stepper, graph: Graph, configuration: int) -> list[Moment]:
    """The shortest path to a configuration, step by step.

    **Raises:** `Refused` where there is no such configuration, and where the path has choices that
    are no rules; the computation is then the one that it was.
    """
    if not 0 <= configuration < graph.num_configurations:
        raise Refused(f"There is no configuration {configuration} in the graph.")
    before = list(stepper.moments)
    try:
        return _followed(stepper, graph, configuration)
    except Refused:
        stepper.moments = before  # which the page still shows
        raise


def _followed(stepper: Stepper, graph: Graph, configuration: int) -> list[Moment]:
    made = [stepper.moments[0]]
    if configuration:
        steps = graph.steps_to(configuration)
        for at, rules in enumerate(steps.rules.tolist()):
            slots = stepper.moments[at].slots
            chosen = {i: rule for i, rule in enumerate(rules) if rule in slots.get(i, ())}
            subsets: dict[int, int] = {}
            if steps.subsets is not None:
                subsets = dict(enumerate(map(int, steps.subsets[at].tolist())))
            made.append(stepper.step(at, chosen, "first", subsets))
    wanted = graph.configurations(np.asarray(graph.path_to(configuration)))
    for moment, spikes, timers in zip(made, wanted.spikes, wanted.timers, strict=True):
        found = moment.solution
        size = len(found.spikes)
        is_same = np.array_equal(spikes[:size], found.spikes)
        if not (is_same and np.array_equal(timers[:size], found.timers)):
            raise Refused("The path to this configuration has choices that are no rules.")
    return made
