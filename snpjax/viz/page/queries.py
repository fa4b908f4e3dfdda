"""Conditions on the page: in which configurations of a computation something holds."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool

from ...check.query.errors import QueryError
from ...check.query.formula import Formula, comparisons, is_about_one
from ...check.query.names import check_names
from ...check.query.parse import parse_query
from ...check.temporal.evaluation import Evaluation
from ...check.temporal.labels import Labelling, Truth
from ...sleptsov import SleptsovNet
from ...sleptsov.view.configurations import Markings
from ...spiking import SpikingSystem
from ...spiking.view.configurations import Configurations
from .arguments import Refused
from .moment import Moment


#: Where a condition holds among some moments.
Condition: TypeAlias = Callable[[Sequence[Moment[Any]]], Bool[np.ndarray, " moments"]]


def condition_of(model: SpikingSystem | SleptsovNet, text: str) -> Condition:
    """A condition on single configurations or markings.

    **Arguments:**

    - `model`: whose names the condition uses.
    - `text`: a condition in the language of `snpjax.check`, such as `n3 > 2 and open(n1)`.

    **Returns:** a function that says of each moment whether the condition holds in it.

    **Raises:** `Refused` for a text that is not a condition on one configuration, and for systems
    whose neurons divide or bud.
    """
    if isinstance(model, SpikingSystem) and model.is_growing:
        raise Refused("Conditions need fixed neurons; here some divide or bud.")
    try:
        query = parse_query(text)
        check_names(query, model.schema())
    except QueryError as error:
        raise Refused(f"{error}") from None
    formula = query.formula
    variables = [v for comparison in comparisons(formula) for v in comparison.variables]
    if not is_about_one(formula) or any(v.observed.is_of_step for v in variables):
        raise Refused(f"{text!r:.80} is not a condition on one configuration, such as `n3 > 2`.")
    evaluation = Evaluation(model.schema())

    def holds(moments: Sequence[Moment[Any]]) -> Bool[np.ndarray, " moments"]:
        values_of = evaluation.of(_configurations(model, moments))
        truth: dict[Formula, Truth] = {x: values_of(x).compared(x) for x in comparisons(formula)}
        return Labelling(len(moments), truth).where(formula, may=False)

    return holds


def _configurations(
    model: SpikingSystem | SleptsovNet, moments: Sequence[Moment[Any]]
) -> Configurations | Markings:
    step = np.asarray([moment.solution.steps for moment in moments])
    is_halting = np.asarray([moment.is_halted for moment in moments])
    solutions = [moment.solution for moment in moments]
    if isinstance(model, SleptsovNet):
        return Markings(model, np.stack([x.marking for x in solutions]), step, is_halting)
    spikes, timers, pending = (
        np.stack([np.asarray(getattr(x, name)) for x in solutions])
        for name in ("spikes", "timers", "pending")
    )
    return Configurations(model, spikes, timers, pending, step, is_halting)
