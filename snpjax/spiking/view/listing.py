"""Systems as text: neurons or populations with their spikes and rules."""

import numpy as np

from ..._text.counts import plural
from ..._text.listing import rules_cell, set_lines, table_lines
from ..model.population import AnySystem, PopulationSystem
from ..model.population_parts import Population
from ..model.rule import AnyRule, rule_text
from ..model.system import SpikingSystem
from ..model.template import AbstractTemplate, column, texts_of_template
from ..model.variants import SynapseRules
from .summary import spikes_line


def system_text(system: AnySystem) -> str:
    """The first neurons or populations with their rules, the first synapses, inputs and outputs."""
    lines = _neurons(system) if isinstance(system, SpikingSystem) else _populations(system)
    ends = {name: (x, len(x)) for name, x in (("input", system.input), ("output", system.output))}
    return "\n".join([repr(system), *lines, *set_lines(**ends)])


def _populations(system: PopulationSystem) -> list[str]:
    rows = map(_population_row, system.populations.values())
    projections = (
        f"({p.source}, {p.target}) {type(p.description).__name__}" for p in system.projections
    )
    return [
        *table_lines(rows, len(system.populations), "population"),
        *set_lines(projections=(projections, len(system.projections))),
    ]


def _population_row(population: Population) -> tuple[str, ...]:
    size = population.size

    def text_of(rule: AbstractTemplate) -> str:
        return " ... ".join(texts_of_template(rule, size))

    spikes = spikes_line(np.asarray(column(population.spikes, size)))
    rules = rules_cell(population.templates, text_of) if size else ""
    return population.name, plural(size, "neuron"), spikes, rules


def _neurons(system: SpikingSystem) -> list[str]:
    rows = ((n.name, plural(n.spikes, "spike"), _rules(n.rules, n.label)) for n in system.neurons)
    lines = table_lines(rows, system.num_neurons, "neuron")
    if isinstance(system.variant, SynapseRules):
        synapse_rules = system.variant.rules
        rows = ((_tuple(s, t or "out"), rules_cell(own, str)) for (s, t), own in synapse_rules)
        lines += table_lines(rows, len(synapse_rules), "synapse")
    labels = system.rules_by_label
    rows = ((f"label {label}", _rules(own, label)) for label, own in labels.items())
    lines += table_lines(rows, len(labels), "label")
    synapses = (_tuple(s, t, *[w] * (w != 1)) for s, t, w in system.synapses)
    pairs = (_tuple(*pair) for pair in system.dictionary)
    sets = {
        "synapses": (synapses, len(system.synapses)),
        "dictionary": (pairs, len(system.dictionary)),
    }
    return lines + set_lines(**sets)


def _rules(rules: tuple[AnyRule | str, ...], label: str) -> str:
    return rules_cell(rules, lambda rule: rule_text(rule, label))


def _tuple(*parts: str | int) -> str:
    return f"({', '.join(map(str, parts))})"
