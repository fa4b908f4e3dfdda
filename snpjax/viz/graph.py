"""Configuration graphs on paper: every configuration where they are few, by depth where they are
many."""

from typing import TYPE_CHECKING

import numpy as np

from .._text.lines import EdgeLabels
from ..drawing.layered import in_layers
from ..drawing.scene import BLACK, BLUE, GREY, SKY, VERMILLION
from ..explore.drawing import graph_scene
from ..explore.graph import Graph
from ..explore.marked import Marked, ShownByPath, marked
from ..explore.picture import MAX_CONFIGURATIONS, by_depth
from ..machine import ConfigurationsT, StepsT
from .axes import WIDE, drawing, part, whole_numbers
from .canvas import draw_scene


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]

#: More configurations than these are counted by depth, and not drawn.
MAX_DOTS = 2_000


def graph(
    found: Graph[ConfigurationsT, StepsT],
    *,
    witness: int | ShownByPath | None = None,
    labels: EdgeLabels = "emissions",
    max_texts: int = MAX_CONFIGURATIONS,
    max_dots: int = MAX_DOTS,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a configuration graph, by depth from left to right.

    Up to `max_texts` configurations are drawn as boxes with their spikes, as in `Graph.to_svg`:
    halting ones have a double border, open ones a dashed border, and up to 40 arrows have labels.
    Up to `max_dots` configurations are drawn as dots: halting ones are squares, open ones are
    empty. For larger graphs the numbers of all and of halting configurations are plotted against
    the depth.

    **Arguments:**

    - `found`: a graph that `snpjax.explore` returned.
    - `witness`: a configuration, the shortest path to which is thick and in colour; or a `Verdict`
      on this graph, whose path is. Its loop is dashed.
    - `labels`: the labels of edges: "emissions" of the output neurons, or "rules".
    - `max_texts`: draw boxes up to this number of configurations.
    - `max_dots`: draw dots up to this number of configurations.
    - `ax`: the axes to draw on; by default those of a new figure.

    **Returns:** the axes.

    **Raises:** `ValueError` for a missing witness, and where edges are drawn that were
    not kept; `ImportError` without matplotlib.
    """
    if labels not in ("rules", "emissions"):
        raise ValueError(f"`labels` is {labels!r}. Write rules or emissions.")
    path = marked(found, witness)
    if found.num_configurations <= max_texts:
        return draw_scene(graph_scene(found, witness=witness, labels=labels), ax)
    if found.num_configurations <= max_dots:
        return _dots(found, path, ax)
    return _counts(found, path, ax)


def is_small(found: Graph[ConfigurationsT, StepsT]) -> bool:
    """Whether there are few enough configurations to draw each as a box."""
    return found.num_configurations <= MAX_CONFIGURATIONS


def _dots(found: Graph[ConfigurationsT, StepsT], path: Marked | None, ax: "Axes | None") -> "Axes":
    pairs = np.stack([found.sources, found.edge_targets], axis=1)
    ends = np.unique(pairs, axis=0)
    sizes = np.ones((found.num_configurations, 2))
    points = in_layers(found.depths, sizes, *ends.T, gap=(9.0, 1.0))
    points[:, 0] = found.depths
    halts, is_open = found.is_halting, found.is_open
    with drawing(ax, WIDE) as axes:
        lines = part("collections").LineCollection(points[ends], colors=GREY, linewidths=0.4)
        lines.set(alpha=0.5, zorder=1)
        axes.add_collection(lines)
        if path is not None:
            for edges, colour, style, name in (
                (path.edges, VERMILLION, "solid", "witness"),
                (path.loop, BLUE, "dashed", "repeated for ever"),
            ):
                steps = np.stack([found.sources[edges], found.edge_targets[edges]], axis=1)
                if len(edges):
                    taken = part("collections").LineCollection(
                        points[steps], colors=colour, linewidths=1.6, linestyles=style, label=name
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


def _counts(
    found: Graph[ConfigurationsT, StepsT], path: Marked | None, ax: "Axes | None"
) -> "Axes":
    table = by_depth(found)
    depth, configurations, _, halting = table.T
    with drawing(ax, WIDE) as axes:
        axes.plot(depth, configurations, color=BLACK, linewidth=1, label="configurations")
        some = halting > 0
        if some.any():
            axes.plot(depth[some], halting[some], "s", color=BLUE, markersize=3, label="halting")
        if path is not None:
            at = int(found.depths[path.last])
            axes.axvline(at, color=VERMILLION, linewidth=1.2, linestyle="--", label="witness")
        axes.set(yscale="log", ylabel="found at this depth")
        _depths(axes)
        axes.set_title(f"{found.num_configurations:,} configurations", loc="left")
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
        return axes


def _depths(ax: "Axes") -> None:
    ax.set_xlabel("depth (steps from the initial configuration)")
    whole_numbers(ax.xaxis)
