"""A parameter sweep: different systems side by side, each a path of one batch.

A store of k spikes loses c of them in each step; how long does it last?
"""

import snpjax as snp


sweep = [(k, c) for k in (10, 100, 1000) for c in (1, 3, 7)]
systems = [
    snp.SpikingSystem(
        [snp.Neuron("store", k, [f"a{{{c},}}/a^{c} -> a"]), snp.Neuron("count")],
        [("store", "count")],
    )
    for k, c in sweep
]
solutions = snp.run(snp.SystemBatch(systems))
for (k, c), solution in zip(sweep, solutions, strict=True):
    print(f"{k:5} spikes, {c} a step: {solution.steps:5} steps, {solution.spikes_of('store')} left")
    assert (solution.steps, solution.spikes_of("store")) == divmod(k, c)
    assert solution.spikes_of("count") == solution.steps
