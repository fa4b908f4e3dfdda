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

from ...drawing.coordinates import is_coordinate
from ...spiking.model.population import AnySystem
from ...spiking.model.system import Neuron, SpikingSystem
from ...spiking.model.validity import Level, Place, Problem, possible_labels
from ...spiking.model.variants import AntiSpikes, Variant
from ..building import KnownNames, read_reported, tell_problems, try_to_build
from ..json_checks import Entries, Findings, abbreviated, out_of_range, read_values
from ..json_text import JsonPath, Key
from ..source import Source
from .header import read_header
from .populations import PopulationReader
from .rules import ReadRule, RuleReader
from .texts import SCHEMA
from .variants import VariantReader


_KEYS = (
    "schema name level signed neurons synapses input output rules_by_label dictionary "
    "compatibility variant notes"
).split()
_OF_NEURON = ("id", "spikes", "label", "rules")
#: What a system of anti-spikes may have, and no other.
_SIGNED = frozenset({"anti_spikes", "bad_number", "negative_weight"})
_ACCEPTED = f'"schema": "{SCHEMA}"'


def read_native(source: Source, level: Level) -> AnySystem:
    """The system that a native file describes, at the stricter of `level` and the level in the
    file; one of populations where it has these.
    """

    def read(findings: Findings, value: object) -> AnySystem | None:
        if not _has_schema(value, findings):
            return None
        reader = PopulationReader if "populations" in value else _Reader
        return reader(findings).read(value, level)

    return read_reported(source, lambda report: read_values(report, read))


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
        self.known: KnownNames[JsonPath] = KnownNames(self.names, findings.error)
        self.called = self.known  # what inputs and outputs may name
        self.variant = VariantReader(findings, self.rules, self.known.has)

    def read(self, value: object, level: Level) -> SpikingSystem | None:
        top = self.findings.entries(value, (), "the model", _KEYS, required=("neurons",))
        if top is None:
            return None
        header = read_header(top, level)
        values = top.mapping("notes").items()
        notes: Any = {name: self.findings.note(value, ("notes", name)) for name, value in values}
        self._check_positions(notes.get("positions"))
        by_label = {
            label: self.rules.read_all(rules, ("rules_by_label", label), label)
            for label, rules in top.mapping("rules_by_label").items()
        }
        self.known.are_complete = self._read_neurons(top, by_label)
        self.names.update({neuron.name: index for index, neuron in enumerate(self.neurons)})
        labelled = {label: [r.rule for r in its] for label, its in by_label.items()}
        if self.rules.has_growth:
            labels = possible_labels(self.neurons, labelled)
            is_certain = self.known.are_complete and self.rules.are_labels_known
            self.called = KnownNames(labels, self.findings.error, "label", are_complete=is_certain)
        synapses = self._synapses(top)
        train, output = self._input(top), self._output(top)
        pairs = [
            self.findings.pair(item, path, "a pair of labels")
            for path, item in top.items("dictionary")
        ]
        variant = self.variant.read(top.values.get("variant"))
        self.synapse_paths += self.variant.added_synapses(variant, {(s, t) for s, t, _ in synapses})

        def tried(variant: Variant | None) -> tuple[SpikingSystem | None, tuple[Problem, ...]]:
            return try_to_build(
                lambda: SpikingSystem(
                    self.neurons,
                    synapses,
                    input=train,
                    output=output,
                    level=header.level,
                    signed=header.signed,
                    dictionary=[pair for pair in pairs if pair is not None],
                    rules_by_label=labelled,
                    name=header.name,
                    compatibility=header.compatibility,
                    variant=variant,
                    notes=notes,
                )
            )

        system, problems = tried(variant)
        unsure = set() if self.called.are_complete else {"unknown_neuron"}
        told = [p for p in problems if p.code not in unsure]
        # What that allows is reported only if it is wrong in any case.
        if self.variant.may_be_signed:
            certain = {(p.code, p.place) for p in tried(AntiSpikes())[1]}
            told = [p for p in told if p.code not in _SIGNED or (p.code, p.place) in certain]
        tell_problems(self.findings, told, self._path, self._has_no_guard)
        return system

    def _check_positions(self, positions: object) -> None:
        """Report positions that no drawing uses. Notes may be anything, so that they are kept."""
        for name, place in positions.items() if isinstance(positions, dict) else ():
            for at, part in enumerate(place if isinstance(place, list) else ()):
                if type(part) in (int, float) and not is_coordinate(part):
                    path = ("notes", "positions", name, at)
                    self.findings.warning(path, out_of_range(part, name))

    def _read_neurons(self, top: Entries, by_label: dict[str, list[ReadRule]]) -> bool:
        """Read neurons, and move to them the rules of their labels. False: names may be missing."""
        items = top.items("neurons")
        given: set[str] = set()
        for path, item in items:
            entry = self.findings.entries(item, path, "the neuron", _OF_NEURON, required=("id",))
            if entry is None:
                continue
            name = entry.text("id", "the id of a neuron")
            spikes = entry.integer("spikes", "the number of spikes", 0)
            label = entry.text("label", "the label") if "label" in entry else name
            if name is None or label is None:
                continue
            rules = self.rules.read_all(entry.values.get("rules", []), entry.at("rules"), label)
            if not rules and label in by_label:
                rules = by_label[label]
                given.add(label)
            self.rules_of[len(self.neurons)] = rules
            self.neuron_paths.append(path)
            self.neurons.append(Neuron(name, spikes or 0, [r.rule for r in rules], label))
        for label in given:
            del by_label[label]
        self.rules_of.update(by_label)
        return isinstance(top.values["neurons"], list) and len(self.neurons) == len(items)

    def _synapses(self, top: Entries) -> list[tuple[str, str, int]]:
        synapses: list[tuple[str, str, int]] = []
        for path, item in top.items("synapses"):
            synapse = self._synapse(item, path)
            if synapse is None:
                continue
            source, target, _ = synapse
            if source not in self.names or target not in self.names:
                here = f"synapse ({source}, {target})"
                self.known.has(source, (*path, 0), here)
                self.known.has(target, (*path, 1), here)
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

    def _input(self, top: Entries) -> dict[str, list[int]]:
        result = {}
        for name, train in top.mapping("input").items():
            numbers = [
                self.findings.integer(item, path, "a number of input spikes")
                for path, item in self.findings.items(train, ("input", name), "an input train")
            ]
            if self.called.has(name, ("input", Key(name)), "input"):
                result[name] = [number or 0 for number in numbers]
        return result

    def _output(self, top: Entries) -> list[str]:
        names = []
        for path, item in top.items("output"):
            name = self.findings.text(item, path, "an output neuron")
            if name is not None and self.called.has(name, path, "output"):
                names.append(name)
                self.output_paths.setdefault(name, path)
        return names

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
        findings.wrong(value, (), "this", f"a model is an object with {_ACCEPTED}")
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
