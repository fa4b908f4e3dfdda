# %% [markdown]
# # Fitting a cytometry experiment
#
# Cells are stained once with a fluorescent dye. Each division halves the dye of a cell, so a
# histogram of fluorescence measured some days later tells how often cells divided. In this
# tutorial you read two histograms, fit how fast the cells divide and how many are at rest, and
# judge the fit.
#
# The data are invented: 20,000 stained cells, of which 20 % rest and the others divide every 40
# hours on average, with a standard deviation of 12 hours. So the right answer is known.

# %%
from pathlib import Path

import jax
import numpy as np

from snpjax import proliferation as pr
from snpjax.io.proliferation import read_histogram


# %% [markdown]
# ## Two histograms
#
# A histogram file has two columns, fluorescence and number of cells. Most cytometers export such a
# table. The examples in a clone of the repository contain a pair of them.

# %%
clone = next(
    p for p in (Path.cwd(), *Path.cwd().parents) if (p / "examples" / "dimacs.py").exists()
)
initial = read_histogram(clone / "examples" / "proliferation_initial.txt")
measured = read_histogram(clone / "examples" / "proliferation_target.txt")
print(initial)
print(measured)


def mean_log2(histogram: pr.Histogram) -> float:
    return float(np.average(np.log2(histogram.fluorescence), weights=histogram.counts))


print(f"mean number of divisions, roughly: {mean_log2(initial) - mean_log2(measured):.1f}")

# %% [markdown]
# ## The model
#
# A cell has a type, drawn once and inherited by its descendants. A type either rests or has a law
# of the division time. Start from a rough guess; the fit finds the numbers. `phi_min` is the
# fluorescence below which a cell can no longer be distinguished from an unstained one: after a
# division below it, the daughters are not counted.

# %%
guess = pr.ProliferationModel(
    initial,
    [
        pr.CellType("resting", 0.5),
        pr.CellType("cycling", 0.5, pr.Normal(60.0, 20.0)),
    ],
    duration=120.0,  # hours
    phi_min=8.0,
)
print(guess)

# %% [markdown]
# `pr.expected` computes the expected histogram exactly, with its covariance. Nothing is sampled.

# %%
prediction = pr.expected(guess)
print(f"the guess predicts {prediction.total:,.0f} cells (sd {prediction.total_sd:,.0f})")

# %% [markdown]
# ## The fit
#
# `pr.calibrate` minimises the distance between the expected and the measured histogram. Only the
# shape is compared, because a cytometer measures a sample of the cells. The objective has no noise
# and has exact gradients, so the fit takes a fraction of a second.

# %%
fit = pr.calibrate(
    guess,
    measured,
    bins=pr.Bins(1.0, 1e5, 100),
    bounds={"cycling": {"mean": (20.0, 120.0), "sd": (3.0, 40.0)}},
)
print(fit)
errors = pr.uncertainty(fit)
for name, (low, high) in errors.intervals().items():
    print(f"{name}: {low:.3f} to {high:.3f} (95 %)")

truth = {"resting proportion": 0.2, "cycling mean": 40.0, "cycling sd": 12.0}
intervals = errors.intervals(level=0.999)
for name, value in truth.items():
    low, high = intervals[name]
    assert low <= value <= high

# %% [markdown]
# The intervals of the resting proportion, of the mean and of the standard deviation contain the
# truth. `x1` is the parameter that the search moves, the share of the first type.
#
# ## Is the model good enough?
#
# A small distance is not a proof that the model fits. `goodness_of_fit` compares the residuals
# with those that chance alone would produce, by the exact covariance. A p-value near 0 means that
# this model cannot have produced these data.

# %%
print(f"p = {pr.goodness_of_fit(fit).p_value:.2f}")
assert pr.goodness_of_fit(fit).p_value > 0.01

simple = pr.calibrate(
    pr.ProliferationModel(
        initial, [pr.CellType("all", 1.0, pr.Normal(60.0, 20.0))], duration=120.0, phi_min=8.0
    ),
    measured,
    bins=pr.Bins(1.0, 1e5, 100),
)
print(simple)
print(f"p = {pr.goodness_of_fit(simple).p_value:.2g}")
assert pr.goodness_of_fit(simple).p_value < 1e-6

# %% [markdown]
# A single type without resting cells is refuted.
#
# ## Cell by cell
#
# The simulation draws every division time of every cell. Its mean agrees with the expectation, and
# its histograms look like measured ones.

# %%
sample = pr.simulate(fit.model, jax.random.key(0), runs=5)
expected = pr.expected(fit.model)
print(f"expected {expected.total:,.0f} cells, simulated {sample.total.mean():,.0f}")
assert abs(sample.total.mean() - expected.total) < 5 * expected.total_sd / 5**0.5

# %% [markdown]
# ## A picture
#
# The measured histogram next to the expected one with its 95 % band, by type and by generation.

# %%
from snpjax.viz.proliferation import draw


figure = draw(fit.model, measured)

# %% [markdown]
# ## What next
#
# - [Cell proliferation](../proliferation.md): start rules, gamma laws, profiles of the likelihood.
# - `snpjax proliferation calibrate MODEL.json` does this from the command line.
# - `python examples/papers/cell_proliferation.py` compares published models with ours.
