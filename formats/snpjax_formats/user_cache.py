"""The user's cache folder."""

import os
import sys
from pathlib import Path


def user_cache(name: str) -> Path:
    """The folder `name` of snpjax in the platform's place for caches.

    **Raises:** `RuntimeError` if the user has no home folder.
    """
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "snpjax" / name
