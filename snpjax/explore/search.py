"""Breadth-first search over configurations, a whole frontier at a time on the device."""

from typing import NamedTuple

import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree, UInt, UInt8, UInt32

from .._tiered import estimate, estimated_sum, tiered
from .._xla import materialize
from ..choice import MAX_WAYS, NumberedChoice, num_alternatives
from ..machine import Enumerable
from ..results import RESULTS
from .packing import Packing
from .table import insert


#: More choices of one configuration, or of one block, are refused: their numbers are 32-bit.
MAX_CHOICES = 2**30
#: In place of the number of a parent: greater than any.
NO_PARENT = np.int32(2**31 - 1)


class StateSpace(NamedTuple):
    """The configurations found so far, by number: in breadth-first order, the successors of a
    configuration in the order of its choices.

    - `store`: a row for each, which tells it from all others: its words, or a fingerprint of them.
    - `table`: finds the number of a row.
    """

    store: UInt32[Array, "capacity words"]
    table: Int[Array, " places"]
    num: Int[Array, ""]
    is_stopped: Bool[Array, ""]  # a chunk could not be put in, so none after it may be


class FrontierBlock(NamedTuple):
    """Neighbouring configurations, and how many choices they have."""

    words: UInt32[Array, "words block"]
    packing: Packing  # of the words
    ends: Int[Array, " block"]  # the choices of all up to each
    counts: Int[Array, " block"]
    total: Int[Array, ""]  # negative: more than `MAX_CHOICES`


class Part(NamedTuple):
    """Choices of a block."""

    low: Int[Array, ""]  # the number of its first configuration
    base: Int[Array, ""]  # the first choice
    end: Int[Array, ""]


class Made(NamedTuple):
    """Successors, not yet looked up."""

    words: UInt32[Array, "chunk words"]
    parents: Int[Array, " chunk"]
    num_good: Int[Array, ""]  # those before padding, or before the first failure
    fits: Bool[Array, ""]  # whether the words hold their fields
    has_failed: Bool[Array, ""]
    overflows: Bool[Array, ""]  # whether the failure is one of counts


class Outcome(NamedTuple):
    """What one chunk of successors brought."""

    targets: Int[Array, " chunk"]
    is_new: UInt8[Array, " bytes"]  # a bit for each, the first one highest
    numbers: Int[Array, " numbers"]  # see `ChunkNumbers`


class ChunkNumbers(NamedTuple):
    """What the host needs to know of an outcome; one array on the device."""

    num_new: int
    was_put: int  # otherwise nothing was done
    fits: int
    failed: int  # the first parent whose successor is a failure, or none
    left_out: int  # the first parent whose successor did not fit, or none
    overflows: int  # whether the failure is one of counts


@tiered(static_argnames=("size",))
def rows(
    store: UInt32[Array, "capacity words"], start: Int[Array, ""], *, size: int
) -> UInt32[Array, "words block"]:
    """Neighbouring rows of a store, transposed. They are copied, so that the programs that read
    them do not depend on the store's capacity. Past the end of the store they are arbitrary."""
    return store.at[start + jnp.arange(size)].get(mode="clip").T


def frontier(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    words: UInt32[Array, "words block"],
    num: np.int32,
) -> FrontierBlock:
    """The choices of the first `num` of some configurations."""
    return FrontierBlock(words, packing, *_choices(machine, choosers, packing, words, num))


@tiered()
def _choices(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    words: UInt32[Array, "words block"],
    num: Int[Array, ""],
) -> tuple[Int[Array, " block"], Int[Array, " block"], Int[Array, ""]]:
    """`ends`, `counts` and `total` of a `FrontierBlock`."""
    counts, is_too_much = choices_of(machine, choosers, packing, words, num)
    is_too_much = jnp.any(is_too_much) | (estimated_sum(counts) > 1.0001 * MAX_CHOICES)
    ends = jnp.cumsum(counts)
    return ends, counts, jnp.where(is_too_much, -1, ends[-1])


