"""A value with a gradient that was computed together with it."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


@jax.custom_jvp
def attached(value: Float[Array, ""], parameters: PyTree, slopes: PyTree) -> Float[Array, ""]:
    """The value; its derivatives in the parameters are the slopes."""
    del parameters, slopes
    return value


@attached.defjvp
def _attached_jvp(primals, tangents):  # pyright: ignore
    value, _, slopes = primals
    own, moves, _ = tangents
    pairs = zip(jax.tree.leaves(slopes), jax.tree.leaves(moves), strict=True)
    return value, own + sum((jnp.sum(x * y) for x, y in pairs), jnp.zeros_like(value))
