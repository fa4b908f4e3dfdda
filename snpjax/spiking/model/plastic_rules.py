"""The plasticity rules of a model as columns, whether it lists its neurons or not."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from snpjax_formats import Edges, check_free, host_free_bytes
from snpjax_formats.edges import merged
from snpjax_formats.memory import listed, num_listed

from .population_parts import Population, Projection
from .rule import ALPHAS, PlasticityRule
from .rule_table import as_int64
from .template import PlasticityTemplate, column, has_rule


if TYPE_CHECKING:
    from .population import PopulationSystem
    from .system import SpikingSystem


# Numbers of 64 bits, and what sorts them.
_BYTES_PER_RULE = _BYTES_PER_TARGET = 64
_FIX = "Give plastic neurons fewer targets and synapses."


@dataclass(frozen=True, eq=False)
class PlasticRules:
    """All plasticity rules, in the order of their neurons and numbers.

    - `neuron`, `number`: the position of the neuron, and the rule within it.
    - `kind`: the place of `alpha` in `ALPHAS`.
    - `starts`, `targets`: the set N of rule r is `targets[starts[r] : starts[r + 1]]`, ascending.
    - `initial`: the synapses that leave plastic neurons at first.

    Axes: `rules`, `bounds` of the sets, of which there is one more, and `targets` of all sets.
    """

    neuron: Int[np.ndarray, " rules"]
    number: Int[np.ndarray, " rules"]
    kind: Int[np.ndarray, " rules"]
    k: Int[np.ndarray, " rules"]
    starts: Int[np.ndarray, " bounds"]
    targets: Int[np.ndarray, " targets"]
    initial: Edges

    @cached_property
    def is_plastic(self) -> Bool[np.ndarray, " neurons"]:
        """Which neurons have such a rule."""
        found = np.zeros(self.initial.num_sources, bool)
        found[self.neuron] = True
        return found

    @property
    def rule_of_target(self) -> Int[np.ndarray, " targets"]:
        """The place among the rules of each target's."""
        return np.repeat(np.arange(len(self.neuron)), np.diff(self.starts))

    @property
    def created(self) -> Int[np.ndarray, " targets"]:
        """The synapses that some rule creates, `source * neurons + target` each."""
        creates = np.asarray(["+" in alpha for alpha in ALPHAS])
        rule = self.rule_of_target
        pairs = self.neuron[rule].astype(np.int64) * self.initial.num_targets + self.targets
        return pairs[creates[self.kind[rule]]]

    def targets_of(self, neuron: int, number: int) -> Int[np.ndarray, " targets"]:
        """The set N of one rule; empty for any other rule."""
        start, stop = np.searchsorted(self.neuron, (neuron, neuron + 1))
        rule = start + np.flatnonzero(self.number[start:stop] == number)
        return np.concatenate(
            [self.targets[:0], *(self.targets[self.starts[r] : self.starts[r + 1]] for r in rule)]
        )


def plastic_rules_of_neurons(system: "SpikingSystem") -> PlasticRules | None:
    """Those of a system of single neurons, if it has any."""
    found = [
        (index, number, rule)
        for index, neuron in enumerate(system.neurons)
        for number, rule in enumerate(neuron.rules)
        if isinstance(rule, PlasticityRule)
    ]
    if not found:
        return None
    neuron, number, rules = zip(*found, strict=True)
    sizes = np.asarray([len(rule.targets) for rule in rules])
    names = chain.from_iterable(rule.targets for rule in rules)
    target = np.fromiter(map(system.names.__getitem__, names), np.int64, sizes.sum())
    neuron, edges = np.asarray(neuron), system.edges
    is_plastic = np.zeros(len(system.neurons), bool)
    is_plastic[neuron] = True
    return _in_order(
        neuron,
        np.asarray(number),
        np.asarray([ALPHAS.index(rule.alpha) for rule in rules]),
        as_int64(rule.k for rule in rules),
        np.repeat(np.arange(len(rules)), sizes),
        target,
        edges.subset(is_plastic[edges.source]),
    )


