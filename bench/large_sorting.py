"""How fast does the sorting system run when nothing of it is listed one by one?

Sorts random permutations of 1..n: n + 1 steps of 3n neurons, n^2 + n(n+1)/2 synapses. The n
forgetting rules of a neuron are one consume-all rule; `faithful` keeps all n + n^2 rules. Synapses
are stored by their structure (auto), or listed. The answer is checked before the clock starts.

    PYTHONPATH=.:formats python bench/large_sorting.py [n ...]
"""

import sys
import time

import jax
import numpy as np

import snpjax as snp
from snpjax.run import _drive  # the run without lowering and naming
from snpjax_formats import ELL, BitDense, Int8Dense


REPEATS = 5


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
            snp.Projection("s", "o", snp.graphs.Intervals(n - 1 - place, np.full(n, n))),
        ],
    )


def measure(numbers: np.ndarray, form: str, repeats: int, **options) -> None:
    n = len(numbers)
    began = time.perf_counter()
    machine = sorter(numbers).lower(max_steps=n + 2, **options)
    built = time.perf_counter() - began

    def run():
        began = time.perf_counter()
        save, first = snp.SAVE_FINAL, snp.FirstChoice()
        trajectory = _drive(machine, first, None, n + 2, save, False, None, None)
        return trajectory, time.perf_counter() - began

    trajectory, first = run()
    assert int(trajectory.steps) == n + 1
    assert trajectory.final.spikes[2 * n : 3 * n].tolist() == list(range(1, n + 1))
    best = min([run()[1] for _ in range(repeats)] or [first])
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(machine))
    print(
        f"{n:9,}  {form:18} {best * 1e3:12,.2f} ms  {best / (n + 1) * 1e6:8.2f} us/step  "
        f"built in {built:6.2f} s, {size:15,} bytes",
        flush=True,
    )


def main() -> None:
    sizes = [int(n) for n in sys.argv[1:]] or [100, 500, 1000, 5000]
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    for n in sizes:
        numbers = np.random.default_rng(n).permutation(n) + 1
        measure(numbers, "auto", 0 if n > 100_000 else REPEATS)
        is_cpu = jax.default_backend() == "cpu"
        if n > (1_000 if is_cpu else 10_000):
            continue
        for layout in (BitDense, Int8Dense, ELL):
            measure(numbers, f"listed, {layout.__name__}", 2, layout=layout)
        if n <= 500 or not is_cpu:
            measure(numbers, "faithful rules", 1, faithful=True)
    stats = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        print(f"most device memory in use: {stats['peak_bytes_in_use']:,} bytes")


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# Tables with machine, versions and date: bench/README.md.
