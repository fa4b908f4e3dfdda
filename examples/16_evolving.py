"""A system that adds two numbers, bit by bit, found by evolution alone.

Each generation is run in one batch: 512 systems of three neurons, each on all 64 pairs of numbers
of three bits. The fitness depends only on the spikes that leave the last neuron.
"""

import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np

import snpjax as snp
from snpjax import learn


BITS = 3
pairs = np.array(list(itertools.product(range(2**BITS), repeat=2)))
bits = (
    pairs[:, None, :] >> np.arange(BITS)[:, None] & 1
)  # least significant bit first: (cases, bits, inputs)
sums = pairs.sum(axis=1)[:, None] >> np.arange(BITS + 1) & 1
STEPS = BITS + 3  # an input passes two neurons


def right_bits(trains):
    """The share of correct bits; an input needs two steps to pass two neurons."""
    return jnp.mean(trains[:, 2:, 0] == sums)


found = learn.evolve(
    learn.Space(neurons=3, rules=3, inputs=2),
    right_bits,
    steps=STEPS,
    key=jax.random.key(0),
    input=bits,
    generations=60,
    population=512,
)
print(f"{found.history[0]:.0%} of the bits were right at first, {found.fitness:.0%} at the end")
for neuron in found.system.neurons:
    print(f"  {neuron.name}, {neuron.spikes} spikes: {'; '.join(map(str, neuron.rules))}")
print("  " + ", ".join(f"{s} -> {t}" for s, t, _ in found.system.synapses))
assert found.fitness == 1

# Longer numbers were not among the training cases.
x, y = 1234, 987
trains = {"n0": [x >> k & 1 for k in range(12)], "n1": [y >> k & 1 for k in range(12)]}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", snp.ModelWarning)
    system = found.system.replace(input=trains)
solution = snp.run(system, max_steps=20)
answer = sum(int(bit) << k for k, bit in enumerate(solution.spike_train[2:]))
print(f"{x} + {y} = {answer}")
assert answer == x + y
