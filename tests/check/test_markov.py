"""Probabilities and times against following all paths of the reference with fractions."""

import dataclasses
import itertools
import warnings
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.check.probability.markov import (
    halting_distribution,
    halting_time,
    halting_time_range,
    reach_probability,
    reach_probability_range,
)
from snpjax.check.probability.mdp import Decisions
from snpjax.explore import explore
from snpjax.explore.edges import GraphEdges  # to give a graph other edges
from snpjax.testing import reference_graph, systems
from tests.support.helpers import many, with_ballast


CHUNKS = (64,)
LIMIT = 40
STEPS = 120


def explored(system):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return explore(with_ballast(system), max_configurations=LIMIT, chunks=CHUNKS)


def followed(successors, target, steps):
    """By step, the probability to be in a target for the first time; and what is still elsewhere.

    `successors[i]` lists the configurations that follow i, all equally likely.
    """
    now, first = {0: Fraction(1)}, []
    for _ in range(steps + 1):
        first.append(sum((p for i, p in now.items() if target[i]), Fraction(0)))
        following = defaultdict(Fraction)
        for i, p in now.items():
            if target[i]:
                continue
            for j in successors[i]:
                following[j] += p / len(successors[i])
            if not successors[i]:
                following[i] += p
        now = following
    return first, now


def can_reach(successors, target):
    reached = set(np.flatnonzero(target).tolist())
    size = -1
    while size < (size := len(reached)):
        reached |= {i for i, own in enumerate(successors) if reached & set(own)}
    return reached


def assert_probability(value, error, successors, target):
    """Between what has arrived and what has not been lost after this many steps."""
    first, now = followed(successors, target, STEPS)
    hopeful = can_reach(successors, target)
    arrived = float(sum(first))
    left = float(sum((p for i, p in now.items() if i in hopeful), Fraction(0)))
    assert arrived - error - 1e-12 <= value <= arrived + left + error + 1e-12


def assert_time(value, error, successors, halting):
    first, now = followed(successors, halting, STEPS)
    if not reachable(successors, halting) <= can_reach(successors, halting):
        assert value == np.inf
        return
    so_far = float(sum(step * p for step, p in enumerate(first)))
    left = float(sum(now.values()))
    assert np.isfinite(value) and value >= so_far + STEPS * left - error - 1e-9
    if left < 1e-12:
        assert abs(value - so_far) <= error + 1e-8


def reachable(successors, target):
    reached, new = {0}, {0}
    while new:
        new = {j for i in new if not target[i] for j in successors[i]} - reached
        reached |= new
    return reached


def successors_of(graph):
    own = [[] for _ in range(graph.num_configurations)]
    for source, target in zip(graph.sources.tolist(), graph.edge_targets.tolist(), strict=True):
        own[source].append(target)
    return own


def check_chain(system, wanted):
    graph = explored(system)
    if not graph.is_complete:
        with pytest.raises(ValueError, match="not complete"):
            reach_probability(graph, [0])
        return
    expected = reference_graph.explore(graph.system, max_configurations=LIMIT)
    successors = [[] for _ in expected.configurations]
    for source, _, _, target in expected.edges:
        successors[source].append(target)
    target = np.arange(len(successors)) % 3 == wanted
    found = reach_probability(graph, target)
    assert 0 <= found.error < 1e-9
    assert_probability(float(found), found.error, successors, target)
    halting = np.asarray([not own for own in successors])
    time = halting_time(graph)
    assert_time(float(time), time.error, successors, halting)
    distribution = halting_distribution(graph, 20)
    exactly, _ = followed(successors, halting, 20)
    assert np.allclose(distribution, [float(p) for p in exactly], rtol=1e-12, atol=0)


@settings(max_examples=15)
@given(systems(max_neurons=4, max_delay=1), st.integers(0, 2))
def test_a_chain_is_all_its_paths(system, wanted):
    check_chain(system, wanted)


@pytest.mark.slow
@settings(max_examples=many(600, part=20))
@given(systems(max_neurons=5), st.integers(0, 2))
def test_chains_of_many_systems(system, wanted):
    check_chain(system, wanted)


def policies_of(decisions):
    """Every way to choose one action in each configuration, as the successors then."""
    size = decisions.num_configurations
    actions = [range(*decisions.first_action[i : i + 2]) or [None] for i in range(size)]
    rows = decisions.matrix.toarray()
    for policy in itertools.product(*actions):
        yield [
            [] if action is None else np.repeat(np.arange(size), shares(rows[action])).tolist()
            for action in policy
        ]


