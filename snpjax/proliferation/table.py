"""Histograms as tables: fluorescences in ascending order with their cells."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Num


@dataclass(frozen=True, eq=False)
class SparseHistogram:
    """A sparse histogram.

    - `fluorescence`: ascending, each once.
    - `total`: cells; `by_type`: those of each type, or `None`; `sd`: of `total`, or `None`.
    """

    fluorescence: Float[np.ndarray, " values"]
    total: Num[np.ndarray, " values"]
    by_type: Num[np.ndarray, "types values"] | None = None
    sd: Float[np.ndarray, " values"] | None = None


def merged(
    fluorescence: Float[np.ndarray, "channels generations"],
    total: Num[np.ndarray, "channels generations"],
    by_type: Num[np.ndarray, "types channels generations"] | None = None,
    *,
    variance: Float[np.ndarray, "channels generations"] | None = None,
) -> SparseHistogram:
    """The table of what is not 0. Values that two channels share are one, by exact equality; two
    such channels are independent, so that variances add."""
    values, where = np.unique(fluorescence.ravel(), return_inverse=True)

    def added(array: np.ndarray) -> np.ndarray:
        found = np.zeros(values.size, array.dtype)
        np.add.at(found, where, array.ravel())
        return found

    sums = added(total)
    held = sums > 0
    return SparseHistogram(
        values[held],
        sums[held],
        None if by_type is None else np.stack([added(x)[held] for x in by_type]),
        None if variance is None else np.sqrt(added(variance)[held]),
    )
