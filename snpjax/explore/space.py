"""The memory of a search: arrays on the device that grow, and what is known of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt, UInt32

from snpjax_formats import device_array, free_bytes

from .._tiered import tiered
from ..machine import Enumerable
from .extent import FIRST_CAPACITY, Extent, next_extent, places_for
from .packing import Packing
from .search import StateSpace
from .table import empty_table, filled, first_table, insert


# Fields that are expected to stay below take bytes at first.
_SMALL = 2**7

# Configurations that are unpacked at once: all may not fit.
_PART, _GPU_PART = 2**13, 2**20


@dataclass
class Memory:
    """A space and its packing.

    - `most`: configurations there may ever be.
    - `most_num`: those there may be now, also while the device has not yet said how many.
    """

    packing: Packing
    space: StateSpace
    most: int
    most_num: int = 1

    @classmethod
    def first(cls, machine: Enumerable, chunk: int, most: int) -> "Memory":
        """The initial configuration."""
        packing, fields = first_packing(machine)
        store = filled((max(FIRST_CAPACITY, 4 * chunk), packing.num_words), np.uint32(0))
        words = packed(packing, fields)
        store = _written(store, words, np.int32(0))
        table = first_table(places_for(1 + chunk), np.asarray(words))
        num = device_array(1, jnp.int32)
        return cls(packing, StateSpace(store, table, num, device_array(False)), most)

    @property
    def capacity(self) -> int:
        return self.space.store.shape[0]

    @property
    def extent(self) -> Extent:
        return Extent(self.capacity, 4 * self.packing.num_words, len(self.space.table))

    def reserve(self, chunk: int) -> bool:
        """Make room for a chunk more; whether there is memory."""
        extent = next_extent(self.extent, self.most_num + chunk, free_bytes, most=self.most)
        if extent is None:
            return False
        if extent.capacity > self.capacity:
            store = _enlarged(self.space.store, capacity=extent.capacity)
            self.space = self.space._replace(store=store)
        if extent.places > len(self.space.table):
            self._fill_table(extent.places, chunk)
        return True

    def _fill_table(self, places: int, chunk: int) -> None:
        """A table of that size with all configurations."""
        self._take_table(empty_table(1))  # the old one goes before the new one comes
        table = empty_table(places)
        block = min(max(chunk, 2**12), self.capacity)
        for start in range(0, self.most_num, block):
            # The last block may lie over the end; those before it are found again.
            at = np.int32(min(start, self.capacity - block))
            table = _insert_rows(table, self.space.store, at, self.space.num, size=block)
        self._take_table(table)

    def _take_table(self, table: Int[Array, " places"]) -> None:
        self.space = self.space._replace(table=table)

    def repack(self, packing: Packing, chunk: int) -> bool:
        """Store the configurations in other words; whether there is memory."""
        free = free_bytes()
        if free is not None and 4 * packing.num_words * self.capacity > free:
            return False
        store = filled((self.capacity, packing.num_words), np.uint32(0))
        for start, fields in self._parts():
            store = _written(store, packed(packing, fields), start)
        self.packing = packing
        self.space = self.space._replace(store=store)
        self._fill_table(len(self.space.table), chunk)
        return True

    def go_on(self) -> None:
        """Take chunks again."""
        self.space = self.space._replace(is_stopped=device_array(False))

    def largest(self) -> UInt32[np.ndarray, " fields"]:
        """The largest value of every field, of all configurations."""
        most = [_largest(fields, start, self.space.num) for start, fields in self._parts()]
        return np.max([np.asarray(each) for each in most], axis=0).astype(np.uint32)

    def _parts(self) -> Iterator[tuple[np.int32, UInt[Array, "fields part"]]]:
        """The fields of all configurations, part after part; the last part may begin again in the
        one before it."""
        size = min(_PART if jax.default_backend() == "cpu" else _GPU_PART, self.capacity)
        for start in range(0, self.most_num, size):
            at = np.int32(min(start, self.capacity - size))
            yield at, _unpacked(self.packing, self.space.store, at, size=size)


def first_packing(machine: Enumerable) -> tuple[Packing, UInt[Array, "fields 1"]]:
    """The packing of the first configurations, and the fields of the initial one."""
    fields = _first_fields(machine)
    usual = machine.encoding.usual
    if usual is not None and max(np.asarray(usual).max(), np.asarray(fields).max()) < _SMALL:
        return Packing.uniform(len(fields), 8), fields
    return Packing.full_width(len(fields), machine.encoding.dtype), fields


@tiered()
def _first_fields(machine: Enumerable) -> UInt[Array, "fields 1"]:
    return machine.encode(machine.init())[:, None]


@tiered(donate_argnames=("table",), static_argnames=("size",))
def _insert_rows(
    table: Int[Array, " places"],
    store: UInt32[Array, "capacity words"],
    start: Int[Array, ""],
    num: Int[Array, ""],
    *,
    size: int,
) -> Int[Array, " places"]:
    words = lax.dynamic_slice_in_dim(store, start, size)
    return insert(table, store, words, start, start + jnp.arange(size) < num)[0]


@tiered(static_argnames=("size",))
def _unpacked(
    packing: Packing,
    store: UInt32[Array, "capacity words"],
    start: Int[Array, ""],
    *,
    size: int,
) -> UInt[Array, "fields part"]:
    return packing.unpack(lax.dynamic_slice_in_dim(store, start, size).T, packing.dtype)


@tiered()
def packed(packing: Packing, fields: UInt[Array, "fields part"]) -> UInt32[Array, "part words"]:
    return packing.pack(fields)[0].T


@tiered(static_argnames=("capacity",))
def _enlarged(
    store: UInt32[Array, "capacity words"], *, capacity: int
) -> UInt32[Array, "larger words"]:
    return jnp.pad(store, ((0, capacity - store.shape[0]), (0, 0)))


@tiered(donate_argnames=("store",))
def _written(
    store: UInt32[Array, "capacity words"],
    words: UInt32[Array, "part words"],
    start: Int[Array, ""],
) -> UInt32[Array, "capacity words"]:
    return lax.dynamic_update_slice_in_dim(store, words, start, 0)


@tiered()
def _largest(
    fields: UInt[Array, "fields part"], start: Int[Array, ""], num: Int[Array, ""]
) -> UInt[Array, " fields"]:
    is_one = start + jnp.arange(fields.shape[1]) < num
    return jnp.max(jnp.where(is_one, fields, 0), axis=1)
