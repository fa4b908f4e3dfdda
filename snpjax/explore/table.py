"""A set of configurations on the device: which are new, and the number of each.

Open addressing over the numbers of configurations, whose words stand in a store. A place is
taken by the least of those that want it, so that the numbers depend on the order of the
configurations only.
"""

import math
from functools import partial

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer, UInt32

from snpjax_formats import device_array
from snpjax_formats.mixing import Words, mixed


#: An empty place; above every number.
EMPTY = np.int32(2**31 - 1)

# After this many rounds few of a batch are left, which are then handled separately, this many
# at a time. (Two cores, table half full: a third is left after one round, a tenth after two.)
_ROUNDS_TOGETHER = 2
_FEW = 8

_MOST_FROM_HOST = 2**22


def empty_table(size: int) -> Int[Array, " places"]:
    """`size` is a power of two, or up to 7 times one."""
    return filled((size,), EMPTY)


def first_table(size: int, words: UInt32[np.ndarray, "1 words"]) -> Int[Array, " places"]:
    """A table that holds configuration 0, which has these words. `size` is a power of two."""
    table = np.full(size, EMPTY)
    table[hash_of(words) & np.uint32(size - 1)] = 0
    return device_array(table)


def filled(shape: tuple[int, ...], value: np.int32 | np.uint32) -> Integer[Array, "..."]:
    """A constant array; small ones come from the host, without a program of their own."""
    if math.prod(shape) <= _MOST_FROM_HOST:
        return device_array(np.full(shape, value))
    return jnp.full(shape, value)


def insert(
    table: Int[Array, " places"],
    store: UInt32[Array, "capacity words"],
    words: UInt32[Array, "batch words"],
    first: Int[Array, ""],
    wanted: Bool[Array, " batch"],
) -> tuple[Int[Array, " places"], Int[Array, " batch"], Int[Array, " batch"]]:
    """Put a batch into the set.

    **Arguments:**

    - `store`: the words of every configuration by number; from `first` on those of this batch.
    - `wanted`: the others of the batch are left out.

    **Returns:** the table; for each of the batch the number of the first configuration with its
    words, `first + i` where that is number i of the batch itself; and its place in the table.
    """
    size, batch = table.shape[0], words.shape[0]
    start = _home(words, size)

    @partial(jax.jit, inline=True)  # traced once for all rounds
    def look(table, store, own, start, words, probe, found, active):
        """One round: who finds an empty place bids for it, and looks who got it."""
        place = _place(start, probe, size)
        is_empty = active & (table[place] == EMPTY)
        table = table.at[jnp.where(is_empty, place, table.shape[0])].min(own, mode="drop")
        # Or XLA reads it again from the table before the next round, of which it keeps a copy.
        table, holder = lax.optimization_barrier((table, table[place]))
        there = store.at[jnp.where(active, holder, 0)].get(mode="promise_in_bounds")
        same = active & jnp.all(there == words, axis=1)
        found = jnp.where(same, holder, found)
        active &= ~same
        return table, probe + active.astype(jnp.uint32), found, active

    own = first + jnp.arange(batch, dtype=jnp.int32)
    probe, found, active = jnp.zeros(batch, jnp.uint32), jnp.full_like(own, EMPTY), wanted
    for _ in range(_ROUNDS_TOGETHER):
        table, probe, found, active = look(table, store, own, start, words, probe, found, active)

    def some(carry):
        """The first of those that are left, until each has found its place."""
        table, probe, found, active = carry
        (at,) = jnp.nonzero(active, size=max(batch // _FEW, 1), fill_value=batch)
        take = lambda x: x.at[at].get(mode="fill", fill_value=0)  # noqa: E731
        fixed = first + at.astype(jnp.int32), take(start), take(words)
        state = table, take(probe), take(found), at < batch
        table, few_probe, few_found, _ = lax.while_loop(
            lambda state: jnp.any(state[3]),
            lambda state: look(state[0], store, *fixed, *state[1:]),
            state,
        )
        probe = probe.at[at].set(few_probe, mode="drop")
        found = found.at[at].set(few_found, mode="drop")
        return table, probe, found, active.at[at].set(False, mode="drop")

    carry = (table, probe, found, active)
    table, probe, found, _ = lax.while_loop(lambda carry: jnp.any(carry[3]), some, carry)
    return table, found, _place(start, probe, size)


def _home(words: UInt32[Array, "batch words"], size: int) -> UInt32[Array, " batch"]:
    """Where to look first. A table consists of parts of a power of two, and each configuration
    keeps to one of them."""
    bits = hash_of(words)
    part = size & -size
    if part == size:
        return bits
    which = (mixed(bits ^ np.uint32(0x9E3779B9)) >> np.uint32(16)) * np.uint32(size // part)
    return (which >> np.uint32(16)) * np.uint32(part) + (bits & np.uint32(part - 1))


def _place(
    start: UInt32[Array, " batch"], probe: UInt32[Array, " batch"], size: int
) -> Int[Array, " batch"]:
    """The next place to look at, after that many others."""
    part = size & -size
    # Triangular numbers visit every place of a power of two.
    place = (start + (probe * (probe + 1) >> 1)) & np.uint32(part - 1)
    if part < size:
        place |= start & np.uint32(2**32 - part)
    return place.astype(jnp.int32)


def hash_of(words: Words) -> UInt32[Array, " batch"]:
    """The sum of hashes of the words, each with a number of its own."""
    own = np.arange(1, words.shape[1] + 1, dtype=np.uint32) * np.uint32(0x9E3779B9)
    return mixed(mixed(words ^ own[None]).sum(axis=1, dtype=np.uint32))
