"""Integer and rational expressions of P-Lingua, exact, compiled to closures over the variables in
scope.

A variable may also be an array of integers of 64 bits, one for each instance of a statement; what
these bits cannot hold, and what is not an integer in some instance, is a `Mistake` then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from ..source import Mistake


Number: TypeAlias = int | Fraction | Int[np.ndarray, " instances"]
Value: TypeAlias = Number | str
Scope: TypeAlias = "dict[str, Value | Unknown]"

MAX_DIGITS = 100  # of a number in a file
_MAX_BITS = 4096  # of a value on the way
_LIMIT = 1 << _MAX_BITS
ARRAY_LIMIT = 2**62  # of absolute values in an array, so that no sum of two wraps


class Unknown:
    """The value of a variable whose definition failed: using it adds no second error."""


class FollowUp(Exception):
    """A statement that depends on a mistake reported already."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression at character `offset`: `value` computes it in a scope; `names` are the
    variables it reads.

    `variable` is its name when it is nothing but a variable, which may then hold text.
    """

    offset: int
    value: Callable[[Scope], Number]
    names: frozenset[str] = frozenset()
    variable: str | None = None

    def integer(self, scope: Scope, what: str) -> int:
        value = self.value(scope)
        if type(value) is int:
            return value
        raise Mistake(self.offset, f"{what} is {value}, not an integer (use // to divide)")

    def count(self, scope: Scope, what: str) -> int:
        value = self.value(scope)
        if type(value) is int and value >= 0:
            return value
        if type(value) is int:
            raise Mistake(self.offset, f"{what} is {value} (write an integer, 0 or more)")
        raise Mistake(self.offset, f"{what} is {value}, not an integer (use // to divide)")

    def text_or_number(self, scope: Scope) -> Value:
        value = None if self.variable is None else scope.get(self.variable)
        return value if isinstance(value, str) else self.value(scope)


def unreadable(offset: int) -> Expression:
    """Stand in for an expression that does not parse, which is reported."""

    def refuse(scope: Scope) -> Number:
        raise FollowUp

    return Expression(offset, refuse)


def number(offset: int, digits: str) -> Expression:
    if len(digits) > MAX_DIGITS:

        def refuse(scope: Scope) -> Number:
            message = f"the number has {len(digits)} digits (write at most {MAX_DIGITS})"
            raise Mistake(offset, message)

        return Expression(offset, refuse)
    constant = int(digits)
    return Expression(offset, lambda scope: constant)


def variable(offset: int, name: str) -> Expression:
    def look_up(scope: Scope) -> Number:
        try:
            value = scope[name]
        except KeyError:
            raise Mistake(offset, _undefined(name, scope)) from None
        if type(value) is int:
            return value
        if isinstance(value, Unknown):
            raise FollowUp
        if isinstance(value, str):
            raise Mistake(offset, f"{name} is the text {value!r} (a number is needed here)")
        return value

    return Expression(offset, look_up, frozenset([name]), name)


def _undefined(name: str, scope: Scope) -> str:
    known = ", ".join(sorted(scope)[:5]) or "none"
    return (
        f"the variable {name} is not defined here (define it with let, as a parameter or by a "
        f"range to the right of this one; known: {known})"
    )


def group(offset: int, inner: Expression) -> Expression:
    return Expression(offset, inner.value, inner.names)


def chain(first: Expression, operations: Sequence[tuple[str, Expression]]) -> Expression:
    """`first op operand op operand ...`, from left to right."""
    names = first.names.union(*(operand.names for _, operand in operations))
    if len(operations) == 1:
        return Expression(first.offset, _binary(first, *operations[0]), names)
    start = first.value
    steps = [(_OPERATORS[sign], operand.value, operand.offset) for sign, operand in operations]

    def evaluate(scope: Scope) -> Number:
        total = start(scope)
        for operator, operand, offset in steps:
            total = operator(total, operand(scope), offset)
        return total

    return Expression(first.offset, evaluate, names)


def _binary(first: Expression, sign: str, second: Expression) -> Callable[[Scope], Number]:
    left, right, offset = first.value, second.value, second.offset
    operator = _OPERATORS[sign]
    return lambda scope: operator(left(scope), right(scope), offset)


def signed(offset: int, negative: bool, operand: Expression) -> Expression:
    value = operand.value
    return Expression(offset, (lambda scope: -value(scope)) if negative else value, operand.names)


def most_of(array: np.ndarray) -> int:
    """The largest absolute value."""
    return max(int(array.max(initial=0)), -int(array.min(initial=0)))


def _exact(value: Number, offset: int) -> Number:
    """`value` as an integer if it is one. Refuses values too long to be meant."""
    if type(value) is int:
        if -_LIMIT < value < _LIMIT:
            return value
    elif isinstance(value, np.ndarray):
        if value.dtype == np.int64 and most_of(value) < ARRAY_LIMIT:  # and no array of fractions
            return value
    elif abs(value.numerator) < _LIMIT and value.denominator < _LIMIT:
        return value.numerator if value.denominator == 1 else value
    raise Mistake(offset, f"the value has more than {_MAX_BITS} bits (use smaller numbers)")


def _divisor(right: Number, offset: int) -> Number:
    has_zero = not np.all(right) if isinstance(right, np.ndarray) else right == 0
    if has_zero:
        raise Mistake(offset, "division by zero (change the divisor)")
    return right


def _product(left: Number, right: Number, offset: int) -> Number:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        _check(most_of(np.asarray(left)) * most_of(np.asarray(right)), offset)
    return _exact(left * right, offset)


def _quotient(left: Number, right: Number, offset: int) -> Number:
    divisor = _divisor(right, offset)
    if not isinstance(left, np.ndarray) and not isinstance(divisor, np.ndarray):
        return _exact(Fraction(left) / divisor, offset)
    if np.any(np.asarray(left % divisor)):
        raise Mistake(offset, "the quotient is not an integer (use // to divide)")
    return _exact(left // divisor, offset)


def _power(left: Number, right: Number, offset: int) -> Number:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        bases, exponents = np.asarray(left), np.asarray(right)
        base, exponent = most_of(bases), most_of(exponents)
        _check(base ** min(exponent, 62), offset)
        if np.any(exponents < 0) or exponent > 2**12:
            raise Mistake(offset, f"the exponent is {right} (write 0 to 4096)")
        return _exact(bases**exponents, offset)
    if type(right) is not int:
        raise Mistake(offset, f"the exponent is {right}, not an integer (use // to divide)")
    if right < 0:
        _divisor(left, offset)
    bits = max(abs(left.numerator), left.denominator).bit_length()
    if bits > 1 and bits * abs(right) > 2 * _MAX_BITS:
        message = f"the value has more than {_MAX_BITS} bits (use smaller numbers)"
        raise Mistake(offset, message)
    return _exact(Fraction(left) ** right if right < 0 else left**right, offset)


def _check(most: int, offset: int) -> None:
    """Refuse an array of which some value may be so large, before 64 bits wrap."""
    if most >= ARRAY_LIMIT:
        raise Mistake(offset, "the value has more than 62 bits (use smaller numbers)")


#: Of numbers, exact; the offset is that of the second.
_OPERATORS: dict[str, Callable[[Number, Number, int], Number]] = {
    "+": lambda left, right, offset: _exact(left + right, offset),
    "-": lambda left, right, offset: _exact(left - right, offset),
    "*": _product,
    "/": _quotient,
    "//": lambda left, right, offset: _exact(left // _divisor(right, offset), offset),
    "%": lambda left, right, offset: _exact(left % _divisor(right, offset), offset),
    "^": _power,
}
