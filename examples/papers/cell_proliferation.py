"""Stochastic cell proliferation read from fluorescence histograms.

Prints the published models of acute myeloid leukaemia next to our fits of the same data. The
measured histograms belong to ProCell (github.com/aresio/ProCell) and are not part of this
repository: give their folder with `--data`. Without it, what does not need them is compared.
"""

import argparse
import math
import time
from pathlib import Path

import jax
import numpy as np
from comparison import Comparison, parser

from snpjax import proliferation as pr
from snpjax.io.proliferation import read_histogram, read_model


PAPER = (
    "M. S. Nobile, E. Nisoli, T. Vlachou, S. Spolaor, P. Cazzaniga, G. Mauri, P. G. Pelicci, D. "
    "Besozzi: cuProCell: GPU-accelerated analysis of cell proliferation with flow cytometry data. "
    "IEEE Journal of Biomedical and Health Informatics 24(11), 2020; with the models and data of "
    "ProCell."
)
INITIAL = "AML9_Exp3_t10d_UT1_BM_GFPpos.txt"
TARGET = "AML9_Exp3_t10d_DOX3_BM_GFPpos.txt"

FAST = {"mean": (30.0, 63.0), "sd": (3.0, 20.0)}
SLOW = {"mean": (63.0, 504.0), "sd": (3.0, 30.0)}
ANY = {"mean": (30.0, 504.0), "sd": (3.0, 30.0)}
#: The published models and where they are searched: proportions, means and sds in hours.
MODELS = {
    "model 1": ([pr.CellType("all", 1.0, pr.Normal(46.1, 28.9))], {"all": ANY}),
    "model 2": (
        [pr.CellType("quiescent", 0.14), pr.CellType("cycling", 0.86, pr.Normal(46.0, 26.4))],
        {"cycling": ANY},
    ),
    "model 3": (
        [
            pr.CellType("quiescent", 0.06),
            pr.CellType("slow", 0.47, pr.Normal(63.7, 28.9)),
            pr.CellType("fast", 0.47, pr.Normal(41.1, 14.3)),
        ],
        {"slow": SLOW, "fast": FAST},
    ),
    "model 4": (
        [
            pr.CellType("slow", 0.28, pr.Normal(83.9, 26.6)),
            pr.CellType("fast", 0.72, pr.Normal(44.2, 19.5)),
        ],
        {"slow": SLOW, "fast": FAST},
    ),
}
BETTER = (
    "The published value comes from a swarm whose objective is one random simulation each time. "
    "Ours minimises the distance to the exact expectation, which is {gain:.3f} smaller at our "
    "value: {here:.3f} instead of {paper:.3f}."
)


def definitions(table: Comparison) -> None:
    table.section("The model without data (formulas)")
    table.compare("channels of 256 a decade per halving", "77.06", 256 * math.log10(2))
    x = 120.0 / 40.0
    yule = [2**k * math.exp(-x) * x**k / math.factorial(k) for k in range(6)]
    counts = family(pr.Gamma(1.0, 40.0), 120.0)[:6]
    for k in (0, 3, 5):
        table.compare(f"Yule process, cells of generation {k}", f"{yule[k]:.6f}", counts[k])
    labels = sum(n / 2**k for k, n in enumerate(family(pr.Normal(40.0, 12.0), 120.0)))
    table.compare("label of a family, initially 1", "1.000000", float(labels))
    fixed = family(pr.Fixed(40.0), 119.0)
    table.compare("cells of a family, 40 h a division, 119 h", "4.0", float(fixed.sum()))


def family(law: pr.Normal | pr.Gamma | pr.Fixed, duration: float) -> np.ndarray:
    """Expected cells of each generation that descend from one cell which has just divided."""
    one = pr.Histogram(2.0 ** np.arange(31), np.eye(31, dtype=int)[30])
    model = pr.ProliferationModel(
        one, [pr.CellType("one", 1.0, law)], duration=duration, phi_min=1.0, start=pr.Start.SYNC
    )
    return pr.expected(model).type_generation[0]


