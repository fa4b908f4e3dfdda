"""How the arrows of a drawn graph run between its boxes.

Every arrow tries some curves, the straightest first, and takes the one that runs through the fewest
boxes. It knows nothing of the arrows before it, so that the same graph has the same curves.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from .scene import Point


_BENDS = (0.0, 0.14, -0.14, 0.28, -0.28, 0.45, -0.45, 0.7, -0.7)  # of the length
_DETOURS = (0.0, 45.0, -45.0, 90.0, -90.0, 150.0, -150.0, 230.0, -230.0, 330.0, -330.0)  # pixels
SAMPLES = np.linspace(0, 1, 41)  # of the length of a curve
_MOST_BENT = 190.0  # pixels, that a curve is pulled aside
_CLEAR = 3.0  # pixels between a curve and a box that it passes

Control = Float[np.ndarray, "4 2"]
Boxes = Float[np.ndarray, "nodes 2"]


def _bernstein(t: Float[np.ndarray, " places"]) -> Float[np.ndarray, "places 4"]:
    """The share of each control point in the points of a cubic curve."""
    return np.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], axis=1)


_BERNSTEIN = _bernstein(SAMPLES)


def sampled(curves: Sequence[Sequence[Point]]) -> Float[np.ndarray, "curves samples 2"]:
    """Points of cubic curves at `SAMPLES`."""
    return np.einsum("sk,ckd->csd", _BERNSTEIN, np.asarray(curves, float).reshape(-1, 4, 2))


def routed(
    middles: Boxes,
    sizes: Boxes,
    sources: Int[np.ndarray, " edges"],
    targets: Int[np.ndarray, " edges"],
    *,
    is_layered: bool,
    are_round: np.ndarray | None = None,
    names: tuple[Boxes, Boxes] | None = None,
) -> list[tuple[Point, Point, Point, Point]]:
    """A curve for every edge from border to border.

    **Arguments:**

    - `is_layered`: edges leave a box on its right and reach the next one on its left.
    - `are_round`: which boxes are circles of their width.
    - `names`: middles and sizes of texts that curves had better not run through.
    """
    both = set(zip(sources.tolist(), targets.tolist(), strict=True))
    is_round = np.zeros(len(middles), bool) if are_round is None else are_round
    texts = (np.zeros((0, 2)), np.zeros((0, 2))) if names is None else names
    found = []
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        if source == target:
            control = _loop(middles[source], sizes[source])
        else:
            # Where the target begins at some distance to the right of the source.
            right = middles[source, 0] + sizes[source, 0] / 2
            to_next = is_layered and middles[target, 0] - sizes[target, 0] / 2 - right > 10
            curves = (_flows if to_next else _bows)(
                middles, sizes, source, target, (target, source) in both
            )
            others = np.delete(np.arange(len(middles)), [source, target])
            control = _best(
                curves,
                np.concatenate([middles[others], texts[0]]),
                np.concatenate([sizes[others], texts[1]]),
            )
            if not to_next:
                control = _cut(control, middles, sizes, is_round, source, target)
        found.append(tuple((float(x), float(y)) for x, y in control))
    return found


def _flows(
    middles: Boxes, sizes: Boxes, source: int, target: int, has_reverse: bool
) -> Iterator[Control]:
    """From the right side of a box to the left side of another."""
    del has_reverse
    start = middles[source] + [sizes[source, 0] / 2, 0]
    end = middles[target] - [sizes[target, 0] / 2, 0]
    reach = min((end[0] - start[0]) / 2, 90 + 0.2 * (end[0] - start[0]))
    for detour in _DETOURS:
        pull = np.asarray([reach if detour == 0 else 0.35 * (end[0] - start[0]), detour])
        yield np.stack([start, start + pull, end + pull * [-1, 1], end])


def _bows(
    middles: Boxes, sizes: Boxes, source: int, target: int, has_reverse: bool
) -> Iterator[Control]:
    """From middle to middle, bent to the left of its direction, or to its right. Two opposite ones
    are both bent to the left, so that they are two."""
    del sizes
    start, end = middles[source], middles[target]
    along = end - start
    across = np.asarray([along[1], -along[0]])
    for bend in _BENDS[1::2] if has_reverse else _BENDS:
        side = across * bend * 1.25
        side *= min(1.0, _MOST_BENT / max(float(np.hypot(*side)), 1e-9))
        yield np.stack([start, start + along / 4 + side, end - along / 4 + side, end])


def _loop(middle: np.ndarray, size: np.ndarray) -> Control:
    """An arrow back to its box, above its right corner."""
    x, y = middle[0] + size[0] / 2, middle[1] - size[1] / 2
    left, down = min(16.0, size[0] / 2), min(12.0, size[1] / 2)
    return np.asarray([[x - left, y], [x - left, y - 38], [x + 34, y + down], [x, y + down]])


def _best(curves: Iterator[Control], middles: Boxes, sizes: Boxes) -> Control:
    """The first of the curves that meets the fewest boxes."""
    best, fewest = None, np.inf
    for control in curves:
        points = _BERNSTEIN @ control
        inside = np.abs(points[:, None] - middles) < sizes / 2 + _CLEAR
        meets = int(np.all(inside, axis=2).any(axis=0).sum())
        if meets < fewest:
            best, fewest = control, meets
        if meets == 0:
            break
    assert best is not None
    return best


def _cut(
    control: Control,
    middles: Boxes,
    sizes: Boxes,
    is_round: np.ndarray,
    source: int,
    target: int,
) -> Control:
    """The part of a curve between the borders of its boxes."""
    fine = np.linspace(0, 1, 201)
    points = _bernstein(fine) @ control

    def is_in(node: int) -> np.ndarray:
        apart = np.abs(points - middles[node])
        if is_round[node]:
            return np.hypot(*apart.T) <= sizes[node, 0] / 2
        return np.all(apart <= sizes[node] / 2, axis=1)

    leaves, enters = np.flatnonzero(is_in(source)), np.flatnonzero(is_in(target))
    start = float(fine[leaves[-1]]) if len(leaves) else 0.0
    end = float(fine[enters[0]]) if len(enters) else 1.0
    if end - start < 0.02:
        return control
    return _part(control, start, end)


def _part(control: Control, start: float, end: float) -> Control:
    """The piece of a curve between two of its parameters (de Casteljau)."""

    def first(points: Control, t: float) -> Control:
        kept = []
        while len(points):
            kept.append(points[0])
            points = points[:-1] + t * (points[1:] - points[:-1])
        return np.stack(kept)

    return first(first(control[::-1], 1 - start)[::-1], (end - start) / (1 - start))
