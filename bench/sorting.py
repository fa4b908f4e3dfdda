"""How fast is the sorting system, as populations and with every rule listed, in every layout?

Random permutations of 1..n: n + 1 steps of 3n neurons, n^2 + n(n+1)/2 synapses. Beside it on a GPU
the simulator of Hernandez-Tello et al. 2024, see `cuda_simulator.py`.
"""

from functools import partial
from typing import Any

import cuda_simulator
import numpy as np
from figures import Case, Missing, figure, is_cpu, of_run

import snpjax as snp
from snpjax.spiking import Transition, bytes_needed
from snpjax_formats import (
    CSR,
    ELL,
    BitDense,
    Compressed,
    Dense,
    Float32Dense,
    Int8Dense,
    free_bytes,
)


#: Layouts of the system, and what each costs where all n + n^2 rules are kept.
FORMS = {
    "transition Dense": Transition(Dense),
    "transition ELL": Transition(ELL),
    "transition CSR": Transition(CSR),
    "Compressed": Compressed,
    "CSR": CSR,
    "ELL": ELL,
    "Dense": Dense,
    "Int8Dense": Int8Dense,
    "Float32Dense": Float32Dense,
}


def permutation(n: int) -> np.ndarray:
    return np.random.default_rng(n).permutation(n) + 1


def sorter(numbers: np.ndarray) -> snp.PopulationSystem:
    """The sorting system of Ionescu and Sburlan: s[j] fires at n - j spikes and forgets others."""
    n = len(numbers)
    place = np.arange(n)
    fires = n - place
    forget = [(1, fires - 1), (fires + 1, n)]
    return snp.PopulationSystem(
        [
            snp.Population("i", n, numbers, ["a+/a -> a"]),
            snp.Population(
                "s", n, 0, [snp.RuleTemplate(None, fires, 1), snp.RuleTemplate(forget, snp.ALL)]
            ),
            snp.Population("o", n),
        ],
        [
            snp.Projection("i", "s", snp.graphs.AllToAll()),
            snp.Projection("s", "o", snp.graphs.Intervals(place, np.full(n, n))),
        ],
    )


def listed(numbers: np.ndarray) -> snp.SpikingSystem:
    """The same, every neuron, rule and synapse one by one."""
    n = len(numbers)
    forget = [snp.Rule(None, k, 0) for k in range(1, n + 1)]
    rules = [[*forget[: i - 1], snp.Rule(None, i, 1), *forget[i:]] for i in range(1, n + 1)]
    neurons = [snp.Neuron(f"i{j}", x, ["a+/a -> a"]) for j, x in enumerate(numbers.tolist())]
    neurons += [snp.Neuron(f"s{i}", 0, rules[i - 1]) for i in range(1, n + 1)]
    neurons += [snp.Neuron(f"o{j}") for j in range(n)]
    synapses = [(f"i{j}", f"s{i}") for j in range(n) for i in range(1, n + 1)]
    synapses += [(f"s{i}", f"o{j}") for i in range(1, n + 1) for j in range(n - i, n)]
    return snp.SpikingSystem(neurons, synapses)


def is_sorted(n: int, solution: snp.Solution) -> None:
    assert solution.steps == n + 1
    assert solution.spikes[2 * n :].tolist() == list(range(1, n + 1))


@figure("sort 1,000,000", 1_000_000, on="")
@figure("sort 46,000", 46_000, on="gpu")
@figure("sort 5,000", 5_000, on="gpu")
@figure("sort 1,000", 1_000)
@figure("sort 500", 500)
@figure("sort 250", 250, on="cpu")
@figure("sort 100", 100)
def sort(n: int) -> Case:
    return of_run(
        sorter(permutation(n)),
        partial(is_sorted, n),
        max_steps=n + 2,
        save=snp.SAVE_FINAL,
        anchor=None if is_cpu() or n > 1_000 else partial(cuda_simulator.sort, n),
    )


def sort_as(n: int, layout: Any, faithful: bool) -> Case:
    """The listed system in a layout, with all of its rules or those that lowering leaves."""
    system = listed(permutation(n))
    needed = bytes_needed(system, layout)
    if 4 * needed > (free_bytes() or np.inf):  # it is built in two copies, and a push is two more
        raise Missing(f"it needs {needed:,} bytes and does not fit")
    try:
        snp.lower(system, layout=layout, faithful=faithful)
    except ValueError as error:  # `NotEnoughMemory`, which the baseline of bench/paired.py lacks
        raise Missing(str(error)) from None
    return of_run(
        system,
        partial(is_sorted, n),
        max_steps=n + 2,
        save=snp.SAVE_FINAL,
        layout=layout,
        faithful=faithful,
    )


for size in (100, 500, 1_000):
    for form, chosen in FORMS.items():
        figure(f"sort {size:,}, all rules, {form}", size, chosen, True, on="")(sort_as)
    for merged in (BitDense, ELL):
        name = f"sort {size:,}, rules merged, {merged.__name__}"
        figure(name, size, merged, False, on="")(sort_as)


@figure("lower the listed sort 500", 500)
@figure("lower the listed sort 100", 100, on="")
def lower(n: int) -> Case:
    system = listed(permutation(n))

    def check(lowered: snp.Lowered[snp.Solution, snp.SolutionBatch]) -> None:
        is_sorted(n, snp.run(lowered, max_steps=n + 2, save=snp.SAVE_FINAL))

    return Case(lambda: snp.lower(system), check)
