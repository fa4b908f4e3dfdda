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
    lowered = snp.lower(sorter(numbers), **options)
    built = time.perf_counter() - began

    def run():
        began = time.perf_counter()
        solution = snp.run(lowered, max_steps=n + 2, save=snp.SAVE_FINAL)
        return solution, time.perf_counter() - began

    solution, first = run()
    assert solution.steps == n + 1
    assert solution.spikes[2 * n :].tolist() == list(range(1, n + 1))
    best = min([run()[1] for _ in range(repeats)] or [first])
    print(
        f"{n:9,}  {form:18} {best * 1e3:12,.2f} ms  {best / (n + 1) * 1e6:8.2f} us/step  "
        f"built in {built:6.2f} s, {lowered.nbytes:15,} bytes",
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
