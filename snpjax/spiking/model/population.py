"""Large systems: populations of neurons and projections between them, never listed one by one."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, overload

import numpy as np
from jaxtyping import Int

from snpjax_formats import Edges, check_free, host_free_bytes
from snpjax_formats.by_value import have_same_value
from snpjax_formats.edges import merged
from snpjax_formats.memory import listed

from ..._text.counts import plural
from .compatibility import TEXTBOOK, Compatibility
from .neuron_names import base_of
from .plastic_rules import PlasticRules, plastic_rules_of_populations
from .population_parts import Population, Projection
from .population_validity import compatibility_problems, plasticity_problems, problems_of
from .rule_table import EMPTY, UNBOUNDED, SlotTable
from .system import AbstractSystem, Neuron, SpikingSystem, Synapse
from .template import column, num_rules_of, rules_of_neuron, slots_of_template, text_of_neuron
from .validity import InvalidSystem, Problem, unknown_neuron


if TYPE_CHECKING:
    from jax.sharding import Mesh

    from ...machine import Lowered
    from ..lower.enumerable import SearchedMachine
    from ..lower.host_program import HostProgram
    from ..lower.plastic_synapses import PlasticColumns
    from ..lower.storage import LayoutLike
    from ..view.solution import Solution, SolutionBatch
    from .environment import AnyInput


# What a neuron takes on the host while it is lowered, whatever its rules are: its type, spikes and
# degrees, and copies of them that are padded.
_BYTES_PER_NEURON = 80
#: At least that many for a `Neuron` with its name, in a list.
_BYTES_PER_OBJECT = 200


class PopulationSystem(AbstractSystem):
    """A spiking neural P system of populations and projections, as large as memory allows.

    **Arguments:**

    - `populations`: in order; neurons are numbered through them.
    - `projections`: at most one synapse between two neurons, over all projections. That is not
      checked between projections that share both populations; their synapses add up.
    - `input`: population name to the trains of its neurons: `(steps, size)`, or `(steps,)` for all
      of them. Or the name of one neuron.
    - `output`: names of populations, or of single neurons, whose emissions are the output.
    - `signed`: counts may become negative; needed for negative weights and spikes.
    - `compatibility`: as in `SpikingSystem`, but for what depends on single synapses.

    Nothing is made for a single neuron: a system of millions is built in the time that its arrays
    take. `expand` gives the same system neuron by neuron.

    **Raises:** `InvalidSystem` with every problem at once.
    """

    variant: ClassVar[None] = None  # steps are those of the definition

    def __init__(
        self,
        populations: Sequence[Population],
        projections: Sequence[Projection] = (),
        *,
        input: Mapping[str, Any] | None = None,
        output: str | Sequence[str] = (),
        signed: bool = False,
        name: str = "",
        compatibility: Compatibility = TEXTBOOK,
    ) -> None:
        self._populations = tuple(populations)
        self.projections = tuple(projections)
        self.input = MappingProxyType(dict(input or {}))
        self.output = tuple(dict.fromkeys((output,) if isinstance(output, str) else output))
        self.signed = signed
        self.name = name
        self.compatibility = compatibility
        found = list(problems_of(self, self._populations))
        found = found or [*plasticity_problems(self), *compatibility_problems(self)]
        problems = tuple(
            Problem("bad_population", "error", place, message) for place, message in found
        )
        if problems:
            raise InvalidSystem(problems)

    def __reduce__(self):
        return partial(PopulationSystem, **self._arguments()), ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PopulationSystem):
            return NotImplemented
        return have_same_value(self._arguments(), other._arguments())

    def __getitem__(self, name: str) -> Population:
        """A population by its name. **Raises:** `KeyError` with the nearest names."""
        if not isinstance(name, str) or name not in self.populations:
            raise KeyError(unknown_neuron(name, self.populations, "population"))
        return self.populations[name]

    __iter__ = None  # a system is no sequence: iterate over `populations`

    def __hash__(self) -> int:
        return hash((self._populations, self.projections, self.output))

    def _arguments(self) -> dict[str, Any]:
        """The arguments of construction by name."""
        return {
            "populations": self._populations,
            "projections": self.projections,
            "input": dict(self.input),
            "output": self.output,
            "signed": self.signed,
            "name": self.name,
            "compatibility": self.compatibility,
        }

    @cached_property
    def populations(self) -> Mapping[str, Population]:
        """Populations by name."""
        return MappingProxyType({population.name: population for population in self._populations})

    @cached_property
    def slices(self) -> Mapping[str, slice]:
        """The positions of each population's neurons."""
        slices, start = {}, 0
        for population in self._populations:
            slices[population.name] = slice(start, start + population.size)
            start += population.size
        return MappingProxyType(slices)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """None: in a system of populations nothing is doubtful, only right or refused."""
        return ()

    @property
    def num_neurons(self) -> int:
        return sum(population.size for population in self._populations)

    @property
    def neurons(self) -> "Neurons":
        """The neurons one by one, each created on demand."""
        return Neurons(self)

    def rule_text(self, neuron: int, rule: int) -> str:
        """A rule of a neuron in the notation of papers; guards of more than one count are written
        as terms.

        **Arguments:**

        - `neuron`: the position of the neuron.
        - `rule`: the index of the rule.
        """
        name, positions = self.population_at(neuron)
        population = self.populations[name]
        template, own = population.templates[rule], neuron - positions.start
        return text_of_neuron(template, own, population.size, self.targets_of(neuron, rule))

    def targets_of(self, neuron: int, rule: int) -> list[str]:
        """The names of the neurons in the set N of a plasticity rule.

        **Arguments:**

        - `neuron`: the position of the neuron.
        - `rule`: the index of the rule.

        **Returns:** the names; empty for any other rule.
        """
        if self.plastic_rules is None:
            return []
        return [self.name_of(i) for i in self.plastic_rules.targets_of(neuron, rule).tolist()]

    @property
    def num_rules(self) -> int:
        """Rules of all neurons, consume-all rules by their members; one without end counts as
        one."""
        return sum(num_rules_of(t, p.size) for p in self._populations for t in p.templates)

    @property
    def num_synapses(self) -> int:
        """Synapses, counted without listing them where their graph allows it."""
        sizes = {name: p.size for name, p in self.populations.items()}
        return sum(
            p.description.num_edges(sizes[p.source], sizes[p.target]) for p in self.projections
        )

    def name_of(self, neuron: int) -> str:
        """The name of the neuron at a position."""
        name, positions = self.population_at(neuron)
        return self.populations[name].names.of(neuron - positions.start)

    def population_at(self, neuron: int) -> tuple[str, slice]:
        for name, positions in self.slices.items():
            if positions.start <= neuron < positions.stop:
                return name, positions
        raise IndexError(f"there is no neuron {neuron} among {self.num_neurons}")

    def has(self, name: str) -> bool:
        """Whether a population or a neuron has that name."""
        return self._slice(name) is not None

    def position_of(self, name: str) -> int | slice:
        """The positions of a population's neurons, or the one of a neuron."""
        positions = self.slice_of(name)
        population = self.populations.get(name)
        is_neuron = population is None or population.names.are_plain
        return positions.start if is_neuron else positions

    def slice_of(self, name: str) -> slice:
        """The positions of a population's neurons, or of one neuron, as a slice."""
        positions = self._slice(name)
        if positions is None:
            raise KeyError(name)
        return positions

    def _slice(self, name: str) -> slice | None:
        if name in self.slices:
            return self.slices[name]
        population = self.populations.get(base_of(name))
        number = None if population is None else population.names.find(name)
        if population is None or number is None:
            return None
        position = self.slices[population.name].start + number
        return slice(position, position + 1)

    def output_columns(self, name: str) -> int | slice:
        """Where the emissions of an output stand in `Solution.spike_trains`."""
        start = 0
        for output in self.output:
            size = _size(self.slice_of(output))
            if output == name:
                return slice(start, start + size) if size != 1 else start
            start += size
        raise KeyError(name)

    @property
    def num_outputs(self) -> int:
        return sum(_size(self.slice_of(name)) for name in self.output)

    @cached_property
    def slots(self) -> SlotTable:
        """The rules of all neurons."""
        return _slot_table(self._populations, self.compatibility, faithful=False)

    @cached_property
    def plastic_rules(self) -> PlasticRules | None:
        """The plasticity rules, if there are any."""
        return plastic_rules_of_populations(self)

    @cached_property
    def plastic_columns(self) -> "PlasticColumns | None":
        """The synapses that plasticity may create and delete, if there is any."""
        from ..lower.plastic_synapses import PlasticColumns  # the model itself needs no device

        return PlasticColumns.of(self, self.slots)

    @property
    def changes_network(self) -> bool:
        """Whether rules create or delete synapses."""
        return self.plastic_rules is not None

    @property
    def is_static(self) -> bool:
        """Whether the network never changes."""
        return not self.changes_network

    @property
    def edges(self) -> Edges:
        """The synapses by the positions of their neurons, all listed."""
        size, placed = self.num_neurons, []
        for p in self.projections:
            source, target = self.slices[p.source], self.slices[p.target]
            fix = "Look at a smaller system of the same kind."
            edges = listed(p.description, _size(source), _size(target), fix)
            placed.append((edges, source.start, target.start))
        return merged(placed, size, size)

    def columns(self, *, faithful: bool = False) -> "HostProgram":
        """The system as lowering takes it; `faithful` keeps consume-all rules apart."""
        from ..lower.host_program import host_program_of_populations

        table = self.slots
        if faithful:
            table = _slot_table(self._populations, self.compatibility, faithful=True)
        return host_program_of_populations(self, table)

    def trains(self) -> tuple[np.ndarray, np.ndarray]:
        """Input trains side by side, cut after the last spike, and their neurons."""
        given = {name: np.asarray(train, np.int64) for name, train in self.input.items()}
        steps = max((len(train) for train in given.values()), default=0)
        blocks = [np.zeros((steps, 0), np.int64)]
        for name, train in given.items():
            train = train if train.ndim == 2 else train[:, None]
            block = np.zeros((steps, _size(self.slice_of(name))), np.int64)
            block[: len(train)] = train
            blocks.append(block)
        trains = np.concatenate(blocks, axis=1)
        used = np.flatnonzero(trains.any(axis=1))
        return trains[: used[-1] + 1 if len(used) else 0], positions_of(
            self.slice_of(name) for name in given
        )

    def lower(
        self,
        *,
        layout: "LayoutLike" = "auto",
        count_dtype: "np.dtype | type | None" = None,
        faithful: bool = False,
        mesh: "Mesh | None" = None,
        numbered: bool = False,
        paths: int = 1,
    ) -> "Lowered[Solution, SolutionBatch]":
        """Lower this system to arrays, see `snpjax.lower`.

        **Arguments:**

        - `layout`: with `"auto"` each projection is stored by its own structure; a class of
          `snpjax_formats` stores the listed synapses of each.
        - `count_dtype`: int32 or int64 spike counts; by default the narrowest that is safe.
        - `faithful`: keep every rule of a consume-all rule as an alternative of its own; the
          numbers of rules are those of the templates either way.
        - `mesh`: devices over which the neurons are split.
        - `numbered`, `paths`: see `snpjax.machine.Model`.
        """
        from ..lower.lower import lowered_columns  # the model itself needs no device

        del numbered
        _refuse_transition(layout)
        if mesh is not None:
            from ..lower.partition import lowered_parts  # few need it

            return lowered_parts(self, mesh, layout, count_dtype, faithful, paths)
        return lowered_columns(self.columns(faithful=faithful), layout, count_dtype, paths)

    def with_input(self, input: "Mapping[str, Any] | AnyInput") -> "PopulationSystem":
        """The same system with other input trains.

        **Raises:** `NotImplementedError` for `AnyInput`; `InvalidSystem` for trains that the system
        cannot take.
        """
        from .environment import AnyInput

        if isinstance(input, AnyInput):
            raise NotImplementedError(
                "An environment that sends any input needs single neurons. Use `system.expand()`."
            )
        return self._replace(input=input)

    def enumerable(
        self,
        *,
        saturate: Mapping[str, int],
        clock: int,
        at_least: np.dtype | None = None,
        layout: "LayoutLike" = "auto",
    ) -> "SearchedMachine":
        """Lower this system for `snpjax.explore`.

        **Arguments:**

        - `saturate`, `clock`: as in `snpjax.explore`.
        - `at_least`: the narrowest type to count in, see `snpjax.machine.Encoding`.
        - `layout`: as in `lower`.
        """
        from ..lower.enumerable import searched  # the model itself needs no device

        _refuse_transition(layout)
        return searched(self, layout, None, saturate, clock, at_least)

    def expand(self) -> SpikingSystem:
        """The same system neuron by neuron; consume-all rules become their members, and a neuron
        has no rule where a template has no count for it.

        Rule numbers differ where there are such rules; synapses between the same two neurons become
        one of their added weights.

        **Raises:** `ValueError` for a consume-all rule whose guard has no end, and for guards
        larger than `Guard` takes; `NotEnoughMemory` for more neurons than fit in memory.
        """
        size = self.num_neurons
        what, fix = f"{size:,} neurons one by one need", "Keep them in populations."
        check_free(_BYTES_PER_OBJECT * size, host_free_bytes(), what, fix)
        neurons = list(self.neurons)
        names = [neuron.name for neuron in neurons]
        edges = self.edges.canonical()
        weights = np.ones(len(edges), int) if edges.value is None else edges.value
        synapses = [
            Synapse(names[s], names[t], int(w))
            for s, t, w in zip(edges.source, edges.target, weights, strict=True)
        ]
        trains, inputs = self.trains()
        return SpikingSystem(
            neurons,
            synapses,
            input={names[i]: trains[:, c].tolist() for c, i in enumerate(inputs)},
            output=[names[i] for i in positions_of(self.slice_of(name) for name in self.output)],
            signed=self.signed,
            name=self.name,
            compatibility=self.compatibility,
        )

    def with_compatibility(self, compatibility: Compatibility) -> "PopulationSystem":
        """The same system, run as another simulator does.

        **Raises:** `InvalidSystem` for what the options cannot take.
        """
        return self._replace(compatibility=compatibility)

    def with_single_outputs(self) -> "PopulationSystem":
        """The same system, its outputs neurons instead of populations of them."""
        names = [self.name_of(i) for i in positions_of(self.slice_of(name) for name in self.output)]
        return self if tuple(names) == self.output else self._replace(output=names)

    def _replace(self, **changes: Any) -> "PopulationSystem":
        return PopulationSystem(**{**self._arguments(), **changes})

    def consumption(self) -> Int[np.ndarray, "rules neurons"]:
        """What each rule of each neuron consumes; 0 where there is none, and for `ALL`."""
        most = max((len(population.templates) for population in self._populations), default=0)
        table = np.zeros((max(most, 1), self.num_neurons), np.int64)
        for name, population in self.populations.items():
            for rule, template in enumerate(population.templates):
                consumed = column(template.consume, population.size)
                table[rule, self.slices[name]] = np.maximum(consumed, 0)
        return table

    def __repr__(self) -> str:
        populations = ", ".join(f"{p.name}[{p.size:,}]" for p in self._populations)
        name = f"{self.name}: " if self.name else ""
        compatible = "" if self.compatibility.is_textbook else f"; {self.compatibility}"
        return (
            f"PopulationSystem({name}{plural(self.num_neurons, 'neuron')}: {populations}; "
            f"{plural(self.num_synapses, 'synapse')}{compatible})"
        )


