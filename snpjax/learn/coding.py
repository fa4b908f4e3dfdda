"""From numbers to spikes, and back."""

import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from .surrogate import rounded, within


def nearest_counts(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Numbers of spikes: the nearest whole ones, 0 or more; derivatives pass straight through."""
    return within(rounded(values), 0)


def rate_train(
    chances: Float[Array, "*shape"], steps: int, key: Key[Array, ""]
) -> Float[Array, "steps *shape"]:
    """A spike in each step with the probability of its neuron, as `input` of a run; the derivative
    of each spike in its probability is 1 (straight through). The key is consumed."""
    draws = jr.uniform(key, (steps, *chances.shape))
    is_one = (draws < chances[None]).astype(jnp.float32)
    return is_one + (chances - lax.stop_gradient(chances))[None]


def count_train(counts: Float[Array, "*shape"], steps: int) -> Float[Array, "steps *shape"]:
    """What neurons with `counts` spikes send if they send one in each step: 1 in the first
    `counts` steps. The derivative is that of the step in which the last spike goes."""
    number = jnp.arange(1, steps + 1).reshape(-1, *(1,) * counts.ndim).astype(jnp.float32)
    is_one = (number <= counts[None]).astype(jnp.float32)
    last = jnp.maximum(jnp.round(lax.stop_gradient(counts)), 1)[None]
    return (
        is_one + (last == number).astype(jnp.float32) * (counts - lax.stop_gradient(counts))[None]
    )


def latency_train(when: Int[Array, "*shape"], steps: int) -> Float[Array, "steps *shape"]:
    """One spike in step `when`, counted from 1; none where that is no step."""
    number = jnp.arange(1, steps + 1).reshape(-1, *(1,) * when.ndim)
    return (number == when[None]).astype(jnp.float32)


def total(outputs: Float[Array, "steps outputs *paths"]) -> Float[Array, "outputs *paths"]:
    """How many spikes left each output neuron."""
    return jnp.sum(outputs, axis=0)


def first_spike(outputs: Float[Array, "steps outputs *paths"]) -> Float[Array, "outputs *paths"]:
    """The step of the first spike of each output neuron, counted from 1; one more than there are
    steps where there is none.

    It is the sum over all steps of what is 1 before the first spike, so that its derivative in a
    spike is minus the steps that still counted.
    """
    silent = jnp.cumprod(1 - jnp.minimum(outputs, 1), axis=0)
    return 1 + jnp.sum(silent, axis=0)
