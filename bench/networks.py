"""What do networks that change cost?

- `plasticity`: n neurons, each with z synapses that may be there; in every step each of them
  creates or deletes one at random. Beside it the same graph with all synapses, which stay, and a
  spike on each in every step. The sum of the spikes and the number of synapses are checked.
- `sat`: a formula of n variables and m clauses solved by division and budding, and by division
  alone, checked against all assignments.

    PYTHONPATH=.:formats python bench/networks.py [plasticity|sat] [n] [z or m]
"""

import sys
import time
from pathlib import Path

import jax
import numpy as np

import snpjax as snp


sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from dimacs import Formula  # noqa: E402
from sat_families import by_division, by_division_and_budding  # pyright: ignore


_SPIKES = 1_000_000  # more than are consumed


def graph(n: int, z: int) -> np.ndarray:
    """The z targets of every neuron, none itself."""
    steps = np.random.default_rng(0).integers(1, (n - 1) // z, (n, z))
    return (np.arange(n)[:, None] + np.cumsum(steps, axis=1)) % n


def plastic(n: int, z: int) -> snp.SpikingSystem:
    names = [f"n{i}" for i in range(n)]
    rules = [
        [snp.PlasticityRule("a+", 1, "+-", 1, [names[t] for t in targets])]
        for targets in graph(n, z).tolist()
    ]
    neurons = [snp.Neuron(name, _SPIKES, own) for name, own in zip(names, rules, strict=True)]
    return snp.SpikingSystem(neurons)


def static(n: int, z: int) -> snp.SpikingSystem:
    names = [f"n{i}" for i in range(n)]
    rule = [snp.Rule("a+", 1, 1)]
    neurons = [snp.Neuron(name, _SPIKES, rule) for name in names]
    synapses = [(names[i], names[t]) for i, own in enumerate(graph(n, z).tolist()) for t in own]
    return snp.SpikingSystem(neurons, synapses)


def seconds_per_step(system: snp.SpikingSystem, steps: int) -> tuple[float, snp.Solution]:
    """From two lengths of run, so that what a call costs is left out."""
    lowered = snp.lower(system)
    choice = snp.UniformChoice(jax.random.key(0))

    def best_of(some: int) -> tuple[float, snp.Solution]:
        runs = [timed(lowered, some, choice) for _ in range(4)]
        return min(runs[1:], key=lambda run: run[0])

    (short, _), (long, solution) = best_of(steps), best_of(3 * steps)
    return (long - short) / (2 * steps), solution


def timed(
    lowered: snp.Lowered[snp.Solution, snp.SolutionBatch],
    max_steps: int,
    choice: snp.AbstractChoice,
) -> tuple[float, snp.Solution]:
    began = time.perf_counter()
    solution = snp.run(lowered, max_steps=max_steps, choice=choice, save=snp.SAVE_FINAL)
    return time.perf_counter() - began, solution


def plasticity(n: int, z: int, steps: int = 100) -> None:
    still, solution = seconds_per_step(static(n, z), steps)
    assert solution.spikes.sum(dtype=np.int64) == n * (_SPIKES + 3 * steps * (z - 1))
    changing, solution = seconds_per_step(plastic(n, z), steps)
    exists = solution.state.network.exists
    # Every second step creates one, which the next deletes.
    assert exists.sum() == (3 * steps % 2) * n
    assert solution.spikes.sum(dtype=np.int64) == n * _SPIKES
    print(
        f"plasticity: {n:,} neurons, {z} synapses each: {1e6 * changing:.4g} us a step, "
        f"static {1e6 * still:.4g}: {changing / still:.3g} times",
        flush=True,
    )


def sat(n: int, m: int) -> None:
    rng = np.random.default_rng(0)
    clauses = [
        tuple(int(x) for x in (rng.choice(n, 3, replace=False) + 1) * rng.choice([-1, 1], 3))
        for _ in range(m)
    ]
    values = np.arange(2**n)[:, None] >> np.arange(n) & 1
    holds = np.ones(2**n, bool)
    for clause in clauses:
        holds &= np.any([values[:, abs(x) - 1] == (x > 0) for x in clause], axis=0)
    for build, answer in (
        (by_division_and_budding, 2 * n + n * m + 6),
        (by_division, 4 * n + n * m + 5),
    ):
        system = build(Formula(n, clauses))

        def solved(system=system, answer=answer) -> tuple[float, snp.Solution]:
            began = time.perf_counter()
            save = snp.Save(every=None, details=False)
            solution = snp.run(system, max_steps=answer + 8, save=save)
            return time.perf_counter() - began, solution

        (first, _), (second, solution) = solved(), solved()
        assert solution.spike_times()[:1].tolist() == ([answer] if holds.any() else [])
        num = len(solution.spikes)
        print(
            f"{build.__name__}: {n} variables, {m} clauses, {holds.sum():,} models: "
            f"{num:,} neurons in {second:.3g} s, {num / second:.3g} created a second "
            f"(first run, compiling: {first:.3g} s)",
            flush=True,
        )


def main() -> None:
    is_cpu = jax.default_backend() == "cpu"
    which = sys.argv[1] if len(sys.argv) > 1 else "all"
    sizes = [int(x) for x in sys.argv[2:]]
    if which in ("all", "plasticity"):
        plasticity(*(sizes or ([10_000, 32] if is_cpu else [100_000, 32])))
    if which in ("all", "sat"):
        sat(*(sizes or ([10, 20] if is_cpu else [16, 40])))


if __name__ == "__main__":
    main()
