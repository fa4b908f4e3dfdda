"""Subsets of synapses and decisions of astrocytes that are chosen on the page."""

from math import comb

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax.choice import NO_RULE
from snpjax.io import model_text
from snpjax.testing import plastic_systems, reference, variant_systems
from snpjax.viz.page import Session
from snpjax.viz.page.arguments import Refused
from snpjax.viz.page.stepping import Stepper
from snpjax.viz.page.subsets import Subsets
from tests.support.helpers import quietly


_OTHERS = ["j", "k", "l", "m"]
PLASTIC = snp.SpikingSystem(
    [
        snp.Neuron("i", 5, ["a+/a -> +2(i, {j, k, l, m})", "a+/a -> -+2(i, {j, k, l})", "a -> a"]),
        *(snp.Neuron(name, 0, ["a^2 -> a"]) for name in _OTHERS),
        snp.Neuron("n", 3, ["a+/a -> +-1(n, {j, k, i})"]),
    ],
    [("i", "m"), ("j", "i"), ("m", "n")],
    output="m",
)
ASTROCYTES = snp.SpikingSystem(
    [
        snp.Neuron("x", 4, ["a+/a -> a", "a+/a^2 -> a^2; 1", "a+/a -> lambda"]),
        snp.Neuron("y", 3, ["a+/a -> a", "a^3 -> a^2"]),
        snp.Neuron("z"),
    ],
    [("x", "y"), ("x", "z"), ("y", "z", 2), ("y", "x")],
    output="z",
    variant=snp.Astrocytes(
        [
            snp.Astrocyte([("x", "y"), ("y", "z")], threshold=3),
            snp.Astrocyte([("x", "z"), ("y", "x")], threshold=2),
        ]
    ),
)


def walked(system, data, *, steps=6):
    """A walk by choices of the reference, each of them made on the page by its numbers."""
    stepper, size = Stepper(system), len(system.neurons)
    configuration = reference.initial(system)
    num_astrocytes = len(getattr(system.variant, "astrocytes", ()))
    given_rules, given_subsets = [], []
    for at in range(steps):
        moment = stepper.moments[at]
        if reference.is_halting(system, configuration):
            break
        own = reference.alternatives(system, configuration)
        for neuron, actions in enumerate(own):
            sets: dict[int, list[tuple[int, ...]]] = {}
            for action in actions:
                if isinstance(action, tuple):
                    rule = NO_RULE if action[0] is None else action[0]
                    sets.setdefault(rule, []).append(action[1])
            several = {rule: len(some) for rule, some in sets.items() if len(some) > 1}
            offered = moment.subsets.get(neuron, {})
            assert {rule: some.number for rule, some in offered.items()} == several
            for rule, some in offered.items():
                numbers = [some.number_of(own) for own in sets[rule]]
                assert numbers == list(range(some.number))
        actions = tuple(data.draw(st.sampled_from(some)) for some in own)
        decisions = reference.decisions(system, configuration, actions)
        decided = tuple(data.draw(st.sampled_from(some)) for some in decisions)
        rules, subsets = {}, {}
        for neuron, action in enumerate(actions):
            rule, targets = action if isinstance(action, tuple) else (action, ())
            if rule is not None:
                rules[neuron] = rule
            some = moment.subsets.get(neuron, {}).get(NO_RULE if rule is None else rule)
            if some is not None:
                subsets[neuron] = some.number_of(targets)
        for a, decision in enumerate(decided):
            if decision is not None:
                assert size + a in moment.subsets  # it could be foreseen
                subsets[size + a] = decision
        after, _ = reference.step(system, configuration, (*actions, *decided))
        held = {i: list(moment.subsets[i][rules.get(i, NO_RULE)].candidates) for i in subsets}
        if data.draw(st.booleans()):  # by what they hold, as the page does it
            by = {i: [c for c in held[i] if c in actions[i][1]] for i in subsets if i < size}
            by |= {i: [number] for i, number in subsets.items() if i >= size}
        else:
            by = subsets
        made = stepper.step(at, rules, data.draw(st.sampled_from(["first", 7])), by)
        assert made.solution.spikes.tolist() == list(after.spikes)
        if after.network is not None:
            assert made.network is not None
            assert made.network.synapses == after.network.synapses
        assert made.taken == {chooser: number for chooser, number in subsets.items() if number}
        given_rules.append([rules.get(i, NO_RULE) for i in range(size + num_astrocytes)])
        given_subsets.append([made.taken.get(i, 0) for i in range(size + num_astrocytes)])
        configuration = after
    return stepper, given_rules, given_subsets


