"""What the page does to drawn systems and nets, one operation at a time."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.sleptsov import Arcs, InvalidNet, SleptsovNet
from snpjax.testing import nets, systems
from snpjax.viz.page.arguments import Refused
from snpjax.viz.page.models import changed_model
from snpjax.viz.page.net_operations import changed_net
from snpjax.viz.page.nets import net_json
from snpjax.viz.page.operations import changed
from snpjax.viz.page.palette import PALETTE, module_of, palette_json
from snpjax.viz.page.session import Session, new_session
from snpjax.viz.page.texts import MODEL_FORMATS, open_model, opened_system, serialize
from tests.support.helpers import many


def after(system, *operations):
    for operation in operations:
        system = changed(system, operation)
    return system


def pair():
    neurons = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")]
    places = {"x": [0.0, 0.0], "y": [100.0, 0.0]}
    return snp.SpikingSystem(
        neurons, [("x", "y")], input={"x": [1, 0, 2]}, output="y", notes={"positions": places}
    )


def test_a_system_from_nothing():
    system = after(
        snp.SpikingSystem([]),
        {"do": "add", "neurons": [{"at": [0, 0], "spikes": 2, "rules": ["a^2/a -> a"]}]},
        {"do": "add", "neurons": [{"at": [90, 0], "name": "out"}]},
        {"do": "connect", "synapses": [[0, 1, 3]]},
        {"do": "output", "neuron": 1, "is_output": True},
        {"do": "input", "neuron": 0, "train": [0, 1]},
    )
    assert system == snp.SpikingSystem(
        [snp.Neuron("n1", 2, ["a^2/a -> a"]), snp.Neuron("out")],
        [("n1", "out", 3)],
        input={"n1": [0, 1]},
        output="out",
    )
    assert system.notes["positions"] == {"n1": [0, 0], "out": [90, 0]}


def test_removal_takes_what_belongs_to_a_neuron():
    system = changed(pair(), {"do": "remove", "neurons": [1]})
    assert system == snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])], input={"x": [1, 0, 2]})
    assert system.notes["positions"] == {"x": [0, 0]}
    assert not changed(pair(), {"do": "remove", "synapses": [[0, 1]]}).synapses


def test_delays_of_synapses_are_given_copied_and_removed():
    delayed = changed(pair(), {"do": "delay", "synapses": [[0, 1, 3]]})
    assert delayed == pair().replace(variant=snp.SynapseDelays({("x", "y"): 3}))
    copied = changed(delayed, {"do": "duplicate", "neurons": [0, 1]})
    own = {("x", "y"): 3, ("x_1", "y_1"): 3}
    assert copied.variant == snp.SynapseDelays(own)
    for operation in ({"synapses": [[2, 3]]}, {"neurons": [3]}):
        assert changed(copied, {"do": "remove", **operation}).variant == delayed.variant
    assert changed(delayed, {"do": "remove", "synapses": [[0, 1]]}).variant is None
    assert changed(delayed, {"do": "delay", "synapses": [[0, 1, 0]]}) == pair()
    other = pair().replace(variant=snp.Exhaustive())
    with pytest.raises(Refused, match="The variant Exhaustive"):
        changed(other, {"do": "delay", "synapses": [[0, 1, 3]]})
    with pytest.raises(ValueError, match="delay"):
        changed(pair(), {"do": "delay", "synapses": [[0, 1, -1]]})


def test_a_name_changes_wherever_it_stands():
    rules = snp.PlasticityRule(snp.Guard("a"), 1, "+", 1, ["y"])
    system = pair().replace(neurons=[snp.Neuron("x", 1, [rules]), snp.Neuron("y")])
    renamed = changed(system, {"do": "rename", "neuron": 1, "name": "z"})
    assert renamed.neurons[0].rules[0].targets == ("z",)
    assert renamed.synapses == (("x", "z", 1),) and renamed.output == ("z",)
    assert changed(renamed, {"do": "rename", "neuron": 1, "name": "y"}) == system


def test_labels_follow_their_neuron():
    growing = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["[a]_x -> []_b || []_c"])],
        dictionary=[("b", "c")],
        rules_by_label={"b": ["a -> lambda"]},
    )
    renamed = changed(growing, {"do": "rename", "neuron": 0, "name": "b1"})
    assert renamed.neurons[0].label == "b1" and renamed.dictionary == (("b", "c"),)


def test_inputs_and_outputs_of_growing_systems_follow_labels():
    growing = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["[a] -> []_b || []_c"]), snp.Neuron("y", 0, (), "x1")],
        output=("x", "b"),
        input={"x": [1], "x1": [2]},
    )
    renamed = changed(growing, {"do": "rename", "neuron": 0, "name": "w"})
    assert renamed.output == ("w", "b") and renamed.input == {"w": (1,), "x1": (2,)}
    renamed = changed(growing, {"do": "rename", "neuron": 1, "name": "b"})
    assert renamed.neurons[1].label == "x1" and renamed.output == ("x", "b")
    renamed = changed(renamed, {"do": "rename", "neuron": 1, "name": "z"})  # the label b stays
    assert renamed.neurons[1].name == "z" and renamed.output == ("x", "b")


def test_names_in_variants():
    variant = snp.SynapseDelays({("x", "y"): 2})
    system = pair().replace(variant=variant)
    renamed = changed(system, {"do": "rename", "neuron": 0, "name": "w"})
    assert renamed.variant.delays == ((("w", "y"), 2),)
    channels = pair().replace(variant=snp.DendriticDelays({"y": 2}))
    with pytest.raises(Refused, match="The variant DendriticDelays names neurons"):
        changed(channels, {"do": "remove", "neurons": [0]})


def test_a_copy_has_the_synapses_between_its_neurons():
    system = changed(pair(), {"do": "duplicate", "neurons": [0, 1], "by": [10, 20]})
    assert [neuron.name for neuron in system.neurons] == ["x", "y", "x_1", "y_1"]
    assert system.synapses == (("x", "y", 1), ("x_1", "y_1", 1))
    assert system.notes["positions"]["y_1"] == [110, 20]


@pytest.mark.parametrize("name", PALETTE)
def test_modules_are_inserted(name):
    system = changed(pair(), {"do": "insert", "module": name, "at": [5, 700]})
    module = module_of(name, None)
    assert system.num_neurons == 2 + module.num_neurons
    assert system.num_synapses == 1 + module.num_synapses
    own = [system.notes["positions"][neuron.name] for neuron in system.neurons[2:]]
    assert np.min(own, axis=0).tolist() == [5, 700]


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), max_size=12), st.data())
def test_modules_are_clear_of_what_is_there(there, data):
    names = [f"q{i}" for i in range(len(there))]
    places = dict(zip(names, map(list, there), strict=True))
    system = snp.SpikingSystem([snp.Neuron(name) for name in names], notes={"positions": places})
    x, y = data.draw(st.tuples(st.integers(0, 900), st.integers(0, 900)))
    grown = changed(system, {"do": "insert", "module": "sub", "at": [x, y]})
    all_places = [grown.notes["positions"][neuron.name] for neuron in grown.neurons]
    old, new = np.split(np.asarray(all_places, float), [len(there)])
    assert new.min(axis=0)[0] == x and new.min(axis=0)[1] >= y
    low, high = new.min(axis=0) - [190, 120], new.max(axis=0) + [190, 120]
    assert not ((low < old) & (old < high)).all(axis=1).any()
    if new.min(axis=0)[1] > y:  # it was moved no farther than to the next neuron
        assert (old[:, 1] == low[1]).any()


def test_modules_do_what_the_palette_says():
    for numbers in ([3, 1, 2], [0, 4, 4], [2, 2, 2]):
        sorter = module_of("sorter", 3)
        given = dict(zip(("in0", "in1", "in2"), numbers, strict=True))
        neurons = [snp.Neuron(x.name, given.get(x.name, 0), x.rules) for x in sorter.neurons]
        solution = snp.run(sorter.replace(neurons=neurons), max_steps=30)
        found = [int(solution.spikes_of(f"place{i}")) for i in range(3)]
        assert found == sorted(numbers)
    for name, rule in (("and", all), ("or", any)):
        for values in itertools.product((False, True), repeat=2):
            gate = module_of(name, None)
            count = sum(1 + value for value in values)
            neuron = snp.Neuron(name, count, gate.neurons[0].rules)
            solution = snp.run(gate.replace(neurons=[neuron], output=name), max_steps=3)
            assert int(solution.spike_trains.sum()) == 1 + rule(values)
    assert {entry["name"] for entry in palette_json()} == set(PALETTE)


def test_an_invalid_result_says_every_problem():
    rename = {"do": "rename", "neuron": 0, "name": "y"}
    model, findings = changed_model(pair(), [rename])
    assert model is None and any("y" in finding.message for finding in findings)
    loops = {"do": "connect", "synapses": [[0, 0, 1], [1, 1, 1]]}
    model, findings = changed_model(pair(), [loops, rename])  # its synapses are no other problem
    assert model is None and ["'y' is declared twice" in x.message for x in findings] == [True]
    model, findings = changed_model(pair(), [{"do": "add", "neurons": [{"rules": ["a => a"]}]}])
    assert model is None and findings


@settings(max_examples=many(160))
@given(systems(min_neurons=1, max_neurons=4), st.data())
def test_removal_undoes_addition(system, data):
    new = data.draw(st.integers(1, 3))
    grown = changed(system, {"do": "add", "neurons": [{}] * new})
    count = system.num_neurons
    ends = st.integers(0, count + new - 1)
    pairs = data.draw(st.lists(st.tuples(ends, ends), max_size=4))
    ties = [[s, t, 1] for s, t in pairs if s != t and max(s, t) >= count]
    grown, findings = changed_model(grown, [{"do": "connect", "synapses": ties}])
    if grown is None:  # an extended system allows all of these
        assert findings
        return
    gone = list(range(count, count + new))
    assert changed(grown, {"do": "remove", "neurons": gone}) == system
    name = data.draw(st.integers(0, count - 1))
    there = changed(system, {"do": "rename", "neuron": name, "name": "else"})
    back = changed(there, {"do": "rename", "neuron": name, "name": system.neurons[name].name})
    assert back == system


# ---- nets ----


def net():
    return SleptsovNet(
        [1, 0],
        inputs=Arcs.of([(0, 0, 1)]),
        outputs=Arcs.of([(1, 0, 2)]),
        place_names=["p", "q"],
        transition_names=["t"],
    )


def test_a_net_grows():
    grown = changed_net(net(), {"do": "add", "places": [{"tokens": 3}], "transitions": [{}]})
    assert grown.marking.tolist() == [1, 0, 3]
    assert list(grown.place_names) == ["p", "q", "p1"] and list(grown.transition_names) == [
        "t",
        "t1",
    ]
    grown = changed_net(grown, {"do": "connect", "synapses": [[2, 4, 1], [4, 0, 5]]})
    assert (2, 1, 1) in grown.inputs.triples() and (0, 1, 5) in grown.outputs.triples()
    grown = changed_net(grown, {"do": "connect", "synapses": [[1, 4, 1]], "kind": "inhibitor"})
    assert grown.inhibitors.triples() == [(1, 1, 1)]
    grown = changed_net(grown, {"do": "priority", "pairs": [[3, 4]]})
    assert grown.priorities.tolist() == [[0, 1]]
    assert changed_net(grown, {"do": "remove", "neurons": [2, 4]}) == net()


def test_a_net_loses_nodes_and_arcs():
    left = changed_net(net(), {"do": "remove", "neurons": [0]})
    assert left.marking.tolist() == [0] and not len(left.inputs)
    assert left.outputs.triples() == [(0, 0, 2)]
    assert not len(changed_net(net(), {"do": "remove", "synapses": [[2, 1]]}).outputs)
    both = changed_net(net(), {"do": "connect", "synapses": [[0, 2, 5]], "kind": "inhibitor"})
    one = changed_net(both, {"do": "remove", "synapses": [[0, 2]], "kind": "inhibitor"})
    assert not len(one.inhibitors) and one.inputs == both.inputs
    other = changed_net(both, {"do": "remove", "synapses": [[0, 2]], "kind": ""})
    assert not len(other.inputs) and other.inhibitors == both.inhibitors
    renamed = changed_net(net(), {"do": "rename", "neuron": 2, "name": "fire"})
    assert list(renamed.transition_names) == ["fire"]


def positions(net):
    return net_json(net)["positions"]


def test_nodes_of_a_net_keep_their_positions():
    """Through all operations, and in each format that has a place for them."""
    places = [[0, 10], [20, 30], [40, 50.5]]
    moved = changed_net(net(), {"do": "move", "positions": places})
    assert moved == net() and positions(moved) == places
    named = changed_net(moved, {"do": "rename", "neuron": 1, "name": "other"})
    assert positions(named) == places
    grown = changed_net(
        named, {"do": "add", "places": [{"at": [1, 2]}], "transitions": [{"at": [3, 4]}]}
    )
    assert positions(grown) == [*places[:2], [1, 2], *places[2:], [3, 4]]
    for name in ("lsn", "mcc", "msn", "ndr", "pnml"):
        assert "positions" in MODEL_FORMATS[name].keeps
        text, _ = serialize(grown, MODEL_FORMATS[name], lossy=False)
        read = open_model(f"n.{name}", text, format=name, level="extended").system
        assert positions(read) == positions(grown), name
        assert list(read.place_names) == list(grown.place_names)
    assert "positions" not in MODEL_FORMATS["net"].keeps
    left = changed_net(grown, {"do": "remove", "neurons": [0, 4]})
    assert positions(left) == [places[1], [1, 2], places[2]]
    assert positions(changed_net(grown, {"do": "add", "places": [{}]})) is None


def in_order(net):
    """The transitions of a net, the first to be asked first."""
    return [net.transition_name(t) for t in net.priority_order]


def through_mcc(net):
    text, _ = serialize(net, MODEL_FORMATS["mcc"], lossy=False)
    return open_model("n.mcc", text, format=None, level="extended").system


@settings(max_examples=many(80))
@given(nets(max_transitions=4), st.data())
def test_a_total_order_is_kept(net, data):
    """New transitions come last; those that are left keep their order, also in the file."""
    order = net.priority_order
    net = net.replace(order=order, inhibitors=Arcs.none(), tests=Arcs.none())
    new = data.draw(st.integers(0, 2))
    grown = changed_net(net, {"do": "add", "places": [{}], "transitions": [{}] * new})
    added = [grown.transition_name(net.num_transitions + i) for i in range(new)]
    assert in_order(grown) == [*in_order(net), *added]
    size = grown.num_places + grown.num_transitions
    places = [[float(i), 0.5] for i in range(size)]
    grown = changed_net(grown, {"do": "move", "positions": places})
    gone = data.draw(st.sets(st.integers(0, size - 1)))
    left = changed_net(grown, {"do": "remove", "neurons": sorted(gone)})
    names = {grown.transition_name(n - grown.num_places) for n in gone if n >= grown.num_places}
    assert in_order(left) == [name for name in in_order(grown) if name not in names]
    assert left.order is not None and through_mcc(left) == left
    if len(gone) < size:
        kept = [place for i, place in enumerate(places) if i not in gone]
        assert positions(left) == positions(through_mcc(left)) == kept


@settings(max_examples=many(80))
@given(nets(max_transitions=5), st.data())
def test_a_transition_moves_in_the_total_order(net, data):
    if not net.num_transitions:
        return
    net = net.replace(order=net.priority_order, inhibitors=Arcs.none(), tests=Arcs.none())
    own = data.draw(st.integers(0, net.num_transitions - 1))
    rank = data.draw(st.integers(1, net.num_transitions))
    wanted = in_order(net)
    wanted.insert(rank - 1, wanted.pop(wanted.index(net.transition_name(own))))
    operation = {"do": "order", "neuron": net.num_places + own, "rank": rank}
    beats = [tuple(map(net.transition_name, pair)) for pair in net.priorities.tolist()]
    if any(wanted.index(a) > wanted.index(b) for a, b in beats):
        with pytest.raises(InvalidNet, match="which has priority over it"):
            changed_net(net, operation)
        return
    moved = changed_net(net, operation)
    assert in_order(moved) == wanted and through_mcc(moved) == moved
    nodes = net_json(moved)["neurons"][net.num_places :]
    assert sorted((node["rank"], node["name"]) for node in nodes) == list(enumerate(wanted, 1))


def ordered():
    return net().replace(num_transitions=2, transition_names=["t", "u"], order=[1, 0])


def test_the_page_knows_priorities():
    """Those that are given; the order of a net that has none is only its order."""
    grown = changed_net(net(), {"do": "add", "transitions": [{}, {}]})
    assert [node.get("beats") for node in net_json(grown)["neurons"]] == [None, None, [], [], []]
    grown = changed_net(grown, {"do": "priority", "pairs": [[3, 2], [3, 4]]})
    told = net_json(grown)
    assert [node.get("beats") for node in told["neurons"][2:]] == [[], [2, 4], []]
    assert told["rules"] == {"t 1": ["beats t, t2"]}
    grown = changed_net(grown, {"do": "priority", "pairs": [[3, 2]], "is_on": False})
    assert grown.priorities.tolist() == [[1, 2]]
    assert [node.get("rank") for node in told["neurons"]] == [None] * 5
    transitions = net_json(ordered())["neurons"][2:]
    assert [(one["rank"], one.get("beats")) for one in transitions] == [(2, None), (1, None)]
    both = changed_net(ordered(), {"do": "priority", "pairs": [[3, 2]]})
    assert [one["beats"] for one in net_json(both)["neurons"][2:]] == [[], [2]]


def test_a_total_order_stays_in_the_text():
    """An SN-MCC text keeps its comments; a net that Python made gets such a text."""
    text = "2 1 1\n0\n1\n1\n2\n1 0\n# of a lecture\n"
    session = Session("n.mcc", text)
    model = session.answer("begin", {})["model"]
    add = [{"do": "add", "transitions": [{}]}]
    after = session.answer("change", {"model": model, "operations": add})
    assert after["format"] == "mcc" and "# of a lecture\n" in after["text"]
    rank = [{"do": "order", "neuron": 3, "rank": 1}]
    after = session.answer("change", {"model": after["model"], "operations": rank})
    assert [node["rank"] for node in after["system"]["neurons"][2:]] == [2, 1]
    read = open_model("n.mcc", after["text"], format=None, level="extended").system
    assert in_order(read) == ["t1", "t0"]
    found = opened_system(ordered())
    assert (found.name, found.format.name) == ("model.mcc", "mcc")
    again = open_model(found.name, found.text, format=None, level="extended").system
    assert again == ordered()


def test_tables_that_are_too_large_give_way_to_lsn(monkeypatch):
    monkeypatch.setattr("snpjax.io.sleptsov.mcc.MAX_FILE_BYTES", 1)
    found = opened_system(ordered())
    assert found.format.name == "lsn"
    assert "the text leaves out what" in found.warnings[0].message


def test_what_the_text_of_a_net_leaves_out_is_said():
    arcs = [(1, 0, 1)]
    found = opened_system(ordered().replace(tests=Arcs.of(arcs)))
    (warning,) = found.warnings
    assert "test arc" in warning.message and "SN-MCC" in warning.message
    assert len(found.system.tests) == 1
    assert not opened_system(ordered()).warnings


REFUSED = {
    pair: [
        ({"do": "dance"}, "no operation 'dance'"),
        ({}, "no operation None"),
        ({"do": "remove", "neurons": [2]}, "no node 2 among 2"),
        ({"do": "remove", "neurons": "all"}, "Give a list"),
        ({"do": "connect", "synapses": [[0, 1]]}, "Give lists of 3 numbers"),
        ({"do": "rename", "neuron": 0, "name": " "}, "is not a name"),
        ({"do": "rename", "neuron": 0, "name": "\ud800"}, "The name contains"),
        ({"do": "move", "positions": [[0, 0]]}, "has 1 position for 2 neurons. Give one for each"),
        ({"do": "move", "positions": [[0, 0], [0, "x"]]}, "is not a place"),
        ({"do": "add", "neurons": [{"spikes": 1.5}]}, "Give an integer"),
        ({"do": "add", "neurons": [{"rules": "a -> a"}]}, "Give texts"),
        ({"do": "insert", "module": "lamp"}, "no module 'lamp'"),
        ({"do": "insert", "module": "sorter", "size": 99}, "a size from 2 to 12"),
    ],
    net: [
        ({"do": "connect", "synapses": [[0, 1, 1]]}, "joins a place and a transition"),
        ({"do": "connect", "synapses": [[2, 1, 1]], "kind": "test"}, "a test begins at a place"),
        ({"do": "connect", "synapses": [], "kind": "lamp"}, "Give one of"),
        ({"do": "connect", "synapses": [], "kind": []}, "Give one of"),
        ({"do": "priority", "pairs": [[0, 1]]}, "Only a transition"),
        ({"do": "input"}, "no operation 'input' on nets"),
        ({"do": "move", "positions": [[0, 0]]}, "1 position for 3 nodes. Give one for each"),
        ({"do": "order", "neuron": 2, "rank": 1}, "no total order of its transitions"),
    ],
    ordered: [
        ({"do": "order", "neuron": 0, "rank": 1}, "A place has no position in the order"),
        ({"do": "order", "neuron": 2, "rank": 0}, "The position is 0. Give an integer from 1 to 2"),
        ({"do": "order", "neuron": 2, "rank": 3}, "Give an integer from 1 to 2"),
        ({"do": "order", "neuron": 2, "rank": "x"}, "Give an integer"),
        ({"do": "order", "neuron": 4, "rank": 1}, "no node 4 among 4"),
    ],
}


@pytest.mark.parametrize(
    "model, operation, message",
    [(model, *row) for model, rows in REFUSED.items() for row in rows],
)
def test_what_makes_no_sense_is_refused(model, operation, message):
    with pytest.raises(Refused, match=message):
        (changed if model is pair else changed_net)(model(), operation)


# ---- through the session ----


TEXT = """@model<spiking_psystems>
/* a comment */
def main()
{
  @mu = x;
  @ms(x) = a;
}
"""


def test_changes_keep_comments_and_give_another_model():
    session = Session("pair.pli", TEXT)
    begun = session.answer("begin", {})
    assert begun["palette"] == palette_json()
    operations = [
        {"do": "add", "neurons": [{"name": "y", "rules": ["a -> a"]}]},
        {"do": "connect", "synapses": [[0, 1, 1]]},
    ]
    after = session.answer("change", {"model": begun["model"], "operations": operations})
    assert after["read"] and after["model"] != begun["model"] and after["edited"]
    assert "/* a comment */" in after["text"] and "@mu = x, y;" in after["text"]
    wrong = [{"do": "rename", "neuron": 0, "name": "y"}]
    refused = session.answer("change", {"model": after["model"], "operations": wrong})
    assert not refused["read"] and refused["findings"]
    with pytest.raises(Refused, match="Give a list of objects"):
        session.answer("change", {"model": after["model"], "operations": "all"})


def test_models_that_differ_in_positions_share_their_computation():
    session = Session("pair.pli", TEXT.replace("@ms(x) = a;", '@ms(x) = a*3; [a --> a]\'x "a+";'))
    begun = session.answer("begin", {})
    step = {"model": begun["model"], "count": 1, "chosen": []}
    assert len(session.answer("step", {**step, "at": 0})["rows"]) == 1
    move = {"do": "move", "positions": [[3, 4]]}
    question = {"model": begun["model"], "operations": [move]}
    moved = session.answer("change", question)
    assert moved["model"] != begun["model"] and moved["system"]["positions"] == [[3, 4]]
    assert moved["computation"] == begun["computation"]
    for at, model in enumerate((moved["model"], begun["model"]), start=1):
        assert session.answer("step", {**step, "model": model, "at": at})["rows"][0]["spikes"]
    other = [move, {"do": "rename", "neuron": 0, "name": "y"}]
    renamed = session.answer("change", {**question, "operations": other})
    assert renamed["computation"] != begun["computation"]
    with pytest.raises(Refused, match="There is no configuration 2"):
        session.answer("step", {**step, "model": renamed["model"], "at": 2})


@pytest.mark.parametrize("level", ["extended", "strict"])
def test_a_page_begins_with_the_texts_of_empty_models(level):
    session = new_session(level=level)
    empty = session.answer("begin", {})["empty"]
    assert empty.keys() == {"system", "net"}
    for kind, file in empty.items():
        opened = session.answer("open", file)
        assert opened["read"] and opened["findings"] == []
        assert opened["system"]["kind"] == kind and opened["system"]["neurons"] == []


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    monkeypatch.setattr("snpjax.viz.page.texts.MAX_NEURONS", 3)
    model, findings = changed_model(pair(), [{"do": "add", "neurons": [{}, {}]}])
    assert model is None and "more than the 3" in findings[0].message


def test_a_branch_that_cannot_be_made_again_leaves_the_computation():
    session = Session("pair.pli", TEXT.replace("@ms(x) = a;", '@ms(x) = a*3; [a --> a]\'x "a+";'))
    model = session.answer("begin", {})["model"]
    question = {"model": model, "at": 0, "count": 2, "chosen": []}
    assert len(session.answer("step", question)["rows"]) == 2
    wrong = [{"chosen": [], "rest": 0}, {"chosen": [[0, 7]], "rest": 0}]
    with pytest.raises(Refused, match="Neuron x cannot select its rule 8 now. Choose one of: a"):
        session.answer("replay", {"model": model, "at": 0, "steps": wrong})
    again = session.answer("step", {**question, "at": 2, "count": 1})
    assert again["rows"][0]["step"] == 3
    with pytest.raises(Refused, match="Give pairs of numbers"):
        session.answer("step", {**question, "chosen": [[float("inf"), 0]]})


def test_witnesses_with_counts_that_were_cut_are_shown():
    ring = [snp.Neuron(x, int(x == "x"), ["a -> a"]) for x in "xy"]
    system = snp.SpikingSystem(
        [*ring, snp.Neuron("sink"), snp.Neuron("k")],
        [("x", "y"), ("y", "x"), ("y", "sink"), ("x", "sink")],
    )
    session = Session("ring.snp.json", snp.io.model_text(system, "native")[0])
    model = session.answer("begin", {})["model"]
    answer = session.answer("property", {"model": model, "query": "eventually k > 0"})
    assert answer["status"] == "refuted" and answer["rows"] and answer["loop"] is not None
