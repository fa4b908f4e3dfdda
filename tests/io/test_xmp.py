"""WebSnapse `.xmp` and the XML of sn-p-factory: every sample, both dialects, every mistake."""

import json
import re
import warnings
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import Guard, Neuron, Rule, SpikingSystem
from snpjax.io import ReadError, ReadWarning, environment
from snpjax.io.source import Source
from snpjax.io.xmp import elements, read_factory_xml, read_xmp
from snpjax.testing import reference
from tests.support.helpers import (
    SHARED,
    assert_runs_down_the_chain,
    case_system,
    many,
    needs_shared,
)


PAIR = """<content>
  <p><id>p</id><position><x>0</x><y>0</y></position><rules>2a/a-&gt;a;1 a/a-&gt;0;0</rules>
     <startingSpikes>2</startingSpikes><delay>0</delay><spikes>2</spikes><isOutput>false</isOutput>
     <isInput>false</isInput><out>q</out><outWeights><q>1</q></outWeights></p>
  <q><id>q</id><position><x>150</x><y>-0.5</y></position><rules>a/a-&gt;a;0 2a/2a-&gt;0;0</rules>
     <startingSpikes>1</startingSpikes><delay>0</delay><spikes>1</spikes><isOutput>false</isOutput>
     <isInput>false</isInput><out>p</out><out>o</out><outWeights><p>1</p><o>1</o></outWeights></q>
  <o><id>o</id><position><x>300</x><y>0</y></position><isOutput>true</isOutput>
     <isInput>false</isInput><spikes>0</spikes><bitstring> </bitstring></o>
</content>
"""

PAIR_SYSTEM = SpikingSystem(
    [Neuron("p", 2, ["a^2/a -> a; 1", "a -> lambda"]), Neuron("q", 1, ["a -> a", "a^2 -> lambda"])],
    [("p", "q"), ("q", "p")],
    output="q",
)


def parse(text, reader=read_xmp, level="extended"):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return reader(Source("model.xmp", text), level)


def findings(text, kind: Any = ReadError, reader=read_xmp, level="extended"):
    """`line:column` and message of every error, or of every warning."""
    if kind is ReadError:
        with pytest.raises(ReadError) as caught:
            parse(text, reader, level)
        found = caught.value.diagnostics
    else:
        with pytest.warns(ReadWarning) as caught:
            reader(Source("model.xmp", text), level)
        (warning,) = caught
        found = warning.message.diagnostics  # pyright: ignore[reportAttributeAccessIssue]
    assert len({(d.line, d.column, d.message) for d in found}) == len(found)
    return {f"{d.line}:{d.column}": d.message for d in found}


def marked(text):
    """The text without its marks, and the places of the marks."""
    places = set()
    while (at := text.find("§")) >= 0:
        places.add(f"{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}")
        text = text[:at] + text[at + 1 :]
    return text, places


def content(*neurons):
    """A file with each neuron on its own line, from line 2 on."""
    return "<content>\n" + "\n".join(neurons) + "\n</content>"


def neuron(name, inside="", rules=""):
    rules = rules and f"<rules>{rules.replace('>', '&gt;')}</rules>"
    return f"<{name}><id>{name}</id>{inside}{rules}</{name}>"


def rule_of(text, reader=read_xmp):
    (rule,) = parse(content(neuron("x", rules=text)), reader).rules
    return rule


def notes_of(system) -> dict[str, Any]:
    return dict(system.notes)


# Samples


