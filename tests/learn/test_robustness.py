"""Robustness against brute force: every input of a box is run by the reference interpreter."""

import itertools
import random

import numpy as np
import pytest

import snpjax as snp
from snpjax import learn
from snpjax.learn.robustness import decide, solver
from snpjax.learn.robustness.bounds import NetworkBounds
from snpjax.learn.robustness.classifier import Classifier
from snpjax.testing import reference
from tests.support.helpers import quietly


STEPS = 4
RULES = (
    [snp.Rule("a{2,}", 2, 1)],
    [snp.Rule("a(aa)*", 1, 2), snp.Rule("a{4,}", 3, 1)],
    ["a^2/a -> a", "a{3,} / a^3 -> lambda"],
    ["a+/a -> a"],
    [],
)


def drawn(seed: int) -> tuple[snp.SpikingSystem, learn.SpikeBox, learn.Decoder]:
    """A small network of any shape, and a box of two cases."""
    draw = random.Random(seed)
    sources = [
        snp.Neuron(f"x{i}", 0, draw.choice([learn.relay(4), ["a+/a -> a"], ["a{2,}/a^2 -> a"]]))
        for i in range(draw.randint(1, 3))
    ]
    inner = [
        snp.Neuron(f"h{i}", draw.randint(0, 3), draw.choice(RULES))
        for i in range(draw.randint(0, 3))
    ]
    decoder = draw.choice(list(learn.Decoder))
    counting = decoder is learn.Decoder.SPIKES_LEFT and draw.random() < 0.7
    outputs = [
        snp.Neuron(f"y{i}", draw.randint(0, 1), [] if counting else draw.choice(RULES[:-1]))
        for i in range(draw.randint(2, 3))
    ]
    later = [neuron.name for neuron in (*inner, *outputs)]
    synapses = [
        (neuron.name, target, draw.choice([-3, -2, -1, 1, 1, 2, 3]))
        for neuron in (*sources, *inner, *([] if counting else outputs))
        for target in later
        if target != neuron.name and draw.random() < 0.6
    ]
    reached = sorted({target for _, target, _ in synapses})
    train = {draw.choice(reached): [0, draw.randint(1, 2)]} if reached and seed % 3 == 0 else {}
    system = quietly(
        snp.SpikingSystem,
        [*sources, *inner, *outputs],
        synapses,
        input=train,
        output=[neuron.name for neuron in outputs],
        signed=True,
    )
    counts = [[draw.randint(0, 4) for _ in range(2)] for _ in sources]
    changes = draw.choice([None, 1, 2])
    return system, learn.SpikeBox.around(counts, each=draw.randint(0, 2), changes=changes), decoder


def numbers(system, decoder, spikes):
    """What counts of each output, by the reference interpreter."""
    neurons = [
        snp.Neuron(n.name, int(spikes.get(n.name, n.spikes)), n.rules) for n in system.neurons
    ]
    own = quietly(system.replace, neurons=neurons)
    run = reference.run(own, choose=reference.first, max_steps=STEPS)
    at = [own.names[name] for name in own.output]
    if decoder is learn.Decoder.SPIKES_LEFT:
        return [run.configurations[-1].spikes[i] for i in at]
    return [sum(sent[i] for sent in run.emissions) for i in at]


def members(box, case):
    """All inputs of a case."""
    sides = zip(box.low[:, case], box.high[:, case], strict=True)
    for spikes in itertools.product(*(range(low, high + 1) for low, high in sides)):
        moved = sum(abs(a - b) for a, b in zip(spikes, box.centre[:, case], strict=True))
        if box.changes is None or moved <= box.changes:
            yield spikes


def first_largest(values):
    return max(range(len(values)), key=lambda i: (values[i], -i))


