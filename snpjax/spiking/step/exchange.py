"""What devices tell each other in a step, where each has some of the neurons."""

from typing import Any

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer

from snpjax_formats.bits import packed_bits
from snpjax_formats.ell import expanded

from ...choice import AbstractChoice, ChooserRange, for_choosers
from .shapes import Counts


_WORD = 32


class Exchange(eqx.Module):
    """The exchange of emissions between equal parts of the neurons, one part a device along `axis`
    of a mesh; within `shard_map` only.

    Emissions are gathered in the least type that holds `most`: one bit each where it is 1. `None`
    is unbounded, or may be negative. Whether any neuron of a part is live travels with them.
    """

    axis: str = eqx.field(static=True)
    num_parts: int = eqx.field(static=True)
    most: int | None = eqx.field(static=True)

    def any(self, holds: Bool[Array, "*paths"]) -> Bool[Array, "*paths"]:
        """Whether it holds on any device."""
        return lax.pmax(holds.astype(jnp.int32), self.axis) > 0

    def first(self, first: Int[Array, "*paths"], size: int) -> Int[Array, "*paths"]:
        """The first neuron of all, from the first one of each part of `size` neurons, which is
        `size` where there is none; then the number of all neurons."""
        everywhere = jnp.where(first < size, first + self._start(size), size * self.num_parts)
        return lax.pmin(everywhere, self.axis)

    def part_of(self, choice: AbstractChoice, size: int) -> AbstractChoice:
        """The choice for the own neurons."""
        return for_choosers(choice, ChooserRange(self._start(size), size * self.num_parts), size)

    def gathered(
        self, emissions: Counts, is_live: Bool[Array, "*paths"]
    ) -> tuple[Integer[Array, "sources *paths"], Bool[Array, "*paths"]]:
        """The emissions of all neurons, and whether any neuron is live."""
        cells = self._packed(emissions)
        flags = jnp.ravel(is_live).astype(cells.dtype)
        parts = lax.all_gather(jnp.concatenate([jnp.ravel(cells), flags]), self.axis)
        is_live = jnp.any(parts[:, cells.size :] != 0, axis=0).reshape(is_live.shape)
        shape = len(emissions) * self.num_parts, *emissions.shape[1:]
        return self._unpacked(parts[:, : cells.size], shape), is_live

    def _packed(self, emissions: Counts) -> Integer[Array, "cells *paths"]:
        if self.most == 1:
            return packed_bits(emissions.astype(jnp.uint32), len(emissions) // _WORD)
        return emissions.astype(self._dtype(emissions.dtype))

    def _unpacked(
        self, cells: Integer[Array, "parts cells"], shape: tuple[int, ...]
    ) -> Integer[Array, "sources *paths"]:
        if self.most != 1:
            return cells.reshape(shape)
        words = cells.reshape(shape[0] // _WORD, 1, *shape[1:])
        place = expanded(jnp.arange(_WORD, dtype=jnp.uint32), words.ndim - 1)[None]
        return (words >> place & 1).astype(jnp.int8).reshape(shape)

    def _dtype(self, dtype: Any) -> np.dtype:
        """The type in which emissions travel."""
        if self.most is None:
            return np.dtype(dtype)
        types = map(np.dtype, (np.uint8, np.uint16, np.uint32))
        return next((t for t in types if self.most <= np.iinfo(t).max), np.dtype(dtype))

    def _start(self, size: int) -> Int[Array, ""]:
        """The first of the own neurons, of which there are `size`."""
        return lax.axis_index(self.axis).astype(jnp.int32) * size