def sample(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        return snp.read(SHARED / "samples" / name)


def published(name):
    return json.loads((SHARED / "cases/websnapse" / name).read_text())


TRACES = {
    "spiker_3k3": "v2_ex1_3kp3_spiker",
    "spiker_3k3_v1": "v2_ex1_3kp3_spiker",
    "bit_adder": "v2_ex2_bitadder",
    "increasing_comparator": "v2_ex3_increasing_comparator",
    "bitonic_sorter_4": "v2_4_neuron_bitonic_sorter_standard",
    "weighted_adder_10_11": "v2_bit_adder_weights_10p11",
    "input_neurons_20_30": "v2_bit_adder_input_neurons_single_inp_20p30",
    "bitstring_comparator_5_8": "v2_inc_comparator_input_neurons_5_8",
    "complete_4": "v2_pi_sc",
}
GRAPHS = {
    "xmp/naturals_gt1.xmp": "v2_ex5_naturally_greater_one",
    "factory/multiples_of_4.xml": "wsr_multiples_of_004",
}


@needs_shared
@pytest.mark.parametrize("name", TRACES)
def test_sample_gives_its_trace(name):
    system, case = sample(f"xmp/{name}.xmp"), published(f"traces/{TRACES[name]}.json")
    given, run = case_system(case), case["run"]
    assert (system.neurons, system.synapses) == (given.neurons, given.synapses)
    halts = run["halt_step"] is not None
    computation = reference.run(system, max_steps=run["steps"] + 10 * halts)
    assert computation.halted == halts and computation.steps == run["steps"]
    assert [list(c.spikes) for c in computation.configurations] == run["spikes"]
    assert [list(c.timers) for c in computation.configurations] == run["timers"]
    assert [list(choice) for choice in computation.choices] == run["rules"]
    recorders = notes_of(system).get("outputs", {})
    assert recorders == case["outputs"]
    for recorder, sources in recorders.items():
        assert set(system.output) >= {source for source, _ in sources}
        arrivals = [
            sum(weight * row[system.names[source]] for source, weight in sources)
            for row in computation.emissions
        ]
        assert arrivals == run["environment"][recorder]
    inputs = notes_of(system).get("inputs", {})
    assert {name: entry["train"] for name, entry in inputs.items()} == case["inputs"]
    assert {name: entry["targets"] for name, entry in inputs.items()} == case["input_targets"]


@needs_shared
@pytest.mark.parametrize("name", GRAPHS)
def test_sample_gives_its_graph(name):
    system, case = sample(name), published(f"graphs/{GRAPHS[name]}.json")
    graph = case["graph"]
    ((recorder, sources),) = case["outputs"].items()
    ids = [entry["id"] for entry in case["neurons"]]
    emitters = [(ids.index(source), weight) for source, weight in sources]
    assert [system.names[name] for name in system.output] == [index for index, _ in emitters]
    nodes, edges = {}, []
    waiting = [reference.initial(system)]
    nodes[waiting[0]] = 0
    while waiting:
        configuration = waiting.pop()
        if reference.is_halting(system, configuration):
            continue
        for choice in reference.choices(system, configuration):
            after, emissions = reference.step(system, configuration, choice)
            if after not in nodes:
                nodes[after] = len(nodes)
                waiting.append(after)
            arrivals = sum(weight * emissions[index] for index, weight in emitters)
            edges.append((configuration, after, choice, arrivals))
    rows = zip(graph["spikes"], graph["timers"], graph["pending"], strict=True)
    expected = [tuple(map(tuple, row)) for row in rows]
    assert {node[:3] for node in nodes} == set(expected)
    assert len(nodes) == len(expected) == graph["configurations"]
    assert {(a[:3], b[:3], choice, arrived) for a, b, choice, arrived in edges} == {
        (expected[a], expected[b], tuple(choice), arrived[recorder])
        for a, b, choice, arrived in graph["edges"]
    }
    assert len(edges) == graph["choice_vectors"]


@needs_shared
def test_both_versions_of_the_spiker_are_one_system():
    assert sample("xmp/spiker_3k3_v1.xmp") == sample("xmp/spiker_3k3.xmp")


@needs_shared
def test_one_spike_runs_down_the_chain():
    assert_runs_down_the_chain(sample("xmp/one_chain_10.xmp"))


@needs_shared
def test_the_malformed_sample_is_refused_at_its_apostrophe():
    with pytest.raises(ReadError, match=r"malformed\.xmp:17:15: not well-formed XML: invalid tok"):
        snp.read(SHARED / "samples/xmp/malformed.xmp")


@needs_shared
def test_a_leftover_weight_is_told():
    with pytest.warns(ReadWarning) as caught:
        snp.read(SHARED / "samples/xmp/input_neurons_20_30.xmp")
    (warning,) = caught
    assert re.search(r":29:29: there is no <out> to 'out1-fVJP_fZcX'", str(warning.message))


@needs_shared
def test_adder_of_the_factory():
    system = sample("factory/bit_adder_5_9_3.xml")
    adder = ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"]
    assert system == SpikingSystem(
        [
            Neuron("stall_20", 0, ["a -> a"]),
            Neuron("add_01", 0, adder),
            Neuron("add_012", 0, adder),
        ],
        [("stall_20", "add_012"), ("add_01", "add_012")],
        input={"add_01": (2, 0, 1, 1), "stall_20": (1, 1)},
        output="add_012",
    )
    assert notes_of(system)["positions"]["in_0"] == [0, 0]
    assert notes_of(system)["inputs"]["in_1"] == {"train": [1, 0, 0, 1], "targets": [["add_01", 1]]}
    emitted = [row[2] for row in reference.run(system, max_steps=20).emissions]
    assert sum(bit << place for place, bit in enumerate(emitted[2:])) == 5 + 9 + 3


@needs_shared
def test_generator_of_the_factory():
    system = sample("factory/multiples_of_4.xml")
    assert system == SpikingSystem(
        [
            Neuron("n_1", 2, ["a^2/a -> a; 3", "a -> lambda"]),
            Neuron("n_2", 1, ["a -> a; 3", "a -> a; 4"]),
            Neuron("n_3", 3, ["a^3 -> a", "a -> a; 4", "a^2 -> lambda"]),
        ],
        [("n_1", "n_2"), ("n_1", "n_3"), ("n_2", "n_1"), ("n_2", "n_3")],
        output="n_3",
    )
    assert system.notes["outputs"] == {"env_out": [["n_3", 1]]}


# What is read


def test_pair():
    system = parse(PAIR)
    assert system == PAIR_SYSTEM
    assert dict(system.notes) == {
        "positions": {"p": [0, 0], "q": [150, -0.5], "o": [300, 0]},
        "outputs": {"o": [["q", 1]]},
    }
    assert parse(PAIR, read_factory_xml) == PAIR_SYSTEM
    computation = reference.run(system, max_steps=10)
    assert [c.spikes for c in computation.configurations] == [
        (2, 1),
        (1, 0),
        (1, 1),
        (1, 0),
        (0, 0),
    ]


@pytest.mark.parametrize("name", ["pair.xmp", "PAIR.XMP", "pair.xml"])
@pytest.mark.parametrize("change", [str, lambda s: "\ufeff" + s, lambda s: s.replace("\n", "\r\n")])
def test_files(tmp_path, name, change):
    path = tmp_path / name
    path.write_bytes(change(PAIR).encode())
    assert snp.read(path) == PAIR_SYSTEM


def test_starting_spikes_say_the_dialect(tmp_path):
    """Without an initial content besides the current one, a file is one of sn-p-factory."""
    text = content(neuron("x", "<{0}>4</{0}>", "3a+/a->a;0"))
    for name in ("a.xmp", "a.xml"):
        path = tmp_path / name
        path.write_text(text.replace("{0}", "startingSpikes"))
        assert snp.read(path).rules == (Rule("a{3,}", 1, 1),)
        assert snp.read(path, format="factory-xml").rules == (Rule("(aaa)+", 1, 1),)
        path.write_text(text.replace("{0}", "spikes"))
        assert snp.read(path).rules == (Rule("(aaa)+", 1, 1),)
        assert snp.read(path, format="xmp").rules == (Rule("a{3,}", 1, 1),)
        assert snp.read(path).neurons[0].spikes == 4


@pytest.mark.parametrize(
    ("text", "websnapse", "factory"),
    [
        ("a", "a", "a"),
        ("5a", "a{5}", "a{5}"),
        ("aaa", "a{3}", "a{3}"),
        ("a+", "a+", "a+"),
        ("a*", "a*", "a*"),
        ("3a+", "a{3,}", "(aaa)+"),
        ("3a*", "a{2,}", "(aaa)*"),
        ("aaa+", "a{3,}", "a{3,}"),
        ("a(2a)*", "a(aa)*", "a(aa)*"),
        ("a(2a)+", "a(aa)+", "a(aa)+"),
        ("4a(3a)*", "a{4}(aaa)*", "a{4}(aaa)*"),
        ("4a(3a)+", "a{7}(aaa)*", "a{7}(aaa)*"),
        ("(2a)*", "(aa)*", "(aa)*"),
        ("((2a)*(3a)*)+", "((aa)*(aaa)*)+", "((aa)*(aaa)*)+"),
        ("(2a+)*", "(a{2,})*", "(aa)*"),
        ("a|3a", "a|aaa", "a|aaa"),
        ("2a(3a*|a)", "aa(a{2,}|a)", "aa((aaa)*|a)"),
        ("4194302a", "a{4194302}", "a{4194302}"),
    ],
)
def test_guards(text, websnapse, factory):
    for reader, guard in ((read_xmp, websnapse), (read_factory_xml, factory)):
        assert rule_of(f"{text}/a->a;0", reader) == Rule(guard, 1, 1)


def test_a_group_of_a_count_repeats_in_both_dialects():
    for reader in (read_xmp, read_factory_xml):
        assert [k in rule_of("(3a)*/a->a;0", reader).guard for k in range(7)] == [
            True, False, False, True, False, False, True
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("3a/2a->a;4", Rule("aaa", 2, 1, 4)),
        ("3a/2a->12a;0", Rule("aaa", 2, 12)),
        ("3a/2a->0;0", Rule("aaa", 2)),
        ("2a->a;0", Rule("aa", 2, 1)),
        ("aa/aa->aa;01", Rule("aa", 2, 2, 1)),
        ("2a / a -> a ; 1", Rule("aa", 1, 1, 1)),
        ("a+/99999999a->a;0", Rule("a+", 99999999, 1)),
    ],
)
def test_rules(text, rule):
    assert rule_of(text) == rule_of(text, read_factory_xml) == rule


