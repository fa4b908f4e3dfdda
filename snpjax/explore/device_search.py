"""The driver of a search on one device."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Generic, NamedTuple

import jax
import numpy as np

from ..machine import ConfigurationsT, StepsT
from .failures import Lost, is_out_of_memory
from .fingerprints import probability_of_collision
from .graph import Graph, Stop
from .host_arrays import own_rows
from .memory_limits import Budget
from .record import SearchRecord
from .saved_search import SavedSearch
from .search import (
    NO_PARENT,
    ChunkNumbers,
    FrontierBlock,
    Made,
    Outcome,
    Part,
    frontier,
    largest,
    successors,
)
from .search_limits import SearchLimits
from .search_memory import SearchMemory, largest_fields
from .searched import SearchedModel, fitting
from .words_on_device import WordsOnDevice
from .words_on_host import WordsOnHost


# Chunks that the device works on while the host looks at the ones before.
_AHEAD = 2

# A set of more bytes is not changed by a program whose arguments may still fail.
_PRECIOUS = 2**28

# Fingerprints of this few words would save nothing.
FEWEST_WORDS = 2

# A block with too many choices is followed by one with this many times fewer configurations.
_FEWER = 8


class _Piece(NamedTuple):
    """Choices whose successors are to be made: from `base` to `end` of a block."""

    block: FrontierBlock
    low: int  # the first configuration of the block
    base: int
    end: int

    def part(self) -> Part:
        return Part(np.int32(self.low), np.int32(self.base), np.int32(self.end))  # pyright: ignore


class _Chunk(NamedTuple):
    """Successors that are being made."""

    piece: _Piece
    size: int
    made: Made


class DeviceSearch(Generic[ConfigurationsT, StepsT]):
    """A search whose set of configurations is on one device.

    The words are there too, while they fit.
    """

    def __init__(
        self,
        model: SearchedModel[ConfigurationsT, StepsT],
        limits: SearchLimits,
        progress: Callable[[int, int], None],
        saved: SavedSearch,
    ) -> None:
        self.model = model
        self.limits = limits
        self.progress = progress
        self.saved = saved
        self.budget = Budget(limits.memory)
        if saved.restored is not None:
            model.lower(saved.restored.at_least)
        self.budget.working = model.working_bytes(_AHEAD)
        self.memory = self._first_memory()
        self.record = SearchRecord(self.budget.host, edges=limits.edges, most=limits.most)
        saved.begin(self.record)
        self._base = self.record.followed()[1]  # the first choice, if a search continues
        # Choices whose successors are to be made, are being made, and are put in.
        self._todo: deque[_Piece] = deque()
        self._making: deque[_Chunk] = deque()
        self._waiting: deque[tuple[_Chunk, Outcome]] = deque()

    def _first_memory(self) -> SearchMemory:
        """The initial configuration, or those that were saved."""
        model, limits, budget = self.model, self.limits, self.budget
        chunk, most = model.sizes[0], limits.most + 3 * max(model.sizes)
        how = {"seed": limits.seed, "is_exact": limits.is_exact}
        begins_on_host = limits.begins_on_host or not limits.is_exact
        if self.saved.restored is None:
            given = model.machine, chunk, budget, most
            first = WordsOnHost.first(*given, **how) if begins_on_host else None
            return first or WordsOnDevice.first(*given)
        packing, words = self.saved.restored.words(budget.host)
        given = packing, words, chunk, budget, most
        found = None if begins_on_host else WordsOnDevice.of(*given)
        if found is None:
            return WordsOnHost.of(*given, **how)
        budget.host.remove(words)
        return found

    def run(self, max_depth: int | None) -> None:
        """Level by level.

        **Raises:** `Lost`; `SameFingerprint`.
        """
        starts = self.record.depth_starts
        while starts[-2] < starts[-1] and self.record.stop is Stop.COMPLETE:
            is_last = max_depth is not None and len(starts) - 2 >= max_depth
            # A level may have been saved in its middle.
            low = max(self.record.num_expanded, starts[-2])
            self._expand(low, starts[-1], is_last=is_last)
            if self.record.num == starts[-1] or self.record.stop is not Stop.COMPLETE:
                break
            starts.append(self.record.num)
        self.memory.finish()

    def save(self, *, has_ended: bool) -> None:
        """Write a checkpoint."""
        self.memory.finish()
        memory, at_least = self.memory, self.model.at_least
        given = self.record, memory.packing, memory.rows, at_least
        self.saved.save(*given, has_ended=has_ended)

    def _expand(self, low: int, high: int, *, is_last: bool) -> None:
        """Expand the configurations of a level; those of the last one only if nothing follows."""
        pieces = self._pieces(low, high)
        while True:
            try:
                if is_last:
                    # Without a choice there is nothing that the limit cuts off.
                    if any(piece.end for piece in pieces) or self.record.stop is not Stop.COMPLETE:
                        self.record.end(Stop.MAX_DEPTH, low)
                    return
                while self._advance(pieces):
                    pass
                return
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if not self._recover():
                    return self._end_short()
                pieces = self._pieces(self.record.num_expanded, high)

    def _advance(self, pieces: Iterator[_Piece]) -> bool:
        """Take over one chunk; whether the level continues. Chunks are made ahead of what the host
        knows; those after one that could not be put in are made again. What fails changes nothing
        that the host knows."""
        todo, making, waiting = self._todo, self._making, self._waiting
        while len(making) < _AHEAD:
            if not todo:
                todo.extend(islice(pieces, 1))
            if not todo:
                break
            chunk = self._chunk_size(todo[0])
            if self.model.is_to_be_tightened(self.record.num, chunk):
                if making or waiting:  # which are in the words there are
                    break
                self._tighten(chunk)
            if not self.memory.found.reserve(chunk):
                break  # what is being made may bring less than it could
            self._make()
        while making and len(waiting) < _AHEAD:
            waiting.append((making[0], self._put(making[0])))
            making.popleft()
        if not waiting:
            if not todo:
                return False
            if self._spill():
                return True
            self._end_short()
            return False
        one, outcome = waiting[0]
        numbers = ChunkNumbers(*np.asarray(outcome.numbers).tolist())
        if not numbers.was_put:  # nor was any after it
            self._make_again()
            if self._widen(one, numbers):
                return True
            self._end_short()
            return False
        self._keep(one, outcome, numbers)
        self.progress(self.record.num, len(self.record.depth_starts) - 2)
        if numbers.left_out < NO_PARENT:  # which is before a failure of the same chunk
            self.record.end(Stop.MAX_CONFIGURATIONS, numbers.left_out)
            return False
        if numbers.failed < NO_PARENT:
            stop = self.model.stop_of_failure(overflows=bool(numbers.overflows))
            self.record.end(stop, numbers.failed)
            return False
        if (stop := self.limits.patience.stop()) is not None:
            self._end_early(stop)
            return False
        self.memory.settle()
        if self.saved.is_due(self.record, self.memory.packing):
            self.save(has_ended=False)
        return True

    def _end_short(self) -> None:
        """End for lack of memory."""
        self._end_early(Stop.OUT_OF_MEMORY)

    def _end_early(self, stop: Stop) -> None:
        """End before the first choice that was not followed."""
        self._make_again()
        self.record.end(stop, self.record.followed()[0])

    def _make_again(self) -> None:
        """Forget chunks that were not taken over."""
        again = [*(one for one, _ in self._waiting), *self._making]
        self._todo.extendleft(chunk.piece for chunk in reversed(again))
        self._making.clear()
        self._waiting.clear()
        self.memory.found.most_num = self.record.num

    def _recover(self) -> bool:
        """Go on with less after an allocation failed, if that is possible. **Raises:** `Lost`."""
        self._make_again()
        if isinstance(self.memory, WordsOnHost):
            return False
        if not self.memory.found.is_alive():
            raise Lost(self.record.num)
        self.model.sizes = self.model.sizes[:1]
        return self._spill()

    def _spill(self) -> bool:
        """Move the words to the host; whether that is allowed, and there is memory. If they are
        there already, whether there is memory for more."""
        memory, model = self.memory, self.model
        if not self.budget.may_spill:
            return False
        free, taken = memory.found.free(), memory.found.extent.num_bytes
        chunk = self._chunk_size(self._todo[0]) if self._todo else model.sizes[0]
        try:
            if isinstance(memory, WordsOnHost):
                return memory.grow(chunk)
            packing = model.tight(self.record.num, largest_fields(memory), memory.packing)
            packing = packing or memory.packing
            if packing.num_words <= FEWEST_WORDS:
                return False
            self.memory = WordsOnHost.copied(memory, packing, seed=self.limits.seed)
            del memory  # and its arrays
            self.memory.fill(chunk, None if free is None else free + taken)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return False
        return True

    def _pieces(self, low: int, high: int) -> Iterator[_Piece]:
        """The choices of a level, block by block, the device being one ahead."""
        wanted: deque[tuple[int, int, FrontierBlock]] = deque()
        most = high - low
        while low < high or wanted:
            while low < high and len(wanted) < _AHEAD:
                size = self.model.size(self.record.num, min(high - low, most), at_least=1)
                num = min(size, high - low, most)
                words = self.memory.block(low, size)
                given = (self.model.choosers, self.memory.packing, words, np.int32(num))
                wanted.append((low, num, frontier(self.model.machine, *given)))
                low += num
            first, num, block = wanted.popleft()
            total = int(block.total)
            if total >= 0:
                counts = own_rows(np.asarray(block.counts), num)
                self.record.counts.append(counts)
                self.record.num_expanded = first + num
                most *= _FEWER
                base, self._base = self._base, 0
                yield _Piece(block, first, base, total)
            elif num == 1:
                return self.record.end(Stop.TOO_MANY_CHOICES, first)
            else:
                low, most = first, max(num // _FEWER, 1)
                wanted.clear()

    def _chunk_size(self, piece: _Piece) -> int:
        # No chunk is smaller than its block, so that few pairs of sizes are compiled.
        wanted = piece.end - piece.base
        return self.model.size(self.record.num, wanted, at_least=len(piece.block.ends))

    def _make(self) -> None:
        """Make the first of what is to be made."""
        piece = self._todo[0]
        size = self._chunk_size(piece)
        end = min(piece.base + size, piece.end)
        part = piece._replace(end=end)
        given = (self.model.machine, self.model.choosers, self.memory.packing, piece.block)
        made = successors(*given, part.part(), chunk=size)
        self._todo.popleft()
        if end < piece.end:
            self._todo.appendleft(piece._replace(base=end))
        self.memory.found.most_num += end - piece.base
        self._making.append(_Chunk(part, size, made))

    def _put(self, one: _Chunk) -> Outcome:
        if self.memory.found.extent.num_bytes > _PRECIOUS:
            # If this fails, nothing is lost; the next program takes the arrays of the set.
            jax.block_until_ready(one.made.num_good)
        takes_overflow = self.model.encoding.wider is None
        outcome = self.memory.put(one.made, self.limits.most, takes_overflow=takes_overflow)
        for x in (outcome.is_new, *((outcome.targets,) if self.limits.edges else ())):
            x.copy_to_host_async()
        return outcome

    def _keep(self, one: _Chunk, outcome: Outcome, numbers: ChunkNumbers) -> None:
        """Take over what a chunk brought."""
        num = one.piece.end - one.piece.base
        is_new = own_rows(np.asarray(outcome.is_new), -(-num // 8))
        targets = own_rows(np.asarray(outcome.targets), num) if self.limits.edges else None
        self.memory.keep(one.made, outcome, numbers)
        # From here on nothing fails.
        self._waiting.popleft()
        self.memory.found.most_num -= num - numbers.num_new
        self.record.keep(numbers.num_new, is_new, num, targets)

    def _tighten(self, chunk: int) -> None:
        """Fewer words, if that is much."""
        packing = self.model.tight(
            self.record.num, largest_fields(self.memory), self.memory.packing
        )
        if packing is not None:
            self.memory.repack(packing, chunk)

    def _widen(self, one: _Chunk, numbers: ChunkNumbers) -> bool:
        """Take larger numbers, where those of a chunk did not fit; whether there is memory."""
        packing = self.memory.packing
        if not numbers.fits:
            given = (self.model.machine, self.model.choosers, one.piece.block, one.piece.part())
            grown = np.asarray(largest(*given, chunk=one.size))
            packing = fitting(grown, largest_fields(self.memory))
        else:
            packing = self.model.widened(self.record.num, packing)
            self.budget.working = self.model.working_bytes(_AHEAD)
        if packing is not self.memory.packing and not self.memory.repack(packing, one.size):
            return False
        self.memory.found.go_on()
        return True

    def graph(self) -> Graph[ConfigurationsT, StepsT]:
        missed = 0.0 if self.limits.is_exact else probability_of_collision(self.record.num)
        given = self.model, self.memory.packing, self.memory.stored()
        return self.record.graph(*given, missed=missed)
