"""Write files atomically and durably: afterwards there is the old file or the new one.

A file is written under a temporary name in its folder, flushed to the disk, and renamed; then the
folder is flushed. This is the one way in which both packages write files.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .replacing import Replacement, remove_leftovers
from .temporary import create, new_token, sync_folder, temporary_name, write_out


class _Staged(NamedTuple):
    """A file that is complete under a temporary name. `target` is what the caller calls it, `place`
    where it belongs once links are followed."""

    target: Path
    place: Path
    temporary: Path


def atomic_write(target: Path, content: str | bytes) -> None:
    """Write a file, see `atomic_write_all`."""
    data = content.encode() if isinstance(content, str) else content
    atomic_write_all({target: (data,)})


def atomic_write_all(files: Mapping[Path, Iterable[bytes | memoryview]]) -> None:
    """Write files, each in blocks, and replace them together once all are on the disk.

    A symbolic link stays, and the file that it names is replaced. A file that exists keeps its
    permissions. What is not a file, such as `/dev/stdout`, is written in place. If a step fails,
    all files are as they were. If the process dies, each file is the old or the new one; of several
    files in one folder, the next write into it puts the old ones back unless all were replaced.

    **Raises:** `OSError` with the name of the file, never a temporary one.
    """
    token = new_token()
    with ExitStack() as stack:
        staged = []
        for number, (target, blocks) in enumerate(files.items()):
            with _errors_about(target):
                if _is_device(target):
                    _write_in_place(target, blocks)
                    continue
                place = _followed(target)
                temporary = place.with_name(temporary_name(token, f"{number}.new"))
                stack.enter_context(_written(place, temporary, blocks))
                staged.append(_Staged(target, place, temporary))
        if len(staged) == 1:
            _rename(staged[0])
            with _errors_about(staged[0].target):
                sync_folder(staged[0].place.parent)
        elif staged:
            _rename_all(staged, token)


def _is_device(target: Path) -> bool:
    """Whether something is there that is neither a file nor a folder, such as a pipe."""
    try:
        mode = os.stat(target).st_mode
    except OSError:  # nothing is there, or writing says what is wrong
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return not stat.S_ISREG(mode)


def _followed(target: Path) -> Path:
    place = os.path.realpath(target)
    if os.path.islink(place):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return Path(place)


@contextmanager
def _written(place: Path, temporary: Path, blocks: Iterable[bytes | memoryview]) -> Iterator[None]:
    """The content of `place` in a temporary file, which is locked, and removed in the end unless it
    was renamed."""
    remove_leftovers(place.parent)
    mode = _mode(place)
    try:
        with ExitStack() as held:
            file = create(temporary, 0o666 if mode is None else 0o600)
            held.callback(os.close, file)
            for block in blocks:
                write_out(file, block)
            if mode is not None:
                os.chmod(temporary, mode)
            os.fsync(file)
            if sys.platform == "win32":  # which does not rename what is open
                held.close()
            yield
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _mode(place: Path) -> int | None:
    """The permissions of a file, if it exists."""
    try:
        return stat.S_IMODE(os.stat(place).st_mode)
    except OSError:
        return None


def _write_in_place(target: Path, blocks: Iterable[bytes | memoryview]) -> None:
    file = os.open(target, os.O_WRONLY)
    try:
        for block in blocks:
            write_out(file, block)
    finally:
        os.close(file)


def _rename(one: _Staged) -> None:
    with _errors_about(one.target):
        os.replace(one.temporary, one.place)


def _rename_all(staged: list[_Staged], token: str) -> None:
    """Rename files as a set; of several folders, as a set in each."""
    sets: dict[Path, list[_Staged]] = {}
    for one in staged:
        sets.setdefault(one.place.parent, []).append(one)
    replacements = {folder: Replacement(folder, token) for folder in sets}
    with ExitStack() as stack:
        for replacement in replacements.values():
            stack.callback(replacement.close)
        try:
            for folder, members in sets.items():
                with _errors_about(members[0].target):
                    replacements[folder].begin([(x.place.name, x.temporary.name) for x in members])
            for one in staged:
                _rename(one)
            for folder, members in sets.items():
                with _errors_about(members[0].target):
                    replacements[folder].commit()
        except BaseException:
            for replacement in replacements.values():
                with suppress(OSError):  # the next write into the folder tries again
                    replacement.undo()
            raise


@contextmanager
def _errors_about(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.filename == os.fspath(target):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(target)) from None
