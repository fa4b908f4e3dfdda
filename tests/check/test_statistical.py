"""Intervals against exact sums, and estimates against the exact numbers of `markov`."""

import math

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

import snpjax as snp
from snpjax.check.probability import statistical
from snpjax.check.probability.markov import halting_distribution, reach_probability
from snpjax.check.probability.path_property import Judged, emits, halts, reaches
from snpjax.check.probability.statistical import _looks, estimate, interval
from snpjax.explore import explore


CHUNKS = (64,)


def coin():
    """Stays with probability 2/3 in each step, and sends a spike then; else it halts."""
    return snp.SpikingSystem(
        [
            snp.Neuron("coin", 1, ["a -> a", "a+/a -> a", "a -> lambda"]),
            snp.Neuron("counter"),
            snp.Neuron("late", 0, ["a^3 -> a"]),
        ],
        [("coin", "coin"), ("coin", "counter"), ("coin", "late")],
        output=("coin", "late"),
    )


def at_least(successes, paths, p):
    """The probability of this many successes or more."""
    return math.fsum(
        math.comb(paths, k) * p**k * (1 - p) ** (paths - k) for k in range(successes, paths + 1)
    )


@given(st.integers(1, 40), st.data())
def test_ends_are_where_what_was_seen_becomes_too_improbable(paths, data):
    least = data.draw(st.integers(0, paths))
    most = data.draw(st.integers(least, paths))
    risk = data.draw(st.sampled_from([0.05, 0.01, 0.3]))
    low, high = interval(least, most, paths, risk)
    assert 0 <= low <= least / paths <= most / paths <= high <= 1
    if least > 0:
        assert at_least(least, paths, low) == pytest.approx(risk / 2, rel=1e-6)
    if most < paths:
        assert 1 - at_least(most + 1, paths, high) == pytest.approx(risk / 2, rel=1e-6)


@given(st.integers(1, 30), st.sampled_from([0.5, 0.9, 0.95]), st.floats(0, 1))
def test_the_interval_holds_with_its_confidence(paths, confidence, p):
    """Summed over all that can be seen, not sampled."""
    missed = 0.0
    for k in range(paths + 1):
        low, high = interval(k, k, paths, 1 - confidence)
        if not low <= p <= high:
            missed += math.comb(paths, k) * p**k * (1 - p) ** (paths - k)
    assert missed <= 1 - confidence + 1e-9


@given(
    st.integers(1, 5000), st.sampled_from([0.5, 0.95, 0.999]), st.sampled_from([0.3, 0.05, 0.01])
)
def test_the_last_look_is_enough(paths, confidence, precision):
    looks = _looks(paths, confidence, precision)
    assert looks[0] == paths and looks == sorted(set(looks))
    last, risk = looks[-1], (1 - confidence) / len(looks)
    for successes in {0, last // 3, last // 2, last}:
        low, high = interval(successes, successes, last, risk)
        assert high - low <= 2 * precision


@pytest.mark.slow
def test_estimates_agree_with_the_exact_numbers():
    system = coin()
    graph = explore(system, saturate={"counter": 9}, chunks=CHUNKS)
    exact = float(reach_probability(graph, lambda c: c["counter"] >= 3))
    assert exact == pytest.approx((2 / 3) ** 3)
    key = jax.random.key(3)
    found = estimate(
        system, reaches(lambda c: c["counter"] >= 3), key=key, max_steps=60, paths=2000
    )
    assert exact in found and found.undecided == 0 and found.half_width < 0.03
    again = estimate(
        system, reaches(lambda c: c["counter"] >= 3), key=key, max_steps=60, paths=2000
    )
    assert again == found
    # The same paths, judged otherwise.
    late = estimate(system, emits("late"), key=key, max_steps=60, paths=2000)
    assert late.holds <= found.holds
    within = float(halting_distribution(graph, 4).sum())
    short = estimate(system, lambda solution: solution.halted, key=key, max_steps=4, paths=2000)
    assert within in short and short.undecided == 0
    cut = estimate(system, halts(), key=key, max_steps=4, paths=2000)
    assert cut.holds == short.holds and cut.undecided == 2000 - cut.holds
    assert cut.high == 1 and cut.low == pytest.approx(short.low) and 1.0 in cut
    assert cut.probability == 1 and f"{cut.undecided:,} not decided within 4 steps" in str(cut)


@pytest.mark.slow
def test_paths_are_those_of_a_batch(monkeypatch):
    """Whatever the size of the blocks."""
    system, key = coin(), jax.random.key(5)
    batch = snp.run(system, max_steps=12, paths=40, choice=snp.UniformChoice(key))
    wanted = int((batch.spikes_of("counter") >= 2).sum())

    def holds(solution):
        return solution.spikes_of("counter") >= 2

    whole = estimate(system, holds, key=key, max_steps=12, paths=40)
    monkeypatch.setattr(statistical, "_MAX_BLOCK", 16)
    parts = estimate(system, holds, key=key, max_steps=12, paths=40)
    assert whole.holds == parts.holds == wanted and 0 < wanted < 40 and whole == parts


def test_precision_is_reached():
    found = estimate(
        coin(),
        lambda solution: solution.halted,
        key=jax.random.key(0),
        max_steps=3,
        paths=64,
        precision=0.05,
    )
    assert found.half_width <= 0.05 and 1 - (2 / 3) ** 3 in found and found.paths > 64
    # Undecided paths are no matter of precision: it ends, and says how many.
    open_end = estimate(
        coin(), halts(), key=jax.random.key(0), max_steps=1, paths=64, precision=0.1
    )
    assert open_end.undecided > open_end.paths / 2
    assert open_end.half_width <= 0.1 + open_end.undecided / open_end.paths / 2


def test_failed_paths_are_undecided():
    """A neuron that gains 2^24 spikes a step overflows before the last one."""
    doubling = snp.Neuron("x", 2**24, [snp.Rule(snp.Guard.interval(1), 1, 2**24)])
    system = snp.SpikingSystem([doubling], [("x", "x")])
    found = estimate(
        system,
        lambda solution: Judged(np.ones(64, bool), np.zeros(64, bool)),
        key=jax.random.key(0),
        max_steps=200,
        paths=64,
    )
    assert found.undecided == 64 and (found.low, found.high) == (0, 1)
    assert math.isnan(found.probability)


def test_arguments_that_make_no_sense():
    def estimated(property=halts(), **arguments):  # noqa: B008
        given = {"key": jax.random.key(0), "max_steps": 2, "paths": 4, **arguments}
        return estimate(coin(), property, **given)

    with pytest.raises(ValueError, match="`confidence` is 95"):
        estimated(confidence=95)
    with pytest.raises(ValueError, match="`precision` is 2"):
        estimated(precision=2)
    with pytest.raises(ValueError, match="`paths` is 0"):
        estimated(paths=0)
    with pytest.raises(ValueError, match="one truth value a path"):
        estimated(lambda solution: np.zeros(3, bool))
    with pytest.raises(ValueError, match="one truth value for each"):
        estimated(reaches(lambda c: c.spikes))
