"""Sparse SN P systems on GPUs: sizes of the representations, sorting and subset sum.

Prints the sizes and instances of Hernandez-Tello et al. 2024 next to ours. `--full` also runs the
larger instances, up to 46,000 numbers (minutes on a CPU).
"""

import time

import jax
import numpy as np
from comparison import Comparison, parser
from published_systems import listed_sorter, sorter, subset_sum

import snpjax as snp
from snpjax.spiking import TransitionMatrix


PAPER = (
    "J. Hernandez-Tello, M. A. Martinez-del-Amor, D. Orellana-Martin, F. G. C. Cabarle: Sparse "
    "spiking neural-like membrane systems on graphics processing units. International Journal of "
    "Neural Systems 34(7), 2450038, 2024 (arXiv:2408.04343)."
)

#: What their formulas add for delays: a counter for each neuron, and two words for each rule, its
#: delay and its neuron.
DELAYS_LEFT_OUT = (
    "The printed total is the formula without what the paper adds for delays: q = {q:,} counters, "
    "and the delay and the neuron of each of the m = {m:,} rules, q + 2m = {added:,} words. "
    "{here:,} - {added:,} = {paper:,}."
)


def sizes(table: Comparison) -> None:
    table.section("Sorting three numbers (tables 4 to 6)")
    small = TransitionMatrix(listed_sorter([3, 2, 1]))
    positions = len(small.ell()) * small.num_rules
    table.compare("rules", 12, small.num_rules)
    table.compare("neurons", 9, small.num_neurons)
    counted = "z = 4 slots (the largest out-degree, 3, and one for the neuron itself) of 12 rules"
    table.compare("positions of the ELL table", 60, positions, why=f"{counted} are 48 positions.")
    table.compare("numbers in the ELL table", 120, 2 * positions, why=f"Two for each: {counted}.")

    table.section("Words for sorting n = 100 numbers")
    words = TransitionMatrix(listed_sorter(list(range(100, 0, -1)))).words()
    table.compare(
        "Sparse: mq + 3m + 2q + 1",
        3_060_501,
        words["sparse"],
        why="The polynomial is printed as 3n^3 + 6n^2 + 5n + 1. With q = 3n and m = n + n^2 the "
        "formula gives 9n: 400 words more for n = 100.",
    )
    table.compare("ELL: 2m(z + 1) + 3m + 2q + 1", 2_071_101, words["ell"])
    table.compare("Compressed: zq + 3q + 4m + 1", 71_301, words["compressed"])

    table.section("Words for subset sum with delays, 100 numbers whose sum is 5,050")
    matrix = TransitionMatrix(subset_sum(list(range(1, 101)), 2525))
    q, m = matrix.num_neurons, matrix.num_rules
    printed = {"sparse": 28_660_765, "ell": 1_128_165, "compressed": 562_765}
    for name, here in matrix.words().items():
        paper = printed[name]
        assert here - (q + 2 * m) == paper
        why = DELAYS_LEFT_OUT.format(added=q + 2 * m, q=q, m=m, here=here, paper=paper)
        table.compare(name.capitalize() if name != "ell" else "ELL", paper, here, why=why)

    table.section("Sorting n = 46,000 numbers, the largest instance")
    n = 46_000
    large = sorter(np.arange(n, 0, -1))
    neurons = large.num_neurons
    table.compare("neurons", 198_000, neurons, why="Three for each number: 3 x 46,000 = 138,000.")
    table.compare("rules", 2_116_046_000, n + n**2)
    # Their program stores six 4-byte words a rule, four a neuron, and the synapse matrix.
    theirs = 4 * (neurons * n + 6 * (n + n**2) + 4 * neurons + 1)
    table.report(
        "GPU memory of Compressed, MB",
        73_142,
        theirs // 2**20,
        why="Computed from their data structures, without what the CUDA context takes. Here the "
        f"lowered system takes {snp.lower(large).nbytes / 2**20:.1f} MB, because the forgetting "
        "rules of a neuron become one and synapses are stored as intervals.",
    )


def runs(table: Comparison, full: bool) -> None:
    table.section("Sorting: is it sorted, and after n + 1 steps?")
    printed_ms = {5_000: 21_485, 46_000: 6_912_000}  # 1.92 hours
    for n in (100, 500, 1_000, *((5_000, 46_000) if full else ())):
        numbers = np.random.default_rng(n).permutation(n) + 1
        lowered = snp.lower(sorter(numbers))
        start = time.perf_counter()
        solution = snp.run(lowered, max_steps=n + 2, save=snp.SAVE_FINAL)
        ms = round(1_000 * (time.perf_counter() - start))
        is_sorted = solution.spikes[2 * n :].tolist() == list(range(1, n + 1))
        here = f"{_yes(is_sorted)}, {solution.steps}"
        table.compare(f"n = {n:,}: sorted, steps", f"yes, {n + 1}", here)
        if n in printed_ms:
            kind = jax.devices()[0].device_kind
            table.report(
                "  milliseconds",
                printed_ms[n],
                ms,
                why="Theirs is the Compressed representation on an A100, as reported. Ours is the "
                f"first call on this device ({kind}), compilation included.",
            )

    table.section("Sorting 300 numbers by the rules of their program")
    theirs = snp.run(
        listed_sorter(list(range(300, 0, -1)), snp.compatibility.SPARSE_SNP_COMPRESSED),
        max_steps=302,
        save=snp.SAVE_FINAL,
    )
    found = theirs.spikes[600:].tolist()
    table.compare(
        "sorted",
        "yes",
        "yes" if found == list(range(1, 301)) else "no",
        why="Their program keeps the constants of guards in 8 bits, so that a guard of 256 or more "
        "tests another number: `compatibility=SPARSE_SNP_COMPRESSED` here. The exact system sorts.",
    )

    table.section("Subset sum: is a subset found?")
    numbers = [4, 7, 9, 12, 15, 18, 21, 26]
    for target, wanted in ((48, "yes"), (5, "no")):
        graph = snp.explore(subset_sum(numbers, target))
        found = not snp.check(graph, "never emits(out)")
        table.compare(f"{target} from {numbers[0]}, ..., {numbers[-1]}", wanted, _yes(found))
    first = snp.explore(subset_sum(numbers, 48), max_depth=1)
    table.compare("choices of 8 numbers in step 1", 2**8, int(first.num_transitions))


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def main() -> None:
    full = parser(__doc__).parse_args().full
    table = Comparison("SN P systems on GPUs", PAPER)
    sizes(table)
    runs(table, full)
    table.finish()


if __name__ == "__main__":
    main()
