"""The native JSON: what a file may hold. What holds for all formats is in test_conformance.py."""

from snpjax import BuddingRule, DivisionRule, Guard, Neuron, PlasticityRule, Rule, SpikingSystem
from tests.io.tables.mistakes import findings, quietly, read_silently, reread


def parse(text, level="extended"):
    return read_silently("native", text, level)


def errors(text, level="extended"):
    return findings("native", text, level)


def model(neurons='[{"id": "x"}]', rest=""):
    """A file with the neurons on line 2 and the rest on line 3."""
    return f'{{"schema": "snpjax/1", "neurons":\n{neurons}\n{rest}}}'


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


def test_a_dead_guard_is_written_and_read_with_a_warning():
    neuron = Neuron("x", 0, [Rule(Guard.exactly(2), 3, 1)])
    text, again = reread("native", quietly(SpikingSystem, [neuron]))
    assert again == quietly(SpikingSystem, [neuron])
    assert "can never apply" in findings("native", text, of="warnings")["7:40"]


def test_rules_of_labels_are_given_to_the_neurons_that_bear_them():
    text = model(
        '[{"id": "i"}, {"id": "n", "label": "i"}]',
        ', "rules_by_label": {"i": [{"guard": "a", "bud": ["i", "j"]}], "j": ["a -> a"]}',
    )
    system = parse(text)
    assert [n.rules for n in system.neurons] == [(BuddingRule("a", "j"),)] * 2
    assert system.rules_by_label == {"j": (Rule(None, 1, 1),)}


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


def test_the_stricter_level_counts():
    text = model('[{"id": "x"}]', ', "synapses": [["x", "x"]], "level": "%s"')
    assert parse(text % "extended").level == "extended"
    assert list(errors(text % "strict")) == list(errors(text % "extended", "strict")) == ["3:16"]
    assert parse(model(rest=', "level": "strict"')).level == "strict"


def test_all_mistakes_are_reported_together():
    text = model(
        '[{"id": "x", "rules": ["b -> a", "a -> c"], "spikes": "2"}, {"id": "y", "spikes": -1}]',
        ', "synapses": [["x", "z"], ["y", "y"]], "output": ["w"]',
    )
    assert list(errors(text, "strict")) == [
        *("2:25", "2:40", "2:55", "2:83"),
        *("3:22", "3:28", "3:52"),
    ]