def _refuse_transition(layout: "LayoutLike") -> None:
    from ..lower.transition import Transition  # the model itself needs no device

    if isinstance(layout, Transition):
        raise ValueError("A Transition needs single rules. Use `system.expand()`.")


#: A system of single neurons or of populations.
AnySystem: TypeAlias = SpikingSystem | PopulationSystem


class Neurons(Sequence[Neuron]):
    """The neurons of a system of populations, each created on demand."""

    def __init__(self, system: PopulationSystem) -> None:
        self._system = system

    def __len__(self) -> int:
        return self._system.num_neurons

    @overload
    def __getitem__(self, index: int) -> Neuron: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Neuron, ...]: ...

    def __getitem__(self, index: int | slice) -> Neuron | tuple[Neuron, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        position = range(len(self))[index]
        name, positions = self._system.population_at(position)
        population = self._system.populations[name]
        own = position - positions.start
        rules = [
            rule
            for number, template in enumerate(population.templates)
            for rule in rules_of_neuron(
                template, own, population.size, self._system.targets_of(position, number)
            )
        ]
        spikes = int(column(population.spikes, population.size)[own])
        return Neuron(population.names.of(own), spikes, rules)


def _size(positions: slice) -> int:
    return positions.stop - positions.start


def positions_of(slices: Iterable[slice]) -> Int[np.ndarray, " neurons"]:
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(s.start, s.stop) for s in slices)])


