"""Graphs described by a rule: nothing is stored, or one number for a pair of groups."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Int, Num

from .dense import outer_products
from .edges import Edges
from .layout import AbstractDescribed, AbstractUntrained, BySource, ByTarget, refuse
from .mixing import Words, mixed
from .prefix import slot_sum
from .window import AbstractWindowed, window_of


# Pairs of `FixedProbability` that are hashed at a time. On a GPU hashes and sums are one kernel,
# which stores neither: H200, 20,000 x 20,000, 0.7 ms with 2^24 pairs, 0.3 with all of them (jax
# 0.11.2, 2026-11).
_PAIRS_CPU = 1 << 20
_PAIRS = 1 << 28


class Ones(AbstractWindowed):
    """Every source reaches every target with weight 1: y is the sum of x, in O(1) bytes.

    With `has_self = False` none reaches the target of its own number, which needs as many sources
    as targets.
    """

    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)
    has_self: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        if not self.has_self and self.num_sources != self.num_targets:
            raise ValueError(
                f"`has_self` is False, but there are {self.num_sources} sources and "
                f"{self.num_targets} targets. Make them as many, or leave `has_self` True."
            )

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Ones":
        """**Raises:** `ValueError` if these are not all edges, with or without self-edges."""
        del max_input
        edges = edges.canonical()
        refuse(cls.obstacle(edges))
        has_self = len(edges) == edges.num_sources * edges.num_targets
        return cls(edges.num_sources, edges.num_targets, has_self)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        del edges
        return 0

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return self._sums(x, self.num_targets, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return self._sums(g, self.num_sources, accumulate)

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        del max_input
        num_sources, num_targets = edges.num_sources, edges.num_targets
        are_others = (
            num_sources == num_targets
            and len(edges) == num_sources * (num_sources - 1)
            and not (edges.source == edges.target).any()
        )
        if edges.value is None and (are_others or len(edges) == num_sources * num_targets):
            return None
        return "These edges are not all-to-all with weight 1. Use Dense."

    def _sums(self, x: Array, num_rows: int, accumulate: DTypeLike) -> Array:
        total = jnp.sum(x, axis=0, keepdims=True, dtype=accumulate)
        total = jnp.broadcast_to(total, (num_rows, *x.shape[1:]))
        return total if self.has_self else total - x.astype(accumulate)

    def multiply_window(
        self, x: BySource, first: Int[Array, ""], size: int, *, accumulate: DTypeLike
    ) -> ByTarget:
        total = jnp.sum(x, axis=0, keepdims=True, dtype=accumulate)
        total = jnp.broadcast_to(total, (size, *x.shape[1:]))
        return total if self.has_self else total - window_of(x, first, size).astype(accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "..."]:
        raise ValueError("The edges of Ones are not trained. Use Dense.")

    def edges(self) -> Edges:
        return self.edges_into(range(self.num_targets))

    def edges_into(self, targets: range) -> Edges:
        source = np.tile(np.arange(self.num_sources, dtype=np.int32), len(targets))
        target = np.arange(len(targets), dtype=np.int32).repeat(self.num_sources)
        chosen = slice(None) if self.has_self else source != target + targets.start
        return Edges(source[chosen], target[chosen], None, self.num_sources, len(targets))


class Identity(AbstractWindowed, AbstractUntrained):
    """Source i reaches target i, and no other: the identity of `num` numbers."""

    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __init__(self, num: int):
        self.num_sources = self.num_targets = num

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Identity":
        """**Raises:** `ValueError` if these are not exactly the edges i -> i of weight 1."""
        del max_input
        edges = edges.canonical()
        refuse(cls.obstacle(edges))
        return cls(edges.num_sources)

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        del max_input
        is_square = edges.num_sources == edges.num_targets == len(edges)
        if is_square and edges.value is None and (edges.source == edges.target).all():
            return None
        return "These edges are not one-to-one with weight 1. Use ELL."

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        del edges
        return 0

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return x.astype(accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return g.astype(accumulate)

    def multiply_window(
        self, x: BySource, first: Int[Array, ""], size: int, *, accumulate: DTypeLike
    ) -> ByTarget:
        return window_of(x, first, size).astype(accumulate)

    def edges(self) -> Edges:
        return self.edges_into(range(self.num_targets))

    def edges_into(self, targets: range) -> Edges:
        index = np.arange(len(targets), dtype=np.int32)
        source = index + np.int32(targets.start)
        return Edges(source, index, None, self.num_sources, len(targets))


class Grouped(AbstractWindowed, AbstractDescribed):
    """Sources and targets lie in equal consecutive groups; `weights[b, a]` is the weight of the
    edges from every source of group a to every target of group b.

    An edge of weight 0 is no edge here.
    """

    built_from: ClassVar[str] = "is built from weights of groups, not from edges"

    weights: Num[Array, "target_groups source_groups"]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        for num_groups, size, name in zip(
            self.weights.shape,
            (self.num_targets, self.num_sources),
            ("targets", "sources"),
            strict=True,
        ):
            if size != num_groups * _group_size(size, num_groups):
                raise ValueError(
                    f"{size} {name} do not form {num_groups} equal groups. Change `num_{name}` or "
                    f"the shape of `weights`, {self.weights.shape}."
                )

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return _between_groups(self.weights, x, self.num_targets, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return _between_groups(self.weights.T, g, self.num_sources, accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "target_groups source_groups"]:
        num_target_groups, num_source_groups = self.weights.shape
        return outer_products(
            _group_sums(x, num_source_groups, x.dtype), _group_sums(g, num_target_groups, g.dtype)
        )

    def multiply_window(
        self, x: BySource, first: Int[Array, ""], size: int, *, accumulate: DTypeLike
    ) -> ByTarget:
        sums = _sums_of_groups(self.weights, x, accumulate)
        size_of_group = max(_group_size(self.num_targets, len(sums)), 1)
        group = (first + jnp.arange(size, dtype=jnp.int32)) // size_of_group
        return (
            jnp.zeros((size, *x.shape[1:]), accumulate)
            if len(sums) == 0
            else sums.at[group].get(mode="clip")
        )

    def edges(self) -> Edges:
        return edges_of_groups(np.asarray(self.weights), self.num_sources, self.num_targets)

    def edges_into(self, targets: range) -> Edges:
        weights = np.asarray(self.weights)
        return edges_of_groups(weights, self.num_sources, self.num_targets, targets)


def edges_of_groups(
    weights: Num[np.ndarray, "target_groups source_groups"],
    num_sources: int,
    num_targets: int,
    targets: range | None = None,
) -> Edges:
    """The edges of `Grouped`, or those into some targets, from weights on the host."""
    targets = range(num_targets) if targets is None else targets
    group = np.arange(targets.start, targets.stop) // max(_group_size(num_targets, len(weights)), 1)
    target, source_group = np.nonzero(weights[group])
    value = weights[group[target], source_group]
    is_iso = np.issubdtype(value.dtype, np.integer) and bool((weights[weights != 0] == 1).all())
    sources = np.arange(_group_size(num_sources, weights.shape[1]))[None, :]
    source = (source_group * sources.size)[:, None] + sources
    target, source, of_edge = np.broadcast_arrays(target[:, None], source, value[:, None])
    return Edges(
        source.ravel().astype(np.int32),
        target.ravel().astype(np.int32),
        None if is_iso else of_edge.ravel(),
        num_sources,
        len(targets),
    ).canonical()


class FixedInDegree(AbstractWindowed, AbstractDescribed, AbstractUntrained):
    """Every target has `in_degree` random sources, which are computed again in each product:
    nothing is stored.

    The k-th source of target t is `hashed_pair(seed, t, k) % num_sources`, with k counted from 0;
    without `self_edges` that among the other `num_sources - 1`. Sources may repeat; such parallel
    edges add up. The remainder makes a source likelier than
    another by at most `num_sources / 2^32`.
    """

    built_from: ClassVar[str] = "draws its own edges"

    in_degree: int = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)
    self_edges: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        _check_seed(self.seed)
        if self.in_degree < 0:
            raise ValueError(f"`in_degree` is {self.in_degree}. Use at least 0.")
        if self._num_candidates == 0 and self.in_degree * self.num_targets > 0:
            raise ValueError("There are no sources to draw from. Use an `in_degree` of 0.")

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        zero = jnp.zeros((), jnp.int32)
        return self.multiply_window(x, zero, self.num_targets, accumulate=accumulate)

    def multiply_window(
        self, x: BySource, first: Int[Array, ""], size: int, *, accumulate: DTypeLike
    ) -> ByTarget:
        total = jnp.zeros((size, *x.shape[1:]), accumulate)
        if total.size == 0 or self.num_sources == 0:
            return total

        def term(slot: Array) -> Array:
            gathered = x.at[self._sources(slot, first, size)].get(mode="promise_in_bounds")
            return gathered.astype(accumulate)

        return slot_sum(self.in_degree, term, total)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        g = g.astype(accumulate)
        total = jnp.zeros((self.num_sources, *g.shape[1:]), accumulate)
        if self.num_sources == 0 or self.num_targets == 0:
            return total

        def add(slot: Array, total: Array) -> Array:
            sources = self._sources(slot, jnp.zeros((), jnp.int32), self.num_targets)
            return total.at[sources].add(g, mode="promise_in_bounds")

        return lax.fori_loop(0, self.in_degree, add, total)

    def _sources(self, slot: Array | int, first: Int[Array, ""], size: int) -> Array:
        """The source in one slot of each of `size` targets from `first` on."""
        target = jnp.arange(size, dtype=jnp.uint32) + first.astype(jnp.uint32)
        slots = jnp.full_like(target, slot)
        return self._source_of(target, slots).astype(jnp.int32)

    def _source_of(self, target: Words, slot: Words) -> Words:
        source = hashed_pair(self.seed, target, slot) % np.uint32(max(self._num_candidates, 1))
        return source if self.self_edges else source + (source >= target).astype(np.uint32)

    @property
    def _num_candidates(self) -> int:
        return self.num_sources - (not self.self_edges)

    def edges(self) -> Edges:
        return self.edges_into(range(self.num_targets))

    def edges_into(self, targets: range) -> Edges:
        target = np.arange(targets.start, targets.stop, dtype=np.uint32).repeat(self.in_degree)
        slot = np.tile(np.arange(self.in_degree, dtype=np.uint32), len(targets))
        source = self._source_of(target, slot)
        source, target = source.astype(np.int32), target.astype(np.int32) - targets.start
        return Edges(source, target, None, self.num_sources, len(targets)).canonical()


class FixedProbability(AbstractWindowed, AbstractDescribed, AbstractUntrained):
    """Each source reaches each target with the same probability, independently; the edges are
    computed again in each product, and nothing is stored.

    There is an edge from s to t where `hashed_pair(seed, s, t) < round(probability * 2^32)`, and,
    without `self_edges`, where s differs from t. A product hashes every pair, whatever the
    probability: it takes O(sources x targets) time, and is for graphs that fit no memory, or for
    crowded ones.
    """

    built_from: ClassVar[str] = "draws its own edges"

    probability: float = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)
    self_edges: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        _check_seed(self.seed)
        if not 0 <= self.probability <= 1:
            raise ValueError(f"`probability` is {self.probability}. Use 0 to 1.")

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return self._product(x, accumulate, to_sources=False)

    def multiply_window(
        self, x: BySource, first: Int[Array, ""], size: int, *, accumulate: DTypeLike
    ) -> ByTarget:
        return self._product(x, accumulate, to_sources=False, first=first, num_rows=size)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return self._product(g, accumulate, to_sources=True)

    def _product(
        self,
        x: Array,
        accumulate: DTypeLike,
        *,
        to_sources: bool,
        first: Array | int = 0,
        num_rows: int | None = None,
    ) -> Array:
        """The rows of the product from `first` on, by default all of them."""
        if num_rows is None:
            num_rows = self.num_sources if to_sources else self.num_targets
        # CPU, 5,000 x 5,000, a batch of 8: 21 ms by a matrix of ones and zeros, which is several
        # times slower on a GPU.
        on_cpu = _fused_sums if x.ndim == 1 else _matrix_sums
        form = partial(self._block_by_block, to_sources=to_sources, num_rows=num_rows)
        return lax.platform_dependent(
            x.astype(accumulate),
            jnp.asarray(first, jnp.int32),
            cpu=partial(form, pairs=_PAIRS_CPU, row_sums=on_cpu),
            default=partial(form, pairs=_PAIRS, row_sums=_fused_sums),
        )

    def _block_by_block(
        self,
        x: Array,
        first: Int[Array, ""],
        *,
        to_sources: bool,
        num_rows: int,
        pairs: int,
        row_sums: Callable[[Array, Array], Array],
    ) -> Array:
        """The sums of some rows of the matrix, or of its transpose, at a time."""
        size = min(max(pairs // max(len(x), 1), 1), max(num_rows, 1))
        num_blocks = max(-(-num_rows // size), 1)

        def put(block: Array, sums: Array) -> Array:
            is_edge = self._is_edge(first + block * size, (size, len(x)), to_sources)
            return lax.dynamic_update_slice_in_dim(sums, row_sums(is_edge, x), block * size, 0)

        sums = jnp.zeros((num_blocks * size, *x.shape[1:]), x.dtype)
        return lax.fori_loop(0, num_blocks, put, sums)[:num_rows]

    def _is_edge(
        self, first: Array, shape: tuple[int, int], to_sources: bool
    ) -> Bool[Array, "rows columns"]:
        """The edges of the rows from `first` on; those behind the last row mean nothing."""
        row = lax.broadcasted_iota(jnp.uint32, shape, 0) + first.astype(jnp.uint32)
        column = lax.broadcasted_iota(jnp.uint32, shape, 1)
        pair = (row, column) if to_sources else (column, row)
        limit = self._limit()
        if limit == 0:
            return jnp.zeros(shape, bool)
        is_edge = hashed_pair(self.seed, *pair) <= np.uint32(limit - 1)
        return is_edge if self.self_edges else is_edge & (row != column)

    def _limit(self) -> int:
        return round(self.probability * 2**32)  # 2^32 itself is not a uint32

    def edges(self) -> Edges:
        return self.edges_into(range(self.num_targets))

    def edges_into(self, targets: range) -> Edges:
        target = np.arange(targets.start, targets.stop, dtype=np.uint32)
        size = max(_PAIRS_CPU // max(len(targets), 1), 1)
        parts = [np.zeros((2, 0), np.int64)]
        for first in range(0, self.num_sources, size):
            source = np.arange(first, min(first + size, self.num_sources), dtype=np.uint32)
            pair = np.broadcast_arrays(source[:, None], target[None, :])
            is_edge = hashed_pair(self.seed, *pair) < self._limit()
            is_edge &= self.self_edges | (pair[0] != pair[1])
            parts.append(np.stack(np.nonzero(is_edge)) + [[first], [0]])
        source, target = np.concatenate(parts, axis=1).astype(np.int32)
        return Edges(source, target, None, self.num_sources, len(targets)).canonical()


def hashed_pair(seed: int, first: Words, second: Words) -> Words:
    """A 32-bit hash of two 32-bit words: equal on every device, and for NumPy arrays.

    ??? cite "Source"
        MurmurHash3_x86_32 (Appleby 2011, public domain) of the eight bytes of the two words, each
        the least significant byte first.
    """
    hashed = np.uint32(seed)
    for word in (first, second):
        word = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        hashed = _rotated(hashed ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    return mixed(hashed ^ np.uint32(8))  # bytes


def _rotated(word, bits: int):
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(f"`seed` is {seed}. Use 0 to 2^32 - 1.")


def _fused_sums(chosen: Bool[Array, "rows columns"], x: Array) -> Array:
    """The sum of the chosen x of each row, without a matrix of them."""
    chosen = chosen.reshape(*chosen.shape, *(1,) * (x.ndim - 1))
    return jnp.sum(jnp.where(chosen, x[None], 0), axis=1, dtype=x.dtype)


def _matrix_sums(chosen: Bool[Array, "rows columns"], x: Array) -> Array:
    return jnp.tensordot(
        chosen.astype(x.dtype), x, axes=1, precision="highest", preferred_element_type=x.dtype
    )


def _group_size(size: int, num_groups: int) -> int:
    return size // num_groups if num_groups else 0


def _group_sums(x: Array, num_groups: int, accumulate: DTypeLike) -> Array:
    size = _group_size(x.shape[0], num_groups)
    return jnp.sum(x.reshape(num_groups, size, *x.shape[1:]), axis=1, dtype=accumulate)


def _sums_of_groups(weights: Array, x: Array, accumulate: DTypeLike) -> Array:
    """What arrives at the targets of each group."""
    return jnp.tensordot(
        weights.astype(accumulate),
        _group_sums(x, weights.shape[1], accumulate),
        axes=1,
        precision="highest",
        preferred_element_type=accumulate,
    )


def _between_groups(weights: Array, x: Array, num_rows: int, accumulate: DTypeLike) -> Array:
    sums = _sums_of_groups(weights, x, accumulate)
    size = _group_size(num_rows, weights.shape[0])
    sums = jnp.broadcast_to(jnp.expand_dims(sums, 1), (len(sums), size, *sums.shape[1:]))
    return sums.reshape(num_rows, *x.shape[1:])
