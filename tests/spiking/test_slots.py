"""Rules as slots: which forgetting rules become one, and that nothing else changes."""

import warnings

import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.spiking import lower
from snpjax.spiking.model.rule_table import ALL, slots_of_neurons
from tests.spiking.test_properties import seeds
from tests.support.helpers import MAX_STEPS, with_ballast


def slots(*rules, faithful=False):
    """(low, high, consume, number) of every slot of one neuron."""
    table = slots_of_neurons([snp.Neuron("x", 0, rules)], faithful=faithful)
    return [
        (low, high, consume, number)
        for low, high, consume, number in zip(
            table.low[:, 0], table.high[:, 0], table.consume[:, 0], table.number[:, 0], strict=True
        )
        if low <= high
    ]


def test_a_family_becomes_one_rule():
    assert slots("a^3 -> a", "a^2 -> lambda", "a -> lambda") == [(3, 3, 3, 0), (1, 2, ALL, 1)]
    assert slots("a -> lambda", "a^2 -> a", "a^3 -> lambda") == [(1, 3, ALL, 0), (2, 2, 2, 1)]
    assert slots("a^2 -> lambda") == [(2, 2, 2, 0)]
    assert len(slots("a^2 -> lambda", "a -> lambda", faithful=True)) == 2


def test_a_member_does_not_pass_a_rule_that_competes_with_it():
    """Then the first applicable rule would be another one."""
    competing = "a(a)*/a -> a"
    assert slots("a -> lambda", competing, "a^2 -> lambda")[-1] == (2, 2, 2, 2)
    # Before the competing rule, and after it, members join.
    merged = slots("a -> lambda", "a^2 -> lambda", competing, "a^3 -> lambda", "a^4 -> lambda")
    assert [number for *_, number in merged] == [0, 2, 3]


def test_rules_that_forget_otherwise_stay_alone():
    assert len(slots("a^2/a -> lambda", "a -> lambda", "a^3/a -> lambda")) == 3


def test_hundreds_of_rules_are_three_slots():
    n = 300
    rules = [snp.Rule(None, k, int(k == 100)) for k in range(1, n + 1)]
    assert slots(*rules) == [(1, 99, ALL, 0), (101, 300, ALL, 0), (100, 100, 100, 99)]
    program = lower(snp.SpikingSystem([snp.Neuron("x", 7, rules), snp.Neuron("y")], [("x", "y")]))
    assert program.low.shape[0] == 4 and program.has_families


def test_rules_are_reported_by_their_own_numbers():
    rules = ["a^5 -> a", *(f"a^{k} -> lambda" for k in (4, 1, 2, 3))]
    neurons = [snp.Neuron(f"n{k}", k, rules) for k in range(6)]
    solution = snp.run(snp.SpikingSystem(neurons))
    assert solution.rules.tolist() == [[-1, 2, 3, 4, 1, 0]]
    batch = snp.run(snp.SpikingSystem(neurons), paths=3, save=snp.SAVE_ALL)
    assert batch.rules[..., 2].tolist() == solution.rules.tolist()
    with pytest.raises(snp.RunFailed, match="neuron 'n4', step 1"):
        snp.run(snp.SpikingSystem(neurons), choice=snp.GivenChoices([[None, 2, 3, 4, 2, 0]]))


forgetting = st.integers(1, 5).map(lambda k: snp.Rule(None, k))
others = st.sampled_from(["a -> a", "a(aa)*/a -> a", "a^3 -> a^2; 1", "a{2,4}/a^2 -> lambda"])


@settings(max_examples=12)
@given(
    st.lists(st.lists(forgetting | others, max_size=7), min_size=1, max_size=4),
    st.lists(st.integers(0, 6), min_size=4, max_size=4),
    seeds,
)
def test_merged_equals_faithful(rules, spikes, seed):
    """The same path for the same key, rule by rule."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        neurons = [snp.Neuron(f"n{i}", spikes[i], of) for i, of in enumerate(rules)]
        # One of everything, for one compilation.
        neurons.append(snp.Neuron("family", 0, ["a -> lambda", "a^2 -> lambda", *["a^3 -> a"] * 3]))
        pairs = [(x.name, y.name) for x in neurons for y in neurons if x is not y]
        system = with_ballast(snp.SpikingSystem(neurons, pairs))
    for choice in (snp.UniformChoice(jr.key(seed)), snp.FirstChoice()):
        merged = snp.run(system, choice=choice, max_steps=MAX_STEPS)
        faithful = snp.run(system, choice=choice, max_steps=MAX_STEPS, faithful=True)
        assert merged.configurations.tolist() == faithful.configurations.tolist()
        assert merged.rules.tolist() == faithful.rules.tolist()
        assert merged.emissions.tolist() == faithful.emissions.tolist()


def test_counts_that_cannot_overflow_are_not_watched():
    def lowered(spikes):
        neurons = [snp.Neuron("x", spikes, ["a+/a -> a^3"]), snp.Neuron("y")]
        return snp.lower(snp.SpikingSystem(neurons, [("x", "y", 2)]))

    def may_overflow(spikes, max_steps):
        return lowered(spikes).machine_for(max_steps).program.may_overflow

    assert lowered(1).machine.program.may_overflow and not may_overflow(1, 1000)
    limit = 2**31 - 1
    assert lowered(limit - 6 * 10).safe_steps == 10
    assert may_overflow(limit - 6 * 10, 11) and not may_overflow(limit - 6 * 10, 10)
    solution = snp.run(
        snp.SpikingSystem(
            [snp.Neuron("x", 20, ["a+/a -> a^3"]), snp.Neuron("y", limit - 60)], [("x", "y", 2)]
        ),
        max_steps=10,
        count_dtype=np.int32,
    )
    assert solution.spikes_of("y") == limit
