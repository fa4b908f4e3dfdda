"""Words of configurations in main memory or a file; the device knows them by fingerprints."""

from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt32

from snpjax_formats import device_array

from ..machine import Enumerable
from .extent import Extent, next_extent
from .fingerprints import NUM_WORDS, fingerprints_of, put_fingerprints
from .host_arrays import HostArray, own_rows
from .memory_limits import Budget
from .packing import Packing
from .search import ChunkNumbers, Made, Outcome, StateSpace
from .search_memory import SearchMemory, padded_words, parts
from .space import GrowingSet, first_packing, packed, written
from .stored import HostStore
from .table import empty_table, filled


# Words of successors that wait to be compared with those of the configurations for which they are
# taken: this many bytes, or this part of the memory for arrays of the host.
_MOST_WAITING, _PART_WAITING = 2**28, 4
_COMPARED = 2**16  # configurations at once
_FINGERPRINTED = 2**16


class SameFingerprint(Exception):
    """Two configurations have the same fingerprint, so that another hash is needed."""


@dataclass
class _Waiting:
    """Successors that are known by their fingerprints, and the configurations that they are."""

    words: list[UInt32[np.ndarray, "_some words"]] = field(default_factory=list)
    numbers: list[Int[np.ndarray, " _some"]] = field(default_factory=list)
    num_bytes: int = 0

    def append(
        self, words: UInt32[np.ndarray, "some words"], numbers: Int[np.ndarray, " some"]
    ) -> None:
        self.words.append(words)
        self.numbers.append(numbers)
        self.num_bytes += words.nbytes


