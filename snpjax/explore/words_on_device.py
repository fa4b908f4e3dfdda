"""The words of configurations on the device, where the set finds them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, UInt32

from ..machine import Enumerable
from .memory_limits import Budget
from .packing import Packing
from .search import ChunkNumbers, Made, Outcome, put, rows
from .search_memory import parts
from .space import GrowingSet, first_packing, packed, written
from .stored import OneStore
from .table import filled


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

    def finish(self) -> None:
        """Words are compared when they are put in."""

    def stored(self) -> OneStore:
        return OneStore(self.found.space.store)
