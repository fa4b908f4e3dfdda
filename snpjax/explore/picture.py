"""Configuration graphs drawn without another program: SVG, and what a notebook shows.

Configurations stand by depth, see `snpjax.explore.drawing`.
"""

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from .._text.lines import EdgeLabels
from .._text.quoting import table_html
from ..drawing.scene import to_svg as scene_svg
from .marked import ShownByPath
from .text import names_of


if TYPE_CHECKING:
    from .graph import Graph

#: More than these nobody reads; a notebook shows a table then.
MAX_CONFIGURATIONS = 60
MAX_CHOICES = 240
_MAX_NAMES = 24  # in a notebook
_MAX_ROWS = 40  # depths in a table


def to_svg(
    graph: "Graph",
    *,
    labels: EdgeLabels = "emissions",
    witness: int | ShownByPath | None = None,
    max_configurations: int = MAX_CONFIGURATIONS,
) -> str:
    """A picture of a small graph, without any other program.

    Configurations are written as in `to_dot`, by depth from left to right. Halting ones have a
    double border, those after which more may follow a dashed one, and an arrow leads to the initial
    one. Choices between the same two configurations are one arrow. The number of a configuration is
    the title of its box.

    **Arguments:**

    - `labels`: what stands at the edges: what the output neurons emit, or the rules selected.
    - `witness`: a configuration, the shortest path to which is coloured and thick; or a `Verdict`
      on this graph, whose path is. The arrows of its loop are dashed, and "repeats from here"
      stands where it begins.
    - `max_configurations`: a larger graph is refused.

    **Raises:** `ValueError` for a larger graph, or one whose edges were not kept.
    """
    if graph.num_configurations > max_configurations:
        raise ValueError(
            f"The graph has {graph.num_configurations:,} configurations, more than "
            f"{max_configurations:,} to be drawn. Raise `max_configurations`, explore with a "
            "`max_depth`, or use `to_dot` and Graphviz."
        )
    from .drawing import graph_scene  # what places boxes takes 0.3 s to import

    scene = graph_scene(graph, witness=witness, labels=labels, max_labels=None)
    names = ", ".join(graph.schema.action_names)
    title = f"{graph!r} of {graph.schema.title or 'a model'}: {names}"
    return scene_svg(replace(scene, title=title))


def graph_svg(graph: "Graph") -> str | None:
    """The picture of a small graph, `None` for any other."""
    is_small = graph.num_configurations <= MAX_CONFIGURATIONS and graph.num_choices <= MAX_CHOICES
    if graph.targets is None or not is_small or len(names_of(graph.schema)) > _MAX_NAMES:
        return None
    return to_svg(graph)


def graph_html(graph: "Graph") -> str:
    """The picture of a small graph, and the numbers of configurations by depth of any other."""
    picture = graph_svg(graph)
    if picture is not None:
        return f"<p>{escape(repr(graph))}</p>{picture}"
    rows = [[f"{x:,}" for x in row] for row in by_depth(graph).tolist()]
    heads = ["depth", "configurations", "choices", "halting"]
    left = len(rows) - _MAX_ROWS
    return table_html(repr(graph), heads, rows[:_MAX_ROWS], left, "depths")


def by_depth(graph: "Graph") -> Int[np.ndarray, "depths 4"]:
    """Of every depth: the depth, its configurations, their choices, and those that halt."""
    starts = graph.depth_starts
    clipped = np.minimum(starts, graph.num_expanded)
    halting = np.concatenate([[0], np.cumsum(graph.is_halting)])
    columns = [np.arange(graph.depth + 1), np.diff(starts)]
    columns += [np.diff(graph.first_edge[clipped]), np.diff(halting[starts])]
    return np.stack(columns, axis=1).astype(np.int64)
