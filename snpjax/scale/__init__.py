"""Many devices and many hosts, by the distributed runtime of JAX; and sums over many paths."""

from typing import TYPE_CHECKING

from snpjax_formats.lazy import lazily


if TYPE_CHECKING:
    from .statistics import (
        AbstractStatistic as AbstractStatistic,
        Bin as Bin,
        Histogram as Histogram,
        Intervals as Intervals,
        Outcome as Outcome,
        Total as Total,
    )
    from .streams import Summary as Summary

lazily(
    __name__,
    {
        ".statistics": "AbstractStatistic Bin Histogram Intervals Outcome Total",
        ".streams": "Summary",
    },
)
