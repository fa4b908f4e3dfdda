"""The plastic neurons of a model as columns: what lowering needs of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float64, Int

from snpjax_formats import AbstractLayout, Edges, device_array
from snpjax_formats.stored import slot_bucket

from ..model.rule import ALPHAS
from ..model.rule_table import SlotTable
from ..step.plasticity import CREATES, DELETES, PlasticSynapses


if TYPE_CHECKING:
    from ..model.population import AnySystem

_TYPES = tuple(map(np.dtype, (np.int8, np.int16, np.int32, np.int64)))

#: What each kind of plasticity does in its step, and in the one after.
_TURNS = {"+": (CREATES, 0), "-": (DELETES, 0), "+-": (CREATES, DELETES), "-+": (DELETES, CREATES)}


@dataclass(frozen=True, eq=False)
class PlasticColumns:
    """The plastic neurons of a model. Axes as in `PlasticSynapses`, unpadded; -1 is not a
    target."""

    neurons: Int[np.ndarray, " plastic"]
    targets: Int[np.ndarray, "places plastic"]
    initial: Bool[np.ndarray, "places plastic"]
    within: Bool[np.ndarray, "slots places plastic"]
    count: Int[np.ndarray, "slots plastic"]
    first: Int[np.ndarray, "slots plastic"]
    second: Int[np.ndarray, "slots plastic"]
    most: int  # spikes that one synapse carries
    deletes_within: bool
    is_plastic: Bool[np.ndarray, " neurons"]
    weights: Int[np.ndarray, "places plastic"] | None  # None: every weight is 1
    largest: int = 0
    num_choosers: int = 0

    @classmethod
    def of(cls, system: "AnySystem", table: SlotTable) -> "PlasticColumns | None":
        """`None` for a system without plasticity; `table` holds the slots of its neurons."""
        rules = system.plastic_rules
        if rules is None:
            return None
        size = system.num_neurons
        neurons = np.flatnonzero(rules.is_plastic)
        plastic_of = np.cumsum(rules.is_plastic) - 1
        # A place for every pair of a plastic neuron and what it may reach, in order.
        rule_of_target = rules.rule_of_target
        source = plastic_of[rules.neuron[rule_of_target]]
        possible = source * size + rules.targets
        there = plastic_of[rules.initial.source] * size + rules.initial.target
        pairs = np.sort(np.concatenate([possible, there]))  # np.unique is ten times slower
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
        owner = pairs // size
        num_places = np.bincount(owner, minlength=len(neurons))
        place = np.arange(len(pairs)) - np.repeat(np.cumsum(num_places) - num_places, num_places)
        shape = (int(num_places.max()), len(neurons))
        targets, initial = np.full(shape, -1, np.int64), np.zeros(shape, bool)
        targets[place, owner] = pairs - owner * size
        at = np.searchsorted(pairs, there)
        initial[place[at], owner[at]] = True
        weights, value = None, rules.initial.value
        if value is not None and (value != 1).any():
            weights = np.ones(shape, np.int64)
            weights[place[at], owner[at]] = value
        place = place[np.searchsorted(pairs, possible)]
        # The rule of every slot of a plastic neuron.
        types = table.type_of[neurons]
        is_used, number = (table.low <= table.high)[:, types], table.number[:, types]
        width = 1 + max(int(number.max(initial=0)), int(rules.number.max()))
        keys = rules.neuron * width + rules.number
        slot_keys = neurons * width + number
        rule = np.minimum(np.searchsorted(keys, slot_keys), len(keys) - 1)
        rule = np.where(is_used & (keys[rule] == slot_keys), rule, -1)
        within = np.zeros((len(rule), *shape), bool)
        for own, is_within in zip(rule, within, strict=True):
            is_its = own[source] == rule_of_target
            is_within[place[is_its], source[is_its]] = True
        first, second = np.asarray([_TURNS[alpha] for alpha in ALPHAS])[rules.kind].T
        count = np.minimum(rules.k, shape[0])
        most = int(np.abs(table.produce[:, types][is_used]).max(initial=1))
        return cls(
            neurons,
            targets,
            initial,
            within,
            *(np.where(rule < 0, 0, values[rule]) for values in (count, first, second)),
            most=most,
            deletes_within=system.compatibility.delete_within_N,
            is_plastic=rules.is_plastic,
            weights=weights,
        )

    def carries(self, edges: Edges) -> Bool[np.ndarray, " edges"]:
        """Which synapses of the system these are: all that leave plastic neurons."""
        return self.is_plastic[edges.source]

    def arrivals(
        self, production: Float64[np.ndarray, " neurons"]
    ) -> Float64[np.ndarray, " neurons"]:
        """A bound on what arrives at each neuron if each of them emits so much, or 1 by a synapse
        that it creates."""
        is_one = self.targets >= 0
        source = np.broadcast_to(self.neurons, self.targets.shape)[is_one]
        value = None if self.weights is None else self.weights[is_one]
        size = len(production)
        edges = Edges(source, self.targets[is_one], value, size, size)
        return edges.arrivals(np.maximum(production, 1))

    def lowered(
        self,
        num_neurons: int,
        num_slots: int,
        delivery: Callable[[Edges], AbstractLayout],
    ) -> PlasticSynapses:
        """As arrays for a program of that many neurons and slots; `delivery` stores synapses."""
        missing = {
            "plastic": slot_bucket(len(self.neurons), num_neurons) - len(self.neurons),
            "places": slot_bucket(len(self.targets), num_neurons) - len(self.targets),
            "slots": num_slots - len(self.count),
        }

        def pad(array: np.ndarray, axes: str, empty: int = 0) -> np.ndarray:
            widths = [(0, missing[axis]) for axis in axes.split()]
            return np.pad(array, widths, constant_values=empty)

        neurons = pad(self.neurons, "plastic", num_neurons)
        plastic_of = np.full(num_neurons + 1, len(neurons), np.int64)
        plastic_of[neurons] = np.arange(len(neurons))
        targets = pad(self.targets, "places plastic", -1)
        source = np.flatnonzero(targets >= 0)
        value = None if self.weights is None else pad(self.weights, "places plastic").flat[source]
        edges = Edges(source, targets.flat[source], value, targets.size, num_neurons)
        return PlasticSynapses(
            neurons=device_array(neurons, jnp.int32),
            plastic_of=device_array(plastic_of[:-1], jnp.int32),
            within=device_array(pad(self.within, "slots places plastic")),
            count=device_array(pad(self.count, "slots plastic"), jnp.int32),
            first=device_array(pad(self.first, "slots plastic"), jnp.int32),
            second=device_array(pad(self.second, "slots plastic"), jnp.int32),
            initial=device_array(pad(self.initial, "places plastic")),
            delivery=delivery(edges),
            carried=next(d for d in _TYPES if self.most <= np.iinfo(d).max),
            deletes_within=self.deletes_within,
        )
