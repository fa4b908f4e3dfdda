"""What devices tell each other in a step, where each has some of the neurons."""

from typing import Any, TypeAlias

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer

from snpjax_formats.bits import packed_bits
from snpjax_formats.ell import expanded

from ...choice import AbstractChoice, ChooserRange, for_choosers
from .shapes import Counts, Flags


#: The emissions of all neurons.
Everywhere: TypeAlias = Integer[Array, "sources *paths"]

_WORD = 32

# A list has room for one in this many neurons.
_LISTED = 64
# Fewer bytes than these are not worth a list, for which devices first agree that it is long enough.
_LEAST_SAVED = 2**22


class Exchange(eqx.Module):
    """The exchange of emissions between equal parts of the neurons, one part a device along `axis`
    of a mesh; within `shard_map` only.

    Emissions are gathered as bits where `dtype` is bool, else as numbers of that type. Where fewer
    than one neuron in 64 of each part fires, the numbers of these are gathered instead, and what
    they emit, if that saves many bytes. Whether any neuron of a part is live travels with them.
    """

    axis: str = eqx.field(static=True)
    num_parts: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)

    def any(self, holds: Bool[Array, "*paths"]) -> Bool[Array, "*paths"]:
        """Whether it holds on any device."""
        return lax.pmax(holds.astype(jnp.int32), self.axis) > 0

    def first(self, first: Int[Array, "*paths"], size: int) -> Int[Array, "*paths"]:
        """The first neuron of all, from the first one of each part of `size` neurons, which is
        `size` where there is none; then the number of all neurons."""
        everywhere = jnp.where(first < size, first + self._start(size), size * self.num_parts)
        return lax.pmin(everywhere, self.axis)

    def of_first(self, own: Flags) -> Flags:
        """That of the first part."""
        is_first = lax.axis_index(self.axis) == 0
        return self.any(own & is_first)

    def part_of(self, choice: AbstractChoice, size: int) -> AbstractChoice:
        """The choice for the own neurons."""
        return for_choosers(choice, ChooserRange(self._start(size), size * self.num_parts), size)

    def gathered(
        self, emissions: Counts, is_live: Bool[Array, "*paths"]
    ) -> tuple[Everywhere, Bool[Array, "*paths"]]:
        """The emissions of all neurons, and whether any neuron is live."""
        if not self.may_list(emissions.size):
            return self._as_table(emissions, is_live)
        count = jnp.sum(emissions != 0, dtype=jnp.int32)
        fits = lax.pmax(count, self.axis) <= _room(emissions.size)
        return lax.cond(fits, self._as_list, self._as_table, emissions, is_live)

    def nbytes(self, num_cells: int, num_paths: int = 1) -> dict[str, int]:
        """The bytes that every device has received after one step, its own among them, as a table
        and as a list; `num_cells` are the emissions of a part, those of all paths."""
        table = num_cells // 8 if self._is_bits else num_cells * self.dtype.itemsize
        listed = _room(num_cells) * (_number_type(num_cells).itemsize + self._listed_bytes)
        flag = 4 if self._is_bits else self.dtype.itemsize
        flags = num_paths * np.asarray([flag, _number_type(num_cells).itemsize])
        table, listed = (self.num_parts * (np.asarray([table, listed]) + flags)).tolist()
        return {"table": table, "list": listed}

    @property
    def _is_bits(self) -> bool:
        return self.dtype == bool

    @property
    def _listed_bytes(self) -> int:
        """Bytes of what a neuron in a list emits: those that emit bits all emit 1."""
        return 0 if self._is_bits else self.dtype.itemsize

    def may_list(self, num_cells: int) -> bool:
        nbytes = self.nbytes(num_cells)
        return nbytes["table"] - nbytes["list"] >= _LEAST_SAVED

    def _as_table(
        self, emissions: Counts, is_live: Bool[Array, "*paths"]
    ) -> tuple[Everywhere, Bool[Array, "*paths"]]:
        """What every neuron emits, one after another."""
        cells = emissions.astype(jnp.uint32 if self._is_bits else self.dtype)
        if self._is_bits:
            cells = packed_bits(cells, len(cells) // _WORD)
        parts, is_live = self._with_flags(jnp.ravel(cells), is_live)
        shape = len(emissions) * self.num_parts, *emissions.shape[1:]
        if not self._is_bits:
            return parts.reshape(shape), is_live
        words = parts.reshape(shape[0] // _WORD, 1, *shape[1:])
        place = expanded(jnp.arange(_WORD, dtype=jnp.uint32), words.ndim - 1)[None]
        return (words >> place & 1).astype(jnp.int8).reshape(shape), is_live

    def _as_list(
        self, emissions: Counts, is_live: Bool[Array, "*paths"]
    ) -> tuple[Everywhere, Bool[Array, "*paths"]]:
        """The numbers of those that emit something."""
        cells = jnp.ravel(emissions)
        room, number_type = _room(cells.size), _number_type(cells.size)
        number = jnp.nonzero(cells, size=room, fill_value=cells.size)[0]
        numbers, is_live = self._with_flags(number.astype(number_type), is_live)
        if self._is_bits:
            sent = jnp.ones(numbers.shape, jnp.int8)
        else:
            own = cells.at[number].get(mode="fill", fill_value=0).astype(self.dtype)
            sent = lax.all_gather(own, self.axis)
        part = jnp.arange(self.num_parts, dtype=jnp.int32)[:, None]
        table = jnp.zeros((self.num_parts, cells.size), sent.dtype)
        table = table.at[part, numbers.astype(jnp.int32)].set(sent, mode="drop")
        return table.reshape(-1, *emissions.shape[1:]), is_live

    def _with_flags(
        self, cells: Integer[Array, " cells"], is_live: Bool[Array, "*paths"]
    ) -> tuple[Integer[Array, "parts cells"], Bool[Array, "*paths"]]:
        """The cells of all parts, and whether any of them is live."""
        flags = jnp.ravel(is_live).astype(cells.dtype)
        parts = lax.all_gather(jnp.concatenate([cells, flags]), self.axis)
        is_live = jnp.any(parts[:, cells.size :] != 0, axis=0).reshape(is_live.shape)
        return parts[:, : cells.size], is_live

    def _start(self, size: int) -> Int[Array, ""]:
        """The first of the own neurons, of which there are `size`."""
        return lax.axis_index(self.axis).astype(jnp.int32) * size


def exchanged_type(most: int, dtype: np.dtype) -> np.dtype:
    """The type in which emissions of 0 to `most` travel, which are counted in `dtype`."""
    types: tuple[Any, ...] = (bool, np.uint8, np.uint16, np.uint32)
    largest = (1, *(np.iinfo(t).max for t in types[1:]))
    fits = (np.dtype(t) for t, x in zip(types, largest, strict=True) if most <= x)
    return next(fits, dtype)


def _room(num_cells: int) -> int:
    return num_cells // _LISTED


def _number_type(num_cells: int) -> np.dtype:
    """Of the number of a cell, and of one more."""
    return np.dtype(np.uint16 if num_cells < 2**16 else np.uint32)
