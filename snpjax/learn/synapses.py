"""Synapses between two populations whose weights are trained, and what they are in the exact
system."""

import abc
import math
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key

from snpjax_formats import AbstractLayout

from .surrogate import nearest, rounded, within


#: Products of whole numbers are exact only without the short floats of some accelerators.
PRECISION = jax.lax.Precision.HIGHEST


class WeightSet(eqx.Module):
    """The integers that weights may be: those in a range, or of some ascending levels."""

    range: tuple[float, float] = eqx.field(static=True)
    levels: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def nearest(self, weight: Float[Array, "..."]) -> Float[Array, "..."]:
        """The nearest integer, also out of the range, or level; see `quantise`."""
        return rounded(weight) if self.levels is None else nearest(weight, self.levels)

    def exact(self, weight: Float[Array, "..."]) -> Float[Array, "..."]:
        """The weights of an exact run; derivatives pass straight through."""
        found = self.nearest(weight)
        return found if self.levels is not None else within(found, *self.range)


class SynapseList(NamedTuple):
    """Exact synapses between two populations. Several may join the same two neurons.

    - `source`, `target`: neurons, counted in their populations.
    - `weight`: spikes that arrive for each one that was sent; none is 0.
    - `delay`: for how many steps spikes travel.
    """

    source: Int[np.ndarray, " synapses"]
    target: Int[np.ndarray, " synapses"]
    weight: Int[np.ndarray, " synapses"]
    delay: Int[np.ndarray, " synapses"]


SynapsesT = TypeVar("SynapsesT", bound="AbstractSynapses")


