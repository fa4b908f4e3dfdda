"""How long does subset sum with delays take from the numbers to the answer, and how many random
paths run at once?

The non-uniform family of Leporati et al. 2009 with n numbers of 1 to 51, a fifth of which make the
sum: 2n + sum + 2 neurons. The time includes building the system, lowering and running it, but not
compiling: systems of one size compile once. Checked first: in a small system every path, in a
large one the first, against the sum of the numbers that it chose.

    PYTHONPATH=.:formats python bench/subset_sum.py [n[xPATHS] ...]
"""

import sys
import time

import jax
import numpy as np

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


def check_every_path() -> None:
    """200 paths of 12 numbers, of which some hit the sum."""
    numbers = np.arange(1, 13)
    system = nonuniform(numbers, 39)
    choice = snp.UniformChoice(jax.random.key(1))
    solution = snp.run(system, choice=choice, paths=200, max_steps=8, save=snp.SAVE_ALL)
    sums = numbers @ (solution.rules[0, system.slices["c"]] == 0)
    hits = sums == 39
    assert hits.any() and np.array_equal(solution.counts() > 0, hits)
    assert np.array_equal(np.ravel(solution.spikes_of("out"))[~hits], sums[~hits])


def measure(n: int, paths: int | None) -> None:
    random = np.random.default_rng(n)
    numbers = random.integers(1, 52, n)
    target = int(numbers[random.random(n) < 0.2].sum())
    choice = snp.UniformChoice(jax.random.key(0))

    def solve():
        began = time.perf_counter()
        system = nonuniform(numbers, target)
        solution = snp.run(system, choice=choice, paths=paths, max_steps=8, save=snp.SAVE_OUTPUTS)
        return system, solution, time.perf_counter() - began

    system, solution, first = solve()
    # What arrived at `out` is in its spikes, or was removed when it was the target.
    sums = np.ravel(solution.spikes_of("out"))
    answers = np.ravel(solution.counts()) > 0
    watched = snp.run(system, choice=choice, max_steps=8)
    chosen = watched.rules[0, system.slices["c"]] == 0
    expected = int(numbers[chosen].sum())
    assert expected == (target if answers[0] else sums[0]), (expected, sums[0])
    assert np.all(solution.halted)
    best = min(solve()[2] for _ in range(3 if paths else 10))
    print(
        f"{n:7,} numbers, {system.num_neurons:9,} neurons, {paths or 1:5,} paths: "
        f"{best * 1e3:10,.1f} ms from numbers to answer (first time {first:.1f} s)",
        flush=True,
    )


def main() -> None:
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    check_every_path()
    default = ["500", "1500", "4000", "15000"]
    if jax.default_backend() != "cpu":
        default.append("15000x1000")
    for case in sys.argv[1:] or default:
        n, _, paths = case.partition("x")
        measure(int(n), int(paths) if paths else None)


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# Tables with machine, versions and date: bench/README.md.
