"""Networks whose neurons and synapses stay, but do not deliver as synapses of the definition do."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from snpjax_formats import AbstractLayout

from .network import AbstractNetwork
from .shapes import Matches, PerSlot


class AbstractFixedNetwork(AbstractNetwork):
    """A network whose neurons and synapses stay, and that chooses no way to use a rule."""

    def labels(self, network: PyTree) -> None:
        return None

    def allowed(self, applicable: Matches, network: PyTree) -> Matches:
        del network
        return applicable

    def ways(self, applicable: Matches, network: PyTree) -> PerSlot:
        del network
        return applicable.astype(jnp.int32)

    def essential(self, network: PyTree) -> PyTree:
        return network

    def restored(self, essential: PyTree) -> PyTree:
        return essential


class AbstractStatelessNetwork(AbstractFixedNetwork):
    """A network without a state. What remains to be said is what `change` chooses and `deliver`
    makes of it, by `delivery`."""

    delivery: eqx.AbstractVar[AbstractLayout]  # to the neurons

    def may_choose(self) -> Bool[Array, " neurons"]:
        return jnp.zeros(self.delivery.num_targets, bool)

    def init(self) -> None:
        return None

    def is_pending(self, network: None) -> None:
        return None