def plastic_rules_of_populations(system: "PopulationSystem") -> PlasticRules | None:
    """Those of a system of populations, if it has any.

    **Raises:** `NotEnoughMemory` before more is listed than the host has memory for.
    """
    _check_memory(system)
    columns: list[tuple[np.ndarray, ...]] = []
    pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for _, population, number, template in plastic_templates(system):
        size, start = population.size, system.slices[population.name].start
        has = has_rule(template, size)
        own = np.flatnonzero(has)
        rule = np.cumsum(has) - 1 + sum(len(c[0]) for c in columns)
        columns.append(
            (
                start + own,
                np.full(len(own), number),
                column(template.kind, size)[own],
                column(template.k, size)[own],
            )
        )
        for name, graph in template.descriptions.items():
            edges = listed(graph, size, system.populations[name].size, _FIX)
            edges = edges if has.all() else edges.subset(has[edges.source])
            pairs.append((rule[edges.source], edges.target + np.int64(system.slices[name].start)))
    if not sum(len(own) for own, *_ in columns):
        return None
    neuron, number, kind, k = map(np.concatenate, zip(*columns, strict=True))
    rule, target = map(np.concatenate, zip(*pairs, strict=True))
    is_plastic = np.zeros(system.num_neurons, bool)
    is_plastic[neuron] = True
    leaving = [edges for _, _, edges in leaving_edges(system, is_plastic)]
    initial = merged([(edges, 0, 0) for edges in leaving], system.num_neurons, system.num_neurons)
    return _in_order(neuron, number, kind, k, rule, target, initial)


def _check_memory(system: "PopulationSystem") -> None:
    """Refuse what has no room while it is sorted."""
    num_rules = num_targets = 0
    for _, population, _, template in plastic_templates(system):
        num_rules += population.size
        for name, graph in template.descriptions.items():
            num_targets += num_listed(graph, population.size, system.populations[name].size)
    needed = _BYTES_PER_RULE * num_rules + _BYTES_PER_TARGET * num_targets
    what = f"{num_rules:,} plasticity rules with {num_targets:,} targets need"
    check_free(needed, host_free_bytes(), what, _FIX)


def plastic_templates(
    system: "PopulationSystem",
) -> Iterator[tuple[int, Population, int, PlasticityTemplate]]:
    """The templates of plasticity, with the number and the population that each is of, and its own
    number there."""
    for index, population in enumerate(system.populations.values()):
        for number, template in enumerate(population.templates):
            if isinstance(template, PlasticityTemplate):
                yield index, population, number, template


def leaving_edges(
    system: "PopulationSystem", is_plastic: Bool[np.ndarray, " neurons"]
) -> Iterator[tuple[int, Projection, Edges]]:
    """The synapses of each projection that leave plastic neurons, if any do: its number, itself,
    and the synapses by positions."""
    size = system.num_neurons
    for index, projection in enumerate(system.projections):
        sources, targets = (system.slices[name] for name in (projection.source, projection.target))
        own = is_plastic[sources]
        if own.any():
            sizes = len(own), targets.stop - targets.start
            edges = listed(projection.description, *sizes, _FIX)
            edges = edges if own.all() else edges.subset(own[edges.source])
            yield index, projection, merged([(edges, sources.start, targets.start)], size, size)


def _in_order(
    neuron: np.ndarray,
    number: np.ndarray,
    kind: np.ndarray,
    k: np.ndarray,
    rule: np.ndarray,
    target: np.ndarray,
    initial: Edges,
) -> PlasticRules:
    """Rules and their targets, each with the place of its rule, sorted."""
    key = neuron * (1 + number.max()) + number
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key)
        neuron, number, kind, k = (x[order] for x in (neuron, number, kind, k))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        rule = place[rule]
    size = initial.num_targets
    pair = rule * size + target
    if np.any(pair[1:] < pair[:-1]):
        pair.sort()
        rule = pair // size
        target = pair - rule * size
    starts = np.concatenate([[0], np.cumsum(np.bincount(rule, minlength=len(neuron)))])
    return PlasticRules(neuron, number, kind, k, starts, target, initial)