def test_rules_are_separated_by_blanks():
    text = "\n\ta/a->a;0\t 2a/a -> a; 1\r\n3a->0;0  "
    rules = parse(content(neuron("x", rules=text))).rules
    assert rules == (Rule("a", 1, 1), Rule("aa", 1, 1, 1), Rule("aaa", 3))
    assert parse(content("<x><id>x</id><rules> </rules></x>")).rules == ()


def test_weights_and_defaults():
    text = content(
        neuron("x", "<out>y</out><out>z</out><outWeights><z>3.0</z></outWeights>"),
        neuron("y", "<startingSpikes>2.0</startingSpikes><spikes>7</spikes><out/><outWeights/>"),
        neuron("z", "<spikes>+4.00</spikes>"),
    )
    for reader in (read_xmp, read_factory_xml):
        assert parse(text, reader) == SpikingSystem(
            [Neuron("x"), Neuron("y", 2), Neuron("z", 4)], [("x", "y"), ("x", "z", 3)]
        )
    assert parse("<content/>") == SpikingSystem([])


def test_the_id_is_authoritative():
    text = content(
        "<n1><id> 1 </id><out>n 2</out><outWeights><n2>3</n2></outWeights></n1>",
        "<n2><id>n 2</id><out>1</out></n2>",
    )
    assert parse(text) == SpikingSystem(
        [Neuron("1"), Neuron("n 2")], [("1", "n 2", 3), ("n 2", "1")]
    )


