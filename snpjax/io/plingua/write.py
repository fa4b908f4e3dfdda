"""Writing P-Lingua 4: one list each of neurons, contents and synapses, and the rules in order.

Names that are not labels are mapped to labels, with a table of them in a comment that the reader
applies.
"""

from collections.abc import Iterable, Mapping, Sequence

from ...spiking.model.guard import Guard
from ...spiking.model.population import AnySystem
from ...spiking.model.rule import (
    AnyRule,
    BuddingRule,
    DivisionRule,
    PlasticityRule,
    RequestRule,
    Rule,
    rule_text,
)
from ...spiking.model.system import Json, SpikingSystem
from ...spiking.model.validity import possible_labels
from ..losses import Losses, expanded, reads_back
from .expand import MAX_TRAIN
from .expression import MAX_DIGITS
from .labels import LabelsOf


_LARGEST = 10**MAX_DIGITS - 1  # the number of most digits
_WIDTH = 100


def write_plingua(system: AnySystem, losses: Losses) -> str:
    """The text of a P-Lingua file, families as ranges where the system has populations.

    Reading it gives the system again, whenever there are no losses; zeros at the end of an input
    train are left out.
    """
    if isinstance(system, SpikingSystem):
        return _Writer(system, losses).text()
    from .write_families import can_be_ranges, write_families

    if can_be_ranges(system):
        return write_families(system, losses)
    return _Writer(expanded(system, losses), losses).text()


class _Writer:
    def __init__(self, system: SpikingSystem, losses: Losses):
        self.system = system
        self.losses = losses
        self.groups = _groups(system) or [[index] for index in range(system.num_neurons)]
        self.name_of = {}  # by neuron, the name that its label is made of
        for group in self.groups:
            first = system.neurons[group[0]].name
            self.name_of |= {system.neurons[index].name: first for index in group}
        self.labels = LabelsOf(self._names())

    def text(self) -> str:
        losses = self.losses
        for neuron in self.system.neurons:
            if neuron.label != neuron.name and self.name_of[neuron.name] == neuron.name:
                item = f"label {neuron.label!r} of neuron {neuron.name!r}"
                losses.add(item, "its name is its label")
        if self.system.signed:
            losses.add("the declaration that counts may be negative", "written without it")
        statements = [
            *listing("@mu", map(self._label, range(self.system.num_neurons))),
            *self._contents(),
            *listing("@marcs", self._arcs()),
            *listing("@mdict", [self._pair(x, y) for x, y in self.system.dictionary]),
            *self._input(),
            *listing("@mout", self._output()),
            *hints(self.system.notes),
            *self._rules(),
        ]
        return model(self.labels.table(losses), statements)

    def _names(self) -> list[str]:
        """All that needs a label, neurons first."""
        system = self.system
        names = list(dict.fromkeys(self.name_of.values()))
        names += [label for pair in system.dictionary for label in pair]
        owners = [(neuron.label, neuron.rules) for neuron in system.neurons]
        for label, rules in [*owners, *system.rules_by_label.items()]:
            if not all(isinstance(rule, Rule) for rule in rules):
                names.append(label)
            for rule in rules:
                if isinstance(rule, DivisionRule | BuddingRule):
                    names += rule.born
        return [*names, *system.rules_by_label]

    def _label(self, neuron: int) -> str:
        return self.labels[self.name_of[self.system.neurons[neuron].name]]

    def _pair(self, x: str, y: str) -> str:
        return f"({self.labels[x]}, {self.labels[y]})"

    def _contents(self) -> list[str]:
        statements = []
        for group in self.groups:
            neuron = self.system.neurons[group[0]]
            spikes = int(neuron.spikes)
            if not 0 <= spikes <= _LARGEST:
                self.losses.add(f"the spikes of neuron {neuron.name!r}", "written as 0")
            elif spikes:
                statements.append(f"@ms({self._label(group[0])}) = {amount(spikes)};")
        return statements

    def _arcs(self) -> Iterable[str]:
        for source, target, weight in self.system.synapses:
            if weight != 1:
                item = f"weight {int(weight)} of synapse ({source}, {target})"
                self.losses.add(item, "written with weight 1")
        names = self.name_of
        pairs = dict.fromkeys((names[s], names[t]) for s, t, _ in self.system.synapses)
        return [self._pair(x, y) for x, y in pairs]

    def _called(self, name: str) -> list[str]:
        """What is written for an input's or output's name: a label where neurons divide or bud."""
        if not self.system.is_growing:
            return [self.name_of[name]]
        bearers = [self.name_of[n.name] for n in self.system.neurons if n.label == name]
        return list(dict.fromkeys(bearers)) or [name]

    def _output(self) -> Iterable[str]:
        called = (name for output in self.system.output for name in self._called(output))
        return dict.fromkeys(self.labels[name] for name in called)

    def _input(self) -> list[str]:
        trains: dict[str, Sequence[int]] = {}
        for called, train in self.system.input.items():
            for name in self._called(called):
                trains.setdefault(name, train)
        return input_statements(
            [(name, self.labels[name], train) for name, train in trains.items()], self.losses
        )

    def _rules(self) -> list[str]:
        system = self.system
        texts = RuleTexts(self.labels, self.losses)
        statements = []
        for group in self.groups:
            neuron = system.neurons[group[0]]
            for number, rule in enumerate(neuron.rules, start=1):
                here = f"neuron {neuron.name!r}, rule {number}"
                statements += texts.of(rule, self.name_of[neuron.name], neuron.label, here)
        borne = possible_labels(system.neurons, system.rules_by_label)
        for label, rules in system.rules_by_label.items():
            if label not in borne and rules:
                self.losses.add(f"the rules of label {label!r}", "no neuron ever bears it")
                continue
            for number, rule in enumerate(rules, start=1):
                statements += texts.of(rule, label, label, f"label {label!r}, rule {number}")
        return statements


