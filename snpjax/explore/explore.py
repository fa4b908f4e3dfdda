"""`explore`: the driver of the search, on the host."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Generic, NamedTuple, TypeAlias

import jax
import numpy as np
from jax.sharding import Mesh

from ..lowering import as_integer, refuse_tracers, taken
from ..machine import (
    AbstractCapacity,
    ConfigurationsT,
    Explorable,
    InputEnvironment,
    LayoutLike,
    Lowered,
    LoweringOptions,
    StepsT,
    TakesInput,
)
from ..scale.hosts import check_agreement
from ..scale.mesh import CONFIGURATIONS, placement
from .edges import GraphEdges
from .extent import MAX_CONFIGURATIONS
from .graph import Graph, Stop
from .search import (
    NO_ONE,
    ChunkNumbers,
    FrontierBlock,
    Made,
    Outcome,
    Part,
    frontier,
    largest,
    put,
    rows,
    successors,
)
from .searched import SearchedModel, SearchOptions, fitting
from .sharded import ShardedSearch
from .space import Memory
from .stored import OneStore


#: How many successors are made at once; small graphs share the compilations of the smallest.
#: Larger ones leave the caches of a CPU.
CPU_CHUNKS = (2**8, 8000)
GPU_CHUNKS = (2**12, 2**21)

#: Input trains by neuron, or an environment that may send any.
Inputs: TypeAlias = Mapping[str, Sequence[int]] | InputEnvironment

# Chunks that the device works on while the host looks at the ones before.
_AHEAD = 2

# A block with too many choices is followed by one with this many times fewer configurations.
_FEWER = 8


def explore(
    system: Explorable[ConfigurationsT, StepsT],
    /,
    *,
    max_configurations: int = 1_000_000,
    max_depth: int | None = None,
    inputs: Inputs | None = None,
    saturate: Mapping[str, int] | None = None,
    clock: int = 0,
    edges: bool = True,
    layout: LayoutLike = "auto",
    capacity: AbstractCapacity | None = None,
    chunks: Sequence[int] | None = None,
    mesh: Mesh | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Graph[ConfigurationsT, StepsT]:
    """Every configuration that a system can reach, breadth-first.

    **Arguments:**

    - `system`: a system, a net, or any other model that is `snpjax.machine.Explorable`.
    - `max_configurations`: no more are kept, and no more than some 1.4 * 10^9 on each device. The
      graph says when there are more.
    - `max_depth`: configurations at this distance from the initial one are not expanded.
    - `inputs`: input trains by neuron instead of the system's own, or `AnyInput(length)`.
    - `saturate`: neurons without rules whose spikes are counted up to a number only; a count there
      means that many or more. It makes many unbounded systems finite, and changes nothing else.
      Where neurons divide or bud these are labels without rules, and each neuron is cut by itself.
    - `clock`: up to this step configurations of different steps are told apart.
    - `edges`: keep every choice, not only one shortest path to each configuration.
    - `layout`, `capacity`: how the system is stored, see `snpjax.run`.
    - `chunks`: how many successors are made at once, ascending; changes the speed only.
    - `mesh`: devices with an axis `configurations` over which the configurations are spread, each
      with the one that a hash says. The graph is the same, and so are all its numbers. Of several
      processes each makes the same calls, also of the graph.
    - `progress`: called with the number of configurations and the depth now and then.

    **Returns:** a `Graph`, whose `stop` says whether it is complete.

    **Raises:** `ValueError` for inputs, neurons or limits that do not fit the system; `TypeError`
    for what is no model.
    """
    if not isinstance(system, Explorable):
        fix = "Pass a system, a net, or a model with `enumerable` and `schema`."
        if isinstance(system, Lowered):
            fix = "Pass the model itself, `lowered.model`."
        raise TypeError(f"A {type(system).__name__} cannot be explored. {fix}")
    given = (system, max_configurations, max_depth, inputs, saturate, clock)
    refuse_tracers("explore", "simulate(lowered.machine, state, choice, max_steps=...)", given)
    max_configurations = as_integer("max_configurations", max_configurations)
    max_depth = None if max_depth is None else as_integer("max_depth", max_depth)
    clock = as_integer("clock", clock)
    if saturate is not None and not isinstance(saturate, Mapping):
        raise TypeError(f"`saturate` is {saturate!r:.60}. Give numbers by neuron, {{'name': 3}}.")
    if max_configurations < 1 or (max_depth is not None and max_depth < 0):
        raise ValueError(
            f"`max_configurations` is {max_configurations} and `max_depth` {max_depth}. Give at "
            "least 1 configuration, and a depth of 0 or more."
        )
    if chunks is not None and (list(chunks) != sorted(chunks) or not chunks or chunks[0] < 1):
        raise ValueError(f"`chunks` is {chunks}. Give ascending sizes, 1 or more.")
    if inputs is not None:
        system = with_inputs(system, inputs)
    sizes = chunks or (CPU_CHUNKS if jax.default_backend() == "cpu" else GPU_CHUNKS)
    lowering: LoweringOptions = {}
    if layout != "auto":
        lowering["layout"] = layout
    if capacity is not None:
        lowering["capacity"] = capacity
    taken(system, system.enumerable, "explore", dict(lowering))
    options = SearchOptions(dict(saturate or {}), clock, lowering)
    progress = progress or (lambda num, depth: None)
    mesh, place = placement("explore", mesh, (CONFIGURATIONS,))
    with place:
        model = SearchedModel(system, options, tuple(sizes))
        if mesh is None:
            most = min(max_configurations, MAX_CONFIGURATIONS - 3 * max(sizes))
            search = _Search(model, most, edges, progress)
        else:
            check_agreement(
                "explore",
                model=model.machine,
                max_configurations=max_configurations,
                max_depth=max_depth,
                saturate=options.saturate,
                clock=clock,
                edges=edges,
                chunks=chunks,
            )
            search = ShardedSearch(model, mesh, max_configurations, edges, progress)
        search.run(max_depth)
        return search.graph()


def with_inputs(
    system: Explorable[ConfigurationsT, StepsT], inputs: Inputs
) -> Explorable[ConfigurationsT, StepsT]:
    """The same model with other inputs. **Raises:** `ValueError` for a model without inputs."""
    if not isinstance(system, TakesInput):
        raise ValueError(f"A {type(system).__name__} has no inputs. Leave out `inputs`.")
    if not isinstance(inputs, Mapping | InputEnvironment):
        fix = f"snp.AnyInput({inputs})" if isinstance(inputs, int) else "snp.AnyInput(length)"
        raise TypeError(f"`inputs` is {inputs!r:.60}. Give trains by neuron, or {fix}.")
    return system.with_input(inputs)


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


class _Search(Generic[ConfigurationsT, StepsT]):
    def __init__(
        self,
        model: SearchedModel[ConfigurationsT, StepsT],
        most: int,
        edges: bool,
        progress: Callable[[int, int], None],
    ) -> None:
        self.model = model
        self.most = most
        self.edges = edges
        self.progress = progress
        room = most + 3 * max(model.given_sizes)
        self.memory = Memory.first(model.machine, model.given_sizes[0], room)
        self.counts: list[np.ndarray] = []
        self.targets: list[np.ndarray] = []
        self.is_new: list[tuple[np.ndarray, int]] = []
        self.num = 1
        self.num_expanded = 0
        self.depth_starts = [0, 1]
        self.stop = Stop.COMPLETE

    def run(self, max_depth: int | None) -> None:
        """Level by level."""
        starts = self.depth_starts
        while starts[-2] < starts[-1] and self.stop is Stop.COMPLETE:
            if max_depth is not None and len(starts) - 2 >= max_depth:
                # Without a choice there is nothing that the limit cuts off.
                pieces = self._pieces(*starts[-2:])
                if any(piece.end for piece in pieces) or self.stop is not Stop.COMPLETE:
                    self._end(Stop.MAX_DEPTH, starts[-2])
                return
            self._expand(*starts[-2:])
            if self.num == starts[-1]:
                return
            starts.append(self.num)

    def _expand(self, low: int, high: int) -> None:
        """Expand the configurations of a level. Chunks are made ahead of what the host knows; those
        after one that could not be put in are made again."""
        pieces = self._pieces(low, high)
        todo: deque[_Piece] = deque()
        making: deque[_Chunk] = deque()
        waiting: deque[tuple[_Chunk, Outcome]] = deque()
        while True:
            while len(making) < _AHEAD:
                if not todo:
                    todo.extend(islice(pieces, 1))
                if not todo:
                    break
                chunk = self._chunk_size(todo[0])
                if self.model.is_to_be_tightened(self.num, chunk):
                    if making or waiting:  # which are in the words there are
                        break
                    self._tighten(chunk)
                if not self.memory.reserve(chunk):
                    break  # what is being made may bring less than it could
                making.append(self._make(todo))
            while making and len(waiting) < _AHEAD:
                one = making.popleft()
                waiting.append((one, self._put(one)))
            if not waiting:
                break
            one, outcome = waiting.popleft()
            numbers = ChunkNumbers(*np.asarray(outcome.numbers).tolist())
            if not numbers.was_put:  # nor was any after it
                again = [one, *(chunk for chunk, _ in waiting), *making]
                todo.extendleft(chunk.piece for chunk in reversed(again))
                making.clear()
                waiting.clear()
                self.memory.most_num = self.num
                if not self._widen(one, numbers):
                    break
                continue
            self._keep(one, outcome, numbers)
            self.progress(self.num, len(self.depth_starts) - 2)
            if numbers.left_out < NO_ONE:  # which is before a failure of the same chunk
                return self._end(Stop.MAX_CONFIGURATIONS, numbers.left_out)
            if numbers.failed < NO_ONE:
                stop = Stop.OVERFLOW if numbers.overflows else Stop.CAPACITY
                return self._end(stop, numbers.failed)
        if todo:
            block, low, base, _ = todo[0]
            ended = int(np.searchsorted(np.asarray(block.ends), base, side="right"))
            return self._end(Stop.OUT_OF_MEMORY, low + ended)

    def _end(self, stop: Stop, num_expanded: int) -> None:
        self.stop, self.num_expanded = stop, num_expanded

    def _pieces(self, low: int, high: int) -> Iterator[_Piece]:
        """The choices of a level, block by block, the device being one ahead."""
        wanted: deque[tuple[int, int, FrontierBlock]] = deque()
        most = high - low
        while low < high or wanted:
            while low < high and len(wanted) < _AHEAD:
                size = self.model.size(self.num, min(high - low, most), at_least=1)
                num = min(size, high - low, most)
                words = rows(self.memory.space.store, np.int32(low), size=size)
                given = (self.model.choosers, self.memory.packing, words, np.int32(num))
                wanted.append((low, num, frontier(self.model.machine, *given)))
                low += num
            first, num, block = wanted.popleft()
            total = int(block.total)
            if total >= 0:
                self.num_expanded = first + num
                self.counts.append(_own(block.counts, num))
                most *= _FEWER
                yield _Piece(block, first, 0, total)
            elif num == 1:
                return self._end(Stop.TOO_MANY_CHOICES, first)
            else:
                low, most = first, max(num // _FEWER, 1)
                wanted.clear()

    def _chunk_size(self, piece: _Piece) -> int:
        # No chunk is smaller than its block, so that few pairs of sizes are compiled.
        wanted = piece.end - piece.base
        return self.model.size(self.num, wanted, at_least=len(piece.block.ends))

    def _make(self, todo: deque[_Piece]) -> _Chunk:
        """Make the first of what is to be made."""
        piece = todo.popleft()
        size = self._chunk_size(piece)
        if piece.end - piece.base > size:
            end = piece.base + size
            todo.appendleft(piece._replace(base=end))
            piece = piece._replace(end=end)
        self.memory.most_num += piece.end - piece.base
        given = (self.model.machine, self.model.choosers, self.memory.packing, piece.block)
        made = successors(*given, piece.part(), chunk=size)
        return _Chunk(piece, size, made)

    def _put(self, one: _Chunk) -> Outcome:
        self.memory.space, outcome = put(
            self.memory.space,
            one.made,
            np.int32(self.most),
            np.bool_(self.model.encoding.wider is None),
        )
        for x in (outcome.is_new, *((outcome.targets,) if self.edges else ())):
            x.copy_to_host_async()
        return outcome

    def _keep(self, one: _Chunk, outcome: Outcome, numbers: ChunkNumbers) -> None:
        """Take over what a chunk brought."""
        num = one.piece.end - one.piece.base
        self.memory.most_num -= num - numbers.num_new
        self.num += numbers.num_new
        self.is_new.append((np.asarray(outcome.is_new), num))
        if self.edges:
            self.targets.append(_own(outcome.targets, num))

    def _tighten(self, chunk: int) -> None:
        """Fewer words, if that is much."""
        packing = self.model.tight(self.num, self.memory.largest(), self.memory.packing)
        if packing is not None:
            self.memory.repack(packing, chunk)

    def _widen(self, one: _Chunk, numbers: ChunkNumbers) -> bool:
        """Take larger numbers, where those of a chunk did not fit; whether there is memory."""
        packing = self.memory.packing
        if not numbers.fits:
            given = (self.model.machine, self.model.choosers, one.piece.block, one.piece.part())
            packing = fitting(np.asarray(largest(*given, chunk=one.size)), self.memory.largest())
        else:
            packing = self.model.widened(self.num, packing)
        if packing is not self.memory.packing and not self.memory.repack(packing, one.size):
            return False
        self.memory.go_on()
        return True

    def graph(self) -> Graph[ConfigurationsT, StepsT]:
        return Graph(
            system=self.model.system,
            machine=self.model.machine,
            packing=self.memory.packing,
            words=OneStore(self.memory.space.store),
            depth_starts=np.asarray(self.depth_starts),
            edges=GraphEdges(
                self.num_expanded, self.counts, self.targets if self.edges else None, self.is_new
            ),
            stop=self.stop,
            saturate=self.model.options.saturate,
            clock=self.model.options.clock,
            lowering=self.model.options.lowering,
        ).without_redundant_choices()


def _own(array: jax.Array, num: int) -> np.ndarray:
    """The first ones, without keeping many others alive."""
    some = np.asarray(array)[:num]
    return some if 2 * num >= len(array) else some.copy()
