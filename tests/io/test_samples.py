"""Files of WebSnapse and sn-p-factory that others wrote: each gives its published run or graph."""

import json
import re
import warnings

import pytest

import snpjax as snp
from snpjax import DivisionRule, Neuron, SpikingSystem
from snpjax.io import ReadError, ReadWarning
from snpjax.io.websnapse.guard_text import rule_text
from snpjax.io.websnapse.rules import parse_rule_text
from snpjax.testing import reference
from snpjax.testing.reference_graph import explore
from tests.io.tables.holdable import numbered
from tests.io.tables.mistakes import quietly, read_text
from tests.support.helpers import (
    SHARED,
    assert_runs_down_the_chain,
    case_neurons,
    load_cases,
    needs_shared,
)


def sample(name):
    return quietly(snp.read, SHARED / "samples" / name)


def published(name):
    return json.loads((SHARED / "cases/websnapse" / name).read_text())


def assert_same_system(system, case):
    """The system and its environment are those of a published case."""
    expected = SpikingSystem(case_neurons(case), [tuple(s) for s in case["synapses"]])
    assert (system.neurons, system.synapses) == (expected.neurons, expected.synapses)
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
    published = case["graph"]
    graph = explore(system, max_configurations=published["configurations"])
    assert graph.num_expanded == len(graph.configurations) == published["configurations"]
    rows = zip(published["spikes"], published["timers"], published["pending"], strict=True)
    expected = [tuple(map(tuple, row)) for row in rows]
    reached = [configuration[:3] for configuration in graph.configurations]
    assert set(reached) == set(expected)
    edges = {
        (reached[a], choice, tuple(arrived(system, emitted).items()), reached[b])
        for a, choice, emitted, b in graph.edges
    }
    assert len(graph.edges) == published["choice_vectors"]
    assert edges == {
        (expected[a], tuple(choice), tuple(arrivals.items()), expected[b])
        for a, b, choice, arrivals in published["edges"]
    }


def arrived(system, emitted):
    """What arrives at each output node when the neurons emit this."""
    return {
        recorder: sum(weight * emitted[system.names[source]] for source, weight in sources)
        for recorder, sources in system.notes.get("outputs", {}).items()
    }


CASES = {
    "websnapse/bit_adder_7_11.json": "traces/wsr_bit_adder_7_11",
    "websnapse/bit_adder_30_31_32_33.json": "traces/wsr_bit_adder_30_31_32_33",
    "websnapse/comparator_4_2.json": "traces/wsr_comparator_4_2",
    "websnapse/xor_0_1.json": "traces/wsr_boolean_function_xor_0_1",
    "websnapse/decrement_20.json": "traces/wsr_decrement_020",
    "websnapse/complete_8.json": "traces/wsr_complete_008",
    "websnapse/increment_20.json": "graphs/wsr_increment_020",
    "websnapse/multiples_of_2.json": "graphs/wsr_multiples_of_002",
    "websnapse/multiples_of_16.json": "graphs/wsr_multiples_of_016",
    "websnapse/subset_sum_5_5.json": "graphs/wsr_subset_sum_5_5",
    "xmp/spiker_3k3.xmp": "traces/v2_ex1_3kp3_spiker",
    "xmp/spiker_3k3_v1.xmp": "traces/v2_ex1_3kp3_spiker",
    "xmp/bit_adder.xmp": "traces/v2_ex2_bitadder",
    "xmp/increasing_comparator.xmp": "traces/v2_ex3_increasing_comparator",
    "xmp/bitonic_sorter_4.xmp": "traces/v2_4_neuron_bitonic_sorter_standard",
    "xmp/weighted_adder_10_11.xmp": "traces/v2_bit_adder_weights_10p11",
    "xmp/input_neurons_20_30.xmp": "traces/v2_bit_adder_input_neurons_single_inp_20p30",
    "xmp/bitstring_comparator_5_8.xmp": "traces/v2_inc_comparator_input_neurons_5_8",
    "xmp/complete_4.xmp": "traces/v2_pi_sc",
    "xmp/naturals_gt1.xmp": "graphs/v2_ex5_naturally_greater_one",
    "factory/multiples_of_4.yaml": "graphs/wsr_multiples_of_004",
}


