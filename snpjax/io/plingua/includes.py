"""Files that a P-Lingua file includes, `@include "more.pli"` before or between modules.

The files become one text, each in the place where it is included first; findings keep their places
in the files.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import ReadError
from ..source import MAX_FILE_BYTES, Piece, Report, Source, load, shortened


MAX_DEPTH = 16  # of files inside each other
MAX_FILES = 256

_INCLUDE = re.compile("@include", re.IGNORECASE)
_MARK = re.compile(
    r'/\*.*?(?:\*/|\Z)|"[^"\n]*"|[{}]|(@include)(?![A-Za-z_0-9])', re.DOTALL | re.IGNORECASE
)
_NAME = re.compile(r'(?:\s++|/\*.*?\*/)*+"([^"\n]*)"(?:\s*;)?', re.DOTALL)


class _Directive(NamedTuple):
    """An `@include` between two offsets, and the name of its file with its offset."""

    start: int
    end: int
    name: str | None
    name_offset: int


def join_includes(source: Source, *, may_be_outside: bool = False) -> tuple[Source, list[str]]:
    """The text of a file with those that it includes, and the names of these.

    **Arguments:**

    - `source`: the first file.
    - `may_be_outside`: whether to read files outside its folder, too.

    **Raises:** `ReadError` with every `@include` that cannot be followed.
    """
    if _INCLUDE.search(source.text) is None:
        return source, []
    joiner = _Joiner(source, may_be_outside)
    joiner.add(source, (Path(source.path).resolve(),) if source.is_file else ())
    joined = Source(source.path, "".join(joiner.texts), pieces=tuple(joiner.pieces))
    report = Report(joined)
    for offset, message in joiner.problems:
        report.error(offset, message)
    if report.has_errors:
        raise ReadError(report.diagnostics("error"))
    return (joined, joiner.names) if joiner.pieces else (source, [])


def load_joined(
    path: Path, format: str | None, *, may_be_outside: bool = False
) -> tuple[Source, list[str]]:
    """The text of a file in a format, by default that of its suffix, and the names of the files
    that it includes, whose text is part of it.

    **Raises:** `ReadError`.
    """
    source = load(path, may_be_empty=True)
    if not is_plingua(path, format):
        return source, []
    return join_includes(source, may_be_outside=may_be_outside)


def is_plingua(path: Path, format: str | None) -> bool:
    """Return whether a file is P-Lingua, by the name of its format or else by its suffix."""
    return format == "plingua" or (format is None and path.suffix.lower() == ".pli")


class _Joiner:
    """Collects the pieces of the text, and the offsets of problems in it."""

    def __init__(self, first: Source, may_be_outside: bool):
        self.texts: list[str] = []
        self.pieces: list[Piece] = []
        self.problems: list[tuple[int, str]] = []
        self.names: list[str] = []
        self._folder = None if may_be_outside else Path(first.path).parent.resolve()
        self._first = first
        self._seen: set[Path] = set()
        self._size = 0  # of the text so far
        self._total = len(first.text)  # of all files

    def add(self, source: Source, files: tuple[Path, ...]) -> None:
        """Add a source and what it includes; `files` are those around it, and its own."""
        self._seen.update(files[-1:])
        at = 0
        for directive in _directives(source.text):
            self._add_piece(source, at, directive.start)
            try:
                self._follow(source, directive, files)
            except _Refused as error:
                place = self._size + directive.name_offset - directive.start
                self.problems.append((place, f"{error}"))
                self._add_piece(source, directive.start, directive.end)
            at = directive.end
        self._add_piece(source, at, len(source.text))

    def _add_piece(self, source: Source, start: int, end: int) -> None:
        self.pieces.append(Piece(self._size, source, start))
        self.texts.append(source.text[start:end])
        self._size += end - start

    def _follow(self, source: Source, directive: _Directive, files: tuple[Path, ...]) -> None:
        if directive.name is None:
            raise _Refused('@include names no file (write @include "file.pli")')
        name = shortened(directive.name)
        if not source.is_file:
            raise _Refused(
                f"a text that is not read from a file cannot include {name!r} (save it beside that "
                "file, and read it from there)"
            )
        path = os.path.join(os.path.dirname(source.path), directive.name)
        try:
            file = Path(path).resolve()
        except (OSError, ValueError, RuntimeError):  # no name of a file, or a loop of links
            raise _Refused(f"{name!r} cannot be a file (correct the name)") from None
        if self._folder is not None and not file.is_relative_to(self._folder):
            raise _Refused(
                f"{name!r} is outside the folder of {os.path.basename(self._first.path)} (move it "
                "there, or allow it: allow_includes_outside=True, --allow-includes-outside)"
            )
        if file in files:
            chain = " -> ".join(x.name for x in [*files[files.index(file) :], file])
            raise _Refused(f"{file.name} includes itself: {chain} (remove one of these includes)")
        if file in self._seen:
            return
        if len(files) >= MAX_DEPTH or len(self._seen) >= MAX_FILES:
            most = f"{MAX_DEPTH} deep" if len(files) >= MAX_DEPTH else f"{MAX_FILES} in all"
            raise _Refused(f"the included files are more than {most} (join some of them)")
        try:
            included = load(path, may_be_empty=True)
        except ReadError as error:
            message = error.diagnostics[0].message
            raise _Refused(f"{name!r} cannot be read: {message}") from None
        self._total += len(included.text)
        if self._total > MAX_FILE_BYTES:
            raise _Refused(f"the included files have more than {MAX_FILE_BYTES} characters in all")
        self.names.append(path)
        self.add(included, (*files, file))


class _Refused(Exception):
    """Why an `@include` is not followed."""


def _directives(text: str) -> Iterator[_Directive]:
    """Those outside of braces, comments and texts."""
    depth = 0
    for mark in _MARK.finditer(text):
        depth += (mark[0] == "{") - (mark[0] == "}")
        if mark[1] and depth == 0:
            name = _NAME.match(text, mark.end())
            if name is None:
                yield _Directive(*mark.span(), None, mark.start())
            else:
                yield _Directive(mark.start(), name.end(), name[1], name.start(1))
