"""Where functions of time are known in the renewal equations: Chebyshev nodes, and quadratures
between them.

All times here are fractions of the duration.
"""

import functools

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float


class Grid(eqx.Module):
    """Constants of the collocation: a function of time is its values at `nodes`.

    Axes: `nodes` are Chebyshev-Lobatto points of [0, 1], whose last is 1; `points` those of the
    Gauss-Legendre rule of one convolution; `offsets` those over the offset of a family, dense near
    0, where its density is singular; `tail` those of that density.
    """

    nodes: Float[Array | np.ndarray, " nodes"]
    points: Float[Array | np.ndarray, " points"]
    weights: Float[Array | np.ndarray, " points"]
    #: `values[m, q, n]`: the n-th cardinal function at `nodes[m] * (1 - points[q])`.
    values: Float[Array | np.ndarray, "nodes points nodes"]
    offsets: Float[Array | np.ndarray, " offsets"]
    offset_weights: Float[Array | np.ndarray, " offsets"]
    #: The n-th cardinal function at `1 - offsets[r]`.
    offset_values: Float[Array | np.ndarray, "offsets nodes"]
    tail: Float[Array | np.ndarray, " tail"]
    tail_weights: Float[Array | np.ndarray, " tail"]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.nodes.shape[0]


#: Nodes and points of a convolution.
SIZES = {48: 64, 64: 96, 96: 144, 160: 240}
_OFFSETS = 64
_TAIL = 64


@functools.lru_cache(maxsize=8)
def grid(size: int) -> Grid:
    """The grid of this many nodes: one of `SIZES`."""
    num_points = SIZES[size]
    nodes = (1 - np.cos(np.pi * np.arange(size) / (size - 1))) / 2
    points, weights = legendre(num_points)
    values = cardinal(nodes, np.outer(nodes, 1 - points))
    y, y_weights = legendre(max(_OFFSETS, size))
    offsets, offset_weights = y**3, 3 * y**2 * y_weights
    tail, tail_weights = legendre(_TAIL)
    return Grid(
        nodes,
        points,
        weights,
        values,
        offsets,
        offset_weights,
        cardinal(nodes, 1 - offsets),
        tail,
        tail_weights,
    )


@functools.lru_cache(maxsize=16)
def legendre(num: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(num)
    return (1 + x) / 2, w / 2


def cardinal(
    nodes: Float[np.ndarray, " nodes"], at: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape nodes"]:
    """The polynomials that are 1 at one of the Chebyshev-Lobatto `nodes` and 0 at the others, by
    the barycentric formula (Berrut and Trefethen 2004)."""
    signs = (-1.0) ** np.arange(nodes.size)
    signs[[0, -1]] /= 2
    distance = at[..., None] - nodes
    hit = distance == 0
    terms = signs / np.where(hit, 1.0, distance)
    values = terms / terms.sum(-1, keepdims=True)
    return np.where(hit.any(-1, keepdims=True), hit.astype(float), values)
