"""Which integers count the spikes of a system without a silent overflow."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from .host_program import HostProgram


#: What configurations are searched in: narrow counts take less memory and time, and where one
#: overflows, the search goes on in the next type.
NARROW = tuple(map(np.dtype, (np.int8, np.int16, np.int32)))


def least_type(columns: HostProgram, *, at_least: np.dtype, largest: int) -> np.dtype:
    """The least of `NARROW`, from `at_least` on, for this system; it also holds `largest`.

    **Raises:** `ValueError` when there is none.
    """
    need = _Needs.of(columns)
    types = NARROW[NARROW.index(at_least) :]
    found = least_fitting(types, max(need.largest, largest), need.arriving)
    return count_type([columns], np.int32) if found is None else found


def least_fitting(types: Sequence[np.dtype], largest: int, arriving: float) -> np.dtype | None:
    """The first type that holds a number, and in which no overflow is missed when this many spikes
    arrive at a neuron in one step: these are less than half of its range."""
    for dtype in types:
        most = int(np.iinfo(dtype).max)
        if largest <= most and arriving < (most + 1) // 2:
            return dtype
    return None


def count_type(
    systems: Sequence[HostProgram], requested: np.dtype | type | None = None
) -> np.dtype:
    """The requested count type if it is safe for all, or the least one that is.

    **Raises:** `ValueError` with the constant or the neuron for which there is none.
    """
    if requested is not None and np.dtype(requested) not in (*NARROW, np.int64):
        raise ValueError(
            f"`count_dtype` is {np.dtype(requested)}. Counts are numpy.int32 or numpy.int64."
        )
    needs = [_Needs.of(columns) for columns in systems]
    if requested is None:
        fits = all(n.largest < 2**31 and n.arriving < 2**30 for n in needs)
        requested = np.int32 if fits else np.int64
    dtype = np.dtype(requested)
    bits = 8 * dtype.itemsize
    fix = "Try `count_dtype=numpy.int64`." if bits == 32 else "No count type is large enough."
    for need in needs:
        if need.largest >= 2 ** (bits - 1):
            shown = need.largest if need.largest < 10**40 else "of more than 40 digits"
            raise ValueError(f"The system has the constant {shown}, which is not an {dtype}. {fix}")
        if need.arriving >= 2 ** (bits - 2):
            raise ValueError(
                f"In one step about {need.arriving:.3g} spikes can arrive at neuron "
                f"{need.neuron!r}, too many to detect every overflow of {dtype} (below "
                f"2^{bits - 2}). {fix}"
            )
    return dtype


def most_together(columns: HostProgram, dtype: np.dtype) -> Int[np.ndarray, " neurons"]:
    """The most spikes that each neuron may emit at once where emissions add up, so that the
    overflow of a sum of arrivals is still detected.

    As many times what one rule produces as keeps the arrivals of one step below a quarter of the
    range.
    """
    largest = np.iinfo(dtype).max
    produced = columns.table.largest_production()
    arriving = columns.largest_arrival[0]
    times = max(int((largest // 2) / max(arriving, 1.0)), 1)
    safe = largest // times
    return np.where(produced > safe, largest, produced * times).astype(dtype)


class _Needs(NamedTuple):
    """What a count type must hold: the largest constant, and the arrivals of the busiest neuron."""

    largest: int
    arriving: float
    neuron: str

    @classmethod
    def of(cls, columns: HostProgram) -> "_Needs":
        if columns.largest >= 2**63:  # the columns themselves are cut
            return cls(columns.largest, 0.0, "")
        arriving, neuron = columns.largest_arrival
        return cls(columns.largest, arriving, columns.name_of(neuron) if arriving else "")