def test_escapes_and_sections():
    text = content(
        "<x><id>a&amp;b<![CDATA[<c>]]>&#233;</id><!-- none --><rules>a/a->a;0</rules></x>"
    )
    assert parse(text) == SpikingSystem([Neuron("a&b<c>\u00e9", 0, ["a -> a"])])


def test_weights_without_out_are_synapses_of_the_factory():
    text = content(neuron("x", "<outWeights><y>§2</y></outWeights>"), neuron("y"))
    assert parse(marked(text)[0], read_factory_xml).synapses == (("x", "y", 2),)
    text, (place,) = marked(text)
    found = findings(text, ReadWarning)
    assert list(found) == [place] and "add <out>y</out>" in found[place]


def source_node(name, bits, *targets):
    out = "".join(f"<out>{target}</out>" for target, _ in targets)
    weights = "".join(f"<{target}>{weight}</{target}>" for target, weight in targets)
    return neuron(
        name,
        f"<isInput>true</isInput><bitstring>{bits}</bitstring>{out}"
        f"<outWeights>{weights}</outWeights>",
    )


OUTPUT = "<isOutput>true</isOutput>"


def test_input_nodes_become_trains():
    text = content(
        source_node("i", "1, 0,2.0,12", ("x", 1), ("y", 3)),
        source_node("j", "1,1", ("x", 1)),
        source_node("k", " ", ("y", 1)),
        source_node("l", "5,5,5,5,5", ("x", 2)),
        neuron("x"),
        neuron("y"),
    )
    system = parse(text)
    assert system == SpikingSystem(
        [Neuron("x"), Neuron("y")],
        input={"x": (12, 11, 12, 22, 10), "y": (3, 0, 6, 36)},
    )
    assert system.notes["inputs"] == {
        "i": {"train": [1, 0, 2, 12], "targets": [["x", 1], ["y", 3]]},
        "j": {"train": [1, 1], "targets": [["x", 1]]},
        "k": {"train": [], "targets": [["y", 1]]},
        "l": {"train": [5, 5, 5, 5, 5], "targets": [["x", 2]]},
    }


def test_output_nodes_name_their_sources_in_the_order_of_the_nodes():
    text = content(
        neuron("x", "<out>o2</out><out>o1</out>"),
        neuron("y", "<out>o2</out>"),
        neuron("z", "<out>o1</out>"),
        neuron("o1", OUTPUT + "<bitstring>1,0</bitstring>"),
        neuron("o2", OUTPUT),
        neuron("o3", OUTPUT),
    )
    system = parse(text)
    assert system.output == ("x", "z", "y")
    assert system.notes["outputs"] == {
        "o1": [["x", 1], ["z", 1]],
        "o2": [["x", 1], ["y", 1]],
        "o3": [],
    }


