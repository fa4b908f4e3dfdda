"""Bins of fluorescence, and which of two rules says what goes into them."""

import abc
import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from .._text.warn import warn
from ..memory import Footprint, check_fits
from .model import ProliferationModel


#: The bin of what is dropped.
NO_BIN = -1


class BinRule(enum.Enum):
    """What becomes of values outside the bins.

    - `CALIBRATION`: all that is not above the first edge goes into the first bin; cells above the
      last edge are an error.
    - `DISPLAY`: values below `lowest`, or below `phi_min`, are dropped; those above the last edge
      too, with a warning.
    """

    CALIBRATION = "calibration"
    DISPLAY = "display"


class CellsDropped(UserWarning):
    """Cells above the last edge were dropped."""


class AbstractBins(abc.ABC):
    """Bins of fluorescence by their upper edges: a value goes into the first bin whose edge it is
    not above."""

    lowest: float
    num: int

    @property
    @abc.abstractmethod
    def edges(self) -> Float[np.ndarray, " bins"]:
        """The upper edges."""

    def of(self, values: Float[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """Find the bin of each value.

        **Arguments:**

        - `values`: `(*shape,)` fluorescences.

        **Returns:** `(*shape,)` numbers of bins; `num` for values above the last edge.
        """
        return np.searchsorted(self.edges, values, side="left")

    def count(
        self,
        values: Float[np.ndarray, " values"],
        counts: Float[np.ndarray, " values"] | Int[np.ndarray, " values"],
        *,
        rule: BinRule = BinRule.CALIBRATION,
        phi_min: float | None = None,
    ) -> Float[np.ndarray, " bins"]:
        """Count the cells of each bin.

        **Arguments:**

        - `values`: `(values,)` fluorescences.
        - `counts`: `(values,)` cells of each.
        - `rule`: what happens to values outside the bins.
        - `phi_min`: the threshold below which `BinRule.DISPLAY` drops values, besides `lowest`.

        **Returns:** `(bins,)` sums of cells.

        **Raises:** `ValueError` for cells above the last edge, with `BinRule.CALIBRATION`.
        """
        index = self.placed(values, counts, rule=rule, phi_min=phi_min)
        is_in = index != NO_BIN
        return np.bincount(index[is_in], np.asarray(counts)[is_in], self.num)

    def placed(
        self,
        values: Float[np.ndarray, " values"],
        counts: Float[np.ndarray, " values"] | Int[np.ndarray, " values"],
        *,
        rule: BinRule = BinRule.CALIBRATION,
        phi_min: float | None = None,
    ) -> Int[np.ndarray, " values"]:
        """Find the bin of each value, or `NO_BIN` where it is dropped.

        **Arguments:**

        - `values`, `counts`, `rule`, `phi_min`: as in `count`.

        **Returns:** `(values,)` numbers of bins.

        **Raises:** `ValueError` for cells above the last edge, with `BinRule.CALIBRATION`.
        """
        values, counts = np.asarray(values), np.asarray(counts)
        index = self.of(values)
        above = index == self.num
        if np.any(above & (counts > 0)):
            text = (
                f"{counts[above].sum():,.10g} of {counts.sum():,.10g} cells are above the last "
                f"edge, {self.edges[-1]:g} (give Bins with a higher `highest`; is the histogram on "
                "another scale?)"
            )
            if rule is BinRule.CALIBRATION:
                raise ValueError(text)
            warn(CellsDropped(text))
        if rule is BinRule.DISPLAY:
            above = above | (values < max(self.lowest, phi_min or 0.0))
        return np.where(above, NO_BIN, index)


@dataclass(frozen=True)
class Bins(AbstractBins):
    """Bins of equal width in the logarithm of the fluorescence.

    The `num` upper edges go from the power of ten not below `lowest` to that not below `highest`.
    (ProCell's bins: a `lowest` of 11 would begin at 100, so use powers of ten.)
    """

    lowest: float = 10.0
    highest: float = 1e4
    num: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.lowest < self.highest or not math.isfinite(self.highest):
            raise ValueError(
                f"bins from {self.lowest:g} to {self.highest:g} (give two positive numbers in "
                "order, such as 10 and 10,000)"
            )
        if self.num < 2:
            raise ValueError(f"`num` is {self.num} (give 2 or more bins)")

    @property
    def edges(self) -> Float[np.ndarray, " bins"]:
        """The upper edges."""
        check_bins(self.num, lambda num: 4 * 8 * num)  # of `logspace`
        low, high = (math.ceil(math.log10(x)) for x in (self.lowest, self.highest))
        return np.logspace(low, high, self.num)


@dataclass(frozen=True)
class ChannelBins(AbstractBins):
    """Bins of equally many channels of an instrument, whose upper edges lie between channels, so
    that neither of two neighbouring bins holds more cells only because it holds more channels.

    **Arguments:**

    - `upper_edges`: ascending, see `of_channels`.
    """

    upper_edges: tuple[float, ...]
    lowest: float = field(init=False)
    num: int = field(init=False)

    def __post_init__(self) -> None:
        if not self.upper_edges:
            raise ValueError("`upper_edges` is empty. Pass the upper edge of each bin.")
        object.__setattr__(self, "lowest", self.upper_edges[0])
        object.__setattr__(self, "num", len(self.upper_edges))

    @classmethod
    def of_channels(
        cls,
        fluorescence: Float[np.ndarray, " channels"],
        *,
        lowest: float,
        max_bins: int = 100,
    ) -> "ChannelBins":
        """The bins of measured channels.

        **Arguments:**

        - `fluorescence`: `(channels,)`, positive and ascending.
        - `lowest`: below the channels, bins of the ratio of the lowest two edges go on down to this
          fluorescence, for cells that divided.
        - `max_bins`: as many channels are put into each bin as this number of bins needs.
        """
        phi = np.log(fluorescence)
        step = float(np.diff(phi[-2:])[0]) if len(phi) > 1 else math.log(2)
        per_bin = -(-len(phi) // max_bins)
        between = np.append((phi[1:] + phi[:-1]) / 2, phi[-1] + step / 2)
        upper = between[::-per_bin][::-1]
        width = float(upper[1] - upper[0]) if len(upper) > 1 else step * per_bin
        depth = float(upper[0]) - min(math.log(lowest), float(phi[0]) - step / 2)
        num_below = min(math.ceil(depth / width), max_bins)
        below = upper[0] - max(width, depth / num_below) * np.arange(num_below, 0, -1)
        return cls(tuple(np.exp(np.concatenate([below, upper])).tolist()))

    @property
    def edges(self) -> Float[np.ndarray, " bins"]:
        """The upper edges."""
        return np.asarray(self.upper_edges)


def check_bins(num: int, num_bytes: Callable[[int], int]) -> None:
    """**Raises:** `NotEnoughMemory` for bins whose arrays do not fit in memory."""
    fewer = "give up to {:,} bins"
    check_fits(lambda num: Footprint(0, num_bytes(num)), num, f"{num:,} bins need", fewer)


def bins_of_model(
    model: ProliferationModel,
    bins: AbstractBins,
    *,
    rule: BinRule = BinRule.CALIBRATION,
    phi_min: float | None = None,
) -> Int[np.ndarray, "channels generations"]:
    """The bin of phi / 2^k of each occupied channel and generation that it can have, else
    `NO_BIN`. `phi_min` is by default the model's."""
    held = model.initial.occupied
    k = np.arange(model.generations)
    values = np.ldexp(held.fluorescence[:, None], -k[None, :])
    is_there = k[None, :] <= model.max_divisions[model.initial.counts > 0][:, None]
    phi_min = model.threshold if phi_min is None else phi_min
    flat = bins.placed(
        values.ravel(), (held.counts[:, None] * is_there).ravel(), rule=rule, phi_min=phi_min
    )
    return np.where(is_there, flat.reshape(values.shape), NO_BIN)
