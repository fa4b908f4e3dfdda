"""Growth is a proof: what it claims is what the reference does, and bounded systems have none."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.check.unboundedness.growth import applies_always, applies_never, growth
from snpjax.explore import Stop, explore
from snpjax.testing import guards, reference, systems
from tests.support.helpers import case_system, load_cases, many, with_ballast


CHUNKS = (64,)
ROUNDS = 5


def explored(system, limit=60):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return explore(with_ballast(system), max_configurations=limit, chunks=CHUNKS)


def replayed(system, rules):
    """The last configuration of these choices by the reference."""
    configuration = reference.initial(system)
    for row in rules.tolist():
        choice = tuple(None if rule == snp.NO_RULE else rule for rule in row)
        configuration, _ = reference.step(system, configuration, choice)
    return configuration


def assert_grows(graph, found):
    system = graph.system
    before = replayed(system, found.prefix_rules)
    assert (
        list(before.spikes)
        == graph.configurations(np.asarray([found.configuration])).spikes[0].tolist()
    )
    rules = np.concatenate([found.prefix_rules, *[found.loop_rules] * ROUNDS])
    after = replayed(system, rules)
    wanted = [
        spikes + ROUNDS * found.grows.get(neuron.name, 0)
        for neuron, spikes in zip(system.neurons, before.spikes, strict=True)
    ]
    assert list(after.spikes) == wanted and wanted != list(before.spikes)
    assert after[1:] == before[1:]


@settings(max_examples=15)
@given(systems(max_neurons=4, max_delay=1))
def test_what_grows_is_what_the_reference_does(system):
    graph = explored(system)
    found = growth(graph)
    if graph.is_complete:
        assert found is None
        # Nor would the search itself find any, if it were not known that there is none.
        found = growth(dataclasses.replace(graph, stop=Stop.MAX_CONFIGURATIONS))
        assert found is None
    elif found is not None:
        assert_grows(graph, found)


@pytest.mark.slow
@settings(max_examples=many(600, part=32))
@given(systems(max_neurons=5, signed=None))
def test_growth_of_many_systems(system):
    graph = explored(system, limit=150)
    found = growth(dataclasses.replace(graph, stop=Stop.MAX_CONFIGURATIONS))
    if found is not None:
        assert not graph.is_complete
        assert_grows(graph, found)


def test_a_clock_fills_a_counter():
    clock = snp.Neuron("clock", 1, ["a -> a"])
    system = snp.SpikingSystem(
        [clock, snp.Neuron("counter")], [("clock", "clock"), ("clock", "counter", 3)]
    )
    graph = explored(system)
    found = growth(graph)
    assert found is not None and found.grows == {"counter": 3} and found.num_steps == (0, 1)
    assert str(found) == (
        "After 0 steps, every step can be repeated for ever and change counter by 3"
    )
    assert_grows(graph, found)
    run = snp.run(graph.system, choice=found.replay(ROUNDS), max_steps=ROUNDS)
    assert run.spikes_of("counter") == 3 * ROUNDS
    assert growth(explore(system, saturate={"counter": 9}, chunks=CHUNKS)) is None


def test_a_path_that_grows_for_long_is_no_proof():
    """The counter stops the clock when it holds 300 spikes, far beyond what was explored."""
    clock = snp.Neuron("clock", 1, ["a -> a"])
    counter = snp.Neuron("counter", 0, [snp.Rule(300, 300, 1)])
    system = snp.SpikingSystem(
        [clock, counter], [("clock", "clock"), ("clock", "counter"), ("counter", "clock")]
    )
    graph = explored(system)
    assert graph.depth > 50 and growth(graph) is None
    counter = snp.Neuron("counter", 0, ["a(aa)*/a^2 -> a^2"])  # never at an even count
    two = snp.SpikingSystem([clock, counter], [("clock", "clock"), ("clock", "counter", 4)])
    graph = explored(two)
    found = growth(graph)
    assert found is not None and found.grows == {"counter": 4}
    assert_grows(graph, found)


@given(guards(), st.integers(1, 4), st.integers(-3, 12), st.integers(-3, 5).filter(bool))
def test_all_multiples_are_looked_at(guard, consume, count, delta):
    """Against this many multiples that nothing new can come: constants are at most 12."""
    rule = snp.Rule(guard, consume, 1)
    own = [k >= consume and k in guard for k in range(count, count + 400 * delta, delta)]
    assert applies_always(rule, count, delta) == all(own)
    assert applies_never(rule, count, delta) == (not any(own))


def test_other_definitions_are_refused():
    own = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")]
    other = snp.SpikingSystem(
        own, [("x", "x"), ("x", "y")], compatibility=snp.Compatibility(closed_receives=True)
    )
    with pytest.raises(NotImplementedError, match="closed_receives"):
        growth(explore(other, max_configurations=10, chunks=CHUNKS))


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_published_systems(case):
    """Infinite ones grow, if 400 configurations of them show it; finite ones do not."""
    wanted = case["expected"].get("graph")
    if wanted is None or case.get("variant", "static") != "static":
        return
    graph = explored(case_system(case), limit=400)
    found = growth(dataclasses.replace(graph, stop=Stop.MAX_CONFIGURATIONS))
    if wanted["finite"]:
        assert found is None
    else:
        assert found is not None, case["name"]
        assert_grows(graph, found)


def test_a_signed_neuron_may_sink():
    """It has a rule, which the sinking count never meets again."""
    sink = snp.Neuron("sink", 2, [snp.Rule(7, 1, 1)])
    system = snp.SpikingSystem(
        [snp.Neuron("clock", 1, ["a -> a"]), sink],
        [("clock", "clock"), ("clock", "sink", -2)],
        signed=True,
    )
    graph = explore(system, max_configurations=20, chunks=CHUNKS)
    found = growth(graph)
    assert found is not None and found.grows == {"sink": -2}
    assert_grows(graph, found)
