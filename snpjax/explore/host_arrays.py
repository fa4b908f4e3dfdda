"""Arrays of the host that grow at their end, in main memory and then in files."""

import errno
import mmap
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from io import FileIO
from typing import cast

import numpy as np
from jaxtyping import Int, Shaped


# Neighbouring parts of an array are joined up to this many bytes, so that there are few.
_JOINED = 2**22
# This part of a disk is left free, if no limit is given.
_DISK_LEFT = 16
_MOST_WRITTEN = 2**28  # bytes at once


class HostArray:
    """An array of rows: first those in a file, if any, then those in memory, in parts.

    - `num_bytes`: those in memory.
    """

    def __init__(self, dtype: np.dtype, row: tuple[int, ...]) -> None:
        self._empty = np.zeros((0, *row), dtype)
        self._file: FileIO | None = None
        self._mapped = self._empty
        self._parts: list[np.ndarray] = []
        self._num = 0
        self.num_bytes = 0

    def __len__(self) -> int:
        return self._num

    @property
    def bytes_in_file(self) -> int:
        return self._mapped.nbytes

    def parts(self) -> list[np.ndarray]:
        """All rows, in order."""
        return [self._mapped, *self._parts] if len(self._mapped) else list(self._parts)

    def append(self, rows: Shaped[np.ndarray, "some *row"]) -> None:
        """The rows must not change from now on."""
        if not len(rows):
            return
        self._num += len(rows)
        self.num_bytes += rows.nbytes
        parts = self._parts
        parts.append(rows)
        with suppress(MemoryError):
            while len(parts) > 1 and parts[-2].nbytes <= min(2 * parts[-1].nbytes, _JOINED):
                parts[-2:] = [np.concatenate(parts[-2:])]

    def take(self, numbers: Int[np.ndarray, " some"]) -> Shaped[np.ndarray, "some *row"]:
        """Some of the rows."""
        parts = self.parts()
        if len(parts) == 1:
            return np.take(parts[0], numbers, axis=0)
        found = np.empty((len(numbers), *self._empty.shape[1:]), self._empty.dtype)
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum([len(part) for part in parts])
        bounds = [0, *np.searchsorted(numbers[order], ends).tolist()]
        for part, end, low, high in zip(parts, ends, bounds, bounds[1:], strict=False):
            if low < high:
                own = order[low:high]
                found[own] = np.take(part, numbers[own] - (end - len(part)), axis=0)
        return found

    def block(self, start: int, stop: int) -> Shaped[np.ndarray, "some *row"]:
        """The rows from `start` to `stop`, or to the end."""
        found, first = [], 0
        for part in self.parts():
            if start < first + len(part) and first < stop:
                found.append(part[max(start - first, 0) : stop - first])
            first += len(part)
        return found[0] if len(found) == 1 else np.concatenate([self._empty, *found])

    def spill(self, folder: str | os.PathLike[str] | None) -> None:
        """Write the rows in memory to the file. **Raises:** `OSError`; nothing is lost then."""
        if not self._parts:
            return
        if self._file is None:
            self._file = _temporary(folder)
            weakref.finalize(self, self._file.close)
        written = self._mapped.nbytes
        try:
            self._file.seek(written)
            for part in self._parts:
                _write(self._file, part)
        except OSError:
            os.truncate(self._file.fileno(), written)
            raise
        self._mapped = _mapped(self._file, written + self.num_bytes, self._empty.dtype)
        self._mapped = self._mapped.reshape(-1, *self._empty.shape[1:])
        self._parts.clear()
        self.num_bytes = 0


def own_rows(array: Shaped[np.ndarray, "rows *row"], num: int) -> Shaped[np.ndarray, "some *row"]:
    """The first ones, without keeping many others alive."""
    some = array[:num]
    return some if 2 * num >= len(array) else some.copy()


class HostArrays:
    """All that a search has on the host.

    - `limit`: the bytes that may stay in main memory, or `None` for any number.
    - `disk`: the bytes that may be in files, or `None` for as many as are free in `folder`.
    """

    def __init__(
        self, limit: int | None, disk: int | None, folder: str | os.PathLike[str] | None
    ) -> None:
        self.limit = limit
        self.disk = disk
        self.folder = folder
        self.arrays: list[HostArray] = []

    def array(self, dtype: np.dtype | type[np.generic], *row: int) -> HostArray:
        """A new one without rows."""
        self.arrays.append(HostArray(np.dtype(dtype), row))
        return self.arrays[-1]

    def remove(self, array: HostArray) -> None:
        """Let go of an array."""
        self.arrays = [other for other in self.arrays if other is not array]

    @property
    def num_bytes(self) -> int:
        """In main memory."""
        return sum(array.num_bytes for array in self.arrays)

    def settle(self) -> None:
        """Move rows to files if there are too many in memory, the largest arrays first.

        **Raises:** `OSError` if there is no room in the folder.
        """
        if self.limit is None or self.num_bytes <= self.limit:
            return
        for array in sorted(self.arrays, key=lambda array: array.num_bytes, reverse=True):
            self._spill(array)
            if 2 * self.num_bytes <= self.limit:
                return

    def finish(self) -> None:
        """Have all rows of an array in its file, if some are there and the others fit."""
        with suppress(OSError):
            for array in self.arrays:
                if array.bytes_in_file:
                    self._spill(array)

    def empty(self, num: int, dtype: type[np.integer]) -> np.ndarray:
        """An array without values, in a file of its own if main memory is short."""
        size = num * np.dtype(dtype).itemsize
        if size and self.limit is not None and self.num_bytes + size > self.limit:
            with suppress(OSError):
                self._check_disk(size)
                with _temporary(self.folder) as file:
                    _reserve(file, size)
                    return _mapped(file, size, np.dtype(dtype), mmap.ACCESS_WRITE)
        return np.empty(num, dtype)

    def _spill(self, array: HostArray) -> None:
        self._check_disk(array.num_bytes)
        array.spill(self.folder)

    def _check_disk(self, needed: int) -> None:
        folder = self.folder or tempfile.gettempdir()
        usage = shutil.disk_usage(folder)
        left = usage.free - usage.total // _DISK_LEFT
        if self.disk is not None:
            left = min(usage.free, self.disk - sum(array.bytes_in_file for array in self.arrays))
        if needed > left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(folder))


# ---- files ----


def _temporary(folder: str | os.PathLike[str] | None) -> FileIO:
    """A file without a name, where the system has such: nothing is left when the process ends."""
    return cast(FileIO, tempfile.TemporaryFile(dir=folder, buffering=0))


def _write(file: FileIO, rows: np.ndarray) -> None:
    left = np.ascontiguousarray(rows).data.cast("B")
    while left:
        left = left[file.write(left[:_MOST_WRITTEN]) :]


def _reserve(file: FileIO, size: int) -> None:
    """Writing to a page for which a disk has no room would end the process."""
    zeros = np.zeros(min(size, _MOST_WRITTEN), np.uint8)
    for start in range(0, size, len(zeros)):
        _write(file, zeros[: size - start])


def _mapped(
    file: FileIO, size: int, dtype: np.dtype, access: int = mmap.ACCESS_READ
) -> Shaped[np.ndarray, " numbers"]:
    return np.frombuffer(mmap.mmap(file.fileno(), size, access=access), dtype)
