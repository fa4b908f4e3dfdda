"""What does a run of a few steps cost, most of which is the call itself?"""

import jax
from figures import EXAMPLES, Case, figure, of_run

import snpjax as snp


@figure("natural numbers")
def natural_numbers() -> Case:
    """The generator of the examples, one random path with its history."""
    system = snp.read(EXAMPLES / "natural_numbers.pli")

    def check(solution: snp.Solution) -> None:
        assert solution.halted and (solution.interval() or 0) > 1

    return of_run(system, check, choice=snp.UniformChoice(jax.random.key(1)), max_steps=4096)


@figure("nine steps of ten neurons")
def chain() -> Case:
    neurons = [snp.Neuron(f"n{i}", int(i == 0), ["a -> a"]) for i in range(9)]
    synapses = [(f"n{i}", f"n{i + 1}") for i in range(9)]
    system = snp.SpikingSystem([*neurons, snp.Neuron("n9")], synapses)

    def check(solution: snp.Solution) -> None:
        assert solution.halted and solution.steps == 9
        assert solution.spikes.tolist() == [0] * 9 + [1]

    return of_run(system, check, max_steps=4096)
