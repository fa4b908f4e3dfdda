"""The one driver: run a machine to its halt, one path or a batch, saving what is asked for."""

import operator
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt32

from snpjax_formats import bucket

from .choice import AbstractChoice, FirstChoice, knows_numbers
from .machine import AbstractMachine, Leaping, Model, Record, Sparing, Stacked, Started
from .precision import precision_of
from .results import RESULTS, select_result


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

# Copies of the step in the program of an unrolled loop: the counter of the loop is a kernel, too,
# and copies cost compilation.
_COPIES = 8


@dataclass(frozen=True, kw_only=True)
class Save:
    """What a run keeps besides the final state.

    **Arguments:**

    - `every`: keep the configuration after every n-th step; `None` keeps none.
    - `outputs`: keep what went to the environment in every step.
    - `details`: keep how every step was made (chosen rules, emissions).
    - `budget`: bytes of host memory for all of it. A run that outgrows it goes on, drops what is
      largest (outputs last, the final state never), and says so by a `HistoryDropped` warning.
    """

    every: int | None = 1
    outputs: bool = True
    details: bool = True
    budget: int = 2**30

    def __post_init__(self) -> None:
        if self.every is not None and self.every < 1:
            raise ValueError(f"`every` is {self.every}. Give a number of steps, or None.")

    @property
    def keeps_history(self) -> bool:
        """Whether anything besides the final state is kept."""
        return self.every is not None or self.outputs or self.details


SAVE_ALL = Save()
SAVE_OUTPUTS = Save(every=None, details=False)
SAVE_FINAL = Save(every=None, outputs=False, details=False)


class HistoryDropped(UserWarning):
    """A run's history outgrew `Save(budget=...)`, and a part of it was dropped.

    `kept` says in words what was not.
    """

    def __init__(self, message: str, kept: str):
        super().__init__(message, kept)
        self.message, self.kept = message, kept

    def __str__(self) -> str:
        return self.message


class RunFailed(RuntimeError):
    """A run that ended in a failure; `solution` holds what there is of it."""

    def __init__(self, message: str, solution: Any):
        super().__init__(message)
        self.solution = solution


@runtime_checkable
class Growable(Protocol):
    """A machine with a limited room, of which there can be more."""

    def is_full(self, state: PyTree) -> Bool[Array, "*paths"]:
        """Whether the step to this state, or from it, failed for want of room."""
        ...

    def refused(self, state: PyTree, failed: PyTree) -> PyTree:
        """`state`, failed as what should have followed it."""
        ...

    def grown(self, state: PyTree) -> tuple[AbstractMachine, PyTree]:
        """The machine and a refused state with more room, ready to go on."""
        ...


@dataclass(frozen=True)
class Trajectory:
    """What a run saved, as host arrays in the machine's own (padded) shapes; a model reads its
    solution from it.

    Axes: the path axis is last in every array and absent for a single path; the step axis is first
    in histories.

    - `initial`: the state before the first step, `None` where `states` is.
    - `final`: the state after the last step.
    - `states`: the state after every `every`-th step, or `None` if not saved.
    - `outputs`, `details`: those parts of every step's `Record`, or `None`. Rows after a path's
      halt are empty records.
    - `steps`: steps made, `()` or `(paths,)`.
    - `result`: `RESULTS`, likewise.
    """

    initial: PyTree | None
    final: PyTree
    states: PyTree | None
    outputs: PyTree | None
    details: PyTree | None
    every: int | None
    steps: Int[np.ndarray, "*paths"]
    result: Any


