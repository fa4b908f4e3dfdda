"""64-bit arrays where a computation needs them, without touching JAX's global flag."""

import contextlib
from collections.abc import Iterator

import jax
import numpy as np
from jaxtyping import DTypeLike, PyTree


@contextlib.contextmanager
def precision(dtype: DTypeLike) -> Iterator[None]:
    """A context in which JAX keeps arrays of `dtype`: it allows 64 bits when `dtype` has them, else
    changes nothing."""
    if np.dtype(dtype).itemsize == 8:
        with jax.enable_x64(True):
            yield
    else:
        yield


def precision_of(tree: PyTree) -> contextlib.AbstractContextManager[None]:
    """The `precision` that the arrays of `tree` need."""
    # Typed PRNG keys have an extended dtype, which is no NumPy one.
    leaves = [x for x in jax.tree.leaves(tree) if isinstance(getattr(x, "dtype", None), np.dtype)]
    return precision(np.int64 if any(x.dtype.itemsize == 8 for x in leaves) else np.int32)
