"""The driver of a search whose configurations are split over devices."""

from collections.abc import Callable
from typing import Generic, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int, UInt32

from ..machine import ConfigurationsT, StepsT
from ..scale.mesh import CONFIGURATIONS, replicated
from .failures import Lost, is_out_of_memory
from .graph import Graph, Stop, Traffic
from .memory_limits import Budget, MemoryLimits
from .owned_memory import OwnedMemory, owners_of
from .owners import (
    ALL,
    NO_POSITION,
    SPLIT,
    SPLIT_LAST,
    BitPlace,
    Brought,
    Outgoing,
    OwnedBlock,
    OwnedChoices,
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
    spread,
)
from .packing import Packing
from .record import SearchRecord
from .saved_search import SavedSearch
from .search import MAX_CHOICES
from .search_limits import SearchLimits
from .search_memory import part_of
from .searched import SearchedModel, fitting
from .space import first_packing, packed


_BLOCK = OwnedBlock(SPLIT_LAST, SPLIT, SPLIT, SPLIT)  # pyright: ignore[reportArgumentType]


class _Asked(NamedTuple):
    """Configurations from `low` on whose choices the devices may still count.

    - `rows`: of each device, the first one of these.
    - `packing`: of the words.
    """

    low: int
    rows: Int[np.ndarray, " devices"]
    sizes: Sizes
    packing: Packing
    owned: OwnedBlock
    choices: OwnedChoices


