"""Work that the devices of a mesh share, each by itself or all in step."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Int, PyTree

from .._xla import shard_map
from .hosts import check_agreement
from .mesh import PATHS, placement, replicated
from .paths import local_numbers


T = TypeVar("T", bound=PyTree)


@dataclass(frozen=True)
class Crew:
    """The devices that share some work.

    - `mesh`: those of this process; `places`: their numbers among all.
    - `size`: how many all processes have.
    """

    mesh: Mesh
    places: tuple[int, ...]
    size: int

    @staticmethod
    def of(mesh: Mesh) -> "Crew":
        """Those of a mesh whose one axis is `paths`."""
        places = tuple(local_numbers(mesh))
        return Crew(Mesh(mesh.devices[list(places)], (PATHS,)), places, mesh.size)

    def given(self, of_place: Callable[[int], T]) -> T:
        """`of_place(i)` for the device at place i, for each of this process: stacked."""
        own = [jax.tree.map(np.asarray, of_place(i)) for i in self.places]
        stacked = jax.tree.map(lambda *xs: np.stack(xs), *own)
        return jax.device_put(stacked, NamedSharding(self.mesh, PartitionSpec(PATHS)))


@contextlib.contextmanager
def spread(call: str, mesh: Mesh | None, **given: PyTree) -> Iterator[Crew | None]:
    """A context for a call, and the devices that share its work: `None` for a single one, where all
    runs that is called in the context. `given` is what must be the same in all processes."""
    mesh, device = placement(call, mesh, (PATHS,))
    with device:
        if mesh is not None:
            check_agreement(call, **given)
        yield None if mesh is None else Crew.of(mesh)


def on_each(function: Callable[..., Any], mesh: Mesh, own: Any, shared: Any = ()) -> Any:
    """`function(*own, *shared)` on each device, which takes its part of what is stacked in `own`,
    and all of `shared`. The results are stacked."""

    def of_device(own: Any, shared: Any) -> Any:
        found = function(*jax.tree.map(lambda x: x[0], own), *shared)
        return jax.tree.map(lambda x: x[None], found)

    split = PartitionSpec(PATHS)
    return shard_map(
        of_device,
        mesh=mesh,
        in_specs=(split, PartitionSpec()),
        out_specs=split,
    )(own, shared)


def on_all(tree: T, mesh: Mesh) -> T:
    """What every process has, with its arrays on every device."""
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(replicated(arrays, mesh), rest)


def alike(function: Callable[..., T], mesh: Mesh, *given: PyTree) -> T:
    """`function(*given)`, computed by all devices. It may share some of the work between them, by
    collectives over the axis of paths, as long as all come to the same."""
    arrays, rest = eqx.partition(given, eqx.is_array)
    every = PartitionSpec()
    return shard_map(
        lambda arrays: function(*eqx.combine(arrays, rest)),
        mesh=mesh,
        in_specs=every,
        out_specs=every,
    )(arrays)


def summed(x: Int[np.ndarray, " numbers"]) -> Int[np.ndarray, " numbers"]:
    """Sums over all processes of the 64-bit integers that each has."""
    if jax.process_count() == 1:
        return x
    from jax.experimental import multihost_utils  # takes long to import

    words = np.ascontiguousarray(x, np.int64).view(np.uint32)  # JAX may have 32 bits only
    found = np.ascontiguousarray(multihost_utils.process_allgather(words))
    return found.view(np.int64).sum(axis=0)
