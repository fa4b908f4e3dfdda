r"""WebSnapse JSON: `{"neurons": [...], "synapses": [...]}`, its older keys, and the same in YAML.

A neuron is `{"id", "type", "position", "content", "rules"}`. A `regular` one has rules and starts
with `content` spikes; an `input` sends the digits of `content`, one a step; an `output` records. A
synapse is `{"from", "to", "weight"}`. `expected` is kept as a note. The dynamic dialect (division)
has `rule_dict`, rules with their labels, and its synapses also name labels that no neuron bears
yet: these are the synapse dictionary. Rules belong to the label, so a neuron has its own list and
what `rule_dict` says of its label besides. The old schema has `nodes`, `edges` and the keys of
`keys.py`.

??? cite "Source"
    The files of WebSnapse Reloaded (websnapse/websnapse.github.io), WebSnapse v3
    (lmgal/websnapse-v3), websnapse/websnapse-dynamic and daryll-ko/sn-p-factory. Differs from these
    programs in: 1. `a^12` is 12 spikes; 2. a union needs no parentheses; 3. self-synapses stay.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ...drawing.coordinates import is_coordinate
from ...spiking.model.rule import DivisionRule
from ...spiking.model.system import Json, SpikingSystem
from ...spiking.model.validity import Level, unknown_neuron
from ..building import UnknownNames, read_reported
from ..environment import InputNode, NeuronNode, Node, OutputNode, PlacedRule, Wire, build_system
from ..json_checks import Entries, Findings, out_of_range, read_values
from ..json_text import JsonPath
from ..source import Report, Source
from ..yaml_text import Plain
from .keys import NEW, Keys, keys_of
from .labels import NameTable
from .rules import PlacedLabel, PlacedRuleText, RuleList
from .values import ValueReader, is_null


_TYPES = ("regular", "input", "output")


def read_websnapse(source: Source, level: Level) -> SpikingSystem:
    """The system that a WebSnapse file describes."""
    return read_reported(source, _reading(level, is_yaml=False))


def read_factory_yaml(source: Source, level: Level) -> SpikingSystem:
    """The system that a YAML file of sn-p-factory describes.

    **Raises:** `ReadError` with all errors of the file, or if PyYAML is not installed.
    """
    return read_reported(source, _reading(level, is_yaml=True))


def _reading(level: Level, *, is_yaml: bool) -> Callable[[Report], SpikingSystem | None]:
    """What `read_reported` calls; with one frame more, warnings would name another line."""

    def read(findings: Findings, value: object) -> SpikingSystem | None:
        return _Reader(findings).read(value, level)

    return partial(read_values, read=read, is_yaml=is_yaml)


class _Reader:
    """A drawing from a decoded file, with the path in the file of everything in it."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self.values = ValueReader(findings)
        self.rules = RuleList(findings)
        self.keys: Keys = NEW
        self.labels = NameTable()
        self.nodes: list[Node[JsonPath]] = []
        self.kinds: dict[str, str] = {}  # type of each node by name
        self.made: dict[str, None] = {}  # labels of neurons that rules make
        self.twins: list[tuple[str, str, JsonPath]] = []  # names spelled in two ways
        self.paths: dict[str, JsonPath] = {}
        self.positions: dict[str, Json] = {}
        self.is_dynamic = False
        self.are_names_known = True
        self._unknown = UnknownNames()

    def read(self, value: object, level: Level) -> SpikingSystem | None:
        keys = keys_of(self.findings, value)
        if keys is None:
            return None
        top = self.findings.mapping(value, (), "the model", keys.top) or {}
        self.keys = keys
        entries = self._named(self.values.items(top, keys.neurons))
        own = [
            self.rules.read(entry.values.get("rules"), entry.at("rules"), "the list of rules")
            for entry, _ in entries
        ]
        labelled = self.rules.read(top.get("rule_dict"), ("rule_dict",), '"rule_dict"')
        self.is_dynamic = not is_null(top.get("rule_dict"))
        for rules in (*own, labelled):
            self._learn_children(rules)
        by_label = self._by_label(labelled)
        for (entry, name), rules in zip(entries, own, strict=True):
            self._read_node(entry, name, self._own(rules, name, by_label))
        if self.is_dynamic:
            self._refuse_twins()
        wires, dictionary = self._synapses(self.values.items(top, keys.synapses))
        notes: dict[str, Json] = {"positions": self.positions} if self.positions else {}
        if not is_null(top.get("expected")):
            notes["expected"] = self.values.findings.note(top["expected"], ("expected",))
        return build_system(
            self.nodes,
            wires,
            self.findings,
            level=level,
            notes=notes,
            rules_by_label=by_label,
            dictionary=dictionary,
            are_names_known=self.are_names_known,
        )

    # Neurons

    def _named(self, items: list[tuple[JsonPath, object]]) -> list[tuple[Entries, str]]:
        """The entries of neurons with a name and a type; from then on the names are known."""
        named = []
        for path, item in items:
            entry = self.findings.entries(item, path, "the neuron", self.keys.neuron)
            name, kind = None, None
            if entry is not None:
                name = entry.take("id", self.values.name, "the id of a neuron")
                kind = entry.take("type", self._kind, "the type of a neuron")
            if entry is None or name is None or kind is None:
                self.are_names_known = False
                continue
            first = self.labels.spell(name)
            if first != name:
                self.twins.append((name, first, entry.at("id")))
            self.kinds.setdefault(name, kind)
            self.paths.setdefault(name, entry.at("id"))
            named.append((entry, name))
        return named

    def _kind(self, value: object, path: JsonPath, what: str) -> str | None:
        kind = self.values.name(value, path, what)
        if kind is None or kind in _TYPES:
            return kind
        return self.findings.wrong(kind, path, what, 'write "regular", "input" or "output"')

    def _refuse_twins(self) -> None:
        for name, first, path in self.twins:
            if name in self.kinds and self.kinds.get(first) is not None:
                message = (
                    f"neuron {name!r} is declared twice: {first!r} is the same label (give each "
                    "neuron its own name)"
                )
                self.findings.error(path, message, self.paths[first])

    def _read_node(self, entry: Entries, name: str, rules: list[PlacedRule[JsonPath]]) -> None:
        place, kind = entry.at("id"), entry.values["type"]
        kind = kind.text if isinstance(kind, Plain) else kind
        position = self._position(entry, name)
        if position is not None:
            self.positions[name] = position
        if kind == "output":
            self.nodes.append(OutputNode(name, place))
        elif kind == "input":
            has_old_key = "content" not in entry and "spiketrain" in entry
            train = replace(entry, what="the input neuron").take(
                "spiketrain" if has_old_key else "content",
                self.values.train,
                "the train of an input neuron",
            )
            self.nodes.append(InputNode(name, place, train or ()))
        else:
            spikes = entry.take("content", self.values.integer, "the number of spikes") or 0
            self.nodes.append(NeuronNode(name, place, spikes, entry.at("content"), rules))
        if kind != "regular" and rules:
            message = f"{kind} neuron {name!r} has rules (only regular neurons have some)"
            self.findings.error(entry.at("rules"), message)

    def _position(self, entry: Entries, name: str) -> list[Json] | None:
        place: Entries | None = entry
        if "position" in entry and not is_null(entry.values["position"]):
            place = entry.take("position", partial(self.findings.entries, keys=("x", "y")))
        if place is None or is_null(place.values.get("x")) or is_null(place.values.get("y")):
            return None
        found: list[Json] = []
        for key in "xy":
            number = place.take(key, self.values.number)
            if is_coordinate(number):
                found.append(number)
            elif number is not None:
                self.findings.error(place.at(key), out_of_range(number, name))
        return found if len(found) == 2 else None

    # Rules

    def _learn_children(self, rules: list[PlacedRuleText]) -> None:
        for read in rules:
            for child in read.parsed.children or ():
                self.is_dynamic = True
                label = self.labels.add(child.text)
                self.made[label] = None
                if self.kinds.get(label, "regular") != "regular":
                    message = f"the new neuron has the label of the {self.kinds[label]} neuron"
                    self.findings.error(
                        read.at(child.position), f"{message} {label!r} (give it another one)"
                    )

    def _by_label(self, rules: list[PlacedRuleText]) -> dict[str, list[PlacedRule[JsonPath]]]:
        by_label: dict[str, list[PlacedRule[JsonPath]]] = {}
        for read in rules:
            label = read.parsed.label
            if label is None:
                if not read.parsed.errors:
                    message = "the rule does not name its neuron (write \\left[rule\\right]_{i})"
                    self.findings.error(read.path, message)
                continue
            for name in self._bearers(label, read):
                placed = self._placed(read)
                if placed is not None:
                    by_label.setdefault(name, []).append(placed)
        return by_label

    def _bearers(self, label: PlacedLabel, read: PlacedRuleText) -> list[str]:
        """The labels that have a rule; commas are between them (websnapse-dynamic), or in one."""
        names = [label.text]
        if self._known(label.text) is None and "," in label.text:
            names = [name.strip() for name in label.text.split(",")]
        found = []
        for name in names:
            known = self._known(name)
            place = read.at(label.position)
            if known is None:
                self._tell_unknown(name, place, "rule")
            elif self.kinds.get(known, "regular") != "regular":
                message = f"{self.kinds[known]} neuron {known!r} has rules"
                self.findings.error(place, f"{message} (only regular neurons have some)")
            else:
                found.append(known)
        return found

    def _own(
        self,
        rules: list[PlacedRuleText],
        name: str,
        by_label: dict[str, list[PlacedRule[JsonPath]]],
    ) -> list[PlacedRule[JsonPath]]:
        """The rules in the list of a neuron, and those of its label besides."""
        own = []
        for read in rules:
            label = read.parsed.label
            if label is not None and self.labels.find(label.text) != name:
                message = (
                    f"the rule of label {label.text!r} stands in the list of neuron {name!r} (move "
                    'it to "rule_dict")'
                )
                self.findings.error(read.at(label.position), message)
                continue
            placed = self._placed(read)
            if placed is not None:
                own.append(placed)
        had_some = bool(own)
        known = {placed.rule for placed in own}
        for placed in by_label.pop(name, ()):
            if placed.rule in known:
                continue
            own.append(placed)
            if had_some:
                message = (
                    f"neuron {name!r} has this rule too, although its own list lacks it (rules "
                    "belong to the label)"
                )
                self.findings.warning(placed.place, message)
        return own

    def _placed(self, read: PlacedRuleText) -> PlacedRule[JsonPath] | None:
        rule = read.parsed.rule
        if isinstance(rule, DivisionRule):
            left, right = self.labels.add(rule.left), self.labels.add(rule.right)
            rule = DivisionRule(rule.guard, left, right)
        if rule is None:
            return None
        return PlacedRule(rule, read.path, read.place_of, read.parsed.is_whole)

    # Synapses

    def _synapses(
        self, items: list[tuple[JsonPath, object]]
    ) -> tuple[list[Wire[JsonPath]], list[tuple[str, str]]]:
        wires: list[Wire[JsonPath]] = []
        pairs: dict[tuple[str, str], JsonPath] = {}
        source_key, target_key, weight_key = self.keys.synapse
        unborn = self.made.keys() - self.kinds.keys()
        for path, item in items:
            entry = self.findings.entries(item, path, "the synapse", self.keys.synapse)
            if entry is None:
                continue
            ends = [
                entry.take(key, self.values.name, f'"{key}" of a synapse')
                for key in (source_key, target_key)
            ]
            weight = entry.take(weight_key, self.values.integer, "the weight of a synapse", 1)
            if ends[0] is None or ends[1] is None or weight is None:
                continue
            source, target = (self.labels.find(name) or name for name in (ends[0], ends[1]))
            at_source, at_target = entry.at(source_key), entry.at(target_key)
            at_weight = entry.at(weight_key) if weight_key in entry else path
            if source in unborn or target in unborn:
                self._pair(source, target, weight, path, (at_source, at_target, at_weight), pairs)
            else:
                wires.append(Wire(source, target, weight, path, at_source, at_target, at_weight))
        return wires, list(pairs)

    def _pair(
        self,
        source: str,
        target: str,
        weight: int,
        path: JsonPath,
        parts: tuple[JsonPath, JsonPath, JsonPath],
        pairs: dict[tuple[str, str], JsonPath],
    ) -> None:
        """A synapse of which an end is a label that no neuron bears yet: the dictionary's."""
        here = f"synapse ({source}, {target})"
        is_sound = True
        for name, other, place in ((source, target, parts[0]), (target, source, parts[1])):
            if name not in self.kinds and name not in self.made:
                is_sound = False
                self._tell_unknown(name, place, here)
            if self.kinds.get(other, "regular") != "regular":
                is_sound = False
                message = (
                    f"{here}: no neuron has the label {name!r} from the start (connect the "
                    f"{self.kinds[other]} neuron to one that is there)"
                )
                self.findings.error(place, message)
        if weight != 1:
            message = (
                f"{here} has weight {weight}, but no neuron has both labels from the start (a "
                "synapse that division makes has weight 1)"
            )
            self.findings.error(parts[2], message)
        elif (source, target) in pairs:
            message = f"{here} is listed twice (remove one)"
            self.findings.error(path, message, pairs[source, target])
        elif is_sound:
            pairs[source, target] = path

    def _known(self, name: str) -> str | None:
        """The spelling of a name that a neuron or a new neuron bears."""
        known = self.labels.find(name)
        return known if known in self.kinds or known in self.made else None

    def _tell_unknown(self, name: str, path: JsonPath, here: str) -> None:
        if not self.are_names_known:
            return
        message = self._unknown.message(
            name, lambda: unknown_neuron(name, dict.fromkeys([*self.kinds, *self.made], 0))
        )
        self.findings.error(path, f"{here}: {message}")