def run(
    model: Model,
    /,
    *,
    max_steps: int = 4096,
    choice: AbstractChoice = FirstChoice(),  # noqa: B008 (a frozen object)
    paths: int | None = None,
    layout: Any = "auto",
    count_dtype: np.dtype | type | None = None,
    faithful: bool = False,
    save: Save | None = None,
    grow: bool = True,
    throw: bool = True,
    unroll: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """Run `model` until it halts or `max_steps` steps are made.

    **Arguments:**

    - `model`: a `SpikingSystem`, or anything with `lower` and `solution`.
    - `max_steps`: reaching it is no failure; `solution.result` tells.
    - `choice`: `FirstChoice()`, `UniformChoice(key)`, `WeightedChoice(logits, key)` or
      `GivenChoices(rules)`. A key is consumed.
    - `paths`: run that many paths as one batch; path p uses `choice.for_path(p)`. `None` is path 0
      alone.
    - `layout`: how the model is stored: a layout class of `snpjax_formats`, or what else the
      model's `lower` takes (`snpjax.spiking.Transition`); by default what suits it. The integers do
      not depend on it.
    - `count_dtype`: `numpy.int32` or `numpy.int64`; by default the least that is safe.
    - `faithful`: keep every rule of the model as an alternative of its own, where lowering would
      merge some; the configurations do not depend on it.
    - `save`: see `Save`. By default one path keeps everything, a batch its outputs and the final
      configuration.
    - `grow`: where a system that divides outgrows its room, take twice as much, compile anew and go
      on from the same state; otherwise that is a failure. The configurations do not depend on it.
    - `throw`: raise `RunFailed` for a failure (overflow, a refused choice); otherwise it is in
      `solution.result`.
    - `unroll`: steps per loop iteration, for tuning; never changes a result.
    - `progress`: called with the number of steps made, about twice a second.

    **Returns:** what `model.solution` makes of the trajectory: a `Solution`.

    **Raises:** `RunFailed`, whose `solution` holds the run up to there; `ValueError` for arguments
    that make no sense.
    """
    if not isinstance(model, Model):
        raise TypeError(
            f"`model` is a {type(model).__name__}. Give a system; read a file with `snpjax.read`."
        )
    max_steps = operator.index(max_steps)
    paths = None if paths is None else operator.index(paths)
    if not 0 <= max_steps <= _MAX_STEPS:
        raise ValueError(f"`max_steps` is {max_steps}. Give 0 to {_MAX_STEPS} steps.")
    if paths is not None and paths < 1:
        raise ValueError(f"`paths` is {paths}. Give 1 or more paths, or None for a single run.")
    if unroll is not None and unroll < 1:
        raise ValueError(f"`unroll` is {unroll}. Give 1 or more steps.")
    machine = model.lower(
        layout=layout,
        count_dtype=count_dtype,
        faithful=faithful,
        numbered=knows_numbers(choice),
        max_steps=max_steps,
    )
    if isinstance(machine, Stacked | Started):
        if paths is not None:
            raise ValueError(
                "Each system of a batch is one path. Leave `paths` out, and list a system several "
                "times for several paths of it."
            )
        paths = machine.num_paths
    if save is None and isinstance(model, Sparing):
        save = model.default_save(paths)
    if save is None:
        save = SAVE_ALL if paths is None else SAVE_OUTPUTS
    with precision_of(machine):
        trajectory = _drive(machine, choice, paths, max_steps, save, grow, unroll, progress)
    solution = model.solution(trajectory)
    if throw and solution.failure is not None:
        raise RunFailed(solution.failure, solution)
    return solution


def _drive(
    machine: AbstractMachine | Stacked | Started,
    choice: AbstractChoice,
    paths: int | None,
    max_steps: int,
    save: Save,
    grow: bool,
    unroll: int | None,
    progress: Callable[[int], None] | None,
) -> Trajectory:
    """Advance chunk by chunk, moving histories to the host after each."""
    grow = grow and isinstance(machine, Growable)
    longest = bucket(max_steps, at_least=64)
    initial, path, step, steps, rows = _init(machine, choice, paths, longest, save)
    machine = machine.machine if isinstance(machine, Started) else machine
    rows = int(rows) if save.keeps_history else _MAX_STEPS
    unroll = unroll or _unroll(initial)
    state, made = initial, 0
    history = _History(save)
    steps_per_call = _FIRST_CALL_STEPS
    if isinstance(machine, Leaping):
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
            rows=rows,
            save=history.wanted,
            grow=grow,
            unroll=unroll,
        )
        kept = machine.kept(state) if isinstance(machine, Leaping) else state
        now, is_live, *ended = _unpacked(np.asarray(small), (step, step, kept, steps, result))
        elapsed = max(time.perf_counter() - began, 1e-6)
        history.append(chunk, now - made, now // every - made // every)
        if progress is not None:
            progress(now)
        made = now
        if grow and now < max_steps and not is_live:
            assert isinstance(machine, Growable)
            if np.any(machine.is_full(state)):
                machine, state = machine.grown(state)
                continue
        if now >= max_steps or not is_live:
            break
        steps_per_call = int(min(1e9, max(1, steps_per_call * _SECONDS_PER_CALL / elapsed)))
    state, steps, result = ended or jax.device_get((kept, steps, result))
    initial = None if history.wanted.every is None else jax.device_get(initial)
    # The last rows may be those of a step in which every path had already halted.
    states, outputs, details = history.finish(int(np.max(steps, initial=0)))
    return Trajectory(
        initial, state, states, outputs, details, history.wanted.every, np.asarray(steps), result
    )


@partial(jax.jit, static_argnames=("paths", "longest", "save"))
def _init(
    machine: AbstractMachine | Stacked | Started,
    choice: AbstractChoice,
    paths: int | None,
    longest: int,
    save: Save,
) -> tuple[PyTree, UInt32[Array, "*paths"], Int[Array, ""], Int[Array, "*paths"], Int[Array, ""]]:
    """The initial state of every path, the paths' numbers, no steps made, and how many rows of
    history to keep on the device."""
    path = jnp.zeros((), jnp.uint32)
    if isinstance(machine, Stacked):
        initial = eqx.filter_vmap(lambda m: m.init(), in_axes=_LAST, out_axes=-1)
        state = initial(machine.machine)
    elif isinstance(machine, Started):
        state, machine = machine.states, machine.machine
    else:
        state = machine.init()
        if paths is not None:
            state = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, paths)), state)
    if paths is not None:
        path = jnp.arange(paths, dtype=jnp.uint32)
    rows = _rows_on_device(machine, choice, state, path, longest, save)
    zero = jnp.zeros((), jnp.int32)
    return state, path, zero, jnp.zeros(path.shape, jnp.int32), jnp.asarray(rows, jnp.int32)


