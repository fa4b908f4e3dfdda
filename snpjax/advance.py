"""Many steps in one call to the device: of one path, of many, or of the paths of every device."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Int, PyTree, UInt32

from ._tiered import tiered
from ._xla import Parcel, shard_map
from .choice import AbstractChoice
from .machine import (
    AnyMachine,
    Growable,
    Leaping,
    Partitioned,
    Record,
    Striding,
    arrays_by_path,
    follows,
    over_paths,
)
from .results import RESULTS
from .scale.mesh import replicated
from .scale.paths import shardings
from .scale.placement import Placement
from .simulate import Progress, advancing, looped, result_of, step_of
from .trajectory import Flat, Save, nbytes_of


#: The rows of history of one call take at most these bytes.
MAX_CHUNK_BYTES = 64 * 2**20


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


spread = tiered(static_argnames=("paths",))(_spread_all)


def spread_over(
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


# Traced once, for the shapes of what is saved and for the loop.
_step = jax.jit(step_of, inline=True)


def _saved(save: Save, state: PyTree, record: Record) -> tuple[PyTree, PyTree, PyTree]:
    return (
        None if save.every is None else state,
        record.output if save.outputs else None,
        record.detail if save.details else None,
    )


def advance_all(
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
    history; and for the host: the steps made by then, whether a path continues, whether one failed,
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
        saved, row_bytes = row_of(machine, choice, state, path, save)
        rows = max(int(min(longest, MAX_CHUNK_BYTES // max(row_bytes, 1))), 1)
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
    ended = None if lean else end_of(machine, end.state, end.steps)
    chunk = tuple(Flat.of(part) for part in end.carry)
    is_failed = over_paths(lambda m, s: m.status(s) != RESULTS.halted, machine)(end.state)
    parcel = Parcel.of((end.step, jnp.any(end.live), jnp.any(is_failed), ended, chunk))
    return end.state, None if is_single else end.steps, parcel


def end_of(
    machine: AnyMachine, state: PyTree, steps: Int[Array, "*paths"]
) -> tuple[PyTree, Int[Array, "*paths"], Any]:
    """How paths stand, for the host."""
    kept = machine.kept(state) if follows(machine, Leaping) else state
    return kept, steps, result_of(machine, state)


def row_of(
    machine: AnyMachine,
    choice: AbstractChoice,
    state: PyTree,
    path: UInt32[Array, "*paths"],
    save: Save,
) -> tuple[tuple[PyTree, PyTree, PyTree], float]:
    """The shapes of what is saved of a step, and the bytes of that on average."""
    _, record = jax.eval_shape(_step, machine, choice, state, path)
    states, *records = saved = _saved(save, state, record)
    return saved, nbytes_of(records) + nbytes_of(states) / (save.every or 1)


STATIC = ("longest", "save", "grow", "unroll", "lean")
advance = tiered(static_argnames=STATIC)(advance_all)


@partial(jax.jit, static_argnames=(*STATIC, "place"))
def advance_on_devices(
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
        state, steps, parcel = advance_all(*given, **static)
        return state, steps, jax.tree.map(lambda x: x[None], parcel)

    states = place.of_state(machine, state)
    split = place.of_machine(machine), PartitionSpec(), states, *[place.each] * 4
    return shard_map(
        of_device,
        mesh=place.mesh,
        in_specs=split,
        out_specs=(states, place.each, place.stacked),
    )(machine, choice, state, made, steps, path, num_paths)


def structures_of(
    machine: AnyMachine,
    choice: AbstractChoice,
    state: PyTree,
    save: Save,
    place: Placement | None,
    *,
    has_paths: bool,
) -> tuple[PyTree, tuple[Flat, Flat, Flat]]:
    """What a call will bring to the host, without making it: how paths stand, and a chunk of
    history, as trees without arrays."""
    static: dict[str, Any] = {"longest": 1, "save": save, "grow": False, "unroll": 1, "lean": False}
    call: Any = advance_all
    path, steps, own, devices = None, None, None, 1
    if follows(machine, Partitioned):
        assert place is not None
        call, devices = partial(advance_on_devices, place=place), place.shares
        if has_paths:
            own = np.ones(devices, np.int32)
            machine, state, path, steps = spread_over(place, machine, state, np.uint32(0), devices)
    elif shape := paths_of(machine, state):
        path, steps = np.zeros(shape, np.uint32), np.zeros(shape, np.int32)
    made = np.zeros(2 * devices, np.int32)
    given = machine, choice, state, made, steps, path, own
    parcel = jax.eval_shape(partial(call, **static), *given)[2]
    *_, stand, chunk = jax.tree.unflatten(parcel.tree, [0] * parcel.tree.num_leaves)
    return stand, chunk


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
