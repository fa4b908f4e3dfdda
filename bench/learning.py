"""How long does a training step of a large spiking network take, in how much memory, and are the
numbers of a CPU and a GPU the same?

10,000 neurons and a million synapses with weights, most of them a recurrent random graph, 50 steps,
a batch of 32: the loss, its gradient in all weights and thresholds, and an update of Adam. The
answer is checked first: the run of some paths is that of the exported exact system, and where there
are two kinds of device, both give the same outputs.

    PYTHONPATH=.:formats python bench/learning.py [--small]
"""

import argparse
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

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


def check(network, counts) -> None:
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


def measure(name: str, network, counts, wanted, checkpoint: bool) -> None:
    zeros = jax.tree.map(jnp.zeros_like, eqx.filter(network, eqx.is_inexact_array))
    arguments = network, zeros, zeros, counts, wanted, checkpoint
    jitted: Any = eqx.filter_jit(trained)
    compiled = jitted.lower(*arguments).compile()
    analysis = compiled.compiled.memory_analysis()
    found = compiled(*arguments)
    seconds = []
    for _ in range(7):
        began = time.perf_counter()
        found = jax.block_until_ready(compiled(found[0], found[1], found[2], *arguments[3:]))
        seconds.append(time.perf_counter() - began)
    stats = jax.devices()[0].memory_stats() or {}
    kept = "checkpoints" if checkpoint else "all kept"
    temporary = getattr(analysis, "temp_size_in_bytes", 0) / 2**20
    peak = stats.get("peak_bytes_in_use", 0) / 2**20
    print(
        f"{name}, {kept}: {min(seconds) * 1e3:.1f} ms a training step, loss {found[3]:.4f}, "
        f"temporary {temporary:.0f} MiB, peak of the device so far {peak:.0f} MiB",
        flush=True,
    )


def both_devices(network, counts) -> None:
    """The same numbers on the CPU, bit for bit."""
    if jax.default_backend() == "cpu":
        return
    outputs = []
    for device in (jax.devices()[0], jax.devices("cpu")[0]):
        own = jax.device_put(eqx.filter(network, eqx.is_array), device)
        own = eqx.combine(own, network)
        with jax.default_device(device):
            found = eqx.filter_jit(lambda n, c: n.run(c))(own, jax.device_put(counts, device))
        outputs.append([np.asarray(found.outputs), np.asarray(found.spikes)])
    for one, other in zip(*outputs, strict=True):
        assert one.tolist() == other.tolist()
    print(f"outputs and configurations equal on both devices: {outputs[0][1].size:,} counts")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="1,000 neurons")
    size = 1_000 if parser.parse_args().small else 10_000
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    surrogate = learn.FastSigmoid(0.25, height=1 / 8)
    ends = size // 50
    counts = jr.randint(jr.key(1), (ends, BATCH), 0, 30).astype(jnp.float32)
    wanted = jr.randint(jr.key(2), (ends, BATCH), 0, 12).astype(jnp.float32)
    for name, layout in (("TwoWay", TwoWay), ("Dense", Dense)):
        began = time.perf_counter()
        made = network(size, 104, layout, surrogate)
        parts = made.model.synapses.parts  # pyright: ignore[reportAttributeAccessIssue]
        synapses = sum(int(np.count_nonzero(x)) for x in jax.tree.leaves(made.model.is_synapse))
        print(
            f"{name}: {synapses:,} synapses in {len(parts)} projections, built in "
            f"{time.perf_counter() - began:.1f} s"
        )
        if layout is TwoWay:
            small = network(1_000, 104, layout, surrogate)
            check(small, counts[:20])
            both_devices(made, counts)
        for checkpoint in (True, False):
            measure(name, made, counts, wanted, checkpoint)


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# PYTHONPATH=.:formats python bench/learning.py
# One NVIDIA H200, jax 0.11.2, Python 3.12, 2026-11-22:
#   TwoWay: 1,000,000 synapses in 3 projections, built in 3.5 s
#   outputs and configurations equal on both devices: 320,000 counts
#   TwoWay, checkpoints: 30.2 ms a training step, temporary 87 MiB, peak 219 MiB
#   TwoWay, all kept: 20.0 ms a training step, temporary 334 MiB, peak 425 MiB
#   Dense, checkpoints: 64.5 ms a training step, temporary 434 MiB
#   Dense, all kept: 43.1 ms a training step, temporary 284 MiB