def check(seed: int) -> set[str]:
    """Compare one drawn network with brute force, with enumeration and without."""
    system, box, decoder = drawn(seed)
    inputs = [neuron.name for neuron in system.neurons if neuron.name.startswith("x")]
    options = {"steps": STEPS, "decoder": decoder, "inputs": inputs}
    results = [
        learn.robustness(system, box, **options),
        learn.robustness(system, box, **options, enumerate_up_to=0, seconds=1_000),
        learn.robustness(system, box, **options, enumerate_up_to=0, seconds=0),
    ]
    bounds = NetworkBounds.of(Classifier.of(system, inputs, STEPS, decoder), box)
    for case in range(box.num_cases):
        every = {
            spikes: numbers(system, decoder, dict(zip(inputs, spikes, strict=True)))
            for spikes in members(box, case)
        }
        answers = {spikes: first_largest(values) for spikes, values in every.items()}
        own = answers[tuple(box.centre[:, case].tolist())]
        is_robust = set(answers.values()) == {own}
        for result in results:
            assert result.answers[case] == own
            decision = result.decisions[case]
            if result is not results[2]:
                assert decision.status is (snp.Status.PROVED if is_robust else snp.Status.REFUTED)
            assert decision.status is not snp.Status.PROVED or is_robust
            if result.refuted[case]:
                found = tuple(result.counterexamples[:, case].tolist())
                assert answers[found] == result.other_answers[case] != own
            else:
                assert result.counterexamples.mask[:, case].all()
                assert result.other_answers.mask[case]
        lead = bounds.lead(results[0].answers)[:, case]
        required = Classifier.of(system, inputs, STEPS, decoder).required(own)
        for values in every.values():
            for other, value in enumerate(values):
                if other != own:
                    assert lead[other] <= values[own] - value - required[other]
    return {decision.by for result in results for decision in result.decisions}


@pytest.mark.parametrize("start", range(0, 12, 6))
def test_it_is_what_brute_force_finds(start):
    ways = set.union(*(check(seed) for seed in range(start, start + 6)))
    assert {"enumeration", "bounds"} <= ways


@pytest.mark.slow
def test_it_is_what_brute_force_finds_of_many():
    ways = set.union(*(check(seed) for seed in range(100, 220)))
    assert ways >= {"enumeration", "bounds", "search", "solver"}


def layered(weight=2):
    """The answer is 0 while x sends at least as many spikes as z."""
    return snp.SpikingSystem(
        [
            snp.Neuron("x", 0, learn.relay(9)),
            snp.Neuron("z", 0, learn.relay(9)),
            snp.Neuron("one", 0),
            snp.Neuron("two", 0),
        ],
        [("x", "one", weight), ("z", "two", weight)],
        output=["one", "two"],
    )


def test_the_first_of_equal_numbers_is_the_answer():
    box = learn.SpikeBox.around([[3, 3], [3, 2]], each=1, changes=1)
    found = learn.robustness(layered(), box, steps=2)
    assert found.answers.tolist() == [0, 0]
    assert found.proved.tolist() == [False, True]  # 3 and 3 are equal; 3 and 4 are not
    assert found.counterexamples[:, 0].tolist() in ([2, 3], [3, 4])
    assert repr(found) == "Robustness(2 cases: 1 proved, 1 refuted, 0 unknown)"


