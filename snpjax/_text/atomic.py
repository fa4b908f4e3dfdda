"""Write files atomically."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


def atomic_write(target: Path, text: str) -> None:
    """Write a text to a temporary name in the same folder, and rename it."""
    atomic_write_all({target: (text.encode(),)})


def atomic_write_all(files: Mapping[Path, Iterable[bytes]]) -> None:
    """Write files, in blocks, to temporary names in the same folder, and rename them when all are
    written.

    **Raises:** `OSError` with the name of the file, never a temporary one.
    """
    temporary = {
        target: target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
        for target in files
    }
    try:
        for target, blocks in files.items():
            with _errors_about(target), open(temporary[target], "xb") as file:
                for block in blocks:
                    file.write(block)
        for target in files:
            with _errors_about(target):
                if target.exists():
                    shutil.copymode(target, temporary[target])
                os.replace(temporary[target], target)
    except BaseException:
        for path in temporary.values():
            with suppress(OSError):  # the folder may be none
                path.unlink()
        raise


@contextmanager
def _errors_about(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(target)) from None
