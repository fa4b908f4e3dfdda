"""Runs of many paths of which only sums are kept: chunk by chunk, in the memory of one."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree

from snpjax_formats import free_bytes

from .._xla import shard_map
from ..choice import AbstractChoice
from ..driver import Driver, Tile, most_in_tile, paths_of
from ..machine import (
    AbstractMachine,
    Growable,
    Partitioned,
    Record,
    Stacked,
    arrays_by_path,
    follows,
)
from ..results import HALTED, RESULTS
from ..simulate import result_of
from ..trajectory import SAVE_FINAL, nbytes_of
from .paths import whole
from .placement import Placement
from .statistics import BLOCK, AbstractStatistic, Bin, PathEnd, Summary, Sums, block_sums


V = TypeVar("V")

# Paths of a device that run at a time, unless its caches or its memory hold fewer.
_MOST_PATHS = 2**20
# As many arrays as a state are about alive while a step is made.
_ARRAYS = 16


class ObservedState(NamedTuple):
    """A state, and what a statistic carries along with it."""

    state: PyTree
    carry: PyTree


class ObservedMachine(AbstractMachine):
    """A machine whose steps are observed by a statistic."""

    machine: AbstractMachine
    statistic: AbstractStatistic

    def begun(self, state: PyTree) -> ObservedState:
        return ObservedState(state, self.statistic.begin(state))

    def init(self) -> ObservedState:
        return self.begun(self.machine.init())

    def step(self, state: ObservedState, choice: AbstractChoice) -> tuple[ObservedState, Record]:
        new, record = self.machine.step(state.state, choice)
        carry = self.statistic.update(state.carry, new, record)
        carry = jax.tree.map(lambda x, y: jnp.where(record.made, x, y), carry, state.carry)
        return ObservedState(new, carry), record

    def halted(self, state: ObservedState) -> Bool[Array, "*paths"]:
        return self.machine.halted(state.state)

    def status(self, state: ObservedState) -> Any:
        return self.machine.status(state.state)

    def arrays_by_path(self) -> PyTree[bool]:
        nothing = super().arrays_by_path()
        return eqx.tree_at(lambda m: m.machine, nothing, self.machine.arrays_by_path())


class ObservedGrowable(ObservedMachine):
    """The same of a machine that can be given more room."""

    def is_full(self, state: ObservedState) -> Bool[Array, "*paths"]:
        assert follows(self.machine, Growable)
        return self.machine.is_full(state.state)

    def refused(self, state: ObservedState, failed: ObservedState) -> ObservedState:
        assert follows(self.machine, Growable)
        return ObservedState(self.machine.refused(state.state, failed.state), state.carry)

    def grown(self, state: ObservedState) -> "tuple[ObservedGrowable, ObservedState]":
        assert follows(self.machine, Growable)
        machine, own = self.machine.grown(state.state)
        return ObservedGrowable(machine, self.statistic), ObservedState(own, state.carry)


def observe(
    driver: Driver,
    statistic: AbstractStatistic[V],
    start: PyTree,
    paths: int,
    *,
    chunk: int | None = None,
) -> Summary[V]:
    """Run the paths of a driver and sum up what a statistic makes of each. A device advances at
    most `chunk` paths at a time, a power of two; by default as many as suit it."""
    machine = driver.machine
    if isinstance(machine, Stacked):
        raise ValueError(
            "`observe` sums over the paths of one system. Run a `SystemBatch` without it, and read "
            "the solutions."
        )
    if follows(machine, Partitioned):
        raise ValueError(
            "`observe` sees all neurons of a path. Give a mesh without the axis `neurons`."
        )
    kind = ObservedGrowable if follows(machine, Growable) else ObservedMachine
    observed = kind(machine, statistic)
    start = _begun(observed, start)
    devices = 1 if driver.placement is None else driver.placement.shares
    share = chunk or _share(observed, start, paths, devices)
    block = min(share, BLOCK)
    sums, first_failure = Sums(block), None
    for first in range(0, paths, devices * share):
        num = min(devices * share, paths - first)
        own, state = _of_paths(observed, start, slice(first, first + num))
        one = replace(driver, machine=own, save=SAVE_FINAL, lean=True)
        tile = one.run_tile(state, first, num, share, [], lambda now: None)
        found, failed_at, codes = whole(_summed(tile, block, driver.placement))
        sums.add(jax.tree.map(lambda x: np.moveaxis(x, 0, -1), found))
        at = np.flatnonzero(failed_at < share)
        if first_failure is None and len(at):
            first_failure = first + share * at[0] + failed_at[at[0]], codes[at[0]]
    total, steps, ends = sums.total()
    failure, result = None, RESULTS.halted if ends[HALTED] == paths else RESULTS.max_steps_reached
    ordinary = ends[HALTED] + ends[_LIMIT]
    if first_failure is not None:
        path, code = first_failure
        result = next(x for x in _ALL if int(x._value) == code)
        failure = f"path {path}: {RESULTS[result]}"
    return Summary(
        statistic.result(total),
        paths,
        int(ends[HALTED]),
        int(paths - ordinary),
        int(steps),
        result,
        failure,
    )


_ALL = [getattr(RESULTS, name) for name in RESULTS._name_to_item]
_LIMIT = int(RESULTS.max_steps_reached._value)


def _share(machine: ObservedMachine, start: ObservedState, paths: int, devices: int) -> int:
    """How many paths a device advances at a time."""
    shape = paths_of(machine, start)
    most = most_in_tile(machine, start)
    if most is None:
        row = max(nbytes_of(start) // (shape[0] if shape else 1), 1)
        free = free_bytes()
        most = _MOST_PATHS if free is None else min(_MOST_PATHS, free // (_ARRAYS * row))
    wanted = 1 << (-(-paths // devices) - 1).bit_length()
    return min(1 << max(most, 1).bit_length() - 1, wanted)


@jax.jit
def _begun(machine: ObservedMachine, state: PyTree) -> ObservedState:
    return machine.begun(state)


def _of_paths(
    machine: ObservedMachine, start: ObservedState, some: slice
) -> tuple[ObservedMachine, ObservedState]:
    """What is of these paths, where there is something of its own for each path."""
    by = arrays_by_path(machine)
    machine = jax.tree.map(lambda x, by: x[..., some] if by else x, machine, by)
    if paths_of(machine, start):
        start = jax.tree.map(lambda x: x[..., some], start)
    return machine, start


def _summed(tile: Tile, block: int, place: Placement | None) -> Any:
    given = tile.machine, tile.state, tile.steps, tile.counts
    if place is None:
        return _sums(*given, block=block)
    return _sums_on_devices(*given, block=block, place=place)


def _sums_of_device(
    machine: ObservedMachine,
    observed: ObservedState,
    steps: Int[Array, " paths"],
    counts: Int[Array, " one"],
    *,
    block: int,
) -> tuple[PyTree, Int[Array, " one"], Int[Array, " one"]]:
    """The sums of blocks, which come first; and the first path that failed, or the number of all,
    and its result."""
    values = machine.statistic.of_path(PathEnd(observed.state, steps, observed.carry))
    result = result_of(machine, observed)._value
    number = jnp.arange(len(steps), dtype=jnp.int32)
    is_own = number < counts
    found = block_sums((values, steps, Bin(result, len(_ALL))), is_own, block)
    is_failed = is_own & (machine.status(observed) != RESULTS.halted)
    first = jnp.min(jnp.where(is_failed, number, len(steps)), keepdims=True)
    code = result.at[first].get(mode="clip")
    return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), found), first, code


_sums = jax.jit(_sums_of_device, static_argnames="block")


@partial(jax.jit, static_argnames=("block", "place"))
def _sums_on_devices(
    machine: ObservedMachine,
    observed: ObservedState,
    steps: Int[Array, " paths"],
    counts: Int[Array, " devices"],
    *,
    block: int,
    place: Placement,
) -> tuple[PyTree, Int[Array, " devices"], Int[Array, " devices"]]:
    return shard_map(
        partial(_sums_of_device, block=block),
        mesh=place.mesh,
        in_specs=(place.of_machine(machine), place.of_state(machine, observed), *[place.each] * 2),
        out_specs=place.each,
    )(machine, observed, steps, counts)
