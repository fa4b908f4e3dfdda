"""The driver of a search whose configurations are split over devices."""

from collections.abc import Callable
from typing import Generic, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, UInt8, UInt32

from ..machine import ConfigurationsT, StepsT
from ..scale.mesh import CONFIGURATIONS, replicated
from .failures import Lost, is_out_of_memory
from .graph import Graph, Stop, Traffic
from .memory_limits import Budget, MemoryLimits
from .owned_memory import OwnedMemory, owners_of, rows_of
from .owners import (
    ALL,
    SPLIT,
    SPLIT_LAST,
    OwnedBlock,
    OwnedNumbers,
    OwnedPart,
    Sizes,
    begin_chunk,
    end_chunk,
    exchange,
    frontier,
    largest,
    make,
    program,
)
from .record import SearchRecord
from .saved_search import SavedSearch
from .search import MAX_CHOICES, NO_ONE
from .search_limits import SearchLimits
from .search_memory import part_of
from .searched import SearchedModel, fitting
from .space import first_packing, packed
from .stored import OwnedStore


_BLOCK = OwnedBlock(SPLIT_LAST, SPLIT, SPLIT, SPLIT)  # pyright: ignore[reportArgumentType]


class _Block(NamedTuple):
    """Neighbouring configurations whose successors are to be made.

    - `counts`: the choices of each; `num_choices`: of all.
    - `of_devices`: the choices of those of each device; `None` for a block that was cut.
    """

    low: int
    owned: OwnedBlock
    counts: Int[np.ndarray, " block"]
    num_choices: int
    of_devices: Int[np.ndarray, " devices"] | None

    @property
    def ends(self) -> Int[np.ndarray, " block"]:
        """The choices of all up to each."""
        return np.cumsum(self.counts, dtype=np.int64)

    def part(self, base: int, end: int) -> OwnedPart:
        """Choices from `base` to `end`."""
        numbers = (np.int32(x) for x in (len(self.counts), base, end))
        return OwnedPart(*numbers)  # pyright: ignore[reportArgumentType]

    def parent(self, position: int) -> int:
        """The configuration whose choice this is."""
        return self.low + int(np.searchsorted(self.ends, position, side="right"))


class _Found(NamedTuple):
    """What a part of a block, with `num` choices, brings, see `end_chunk`. It may still be made."""

    num: int
    sizes: Sizes
    planes: UInt8[Array, "planes bytes"]
    codes: UInt32[Array, " chunk"] | None
    nums: Int[Array, " devices"]
    numbers: Int[Array, " numbers"]


