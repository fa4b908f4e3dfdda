"""WebSnapse JSON: every sample gives its published run, rules, names, mistakes, and writing."""

import json
import re
import warnings
from dataclasses import fields

import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import BuddingRule, DivisionRule, Guard, Neuron, PlasticityRule, Rule, SpikingSystem
from snpjax.io import ReadError, ReadWarning, WriteError, WriteWarning
from snpjax.io.losses import Losses
from snpjax.io.source import Source
from snpjax.io.websnapse import (
    read_factory_yaml,
    read_websnapse,
    write_factory_yaml,
    write_websnapse,
)
from snpjax.io.websnapse.guard_text import rule_text
from snpjax.io.websnapse.labels import label_key
from snpjax.io.websnapse.rules import parse_rule_text
from snpjax.testing import dividing_systems, guards, plastic_systems, reference, rules, systems
from snpjax.testing.reference_graph import explore
from tests.support.helpers import (
    SHARED,
    assert_runs_down_the_chain,
    case_neurons,
    case_system,
    load_cases,
    many,
    needs_shared,
)


PAIR = r"""{
"neurons": [
   {"id": "p", "type": "regular", "position": {"x": 0, "y": 0}, "content": 2,
    "rules": ["a^{2}/a\\to a;1", "a\\to\\lambda"]},
   {"id": "q", "type": "regular", "position": {"x": 150, "y": 0.5}, "content": 1,
    "rules": ["a\\to a;0", "a^{2}\\to\\lambda"]},
   {"id": "out", "type": "output", "position": {"x": 300, "y": 0}, "content": ""}],
"synapses": [{"from": "p", "to": "q", "weight": 1}, {"from": "q", "to": "p", "weight": 1.0},
   {"from": "q", "to": "out", "weight": 1}]}
"""

PAIR_SYSTEM = SpikingSystem(
    [Neuron("p", 2, ["a^2/a -> a; 1", "a -> lambda"]), Neuron("q", 1, ["a -> a", "a^2 -> lambda"])],
    [("p", "q"), ("q", "p")],
    output="q",
)


def parse(text, level="extended"):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_websnapse(Source("model.json", text), level)


def findings(text, kind=ReadError, level="extended"):
    """`line:column` and message of every error, or of every warning."""
    if kind is ReadError:
        with pytest.raises(ReadError) as caught:
            parse(text, level)
        found = caught.value.diagnostics
    else:
        with pytest.warns(ReadWarning) as caught:
            read_websnapse(Source("model.json", text), level)
        (warning,) = caught
        found = warning.message.diagnostics
    return {f"{d.line}:{d.column}": d.message for d in found}


