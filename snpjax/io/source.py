"""The text of a model file, read once and within bounds, and the findings about it."""

import gc
import os
import re
import stat
import sys
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from jaxtyping import Int

from .._text.os_errors import advice_on
from .._text.warn import warn
from ..spiking.model.guard import Guard, GuardError, shared_budget
from ..spiking.model.validity import Severity
from .errors import Diagnostic, Position, ReadError, ReadWarning, file_error


if TYPE_CHECKING:
    from ..sleptsov import AbstractRule

MAX_FILE_BYTES = 64 * 2**20
MAX_FINDINGS = 10_000  # a hostile file could have a million, each a text
_MAX_MESSAGE = 2_000  # characters; a name may be as long as a file


@dataclass(frozen=True)
class Source:
    r"""A text with `\n` line ends and no byte order mark; places are character offsets.

    `is_file` says that `path` is the file of the text, which may name others beside it. A text that
    is joined of several files has `pieces`, in their order. A `rule` replaces that of a net.
    """

    path: str
    text: str
    is_file: bool = False
    pieces: "tuple[Piece, ...]" = ()
    rule: "AbstractRule | None" = None

    @cached_property
    def _line_ends(self) -> Int[np.ndarray, " line_ends"]:
        """There may be millions."""
        characters = np.frombuffer(self.text.encode("latin-1", "replace"), np.uint8)
        return np.flatnonzero(characters == ord("\n"))

    def origin(self, offset: int) -> "tuple[Source, int]":
        """The file that an offset comes from, and the offset there."""
        number = bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1
        if number < 0:
            return self, offset
        piece = self.pieces[number]
        return piece.source, offset - piece.start + piece.offset

    def position(self, offset: int) -> Position:
        if self.pieces:
            source, offset = self.origin(offset)
            return source.position(offset)
        line = int(np.searchsorted(self._line_ends, offset))
        start = int(self._line_ends[line - 1]) + 1 if line else 0
        return Position(line + 1, offset - start + 1)


@dataclass(frozen=True)
class Piece:
    """A part of a joined text, from its offset `start` on: that of `source` from `offset` on."""

    start: int
    source: Source
    offset: int


