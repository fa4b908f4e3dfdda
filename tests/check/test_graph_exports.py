"""Every export read back: the same configurations, edges, halting ones and initial one."""

import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import assume, given, settings

import snpjax as snp
from snpjax import write_graph
from snpjax.check.exports.identifiers import identifiers
from snpjax.check.exports.nusmv import to_nusmv
from snpjax.explore import explore, text as blocks  # to have several blocks of few rows
from snpjax.io import formats_of
from snpjax.testing import reference, systems
from tests.support import changing
from tests.support.graph_readers import (
    Smv,
    read_aut,
    read_dot,
    read_drn,
    read_graphml,
    read_json,
    read_prism,
    read_smv,
)
from tests.support.helpers import case_system, load_cases, many, with_ballast


CHUNKS = (64,)
READERS = {
    "aut": read_aut,
    "prism": read_prism,
    "drn": read_drn,
    "dot": read_dot,
    "graphml": read_graphml,
    "json": read_json,
}


def explored(system, **options):
    options = {"max_configurations": 60, "chunks": CHUNKS, **options}
    return explore(with_ballast(system), **options)


def naturals():
    """Generates every number from 2 on: a choice, a delay and a forgetting rule."""
    neurons = [
        snp.Neuron("a", 2, ["a^2/a -> a", "a -> lambda"]),
        snp.Neuron("b", 1, ["a -> a", "a -> a; 1"]),
        snp.Neuron("c", 3, ["a^3 -> a", "a -> a; 1", "a^2 -> lambda"]),
    ]
    synapses = [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")]
    return snp.SpikingSystem(neurons, synapses, output="c", name="naturals")


def growing():
    """A ring that makes a spike more in every round."""
    neurons = [snp.Neuron("p", 1, ["a+/a -> a"]), snp.Neuron("q", 0, ["a+/a -> a"])]
    return snp.SpikingSystem(neurons, [("p", "q"), ("q", "p", 2)], output="q")


def parting():
    """A ring that goes on, or not."""
    neurons = [snp.Neuron("p", 1, ["a -> a", "a -> lambda"]), snp.Neuron("q", 0, ["a -> a"])]
    return snp.SpikingSystem(neurons, [("p", "q"), ("q", "p")], output="q")


def odd_names():
    """Names that some format could take for something else."""
    names = ['q"\\', "next", "a b", "a_b", "7", "ä→<&>%", "init", "\x00\n"]
    neurons = [snp.Neuron(name, 1, ["a -> a", "a -> lambda"]) for name in names[:3]]
    neurons += [snp.Neuron(name, 0) for name in names[3:]]
    synapses = [(source, target) for source in names[:3] for target in names[3:]]
    return snp.SpikingSystem(neurons, synapses, output=names[:2], name='x "y"\n--]]>')


def assert_same(graph, read):
    """The numbers that every export must keep, and the edges themselves."""
    assert read.num_configurations == graph.num_configurations and read.initial == 0
    assert read.halting == set(np.flatnonzero(graph.is_halting).tolist())
    if "labels" in read.extra:
        assert read.extra["labels"]["deadlock"] == set(graph.deadlocks().tolist())
    # Some formats also tell the halting ones that were not expanded.
    assert read.unexpanded - read.halting == set(np.flatnonzero(graph.is_open).tolist())
    found = [(source, target) for source, _, target in read.edges]
    assert found == list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))


def assert_all_formats(graph, **options):
    with tempfile.TemporaryDirectory() as folder:
        for name, reader in READERS.items():
            suffix = formats_of("graph")[name].suffixes[0]
            paths = write_graph(graph, Path(folder) / f"graph{suffix}")
            assert all(path.exists() for path in paths)
            read = reader(paths[0])
            assert_same(graph, read)
            if name in ("json", "graphml"):
                step = graph.configurations().step[:, None]
                width = graph.num_columns
                parts = [x[:, :width] for x in (graph.spikes, graph.timers, graph.pending)]
                parts.append(step)
                assert [list(x) for x in read.configurations] == np.concatenate(parts, 1).tolist()
        assert_same_chain(graph, Path(folder) / "chain.tra")


def assert_same_chain(graph, path):
    """Uniform choices, added up by source and target."""
    for suffix, reader in ((".tra", read_prism), (".drn", read_drn)):
        write_graph(graph, path.with_suffix(suffix), chain=True)
        _assert_same_chain(graph, reader(path.with_suffix(suffix)))


