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
    chances: Float[Array, "*shape"], steps: int, key: Key[Array, ""], *, batch_first: bool = False
) -> Float[Array, "..."]:
    """Draw a spike train for each neuron, with an independent spike in each step.

    **Arguments:**

    - `chances`: `(*shape,)` the probability of a spike in each step, from 0 to 1.
    - `steps`: the length of the trains.
    - `key`: a typed PRNG key; it is consumed.
    - `batch_first`: whether the first axis of `chances` is a batch, which then stays the first one.

    **Returns:** `(steps, *shape)` zeros and ones in float32, to be given to a run as `input`. The
    derivative of each spike in its probability is 1 (straight through).
    """
    draws = jr.uniform(key, (steps, *chances.shape))
    is_one = (draws < chances[None]).astype(jnp.float32)
    return _moved(is_one + (chances - lax.stop_gradient(chances))[None], batch_first)


def count_train(
    counts: Float[Array, "*shape"], steps: int, *, batch_first: bool = False
) -> Float[Array, "..."]:
    """Encode numbers of spikes as trains: one spike in each of the first `counts` steps.

    **Arguments:**

    - `counts`: `(*shape,)` numbers of spikes, up to `steps`.
    - `steps`: the length of the trains.
    - `batch_first`: whether the first axis of `counts` is a batch, which then stays the first one.

    **Returns:** `(steps, *shape)` zeros and ones in float32. The derivative in a count is that of
    the step of its last spike.
    """
    number = jnp.arange(1, steps + 1).reshape(-1, *(1,) * counts.ndim).astype(jnp.float32)
    is_one = (number <= counts[None]).astype(jnp.float32)
    last = jnp.maximum(jnp.round(lax.stop_gradient(counts)), 1)[None]
    slope = (last == number).astype(jnp.float32) * (counts - lax.stop_gradient(counts))[None]
    return _moved(is_one + slope, batch_first)


def latency_train(
    when: Int[Array, "*shape"], steps: int, *, batch_first: bool = False
) -> Float[Array, "..."]:
    """Encode times as trains of one spike each.

    **Arguments:**

    - `when`: `(*shape,)` the step of the spike, counted from 1; any other number gives an empty
      train.
    - `steps`: the length of the trains.
    - `batch_first`: whether the first axis of `when` is a batch, which then stays the first one.

    **Returns:** `(steps, *shape)` zeros and ones in float32.
    """
    number = jnp.arange(1, steps + 1).reshape(-1, *(1,) * when.ndim)
    return _moved((number == when[None]).astype(jnp.float32), batch_first)


def total(outputs: Float[Array, "..."], *, batch_first: bool = False) -> Float[Array, "..."]:
    """Count the spikes of each output neuron.

    **Arguments:**

    - `outputs`: `(steps, outputs, *paths)` the spikes that left each output neuron in each step.
    - `batch_first`: whether the axes are `(paths, steps, outputs)`.

    **Returns:** `(outputs, *paths)` their sums.
    """
    return jnp.sum(outputs, axis=1 if batch_first else 0)


def first_spike(outputs: Float[Array, "..."], *, batch_first: bool = False) -> Float[Array, "..."]:
    """The step of the first spike of each output neuron, counted from 1.

    It is one plus the number of steps before the first spike, so that its derivative in a spike is
    minus the number of the steps that follow.

    **Arguments:**

    - `outputs`: `(steps, outputs, *paths)` the spikes that left each output neuron in each step.
    - `batch_first`: whether the axes are `(paths, steps, outputs)`.

    **Returns:** `(outputs, *paths)` steps, `steps + 1` for a neuron without a spike.
    """
    axis = 1 if batch_first else 0
    silent = jnp.cumprod(1 - jnp.minimum(outputs, 1), axis=axis)
    return 1 + jnp.sum(silent, axis=axis)


def _moved(train: Float[Array, "steps *shape"], batch_first: bool) -> Float[Array, "..."]:
    """The train with the steps behind the batch, if that is first."""
    return jnp.moveaxis(train, 0, 1) if batch_first else train
