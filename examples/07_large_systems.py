"""Sorting with populations and projections: nine million synapses that are never listed.

In each step `s[j]` receives one spike from every input that is still busy. It fires for exactly
n - j spikes and forgets any other number: n forgetting rules, which are one consume-all rule here.
"""

import numpy as np

import snpjax as snp


n = 3000
place = np.arange(n)
fires = n - place
numbers = np.random.default_rng(0).permutation(n) + 1
system = snp.PopulationSystem(
    [
        snp.Population("i", n, numbers, ["a+/a -> a"]),
        snp.Population(
            "s",
            n,
            rules=[
                snp.RuleTemplate(None, consume=fires, produce=1),
                snp.RuleTemplate([(1, fires - 1), (fires + 1, n)], consume=snp.ALL),
            ],
        ),
        snp.Population("o", n),
    ],
    [
        snp.Projection("i", "s", snp.graphs.AllToAll()),
        snp.Projection("s", "o", snp.graphs.Intervals(start=place, stop=np.full(n, n))),
    ],
)
print(system)
lowered = snp.lower(system)
print(f"{lowered.nbytes:,} bytes for {system.num_synapses:,} synapses")
solution = snp.run(system, save=snp.SAVE_FINAL)
print(f"sorted after {solution.steps:,} steps:", solution.spikes_of("o"))
assert np.array_equal(solution.spikes_of("o"), sorted(numbers.tolist()))

# The same system neuron by neuron, small enough to read.
print(snp.PopulationSystem([snp.Population("p", 3, [1, 2, 3], ["a^2/a -> a; 1"])]).expand())
