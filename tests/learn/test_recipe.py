"""From real features to an exact classifier by default settings; batches first; firing."""

import warnings
from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from snpjax import learn
from tests.support.helpers import quietly


def networks(**options):
    """The same network with the batch last and first."""
    rules = (learn.relay(4), "a{2,}/a^2 -> a", "a{2,}/a^2 -> a")
    given = {"key": jr.key(0), "steps": 6, **options}
    return [
        learn.SpikingNetwork((3, 5, 2), rules, batch_first=first, **given)
        for first in (False, True)
    ]


COUNTS = jnp.asarray(np.random.default_rng(0).integers(0, 5, (40, 3)), jnp.float32)


# ---- counts ----


def test_features_become_counts():
    """Both ends, the middle, what is out of range, a constant feature, and the bias."""
    samples = np.asarray([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
    encoder = learn.count_encoder(samples, levels=8)
    assert encoder.size == 3
    found = encoder(np.asarray([[-9.0, 5], [0, 5], [0.6, 4], [1, 5], [2, 5], [99, 6]]))
    assert found.dtype == np.float32
    assert found[:, 0].tolist() == [0, 0, 2, 4, 8, 8]
    assert found[:5, 1].tolist() == [0] * 5 and (found[:, 2] == 8).all()
    far = np.concatenate([np.zeros(99), [1000.0]])[:, None]  # which does not compress the others
    narrow = learn.count_encoder(far, bias=False)
    assert narrow.high[0] == pytest.approx(10 + 2.5 * far.std()) and narrow.size == 1


@pytest.mark.parametrize("samples", [np.ones(3), np.full((2, 2), np.nan), np.ones((2, 2, 2))])
def test_samples_that_are_not_rows_of_numbers_are_refused(samples):
    with pytest.raises(ValueError, match="is nan in row 0, column 0|Give samples as rows"):
        learn.count_encoder(samples)


def test_misfits_of_the_recipe_are_refused():
    encoder = learn.count_encoder(np.eye(3))
    with pytest.raises(ValueError, match="has 2 features, and the encoder 3"):
        encoder(np.ones((4, 2)))
    with pytest.raises(ValueError, match="`levels` is 0"):
        learn.count_encoder(np.eye(3), levels=0)
    with pytest.raises(ValueError, match="`classes` is 1"):
        learn.classifier(3, 1, key=jr.key(0))
    last, first = networks()
    labels = jnp.zeros(40, jnp.int32)
    with pytest.raises(ValueError, match=r"shape \(2, 40\).* `batch_first=True`"):
        learn.CrossEntropy()(lambda counts: last(counts.T), COUNTS, labels)
    with pytest.raises(ValueError, match=r"shape \(40, 2\) for 3 labels"):
        learn.CrossEntropy()(first, COUNTS, labels[:3])
    with pytest.raises(ValueError, match="Make it with `batch_first=True`"):
        learn.CrossEntropy()(last, COUNTS.T, labels)


def test_labels_are_checked_before_training():
    _, first = networks()

    def refused(labels, **options):
        with pytest.raises((TypeError, ValueError)) as error:
            given = first, learn.CrossEntropy(), learn.Adam(), (COUNTS, labels)
            learn.fit(*given, key=jr.key(0), **options)
        return str(error.value)

    labels = np.arange(40) % 2
    assert "`data[1]` is 2 in row 1, counted from 0, but there are 2 classes" in refused(labels * 2)
    assert "`data[1]` is -1 in row 0" in refused(labels - 1)
    assert "`data[1]` holds float64. Give integers" in refused(labels.astype(float))
    assert "`data[1]` has the shape (40, 2)" in refused(np.eye(2)[labels])
    assert "`validation[1]` is 2 in row 1" in refused(labels, validation=(COUNTS, labels * 2))
    with pytest.raises(ValueError, match="`data` has 1 column. `CrossEntropy` needs two"):
        learn.fit(first, learn.CrossEntropy(), learn.Adam(), (COUNTS,), key=jr.key(0))


def test_the_loss_is_the_smoothed_cross_entropy():
    counts, labels = jnp.asarray([[4.0, 0.0], [2.0, 6.0]]), jnp.asarray([0, 0])
    loss = learn.CrossEntropy(temperature=2.0, smoothing=0.5, noise=0.0)
    chances = np.exp(counts / 2) / np.exp(counts / 2).sum(axis=1, keepdims=True)
    expected = -np.mean(0.75 * np.log(chances[:, 0]) + 0.25 * np.log(chances[:, 1]))
    assert loss(lambda x: x, counts, labels) == pytest.approx(expected)


def test_noise_keeps_counts_whole_and_in_range():
    seen = []

    def model(counts):
        seen.append(counts)
        return counts

    loss = learn.CrossEntropy(noise=2.0)
    loss(model, COUNTS, jnp.zeros(40, jnp.int32), jr.key(0))
    loss(model, COUNTS, jnp.zeros(40, jnp.int32))
    noisy, plain = seen
    assert plain.tolist() == COUNTS.tolist() != noisy.tolist()
    assert (noisy == np.round(noisy)).all() and noisy.min() == 0 and noisy.max() == 4


def test_adam_is_that_of_the_paper_with_a_cosine():
    optax = pytest.importorskip("optax")
    own, other = learn.Adam(0.1, 5), optax.adam(optax.cosine_decay_schedule(0.1, 5))
    x = y = jnp.asarray([1.0, -2.0])
    with jax.numpy_dtype_promotion("standard"):
        state, expected = own.init(x), other.init(y)
        for number in range(7):
            slope = jnp.asarray([0.3, -1.0]) * (number - 2.5)
            change, state = own.update(slope, state)
            wanted, expected = other.update(slope, expected)
            np.testing.assert_allclose(change, wanted, rtol=1e-4, atol=1e-7)
            x, y = x + change, y + wanted
    assert learn.Adam(0.1).update(slope, state)[0][0] != 0  # a constant rate outside of `fit`


# ---- the batch first ----


def test_a_batch_may_be_the_first_axis():
    last, first = networks()
    assert first(COUNTS).T.tolist() == last(COUNTS.T).tolist()
    assert first(COUNTS[0]).tolist() == last(COUNTS[0]).tolist()
    found, expected = first.response(COUNTS), last.response(COUNTS.T)
    assert found.trains.shape == (40, 6, 2)
    assert np.moveaxis(found.trains, 0, -1).tolist() == expected.trains.tolist()
    assert found.spikes.T.tolist() == expected.spikes.tolist()
    assert first.run(COUNTS).spikes.tolist() == last.run(COUNTS.T).spikes.tolist()
    total = learn.total(found.trains, batch_first=True)
    assert total.T.tolist() == learn.total(expected.trains).tolist()
    times = learn.first_spike(found.trains, batch_first=True)
    assert times.T.tolist() == learn.first_spike(expected.trains).tolist()


@pytest.mark.slow
def test_layers_and_trains_may_have_the_batch_first():
    layers = [
        learn.SpikingLayer(3, 4, key=jr.key(1), steps=5, guard=2, batch_first=first)
        for first in (False, True)
    ]
    trains = learn.count_train(COUNTS, 5, batch_first=True)
    assert trains.shape == (40, 5, 3)
    assert np.moveaxis(trains, 0, -1).tolist() == learn.count_train(COUNTS.T, 5).tolist()
    found = layers[1](trains)
    assert np.moveaxis(found, 0, -1).tolist() == layers[0](np.moveaxis(trains, 0, -1)).tolist()
    assert layers[1](trains[0]).tolist() == found[0].tolist()
    network = learn.chain([layers[1]])
    assert network(COUNTS).tolist() == learn.total(found, batch_first=True).tolist()
    when = COUNTS.astype(jnp.int32)
    assert learn.latency_train(when, 5, batch_first=True).shape == (40, 5, 3)
    assert learn.rate_train(COUNTS / 4, 5, jr.key(0), batch_first=True).shape == (40, 5, 3)
    with pytest.raises(ValueError, match="disagree on `batch_first`"):
        learn.chain([layers[0], learn.SpikingLayer(4, 2, key=jr.key(1), steps=5, batch_first=True)])


def test_a_batch_on_the_wrong_side_is_named():
    last, first = networks()
    with pytest.raises(
        ValueError, match=r"\(40, 3\). Give \(3,\) or \(3, paths\). .*`batch_first=True`"
    ):
        last(COUNTS)
    with pytest.raises(ValueError, match=r"Give \(3,\) or \(paths, 3\). .* leave `batch_first`"):
        first(COUNTS.T)
    with pytest.raises(ValueError, match=r"shape \(1, 40, 3\). Give \(3,\) or \(paths, 3\)"):
        first(COUNTS[None])
    layer = learn.SpikingLayer(3, 4, key=jr.key(1), steps=5)
    with pytest.raises(ValueError, match="as a third axis .*`batch_first=True`"):
        layer(jnp.zeros((7, 5, 3)))


def test_outputs_without_rules_return_what_they_hold():
    network = learn.classifier(3, 2, key=jr.key(0), levels=4, hidden=5)
    found = network(COUNTS)
    assert found.shape == (40, 2) and np.any(found != 0)
    system = learn.to_system(network, round=True)
    spikes = np.zeros((10, 40), int)
    spikes[:3] = COUNTS.T
    exact = learn.replay(system, spikes, steps=10)
    assert exact.spikes[-2:].T.tolist() == found.tolist()


# ---- firing ----


def mean_output(network, counts, key):
    del key
    return jnp.mean(network(counts))


def fitted(network, counts=COUNTS):
    options = {"epochs": 0, "key": jr.key(0), "batch_size": 20}
    return learn.fit(network, mean_output, learn.Adam(), (counts,), **options)


def fired(network):
    """What the hidden and output neurons emit, by a loop over the steps."""
    first, second = (
        np.asarray(p.to_dense()) for p in learn.constants_of(network.model).synapses.parts
    )
    arriving, found = np.zeros((6, 5, 40)), []
    arriving[0] = first @ COUNTS.T
    for weights in (second, None):
        held, own = np.zeros(arriving.shape[1:]), []
        for row in arriving:
            is_one = held >= 2
            held = held - 2 * is_one + row
            own.append(is_one.astype(int))
        found.append(np.asarray(own))
        if weights is not None:
            arriving = np.einsum("oh,thp->top", weights, found[-1])
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::snpjax.learn.FiringWarning")
def test_a_fit_measures_how_populations_fire(seed):
    network = networks(key=jr.key(seed), scale=1.5)[1]
    own = fitted(network).firing
    assert [x.population for x in own] == ["population 1", "population 2"]
    for found, emitted in zip(own, fired(network), strict=True):
        assert found.neurons == emitted.shape[1]
        assert found.spikes == pytest.approx(emitted.sum() / emitted.shape[1] / 40)
        assert found.dead == pytest.approx(np.mean(emitted.sum(axis=(0, 2)) == 0))
        full = []
        for neuron in range(found.neurons):  # in each run from the first step on in which it fires
            begun = np.flatnonzero(emitted[:, neuron].any(axis=1))
            runs = emitted[begun[0] :, neuron].all(axis=0) if len(begun) else np.zeros(40)
            full.append(runs.mean() >= 0.95)
        assert found.saturated == pytest.approx(np.mean(full))


@pytest.mark.slow
def test_networks_with_cycles_and_layers_are_measured_too():
    rules = (learn.relay(4), "a{2,}/a^2 -> a", "a{2,}/a^2 -> a")
    options = {"key": jr.key(0), "steps": 6, "batch_first": True}
    made = learn.SpikingNetwork((3, 5, 2), rules, projections=[(0, 1), (1, 1), (1, 2)], **options)
    configurations = learn.run(
        made.model, steps=6, spikes=made.initial_spikes(COUNTS), keep_configurations=True
    )
    counts = np.asarray(configurations.configurations)[:-1, 3:8]
    found = quietly(fitted, made).firing[0]
    assert found.spikes == pytest.approx((counts >= 2).sum() / 5 / 40)
    layer = learn.SpikingLayer(3, 4, key=jr.key(1), steps=5, guard=2, batch_first=True)

    def sent(layers, counts, key):
        return jnp.mean(layers[0](learn.count_train(counts, 5, batch_first=True)))

    options = {"epochs": 0, "key": jr.key(0), "batch_size": 20}
    (own,) = learn.fit([layer], sent, learn.Adam(), (COUNTS,), **options).firing
    assert own.population == "layer `[0]`" and own.neurons == 4
    trains = layer(learn.count_train(COUNTS, 5, batch_first=True))
    assert own.spikes == pytest.approx(float(trains.sum()) / 4 / 40)
    mapped = learn.fit(
        made, lambda m, x, key: jnp.mean(jax.vmap(m)(x)), learn.Adam(), (COUNTS,), **options
    )
    assert mapped.firing[0].spikes == pytest.approx(found.spikes)


def test_dead_and_saturated_populations_are_warned_of_once():
    def with_weights(value):
        network = networks()[1]
        weights, rest = eqx.partition(network.model.synapses, eqx.is_inexact_array)
        weights = eqx.combine(jax.tree.map(lambda x: jnp.full_like(x, value), weights), rest)
        return eqx.tree_at(lambda n: n.model.synapses, network, weights)

    for value, text in ((-1.0, "never fire: lower the guard"), (3.0, "fire in every step: raise")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = fitted(with_weights(value), np.full((40, 3), 4, np.float32))
        (own,) = caught
        assert own.category is learn.FiringWarning and own.filename == __file__
        assert "5 of 5 neurons of population 1 " + text in str(own.message)
        assert "2 of 2 neurons of population 2 " in str(own.message)
        assert len(found.firing) == 2


@pytest.mark.parametrize("kind", [0, 1])
def test_inputs_that_send_nothing_are_the_cause_that_is_named(kind):
    _, made = networks()
    if kind:
        layer = learn.SpikingLayer(3, 2, key=jr.key(0), steps=6, guard=2)
        made = learn.Sequential([layer], batch_first=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fitted(made, np.zeros((40, 3), np.float32))
    (own,) = caught
    assert own.category is learn.FiringWarning
    assert str(own.message).startswith("The inputs sent no spikes in any run")
    assert {one.dead for one in found.firing} == {1.0}


# ---- initial weights ----


def initial_networks():
    """Networks for each range of weights: inputs, hidden neurons, rules of inputs, and guards."""
    networks = (
        (14, 64, learn.relay(16), (16, 16)),
        (65, 64, learn.SENDER, (3, 2)),
        (5, 9, learn.relay(4), (4, 2)),
    )
    for row, weight_range in enumerate([(0, 2), (-1, 1), (-3, 3)]):
        for column, network in enumerate(networks):
            marks = () if row == column else pytest.mark.slow
            yield pytest.param(weight_range, *network, marks=marks)


@pytest.mark.parametrize("weight_range, inputs, hidden, source, guards", [*initial_networks()])
def test_populations_fire_at_first(weight_range, inputs, hidden, source, guards):
    """Whatever the fan-in and the guards are: most hidden neurons, and all or most outputs."""
    first, second = (f"a{{{n},}}/a^{n} -> a" for n in guards)
    made = learn.SpikingNetwork(
        (inputs, hidden, 3),
        (source, first, second),
        key=jr.key(2),
        steps=20,
        weight_range=weight_range,
        batch_first=True,
    )
    most = 4 if inputs == 5 else 16
    counts = np.random.default_rng(1).integers(0, most + 1, (60, inputs)).astype(np.float32)
    options = {"epochs": 0, "key": jr.key(0), "batch_size": 60}
    found = learn.fit(made, mean_output, learn.Adam(), (counts,), **options).firing
    assert found[0].dead <= 0.4 and found[1].dead <= 0.34
    assert all(own.spikes > 0.1 and own.saturated <= 0.34 for own in found)
    weights = np.asarray(made.model.synapses.parts[0].to_dense())
    assert weights.min() >= weight_range[0] and weights.max() <= weight_range[1]


# ---- what is reached ----


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*hasn't converged yet")
@pytest.mark.parametrize("name, seeds", [("wine", 2), ("iris", 2), ("breast_cancer", 2)])
def test_default_settings_are_near_a_network_of_floats(name, seeds):
    """On fewer splits than bench/learning.py, with as wide a margin as they vary by."""
    pytest.importorskip("sklearn")
    exact, floats = import_module("learning").accuracies(name, 64, range(seeds))
    assert exact.accuracy >= floats.accuracy - 0.03
