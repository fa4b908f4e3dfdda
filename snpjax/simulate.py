"""The loop over any machine: a pure function of a state, for `jit`, `vmap`, `grad` and
`shard_map`."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer, PyTree

from snpjax_formats.articles import kind_of

from ._text.conditions import elementwise
from ._xla import varying_with, widest_of
from .choice import AbstractChoice
from .lowering import check_choice
from .machine import AbstractMachine, AnyMachine, Leaping, Record, Stacked, follows, over_paths
from .results import RESULTS, select_result


# Copies of the step in the program of an unrolled loop: the counter of the loop is a kernel, too,
# and copies cost compilation.
_COPIES = 8

# Types of a path's scalars that are packed into one array between steps.
_NUMBERS = (np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16)
# These in rows, the rest of the state, and what `fold` has made of the steps.
_Packed: TypeAlias = tuple[Array, PyTree, PyTree]


class Simulation(NamedTuple):
    """What `simulate` computed.

    - `state`: the last state, with the axes of the first.
    - `steps`: steps made, `()` or `(paths,)`.
    - `result`: a `RESULTS`, likewise: how it ended.
    - `carry`: what `observe` made of it, or `None`.
    """

    state: PyTree
    steps: Int[Array, "*paths"]
    result: Any
    carry: PyTree


def simulate(
    machine: AnyMachine,
    state: PyTree,
    choice: AbstractChoice,
    /,
    *,
    max_steps: int | Int[Array, ""],
    observe: Callable[[Any, Any, Record], Any] | None = None,
    carry: PyTree = None,
    stop: Callable[[Any], Bool[Array, "*paths"]] | None = None,
    path: Integer[Array, "*paths"] | None = None,
    unroll: int = 1,
    differentiable: bool = False,
    checkpoint: bool = False,
) -> Simulation:
    """Run a machine from a state until it halts, stops or has made `max_steps` steps.

    It is a pure function and works under `jit`, `vmap`, `grad` (of what is differentiable), `scan`,
    `shard_map` and `jax.export`. `snpjax.run` makes the same steps, and saves their history on the
    host.

    **Arguments:**

    - `machine`: such as `snpjax.lower(system).machine`.
    - `state`: that of one path, `machine.init()`, or of many, with `paths` as the last axis of
      every array.
    - `choice`: path p uses `choice.for_path(p)`, as in `run`. A key is consumed.
    - `max_steps`: a number or a scalar array; a number if `differentiable`.
    - `observe`: `carry = observe(carry, state, record)` is called after each step with the new
      state and its `Record`. Where `record.made` is false, that path made no step and its record is
      empty: count nothing for it.
    - `carry`: the initial value of what `observe` accumulates.
    - `stop`: a condition on the state; a path for which it holds ends with `RESULTS.stopped`.
    - `path`: the numbers of the paths; by default 0 for one path, and 0, 1, ... for many.
    - `unroll`: steps per iteration of the loop, for tuning; never changes a result. On a GPU an
      iteration costs about 25 us besides its steps.
    - `differentiable`: allow derivatives in reverse mode, by a loop of exactly `max_steps`
      iterations.
    - `checkpoint`: compute each step twice instead of keeping its intermediate results, if
      `differentiable`.

    **Returns:** a `Simulation`.

    **Raises:** `TypeError` for something else than a machine or a choice; `ValueError` for a
    machine with 64-bit arrays outside `jax.enable_x64(True)`.
    """
    if not isinstance(machine, AbstractMachine | Stacked):
        raise TypeError(f"`machine` is {kind_of(machine)}. Give `snpjax.lower(model).machine`.")
    check_choice(choice)
    if widest_of(machine).itemsize == 8 and not jax.config.jax_enable_x64:  # pyright: ignore
        raise ValueError(
            "`machine` has 64-bit arrays. Call `simulate` inside `jax.enable_x64(True)`."
        )
    shape = jax.eval_shape(over_paths(lambda m, s: m.halted(s), machine), state).shape
    if path is None:
        path = jnp.arange(shape[0], dtype=jnp.uint32) if shape else jnp.zeros((), jnp.uint32)
    limit = jnp.asarray(max_steps, jnp.int32)
    stop = None if stop is None else elementwise(stop)
    if follows(machine, Leaping) and observe is None and stop is None and not differentiable:
        most = jnp.broadcast_to(limit, shape)
        state, steps, _ = machine.leap(state, choice.for_path(path), most, rows=None)
        return Simulation(state, steps, result_of(machine, state), carry)

    def fold(carry: PyTree, state: PyTree, record: Record, *_: Any) -> PyTree:
        return carry if observe is None else observe(carry, state, record)

    live = jnp.ones(shape, bool) if stop is None else ~stop(state)
    start = Progress(jnp.zeros((), jnp.int32), jnp.zeros(shape, jnp.int32), live, state, carry)
    flag = jnp.any(over_paths(lambda m, s: m.halted(s), machine)(state))
    start = jax.tree.map(partial(varying_with, flag), start)
    advance = advancing(machine, choice, path, limit, fold, unroll=unroll, stop=stop)
    if differentiable:
        turn = jax.checkpoint(advance) if checkpoint else advance
        turns = operator.index(max_steps)
        end, _ = lax.scan(lambda now, _: (turn(now), None), start, None, length=turns)
    else:
        end = looped(advance, start, limit, unroll=unroll)
    return Simulation(end.state, end.steps, result_of(machine, end.state, stop), end.carry)


class Progress(NamedTuple):
    """A run in progress.

    - `step`: steps made by the path that made most; all live paths are in lockstep.
    - `steps`: steps made by each path.
    - `live`: which paths continue.
    - `carry`: what `fold` has made of the steps.
    """

    step: Int[Array, ""]
    steps: Int[Array, "*paths"]
    live: Bool[Array, "*paths"]
    state: PyTree
    carry: PyTree


def looped(
    advance: Callable[[Progress], Progress],
    start: Progress,
    limit: Int[Array, ""],
    *,
    unroll: int,
) -> Progress:
    """`advance` while a path is live and `limit` is not reached, `unroll` times per iteration.

    Between steps the scalars of each path are packed into one array: on a GPU each would be a
    kernel of its own, which takes as long as one over thousands of neurons.
    """
    shape = start.steps.shape
    is_number = jax.tree.map(lambda x: x.shape == shape and x.dtype in _NUMBERS, start.state)
    likes, tree = jax.tree.flatten(eqx.filter(start.state, is_number))

    def pack(now: Progress) -> _Packed:
        numbers, rest = eqx.partition(now.state, is_number)
        first = [jnp.broadcast_to(now.step, shape), now.steps, now.live, *jax.tree.leaves(numbers)]
        return jnp.stack([x.astype(jnp.int32) for x in first]), rest, now.carry

    def unpack(packed: _Packed) -> Progress:
        (step, steps, live, *numbers), rest, carry = packed
        numbers = [x.astype(like.dtype) for x, like in zip(numbers, likes, strict=True)]
        state = eqx.combine(tree.unflatten(numbers), rest)
        return Progress(jnp.ravel(step)[0], steps, live != 0, state, carry)

    def is_running(packed: _Packed) -> Bool[Array, ""]:
        now = unpack(packed)
        return jnp.any(now.live) & (now.step < limit)

    copies = _COPIES if unroll % _COPIES == 0 else 1

    def advance_some(packed: _Packed):
        for _ in range(copies):
            packed = pack(advance(unpack(packed)))
        return packed

    def body(packed: _Packed):
        if unroll == copies:
            return advance_some(packed)
        # A loop of known length: no predicate is read back in it.
        return lax.fori_loop(0, unroll // copies, lambda _, some: advance_some(some), packed)

    return unpack(lax.while_loop(is_running, body, pack(start)))


def step_of(
    machine: AnyMachine, choice: AbstractChoice, state: PyTree, path: Integer[Array, "*paths"]
) -> tuple[PyTree, Record]:
    """A step of the paths of these numbers."""

    def step(machine, state, path):
        return machine.step(state, choice.for_path(path))

    return over_paths(step, machine)(state, path)


def advancing(
    machine: AnyMachine,
    choice: AbstractChoice,
    path: Integer[Array, "*paths"],
    limit: Int[Array, ""],
    fold: Callable[[Any, PyTree, Record, Int[Array, ""], Bool[Array, ""]], Any],
    *,
    unroll: int,
    make_step: Callable[..., tuple[PyTree, Record]] = step_of,
    stop: Callable[[Any], Bool[Array, "*paths"]] | None = None,
    refuse: Callable[[PyTree, PyTree], tuple[Bool[Array, ""], PyTree]] | None = None,
    is_real: Bool[Array, " paths"] | None = None,
) -> Callable[[Progress], Progress]:
    """The body of a loop: a step of all paths, none past `limit` where `unroll` is more than 1.

    `make_step` is `step_of` or does the same.
    `fold(carry, state, record, step, in_time)` gets the number of the step and whether it is
    within the limit. `refuse(state, new_state)` says whether the step must not be made, by any
    path, and what the state is then. `is_real` is false for the paths that pad a batch.
    """

    def advance(now: Progress) -> Progress:
        step, steps, live, state, carry = now
        new_state, record = make_step(machine, choice, state, path)
        in_time = step < limit  # an unrolled iteration may reach past the limit
        old_state = state
        made = record.made
        if stop is not None:
            made &= live
            new_state = jax.tree.map(lambda x, y: jnp.where(live, x, y), new_state, state)
            empty = jax.tree.map(jnp.zeros_like, record)
            record = jax.tree.map(lambda x, y: jnp.where(live, x, y), record, empty)
        is_refused = jnp.zeros((), bool)
        if refuse is not None:
            is_refused, refused = refuse(state, new_state)
            is_refused &= in_time
            old_state = jax.tree.map(lambda x, y: jnp.where(is_refused, x, y), refused, state)
            in_time &= ~is_refused
        if unroll > 1 or refuse is not None:
            new_state = jax.tree.map(lambda x, y: jnp.where(in_time, x, y), new_state, old_state)
        made = made & in_time
        carry = fold(carry, new_state, record._replace(made=made), step, in_time)
        if stop is not None:
            live = live & (record.made | ~in_time) & ~stop(new_state)
        else:
            live = record.made & ~is_refused
        if is_real is not None:
            live &= is_real
        return Progress(
            step + in_time.astype(jnp.int32), steps + made.astype(jnp.int32), live, new_state, carry
        )

    return advance


def result_of(
    machine: AnyMachine, state: PyTree, stop: Callable[[Any], Bool[Array, "*paths"]] | None = None
) -> Any:
    """How a run that is now in `state` ended: its failure, or whatever else ended it."""

    def result(machine, state):
        ended = select_result(machine.halted(state), RESULTS.halted, RESULTS.max_steps_reached)
        status = machine.status(state)
        return select_result(status == RESULTS.halted, ended, status), status

    found, status = over_paths(result, machine)(state)
    if stop is None:
        return found
    is_stopped = stop(state) & (status == RESULTS.halted)
    return select_result(is_stopped, RESULTS.stopped, found)
