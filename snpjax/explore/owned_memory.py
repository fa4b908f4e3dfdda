"""The words and tables of a search whose configurations are split over devices."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Int, UInt32

from ..scale.mesh import CONFIGURATIONS, placed, replicated
from .extent import (
    FIRST_CAPACITY,
    MAX_CONFIGURATIONS,
    Extent,
    grown,
    next_extent,
    places_for,
    rows_without_need,
)
from .memory_limits import usable_bytes
from .owners import (
    ALL,
    SPLIT,
    OwnedSet,
    enlarged,
    most_of,
    owner_of,
    program,
    repacked,
    table_of,
)
from .packing import Packing
from .search_memory import part_of, unpacked_rows
from .stored import OwnedStore


class OwnedMemory:
    """The configurations of all devices, and the packing of their words.

    - `own`: of each device.
    - `nums`: how many configurations each device has, in the first rows of its store.
    """

    def __init__(
        self,
        packing: Packing,
        words: UInt32[np.ndarray, "configurations words"],
        owners: Int[np.ndarray, " configurations"],
        mesh: Mesh,
        window: int,
        *,
        edges: bool,
    ) -> None:
        """With some configurations, which have these owners, and room for a window."""
        self.mesh = mesh
        self.devices = mesh.shape[CONFIGURATIONS]
        # Targets are numbers of 32 bits.
        self.most = min(MAX_CONFIGURATIONS, 2**32 // self.devices if edges else MAX_CONFIGURATIONS)
        # Of numbers, and of bits of those of all devices.
        self._beside = (4 if edges else 0) + -(-self.devices // 8)
        self.packing, self.packing_everywhere = packing, replicated(packing, mesh)
        self.nums = np.bincount(owners, minlength=self.devices).astype(np.int32)
        wanted = int(self.nums.max()) + window
        first, row = max(FIRST_CAPACITY // self.devices, 1), 4 * packing.num_words + self._beside
        usual = grown(first, wanted, row, devices=self.devices)
        capacity = max(min(usual, rows_without_need(row, self.devices)), wanted)
        at = owners.astype(np.int64) * capacity + rows_of(owners, self.devices)
        store = np.zeros((self.devices * capacity, packing.num_words), np.uint32)
        store[at] = words
        numbers = None
        if edges:
            numbers = np.zeros(self.devices * capacity, np.uint32)
            numbers[at] = np.arange(len(owners))
        no_table = np.zeros(self.devices, np.int32)
        own = OwnedSet(store, no_table, self._bits(owners, capacity), numbers)  # pyright: ignore
        split = NamedSharding(mesh, SPLIT)
        self.own: OwnedSet = placed(own, jax.tree.map(lambda _: split, own))
        self._fill_table(places_for(wanted, devices=self.devices))

    def _bits(
        self, owners: Int[np.ndarray, " configurations"], capacity: int
    ) -> UInt32[np.ndarray, " words"]:
        """Those of `OwnedSet`, of all devices."""
        bits = np.zeros((self.devices, 4 * self._words_of_bits(capacity)), np.uint8)
        for device, own in enumerate(bits):
            found = np.packbits(owners == device, bitorder="little")
            own[: len(found)] = found
        return bits.view("<u4").ravel()

    def _words_of_bits(self, capacity: int) -> int:
        return -(-self.devices * capacity // 32)

    @property
    def capacity(self) -> int:
        """Of each device."""
        return self.own.store.shape[0] // self.devices

    @property
    def num_places(self) -> int:
        return self.own.table.shape[0] // self.devices

    def reserve(self, more: int) -> bool:
        """Make room for that many more on each device; whether there is memory."""
        wanted = int(self.nums.max()) + more
        if wanted > self.most:
            return False
        row = 4 * self.packing.num_words + self._beside
        now = Extent(self.capacity, row, self.num_places)
        free = partial(usable_bytes, self.mesh)
        extent = next_extent(now, wanted, free, most=self.most, devices=self.devices)
        if extent is None:
            return False
        if extent.capacity > self.capacity:
            self._enlarge(extent.capacity)
        if extent.places > self.num_places:
            self._fill_table(extent.places)
        return True

    def _enlarge(self, capacity: int) -> None:
        """Room for that many on each device. If one allocation fails, the arrays already enlarged
        stay valid."""

        def larger(rows: Any, num: int) -> Any:
            return program(enlarged, self.mesh, (SPLIT,), SPLIT, capacity=num)(rows)

        own = self.own
        self.own = own._replace(bits=larger(own.bits, self._words_of_bits(capacity)))
        if own.numbers is not None:
            self.own = self.own._replace(numbers=larger(own.numbers, capacity))
        self.own = self.own._replace(store=larger(own.store, capacity))

    def rebuild_table(self) -> None:
        """Tables with all configurations and no others."""
        self._fill_table(self.num_places)

    def _fill_table(self, places: int) -> None:
        """Tables of that size with all configurations."""
        # The old ones go before the new ones come.
        empty = placed(jnp.zeros(self.devices, jnp.int32), NamedSharding(self.mesh, SPLIT))
        self.own = self.own._replace(table=empty)
        part = part_of(self.packing.num_fields, self.capacity)
        made = program(table_of, self.mesh, (SPLIT, ALL), SPLIT, places=places, part=part)
        self.own = self.own._replace(table=made(self.own.store, self.nums))

    def repack(self, packing: Packing) -> bool:
        """Store the configurations in other words; whether there is memory."""
        free = usable_bytes(self.mesh)
        if free is not None and 4 * packing.num_words * self.capacity > free:
            return False
        part = part_of(self.packing.num_fields, self.capacity)
        made = program(repacked, self.mesh, (SPLIT, ALL, ALL, ALL), SPLIT, part=part)
        new = replicated(packing, self.mesh)
        store = made(self.own.store, self.nums, self.packing_everywhere, new)
        self.packing, self.packing_everywhere = packing, new
        self.own = self.own._replace(store=store)
        self.rebuild_table()
        return True

    def stored(self) -> OwnedStore:
        """The words by number."""
        return OwnedStore(self.own.store, self.own.bits, self.mesh)

    def most_fields(self) -> UInt32[np.ndarray, " fields"]:
        """The largest value of every field, of all configurations."""
        part = part_of(self.packing.num_fields, self.capacity)
        made = program(most_of, self.mesh, (SPLIT, ALL, ALL), ALL, part=part)
        return np.asarray(made(self.own.store, self.nums, self.packing_everywhere))


def rows_of(
    owners: Int[np.ndarray, " configurations"], devices: int
) -> Int[np.ndarray, " configurations"]:
    """The rows of configurations on their owners, where they are in the order of their numbers."""
    rows = np.zeros(len(owners), np.int32)
    for device in range(devices):
        own = np.flatnonzero(owners == device)
        rows[own] = np.arange(len(own))
    return rows


def owners_of(
    packing: Packing, words: UInt32[np.ndarray, "configurations words"], devices: int
) -> Int[np.ndarray, " configurations"]:
    size = min(part_of(packing.num_fields), len(words))
    found = []
    for start in range(0, len(words), size):
        some = words[start : start + size]
        fields = unpacked_rows(packing, some, size)
        found.append(np.asarray(owner_of(fields, devices))[: len(some)])
    return np.concatenate(found)
