"""A static system as columns, which lowering needs of a model whatever its kind, and the integers
that count its spikes without a silent overflow."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float64, Int

from snpjax_formats import Edges, bucket, graphs
from snpjax_formats.edges import merged
from snpjax_formats.memory import listed
from snpjax_formats.parts import edges_into
from snpjax_formats.stored import SMALL, entry_bucket

from ..model.communication_variants import Channels, Requests
from ..model.compatibility import TEXTBOOK
from ..model.population import AnySystem, PopulationSystem, positions_of
from ..model.rule_table import ALL, SlotTable, as_int64, slots_of_neurons
from ..model.system import SpikingSystem
from ..model.template import column
from ..model.timed_variants import DendriticDelays, ScheduledSynapses, SynapseDelays
from ..model.variants import AntiSpikes, Astrocytes, Exhaustive, SynapseRules
from .astrocytes import AstrocyteColumns
from .plastic_synapses import PlasticColumns
from .request_columns import RequestColumns
from .ruled_synapses import RuledColumns
from .timed_columns import DelayColumns, ScheduleColumns


#: What configurations are searched in: narrow counts take less memory and time, and where one
#: overflows, the search continues in the next type.
NARROW = tuple(map(np.dtype, (np.int8, np.int16, np.int32)))
#: Synapses whose delivery differs from that of the definition.
NetworkColumns: TypeAlias = (
    PlasticColumns | RuledColumns | AstrocyteColumns | DelayColumns | ScheduleColumns
)


@dataclass(frozen=True, eq=False)
class SynapsePart:
    """Some of the synapses: a graph from `num_sources` neurons, the first of which is
    `source_start`, to `num_targets` neurons from `target_start` on."""

    graph: graphs.AbstractGraph | Edges
    source_start: int
    num_sources: int
    target_start: int
    num_targets: int

    @cached_property
    def edges(self) -> Edges:
        """The part as a list, counted from its own first neurons; random graphs are drawn once.

        **Raises:** `NotEnoughMemory` before more is listed than the host has memory for.
        """
        if isinstance(self.graph, Edges):
            return self.graph
        fix = (
            'Leave `layout` at "auto", which keeps all-to-all, intervals and blocks as what they '
            "are."
        )
        return listed(self.graph, self.num_sources, self.num_targets, fix)

    def edges_into(self, first: int, size: int) -> tuple[Edges, int]:
        """The edges into those of `size` neurons from `first` on that are targets here, and where
        the first of these stands among them. Nothing else is listed for it."""
        start = min(max(first - self.target_start, 0), self.num_targets)
        stop = min(max(first + size - self.target_start, start), self.num_targets)
        if isinstance(self.graph, Edges):
            edges = edges_into(self.graph, start, stop - start)
        else:
            targets = range(start, stop)
            edges = self.graph.edges(self.num_sources, self.num_targets, targets)
        return edges, self.target_start + start - first

    def arrivals(
        self, production: Float64[np.ndarray, " sources"]
    ) -> Float64[np.ndarray, " targets"]:
        """A bound on what arrives at each target where each source emits so much."""
        if isinstance(self.graph, Edges | graphs.RandomInDegree | graphs.RandomPairs):
            return self.edges.arrivals(production)
        return self.graph.arrivals(production, self.num_targets)


@dataclass(frozen=True, eq=False)
class HostProgram:
    """A static system.

    Axes: `neurons`; `outputs` and `inputs`, positions of neurons; `steps`, row t of `trains`
    arrives at the end of step t + 1. `largest` bounds the absolute value of every number of the
    model, and `table` is rewritten according to the system's `compatibility`.
    """

    system: AnySystem
    table: SlotTable
    spikes: Int[np.ndarray, " neurons"]
    parts: tuple[SynapsePart, ...]
    outputs: Int[np.ndarray, " outputs"]
    inputs: Int[np.ndarray, " inputs"]
    trains: Int[np.ndarray, "steps inputs"]
    largest: int
    network: NetworkColumns | None = None  # in no part
    requests: RequestColumns | None = None
    known_arrival: tuple[float, int] | None = None  # `largest_arrival`, where it is known

    @property
    def num_neurons(self) -> int:
        return len(self.spikes)

    @property
    def num_choosers(self) -> int:
        """The neurons, and what is numbered after them because it chooses, too."""
        return self.num_neurons + (0 if self.network is None else self.network.num_choosers)

    @property
    def schedule_end(self) -> int:
        """Later steps are alike for schedules that count from the beginning of the run."""
        return self.network.end if isinstance(self.network, ScheduleColumns) else 0

    @property
    def is_exhaustive(self) -> bool:
        return isinstance(self.system.variant, Exhaustive)

    @property
    def has_anti_spikes(self) -> bool:
        return isinstance(self.system.variant, AntiSpikes)

    def safe_steps(self, dtype: np.dtype) -> int:
        """How many steps from the initial configuration cannot take a count past the range of
        `dtype`."""
        arriving = self.largest_arrival[0]
        is_exact = arriving < 2**52
        compatibility = self.system.compatibility
        may_grow = compatibility is not TEXTBOOK and compatibility.may_grow
        if may_grow or self.is_exhaustive or self.requests is not None or not is_exact:
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
        if self.requests is not None:
            arriving += self.requests.arrivals(self.num_neurons)
        if len(self.trains):
            np.add.at(arriving, self.inputs, np.abs(self.trains.astype(float)).max(axis=0))
        return arriving

    @cached_property
    def largest_arrival(self) -> tuple[float, int]:
        """The largest of `arrivals`, and its neuron."""
        if self.known_arrival is not None:
            return self.known_arrival
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
        return replace(self, parts=(SynapsePart(merged(placed, size, size), 0, size, 0, size),))


def host_program_of(system: SpikingSystem, *, faithful: bool) -> HostProgram:
    """A system of single neurons as columns; without `faithful`, forgetting families are merged."""
    assert not system.is_growing
    names = system.names
    count = len(system.neurons)
    table = system.slots
    if faithful and table.families is not None:
        table = slots_of_neurons(system.neurons, faithful=True, compatibility=system.compatibility)
    network = _network_of(system, table)
    requests = RequestColumns.of(system, table) if isinstance(system.variant, Requests) else None
    spikes = [neuron.spikes for neuron in system.neurons]
    trains = system.input.values()
    largest = max(
        table.largest,
        max(map(abs, spikes), default=0),
        _largest_weight(system),
        max((abs(spikes) for train in trains for spikes in train), default=0),
        0 if network is None else network.largest,
        0 if requests is None else requests.largest,
    )
    return HostProgram(
        system=system,
        table=table,
        requests=requests,
        spikes=as_int64(spikes),
        parts=(SynapsePart(_delivered(system, network), 0, count, 0, count),),
        outputs=np.asarray([names[name] for name in system.output], np.int64),
        inputs=np.asarray([names[name] for name in system.input], np.int64),
        trains=trains_of(system),
        largest=largest,
        network=network,
    )


def _network_of(system: SpikingSystem, table: SlotTable) -> NetworkColumns | None:
    match system.variant:
        case SynapseRules():
            return RuledColumns.of(system, table)
        case Channels():
            return RuledColumns.of_channels(system, table)
        case Astrocytes():
            return AstrocyteColumns.of(system)
        case SynapseDelays() | DendriticDelays() as variant:
            return DelayColumns.of(system, variant)
        case ScheduledSynapses() as variant:
            return ScheduleColumns.of(system, variant)
    return PlasticColumns.of(system, table) if system.changes_network else None


def _largest_weight(system: SpikingSystem) -> int:
    if system.edges.value is None:
        return min(len(system.synapses), 1)
    return max(abs(weight) for _, _, weight in system.synapses)  # of more than 64 bits, too


def trains_of(system: SpikingSystem) -> Int[np.ndarray, "steps inputs"]:
    """What arrives at the inputs at the end of step 1, 2, ..., up to the last that is not 0."""
    trains = list(system.input.values())
    horizon = max((horizon_of(train) for train in trains), default=0)
    padded = [[*train[:horizon], *[0] * (horizon - len(train))] for train in trains]
    return as_int64(x for train in padded for x in train).reshape(len(trains), horizon).T


def _delivered(system: SpikingSystem, network: NetworkColumns | None = None) -> Edges:
    """The synapses that deliver anything by themselves and stay, in the order of the system."""
    edges = system.edges
    if network is None and not system.compatibility.no_self_synapses:
        return edges
    kept = np.ones(len(edges), bool)
    if network is not None:
        kept &= ~network.carries(edges)
    if system.compatibility.no_self_synapses:
        kept &= edges.source != edges.target
    return edges.subset(kept)


def edges_of(system: SpikingSystem) -> Edges:
    """The synapses that deliver anything as edges, with weights of 64 bits or none.

    **Raises:** `ValueError` for a weight that needs more.
    """
    if system.edges.value is not None:
        for source, target, weight in system.synapses:
            if abs(weight) >= 2**63:
                raise ValueError(
                    f"The weight of synapse ({source}, {target}) needs more than 64 bits."
                )
    return _delivered(system)


def horizon_of(train: Sequence[int]) -> int:
    """The position of the last non-zero entry, 0 if there is none."""
    return max((step for step, spikes in enumerate(train, start=1) if spikes), default=0)


def host_program_of_populations(system: "PopulationSystem", table: SlotTable) -> HostProgram:
    """A system of populations, with these rules."""
    populations, network = system.populations.values(), PlasticColumns.of(system, table)
    spikes = np.concatenate(
        [np.zeros(0, np.int64), *(column(p.spikes, p.size) for p in populations)]
    )
    trains, inputs = system.trains()
    largest = [table.largest, *(np.abs(a).max(initial=0) for a in (spikes, trains))]
    descriptions = (projection.description for projection in system.projections)
    largest += [abs(weight) for graph in descriptions for weight in graph.weight_range()]
    return HostProgram(
        system=system,
        table=table,
        spikes=spikes,
        parts=tuple(_parts_of(system, network)),
        outputs=positions_of(system.slice_of(name) for name in system.output),
        inputs=inputs,
        trains=trains,
        largest=int(max(largest)),
        network=network,
    )


def _parts_of(system: PopulationSystem, network: PlasticColumns | None) -> Iterator[SynapsePart]:
    """The projections, without what leaves plastic neurons."""
    for projection in system.projections:
        sources, targets = (system.slices[name] for name in (projection.source, projection.target))
        sizes = sources.stop - sources.start, targets.stop - targets.start
        part = SynapsePart(projection.description, sources.start, sizes[0], targets.start, sizes[1])
        if network is None or not network.is_plastic[sources].any():
            yield part
        elif not network.is_plastic[sources].all():
            stays = ~network.is_plastic[sources]
            yield replace(part, graph=part.edges.subset(stays[part.edges.source]))


# ---- sizes that programs are padded to, so that systems of similar size share compilations ----


def padded_neurons(count: int) -> int:
    """The neurons of a program; many are padded by a sixteenth at most."""
    return bucket(count) if count <= SMALL else entry_bucket(count, count)


@dataclass(frozen=True)
class Padding:
    """The sizes that programs are padded to, the most spikes that a neuron emits, and the tables
    that they have; programs of one padding and one layout have one shape."""

    neurons: int
    slots: int
    outputs: int
    inputs: int
    steps: int
    most: int
    has_periods: bool
    has_delays: bool
    has_families: bool
    is_renumbered: bool
    has_repeats: bool

    @classmethod
    def of(cls, systems: Sequence[HostProgram]) -> "Padding":
        """Room for each of the systems."""

        def most(size: Callable[[HostProgram], int], at_least: int, empty: int = 0) -> int:
            largest = max(map(size, systems), default=0)
            return bucket(largest, at_least=at_least) if largest or not empty else 0

        neurons = padded_neurons(max((c.num_neurons for c in systems), default=0))
        inputs = most(lambda c: len(c.inputs), 4, 1)
        tables = [c.table for c in systems]
        return cls(
            neurons=neurons,
            slots=most(lambda c: c.table.num_slots, 4 if neurons <= SMALL else 1),
            outputs=most(lambda c: len(c.outputs), 4, 1),
            inputs=inputs,
            steps=most(lambda c: len(c.trains), 8) if inputs else 0,
            most=max((int(table.produce.max(initial=0)) for table in tables), default=0),
            has_periods=any((table.period > 1).any() for table in tables),
            has_delays=any(table.delay.any() for table in tables),
            has_families=any((table.consume == ALL).any() for table in tables),
            is_renumbered=any(map(_is_renumbered, tables)),
            has_repeats=any(table.kept is not None for table in tables),
        )


def _is_renumbered(table: SlotTable) -> bool:
    slots = np.arange(table.num_slots)[:, None]
    return bool(((table.number != slots) & (table.low <= table.high)).any())


# ---- which integers count the spikes ----


def least_type(columns: HostProgram, *, at_least: np.dtype, largest: int) -> np.dtype:
    """The least of `NARROW`, from `at_least` on, for this system; it also holds `largest`.

    **Raises:** `ValueError` when there is none.
    """
    need = _Needs.of(columns)
    types = NARROW[NARROW.index(at_least) :]
    found = least_fitting(types, max(need.largest, largest), need.arriving)
    return count_type([columns], np.int32) if found is None else found


def least_fitting(types: Sequence[np.dtype], largest: int, arriving: float) -> np.dtype | None:
    """The first type that holds a number, and in which no overflow is missed when this many spikes
    arrive at a neuron in one step: these are less than half of its range."""
    for dtype in types:
        most = int(np.iinfo(dtype).max)
        if largest <= most and arriving < (most + 1) // 2:
            return dtype
    return None


def count_type(
    systems: Sequence[HostProgram], requested: np.dtype | type | None = None
) -> np.dtype:
    """The requested count type if it is safe for all, or the least one that is.

    **Raises:** `ValueError` with the constant or the neuron for which there is none.
    """
    if requested is not None and np.dtype(requested) not in (*NARROW, np.int64):
        raise ValueError(
            f"`count_dtype` is {np.dtype(requested)}. Counts are numpy.int32 or numpy.int64."
        )
    needs = [_Needs.of(columns) for columns in systems]
    if requested is None:
        fits = all(n.largest < 2**31 and n.arriving < 2**30 for n in needs)
        requested = np.int32 if fits else np.int64
    dtype = np.dtype(requested)
    bits = 8 * dtype.itemsize
    fix = "Try `count_dtype=numpy.int64`." if bits == 32 else "No count type is large enough."
    for columns, need in zip(systems, needs, strict=True):
        if need.largest >= 2 ** (bits - 1):
            shown = need.largest if need.largest < 10**40 else "of more than 40 digits"
            raise ValueError(f"The system has the constant {shown}, which is not an {dtype}. {fix}")
        if need.arriving >= 2 ** (bits - 2):
            name = columns.system.name_of(need.neuron)
            raise ValueError(
                f"In one step about {need.arriving:.3g} spikes can arrive at neuron {name!r}, too "
                f"many to detect every overflow of {dtype} (below 2^{bits - 2}). {fix}"
            )
    return dtype


def most_together(columns: HostProgram, dtype: np.dtype) -> Int[np.ndarray, " neurons"]:
    """The most spikes that each neuron may emit at once where emissions add up, so that the
    overflow of a sum of arrivals is still detected.

    As many times what one rule produces as keeps the arrivals of one step below a quarter of the
    range.
    """
    largest = np.iinfo(dtype).max
    produced = columns.table.largest_production()
    arriving = columns.largest_arrival[0]
    times = max(int((largest // 2) / max(arriving, 1.0)), 1)
    safe = largest // times
    return np.where(produced > safe, largest, produced * times).astype(dtype)


class _Needs(NamedTuple):
    """What a count type must hold: the largest constant, and the arrivals of the busiest neuron."""

    largest: int
    arriving: float
    neuron: int

    @classmethod
    def of(cls, columns: HostProgram) -> "_Needs":
        if columns.largest >= 2**63:  # the columns themselves are cut
            return cls(columns.largest, 0.0, 0)
        return cls(columns.largest, *columns.largest_arrival)
