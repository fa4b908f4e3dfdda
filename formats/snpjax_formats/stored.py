"""How arrays are stored: their padded sizes, their types, and the way from the host to the device,
on which no number changes.

Sizes are rounded up to few values, so that graphs of similar size share one compilation.
Outside `jax.enable_x64(True)` JAX has no types of 64 bits and silently cuts what it is given; but
NumPy's integers have 64 bits unless one asks for fewer. Every layout is built through here.
"""

from dataclasses import replace
from operator import index
from typing import overload

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, DTypeLike, Int, Integer, Num

from .edges import Edges


#: Graphs of up to this many rows are padded generously: they are cheap, and share compilations.
SMALL = 256

#: Up to this many rows every layout takes as long.
TINY = 8

# Above this many entries a bucket up to half as large again costs more than it saves.
_MANY_ENTRIES = 4_096
_STEPS_PER_OCTAVE = 16

MAX_PLACE = np.iinfo(np.int32).max
_MAX_SHORT = np.iinfo(np.uint16).max


def bucket(size: int | np.integer, *, at_least: int | np.integer = 8) -> int:
    """Round a size up, so that similar sizes share a compilation.

    **Arguments:**

    - `size`: the size.
    - `at_least`: the smallest result.

    **Returns:** the least of 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, ... that is at least both
    arguments.
    """
    wanted = index(max(size, at_least, 1))  # NumPy's integers have no `bit_length`
    power = 1 << (wanted - 1).bit_length()
    three_quarters = 3 * power // 4
    return three_quarters if power >= 4 and three_quarters >= wanted else power


def buckets(most: int, *, at_least: int = 8) -> Int[np.ndarray, " buckets"]:
    """Every value of `bucket(size, at_least=at_least)` for sizes up to `most`, ascending."""
    sizes = [bucket(0, at_least=at_least)]
    while sizes[-1] < most:
        sizes.append(bucket(sizes[-1] + 1, at_least=at_least))
    return np.asarray(sizes)


def slot_bucket(size: int, num_rows: int) -> int:
    """Slots for rows of at most `size` edges. In large graphs there may be one: padding three to
    eight would cost more than it saves."""
    return bucket(size, at_least=4 if num_rows <= SMALL else 1)


def entry_bucket(size: int, num_rows: int) -> int:
    """The length of a list of `size` edges; a long one is padded by a sixteenth at most."""
    if size <= _MANY_ENTRIES:
        return bucket(size, at_least=64 if num_rows <= SMALL else 1)
    step = (1 << (size - 1).bit_length()) // (2 * _STEPS_PER_OCTAVE)
    return -(-size // step) * step


def stored_dtype(dtype: DTypeLike) -> np.dtype:
    """The type in which JAX stores numbers of this one, here and now."""
    return np.dtype(jax.dtypes.canonicalize_dtype(np.dtype(dtype)))


def value_bytes(edges: Edges) -> int:
    """The bytes of one stored weight.

    **Arguments:**

    - `edges`: the edges of a graph.

    **Returns:** the number of bytes; 0 where every edge weighs 1.
    """
    return 0 if edges.value is None else stored_dtype(edges.value.dtype).itemsize


def narrowed(array: np.ndarray, name: str) -> np.ndarray:
    """The array in the type in which JAX stores it; floats may lose digits, integers may not.

    **Raises:** `ValueError` for an integer that does not fit.
    """
    dtype = stored_dtype(array.dtype)
    if dtype == array.dtype:
        return array
    if np.issubdtype(dtype, np.integer) and array.size > 0:
        limit, low, high = np.iinfo(dtype), array.min(), array.max()
        if low < limit.min or high > limit.max:
            raise ValueError(
                f"{name} is {high if high > limit.max else low}, which does not fit {dtype}. Call "
                "inside `jax.enable_x64(True)`."
            )
    return array.astype(dtype)


def storable(edges: Edges) -> Edges:
    """The canonical form of a graph, with its weights in the type in which JAX stores them.

    **Arguments:**

    - `edges`: the edges of the graph.

    **Returns:** the canonical edges.

    **Raises:** `ValueError` for an integer weight that does not fit the type.
    """
    edges = edges.canonical()
    if edges.value is None or stored_dtype(edges.value.dtype) == edges.value.dtype:
        return edges
    return replace(edges, value=narrowed(edges.value, "A weight"))


def index_dtype(most: int) -> np.dtype:
    """The type in which a layout stores an index for each edge, none above `most`: 16 bits where
    they suffice, for what is read in a product is mostly these. See `bench/README.md`."""
    return np.dtype(np.uint16 if most <= _MAX_SHORT else np.int32)


def index_bytes(most: int) -> int:
    """Bytes of one such index."""
    return index_dtype(most).itemsize


def pair_bytes(edges: Edges) -> int:
    """Bytes of a stored pair of a source and a target; padding has the number of each."""
    return index_bytes(edges.num_sources) + index_bytes(edges.num_targets)


def index_array(
    indices: Integer[np.ndarray, " edges"], most: int, length: int
) -> Integer[Array, " entries"]:
    """Indices on the default device, all below `most`, padded with `most` itself to `length`
    entries."""
    stored = np.full(length, most, index_dtype(most))
    stored[: len(indices)] = indices
    return device_array(stored)


def value_array(
    value: Num[np.ndarray, " edges"] | None, length: int
) -> Num[Array, " entries"] | None:
    """Weights on the default device, padded with 0 to `length` entries."""
    return None if value is None else device_array(np.pad(value, (0, length - len(value))))


@overload
def device_array(array: ArrayLike, dtype: DTypeLike | None = None) -> Array: ...


@overload
def device_array(array: None, dtype: DTypeLike | None = None) -> None: ...


def device_array(array: ArrayLike | None, dtype: DTypeLike | None = None) -> Array | None:
    """Put an array on the default device.

    **Arguments:**

    - `array`: an array of the host, which must not change from now on; `None` is returned as it is.
    - `dtype`: the type to convert it to, whose range must include all numbers; by default its own.
      While `jax_enable_x64` is off, 64-bit types become 32-bit ones.

    **Returns:** the array on the device.
    """
    # `jnp.asarray` copies once more: three times the bytes at its peak instead of twice, and it
    # compiles a program for each shape and type (jax 0.10.2, CPU).
    return None if array is None else jax.device_put(np.asarray(array, dtype))


def too_long(layout: type, size: int, what: str) -> str | None:
    """Why a layout cannot number that many entries with int32, if it cannot."""
    if size <= MAX_PLACE:
        return None
    return (
        f"{layout.__name__} would have {size:,} {what}, of which int32 numbers {MAX_PLACE:,}. "
        "Use ELL."
    )