@settings(max_examples=12)
@given(st.data())
@pytest.mark.parametrize("system", [PLASTIC, ASTROCYTES], ids=["plasticity", "astrocytes"])
def test_chosen_subsets_are_those_of_the_reference(system, data):
    walked(system, data)


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(plastic_systems(max_neurons=5), variant_systems("astrocytes", max_neurons=5)),
    st.data(),
)
def test_chosen_subsets_of_random_systems_are_those_of_the_reference(system, data):
    walked(system, data, steps=4)


@pytest.mark.parametrize("system", [PLASTIC, ASTROCYTES], ids=["plasticity", "astrocytes"])
def test_a_random_computation_is_replayed_by_what_it_took(system):
    """The rules and subsets of the rows are rows of `GivenChoices`, and the page replays them."""
    session = Session("s.snp.json", model_text(system, "native")[0])
    model = session.answer("begin", {})["model"]
    ask = {"model": model, "at": 0, "count": 5, "rest": 3}
    rows = session.answer("step", ask)["rows"]
    size = len(system.neurons) + len(getattr(system.variant, "astrocytes", ()))
    rules = np.full((len(rows), size), NO_RULE)
    subsets = np.zeros((len(rows), size), np.int32)
    for at, row in enumerate(rows):
        for neuron, rule, _ in row["fired"]:
            rules[at, neuron] = rule
        for chooser, number in row["taken"]:
            subsets[at, chooser] = number
    assert subsets.any()
    choice = snp.GivenChoices(rules, subsets)
    solution = snp.run(system, max_steps=len(rows), choice=choice, throw=False)
    assert solution.configurations[1:].tolist() == [row["spikes"] for row in rows]
    steps = [
        {"chosen": [x[:2] for x in row["fired"]], "subsets": row["taken"], "rest": "first"}
        for row in rows
    ]
    assert session.answer("replay", {"model": model, "at": 0, "steps": steps})["rows"] == rows


def test_a_subset_that_cannot_be_taken_is_refused():
    stepper = Stepper(PLASTIC)
    assert stepper.moments[0].subsets[0][0] == Subsets("+", 2, (1, 2, 3))
    assert 1 not in stepper.moments[0].subsets[0]  # it deletes the only synapse
    with pytest.raises(Refused, match="Neuron i has no subset 3 now: the last is 2"):
        stepper.step(0, {0: 0}, "first", {0: 3})
    with pytest.raises(Refused, match="Neuron i has several rules. Choose one, then its subset"):
        stepper.step(0, {}, "first", {0: 1})
    with pytest.raises(Refused, match="The unknown neuron 99 has no subset 1"):
        stepper.step(0, {}, "first", {98: 1})
    for subset in ([1], [1, 5], [1, 1]):  # too few, not a candidate, twice the same
        with pytest.raises(Refused, match="Neuron i cannot take this subset now"):
            stepper.step(0, {0: 0}, "first", {0: subset})
    with pytest.raises(Refused, match=r"Neuron j cannot select its rule 1 now. It can select none"):
        stepper.step(0, {1: 0}, "first")
    with pytest.raises(Refused, match=r"Neuron i .* rule 9 now. Choose one of: a\+/a -> "):
        stepper.step(0, {0: 8}, "first")
    assert len(stepper.moments) == 1
    other = r"The astrocyte of \(x, y\), \(y, z\) has no subset 2 now"
    with pytest.raises(Refused, match=other):
        Stepper(ASTROCYTES).step(0, {}, "first", {3: 2})


def test_subsets_beyond_the_numbers_are_left_to_chance():
    names = [f"n{i}" for i in range(40)]
    assert comb(40, 20) > 2**30
    many = snp.PlasticityRule("a", 1, "+", 20, names)
    system = quietly(snp.SpikingSystem, [snp.Neuron("x", 1, [many]), *map(snp.Neuron, names)])
    stepper = Stepper(system)
    assert stepper.moments[0].subsets == {}
    assert stepper.step(0, {}, 3).solution.spikes.sum() == 20


def test_new_neurons_name_their_parents():
    """Right children first, then buds; a neuron that divides keeps its place."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("b", 1, ["[a]_b -> []_b / []_c"]),
            snp.Neuron("d", 1, ["[a]_d -> []_e || []_f"]),
            snp.Neuron("s", 1, ["a -> a"]),
            snp.Neuron("g", 1, ["[a]_g -> []_h || []_k"]),
        ],
        [("s", "b")],
    )
    stepper = Stepper(system)
    before = stepper.moments[0]
    row = stepper.row_json(stepper.step(0, {}, "first"), before)
    assert row["network"]["labels"] == ["b", "e", "s", "h", "f", "k", "c"]
    assert row["parents"] == [1, 3, 0]
