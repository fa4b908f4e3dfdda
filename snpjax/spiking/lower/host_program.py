"""A static system as columns: what lowering needs of a model, whatever its kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int

from snpjax_formats import Edges, check_free, graphs
from snpjax_formats.edges import merged
from snpjax_formats.memory import host_free_bytes

from ..model.compatibility import TEXTBOOK, Compatibility
from ..model.population import PopulationSystem, positions_of
from ..model.rule_table import SlotTable, as_int64, slots_of_neurons
from ..model.system import SpikingSystem
from ..model.template import column
from ..model.variants import AntiSpikes, Astrocytes, Exhaustive, SynapseRules, Variant
from .astrocytes import AstrocyteColumns
from .plastic_synapses import PlasticColumns
from .ruled_synapses import RuledColumns


# Two indices and a key to sort them by.
_BYTES_PER_LISTED_EDGE = 16


@dataclass(frozen=True, eq=False)
class SynapsePart:
    """Some of the synapses: a graph from `num_sources` neurons, the first of which is
    `source_start`, to `num_targets` neurons from `target_start` on."""

    graph: graphs.AbstractGraph
    source_start: int
    num_sources: int
    target_start: int
    num_targets: int

    @cached_property
    def edges(self) -> Edges:
        """The part as a list, counted from its own first neurons; random graphs are drawn once.

        **Raises:** `LayoutTooLarge` before more is listed than the host has memory for.
        """
        sizes = self.num_sources, self.num_targets
        probability = getattr(self.graph, "probability", None)
        if probability is not None:  # to count them would be to list them
            count = int(probability * self.num_sources * self.num_targets)
        else:
            count = self.graph.num_edges(*sizes)
        needed = _BYTES_PER_LISTED_EDGE * count
        check_free(
            needed,
            host_free_bytes(),
            f"Listing {count:,} synapses takes {needed:,} bytes",
            'Leave `layout` at "auto", which keeps all-to-all, intervals and blocks as what they '
            "are.",
        )
        return self.graph.edges(*sizes)

    def arrivals(
        self, production: Float64[np.ndarray, " sources"]
    ) -> Float64[np.ndarray, " targets"]:
        """A bound on what arrives at each target where each source emits so much."""
        is_random = isinstance(self.graph, graphs.RandomInDegree | graphs.RandomPairs)
        graph = graphs.Pairs.of(self.edges) if is_random else self.graph
        return graph.arrivals(production, self.num_targets)


@dataclass(frozen=True, eq=False)
class HostProgram:
    """A static system.

    Axes: `neurons`; `outputs` and `inputs`, positions of neurons; `steps`, row t of `trains`
    arrives at the end of step t + 1. `largest` bounds the absolute value of every number of the
    model, `name_of` names a neuron, and `table` is rewritten as `compatibility` says.
    """

    table: SlotTable
    spikes: Int[np.ndarray, " neurons"]
    parts: tuple[SynapsePart, ...]
    outputs: Int[np.ndarray, " outputs"]
    inputs: Int[np.ndarray, " inputs"]
    trains: Int[np.ndarray, "steps inputs"]
    largest: int
    name_of: Callable[[int], str]
    compatibility: Compatibility = TEXTBOOK
    network: PlasticColumns | RuledColumns | AstrocyteColumns | None = None  # in no part
    variant: Variant | None = None

    @property
    def num_neurons(self) -> int:
        return len(self.spikes)

    @property
    def num_choosers(self) -> int:
        """The neurons, and what is numbered after them because it chooses, too."""
        network = self.network
        is_of_variant = isinstance(network, RuledColumns | AstrocyteColumns)
        return self.num_neurons + (network.num_choosers if is_of_variant else 0)

    @property
    def is_exhaustive(self) -> bool:
        return isinstance(self.variant, Exhaustive)

    @property
    def has_anti_spikes(self) -> bool:
        return isinstance(self.variant, AntiSpikes)

    def safe_steps(self, dtype: np.dtype) -> int:
        """How many steps from the initial configuration cannot take a count past the range of
        `dtype`."""
        arriving = self.largest_arrival[0]
        is_exact = arriving < 2**52
        if self.compatibility.may_grow or self.is_exhaustive or not is_exact:
            return 0
        start = int(np.abs(self.spikes).max(initial=0))
        return (np.iinfo(dtype).max - start) // max(int(arriving), 1)

    @cached_property
    def arrivals(self) -> Float64[np.ndarray, " neurons"]:
        """A bound on the spikes that arrive at each neuron in one step.

        Exact below 2^53, and far from the limits it is compared with where it is rounded.
        """
        production = self.table.largest_production().astype(float)
        arriving = np.zeros(self.num_neurons)
        for part in self.parts:
            sources = slice(part.source_start, part.source_start + part.num_sources)
            targets = slice(part.target_start, part.target_start + part.num_targets)
            arriving[targets] += part.arrivals(production[sources])
        if self.network is not None:
            arriving += self.network.arrivals(production)
        if len(self.trains):
            np.add.at(arriving, self.inputs, np.abs(self.trains.astype(float)).max(axis=0))
        return arriving

    @cached_property
    def largest_arrival(self) -> tuple[float, int]:
        """The largest of `arrivals`, and its neuron."""
        if self.num_neurons == 0:
            return 0.0, 0
        worst = int(np.argmax(self.arrivals))
        return float(self.arrivals[worst]), worst

    def joined(self) -> "HostProgram":
        """The same system with its synapses in one part, listed."""
        if len(self.parts) == 1 and self.parts[0].num_sources == self.num_neurons:
            return self
        size = self.num_neurons
        placed = [(part.edges, part.source_start, part.target_start) for part in self.parts]
        graph = graphs.Pairs.of(merged(placed, size, size))
        return replace(self, parts=(SynapsePart(graph, 0, size, 0, size),))


def host_program_of(system: SpikingSystem, *, faithful: bool) -> HostProgram:
    """A system of single neurons as columns; without `faithful`, forgetting families are merged."""
    assert not system.is_growing
    names = system.names
    count = len(system.neurons)
    table = system.slots
    if faithful and table.families is not None:
        table = slots_of_neurons(system.neurons, faithful=True, compatibility=system.compatibility)
    network = _network_of(system, table)
    spikes = [neuron.spikes for neuron in system.neurons]
    trains = system.input.values()
    largest = max(
        table.largest,
        max(map(abs, spikes), default=0),
        max((abs(weight) for _, _, weight in system.synapses), default=0),
        max((abs(spikes) for train in trains for spikes in train), default=0),
        network.largest if isinstance(network, RuledColumns | AstrocyteColumns) else 0,
    )
    return HostProgram(
        table=table,
        spikes=as_int64(spikes),
        parts=(SynapsePart(_delivered(system, network), 0, count, 0, count),),
        outputs=np.asarray([names[name] for name in system.output], np.int64),
        inputs=np.asarray([names[name] for name in system.input], np.int64),
        trains=trains_of(system),
        largest=largest,
        name_of=lambda index: system.neurons[index].name,
        compatibility=system.compatibility,
        network=network,
        variant=system.variant,
    )


def _network_of(
    system: SpikingSystem, table: SlotTable
) -> PlasticColumns | RuledColumns | AstrocyteColumns | None:
    match system.variant:
        case SynapseRules():
            return RuledColumns.of(system, table)
        case Astrocytes():
            return AstrocyteColumns.of(system)
    return PlasticColumns.of(system, table)


def trains_of(system: SpikingSystem) -> Int[np.ndarray, "steps inputs"]:
    """What arrives at the inputs at the end of step 1, 2, ..., up to the last that is not 0."""
    trains = list(system.input.values())
    horizon = max((horizon_of(train) for train in trains), default=0)
    padded = [[*train[:horizon], *[0] * (horizon - len(train))] for train in trains]
    return as_int64(x for train in padded for x in train).reshape(len(trains), horizon).T


def _delivered(
    system: SpikingSystem,
    network: PlasticColumns | RuledColumns | AstrocyteColumns | None = None,
) -> graphs.Pairs:
    """The synapses that deliver anything by themselves and stay, in the order of the system."""
    graph = system.graph
    if network is None and not system.compatibility.no_self_synapses:
        return graph
    kept = np.ones(len(graph.source), bool)
    if isinstance(network, PlasticColumns):
        kept &= ~np.isin(graph.source, network.neurons)
    elif network is not None:
        kept &= ~network.is_carried
    if system.compatibility.no_self_synapses:
        kept &= graph.source != graph.target
    weight = graph.weight
    return graphs.Pairs(
        graph.source[kept],
        graph.target[kept],
        weight[kept] if isinstance(weight, np.ndarray) else weight,
    )


def edges_of(system: SpikingSystem) -> Edges:
    """The synapses that deliver anything as edges, with weights of 64 bits or none.

    **Raises:** `ValueError` for a weight that needs more.
    """
    count = len(system.neurons)
    if system.graph.weight is not None:
        for source, target, weight in system.synapses:
            if abs(weight) >= 2**63:
                raise ValueError(
                    f"The weight of synapse ({source}, {target}) needs more than 64 bits."
                )
    return _delivered(system).edges(count, count)


def horizon_of(train: Sequence[int]) -> int:
    """The position of the last non-zero entry, 0 if there is none."""
    return max((step for step, spikes in enumerate(train, start=1) if spikes), default=0)


def host_program_of_populations(system: "PopulationSystem", table: SlotTable) -> HostProgram:
    """A system of populations, with these rules."""
    populations = system.populations.values()
    spikes = np.concatenate(
        [np.zeros(0, np.int64), *(column(p.spikes, p.size) for p in populations)]
    )
    parts = tuple(
        SynapsePart(
            projection.description,
            system.slices[projection.source].start,
            system.populations[projection.source].size,
            system.slices[projection.target].start,
            system.populations[projection.target].size,
        )
        for projection in system.projections
    )
    trains, inputs = system.trains()
    largest = [table.largest, *(np.abs(a).max(initial=0) for a in (spikes, trains))]
    largest += [abs(weight) for part in parts for weight in part.graph.weight_range()]
    return HostProgram(
        table=table,
        spikes=spikes,
        parts=parts,
        outputs=positions_of(system.slice_of(name) for name in system.output),
        inputs=inputs,
        trains=trains,
        largest=int(max(largest)),
        name_of=system.name_of,
        compatibility=system.compatibility,
    )
