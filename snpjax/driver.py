"""The driver: runs a machine chunk by chunk until it halts, and moves its history to the host."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Int, PyTree, UInt32

from snpjax_formats import bucket

from ._tiered import tiered
from ._xla import Parcel, shard_map
from .choice import AbstractChoice
from .machine import (
    AnyMachine,
    Growable,
    Leaping,
    Partitioned,
    Presents,
    Record,
    Settled,
    Stacked,
    Striding,
    arrays_by_path,
    follows,
    over_paths,
)
from .results import RESULTS
from .scale.mesh import replicated
from .scale.paths import from_all, shardings, value_of_each
from .scale.placement import Placement, joined_details, joined_states
from .simulate import Progress, advancing, looped, result_of, step_of
from .trajectory import Flat, History, Save, Trajectory, beside, nbytes_of, own_paths


# Rows of history kept on the device before they are moved to the host: at most this many, and at
# most these bytes.
_MAX_CHUNK_ROWS = 4096
_MAX_CHUNK_BYTES = 64 * 2**20

# One call to the device should last about this long, so that progress is shown and Ctrl-C is
# answered.
_SECONDS_PER_CALL = 0.5
_FIRST_CALL_STEPS = 1024
_FIRST_LEAP_STEPS = 2**16  # of all paths together

# Check whether a machine has settled each time the number of steps has doubled, if the remaining
# steps may take longer than it takes to compile another machine.
_FIRST_SETTLING_STEPS, _SETTLING_SECONDS = 32, 2.0
# Steps of a growing machine whose state has more bytes, or of a settled one, take so long that they
# are compiled at once.
_MOST_EVALUATED = 2**18

# Steps per loop iteration on a GPU by the bytes of the state. The predicate of a while loop is read
# back on the host there, 25 us an iteration against 8 for a small step (H200, jax 0.11.2); where
# steps take long, those after the halt would cost more. On CPUs there is nothing to hide.
_UNROLL = ((2**22, 32), (2**25, 16), (2**28, 4))

# The least step between numbers of paths that have programs of their own.
_LEAST_PATHS = 8
_STEPS_PER_OCTAVE = 64

# On CPUs the states of the paths that run at a time take at most this many bytes, unless that would
# be fewer paths than fill the lanes of a processor.
_TILE_BYTES = 2**21
_LEAST_TILE, _MOST_IN_TILE = 128, 4096


@dataclass(frozen=True)
class Driver:
    """How a machine is to be run: the arguments of `snpjax.run`."""

    machine: AnyMachine
    choice: AbstractChoice
    max_steps: int
    save: Save
    grow: bool
    unroll: int | None
    progress: Callable[[int], None] | None
    settled: Callable[[AnyMachine, PyTree, AbstractChoice], Settled | None] | None = None
    placement: Placement | None = None
    lean: bool = False  # how paths end is left on the devices

    def run(self, start: PyTree, paths: int | None, *, tiled: bool) -> Trajectory:
        """The run of one path, `None`, or of many, from their states at the beginning or from one
        that all share. With `tiled`, only as many run at a time as fit in the caches."""
        devices = 1 if self.placement is None else self.placement.shares
        tile = most_in_tile(self.machine, start) if tiled and paths else None
        if paths is None or tile is None or paths <= devices * tile:
            share = None if paths is None else _padded_paths(-(-paths // devices))
            tiles = [(start, 0, paths)]
        else:
            share, tiles = tile, []
            has_paths = paths_of(self.machine, start) != ()
            for first in range(0, paths, devices * tile):
                num = min(devices * tile, paths - first)
                own = start
                if has_paths:
                    own = jax.tree.map(lambda x, at=first, n=num: x[..., at : at + n], start)
                tiles.append((own, first, num))
        if self.placement is None and isinstance(self.machine, Stacked):
            share = None  # machines are padded for a mesh only
        made = 0  # the steps of the longest tile up to now

        def tell(now: int) -> None:
            nonlocal made
            made = max(made, now)
            if self.progress is not None:
                self.progress(made)

        shards: list[_Shard] = []
        histories: list[History] = []
        for own, first, num in tiles:
            shards += self.run_tile(own, first, num, share, histories, tell).shards
        ended = [shard.ended for shard in shards]
        longest = [int(one.steps.max(initial=0)) for one in ended]
        length = max(longest)
        if self.placement is not None:
            length = max(value_of_each(length))
        finished = [
            history.finish(one.initial, one.state, made, length)
            for history, one, made in zip(histories, ended, longest, strict=True)
        ]
        states, outputs, details = beside(finished)
        state, steps, result = beside([one[1:] for one in ended])
        saved, steps = histories[-1].wanted, np.asarray(steps)
        numbers = None
        if self.placement is not None and len(shards) < devices * len(tiles):
            numbers = np.concatenate([shard.numbers for shard in shards])
        return Trajectory(state, states, outputs, details, saved, steps, result, numbers)

    def run_tile(
        self,
        start: PyTree,
        first: int,
        paths: int | None,
        share: int | None,
        histories: list[History],
        tell: Callable[[int], None],
    ) -> "Tile":
        """Advance some paths, numbered from `first` on, chunk by chunk, moving histories to the
        host after each. A device has a `share` of them, the last ones less."""
        machine: AnyMachine = self.machine
        place, max_steps = self.placement, self.max_steps
        grow = self.grow and follows(self.machine, Growable)
        devices = 1 if place is None else place.shares
        counts: list[int | None] = [paths]
        path, steps, own = None, None, None
        if share is not None:
            counts = [min(max((paths or 1) - i * share, 0), share) for i in range(devices)]
            own = np.asarray(counts, np.int32)
            if place is None:
                start, path, steps = _spread(machine, start, np.uint32(first), paths=share)
            else:
                machine, start, path, steps = _spread_over(
                    place, machine, start, np.uint32(first), devices * share
                )
        elif isinstance(machine, Stacked):
            path = jnp.arange(machine.num_paths, dtype=np.uint32)
            steps = jnp.zeros(path.shape, np.int32)
        elif place is not None:
            start = place.placed_state(machine, start)
        # A single path is run by all shares alike.
        numbers = [0] if place is None or share is None else place.numbers(machine)
        wanted = histories[-1].wanted if histories else self.save
        shards = []
        for number in numbers:
            histories.append(History(wanted, counts[number], histories))
            shards.append(_Shard(histories[-1], counts[number], first + number * (share or 0)))
        history = shards[-1].history  # what is wanted is the same for all
        state = start
        # A step that may grow is long, and each copy of it takes seconds to compile.
        unroll = self.unroll or (1 if grow else _unroll(start, devices))
        longest = 1
        if history.wanted.keeps_history:
            longest = min(bucket(max_steps, at_least=64), _MAX_CHUNK_ROWS)
        presents: Presents | None = None
        settled = self.settled if paths is None and follows(self.machine, Growable) else None
        is_first, seconds_left = True, np.inf  # as far as is known
        steps_per_call = _FIRST_CALL_STEPS
        if follows(self.machine, Leaping):
            steps_per_call = max(steps_per_call, _FIRST_LEAP_STEPS // (paths or 1))
        now, made, goes_on = 0, np.zeros(devices, np.int32), np.ones(devices, bool)
        while True:
            if settled is not None and seconds_left > _SETTLING_SECONDS:
                found = settled(machine, state, self.choice)
                if found is not None:
                    machine, state, presents = found
                    settled, grow, steps_per_call = None, False, _FIRST_CALL_STEPS
                    unroll = self.unroll or _unroll(state, devices)
            if settled is not None:
                steps_per_call = min(steps_per_call, max(now, _FIRST_SETTLING_STEPS))
            advance: Any = _advance
            if place is not None:
                advance = partial(_advance_on_devices, place=place)
            elif presents is not None or (
                settled is not None and nbytes_of(state) > _MOST_EVALUATED
            ):
                advance = _advance.jitted
            # A device whose paths have ended makes no steps.
            limit = np.where(goes_on, np.minimum(made + steps_per_call, max_steps), made)
            began = time.perf_counter()
            state, steps, parcel = advance(
                machine,
                self.choice,
                state,
                np.stack([made, limit], axis=1).astype(np.int32).ravel(),  # of each device
                steps,
                path,
                own,
                longest=longest,
                save=history.wanted,
                grow=grow,
                unroll=unroll,
                lean=self.lean,
            )
            parcels = [[parcel]] if place is None else place.stacks(machine, parcel)
            for shard, parts in zip(shards, parcels[: len(shards)], strict=True):
                shard.take(_opened(machine, parts), presents)
            reports = np.asarray([(shard.made, shard.is_live, shard.is_stuck) for shard in shards])
            if place is not None:
                reports = from_all(reports, numbers, devices if share else 1)
                reports = np.broadcast_to(reports, (devices, reports.shape[1]))
            made, is_live, is_stuck = reports.T
            elapsed = max(time.perf_counter() - began, 1e-6)
            before, now = now, int(made.max())
            tell(now)
            # What compiled says nothing about the steps to come.
            seconds_left = 0 if is_first else (max_steps - now) * elapsed / max(now - before, 1)
            is_first = False
            goes_on = (is_live != 0) & (made < max_steps)
            is_stuck = (is_stuck != 0) & (made < max_steps)
            if grow and np.any(is_stuck):
                full = machine
                assert follows(full, Growable)
                if np.any(own_paths(np.asarray(full.is_full(state)), paths)):
                    machine, state = full.grown(state)
                    goes_on |= is_stuck
                    is_first = True
                    continue
            if not np.any(goes_on):
                break
            steps_per_call = int(min(1e9, max(1, steps_per_call * _SECONDS_PER_CALL / elapsed)))
        tile = Tile(shards, machine, state, steps, own)
        if not self.lean:
            if follows(machine, Leaping) and history.wanted.every is not None:
                start = machine.kept(start)
            starts = [start] if place is None else place.starts(machine, start)
            for shard, begun in zip(shards, starts[: len(shards)], strict=True):
                shard.begun = begun
        return tile


class Tile(NamedTuple):
    """Paths that were advanced together: what is on the host, and what the devices have of them.

    - `counts`: the paths of each device, without those that pad them.
    """

    shards: "list[_Shard]"
    machine: AnyMachine
    state: PyTree
    steps: Int[Array, "*paths"] | None
    counts: Int[np.ndarray, " devices"] | None


class _Ended(NamedTuple):
    """How paths began and ended."""

    initial: PyTree
    state: PyTree
    steps: Int[np.ndarray, "*paths"]
    result: Any


class _Shard:
    """The paths of one device, numbered from `first` on, `paths` of them without those that pad
    them: their history, and how they are after the last call."""

    def __init__(self, history: History, paths: int | None, first: int):
        self.history, self.paths = history, paths
        self.numbers = np.arange(first, first + (paths or 0))
        self.made = 0
        self.is_live = True
        self.is_stuck = False  # by a failure
        self.begun: PyTree = None
        self._now: tuple[PyTree, np.ndarray, Any] | None = None

    def take(self, opened: PyTree, presents: Presents | None) -> None:
        """What a call has brought, see `_advance_all`."""
        now, is_live, has_failed, stand, chunk = opened
        made, self.made, self.is_live = self.made, int(now), bool(is_live)
        self.is_stuck = not is_live and bool(has_failed)
        self.history.append(chunk, made, self.made, presents)
        if presents is not None:
            stand = (presents.state(stand[0]), *stand[1:])
        self._now = stand

    @property
    def ended(self) -> _Ended:
        return _Ended(self.begun, *jax.tree.map(lambda x: own_paths(x, self.paths), self._now))


def _opened(machine: AnyMachine, parts: Sequence[Parcel]) -> PyTree:
    """What a call has brought, from each part of the neurons."""
    found = [part.opened() for part in parts]
    if not follows(machine, Partitioned):
        return found[0]
    *flags, stand, (_, outputs, _) = found[0]
    stands, chunks = ([one[i] for one in found] for i in (3, 4))
    if stand is not None:
        stand = joined_states(machine, [one[0] for one in stands]), *stand[1:]
    states, details = ([chunk[i].opened() for chunk in chunks] for i in (0, 2))
    if states[0] is not None:
        states = joined_states(machine, states, axis=1)
    return *flags, stand, (Flat.of(states), outputs, Flat.of(joined_details(details)))


def most_in_tile(machine: AnyMachine, state: PyTree) -> int | None:
    """How many paths run at a time so that their states stay in the cache; paths that end early
    then do not wait for all others, either. `None` for all.

    100,000 paths of 20 neurons took 27 us of CPU each at once, and take 17 in tiles (busy machine,
    jax 0.10.2, 2026-11). A GPU has work for all of its cores only where paths are many.
    """
    if isinstance(machine, Stacked) or jax.default_backend() != "cpu":
        return None
    if follows(machine, Partitioned):
        return None
    if follows(machine, Growable) or follows(machine, Leaping):
        return None
    shape = paths_of(machine, state)
    most = max(_TILE_BYTES * (shape[0] if shape else 1) // max(nbytes_of(state), 1), _LEAST_TILE)
    return min(1 << most.bit_length() - 1, _MOST_IN_TILE)


def _padded_paths(paths: int) -> int:
    """Numbers of paths that share a program, padded by a 64th at most where they are many."""
    step = max(_LEAST_PATHS, (1 << paths.bit_length() - 1) // _STEPS_PER_OCTAVE)
    return paths if paths < _LEAST_PATHS else -(-paths // step) * step


def paths_of(machine: AnyMachine, state: PyTree) -> tuple[int, ...]:
    """The shape of the paths of a state: `()` for one path."""
    if follows(machine, Partitioned):
        return machine.paths_of(state)
    return jax.eval_shape(_halted, machine, state).shape


def _halted(machine: AnyMachine, state: PyTree) -> Bool[Array, "*paths"]:
    return over_paths(lambda m, s: m.halted(s), machine)(state)


def _spread_all(
    machine: AnyMachine, state: PyTree, first: UInt32[Array, ""], *, paths: int
) -> tuple[PyTree, UInt32[Array, " paths"], Int[Array, " paths"]]:
    """The state of every path at the beginning, the paths' numbers, and no steps made."""
    shape = paths_of(machine, state)
    if not shape:
        state = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, paths)), state)
    elif shape[0] < paths:  # the last one stands for those that pad the batch
        index = jnp.minimum(jnp.arange(paths), shape[0] - 1)
        state = jax.tree.map(lambda x: x[..., index], state)
    return state, first + jnp.arange(paths, dtype=jnp.uint32), jnp.zeros(paths, jnp.int32)


