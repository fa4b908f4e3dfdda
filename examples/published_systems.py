"""Systems from the literature that several examples and the scripts of `papers` use."""

import numpy as np

import snpjax as snp


def sorter(numbers: np.ndarray) -> snp.PopulationSystem:
    """The sorting system of Ionescu and Sburlan: s[j] fires at n - j spikes, and forgets others."""
    n = len(numbers)
    place = np.arange(n)
    forgotten = [(1, n - place - 1), (n - place + 1, n)]
    rules = [snp.RuleTemplate(None, n - place, 1), snp.RuleTemplate(forgotten, snp.ALL)]
    return snp.PopulationSystem(
        [
            snp.Population("i", n, numbers, ["a+/a -> a"]),
            snp.Population("s", n, 0, rules),
            snp.Population("o", n),
        ],
        [
            snp.Projection("i", "s", snp.graphs.AllToAll()),
            snp.Projection("s", "o", snp.graphs.Intervals(place, np.full(n, n))),
        ],
    )


def listed_sorter(
    numbers: list[int], compatibility: snp.Compatibility = snp.compatibility.TEXTBOOK
) -> snp.SpikingSystem:
    """The sorting system with every rule listed, as the papers on matrices count them."""
    n = len(numbers)
    neurons = [snp.Neuron(f"i{j}", number, ["a+/a -> a"]) for j, number in enumerate(numbers, 1)]
    for j in range(1, n + 1):
        rules = [snp.Rule(None, k, int(k == n + 1 - j)) for k in range(n, 0, -1)]
        neurons.append(snp.Neuron(f"s{j}", 0, rules))
    neurons += [snp.Neuron(f"o{j}") for j in range(1, n + 1)]
    synapses = [(f"i{i}", f"s{j}") for i in range(1, n + 1) for j in range(1, n + 1)]
    synapses += [(f"s{i}", f"o{j}") for i in range(1, n + 1) for j in range(i, n + 1)]
    return snp.SpikingSystem(neurons, synapses, compatibility=compatibility)


def chosen_numbers(numbers: list[int]) -> tuple[list[snp.Neuron], list[tuple[str, str]]]:
    """Neurons and synapses in which d{i} spikes in step 2 iff number i is chosen.

    To choose it, c{i} spikes without delay, together with c0 (Leporati et al. 2009).
    """
    neurons, synapses = [snp.Neuron("c0", 1, ["a -> a"])], []
    for i, _ in enumerate(numbers, start=1):
        neurons.append(snp.Neuron(f"c{i}", 1, ["a -> a", "a -> a; 1"]))
        neurons.append(snp.Neuron(f"d{i}", 0, ["a^2 -> a", "a -> lambda"]))
        synapses += [("c0", f"d{i}"), (f"c{i}", f"d{i}")]
    return neurons, synapses


def subset_sum(numbers: list[int], target: int) -> snp.SpikingSystem:
    """The non-uniform family of Leporati et al. 2009: `out` spikes iff the sum is right.

    Numbers are coded in synapses, the target in a rule.
    """
    neurons, synapses = chosen_numbers(numbers)
    for i, number in enumerate(numbers, start=1):
        for k in range(number):
            neurons.append(snp.Neuron(f"e{i},{k}", 0, ["a -> a"]))
            synapses += [(f"d{i}", f"e{i},{k}"), (f"e{i},{k}", "out")]
    neurons.append(snp.Neuron("out", 0, [snp.Rule(target, target, 1)]))
    return snp.SpikingSystem(neurons, synapses, output="out")
