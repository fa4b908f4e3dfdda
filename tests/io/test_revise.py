"""Edited models in the text of their file: comments and formatting stay where nothing changed."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings, strategies as st

import snpjax as snp
from snpjax.io.plingua.append import appended
from snpjax.io.revise import revisions
from snpjax.testing import systems
from snpjax.viz.page.texts import (  # edits of the page use it
    edited_text,
    open_model,
    opened_system,
    serialize,
)
from tests.support.helpers import many


EXAMPLES = Path(__file__).parents[2] / "examples"
NATURAL_NUMBERS = (EXAMPLES / "natural_numbers.pli").read_text()
SORTING = (EXAMPLES / "sorting.pli").read_text()
BIT_ADDER = (EXAMPLES / "bit_adder.snp.json").read_text()


def opened(name, text):
    return open_model(name, text, format=None, level="extended")


def edit(found, change):
    """The text after a change of the model, which is what the text says."""
    model = change(found.system)
    text, format, _ = edited_text(found, model, level="extended")
    assert open_model(found.name, text, format=format.name, level="extended").system == model
    return text


def with_neuron(name, *, spikes=None, rules=None):
    def change(system):
        return system.replace(
            neurons=[
                snp.Neuron(
                    neuron.name,
                    neuron.spikes if spikes is None else spikes,
                    neuron.rules if rules is None else rules,
                    neuron.label,
                )
                if neuron.name == name
                else neuron
                for neuron in system.neurons
            ]
        )

    return change


def with_new(name):
    """One neuron more, behind the first one."""

    def change(system):
        return system.replace(
            neurons=[*system.neurons, snp.Neuron(name, 3, ["a -> a"])],
            synapses=[*system.synapses, (system.neurons[0].name, name)],
        )

    return change


def without(name):
    def change(system):
        return system.replace(
            neurons=[neuron for neuron in system.neurons if neuron.name != name],
            synapses=[synapse for synapse in system.synapses if name not in synapse[:2]],
            input={key: train for key, train in system.input.items() if key != name},
            output=[output for output in system.output if output != name],
        )

    return change


def renamed(old, new):
    def change(system):
        names = {neuron.name: neuron.name for neuron in system.neurons} | {old: new}
        return system.replace(
            neurons=[
                snp.Neuron(names[neuron.name], neuron.spikes, neuron.rules)
                for neuron in system.neurons
            ],
            synapses=[(names[s], names[t], w) for s, t, w in system.synapses],
            input={names[key]: train for key, train in system.input.items()},
            output=[names[output] for output in system.output],
        )

    return change


def changed_lines(before, after):
    """The lines of one text that are not in the other."""
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


def test_spikes_change_one_line():
    text = edit(opened("x.pli", NATURAL_NUMBERS), with_neuron("echo", spikes=5))
    assert changed_lines(NATURAL_NUMBERS, text) == (["  @ms(echo) = a;"], ["  @ms(echo) = a*5;"])


def test_rules_keep_comments():
    found = opened("x.pli", NATURAL_NUMBERS)
    text = edit(found, with_neuron("chooser", rules=["a^2 -> a; 1", "a -> lambda"]))
    assert "/* Generates every natural number greater than 1" in text
    assert changed_lines(NATURAL_NUMBERS, text)[0] == [
        '  [a --> a]\'chooser "a{2}";',
        '  [a*2 --> a]\'chooser "a{2}";',
    ]


@pytest.mark.parametrize("change", [with_new("extra"), without("echo"), renamed("echo", "twin")])
def test_neurons_come_and_go(change):
    text = edit(opened("x.pli", NATURAL_NUMBERS), change)
    assert "/* Generates every natural number greater than 1" in text
    assert "  @ms(chooser) = a*2;\n" in text and "\n\n  [a --> a]'chooser" in text


def test_loops_stay_loops_where_statements_can_be_added():
    found = opened("x.pli", SORTING)
    for change in (with_neuron("in{2}", spikes=7), with_new("extra")):
        text = edit(found, change)
        lost, _ = changed_lines(SORTING, text)
        assert len(lost) <= 1 and "[a*i --> a]'s{i} : 1<=i<=n;" in text
    # Names that are not labels go into a comment.
    text = SORTING
    for name, label in (("größe 2", "gr_e_2"), ("größe 3", "gr_e_3")):
        text = edit(opened("x.pli", text), with_new(name))
        lost, new = changed_lines(SORTING, text)
        assert not lost and f"   {label} = {json.dumps(name)} */" in new
        assert text.count("names that are not labels") == 1
    assert {"größe 2", "größe 3"} <= opened("x.pli", text).system.names.keys()
    # A neuron of a loop cannot be taken from it.
    assert "call sorter" not in edit(found, without("s{1}"))


def test_json_keeps_its_layout():
    text = edit(opened("x.snp.json", BIT_ADDER), with_neuron("adder", spikes=5))
    assert text == BIT_ADDER.replace('"spikes": 0', '"spikes": 5')


def test_a_comment_behind_a_statement_stays_with_it():
    text = (
        "@model<spiking_psystems>\ndef main()\n{\n"
        "  @mu = x; /* one */\n  @ms(x) = a; /* two */\n}\n"
    )
    after = edit(opened("x.pli", text), with_neuron("x", rules=["a -> a"]))
    assert "  @ms(x) = a; /* two */\n  [a --> a]'x;\n}" in after


def test_nothing_is_carried_over_without_a_counterpart():
    assert not list(revisions("x y z", "a b c", "a d c"))
    assert not list(appended("@model", "def main() {}", "def main() { @mu = x; }"))
    # What was taken away cannot be appended.
    assert not list(appended(SORTING, "def main() { @mu = x, y; }", "def main() { @mu = x; }"))


@settings(max_examples=many(240))
@given(systems(min_neurons=1, max_neurons=4), st.sampled_from(["plingua", "native"]), st.data())
def test_comments_survive_random_edits(system, name, data):
    """In a text of the writer with a comment or blanks behind each line, an edit of one neuron's
    spikes changes nothing else, and other edits keep the comments of lines that are not its own."""
    found = opened_system(system)
    if name == "plingua":
        assume(not serialize(system, snp.io.formats.FORMATS[1], lossy=True)[1])
        text = serialize(system, snp.io.formats.FORMATS[1], lossy=True)[0]
        lines = text.splitlines()
        text = "".join(f"{line} /* {i} */\n" for i, line in enumerate(lines))
        found = opened("x.pli", text)
    else:
        text = re.sub("\n", "   \n\n", found.text)
        found = opened("x.snp.json", text)
    neuron = data.draw(st.sampled_from(found.system.neurons))
    assume(neuron.label == neuron.name)
    after = edit(found, with_neuron(neuron.name, spikes=neuron.spikes + 1))
    kept = re.findall(r"/\* \d+ \*/|   \n\n", after)
    assert kept == re.findall(r"/\* \d+ \*/|   \n\n", text)
    its_own = rf"\b{neuron.name}\b"
    if neuron.name in found.system.input:
        its_own += "|@minst"
    others = [line for line in text.splitlines() if not re.search(its_own, line)]
    for change in (with_new("extra"), renamed(neuron.name, "renamed"), without(neuron.name)):
        kept = re.findall(r"/\* \d+ \*/", edit(found, change))
        assert set(kept) >= set(re.findall(r"/\* \d+ \*/", "\n".join(others)))
