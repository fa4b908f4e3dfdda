"""The configuration graph of a system or the marking graph of a net, for the page, and computations
that were found in it, step by step."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from ...explore import Graph, explore
from ...explore.drawing import labels_of_pairs, texts_of
from ...sleptsov import SleptsovNet
from ...spiking import SpikingSystem
from .arguments import Refused
from .moment import Moment
from .nets import CHOOSER
from .stepping import AbstractStepper


#: More than these are not drawn.
MOST_CONFIGURATIONS = 2_000
_MOST_CHOICES = 20_000


def explored(model: SpikingSystem | SleptsovNet, max_configurations: int) -> Graph:
    """The first configurations of a system, or markings of a net, breadth-first.

    **Raises:** `Refused` for what cannot be explored.
    """
    subject: Any = model  # of one kind or the other
    try:
        return explore(subject, max_configurations=max_configurations, chunks=[2**8])
    except (NotImplementedError, ValueError) as error:
        raise Refused(f"{error}") from None


def graph_json(graph: Graph) -> dict[str, Any]:
    """Configurations by number, as pictures of the graph have them (`<2⁽¹⁾,1,0>`), and the choices
    between them, several between the same two as one; too many are not listed."""
    is_drawn = graph.num_choices <= _MOST_CHOICES
    is_of_net = isinstance(graph.system, SleptsovNet)
    labels = labels_of_pairs(graph, "rules" if is_of_net else "emissions") if is_drawn else {}
    return {
        "configurations": texts_of(graph),
        "depths": graph.depths.tolist(),
        "halting": graph.halting().tolist(),
        "open": np.flatnonzero(graph.is_open).tolist(),
        "edges": [[s, t, label] for (s, t), label in labels.items()],
        "choices": graph.num_choices,
        "complete": graph.is_complete,
        "stop": graph.reason,
    }


def follow(stepper: AbstractStepper[Any], graph: Graph, configuration: int) -> list[Moment[Any]]:
    """The shortest path to a configuration, step by step.

    **Raises:** `Refused` where there is no such configuration, and where the path has choices that
    are not rules; the computation is then the one that it was.
    """
    if not 0 <= configuration < graph.num_configurations:
        raise Refused(f"There is no configuration {configuration} in the graph.")
    steps = graph.steps_to(configuration) if configuration else None
    wanted = graph.configurations(np.asarray(graph.path_to(configuration)))
    if isinstance(graph.system, SleptsovNet):
        rows = [] if steps is None else steps.transition[:, None].tolist()
        return replayed(stepper, rows, wanted.marking)
    rows = [] if steps is None else steps.rules.tolist()
    some = None if steps is None or steps.subsets is None else steps.subsets.tolist()
    return replayed(stepper, rows, wanted.spikes, timers=wanted.timers, subsets=some)


def replayed(
    stepper: AbstractStepper[Any],
    rows: Iterable[list[int]],
    counts: Int[np.ndarray, "moments columns"],
    *,
    timers: Int[np.ndarray, "moments columns"] | None = None,
    caps: Int[np.ndarray, " columns"] | None = None,
    subsets: list[list[int]] | None = None,
) -> list[Moment[Any]]:
    """A computation that was found, made again; what the stepper showed before is forgotten.

    **Arguments:**

    - `stepper`: of the model.
    - `rows`: the rule of each neuron in each step; of a net the transition.
    - `counts`, `timers`: `(moments, columns)` what it has to come through.
    - `caps`: `(columns,)` the largest counts that `counts` tells apart.
    - `subsets`: the subset of synapses of each chooser in each step, where there are any.

    **Raises:** `Refused` where that cannot be made by rules; the computation is then the one that
    it was.
    """
    with stepper.all_or_none():
        made = [stepper.moments[0]]
        for at, rules in enumerate(rows):
            if made[-1].is_halted:
                break
            own = {} if subsets is None else dict(enumerate(subsets[at]))
            made.append(stepper.step(at, _chosen(made[-1], rules), "first", own))
        pairs = zip(counts, made, strict=False)
        are_same = all(_are_same(row, _cut(x.counts, caps)) for row, x in pairs)
        if timers is not None:
            pairs = zip(timers, made, strict=False)
            are_same &= all(_are_same(row, x.solution.timers) for row, x in pairs)
        if not are_same:
            raise Refused("This computation has choices that are not rules: it is not shown.")
        return made


def _cut(
    counts: Int[np.ndarray, " columns"], caps: Int[np.ndarray, " columns"] | None
) -> Int[np.ndarray, " columns"]:
    return counts if caps is None else np.minimum(counts, caps[: len(counts)])


def _are_same(wanted: Int[np.ndarray, " some"], found: Int[np.ndarray, " some"]) -> bool:
    """As far as both go: slots for neurons that are to come are 0."""
    size = min(len(wanted), len(found))
    return np.array_equal(wanted[:size], found[:size])


def _chosen(moment: Moment[Any], rules: list[int]) -> Mapping[int, int]:
    options = moment.options
    if CHOOSER in options:
        return {CHOOSER: rules[0]} if rules[0] in options[CHOOSER] else {}
    return {i: rule for i, rule in enumerate(rules) if rule in options.get(i, ())}
