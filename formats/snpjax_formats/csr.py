"""Compressed sparse rows: the edges of each target one after another."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Integer, Num

from .degree_profile import DegreeProfile
from .edges import Edges
from .entries import entries_needed, entry_products, weighted_entries
from .layout import AbstractLayout, BySource, ByTarget, check_shape, refuse
from .stored import (
    device_array,
    index_array,
    index_bytes,
    storable,
    too_long,
    value_array,
    value_bytes,
)


class CSR(AbstractLayout):
    """Pull form of compressed sparse rows, a row a target: the compact form for uneven in-degrees.

    Axes: `rows` is the number of targets + 1, `entries` the number of edges rounded to a bucket.
    Padding holds `num_sources`, which gathers as 0, behind the last row.

    Integers are summed by prefix sums and differences, which is exact even where the running sum
    wraps; floats by sorted segments, since differences of long sums lose digits. XLA has no good
    kernel for either: this form is for memory, not for speed. With a batch even that is lost: its
    products, entries x batch numbers, are stored at once, where ELL stores none.
    """

    row_ptr: Int[Array, " rows"]
    sources: Integer[Array, " entries"]
    values: Num[Array, " entries"] | None  # None: every edge weighs 1
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        if self.row_ptr.shape != (self.num_targets + 1,):
            raise ValueError(
                f"`row_ptr` has shape {self.row_ptr.shape} but `num_targets` is {self.num_targets}."
            )
        check_shape("values", self.values, "sources", self.sources.shape)

    @classmethod
    def from_edges(
        cls, edges: Edges, *, max_input: int | None = None, profile: DegreeProfile | None = None
    ) -> "CSR":
        """As in `AbstractLayout`, with the shape of a `profile`."""
        del max_input
        edges = storable(edges)
        refuse(cls.obstacle(edges))
        row_ptr = np.searchsorted(edges.target, np.arange(edges.num_targets + 1))
        length = entries_needed(edges, profile)
        return cls(
            row_ptr=device_array(row_ptr.astype(np.int32)),
            sources=index_array(edges.source, edges.num_sources, length),
            values=value_array(edges.value, length),
            **edges.sizes,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        index = index_bytes(edges.num_sources)
        return 4 * (edges.num_targets + 1) + entries_needed(edges) * (index + value_bytes(edges))

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        del max_input
        return too_long(cls, entries_needed(edges), "entries")

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        products = weighted_entries(self.sources, self.values, x, accumulate)
        if jnp.issubdtype(accumulate, jnp.integer):
            sums = jnp.cumsum(products, axis=0, dtype=accumulate)
            zero = jnp.zeros((1, *sums.shape[1:]), accumulate)
            sums = jnp.concatenate([zero, sums])
            return sums[self.row_ptr[1:]] - sums[self.row_ptr[:-1]]
        return jax.ops.segment_sum(
            products, self._targets(), self.num_targets, indices_are_sorted=True
        )

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        products = weighted_entries(self._targets(), self.values, g, accumulate)
        zeros = jnp.zeros((self.num_sources, *g.shape[1:]), accumulate)
        return zeros.at[self.sources].add(products, mode="drop")

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, " entries"]:
        return entry_products(self.sources, self._targets(), x, g)

    def edges(self) -> Edges:
        row_ptr = np.asarray(self.row_ptr)
        count = row_ptr[-1]
        target = np.repeat(np.arange(self.num_targets, dtype=np.int32), np.diff(row_ptr))
        value = None if self.values is None else np.asarray(self.values)[:count]
        return self.listed(np.asarray(self.sources)[:count], target, value)

    def _targets(self) -> Int[Array, " entries"]:
        """The target of each entry; padding has `num_targets`."""
        entries = jnp.arange(self.sources.shape[0], dtype=jnp.int32)
        return jnp.searchsorted(self.row_ptr, entries, side="right").astype(jnp.int32) - 1
