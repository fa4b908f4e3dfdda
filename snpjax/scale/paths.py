"""Arrays whose paths are split over the devices of a mesh."""

from collections.abc import Sequence
from typing import TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, PyTree

from ..machine import AnyMachine, arrays_by_path
from .mesh import PATHS


T = TypeVar("T", bound=PyTree)


def by_path(tree: PyTree) -> PyTree[PartitionSpec]:
    """How arrays are split whose last axis is `paths`."""
    return jax.tree.map(lambda x: PartitionSpec(*[None] * (np.ndim(x) - 1), PATHS), tree)


def split_machine(machine: AnyMachine) -> PyTree[PartitionSpec]:
    """How a machine is split over paths: most of its arrays are on all devices."""
    return jax.tree.map(
        lambda x, by: by_path(x) if by else PartitionSpec(), machine, arrays_by_path(machine)
    )


def shardings(mesh: Mesh, specs: PyTree[PartitionSpec]) -> PyTree[NamedSharding]:
    """The same for this mesh."""
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)


def local_parts(tree: T, axis: int) -> list[T]:
    """The parts of arrays that are split along this axis, of the devices of this process, in the
    order of the axis."""
    leaves, structure = jax.tree.flatten(tree)
    columns = [_parts(x, axis) for x in leaves]
    return [jax.tree.unflatten(structure, row) for row in zip(*columns, strict=True)]


def unstacked(tree: T) -> list[T]:
    """On the host, what the devices of this process have at their places of the first axis."""
    return [jax.tree.map(lambda x: np.asarray(x)[0], part) for part in local_parts(tree, 0)]


def _parts(x: Array, axis: int) -> list[Array]:
    axis %= x.ndim
    found = {shard.index[axis].start or 0: shard.data for shard in x.addressable_shards}
    return [found[start] for start in sorted(found)]


def local_numbers(mesh: Mesh) -> list[int]:
    """The places along the axis of paths of the devices of this process."""
    own = NamedSharding(mesh, PartitionSpec(PATHS))
    found = own.addressable_devices_indices_map((mesh.shape[PATHS],))
    return sorted({index[0].start or 0 for index in found.values() if index is not None})


def from_all(
    rows: Int[np.ndarray, "own columns"], numbers: Sequence[int], size: int
) -> Int[np.ndarray, "places columns"]:
    """A row of 32-bit numbers for each place along an axis, where this process has those with these
    numbers."""
    if jax.process_count() == 1:
        return rows
    from jax.experimental import multihost_utils  # takes long to import

    table = np.zeros((size, len(rows[0])), np.int32)
    table[list(numbers)] = rows
    # Each place is that of one process, or of several that agree.
    found = np.asarray(multihost_utils.process_allgather(table))
    return np.where(found.max(axis=0) > 0, found.max(axis=0), found.min(axis=0))


def whole(tree: PyTree) -> PyTree[np.ndarray]:
    """Arrays that are split over all devices, on the host of every process."""
    if jax.process_count() == 1:
        return jax.device_get(tree)
    from jax.experimental import multihost_utils  # takes long to import

    return multihost_utils.process_allgather(tree, tiled=True)
