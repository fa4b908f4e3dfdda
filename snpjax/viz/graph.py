"""Configuration graphs on paper: every configuration where they are few, by depth where they are
many."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from ..drawing.edges import label_at, rectangles, routed
from ..drawing.layered import in_layers
from ..drawing.scene import (
    BLACK,
    BLUE,
    GREY,
    SKY,
    SMALL,
    VERMILLION,
    Box,
    Curve,
    Scene,
    Shape,
    Words,
    width_of,
)
from ..explore.dot import edges_of_path
from ..explore.graph import Graph
from ..explore.picture import MAX_CONFIGURATIONS, Labels, by_depth, labels_of_pairs, texts_of
from .axes import WIDE, drawing, part, whole_numbers
from .canvas import draw_scene


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]

#: More configurations than these are counted by depth, and not drawn.
MAX_DOTS = 2_000
_MAX_LABELS = 40
_HEIGHT, _MARGIN = 26.0, 14.0  # pixels of a box


def graph(
    found: Graph,
    *,
    witness: int | None = None,
    labels: Labels = "emissions",
    max_texts: int = MAX_CONFIGURATIONS,
    max_dots: int = MAX_DOTS,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what exploration found, by depth from left to right.

    Up to `max_texts` configurations are boxes with their spikes, as in `Graph.to_svg`: halting ones
    have a double border, those after which more may follow a dashed one, and up to 40 arrows have
    labels. Up to `max_dots` they are dots: halting ones squares, open ones empty. More are counted:
    how many configurations, and how many of them that halt, there are at each depth.

    **Arguments:**

    - `witness`: a configuration; the shortest path to it is thick and in colour.
    - `labels`: what stands at the edges: "emissions" of the output neurons, or "rules".

    **Raises:** `ValueError` for a witness that there is not, and where edges are drawn that were
    not kept; `ImportError` without matplotlib.
    """
    if labels not in ("rules", "emissions"):
        raise ValueError(f"`labels` is {labels!r}. Write rules or emissions.")
    if witness is not None and not 0 <= witness < found.num_configurations:
        last = found.num_configurations - 1
        raise ValueError(f"There is no configuration {witness}: they are 0 to {last}.")
    if found.num_configurations <= max_texts:
        return draw_scene(graph_scene(found, witness=witness, labels=labels), ax)
    if found.num_configurations <= max_dots:
        return _dots(found, witness, ax)
    return _counts(found, witness, ax)


def is_small(found: Graph) -> bool:
    """Whether there are so few configurations that each is a box."""
    return found.num_configurations <= MAX_CONFIGURATIONS


def graph_scene(found: Graph, *, witness: int | None = None, labels: Labels = "emissions") -> Scene:
    """A small graph as a scene."""
    texts, pairs = texts_of(found), labels_of_pairs(found, labels)
    if len(pairs) > _MAX_LABELS:
        pairs = dict.fromkeys(pairs, "")
    ends = np.asarray(list(pairs), np.int64).reshape(-1, 2)
    halts = found.is_halting
    sizes = np.asarray([(width_of(text) + _MARGIN, _HEIGHT) for text in texts])
    borders = sizes + 6.0 * halts[:, None]
    widest = max((width_of(label, SMALL) for label in pairs.values()), default=0)
    middles = in_layers(found.depths, borders, *ends.T, gap=(max(60.0, widest + 50), 42.0))
    path, edges = _witness(found, witness)
    steps = set(zip(found.sources[edges].tolist(), found.edge_targets[edges].tolist(), strict=True))
    curves = [
        Curve(
            points,
            VERMILLION if pair in steps else GREY,
            2.4 if pair in steps else 1.2,
        )
        for points, pair in zip(
            routed(middles, borders, *ends.T, is_layered=True), pairs, strict=True
        )
    ]
    taken = rectangles(middles, borders)
    shapes: list[Shape] = [_arrow_in(middles[0], borders[0]), *curves]
    for curve, label in zip(curves, pairs.values(), strict=True):
        if label:
            shapes.append(
                Words(*label_at(curve, label, SMALL, taken), label, SMALL, BLUE, has_ground=True)
            )
    for i, ((x, y), text) in enumerate(zip(middles.tolist(), texts, strict=True)):
        colour, thickness = (VERMILLION, 2.4) if path[i] else (BLACK, 1.2)
        width, height = sizes[i].tolist()
        if halts[i]:
            shapes.append(Box(x, y, width + 6, height + 6, 9, stroke=colour, thickness=thickness))
        is_open = bool(found.is_open[i])
        shapes.append(
            Box(x, y, width, height, stroke=colour, thickness=thickness, is_dashed=is_open)
        )
        shapes.append(Words(x, y, text))
    return Scene(tuple(shapes), f"{found!r}")