@needs_shared
@pytest.mark.parametrize("name", CASES)
def test_sample_gives_its_trace_or_graph(name):
    case = published(f"{CASES[name]}.json")
    (assert_same_trace if "run" in case else assert_same_graph)(sample(name), case)


@needs_shared
def test_samples_are_read_without_warnings_but_for_one():
    for name in CASES:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            snp.read(SHARED / "samples" / name)
        told = [str(w.message) for w in caught if isinstance(w.message, ReadWarning)]
        if name == "xmp/input_neurons_20_30.xmp":
            assert re.search(r":29:29: there is no <out> to 'out1-fVJP_fZcX'", told.pop())
        assert not told or not name.startswith("websnapse"), (name, told)


@needs_shared
def test_one_spike_runs_down_the_chain():
    assert_runs_down_the_chain(sample("websnapse/one_chain_10.json"))
    assert_runs_down_the_chain(sample("xmp/one_chain_10.xmp"))
    assert sample("xmp/spiker_3k3_v1.xmp") == sample("xmp/spiker_3k3.xmp")


@needs_shared
def test_samples_that_are_refused():
    with pytest.raises(ReadError) as caught:
        sample("websnapse/bit_adder_empty.json")
    places = [(15, 15), (16, 13), (20, 15), (25, 15)]
    assert [(d.line, d.column) for d in caught.value.diagnostics] == places
    assert "there is no neuron 'in_{0}' (the only one is 'out')" in str(caught.value)
    with pytest.raises(ReadError, match=r"malformed\.xmp:17:15: not well-formed XML: invalid tok"):
        sample("xmp/malformed.xmp")


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
        assert set(map(without_underscores, ours[name].rules)) == set(neuron.rules)
    for label in ("d_1", "d_2", "h_1", "h_2", "Cx_1", "Cx_2", "Cx_11", "Cx_10", "Cx_21", "Cx_20"):
        entries = case["rules_by_label"][label.replace("_", "")]
        (expected,) = case_neurons({"neurons": [{"id": "x", "spikes": 0, "rules": entries}]})
        assert set(map(without_underscores, system.rules_by_label[label])) == set(expected.rules)
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
        rules = [n.rules for n in case_neurons(published("graphs/wsr_multiples_of_002.json"))]
        assert [neuron.rules for neuron in system.neurons] == rules
    else:
        train = [1, 0, 0, 0, 1, 0, 0, 1]
        assert system.neurons == () and not system.input
        assert system.notes["direct"] == {"out": {"in1": train, "in2": train}}


@needs_shared
@pytest.mark.parametrize("suffix", ["xml", "yaml"])
def test_adder_of_the_factory(suffix):
    system = sample(f"factory/bit_adder_5_9_3.{suffix}")
    names = ["stall_{2,0}", "add_{0,1}", "add_{0,1,2}"]
    if suffix == "xml":
        names = ["stall_20", "add_01", "add_012"]
        assert system.notes["positions"]["in_0"] == [0, 0]
        inputs = {"train": [1, 0, 0, 1], "targets": [["add_01", 1]]}
        assert system.notes["inputs"]["in_1"] == inputs
    stall, first, second = names
    adder = ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"]
    assert system == SpikingSystem(
        [Neuron(stall, 0, ["a -> a"]), Neuron(first, 0, adder), Neuron(second, 0, adder)],
        [(stall, second), (first, second)],
        input={first: (2, 0, 1, 1), stall: (1, 1)},
        output=second,
    )
    emitted = [row[2] for row in reference.run(system, max_steps=20).emissions]
    assert sum(bit << place for place, bit in enumerate(emitted[2:])) == 5 + 9 + 3


