"""Nets drawn in the usual notation: places are circles with their tokens, transitions bars.

What it gives is a scene, which `snpjax.viz.net` draws on paper and a notebook shows as SVG.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Int

from ...drawing.edges import routed
from ...drawing.labels import label_shapes
from ...drawing.layered import in_grid, in_layers, layers, without_cycles
from ...drawing.scene import (
    BLACK,
    GREY,
    SMALL,
    TEXT,
    VERMILLION,
    Box,
    Curve,
    Disc,
    End,
    Scene,
    Shape,
    TextLine,
    rectangle,
    shortened,
    to_svg,
    width_of,
)


if TYPE_CHECKING:
    from ..model.net import SleptsovNet
    from .solution import NetSolution

#: More places and transitions than these nobody reads.
MAX_NODES = 150
_RADIUS, _BAR, _LENGTH = 16.0, 7.0, 34.0
_GAP = (54.0, 38.0)
_NAME = 16  # characters
_ROOM = 14.0  # of a name
# Tokens as dots, up to this many, by their places in a circle.
_DOTS = {
    1: ((0, 0),),
    2: ((-5, 0), (5, 0)),
    3: ((0, -5.5), (-5.5, 4), (5.5, 4)),
    4: ((-5, -5), (5, -5), (-5, 5), (5, 5)),
    5: ((-6, -6), (6, -6), (-6, 6), (6, 6), (0, 0)),
}


class _Arc(NamedTuple):
    source: int
    target: int
    label: str
    end: End
    is_dashed: bool = False


def net_scene(
    net: "SleptsovNet",
    *,
    marking: "Sequence[int] | Int[np.ndarray, ' places'] | None" = None,
    max_nodes: int = MAX_NODES,
) -> Scene:
    """A net as a scene, from left to right as tokens flow.

    Multiplicities other than 1 stand at their arcs. An inhibitor arc ends with an empty circle, a
    test arc with a full one, with their thresholds where these are not 1. A dashed arrow leads from
    a transition to one that it beats.

    **Arguments:**

    - `marking`: `(places,)` tokens to be shown, by default the initial ones.
    - `max_nodes`: a net of more places and transitions is refused.

    **Raises:** `ValueError` for a larger net, or another number of places.
    """
    num_places, num = net.num_places, net.num_places + net.num_transitions
    if num > max_nodes:
        raise ValueError(
            f"The net has {num_places:,} places and {net.num_transitions:,} transitions, more than "
            f"{max_nodes:,} to be drawn. Raise `max_nodes`."
        )
    tokens = np.asarray(net.marking if marking is None else marking)
    if tokens.shape != (num_places,):
        raise ValueError(f"`marking` has shape {tokens.shape}. Give {num_places} numbers.")
    names = [shortened(net.place_name(p), _NAME) for p in range(num_places)]
    names += [shortened(net.transition_name(t), _NAME) for t in range(net.num_transitions)]
    is_place = np.arange(num) < num_places
    sizes = np.where(is_place[:, None], 2 * _RADIUS, [[_BAR, _LENGTH]])
    widths = np.asarray([width_of(name, SMALL) for name in names])
    outer = np.stack([np.maximum(sizes[:, 0], widths), sizes[:, 1] + _ROOM], axis=1)
    arcs = _arcs(net)
    middles = _places(arcs, outer) + [0, _ROOM / 2]
    ends = np.asarray([(a.source, a.target) for a in arcs], np.int64).reshape(-1, 2)
    texts = (middles - [0, _LENGTH / 2 + 8], np.stack([widths, widths * 0 + SMALL], axis=1))
    routes = routed(middles, sizes, *ends.T, is_layered=False, are_round=is_place, names=texts)
    curves = [
        Curve(
            points,
            VERMILLION if a.is_dashed else BLACK if a.end is End.ARROW else GREY,
            is_dashed=a.is_dashed,
            end=a.end,
        )
        for points, a in zip(routes, arcs, strict=True)
    ]
    nodes: list[Shape] = []
    for node, (x, y) in enumerate(middles.tolist()):
        if node < num_places:
            nodes += _place(x, y, int(tokens[node]))
        else:
            nodes.append(Box(x, y, _BAR, _LENGTH, 0, BLACK, BLACK, 0.8))
        nodes.append(TextLine(x, y - _LENGTH / 2 - 8, names[node], SMALL, has_ground=True))
    labelled = label_shapes(curves, [a.label for a in arcs], list(map(rectangle, nodes)))
    return Scene((*curves, *labelled, *nodes), f"{net!r}")


def net_svg(net: "SleptsovNet") -> str | None:
    """The picture of a small net, `None` for any other."""
    is_small = net.num_places + net.num_transitions <= MAX_NODES
    return to_svg(net_scene(net)) if is_small else None


def net_html(net: "SleptsovNet") -> str:
    """What a notebook shows of a net: its picture, or what it is where it is large."""
    return f"<p>{escape(repr(net))}</p>{net_svg(net) or ''}"


def net_solution_html(solution: "NetSolution") -> str:
    """What a notebook shows of a run: the net with its final marking, and the places that hold
    tokens."""
    text = f"<pre>{escape(repr(solution))}</pre>"
    net = solution.net
    if net.num_places + net.num_transitions > MAX_NODES:
        return text
    return text + to_svg(net_scene(net, marking=solution.marking))


def _arcs(net: "SleptsovNet") -> list[_Arc]:
    first = net.num_places
    taken = ((net.inputs, End.ARROW), (net.inhibitors, End.CIRCLE), (net.tests, End.DOT))
    found = [
        _Arc(p, first + t, _weight(w), end) for some, end in taken for p, t, w in some.triples()
    ]
    found += [_Arc(first + t, p, _weight(w), End.ARROW) for p, t, w in net.outputs.triples()]
    beats = [_Arc(first + a, first + b, "", End.ARROW, True) for a, b in net.priorities.tolist()]
    return found + beats


def _weight(weight: int) -> str:
    return "" if weight == 1 else f"{weight:,}"


def _places(arcs: list[_Arc], outer: np.ndarray) -> np.ndarray:
    """Layers along the regular arcs, but for those that close a cycle."""
    num = len(outer)
    flow = [(a.source, a.target) for a in arcs if a.end is End.ARROW and not a.is_dashed]
    sources, targets = np.asarray(flow, np.int64).reshape(-1, 2).T
    is_kept = without_cycles(num, sources, targets)
    layer = layers(num, sources[is_kept], targets[is_kept])
    if layer is None:
        return in_grid(outer, gap=_GAP)
    ends = np.asarray([(a.source, a.target) for a in arcs if not a.is_dashed], np.int64)
    return in_layers(layer, outer, *ends.T, gap=_GAP)


def _place(x: float, y: float, tokens: int) -> Iterable[Shape]:
    yield Disc(x, y, _RADIUS)
    if tokens in _DOTS:
        for right, down in _DOTS[tokens]:
            yield Disc(x + right, y + down, 2.6, BLACK, BLACK, 0)
    elif tokens:
        text = f"{tokens}"
        if tokens >= 10_000:
            text = f"{tokens:.0e}".replace("e+0", "e").replace("e+", "e")
            text = text if int(float(text)) == tokens else f"≈{text}"
        yield TextLine(x, y, text, TEXT if len(text) < 3 else SMALL)
