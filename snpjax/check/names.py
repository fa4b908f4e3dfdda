"""The neurons that a query names, and what exploration has to know of it."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from ..explore.observed import Observed as ObservedModel
from ..sleptsov.observer import NetObserver
from ..spiking import PopulationSystem, SpikingSystem
from ..spiking.nearest import nearest
from ..spiking.observed import rules_of
from ..spiking.searched import column_of
from ..spiking.system import is_growing
from .errors import QueryError, no_neuron
from .formula import Comparison, Observed, Query, Variable, comparisons


System: TypeAlias = SpikingSystem | PopulationSystem
_OF_NEURONS = (SpikingSystem, PopulationSystem)


class Needs(NamedTuple):
    """How a system is to be explored for a query, see `snpjax.explore`."""

    saturate: Mapping[str, int]
    clock: int


def needs_of(
    query: Query,
    system: System | ObservedModel,
    *,
    saturate: Mapping[str, int] | None,
    max_depth: int | None,
) -> Needs:
    """What a query needs. A given number of spikes to saturate a neuron at has precedence.

    **Raises:** `QueryError` for names that the system does not have.
    """
    check_names(query, system)
    own = saturation_for(query, system) if isinstance(system, _OF_NEURONS) else {}
    return Needs({**own, **(saturate or {})}, clock_for(query, max_depth))


def check_names(query: Query, system: System | ObservedModel) -> None:
    """**Raises:** `QueryError` for the first name or rule that the system does not have."""
    variables = [v for comparison in comparisons(query.formula) for v, _ in comparison.terms]
    for variable in sorted(variables, key=lambda variable: variable.at):
        if variable.observed in (Observed.STEP, Observed.HALTED):
            continue
        if variable.observed is Observed.FINAL:
            _check_final(query, variable, system)
        elif isinstance(system, _OF_NEURONS):
            _check_name(query, variable, system)
        else:
            _check_observed(query, variable, system)


def _check_observed(query: Query, variable: Variable, model: ObservedModel) -> None:
    """Of a model that says itself what is to be seen: numbers by name."""
    if variable.observed is not Observed.SPIKES:
        problem = f"only neurons have `{variable.observed.value}` (compare numbers by their names)"
        raise QueryError(query.text, variable.at, problem)
    known = model.observed().names
    if variable.neuron not in known:
        problem = f"there is no {variable.neuron!r} ({nearest(variable.neuron, known, 'names')})"
        raise QueryError(query.text, variable.at, problem)


def _check_final(query: Query, variable: Variable, model: System | ObservedModel) -> None:
    observer = None if isinstance(model, _OF_NEURONS) else model.observed()
    if not isinstance(observer, NetObserver):
        problem = 'only nets have final markings (for the spikes of a neuron write "final")'
    elif not len(observer.net.final_markings):
        problem = "the net has no final markings (give it `final_markings`, or name the places)"
    else:
        return
    raise QueryError(query.text, variable.at, problem)


def _check_name(query: Query, variable: Variable, system: System) -> None:
    name, at = variable.neuron, variable.at
    if is_growing(system):
        rules = rules_of(system)
        if name not in rules:
            raise no_neuron(query.text, at, name, rules, "label")
        if variable.observed is Observed.FIRES:
            _check_rule(query, variable, len(rules[name]), "label")
        return
    if not system.has(name):
        names = system.names if isinstance(system, SpikingSystem) else system.populations
        raise no_neuron(query.text, at, name, names)
    position = system.position_of(name)
    if isinstance(position, slice):
        first = system.name_of(position.start)
        count = position.stop - position.start
        problem = f'{name!r} is a population of {count:,} neurons (name one of them: "{first}")'
        raise QueryError(query.text, at, problem)
    if variable.observed is Observed.FIRES:
        _check_rule(query, variable, len(system.neurons[position].rules), "neuron")


def _check_rule(query: Query, variable: Variable, num_rules: int, what: str) -> None:
    if variable.rule >= num_rules:
        known = f"0 to {num_rules - 1}" if num_rules else "none"
        problem = f"{what} {variable.neuron!r} has no rule {variable.rule} (its rules: {known})"
        raise QueryError(query.text, variable.at, problem)


def saturation_for(query: Query, system: System) -> dict[str, int]:
    """Where the spikes of neurons without rules can be cut without a change to any answer; of
    labels without rules where neurons divide or bud, each neuron by itself.

    Nothing depends on their spikes but the comparisons of the query. A neuron in none of these is
    cut at 1, one that is the only variable of each of its comparisons above the largest number that
    decides one of them, and any other not at all.
    """
    if system.signed:
        return {}
    caps: dict[str, int | None] = {}
    for comparison in comparisons(query.formula):
        for variable, _ in comparison.terms:
            if variable.observed is Observed.SPIKES:
                name = variable.neuron
                known, needed = caps.get(name, 1), None
                if len(comparison.terms) == 1 and known is not None:
                    needed = max(known, decided_from(comparison))
                caps[name] = needed
    saturate = dict.fromkeys(_without_rules(system, caps), 1)
    for name, cap in caps.items():
        if cap is not None and not column_of(system, name)[1]:
            saturate[name] = cap
    return saturate


def _without_rules(system: System, mentioned: dict[str, int | None]) -> list[str]:
    """Neurons, labels or whole populations that have no rules and are not mentioned."""
    if is_growing(system):
        return [name for name, own in rules_of(system).items() if not own and name not in mentioned]
    if isinstance(system, SpikingSystem):
        others = (name for name in system.names if name not in mentioned)
        return [name for name in others if not column_of(system, name)[1]]
    positions = [_position(system, name) for name in mentioned]
    touched = {system.population_at(position)[0] for position in positions}
    populations = system.populations.items()
    return [name for name, own in populations if not own.rules and name not in touched]


def _position(system: System, name: str) -> int:
    position = system.position_of(name)
    assert isinstance(position, int)
    return position


def clock_for(query: Query, max_depth: int | None) -> int:
    """Up to which step configurations of different steps are to be told apart.

    **Raises:** `QueryError` where `step` is compared with neurons and nothing bounds it.
    """
    clock = 0
    for comparison in comparisons(query.formula):
        for variable, _ in comparison.terms:
            if variable.observed is Observed.STEP:
                if len(comparison.terms) == 1:
                    clock = max(clock, decided_from(comparison))
                elif max_depth is None:
                    problem = "`step` is compared with what is no constant (give `max_depth`)"
                    raise QueryError(query.text, variable.at, problem)
                else:
                    clock = max(clock, max_depth + 1)
    return clock


def check_clock(query: Query, clock: int) -> None:
    """**Raises:** `QueryError` where a graph does not tell the steps of a query apart."""
    for comparison in comparisons(query.formula):
        for variable, _ in comparison.terms:
            if variable.observed is Observed.STEP:
                needed = decided_from(comparison) if len(comparison.terms) == 1 else 1
                if clock < needed:
                    problem = (
                        f"the graph does not tell these steps apart (explore with `clock={needed}` "
                        "or more, or check the system itself)"
                    )
                    raise QueryError(query.text, variable.at, problem)


def decided_from(comparison: Comparison) -> int:
    """From where on the one variable of a comparison does not change its truth."""
    ((_, coefficient),) = comparison.terms
    return max(comparison.constant // coefficient + 1, 1)
