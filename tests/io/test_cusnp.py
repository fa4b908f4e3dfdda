"""cuSNP text: numbers line by line, each mistake at its place, and what is written reads again."""

import warnings
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.io import rule_lines
from snpjax.io.cusnp import name_table
from snpjax.testing import rules, systems
from tests.support.helpers import SHARED, case_system, load_cases, many, needs_shared


PAIR = """2
4
10
2 1
1 1
1 0
0 a2 1 1 1
0 a1 1 0 0
1 a1 1 1 0
1 a2 2 0 0
"""

PAIR_SYSTEM = snp.SpikingSystem(
    [
        snp.Neuron("0", 2, ["a^2/a -> a; 1", "a -> lambda"]),
        snp.Neuron("1", 1, ["a -> a", "a^2 -> lambda"]),
    ],
    [("0", "1"), ("1", "0")],
)


@pytest.fixture
def read(tmp_path):
    """Reads a text; warnings are errors unless told otherwise."""

    def of(text, level="extended"):
        path = tmp_path / "model.in"
        path.write_bytes(text.encode())
        return snp.read(path, level=level)

    return of


@pytest.fixture
def errors(read):
    """`line:column` and message of every error."""

    def of(text, level="extended"):
        with pytest.raises(snp.ReadError) as caught:
            read(text, level)
        return {f"{d.line}:{d.column}": d.message for d in caught.value.diagnostics}

    return of


def changed(line, text):
    """PAIR with another line of that number (from 1)."""
    lines = PAIR.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def test_pair(read, tmp_path):
    system = read(PAIR)
    assert system == PAIR_SYSTEM
    assert system.notes == {"steps": 10}
    snp.write(system, tmp_path / "written.in")
    assert (tmp_path / "written.in").read_text() == PAIR


@pytest.mark.parametrize(
    "text",
    [
        PAIR.rstrip("\n"),
        PAIR.replace("\n", "\r\n"),
        PAIR.replace("\n", " \n\n"),
        PAIR.replace(" ", "\t  "),
        "\n \t\n" + PAIR,
        PAIR.replace("0 a", "00 a").replace("a1", "a01"),
        "\ufeff" + PAIR,
    ],
)
def test_blanks_and_leading_zeros_say_nothing(read, text):
    assert read(text) == PAIR_SYSTEM


def test_rules_keep_their_order_within_a_neuron(read):
    lines = PAIR.splitlines()
    mixed = "\n".join([*lines[:6], lines[8], lines[6], lines[9], lines[7]])
    assert read(mixed) == PAIR_SYSTEM
    turned = "\n".join([*lines[:6], *lines[:5:-1]])
    assert [n.rules[::-1] for n in read(turned).neurons] == [n.rules for n in PAIR_SYSTEM.neurons]


def test_any_count_is_a_star(read):
    (rule,) = read("1\n1\n1\n0\n0\n0 a* 2 1 3\n").rules
    assert rule == snp.Rule("a*", 2, 1, 3)