@dataclass
class WordsOnHost:
    """See `SearchMemory`: the rows of the set are fingerprints.

    - `seed`: which hash makes them.
    - `is_exact`: compare words wherever fingerprints are the same.
    """

    packing: Packing
    found: GrowingSet
    words: HostArray
    seed: int
    is_exact: bool
    waiting: _Waiting = field(default_factory=_Waiting)

    @classmethod
    def first(
        cls,
        machine: Enumerable,
        chunk: int,
        budget: Budget,
        most: int,
        *,
        seed: int,
        is_exact: bool,
    ) -> "WordsOnHost":
        """The initial configuration."""
        budget.begin_to_spill(0)
        packing, fields = first_packing(machine)
        row = np.asarray(packed(packing, fields))
        words = budget.host.array(np.uint32, packing.num_words)
        words.append(row)
        own = np.asarray(fingerprints_of(device_array(row.T), np.uint32(seed)))
        found = GrowingSet.first(own, chunk, budget, most)
        return cls(packing, found, words, seed, is_exact)

    @classmethod
    def of(
        cls,
        packing: Packing,
        words: HostArray,
        chunk: int,
        budget: Budget,
        most: int,
        *,
        seed: int,
        is_exact: bool,
    ) -> "WordsOnHost":
        """These words. **Raises:** what `fill` does."""
        budget.begin_to_spill(0)
        num = len(words)
        found = GrowingSet(_without_set(num), budget, most, num)
        memory = cls(packing, found, words, seed, is_exact)
        memory.fill(chunk, budget.free(0))
        return memory

    @classmethod
    def copied(cls, other: SearchMemory, packing: Packing, *, seed: int) -> "WordsOnHost":
        """The words of another memory, which is to be let go of before `fill` is called.

        **Raises:** `OSError` if there is no room for files.
        """
        found = other.found
        budget, num = found.budget, found.most_num
        budget.begin_to_spill(found.extent.num_bytes)
        words = _repacked(other, packing)
        set_of_prints = GrowingSet(_without_set(num), budget, found.most, num)
        return cls(packing, set_of_prints, words, seed, is_exact=True)

    def block(self, low: int, size: int) -> UInt32[Array, "words block"]:
        return padded_words(self.words.block(low, low + size), size)

    def put(self, made: Made, most: int, *, takes_overflow: bool) -> Outcome:
        found = self.found
        given = made, np.uint32(self.seed), np.int32(most), np.bool_(takes_overflow)
        found.space, outcome = put_fingerprints(found.space, *given)
        wanted = (made.words, made.num_good, outcome.targets)
        for x in wanted[: 3 if self.is_exact else 1]:
            x.copy_to_host_async()
        return outcome

    def keep(self, made: Made, outcome: Outcome, numbers: ChunkNumbers) -> None:
        words = np.asarray(made.words)
        is_new = np.unpackbits(np.asarray(outcome.is_new), count=len(words)).view(bool)
        num_new, known = numbers.num_new, None
        if is_new[:num_new].all():
            new = own_rows(words, num_new)
        else:
            new = words[np.flatnonzero(is_new)[:num_new]]
        if self.is_exact:
            at = np.flatnonzero(~is_new[: int(made.num_good)])
            targets = np.asarray(outcome.targets)[at]
            is_kept = targets < len(self.words) + num_new  # others are beyond a limit
            known = words[at[is_kept]], targets[is_kept]
        # From here on nothing fails.
        self.words.append(new)
        if known is not None:
            self.waiting.append(*known)

    def settle(self) -> None:
        if self.waiting.num_bytes > self._most_waiting:
            self.finish()
        self.found.budget.host.settle()

    @property
    def _most_waiting(self) -> int:
        limit = self.found.budget.host.limit
        return _MOST_WAITING if limit is None else min(limit // _PART_WAITING, _MOST_WAITING)

    def finish(self) -> None:
        """Compare what waits. **Raises:** `SameFingerprint`."""
        if not self.waiting.numbers:
            return
        try:
            together = [[np.concatenate(x)] for x in (self.waiting.numbers, self.waiting.words)]
        except MemoryError:
            together = [self.waiting.numbers, self.waiting.words]
        for numbers, words in zip(*together, strict=True):
            order = np.argsort(numbers, kind="stable")  # so that a file is read from its beginning
            for start in range(0, len(order), _COMPARED):
                at = order[start : start + _COMPARED]
                if not np.array_equal(self.words.take(numbers[at]), words[at]):
                    raise SameFingerprint
        self.waiting = _Waiting()

    def repack(self, packing: Packing, chunk: int) -> bool:
        self.finish()
        words = _repacked(self, packing)
        self.found.budget.host.remove(self.words)
        self.packing, self.words = packing, words
        free, now = self.found.free(), self.found.extent
        self.fill(chunk, None if free is None else free + now.num_bytes)
        return True

    def grow(self, chunk: int) -> bool:
        """Make room for a chunk more where the set cannot be copied to a larger one, by making all
        fingerprints again; whether there is memory. **Raises:** what `fill` does."""
        free, now = self.found.free(), self.found.extent
        total = None if free is None else free + now.num_bytes
        extent = self._extent(chunk, total)
        if extent is None or extent.capacity + extent.places <= now.capacity + now.places:
            return False
        self.fill(chunk, total)
        return True

    def fill(self, chunk: int, free: int | None) -> None:
        """Make the fingerprints of all words.

        **Arguments:**

        - `free`: the bytes that the set may take on the device, if that is known.

        **Raises:** `SameFingerprint`; `MemoryError` if they are not enough.
        """
        found, num = self.found, self.found.most_num
        extent = self._extent(chunk, free)
        if extent is None:
            raise MemoryError
        found.space = _without_set(num)
        store = filled((extent.capacity, NUM_WORDS), np.uint32(0))
        size = min(_FINGERPRINTED, extent.capacity)
        for start in range(0, num, size):
            at = min(start, extent.capacity - size)
            rows = fingerprints_of(self.block(at, size), np.uint32(self.seed))
            store = written(store, rows, np.int32(at))
        found.space = found.space._replace(store=store)
        found.fill_table(extent.places, chunk)
        if found.num_in_table() < num:
            raise SameFingerprint

    def _extent(self, chunk: int, free: int | None) -> Extent | None:
        none, wanted = Extent(0, 4 * NUM_WORDS, 0), self.found.most_num + chunk
        return next_extent(none, wanted, lambda: free, most=self.found.most)

    def rows(self, low: int, high: int) -> UInt32[np.ndarray, "some words"]:
        return self.words.block(low, high)

    def stored(self) -> HostStore:
        return HostStore(self.words)


def _without_set(num: int) -> StateSpace:
    """The space of that many configurations, which it does not know yet."""
    store = filled((1, NUM_WORDS), np.uint32(0))
    num_found = device_array(num, jnp.int32)
    return StateSpace(store, empty_table(1), num_found, device_array(False))


def _repacked(memory: SearchMemory, packing: Packing) -> HostArray:
    """All words on the host, packed in this way."""
    host, num = memory.found.budget.host, memory.found.most_num
    words = host.array(np.uint32, packing.num_words)
    try:
        for start, fields in parts(memory):
            words.append(own_rows(np.asarray(packed(packing, fields)), num - int(start)))
            host.settle()
    except BaseException:
        host.remove(words)
        raise
    return words
