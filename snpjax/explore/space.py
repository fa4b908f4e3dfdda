"""The memory of a search: arrays on the device that grow, and what is known of them."""

from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt, UInt32

from .packing import Packing, width_of
from .search import Enumerable, Space
from .table import empty_table, insert


# Every capacity is a compilation, so that arrays grow by much, while that costs little memory.
_GROWTH = 8
_MUCH = 2**28  # bytes


@dataclass
class Memory:
    """A space and its packing.

    `most_num` bounds the number of configurations, also while the device has not yet said it.
    """

    packing: Packing
    space: Space
    most_num: int

    @classmethod
    def first(cls, machine: Enumerable, chunk: int) -> "Memory":
        """The initial configuration."""
        fields = np.asarray(machine.fields(machine.init()))
        packing = Packing.uniform(len(fields), max(8, width_of(int(fields.max(initial=0)))))
        words = packing.pack(jnp.asarray(fields)[:, None]).T
        store = jnp.zeros((4 * chunk, packing.num_words), jnp.uint32).at[:1].set(words)
        num = jnp.asarray(1, jnp.int32)
        space = Space(store, empty_table(8 * chunk), num, jnp.asarray(False))
        memory = cls(packing, space, 1)
        memory.rebuild_table(chunk)
        return memory

    @property
    def capacity(self) -> int:
        return self.space.store.shape[0]

    def bytes_to_reserve(self, chunk: int) -> int:
        """What `reserve` would allocate besides what there is."""
        wanted = self.most_num + chunk
        words = self.packing.num_words
        more = 0 if wanted <= self.capacity else 4 * words * self._grown(wanted)
        places = self._places(wanted)
        return more + (4 * places if places > self.space.table.shape[0] else 0)

    def reserve(self, chunk: int) -> None:
        """Room for a chunk more."""
        wanted = self.most_num + chunk
        if wanted > self.capacity:
            more = self._grown(wanted) - self.capacity
            store = jnp.pad(self.space.store, ((0, more), (0, 0)))
            self.space = eqx.tree_at(lambda space: space.store, self.space, store)
        if 2 * wanted > self.space.table.shape[0]:
            self.rebuild_table(chunk)

    def _grown(self, wanted: int) -> int:
        row = 4 * self.packing.num_words
        growth = _GROWTH if _GROWTH * wanted * row <= _MUCH else 2
        return max(growth * self.capacity, 1 << (wanted - 1).bit_length())

    def _places(self, wanted: int) -> int:
        growth = _GROWTH if 8 * wanted * _GROWTH <= _MUCH else 2
        return 1 << (2 * growth * wanted - 1).bit_length()

    def rebuild_table(self, chunk: int) -> None:
        """A table of the right size with all configurations."""
        table = empty_table(self._places(self.most_num + chunk))
        block = min(max(chunk, 2**12), self.capacity)
        for start in range(0, self.most_num, block):
            # The last block may lie over the end; those before it are found again.
            at = jnp.asarray(min(start, self.capacity - block), jnp.int32)
            table = _insert_rows(table, self.space.store, at, self.space.num, size=block)
        self.space = eqx.tree_at(lambda space: space.table, self.space, table)

    def repack(self, packing: Packing, chunk: int) -> None:
        """Store the configurations in other words."""
        store = _repack(self.packing, packing, self.space.store)
        self.packing = packing
        self.space = eqx.tree_at(lambda space: space.store, self.space, store)
        self.rebuild_table(chunk)

    def go_on(self) -> None:
        """Take chunks again."""
        self.space = eqx.tree_at(lambda space: space.is_stopped, self.space, jnp.asarray(False))

    def most(self) -> UInt32[np.ndarray, " fields"]:
        """The largest value of every field, of all configurations."""
        return np.asarray(_most(self.packing, self.space.store, self.space.num))


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
    return insert(table, store, words, start, start + jnp.arange(size) < num)[0]


# Rows are looked at in parts: all fields of all configurations at once may not fit.
_PART = 2**14


@jax.jit
def _repack(
    old: Packing, new: Packing, store: UInt32[Array, "capacity words"]
) -> UInt32[Array, "capacity words"]:
    def repacked(words):
        return new.pack(old.unpack(words[:, None], jnp.uint32))[:, 0]

    return lax.map(repacked, store, batch_size=min(_PART, len(store)))


@jax.jit
def _most(
    packing: Packing, store: UInt32[Array, "capacity words"], num: Int[Array, ""]
) -> UInt[Array, " fields"]:
    part = min(_PART, len(store))

    def body(carry):
        start, most = carry
        at = jnp.minimum(start, len(store) - part)
        words = lax.dynamic_slice_in_dim(store, at, part)
        fields = packing.unpack(words.T, jnp.uint32)
        is_one = at + jnp.arange(part) < num
        return start + part, jnp.maximum(most, jnp.max(jnp.where(is_one, fields, 0), axis=1))

    most = jnp.zeros(packing.num_fields, jnp.uint32)
    return lax.while_loop(lambda carry: carry[0] < num, body, (jnp.int32(0), most))[1]
