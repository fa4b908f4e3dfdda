"""A configuration graph as values of JSON, for the page."""

from typing import Any, cast

import numpy as np

from ...check import NumberQuery, Verdict, check, parse_property
from ...choice import NO_RULE
from ...explore import Graph, explore
from ...explore.drawing import labels_of_pairs, texts_of
from ...machine import Explorable
from ...spiking import Solution, SpikingSystem
from .models import PageModel
from .nets import CHOOSER, NetStepper
from .stepping import AbstractStepper, Moment, Refused, Stepper


#: More than these are not drawn.
MOST_CONFIGURATIONS = 2_000
_MOST_CHOICES = 20_000
_MOST_SECONDS = 60.0  # of a query


def explored(system: SpikingSystem, max_configurations: int) -> Graph:
    """The first configurations of a system, breadth-first.

    **Raises:** `Refused` for a system that cannot be explored.
    """
    try:
        return explore(system, max_configurations=max_configurations, chunks=[2**8])
    except (NotImplementedError, ValueError) as error:
        raise Refused(f"{error}") from None


def graph_json(graph: Graph) -> dict[str, Any]:
    """Configurations by number, as pictures of the graph have them (`<2⁽¹⁾,1,0>`), and the choices
    between them, several between the same two as one; too many are not listed."""
    is_drawn = graph.num_choices <= _MOST_CHOICES
    labels = labels_of_pairs(graph, "emissions") if is_drawn else {}
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


def follow(stepper: Stepper, graph: Graph, configuration: int) -> list[Moment[Solution]]:
    """The shortest path to a configuration, step by step.

    **Raises:** `Refused` where there is no such configuration, and where the path has choices that
    are not rules; the computation is then the one that it was.
    """
    if not 0 <= configuration < graph.num_configurations:
        raise Refused(f"There is no configuration {configuration} in the graph.")
    before = list(stepper.moments)
    try:
        return _followed(stepper, graph, configuration)
    except Refused:
        stepper.moments = before  # which the page still shows
        raise


def check_for_page(model: PageModel, query: str) -> Verdict:
    """The verdict on a query. **Raises:** `Refused` for a query that has none, or no witness."""
    try:
        if isinstance(parse_property(query), NumberQuery):
            raise Refused("No computation shows a number. Ask something else of the page.")
        return check(cast("Explorable[Any, Any]", model), query, seconds=_MOST_SECONDS)
    except (NotImplementedError, ValueError) as error:
        raise Refused(f"{error}") from None


def witnessed(
    stepper: AbstractStepper[Any], verdict: Verdict
) -> tuple[list[Moment[Any]], int | None]:
    """The computation that shows a verdict, step by step, and where its loop begins, if it has one;
    without a witness the initial configuration.

    **Raises:** `Refused` where the page cannot make its steps; the computation is then the one that
    it was.
    """
    made, before = [stepper.moments[0]], list(stepper.moments)
    if verdict.witness is None or verdict.choices is None:
        return made, None
    subsets = verdict.choices.subsets
    try:
        for at, rules in enumerate(verdict.rules.tolist()):
            if made[-1].is_halted:
                return made, None
            own = [CHOOSER] if isinstance(stepper, NetStepper) else range(len(rules))
            chosen = {i: rule for i, rule in zip(own, rules, strict=False) if rule != NO_RULE}
            numbers = {} if subsets is None else dict(enumerate(map(int, subsets[at].tolist())))
            made.append(stepper.step(at, chosen, "first", numbers))
    except Refused:
        stepper.moments = before
        raise
    return made, verdict.loop


def _followed(stepper: Stepper, graph: Graph, configuration: int) -> list[Moment[Solution]]:
    made = [stepper.moments[0]]
    if configuration:
        steps = graph.steps_to(configuration)
        for at, rules in enumerate(steps.rules.tolist()):
            options = stepper.moments[at].options
            chosen = {i: rule for i, rule in enumerate(rules) if rule in options.get(i, ())}
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
            raise Refused("The path to this configuration has choices that are not rules.")
    return made
