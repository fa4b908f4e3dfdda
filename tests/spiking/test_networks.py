"""Networks that change, compiled: runs, batches, graphs, witnesses are those of the reference."""

import itertools

import jax.numpy as jnp
import jax.random as jr
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax.spiking.view import snapshot
from snpjax.testing import dividing_systems, plastic_systems, reference, reference_graph, runs
from snpjax.testing.reference_state import state_of
from snpjax.trajectory import path_of
from tests.support.changing import (
    MAX_STEPS,
    Path,
    assert_rests,
    assert_same_graph,
    assert_same_run,
    explore,
    followed,
    given_choices,
    random_run,
    run,
    with_ballast,
)
from tests.support.helpers import many


KINDS = {"plasticity": plastic_systems(), "division": dividing_systems()}
each_kind = pytest.mark.parametrize("kind", KINDS)
mostly_plastic = pytest.mark.parametrize(
    "kind", ["plasticity", pytest.param("division", marks=pytest.mark.slow)]
)
seeds = st.integers(0, 1000)
MAX_CONFIGURATIONS = 40
PATHS = 3


def drawn(data, kind):
    return data.draw(KINDS[kind].map(with_ballast))


def check_runs(system, seed):
    """With the first choices, with those of a computation, and with random ones."""
    first = run(system)
    assert_same_run(first, reference.run(system, max_steps=MAX_STEPS))
    computation = random_run(system, seed)
    assert_same_run(run(system, choice=given_choices(system, computation)), computation)
    uniform = run(system, choice=snp.UniformChoice(jr.key(seed)))
    assert_same_run(uniform, followed(uniform))


def check_graph(system):
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    graph = explore(system, max_configurations=MAX_CONFIGURATIONS)
    assert_same_graph(graph, expected)


@each_kind
@settings(max_examples=12)
@given(st.data(), seeds)
def test_runs_equal_the_reference(kind, data, seed):
    check_runs(drawn(data, kind), seed)


@mostly_plastic
@settings(max_examples=5)
@given(st.data())
def test_graphs_equal_the_reference(kind, data):
    check_graph(drawn(data, kind))


@each_kind
@pytest.mark.slow
@settings(max_examples=many(2_000, part=50), suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), seeds)
def test_runs_of_two_thousand_systems(kind, data, seed):
    check_runs(drawn(data, kind), seed)


@each_kind
@pytest.mark.slow
@settings(max_examples=many(2_000, part=100), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_graphs_of_two_thousand_systems(kind, data):
    check_graph(drawn(data, kind))


@mostly_plastic
@settings(max_examples=2)
@given(st.data(), seeds)
def test_paths_of_a_batch_are_runs(kind, data, seed):
    """Those of given choices are the computations they are of, of different lengths; random ones
    are what single runs with the same keys are."""
    system = drawn(data, kind)
    computations = [random_run(system, seed + path) for path in range(PATHS)]
    choice = given_choices(system, *computations)
    batch = run(system, choice=choice, paths=PATHS, save=snp.SAVE_ALL)
    for path, computation in enumerate(computations):
        assert_same_run(batch[path], computation)
    assert_rests(batch)
    choice = snp.UniformChoice(jr.key(seed))
    batch = run(system, choice=choice, paths=PATHS, save=snp.SAVE_ALL)
    for path in range(PATHS):
        computation = followed(batch[path])
        assert_same_run(batch[path], computation)
        assert_same_run(run(system, choice=Path(choice, jnp.asarray(path))), computation)


@pytest.mark.slow
@each_kind
@settings(max_examples=2)
@given(st.data(), seeds)
def test_witnesses_are_replayed(kind, data, seed):
    system = drawn(data, kind)
    graph = explore(system, max_configurations=MAX_CONFIGURATIONS)
    last = seed % graph.num_configurations
    solution = run(system, choice=graph.witness(last), max_steps=len(graph.path_to(last)) - 1)
    assert solution.steps == graph.depths[last]
    size = len(solution.spikes)
    assert solution.spikes.tolist() == graph.spikes[last, :size].tolist()
    assert solution.network() == graph.network(last)


@settings(max_examples=20)
@given((plastic_systems() | dividing_systems()).flatmap(lambda s: st.tuples(st.just(s), runs(s))))
def test_networks_as_the_search_has_them(drawn):
    system, computation = drawn
    for configuration in computation.configurations:
        network = configuration.network
        state = state_of(system, network)
        found = snapshot.network_of(system, path_of(state, 0))
        assert found == (network.labels, network.synapses)
        for source, target in itertools.product(list(system.names)[:3], repeat=2):
            called = {(network.labels[s], network.labels[t]) for s, t, _ in network.synapses}
            has_one = snapshot.has_synapse(system, state, source, target, 1)
            assert has_one.tolist() == [(source, target) in called]
