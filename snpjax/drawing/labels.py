"""Where the labels of arrows stand: no label meets a box, another text or another label.

A label stands on its curve, where it covers no other curve if that is possible. On a crowded curve
it stands beside it, and where that is taken, too, at the nearest free place with a line to its
curve. There always is one, so that labels never overlap. The interactive page follows the same rule
(`viz/page/static/labels.js`).
"""

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from .edges import SAMPLES, sampled
from .scene import BLUE, GREY, SMALL, Curve, End, Point, Shape, TextLine, width_of


#: Left, top, right and bottom.
Rectangle: TypeAlias = tuple[float, float, float, float]
Rectangles: TypeAlias = Float[np.ndarray, "rectangles 4"]
Points: TypeAlias = Float[np.ndarray, "points 2"]

# Samples of a curve where its label may stand, from its middle outwards; its ends are for heads.
_ALONG = sorted(range(5, len(SAMPLES) - 6), key=lambda i: (abs(i - len(SAMPLES) // 2), i))
_BESIDE = 1.5  # what a place beside the curve costs, in curves that a label covers
_CLEAR = 3.0  # pixels between a label and the curve beside which it stands
_RING, _DIRECTIONS = 14.0, 16  # pixels between rings of places, and places of a ring
_PAD = (4.0, 3.0)  # pixels around a text


class LabelPlace(NamedTuple):
    """The middle of a label, and the point of its curve to which a line leads if it is away."""

    middle: Point
    anchor: Point | None


def place_labels(
    paths: Float[np.ndarray, "curves samples 2"],
    sizes: Sequence[tuple[float, float] | None],
    taken: Sequence[Rectangle],
) -> list[LabelPlace | None]:
    """A place for the label of every curve.

    **Arguments:**

    - `paths`: points of every curve, at `SAMPLES`.
    - `sizes`: width and height of every label, `None` for a curve without one.
    - `taken`: rectangles that no label may meet.

    **Returns:** the places, `None` for a curve without a label. Labels meet neither each other nor
    what was taken.
    """
    found: list[LabelPlace | None] = [None] * len(sizes)
    if not any(sizes):
        return found
    low, high = paths.min(axis=1), paths.max(axis=1)
    lengths = np.linalg.norm(np.diff(paths, axis=1), axis=2).sum(axis=1)
    full = np.asarray(taken, float).reshape(-1, 4)
    # Short curves, which have the fewest places, come first.
    for i in np.argsort(lengths.round(6), kind="stable").tolist():
        size = sizes[i]
        if size is None:
            continue
        half = np.asarray(size) / 2
        places, costs = _near(paths[i], half)
        own = _around(places, half)
        free = ~_meet(own, full)
        if free.any():
            reach = [own[:, :2].min(axis=0), own[:, 2:].max(axis=0)]
            others = np.flatnonzero(np.all((low <= reach[1]) & (high >= reach[0]), axis=1))
            costs = costs + _covered(own, paths[others[others != i]])
            best = int(np.argmin(np.where(free, costs, np.inf)))
            found[i] = LabelPlace(_point(places[best]), None)
        else:
            middle = paths[i, len(SAMPLES) // 2]
            found[i] = LabelPlace(free_place(middle, size, full), _point(middle))
        full = np.concatenate([full, _around(np.asarray([found[i].middle]), half)])
    return found


def free_place(around: Points, size: tuple[float, float], taken: Rectangles) -> Point:
    """The place nearest to a point, on rings around it, where a rectangle meets none of those
    taken."""
    angles = 2 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    directions = np.stack([np.cos(angles), -np.sin(angles)], axis=1)
    half = np.asarray(size) / 2
    for ring in count():
        places = np.asarray(around) + ring * _RING * directions
        free = np.flatnonzero(~_meet(_around(places, half), taken))
        if len(free):
            return _point(places[free[0]])
    raise AssertionError  # rings become larger than all that is taken


def label_shapes(
    curves: Sequence[Curve], texts: Sequence[str], taken: list[Rectangle]
) -> list[Shape]:
    """The labels of curves as shapes, to be drawn above the curves. Their rectangles are added to
    `taken`."""
    sizes = [label_size(text) if text else None for text in texts]
    places = place_labels(sampled([curve.points for curve in curves]), sizes, taken)
    shapes: list[Shape] = []
    lines: list[Shape] = []
    for place, text, size in zip(places, texts, sizes, strict=True):
        if place is None or size is None:
            continue
        (x, y), anchor = place
        if anchor is not None:
            points = ((x, y), (x, y), anchor, anchor)
            lines.append(Curve(points, GREY, 0.8, True, End.NOTHING))
        shapes.append(TextLine(x, y, text, SMALL, BLUE, has_ground=True))
        taken.append(_around(np.asarray([[x, y]]), np.asarray(size) / 2)[0].tolist())
    return lines + shapes


def label_size(text: str) -> tuple[float, float]:
    """Width and height of a label with the paper around it."""
    return width_of(text, SMALL) + _PAD[0], SMALL + _PAD[1]


def _near(
    path: Points, half: Float[np.ndarray, "2"]
) -> tuple[Points, Float[np.ndarray, " points"]]:
    """Places on a curve, then those on its two sides, with what they cost."""
    on = path[_ALONG]
    along = path[np.add(_ALONG, 1)] - path[np.subtract(_ALONG, 1)]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    across = np.stack([along[:, 1], -along[:, 0]], axis=1)
    aside = across * (np.abs(across) @ half + _CLEAR)[:, None]
    places = np.concatenate([on, on + aside, on - aside])
    return places, np.repeat([0, _BESIDE], [len(on), 2 * len(on)])


def _around(places: Points, half: Float[np.ndarray, "2"]) -> Rectangles:
    return np.concatenate([places - half, places + half], axis=1)


def _meet(own: Rectangles, taken: Rectangles) -> Bool[np.ndarray, " rectangles"]:
    """Which rectangles meet any of those taken."""
    low = own[:, None, :2] < taken[None, :, 2:]
    high = taken[None, :, :2] < own[:, None, 2:]
    return np.all(low & high, axis=2).any(axis=1)


def _covered(own: Rectangles, paths: Float[np.ndarray, "curves samples 2"]) -> np.ndarray:
    """How many curves run below each rectangle."""
    points = paths[None]
    low, high = own[:, None, None, :2] <= points, points <= own[:, None, None, 2:]
    return np.all(low & high, axis=3).any(axis=2).sum(axis=1)


def _point(place: np.ndarray) -> Point:
    return float(place[0]), float(place[1])