def quiet(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        return read_websnapse(Source("model.json", text), "extended")


def neuron(name, rules=(), content: object = 0, **more):
    return {"id": name, "type": "regular", "content": content, "rules": list(rules), **more}


def model(*neurons, synapses=(), **more):
    """A file with the top-level keys and every neuron and synapse on lines of their own.

    The first neuron is on line 2, the first synapse two lines after the last neuron.
    """
    wires = [s if isinstance(s, dict) else dict(zip(KEYS, s, strict=False)) for s in synapses]
    lines = [",\n".join(map(dumped, items)) for items in (neurons, wires)]
    rest = "".join(f",\n{dumped(key)}: {dumped(value)}" for key, value in more.items())
    return f'{{"neurons": [\n{lines[0]}\n], "synapses": [\n{lines[1]}\n]{rest}}}'


KEYS = ("from", "to", "weight")


def dumped(value):
    """JSON with marks: § stands inside of texts, `"§:7"` is a marked 7, `"§^x"` a marked "x"."""
    text = json.dumps(value, ensure_ascii=False)
    text = re.sub(r'"§:([^"]*)"', lambda match: "§" + match[1].replace("'", '"'), text)
    return text.replace('"§^', '§"')


def marked(text):
    """The text without its marks, and the places of the marks."""
    places = []
    while (at := text.find("§")) >= 0:
        places.append(f"{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}")
        text = text[:at] + text[at + 1 :]
    return text, places


def check_places(text, *messages, kind=ReadError, level="extended"):
    """The findings stand exactly at the marks, with these messages in order."""
    text, places = marked(text)
    found = findings(text, kind, level)
    assert list(found) == places
    for message, whole in zip(messages, found.values(), strict=True):
        assert message in whole
    return text


# Samples


def sample(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return snp.read(SHARED / "samples" / name)


def published(name):
    return json.loads((SHARED / "cases/websnapse" / name).read_text())


def assert_same_system(system, case):
    """The system and its environment are those of a published case."""
    given = SpikingSystem(case_neurons(case), [tuple(s) for s in case["synapses"]])
    assert (system.neurons, system.synapses) == (given.neurons, given.synapses)
    inputs = system.notes.get("inputs", {})
    assert {name: entry["train"] for name, entry in inputs.items()} == case["inputs"]
    assert {name: entry["targets"] for name, entry in inputs.items()} == case["input_targets"]
    assert system.notes.get("outputs", {}) == case["outputs"]
    sources = [source for recorder in case["outputs"].values() for source, _ in recorder]
    assert system.output == tuple(dict.fromkeys(sources))


def assert_same_trace(system, case):
    """The run by the first applicable rules is the published one, arrivals outside included."""
    assert_same_system(system, case)
    run = case["run"]
    halts = run["halt_step"] is not None
    computation = reference.run(system, max_steps=run["steps"] + 10 * halts)
    assert computation.halted == halts and computation.steps == run["steps"]
    assert [list(c.spikes) for c in computation.configurations] == run["spikes"]
    assert [list(c.timers) for c in computation.configurations] == run["timers"]
    assert [list(choice) for choice in computation.choices] == run["rules"]
    for recorder, arrivals in run["environment"].items():
        assert arrivals == [arrived(system, row)[recorder] for row in computation.emissions]


def assert_same_graph(system, case):
    """All that can happen is what is published."""
    assert_same_system(system, case)
    given = case["graph"]
    graph = explore(system, max_configurations=given["configurations"])
    assert graph.num_expanded == len(graph.configurations) == given["configurations"]
    rows = zip(given["spikes"], given["timers"], given["pending"], strict=True)
    expected = [tuple(map(tuple, row)) for row in rows]
    reached = [configuration[:3] for configuration in graph.configurations]
    assert set(reached) == set(expected)
    edges = {
        (reached[a], choice, tuple(arrived(system, emitted).items()), reached[b])
        for a, choice, emitted, b in graph.edges
    }
    assert len(graph.edges) == given["choice_vectors"]
    assert edges == {
        (expected[a], tuple(choice), tuple(arrivals.items()), expected[b])
        for a, b, choice, arrivals in given["edges"]
    }


def arrived(system, emitted):
    """What arrives at each output node when the neurons emit this."""
    return {
        recorder: sum(weight * emitted[system.names[source]] for source, weight in sources)
        for recorder, sources in system.notes.get("outputs", {}).items()
    }


TRACES = {
    "bit_adder_7_11": "wsr_bit_adder_7_11",
    "bit_adder_30_31_32_33": "wsr_bit_adder_30_31_32_33",
    "comparator_4_2": "wsr_comparator_4_2",
    "xor_0_1": "wsr_boolean_function_xor_0_1",
    "decrement_20": "wsr_decrement_020",
    "complete_8": "wsr_complete_008",
}
GRAPHS = {
    "increment_20": "wsr_increment_020",
    "multiples_of_2": "wsr_multiples_of_002",
    "multiples_of_16": "wsr_multiples_of_016",
    "subset_sum_5_5": "wsr_subset_sum_5_5",
}


@needs_shared
@pytest.mark.parametrize("name", TRACES)
def test_sample_gives_its_trace(name):
    assert_same_trace(sample(f"websnapse/{name}.json"), published(f"traces/{TRACES[name]}.json"))


@needs_shared
@pytest.mark.parametrize("name", GRAPHS)
def test_sample_gives_its_graph(name):
    assert_same_graph(sample(f"websnapse/{name}.json"), published(f"graphs/{GRAPHS[name]}.json"))


@needs_shared
def test_one_spike_runs_down_the_chain():
    assert_runs_down_the_chain(sample("websnapse/one_chain_10.json"))


@needs_shared
def test_the_sample_without_its_neurons_is_refused_naming_them():
    with pytest.raises(ReadError) as caught:
        sample("websnapse/bit_adder_empty.json")
    assert [(d.line, d.column) for d in caught.value.diagnostics] == [
        *((15, 15), (16, 13), (20, 15), (25, 15))
    ]
    assert "there is no neuron 'in_{0}' (the only one is 'out')" in str(caught.value)


@needs_shared
def test_division_sample():
    """The system of Wang, Hoogeboom and Pan; the published case has its own names."""
    system = sample("websnapse/sat_2_2_division.json")
    case = json.loads((SHARED / "cases/spiking/sat_division_only_n2_m2.json").read_text())
    assert dict(system.input) == {name: tuple(x) for name, x in case["input"].items()}
    assert list(system.output) == case["output"]
    ours = {n.name.replace("_", ""): n for n in system.neurons}
    theirs = {n.name: n for n in case_neurons(case)}
    assert ours.keys() == theirs.keys()
    for name, neuron in theirs.items():
        assert ours[name].spikes == neuron.spikes
        renamed = {without_underscores(rule) for rule in ours[name].rules}
        assert renamed == set(neuron.rules)
    for label in ("d_1", "d_2", "h_1", "h_2", "Cx_1", "Cx_2", "Cx_11", "Cx_10", "Cx_21", "Cx_20"):
        entries = case["rules_by_label"][label.replace("_", "")]
        (expected,) = case_neurons({"neurons": [{"id": "x", "spikes": 0, "rules": entries}]})
        found = {without_underscores(rule) for rule in system.rules_by_label[label]}
        assert found == set(expected.rules)
    synapses = {(s.replace("_", ""), t.replace("_", "")) for s, t, _ in system.synapses}
    assert synapses == {(s, t) for s, t, _ in case["synapses"]}
    assert ("Cx_21", "t_2t_1") in system.dictionary and ("d_2", "d_1") in system.dictionary
    assert len(system.dictionary) == 16
    assert system.notes["positions"]["ISP"] == [0, 0]


def without_underscores(rule):
    if not isinstance(rule, DivisionRule):
        return rule
    return DivisionRule(rule.guard, rule.left.replace("_", ""), rule.right.replace("_", ""))


@needs_shared
@pytest.mark.parametrize("name", ["input_bit_adder", "2n_generator", "combined_output"])
def test_old_samples_are_read_with_a_warning(name):
    path = SHARED / f"samples/websnapse/old_{name}.json"
    with pytest.warns(ReadWarning, match='this is the old schema of WebSnapse, with "nodes"'):
        system = snp.read(path)
    expected = json.loads(path.read_text()).get("expected")
    assert system.notes.get("expected") == expected
    if name == "input_bit_adder":
        assert dict(system.input) == {"reg1": (2, 0, 0, 0)} and system.output == ("reg1",)
        emitted = [row[0] for row in reference.run(system, max_steps=9).emissions]
        assert "".join(map(str, emitted)).strip("0") == expected[-1].strip("0") == "11"
    elif name == "2n_generator":
        assert_same_neurons(system, published("graphs/wsr_multiples_of_002.json"))
    else:
        train = [1, 0, 0, 0, 1, 0, 0, 1]
        assert system.neurons == () and not system.input
        assert system.notes["direct"] == {"out": {"in1": train, "in2": train}}


def assert_same_neurons(system, case):
    rules = [neuron.rules for neuron in case_neurons(case)]
    assert [neuron.rules for neuron in system.neurons] == rules


CASES = [
    *load_cases("websnapse/traces", schema="snpjax-trace/1"),
    *load_cases("websnapse/graphs", schema="snpjax-graph/1"),
]


@pytest.mark.parametrize("case", CASES)
def test_published_rule_texts(case):
    """As their files write them; WebSnapse 1 and 2 write another language."""
    for entry, neuron in zip(case["neurons"], case_neurons(case), strict=True):
        for written, rule in zip(entry["rules"], neuron.rules, strict=True):
            if "->" not in written.get("text", "->"):
                parsed = parse_rule_text(written["text"])
                assert (parsed.rule, parsed.errors, parsed.warnings) == (rule, [], [])
            again = parse_rule_text(rule_text(rule))
            assert (again.rule, again.errors, again.warnings) == (rule, [], [])


@pytest.mark.parametrize("case", CASES)
def test_published_systems_are_written_and_read(case, tmp_path):
    nodes = [
        *({"id": name, "type": "output", "content": ""} for name in case["outputs"]),
        *(
            {"id": name, "type": "input", "content": train}
            for name, train in case["inputs"].items()
        ),
    ]
    wires = [*case["synapses"]]
    for name, sources in case["outputs"].items():
        wires += [(source, name, weight) for source, weight in sources]
    for name, targets in case["input_targets"].items():
        wires += [(name, target, weight) for target, weight in targets]
    texts = [
        neuron(n.name, [rule_text(rule) for rule in n.rules], n.spikes) for n in case_neurons(case)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        system = read_websnapse(Source("f", model(*texts, *nodes, synapses=wires)), "extended")
        (assert_same_trace if "run" in case else assert_same_graph)(system, case)
        snp.write(system, tmp_path / "model.json", format="websnapse")
        again = snp.read(tmp_path / "model.json")
    assert again == system
    for key in ("inputs", "outputs"):
        assert again.notes.get(key) == system.notes.get(key)


# What is read


def test_pair(tmp_path):
    system = parse(PAIR)
    assert system == PAIR_SYSTEM
    assert system.notes == {
        "positions": {"p": [0, 0], "q": [150, 0.5], "out": [300, 0]},
        "outputs": {"out": [["q", 1]]},
    }
    (tmp_path / "pair.json").write_text(PAIR)
    assert snp.read(tmp_path / "pair.json") == PAIR_SYSTEM
    spikes = [c.spikes for c in reference.run(system, max_steps=9).configurations]
    assert spikes == [(2, 1), (1, 0), (1, 1), (1, 0), (0, 0)]


RULES = [
    (r"a\to a;0", Rule(None, 1, 1)),
    (r"a\to a", Rule(None, 1, 1)),  # the dynamic dialect
    (r"a^5/a^2\to a^2;3", Rule("a{5}", 2, 2, 3)),
    (r"a^{12}\rightarrow a^{10};2", Rule(None, 12, 10, 2)),
    (r" a ^ { 3 } / a ^ 2 \to a ; 10 ", Rule("a{3}", 2, 1, 10)),
    (r"aaa\to aa;0", Rule(None, 3, 2)),
    (r"a\to0", Rule(None, 1)),
    (r"a^{3} \to \lambda", Rule(None, 3)),
    (r"a^{4}/a\to\lambda", Rule("a{4}", 1)),
    (r"a^{*}/a\to a;0", Rule("a*", 1, 1)),
    (r"a^*/a\to a;0", Rule("a*", 1, 1)),
    (r"a^\ast/a\to a;0", Rule("a*", 1, 1)),
    (r"a^{\ast }/a\to a;0", Rule("a*", 1, 1)),
    (r"a^{+}/a\to a;0", Rule("a+", 1, 1)),
    (r"\left(a^2\right)^+/a\to a", Rule("(aa)+", 1, 1)),
    (r"a\left(aa\right)^{\ast}/a^{3}\to a;0", Rule("a(aa)*", 3, 1)),
    (r"(a|a^{3})/a\to a;0", Rule("a|a{3}", 1, 1)),
    (r"(a\cup a^{3}(a^{2})^{*})/a\to a;0", Rule("a(aa)*", 1, 1)),
    (r"(a^{2})^{3}/a\to a;0", Rule("a{6}", 1, 1)),
    (r"a\to a\ ;\ 2", Rule(None, 1, 1, 2)),
    (r"\left[a\to a;1 \right]", Rule(None, 1, 1, 1)),
    (r"a^{*}/a^{9999999}\to a^{123456789012};0", Rule("a*", 9999999, 123456789012)),
]


@pytest.mark.parametrize(("text", "rule"), RULES)
def test_rules(text, rule):
    assert parse(model(neuron("x", [text]))).rules == (rule,)


def test_guards_with_large_periods_are_not_joined():
    """To check for overlaps; their union would pass the limit of guards."""
    rules = [r"(a^{9973})^{*}/a\to a", r"(a^{1009})^{*}/a\to a", r"a\to\lambda"]
    assert parse(model(neuron("x", rules)), "strict").num_rules == 3
    check_places(
        model(neuron("x", [*rules, r"§^a^{1009}\to\lambda"])), "forgets 1009", level="strict"
    )


def test_two_digits_without_braces_are_one_number_with_a_warning():
    text = check_places(
        model(neuron("x", [r"a§^12/a\to a;0", r"§^a^12/a\to a;0", r"a^2/a\to a;0"])),
        "'^12' is read as 12 spikes, but WebSnapse Reloaded takes the first digit only",
        "repeats",  # the warning about a text is told once
        kind=ReadWarning,
    )
    assert quiet(text).rules[0] == Rule("a{12}", 1, 1)


def test_a_union_without_parentheses_is_a_union_with_a_warning():
    text = check_places(
        model(neuron("x", [r"(a|aa)a§|a^{5}\cup a/a\to a;0"])),
        "put it in parentheses",
        kind=ReadWarning,
    )
    assert quiet(text).rules == (Rule("a|a{2}|a{3}|a{5}", 1, 1),)


def test_numbers_may_be_written_in_several_ways():
    system = parse(
        model(
            *(neuron("x", content="12"), neuron("y", content=2.0), neuron("z", content=" 3 ")),
            synapses=[("x", "y", 2.0), ("y", "z", "3"), ("z", "x")],
        )
    )
    assert [n.spikes for n in system.neurons] == [12, 2, 3]
    assert [weight for _, _, weight in system.synapses] == [2, 3, 1]


def test_input_nodes_become_trains():
    one = {"id": "one", "type": "input", "content": "102"}
    two = {"id": "two", "type": "input", "content": [0, 12]}
    system = parse(
        model(
            *(neuron("x"), one, neuron("y"), two),
            {"id": "none", "type": "input", "content": ""},
            synapses=[("one", "x", 2), ("two", "x", 1), ("two", "y", 3), ("none", "y", 1)],
        )
    )
    assert dict(system.input) == {"x": (2, 12, 4), "y": (0, 36)}
    assert system.notes["inputs"] == {
        "one": {"train": [1, 0, 2], "targets": [["x", 2]]},
        "two": {"train": [0, 12], "targets": [["x", 1], ["y", 3]]},
        "none": {"train": [], "targets": [["y", 1]]},
    }


def test_output_nodes_name_their_sources_in_the_order_of_the_nodes():
    first, second = ({"id": x, "type": "output", "content": "12"} for x in ("first", "second"))
    text = check_places(
        model(
            *(neuron("x"), neuron("y"), first, second),
            synapses=[("x", "second", 1), ("y", "first", "§:3"), ("x", "first", 1)],
        ),
        "has weight 3, but an output lists",
        kind=ReadWarning,
    )
    assert quiet(text).output == ("y", "x")
    assert quiet(text).notes["outputs"] == {
        "first": [["y", 3], ["x", 1]],
        "second": [["x", 1]],
    }


def test_a_chain_from_input_to_output_is_kept_and_written_back(tmp_path):
    text = model(
        *(neuron("x"), {"id": "in", "type": "input", "content": "120"}),
        {"id": "out", "type": "output", "content": ""},
        synapses=[("in", "out", 3), ("in", "x", 1)],
    )
    found = findings(text, ReadWarning)
    assert list(found) == ["6:1"] and 'kept only in notes["direct"]' in found["6:1"]
    system = quiet(text)
    assert dict(system.input) == {"x": (1, 2, 0)} and system.output == ()
    assert system.notes["direct"] == {"out": {"in": [3, 6, 0]}}
    snp.write(system, tmp_path / "f.json", format="websnapse")
    with pytest.warns(ReadWarning, match="past all neurons"):
        again = snp.read(tmp_path / "f.json")
    assert again == system and again.notes["direct"] == system.notes["direct"]


def test_expected_is_a_note():
    expected = ["^1+$", 3, None, {"a": [1.5, True]}]
    assert parse(model(neuron("x"), expected=expected)).notes == {"expected": expected}
    assert parse(model(neuron("x"), expected=None)).notes == {}


def test_names_are_ordinary_text():
    names = ["x_{1,2}", "0,0", "{", ".", "", " é\n"]
    system = parse(model(*map(neuron, names), synapses=[("x_{1,2}", "{", 1), ("", ".", 1)]))
    assert [n.name for n in system.neurons] == names
    assert [s[:2] for s in system.synapses] == [("x_{1,2}", "{"), ("", ".")]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Cx_{11}", "Cx_11"),
        ("t_{2}t_{1}", "t_2t_1"),
        ("x_{a_{b}c}", "x_a_bc"),
        ("x_{{a}}", "x_{a}"),
        ("{x}", "{x}"),
        ("x_{1", "x_{1"),
        ("x_1}", "x_1}"),
        ("x_{1}}", "x_{1}}"),
    ],
)
def test_braces_around_subscripts_do_not_matter(name, key):
    assert label_key(name) == key


def test_a_name_may_be_spelled_in_two_ways():
    text = model(neuron("Cx_{11}"), neuron("y_1"), synapses=[("Cx_11", "y_{1}", 1)])
    assert parse(text).synapses == (("Cx_{11}", "y_1", 1),)
    both = model(neuron("x_{1}"), neuron("x_1"), synapses=[("x_1", "x_{1}", 1)])
    assert parse(both).synapses == (("x_1", "x_{1}", 1),)


# Division


DIVISION = r"\left[a^{2}\right]%s\to\left[\ \right]_{%s}\ ||\ \left[\ \right]_{%s}"


def test_division_in_the_list_of_a_neuron_and_in_the_dictionary():
    system = parse(
        model(
            neuron("i", [DIVISION % ("", "j_{1}", "k")]),
            neuron("q", [r"a\to a"]),
            synapses=[("i", "q", 1), ("j_1", "q", 1), ("k", "j_{1}", 1)],
            rule_dict=[
                DIVISION % ("_{j_1}", "i", "j_{1}"),
                r"\left[a\to a^2;3 \right]_{k}",
                r"\left[a\to\lambda\right]_k",
                r"\left[a\to a\right]_{q}",
            ],
        )
    )
    assert system == SpikingSystem(
        [Neuron("i", 0, [DivisionRule("a{2}", "j_{1}", "k")]), Neuron("q", 0, ["a -> a"])],
        [("i", "q")],
        dictionary=[("j_{1}", "q"), ("k", "j_{1}")],
        rules_by_label={
            "j_{1}": [DivisionRule("a{2}", "i", "j_{1}")],
            "k": ["a -> a^2; 3", "a -> lambda"],
        },
    )


def test_a_label_of_one_letter_needs_no_braces():
    rule = r"[a]\to[]_j||[]_k"
    assert parse(model(neuron("i", [rule]))).rules == (DivisionRule("a", "j", "k"),)
    older = r"\left[a\right]\to\left[\ \right]_{j}\ \left|\right|\ \left[\ \right]_{k}"
    assert parse(model(neuron("i", [older]))).rules == (DivisionRule("a", "j", "k"),)


def test_rules_belong_to_the_label():
    """A neuron without a list has the rules of its label; one that lacks some is told."""
    lists = [neuron("i", []), neuron("j", [r"a\to a"])]
    rule_dict = [r"§^\left[a\to\lambda\right]_{i,j}", r"\left[a\to a\right]_{j}"]
    text = check_places(
        model(*lists, rule_dict=rule_dict),
        "neuron 'j' has this rule too, although its own list lacks it",
        kind=ReadWarning,
    )
    assert [n.rules for n in quiet(text).neurons] == [
        (Rule(None, 1),),
        (Rule(None, 1, 1), Rule(None, 1)),
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (r"[a]\to[]_j§", "there is no || between"),
        (r"[a]\to[]_j §/ []_k", "not supported: budding"),
        (r"[a]\to§||[]_k", "there is no empty bracket"),
        (r"[a]\to[§a]_j||[]_k", "is not empty"),
        (r"[a]\to[§]||[]_k", "the new neuron has no label"),
        (r"[a]\to[]_{§}||[]_k", "the label is empty"),
        (r"[a]\to[]_§{j||[]_k", "the brace opened here"),
        (r"[a]\to[]_§||[]_k", "a label is missing"),
        (r"[a]\to[]_j||[]_k§;1", "';1' follows the rule"),
        (r"[a]§x", "'x' follows the rule"),
        (r"§[a\to a", "the bracket opened here is not closed"),
        (r"\left[a§b\right]\to[]_j||[]_k", "'b' is not part of a guard"),
        (r"[a\to a]_§j", "the rule of label 'j' stands in the list of neuron 'i'"),
    ],
)
def test_place_of_one_mistake_in_a_rule_of_division(rule, message):
    check_places(model(neuron("i", [rule])), message)


