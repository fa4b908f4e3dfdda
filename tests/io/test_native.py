"""The native JSON: what is written is read again, and every mistake has its place."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

import snpjax as snp
from snpjax import (
    AntiSpikes,
    Astrocyte,
    Astrocytes,
    BuddingRule,
    Channels,
    DivisionRule,
    Exhaustive,
    Guard,
    Neuron,
    PlasticityRule,
    RequestRule,
    Requests,
    Rule,
    SpikingSystem,
    SynapseRules,
)
from snpjax.io import ReadError, ReadWarning
from snpjax.io.losses import Losses
from snpjax.io.native import read_native, write_native
from snpjax.io.source import Source
from snpjax.testing import dividing_systems, plastic_systems, systems, variant_systems


PAIR = """{
  "schema": "snpjax/1",
  "name": "pair",
  "level": "extended",
  "signed": false,
  "neurons": [
    {"id": "p", "spikes": 2, "rules": ["a^2/a -> a; 1", "a -> lambda"]},
    {"id": "q", "spikes": 1, "rules": ["a -> a", "a^2 -> lambda"]}
  ],
  "synapses": [
    ["p", "q", 1],
    ["q", "p", 1]
  ],
  "input": {},
  "output": ["q"]
}
"""

PAIR_SYSTEM = SpikingSystem(
    [Neuron("p", 2, ["a^2/a -> a; 1", "a -> lambda"]), Neuron("q", 1, ["a -> a", "a^2 -> lambda"])],
    [("p", "q"), ("q", "p")],
    output="q",
    name="pair",
)


KINDS = [
    "anti-spikes",
    "plastic-anti-spikes",
    "exhaustive",
    "astrocytes",
    "synapse-rules",
    "channels",
    "requests",
    "synapse-delays",
    "dendritic-delays",
    "scheduled-synapses",
]
any_variant = st.sampled_from(KINDS).flatmap(variant_systems)


def parse(text, level="extended"):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_native(Source("model.snp.json", text), level)


def again(system):
    """What is read from what is written."""
    return read_native(Source("f", write_native(system, Losses("native"))), "extended")


def model(neurons='[{"id": "x"}]', rest=""):
    """A file with the neurons on line 2 and the rest on line 3."""
    return f'{{"schema": "snpjax/1", "neurons":\n{neurons}\n{rest}}}'


def errors(text, level="extended"):
    """`line:column` and message of every error."""
    with pytest.raises(ReadError) as caught:
        parse(text, level)
    return {f"{d.line}:{d.column}": d.message for d in caught.value.diagnostics}


def test_pair():
    assert parse(PAIR) == PAIR_SYSTEM
    assert write_native(PAIR_SYSTEM, Losses("native")) == PAIR


def test_only_schema_and_neurons_are_needed():
    system = parse('{"schema": "snpjax/1", "neurons": [{"id": "x"}, {"id": "y", "spikes": 3}]}')
    assert system == SpikingSystem([Neuron("x"), Neuron("y", 3)])
    assert parse('{"schema": "snpjax/1", "neurons": []}') == SpikingSystem([])


def test_rules_as_objects():
    text = model(
        """[{"id": "x", "rules": [{"guard": "a+", "consume": 2, "produce": 1, "delay": 3},
        {"consume": 2}, {"guard": "a", "consume": 1, "produce": 1}]}]"""
    )
    assert parse(text).rules == (Rule("a+", 2, 1, 3), Rule(None, 2), Rule("a", 1, 1))


@pytest.mark.parametrize(
    "system",
    [
        SpikingSystem([]),
        SpikingSystem(
            [Neuron("x", 1, ["a(aa)*/a^3 -> a^2; 4", Rule("a*", 7)], label="y")], name="é"
        ),
        SpikingSystem([Neuron('"\n\\é', 2), Neuron("\u2028")], [('"\n\\é', "\u2028", 5)]),
        SpikingSystem([Neuron("x", -4)], [("x", "x", -2)], signed=True, input={"x": [0, -1]}),
        SpikingSystem([Neuron("x", np.int64(3))], input={"x": [np.int32(1)]}),  # pyright: ignore
        SpikingSystem([Neuron("x", 0, [Rule("a+", 10**7, 10**8, 10**9)])], output="x"),
        SpikingSystem([Neuron("x", 0, [PlasticityRule(None, 2, "-+", 3, ["y"])]), Neuron("y")]),
        SpikingSystem(
            [Neuron("i", 1, [DivisionRule("a+", "j", "k"), BuddingRule("a", "j")])],
            dictionary=[("j", "nowhere")],
            rules_by_label={
                "j": ["a -> a", BuddingRule("aa", "k", "x")],
                "k": [BuddingRule("a", "j")],
            },
        ),
        SpikingSystem([Neuron("x", 1, ["a -> a"])], level="strict"),
        SpikingSystem(
            [Neuron("x", -2, ["ā^2/ā -> a", Rule("a+", 10**7, -3, 2, -1)])],
            [("x", "x", -1)],
            variant=AntiSpikes(),
        ),
        SpikingSystem([Neuron("x", 1, ["a+/a -> a"])], variant=Exhaustive()),
        SpikingSystem(
            [Neuron("x", -1, ["ā -> a", "a/a -> +-1(x, {y})"]), Neuron("y")],
            [("x", "x", -2)],
            variant=AntiSpikes(),
        ),
        SpikingSystem(
            [Neuron("x"), Neuron("y")],
            [("x", "y", 2), ("y", "x")],
            variant=Astrocytes([Astrocyte([("x", "y"), ("y", "x")], 3)]),
        ),
        SpikingSystem(
            [Neuron("x", 4), Neuron("y")],
            [("y", "x"), ("x", "y", 2)],
            variant=SynapseRules(
                {
                    ("x", "y"): ["a -> a", Rule("a+", 10**7, 1)],
                    ("x", None): [],
                    ("y", "y"): ["a -> a"],
                }
            ),
        ),
        SpikingSystem(
            [
                Neuron("x", 4, ["a -> a(1)", Rule("a+", 10**7, 1, channel="2"), "a^2 -> lambda"]),
                Neuron("y", 0, ['a+/a -> a("a;")']),
            ],
            [("x", "y", 2)],
            output="y",
            variant=Channels({"2": [("x", "y")], "1": [("x", "y"), ("x", "x")], "a;": []}),
        ),
        SpikingSystem(
            [
                Neuron("x", 4, ['a+/Q(a^2, y)(a^inf, "a b")', RequestRule(2, [(10**6, "y")])]),
                Neuron("y"),
                Neuron("a b"),
            ],
            variant=Requests(),
        ),
        *(
            SpikingSystem([Neuron("x", 1, ["a -> a"])], compatibility=compatibility)
            for compatibility in dict.fromkeys(snp.compatibility.SIMULATORS.values())
        ),
    ],
)
def test_written_systems_read_again(system):
    text = write_native(system, Losses("native"))
    assert parse(text) == system
    assert write_native(parse(text), Losses("native")) == text
    json.loads(text)


@given(systems() | plastic_systems() | dividing_systems() | any_variant)
def test_random_systems_read_again(system):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert again(system) == system


def test_a_dead_guard_is_written_and_read_with_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = SpikingSystem([Neuron("x", 0, [Rule(Guard.exactly(2), 3, 1)])])
    with pytest.warns(ReadWarning, match=r"f:7:40: neuron 'x', rule 1: .* can never apply"):
        assert again(system) == system


def test_rules_of_labels_are_given_to_the_neurons_that_bear_them():
    text = model(
        '[{"id": "i"}, {"id": "n", "label": "i"}]',
        ', "rules_by_label": {"i": [{"guard": "a", "bud": ["i", "j"]}], "j": ["a -> a"]}',
    )
    system = parse(text)
    assert [n.rules for n in system.neurons] == [(BuddingRule("a", "j"),)] * 2
    assert system.rules_by_label == {"j": (Rule(None, 1, 1),)}
    text = model('[{"id": "i", "rules": ["a -> a"]}]', ', "rules_by_label": {"i": ["a^2 -> a"]}')
    assert "rules of its own" in errors(text)["2:2"]


def test_rules_that_change_the_network_as_texts():
    text = model(
        '[{"id": "i", "rules": ["[a^2]_i -> []_j || []_k", "[a] -> [] / []_j"]}]',
        ', "rules_by_label": {"j": ["[a]_j -> []_i / []_k", "a -> a"]}',
    )
    system = parse(text)
    assert system.rules == (DivisionRule("aa", "j", "k"), BuddingRule("a", "j"))
    assert system.rules_by_label == {"j": (BuddingRule("a", "k", "i"), Rule(None, 1, 1))}
    text = model(
        '[{"id": "x", "rules": ["a/a -> +2(x, {y, \\"z z\\"})"]}, {"id":"y"}, {"id": "z z"}]'
    )
    assert parse(text).rules == (PlasticityRule("a", 1, "+", 2, ["y", "z z"]),)


def test_inputs_and_outputs_name_labels_where_neurons_divide():
    neurons = '[{"id": "n", "label": "i", "rules": ["[a]_i -> []_j || []_k"]}]'
    rest = ', "input": {"j": [1], "i": [2]}, "output": ["k", "j"]'
    system = parse(model(neurons, rest))
    assert system.output == ("k", "j") and system.input == {"j": (1,), "i": (2,)}
    found = errors(model(neurons, ', "input": {"n": [1]}, "output": ["l", "l"]'))
    assert list(found) == ["3:13", "3:35"]
    assert "there is no label 'n' (" in found["3:13"]
    # No label is known for certain where a rule was left out.
    broken = neurons.replace("|| ", "")
    assert list(errors(model(broken, ', "output": ["k"]'))) == ["2:53"]


def test_the_stricter_level_counts():
    text = model('[{"id": "x"}]', ', "synapses": [["x", "x"]], "level": "%s"')
    assert parse(text % "extended").level == "extended"
    assert list(errors(text % "strict")) == list(errors(text % "extended", "strict")) == ["3:16"]
    assert parse(model(rest=', "level": "strict"')).level == "strict"


TWO = '[{"id": "x"}, {"id": "y"}]'
ON_SYNAPSES = ', "variant": {"kind": "synapse_rules", "synapses": [\n%s]}'
CHANNELS = ', "variant": {"kind": "channels", "channels": [\n%s]}'
DELAYS, DENDRITES, SCHEDULES = (
    f', "synapses": [["x", "y"]], "variant": {{"kind": "{kind}", "{key}": [\n%s]}}'
    for kind, key in (
        ("synapse_delays", "delays"),
        ("dendritic_delays", "delays"),
        ("scheduled_synapses", "schedules"),
    )
)
ASTROCYTES = ', "synapses": [["x", "y"]], "variant": {"kind": "astrocytes", "astrocytes": [\n%s]}'


@pytest.mark.parametrize(
    ("rest", "place", "message"),
    [
        (', "variant": "exhaustive"', "3:14", "\"variant\" is 'exhaustive' (write an object"),
        (', "variant": {"of": 1}', "3:14", '"variant" has no "kind"'),
        (', "variant": {"kind": "dendrites"}', "3:23", "'dendrites' (write one of anti_spikes, "),
        (
            ', "variant": {"kind": "exhaustive", "c": 1}',
            "3:37",
            "the unknown key 'c' (known: kind)",
        ),
        (', "variant": {"kind": "astrocytes"}', "3:14", 'no "astrocytes"'),
        (
            ', "variant": {"kind": "exhaustive"}, "level": "strict"',
            "3:14",
            "not part of the definit",
        ),
        (
            ', "variant": {"kind": "exhaustive"}, "compatibility": {"closed_receives": true}',
            "3:14",
            "remove the compatibility",
        ),
        (ASTROCYTES % '{"threshold": 1}', "4:1", 'the astrocyte has no "synapses"'),
        (ASTROCYTES % '{"synapses": [["x"]], "threshold": 1}', "4:15", "has 1 items (write [from"),
        (ASTROCYTES % '{"synapses": [["x", "z"]], "threshold": 1}', "4:21", "no neuron 'z'"),
        (ASTROCYTES % '{"synapses": [["y", "x"]], "threshold": 1}', "4:1", "no such synapse"),
        (ASTROCYTES % '{"synapses": [["x", "y"]], "threshold": -1}', "4:41", "threshold is -1"),
        (ASTROCYTES % '{"synapses": [], "threshold": 1}', "4:1", "controls no synapse"),
        (CHANNELS % '{"channel": "1"}', "4:1", 'the channel has no "synapses"'),
        (CHANNELS % '{"channel": 1, "synapses": []}', "4:13", '"channel" is 1'),
        (CHANNELS % '{"channel": "1", "synapses": [["x", "z"]]}', "4:37", "no neuron 'z'"),
        (
            CHANNELS % '{"channel": "1", "synapses": []},\n{"channel": "1", "synapses": []}',
            "5:1",
            "is declared twice (write its synapses in one list); first at 4:1",
        ),
        (CHANNELS % '{"channel": "", "synapses": []}', "4:1", "the channel '' has no name"),
        (
            ', "synapses": [\n["x", "y"]]' + CHANNELS % '{"channel": "1", "synapses": []}',
            "4:1",
            "(x, y) belongs to no channel",
        ),
        (', "synapses": [\n["x", "y"]], "variant": {"kind": "requests"}', "4:1", "on request only"),
        (', "output": [\n"x"], "variant": {"kind": "requests"}', "4:1", "remove the output"),
        (ON_SYNAPSES % '{"from": "x", "to": "y"}', "4:1", 'the synapse has no "rules"'),
        (ON_SYNAPSES % '{"from": "x", "to": "z", "rules": []}', "4:21", "no neuron 'z'"),
        (ON_SYNAPSES % '{"from": "x", "to": 7, "rules": []}', "4:21", '"to" is 7'),
        (ON_SYNAPSES % '{"from": "x", "to": "y", "rules": ["a - a"]}', "4:42", "no arrow"),
        (
            ON_SYNAPSES % '{"from": "x", "to": "y", "rules": ["[a] -> []_x || []_y"]}',
            "4:37",
            "this rule changes the network",
        ),
        (
            ON_SYNAPSES
            % '{"from": "x", "to": null, "rules": [{"consume": 1, "divide": ["x", "y"]}]}',
            "4:52",
            "unknown key 'divide'",
        ),
        (
            ON_SYNAPSES
            % '{"from": "x", "to": null, "rules": ["a -> a",\n{"consume": 1, "sign": -1}]}',
            "5:24",
            "is of anti-spikes (write a)",
        ),
        (
            ON_SYNAPSES
            % '{"from": "x", "to": null, "rules": []},\n{"from": "x", "to": null, "rules": []}',
            "5:1",
            "has rules twice (write them in one list); first at 4:1",
        ),
        (DELAYS % '{"from": "x", "to": "y"}', "4:1", 'the delay has no "delay"'),
        (DELAYS % '{"from": "x", "to": "y", "delay": -1}', "4:35", "the delay is -1"),
        (DELAYS % '{"from": "x", "to": "z", "delay": 1}', "4:21", "no neuron 'z'"),
        (DELAYS % '{"from": "y", "to": "x", "delay": 1}', "4:1", "no such synapse"),
        (DENDRITES % '{"neuron": "z", "delay": 1}', "4:12", "no neuron 'z'"),
        (DENDRITES % '{"neuron": "y", "delay": true}', "4:26", "the delay is true"),
        (
            DENDRITES % '{"neuron": "y", "delay": 1},\n{"neuron": "y", "delay": 2}',
            "5:1",
            "has two delays (remove one); first at 4:1",
        ),
        (SCHEDULES % '{"from": "x", "to": "y"}', "4:1", 'the schedule has no "start"'),
        (
            SCHEDULES % '{"from": "x", "to": "y", "start": 2, "stop": 2}',
            "4:1",
            "it stops at 2 before it starts at 2",
        ),
        (SCHEDULES % '{"from": "x", "to": "y", "start": 1, "stop": "2"}', "4:46", "is '2'"),
        (
            SCHEDULES % '{"from": "x", "to": "y", "start": 1, "reference": "z"}',
            "4:51",
            "no neuron 'z'",
        ),
    ],
)
def test_place_of_one_mistake_in_a_variant(rest, place, message):
    found = errors(model(TWO, rest))
    assert list(found) == [place]
    assert message in found[place]


def test_mistakes_in_a_variant_come_with_the_others():
    variant = '{"kind": "anti-spikes", "x": 1}'
    text = model(
        '[{"id": "x", "spikes": -1, "rules": ["ā -> a"]}, {"id": "y", "rules": [7]}]',
        f', "variant": {variant}',
    )
    assert list(errors(text)) == ["2:72", "3:23"]


def test_a_bad_variant_hides_only_what_another_would_allow():
    """Anti-spikes may have been meant, but nothing consumes -1, and no delay is negative."""
    wrong = '{"id": "y", "rules": [{"consume": -1}, {"consume": 1, "produce": 1, "delay": -2}]}'
    neurons = f'[{{"id": "x", "spikes": -1}},\n{wrong}]'
    rest = ', "synapses": [["x", "y", -3]], "variant": '
    in_any_case = ["3:23", "3:40", "4:53"]
    assert list(errors(model(neurons, rest + '{"kind": "anti-spikes"}'))) == in_any_case
    meant = errors(model(neurons, rest + '{"kind": "exhaustive", "x": 1}'))
    assert list(meant) == ["2:24", "3:23", "3:40", "4:16", "4:67"]


@pytest.mark.parametrize(
    ("neurons", "rest", "place", "message"),
    [
        ("7", "", "2:1", '"neurons" is 7'),
        ("[7]", "", "2:2", "the neuron is 7"),
        ("[{}]", "", "2:2", 'the neuron has no "id"'),
        ('[{"id": 3}]', "", "2:9", "the id of a neuron is 3"),
        ('[{"id": "x", "color": 1}]', "", "2:14", "unknown key 'color'"),
        ('[{"id": "x", "id": "y"}]', "", "2:14", "appears twice in the neuron (remove one); first"),
        ('[{"id": "x"},\n {"id": "x"}]', "", "3:9", "declared twice"),
        ('[{"id": "x", "spikes": 1.5}]', "", "2:24", "the number of spikes is 1.5"),
        ('[{"id": "x", "spikes": true}]', "", "2:24", "the number of spikes is true"),
        ('[{"id": "x", "spikes": NaN}]', "", "2:24", "the number of spikes is NaN"),
        ('[{"id": "x", "spikes": -1}]', "", "2:24", "starts with -1 spikes"),
        ('[{"id": "x", "spikes": %s}]' % ("9" * 5000), "", "2:24", "a number of 5000 digits"),
        ('[{"id": "x", "rules": "a -> a"}]', "", "2:23", "the list of rules is 'a -> a'"),
        ('[{"id": "x", "rules": [7]}]', "", "2:24", "a rule is 7"),
        ('[{"id": "x", "rules": ["a{2/a -> a"]}]', "", "2:26", "the brace opened is not closed"),
        ('[{"id": "x", "rules": ["\\u0061 - a"]}]', "", "2:35", "there is no arrow"),
        ('[{"id": "x", "rules": ["\\u0061b/a -> a"]}]', "", "2:31", "'b' is not part of a guard"),
        ('[{"id": "x", "rules": [{"guard": "ab", "consume": 1}]}]', "", "2:36", "'b' is not part"),
        ('[{"id": "x", "rules": [{"guard": "a"}]}]', "", "2:24", 'the rule has no "consume"'),
        ('[{"id": "x", "rules": [{"consume": "a"}]}]', "", "2:36", '"consume" is'),
        ('[{"id": "x", "rules": [{"consume": 9999999}]}]', "", "2:36", "the guard needs"),
        ('[{"id": "x", "rules": [{"consume": 1, "kind": 1}]}]', "", "2:39", "unknown key 'kind'"),
        ('[{"id": "x", "rules": [{"consume": 1, "delay": 2}]}]', "", "2:48", "has no delay"),
        ('[{"id": "x", "rules": [{"guard": "a", "divide": ["j"]}]}]', "", "2:49", "has 1 labels"),
        ('[{"id": "x", "rules": [{"divide": ["j", "k"]}]}]', "", "2:24", 'no "guard"'),
        ('[{"id": "x", "rules": ["[a]_y -> []_j || []_k"]}]', "", "2:29", "written for neuron 'y'"),
        ('[{"id": "x", "rules": ["[a] -> []_j || []"]}]', "", "2:42", "new neuron is missing"),
        ('[{"id": "x", "rules": ["a -> +0(x, {y})"]}, {"id": "y"}]', "", "2:24", "synapses is 0"),
        (
            '[{"id": "x", "rules": [{"consume": 1, "plasticity":\n'
            '{"alpha": "*", "k": 1, "targets": []}}]}]',
            "",
            "3:11",
            "the kind of plasticity is '*'",
        ),
        ('[{"id": "x"}]', ', "synapses": {}', "3:15", '"synapses" is an object'),
        ('[{"id": "x"}]', ', "synapses": [["x"]]', "3:16", "a synapse is a list of 1"),
        (
            '[{"id": "x"}]',
            ', "synapses": [["x", "y"]]',
            "3:22",
            "no neuron 'y' (the only one is 'x')",
        ),
        ('[{"id": "x"}]', ', "synapses": [["x", "x", 0]]', "3:16", "has weight 0"),
        ('[{"id": "x"}]', ', "synapses": [["x", "x", "1"]]', "3:27", "the weight of a synapse"),
        ('[{"id": "x"}]', ', "synapses": [["x","x"],["x","x"]]', "3:26", "first at 3:16"),
        ('[{"id": "x"}]', ', "input": {"y": [1]}', "3:13", "no neuron 'y'"),
        ('[{"id": "x"}]', ', "input": {"x": [1.0]}', "3:19", "a number of input spikes is 1.0"),
        ('[{"id": "x"}]', ', "output": ["y"]', "3:14", "no neuron 'y'"),
        ('[{"id": "x"}]', ', "level": "loose"', "3:12", "the level is 'loose'"),
        ('[{"id": "x"}]', ', "signed": 0', "3:13", '"signed" is 0'),
        ('[{"id": "x"}]', ', "dictionary": [["x"]]', "3:18", "a pair of labels has 1 items"),
        ('[{"id": "x"}]', ', "edges": []', "3:3", "unknown key 'edges'"),
        ('[{"id": "x"}]', ', "compatibility": "sparse-snp"', "3:20", '"compatibility" is \'sparse'),
        ('[{"id": "x"}]', ', "compatibility": {"early": 1}', "3:21", "unknown key 'early'"),
        (
            '[{"id": "x"}]',
            ', "compatibility": {"early_reopen": "late", "repeats_emissions": true}',
            "3:37",
            "the option 'early_reopen' is 'late' (write null or \"accumulate\" or",
        ),
        (
            '[{"id": "x"}]',
            ', "compatibility": {"closed_receives": 1}',
            "3:40",
            "is 1 (write false or true)",
        ),
        ('[{"id": "x"}]', ', "compatibility": {"guard_modulo": 0}', "3:37", "an integer from 1"),
        ('[{"id": "x"}]', ', "compatibility": {"guard_modulo": true}', "3:37", "write an integer"),
        (
            '[{"id": "x"}]',
            ', "compatibility": {"repeats_emissions": true}',
            "3:20",
            "`repeats_emissions` needs `early_reopen",
        ),
        (
            '[{"id": "x", "rules": [ "a^9(aa)*/a -> a"]}]',
            ', "compatibility": {"guard_modulo": 8}',
            "2:25",
            "rule 1: `guard_modulo` takes the guards",
        ),
    ],
)
def test_place_of_one_mistake(neurons, rest, place, message):
    found = errors(model(neurons, rest))
    assert list(found) == [place]
    assert message in found[place]


def test_place_of_too_deep_a_value():
    deep = "[" * 100_000 + "]" * 100_000
    found = errors(model('[{"id": "x"}]', f', "name": {deep}'))
    assert list(found) == ["3:110"] and "nested more than" in found["3:110"]


def test_levels_point_at_the_number():
    rules = '["a/a -> a^2", {"guard": "a", "consume": 1, "produce": 3}]'
    found = errors(model(f'[{{"id": "x", "rules":\n{rules}}}]'), "strict")
    assert list(found) == ["3:10", "3:56"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[1]", "1:1", "this is a list"),
        ('{"neurons": [], "edges": []}', "1:1", "no \"schema\", only the keys 'neurons', 'edges'"),
        ('{"schema": "snpjax/2"}', "1:12", 'the schema is \'snpjax/2\' (accepted: "schema": "snpj'),
        ('{"schema": "snpjax/1"}', "1:1", 'the model has no "neurons"'),
        ('{"schema": "snpjax/1",\n "neurons": [}', "2:14", "not well-formed JSON"),
        ('{"schema": "snpjax/1", "neurons": []', "1:37", "not well-formed JSON"),
        ("[" * 100_000, "1:101", "nested more than 100 deep"),
        (
            '{"schema": "snpjax/1", "neurons": [], "notes": {"x": [{"k": 1,\n"k": 2}]}}',
            "2:1",
            "twice",
        ),
        ('{"schema": "snpjax/1", "neurons": [], "notes": {"x": [1e999]}}', "1:55", "is 1e999"),
    ],
)
def test_not_a_model(text, place, message):
    found = errors(text)
    assert list(found) == [place]
    assert message in found[place]


def test_all_mistakes_are_reported_together():
    text = model(
        '[{"id": "x", "rules": ["b -> a", "a -> c"], "spikes": "2"}, {"id": "y", "spikes": -1}]',
        ', "synapses": [["x", "z"], ["y", "y"]], "output": ["w"]',
    )
    assert list(errors(text, "strict")) == [
        *("2:25", "2:40", "2:55", "2:83"),
        *("3:22", "3:28", "3:52"),
    ]


@given(st.data())
def test_mutations_raise_nothing_but_read_errors(data):
    text = PAIR
    pieces = st.sampled_from(
        ["", "{", "}", "[", "]", ",", '"', "1", "null", "1e5", "a", "\\u00", "{}"]
    )
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 6)))
        text = text[:start] + data.draw(pieces | st.text(max_size=3)) + text[end:]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReadWarning)
            assert isinstance(read_native(Source("f", text), "extended"), SpikingSystem)
    except ReadError as error:
        assert error.diagnostics


values = st.recursive(
    st.sampled_from([None, True, 0, -1, 1.5, "x", "a -> a", "a", "", 10**30]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "rules", "guard", "consume", "bud", "k"]), inner)
    ),
    max_leaves=4,
)


@given(st.data())
def test_values_of_wrong_types_raise_nothing_but_read_errors(data):
    model = json.loads(PAIR)
    model["rules_by_label"] = {"j": [{"guard": "a", "bud": ["j", "k"]}]}
    model["compatibility"] = {"early_reopen": "accumulate", "guard_modulo": 9}
    model["neurons"][0]["rules"].append(
        {"consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": ["q"]}}
    )
    node, key = None, None
    inner = model
    while isinstance(inner, dict | list) and inner and (node is None or data.draw(st.booleans())):
        node = inner
        key = data.draw(
            st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner)))
        )
        inner = node[key]
    node[key] = data.draw(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReadWarning)
            read_native(Source("f", json.dumps(model, indent=1)), "extended")
    except ReadError as error:
        assert error.diagnostics
