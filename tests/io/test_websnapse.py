"""WebSnapse JSON: rules, names, nodes of the environment, notes and division. What holds for all
formats is in test_conformance.py, and files of other authors are in test_samples.py."""

import json

import pytest
from hypothesis import given

from snpjax import DivisionRule, Guard, Neuron, Rule, SpikingSystem
from snpjax.io.websnapse.guard_text import rule_text
from snpjax.io.websnapse.labels import label_key
from snpjax.io.websnapse.rules import parse_rule_text
from snpjax.testing import guards, reference
from tests.io.tables.mistakes import findings, quietly, read_silently, read_text, reread
from tests.io.tables.pairs import PAIRS


def parse(text, level="extended"):
    return read_silently("websnapse", text, level)


def quiet(text):
    return quietly(read_text, "websnapse", text)


def neuron(name, rules=(), content: object = 0, **more):
    return {"id": name, "type": "regular", "content": content, "rules": list(rules), **more}


def model(*neurons, synapses=(), **more):
    keys = ("from", "to", "weight")
    wires = [dict(zip(keys, synapse, strict=False)) for synapse in synapses]
    return json.dumps({"neurons": neurons, "synapses": wires, **more})


def test_notes_of_the_pair():
    system = parse(
        PAIRS["websnapse"].replace("150", "0.5").replace("]\n}", '], "expected": [1, "x"]}')
    )
    assert system.notes == {
        "positions": {"p": [0, 0], "q": [0.5, 0], "out_q": [300, 0]},
        "outputs": {"out_q": [["q", 1]]},
        "expected": [1, "x"],
    }
    spikes = [c.spikes for c in reference.run(system, max_steps=9).configurations]
    assert spikes == [(2, 1), (1, 0), (1, 1), (1, 0), (0, 0)]
    text, again = reread("websnapse", system)
    assert again == system and again.notes == system.notes
    assert '"id": "out_q", "type": "output", "position": {"x": 300, "y": 0}' in text


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


def test_what_is_read_with_a_warning():
    two = model(neuron("x", [r"a^12/a\to a;0"]))
    assert quiet(two).rules[0] == Rule("a{12}", 1, 1)
    union = model(neuron("x", [r"(a|aa)a|a^{5}\cup a/a\to a;0"]))
    assert quiet(union).rules == (Rule("a|a{2}|a{3}|a{5}", 1, 1),)


def test_trains_are_texts_of_digits_or_lists():
    for train in ("102", [1, 0, 2]):
        node = {"id": "in", "type": "input", "content": train}
        assert parse(model(neuron("x"), node, synapses=[("in", "x", 2)])).input == {"x": (2, 0, 4)}


def test_numbers_may_be_written_in_several_ways():
    system = parse(
        model(
            *(neuron("x", content="12"), neuron("y", content=2.0), neuron("z", content=" 3 ")),
            synapses=[("x", "y", 2.0), ("y", "z", "3"), ("z", "x")],
        )
    )
    assert [n.spikes for n in system.neurons] == [12, 2, 3]
    assert [weight for _, _, weight in system.synapses] == [2, 3, 1]


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
    rule_dict = [r"\left[a\to\lambda\right]_{i,j}", r"\left[a\to a\right]_{j}"]
    first, second = quiet(model(*lists, rule_dict=rule_dict)).neurons
    assert first.rules == (Rule(None, 1),) and second.rules == (Rule(None, 1, 1), Rule(None, 1))


# Writing


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
    text, again = reread("websnapse", system)
    assert again == system
    assert '"id": "in_x"' in text and '"id": "out_x"' in text


def test_more_than_nine_spikes_a_step_come_from_one_input_node_a_decimal_place():
    system = SpikingSystem([Neuron("x"), Neuron("in_x")], input={"x": [7, 120, 3], "in_x": []})
    text, again = reread("websnapse", system)
    assert again == system
    found = {n["id"]: n.get("content") for n in json.loads(text)["neurons"] if n["type"] == "input"}
    assert found == {"in_x'": "703", "in_x'_10": "020", "in_x'_100": "010", "in_in_x": ""}
    weights = {s["from"]: s["weight"] for s in json.loads(text)["synapses"]}
    assert weights == {"in_x'": 1, "in_x'_10": 10, "in_x'_100": 100, "in_in_x": 1}


@given(guards(max_count=40))
def test_guards_are_written_and_read(guard):
    parsed = parse_rule_text(rule_text(Rule(guard, 2, 1)))
    assert (parsed.rule, parsed.errors, parsed.warnings) == (Rule(guard, 2, 1), [], [])


def test_long_guards_are_written_short():
    guard = Guard.interval(3, 100_000)
    text = rule_text(Rule(guard, 1, 1))
    assert text == r"a^{3}(a^{0}|a)^{99997}/a\to a;0"
    assert parse_rule_text(text).rule == Rule(guard, 1, 1)


def test_nodes_with_other_data_are_not_numerical():
    text = json.dumps({"nodes": [{"id": "n", "data": {"label": "n"}}], "edges": []})
    assert "numerical" not in str(findings("websnapse", text))