GROWING = neuron("i", [DIVISION % ("", "j", "k")])
O = {"id": "o", "type": "output"}  # noqa: E741


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (model(neuron("i"), rule_dict=[r"§^a\to a"]), "does not name its neuron"),
        (model(neuron("i"), rule_dict=[r"[a\to a]_§z"]), "no neuron 'z' (the only one is 'i')"),
        (model(neuron("i"), rule_dict="§:{}"), '"rule_dict" is an object'),
        (model(GROWING, synapses=[("j", "§^z", 1)]), "no neuron 'z'"),
        (model(GROWING, synapses=[("j", "k", "§:2")]), "has weight 2"),
        (model(GROWING, O, synapses=[("§^j", "o", 1)]), "no neuron has the label 'j' from the"),
        (
            model(neuron("i", [DIVISION % ("", "§o", "k")]), O),
            "the new neuron has the label of the output neuron 'o'",
        ),
        (model(GROWING, O, rule_dict=[r"[a\to a]_§o"]), "output neuron 'o' has rules"),
        (
            model(GROWING, neuron("x_1"), neuron("§^x_{1}")),
            "'x_1' is the same label (give each neuron its own name); first at 3:8",
        ),
    ],
)
def test_place_of_one_mistake_in_division(text, message):
    check_places(text, message)


