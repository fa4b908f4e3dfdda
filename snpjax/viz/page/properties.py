"""Properties on the page: a verdict in words, and its witness as the computation that is shown."""

from typing import Any

import numpy as np

from ...check import check
from ...check.query.errors import QueryError
from ...check.verdict import Status, Verdict
from ...explore import Patience, explore
from ...sleptsov import SleptsovNet
from ...spiking import SpikingSystem
from .arguments import Refused
from .explored import replayed
from .moment import Moment
from .stepping import AbstractStepper


#: How long a search may take, in seconds, and how many configurations it keeps. What is computed in
#: the graph then has no limit of time of its own.
MOST_SECONDS, _MOST_CONFIGURATIONS = 30.0, 200_000
#: The largest number that is looked for.
MOST_NUMBER = 10_000


def checked(model: SpikingSystem | SleptsovNet, text: str, patience: Patience) -> Verdict[Any, Any]:
    """What is known of a property after a search.

    **Raises:** `Refused` for a text that is not a query, and models that cannot be explored.
    """
    subject: Any = model  # of one kind or the other
    try:
        return check(subject, text, seconds=patience, max_configurations=_MOST_CONFIGURATIONS)
    except (QueryError, NotImplementedError, ValueError) as error:
        raise Refused(f"{error}") from None
    except MemoryError:
        raise Refused("The question needs more memory than there is.") from None


def verdict_text(verdict: Verdict[Any, Any]) -> str:
    """A verdict in words, where "bounded" would read as a property of the model."""
    text = f"{verdict}"
    if verdict.status is not Status.BOUNDED:
        return text
    return text.replace(": bounded (not decided within", ": undecided (no answer within", 1)


def witnessed(stepper: AbstractStepper[Any], verdict: Verdict[Any, Any]) -> list[Moment[Any]]:
    """The witness of a verdict, step by step.

    **Raises:** `Refused` for choices that are not among the rules of neurons; the computation is
    then the one that it was.
    """
    subsets = None if verdict.choices is None else verdict.choices.subsets
    some = None if subsets is None else np.asarray(subsets).tolist()
    visited = verdict.graph if verdict.computation is None else verdict.computation
    caps = None
    if visited is not None and isinstance(system := visited.system, SpikingSystem):
        most = [visited.saturate.get(neuron.name, np.inf) for neuron in system.neurons]
        caps = None if system.is_growing else np.asarray(most)
    rules = verdict.rules.tolist()
    return replayed(stepper, rules, verdict.spikes, caps=caps, subsets=some)


def numbers_json(
    model: SpikingSystem | SleptsovNet, up_to: int, patience: Patience
) -> dict[str, Any]:
    """The numbers that a system computes, up to one of them, and up to which none is missing.

    **Raises:** `Refused` for systems without one output, and those that cannot be explored.
    """
    if isinstance(model, SleptsovNet):
        raise Refused("A net computes no numbers between two spikes.")
    try:
        graph = explore(model, max_configurations=_MOST_CONFIGURATIONS, seconds=patience)
        found = graph.intervals(min(up_to, MOST_NUMBER))
    except (NotImplementedError, ValueError) as error:
        raise Refused(f"{error}") from None
    return {"numbers": list(found.values), "complete": found.complete_up_to}
