"""Conditions on configurations that users write as functions, and where they depend on numbers that
the search has cut."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from jaxtyping import Bool

from .._text.conditions import elementwise
from ..machine import ConfigurationsT, StepsT


if TYPE_CHECKING:
    from .graph import Graph

#: Of which configurations something holds.
Where: TypeAlias = Bool[np.ndarray, " configurations"]
# A cut number stands for itself and all larger ones: so much larger ones are tried.
_LARGER = (1, 2, 5, 100, 2**30)


def condition_of(
    graph: "Graph[ConfigurationsT, StepsT]", function: Callable[[ConfigurationsT], np.ndarray]
) -> tuple[Where, Where]:
    """What a function says of each configuration, and of which of them that may be wrong.

    A count that is cut by `saturate`, or a step past the clock, stands for all larger ones: where
    it is cut the function is asked again with larger ones, and may be wrong if it says something
    else.

    **Raises:** `ValueError` for a function that does not give one boolean for each; `TypeError` for
    one that uses `and`, `or` or `not`.
    """
    schema, last_step = graph.schema, int(graph.machine.encoding.last_step)

    def seen(configurations: ConfigurationsT) -> np.ndarray:
        holds = _said(function, configurations)
        may_be_wrong = np.zeros(len(configurations), bool)
        if schema.is_cut is not None and schema.plus is not None:
            is_cut = schema.is_cut(configurations, graph.saturate)
            for more in _LARGER if is_cut.any() else ():
                larger = schema.plus(configurations, more * is_cut)
                may_be_wrong |= _said(function, larger) != holds
        is_late = configurations.step >= last_step
        for more in _LARGER if is_late.any() else ():
            later = replace(configurations, step=configurations.step + more * is_late)
            may_be_wrong |= _said(function, later) != holds
        return np.stack([holds, may_be_wrong], axis=1)

    both = graph.map(seen)
    return both[:, 0], both[:, 1]


def certain_condition(
    graph: "Graph[ConfigurationsT, StepsT]", function: Callable[[ConfigurationsT], np.ndarray]
) -> Where:
    """What a function says of each configuration.

    **Raises:** `ValueError` if that may be wrong somewhere, see `condition_of`.
    """
    holds, may_be_wrong = condition_of(graph, function)
    if may_be_wrong.any():
        raise ValueError(
            "The function depends on a number that is cut in configuration "
            f"{int(may_be_wrong.argmax())}, by `saturate` or because steps are not told apart. "
            "Saturate that neuron higher or not at all, or explore with a larger `clock`."
        )
    return holds


def _said(
    function: Callable[[ConfigurationsT], np.ndarray], configurations: ConfigurationsT
) -> Where:
    holds = np.asarray(elementwise(function)(configurations))
    if holds.shape != (len(configurations),) or holds.dtype != bool:
        raise ValueError(
            f"The function gives {holds.dtype} of shape {holds.shape}. Give one boolean for each "
            f"of the {len(configurations)} configurations."
        )
    return holds
