"""`event_loop` on a GPU: a program of one warp runs its paths, a thread each, so that no step waits
for the host or for the start of a kernel."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import jax
import jax.lax as lax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Bool, Int, PyTree

from ..model.rules import AbstractRule, Petri
from .dependents import Dependents, level_starts
from .event_loop import OVERFLOW, UNBOUNDED, LoopState
from .program import NetProgram


T = TypeVar("T", bound=PyTree)

_THREADS = 32  # paths of a program: 8 take 1.3 to 1.5 times as long (bench/README.md)


def event_loop_on_gpu(
    program: NetProgram,
    dependents: Dependents,
    rule: AbstractRule,
    start: LoopState,
    most: Int[Array, "*paths"],
    *,
    interpret: bool = False,
) -> LoopState:
    """`event_loop` of one path or of all, by the first fireable transition.

    **Arguments:**

    - `interpret`: run the kernel without a GPU, for tests.
    """
    is_alone = start.made.ndim == 0
    first = start._replace(goes_on=start.goes_on.astype(jnp.int32))
    if is_alone:
        first, most = jax.tree.map(lambda x: x[..., None], (first, most))
    threads = None if is_alone else _THREADS
    rows = program.rows
    tables = (rows.starts, rows.place, rows.take, rows.gain, program.unbounded.astype(jnp.int32))
    tables += (dependents.starts, dependents.transition, dependents.flip, dependents.bound)
    given, tree = jax.tree.flatten(first)
    num_read = len(tables) + 1
    call = pl.pallas_call(
        partial(
            _kernel,
            tree=tree,
            levels=level_starts(program.num_transitions),
            nowhere=program.num_places,
            is_petri=isinstance(rule, Petri),
            threads=threads,
        ),
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in given],
        grid=(pl.cdiv(len(most), threads or 1),),
        input_output_aliases={num_read + i: i for i in range(len(given))},
        compiler_params=plgpu.CompilerParams(num_warps=1, num_stages=1),
        interpret=interpret,
    )
    end = jax.tree.unflatten(tree, call(*tables, most, *given))
    end = end._replace(goes_on=end.goes_on != 0)
    return jax.tree.map(lambda x: x[..., 0], end) if is_alone else end


def _kernel(
    *refs, tree, levels: list[int], nowhere: int, is_petri: bool, threads: int | None
) -> None:
    """All values are vectors with an element for each path of this program, or numbers where it is
    alone, which saves reductions."""
    num_kept = tree.num_leaves
    starts, place, take, gain, unbounded, *dependents, most = refs[: -2 * num_kept]
    own: LoopState = jax.tree.unflatten(tree, refs[-num_kept:])  # outputs, which alias the inputs
    path = pl.program_id(0)
    if threads is not None:
        path = path * threads + jnp.arange(threads, dtype=jnp.int32)
    inside = path < len(most)
    dtype = own.marking.dtype
    largest = jnp.iinfo(dtype).max
    limit = _get(most, path, inside)

    def first_of_words(live):
        at = jnp.zeros_like(path)
        for level in reversed(levels):
            word = _get(own.words, (level + at, path), live)
            at = at * 32 + (31 - lax.clz(word & -word))
        return at

    def bound(entry, is_one, copies):
        needed = _get(take, entry, is_one)
        tokens = _get(own.marking, (_get(place, entry, is_one), path), is_one)
        return jnp.where(needed > 0, jnp.minimum(copies, _quotient(tokens, needed)), copies)

    def room(copies, entry, is_one, culprit):
        more, at = _get(gain, entry, is_one), _get(place, entry, is_one)
        several = _quotient(largest - _get(own.marking, (at, path), is_one), more)
        return jnp.where((more > 0) & (copies > several) & (culprit == nowhere), at, culprit)

    def change(copies, entry, is_one, zero):
        at = _get(place, entry, is_one)
        old = _get(own.marking, (at, path), is_one)
        new = old + copies * _get(gain, entry, is_one)
        _put(own.marking, (at, path), new, is_one)
        begin, end = _get(dependents[0], at, is_one), _get(dependents[0], at + 1, is_one)
        end = jnp.where(new == old, begin, end)
        return _loop(begin, end, partial(_tell, own, path, dependents, levels, old, new), zero)

    def advance(carry):
        made, goes_on, *others = carry
        live = goes_on & (made < limit)
        transition = first_of_words(live)
        begin, end = _get(starts, transition, live), _get(starts, transition + 1, live)
        copies = jnp.ones_like(path, dtype)
        if not is_petri:
            copies = _loop(begin, end, bound, jnp.full_like(copies, largest))
        culprit = _loop(begin, end, partial(room, copies), jnp.full_like(path, nowhere))
        failure = (culprit < nowhere).astype(jnp.int32) * OVERFLOW
        if not is_petri:
            is_unbounded = _get(unbounded, transition, live) != 0
            failure = jnp.where(is_unbounded, UNBOUNDED, failure)
        fits = live & (failure == 0)
        _loop(begin, jnp.where(fits, end, begin), partial(change, copies), jnp.int32(0))
        if own.fired is not None:
            fired = _get(own.fired, (transition, path), fits)
            _put(own.fired, (transition, path), fired + 1, fits)
        if own.trace is not None:
            _put(own.trace[0], (made, path), jnp.where(fits, transition, 0), live)
            _put(own.trace[1], (made, path), jnp.where(fits, copies, 0), live)
        root = _get(own.words, (jnp.full_like(path, levels[-1]), path), live)
        now = (failure, transition, copies, culprit)
        now = (jnp.where(live, x, y) for x, y in zip(now, others, strict=True))
        is_over = live & ~(fits & (root != 0))
        return made + fits.astype(jnp.int32), goes_on & ~is_over, *now

    def some_go_on(carry):
        return _any(carry[1] & (carry[0] < limit))

    numbers = (own.made, own.failure, own.transition, own.multiplicity, own.place)
    made, *others = (_get(ref, path, inside) for ref in numbers)
    live = _get(own.goes_on, path, inside) != 0
    made, live, *others = lax.while_loop(some_go_on, advance, (made, live, *others))
    _put(own.goes_on, path, live.astype(jnp.int32), inside)
    for ref, value in zip(numbers, (made, *others), strict=True):
        _put(ref, path, value, inside)


def _tell(own: LoopState, path, dependents, levels: list[int], old, new, arc, is_one, zero):
    """One dependent of a place is told of its tokens."""
    _, transition, flip, bound = dependents
    at, flip, bound = (_get(ref, arc, is_one) for ref in (transition, flip, bound))
    before, after = (old ^ flip) >= bound, (new ^ flip) >= bound
    was = _get(own.unsatisfied, (at, path), is_one)
    now = was + before.astype(jnp.int32) - after.astype(jnp.int32)
    _put(own.unsatisfied, (at, path), now, is_one)
    changes = is_one & ((was == 0) != (now == 0))

    def flip_bits():
        bit, is_changed = at, changes
        for level in levels:
            where = (level + (bit >> 5), path)
            word = _get(own.words, where, is_changed)
            changed = word ^ (1 << (bit & 31))
            _put(own.words, where, changed, is_changed)
            is_changed, bit = is_changed & ((word == 0) != (changed == 0)), bit >> 5
        return zero

    return lax.cond(_any(changes), flip_bits, lambda: zero)


def _get(ref, at, mask: Bool[Array, "*paths"]) -> Array:
    """Numbers; a path alone reads only where there is one."""
    return plgpu.load(ref.at[at], mask=mask, other=0) if mask.ndim else ref[at]


def _put(ref, at, values: Array, mask: Bool[Array, "*paths"]) -> None:
    plgpu.store(ref.at[at], values, mask=mask)


def _any(some: Bool[Array, "*paths"]) -> Bool[Array, ""]:
    return jnp.max(some.astype(jnp.int32)) > 0 if some.ndim else some


def _most(numbers: Int[Array, "*paths"]) -> Int[Array, ""]:
    return jnp.max(numbers) if numbers.ndim else numbers


def _quotient(tokens: Int[Array, "*paths"], weight: Int[Array, "*paths"]) -> Int[Array, "*paths"]:
    """Most weights are 1, and a division takes longer than all else."""
    return lax.cond(
        _any(weight > 1), lambda: lax.div(tokens, jnp.maximum(weight, 1)), lambda: tokens
    )


def _loop(begin: Array, end: Array, body: Callable[[Array, Array, T], T], start: T) -> T:
    """A loop over the entries of each path, as many turns as the most have. `body` is given an
    entry of each path, and which paths have one."""

    def turn(carry):
        number, value = carry
        entry = begin + number
        return number + 1, body(entry, entry < end, value)

    most = _most(end - begin)
    return lax.while_loop(lambda carry: carry[0] < most, turn, (jnp.int32(0), start))[1]
