"""The driver: runs a machine chunk by chunk until it halts, and moves its history to the host."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt32

from snpjax_formats import bucket

from ._tiered import tiered
from ._xla import Parcel
from .choice import AbstractChoice
from .machine import (
    AnyMachine,
    Growable,
    Leaping,
    Presents,
    Record,
    Settled,
    Stacked,
    Striding,
    follows,
    over_paths,
)
from .results import has_failed
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

    def run(self, start: PyTree, paths: int | None, *, tiled: bool) -> Trajectory:
        """The run of one path, `None`, or of many, from their states at the beginning or from one
        that all share. With `tiled`, only as many run at a time as fit in the caches."""
        size = None if isinstance(self.machine, Stacked) else paths
        tile = _tile_of(self.machine, start) if tiled and size else None
        if size is None or tile is None or size <= tile:
            padded = size if size is None else _padded_paths(size)
            tiles = [(start, 0, size)]
        else:
            padded, tiles = tile, []
            has_paths = paths_of(self.machine, start) != ()
            for first in range(0, size, tile):
                own = start
                if has_paths:
                    own = jax.tree.map(lambda x, at=first: x[..., at : at + tile], start)
                tiles.append((own, first, min(tile, size - first)))
        made = 0  # the steps of the longest tile up to now

        def tell(now: int) -> None:
            nonlocal made
            made = max(made, now)
            if self.progress is not None:
                self.progress(made)

        ended: list[_Ended] = []
        histories: list[History] = []
        for own, first, num in tiles:
            wanted = histories[-1].wanted if histories else self.save
            histories.append(History(wanted, num or paths, histories))
            ended.append(self._run_tile(own, first, num, padded, histories[-1], tell))
        longest = [int(one.steps.max(initial=0)) for one in ended]
        finished = [
            history.finish(one.initial, one.state, made, max(longest))
            for history, one, made in zip(histories, ended, longest, strict=True)
        ]
        states, outputs, details = beside(finished)
        state, steps, result = beside([one[1:] for one in ended])
        saved = histories[-1].wanted
        return Trajectory(state, states, outputs, details, saved, np.asarray(steps), result)

    def _run_tile(
        self,
        start: PyTree,
        first: int,
        paths: int | None,
        padded: int | None,
        history: History,
        tell: Callable[[int], None],
    ) -> "_Ended":
        """Advance some paths, numbered from `first` on, chunk by chunk, moving histories to the
        host after each."""
        machine: AnyMachine = self.machine
        max_steps = self.max_steps
        grow = self.grow and follows(machine, Growable)
        own, path, steps = None, None, None
        if isinstance(machine, Stacked):
            path = jnp.arange(machine.num_paths, dtype=np.uint32)
            steps = jnp.zeros(path.shape, np.int32)
        elif padded is not None:
            own = np.int32(paths or 1)
            start, path, steps = _spread(machine, start, np.uint32(first), paths=padded)
        now, state = 0, start
        # A step that may grow is long, and each copy of it takes seconds to compile.
        unroll = self.unroll or (1 if grow else _unroll(start))
        longest = 1
        if history.wanted.keeps_history:
            longest = min(bucket(max_steps, at_least=64), _MAX_CHUNK_ROWS)
        presents: Presents | None = None
        settled = self.settled if paths is None and follows(machine, Growable) else None
        is_first, seconds_left = True, np.inf  # as far as is known
        steps_per_call = _FIRST_CALL_STEPS
        if follows(machine, Leaping):
            steps_per_call = max(steps_per_call, _FIRST_LEAP_STEPS // (paths or 1))
        while True:
            if settled is not None and seconds_left > _SETTLING_SECONDS:
                found = settled(machine, state, self.choice)
                if found is not None:
                    machine, state, presents = found
                    settled, grow, steps_per_call = None, False, _FIRST_CALL_STEPS
                    unroll = self.unroll or _unroll(state)
            if settled is not None:
                steps_per_call = min(steps_per_call, max(now, _FIRST_SETTLING_STEPS))
            is_large = settled is not None and nbytes_of(state) > _MOST_EVALUATED
            advance = _advance.jitted if is_large or presents is not None else _advance
            made, limit = now, min(now + steps_per_call, max_steps)
            began = time.perf_counter()
            state, steps, parcel = advance(
                machine,
                self.choice,
                state,
                np.asarray([now, limit], np.int32),  # each argument takes a while to a GPU
                steps,
                path,
                own,
                longest=longest,
                save=history.wanted,
                grow=grow,
                unroll=unroll,
            )
            now, is_live, ended, chunk = parcel.opened()
            now, elapsed = int(now), max(time.perf_counter() - began, 1e-6)
            history.append(chunk, made, now, presents)
            tell(now)
            # What compiled says nothing about the steps to come.
            seconds_left = 0 if is_first else (max_steps - now) * elapsed / max(now - made, 1)
            is_first = False
            is_stuck = now < max_steps and not is_live and np.any(has_failed(ended[2]))
            if grow and is_stuck:
                assert follows(machine, Growable)
                if np.any(own_paths(np.asarray(machine.is_full(state)), paths)):
                    machine, state = machine.grown(state)
                    is_first = True
                    continue
            if now >= max_steps or not is_live:
                break
            steps_per_call = int(min(1e9, max(1, steps_per_call * _SECONDS_PER_CALL / elapsed)))
        if presents is not None:
            ended = (presents.state(ended[0]), *ended[1:])
        if paths != padded:
            ended = jax.tree.map(lambda x: own_paths(x, paths), ended)
        if follows(machine, Leaping) and history.wanted.every is not None:
            start = machine.kept(start)
        return _Ended(start, *ended)


class _Ended(NamedTuple):
    """How the paths of a tile began and ended."""

    initial: PyTree
    state: PyTree
    steps: Int[np.ndarray, "*paths"]
    result: Any


def _tile_of(machine: AnyMachine, state: PyTree) -> int | None:
    """How many paths run at a time so that their states stay in the cache; paths that end early
    then do not wait for all others, either. `None` for all.

    100,000 paths of 20 neurons took 27 us of CPU each at once, and take 17 in tiles (busy machine,
    jax 0.10.2, 2026-11). A GPU has work for all of its cores only where paths are many.
    """
    if isinstance(machine, Stacked) or jax.default_backend() != "cpu":
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
    return jax.eval_shape(_halted, machine, state).shape


def _halted(machine: AnyMachine, state: PyTree) -> Bool[Array, "*paths"]:
    return over_paths(lambda m, s: m.halted(s), machine)(state)


@tiered(static_argnames=("paths",))
def _spread(
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


def _unroll(state: PyTree) -> int:
    """Steps per loop iteration, unless they are given."""
    if jax.default_backend() == "cpu":
        return 1
    size = nbytes_of(state)
    return next((steps for limit, steps in _UNROLL if size <= limit), 1)


# Traced once, for the shapes of what is saved and for the loop.
_step = jax.jit(step_of, inline=True)


def _saved(save: Save, state: PyTree, record: Record) -> tuple[PyTree, PyTree, PyTree]:
    return (
        None if save.every is None else state,
        record.output if save.outputs else None,
        record.detail if save.details else None,
    )


@tiered(static_argnames=("longest", "save", "grow", "unroll"))
def _advance(
    machine: AnyMachine,
    choice: AbstractChoice,
    state: PyTree,
    made: Int[Array, " two"],
    steps: Int[Array, " paths"] | None,
    path: UInt32[Array, " paths"] | None,
    num_paths: Int[Array, ""] | None,
    *,
    longest: int,
    save: Save,
    grow: bool,
    unroll: int,
) -> tuple[PyTree, Int[Array, " paths"] | None, Parcel]:
    """Steps after the first `made[0]` ones, up to `made[1]` or as many as there is room for their
    history; and for the host: the steps made by then, whether a path goes on, how all paths stand,
    and the history.

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
    ended = (kept, end.steps, result_of(machine, end.state))
    chunk = tuple(Flat.of(part) for part in end.carry)
    parcel = Parcel.of((end.step, jnp.any(end.live), ended, chunk))
    return end.state, None if is_single else end.steps, parcel


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
