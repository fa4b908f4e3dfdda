"""Compiled division and budding are those of the reference: runs, batches, graphs, growing room."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax.spiking.growing import Capacity
from snpjax.testing import dividing_systems, reference, reference_graph

from .changing import (
    MAX_STEPS,
    ROOM,
    Path,
    assert_same_graph,
    assert_same_run,
    followed,
    given_choices,
    network_of,
    random_run,
    with_ballast,
)
from .helpers import case_system, load_cases, many


systems = dividing_systems().map(with_ballast)
seeds = st.integers(0, 1000)
MAX_CONFIGURATIONS = 40
PATHS = 3
#: Rooms that the systems fit at first.
TINY = Capacity(neurons=6, synapses=24)
FEW_NEURONS = Capacity(neurons=9, synapses=256)
FEW_SYNAPSES = Capacity(neurons=64, synapses=12)


def run(system, **options):
    return snp.run(system, **{"max_steps": MAX_STEPS, "layout": ROOM, **options})


def explore(system, **options):
    """One compilation of each function for all systems here."""
    return snp.explore(system, **{"chunks": (16,), "layout": ROOM, **options})


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


@settings(max_examples=20)
@given(systems, seeds)
def test_runs_equal_the_reference(system, seed):
    check_runs(system, seed)


@settings(max_examples=20)
@given(systems)
def test_graphs_equal_the_reference(system):
    check_graph(system)


@pytest.mark.slow
@settings(max_examples=many(2_000, part=10), suppress_health_check=[HealthCheck.too_slow])
@given(systems, seeds)
def test_runs_of_two_thousand_systems(system, seed):
    check_runs(system, seed)


@pytest.mark.slow
@settings(max_examples=many(2_000, part=10), suppress_health_check=[HealthCheck.too_slow])
@given(systems)
def test_graphs_of_two_thousand_systems(system):
    check_graph(system)


@settings(max_examples=5)
@given(systems, seeds)
def test_paths_of_a_batch_are_runs(system, seed):
    """Those of given choices are the computations they are of, of different lengths; random ones
    are what single runs with the same keys are."""
    computations = [random_run(system, seed + path) for path in range(PATHS)]
    choice = given_choices(system, *computations)
    batch = run(system, choice=choice, paths=PATHS, save=snp.SAVE_ALL)
    for path, computation in enumerate(computations):
        assert_same_run(batch, computation, path)
    choice = snp.UniformChoice(jr.key(seed))
    batch = run(system, choice=choice, paths=PATHS, save=snp.SAVE_ALL)
    for path in range(PATHS):
        computation = followed(batch, path)
        assert_same_run(batch, computation, path)
        assert_same_run(run(system, choice=Path(choice, jnp.asarray(path))), computation)


@settings(max_examples=5)
@given(systems, seeds)
def test_witnesses_are_replayed(system, seed):
    graph = explore(system, max_configurations=MAX_CONFIGURATIONS)
    last = seed % graph.num_configurations
    solution = run(system, choice=graph.witness(last), max_steps=len(graph.path_to(last)) - 1)
    assert solution.steps == graph.depths[last]
    size = len(solution.spikes)
    assert solution.spikes.tolist() == graph.spikes[last, :size].tolist()
    assert solution.network() == graph.network(last)


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


@settings(max_examples=3)
@given(systems, seeds)
def test_room_grows_without_a_trace(system, seed):
    """A run that had too little room at first is the run that had enough, also of many paths."""
    choice = snp.UniformChoice(jr.key(seed))
    small = run(system, choice=choice, layout=TINY)
    assert_same_run(small, followed(small))
    large = run(system, choice=choice)
    assert small.rules.tolist() == large.rules.tolist()
    batches = [
        run(system, choice=choice, paths=PATHS, save=snp.SAVE_ALL, layout=layout)
        for layout in (TINY, ROOM)
    ]
    for path in range(PATHS):
        wanted = followed(batches[1], path)
        for batch in batches:
            assert_same_run(batch, wanted, path)


def test_every_other_step_all_double():
    """The clock ticks in every other step; what is sent to those that divide is lost."""
    computation = reference.run(doubling(), max_steps=9)
    solution = run(doubling(), max_steps=9, layout=TINY)
    assert_same_run(solution, computation)
    labels = [solution.network(row).labels.count("x") for row in range(10)]
    assert labels == sorted(labels) and labels[-1] > 8


@pytest.mark.parametrize(
    ("layout", "which"),
    [
        (FEW_NEURONS, "neurons"),
        (FEW_SYNAPSES, "synapses"),
    ],
)
@pytest.mark.parametrize("paths", [None, 2])
def test_a_failure_for_want_of_room(layout, which, paths):
    options = {"layout": layout, "grow": False, "paths": paths, "save": snp.SAVE_ALL}
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
    path = None if paths is None else 1
    size = len(whole.configurations[-1].spikes)
    own = failed.spikes if paths is None else failed.spikes[:, 1]
    assert own.tolist() == [*whole.configurations[-1].spikes] and len(own) == size
    assert failed.network(path=path) == network_of(whole.configurations[-1])
    further = reference.run(doubling(), max_steps=steps + 1).configurations[-1]
    sizes = {"neurons": len(further.spikes), "synapses": len(network_of(further).synapses)}
    assert sizes[which] > getattr(layout, which)
    with pytest.raises(snp.RunFailed, match=which):
        run(doubling(), **options)


def test_a_room_that_fits_is_enough():
    """No synapse that is counted twice, or is none, takes room."""
    pairs = [("x", "x"), ("x", "sink"), ("sink", "x"), ("x", "clock")]
    system = doubling(dictionary=pairs)
    computation = reference.run(system, max_steps=5)
    last = network_of(computation.configurations[-1])
    layout = Capacity(len(last.labels), len(last.synapses))
    assert_same_run(run(system, max_steps=5, layout=layout, grow=False), computation)
    less = Capacity(len(last.labels), len(last.synapses) - 1)
    solution = run(system, max_steps=5, layout=less, grow=False, throw=False)
    assert np.all(solution.result == snp.RESULTS.synapses_exceeded)


@pytest.mark.parametrize("layout", [Capacity(3, 99), Capacity(99, 3)])
def test_a_room_too_small_for_the_beginning(layout):
    with pytest.raises(ValueError, match=r"in the beginning.*Give a larger `Capacity"):
        run(doubling(), layout=layout)


@pytest.mark.parametrize("layout", [FEW_NEURONS, FEW_SYNAPSES])
def test_a_search_without_room_says_so(layout):
    graph = explore(doubling(), layout=layout)
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


@pytest.mark.parametrize("case", CASES)
def test_published_systems(case):
    system, expected = case_system(case), case["expected"]
    layout = Capacity(neurons=64, synapses=192)
    solution = snp.run(system, layout=layout, grow=False)
    assert solution.halted and solution.steps == expected["halt_step"]
    rows = range(solution.steps + 1)
    networks = [solution.network(row) for row in rows]
    assert [len(x.labels) for x in networks] == expected["neurons_per_step"]
    if "emitted_by_output" in expected:
        assert solution.spike_train.tolist() == expected["emitted_by_output"]
        assert len(networks[-1].synapses) == expected["synapses_final"]
    assert_same_run(solution, reference.run(system, max_steps=solution.steps))
    graph = snp.explore(system, chunks=(4,), layout=layout)
    assert graph.is_complete and graph.is_deterministic
    assert graph.depth == solution.steps
    size = len(solution.spikes)
    assert graph.spikes[:, :size].tolist() == solution.configurations.tolist()
    assert [graph.network(row) for row in rows] == networks


@settings(max_examples=5)
@given(systems, seeds)
def test_more_neurons_change_nothing(system, seed):
    """Isolated ones, and room; a path depends on nothing else, where slots keep their numbers."""
    choice = snp.UniformChoice(jr.key(seed))
    few = run(system, choice=choice)
    roomy = run(system, choice=choice, layout=Capacity(96, 384))
    assert few.configurations.tolist() == roomy.configurations.tolist()
    wider = system.replace(neurons=[*system.neurons, snp.Neuron("idle", 3)])
    first, second = run(system), run(wider)
    assert first.steps == second.steps
    assert first.spike_trains.tolist() == second.spike_trains.tolist()
    column = system.num_neurons
    assert np.delete(second.configurations, column, 1).tolist() == first.configurations.tolist()