def test_no_neurons(read, tmp_path):
    assert read("0\n0\n5\n") == snp.SpikingSystem([])
    snp.write(snp.SpikingSystem([]), tmp_path / "empty.in")
    assert snp.read(tmp_path / "empty.in") == snp.SpikingSystem([])


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("two\n", "1:1", "the number of neurons is 'two' (write an integer in digits)"),
        ("-2\n", "1:1", "the number of neurons is '-2' (write 0 or more)"),
        ("2 4\n", "1:3", "there is text after the number of neurons"),
        ("2", "1:2", "the number of rules is missing"),
        ("2\n4\n", "2:2", "the number of steps is missing"),
        ("2\n4\n10\n\n", "3:3", "the initial spikes are missing (write 2, or correct"),
        (changed(1, "9" * 101), "1:1", "the number of neurons is a number of 101 digits"),
        (changed(1, "1_0"), "1:1", "the number of neurons is '1_0'"),
        (changed(1, "1000000000"), "1:1", "there are 1,000,000,000 neurons in a file of"),
        (changed(4, "2"), "4:2", "there are only 1 initial spikes (write 2, or correct the"),
        (changed(4, "2 1 0"), "4:5", "there are more initial spikes than neurons"),
        (changed(4, "2 -1"), "4:3", "the spikes of neuron 1 is '-1' (write 0 or more)"),
        (changed(4, "2 1.5"), "4:3", "the spikes of neuron 1 is '1.5' (write an integer"),
        (changed(4, "2 \u0661"), "4:3", "the spikes of neuron 1 is"),
        (changed(5, "2 1"), "5:1", "the out-degree of neuron 0 is 2, but 1 target follows"),
        (changed(5, "0 1"), "5:1", "the out-degree of neuron 0 is 0, but 1 target follows"),
        (changed(5, "1 2"), "5:3", "there is no neuron 2 (they are numbered 0 to 1)"),
        (changed(5, "1 -1"), "5:3", "a target of neuron 0 is '-1'"),
        (changed(5, "2 1 1"), "5:5", "synapse (0, 1) is listed twice (remove one)"),
        (changed(7, "0 a+ 1 1 1"), "7:3", "unknown guard 'a+' (write a*: a rule also needs"),
        (changed(7, "0 a 1 1 1"), "7:3", "unknown guard 'a' (write a1 for exactly 1)"),
        (changed(7, "0 a(aa)* 1 1 1"), "7:3", "unknown guard 'a(aa)*' (write a* for any count"),
        (changed(7, "0 2 1 1 1"), "7:1", "there are more lines of synapses than neurons"),
        (changed(8, "0 2 1 1 1"), "8:3", "unknown guard '2'"),
        (changed(7, "0 a9999999 1 1 1"), "7:4", "the guard needs a tail + period above the limit"),
        (changed(7, "2 a2 1 1 1"), "7:1", "there is no neuron 2 (they are numbered 0 to 1)"),
        (changed(7, "x a2 1 1 1"), "7:1", "the neuron of a rule is 'x'"),
        (changed(7, "0 a2 x 1 1"), "7:6", "the number of spikes consumed is 'x'"),
        (changed(7, "0 a2 1 -1 1"), "7:8", "the number of spikes produced is '-1' (write 0 or"),
        (changed(7, "0 a2 1 1 0.5"), "7:10", "the delay is '0.5'"),
        (changed(7, "0 a2 0 1 0"), "7:1", "neuron '0', rule 1: the number of spikes consumed is 0"),
        (changed(7, "0 a2 1 1"), "7:1", "expected a rule (write five words: neuron guard consume"),
        (changed(7, "0 a2 1 1 1 1"), "7:12", "there is text after the rule: expected a rule"),
        (changed(8, "0 a1 1 0 2"), "8:10", "neuron '0', rule 2: a forgetting rule has no delay"),
        (PAIR + "0 a3 1 1 0\n", "11:1", "there is text after the last rule (remove it, or correct"),
        (PAIR.replace("4", "3", 1), "10:1", "there is text after the last rule"),
        (PAIR.replace("4", "5", 1), "10:11", "there are 4 rules (write 5, or correct the number"),
        (PAIR.replace("1 0\n0 a2", "0 a2", 1), "6:1", "the synapses of neuron 1 are missing"),
        (PAIR.replace("1 0\n0 a2", "1 0\n1 0\n0 a2"), "7:1", "there are more lines of synapses"),
        ("\n".join(PAIR.splitlines()[:4]), "4:4", "the synapses of neuron 0 are missing"),
    ],
)  # fmt: skip
def test_errors(errors, text, place, message):
    found = errors(text)
    assert place in found and found[place].startswith(message), found


@pytest.mark.parametrize(
    ("line", "text", "place", "message"),
    [
        (9, "1 a1 1 2 0", "9:8", "neuron '1', rule 1 produces 2 but consumes 1"),
        (10, "1 a3 2 0 0", "10:3", "neuron '1', rule 2: the guard a{3} of a forgetting rule"),
        (10, "1 a1 1 0 0", "10:6", "neuron '1', rule 2 forgets 1 spikes, at which a firing rule"),
        (5, "2 1 0", "5:5", "synapse (0, 0) leads to its own neuron"),
    ],
)
def test_strict(read, errors, line, text, place, message):
    assert read(changed(line, text)).level == "extended"
    found = errors(changed(line, text), "strict")
    assert list(found) == [place] and found[place].startswith(message)


