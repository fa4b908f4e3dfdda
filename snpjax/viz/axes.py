"""Figures: those of pyplot in a notebook, and those of files, which need no screen."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snpjax_formats.atomic import atomic_write

from .._text.optional import installing, pyplot


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

#: What pictures are written as.
SUFFIXES = (".svg", ".png", ".pdf")
#: Inches of a picture that stands in one column of a paper, and of a wide one.
COLUMN, WIDE = (3.5, 2.4), (7.0, 3.0)
_DPI = 200

#: Of every picture: text of 8 points, which is readable where the picture stands in its own size.
STYLE = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,  # text that can be searched
    "svg.hashsalt": "snpjax",  # the same picture is the same file
}


def part(name: str) -> Any:
    """A module of matplotlib. **Raises:** `ImportError` with how to install it."""
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError:
        raise ImportError(f"matplotlib is not installed ({installing('viz')})") from None


@contextmanager
def styled() -> Iterator[None]:
    """Our sizes of texts and lines."""
    with part("style").context(STYLE):
        yield


@contextmanager
def drawing(ax: "Axes | None", size: tuple[float, float]) -> "Iterator[Axes]":
    """`ax` as its owner styled it; or that of a new figure of pyplot, in our style and of a size in
    inches."""
    if ax is not None:
        yield ax
        return
    with styled():
        yield pyplot().subplots(figsize=size, layout="constrained")[1]


@contextmanager
def new_figure(size: tuple[float, float], *, is_filled: bool = False) -> "Iterator[Figure]":
    """A figure that no window shows, of a size in inches; within, our style. One `is_filled` by
    axes has no margins."""
    with styled():
        layout = None if is_filled else "constrained"
        yield part("figure").Figure(figsize=size, layout=layout)


def whole_numbers(axis: Any) -> None:
    """Ticks of an axis where numbers are whole."""
    axis.set_major_locator(part("ticker").MaxNLocator("auto", integer=True))


def suffix_of(path: str | os.PathLike[str], *, is_scene: bool = False) -> str:
    """The suffix that says what a picture is written as; a scene may also be LaTeX.

    **Raises:** `ValueError` for any other."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES and not (is_scene and suffix == ".tex"):
        raise ValueError(
            f"{os.fspath(path)}: the suffix {suffix!r} is not one of a picture (write one of "
            f"{', '.join(SUFFIXES)}; `snpjax draw` writes networks, nets and small graphs also as "
            ".tex)"
        )
    return suffix


def save(figure: "Figure | str", path: str | os.PathLike[str], *, dpi: int = _DPI) -> None:
    """Write a picture to a file, atomically. Equal pictures give equal files.

    **Arguments:**

    - `figure`: a Matplotlib figure, such as `ax.figure`, or the text of an SVG file.
    - `path`: the file, whose suffix is the format: `.png`, `.svg` or `.pdf`.
    - `dpi`: pixels per inch, where the format has pixels.

    **Raises:** `ValueError` for a suffix that is not one of a picture; `TypeError` for something
    else than a figure; `OSError` if the file cannot be written.
    """
    target, suffix = Path(path), suffix_of(path)
    if isinstance(figure, str):
        if suffix != ".svg":
            raise ValueError(f"{target}: an SVG text is written to .svg")
        atomic_write(target, figure)
        return
    if isinstance(figure, part("axes").Axes):
        raise TypeError("`figure` is an Axes, which is a part of a figure. Pass `ax.figure`.")
    if not isinstance(figure, part("figure").Figure):
        kind = type(figure).__name__
        raise TypeError(f"`figure` is a {kind}. Pass a Matplotlib figure, such as `ax.figure`.")
    buffer = BytesIO()
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    with styled(), warnings.catch_warnings():
        # A name in letters that the font has not: they are empty boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(buffer, format=suffix[1:], dpi=dpi, metadata=dates)
    atomic_write(target, buffer.getvalue())
