"""What a query asks, as far as reductions depend on it."""

from dataclasses import fields

from ..query.formula import (
    And,
    Comparison,
    Formula,
    Implies,
    InOrder,
    Not,
    Observed,
    Or,
    Query,
    Temporal,
    Variable,
    all_parts,
    comparisons,
    is_about_one,
)


_KNOWN = (And, Comparison, Implies, InOrder, Not, Or, Temporal)


def is_known(query: Query) -> bool:
    """Whether a query consists of formulas that are known here: linear time on all paths, or on
    some path, and nothing besides. Reductions are off for any other."""
    beside = [x.name for x in fields(query) if x.name not in ("text", "on_all_paths", "formula")]
    if any(getattr(query, name) for name in beside):
        return False
    return all(isinstance(part, _KNOWN) for part in all_parts(query.formula))


def variables_of(formula: Formula) -> list[Variable]:
    """Everything that is compared."""
    return [x for comparison in comparisons(formula) for x in comparison.variables]


def reads(query: Query, *observed: Observed) -> bool:
    """Whether a query compares one of these."""
    return any(variable.observed in observed for variable in variables_of(query.formula))


def reads_only(query: Query, *observed: Observed) -> bool:
    """Whether a query compares nothing but these."""
    return all(variable.observed in observed for variable in variables_of(query.formula))


def has_next(query: Query) -> bool:
    """Whether a query counts steps."""
    return any(
        isinstance(part, Temporal) and part.operator == "next" for part in all_parts(query.formula)
    )


def goal_of(query: Query) -> Formula | None:
    """The condition whose reachability decides a query: `p` of `never p` and of `on some path
    eventually p`, `not p` of `always p`; `None` if the query is none of these."""
    return _goal(query.formula, refutes=query.on_all_paths)


def _goal(formula: Formula, *, refutes: bool) -> Formula | None:
    """The condition that is reachable exactly if the formula fails (`refutes`) on some path, or
    holds on some."""
    match formula:
        case Not(part):
            return _goal(part, refutes=not refutes)
        case Temporal("always", part) if refutes and is_about_one(part):
            return Not(part)
        case Temporal("never", part) if refutes and is_about_one(part):
            return part
        case Temporal("eventually", part) if not refutes and is_about_one(part):
            return part
    return None


def asks_for_deadlocks(query: Query) -> bool:
    """Whether the deadlocks alone decide a query: something halts, perhaps where a condition
    holds."""
    goal = goal_of(query)
    return goal is not None and _implies_halted(goal, positive=True)


def asks_for_termination(query: Query) -> bool:
    """Whether a query asks if all computations halt, or if some does not."""
    formula, refutes = query.formula, query.on_all_paths
    while isinstance(formula, Not):
        formula, refutes = formula.part, not refutes
    match formula:
        case Temporal("eventually", part) if refutes:
            return _is_halted(part)
        case Temporal("never", part) if not refutes:
            return _is_halted(part)
        case Temporal("always", Not(part)) if not refutes:
            return _is_halted(part)
    return False


def _is_halted(formula: Formula) -> bool:
    match formula:
        case Comparison(((Variable(Observed.HALTED), 1),), ">=", 1):
            return True
    return False


def _implies_halted(formula: Formula, *, positive: bool) -> bool:
    """Whether a condition, or its negation, says that nothing can happen any more."""
    match formula:
        case Not(part):
            return _implies_halted(part, positive=not positive)
        case And(parts) if positive:
            return any(_implies_halted(part, positive=True) for part in parts)
        case Or(parts) if not positive:
            return any(_implies_halted(part, positive=False) for part in parts)
        case Or(parts) if positive and parts:
            return all(_implies_halted(part, positive=True) for part in parts)
        case And(parts) if not positive and parts:
            return all(_implies_halted(part, positive=False) for part in parts)
        case Implies(left, right) if not positive:
            return _implies_halted(left, positive=True) or _implies_halted(right, positive=False)
    return positive and _is_halted(formula)
