"""What may hold of a computation, as far as it was followed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool

from ..._text.conditions import elementwise
from ..._text.counts import plural
from ...spiking.view.configurations import Configurations, visited
from ...spiking.view.solution import SolutionBatch
from ...trajectory import SAVE_FINAL, SAVE_OUTPUTS, Save
from ..query.errors import QueryError
from ..query.formula import (
    Comparison,
    Formula,
    Observed,
    Temporal,
    Variable,
    comparisons,
    is_about_one,
)
from ..query.names import check_names
from ..query.parse import parse_query
from ..temporal.evaluation import Evaluation
from ..temporal.labels import Labelling, Truth


class Judged(NamedTuple):
    """What is known of paths that were cut: whether it `holds`, and whether that is not decided."""

    holds: Bool[np.ndarray, " paths"]
    is_undecided: Bool[np.ndarray, " paths"]


#: Tells of each path of a batch whether something holds of its first `max_steps` steps, or, as a
#: `Judged`, of the whole computation as far as that can be seen.
Judge: TypeAlias = Callable[[SolutionBatch], "Bool[np.ndarray, ' paths'] | Judged"]


@dataclass(frozen=True)
class PathProperty:
    """Something that holds of a computation or not.

    - `judge`: see `Judge`.
    - `save`: what it has to see of a run.
    - `text`: in words.
    """

    judge: Judge
    save: Save = SAVE_OUTPUTS
    text: str = "the given property"

    def __bool__(self) -> bool:
        raise TypeError(
            "`and`, `or` and `not` cannot combine properties of paths. Write one "
            "`PathProperty(judge)` with `&`, `|` and `~` between arrays of truth values."
        )


def halts() -> PathProperty:
    """The computation halts.

    **Returns:** a `PathProperty` for `estimate`, undecided on a path that has not halted.
    """

    def judge(batch: SolutionBatch) -> Judged:
        halted = batch.halted
        return Judged(halted, ~halted)

    return PathProperty(judge, SAVE_FINAL, "the computation halts")


def emits(output: str) -> PathProperty:
    """An output neuron emits at least once.

    **Arguments:**

    - `output`: the name of an output neuron.

    **Returns:** a `PathProperty` for `estimate`, undecided on a path that has neither emitted nor
    halted.
    """

    def judge(batch: SolutionBatch) -> Judged:
        train = batch.train(output)
        emitted = np.any(train != 0, axis=tuple(range(train.ndim - 1)))
        return Judged(emitted, ~emitted & ~batch.halted)

    return PathProperty(judge, SAVE_OUTPUTS, f"{output} emits")


def reaches(predicate: Callable[[Configurations], np.ndarray]) -> PathProperty:
    """The computation reaches a configuration with a property: `reaches(lambda c: c["n3"] > 4)`.

    **Arguments:**

    - `predicate`: maps `Configurations` to `(configurations,)` truth values; `c["n3"]` are the
      spikes of a neuron, or of all neurons with a label where neurons divide, and `c.step` counts
      the steps of the path. All configurations of a batch are kept until they have been examined.

    **Returns:** a `PathProperty` for `estimate`, undecided on a path that has neither reached one
    nor halted.

    **Raises:** `ValueError`, during the estimate, if `predicate` returns anything but one truth
    value for each configuration.
    """

    def judge(batch: SolutionBatch) -> Judged:
        reached = np.asarray(elementwise(predicate)(visited(batch)))
        if reached.dtype != bool or reached.ndim != 1:
            raise ValueError(
                f"The predicate gives an array of {reached.dtype} with "
                f"{plural(reached.ndim, 'axis', 'axes')}. "
                "Give one truth value for each configuration."
            )
        reached = np.any(reached.reshape(-1, batch.paths), axis=0)
        return Judged(reached, ~reached & ~batch.halted)

    return PathProperty(judge, Save(outputs=False, details=False), "the predicate is reached")


def asked(text: str) -> PathProperty:
    """The property of a query "eventually ...", see `snpjax.check`: that a computation halts, that
    an output emits, or that it reaches a configuration of which a condition holds.

    **Raises:** `QueryError` for a query that asks for something else.
    """
    query = parse_query(text)
    match query.formula:
        case Temporal("eventually", part) if query.on_all_paths and is_about_one(part):
            pass
        case _:
            fix = 'write "eventually" and a condition, as "eventually n3 >= 4"'
            raise QueryError(text, 0, f"no probability is estimated of this ({fix})")
    match part:
        case Comparison(((Variable(Observed.HALTED), 1),), ">=", 1):
            return replace(halts(), text=text)
        case Comparison(((Variable(Observed.EMITS, output), 1),), ">=", 1):
            return replace(emits(output), text=text)
    for comparison in comparisons(part):
        if comparison.is_of_step:
            fix = "ask for it alone"
            raise QueryError(text, comparison.start, f"`emits` and `fires` are of steps ({fix})")

    def holds(configurations: Configurations) -> np.ndarray:
        schema = configurations.system.schema()
        check_names(query, schema)
        values_of = Evaluation(schema).of(configurations)
        truth: dict[Formula, Truth] = {x: values_of(x).compared(x) for x in comparisons(part)}
        return Labelling(len(configurations), truth).where(part, may=False)

    return replace(reaches(holds), text=text)