def test_a_solver_without_time_proves_nothing(monkeypatch):
    """The bounds are loose here, because two paths from x cancel."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("x", 0, learn.relay(9)),
            snp.Neuron("p", 0, ["a{2,}/a^2 -> a"]),
            snp.Neuron("q", 0, ["a{2,}/a^2 -> a"]),
            snp.Neuron("one", 1),
            snp.Neuron("two", 0),
        ],
        [("x", "p"), ("x", "q"), ("p", "one"), ("q", "two")],
        output=["one", "two"],
    )
    box = learn.SpikeBox.around([[5]], each=3)
    options = {"steps": 8, "enumerate_up_to": 0}
    assert learn.robustness(system, box, **options, seconds=1_000).decisions[0].by == "solver"
    for found in (
        learn.robustness(system, box, **options, seconds=0),
        learn.robustness(system, box, **options, seconds=1e-9),
    ):
        assert found.unknown.all()
    assert found.decisions[0].reason == "the solver had no time left"

    def wrong(*_):
        return box.centre[:, 0]

    monkeypatch.setattr(decide, "other_input", wrong)
    with pytest.raises(RuntimeError, match="was not confirmed by its run"):
        learn.robustness(system, box, **options)


def test_without_z3_the_extra_is_named(monkeypatch):
    def missing():
        raise ImportError("z3-solver is not installed (pip install '.[prove]')")

    monkeypatch.setattr(solver, "z3", missing)
    box = learn.SpikeBox.around([[3], [2]], each=3)
    assert learn.robustness(layered(), box, steps=2).refuted.all()  # needs no solver
    monkeypatch.setattr(decide, "attacked", lambda *_: {})
    found = learn.robustness(layered(), box, steps=2, enumerate_up_to=0)
    assert found.unknown.all()
    assert found.decisions[0].reason.endswith("(pip install '.[prove]')")


def firing(**rules):
    """Two relays, each followed by an output that sends every spike on."""
    names = {"ox": ["a+/a -> a"], "oy": ["a+/a -> a"], **rules}
    return snp.SpikingSystem(
        [snp.Neuron(x, 0, learn.relay(9)) for x in "xy"]
        + [snp.Neuron(name, 0, own) for name, own in names.items()],
        [("x", "ox"), ("y", "oy")],
        output=["ox", "oy"],
    )


def test_the_default_number_of_an_output_follows_its_rules():
    box = learn.SpikeBox.around([[1], [1]], each=5, changes=5)
    found = learn.robustness(firing(), box, steps=12)
    assert found.refuted.all() and found.other_answers.tolist() == [1]
    kept = learn.robustness(firing(ox=[], oy=[]), box, steps=12)
    assert kept.refuted.all()
    chosen = learn.Decoder.SPIKES_LEFT
    assert learn.robustness(firing(), box, steps=12, decoder=chosen).proved.all()  # 0 and 0
    mixed = "Output 'ox' has rules and output 'oy' has none.*pass `decoder="
    with pytest.raises(ValueError, match=mixed):
        learn.robustness(firing(oy=[]), box, steps=12)


def test_large_counts_are_unknown():
    box = learn.SpikeBox.around([[3], [2]], each=1)
    found = learn.robustness(layered(), box, steps=2, enumerate_up_to=0, seconds=0)
    assert found.decisions[0].by == "search"
    system = layered(10**6).replace(
        neurons=[*layered().neurons[:2], snp.Neuron("one", 0, ["a{9,}/a -> a"]), snp.Neuron("two")]
    )
    box = learn.SpikeBox.around([[3], [0]], each=1)
    left = learn.Decoder.SPIKES_LEFT
    found = learn.robustness(system, box, steps=2, decoder=left, enumerate_up_to=0)
    assert found.unknown.all() and "more than 131072" in found.decisions[0].reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output": ["one"]}, "1 output neuron.*one for each class"),
        ({"neurons": [snp.Neuron("x", 0, ["a -> a; 1"]), *layered().neurons[1:]]}, "'x', rule 0"),
        ({"compatibility": snp.Compatibility(delete_within_N=True)}, "without `compatibility`"),
    ],
)
def test_systems_that_are_not_such_networks(change, message):
    box = learn.SpikeBox.around([[3], [2]])
    with pytest.raises(ValueError, match=message):
        learn.robustness(quietly(layered().replace, **change), box, steps=2)


def test_boxes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"3 inputs, and the system 2: x, z.*\(inputs, cases\)"):
        learn.robustness(layered(), learn.SpikeBox.around(np.zeros((3, 1))), steps=2)
    with pytest.raises(ValueError, match="`steps` is 0"):
        learn.robustness(layered(), learn.SpikeBox.around(np.zeros((2, 1))), steps=0)
    with pytest.raises(ValueError, match=r"the shape \(2,\). Pass \(inputs, cases\)"):
        learn.SpikeBox.around([1, 2])
    with pytest.raises(ValueError, match="is 1.5 in row 0, column 0.* Give whole numbers"):
        learn.SpikeBox.around([[1.5]])
    with pytest.raises(ValueError, match="Input 0 of case 0 has 9 spikes, outside its bounds of"):
        learn.SpikeBox.around([[9]], high=4)
    with pytest.raises(ValueError, match="`changes` is -1"):
        learn.SpikeBox.around([[1]], changes=-1)
    with pytest.raises(ValueError, match="`each` is -1"):
        learn.SpikeBox.around([[1]], each=-1)


def test_inputs_in_any_order():
    """a is 0, and b may send more than x has."""
    neurons = [
        *(snp.Neuron(name, 0, ["a+/a -> a"]) for name in "ab"),
        snp.Neuron("x", 10),
        snp.Neuron("y", 0),
    ]
    system = snp.SpikingSystem(neurons, [("a", "x"), ("b", "y")], output=["x", "y"])
    for inputs, rows in ((["a", "b"], [0, 1]), (["b", "a"], [1, 0])):
        low, high = np.array([[0], [5]])[rows], np.array([[0], [15]])[rows]
        box = learn.SpikeBox(low, low, high)
        found = learn.robustness(
            system, box, steps=20, inputs=inputs, decoder=learn.Decoder.SPIKES_LEFT,
            enumerate_up_to=0,
        )  # fmt: skip
        assert found.refuted.all(), inputs
    with pytest.raises(ValueError, match="names a neuron twice"):
        learn.robustness(system, box, steps=20, inputs=["a", "a"])
