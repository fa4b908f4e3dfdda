"""Lowering over a mesh: each device gets the neurons of its part, and what ends there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float64, Int

from snpjax_formats import AbstractLayout, Edges, Sum, choose, device_array, graphs
from snpjax_formats.degree_profile import DegreeProfile
from snpjax_formats.edges import merged
from snpjax_formats.ell import ELL
from snpjax_formats.parts import PARTITIONED, check_partitioned, part_of

from ..._xla import precision
from ...machine import Lowered
from ...scale.mesh import NEURONS, replicated, size_of
from ..model.compatibility import TEXTBOOK
from ..model.population import AnySystem
from ..model.system import SpikingSystem
from ..step.exchange import Exchange, exchanged_type
from ..step.partitioned import PartitionedMachine, split_of
from ..step.program import SpikingProgram
from .host_program import (
    HostProgram,
    Padding,
    SynapsePart,
    count_type,
    most_together,
    padded_neurons,
)
from .lower import Spread, padded_indices, rules_of
from .storage import LayoutLike, Storage
from .transition import Transition


if TYPE_CHECKING:
    from ..view.solution import Solution, SolutionBatch

# Parts are a multiple of this many neurons: what hashes once for 64 choosers is never cut, nor a
# word of bits.
_NEURONS = 64


def lowered_parts(
    system: AnySystem,
    mesh: Mesh,
    layout: LayoutLike,
    count_dtype: np.dtype | type | None,
    faithful: bool,
    paths: int,
) -> "Lowered[Solution, SolutionBatch]":
    """A system with a fixed network, its neurons split over the axis `neurons` of a mesh.

    Each process makes the parts of its own devices, one after another, and never lists the synapses
    of more than one.

    **Raises:** as `lower`, and `ValueError` for what cannot be partitioned.
    """
    if isinstance(system, SpikingSystem) and system.is_growing:
        raise _cannot("A system that divides or buds")
    columns = system.columns(faithful=faithful)
    _check(columns, mesh, layout)
    num_parts, devices = mesh.shape[NEURONS], _devices_of(mesh)
    size = part_size(columns.num_neurons, num_parts)
    parts = _Parts(columns, size, num_parts, layout == "auto")
    profile, *largest = _Survey.everywhere([_Survey.of(parts, part) for part in devices])
    columns = replace(columns, known_arrival=tuple(largest))
    dtype = count_type([columns], count_dtype)
    if profile.value_dtype is not None:
        profile = replace(profile, value_dtype=dtype)
    with precision(dtype):
        lowering = _Lowering(columns, parts, dtype)
        storage = Storage.of(layout, dtype, lowering.most_delivered, paths)
        chosen = _chosen(storage, parts)
        programs: dict[Any, SpikingProgram] = {}
        for part, some in devices.items():
            with jax.default_device(some[0]):
                program = lowering.program(part, lowering.synapses(part, chosen, profile))
            programs |= {device: jax.device_put(program, device) for device in some}
        program = _assembled(programs, mesh)
    return Lowered(
        system,
        PartitionedMachine(program, mesh),
        columns.table.families is None,
        columns.safe_steps(dtype),
        PartitionedMachine(replace(program, may_overflow=False), mesh),
        (columns.table.num_rules, columns.num_choosers),
    )


def part_size(num_neurons: int, num_parts: int) -> int:
    """The neurons of each part, with padding."""
    return -(-padded_neurons(num_neurons) // (num_parts * _NEURONS)) * _NEURONS


def _cannot(what: str) -> ValueError:
    return ValueError(
        f"{what} cannot be partitioned over the neurons of a mesh. Use a mesh without the axis "
        "`neurons`."
    )


def _check(columns: HostProgram, mesh: Mesh, layout: LayoutLike) -> None:
    """**Raises:** `ValueError` for what cannot be partitioned."""
    if NEURONS not in mesh.axis_names:
        raise ValueError(
            "`mesh` has no axis `neurons`, and no other one has a part in how a system is lowered. "
            "Give it to `run`."
        )
    what = None
    if columns.requests is not None:
        what = "Communication on request"
    elif columns.network is not None:
        what = "Synapses that rules change, that astrocytes control, or that time matters for"
    elif columns.system.compatibility.stop_at_closed_target:
        what = "Synapses that deliver in their order (`stop_at_closed_target`)"
    elif isinstance(layout, Transition):
        what = "A `Transition`"
    if what is not None:
        raise _cannot(what)
    if isinstance(layout, type) and issubclass(layout, AbstractLayout):
        check_partitioned(layout)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The synapses of a system in parts of `size` neurons each; with `keeps_structure`, those of
    projections that have some are not listed."""

    columns: HostProgram
    size: int
    num_parts: int
    keeps_structure: bool
    _last: dict[int, list[tuple[Edges, int, int]]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.size * self.num_parts

    def listed(self, part: int) -> Edges:
        """The listed synapses into a part, its neurons counted from 0."""
        placed = self._placed(part)
        if len(placed) == 1 and placed[0][1:] == (0, 0):  # without a copy
            return placed[0][0].resized(self.total, self.size)
        return merged(placed, self.total, self.size)

    def _placed(self, part: int) -> list[tuple[Edges, int, int]]:
        """The same, by projection, each with the places of its first source and target. What was
        listed last is kept."""
        if part not in self._last:
            self._last.clear()
            self._last[part] = [
                (edges, some.source_start, start)
                for some in self.columns.parts
                if not self._is_structured(some)
                for edges, start in [some.edges_into(part * self.size, self.size)]
            ]
        return self._last[part]

    def structured(self, part: int) -> Iterator[tuple[AbstractLayout, int]]:
        """Layouts of the other ones, and where their sources start."""
        for some in self.columns.parts:
            if self._is_structured(some):
                assert not isinstance(some.graph, Edges)
                first = part * self.size - some.target_start
                own = some.graph.window(some.num_sources, some.num_targets, first, self.size)
                assert own is not None
                yield own, some.source_start

    def arrivals(self, part: int) -> Float64[np.ndarray, " neurons"]:
        """A bound on what arrives at each neuron of a part in one step, that of `HostProgram`."""
        columns, arriving = self.columns, np.zeros(self.size)
        produced = columns.table.largest_production().astype(float)
        own = slice(part * self.size, (part + 1) * self.size)
        placed = iter(self._placed(part))
        for some in columns.parts:
            production = produced[some.source_start : some.source_start + some.num_sources]
            edges, _, start = (None, 0, 0) if self._is_structured(some) else next(placed)
            if edges is not None and _is_list(some):
                arriving[start : start + edges.num_targets] += edges.arrivals(production)
                continue
            first = max(some.target_start, own.start)
            stop = max(min(some.target_start + some.num_targets, own.stop), first)
            targets = slice(first - some.target_start, stop - some.target_start)
            arriving[first - own.start : stop - own.start] += some.arrivals(production)[targets]
        if len(columns.trains):
            inputs = columns.inputs - own.start
            is_own = (0 <= inputs) & (inputs < self.size)
            sent = np.abs(columns.trains.astype(float)).max(axis=0)
            np.add.at(arriving, inputs[is_own], sent[is_own])
        return arriving

    def _is_structured(self, part: SynapsePart) -> bool:
        return self.keeps_structure and not _is_list(part)


def _is_list(part: SynapsePart) -> bool:
    """Whether the synapses have no structure to keep."""
    return isinstance(part.graph, Edges | graphs.AbstractListed)


class _Survey(NamedTuple):
    """What the lowering of each part has to know of all of them: one profile, and the largest
    arrival with the first neuron that has it."""

    profile: DegreeProfile
    arrival: float
    neuron: int

    @classmethod
    def of(cls, parts: _Parts, part: int) -> "_Survey":
        edges, arrivals = parts.listed(part), parts.arrivals(part)
        worst = int(np.argmax(arrivals))
        profile = DegreeProfile.of(edges.canonical())
        return cls(profile, float(arrivals[worst]), part * parts.size + worst)

    @classmethod
    def joined(cls, surveys: "Sequence[_Survey]") -> "_Survey":
        """That of several parts."""
        profile = DegreeProfile.covering([survey.profile for survey in surveys])
        return cls(profile, *max(((s.arrival, s.neuron) for s in surveys), key=_first_largest))

    @classmethod
    def everywhere(cls, surveys: "Sequence[_Survey]") -> "_Survey":
        """That of the parts of this process and all others."""
        own = cls.joined(surveys)
        if jax.process_count() == 1:
            return own
        return cls.joined([cls._read(row) for row in _of_all(own._written())])

    def _written(self) -> Int[np.ndarray, " numbers"]:
        profile = self.profile
        sizes = (profile.num_targets, profile.num_edges, profile.max_out_degree)
        rest = (profile.value_dtype is not None, self.neuron, len(profile.targets))
        arrival = np.asarray([self.arrival]).view(np.int32)
        return np.concatenate([[*sizes, *rest], arrival, profile.targets]).astype(np.int32)

    @classmethod
    def _read(cls, row: Int[np.ndarray, " numbers"]) -> "_Survey":
        num_targets, num_edges, out_degree, has_values, neuron, count = row[:6].tolist()
        dtype = np.dtype(np.int32) if has_values else None
        profile = DegreeProfile(num_targets, num_edges, row[8 : 8 + count], out_degree, dtype)
        return cls(profile, float(row[6:8].view(np.float64)[0]), neuron)


def _first_largest(largest: tuple[float, int]) -> tuple[float, int]:
    return largest[0], -largest[1]


def _of_all(row: Int[np.ndarray, " own"]) -> Int[np.ndarray, "processes most"]:
    """Numbers of 32 bits of all processes, filled up with 0."""
    from jax.experimental import multihost_utils  # takes long to import

    most = np.max(multihost_utils.process_allgather(np.asarray([len(row)], np.int32)))
    return np.asarray(multihost_utils.process_allgather(np.pad(row, (0, most - len(row)))))


def _add_up(columns: HostProgram) -> bool:
    """Whether a neuron may emit what several rules produce, or one rule several times."""
    return columns.system.compatibility.early_reopen is not None or columns.is_exhaustive


def emissions_type(columns: HostProgram, dtype: np.dtype) -> np.dtype:
    """The type in which emissions travel, which are counted in `dtype`. Those that add up may be
    too many, or -1, in the step that fails."""
    if columns.has_anti_spikes or _add_up(columns):
        return dtype
    return exchanged_type(int(columns.table.produce.max(initial=0)), dtype)


@dataclass(frozen=True, eq=False)
class _Lowering:
    """A system to be lowered in parts, and the type that counts its spikes."""

    columns: HostProgram
    parts: _Parts
    dtype: np.dtype

    @property
    def most_delivered(self) -> int | None:
        """The most spikes that a neuron emits at once; `None` if they may be fewer than none."""
        if self.columns.has_anti_spikes:
            return None
        together = self.together
        most = self.columns.table.produce if together is None else together
        return int(most.max(initial=0))

    @cached_property
    def together(self) -> Int[np.ndarray, " neurons"] | None:
        """The most spikes that each neuron may emit at once where they add up."""
        return most_together(self.columns, self.dtype) if _add_up(self.columns) else None

    def synapses(
        self, part: int, layout: type[AbstractLayout], profile: DegreeProfile
    ) -> AbstractLayout:
        """The synapses into a part, on the default device."""
        own = list(self.parts.structured(part))
        if profile.num_edges or not own:
            edges = self.parts.listed(part).typed(self.dtype)
            own.append((part_of(layout, edges, profile, max_input=self.most_delivered), 0))
        if len(own) == 1 and own[0][0].num_sources == self.parts.total:
            return own[0][0]
        layouts, starts = zip(*own, strict=True)
        return Sum(
            parts=layouts,
            source_starts=starts,
            target_starts=(0,) * len(layouts),
            num_sources=self.parts.total,
            num_targets=self.parts.size,
        )

    def program(self, part: int, synapses: AbstractLayout) -> SpikingProgram:
        """The program of a part, on the default device."""
        columns, dtype, size = self.columns, self.dtype, self.parts.size
        first = part * size
        own = slice(first, first + size)
        table = replace(columns.table, type_of=columns.table.type_of[own])
        padding = replace(Padding.of([columns]), neurons=size)
        spread = Spread.of(table, padding, dtype, by_type=True)
        compatibility = columns.system.compatibility
        if compatibility is not TEXTBOOK:
            compatibility = compatibility.in_steps(has_delays=padding.has_delays)
        inputs = np.where(
            (first <= columns.inputs) & (columns.inputs < first + size),
            columns.inputs - first,
            size,
        )
        together = self.together
        steps, num_inputs = columns.trains.shape
        missing = ((0, padding.steps - steps), (0, padding.inputs - num_inputs))
        return SpikingProgram(
            **rules_of(table, spread, padding),
            type_of=spread.type_of,
            rows=None,
            synapses=synapses,
            ordered=None,
            initial=device_array(self._padded(columns.spikes[own]), dtype),
            outputs=padded_indices(columns.outputs, self.parts.total, padding.outputs),
            inputs=padded_indices(inputs, size, padding.inputs),
            trains=device_array(np.pad(columns.trains, missing), dtype),
            horizon=device_array(steps, np.int32),
            most_together=None if together is None else device_array(self._padded(together[own])),
            network=None,
            has_families=padding.has_families and not columns.has_anti_spikes,
            may_overflow=True,
            compatibility=compatibility,
            is_exhaustive=columns.is_exhaustive,
            exchange=Exchange(NEURONS, self.parts.num_parts, emissions_type(columns, dtype)),
        )

    def _padded(self, of_neurons: np.ndarray) -> np.ndarray:
        return np.pad(of_neurons, (0, self.parts.size - len(of_neurons)))


def _chosen(storage: Storage, parts: _Parts) -> type[AbstractLayout]:
    """The layout of what is listed, in all parts: what was requested, or what suits the first."""
    if isinstance(storage.layout, type):
        return storage.layout
    chooser = None if isinstance(storage.layout, str) else storage.layout
    edges = parts.listed(0).typed(storage.dtype)
    found = choose(
        edges, max_input=storage.most, many_paths=storage.many_paths, chooser=chooser
    ).layout
    found = found if found in PARTITIONED else ELL
    if jax.process_count() == 1:
        return found
    # What is free on a device has a part in the choice, and differs.
    return PARTITIONED[_of_all(np.asarray([PARTITIONED.index(found)], np.int32))[0, 0]]


def _devices_of(mesh: Mesh) -> dict[int, list[Any]]:
    """The devices of this process that have each part, if any have."""
    axis = mesh.axis_names.index(NEURONS)
    by_part = np.moveaxis(mesh.devices, axis, 0).reshape(mesh.shape[NEURONS], -1)
    here = jax.process_index()
    own = {p: [d for d in some if d.process_index == here] for p, some in enumerate(by_part)}
    return {part: devices for part, devices in own.items() if devices}


def _assembled(programs: dict[Any, SpikingProgram], mesh: Mesh) -> SpikingProgram:
    """The arrays of all parts as global ones."""
    first = next(iter(programs.values()))

    def assembled(spec: PartitionSpec, parts: Sequence[Array]) -> Array:
        shape = parts[0].shape
        if spec == PartitionSpec():
            return replicated(parts[0], mesh)
        whole = (shape[0] * size_of(mesh, NEURONS), *shape[1:])
        sharding = NamedSharding(mesh, spec)
        return jax.make_array_from_single_device_arrays(whole, sharding, list(parts))

    leaves, tree = jax.tree.flatten(split_of(first))
    parts = zip(*map(jax.tree.leaves, programs.values()), strict=True)
    return tree.unflatten([assembled(*some) for some in zip(leaves, parts, strict=True)])
