"""Synapses that carry what the rule says, of the variants `SynapseRules` and `Channels`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, cast

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64, Int

from snpjax_formats import AbstractLayout, Edges, check_free, device_array, free_bytes
from snpjax_formats.ell import expanded
from snpjax_formats.stored import slot_bucket

from ...choice import NO_RULE, AbstractChoice, Steps
from ...results import RESULTS
from ..model.communication_variants import Channels
from ..model.guard import Guard
from ..model.rule import Rule
from ..model.rule_table import Slot, SlotTable, as_int64, table_of_slots
from ..model.variants import SynapseRules
from ..step.fixed_networks import AbstractStatelessNetwork
from ..step.network import Change
from ..step.shapes import Counts, Slots


if TYPE_CHECKING:
    from ..model.system import SpikingSystem


class RuledSynapses(AbstractStatelessNetwork):
    """What each slot of a neuron sends along each of its synapses.

    Axes: `slots` are those of the program; `places` are the synapses of one neuron.
    """

    sent: Int[Array, "slots neurons places"]
    delivery: AbstractLayout  # from every place of every neuron to its target

    def change(
        self, network: None, slots: Slots, emissions: Counts, choice: AbstractChoice, step: Steps
    ) -> Change:
        del network, emissions, choice
        nobody = jnp.full(step.shape, len(slots), jnp.int32)
        return Change(None, None, nobody, RESULTS.halted, slots)

    def deliver(self, network: None, change: Change, emissions: Counts) -> Counts:
        del network
        slots = change.detail
        index = jnp.clip(slots, 0, len(self.sent) - 1)
        neuron = expanded(jnp.arange(len(slots)), slots.ndim)
        sent = self.sent.at[index, neuron].get(mode="promise_in_bounds")
        sent = jnp.where((slots == NO_RULE)[..., None], 0, sent).astype(emissions.dtype)
        carried = jnp.moveaxis(sent, -1, 0).reshape(-1, *slots.shape[1:])
        return self.delivery.deliver(carried, accumulate=emissions.dtype)


@dataclass(frozen=True, eq=False)
class RuledColumns:
    """Synapses with rules as columns: what lowering needs of them.

    Axes as in `RuledSynapses`, before padding; -1 is not a target.
    """

    sent: Int[np.ndarray, "slots neurons places"]
    targets: Int[np.ndarray, "neurons places"]
    weights: Int[np.ndarray, "neurons places"]
    largest: int
    num_choosers: int = 0

    @classmethod
    def of(cls, system: "SpikingSystem", table: SlotTable) -> "RuledColumns":
        """`table` holds the slots of its neurons."""
        variant = cast(SynapseRules, system.variant)
        weight_of = {(source, target): weight for source, target, weight in system.synapses}
        leaving = [variant.leaving.get(neuron.name, {}) for neuron in system.neurons]
        most = max((len(own) - (None in own) for own in leaving), default=0)
        sent = np.zeros((table.num_slots, len(leaving), most), np.int64)
        targets = np.full((len(leaving), most), -1, np.int64)
        weights = np.ones((len(leaving), most), np.int64)
        largest = 0
        for index, own in enumerate(leaving):
            name = system.neurons[index].name
            named = [target for target in own if target is not None]
            targets[index, : len(named)] = [system.names[target] for target in named]
            own_weights = [weight_of[name, target] for target in named]
            weights[index, : len(named)] = as_int64(own_weights)
            produced = {rule.produce for rules in own.values() for rule in rules}
            largest = max(largest, max(produced, default=0))
            alternatives = variant.alternatives(name)
            for slot in np.flatnonzero(table.low[:, index] <= table.high[:, index]).tolist():
                rules = alternatives[table.number[slot, index]].rules
                sent[slot, index, : len(named)] = as_int64(
                    0 if rule is None else rule.produce
                    for target, rule in zip(own, rules, strict=True)
                    if target is not None
                )
        return cls(sent, targets, weights, largest)

    @classmethod
    def of_channels(cls, system: "SpikingSystem", table: SlotTable) -> "RuledColumns":
        """Of a system whose rules send along channels."""
        channels, names = cast(Channels, system.variant).channels_of_synapse, system.names
        leaving: list[list[tuple[int, int, tuple[str, ...]]]] = [[] for _ in system.neurons]
        for source, target, weight in system.synapses:
            leaving[names[source]].append((names[target], weight, channels[source, target]))
        most = max(map(len, leaving), default=0)
        shape = (len(leaving), most)
        targets, weights = np.full(shape, -1, np.int64), np.ones(shape, np.int64)
        is_sent = np.zeros((table.num_slots, *shape), bool)
        for index, (neuron, own) in enumerate(zip(system.neurons, leaving, strict=True)):
            targets[index, : len(own)] = [target for target, _, _ in own]
            weights[index, : len(own)] = as_int64(weight for _, weight, _ in own)
            column = table.type_of[index]
            for slot in np.flatnonzero(table.low[:, column] <= table.high[:, column]).tolist():
                rule = cast(Rule, neuron.rules[table.number[slot, column]])
                is_sent[slot, index, : len(own)] = [rule.channel in labels for _, _, labels in own]
        sent = np.where(is_sent, table.produce[:, table.type_of, None], 0)
        return cls(sent, targets, weights, int(sent.max(initial=0)))

    def carries(self, edges: Edges) -> Bool[np.ndarray, " edges"]:
        """Which synapses of the system these are: all."""
        return np.ones(len(edges), bool)

    def arrivals(
        self, production: Float64[np.ndarray, " neurons"]
    ) -> Float64[np.ndarray, " neurons"]:
        """A bound on what arrives at each neuron. What its own rules produce is sent elsewhere."""
        most = self.sent.max(axis=0, initial=0) * np.abs(self.weights.astype(float))
        is_one = self.targets >= 0
        return np.bincount(
            self.targets[is_one], weights=most[is_one], minlength=len(production)
        ).astype(float)

    def lowered(
        self,
        num_neurons: int,
        num_slots: int,
        delivery: Callable[..., AbstractLayout],
    ) -> RuledSynapses:
        """As arrays for a program of that many neurons and slots; `delivery` stores synapses."""
        slots, neurons, some = self.sent.shape
        places = slot_bucket(some, num_neurons)
        needed = 8 * num_slots * num_neurons * places
        check_free(
            needed,
            free_bytes(),
            f"What {num_slots:,} combinations of rules send along {places:,} synapses of "
            f"{num_neurons:,} neurons needs",
            "Share the synapses of the neuron with most combinations among several.",
        )
        padding = ((0, num_neurons - neurons), (0, places - some))
        targets = np.pad(self.targets, padding, constant_values=-1)
        weights = np.pad(self.weights, padding, constant_values=1)
        neuron, place = np.nonzero(targets >= 0)
        weight = weights[neuron, place]
        edges = Edges(
            place * num_neurons + neuron,
            targets[neuron, place],
            None if (weight == 1).all() else weight,
            targets.size,
            num_neurons,
        )
        sent = np.pad(self.sent, ((0, num_slots - slots), *padding))
        return RuledSynapses(sent=device_array(sent), delivery=delivery(edges, self.largest))


def slots_of_synapses(system: "SpikingSystem") -> SlotTable:
    """The slots of neurons whose synapses have rules, one or more for each alternative.

    **Raises:** `ValueError` naming the neuron for guards that cannot be combined.
    """
    variant = cast(SynapseRules, system.variant)
    slots: list[list[Slot]] = []
    for neuron in system.neurons:
        try:
            slots.append(list(_slots_of(variant, neuron.name)))
        except ValueError as error:
            raise ValueError(
                f"The guards on the synapses of neuron {neuron.name!r} cannot be combined: {error}"
            ) from error
    return table_of_slots(slots, np.arange(len(slots)))


def _slots_of(variant: SynapseRules, source: str) -> Iterator[Slot]:
    synapses = variant.leaving.get(source, {})
    where: dict[int, Iterator[Guard]] = {}
    for number, (consume, rules) in enumerate(variant.alternatives(source)):
        if consume not in where:
            where[consume] = _combined(Guard.interval(0), _options(synapses.values(), consume))
        emitted = zip(synapses, rules, strict=True)
        produce = sum(r.produce for target, r in emitted if r is not None and target is None)
        for low, high, period in next(where[consume]).terms(consume):
            yield Slot(low, high, period, consume, produce, 0, number)


def _options(synapses, consume: int) -> list[list[Guard]]:
    """Where each synapse may use each of its rules that consume this many, and where none."""
    own = [[rule.guard for rule in rules if rule.consume == consume] for rules in synapses]
    return [[*guards, ~reduce(or_, guards, Guard.from_lengths(()))] for guards in own]


def _combined(guard: Guard, options: Sequence[list[Guard]]) -> Iterator[Guard]:
    """Where each combination of options is possible, the last option varying fastest."""
    if not options:
        yield guard
        return
    for own in options[0]:
        yield from _combined(guard & own, options[1:])
