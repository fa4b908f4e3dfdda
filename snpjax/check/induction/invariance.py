"""Which queries say that a condition holds of every configuration."""

from typing import NamedTuple

from ..certificate.conditions import NO_PRODUCTS
from ..query.formula import (
    And,
    Formula,
    Implies,
    Not,
    Observed,
    Or,
    Query,
    Temporal,
    comparisons,
    first_product,
    is_about_one,
)
from .conditions import text_of


class Invariance(NamedTuple):
    """A query as a condition on every reachable configuration.

    - `condition`: that is to hold.
    - `is_negated`: the query holds if and only if the condition does not: it is about some path.
    """

    query: Query
    condition: Formula
    is_negated: bool

    @property
    def text(self) -> str:
        """The query as `always p` or `never p`; where it is negated, what contradicts it."""
        match self.query.formula:
            case Temporal("always" | "never", part) if is_about_one(part) and not self.is_negated:
                return self.query.text
        return f"always ({text_of(self.condition)})"

    @property
    def problem(self) -> tuple[int, str] | None:
        """Where the condition speaks of what a configuration does not hold, and what to do."""
        if (product := first_product(self.condition)) is not None:
            return product.at, NO_PRODUCTS
        for comparison in comparisons(self.condition):
            for variable in comparison.variables:
                if variable.observed.is_of_step:
                    return variable.at, (
                        f"`{variable.observed.value}` speaks of a step, and only conditions on "
                        "configurations are proved by induction (use `snpjax.check`)"
                    )
                if variable.observed is Observed.IN_FLIGHT:
                    return variable.at, (
                        "`in_flight` is 0 in all systems that have a proof by induction (use "
                        "`snpjax.check`)"
                    )
                if variable.observed is Observed.STEP and not comparison.decides_a_number:
                    return variable.at, "`step` is not compared with a constant"
        return None


def invariance_of(query: Query) -> Invariance | None:
    """The condition of a query such as `always p`, `never p`, `on some path eventually p`; `None`
    for queries of another kind."""
    formula = query.formula if query.on_all_paths else Not(query.formula)
    condition = _condition(formula, True)
    return None if condition is None else Invariance(query, condition, not query.on_all_paths)


def _condition(formula: Formula, positive: bool) -> Formula | None:
    match formula, positive:
        case Not(part), _:
            return _condition(part, not positive)
        case (And(parts), True) | (Or(parts), False):
            return _joined([_condition(part, positive) for part in parts])
        case Implies(left, right), False:
            return _joined([_condition(left, True), _condition(right, False)])
        case (Temporal("always", part), True):
            return _inner(part, True)
        case (Temporal("never", part), True):
            return _inner(part, False)
        case (Temporal("eventually", part), False):
            return _inner(part, False)
    return None


def _inner(part: Formula, positive: bool) -> Formula | None:
    if is_about_one(part):
        return part if positive else Not(part)
    return _condition(part, positive)  # always always p


def _joined(parts: list[Formula | None]) -> Formula | None:
    found = [part for part in parts if part is not None]
    return And(tuple(found)) if len(found) == len(parts) else None