def test_a_chain_from_input_to_output_is_kept():
    text = content(source_node("i", "1,0,1", ("o", 2), ("x", 1)), neuron("x"), neuron("o", OUTPUT))
    found = findings(text, ReadWarning)
    assert list(found) == ["2:70"]
    assert 'past all neurons (kept only in notes["direct"])' in found["2:70"]
    with pytest.warns(ReadWarning):
        system = read_xmp(Source("f", text), "extended")
    assert system.notes["direct"] == {"o": {"i": [2, 0, 2]}}
    assert system.input == {"x": (1, 0, 1)} and system.output == ()
    assert system.notes["outputs"] == {"o": []}


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("<out>o</out><outWeights><o>§4</o></outWeights>", "has weight 4, but an output"),
        ("<delay>§2</delay><startingSpikes>1</startingSpikes>", "with its <startingSpikes>"),
        ("<currentRule>§a/a</currentRule>", "saved while this neuron was closed"),
        ("<bitstring>§1,0</bitstring>", "not an input is not read"),
        ('§<position unit="px"><x>1</x><y>1</y></position>', "attributes are not read"),
        ("<position><x>§NaN</x><y>1</y></position>", "the position is 'NaN'"),
        (OUTPUT + "<rules>§a</rules>", "an output node has no rules"),
        ("<isInput>true</isInput><bitstring>§1011</bitstring>", "by commas: 1,0,1"),
        ("<rules>§2a/3a-&gt;a;0</rules>", "can never apply"),
        ("<rules>a/a-&gt;a;0 §a->a;0</rules>", "repeats a -> a (remove one; it counts "
            "once); first at 2:21"),
    ],
)  # fmt: skip
def test_warnings(inside, message):
    text, (place,) = marked(content(neuron("x", inside), neuron("o", OUTPUT)))
    found = findings(text, ReadWarning)
    assert list(found) == [place] and message in found[place]


def test_another_encoding_is_told():
    text = '<?xml version="1.0" encoding="latin-1"?>\n' + content(neuron("\u00e9"))
    assert "read as UTF-8" in findings(text, ReadWarning)["1:31"]
    assert parse(text.replace("latin-1", "utf-8")) == SpikingSystem([Neuron("\u00e9")])
    assert parse(text.replace("\u00e9", "e")) == SpikingSystem([Neuron("e")])


# Mistakes


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("a/a->a§", '";" and the delay are expected here'),
        ("a/aa;0§", '"->" is expected here'),
        ("a/§->a;0", "a number of spikes is missing"),
        ("a/a->§;0", "a number of spikes is missing"),
        ("a/a->§b;0", "'b' is not part of a number of spikes"),
        ("a/§2->a;0", "'2' is not part of a number of spikes"),
        ("a/2aa§3->a;0", "'3' is not part of a number of spikes"),
        ("a/§0a->a;0", "0a is no spike at all"),
        ("a/a->a;§", "and is missing"),
        ("a/a->a;1§x", "not 'x'"),
        ("a/a->a;§-1", "not '-'"),
        ("a/a->a;§99999999999", "the delay is 'too large'"),
        ("a/a->a;§" + 200 * "9", "a delay of 200 digits"),
        ("a/a->0;§1", "a forgetting rule has no delay"),
        ("§/a->a;0", "an expression is missing"),
        ("a§()/a->a;0", 'the group is empty (write "3a"'),
        ("a§(2a/a->a;0", "is not closed"),
        ("a2a§)*/a->a;0", 'the ")" closes nothing'),
        ("a+§*/a->a;0", "the guard does not parse"),
        ("3a+§+/a->a;0", "the guard does not parse"),
        ("a§{2}/a->a;0", "'{' is not part of a guard"),
        ("aa§2/a->a;0", "'2' is not part of a guard"),
        ("§0a+/a->a;0", "0a is no spike at all"),
        ("a|§9999999a/a->a;0", "the guard does not parse"),
        ("§" + 200 * "9" + "a/a->a;0", "a number of 200 digits"),
        ("§9999999a->a;0", "the guard needs"),
        ("(" * 100 + "§" + "(" * 100 + "a" + ")" * 200 + "/a->a;0", "is nested deeper than"),
        ("§" + "a" * 100_001 + "/a->a;0", "the guard has 100001 characters"),
    ],
)
@pytest.mark.parametrize("reader", [read_xmp, read_factory_xml])
def test_place_in_a_rule(rule, message, reader):
    text, (place,) = marked(content(neuron("x", rules=rule)))
    found = findings(text, reader=reader)
    assert list(found) == [place]
    assert message in found[place]


def test_places_follow_escapes():
    rules = "éé§ a/a->a;0 &#97;/a-&gt;2a;0\n2a/a-&gt;<![CDATA[a;§x]]>"
    text, places = marked(f"<content>\n<x><id>éé</id><rules>{rules}</rules></x></content>")
    found = findings(text)
    assert set(found) == places
    assert ["is expected here" in message for message in found.values()] == [True, False]
    text, (place,) = marked(f"<content>\n{neuron('é', rules='&#97;/a->§2a;0')}</content>")
    found = findings(text, level="strict")
    assert list(found) == [place] and "produces 2 but consumes 1" in found[place]


