"""Scenes as LaTeX documents with a TikZ picture, in the font of the text around them."""

import re

from .._text.quoting import printable
from .._text.superscripts import SUPERSCRIPTS
from .scene import (
    Box,
    Curve,
    Disc,
    End,
    Point,
    Scene,
    Shape,
    TextLine,
    arrow_head,
    ground,
    round_end,
)


#: Points per pixel: a text of 12 pixels has 9 points.
_POINTS = 0.75
_HEAD = r"""%% pdflatex, or lualatex where names have letters of other scripts. To use the picture
%% in a paper, copy the colours and the tikzpicture.
\documentclass{article}
\usepackage[paperwidth=%.1fpt, paperheight=%.1fpt, margin=0pt]{geometry}
\usepackage{tikz}
\pagestyle{empty}\parindent=0pt\topskip=0pt
"""
_PLAIN = {superscript: plain for plain, superscript in SUPERSCRIPTS.items()}
_SUPERSCRIPT = re.compile(f"[{''.join(_PLAIN)}]+")
_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: rf"\{sign}" for sign in "#$%&_{}"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "→": r"$\to$",
    "λ": r"$\lambda$",
    "ā": r"$\bar{\mathrm{a}}$",
    "∞": r"$\infty$",
    "^∞": r"\textsuperscript{$\infty$}",
    "∅": r"$\emptyset$",
    "−": "$-$",
    "±": r"$\pm$",
    "∓": r"$\mp$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "‖": r"$\|$",
    "≈": r"$\approx$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "…": r"\ldots{}",
    "‹": r"$\langle$",
    "›": r"$\rangle$",
    '"': r"\textquotedblright{}",
    "'": r"\textquoteright{}",
    "`": r"\textasciigrave{}",
    "--": "-{}-",
    "?`": r"?{}\textasciigrave{}",
    "!`": r"!{}\textasciigrave{}",
    "  ": "~~",
}
_SIGN = re.compile("|".join(map(re.escape, sorted(_SIGNS, key=len, reverse=True))))
_ANCHORS = {"start": "base west", "middle": "base", "end": "base east"}


def to_tikz(scene: Scene) -> str:
    """The scene as the text of a LaTeX document of one page of its size. Nothing in a name is taken
    for a command."""
    left, top, right, bottom = scene.bounds()
    size = _POINTS * (right - left), _POINTS * (bottom - top)
    colours = sorted({colour for shape in scene.shapes for colour in _colours(shape)})
    lines = [f"\\definecolor{{{_name(c)}}}{{HTML}}{{{c[1:].upper()}}}" for c in colours]
    lines += [
        r"\begin{document}",
        f"% {printable(scene.title)}",
        rf"\begin{{tikzpicture}}[x={_POINTS}pt, y=-{_POINTS}pt, inner sep=0pt]",
        rf"\useasboundingbox {_point((left, top))} rectangle {_point((right, bottom))};",
        *(line for shape in scene.shapes for line in _drawn(shape)),
        r"\end{tikzpicture}",
        r"\end{document}",
    ]
    return _HEAD % (size[0] + 0.1, size[1] + 0.1) + "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """A text with the signs of rules as LaTeX typesets them."""
    text = _SIGN.sub(lambda found: _SIGNS[found[0]], printable(text))
    return _SUPERSCRIPT.sub(
        lambda found: f"\\textsuperscript{{{''.join(map(_PLAIN.__getitem__, found[0]))}}}",
        text,
    )


def _drawn(shape: Shape) -> list[str]:
    match shape:
        case Box():
            left, top = shape.x - shape.width / 2, shape.y - shape.height / 2
            corners = f"{_point((left, top))} rectangle ++({shape.width:.1f},{shape.height:.1f})"
            rounded = f", rounded corners={_POINTS * shape.radius:.2f}pt"
            return [f"\\path[{_pen(shape)}, fill={_name(shape.fill)}{rounded}] {corners};"]
        case Disc():
            radius = f"{_POINTS * shape.radius:.2f}pt"
            fill = f"fill={_name(shape.fill)}"
            return [
                f"\\path[{_pen(shape)}, {fill}] {_point((shape.x, shape.y))} circle ({radius});"
            ]
        case Curve():
            a, b, c, d = map(_point, shape.points)
            line = f"\\path[{_pen(shape)}] {a} .. controls {b} and {c} .. {d};"
            if shape.end is End.ARROW:
                head = " -- ".join(map(_point, arrow_head(shape)))
                return [line, f"\\fill[{_name(shape.colour)}] {head} -- cycle;"]
            return [line, *([] if shape.end is End.NOTHING else _drawn(round_end(shape)))]
        case TextLine():
            size = _POINTS * shape.size
            font = rf"\fontsize{{{size:.1f}}}{{{1.2 * size:.1f}}}\selectfont"
            if shape.is_bold:
                font += r"\bfseries"
            style = f"anchor={_ANCHORS[shape.anchor]}, text={_name(shape.colour)}, font={font}"
            base = _point((shape.x, shape.y + 0.35 * shape.size))
            words = f"\\node[{style}] at {base} {{{latex_text(shape.text)}}};"
            return [*(_drawn(ground(shape)) if shape.has_ground else ()), words]


def _point(point: Point) -> str:
    return f"({point[0]:.1f},{point[1]:.1f})"


def _pen(shape: Box | Disc | Curve) -> str:
    colour = shape.colour if isinstance(shape, Curve) else shape.stroke
    width = f"line width={_POINTS * shape.thickness:.2f}pt"
    is_dashed = not isinstance(shape, Disc) and shape.is_dashed
    if not shape.thickness:
        return "draw=none"
    return f"draw={_name(colour)}, {width}{', dashed' if is_dashed else ''}"


def _colours(shape: Shape) -> set[str]:
    match shape:
        case Box() | Disc():
            return {shape.fill, shape.stroke}
        case Curve():
            return {shape.colour, *(_colours(round_end(shape)))}
        case TextLine():
            return {shape.colour, *(_colours(ground(shape)) if shape.has_ground else ())}


def _name(colour: str) -> str:
    """`#0072b2` as LaTeX names it."""
    return f"snp{colour[1:].lower()}"
