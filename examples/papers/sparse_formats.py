"""Choosing a sparse format for rate-coded networks.

Prints the rates of choosing the best format in Dinkelbach et al. 2022 next to those of our timings,
runs their benchmark network, and lists what their heuristic chooses. `--full` trains our cost model
without the timings that it is judged on (minutes; needs scikit-learn).
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from comparison import Comparison, parser
from jax import Array

import snpjax as snp
from snpjax import rate
from snpjax_formats import CSR, ELLPACKR, Dense, Edges, Workload
from snpjax_formats.select import Published, choose
from snpjax_formats.select.gathering import TimingRecord, read_timings


PAPER = (
    "H. U. Dinkelbach, B.-E. Bouhlal, J. Vitay, F. H. Hamker: Auto-selection of an optimal sparse "
    "matrix format in the neuro-simulator ANNarchy. Frontiers in Neuroinformatics 16:877945, 2022."
)
TIMINGS = Path(__file__).resolve().parents[2] / "bench" / "timings"

#: % of matrices for which the fastest of three formats was chosen: always CSR, the heuristic, and
#: the trained model.
PRINTED = {
    "K20m": (63.83, 87.67, 95.67),
    "RTX 2060": (44.67, 71.67, 93.0),
    "RTX 3080": (60.17, 77.83, 94.83),
}
FORMATS = {"Dense product": Dense, "ELL pull": ELLPACKR, "CSR pull": CSR}
OTHER_KERNELS = (
    "Another device and other kernels: XLA has no fast CSR product, so that CSR hardly ever wins "
    "here. Theirs are K20m, RTX 2060, RTX 3080."
)


def heuristic(table: Comparison) -> None:
    table.section("The heuristic: dense from a density of 0.6, ELLPACK-R up to 128 a row, else CSR")
    rng = np.random.default_rng(0)
    floats = Workload(accumulate=np.dtype(np.float32))
    for sources, degree, wanted in (
        (100, 60, Dense),
        (100, 59, ELLPACKR),
        (1_000, 128, ELLPACKR),
        (1_000, 129, CSR),
    ):
        target = np.repeat(np.arange(50), degree)
        source = np.concatenate([rng.permutation(sources)[:degree] for _ in range(50)])
        edges = Edges(source, target, np.ones(len(source), np.float32), sources, 50)
        chosen = choose(edges, chooser=Published(), workload=floats).layout
        what = f"{degree} a row of {sources}"
        table.compare(what, wanted.__name__, chosen.__name__)


def accuracy(table: Comparison, full: bool) -> None:
    table.section("Fastest of dense, ELLPACK and CSR chosen, %")
    for name, columns in PRINTED.items():
        print(
            f"  {name + ' (paper)':46} CSR {columns[0]}, heuristic {columns[1]}, model {columns[2]}"
        )
    for file, device in (("h200.jsonl.gz", "H200"), ("cpu-xeon-set-4.jsonl.gz", "two CPU cores")):
        path = TIMINGS / file
        records = (
            [x for x in read_timings(path) if x.configuration.family == "paper"]
            if path.exists()
            else []
        )
        if not records:
            print(f"  {device}: the timings bench/timings/{file} are not here")
            continue
        csr, own = (np.mean([is_best(x, by(x)) for x in records]) for by in (_csr, _heuristic))
        print(f"  {len(records)} random matrices of the paper's kind on {device}")
        table.report(f"{device}: always CSR", "44.67 - 63.83", f"{100 * csr:.2f}", OTHER_KERNELS)
        table.report(f"{device}: heuristic", "71.67 - 87.67", f"{100 * own:.2f}", OTHER_KERNELS)
        if full:
            from snpjax_formats.select.training import train

            _, report = train([path], title=device)
            learned = report["three formats of the paper"]["learned"]["exact"]
            table.report(
                f"{device}: trained", "93.0 - 95.67", f"{100 * learned:.2f}", OTHER_KERNELS
            )


def is_best(record: TimingRecord, name: str) -> bool:
    """Whether a candidate had the least time of the three formats."""
    times = {key: record.times[key].least for key in FORMATS if key in record.times}
    return name in times and times[name] == min(times.values())


def _csr(record: TimingRecord) -> str:
    return "CSR pull"


def _heuristic(record: TimingRecord) -> str:
    features = record.features
    density = features.num_edges / (features.num_sources * features.num_targets)
    if density >= 0.6:
        return "Dense product"
    return "ELL pull" if features.into.mean <= 128 else "CSR pull"


def network(table: Comparison) -> None:
    table.section(
        "The benchmark: two populations, r = sum(exc) + 1 (compared with NumPy in 64 bits)"
    )
    n, steps = 200, 20
    ways = (("first", "second"), ("second", "first"))
    for layout in (CSR, ELLPACKR, Dense):
        system = rate.RateNetwork(
            [rate.RatePopulation(name, n, rate.Update(_sum)) for name, _ in ways],
            [
                rate.RateProjection(
                    *way,
                    snp.graphs.RandomPairs(0.1, seed),
                    weights=rate.Uniform(0.0, 1 / (0.1 * n), seed=seed),
                    layout=layout,
                )
                for seed, way in enumerate(ways)
            ],
            dt=1.0,
        )
        found = snp.run(system, max_steps=steps).rates
        rates = {name: np.zeros(n) for name, _ in ways}
        for _ in range(steps):
            new = {}
            for projection in system.projections:
                edges = projection.edges(n, n)
                assert edges.value is not None
                products = edges.value * rates[projection.pre][edges.source]
                new[projection.post] = np.bincount(edges.target, products, minlength=n) + 1
            rates = new
        error = max(np.max(np.abs(found[x]["r"][-1] / rates[x] - 1)) for x in rates)
        table.compare(
            f"{layout.__name__}: rates after {steps} steps, to 1e-5",
            "equal",
            "equal" if error < 1e-5 else f"off by {error:.1e}",
        )


def _sum(
    variables: Mapping[str, Array], inputs: Mapping[str, Array], parameters: Mapping[str, Array]
) -> dict[str, Array]:
    del variables, parameters
    return {"r": inputs["exc"] + 1.0}


def main() -> None:
    full = parser(__doc__).parse_args().full
    table = Comparison("Automatic choice of a sparse format", PAPER)
    heuristic(table)
    accuracy(table, full)
    network(table)
    table.finish()


if __name__ == "__main__":
    main()
