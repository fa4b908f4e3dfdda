"""Many steps of one path of a net, event by event: scalar code, all of it one kernel on CPUs.

XLA fuses a cheap read into every user of what was read. If one of those comes after a write to the
same array, the array is copied first, in every step: 20 us instead of 0.4 for a net of 45,302
transitions (jax 0.10.2, CPU, 2026-11). So whatever is read before a write is read in a branch, into
which nothing is fused, and each array is written once after that.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree

from ...choice import AbstractChoice, FirstChoice
from ..model.rules import AbstractRule, Petri
from .candidates import rank_of
from .dependents import Dependents, level_starts
from .program import NetProgram


T = TypeVar("T", bound=PyTree)


class LoopState(NamedTuple):
    """A path on its way.

    - `made`: steps made since the loop began.
    - `goes_on`: whether something is fireable, and nothing failed.
    - `failure`: 0 for none, 1 for an unbounded multiplicity, 2 for an overflow.
    - `trace`: the transition and multiplicity of every step since the loop began, or `None`.
    """

    made: Int[Array, ""]
    marking: Int[Array, " places"]
    unsatisfied: Int[Array, " transitions"]
    words: Int[Array, " words"]
    fired: Int[Array, " transitions"] | None
    goes_on: Bool[Array, ""]
    failure: Int[Array, ""]
    transition: Int[Array, ""]
    multiplicity: Int[Array, ""]
    place: Int[Array, ""]
    trace: tuple[Int[Array, " steps"], Int[Array, " steps"]] | None


UNBOUNDED, OVERFLOW = 1, 2


def event_loop(
    program: NetProgram,
    dependents: Dependents,
    rule: AbstractRule,
    choice: AbstractChoice,
    start: LoopState,
    step: Int[Array, ""],
    most: Int[Array, ""],
) -> LoopState:
    """At most `most` steps more, the first one after `step` steps."""

    def stored(function: Callable[[], T]) -> T:
        shapes = jax.eval_shape(function)
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        return lax.cond(most > 0, function, lambda: zeros)  # always true inside the loop

    def advance(now: LoopState) -> LoopState:
        rows = program.rows

        def head():
            if isinstance(choice, FirstChoice):
                transition = _first(program, now.words)
            else:
                transition = _drawn(program, choice, now.unsatisfied, step + now.made)
            copies, failure, place = _multiplicity(program, rule, now.marking, transition)
            begin, end = _get(rows.starts, transition), _get(rows.starts, transition + 1)
            end = jnp.where(failure == 0, end, begin)
            return transition, copies, failure, place, begin, end

        transition, copies, failure, place, begin, end = stored(head)
        fits = failure == 0

        def change(entry, carry):
            marking, unsatisfied, words = carry

            def read():
                at = _get(rows.place, entry)
                old = _get(marking, at)
                new = old + copies * _get(rows.gain, entry)
                return at, old, new, _get(dependents.starts, at), _get(dependents.starts, at + 1)

            at, old, new, first, last = stored(read)
            # Where nothing changes nobody is told.
            last = jnp.where(new == old, first, last)
            marking = _put(marking, at, new)

            def tell(arc, carry):
                return _told(program, dependents, carry, arc, old, new, stored)

            unsatisfied, words = lax.fori_loop(first, last, tell, (unsatisfied, words))
            return marking, unsatisfied, words

        state = (now.marking, now.unsatisfied, now.words)
        marking, unsatisfied, words = lax.fori_loop(begin, end, change, state)
        fired, trace = now.fired, now.trace
        if fired is not None:
            before = fired
            number = stored(lambda: _get(before, transition) + fits.astype(jnp.int32))
            fired = _put(fired, transition, number)
        if trace is not None:
            # A step that fails writes where no step is counted, or is the last there is room for.
            row = now.made
            trace = (
                _put(trace[0], row, jnp.where(fits, transition, 0)),
                _put(trace[1], row, jnp.where(fits, copies, jnp.zeros_like(copies))),
            )
        return LoopState(
            made=now.made + fits.astype(jnp.int32),
            marking=marking,
            unsatisfied=unsatisfied,
            words=words,
            fired=fired,
            goes_on=fits & _any(program, words),
            failure=failure,
            transition=transition,
            multiplicity=copies,
            place=place,
            trace=trace,
        )

    return lax.while_loop(lambda now: now.goes_on & (now.made < most), advance, start)


def is_live(program: NetProgram, words: Int[Array, "words *paths"]) -> Bool[Array, "*paths"]:
    """Whether some transition can fire."""
    return words[level_starts(program.num_transitions)[-1]] != 0


def _any(program: NetProgram, words: Int[Array, " words"]) -> Bool[Array, ""]:
    return _get(words, jnp.asarray(level_starts(program.num_transitions)[-1], jnp.int32)) != 0


def _first(program: NetProgram, words: Int[Array, " words"]) -> Int[Array, ""]:
    """The first transition of the set, which is not empty: down the tree."""
    at = jnp.zeros((), jnp.int32)
    for start in reversed(level_starts(program.num_transitions)):
        word = _get(words, start + at)
        at = at * 32 + (31 - lax.clz(word & -word))
    return at


def _drawn(
    program: NetProgram,
    choice: AbstractChoice,
    unsatisfied: Int[Array, " transitions"],
    step: Int[Array, ""],
) -> Int[Array, ""]:
    """The transition that is drawn among those that no fireable one beats; as `candidates.chosen`,
    without a scatter."""
    above, below = program.beats
    fireable, size = unsatisfied == 0, len(unsatisfied)

    def spread(pair, beaten):
        at, by = _get(below, pair), _get(above, pair)
        # Pairs are in order of the beaten one, so that whoever beats is known by now.
        beats = (by < size) & (_get(fireable, by) | _get(beaten, by))
        return _put(beaten, at, _get(beaten, at) | (beats & (at < size)))

    beaten = lax.fori_loop(0, len(above), spread, jnp.zeros(size, bool))
    some = fireable & ~beaten
    rank = rank_of(choice, jnp.sum(some, dtype=jnp.int32), step)

    def visit(position, carry):
        before, chosen = carry
        is_one = _get(some, position)
        chosen = jnp.where(is_one & (before == rank), position, chosen)
        return before + is_one.astype(jnp.int32), chosen

    zero = jnp.zeros((), jnp.int32)
    return lax.fori_loop(0, size, visit, (zero, zero))[1]


def _multiplicity(
    program: NetProgram,
    rule: AbstractRule,
    marking: Int[Array, " places"],
    transition: Int[Array, ""],
) -> tuple[Int[Array, ""], Int[Array, ""], Int[Array, ""]]:
    """In how many copies a fireable transition fires, why it cannot, and the first place that its
    tokens do not fit in."""
    rows, most = program.rows, jnp.iinfo(marking.dtype).max
    begin, end = _get(rows.starts, transition), _get(rows.starts, transition + 1)

    def bound(entry, copies):
        take = _get(rows.take, entry)
        tokens = _get(marking, _get(rows.place, entry))
        return jnp.where(take > 0, jnp.minimum(copies, _div(tokens, take)), copies)

    copies = jnp.asarray(most, marking.dtype)
    if isinstance(rule, Petri):
        copies, is_unbounded = jnp.ones_like(copies), jnp.asarray(False)
    else:
        copies = lax.fori_loop(begin, end, bound, copies)
        is_unbounded = _get(program.unbounded, transition)

    def fits(entry, first):
        gain, place = _get(rows.gain, entry), _get(rows.place, entry)
        overflows = (gain > 0) & (copies > _div(most - _get(marking, place), gain))
        return jnp.where(overflows & (first == program.num_places), place, first)

    nowhere = jnp.asarray(program.num_places, jnp.int32)
    place = lax.fori_loop(begin, end, fits, nowhere)
    failure = jnp.where(place < nowhere, OVERFLOW, 0).astype(jnp.int32)
    return (
        jnp.where(is_unbounded, jnp.zeros_like(copies), copies),
        jnp.where(is_unbounded, UNBOUNDED, failure).astype(jnp.int32),
        place,
    )


def _told(
    program: NetProgram,
    dependents: Dependents,
    carry: tuple[Int[Array, " transitions"], Int[Array, " words"]],
    arc: Int[Array, ""],
    old: Int[Array, ""],
    new: Int[Array, ""],
    stored: Callable,
) -> tuple[Int[Array, " transitions"], Int[Array, " words"]]:
    """Counters and tree after one dependent of a place is told of its tokens."""
    unsatisfied, words = carry
    starts = level_starts(program.num_transitions)

    def read():
        at = _get(dependents.transition, arc)
        flip, bound = _get(dependents.flip, arc), _get(dependents.bound, arc)
        before, after = (old ^ flip) >= bound, (new ^ flip) >= bound
        was = _get(unsatisfied, at)
        now = was + before.astype(jnp.int32) - after.astype(jnp.int32)
        changes, bit, found = (was == 0) != (now == 0), at, []
        for start in starts:
            word = _get(words, start + (bit >> 5))
            changed = word ^ (changes.astype(jnp.int32) << (bit & 31))
            found.append(changed)
            changes, bit = (word == 0) != (changed == 0), bit >> 5
        return at, now, found

    at, now, found = stored(read)
    unsatisfied = _put(unsatisfied, at, now)
    for start, word in zip(starts, found, strict=True):
        at = at >> 5
        words = _put(words, start + at, word)
    return unsatisfied, words


def _div(tokens: Int[Array, ""], weight: Int[Array, ""]) -> Int[Array, ""]:
    """The quotient of a number that is not negative by a weight; most weights are 1, and a division
    takes longer than all else."""
    return lax.cond(weight <= 1, lambda: tokens, lambda: lax.div(tokens, jnp.maximum(weight, 1)))


def _get(array: Array, index: Int[Array, ""]) -> Array:
    """One number of an array, without a look at whether the index is negative."""
    one = lax.dynamic_slice(array, (index,), (1,), allow_negative_indices=False)
    return lax.reshape(one, ())


def _put(array: Array, index: Int[Array, ""], value: Array) -> Array:
    one = lax.reshape(value, (1,))
    return lax.dynamic_update_slice(array, one, (index,), allow_negative_indices=False)