def test_a_pair_of_labels_that_stands_twice():
    found = findings(model(GROWING, synapses=[("j", "k", 1), ("j", "k", 1)]))
    assert list(found) == ["5:1"] and "twice (remove one); first at 4:1" in found["5:1"]


# Mistakes


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("§", "there is no arrow"),
        ("a a§", "there is no arrow"),
        (r"a->a;0§", "there is no arrow"),
        (r"§\to a;0", "a number of spikes is missing"),
        (r"a\to §;0", "a number of spikes is missing"),
        (r"§b\to a;0", "'b' is not one number of spikes"),
        (r"a\to §2a;0", "'2a' is not one number of spikes"),
        (r"§a^{+}\to a;0", "is not one number of spikes"),
        (r"§a*2\to a;0", "is not one number of spikes"),
        (r"a\to a;§", "the delay is not a number of steps"),
        (r"a\to a;§x", "the delay is not a number of steps"),
        (r"a\to a; §-1", "the delay is not a number of steps"),
        (r"a\to a;§9999999999", "the delay is 'too large'"),
        (r"a\to a;§" + "9" * 99, "the delay is too large"),
        (r"a\to\lambda;§2", "a forgetting rule has no delay"),
        (r"§a^{0}\to a;0", "the number of spikes consumed is 0"),
        (r"§a^{9999999}\to a;0", "the guard needs"),
        (r"§a^{" + "9" * 99 + r"}\to a;0", "the number of spikes is too large"),
        (r"a§{2/a\to a;0", "the brace opened is not closed"),
        (r"a\left§(a/a\to a;0", "the parenthesis opened is not closed"),
        (r"a§b/a\to a;0", "'b' is not part of a guard"),
        (r"§/a\to a;0", "an expression is missing"),
    ],
)
def test_place_in_a_rule(rule, message):
    check_places(model(neuron("x", [rule])), message)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (r"a§\to a;0", r"there is no arrow: the quotes took the backslash (write it twice: \\to)"),
        (r"a§\rightarrow a;0", r"there is no arrow: the quotes took the backslash"),
        (r"a\\to§\lambda", r"Invalid \escape (write a backslash twice: \\)"),
    ],
)
def test_backslashes_that_stand_once(written, message):
    """LaTeX pasted into JSON."""
    check_places(model(neuron("x", ["rule"])).replace('"rule"', f'"{written}"'), message)