def shares(row):
    """How often each configuration stands for its probability, which is k / n."""
    least = row[row > 0].min()
    for times in range(1, 10):
        counts = row / least * times
        if np.allclose(counts, np.round(counts)):
            return np.round(counts).astype(int)
    raise AssertionError(row)


def check_range(system, wanted, chosen):
    graph = explored(system)
    if not graph.is_complete:
        return
    decisions = Decisions.of(graph, chosen)
    if np.prod(np.maximum(np.diff(decisions.first_action), 1).astype(float)) > 64:
        return
    target = np.arange(graph.num_configurations) % 3 == wanted
    low, high = reach_probability_range(graph, target, chosen=chosen)
    soonest, latest = halting_time_range(graph, chosen=chosen)
    uniform = float(reach_probability(graph, target))
    slack = 1e-9
    assert float(low) - slack <= uniform <= float(high) + slack
    chances, times = [], []
    for successors in policies_of(decisions):
        chain = chain_of(graph, successors)
        chances.append(float(reach_probability(chain, target)))
        times.append(float(halting_time(chain)))
    assert float(low) == pytest.approx(min(chances), abs=1e-9)
    assert float(high) == pytest.approx(max(chances), abs=1e-9)
    assert float(soonest) == pytest.approx(min(times), rel=1e-9)
    assert float(latest) == pytest.approx(max(times), rel=1e-9)


def chain_of(graph, successors):
    """A graph with other edges."""
    counts = np.asarray([len(own) for own in successors], np.int32)
    targets = np.asarray([j for own in successors for j in own], np.int32)
    edges = GraphEdges(len(successors), [counts], [targets], graph.edges.is_new)
    return dataclasses.replace(graph, edges=edges)


@settings(max_examples=15)
@given(systems(min_neurons=1, max_neurons=4, max_delay=1), st.integers(0, 2), st.booleans())
def test_ranges_are_those_of_all_policies(system, wanted, some):
    check_range(system, wanted, ["n0"] if some else None)


@pytest.mark.slow
@settings(max_examples=many(600, part=20))
@given(
    systems(min_neurons=2, max_neurons=5, max_delay=1),
    st.integers(0, 2),
    st.sampled_from([None, ["n0"], ["n1", "n0"]]),
)
def test_ranges_of_many_systems(system, wanted, chosen):
    check_range(system, wanted, chosen)


def coins(*rules):
    """A neuron that chooses again and again: two rules stay, one leaves to the end."""
    return snp.SpikingSystem(
        [snp.Neuron("coin", 1, rules), snp.Neuron("sink")], [("coin", "coin"), ("coin", "sink")]
    )


def test_waiting_for_a_coin():
    """Halting takes the mean of a geometric distribution: with probability 1/2 in each step."""
    graph = explore(coins("a -> a", "a -> lambda"), saturate={"sink": 1}, chunks=CHUNKS)
    assert float(halting_time(graph)) == pytest.approx(2.0)
    distribution = halting_distribution(graph, 10)
    assert distribution.tolist() == [0.0, *(0.5**step for step in range(1, 11))]
    low, high = halting_time_range(graph)
    assert (float(low), float(high)) == (1.0, np.inf)
    assert float(reach_probability(graph, lambda c: c["sink"] >= 1)) == pytest.approx(0.5)
    low, high = reach_probability_range(graph, lambda c: c["sink"] >= 1)
    assert (float(low), float(high), low.error, high.error) == (0, 1, 0, 0)
    with pytest.raises(ValueError, match="truth values"):
        reach_probability(graph, np.ones(1, bool))
    with pytest.raises(ValueError, match="names no configurations"):
        reach_probability(graph, [99])


def test_the_worst_input():
    """A neuron of one spike chooses whether to pass a spike on; the environment, when to send."""
    relay = snp.Neuron("relay", 0, ["a -> a", "a -> lambda"])
    system = snp.SpikingSystem([relay, snp.Neuron("end")], [("relay", "end")], output="relay")
    graph = explore(system, inputs=snp.AnyInput(3, neurons=("relay",)), chunks=CHUNKS)
    worst, best = reach_probability_range(
        graph, lambda c: c["end"] >= 2, chosen=["environment of relay"]
    )
    assert float(worst) == 0 and float(best) == pytest.approx(1 / 2)  # 2 or 3 of 3 coins
    assert best.error < 1e-12 and str(best).startswith("0.5 (error below ")
