"""Meshes of devices, given as `mesh=`: the names of their axes say what is split."""

import contextlib
from collections.abc import Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from .hosts import together


#: What an axis of a mesh may split, by its name.
PATHS, NEURONS, CONFIGURATIONS = "paths", "neurons", "configurations"

T = TypeVar("T", bound=PyTree)


def checked_mesh(call: str, mesh: object, takes: Sequence[str]) -> Mesh:
    """The mesh, with axes that are not part of the types of arrays.

    **Raises:** `TypeError` for what is not a mesh; `ValueError` for an axis that `call` does not
    take.
    """
    example = f'`jax.make_mesh(({jax.device_count()},), ("{takes[0]}",))`'
    if not isinstance(mesh, Mesh):
        raise TypeError(f"`mesh` is {mesh!r:.60}. Give a mesh of devices, such as {example}.")
    unknown = [str(name) for name in mesh.axis_names if name not in takes]
    if unknown:
        names = " and ".join(f"`{name}`" for name in takes)
        raise ValueError(
            f"`mesh` has the axis `{unknown[0]}`. The axes that `{call}` splits are {names}: "
            f"{example}."
        )
    missing = set(range(jax.process_count())) - {x.process_index for x in mesh.devices.flat}
    if missing:
        raise ValueError(
            f"`mesh` has no device of process {min(missing)}, which calls `{call}` as well. Make "
            "the mesh of devices of all processes, `jax.devices()`."
        )
    return Mesh(mesh.devices, mesh.axis_names)


def placement(
    call: str, mesh: Mesh | None, takes: Sequence[str]
) -> tuple[Mesh | None, contextlib.AbstractContextManager[None]]:
    """The mesh of a call, and a context for it, in which a lost process raises `ProcessLost`. A
    single device needs no mesh: what is called in the context runs there.

    **Raises:** what `checked_mesh` does.
    """
    if mesh is None:
        return None, contextlib.nullcontext()
    mesh = checked_mesh(call, mesh, takes)
    if mesh.size > 1:
        return mesh, together()
    device = mesh.devices.flat[0]
    usual = jax.config.jax_default_device or jax.local_devices()[0]  # pyright: ignore
    if device == usual:
        return None, contextlib.nullcontext()  # a context would compile programs once more
    return None, jax.default_device(device)


def size_of(mesh: Mesh | None, axis: str) -> int:
    """How many parts there are along an axis, which the mesh need not have."""
    return 1 if mesh is None else mesh.shape.get(axis, 1)


def replicated(tree: T, mesh: Mesh) -> T:
    """The arrays on every device."""
    return placed(tree, jax.tree.map(lambda _: NamedSharding(mesh, PartitionSpec()), tree))


def placed(tree: T, shardings: PyTree[NamedSharding]) -> T:
    """Arrays that every process has, where their shardings say. A device receives only its part."""
    if jax.process_count() == 1:
        return jax.device_put(tree, shardings)
    return jax.tree.map(_placed, tree, shardings)


def _placed(x: Any, sharding: NamedSharding) -> jax.Array:
    if isinstance(x, jax.Array):
        if x.sharding == sharding:
            return x
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            words = _placed(jr.key_data(x), sharding)
            return jr.wrap_key_data(words, impl=jr.key_impl(x))
    host = np.asarray(x)
    return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])