def test_several_errors_at_once(errors):
    text = PAIR.replace("2 1\n", "2 x\n").replace("0 a2", "0 a+").replace("1 a2", "7 a2")
    assert list(errors(text)) == ["4:3", "7:3", "10:1"]


def test_what_is_said_twice_is_told_with_both_places(read, errors):
    (message,) = errors(changed(5, "3 1 0 1")).values()
    assert message.endswith("; first at 5:3")
    with pytest.warns(snp.ReadWarning, match=r":8:1: neuron '0', rule 2 repeats .*first at 7:1$"):
        read(changed(8, "0 a2 1 1 1"))
    with pytest.warns(snp.ReadWarning, match=r":9:3: neuron '1', rule 1: .* can never apply"):
        read(changed(9, "1 a1 2 1 0"))


def test_sizes_are_bounded(errors, monkeypatch):
    monkeypatch.setattr("snpjax.io.cusnp.most_listed", lambda: 5)
    found = errors(PAIR)
    assert list(found) == ["6:1"]
    assert found["6:1"].startswith("there are 2 neurons and more than 1 synapse, and memory is")
    assert list(errors("3\n1\n1\n")) == ["1:1"]


def test_many_different_rules_are_refused(errors, monkeypatch):
    monkeypatch.setattr(rule_lines, "MAX_KINDS", 3)
    assert errors(PAIR)["10:1"].startswith("from here on there are more than 3 different")


def test_broken_files_end_soon(errors):
    found = errors("1\n5000\n1\n0\n0\n" + "x y z\n" * 5000)
    assert len(found) == 1000


@pytest.mark.parametrize("length", range(1, len(PAIR) - 1, 3))
def test_truncated_files(errors, length):
    assert errors(PAIR[:length])


# ---- writing ----


def test_losses(tmp_path):
    system = snp.SpikingSystem(
        [
            snp.Neuron("p", 2, ["a(aa)+/a -> a", "a+/a^2 -> a"]),
            snp.Neuron("q", -1, [snp.Rule({1, 3}, 1)]),
        ],
        [("p", "q", 2), ("q", "p", -1)],
        input={"p": [1, 0, 2]},
        output="q",
        signed=True,
    )
    path = tmp_path / "model.in"
    with pytest.raises(snp.WriteError) as caught:
        snp.write(system, path)
    assert caught.value.items == (
        "that counts may be negative (signed) (left out)",
        "guard a{3}(aa)* of neuron 'p', rule 1 (the rule is left out)",
        "-1 spikes of neuron 'q' (0 is written)",
        "guard a|a{3} of neuron 'q', rule 1 (the rule is left out)",
        "weight 2 of synapse (p, q) (1 is written)",
        "weight -1 of synapse (q, p) (1 is written)",
        "input of neuron 'p' (left out)",
        "output neuron 'q' (left out)",
    )
    assert not path.exists()
    with pytest.warns(snp.WriteWarning):
        snp.write(system, path, lossy=True)
    assert snp.read(path) == snp.SpikingSystem(
        [snp.Neuron("0", 2, [snp.Rule("a*", 2, 1)]), snp.Neuron("1")], [("0", "1"), ("1", "0")]
    )


def test_rules_of_networks_that_change_are_losses(tmp_path):
    system = snp.SpikingSystem(
        [snp.Neuron("i", 1, [snp.DivisionRule("a", "j", "k"), snp.BuddingRule("aa", "j")])],
        dictionary=[("j", "k")],
        rules_by_label={"j": ["a -> a"]},
    )
    with pytest.raises(snp.WriteError) as caught:
        snp.write(system, tmp_path / "model.in")
    assert caught.value.items == (
        "neuron 'i', rule 1: [a]_i -> []_j || []_k (left out)",
        "neuron 'i', rule 2: [a^2]_i -> []_i / []_j (left out)",
        "1 rule of label 'j' (left out)",
        "pair (j, k) of the dictionary (left out)",
    )


