"""Bounds of probabilities and expected sums against exact fractions, for every way to choose."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array

from snpjax.check.probability import exact, mdp
from snpjax.check.probability.enclosure import after_a_step, expected, probability, within
from snpjax.check.probability.long_run import long_run
from snpjax.check.probability.mdp import Decisions
from tests.support.exact_chains import exact_expected, exact_long_run, exact_probability
from tests.support.helpers import many


BESTS = st.sampled_from(["min", "max"])


@st.composite
def processes(draw, max_actions=2, max_size=5):
    """Per configuration the actions, each a list of successors that are equally likely."""
    size = draw(st.integers(1, max_size))
    one = st.lists(st.integers(0, size - 1), min_size=1, max_size=3)
    return [draw(st.lists(one, max_size=max_actions)) for _ in range(size)]


@st.composite
def questions(draw, **limits):
    """A process, where its target is, which configurations lead on, and what each of them adds."""
    actions = draw(processes(**limits))
    size = len(actions)
    flags = st.lists(st.booleans(), min_size=size, max_size=size)
    target, through = draw(flags), [x or y for x, y in zip(draw(flags), draw(flags), strict=True)]
    rewards = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    return actions, target, through, rewards


def decisions_of(actions):
    owner = [i for i, own in enumerate(actions) for _ in own]
    every = [one for own in actions for one in own]
    rows = [k for k, one in enumerate(every) for _ in one]
    columns = [j for one in every for j in one]
    share = [1.0 / len(one) for one in every for _ in one]
    matrix = csr_array((share, (rows, columns)), shape=(len(every), len(actions)))
    owner = np.asarray(owner, np.int64)
    first = np.searchsorted(owner, np.arange(len(actions) + 1))
    return Decisions(first, owner, matrix, max((len(one) for one in every), default=1))


def chains_of(actions):
    """The successors under every way to choose one action in each configuration."""
    return [[*one] for one in itertools.product(*(own or [[]] for own in actions))]


def assert_within(bounds, exact):
    low, high, is_settled = bounds
    assert is_settled
    for one, least, most in zip(exact, low.tolist(), high.tolist(), strict=True):
        assert least <= one <= most, (least, one, most)
        assert least == most or most - least < 1e-9 * max(1.0, most)


def assert_exact(function, arguments, expected):
    for start, value in enumerate(expected):
        found = function(start, *arguments)
        assert found == value and isinstance(found, Fraction) == (value != float("inf"))


def best_of(values, best):
    pick = min if best == "min" else max
    return [pick(some) for some in zip(*values, strict=True)]


def check_probability(question, best):
    actions, target, through, _ = question
    own = decisions_of(actions), np.asarray(target), np.asarray(through), best
    values = [exact_probability(chain, target, through) for chain in chains_of(actions)]
    assert_within(probability(*own), best_of(values, best))
    assert_exact(exact.probability, own, best_of(values, best))


def check_expected(question, best):
    actions, target, _, rewards = question
    own = decisions_of(actions), np.asarray(rewards, float), np.asarray(target), best
    values = [exact_expected(chain, target, rewards) for chain in chains_of(actions)]
    assert_within(expected(*own), best_of(values, best))
    assert_exact(exact.expected, own, best_of(values, best))


def check_long_run(question):
    actions, holds, _, _ = question
    (chain,) = chains_of(actions)
    where, nothing = np.asarray(holds), np.zeros(len(holds), bool)
    bounds = long_run(decisions_of(actions), where, where, nothing)
    assert_within(bounds, exact_long_run(chain, holds))
    assert_exact(exact.long_run, (decisions_of(actions), where), exact_long_run(chain, holds))


def check_long_run_of_all(question, best):
    """To choose without memory is enough."""
    actions, holds, _, _ = question
    where, nothing = np.asarray(holds), np.zeros(len(holds), bool)
    values = [exact_long_run(chain, holds) for chain in chains_of(actions)]
    assert_within(
        long_run(decisions_of(actions), where, where, nothing, best), best_of(values, best)
    )


@given(questions(), BESTS)
def test_shares_of_the_steps_of_all_ways_to_choose(question, best):
    check_long_run_of_all(question, best)


@given(questions(), BESTS)
def test_probabilities_of_all_ways_to_choose(question, best):
    check_probability(question, best)


@given(questions(), BESTS)
def test_expected_sums_of_all_ways_to_choose(question, best):
    check_expected(question, best)


@given(questions(max_actions=1))
def test_shares_of_the_steps_in_the_long_run(question):
    check_long_run(question)


@pytest.mark.slow
@settings(max_examples=many(1500, part=20))
@given(questions(), questions(max_actions=1, max_size=8), BESTS)
def test_bounds_of_many_processes(question, chain, best):
    for one in (question, chain):
        check_probability(one, best)
        check_expected(one, best)
        check_long_run_of_all(one, best)
    check_long_run(chain)


@given(questions(), st.integers(0, 4), BESTS)
def test_some_steps_are_induction_backwards(question, steps, best):
    actions, target, through, _ = question
    pick = min if best == "min" else max

    def step(values, ends):
        def mean(one):
            return sum((values[j] for j in one), Fraction(0)) / len(one)

        return [
            ends[i] if ends[i] is not None else pick(map(mean, own))
            for i, own in enumerate(actions)
        ]

    ends = [
        Fraction(1) if x else None if own and y else Fraction(0)
        for own, x, y in zip(actions, target, through, strict=True)
    ]
    values = [Fraction(x) for x in target]
    for _ in range(steps):
        values = step(values, ends)
    decisions, goal = decisions_of(actions), np.asarray(target)
    own = decisions, goal, np.asarray(through), steps, best
    assert_within(within(*own), values)
    assert_exact(exact.within, own, values)
    halts = [None if own else Fraction(x) for own, x in zip(actions, target, strict=True)]
    after = step([Fraction(x) for x in target], halts)
    own = decisions, goal, goal, best
    assert_within(after_a_step(*own), after)
    assert_exact(exact.after_a_step, own, after)


def test_a_long_walk_is_bounded_without_many_iterations():
    """A walk that returns to its begin half of the time, 14 times in a row not: iteration alone
    would take many times 2^14 steps."""
    actions = [[[0, i + 1]] for i in range(14)] + [[]]
    target = np.arange(15) == 14
    low, high, _ = expected(decisions_of(actions), np.ones(15), target, "max")
    assert low[0] <= 2**15 - 2 <= high[0]
    assert high[0] - low[0] < 1e-9 * high[0]


def test_fractions_of_a_long_walk():
    """Exactly as long as it takes; elimination keeps the numbers short."""
    actions = [[[0, i + 1]] for i in range(60)] + [[]]
    target = np.arange(61) == 60
    own = decisions_of(actions), np.ones(61), target, "max"
    assert exact.expected(0, *own) == 2**61 - 2


def test_fractions_end_where_they_take_too_long(monkeypatch):
    actions = [[[0, i + 1]] for i in range(60)] + [[]]
    own = decisions_of(actions), np.ones(61), np.arange(61) == 60, "max"
    monkeypatch.setattr(exact, "_MAX_WORK", 150)
    with pytest.raises(exact.TooLong):
        exact.expected(0, *own)
    many_choices = decisions_of([[[*range(1, 1002)]]] + [[]] * 1001)
    with pytest.raises(exact.TooLong):  # shares of 1/1001 are not told from their neighbours
        exact.probability(0, many_choices, np.arange(1002) > 5, np.ones(1002, bool), "max")


@given(questions(), BESTS)
def test_bounds_hold_where_policy_iteration_does_not_settle(question, best):
    actions, target, through, rewards = question
    values = [exact_probability(chain, target, through) for chain in chains_of(actions)]
    sums = [exact_expected(chain, target, rewards) for chain in chains_of(actions)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mdp, "_MAX_ROUNDS", 0)
        goal, some = np.asarray(target), np.asarray(through)
        found = [
            (probability(decisions_of(actions), goal, some, best), values),
            (expected(decisions_of(actions), np.asarray(rewards, float), goal, best), sums),
        ]
    for (low, high, _), exact_ones in found:
        for one, least, most in zip(best_of(exact_ones, best), low, high, strict=True):
            assert least <= one <= most
