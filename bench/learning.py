"""How long does a training step of a large spiking network take?

10,000 neurons and a million synapses with weights, most of them a recurrent random graph, 50 steps,
a batch of 32: the loss, its gradient in all weights and thresholds, and an update of Adam. The run
of some paths of a small network is that of the exported exact system.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from figures import Case, figure

import snpjax as snp
from snpjax import learn
from snpjax_formats import Dense, TwoWay


STEPS, BATCH = 50, 32


def network(size: int, degree: int, layout, surrogate) -> learn.SpikingNetwork:
    rules = ("a+/a -> a", "a{8,}/a^8 -> a^2", "a{8,}/a^8 -> a")
    ends = size // 50
    middle = size - 2 * ends
    graphs = [
        (0, 1, snp.graphs.RandomInDegree(10, seed=1)),
        (1, 1, snp.graphs.RandomInDegree(degree - 12, seed=2)),
        (1, 2, snp.graphs.RandomInDegree(degree, seed=3)),
    ]
    return learn.SpikingNetwork(
        (ends, middle, ends),
        rules,
        key=jr.key(0),
        steps=STEPS,
        projections=graphs,
        scale=1.0,
        layout=layout,
        surrogate=surrogate,
    )


def loss(network, counts, wanted, checkpoint):
    sizes = network.sizes
    spikes = jnp.pad(counts, ((0, sum(sizes[1:])), (0, 0)))
    found = learn.run(network.model, steps=STEPS, spikes=spikes, checkpoint=checkpoint)
    return jnp.mean((learn.total(found.outputs) - wanted) ** 2)


def trained(network, mean, square, counts, wanted, checkpoint):
    """One step of Adam (Kingma and Ba 2015), by hand: no library has to be there."""
    value, slopes = eqx.filter_value_and_grad(loss)(network, counts, wanted, checkpoint)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, square, slopes)
    moves = jax.tree.map(lambda m, v: -0.01 * m / (jnp.sqrt(v) + 1e-8), mean, square)
    return eqx.apply_updates(network, moves), mean, square, value


def check_export(network, counts) -> None:
    """Two paths are runs of the exported system."""
    found = network.run(counts[:, :2])
    system = learn.to_system(network.model, round=True)
    for path in range(2):
        own = np.asarray(counts[:, path]).astype(int)
        neurons = [
            snp.Neuron(n.name, int(k), n.rules)
            for n, k in zip(system.neurons, [*own, *[0] * system.num_neurons], strict=False)
        ]
        exact = snp.run(system.replace(neurons=neurons), max_steps=STEPS, save=snp.SAVE_FINAL)
        assert found.spikes[:, path].tolist() == exact.spikes.tolist(), path


@figure("training step, 10,000 neurons, Dense, checkpoints", 10_000, Dense, True, on="")
@figure("training step, 10,000 neurons, Dense", 10_000, Dense, False, on="")
@figure("training step, 10,000 neurons, checkpoints", 10_000, TwoWay, True, on="gpu")
@figure("training step, 10,000 neurons", 10_000, TwoWay, False)
@figure("training step, 1,000 neurons", 1_000, TwoWay, False, on="cpu")
def training(size: int, layout: Any, checkpoint: bool) -> Case:
    surrogate = learn.FastSigmoid(0.25, height=1 / 8)
    ends = size // 50
    counts = jr.randint(jr.key(1), (ends, BATCH), 0, 30).astype(jnp.float32)
    wanted = jr.randint(jr.key(2), (ends, BATCH), 0, 12).astype(jnp.float32)
    made = network(size, 104, layout, surrogate)
    zeros = jax.tree.map(jnp.zeros_like, eqx.filter(made, eqx.is_inexact_array))
    step: Any = eqx.filter_jit(trained)

    def call() -> Any:
        return jax.block_until_ready(step(made, zeros, zeros, counts, wanted, checkpoint))

    def check(found: Any) -> None:
        assert jnp.isfinite(found[3])
        check_export(network(1_000, 104, layout, surrogate), counts[:20])

    return Case(call, check)