@needs_shared
def test_generator_of_the_factory():
    """Its YAML has other names."""
    system = sample("factory/multiples_of_4.xml")
    others = sample("factory/multiples_of_4.yaml")
    assert numbered(system.replace(output=())) == numbered(others.replace(output=()))
    assert system.notes["outputs"] == {"env_out": [["n_3", 1]]}
    assert system == SpikingSystem(
        [
            Neuron("n_1", 2, ["a^2/a -> a; 3", "a -> lambda"]),
            Neuron("n_2", 1, ["a -> a; 3", "a -> a; 4"]),
            Neuron("n_3", 3, ["a^3 -> a", "a -> a; 4", "a^2 -> lambda"]),
        ],
        [("n_1", "n_2"), ("n_1", "n_3"), ("n_2", "n_1"), ("n_2", "n_3")],
        output="n_3",
    )


@needs_shared
def test_comparator_of_the_factory():
    system = sample("factory/comparator_6_2.yaml")
    case = published("traces/wsr_comparator_4_2.json")
    inputs = {
        name: {"train": case["inputs"][name], "targets": case["input_targets"][name]}
        for name in "ab"
    }
    smaller = system.replace(
        input={name: (2, 2, 1, 1) for name in system.input},
        notes={**system.notes, "inputs": inputs},
    )
    assert_same_trace(smaller, case)
    assert dict(system.input) == {name: (2, 2, 1, 1, 1, 1) for name in ("one", "both")}
    emissions = reference.run(system, max_steps=20).emissions
    counts = {
        recorder: sum(row[system.names[source]] for row in emissions for source, _ in sources)
        for recorder, sources in system.notes["outputs"].items()
    }
    assert counts == {"min": 2, "max": 6}


@needs_shared
def test_decrement_of_the_factory():
    system = sample("factory/decrement_3.yaml")
    case = published("traces/wsr_decrement_020.json")
    forty = [Neuron(n.name, 40 if n.name == "r" else n.spikes, n.rules) for n in system.neurons]
    assert_same_trace(SpikingSystem(forty, system.synapses, notes=system.notes), case)
    final = reference.run(system, max_steps=50).configurations[-1]
    assert final.spikes[system.names["r"]] == 4  # the register holds twice its number


@pytest.mark.parametrize(
    "case",
    [
        *load_cases("websnapse/traces", schema="snpjax-trace/1"),
        *load_cases("websnapse/graphs", schema="snpjax-graph/1"),
    ],
)
def test_published_systems_are_written_and_read(case, tmp_path):
    neurons = case_neurons(case)
    for entry, neuron in zip(case["neurons"], neurons, strict=True):
        for written, rule in zip(entry["rules"], neuron.rules, strict=True):
            texts = [rule_text(rule)]
            # As their files write them; WebSnapse 1 and 2 write another language.
            if "->" not in written.get("text", "->"):
                texts.append(written["text"])
            for text in texts:
                parsed = parse_rule_text(text)
                assert (parsed.rule, parsed.errors, parsed.warnings) == (rule, [], [])
    nodes = [
        {
            **{"id": n.name, "type": "regular", "content": n.spikes},
            "rules": [rule_text(rule) for rule in n.rules],
        }
        for n in neurons
    ]
    nodes += [{"id": name, "type": "output", "content": ""} for name in case["outputs"]]
    nodes += [{"id": n, "type": "input", "content": train} for n, train in case["inputs"].items()]
    wires = [*case["synapses"]]
    for name, sources in case["outputs"].items():
        wires += [(source, name, weight) for source, weight in sources]
    for name, targets in case["input_targets"].items():
        wires += [(name, target, weight) for target, weight in targets]
    synapses = [dict(zip(("from", "to", "weight"), wire, strict=True)) for wire in wires]
    text = json.dumps({"neurons": nodes, "synapses": synapses})
    system = quietly(read_text, "websnapse", text)
    (assert_same_trace if "run" in case else assert_same_graph)(system, case)
    path = tmp_path / "model.json"
    snp.write(system, path, format="websnapse")
    again = quietly(snp.read, path)
    assert again == system
    for key in ("inputs", "outputs"):
        assert again.notes.get(key) == system.notes.get(key)
