"""Runs of many paths of which only sums are kept: chunk by chunk, in the memory of one."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree

from .._xla import shard_map
from ..advance import paths_of
from ..choice import AbstractChoice
from ..driver import Driver, most_in_tile
from ..footprint import check_run, first_call, taken
from ..machine import (
    AbstractMachine,
    Growable,
    Partitioned,
    Record,
    Stacked,
    arrays_by_path,
    follows,
)
from ..memory import ALLOCATION_ERRORS, is_of_memory
from ..results import HALTED, RESULTS
from ..simulate import result_of
from ..tile import Standing, Tile, kept
from ..trajectory import SAVE_FINAL, nbytes_of, own_paths
from .checkpoint import Checkpoints, Restored
from .paths import whole
from .placement import Placement
from .statistics import BLOCK, AbstractStatistic, Bin, PathEnd, Summary, Sums, block_sums


V = TypeVar("V")

# Paths of a device that run at a time, unless its caches or its memory hold fewer.
_MOST_PATHS = 2**20


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

    def kept(self, state: ObservedState) -> ObservedState:
        return ObservedState(kept(self.machine, state.state), state.carry)

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
    place, checkpoints = driver.placement, driver.checkpoints or Checkpoints()
    devices = 1 if place is None else place.shares
    driver = replace(driver, machine=observed, save=SAVE_FINAL, lean=True, resume=_resuming(driver))
    share = chunk or _share(driver, start, paths, devices)
    block = min(share, BLOCK)
    first, first_failure = 0, None
    standing, sums, is_short = None, Sums(block), False
    if checkpoints.restored is not None:
        standing, sums = _restored(checkpoints.restored, observed, start)
        first, first_failure, block = (checkpoints.restored.note[x] for x in _NOTED)
        share = max(share, block)

    def tell(done: int, now: int) -> None:
        if driver.progress is not None:
            driver.progress(now, done)

    def save(tile: Tile | None = None, *, is_last: bool = False) -> None:
        keep = checkpoints.finish if is_last else checkpoints.save
        at = None if tile is None else {"paths": tile.paths, "made": tile.now}
        state = {} if tile is None else tile.saved()
        noted = dict(zip(_NOTED, (first, first_failure, block), strict=True))
        keep({"sums": sums.saved(), "tile": state}, tile=at, has_sums=sums.has_some, **noted)

    def at_boundary(tile: Tile | None = None) -> None:
        if (tile is None or tile.is_even) and checkpoints.is_due():
            save(tile)

    while first < paths:
        num, own_share = min(devices * share, paths - first), share
        if standing is not None:
            num = standing.paths or 1
            own_share = block * -(-num // (devices * block))
        own, state = _of_paths(observed, start, slice(first, first + num))
        one = replace(driver, machine=own)
        try:
            tile = Tile(one, state, first, num, own_share, [], standing)
            one.run_tile(tile, partial(tell, first), at_boundary)
            found, failed_at, codes = whole(_summed(tile, block, place))
        except ALLOCATION_ERRORS as error:
            if not is_of_memory(error) or jax.process_count() > 1:
                raise
            is_short = True
            if not first:
                sums.add(_no_sums(one, state, num, block))
            break
        standing = None
        sums.add(jax.tree.map(lambda x, n=num: np.moveaxis(x, 0, -1)[..., : -(-n // block)], found))
        at = np.flatnonzero(failed_at < own_share)
        if first_failure is None and len(at):
            shard = int(at[0])
            path = first + own_share * shard + int(failed_at[shard])
            first_failure = path, int(codes[shard])
        first += num
        at_boundary()
    if not is_short:  # else the last checkpoint is where the same call may continue
        save(is_last=True)
    total, steps, ends = sums.total()
    failure, result = None, RESULTS.halted if ends[HALTED] == first else RESULTS.max_steps_reached
    ordinary = ends[HALTED] + ends[_LIMIT]
    if is_short:
        result = RESULTS.out_of_memory
        failure = f"after {first:,} of {paths:,} paths: {RESULTS[result]}"
    if first_failure is not None:
        path, code = first_failure
        result = next(x for x in _ALL if int(x._value) == code)
        failure = f"path {path}: {RESULTS[result]}"
    return Summary(
        statistic.result(total),
        first,
        int(ends[HALTED]),
        int(first - ordinary),
        int(steps),
        result,
        failure,
    )


#: What a checkpoint says of the sums.
_NOTED = ("first", "failure", "block")


def _restored(
    restored: Restored, machine: ObservedMachine, start: ObservedState
) -> tuple[Standing | None, Sums]:
    """Where paths are that continue, and the sums over those before."""
    note, at = restored.note, restored.note["tile"]
    tile = {} if at is None else {"state": kept(machine, start), "steps": 0}
    like = _sums_like(machine, start) if note["has_sums"] else None
    found = restored.state({"sums": (like, like), "tile": tile})
    sums = Sums(note["block"])
    if note["has_sums"]:
        sums.restore(*found["sums"])
    if at is None:
        return None, sums
    num, tile = at["paths"], found["tile"]
    state, steps = jax.tree.map(lambda x: own_paths(x, num), (tile["state"], tile["steps"]))
    return Standing(note["first"], num, at["made"], state, steps, lambda *_: []), sums


def _resuming(driver: Driver) -> Callable[..., tuple[ObservedMachine, ObservedState]]:
    """The same as `driver.resume`, of machines that are observed."""

    def resume(machine: Any, state: Any) -> tuple[ObservedMachine, ObservedState]:
        assert driver.resume is not None
        own, inner = driver.resume(machine.machine, state.state)
        return replace(machine, machine=own), ObservedState(inner, state.carry)

    return resume


_ALL = [getattr(RESULTS, name) for name in RESULTS._name_to_item]
_LIMIT = int(RESULTS.max_steps_reached._value)


def _share(driver: Driver, start: ObservedState, paths: int, devices: int) -> int:
    """How many paths a device advances at a time: where its caches do not say so, as many as fit
    in half of its memory.

    **Raises:** `NotEnoughMemory` if not one does.
    """
    most = most_in_tile(driver.machine, start) or _MOST_PATHS
    share = min(1 << most.bit_length() - 1, 1 << (-(-paths // devices) - 1).bit_length())
    if not driver.is_small(nbytes_of(start), devices * share):
        while share > 1 and taken(driver, start, devices * share) > 0.5:
            share //= 2
        check_run(driver, start, devices * share, tiled=False)
    return share


def _no_sums(driver: Driver, start: PyTree, paths: int, block: int) -> PyTree[np.ndarray]:
    """The sums of no blocks."""
    state, steps, _ = first_call(driver, start, paths, tiled=False).begun
    found, _, _ = jax.eval_shape(
        partial(_sums_of_device, block=block), driver.machine, state, steps, np.zeros(1, np.int32)
    )
    return jax.tree.map(lambda x: np.zeros((*x.shape[1:], 0), x.dtype), found)


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


def _sums_like(machine: ObservedMachine, start: ObservedState) -> PyTree:
    """The sums as a tree without numbers."""
    shape = paths_of(machine, start) or (1,)
    state = start
    if not paths_of(machine, start):
        state = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape, 1), x.dtype), start)
    steps, counts = (jax.ShapeDtypeStruct(size, np.int32) for size in (shape, (1,)))
    given = machine, state, steps, counts
    return jax.eval_shape(partial(_sums_of_device, block=1), *given)[0]


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
