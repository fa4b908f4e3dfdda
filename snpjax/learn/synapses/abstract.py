"""Synapses between two populations whose weights are trained, and what they are in the exact
system."""

import abc
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from snpjax_formats import AbstractLayout

from ..surrogate import rounded, within
from ..weights import WeightSet


class SynapseList(NamedTuple):
    """Exact synapses between two populations. Several may join the same two neurons.

    - `source`, `target`: neurons, counted in their populations.
    - `weight`: spikes that arrive for each one that was sent; synapses of weight 0 are not
      exported.
    - `delay`: for how many steps spikes travel.
    """

    source: Int[np.ndarray, " synapses"]
    target: Int[np.ndarray, " synapses"]
    weight: Int[np.ndarray, " synapses"]
    delay: Int[np.ndarray, " synapses"]


SynapsesT = TypeVar("SynapsesT", bound="AbstractSynapses")
WeightedT = TypeVar("WeightedT", bound="AbstractWeightedSynapses")


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


class AbstractWeightedSynapses(AbstractSynapses):
    """Synapses without delays whose weights are an array, channel by channel.

    - `weights`: what they may be.
    """

    weights: eqx.AbstractVar[WeightSet]

    @property
    def allowed(self) -> WeightSet:
        return self.weights

    @property
    def channels(self) -> int:
        return self.weight.shape[0]

    @property
    def lag(self) -> int:
        return 0

    def exact(self: WeightedT) -> WeightedT:
        return with_weight(self, self.weights.exact(self.weight))

    def quantised(self: WeightedT, allowed: WeightSet) -> WeightedT:
        return eqx.tree_at(
            lambda own: (own.weight, own.weights),
            self,
            (jnp.clip(self.weight, *allowed.range), allowed),
            is_leaf=lambda node: isinstance(node, WeightSet),
        )

    def scaled(self: WeightedT, gain: Float[Array, " channels"]) -> WeightedT:
        return with_weight(self, self.weight * gain.reshape(-1, *(1,) * (self.weight.ndim - 1)))


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


def clipped(synapses: SynapsesT) -> SynapsesT:
    """The synapses with weights in their range, as smooth firing uses them; derivatives are 0
    outside."""
    if synapses.allowed is None:
        return synapses
    return with_weight(synapses, within(synapses.weight, *synapses.allowed.range))


def check_sizes(**sizes: int) -> None:
    """Refuse sizes below 1."""
    if min(sizes.values()) < 1:
        named = ", ".join(f"`{name}` {size}" for name, size in sizes.items())
        raise ValueError(f"The sizes are {named}. Give sizes of 1 or more.")
