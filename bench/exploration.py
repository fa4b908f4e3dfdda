"""How many new configurations a second does `explore` find, and how many times as many as the
reference interpreter?

Three systems, all of whose branches come in the first step or two:

- `subset sum`: n numbers of 1 to 3, the non-uniform family of Leporati et al. 2009 with delays; 2^n
  choices in the first step, and as many configurations after it and after the second.
- `large`: the same with the numbers 1 to n.
- `complete`: n neurons, each linked to all others, that spike or forget in the first step; the 2^n
  choices lead to 2^n different configurations, most of which forget all.

The numbers of configurations and choices are checked against what they must be, and what `out`
holds against the sums of all subsets.

    PYTHONPATH=.:formats python bench/exploration.py [n]
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from subset_sum import nonuniform

import snpjax as snp
from snpjax.testing import reference_graph


def complete(n: int) -> snp.SpikingSystem:
    """Every neuron holds one spike, which it sends to all others or forgets."""
    names = [f"n{i}" for i in range(n)]
    rules = ["a -> a", "a -> lambda", *(snp.Rule(None, spikes) for spikes in range(2, n))]
    neurons = [snp.Neuron(name, 1, rules) for name in names]
    return snp.SpikingSystem(neurons, [(a, b) for a in names for b in names if a != b])


def sums_of(numbers: np.ndarray) -> np.ndarray:
    """Every sum of a subset of the numbers, ascending."""
    sums = np.zeros(1, np.int64)
    for number in numbers:
        sums = np.unique(np.concatenate([sums, sums + number]))
    return sums


def check_subset_sum(graph: snp.Graph, numbers: np.ndarray) -> None:
    """2^n configurations after each of two steps, and every sum in `out` after the third."""
    n = len(numbers)
    assert graph.is_complete and graph.depth == 3
    found = np.diff(graph.depth_starts)
    assert found[:3].tolist() == [1, 2**n, 2**n]
    last = graph.configurations(slice(int(graph.depth_starts[3]), None))
    assert sorted(np.ravel(last["out"]).tolist()) == sums_of(numbers).tolist()


def measure(name: str, system: Any, check: Callable[[snp.Graph], None]) -> None:
    def timed() -> tuple[snp.Graph, float]:
        began = time.perf_counter()
        graph = snp.explore(system, max_configurations=10**9)
        seconds = time.perf_counter() - began
        check(graph)
        return graph, seconds

    (graph, first), *others = (timed() for _ in range(5))
    new, best = graph.num_configurations, min(seconds for _, seconds in others)
    print(
        f"{name}: {new:,} configurations, {graph.num_choices:,} choices in {best:.3g} s: "
        f"{new / best:.3g} new ones a second, {graph.num_choices / best:.3g} choices a second "
        f"(first call, compiling: {first:.3g} s)",
        flush=True,
    )


def against_reference(n: int) -> None:
    """The same graph by the interpreter in pure Python."""
    numbers = np.arange(n) % 3 + 1
    system = nonuniform(numbers, n // 2).expand()
    began = time.perf_counter()
    slow = reference_graph.explore(system, max_configurations=10**9)
    seconds = time.perf_counter() - began
    each = len(slow.configurations) / seconds
    print(f"the reference finds {each:.3g} new ones a second in subset sum of {n} numbers")


def main() -> None:
    is_cpu = jax.default_backend() == "cpu"
    n = int(sys.argv[1]) if len(sys.argv) > 1 else (20 if is_cpu else 24)
    small, large = np.arange(n) % 3 + 1, np.arange(1, n + 1)
    measure(
        f"subset sum {n}", nonuniform(small, n // 2), lambda graph: check_subset_sum(graph, small)
    )
    measure(f"large {n}", nonuniform(large, 40), lambda graph: check_subset_sum(graph, large))

    def check_complete(graph: snp.Graph) -> None:
        assert graph.is_complete and graph.first_edge[1] == 2**16
        assert graph.depth_starts[2] - 1 == 2**16

    measure("complete 16", complete(16), check_complete)
    against_reference(10)


if __name__ == "__main__":
    main()