def effective_means() -> None:
    print(
        "\nMean division times: the parameter as published, and the mean when it is drawn until > 0"
    )
    for name, (types, _) in MODELS.items():
        for cell in types:
            if isinstance(cell.law, pr.Normal):
                means = f"{cell.law.mean} h, {cell.law.effective_mean:.2f} h"
                print(f"  {name}, {cell.name}: {means}")


def simulation(table: Comparison) -> None:
    table.section("Simulation cell by cell, made-up data")
    model = read_model(Path(__file__).resolve().parents[1] / "proliferation.model.json").model()
    expected = pr.expected(model)
    pr.simulate(model, jax.random.key(1), runs=20)  # which compiles
    start = time.perf_counter()
    sample = pr.simulate(model, jax.random.key(0), runs=20)
    seconds = (time.perf_counter() - start) / 20
    error = abs(sample.total.mean() - expected.total) / (expected.total_sd / 20**0.5)
    table.compare("20 runs agree with the expectation", "yes", "yes" if error < 4 else "no")
    rate = expected.total / seconds
    table.report(
        "times as fast as the sequential program",
        237,
        f"{rate:,.0f} cells/s",
        why="Their factor is of a GPU to one CPU core running ProCell, which is not run here.",
    )


def fits(table: Comparison, folder: Path, full: bool) -> None:
    initial, target = read_histogram(folder / INITIAL), read_histogram(folder / TARGET)
    bins = pr.Bins(10.0, 1e4, 100)
    for name, (types, bounds) in MODELS.items():
        if not full and name != "model 3":
            continue
        table.section(f"{name.capitalize()}: untreated, and 240 hours later")
        model = pr.ProliferationModel(initial, types, duration=240.0, phi_min=11.0)
        mean, _ = pr.expected(model).binned(bins)
        published, _ = pr.hellinger(mean, bins.count(target.fluorescence, target.counts))
        fit = pr.calibrate(model, target, bins=bins, bounds=bounds)
        why = BETTER.format(gain=published - fit.distance, paper=published, here=fit.distance)
        assert fit.distance < published
        for cell, own in zip(types, fit.model.types, strict=True):
            _value(table, f"{cell.name}: proportion", cell.proportion, own.proportion, 2, why)
            if isinstance(cell.law, pr.Normal) and isinstance(own.law, pr.Normal):
                _value(table, f"{cell.name}: mean, hours", cell.law.mean, own.law.mean, 1, why)
                _value(table, f"{cell.name}: sd, hours", cell.law.sd, own.law.sd, 1, why)
        if fit.active:
            print(f"  on a bound of the search: {', '.join(fit.active)}")
        fast = min(t.law.mean for t in types if isinstance(t.law, pr.Normal))
        table.compare(
            "generations (levels inferred by the thesis)",
            math.ceil(240 / fast),
            model.generations - 1,
            why="The thesis takes the duration divided by a mean division time. Some cells divide "
            "more often; the fluorescence threshold is what bounds the generations.",
        )


def _value(table: Comparison, what: str, paper: float, here: float, digits: int, why: str) -> None:
    printed = f"{paper:.{digits}f}"
    table.compare(what, printed, here, "" if f"{here:.{digits}f}" == printed else why)


def main() -> None:
    arguments: argparse.ArgumentParser = parser(__doc__)
    arguments.add_argument("--data", type=Path, help="the folder with ProCell's histograms")
    given = arguments.parse_args()
    table = Comparison("Stochastic cell proliferation", PAPER)
    definitions(table)
    effective_means()
    simulation(table)
    if given.data is None:
        print("\nThe fits of the published models need the measured data (--data FOLDER).")
    else:
        fits(table, given.data, given.full)
    table.finish()


if __name__ == "__main__":
    main()
