"""A common factor, or one of each source, in front of another layout."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Num

from .edges import Edges
from .layout import AbstractDescribed, AbstractLayout, BySource, ByTarget


class Scaled(AbstractDescribed):
    """`layout` with every weight multiplied by `factor`, or by the factor of its source.

    This gives weights to layouts that store none. `factor` is a number, shape `()`, or has shape
    `(sources,)`; floats in it are trained, so `layout` may hold none. A layout built for a bounded
    `max_input` is given the product.
    """

    built_from: ClassVar[str] = "is built from a layout and a factor, not from edges"

    layout: AbstractLayout
    factor: Num[Array, " sources"] | Num[Array, ""]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __init__(self, layout: AbstractLayout, factor: Num[Array, " sources"] | Num[Array, ""]):
        self.layout = layout
        self.factor = factor
        self.num_sources = layout.num_sources
        self.num_targets = layout.num_targets

    def __check_init__(self):
        if self.factor.shape not in ((), (self.num_sources,)):
            raise ValueError(
                f"`factor` has shape {self.factor.shape}, neither () nor (num_sources,) = "
                f"({self.num_sources},)."
            )
        if any(map(eqx.is_inexact_array, jax.tree.leaves(self.layout))):
            raise ValueError("`layout` has weights of its own. Multiply those.")

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return self.layout.multiply(self._scaled(x, accumulate), accumulate=accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        y = self.layout.multiply_transposed(g, accumulate=accumulate)
        return self._scaled(y, accumulate)

    def _scaled(self, x: Array, accumulate: DTypeLike) -> Array:
        factor = self.factor.astype(accumulate)
        if factor.ndim:
            factor = jnp.expand_dims(factor, range(1, x.ndim))
        return x.astype(accumulate) * factor

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "..."]:
        products = x * self.layout.multiply_transposed(g, accumulate=x.dtype)
        axes: Any = range(self.factor.ndim, products.ndim)
        return jnp.sum(products, axis=axes)

    def edges(self) -> Edges:
        edges, factor = self.layout.edges(), np.asarray(self.factor)
        value = np.broadcast_to(factor, self.num_sources)[edges.source]
        if edges.value is not None:
            value = edges.value.astype(factor.dtype) * value
        return Edges(edges.source, edges.target, value, self.num_sources, self.num_targets)
