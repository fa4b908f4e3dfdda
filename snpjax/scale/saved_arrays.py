"""Arrays on disk, split over devices or not, by orbax."""

import importlib.util
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Shaped


#: Shape and dtype of each array, by its name.
Described = Mapping[str, tuple[list[int], str]]


def check_installed() -> None:
    """**Raises:** `ImportError` with how to install orbax."""
    if importlib.util.find_spec("orbax") is None:
        raise ImportError(
            "Checkpoints need orbax-checkpoint, which is not installed "
            "(pip install 'snpjax[scale]')"
        )


def write_arrays(
    folder: Path, arrays: Mapping[str, Shaped[np.ndarray | jax.Array, "..."]]
) -> dict[str, tuple[list[int], str]]:
    """Write arrays to a new folder; of several processes each writes its parts.

    **Raises:** `OSError` if they cannot be written.
    """
    import orbax.checkpoint as ocp

    logging.getLogger("absl").setLevel(logging.ERROR)
    # Of nothing at all orbax writes nothing, and of an array without elements it refuses to.
    found = {"": np.zeros(1, np.int32), **{x: a for x, a in arrays.items() if a.size}}
    by_number = {f"{i}": x for i, x in enumerate(found.values())}
    checkpointer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler())
    try:
        checkpointer.save(folder, args=ocp.args.PyTreeSave(by_number))
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise OSError(f"{error}".strip().splitlines()[0][:300]) from error
    finally:
        checkpointer.close()
    return {name: (list(x.shape), jnp.dtype(x.dtype).name) for name, x in arrays.items()}


def read_arrays(
    folder: Path, described: Described, like: Mapping[str, Any]
) -> dict[str, Shaped[np.ndarray | jax.Array, "..."]]:
    """The arrays of a folder as NumPy arrays; or, where `like` has a `jax.ShapeDtypeStruct` with a
    sharding, on devices, with that shape."""
    import orbax.checkpoint as ocp

    names = ["", *(name for name, (shape, _) in described.items() if 0 not in shape)]
    arguments = {f"{i}": _restoring(ocp, like.get(name)) for i, name in enumerate(names)}
    checkpointer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler())
    try:
        args = ocp.args.PyTreeRestore(restore_args=arguments)
        by_number = checkpointer.restore(folder, args=args)
    finally:
        checkpointer.close()
    found = {name: by_number[f"{i}"] for i, name in enumerate(names)}
    return {
        name: found[name] if name in found else np.zeros(shape, jnp.dtype(dtype))
        for name, (shape, dtype) in described.items()
    }


def _restoring(ocp: Any, like: Any) -> Any:
    if isinstance(like, jax.ShapeDtypeStruct) and like.sharding is not None:
        return ocp.ArrayRestoreArgs(sharding=like.sharding, global_shape=like.shape, strict=False)
    return ocp.RestoreArgs(restore_type=np.ndarray)
