"""The explored graph is the graph of the reference, whatever the chunks; published graphs."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import snpjax as snp
from snpjax.explore import Stop, explore, searched
from snpjax.explore.words_on_device import WordsOnDevice
from snpjax.testing import reference_graph, systems
from tests.support.helpers import REPOSITORY, case_system, load_cases, many, slow, with_ballast
from tests.support.known_graphs import CHUNKS, growing, many_sinks, senders, too_many_choices


MAX_CONFIGURATIONS = 60


def assert_same_graph(graph, expected):
    position = graph.configurations().step[:, None]
    found = np.concatenate([graph.spikes, graph.timers, graph.pending, position], axis=1)
    wanted = [[*x.spikes, *x.timers, *x.pending, x.input_position] for x in expected.configurations]
    assert found.tolist() == wanted
    assert graph.num_expanded == expected.num_expanded
    assert graph.sources.tolist() == [source for source, _, _, _ in expected.edges]
    assert graph.targets.tolist() == [target for _, _, _, target in expected.edges]
    depths = np.repeat(np.arange(graph.depth + 1), np.diff(graph.depth_starts))
    assert depths.tolist() == graph.depths.tolist() == list(expected.depths)
    steps = graph.transitions()
    assert steps.sources.tolist() == graph.sources.tolist()
    choices = [[None if x == snp.NO_RULE else x for x in row] for row in steps.rules.tolist()]
    assert choices == [list(choice) for _, choice, _, _ in expected.edges]
    assert steps.emissions.tolist() == [list(emitted) for _, _, emitted, _ in expected.edges]


def check_graph(system):
    system = with_ballast(system)
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    graph = explore(system, max_configurations=MAX_CONFIGURATIONS, chunks=CHUNKS)
    assert_same_graph(graph, expected)


@given(systems(max_neurons=6))
def test_graph_equals_the_reference(system):
    check_graph(system)


@settings(max_examples=5)
@given(systems(max_neurons=6))
def test_a_witness_is_replayed(system):
    system = with_ballast(system)
    graph = explore(system, max_configurations=MAX_CONFIGURATIONS, chunks=CHUNKS)
    last = graph.num_configurations - 1
    path = graph.path_to(last)
    run = snp.run(system, choice=graph.witness(last), max_steps=len(path) - 1)
    assert run.spikes.tolist() == graph.spikes[last].tolist() and run.steps == graph.depth


@pytest.mark.parametrize("most", [100, *slow(200, 40_000)])
def test_counts_grow_out_of_their_types(most):
    """Counts begin in 8, 16 or 32 bits; where those overflow the search goes on in more."""
    system = growing(most)
    expected = reference_graph.explore(system, max_configurations=300)
    graph = explore(system, max_configurations=300, chunks=CHUNKS)
    assert_same_graph(graph, expected)
    assert graph.spikes.max() > (130 if most == 100 else most - 1)


def test_overflow_of_the_widest_type_ends_the_search():
    source = snp.Neuron("source", 1, ["a/a -> a"])
    back = snp.Neuron("back", 0, ["a/a -> a"])
    sink = snp.Neuron("sink", 2**31 - 2**29)
    synapses = [("source", "back"), ("back", "source"), ("source", "sink", 2**28)]
    system = snp.SpikingSystem([source, back, sink], synapses)
    graph = explore(system, chunks=CHUNKS)
    assert graph.stop is Stop.OVERFLOW and graph.num_configurations == 3
    assert graph.num_expanded == 2  # in the next step 2^31 spikes would be there


def test_one_configuration_has_too_many_choices():
    graph = explore(too_many_choices(), chunks=CHUNKS)
    assert graph.stop is Stop.TOO_MANY_CHOICES and graph.num_expanded > 0


@pytest.mark.slow
def test_one_field_after_the_other_needs_more_bits():
    """Words are packed tighter or wider in the middle of a search, and nothing is lost."""
    neurons = [snp.Neuron(f"n{i}", 1, ["a -> a", "a -> lambda"]) for i in range(11)]
    sinks = [snp.Neuron(f"s{i}") for i in range(11)]
    synapses = [(f"n{i}", f"s{j}", 1 + 40 * (i == 3)) for i in range(11) for j in range(11)]
    system = snp.SpikingSystem([*neurons, *sinks], synapses)
    graph = explore(system, chunks=(64, 1024), edges=False)
    assert graph.is_complete and graph.num_configurations == 1 + 2 * 11
    choices = 1 << 13
    wide = [snp.Neuron(f"n{i}", 1, ["a -> a", "a -> lambda"]) for i in range(13)]
    out = [snp.Neuron(f"s{i}") for i in range(13)]
    system = snp.SpikingSystem([*wide, *out], [(f"n{i}", f"s{i}", 1 + 9 * i) for i in range(13)])
    graph = explore(system, chunks=(64, 1024))
    assert graph.is_complete and graph.num_configurations == 1 + choices
    numbers = np.arange(choices)[:, None] >> np.arange(13)[::-1] & 1
    assert (graph.spikes[1:, 13:] == (1 - numbers) * (1 + 9 * np.arange(13))).all()


@pytest.mark.parametrize("limit", [1, 6, 1000])
@pytest.mark.parametrize("spikes", [2**30, 2**31 - 4])
def test_no_graph_depends_on_the_chunks(limit, spikes):
    """Nor where a limit is reached or counts overflow in the middle of a chunk, or both."""
    graphs = [
        explore(senders(spikes), max_configurations=limit, chunks=chunks)
        for chunks in ((4,), CHUNKS)
    ]
    for graph in graphs:
        assert graph.stop is graphs[0].stop and graph.num_expanded == graphs[0].num_expanded
        assert graph.targets.tolist() == graphs[0].targets.tolist()
        assert graph.targets.max(initial=0) < graph.num_configurations <= limit
        assert graph.spikes.tolist() == graphs[0].spikes.tolist()
        assert graph.depth_starts.tolist() == graphs[0].depth_starts.tolist()
    overflows = spikes > 2**30
    assert overflows or limit < 1000 or graphs[0].is_complete
    wanted = Stop.OVERFLOW if limit > 1 else Stop.MAX_CONFIGURATIONS
    assert not overflows or graphs[0].stop is wanted


@pytest.mark.slow
@settings(max_examples=5)
@given(systems(max_neurons=4))
def test_emissions_that_are_repeated_are_part_of_the_configuration(system):
    repeating = snp.Compatibility(early_reopen="accumulate", repeats_emissions=True)
    system = with_ballast(system).with_compatibility(repeating)
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    graph = explore(system, max_configurations=MAX_CONFIGURATIONS, chunks=CHUNKS)
    assert_same_graph(graph, expected)


def test_views_do_not_wrap():
    system = snp.SpikingSystem([snp.Neuron("a", 100), snp.Neuron("b", 100)])
    graph = explore(system, chunks=CHUNKS)
    assert graph.where(lambda c: c["a"] + c["b"] == 200).tolist() == [0]


def test_a_halt_at_the_limit_of_depth_is_a_halt():
    system = snp.SpikingSystem([snp.Neuron("h", 1, ["a -> a"])], output="h")
    found = explore(system, max_depth=1, chunks=CHUNKS).halting_trains(3)
    assert found.values == ((1,),) and found.complete_up_to == 3


def test_populations_take_other_trains():
    populations = [snp.Population("in", 2, 0, ["a -> a"]), snp.Population("out", 1)]
    system = snp.PopulationSystem(populations, [snp.Projection("in", "out")], input={"in": [0]})
    graph = explore(system, inputs={"in": [1, 0, 1]}, chunks=CHUNKS)
    assert graph.is_complete and graph.configurations()["out"].max() == 4
    with pytest.raises(NotImplementedError, match="expand"):
        explore(system, inputs=snp.AnyInput(3))


@pytest.mark.parametrize("chunks", [(), (0,), (64, 4)])
def test_sizes_that_make_no_sense(chunks):
    with pytest.raises(ValueError, match="Give ascending sizes"):
        explore(senders(0), chunks=chunks)


@pytest.mark.slow
@settings(max_examples=many(5_000, part=50), suppress_health_check=[HealthCheck.too_slow])
@given(systems(max_neurons=6))
def test_graphs_of_five_thousand_systems(system):
    check_graph(system)


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_published_graphs(case):
    wanted = case["expected"].get("graph")
    if wanted is None or case.get("variant", "static") != "static":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = with_ballast(case_system(case))
    if not wanted["finite"]:
        new = wanted["new_configurations_per_depth"]
        graph = explore(system, max_depth=len(new) - 1, chunks=CHUNKS)
        assert np.diff(graph.depth_starts).tolist() == new and graph.stop is Stop.MAX_DEPTH
        return
    graph = explore(system, chunks=CHUNKS)
    assert graph.is_complete and graph.num_configurations == wanted["configurations"]
    assert graph.num_choices == wanted["choice_vectors"] and graph.depth == wanted["depth"]
    assert int(graph.is_halting.sum()) == wanted["halting"]
    assert graph.num_transitions == wanted["transitions"]
    size = len(case["neurons"])
    for node in wanted.get("nodes", ()):
        same = (graph.spikes[:, :size] == node["spikes"]).all(axis=1)
        same &= (graph.timers[:, :size] == node["timers"]).all(axis=1)
        same &= (graph.pending[:, :size] == node["pending"]).all(axis=1)
        assert node["depth"] in graph.depths[same]


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_published_languages(case):
    expected = case["expected"]
    if (
        not {"intervals", "halting_trains"} & expected.keys()
        or case.get("variant", "static") != "static"
    ):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = with_ballast(case_system(case))
    output = case["output"][0]
    wanted = expected.get("intervals", {})
    depth = wanted.get("within_steps")
    graph = explore(system, max_depth=depth, max_configurations=3_000, chunks=CHUNKS)
    if graph.is_complete:
        assert graph.is_deterministic == expected["deterministic"]
    if wanted and (graph.is_complete or depth):
        found = graph.intervals(wanted["up_to"], output)
        assert list(found.values) == wanted["values"]
        assert found.complete_up_to == wanted["up_to"] or not graph.is_complete
    wanted = expected.get("halting_trains")
    if wanted and graph.is_complete:
        found = graph.halting_trains(wanted["up_to_length"], output)
        assert found.complete_up_to == wanted["up_to_length"]
        assert len(found.values) == wanted["count"]
        trains = ["".join(map(str, train)) for train in found.values]
        assert trains[:200] == wanted["strings"][:200]


@pytest.mark.parametrize("room_until", [0, pytest.param(2**22, marks=pytest.mark.slow)])
def test_fields_that_grow_after_they_were_packed(monkeypatch, room_until):
    """Large searches pack fields without room, and widen those that grow later."""
    packings = []

    def repack(memory, packing, chunk):
        packings.append(packing.classes)
        return original(memory, packing, chunk)

    original = WordsOnDevice.repack
    monkeypatch.setattr(WordsOnDevice, "repack", repack)
    monkeypatch.setattr(searched, "_ROOM_UNTIL", room_until)
    monkeypatch.setattr(searched, "_TIGHT_FROM", 4)
    monkeypatch.setattr(searched, "_TIGHT_AGAIN", 2)
    system = many_sinks()
    expected = reference_graph.explore(system, max_configurations=300)
    assert_same_graph(explore(system, max_configurations=300, chunks=CHUNKS), expected)
    assert len(packings) > 1, packings


def test_attributes_and_methods_of_a_graph_follow_one_rule():
    """What counts or tells something is an attribute, unless it takes an argument."""
    members = inspect.getmembers(snp.Graph, inspect.isfunction)
    told = [(name, one) for name, one in members if name.startswith(("num_", "is_"))]
    assert told
    for name, one in told:
        required = [x for x in inspect.signature(one).parameters.values() if x.default is x.empty]
        assert len(required) > 1, f"Graph.{name}() takes no argument"


def test_what_is_generated_is_a_collection():
    found = explore(snp.read(REPOSITORY / "examples/natural_numbers.pli")).intervals(9)
    assert list(found) == [2, 3, 4, 5, 6, 7, 8, 9] and found.complete_up_to == 9
    assert len(found) == 8 and 3 in found and 1 not in found
    with pytest.raises(ValueError, match="complete up to 9 only"):
        assert 10 not in found
