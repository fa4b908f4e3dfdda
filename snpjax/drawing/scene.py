"""Pictures of boxes and arrows as plain shapes, and how they are written as SVG.

A scene knows nothing of what it shows. It is drawn on paper by `snpjax.viz`, and by `to_svg` here
without any other library. Lengths are pixels of a text of 12 pixels; y grows downwards.
"""

import enum
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import hypot
from typing import Literal, TypeAlias

from .._text.quoting import printable


#: The palette of Okabe and Ito, which the colour-blind tell apart: nothing is told by colour alone.
BLACK, GREY, PAPER = "#111111", "#555555", "#ffffff"
ORANGE, SKY, GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILLION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"

TEXT, SMALL = 12.0, 10.0
#: Width of a character of a monospaced font, by its size (DejaVu Sans Mono: 0.602).
CHARACTER = 0.605
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"

Point: TypeAlias = tuple[float, float]


class End(enum.Enum):
    """What a curve ends with."""

    NOTHING = "nothing"
    ARROW = "an arrow"
    CIRCLE = "an empty circle, which inhibits"
    DOT = "a full circle, which tests"


@dataclass(frozen=True)
class Box:
    """A rectangle around its middle, with round corners of a radius; a pointer on it shows the
    title in SVG."""

    x: float
    y: float
    width: float
    height: float
    radius: float = 7.0
    fill: str = PAPER
    stroke: str = BLACK
    thickness: float = 1.2
    is_dashed: bool = False
    title: str = ""


@dataclass(frozen=True)
class Disc:
    """A circle."""

    x: float
    y: float
    radius: float
    fill: str = PAPER
    stroke: str = BLACK
    thickness: float = 1.2


@dataclass(frozen=True)
class Curve:
    """A cubic Bezier curve: its ends, with two points that pull it between them."""

    points: tuple[Point, Point, Point, Point]
    colour: str = GREY
    thickness: float = 1.2
    is_dashed: bool = False
    end: End = End.ARROW


@dataclass(frozen=True)
class TextLine:
    """A line of text; `y` is its middle. With `has_ground` it hides the lines below it."""

    x: float
    y: float
    text: str
    size: float = TEXT
    colour: str = BLACK
    anchor: Literal["start", "middle", "end"] = "middle"
    is_bold: bool = False
    has_ground: bool = False


Shape: TypeAlias = Box | Disc | Curve | TextLine
ARROW = 7.0  # length of a head
ROUND = 3.6  # radius of a circle at an end