def choices_of(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    words: UInt32[Array, "words block"],
    num: Int[Array, ""],
) -> tuple[Int[Array, " block"], Bool[Array, " block"]]:
    """How many choices each of the first `num` configurations has, and which have too many."""
    state = state_in(machine, packing, words)
    alternatives = num_alternatives(machine.alternatives(state), choosers)
    about = _product(alternatives)
    # The integers wrap only where these products are too large.
    counts = jnp.prod(alternatives, axis=0, dtype=jnp.uint32).astype(jnp.int32)
    is_live = ~machine.halted(state) & (jnp.arange(words.shape[1]) < num)
    is_too_much = (about > 1.0007 * MAX_CHOICES) | jnp.any(alternatives >= MAX_WAYS, axis=0)
    return jnp.where(is_live, counts, 0), is_live & is_too_much


@estimate
def _product(numbers: Int[Array, "choosers block"]) -> Float[Array, " block"]:
    return jnp.prod(numbers.astype(jnp.float32), axis=0)


@tiered(static_argnames=("chunk",))
def successors(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    block: FrontierBlock,
    part: Part,
    *,
    chunk: int,
) -> Made:
    """The successors of a block by some of its choices, in words of `packing`."""
    return successors_and_fields(machine, choosers, packing, block, part, chunk)[0]


def successors_and_fields(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    block: FrontierBlock,
    part: Part,
    chunk: int,
) -> tuple[Made, UInt[Array, "fields chunk"]]:
    """`successors`, and the fields that were packed."""
    fields, parents, num_good, *failure = _made(machine, choosers, block, part, chunk)
    words, fits = materialize(part.low >= 0, lambda: packing.pack(fields))
    words = lax.optimization_barrier(words)
    fits = jnp.all(fits | (jnp.arange(chunk) >= num_good))
    return Made(words.T, parents, num_good, fits, *failure), fields


@tiered(static_argnames=("chunk",))
def largest(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    block: FrontierBlock,
    part: Part,
    *,
    chunk: int,
) -> UInt[Array, " fields"]:
    return largest_fields(machine, choosers, block, part, chunk)


def largest_fields(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    block: FrontierBlock,
    part: Part,
    chunk: int,
) -> UInt[Array, " fields"]:
    """The largest value of every field in the successors before the first failure."""
    fields, _, num_good, *_ = _made(machine, choosers, block, part, chunk)
    return jnp.max(jnp.where(jnp.arange(chunk) < num_good, fields, 0), axis=1)


def _made(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    block: FrontierBlock,
    part: Part,
    chunk: int,
) -> tuple[
    UInt[Array, "fields chunk"],
    Int[Array, " chunk"],
    Int[Array, ""],
    Bool[Array, ""],
    Bool[Array, ""],
]:
    """The fields of successors, and what else is in `Made`."""
    own = jnp.arange(chunk, dtype=jnp.int32)
    ends = block.ends - part.base
    # The parent of a successor is the number of those whose choices end before it.
    ended = jnp.zeros(chunk, jnp.int32).at[jnp.where(ends > 0, ends, chunk)].add(1, mode="drop")
    parent = jnp.sum(ends <= 0, dtype=jnp.int32) + jnp.cumsum(ended)
    num = part.end - part.base
    parent = jnp.where(own < num, parent, 0)
    choice = (own - (ends - block.counts)[parent]).astype(jnp.uint32)

    # Gathered once, not again for every field.
    words = materialize(part.low >= 0, lambda: _columns(block.words, parent))
    state = state_in(machine, block.packing, lax.optimization_barrier(words))
    state, _ = machine.step(state, NumberedChoice(choice, choosers))
    state = lax.optimization_barrier(state)  # or XLA on GPUs would repeat the step for many users
    status = machine.status(state)
    num_good = jnp.minimum(jnp.min(jnp.where(status != RESULTS.halted, own, chunk)), num)
    has_failed = num_good < num
    overflows = has_failed & (status == RESULTS.spike_overflow).at[num_good].get(mode="clip")
    # The same of the fields.
    fields = lax.optimization_barrier(machine.encode(state))
    return fields, parent + part.low, num_good, has_failed, overflows


def _columns(
    words: UInt32[Array, "words block"], columns: Int[Array, " chunk"]
) -> UInt32[Array, "words chunk"]:
    """Some columns. Gathered one by one: XLA would transpose before and after a gather of whole
    columns."""
    num_words, size = words.shape
    at = size * jnp.arange(num_words, dtype=jnp.int32)[:, None] + columns[None]
    return words.reshape(-1).at[at].get(mode="promise_in_bounds")


