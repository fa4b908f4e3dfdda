"""From numbers to spikes, and back."""

import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from .surrogate import rounded, within


def nearest_counts(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Round values to numbers of spikes.

    **Arguments:**

    - `values`: `(*shape,)` numbers of any size.

    **Returns:** `(*shape,)` the nearest integers in float32, at least 0. The derivative passes
    straight through the rounding.
    """
    return within(rounded(values), 0)


def rate_train(
    chances: Float[Array, "*shape"], steps: int, key: Key[Array, ""]
) -> Float[Array, "steps *shape"]:
    """Draw a spike train for each neuron, with an independent spike in each step.

    **Arguments:**

    - `chances`: `(*shape,)` the probability of a spike in each step, from 0 to 1.
    - `steps`: the length of the trains.
    - `key`: a typed PRNG key; it is consumed.

    **Returns:** `(steps, *shape)` zeros and ones in float32, to be given to a run as `input`. The
    derivative of each spike in its probability is 1 (straight through).
    """
    draws = jr.uniform(key, (steps, *chances.shape))
    is_one = (draws < chances[None]).astype(jnp.float32)
    return is_one + (chances - lax.stop_gradient(chances))[None]


def count_train(counts: Float[Array, "*shape"], steps: int) -> Float[Array, "steps *shape"]:
    """Encode numbers of spikes as trains: one spike in each of the first `counts` steps.

    **Arguments:**

    - `counts`: `(*shape,)` numbers of spikes, up to `steps`.
    - `steps`: the length of the trains.

    **Returns:** `(steps, *shape)` zeros and ones in float32. The derivative in a count is that of
    the step of its last spike.
    """
    number = jnp.arange(1, steps + 1).reshape(-1, *(1,) * counts.ndim).astype(jnp.float32)
    is_one = (number <= counts[None]).astype(jnp.float32)
    last = jnp.maximum(jnp.round(lax.stop_gradient(counts)), 1)[None]
    return (
        is_one + (last == number).astype(jnp.float32) * (counts - lax.stop_gradient(counts))[None]
    )


def latency_train(when: Int[Array, "*shape"], steps: int) -> Float[Array, "steps *shape"]:
    """Encode times as trains of one spike each.

    **Arguments:**

    - `when`: `(*shape,)` the step of the spike, counted from 1; any other number gives an empty
      train.
    - `steps`: the length of the trains.

    **Returns:** `(steps, *shape)` zeros and ones in float32.
    """
    number = jnp.arange(1, steps + 1).reshape(-1, *(1,) * when.ndim)
    return (number == when[None]).astype(jnp.float32)


def total(outputs: Float[Array, "steps outputs *paths"]) -> Float[Array, "outputs *paths"]:
    """Count the spikes of each output neuron.

    **Arguments:**

    - `outputs`: `(steps, outputs, *paths)` the spikes that left each output neuron in each step.

    **Returns:** `(outputs, *paths)` their sums.
    """
    return jnp.sum(outputs, axis=0)


def first_spike(outputs: Float[Array, "steps outputs *paths"]) -> Float[Array, "outputs *paths"]:
    """The step of the first spike of each output neuron, counted from 1.

    It is one plus the number of steps before the first spike, so that its derivative in a spike is
    minus the number of the steps that follow.

    **Arguments:**

    - `outputs`: `(steps, outputs, *paths)` the spikes that left each output neuron in each step.

    **Returns:** `(outputs, *paths)` steps, `steps + 1` for a neuron without a spike.
    """
    silent = jnp.cumprod(1 - jnp.minimum(outputs, 1), axis=0)
    return 1 + jnp.sum(silent, axis=0)
