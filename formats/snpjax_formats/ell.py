"""ELLPACK by target: each target lists its sources."""

import operator
from functools import partial, reduce
from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Integer, Num

from .degree_profile import DegreeProfile
from .edges import MAX_INDEX, Edges
from .layout import AbstractGeneralLayout, BySource, ByTarget, check_columns, check_shape
from .stored import device_array, index_bytes, index_dtype, slot_bucket, storable, value_bytes


# Up to here the slots of a CPU delivery are unrolled in the program; beyond, a loop keeps
# compilation short.
_MAX_UNROLLED_SLOTS = 16

# On a GPU, up to here the slots are one sum; the sum over more is written as one over parts of so
# many slots, the first of these that divides them. H200, us: of a batch of 64, 16,384 rows x 96,
# one sum 475, parts of 32 slots 95, of 24 126, of 16 229, of 8 195; 20,000 rows x 24 with weights
# 68, and 22 of 8. Of one x where indices have 16 bits, with weights and without: 8,000 rows x 2,048
# 70 and 92, parts of 8 39 and 20, of 16 44 and 22; 20,000 x 1,024 79 and 51, 51 and 33, 149 and 30;
# 60,000 x 128 38 and 40, 28 and 22, 33 and 23. In 32 bits parts of 16 took 0.4 to 3 times as long
# (jax 0.11.2, 2026-11).
_MOST_SUMMED_SLOTS = 16
_PART_SLOTS = (32, 24, 16, 8)
_PART_SLOTS_OF_ONE = (8,)  # and none of indices of 32 bits

# Products of a batch that are scattered at once on a GPU, which may store them: 256 MB of int32. Of
# more each slot takes as long as its products, so that slot by slot costs little: 98,304 rows x 6,
# batch of 64, 38M products, 0.26 ms against 0.20 (H200, jax 0.11.2, 2026-11).
_MOST_SCATTERED = 2**26


