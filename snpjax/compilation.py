"""Keep compiled programs on disk, so that the next process does not compile them again.

JAX's persistent compilation cache stores and finds them; this module chooses the folder, bounds
its size and removes broken entries. JAX can bound the size itself, with the package `filelock`,
but then every lookup waits for a lock, a read-only folder is useless, and one killed writer can
stop all later writes. Here no process waits for another. JAX writes entries in place, so an entry
may be truncated (a killed process, a full disk): each is decompressed once before it is trusted,
and is then made read-only as a mark.
"""

import contextlib
import hashlib
import os
import platform
import re
import stat
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from snpjax_formats._platform.caches import (
    UnsafeFolder,
    check_private,
    create_private,
    root_of,
    user_cache,
)
from snpjax_formats._platform.cores import num_cores


#: The environment variable that names another folder, or is `off`.
VARIABLE = "SNPJAX_COMPILATION_CACHE"
MAX_BYTES = 2**28

_OFF, _ON = {"off", "0", "false", "no", "f", "n"}, {"", "on", "1", "true", "yes", "t", "y"}
_SUFFIX = "-cache"  # of JAX's entries
_WRITES = 64  # a process that has written this many programs looks at their size again
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

#: Lines of /proc/cpuinfo that list what a processor can do, and those that name its family.
_FEATURES = ("flags", "Features", "features", "isa")
_FAMILY = (
    "vendor_id",
    "cpu family",
    "model",
    "CPU implementer",
    "CPU variant",
    "CPU part",
    "uarch",
)


class Setting(NamedTuple):
    """What the environment says: the folder, if there is one, whether programs are kept there, and
    why."""

    folder: Path | None
    is_on: bool
    reason: str


class Entry(NamedTuple):
    """A compiled program on disk; `used` is when it was last read or written."""

    path: Path
    bytes: int
    used: float
    is_checked: bool


def setting() -> Setting:
    """Where the command line keeps compiled programs. This does not import JAX."""
    given = os.environ.get(VARIABLE, "")
    word = given.lower()
    try:
        named = user_cache("compiled") if word in _OFF | _ON else Path(given).expanduser()
        folder = named.absolute()
    except (OSError, RuntimeError) as error:  # no home folder, or it is removed
        return Setting(None, False, f"no cache folder: {error}")
    if word in _OFF:
        return Setting(folder, False, f"{VARIABLE} is {given}")
    if os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return Setting(folder, False, "JAX_COMPILATION_CACHE_DIR names a folder of your own")
    if os.environ.get("JAX_ENABLE_COMPILATION_CACHE", "").lower() in _OFF:
        return Setting(folder, False, "JAX_ENABLE_COMPILATION_CACHE is false")
    try:
        check_private(folder, root_of(folder))
    except OSError as error:
        return Setting(folder, False, f"it is not used: {error}")
    return Setting(folder, True, "by default" if word in _ON else f"{VARIABLE} names the folder")


def use_compilation_cache(
    folder: str | os.PathLike[str] | None = None, max_bytes: int = MAX_BYTES
) -> Path | None:
    """Keep compiled programs on disk, so that the next process does not compile them again.

    The command line does this by itself. In Python, call it once, before anything is compiled.

    ```python
    snp.use_compilation_cache()
    ```

    Nothing is changed where you set `jax_compilation_cache_dir` yourself and give no folder, where
    `jax_enable_compilation_cache` or the environment variable `SNPJAX_COMPILATION_CACHE` turns it
    off, where the folder cannot be made, or where others may write to it. JAX's warnings about
    entries that it cannot read or write are ignored from then on. Any number of processes may
    share a folder.

    **Arguments:**

    - `folder`: by default what `SNPJAX_COMPILATION_CACHE` names, else `snpjax/compiled` in the
      user's cache folder. Programs are kept in a subfolder for each kind of processor, so that
      different machines may share it. Whoever may write to it could run code as you, so it is
      created for you alone, and used only if it belongs to you, is no link, and neither the group
      nor others may write to it. The same holds for its parents within the user's cache folder.
    - `max_bytes`: the programs that were not used for the longest time are removed beyond this
      size, when a process starts and after every 64 programs that it writes.

    **Returns:** the subfolder for this machine, or `None` if nothing was changed.

    **Raises:** `ValueError` for a negative `max_bytes`, and for a `folder` that others may
    write to.
    """
    if max_bytes < 0:
        raise ValueError(f"max_bytes is {max_bytes}. Give the size of the folder in bytes.")
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    found = setting()
    is_off = os.environ.get(VARIABLE, "").lower() in _OFF
    config: Any = jax.config
    if is_off or not config.jax_enable_compilation_cache:
        return None
    if folder is None and (config.jax_compilation_cache_dir or not found.is_on):
        return None
    root = found.folder if folder is None else Path(folder)
    assert root is not None
    try:
        root = root.expanduser().absolute()
        place = root / machine_name()
        create_private(place, root_of(root))
    except UnsafeFolder as error:
        if folder is not None:
            raise ValueError(f"Compiled programs are not kept in {folder}: {error}.") from None
        return None
    except (OSError, RuntimeError):
        return None
    _keeper().keep(place, max_bytes)
    for name, value in {
        "jax_compilation_cache_dir": str(place),
        "jax_compilation_cache_max_size": -1,
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        "jax_persistent_cache_enable_xla_caches": "none",  # it makes keys depend on the folder
    }.items():
        jax.config.update(name, value)
    reset_cache()  # JAX looks at the folder only once
    # Where an entry is broken, or cannot be written, the program is compiled.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
    return place


