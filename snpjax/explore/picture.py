"""Configuration graphs drawn without another program: SVG, and what a notebook shows.

The layout is that of the search: a column for each depth, ordered so that edges cross little.
"""

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Int

from .._text.lines import Labels, lines
from .._text.quoting import printable, table_html
from ..machine import ConfigurationsT, StepsT
from .dot import WITNESS_COLOUR, drawn_edges, edges_of_path, state_columns, tells_steps_apart
from .text import edge_texts, names_of


if TYPE_CHECKING:
    from .graph import Graph

#: More than these nobody reads; a notebook shows a table then.
MAX_CONFIGURATIONS = 60
MAX_CHOICES = 240
_MAX_TEXT = 48  # characters of a configuration
_MAX_LABEL = 36
_MAX_ROWS = 40  # depths in a table

_HEIGHT, _CHARACTER, _MARGIN = 26, 7.3, 14  # of a box, in pixels
_GAP_X, _GAP_Y = 64, 30  # between boxes, besides the labels
_SMALL = 6.1  # a character of a label
# Dark on a light card: readable on light and dark pages alike. Nothing is told by colour alone, and
# the colours are of the palette of Okabe and Ito.
_STYLE = f"""
.card {{ fill: #fbfbfb; }}
.box {{ fill: #ffffff; stroke: #222222; stroke-width: 1.2; }}
.open {{ stroke-dasharray: 4 3; }}
.edge {{ fill: none; stroke: #555555; stroke-width: 1.2; }}
.on-path {{ stroke: {WITNESS_COLOUR}; stroke-width: 2.4; }}
text {{ font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #111111; }}
.label {{ font-size: 10px; fill: #005a8c; stroke: #fbfbfb; stroke-width: 3px; paint-order: stroke }}
"""


class _Box(NamedTuple):
    """Where a configuration stands: the middle of its left and right sides."""

    left: float
    right: float
    y: float


