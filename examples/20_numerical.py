"""Which of these numbers have the sum 16? A system whose neurons hold real numbers finds out."""

import jax

import snpjax as snp
from snpjax.numerical import NumericalNeuron, NumericalSystem, Production


# A neuron chooses to send its number as it is, or negated; negative numbers go no further. After
# Ballesteros, Cailipan, de la Cruz and Cabarle 2022.
numbers, target = [3, 5, 8, 13], 16
names = [f"number {number}" for number in numbers]
kept = [f"{number} if taken" for number in numbers]
as_it_is, negated = Production({"x": 1}), Production({"x": -1})
neurons = [
    NumericalNeuron(name, {"x": number}, [as_it_is, negated])
    for name, number in zip(names, numbers, strict=True)
]
neurons += [NumericalNeuron(name, {"x": 0}, [Production({"x": 1}, threshold=0)]) for name in kept]
neurons.append(NumericalNeuron("sum", {"x": 0}))
system = NumericalSystem(
    neurons, [*zip(names, kept, strict=True), *((name, "sum") for name in kept)]
)

# The 16 choices are equally likely, so each occurs in many of 200 paths.
choice = snp.UniformChoice(jax.random.key(0))
solution = snp.run(system, max_steps=2, paths=200, choice=choice, save=snp.SAVE_ALL)
is_taken = solution.productions[0, : len(numbers)] == 0  # by number and path
has_sum = solution.final["sum"]["x"] == target
found = {
    tuple(n for n, taken in zip(numbers, path, strict=True) if taken)
    for path in is_taken.T[has_sum].tolist()
}
print(f"sum {target}: {sorted(found)}, in {has_sum.sum()} of 200 paths")
assert found == {(3, 5, 8), (3, 13)}
