"""One bit a pair, and one bit a source: graphs and spikes packed into words."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Integer, Num, UInt32

from .degree_profile import DegreeProfile
from .edges import Edges
from .ell import ELL, expanded, scatter_sum
from .layout import AbstractPattern, BySource, ByTarget, check_columns, check_integers, refuse
from .prefix import slot_sum


_WORD = 32

# Up to here the words of a CPU delivery are summed at once; beyond, one after another.
_MAX_SUMMED_WORDS = 16
_MAX_UNROLLED_PLANES = 4

_LEAST_OF_KERNEL = 2**22  # gathered bits: it is not fused with what surrounds it


class BitDense(AbstractPattern):
    """One bit for each pair of a source and a target: a thirty-second of the bytes of an int32
    matrix, for crowded graphs whose edges all weigh 1.

    Axes: `words` is the number of sources over 32, rounded up. Source s is bit `s % 32`, the
    least significant first, of word `s // 32`. x is taken apart into bits likewise, and each plane
    of bits is one product by `and` and the population count.

    With `max_input` x must be from 0 to `max_input`, never negative, and only the planes of its
    bits are multiplied; without, all bits of the dtype of x, which is exact for negative numbers
    too but slow.
    """

    words: UInt32[Array, "words targets"]
    num_planes: int | None = eqx.field(static=True)  # None: as many as x has bits
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        if self.words.shape != (_num_words(self.num_sources), self.num_targets):
            raise ValueError(
                f"`words` has shape {self.words.shape}, not (num_sources / 32, num_targets) = "
                f"{(_num_words(self.num_sources), self.num_targets)}."
            )

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "BitDense":
        """As in `AbstractLayout`, but x must be from 0 to `max_input`.

        **Raises:** `ValueError` for weights and for parallel edges.
        """
        edges = edges.canonical()
        refuse(cls.obstacle(edges))
        word, bit = np.divmod(edges.source, _WORD)
        place = word.astype(np.int64) * edges.num_targets + edges.target
        is_first = np.ones(len(edges), dtype=bool)
        is_first[1:] = place[1:] != place[:-1]  # sorted by (target, source): words are contiguous
        words = np.zeros(_num_words(edges.num_sources) * edges.num_targets, np.uint32)
        if len(edges):
            bits = np.uint32(1) << bit.astype(np.uint32)
            words[place[is_first]] = np.bitwise_or.reduceat(bits, np.flatnonzero(is_first))
        words = words.reshape(_num_words(edges.num_sources), edges.num_targets)
        return cls(words=jnp.asarray(words), num_planes=_num_planes(max_input), **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return 4 * _num_words(edges.num_sources) * edges.num_targets

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        check_integers(self, x, accumulate)

        def product(bits: Array) -> Array:
            return _common_bits(self.words, packed_bits(bits, _num_words(self.num_sources)))

        return _sum_of_planes(x, self.num_planes, product, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        check_integers(self, g, accumulate)
        if self.words.size == 0:
            return jnp.zeros((self.num_sources, *g.shape[1:]), accumulate)
        sums = lax.platform_dependent(
            self.words, g.astype(accumulate), cpu=_target_by_target, default=_bit_by_bit
        )
        return sums.reshape(-1, *g.shape[1:])[: self.num_sources]

    def edges(self) -> Edges:
        words = np.asarray(self.words).astype("<u4")[:, :, None].view(np.uint8)
        bits = np.unpackbits(words, axis=2, bitorder="little")
        word, target, bit = np.nonzero(bits)
        source = word * _WORD + bit
        return self.listed(source, target).canonical()


class BitGather(AbstractPattern):
    """ELLPACK by target that gathers bits: in each product x is packed into a table of one bit
    a source, which stays in the cache where x itself does not.

    Axes: as in `ELL`; every edge weighs 1, and padding holds `num_sources`, whose bit is 0. x is
    taken apart as in `BitDense`: with `max_input` x must be from 0 to `max_input`, never negative;
    without, it is exact for all integers, but slow.
    """

    sources: Integer[Array, "slots targets"]
    num_planes: int | None = eqx.field(static=True)  # None: as many as x has bits
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        check_columns("sources", self.sources, "num_targets", self.num_targets)

    @classmethod
    def from_edges(
        cls, edges: Edges, *, max_input: int | None = None, profile: DegreeProfile | None = None
    ) -> "BitGather":
        """As in `AbstractLayout`, with the shape of a `profile`, but x must be from 0 to
        `max_input`.

        **Raises:** `ValueError` for weights and for parallel edges.
        """
        edges = edges.canonical()
        refuse(cls.obstacle(edges))
        sources = ELL.from_edges(edges, profile=profile).sources
        return cls(sources=sources, num_planes=_num_planes(max_input), **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return ELL.bytes_needed(replace(edges, value=None))

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        check_integers(self, x, accumulate)

        def product(bits: Array) -> Array:
            # A word more where 32 divides the sources: padding reads the bit behind the last.
            table = packed_bits(bits, self.num_sources // _WORD + 1)
            is_large = self.sources.size >= _LEAST_OF_KERNEL and bits.ndim == 1
            if is_large and self.num_planes == 1 and jax.default_backend() == "gpu":
                # Only with CUDA; the test above saves the import of Pallas elsewhere.
                from .bit_kernel import sum_of_bits

                return lax.platform_dependent(
                    self.sources, table, cuda=sum_of_bits, default=_sum_of_bits
                )
            return _sum_of_bits(self.sources, table)

        return _sum_of_planes(x, self.num_planes, product, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        check_integers(self, g, accumulate)
        return scatter_sum(self.sources, None, g, self.num_sources, accumulate)

    def edges(self) -> Edges:
        return ELL(sources=self.sources, values=None, **self.sizes).edges()


def _sum_of_bits(
    sources: Integer[Array, "slots targets"], table: UInt32[Array, "words *batch"]
) -> Int[Array, "targets *batch"]:
    def term(slot: Any) -> Array:
        word = table.at[sources[slot] >> 5].get(mode="promise_in_bounds")
        bit = expanded((sources[slot] & 31).astype(jnp.uint32), word.ndim)
        return ((word >> bit) & np.uint32(1)).astype(jnp.int32)

    total = jnp.zeros((sources.shape[1], *table.shape[1:]), jnp.int32)
    return slot_sum(len(sources), term, total)


def packed_bits(
    bits: UInt32[Array, "sources *batch"], num_words: int
) -> UInt32[Array, "words *batch"]:
    """Bits of 0 or 1, 32 a word; the words behind the last source are 0."""
    padding = [(0, num_words * _WORD - len(bits))] + [(0, 0)] * (bits.ndim - 1)
    bits = jnp.pad(bits, padding).reshape(num_words, _WORD, *bits.shape[1:])
    place = jnp.arange(_WORD, dtype=jnp.uint32).reshape(1, _WORD, *(1,) * (bits.ndim - 2))
    return jnp.sum(bits << place, axis=1, dtype=jnp.uint32)


def _common_bits(
    words: UInt32[Array, "words targets"], fired: UInt32[Array, "words *batch"]
) -> Int[Array, "targets *batch"]:
    """How many bits of each column of `words` are also in `fired`."""
    words = words.reshape(*words.shape, *(1,) * (fired.ndim - 1))
    if len(words) <= (_MAX_SUMMED_WORDS if fired.ndim == 1 else 0):
        return _summed(words, fired)
    return lax.platform_dependent(words, fired, cpu=_word_by_word, default=_summed)


def _summed(words: Array, fired: Array) -> Array:
    common = lax.population_count(words & fired[:, None])
    return jnp.sum(common.astype(jnp.int32), axis=0, dtype=jnp.int32)


def _word_by_word(words: Array, fired: Array) -> Array:
    def add(word: Any, total: Array) -> Array:
        common = lax.population_count(words[word] & fired[word][None])
        return total + common.astype(jnp.int32)

    total = jnp.zeros((words.shape[1], *fired.shape[1:]), jnp.int32)
    return lax.fori_loop(0, len(words), add, total)


def _bit_by_bit(
    words: UInt32[Array, "words targets"], g: ByTarget
) -> Num[Array, "words bits *batch"]:
    """The sum of g over the targets of each bit."""

    def of_bit(bit: int) -> Array:
        is_edge = (words >> np.uint32(bit)) & np.uint32(1) == 1
        is_edge = is_edge.reshape(*is_edge.shape, *(1,) * (g.ndim - 1))
        return jnp.sum(jnp.where(is_edge, g[None], 0), axis=1, dtype=g.dtype)

    # H200, 5,000 x 5,000: 41 us unrolled, 683 in a loop over bits (jax 0.11.2, 2026-11).
    return jnp.stack([of_bit(bit) for bit in range(_WORD)], axis=1)


def _target_by_target(words: Array, g: Array) -> Array:
    """The same. CPU, 5,000 x 5,000: 1.8 ms, and 22 with a batch of 8; bit by bit 8.3 and 151 (two
    shared cores, jax 0.10.2, 2026-11)."""
    place = jnp.arange(_WORD, dtype=jnp.uint32)[None]

    def add(target: Any, total: Array) -> Array:
        bits = ((words[:, target, None] >> place) & np.uint32(1)).astype(g.dtype)
        return total + bits.reshape(*bits.shape, *(1,) * (g.ndim - 1)) * g[target][None, None]

    total = jnp.zeros((len(words), _WORD, *g.shape[1:]), g.dtype)
    return lax.fori_loop(0, len(g), add, total)


def _sum_of_planes(
    x: Int[Array, "sources *batch"],
    num_planes: int | None,
    product: Callable[[Array], Array],
    accumulate: DTypeLike,
) -> Int[Array, "targets *batch"]:
    """The sum of the products of the planes of bits of x, each with its weight, modulo the range of
    `accumulate`; in two's complement the last plane weighs negative."""
    x = x.astype(jnp.uint8) if x.dtype == bool else x
    num_bits = jnp.iinfo(x.dtype).bits
    is_signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    num_planes = num_bits if num_planes is None else min(num_planes, num_bits)
    dtype = np.dtype(accumulate)
    weights = [2**plane for plane in range(num_planes)]
    if is_signed and num_planes == num_bits:
        weights[-1] *= -1
    modulo = np.asarray([weight % 2 ** (8 * dtype.itemsize) for weight in weights], np.uint64)
    weights = jnp.asarray(modulo.astype(f"u{dtype.itemsize}").view(dtype))

    def of_plane(plane: Any) -> Array:
        bits = (x >> jnp.asarray(plane, x.dtype)) & jnp.ones((), x.dtype)
        return product(bits.astype(jnp.uint32)).astype(accumulate) * weights[plane]

    # H200, 1,000,000 rows x 32 gathered bits, us (jax 0.11.2, 2026-11): 89 for one plane, 100 for
    # four, which share a kernel; 494 for eight one by one. Four at a time in a loop, eight take
    # 1,785.
    if num_planes <= _MAX_UNROLLED_PLANES:
        return sum(map(of_plane, range(1, num_planes)), of_plane(0))
    shape = jax.eval_shape(of_plane, 0)
    total = jnp.zeros(shape.shape, shape.dtype)
    return lax.fori_loop(0, num_planes, lambda plane, total: total + of_plane(plane), total)


def _num_planes(max_input: int | None) -> int | None:
    return None if max_input is None else max(max_input, 1).bit_length()


def _num_words(num_sources: int) -> int:
    return -(-num_sources // _WORD)