def test_all_parts_of_a_rule_are_told():
    """A guard that does not parse does not hide what is wrong with the numbers."""
    text = model(neuron("x", [r"a§b/a\to §a^{2};0"]))
    check_places(text, "'b' is not part of a guard", "produces 2 but consumes 1", level="strict")


def test_level():
    text = model(
        neuron("x", [r"a\to §a^{2};0"]), neuron("y"), synapses=[("x", "x"), ("x", "y", "§:2")]
    )
    assert parse(marked(text)[0]).level == "extended"
    text = text.replace('{"from": "x", "to": "x"}', '§{"from": "x", "to": "x"}')
    check_places(text, "produces 2", "leads to its own", "has weight 2", level="strict")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[1]", "1:1", "this is a list (a WebSnapse model has"),
        ('{"schema": "snpjax/1"}', "1:1", "there is no \"neurons\" among the keys 'schema'"),
        ('{"neurons": []}', "1:1", 'there is no "synapses"'),
        ('{"neurons": [], "nodes": [], "synapses": []}', "1:17", 'both "neurons" and "nodes"'),
        ('{"neurons": [], "edges": [], "synapses": []}', "1:17", 'both "synapses" and "edges"'),
        ('{"neurons": 1, "synapses": []}', "1:13", '"neurons" is 1 (write a list'),
        ('{"neurons": [], "synapses": [], "x": 1}', "1:33", "unknown key 'x'"),
        ('{"neurons": [],\n "synapses": [}', "2:15", "not well-formed JSON"),
        ('{"neurons": []', "1:15", "not well-formed JSON"),
        ("[" * 100_000, "1:101", "nested more than 100 deep"),
        ('{"neurons": [], "synapses": [], "expected": [NaN]}', "1:46", "a note is NaN"),
        ('{"neurons": [], "synapses": [], "expected": 1e999}', "1:45", "a note is 1e999"),
        (
            '{"neurons": [], "synapses": [], "expected": %s}' % ("[" * 200 + "]" * 200),
            "1:144",
            "nested more than 100",
        ),
    ],
)
def test_not_a_model(text, place, message):
    found = findings(text)
    assert list(found) == [place], found
    assert message in found[place]


INPUT = {"id": "in", "type": "input", "content": "1"}
OUTPUT = {"id": "out", "type": "output", "content": ""}
X = neuron("x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (model("§:7"), "the neuron is 7"),
        (model("§:{'type': 'output'}"), 'the neuron has no "id"'),
        (model("§:{'id': 'x'}"), 'the neuron has no "type"'),
        (model("§:{'id': 'x', 'type': 'regular'}"), 'the neuron has no "content"'),
        (model("§:{'id': 'x', 'type': 'input'}"), 'the input neuron has no "content"'),
        (model({"id": "§:1", "type": "output"}), "the id of a neuron is 1"),
        (model({"id": "x", "type": "§^relay"}), "the type of a neuron is 'relay'"),
        (model({"id": "x", "type": "output", "§^delay": 1}), "unknown key 'delay'"),
        (model(neuron("x", content="§:-1")), "starts with -1 spikes"),
        (model(neuron("x", content="§^a")), "the number of spikes is 'a'"),
        (model(neuron("x", content="§^")), "the number of spikes is ''"),
        (model(neuron("x", content="§^" + "9" * 50)), "the number of spikes is '999"),
        (model(neuron("x", content="§:1.5")), "the number of spikes is 1.5"),
        (model(neuron("x", content="§:1e300")), "the number of spikes is 1e+300"),
        (model(neuron("x", content="§:true")), "the number of spikes is true"),
        (model(neuron("x", content="§:null")), "the number of spikes is null"),
        (model(neuron("x", position="§:[1, 2]")), '"position" is a list'),
        (model(neuron("x", position={"x": "§^1", "y": 0})), "\"x\" is '1' (write a number)"),
        (model(neuron("x", ["§:7"])), "a rule is 7"),
        (model(X | {"rules": "§^a"}), "the list of rules is 'a'"),
        (model(INPUT | {"content": "§:110"}), "the train of an input neuron is 110, not quoted"),
        (model(INPUT | {"content": "0§ 1"}), "' ' in the train of an input neuron"),
        (model(INPUT | {"content": "1§,0"}), "',' in the train of an input neuron"),
        (model(INPUT | {"content": [1, "§:-1"]}), "a number of input spikes is -1"),
        (model(INPUT | {"content": [1, "§^x"]}), "a number of input spikes is 'x'"),
        (model(X, neuron("§^x")), "'x' is declared twice (give each neuron its own name); first"),
        (model(X, synapses=[{"from": "x", "to": "x", "§^label": 1}]), "unknown key 'label'"),
        (model(X, synapses=[("x", "§:1")]), '"to" of a synapse is 1'),
        (model(X, synapses=[("x", "§^y", 1)]), "there is no neuron 'y' (the only one is 'x')"),
        (model(X, synapses=[("x", "x", "§:0")]), "has weight 0"),
        (model(X, synapses=[("x", "x", "§:1.5")]), "the weight of a synapse is 1.5"),
        (model(X, synapses=[("x", "x", "§:-1")]), "has the negative weight -1"),
        (model(X, INPUT, synapses=[("x", "§^in", 1)]), "enters the input node 'in'"),
        (model(X, OUTPUT, synapses=[("§^out", "x", 1)]), "leaves the output node 'out'"),
    ],
)
def test_place_of_one_mistake(text, message):
    check_places(text, message)


