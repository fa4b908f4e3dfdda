"""Systems with other names of their neurons and labels."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from .rule import AnyRule, BuddingRule, DivisionRule, PlasticityRule, RequestRule
from .system import Json, Neuron, SpikingSystem, Synapse


def renamed(
    system: SpikingSystem, names: Mapping[str, str], labels: Mapping[str, str]
) -> SpikingSystem:
    """The system with other names; its channels stay as they are, and its notes but for positions.

    **Arguments:**

    - `names`: the new names of neurons by their old ones; others keep theirs.
    - `labels`: in the same way those of labels.

    **Raises:** `InvalidSystem` for a name that is given twice.
    """

    def of(name: str) -> str:
        return names.get(name, name)

    def of_label(name: str) -> str:
        return labels.get(name, name)

    def rules_of(rules: Iterable[Any]) -> list[Any]:
        return [renamed_rule(rule, names, labels) for rule in rules]

    called = of_label if system.is_growing else of  # inputs and outputs name labels there
    return system.replace(
        neurons=[
            Neuron(of(x.name), x.spikes, rules_of(x.rules), of_label(x.label))
            for x in system.neurons
        ],
        synapses=[Synapse(of(s), of(t), weight) for s, t, weight in system.synapses],
        input={called(name): train for name, train in system.input.items()},
        output=[called(name) for name in system.output],
        dictionary=[(of_label(s), of_label(t)) for s, t in system.dictionary],
        rules_by_label={of_label(x): rules_of(r) for x, r in system.rules_by_label.items()},
        variant=_renamed(system.variant, names),
        notes=_renamed_positions(system.notes, names),
    )


def _renamed_positions(notes: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    """Notes whose positions, if there are any, follow the new names of neurons."""
    noted = notes.get("positions")
    if not isinstance(noted, Mapping):
        return dict(notes)
    positions = {name: place for name, place in noted.items() if name not in names}
    positions |= {new: noted[old] for old, new in names.items() if old in noted}
    return {**notes, "positions": positions}


def renamed_rule(rule: Any, names: Mapping[str, str], labels: Mapping[str, str]) -> Any:
    """A rule with other names of neurons and labels, where its kind has any."""
    if isinstance(rule, PlasticityRule):
        return replace(rule, targets=_renamed(rule.targets, names))
    if isinstance(rule, RequestRule):
        return replace(rule, queries=_renamed(rule.queries, names))
    if isinstance(rule, DivisionRule):
        return replace(rule, left=_renamed(rule.left, labels), right=_renamed(rule.right, labels))
    if isinstance(rule, BuddingRule):
        return replace(rule, bud=_renamed(rule.bud, labels), parent=_renamed(rule.parent, labels))
    return rule


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Any tuple or data class with other names in it."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, tuple):
        own = [_renamed(item, names) for item in value]
        return tuple(own) if type(value) is tuple else type(value)(*own)  # or a named tuple
    if is_dataclass(value) and not isinstance(value, type | AnyRule):
        own = {field.name: _renamed(getattr(value, field.name), names) for field in fields(value)}
        return replace(value, **own)
    return value
