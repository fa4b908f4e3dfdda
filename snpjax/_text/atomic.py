"""Write files atomically."""

import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path


def atomic_write(target: Path, text: str) -> None:
    """Write a text to a temporary name in the same folder, and rename it."""
    atomic_write_all({target: (text.encode(),)})


def atomic_write_all(files: Mapping[Path, Iterable[bytes]]) -> None:
    """Write files, in blocks, to temporary names in the same folder, and rename them when all are
    written."""
    temporary = {
        target: target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
        for target in files
    }
    try:
        for target, blocks in files.items():
            with open(temporary[target], "xb") as file:
                for block in blocks:
                    file.write(block)
        for target in files:
            if target.exists():
                shutil.copymode(target, temporary[target])
            os.replace(temporary[target], target)
    except BaseException:
        for path in temporary.values():
            path.unlink(missing_ok=True)
        raise
