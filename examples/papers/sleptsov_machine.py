"""The Sleptsov net virtual machine: sizes, steps and answers of its benchmark programs.

Builds the published nets from their descriptions and runs them. `--full` adds the long runs: the
double exponent of four levels, and a product in single firings (85 million steps).
"""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from comparison import Comparison, parser

import snpjax as snp
from snpjax.sleptsov import Disjoint, Execution, Petri
from snpjax.sleptsov.programs import (
    Program,
    addition_chain,
    double_exponent,
    matrix_product,
    polynomial,
    product_chain,
    started,
)
from snpjax.sleptsov.subnets import add, mul


PAPER = (
    "D. A. Zaitsev, Y. Ajima, J. Bartlett, A. Kumar: 3D multicore CPU vs GPU on sparse patterns of "
    "Sleptsov net virtual machine. International Journal of Parallel, Emergent and Distributed "
    "Systems, 2025; with the nets published with it (github.com/dimazaitsev/SNCtools)."
)


def multiplicities(table: Comparison, full: bool) -> None:
    table.section("Why transitions fire in several copies: steps to the answer")
    for name, program, answer, copies, single in (
        ("7 + 5", started(add(), 7, 5), 12, 3, 13),
        ("13864 x 1135", started(mul(), 13_864, 1_135), 15_735_640, 118, 85_155_019),
    ):
        solution = snp.run(program.net)
        table.compare(f"{name}: steps of a Sleptsov net", copies, solution.steps)
        table.compare("  answer", answer, program.decode(solution.marking))
        if full or single < 1_000:
            petri = snp.run(Execution(program.net, rule=Petri()), max_steps=2 * single)
            table.compare("  steps of a Petri net, one copy at a time", single, petri.steps)


def programs(full: bool) -> list[tuple[str, Program, object, Sequence[int]]]:
    """Name, program, answer, and the published places, transitions, columns' height and steps."""
    terms = [2, 8, 5, 1, 10, 5, 9, 9, 3, 5, 6]
    eleven = [6, 6, 5, 3, 9, 9, 5, 10, 1, 5, 8]  # coefficients, that of x^0 first
    two = [[4, 8], [4, 7]], [[7, 6], [6, 3]]
    three = [[4, 8, 4], [7, 10, 3], [1, 4, 1]], [[7, 6, 6], [3, 2, 8], [10, 7, 7]]
    found = [
        ("add_10", addition_chain(terms), sum(terms), (172, 170, 4, 160)),
        ("mul_3", product_chain(terms[:4]), math.prod(terms[:4]), (83, 90, 4, 126)),
        ("pol_2", polynomial([1, 5, 8], 2), 1 + 5 * 2 + 8 * 4, (117, 124, 4, 137)),
        ("pol_10", polynomial(eleven, 2), _value(eleven, 2), (1_657, 1_820, 4, 2_085)),
        ("mmul_2", matrix_product(*two), np.matmul(*two).tolist(), (294, 310, 5, 416)),
        ("mmul_3", matrix_product(*three), np.matmul(*three).tolist(), (1_055, 1_118, 10, 1_535)),
    ]
    levels = ((15, 36), (34, 306), (53, 6_018), (72, 1_737_684))
    for k, (n, steps) in enumerate(levels if full else levels[:3], 1):
        found.append((f"d_{k}", double_exponent(k), [2 ** (2**k)] * 3, (22 * k + 2, n, 7, steps)))
    return found


def benchmarks(table: Comparison, full: bool) -> None:
    table.section("Benchmark nets: places m, transitions n, height of the columns mm")
    for name, program, answer, (m, n, mm, steps) in programs(full):
        solution = snp.run(program.net, max_steps=2_000_000)
        table.compare(f"{name}: m, n, mm", f"{m}, {n}, {mm}", ", ".join(header(program)))
        table.compare("  steps until it halts", steps, solution.steps)
        found = np.asarray(program.decode(solution.marking)).tolist()
        table.compare("  is the answer that of Python", "yes", "yes" if found == answer else "no")

    table.section("Sizes by the published formulas")
    for k in (4, 5):
        ones = np.ones((k, k), int)
        net = matrix_product(ones, ones).net
        printed = f"{44 * k**3 - 15 * k**2 + 2}, {47 * k**3 - 17 * k**2 + 2}"
        table.compare(f"mmul_{k}: m, n", printed, f"{net.num_places}, {net.num_transitions}")
    for k in (5, 10):
        net = product_chain([2] * (k + 1)).net
        printed = f"{27 * k + 2}, {30 * k}"
        table.compare(f"mul_{k}: m, n", printed, f"{net.num_places}, {net.num_transitions}")
    for k in (3, 5):
        net = polynomial([1] * (k + 1), 2).net
        q = k * (k + 1) // 2
        printed = f"{27 * q + 17 * k + 2}, {30 * q + 17 * k}"
        table.compare(f"pol_{k}: m, n", printed, f"{net.num_places}, {net.num_transitions}")


def _value(coefficients: Sequence[int], x: int) -> int:
    return sum(c * x**power for power, c in enumerate(coefficients))


def parallel_firing(table: Comparison) -> None:
    table.section("Transitions that share no place fire together")
    program = matrix_product([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    alone = snp.run(program.net, max_steps=10_000)
    together = snp.run(Execution(program.net, rule=Disjoint()), max_steps=10_000)
    table.compare("firings in rounds, and one by one", alone.steps, int(together.firings))
    print(f"      {together.steps} rounds instead of {alone.steps} steps")


def header(program: Program) -> list[str]:
    """The first line of the program's file of condensed columns: m, n, mm."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "net.mcc")
        snp.write_net(program.net, path)
        return path.read_text().splitlines()[0].split()


def main() -> None:
    full = parser(__doc__).parse_args().full
    table = Comparison("The Sleptsov net virtual machine", PAPER)
    multiplicities(table, full)
    benchmarks(table, full)
    parallel_firing(table)
    table.finish()


if __name__ == "__main__":
    main()