def to_svg(
    graph: "Graph[ConfigurationsT, StepsT]",
    *,
    labels: Labels = "emissions",
    witness: int | None = None,
    max_configurations: int = MAX_CONFIGURATIONS,
) -> str:
    """A picture of a small graph, without any other program.

    Configurations are written as in `to_dot`, by depth from left to right. Halting ones have a
    double border, those after which more may follow a dashed one, and an arrow leads to the initial
    one. Choices between the same two configurations are one arrow.

    **Arguments:**

    - `labels`: what stands at the edges: what the output neurons emit, or the rules selected.
    - `witness`: a configuration; the shortest path to it is coloured and thick.
    - `max_configurations`: a larger graph is refused.

    **Raises:** `ValueError` for a larger graph, or one whose edges were not kept.
    """
    if graph.num_configurations > max_configurations:
        raise ValueError(
            f"The graph has {graph.num_configurations:,} configurations, more than "
            f"{max_configurations:,} to be drawn. Raise `max_configurations`, explore with a "
            "`max_depth`, or use `to_dot` and Graphviz."
        )
    targets = graph.edge_targets
    texts = texts_of(graph)
    merged = labels_of_pairs(graph, labels)
    boxes = _boxes(graph, texts, max(map(len, merged.values()), default=0))
    path = graph.path_to(witness) if witness is not None else []
    coloured = {
        (int(graph.sources[e]), int(targets[e])) for e in edges_of_path(graph, witness).tolist()
    }
    halting = set(np.flatnonzero(graph.is_halting).tolist())
    parts = [
        _edge(boxes[a], _grown(boxes[b], b in halting), label, (a, b) in coloured)
        for (a, b), label in merged.items()
    ]
    start, y = _grown(boxes[0], 0 in halting).left, boxes[0].y
    parts.append(_curve((start - 30, y, start - 20, y, start - 10, y, start, y), "edge"))
    for number, (box, text) in enumerate(zip(boxes, texts, strict=True)):
        kind = "box open" if graph.is_open[number] else "box"
        kind += " on-path" if number in path else ""
        parts.append(_node(box, text, kind, number in halting, number))
    width = max(box.right for box in boxes) + 60
    low = min(box.y for box in boxes) - _HEIGHT / 2 - 44
    high = max(box.y for box in boxes) + _HEIGHT / 2 + 44
    size = f"{width:.0f} {high - low:.0f}"
    names = ", ".join(graph.schema.action_names)
    title = _xml(f"{graph!r} of {graph.schema.title or 'a model'}: {names}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {low:.0f} {size}" '
        f'width="{width:.0f}" height="{high - low:.0f}" role="img" aria-label="{title}" '
        f'style="max-width: 100%; height: auto">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect class="card" x="0" y="{low:.0f}" width="100%" height="100%" rx="6"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def graph_svg(graph: "Graph[ConfigurationsT, StepsT]") -> str | None:
    """The picture of a small graph, `None` for any other."""
    is_small = graph.num_configurations <= MAX_CONFIGURATIONS and graph.num_choices <= MAX_CHOICES
    if graph.targets is None or not is_small or len(names_of(graph.schema)) > _MAX_TEXT // 2:
        return None
    return to_svg(graph)


def graph_html(graph: "Graph[ConfigurationsT, StepsT]") -> str:
    """The picture of a small graph, and the numbers of configurations by depth of any other."""
    picture = graph_svg(graph)
    if picture is not None:
        return f"<p>{escape(repr(graph))}</p>{picture}"
    rows = [[f"{x:,}" for x in row] for row in by_depth(graph).tolist()]
    heads = ["depth", "configurations", "choices", "halting"]
    left = len(rows) - _MAX_ROWS
    return table_html(repr(graph), heads, rows[:_MAX_ROWS], left, "depths")


def by_depth(graph: "Graph[ConfigurationsT, StepsT]") -> Int[np.ndarray, "depths 4"]:
    """Of every depth: the depth, its configurations, their choices, and those that halt."""
    starts = graph.depth_starts
    clipped = np.minimum(starts, graph.num_expanded)
    halting = np.concatenate([[0], np.cumsum(graph.is_halting)])
    columns = [np.arange(graph.depth + 1), np.diff(starts)]
    columns += [np.diff(graph.first_edge[clipped]), np.diff(halting[starts])]
    return np.stack(columns, axis=1).astype(np.int64)


def texts_of(graph: "Graph[ConfigurationsT, StepsT]") -> list[str]:
    some = graph.configurations()
    columns = state_columns(graph, some, tells_steps_apart(graph), printable)
    texts = lines(*columns, b"\n").decode().splitlines()
    return [_shortened(x, _MAX_TEXT) for x in texts]


def labels_of_pairs(
    graph: "Graph[ConfigurationsT, StepsT]", labels: Labels
) -> dict[tuple[int, int], str]:
    """The labels of all choices between two configurations, each once."""
    if not graph.num_choices:
        return {}
    steps = graph.transitions()
    names = {name: printable(name) for name in graph.schema.action_names}
    columns = edge_texts(graph.schema, steps, drawn_edges(labels), names)
    texts = lines(*columns, b"\n").decode().split("\n")[:-1]
    found: dict[tuple[int, int], list[str]] = {}
    for source, target, text in zip(
        steps.sources.tolist(), steps.targets.tolist(), texts, strict=True
    ):
        found.setdefault((source, target), []).append(text)
    joined = {ends: " | ".join(filter(None, dict.fromkeys(own))) for ends, own in found.items()}
    return {ends: _shortened(label, _MAX_LABEL) for ends, label in joined.items()}


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _boxes(
    graph: "Graph[ConfigurationsT, StepsT]", texts: list[str], longest_label: int
) -> list[_Box]:
    """A place for every configuration: columns by depth, each ordered by the mean place of the
    neighbours."""
    neighbours: list[set[int]] = [set() for _ in texts]
    for source, target in zip(graph.sources.tolist(), graph.edge_targets.tolist(), strict=True):
        neighbours[source].add(target)
        neighbours[target].add(source)
    starts = graph.depth_starts.tolist()
    columns = [list(range(a, b)) for a, b in zip(starts, starts[1:], strict=False)]
    place = {n: k - (len(own) - 1) / 2 for own in columns for k, n in enumerate(own)}
    for _ in range(4):
        for own in columns:
            mean = {n: float(np.mean([place[m] for m in neighbours[n] or {n}])) for n in own}
            own.sort(key=lambda n, mean=mean: (mean[n], n))
            place |= {n: k - (len(own) - 1) / 2 for k, n in enumerate(own)}
    boxes: dict[int, _Box] = {}
    x = 44.0
    for own in columns:
        widths = {n: _CHARACTER * len(texts[n]) + _MARGIN for n in own}
        widest = max(widths.values())
        for n in own:
            left = x + (widest - widths[n]) / 2
            boxes[n] = _Box(left, left + widths[n], place[n] * (_HEIGHT + _GAP_Y))
        x += widest + _GAP_X + _SMALL * longest_label
    return [boxes[n] for n in range(len(texts))]


def _node(box: _Box, text: str, kind: str, halts: bool, number: int) -> str:
    def rectangle(grow: float) -> str:
        width = box.right - box.left + 2 * grow
        return (
            f'<rect class="{kind}" x="{box.left - grow:.1f}" y="{box.y - _HEIGHT / 2 - grow:.1f}" '
            f'width="{width:.1f}" height="{_HEIGHT + 2 * grow:.1f}" rx="7"/>'
        )

    outer = rectangle(3) if halts else ""
    middle = (box.left + box.right) / 2
    return (
        f"<g><title>configuration {number}{', halting' if halts else ''}</title>{outer}"
        f'{rectangle(0)}<text x="{middle:.1f}" y="{box.y + 4:.1f}" text-anchor="middle">'
        f"{_xml(text)}</text></g>"
    )


def _grown(box: _Box, halts: bool) -> _Box:
    """A box with its second border."""
    return _Box(box.left - 3, box.right + 3, box.y) if halts else box


def _edge(a: _Box, b: _Box, label: str, on_path: bool) -> str:
    kind = "edge on-path" if on_path else "edge"
    if b.left > a.right:  # to the next depth
        bend = (b.left - a.right) / 2
        middle, y = (a.right + b.left) / 2, (a.y + b.y) / 2
        curve = (a.right, a.y, a.right + bend, a.y, b.left - bend, b.y, b.left, b.y)
    elif a.y == b.y and a.left == b.left:
        x, top = (a.left + a.right) / 2, a.y - _HEIGHT / 2
        middle, y = x, top - 24
        curve = (x - 10, top, x - 24, top - 30, x + 24, top - 30, x + 10, top)
    elif b.right > a.left:  # within a depth
        out = max(a.right, b.right) + 18 + abs(a.y - b.y) / 8
        middle, y = out, (a.y + b.y) / 2
        end = b.y + float(np.copysign(6, a.y - b.y))  # beside what leaves the target
        curve = (a.right, a.y, out, a.y, out, end, b.right, end)
    else:  # back: below the boxes
        x, low = (a.left + a.right) / 2, a.y + _HEIGHT / 2
        to, end = (b.left + b.right) / 2, b.y + _HEIGHT / 2
        sag = 26 + abs(x - to) / 8
        middle, y = (x + to) / 2, (low + end) / 2 + 0.75 * sag
        curve = (x - 8, low, x - 8, low + sag, to + 8, end + sag, to + 8, end)
    text = f'<text class="label" x="{middle:.1f}" y="{y - 3:.1f}" text-anchor="middle">'
    return _curve(curve, kind) + (f"{text}{_xml(label)}</text>" if label else "")


def _curve(points: tuple[float, ...], kind: str) -> str:
    """A Bezier curve with a head at its end."""
    x, y, a, b, c, d, to_x, to_y = points
    length = max(float(np.hypot(to_x - c, to_y - d)), 1e-6)
    u, v = (to_x - c) / length * 7, (to_y - d) / length * 7
    head = (
        f"M{to_x - u - v / 2:.1f},{to_y - v + u / 2:.1f} L{to_x:.1f},{to_y:.1f} "
        f"L{to_x - u + v / 2:.1f},{to_y - v - u / 2:.1f}"
    )
    curve = f"M{x:.1f},{y:.1f} C{a:.1f},{b:.1f} {c:.1f},{d:.1f} {to_x:.1f},{to_y:.1f}"
    return f'<path class="{kind}" d="{curve} {head}"/>'


def _xml(text: str) -> str:
    return escape(printable(text))