def _unroll(state: PyTree) -> int:
    """Steps per loop iteration, unless they are given."""
    if jax.default_backend() == "cpu":
        return 1
    size = _nbytes(state)
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
    _, record = jax.eval_shape(_stepper(machine, choice), state, path)
    states, *records = _saved(save, state, record)
    row_bytes = _nbytes(records) + _nbytes(states) / (save.every or 1)
    return max(int(min(longest, _MAX_CHUNK_ROWS, _MAX_CHUNK_BYTES // max(row_bytes, 1))), 1)


def _result(machine: AbstractMachine | Stacked, state: PyTree) -> Any:
    def result(machine, state):
        status = machine.status(state)
        ended = select_result(machine.halted(state), RESULTS.halted, RESULTS.max_steps_reached)
        return select_result(status == RESULTS.halted, ended, status)

    return _over_paths(result, machine)(state)


def _stepper(machine: AbstractMachine | Stacked, choice: AbstractChoice) -> Callable:
    """(state, path) -> (new state, record)."""

    def step(machine, state, path):
        return machine.step(state, choice.for_path(path))

    return _over_paths(step, machine)


#: The axis of the paths in the arrays of stacked machines.
_LAST = eqx.if_array(-1)


def _over_paths(function: Callable, machine: AbstractMachine | Stacked) -> Callable:
    """`function(machine, state, ...)` as a function of what follows the machine. A machine takes
    the paths of states, which are last, and of path numbers; stacked ones are mapped over them."""
    if isinstance(machine, Stacked):
        mapped = eqx.filter_vmap(function, in_axes=_LAST, out_axes=-1)
        return partial(mapped, machine.machine)
    return partial(function, machine)


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
    *,
    rows: int,
    save: Save,
    grow: bool,
    unroll: int,
):
    """At most `rows` steps, up to `limit`: the loop that owns the path axis.

    All paths are in lockstep, so that one scalar row index serves the history of every path; a
    halted path writes the fixed point it stays in. So no select over a buffer is ever made, as
    there would be under `vmap(while_loop)`. With `grow`, a step for which one path has no room is
    made by none, and the last.
    """
    if isinstance(machine, Leaping):
        return _leap_on(machine, choice, step, steps, state, path, limit, rows=rows, save=save)
    one_step = _stepper(machine, choice)
    every = save.every or 1
    state_rows = rows // every + 1  # at most this many of `rows` steps are kept
    start = step

    copies = _COPIES if unroll % _COPIES == 0 else 1
    pack, unpack = _packing(state, steps.shape)

    def body(carry):
        # A loop of known length: no predicate is read back in it.
        return lax.fori_loop(0, unroll // copies, lambda _, carry: advance_some(carry), carry)

    def advance_some(carry):
        for _ in range(copies):
            carry = advance(carry)
        return carry

    def advance(carry):
        step, steps, live, state, buffers = unpack(carry)
        new_state, record = one_step(state, path)
        in_time = step < limit  # an unrolled iteration may reach past the limit
        old_state = state
        if grow:
            assert isinstance(machine, Growable)
            is_full = jnp.any(machine.is_full(new_state))
            in_time &= ~is_full
            old_state = jax.tree.map(
                lambda x, y: jnp.where(is_full, x, y), machine.refused(state, new_state), state
            )
        if unroll > 1 or grow:
            new_state = jax.tree.map(lambda x, y: jnp.where(in_time, x, y), new_state, old_state)
        row = jnp.where(in_time, step - start, rows)  # past the end: dropped
        is_kept = in_time & ((step + 1) % every == 0)
        state_row = jnp.where(is_kept, (step + 1) // every - 1 - start // every, state_rows)

        states, *records = _saved(save, new_state, record)
        states_buffer, *record_buffers = buffers
        buffers = (
            _write(states_buffer, state_row, states),
            *(_write(buffer, row, x) for buffer, x in zip(record_buffers, records, strict=True)),
        )
        made = (record.made & in_time).astype(jnp.int32)
        live = record.made & in_time if grow else record.made
        return pack(step + in_time.astype(jnp.int32), steps + made, live, new_state, buffers)

    def is_running(carry):
        step, _, live, _, _ = unpack(carry)
        return jnp.any(live) & (step < limit)

    _, record = jax.eval_shape(one_step, state, path)
    states, *records = _saved(save, state, record)
    buffers = (_zeros(states, state_rows), *(_zeros(record, rows) for record in records))
    carry = pack(step, steps, jnp.ones(steps.shape, bool), state, buffers)
    step, steps, live, state, buffers = unpack(lax.while_loop(is_running, body, carry))
    result = _result(machine, state)
    small = _packed(step, jnp.any(live).astype(jnp.int32), state, steps, result)
    return step, steps, state, result, small, buffers


def _leap_on(
    machine: Leaping,
    choice: AbstractChoice,
    step: Int[Array, ""],
    steps: Int[Array, "*paths"],
    state: PyTree,
    path: UInt32[Array, "*paths"],
    limit: Int[Array, ""],
    *,
    rows: int,
    save: Save,
):
    """As `_advance`, of a machine that makes its steps itself: up to the limit at once, or up to
    the next state that is kept."""
    choice = choice.for_path(path)
    every = save.every or 1
    start = step

    def leap(state, most, rows):
        state, made, details = machine.leap(
            state, choice, most, rows=rows if save.details else None
        )
        # A path that makes less than it may is at its end.
        return state, made, made == most, details

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
    result = _result(machine, state)
    ended = (machine.kept(state), steps, result)
    small = _packed(step, jnp.any(live).astype(jnp.int32), *ended)
    return step, steps, state, result, small, (states, None, details)


# What a call ends with is moved to the host in one piece up to so many bytes: on a GPU each piece
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
    return are_words and _nbytes(leaves) <= _MAX_ONE_PIECE


def _packing(state: PyTree, shape: tuple[int, ...]) -> tuple[Callable, Callable]:
    """Functions that put a step's numbers of one path into one array, and take them out again.

    On a GPU each number would be a kernel of its own, which takes as long as one over thousands of
    neurons.
    """
    leaves, tree = jax.tree.flatten(state)
    is_number = [x.shape == shape and x.dtype.itemsize <= 4 for x in leaves]
    dtypes = [x.dtype for x in leaves]

    def pack(step, steps, live, state, buffers):
        leaves = jax.tree.leaves(state)
        numbers = [x for x, packed in zip(leaves, is_number, strict=True) if packed]
        first = [jnp.broadcast_to(step, shape), steps, live, *numbers]
        rest = [x for x, packed in zip(leaves, is_number, strict=True) if not packed]
        return jnp.stack([x.astype(jnp.int32) for x in first]), rest, buffers

    def unpack(carry):
        packed, rest, buffers = carry
        step, steps, live, *numbers = packed
        numbers, rest = iter(numbers), iter(rest)
        leaves = [
            next(numbers).astype(dtype) if packed else next(rest)
            for packed, dtype in zip(is_number, dtypes, strict=True)
        ]
        state = jax.tree.unflatten(tree, leaves)
        return jnp.ravel(step)[0], steps, live != 0, state, buffers

    return pack, unpack


def _zeros(tree: PyTree, rows: int) -> PyTree:
    return jax.tree.map(lambda x: jnp.zeros((rows, *x.shape), x.dtype), tree)


def _write(buffer: PyTree, row: Int[Array, ""], values: PyTree) -> PyTree:
    return jax.tree.map(lambda b, x: b.at[row].set(x, mode="drop"), buffer, values)


class _History:
    """Chunks of history on the host, within a budget: what is largest goes first, outputs last."""

    def __init__(self, save: Save):
        self.wanted = save
        self.budget = save.budget
        self.chunks: list[tuple[PyTree, PyTree, PyTree]] = []

    def append(self, chunk: tuple[PyTree, PyTree, PyTree], num_rows: int, num_states: int) -> None:
        states, outputs, details = chunk
        self.chunks.append(
            (
                jax.tree.map(lambda x: np.asarray(x)[:num_states].copy(), states),
                jax.tree.map(lambda x: np.asarray(x)[:num_rows].copy(), outputs),
                jax.tree.map(lambda x: np.asarray(x)[:num_rows].copy(), details),
            )
        )
        if _nbytes(self.chunks) <= self.budget:
            return
        kept = "the outputs and the final configuration"
        self._keep(outputs=self.wanted.outputs)
        if _nbytes(self.chunks) > self.budget or not self.wanted.outputs:
            kept = "the final configuration"
            self._keep(outputs=False)
        message = (
            f"The history of this run outgrew its budget of {self.budget} bytes; kept: {kept}. "
            "Try `Save(every=...)`, or a larger `Save(budget=...)`."
        )
        warnings.warn(HistoryDropped(message, kept), stacklevel=4)

    def _keep(self, *, outputs: bool) -> None:
        """Drop everything, except the outputs if asked."""
        self.wanted = Save(every=None, outputs=outputs, details=False, budget=self.budget)
        self.chunks = [(None, kept, None) for _, kept, _ in self.chunks] if outputs else []

    def finish(self, steps: int) -> tuple[PyTree | None, PyTree | None, PyTree | None]:
        """The chunks joined and cut to `steps` steps; `None` for what was not kept."""
        if not self.chunks:
            return None, None, None
        parts = zip(*self.chunks, strict=True)
        states, outputs, details = (jax.tree.map(_joined, *part) for part in parts)
        num_states = steps // (self.wanted.every or 1)
        return (
            jax.tree.map(lambda x: x[:num_states], states),
            jax.tree.map(lambda x: x[:steps], outputs),
            jax.tree.map(lambda x: x[:steps], details),
        )


def _joined(*chunks: np.ndarray) -> np.ndarray:
    """Chunks of a history one after the other, with zeros where a machine had less room."""
    shape = np.max([chunk.shape[1:] for chunk in chunks], axis=0, initial=0).astype(int).tolist()
    widths = [
        [(0, 0), *((0, m - n) for m, n in zip(shape, x.shape[1:], strict=True))] for x in chunks
    ]
    padded = (
        np.pad(x, width) if any(map(any, width)) else x
        for x, width in zip(chunks, widths, strict=True)
    )
    return np.concatenate(list(padded))


def _nbytes(tree: PyTree) -> int:
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree))