class RuleTexts:
    """Rules as statements."""

    def __init__(self, labels: LabelsOf, losses: Losses):
        self.labels = labels
        self.losses = losses
        self._guards: dict[Guard, str | None] = {}

    def of(self, rule: AnyRule | str, owner: str, label: str, here: str) -> list[str]:
        """The statement of a rule of the neurons written as `owner`; none after a loss."""
        if isinstance(rule, str):
            raise AssertionError(f"{here} does not parse; please report this as a bug of snpjax")
        if isinstance(rule, PlasticityRule | RequestRule):
            self.losses.add(f"{here}, the plasticity rule {rule_text(rule, label)}", "left out")
            return []
        guard = self.guard(rule.guard)
        exact = isinstance(rule, Rule) and rule.guard.is_exactly(rule.consume)
        if guard is None and not exact:
            self.losses.add(f"{here}, {rule_text(rule, label)}: its guard has no text", "left out")
            return []
        at = f"'{self.labels[owner]}"
        if isinstance(rule, DivisionRule):
            left, right = self.labels[rule.left], self.labels[rule.right]
            return [f"[]{at} --> []'{left} || []'{right} \"{guard}\";"]
        if isinstance(rule, BuddingRule):
            parent = at if rule.parent in (None, label) else f"'{self.labels[rule.parent]}"
            return [f'[]{at} --> []{parent} / []\'{self.labels[rule.bud]} "{guard}";']
        if rule.has_anti_spikes:
            self.losses.add(f"{here}, {rule_text(rule, label)}: it has anti-spikes", "left out")
            return []
        if max(rule.consume, rule.produce) > _LARGEST:
            self.losses.add(f"{here}: a number of more than {MAX_DIGITS} digits", "left out")
            return []
        text = None if exact else guard
        return [spiking(amount(rule.consume), amount(rule.produce), at, text, str(rule.delay))]

    def guard(self, guard: Guard) -> str | None:
        """The text of a guard; `None` if it has none that is read back."""
        if guard not in self._guards:
            has_text = not guard.is_empty and reads_back(guard)
            self._guards[guard] = str(guard) if has_text else None
        return self._guards[guard]


def spiking(consume: str, produce: str, at: str, guard: str | None, delay: str) -> str:
    """A spiking or forgetting rule, without ranges."""
    condition = "" if guard is None else f' "{guard}"'
    late = "" if delay == "0" else f" :: {delay}"
    return f"[{consume} --> {produce}]{at}{condition}{late};"


