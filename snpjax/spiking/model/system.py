"""The model: a spiking neural P system as its users think of it, with names."""

import warnings
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

from ..._text.counts import plural
from ..._text.warn import warn
from .communication_variants import Requests
from .compatibility import TEXTBOOK, Compatibility
from .rule import (
    AnyRule,
    BuddingRule,
    DivisionRule,
    RequestRule,
    Rule,
    RuleError,
    rule_text,
)
from .rule_syntax import parse_rule
from .timed_variants import DendriticDelays
from .validity import InvalidSystem, Level, ModelWarning, Problem, check, unknown_neuron
from .variants import AntiSpikes, Exhaustive, SynapseRules, Variant, added_synapses


if TYPE_CHECKING:
    import numpy as np
    from jax.sharding import Mesh
    from jaxtyping import Int

    from snpjax_formats import Edges

    from ...choice import AbstractChoice
    from ...machine import AnyMachine, Lowered, PartNeeds, Schema, Settled
    from ...trajectory import Trajectory
    from ..lower.enumerable import SearchedMachine
    from ..lower.host_program import HostProgram
    from ..lower.lower_division import Capacity
    from ..lower.plastic_synapses import PlasticColumns
    from ..lower.storage import LayoutLike
    from ..step.step import SpikingState
    from ..view.configurations import Configurations, Transitions
    from ..view.solution import Solution, SolutionBatch
    from .environment import AnyInput
    from .plastic_rules import PlasticRules
    from .population import AnySystem
    from .rule_table import SlotTable


Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"


class Synapse(NamedTuple):
    """A synapse from `source` to `target`: `weight` times what the source emits arrives (1 by
    default)."""

    source: str
    target: str
    weight: int = 1


