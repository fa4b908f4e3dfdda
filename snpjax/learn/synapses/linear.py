"""All-to-all and one-to-one synapses."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from snpjax_formats import Dense

from ..weights import WeightSet, drawn
from .abstract import (
    AbstractSynapses,
    SynapseList,
    check_sizes,
    delivered,
)


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
    def channels(self) -> int:
        return self.out_size

    @property
    def in_size(self) -> int:
        return self.weight.shape[1]

    @property
    def out_size(self) -> int:
        return self.weight.shape[0]

    def deliver(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps targets *paths"]:
        sizes = {"num_sources": self.in_size, "num_targets": self.out_size}
        return delivered(Dense(values=self._weight(), **sizes), train)

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
    def allowed(self) -> None:
        return None

    def deliver(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps targets *paths"]:
        return train

    def wiring(self) -> SynapseList:
        own = np.arange(self.size)
        return SynapseList(own, own, np.ones_like(own), np.zeros_like(own))