class AbstractSynapses(eqx.Module):
    """Synapses from one population to another, a linear function of trains.

    - `weight`: the trained real numbers; how many synapses share one depends on the class.
    """

    weight: eqx.AbstractVar[Float[Array, "..."]]

    @property
    @abc.abstractmethod
    def allowed(self) -> WeightSet | None:
        """What the weights may be; `None` without weights."""

    @property
    @abc.abstractmethod
    def in_size(self) -> int:
        """The number of source neurons."""

    @property
    @abc.abstractmethod
    def out_size(self) -> int:
        """The number of target neurons."""

    @property
    @abc.abstractmethod
    def channels(self) -> int:
        """The number of groups of consecutive targets with weights of their own."""

    @property
    @abc.abstractmethod
    def lag(self) -> int:
        """The largest delay of a synapse."""

    @abc.abstractmethod
    def exact(self: SynapsesT) -> SynapsesT:
        """The synapses with integer weights in their range; derivatives pass straight through."""

    @abc.abstractmethod
    def quantised(self: SynapsesT, allowed: WeightSet) -> SynapsesT:
        """The synapses with other allowed weights, and the real ones moved into their range.

        **Arguments:**

        - `allowed`: what the weights may be.
        """

    @abc.abstractmethod
    def scaled(self: SynapsesT, gain: Float[Array, " channels"]) -> SynapsesT:
        """The synapses with the weights of each channel multiplied.

        **Arguments:**

        - `gain`: `(channels,)` factors.
        """

    @abc.abstractmethod
    def deliver(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps targets *paths"]:
        """What arrives in each step.

        **Arguments:**

        - `train`: `(steps, sources, *paths)` spikes that are sent in each step.

        **Returns:** `(steps, targets, *paths)` spikes that arrive at its end.
        """

    @abc.abstractmethod
    def wiring(self) -> SynapseList:
        """The synapses with these weights, which are integers."""


class LinearSynapses(AbstractSynapses):
    """All sources to all targets, each pair with a weight of its own."""

    weight: Float[Array, "targets sources"]
    weights: WeightSet
    has_self: bool = eqx.field(static=True)

    def __init__(
        self,
        in_size: int,
        out_size: int,
        *,
        key: Key[Array, ""],
        weight_range: tuple[float, float] = (-3, 3),
        scale: float | None = None,
        has_self: bool = True,
    ):
        """**Arguments:**

        - `in_size`, `out_size`: the numbers of sources and of targets.
        - `key`: for the initial weights; it is consumed.
        - `weight_range`: the smallest and the largest weight.
        - `scale`: draw the initial weights from a normal distribution with this standard deviation;
          by default from a uniform distribution over `weight_range`.
        - `has_self`: whether source i projects to target i; false for a population that projects to
          itself, as SN P systems have no synapse from a neuron to itself.

        **Raises:** `ValueError` for sizes below 1 and ranges that are not of two whole numbers.
        """
        check_sizes(in_size=in_size, out_size=out_size)
        self.weight = drawn(key, (out_size, in_size), weight_range, scale)
        self.weights, self.has_self = WeightSet(weight_range), has_self

    @property
    def allowed(self) -> WeightSet:
        return self.weights

    @property
    def in_size(self) -> int:
        return self.weight.shape[1]

    @property
    def out_size(self) -> int:
        return self.weight.shape[0]

    @property
    def channels(self) -> int:
        return self.out_size

    @property
    def lag(self) -> int:
        return 0

    def exact(self) -> "LinearSynapses":
        return with_weight(self, self.weights.exact(self.weight))

    def quantised(self, allowed: WeightSet) -> "LinearSynapses":
        return with_allowed(self, allowed)

    def scaled(self, gain: Float[Array, " targets"]) -> "LinearSynapses":
        return with_weight(self, self.weight * gain[:, None])

    def deliver(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps targets *paths"]:
        found = jnp.tensordot(self._weight(), train, axes=(1, 1), precision=PRECISION)
        return jnp.moveaxis(found, 1, 0)

    def wiring(self) -> SynapseList:
        weight = np.asarray(self._weight()).astype(int)
        target, source = np.nonzero(weight)
        return SynapseList(source, target, weight[target, source], np.zeros_like(source))

    def _weight(self) -> Float[Array, "targets sources"]:
        if self.has_self:
            return self.weight
        return self.weight * (1 - np.eye(*self.weight.shape, dtype=np.float32))


class OneToOneSynapses(AbstractSynapses):
    """Source i to target i with weight 1, which is not trained: a skip connection."""

    size: int = eqx.field(static=True)

    def __init__(self, size: int):
        """**Arguments:**

        - `size`: the number of sources, and of targets.

        **Raises:** `ValueError` for a size below 1.
        """
        check_sizes(size=size)
        self.size = size

    @property
    def in_size(self) -> int:
        return self.size

    @property
    def out_size(self) -> int:
        return self.size

    @property
    def channels(self) -> int:
        return self.size

    @property
    def weight(self) -> Float[Array, " 0"]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return jnp.zeros(0)

    @property
    def lag(self) -> int:
        return 0

    @property
    def allowed(self) -> None:
        return None

    def exact(self) -> "OneToOneSynapses":
        return self

    def quantised(self, allowed: WeightSet) -> "OneToOneSynapses":
        del allowed
        return self

    def scaled(self, gain: Float[Array, " channels"]) -> "OneToOneSynapses":
        """**Raises:** `ValueError` always: the weights are not trained."""
        raise ValueError("One-to-one synapses have weight 1 and are not scaled.")

    def deliver(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps targets *paths"]:
        return train

    def wiring(self) -> SynapseList:
        own = np.arange(self.size)
        return SynapseList(own, own, np.ones_like(own), np.zeros_like(own))


def arrivals(
    synapses: AbstractSynapses, train: Float[Array, "steps sources *paths"], is_smooth: bool
) -> Float[Array, "steps targets *paths"]:
    """What arrives through synapses: whole numbers unless firing is smooth, whatever order or
    transform of sums an accelerator chooses for a convolution."""
    found = synapses.deliver(train)
    return found if is_smooth else rounded(found)


def weight_changes(synapses: AbstractSynapses) -> Float[np.ndarray, "..."]:
    """By how much an export rounds the weights."""
    if synapses.allowed is None:
        return np.zeros(0, np.float32)
    return np.asarray(synapses.allowed.nearest(synapses.weight) - synapses.weight)


def delivered(
    layout: AbstractLayout, train: Float[Array, "steps sources *paths"]
) -> Float[Array, "steps targets *paths"]:
    """What arrives through synapses in a layout, in each step."""
    # Steps are a batch like any other, and go last.
    sent = jnp.moveaxis(train, 0, -1)
    return jnp.moveaxis(layout.deliver(sent, accumulate=jnp.float32), -1, 0)


def with_weight(synapses: SynapsesT, weight: Float[Array, "..."]) -> SynapsesT:
    """The synapses with other weights."""
    return eqx.tree_at(lambda own: own.weight, synapses, weight)


def with_allowed(synapses: SynapsesT, allowed: WeightSet) -> SynapsesT:
    """Synapses that have `weights` with others, see `AbstractSynapses.quantised`."""
    return eqx.tree_at(
        lambda own: (own.weight, own.weights),
        synapses,
        (jnp.clip(synapses.weight, *allowed.range), allowed),
        is_leaf=lambda node: isinstance(node, WeightSet),
    )


def drawn(
    key: Key[Array, ""],
    shape: tuple[int, ...],
    weight_range: tuple[float, float],
    scale: float | None,
) -> Float[Array, "..."]:
    """Random weights: uniform over the range, or with `scale` normal and clipped to it."""
    low, most = weight_range
    if not low <= most or any(math.isfinite(x) and x != round(x) for x in (low, most)):
        raise ValueError(f"`weight_range` is {weight_range}. Give two whole numbers, ascending.")
    if scale is None:
        return jr.uniform(key, shape, minval=low, maxval=most)
    return jnp.clip(scale * jr.normal(key, shape), low, most)


def check_sizes(**sizes: int) -> None:
    """Refuse sizes below 1."""
    if min(sizes.values()) < 1:
        named = ", ".join(f"`{name}` {size}" for name, size in sizes.items())
        raise ValueError(f"The sizes are {named}. Give sizes of 1 or more.")
