"""What does each way of storing the sorting system cost, and which is fastest?

Sorts a random permutation of 1..n, n + 1 steps, with every rule given one by one (n + n^2 of them),
in every form; the last line is what lowering makes of the same list by itself: families of
forgetting rules are one rule each, and the layout is chosen. The answer is checked before the clock
starts. Forms that would not fit in memory are listed with the bytes they need. Run from the
repository:

    PYTHONPATH=.:formats python bench/sorting.py [n ...]
"""

import sys
import time

import jax
import numpy as np

import snpjax as snp
from snpjax.spiking import Transition, bytes_needed
from snpjax_formats import (
    CSR,
    ELL,
    Compressed,
    Dense,
    Float32Dense,
    Int8Dense,
    LayoutTooLarge,
    free_bytes,
)


FORMS = {
    "transition dense ('Sparse')": Transition(Dense),
    "transition ELL ('ELL')": Transition(Compressed),
    "transition CSR": Transition(CSR),
    "Compressed (push)": Compressed,
    "CSR (pull)": CSR,
    "ELL (pull)": ELL,
    "dense int32": Dense,
    "dense int8": Int8Dense,
    "dense float32": Float32Dense,
}
REPEATS = 3
#: Forms slower than this are timed over a few steps, and the whole run is extrapolated.
SECONDS = 15.0


def sorter(numbers: list[int]) -> snp.SpikingSystem:
    """The sorting system of Ionescu and Sburlan, its n + n^2 rules one by one."""
    n = len(numbers)
    spread = snp.Rule("a+", 1, 1)
    rules = [
        [snp.Rule(None, k, 1 if k == i else 0) for k in range(1, n + 1)] for i in range(1, n + 1)
    ]
    neurons = [snp.Neuron(f"i{j}", number, [spread]) for j, number in enumerate(numbers)]
    neurons += [snp.Neuron(f"s{i}", 0, rules[i - 1]) for i in range(1, n + 1)]
    neurons += [snp.Neuron(f"o{j}") for j in range(n)]
    synapses = [(f"i{j}", f"s{i}") for j in range(n) for i in range(1, n + 1)]
    synapses += [(f"s{i}", f"o{j}") for i in range(1, n + 1) for j in range(n - i, n)]
    return snp.SpikingSystem(neurons, synapses)


def run(
    lowered: snp.Lowered[snp.Solution, snp.SolutionBatch], max_steps: int
) -> tuple[snp.Solution, float]:
    """The solution, and the seconds it took."""
    began = time.perf_counter()
    solution = snp.run(lowered, max_steps=max_steps, save=snp.SAVE_FINAL)
    return solution, time.perf_counter() - began


def measure(system: snp.SpikingSystem, form, *, faithful: bool) -> str:
    n = len(system.neurons) // 3
    needed = bytes_needed(system, form)
    if 4 * needed > (free_bytes() or np.inf):  # it is built in two copies, and a push is two more
        return f"{needed:15,}  does not fit"
    try:
        lowered = snp.lower(system, layout=form, faithful=faithful)
    except LayoutTooLarge:
        return f"{needed:15,}  does not fit"
    run(lowered, 4)
    few = run(lowered, 4)[1] / 4
    if few * n > SECONDS:
        return f"{needed:15,}  {few * (n + 1) * 1e3:10,.1f}  (extrapolated from 4 steps)"
    solution, _ = run(lowered, n + 10)
    assert solution.steps == n + 1, solution.steps
    assert solution.spikes[2 * n :].tolist() == list(range(1, n + 1))
    best = min(run(lowered, n + 10)[1] for _ in range(REPEATS))
    return f"{needed:15,}  {best * 1e3:10,.1f}"


def main() -> None:
    sizes = [int(n) for n in sys.argv[1:]] or [100, 500, 1000]
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    for n in sizes:
        system = sorter((np.random.default_rng(n).permutation(n) + 1).tolist())
        sizes_text = f"{3 * n:,} neurons, {n + n * n:,} rules, {len(system.synapses):,} synapses"
        print(f"\nn = {n:,}: {sizes_text}")
        print(f"{'':30} {'bytes':>15}  {'ms':>10}")
        for name, form in FORMS.items():
            print(f"{name:30} {measure(system, form, faithful=True)}", flush=True)
        print(f"{'merged rules, auto':30} {measure(system, 'auto', faithful=False)}", flush=True)


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# One NVIDIA H200, jax 0.11.2, 2026-11-21, best of 3, ms a run. Whole tables: bench/README.md.
# Two shared CPU cores, jax 0.10.2, likewise.
