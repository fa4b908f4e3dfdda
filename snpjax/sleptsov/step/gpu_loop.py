"""`event_loop` on a GPU: a program of one warp runs a path, so that no step waits for the host or
for the start of a kernel. All paths of a batch run at the same time."""

from collections.abc import Callable
from functools import partial

import jax
import jax.lax as lax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Int

from ..model.rules import AbstractRule, Petri
from .dependents import Dependents, level_starts
from .event_loop import OVERFLOW, UNBOUNDED, LoopState
from .program import NetProgram


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
    first = jax.tree.map(lambda x: x[None] if is_alone else jnp.moveaxis(x, -1, 0), start)
    rows = program.rows
    tables = (rows.starts, rows.place, rows.take, rows.gain, program.unbounded.astype(jnp.int32))
    tables += (dependents.starts, dependents.transition, dependents.flip, dependents.bound)
    goes_on = first.goes_on.astype(jnp.int32)
    given, tree = jax.tree.flatten(first._replace(goes_on=goes_on))
    outputs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in given]
    num_read = len(tables) + 1
    call = pl.pallas_call(
        partial(
            _kernel,
            tree=tree,
            levels=level_starts(program.num_transitions),
            nowhere=program.num_places,
            is_petri=isinstance(rule, Petri),
        ),
        out_shape=outputs,
        grid=(len(goes_on),),
        input_output_aliases={num_read + i: i for i in range(len(given))},
        compiler_params=plgpu.CompilerParams(num_warps=1, num_stages=1),
        interpret=interpret,
    )
    end = jax.tree.unflatten(tree, call(*tables, jnp.atleast_1d(most), *given))
    end = end._replace(goes_on=end.goes_on != 0)
    return jax.tree.map(lambda x: x[0] if is_alone else jnp.moveaxis(x, 0, -1), end)


def _kernel(*refs, tree, levels: list[int], nowhere: int, is_petri: bool) -> None:
    num_kept = tree.num_leaves
    starts, place, take, gain, unbounded, *dependents, most = refs[: -2 * num_kept]
    own: LoopState = jax.tree.unflatten(tree, refs[-num_kept:])  # outputs, which alias the inputs
    path = pl.program_id(0)
    dtype = own.marking.dtype
    largest = jnp.iinfo(dtype).max
    limit = most[path]

    def first_of_words():
        at = jnp.int32(0)
        for level in reversed(levels):
            word = own.words[path, level + at]
            at = at * 32 + (31 - lax.clz(word & -word))
        return at

    def bound(entry, copies):
        needed = take[entry]
        tokens = own.marking[path, place[entry]]
        several = lax.cond(
            needed <= 1, lambda: tokens, lambda: lax.div(tokens, jnp.maximum(needed, 1))
        )
        return jnp.where(needed > 0, jnp.minimum(copies, several), copies)

    def room(copies, entry, culprit):
        more, at = gain[entry], place[entry]
        left = largest - own.marking[path, at]
        several = lax.cond(more <= 1, lambda: left, lambda: lax.div(left, jnp.maximum(more, 1)))
        return jnp.where((more > 0) & (copies > several) & (culprit == nowhere), at, culprit)

    def advance(carry):
        made, _, _, _, _, _ = carry
        transition = first_of_words()
        begin, end = starts[transition], starts[transition + 1]
        copies = jnp.asarray(1, dtype)
        if not is_petri:
            copies = _loop(begin, end, bound, jnp.asarray(largest, dtype))
        culprit = _loop(begin, end, partial(room, copies), jnp.int32(nowhere))
        failure = (culprit < nowhere).astype(jnp.int32) * OVERFLOW
        if not is_petri:
            is_unbounded = unbounded[transition]  # 0 or 1
            failure = failure + is_unbounded * (UNBOUNDED - failure)
        fits = failure == 0

        def change(entry, zero):
            at = place[entry]
            old = own.marking[path, at]
            new = old + copies * gain[entry]
            own.marking[path, at] = new
            tell = partial(_tell, own, path, dependents, levels, old, new)
            last = jnp.where(new == old, dependents[0][at], dependents[0][at + 1])
            return _loop(dependents[0][at], last, tell, zero)

        _loop(begin, jnp.where(fits, end, begin), change, jnp.int32(0))
        if own.fired is not None:
            own.fired[path, transition] += fits.astype(jnp.int32)
        if own.trace is not None:
            own.trace[0][path, made] = jnp.where(fits, transition, 0)
            own.trace[1][path, made] = jnp.where(fits, copies, jnp.zeros_like(copies))
        goes_on = fits & (own.words[path, levels[-1]] != 0)
        return made + fits.astype(jnp.int32), goes_on, failure, transition, copies, culprit

    def goes_on(carry):
        return carry[1] & (carry[0] < limit)

    numbers = (own.made, own.failure, own.transition, own.multiplicity, own.place)
    made, *others = (ref[path] for ref in numbers)
    carry = (made, own.goes_on[path] != 0, *others)
    made, live, *others = lax.while_loop(goes_on, advance, carry)
    own.goes_on[path] = live.astype(jnp.int32)
    for ref, value in zip(numbers, (made, *others), strict=True):
        ref[path] = value


def _tell(own: LoopState, path, dependents, levels: list[int], old, new, arc, zero):
    """One dependent of a place is told of its tokens."""
    _, transition, flip, bound = dependents
    at = transition[arc]
    before, after = (old ^ flip[arc]) >= bound[arc], (new ^ flip[arc]) >= bound[arc]
    was = own.unsatisfied[path, at]
    now = was + before.astype(jnp.int32) - after.astype(jnp.int32)
    own.unsatisfied[path, at] = now
    changes = (was == 0) != (now == 0)

    def flip_bits():
        bit, is_changed = at, jnp.asarray(True)
        for level in levels:
            word = own.words[path, level + (bit >> 5)]
            changed = word ^ (is_changed.astype(jnp.int32) << (bit & 31))
            own.words[path, level + (bit >> 5)] = changed
            is_changed, bit = (word == 0) != (changed == 0), bit >> 5
        return zero

    return lax.cond(changes, flip_bits, lambda: zero)


def _loop(begin, end, body: Callable, start):
    """A loop of this many turns, which the compiler does not know."""

    def turn(carry):
        at, value = carry
        return at + 1, body(at, value)

    return lax.while_loop(lambda carry: carry[0] < end, turn, (begin, start))[1]
