"""ELLPACK by target: each target lists its sources."""

from functools import partial
from typing import Any

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Num

from .buckets import bucket
from .edges import Edges
from .layout import AbstractLayout, check_shape


# Up to here the slots of a CPU delivery are unrolled in the program; beyond, a loop keeps
# compilation short.
_MAX_UNROLLED_SLOTS = 16


class ELL(AbstractLayout):
    """Pull form of ELLPACK: each target lists its sources, slot by slot (Bell & Garland 2009).

    Axes: `slots` is the largest in-degree rounded to a bucket, `targets` the number of targets.
    Padding holds `num_sources`, which gathers as 0. No write conflicts, so it is deterministic;
    best when in-degrees are even.
    """

    sources: Int[Array, "slots targets"]
    values: Num[Array, "slots targets"] | None  # None: every edge weighs 1
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        if self.sources.shape[1] != self.num_targets:
            raise ValueError(
                f"`sources` has {self.sources.shape[1]} columns but `num_targets` is "
                f"{self.num_targets}."
            )
        check_shape("values", self.values, "sources", self.sources.shape)

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "ELL":
        del max_input
        edges = edges.canonical()
        slots = _num_slots(edges)
        slot = slots_of(edges.target, edges.num_targets)
        sources = np.full((slots, edges.num_targets), edges.num_sources, np.int32)
        sources[slot, edges.target] = edges.source
        values = None
        if edges.value is not None:
            values = np.zeros(sources.shape, edges.value.dtype)
            values[slot, edges.target] = edges.value
            values = jnp.asarray(values)
        return cls(
            sources=jnp.asarray(sources),
            values=values,
            num_sources=edges.num_sources,
            num_targets=edges.num_targets,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        value_bytes = 0 if edges.value is None else edges.value.dtype.itemsize
        return _num_slots(edges) * edges.num_targets * (4 + value_bytes)

    def multiply(
        self, x: Num[Array, "sources *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "targets *batch"]:
        return gather_sum(self.sources, self.values, x, accumulate)

    def multiply_transposed(
        self, g: Num[Array, "targets *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "sources *batch"]:
        g = jnp.broadcast_to(g.astype(accumulate), (self.sources.shape[0], *g.shape))
        if self.values is not None:
            g = g * expanded(self.values.astype(accumulate), g.ndim)
        zeros = jnp.zeros((self.num_sources, *g.shape[2:]), accumulate)
        return zeros.at[self.sources].add(g, mode="drop")

    def edge_products(
        self, x: Num[Array, "sources *batch"], g: Num[Array, "targets *batch"]
    ) -> Num[Array, "slots targets"]:
        products = x.at[self.sources].get(mode="fill", fill_value=0) * g[None]
        return jnp.sum(products, axis=range(2, products.ndim))

    def edges(self) -> Edges:
        sources = np.asarray(self.sources)
        target, slot = np.nonzero(sources.T != self.num_sources)
        value = None if self.values is None else np.asarray(self.values)[slot, target]
        return Edges(
            sources[slot, target],
            target.astype(np.int32),
            value,
            self.num_sources,
            self.num_targets,
        ).canonical()


def slots_of(sorted_rows: Int[np.ndarray, " edges"], num_rows: int) -> Int[np.ndarray, " edges"]:
    """The place of each edge within its row."""
    starts = np.searchsorted(sorted_rows, np.arange(num_rows))
    return np.arange(len(sorted_rows)) - starts[sorted_rows]


def gather_sum(
    indices: Int[Array, "slots rows"],
    values: Num[Array, "slots rows"] | None,
    x: Num[Array, "columns *batch"],
    accumulate: DTypeLike,
) -> Num[Array, "rows *batch"]:
    """The sum over the slots of `values * x[indices]`; an index past the end reads 0."""
    if x.shape[0] == 0:  # nothing to gather from, not even for padding
        return jnp.zeros((indices.shape[1], *x.shape[1:]), accumulate)
    # CPU, 100,000 rows x 16: 2.9 ms slot by slot, 34.6 ms summed, for the sum is not fused with the
    # gather there (two shared cores, jax 0.10.2, 2026-10). GPUs fuse it.
    return lax.platform_dependent(
        indices,
        values,
        x,
        cpu=partial(_slot_by_slot, accumulate=accumulate),
        default=partial(_fused, accumulate=accumulate),
    )


def _fused(indices: Array, values: Array | None, x: Array, accumulate: DTypeLike) -> Array:
    return jnp.sum(_gather(indices, values, x, accumulate), axis=0, dtype=accumulate)


def _slot_by_slot(indices: Array, values: Array | None, x: Array, accumulate: DTypeLike) -> Array:
    def add(slot: Any, total: Array) -> Array:
        value = None if values is None else values[slot]
        return total + _gather(indices[slot], value, x, accumulate)

    num_slots = indices.shape[0]
    total = jnp.zeros((indices.shape[1], *x.shape[1:]), accumulate)
    if num_slots > _MAX_UNROLLED_SLOTS:
        return lax.fori_loop(0, num_slots, add, total)
    for slot in range(num_slots):
        total = add(slot, total)
    return total


def _gather(indices: Array, values: Array | None, x: Array, accumulate: DTypeLike) -> Array:
    gathered = x.at[indices].get(mode="fill", fill_value=0).astype(accumulate)
    return (
        gathered
        if values is None
        else gathered * expanded(values.astype(accumulate), gathered.ndim)
    )


def expanded(values: Array, ndim: int) -> Array:
    """`values` with batch axes of length 1."""
    return jnp.expand_dims(values, range(values.ndim, ndim))


def _num_slots(edges: Edges) -> int:
    # Small graphs share compilations; for large ones padding three sources to eight would cost more
    # than it saves.
    return bucket(edges.max_in_degree(), at_least=4 if edges.num_targets <= 256 else 1)
