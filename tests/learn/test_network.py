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
from tests.support.helpers import quietly
from tests.support.processes import environment, python


RULES = (learn.SENDER, "a{2,}/a^2 -> a", ["a{2,}/a^2 -> a", "a -> lambda"])
#: Every pattern of three inputs of 0 or 2 spikes, a path each.
PATTERNS = 2.0 * np.asarray([[i >> bit & 1 for i in range(8)] for bit in range(3)])


def network(**options):
    return learn.SpikingNetwork((3, 4, 1), RULES, **{"key": jr.key(0), "steps": 12, **options})


@pytest.mark.parametrize("layout", ["auto", pytest.param(CSR, marks=pytest.mark.slow)])
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "surrogate",
    [
        learn.FastSigmoid(0.5, height=0.5),
        pytest.param(learn.Smooth(1.0), marks=pytest.mark.slow),
    ],
)
def test_populations_one_by_one_are_all_together(surrogate):
    """Values and gradients: of thresholds, amounts, first spikes and weights; with a skip."""
    rules = (learn.relay(2), ["a{2,}/a^2 -> a^2", "a{1} -> lambda"], "a+/a -> a", ())
    projections = [(0, 1), (1, 2), (0, 2, snp.graphs.OneToOne()), (1, 3), (2, 3)]
    options = {"projections": projections, "surrogate": surrogate, "steps": 6}
    made = learn.SpikingNetwork((3, 4, 3, 2), rules, key=jr.key(2), **options)
    initial = jnp.zeros(16).at[4].set(1.2).at[8].set(2.0)
    made = eqx.tree_at(lambda n: n.model.initial, made, initial)
    counts, weights = jnp.asarray(PATTERNS), jnp.asarray([[3.0], [-1.0]])

    def one_by_one(made):
        found = made.response(counts)
        return jnp.sum(found.spikes * weights) + jnp.sum(found.trains), found.spikes

    def together(made):
        found = made.run(counts)
        return jnp.sum(found.spikes[-2:] * weights) + jnp.sum(found.outputs), found.spikes[-2:]

    (_, spikes), slopes = eqx.filter_jit(eqx.filter_value_and_grad(one_by_one, has_aux=True))(made)
    (_, others), expected = eqx.filter_jit(eqx.filter_value_and_grad(together, has_aux=True))(made)
    np.testing.assert_allclose(spikes, others, rtol=1e-5)
    assert spikes.tolist() == others.tolist() or surrogate == learn.Smooth(1.0)
    for name in ("low", "consume", "produce", "initial"):
        own = getattr(slopes.model, name)
        assert jnp.any(own != 0), name
        np.testing.assert_allclose(own, getattr(expected.model, name), rtol=1e-4, atol=1e-4)
    found, wanted = (jax.tree.leaves(s.model.synapses) for s in (slopes, expected))
    assert len(found) == len(projections)
    for x, y in zip(found, wanted, strict=True):
        assert jnp.any(x != 0)
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_layers_are_their_network():
    """A chain of layers, the network made of them, and the exact system of that."""
    options = {"steps": 9, "surrogate": learn.FastSigmoid(height=0.5)}
    one, other = jr.split(jr.key(1))
    layers = [
        learn.SpikingLayer(3, 4, key=one, guard=2, scale=1.5, **options),
        learn.SpikingLayer(4, 2, key=other, guard="a(aa)*", **options),
    ]
    layers[0] = eqx.tree_at(
        lambda x: x.neurons.model.low, layers[0], layers[0].neurons.model.low + 1
    )
    counts = jnp.asarray(PATTERNS)
    train = learn.count_train(counts, 9)
    for layer in layers:
        train = layer(train)
    network = learn.chain(layers)
    assert network(counts).tolist() == learn.total(train).tolist()
    system = quietly(learn.to_system, network, round=True)
    for path, own in enumerate(PATTERNS.T.astype(int).tolist()):
        spikes = [*own, *[0] * 6]
        neurons = [
            snp.Neuron(n.name, k, n.rules) for n, k in zip(system.neurons, spikes, strict=True)
        ]
        exact = snp.run(quietly(system.replace, neurons=neurons), max_steps=9)
        assert exact.spike_trains.T.sum(axis=1).tolist() == learn.total(train)[:, path].tolist()
    single = layers[1](layers[0](learn.count_train(counts[:, 5], 9)))
    assert single.tolist() == train[..., 5].tolist()
    slopes = eqx.filter_grad(lambda layer: jnp.sum(layers[1](layer(learn.count_train(counts, 9)))))(
        layers[0]
    )
    assert jnp.any(slopes.neurons.model.low != 0)


