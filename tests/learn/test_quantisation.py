"""Weights from sets of integers: in the forward pass, the gradient and the export."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn
from snpjax_formats import CSR
from tests.support.helpers import quietly


POWERS = (-4, -2, -1, 0, 1, 2, 4)


def test_bit_levels():
    assert learn.bit_levels(1) == (-1, 0)
    assert learn.bit_levels(3) == (-4, -3, -2, -1, 0, 1, 2, 3)
    for bits in (0, 17):
        with pytest.raises(ValueError, match="Pass 1 to 16"):
            learn.bit_levels(bits)


def network(layout="auto"):
    rules = (learn.SENDER, "a{2,}/a^2 -> a", ())
    options = {"key": jr.key(0), "steps": 6, "weight_range": (-6, 6), "layout": layout}
    return learn.SpikingNetwork((3, 5, 2), rules, **options)


def weights_of(network):
    return [part.values for part in network.model.synapses.parts]


@pytest.mark.parametrize(
    ("layout", "levels"),
    [("auto", learn.TERNARY), ("auto", (3, 1)), (CSR, POWERS)]
    + [pytest.param(CSR, own, marks=pytest.mark.slow) for own in (learn.TERNARY, (3, 1))]
    + [pytest.param("auto", own, marks=pytest.mark.slow) for own in (learn.BINARY, POWERS)],
    ids=lambda own: own.__name__ if isinstance(own, type) else str(own),
)
def test_models_compute_with_levels_and_export_them(layout, levels):
    made = network(layout)
    quantised = learn.quantise(made, levels)
    given = np.asarray(made.model.synapses.to_dense())
    allowed = np.asarray(sorted(levels), float)
    # The lower of two that are equally near is the first.
    near = allowed[np.argmin(np.abs(given[..., None] - allowed), axis=-1)]
    counts = jnp.asarray([[4.0, 0, 3], [1, 2, 0], [0, 5, 1]])
    found = np.asarray(quantised.response(counts).spikes)
    system = quietly(learn.to_system, quantised.model, round=True)
    exported = {(s, t): w for s, t, w in system.synapses}
    assert set(exported.values()) <= set(levels)
    names = quantised.model.names
    wanted = {(names[s], names[t]): near[t, s] for t, s in np.argwhere(given) if near[t, s] != 0}
    assert exported == wanted
    spikes = np.zeros((system.num_neurons, 3), np.int32)
    spikes[:3] = counts
    assert (learn.replay(system, spikes, steps=6).spikes[-2:] == found).all()
    again = learn.quantise(learn.relax(system), levels)  # what is exported is exact
    assert learn.rounding(again).change == 0 and quietly(learn.to_system, again) == system


def test_a_tie_takes_the_lower_level():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 0), snp.Neuron("z", 0)],
        [("x", "y", 2), ("x", "z", 3)],
        signed=True,
    )
    model = learn.quantise(learn.relax(system), (1, 3))
    assert [w for _, _, w in quietly(learn.to_system, model, round=True).synapses] == [1, 3]
    assert learn.rounding(model) == (1.0, "the weight of the synapse (x, y)")
    with pytest.raises(ValueError, match="weight of the synapse"):
        learn.to_system(model)


@pytest.mark.slow
def test_gradients_pass_straight_through():
    made = learn.quantise(network(), learn.BINARY)
    inside = [0.3 * x for x in weights_of(made)]
    outside = [x.at[0, 0].set(1.6).at[1, 1].set(-1.5) for x in inside]
    made = eqx.tree_at(weights_of, made, outside)
    exact = [jnp.where(x > 0, 1.0, -1.0) for x in outside]
    plain = eqx.tree_at(weights_of, network(), exact)
    counts, share = jnp.asarray([4.0, 1, 2]), jnp.asarray([1.0, -2.0])

    @eqx.filter_jit
    def slopes(model):
        return eqx.filter_grad(lambda m: jnp.sum(m.response(counts).spikes * share))(model)

    found, wanted = weights_of(slopes(made)), weights_of(slopes(plain))
    assert all(x[0, 0] == 0 for x in found) and any(x[0, 0] != 0 for x in wanted)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y.at[0, 0].set(0), rtol=1e-5)


def test_layers_keep_their_levels_in_a_chain():
    keys = jr.split(jr.key(1))
    layers = tuple(
        learn.SpikingLayer(n, m, key=key, steps=5, guard=guard)
        for n, m, key, guard in zip((3, 4), (4, 2), keys, (2, ()), strict=True)
    )
    layers = learn.quantise(layers[0], POWERS), learn.quantise(layers[1], (-4, 4))
    chained = learn.chain(layers)
    weights = {p: set() for p in "12"}
    for _, target, weight in quietly(learn.to_system, chained, round=True).synapses:
        weights[target[0]].add(weight)
    assert weights["1"] <= {*POWERS} and weights["2"] <= {-4, 4}
    counts = jnp.asarray([3.0, 1, 2])
    _, left = layers[1].response(layers[0](learn.count_train(counts, 5)))
    assert chained.response(counts).spikes.tolist() == left.tolist()


@pytest.mark.parametrize("levels", [(1,), (1, 1), (0.5, 1), (0, 2**24)], ids=str)
def test_levels_are_integers(levels):
    with pytest.raises(ValueError, match="two or more different integers"):
        learn.quantise(network(), levels)
    with pytest.raises(ValueError, match="A dict has no weights"):
        learn.quantise({"x": jnp.zeros(3)}, learn.TERNARY)


@pytest.mark.slow
def test_binary_weights_are_trained():
    """A network of weights -1 and 1 learns which of two halves has more spikes."""
    optax = pytest.importorskip("optax")
    source = np.random.default_rng(0)
    counts = source.integers(0, 6, (500, 8)).astype(np.float32)
    labels = (counts[:, :4].sum(axis=1) < counts[:, 4:].sum(axis=1)).astype(np.int32)
    one, other = jr.split(jr.key(0))
    options = {"steps": 6, "surrogate": learn.FastSigmoid(0.3, height=0.25)}
    layers = (
        learn.SpikingLayer(8, 32, key=one, guard=4, **options),
        learn.SpikingLayer(32, 2, key=other, guard=(), **options),
    )
    layers = learn.quantise(layers, learn.BINARY)

    def scores(layers, counts):
        return layers[1].response(layers[0](counts.T[None]))[1]

    def loss(layers, counts, labels, key):
        del key
        return learn.cross_entropy(scores(layers, counts) / 4, labels)

    def where(layers):
        return [layer.synapses.weight for layer in layers]

    adam = optax.adam(optax.cosine_decay_schedule(0.05, 60 * 5))
    data, options = (counts[:320], labels[:320]), {"epochs": 60, "key": jr.key(1), "where": where}
    with jax.numpy_dtype_promotion("standard"):
        fitted = learn.fit(layers, loss, adam, data, **options)

    def accuracy(layers):
        answers = jnp.argmax(scores(layers, jnp.asarray(counts[320:])), axis=0)
        return np.mean(np.asarray(answers) == labels[320:])

    assert accuracy(layers) < 0.6 < 0.8 < accuracy(fitted.model)  # 0.44 and 0.84
    system = quietly(learn.to_system, learn.chain(fitted.model), round=True)
    assert {w for _, _, w in system.synapses} == {-1, 1}
    assert system.num_synapses == 8 * 32 + 32 * 2


STEPS = 5


def layers():
    """A layer of each kind with weights, with 4 inputs or an image of 2 x 2."""
    options = {"key": jr.key(0), "steps": STEPS, "weight_range": (-6, 6)}
    conv = {"size": (2, 2), "padding": 1, "guard": 2, **options}
    linear = learn.LinearSynapses(4, 3, key=jr.key(3), weight_range=(-6, 6))
    late = learn.LearnedDelays(linear, (1, 0), per="source")
    return {
        "conv": learn.SpikingConv(1, 2, 2, **conv),
        "norm": learn.SpikingConv(1, 2, 2, norm=learn.SpikingNorm(2, scale=20.0), **conv),
        "recurrent": learn.SpikingRecurrent(4, 3, guard=2, delays=(0, 2), **options),
        "leaky": learn.SpikingLeaky(4, 3, threshold=4, decay=0.5, **options),
        "block": learn.SpikingBlock(late, steps=STEPS, guard=2),
        "layer": learn.SpikingLayer(4, 3, guard=2, scale=3.0, **options),
    }


def kinds_with_levels():
    """Every kind of layer with one set of levels, each set with several kinds; others are slow."""
    sets = learn.TERNARY, learn.BINARY, (-4, 1, 3)
    for number, kind in enumerate(layers()):
        for shift, levels in enumerate(sets):
            marks = () if shift == number % 3 else pytest.mark.slow
            yield pytest.param(kind, levels, marks=marks, id=f"{kind}-{levels}")


@pytest.mark.parametrize(("kind", "levels"), [*kinds_with_levels()])
def test_layers_compute_with_levels_and_export_them(kind, levels):
    """The trains of the exported system, whose weights are levels, in every step."""
    made = learn.quantise(layers()[kind], levels)
    counts = np.random.default_rng(0).integers(0, 6, (4, 8))
    given = jnp.asarray(counts, jnp.float32)
    model = learn.Sequential([made], source=learn.relay(5))
    model = eqx.nn.inference_mode(model.observed(given, momentum=1.0))
    found = model.response(given)
    system = quietly(learn.to_system, model, round=True)
    names = {neuron.name for neuron in system.neurons if "d" in neuron.name}  # delays
    weights = {w for _, target, w in system.synapses if target not in names}
    assert weights <= set(levels) and len(weights) > 1
    exact = learn.replay(system, learn.initial_configuration(system, counts), steps=STEPS)
    assert exact.trains.tolist() == np.asarray(found.trains).tolist()
    assert exact.trains.any()
    if kind != "norm":  # which scales the levels
        again = quietly(learn.to_system, learn.quantise(model, learn.bit_levels(4)), round=True)
        assert {w for _, t, w in again.synapses if t not in names} <= set(learn.bit_levels(4))


def test_networks_of_layers_have_levels():
    """Skips of weight 1 stay, and gradients pass straight through."""
    first, second = (learn.LinearSynapses(3, 3, key=key) for key in jr.split(jr.key(0)))
    blocks = [learn.SpikingBlock(own, steps=STEPS, guard=2) for own in (first, second)]
    skip = learn.LinearSynapses(3, 3, key=jr.key(2))
    made = learn.Sequential(blocks, skips=[(0, 2), (0, 2, skip)])
    model = learn.quantise(made, (-3, 1))
    assert [own.allowed and own.allowed.levels for own in model.skips] == [None, (-3, 1)]
    change, where = learn.rounding(model)
    assert 1.5 < change <= 2 and "the weight (" in where
    weights = [own.synapses.weight for own in model.layers]
    exact = [jnp.where(x > -1, 1.0, -3.0) for x in weights]
    assert [own.synapses.exact().weight.tolist() for own in model.layers] == [
        x.tolist() for x in exact
    ]

    def slopes(model, weights):
        def loss(weights):
            where = lambda own: [layer.synapses.weight for layer in own.layers]  # noqa: E731
            changed = eqx.tree_at(where, model, weights)
            return jnp.sum(changed.response(jnp.asarray([4.0, 1, 2])).spikes)

        return jax.grad(loss)(weights)

    skipped = eqx.tree_at(lambda own: own.skips[1], made, model.skips[1])
    for x, y in zip(slopes(model, weights), slopes(skipped, exact), strict=True):
        assert jnp.any(x != 0)
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_models_whose_weights_are_elsewhere_are_refused():
    """Such as NIR networks, whose relaxed system is made of the weights of a graph."""
    alone = learn.relax(snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])], []))
    alone = eqx.tree_at(lambda own: own.synapses, alone, eqx.filter(alone.synapses, False))
    pool = learn.SumPool(1, 2, size=(2,))
    skip = learn.OneToOneSynapses(2)
    for model in (alone, pool, skip, (alone, layers()["leaky"])):
        with pytest.raises(ValueError, match="no weights that are quantised"):
            learn.quantise(model, learn.TERNARY)
