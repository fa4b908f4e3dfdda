r"""Writing WebSnapse JSON and the YAML of sn-p-factory: one neuron and one synapse a line.

Everything that a static system has can be written but negative counts; input above 9 spikes a step
becomes several input nodes, one a decimal place. A system with division gets a `rule_dict`. Names
stay as they are, except that a name which is another spelling of another one (`x_{1}`, `x_1`) would
be the same label there.
"""

import json
from collections.abc import Sequence
from typing import TypeAlias

from snpjax_formats.strict_json import parse_json

from ...spiking.model.guard import Guard
from ...spiking.model.rule import AnyRule, BuddingRule, DivisionRule, Rule
from ...spiking.model.system import Neuron, SpikingSystem
from ..json_checks import noted_position
from ..losses import Losses
from .environment_nodes import draw
from .guard_text import guard_text, rule_text
from .labels import label_key
from .print_yaml import SURROGATE, yaml_text
from .rules import parse_rule_text


_GRID = 150  # pixels between neurons without a position
_COLUMNS = 8

Value: TypeAlias = "int | float | str | list[str] | dict[str, int | float]"


def write_websnapse(system: SpikingSystem, losses: Losses) -> str:
    """The text of a WebSnapse JSON file; what it cannot hold is added to `losses`."""
    sections = _Model(system, losses, _Names(system, losses)).sections()
    parts = [_json_list(key, list(map(json.dumps, entries))) for key, entries in sections.items()]
    expected = _expected(system, losses)
    if expected is not None:
        parts.append(f'  "expected": {expected}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write_factory_yaml(system: SpikingSystem, losses: Losses) -> str:
    """The text of a YAML file of sn-p-factory; what it cannot hold is added to `losses`."""
    lines = []
    sections = _Model(system, losses, _Names(system, losses)).sections()
    for key, entries in sections.items():
        lines.append(f"{key}:" if entries else f"{key}: []")
        lines += [f"- {yaml_text(entry)}" for entry in entries]
    expected = _expected(system, losses)
    if expected is not None:
        lines.append(f"expected: {yaml_text(parse_json(expected))}")
    return "\n".join(lines) + "\n"


def _expected(system: SpikingSystem, losses: Losses) -> str | None:
    """The note of the expected output in JSON, if there is one."""
    notes = system.notes
    return losses.note_text("expected", notes["expected"]) if "expected" in notes else None


class _Names:
    """What neurons and labels are called in the file.

    A name stays as it is, unless the file cannot hold it or it would be the same label as another
    one (only systems with division have labels).
    """

    def __init__(self, system: SpikingSystem, losses: Losses):
        self.losses = losses
        self.is_dynamic = bool(system.rules_by_label) or any(
            isinstance(rule, DivisionRule) for rule in system.rules
        )
        self.made: set[str] = set()
        left = [rule for neuron in system.neurons for rule in neuron.rules]
        while left:  # rules of a label that no neuron comes to bear are left out: they make none
            rule = left.pop()
            if isinstance(rule, DivisionRule) and _has_text(rule.guard):
                for label in {rule.left, rule.right} - self.made:
                    self.made.add(label)
                    left += system.rules_by_label.get(label, ())
        self.known: dict[str, str] = {}
        self._keys: set[str] = set()
        for name in system.names:
            self.known[name] = self._written(name, "neuron")
        for label in sorted(self.made - self.known.keys()):
            self.known[label] = self._written(label, "label")

    def _written(self, name: str, kind: str) -> str:
        written = SURROGATE.sub("\ufffd", name)
        if self.is_dynamic and not _is_label(written):
            written = written.replace("{", "").replace("}", "").strip() or "x"
        key = label_key(written) if self.is_dynamic else written
        while key in self._keys:
            written += "'"
            key += "'"
        self._keys.add(key)
        if written != name:
            self.losses.add(f"{kind} name {name!r}", f"written as {written!r}")
        return written


class _Model:
    """Entries of `neurons` and `synapses`, and the texts of `rule_dict`."""

    def __init__(self, system: SpikingSystem, losses: Losses, names: _Names):
        self.system = system
        self.losses = losses
        self.names = names
        self._texts: dict[Rule | DivisionRule, str | None] = {}  # that read back
        self.rule_dict: list[str] = []
        self.neurons: list[dict[str, Value]] = []
        self.synapses: list[dict[str, Value]] = []
        if system.signed:
            losses.add("counts below 0 (signed=True)", "written without it")
        for neuron in system.neurons:
            self._add_neuron(neuron)
        for source, target, weight in system.synapses:
            if weight < 0:
                losses.add(f"synapse ({source}, {target}) with weight {int(weight)}", "left out")
            else:
                self._add_wire(names.known[source], names.known[target], int(weight))
        self._add_labels()
        self._add_environment()

    def sections(self) -> dict[str, Sequence[object]]:
        """The parts by their keys; `rule_dict` where there are such rules."""
        parts = {"neurons": self.neurons, "synapses": self.synapses, "rule_dict": self.rule_dict}
        return {key: part for key, part in parts.items() if part or key != "rule_dict"}

    def _add_neuron(self, neuron: Neuron) -> None:
        name = self.names.known[neuron.name]
        owner = f"neuron {neuron.name!r}"
        if neuron.label != neuron.name:
            self.losses.add(f"label {neuron.label!r} of {owner}", "its name is its label")
        spikes = int(neuron.spikes)
        if spikes < 0:
            self.losses.add(f"the {spikes} spikes of {owner}", "written as 0")
        rules = self._rules(neuron.rules, owner)
        self._add_node(name, "regular", max(0, spikes), neuron.name)
        self.neurons[-1]["rules"] = [self._text(rule) or "" for rule in rules]
        if self.names.is_dynamic:
            self.rule_dict += [_rule_text(rule, name) for rule in rules]

    def _add_node(self, name: str, kind: str, content: int | str, noted: str) -> None:
        position = self._position(noted, len(self.neurons))
        self.neurons.append({"id": name, "type": kind, "position": position, "content": content})

    def _position(self, name: str, index: int) -> dict[str, int | float]:
        grid = _GRID * (index % _COLUMNS), _GRID * (index // _COLUMNS)
        x, y = noted_position(self.system.notes, name) or grid
        return {"x": x, "y": y}

    def _add_wire(self, source: str, target: str, weight: int) -> None:
        self.synapses.append({"from": source, "to": target, "weight": weight})

    def _rules(self, rules: Sequence[AnyRule | str], owner: str) -> list[Rule | DivisionRule]:
        """The rules that the file can hold, with the names that it has."""
        held: list[Rule | DivisionRule] = []
        for number, rule in enumerate(rules, start=1):
            here = f"of {owner}, rule {number}"
            if isinstance(rule, DivisionRule):
                known = self.names.known
                left, right = (known.get(label, label) for label in rule.born)
                rule = DivisionRule(rule.guard, left, right)
            if not isinstance(rule, Rule | DivisionRule):
                kind = "budding" if isinstance(rule, BuddingRule) else "plasticity"
                self.losses.add(f"the {kind} rule {rule} {here}", "left out")
            elif self._text(rule) is None:
                what = "empty guard" if rule.guard.is_empty else f"large numbers of {rule}"
                if isinstance(rule, Rule) and rule.has_anti_spikes:
                    what = f"anti-spikes of {rule}"
                self.losses.add(f"the {what} {here}", "the rule is left out")
            else:
                held.append(rule)
        return held

    def _text(self, rule: Rule | DivisionRule) -> str | None:
        """The text of a rule in a list of rules, or `None` if it does not read back."""
        if rule not in self._texts:
            text = _rule_text(rule)
            parsed = parse_rule_text(text)
            self._texts[rule] = text if parsed.rule == rule and not parsed.errors else None
        return self._texts[rule]

    def _add_labels(self) -> None:
        """The rules of labels that no neuron bears, and the dictionary."""
        system, known, made = self.system, self.names.known, self.names.made
        for label, rules in system.rules_by_label.items():
            if label not in made:
                self.losses.add(
                    f"the rules of label {label!r}, which no division makes", "left out"
                )
                continue
            rules = self._rules(rules, f"label {label!r}")
            self.rule_dict += [_rule_text(rule, known[label]) for rule in rules]
        synapses = {(source, target) for source, target, _ in system.synapses}
        for pair in system.dictionary:
            unknown = [label for label in pair if label not in known]
            if unknown:
                what = f"the pair ({pair[0]}, {pair[1]}) of the dictionary"
                self.losses.add(
                    f"{what} with label {unknown[0]!r}, which no division makes", "left out"
                )
            elif pair[0] not in system.names or pair[1] not in system.names:
                self._add_wire(known[pair[0]], known[pair[1]], 1)
            elif pair not in synapses:  # a synapse puts its pair into the dictionary by itself
                what = f"the pair ({pair[0]}, {pair[1]}) of the dictionary"
                self.losses.add(f"{what}, whose neurons have no synapse", "left out")

    def _add_environment(self) -> None:
        trains: dict[str, list[int]] = {}
        for called, train in self.system.input.items():
            for name in self._called(called, "input"):
                trains.setdefault(name, [max(0, int(spikes)) for spikes in train])
            if any(spikes < 0 for spikes in train):
                self.losses.add(f"input below 0 of neuron {called!r}", "written as 0")
        recorded = [x for called in self.system.output for x in self._called(called, "output")]
        known = self.names.known
        inputs, outputs = draw(self.system, trains, recorded, known.values())
        for node in inputs:
            self._add_node(node.name, "input", "".join(map(str, node.train)), node.name)
            for target, weight in node.targets:
                self._add_wire(node.name, known[target], weight)
            for target, weight in node.direct:
                self._add_wire(node.name, target, weight)
        for name, sources in outputs.items():
            self._add_node(name, "output", "", name)
            for source, weight in sources:
                self._add_wire(known[source], name, weight)

    def _called(self, name: str, what: str) -> list[str]:
        """The neurons that an input or output names: those of a label where neurons divide."""
        if not self.system.is_growing:
            return [name]
        bearers = [neuron.name for neuron in self.system.neurons if neuron.label == name]
        if not bearers:
            item = f"the {what} of label {name!r}, which no neuron bears from the start"
            self.losses.add(item, "left out")
        return bearers


def _rule_text(rule: Rule | DivisionRule, label: str | None = None) -> str:
    """The text of a rule in the list of a neuron, or of that of `label` in `rule_dict`."""
    bearer = "" if label is None else f"_{{{label}}}"
    if isinstance(rule, Rule):
        text = rule_text(rule)
        return text if label is None else rf"\left[{text}\right]{bearer}"
    left, right = (rf"\left[\ \right]_{{{child}}}" for child in (rule.left, rule.right))
    return rf"\left[{guard_text(rule.guard)}\right]{bearer}\to{left}\ ||\ {right}"


def _has_text(guard: Guard) -> bool:
    """Whether a division rule with this guard reads back."""
    rule = DivisionRule(guard, "x", "y")
    return parse_rule_text(_rule_text(rule)).rule == rule


def _is_label(name: str) -> bool:
    """Whether a rule text can say the name."""
    label = parse_rule_text(rf"\left[a\to a\right]_{{{name}}}").label
    return label is not None and label.text == name


def _json_list(key: str, lines: Sequence[str]) -> str:
    body = ",\n".join(f"    {line}" for line in lines)
    return f'  "{key}": [\n{body}\n  ]' if lines else f'  "{key}": []'
