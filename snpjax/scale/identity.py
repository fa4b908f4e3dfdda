"""Which call checkpoints belong to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
from jaxtyping import PyTree

from .digest import digest, is_key
from .segment import Json
from .store import CheckpointError


#: The version of what is in a manifest.
FORMAT = 1


def identity_of(call: str, parts: Mapping[str, PyTree]) -> dict[str, Json]:
    """What is compared on resumption, and by whom it was written."""
    import snpjax

    return {
        "format": FORMAT,
        "call": call,
        "parts": {name: _part(x) for name, x in parts.items()},
        "snpjax": snpjax.__version__,
        "jax": jax.__version__,
    }


def _part(x: PyTree) -> dict[str, Json]:
    keys = [leaf for leaf in jax.tree.leaves(x) if is_key(leaf)]
    found: dict[str, Json] = {"digest": digest(x)}
    if keys:
        found["without_keys"] = digest(x, keys=False)
        found["keys"] = [[f"{jr.key_impl(one)}", jr.key_data(one).tolist()] for one in keys]
    if isinstance(x, bool | int | float | str | None):
        found["is"] = f"{x!r:.60}"
    return found


def check_same(folder: Path, identity: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """**Raises:** `CheckpointError` with what differs."""
    fix = "Give the same arguments to go on from there, or another folder to start over."
    if other.get("format") != identity["format"]:
        raise CheckpointError(
            f"The checkpoints in {folder} have format {other.get('format')}, and this version of "
            f"snpjax reads format {identity['format']}. Install snpjax {other.get('snpjax')}, or "
            "give another folder."
        )
    if other["call"] != identity["call"]:
        raise CheckpointError(
            f"The checkpoints in {folder} are those of `{other['call']}`, not of "
            f"`{identity['call']}`. Give another folder."
        )
    own, found = identity["parts"], other["parts"]
    for name in dict.fromkeys([*own, *found]):
        one, two = own.get(name), found.get(name)
        if one == two:
            continue
        what = f"another `{name}`"
        if one is not None and two is not None:
            if "keys" in one and one["without_keys"] == two.get("without_keys"):
                what = f"another key in `{name}`"
            elif "is" in one and "is" in two:
                what = f"`{name}={two['is']}` instead of {one['is']}"
        raise CheckpointError(f"The checkpoints in {folder} are those of a call with {what}. {fix}")
