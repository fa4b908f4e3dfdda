"""The names of a system that was read, from the table in a comment of the file."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...spiking.model.population import AnySystem, PopulationSystem
from ...spiking.model.renaming import renamed
from ...spiking.model.rule import BuddingRule, DivisionRule
from ...spiking.model.system import SpikingSystem
from ...spiking.model.validity import InvalidSystem, ModelWarning
from ..source import Report
from .labels import names_of_labels


def with_names(report: Report, system: AnySystem) -> AnySystem:
    """The system with the names of its table, if the file has one; an entry of a label that is not
    there has no effect. A name that is given twice is reported."""
    table = names_of_labels(report)
    if not table:
        return system
    names = {label: name for label, (name, _) in table.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # which were reported already
        try:
            if isinstance(system, PopulationSystem):
                return _of_populations(system, _new(system.populations, names))
            labels = _new(_labels(system), names)
            neurons = {
                x.name: labels[x.label] + x.name.removeprefix(x.label) for x in system.neurons
            }
            return renamed(system, neurons, labels)
        except _Twice as error:
            places = dict(table.values())
            message = f"table of names: two labels have the name {error.args[0]!r}"
            fix = "correct the line, or remove it"
            report.error(places.get(error.args[0], min(places.values())), f"{message} ({fix})")
        except InvalidSystem as error:
            at = min(at for _, at in table.values())
            report.error(at, f"table of names: {error.problems[0].message}")
    return system


class _Twice(Exception):
    """A name of two labels."""


def _new(labels: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """The name of every label: that of the table, which may have it without its indices, or the
    label itself. **Raises:** `_Twice`."""
    known, new, taken = set(labels), {}, set()
    for label in sorted(known):
        family, brace, indices = label.partition("{")
        name = names.get(label)
        if name is None and family not in known and family in names:
            name = names[family] + brace + indices
        new[label] = label if name is None else name
        if new[label] in taken:
            raise _Twice(new[label])
        taken.add(new[label])
    return new


def _labels(system: SpikingSystem) -> set[str]:
    """All labels of a system, also those that only new neurons bear."""
    labels = {neuron.label for neuron in system.neurons} | system.rules_by_label.keys()
    labels |= {label for pair in system.dictionary for label in pair}
    for rules in system.rules_of_labels.values():
        for rule in rules:
            if isinstance(rule, DivisionRule | BuddingRule):
                labels |= set(rule.born)
    return labels


def _of_populations(system: PopulationSystem, new: Mapping[str, str]) -> PopulationSystem:
    def of(name: str) -> str:
        family, brace, indices = name.partition("{")
        return new.get(family, family) + brace + indices

    return PopulationSystem(
        [
            replace(population, name=of(population.name))
            for population in system.populations.values()
        ],
        [replace(x, source=of(x.source), target=of(x.target)) for x in system.projections],
        input={of(name): train for name, train in system.input.items()},
        output=[of(name) for name in system.output],
        signed=system.signed,
        name=system.name,
        compatibility=system.compatibility,
    )
