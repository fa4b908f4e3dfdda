"""Nodes of a drawn graph as points that springs hold apart, and boxes pushed apart."""

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import KDTree


_STARTS = 6  # from which springs relax, for small graphs; the best end is taken
_SMALL = 120
_ROUNDS = 400  # of pushing boxes apart

Points = Float[np.ndarray, "nodes 2"]
Sizes = Float[np.ndarray, "nodes 2"]
Ends = Int[np.ndarray, " edges"]


def relaxed(num: int, sources: Ends, targets: Ends) -> Points:
    """Points whose distances are nearly those in the graph, edges having length 1.

    ??? cite "Source"
        Gansner, Koren, North 2004, "Graph drawing by stress majorization", with weights d^-2.
        Differs from it in: 1. parts that are not connected are as far apart as a path through
        their middles would be; 2. the best of a few fixed starts is taken.
    """
    if num < 2:
        return np.zeros((num, 2))
    ends = sources.astype(np.int32), targets.astype(np.int32)  # SciPy 1.14 takes no others
    graph = csr_array((np.ones(len(sources)), ends), shape=(num, num))
    distance = shortest_path(graph, method="D", directed=False, unweighted=True)
    finite = np.where(np.isfinite(distance), distance, 0)
    distance = np.where(np.isfinite(distance), distance, finite.max() / 2 + 1.5)
    np.fill_diagonal(distance, 1)
    weight = distance**-2.0
    np.fill_diagonal(weight, 0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.inv(laplacian + 1 / num)  # of what is across the constant vector
    best, least = np.zeros((num, 2)), np.inf
    for start in _starts(distance):
        points, stress = _majorized(start, distance, weight, inverse)
        if stress < least * (1 - 1e-6):  # rounding does not decide between mirror images
            best, least = points, stress
    return _turned(best, sources, targets)


def separated(points: Points, sizes: Sizes, *, gap: tuple[float, float]) -> Points:
    """Points moved until no two boxes are nearer than `gap`, in one of both directions."""
    points = points.astype(float)
    gaps = np.asarray(gap)
    if len(points) < 2:
        return points - points.min(axis=0, initial=np.inf if len(points) else 0)
    largest = sizes.max(axis=0) + gaps
    rounds = int(np.clip(40_000 / len(points), 30, _ROUNDS))
    for attempt in range(rounds):
        near = KDTree(points / largest).query_pairs(1.0, p=np.inf, output_type="ndarray")
        first, second = near[np.lexsort((near[:, 1], near[:, 0]))].T
        apart = points[first] - points[second]
        reach = (sizes[first] + sizes[second]) / 2 + gaps
        overlap = reach - np.abs(apart)
        meet = np.all(overlap > 1e-6, axis=1)
        if not meet.any():
            return points - points.min(axis=0)
        first, second, apart = first[meet], second[meet], apart[meet]
        share = overlap[meet] / reach[meet]
        is_least = share <= share.min(axis=1, keepdims=True)
        side = np.where(apart == 0, -1, np.sign(apart))
        moved = np.where(is_least, overlap[meet] * side, 0)
        total, count = np.zeros_like(points), np.zeros((len(points), 1))
        for ends, sign in ((first, 1), (second, -1)):
            np.add.at(total, ends, sign * moved)
            np.add.at(count, ends, 1)
        points = points + 0.52 * total / np.maximum(count, 1)
        if attempt % 10 == 9:  # too narrow for all: some air
            points *= 1.15
    return _spread(points, sizes + gaps)


def _spread(points: Points, sizes: Sizes) -> Points:
    """Points so far from each other that no boxes overlap, where the rounds were too few."""
    first, second = np.triu_indices(len(points), 1)
    apart = np.maximum(np.abs(points[first] - points[second]), 1e-3)
    wanted = ((sizes[first] + sizes[second]) / 2 / apart).min(axis=1)
    return (points - points.min(axis=0)) * max(1.0, wanted.max())


def _starts(distance: Float[np.ndarray, "nodes nodes"]) -> list[Points]:
    """Of a small graph a circle in the order of the nodes, which is not quite round, and places by
    fixed seeds; of a large one the plane nearest to all distances (classical scaling)."""
    num = len(distance)
    if num > _SMALL:
        squared = distance**2 - np.diag(np.diag(distance))
        centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True)
        _, vectors = eigh(-(centred + squared.mean()), subset_by_index=(num - 2, num - 1))
        return [vectors * num]
    angle = 2 * np.pi * np.arange(num) / num + 0.1
    size = num / 4 * (1 + 0.01 * np.arange(num) / num)
    circle = np.stack([-size * np.cos(angle), -0.9 * size * np.sin(angle)], axis=1)
    seeded = (np.random.default_rng(seed).normal(size=(num, 2)) for seed in range(_STARTS - 1))
    return [circle, *(points * num**0.5 for points in seeded)]


def _majorized(
    points: Points, distance: np.ndarray, weight: np.ndarray, inverse: np.ndarray
) -> tuple[Points, float]:
    stress = np.inf
    # All rounds over all pairs take about a second at most (one core, 2026-11).
    for _ in range(int(np.clip(8e6 / max(len(points), 1) ** 2, 12, 300))):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        before, stress = stress, float(np.sum(weight * (apart - distance) ** 2)) / 2
        if before - stress < 1e-5 * stress:
            break
        pull = -weight * distance / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
    return points, stress


def _turned(points: Points, sources: Ends, targets: Ends) -> Points:
    """With the longest extent from left to right, and most edges leading there."""
    points = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(points.T @ points)
    if values[1] > 1.1 * values[0]:
        points = points @ vectors[:, ::-1]
    lead = (points[targets] - points[sources]).sum(axis=0) + 1e-6 * (points[-1] - points[0])
    points = points * np.where(lead < -1e-9, -1, 1)
    return points - points.min(axis=0)
