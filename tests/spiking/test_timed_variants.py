"""Variants of time: delays on synapses, dendritic delays, scheduled synapses."""

import pickle
import re

import jax
import jax.random as jr
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax import DendriticDelays, Schedule, ScheduledSynapses, SynapseDelays
from snpjax.testing import reference, reference_graph, runs, systems, variant_systems
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
    for row, configuration in enumerate(expected.configurations):
        flights = configuration.timing and configuration.timing.in_flight
        due = solution.in_flight(row)
        assert (solution.in_flight_history[row] == due).all()
        found = [(n + 1, i, due[n, i].item()) for n, i in np.argwhere(due).tolist()]
        assert tuple(found) == (flights or ())
    choice = snp.UniformChoice(jr.key(seed))
    assert_follows(snp.run(system, choice=choice, max_steps=MAX_STEPS, throw=False))


@pytest.mark.parametrize("delays", [{}, {("x", "y"): 0}])
def test_nothing_is_in_flight_without_a_delay(delays):
    neurons = [snp.Neuron("x", 2, ["a+/a -> a"]), snp.Neuron("y")]
    solution = snp.run(snp.SpikingSystem(neurons, [("x", "y")], variant=snp.SynapseDelays(delays)))
    assert solution.in_flight().shape == solution.in_flight(0).shape == (0, 2)
    assert solution.in_flight_history.shape == (3, 0, 2)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
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