@tiered(donate_argnames=("space",))
def put(
    space: StateSpace,
    made: Made,
    most_found: Int[Array, ""],
    takes_overflow: Bool[Array, ""],
) -> tuple[StateSpace, Outcome]:
    """Put successors into the space, unless a chunk before could not be, or a field does not fit,
    or counts overflow where that is not taken.

    - `most_found`: configurations there may be.
    - `takes_overflow`: keep what comes before the first failure of counts; any other is taken.
    """
    return put_rows(space, made.words, made, most_found, takes_overflow)


def put_rows(
    space: StateSpace,
    rows: UInt32[Array, "chunk row"],
    made: Made,
    most_found: Int[Array, ""],
    takes_overflow: Bool[Array, ""],
) -> tuple[StateSpace, Outcome]:
    """`put` into a space whose rows stand for the words of successors."""
    chunk = len(made.parents)
    is_put = ~space.is_stopped & made.fits & (takes_overflow | ~made.overflows)
    number = jnp.arange(chunk, dtype=jnp.int32)
    wanted = (number < made.num_good) & is_put

    added = add(space.store, space.table, space.num, rows, wanted)
    is_new = added.is_new
    left_out = jnp.min(jnp.where(is_new & (added.rows >= most_found), made.parents, NO_PARENT))
    num_new = jnp.minimum(jnp.sum(is_new, dtype=jnp.int32), most_found - space.num)
    failed = made.parents[jnp.minimum(made.num_good, chunk - 1)]
    failed = jnp.where(is_put & made.has_failed, failed, NO_PARENT)
    numbers = ChunkNumbers(
        *(num_new, is_put, made.fits, failed, left_out, made.overflows)  # pyright: ignore
    )
    is_stopped = ~is_put | (failed < NO_PARENT) | (left_out < NO_PARENT)
    return (
        StateSpace(added.store, added.table, space.num + num_new, is_stopped),
        Outcome(
            targets=added.targets,
            is_new=jnp.packbits(is_new),
            numbers=jnp.stack([jnp.asarray(x, jnp.int32) for x in numbers]),
        ),
    )


class Added(NamedTuple):
    """A store and a table after a batch.

    - `targets`: the row of each of the batch, which is that of an equal one before, if any.
    - `is_new`: which had none; `rows`: theirs; `places`: where those stand in the table.
    """

    store: UInt32[Array, "capacity words"]
    table: Int[Array, " table"]
    targets: Int[Array, " batch"]
    is_new: Bool[Array, " batch"]
    rows: Int[Array, " batch"]
    places: Int[Array, " batch"]


def add(
    store: UInt32[Array, "capacity words"],
    table: Int[Array, " table"],
    num: Int[Array, ""],
    words: UInt32[Array, "batch words"],
    wanted: Bool[Array, " batch"],
) -> Added:
    """Put the wanted ones of a batch into a set of `num` configurations."""
    batch = len(wanted)
    store = lax.dynamic_update_slice_in_dim(store, words, num, 0)
    table, found, places = insert(table, store, words, num, wanted)
    is_new = wanted & (found == num + jnp.arange(batch, dtype=jnp.int32))
    rank = jnp.cumsum(is_new, dtype=jnp.int32) - 1
    rows = num + rank
    targets = jnp.where(found >= num, rows.at[found - num].get(mode="clip"), found)
    news = jnp.zeros_like(words).at[jnp.where(is_new, rank, batch)].set(words, mode="drop")
    store = lax.dynamic_update_slice_in_dim(store, news, num, 0)
    table = table.at[jnp.where(is_new, places, table.shape[0])].set(rows, mode="drop")
    return Added(store, table, targets, is_new, rows, places)


def state_in(machine: Enumerable, packing: Packing, words: UInt32[Array, "words batch"]) -> PyTree:
    """The states of packed configurations."""
    # Stored: XLA would unpack again for many of the users.
    holds = jnp.all(packing.word_of >= 0)
    fields = materialize(holds, lambda: packing.unpack(words, machine.encoding.dtype))
    return lax.optimization_barrier(machine.decode(lax.optimization_barrier(fields)))
