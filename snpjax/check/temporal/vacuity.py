"""Parts of a query that are vacuously true: what should trigger them never happens, or they do not
matter."""

from collections.abc import Iterator

import numpy as np

from ..query.formula import (
    FALSE,
    TRUE,
    And,
    Formula,
    Implies,
    InOrder,
    Not,
    Or,
    Quantified,
    Query,
    Temporal,
    is_about_one,
    parts_of,
    with_part,
)
from .kripke import States, Structure
from .labels import Labelling
from .paths import Checker
from .product import Path


def vacuous(
    query: Query,
    structure: Structure,
    labels: Labelling,
    never: str,
    fair: tuple[Formula, ...] = (),
    *,
    is_path: bool = False,
) -> Iterator[str]:
    """A remark for every trigger of a query that is false wherever it is looked at: an implication
    at the top speaks of the initial configuration, one below `always` of all.

    A trigger that speaks of the future is false where its negation holds on all paths; there is no
    remark where that is not checked, or not known. An eventuality needs none: halting
    configurations follow themselves, so that there always is a path.

    - `never`: in words, that something is true in none of the states.
    - `is_path`: whether the structure is one path, of which what is quantified does not speak.
    """
    checker = Checker(structure, labels, fair)
    start = np.zeros(structure.num_states, bool)
    start[structure.initial] = True
    if (
        not is_path
        and fair
        and not checker.may_have_path(Quantified(False, TRUE), structure.initial)
    ):
        yield "no path is fair"
    for trigger, states in _triggers(query.formula, start, structure, is_path=is_path):
        if states.any() and checker.impossible(trigger)[states].all():
            what = f"`{query.source(trigger)}`"
            if states.all():
                yield f"{what} {never}"
            elif np.array_equal(states, start):
                yield f"{what} is false in the initial configuration"
            else:
                yield f"{what} {never} where the query looks at it"


def needless(query: Query, checker: Checker, state: int) -> Iterator[str]:
    """A remark for every side of `or`, `until` and `weak until` that a query does without: it holds
    in a state with anything in its place.

    ??? cite "Source"
        Beer, Ben-David, Eisner, Rodeh 2001, Efficient detection of vacuity in temporal model
        checking; Kupferman, Vardi 2003. Of the sides of other operators, those are remarked that
        never trigger what they should, see `vacuous`.
    """
    for part, formula in _strengthened(query.formula, True):
        other = Quantified(query.on_all_paths, formula)
        if query.on_all_paths:
            holds = not checker.may_have_path(other, state)
        else:
            holds = checker.path(other, state) is not None
        if holds:
            yield f"`{query.source(part)}` does not matter: the query holds whatever it is"


def _strengthened(formula: Formula, positive: bool) -> Iterator[tuple[Formula, Formula]]:
    """Sides of operators, and the formula with the strongest one in place of each: one that is
    never true or, where a negation stands before it, always."""
    if is_about_one(formula):
        return
    has_sides = isinstance(formula, Or) if positive else isinstance(formula, And)
    match formula:
        case InOrder(_, "until" | "weak until"):
            has_sides = True
    for number, part in enumerate(parts_of(formula)):
        negated = isinstance(formula, Not) or (isinstance(formula, Implies) and number == 0)
        match formula:
            case Temporal("never") | InOrder(_, "preceded by") | InOrder(_, "followed by"):
                negated = number == 0
        for inner, stronger in _strengthened(part, positive != negated):
            yield inner, with_part(formula, number, stronger)
        if has_sides:
            yield part, with_part(formula, number, FALSE if positive else TRUE)


def along(path: Path, labels: Labelling) -> tuple[Structure, Labelling]:
    """The states of a path, one by one; after the last one anything may follow, unless it is that
    of the loop once more."""
    size = len(path.states) - (path.loop is not None)
    is_open, following = np.zeros(size, bool), np.arange(1, size + 1, dtype=np.int32)
    if path.loop is None:
        is_open[-1], following = True, following[:-1]
    else:
        following[-1] = path.loop
    first = np.minimum(np.arange(size + 1), len(following))
    states = np.asarray(path.states[:size])
    truth = {own: (surely[states], may[states]) for own, (surely, may) in labels.truth.items()}
    return Structure(first, following, is_open), Labelling(size, truth)


def _triggers(
    formula: Formula, states: States, structure: Structure, *, is_path: bool
) -> Iterator[tuple[Formula, States]]:
    """The left sides of implications, what is to be followed or preceded, and the conditions that
    never come together; and in which states they are looked at, if the formula is in some."""
    match formula:
        case Temporal("next"):
            states = structure.after(states)
        case Temporal() | InOrder():
            states = structure.from_on(states)
    match formula:
        case Implies(left) | InOrder(left, "followed by" | "preceded by"):
            yield left, states
        case Temporal("never", And(conditions)) | Temporal("always", Not(And(conditions))):
            yield from ((condition, states) for condition in conditions)
        case Temporal("always", Or(conditions)):
            negated = (condition.part for condition in conditions if isinstance(condition, Not))
            yield from ((part, states) for part in negated)
    for part in parts_of(formula):
        if not (is_path and isinstance(part, Quantified)):
            yield from _triggers(part, states, structure, is_path=is_path)