@pytest.mark.parametrize("kind", ["scheduled-synapses"])
@settings(max_examples=8)
@given(st.data())
def test_graph_equals_the_reference(kind, data):
    check_graph(padded(data.draw(variant_systems(kind))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=many(600, part=40), suppress_health_check=[HealthCheck.too_slow])
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


def of_each_kind() -> list[snp.SpikingSystem]:
    delays = {("s", "t"): 3, ("t", "u"): 1}
    schedules = [Schedule("s", "t", 1, 9, "s"), Schedule("t", "u", 2)]
    variants = SynapseDelays(delays), DendriticDelays({"t": 2}), ScheduledSynapses(schedules)
    neurons = [snp.Neuron("s", 2, ["a+/a -> a"]), snp.Neuron("t", 0, ["a -> a"]), snp.Neuron("u")]
    synapses = [("s", "t"), ("t", "u", 2)]
    return [snp.SpikingSystem(neurons, synapses, variant=variant) for variant in variants]


each_kind = pytest.mark.parametrize(
    "system", of_each_kind(), ids=lambda s: type(s.variant).__name__
)


@each_kind
def test_a_variant_of_time_stays_with_its_system(system):
    name = type(system.variant).__name__
    assert name in repr(system) and not system.is_static and not system.changes_network
    assert pickle.loads(pickle.dumps(system)).variant == system.variant
    with pytest.raises(NotImplementedError, match=f"has the variant {name}"):
        snp.SystemBatch([system]).lower()
    with pytest.raises(snp.InvalidSystem, match="follows its definition only"):
        system.with_compatibility(snp.Compatibility(closed_receives=True))


def test_nothing_halts_while_a_spike_is_in_flight():
    """For four steps nothing else happens; six configurations differ in the flight alone."""
    system = snp.SpikingSystem(SENDER, [("s", "t")], variant=SynapseDelays({("s", "t"): 5}))
    solution, graph = snp.run(system), snp.explore(system)
    assert solution.steps == 6 and solution.configurations[:, 1].tolist() == [0] * 6 + [1]
    flights = graph.configurations().in_flight("t")
    assert flights.tolist() == [[0] * 5, *np.eye(5, dtype=int)[::-1].tolist(), [0] * 5]
    assert len({tuple(row) for row in graph.spikes.tolist()}) == 3 and graph.is_complete
    verdict = snp.check(graph, "always t = 0")
    assert "t = 0 (1 due in 3)" in str(verdict) and verdict.replay().spikes_of("t") == 1
    assert snp.check(graph, "always in_flight(t) + s + t = 1")
    assert 'label="<0,0⁽¹ⁱⁿ³⁾,0>"' in graph.to_dot()


@each_kind
def test_pictures_and_tables_tell_all_configurations_apart(system, tmp_path):
    graph = snp.explore(system)
    labels = re.findall(r'^  \d+ \[label="(.*?)"', graph.to_dot(), re.MULTILINE)
    steps = graph.configurations().step
    assert len(set(zip(labels, steps.tolist(), strict=True))) == graph.num_configurations
    snp.write_graph(graph, tmp_path / "graph.tra")
    head, *rows = (tmp_path / "graph.sta").read_text().splitlines()
    assert all(re.fullmatch(r"\w+", name) for name in head.strip("()").split(","))
    assert len({row.split(":")[1] for row in rows}) == graph.num_configurations


def test_a_run_tells_what_is_under_way():
    system = snp.SpikingSystem(SENDER, [("s", "t", 2)], variant=SynapseDelays({("s", "t"): 2}))
    solution = snp.run(system, max_steps=1, throw=False)
    assert "t=0 (2 due in 2)" in repr(solution)
    assert "<td>0 (2 due in 2)</td>" in solution._repr_html_()
    assert solution.in_flight().tolist() == [[0, 0, 0], [0, 2, 0]]
    with pytest.raises(ValueError, match="There is no row 2. Give 0 to 1"):
        solution.in_flight(2)


@settings(max_examples=12)
@given(systems(min_neurons=1, max_neurons=5, max_rules=3, max_delay=2), st.integers(1, 4), seeds)
def test_a_dendrite_delays_all_synapses_into_its_neuron(system, delay, seed):
    name = system.neurons[0].name
    own = {(source, target): delay for source, target, _ in system.synapses if target == name}
    variants = SynapseDelays(own), DendriticDelays({name: delay})
    choice = snp.UniformChoice(jr.key(seed))
    first, second = (
        snp.run(padded(system.replace(variant=v)), choice=choice, max_steps=MAX_STEPS, throw=False)
        for v in variants
    )
    assert first.configurations.tolist() == second.configurations.tolist()


@settings(max_examples=12)
@given(systems(max_neurons=5, max_rules=3, max_delay=2), seeds)
def test_what_always_exists_or_arrives_at_once_is_ordinary(system, seed):
    pairs = [(source, target) for source, target, _ in system.synapses][:7]
    choice = snp.UniformChoice(jr.key(seed))
    variants = (
        SynapseDelays({pair: 0 for pair in pairs}),
        ScheduledSynapses([(source, target, 1) for source, target in pairs]),
    )
    expected = snp.run(with_ballast(system), choice=choice, max_steps=MAX_STEPS, throw=False)
    for variant in variants:
        other = padded(system.replace(variant=variant))
        solution = snp.run(other, choice=choice, max_steps=MAX_STEPS, throw=False)
        assert solution.configurations.tolist() == expected.configurations.tolist()
        assert solution.emissions.tolist() == expected.emissions.tolist()


def test_no_delay_costs_nothing():
    system = snp.SpikingSystem(SENDER, [("s", "t")], variant=SynapseDelays({("s", "t"): 0}))
    plain = snp.lower(system.replace(variant=None)).machine
    assert jax.tree.structure(snp.lower(system).machine) == jax.tree.structure(plain)


def test_any_input_is_not_sent_through_dendrites():
    system = snp.SpikingSystem(SENDER, [("s", "t")], variant=DendriticDelays({"s": 1}))
    with pytest.raises(ValueError, match="write the delays as SynapseDelays"):
        system.with_input(snp.AnyInput(3, neurons=("s",)))
    assert snp.explore(of_each_kind()[0].with_input(snp.AnyInput(2, neurons=("s",)))).is_complete


@pytest.mark.parametrize(
    "variant, words",
    [
        (SynapseDelays({("s", "u"): 1}), "synapse (s, u): there is no such synapse"),
        (SynapseDelays({("s", "q"): 1}), "there is no neuron 'q'"),
        (SynapseDelays({("s", "t"): -1}), "the delay is -1 (write a number of steps"),
        (SynapseDelays({("s", "t"): 2**30}), "0 or more and below 2^30"),
        (SynapseDelays([(("s", "t"), 1)] * 2), "synapse (s, t) has two delays (remove one)"),
        (DendriticDelays({"q": 1}), "the dendrite of neuron 'q': there is no neuron"),
        (DendriticDelays([("t", 1), ("t", 2)]), "the dendrite of neuron 't' has two delays"),
        (ScheduledSynapses([("s", "t", 3, 3)]), "it stops at 3 before it starts at 3"),
        (ScheduledSynapses([("s", "t", -1)]), "schedule 1, synapse (s, t): the start is -1"),
        (ScheduledSynapses([("t", "s", 1)]), "there is no such synapse"),
        (ScheduledSynapses([("s", "t", 1, 2, "q")]), "reference: there is no neuron 'q'"),
    ],
)
def test_misuse_is_one_located_problem(variant, words):
    with pytest.raises(snp.InvalidSystem) as refusal:
        snp.SpikingSystem(SENDER, [("s", "t")], variant=variant)
    (problem,) = refusal.value.problems
    assert words in problem.message and problem.place.kind == "variant"
