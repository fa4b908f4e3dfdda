"""The synapses of variants of time as columns: what lowering needs of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float64, Int

from snpjax_formats import AbstractLayout, Edges, bucket, check_free, device_array, free_bytes
from snpjax_formats.stored import slot_bucket

from ..model.timed_variants import (
    DendriticDelays,
    ScheduledSynapses,
    SynapseDelays,
    SynapsePair,
    delays_of,
)
from ..step.timed_synapses import DelayedSynapses, SynapsesOnSchedule


if TYPE_CHECKING:
    from ..model.system import SpikingSystem

#: A schedule without an end stops after all ages.
_NEVER = 2**31 - 1


@dataclass(frozen=True, eq=False)
class DelayColumns:
    """Synapses with delays of 1 and more.

    - `edges`, `delay`: these synapses.
    - `is_carried`: which synapses of the system they are.
    """

    edges: Edges
    delay: Int[np.ndarray, " delayed"]
    is_carried: Bool[np.ndarray, " synapses"]
    largest: int = 0
    num_choosers: int = 0

    @classmethod
    def of(
        cls, system: "SpikingSystem", variant: SynapseDelays | DendriticDelays
    ) -> "DelayColumns | None":
        """`None` where no synapse has a delay."""
        pairs = [(source, target) for source, target, _ in system.synapses]
        delay = np.asarray(delays_of(variant, pairs), np.int64)
        is_carried = delay > 0
        if not is_carried.any():
            return None
        return cls(system.edges.subset(is_carried), delay[is_carried], is_carried)

    def carries(self, edges: Edges) -> Bool[np.ndarray, " edges"]:
        """Which synapses of the system these are."""
        del edges
        return self.is_carried

    def arrivals(
        self, production: Float64[np.ndarray, " neurons"]
    ) -> Float64[np.ndarray, " neurons"]:
        """A bound on what arrives at each neuron, whenever it was sent."""
        return self.edges.arrivals(production)

    def lowered(
        self, num_neurons: int, num_slots: int, delivery: Callable[..., AbstractLayout]
    ) -> DelayedSynapses:
        """As arrays for a program of this many neurons; `delivery` stores synapses."""
        del num_slots
        targets, place = np.unique(self.edges.target, return_inverse=True)
        longest = int(self.delay.max())
        rows, size = slot_bucket(longest, num_neurons), bucket(len(targets))
        check_free(
            8 * rows * size,
            free_bytes(),
            f"What is in flight for up to {longest:,} steps to {len(targets):,} neurons needs",
            "Use shorter delays.",
        )
        place_of = np.full(num_neurons, size, np.int64)
        place_of[targets] = np.arange(len(targets))
        cell = (self.delay - 1) * size + place
        edges = Edges(self.edges.source, cell, self.edges.value, num_neurons, rows * size)
        return DelayedSynapses(
            place_of=device_array(place_of, jnp.int32),
            nothing=device_array(np.zeros((rows, size), np.int64)),
            delivery=delivery(edges),
        )


@dataclass(frozen=True, eq=False)
class ScheduleColumns:
    """Synapses with schedules.

    Axes as in `SynapsesOnSchedule`, before padding: `edges` are the scheduled synapses. Of a
    synapse with fewer intervals the others are empty. The reference -1 is the beginning of the run;
    steps from `end` on are alike for what counts from there.
    """

    edges: Edges
    start: Int[np.ndarray, "intervals scheduled"]
    stop: Int[np.ndarray, "intervals scheduled"]
    reference: Int[np.ndarray, "intervals scheduled"]
    neurons: Int[np.ndarray, " references"]
    most: Int[np.ndarray, " references"]
    end: int
    is_carried: Bool[np.ndarray, " synapses"]
    num_choosers: int = 0

    @classmethod
    def of(cls, system: "SpikingSystem", variant: ScheduledSynapses) -> "ScheduleColumns | None":
        """`None` where no synapse has a schedule."""
        if not variant.schedules:
            return None
        names = dict.fromkeys(schedule.reference for schedule in variant.schedules)
        numbers = {name: n for n, name in enumerate(x for x in names if x is not None)}
        most, end = np.ones(len(numbers), np.int64), 0
        own: dict[SynapsePair, list[tuple[int, int, int]]] = {}
        for source, target, start, stop, reference in variant.schedules:
            last, number = max(start, stop or 0), -1
            if reference is None:
                end = max(end, last)
            else:
                number = numbers[reference]
                most[number] = max(most[number], last)
            interval = (start, _NEVER if stop is None else stop, number)
            own.setdefault((source, target), []).append(interval)
        is_carried = np.asarray([(s, t) in own for s, t, _ in system.synapses], bool)
        listed = [own[s, t] for s, t, _ in system.synapses if (s, t) in own]
        shape = (max(map(len, listed)), len(listed))
        start, stop, reference = (np.zeros(shape, np.int64) for _ in range(3))
        for column, intervals in enumerate(listed):
            some = slice(len(intervals))
            start[some, column], stop[some, column], reference[some, column] = zip(
                *intervals, strict=True
            )
        neurons = np.asarray([system.names[name] for name in numbers], np.int64)
        edges = system.edges.subset(is_carried)
        return cls(edges, start, stop, reference, neurons, most, end, is_carried)

    @property
    def largest(self) -> int:
        return max(self.end, int(self.most.max(initial=0)))

    def carries(self, edges: Edges) -> Bool[np.ndarray, " edges"]:
        """Which synapses of the system these are."""
        del edges
        return self.is_carried

    def arrivals(
        self, production: Float64[np.ndarray, " neurons"]
    ) -> Float64[np.ndarray, " neurons"]:
        """A bound on what arrives at each neuron, where all these synapses exist."""
        return self.edges.arrivals(production)

    def lowered(
        self, num_neurons: int, num_slots: int, delivery: Callable[..., AbstractLayout]
    ) -> SynapsesOnSchedule:
        """As arrays for a program of this many neurons; `delivery` stores synapses."""
        del num_slots
        num_intervals, num = self.start.shape
        size, references = bucket(num), bucket(len(self.neurons), at_least=4)
        missing = (0, slot_bucket(num_intervals, num_neurons) - num_intervals), (0, size - num)
        fewer = (0, references - len(self.neurons))
        reference = np.where(self.reference < 0, references, self.reference)

        def padded(values: np.ndarray, widths: tuple, empty: int = 0) -> Array:
            return device_array(np.pad(values, widths, constant_values=empty), jnp.int32)

        return SynapsesOnSchedule(
            source=padded(self.edges.source, missing[1], num_neurons),
            start=padded(self.start, missing),
            stop=padded(self.stop, missing),
            reference=padded(reference, missing),
            neurons=padded(self.neurons, fewer, num_neurons),
            most=padded(self.most, fewer),
            delivery=delivery(
                Edges(np.arange(num), self.edges.target, self.edges.value, size, num_neurons)
            ),
        )
