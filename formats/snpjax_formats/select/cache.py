"""What was measured on this machine, kept in the user's cache folder.

A file for each key, in whose name everything is that a measurement depends on: another device,
version or flag is another file, never a wrong hit. Files are written atomically, however many
processes write. Deleting them is always safe.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import jax
import jaxlib.version

from .._platform.caches import check_private, create_private, root_of, user_cache
from ..atomic import atomic_write
from ..strict_json import parse_json
from .candidates import LAYOUT_SET, feasible
from .decision import Question


class CacheIgnored(UserWarning):
    """A file of the cache that cannot be used or written; it is measured again."""


def cache_folder() -> Path:
    """Where measurements are kept: `SNPJAX_CACHE`, or the place that the system has for it."""
    given = os.environ.get("SNPJAX_CACHE")
    return Path(given) if given else user_cache("layouts")


def key_of(question: Question) -> dict[str, str]:
    """Everything that a measurement depends on, in words."""
    w = question.workload
    candidates, _ = feasible(question.features, w, free=question.free)
    return {
        "device": question.kind,
        "cores": str(os.cpu_count()) if question.device == "cpu" else "",
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "flags": os.environ.get("XLA_FLAGS", ""),
        "x64": str(jax.config.jax_enable_x64),  # pyright: ignore[reportAttributeAccessIssue]
        "layouts": str(LAYOUT_SET),
        "candidates": " ".join(c.name for c in candidates),
        "workload": f"{w.batch} {w.accumulate} {w.max_input} {w.activity:.2g} {w.gradients} "
        f"{w.trained}",
        "features": question.features.bucket,
    }


def read(folder: Path, key: Mapping[str, str]) -> dict[str, float] | None:
    """The seconds of each candidate that were measured; `None` where there are none. A file that
    cannot be used is none, with a warning."""
    path = _path(folder, key)
    try:
        if _is_in_user_cache(folder):
            check_private(folder, root_of(folder))
        held = parse_json(path.read_bytes())
        if held["key"] != dict(key):
            raise ValueError("it is of another key")
        seconds = {str(name): float(x) for name, x in held["seconds"].items()}
        if not seconds or not all(0 < x < float("inf") for x in seconds.values()):
            raise ValueError("it holds no times")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"The measurement {path} is ignored, since it cannot be used ({error})."
        warnings.warn(CacheIgnored(text), stacklevel=3)
        return None
    return seconds


def write(folder: Path, key: Mapping[str, str], seconds: Mapping[str, float]) -> None:
    """Keep the seconds of each candidate; where that cannot be, warn and continue."""
    path = _path(folder, key)
    text = json.dumps({"key": dict(key), "seconds": dict(seconds)}, indent=1)
    try:
        if _is_in_user_cache(folder):
            create_private(folder, root_of(folder))
        else:
            folder.mkdir(parents=True, exist_ok=True)
        atomic_write(path, text)
    except OSError as error:
        warnings.warn(
            CacheIgnored(f"Measurements are not kept in {folder} ({error})."), stacklevel=3
        )


def _is_in_user_cache(folder: Path) -> bool:
    """Return whether a folder must be the user's alone. One that somebody names may be shared: its
    files are numbers, which are checked."""
    return root_of(folder) != folder


def _path(folder: Path, key: Mapping[str, str]) -> Path:
    text = json.dumps(dict(key), sort_keys=True)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
