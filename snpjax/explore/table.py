"""A set of configurations on the device: which are new, and the number of each.

Open addressing over the numbers of configurations, whose words stand in a store. A place is
taken by the least of those that want it, so that the table, and the numbers, depend on the order of
the configurations only.
"""

import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32


#: An empty place; above every number.
EMPTY = np.int32(2**31 - 1)


def empty_table(size: int) -> Int[Array, " places"]:
    """`size` is a power of two, at least twice the configurations it will hold."""
    return jnp.full(size, EMPTY, jnp.int32)


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
    size = jnp.uint32(table.shape[0])
    own = first + jnp.arange(words.shape[0], dtype=jnp.int32)
    start = _hash(words)

    def place(probe):
        # Triangular numbers visit every place of a power of two.
        return ((start + (probe * (probe + 1)) // 2) & (size - 1)).astype(jnp.int32)

    def body(carry):
        table, probe, found, active = carry
        at = place(probe)
        # Who finds an empty place bids for it, and looks again at who got it.
        is_empty = active & (table[at] == EMPTY)
        table = table.at[jnp.where(is_empty, at, table.shape[0])].min(own, mode="drop")
        holder = table[at]
        there = store.at[jnp.where(active, holder, 0)].get(mode="promise_in_bounds")
        same = jnp.all(there == words, axis=1)
        found = jnp.where(active & same, holder, found)
        active = active & ~same
        return table, probe + active.astype(jnp.uint32), found, active

    carry = (table, jnp.zeros(len(own), jnp.uint32), jnp.full_like(own, EMPTY), wanted)
    table, probe, found, _ = lax.while_loop(lambda carry: jnp.any(carry[3]), body, carry)
    return table, found, place(probe)


def _hash(words: UInt32[Array, "batch words"]) -> UInt32[Array, " batch"]:
    """MurmurHash3 of the words (Appleby, public domain)."""
    value = jnp.full(words.shape[0], 0x9747B28C, jnp.uint32)

    def mix(value, word):
        word = word * np.uint32(0xCC9E2D51)
        word = (word << 15 | word >> 17) * np.uint32(0x1B873593)
        value = value ^ word
        return (value << 13 | value >> 19) * np.uint32(5) + np.uint32(0xE6546B64)

    if words.shape[1] <= 16:
        for index in range(words.shape[1]):
            value = mix(value, words[:, index])
    else:
        value = lax.fori_loop(
            0, words.shape[1], lambda i, value: mix(value, jnp.take(words, i, axis=1)), value
        )
    value = (value ^ value >> 16) * np.uint32(0x85EBCA6B)
    value = (value ^ value >> 13) * np.uint32(0xC2B2AE35)
    return value ^ value >> 16
