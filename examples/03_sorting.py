"""Sorts numbers in parallel: n numbers take max(numbers) + 1 steps, whatever their order."""

import random

import snpjax as snp


def sorter(numbers: list[int]) -> snp.SpikingSystem:
    """The sorting system of Ionescu and Sburlan for these numbers."""
    n = len(numbers)
    inputs = [snp.Neuron(f"in{j}", number, ["a+/a -> a"]) for j, number in enumerate(numbers)]
    # Sorter i answers when exactly i inputs are still busy, and forgets any other count.
    sorters = [
        snp.Neuron(
            f"s{i}",
            0,
            [f"a^{k} -> {'a' if k == i else 'lambda'}" for k in range(1, n + 1)],
        )
        for i in range(1, n + 1)
    ]
    places = [snp.Neuron(f"place{j}") for j in range(n)]
    synapses = [(f"in{j}", f"s{i}") for j in range(n) for i in range(1, n + 1)]
    synapses += [(f"s{i}", f"place{j}") for i in range(1, n + 1) for j in range(n - i, n)]
    return snp.SpikingSystem([*inputs, *sorters, *places], synapses, level="strict")


numbers = random.Random(0).choices(range(1, 40), k=20)
system = sorter(numbers)
print(repr(system))
solution = snp.run(system)
places = [system.names[f"place{j}"] for j in range(len(numbers))]
result = solution.spikes[places].tolist()
print("in: ", numbers)
print("out:", result)
assert result == sorted(numbers)
assert solution.steps == max(numbers) + 1
