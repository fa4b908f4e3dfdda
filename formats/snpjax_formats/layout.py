"""The protocol: what every layout answers."""

import abc

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, DTypeLike, Num, PyTree

from .edges import Edges
from .linear import deliver


class AbstractLayout(eqx.Module):
    """A graph of weighted edges from sources to targets, stored for multiplication.

    A frozen pytree: arrays are leaves, sizes are static. `W[t, s]` is the weight of the edge from s
    to t. An axis written `*batch` may be absent; where it is present it is the last one.
    `accumulate` names the dtype of the sums and of the result; it is never taken from the input,
    where int8 + int8 would wrap. Integer results are exact as long as the sums fit that dtype; the
    caller sees to it that they do.

    The leaves of floats are the weights, and what is trained; most layouts have one such leaf,
    `values`, which is `None` when every edge weighs 1. A product is linear in all of them together.
    """

    num_sources: eqx.AbstractVar[int]
    num_targets: eqx.AbstractVar[int]

    @classmethod
    @abc.abstractmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "AbstractLayout":
        """Build from a coordinate list, with NumPy; parallel edges are summed.

        `max_input` bounds the absolute value of what will be delivered, if it is known; a layout of
        narrow numbers needs it. An edge of weight 0 may be lost.

        **Raises:** `ValueError` if results could be inexact.
        """

    @classmethod
    @abc.abstractmethod
    def bytes_needed(cls, edges: Edges) -> int:
        """The `nbytes` that `from_edges(edges)` would have; `edges` has no parallel edges."""

    @abc.abstractmethod
    def multiply(
        self, x: Num[Array, "sources *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "targets *batch"]:
        """The kernel of `deliver`."""

    @abc.abstractmethod
    def multiply_transposed(
        self, g: Num[Array, "targets *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "sources *batch"]:
        """The kernel of `deliver_transposed`."""

    @abc.abstractmethod
    def edge_products(
        self, x: Num[Array, "sources *batch"], g: Num[Array, "targets *batch"]
    ) -> PyTree[Num[Array, "..."]]:
        """`g[t] * x[s]` of every edge, summed over the batch, as the layout stores its weights:
        their
        cotangent."""

    @abc.abstractmethod
    def edges(self) -> Edges:
        """The graph as a canonical coordinate list on the host."""

    def deliver(
        self, x: Num[Array, "sources *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "targets *batch"]:
        """`y[t] = sum_s W[t, s] x[s]`.

        Linear in x and in `values`, with derivatives of every order. Under `vmap` the batch goes
        last, whatever the axis.
        """
        return deliver(self, x, np.dtype(accumulate), False)

    def deliver_transposed(
        self, g: Num[Array, "targets *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "sources *batch"]:
        """`y[s] = sum_t W[t, s] g[t]`: the same arrays read the other way."""
        return deliver(self, g, np.dtype(accumulate), True)

    @property
    def num_edges(self) -> int:
        """Stored edges without padding. Reads the arrays: not for use under `jit`."""
        return len(self.edges())

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, padding included."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self))

    def to_dense(self) -> Num[np.ndarray, "targets sources"]:
        """W on the host: the oracle that tests compare every layout with."""
        edges = self.edges()
        dtype = np.int32 if edges.value is None else edges.value.dtype
        dense = np.zeros((self.num_targets, self.num_sources), dtype)
        dense[edges.target, edges.source] = 1 if edges.value is None else edges.value
        return dense


def check_shape(name: str, array: Array | None, like: str, shape: tuple[int, ...]) -> None:
    """Refuse an array whose shape is not that of the field `like`; `None` is no array."""
    if array is not None and array.shape != shape:
        raise ValueError(f"`{name}` has shape {array.shape} but `{like}` has {shape}.")
