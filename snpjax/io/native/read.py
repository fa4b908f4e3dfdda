"""The native model format of snpjax: JSON that can hold every spiking neural P system.

`{"schema": "snpjax/1", "name", "level", "signed", "neurons": [{"id", "spikes", "label", "rules"}],
"synapses": [[from, to, weight]], "input": {id: train}, "output": [id], "rules_by_label": {label:
rules}, "dictionary": [[label, label]], "compatibility": {option: value}, "variant": {"kind": kind},
"notes": {}}`. A rule is a text (`"a^2/a -> a; 1"`, `"[a^2]_i -> []_j || []_k"`, `"[a]_i -> []_i /
[]_j"`, `"a/a -> +2(i, {j, k})"`) or an object: `{guard, consume, produce, delay, sign}`, `{guard,
divide: [j, k]}`, `{guard, bud: [i, j]}`, `{guard, consume, plasticity: {alpha, k, targets}}`. Where
neurons divide or bud, input and output name labels, also such as no neuron bears yet. Only `schema`
and `neurons` are needed; a weight is 1 and a guard exactly the spikes consumed unless given; of
variants see `variants.py`. Large systems have `populations` and `projections` instead of neurons
(see `populations.py`).
"""

from typing import Any, TypeGuard

from ...spiking.model.population import PopulationSystem
from ...spiking.model.system import Neuron, SpikingSystem
from ...spiking.model.validity import Level, Place, Problem, possible_labels
from ...spiking.model.variants import AntiSpikes, Variant
from ..building import KnownNames, require_system, tell_problems, try_to_build
from ..json_checks import Findings, abbreviated
from ..json_text import JsonPath, Key, decode
from ..source import Report, Source
from .header import read_compatibility, read_level, read_name, read_signed
from .populations import PopulationReader
from .rules import ReadRule, RuleReader
from .texts import SCHEMA
from .variants import VariantReader


_KEYS = (
    "schema name level signed neurons synapses input output rules_by_label dictionary "
    "compatibility variant notes"
).split()
#: What a system of anti-spikes may have, and no other.
_SIGNED = frozenset({"anti_spikes", "bad_number", "negative_weight"})
_ACCEPTED = f'"schema": "{SCHEMA}"'


def read_native(source: Source, level: Level) -> SpikingSystem | PopulationSystem:
    """The system that a native file describes, at the stricter of `level` and the level in the
    file; one of populations where it has these.

    **Raises:** `ReadError` with all errors of the file, of its form as well as of the system.
    """
    report = Report(source)
    value = decode(report)
    system = None
    if not report.has_errors:
        findings = Findings()
        if _has_schema(value, findings):
            if "populations" in value:
                system = PopulationReader(findings).read(value, level)
            else:
                system = _Reader(findings).read(value, level)
        findings.tell(report)
    report.finish()
    return require_system(system)