def _slot_table(
    populations: Sequence[Population], compatibility: Compatibility, *, faithful: bool
) -> SlotTable:
    widths = [1 if population.is_shared else population.size for population in populations]
    blocks = [
        [
            slot
            for number, template in enumerate(population.templates)
            for slot in slots_of_template(
                template, number, width, faithful=faithful, compatibility=compatibility
            )
        ]
        for population, width in zip(populations, widths, strict=True)
    ]
    num_slots = max(map(len, blocks), default=0)
    starts = np.cumsum([0, *widths])
    size = sum(population.size for population in populations)
    needed = 8 * len(EMPTY) * num_slots * int(starts[-1]) + _BYTES_PER_NEURON * size
    what = f"{size:,} neurons in populations need"
    check_free(needed, host_free_bytes(), what, "Make the populations smaller.")
    columns = [np.full((num_slots, starts[-1]), empty, np.int64) for empty in EMPTY]
    type_of = [np.zeros(0, np.int64)]
    for population, block, start, width in zip(populations, blocks, starts, widths, strict=False):
        for slot, values in enumerate(block):
            for table, value in zip(columns, values, strict=True):
                table[slot, start : start + width] = value
        own = np.arange(population.size) if width > 1 else np.zeros(population.size, np.int64)
        type_of.append(start + own)
    finite = np.where(columns[1] == UNBOUNDED, 0, columns[1])
    constants = (columns[0], finite, *columns[2:6])
    return SlotTable(
        *columns,
        type_of=np.concatenate(type_of),
        families=None,
        largest=max(int(np.abs(constant).max(initial=0)) for constant in constants),
    )
