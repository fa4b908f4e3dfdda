"""Formulas of linear time in the few operators that automata are made of."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from ..query.formula import (
    FALSE,
    TRUE,
    And,
    Formula,
    Implies,
    InOrder,
    Not,
    Or,
    Temporal,
    Within,
    is_state_formula,
)


@dataclass(frozen=True)
class Now:
    """A condition on the configuration itself."""

    condition: Formula


@dataclass(frozen=True)
class Both:
    left: "Form"
    right: "Form"


@dataclass(frozen=True)
class Either:
    left: "Form"
    right: "Form"


@dataclass(frozen=True)
class Next:
    part: "Form"


@dataclass(frozen=True)
class Until:
    """`right` holds after some steps, at most `within` of them, and `left` in each configuration
    before."""

    left: "Form"
    right: "Form"
    within: int | None = None


@dataclass(frozen=True)
class Release:
    """`right` holds up to and with the first configuration of which `left` does, or for ever;
    nothing is asked for after `within` steps."""

    left: "Form"
    right: "Form"
    within: int | None = None


Form: TypeAlias = Now | Both | Either | Next | Until | Release


def normal(formula: Formula, positive: bool = True, within: int | None = None) -> Form:
    """A formula, or its negation, in negation normal form: negations are in conditions only.

    - `within`: how many steps the outermost operator looks ahead.
    """
    if is_state_formula(formula):
        return Now(formula if positive else negation(formula))
    match formula:
        case Not(part):
            return normal(part, not positive)
        case And(parts) | Or(parts):
            join = _both if isinstance(formula, And) == positive else _either
            return reduce(join, (normal(part, positive) for part in parts))
        case Implies(left, right):
            join = _either if positive else _both
            return join(normal(left, not positive), normal(right, positive))
        case Within(steps, part):
            return normal(part, positive, steps)
        case Temporal(operator, part):
            inner = normal(part, positive != (operator == "never"))
            return _temporal(operator, inner, positive, within)
        case InOrder(left, "until", right):
            first, then = normal(left, positive), normal(right, positive)
            return Until(first, then, within) if positive else Release(first, then, within)
        case InOrder(left, "weak until", right):
            first, then = normal(left, positive), normal(right, positive)
            if positive:
                return Release(then, _either(first, then), within)
            return Until(then, _both(first, then), within)
        case InOrder(left, "preceded by", right):
            return normal(InOrder(Not(left), "weak until", right), positive, within)
        case InOrder(left, "followed by", right):
            later: Formula = Temporal("eventually", right)
            later = later if within is None else Within(within, later)
            return normal(Temporal("always", Implies(left, later)), positive)
    raise AssertionError("This is a bug of snpjax, please report it.")


def _temporal(operator: str, part: Form, positive: bool, within: int | None) -> Form:
    match operator:
        case "next":
            return part if _is_about_the_end(part) else Next(part)
        case "always" | "never":
            return always(part, within) if positive else eventually(part, within)
        case "eventually":
            return eventually(part, within) if positive else always(part, within)
    # infinitely often p = always eventually p, steady p = eventually always p
    if (operator == "infinitely often") == positive:
        return always(eventually(part))
    return eventually(always(part))


def always(form: Form, within: int | None = None) -> Form:
    match form:
        case Release(Now(condition), _, None) if condition == FALSE:
            return form
    return form if _is_about_the_end(form) else Release(Now(FALSE), form, within)


def eventually(form: Form, within: int | None = None) -> Form:
    match form:
        case Until(Now(condition), _, None) if condition == TRUE:
            return form
    return form if _is_about_the_end(form) else Until(Now(TRUE), form, within)


def recurring(form: Form) -> Form | None:
    """What is to hold infinitely often, if that is what a form says."""
    match form:
        case Release(Now(never), Until(Now(ever), part, None), None):
            return part if never == FALSE and ever == TRUE else None
    return None


def _is_about_the_end(form: Form) -> bool:
    """Whether a form holds of a path if and only if it does of what is left of it later."""
    match form:
        case Both(left, right) | Either(left, right):
            return _is_about_the_end(left) and _is_about_the_end(right)
        case Until(Now(ever), Release(Now(never), _, None), None):
            return never == FALSE and ever == TRUE
    return recurring(form) is not None


def _both(left: Form, right: Form) -> Form:
    match left, right:
        case Now(one), Now(other):
            return Now(And((one, other)))
    return Both(left, right)


def _either(left: Form, right: Form) -> Form:
    match left, right:
        case Now(one), Now(other):
            return Now(Or((one, other)))
    return Either(left, right)


def negation(condition: Formula) -> Formula:
    """The negation of a condition, without double negations."""
    return condition.part if isinstance(condition, Not) else Not(condition)


def all_forms(form: Form) -> Iterator[Form]:
    """A form and everything below it."""
    yield form
    match form:
        case Both(left, right) | Either(left, right) | Until(left, right) | Release(left, right):
            yield from all_forms(left)
            yield from all_forms(right)
        case Next(part):
            yield from all_forms(part)