class _Reader:
    """A system from a decoded file, and the path in the file of everything in the system."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self.rules = RuleReader(findings)
        self.neurons: list[Neuron] = []
        self.neuron_paths: list[JsonPath] = []
        self.rules_of: dict[int | str, list[ReadRule]] = {}
        self.synapse_paths: list[JsonPath] = []
        self.output_paths: dict[str, JsonPath] = {}
        self.names: dict[str, int] = {}
        self.are_names_known = True
        self.known: KnownNames[JsonPath] = KnownNames(self.names, findings.error)
        self.called = self.known  # what inputs and outputs may name
        self.variant = VariantReader(findings, self.rules, self._is_known)

    def read(self, value: object, level: Level) -> SpikingSystem | None:
        top = self.findings.mapping(value, (), "the model", _KEYS)
        if top is None or not self.findings.required(top, "neurons", (), "the model"):
            return None
        name = read_name(self.findings, top)
        notes: Any = self.findings.mapping(top.get("notes", {}), ("notes",), '"notes"') or {}
        signed = read_signed(self.findings, top)
        level = read_level(self.findings, top, level)
        by_label = self._rules_by_label(top.get("rules_by_label", {}))
        self.are_names_known = self._read_neurons(top["neurons"], by_label)
        self.names.update({neuron.name: index for index, neuron in enumerate(self.neurons)})
        labelled = {label: [r.rule for r in its] for label, its in by_label.items()}
        if self.rules.has_growth:
            labels = possible_labels(self.neurons, labelled)
            self.called = KnownNames(labels, self.findings.error, "label")
        synapses = self._synapses(top.get("synapses", []))
        train, output = self._input(top.get("input", {})), self._output(top.get("output", []))
        dictionary = self._dictionary(top.get("dictionary", []))
        compatibility = read_compatibility(self.findings, top)
        variant = self.variant.read(top.get("variant"))
        self.synapse_paths += self.variant.added_synapses({(s, t) for s, t, _ in synapses})

        def tried(variant: Variant | None) -> tuple[SpikingSystem | None, tuple[Problem, ...]]:
            return try_to_build(
                lambda: SpikingSystem(
                    self.neurons,
                    synapses,
                    input=train,
                    output=output,
                    level=level,
                    signed=signed,
                    dictionary=dictionary,
                    rules_by_label=labelled,
                    name=name,
                    compatibility=compatibility,
                    variant=variant,
                    notes=notes,
                )
            )

        system, problems = tried(variant)
        is_certain = self.are_names_known and self.rules.are_labels_known
        unsure = set() if is_certain else {"unknown_neuron"}
        told = [p for p in problems if p.code not in unsure]
        if self.variant.may_be_signed:  # what that allows is told only if it is wrong in any case
            certain = {(p.code, p.place) for p in tried(AntiSpikes())[1]}
            told = [p for p in told if p.code not in _SIGNED or (p.code, p.place) in certain]
        tell_problems(self.findings, told, self._path, self._has_no_guard)
        return system

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

    def _is_known(self, name: str, path: JsonPath, here: str) -> bool:
        """Whether a neuron has this name; a name that none has is reported where it stands
        first.
        """
        return name in self.names or (self.are_names_known and self.known.has(name, path, here))

    def _is_called(self, name: str, path: JsonPath, here: str) -> bool:
        """The same of what inputs and outputs name."""
        is_certain = self.are_names_known and self.rules.are_labels_known
        return name in self.called.names or (is_certain and self.called.has(name, path, here))

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

    def _synapse(self, item: object, path: JsonPath) -> tuple[str, str, int] | None:
        if not isinstance(item, list) or not 2 <= len(item) <= 3:
            found = f"a list of {len(item)}" if isinstance(item, list) else abbreviated(item)
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
            if self._is_called(name, ("input", Key(name)), "input"):
                result[name] = [number or 0 for number in numbers]
        return result

    def _output(self, value: object) -> list[str]:
        items = self.findings.sequence(value, ("output",), '"output"') or []
        names = []
        for index, item in enumerate(items):
            name = self.findings.text(item, ("output", index), "an output neuron")
            if name is not None and self._is_called(name, ("output", index), "output"):
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

    def _has_no_guard(self, place: Place) -> bool:
        rule = self._rule(place)
        return rule is not None and not rule.is_whole

    def _rule(self, place: Place) -> ReadRule | None:
        if place.kind != "rule" or place.rule is None:
            return self.variant.rule(place)
        return self.rules_of[place.index][place.rule]

    def _path(self, place: Place, code: str) -> JsonPath:
        rule = self._rule(place)
        if rule is not None:
            return rule.path_of(code)
        if place.kind == "variant":
            return self.variant.path(place, code)
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


def _has_schema(value: object, findings: Findings) -> TypeGuard[dict[str, object]]:
    if not isinstance(value, dict):
        findings.error((), f"this is {abbreviated(value)} (a model is an object with {_ACCEPTED})")
        return False
    schema = value.get("schema")
    if schema == SCHEMA:
        return True
    if "schema" in value:
        findings.error(("schema",), f"the schema is {abbreviated(schema)} (accepted: {_ACCEPTED})")
        return False
    keys = ", ".join(abbreviated(key) for key in list(value)[:5]) or "none"
    findings.error((), f'there is no "schema", only the keys {keys} (accepted: {_ACCEPTED})')
    return False