def amount(spikes: int) -> str:
    if spikes == 0:
        return "#"
    return "a" if spikes == 1 else f"a*{int(spikes)}"


def model(table: str, statements: Iterable[str]) -> str:
    """A whole file with the table of names."""
    body = "".join(f"  {statement}\n" for statement in statements)
    return f"@model<spiking_psystems>\n{table}def main()\n{{\n{body}}}\n"


def listing(keyword: str, items: Iterable[str]) -> list[str]:
    """One statement with a list, wrapped; none without items."""
    items = list(items)
    if not items:
        return []
    lines, line = [], f"{keyword} = {items[0]}"
    for item in items[1:]:
        if len(line) + len(item) + 5 > _WIDTH:
            lines.append(line + ",")
            line = "    " + item
        else:
            line += f", {item}"
    return ["\n  ".join([*lines, line + ";"])]


def input_statements(trains: Sequence[tuple[str, str, Sequence[int]]], losses: Losses) -> list[str]:
    """The input neuron and its train, from names, labels and trains: the language has one."""
    for name, _, _ in trains[1:]:
        losses.add(f"the input of neuron {name!r}", "P-Lingua has one input neuron; left out")
    if not trains:
        return []
    name, label, train = trains[0]
    entries = []
    for step, spikes in enumerate(train, start=1):
        if not spikes:
            continue
        if step <= MAX_TRAIN and 0 < spikes <= _LARGEST:
            entries.append(f"({step}, {int(spikes)})")
        else:
            losses.add(f"the input of neuron {name!r} in step {step}", "left out")
    return [f"@min = {label};", *listing("@minst", entries)]


def hints(notes: Mapping[str, Json]) -> list[str]:
    """The output hints that a reader noted; anything else under their name is ignored."""
    noted = notes.get("output", ())
    statements = []
    for hint in noted if isinstance(noted, list | tuple) else ():
        form = hint.get("form") if isinstance(hint, Mapping) else None
        if form in ("binary", "summatories"):
            statements.append(f"@moutres_{form};")
        elif isinstance(hint, Mapping) and form == "natural":
            values = [hint[name] for name in ("k", "strong", "alternate") if name in hint]
            if all(isinstance(value, int) and value >= 0 for value in values):
                inside = ", ".join(str(value).lower() for value in values)
                statements.append(f"@moutres_natural{f'({inside})' if inside else ''};")
    return statements


def _groups(system: SpikingSystem) -> list[list[int]] | None:
    """The neurons of each label, if the language can say which: they are named `x`, `x#2`, ... and
    are equal in all that goes by labels."""
    groups: dict[str, list[int]] = {}
    for index, neuron in enumerate(system.neurons):
        groups.setdefault(neuron.label, []).append(index)
    if len(groups) == len(system.neurons):
        return None
    names = {}
    for label, group in groups.items():
        names[label] = [system.neurons[index].name for index in group]
        numbered = [label, *(f"{label}#{number + 1}" for number in range(1, len(group)))]
        if names[label] != numbered or len({system.neurons[i].spikes for i in group}) > 1:
            return None
    label_of = {neuron.name: neuron.label for neuron in system.neurons}
    pairs = dict.fromkeys((label_of[s], label_of[t], w) for s, t, w in system.synapses)
    synapses = [(x, y, w) for s, t, w in pairs for x in names[s] for y in names[t]]
    if synapses != list(system.synapses):
        return None
    if system.is_growing:  # inputs and outputs go by labels anyway
        return list(groups.values())
    outputs = [x for label in dict.fromkeys(map(label_of.get, system.output)) for x in names[label]]
    inputs = [x for label in dict.fromkeys(map(label_of.get, system.input)) for x in names[label]]
    same_trains = len({label_of[x] for x in system.input}) == len(
        {(label_of[x], train) for x, train in system.input.items()}
    )
    if outputs != list(system.output) or sorted(inputs) != sorted(system.input) or not same_trains:
        return None
    return list(groups.values())
