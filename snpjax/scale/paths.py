"""Arrays whose paths are split over the devices of a mesh."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, PyTree, Shaped

from .._xla import fetched
from ..machine import AnyMachine, arrays_by_path
from ..trajectory import AbstractSavedRun
from .mesh import PATHS


T = TypeVar("T", bound=PyTree)
SavedT = TypeVar("SavedT", bound=AbstractSavedRun)


def by_path(tree: PyTree) -> PyTree[PartitionSpec]:
    """How arrays are split whose last axis is `paths`."""
    return jax.tree.map(lambda x: PartitionSpec(*[None] * (np.ndim(x) - 1), PATHS), tree)


def split_machine(machine: AnyMachine) -> PyTree[PartitionSpec]:
    """How a machine is split over paths: most of its arrays are on every device."""
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


def _parts(x: Array, axis: int) -> list[Array]:
    axis %= x.ndim
    found = {shard.index[axis].start or 0: shard.data for shard in x.addressable_shards}
    return [found[start] for start in sorted(found)]


def local_numbers(mesh: Mesh) -> list[int]:
    """The places along the axis of paths of the devices of this process."""
    if PATHS not in mesh.axis_names:
        return [0]
    own = NamedSharding(mesh, PartitionSpec(PATHS))
    found = own.addressable_devices_indices_map((mesh.shape[PATHS],))
    return sorted({index[0].start or 0 for index in found.values() if index is not None})


def from_all(
    rows: Int[np.ndarray, "own columns"],
    numbers: Sequence[int] | Int[np.ndarray, " own"],
    size: int,
) -> Int[np.ndarray, "places columns"]:
    """A row of flags or 32-bit numbers for each place along an axis, where this process has those
    with these numbers."""
    if jax.process_count() == 1:
        return rows
    from jax.experimental import multihost_utils  # takes long to import

    table = np.zeros((size, rows.shape[1]), np.int32)
    table[list(numbers)] = rows
    # Each place is that of one process, or of several that agree.
    found = np.asarray(multihost_utils.process_allgather(table))
    return np.where(found.max(axis=0) > 0, found.max(axis=0), found.min(axis=0))


def value_of_each(value: int) -> list[int]:
    """A number that each process has, below 2^31."""
    if jax.process_count() == 1:
        return [value]
    from jax.experimental import multihost_utils  # takes long to import

    return np.ravel(multihost_utils.process_allgather(np.asarray(value, np.int32))).tolist()


def whole(tree: PyTree) -> PyTree[np.ndarray]:
    """Arrays that are split over all devices, on the host of every process. What is on the host
    stays as it is."""
    if jax.process_count() == 1:
        return fetched(tree)
    from jax.experimental import multihost_utils  # takes long to import

    split, rest = eqx.partition(tree, lambda x: isinstance(x, jax.Array))
    return eqx.combine(multihost_utils.process_allgather(split, tiled=True), rest)


def gather(solutions: SavedT) -> SavedT:
    """Copy the paths of all processes to each of them.

    **Arguments:**

    - `solutions`: this process's part of a batch. Every process makes this call.

    **Returns:** all paths, in the order of their numbers. Histories are copied too, which may take
    much memory.
    """
    trajectory = solutions.trajectory
    if trajectory.numbers is None:
        return solutions
    from jax.experimental import multihost_utils  # takes long to import

    found = value_of_each(len(trajectory.numbers))
    most = max(found)

    def of_all(x: Shaped[np.ndarray, "*shape paths"]) -> Shaped[np.ndarray, "*shape paths"]:
        rows = np.ascontiguousarray(np.moveaxis(x, -1, 0))
        # As bytes: 64 bits would be cut where JAX does not allow them.
        own = rows.reshape(len(rows), -1).view(np.uint8)
        padded = np.zeros((most, own.shape[1]), np.uint8)
        padded[: len(own)] = own
        every = np.asarray(multihost_utils.process_allgather(padded))
        parts = [part[:num] for part, num in zip(every, found, strict=True)]
        joined = np.ascontiguousarray(np.concatenate(parts)).view(x.dtype)
        return np.moveaxis(joined.reshape(-1, *rows.shape[1:]), 0, -1)

    numbers = of_all(trajectory.numbers)
    # Several processes may have the same paths, if the mesh splits something else besides.
    _, first = np.unique(numbers, return_index=True)
    saved = replace(trajectory, numbers=None)
    parts = {
        name: jax.tree.map(lambda x: of_all(np.asarray(x))[..., first], getattr(saved, name))
        for name in ("final", "states", "outputs", "details", "steps", "result")
    }
    return replace(solutions, trajectory=replace(saved, **parts))
