"""The names of a system that was read from a file with a table of names in a comment."""

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
    """The system with the names in the table of the file, if it has one. Entries for unknown labels
    have no effect and get a warning; the same name for two labels is an error."""
    table = names_of_labels(report)
    if not table:
        return system
    _warn_of_unknown(report, system, table)
    names = {label: name for label, (name, _) in table.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # they have already been reported
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
    """Two labels have the same name."""


def _warn_of_unknown(
    report: Report, system: AnySystem, table: Mapping[str, tuple[str, int]]
) -> None:
    is_of_populations = isinstance(system, PopulationSystem)
    known = set(system.populations) if is_of_populations else _labels(system)
    families = {label.partition("{")[0] for label in known}
    for label, (_, at) in table.items():
        family = label.partition("{")[0]
        if label in known or label in families:
            continue
        if is_of_populations and family in known:
            problem = f"{label!r} is one neuron of a population, which cannot have its own name"
            fix = f"remove the line, or name {family!r}"
        else:
            problem = f"unknown label {label!r}"
            fix = "remove the line, or correct the label"
        report.warning(at, f"table of names: {problem} ({fix})")


def _new(labels: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """The name of every label: the one in the table, where an entry without indices applies to all
    labels of a family, or else the label itself. **Raises:** `_Twice`."""
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
    """All labels of a system, including those of new neurons only."""
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
