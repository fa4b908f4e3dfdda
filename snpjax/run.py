"""`run`: lower a model, run its machine chunk by chunk until it halts, and save its history."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar, Unpack, overload

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt32

from snpjax_formats import bucket

from ._xla import precision_of
from .choice import AbstractChoice, FirstChoice, WeightedChoice, knows_numbers
from .lowering import as_integer, check_choice, check_model, lowering_of, refuse_tracers
from .machine import (
    AbstractMachine,
    AnySolution,
    Growable,
    Leaping,
    Lowered,
    LoweringOptions,
    Model,
    Record,
    Sparing,
    Stacked,
    Startable,
    Striding,
    can_grow,
    leaps,
    over_paths,
)
from .simulate import Progress, advancing, looped, result_of
from .trajectory import (
    SAVE_ALL,
    SAVE_OUTPUTS,
    AbstractSavedRun,
    History,
    Save,
    Trajectory,
    beside,
    nbytes_of,
    own_paths,
)


# Rows of history kept on the device before they are moved to the host: at most this many, and at
# most these bytes.
_MAX_CHUNK_ROWS = 4096
_MAX_CHUNK_BYTES = 64 * 2**20

#: Steps are counted in int32.
_MAX_STEPS = 2**30

# One call to the device should last about this long, so that progress is shown and Ctrl-C is
# answered.
_SECONDS_PER_CALL = 0.5
_FIRST_CALL_STEPS = 1024
_FIRST_LEAP_STEPS = 2**16  # of all paths together

# Steps per loop iteration on a GPU by the bytes of the state. The predicate of a while loop is read
# back on the host there, 25 us an iteration against 8 for a small step (H200, jax 0.11.2); where
# steps take long, those after the halt would cost more. On CPUs there is nothing to hide.
_UNROLL = ((2**22, 32), (2**25, 16), (2**28, 4))

# From here on a batch has many paths, see `Model.lower`.
_MANY_PATHS = 64

# The least step between numbers of paths that have programs of their own.
_LEAST_PATHS = 8
_STEPS_PER_OCTAVE = 64

# On CPUs the states of the paths that run at a time take at most this many bytes, unless that would
# be fewer paths than fill the lanes of a processor.
_TILE_BYTES = 2**21
_LEAST_TILE, _MOST_IN_TILE = 128, 4096

S = TypeVar("S", bound=AnySolution)  # of one path
B = TypeVar("B", bound=AnySolution)  # of many


class RunFailed(RuntimeError):
    """A run that ended in a failure; `solution` holds the run up to it."""

    def __init__(self, message: str, solution: AnySolution):
        super().__init__(message)
        self.solution = solution


class RunOptions(LoweringOptions, total=False):
    """The arguments of `run` except the model and `paths`."""

    max_steps: int
    choice: AbstractChoice
    initial: PyTree
    inputs: PyTree
    save: Save | None
    grow: bool
    throw: bool
    unroll: int | None
    progress: Callable[[int], None] | None


@overload
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    paths: None = None,
    **options: Unpack[RunOptions],
) -> S: ...
@overload
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    paths: int,
    **options: Unpack[RunOptions],
) -> B: ...
@overload
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    paths: int | None,
    **options: Unpack[RunOptions],
) -> S | B: ...
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    max_steps: int = 4096,
    choice: AbstractChoice = FirstChoice(),  # noqa: B008 (a frozen object)
    paths: int | None = None,
    initial: PyTree = None,
    inputs: PyTree = None,
    save: Save | None = None,
    grow: bool = True,
    throw: bool = True,
    unroll: int | None = None,
    progress: Callable[[int], None] | None = None,
    **options: Unpack[LoweringOptions],
) -> S | B:
    """Run `model` until it halts or `max_steps` steps are made.

    **Arguments:**

    - `model`: a `SpikingSystem`, any other `snpjax.machine.Model`, or the `Lowered` that
      `snpjax.lower` returned. The last lowerings of a model are kept, so a second run does not
      lower again.
    - `max_steps`: reaching it is not a failure; `solution.result` says so.
    - `choice`: `FirstChoice()`, `UniformChoice(key)`, `WeightedChoice(logits, key)` or
      `GivenChoices(rules)`. A key is consumed.
    - `paths`: run that many paths as one batch; path p uses `choice.for_path(p)`. `None` is path 0
      alone. Required where `initial` or `inputs` have paths.
    - `initial`: where to begin. `solution.state` continues an earlier run, to the same bits as one
      long run. Otherwise pass the spikes (tokens) by name, or as an array `(neurons,)` or
      `(neurons, paths)`.
    - `inputs`: trains of the input neurons, `(steps, inputs)` or `(steps, inputs, paths)`, instead
      of the model's own: row t arrives at the end of step t + 1, counted from the beginning of the
      first run.
    - `save`: see `Save`. By default one path keeps everything, a batch its outputs and the final
      configuration.
    - `grow`: if a system that divides outgrows its capacity, double it, recompile and continue from
      the same state; otherwise that is a failure. The configurations do not depend on it.
    - `throw`: raise `RunFailed` for a failure (overflow, a refused choice); otherwise it is in
      `solution.result`.
    - `unroll`: steps per loop iteration, for tuning; never changes a result.
    - `progress`: called with the number of steps made, about twice a second.
    - `layout`, `count_dtype`, `faithful`, `capacity`, `engine`: how the model is stored, see
      `LoweringOptions`. They never change a result.

    **Returns:** what the model makes of the trajectory: a `Solution` for an SN P system, or a
    `SolutionBatch` with `paths`; a `NetSolution` or `NetSolutionBatch` for a net; `Solutions` for a
    `SystemBatch`.

    **Raises:** `RunFailed`, whose `solution` holds the run up to the failure; `TypeError` and
    `ValueError` for arguments that make no sense.
    """
    check_model(model)
    max_steps, paths = _check_arguments(max_steps, choice, paths, initial, inputs, save, unroll)
    is_numbered = knows_numbers(choice)
    many = max(paths or 1, _paths_of(initial), _paths_of(inputs)) >= _MANY_PATHS
    lowered = lowering_of(model, dict(options), numbered=is_numbered, many_paths=many)
    if isinstance(choice, WeightedChoice) and lowered.alternatives is not None:
        choice.check(*lowered.alternatives)
    own = lowered.model
    machine = lowered.machine_for(max_steps)
    state = None
    with precision_of(lowered.machine):
        if initial is not None or inputs is not None:
            if not isinstance(own, Startable):
                raise TypeError(f"A {type(own).__name__} takes neither `initial` nor `inputs`.")
            machine, state = own.start(lowered.machine, initial, inputs)
        size = _num_paths(machine, state, paths, initial, inputs)
        if save is None and isinstance(own, Sparing):
            save = own.default_save(size)
        if save is None:
            save = SAVE_ALL if size is None else SAVE_OUTPUTS
        tile = _tile_of(machine) if size and inputs is None else None
        trajectory = _drive(
            machine, state, choice, size, max_steps, save, grow, unroll, progress, tile
        )
    solution = own.solution(trajectory) if paths is None else own.solutions(trajectory)
    if throw and solution.failure is not None:
        raise RunFailed(solution.failure, solution)
    return solution


def _check_arguments(
    max_steps: int,
    choice: AbstractChoice,
    paths: int | None,
    initial: PyTree,
    inputs: PyTree,
    save: Save | None,
    unroll: int | None,
) -> tuple[int, int | None]:
    """**Raises:** `TypeError` and `ValueError` with the fix."""
    given = (max_steps, choice, paths, initial, inputs)
    refuse_tracers("run", "simulate(lowered.machine, state, choice, max_steps=...)", given)
    max_steps = as_integer("max_steps", max_steps)
    paths = None if paths is None else as_integer("paths", paths)
    unroll = None if unroll is None else as_integer("unroll", unroll)
    if not 0 <= max_steps <= _MAX_STEPS:
        raise ValueError(f"`max_steps` is {max_steps}. Give 0 to {_MAX_STEPS} steps.")
    if paths is not None and paths < 1:
        raise ValueError(f"`paths` is {paths}. Give 1 or more paths, or None for a single run.")
    if unroll is not None and unroll < 1:
        raise ValueError(f"`unroll` is {unroll}. Give 1 or more steps.")
    check_choice(choice)
    if isinstance(initial, AbstractSavedRun):
        raise TypeError(
            f"`initial` is a {type(initial).__name__}. Give its state, `solution.state`."
        )
    if save is not None and not isinstance(save, Save):
        raise TypeError(
            f"`save` is {save!r}. Give snpjax.SAVE_ALL, SAVE_OUTPUTS, SAVE_FINAL or a Save(...)."
        )
    return max_steps, paths


def _paths_of(tree: PyTree) -> int:
    """How many paths the arrays that begin a run may have."""
    return max((np.shape(x)[-1] for x in jax.tree.leaves(tree) if np.ndim(x) > 1), default=1)


def _num_paths(
    machine: AbstractMachine | Stacked,
    state: PyTree,
    paths: int | None,
    initial: PyTree,
    inputs: PyTree,
) -> int | None:
    """The number of paths; for stacked machines, the number of machines."""
    if isinstance(machine, Stacked):
        if paths is not None:
            raise ValueError(
                "Each system of a batch is one path. Leave `paths` out, and list a system several "
                "times for several paths of it."
            )
        return machine.num_paths
    if state is None:
        return paths
    shape = jax.eval_shape(machine.halted, state).shape
    if not shape:
        return paths
    if paths != shape[0]:
        given = {"initial": initial, "inputs": inputs}
        names = " or ".join(f"`{name}`" for name, x in given.items() if x is not None)
        axes = f"the last axis of {names} is read as paths"
        if not isinstance(inputs, Mapping) and np.ndim(inputs) == 3:
            axes = "`inputs` is read as (steps, inputs, paths)"
        raise ValueError(
            f"`paths` is {paths}, but {axes}: it has {shape[0]} paths. Give `paths={shape[0]}`."
        )
    return paths


def _drive(
    machine: AbstractMachine | Stacked,
    start: PyTree,
    choice: AbstractChoice,
    paths: int | None,
    max_steps: int,
    save: Save,
    grow: bool,
    unroll: int | None,
    progress: Callable[[int], None] | None,
    tile: int | None,
) -> Trajectory:
    """The run of all paths, `tile` of them at a time."""
    size = None if isinstance(machine, Stacked) else paths
    if size is None or tile is None or size <= tile:
        padded = size if size is None else _padded_paths(size)
        tiles = [(start, 0, size)]
    else:
        padded, tiles = tile, []
        for first in range(0, size, tile):
            own = jax.tree.map(lambda x, at=first: x[..., at : at + tile], start)
            tiles.append((own, first, min(tile, size - first)))
    made = 0  # the steps of the longest tile up to now

    def tell(now: int) -> None:
        nonlocal made
        made = max(made, now)
        if progress is not None:
            progress(made)

    ended: list[_Ended] = []
    histories: list[History] = []
    for own, first, num in tiles:
        wanted = histories[-1].wanted if histories else save
        histories.append(History(wanted, num or paths, histories))
        ended.append(
            _drive_tile(
                machine,
                own,
                choice,
                first,
                num,
                padded,
                max_steps,
                histories[-1],
                grow,
                unroll,
                tell,
            )
        )
    length = max(int(np.max(one.steps, initial=0)) for one in ended)
    finished = [
        history.finish(one.initial, one.state, one.steps, length)
        for history, one in zip(histories, ended, strict=True)
    ]
    states, outputs, details = beside(finished)
    state, steps, result = beside([one[1:] for one in ended])
    saved = histories[-1].wanted
    return Trajectory(state, states, outputs, details, saved, np.asarray(steps), result)


class _Ended(NamedTuple):
    """How the paths of a tile began and ended."""

    initial: PyTree
    state: PyTree
    steps: Int[np.ndarray, "*paths"]
    result: Any


def _drive_tile(
    machine: AbstractMachine | Stacked,
    start: PyTree,
    choice: AbstractChoice,
    first: int,
    paths: int | None,
    padded: int | None,
    max_steps: int,
    history: History,
    grow: bool,
    unroll: int | None,
    progress: Callable[[int], None],
) -> _Ended:
    """Advance some paths, numbered from `first` on, chunk by chunk, moving histories to the host
    after each."""
    grow = grow and can_grow(machine)
    save = history.wanted
    longest = bucket(max_steps, at_least=64)
    own = None if padded is None else np.int32(paths or 1)
    stacked = machine.num_paths if isinstance(machine, Stacked) else padded
    initial, path, step, steps, rows = _init(
        machine, start, choice, np.uint32(first), stacked, longest, save
    )
    rows = int(rows) if save.keeps_history else _MAX_STEPS
    unroll = unroll or _unroll(initial)
    state, made = initial, 0
    steps_per_call = _FIRST_CALL_STEPS
    if leaps(machine):
        steps_per_call = max(steps_per_call, _FIRST_LEAP_STEPS // (paths or 1))
    every = save.every or 1
    while True:
        limit = min(made + rows, made + steps_per_call, max_steps)
        began = time.perf_counter()
        step, steps, state, result, small, chunk = _advance(
            machine,
            choice,
            step,
            steps,
            state,
            path,
            np.int32(limit),
            own,
            rows=rows,
            save=history.wanted,
            grow=grow,
            unroll=unroll,
        )
        kept = machine.kept(state) if leaps(machine) else state
        now, is_live, *ended = _unpacked(np.asarray(small), (step, step, kept, steps, result))
        elapsed = max(time.perf_counter() - began, 1e-6)
        history.append(chunk, now - made, now // every - made // every)
        progress(now)
        made = now
        if grow and now < max_steps and not is_live:
            assert isinstance(machine, Growable)
            if np.any(own_paths(np.asarray(machine.is_full(state)), paths)):
                machine, state = machine.grown(state)
                continue
        if now >= max_steps or not is_live:
            break
        steps_per_call = int(min(1e9, max(1, steps_per_call * _SECONDS_PER_CALL / elapsed)))
    ended = ended or jax.device_get((kept, steps, result))
    if paths != padded:
        ended = jax.tree.map(lambda x: own_paths(x, paths), ended)
    initial = machine.kept(initial) if leaps(machine) else initial
    return _Ended(initial, *ended)


def _tile_of(machine: AbstractMachine | Stacked) -> int | None:
    """How many paths run at a time so that their states stay in the cache; paths that end early
    then do not wait for all others, either. `None` for all.

    100,000 paths of 20 neurons took 27 us of CPU each at once, and take 17 in tiles (busy machine,
    jax 0.10.2, 2026-11). A GPU has work for all of its cores only where paths are many.
    """
    if isinstance(machine, Stacked) or jax.default_backend() != "cpu":
        return None
    if can_grow(machine) or leaps(machine):
        return None
    size = nbytes_of(jax.eval_shape(machine.init))
    most = max(_TILE_BYTES // max(size, 1), _LEAST_TILE)
    return min(1 << most.bit_length() - 1, _MOST_IN_TILE)


def _padded_paths(paths: int) -> int:
    """Numbers of paths that share a program, padded by a 64th at most where they are many."""
    step = max(_LEAST_PATHS, (1 << paths.bit_length() - 1) // _STEPS_PER_OCTAVE)
    return paths if paths < _LEAST_PATHS else -(-paths // step) * step


@partial(jax.jit, static_argnames=("paths", "longest", "save"))
def _init(
    machine: AbstractMachine | Stacked,
    state: PyTree,
    choice: AbstractChoice,
    first: UInt32[Array, ""] | np.uint32,
    paths: int | None,
    longest: int,
    save: Save,
) -> tuple[PyTree, UInt32[Array, "*paths"], Int[Array, ""], Int[Array, "*paths"], Int[Array, ""]]:
    """The initial state of every path, the paths' numbers, no steps made, and how many rows of
    history to keep on the device."""
    path = jnp.zeros((), jnp.uint32)
    if state is None:
        state = over_paths(lambda m: m.init(), machine)()
    if paths is not None:
        path = first + jnp.arange(paths, dtype=jnp.uint32)
        shape = jax.eval_shape(over_paths(lambda m, s: m.halted(s), machine), state).shape
        if not shape:
            state = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, paths)), state)
        elif shape[0] < paths:  # the last one stands for those that pad the batch
            index = jnp.minimum(jnp.arange(paths), shape[0] - 1)
            state = jax.tree.map(lambda x: x[..., index], state)
    rows = _rows_on_device(machine, choice, state, path, longest, save)
    zero = jnp.zeros((), jnp.int32)
    return state, path, zero, jnp.zeros(path.shape, jnp.int32), jnp.asarray(rows, jnp.int32)


def _unroll(state: PyTree) -> int:
    """Steps per loop iteration, unless they are given."""
    if jax.default_backend() == "cpu":
        return 1
    size = nbytes_of(state)
    return next((steps for limit, steps in _UNROLL if size <= limit), 1)


def _rows_on_device(
    machine: AbstractMachine | Stacked,
    choice: AbstractChoice,
    state: PyTree,
    path: UInt32[Array, "*paths"],
    longest: int,
    save: Save,
) -> int:
    """How many rows of history to keep on the device."""
    if not save.keeps_history:
        return 0
    record = _record_of(machine, choice, state, path)
    states, *records = _saved(save, state, record)
    row_bytes = nbytes_of(records) + nbytes_of(states) / (save.every or 1)
    return max(int(min(longest, _MAX_CHUNK_ROWS, _MAX_CHUNK_BYTES // max(row_bytes, 1))), 1)


def _record_of(
    machine: AbstractMachine | Stacked,
    choice: AbstractChoice,
    state: PyTree,
    path: UInt32[Array, "*paths"],
) -> Record:
    """The shapes of what a step leaves."""

    def step(machine, state, path):
        return machine.step(state, choice.for_path(path))

    return jax.eval_shape(over_paths(step, machine), state, path)[1]


def _saved(save: Save, state: PyTree, record: Record) -> tuple[PyTree, PyTree, PyTree]:
    return (
        None if save.every is None else state,
        record.output if save.outputs else None,
        record.detail if save.details else None,
    )


@partial(jax.jit, static_argnames=("rows", "save", "grow", "unroll"))
def _advance(
    machine: AbstractMachine | Stacked,
    choice: AbstractChoice,
    step: Int[Array, ""],
    steps: Int[Array, "*paths"],
    state: PyTree,
    path: UInt32[Array, "*paths"],
    limit: Int[Array, ""],
    num_paths: Int[Array, ""] | None,
    *,
    rows: int,
    save: Save,
    grow: bool,
    unroll: int,
):
    """At most `rows` steps, up to `limit`: the loop that owns the path axis.

    All paths are in lockstep, so that one scalar row index serves the history of every path; a
    halted path writes the fixed point it stays in. So there is never a select over a whole buffer,
    as under `vmap(while_loop)`. With `grow`, a step that exceeds the capacity in one path is made
    by none, and ends the loop. Paths from `num_paths` on pad the batch.
    """
    is_real = None
    if num_paths is not None:
        is_real = path - path[:1] < num_paths.astype(path.dtype)
    if isinstance(machine, Leaping):
        return _leap_on(
            machine, choice, step, steps, state, path, limit, is_real, rows=rows, save=save
        )
    if isinstance(machine, Striding) and path.ndim == 0:
        most = limit - step
        own = choice.for_path(path)
        stride = machine.stride(state, own, most, start=step, rows=rows, save=save)
        if stride is not None:
            state, made, saved = stride
            step, steps, result = step + made, steps + made, result_of(machine, state)
            small = _packed(step, (made == most).astype(jnp.int32), state, steps, result)
            return step, steps, state, result, small, saved
    every = save.every or 1
    state_rows = rows // every + 1  # at most this many of `rows` steps are kept
    start = step

    def fold(buffers, state, record, step, in_time):
        row = jnp.where(in_time, step - start, rows)  # past the end: dropped
        is_kept = in_time & ((step + 1) % every == 0)
        state_row = jnp.where(is_kept, (step + 1) // every - 1 - start // every, state_rows)
        states, *records = _saved(save, state, record)
        states_buffer, *record_buffers = buffers
        return (
            _write(states_buffer, state_row, states),
            *(_write(buffer, row, x) for buffer, x in zip(record_buffers, records, strict=True)),
        )

    def refuse(state, new_state):
        assert isinstance(machine, Growable)
        is_full = machine.is_full(new_state)
        is_full = jnp.any(is_full if is_real is None else is_full & is_real)
        refused = machine.refused(state, new_state)
        return is_full, jax.tree.map(lambda x, y: jnp.where(is_full, x, y), refused, state)

    states, *records = _saved(save, state, _record_of(machine, choice, state, path))
    buffers = (_zeros(states, state_rows), *(_zeros(record, rows) for record in records))
    advance = advancing(
        machine,
        choice,
        path,
        limit,
        fold,
        unroll=unroll,
        refuse=refuse if grow else None,
        is_real=is_real,
    )
    live = jnp.ones(steps.shape, bool)
    end = looped(advance, Progress(step, steps, live, state, buffers), limit, unroll=unroll)
    result = result_of(machine, end.state)
    is_live = jnp.any(end.live).astype(jnp.int32)
    small = _packed(end.step, is_live, end.state, end.steps, result)
    return end.step, end.steps, end.state, result, small, end.carry


def _leap_on(
    machine: Leaping,
    choice: AbstractChoice,
    step: Int[Array, ""],
    steps: Int[Array, "*paths"],
    state: PyTree,
    path: UInt32[Array, "*paths"],
    limit: Int[Array, ""],
    is_real: Bool[Array, " paths"] | None,
    *,
    rows: int,
    save: Save,
):
    """As `_advance`, for a machine that makes its steps itself: up to the limit at once, or up to
    the next state to be kept."""
    choice = choice.for_path(path)
    every = save.every or 1
    start = step

    def leap(state, most, rows):
        most = jnp.broadcast_to(most, steps.shape)
        most = most if is_real is None else jnp.where(is_real, most, 0)
        state, made, details = machine.leap(
            state, choice, most, rows=rows if save.details else None
        )
        # A path that makes less than it may is at its end.
        live = made == most
        return state, made, live if is_real is None else live & is_real, details

    if save.every is None:
        state, made, live, details = leap(state, limit - step, rows)
        step, states = step + jnp.max(made), None
        steps = steps + made
    else:

        def body(carry):
            step, steps, _, state, states, details = carry
            goal = jnp.minimum((step // every + 1) * every, limit)
            at_most = min(every, rows)
            state, made, live, more = leap(state, goal - step, at_most)
            now = step + jnp.max(made)
            row = jnp.where(now % every == 0, now // every - 1 - start // every, state_rows)
            row = jnp.where(now > step, row, state_rows)
            states = _write(states, row, machine.kept(state))
            # What lies past the steps made is written over by the next ones.
            details = jax.tree.map(
                lambda x, y: lax.dynamic_update_slice_in_dim(x, y, step - start, 0), details, more
            )
            return now, steps + made, live, state, states, details

        def is_running(carry):
            return jnp.any(carry[2]) & (carry[0] < limit)

        state_rows = rows // every + 1
        found = jax.eval_shape(lambda: leap(state, limit, min(every, rows))[3])
        room = rows + min(every, rows)
        details = jax.tree.map(lambda x: jnp.zeros((room, *x.shape[1:]), x.dtype), found)
        live = jnp.ones(steps.shape, bool)
        states = _zeros(jax.eval_shape(machine.kept, state), state_rows)
        carry = (step, steps, live, state, states, details)
        step, steps, live, state, states, details = lax.while_loop(is_running, body, carry)
    assert isinstance(machine, AbstractMachine)
    result = result_of(machine, state)
    ended = (machine.kept(state), steps, result)
    small = _packed(step, jnp.any(live).astype(jnp.int32), *ended)
    return step, steps, state, result, small, (states, None, details)


# The results of a call move to the host in one piece up to this many bytes: on a GPU each piece
# takes as long as many steps of a small system.
_MAX_ONE_PIECE = 2**24


def _packed(step: Array, is_live: Array, *ended: PyTree) -> Int[Array, " words"]:
    """What the host waits for in a call, and its other results if they are small, as words."""
    leaves = [step, is_live]
    if _fits_one_piece(ended):
        leaves += jax.tree.leaves(ended)
    return jnp.concatenate([_as_words(x) for x in leaves])


def _as_words(x: Array) -> Int[Array, " words"]:
    if x.dtype.itemsize < 4:
        return jnp.ravel(x).astype(jnp.int32)
    return jnp.ravel(lax.bitcast_convert_type(x, jnp.int32))


def _unpacked(words: Int[np.ndarray, " words"], like: PyTree) -> list[Any]:
    """What `_packed` was given: the first two numbers, and the rest if it is there."""
    _, _, *ended = like
    first = [int(words[0]), bool(words[1])]
    if not _fits_one_piece(ended):
        return first
    leaves, tree = jax.tree.flatten(ended)
    at, found = 2, []
    for x in leaves:
        part = words[at : (at := at + x.size * max(x.dtype.itemsize // 4, 1))]
        is_word = x.dtype.itemsize >= 4
        found.append((part.view(x.dtype) if is_word else part.astype(x.dtype)).reshape(x.shape))
    return [*first, *jax.tree.unflatten(tree, found)]


def _fits_one_piece(ended: PyTree) -> bool:
    leaves = jax.tree.leaves(ended)
    are_words = all(x.dtype.kind in ("biu" if x.dtype.itemsize < 4 else "iuf") for x in leaves)
    return are_words and nbytes_of(leaves) <= _MAX_ONE_PIECE


def _zeros(tree: PyTree, rows: int) -> PyTree:
    return jax.tree.map(lambda x: jnp.zeros((rows, *x.shape), x.dtype), tree)


def _write(buffer: PyTree, row: Int[Array, ""], values: PyTree) -> PyTree:
    return jax.tree.map(lambda b, x: b.at[row].set(x, mode="drop"), buffer, values)