def test_a_plus_is_written_as_a_star(tmp_path):
    guards = ["a+", "a*", "a{2,}", "a|a{3,}"]
    system = snp.SpikingSystem([snp.Neuron("x", 1, [snp.Rule(g, 3, 1) for g in guards])])
    path = tmp_path / "model.in"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        snp.write(system, path)
        assert set(snp.read(path).rules) == {snp.Rule("a*", 3, 1)}
    with pytest.raises(snp.WriteError, match=r"guard a\{4,\} of neuron 'x', rule 1"):
        snp.write(snp.SpikingSystem([snp.Neuron("x", 1, [snp.Rule("a{4,}", 3, 1)])]), path)


def test_names_are_positions(tmp_path):
    system = snp.SpikingSystem([snp.Neuron("b c", 1), snp.Neuron("\n", 2)], [("b c", "\n")])
    snp.write(system, tmp_path / "model.in")
    assert snp.read(tmp_path / "model.in") == numbered(system)
    assert name_table(system) == '0 "b c"\n1 "\\n"\n'


def numbered(system):
    """The system as it is read: neurons named by their positions, synapses sorted by sources."""
    names = {neuron.name: str(index) for index, neuron in enumerate(system.neurons)}
    neurons = [snp.Neuron(names[n.name], n.spikes, n.rules) for n in system.neurons]
    synapses = [(names[x], names[y], w) for x, y, w in system.synapses]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return replace(
            system,
            neurons=neurons,
            synapses=sorted(synapses, key=lambda synapse: int(synapse[0])),
            notes={},
        )


def round_trip(system, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        snp.write(system, folder / "model.in")
        return snp.read(folder / "model.in", level=system.level)


@st.composite
def held(draw, level):
    """Systems that the format can hold."""
    system = draw(systems(level=level, inputs=False, weights=False))
    guards = st.sampled_from(["a*", "a", "a{2}", "a{5}", "a{30}"])
    if level == "extended":
        any_rules = st.lists(st.builds(replace_guard, rules(), guards), max_size=3)
        neurons = [snp.Neuron(n.name, n.spikes, draw(any_rules)) for n in system.neurons]
    else:
        exact = [r for n in system.neurons for r in n.rules if is_held(r)]
        neurons = [
            snp.Neuron(n.name, n.spikes, [r for r in n.rules if r in exact]) for n in system.neurons
        ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return numbered(replace(system, neurons=neurons, output=()))


def replace_guard(rule, guard):
    return snp.Rule(guard, rule.consume, rule.produce, rule.delay)


def is_held(rule):
    least = rule.guard.minimum
    return rule.guard == snp.Guard("a*") or (least is not None and rule.guard.is_exactly(least))


@given(held("extended") | held("strict"))
def test_random_systems_read_again(tmp_path_factory, system):
    assert round_trip(system, tmp_path_factory.getbasetemp()) == system


@pytest.mark.slow
@settings(max_examples=many(2000))
@given(held("extended") | held("strict"))
def test_two_thousand_random_systems_read_again(tmp_path_factory, system):
    assert round_trip(system, tmp_path_factory.getbasetemp()) == system


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_cases_read_again_or_are_refused(case, tmp_path):
    if case["theme"] == "invalid" or case["variant"] not in ("static", "division-budding"):
        pytest.skip(f"{case['variant']} case of theme {case['theme']}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = replace(case_system(case), output=(), name="")
    is_plain = system.is_static and not system.input and not system.dictionary
    weights = {weight for _, _, weight in system.synapses}
    if is_plain and weights <= {1} and all(map(is_held, system.rules)):
        assert round_trip(system, tmp_path) == numbered(system)
        return
    try:
        round_trip(system, tmp_path)
    except snp.WriteError:
        return
    kept = [r.guard for r in system.rules if not is_held(r)]
    assert is_plain and weights <= {1} and kept, "only a guard such as a+ may be written otherwise"


@needs_shared
def test_sample():
    system = snp.read(SHARED / "samples/cusnp/sort_5.in")
    assert system.num_neurons == 15 and system.num_rules == 30 and system.notes == {"steps": 50}
    solution = snp.run(system, max_steps=50)
    assert solution.halted and solution.steps == 6
    assert solution.spikes[10:].tolist() == [5, 4, 3, 2, 1]