class _Block(NamedTuple):
    """Neighbouring configurations whose successors are to be made.

    - `counts`: the choices of each; `num_choices`: of all.
    - `num_of_devices`, `choices_of_devices`: their configurations, and the choices of those.
    - `is_spread`: every device has all of them, and makes its share of their successors.
    - `is_last`: the configuration after them has too many choices.
    """

    low: int
    rows: Int[np.ndarray, " devices"]
    sizes: Sizes
    packing: Packing
    owned: OwnedBlock
    counts: Int[np.ndarray, " block"]
    num_choices: int
    num_of_devices: Int[np.ndarray, " devices"]
    choices_of_devices: Int[np.ndarray, " devices"]
    is_spread: bool
    is_last: bool = False

    @property
    def high(self) -> int:
        return self.low + len(self.counts)

    @property
    def rows_after(self) -> Int[np.ndarray, " devices"]:
        return self.rows + self.num_of_devices

    def part(self, base: int, end: int) -> OwnedPart:
        """Choices from `base` to `end`."""
        devices = len(self.num_of_devices)
        bounds = base + (end - base) * np.arange(devices + 1) // devices
        bases, ends = bounds[:-1], bounds[1:]
        if not self.is_spread:
            bases, ends = np.full(devices, base), np.full(devices, end)
        given = (len(self.counts), base, bases, ends)
        return OwnedPart(*(np.asarray(x, np.int32) for x in given))  # pyright: ignore

    def turns(self, base: int, end: int, batch: int) -> int:
        """After which every device has made its successors, `batch` at a time."""
        if self.is_spread:
            return -(-(end - base) // (batch * len(self.num_of_devices)))
        return -(-min(int(self.choices_of_devices.max()), end - base) // batch)

    def parent(self, position: int) -> int:
        """The configuration whose choice this is."""
        ends = np.cumsum(self.counts, dtype=np.int64)
        return self.low + int(np.searchsorted(ends, position, side="right"))


class _Begun(NamedTuple):
    """The first successors of each device by the choices of a block from `base` to `end`. They may
    still be made."""

    block: _Block
    base: int
    end: int
    sizes: Sizes
    outgoing: Outgoing


class _Found(NamedTuple):
    """What a part of a block, with `num` choices, brings. It may still be made."""

    num: int
    sizes: Sizes
    brought: Brought


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
        self.most, self.edges, self.patience = limits.most, limits.edges, limits.patience
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
        window = Sizes.of(model.sizes[0], self.devices).window
        self.memory = OwnedMemory(packing, words, owners, mesh, window, edges=self.edges)
        self._take_machine()
        self.record = SearchRecord(host, edges=self.edges, most=self.most)
        saved.begin(self.record)
        self._base = self.record.followed()[1]  # the first choice, if a search continues
        # Of each device, the first row that is not expanded.
        is_expanded = owners[: self.record.num_expanded]
        self.rows = np.bincount(is_expanded, minlength=self.devices).astype(np.int32)
        self.bytes_exchanged = self.bytes_combined = 0
        self.found: _Found | None = None  # what is not kept yet
        self.ahead: _Begun | None = None  # begun before it is known whether it comes next
        self._is_branching = False  # as a rule, the last configurations had several choices

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
        store = self.memory.stored()
        found = np.empty((high - low, self.memory.packing.num_words), np.uint32)
        size = part_of(self.memory.packing.num_fields)
        for start in range(low, high, size):
            some = found[start - low : start - low + size]
            numbers = np.minimum(np.arange(start, start + size), high - 1)
            some[:] = np.asarray(store.of(numbers)).T[: len(some)]
        return found

    def _end_short(self) -> None:
        """End with what was found when memory runs out. **Raises:** `Lost`."""
        try:
            self._keep()
            jax.block_until_ready(self.memory.own)
        except (RuntimeError, MemoryError):
            raise Lost(self.record.num) from None
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
            block = self._block(self._ask(low, high, self.rows))
            if block.is_last or block.num_choices:
                return True
            low = self._expanded(block)
        return False

    def _expand(self, low: int, high: int) -> None:
        """Expand the configurations of a level."""
        block: _Block | None = self._block(self._ask(low, high, self.rows))
        while block is not None:
            asked = None
            if block.high < high and not block.is_last:
                asked = self._ask(block.high, high, block.rows_after)
            following = self._expand_block(block, asked, high)
            if self.record.stop is not Stop.COMPLETE:
                return
            self._expanded(block)
            if block.is_last:
                return self.record.end(Stop.TOO_MANY_CHOICES, block.high)
            block = following

    def _expand_block(self, block: _Block, asked: _Asked | None, high: int) -> _Block | None:
        """Expand the configurations of a block.

        **Returns:** the block after it, of what was asked, if anything. Its first successors are
        made before it is known what came of the last ones of this block.
        """
        base, total, most = self._base, block.num_choices, MAX_CHOICES
        self._base = 0
        failure, following = None, None
        while base < total:
            sizes = self._sizes(total - base, at_least=block.sizes.chunk)
            if self.model.is_to_be_tightened(int(self.memory.nums.sum()), sizes.chunk):
                self._tighten(sizes)
            block = self._packed_now(block)
            early = self.patience.stop()
            if early is None and not self.memory.reserve(sizes.window):
                early = Stop.OUT_OF_MEMORY
            if early is not None:
                self.record.end(early, block.parent(base))
                return None
            end = min(base + min(most, sizes.chunk), total)
            found = self._put(self._taken_or_begun(block, base, end, sizes))
            self._keep()  # what came before, meanwhile
            if self.saved.is_due(self.record, self.memory.packing):
                self.save(has_ended=False)
            if end < total:
                self._begin_ahead(block, end, total)
            elif asked is not None and following is None:
                following = self._following(asked, high)
                self._begin_ahead(following, 0, following.num_choices)
            numbers = self._numbers_when_ready(found)
            if not numbers.fits or (numbers.overflows and self.model.encoding.wider is not None):
                if not self._widen(block, block.part(base, end), sizes, numbers):
                    self.record.end(Stop.OUT_OF_MEMORY, block.parent(base))
                    return None
            elif numbers.full:
                most = (end - base) // 2
                self.memory.rebuild_table()
            elif numbers.failed < NO_POSITION:  # so what comes before is put in without it
                total = base + numbers.failed
                stop = self.model.stop_of_failure(overflows=bool(numbers.overflows))
                failure = stop, block.parent(total)
                self.memory.rebuild_table()
            else:
                self.memory.nums = np.asarray(found.brought.nums)
                self.found = found
                if int(self.memory.nums.sum()) > self.most:
                    left_out = self._keep()
                    assert left_out is not None
                    parent = block.parent(base + left_out)
                    self.record.end(Stop.MAX_CONFIGURATIONS, parent)
                    return None
                base, most = end, MAX_CHOICES
        if failure is not None:
            self.record.end(*failure)
            return None
        if asked is not None and following is None:
            following = self._following(asked, high)
        return None if following is None else self._packed_now(following)

    def _sizes(self, wanted: int, at_least: int = 1) -> Sizes:
        largest = self.model.sizes[-1]
        chunk = self.model.size(int(self.memory.nums.sum()), wanted, min(at_least, largest))
        # A device alone would make that many at once, so there is memory for it.
        return Sizes.of(chunk * self.devices if chunk == largest else chunk, self.devices)

    def _packed_now(self, block: _Block) -> _Block:
        """The block in the current packing."""
        if block.packing is self.memory.packing:
            return block
        found = self._frontier(block.low, len(block.counts), block.rows, block.sizes)
        owned = self._spread(*found) if block.is_spread else found[0]
        return block._replace(owned=owned, packing=self.memory.packing)

    def _expanded(self, block: _Block) -> int:
        """Go on after a block."""
        self.rows = block.rows_after
        self.record.num_expanded = block.high
        return block.high

    def _ask(self, low: int, high: int, rows: Int[np.ndarray, " devices"]) -> _Asked:
        """Start counting the choices of configurations from `low` on."""
        sizes = self._sizes(high - low)
        most = sizes.batch if self._is_branching else sizes.chunk
        found = self._frontier(low, min(high - low, most), rows, sizes)
        return _Asked(low, rows, sizes, self.memory.packing, *found)

    def _following(self, asked: _Asked, high: int) -> _Block:
        if asked.packing is not self.memory.packing:
            asked = self._ask(asked.low, high, asked.rows)
        return self._block(asked)

    def _block(self, asked: _Asked) -> _Block:
        """As many configurations as can be expanded together."""
        low, rows, sizes, packing, owned, choices = asked
        num, usable, is_much, *of_devices = np.asarray(choices.numbers).tolist()
        own, of_own = np.reshape(np.asarray(of_devices, np.int32), (2, -1))
        counts = np.asarray(choices.counts)[:num]
        total, fitting = int(of_own.sum(dtype=np.int64)), usable
        if is_much or total > MAX_CHOICES or usable < num:
            ends = np.cumsum(counts[:usable], dtype=np.int64)
            fitting = min(max(int(np.searchsorted(ends, MAX_CHOICES, side="right")), 1), usable)
            total = int(ends[fitting - 1]) if fitting else 0
        is_spread = self.devices > 1 and total > sizes.chunk
        if is_spread:
            fitting = min(fitting, sizes.batch)
        if fitting < num:
            found = self._frontier(low, fitting, rows, sizes)
            cut = self._block(_Asked(low, rows, sizes, packing, *found))
            return cut._replace(is_last=fitting == usable)
        if is_spread:
            owned = self._spread(owned, choices)
        self._is_branching = total > num
        self.record.counts.append(counts)
        return _Block(low, rows, sizes, packing, owned, counts, total, own, of_own, is_spread)

    def _spread(self, owned: OwnedBlock, choices: OwnedChoices) -> OwnedBlock:
        """A block with all of its configurations on every device."""
        self.bytes_combined += owned.words.nbytes
        return program(spread, self.mesh, (_BLOCK, ALL), _BLOCK)(owned, choices.counts)

    def _frontier(
        self, low: int, num: int, rows: Int[np.ndarray, " devices"], sizes: Sizes
    ) -> tuple[OwnedBlock, OwnedChoices]:
        """The choices of `num` configurations, of which devices have these rows, see `frontier`."""
        ins = (ALL, ALL, ALL, SPLIT, ALL, ALL, ALL)
        counting = program(frontier, self.mesh, ins, (_BLOCK, ALL), sizes=sizes)
        given = (self.machine, self.choosers, self.memory.packing_everywhere, self.memory.own)
        self.bytes_combined += 4 * sizes.chunk
        owned, choices = counting(*given, rows, BitPlace.of(low), np.int32(num))
        for x in choices:
            x.copy_to_host_async()
        return owned, choices

    def _begin_ahead(self, block: _Block, base: int, total: int) -> None:
        """Start making the successors of the part that is probably next."""
        sizes = self._sizes(total - base, at_least=block.sizes.chunk)
        if base < total and block.packing is self.memory.packing:
            end = min(base + sizes.chunk, total)
            self.ahead = self._taken_or_begun(block, base, end, sizes)

    def _taken_or_begun(self, block: _Block, base: int, end: int, sizes: Sizes) -> _Begun:
        """What was begun ahead, if it is this, or else begin it."""
        ahead, self.ahead = self.ahead, None
        if ahead is not None and ahead.block is block:
            if (ahead.base, ahead.end, ahead.sizes) == (base, end, sizes):
                return ahead
        return _Begun(block, base, end, sizes, self._make(block, base, end, sizes, turn=0))

    def _make(self, block: _Block, base: int, end: int, sizes: Sizes, turn: int) -> Outgoing:
        ins = (ALL, ALL, ALL, _BLOCK, ALL, ALL)
        given = (self.machine, self.choosers, self.memory.packing_everywhere, block.owned)
        making = program(make, self.mesh, ins, SPLIT, sizes=sizes)
        return making(*given, block.part(base, end), np.int32(turn))

    def _put(self, begun: _Begun) -> _Found:
        """Put successors in if all goes well, and make those that are still missing."""
        memory, mesh = self.memory, self.mesh
        block, base, end, sizes, outgoing = begun
        beginning = program(begin_chunk, mesh, (ALL,), SPLIT, sizes=sizes, edges=self.edges)
        pending = beginning(memory.nums)
        ins = (SPLIT, SPLIT, ALL, SPLIT)
        exchanging = program(exchange, mesh, ins, (SPLIT, SPLIT), donated=(0, 1), sizes=sizes)
        for turn in range(block.turns(base, end, sizes.batch)):
            if turn:
                outgoing = self._make(block, base, end, sizes, turn)
            memory.own, pending = exchanging(memory.own, pending, memory.nums, outgoing)
        ins, outs = (SPLIT, SPLIT, ALL, ALL), (SPLIT, ALL)
        ending = program(end_chunk, mesh, ins, outs, donated=(0,), chunk=sizes.chunk)
        total = BitPlace.of(int(memory.nums.sum()))
        memory.own, brought = ending(memory.own, pending, memory.nums, total)
        for x in jax.tree.leaves(brought):
            x.copy_to_host_async()
        return _Found(end - base, sizes, brought)

    def _numbers_when_ready(self, found: _Found) -> OwnedNumbers:
        """Wait for successors, and add up what was exchanged for them."""
        numbers = OwnedNumbers(*np.asarray(found.brought.numbers).tolist())
        row = 4 * (self.memory.packing.num_words + 1)
        self.bytes_exchanged += numbers.sent * (self.devices - 1) * found.sizes.sent * row
        self.bytes_combined += sum(x.nbytes for x in jax.tree.leaves(found.brought))
        return numbers

    def _keep(self) -> int | None:
        """Take over what the last part brought, if that was not done. The position of the first new
        configuration that exceeds the limit, if any."""
        found, self.found = self.found, None
        if found is None:
            return None
        (is_new, targets, nums, _), num = found.brought, found.num
        is_new, left_out = np.asarray(is_new), None
        num_new, room = int(np.asarray(nums).sum()) - self.record.num, self.most - self.record.num
        if num_new > room:
            left_out = num = int(np.flatnonzero(np.unpackbits(is_new))[room])
            num_new = room
        if targets is not None:
            targets = np.asarray(targets)[:num]
            targets = targets.astype(np.int32 if self.most < 2**31 else np.int64)
        self.record.keep(num_new, is_new[: -(-num // 8)].copy(), num, targets)
        self.progress(self.record.num, len(self.record.depth_starts) - 2)
        return left_out

    def _tighten(self, sizes: Sizes) -> None:
        """Fewer words, if that is much."""
        packing = self.model.tight(self.record.num, self.memory.most_fields(), self.memory.packing)
        if packing is not None:
            self.memory.repack(packing)

    def _widen(self, block: _Block, part: OwnedPart, sizes: Sizes, numbers: OwnedNumbers) -> bool:
        """Take larger numbers, where those of a part did not fit; whether there is memory."""
        packing, self.ahead = self.memory.packing, None
        if not numbers.fits:
            ins = (ALL, ALL, ALL, _BLOCK, ALL)
            finding = program(largest, self.mesh, ins, ALL, batch=sizes.batch)
            given = (self.machine, self.choosers, self.memory.packing_everywhere)
            most = np.asarray(finding(*given, block.owned, part))
            packing = fitting(most, self.memory.most_fields())
        else:
            packing = self.model.widened(self.record.num, packing)
            self._take_machine()
        if packing is not self.memory.packing:
            return self.memory.repack(packing)
        self.memory.rebuild_table()
        return True

    def graph(self) -> Graph[ConfigurationsT, StepsT]:
        traffic = Traffic(self.bytes_exchanged, self.bytes_combined)
        words = self.memory.stored()
        return self.record.graph(self.model, self.memory.packing, words, traffic=traffic)
