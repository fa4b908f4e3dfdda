"""Variants that change when spikes arrive, or when synapses exist."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


#: Source and target of a synapse of the system.
SynapsePair: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class SynapseDelays:
    """Synapses with delays: a spike that its neuron emits in step t along a synapse of delay d
    arrives in step t + d.

    Spikes in flight are part of the configuration: how many reach each neuron in how many steps.
    While there are any, the system has not halted. They arrive as others do: a neuron that a
    delayed rule keeps closed in step t + d loses them. What goes to the environment is not delayed.

    **Arguments:**

    - `delays`: `{("i", "j"): d}`, steps; a synapse that is not listed has the delay 0, as in the
      definition.

    ??? cite "Source"
        Song, Valencia-Cabrera, Peng, Wang, Perez-Jimenez 2021, "Spiking neural P systems with delay
        on synapses", after its abstract: the steps in which spikes arrive are those given above.
        Differs from it in: 1. weights; 2. rules may have delays as well: the delay of the synapse
        counts from the step in which the spike leaves.
    """

    delays: tuple[tuple[SynapsePair, int], ...]

    def __init__(
        self, delays: Mapping[SynapsePair, int] | Sequence[tuple[SynapsePair, int]]
    ) -> None:
        pairs = delays.items() if isinstance(delays, Mapping) else delays
        object.__setattr__(self, "delays", tuple(((x, y), delay) for (x, y), delay in pairs))


@dataclass(frozen=True)
class DendriticDelays:
    """Neurons with dendrites: a spike that reaches a neuron by a synapse stays in its dendrite for
    d steps, and only then gets to the soma, where rules count it.

    So d is the delay of every synapse into the neuron, see `SynapseDelays`, which are also the way
    to write dendrites of one neuron that differ. Input from the environment gets to the soma at
    once.

    **Arguments:**

    - `delays`: `{"j": d}`, steps; a neuron that is not listed has the delay 0.

    ??? cite "Source"
        Garcia, Sanchez, Avalos, et al. 2021, "Small universal spiking neural P systems with
        dendritic/axonal delays and dendritic trunk/feedback", after its abstract: its dendritic
        delays alone, without axonal delays, trunk and feedback. Differs from it in: 1. extended
        rules; 2. weights; 3. delays of rules: a spike that gets to the soma of a closed neuron is
        lost.
    """

    delays: tuple[tuple[str, int], ...]

    def __init__(self, delays: Mapping[str, int] | Sequence[tuple[str, int]]) -> None:
        pairs = delays.items() if isinstance(delays, Mapping) else delays
        object.__setattr__(self, "delays", tuple((name, delay) for name, delay in pairs))


class Schedule(NamedTuple):
    """An interval of steps in which a synapse exists: `start` is the first, `stop` the first in
    which it does not any more, or `None` if it stays. Both count from the `reference`, a neuron, or
    `None` for the beginning of the run."""

    source: str
    target: str
    start: int
    stop: int | None = None
    reference: str | None = None


@dataclass(frozen=True)
class ScheduledSynapses:
    """Synapses that exist in given intervals of steps only. What a neuron emits while a synapse of
    it does not exist is not sent along it.

    A global schedule, without a reference, holds in the steps start, ..., stop - 1 of the run, the
    first of which is step 1. A local one counts from the last step t in which its reference neuron
    emitted spikes: it holds in the steps t + start, ..., t + stop - 1, as long as the neuron does
    not emit again, and not before it has emitted for the first time; with start 0 that includes
    step t itself. A synapse with several schedules exists where any of them holds, and one without
    always.

    How long ago each reference emitted is part of the configuration, as far as it matters.

    **Arguments:**

    - `schedules`: `Schedule(source, target, start, stop, reference)` or such tuples.

    ??? cite "Source"
        Cabarle, Adorna, Jiang, Zeng 2017, "Spiking neural P systems with scheduled synapses", after
        its abstract, which names the two types; the full text was not at hand. When a local
        schedule begins, and how steps are counted, is decided here as above. Differs from it in:
        1. weights and extended rules; 2. several intervals of a synapse; 3. both types in one
        system.
    """

    schedules: tuple[Schedule, ...]

    def __init__(
        self,
        schedules: Sequence[
            Schedule
            | tuple[str, str, int]
            | tuple[str, str, int, int | None]
            | tuple[str, str, int, int | None, str | None]
        ],
    ) -> None:
        parts = tuple(Schedule(*schedule) for schedule in schedules)  # pyright: ignore[reportArgumentType]
        object.__setattr__(self, "schedules", parts)


TimedVariant: TypeAlias = SynapseDelays | DendriticDelays | ScheduledSynapses


def delays_of(variant: SynapseDelays | DendriticDelays, pairs: Sequence[SynapsePair]) -> list[int]:
    """The delay of each of these synapses, steps."""
    if isinstance(variant, DendriticDelays):
        of_neuron = dict(variant.delays)
        return [of_neuron.get(target, 0) for _, target in pairs]
    of_pair = dict(variant.delays)
    return [of_pair.get(pair, 0) for pair in pairs]
