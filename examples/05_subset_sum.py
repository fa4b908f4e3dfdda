"""Subset sum by nondeterministic choices and delays: does a subset of `numbers` add up to `target`?

Both families of Leporati et al. 2009; the non-uniform one is in `published_systems.py`. In step 1
each number is chosen or not: its neuron c{i} spikes at once, together with c0, or a step too late.
"""

from itertools import combinations

import jax
import numpy as np
from published_systems import chosen_numbers, subset_sum

import snpjax as snp


def uniform(numbers: list[int], target: int) -> snp.SpikingSystem:
    """Numbers are initial spikes; rules depend only on how many there are. Halts iff equal.

    A store holds 2v spikes; one more spike makes it fire v times. When all stores have finished,
    t2 starts the sum and the target in the same way, and g1 detects if one of them lasts longer.
    """
    neurons, synapses = chosen_numbers(numbers)
    store = ["a(aa)+/a^2 -> a"]
    for i, number in enumerate(numbers, start=1):
        neurons.append(snp.Neuron(f"in{i}", 2 * number, store))
        neurons += [snp.Neuron(f"e{i},{k}", 0, ["a -> a"]) for k in (1, 2)]
        synapses.append((f"d{i}", f"in{i}"))
        for k in (1, 2):
            synapses += [(f"in{i}", f"e{i},{k}"), (f"e{i},{k}", "sum"), (f"e{i},{k}", "t1")]
    neurons += [snp.Neuron("sum", 0, store), snp.Neuron("target", 2 * target, store)]
    # The clock h4, h5 ticks at t1, which forgets the tick while numbers are still being sent.
    neurons += [snp.Neuron(f"h{k}", int(k == 1), ["a -> a"]) for k in range(1, 6)]
    busy = [snp.Rule(None, 2 * k + 1) for k in range(1, len(numbers) + 1)]
    neurons += [snp.Neuron("t1", 0, ["a -> a", *busy]), snp.Neuron("t2", 0, ["a^2 -> a"])]
    neurons.append(snp.Neuron("g1", 0, ["a^2 -> lambda", "a -> a"]))
    neurons += [snp.Neuron(name, 0, ["a -> a", "a^2 -> a"]) for name in ("g2", "g3")]
    synapses += [("h1", "h2"), ("h2", "h3"), ("h3", "h4"), ("h3", "h5"), ("h4", "h5"), ("h5", "h4")]
    synapses += [("h4", "t1"), ("t1", "h4"), ("t1", "h5"), ("t1", "t2")]
    synapses += [("t2", "sum"), ("t2", "target"), ("sum", "g1"), ("target", "g1")]
    synapses += [("g1", "g2"), ("g1", "g3"), ("g2", "g3"), ("g3", "g2")]
    return snp.SpikingSystem(neurons, synapses)


numbers = [3, 5, 6, 10]
choice = snp.UniformChoice(jax.random.key(0))
for target in (8, 12, 14, 24):
    by_force = any(sum(c) == target for k in range(5) for c in combinations(numbers, k))
    first = snp.run(subset_sum(numbers, target), choice=choice, paths=512, max_steps=10)
    second = snp.run(uniform(numbers, target), choice=choice, paths=512, max_steps=100)
    answers = bool(np.any(first.counts() > 0)), bool(np.any(second.halted))
    print(f"{target:3}: {answers[0]!s:5} in {np.sum(first.counts() > 0):3} of 512 random paths")
    assert answers == (by_force, by_force)
