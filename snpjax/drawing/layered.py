"""Where the boxes of a drawn graph stand: in layers where it is layered, else by springs.

The same graph has the same places on every machine: nothing is drawn from entropy, and ties are
settled by number. x grows to the right and y downwards, as in SVG.
"""

from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .force import Ends, Points, Sizes, relaxed, separated


#: More nodes than these stand in a grid: springs take memory and time of their square.
MAX_SPRINGS = 600
_SWEEPS = 12

Families: TypeAlias = Int[np.ndarray, " nodes"]
_MAX_CROSSED = 1_500  # edges between two layers whose crossings are counted


def layered_positions(
    sizes: Sizes,
    sources: Ends,
    targets: Ends,
    *,
    gap: tuple[float, float] = (70.0, 26.0),
    families: Families | None = None,
) -> Points:
    """The middle of every box: no two overlap, and they keep `gap` from each other in one of both
    directions; where springs hold them, 0.7 of it from left to right.

    **Arguments:**

    - `sizes`: width and height of every box.
    - `sources`, `targets`: the boxes at the ends of every edge; an edge may lead back to its box.
    - `families`: in a layer, boxes of one family are in their order; every box by itself if left
      out.
    """
    if len(sizes) == 0:
        return np.zeros((0, 2))
    layer = layers(len(sizes), sources, targets)
    if layer is not None:
        return in_layers(layer, sizes, sources, targets, gap=gap, families=families)
    if len(sizes) > MAX_SPRINGS:
        return in_grid(sizes, gap=gap)
    points = relaxed(len(sizes), sources, targets)
    step = sizes.mean(axis=0) + np.asarray(gap) * [0.6, 1.3]
    return separated(points * step, sizes, gap=(gap[0] * 0.7, gap[1]))


def layers(num: int, sources: Ends, targets: Ends) -> Int[np.ndarray, " nodes"] | None:
    """The layer of every node, each edge leading to a later one; `None` where there is a cycle.

    Edges from a node to itself do not count, and neither is a graph of one layer layered. What only
    sends stands right before the first that hears it.
    """
    differ = sources != targets
    source, target = sources[differ], targets[differ]
    graph = csr_array((np.ones(len(source)), (source, target)), shape=(num, num))
    if len(source) == 0 or connected_components(graph, connection="strong")[0] < num:
        return None
    layer = np.zeros(num, np.int64)
    for _ in range(num):
        later = layer.copy()
        np.maximum.at(later, target, layer[source] + 1)
        if np.array_equal(later, layer):
            break
        layer = later
    nearest = np.full(num, num)
    np.minimum.at(nearest, source, layer[target] - 1)
    sends_only = np.bincount(target, minlength=num) == 0
    return np.where(sends_only & (nearest < num), nearest, layer)


def without_cycles(num: int, sources: Ends, targets: Ends) -> Bool[np.ndarray, " edges"]:
    """Which edges to keep so that no cycle is left: most of them, and the first ones.

    ??? cite "Source"
        Eades, Lin, Smyth 1993, "A fast and effective heuristic for the feedback arc set problem".
        Differs from it in: 1. where all nodes are on cycles and equal, the first one goes first.
    """
    differ = sources != targets
    weights = csr_array((differ.astype(np.int64), (sources, targets)), shape=(num, num)).toarray()
    left = np.ones(num, bool)
    first, last = [], []
    while left.any():
        leaving = weights[:, left].sum(axis=1)
        arriving = weights[left].sum(axis=0)
        ends = np.flatnonzero(left & (leaving == 0))
        starts = np.flatnonzero(left & (arriving == 0))
        if len(ends):
            last += ends.tolist()
            left[ends] = False
        elif len(starts):
            first += starts.tolist()
            left[starts] = False
        else:
            best = int(np.argmax(np.where(left, leaving - arriving, -(num**2) * 99)))
            first.append(best)
            left[best] = False
    place = np.zeros(num, np.int64)
    place[first + last[::-1]] = np.arange(num)
    return place[sources] < place[targets]


