"""What do networks that change cost?

- plasticity: n neurons, each with z synapses that may be there; in every step each of them creates
  or deletes one at random. Beside it the same graph with all synapses, which stay, and a spike on
  each in every step. The sum of the spikes and the number of synapses are checked.
- SAT: a formula of n variables and m clauses solved by division and budding, and by division alone,
  checked against all assignments.
"""

import sys
from collections.abc import Callable

import jax
import numpy as np
from figures import EXAMPLES, Case, figure, of_run

import snpjax as snp


sys.path.insert(0, str(EXAMPLES))
from dimacs import Formula  # noqa: E402
from sat_families import by_division, by_division_and_budding  # pyright: ignore


_SPIKES = 1_000_000  # more than are consumed
_STEPS = 300


def graph(n: int, z: int) -> np.ndarray:
    """The z targets of every neuron, none itself."""
    steps = np.random.default_rng(0).integers(1, (n - 1) // z, (n, z))
    return (np.arange(n)[:, None] + np.cumsum(steps, axis=1)) % n


@figure("a step of plasticity, 100,000 neurons", 100_000, 32, on="gpu")
@figure("a step of plasticity, 10,000 neurons", 10_000, 32, on="cpu")
def plastic(n: int, z: int) -> Case:
    names = [f"n{i}" for i in range(n)]
    neurons = [
        snp.Neuron(
            name,
            _SPIKES,
            [snp.PlasticityRule("a+", 1, "+-", 1, [names[t] for t in targets])],
        )
        for name, targets in zip(names, graph(n, z).tolist(), strict=True)
    ]

    def check(solution: snp.Solution) -> float:
        # Every second step creates one, which the next deletes.
        assert solution.state.network.exists.sum() == (_STEPS % 2) * n
        assert solution.spikes.sum(dtype=np.int64) == n * _SPIKES
        return _STEPS

    return of_steps(snp.SpikingSystem(neurons), check)


@figure("a step of the same static graph, 100,000 neurons", 100_000, 32, on="gpu")
@figure("a step of the same static graph, 10,000 neurons", 10_000, 32, on="cpu")
def static(n: int, z: int) -> Case:
    names = [f"n{i}" for i in range(n)]
    neurons = [snp.Neuron(name, _SPIKES, [snp.Rule("a+", 1, 1)]) for name in names]
    synapses = [(names[i], names[t]) for i, own in enumerate(graph(n, z).tolist()) for t in own]

    def check(solution: snp.Solution) -> float:
        assert solution.spikes.sum(dtype=np.int64) == n * (_SPIKES + _STEPS * (z - 1))
        return _STEPS

    return of_steps(snp.SpikingSystem(neurons, synapses), check)


def of_steps(system: snp.SpikingSystem, check: Callable[[snp.Solution], float]) -> Case:
    return of_run(
        system,
        check,
        choice=snp.UniformChoice(jax.random.key(0)),
        max_steps=_STEPS,
        save=snp.SAVE_FINAL,
        unit="us per step",
    )


@figure("SAT of 16 variables by division", False, 16, 40, on="")
@figure("SAT of 16 variables by division and budding", True, 16, 40, on="")
@figure("SAT of 12 variables by division", False, 12, 40, on="")
@figure("SAT of 12 variables by division and budding", True, 12, 40, on="")
@figure("SAT of 10 variables by division", False, 10, 20, on="")
@figure("SAT of 10 variables by division and budding", True, 10, 20, on="cpu")
def sat(is_budding: bool, n: int, m: int) -> Case:
    rng = np.random.default_rng(0)
    clauses = [
        tuple(int(x) for x in (rng.choice(n, 3, replace=False) + 1) * rng.choice([-1, 1], 3))
        for _ in range(m)
    ]
    values = np.arange(2**n)[:, None] >> np.arange(n) & 1
    holds = np.ones(2**n, bool)
    for clause in clauses:
        holds &= np.any([values[:, abs(x) - 1] == (x > 0) for x in clause], axis=0)
    build = by_division_and_budding if is_budding else by_division
    answer = n * m + (2 * n + 6 if is_budding else 4 * n + 5)
    system = build(Formula(n, clauses))

    def call() -> snp.Solution:
        return snp.run(system, max_steps=answer + 8, save=snp.Save(every=None, details=False))

    def check(solution: snp.Solution) -> float:
        assert solution.spike_times()[:1].tolist() == ([answer] if holds.any() else [])
        return len(solution.spikes)

    return Case(call, check, unit="neurons/s")
