"""Pictures of proliferation: what was measured beside what a model expects."""

import os
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..optional import pyplot
from ..proliferation.binning import Bins, bins_of_model
from ..proliferation.expected import binned_mean, expected
from ..proliferation.histogram import Histogram
from ..proliferation.model import Model


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

_BAND = 1.959963984540054  # 95 % of a normal law


def draw(
    model: Model,
    measured: Histogram,
    path: str | os.PathLike[str] | None = None,
    *,
    bins: Bins = Bins(),  # noqa: B008 (a frozen object)
) -> "Figure":
    """Four pictures on one page: the measured and the expected histogram with the band that 95 % of
    experiments would lie in, the expected one by type and by generation, and the residuals in
    standard deviations. Expected cells are scaled to those measured.

    **Arguments:**

    - `path`: write a `.png`, `.svg` or `.pdf` file.

    **Returns:** the matplotlib figure.

    **Raises:** `ImportError` without matplotlib.
    """
    plt = pyplot()
    found = expected(model)
    mean, covariance = found.binned(bins)
    observed = bins.count(measured.fluorescence, measured.counts)
    total = observed.sum()
    scale = total / mean.sum()
    index = bins_of_model(model, bins)
    spread = band(mean, covariance, float(total))
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), sharex=True, layout="constrained")
    _compared(axes[0, 0], bins, observed, mean * scale, spread)
    parts = {
        name: binned_mean(index, cells, bins.num) * scale
        for name, cells in zip(model.names, found.by_type, strict=True)
    }
    _stacked(axes[0, 1], bins, parts, "by type")
    generations = {
        f"{k}": binned_mean(index[:, k : k + 1], found.mean[:, k : k + 1], bins.num) * scale
        for k in range(model.generations)
    }
    _stacked(axes[1, 1], bins, generations, "by generation")
    residuals = np.divide(observed - mean * scale, spread, where=spread > 0, out=np.zeros(bins.num))
    axes[1, 0].axhspan(-_BAND, _BAND, color="0.9")
    axes[1, 0].plot(bins.edges, residuals, ".", color="black")
    axes[1, 0].set(title="residuals", ylabel="standard deviations", xlabel="fluorescence")
    axes[1, 1].set_xlabel("fluorescence")
    if path is not None:
        figure.savefig(os.fspath(path))
    return figure


def band(
    mean: Float[np.ndarray, " bins"], covariance: Float[np.ndarray, "bins bins"], total: float
) -> Float[np.ndarray, " bins"]:
    """Standard deviations of `total` measured cells in bins: of drawing them, and of the divisions
    before."""
    size = mean.sum()
    p = mean / size
    row = covariance.sum(0)
    of_shares = np.diag(covariance) - 2 * p * row + p**2 * covariance.sum()
    variance = total * p * (1 - p) + total * (total - 1) * of_shares / size**2
    return np.sqrt(np.maximum(variance, 0))


def _compared(axes: "Axes", bins: Bins, observed, expected, spread) -> None:
    low, high = np.maximum(expected - _BAND * spread, 0), expected + _BAND * spread
    axes.fill_between(bins.edges, low, high, step="pre", alpha=0.3, label="95 %")
    axes.step(bins.edges, expected, where="pre", label="expected")
    axes.plot(bins.edges, observed, ".", color="black", label="measured")
    axes.set(xscale="log", title="measured and expected", ylabel="cells")
    axes.legend()


def _stacked(axes: "Axes", bins: Bins, parts: dict[str, np.ndarray], title: str) -> None:
    parts = {name: cells for name, cells in parts.items() if cells.sum() > 0.5}
    colors = pyplot().get_cmap("viridis")(np.linspace(0, 0.95, max(len(parts), 1)))
    axes.stackplot(bins.edges, *parts.values(), labels=list(parts), colors=list(colors), step="pre")
    axes.set(xscale="log", title=title, ylabel="cells")
    axes.legend(title=title, fontsize="small")
