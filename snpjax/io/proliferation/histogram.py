"""Histograms as two columns of text: fluorescence and number of cells."""

import math
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from snpjax_formats.atomic import atomic_write

from ...proliferation.histogram import Axis, Histogram
from ..errors import file_error
from ..source import Report, Unreadable, load, shortened


_MAX_ERRORS = 1_000
_WORD = re.compile(r"\S+")
#: Ten significant digits, as instruments write.
_DIGITS = 10


class HistogramRow(NamedTuple):
    """A line of columns: its number from 1, its words with their offsets, and their numbers."""

    line: int
    words: list[tuple[int, str]]
    numbers: list[float]


def rows(report: Report, names: tuple[str, ...], fix: str) -> Iterator[HistogramRow]:
    """The lines with a number for each name; comments are skipped, others are reported."""
    start = 0
    for number, line in enumerate(report.source.text.split("\n"), start=1):
        words = [(start + word.start(), word.group()) for word in _WORD.finditer(line)]
        start += len(line) + 1
        if not words or words[0][1].startswith("#"):
            continue
        where = f"line {number}: "
        if len(words) != len(names):
            message = f"{where}{len(words)} columns, expected {len(names)} ({fix})"
            report.error(words[0][0], message)
            continue
        found = [
            _number(report, offset, word, f"{where}{name} ")
            for (offset, word), name in zip(words, names, strict=True)
        ]
        numbers = [value for value in found if value is not None]
        if len(numbers) == len(names):
            yield HistogramRow(number, words, numbers)


def _number(report: Report, offset: int, word: str, where: str) -> float | None:
    """The number that a word is; `None` if it is none, which is reported."""
    try:
        value = float(word) if "_" not in word else None
    except ValueError:
        value = None
    if value is None:
        shown = repr(shortened(word))
        report.error(
            offset, f"{where}{shown} is not a number (remove a header, or begin it with #)"
        )
    elif not math.isfinite(value):
        report.error(offset, f"{where}{word} is not finite (write a number)")
        return None
    return value


def read_histogram(path: str | os.PathLike[str]) -> Histogram:
    """Read a histogram: a row for each channel, `fluorescence count`, without a header.

    Blank lines and lines that begin with `#` are skipped, and rows may be in any order. Counts are
    integers (`3.0` is one). Rows without cells may have any fluorescence: those of 0 or less belong
    to the axis only.

    **Raises:** `ReadError` with every error, each `path:line:column: problem (fix)`.
    """
    source = load(path)
    report = Report(source, last=_MAX_ERRORS)
    channels: dict[float, tuple[float, int]] = {}
    axis: list[float] = []
    with suppress(Unreadable):
        for row in rows(report, ("fluorescence", "count"), "write fluorescence and count"):
            _read_row(report, row, channels, axis)
    if not report.has_errors and not any(cells > 0 for cells, _ in channels.values()):
        raise file_error(source.path, "there are no cells (every count is 0)")
    report.finish()
    phi = np.array(sorted(channels))
    counts = np.array([int(channels[value][0]) for value in phi.tolist()], np.int64)
    return Histogram(phi, counts, axis=Axis(len(axis), min(axis), max(axis)))


def _read_row(
    report: Report, row: HistogramRow, channels: dict[float, tuple[float, int]], axis: list[float]
) -> None:
    where, (phi, cells) = f"line {row.line}: ", row.numbers
    at, word = row.words[1]
    if cells < 0:
        report.error(at, f"{where}negative count {word} (write 0 or more cells)")
    elif cells != math.floor(cells):
        report.error(at, f"{where}count {word} is not an integer (write whole cells)")
    elif cells >= 2**53:
        report.error(at, f"{where}count {word} is too large (write fewer than 2^53 cells)")
    elif phi <= 0 < cells:
        message = (
            f"{where}fluorescence {row.words[0][1]} is not positive but holds {cells:.0f} cells"
        )
        fix = "export the histogram on a logarithmic scale, or remove the row"
        report.error(row.words[0][0], f"{message} ({fix})")
    elif phi > 0 and phi in channels:
        first = channels[phi][1]
        fix = "add the counts, and keep one row"
        report.error(
            row.words[0][0],
            f"{where}fluorescence {row.words[0][1]} stands twice, first in line {first} ({fix})",
        )
    else:
        axis.append(phi)
        if phi > 0:
            channels[phi] = (cells, row.line)


def write_histogram(histogram: Histogram, path: str | os.PathLike[str]) -> None:
    """Write all channels of a histogram, the empty ones too."""
    pairs = zip(histogram.fluorescence.tolist(), histogram.counts.tolist(), strict=True)
    text = "".join(f"{phi:.{_DIGITS}g}\t{cells}\n" for phi, cells in pairs)
    atomic_write(Path(path), text)
