"""The interchange form of all layouts: coordinate lists on the host."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float64, Int, Num

from .by_value import ComparedByValue


MAX_INDEX = np.iinfo(np.int32).max - 1  # one index more is the padding sentinel


@dataclass(frozen=True, eq=False)
class Edges(ComparedByValue):
    """Edges `source[e] -> target[e]` of weight `value[e]`, on the host (NumPy).

    `value` is `None` when every edge weighs 1 (*iso*). `canonical` sorts by (target, source) and
    sums duplicates, and sets `is_canonical`; the `edges()` of a layout are canonical.

    **Raises:** `ValueError` for indices out of range, for arrays of different lengths, and for
    sizes whose indices do not fit int32.
    """

    source: Int[np.ndarray, "edges"]
    target: Int[np.ndarray, "edges"]
    value: Num[np.ndarray, "edges"] | None
    num_sources: int
    num_targets: int
    is_canonical: bool = field(default=False, kw_only=True, repr=False)  # set by `canonical` only

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
                raise ValueError(
                    f"num_{name}s = {size:,} does not fit int32 indices. Split the graph into "
                    f"parts of at most {MAX_INDEX:,} {name}s."
                )
            if len(index) and (index.min() < 0 or index.max() >= size):
                edge = np.flatnonzero((index < 0) | (index >= size))[0]
                raise ValueError(
                    f"Edge {edge} has {name} {index[edge]}, but num_{name}s is {size}."
                )

    def __len__(self) -> int:
        return len(self.source)

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of sources and of targets, as arguments of a layout."""
        return {"num_sources": self.num_sources, "num_targets": self.num_targets}

    def canonical(self) -> "Edges":
        """The same graph sorted by (target, source), parallel edges summed into one.

        **Raises:** `ValueError` where such a sum does not fit the type of the weights.
        """
        if self.is_canonical:
            return self
        size = self.num_sources * self.num_targets
        index = np.dtype(np.int32 if size <= np.iinfo(np.int32).max else np.int64)
        key = self.target.astype(index) * index.type(self.num_sources) + self.source.astype(index)
        value = self.value
        if np.all(key[1:] > key[:-1]):
            source = self.source.astype(np.int32, copy=False)
            target = self.target.astype(np.int32, copy=False)
            return replace(self, source=source, target=target, is_canonical=True)
        if np.any(key[1:] < key[:-1]):
            # Sorting the keys themselves is several times faster than a sort of two columns.
            if value is None:
                key.sort()
            else:
                order = np.argsort(key, kind="stable")
                key, value = key[order], value[order]
        starts = np.ones(len(key), dtype=bool)
        np.not_equal(key[1:], key[:-1], out=starts[1:])
        if not starts.all():
            value = np.ones(len(key), dtype=np.int32) if value is None else value
            value = _summed(value, np.flatnonzero(starts))
            key = key[starts]
        target = key // max(self.num_sources, 1)
        source = (key - target * index.type(self.num_sources)).astype(np.int32, copy=False)
        target = target.astype(np.int32, copy=False)
        return replace(self, source=source, target=target, value=value, is_canonical=True)

    def resized(self, num_sources: int, num_targets: int) -> "Edges":
        """The same edges between more nodes.

        **Arguments:**

        - `num_sources`, `num_targets`: the new numbers of nodes.
        """
        return replace(self, num_sources=num_sources, num_targets=num_targets)

    def typed(self, dtype: np.dtype) -> "Edges":
        """The same edges with weights of this type, if they have any."""
        return self if self.value is None else replace(self, value=self.value.astype(dtype))

    def subset(self, chosen: Bool[np.ndarray, " edges"]) -> "Edges":
        """The chosen edges between the same nodes."""
        value = None if self.value is None else self.value[chosen]
        return replace(self, source=self.source[chosen], target=self.target[chosen], value=value)

    def transposed(self) -> "Edges":
        """The same edges reversed."""
        return Edges(self.target, self.source, self.value, self.num_targets, self.num_sources)

    def arrivals(self, x: Float64[np.ndarray, " sources"]) -> Float64[np.ndarray, " targets"]:
        """The sum over the edges into each target of `|value| * x[source]`, for x >= 0: with the
        largest possible x, a bound on what is delivered. Exact below 2^53; `inf` is allowed."""
        terms = x[self.source]
        if self.value is not None:  # 0 times infinity is 0 here
            weight = np.abs(self.value.astype(np.float64))
            terms = np.where(weight == 0, 0.0, weight) * np.where(weight == 0, 0.0, terms)
        # Integers where there are no terms.
        return np.bincount(self.target, terms, self.num_targets).astype(np.float64)

    def max_out_degree(self) -> int:
        """The largest number of edges out of one source, parallel edges counted apart."""
        return int(np.bincount(self.source, minlength=1).max(initial=0))

    def max_in_degree(self) -> int:
        """The largest number of edges into one target, parallel edges counted apart."""
        return int(np.bincount(self.target, minlength=1).max(initial=0))


def merged(parts: Sequence[tuple[Edges, int, int]], num_sources: int, num_targets: int) -> Edges:
    """The edges of several graphs, each with the place of its first source and target among more
    nodes. Weights are promoted to one type."""
    none = np.zeros(0, np.int32)
    dtypes = [edges.value.dtype for edges, _, _ in parts if edges.value is not None]
    value = None
    if dtypes:
        dtype = reduce(jnp.promote_types, dtypes)
        value = np.concatenate(
            [
                np.ones(len(edges), dtype) if edges.value is None else edges.value.astype(dtype)
                for edges, _, _ in parts
            ]
        )
    return Edges(
        np.concatenate([none, *(edges.source + np.int32(start) for edges, start, _ in parts)]),
        np.concatenate([none, *(edges.target + np.int32(start) for edges, _, start in parts)]),
        value,
        num_sources,
        num_targets,
    )


def _summed(value: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums of the runs that begin at `starts`, in the dtype of `value`."""
    total = np.add.reduceat(value, starts)  # NumPy sums small integers in 64 bits
    if np.issubdtype(value.dtype, np.integer):
        limit = np.iinfo(value.dtype)
        # The sum of floats tells where 64 bits would have wrapped.
        about = np.add.reduceat(value.astype(np.float64), starts)
        is_far = np.abs(about) > 2.0**62
        if total.max() > limit.max or total.min() < limit.min or is_far.any():
            raise ValueError(f"Parallel edges add up to more than {value.dtype} can hold.")
    return total.astype(value.dtype)
