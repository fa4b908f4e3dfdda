"""What a primitive is to the interpreter."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.extend.core import ClosedJaxpr, JaxprEqn


class NotInterpretable(Exception):
    """A program has a primitive, or a kind of array, that is left to the compiler."""


#: Evaluates an equation: NumPy arrays in, one out, or a sequence where a primitive has many.
Call: TypeAlias = Callable[..., Any]


@runtime_checkable
class Enclosing(Protocol):
    """The program that an equation is of."""

    tick: Callable[[], None]
    #: Whether its floats may be rounded in any way, see `estimate`.
    is_estimate: bool

    def nested(
        self,
        jaxpr: ClosedJaxpr,
        own: frozenset[Any] = frozenset(),
        *,
        is_estimate: bool = False,
    ) -> Callable[..., list[Any]]:
        """A program within this one, to be called with its arrays. It may write to those of its
        variables `own`."""
        ...

    def is_own(self, atom: Any) -> bool:
        """Whether its array may be written to."""
        ...

    def constant(self, atom: Any) -> Any:
        """The value of a variable or literal that is the same in every evaluation, or `None`."""
        ...


#: Makes the call of an equation, once: whatever depends on its parameters and shapes is done here.
Rule: TypeAlias = Callable[[JaxprEqn, Enclosing], Call]

#: A PRNG key is held as one number, its two words side by side, so that what moves numbers moves
#: keys as well.
KEY = np.dtype(np.uint64)


def shape_of(atom: Any) -> tuple[int, ...]:
    """The shape of a variable or literal of an equation."""
    return atom.aval.shape


def dtype_of(atom: Any) -> np.dtype:
    """The type that its values have in the interpreter."""
    return type_of(atom.aval)


def type_of(aval: Any) -> np.dtype:
    """The type of arrays like this in the interpreter."""
    if not is_key(aval):
        if np.dtype(aval.dtype).kind not in "biuf":
            raise NotInterpretable(f"arrays of {aval.dtype}")
        return np.dtype(aval.dtype)
    data = jax.eval_shape(jr.key_data, jax.ShapeDtypeStruct((), aval.dtype))
    if data.shape != (2,):
        raise NotInterpretable(f"keys of the type {aval.dtype}")
    return KEY


def is_key(aval: Any) -> bool:
    """Whether it is an array of PRNG keys."""
    return jnp.issubdtype(aval.dtype, jax.dtypes.prng_key)


def as_numpy(x: Any, aval: Any) -> Any:
    """An array as the interpreter holds it."""
    if is_key(aval):
        return key_of_words(np.asarray(jr.key_data(x)))
    x = np.asarray(x)
    return x if x.dtype == aval.dtype else x.astype(aval.dtype)


def words_of_key(key: Any) -> Any:
    """The words of keys, along a last axis of 2."""
    halves = key & np.uint64(0xFFFFFFFF), key >> np.uint64(32)
    return np.stack(halves, axis=-1).astype(np.uint32)


def key_of_words(words: Any) -> Any:
    """Keys from their words."""
    return words[..., 0].astype(KEY) | words[..., 1].astype(KEY) << np.uint64(32)
