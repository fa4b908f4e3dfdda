"""The coloured graph of a model, and the components that a query does not tell apart."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from ...sleptsov.model.net import SleptsovNet
from ...sleptsov.model.validity import KINDS
from ...spiking.model.system import SpikingSystem
from ..query.formula import (
    And,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Query,
    comparisons,
    is_about_one,
    parts_of,
)
from .automorphisms import ColouredGraph


#: Columns of interchangeable components.
Family: TypeAlias = Int[np.ndarray, "components columns"]


def interchangeable(
    graph_of: Callable[[Sequence[Hashable]], ColouredGraph], names: Sequence[str], query: Query
) -> list[Family]:
    """The families of components whose exchange changes neither the model nor a condition of the
    query. If one changes a condition, columns that comparisons treat differently are told apart.

    **Arguments:**

    - `graph_of`: the coloured graph of the model, whose columns have these colours besides.
    - `names`: of the columns.
    """
    conditions = list(_conditions(query.formula))
    families = graph_of([None] * len(names)).components()
    if not all(_is_invariant(conditions, family, names) for family in families):
        families = graph_of(_roles(query, names)).components()
    return [family for family in families if _is_invariant(conditions, family, names)]


def _conditions(formula: Formula):
    """The largest parts that speak of one configuration."""
    if is_about_one(formula):
        yield formula
        return
    for part in parts_of(formula):
        yield from _conditions(part)


def _roles(query: Query, names: Sequence[str]) -> list[Hashable]:
    """How each column occurs in each comparison."""
    found: dict[str, list[Hashable]] = {name: [] for name in names}
    for number, comparison in enumerate(comparisons(query.formula)):
        for variable, coefficient in comparison.linear_terms:
            if variable.neuron in found:
                role = number, variable.observed, variable.rule, coefficient
                found[variable.neuron].append(role)
    return [frozenset(found[name]) for name in names]


def _is_invariant(conditions: Sequence[Formula], family: Family, names: Sequence[str]) -> bool:
    """Whether exchanges of the first component with each other one change no condition."""
    first, *others = family.tolist()
    for other in others:
        pairs = zip([*first, *other], [*other, *first], strict=True)
        renamed: dict[str, str] = {str(names[one]): str(names[two]) for one, two in pairs}
        if any(_normal(formula, renamed) != _normal(formula, {}) for formula in conditions):
            return False
    return True


def _normal(formula: Formula, renamed: Mapping[str, str]) -> Hashable:
    """A condition with other names, such that the order of its parts does not matter."""
    match formula:
        case Comparison():
            terms = formula.linear_terms
            named = [(replace(v, neuron=renamed.get(v.neuron, v.neuron)), x) for v, x in terms]
            return frozenset(named), replace(formula, terms=())
        case Not(part):
            return "not", _normal(part, renamed)
        case And(parts):
            return "and", frozenset(_normal(part, renamed) for part in parts)
        case Or(parts):
            return "or", frozenset(_normal(part, renamed) for part in parts)
        case Implies(left, right):
            return "or", frozenset({("not", _normal(left, renamed)), _normal(right, renamed)})
    raise AssertionError("This is a bug of snpjax, please report it.")


def graph_of_net(net: SleptsovNet, more: Sequence[Hashable]) -> ColouredGraph:
    """Places, transitions and arcs; priorities are arcs between transitions."""
    num = net.num_places
    places = [
        ("place", int(tokens), tuple(final), own)
        for tokens, final, own in zip(
            net.marking, net.final_markings.T.tolist() or [()] * num, more, strict=True
        )
    ]
    arcs: dict[tuple[int, int], tuple[Hashable, ...]] = {}
    for kind in KINDS:
        for place, transition, weight in getattr(net, kind).triples():
            at = place, num + transition
            arcs[at] = (*arcs.get(at, ()), (kind, weight))
    for above, below in net.priorities.tolist():
        arcs[num + above, num + below] = ("priority",)
    colours = [*places, *[("transition",)] * net.num_transitions]
    return ColouredGraph(num, colours, arcs)


def graph_of_system(
    system: SpikingSystem, caps: Mapping[str, int], more: Sequence[Hashable]
) -> ColouredGraph:
    """Neurons and synapses. Neurons with the same initial spikes, rules in the same order and
    input, that are saturated alike, have one colour."""
    colours = [
        (
            neuron.spikes,
            neuron.rules,
            system.input.get(neuron.name),
            neuron.name in system.output,
            caps.get(neuron.name),
            own,
        )
        for neuron, own in zip(system.neurons, more, strict=True)
    ]
    arcs: dict[tuple[int, int], tuple[int, ...]] = {}
    for source, target, weight in system.synapses:
        at = system.names[source], system.names[target]
        arcs[at] = (*arcs.get(at, ()), weight)
    return ColouredGraph(system.num_neurons, colours, arcs)
