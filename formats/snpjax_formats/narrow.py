"""The matrix in narrow numbers, multiplied by the units made for them, and still exact."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float32, Int8, Num

from .dense import dense_matrix, nonzero_edges, outer_products
from .edges import Edges
from .layout import AbstractLayout


_DIGIT_BITS = 7  # of an int8 digit, without its sign
_LARGEST_WORD = 2**31 - 1


class Int8Dense(AbstractLayout):
    """The matrix in int8, its products summed in int32: a quarter of the bytes of `Dense`.

    x is split into digits of 7 bits, as many as `max_input` needs (five if it is not known), and
    each digit is one product. Weights are at most 127 in absolute value.
    """

    values: Int8[Array, "targets sources"]
    num_digits: int = eqx.field(static=True)
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Int8Dense":
        edges = edges.canonical()
        if edges.value is not None and len(edges) and int(np.abs(edges.value).max()) > 127:
            raise ValueError("A weight is above 127, too large for Int8Dense. Use Dense.")
        if max(edges.num_sources, edges.num_targets) * 127 * 127 > _LARGEST_WORD:
            raise ValueError(f"More than {_LARGEST_WORD // 127**2} rows or columns. Use Dense.")
        bits = (_LARGEST_WORD if max_input is None else max(max_input, 1)).bit_length()
        return cls(
            values=jnp.asarray(dense_matrix(edges, np.dtype(np.int8))),
            num_digits=-(-bits // _DIGIT_BITS),
            num_sources=edges.num_sources,
            num_targets=edges.num_targets,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return edges.num_targets * edges.num_sources

    def multiply(
        self, x: Num[Array, "sources *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "targets *batch"]:
        return self._product(self.values, x, accumulate)

    def multiply_transposed(
        self, g: Num[Array, "targets *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "sources *batch"]:
        return self._product(self.values.T, g, accumulate)

    def _product(self, matrix: Array, x: Array, accumulate: DTypeLike) -> Array:
        if not jnp.issubdtype(x.dtype, jnp.integer):
            raise ValueError(f"Int8Dense multiplies integers, not {x.dtype}. Use Dense.")
        total = jnp.zeros((matrix.shape[0], *x.shape[1:]), accumulate)
        sign, rest = jnp.sign(x), jnp.abs(x)
        for digit in range(self.num_digits):
            part = (rest >> (_DIGIT_BITS * digit)) & (2**_DIGIT_BITS - 1)
            part = (part * sign).astype(jnp.int8)
            product = jnp.tensordot(matrix, part, axes=1, preferred_element_type=jnp.int32)
            total += product.astype(accumulate) << (_DIGIT_BITS * digit)
        return total

    def edge_products(
        self, x: Num[Array, "sources *batch"], g: Num[Array, "targets *batch"]
    ) -> Num[Array, "targets sources"]:
        raise ValueError("The weights of Int8Dense are not trained. Use Dense.")

    def edges(self) -> Edges:
        return nonzero_edges(np.asarray(self.values).astype(np.int32), self)


class Float32Dense(AbstractLayout):
    """The matrix in float32, for the matrix units; exact because every sum stays below 2^24.

    `from_edges` needs `max_input` to prove that, and refuses otherwise.
    """

    values: Float32[Array, "targets sources"]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Float32Dense":
        matrix = dense_matrix(edges, np.dtype(np.float32))
        if edges.value is None or np.issubdtype(edges.value.dtype, np.integer):
            weight = np.abs(matrix)
            largest = max(weight.sum(axis=axis).max(initial=0) for axis in (0, 1))
            if max_input is None or float(largest) * max_input >= 2**24:
                raise ValueError(
                    "Sums may pass 2^24, above which float32 skips integers. Use Dense."
                )
        return cls(
            values=jnp.asarray(matrix),
            num_sources=edges.num_sources,
            num_targets=edges.num_targets,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return 4 * edges.num_targets * edges.num_sources

    def multiply(
        self, x: Num[Array, "sources *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "targets *batch"]:
        return _float_product(self.values, x, accumulate)

    def multiply_transposed(
        self, g: Num[Array, "targets *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "sources *batch"]:
        return _float_product(self.values.T, g, accumulate)

    def edge_products(
        self, x: Num[Array, "sources *batch"], g: Num[Array, "targets *batch"]
    ) -> Num[Array, "targets sources"]:
        return outer_products(x, g)

    def edges(self) -> Edges:
        return nonzero_edges(np.asarray(self.values), self)


def _float_product(matrix: Array, x: Array, accumulate: DTypeLike) -> Array:
    # "highest": a float32 product may otherwise run as TF32, which skips integers above 2^11.
    product = jnp.tensordot(matrix, x.astype(jnp.float32), axes=1, precision="highest")
    return product.astype(accumulate)