def test_all_parts_of_a_rule_are_told():
    text, places = marked(content(neuron("x", rules="§2b/§c->§d;§e f§")))
    assert set(findings(text)) == places


def test_all_errors_are_told():
    text, places = marked(
        content(
            neuron(
                "x", "<spikes>§many</spikes><out>§z</out><out>y</out>§<colour/>", "a->a;0 a->§;0"
            ),
            neuron("y", "<isInput>§no</isInput><out>x</out><outWeights><x>§0</x></outWeights>"),
        )
    )
    found = findings(text)
    assert set(found) == places
    messages = iter(found.values())
    assert "the number of spikes is 'many'" in next(messages)
    assert "there is no neuron 'z' (the neurons are 'x', 'y')" in next(messages)
    assert "known: id, position, rules, startingSpikes" in next(messages)
    assert "a number of spikes is missing" in next(messages)
    assert "write true or false" in next(messages)
    assert "synapse (y, x) has weight 0" in next(messages)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("§<spikes/>", "the number of spikes is missing"),
        ("<spikes>§1.5</spikes>", "the number of spikes is '1.5' (write an integer)"),
        ("<spikes>§1e3</spikes>", "write an integer"),
        ("<spikes>§NaN</spikes>", "write an integer"),
        ("<spikes>§\u0663</spikes>", "write an integer"),
        (f"<spikes>§{'9' * 5000}</spikes>", "has 5000 digits"),
        ("<spikes> §-1</spikes>", "starts with -1 spikes"),
        ("<spikes>1</spikes>§<spikes>1</spikes>", "appears twice in a neuron (remove one); "
            "first at 2:14"),
        ("<spikes>1§<b/></spikes>", "unknown element <b> in <spikes>"),
        ("<position>§1</position>", "'1' stands outside of all parts"),
        ("<position>§<z>1</z></position>", "unknown element <z> in <position>"),
        ("<position><x>1</x>§<x>1</x></position>", "<x> appears twice in a position"),
        ("§text", "'text' stands outside of all parts"),
        ("<out>§nowhere</out>", "there is no neuron 'nowhere'"),
        ("<out>n</out><out>§n</out>", "listed twice (write one synapse with a weight "
            "instead); first at 2:19"),
        ("<out>n</out><outWeights><n>§-1</n></outWeights>", "the negative weight -1"),
        ("<out>n</out><outWeights>§<n/></outWeights>", "the weight of a synapse is missing"),
        ("<out>n</out><outWeights><n>1</n>§<n>1</n></outWeights>", "twice (remove one); "
            "first at 2:41"),
        ("<out>n</out><outWeights><n>1§<b/></n></outWeights>", "unknown element <b> in <n>"),
        ("<out>n</out><outWeights>§1</outWeights>", "'1' stands outside"),
        ("<out>n§<b/></out>", "unknown element <b> in <out>"),
        ("<out>§i</out>", "synapse (x, i) enters the input node 'i'"),
        (OUTPUT + "<out>§n</out>", "synapse (x, n) leaves the output node 'x'"),
        ("</x><y><id>§y</id>" + OUTPUT + "<isInput>true</isInput></y><x><id>z</id>",
            "neuron 'y' is both input and output"),
        ("<isInput>true</isInput><bitstring>1,§,1</bitstring>", "the bitstring is missing"),
        ("<isInput>true</isInput><bitstring>1,0,§</bitstring>", "the bitstring is missing"),
        ("<isInput>true</isInput><bitstring>1,§x</bitstring>", "the bitstring is 'x'"),
        ("<isInput>true</isInput><bitstring>1, §-2</bitstring>", "is -2 (write an integer"),
    ],
)  # fmt: skip
def test_place_of_one_mistake(inside, message):
    nodes = (neuron("x", inside), neuron("n"), neuron("i", "<isInput>true</isInput>"))
    text, (place,) = marked(content(*nodes))
    found = findings(text)
    assert list(found) == [place]
    assert message in found[place]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (content("<x/>"), "2:1", "the neuron <x> has no <id>"),
        (content("<x><id> </id><out>y</out></x>"), "2:4", "the <id> is empty"),
        (content(f"<x><id>{'x' * 2000}</id></x>"), "2:8", "the <id> has 2000 characters"),
        (content(neuron("x"), neuron("x", OUTPUT)), "3:8", "declared twice (give each neuron its "
            "own name); first at 2:8"),
        ("<content>\n\n  stray</content>", "3:3", "'stray' stands outside of all neurons"),
        ("<pnml>\n<net/></pnml>", "1:1", "the root element is <pnml> (read are the files of"),
        ('{"neurons": []}', "1:1", "not well-formed XML"),
        ("<content>\n<x><id>x</id>\n</y></content>", "3:3", "mismatched tag"),
        ("<content>\n<x><id>x</id>", "2:14", "no element found"),
        ("<content></content>\n<content/>", "2:1", "junk after document element"),
        ("<content>\n <c'0/></content>", "2:4", "inside <content> (fix the syntax here; an id"),
        ("<content>\n&foo;</content>", "2:1", "undefined entity"),
        ("<content>\n\x00</content>", "2:1", "not well-formed XML"),
        ("<content>\n\ud800</content>", "2:1", "not well-formed XML"),
        # What is wrong is inside of a character of two bytes.
        ("<\x00\x00contst\x97</o</o\x1c1\n\x00", "1:10", "not well-formed XML"),
        (content("<x>" * 100), "2:61", "nested more than 20 deep"),
    ],
)  # fmt: skip
def test_files_that_are_refused(text, place, message):
    for reader in (read_xmp, read_factory_xml):
        found = findings(text, reader=reader)
        assert list(found) == [place]
        assert message in found[place]


