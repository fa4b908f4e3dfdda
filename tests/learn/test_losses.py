"""Losses and penalties against NumPy, with silent outputs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snpjax import learn


STEPS, CLASSES, PATHS = 5, 3, 4
LABELS = np.asarray([0, 2, 1, 2])


def trains(seed=0):
    return np.random.default_rng(seed).integers(0, 3, (STEPS, CLASSES, PATHS)).astype(np.float32)


def reference_cross_entropy(scores, labels, smoothing=0.0):
    total = 0.0
    for p, label in enumerate(labels):
        probabilities = np.exp(scores[:, p] - scores[:, p].max())
        probabilities /= probabilities.sum()
        wanted = np.full(len(scores), smoothing / len(scores))
        wanted[label] += 1 - smoothing
        total -= np.sum(wanted * np.log(probabilities))
    return total / len(labels)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(smoothing):
    train = trains()
    options = {"smoothing": smoothing}
    found = learn.cross_entropy(jnp.asarray(train.sum(axis=0)), jnp.asarray(LABELS), **options)
    wanted = reference_cross_entropy(train.sum(axis=0), LABELS, smoothing)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    each = learn.cross_entropy(jnp.asarray(train), jnp.asarray(LABELS), **options)
    wanted = np.mean([reference_cross_entropy(row, LABELS, smoothing) for row in train])
    np.testing.assert_allclose(each, wanted, rtol=1e-5)
    one = learn.cross_entropy(jnp.asarray(train[0, :, 1]), jnp.asarray(2), **options)
    wanted = reference_cross_entropy(train[0, :, 1:2], [2], smoothing)
    np.testing.assert_allclose(one, wanted, rtol=1e-5)


@pytest.mark.parametrize("decoder", ["total", "first_spike", "remaining"])
def test_losses_of_silent_outputs_are_finite(decoder):
    """A network that emits nothing: every loss and gradient is finite, and not all are 0."""
    layer = learn.SpikingLayer(2, CLASSES, key=jax.random.key(0), steps=4, guard=50)
    given = jnp.ones((4, 2, PATHS))

    def scores(layer):
        train, left = layer.response(given)
        if decoder == "remaining":
            return left
        return learn.total(train) if decoder == "total" else -learn.first_spike(train)

    def loss(layer):
        targets = learn.class_targets(jnp.asarray(LABELS), CLASSES, correct=3.0, others=1.0)
        found = scores(layer)
        return learn.cross_entropy(found, jnp.asarray(LABELS)), learn.mean_square(found, targets)

    first, second = loss(layer)
    if decoder != "remaining":
        np.testing.assert_allclose(first, np.log(CLASSES), rtol=1e-6)
        nothing = 0.0 if decoder == "total" else -5.0
        np.testing.assert_allclose(second, np.mean([(nothing - k) ** 2 for k in (3, 1, 1)]))
    slopes = jax.jit(jax.grad(lambda w: sum(loss(with_weights(layer, w)))))(weights_of(layer))
    assert jnp.isfinite(slopes).all() and jnp.any(slopes != 0)


def weights_of(layer):
    return layer.synapses.weight


def with_weights(layer, weights):
    return eqx.tree_at(weights_of, layer, weights)


def test_class_targets():
    found = learn.class_targets(jnp.asarray([1, 0]), 3, correct=7.0, others=2.0)
    assert found.tolist() == [[2, 7], [7, 2], [2, 2]]


@pytest.mark.parametrize("label", [-1, CLASSES])
def test_labels_that_are_not_classes_are_refused(label):
    """Where they are traced, the loss is NaN."""
    scores, labels = jnp.zeros((CLASSES, 2)), jnp.asarray([0, label])
    with pytest.raises(ValueError, match=f"`labels` is {label} in row 1, .* {CLASSES} classes"):
        learn.cross_entropy(scores, labels)
    with pytest.raises(ValueError, match=f"`labels` is {label} in row 1"):
        learn.class_targets(labels, CLASSES, correct=1.0, others=0.0)
    assert jnp.isnan(jax.jit(learn.cross_entropy)(scores, labels))
    with pytest.raises(TypeError, match="holds float32. Give integers"):
        learn.cross_entropy(scores, labels.astype(float))
    assert learn.cross_entropy(scores, [0, 1]) == pytest.approx(np.log(CLASSES))


def test_shapes_are_compared():
    with pytest.raises(ValueError, match=r"scores of shape \(classes, \*paths\)"):
        learn.cross_entropy(jnp.zeros((PATHS, CLASSES)), jnp.asarray(LABELS))
    with pytest.raises(ValueError, match="Pass equal shapes"):
        learn.mean_square(jnp.zeros((3, 2)), jnp.zeros((2, 3)))


def test_rates_outside_a_range_are_penalised():
    train, other = trains(), trains(1)[:, :2]

    def outside(rate):
        return max(0.9 - rate, 0, rate - 1.1) ** 2

    rates = [[x[:, n].mean() for n in range(x.shape[1])] for x in (train, other)]
    assert any(r < 0.9 for r in rates[0] + rates[1]) and any(r > 1.1 for r in rates[0] + rates[1])
    wanted = sum(np.mean([outside(r) for r in own]) for own in rates)
    found = learn.rate_penalty([jnp.asarray(train), jnp.asarray(other)], least=0.9, most=1.1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    all_together = learn.rate_penalty(jnp.asarray(train), least=2.0, per_population=True)
    np.testing.assert_allclose(all_together, (2 - train.mean()) ** 2, rtol=1e-5)
    assert learn.rate_penalty(jnp.asarray(train)) == 0
    with pytest.raises(ValueError, match="`least` <= `most`"):
        learn.rate_penalty(jnp.asarray(train), least=2.0, most=1.0)


def test_silent_neurons_are_pulled_up():
    """The gradient of a lower bound raises the weights of neurons that never fire."""
    layer = learn.SpikingLayer(2, CLASSES, key=jax.random.key(0), steps=4, guard=50)

    def penalty(weights):
        return learn.rate_penalty(with_weights(layer, weights)(jnp.ones((4, 2))), least=0.5)

    value, slopes = jax.value_and_grad(penalty)(weights_of(layer))
    assert value == 0.25 and (slopes < 0).all()


@pytest.mark.parametrize("power", [1, 2])
def test_spikes_are_penalised(power):
    train = trains()
    wanted = np.mean(
        [float(train[:, n, p].sum()) ** power for n in range(CLASSES) for p in range(PATHS)]
    )
    found = learn.spike_penalty({"hidden": jnp.asarray(train)}, power=power)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="Pass 1 or 2"):
        learn.spike_penalty(jnp.asarray(train), power=3)


def test_the_batch_may_be_first():
    train, labels = jnp.asarray(trains()), jnp.asarray(LABELS)
    moved, scores = jnp.moveaxis(train, -1, 0), learn.total(train)
    first = {"batch_first": True}
    same = [
        (learn.cross_entropy(scores.T, labels, **first), learn.cross_entropy(scores, labels)),
        (learn.cross_entropy(moved, labels, **first), learn.cross_entropy(train, labels)),
        (
            learn.rate_penalty(moved, least=1.0, batch_first=True),
            learn.rate_penalty(train, least=1.0),
        ),
        (
            learn.spike_penalty(moved, power=2, batch_first=True),
            learn.spike_penalty(train, power=2),
        ),
    ]
    for found, wanted in same:
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    wanted = learn.class_targets(labels, CLASSES, correct=3.0, others=1.0)
    found = learn.class_targets(labels, CLASSES, correct=3.0, others=1.0, batch_first=True)
    assert found.T.tolist() == wanted.tolist()
