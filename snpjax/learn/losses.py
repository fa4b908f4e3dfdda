"""Losses of labelled outputs, and penalties of firing rates."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, PyTree

from .data import first_place, is_on_host


def cross_entropy(
    scores: Float[Array, "*steps classes paths"] | Float[Array, "*steps classes"],
    labels: Int[Array | np.ndarray, " paths"] | Int[Array | np.ndarray, ""],
    *,
    smoothing: float = 0.0,
    batch_first: bool = False,
) -> Float[Array, ""]:
    """The mean cross-entropy of the softmax of scores.

    Scores are what a decoder returns: `total(trains)`, `-first_spike(trains)`, the spikes that
    remain in the outputs, or any of these `by_class`. Trains themselves are scores in every step.

    **Arguments:**

    - `scores`: `(classes, *paths)`, or with further axes in front, such as `(steps, classes,
      *paths)`, over which the loss is averaged. The larger a score, the likelier its class.
    - `labels`: `(*paths,)` the class of each path, from 0.
    - `smoothing`: the part of the label that is spread evenly over all classes, from 0 to 1.
    - `batch_first`: whether the axes of `scores` are `(paths, classes)` or `(paths, steps,
      classes)`.

    **Returns:** the mean of all paths. It is log(classes) where all outputs are silent.

    **Raises:** `ValueError` for labels whose shape is not that of the paths, and for one that is
    not the number of a class, if labels are not traced; where they are, the loss is NaN.
    `TypeError` for labels that are not integers.
    """
    given = scores.shape
    labels = labels if isinstance(labels, jax.Array) else np.asarray(labels)
    if batch_first:
        scores = jnp.moveaxis(scores, 0, -1)
    axis = scores.ndim - 1 - labels.ndim
    if axis < 0 or scores.shape[axis + 1 :] != labels.shape:
        raise ValueError(
            f"`scores` have the shape {given} and `labels` {labels.shape}. Pass scores of "
            "shape (classes, *paths) or (steps, classes, *paths), and labels of shape (*paths,). "
            "Use `batch_first=True` if the batch is the first axis of the scores."
        )
    check_labels(labels, scores.shape[axis], "labels")
    log_probabilities = jax.nn.log_softmax(scores, axis=axis)
    # A negative index would count from the end.
    inside = jnp.where(labels < 0, scores.shape[axis], labels)
    own = jnp.expand_dims(inside, range(axis + 1))
    chosen = jnp.take_along_axis(log_probabilities, own, axis=axis, mode="fill")
    spread = jnp.mean(log_probabilities, axis=axis, keepdims=True)
    return -jnp.mean((1 - smoothing) * chosen + smoothing * spread)


def mean_square(scores: Float[Array, "*shape"], wanted: Float[Array, "*shape"]) -> Float[Array, ""]:
    """The mean square of the differences between scores and wanted values.

    **Arguments:**

    - `scores`: `(*shape,)` what a decoder returns, see `cross_entropy`.
    - `wanted`: `(*shape,)` values in the same units: spikes for counts, steps for first spikes;
      `class_targets` makes them from labels.

    **Returns:** the mean over all outputs and paths.

    **Raises:** `ValueError` for arrays of different shapes.
    """
    if scores.shape != wanted.shape:
        raise ValueError(
            f"`scores` has the shape {scores.shape} and `wanted` {wanted.shape}. Pass equal shapes."
        )
    return jnp.mean((scores - wanted) ** 2)


def class_targets(
    labels: Int[Array, "*paths"],
    classes: int,
    *,
    correct: float,
    others: float,
    batch_first: bool = False,
) -> Float[Array, "classes *paths"]:
    """The values wanted of each output neuron for labelled cases.

    **Arguments:**

    - `labels`: `(*paths,)` the class of each path, from 0.
    - `classes`: the number of classes.
    - `correct`: the value wanted of the neuron of the correct class: a number of spikes, or an
      early step of a first spike.
    - `others`: the value wanted of all other neurons.
    - `batch_first`: return `(*paths, classes)`.

    **Returns:** `(classes, *paths)` values for `mean_square`.

    **Raises:** as `cross_entropy`; where labels are traced, all values of one that is not the
    number of a class are `others`.
    """
    check_labels(labels, classes, "labels")
    axis = -1 if batch_first else 0
    return jnp.where(jax.nn.one_hot(labels, classes, axis=axis, dtype=bool), correct, others)


def rate_penalty(
    trains: PyTree[Float[Array, "steps neurons *paths"]],
    *,
    least: float = 0.0,
    most: float = float("inf"),
    per_population: bool = False,
    batch_first: bool = False,
) -> Float[Array, ""]:
    """Penalise firing rates outside a range.

    The rate of a neuron is the mean number of spikes that it emits in a step, over all steps and
    paths. The penalty is the mean square of the distances of the rates from the range. Silent
    neurons get a gradient too: the surrogate has a slope wherever no other rule is selected.

    **Arguments:**

    - `trains`: `(steps, neurons, *paths)` spikes that leave each neuron in each step; or several
      such arrays, for example those of a `Recording`, whose penalties are added.
    - `least`, `most`: the range, in spikes per step.
    - `per_population`: compare the mean rate of all neurons of an array with the range, rather than
      the rate of each.
    - `batch_first`: whether the axes of all arrays are `(paths, steps, neurons)`.

    **Returns:** the penalty, in squared spikes per step.

    **Raises:** `ValueError` for an empty range.
    """
    if not least <= most:
        raise ValueError(f"The rates are to be from {least} to {most}. Pass `least` <= `most`.")

    def of_one(train: Array) -> Array:
        train = jnp.moveaxis(train, 0, -1) if batch_first else train
        axes = (0, *range(2, train.ndim), *((1,) if per_population else ()))
        rates = jnp.mean(train, axis=axes)
        below, above = jnp.maximum(least - rates, 0), jnp.maximum(rates - most, 0)
        return jnp.mean((below + above) ** 2)

    return sum(map(of_one, jax.tree.leaves(trains)), jnp.zeros(()))


def spike_penalty(
    trains: PyTree[Float[Array, "steps neurons *paths"]],
    *,
    power: int = 1,
    batch_first: bool = False,
) -> Float[Array, ""]:
    """Penalise spikes, to make activity sparse.

    **Arguments:**

    - `trains`: `(steps, neurons, *paths)` spikes that leave each neuron in each step, or several
      such arrays, whose penalties are added.
    - `power`: 1 for the mean number of spikes of a neuron in a run (L1); 2 for the mean of its
      square (L2), which spreads spikes over neurons.
    - `batch_first`: whether the axes of all arrays are `(paths, steps, neurons)`.

    **Returns:** the penalty, in spikes or squared spikes.

    **Raises:** `ValueError` for another power.
    """
    if power not in (1, 2):
        raise ValueError(f"`power` is {power}. Pass 1 or 2.")

    def of_one(train: Array) -> Array:
        return jnp.mean(jnp.sum(train, axis=1 if batch_first else 0) ** power)

    return sum(map(of_one, jax.tree.leaves(trains)), jnp.zeros(()))


def check_labels(labels: Any, classes: int, name: str) -> None:
    """Refuse labels that are not numbers of classes; of traced ones only the type is known.

    **Arguments:**

    - `labels`: an array.
    - `classes`: how many there are.
    - `name`: of the labels.
    """
    if not jnp.issubdtype(labels.dtype, np.integer):
        raise TypeError(
            f"`{name}` holds {labels.dtype}. Give integers, the number of the class of each path "
            "from 0, such as `labels.astype(int)`."
        )
    if isinstance(labels, Tracer) or not is_on_host(labels):
        return
    values = np.asarray(labels)
    is_wrong = (values < 0) | (values >= classes)
    if place := first_place(is_wrong):
        raise ValueError(
            f"`{name}` is {values[is_wrong][0]} {place}, but there are {classes} classes. Give "
            f"numbers from 0 to {classes - 1}."
        )
