"""Plasticity: a neuron rewires itself each time that it spikes, which computes the numbers 3k + 1.

Neuron i has no synapse. Its rule `a -> +-1(i, {j, m})` creates one, to j or to m, sends a spike
along it, and deletes it one step later. Through m the spike leaves the system; through j and l it
returns to i three steps later, and i chooses again.
"""

from pathlib import Path

import jax

import snpjax as snp


system = snp.read(Path(__file__).with_name("plasticity.snp.json"))
key = jax.random.key(0)

# One computation: the synapses after each step.
solution = snp.run(system, choice=snp.UniformChoice(key), max_steps=30)
for row in range(len(solution.configurations)):
    network = solution.network(row)
    arcs = [f"{network.names[s]}->{network.names[t]}" for s, t, _ in network.synapses]
    print(row, solution.configurations[row], *arcs)
assert solution.halted

# Many computations: the numbers that they happen to compute.
batch = snp.run(system, choice=snp.UniformChoice(key), max_steps=64, paths=1000)
numbers = set(batch.intervals().compressed().tolist())
print("random paths:", sorted(numbers))

# All computations. Configurations include the synapses, and the graph is small.
graph = snp.explore(system)
computed = graph.intervals(40)
print(graph)
print("all paths:", computed)
assert graph.is_complete and computed.complete_up_to == 40
assert computed.values == tuple(range(1, 41, 3))
assert numbers <= set(range(1, 64, 3)) and {1, 4, 7} <= numbers
