"""Where the words of configurations are, and how some of them are read."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, UInt32

from snpjax_formats import device_array

from .._tiered import tiered
from .host_arrays import HostArray
from .owners import ALL, SPLIT, BitPlace, gathered, program, ranks


@runtime_checkable
class StoredWords(Protocol):
    """The words of all configurations."""

    def of(self, numbers: Int[np.ndarray, " block"]) -> UInt32[Array, "words block"]:
        """Those of configurations with these numbers, on the default device."""
        ...


@dataclass(frozen=True, eq=False)
class OneStore:
    """A row for each number, on one device. Rows past the last configuration are padding."""

    rows: UInt32[Array, "capacity words"]

    def of(self, numbers: Int[np.ndarray, " block"]) -> UInt32[Array, "words block"]:
        return _rows(self.rows, device_array(numbers, jnp.int32))


@tiered()
def _rows(
    store: UInt32[Array, "capacity words"], numbers: Int[Array, " block"]
) -> UInt32[Array, "words block"]:
    return store.at[numbers].get(mode="clip").T


@dataclass(frozen=True, eq=False)
class HostStore:
    """A row for each number, in main memory or in a file."""

    rows: HostArray

    def of(self, numbers: Int[np.ndarray, " block"]) -> UInt32[Array, "words block"]:
        return device_array(np.ascontiguousarray(self.rows.take(numbers).T))


@dataclass(frozen=True, eq=False)
class OwnedStore:
    """Rows on the devices that own them, in the order of numbers.

    - `bits`: which numbers a device owns.
    """

    rows: UInt32[Array, "all_rows words"]
    bits: UInt32[Array, " all_words"]
    mesh: Mesh

    @cached_property
    def before(self) -> Int[Array, " all_words"]:
        """How many numbers a device owns before each word of bits. There may be no memory for it
        when a search ends."""
        return program(ranks, self.mesh, (SPLIT,), SPLIT)(self.bits)

    def of(self, numbers: Int[np.ndarray, " block"]) -> UInt32[Array, "words block"]:
        gather = program(gathered, self.mesh, (SPLIT, SPLIT, SPLIT, ALL), ALL)
        found = gather(self.rows, self.bits, self.before, BitPlace.of(numbers))
        # Each process continues with its own devices.
        return device_array(np.asarray(found))
