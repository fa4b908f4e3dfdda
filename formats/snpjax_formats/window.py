"""Some of the targets of a layout that computes its edges."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Int, Num

from .edges import Edges
from .ell import expanded
from .layout import AbstractDescribed, AbstractLayout, AbstractUntrained, BySource, ByTarget


class AbstractWindowed(AbstractLayout):
    """A layout that takes as long for a part of its targets as these are many."""

    @abc.abstractmethod
    def multiply_window(
        self, x: BySource, first: Int[Array, ""], size: int, *, accumulate: DTypeLike
    ) -> ByTarget:
        """`multiply` for `size` targets from number `first` on; anything for those that do not
        exist."""

    @abc.abstractmethod
    def edges_into(self, targets: range) -> Edges:
        """`edges` into some targets, which are counted from the first of them."""


class Window(AbstractDescribed, AbstractUntrained):
    """The targets of `layout` from number `first` on; nothing is delivered to those that do not
    exist. Windows of one size differ in `first` alone, which has an axis so that those of several
    devices can be put one after another."""

    built_from: ClassVar[str] = "is a part of another layout, not built from edges"

    layout: AbstractWindowed
    first: Int[Array, " one"]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    @classmethod
    def of(cls, layout: AbstractWindowed, first: int, size: int) -> "Window":
        return cls(
            layout=layout,
            first=jnp.asarray([first], jnp.int32),
            num_sources=layout.num_sources,
            num_targets=size,
        )

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        y = self.layout.multiply_window(x, self.first[0], self.num_targets, accumulate=accumulate)
        return jnp.where(expanded(self._exists(), y.ndim), y, 0)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        total = self.layout.num_targets
        place = jnp.where(self._exists(), self._numbers(), total)
        everywhere = jnp.zeros((total, *g.shape[1:]), g.dtype).at[place].set(g, mode="drop")
        return self.layout.multiply_transposed(everywhere, accumulate=accumulate)

    def edges(self) -> Edges:
        first = int(np.asarray(self.first)[0])
        start = min(max(first, 0), self.layout.num_targets)
        stop = min(max(first + self.num_targets, start), self.layout.num_targets)
        edges = self.layout.edges_into(range(start, stop))
        return self.listed(edges.source, edges.target + (start - first), edges.value).canonical()

    def _numbers(self) -> Int[Array, " targets"]:
        return self.first + jnp.arange(self.num_targets, dtype=jnp.int32)

    def _exists(self) -> Bool[Array, " targets"]:
        numbers = self._numbers()
        return (numbers >= 0) & (numbers < self.layout.num_targets)


def window_of(
    x: Num[Array, "sources *batch"], first: Int[Array, ""], size: int
) -> Num[Array, "targets *batch"]:
    """x from number `first` on; anything where there is none."""
    if len(x) == 0:
        return jnp.zeros((size, *x.shape[1:]), x.dtype)
    return x.at[first + jnp.arange(size, dtype=jnp.int32)].get(mode="clip")
