"""Small configuration graphs as scenes: a box for every configuration, by depth from left to
right."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from .._text.lines import EdgeLabels, lines
from .._text.quoting import printable
from ..drawing.edges import routed
from ..drawing.labels import label_shapes
from ..drawing.layered import in_layers
from ..drawing.scene import (
    BLACK,
    BLUE,
    GREY,
    SMALL,
    VERMILLION,
    Box,
    Curve,
    Scene,
    Shape,
    TextLine,
    rectangle,
    width_of,
)
from .dot import REPEATS, drawn_edges, state_columns, tells_steps_apart
from .marked import ShownByPath, marked
from .text import edge_texts


if TYPE_CHECKING:
    from .graph import Graph

#: Pictures on paper have no more labels.
MAX_LABELS = 40
_MAX_TEXT = 48  # characters of a configuration
_MAX_LABEL = 36
_HEIGHT, _MARGIN = 26.0, 14.0  # pixels of a box


def graph_scene(
    graph: "Graph",
    *,
    witness: int | ShownByPath | None = None,
    labels: EdgeLabels = "emissions",
    max_labels: int | None = MAX_LABELS,
) -> Scene:
    """A small graph as a scene, see `Graph.to_svg`; without labels if there are more than
    `max_labels`. The path to a configuration, or of a verdict, is marked; its loop is dashed."""
    texts, pairs = texts_of(graph), labels_of_pairs(graph, labels)
    if max_labels is not None and len(pairs) > max_labels:
        pairs = dict.fromkeys(pairs, "")
    ends = np.asarray(list(pairs), np.int64).reshape(-1, 2)
    halts, is_open = graph.is_halting, graph.is_open
    sizes = np.asarray([(width_of(text) + _MARGIN, _HEIGHT) for text in texts])
    borders = sizes + 6.0 * halts[:, None]
    widest = max((width_of(label, SMALL) for label in pairs.values()), default=0)
    middles = in_layers(graph.depths, borders, *ends.T, gap=(max(60.0, widest + 50), 42.0))
    path = marked(graph, witness)
    on_path = set() if path is None else set(path.configurations)
    steps, around = (set(), set()) if path is None else (_pairs(graph, x) for x in path[1:3])
    routes = routed(middles, borders, *ends.T, is_layered=True)
    curves = [
        Curve(points, BLUE, 2.4, is_dashed=True)
        if pair in around
        else Curve(points, *((VERMILLION, 2.4) if pair in steps else (GREY, 1.2)))
        for points, pair in zip(routes, pairs, strict=True)
    ]
    boxes: list[Shape] = [_arrow_in(middles[0], borders[0])]
    for i, ((x, y), text) in enumerate(zip(middles.tolist(), texts, strict=True)):
        colour, thickness = (VERMILLION, 2.4) if i in on_path else (BLACK, 1.2)
        width, height = sizes[i].tolist()
        if halts[i]:
            boxes.append(Box(x, y, width + 6, height + 6, 9, stroke=colour, thickness=thickness))
        box = Box(x, y, width, height, stroke=colour, thickness=thickness)
        title = f"configuration {i}{', halting' if halts[i] else ''}"
        boxes.append(replace(box, is_dashed=bool(is_open[i]), title=title))
        boxes.append(TextLine(x, y, text))
        if path is not None and i == path.start:
            above = y - borders[i, 1] / 2 - 9
            boxes.append(TextLine(x, above, REPEATS, SMALL, BLUE, has_ground=True))
    labelled = label_shapes(curves, list(pairs.values()), list(map(rectangle, boxes)))
    return Scene((*curves, *labelled, *boxes), f"{graph!r}")


def _pairs(graph: "Graph", edges: Int[np.ndarray, " some"]) -> set[tuple[int, int]]:
    """The ends of some edges."""
    ends = graph.sources[edges].tolist(), graph.edge_targets[edges].tolist()
    return set(zip(*ends, strict=True))


def _arrow_in(middle: np.ndarray, size: np.ndarray) -> Curve:
    x, y = float(middle[0] - size[0] / 2), float(middle[1])
    return Curve(((x - 30, y), (x - 20, y), (x - 10, y), (x, y)), BLACK, 1.6)


def texts_of(graph: "Graph") -> list[str]:
    some = graph.configurations()
    columns = state_columns(graph, some, tells_steps_apart(graph), printable)
    texts = lines(*columns, b"\n").decode().splitlines()
    return [_shortened(x, _MAX_TEXT) for x in texts]


def labels_of_pairs(graph: "Graph", labels: EdgeLabels) -> dict[tuple[int, int], str]:
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
