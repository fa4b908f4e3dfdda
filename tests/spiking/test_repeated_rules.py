"""A rule that repeats another one of its neuron counts once; a given choice of it means the kept
one."""

import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax_formats import ELL
from tests.support.helpers import quietly


def repeating(*rules: str, spikes: int = 5, **parts) -> snp.SpikingSystem:
    neurons = [snp.Neuron("x", spikes, rules), snp.Neuron("y")]
    return quietly(snp.SpikingSystem, neurons, [("x", "y")], **parts)


# The last one has several terms of one guard, so that slots are not the rules' numbers.
RULES = [
    ("a+/a -> a", "a+/a -> a", "a+/a^2 -> a"),
    ("a+/a -> a", "a+/a -> a", "a+/a -> a", "a+/a -> a", "a+/a -> a", "a+/a^2 -> a"),
    ("a(a{4}|a{8,9})?/a -> a", "a+/a^2 -> a", "a(a{4}|a{8,9})?/a -> a", "a+/a^2 -> a"),
]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("layout", ["auto", snp.spiking.Transition(ELL)])
def test_a_given_choice_means_the_rule_that_is_kept(rules, layout):
    system = repeating(*rules)
    for number, rule in enumerate(rules):
        kept = rules.index(rule)
        found = snp.run(system, choice=snp.GivenChoices([[number]]), max_steps=1, layout=layout)
        expected = snp.run(system, choice=snp.GivenChoices([[kept]]), max_steps=1, layout=layout)
        assert found.configurations.tolist() == expected.configurations.tolist()
        assert found.rules.tolist() == expected.rules.tolist() == [[kept, snp.NO_RULE]]


@pytest.mark.parametrize("rules", RULES)
def test_what_is_no_rule_is_refused_as_before(rules):
    for wrong in (len(rules), 30, -2):
        with pytest.raises(snp.RunFailed, match="not a valid spiking vector"):
            snp.run(repeating(*rules), choice=snp.GivenChoices([[wrong]]), max_steps=1)
    idle = repeating("a -> a", "a -> a", spikes=0, input={"y": (0, 0, 1)})
    for wrong in (1, 2, 3):  # 1 repeats a rule that is not applicable
        with pytest.raises(snp.RunFailed, match="not a valid spiking vector"):
            snp.run(idle, choice=snp.GivenChoices([[wrong, None]]), max_steps=1)


def test_in_a_batch_with_a_system_without_repetitions():
    batch = snp.SystemBatch([repeating("a+/a -> a"), repeating("a+/a -> a", "a+/a -> a")])
    found = snp.run(batch, choice=snp.GivenChoices([[[0, 1], [-1, -1]]]), max_steps=1)
    assert [one.spikes.tolist() for one in found] == [[4, 1], [4, 1]]
    with pytest.raises(snp.RunFailed, match="not a valid spiking vector"):
        snp.run(batch, choice=snp.GivenChoices([[[1, 1], [-1, -1]]]), max_steps=1)


def test_where_neurons_divide():
    rules = ["a -> a", "a -> a", "[a^2]_x -> []_l || []_r"]
    with pytest.warns(snp.ModelWarning, match="repeats"):
        system = snp.SpikingSystem([snp.Neuron("x", 1, rules), snp.Neuron("y")], [("x", "y")])
    found = snp.run(system, choice=snp.GivenChoices([[1]]), max_steps=1)
    assert found.spikes[:2].tolist() == [0, 1] and found.rules[0, 0] == 0


def test_logits_may_name_a_repeated_rule():
    """It counts once: its own logit changes nothing."""
    system, key = repeating("a+/a -> a", "a+/a^2 -> a", "a+/a -> a", spikes=60), jr.key(0)
    runs = [
        snp.run(system, choice=snp.WeightedChoice(np.array(logits)[:, None], key), max_steps=20)
        for logits in ([0.0, 1.0, -np.inf], [0.0, 1.0, 50.0])
    ]
    assert runs[0].rules.tolist() == runs[1].rules.tolist()
    assert set(runs[0].rules[:, 0].tolist()) == {0, 1}
