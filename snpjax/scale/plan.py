"""What a call over a mesh will take, said before anything is put on a device."""

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.lax as lax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Num

from snpjax_formats.arguments import as_integer
from snpjax_formats.articles import kind_of

from .._text.counts import plural
from .._xla import on_host, precision_of, shard_map
from ..lowering import check_model, lower
from ..machine import AbstractMachine, Model, Partitionable, PartNeeds, follows
from ..trajectory import nbytes_of
from .mesh import NEURONS, PATHS, checked_mesh, size_of


# What is moved to measure how fast that is, bytes, and how often.
_MEASURED, _TIMES = 2**24, 8


@dataclass(frozen=True)
class Bandwidths:
    """Bytes a second: of what a device reads and writes, and of what it receives from others."""

    memory: float
    exchange: float


@dataclass(frozen=True)
class Plan:
    """What a run takes on each device of a mesh.

    - `machine_nbytes`: the bytes of the model's arrays.
    - `state_nbytes`: of the states of its paths, or neurons. A step needs about four times as
      much, and results are kept besides, see `Save`.
    - `exchanged`: bytes that a device receives in a step, by the way they travel: nothing of
      paths; of neurons all emissions as a `"table"`, or as a `"list"` where few fire, if that is
      worth it.
    - `seconds`: of a step, as far as it is bound by moving these bytes; kernels take a while to
      start besides.
    """

    devices: int
    machine_nbytes: int
    state_nbytes: int
    exchanged: dict[str, int]
    bandwidths: Bandwidths

    @property
    def nbytes(self) -> int:
        """Bytes of what stays on a device."""
        return self.machine_nbytes + self.state_nbytes

    @property
    def seconds(self) -> float:
        moved = self.machine_nbytes + 2 * self.state_nbytes
        exchanged = max(self.exchanged.values(), default=0)
        return moved / self.bandwidths.memory + exchanged / self.bandwidths.exchange

    def __str__(self) -> str:
        ways = [f"{n:,} bytes as a {way}" for way, n in self.exchanged.items()]
        return "\n".join(
            [
                f"{plural(self.devices, 'device')}, each with",
                f"  {self.machine_nbytes:,} bytes of the model",
                f"  {self.state_nbytes:,} bytes of states",
                f"  received in a step: {', or '.join(ways) or 'nothing'}",
                f"  {self.seconds:.2g} s a step to move them",
            ]
        )


def plan(
    model: Model[Any, Any],
    mesh: Mesh,
    /,
    *,
    paths: int | None = None,
    bandwidths: Bandwidths | None = None,
    **options: Any,
) -> Plan:
    """Estimate what `snpjax.run(model, mesh=mesh, paths=paths)` needs on each device.

    Nothing is put on a device. If neurons are split, no random graph is drawn and no synapse
    listed.

    **Arguments:**

    - `model`: a model, not lowered.
    - `mesh`: a mesh of devices with the axis `paths`, `neurons` or both.
    - `paths`: the number of paths; `None` for a single run.
    - `bandwidths`: those of the mesh; by default they are measured, once for each mesh.
    - `options`: those of `snpjax.lower`, but no `layout` if neurons are split: it is `ELL` then.

    **Returns:** a `Plan` with bytes and seconds.

    **Raises:** the errors of `snpjax.run`.
    """
    check_model(model)
    mesh = checked_mesh("plan", mesh, (PATHS, NEURONS))
    paths = None if paths is None else as_integer("paths", paths)
    shares = size_of(mesh, PATHS)
    share = 1 if paths is None else -(-paths // shares)
    if NEURONS in mesh.axis_names:
        if not follows(model, Partitionable):
            raise TypeError(
                f"The neurons of {kind_of(model)} cannot be split. Give a mesh whose only "
                "axis is `paths`."
            )
        needs = model.planned(size_of(mesh, NEURONS), paths=share, **options)
    else:
        with on_host():
            machine = lower(model, **options).machine
            assert isinstance(machine, AbstractMachine)
            with precision_of(machine):
                state = jax.eval_shape(lambda m: m.init(), machine)
        needs = PartNeeds(nbytes_of(machine), share * nbytes_of(state), {})
    found = bandwidths or measured(mesh)
    return Plan(mesh.size, *needs, found)


@lru_cache(maxsize=16)
def measured(mesh: Mesh) -> Bandwidths:
    """The bandwidths of a mesh, as programs of JAX reach them."""
    devices, axes = mesh.size, tuple(mesh.axis_names)
    split = PartitionSpec(axes)
    x = jax.make_array_from_callback(
        (devices * _MEASURED // 4,),
        NamedSharding(mesh, split),
        lambda index: np.zeros(_MEASURED // 4, np.int32),
    )

    def repeated(step: Any) -> float:
        def times(x: Num[Array, " own"]) -> Num[Array, " own"]:
            return lax.fori_loop(0, _TIMES, lambda i, x: step(x, i), x)

        call = jax.jit(shard_map(times, mesh=mesh, in_specs=split, out_specs=split))
        call(x).block_until_ready()
        began = time.perf_counter()
        call(x).block_until_ready()
        return (time.perf_counter() - began) / _TIMES

    def gathered(x: Num[Array, " own"], i: Any) -> Num[Array, " own"]:
        part = lax.dynamic_slice_in_dim(x, 0, len(x) // devices)
        return lax.all_gather(part + i, axes, tiled=True)[: len(x)]

    memory = 2 * _MEASURED / repeated(lambda x, i: x + i)
    return Bandwidths(memory, np.inf if devices == 1 else _MEASURED / repeated(gathered))