@dataclass(frozen=True)
class Scene:
    """Shapes, the first ones below the others, and a title for those who cannot see them."""

    shapes: tuple[Shape, ...]
    title: str

    def bounds(self, margin: float = 12.0) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of all shapes."""
        corners = [corner for shape in self.shapes for corner in _corners(shape)] or [(0.0, 0.0)]
        xs, ys = zip(*corners, strict=True)
        return min(xs) - margin, min(ys) - margin, max(xs) + margin, max(ys) + margin


def rectangle(shape: Shape) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a shape."""
    xs, ys = zip(*_corners(shape), strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def columns(text: str) -> int:
    """How many characters wide a text is: those of East Asia are two."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def width_of(text: str, size: float = TEXT) -> float:
    """How wide a text is in a monospaced font."""
    return columns(text) * size * CHARACTER


def shortened(text: str, most: int) -> str:
    """A text in one line of this many characters at most."""
    text = printable(text)
    if columns(text) <= most:
        return text
    kept, left = "", most - 1
    for character in text:
        left -= columns(character)
        if left < 0:
            break
        kept += character
    return kept + "…"


def at(curve: Curve, t: float) -> Point:
    """The point of a curve at t of 0 to 1."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = curve.points
    a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    return a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy


def direction(curve: Curve) -> Point:
    """Where a curve points to at its end, of length 1."""
    (x, y), (to_x, to_y) = curve.points[2:]
    if (x, y) == (to_x, to_y):
        x, y = curve.points[0]
    length = max(hypot(to_x - x, to_y - y), 1e-9)
    return (to_x - x) / length, (to_y - y) / length


def arrow_head(curve: Curve) -> tuple[Point, Point, Point]:
    """The triangle at the end of a curve."""
    (u, v), (x, y) = direction(curve), curve.points[3]
    size = ARROW + 1.5 * (curve.thickness - 1.2)
    back_x, back_y = x - size * u, y - size * v
    side_x, side_y = 0.38 * size * v, -0.38 * size * u
    return (back_x + side_x, back_y + side_y), (x, y), (back_x - side_x, back_y - side_y)


def round_end(curve: Curve) -> Disc:
    """The circle at the end of a curve, which touches what it leads to."""
    (u, v), (x, y) = direction(curve), curve.points[3]
    fill = PAPER if curve.end is End.CIRCLE else curve.colour
    return Disc(x - ROUND * u, y - ROUND * v, ROUND, fill, curve.colour, curve.thickness)


def ground(words: TextLine) -> Box:
    """A piece of paper below a text in the middle of lines."""
    width = width_of(words.text, words.size) + 4
    return Box(words.x, words.y, width, words.size + 2, 2, PAPER, PAPER, 0)


def to_svg(scene: Scene) -> str:
    """The scene as the text of an SVG file, whose texts are texts. Nothing in a name is taken for
    markup."""
    left, top, right, bottom = scene.bounds()
    size = f'width="{right - left:.0f}" height="{bottom - top:.0f}"'
    title = escape(printable(scene.title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="{left:.1f} {top:.1f} {right - left:.1f} {bottom - top:.1f}" {size} '
        f'role="img" aria-label="{title}" '
        f'font-family="{FONT}">\n<title>{title}</title>\n'
        # Dark on light also on a dark page.
        f'<rect x="{left:.1f}" y="{top:.1f}" {size} rx="6" fill="{PAPER}"/>\n'
        + "\n".join(part for shape in scene.shapes for part in _elements(shape))
        + "\n</svg>\n"
    )


def _elements(shape: Shape) -> Iterable[str]:
    match shape:
        case Box():
            x, y = shape.x - shape.width / 2, shape.y - shape.height / 2
            title = f"><title>{escape(printable(shape.title))}</title></rect>"
            yield (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{shape.width:.1f}" '
                f'height="{shape.height:.1f}" rx="{shape.radius:g}" fill="{shape.fill}"'
                f"{_pen(shape)}{title if shape.title else '/>'}"
            )
        case Disc():
            yield (
                f'<circle cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}" '
                f'fill="{shape.fill}"{_pen(shape)}/>'
            )
        case Curve():
            a, b, c, d = (f"{x:.1f},{y:.1f}" for x, y in shape.points)
            yield f'<path d="M{a} C{b} {c} {d}" fill="none"{_pen(shape)}/>'
            if shape.end is End.ARROW:
                head = " L".join(f"{x:.1f},{y:.1f}" for x, y in arrow_head(shape))
                yield f'<path d="M{head} Z" fill="{shape.colour}"/>'
            elif shape.end is not End.NOTHING:
                yield from _elements(round_end(shape))
        case TextLine():
            if shape.has_ground:
                yield from _elements(ground(shape))
            bold = ' font-weight="bold"' if shape.is_bold else ""
            yield (
                f'<text x="{shape.x:.1f}" y="{shape.y + 0.35 * shape.size:.1f}" '
                f'font-size="{shape.size:g}" text-anchor="{shape.anchor}" '
                f'fill="{shape.colour}"{bold} xml:space="preserve">'
                f"{escape(printable(shape.text))}</text>"
            )


def _pen(shape: Box | Disc | Curve) -> str:
    colour = shape.colour if isinstance(shape, Curve) else shape.stroke
    dashed = ' stroke-dasharray="4 3"' if getattr(shape, "is_dashed", False) else ""
    return f' stroke="{colour}" stroke-width="{shape.thickness:g}"{dashed}'


def _corners(shape: Shape) -> Iterable[Point]:
    match shape:
        case Box():
            for side in (-0.5, 0.5):
                yield shape.x + side * shape.width, shape.y + side * shape.height
        case Disc():
            for side in (-1, 1):
                yield shape.x + side * shape.radius, shape.y + side * shape.radius
        case Curve():
            yield from (at(shape, t / 8) for t in range(9))
        case TextLine():
            width = width_of(shape.text, shape.size)
            left = {"start": 0.0, "middle": width / 2, "end": width}[shape.anchor]
            yield shape.x - left, shape.y - shape.size * 0.6
            yield shape.x - left + width, shape.y + shape.size * 0.6
