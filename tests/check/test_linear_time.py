"""Probabilities of formulas of linear time, against an exact reference that has no automata."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from snpjax.check.probability import exact
from snpjax.check.probability.enclosure import probability
from snpjax.check.probability.linear_time import reached
from snpjax.check.query.formula import Not, comparisons
from snpjax.check.query.parse import parse_query
from snpjax.check.temporal.kripke import Structure
from snpjax.check.temporal.labels import Labelling
from tests.check.test_enclosure import chains_of, decisions_of, processes
from tests.support.exact_linear_time import exact_linear_time
from tests.support.helpers import many


conditions = st.sampled_from(["p = 1", "q = 1", "not p = 1", "(p = 1 or q = 1)"])
unary = st.sampled_from("always never eventually next steady not".split() + ["infinitely often"])
bounded = st.sampled_from(["always for", "eventually within"])
binary = st.sampled_from(
    ["until", "weak until", "followed by", "preceded by", "implies", "and", "or"]
)


def formulas(depth=4):
    """Any nesting of operators."""
    return st.recursive(
        conditions,
        lambda own: st.one_of(
            st.builds("{} ({})".format, unary, own),
            st.builds("{} {} steps ({})".format, bounded, st.integers(0, 2), own),
            st.builds("({}) {} ({})".format, own, binary, own),
        ),
        max_leaves=depth,
    )


@st.composite
def cases(draw, **limits):
    """A process, where p and q are so, and a formula."""
    actions = draw(processes(**limits))
    size = len(actions)
    flags = st.lists(st.booleans(), min_size=size, max_size=size)
    return actions, draw(flags), draw(flags), draw(formulas())


def structure_of(actions, is_open=None):
    """All steps; what has no actions stays, unless it is open."""
    size = len(actions)
    opened = np.zeros(size, bool) if is_open is None else np.asarray(is_open)
    after = [
        [] if opened[i] else sorted({j for one in own for j in one}) or [i]
        for i, own in enumerate(actions)
    ]
    first = np.cumsum([0, *map(len, after)])
    return Structure(first, np.asarray([j for own in after for j in own], np.int32), opened)


def truth_of(formula, p, q):
    """The values of comparisons, each of p or q with 1."""
    return {
        one: [x for x in (p if one.terms[0][0].neuron == "p" else q)]
        for one in dict.fromkeys(comparisons(formula))
    }


def bounds_of(actions, p, q, formula, *, may=False, is_open=None):
    """Of the largest probability, and that exactly."""
    truth = truth_of(formula, p, q)
    labels = Labelling(len(p), {x: (np.asarray(y), np.asarray(y)) for x, y in truth.items()})
    structure = structure_of(actions, is_open)
    decisions, target, start = reached(decisions_of(actions), structure, labels, formula, may=may)
    own = decisions, target, np.ones(len(target), bool), "max"
    low, high, _ = probability(*own)
    return low[start], high[start], exact.probability(start, *own)


def check_chain(case):
    actions, p, q, text = case
    formula = parse_query(text).formula
    (chain,) = chains_of(actions)
    low, high, number = bounds_of(actions, p, q, formula)
    assert number == exact_linear_time(chain, truth_of(formula, p, q), formula)[0]
    assert low <= number <= high and high - low < 1e-9


def check_process(case):
    """Nothing that is chosen without memory does better; nor does it do worse than the negation."""
    actions, p, q, text = case
    formula = parse_query(text).formula
    _, _, largest = bounds_of(actions, p, q, formula)
    _, _, negated = bounds_of(actions, p, q, Not(formula))
    values = [exact_linear_time(x, truth_of(formula, p, q), formula)[0] for x in chains_of(actions)]
    assert 1 - negated <= min(values) and max(values) <= largest
    if text in WITHOUT_MEMORY:
        assert 1 - negated == min(values) and max(values) == largest


#: For these no memory is needed to do best.
WITHOUT_MEMORY = (
    "infinitely often (p = 1)",
    "steady (p = 1)",
    "eventually (p = 1)",
    "always (p = 1)",
    "(p = 1) until (q = 1)",
    "always (eventually (steady (p = 1)))",
    "not ((infinitely often (p = 1)) implies (infinitely often (q = 1)))",
)


@settings(max_examples=40)
@given(cases(max_actions=1))
def test_chains(case):
    check_chain(case)


@given(cases(max_size=3), st.sampled_from([*WITHOUT_MEMORY, None]))
def test_processes(case, text):
    actions, p, q, formula = case
    check_process((actions, p, q, text or formula))


@pytest.mark.slow
@settings(max_examples=many(2000, part=24))
@given(cases(max_actions=1, max_size=6), cases(max_size=4), st.sampled_from(WITHOUT_MEMORY))
def test_many_chains_and_processes(chain, process, text):
    check_chain(chain)
    check_process(process)
    check_process((*process[:3], text))


@given(cases(max_actions=1, max_size=4), st.data())
def test_open_states_may_do_anything(case, data):
    """However an open state goes on, the number is between the bounds."""
    actions, p, q, text = case
    formula = parse_query(text).formula
    is_open = data.draw(st.lists(st.booleans(), min_size=len(p), max_size=len(p)))
    cut = [[] if is_open[i] else own for i, own in enumerate(actions)]
    low, _, _ = bounds_of(cut, p, q, formula, is_open=is_open)
    _, high, _ = bounds_of(cut, p, q, formula, may=True, is_open=is_open)
    (chain,) = chains_of(actions)
    number = exact_linear_time(chain, truth_of(formula, p, q), formula)[0]
    assert low <= number <= high


def test_best_with_memory():
    """The hub leads to p and to q, whichever is chosen: both come again and again only for who
    remembers which was last."""
    actions, p, q = [[[1], [2]], [[0]], [[0]]], [False, True, False], [False, False, True]
    for text, number in (
        ("(infinitely often p = 1) and infinitely often q = 1", 1),
        ("(steady not p = 1) and infinitely often q = 1", 1),
        ("(steady not p = 1) and infinitely often p = 1", 0),
        ("(next p = 1) and next next next q = 1", 1),
    ):
        assert bounds_of(actions, p, q, parse_query(text).formula)[2] == number


def test_the_reference():
    """A coin that is thrown until it is tails: p after each heads, q after tails."""
    chain, p, q = [[1, 2], [1, 2], [2]], [False, True, False], [False, False, True]
    for text, number in (
        ("next next p = 1", Fraction(1, 4)),
        ("eventually p = 1", Fraction(1, 2)),
        ("(next p = 1) and steady q = 1", Fraction(1, 2)),
        ("eventually (p = 1 and next (p = 1 and next q = 1))", Fraction(1, 4)),
        ("infinitely often p = 1", 0),
    ):
        formula = parse_query(text).formula
        assert exact_linear_time(chain, truth_of(formula, p, q), formula)[0] == number
