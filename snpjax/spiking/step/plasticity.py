"""Plasticity: neurons that create and delete their own synapses."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from snpjax_formats import AbstractLayout
from snpjax_formats.ell import expanded

from ...choice import MAX_WAYS, NO_RULE, AbstractChoice, Steps
from ...choice.subsets import num_subsets
from ...results import RESULTS
from .network import AbstractNetwork, Change
from .shapes import Counts, Flags, Matches, PerSlot, Slots


CREATES, DELETES = 1, -1


class PlasticState(NamedTuple):
    """- `exists`: which of the synapses that may be there are.
    - `second`: 1 + the slot whose second turn is due, or 0.
    """

    exists: Bool[Array, "places plastic *paths"]
    second: Int[Array, "plastic *paths"]


class PlasticDetail(NamedTuple):
    """- `chosen`: the synapses that were created or deleted.
    - `created`: those that were created.
    """

    chosen: Bool[Array, "places plastic *paths"]
    created: Bool[Array, "places plastic *paths"]


class PlasticSynapses(AbstractNetwork):
    """The plastic neurons of a system, each with the synapses that it may ever have: those of the
    beginning and one to each neuron that its rules name. So their number, the places, is known, and
    none is ever wanting.

    Axes: `plastic`, in order; padding names the neuron `num_neurons`, which does not exist. `slots`
    are those of the program. `places` of one neuron are ordered by target.

    ??? cite "Source"
        Cabarle, Adorna, Perez-Jimenez, Song 2015; capacity as in Hernandez-Tello,
        Martinez-del-Amor, Orellana-Martin, Cabarle 2024 (column size z). A rule that deletes takes
        any synapse of its neuron, as printed there, unless `deletes_within` its targets.
    """

    neurons: Int[Array, " plastic"]
    plastic_of: Int[Array, " neurons"]  # the place of each neuron among the plastic; else past them
    within: Bool[Array, "slots places plastic"]  # the targets of each rule
    count: Int[Array, "slots plastic"]  # k
    first: Int[Array, "slots plastic"]  # `CREATES`, `DELETES` or 0
    second: Int[Array, "slots plastic"]
    initial: Bool[Array, "places plastic"]
    delivery: AbstractLayout  # from every place of every plastic neuron to its target
    carried: np.dtype = eqx.field(static=True)  # holds what one synapse carries
    deletes_within: bool = eqx.field(static=True)

    def init(self) -> PlasticState:
        return PlasticState(self.initial, jnp.zeros(self.neurons.shape, jnp.int32))

    def labels(self, network: PlasticState) -> None:
        return None

    def allowed(self, applicable: Matches, network: PlasticState) -> Matches:
        return applicable & ~self.is_pending(network)[None]

    def may_choose(self) -> Bool[Array, " neurons"]:
        return self.plastic_of < len(self.neurons)

    def is_pending(self, network: PlasticState) -> Flags:
        return (network.second > 0).at[self.plastic_of].get(mode="fill", fill_value=False)

    def ways(self, applicable: Matches, network: PlasticState) -> PerSlot:
        def along(table: Array) -> Array:
            return expanded(table, table.ndim + network.second.ndim - 1)

        size = self.initial.shape[0]
        is_second = network.second[None] == along(jnp.arange(1, len(self.count) + 1)[:, None])
        kind = jnp.where(is_second, along(self.second), along(self.first))
        to_create = jnp.sum(along(self.within) & ~network.exists[None], axis=1, dtype=jnp.int32)
        to_delete = jnp.sum(network.exists, axis=0, dtype=jnp.int32)[None]
        if self.deletes_within:
            to_delete = jnp.sum(along(self.within) & network.exists[None], axis=1, dtype=jnp.int32)
        some = jnp.where(kind == CREATES, to_create, jnp.where(kind == DELETES, to_delete, 0))
        number = jnp.minimum(num_subsets(some, along(self.count), size), MAX_WAYS)
        number = number.at[:, self.plastic_of].get(mode="fill", fill_value=1)
        is_second = is_second.at[:, self.plastic_of].get(mode="fill", fill_value=False)
        return jnp.where(applicable | is_second, number, 0)

    def essential(self, network: PlasticState) -> PlasticState:
        return network

    def restored(self, essential: PlasticState) -> PlasticState:
        return essential

    def change(
        self,
        network: PlasticState,
        slots: Slots,
        emissions: Counts,
        choice: AbstractChoice,
        step: Steps,
    ) -> Change:
        del emissions
        own = slots.at[self.neurons].get(mode="fill", fill_value=NO_RULE).astype(jnp.int32)
        turn = self._turn(network, own)
        there = jnp.sum(turn.candidates, axis=0, dtype=jnp.int32)
        count = jnp.minimum(turn.most, there)
        chosen = choice.subset(turn.candidates, count, self.neurons, step)
        chosen = jnp.where((count == there)[None], turn.candidates, chosen)
        culprit = jnp.full(slots.shape[1:], len(slots), jnp.int32)
        if choice.may_be_invalid:  # a given number past the last subset names none
            fails = jnp.sum(chosen, axis=0, dtype=jnp.int32) != count
            neuron = expanded(self.neurons, fails.ndim)
            culprit = jnp.min(jnp.where(fails, neuron, len(slots)), axis=0, initial=len(slots))
        has_second = (network.second == 0) & (self._of_slot(self.second, own) != 0)
        after = PlasticState(
            exists=network.exists ^ chosen,
            second=jnp.where(has_second, own + 1, 0),
        )
        detail = PlasticDetail(chosen, chosen & turn.creates[None])
        return Change(after, None, culprit, RESULTS.choice_refused, detail)

    def deliver(self, network: PlasticState, change: Change, emissions: Counts) -> Counts:
        sent = emissions.at[self.neurons].get(mode="fill", fill_value=0)
        # A neuron that changes its synapses emits nothing, but for the spike of each new one.
        created = change.detail.created.astype(self.carried)
        carried = jnp.where(network.exists, sent[None].astype(self.carried), 0) + created
        carried = carried.reshape(-1, *carried.shape[2:])
        return self.delivery.deliver(carried, accumulate=emissions.dtype)

    def _turn(self, network: PlasticState, own: Int[Array, "plastic *paths"]) -> "_Turn":
        """What is done by the selected slots, or by those whose second turn it is."""
        is_second = network.second > 0
        slot = jnp.where(is_second, network.second - 1, own)
        kind = jnp.where(
            is_second, self._of_slot(self.second, slot), self._of_slot(self.first, slot)
        )
        within = jnp.zeros(network.exists.shape, bool)
        for number in range(self.within.shape[0]):
            here = expanded(self.within[number], network.exists.ndim)
            within |= here & (slot == number)[None]
        creates, deletes = kind == CREATES, kind == DELETES
        deleted = within & network.exists if self.deletes_within else network.exists
        candidates = (creates[None] & within & ~network.exists) | (deletes[None] & deleted)
        return _Turn(candidates, self._of_slot(self.count, slot), creates)

    def _of_slot(
        self, table: Int[Array, "slots plastic"], slot: Int[Array, "plastic *paths"]
    ) -> Int[Array, "plastic *paths"]:
        found = jnp.zeros(slot.shape, jnp.int32)
        for number in range(table.shape[0]):
            found = jnp.where(slot == number, expanded(table[number], slot.ndim), found)
        return found


class _Turn(NamedTuple):
    candidates: Bool[Array, "places plastic *paths"]
    most: Int[Array, "plastic *paths"]
    creates: Bool[Array, "plastic *paths"]
