"""The user's cache folder, which is used only where nobody else may write to it.

Whoever can replace a compiled program runs code as its reader. So a folder counts only if it and
its parents up to the root of the cache are folders of the user, or of the administrator, to which
neither the group nor others may write. Links are not followed. Our folders in it, which earlier
versions created with the modes of the umask, are closed to others.
"""

import os
import stat
import sys
from pathlib import Path


_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UnsafeFolder(OSError):
    """A cache folder that somebody else may write to: which one, why, and the fix."""


def cache_root() -> Path:
    """Return the platform's folder for caches. A relative `XDG_CACHE_HOME` is ignored.

    **Raises:** `RuntimeError` if the user has no home folder.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".cache"


def user_cache(name: str) -> Path:
    """Return the folder `name` of snpjax in the platform's folder for caches."""
    return cache_root() / "snpjax" / name


def check_private(folder: Path, root: Path) -> None:
    """Check that nobody else may write to a folder and its parents up to a root. Those that do not
    exist pass. The user's `snpjax` in the root, and folders in there, are closed to others first.

    **Raises:** `UnsafeFolder` for a file, a link, a folder of somebody else, and one that the group
    or others may write to; `OSError` for one that cannot be looked at.
    """
    if sys.platform == "win32":  # folders of a profile are private
        return
    for path in _levels(folder, root):
        try:
            about = os.lstat(path)
        except FileNotFoundError:
            return
        if stat.S_ISLNK(about.st_mode):
            raise UnsafeFolder(f"{path} is a link (name the folder itself)")
        if not stat.S_ISDIR(about.st_mode):
            raise UnsafeFolder(f"{path} is not a folder (remove it)")
        if about.st_uid not in (os.geteuid(), 0):
            raise UnsafeFolder(f"{path} belongs to another user (name a folder of your own)")
        is_open = bool(about.st_mode & _WRITABLE_BY_OTHERS)
        if is_open and about.st_uid == os.geteuid() and path.is_relative_to(root / "snpjax"):
            is_open = not _close_to_others(path)
        if is_open:
            raise UnsafeFolder(f"others may write to {path} (run: chmod go-w {path})")


def _close_to_others(path: Path) -> bool:
    """Let only its owner, this user, write to a folder, and return whether that succeeded. Nobody
    else can replace the folder meanwhile, because that around it is already closed."""
    try:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_WRITABLE_BY_OTHERS)
        return not path.stat().st_mode & _WRITABLE_BY_OTHERS
    except OSError:  # such as a read-only file system
        return False


def create_private(folder: Path, root: Path) -> None:
    """Create a folder, and its parents, for the user alone, and check it.

    **Raises:** `UnsafeFolder` as `check_private`; `OSError` if it cannot be created.
    """
    check_private(folder, root)
    for path in (*reversed(root.parents), *_levels(folder, root)):
        if not path.exists():
            path.mkdir(mode=0o700, exist_ok=True)
    check_private(folder, root)  # somebody else may have been faster


def root_of(folder: Path) -> Path:
    """Return the root up to which the parents of a cache folder are checked: the platform's folder
    for caches if it is in there, else the folder itself."""
    try:
        root = cache_root()
    except RuntimeError:  # no home folder
        return folder
    return root if folder.is_relative_to(root) else folder


def _levels(folder: Path, root: Path) -> list[Path]:
    """The root, and the folders in it that lead to a folder."""
    levels = [root]
    for part in folder.relative_to(root).parts:
        levels.append(levels[-1] / part)
    return levels
