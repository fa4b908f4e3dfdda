"""The plastic neurons of a model as columns: what lowering needs of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float64, Int

from snpjax_formats import AbstractLayout, Edges, device_array
from snpjax_formats.stored import slot_bucket

from ..model.rule import PlasticityRule, Rule
from ..model.rule_table import SlotTable
from ..step.plasticity import CREATES, DELETES, PlasticSynapses


if TYPE_CHECKING:
    from ..model.system import SpikingSystem

_TYPES = tuple(map(np.dtype, (np.int8, np.int16, np.int32, np.int64)))

#: What each kind of plasticity does in its step, and in the one after.
_TURNS = {"+": (CREATES, 0), "-": (DELETES, 0), "+-": (CREATES, DELETES), "-+": (DELETES, CREATES)}


@dataclass(frozen=True, eq=False)
class PlasticColumns:
    """The plastic neurons of a model. Axes as in `PlasticSynapses`, unpadded; -1 is no target."""

    neurons: Int[np.ndarray, " plastic"]
    targets: Int[np.ndarray, "places plastic"]
    initial: Bool[np.ndarray, "places plastic"]
    within: Bool[np.ndarray, "slots places plastic"]
    count: Int[np.ndarray, "slots plastic"]
    first: Int[np.ndarray, "slots plastic"]
    second: Int[np.ndarray, "slots plastic"]
    most: int  # spikes that one synapse carries
    deletes_within: bool
    is_carried: Bool[np.ndarray, " synapses"]  # which synapses of the system these are
    largest: int = 0
    num_choosers: int = 0

    @classmethod
    def of(cls, system: "SpikingSystem", table: SlotTable) -> "PlasticColumns | None":
        """`None` for a system without plasticity; `table` holds the slots of its neurons."""
        if not system.changes_network:
            return None
        each = (
            {n: r for n, r in enumerate(neuron.rules) if isinstance(r, PlasticityRule)}
            for neuron in system.neurons
        )
        rules = {index: own for index, own in enumerate(each) if own}
        if not rules:
            return None
        names, graph = system.names, system.edges
        begins = {index: set() for index in rules}
        for source, target in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
            if source in begins:
                begins[source].add(target)
        sets = {
            index: {n: {names[target] for target in rule.targets} for n, rule in own.items()}
            for index, own in rules.items()
        }
        places = {index: sorted(begins[index].union(*own.values())) for index, own in sets.items()}
        shape = (max(map(len, places.values())), len(rules))
        slots = (table.num_slots, *shape)
        targets, initial = np.full(shape, -1, np.int64), np.zeros(shape, bool)
        within = np.zeros(slots, bool)
        count, first, second = (np.zeros((slots[0], slots[2]), np.int64) for _ in range(3))
        is_used = table.low <= table.high
        for p, (index, own) in enumerate(rules.items()):
            some = places[index]
            targets[: len(some), p] = some
            initial[: len(some), p] = [target in begins[index] for target in some]
            column = table.type_of[index]
            for slot in np.flatnonzero(is_used[:, column]).tolist():
                number = int(table.number[slot, column])
                if number in own:
                    first[slot, p], second[slot, p] = _TURNS[own[number].alpha]
                    count[slot, p] = min(own[number].k, shape[0])
                    within[slot, : len(some), p] = [x in sets[index][number] for x in some]
        emitted = (
            rule.produce
            for index in rules
            for rule in system.neurons[index].rules
            if isinstance(rule, Rule)
        )
        most = max(emitted, default=1)
        tables = (targets, initial, within, count, first, second)
        deletes_within = system.compatibility.delete_within_N
        neurons = np.asarray(list(rules))
        is_carried = np.isin(graph.source, neurons)
        return cls(neurons, *tables, max(most, 1), deletes_within, is_carried)

    def arrivals(
        self, production: Float64[np.ndarray, " neurons"]
    ) -> Float64[np.ndarray, " neurons"]:
        """A bound on what arrives at each neuron if each of them emits so much, or 1 by a synapse
        that it creates."""
        sent = np.broadcast_to(np.maximum(production[self.neurons], 1), self.targets.shape)
        is_one = self.targets >= 0
        return np.bincount(
            self.targets[is_one], weights=sent[is_one], minlength=len(production)
        ).astype(float)

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
        edges = Edges(source, targets.flat[source], None, targets.size, num_neurons)
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
