"""Sparse representations of SN P systems: matrices, delays, division, budding, plasticity.

Prints the matrices, sizes and effects of rules in Martinez-del-Amor et al. 2017 next to what snpjax
computes.
"""

import numpy as np
from comparison import Comparison, parser
from dimacs import Formula
from published_systems import listed_sorter
from sat_families import by_division, by_division_and_budding

import snpjax as snp
from snpjax.spiking import TransitionMatrix


PAPER = (
    "M. A. Martinez-del-Amor, D. Orellana-Martin, F. G. C. Cabarle, M. J. Perez-Jimenez, H. N. "
    "Adorna: Sparse-matrix representation of spiking neural P systems for GPUs. 15th Brainstorming "
    "Week on Membrane Computing, 2017."
)

#: Zeng et al. 2011, the example that the matrix papers share: rules r1 to r5, neurons 1 to 3.
PRINTED_MATRIX = [[-1, 1, 1], [-2, 1, 1], [1, -1, 1], [0, 0, -1], [0, 0, -2]]


def natural_numbers() -> snp.SpikingSystem:
    """The system that generates every natural number but 1."""
    return snp.SpikingSystem(
        [
            snp.Neuron("1", 2, ["a^2/a -> a", "a^2 -> a"]),
            snp.Neuron("2", 1, ["a -> a"]),
            snp.Neuron("3", 1, ["a -> a", "a^2 -> lambda"]),
        ],
        [("1", "2"), ("2", "1"), ("1", "3"), ("2", "3")],
        output="3",
    )


def matrices(table: Comparison) -> None:
    table.section("Matrix representation (Definition 2)")
    example = TransitionMatrix(natural_numbers())
    rows, columns = example.matrix.shape
    table.compare("M of the generator of N - {1}", "5 x 3", f"{rows} x {columns}")
    table.compare("  entries of M that agree", 15, int(np.sum(example.matrix == PRINTED_MATRIX)))

    sort = TransitionMatrix(listed_sorter([3, 1, 2]))
    print(sort)
    table.compare("sorting 3 numbers: rules", 12, sort.num_rules)
    table.compare("  neurons", 9, sort.num_neurons)
    nonzero = int(np.count_nonzero(sort.matrix))
    table.compare("  non-zero entries of 108", 27, nonzero)
    table.compare("  zeros, %", 75, 100 - 100 * nonzero // sort.matrix.size)
    table.compare(
        "  columns without a negative entry",
        0,
        int(np.sum(~np.any(sort.matrix < 0, axis=0))),
        why="The paper says that every column has a negative entry. A neuron without rules "
        "consumes nothing; here these are the three output neurons.",
    )

    table.section("Compressed formats")
    words = 2 * nonzero + sort.num_rules + 1
    print(f"  CSR of the matrix above: {words} words instead of {sort.matrix.size}")
    table.compare(
        "CSR saves if 2 nnz + rows + 1 _ rows x cols",
        ">",
        "<" if words < sort.matrix.size else ">",
        why="Printed the other way round: CSR saves while it needs fewer words than the dense "
        "matrix, which is the case here.",
    )
    print("\nELL of M, each column a rule:\n" + sort.ell_table())
    print("\nCompressed synapse matrix, each column a neuron (9: no target):")
    print(sort.compressed_table())


def delays(table: Comparison) -> None:
    table.section("Delays (by the definition)")
    system = snp.SpikingSystem(
        [
            snp.Neuron("s", 3, ["a+/a -> a"]),
            snp.Neuron("c", 1, ["a -> a; 2"]),
            snp.Neuron("o"),
        ],
        [("s", "c"), ("c", "o")],
    )
    solution = snp.run(system)
    print("  a neuron with delay 2 closes, and loses the spikes of steps 1 and 2:")
    for step, (spikes, timers) in enumerate(
        zip(solution.configurations.tolist(), solution.timer_history.tolist(), strict=True)
    ):
        print(f"    step {step}: s, c, o = {spikes}, closed for {timers[1]}")
    table.compare("spikes that o receives", 2, int(solution.spikes[2]))
    exact = "yes" if TransitionMatrix(system).is_exact else "no"
    table.compare("C' = C + S M holds in every step", "no", exact)


def division_and_budding(table: Comparison, full: bool) -> None:
    table.section("Division and budding: SAT, step of the first output spike (Pan 2011; Wang 2010)")
    formulas = {
        "n = 2, m = 2": Formula(2, ((1, -2), (1, 2))),
        "n = 3, m = 3, false": Formula(3, ((1,), (-1, 2), (-2,))),
    }
    if full:
        formulas["n = 4, m = 3"] = Formula(4, ((1, 2, -3), (-2, 4), (-1, 3, -4)))
        formulas["n = 10, m = 3"] = Formula(10, ((1, 2, -3), (-9, 10), (4, -5, 6)))
    for name, formula in formulas.items():
        n, m = formula.num_variables, len(formula.clauses)
        satisfiable = "false" not in name
        for label, build, step in (
            ("division, budding", by_division_and_budding, 2 * n + n * m + 6),
            ("division only", by_division, 4 * n + n * m + 5),
        ):
            system = build(formula)
            solution = snp.run(system, max_steps=step + 10)
            times = solution.spike_times().tolist()
            wanted = step if satisfiable else "never"
            table.compare(f"{name}: {label}", wanted, times[0] if times else "never")
            if build is by_division:
                table.compare("  neurons at the start", 11, system.num_neurons)


def plasticity(table: Comparison) -> None:
    table.section("Plasticity")
    system = snp.SpikingSystem(
        [
            snp.Neuron("i", 1, [snp.PlasticityRule("a", 1, "+-", 1, ("j", "m"))]),
            snp.Neuron("j", 0, ["a -> a"]),
            snp.Neuron("l", 0, ["a -> a"]),
            snp.Neuron("m", 1, ["a -> a"]),
        ],
        [("j", "l"), ("l", "i")],
        output="m",
    )
    numbers = snp.explore(system).intervals(30)
    table.compare(
        "numbers up to 30 that are generated",
        "3m + 1",
        "3m + 1" if numbers.values == tuple(range(1, 31, 3)) else str(numbers.values),
    )
    deleting = snp.SpikingSystem(
        [
            snp.Neuron("x", 1, [snp.PlasticityRule("a", 1, "-", 1, ("z",))]),
            snp.Neuron("y"),
            snp.Neuron("z"),
        ],
        [("x", "y"), ("x", "z")],
    )
    table.compare(
        "synapses that a -> -1(x, {z}) may delete",
        2,
        int(snp.explore(deleting).num_transitions),
    )


def main() -> None:
    full = parser(__doc__).parse_args().full
    table = Comparison("Sparse representations of SN P systems", PAPER)
    matrices(table)
    delays(table)
    division_and_budding(table, full)
    plasticity(table)
    table.finish()


if __name__ == "__main__":
    main()
