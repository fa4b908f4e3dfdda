"""Floats that need not be rounded as the compiler rounds them."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


F = TypeVar("F", bound=Callable[..., Any])

#: The name by which the interpreter knows such a function in a traced program.
NAME = "snpjax_estimate"


def estimate(function: F) -> F:
    """Mark a function of arrays whose callers get the same result however its floats are rounded.

    The interpreter refuses all other arithmetic of floats: compilers add in another order, and
    round a product and a sum once, so that what is computed from them might differ.
    """

    def snpjax_estimate(*args: Any) -> Any:
        return function(*args)

    assert snpjax_estimate.__name__ == NAME
    return jax.jit(snpjax_estimate)  # pyright: ignore[reportReturnType]


@estimate
def estimated_sum(numbers: Int[Array, "..."]) -> Float[Array, ""]:
    """The sum of integers, which does not wrap."""
    return jnp.sum(numbers.astype(jnp.float32))