BOMB = f"""<?xml version="1.0"?>
<!DOCTYPE content [
 <!ENTITY a "aaaaaaaaaa">
 {"".join(f'<!ENTITY {chr(c + 1)} "{f"&{chr(c)};" * 10}">' for c in range(97, 106))}
]>
<content><x><id>&j;</id></x></content>"""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (BOMB, "2:1"),
        ('<!DOCTYPE content SYSTEM "http://localhost:9/x.dtd"><content/>', "1:1"),
        ('<!DOCTYPE content [<!ENTITY x SYSTEM "file:///etc/x">]><content>&x;</content>', "1:1"),
        ('\n<!DOCTYPE content [<!ENTITY % x SYSTEM "http://localhost:9/"> %x;]><content/>', "2:1"),
        ("<!DOCTYPE content><content/>", "1:1"),
    ],
)  # fmt: skip
def test_document_types_are_refused(text, place):
    found = findings(text)
    assert list(found) == [place] and "a document type declaration" in found[place]


@pytest.mark.parametrize("length", range(1, len(PAIR) - 12, 13))
def test_truncated_files(tmp_path, length):
    path = tmp_path / "a.xmp"
    path.write_text(PAIR[:length])
    with pytest.raises(ReadError, match=r"a\.xmp:\d+:\d+: not well-formed XML") as caught:
        snp.read(path)
    assert len(caught.value.diagnostics) == 1  # none about neurons that are not there any more


def test_level():
    text, places = marked(
        content(
            neuron(
                "x",
                "<out>§x</out><out>y</out><outWeights><y>§2</y></outWeights>",
                "a/a->§2a;0 §2a+/3a->0;0",
            ),
            neuron("y"),
        )
    )
    assert parse(text).level == "extended"
    found = findings(text, level="strict")
    assert set(found) == places
    messages = iter(found.values())
    assert "leads to its own neuron" in next(messages)
    assert "has weight 2" in next(messages)
    assert "produces 2 but consumes 1" in next(messages)
    assert "of a forgetting rule is not exactly" in next(messages)


def test_sizes_are_bounded(monkeypatch):
    monkeypatch.setattr(elements, "MAX_CHARACTERS", len(PAIR))
    assert parse(PAIR) == PAIR_SYSTEM
    found = findings(PAIR + "\n")
    assert list(found) == ["1:1"] and f"more than the {len(PAIR)} of XML" in found["1:1"]


def test_input_entries_are_bounded(monkeypatch):
    text = content(
        source_node("i", "1,1,1", ("x", 1), ("y", 1)),
        source_node("j", "1,1", ("x", 1)),
        neuron("x"),
        neuron("y"),
    )
    monkeypatch.setattr(environment, "MAX_INPUT_ENTRIES", 8)
    assert parse(text).input == {"x": (2, 2, 1), "y": (1, 1, 1)}
    monkeypatch.setattr(environment, "MAX_INPUT_ENTRIES", 7)
    found = findings(text)
    assert list(found) == ["3:68"] and "more than 7 entries" in found["3:68"]


def test_findings_are_bounded(monkeypatch):
    monkeypatch.setattr("snpjax.io.source.MAX_FINDINGS", 100)
    found = findings(content(*["<x/>"] * 1000))
    assert len(found) == 100 and list(found)[-1] == "101:1"
    weights = "".join(f"<n{i}>1</n{i}>" for i in range(1000))
    text = content(neuron("x", f"<outWeights>{weights}</outWeights>"))
    assert len(findings(text, ReadWarning)) == 100


