"""The native model format of snpjax: JSON that can hold every spiking neural P system.

`{"schema": "snpjax/1", "name", "level", "signed", "neurons": [{"id", "spikes", "label", "rules"}],
"synapses": [[from, to, weight]], "input": {id: train}, "output": [id], "rules_by_label": {label:
rules}, "dictionary": [[label, label]], "compatibility": {option: value}, "notes": {}}`. A rule is
a text (`"a^2/a -> a; 1"`) or an object:
`{guard, consume, produce, delay}`, `{guard, divide: [j, k]}`, `{guard, bud: [i, j]}`, `{guard,
consume, plasticity: {alpha, k, targets}}`. Only `schema` and `neurons` are needed; a weight is 1
and a guard exactly the spikes consumed unless given.
"""

import json
from typing import Any

from ...spiking.compatibility import CHOICES, TEXTBOOK, Compatibility
from ...spiking.system import Neuron, SpikingSystem
from ...spiking.validity import Level, Place, Problem
from ..building import ABOUT_GUARD, KnownNames, built, try_to_build
from ..json_checks import Findings, shown
from ..json_text import Key, Path, decode
from ..source import Report, Source
from .rules import ReadRule, RuleReader
from .write import SCHEMA


_KEYS = (
    "schema name level signed neurons synapses input output rules_by_label dictionary "
    "compatibility notes"
).split()
_OPTIONS = (*CHOICES, "guard_modulo")
_ACCEPTED = f'"schema": "{SCHEMA}"'


def read_native(source: Source, level: Level) -> SpikingSystem:
    """The system that a native file describes, at the stricter of `level` and the level in the
    file.

    **Raises:** `ReadError` with all errors of the file, of its form as well as of the system.
    """
    report = Report(source)
    value = decode(report)
    system = None
    if not report.has_errors:
        findings = Findings()
        system = _Reader(findings).read(value, level)
        findings.tell(report)
    report.finish()
    return built(system)


