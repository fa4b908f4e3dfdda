"""The interchange form of all layouts: coordinate lists on the host."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Num


MAX_INDEX = np.iinfo(np.int32).max - 1  # one index more is the padding sentinel


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges `source[e] -> target[e]` of weight `value[e]`, on the host (NumPy).

    `value` is `None` when every edge weighs 1 (*iso*). `canonical` sorts by (target, source) and
    sums duplicates; the `edges()` of a layout are canonical.

    **Raises:** `ValueError` for indices out of range, for arrays of different lengths, and for
    sizes whose indices do not fit int32.
    """

    source: Int[np.ndarray, "edges"]
    target: Int[np.ndarray, "edges"]
    value: Num[np.ndarray, "edges"] | None
    num_sources: int
    num_targets: int

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise ValueError(
                f"`source` has {len(self.source)} entries but `target` has {len(self.target)}."
            )
        if self.value is not None and len(self.value) != len(self.source):
            raise ValueError(
                f"`value` has {len(self.value)} entries but there are {len(self.source)} edges."
            )
        for name, index, size in (
            ("source", self.source, self.num_sources),
            ("target", self.target, self.num_targets),
        ):
            if size > MAX_INDEX:
                raise ValueError(f"num_{name}s = {size} does not fit int32 indices.")
            outside = np.flatnonzero((index < 0) | (index >= size))
            if len(outside):
                edge = outside[0]
                raise ValueError(
                    f"Edge {edge} has {name} {index[edge]}, but num_{name}s is {size}."
                )

    def __len__(self) -> int:
        return len(self.source)

    def canonical(self) -> "Edges":
        """The same graph sorted by (target, source), parallel edges summed into one."""
        order = np.lexsort((self.source, self.target))
        source, target = self.source[order], self.target[order]
        value = None if self.value is None else self.value[order]
        starts = np.ones(len(order), dtype=bool)
        starts[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
        if not starts.all():
            value = np.ones(len(order), dtype=np.int32) if value is None else value
            value = _summed(value, np.flatnonzero(starts))
            source, target = source[starts], target[starts]
        return Edges(source, target, value, self.num_sources, self.num_targets)

    def transposed(self) -> "Edges":
        """The same edges reversed."""
        return Edges(self.target, self.source, self.value, self.num_targets, self.num_sources)

    def max_out_degree(self) -> int:
        """The largest number of edges out of one source, parallel edges counted apart."""
        return int(np.bincount(self.source, minlength=1).max(initial=0))

    def max_in_degree(self) -> int:
        """The largest number of edges into one target, parallel edges counted apart."""
        return int(np.bincount(self.target, minlength=1).max(initial=0))


def _summed(value: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums of the runs that begin at `starts`, in the dtype of `value`."""
    total = np.add.reduceat(value, starts)  # NumPy sums small integers in 64 bits
    if np.issubdtype(value.dtype, np.integer):
        limit = np.iinfo(value.dtype)
        if total.max() > limit.max or total.min() < limit.min:
            raise ValueError(f"Parallel edges add up to more than {value.dtype} can hold.")
    return total.astype(value.dtype)
