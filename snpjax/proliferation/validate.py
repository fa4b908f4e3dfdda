"""Comparing a model with a histogram that it was not fitted to."""

from .binning import AbstractBins, BinRule, Bins, bins_of_model
from .distance import hellinger
from .expected import binned_mean, expected
from .histogram import Histogram, check_same_axis
from .model import ProliferationModel


def validate(
    model: ProliferationModel,
    observed: Histogram,
    *,
    bins: AbstractBins = Bins(),  # noqa: B008 (a frozen object)
    same_axis: bool = True,
) -> tuple[float, float]:
    """Compute the Hellinger distance of a model from a histogram measured after its duration.

    What is compared is the exact expectation, scaled to the measured cells. Cells below the
    threshold of the model, or outside the bins, are left out on both sides
    (`BinRule.DISPLAY`).

    **Arguments:**

    - `model`: a model, usually a fitted one with the duration of a later measurement.
    - `observed`: cells by fluorescence after `model.duration` hours, on the axis of the initial
      histogram.
    - `bins`: where the two are compared.
    - `same_axis`: refuse two histograms of different axes.

    **Returns:** the distance in counts, and the normalised distance in [0, 1].

    **Raises:** `ValueError` for axes that differ, or no cells within the bins.
    """
    if same_axis:
        check_same_axis(model.initial, observed)
    cells = bins.count(
        observed.fluorescence, observed.counts, rule=BinRule.DISPLAY, phi_min=model.threshold
    )
    index = bins_of_model(model, bins, rule=BinRule.DISPLAY)
    mean = binned_mean(index, expected(model).mean, bins.num)
    for what, num in (("measured", cells.sum()), ("expected", mean.sum())):
        if not num > 0:
            raise ValueError(
                f"no {what} cells are in the bins from {bins.edges[0]:g} to {bins.edges[-1]:g} "
                "above the threshold (give other Bins)"
            )
    return hellinger(mean, cells)
