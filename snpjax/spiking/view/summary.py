"""A network in few boxes: populations as they are, or neurons of one family or with the same rules
together."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

from snpjax_formats import graphs

from ...drawing.scene import shortened
from ..model.neuron_names import base_of
from ..model.plastic_rules import plastic_templates
from ..model.population import AnySystem, PopulationSystem
from ..model.population_parts import Population
from ..model.system import Neuron, SpikingSystem
from ..model.template import (
    AbstractTemplate,
    PlasticityTemplate,
    column,
    texts_of_template,
)
from .pretty import pretty, pretty_plasticity, rule_lines, spikes_text


#: Of more neurons nobody reads the rules of each.
MAX_NEURONS = 60
_MAX_RULES = 4  # of a population
MAX_NAME = 24
_MAX_KINDS = 4  # lists of rules in a family that are distinguished
_MAX_LINKS, _LINKS_OF_CARD = 64, 3  # arrows between boxes, whichever are more
#: Of more arrows the labels are numbers only.
MAX_WORDED = 20

_FAMILY = re.compile(r"(.*?)[_ .-]?(?:\{[^{}]*\}|\[[^\[\]]*\]|\d+)", re.DOTALL)
_BRACKETED = re.compile(r"(?:\{[^{}]*\}|\[[^\[\]]*\])$")
_INDEX = re.compile(r"(?<=[{,])-\d{1,18}|\d{1,18}")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Card(NamedTuple):
    """What stands in a box: a neuron, or many (`is_many`); one that does not exist yet is
    `is_unborn`. `feed` is what the environment sends."""

    name: str
    spikes: str
    lines: tuple[str, ...]
    is_output: bool = False
    feed: str = ""
    is_many: bool = False
    is_unborn: bool = False
    leaves_below: bool = False  # what an output sends, as there are synapses on its right


#: The name of some neurons, and their numbers.
Group: TypeAlias = tuple[str, list[int]]


class CardLink(NamedTuple):
    """An arrow from a card to a card."""

    source: int
    target: int
    label: str = ""
    is_dashed: bool = False


def summary(system: AnySystem, max_cards: int) -> tuple[list[Card], list[CardLink]]:
    """A large system in few boxes, at most this many where it is not a system of populations."""
    if isinstance(system, PopulationSystem):
        numbers = {name: number for number, name in enumerate(system.populations)}
        cards = [_population(system, p) for p in system.populations.values()]
        graphs_of = [(p.source, p.target, p.description) for p in system.projections]
        links = [CardLink(numbers[s], numbers[t], _graph(system, s, t, g)) for s, t, g in graphs_of]
        possible = [
            CardLink(numbers[own.name], numbers[name], _graph(system, own.name, name, graph))
            for _, own, _, template in plastic_templates(system)
            for name, graph in template.descriptions.items()
        ]
        return cards, _merged(links, False) + _merged(possible, True)
    groups = _groups(system, max_cards)
    called = [n.label if system.is_growing else n.name for n in system.neurons]
    cards = [
        _group(
            name,
            [system.neurons[i] for i in members],
            any(called[i] in system.output for i in members),
            sum(called[i] in system.input for i in members),
        )
        for name, members in groups
    ]
    graph = system.edges
    pairs = _pairs(system, groups)
    distinct, which = np.unique(pairs, axis=0, return_inverse=True)
    counts = np.bincount(which.ravel(), minlength=len(distinct))
    weights = np.ones(len(pairs), np.int64) if graph.value is None else graph.value
    links = []
    for number, ((s, t), count) in enumerate(zip(distinct.tolist(), counts.tolist(), strict=True)):
        own = weights[which.ravel() == number]
        is_full = count == len(groups[s][1]) * len(groups[t][1]) > 1
        text = f"{count:,}" + f" synapse{'s' * (count > 1)}" * (len(distinct) <= MAX_WORDED)
        text = "all to all" if is_full else text
        links.append(CardLink(s, t, text + _weights(int(own.min()), int(own.max()))))
    return cards, links


def natural_order(names: Sequence[str]) -> list[int]:
    """The numbers of some names such that those that differ only in their indices are in the order
    of these, `n{2}` before `n{10}`, and share the places that they had."""
    families: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        families.setdefault(_INDEX.sub("#", name), []).append(number)
    order = list(range(len(names)))
    for places in families.values():
        members = sorted(places, key=lambda i: list(map(int, _INDEX.findall(names[i]))))
        for place, member in zip(places, members, strict=True):
            order[place] = member
    return order


def families_of(names: Sequence[str]) -> list[int]:
    """Equal numbers for names that differ only in their last indices in braces or brackets."""
    found: dict[str, int] = {}
    prefixes = (_BRACKETED.sub("{", name) for name in names)
    return [found.setdefault(prefix, len(found)) for prefix in prefixes]


def _groups(system: SpikingSystem, most: int) -> list[Group]:
    """Neurons by the family of their names, and by their rules where these are few lists; by family
    alone, and small families in one box, where boxes or arrows would be too many to be read."""
    families: dict[str, list[int]] = {}
    for number, neuron in enumerate(system.neurons):
        match = _FAMILY.fullmatch(neuron.name)
        families.setdefault(match[1] if match else neuron.name, []).append(number)
    found: list[Group] = []
    for family, members in families.items():
        kinds: dict[Any, list[int]] = {}
        for i in members:
            kinds.setdefault(system.neurons[i].rules, []).append(i)
        parts = list(kinds.values()) if len(kinds) <= _MAX_KINDS else [members]
        found += [(family, part) for part in parts]
    if len(found) <= most and _are_readable(system, found):
        return found
    found = list(families.items())
    if len(found) <= most and _are_readable(system, found):
        return found
    by_size = sorted(found, key=lambda group: -len(group[1]))
    for kept in range(min(most, len(found)) - 1, -1, -1):
        rest = sorted(i for _, members in by_size[kept:] for i in members)
        found = [*by_size[:kept], ("others", rest)]
        if _are_readable(system, found):
            break
    return found


def _are_readable(system: SpikingSystem, groups: list[Group]) -> bool:
    """Whether the arrows between groups are few enough."""
    num_links = len(np.unique(_pairs(system, groups), axis=0))
    return num_links <= max(_MAX_LINKS, _LINKS_OF_CARD * len(groups))


def _pairs(system: SpikingSystem, groups: list[Group]) -> Int[np.ndarray, "synapses 2"]:
    """The groups at both ends of every synapse."""
    group_of = np.zeros(len(system.neurons), np.int64)
    for number, (_, members) in enumerate(groups):
        group_of[members] = number
    graph = system.edges
    return np.stack([group_of[graph.source], group_of[graph.target]], axis=1)


def _group(name: str, neurons: list[Neuron], is_output: bool, num_inputs: int) -> Card:
    if len(neurons) == 1:
        (only,) = neurons
        lines = rule_lines(only.rules, only.label, _MAX_RULES)
        spikes = spikes_text(int(only.spikes)) if only.spikes else ""
        feed = "in: 1 train" * bool(num_inputs)
        return Card(shortened(only.name, MAX_NAME), spikes, tuple(lines), is_output, feed)
    kinds = Counter(neuron.rules for neuron in neurons)
    spikes = np.asarray([neuron.spikes for neuron in neurons], object)
    lines = [spikes_line(spikes)]
    if len(kinds) == 1:
        own = neurons[0]
        lines += rule_lines(own.rules, own.label, _MAX_RULES)
    else:
        total = sum(len(neuron.rules) for neuron in neurons)
        lines.append(f"{len(kinds):,} lists of rules, {total:,} in all")
    feed = f"in: {num_inputs:,} train{'s' * (num_inputs > 1)}" if num_inputs else ""
    return Card(
        shortened(name or "neurons", MAX_NAME),
        f"× {len(neurons):,}",
        tuple(line for line in lines if line),
        is_output,
        feed,
        is_many=True,
    )


def _population(system: PopulationSystem, population: Population) -> Card:
    size = population.size
    spikes = np.asarray(column(population.spikes, size))
    rules = [_rule(template, size) for template in population.templates if size]

    def has(named: Iterable[str]) -> bool:
        return any(population.name in (name, base_of(name)) for name in named)

    return Card(
        shortened(population.name, MAX_NAME),
        f"× {size:,}",
        tuple(line for line in [spikes_line(spikes), *rule_lines(rules, "", _MAX_RULES)] if line),
        has(system.output),
        "in: trains" if has(system.input) else "",
        size > 1,
    )


def _rule(template: AbstractTemplate, size: int) -> str:
    """A rule of all neurons, or of the first and the last."""
    typeset = pretty_plasticity if isinstance(template, PlasticityTemplate) else pretty
    return "  …  ".join(map(typeset, texts_of_template(template, size)))


def spikes_line(spikes: np.ndarray) -> str:
    """Initial spikes of many neurons in words; empty where none has any."""
    if not len(spikes) or not np.any(spikes):
        return ""
    low, high = int(spikes.min()), int(spikes.max())
    noun = "spike" if low == high == 1 else "spikes"
    return f"{low:,} {noun} each" if low == high else f"{low:,} to {high:,} {noun}"


def _graph(system: PopulationSystem, source: str, target: str, graph: graphs.AbstractGraph) -> str:
    kind = _WORDS.sub(" ", type(graph).__name__).lower()
    if kind == "pairs":
        count = graph.num_edges(*(system.populations[p].size for p in (source, target)))
        kind = f"{count:,} synapse{'s' * (count != 1)}"
    return kind + _weights(*map(int, graph.weight_range()))


def _weights(low: int, high: int) -> str:
    if low == high == 1:
        return ""
    text = f" × {low}" if low == high else f" × {low} to {high}"
    return text.replace("-", "−")


def _merged(links: list[CardLink], is_dashed: bool) -> list[CardLink]:
    """One arrow from a box to another, with all its labels."""
    found: dict[tuple[int, int], list[str]] = {}
    for link in links:
        found.setdefault((link.source, link.target), []).append(link.label)
    return [CardLink(*pair, " + ".join(labels), is_dashed) for pair, labels in found.items()]
