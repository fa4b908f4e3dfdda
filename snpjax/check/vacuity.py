"""Parts of a query that are true for a bad reason: what should trigger them never happens."""

from collections.abc import Callable, Iterator

from .formula import (
    And,
    Formula,
    Implies,
    InOrder,
    Not,
    Or,
    Query,
    Temporal,
    all_parts,
    is_about_one,
)


def vacuous(query: Query, occurs: Callable[[Formula], bool], is_complete: bool) -> tuple[str, ...]:
    """A remark for every trigger of a query that never occurs, in all configurations or in those
    that were found.

    An eventuality needs no such remark: halting configurations follow themselves, so that there
    always is a path.
    """
    found = [trigger for trigger in _triggers(query.formula) if not occurs(trigger)]
    never = "is never true" if is_complete else "is true in no configuration that was found"
    return tuple(dict.fromkeys(f"`{query.source(trigger)}` {never}" for trigger in found))


def _triggers(formula: Formula) -> Iterator[Formula]:
    """The left sides of implications, what is to be followed or preceded, and the conditions that
    never come together."""
    for part in all_parts(formula):
        match part:
            case Implies(left) | InOrder(left, "followed by" | "preceded by"):
                if is_about_one(left):
                    yield left
            case Temporal("never", And(conditions)):
                yield from filter(is_about_one, conditions)
            case Temporal("always", Or(conditions)):
                for condition in conditions:
                    if isinstance(condition, Not) and is_about_one(condition):
                        yield condition.part