@pytest.mark.parametrize(
    "guard, rules",
    [
        (3, ["a{3,}/a^3 -> a"]),
        ("a{2}|a{4}", ["a{2}|a{4}/a^2 -> a"]),
        ("a{2} -> lambda", ["a{2} -> lambda"]),
        (["a -> a", "a{2}/a -> a"], ["a -> a", "a{2}/a -> a"]),
    ],
)
def test_guards_of_layers(guard, rules):
    layer = learn.SpikingLayer(1, 1, key=jr.key(0), steps=2, guard=guard)
    found = quietly(learn.to_system, layer, round=True).neurons[1].rules
    assert found == snp.Neuron("x", 0, rules).rules


def test_layers_that_do_not_fit_are_refused():
    def layer(*sizes, steps=4):
        return learn.SpikingLayer(*sizes, key=jr.key(0), steps=steps)

    with pytest.raises(ValueError, match="Layer 2 takes 4 inputs, but layer 1 has 3.*\n.*`steps`"):
        learn.chain([layer(2, 3), layer(4, 1, steps=5)])
    with pytest.raises(ValueError, match="There are no layers"):
        learn.chain([])
    with pytest.raises(ValueError, match="Give up to 4 steps of 2 neurons"):
        layer(2, 3)(jnp.zeros((4, 3)))
    with pytest.raises(ValueError, match="`guard` is 0"):
        learn.SpikingLayer(1, 1, key=jr.key(0), steps=2, guard=0)
    with pytest.raises(ValueError, match="accepts no spikes"):
        learn.SpikingLayer(1, 1, key=jr.key(0), steps=2, guard="a{0}")
    with pytest.raises(ValueError, match=r"\(1, 1\) is given twice"):
        network(projections=[(0, 1), (1, 1), (1, 1)])


def test_a_network_with_a_cycle():
    made = network(projections=[(0, 1), (1, 1), (1, 2)])
    assert made(jnp.asarray(PATTERNS)).tolist() == [
        np.asarray(made.run(jnp.asarray(PATTERNS)).outputs).sum(axis=0)[0].tolist()
    ]


def test_a_batch_is_shared_among_devices():
    """Of one here; `test_a_batch_on_two_devices` has two."""
    mesh = jax.make_mesh((1,), ("paths",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "paths"))
    made, counts = network(), jnp.asarray(PATTERNS)
    shared = eqx.filter_jit(lambda n, x: n(x))(made, jax.device_put(counts, sharding))
    assert shared.tolist() == made(counts).tolist()


def test_populations_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="There are 2 sizes and 3 rules"):
        learn.SpikingNetwork((3, 1), RULES, key=jr.key(0), steps=4)
    with pytest.raises(ValueError, match=r"Projection \(0, 3\) names no population of 3"):
        network(projections=[(0, 3)])
    with pytest.raises(ValueError, match=r"`counts` has the shape .* Give \(3,\) or \(3, paths\)"):
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


def test_sent():
    counts = jnp.asarray([0.0, 2.0, 5.0])
    train = jax.jit(lambda x: learn.count_train(x, 4))(counts)  # traced, as 5 are refused else
    assert train.tolist() == [[0, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1]]
    slopes = jax.jacobian(lambda x: learn.count_train(x, 4))(counts)
    assert jnp.sum(slopes, axis=0).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_codes():
    values = jnp.asarray([-1.2, 0.4, 2.6])
    assert learn.nearest_counts(values).tolist() == [0, 0, 3]
    assert jax.grad(lambda x: learn.nearest_counts(x).sum())(values).tolist() == [0, 1, 1]
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


_TWO_DEVICES = """
import equinox as eqx, jax, jax.numpy as jnp, jax.random as jr
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from snpjax import learn

mesh = jax.make_mesh((2,), ("paths",), axis_types=(AxisType.Auto,))
rules = (learn.SENDER, "a{2,}/a^2 -> a", "a{2,}/a^2 -> a")
network = learn.SpikingNetwork((3, 4, 1), rules, key=jr.key(0), steps=6)
counts = jnp.arange(24.0).reshape(3, 8) % 5
slopes = eqx.filter_jit(eqx.filter_grad(lambda n, x: jnp.sum(n(x) ** 2)))
shared = jax.device_put(counts, NamedSharding(mesh, PartitionSpec(None, "paths")))
found = eqx.filter_jit(lambda n, x: n(x))(network, shared)
assert len(found.sharding.device_set) == 2 and found.tolist() == network(counts).tolist()
one, other = (jax.tree.leaves(slopes(network, x)) for x in (counts, shared))
assert all(jnp.allclose(x, y, rtol=1e-5) for x, y in zip(one, other, strict=True))
"""


@pytest.mark.slow
def test_a_batch_on_two_devices():
    """Values and gradients of a batch that two devices share, in a process that has them."""
    flags = "--xla_force_host_platform_device_count=2"
    python("-c", _TWO_DEVICES, env=environment(XLA_FLAGS=flags, JAX_PLATFORMS="cpu"))
