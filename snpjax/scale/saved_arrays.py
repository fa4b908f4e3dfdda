"""Arrays on disk, split over devices or not, by orbax."""

import contextlib
import importlib.util
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.tree_util as jtu
import numpy as np
from jaxtyping import PyTree, Shaped

from .._text.optional import installing
from .digest import is_key


T = TypeVar("T", bound=PyTree)

#: Shape and dtype of each array, by its name.
Described = Mapping[str, tuple[list[int], str]]


def check_installed() -> None:
    """**Raises:** `ImportError` with how to install orbax."""
    if importlib.util.find_spec("orbax") is None:
        raise ImportError(
            f"Checkpoints need orbax-checkpoint, which is not installed ({installing('scale')})"
        )


def named(tree: PyTree) -> dict[str, Any]:
    """The leaves of a tree by their places in it."""
    paths, _ = jtu.tree_flatten_with_path(tree)
    return {jtu.keystr(path, simple=True, separator=".") or "value": x for path, x in paths}


def named_arrays(tree: PyTree) -> dict[str, Any]:
    """The arrays of a tree by their places in it, on the host if this process has all of them.
    Those of JAX are copied: on a CPU they would be views of memory that a donated buffer gives
    away."""
    found = {name: jr.key_data(x) if is_key(x) else x for name, x in named(tree).items()}
    own = {
        name: x
        for name, x in found.items()
        if not isinstance(x, jax.Array) or x.is_fully_addressable
    }
    for name, host in jax.device_get(own).items():
        is_copied = isinstance(own[name], jax.Array)
        found[name] = np.array(host) if is_copied else np.asarray(host)
    return found


def in_structure(like: T, arrays: Mapping[str, Any]) -> T:
    """A tree like that one, of arrays by their places in it."""
    leaves = [
        jr.wrap_key_data(arrays[name], impl=jr.key_impl(x)) if is_key(x) else arrays[name]
        for name, x in named(like).items()
    ]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def write_arrays(
    folder: Path, arrays: Mapping[str, Shaped[np.ndarray | jax.Array, "..."]]
) -> dict[str, tuple[list[int], str]]:
    """Write arrays to a new folder; of several processes each writes its parts.

    **Raises:** `OSError` if they cannot be written.
    """
    import orbax.checkpoint as ocp

    # Of nothing at all orbax writes nothing, and of an array without elements it refuses to.
    found = {"": np.zeros(1, np.int32), **{x: a for x, a in arrays.items() if a.size}}
    by_number = {f"{i}": x for i, x in enumerate(found.values())}
    try:
        with _checkpointer(ocp) as checkpointer:
            checkpointer.save(folder, args=ocp.args.PyTreeSave(by_number))
    except Exception as error:
        raise OSError(f"{error}".strip().splitlines()[0][:300]) from error
    return {name: (list(x.shape), jnp.dtype(x.dtype).name) for name, x in arrays.items()}


def read_arrays(
    folder: Path, described: Described, like: Mapping[str, Any]
) -> dict[str, Shaped[np.ndarray | jax.Array, "..."]]:
    """The arrays of a folder as NumPy arrays; or, where `like` has a `jax.ShapeDtypeStruct` with a
    sharding, on devices, with that shape."""
    import orbax.checkpoint as ocp

    names = ["", *(name for name, (shape, _) in described.items() if 0 not in shape)]
    arguments = {f"{i}": _restoring(ocp, like.get(name)) for i, name in enumerate(names)}
    with _checkpointer(ocp) as checkpointer:
        args = ocp.args.PyTreeRestore(restore_args=arguments)
        by_number = checkpointer.restore(folder, args=args)
    found = {name: by_number[f"{i}"] for i, name in enumerate(names)}
    return {
        name: found[name] if name in found else np.zeros(shape, jnp.dtype(dtype))
        for name, (shape, dtype) in described.items()
    }


@contextlib.contextmanager
def _checkpointer(ocp: Any) -> Iterator[Any]:
    # With processes named, they wait for each other without their devices, which are at work.
    processes = set(range(jax.process_count())) if jax.process_count() > 1 else None
    options = ocp.options.MultiprocessingOptions(active_processes=processes)
    handler = ocp.PyTreeCheckpointHandler(multiprocessing_options=options)
    checkpointer = ocp.Checkpointer(handler, multiprocessing_options=options)
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # what fails is raised, too
    try:
        yield checkpointer
    finally:
        logger.setLevel(level)
        checkpointer.close()


def _restoring(ocp: Any, like: Any) -> Any:
    if isinstance(like, jax.ShapeDtypeStruct) and like.sharding is not None:
        return ocp.ArrayRestoreArgs(sharding=like.sharding, global_shape=like.shape, strict=False)
    return ocp.RestoreArgs(restore_type=np.ndarray)