@dataclass
class _Keeper:
    """Bounds the folder in which this process keeps programs."""

    place: Path | None = None
    max_bytes: int = MAX_BYTES
    num_written: int = 0

    def keep(self, place: Path, max_bytes: int) -> None:
        self.place, self.max_bytes = place, max_bytes
        tidy(place, max_bytes)

    def on_event(self, event: str, **_: Any) -> None:
        if event == "/jax/compilation_cache/cache_misses":  # JAX is about to write a program
            self.num_written += 1
            if self.num_written % _WRITES == 0 and self.place is not None:
                tidy(self.place, self.max_bytes)


@cache
def _keeper() -> _Keeper:
    """That of this process, which is told of every program that JAX writes."""
    import jax

    keeper = _Keeper()
    jax.monitoring.register_event_listener(keeper.on_event)
    return keeper


def entries(root: Path) -> Iterator[Entry]:
    """The programs in the subfolders of all machines."""
    for place in _places(root):
        with contextlib.suppress(OSError), os.scandir(place) as files:
            for file in files:
                if not file.name.endswith(_SUFFIX):
                    continue
                with contextlib.suppress(OSError):  # another process has removed it
                    about = file.stat(follow_symlinks=False)
                    used = max(about.st_atime, about.st_mtime)
                    is_checked = not about.st_mode & _WRITABLE and not _is_of_another(about)
                    yield Entry(Path(file.path), about.st_size, used, is_checked)


def clear(root: Path) -> list[Entry]:
    """Remove all programs, and return those that were there."""
    found = list(entries(root))
    for entry in found:
        _remove(entry.path)
    for place in _places(root):
        for tables in place.glob("*.lark"):  # of parsers, which earlier versions kept
            _remove(tables)
        with contextlib.suppress(OSError):  # another process has just written to it
            place.rmdir()
    return found


def tidy(place: Path, max_bytes: int) -> None:
    """Remove broken programs of this machine, and the least recently used of all machines beyond
    `max_bytes`. Other processes may read, write and tidy meanwhile."""
    kept, total = [], 0
    for entry in entries(place.parent):
        if entry.path.parent == place and not entry.is_checked and not _verified(entry.path):
            continue
        kept.append(entry)
        total += entry.bytes
    for entry in sorted(kept, key=lambda entry: entry.used):
        if total <= max_bytes:
            break
        _remove(entry.path)
        total -= entry.bytes


def _verified(path: Path) -> bool:
    """Whether a program is whole; it is then marked, else removed. One that is just being written
    is removed too, and written again when it is next compiled."""
    try:
        is_foreign = _is_of_another(path.lstat())
        data = b"" if is_foreign else path.read_bytes()
    except OSError:
        return False
    try:
        is_whole = bool(_codec().decompress(data))
    except Exception:  # each library has an error of its own
        is_whole = False
    if not is_whole:
        _remove(path)
        return False
    with contextlib.suppress(OSError):
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    return True


def _is_of_another(about: os.stat_result) -> bool:
    """Whether an entry is a link or belongs to somebody else, who wrote it when the folder was
    open to others."""
    if sys.platform == "win32":
        return False
    return stat.S_ISLNK(about.st_mode) or about.st_uid not in (os.geteuid(), 0)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if os.name == "nt":  # Windows removes no file that is read-only
            path.chmod(stat.S_IWUSR)
        path.unlink()


def _places(root: Path) -> list[Path]:
    try:
        names = [path for path in root.iterdir() if re.fullmatch("[0-9a-f]{16}", path.name)]
        return [path for path in names if not path.is_symlink()]
    except OSError:
        return []


@cache
def _codec() -> Any:
    """The module by which JAX compresses programs."""
    for name in ("compression.zstd", "zstandard"):
        with contextlib.suppress(ImportError):
            return import_module(name)
    return import_module("zlib")


def machine_name() -> str:
    """A name for what a compiled program depends on, beside what is in JAX's key: the instructions
    of the processor, the cores that work is divided among, and how entries are compressed."""
    parts = [
        platform.system(),
        platform.machine(),
        f"{num_cores()}",
        _codec().__name__,
        *_processor(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _processor() -> list[str]:
    """What the first processor can do. Where the system does not say, the name of the machine."""
    found = {}
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if not line.strip():
                break
            found[name.strip()] = " ".join(sorted(value.split()))
    own = [f"{name} {found[name]}" for name in (*_FAMILY, *_FEATURES) if name in found]
    if found.keys() & set(_FEATURES):
        return own
    return [*own, platform.processor(), platform.node()]