class _Reader:
    """A system from a decoded file, and the path in the file of everything in the system."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self.rules = RuleReader(findings)
        self.neurons: list[Neuron] = []
        self.neuron_paths: list[Path] = []
        self.rules_of: dict[int | str, list[ReadRule]] = {}
        self.synapse_paths: list[Path] = []
        self.output_paths: dict[str, Path] = {}
        self.names: dict[str, int] = {}
        self.are_names_known = True
        self.known: KnownNames[Path] = KnownNames(self.names, findings.error)

    def read(self, value: object, level: Level) -> SpikingSystem | None:
        if not _has_schema(self.findings, value):
            return None
        top = self.findings.mapping(value, (), "the model", _KEYS)
        if top is None or not self.findings.required(top, "neurons", (), "the model"):
            return None
        name = self.findings.text(top.get("name", ""), ("name",), "the name")
        notes: Any = self.findings.mapping(top.get("notes", {}), ("notes",), '"notes"') or {}
        signed = self.findings.truth(top.get("signed", False), ("signed",), '"signed"')
        level = self._level(top.get("level", "extended"), level)
        by_label = self._rules_by_label(top.get("rules_by_label", {}))
        self.are_names_known = self._read_neurons(top["neurons"], by_label)
        self.names.update({neuron.name: index for index, neuron in enumerate(self.neurons)})
        synapses = self._synapses(top.get("synapses", []))
        train, output = self._input(top.get("input", {})), self._output(top.get("output", []))
        dictionary = self._dictionary(top.get("dictionary", []))
        compatibility = self._compatibility(top.get("compatibility", {}))
        system, problems = try_to_build(
            lambda: SpikingSystem(
                self.neurons,
                synapses,
                input=train,
                output=output,
                level=level,
                signed=bool(signed),
                dictionary=dictionary,
                rules_by_label={x: [r.rule for r in its] for x, its in by_label.items()},
                name=name or "",
                compatibility=compatibility,
                notes=notes,
            )
        )
        for problem in problems:
            if self.are_names_known or problem.code != "unknown_neuron":
                self._note(problem)
        return system

    def _level(self, value: object, level: Level) -> Level:
        if value not in ("strict", "extended"):
            message = f'the level is {shown(value)} (write "strict" or "extended")'
            self.findings.error(("level",), message)
        return "strict" if "strict" in (value, level) else "extended"

    def _compatibility(self, value: object) -> Compatibility:
        path = ("compatibility",)
        options: dict[str, Any] = {}
        entries = self.findings.mapping(value, path, '"compatibility"', _OPTIONS) or {}
        for name, option in entries.items():
            where, what = (*path, name), f"the option {shown(name)}"
            if name == "guard_modulo":
                number = self.findings.integer(option, where, what)
                if number is not None and number < 1:
                    self.findings.error(where, f"{what} is {number} (write an integer from 1)")
                elif number is not None:
                    options[name] = number
            elif name in CHOICES:
                if any(type(option) is type(x) and option == x for x in CHOICES[name]):
                    options[name] = option
                else:
                    listed = " or ".join(json.dumps(x) for x in CHOICES[name])
                    self.findings.error(where, f"{what} is {shown(option)} (write {listed})")
        if len(options) < len(entries):
            return TEXTBOOK
        try:
            return Compatibility(**options)
        except ValueError as error:  # a combination without a meaning
            self.findings.error(path, str(error))
            return TEXTBOOK

    def _rules_by_label(self, value: object) -> dict[str, list[ReadRule]]:
        path = ("rules_by_label",)
        entries = self.findings.mapping(value, path, '"rules_by_label"') or {}
        return {
            label: self.rules.read_all(rules, (*path, label), label)
            for label, rules in entries.items()
        }

    def _read_neurons(self, value: object, by_label: dict[str, list[ReadRule]]) -> bool:
        """Read the neurons, and move to them the rules of their labels. False: names may be
        missing.
        """
        items = self.findings.sequence(value, ("neurons",), '"neurons"')
        given: set[str] = set()
        for index, item in enumerate(items or ()):
            path = ("neurons", index)
            keys = ("id", "spikes", "label", "rules")
            entries = self.findings.mapping(item, path, "the neuron", keys)
            if entries is None or not self.findings.required(entries, "id", path, "the neuron"):
                continue
            name = self.findings.text(entries["id"], (*path, "id"), "the id of a neuron")
            spikes = self.findings.integer(
                entries.get("spikes", 0), (*path, "spikes"), "the number of spikes"
            )
            label = name
            if "label" in entries:
                label = self.findings.text(entries["label"], (*path, "label"), "the label")
            if name is None or label is None:
                continue
            rules = self.rules.read_all(entries.get("rules", []), (*path, "rules"), label)
            if not rules and label in by_label:
                rules = by_label[label]
                given.add(label)
            self.rules_of[len(self.neurons)] = rules
            self.neuron_paths.append(path)
            self.neurons.append(Neuron(name, spikes or 0, [r.rule for r in rules], label))
        for label in given:
            del by_label[label]
        self.rules_of.update(by_label)
        return items is not None and len(self.neurons) == len(items)

    def _is_known(self, name: str, path: Path, here: str) -> bool:
        """Whether a neuron has this name; a name that none has is reported where it stands
        first.
        """
        return name in self.names or (self.are_names_known and self.known.has(name, path, here))

    def _synapses(self, value: object) -> list[tuple[str, str, int]]:
        items = self.findings.sequence(value, ("synapses",), '"synapses"')
        synapses: list[tuple[str, str, int]] = []
        for index, item in enumerate(items or ()):
            path = ("synapses", index)
            synapse = self._synapse(item, path)
            if synapse is None:
                continue
            source, target, _ = synapse
            if source not in self.names or target not in self.names:
                here = f"synapse ({source}, {target})"
                self._is_known(source, (*path, 0), here)
                self._is_known(target, (*path, 1), here)
                continue
            synapses.append(synapse)
            self.synapse_paths.append(path)
        return synapses

    def _synapse(self, item: object, path: Path) -> tuple[str, str, int] | None:
        if not isinstance(item, list) or not 2 <= len(item) <= 3:
            found = f"a list of {len(item)}" if isinstance(item, list) else shown(item)
            self.findings.error(path, f"a synapse is {found} (write [from, to, weight])")
            return None
        source, target, weight = item if len(item) == 3 else (*item, 1)
        if type(source) is str and type(target) is str and type(weight) is int:
            return source, target, weight
        self.findings.text(source, (*path, 0), "the source of a synapse")
        self.findings.text(target, (*path, 1), "the target of a synapse")
        self.findings.integer(weight, (*path, 2), "the weight of a synapse")
        return None

    def _input(self, value: object) -> dict[str, list[int]]:
        trains = self.findings.mapping(value, ("input",), '"input"') or {}
        result = {}
        for name, train in trains.items():
            path = ("input", name)
            items = self.findings.sequence(train, path, "an input train") or []
            numbers = [
                self.findings.integer(item, (*path, i), "a number of input spikes")
                for i, item in enumerate(items)
            ]
            if self._is_known(name, ("input", Key(name)), "input"):
                result[name] = [number or 0 for number in numbers]
        return result

    def _output(self, value: object) -> list[str]:
        items = self.findings.sequence(value, ("output",), '"output"') or []
        names = []
        for index, item in enumerate(items):
            name = self.findings.text(item, ("output", index), "an output neuron")
            if name is not None and self._is_known(name, ("output", index), "output"):
                names.append(name)
                self.output_paths.setdefault(name, ("output", index))
        return names

    def _dictionary(self, value: object) -> list[tuple[str, str]]:
        items = self.findings.sequence(value, ("dictionary",), '"dictionary"') or []
        pairs = []
        for index, item in enumerate(items):
            path = ("dictionary", index)
            labels = self.findings.texts(item, path, "a pair of labels")
            if labels is not None and len(labels) != 2:
                message = f"a pair of labels has {len(labels)} items (write two labels)"
                self.findings.error(path, message)
            elif labels is not None:
                pairs.append((labels[0], labels[1]))
        return pairs

    # Places

    def _note(self, problem: Problem) -> None:
        if problem.code in ABOUT_GUARD and any(
            rule is not None and not rule.is_whole
            for rule in (self._rule(problem.place), self._rule(problem.first))
        ):
            return
        path = self._path(problem.place, problem.code)
        first = None if problem.first is None else self._path(problem.first, problem.code)
        note = self.findings.error if problem.severity == "error" else self.findings.warning
        note(path, problem.message, first)

    def _rule(self, place: Place | None) -> ReadRule | None:
        if place is None or place.kind != "rule" or place.rule is None:
            return None
        return self.rules_of[place.index][place.rule]

    def _path(self, place: Place, code: str) -> Path:
        rule = self._rule(place)
        if rule is not None:
            return rule.path_of(code)
        if place.kind == "input":
            return ("input", Key(str(place.index)))
        if place.kind == "output":
            return self.output_paths[str(place.index)]
        if isinstance(place.index, str):
            return ("rules_by_label", place.index)
        if place.kind == "neuron":
            step = {"bad_number": "spikes", "duplicate_neuron": "id"}.get(code)
            path = self.neuron_paths[place.index]
            return path if step is None else (*path, step)
        path = self.synapse_paths[place.index]
        step = {"synapse_source": 0, "synapse_target": 1}.get(place.kind)
        return path if step is None else (*path, step)


def _has_schema(findings: Findings, value: object) -> bool:
    if not isinstance(value, dict):
        findings.error((), f"this is {shown(value)} (a model is an object with {_ACCEPTED})")
        return False
    schema = value.get("schema")
    if schema == SCHEMA:
        return True
    if "schema" in value:
        findings.error(("schema",), f"the schema is {shown(schema)} (accepted: {_ACCEPTED})")
        return False
    keys = ", ".join(shown(key) for key in list(value)[:5]) or "none"
    findings.error((), f'there is no "schema", only the keys {keys} (accepted: {_ACCEPTED})')
    return False
