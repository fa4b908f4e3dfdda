"""Checkpoints on disk: manifests, each of which says what counts, and the files they name.

A folder has `checkpoint-N.json`, the manifests; `arrays-N`, the arrays of a checkpoint, which orbax
writes; `segment-N.P`, histories of process P, which are written once and named by all later
manifests; and `snpjax.lock`. What no manifest names does not count, and is removed.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from snpjax_formats.atomic import atomic_write, atomic_write_all
from snpjax_formats.strict_json import parse_json
from snpjax_formats.temporary import sync_folder

from .segment import Appended, Json, segment_blocks


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_MANIFEST = re.compile(r"checkpoint-(\d+)\.json")
_OWN = re.compile(r"(?:checkpoint|arrays|segment)-(\d+)(?:\.\w+)*(?:\.orbax-checkpoint-tmp.*)?")
_LOCK = "snpjax.lock"
_TEMPORARY = ".snpjax-"


class CheckpointError(ValueError):
    """A folder of checkpoints that a call cannot use: those of another call, other files, or a
    folder in use."""


class DamagedCheckpoint(CheckpointError):
    """A checkpoint that is not as it was written."""


@dataclass(frozen=True)
class Manifest:
    """What counts as a checkpoint: `content`, which the caller of the store knows, and the sizes
    and checksums of files, by their names in the folder."""

    number: int
    content: Mapping[str, Any]
    files: Mapping[str, tuple[int, str]]


class Store:
    """The folder of the checkpoints of one call, locked by this process unless it only reads."""

    def __init__(self, folder: Path, keep: int, *, is_reader: bool = False):
        """Create or open a folder.

        **Raises:** `CheckpointError` for a folder with other files, and while another process uses
        it; `OSError` where it cannot be written.
        """
        self.folder, self.keep = folder, keep
        self._lock: int | None = None
        self._kept: list[Manifest] = []
        self._next = 1
        if is_reader:
            return
        if folder.exists() and not folder.is_dir():
            raise CheckpointError(f"{folder} is a file. Give a folder for checkpoints.")
        _check_own(folder)
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise CheckpointError(
                f"Another run uses the checkpoints in {folder}. Wait for its end, or give another "
                "folder."
            ) from None
        except OSError:  # a file system without locks
            pass
        self._lock = lock
        numbers = [int(found[1]) for x in os.listdir(folder) if (found := _OWN.fullmatch(x))]
        self._next = max(numbers, default=0) + 1

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)

    # ---- reading ----

    def newest(self, damaged: Callable[[str], None]) -> Manifest | None:
        """The newest checkpoint that is as it was written, or `None` in a folder without any.
        `damaged` is told of those that are passed over.

        **Raises:** `DamagedCheckpoint` if all are damaged.
        """
        numbers = sorted(
            int(found[1]) for x in os.listdir(self.folder) if (found := _MANIFEST.fullmatch(x))
        )
        passed: list[str] = []
        while numbers:
            number = numbers.pop()
            try:
                manifest = self.read(number)
                self._verify(manifest)
            except DamagedCheckpoint as error:
                passed.append(f"{error}")
                continue
            for text in passed:
                damaged(text)
            self._kept = [manifest]
            for older in reversed(numbers[-self.keep + 1 :] if self.keep > 1 else []):
                with contextlib.suppress(DamagedCheckpoint):
                    self._kept.insert(0, self.read(older))
            return manifest
        if passed:
            raise DamagedCheckpoint(
                f"No checkpoint in {self.folder} can be used: {passed[0]} Give another folder, or "
                "remove this one to start from the beginning."
            )
        return None

    def read(self, number: int) -> Manifest:
        """The checkpoint of a number, whose files may be damaged."""
        path = self.folder / _name(number)
        try:
            whole = parse_json(path.read_bytes())
            content, files, checksum = whole["content"], whole["files"], whole["sha256"]
        except (ValueError, KeyError, TypeError):
            raise DamagedCheckpoint(f"{path} is damaged.") from None
        if _checksum_of(content, files) != checksum:
            raise DamagedCheckpoint(f"{path} is damaged.")
        return Manifest(number, content, {name: (x[0], x[1]) for name, x in files.items()})

    def _verify(self, manifest: Manifest) -> None:
        for name, (size, checksum) in manifest.files.items():
            path = self.folder / name
            if not path.is_file():
                raise DamagedCheckpoint(f"{path} is missing.")
            found = path.stat().st_size
            if found != size:
                raise DamagedCheckpoint(f"{path} has {found} bytes instead of {size}.")
            if _checksum(path) != checksum:
                raise DamagedCheckpoint(f"{path} is damaged.")

    def segments(self, number: int) -> list[str]:
        """The names of the segments that were written for a checkpoint, by the processes."""
        names = [_segment(number, process) for process in range(jax.process_count())]
        return [name for name in names if (self.folder / name).exists()]

    # ---- writing ----

    def new_number(self) -> int:
        """The number of the next checkpoint."""
        number, self._next = self._next, self._next + 1
        return number

    def arrays(self, number: int) -> Path:
        """Where the arrays of a checkpoint are."""
        return self.folder / f"arrays-{number}"

    def write_segment(self, number: int, parts: Sequence[Appended]) -> None:
        """Write what this process has, once."""
        self.check_present()
        path = self.folder / _segment(number, jax.process_index())
        atomic_write_all({path: segment_blocks(parts)})

    def commit(self, number: int, content: Mapping[str, Json], segments: Sequence[str]) -> None:
        """Let what was written count: the arrays of this number, if there are any, and segments. Of
        older checkpoints those that are no longer kept are removed."""
        before = self._kept[-1].files if self._kept else {}
        names = [*segments]
        arrays = self.arrays(number)
        if arrays.is_dir():
            for path in (arrays, *sorted(arrays.rglob("*"))):
                if path.is_dir():
                    sync_folder(path)
                else:
                    _sync(path)
                    names.append(path.relative_to(self.folder).as_posix())
        files = {
            name: before.get(name) or (_size(self.folder / name), _checksum(self.folder / name))
            for name in names
        }
        whole = {"content": content, "files": files, "sha256": _checksum_of(content, files)}
        self.check_present()
        atomic_write(self.folder / _name(number), json.dumps(whole))
        self._kept = [*self._kept, Manifest(number, content, files)][-self.keep :]
        self.remove_garbage()

    def check_present(self) -> None:
        """**Raises:** `FileNotFoundError` if the folder is not the one that was opened."""
        if self._lock is None:
            return
        try:
            found, own = os.stat(self.folder / _LOCK), os.fstat(self._lock)
        except FileNotFoundError:
            found, own = None, None
        if found is None or own is None or (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino):
            raise FileNotFoundError(f"{self.folder} was removed")

    def remove_garbage(self) -> None:
        """Remove what no kept checkpoint names."""
        if self._lock is None:
            return
        named = {_name(manifest.number) for manifest in self._kept}
        named |= {name.split("/")[0] for manifest in self._kept for name in manifest.files}
        for path in self.folder.iterdir():
            if _OWN.fullmatch(path.name) and path.name not in named:
                # The manifests of damaged checkpoints are among them. What cannot be removed now is
                # removed later.
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    with contextlib.suppress(OSError):
                        path.unlink()


def _check_own(folder: Path) -> None:
    """**Raises:** `CheckpointError` for a folder that has other files than checkpoints."""
    names = os.listdir(folder) if folder.is_dir() else []
    if any(_MANIFEST.fullmatch(name) for name in names):
        return
    others = sorted(
        name
        for name in names
        if name != _LOCK and not name.startswith(_TEMPORARY) and not _OWN.fullmatch(name)
    )
    if others:
        raise CheckpointError(
            f"{folder} holds no checkpoints but other files, such as {others[0]!r}. Give a new "
            "folder, or an empty one."
        )


def _name(number: int) -> str:
    return f"checkpoint-{number}.json"


def _segment(number: int, process: int) -> str:
    return f"segment-{number}.{process}"


def _size(path: Path) -> int:
    return path.stat().st_size


def _checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum_of(content: Any, files: Any) -> str:
    return hashlib.sha256(json.dumps([content, files], sort_keys=True).encode()).hexdigest()


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
