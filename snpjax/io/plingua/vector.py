"""All instances of a P-Lingua statement at once: the values of its ranges as arrays.

What 64 bits cannot hold, what is no integer and what is an error is `Irregular`, and left to those
who run the instances one by one.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ..source import Mistake
from . import tree
from .expression import ARRAY_LIMIT, Expression, FollowUp, Scope, most_of
from .ranges import MAX_AT_ONCE


class Irregular(Exception):
    """What cannot be read as families; the scalar path reads it, or tells what is wrong."""


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of a statement in order; in `scope` its range variables are arrays."""

    count: int
    scope: Scope

    def integers(
        self, expression: Expression | None, least: int | None = 0
    ) -> Int[np.ndarray, " instances"]:
        """One integer for each instance, at least `least`; 1 where there is no expression.

        **Raises:** `Irregular`.
        """
        try:
            values = np.asarray(1 if expression is None else expression.value(self.scope))
        except (Mistake, FollowUp, OverflowError):  # a number that 64 bits do not hold
            raise Irregular from None
        if values.dtype != np.int64 or most_of(values) >= ARRAY_LIMIT:
            raise Irregular
        if least is not None and self.count and values.min() < least:
            raise Irregular
        return np.broadcast_to(values, (self.count,))


def instances(statement: tree.Statement, scope: Scope) -> Instances:
    """All instances of a statement with ranges, in the order of its loops.

    **Raises:** `Irregular`, before anything large is made.
    """
    current = Instances(1, scope)
    variables: dict[str, Int[np.ndarray, " instances"]] = {}
    for bounds in reversed(statement.bounds):
        low = current.integers(bounds.low) + bounds.low_shift
        high = current.integers(bounds.high) + bounds.high_shift
        counts = np.maximum(high - low + 1, 0)
        if counts.sum(dtype=float) > MAX_AT_ONCE:
            raise Irregular
        total = int(counts.sum())
        starts = np.cumsum(counts) - counts
        variables = {name: np.repeat(values, counts) for name, values in variables.items()}
        variables[bounds.variable] = np.arange(total) + np.repeat(low - starts, counts)
        current = Instances(total, {**scope, **variables})
    for condition in statement.filters:
        differs = current.integers(condition.left, None) != current.integers(condition.right, None)
        variables = {name: values[differs] for name, values in variables.items()}
        current = Instances(int(differs.sum()), {**scope, **variables})
    return current