class ShardedSearch(Generic[ConfigurationsT, StepsT]):
    """A search that finds what a search on one device does, in the same order.

    The words are on the devices; every process has the rest.
    """

    def __init__(
        self,
        model: SearchedModel[ConfigurationsT, StepsT],
        mesh: Mesh,
        limits: SearchLimits,
        progress: Callable[[int, int], None],
        saved: SavedSearch,
    ) -> None:
        self.model = model
        self.mesh = mesh
        self.saved = saved
        self.most, self.edges = limits.most, limits.edges
        self.progress = progress
        self.devices = mesh.shape[CONFIGURATIONS]
        host = Budget(MemoryLimits()).host
        if saved.restored is None:
            packing, fields = first_packing(model.machine)
            words = np.asarray(packed(packing, fields))
        else:
            model.lower(saved.restored.at_least)
            packing, found = saved.restored.words(host)
            words = found.block(0, len(found))
            host.remove(found)
        owners = owners_of(packing, words, self.devices)
        window = Sizes.of(model.given_sizes[0], self.devices).window
        self.memory = OwnedMemory(packing, words, owners, mesh, window, edges=self.edges)
        self._take_machine()
        self.record = SearchRecord(host, edges=self.edges, most=self.most)
        saved.begin(self.record)
        self.owners = _Growing(np.dtype(np.uint8 if self.devices < 2**8 else np.uint16))
        self.numbers = [_Growing(np.dtype(np.int64)) for _ in range(self.devices)]
        self._number(0, owners)
        self._base = self.record.followed()[1]  # the first choice, if a search goes on
        # Of each device, the first row that is not expanded.
        self.rows = self._count(owners[: self.record.num_expanded])
        self.bytes_exchanged = self.bytes_combined = 0
        self.found: _Found | None = None  # what is not kept yet

    def _take_machine(self) -> None:
        given = (self.model.machine, self.model.choosers)
        self.machine, self.choosers = replicated(given, self.mesh)

    def run(self, max_depth: int | None) -> None:
        """Level by level. **Raises:** `Lost`."""
        try:
            self._levels(max_depth)
        except Exception as error:
            # Other processes cannot know it; they end when this one is lost.
            if not is_out_of_memory(error) or jax.process_count() > 1:
                raise
            self._end_short()

    def save(self, *, has_ended: bool) -> None:
        """Write a checkpoint."""
        given = self.record, self.memory.packing, self._words, self.model.at_least
        self.saved.save(*given, has_ended=has_ended)

    def _words(self, low: int, high: int) -> UInt32[np.ndarray, "some words"]:
        """The words of configurations from `low` to `high`, in the order of their numbers."""
        owners = self.owners.array[:high]
        rows = rows_of(owners, self.devices)[low:]
        store = OwnedStore(self.memory.store, owners[low:], rows, self.mesh)
        found = np.empty((high - low, self.memory.packing.num_words), np.uint32)
        size = part_of()
        for start in range(0, high - low, size):
            some = found[start : start + size]
            numbers = np.minimum(np.arange(start, start + size), high - low - 1)
            some[:] = np.asarray(store.of(numbers)).T[: len(some)]
        return found

    def _end_short(self) -> None:
        """End for want of memory with what has been found. **Raises:** `Lost`."""
        try:
            self._keep()
            jax.block_until_ready(self.memory.store)
        except (RuntimeError, MemoryError):
            raise Lost(self.record.num) from None
        self.memory.nums = self._count(self.owners.array)
        self.record.end(Stop.OUT_OF_MEMORY, self.record.followed()[0])

    def _levels(self, max_depth: int | None) -> None:
        starts = self.record.depth_starts
        while starts[-2] < starts[-1] and self.record.stop is Stop.COMPLETE:
            is_last = max_depth is not None and len(starts) - 2 >= max_depth
            # A level may have been saved in its middle.
            low, high = max(self.record.num_expanded, starts[-2]), starts[-1]
            if is_last:
                if self._has_choices(low, high):
                    self.record.end(Stop.MAX_DEPTH, starts[-2])
                return
            self._expand(low, high)
            self._keep()
            if self.record.num == starts[-1] or self.record.stop is not Stop.COMPLETE:
                return
            starts.append(self.record.num)

    def _has_choices(self, low: int, high: int) -> bool:
        """Whether some configurations have choices; where they have none they are expanded."""
        while low < high:
            block, is_too_much = self._block(low, high, self._sizes(high - low))
            if is_too_much or block.num_choices:
                return True
            low = self._expanded(block)
        return False

    def _expand(self, low: int, high: int) -> None:
        """Expand the configurations of a level."""
        while low < high:
            sizes = self._sizes(high - low)
            block, is_too_much = self._block(low, high, sizes)
            self._expand_block(block, sizes)
            if self.record.stop is not Stop.COMPLETE:
                return
            low = self._expanded(block)
            if is_too_much:
                return self.record.end(Stop.TOO_MANY_CHOICES, low)

    def _expand_block(self, block: _Block, sizes: Sizes) -> None:
        """Expand the configurations of a block, which was made with these sizes."""
        base, total, most = self._base, block.num_choices, MAX_CHOICES
        self._base = 0
        failure, own = None, sizes
        while base < total:
            sizes = self._sizes(total - base, at_least=own.chunk)
            if self.model.is_to_be_tightened(int(self.memory.nums.sum()), sizes.chunk):
                self._tighten(sizes)
                block = self._packed_again(block, own)
            if not self.memory.reserve(sizes.window):
                return self.record.end(Stop.OUT_OF_MEMORY, block.parent(base))
            end = min(base + min(most, sizes.chunk), total)
            part = block.part(base, end)
            found = self._put(block, part, sizes)
            self._keep()  # what came before, meanwhile
            if self.saved.is_due(self.record, self.memory.packing):
                self.save(has_ended=False)
            numbers = self._numbers_when_made(found)
            if not numbers.fits or (numbers.overflows and self.model.encoding.wider is not None):
                if not self._widen(block, part, sizes, numbers):
                    return self.record.end(Stop.OUT_OF_MEMORY, block.parent(base))
                block = self._packed_again(block, own)
            elif numbers.full:
                most = (end - base) // 2
                self.memory.rebuild_table()
            elif numbers.failed < NO_ONE:  # so what comes before is put in without it
                total = base + numbers.failed
                stop = self.model.stop_of_failure(overflows=bool(numbers.overflows))
                failure = stop, block.parent(total)
                self.memory.rebuild_table()
            else:
                self.memory.nums = np.asarray(found.nums)
                self.found = found
                if int(self.memory.nums.sum()) > self.most:
                    left_out = self._keep()
                    assert left_out is not None
                    parent = block.parent(base + left_out)
                    return self.record.end(Stop.MAX_CONFIGURATIONS, parent)
                base, most = end, MAX_CHOICES
        if failure is not None:
            self.record.end(*failure)

    def _sizes(self, wanted: int, at_least: int = 1) -> Sizes:
        num, at_least = int(self.memory.nums.sum()), min(at_least, self.model.sizes[-1])
        return Sizes.of(self.model.size(num, wanted, at_least), self.devices)

    def _packed_again(self, block: _Block, sizes: Sizes) -> _Block:
        """A block after its words were packed in another way."""
        owners = self.owners.array[block.low : block.low + len(block.counts)]
        return block._replace(owned=self._frontier(owners, sizes)[0])

    def _expanded(self, block: _Block) -> int:
        """Go on after a block."""
        high = block.low + len(block.counts)
        self.rows += self._count(self.owners.array[block.low : high])
        self.record.num_expanded = high
        return high

    def _count(self, owners: Int[np.ndarray, " some"]) -> Int[np.ndarray, " devices"]:
        own = (np.count_nonzero(owners == device) for device in range(self.devices))
        return np.fromiter(own, np.int32, self.devices)

    def _block(self, low: int, high: int, sizes: Sizes) -> tuple[_Block, bool]:
        """Configurations from `low` on, as many as can be expanded together, and whether the next
        one has too many choices."""
        owners = self.owners.array[low : min(high, low + sizes.chunk)]
        for device in np.flatnonzero(self._count(owners) > sizes.made):
            own = np.flatnonzero(owners == device)
            if len(own) > sizes.made:  # one cut before may have been enough
                owners = owners[: own[sizes.made]]
        owned, counts, is_too_much, sums = self._frontier(owners, sizes)
        counts, (*of_devices, num_too_much) = np.asarray(counts)[: len(owners)], np.asarray(sums)
        usable = int(np.flatnonzero(np.asarray(is_too_much))[0]) if num_too_much else len(owners)
        total = int(counts[:usable].sum(dtype=np.int64))
        if total <= MAX_CHOICES and not num_too_much:
            self.record.counts.append(counts)
            return _Block(low, owned, counts, total, np.asarray(of_devices)), False
        ends = np.cumsum(counts[:usable], dtype=np.int64)
        num = min(usable, max(int(np.searchsorted(ends, MAX_CHOICES, side="right")), 1))
        self.record.counts.append(counts[:num])
        total = int(ends[num - 1]) if num else 0
        return _Block(low, owned, counts[:num], total, None), num_too_much > 0 and num == usable

    def _frontier(
        self, owners: Int[np.ndarray, " block"], sizes: Sizes
    ) -> tuple[OwnedBlock, Array, Array, Array]:
        """The configurations with these owners that follow the expanded ones, see `frontier`."""
        ins = (ALL, ALL, ALL, SPLIT, ALL, ALL)
        made = program(frontier, self.mesh, ins, (_BLOCK, ALL, ALL, ALL), made=sizes.made)
        padded = np.full(sizes.chunk, self.devices, owners.dtype)
        padded[: len(owners)] = owners
        given = (self.machine, self.choosers, self.memory.packing_everywhere, self.memory.store)
        self.bytes_combined += 2 * 4 * len(padded)
        return made(*given, self.rows, padded)

    def _put(self, block: _Block, part: OwnedPart, sizes: Sizes) -> _Found:
        """Make successors, and put them in if all goes well."""
        memory, mesh = self.memory, self.mesh
        given = (self.machine, self.choosers, memory.packing_everywhere, block.owned, part)
        pending = program(begin_chunk, mesh, (ALL,), SPLIT, sizes=sizes, edges=self.edges)(
            memory.nums
        )
        ins = (ALL, ALL, ALL, _BLOCK, ALL, ALL, SPLIT)
        making = program(make, mesh, ins, (SPLIT, SPLIT), sizes=sizes)
        ins, outs = (SPLIT, SPLIT, SPLIT, ALL, SPLIT), (SPLIT, SPLIT, SPLIT)
        exchanging = program(exchange, mesh, ins, outs, donated=(0, 1, 2), sizes=sizes)
        for turn in range(self._turns(block, part, sizes)):
            outgoing, numbers = making(*given, np.int32(turn), pending.numbers)
            pending = pending._replace(numbers=numbers)
            memory.store, memory.table, pending = exchanging(
                memory.store, memory.table, pending, memory.nums, outgoing
            )
        ins, outs = (SPLIT, SPLIT, SPLIT, ALL), (SPLIT, SPLIT, ALL, ALL, ALL, ALL)
        ending = program(end_chunk, mesh, ins, outs, donated=(0, 1), chunk=sizes.chunk)
        memory.store, memory.table, *results = ending(
            memory.store, memory.table, pending, memory.nums
        )
        return _Found(int(part.end - part.base), sizes, *results)

    def _numbers_when_made(self, found: _Found) -> OwnedNumbers:
        """Wait for successors, and add up what was exchanged for them."""
        numbers = OwnedNumbers(*np.asarray(found.numbers).tolist())
        row = 4 * (self.memory.packing.num_words + 1)
        self.bytes_exchanged += numbers.sent * (self.devices - 1) * found.sizes.sent * row
        self.bytes_combined += found.planes.nbytes + found.nums.nbytes
        self.bytes_combined += 0 if found.codes is None else found.codes.nbytes
        return numbers

    def _turns(self, block: _Block, part: OwnedPart, sizes: Sizes) -> int:
        """After which every device has made its successors."""
        num = block.of_devices
        if num is None or int(part.end - part.base) < block.num_choices:
            ends = block.ends
            low = np.maximum(ends - block.counts, int(part.base))
            each = np.maximum(np.minimum(ends, int(part.end)) - low, 0)
            num = np.bincount(self.owners.array[block.low : block.low + len(each)], weights=each)
        return -(-int(num.max()) // sizes.made)

    def _keep(self) -> int | None:
        """Take over what the last part brought, if that was not done. The position of the first new
        configuration that exceeds the limit, if any."""
        found, self.found = self.found, None
        if found is None:
            return None
        planes, num = np.asarray(found.planes), found.num
        is_first, *bits = np.unpackbits(planes, axis=1, count=num)
        at = np.flatnonzero(is_first)
        room = self.most - self.record.num
        left_out = int(at[room]) if len(at) > room else None
        at, kept = at[:room], num if left_out is None else left_out
        owners = np.zeros(len(at), self.owners.array.dtype)
        for k, bit in enumerate(bits):
            owners |= bit[at].astype(owners.dtype) << k
        if left_out is not None:
            self.memory.nums = self._count(self.owners.array) + self._count(owners)
        self._number(self.record.num, owners)
        codes = found.codes
        targets = None if codes is None else self._numbers_of(np.asarray(codes)[:kept])
        self.record.keep(len(owners), planes[0, : -(-kept // 8)].copy(), kept, targets)
        self.progress(self.record.num, len(self.record.depth_starts) - 2)
        return left_out

    def _number(self, first: int, owners: Int[np.ndarray, " some"]) -> None:
        """Number new configurations, which stand in the order of their numbers."""
        self.owners.append(owners)
        if self.edges:
            for device, numbers in enumerate(self.numbers):
                numbers.append(first + np.flatnonzero(owners == device))

    def _numbers_of(self, codes: UInt32[np.ndarray, " some"]) -> Int[np.ndarray, " some"]:
        """The numbers of configurations that are written as `row * devices + owner`."""
        rows, owners = np.divmod(codes.astype(np.int64), self.devices)
        found = np.zeros(len(codes), np.int32 if self.most < 2**31 else np.int64)
        for device, numbers in enumerate(self.numbers):
            is_own = owners == device
            found[is_own] = numbers.array[rows[is_own]]
        return found

    def _tighten(self, sizes: Sizes) -> None:
        """Fewer words, if that is much."""
        packing = self.model.tight(self.record.num, self.memory.most_fields(), self.memory.packing)
        if packing is not None:
            self.memory.repack(packing)

    def _widen(self, block: _Block, part: OwnedPart, sizes: Sizes, numbers: OwnedNumbers) -> bool:
        """Take larger numbers, where those of a part did not fit; whether there is memory."""
        packing = self.memory.packing
        if not numbers.fits:
            ins = (ALL, ALL, ALL, _BLOCK, ALL)
            made = program(largest, self.mesh, ins, ALL, made=sizes.made)
            given = (self.machine, self.choosers, self.memory.packing_everywhere)
            most = np.asarray(made(*given, block.owned, part))
            packing = fitting(most, self.memory.most_fields())
        else:
            packing = self.model.widened(self.record.num, packing)
            self._take_machine()
        if packing is not self.memory.packing:
            return self.memory.repack(packing)
        self.memory.rebuild_table()
        return True

    def graph(self) -> Graph[ConfigurationsT, StepsT]:
        owners = self.owners.array
        words = OwnedStore(self.memory.store, owners, rows_of(owners, self.devices), self.mesh)
        traffic = Traffic(self.bytes_exchanged, self.bytes_combined)
        return self.record.graph(self.model, self.memory.packing, words, traffic=traffic)


class _Growing:
    """An array on the host that grows."""

    def __init__(self, dtype: np.dtype) -> None:
        self._room = np.zeros(2**10, dtype)
        self._num = 0

    @property
    def array(self) -> np.ndarray:
        return self._room[: self._num]

    def append(self, values: np.ndarray) -> None:
        num = self._num + len(values)
        if num > len(self._room):
            room = np.zeros(max(num, 2 * len(self._room)), self._room.dtype)
            room[: self._num] = self.array
            self._room = room
        self._room[self._num : num] = values
        self._num = num
