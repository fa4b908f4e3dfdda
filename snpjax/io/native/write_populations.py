"""Writing systems of populations as the native JSON, one population and one projection a line."""

import json
from typing import Any

import numpy as np

from ...spiking.model.guard import Guard
from ...spiking.model.population import PopulationSystem
from ...spiking.model.population_parts import Population, Projection
from ...spiking.model.rule import Rule
from ...spiking.model.rule_table import ALL, UNBOUNDED
from ...spiking.model.template import AbstractTemplate, PlasticityTemplate
from ..losses import reads_back
from .graphs import graph_entries
from .texts import SCHEMA, as_file, as_lines, as_string, as_strings


def write_populations(system: PopulationSystem) -> str:
    """The text of a native file, which holds everything that there is in such a system."""
    populations = [_population(population, system) for population in system.populations.values()]
    projections = [_projection(projection, system) for projection in system.projections]
    trains = [
        f"{as_string(name)}: {json.dumps(_numbers(train))}" for name, train in system.input.items()
    ]
    entries = [
        f'"schema": "{SCHEMA}"',
        f'"name": {as_string(system.name)}',
        f'"signed": {"true" if system.signed else "false"}',
        f'"populations": {as_lines("[", populations, "]")}',
        f'"projections": {as_lines("[", projections, "]")}',
        f'"input": {as_lines("{", trains, "}")}',
        f'"output": {as_strings(system.output)}',
    ]
    if not system.compatibility.is_textbook:
        entries.append(f'"compatibility": {json.dumps(system.compatibility.options)}')
    return as_file(entries)


def _population(population: Population, system: PopulationSystem) -> str:
    rules = ", ".join(_template(template, population, system) for template in population.templates)
    entries = [
        f'"name": {as_string(population.name)}',
        f'"size": {int(population.size)}',
        f'"spikes": {json.dumps(_numbers(population.spikes))}',
        f'"rules": [{rules}]',
    ]
    if population.indices is not None:
        entries.append(f'"indices": {json.dumps(_numbers(population.indices))}')
    return f"{{{', '.join(entries)}}}"


def _projection(projection: Projection, system: PopulationSystem) -> str:
    sizes = (system.populations[name].size for name in (projection.source, projection.target))
    graph = json.dumps(graph_entries(projection.description, *sizes))
    source, target = as_string(projection.source), as_string(projection.target)
    return f'{{"from": {source}, "to": {target}, "graph": {graph}}}'


def _template(template: AbstractTemplate, population: Population, system: PopulationSystem) -> str:
    consume, produce, delay = template.consume, template.produce, template.delay
    is_all = np.ndim(consume) == 0 and consume == ALL
    is_plastic = isinstance(template, PlasticityTemplate)
    guard = _shared_guard(template)
    is_shared = guard is not None and all(np.ndim(x) == 0 for x in (consume, produce, delay))
    if is_shared and not is_all and not is_plastic:
        least, sent, steps = (int(np.asarray(x)) for x in (consume, produce, delay))
        rule = Rule(guard, least, sent, steps)
        if reads_back(rule):
            return as_string(str(rule))
    entries: dict[str, Any] = {}
    if template.guard is not None:
        has_text = guard is not None and reads_back(guard)
        entries["guard"] = str(guard) if has_text else [_term(*term) for term in template.terms()]
    entries["consume"] = "all" if is_all else _numbers(consume)
    for key, value in (("produce", produce), ("delay", delay)):
        if np.any(np.asarray(value)):
            entries[key] = _numbers(value)
    if is_plastic:
        targets = {
            name: graph_entries(graph, population.size, system.populations[name].size)
            for name, graph in template.descriptions.items()
        }
        change = {"alpha": _numbers(template.alpha), "k": _numbers(template.k)}
        entries["plasticity"] = {**change, "targets": targets}
    return json.dumps(entries)


def _shared_guard(template: AbstractTemplate) -> Guard | None:
    """The guard of all neurons, if it is one, and none so large that only terms can say it."""
    if template.has_terms:
        return None
    if template.guard is not None:
        return Guard.of(template.guard)
    try:
        return Guard.exactly(template.consume) if np.ndim(template.consume) == 0 else None  # pyright: ignore[reportArgumentType]
    except ValueError:
        return None


def _term(low: Any, high: Any, period: Any) -> list[Any]:
    ends = np.asarray(high)
    is_plain = np.ndim(period) == 0 and period == 1
    if is_plain and np.shape(low) == ends.shape and np.all(ends == low):
        return [_numbers(low)]
    is_endless = ends == UNBOUNDED
    if np.any(is_endless):
        ends = ends.astype(object)
        ends[is_endless] = None
    term = [_numbers(low), ends.tolist()]
    return term if is_plain else [*term, _numbers(period)]


def _numbers(values: Any) -> Any:
    """A number or a text, or an array of them, as values of JSON."""
    return np.asarray(values).tolist()
