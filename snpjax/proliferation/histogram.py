"""Measured fluorescence histograms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


_MAX_SHOWN = 20


class Axis(NamedTuple):
    """Of how many rows an axis is, and from which value to which: two histograms can be compared
    when these are equal."""

    rows: int
    lowest: float
    highest: float

    def __str__(self) -> str:
        return f"{self.rows} rows from {self.lowest:g} to {self.highest:g}"

    def agrees(self, other: "Axis") -> bool:
        """Whether two axes are one, up to the digits that files keep."""
        return self.rows == other.rows and bool(
            np.allclose(self[1:], other[1:], rtol=1e-6, atol=0.0)
        )


@dataclass(frozen=True, init=False, eq=False)
class Histogram:
    """Numbers of cells by fluorescence.

    - `fluorescence`: `(channels,)`, positive, strictly ascending, in the arbitrary units of the
      instrument.
    - `counts`: `(channels,)` cells, integers of 0 or more.
    - `axis`: the rows that the instrument gives, including those that hold no cells and no positive
      fluorescence; by default those given.

    **Raises:** `ValueError` with every problem of every channel.
    """

    fluorescence: "Float[np.ndarray, ' channels']"
    counts: "Int[np.ndarray, ' channels']"
    axis: Axis

    def __init__(
        self,
        fluorescence: "Sequence[float] | np.ndarray",
        counts: "Sequence[int] | np.ndarray",
        *,
        axis: Axis | None = None,
    ) -> None:
        phi, cells = _numbers(fluorescence, "fluorescence"), _numbers(counts, "counts")
        if phi.shape != cells.shape:
            raise ValueError(
                f"`fluorescence` has {phi.size} channels and `counts` {cells.size} (give one count "
                "for each channel)"
            )
        problems = _problems(phi, cells)
        if problems:
            more = len(problems) - _MAX_SHOWN
            shown = problems[:_MAX_SHOWN] + ([f"and {more} more"] if more > 0 else [])
            raise ValueError("not a histogram:\n" + "\n".join(f"  {text}" for text in shown))
        phi = phi.astype(np.float64)
        cells = cells.astype(np.int64)
        for array in (phi, cells):
            array.setflags(write=False)
        object.__setattr__(self, "fluorescence", phi)
        object.__setattr__(self, "counts", cells)
        object.__setattr__(self, "axis", axis or Axis(phi.size, float(phi[0]), float(phi[-1])))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.counts.sum())

    @property
    def occupied(self) -> "Histogram":
        """The channels that hold cells."""
        held = self.counts > 0
        return Histogram(self.fluorescence[held], self.counts[held], axis=self.axis)

    @property
    def lowest(self) -> float:
        """The smallest fluorescence that a cell has: the default of `phi_min`."""
        return float(self.fluorescence[self.counts > 0][0])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Histogram)
            and np.array_equal(self.fluorescence, other.fluorescence)
            and np.array_equal(self.counts, other.counts)
            and self.axis == other.axis
        )

    def __hash__(self) -> int:
        return hash((self.fluorescence.tobytes(), self.counts.tobytes(), self.axis))

    def __repr__(self) -> str:
        return f"Histogram({self.cells:,} cells; {self.axis})"


def check_same_axis(initial: Histogram, observed: Histogram) -> None:
    """**Raises:** `ValueError` for axes that differ."""
    if not initial.axis.agrees(observed.axis):
        raise ValueError(
            f"the axes differ: the initial histogram has {initial.axis}, the observed one "
            f"{observed.axis} (export both on one scale, or give same_axis=False)"
        )


def _numbers(values: object, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"`{name}` has shape {array.shape} (give one number for each channel)")
    if array.dtype.kind not in "iuf":
        if array.size:
            raise ValueError(f"`{name}` holds {array.dtype} values (give numbers)")
        array = array.astype(np.float64)
    return array


def _problems(phi: np.ndarray, cells: np.ndarray) -> list[str]:
    found: list[tuple[int, str]] = []

    def tell(bad: np.ndarray, text: str) -> None:
        for i in np.flatnonzero(bad)[: _MAX_SHOWN * 2]:
            numbers = f"fluorescence {phi[i]:.10g}, count {cells[i]:.10g}"
            found.append((int(i), f"channel {i} ({numbers}): {text}"))

    positive = np.isfinite(phi) & (phi > 0)
    tell(~positive, "fluorescence is to be positive and finite (remove the row if it is empty)")
    integral = np.isfinite(cells)
    tell(~integral, "the count is not finite (write a number of cells)")
    whole = np.zeros_like(integral)
    whole[integral] = cells[integral] == np.floor(cells[integral])
    tell(integral & ~whole, "the count is not an integer (write whole cells)")
    tell(integral & (cells < 0), "negative count (write 0 or more cells)")
    tell(integral & (cells >= 2.0**53), "the count is too large (write fewer than 2^53 cells)")
    if phi.size > 1:
        step = np.diff(phi, prepend=-np.inf)
        tell(step == 0, "this fluorescence appears twice (add the counts, and keep one row)")
        tell(step < 0, "not in ascending order (sort the rows)")
    if not found and not np.any(cells > 0):
        return ["there are no cells (every count is 0)"]
    return [text for _, text in sorted(found, key=lambda item: item[0])]
