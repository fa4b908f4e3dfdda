"""How many new configurations a second does `explore` find?

- subset sum: n numbers of 1 to 3, the non-uniform family of Leporati et al. 2009 with delays; 2^n
  choices in the first step, and as many configurations after it and after the second.
- large: the same with the numbers 1 to n.
- complete: n neurons, each linked to all others, that spike or forget in the first step; the 2^n
  choices lead to 2^n different configurations, most of which forget all.

- four times the memory: numbers from 12 on, which make configurations of 108 bytes, with a quarter
  of the bytes of the graph allowed; beside it the same graph in memory.

The numbers of configurations and choices are checked against what they must be, and what `out`
holds against the sums of all subsets. Beside a small one is the reference interpreter.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from figures import Anchor, Case, figure
from subset_sum import nonuniform

import snpjax as snp
from snpjax.testing import reference_graph


def sums_of(numbers: np.ndarray) -> np.ndarray:
    """Every sum of a subset of the numbers, ascending."""
    sums = np.zeros(1, np.int64)
    for number in numbers:
        sums = np.unique(np.concatenate([sums, sums + number]))
    return sums


def explored(
    system: snp.SpikingSystem | snp.PopulationSystem,
    check: Callable[[snp.Graph], float],
    anchor: Callable[[], Anchor] | None = None,
) -> Case:
    return Case(
        lambda: snp.explore(system, max_configurations=10**9),
        check,
        unit="configurations/s",
        anchor=anchor,
    )


def of_numbers(
    numbers: np.ndarray, target: int, anchor: Callable[[], Anchor] | None = None
) -> Case:
    n = len(numbers)

    def check(graph: snp.Graph) -> float:
        """2^n configurations after each of two steps, and every sum in `out` after the third."""
        assert graph.is_complete and graph.depth == 3
        found = np.diff(graph.depth_starts)
        assert found[:3].tolist() == [1, 2**n, 2**n]
        last = graph.configurations(slice(int(graph.depth_starts[3]), None))
        assert sorted(np.ravel(last["out"]).tolist()) == sums_of(numbers).tolist()
        return graph.num_configurations

    return explored(nonuniform(numbers, target), check, anchor)


@figure("explore subset sum 26", 26, on="")
@figure("explore subset sum 24", 24, on="gpu")
@figure("explore subset sum 21", 21, on="")
@figure("explore subset sum 20", 20, on="cpu")
@figure("explore subset sum 16", 16, on="cpu")
@figure("explore subset sum 6", 6, on="cpu")
def subset_sum(n: int) -> Case:
    return of_numbers(np.arange(n) % 3 + 1, n // 2)


@figure("explore large subset sum 24", 24, on="")
@figure("explore large subset sum 20", 20, on="")
def large(n: int) -> Case:
    return of_numbers(np.arange(1, n + 1), 40)


@figure("explore a graph of four times the memory", 20, on="")
def beyond_memory(n: int) -> Case:
    """The device keeps fingerprints of configurations of 27 words, which are in a file."""
    numbers = np.arange(12, 12 + n)
    case = of_numbers(numbers, 40)
    graph = case.call()
    size = 4 * graph.packing.num_words * graph.num_configurations
    size += sum(x.nbytes for x in (*graph.edges.counts, *(graph.edges.reached or ())))
    limits = snp.MemoryLimits(device=size // 4, host=size // 64)

    def check(graph: snp.Graph) -> float | None:
        words: Any = graph.words
        assert words.rows.bytes_in_file > size // 2
        case.check(graph)
        return graph.num_configurations

    return Case(
        lambda: snp.explore(nonuniform(numbers, 40), max_configurations=10**9, memory=limits),
        check,
        unit=case.unit,
        anchor=lambda: Anchor("in memory", case.call),
    )


@figure("explore subset sum 10 beside the reference", 10, on="cpu")
def beside_reference(n: int) -> Case:
    numbers = np.arange(n) % 3 + 1
    system = nonuniform(numbers, n // 2).expand()
    reference = Anchor(
        "reference", lambda: reference_graph.explore(system, max_configurations=10**9)
    )
    return of_numbers(numbers, n // 2, lambda: reference)


@figure("explore complete graph of 16", 16)
def complete(n: int) -> Case:
    """Every neuron holds one spike, which it sends to all others or forgets."""
    names = [f"n{i}" for i in range(n)]
    rules = ["a -> a", "a -> lambda", *(snp.Rule(None, spikes) for spikes in range(2, n))]
    neurons = [snp.Neuron(name, 1, rules) for name in names]

    def check(graph: snp.Graph) -> float:
        assert graph.is_complete and graph.first_edge[1] == 2**n
        assert graph.depth_starts[2] - 1 == 2**n
        return graph.num_configurations

    return explored(
        snp.SpikingSystem(neurons, [(a, b) for a in names for b in names if a != b]), check
    )
