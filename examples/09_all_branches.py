"""Explore all computations: what a system can compute, not what one run happens to compute."""

from itertools import combinations
from pathlib import Path

import snpjax as snp


# Every number that a generator can compute. Its graph is finite, so the answer is complete.
generator = snp.read(Path(__file__).with_name("natural_numbers.pli"))
graph = snp.explore(generator)
print(graph)
computed = graph.intervals(20)
print("numbers computed up to 20:", computed)
assert graph.is_complete and computed.complete_up_to == 20
assert computed.values == tuple(range(2, 21)), "all but 1"


# Subset sum: every subset is one choice of the first step, and `out` spikes iff a sum is right.
def subset_sum(numbers: list[int], target: int) -> snp.SpikingSystem:
    """A number is either sent in one step, or kept."""
    neurons = [snp.Neuron(f"c{i}", 1, ["a -> a", "a -> lambda"]) for i in range(len(numbers))]
    synapses = [(f"c{i}", "out", number) for i, number in enumerate(numbers)]
    neurons.append(snp.Neuron("out", 0, [snp.Rule(target, target, 1)]))
    return snp.SpikingSystem(neurons, synapses, output="out")


numbers = [3, 5, 6, 10, 17, 20, 31, 40]
for target in (2, 37, 99, 132, 133):
    graph = snp.explore(subset_sum(numbers, target))
    spiking = graph.sources[graph.emitted() > 0]  # the configurations in which `out` spikes
    subsets = [c for k in range(len(numbers) + 1) for c in combinations(numbers, k)]
    by_force = [subset for subset in subsets if sum(subset) == target]
    print(f"{target:4}: {graph.num_choices:4} choices, {'some' if len(spiking) else 'no'} subset")
    assert graph.is_complete and bool(len(spiking)) == bool(by_force)
    if len(spiking):
        # Replay the choices that lead there as a run: those of the first step are the subset.
        run = snp.run(graph.system, choice=graph.witness(int(spiking[0])), max_steps=1)
        assert run.spikes_of("out") == target
        chosen = tuple(x for x, rule in zip(numbers, run.rules[0], strict=False) if rule == 0)
        print("     ", " + ".join(map(str, chosen)), "=", sum(chosen))
        assert chosen in by_force
