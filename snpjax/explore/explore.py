"""`explore`: the driver of the search, on the host."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from snpjax_formats import free_bytes

from .graph import Graph, Stop
from .packing import Packing
from .search import (
    NO_ONE,
    Block,
    Enumerable,
    Made,
    Numbers,
    Outcome,
    fields_dtype,
    frontier,
    put,
    rows,
    successors,
)
from .space import MAX_CONFIGURATIONS, Memory


#: How many successors are made at once; small graphs share the compilations of the smallest.
#: Larger ones leave the caches of a CPU.
CPU_CHUNKS = (2**8, 2**13)
GPU_CHUNKS = (2**12, 2**21)

# Chunks that the device works on while the host looks at the ones before.
_AHEAD = 2

# As many arrays as a state are about alive while a step is made.
_ARRAYS = 8

# From so many configurations on chunks are large and fields packed as tightly as they allow, which
# is looked at again whenever there are so many times more. Before, all systems of one size share
# the few compilations of small chunks.
_LARGE_FROM = 2**12
_TIGHT_AGAIN = 32


def explore(
    system: Any,
    /,
    *,
    max_configurations: int = 1_000_000,
    max_depth: int | None = None,
    inputs: Any = None,
    saturate: Mapping[str, int] | None = None,
    clock: int = 0,
    edges: bool = True,
    layout: Any = "auto",
    chunks: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Graph:
    """Every configuration that a system can reach, breadth-first.

    **Arguments:**

    - `max_configurations`: no more are kept, and no more than some 2^29. The graph says when there
      are more.
    - `max_depth`: configurations at this distance from the initial one are not expanded.
    - `inputs`: input trains by neuron instead of the system's own, or `AnyInput(length)`.
    - `saturate`: neurons without rules whose spikes are counted up to a number only; a count there
      means so many or more. It makes many an unbounded system finite, and changes nothing else.
    - `clock`: up to this step configurations of different steps are told apart.
    - `edges`: keep every choice, not only one shortest path to each configuration.
    - `layout`: how synapses are stored, see `snpjax.run`.
    - `chunks`: how many successors are made at once, ascending; changes the speed only.
    - `progress`: called with the number of configurations and the depth now and then.

    **Returns:** a `Graph`, whose `stop` says whether it is complete.

    **Raises:** `ValueError` for inputs, neurons or limits that do not fit the system.
    """
    if max_configurations < 1 or (max_depth is not None and max_depth < 0):
        raise ValueError(
            f"`max_configurations` is {max_configurations} and `max_depth` {max_depth}. Give at "
            "least 1 configuration, and a depth of 0 or more."
        )
    if chunks is not None and (list(chunks) != sorted(chunks) or not chunks or chunks[0] < 1):
        raise ValueError(f"`chunks` is {chunks}. Give ascending sizes, 1 or more.")
    if inputs is not None:
        system = system.with_input(inputs)
    sizes = chunks or (CPU_CHUNKS if jax.default_backend() == "cpu" else GPU_CHUNKS)
    options = {"layout": layout, "saturate": dict(saturate or {}), "clock": clock}
    most = min(max_configurations, MAX_CONFIGURATIONS - 3 * max(sizes))
    search = _Search(system, options, tuple(sizes), most, edges)
    search.run(max_depth, progress)
    return search.graph()


class _Chunk(NamedTuple):
    """Successors that are being made."""

    base: int
    num: int
    size: int
    made: Made


@dataclass
class _Kept:
    """What is known of the graph on the host, in parts."""

    counts: list[np.ndarray] = field(default_factory=list)
    targets: list[np.ndarray] = field(default_factory=list)
    parents: list[np.ndarray] = field(default_factory=lambda: [np.zeros(1, np.int32)])
    choices: list[np.ndarray] = field(default_factory=lambda: [np.zeros(1, np.uint32)])


class _Search:
    def __init__(
        self,
        system: Any,
        options: dict[str, Any],
        sizes: tuple[int, ...],
        most: int,
        edges: bool,
    ) -> None:
        self.system = system
        self.options = options
        self.given_sizes = sizes
        self.most = most
        self.edges = edges
        self.lower(None)
        self.memory = Memory.first(self.machine, sizes[0])
        self.kept = _Kept()
        self.num = 1
        self.tight_from = _LARGE_FROM
        self.depth_starts = [0, 1]
        self.stop = Stop.COMPLETE

    def lower(self, at_least: np.dtype | None) -> None:
        self.machine = self.system.searched(**self.options, at_least=at_least)
        self.choosers = jnp.asarray(self.machine.choosers())
        self.sizes = fitting_sizes(self.machine, self.given_sizes)

    def run(self, max_depth: int | None, progress: Callable[[int, int], None] | None) -> None:
        """Level by level."""
        starts = self.depth_starts
        while starts[-2] < starts[-1] and self.stop is Stop.COMPLETE:
            if max_depth is not None and len(starts) - 2 >= max_depth:
                self.stop = Stop.MAX_DEPTH
                return
            low, high = starts[-2:]
            while low < high and self.stop is Stop.COMPLETE:
                low = self._expand(low, high)
                if progress is not None:
                    progress(self.num, len(starts) - 2)
            if self.num == starts[-1]:
                return
            starts.append(self.num)

    def _expand(self, low: int, high: int) -> int:
        """Expand a block of configurations from `low` on; the next one to expand."""
        size = self._size(high - low, at_least=1)
        num = min(size, high - low)
        if not self._reserve(size):
            self.stop = Stop.OUT_OF_MEMORY
            return low
        words = rows(self.memory.space.store, np.int32(low), size=size)
        while True:
            block = frontier(self.machine, self.choosers, self.memory.packing, words, np.int32(num))
            total = int(block.total)
            if not bool(block.is_too_much):
                break
            if num == 1:
                self.stop = Stop.TOO_MANY_CHOICES
                return low
            num = max(num // 8, 1)
        end = self._put_all(block, low, total)
        if end is None:
            end = low + num
        self.kept.counts.append(_own(block.counts, end - low))
        return end

    def _size(self, wanted: int, at_least: int) -> int:
        """How many to look at together: so many, if that is a size."""
        sizes = [size for size in self.sizes if size >= at_least]
        if self.num < _LARGE_FROM:
            sizes = sizes[:1]
        return next((size for size in sizes if size >= wanted), sizes[-1])

    def _put_all(self, block: Block, low: int, total: int) -> int | None:
        """Make all successors of a block. Where that is stopped, the parent which is not done."""
        making: deque[_Chunk] = deque()
        waiting: deque[tuple[_Chunk, Outcome]] = deque()
        base = 0  # the first choice that was not begun
        while True:
            while base < total and len(making) < _AHEAD:
                # No chunk is smaller than the block, so that few pairs of sizes are compiled.
                size = self._size(total - base, at_least=len(block.ends))
                if self.num >= self.tight_from:
                    if making or waiting:  # which are in the words there are
                        break
                    self._tighten(size)
                if not self._reserve(size):
                    break  # what is being made may bring less than it could
                making.append(self._make(block, low, base, size, total))
                base = min(base + size, total)
            while making and len(waiting) < _AHEAD:
                one = making.popleft()
                waiting.append((one, self._put(one)))
            if not waiting:
                break
            one, outcome = waiting.popleft()
            numbers = Numbers(*np.asarray(outcome.numbers).tolist())
            if not numbers.was_put:  # nor was any after it
                base = one.base
                making.clear()
                waiting.clear()
                self.memory.most_num = self.num
                if not self._widen(one, outcome, numbers):
                    break
                continue
            self._keep(one, outcome, numbers)
            if numbers.left_out < NO_ONE:  # which is before a failure of the same chunk
                self.stop = Stop.MAX_CONFIGURATIONS
                return numbers.left_out
            if numbers.failed < NO_ONE:
                self.stop = Stop.OVERFLOW
                return numbers.failed
        if base < total:
            self.stop = Stop.OUT_OF_MEMORY
            return low + int(np.searchsorted(np.asarray(block.ends), base, side="right"))
        return None

    def _make(self, block: Block, low: int, base: int, size: int, total: int) -> "_Chunk":
        num = min(size, total - base)
        self.memory.most_num += num
        given = (
            self.machine,
            self.choosers,
            self.memory.packing,
            block,
            np.int32(low),
            np.int32(base),
        )
        return _Chunk(base, num, size, successors(*given, chunk=size))

    def _put(self, one: "_Chunk") -> Outcome:
        self.memory.space, outcome = put(
            self.memory.packing,
            self.memory.space,
            one.made,
            np.int32(self.most),
            np.bool_(self.machine.wider is None),
        )
        for x in jax.tree.leaves((outcome.news, outcome.targets if self.edges else ())):
            x.copy_to_host_async()
        return outcome

    def _keep(self, one: _Chunk, outcome: Outcome, numbers: Numbers) -> None:
        """Take over what a chunk brought."""
        self.memory.most_num -= one.num - numbers.num_new
        self.num += numbers.num_new
        parents, choices = outcome.news
        self.kept.parents.append(_own(parents, numbers.num_new))
        self.kept.choices.append(_own(choices, numbers.num_new))
        if self.edges:
            self.kept.targets.append(_own(outcome.targets, one.num))

    def _reserve(self, chunk: int) -> bool:
        """Room for a chunk, or the end of the search."""
        needed = self.memory.bytes_to_reserve(chunk)
        if needed:
            free = free_bytes()
            if free is not None and needed > free:
                return False
            self.memory.reserve(chunk)
        return True

    def _tighten(self, chunk: int) -> None:
        """Fewer words, if that is much."""
        self.tight_from = _TIGHT_AGAIN * self.num
        most = np.maximum(_with_room(self.memory.most()), np.asarray(self.machine.usual))
        packing = Packing.fitting(most)
        if packing.num_words <= 0.75 * self.memory.packing.num_words and self._has_room(packing):
            self.memory.repack(packing, chunk)

    def _widen(self, one: _Chunk, outcome: Outcome, numbers: Numbers) -> bool:
        """Take larger numbers, where those of a chunk did not fit; whether there is memory."""
        if numbers.fits:
            assert self.machine.wider is not None
            self.lower(self.machine.wider)
            self.memory.dtype = fields_dtype(self.machine)
        else:
            # What grew may grow on.
            grown = _with_room(np.asarray(outcome.most).astype(np.uint32))
            packing = Packing.fitting(np.maximum(grown, self.memory.most()))
            if not self._has_room(packing):
                return False
            self.memory.repack(packing, one.size)
        self.memory.go_on()
        return True

    def _has_room(self, packing: Packing) -> bool:
        free = free_bytes()
        return free is None or self.memory.bytes_to_repack(packing) <= free

    def graph(self) -> Graph:
        kept = self.kept
        counts = np.concatenate([np.zeros(0, np.int32), *kept.counts])
        first_edge = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        targets = None
        if self.edges:
            targets = np.concatenate([np.zeros(0, np.int32), *kept.targets])[: first_edge[-1]]
        return Graph(
            system=self.system,
            machine=self.machine,
            packing=self.memory.packing,
            words=self.memory.space.store,
            depth_starts=np.asarray(self.depth_starts),
            first_edge=first_edge,
            targets=targets,
            parents=np.concatenate(kept.parents),
            parent_choices=np.concatenate(kept.choices),
            stop=self.stop,
            saturate=self.options["saturate"],
            clock=self.options["clock"],
        )


def fitting_sizes(machine: Enumerable, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of chunks for which there is memory, in any case the smallest."""
    free = free_bytes()
    if free is None:
        return sizes
    init = jax.eval_shape(machine.init)
    alternatives = jax.eval_shape(machine.alternatives, init)
    # What one successor takes while it is made: some arrays like its fields, one of alternatives.
    each = _ARRAYS * sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(init))
    each += alternatives.size
    return tuple(size for size in sizes if size == sizes[0] or size * each <= free // 4)


def _own(array: jax.Array, num: int) -> np.ndarray:
    """The first ones, without keeping many others alive."""
    some = np.asarray(array)[:num]
    return some if 2 * num >= len(array) else some.copy()


def _with_room(most: np.ndarray) -> np.ndarray:
    """A bit more for each; a negative number is a large one, and takes all bits there are."""
    return np.where(most < 2**31, 2 * most, most)
