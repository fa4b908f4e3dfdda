"""The machine of a system whose neurons are split over the devices of a mesh."""

from dataclasses import fields, replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from ...machine import Record
from ...scale.mesh import NEURONS, PATHS
from .program import SpikingProgram
from .step import AbstractSpikingMachine, SpikingState


class PartitionedMachine(AbstractSpikingMachine):
    """Of a system whose neurons are split over the axis `neurons` of `mesh`: device i of that axis
    has neurons i * n to (i + 1) * n - 1.

    Its methods are for `jax.shard_map` over `mesh`, with `check_vma=False` and the specifications
    that `split`, `split_state` and `split_record` give; there each device has the program and the
    state of its own neurons. Only `init` may be called elsewhere, too.

    Every array that is not the same on all devices has their parts one after another along its
    first axis.
    """

    program: SpikingProgram
    mesh: Mesh = eqx.field(static=True)

    def split(self) -> "PartitionedMachine":
        """How the arrays of the machine are split: a `PartitionSpec` for each."""
        of_neurons = replace(self, program=split_of(self.program))
        if PATHS not in self.mesh.axis_names:
            return of_neurons
        # What paths have of their own is the same for all neurons.
        return jax.tree.map(
            lambda x, spec, by: PartitionSpec(*[None] * (x.ndim - 1), PATHS) if by else spec,
            self,
            of_neurons,
            self.arrays_by_path(),
        )

    def split_state(self, state: SpikingState) -> SpikingState:
        """How those of a state are split; with the axis `paths`, if both have it."""
        paths = state.step.ndim * (PATHS if PATHS in self.mesh.axis_names else None,)
        of_path, own = PartitionSpec(*paths), PartitionSpec(NEURONS, *paths)
        split = jax.tree.map(lambda _: of_path, state)
        return replace(split, spikes=own, timers=own, pending=own)

    def nbytes_exchanged(self, paths: int = 1) -> dict[str, int]:
        """The bytes of emissions that every device has received after a step, its own among them:
        as a `"table"` of all neurons and as a `"list"` of those that fire. Lists are exchanged only
        where that saves much, and few fire. Besides, there are a few bytes for each path."""
        exchange = self.program.exchange
        assert exchange is not None
        return exchange.nbytes(self.program.num_neurons // exchange.num_parts * paths, paths)

    def placed_init(self) -> SpikingState:
        """The initial state, split over the devices."""
        split = self.split_state(jax.eval_shape(self.init))
        own = jax.tree.map(lambda spec: NamedSharding(self.mesh, spec), split)
        return jax.jit(lambda machine: machine.init(), out_shardings=own)(self)

    def paths_of(self, state: SpikingState) -> tuple[int, ...]:
        return np.shape(state.step)

    def split_record(self, record: Record) -> Any:
        """How those of the record of a step are split: outputs are the same on all devices, and
        details are those of the own neurons."""
        paths = record.made.ndim * (PATHS if PATHS in self.mesh.axis_names else None,)
        of_detail = jax.tree.map(lambda _: PartitionSpec(NEURONS, *paths), record.detail)
        split: Any = (PartitionSpec(None, *paths), of_detail, PartitionSpec(*paths))
        return Record(*split)


#: What of a program all devices share; the tables of rules too where neurons have types.
_SHARED = ("outputs", "trains", "horizon")
_BY_TYPE = ("low", "high", "period", "consume", "produce", "delay", "number", "kept")


def split_of(program: SpikingProgram) -> SpikingProgram:
    """How the arrays of a partitioned program are split over neurons."""
    shared = _SHARED if program.type_of is None else (*_SHARED, *_BY_TYPE)

    def spec(is_shared: bool, x: jax.Array) -> PartitionSpec:
        return PartitionSpec() if is_shared or x.ndim == 0 else PartitionSpec(NEURONS)

    changes: dict[str, PyTree] = {
        field.name: jax.tree.map(lambda x, f=field: spec(f.name in shared, x), of)
        for field in fields(program)
        if not field.metadata.get("static", False)
        if (of := getattr(program, field.name)) is not None
    }
    return replace(program, **changes)
