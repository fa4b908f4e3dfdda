"""Generate the invented histograms of example 12: run this to write them again.

The axis has 16 channels per doubling, so that a cell whose fluorescence halves moves by exactly 16
channels. 20,000 stained cells divide for 120 hours, and 20,000 of the resulting cells are measured.
"""

from pathlib import Path

import jax
import numpy as np

from snpjax import proliferation as pr
from snpjax.io.proliferation import ModelFile, write_histogram, write_model


TRUTH = (pr.CellType("resting", 0.2), pr.CellType("cycling", 0.8, pr.Normal(40.0, 12.0)))
GUESS = (pr.CellType("resting", 0.5), pr.CellType("cycling", 0.5, pr.Normal(60.0, 20.0)))
BOUNDS = {"cycling": {"mean": (20.0, 120.0), "sd": (3.0, 40.0)}}

folder = Path(__file__).parent
rng = np.random.default_rng(2026)
octave = 2.0 ** (np.arange(16) / 16)
axis = np.concatenate([2.0**power * octave for power in range(14)])
near = np.searchsorted(axis, np.exp(rng.normal(np.log(3000.0), 0.35, 20_000)))
initial = pr.Histogram(axis, np.bincount(near, minlength=axis.size))

final = pr.simulate(
    pr.ProliferationModel(initial, TRUTH, duration=120.0, phi_min=8.0), jax.random.key(2026)
)
table = final.table()
counts = np.zeros(axis.size, np.int64)
counts[np.searchsorted(axis, table.fluorescence)] = table.total
measured = rng.multivariate_hypergeometric(counts, 20_000)

write_histogram(initial, folder / "proliferation_initial.txt")
write_histogram(pr.Histogram(axis, measured), folder / "proliferation_target.txt")
write_model(
    ModelFile(
        GUESS,
        "a made-up experiment",
        duration=120.0,
        phi_min=8.0,
        bins=pr.Bins(1.0, 1e5, 100),
        initial="proliferation_initial.txt",
        target="proliferation_target.txt",
        bounds=BOUNDS,
    ),
    folder / "proliferation.model.json",
)
print(f"{initial.cells} cells became {table.total.sum()}, of which {measured.sum()} were measured")
