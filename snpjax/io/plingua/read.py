"""P-Lingua 4 files of spiking neural P systems: `@model<spiking_psystems>`.

The work is done in steps, a module each: the frame (`modules`), the statements (`literals`, and
`syntax` with the grammar in `grammar.lark`), running them (`expand`), and here the system, whose
problems are given their places. Large regular files take another way from the statements on:
whole families as arrays (`families`), and populations of them (`populations`,
`projections`).

??? cite "Source"
    Garcia-Quismondo, Gutierrez-Escudero, Perez-Hurtado, Perez-Jimenez, Riscos-Nunez 2009, "An
    overview of P-Lingua 2.0", and the spiking model of pLinguaCore 4. Differs from it in: 1. p > c
    is read (level *extended*); 2. a label may be relabelled by budding; 3. sequential and
    asynchronous mode, anti-spikes and astrocytes are refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from ...spiking.model.population import AnySystem, PopulationSystem
from ...spiking.model.rule import AnyRule, BuddingRule, DivisionRule
from ...spiking.model.system import Neuron, SpikingSystem
from ...spiking.model.validity import (
    Level,
    Place,
    possible_labels,
    unknown_neuron,
)
from ..building import (
    LARGE,
    UnknownNames,
    located_problems,
    read_reported,
    try_to_build,
)
from ..source import Report, Source
from . import tree
from .expand import RuleNode, SystemDraft, expand, expand_families
from .families import Irregular
from .includes import join_includes
from .literals import arc_at, rule_at
from .modules import Frame, split_modules
from .names import with_names
from .parameters import Parameters, check_use, checked
from .populations import system_of
from .ranges import MAX_LISTED


#: With more instances of statements under ranges, populations are made instead of single neurons.
LISTED_INSTANCES = 100_000

_GROWTH = (DivisionRule, BuddingRule)

_WholeRule: TypeAlias = tree.SpikingRule | tree.GrowthRule


def read_plingua(
    source: Source,
    level: Level,
    *,
    families: bool | None = None,
    parameters: Parameters | None = None,
    allow_includes_outside: bool = False,
) -> AnySystem:
    """The system that a P-Lingua file describes.

    A file whose ranges make more than `LISTED_INSTANCES` instances gives a system of populations,
    if everything in it is a static family or a single statement and nothing in it is wrong or
    doubtful; it never is one at level *strict*, which populations do not have. Output hints are
    lost there.

    **Arguments:**

    - `families`: whether to make populations, whatever the number of instances.
    - `parameters`: values of parameters of `main`, and instead of those that are defined before the
      modules.
    - `allow_includes_outside`: whether the file may include files outside its folder.
    """
    source, _ = join_includes(source, may_be_outside=allow_includes_outside)
    given = {} if parameters is None else checked(parameters)

    def read(report: Report) -> AnySystem | None:
        frame, system = split_modules(report), None
        frame.parse()
        check_use(report, frame, given)
        if not report.has_errors:
            frame.tell_unknown_calls(report)
        if report.has_errors:
            if frame.is_plain_without(report):  # there may be families of a million neurons
                draft = expand(report, frame, given)
                draft.are_labels_known &= not frame.may_lack_neurons()
                _Assembly(report, draft).build(level)
            return None
        if families is not False and level == "extended":
            least = 0 if families else LISTED_INSTANCES
            system = _read_families(report, frame, given, least)
        if system is None:
            system = _Assembly(report, expand(report, frame, given)).build(level)
        for module in frame.modules.values():
            module.check_if_uncalled()
        return None if system is None else with_names(report, system)

    return read_reported(source, read)


def _read_families(
    report: Report, frame: Frame, parameters: Parameters, least: int
) -> PopulationSystem | None:
    try:
        families, rest = expand_families(report, frame, parameters)
        if families.num_instances < least or (rest.train and rest.input is None):
            return None
        return system_of(families, None if rest.input is None else (rest.input[0], _train(rest)))
    except Irregular:
        return None


class _Assembly:
    """A system from a draft: neurons named by their labels, places in the file."""

    def __init__(self, report: Report, draft: SystemDraft):
        self.report = report
        self.draft = draft
        self.names_of: dict[str, list[str]] = {}  # by label
        self.named: list[tuple[str, str]] = []  # name and label, in order
        self.arcs: list[tree.Arc | int] = []  # of every synapse of the system
        self.labels: Mapping[str, object] | None = None  # there may be, where neurons divide or bud
        self._unknown, self._unknown_labels = UnknownNames(), UnknownNames("label")
        self._name_neurons()

    def build(self, level: Level) -> SpikingSystem | None:
        contents = self._contents()
        rules = self._rules()
        num_rules = sum(map(len, rules.values()))
        is_large = len(self.named) + len(self.draft.sources) + num_rules > LARGE
        if is_large and self.report.has_errors:
            return None
        neurons = [
            Neuron(name, contents.get(label, 0), rules.get(label, ()), label)
            for name, label in self.named
        ]
        if any(isinstance(rule, _GROWTH) for its in rules.values() for rule in its):
            self.labels = possible_labels(neurons, rules)
        synapses, train, output = self._synapses(), self._input(), self._output()
        if is_large and self.report.has_errors:
            return None
        system, problems = try_to_build(
            lambda: SpikingSystem(
                neurons,
                synapses,
                input=train,
                output=output,
                level=level,
                dictionary=self.draft.dictionary,
                rules_by_label={x: r for x, r in rules.items() if x not in self.names_of},
                notes={"output": self.draft.hints} if self.draft.hints else None,
            )
        )
        for problem, offset, first in located_problems(problems, self._offset, self._has_no_guard):
            tell = self.report.error if problem.severity == "error" else self.report.warning
            tell(offset, problem.message, first, kind=problem.code)
        return system

    def _name_neurons(self) -> None:
        first_offsets: dict[str, int] = {}
        for label, offset in self.draft.neurons:
            names = self.names_of.setdefault(label, [])
            name = f"{label}#{len(names) + 1}" if names else label
            names.append(name)
            self.named.append((name, label))
            first = first_offsets.setdefault(label, offset)
            if name != label and not self.report.tells_no_more_warnings:
                message = (
                    f"the label {label!r} is given again, first at {self.report.at(first)}: this "
                    f"neuron is named {name!r} (remove it unless two neurons are meant)"
                )
                self.report.warning(offset, message, kind="repeated label")

    def _names(self, label: str, offset: int, here: str) -> list[str]:
        """The neurons with a label; none is reported, once for every place in the file."""
        names = self.names_of.get(label)
        if names is None:
            self._tell_unknown(self._unknown, label, offset, here, lambda: self._nearest(label))
        return names or []

    def _called(self, label: str, offset: int, here: str) -> list[str]:
        """What an input or output of a label names: the label where neurons divide or bud."""
        if self.labels is None:
            return self._names(label, offset, here)
        if label in self.labels:
            return [label]
        nearest = partial(unknown_neuron, label, self.labels, "label")
        self._tell_unknown(self._unknown_labels, label, offset, here, nearest)
        return []

    def _tell_unknown(
        self, unknown: UnknownNames, label: str, offset: int, here: str, nearest: Callable[[], str]
    ) -> None:
        if self.draft.are_labels_known and not self.report.has(offset, "unknown_neuron"):
            message = unknown.message(label, nearest)
            self.report.error(offset, f"{here}: {message}", kind="unknown_neuron")

    def _tell_unborne(self, label: str, offset: int) -> None:
        """Warn of a rule that no neuron ever has, as P-Lingua accepts them."""
        if self.draft.are_labels_known and not self.report.tells_no_more_warnings:
            message = self._unknown.message(label, lambda: self._nearest(label))
            message = f"rule: {message}; the rule is never used (remove it, or correct the label)"
            self.report.warning(offset, message, kind="unknown_neuron")

    def _nearest(self, label: str) -> str:
        name, brace, _ = label.partition("{")
        family = [known for known in self.names_of if known.startswith(name + "{")] if brace else ()
        if family:
            is_one = len(family) == 1
            neurons = f"is {family[0]}" if is_one else f"are {family[0]} to {family[-1]}"
            return f"there is no neuron {label!r} (the neurons of that name {neurons})"
        return unknown_neuron(label, dict.fromkeys(self.names_of, 0))

    def _contents(self) -> dict[str, int]:
        contents = {}
        for label, (spikes, offset) in self.draft.contents.items():
            self._names(label, offset, "contents")
            contents[label] = spikes
        return contents

    def _rules(self) -> dict[str, list[AnyRule]]:
        """Rules by label, without those of labels that nothing creates."""
        rules = self.draft.rules
        created = {label for its_rules in rules.values() for label in _children(its_rules)}
        for label, nodes in self.draft.rule_nodes.items():
            if label not in created and label not in self.names_of:
                for node in nodes:
                    self._tell_unborne(label, self._whole(node).label.offset)
        return {x: its for x, its in rules.items() if x in created or x in self.names_of}

    def _synapses(self) -> list[tuple[str, str]]:
        draft, names_of, synapses = self.draft, self.names_of, []
        is_plain = len(names_of) == len(self.named)
        for source, target, arc in zip(draft.sources, draft.targets, draft.arcs, strict=True):
            if is_plain and source in names_of and target in names_of:
                synapses.append((source, target))
                self.arcs.append(arc)
                continue
            here = f"synapse ({source}, {target})"
            if isinstance(arc, int):
                arc = arc_at(self.report.source.text, arc)
            sources = self._names(source, arc.source.offset, here)
            targets = self._names(target, arc.target.offset, here)
            if len(synapses) + len(sources) * len(targets) > MAX_LISTED:
                message = f"the repeated labels make more than {MAX_LISTED:,} synapses"
                self.report.error(arc.offset, f"{message} (name the neurons apart)")
                return []
            synapses += [(x, y) for x in sources for y in targets]
            self.arcs += [arc] * (len(sources) * len(targets))
        return synapses

    def _output(self) -> list[str]:
        outputs = self.draft.outputs.items()
        return [name for label, at in outputs for name in self._called(label, at, "output")]

    def _input(self) -> dict[str, tuple[int, ...]]:
        draft = self.draft
        if draft.input is None:
            if draft.train:
                message = "there are input spikes but no input neuron (write @min = ...)"
                self.report.error(draft.train_offset, message)
            return {}
        train = _train(draft)
        return {name: train for name in self._called(*draft.input, "input")}

    # Places

    def _label(self, place: Place) -> str:
        return place.index if isinstance(place.index, str) else self.named[place.index][1]

    def _has_no_guard(self, place: Place) -> bool:
        return (self._label(place), place.rule) in self.draft.without_guard

    def _node(self, place: Place) -> "_WholeRule | None":
        if place.kind != "rule" or place.rule is None:
            return None
        return self._whole(self.draft.rule_nodes[self._label(place)][place.rule])

    def _whole(self, node: RuleNode) -> "_WholeRule":
        return rule_at(self.report.source.text, node) if isinstance(node, int) else node

    def _offset(self, place: Place, code: str) -> int:
        node = self._node(place)
        if node is not None:
            return _rule_offset(node, code)
        if isinstance(place.index, int):
            if place.kind == "neuron":
                return self.draft.neurons[place.index][1]
            arc = self.arcs[place.index]
            return arc if isinstance(arc, int) else arc.offset
        if place.kind == "output":
            return next(
                offset
                for label, offset in self.draft.outputs.items()
                if place.index in (label, *self.names_of.get(label, ()))
            )
        return 0 if self.draft.input is None else self.draft.input[1]


def _train(draft: SystemDraft) -> tuple[int, ...]:
    steps = [step for step, spikes in draft.train.items() if spikes]
    return tuple(draft.train.get(step, 0) for step in range(1, max(steps, default=0) + 1))


def _children(rules: Iterable[AnyRule]) -> Iterator[str]:
    for rule in rules:
        if isinstance(rule, DivisionRule):
            yield from (rule.left, rule.right)
        if isinstance(rule, BuddingRule):
            yield rule.bud
            if rule.parent is not None:
                yield rule.parent


def _rule_offset(node: _WholeRule, code: str) -> int:
    """The part of a rule that a problem is about, or the rule."""
    if isinstance(node, tree.GrowthRule) and code == "budding_parent":
        return node.first.offset
    if isinstance(node, tree.SpikingRule):
        if code == "produce_exceeds_consume" and node.produce is not None:
            return node.produce.offset
        if code == "forgetting_delay" and node.delay is not None:
            return node.delay.offset
        if code == "bad_number":
            return node.consume.offset
    return node.offset