_spread = tiered(static_argnames=("paths",))(_spread_all)


def _spread_over(
    place: Placement, machine: AnyMachine, state: PyTree, first: np.uint32, paths: int
) -> tuple[AnyMachine, PyTree, UInt32[Array, " paths"], Int[Array, " paths"]]:
    """The same over the devices of a mesh, and the machine there. What is of each path is on the
    host, from where each device receives its own."""

    def padded(x: Any) -> np.ndarray:
        host = np.asarray(x)
        return host[..., np.minimum(np.arange(paths), host.shape[-1] - 1)]

    is_by_path, has_paths = arrays_by_path(machine), paths_of(machine, state) != ()
    machine = jax.tree.map(lambda x, by: padded(x) if by else x, machine, is_by_path)
    machine = place.placed_machine(machine)
    if has_paths:
        state = place.placed_state(machine, jax.tree.map(padded, state))
    elif follows(machine, Partitioned):
        state = place.placed_state(machine, state)
    else:
        state = replicated(state, place.mesh)
    return machine, *_spread_there(machine, state, first, paths=paths, place=place)


@partial(jax.jit, static_argnames=("paths", "place"))
def _spread_there(
    machine: AnyMachine, state: PyTree, first: UInt32[Array, ""], *, paths: int, place: Placement
) -> tuple[PyTree, UInt32[Array, " paths"], Int[Array, " paths"]]:
    found = _spread_all(machine, state, first, paths=paths)
    split = place.of_state(machine, found[0]), place.each, place.each
    return lax.with_sharding_constraint(found, shardings(place.mesh, split))


