"""Replace several files of a folder as a set, which a journal undoes after an interruption."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .strict_json import parse_json
from .temporary import (
    TEMPORARY_NAME,
    abandoned,
    create,
    sync_folder,
    temporary_name,
    write_out,
)


_MAX_JOURNAL = 2**20
_EXPLAINED = "These files were being replaced. The next write into this folder puts the old back."


class _Entry(NamedTuple):
    """A file of a set: its name, that of its old content if there was any, and the size and the
    time in nanoseconds by which the new content is recognised."""

    name: str
    old: str | None
    size: int
    time: int


class Replacement:
    """The replacement of some files of a folder by their temporary files.

    In order: `begin` keeps the old files under other names and writes the journal; the caller
    renames; `commit` removes the journal, from when on the new files count; `close` removes the old
    ones. Until `close` all can be undone.
    """

    def __init__(self, folder: Path, token: str, entries: Sequence[_Entry] = ()):
        self.folder, self.token, self.entries = folder, token, entries
        self.journal = folder / temporary_name(token, "journal")
        self._file: int | None = None

    @classmethod
    def read(cls, folder: Path, token: str, file: int) -> "Replacement":
        """What a journal says; nothing if it was not written to its end, since nothing had been
        replaced then. Whatever it says, only files in its folder are touched."""
        try:
            told = parse_json(os.read(file, _MAX_JOURNAL))["files"]
            entries = [_Entry(*values) for values in told]
            if not all(_is_sound(entry, token) for entry in entries):
                raise ValueError("it was written by someone else")
        except (ValueError, TypeError, KeyError):
            return cls(folder, token)
        return cls(folder, token, entries)

    def begin(self, temporaries: Sequence[tuple[str, str]]) -> None:
        """Write the journal for files of these names, each with the name of its new content."""
        for number, (name, new) in enumerate(temporaries):
            about = os.stat(self.folder / new)
            is_there = os.path.lexists(self.folder / name)
            old = temporary_name(self.token, f"{number}.old") if is_there else None
            self.entries = (*self.entries, _Entry(name, old, about.st_size, about.st_mtime_ns))
        self._file = create(self.journal)
        write_out(self._file, json.dumps({"": _EXPLAINED, "files": self.entries}).encode())
        os.fsync(self._file)
        for entry in self.entries:
            if entry.old is not None:
                target, old = self.folder / entry.name, self.folder / entry.old
                try:
                    os.link(target, old)
                except OSError:  # a file system without hard links
                    os.replace(target, old)
        sync_folder(self.folder)

    def commit(self) -> None:
        sync_folder(self.folder)
        os.unlink(self.journal)
        sync_folder(self.folder)

    def undo(self) -> None:
        """Put the old files back, where the new ones are. A file that was written since stays."""
        for entry in self.entries:
            target = self.folder / entry.name
            try:
                about = os.lstat(target)
            except FileNotFoundError:
                about = None
            is_new = about is not None and (about.st_size, about.st_mtime_ns) == entry[2:]
            if entry.old is None:
                if is_new:
                    os.unlink(target)
            elif (is_new or about is None) and os.path.lexists(self.folder / entry.old):
                os.replace(self.folder / entry.old, target)
        sync_folder(self.folder)
        with suppress(FileNotFoundError):
            os.unlink(self.journal)
        self._remove_old()

    def close(self) -> None:
        """Let the journal go; where it is there, the old files are kept for it."""
        if self._file is not None:
            os.close(self._file)
        if not os.path.lexists(self.journal):
            self._remove_old()

    def _remove_old(self) -> None:
        for entry in self.entries:
            if entry.old is not None:
                with suppress(OSError):  # the next write into this folder does it
                    os.unlink(self.folder / entry.old)


def _is_sound(entry: _Entry, token: str) -> bool:
    numbers_are = type(entry.size) is int and type(entry.time) is int
    if entry.old is not None:
        found = TEMPORARY_NAME.fullmatch(entry.old)
        if found is None or found[1] != token or not entry.old.endswith(".old"):
            return False
    return numbers_are and entry.name not in (".", "..") and not {*entry.name} & {*"/\\\0"}


def remove_leftovers(folder: Path) -> None:
    """Remove what dead processes left in a folder, and undo their unfinished replacements."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        with os.scandir(folder) as entries:
            found = [match for x in entries if (match := TEMPORARY_NAME.fullmatch(x.name))]
        # An old file is needed as long as there is the journal of its set, so it comes last.
        for match in sorted(found, key=lambda match: match[0].endswith(".old")):
            with suppress(OSError):
                _remove_if_abandoned(folder, match[0], match[1])


def _remove_if_abandoned(folder: Path, name: str, token: str) -> None:
    path = folder / name
    if name.endswith(".old"):
        if not os.path.lexists(folder / temporary_name(token, "journal")):
            os.unlink(path)
        return
    with abandoned(path) as file:
        if file is None:
            return
        if name.endswith(".new"):
            os.unlink(path)
        elif os.fstat(file).st_uid == os.geteuid():  # nobody else says what is put back
            Replacement.read(folder, token, file).undo()
