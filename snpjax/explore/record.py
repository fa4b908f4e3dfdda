"""What a search has found, but for the words of configurations."""

from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from .edges import GraphEdges, chunks_of
from .graph import Graph, Stop
from .host_arrays import HostArrays
from .packing import Packing
from .searched import SearchedModel
from .stored import StoredWords


class SearchRecord:
    """The numbers and the edges of a search, on the host.

    - `num`: configurations; `num_expanded`: those that have all their edges.
    - `depth_starts`: where levels begin, up to the end of the one that is followed.
    - `stop`: why the search ended.
    - `counts`, `targets`: as in `GraphEdges`; counts may be those of configurations whose edges are
      not here yet.
    - `is_new`: bits of edges, those of each chunk from a byte on; `chunk_sizes`: edges of chunks.
    """

    def __init__(self, host: HostArrays, *, edges: bool, most: int) -> None:
        self.host = host
        self.num = 1
        self.num_expanded = 0
        self.depth_starts = [0, 1]
        self.stop = Stop.COMPLETE
        self.counts = host.array(np.int32)
        self.targets = host.array(np.int32 if most < 2**31 else np.int64) if edges else None
        self.is_new = host.array(np.uint8)
        self.chunk_sizes: list[int] = []
        self.num_edges = 0
        self._followed = 0, 0  # configurations, and their edges

    def keep(
        self,
        num_new: int,
        is_new: UInt8[np.ndarray, " bytes"],
        num_edges: int,
        targets: Int[np.ndarray, " edges"] | None,
    ) -> None:
        """Take over a chunk of edges. This does not fail."""
        self.num += num_new
        self.num_edges += num_edges
        self.is_new.append(is_new)
        self.chunk_sizes.append(num_edges)
        if self.targets is not None and targets is not None:
            self.targets.append(targets)

    def followed(self) -> tuple[int, int]:
        """How many configurations have all their edges here, and how many edges the next one has
        already."""
        first, before = self._followed
        ends = before + np.cumsum(self.counts.block(first, len(self.counts)), dtype=np.int64)
        more = int(np.searchsorted(ends, self.num_edges, side="right"))
        before = int(ends[more - 1]) if more else before
        self._followed = first + more, before
        return first + more, self.num_edges - before

    def end(self, stop: Stop, num_expanded: int) -> None:
        self.stop, self.num_expanded = stop, num_expanded

    def graph(
        self, model: SearchedModel, packing: Packing, words: StoredWords, **more: Any
    ) -> Graph:
        """The graph, of which these are the words."""
        self.host.finish()
        starts = self.depth_starts
        edges = GraphEdges(
            self.num_expanded,
            self.counts.parts(),
            None if self.targets is None else self.targets.parts(),
            list(chunks_of(self.is_new.parts(), self.chunk_sizes)),
            allocate=self.host.empty,
        )
        return Graph(
            system=model.system,
            machine=model.machine,
            packing=packing,
            words=words,
            depth_starts=np.asarray([*starts, self.num] if self.num > starts[-1] else starts),
            edges=edges,
            stop=self.stop,
            saturate=model.options.saturate,
            clock=model.options.clock,
            lowering=model.options.lowering,
            **more,
        ).without_redundant_choices()
