"""Compiled division and budding: choices, inheritance, closing, and room that grows."""

import importlib

import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.spiking.lower.lower_division import Capacity
from snpjax.testing import dividing_systems, reference, reference_graph
from tests.support.changing import (
    MAX_STEPS,
    ROOM,
    assert_same_run,
    explore,
    followed,
    network_of,
    run,
    with_ballast,
)
from tests.support.helpers import case_system, load_cases


systems = dividing_systems().map(with_ballast)
seeds = st.integers(0, 1000)
MAX_CONFIGURATIONS = 40
PATHS = 3
#: Rooms that the systems fit at first.
TINY = Capacity(neurons=6, synapses=24)
FEW_NEURONS = Capacity(neurons=9, synapses=256)
FEW_SYNAPSES = Capacity(neurons=64, synapses=12)


# ---- room ----


def doubling(**more):
    """Some neurons double again and again, each with a synapse to the sink."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("clock", 1, ["a -> a"]),
            snp.Neuron("back", 0, ["a -> a"]),
            snp.Neuron("x", 1, [snp.DivisionRule("a", "x", "x")]),
            snp.Neuron("sink", 0, ["a -> a^3"]),
        ],
        [("clock", "back"), ("back", "clock"), ("back", "x"), ("x", "sink")],
        output=["clock"],
        **more,
    )
    return with_ballast(system)


@pytest.mark.slow
@settings(max_examples=3)
@given(systems, seeds)
def test_room_grows_without_a_trace(system, seed):
    """A run that had too little room at first is the run that had enough, also of many paths."""
    choice = snp.UniformChoice(jr.key(seed))
    small = run(system, choice=choice, capacity=TINY)
    assert_same_run(small, followed(small))
    large = run(system, choice=choice)
    assert small.rules.tolist() == large.rules.tolist()
    batches = [
        run(system, choice=choice, paths=PATHS, save=snp.SAVE_ALL, capacity=layout)
        for layout in (TINY, ROOM)
    ]
    for path in range(PATHS):
        wanted = followed(batches[1][path])
        for batch in batches:
            assert_same_run(batch[path], wanted)


@pytest.mark.parametrize("max_steps, paths", [(5, None), (7, 2)])
def test_calls_may_end_within_unrolled_steps(max_steps, paths, monkeypatch):
    """Steps past the end of a call neither end the run nor use up its room."""
    driver = importlib.import_module("snpjax.driver")
    monkeypatch.setattr(driver, "_FIRST_CALL_STEPS", 4)
    monkeypatch.setattr(driver, "_SECONDS_PER_CALL", 0)  # one step a call after the first
    options = {"paths": paths, "save": snp.SAVE_ALL, "capacity": TINY, "max_steps": max_steps}
    solution = run(doubling(), unroll=3, **options)
    one = solution if paths is None else solution[1]
    assert one.steps == max_steps
    assert_same_run(one, followed(one))


@pytest.mark.slow
def test_every_other_step_all_double():
    """The clock ticks in every other step; what is sent to those that divide is lost."""
    computation = reference.run(doubling(), max_steps=9)
    solution = run(doubling(), max_steps=9, capacity=TINY)
    assert_same_run(solution, computation)
    labels = [solution.network(row).labels.count("x") for row in range(10)]
    assert labels == sorted(labels) and labels[-1] > 8


@pytest.mark.parametrize(
    ("layout", "which", "paths"), [(FEW_NEURONS, "neurons", None), (FEW_SYNAPSES, "synapses", 2)]
)
def test_a_failure_for_want_of_room(layout, which, paths):
    options = {"capacity": layout, "grow": False, "paths": paths, "save": snp.SAVE_ALL}
    failed = run(doubling(), throw=False, **options)
    wanted = {
        "neurons": snp.RESULTS.neurons_exceeded,
        "synapses": snp.RESULTS.synapses_exceeded,
    }
    assert np.all(failed.result == wanted[which])
    assert failed.failure is not None and f"Capacity({which}=" in failed.failure
    # The state before the step is kept.
    steps = int(np.max(failed.steps))
    assert 0 < steps < MAX_STEPS
    whole = reference.run(doubling(), max_steps=steps)
    own = failed if paths is None else failed[1]
    assert own.spikes.tolist() == [*whole.configurations[-1].spikes]
    assert own.network() == network_of(whole.configurations[-1])
    further = reference.run(doubling(), max_steps=steps + 1).configurations[-1]
    sizes = {"neurons": len(further.spikes), "synapses": len(network_of(further).synapses)}
    assert sizes[which] > getattr(layout, which)
    with pytest.raises(snp.RunFailed, match=which):
        run(doubling(), **options)


@pytest.mark.slow
def test_a_room_that_fits_is_enough():
    """No synapse that is counted twice, or is none, takes room."""
    pairs = [("x", "x"), ("x", "sink"), ("sink", "x"), ("x", "clock")]
    system = doubling(dictionary=pairs)
    computation = reference.run(system, max_steps=5)
    last = network_of(computation.configurations[-1])
    layout = Capacity(len(last.labels), len(last.synapses))
    assert_same_run(run(system, max_steps=5, capacity=layout, grow=False), computation)
    less = Capacity(len(last.labels), len(last.synapses) - 1)
    solution = run(system, max_steps=5, capacity=less, grow=False, throw=False)
    assert np.all(solution.result == snp.RESULTS.synapses_exceeded)


@pytest.mark.parametrize("layout", [Capacity(3, 99), Capacity(99, 3)])
def test_a_room_too_small_for_the_beginning(layout):
    with pytest.raises(ValueError, match=r"in the beginning.*Give a larger `Capacity"):
        run(doubling(), capacity=layout)


@pytest.mark.slow
@pytest.mark.parametrize("layout", [FEW_NEURONS, FEW_SYNAPSES])
def test_a_search_without_room_says_so(layout):
    graph = explore(doubling(), capacity=layout)
    assert graph.stop is snp.Stop.CAPACITY and not graph.is_complete
    assert "Capacity(" in graph.stop.value
    more = explore(doubling(), max_depth=graph.depth)
    assert more.depth_starts.tolist() == graph.depth_starts.tolist()
    for number in range(graph.num_configurations):
        assert graph.network(number) == more.network(number)
    assert graph.num_expanded == graph.num_configurations - 1
    assert snp.check(graph, "always sink <= 99").status is snp.Status.UNKNOWN


def test_names_in_a_graph_are_labels():
    graph = explore(doubling(), max_depth=6)
    expected = reference_graph.explore(doubling(), max_configurations=40, max_depth=6)
    seen = graph.configurations()
    for number, configuration in enumerate(expected.configurations):
        labels = network_of(configuration).labels
        own = [k for k, label in zip(configuration.spikes, labels, strict=True) if label == "x"]
        assert seen["x"][number] == sum(own)
        assert [x for x in seen.labels[number] if x] == list(labels)
        has_self = any(labels[s] == labels[t] == "x" for s, t, _ in network_of(configuration)[1])
        assert seen.has_synapse("x", "x")[number] == has_self
        assert seen.has_synapse("x", "sink")[number]
    assert snp.check(graph, "always clock <= 1").is_decided is False


# ---- published systems, and what always holds ----


CASES = [
    case
    for case in load_cases("spiking", schema="snpjax-case/1")
    if case.values[0] is None or case.values[0]["variant"] == "division-budding"
]


PUBLISHED = Capacity(neurons=64, synapses=192)


@pytest.mark.parametrize("case", CASES)
def test_published_systems(case):
    system, expected = case_system(case), case["expected"]
    solution = snp.run(system, capacity=PUBLISHED, grow=False)
    assert solution.halted and solution.steps == expected["halt_step"]
    networks = [solution.network(row) for row in range(solution.steps + 1)]
    assert [len(x.labels) for x in networks] == expected["neurons_per_step"]
    if "emitted_by_output" in expected:
        assert solution.spike_train.tolist() == expected["emitted_by_output"]
        assert len(networks[-1].synapses) == expected["synapses_final"]
    assert_same_run(solution, reference.run(system, max_steps=solution.steps))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_graphs_of_published_systems(case):
    system = case_system(case)
    solution = snp.run(system, capacity=PUBLISHED, grow=False)
    graph = snp.explore(system, chunks=(4,), capacity=PUBLISHED)
    assert graph.is_complete and graph.is_deterministic
    assert graph.depth == solution.steps
    size = len(solution.spikes)
    assert graph.spikes[:, :size].tolist() == solution.configurations.tolist()
    rows = range(solution.steps + 1)
    assert [graph.network(row) for row in rows] == [solution.network(row) for row in rows]


@pytest.mark.slow
@settings(max_examples=2)
@given(systems, seeds)
def test_more_neurons_change_nothing(system, seed):
    """Isolated ones, and room; a path depends on nothing else, where slots keep their numbers."""
    choice = snp.UniformChoice(jr.key(seed))
    few = run(system, choice=choice)
    roomy = run(system, choice=choice, capacity=Capacity(96, 384))
    assert few.configurations.tolist() == roomy.configurations.tolist()
    wider = system.replace(neurons=[*system.neurons, snp.Neuron("idle", 3)])
    first, second = run(system), run(wider)
    assert first.steps == second.steps
    assert first.spike_trains.tolist() == second.spike_trains.tolist()
    column = system.num_neurons
    assert np.delete(second.configurations, column, 1).tolist() == first.configurations.tolist()
