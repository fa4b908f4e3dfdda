"""Layers and networks as modules of Flax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from snpjax import learn
from tests.support.helpers import quietly, trees_equal


pytest.importorskip("flax", reason="no flax (pip install '.[flax]')")
optax = pytest.importorskip("optax", reason="no optax (pip install '.[learn]')")

import flax.linen as nn  # noqa: E402
from flax import nnx  # noqa: E402

from snpjax.learn import flax as wrapped  # noqa: E402


TRAIN = jnp.asarray(np.random.default_rng(0).integers(0, 2, (6, 3)), jnp.float32)
COUNTS = jnp.asarray([2.0, 1.0, 3.0])


def layer(key):
    return learn.SpikingLayer(3, 4, key=key, steps=6, guard=2)


def network(key):
    rules = (learn.SENDER, "a{2,}/a^2 -> a", ())
    return learn.SpikingNetwork((3, 4, 2), rules, key=key, steps=6, weight_range=(0, 3))


def loss_of(sent):
    return jnp.sum((jnp.sum(sent, axis=0) - 3) ** 2)


def test_a_linen_module_has_the_weights_as_parameters():
    module = wrapped.Linen(layer)
    variables = module.init(jr.key(3), TRAIN)
    assert set(variables) == {"params", "constants"}
    own = module.apply(variables, method="module")
    (weights,) = variables["params"].values()
    assert weights.tolist() == own.synapses.weight.tolist()
    # Another key draws other weights; guards and everything else are the same.
    other = module.init(jr.key(4), TRAIN)
    assert not jnp.array_equal(weights, *other["params"].values())
    assert trees_equal(variables["constants"], other["constants"])
    sent = jax.jit(module.apply)(variables, TRAIN)
    assert sent.tolist() == own(TRAIN).tolist()
    compiled = jax.jit(module.init)(jr.key(3), TRAIN)
    assert trees_equal(compiled["constants"], variables["constants"])
    np.testing.assert_allclose(*compiled["params"].values(), weights, rtol=1e-5, atol=1e-6)
    given = wrapped.Linen(own).init(jr.key(5), TRAIN)
    assert trees_equal(given, variables)


@pytest.mark.slow
def test_a_linen_module_is_trained():
    class Model(nn.Module):
        """One of other modules: scaled by a layer of floats."""

        @nn.compact
        def __call__(self, train):
            return wrapped.Linen(layer)(train) * nn.Dense(1)(jnp.ones((1, 1)))

    model = Model()
    variables = model.init(jr.key(0), TRAIN)
    optimiser = optax.adamw(0.1)
    state = optimiser.init(variables["params"])

    def loss(params):
        return loss_of(model.apply({**variables, "params": params}, TRAIN))

    @jax.jit
    def improved(params, state):
        slopes = jax.grad(loss)(params)
        updates, state = optimiser.update(slopes, state, params)
        return optax.apply_updates(params, updates), state, slopes

    with jax.numpy_dtype_promotion("standard"):  # which optax needs
        params, state, slopes = improved(variables["params"], state)
    assert all(jnp.any(x != 0) for x in jax.tree.leaves(slopes))
    expected = eqx.filter_grad(
        lambda own: loss_of(own(TRAIN) * nn.Dense(1).apply(dense, jnp.ones((1, 1))))
    )
    dense = {"params": variables["params"]["Dense_0"]}
    module = wrapped.Linen(layer)
    own = {"params": variables["params"]["Linen_0"], "constants": variables["constants"]["Linen_0"]}
    wanted = expected(module.apply(own, method="module")).synapses.weight
    np.testing.assert_allclose(*slopes["Linen_0"].values(), wanted, rtol=1e-5)
    trained = {"params": params["Linen_0"], "constants": own["constants"]}
    system = quietly(learn.to_system, module.apply(trained, method="module"), round=True)
    assert system.num_neurons == 7


def test_an_nnx_module_is_trained():
    module = wrapped.NNX(network, rngs=nnx.Rngs(0))
    with pytest.raises(ValueError, match=r"the type NNX has no .* what its `module\(\)` returns"):
        learn.to_system(module)
    before = module.module()
    assert module(COUNTS).tolist() == before(COUNTS).tolist()
    assert len(jax.tree.leaves(nnx.state(module, nnx.Param))) == 2
    optimiser = nnx.Optimizer(module, optax.adamw(0.1), wrt=nnx.Param)

    def loss(module):
        return jnp.sum((module.module().response(COUNTS).spikes - 3) ** 2)

    @nnx.jit
    def improved(module, optimiser):
        value, slopes = nnx.value_and_grad(loss)(module)
        optimiser.update(module, slopes)
        return value, slopes

    with jax.numpy_dtype_promotion("standard"):  # which optax needs
        value, slopes = improved(module, optimiser)
    wanted = eqx.filter_grad(lambda own: jnp.sum((own.response(COUNTS).spikes - 3) ** 2))(before)
    for found, part in zip(jax.tree.leaves(slopes), wanted.model.synapses.parts, strict=True):
        assert jnp.any(part.values != 0)
        np.testing.assert_allclose(found, part.values, rtol=1e-5)
    after = module.module()
    assert not jnp.array_equal(
        after.model.synapses.parts[0].values, before.model.synapses.parts[0].values
    )
    weights = lambda own: own.model.synapses  # noqa: E731
    assert trees_equal(eqx.tree_at(weights, after, weights(before)), before)
    assert jnp.isfinite(value)


def test_modules_are_selected_and_split():
    module = wrapped.NNX(network(jr.key(0)), where=lambda own: own.model.low)
    (low,) = jax.tree.leaves(nnx.state(module, nnx.Param))
    assert low.tolist() == module.module().model.low.tolist()
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    assert nnx.merge(graph, params, rest)(COUNTS).tolist() == module(COUNTS).tolist()
    with pytest.raises(ValueError, match="Give `rngs"):
        wrapped.NNX(network)


def test_only_wrapped_layers_of_an_nnx_module_are_trained():
    """A plain attribute is refused by nnx; as data, a layer is a constant to its optimisers."""

    class Model(nnx.Module):
        def __init__(self, made):
            self.layer = made

    own = layer(jr.key(0))

    def loss(model):
        return loss_of(model.layer(TRAIN))

    slopes = jax.tree.leaves(nnx.grad(loss)(Model(wrapped.NNX(own))))
    wanted = eqx.filter_grad(lambda own: loss_of(own(TRAIN)))(own).synapses.weight
    assert len(slopes) == 1 and jnp.any(wanted != 0)
    np.testing.assert_allclose(slopes[0], wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="SpikingLayer"):
        Model(own)
    assert not jax.tree.leaves(nnx.grad(loss)(Model(nnx.data(own))))