def _unroll(state: PyTree, devices: int) -> int:
    """Steps per loop iteration, unless they are given."""
    if jax.default_backend() == "cpu":
        return 1
    size = nbytes_of(state) // devices
    return next((steps for limit, steps in _UNROLL if size <= limit), 1)


# Traced once, for the shapes of what is saved and for the loop.
_step = jax.jit(step_of, inline=True)


def _saved(save: Save, state: PyTree, record: Record) -> tuple[PyTree, PyTree, PyTree]:
    return (
        None if save.every is None else state,
        record.output if save.outputs else None,
        record.detail if save.details else None,
    )


def _advance_all(
    machine: AnyMachine,
    choice: AbstractChoice,
    state: PyTree,
    made: Int[Array, " two"],
    steps: Int[Array, " paths"] | None,
    path: UInt32[Array, " paths"] | None,
    num_paths: Int[Array, " one"] | None,
    *,
    longest: int,
    save: Save,
    grow: bool,
    unroll: int,
    lean: bool,
) -> tuple[PyTree, Int[Array, " paths"] | None, Parcel]:
    """Steps after the first `made[0]` ones, up to `made[1]` or as many as there is room for their
    history; and for the host: the steps made by then, whether a path goes on, whether one failed,
    how all paths stand, unless it is `lean`, and the history.

    `steps` and `path` are `None` for a single path. Paths from `num_paths` on pad the batch. At
    most `longest` rows of history are kept on the device.
    """
    step, limit = made
    is_single = path is None
    if path is None or steps is None:
        path, steps = jnp.zeros((), jnp.uint32), jnp.asarray(step)
    is_real = None
    if num_paths is not None:
        is_real = path - path[:1] < num_paths.astype(path.dtype)
    rows, saved = 0, (None, None, None)
    if save.keeps_history:
        _, record = jax.eval_shape(_step, machine, choice, state, path)
        saved = _saved(save, state, record)
        states, *records = saved
        row_bytes = nbytes_of(records) + nbytes_of(states) / (save.every or 1)
        rows = max(int(min(longest, _MAX_CHUNK_BYTES // max(row_bytes, 1))), 1)
        limit = jnp.minimum(limit, step + rows)
    begin = _Begin(choice, state, step, steps, path, limit, is_real, rows, save, saved)
    end = None
    if follows(machine, Leaping):
        end = _leap_on(machine, begin)
    elif follows(machine, Striding) and path.ndim == 0:
        most, own = limit - step, choice.for_path(path)
        stride = machine.stride(state, own, most, start=step, rows=rows, save=save)
        if stride is not None:
            made = stride.made
            end = Progress(step + made, steps + made, made == most, stride.state, stride.saved)
    if end is None:
        end = _step_on(machine, begin, grow=grow, unroll=unroll)
    kept = machine.kept(end.state) if follows(machine, Leaping) else end.state
    ended = None if lean else (kept, end.steps, result_of(machine, end.state))
    chunk = tuple(Flat.of(part) for part in end.carry)
    is_failed = over_paths(lambda m, s: m.status(s) != RESULTS.halted, machine)(end.state)
    parcel = Parcel.of((end.step, jnp.any(end.live), jnp.any(is_failed), ended, chunk))
    return end.state, None if is_single else end.steps, parcel


_STATIC = ("longest", "save", "grow", "unroll", "lean")
_advance = tiered(static_argnames=_STATIC)(_advance_all)


@partial(jax.jit, static_argnames=(*_STATIC, "place"))
def _advance_on_devices(
    machine: AnyMachine,
    choice: AbstractChoice,
    state: PyTree,
    made: Int[Array, " two_of_each_share"],
    steps: Int[Array, " paths"] | None,
    path: UInt32[Array, " paths"] | None,
    num_paths: Int[Array, " shares"] | None,
    *,
    place: Placement,
    **static: Any,
) -> tuple[PyTree, Int[Array, " paths"], Parcel]:
    """The same, by each device for its own paths: what they make has no part in what others do. The
    parcels of all devices are stacked."""

    def of_device(*given: Any) -> Any:
        state, steps, parcel = _advance_all(*given, **static)
        return state, steps, jax.tree.map(lambda x: x[None], parcel)

    states = place.of_state(machine, state)
    split = place.of_machine(machine), PartitionSpec(), states, *[place.each] * 4
    return shard_map(
        of_device,
        mesh=place.mesh,
        in_specs=split,
        out_specs=(states, place.each, place.stacked),
    )(machine, choice, state, made, steps, path, num_paths)


class _Begin(NamedTuple):
    """Where some steps begin, and what is kept of them in `rows` rows: `saved` has its shapes."""

    choice: AbstractChoice
    state: PyTree
    start: Int[Array, ""]
    steps: Int[Array, "*paths"]
    path: UInt32[Array, "*paths"]
    limit: Int[Array, ""]
    is_real: Bool[Array, " paths"] | None
    rows: int
    save: Save
    saved: tuple[PyTree, PyTree, PyTree]


def _step_on(machine: AnyMachine, begin: _Begin, *, grow: bool, unroll: int) -> Progress:
    """Step by step: the loop that owns the path axis.

    All paths are in lockstep, so that one scalar row index serves the history of every path; a
    halted path writes the fixed point it stays in. So there is never a select over a whole buffer,
    as under `vmap(while_loop)`. With `grow`, a step that exceeds the capacity in one path is made
    by none, and ends the loop.
    """
    choice, state, start, steps, path, limit, is_real, rows, save, saved = begin
    every = save.every or 1
    state_rows = rows // every + 1  # at most this many of the steps

    def fold(buffers, state, record, step, in_time):
        row = jnp.where(in_time, step - start, rows)  # the last one: not kept
        is_kept = in_time & ((step + 1) % every == 0)
        state_row = jnp.where(is_kept, (step + 1) // every - 1 - start // every, state_rows)
        states, *records = _saved(save, state, record)
        states_buffer, *record_buffers = buffers
        return (
            _write(states_buffer, state_row, states),
            *(_write(buffer, row, x) for buffer, x in zip(record_buffers, records, strict=True)),
        )

    def refuse(state, new_state):
        assert follows(machine, Growable)
        is_full = machine.is_full(new_state)
        is_full = jnp.any(is_full if is_real is None else is_full & is_real)
        return is_full, machine.refused(state, new_state)

    states, *records = saved
    buffers = (_zeros(states, state_rows), *(_zeros(record, rows) for record in records))
    advance = advancing(
        machine,
        choice,
        path,
        limit,
        fold,
        unroll=unroll,
        make_step=_step,
        refuse=refuse if grow else None,
        is_real=is_real,
    )
    live = jnp.ones(steps.shape, bool)
    return looped(advance, Progress(start, steps, live, state, buffers), limit, unroll=unroll)


def _leap_on(machine: Leaping, begin: _Begin) -> Progress:
    """By a machine that makes its steps itself: up to the limit at once, or up to the next state
    to be kept."""
    choice, state, start, steps, path, limit, is_real, rows, save, _ = begin
    choice = choice.for_path(path)

    def leap(state, most, rows):
        most = jnp.broadcast_to(most, steps.shape)
        most = most if is_real is None else jnp.where(is_real, most, 0)
        state, made, details = machine.leap(
            state, choice, most, rows=rows if save.details else None
        )
        # A path that makes less than it may is at its end.
        live = made == most
        return state, made, live if is_real is None else live & is_real, details

    every = save.every
    if every is None:
        state, made, live, details = leap(state, limit - start, rows)
        return Progress(start + jnp.max(made), steps + made, live, state, (None, None, details))
    state_rows = rows // every + 1
    at_most = min(every, rows)

    def advance(now: Progress) -> Progress:
        states, _, details = now.carry
        goal = jnp.minimum((now.step // every + 1) * every, limit)
        state, made, live, more = leap(now.state, goal - now.step, at_most)
        step = now.step + jnp.max(made)
        row = jnp.where(step % every == 0, step // every - 1 - start // every, state_rows)
        row = jnp.where(step > now.step, row, state_rows)
        states = _write(states, row, machine.kept(state))
        # What lies past the steps made is written over by the next ones.
        details = jax.tree.map(
            lambda x, y: lax.dynamic_update_slice_in_dim(x, y, now.step - start, 0), details, more
        )
        return Progress(step, now.steps + made, live, state, (states, None, details))

    found = jax.eval_shape(lambda: leap(state, limit, at_most)[3])
    room = rows + at_most
    details = jax.tree.map(lambda x: jnp.zeros((room, *x.shape[1:]), x.dtype), found)
    states = _zeros(jax.eval_shape(machine.kept, state), state_rows)
    live = jnp.ones(steps.shape, bool)
    begun = Progress(start, steps, live, state, (states, None, details))
    return lax.while_loop(lambda x: jnp.any(x.live) & (x.step < limit), advance, begun)


def _zeros(tree: PyTree, rows: int) -> PyTree:
    """That many rows, and one more for what is not kept."""
    return jax.tree.map(lambda x: jnp.zeros((rows + 1, *x.shape), x.dtype), tree)


def _write(buffer: PyTree, row: Int[Array, ""], values: PyTree) -> PyTree:
    return jax.tree.map(
        lambda b, x: lax.dynamic_update_index_in_dim(b, x, row, 0, allow_negative_indices=False),
        buffer,
        values,
    )
