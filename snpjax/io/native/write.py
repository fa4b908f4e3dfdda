"""Writing the native JSON: every kind of rule, one neuron and one synapse a line."""

import json
from collections.abc import Sequence

from ...spiking.model.population import AnySystem, PopulationSystem
from ...spiking.model.rule import (
    AnyRule,
    BuddingRule,
    DivisionRule,
    PlasticityRule,
    RequestRule,
    Rule,
)
from ...spiking.model.system import Neuron
from ..losses import Losses, reads_back
from .texts import SCHEMA, as_file, as_lines, as_string, as_strings
from .variants import variant_text
from .write_populations import write_populations


def write_native(system: AnySystem, losses: Losses) -> str:
    """The text of a native file. Equal systems give equal texts. A rule whose guard has no text is
    a loss, and so are notes that are no JSON."""
    if isinstance(system, PopulationSystem):
        return write_populations(system)
    rules = _RuleTexts(losses)
    neurons = [_neuron(neuron, rules) for neuron in system.neurons]
    by_label = [
        f"{as_string(label)}: {rules.listing(its_rules, label, f'label {label!r}')}"
        for label, its_rules in system.rules_by_label.items()
    ]
    synapses = [f"[{as_string(s)}, {as_string(t)}, {int(w)}]" for s, t, w in system.synapses]
    inputs = {name: json.dumps([int(x) for x in train]) for name, train in system.input.items()}
    trains = [f"{as_string(name)}: {train}" for name, train in inputs.items()]
    pairs = [f"[{as_string(x)}, {as_string(y)}]" for x, y in system.dictionary]
    entries = [
        f'"schema": "{SCHEMA}"',
        f'"name": {as_string(system.name)}',
        f'"level": "{system.level}"',
        f'"signed": {"true" if system.signed else "false"}',
        f'"neurons": {as_lines("[", neurons, "]")}',
        f'"synapses": {as_lines("[", synapses, "]")}',
        f'"input": {as_lines("{", trains, "}")}',
        f'"output": {as_strings(system.output)}',
    ]
    if by_label:
        entries.append(f'"rules_by_label": {as_lines("{", by_label, "}")}')
    if pairs:
        entries.append(f'"dictionary": {as_lines("[", pairs, "]")}')
    if not system.compatibility.is_textbook:
        entries.append(f'"compatibility": {json.dumps(system.compatibility.options)}')
    if system.variant is not None:
        entries.append(f'"variant": {variant_text(system, rules.listing)}')
    notes = {name: losses.note_text(name, note) for name, note in system.notes.items()}
    texts = [f"{json.dumps(str(name))}: {text}" for name, text in notes.items() if text is not None]
    if texts:
        entries.append(f'"notes": {{{", ".join(texts)}}}')
    return as_file(entries)


def _neuron(neuron: Neuron, rules: "_RuleTexts") -> str:
    label = "" if neuron.label == neuron.name else f', "label": {as_string(neuron.label)}'
    its_rules = rules.listing(neuron.rules, neuron.label, f"neuron {neuron.name!r}")
    name = as_string(neuron.name)
    return f'{{"id": {name}{label}, "spikes": {int(neuron.spikes)}, "rules": {its_rules}}}'


class _RuleTexts:
    """The JSON of rules, each kind of rule made once."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._known: dict[tuple[AnyRule, str], str | None] = {}

    def listing(self, rules: Sequence[AnyRule | str], label: str, owner: str) -> str:
        texts = []
        for number, rule in enumerate(rules, start=1):
            if isinstance(rule, str):
                raise AssertionError(f"{owner} holds a rule that does not parse; please report it")
            key = rule, label if isinstance(rule, BuddingRule) else ""
            if key not in self._known:
                self._known[key] = _rule(rule, label)
            text = self._known[key]
            if text is None:
                self._losses.add(f"{owner}, rule {number}: its guard has no text", "left out")
            else:
                texts.append(text)
        return f"[{', '.join(texts)}]"


def _rule(rule: AnyRule, label: str) -> str | None:
    if isinstance(rule, Rule | RequestRule) and reads_back(rule):
        return as_string(str(rule))
    if isinstance(rule, RequestRule):
        return None
    guard = str(rule.guard)
    if isinstance(rule, Rule | PlasticityRule) and rule.guard.is_exactly(rule.consume):
        entries = []  # without a guard: exactly the spikes consumed
    elif reads_back(rule.guard):
        entries = [f'"guard": {as_string(guard)}']
    else:
        return None
    if isinstance(rule, DivisionRule):
        entries.append(f'"divide": {as_strings((rule.left, rule.right))}')
    elif isinstance(rule, BuddingRule):
        parent = label if rule.parent is None else rule.parent
        entries.append(f'"bud": {as_strings((parent, rule.bud))}')
    else:
        entries.append(f'"consume": {int(rule.consume)}')
    if isinstance(rule, Rule):
        entries += [f'"produce": {int(rule.produce)}', f'"delay": {int(rule.delay)}']
        if rule.sign != 1:
            entries.append(f'"sign": {int(rule.sign)}')
        if rule.channel is not None:
            entries.append(f'"channel": {as_string(rule.channel)}')
    if isinstance(rule, PlasticityRule):
        change = f'{{"alpha": "{rule.alpha}", "k": {int(rule.k)}'
        entries.append(f'"plasticity": {change}, "targets": {as_strings(rule.targets)}}}')
    return f"{{{', '.join(entries)}}}"
