"""Classifiers by default settings: real features as counts of spikes, the network and its loss."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key, Real

from .._text.counts import plural
from .arguments import check_sent, whole_counts
from .coding import nearest_counts
from .data import Column, first_place, is_on_host
from .losses import check_labels, cross_entropy
from .network import AbstractPopulationNetwork, SpikingNetwork
from .rules import relay
from .surrogate import FastSigmoid


# The settings below are those of a search on wine, iris, breast cancer and digits (scikit-learn),
# over 20 splits each (bench/learning.py measures them).
_LEVELS = 16


class CountEncoder(eqx.Module):
    """From real features to counts of spikes from 0 to `levels`; made by `count_encoder`.

    - `low`, `high`: of each feature, what becomes 0 and what becomes `levels`.
    - `has_bias`: whether one more input always has `levels` spikes.
    """

    low: Float[np.ndarray, " features"]
    high: Float[np.ndarray, " features"]
    levels: int = eqx.field(static=True)
    has_bias: bool = eqx.field(static=True)

    @property
    def size(self) -> int:
        """The number of inputs that a network of these counts has."""
        return len(self.low) + self.has_bias

    def __call__(
        self, samples: Real[Array | np.ndarray, "samples features"]
    ) -> Float[np.ndarray, "samples inputs"]:
        """Encode samples, which are rows.

        **Arguments:**

        - `samples`: `(samples, features)` real numbers; those out of range count as its ends.

        **Returns:** `(samples, inputs)` whole numbers in float32.

        **Raises:** `ValueError` for another number of features, or values that are not finite.
        """
        given = np.asarray(samples, np.float64)
        _check_samples(given)
        if given.shape[1] != len(self.low):
            raise ValueError(
                f"`samples` has {given.shape[1]} features, and the encoder {len(self.low)}. Give "
                "those that it was made with, samples as rows."
            )
        width = np.where(self.high > self.low, self.high - self.low, 1)
        counts = np.round(np.clip((given - self.low) / width, 0, 1) * self.levels)
        bias = np.full((len(counts), int(self.has_bias)), self.levels)
        return np.concatenate([counts, bias], axis=1).astype(np.float32)


def count_encoder(
    samples: Real[Array | np.ndarray, "samples features"],
    /,
    *,
    levels: int = _LEVELS,
    deviations: float = 2.5,
    bias: bool = True,
) -> CountEncoder:
    """Find out how the features of a training set become counts of spikes.

    Each feature is scaled so that `deviations` standard deviations below its mean become 0 and as
    many above it `levels`, or its least and largest value where these are nearer.

    **Arguments:**

    - `samples`: `(samples, features)` real numbers, of the training set.
    - `levels`: the largest count.
    - `deviations`: how far from the mean values are told apart.
    - `bias`: add one more input that always has `levels` spikes.

    **Returns:** a `CountEncoder`.

    **Raises:** `ValueError` for samples that are not finite or not rows, or `levels` below 1.
    """
    given = np.asarray(samples, np.float64)
    _check_samples(given)
    if levels < 1 or deviations <= 0 or not len(given):
        raise ValueError(
            f"There are {len(given)} samples, `levels` is {levels} and `deviations` {deviations}. "
            "Give a sample or more, and positive numbers."
        )
    mean, spread = given.mean(axis=0), deviations * given.std(axis=0)
    low = np.maximum(mean - spread, given.min(axis=0))
    high = np.minimum(mean + spread, given.max(axis=0))
    return CountEncoder(low, high, levels, bias)


def classifier(
    inputs: int,
    classes: int,
    /,
    *,
    key: Key[Array, ""],
    hidden: int = 64,
    steps: int = 10,
    levels: int = _LEVELS,
    weight_range: tuple[float, float] = (-3, 3),
) -> SpikingNetwork:
    """A network that classifies counts of spikes.

    The inputs send all of their spikes in the first step; hidden neurons fire once for every
    `levels` spikes that they hold; each class has a neuron that counts, and the answer is the one
    with the most spikes. The batch is the first axis: `network(counts)` maps `(samples, inputs)` to
    `(samples, classes)`.

    **Arguments:**

    - `inputs`, `classes`: the numbers of inputs and of classes.
    - `key`: for the initial weights; it is consumed.
    - `hidden`: the number of hidden neurons.
    - `steps`: the length of a run; hidden neurons fire in all but the first.
    - `levels`: the largest count of an input, as of the encoder.
    - `weight_range`: the smallest and the largest weight.

    **Returns:** a `SpikingNetwork` with `batch_first`.

    **Raises:** `ValueError` for fewer than 2 classes or steps, or sizes below 1.
    """
    if classes < 2 or steps < 2 or levels < 1:
        raise ValueError(
            f"`classes` is {classes}, `steps` {steps} and `levels` {levels}. Give 2 classes or "
            "more, 2 steps or more, and 1 level or more."
        )
    return SpikingNetwork(
        (inputs, hidden, classes),
        (relay(levels), f"a{{{levels},}}/a^{levels} -> a", ()),
        key=key,
        steps=steps,
        weight_range=weight_range,
        scale=0.9,
        surrogate=FastSigmoid(4.8 / levels, height=1 / levels),
        batch_first=True,
    )


class CrossEntropy(eqx.Module):
    """The loss of a classifier, for `fit`: the cross entropy of the softmax of its counts.

    - `temperature`: by which counts are divided before the softmax.
    - `smoothing`: the share of each label that is spread evenly over all classes.
    - `noise`: the standard deviation of noise on the counts of the inputs, in spikes, against
      overfitting; counts stay whole and between 0 and the largest of the batch.
    """

    temperature: float = eqx.field(static=True, default=32.0)
    smoothing: float = eqx.field(static=True, default=0.2)
    noise: float = eqx.field(static=True, default=1.0)

    def __call__(
        self,
        model: Callable[..., Float[Array, "samples classes"]],
        counts: Float[Array | np.ndarray, "samples inputs"],
        labels: Int[Array | np.ndarray, "..."],
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, ""]:
        """The mean loss of a batch.

        **Arguments:**

        - `model`: a network with `batch_first`, or any function of counts. Those of a network are
          whole numbers.
        - `counts`: `(samples, inputs)` spikes of the inputs.
        - `labels`: `(samples,)` the number of the class of each sample.
        - `key`: of the noise; it is consumed. Without a key there is none.

        **Returns:** the mean loss.

        **Raises:** as `cross_entropy`, and `ValueError` for counts or labels of other shapes, and a
        model whose batch is the last axis.
        """
        if isinstance(model, AbstractPopulationNetwork) and not model.batch_first:
            raise ValueError(
                "The batch is the last axis of the model. Make it with `batch_first=True`, as "
                "samples are rows here."
            )
        labels = labels if isinstance(labels, jax.Array) else np.asarray(labels)
        _check_axes(labels, "labels")
        counts = jnp.asarray(counts, jnp.float32)
        if key is not None and self.noise:
            noisy = counts + self.noise * jr.normal(key, counts.shape)
            counts = jnp.minimum(nearest_counts(noisy), jnp.max(counts))
        logits = model(counts) / self.temperature
        if logits.ndim != 2 or labels.shape != logits.shape[:1]:
            raise ValueError(
                f"The model returns the shape {logits.shape} for {plural(len(labels), 'label')}. "
                "Give one label for each sample, and a model that returns (samples, classes): "
                "networks do with `batch_first=True`."
            )
        return cross_entropy(logits, labels, smoothing=self.smoothing, batch_first=True)

    def check_columns(self, model: Any, columns: Sequence[Column], name: str) -> None:
        """Refuse data that the loss cannot use, before anything is compiled; `fit` calls it.

        **Arguments:**

        - `model`: as in a call.
        - `columns`: counts and labels, with a row for each sample.
        - `name`: of the data.

        **Raises:** as a call, naming the column.
        """
        if len(columns) != 2:
            raise ValueError(
                f"`{name}` has {plural(len(columns), 'column')}. `CrossEntropy` needs two: "
                "`(counts, labels)`."
            )
        counts, labels = columns
        if isinstance(model, AbstractPopulationNetwork) and is_on_host(counts):
            whole_counts(counts, f"{name}[0]")
            check_sent(counts, f"{name}[0]", lambda: model.most_relayed)
        _check_axes(labels, f"{name}[1]")
        samples = jax.ShapeDtypeStruct((2, *counts.shape[1:]), jnp.float32)
        own = jax.ShapeDtypeStruct((2,), jnp.int32)
        eqx.filter_eval_shape(self, model, samples, own)  # raises for other shapes
        check_labels(labels, eqx.filter_eval_shape(model, samples).shape[1], f"{name}[1]")


def _check_axes(labels: Any, name: str) -> None:
    if labels.ndim != 1:
        raise ValueError(
            f"`{name}` has the shape {labels.shape}. Give (samples,) numbers of classes; of rows "
            "with a 1 for the class, `labels.argmax(axis=1)`."
        )


def _check_samples(samples: np.ndarray) -> None:
    if samples.ndim != 2:
        raise ValueError(
            f"`samples` has the shape {samples.shape}. Give samples as rows and features as "
            "columns."
        )
    is_wrong = ~np.isfinite(samples)
    if place := first_place(is_wrong):
        raise ValueError(
            f"`samples` is {samples[is_wrong][0]} {place}. Give finite numbers; fill in what is "
            "missing, or leave these samples out."
        )
