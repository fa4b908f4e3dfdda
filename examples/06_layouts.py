"""One system in every form in which it can be stored: the same integers, other bytes."""

import numpy as np

import snpjax as snp
from snpjax.spiking import Transition, TransitionMatrix, bytes_needed
from snpjax_formats import CSR, ELL, Compressed, Dense, Float32Dense, Int8Dense


def sorter(numbers: list[int]) -> snp.SpikingSystem:
    """The sorting system, as the papers use it to compare representations."""
    n = len(numbers)
    neurons = [snp.Neuron(f"i{j}", number, ["a+/a -> a"]) for j, number in enumerate(numbers, 1)]
    for j in range(1, n + 1):
        rules = [snp.Rule(None, k, int(k == n + 1 - j)) for k in range(n, 0, -1)]
        neurons.append(snp.Neuron(f"s{j}", 0, rules))
    neurons += [snp.Neuron(f"o{j}") for j in range(1, n + 1)]
    synapses = [(f"i{i}", f"s{j}") for i in range(1, n + 1) for j in range(1, n + 1)]
    synapses += [(f"s{i}", f"o{j}") for i in range(1, n + 1) for j in range(i, n + 1)]
    return snp.SpikingSystem(neurons, synapses)


small = TransitionMatrix(sorter([3, 1, 2]))
print("The transition matrix of sorting three numbers, C' = C + S M:")
print(small)
print("The compressed synapse matrix (9 is no target):")
print(small.compressed_table())
print("Words by the papers' formulas:", small.words(), "\n")

system = sorter([7, 3, 9, 1, 12, 4, 4, 11, 2, 8, 6, 5])
expected = snp.run(system)
forms = {
    layout.__name__: layout for layout in (ELL, Compressed, CSR, Dense, Int8Dense, Float32Dense)
}
forms |= {f"Transition({x.__name__})": Transition(x) for x in (Dense, Compressed, CSR)}
for name, form in forms.items():
    solution = snp.run(system, layout=form)
    assert np.array_equal(solution.configurations, expected.configurations)
    print(f"{name:24} {bytes_needed(system, form):8,} bytes")
