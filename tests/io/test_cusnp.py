"""cuSNP text: numbers line by line. What holds for all formats is in test_conformance.py."""

import pytest

import snpjax as snp
from snpjax.io.cusnp import name_table
from snpjax.io.read import model_text
from tests.io.tables.cusnp import changed
from tests.io.tables.holdable import numbered
from tests.io.tables.mistakes import findings, marked, quietly, read_text
from tests.io.tables.pairs import NUMBERED, PAIRS
from tests.support.helpers import SHARED, needs_shared


PAIR = PAIRS["cusnp"]
LINES = PAIR.splitlines()


def read(text):
    return read_text("cusnp", text)


@pytest.mark.parametrize(
    "text",
    [
        PAIR.rstrip("\n"),
        PAIR.replace("\n", " \n\n"),
        PAIR.replace(" ", "\t  "),
        "\n \t\n" + PAIR,
        PAIR.replace("0 a", "00 a").replace("a1", "a01"),
        "\n".join([*LINES[:6], LINES[8], LINES[6], LINES[9], LINES[7]]),
    ],
)
def test_blanks_leading_zeros_and_the_order_of_neurons_say_nothing(text):
    assert read(text) == NUMBERED and read(text).notes == {"steps": 10}


def test_rules_keep_their_order_within_a_neuron():
    turned = "\n".join([*LINES[:6], *LINES[:5:-1]])
    assert [n.rules[::-1] for n in read(turned).neurons] == [n.rules for n in NUMBERED.neurons]


def test_any_count_is_a_star():
    (rule,) = read("1\n1\n1\n0\n0\n0 a* 2 1 3\n").rules
    assert rule == snp.Rule("a*", 2, 1, 3)


def test_no_neurons():
    empty = snp.SpikingSystem([])
    assert read("0\n0\n5\n") == read(model_text(empty, "cusnp")[0]) == empty


def test_broken_files_end_soon():
    found = findings("cusnp", "1\n5000\n1\n0\n0\n" + "x y z\n" * 5000)
    assert len(found) == 1000
    text, places = marked(changed("4: 2 §x").replace("0 a2", "0 §a+").replace("1 a2", "§7 a2"))
    assert [*findings("cusnp", text)] == places


def test_what_is_written_without_losses():
    system = snp.SpikingSystem(
        [snp.Neuron("p", 2, ["a(aa)+/a -> a", "a+/a^2 -> a"]), snp.Neuron("q")],
        [("p", "q", 2), ("q", "p")],
    )
    assert read(model_text(system, "cusnp")[0]) == snp.SpikingSystem(
        [snp.Neuron("0", 2, [snp.Rule("a*", 2, 1)]), snp.Neuron("1")], [("0", "1"), ("1", "0")]
    )


def test_a_plus_is_written_as_a_star():
    rules = [snp.Rule(guard, 3, 1) for guard in ("a+", "a*", "a{2,}", "a|a{3,}")]
    text, losses = quietly(model_text, snp.SpikingSystem([snp.Neuron("x", 1, rules)]), "cusnp")
    assert set(quietly(read, text).rules) == {snp.Rule("a*", 3, 1)} and not losses.items


def test_names_are_positions():
    system = snp.SpikingSystem([snp.Neuron("b c", 1), snp.Neuron("\n", 2)], [("b c", "\n")])
    assert read(model_text(system, "cusnp")[0]) == numbered(system)
    assert name_table(system) == '0 "b c"\n1 "\\n"\n'


@needs_shared
def test_sample():
    system = snp.read(SHARED / "samples/cusnp/sort_5.in")
    assert system.num_neurons == 15 and system.num_rules == 30 and system.notes == {"steps": 50}
    solution = snp.run(system, max_steps=50)
    assert solution.halted and solution.steps == 6
    assert solution.spikes[10:].tolist() == [5, 4, 3, 2, 1]
