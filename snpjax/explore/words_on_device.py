"""The words of configurations on the device, where the set finds them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, UInt32

from snpjax_formats import device_array

from ..machine import Enumerable
from .extent import Extent, next_extent, rows_without_need
from .host_arrays import HostArray
from .memory_limits import Budget
from .packing import Packing
from .search import ChunkNumbers, Made, Outcome, put, rows
from .search_memory import part_of, parts
from .space import GrowingSet, first_packing, packed, written
from .stored import OneStore
from .table import filled


# Rows that are copied to the host at once, at least.
_COPIED = 2**17


@dataclass
class WordsOnDevice:
    """See `SearchMemory`: the rows of the set are the words."""

    packing: Packing
    found: GrowingSet

    @classmethod
    def first(cls, machine: Enumerable, chunk: int, budget: Budget, most: int) -> "WordsOnDevice":
        """The initial configuration."""
        packing, fields = first_packing(machine)
        row = np.asarray(packed(packing, fields))
        return cls(packing, GrowingSet.first(row, chunk, budget, most))

    @classmethod
    def of(
        cls, packing: Packing, words: HostArray, chunk: int, budget: Budget, most: int
    ) -> "WordsOnDevice | None":
        """These words, if there is memory for them on the device."""
        num = len(words)
        none = Extent(0, 4 * packing.num_words, 0)
        extent = next_extent(none, num + chunk, lambda: budget.free(0), most=most)
        if extent is None:
            return None
        store = filled((extent.capacity, packing.num_words), np.uint32(0))
        size = part_of(packing.num_fields, extent.capacity)
        for start in range(0, num, size):
            at = min(start, extent.capacity - size)
            rows = words.block(at, at + size)
            padded = np.zeros((size, packing.num_words), np.uint32)
            padded[: len(rows)] = rows
            store = written(store, device_array(padded), np.int32(at))
        return cls(packing, GrowingSet.of(store, num, extent.places, chunk, budget, most))

    def block(self, low: int, size: int) -> UInt32[Array, "words block"]:
        return rows(self.found.space.store, np.int32(low), size=size)

    def put(self, made: Made, most: int, *, takes_overflow: bool) -> Outcome:
        found = self.found
        given = made, np.int32(most), np.bool_(takes_overflow)
        found.space, outcome = put(found.space, *given)
        return outcome

    def keep(self, made: Made, outcome: Outcome, numbers: ChunkNumbers) -> None:
        del made, outcome, numbers  # the set has them

    def settle(self) -> None:
        self.found.budget.host.settle()

    def repack(self, packing: Packing, chunk: int) -> bool:
        capacity, free = self.found.capacity, self.found.free()
        if free is not None and 4 * packing.num_words * capacity > free:
            return False
        store = filled((capacity, packing.num_words), np.uint32(0))
        for start, fields in parts(self, capacity):
            store = written(store, packed(packing, fields), start)
        self.packing = packing
        self.found.replace_store(store, chunk)
        return True

    def rows(self, low: int, high: int) -> UInt32[np.ndarray, "some words"]:
        found = np.empty((high - low, self.packing.num_words), np.uint32)
        size = max(
            part_of(self.packing.num_fields),
            min(_COPIED, rows_without_need(4 * self.packing.num_words)),
        )
        for at in range(low, high, size):
            some = found[at - low : at - low + size]
            some[:] = np.asarray(self.block(at, size)).T[: len(some)]
        return found

    def finish(self) -> None:
        """Words are compared when they are put in."""

    def stored(self) -> OneStore:
        return OneStore(self.found.space.store)
