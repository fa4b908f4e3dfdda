"""How long does it take to build and lower a large system?

- 1,000,000 neurons and 32,000,000 synapses.
- Plastic neurons, each with eight synapses that may be there: of a population, and listed.
"""

import jax
import numpy as np
from figures import Case, figure

import snpjax as snp


@figure("build and lower 1,000,000 neurons, 32,000,000 synapses", 1_000_000, 32)
def building(n: int, k: int) -> Case:
    spikes = np.random.default_rng(0).integers(0, 3, n)
    rules = ["a -> a", "a^2/a -> a", "a^3 -> lambda"]

    def call() -> snp.Lowered[snp.Solution, snp.SolutionBatch]:
        system = snp.PopulationSystem(
            [snp.Population("n", n, spikes, rules)],
            [snp.Projection("n", "n", snp.graphs.RandomInDegree(k, seed=0))],
        )
        lowered = snp.lower(system)
        jax.block_until_ready(lowered.machine)
        return lowered

    def check(lowered: snp.Lowered[snp.Solution, snp.SolutionBatch]) -> None:
        assert isinstance(lowered.model, snp.PopulationSystem)
        assert lowered.model.num_synapses == n * k

    return Case(call, check, unit="s")


@figure("build and lower 1,000,000 plastic neurons", 1_000_000, False)
@figure("build and lower 100,000 plastic neurons", 100_000, False)
@figure("build and lower 100,000 plastic neurons, listed", 100_000, True)
def plastic(n: int, is_listed: bool, z: int = 8) -> Case:
    steps = np.random.default_rng(0).integers(1, (n - 1) // z, (n, z))
    targets = (np.arange(n)[:, None] + np.cumsum(steps, axis=1)) % n

    def listed() -> snp.SpikingSystem:
        names = [f"n{i}" for i in range(n)]
        rules = [
            snp.PlasticityRule("a+", 1, "+-", 1, [names[t] for t in own])
            for own in targets.tolist()
        ]
        return snp.SpikingSystem(
            [snp.Neuron(name, 1, [rule]) for name, rule in zip(names, rules, strict=True)]
        )

    def of_population() -> snp.PopulationSystem:
        graph = snp.graphs.Pairs(np.arange(n).repeat(z), targets.ravel())
        rule = snp.PlasticityTemplate("a+", 1, "+-", 1, {"n": graph})
        return snp.PopulationSystem([snp.Population("n", n, 1, [rule])])

    def call() -> snp.Lowered[snp.Solution, snp.SolutionBatch]:
        lowered = snp.lower(listed() if is_listed else of_population())
        jax.block_until_ready(lowered.machine)
        return lowered

    def check(lowered: snp.Lowered[snp.Solution, snp.SolutionBatch]) -> None:
        solution = snp.run(lowered, max_steps=1, save=snp.SAVE_FINAL)
        assert solution.state.network.exists.sum() == n

    return Case(call, check, unit="s")
