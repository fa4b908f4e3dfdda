"""Synapses that astrocytes control, of the variant `Astrocytes`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64, Int

from snpjax_formats import AbstractLayout, Edges, bucket, device_array
from snpjax_formats.ell import expanded

from ...choice import AbstractChoice, Steps
from ...results import RESULTS
from ..model.rule_table import as_int64
from ..model.variants import Astrocytes
from ..step.fixed_networks import AbstractStatelessNetwork
from ..step.network import Change
from ..step.shapes import Counts, Slots


if TYPE_CHECKING:
    from ..model.system import SpikingSystem


class ControlledSynapses(AbstractStatelessNetwork):
    """The synapses that astrocytes control.

    Axes: `controlled` synapses, padding having the source `num_neurons`, which does not exist, and
    `astrocytes`, padding being no chooser.
    """

    source: Int[Array, " controlled"]
    astrocyte: Int[Array, " controlled"]
    threshold: Int[Array, " astrocytes"]
    choosers: Int[Array, " astrocytes"]
    counting: AbstractLayout  # from controlled synapses to their astrocytes, by weight
    delivery: AbstractLayout  # from controlled synapses to their targets

    def change(
        self, network: None, slots: Slots, emissions: Counts, choice: AbstractChoice, step: Steps
    ) -> Change:
        del network, emissions
        shape = (len(self.choosers), *step.shape)
        # Whether it matters is known only when emissions are.
        decisions = choice.subset(
            jnp.ones((2, *shape), bool), jnp.ones(shape, jnp.int32), self.choosers, step
        )
        passes, suppresses = decisions
        # A given number past the last subset names none.
        is_refused = ~(passes | suppresses)
        chooser = self.choosers.reshape(-1, *[1] * step.ndim)
        size = len(slots)
        culprit = jnp.min(jnp.where(is_refused, chooser, size), axis=0, initial=size)
        return Change(None, None, culprit, RESULTS.choice_refused, passes)

    def deliver(self, network: None, change: Change, emissions: Counts) -> Counts:
        del network
        sent, counted, threshold = self._counted(emissions)
        passes = (counted < threshold) | ((counted == threshold) & change.detail)
        passed = jnp.where(passes[self.astrocyte], sent, 0)
        return self.delivery.deliver(passed, accumulate=emissions.dtype)

    def _counted(
        self, emissions: Counts
    ) -> tuple[
        Int[Array, "controlled *paths"],
        Int[Array, "astrocytes *paths"],
        Int[Array, "astrocytes *ones"],
    ]:
        """What is sent along each synapse, how much each astrocyte counts, and its threshold."""
        sent = emissions.at[self.source].get(mode="fill", fill_value=0)
        counted = self.counting.deliver(sent, accumulate=emissions.dtype)
        return sent, counted, expanded(self.threshold, counted.ndim).astype(counted.dtype)

    # ---- searched ----

    def with_decisions(
        self, ways: Int[Array, "slots choosers *paths"], least: Counts, most: Counts
    ) -> Int[Array, "slots choosers *paths"]:
        """In how many ways each slot can be used, and two ways of each astrocyte that may come to
        decide, if each neuron emits `least` to `most`."""
        _, low, threshold = self._counted(least)
        _, high, _ = self._counted(most)
        may_decide = (threshold > 0) & (low <= threshold) & (threshold <= high)
        return ways.at[0, self.choosers].set(2 * may_decide.astype(ways.dtype), mode="drop")

    def is_redundant(
        self, emissions: Counts, subsets: Int[Array, "choosers *paths"]
    ) -> Bool[Array, "*paths"]:
        """Whether some astrocyte suppresses that has nothing to decide: the step is that in which
        it does not."""
        _, counted, threshold = self._counted(emissions)
        suppresses = subsets.at[self.choosers].get(mode="fill", fill_value=0) > 0
        decides = (counted == threshold) & (counted > 0)
        return jnp.any(suppresses & ~decides, axis=0)


@dataclass(frozen=True, eq=False)
class AstrocyteColumns:
    """Controlled synapses as columns: what lowering needs of them.

    Axes as in `ControlledSynapses`, before padding. `is_carried` says which synapses of the system
    these are.
    """

    source: Int[np.ndarray, " controlled"]
    target: Int[np.ndarray, " controlled"]
    weight: Int[np.ndarray, " controlled"]
    astrocyte: Int[np.ndarray, " controlled"]
    threshold: Int[np.ndarray, " astrocytes"]
    is_carried: Bool[np.ndarray, " synapses"]
    num_neurons: int
    largest: int

    @classmethod
    def of(cls, system: "SpikingSystem") -> "AstrocyteColumns":
        astrocytes = cast(Astrocytes, system.variant).astrocytes
        owner = {pair: a for a, own in enumerate(astrocytes) for pair in own.synapses}
        numbers = np.asarray([owner.get((s, t), -1) for s, t, _ in system.synapses], np.int64)
        is_carried, names = numbers >= 0, system.names
        own = [synapse for synapse in system.synapses if synapse[:2] in owner]
        thresholds = [astrocyte.threshold for astrocyte in astrocytes]
        return cls(
            source=np.asarray([names[source] for source, _, _ in own], np.int64),
            target=np.asarray([names[target] for _, target, _ in own], np.int64),
            weight=as_int64(weight for _, _, weight in own),
            astrocyte=numbers[is_carried],
            threshold=as_int64(thresholds),
            is_carried=is_carried,
            num_neurons=system.num_neurons,
            largest=max(thresholds, default=0),
        )

    @property
    def num_choosers(self) -> int:
        return len(self.threshold)

    def carries(self, edges: Edges) -> Bool[np.ndarray, " edges"]:
        """Which synapses of the system these are."""
        del edges
        return self.is_carried

    def arrivals(
        self, production: Float64[np.ndarray, " neurons"]
    ) -> Float64[np.ndarray, " neurons"]:
        """A bound on what arrives at each neuron, or is counted by an astrocyte of its synapses."""
        sent = self.weight * production[self.source]
        arriving = np.bincount(self.target, weights=sent, minlength=len(production)).astype(float)
        counted = np.bincount(self.astrocyte, weights=sent, minlength=len(self.threshold))
        np.maximum.at(arriving, self.target, counted[self.astrocyte])
        return arriving

    def lowered(
        self, num_neurons: int, num_slots: int, delivery: Callable[..., AbstractLayout]
    ) -> ControlledSynapses:
        """As arrays for a program of this many neurons; `delivery` stores synapses."""
        del num_slots
        controlled, astrocytes = (bucket(len(x)) for x in (self.source, self.threshold))

        def pad(values: np.ndarray, size: int, empty: int) -> np.ndarray:
            return np.pad(values, (0, size - len(values)), constant_values=empty)

        weight = None if (self.weight == 1).all() else self.weight
        places = np.arange(len(self.source))
        choosers = self.num_neurons + np.arange(self.num_choosers)
        return ControlledSynapses(
            source=device_array(pad(self.source, controlled, num_neurons), jnp.int32),
            astrocyte=device_array(pad(self.astrocyte, controlled, 0), jnp.int32),
            threshold=device_array(pad(self.threshold, astrocytes, 0)),
            choosers=device_array(pad(choosers, astrocytes, num_neurons), jnp.int32),
            counting=delivery(Edges(places, self.astrocyte, weight, controlled, astrocytes)),
            delivery=delivery(Edges(places, self.target, weight, controlled, num_neurons)),
        )
