"""From host arrays to device arrays, without changing a number.

Outside `jax.enable_x64(True)` JAX has no types of 64 bits and silently cuts what it is given; but
NumPy's integers have 64 bits unless one asks for fewer. Every layout is built through here.
"""

from dataclasses import replace
from typing import overload

import jax
import numpy as np
from jaxtyping import Array, DTypeLike, Integer, Num

from .edges import Edges


MAX_PLACE = np.iinfo(np.int32).max
_MAX_SHORT = np.iinfo(np.uint16).max


def stored_dtype(dtype: DTypeLike) -> np.dtype:
    """The type in which JAX stores numbers of this one, here and now."""
    return np.dtype(jax.dtypes.canonicalize_dtype(np.dtype(dtype)))


def value_bytes(edges: Edges) -> int:
    """Bytes of one stored weight; 0 where every edge weighs 1."""
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
    """The canonical graph, its weights as JAX stores them.

    **Raises:** `ValueError` for an integer weight that does not fit.
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
def device_array(array: np.ndarray) -> Array: ...


@overload
def device_array(array: np.ndarray | None) -> Array | None: ...


def device_array(array: np.ndarray | None) -> Array | None:
    """The array on the default device; the host's must not change from now on."""
    # `jnp.asarray` copies once more: three times the bytes at its peak instead of twice (jax
    # 0.10.2, CPU).
    return jax.device_put(array)


def too_long(layout: type, size: int, what: str) -> str | None:
    """Why a layout cannot number that many entries with int32, if it cannot."""
    if size <= MAX_PLACE:
        return None
    return (
        f"{layout.__name__} would have {size:,} {what}, of which int32 numbers {MAX_PLACE:,}. "
        "Use ELL."
    )
