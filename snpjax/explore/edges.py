"""The edges of a graph, on the host."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int, UInt8


@dataclass(frozen=True, eq=False, repr=False)
class Edges:
    """The choices of a graph in the parts in which a search found them. They are put together when
    they are asked for, which takes as long as a search on a GPU does.

    - `num_sources`: configurations that have all their edges.
    - `counts`: the edges of each configuration; parts and configurations that are too many are cut.
    - `reached`: the configuration that each edge leads to, if that was kept.
    - `is_new`: a bit for each edge, whether it was the first to reach a configuration, and how many
      edges a part has.
    """

    num_sources: int
    counts: list[Int[np.ndarray, " sources"]]
    reached: list[Int[np.ndarray, " edges"]] | None
    is_new: list[tuple[UInt8[np.ndarray, " bytes"], int]]

    @cached_property
    def first(self) -> Int[np.ndarray, " sources_and_one"]:
        """The edges of source i are `first[i]` to `first[i + 1]`."""
        first = np.zeros(self.num_sources + 1, np.int64)
        np.cumsum(_joined(self.counts, np.int32)[: self.num_sources], out=first[1:])
        return first

    @cached_property
    def targets(self) -> Int[np.ndarray, " edges"] | None:
        """The configuration that each edge leads to."""
        if self.reached is None:
            return None
        return _joined(self.reached, np.int32)[: self.first[-1]]

    @cached_property
    def found_by(self) -> Int[np.ndarray, " found"]:
        """The edge that was the first to reach each configuration but the initial one. The last
        may be edges of a configuration that has not all its edges here, and go on after them."""
        starts = np.cumsum([0, *(num for _, num in self.is_new)])
        parts = [
            start + np.flatnonzero(np.unpackbits(bits, count=num))
            for start, (bits, num) in zip(starts.tolist(), self.is_new, strict=False)
        ]
        return _joined(parts, np.int64)


def _joined(parts: list[np.ndarray], dtype: type[np.integer]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *parts])
