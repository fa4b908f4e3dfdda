"""Variants of time: delays on synapses, dendritic delays, scheduled synapses."""

import jax.random as jr
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax import DendriticDelays, ScheduledSynapses, SynapseDelays
from snpjax.testing import reference, reference_graph, runs, variant_systems
from snpjax.testing.reference_timing import ReferenceTiming, references
from tests.spiking.test_variants import (
    CHUNKS,
    MAX_CONFIGURATIONS,
    MAX_STEPS,
    assert_follows,
    assert_same_graph,
    given_choices,
    seeds,
    with_ballast,
)
from tests.support.helpers import assert_same_run, many


KINDS = ["synapse-delays", "dendritic-delays", "scheduled-synapses"]
NAMES = ("ballast 1", "ballast 2")


def padded(system: snp.SpikingSystem) -> snp.SpikingSystem:
    """`system` and inert neurons, so that random systems of a variant share one compilation."""
    system = with_ballast(system)
    variant = system.variant
    match variant:
        case SynapseDelays(delays):
            variant = SynapseDelays([*delays, (NAMES, 1)])
        case DendriticDelays(delays):
            variant = DendriticDelays([*delays, (NAMES[1], 1)])
        case ScheduledSynapses(schedules):
            variant = ScheduledSynapses([*schedules, (*NAMES, 1, 2, NAMES[0])])
    return system.replace(variant=variant)


def assert_same_timing(some: snp.spiking.Configurations, timing: list[ReferenceTiming]) -> None:
    """What is in flight, and the ages of references."""
    system = some.system
    assert isinstance(system, snp.SpikingSystem)
    flying = [some.in_flight(neuron.name) for neuron in system.neurons]
    for number, expected in enumerate(timing):
        found = sorted(
            (steps, neuron, int(k))
            for neuron, own in enumerate(flying)
            for steps, k in enumerate(own[number], start=1)
            if k
        )
        assert found == list(expected.in_flight)
    tables = system.schema().tables(some)
    assert ("emitted_ago" in tables) == any(t.ages for t in timing)
    if "emitted_ago" in tables:
        own = [system.names[name] for name in references(system)]
        ages = tables["emitted_ago"].values
        assert ages[:, own].tolist() == [[age or 0 for age in t.ages] for t in timing]


def check_graph(system: snp.SpikingSystem) -> None:
    graph = snp.explore(system, max_configurations=MAX_CONFIGURATIONS, chunks=CHUNKS)
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    assert_same_graph(graph, expected)
    timing = [c.timing for c in expected.configurations if c.timing is not None]
    assert_same_timing(graph.configurations(), timing)


def check_runs(system: snp.SpikingSystem, seed: int) -> None:
    solution = snp.run(system, max_steps=MAX_STEPS, throw=False)
    expected = reference.run(system, max_steps=MAX_STEPS)
    assert_same_run(solution, expected)
    choice = snp.UniformChoice(jr.key(seed))
    assert_follows(snp.run(system, choice=choice, max_steps=MAX_STEPS, throw=False))


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), seeds)
def test_runs_are_those_of_the_reference(kind, data, seed):
    check_runs(padded(data.draw(variant_systems(kind))), seed)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(st.data())
def test_given_choices_make_the_run_of_the_reference(kind, data):
    system = padded(data.draw(variant_systems(kind)))
    computation = data.draw(runs(system, max_steps=MAX_STEPS))
    choice = given_choices(system, computation)
    assert_same_run(
        snp.run(system, choice=choice, max_steps=computation.steps, throw=False), computation
    )


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(st.data())
def test_graph_equals_the_reference(kind, data):
    check_graph(padded(data.draw(variant_systems(kind))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=many(600, part=6), suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), seeds)
def test_many_systems(kind, data, seed):
    system = padded(data.draw(variant_systems(kind)))
    check_runs(system, seed)
    check_graph(system)


SENDER = [snp.Neuron("s", 1, ["a -> a"]), snp.Neuron("t"), snp.Neuron("u")]
CLOCK = [snp.Neuron("s", 4, ["a+/a -> a"]), snp.Neuron("t"), snp.Neuron("u", 1, ["a -> a; 1"])]


@pytest.mark.parametrize(
    "neurons, variant, received",
    [
        (SENDER, SynapseDelays({("s", "t"): 2}), [0, 0, 0, 1]),
        (SENDER, DendriticDelays({"t": 1}), [0, 0, 1]),
        # In the second and the third step.
        (CLOCK, ScheduledSynapses([("s", "t", 2, 4)]), [0, 0, 1, 2, 2]),
        # u emits in the second step.
        (CLOCK, ScheduledSynapses([("s", "t", 0, 2, "u")]), [0, 0, 1, 2, 2]),
        (CLOCK, ScheduledSynapses([("s", "t", 1, None, "u")]), [0, 0, 0, 1, 2]),
    ],
)
def test_spikes_arrive_in_time(neurons, variant, received):
    """Worked out by hand."""
    system = snp.SpikingSystem(neurons, [("s", "t")], variant=variant)
    assert snp.run(system).configurations[:, 1].tolist() == received