def _assert_same_chain(graph, read):
    counts = Counter(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    wanted = {
        edge: Fraction(count, int(np.diff(graph.first_edge)[edge[0]]))
        for edge, count in counts.items()
    }
    found = {(source, target): float(label) for source, label, target in read.edges}
    assert found == {edge: float(x) for edge, x in wanted.items()}
    assert len(read.edges) == len(found)


def assert_same_smv(graph, model):
    """The states of the symbolic model are the configurations, its transitions the choices."""
    states, transitions = model.explore()
    names = [neuron.name for neuron in graph.system.neurons]
    own = identifiers(names)
    seen = graph.configurations()
    columns = {f"spikes_{x}": seen.spikes[:, i] for i, x in enumerate(own)}
    columns |= {f"timer_{x}": seen.timers[:, i] for i, x in enumerate(own)}
    columns |= {f"pending_{x}": seen.pending[:, i] for i, x in enumerate(own)}
    columns |= {"step": seen.step, "overflow": np.zeros(len(seen), int)}
    rows = np.stack([columns[name] for name in model.ranges], axis=1).tolist()
    kept = [x for name, x in columns.items() if name not in model.ranges]
    assert not np.any(kept), "what has no variable is always 0"
    number = {tuple(row): i for i, row in enumerate(rows)}
    assert len(number) == graph.num_configurations == len(states)
    position = [number[tuple(map(int, state))] for state in states]
    assert position[0] == 0

    is_halting = {position[source]: values["halting"] for source, values, _ in transitions}
    assert {i for i, halts in is_halting.items() if halts} == set(graph.halting().tolist())
    loops = [x for x in transitions if x[1]["halting"]]
    assert all(source == target for source, _, target in loops)
    steps = graph.transitions()
    emitting = [i for i, x in enumerate(own) if f"emits_{x}" in model.defines]
    wanted = Counter(
        (int(s), tuple(e[emitting].tolist()), int(t))
        for s, e, t in zip(steps.sources, steps.emissions, steps.targets, strict=True)
    )
    found = Counter(
        (position[s], tuple(int(v[f"emits_{own[i]}"]) for i in emitting), position[t])
        for s, v, t in transitions
        if not v["halting"]
    )
    assert found == wanted


OWN = {
    "naturals": (naturals, {}),
    "growing": (growing, {"max_depth": 9}),
    "odd names": (odd_names, {}),
    "one branch halts at the limit": (parting, {"max_depth": 1}),
    "halted from the start": (lambda: snp.SpikingSystem([snp.Neuron("p", 3)]), {}),
    "any input": (naturals, {"inputs": snp.AnyInput(3, neurons=("a",)), "max_configurations": 400}),
    "a train": (naturals, {"inputs": {"a": (1, 0, 2)}, "max_configurations": 400}),
    "saturated and timed": (
        lambda: naturals().replace(
            neurons=(*naturals().neurons, snp.Neuron("sink")),
            synapses=(*naturals().synapses, ("c", "sink", 2)),
        ),
        {"saturate": {"sink": 3}, "clock": 4, "max_configurations": 2_000},
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_own_graphs(name):
    system, options = OWN[name]
    graph = explored(system(), **options)
    assert_all_formats(graph)
    with tempfile.TemporaryDirectory() as folder:
        (path,) = write_graph(graph, Path(folder) / "model.smv")
        model = read_smv(path)
    if graph.is_complete:
        assert_same_smv(graph, model)


def wiring():
    """Creates a synapse, to one of two neurons, and deletes it."""
    neurons = [snp.Neuron("i", 1, ["a -> +-1(i, {j, m})"]), snp.Neuron("j", 0, ["a -> a"])]
    return snp.SpikingSystem([*neurons, snp.Neuron("m")], [("j", "i")], output="j")


def dividing():
    """Divides into neurons of labels that nobody bears at first, one of them an output."""
    return snp.SpikingSystem(
        [snp.Neuron("p", 1, ['[a]_p -> []_q || []_"r\'\\""', "a -> lambda"]), snp.Neuron("s", 2)],
        [("s", "p")],
        input={"q": [0, 1]},
        rules_by_label={"q": ["a -> a"]},
        dictionary=[("q", "s")],
        output="q",
    )


@pytest.mark.parametrize("system", [wiring, pytest.param(dividing, marks=pytest.mark.slow)])
def test_graphs_of_networks_that_change(system, tmp_path):
    graph = changing.explore(changing.with_ballast(system()))
    assert graph.is_complete and graph.num_choices > 2
    assert_all_formats(graph)
    value = read_json(write_graph(graph, tmp_path / "graph.json")[0]).extra
    made = graph.to_networkx()
    for i, own in enumerate(value["configurations"]):
        labels = graph.network(i).labels
        if graph.system.is_growing:
            assert tuple(x for x in own["labels"] if x is not None) == labels
            assert made.nodes[i]["labels"] == labels
        assert len(own["spikes"]) >= len(labels)
    rules = value["rules"]
    assert (rules["q"] if graph.system.is_growing else rules[1]) == ["a -> a"]
    labels = {label for _, label, _ in read_aut(write_graph(graph, tmp_path / "a.aut")[0]).edges}
    of_wiring = {"i:0", "i:0.1", "j:0", "no rule"}
    assert labels == (of_wiring if system is wiring else {"p:0", "p:1", "q:0", "no rule"})
    path = write_graph(graph, tmp_path / "e.tra", labels="emissions")[0]
    name = "j" if system is wiring else "q"
    assert {label for _, label, _ in read_prism(path).edges} == {f"{name}_1", "silent"}
    assert "<svg" in graph.to_svg() and f"{name}=1" in graph.to_svg()


def test_subsets_are_told_apart(tmp_path):
    """The rule deletes one synapse of two, and then creates one of two; the same for both ends."""
    names = ["j", "k", "l"]
    neurons = [snp.Neuron("i", 1, [snp.PlasticityRule("a", 1, "-+", 1, names)])]
    neurons += [snp.Neuron("7", 1, [snp.PlasticityRule("a", 1, "+", 1, names)])]
    synapses = [("i", "j"), ("i", "k")]
    graph = explore(snp.SpikingSystem([*neurons, *map(snp.Neuron, names)], synapses), chunks=CHUNKS)
    edges = read_aut(write_graph(graph, tmp_path / "a.aut")[0]).edges
    assert [label for source, label, _ in edges if source == 0] == [
        f"i:0{i}, 7:0{seven}" for i in ("", ".1") for seven in ("", ".1", ".2")
    ]
    assert {label for source, label, _ in edges if source} == {"no rule", "i:.1"}
    assert len({(source, label) for source, label, _ in edges}) == len(edges) == graph.num_choices
    actions = read_prism(write_graph(graph, tmp_path / "a.tra")[0]).edges
    assert {label for source, label, _ in actions if source} == {"_no_rule", "_i_s1"}
    assert len({(source, label) for source, label, _ in actions}) == len(actions)
    found = read_json(write_graph(graph, tmp_path / "a.json")[0]).extra["edges"]
    wanted = graph.transitions().subsets.tolist()
    assert [edge["subsets"] for edge in found] == wanted
    edges = graph.to_networkx().edges(data="subsets")
    assert sorted(own for *_, own in edges) == sorted(map(tuple, wanted))
    (path,) = write_graph(graph, tmp_path / "a.graphml")
    made = networkx.read_graphml(path, force_multigraph=True)
    texts = [" ".join(map(str, row)) for row in wanted]
    assert sorted(own for *_, own in made.edges(data="subsets")) == sorted(texts)
    assert "i:0.1" in graph.to_dot(labels="rules") and "i:0.1" in graph.to_svg(labels="rules")


@settings(max_examples=8)
@given(systems(max_neurons=5))
def test_random_graphs(system):
    assert_all_formats(explored(system))


@pytest.mark.slow
@settings(max_examples=20)
@given(systems(max_neurons=4, signed=None))
def test_random_symbolic_models(system):
    check_symbolic(system)


@pytest.mark.slow
@settings(max_examples=many(300, part=16))
@given(systems(max_neurons=5, signed=None))
def test_many_symbolic_models(system):
    # Not thousands: counts that grow are packed anew, each a compilation, whose memory XLA keeps.
    check_symbolic(system)


def check_symbolic(system):
    """The model of a complete graph is the graph; any other one can make the run of the reference
    while the bounds are wide enough."""
    graph = explored(system)
    assume(graph.num_configurations > 1)
    if graph.is_complete:
        with tempfile.TemporaryDirectory() as folder:
            assert_same_smv(graph, read_smv(write_graph(graph, Path(folder) / "model.smv")[0]))
        return
    model = Smv(to_nusmv(system, bounds=10**6))
    state = model.initial()
    for after in reference.run(system, max_steps=8).configurations[1:]:
        wanted = state_of(model, system, after)
        found = [target for _, target in model.steps(state)]
        assert wanted in found
        state = wanted


def state_of(model, system, configuration):
    """The state of the model that is a configuration of the reference."""
    values: dict[str, int] = {"step": configuration.input_position, "overflow": False}
    for i, own in enumerate(identifiers([neuron.name for neuron in system.neurons])):
        values[f"spikes_{own}"] = configuration.spikes[i]
        values[f"timer_{own}"] = configuration.timers[i]
        values[f"pending_{own}"] = configuration.pending[i]
    return tuple(values[name] for name in model.ranges)


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_published_graphs(case, tmp_path):
    wanted = case["expected"].get("graph")
    if wanted is None or case.get("variant", "static") != "static" or not wanted["finite"]:
        return
    if wanted["choice_vectors"] > 3_000:
        return
    graph = explored(case_system(case), max_configurations=3_000)
    (path,) = write_graph(graph, tmp_path / "graph.aut")
    read = read_aut(path)
    assert_same(graph, read)
    assert read.num_configurations == wanted["configurations"]
    assert len(read.edges) == wanted["choice_vectors"]
    assert len(read.halting) == wanted["halting"]
    if wanted["choice_vectors"] <= 300 and len(case["neurons"]) <= 20:
        assert_all_formats(graph)
        assert_same_smv(graph, read_smv(write_graph(graph, tmp_path / "model.smv")[0]))


# ---- what stands in the files ----


def test_a_graph_of_several_blocks(monkeypatch):
    """Edges and configurations are written in blocks, the last one not full."""
    monkeypatch.setattr(blocks, "_BLOCKS", (5, 5))
    graph = explored(growing(), max_depth=11)
    assert graph.num_configurations == 12 and graph.num_choices == 11
    assert_all_formats(graph)


def test_labels_of_edges(tmp_path):
    graph = explored(naturals())
    steps = graph.transitions()
    names = [neuron.name for neuron in graph.system.neurons]
    rules = [
        ", ".join(f"{n}:{r}" for n, r in zip(names, row, strict=True) if r >= 0) or "no rule"
        for row in steps.rules.tolist()
    ]
    (path,) = write_graph(graph, tmp_path / "g.aut")
    assert [label for _, label, _ in read_aut(path).edges] == rules
    emitted = [f"c={x}" if x else "silent" for x in steps.emitted("c").tolist()]
    (path,) = write_graph(graph, tmp_path / "g.aut", labels="emissions")
    assert [label for _, label, _ in read_aut(path).edges] == emitted
    paths = write_graph(graph, tmp_path / "g.tra", labels="emissions")
    assert [path.suffix for path in paths] == [".sta", ".lab", ".tra"]
    actions = [label for _, label, _ in read_prism(paths[0]).edges]
    assert actions == [label.replace("=", "_") for label in emitted]


def test_names_that_a_format_cannot_hold(tmp_path):
    system = odd_names()
    graph = explored(system)
    label = read_aut(write_graph(graph, tmp_path / "g.aut")[0]).edges[0][1]
    assert label == 'q"\\:0, next:0, a b:0'
    read = read_json(write_graph(graph, tmp_path / "g.json")[0])
    assert read.extra["neurons"][:8] == [neuron.name for neuron in system.neurons]
    assert read.extra["rules"][0] == ["a -> a", "a -> lambda"]
    own = read_prism(write_graph(graph, tmp_path / "g.sta")[0]).extra["variables"]
    assert own[:5] == ["spikes_q__", "spikes_next", "spikes_a_b__2", "spikes_a_b", "spikes_7"]


def test_predicates_are_labels_of_prism(tmp_path):
    graph = explored(naturals())
    predicates = {"done": lambda c: c["c"] == 0, "never": lambda c: c["c"] > 99}
    paths = write_graph(graph, tmp_path / "g.tra", predicates=predicates)
    labels = read_prism(paths[0]).extra["labels"]
    assert labels["done"] == set(graph.where(predicates["done"]).tolist()) != set()
    assert labels["never"] == set()


def test_graphml_is_read_by_networkx(tmp_path):
    graph = explored(naturals())
    (path,) = write_graph(graph, tmp_path / "g.graphml")
    read = networkx.read_graphml(path, force_multigraph=True)
    assert read.number_of_nodes() == graph.num_configurations
    assert read.number_of_edges() == graph.num_choices
    assert read.nodes["n0"]["halting"] is False and read.nodes["n0"]["depth"] == 0
    assert read.graph["neurons"].split("\n") == [x.name for x in graph.system.neurons]


def test_a_bound_is_no_silent_cap():
    """A count beyond its bound is `overflow`, which stays; until then everything is exact."""
    system = growing()
    model = Smv(to_nusmv(system, bounds=3))
    states, transitions = model.explore()
    flag = list(model.ranges).index("overflow")
    assert any(state[flag] for state in states)
    assert all(target == source for source, v, target in transitions if v["overflow"])
    assert not any(values["halting"] for _, values, _ in transitions)
    run = reference.run(system, max_steps=20)
    within = [c.spikes for c in run.configurations if max(c.spikes) <= 3]
    assert [state[:2] for state in states if not state[flag]] == within[: len(states) - 1]


@pytest.mark.slow
def test_what_nusmv_cannot_hold_is_refused(tmp_path):
    system = naturals()
    with pytest.raises(ValueError, match="with_compatibility"):
        to_nusmv(system.with_compatibility(snp.compatibility.WEBSNAPSE_V2), bounds=3)
    with pytest.raises(ValueError, match="bound of neuron 'c' is None"):
        to_nusmv(system, bounds={"a": 5, "b": 5})
    with pytest.raises(ValueError, match="'c' begins with 3 spikes"):
        to_nusmv(system, bounds=2)
    dividing = snp.SpikingSystem(
        [snp.Neuron("c", 2, [snp.DivisionRule("a{2}", "l", "r")]), snp.Neuron("l")], [("c", "l")]
    )
    with pytest.raises(ValueError, match="needs a network that does not change, but .* has the"):
        to_nusmv(dividing, bounds=2)
    with pytest.raises(ValueError, match="A model of NuSMV needs a network that does not change"):
        write_graph(explore(dividing, chunks=CHUNKS), tmp_path / "model.smv")


def test_bad_input(tmp_path):
    graph = explored(naturals())
    with pytest.raises(ValueError, match=r"suffix '.txt' cannot be written .*\.aut"):
        write_graph(graph, tmp_path / "g.txt")
    with pytest.raises(ValueError, match="no option `predicates`"):
        write_graph(graph, tmp_path / "g.aut", predicates={"x": lambda c: c["a"] > 0})
    with pytest.raises(ValueError, match="no option `chain`"):
        write_graph(graph, tmp_path / "g.json", chain=True)
    with pytest.raises(ValueError, match="can be no label of PRISM"):
        write_graph(graph, tmp_path / "g.tra", predicates={"halting": lambda c: c["a"] > 0})
    with pytest.raises(ValueError, match="return a boolean for each"):
        write_graph(graph, tmp_path / "g.tra", predicates={"x": lambda c: c["a"]})
    without = explored(naturals(), edges=False)
    for name in ("g.aut", "g.tra", "g.json", "g.dot", "g.graphml"):
        with pytest.raises(ValueError, match="edges=True"):
            write_graph(without, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_deadlocks_of_a_system_are_where_spikes_are_left(tmp_path):
    """It may take three spikes and be done, or two and keep one for ever."""
    neurons = [
        snp.Neuron("n", 3, ["a^3 -> a", "a^3/a^2 -> a"]),
        snp.Neuron("sink"),  # without rules, so that spikes may stay
    ]
    graph = snp.explore(snp.SpikingSystem(neurons, [("n", "sink")]))
    assert len(graph.halting()) == 2
    (stuck,) = graph.deadlocks()
    assert graph.configurations().spikes[stuck].tolist() == [1, 1]
    write_graph(graph, tmp_path / "graph.tra")
    labels = read_prism(tmp_path / "graph.tra").extra["labels"]
    assert labels["deadlock"] == {stuck} and labels["halting"] == set(graph.halting().tolist())


def test_nusmv_without_bounds(tmp_path):
    """As with bounds that are never reached, but for the variable that tells an overflow."""
    for system, saturate in ((parting(), {}), (naturals(), {"c": 4})):
        bounded, unbounded = (
            Smv(to_nusmv(system, bounds=bounds, saturate=saturate)) for bounds in (90, "unbounded")
        )
        at = list(bounded.ranges).index("overflow")
        assert [*unbounded.ranges] == [name for name in bounded.ranges if name != "overflow"]

        def without(state, at=at):
            return (*state[:at], *state[at + 1 :])

        states, transitions = bounded.explore()
        assert unbounded.explore()[0] == [without(state) for state in states]
        assert len(unbounded.explore()[1]) == len(transitions)
    graph = explore(growing(), chunks=CHUNKS, max_configurations=10)
    (path,) = write_graph(graph, tmp_path / "model.smv", bounds="unbounded")
    assert "spikes_p : integer;" in path.read_text()
    model = Smv(path.read_text())
    state = model.initial()
    for _ in range(70):
        ((_, state),) = model.steps(state)
    assert max(state) > 3 * graph.spikes.max()  # nothing overflows
    with pytest.raises(ValueError, match="no option `bounds`"):
        write_graph(graph, tmp_path / "model.aut", bounds="unbounded")
