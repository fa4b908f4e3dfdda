"""Networks of populations: exact systems again, with the gradients that train them; encoders and
decoders."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn
from snpjax_formats import CSR

from .helpers import quietly


RULES = (learn.SENDER, "a{2,}/a^2 -> a", ["a{2,}/a^2 -> a", "a -> lambda"])
#: Every pattern of three inputs of 0 or 2 spikes, a path each.
PATTERNS = 2.0 * np.asarray([[i >> bit & 1 for i in range(8)] for bit in range(3)])


def network(**options):
    return learn.SpikingNetwork((3, 4, 1), RULES, **{"key": jr.key(0), "steps": 12, **options})


@pytest.mark.parametrize("layout", ["auto", CSR])
def test_a_network_is_its_exact_system(layout):
    made = network(layout=layout)
    system = quietly(learn.to_system, made.model, round=True)
    assert system.signed and {abs(w) for _, _, w in system.synapses} <= {1, 2, 3}
    found = made.run(jnp.asarray(PATTERNS))
    assert made(jnp.asarray(PATTERNS)).shape == (1, 8)
    for path, counts in enumerate(PATTERNS.T):
        own = dict(zip(("0{0}", "0{1}", "0{2}"), counts, strict=True))
        neurons = [snp.Neuron(n.name, int(own.get(n.name, 0)), n.rules) for n in system.neurons]
        exact = snp.run(quietly(system.replace, neurons=neurons), max_steps=12)
        assert found.steps[path] == exact.steps
        assert found.spikes[:, path].tolist() == exact.spikes.tolist()
        assert made(jnp.asarray(counts)).tolist() == [exact.spike_train.sum()]


def test_a_network_learns_to_tell_patterns_apart():
    """Whether the first or the second input is there, but not both: no single layer can."""
    wanted = jnp.asarray((PATTERNS[0] != PATTERNS[1]).astype(np.float32))
    rules = (learn.SENDER, "a{2,}/a^2 -> a", "a{1,}/a -> a")
    surrogate = learn.FastSigmoid(0.5)
    made = learn.SpikingNetwork((3, 8, 1), rules, key=jr.key(0), steps=8, surrogate=surrogate)

    def loss(model):
        sent = eqx.tree_at(lambda n: n.model, made, model)(jnp.asarray(PATTERNS))[0]
        return jnp.mean((jnp.minimum(sent, 4) - 2 * wanted) ** 2)

    @eqx.filter_jit
    def improved(model, mean, square):  # Adam, Kingma and Ba 2015, without its first corrections
        value, slopes = eqx.filter_value_and_grad(loss)(model)
        slopes = eqx.filter(slopes.synapses, eqx.is_inexact_array)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
        square = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, square, slopes)
        moves = jax.tree.map(lambda m, v: -0.1 * m / (jnp.sqrt(v) + 1e-4), mean, square)
        synapses = eqx.apply_updates(model.synapses, moves)
        return eqx.tree_at(lambda m: m.synapses, model, synapses), mean, square, value

    best = model = made.model
    mean = square = jax.tree.map(jnp.zeros_like, eqx.filter(model.synapses, eqx.is_inexact_array))
    losses = []
    for _ in range(200):
        last = model
        model, mean, square, value = improved(last, mean, square)
        best = last if value < min(losses, default=np.inf) else best
        losses.append(float(value))
    assert min(losses) < 0.2 * losses[0]
    exact = quietly(learn.to_system, best, round=True)
    for path, counts in enumerate(PATTERNS.T):
        neurons = [
            snp.Neuron(n.name, int(k), n.rules)
            for n, k in zip(exact.neurons, [*counts, *[0] * 9], strict=True)
        ]
        run = snp.run(quietly(exact.replace, neurons=neurons), max_steps=8)
        assert run.spike_train.sum() == float(
            eqx.tree_at(lambda n: n.model, made, best)(jnp.asarray(counts))[0]
        ), path


def test_populations_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="There are 2 sizes and 3 rules"):
        learn.SpikingNetwork((3, 1), RULES, key=jr.key(0), steps=4)
    with pytest.raises(ValueError, match=r"Projection \(0, 3\) names no population of 3"):
        network(projections=[(0, 3)])
    with pytest.raises(ValueError, match="`counts` has 2 rows. Give 3"):
        network()(jnp.zeros(2))
    with pytest.raises(ValueError, match="Give two whole numbers"):
        network(weight_range=(-0.5, 2))


def test_weights_stay_in_their_range():
    made = network(weight_range=(0, 2))
    large = eqx.tree_at(
        lambda n: n.model.synapses,
        made,
        jax.tree.map(lambda x: 9 * x - 3 if eqx.is_inexact_array(x) else x, made.model.synapses),
    )
    weights = [w for _, _, w in quietly(learn.to_system, large.model, round=True).synapses]
    assert set(weights) <= {1, 2} and 2 in weights
    slopes = eqx.filter_grad(lambda n: jnp.sum(n(jnp.asarray(PATTERNS))))(large).model.synapses
    outside = np.abs(np.asarray(large.model.synapses.to_dense())) > 2.5
    assert not slopes.to_dense()[outside].any()


def test_codes():
    values = jnp.asarray([-1.2, 0.4, 2.6])
    assert learn.counted(values).tolist() == [0, 0, 3]
    assert jax.grad(lambda x: learn.counted(x).sum())(values).tolist() == [0, 1, 1]
    chances = jnp.asarray([0.0, 0.3, 1.0])
    train = learn.rate_train(chances, 4000, jr.key(0))
    assert set(np.unique(train)) == {0.0, 1.0}
    assert np.abs(np.mean(train, axis=0) - chances).max() < 4.5 * np.sqrt(0.21 / 4000)
    slope = jax.grad(lambda p: learn.rate_train(p, 5, jr.key(1)).sum())(chances)
    assert slope.tolist() == [5, 5, 5]
    latest = learn.latency_train(jnp.asarray([1, 3, 0]), 3)
    assert latest.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    outputs = jnp.asarray([[0.0, 0, 0], [1, 0, 0], [3, 1, 0]])[..., None]
    assert learn.total(outputs)[:, 0].tolist() == [4, 1, 0]
    assert learn.first_spike(outputs)[:, 0].tolist() == [2, 3, 4]
    slopes = jax.grad(lambda x: learn.first_spike(x).sum())(outputs)
    assert (slopes <= 0).all() and slopes[0, 2, 0] == -3