class AbstractELL(AbstractGeneralLayout):
    """A layout in which each target lists its sources, slot by slot."""

    sources: eqx.AbstractVar[Integer[Array, "slots targets"]]
    values: eqx.AbstractVar[Num[Array, "slots targets"] | None]

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return gather_sum(self.sources, self.values, x, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return scatter_sum(self.sources, self.values, g, self.num_sources, accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "slots targets"]:
        products = gathered(x, self.sources) * g[None]
        return jnp.sum(products, axis=range(2, products.ndim))

    def edges(self) -> Edges:
        target, source, value = in_slots(self.sources, self.values, self.num_sources)
        return self.listed(source, target, value).canonical()


class ELL(AbstractELL):
    """Pull form of ELLPACK: each target lists its sources, slot by slot (Bell & Garland 2009).

    Axes: `slots` is the largest in-degree rounded to a bucket, `targets` the number of targets.
    Padding holds `num_sources`, which gathers as 0. No write conflicts, so it is deterministic;
    best when in-degrees are even.
    """

    sources: Integer[Array, "slots targets"]
    values: Num[Array, "slots targets"] | None  # None: every edge weighs 1
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        check_columns("sources", self.sources, "num_targets", self.num_targets)
        check_shape("values", self.values, "sources", self.sources.shape)

    @classmethod
    def from_edges(
        cls, edges: Edges, *, max_input: int | None = None, profile: DegreeProfile | None = None
    ) -> "ELL":
        """As in `AbstractLayout`, with the shape of a `profile`."""
        del max_input
        sources, values = _table(storable(edges), profile)
        return cls(sources=device_array(sources), values=device_array(values), **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        index = index_bytes(edges.num_sources)
        return slots_needed(edges) * edges.num_targets * (index + value_bytes(edges))


def _table(edges: Edges, profile: DegreeProfile | None) -> tuple[np.ndarray, np.ndarray | None]:
    """The slots of a canonical graph, on the host."""
    slot = slots_of(edges.target, edges.num_targets)
    shape = slots_needed(edges, profile), edges.num_targets
    place = slot, edges.target
    return slot_table(shape, place, edges.source, edges.value, edges.num_sources)


def slot_table(
    shape: tuple[int, int],
    place: tuple[Int[np.ndarray, " edges"], Int[np.ndarray, " edges"]],
    column: Int[np.ndarray, " edges"],
    value: Num[np.ndarray, " edges"] | None,
    padding: int,
) -> tuple[Integer[np.ndarray, "slots rows"], Num[np.ndarray, "slots rows"] | None]:
    """Columns and weights at their slots and rows, on the host."""
    columns = np.full(shape, padding, index_dtype(padding))
    columns[place] = column
    if value is None:
        return columns, None
    values = np.zeros(shape, value.dtype)
    values[place] = value
    return columns, values


def in_slots(
    columns: Integer[Array, "slots rows"], values: Num[Array, "slots rows"] | None, padding: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Row, column and weight of what is not a padding."""
    column = np.asarray(columns)
    row, slot = np.nonzero(column.T != padding)
    return row, column[slot, row], None if values is None else np.asarray(values)[slot, row]


def slots_of(sorted_rows: Int[np.ndarray, " edges"], num_rows: int) -> Int[np.ndarray, " edges"]:
    """The place of each edge within its row."""
    index = np.int32 if len(sorted_rows) <= MAX_INDEX else np.int64  # half the bytes, if it can
    slot = np.arange(len(sorted_rows), dtype=index)
    starts = np.searchsorted(sorted_rows, np.arange(num_rows)).astype(index)
    slot -= starts[sorted_rows]
    return slot


def stable_order(rows: Int[np.ndarray, " edges"]) -> Int[np.ndarray, " edges"]:
    """The edges in the order of their rows, those of one row as they were."""
    if len(rows) > MAX_INDEX:
        return np.argsort(rows, kind="stable")
    key = rows.astype(np.int64)
    key <<= 32
    key += np.arange(len(rows), dtype=np.int32)
    key.sort()  # faster than an argsort, in fewer bytes
    return key.astype(np.int32)  # the lower half


def gathered(x: Num[Array, "columns *batch"], indices: Integer[Array, "..."]) -> Num[Array, "..."]:
    """x at the indices; one past the end reads 0, also where x is empty."""
    if x.shape[0] == 0:
        return jnp.zeros((*indices.shape, *x.shape[1:]), x.dtype)
    return x.at[indices].get(mode="fill", fill_value=0)


def gather_sum(
    indices: Integer[Array, "slots rows"],
    values: Num[Array, "slots rows"] | None,
    x: Num[Array, "columns *batch"],
    accumulate: DTypeLike,
) -> Num[Array, "rows *batch"]:
    """The sum over the slots of `values * x[indices]`; an index past the end reads 0."""
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
    num_slots, num_rows = indices.shape
    sizes = _PART_SLOTS
    if x.ndim == 1:
        sizes = _PART_SLOTS_OF_ONE if indices.dtype == jnp.uint16 else ()
    parts = [n for n in sizes if n < num_slots and num_slots % n == 0]
    if num_slots <= _MOST_SUMMED_SLOTS or not parts:
        return jnp.sum(_gather(indices, values, x, accumulate), axis=0, dtype=accumulate)
    indices = indices.reshape(num_slots // parts[0], parts[0], num_rows)
    if values is not None:
        values = values.reshape(indices.shape)
    terms = (
        _traced_once(indices[:, i], None if values is None else values[:, i], x, accumulate)
        for i in range(parts[0])
    )
    return jnp.sum(reduce(operator.add, terms), axis=0, dtype=accumulate)


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
    of_x = gathered(x, indices).astype(accumulate)
    return of_x if values is None else of_x * expanded(values.astype(accumulate), of_x.ndim)


# Each use of it is the same: 32 of them take as long to trace as a few.
_traced_once = jax.jit(_gather, static_argnums=3, inline=True)


def scatter_sum(
    indices: Integer[Array, "slots columns"],
    values: Num[Array, "slots columns"] | None,
    x: Num[Array, "columns *batch"],
    num_rows: int,
    accumulate: DTypeLike,
) -> Num[Array, "rows *batch"]:
    """The transpose of `gather_sum`: each slot adds `values * x` to the row that it names; an index
    past the end adds to nothing."""
    given = indices, values, x.astype(accumulate)
    total = jnp.zeros((num_rows, *x.shape[1:]), accumulate)
    if x.ndim == 1:
        return _scatter_at_once(total, *given)
    if indices.shape[0] == 1 or indices.shape[0] * x.size > _MOST_SCATTERED:
        # (Of one slot too: 393,216 rows, batch of 64, with the gather 0.29 ms against 0.52.)
        return _scatter_by_slot(total, *given)
    # All slots at once may store slots x columns x batch products. CPU, 10,000 x 16, batch of 32:
    # 1.0 ms slot by slot, against 34 ms and 63 MB (two shared cores, jax 0.10.2, 2026-10). On a GPU
    # each slot is a kernel or two: 16,384 x 96, batch of 8, 0.91 ms, against 0.11; 1,024 x 48,
    # batch of 64, 0.48 against 0.010 (H200, jax 0.11.2, 2026-11).
    return lax.platform_dependent(total, *given, cpu=_scatter_by_slot, default=_scatter_at_once)


def _scatter_at_once(total: Array, indices: Array, values: Array | None, x: Array) -> Array:
    of_x = jnp.broadcast_to(x, (*indices.shape, *x.shape[1:]))
    if values is not None:
        of_x = of_x * expanded(values.astype(x.dtype), of_x.ndim)
    return total.at[indices].add(of_x, mode="drop")


def _scatter_by_slot(total: Array, indices: Array, values: Array | None, x: Array) -> Array:
    def add(slot: Any, total: Array) -> Array:
        of_x = x
        if values is not None:
            of_x = x * expanded(values[slot].astype(x.dtype), x.ndim)
        return total.at[indices[slot]].add(of_x, mode="drop")

    return lax.fori_loop(0, indices.shape[0], add, total)


def expanded(values: Array, ndim: int) -> Array:
    """`values` with batch axes of length 1."""
    return jnp.expand_dims(values, range(values.ndim, ndim))


def slots_needed(edges: Edges, profile: DegreeProfile | None = None) -> int:
    """The slots of each target."""
    most = edges.max_in_degree() if profile is None else profile.max_in_degree
    return slot_bucket(most, edges.num_targets)
