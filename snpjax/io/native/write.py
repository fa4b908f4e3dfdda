"""Writing the native JSON: every kind of rule, one neuron and one synapse a line."""

import json
from collections.abc import Iterable, Sequence

from ...spiking.guard import Guard
from ...spiking.rule import AnyRule, BuddingRule, DivisionRule, PlasticityRule, Rule
from ...spiking.system import Neuron, SpikingSystem
from ..losses import Losses


SCHEMA = "snpjax/1"


def write_native(system: SpikingSystem, losses: Losses) -> str:
    """The text of a native file. Equal systems give equal texts. A rule whose guard has no text is
    a loss."""
    rules = _RuleTexts(losses)
    neurons = [_neuron(neuron, rules) for neuron in system.neurons]
    by_label = [
        f"{_string(label)}: {rules.listing(its_rules, label, f'label {label!r}')}"
        for label, its_rules in system.rules_by_label.items()
    ]
    synapses = [f"[{_string(s)}, {_string(t)}, {int(w)}]" for s, t, w in system.synapses]
    trains = [f"{_string(name)}: {_integers(train)}" for name, train in system.input.items()]
    pairs = [f"[{_string(x)}, {_string(y)}]" for x, y in system.dictionary]
    entries = [
        f'"schema": "{SCHEMA}"',
        f'"name": {_string(system.name)}',
        f'"level": "{system.level}"',
        f'"signed": {"true" if system.signed else "false"}',
        f'"neurons": {_lines("[", neurons, "]")}',
        f'"synapses": {_lines("[", synapses, "]")}',
        f'"input": {_lines("{", trains, "}")}',
        f'"output": {_strings(system.output)}',
    ]
    if by_label:
        entries.append(f'"rules_by_label": {_lines("{", by_label, "}")}')
    if pairs:
        entries.append(f'"dictionary": {_lines("[", pairs, "]")}')
    if not system.compatibility.is_textbook:
        entries.append(f'"compatibility": {json.dumps(system.compatibility.options)}')
    if system.notes:
        entries.append(f'"notes": {json.dumps(dict(system.notes), allow_nan=False)}')
    return "{\n  " + ",\n  ".join(entries) + "\n}\n"


def _neuron(neuron: Neuron, rules: "_RuleTexts") -> str:
    label = "" if neuron.label == neuron.name else f', "label": {_string(neuron.label)}'
    its_rules = rules.listing(neuron.rules, neuron.label, f"neuron {neuron.name!r}")
    name = _string(neuron.name)
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
    if isinstance(rule, Rule) and _reads_back(rule):
        return _string(str(rule))
    guard = str(rule.guard)
    if isinstance(rule, Rule | PlasticityRule) and rule.guard.is_exactly(rule.consume):
        entries = []  # without a guard: exactly the spikes consumed
    elif _parses(guard, rule.guard):
        entries = [f'"guard": {_string(guard)}']
    else:
        return None
    if isinstance(rule, DivisionRule):
        entries.append(f'"divide": {_strings((rule.left, rule.right))}')
    elif isinstance(rule, BuddingRule):
        parent = label if rule.parent is None else rule.parent
        entries.append(f'"bud": {_strings((parent, rule.bud))}')
    else:
        entries.append(f'"consume": {int(rule.consume)}')
    if isinstance(rule, Rule):
        entries += [f'"produce": {int(rule.produce)}', f'"delay": {int(rule.delay)}']
    if isinstance(rule, PlasticityRule):
        change = f'{{"alpha": "{rule.alpha}", "k": {int(rule.k)}'
        entries.append(f'"plasticity": {change}, "targets": {_strings(rule.targets)}}}')
    return f"{{{', '.join(entries)}}}"


def _reads_back(rule: Rule) -> bool:
    try:
        return Rule.parse(str(rule)) == rule
    except ValueError:  # a count above the limit of guards, which is fine as a number
        return False


def _parses(text: str, guard: Guard) -> bool:
    try:
        return Guard.parse(text) == guard
    except ValueError:
        return False


def _string(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8, but an escape
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


def _strings(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_string, texts))}]"


def _integers(numbers: Iterable[int]) -> str:
    return f"[{', '.join(str(int(number)) for number in numbers)}]"


def _lines(opening: str, items: Sequence[str], closing: str) -> str:
    if not items:
        return opening + closing
    return f"{opening}\n    " + ",\n    ".join(items) + f"\n  {closing}"
