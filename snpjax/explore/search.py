"""Breadth-first search over configurations, a whole frontier at a time on the device."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt, UInt32

from ..choice import AbstractChoice, NumberedChoice, num_alternatives
from ..machine import Record
from ..results import RESULTS
from .packing import Packing
from .table import insert


@runtime_checkable
class Enumerable(Protocol):
    """A machine whose configurations are vectors of unsigned numbers, and whose choices can be
    counted.

    As in `AbstractMachine`, `paths` may be the last axis of all arrays.
    """

    @property
    def count_dtype(self) -> np.dtype:
        """The signed counterpart of the type of the fields."""
        ...

    @property
    def wider(self) -> np.dtype | None:
        """The type to count in where this one overflows, if there is one."""
        ...

    @property
    def last_step(self) -> Int[Array, ""]:
        """Steps from here on are not told apart."""
        ...

    @property
    def usual(self) -> UInt32[Array, " fields"]:
        """What each field is likely to reach at least: to be right spares a repacking."""
        ...

    def init(self) -> PyTree: ...

    def step(self, state: PyTree, choice: AbstractChoice) -> tuple[PyTree, Record]: ...

    def halted(self, state: PyTree) -> Bool[Array, "*paths"]: ...

    def status(self, state: PyTree) -> Any: ...

    def alternatives(self, state: PyTree) -> Bool[Array, "alternatives choosers *paths"]:
        """Which alternatives each chooser has."""
        ...

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        """Choosers that may have several alternatives; all others have at most one."""
        ...

    def fields(self, state: PyTree) -> UInt[Array, "fields *paths"]:
        """The configuration: equal vectors have equal futures."""
        ...

    def state_of(self, fields: UInt[Array, "fields *paths"]) -> PyTree:
        """A state with this configuration."""
        ...


@runtime_checkable
class Searchable(Protocol):
    """A model whose configurations can be searched."""

    def searched(
        self,
        *,
        layout: Any,
        saturate: Mapping[str, int],
        clock: int,
        at_least: np.dtype | None = None,
    ) -> Enumerable: ...


#: More choices of one configuration, or of one block, are refused: their numbers are 32-bit.
MAX_CHOICES = 2**30
NO_ONE = np.int32(2**31 - 1)


class Space(eqx.Module):
    """The configurations found so far, by number: in breadth-first order, the successors of a
    configuration in the order of its choices."""

    store: UInt32[Array, "capacity words"]
    table: Int[Array, " places"]
    num: Int[Array, ""]
    is_stopped: Bool[Array, ""]  # a chunk could not be put in, so none after it may be


class Block(NamedTuple):
    """Neighbouring configurations, and how many choices they have."""

    words: UInt32[Array, "block words"]
    packing: Packing  # of the words
    ends: Int[Array, " block"]  # the choices of all up to each
    counts: Int[Array, " block"]
    total: Int[Array, ""]
    is_too_much: Bool[Array, ""]  # more than `MAX_CHOICES`


class Made(NamedTuple):
    """Successors, not yet looked up."""

    words: UInt32[Array, "chunk words"]
    parents: Int[Array, " chunk"]
    choices: UInt32[Array, " chunk"]
    is_one: Bool[Array, " chunk"]  # or padding
    most: UInt[Array, " fields"]  # the largest value of every field
    num_good: Int[Array, ""]  # those before the first failure


class Outcome(NamedTuple):
    """What one chunk of successors brought. `news` are the parents and choices of the new
    configurations, in their order."""

    targets: Int[Array, " chunk"]
    news: tuple[Int[Array, " chunk"], UInt32[Array, " chunk"]]
    numbers: Int[Array, " numbers"]  # see `Numbers`
    most: UInt[Array, " fields"]


class Numbers(NamedTuple):
    """What the host needs to know of an outcome; one array on the device."""

    num_new: int
    was_put: int  # otherwise nothing was done
    fits: int
    failed: int  # the first parent whose successor is a failure, or no one
    left_out: int  # the first parent whose successor found no room, or no one


@partial(jax.jit, static_argnames="size")
def rows(
    store: UInt32[Array, "capacity words"], start: Int[Array, ""], *, size: int
) -> UInt32[Array, "block words"]:
    """Neighbouring rows of a store, so that what is done with them knows no capacity: each would
    be a compilation."""
    return lax.dynamic_slice_in_dim(store, start, size)


@jax.jit
def frontier(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    words: UInt32[Array, "block words"],
    num: Int[Array, ""],
) -> Block:
    """The choices of the first `num` of some configurations."""
    state = state_in(machine, packing, words)
    alternatives = num_alternatives(machine.alternatives(state), choosers)
    about = jnp.sum(jnp.log2(alternatives.astype(jnp.float32)), axis=0)
    # The products wrap only where the logarithms say so.
    counts = jnp.prod(alternatives, axis=0, dtype=jnp.uint32).astype(jnp.int32)
    is_live = ~machine.halted(state) & (jnp.arange(len(words)) < num)
    counts = jnp.where(is_live, counts, 0)
    is_too_much = jnp.any(is_live & (about > 30.001))
    is_too_much |= jnp.sum(counts.astype(jnp.float32)) > 1.0001 * MAX_CHOICES
    ends = jnp.cumsum(counts)
    return Block(words, packing, ends, counts, ends[-1], is_too_much)


@partial(jax.jit, static_argnames="chunk")
def successors(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    block: Block,
    first_parent: Int[Array, ""],
    base: Int[Array, ""],
    *,
    chunk: int,
) -> Made:
    """The successors of a block, from its choice number `base` on, in words of `packing`."""
    own = jnp.arange(chunk, dtype=jnp.int32)
    ends = block.ends - base
    # The parent of a successor is the number of those whose choices end before it.
    ended = jnp.zeros(chunk, jnp.int32).at[jnp.where(ends > 0, ends, chunk)].add(1, mode="drop")
    parent = jnp.sum(ends <= 0, dtype=jnp.int32) + jnp.cumsum(ended)
    is_one = own < block.total - base
    parent = jnp.where(is_one, parent, 0)
    choice = (own - (ends - block.counts)[parent]).astype(jnp.uint32)

    state = state_in(machine, block.packing, block.words[parent])
    state, _ = machine.step(state, NumberedChoice(choice, choosers))
    fields, is_failed = machine.fields(state), machine.status(state) != RESULTS.halted
    num_good = jnp.min(jnp.where(is_one & is_failed, own, chunk))
    most = jnp.max(jnp.where(is_one & (own < num_good), fields, 0), axis=1)
    return Made(packing.pack(fields).T, parent + first_parent, choice, is_one, most, num_good)


@partial(jax.jit, donate_argnames="space")
def put(
    packing: Packing,
    space: Space,
    made: Made,
    most_found: Int[Array, ""],
    takes_failures: Bool[Array, ""],
) -> tuple[Space, Outcome]:
    """Put successors into the space, unless a chunk before could not be, or a field does not fit,
    or there is a failure that is not taken.

    - `most_found`: configurations there may be.
    - `takes_failures`: keep what comes before the first failure.
    """
    chunk = len(made.parents)
    fits = packing.fit(made.most)
    has_failed = made.num_good < chunk
    is_put = ~space.is_stopped & fits & (takes_failures | ~has_failed)
    number = jnp.arange(chunk, dtype=jnp.int32)
    wanted = made.is_one & (number < made.num_good) & is_put

    store = lax.dynamic_update_slice_in_dim(space.store, made.words, space.num, 0)
    table, found, place = insert(space.table, store, made.words, space.num, wanted)
    is_new = wanted & (found == space.num + number)
    rank = jnp.cumsum(is_new, dtype=jnp.int32) - 1
    own = space.num + rank
    left_out = jnp.min(jnp.where(is_new & (own >= most_found), made.parents, NO_ONE))
    is_here = found >= space.num
    targets = jnp.where(is_here, own.at[found - space.num].get(mode="clip"), found)
    at = jnp.where(is_new, rank, chunk)

    def in_order(rows):
        """The rows of the new ones, one after the other."""
        return jnp.zeros_like(rows).at[at].set(rows, mode="drop")

    num_new = jnp.minimum(jnp.sum(is_new, dtype=jnp.int32), most_found - space.num)
    failed = made.parents[jnp.minimum(made.num_good, chunk - 1)]
    failed = jnp.where(is_put & has_failed, failed, NO_ONE)
    numbers = Numbers(num_new, is_put, fits, failed, left_out)  # pyright: ignore
    store = lax.dynamic_update_slice_in_dim(store, in_order(made.words), space.num, 0)
    table = table.at[jnp.where(is_new, place, table.shape[0])].set(own, mode="drop")
    is_stopped = ~is_put | (failed < NO_ONE) | (left_out < NO_ONE)
    return (
        Space(store, table, space.num + num_new, is_stopped),
        Outcome(
            targets=targets,
            news=(in_order(made.parents), in_order(made.choices)),
            numbers=jnp.stack([jnp.asarray(x, jnp.int32) for x in numbers]),
            most=made.most,
        ),
    )


def state_in(machine: Enumerable, packing: Packing, words: UInt32[Array, "batch words"]) -> PyTree:
    """The states of packed configurations."""
    return machine.state_of(packing.unpack(words.T, fields_dtype(machine)))


def fields_dtype(machine: Enumerable) -> np.dtype:
    """What the fields of a machine are."""
    return np.dtype(f"uint{8 * machine.count_dtype.itemsize}")