def test_neurons_without_id_are_not_repetitions():
    found = findings(content("<x/>", "<x/>", neuron("y", "<out>x</out><out>z</out>")))
    assert list(found) == ["2:1", "3:1"]  # z may be one of them


def test_hints_of_long_names_take_no_time():
    long = "ab" * 500
    text = content(
        *(neuron(f"{long[:-2]}{i}") for i in range(10)), neuron("x", f"<out>{long}</out>")
    )
    assert "there is no neuron" in findings(text)["12:19"]


# Random systems


@st.composite
def guards(draw, dialect):
    """The text of a guard, and the guard by the table of the specification."""
    k, m = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    count = "a" if k == 1 else f"{k}a"
    group = "(a)" if m == 1 else f"({m}a)"
    factory = dialect == "factory"
    return draw(
        st.sampled_from(
            [
                (count, Guard.exactly(k)),
                ("a" * k, Guard.exactly(k)),
                (count + "+", Guard.exactly(k).repeat(1) if factory else Guard.interval(k)),
                (count + "*", Guard.exactly(k).star() if factory else Guard.interval(k - 1)),
                (count + group + "*", Guard.from_normal_form((), k, m, (k,))),
                (count + group + "+", Guard.from_normal_form((), k + m, m, (k + m,))),
                (group + "*", Guard.from_normal_form((), 0, m, (0,))),
            ]
        )
    )


@st.composite
def drawings(draw, dialect):
    """The text of a file and the system it describes."""
    names = [f"n{i}-{draw(st.text('ab_', max_size=3))}" for i in range(draw(st.integers(0, 5)))]
    trains = draw(st.dictionaries(st.sampled_from(names or [""]), st.lists(st.integers(0, 12))))
    trains = {name: train for name, train in trains.items() if name}
    outputs = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    nodes, neurons, synapses = [], [], []
    for name in names:
        rules, texts = [], []
        for _ in range(draw(st.integers(0, 3))):
            consume, produce = draw(st.integers(1, 3)), draw(st.integers(0, 3))
            delay = draw(st.integers(0, 2)) if produce else 0
            text, guard = draw(guards(dialect))
            sent = f"{produce}a" if produce > 1 else "a" if produce else "0"
            texts.append(f"{text}/{consume if consume > 1 else ''}a->{sent};{delay}")
            rules.append(Rule(guard, consume, produce, delay))
        spikes = draw(st.integers(0, 9))
        neurons.append(Neuron(name, spikes, rules))
        targets = draw(st.lists(st.sampled_from(names), unique=True))
        weights = {target: draw(st.integers(1, 3)) for target in targets}
        synapses += [(name, target, weight) for target, weight in weights.items()]
        written = {t: w for t, w in weights.items() if w != 1 or draw(st.booleans())}
        weights_text = "".join(f"<{t}>{w}</{t}>" for t, w in written.items())
        out = "".join(f"<out>{t}</out>" for t in (*targets, *(["o"] if name in outputs else [])))
        start = "startingSpikes" if dialect == "websnapse" else "spikes"
        inside = f"<{start}>{spikes}</{start}>{out}<outWeights>{weights_text}</outWeights>"
        nodes.append(neuron(name, inside, " ".join(texts)))
    for name, train in trains.items():
        nodes.append(source_node(f"in-{name}", ",".join(map(str, train)), (name, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = SpikingSystem(
            neurons,
            synapses,
            input=trains,
            output=[name for name in names if name in outputs],
        )
    return content(*nodes, neuron("o", OUTPUT)), system


def check_drawing(drawing, reader):
    text, system = drawing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        assert reader(Source("f", text), "extended") == system


@given(drawings("websnapse"))
def test_random_systems(drawing):
    check_drawing(drawing, read_xmp)


@given(drawings("factory"))
def test_random_systems_of_the_factory(drawing):
    check_drawing(drawing, read_factory_xml)


@pytest.mark.slow
@settings(max_examples=many(2000))
@given(drawings("websnapse"), drawings("factory"))
def test_many_random_systems(drawing, factory_drawing):
    check_drawing(drawing, read_xmp)
    check_drawing(factory_drawing, read_factory_xml)


@given(st.text("<>/&;'\"!-?[]ax1 \n") | st.binary().map(lambda b: b.decode("latin-1")))
def test_any_text_gives_a_system_or_a_read_error(text):
    for inside in (
        text,
        content(text),
        content(neuron("x", text)),
        content(neuron("x", rules=text)),
    ):
        for reader in (read_xmp, read_factory_xml):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ReadWarning)
                try:
                    system = reader(Source("f", inside), "extended")
                except ReadError as error:
                    assert error.diagnostics and all(d.line for d in error.diagnostics)
                else:
                    assert isinstance(system, SpikingSystem)
