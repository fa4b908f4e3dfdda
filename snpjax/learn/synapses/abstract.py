"""Synapses between two populations whose weights are trained, and what they are in the exact
system."""

import abc
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
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


class AbstractSynapses(eqx.Module):
    """Synapses from one population to another, a linear function of trains.

    - `weight`: the trained real numbers, an array of the synapses or of a field of theirs. How many
      synapses share one depends on the class. Without trained weights it has no entries.
    """

    weight: eqx.AbstractVar[Float[Array, "..."]]

    @property
    @abc.abstractmethod
    def allowed(self) -> WeightSet | None:
        """What the weights may be: a field of the synapses; `None` without weights."""

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
        """The number of groups of consecutive targets with weights of their own: the length of the
        first axis of `weight`."""

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

    @property
    def lag(self) -> int:
        """The largest delay of a synapse: 0 unless a class has delays."""
        return 0

    def with_weight(self: SynapsesT, weight: Float[Array, "..."]) -> SynapsesT:
        """The synapses with other weights.

        **Arguments:**

        - `weight`: the weights, of the same shape.
        """
        return eqx.tree_at(lambda own: own.weight, self, weight)

    def exact(self: SynapsesT) -> SynapsesT:
        """The synapses with integer weights in their range; derivatives pass straight through."""
        return self if self.allowed is None else self.with_weight(self.allowed.exact(self.weight))

    def clipped(self: SynapsesT) -> SynapsesT:
        """The synapses with weights in their range, which need not be integers, as smooth firing
        uses them; derivatives are 0 outside."""
        if self.allowed is None:
            return self
        return self.with_weight(within(self.weight, *self.allowed.range))

    def quantised(self: SynapsesT, allowed: WeightSet) -> SynapsesT:
        """The synapses with other allowed weights, and the real ones moved into their range.

        **Arguments:**

        - `allowed`: what the weights may be.
        """
        if self.allowed is None:
            return self
        others = jax.tree.map(
            lambda node: allowed if isinstance(node, WeightSet) else node,
            self,
            is_leaf=lambda node: isinstance(node, WeightSet),
        )
        return others.with_weight(jnp.clip(self.weight, *allowed.range))

    def scaled(self: SynapsesT, gain: Float[Array, " channels"]) -> SynapsesT:
        """The synapses with the weights of each channel multiplied.

        **Arguments:**

        - `gain`: `(channels,)` factors.

        **Raises:** `ValueError` for synapses without weights.
        """
        if self.allowed is None:
            kind = type(self).__name__
            raise ValueError(f"`{kind}` have no trained weights. Leave `norm` out.")
        return self.with_weight(self.weight * gain.reshape(-1, *(1,) * (self.weight.ndim - 1)))

    def changes(self) -> Float[np.ndarray, "..."]:
        """By how much an export rounds the weights."""
        if self.allowed is None:
            return np.zeros(0, np.float32)
        return np.asarray(self.allowed.nearest(self.weight) - self.weight)


def arrivals(
    synapses: AbstractSynapses, train: Float[Array, "steps sources *paths"], is_smooth: bool
) -> Float[Array, "steps targets *paths"]:
    """What arrives through synapses: whole numbers unless firing is smooth, whatever order or
    transform of sums an accelerator chooses for a convolution."""
    found = synapses.deliver(train)
    return found if is_smooth else rounded(found)


def delivered(
    layout: AbstractLayout, train: Float[Array, "steps sources *paths"]
) -> Float[Array, "steps targets *paths"]:
    """What arrives through synapses in a layout, in each step."""
    # Steps are a batch like any other, and go last.
    sent = jnp.moveaxis(train, 0, -1)
    return jnp.moveaxis(layout.deliver(sent, accumulate=jnp.float32), -1, 0)


def check_sizes(**sizes: int) -> None:
    """Refuse sizes below 1."""
    if min(sizes.values()) < 1:
        named = ", ".join(f"`{name}` {size}" for name, size in sizes.items())
        raise ValueError(f"The sizes are {named}. Give sizes of 1 or more.")


def matches(
    keys: Int[np.ndarray, " keys"], wanted: Int[np.ndarray, " wanted"]
) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """The pairs of equal numbers: the positions in `wanted`, in order, and those in `keys`."""
    order = np.argsort(keys, kind="stable")
    first, end = (np.searchsorted(keys[order], wanted, side=side) for side in ("left", "right"))
    number = np.repeat(np.arange(len(wanted)), end - first)
    begin = np.cumsum(end - first) - (end - first)
    return number, order[(first - begin)[number] + np.arange(len(number))]
