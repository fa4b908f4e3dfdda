"""Conditions on one configuration: as terms of the solver, and as truth values."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..query.formula import And, Comparison, Formula, Implies, Not, Or, Variable


class Logic(NamedTuple):
    """How truth values are joined: those of Python, or terms of the solver."""

    every: Callable[[Sequence[Any]], Any]
    some: Callable[[Sequence[Any]], Any]
    negate: Callable[[Any], Any]


#: Why a proof by induction is refused for a query that multiplies.
NO_PRODUCTS = (
    "numbers that vary are multiplied, and only linear conditions are proved by induction (use "
    "`snpjax.check`)"
)
PYTHON = Logic(all, any, lambda truth: not truth)


def truth_of(formula: Formula, value: Callable[[Variable], Any], logic: Logic = PYTHON) -> Any:
    """The truth of a condition, where its variables have the integers, or terms, `value`."""
    match formula:
        case Comparison():
            total = sum(x * value(variable) for variable, x in formula.linear_terms)
            if formula.modulus is not None:
                return total % formula.modulus == formula.constant
            match formula.relation:
                case "=":
                    return total == formula.constant
                case "<=":
                    return total <= formula.constant
            return total >= formula.constant
        case Not(part):
            return logic.negate(truth_of(part, value, logic))
        case And(parts):
            return logic.every([truth_of(part, value, logic) for part in parts])
        case Or(parts):
            return logic.some([truth_of(part, value, logic) for part in parts])
        case Implies(left, right):
            known, follows = truth_of(left, value, logic), truth_of(right, value, logic)
            return logic.some([logic.negate(known), follows])
    raise AssertionError("This is a bug of snpjax, please report it.")
