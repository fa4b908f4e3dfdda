"""How long does subset sum with delays take from the numbers to the answer, building included, and
how many random paths run at once?

The non-uniform family of Leporati et al. 2009 with n numbers of 1 to 51, a fifth of which make the
sum: 2n + sum + 2 neurons. Checked against the sum of the numbers that the first path chose.
"""

from functools import partial

import cuda_simulator
import jax
import numpy as np
from figures import Case, figure, is_cpu

import snpjax as snp


def nonuniform(numbers: np.ndarray, target: int) -> snp.PopulationSystem:
    """c chooses by delay, d is chosen or not, e counts each number out, `out` spikes at the sum."""
    n, total = len(numbers), int(numbers.sum())
    owner = np.repeat(np.arange(n), numbers)
    graphs = snp.graphs
    return snp.PopulationSystem(
        [
            snp.Population("c0", 1, 1, ["a -> a"]),
            snp.Population("c", n, 1, ["a -> a", "a -> a; 1"]),
            snp.Population("d", n, 0, ["a^2 -> a", "a -> lambda"]),
            snp.Population("e", total, 0, ["a -> a"]),
            snp.Population("out", 1, 0, [snp.RuleTemplate(None, target, 1)]),
        ],
        [
            snp.Projection("c0", "d"),
            snp.Projection("c", "d", graphs.OneToOne()),
            snp.Projection("d", "e", graphs.Intervals(owner, owner + 1, by="target")),
            snp.Projection("e", "out"),
        ],
        output="out",
    )


@figure("subset sum 15,000, 1,000 paths", 15_000, 1_000, on="gpu")
@figure("subset sum 15,000", 15_000, on="gpu")
@figure("subset sum 4,000", 4_000, on="")
@figure("subset sum 1,500", 1_500)
@figure("subset sum 500", 500)
def subset_sum(n: int, paths: int | None = None) -> Case:
    random = np.random.default_rng(n)
    numbers = random.integers(1, 52, n)
    target = int(numbers[random.random(n) < 0.2].sum())
    choice = snp.UniformChoice(jax.random.key(0))
    systems: list[snp.PopulationSystem] = []

    def solve() -> snp.Solution | snp.SolutionBatch:
        systems[:] = [nonuniform(numbers, target)]
        return snp.run(systems[0], choice=choice, paths=paths, max_steps=8, save=snp.SAVE_OUTPUTS)

    def check(solution: snp.Solution | snp.SolutionBatch) -> None:
        """What arrived at `out` is in its spikes, or was removed when it was the target."""
        sums = np.ravel(solution.spikes_of("out"))
        answers = np.ravel(solution.counts()) > 0
        watched = snp.run(systems[0], choice=choice, max_steps=8)
        chosen = watched.rules[0, systems[0].slices["c"]] == 0
        expected = int(numbers[chosen].sum())
        assert expected == (target if answers[0] else sums[0]), (expected, sums[0])
        assert np.all(solution.halted)

    return Case(
        solve, check, anchor=None if is_cpu() or paths else partial(cuda_simulator.subset_sum, n)
    )
