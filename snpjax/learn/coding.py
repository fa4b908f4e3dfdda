"""From numbers to spikes, and back."""

import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Key

from .data import first_place
from .surrogate import rounded, within


def nearest_counts(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Round values to numbers of spikes.

    **Arguments:**

    - `values`: `(*shape,)` numbers of any size.

    **Returns:** `(*shape,)` the nearest integers in float32, at least 0. The derivative passes
    straight through the rounding.
    """
    return within(rounded(jnp.asarray(values, jnp.float32)), 0)


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

    **Raises:** `ValueError` for a count that is not from 0 to `steps`, where counts are not traced.
    """
    if not isinstance(counts, Tracer):
        values = np.asarray(counts)
        is_wrong = ~((values >= 0) & (values <= steps))
        if place := first_place(is_wrong):
            raise ValueError(
                f"`counts` is {values[is_wrong][0]:g} {place}, and `steps` is {steps}: a step has "
                "one spike. Give counts from 0 to `steps`; `even_train` takes larger ones."
            )
    number = jnp.arange(1, steps + 1).reshape(-1, *(1,) * counts.ndim).astype(jnp.float32)
    is_one = (number <= counts[None]).astype(jnp.float32)
    last = jnp.maximum(jnp.round(lax.stop_gradient(counts)), 1)[None]
    slope = (last == number).astype(jnp.float32) * (counts - lax.stop_gradient(counts))[None]
    return _moved(is_one + slope, batch_first)


def even_train(
    counts: Float[Array, "*shape"], steps: int, *, batch_first: bool = False
) -> Float[Array, "steps *shape"]:
    """Encode numbers of spikes as trains of evenly spaced spikes: a rate code without chance.

    After t steps a neuron has received floor(t * count / steps) spikes, in exact integer
    arithmetic, so that all of them have arrived after the last step.

    **Arguments:**

    - `counts`: `(*shape,)` numbers of spikes of 0 or more, rounded to integers; above `steps`, a
      step has several spikes. The product of a count and `steps` must be below 2^31.
    - `steps`: the length of the trains.
    - `batch_first`: whether the first axis of `counts` is a batch, which then stays the first one.

    **Returns:** `(steps, *shape)` numbers of spikes in float32. The derivative of each in its count
    is 1 / `steps`.

    **Raises:** `ValueError` for such a product of 2^31 or more, where the counts are not traced.
    """
    if not isinstance(counts, Tracer) and float(np.max(counts, initial=0)) * steps >= 2**31:
        raise ValueError(
            f"A count of {float(np.max(counts)):,.0f} in {steps:,} steps is too much for 32 bits. "
            "Give fewer spikes or steps, so that their product is below 2^31."
        )
    number = jnp.arange(1, steps + 1, dtype=jnp.int32).reshape(-1, *(1,) * counts.ndim)
    exact = jnp.maximum(jnp.round(lax.stop_gradient(counts)), 0).astype(jnp.int32)[None]
    spikes = (number * exact // steps - (number - 1) * exact // steps).astype(jnp.float32)
    return _moved(spikes + ((counts - lax.stop_gradient(counts)) / steps)[None], batch_first)


def delta_train(
    signal: Float[Array, "steps inputs *paths"],
    threshold: float,
    *,
    since_spike: bool = False,
    signed: bool = False,
    batch_first: bool = False,
) -> Float[Array, "steps channels *paths"]:
    """Encode the changes of a signal as spikes.

    A neuron spikes when its signal has risen or fallen by `threshold` or more. Rises and falls use
    different channels, because the input of an exact system is never negative.

    **Arguments:**

    - `signal`: `(steps, inputs, *paths)` values in each step, in the units of `threshold`.
    - `threshold`: the smallest change that causes a spike, above 0.
    - `since_spike`: if false, compare each value with that of the step before, and send one spike
      however large the change. If true, compare it with a reference level, which starts at the
      first value and follows the signal in multiples of `threshold`; each multiple sends one spike,
      as in an event camera, so that slow changes are not lost.
    - `signed`: return rises minus falls, in one channel for each input instead of two.
    - `batch_first`: whether the axes are `(paths, steps, inputs)`, also in what is returned.

    **Returns:** `(steps, 2 * inputs, *paths)` numbers of spikes in float32: first the rises of all
    inputs, then their falls. With `signed`, `(steps, inputs, *paths)` integers of both signs. The
    first step has no spikes. There is no derivative.

    **Raises:** `ValueError` for a threshold that is not positive, or a signal without inputs.

    ??? cite "Source"
        Lichtsteiner, Posch, Delbruck 2008 (event camera); Miskowicz 2006 (send on delta).
    """
    if not threshold > 0 or signal.ndim < (3 if batch_first else 2):
        raise ValueError(
            f"`threshold` is {threshold} and `signal` has the shape {signal.shape}. Pass a "
            "threshold above 0, and a signal of shape (steps, inputs) or (steps, inputs, paths); "
            "with `batch_first`, (paths, steps, inputs)."
        )
    signal = lax.stop_gradient(signal).astype(jnp.float32)
    signal = jnp.moveaxis(signal, 0, 1) if batch_first else signal
    channels = 2 if batch_first else 1

    def follow(level: Array, value: Array) -> tuple[Array, Array]:
        crossed = jnp.trunc((value - level) / threshold)
        return level + crossed * threshold, crossed

    if since_spike:
        changes = lax.scan(follow, signal[0], signal)[1]
    else:
        moved = jnp.diff(signal, axis=0, prepend=signal[:1])
        changes = jnp.where(jnp.abs(moved) >= threshold, jnp.sign(moved), 0)
    if not signed:
        both = jnp.maximum(changes, 0), jnp.maximum(-changes, 0)
        changes = jnp.concatenate(both, axis=channels)
    return _moved(changes, batch_first)


def latencies(
    values: Float[Array, "*shape"],
    steps: int,
    *,
    threshold: float = 0.0,
    time_constant: float | None = None,
) -> Int[Array, "*shape"]:
    """Choose the step of one spike by the size of a value: the larger, the earlier.

    **Arguments:**

    - `values`: `(*shape,)` values; larger ones than 1 count as 1.
    - `steps`: the length of the train.
    - `threshold`: values up to this one cause no spike; from 0 to 1.
    - `time_constant`: by default, steps decrease linearly from `steps` just above the threshold to
      1. With a time constant tau, in steps, the spike comes in the first step t in which a membrane
      charged by the value v reaches the threshold: v * (1 - exp(-t / tau)) >= threshold.

    **Returns:** `(*shape,)` steps from 1 to `steps` for `latency_train`, or 0 for no spike. There
    is no derivative.

    **Raises:** `ValueError` for a threshold outside [0, 1), and for a time constant that is not
    positive or has a threshold of 0.
    """
    if not 0 <= threshold < 1 or (time_constant is not None and min(time_constant, threshold) <= 0):
        raise ValueError(
            f"`threshold` is {threshold} and `time_constant` {time_constant}. Pass a threshold of "
            "at least 0 and below 1; with a time constant, both above 0."
        )
    value = jnp.minimum(lax.stop_gradient(values), 1)
    is_spike = value > threshold
    value = jnp.where(is_spike, value, 1)
    if time_constant is None:
        when = 1 + jnp.round((1 - value) / (1 - threshold) * (steps - 1))
    else:
        when = jnp.maximum(jnp.ceil(-time_constant * jnp.log1p(-threshold / value)), 1)
    return jnp.where(is_spike & (when <= steps), when, 0).astype(jnp.int32)


def population_counts(
    values: Float[Array, "inputs *paths"],
    centres: Float[Array, " fields"],
    *,
    width: float,
    most: int,
    batch_first: bool = False,
) -> Float[Array, "neurons *paths"]:
    """Encode each value by a population of neurons with Gaussian receptive fields.

    A neuron with centre c receives round(most * exp(-((value - c) / width)^2 / 2)) spikes.

    **Arguments:**

    - `values`: `(inputs, *paths)` real values.
    - `centres`: `(fields,)` the values to which the neurons of an input respond most.
    - `width`: the standard deviation of a field, in the units of the values.
    - `most`: the number of spikes at the centre.
    - `batch_first`: whether the axes are `(paths, inputs)`, also in what is returned.

    **Returns:** `(inputs * fields, *paths)` numbers of spikes in float32, those of the first input
    first. The derivative passes straight through the rounding.

    **Raises:** `ValueError` for a width that is not positive.

    ??? cite "Source"
        Bohte, Kok, La Poutre 2002.
    """
    if not width > 0:
        raise ValueError(f"`width` is {width}. Pass a standard deviation above 0.")
    if batch_first:
        found = population_counts(values.T, centres, width=width, most=most)
        return found.T
    centres = jnp.asarray(centres).reshape(1, -1, *(1,) * (values.ndim - 1))
    response = jnp.exp(-(((values[:, None] - centres) / width) ** 2) / 2)
    return nearest_counts(most * response).reshape(-1, *values.shape[1:])


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
    silent = jnp.cumprod(1 - within(outputs, 0, 1), axis=axis)
    return 1 + jnp.sum(silent, axis=axis)


def by_class(
    scores: Float[Array, "outputs *paths"], classes: int, *, batch_first: bool = False
) -> Float[Array, "classes *paths"]:
    """Add the scores of the neurons of each class (population code).

    **Arguments:**

    - `scores`: `(outputs, *paths)` numbers of the output neurons, for example their `total`. The
      first neurons belong to the first class, and each class has the same number of neurons.
    - `classes`: the number of classes.
    - `batch_first`: whether the axes are `(paths, outputs)`, also in what is returned.

    **Returns:** `(classes, *paths)` sums.

    **Raises:** `ValueError` if the neurons cannot be divided into that many groups of equal size.
    """
    if batch_first:
        scores = scores.T
    if classes < 1 or len(scores) % classes:
        raise ValueError(
            f"{len(scores)} output neurons cannot be divided among {classes} classes. Use a "
            "multiple of the number of classes."
        )
    found = jnp.sum(scores.reshape(classes, -1, *scores.shape[1:]), axis=1)
    return found.T if batch_first else found


def _moved(train: Float[Array, "steps *shape"], batch_first: bool) -> Float[Array, "..."]:
    """The train with the steps behind the batch, if that is first."""
    return jnp.moveaxis(train, 0, 1) if batch_first else train
