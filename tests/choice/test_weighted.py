"""Choices with weights: probabilities, numbers of rules, and derivatives in the logits."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn
from snpjax_formats import ELL, Dense
from tests.support.helpers import quietly


PATHS = 4096
#: Guards of several terms, a repeated rule, and forgetting rules that lowering merges; all apply to
#: four spikes but the last.
RULES = [
    "a{2}|a{4}|a{7}/a -> a",
    "a{2}|a{4}|a{7}/a -> a",
    "a{4} -> lambda",
    "a{3,}/a^3 -> a^2",
    "a{5} -> lambda",
]
LOGITS = np.asarray([[0.0], [5.0], [0.5], [-1.0], [9.0]])
#: What each rule sends, and its probability; the repetition never applies.
SENT = [1, 1, 0, 2, 0]


def chooser(rules=RULES, spikes=4):
    return quietly(snp.SpikingSystem, [snp.Neuron("x", spikes, rules)], output=["x"])


def chances(logits=LOGITS):
    weights = np.exp(logits[:, 0]) * [1, 0, 1, 1, 0]
    return weights / weights.sum()


@pytest.mark.parametrize("layout", [ELL, Dense])
def test_rules_are_drawn_with_their_weights(layout):
    choice = snp.WeightedChoice(LOGITS, jr.key(0))
    batch = snp.run(
        chooser(), choice=choice, paths=PATHS, max_steps=1, save=snp.SAVE_ALL, layout=layout
    )
    drawn = np.bincount(batch.rules[0, 0], minlength=5) / PATHS
    error = np.sqrt(chances() * (1 - chances()) / PATHS)
    assert (np.abs(drawn - chances()) <= 4.5 * error).all()
    single = snp.run(chooser(), choice=choice, max_steps=1)
    assert single.rules[0, 0] == batch.rules[0, 0, 0]


def test_a_rule_without_weight_is_the_last_resort():
    logits = np.asarray([[-np.inf], [0], [-np.inf], [-np.inf], [-np.inf]])
    run = snp.run(chooser(), choice=snp.WeightedChoice(logits, jr.key(1)), max_steps=1)
    assert run.rules[0, 0] == 0  # the repetition does not apply
    logits[2] = 0.0
    batch = snp.run(chooser(), choice=snp.WeightedChoice(logits, jr.key(1)), max_steps=1, paths=64)
    assert (np.asarray(batch.spikes) == 0).all()


def test_logits_that_are_left_out_are_0():
    few = snp.WeightedChoice(LOGITS[:3], jr.key(2))
    all_of_them = snp.WeightedChoice(np.pad(LOGITS[:3], ((0, 2), (0, 0))), jr.key(2))
    one, other = (
        snp.run(chooser(), choice=choice, max_steps=1, paths=64) for choice in (few, all_of_them)
    )
    assert one.spike_trains.tolist() == other.spike_trains.tolist()


def test_an_estimate_takes_weights():
    """The probability that x sends two spikes at once."""
    found = snp.estimate(
        chooser(),
        lambda solution: np.asarray(solution.spike_trains[0, 0] == 2),
        max_steps=2,
        key=jr.key(3),
        paths=2048,
        logits=LOGITS,
    )
    assert found.low <= chances()[3] <= found.high


def test_neurons_that_divide_have_no_logits():
    system = snp.SpikingSystem([snp.Neuron("x", 1, ["[a]_x -> []_x || []_x"])])
    with pytest.raises(ValueError, match="it has no logits"):
        snp.run(system, choice=snp.WeightedChoice([[0.0]], jr.key(0)))
    with pytest.raises(ValueError, match="has 1 axis"):
        snp.WeightedChoice([0.0], jr.key(0))


# ---- derivatives ----


@cache
def relaxed(temperature):
    return quietly(learn.relax, chooser(), temperature=temperature)


def rewards(logits, key, temperature=None):
    model = relaxed(temperature)
    choice = snp.WeightedChoice(logits, key)
    return learn.run(model, steps=1, choice=choice, paths=PATHS)


def exact_gradient():
    """That of the expected spikes sent: p_r (sent_r - mean)."""
    mean = np.sum(chances() * SENT)
    return chances() * (np.asarray(SENT) - mean)


def test_values_are_those_of_the_run_with_weights():
    found = rewards(jnp.asarray(LOGITS), jr.key(4), temperature=1.0)
    choice = snp.WeightedChoice(LOGITS, jr.key(4))
    exact = snp.run(chooser(), choice=choice, paths=PATHS, max_steps=1)
    assert found.outputs.tolist() == exact.spike_trains.tolist()
    sent = np.asarray(found.outputs)[0, 0].astype(int)
    by_sent = {SENT[rule]: np.log(chances()[rule]) for rule in (0, 2, 3)}
    expected = [by_sent[x] for x in sent.tolist()]
    np.testing.assert_allclose(found.log_probability, expected, rtol=1e-5)


def test_reinforce_is_unbiased():
    relaxed(None)  # a model is made outside of what is compiled

    @eqx.filter_jit
    def slope(logits, key):
        def value(logits):
            found = rewards(logits, key)
            return -learn.reinforce_loss(found.outputs[0, 0], found.log_probability)

        return jax.value_and_grad(value)(logits)

    estimates, values = [], []
    for seed in range(12):
        value, estimate = slope(jnp.asarray(LOGITS), jr.key(seed))
        estimates.append(np.asarray(estimate)[:, 0])
        values.append(value)
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(len(estimates))
    assert (np.abs(np.mean(estimates, axis=0) - exact_gradient()) <= 4.5 * error + 1e-7).all()
    assert np.mean(values) == pytest.approx(np.sum(chances() * SENT), abs=0.02)
    with pytest.raises(ValueError, match="2 paths or more"):
        learn.reinforce_loss(jnp.ones(1), jnp.ones(1))
    with pytest.raises(ValueError, match=r"shape \(3,\) and `log_probability` \(2,\)"):
        learn.reinforce_loss(jnp.ones(3), jnp.ones(2))


def test_straight_through_points_uphill():
    """Biased, but of the signs of the exact gradient; and there is none without a temperature."""

    def slope(temperature):
        def value(logits):
            return jnp.mean(rewards(logits, jr.key(5), temperature).outputs[0, 0])

        return np.asarray(jax.grad(value)(jnp.asarray(LOGITS)))[:, 0]

    assert (np.sign(slope(1.0)) == np.sign(exact_gradient())).all()
    assert (slope(None) == 0).all()


@pytest.mark.slow
def test_logits_are_trained_to_the_best_rule():
    relaxed(None)

    @eqx.filter_jit
    def improved(logits, key):
        def loss(logits):
            found = rewards(logits, key)
            return learn.reinforce_loss(found.outputs[0, 0], found.log_probability)

        return logits - 2 * jax.grad(loss)(logits)

    logits = jnp.zeros((5, 1))
    for seed in range(30):
        logits = improved(logits, jr.key(seed))
    batch = snp.run(chooser(), choice=snp.WeightedChoice(logits, jr.key(9)), max_steps=1, paths=256)
    assert np.mean(batch.spike_trains[0, 0]) > 1.9


def test_logits_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="`logits` holds NaN. Give numbers, or -inf"):
        snp.WeightedChoice(np.array([[0.0, np.nan]]), jr.key(0))
    made = jax.jit(lambda logits: snp.WeightedChoice(logits, jr.key(0)).logits)
    assert np.isnan(made(np.array([[np.nan]]))).all()
