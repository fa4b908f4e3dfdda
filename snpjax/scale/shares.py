"""Work that the devices of a mesh share without a word between them: each process drives its own
devices, and what they find is added in the end."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Int, PyTree

from .hosts import check_agreement, together
from .mesh import PATHS, placement
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

    @property
    def devices(self) -> list[jax.Device]:
        return list(self.mesh.devices)

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
    with device, together():
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
    return jax.shard_map(
        of_device,
        mesh=mesh,
        in_specs=(split, PartitionSpec()),
        out_specs=split,
        check_vma=False,  # the branches of a `cond` may differ in it
    )(own, shared)


def summed(x: Int[np.ndarray, " numbers"]) -> Int[np.ndarray, " numbers"]:
    """Sums over all processes of the 64-bit integers that each has."""
    if jax.process_count() == 1:
        return x
    from jax.experimental import multihost_utils  # takes long to import

    words = np.ascontiguousarray(x, np.int64).view(np.uint32)  # JAX may have 32 bits only
    found = np.ascontiguousarray(multihost_utils.process_allgather(words))
    return found.view(np.int64).sum(axis=0)
