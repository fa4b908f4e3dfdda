"""A layout written outside the package: the diagonals of a matrix.

Neurons in a row or a ring, lattices and delay lines have synapses on few diagonals. Then a product
is a shifted copy of x for each of them, and no index is stored.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Num

from snpjax_formats import (
    AbstractTimedLayout,
    BySource,
    ByTarget,
    Edges,
    Question,
    device_array,
    storable,
    value_bytes,
)


MAX_DIAGONALS = 64  # each one adds to the compiled program


class Diagonals(AbstractTimedLayout):
    """Entry (k, t) is the edge from source t + offsets[k] to target t, where there is one.

    Axes: `diagonals` that hold an edge, `targets`. There is no padding: every diagonal has one
    entry for each target, and entries outside the matrix are absent.
    """

    present: Bool[Array, "diagonals targets"]
    values: Num[Array, "diagonals targets"] | None  # None: every edge weighs 1
    offsets: tuple[int, ...] = eqx.field(static=True)
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Diagonals":
        del max_input
        edges = storable(edges)
        obstacle = cls.obstacle(edges)
        if obstacle is not None:
            raise ValueError(obstacle)
        offsets, diagonal = np.unique(edges.source - edges.target, return_inverse=True)
        present = np.zeros((len(offsets), edges.num_targets), bool)
        present[diagonal, edges.target] = True
        values = None
        if edges.value is not None:
            values = np.zeros(present.shape, edges.value.dtype)
            values[diagonal, edges.target] = edges.value
        return cls(
            present=device_array(present),
            values=None if values is None else device_array(values),
            offsets=tuple(offsets.tolist()),
            num_sources=edges.num_sources,
            num_targets=edges.num_targets,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return len(_offsets(edges)) * edges.num_targets * (1 + value_bytes(edges))

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        del max_input
        count = len(_offsets(edges))
        if count <= MAX_DIAGONALS:
            return None
        return f"There are {count:,} diagonals; Diagonals has at most {MAX_DIAGONALS}. Use ELL."

    @classmethod
    def seconds(cls, question: Question) -> float:
        """The bytes read and written, at 10 GB/s: two shared cores, jax 0.10.2, 2026-11."""
        edges, workload = question.edges, question.workload
        read = cls.bytes_needed(edges) + workload.batch * edges.num_targets * workload.item_bytes
        return (1 + workload.gradients) * (0.5e-6 + read / 10e9)

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        y = jnp.zeros((self.num_targets, *x.shape[1:]), accumulate)
        for k, offset in enumerate(self.offsets):
            y += self._weighted(k, _shifted(x, offset, self.num_targets), accumulate)
        return y

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        y = jnp.zeros((self.num_sources, *g.shape[1:]), accumulate)
        for k, offset in enumerate(self.offsets):
            y += _shifted(self._weighted(k, g, accumulate), -offset, self.num_sources)
        return y

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "diagonals targets"]:
        shifted = [_shifted(x, offset, self.num_targets) * g for offset in self.offsets]
        products = jnp.stack(shifted) if shifted else jnp.zeros((0, *g.shape), g.dtype)
        return jnp.where(self.present, jnp.sum(products, axis=range(2, products.ndim)), 0)

    def edges(self) -> Edges:
        diagonal, target = np.nonzero(np.asarray(self.present))
        source = target + np.asarray(self.offsets, np.int64)[diagonal]
        value = None if self.values is None else np.asarray(self.values)[diagonal, target]
        some = Edges(source, target, value, self.num_sources, self.num_targets)
        return some.canonical()

    def _weighted(self, k: int, rows: Array, accumulate: DTypeLike) -> Array:
        """Rows of targets times the weights of a diagonal, 0 where there is no edge."""
        shape = (self.num_targets, *[1] * (rows.ndim - 1))
        rows = jnp.where(self.present[k].reshape(shape), rows.astype(accumulate), 0)
        if self.values is None:
            return rows
        return rows * self.values[k].reshape(shape).astype(accumulate)


def _offsets(edges: Edges) -> np.ndarray:
    return np.unique(edges.source - edges.target)


def _shifted(x: Array, offset: int, length: int) -> Array:
    """Row i is row i + offset of x, or 0 outside it."""
    before, after = max(-offset, 0), max(length + offset - len(x), 0)
    padded = jnp.pad(x, ((before, after), *[(0, 0)] * (x.ndim - 1)))
    return padded[offset + before : offset + before + length]
