"""The matrix in narrow numbers, multiplied by the units made for them, and still exact."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float32, Int8, Num

from .dense import dense_matrix, nonzero_edges, outer_products
from .edges import Edges
from .layout import AbstractLayout, BySource, ByTarget, refuse
from .stored import device_array, storable, stored_dtype


_DIGIT_BITS = 7  # of an int8 digit, without its sign
_LARGEST_WEIGHT = 127
_MAX_ROWS = (2**31 - 1) // (_LARGEST_WEIGHT * 2**_DIGIT_BITS)  # this many products fit an int32
# XLA's GPU product of int8 doubles sums over a number of terms that is not a multiple of 4 (jax
# 0.11.2, H200, 2026-11: every shape tried with 5 or 7 terms and a batch), so there are zeros up to
# the next one.
_ALIGNMENT = 4
_FLOAT32_INTEGERS = 2**24  # float32 holds every integer up to here


class Int8Dense(AbstractLayout):
    """The matrix in int8, its products summed in int32: a quarter of the bytes of `Dense`.

    x is split into digits of 7 bits, as many as `max_input` needs or else the type of x (five for
    int32), and each digit is one product. Weights are integers of at most 127 in absolute value.
    Sums for an `accumulate` of floats are taken in int32 (int64 inside `jax.enable_x64(True)`).
    """

    values: Int8[Array, "aligned_targets aligned_sources"]
    num_digits: int | None = eqx.field(static=True)  # None: as many as the type of x has
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Int8Dense":
        edges = edges.canonical()
        refuse(cls.obstacle(edges))
        matrix = dense_matrix(edges.resized(*_aligned(edges)), np.dtype(np.int8))
        digits = None if max_input is None else _num_digits(max(max_input, 1).bit_length())
        return cls(values=device_array(matrix), num_digits=digits, **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return math.prod(_aligned(edges))

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        del max_input
        if edges.value is not None and _is_inexact(edges):
            return f"Int8Dense stores integers, not {edges.value.dtype}. Use Dense."
        if edges.value is not None:
            low, high = edges.value.min(initial=0), edges.value.max(initial=0)
            if high > _LARGEST_WEIGHT or low < -_LARGEST_WEIGHT:
                far = high if high > _LARGEST_WEIGHT else low
                return f"A weight is {far}; Int8Dense holds -127 to 127. Use Dense."
        rows = max(edges.num_sources, edges.num_targets)
        if rows > _MAX_ROWS:
            return f"Int8Dense has at most {_MAX_ROWS:,} rows and columns, not {rows:,}. Use ELL."
        return None

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return self._product(self.values, x, accumulate)[: self.num_targets]

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return self._product(self.values.T, g, accumulate)[: self.num_sources]

    def _product(self, matrix: Array, x: Array, accumulate: DTypeLike) -> Array:
        if x.dtype == jnp.bool_:
            x = x.astype(jnp.int8)
        if not jnp.issubdtype(x.dtype, jnp.integer):
            raise ValueError(f"Int8Dense multiplies integers, not {x.dtype}. Use Dense.")
        num_digits = _num_digits(int(jnp.iinfo(x.dtype).max).bit_length())
        if self.num_digits is not None:
            num_digits = min(num_digits, self.num_digits)
        sums = np.dtype(accumulate)
        if not np.issubdtype(sums, np.integer) or sums.itemsize < 4:
            sums = stored_dtype(np.int64)
        x = jnp.pad(x, [(0, matrix.shape[1] - x.shape[0])] + [(0, 0)] * (x.ndim - 1))
        total = jnp.zeros((matrix.shape[0], *x.shape[1:]), sums)
        for digit in range(num_digits):
            # Of the two's complement, whose highest digit has the sign: the absolute value of the
            # lowest int32 would not be an int32.
            part = x >> (_DIGIT_BITS * digit)
            if digit < num_digits - 1:
                part &= 2**_DIGIT_BITS - 1
            part = part.astype(jnp.int8)
            product = jnp.tensordot(matrix, part, axes=1, preferred_element_type=jnp.int32)
            total += product.astype(sums) << (_DIGIT_BITS * digit)
        return total.astype(accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "targets sources"]:
        raise ValueError("The weights of Int8Dense are not trained. Use Dense.")

    def edges(self) -> Edges:
        return nonzero_edges(np.asarray(self.values).astype(np.int32), self)


class Float32Dense(AbstractLayout):
    """The matrix in float32, for the matrix units.

    Of integers it is exact, for no sum passes 2^24: `from_edges` needs `max_input` to prove that,
    and refuses otherwise. What was built from weights of floats sums only floats.
    """

    values: Float32[Array, "targets sources"]
    is_proved: bool = eqx.field(static=True)  # integers, whose sums stay below 2^24
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Float32Dense":
        edges = storable(edges)
        refuse(cls.obstacle(edges, max_input=max_input))
        matrix = dense_matrix(edges, np.dtype(np.float32))
        is_proved = not _is_inexact(edges)
        return cls(values=device_array(matrix), is_proved=is_proved, **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return 4 * edges.num_targets * edges.num_sources

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        if edges.value is not None and _is_inexact(edges):
            if edges.value.dtype.itemsize > 4:
                return f"Float32Dense would round weights of {edges.value.dtype}. Use Dense."
            return None
        if max_input is None:
            return "Float32Dense is exact up to a largest input. Give `max_input`, or use Dense."
        weight = None if edges.value is None else np.abs(edges.value.astype(np.float64))
        most = max(
            np.bincount(index, weight).max(initial=0) for index in (edges.source, edges.target)
        )
        if most * max(max_input, 1) > _FLOAT32_INTEGERS:
            return "Sums may pass 2^24, above which float32 skips integers. Use Dense."
        return None

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return self._product(self.values, x, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return self._product(self.values.T, g, accumulate)

    def _product(self, matrix: Array, x: Array, accumulate: DTypeLike) -> Array:
        if not self.is_proved and not jnp.issubdtype(accumulate, jnp.inexact):
            raise ValueError(
                f"Float32Dense of weights that are floats sums floats, not "
                f"{np.dtype(accumulate)}. Build it from integer weights, or use Dense."
            )
        # "highest": a float32 product may otherwise run as TF32, which skips integers above 2^11.
        product = jnp.tensordot(matrix, x.astype(jnp.float32), axes=1, precision="highest")
        return product.astype(accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "targets sources"]:
        return outer_products(x, g)

    def edges(self) -> Edges:
        matrix = np.asarray(self.values)
        # So that a layout built from them needs a proof again; training may have made them floats.
        if self.is_proved and np.array_equal(matrix, np.rint(matrix)):
            matrix = matrix.astype(np.int32)
        return nonzero_edges(matrix, self)


def _is_inexact(edges: Edges) -> bool:
    return edges.value is not None and np.issubdtype(edges.value.dtype, np.inexact)


def _aligned(edges: Edges) -> tuple[int, int]:
    """The numbers of columns and rows that are stored."""
    columns, rows = edges.num_sources, edges.num_targets
    return -(-columns // _ALIGNMENT) * _ALIGNMENT, -(-rows // _ALIGNMENT) * _ALIGNMENT


def _num_digits(bits: int) -> int:
    return -(-bits // _DIGIT_BITS)