def in_layers(
    layer: Int[np.ndarray, " nodes"],
    sizes: Sizes,
    sources: Ends,
    targets: Ends,
    *,
    gap: tuple[float, float],
    families: Families | None = None,
) -> Points:
    """Layers from left to right, each ordered so that few edges cross, and every box as near to
    those it is connected with as the others allow."""
    near = _neighbours(len(layer), sources, targets)
    rows = [np.flatnonzero(layer == k) for k in range(int(layer.max()) + 1)]
    alone = np.arange(len(layer))
    rows = _ordered(rows, layer, sources, targets, near, alone if families is None else families)
    points = np.zeros((len(layer), 2))
    x = 0.0
    for row in rows:
        widest = sizes[row, 0].max()
        points[row, 0] = x + widest / 2
        x += widest + gap[0]
        points[row, 1] = _stacked(np.zeros(len(row)), sizes[row, 1], gap[1])
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 else rows[::-1]:
            wanted = _means(points[:, 1], near, row)
            points[row, 1] = _stacked(wanted, sizes[row, 1], gap[1])
    return points - points.min(axis=0)


def in_grid(sizes: Sizes, *, gap: tuple[float, float]) -> Points:
    """Rows of boxes in their order."""
    columns = max(int(np.ceil(np.sqrt(len(sizes)))), 1)
    number = np.arange(len(sizes))
    step = sizes.max(axis=0, initial=1) + np.asarray(gap)
    return np.stack([number % columns, number // columns], axis=1) * step


def _neighbours(num: int, sources: Ends, targets: Ends) -> csr_array:
    """A matrix whose product with numbers of the nodes are sums over neighbours."""
    differ = sources != targets
    a, b = sources[differ], targets[differ]
    ends = (np.concatenate([a, b]), np.concatenate([b, a]))
    return csr_array((np.ones(2 * len(a)), ends), shape=(num, num))


def _means(values: Float[np.ndarray, " nodes"], near: csr_array, row: np.ndarray) -> np.ndarray:
    """The mean over the neighbours of some nodes; of one without any, its own value."""
    own = near[row]
    degree = np.asarray(own.sum(axis=1)).ravel()
    return np.where(degree > 0, own @ values / np.maximum(degree, 1), values[row])


def _ordered(
    rows: list[np.ndarray],
    layer: Int[np.ndarray, " nodes"],
    sources: Ends,
    targets: Ends,
    near: csr_array,
    families: Families,
) -> list[np.ndarray]:
    """Every layer in the order of the means of its neighbours, the best of several sweeps."""
    place = np.zeros(len(layer))
    best, fewest = rows, np.inf
    for sweep in range(_SWEEPS):
        for row in rows:
            place[row] = np.arange(len(row)) - (len(row) - 1) / 2
        crossed = _crossings(place, layer, sources, targets)
        if crossed < fewest:
            best, fewest = [row.copy() for row in rows], crossed
        if crossed == 0:
            break
        for k in range(len(rows)) if sweep % 2 else reversed(range(len(rows))):
            row = rows[k]
            row = row[np.lexsort((row, _means(place, near, row).round(9)))]
            # The places that a family has go to its members in their order.
            row[np.argsort(families[row], kind="stable")] = row[np.lexsort((row, families[row]))]
            rows[k] = row
            place[rows[k]] = np.arange(len(row)) - (len(row) - 1) / 2
    return best


def _crossings(
    place: Float[np.ndarray, " nodes"],
    layer: Int[np.ndarray, " nodes"],
    sources: Ends,
    targets: Ends,
) -> int:
    """How many pairs of edges between the same two layers cross; of very many, of the first."""
    total = 0
    pairs = layer[sources] * (int(layer.max()) + 1) + layer[targets]
    for pair in np.unique(pairs).tolist():
        own = np.flatnonzero(pairs == pair)[:_MAX_CROSSED]
        a, b = place[sources[own]], place[targets[own]]
        total += int(np.sum((a[:, None] - a) * (b[:, None] - b) < 0)) // 2
    return total


def _stacked(
    wanted: Float[np.ndarray, " row"], heights: Float[np.ndarray, " row"], gap: float
) -> Float[np.ndarray, " row"]:
    """The places nearest to those wanted that keep the order of a row and its gaps."""
    steps = (heights[1:] + heights[:-1]) / 2 + gap
    least = np.concatenate([[0.0], np.cumsum(steps)])
    return isotonic_regression(wanted - least).x + least
