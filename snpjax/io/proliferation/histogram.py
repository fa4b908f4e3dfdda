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
from ..formats import refuse_other_kind
from ..source import Report, Unreadable, load, reading, shortened


MAX_ERRORS = 1_000
_WORD = re.compile(r"\S+")
#: Ten significant digits, as instruments write.
_DIGITS = 10


class HistogramRow(NamedTuple):
    """A line of columns: its number from 1, its offset and text, and its numbers."""

    line: int
    start: int
    text: str
    numbers: list[float]

    @property
    def where(self) -> str:
        return f"line {self.line}: "

    @property
    def words(self) -> list[tuple[int, str]]:
        """The words with their offsets."""
        return [(self.start + word.start(), word.group()) for word in _WORD.finditer(self.text)]


def rows(report: Report, names: tuple[str, ...], fix: str) -> Iterator[HistogramRow]:
    """The lines with a number for each name; comments are skipped, others are reported."""
    start = after = 0
    for number, line in enumerate(report.source.text.split("\n"), start=1):
        start, after = after, after + len(line) + 1
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        row = HistogramRow(number, start, line, _plain_numbers(words))
        if len(words) != len(names):
            message = f"{row.where}{len(words):,} columns, expected {len(names)} ({fix})"
            report.error(start + len(line) - len(line.lstrip()), message)
        elif not row.numbers:
            for (offset, word), name in zip(row.words, names, strict=True):
                _tell_number(report, offset, word, f"{row.where}{name} ")
        else:
            yield row


def _plain_numbers(words: list[str]) -> list[float]:
    """The numbers that words are; none where one is not a finite number."""
    try:
        numbers = [float(word) for word in words if "_" not in word]
    except ValueError:
        return []
    return numbers if len(numbers) == len(words) and all(map(math.isfinite, numbers)) else []


def _tell_number(report: Report, offset: int, word: str, where: str) -> None:
    """Report a word that is not a finite number."""
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
        report.error(offset, f"{where}{shortened(word)} is not finite (write a number)")


def read_histogram(path: str | os.PathLike[str]) -> Histogram:
    """Read a histogram: a row `fluorescence count` for each channel, without a header.

    Blank lines and lines that begin with `#` are skipped, and rows may be in any order. Counts are
    integers (`3.0` is one). Rows without cells may have any fluorescence; those of 0 or less belong
    to the axis only.

    **Arguments:**

    - `path`: the file.

    **Returns:** the histogram.

    **Raises:** `ReadError` with every error, each `path:line:column: problem (fix)`.
    """
    source = load(path)
    report = Report(source, last=MAX_ERRORS)
    channels: dict[float, tuple[float, int]] = {}
    axis: list[float] = []
    with suppress(Unreadable), reading():
        for row in rows(report, ("fluorescence", "count"), "write fluorescence and count"):
            _read_row(report, row, channels, axis)
    if report.has_errors:
        refuse_other_kind(source, "histogram")
    if not report.has_errors and not any(cells > 0 for cells, _ in channels.values()):
        raise file_error(source.path, "there are no cells (every count is 0)")
    report.finish()
    phi = np.array(sorted(channels))
    counts = np.array([int(channels[value][0]) for value in phi.tolist()], np.int64)
    return Histogram(phi, counts, axis=Axis(len(axis), min(axis), max(axis)))


def _read_row(
    report: Report, row: HistogramRow, channels: dict[float, tuple[float, int]], axis: list[float]
) -> None:
    phi, cells = row.numbers
    is_count = 0 <= cells < 2**53 and cells == math.floor(cells)
    if is_count and (cells == 0 if phi <= 0 else phi not in channels):
        axis.append(phi)
        if phi > 0:
            channels[phi] = (cells, row.line)
        return
    where, ((first, fluorescence), (at, word)) = row.where, row.words
    if cells < 0:
        report.error(at, f"{where}negative count {word} (write 0 or more cells)")
    elif cells != math.floor(cells):
        report.error(at, f"{where}count {word} is not an integer (write whole cells)")
    elif cells >= 2**53:
        report.error(at, f"{where}count {word} is too large (write fewer than 2^53 cells)")
    elif phi <= 0:
        message = f"{where}fluorescence {fluorescence} is not positive but holds {cells:.0f} cells"
        fix = "export the histogram on a logarithmic scale, or remove the row"
        report.error(first, f"{message} ({fix})")
    else:
        line = channels[phi][1]
        fix = "add the counts, and keep one row"
        again = f"fluorescence {fluorescence} appears twice, first in line {line}"
        report.error(first, f"{where}{again} ({fix})")


def write_histogram(histogram: Histogram, path: str | os.PathLike[str]) -> None:
    """Write all channels of a histogram, including the empty ones.

    **Arguments:**

    - `histogram`: the histogram.
    - `path`: the file, which is replaced if it exists.
    """
    pairs = zip(histogram.fluorescence.tolist(), histogram.counts.tolist(), strict=True)
    text = "".join(f"{phi:.{_DIGITS}g}\t{cells}\n" for phi, cells in pairs)
    atomic_write(Path(path), text)
