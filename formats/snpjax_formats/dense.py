"""Every pair stored."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Num

from .edges import Edges
from .layout import AbstractGeneralLayout, AbstractLayout, BySource, ByTarget
from .stored import device_array, storable, stored_dtype


class Dense(AbstractGeneralLayout):
    """The matrix W itself. Best for small or crowded graphs, and for large batches, where it is a
    matrix product.

    Axes: `targets`, `sources`. An edge of weight 0 is no edge here.
    """

    values: Num[Array, "targets sources"]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        if self.values.shape != (self.num_targets, self.num_sources):
            raise ValueError(
                f"`values` has shape {self.values.shape}, not (num_targets, num_sources) = "
                f"{(self.num_targets, self.num_sources)}."
            )

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Dense":
        del max_input
        edges = storable(edges)
        return cls(values=device_array(dense_matrix(edges, _dtype(edges))), **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return edges.num_targets * edges.num_sources * _dtype(edges).itemsize

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return _product(self.values, x, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return _product(self.values.T, g, accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "targets sources"]:
        return outer_products(x, g)

    def edges(self) -> Edges:
        return nonzero_edges(np.asarray(self.values), self)


def outer_products(x: Array, g: Array) -> Array:
    """`g[t] * x[s]` of every pair, summed over the batch."""
    batch = (tuple(range(1, g.ndim)), tuple(range(1, x.ndim)))
    return jnp.tensordot(g, x, axes=batch, precision="highest")


def dense_matrix(edges: Edges, dtype: np.dtype) -> Num[np.ndarray, "targets sources"]:
    """W of a canonical graph, on the host."""
    matrix = np.zeros((edges.num_targets, edges.num_sources), dtype)
    matrix[edges.target, edges.source] = 1 if edges.value is None else edges.value
    return matrix


def nonzero_edges(matrix: Num[np.ndarray, "targets sources"], layout: AbstractLayout) -> Edges:
    """The edges of a host matrix W, in canonical order; weights that are all 1 are left out."""
    target, source = np.nonzero(matrix)
    value = matrix[target, source]
    is_iso = np.issubdtype(value.dtype, np.integer) and bool((value == 1).all())
    return layout.listed(source, target, None if is_iso else value)


def _dtype(edges: Edges) -> np.dtype:
    return np.dtype(np.int32) if edges.value is None else stored_dtype(edges.value.dtype)


def _product(matrix: Array, x: Array, accumulate: DTypeLike) -> Array:
    # "highest": a float32 product may otherwise run as TF32, which is wrong for integers above
    # 2^11.
    return jnp.tensordot(
        matrix.astype(accumulate),
        x.astype(accumulate),
        axes=1,
        precision="highest",
        preferred_element_type=accumulate,
    )
