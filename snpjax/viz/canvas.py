"""Scenes drawn with matplotlib. Texts are outlines, so that they keep their place in their boxes
whatever the size of the axes."""

import os
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snpjax_formats.atomic import atomic_write

from .._text.quoting import printable
from ..drawing.scene import (
    Box,
    Curve,
    Disc,
    End,
    Scene,
    Shape,
    TextLine,
    arrow_head,
    ground,
    round_end,
    to_svg,
    width_of,
)
from ..drawing.tikz import to_tikz
from .axes import drawing, new_figure, part, save, suffix_of


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]

#: Points on paper of a pixel of a scene: texts of 12 pixels are of 7 points.
_POINTS = 7 / 12
_LARGEST = 40.0  # inches
_DASHES = (0, (4, 3))
_OTHER_SCRIPTS = ("Noto Sans Mono CJK JP", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "MS Gothic")
_ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}


def size_of(scene: Scene) -> tuple[float, float]:
    """Width and height in inches at which a scene is readable."""
    left, top, right, bottom = scene.bounds()
    scale = _POINTS / 72
    largest = max(right - left, bottom - top) * scale
    scale *= min(1.0, _LARGEST / largest)
    return max((right - left) * scale, 0.5), max((bottom - top) * scale, 0.3)


def draw_scene(scene: Scene, ax: "Axes | None" = None) -> "Axes":
    """Draw a scene; without `ax` into a figure of its own size. **Raises:** `ImportError` without
    matplotlib."""
    with drawing(ax, size_of(scene)) as axes:
        left, top, right, bottom = scene.bounds()
        axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        axes.set_axis_off()
        box = axes.get_window_extent()
        scale = min(box.width / (right - left), box.height / (bottom - top)) * 72 / axes.figure.dpi
        for shape in scene.shapes:
            for patch in _patches(shape, min(max(scale, 0.25), 1.2)):
                axes.add_artist(patch)  # limits are set: nothing to be measured
        return axes


def save_scene(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a scene: as SVG, or as LaTeX with TikZ (`.tex`), it is its own text, and needs no
    matplotlib.

    **Raises:** as `snpjax.viz.axes.save`; `ImportError` for another suffix without matplotlib.
    """
    suffix = suffix_of(path, is_scene=True)
    if suffix == ".tex":
        return atomic_write(Path(path), to_tikz(scene))
    if suffix == ".svg":
        return save(to_svg(scene), path)
    with new_figure(size_of(scene), is_filled=True) as figure:
        draw_scene(scene, figure.add_axes((0, 0, 1, 1)))
        save(figure, path)


def _patches(shape: Shape, scale: float) -> "list[Any]":
    patches, paths = part("patches"), part("path")
    match shape:
        case Box():
            corner = (shape.x - shape.width / 2, shape.y - shape.height / 2)
            style = f"round,pad=0,rounding_size={shape.radius}" if shape.radius else "square,pad=0"
            box = patches.FancyBboxPatch(corner, shape.width, shape.height, boxstyle=style)
            box.set(facecolor=shape.fill, **_pen(shape, scale))
            return [box]
        case Disc():
            disc = patches.Circle((shape.x, shape.y), shape.radius)
            disc.set(facecolor=shape.fill, **_pen(shape, scale))
            return [disc]
        case Curve():
            codes = [paths.Path.MOVETO] + [paths.Path.CURVE4] * 3
            line = patches.PathPatch(paths.Path(shape.points, codes))
            line.set(fill=False, capstyle="butt", **_pen(shape, scale))
            if shape.end is End.ARROW:
                head = patches.Polygon(arrow_head(shape), closed=True)
                head.set(facecolor=shape.colour, linewidth=0)
                return [line, head]
            round_ends = [] if shape.end is End.NOTHING else _patches(round_end(shape), scale)
            return [line, *round_ends]
        case TextLine():
            return _outlines(shape, scale)


def _outlines(words: TextLine, scale: float) -> "list[Any]":
    """A text as it looks, and what is below it."""
    patches, transforms = part("patches"), part("transforms")
    fonts = part("font_manager")
    font = fonts.FontProperties(family=_families(), weight="bold" if words.is_bold else "normal")
    text = printable(words.text).replace("$", r"\$")  # which would begin a formula
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        path = part("textpath").TextPath((0, 0), text, size=words.size, prop=font)
    left = words.x - _ANCHORS[words.anchor] * width_of(words.text, words.size)
    place = transforms.Affine2D().scale(1, -1).translate(left, words.y + 0.35 * words.size)
    path = path.transformed(place)
    outlines = patches.PathPatch(path, facecolor=words.colour, linewidth=0)
    return [*(_patches(ground(words), scale) if words.has_ground else ()), outlines]


@cache
def _families() -> list[str]:
    """The font of all pictures, and one for other scripts where the machine has any."""
    there = set(part("font_manager").fontManager.get_font_names())
    return ["DejaVu Sans Mono", *(name for name in _OTHER_SCRIPTS if name in there)]


def _pen(shape: Box | Disc | Curve, scale: float) -> dict[str, Any]:
    colour = shape.colour if isinstance(shape, Curve) else shape.stroke
    is_dashed = not isinstance(shape, Disc) and shape.is_dashed
    return {
        "edgecolor": colour,
        "linewidth": shape.thickness * scale,
        "linestyle": _DASHES if is_dashed else "solid",
    }
