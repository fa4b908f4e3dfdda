"""How long does it take to build and lower a system of 1,000,000 neurons and 32,000,000
synapses?"""

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
