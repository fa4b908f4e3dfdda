"""Histograms as two columns of text: fluorescence and number of cells."""

import math
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from snpjax_formats.atomic import atomic_write

from ...proliferation.histogram import Axis, Histogram
from ..errors import file_error
from ..formats import refuse_other_kind
from ..source import Report, Unreadable, load, reading, shortened


MAX_ERRORS = 1_000
_BLANKS = re.compile(r"[^\S\n]+")
_COMMA = re.compile(r"[^\S\n]*,[^\S\n]*")
_SEMICOLON = re.compile(r"[^\S\n]*;[^\S\n]*")
#: A number with a decimal comma: its digits before and after it.
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+),(\d+)(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+")
#: Names of a column of cells, which is the second one.
_NAMES_OF_CELLS = ("cells", "count", "counts", "events", "frequency", "number")
_MISSING = "the file is empty, and a histogram is missing (write fluorescence and count into it)"
#: Ten significant digits, as instruments write.
_DIGITS = 10


class _Line(NamedTuple):
    """A line that is no comment: its number from 1, its offset and its text without blanks around
    it."""

    number: int
    start: int
    text: str


def _lines(text: str) -> Iterator[_Line]:
    """The lines that are neither blank nor comments."""
    after = 0
    for number, line in enumerate(text.split("\n"), start=1):
        start, after = after, after + len(line) + 1
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield _Line(number, start + len(line) - len(line.lstrip()), stripped)


@dataclass(frozen=True)
class _Columns:
    """How lines are divided into columns.

    - `separator`: what is between columns.
    - `width`: the number of columns; those beyond the names that are read belong to a table that
      snpjax wrote.
    - `comma`: whether numbers have a decimal comma; `None` if that cannot be known.
    """

    separator: re.Pattern[str] = _BLANKS
    width: int = 2
    comma: bool | None = False

    def words(self, line: _Line) -> list[tuple[int, str]]:
        """The words with their offsets."""
        start, found = 0, []
        for match in self.separator.finditer(line.text):
            found.append((line.start + start, line.text[start : match.start()]))
            start = match.end()
        return [*found, (line.start + start, line.text[start:])]

    def texts(self, line: _Line) -> list[str]:
        """The words as Python writes numbers."""
        texts = self.separator.split(line.text)
        return [text.replace(",", ".") for text in texts] if self.comma else texts


@dataclass(frozen=True, slots=True)
class HistogramRow:
    """A line of columns with its numbers."""

    text: _Line
    columns: _Columns
    numbers: list[float]

    @property
    def line(self) -> int:
        """The number of the line, from 1."""
        return self.text.number

    @property
    def words(self) -> list[tuple[int, str]]:
        """The words with their offsets."""
        return self.columns.words(self.text)


def rows(report: Report, names: tuple[str, ...], fix: str) -> Iterator[HistogramRow]:
    """The lines with a number for each name, between blanks; comments are skipped, others are
    reported."""
    yield from _rows(
        report, list(_lines(report.source.text)), _Columns(width=len(names)), names, fix
    )


def _histogram_rows(report: Report) -> Iterator[HistogramRow]:
    """The lines of a histogram, whatever separates its columns."""
    names, lines = ("fluorescence", "count"), list(_lines(report.source.text))
    columns, lines = _columns_of(report, lines)
    fix = "write fluorescence and count"
    if columns.separator is _COMMA:
        fix += "; commas separate columns here: write decimals with a point"
    yield from _rows(report, lines, columns, names, fix)


def _rows(
    report: Report, lines: list[_Line], columns: _Columns, names: tuple[str, ...], fix: str
) -> Iterator[HistogramRow]:
    for line in lines:
        texts = columns.texts(line)
        if len(texts) != columns.width:
            wanted = f"expected {columns.width}"
            report.error(line.start, f"{len(texts):,} columns, {wanted} ({fix})")
            continue
        if _has_unclear_comma(report, columns, line, len(names)):
            continue
        numbers = _plain_numbers(texts[: len(names)])
        if numbers:
            yield HistogramRow(line, columns, numbers)
            continue
        for (offset, word), text, name in zip(columns.words(line), texts, names, strict=False):
            _tell_number(report, offset, word, text, f"{name} ")


def _columns_of(report: Report, lines: list[_Line]) -> tuple[_Columns, list[_Line]]:
    """How a histogram is divided into columns, and its lines without a header.

    Semicolons or tabs separate columns wherever they stand. Commas do in files in which nothing
    else could; in all others they are decimal commas.
    """
    rest = lines[1:] or lines  # a header may have blanks
    separator = _BLANKS
    if any(";" in line.text for line in lines):
        separator = _SEMICOLON
    elif any("," in line.text for line in rest) and not any(
        _BLANKS.search(_COMMA.sub(",", line.text)) for line in rest
    ):
        separator = _COMMA
    columns = _Columns(separator)
    first = columns.texts(lines[0]) if lines else []
    has_header = separator is not _BLANKS or (lines and "\t" in lines[0].text)
    names = [word.strip("\"' ").lower() for word in first]
    has_letters = any(map(str.isalpha, "".join(names)))
    if has_header and has_letters and len(names) > 1 and not any(map(_looks_like_number, names)):
        if names[0] in _NAMES_OF_CELLS:
            report.error(
                lines[0].start,
                f"the first column is {shortened(names[0])!r} (write "
                "fluorescence first, then the count)",
            )
        is_table = names[:2] == ["fluorescence", "cells"]
        columns, lines = replace(columns, width=len(names) if is_table else 2), lines[1:]
    if separator is not _COMMA and any("," in line.text for line in lines):
        texts = [text for line in lines for text in columns.texts(line)]
        found = [match for text in texts if (match := _DECIMAL_COMMA.fullmatch(text))]
        has_points = any("." in text for text in texts)
        is_proven = any(len(x[2]) != 3 or len(x[1]) > 3 or x[1][0] == "0" for x in found)
        columns = replace(columns, comma=True if is_proven and not has_points else None)
    return columns, lines


def _looks_like_number(text: str) -> bool:
    begins_so = text[:1] in "+-.0123456789" and any(map(str.isdigit, text))
    return begins_so or text.lstrip("+-") in ("nan", "inf", "infinity")


def _has_unclear_comma(report: Report, columns: _Columns, line: _Line, num: int) -> bool:
    """Whether a comma of a number may be no decimal comma, which is an error. In a count it may
    separate thousands whatever the other numbers have."""
    if columns.comma is False:
        return False
    unclear = [
        (offset, word)
        for column, (offset, word) in enumerate(columns.words(line)[:num])
        if "," in word and (columns.comma is None or (column and _THOUSANDS.fullmatch(word)))
    ]
    fix = "write decimals with a point, and no comma between thousands"
    for offset, word in unclear:
        text = f"the comma of {shortened(word)!r} is ambiguous ({fix})"
        report.error(offset, text)
    return bool(unclear)


def _plain_numbers(words: list[str]) -> list[float]:
    """The numbers that words are; none where one is not a finite number."""
    try:
        numbers = [float(word) for word in words if "_" not in word]
    except ValueError:
        return []
    return numbers if len(numbers) == len(words) and all(map(math.isfinite, numbers)) else []


def _tell_number(report: Report, offset: int, word: str, text: str, where: str) -> None:
    """Report a word that is not a finite number; `text` is how Python would write it."""
    try:
        value = float(text) if "_" not in text else None
    except ValueError:
        value = None
    if value is None:
        is_quoted = _looks_like_number(word.strip("\"'"))
        first = next(_lines(report.source.text))
        if is_quoted:
            fix = "remove the quotes"
        elif offset < first.start + len(first.text):
            fix = "remove a header, or begin it with #"
        else:
            fix = "correct the number"
        report.error(offset, f"{where}{shortened(word)!r} is not a number ({fix})")
    elif not math.isfinite(value):
        report.error(offset, f"{where}{shortened(word)} is not finite (write a number)")


def read_histogram(path: str | os.PathLike[str]) -> Histogram:
    """Read a histogram: a row `fluorescence count` for each channel.

    Blanks, tabs, commas or semicolons separate columns; where they are not blanks, there may be a
    header, and the tables with a header that `write_table` writes are read, too. Numbers may have a
    decimal comma where commas do not separate columns; a comma that could also separate thousands
    is an error. Blank lines and lines that begin with `#` are skipped, and rows may be in any
    order. Counts are integers (`3.0` is one). Rows without cells may have any fluorescence; those
    of 0 or less belong to the axis only.

    **Arguments:**

    - `path`: the file.

    **Returns:** the histogram.

    **Raises:** `ReadError` with every error, each `path:line:column: problem (fix)`.
    """
    source = load(path, empty=_MISSING)
    report = Report(source, last=MAX_ERRORS)
    channels: dict[float, tuple[float, int]] = {}
    axis: list[float] = []
    with suppress(Unreadable), reading():
        for row in _histogram_rows(report):
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
    (first, fluorescence), (at, word) = row.words[:2]
    if cells < 0:
        report.error(at, f"negative count {word} (write 0 or more cells)")
    elif cells != math.floor(cells):
        report.error(at, f"count {word} is not an integer (write whole cells)")
    elif cells >= 2**53:
        report.error(at, f"count {word} is too large (write fewer than 2^53 cells)")
    elif phi <= 0:
        message = f"fluorescence {fluorescence} is not positive but holds {cells:.0f} cells"
        fix = "export the histogram on a logarithmic scale, or remove the row"
        report.error(first, f"{message} ({fix})")
    else:
        line = channels[phi][1]
        fix = "add the counts, and keep one row"
        again = f"fluorescence {fluorescence} appears twice, first in line {line}"
        report.error(first, f"{again} ({fix})")


def write_histogram(histogram: Histogram, path: str | os.PathLike[str]) -> None:
    """Write all channels of a histogram, including the empty ones.

    Fluorescences have ten significant digits, or all of theirs if ten cannot distinguish them.

    **Arguments:**

    - `histogram`: the histogram.
    - `path`: the file, which is replaced if it exists.
    """
    values = histogram.fluorescence.tolist()
    words = [f"{phi:.{_DIGITS}g}" for phi in values]
    if len(set(words)) < len(words):
        words = [repr(phi) for phi in values]
    pairs = zip(words, histogram.counts.tolist(), strict=True)
    atomic_write(Path(path), "".join(f"{word}\t{cells}\n" for word, cells in pairs))