def _arrow_in(middle: np.ndarray, size: np.ndarray) -> Curve:
    x, y = float(middle[0] - size[0] / 2), float(middle[1])
    return Curve(((x - 30, y), (x - 20, y), (x - 10, y), (x, y)), BLACK, 1.6)


def _witness(
    found: Graph, witness: int | None
) -> tuple[Bool[np.ndarray, " configurations"], Int[np.ndarray, " steps"]]:
    """Which configurations are on the path, and its edges."""
    on_path = np.zeros(found.num_configurations, bool)
    if witness is not None:
        on_path[found.path_to(witness)] = True
    return on_path, edges_of_path(found, witness)


def _dots(found: Graph, witness: int | None, ax: "Axes | None") -> "Axes":
    pairs = np.stack([found.sources, found.edge_targets], axis=1)
    ends = np.unique(pairs, axis=0)
    sizes = np.ones((found.num_configurations, 2))
    points = in_layers(found.depths, sizes, *ends.T, gap=(9.0, 1.0))
    points[:, 0] = found.depths
    _, edges = _witness(found, witness)
    halts, is_open = found.is_halting, found.is_open
    with drawing(ax, WIDE) as axes:
        lines = part("collections").LineCollection(points[ends], colors=GREY, linewidths=0.4)
        lines.set(alpha=0.5, zorder=1)
        axes.add_collection(lines)
        steps = np.stack([found.sources[edges], found.edge_targets[edges]], axis=1)
        if witness is not None:
            taken = part("collections").LineCollection(
                points[steps], colors=VERMILLION, linewidths=1.6, label="shortest path"
            )
            taken.set_zorder(2)
            axes.add_collection(taken)
        size = float(np.clip(900 / found.num_configurations, 3, 18))
        inner = ~halts & ~is_open
        for which, marker, face, edge, name in (
            (inner, "o", BLACK, BLACK, "configuration"),
            (halts, "s", SKY, BLUE, "halting"),
            (is_open, "o", "white", BLACK, "not followed"),
        ):
            if which.any():
                axes.scatter(
                    *points[which].T,
                    s=size * (1.6 if marker == "s" else 1),
                    marker=marker,
                    facecolors=face,
                    edgecolors=edge,
                    linewidths=0.6,
                    label=name,
                    zorder=3,
                )
        _depths(axes)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=4)
        return axes


def _counts(found: Graph, witness: int | None, ax: "Axes | None") -> "Axes":
    table = by_depth(found)
    depth, configurations, _, halting = table.T
    with drawing(ax, WIDE) as axes:
        axes.plot(depth, configurations, color=BLACK, linewidth=1, label="configurations")
        some = halting > 0
        if some.any():
            axes.plot(depth[some], halting[some], "s", color=BLUE, markersize=3, label="halting")
        if witness is not None:
            at = int(found.depths[witness])
            axes.axvline(at, color=VERMILLION, linewidth=1.2, linestyle="--", label="witness")
        axes.set(yscale="log", ylabel="found at this depth")
        _depths(axes)
        axes.set_title(f"{found.num_configurations:,} configurations", loc="left")
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
        return axes


def _depths(ax: "Axes") -> None:
    ax.set_xlabel("depth (steps from the initial configuration)")
    whole_numbers(ax.xaxis)
