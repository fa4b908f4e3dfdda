"""Networks that do not change, but do not deliver as synapses of the definition do."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from snpjax_formats import AbstractLayout

from .dynamic_synapses import AbstractNetwork
from .shapes import Matches, PerSlot


class AbstractStatelessNetwork(AbstractNetwork):
    """A network without a state. What remains to be said is what `change` chooses and `deliver`
    makes of it, by `delivery`."""

    delivery: eqx.AbstractVar[AbstractLayout]  # to the neurons

    def init(self) -> None:
        return None

    def labels(self, network: None) -> None:
        return None

    def allowed(self, applicable: Matches, network: None) -> Matches:
        del network
        return applicable

    def ways(self, applicable: Matches, network: None) -> PerSlot:
        del network
        return applicable.astype(jnp.int32)

    def may_choose(self) -> Bool[Array, " neurons"]:
        return jnp.zeros(self.delivery.num_targets, bool)

    def is_pending(self, network: None) -> None:
        return None

    def essential(self, network: None) -> None:
        return None

    def restored(self, essential: None) -> None:
        return None
