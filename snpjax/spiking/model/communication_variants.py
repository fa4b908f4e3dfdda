"""Variants in which spikes reach other neurons in another way: along channels, or on request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Channels:
    """Synapses belong to channels, and a rule `E/a^c -> a^p(l)` sends along the channel l only: its
    p spikes reach the neurons to which a synapse of that channel leads from its own.

    Every rule that produces spikes has a channel, and every synapse belongs to one or more. A label
    names a channel of each neuron: what leaves other neurons on channels of that label is apart.
    There are no delays. What goes to the environment is what the output neurons emit on any
    channel.

    A rule names one channel, as in the source. Where it is to send its spikes along several, their
    synapses make one more channel, which it names; what different numbers of spikes along several
    channels at once would mean for a synapse that belongs to two of them is not defined.

    **Arguments:**

    - `channels`: `{"1": [("i", "j"), ("i", "k")], "2": [("i", "k")]}`. These synapses need not be
      given to the system again, but for those of other weights.

    ??? cite "Source"
        Peng, Yang, Wang, Wang, Sun, Song, Luo, Huang 2017, "Spiking neural P systems with multiple
        channels". Differs from it in: 1. extended rules, with p > c or any guard; 2. weights; 3.
        several output neurons, with outgoing synapses.
    """

    channels: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

    def __init__(
        self,
        channels: Mapping[str, Sequence[tuple[str, str]]]
        | Sequence[tuple[str, Sequence[tuple[str, str]]]],
    ) -> None:
        pairs = channels.items() if isinstance(channels, Mapping) else channels
        listed = tuple((label, tuple((s, t) for s, t in own)) for label, own in pairs)
        object.__setattr__(self, "channels", listed)

    @cached_property
    def channels_of_synapse(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The channels that each synapse belongs to."""
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for label, synapses in self.channels:
            for synapse in synapses:
                found[synapse] = (*found.get(synapse, ()), label)
        return found

    def extended(self, label: str, synapses: Sequence[tuple[str, str]]) -> "Channels":
        """The same channels, with more synapses added to a new or existing channel.

        **Arguments:**

        - `label`: the channel.
        - `synapses`: pairs of a source and a target.
        """
        channels = dict(self.channels)
        return Channels({**channels, label: [*channels.get(label, ()), *synapses]})


@dataclass(frozen=True)
class Requests:
    """Communication on request: spikes move to the neurons that ask for them, by rules
    `E/Q(a^n, j)(a^inf, k)`, see `RequestRule`. Nothing is consumed, produced or emitted, and there
    are no synapses.

    A rule is applicable where its neuron's number of spikes is in L(E) and each neuron that it asks
    for n spikes has them; one that is asked for all may have none. In a step every neuron that has
    an applicable rule uses one, all at once, by the numbers of spikes before the step: what is
    asked for leaves the neuron asked and arrives at the one that asks. Where several neurons make
    the same query, the spikes leave once, and each of the neurons gets as many. Where a neuron is
    asked different queries in one step (n and m, or n and all), the run ends there with
    `RESULTS.queries_conflict`, and an exploration with `Stop.CONFLICT`: which of them is answered
    is not decided here.

    ??? cite "Source"
        Pan, Paun, Zhang, Neri 2017, "Spiking neural P systems with communication on request", with
        spikes of one type, after its abstract; the full text was not at hand. Decided here: 1. a
        query for more spikes than there are makes its rule not applicable; 2. different queries to
        one neuron in one step are a failure.
    """
