"""CTL* on small structures: as a checker in pure Python has it, operator by operator."""

import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from snpjax.check.query.formula import Quantified, all_parts
from snpjax.check.query.parse import parse_query
from snpjax.check.query.printing import to_nuxmv, to_prism
from snpjax.check.temporal.kripke import Structure
from snpjax.check.temporal.labels import Labelling
from snpjax.check.temporal.paths import Checker
from tests.check.test_paths import NAMES, assert_path, continued, holds_at
from tests.support.branching import TooManyElements, holds_in
from tests.support.helpers import many
from tests.support.lassos import is_true


CONDITIONS = ["p = 1", "q = 1", "r = 1", "p + q = 1", "not r = 1", "(p = 1 and q = 0)"]
UNARY = [
    *("always", "never", "eventually", "next", "infinitely often", "steady", "not"),
    *(
        "always for 2 steps",
        "never for 1 step",
        "never within 2 steps",
        "eventually within 2 steps",
    ),
    *("on all paths", "on some path"),
]
BINARY = [
    *("until", "weak until", "followed by", "preceded by", "and", "or", "implies"),
    *("until within 2 steps", "weak until within 1 step", "followed by within 1 step"),
    *("preceded by within 2 steps",),
]


def formula(draw, depth):
    """A random formula as text."""
    kind = draw.random()
    if depth == 0 or kind < 0.1:
        return draw.choice(CONDITIONS)
    if kind < 0.6:
        return f"{draw.choice(UNARY)} ({formula(draw, depth - 1)})"
    left, right = formula(draw, depth - 1), formula(draw, depth - 1)
    return f"({left}) {draw.choice(BINARY)} ({right})"


def model(draw):
    """Successors of every state, and the values of `NAMES`."""
    size = draw.randint(1, 4)
    successors = [draw.choices(range(size), k=draw.randint(1, 2)) for _ in range(size)]
    return successors, [[draw.randint(0, 1) for _ in NAMES] for _ in range(size)]


def union(models):
    """One structure of all."""
    successors, values = [], []
    for own, some in models:
        successors += [[len(values) + target for target in targets] for targets in own]
        values += some
    return successors, values


def checker_of(successors, values, query, is_open=()):
    size, holds = len(successors), holds_at(values)
    own = [[] if state in is_open else successors[state] for state in range(size)]
    structure = Structure(
        np.cumsum([0, *map(len, own)]),
        np.asarray([target for some in own for target in some], np.int32),
        np.asarray([state in is_open for state in range(size)]),
    )
    truth = {}
    for comparison in query.comparisons:
        column = np.asarray([holds(comparison, state) for state in range(size)])
        truth[comparison] = (column, column)
    return Checker(structure, Labelling(size, truth), query.fair_paths)


def check_formulas(draw, num_models, num_formulas):
    """Random formulas on random models: truth in all states, a witness, and what remains if some
    successors are not known."""
    successors, values = union([model(draw) for _ in range(num_models)])
    holds, compared, size = holds_at(values), 0, len(values)
    while compared < num_formulas:
        text = formula(draw, 2)
        query = parse_query(f"on some path ({text})" if draw.randint(0, 1) else text)
        fair = [formula(draw, 1) for _ in range(max(draw.randint(-3, 2), 0))]
        query = replace(query, fair=tuple(parse_query(x) for x in fair if " path" not in x))
        try:
            wanted = holds_in(query.quantified, successors, holds, query.fair_paths)
        except TooManyElements:
            continue
        checker = checker_of(successors, values, query)
        for may in (False, True):
            assert checker.holds(query.quantified, may=may).tolist() == wanted, text
        if not query.fair:
            for other in printed(query):
                assert checker.holds(parse_query(other).quantified, may=True).tolist() == wanted
        check_witness(checker, query, draw.randrange(size), successors, holds, wanted)
        is_open = {state for state in range(size) if draw.random() < 0.3}
        part = checker_of(successors, values, query, is_open)
        sure, may = (part.holds(query.quantified, may=may) for may in (False, True))
        assert not np.any(sure & ~np.asarray(wanted)) and not np.any(wanted & ~may), text
        compared += 1


def printed(query):
    """A query in symbols, as far as there is a formula."""
    yield to_prism(query)
    with suppress(ValueError):
        yield to_nuxmv(query)


def check_witness(checker, query, state, successors, holds, wanted):
    """A path shows that a formula does not hold on all, or holds on some; any way to go on will
    do where there is no loop."""
    path = checker.path(query.quantified, state)
    assert (path is None) == (wanted[state] == query.on_all_paths)
    assert checker.may_have_path(query.quantified, state) == (path is not None)
    if path is None:
        return
    assert_path(path, successors, state)
    quantified = {x for x in all_parts(query.formula) if isinstance(x, Quantified)}

    def is_so(part, at):
        return checker.holds(part, may=True)[at] if part in quantified else holds(part, at)

    for lasso in continued(path, successors):
        fair = all(is_true(condition, lasso, is_so) for condition in query.fair_paths)
        assert path.loop is None or fair
        assert not fair or is_true(query.formula, lasso, is_so) != query.on_all_paths


def test_every_operator_is_as_defined():
    check_formulas(random.Random(1), 6, 40)


@pytest.mark.slow
@pytest.mark.parametrize("quarter", range(4))
def test_40_000_formulas(quarter):
    """2,000 models, each with 20 formulas; all of them in every sweep."""
    draw = random.Random(2 + quarter)
    for _ in range(many(20, part=10)):
        check_formulas(draw, 25, 20)