@pytest.mark.parametrize("node", [INPUT, OUTPUT])
def test_only_regular_neurons_have_rules(node):
    check_places(
        model({**node, "rules": "§:['a']"}).replace('"a"', r'"a\\to a"'),
        f"{node['type']} neuron {node['id']!r} has rules",
    )
    parse(model({**node, "rules": []}))


@pytest.mark.parametrize(
    ("synapses", "place", "message"),
    [
        (['{"from": "x"}'], "4:1", 'the synapse has no "to"'),
        (["7"], "4:1", "the synapse is 7"),
        (['{"from": "x", "to": "x"}'] * 2, "5:1", "is listed twice (write one synapse with a"),
    ],
)
def test_place_of_a_whole_synapse(synapses, place, message):
    text = model(X).replace("[\n\n]", "[\n" + ",\n".join(synapses) + "\n]")
    found = findings(text)
    assert list(found) == [place] and message in found[place]


def test_all_mistakes_are_told_together():
    text = model(
        neuron("x", [r"§b\to a;0", r"a\to §c;0"], "§^two"),
        {"id": "y", "type": "regular", "content": "§:-1", "rules": [r"a\to\lambda;§1"]},
        synapses=[("x", "§^z", 1), ("y", "y", "§:0")],
    )
    check_places(
        text,
        *("the number of spikes is 'two'", "'b' is not", "'c' is not", "starts with -1 spikes"),
        *("has no delay", "there is no neuron 'z'", "has weight 0"),
    )


def test_a_name_that_is_missing_hides_unknown_names():
    text = model({"type": "regular"}, synapses=[("x", "y", 1)])
    assert list(findings(text)) == ["2:1"]


def test_keys_that_stand_twice():
    text = PAIR.replace('"id": "p", ', '"id": "p", "id": "r", ')
    (message,) = [m for m in findings(text).values() if "twice" in m]
    assert message == "the key 'id' appears twice in the neuron (remove one); first at 3:5"


def test_trains_are_bounded(monkeypatch):
    monkeypatch.setattr("snpjax.io.websnapse.values.MAX_INPUT_ENTRIES", 5)
    second = {"id": "b", "type": "input", "content": "§^111"}
    check_places(model(X, INPUT | {"content": "111"}, second), "more than 5 entries")


def test_long_rules_are_refused_unparsed():
    text = model(neuron("x", ["§" + "a^11" * 100_000]))
    check_places(text, "the rule has more than 100000 characters")


@pytest.mark.parametrize("length", range(0, len(PAIR) - 2, 17))
def test_truncated_files(length):
    with pytest.raises(ReadError):
        parse(PAIR[:length] or " ")


values = st.recursive(
    st.sampled_from([None, True, 0, -1, 1.5, "x", r"a\to a", r"[a]_p\to[]_q||[]_x", "", 10**30]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "type", "rules", "from", "x"]), inner)
    ),
    max_leaves=4,
)


