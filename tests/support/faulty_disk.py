"""A disk of which one operation fails, or is the last before the process dies."""

import errno
import os
import stat
from collections import Counter
from pathlib import Path

import pytest

from snpjax_formats import atomic, replacing, temporary


class Killed(BaseException):
    """What ends the process in these tests: nothing reaches the disk after it."""


class FaultyDisk:
    """`os`, of which one operation fails, or is the last before the process dies.

    **Arguments:**

    - `fails`: the number of that operation, from 0; -1 for none.
    - `dies`: nothing reaches the disk from that operation on.
    """

    WRITES = {*"open write fsync replace link unlink chmod scandir stat lstat fstat".split()}

    def __init__(self, fails: int = -1, *, dies: bool = False):
        self.fails, self.dies, self.number = fails, dies, 0
        self.done: Counter[str] = Counter()
        self.order: list[str] = []
        self.operations: list[str] = []  # all of them
        self.path = self

    def __getattr__(self, name):
        value = getattr(os, name, None)
        if value is None:
            value = getattr(os.path, name)
        if name not in self.WRITES:
            return value

        def counted(*arguments, **options):
            number, self.number = self.number, self.number + 1
            self.operations.append(name)
            if self.dies and number >= self.fails >= 0:
                raise Killed
            if number == self.fails:
                raise OSError(errno.EIO, f"{name} fails")
            self.done[name] += 1
            if name == "fsync":
                is_folder = stat.S_ISDIR(os.fstat(arguments[0]).st_mode)
                self.order.append("flush folder" if is_folder else "flush")
            elif name in ("write", "link", "replace", "unlink"):
                self.order.append(name)
            if name == "write" and len(arguments[1]) > 1:  # a part only, as disks may
                return value(arguments[0], arguments[1][: len(arguments[1]) // 2 + 1])
            return value(*arguments, **options)

        return counted


def on(disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (atomic, replacing, temporary):
        monkeypatch.setattr(module, "os", disk)


def content(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def plain(files: dict[str, bytes]) -> dict[str, bytes]:
    """Those that are not temporary."""
    return {name: data for name, data in files.items() if not name.startswith(".snpjax")}
