"""A set of configurations on the device, that grows."""

from dataclasses import dataclass

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt, UInt32

from snpjax_formats import device_array

from .._tiered import tiered
from ..machine import Enumerable
from .extent import FIRST_CAPACITY, Extent, next_extent, places_for, rows_without_need
from .memory_limits import Budget
from .packing import Packing
from .search import StateSpace
from .table import EMPTY, empty_table, filled, first_table, insert


# Fields that are expected to stay below take bytes at first.
_SMALL = 2**7


@dataclass
class GrowingSet:
    """The rows of configurations by number, and a table to find them.

    - `most`: configurations there may ever be.
    - `most_num`: those there may be now, also while the device has not yet said how many.
    """

    space: StateSpace
    budget: Budget
    most: int
    most_num: int = 1

    @classmethod
    def first(
        cls, row: UInt32[np.ndarray, "1 words"], chunk: int, budget: Budget, most: int
    ) -> "GrowingSet":
        """With the initial configuration alone."""
        num_words = row.shape[1]
        capacity = min(max(FIRST_CAPACITY, 4 * chunk), rows_without_need(4 * num_words))
        store = filled((max(capacity, 1 + chunk), num_words), np.uint32(0))
        store = written(store, device_array(row), np.int32(0))
        table = first_table(places_for(1 + chunk), row)
        num = device_array(1, jnp.int32)
        return cls(StateSpace(store, table, num, device_array(False)), budget, most)

    @classmethod
    def of(
        cls,
        store: UInt32[Array, "capacity words"],
        num: int,
        places: int,
        chunk: int,
        budget: Budget,
        most: int,
    ) -> "GrowingSet":
        """With the first `num` rows of a store, and a table of `places` places."""
        space = StateSpace(store, empty_table(1), device_array(num, jnp.int32), device_array(False))
        found = cls(space, budget, most, num)
        found.fill_table(places, chunk)
        return found

    @property
    def capacity(self) -> int:
        return self.space.store.shape[0]

    @property
    def extent(self) -> Extent:
        return Extent(self.capacity, 4 * self.space.store.shape[1], len(self.space.table))

    def free(self) -> int | None:
        """The bytes that may be taken beside those of these arrays, if that is known."""
        return self.budget.free(self.extent.num_bytes)

    def reserve(self, chunk: int) -> bool:
        """Make room for a chunk more; whether there is memory."""
        extent = next_extent(self.extent, self.most_num + chunk, self.free, most=self.most)
        if extent is None:
            return False
        if extent.capacity > self.capacity:
            store = _enlarged(self.space.store, capacity=extent.capacity)
            self.space = self.space._replace(store=store)
        if extent.places > len(self.space.table):
            self.fill_table(extent.places, chunk)
        return True

    def replace_store(self, store: UInt32[Array, "capacity words"], chunk: int) -> None:
        """Take other rows for the same configurations."""
        self.space = self.space._replace(store=store)
        self.fill_table(len(self.space.table), chunk)

    def fill_table(self, places: int, chunk: int) -> None:
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

    def num_in_table(self) -> int:
        """How many configurations the table tells apart."""
        return int(_occupied(self.space.table))

    def go_on(self) -> None:
        """Take chunks again."""
        self.space = self.space._replace(is_stopped=device_array(False))

    def is_alive(self) -> bool:
        """Whether the store can be read. What fails may take the arrays with it that it was to
        change."""
        try:
            jax.block_until_ready(self.space.store)
        except (RuntimeError, MemoryError):
            return False
        return not self.space.store.is_deleted()


def first_packing(machine: Enumerable) -> tuple[Packing, UInt[Array, "fields 1"]]:
    """The packing of the first configurations, and the fields of the initial one."""
    fields = _first_fields(machine)
    usual = machine.encoding.usual
    if usual is not None and max(np.asarray(usual).max(), np.asarray(fields).max()) < _SMALL:
        return Packing.uniform(len(fields), 8), fields
    return Packing.full_width(len(fields), machine.encoding.dtype), fields


@tiered()
def packed(packing: Packing, fields: UInt[Array, "fields part"]) -> UInt32[Array, "part words"]:
    return packing.pack(fields)[0].T


@tiered(donate_argnames=("store",))
def written(
    store: UInt32[Array, "capacity words"],
    rows: UInt32[Array, "part words"],
    start: Int[Array, ""],
) -> UInt32[Array, "capacity words"]:
    """The store with other rows from `start` on."""
    return lax.dynamic_update_slice_in_dim(store, rows, start, 0)


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


@tiered(static_argnames=("capacity",))
def _enlarged(
    store: UInt32[Array, "capacity words"], *, capacity: int
) -> UInt32[Array, "larger words"]:
    return jnp.pad(store, ((0, capacity - store.shape[0]), (0, 0)))


@tiered()
def _occupied(table: Int[Array, " places"]) -> Int[Array, ""]:
    return jnp.sum(table != EMPTY, dtype=jnp.int32)
