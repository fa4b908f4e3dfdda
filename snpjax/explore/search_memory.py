"""What a search keeps of configurations, wherever their words are."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt, UInt32

from snpjax_formats import device_array

from .._tiered import tiered
from .extent import rows_without_need
from .host_arrays import own_rows
from .packing import Packing
from .search import ChunkNumbers, Made, Outcome
from .space import GrowingSet, packed
from .stored import StoredWords


# Configurations that are unpacked at once: all may not fit.
_PART, _GPU_PART = 2**13, 2**20


@runtime_checkable
class SearchMemory(Protocol):
    """The words of configurations by number, and a set on the device to tell new ones."""

    @property
    def packing(self) -> Packing: ...

    @property
    def found(self) -> GrowingSet: ...

    def block(self, low: int, size: int) -> UInt32[Array, "words block"]:
        """The words of configurations from `low` on; past the last one they are arbitrary."""
        ...

    def put(self, made: Made, most: int, *, takes_overflow: bool) -> Outcome:
        """Put successors into the set, see `search.put`."""
        ...

    def keep(self, made: Made, outcome: Outcome, numbers: ChunkNumbers) -> None:
        """Take over the words of those that were new. What fails changes nothing."""
        ...

    def settle(self) -> None:
        """Keep no more in main memory than is allowed."""
        ...

    def repack(self, packing: Packing, chunk: int) -> bool:
        """Store the configurations in other words; whether there is memory."""
        ...

    def finish(self) -> None:
        """Make sure that all that was found is right."""
        ...

    def rows(self, low: int, high: int) -> UInt32[np.ndarray, "some words"]:
        """The words of configurations from `low` to `high`, on the host."""
        ...

    def stored(self) -> StoredWords:
        """The words for the graph."""
        ...


def largest_fields(memory: SearchMemory) -> UInt32[np.ndarray, " fields"]:
    """The largest value of every field, of all configurations."""
    num = memory.found.space.num
    most = [np.asarray(_largest(fields, start, num)) for start, fields in parts(memory)]
    return np.max(most, axis=0).astype(np.uint32)


def parts(
    memory: SearchMemory, capacity: int | None = None
) -> Iterator[tuple[np.int32, UInt[Array, "fields part"]]]:
    """The fields of all configurations, part after part. With a capacity, which they do not exceed,
    the last part may begin again in the one before it."""
    size = part_of(memory.packing.num_fields, capacity)
    for start in range(0, memory.found.most_num, size):
        at = start if capacity is None else min(start, capacity - size)
        yield np.int32(at), _unpacked(memory.packing, memory.block(at, size))


def repacked_rows(
    rows: UInt32[np.ndarray, "all words"], old: Packing, new: Packing
) -> Iterator[UInt32[np.ndarray, "some new_words"]]:
    """Words that were packed in one way in another one, part after part."""
    if old.is_same(new):
        yield rows
        return
    size = part_of(old.num_fields)
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        fields = unpacked_rows(old, some, size)
        yield own_rows(np.asarray(packed(new, fields)), len(some))


def unpacked_rows(
    packing: Packing, rows: UInt32[np.ndarray, "some words"], size: int
) -> UInt[Array, "fields part"]:
    """The fields of words of the host, padded to that size."""
    return _unpacked(packing, padded_words(rows, size))


def padded_words(rows: UInt32[np.ndarray, "some words"], size: int) -> UInt32[Array, "words size"]:
    """Words of the host on the device, padded with zeros."""
    padded = np.zeros((rows.shape[1], size), np.uint32)
    padded[:, : len(rows)] = rows.T
    return device_array(padded)


def part_of(num_fields: int, capacity: int | None = None) -> int:
    """The number of configurations of a store that are examined together: fewer of those whose
    fields take much memory."""
    size = _PART if jax.default_backend() == "cpu" else _GPU_PART
    size = min(size, rows_without_need(4 * num_fields))
    return size if capacity is None else min(size, capacity)


@tiered()
def _unpacked(packing: Packing, words: UInt32[Array, "words part"]) -> UInt[Array, "fields part"]:
    return packing.unpack(words, packing.dtype)


@tiered()
def _largest(
    fields: UInt[Array, "fields part"], start: Int[Array, ""], num: Int[Array, ""]
) -> UInt[Array, " fields"]:
    is_one = start + jnp.arange(fields.shape[1]) < num
    return jnp.max(jnp.where(is_one, fields, 0), axis=1)
