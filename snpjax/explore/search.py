"""Breadth-first search over configurations, a whole frontier at a time on the device."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt32

from ..choice import AbstractChoice, NumberedChoice, num_alternatives
from ..machine import Record
from ..results import RESULTS
from .packing import Packing, width_of
from .table import empty_table, insert


@runtime_checkable
class Enumerable(Protocol):
    """A machine whose configurations are vectors of numbers, and whose choices can be counted.

    As in `AbstractMachine`, `paths` may be the last axis of all arrays.
    """

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

    def fields(self, state: PyTree) -> UInt32[Array, "fields *paths"]:
        """The configuration: equal vectors have equal futures."""
        ...

    def state_of(self, fields: UInt32[Array, "fields *paths"]) -> PyTree:
        """A state with this configuration."""
        ...


class Searchable(Protocol):
    """A model whose configurations can be searched."""

    def searched(self, *, layout: Any, saturate: Mapping[str, int], clock: int) -> Enumerable: ...


# More successors of one configuration are refused: numbers of choices are 32-bit.
MAX_CHOICES = 2**31
# Sums of numbers of choices stop here, where any chunk is full.
_MANY = np.uint32(2**30)
#: How many successors are made at once; small graphs share the compilation of the smallest.
CHUNKS = (2**8, 2**12, 2**16, 2**20)


class Space(eqx.Module):
    """The configurations found so far, by number: in breadth-first order, the successors of a
    configuration in the order of its choices."""

    store: UInt32[Array, "capacity words"]
    parents: Int[Array, " capacity"]
    choices: UInt32[Array, " capacity"]  # of the parent, that led here first
    table: Int[Array, " places"]


class Expanded(NamedTuple):
    """What one chunk of successors brought."""

    targets: Int[Array, " chunk"]  # the configuration that each leads to
    num_new: Int[Array, ""]
    most: UInt32[Array, " fields"]  # of every field, where some did not fit; nothing was done then
    fits: Bool[Array, ""]
    failed: Int[Array, ""]  # the first parent whose successor is a failure, or no one
    left_out: Int[Array, ""]  # the first parent whose successor found no room, or no one


NO_ONE = np.int32(2**31 - 1)


@partial(jax.jit, static_argnames="size")
def count(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    space: Space,
    start: Int[Array, ""],
    num: Int[Array, ""],
    *,
    size: int,
) -> tuple[UInt32[Array, " size"], Bool[Array, ""]]:
    """The number of choices of `num` configurations from `start` on, 0 where they halt; and whether
    one has more than can be numbered."""
    words = lax.dynamic_slice_in_dim(space.store, start, size)

    state = machine.state_of(packing.unpack(words.T))
    counts = num_alternatives(machine.alternatives(state), choosers)
    about = jnp.sum(jnp.log2(counts.astype(jnp.float32)), axis=0)
    # The products of uint32 wrap only where the logarithms say so.
    numbers = jnp.prod(counts, axis=0, dtype=jnp.uint32)
    is_live = ~machine.halted(state)
    numbers, too_many = jnp.where(is_live, numbers, 0), is_live & (about > 30.9)
    is_one = jnp.arange(size) < num
    return jnp.where(is_one, numbers, 0), jnp.any(too_many & is_one)


@partial(jax.jit, donate_argnames="space", static_argnames="chunk")
def expand(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    space: Space,
    num_found: Int[Array, ""],
    most_found: Int[Array, ""],
    counts: UInt32[Array, " parents"],
    first_parent: Int[Array, ""],
    first_choice: UInt32[Array, ""],
    *,
    chunk: int,
) -> tuple[Space, Expanded]:
    """Make the next `chunk` successors and put them into the space.

    **Arguments:**

    - `num_found`, `most_found`: configurations there are, and may be.
    - `counts`: the numbers of choices from `first_parent` on, of which `first_choice` were made.
    """
    counts = counts.at[0].add(-first_choice, mode="drop")
    ends = lax.associative_scan(lambda a, b: jnp.minimum(a + b, _MANY), jnp.minimum(counts, _MANY))
    starts = jnp.concatenate([jnp.zeros(1, ends.dtype), ends[:-1]]).astype(jnp.int32)
    number = jnp.arange(chunk, dtype=jnp.int32)
    # The parent of a successor is the last one that starts at or before it.
    begun = jnp.zeros(chunk, jnp.int32).at[starts].add(1, mode="drop")
    parent = jnp.cumsum(begun) - 1
    choice = (number - starts[parent]).astype(jnp.uint32)
    choice += jnp.where(parent == 0, first_choice, 0)
    is_one = number < ends[-1].astype(jnp.int32)
    parent = jnp.where(is_one, parent, 0) + first_parent

    state = machine.state_of(packing.unpack(space.store[parent].T))
    state, _ = machine.step(state, NumberedChoice(choice, choosers))
    fields, is_failed = machine.fields(state), machine.status(state) != RESULTS.halted
    failed = jnp.min(jnp.where(is_one & is_failed, parent, NO_ONE))
    wanted = is_one & (parent < failed)
    fits = jnp.all(packing.fits(fields) | ~wanted)
    most = jnp.max(jnp.where(wanted, fields, 0), axis=1)
    wanted &= fits
    words = packing.pack(fields).T

    store = lax.dynamic_update_slice_in_dim(space.store, words, num_found, 0)
    table, found, place = insert(space.table, store, words, num_found, wanted)
    is_new = wanted & (found == num_found + number)
    rank = jnp.cumsum(is_new, dtype=jnp.int32) - 1
    own = num_found + rank
    left_out = jnp.min(jnp.where(is_new & (own >= most_found), parent, NO_ONE))
    is_here = found >= num_found
    targets = jnp.where(is_here, own.at[found - num_found].get(mode="clip"), found)

    def kept(old, rows):
        """The rows of the new ones, one after the other from `num_found` on."""
        at = jnp.where(is_new, rank, chunk)
        rows = jnp.zeros_like(rows).at[at].set(rows, mode="drop")
        return lax.dynamic_update_slice_in_dim(old, rows, num_found, 0)

    space = Space(
        store=kept(store, words),
        parents=kept(space.parents, parent),
        choices=kept(space.choices, choice),
        table=table.at[jnp.where(is_new, place, table.shape[0])].set(own, mode="drop"),
    )
    num_new = jnp.sum(is_new, dtype=jnp.int32)
    return space, Expanded(targets, num_new, most, fits, failed, left_out)


@partial(jax.jit, donate_argnames="table", static_argnames="size")
def _insert_rows(
    table: Int[Array, " places"],
    store: UInt32[Array, "capacity words"],
    start: Int[Array, ""],
    num: Int[Array, ""],
    *,
    size: int,
) -> Int[Array, " places"]:
    words = lax.dynamic_slice_in_dim(store, start, size)
    return insert(table, store, words, start, jnp.arange(size) < num)[0]


@jax.jit
def _repack(
    old: Packing, new: Packing, words: UInt32[Array, "capacity words"]
) -> UInt32[Array, "capacity words"]:
    return new.pack(old.unpack(words.T)).T


@jax.jit
def _most(
    packing: Packing, store: UInt32[Array, "capacity words"], num: Int[Array, ""]
) -> UInt32[Array, " fields"]:
    is_one = jnp.arange(store.shape[0]) < num
    return jnp.max(jnp.where(is_one, packing.unpack(store.T), 0), axis=1)


@dataclass
class Found:
    """The space and what the host knows of it. Arrays grow by doubling."""

    packing: Packing
    space: Space
    num: int

    @classmethod
    def first(cls, machine: Enumerable, chunk: int) -> "Found":
        """The initial configuration."""
        fields = np.asarray(machine.fields(machine.init()))
        packing = Packing.uniform(len(fields), max(8, width_of(int(fields.max(initial=0)))))
        capacity = 2 * chunk
        words = packing.pack(jnp.asarray(fields)[:, None]).T
        store = jnp.zeros((capacity, packing.num_words), jnp.uint32).at[:1].set(words)
        nothing = jnp.zeros(capacity, jnp.int32)
        space = Space(store, nothing, nothing.astype(jnp.uint32), empty_table(2 * capacity))
        found = cls(packing, space, 1)
        found.rebuild_table(chunk)
        return found

    def reserve(self, chunk: int) -> None:
        """Room for a chunk more."""
        capacity = self.space.store.shape[0]
        if self.num + chunk > capacity:
            more = max(capacity, chunk)
            grow = lambda x: jnp.pad(x, ((0, more), *((0, 0),) * (x.ndim - 1)))  # noqa: E731
            space = self.space
            self.space = Space(
                grow(space.store), grow(space.parents), grow(space.choices), space.table
            )
        if 2 * (self.num + chunk) > self.space.table.shape[0]:
            self.rebuild_table(chunk)

    def rebuild_table(self, chunk: int) -> None:
        """A table of the right size with all configurations."""
        size = 1 << (4 * (self.num + chunk) - 1).bit_length()
        table = empty_table(size)
        block = min(chunk, self.space.store.shape[0])
        for start in range(0, self.num, block):
            # The last block may lie over the end; those before it are found again.
            start = min(start, self.space.store.shape[0] - block)
            num = jnp.asarray(min(block, self.num - start), jnp.int32)
            table = _insert_rows(
                table, self.space.store, jnp.asarray(start, jnp.int32), num, size=block
            )
        self.space = eqx.tree_at(lambda space: space.table, self.space, table)

    def repack(self, packing: Packing, chunk: int) -> None:
        """Store the configurations in other words."""
        store = _repack(self.packing, packing, self.space.store)
        self.packing = packing
        self.space = eqx.tree_at(lambda space: space.store, self.space, store)
        self.rebuild_table(chunk)

    def most(self) -> UInt32[np.ndarray, " fields"]:
        """The largest value of every field, of all configurations."""
        return np.asarray(_most(self.packing, self.space.store, jnp.asarray(self.num, jnp.int32)))


def chunks_of(
    counts: UInt32[np.ndarray, " parents"], sizes: tuple[int, ...]
) -> Iterator[tuple[int, int, int, int]]:
    """How to make all successors: first parent, its first choice, how many, and the chunk."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    base = 0
    while base < total:
        left = total - base
        chunk = next((size for size in sizes if size >= left), sizes[-1])
        parent = int(np.searchsorted(ends, base, side="right"))
        before = int(ends[parent - 1]) if parent else 0
        yield parent, base - before, min(chunk, left), chunk
        base += chunk
