"""Expressions of P-Lingua over all values of range variables at once.

Exact as the scalar ones: what 64 bits cannot hold, what is no integer and what is an error is
`Irregular`, and left to them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import add, mul, sub
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Int

from ..source import Mistake
from . import tree
from .expression import (
    OPERATORS,
    Chain,
    Expression,
    FollowUp,
    Negative,
    Number,
    Scope,
)
from .ranges import MAX_AT_ONCE


_LIMIT = 2**62  # of absolute values, so that no sum of two wraps


class Irregular(Exception):
    """What cannot be read as families, for whatever reason; the scalar path reads it, or tells what
    is wrong."""


@dataclass(frozen=True, slots=True)
class Vector:
    """One integer for each instance, between `low` and `high`."""

    values: Int[np.ndarray, " instances"]
    low: int
    high: int

    @classmethod
    def of(cls, values: np.ndarray) -> "Vector":
        if values.size == 0:
            return cls(values, 0, 0)
        return cls(values, int(values.min()), int(values.max()))

    @property
    def size(self) -> int:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))


Value: TypeAlias = Number | Vector


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of a statement in order, the values of its range variables by name.

    What does not depend on them is taken from `scope`.
    """

    count: int
    variables: dict[str, Vector]
    scope: Scope

    def evaluate(self, expression: Expression) -> Value:
        """**Raises:** `Irregular`."""
        if expression.names.isdisjoint(self.variables):
            try:
                return expression.value(self.scope)
            except (Mistake, FollowUp):
                raise Irregular from None
        form = expression.form
        if isinstance(form, str):
            return self.variables[form]
        if isinstance(form, Negative):
            value = self.evaluate(form.operand)
            return _apply("-", 0, value)
        if isinstance(form, Chain):
            total = self.evaluate(form.first)
            for sign, operand in form.operations:
                total = _apply(sign, total, self.evaluate(operand))
            return total
        raise Irregular

    def integers(self, expression: Expression | None, least: int | None = 0) -> np.ndarray:
        """One integer for each instance, at least `least`; 1 where there is no expression."""
        value = 1 if expression is None else self.evaluate(expression)
        if isinstance(value, Vector):
            low, values = value.low, value.values
        elif type(value) is int and abs(value) < _LIMIT:
            low, values = value, np.broadcast_to(np.int64(value), (self.count,))
        else:
            raise Irregular
        if least is not None and self.count and low < least:
            raise Irregular
        return values


def instances(statement: tree.Statement, scope: Scope) -> Instances:
    """All instances of a statement with ranges, in the order of its loops.

    **Raises:** `Irregular`, before anything large is made.
    """
    current = Instances(1, {}, scope)
    for bounds in reversed(statement.bounds):
        low = current.integers(bounds.low) + bounds.low_shift
        high = current.integers(bounds.high) + bounds.high_shift
        counts = np.maximum(high - low + 1, 0)
        if counts.sum(dtype=float) > MAX_AT_ONCE:
            raise Irregular
        total = int(counts.sum())
        starts = np.cumsum(counts) - counts
        values = np.arange(total) + np.repeat(low - starts, counts)
        variables = {
            name: Vector(np.repeat(vector.values, counts), vector.low, vector.high)
            for name, vector in current.variables.items()
            if name != bounds.variable
        }
        current = Instances(total, variables | {bounds.variable: Vector.of(values)}, scope)
    for condition in statement.filters:
        differs = current.integers(condition.left, None) != current.integers(condition.right, None)
        kept = {
            name: Vector(vector.values[differs], vector.low, vector.high)
            for name, vector in current.variables.items()
        }
        current = Instances(int(differs.sum()), kept, scope)
    return current


def _apply(sign: str, left: Value, right: Value) -> Value:
    if isinstance(left, Vector) or isinstance(right, Vector):
        return _VECTOR_OPERATORS[sign](left, right)
    try:
        return OPERATORS[sign](left, right, 0)
    except Mistake:
        raise Irregular from None


def _vector(value: Value) -> Vector:
    """A number as the one value of all instances; only its bounds are exact before a check."""
    if isinstance(value, Vector):
        return value
    if type(value) is not int or abs(value) >= _LIMIT:
        raise Irregular
    return Vector(np.asarray(value), value, value)


def _bounded(operator: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Vector]:
    """An operator whose values lie between those of the ends."""

    def apply(left: Value, right: Value) -> Vector:
        left, right = _vector(left), _vector(right)
        ends = [operator(x, y) for x in (left.low, left.high) for y in (right.low, right.high)]
        _check(ends)
        return Vector(operator(left.values, right.values), min(ends), max(ends))

    return apply


def _divide(left: Value, right: Value) -> Vector:
    left, right = _vector(left), _divisor(right)
    if np.any(left.values % right.values):
        raise Irregular
    return Vector.of(left.values // right.values)


def _power(left: Value, right: Value) -> Vector:
    left, right = _vector(left), _vector(right)
    if right.low < 0 or right.high > 2**12 or (left.size > 1 and right.high > 62):
        raise Irregular
    _check([left.size**right.high])
    return Vector.of(left.values**right.values)


def _divisor(value: Value) -> Vector:
    vector = _vector(value)
    if not np.all(vector.values):
        raise Irregular
    return vector


def _check(bounds: list[int]) -> None:
    if max(map(abs, bounds)) >= _LIMIT:
        raise Irregular


_VECTOR_OPERATORS = {
    "+": _bounded(add),
    "-": _bounded(sub),
    "*": _bounded(mul),
    "/": _divide,
    "//": lambda left, right: Vector.of(_vector(left).values // _divisor(right).values),
    "%": lambda left, right: Vector.of(_vector(left).values % _divisor(right).values),
    "^": _power,
}
