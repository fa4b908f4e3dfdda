"""A knapsack packed by an SN P system that learns which rules to choose.

Each of 24 neurons, one for each item, holds one spike, and either sends it or forgets it. Synapses
to two counting neurons weigh as much as the value and the weight of the item. The probabilities of
the rules are learned from batches of 64 runs, by straight-through gradients of the choices. The
answer is compared with that of dynamic programming.
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import snpjax as snp
from snpjax import learn


parser = argparse.ArgumentParser()
parser.add_argument("--seeds", type=int, default=5)
seeds = parser.parse_args().seeds

source = np.random.default_rng(24)
weights = source.integers(10, 60, 24)
values = weights + source.integers(0, 30, 24)
room = int(weights.sum() // 2)

best = np.zeros(room + 1, int)  # the best value for each capacity up to `room`
for weight, value in zip(weights.tolist(), values.tolist(), strict=True):
    best[weight:] = np.maximum(best[weight:], best[: room + 1 - weight] + value)
optimum = int(best[room])

items = [f"item {i}" for i in range(24)]
system = snp.SpikingSystem(
    [snp.Neuron(item, 1, ["a -> a", "a -> lambda"]) for item in items]
    + [snp.Neuron("value"), snp.Neuron("weight")],
    [(x, "value", int(v)) for x, v in zip(items, values, strict=True)]
    + [(x, "weight", int(w)) for x, w in zip(items, weights, strict=True)],
)
model = learn.relax(system, temperature=1.0)


def packed(logits, key):
    """The values and weights of 64 runs."""
    full = jnp.pad(logits, ((0, 0), (0, 2)))
    solution = learn.run(model, steps=1, choice=snp.WeightedChoice(full, key), paths=64)
    return solution.spikes[-2], solution.spikes[-1]


@eqx.filter_jit
def learned(key):
    """The best value that fits, of 200 batches, and the final logits."""

    def loss(logits, key):
        value, weight = packed(logits, key)
        excess = jnp.maximum(weight - room, 0)
        fitting = jnp.max(jnp.where(excess == 0, value, 0))
        return -jnp.mean(value - 3 * excess), fitting

    def step(carry, key):
        logits, speed = carry
        slopes, fitting = jax.grad(loss, has_aux=True)(logits, key)
        speed = 0.9 * speed - 0.005 * slopes
        return (logits + speed, speed), fitting

    zeros = jnp.zeros((2, 24))
    (logits, _), fitting = jax.lax.scan(step, (zeros, zeros), jr.split(key, 200))
    return jnp.max(fitting), logits


found, logits = [], None
for seed in range(seeds):
    value, logits = learned(jr.key(seed))
    found.append(int(value))
    print(f"seed {seed}: {int(value)} of {optimum}")
reached = sum(value == optimum for value in found)
print(f"the optimum of {optimum} in {reached} of {seeds} seeds")

assert logits is not None
# Use the learned probabilities in exact runs, and take the best of 256.
exact = snp.run(
    system, choice=snp.WeightedChoice(np.pad(logits, ((0, 0), (0, 2))), jr.key(99)), paths=256
)
value, weight = exact.spikes_of("value"), exact.spikes_of("weight")
print(f"256 exact runs: {value[weight <= room].max()} at best")
blind = snp.run(system, choice=snp.UniformChoice(jr.key(99)), paths=200 * 64)
value_of_blind = blind.spikes_of("value")[blind.spikes_of("weight") <= room]
print(f"as many runs as in the training that learned nothing: {value_of_blind.max()} at best")
assert reached >= 0.8 * seeds
assert value[weight <= room].max() <= optimum
