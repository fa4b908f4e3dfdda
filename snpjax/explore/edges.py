"""The edges of a graph, on the host."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Int, UInt8


#: An array of this many numbers.
Allocate: TypeAlias = Callable[[int, type[np.integer]], np.ndarray]


@dataclass(frozen=True, eq=False, repr=False)
class GraphEdges:
    """The choices of a graph in the parts in which a search found them. They are put together when
    they are requested, which takes as long as a search on a GPU does.

    - `num_sources`: configurations that have all their edges.
    - `counts`: the edges of each configuration; parts and configurations that are too many are cut.
    - `reached`: the configuration that each edge leads to, if that was kept.
    - `is_new`: a bit for each edge, whether it was the first to reach a configuration, and how many
      edges a part has.
    - `numbers`: those of the choices, where not every choice is an edge, see `choices`.
    - `allocate`: arrays that are as large as the graph.
    """

    num_sources: int
    counts: list[Int[np.ndarray, " _sources"]]
    reached: list[Int[np.ndarray, " _edges"]] | None
    is_new: list[tuple[UInt8[np.ndarray, " _bytes"], int]]
    numbers: Int[np.ndarray, " all_edges"] | None = None
    allocate: Allocate = np.empty

    @cached_property
    def first(self) -> Int[np.ndarray, " sources_and_one"]:
        """The edges of source i are `first[i]` to `first[i + 1]`."""
        first = self.allocate(self.num_sources + 1, np.int64)
        first[0] = 0
        np.cumsum(self.known_counts[: self.num_sources], out=first[1:])
        return first

    @property
    def known_counts(self) -> Int[np.ndarray, " counted"]:
        """The edges of each configuration whose choices were counted, also of some that have not
        all their edges here."""
        return self._joined(self.counts, np.int32)

    @cached_property
    def targets(self) -> Int[np.ndarray, " edges"] | None:
        """The configuration that each edge leads to."""
        if self.reached is None:
            return None
        return self._joined(self.reached, np.int32)[: self.first[-1]]

    def choices(
        self, edges: Int[np.ndarray, " some"], sources: Int[np.ndarray, " some"]
    ) -> Int[np.ndarray, " some"]:
        """The numbers that the search has given to the choices of some edges, from 0 for each
        source."""
        return edges - self.first[sources] if self.numbers is None else self.numbers[edges]

    def subset(
        self, kept: Bool[np.ndarray, " all_edges"], numbers: Int[np.ndarray, " all_edges"]
    ) -> "GraphEdges":
        """Without some edges, none of which was the first to reach a configuration; `numbers` are
        those of their choices."""
        bits = [np.unpackbits(bits, count=num) for bits, num in self.is_new]
        is_new = np.concatenate([np.zeros(0, np.uint8), *bits])[kept]
        own = kept[: self.first[-1]]
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(own)])
        targets = self.targets
        return GraphEdges(
            self.num_sources,
            [np.diff(before[self.first]).astype(np.int32)],
            None if targets is None else [targets[own]],
            [(np.packbits(is_new), len(is_new))],
            numbers[kept],
        )

    @property
    def num_all(self) -> int:
        """With those that continue after the last source."""
        return sum(num for _, num in self.is_new)

    @cached_property
    def found_by(self) -> Int[np.ndarray, " found"]:
        """The edge that was the first to reach each configuration but the initial one. The last
        may be edges of a configuration that has not all its edges here, and continue after them."""
        sizes = (int(np.bitwise_count(bits).sum(dtype=np.int64)) for bits, _ in self.is_new)
        found = self.allocate(sum(sizes), np.int64)
        start = at = 0
        for bits, num in self.is_new:
            own = np.flatnonzero(np.unpackbits(bits, count=num))
            np.add(own, start, out=found[at : at + len(own)])
            start, at = start + num, at + len(own)
        return found

    def _joined(self, parts: list[np.ndarray], dtype: type[np.integer]) -> np.ndarray:
        if len(parts) == 1:
            return parts[0]
        parts = [np.zeros(0, dtype), *parts]
        found = self.allocate(sum(map(len, parts)), np.result_type(*parts).type)
        return np.concatenate(parts, out=found)


def chunks_of(
    parts: list[UInt8[np.ndarray, " _bytes"]], sizes: list[int]
) -> Iterator[tuple[UInt8[np.ndarray, " _bytes"], int]]:
    """The bits of chunks of edges, those of each from a byte on, and how many it has."""
    at, left = 0, deque(parts)
    for size in sizes:
        end = at + -(-size // 8)
        while left and at == len(left[0]):
            left.popleft()
            at, end = 0, end - at
        yield (left[0][at:end] if size else np.zeros(0, np.uint8)), size
        at = end