#: How files that are not text begin, what they are, and what to do instead.
_BINARY = (
    (
        re.compile(rb"FCS\d\.\d"),
        "an FCS file, the events of a cytometer",
        "export the channel as a histogram: two columns of text, fluorescence and count",
    ),
    (re.compile(rb"\x1f\x8b"), "compressed with gzip", "decompress it"),
    (re.compile(rb"PK\x03\x04(?s:.*?)xl/"), "an Excel workbook", "save the sheet as .csv"),
    (re.compile(rb"PK\x03\x04"), "a zip archive", "extract the file that is meant"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an old Office document", "save it as text"),
    (re.compile(rb"\x89HDF\r\n\x1a\n"), "an HDF5 file", "export the data as text"),
)
_EMPTY = "the file is empty (write a model into it)"


class StandardInput:
    """The standard input in place of a file."""

    def __fspath__(self) -> str:
        return "-"

    def read(self) -> bytes:
        """**Raises:** `ReadError` for more than `MAX_FILE_BYTES`."""
        data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise file_error("-", f"more than {MAX_FILE_BYTES:,} bytes (read a smaller model)")
        return data


def load(
    path: str | os.PathLike[str], *, may_be_empty: bool = False, empty: str = _EMPTY
) -> Source:
    """Read the text of a file.

    **Arguments:**

    - `path`: the file.
    - `may_be_empty`: accept a file without text.
    - `empty`: the message for a file without text.

    **Returns:** the text, with `\\n` at the end of each line.

    **Raises:** `ReadError` for a file that does not exist, is not a regular file, is empty (unless
    `may_be_empty`), is larger than `MAX_FILE_BYTES` (it is not read then) or is not UTF-8.
    """
    name = os.fspath(path)
    try:
        data = path.read() if isinstance(path, StandardInput) else _read_bounded(name)
    except FileNotFoundError:
        raise file_error(name, "there is no such file (check the name and the folder)") from None
    except ReadError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or str(error)
        fix = advice_on(getattr(error, "errno", None))
        message = f"the file cannot be read: {reason} ({fix})"
        raise file_error(name, message) from None
    source = decoded(name, data, may_be_empty=may_be_empty, empty=empty)
    return replace(source, is_file=not isinstance(path, StandardInput))


def decoded(name: str, data: bytes, *, may_be_empty: bool = False, empty: str = _EMPTY) -> Source:
    """Decode the bytes of a file.

    **Arguments:**

    - `name`: the name of the file, for error messages.
    - `data`: its bytes, in UTF-8.
    - `may_be_empty`: accept a file without text.
    - `empty`: the message for a file without text.

    **Returns:** the text, with `\\n` at the end of each line.

    **Raises:** `ReadError` for a file that is of a known binary format, is empty (unless
    `may_be_empty`) or not UTF-8.
    """
    for beginning, what, fix in _BINARY:
        if beginning.match(data, 0, 4096):
            raise file_error(name, f"this is {what}, not text ({fix})")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(name, data, error) from None
    if not may_be_empty and (not text or text.isspace()):
        raise file_error(name, empty)
    return Source(name, text.replace("\r\n", "\n"))


def _read_bounded(path: str) -> bytes:
    about = os.stat(path)
    if stat.S_ISDIR(about.st_mode):
        raise file_error(path, "this is a folder (name a file in it)")
    if not stat.S_ISREG(about.st_mode):
        raise file_error(path, "this is not a plain file (name a model file)")
    size, data = about.st_size, b""
    if size <= MAX_FILE_BYTES:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        size = len(data)  # it may have grown since
    if size > MAX_FILE_BYTES:
        fix = "describe families with ranges"
        message = f"the file has {size} bytes, more than the {MAX_FILE_BYTES} that are read ({fix})"
        raise file_error(path, message)
    return data


def _not_utf8(path: str, data: bytes, error: UnicodeDecodeError) -> ReadError:
    # The decoder counts from after the byte order mark.
    start = error.start + (len(data) - len(error.object))
    before = data[:start].decode("utf-8-sig").replace("\r\n", "\n")
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    message = f"not UTF-8: byte {data[start]:#04x} (save the file as UTF-8)"
    return ReadError([Diagnostic(path, line, column, message)])


def shortened(text: str, most: int = 60) -> str:
    """A text of the file in a message."""
    return text if len(text) <= most else text[: most - 3] + "..."


@contextmanager
def reading() -> Iterator[None]:
    """Read one file: its guards share the work that they may take, and cycles are not collected.

    Readers make none, and the collector looks at the millions of objects of a large file again and
    again, which takes half of the time (CPython 3.11, 2026-11).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with shared_budget():
            yield
    finally:
        if was_enabled:
            gc.enable()


class Unreadable(Exception):
    """The rest of a file is not read, for a reason that is reported."""


class Mistake(Exception):
    """What is wrong with a part of a file, and the offset in the file or the part."""

    def __init__(self, offset: int, message: str):
        self.offset, self.message = offset, message
        super().__init__(message)


class Report:
    """The findings about one source, collected until the end of the reading.

    Findings of one kind at one place are reported once: a family of 1,000 rules with one mistake
    has one mistake. One with a `first` place is a repetition of what is there. The first
    `MAX_FINDINGS` errors are reported, and as many warnings; after the `last` error, if there is
    one, the file is `Unreadable`.
    """

    def __init__(self, source: Source, *, last: int | None = None):
        self.source, self._last = source, last
        self._found: dict[tuple[int, str], tuple[Severity, str]] = {}
        self._times: dict[tuple[int, str], int] = {}
        self._number: dict[Severity, int] = {"error": 0, "warning": 0}

    def error(
        self, offset: int, message: str, first: int | None = None, /, *, kind: str | None = None
    ) -> None:
        """Report an error.

        **Arguments:**

        - `offset`: where it is in the text.
        - `message`: what is wrong and, in parentheses, the fix.
        - `first`: where the same thing was first mentioned, if it is a repetition.
        - `kind`: findings of one kind at one place are reported once; by default that of its
          message.

        **Raises:** `Unreadable` after the last error that is reported.
        """
        self._add("error", offset, message, first, kind)

    def warning(
        self, offset: int, message: str, first: int | None = None, /, *, kind: str | None = None
    ) -> None:
        """Report a warning.

        **Arguments:**

        - `offset`, `message`, `first`, `kind`: as in `error`.
        """
        self._add("warning", offset, message, first, kind)

    def fail(self, offset: int, message: str) -> NoReturn:
        """Report an error after which the rest of the file cannot be read.

        **Arguments:**

        - `offset`, `message`: as in `error`.

        **Raises:** `Unreadable`, always.
        """
        self.error(offset, message)
        raise Unreadable

    def has(self, offset: int, kind: str) -> bool:
        """Whether a finding has already been reported, which counts as reporting it again.

        **Arguments:**

        - `offset`, `kind`: its place and kind.
        """
        if (offset, kind) in self._found:
            self._times[offset, kind] += 1
        return (offset, kind) in self._found

    def at(self, offset: int) -> str:
        """A place in a message, `line:column`, behind its file if the text is joined of several."""
        line, column = self.source.position(offset)
        file = f"{self.source.origin(offset)[0].path}:" if self.source.pieces else ""
        return f"{file}{line}:{column}"

    def _add(
        self, severity: Severity, offset: int, message: str, first: int | None, kind: str | None
    ) -> None:
        message = shortened(message, _MAX_MESSAGE)
        if first is not None:
            message += f"; first at {self.at(first)}"
        key = (offset, message if kind is None else kind)
        if key in self._found:
            self._times[key] += 1
            return
        self._number[severity] += 1
        if self._number[severity] <= MAX_FINDINGS:
            self._found[key], self._times[key] = (severity, message), 1
        if severity == "error" and self.num_errors == self._last:
            raise Unreadable

    def diagnostics(self, severity: Severity) -> list[Diagnostic]:
        found = []
        for (offset, kind), (its_severity, message) in sorted(
            self._found.items(), key=lambda item: item[0][0]
        ):
            if its_severity == severity:
                path = self.source.origin(offset)[0].path
                line, column = self.source.position(offset)
                more = self._times[offset, kind] - 1
                again = f"; and {more} more like it" if more and kind != message else ""
                found.append(Diagnostic(path, line, column, message + again, severity))
        return found

    def errors(self) -> list[tuple[int, str]]:
        """Offset and message of every error."""
        return [
            (at, text) for (at, _), (severity, text) in self._found.items() if severity == "error"
        ]

    @property
    def num_errors(self) -> int:
        """The number of errors, those that are not told included."""
        return self._number["error"]

    @property
    def is_full(self) -> bool:
        """Whether errors are no longer told."""
        return self.num_errors > MAX_FINDINGS

    @property
    def tells_no_more_warnings(self) -> bool:
        return self._number["warning"] > MAX_FINDINGS

    @property
    def has_errors(self) -> bool:
        return self._number["error"] > 0

    def finish(self) -> None:
        """Raise the errors if there are any; otherwise issue the warnings."""
        if self.has_errors:
            raise ReadError(self.diagnostics("error"))
        found = self.diagnostics("warning")
        if found:
            warn(ReadWarning(found))


_CACHE_BYTES = 2**25


class _GuardCache:
    """The guard that a text is, or why it does not parse. Families repeat few texts many times: the
    guards of those that were read last are kept, and one takes from some bytes to half a MiB."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Guard | GuardError] = OrderedDict()
        self._bytes = 0

    def __call__(self, text: str) -> Guard | GuardError:
        found = self._known.get(text)
        if found is not None:
            self._known.move_to_end(text)
            return found
        try:
            found = Guard.parse(text)
        except GuardError as error:
            found = error.with_traceback(None)  # which would keep the reader and its file alive
            found.__context__ = None
        self._known[text] = found
        self._bytes += _size(text, found)
        while self._bytes > _CACHE_BYTES:
            oldest, guard = self._known.popitem(last=False)
            self._bytes -= _size(oldest, guard)
        return found


def _size(text: str, guard: Guard | GuardError) -> int:
    return 500 + 4 * len(text) + (guard.nbytes if isinstance(guard, Guard) else 0)


guard_or_error = _GuardCache()
