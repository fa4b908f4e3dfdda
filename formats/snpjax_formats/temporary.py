"""Temporary files beside those that are written: their names, and whether their writer lives.

A name begins with `.snpjax-` and a token that is drawn for each write. The writer locks the file
with `flock`, which ends with the process, on whatever machine it ran. Windows and some network file
systems have no such locks; nothing is taken for a left-over there.
"""

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


if sys.platform != "win32":
    import fcntl


#: The names of content to come, of content to put back, and of a journal; group 1 is the token.
TEMPORARY_NAME = re.compile(r"\.snpjax-([0-9a-f]{16})-(?:[0-9]+\.(?:new|old)|journal)")
_NO_SUCH_FLUSH = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def new_token() -> str:
    return secrets.token_hex(8)


def temporary_name(token: str, rest: str) -> str:
    return f".snpjax-{token}-{rest}"


def create(path: Path, mode: int = 0o600) -> int:
    """Create a file; it is locked until the returned descriptor is closed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | (os.O_BINARY if sys.platform == "win32" else 0)
    while True:
        file = os.open(path, flags, mode)
        try:
            with suppress(OSError):
                _lock(file)
            if _is_at(file, path):
                return file
        except BaseException:
            os.close(file)
            with suppress(OSError):
                os.unlink(path)
            raise
        os.close(file)  # before it was locked another process took it for a left-over


@contextmanager
def abandoned(path: Path) -> Iterator[int | None]:
    """Hold a file that no live process holds; of any other there is `None`."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except PermissionError:  # it has the permissions of a file that may only be read
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _lock(file, is_patient=False)
        is_file = stat.S_ISREG(os.fstat(file).st_mode)
        yield file if is_file and _is_at(file, path) else None
    finally:
        os.close(file)


def _lock(file: int, *, is_patient: bool = True) -> None:
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX if is_patient else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file still has that name."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


def write_out(file: int, block: bytes | memoryview) -> None:
    rest = memoryview(block).cast("B")
    while rest:
        rest = rest[os.write(file, rest) :]


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the file system can do that."""
    if sys.platform == "win32":
        return
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # files may be made in it, but not listed
        return
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in _NO_SUCH_FLUSH:
            raise
    finally:
        os.close(file)
