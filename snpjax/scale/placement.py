"""Where the arrays of a run are on a mesh: split by paths, and by neurons where a machine is."""

from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import PyTree

from ..machine import AnyMachine, Partitioned, follows
from .mesh import NEURONS, PATHS, placed
from .paths import by_path, local_numbers, local_parts, shardings, split_machine, whole


T = TypeVar("T", bound=PyTree)


@dataclass(frozen=True)
class Placement:
    """The placement of the runs of a machine."""

    mesh: Mesh

    @property
    def shares(self) -> int:
        """Into how many shares paths are split."""
        return self.mesh.shape.get(PATHS, 1)

    @property
    def each(self) -> PartitionSpec:
        """How what has an entry for each path, or each share, is split."""
        return PartitionSpec(PATHS) if PATHS in self.mesh.axis_names else PartitionSpec()

    @property
    def stacked(self) -> PartitionSpec:
        """How what each device has is stacked."""
        return PartitionSpec(tuple(x for x in (PATHS, NEURONS) if x in self.mesh.axis_names))

    def of_machine(self, machine: AnyMachine) -> PyTree[PartitionSpec]:
        return machine.split() if follows(machine, Partitioned) else split_machine(machine)

    def of_state(self, machine: AnyMachine, state: PyTree) -> PyTree[PartitionSpec]:
        return machine.split_state(state) if follows(machine, Partitioned) else by_path(state)

    def placed_machine(self, machine: AnyMachine) -> Any:
        return placed(machine, shardings(self.mesh, self.of_machine(machine)))

    def placed_state(self, machine: AnyMachine, state: T) -> T:
        return placed(state, shardings(self.mesh, self.of_state(machine, state)))

    def numbers(self, machine: AnyMachine) -> list[int]:
        """The shares of which this process has the results: its own. Where neurons are split they
        are gathered, and it has all."""
        if follows(machine, Partitioned):
            return list(range(self.shares))
        return local_numbers(self.mesh)

    def stacks(self, machine: AnyMachine, results: T) -> list[list[T]]:
        """What was stacked, on the host: for each of those shares, of each part of the neurons."""
        if not follows(machine, Partitioned):
            return [[_first(part)] for part in local_parts(results, 0)]
        every = whole(results)
        num = self.mesh.size // self.shares

        def part(at: int) -> T:
            return jax.tree.map(lambda x: x[at], every)

        return [[part(i * num + j) for j in range(num)] for i in range(self.shares)]

    def starts(self, machine: AnyMachine, start: T) -> list[T]:
        """The states of each of those shares at the beginning."""
        if not follows(machine, Partitioned):
            return local_parts(start, -1)
        every = whole(start)
        if machine.paths_of(start) == ():
            return [every]
        return [
            jax.tree.map(lambda x, i=i: np.split(x, self.shares, axis=-1)[i], every)
            for i in range(self.shares)
        ]


def _first(part: T) -> T:
    return jax.tree.map(lambda x: np.asarray(x)[0], part)


def joined_states(machine: Partitioned, states: list[T], axis: int = 0) -> T:
    """Those of all parts of the neurons, from the first on, with `axis` axes before that."""
    split = machine.split_state(states[0] if axis == 0 else jax.tree.map(lambda x: x[0], states[0]))

    def joined(spec: PartitionSpec, *parts: np.ndarray) -> np.ndarray:
        is_split = len(spec) > 0 and spec[0] == NEURONS
        return np.concatenate(parts, axis=axis) if is_split else parts[0]

    return jax.tree.map(joined, split, *states)


def joined_details(details: list[T]) -> T:
    """Histories of all parts of the neurons, which are behind the steps."""
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *details)
