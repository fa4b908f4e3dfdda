"""Synapses along which spikes travel for several steps, and synapses that exist in some steps only:
of the variants `SynapseDelays`, `DendriticDelays` and `ScheduledSynapses`."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from snpjax_formats import AbstractLayout
from snpjax_formats.ell import expanded

from ...choice import AbstractChoice, Steps
from ...results import RESULTS
from .fixed_networks import AbstractFixedNetwork
from .network import Change
from .shapes import Counts, Flags, Slots


class DelayedSynapses(AbstractFixedNetwork):
    """The synapses with delays. The state is what is in flight: row n is what arrives in step n + 1
    from now at each neuron that such synapses lead to.

    Axes: `delays`, the longest one, and `targets`, both padded; `cells` are both of them, targets
    varying fastest.
    """

    place_of: Int[Array, " neurons"]  # of each neuron among the targets; else past them
    nothing: Int[Array, "delays targets"]  # in flight at the beginning
    delivery: AbstractLayout  # from neurons to the cell of each synapse

    def init(self) -> Int[Array, "delays targets"]:
        return self.nothing

    def may_choose(self) -> Bool[Array, " neurons"]:
        return jnp.zeros(self.place_of.shape, bool)

    def is_pending(self, network: Int[Array, "delays targets *paths"]) -> Flags:
        return self._of_neurons(jnp.any(network != 0, axis=0))

    def change(
        self,
        network: Int[Array, "delays targets *paths"],
        slots: Slots,
        emissions: Counts,
        choice: AbstractChoice,
        step: Steps,
    ) -> Change:
        del slots, choice
        sent = self.delivery.deliver(emissions, accumulate=emissions.dtype)
        waiting = jnp.concatenate([network[1:], jnp.zeros_like(network[:1])])
        network = waiting + sent.reshape(network.shape).astype(network.dtype)
        return Change(network, None, _nobody(emissions, step), RESULTS.halted, None)

    def deliver(
        self, network: Int[Array, "delays targets *paths"], change: Change, emissions: Counts
    ) -> Counts:
        del change
        return self._of_neurons(network[0]).astype(emissions.dtype)

    def _of_neurons(self, values: Array) -> Array:
        """The value of each neuron among those of the targets, 0 for others."""
        return jnp.asarray(values).at[self.place_of].get(mode="fill", fill_value=0)


class SynapsesOnSchedule(AbstractFixedNetwork):
    """The synapses that have schedules. The state tells of each reference neuron how many steps ago
    its last emission will have been in the next step: 0 before the first, and no more than `most`.

    Axes: `scheduled` synapses, `intervals` of one, and `references`, all padded. What counts from
    the beginning of the run has the reference past the last one.
    """

    source: Int[Array, " scheduled"]
    start: Int[Array, "intervals scheduled"]
    stop: Int[Array, "intervals scheduled"]
    reference: Int[Array, "intervals scheduled"]
    neurons: Int[Array, " references"]
    most: Int[Array, " references"]
    delivery: AbstractLayout  # from scheduled synapses to their targets

    def init(self) -> Int[Array, " references"]:
        return jnp.zeros_like(self.most)

    def may_choose(self) -> Bool[Array, " neurons"]:
        return jnp.zeros(self.delivery.num_targets, bool)

    def is_pending(self, network: Int[Array, "references *paths"]) -> None:
        return None

    def change(
        self,
        network: Int[Array, "references *paths"],
        slots: Slots,
        emissions: Counts,
        choice: AbstractChoice,
        step: Steps,
    ) -> Change:
        del slots, choice
        emits = emissions.at[self.neurons].get(mode="fill", fill_value=0) != 0
        age = jnp.where(emits, 0, network)
        is_known = emits | (network > 0)
        after = jnp.minimum(age + 1, expanded(self.most, age.ndim))
        after = jnp.where(is_known, after, 0)
        # Ages below 0 are in no interval; the first step is 1.
        age = jnp.concatenate([jnp.where(is_known, age, -1), step[None].astype(age.dtype) + 1])
        start, stop = (expanded(x, network.ndim + 1) for x in (self.start, self.stop))
        own = age[self.reference]
        exists = jnp.any((start <= own) & (own < stop), axis=0)
        return Change(after, None, _nobody(emissions, step), RESULTS.halted, exists)

    def deliver(
        self, network: Int[Array, "references *paths"], change: Change, emissions: Counts
    ) -> Counts:
        del network
        sent = emissions.at[self.source].get(mode="fill", fill_value=0)
        sent = jnp.where(change.detail, sent, 0)
        return self.delivery.deliver(sent, accumulate=emissions.dtype)


def _nobody(emissions: Counts, step: Steps) -> Int[Array, "*paths"]:
    return jnp.full(step.shape, len(emissions), jnp.int32)