@given(st.data())
def test_values_of_wrong_types_raise_nothing_but_read_errors(data):
    decoded = json.loads(PAIR)
    decoded["rule_dict"] = [r"\left[a\to a\right]_{p}"]
    node, key, inner = None, None, decoded
    while isinstance(inner, dict | list) and inner and (node is None or data.draw(st.booleans())):
        node = inner
        keys = list(inner) if isinstance(inner, dict) else range(len(inner))
        key = data.draw(st.sampled_from(keys))
        inner = node[key]
    node[key] = data.draw(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        try:
            read_websnapse(Source("f", json.dumps(decoded, indent=1)), "extended")
        except ReadError as error:
            assert error.diagnostics


# Writing


JSON = write_websnapse, read_websnapse
YAML = write_factory_yaml, read_factory_yaml


def write(system, level="extended", format=JSON):
    """The text, and the system that it gives; nothing may be lost."""
    writer, reader = format
    losses = Losses("f")
    text = writer(system, losses)
    assert losses.items == []
    if format is JSON:
        json.loads(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        return text, reader(Source("f", text), level)


PAIR_WRITTEN = r"""{
  "neurons": [
    {"id": "p", "type": "regular", "position": {"x": 0, "y": 0}, "content": 2, "rules": ["a^{2}/a\\to a;1", "a\\to\\lambda"]},
    {"id": "q", "type": "regular", "position": {"x": 150, "y": 0}, "content": 1, "rules": ["a\\to a;0", "a^{2}\\to\\lambda"]},
    {"id": "out_q", "type": "output", "position": {"x": 300, "y": 0}, "content": ""}
  ],
  "synapses": [
    {"from": "p", "to": "q", "weight": 1},
    {"from": "q", "to": "p", "weight": 1},
    {"from": "q", "to": "out_q", "weight": 1}
  ]
}
"""  # noqa: E501


def test_pair_is_written_as_its_authors_do():
    text, again = write(PAIR_SYSTEM)
    assert again == PAIR_SYSTEM
    assert text == PAIR_WRITTEN


def test_notes_are_written_back():
    system = parse(PAIR.replace("]}\n", '], "expected": [1, "x"]}\n'))
    text, again = write(system)
    assert again == system and again.notes == system.notes
    assert '"id": "out", "type": "output", "position": {"x": 300, "y": 0}' in text


@pytest.mark.parametrize(
    "notes",
    [
        {"positions": 1, "inputs": 2, "outputs": 3, "direct": 4},
        {"positions": {"x": ["0", 1]}, "inputs": {"a": 1}, "outputs": {"a": 1}},
        {"positions": {"x": [float("inf"), 1]}, "outputs": {"x": [["x", 1]]}},
        {"outputs": {"o": [["z", 1]]}, "inputs": {"i": {"train": [1], "targets": [["z", 1]]}}},
        {"outputs": {"o": [["x", 0]]}, "inputs": {"i": {"train": [12], "targets": [["x", 0]]}}},
        {"inputs": {"i": {"train": [-12], "targets": [["x", -1]]}}, "direct": {"out_x": 1}},
        {"inputs": {"i": {"train": [6, 1], "targets": [["x", 2]]}}, "direct": {"out_x": {"i": 1}}},
        {"inputs": {"i": {"train": "12", "targets": "x"}}, "outputs": {"o": ["x1"]}},
    ],
)
def test_notes_that_say_another_thing_are_not_used(notes):
    system = SpikingSystem([Neuron("x")], input={"x": [12]}, output="x", notes=notes)
    text, again = write(system)
    assert again == system
    assert '"id": "in_x"' in text and '"id": "out_x"' in text


def test_more_than_nine_spikes_a_step_come_from_one_input_node_a_decimal_place():
    system = SpikingSystem([Neuron("x"), Neuron("in_x")], input={"x": [7, 120, 3], "in_x": []})
    text, again = write(system)
    assert again == system
    found = {n["id"]: n.get("content") for n in json.loads(text)["neurons"] if n["type"] == "input"}
    assert found == {"in_x'": "703", "in_x'_10": "020", "in_x'_100": "010", "in_in_x": ""}
    weights = {s["from"]: s["weight"] for s in json.loads(text)["synapses"]}
    assert weights == {"in_x'": 1, "in_x'_10": 10, "in_x'_100": 100, "in_in_x": 1}


@pytest.mark.parametrize(
    "system",
    [
        SpikingSystem([]),
        SpikingSystem([Neuron('é\n"\\\u2028', 10**15)], output='é\n"\\\u2028'),
        SpikingSystem([Neuron("x"), Neuron("y")], [("x", "x", 5), ("x", "y")], output=["y", "x"]),
        SpikingSystem([Neuron("x_{1}"), Neuron("x_1")], [("x_1", "x_{1}")], output="x_1"),
        SpikingSystem([Neuron("x", 1, ["a -> a"])], level="strict", input={"x": [0, 0]}),
        SpikingSystem([Neuron("out_x"), Neuron("x"), Neuron("in_x")], output="x", input={"x": [1]}),
        SpikingSystem(
            [Neuron("i,1", 1, [DivisionRule("a+", "j_{1}", "i,1"), "a^2 -> a"]), Neuron("q")],
            [("i,1", "q", 3)],
            dictionary=[("j_{1}", "q"), ("q", "j_{1}")],
            rules_by_label={"j_{1}": ["a -> a^3; 2", DivisionRule("a(aa)*", "q", "k")]},
            input={"i,1": [1, 2]},
            output="q",
        ),
    ],
)
def test_systems_are_written_and_read(system, tmp_path):
    assert write(system, system.level)[1] == system
    snp.write(system, tmp_path / "m.json", format="websnapse")
    assert snp.read(tmp_path / "m.json", level=system.level, format="websnapse") == system


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_published_cases_are_written_and_read(case):
    if case["theme"] == "invalid" or case["variant"] not in ("static", "division-budding"):
        pytest.skip(f"not in WebSnapse: {case['theme']}, {case['variant']}")
    check_case(case_system(case), write_websnapse, read_websnapse)


def check_case(system, writer, reader):
    """Every case is written and read again, but for its name and for budding."""
    losses = Losses("f")
    text = writer(system, losses)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        again = reader(Source("f", text), "extended")
    rules = (*system.rules, *(rule for its in system.rules_by_label.values() for rule in its))
    assert bool(losses.items) == any(isinstance(rule, BuddingRule) for rule in rules)
    if not losses.items:
        compared = [f.name for f in fields(system) if f.compare and f.name != "name"]
        assert all(getattr(again, name) == getattr(system, name) for name in compared)


LOSSES = [
    (
        SpikingSystem([Neuron("x", -4)], [("x", "x", -2)], signed=True, input={"x": [0, -1]}),
        [
            "counts below 0 (signed=True) (written without it)",
            "the -4 spikes of neuron 'x' (written as 0)",
            "synapse (x, x) with weight -2 (left out)",
            "input below 0 of neuron 'x' (written as 0)",
        ],
    ),
    (
        SpikingSystem([Neuron("x", 0, ["a -> a", BuddingRule("a", "j")])]),
        ["the budding rule [a] -> [] / []_j of neuron 'x', rule 2 (left out)"],
    ),
    (
        SpikingSystem([Neuron("x", 0, [PlasticityRule("a", 1, "+", 1, ["y"])]), Neuron("y")]),
        ["the plasticity rule a -> +1 {y} of neuron 'x', rule 1 (left out)"],
    ),
    (
        SpikingSystem([Neuron("x", label="y")]),
        ["label 'y' of neuron 'x' (its name is its label)"],
    ),
    (
        # Only a label that nothing makes would make k.
        SpikingSystem(
            [Neuron("x")],
            rules_by_label={"j": [DivisionRule("a", "k", "k")]},
            dictionary=[("x", "k")],
        ),
        [
            "the rules of label 'j', which no division makes (left out)",
            "the pair (x, k) of the dictionary with label 'k', which no division makes (left out)",
        ],
    ),
    (
        SpikingSystem([Neuron("x")], rules_by_label={"j": ["a -> a"]}, dictionary=[("x", "k")]),
        [
            "the rules of label 'j', which no division makes (left out)",
            "the pair (x, k) of the dictionary with label 'k', which no division makes (left out)",
        ],
    ),
    (
        SpikingSystem(
            [Neuron("x", 0, [DivisionRule("a", "j", "k")]), Neuron("y")], dictionary=[("x", "y")]
        ),
        ["the pair (x, y) of the dictionary, whose neurons have no synapse (left out)"],
    ),
    (
        SpikingSystem([Neuron("x_{1}", 0, [DivisionRule("a", "x_1", "{")]), Neuron("x_{1}'")]),
        [
            "label name 'x_1' (written as \"x_1''\")",
            "label name '{' (written as 'x')",
        ],
    ),
    (
        SpikingSystem([Neuron("x", 0, [Rule("a+", 1, 10**20)])]),
        ["the large numbers of a+/a -> a^100000000000000000000 of neuron 'x', rule 1 (the rule is"],
    ),
]


@pytest.mark.parametrize(("system", "items"), LOSSES)
def test_what_is_lost_is_named(system, items, tmp_path):
    path = tmp_path / "m.json"
    with pytest.raises(WriteError) as caught:
        snp.write(system, path, format="websnapse")
    assert not path.exists()
    assert len(caught.value.items) == len(items), caught.value.items
    assert all(map(str.startswith, caught.value.items, items)), caught.value.items
    with pytest.warns(WriteWarning, match="lost in WebSnapse JSON"):
        snp.write(system, path, format="websnapse", lossy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        again = snp.read(path)
    assert len(again.neurons) == len(system.neurons)


def test_an_empty_guard_is_lost():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = SpikingSystem([Neuron("x", 0, [Rule("∅", 1), DivisionRule("∅", "j", "k")])])
    losses = Losses("WebSnapse JSON")
    write_websnapse(system, losses)
    assert losses.items == [
        f"the empty guard of neuron 'x', rule {i} (the rule is left out)" for i in (1, 2)
    ]


@given(guards(max_count=40))
def test_guards_are_written_and_read(guard):
    parsed = parse_rule_text(rule_text(Rule(guard, 2, 1)))
    assert (parsed.rule, parsed.errors, parsed.warnings) == (Rule(guard, 2, 1), [], [])


def test_long_guards_are_written_short():
    guard = Guard.interval(3, 100_000)
    text = rule_text(Rule(guard, 1, 1))
    assert text == r"a^{3}(a^{0}|a)^{99997}/a\to a;0"
    assert parse_rule_text(text).rule == Rule(guard, 1, 1)


NAMES = st.lists(st.text("ab_{},1 '\"é\n", max_size=6), unique=True, max_size=4)


@st.composite
def renamed(draw, unsigned):
    """A random system with names of any text, and with weights and trains of any size."""
    system = draw(unsigned)
    names = draw(NAMES) + [f"n{i}" for i in range(len(system.neurons))]
    by_old = dict(zip(system.names, names, strict=False))
    large = st.sampled_from([0, 1, 9, 10, 99, 12345])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return SpikingSystem(
            [Neuron(by_old[n.name], n.spikes, n.rules) for n in system.neurons],
            [(by_old[s], by_old[t], w) for s, t, w in system.synapses],
            input={by_old[n]: draw(st.lists(large, max_size=4)) for n in system.input},
            output=[by_old[name] for name in system.output],
            level=system.level,
        )


def unsigned(level):
    return systems(level=level).filter(lambda system: not system.signed)


@st.composite
def growing(draw):
    """A random system with division rules: labels are made by rules, some are initial neurons."""
    labels = [f"l_{{{i}}}" if draw(st.booleans()) else f"l_{i}" for i in range(5)]
    born = labels[: draw(st.integers(1, 3))]
    label = st.sampled_from(labels)
    division = st.builds(DivisionRule, guards().filter(lambda g: not g.is_empty), label, label)
    its_rules = {x: draw(st.lists(rules() | division, max_size=3)) for x in labels}
    its_rules[born[0]] += [DivisionRule("a", x, labels[-1]) for x in labels if x not in born]
    pairs = draw(st.lists(st.tuples(label, label), unique=True))
    both = [pair for pair in pairs if set(pair) <= set(born)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return SpikingSystem(
            [Neuron(x, draw(st.integers(0, 3)), its_rules[x]) for x in born],
            [(*pair, draw(st.integers(1, 3))) for pair in both],
            dictionary=[pair for pair in pairs if pair not in both],
            rules_by_label={x: its for x, its in its_rules.items() if its and x not in born},
            output=draw(st.lists(st.sampled_from(born), unique=True)),
            input={x: [1, 0, 11] for x in draw(st.lists(st.sampled_from(born), unique=True))},
        )


both_formats = pytest.mark.parametrize("format", [JSON, YAML], ids=["JSON", "YAML"])


@both_formats
@given(renamed(unsigned("extended")), renamed(unsigned("strict")), growing())
def test_random_systems(format, extended, strict, divided):
    check_identity(format, extended, strict, divided)


@both_formats
@given(dividing_systems() | plastic_systems())
def test_systems_that_change(format, system):
    """What is lost leaves a file that can be read."""
    writer, reader = format
    losses = Losses("f")
    text = writer(system, losses)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = reader(Source("f", text), "extended")
    if not losses.items:
        # A pair that a synapse gives anyway is not written.
        given = {(source, target) for source, target, _ in system.synapses}
        pairs = [pair for pair in system.dictionary if pair not in given]
        assert again == system.replace(dictionary=pairs)


def test_a_pair_that_a_synapse_gives_is_not_written():
    rules = ["[a]_x -> []_y || []_x"]
    neurons = [Neuron("x", 1, rules), Neuron("z", 0)]
    system = SpikingSystem(neurons, [("x", "z")], dictionary=[("x", "z")])
    losses = Losses("f")
    again = read_websnapse(Source("f", write_websnapse(system, losses)), "extended")
    assert not losses.items and again == system.replace(dictionary=())


def test_inputs_and_outputs_that_no_neuron_bears_are_lost():
    rules = ["[a]_x -> []_y || []_z"]
    system = SpikingSystem([Neuron("x", 1, rules)], output=("x", "z"), input={"y": [1]})
    losses = Losses("f")
    text = write_websnapse(system, losses)
    assert losses.items == [
        "the input of label 'y', which no neuron bears from the start (left out)",
        "the output of label 'z', which no neuron bears from the start (left out)",
    ]
    assert read_websnapse(Source("f", text), "extended") == system.replace(output="x", input={})


@pytest.mark.slow
@both_formats
@settings(max_examples=many(2000))
@given(renamed(unsigned("extended")), renamed(unsigned("strict")), growing())
def test_many_random_systems(format, extended, strict, divided):
    check_identity(format, extended, strict, divided)


def check_identity(format, *drawn):
    for system in drawn:
        text, again = write(system, system.level, format)
        assert again == system
        assert write(again, system.level, format)[0] == text


@pytest.mark.parametrize(
    "value",
    [
        {"C": [1], "VL": [1], "F": [[1]], "L": [[1]], "T": [[4, 4]], "syn": [], "envSyn": 1},
        {"NSNP": {"neurons": [], "syn": []}, "branch": None},
    ],
)
def test_numerical_systems_are_refused_as_such(value, tmp_path):
    path = tmp_path / "numerical.json"
    path.write_text(json.dumps(value))
    with pytest.raises(ReadError) as caught:
        snp.read(path)
    (found,) = caught.value.diagnostics
    assert (found.line, found.column) == (1, 1)
    assert found.message.startswith("this is a numerical SN P system (NSNP)")


def test_nodes_with_other_data_are_not_numerical():
    text = json.dumps({"nodes": [{"id": "n", "data": {"label": "n"}}], "edges": []})
    with pytest.raises(ReadError) as caught:
        quiet(text)
    assert "numerical" not in str(caught.value)
