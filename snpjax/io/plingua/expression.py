"""Integer and rational expressions of P-Lingua, exact, compiled to closures over the variables in
scope.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from ..source import Mistake


Number: TypeAlias = int | Fraction
Value: TypeAlias = int | Fraction | str
Scope: TypeAlias = "dict[str, Value | Unknown]"

MAX_DIGITS = 100  # of a number in a file
_MAX_BITS = 4096  # of a value on the way
_LIMIT = 1 << _MAX_BITS


class Unknown:
    """The value of a variable whose definition failed: using it adds no second error."""


class FollowUp(Exception):
    """A statement that depends on a mistake reported already."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression at character `offset`: `value` computes it in a scope; `names` are the
    variables it reads.

    `variable` is its name when it is nothing but a variable, which may then hold text. `form` is
    what it is made of, for `vector`.
    """

    offset: int
    value: Callable[[Scope], Number]
    names: frozenset[str] = frozenset()
    variable: str | None = None
    form: "ValueForm | None" = None

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


@dataclass(frozen=True, slots=True)
class Chain:
    """`first sign operand sign operand ...`, from left to right."""

    first: Expression
    operations: "Sequence[Operation]"


@dataclass(frozen=True, slots=True)
class Negative:
    operand: Expression


#: A number, the name of a variable, or an operation.
ValueForm: TypeAlias = int | str | Chain | Negative
Operation: TypeAlias = tuple[str, Expression]


def number(offset: int, digits: str) -> Expression:
    if len(digits) > MAX_DIGITS:

        def refuse(scope: Scope) -> Number:
            message = f"the number has {len(digits)} digits (write at most {MAX_DIGITS})"
            raise Mistake(offset, message)

        return Expression(offset, refuse)
    constant = int(digits)
    return Expression(offset, lambda scope: constant, form=constant)


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

    return Expression(offset, look_up, frozenset([name]), name, name)


def _undefined(name: str, scope: Scope) -> str:
    known = ", ".join(sorted(scope)[:5]) or "none"
    return (
        f"the variable {name} is not defined here (define it with let, as a parameter or by a "
        f"range further right, the outer loop; known: {known})"
    )


def group(offset: int, inner: Expression) -> Expression:
    return Expression(offset, inner.value, inner.names, form=inner.form)


def chain(first: Expression, operations: Sequence[Operation]) -> Expression:
    """`first op operand op operand ...`, from left to right."""
    names = first.names.union(*(operand.names for _, operand in operations))
    if len(operations) == 1:
        value = _binary(first, *operations[0])
        return Expression(first.offset, value, names, form=Chain(first, operations))
    start = first.value
    steps = [(OPERATORS[sign], operand.value, operand.offset) for sign, operand in operations]

    def evaluate(scope: Scope) -> Number:
        total = start(scope)
        for operator, operand, offset in steps:
            total = operator(total, operand(scope), offset)
        return total

    return Expression(first.offset, evaluate, names, form=Chain(first, operations))


def _binary(first: Expression, sign: str, second: Expression) -> Callable[[Scope], Number]:
    left, right, offset = first.value, second.value, second.offset
    operator = OPERATORS[sign]
    return lambda scope: operator(left(scope), right(scope), offset)


def signed(offset: int, negative: bool, operand: Expression) -> Expression:
    if not negative:
        return Expression(offset, operand.value, operand.names, form=operand.form)
    value = operand.value
    return Expression(offset, lambda scope: -value(scope), operand.names, form=Negative(operand))


def _exact(value: Number, offset: int) -> Number:
    """`value` as an integer if it is one. Refuses values too long to be meant."""
    if type(value) is int:
        if -_LIMIT < value < _LIMIT:
            return value
    elif abs(value.numerator) < _LIMIT and value.denominator < _LIMIT:
        return value.numerator if value.denominator == 1 else value
    raise Mistake(offset, f"the value has more than {_MAX_BITS} bits (use smaller numbers)")


def _divisor(right: Number, offset: int) -> Number:
    if right == 0:
        raise Mistake(offset, "division by zero (change the divisor)")
    return right


def _power(left: Number, right: Number, offset: int) -> Number:
    if type(right) is not int:
        raise Mistake(offset, f"the exponent is {right}, not an integer (use // to divide)")
    if right < 0:
        _divisor(left, offset)
    bits = max(abs(left.numerator), left.denominator).bit_length()
    if bits > 1 and bits * abs(right) > 2 * _MAX_BITS:
        message = f"the value has more than {_MAX_BITS} bits (use smaller numbers)"
        raise Mistake(offset, message)
    return _exact(Fraction(left) ** right if right < 0 else left**right, offset)


#: Of numbers, exact; the offset is that of the second.
OPERATORS: dict[str, Callable[[Number, Number, int], Number]] = {
    "+": lambda left, right, offset: _exact(left + right, offset),
    "-": lambda left, right, offset: _exact(left - right, offset),
    "*": lambda left, right, offset: _exact(left * right, offset),
    "/": lambda left, right, offset: _exact(Fraction(left) / _divisor(right, offset), offset),
    "//": lambda left, right, offset: _exact(left // _divisor(right, offset), offset),
    "%": lambda left, right, offset: _exact(left % _divisor(right, offset), offset),
    "^": _power,
}