@dataclass(frozen=True)
class Neuron:
    """A neuron: its name, initial spikes, and rules in order of declaration.

    Rules may be text: `"a^2/a -> a; 1"`, `"[a^2]_i -> []_j || []_k"`, `"a/a -> +2(i, {j, k})"`,
    where i is this neuron's own label. `label` matters only for division and budding, where
    several neurons may bear one label; it is the name unless given.
    """

    name: str
    spikes: int = 0
    rules: tuple[AnyRule | str, ...] = ()
    label: str = ""

    def __init__(
        self,
        name: str,
        spikes: int = 0,
        rules: Sequence[AnyRule | str] = (),
        label: str | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a neuron is a string, not {name!r} (write {str(name)!r})")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "spikes", spikes)
        object.__setattr__(self, "label", name if label is None else label)
        object.__setattr__(self, "rules", parse_rules(rules, self.label))


def parse_rules(rules: Sequence[AnyRule | str], label: str) -> tuple[AnyRule | str, ...]:
    """The rules of a label with every text parsed. A text that does not parse is kept: the system
    reports it with its neuron."""
    rules = (rules,) if isinstance(rules, str) else tuple(rules)
    if all([type(rule) is Rule for rule in rules]):
        return rules
    parsed: list[AnyRule | str] = []
    for rule in rules:
        try:
            if not isinstance(rule, str | AnyRule):
                raise TypeError(
                    f'{rule!r} is not a rule (write Rule(...), or a text as "a^2/a -> a")'
                )
            rule = parse_rule(rule, label) if isinstance(rule, str) else rule
        except RuleError:
            pass
        if isinstance(rule, BuddingRule) and rule.parent == label:
            rule = BuddingRule(rule.guard, rule.bud)  # one way to say that it keeps its label
        parsed.append(rule)
    return tuple(parsed)


def _with_weight(synapse: Sequence[Any]) -> Sequence[Any]:
    is_sequence = type(synapse) in (tuple, Synapse) or (
        isinstance(synapse, Sized) and not isinstance(synapse, str)
    )
    if not is_sequence or len(synapse) not in (2, 3):
        raise TypeError(f"{synapse!r} is not a synapse (write (source, target) or (..., weight))")
    return synapse if len(synapse) == 3 else (*synapse, 1)


def _rebuild(arguments: dict[str, Any]) -> "SpikingSystem":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said when it was first built
        return SpikingSystem(**arguments)


class AbstractSystem:
    """Methods shared by systems of neurons and of populations: how they are run, explored and
    drawn. `self` is one of the two."""

    def start(
        self: Any, machine: "AnyMachine", initial: Any, inputs: Any
    ) -> "tuple[AnyMachine, SpikingState]":
        """Where a run begins that does not begin where the model says, see `snpjax.run`."""
        from ..lower.start import started

        return started(self, machine, initial, inputs)

    def planned(self: Any, parts: int, *, paths: int = 1, **options: Any) -> "PartNeeds":
        """What a device needs that has one of this many parts of the neurons, see
        `snpjax.scale.plan`."""
        from ..lower.plan import planned

        return planned(self, parts, paths=paths, **options)

    def schema(self: Any) -> "Schema[Configurations, Transitions]":
        """The names of this system, for graphs and queries."""
        from ..view.schema import schema_of

        return schema_of(self)

    def solution(self: Any, trajectory: "Trajectory") -> "Solution":
        """What a run of one path saved, with this system's names."""
        from ..view.solution import Solution

        return Solution(trajectory, self)

    def solutions(self: Any, trajectory: "Trajectory") -> "SolutionBatch":
        """What a run of many paths saved, with this system's names."""
        from ..view.solution import SolutionBatch

        return SolutionBatch(trajectory, self)

    def __str__(self: Any) -> str:
        from ..view.listing import system_text

        return system_text(self)

    def _repr_svg_(self: Any) -> str:
        from ..view.picture import system_svg

        return system_svg(self)

    def _repr_html_(self: Any) -> str:
        from ..view.html import system_html

        return system_html(self)


@dataclass(frozen=True)
class SpikingSystem(AbstractSystem):
    """A spiking neural P system (O = {a}, neurons, syn, in, out).

    **Arguments:**

    - `neurons`: in order; rules are numbered through all neurons in this order.
    - `synapses`: `(source, target)` or `(source, target, weight)` by name.
    - `input`: neuron name to its train: spikes that arrive at the end of step 1, 2, ...; missing
      entries are 0.
    - `output`: names of the neurons whose emissions are the output.
    - `level`: `"extended"` or `"strict"`, see `snpjax.spiking.model.validity`.
    - `signed`: counts may become negative; needed for negative weights.
    - `dictionary`: label pairs of the synapse dictionary besides those of the synapses (division
      and budding).
    - `rules_by_label`: rules of labels that no initial neuron bears (division and budding).
    - `compatibility`: in what it runs as another simulator does; by default in nothing.
    - `variant`: another way of making steps: `AntiSpikes()`, `Exhaustive()`, `Astrocytes(...)`,
      `SynapseRules(...)`, `Channels(...)` or `Requests()`, see `snpjax.spiking.model.variants`;
      `SynapseDelays(...)`, `DendriticDelays(...)` or `ScheduledSynapses(...)`, see
      `snpjax.spiking.model.timed_variants`.
    - `notes`: what a file says besides, in values of JSON: `"positions"` (neuron to `[x, y]`),
      `"expected"`, .... It changes nothing, and is not part of what makes systems equal.

    **Raises:** `InvalidSystem` with every problem at once, each naming the neuron, the rule and the
    fix.

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2006; weights as in Pan, Zeng, Zhang, Jiang 2012. Differs from them
        in: 1. several input and output neurons; 2. an output neuron may have outgoing synapses.
    """

    neurons: tuple[Neuron, ...]
    synapses: tuple[Synapse, ...] = ()
    input: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    output: tuple[str, ...] = ()
    level: Level = "extended"
    signed: bool = False
    dictionary: tuple[tuple[str, str], ...] = ()
    rules_by_label: Mapping[str, tuple[AnyRule | str, ...]] = field(default_factory=dict)
    name: str = ""
    compatibility: Compatibility = TEXTBOOK
    variant: Variant | None = None
    notes: Mapping[str, Json] = field(default_factory=dict, compare=False)

    def __init__(
        self,
        neurons: Sequence[Neuron],
        synapses: Sequence[Synapse | tuple[str, str] | tuple[str, str, int]] = (),
        *,
        input: Mapping[str, Sequence[int]] | None = None,
        output: str | Sequence[str] = (),
        level: Level = "extended",
        signed: bool = False,
        dictionary: Sequence[tuple[str, str]] = (),
        rules_by_label: Mapping[str, Sequence[AnyRule | str]] | None = None,
        name: str = "",
        compatibility: Compatibility = TEXTBOOK,
        variant: Variant | None = None,
        notes: Mapping[str, Json] | None = None,
    ) -> None:
        if level not in ("strict", "extended"):
            raise ValueError(f'the level is {level!r} (write "strict" or "extended")')
        if not isinstance(compatibility, Compatibility):
            raise TypeError(
                f"`compatibility` is {compatibility!r} (write Compatibility(...), or a simulator "
                "of snpjax.compatibility)"
            )
        if not isinstance(variant, Variant | None):
            raise TypeError(
                f"`variant` is {variant!r} (write AntiSpikes(), Exhaustive(), Astrocytes(...), "
                "SynapseRules(...), Channels(...), Requests(), SynapseDelays(...), "
                "DendriticDelays(...), ScheduledSynapses(...) or None)"
            )
        neurons, synapses = tuple(neurons), tuple(synapses)
        added = added_synapses(variant)
        if added:
            given = {tuple(_with_weight(synapse)[:2]) for synapse in synapses}
            synapses = [*synapses, *(pair for pair in added if pair not in given)]
        for neuron in neurons:
            if not isinstance(neuron, Neuron):
                raise TypeError(f"{neuron!r} is not a neuron (write Neuron(name, spikes, rules))")
        output = (output,) if isinstance(output, str) else output
        trains = {neuron: tuple(train) for neuron, train in (input or {}).items()}
        labelled = {x: parse_rules(rules, x) for x, rules in (rules_by_label or {}).items()}
        for attribute, value in {
            "neurons": neurons,
            "synapses": tuple(
                [x if type(x) is Synapse else Synapse._make(_with_weight(x)) for x in synapses]
            ),
            "input": MappingProxyType(trains),
            "output": tuple(dict.fromkeys(output)),
            "level": level,
            "signed": signed or isinstance(variant, AntiSpikes),
            "dictionary": tuple(dict.fromkeys((x, y) for x, y in dictionary)),
            "rules_by_label": MappingProxyType(labelled),
            "name": name,
            "compatibility": compatibility,
            "variant": variant,
            "notes": MappingProxyType(dict(notes or {})),
        }.items():
            object.__setattr__(self, attribute, value)
        errors = tuple(p for p in self.problems if p.severity == "error")
        if errors:
            raise InvalidSystem(errors)
        for problem in self.problems:
            warn(ModelWarning(str(problem)))

    def __reduce__(self):
        arguments = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("input", "rules_by_label", "notes"):  # a read-only view cannot be pickled
            arguments[name] = dict(arguments[name])
        return _rebuild, (arguments,)

    def __getitem__(self, name: str) -> Neuron:
        """A neuron by its name. **Raises:** `KeyError` with the nearest names."""
        if not isinstance(name, str) or name not in self.names:
            raise KeyError(unknown_neuron(name, self.names))
        return self.neurons[self.names[name]]

    __iter__ = None  # a system is no sequence: iterate over `neurons`

    def __hash__(self) -> int:
        return hash((self.neurons, self.synapses, self.output))

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What `check` found. A system that was built has warnings only."""
        return check(self)

    @cached_property
    def names(self) -> dict[str, int]:
        """Position of every neuron by name."""
        return {neuron.name: index for index, neuron in enumerate(self.neurons)}

    @cached_property
    def edges(self) -> "Edges":
        """The synapses by the positions of their neurons, with weights of 64 bits or none."""
        import numpy as np

        from snpjax_formats import Edges  # the model itself needs no arrays

        from .rule_table import as_int64

        count, num = len(self.synapses), len(self.neurons)
        sources, targets, weights = zip(*self.synapses, strict=True) if count else ((), (), ())
        position = self.names.__getitem__
        return Edges(
            np.fromiter(map(position, sources), np.int32, count),
            np.fromiter(map(position, targets), np.int32, count),
            None if weights.count(1) == count else as_int64(weights),
            num,
            num,
        )

    @cached_property
    def slots(self) -> "SlotTable":
        """The rules of a static system as lowering merges them."""
        from .rule_table import slots_of_neurons  # the model itself needs no arrays

        if isinstance(self.variant, SynapseRules):
            from ..lower.ruled_synapses import slots_of_synapses

            return slots_of_synapses(self)
        # Consumption below 0 means a family, or anti-spikes.
        faithful = isinstance(self.variant, AntiSpikes)
        return slots_of_neurons(self.neurons, faithful=faithful, compatibility=self.compatibility)

    @property
    def num_neurons(self) -> int:
        return len(self.neurons)

    @property
    def num_rules(self) -> int:
        if isinstance(self.variant, SynapseRules):
            return sum(len(rules) for _, rules in self.variant.rules)
        return len(self.rules)

    @property
    def num_synapses(self) -> int:
        return len(self.synapses)

    @property
    def num_outputs(self) -> int:
        return len(self.output)

    def settled(
        self, machine: "AnyMachine", state: "SpikingState", choice: "AbstractChoice"
    ) -> "Settled | None":
        """The static machine of a network that can no longer change, see `snpjax.machine.Settling`.

        **Arguments:**

        - `machine`, `state`, `choice`: those of the run.
        """
        if not self.is_growing:
            return None
        from ..lower.settled import settled

        return settled(self, machine, state, choice)

    def name_of(self, neuron: int) -> str:
        """The name of the neuron at a position."""
        return self.neurons[neuron].name

    def has(self, name: str) -> bool:
        """Whether a neuron has that name."""
        return name in self.names

    def position_of(self, name: str) -> int:
        """The position of a neuron."""
        return self.names[name]

    def rule_text(self, neuron: int, rule: int) -> str:
        """A rule of a neuron in the notation of papers.

        **Arguments:**

        - `neuron`: the position of the neuron.
        - `rule`: the index of the rule; with `SynapseRules`, the number of an alternative.
        """
        owner = self.neurons[neuron]
        if isinstance(self.variant, SynapseRules):
            return self.variant.text(owner.name, rule)
        return rule_text(owner.rules[rule], owner.label)  # pyright: ignore[reportArgumentType]

    def output_columns(self, name: str) -> int:
        """Where the emissions of an output neuron stand in `Solution.spike_trains`."""
        return self.output.index(name)

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """All rules of the neurons, numbered as the papers do: through the neurons in order."""
        return tuple(rule for n in self.neurons for rule in n.rules)  # pyright: ignore[reportReturnType]

    def consumption(self) -> "Int[np.ndarray, 'rules neurons']":
        """What each rule of each neuron of a static system consumes, rules counted within the
        neuron; 0 where there is none."""
        import numpy as np  # the model itself needs no arrays

        from .rule_table import as_int64

        most = max((len(neuron.rules) for neuron in self.neurons), default=0)
        table = np.zeros((max(most, 1), len(self.neurons)), np.int64)
        for index, neuron in enumerate(self.neurons):
            consumed = as_int64(r.consume for r in neuron.rules if isinstance(r, Rule))
            table[: len(consumed), index] = consumed
        return table

    @property
    def is_static(self) -> bool:
        """Whether it is a system of the definition whose network never changes: spiking and
        forgetting rules only, and no variant."""
        return self.variant is None and not self.changes_network

    @cached_property
    def changes_network(self) -> bool:
        """Whether rules create or delete neurons or synapses."""
        return bool(self.rules_by_label) or not all(
            isinstance(rule, Rule | RequestRule) for rule in self.rules
        )

    @cached_property
    def asked(self) -> frozenset[str]:
        """The neurons that others ask for spikes."""
        requests = (rule for rule in self.rules if isinstance(rule, RequestRule))
        return frozenset(query.neuron for rule in requests for query in rule.queries)

    @cached_property
    def is_growing(self) -> bool:
        """Whether neurons divide or bud."""
        return any(
            isinstance(rule, DivisionRule | BuddingRule)
            for rules in self.rules_of_labels.values()
            for rule in rules
        )

    @cached_property
    def rules_of_labels(self) -> dict[str, tuple[AnyRule, ...]]:
        """The rules of every label that has any, or that a neuron bears."""
        own = {neuron.label: neuron.rules for neuron in self.neurons}
        return {**own, **self.rules_by_label}  # pyright: ignore[reportReturnType]

    @cached_property
    def label_numbers(self) -> dict[str, int]:
        """A number for every label that a neuron may ever bear, or that something speaks of."""
        born = (
            label
            for rules in self.rules_of_labels.values()
            for rule in rules
            if isinstance(rule, DivisionRule | BuddingRule)
            for label in rule.born
        )
        pairs = (label for pair in self.dictionary for label in pair)
        spoken_of = (*self.rules_of_labels, *born, *pairs, *self.output, *self.input)
        return {label: number for number, label in enumerate(dict.fromkeys(spoken_of))}

    @cached_property
    def plastic_rules(self) -> "PlasticRules | None":
        """The plasticity rules, if there are any."""
        if not self.changes_network:
            return None
        from .plastic_rules import plastic_rules_of_neurons  # the model itself needs no arrays

        return plastic_rules_of_neurons(self)

    @cached_property
    def plastic_columns(self) -> "PlasticColumns | None":
        """The synapses that plasticity may create and delete, if there is any."""
        from ..lower.plastic_synapses import PlasticColumns  # the model itself needs no arrays

        return PlasticColumns.of(self, self.slots)

    def columns(self, *, faithful: bool = False) -> "HostProgram":
        """The system as lowering takes it, where no neuron divides or buds."""
        from ..lower.host_program import host_program_of  # the model itself needs no arrays

        return host_program_of(self, faithful=faithful)

    def lower(
        self,
        *,
        layout: "LayoutLike" = "auto",
        count_dtype: "np.dtype | type | None" = None,
        faithful: bool = False,
        capacity: "Capacity | None" = None,
        mesh: "Mesh | None" = None,
        numbered: bool = False,
        paths: int = 1,
    ) -> "Lowered[Solution, SolutionBatch]":
        """Lower this system to arrays, see `snpjax.lower`.

        **Arguments:**

        - `layout`: how synapses are stored; a system that divides or buds takes none.
        - `count_dtype`: int32 or int64 spike counts; by default the narrowest that is safe.
        - `faithful`: keep every forgetting rule as an alternative of its own.
        - `capacity`: how far a system that divides or buds may grow before it is lowered again.
        - `mesh`: devices over which the neurons are split.
        - `numbered`, `paths`: see `snpjax.machine.Model`.
        """
        from ..lower.lower import check_options, lowered  # the model itself needs no device

        faithful |= numbered  # a family has the number of its first member
        if mesh is not None:
            from ..lower.partition import lowered_parts  # few need it

            check_options(self, layout, capacity)
            return lowered_parts(self, mesh, layout, count_dtype, faithful, paths)
        return lowered(self, layout, count_dtype, faithful, capacity, paths)

    def enumerable(
        self,
        *,
        saturate: Mapping[str, int],
        clock: int,
        at_least: "np.dtype | None" = None,
        layout: "LayoutLike" = "auto",
        capacity: "Capacity | None" = None,
    ) -> "SearchedMachine":
        """Lower this system for `snpjax.explore`.

        **Arguments:**

        - `saturate`, `clock`: as in `snpjax.explore`.
        - `at_least`: the narrowest type to count in, see `snpjax.machine.Encoding`.
        - `layout`, `capacity`: as in `lower`.
        """
        from ..lower.enumerable import searched  # the model itself needs no device
        from ..lower.lower import check_options

        check_options(self, layout, capacity)
        return searched(self, layout, capacity, saturate, clock, at_least)

    def with_input(self, input: "Mapping[str, Sequence[int]] | AnyInput") -> "SpikingSystem":
        """The same system with other input trains, or with an environment that may send any.

        **Raises:** `InvalidSystem` for trains that the system cannot take.
        """
        from .environment import AnyInput, with_any_input

        if isinstance(input, AnyInput):
            if isinstance(self.variant, Exhaustive | SynapseRules | Requests):
                raise ValueError(
                    "Any input comes from a neuron with rules that are used once a step, which "
                    f"{type(self.variant).__name__} does not have. Give trains."
                )
            if isinstance(self.variant, DendriticDelays):
                raise ValueError(
                    "Any input comes by a synapse, which ends at a dendrite, and input gets to the "
                    "soma at once. Give trains, or write the delays as SynapseDelays."
                )
            return with_any_input(self, input)
        return self.replace(input=input)

    def with_compatibility(self, compatibility: Compatibility) -> "SpikingSystem":
        """The same system, run as another simulator does.

        **Raises:** `InvalidSystem` for rules that the options cannot take.
        """
        return self.replace(compatibility=compatibility)

    def replace(self, **changes: Any) -> "SpikingSystem":
        """The same system but for some arguments of its construction.

        **Raises:** `InvalidSystem` as construction does; its warnings were said before.
        """
        _, (arguments,) = self.__reduce__()
        return _rebuild({**arguments, **changes})

    def __repr__(self) -> str:
        kind = "" if self.is_static else ", dynamic"
        if self.variant is not None:
            kind = f", {type(self.variant).__name__}"
        compatible = "" if self.compatibility.is_textbook else f"; {self.compatibility}"
        return (
            f"SpikingSystem({self.name + ': ' if self.name else ''}"
            f"{plural(len(self.neurons), 'neuron')}, {plural(self.num_rules, 'rule')}, "
            f"{plural(len(self.synapses), 'synapse')}{kind}{compatible})"
        )


def is_growing(system: object) -> TypeGuard[SpikingSystem]:
    """Whether neurons divide or bud, so that arrays have slots, and names are labels."""
    return isinstance(system, SpikingSystem) and system.is_growing


def dynamic_message(system: "AnySystem", what: str) -> str:
    """Why a system that is not static is refused by what needs a network that does not change."""
    if system.variant is not None:
        kind = type(system.variant).__name__
        return f"{what} needs steps of the definition, but the system has the variant {kind}."
    if not isinstance(system, SpikingSystem):
        return f"{what} needs a network that does not change, but the system has plasticity rules."
    rules = [(label, r) for label, own in system.rules_of_labels.items() for r in own]
    changing = [(label, r) for label, r in rules if not isinstance(r, Rule)] or rules
    shown = ""
    if changing:
        label, rule = changing[0]
        shown = f", but neuron {label!r} has the rule {rule_text(rule, label)}"
    return f"{what} needs a network that does not change{shown}."
