"""Which call checkpoints belong to."""

import os
import re
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

# Switches of JAX that change random numbers, types or the rounding of floats.
_SWITCHES = (
    *("jax_threefry_partitionable", "jax_default_prng_impl", "jax_random_seed_offset"),
    *("jax_high_dynamic_range_gumbel", "jax_enable_x64", "jax_default_matmul_precision"),
    *("jax_allow_f16_reductions", "jax_softmax_custom_jvp", "jax_disable_jit"),
    *("jax_disable_most_optimizations", "jax_optimization_level"),
)
# The parts of XLA_FLAGS that change the rounding of floats.
_FLAGS = re.compile(r"--xla\S*(?:fast_math|precision|tf32|deterministic)\S*")


def identity_of(call: str, parts: Mapping[str, PyTree]) -> dict[str, Json]:
    """What is compared on resumption, and by whom it was written."""
    import snpjax

    return {
        "format": FORMAT,
        "call": call,
        "parts": {name: _part(x) for name, x in parts.items()},
        "switches": switches(),
        "snpjax": snpjax.__version__,
        "jax": jax.__version__,
    }


def switches() -> dict[str, Json]:
    """The settings of this process that change the bits of results, by name."""
    settings: dict[str, Json] = {x: f"{getattr(jax.config, x, None)}" for x in _SWITCHES}
    environment = os.environ.get("XLA_FLAGS", "")
    settings["XLA_FLAGS"] = " ".join(sorted(_FLAGS.findall(environment)))
    settings["NVIDIA_TF32_OVERRIDE"] = os.environ.get("NVIDIA_TF32_OVERRIDE", "")
    return settings


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
    # After the parts, since 64-bit counts set switches of their own.
    settings = identity["switches"]
    for name, value in other.get("switches", settings).items():  # older ones do not say
        if settings.get(name, value) != value:
            raise CheckpointError(
                f"The checkpoints in {folder} were written with {name}={value or 'unset'} instead "
                f"of {settings[name] or 'unset'}, which changes the bits of results. Set it as "
                "before to go on from there, or give another folder to start over."
            )
