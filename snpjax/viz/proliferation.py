"""Pictures of proliferation: what was measured beside what a model expects."""

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import chdtrc

from snpjax_formats.arguments import explain_arguments

from .._text.optional import pyplot
from ..drawing.scene import BLACK, BLUE, SKY
from ..proliferation.binning import AbstractBins, ChannelBins, bins_of_model
from ..proliferation.distance import drawn_on_host
from ..proliferation.expected import Expected, binned_mean, expected
from ..proliferation.histogram import Histogram
from ..proliferation.model import ProliferationModel
from ..proliferation.uncertainty import REJECTED, squared_distance
from .axes import COLUMN, drawing, save, styled


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

_BAND = 1.959963984540054  # 95 % of a normal law
_WHOLE = (8.0, 5.2)  # inches of four pictures


@dataclass(frozen=True)
class Compared:
    """A model beside what was measured, in bins: the pictures of this module, each on its axes.

    Expected cells are scaled to those measured. Without `bins` each bin holds equally many of the
    measured channels.
    """

    model: ProliferationModel
    measured: Histogram
    bins: AbstractBins | None = None

    @cached_property
    def in_bins(self) -> AbstractBins:
        """Those of the pictures: `bins`, or those that follow the measured channels."""
        if self.bins is not None:
            return self.bins
        return ChannelBins.of_channels(self.measured.fluorescence, lowest=self.model.threshold)

    @cached_property
    def found(self) -> Expected:
        """What the model expects."""
        return expected(self.model)

    @cached_property
    def observed(self) -> Float[np.ndarray, " bins"]:
        """Measured cells."""
        return self.in_bins.count(self.measured.fluorescence, self.measured.counts)

    @cached_property
    def mean(self) -> Float[np.ndarray, " bins"]:
        """Expected cells."""
        return self._binned[0] * self.scale

    @cached_property
    def sd(self) -> Float[np.ndarray, " bins"]:
        """Standard deviations of measured cells: of drawing them, and of the divisions before."""
        covariance = drawn_on_host(*self._binned, float(self.observed.sum()))
        return np.sqrt(np.maximum(np.diag(covariance), 0))

    @cached_property
    def rejection(self) -> str:
        """The p value of a model that does not fit, for a title; else nothing."""
        statistic, degrees = squared_distance(*self._binned, self.observed)
        p_value = float(chdtrc(max(degrees, 1), statistic))
        return f" (does not fit, p = {p_value:.1g})" if p_value < REJECTED else ""

    @property
    def scale(self) -> float:
        """Measured cells by expected ones."""
        return float(self.observed.sum() / self._binned[0].sum())

    @cached_property
    def _binned(self) -> tuple[np.ndarray, np.ndarray]:
        return self.found.binned(self.in_bins)

    @property
    def _middles(self) -> Float[np.ndarray, " bins"]:
        """Of the bins, whose first one is as wide as the second."""
        edges = self.in_bins.edges
        return edges / np.sqrt(edges[np.r_[1, 1 : len(edges)]] / edges[np.r_[0, : len(edges) - 1]])

    def histogram(self, ax: "Axes | None" = None) -> "Axes":
        """The measured and the expected histogram, with the band that 95 % of experiments would lie
        in if the model is right; the title says if it does not fit."""
        low = np.maximum(self.mean - _BAND * self.sd, 0)
        edges = self.in_bins.edges
        with drawing(ax, COLUMN) as axes:
            axes.fill_between(
                edges, low, self.mean + _BAND * self.sd, step="pre", color=SKY, alpha=0.5, lw=0
            )
            axes.fill_between([], [], [], color=SKY, alpha=0.5, lw=0, label="95 %")
            axes.step(edges, self.mean, where="pre", color=BLUE, linewidth=1, label="expected")
            axes.plot(
                self._middles, self.observed, ".", color=BLACK, markersize=2.5, label="measured"
            )
            _label(axes, f"measured and expected{self.rejection}")
            axes.legend(frameon=False)
            return axes

    def by_type(self, ax: "Axes | None" = None) -> "Axes":
        """Expected cells, stacked by type."""
        index = bins_of_model(self.model, self.in_bins)
        parts = {
            name: binned_mean(index, cells, self.in_bins.num) * self.scale
            for name, cells in zip(self.model.names, self.found.by_type, strict=True)
        }
        return self._stacked(ax, parts, "by type")

    def by_generation(self, ax: "Axes | None" = None) -> "Axes":
        """Expected cells, stacked by how often they divided."""
        index, mean = bins_of_model(self.model, self.in_bins), self.found.mean
        parts = {
            f"{k}": binned_mean(index[:, k : k + 1], mean[:, k : k + 1], self.in_bins.num)
            * self.scale
            for k in range(self.model.generations)
        }
        return self._stacked(ax, parts, "by generation")

    def residuals(self, ax: "Axes | None" = None) -> "Axes":
        """How many standard deviations what was measured lies off, and the band of 95 %."""
        none = np.zeros(self.in_bins.num)
        off = np.divide(self.observed - self.mean, self.sd, where=self.sd > 0, out=none)
        with drawing(ax, COLUMN) as axes:
            axes.axhspan(-_BAND, _BAND, color="0.9")
            axes.plot(self._middles, off, ".", color=BLACK, markersize=2.5)
            _label(axes, "residuals", "standard deviations")
            return axes

    def _stacked(
        self, ax: "Axes | None", parts: dict[str, Float[np.ndarray, " bins"]], title: str
    ) -> "Axes":
        parts = {name: cells for name, cells in parts.items() if cells.sum() > 0.5}
        with drawing(ax, COLUMN) as axes:
            colors = pyplot().get_cmap("cividis")(np.linspace(0, 1, max(len(parts), 1)))
            names = [name.replace("$", r"\$") for name in parts]
            axes.stackplot(
                self.in_bins.edges,
                *parts.values(),
                labels=names,
                colors=list(colors),
                step="pre",
                edgecolor="white",  # parts are told apart without their colours, too
                linewidth=0.4,
            )
            _label(axes, title)
            axes.legend(frameon=False, ncols=-(-len(parts) // 5))
            return axes


def draw(
    model: ProliferationModel,
    measured: Histogram,
    path: str | os.PathLike[str] | None = None,
    *,
    bins: AbstractBins | None = None,
) -> "Figure":
    """Compare a model with a measured histogram in four pictures on one page.

    They show the measured and the expected histogram with the band that contains 95 % of
    experiments, the expected one by type and by generation, and the residuals in standard
    deviations. Expected cells are scaled to those measured. The title says if the model does not
    fit (p < 0.001): 95 % of experiments do not lie in the band then.

    **Arguments:**

    - `model`: the model, often that of a calibration.
    - `measured`: the histogram measured after `model.duration`.
    - `path`: the `.png`, `.svg` or `.pdf` file to write; `None` for none.
    - `bins`: the bins of both histograms; by default those that follow the measured channels, see
      `ChannelBins`.

    **Returns:** the matplotlib figure.

    **Raises:** `ImportError` without matplotlib.
    """
    plt = pyplot()
    compared = Compared(model, measured, bins)
    with styled():
        figure, axes = plt.subplots(2, 2, figsize=_WHOLE, sharex=True, layout="constrained")
        compared.histogram(axes[0, 0])
        compared.by_type(axes[0, 1])
        compared.residuals(axes[1, 0])
        compared.by_generation(axes[1, 1])
        for ax in axes[0]:
            ax.set_xlabel("")
    if path is not None:
        save(figure, path)
    return figure


def _label(ax: "Axes", title: str, ylabel: str = "cells") -> None:
    ax.set(xscale="log", title=title, ylabel=ylabel, xlabel="fluorescence")


explain_arguments(__name__)
