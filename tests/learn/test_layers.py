"""Layers compute the run of the exact system that they are exported as."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import learn
from tests.support.helpers import quietly


STEPS = 5
seeds = st.integers(0, 10_000)


def moved(model, seed):
    """The model with other weights and delays."""
    source = np.random.default_rng(seed)

    def move(x):
        return x + jnp.asarray(source.normal(0, 1, x.shape), x.dtype)

    def trained(model):
        leaves = []
        for layer in (*model.layers, *model.skips):
            if isinstance(layer, learn.AbstractSpikingLayer):
                leaves += [layer.synapses.weight, *_logits(layer.synapses)]
                if layer.recurrent is not None:
                    leaves += [layer.recurrent.weight, *_logits(layer.recurrent)]
            elif isinstance(layer, learn.AbstractSynapses):
                leaves += [layer.weight] * (layer.weight.size > 0) + _logits(layer)
        return leaves

    return eqx.tree_at(trained, model, list(map(move, trained(model))))


def _logits(synapses):
    return [synapses.logits] if isinstance(synapses, learn.LearnedDelays) else []


@eqx.filter_jit
def response(network, counts, input):
    return network.response(counts, input=input)


def exported(network):
    return quietly(learn.to_system, network, round=True)


def assert_exact(network, seed, paths=3):
    """The trains and the final spikes of the outputs are those of `snpjax.run`, in every step."""
    source = np.random.default_rng(seed)
    inputs = network.sizes[0]
    counts = source.integers(0, 5, (inputs, paths))
    train = source.integers(0, 3, (STEPS - 2, inputs, paths)) * source.integers(0, 2)
    found = response(network, jnp.asarray(counts, jnp.float32), jnp.asarray(train, jnp.float32))
    system = exported(network)
    own = [f"0{{{i}}}" for i in range(inputs)]
    system = quietly(system.replace, input={name: [] for name in own})
    exact = snp.run(
        system,
        paths=paths,
        initial=learn.initial_spikes(system, counts),
        inputs=train,
        max_steps=STEPS,
    )
    trains = np.zeros(found.trains.shape, int)
    trains[: len(exact.spike_trains)] = exact.spike_trains
    assert np.asarray(found.trains).tolist() == trains.tolist()
    places = [index for index, x in enumerate(system.neurons) if x.name in set(system.output)]
    assert np.asarray(found.spikes).tolist() == exact.spikes[places].tolist()
    return trains


def conv(*args, seed=0, **options):
    return learn.SpikingConv(*args, **{"key": jr.key(seed), "steps": STEPS, "guard": 2, **options})


def everything(seed):
    """Each kind of layer and of synapses, and skips."""
    keys = jr.split(jr.key(seed), 6)
    first = conv(1, 2, 3, size=(4, 3), padding=1, stride=(2, 1), scale=2.0)
    pool = learn.SumPool(2, (1, 2), size=first.out_shape, stride=1)
    recurrent = learn.SpikingRecurrent(
        pool.windows.out_size, 3, key=keys[1], guard=3, steps=STEPS, delays=(2, 0)
    )
    leaky = learn.SpikingLeaky(3, 3, key=keys[2], threshold=5, decay=0.6, steps=STEPS)
    late = learn.LearnedDelays(learn.LinearSynapses(12, 3, key=keys[3]), (1, 0), per="source")
    plain = learn.SpikingLayer(3, 2, key=keys[4], guard=2, steps=STEPS)
    return learn.Sequential((first, pool, recurrent, leaky, plain), skips=[(0, 3, late), (3, 4)])


def normalised():
    norm = learn.SpikingNorm(2, scale=6.0, offset=1.0)
    first = conv(1, 2, 2, size=(6,), guard=3, norm=norm, delays=(0, 1))
    pool = learn.MaxPool(2, 2, size=first.out_shape)
    layers = first, pool, learn.SpikingBlock(learn.LinearSynapses(4, 2, key=jr.key(1)), steps=STEPS)
    return learn.Sequential(layers, source=learn.relay(4))


@settings(max_examples=6)
@given(seeds)
def test_a_network_is_its_exact_system(seed):
    assert_exact(moved(everything(0), seed), seed)


def test_most_networks_emit():
    """So that the test above compares something."""
    totals = [assert_exact(moved(everything(0), seed), seed).sum() for seed in range(4)]
    assert np.count_nonzero(totals) >= 2


@settings(max_examples=6)
@given(seeds, st.integers(-6, 6))
def test_a_folded_normalisation_is_its_exact_system(seed, offset):
    """The spikes that are added become initial ones, or raise the guards."""
    network = moved(normalised(), seed)
    (norm,) = network.norms
    changed = jnp.asarray([offset, -offset], jnp.float32)
    network = eqx.tree_at(lambda own: own.layers[0].norm.offset, network, changed)
    counts = jnp.asarray(np.random.default_rng(seed).integers(0, 5, (6, 8)), jnp.float32)
    network = eqx.filter_jit(lambda own, x: own.observed(x, momentum=1.0))(network, counts)
    assert (network.norms[0].mean != norm.mean).any()
    with pytest.raises(ValueError, match=r"statistics of each batch.*inference_mode"):
        exported(network)
    assert_exact(eqx.nn.inference_mode(network), seed)
