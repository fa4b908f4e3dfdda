"""What makes a system of populations valid."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Bool

from snpjax_formats import NotEnoughMemory, graphs

from ..._text.nearest import nearest
from .neuron_names import problem_of
from .plastic_rules import PlasticRules, leaving_edges, plastic_templates
from .population_parts import Population, Projection
from .rule import ALPHAS, RuleError
from .rule_table import ALL, UNBOUNDED
from .template import (
    AbstractTemplate,
    PlasticityTemplate,
    column,
    description_of,
    has_rule,
    raised_terms,
)
from .validity import Place, Problem


if TYPE_CHECKING:
    from .population import PopulationSystem

# Numbers of one neuron stay far below 64 bits, so that what lowering computes from them does too.
_LIMIT = 2**62


_Finding: TypeAlias = tuple[Place, str]
_Part: TypeAlias = tuple[int | str, ...]


def problems_of(
    system: "PopulationSystem", populations: tuple[Population, ...]
) -> Iterator[_Finding]:
    """Everything that is wrong with a system, with what it is about."""
    seen: set[str] = set()
    for index, population in enumerate(populations):
        place = Place("neuron", index)
        if not isinstance(population, Population):
            yield place, f"{population!r} is not a population (write Population(name, size, ...))"
            continue
        if not isinstance(population.name, str) or not population.name:
            yield place, f"population {index} has the name {population.name!r} (give a text)"
            continue
        if population.name in seen:
            yield place, f"two populations are named {population.name!r} (rename one)"
        seen.add(population.name)
        yield from _population_problems(population, index, system.signed)
    can_be_found = (_is_size(p.size) and _problem_of_names(p) is None for p in populations)
    if len(seen) < len(populations) or not all(can_be_found):
        return
    yield from _projection_problems(system)

    def hint_for(name: object) -> str:
        return nearest(str(name), system.populations, "populations")

    for name, train in system.input.items():
        if system.has(name):
            yield from _train_problems(system, name, train)
        else:
            yield Place("input", name), f"input {name!r} is not a population ({hint_for(name)})"
    for name in system.output:
        if not system.has(name):
            yield Place("output", name), f"output {name!r} is not a population ({hint_for(name)})"


def _train_problems(system: "PopulationSystem", name: str, train: Any) -> Iterator[_Finding]:
    positions = system.slice_of(name)
    place, size = Place("input", name), positions.stop - positions.start
    fix = f"give integers, (steps,) or (steps, {size})"
    if not _is_integer(train):
        yield place, f"the input of {name!r} is not an array of integers ({fix})"
        return
    array = np.asarray(train)
    if array.ndim not in (1, 2) or array.shape[1:] not in ((), (size,)):
        yield place, f"the input of {name!r} has shape {array.shape} ({fix})"
    elif array.size and array.max() > _LIMIT:
        yield place, f"the input of {name!r} has {array.max()} spikes (give at most {_LIMIT})"
    elif array.size and array.min() < (-_LIMIT if system.signed else 0):
        yield place, f"the input of {name!r} is negative (build with signed=True)"


def _population_problems(population: Population, index: int, signed: bool) -> Iterator[_Finding]:
    name = population.name
    place = Place("neuron", index)
    if not _is_size(population.size):
        message = f"population {name!r} has size {population.size!r} (give a number >= 0)"
        yield replace(place, part=("size",)), message
        return
    problem = _problem_of_names(population)
    if problem is not None:
        yield replace(place, part=("indices",)), f"population {name!r}: {problem}"
        return
    least, what = -_LIMIT if signed else 0, f"population {name!r}"
    for part, text in _number_problems(population, "spikes", population.spikes, least, what):
        yield replace(place, part=part), text
    try:
        templates = population.templates
    except (RuleError, ValueError, TypeError) as error:
        yield place, f"population {name!r}: {error}"
        return
    is_sound = True
    for number, template in enumerate(templates):
        what = f"population {name!r}, rule {number + 1}"
        for part, text in _template_problems(population, template, what):
            is_sound = False
            yield Place("rule", index, number, part), text
    if is_sound:
        for number, text in _repetitions(population):
            yield Place("rule", index, number), text


def _template_problems(
    population: Population, template: AbstractTemplate, what: str
) -> Iterator[tuple[_Part, str]]:
    consume = template.consume
    is_all = _is_integer(consume) and bool(np.any(np.asarray(consume) == ALL))
    if isinstance(template, PlasticityTemplate):
        yield from _plasticity_part_problems(population, template, what)
        if is_all:
            yield (
                ("consume",),
                f"{what}: plasticity consumes a number of spikes (give one, not ALL)",
            )
            return
    if is_all and np.ndim(consume) > 0:
        yield ("consume",), f"{what}: only some neurons consume ALL (make two rules of it)"
        return
    if not is_all:
        yield from _number_problems(population, "consume", consume, 1, what)
    yield from _number_problems(population, "produce", template.produce, 0, what)
    yield from _number_problems(population, "delay", template.delay, 0, what, 2**31 - 2)
    if _is_integer(template.produce) and _is_integer(template.delay):
        produce, delay = np.asarray(template.produce), np.asarray(template.delay)
        late = np.atleast_1d((produce == 0) & (delay > 0))
        if late.any():
            where = _nth(population, late)
            yield ("delay",), f"{what}: a forgetting rule has no delay (remove it, {where})"
    try:
        terms = template.terms()
    except (ValueError, TypeError) as error:
        yield ("guard",), f"{what}: {error}"
        return
    sound = []
    for nth, (low, high, period) in enumerate(terms, start=1):
        of_term = f"{what}, term {nth}"
        found = [
            *_number_problems(population, "low", low, 0, of_term),
            *_number_problems(population, "high", high, -1, of_term, UNBOUNDED),
            *_number_problems(population, "period", period, 1, of_term),
        ]
        for (name, *neuron), text in found:
            yield ("guard", nth - 1, ("low", "high", "period").index(f"{name}"), *neuron), text
        sound.append(not found)
    if is_all and _is_integer(template.produce) and np.any(np.asarray(template.produce)):
        yield ("produce",), f"{what}: a rule that consumes ALL forgets (let it produce 0)"
    if not all(sound):
        return
    arrays = [tuple(np.asarray(x, np.int64) for x in term) for term in terms]
    for (i, first), (j, second) in combinations(enumerate(arrays, start=1), 2):
        meets = _meet(first, second)
        if meets.any():
            where = _nth(population, meets)
            message = (
                f"{what}: terms {i} and {j} share a count in {where} (make the terms disjoint)"
            )
            yield ("guard", j - 1), message


def _plasticity_part_problems(
    population: Population, template: PlasticityTemplate, what: str
) -> Iterator[tuple[_Part, str]]:
    """What is wrong with what only plasticity has, in one population."""
    for part, text in _number_problems(population, "k", template.k, 1, what):
        yield ("plasticity", *part), text
    alpha = np.asarray(template.alpha)
    wrong = np.atleast_1d(~np.isin(alpha, ALPHAS))
    if alpha.shape not in ((), (population.size,)):
        message = (
            f"{what}: `alpha` has shape {alpha.shape} (give one text, or one for each of the "
            f"{population.size} neurons)"
        )
        yield ("plasticity", "alpha"), message
    elif wrong.any():
        first = int(np.argmax(wrong))
        value = np.atleast_1d(alpha)[first].item()
        where, fix = _nth(population, wrong), f"give one of {', '.join(ALPHAS)}"
        part = ("plasticity", "alpha", *([first] if alpha.ndim else []))
        yield part, f"{what}: `alpha` is {value!r} in {where} ({fix})"
    if not isinstance(template.targets, Mapping):
        message = f"{what}: `targets` is {template.targets!r} (give a graph for each population)"
        yield ("plasticity", "targets"), message
        return
    try:
        template.descriptions  # noqa: B018
    except (ValueError, TypeError) as error:
        yield ("plasticity", "targets"), f"{what}: {error}"


def _number_problems(
    population: Population, name: str, values: Any, least: int, what: str, most: int = _LIMIT
) -> Iterator[tuple[_Part, str]]:
    if not _is_integer(values):
        yield (name,), f"{what}: `{name}` is {values!r} (give integers)"
    elif np.ndim(values) > 0 and np.shape(values) != (population.size,):
        message = (
            f"{what}: `{name}` has shape {np.shape(values)} (give one number, or one for each of "
            f"the {population.size} neurons)"
        )
        yield (name,), message
    else:
        array = np.asarray(values)
        wrong = np.atleast_1d((array < least) | (array > most))
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            value = np.atleast_1d(array)[first]
            fix = f"give at least {least}" if value < least else f"give at most {most}"
            part = (name, first) if array.ndim else (name,)
            yield part, f"{what}: `{name}` is {value} in {_nth(population, wrong)} ({fix})"


def _problem_of_names(population: Population) -> str | None:
    name, size, indices = population.name, population.size, population.indices
    return None if indices is None else problem_of(name, size, indices)


def _is_size(size: Any) -> bool:
    return _is_integer(size) and np.ndim(size) == 0 and size >= 0


def _is_integer(values: Any) -> bool:
    try:
        array = np.asarray(values)
    except ValueError:  # a ragged list
        return False
    return array.size == 0 or np.issubdtype(array.dtype, np.integer)


def _nth(population: Population, wrong: np.ndarray) -> str:
    """The first neuron where something is wrong."""
    if wrong.size == 1:
        return "every neuron"
    return f"neuron {population.names.of(int(np.flatnonzero(wrong)[0]))}"


def _repetitions(
    population: Population, system: "PopulationSystem | None" = None
) -> Iterator[tuple[int, str]]:
    """Rules that are one and the same in some neuron: two alternatives, or one? Those of plasticity
    with the `system`, which knows their targets, and the others without."""
    name = population.name
    width = _width(population) if system is None else population.size
    numbered = [
        (number, template, slot)
        for number, template in enumerate(population.templates, start=1)
        if isinstance(template, PlasticityTemplate) is (system is not None)
        for slot in raised_terms(template)
    ]
    for (i, first, a), (j, second, b) in combinations(numbered, 2):
        if i == j:
            continue
        meets = np.zeros(width, bool)
        where = np.flatnonzero(np.broadcast_to(_effect_equal(first, a, second, b), (width,)))
        if len(where):
            meets[where] = _meet(_at(a, where, width), _at(b, where, width))
        if system is not None and meets.any():
            meets &= _same_targets(system, population, i - 1, j - 1)
        if meets.any():
            message = (
                f"population {name!r}: rules {i} and {j} do the same at one count in "
                f"{_nth(population, meets)} (let only one of them apply)"
            )
            yield j - 1, message


def _same_targets(
    system: "PopulationSystem", population: Population, first: int, second: int
) -> Bool[np.ndarray, " neurons"]:
    """In which neurons of a population two rules of plasticity have one set of targets."""
    rules, own = system.plastic_rules, system.slices[population.name]
    assert rules is not None
    rule = rules.rule_of_target
    neuron, number = rules.neuron[rule], rules.number[rule]
    pairs = neuron * system.num_neurons + rules.targets
    differ = np.setxor1d(pairs[number == first], pairs[number == second]) // system.num_neurons
    return ~np.isin(np.arange(own.start, own.stop), differ)


def _effect_equal(first: AbstractTemplate, a: Any, second: AbstractTemplate, b: Any) -> np.ndarray:
    """Whether both are the forgetting of all spikes, or equal in everything but the targets of
    plasticity."""
    if isinstance(first, PlasticityTemplate):
        takes_all = np.asarray(False)
    else:
        takes_all = _takes_all(first, a) & _takes_all(second, b)
    numbers = [
        (*term, template.consume, *_effect(template))
        for template, term in ((first, a), (second, b))
    ]
    equal = [np.asarray(x) == np.asarray(y) for x, y in zip(*numbers, strict=True)]
    return np.atleast_1d(takes_all | np.all(np.broadcast_arrays(*equal), axis=0))


def _effect(template: AbstractTemplate) -> tuple[Any, Any]:
    if isinstance(template, PlasticityTemplate):
        return template.kind, template.k
    return template.produce, template.delay


def _takes_all(template: AbstractTemplate, term: Any) -> np.ndarray:
    low, high, _ = term
    consume = np.asarray(template.consume)
    forgets = (np.asarray(template.produce) == 0) & (np.asarray(template.delay) == 0)
    return forgets & ((consume == ALL) | ((low == high) & (low == consume)))


def _width(population: Population) -> int:
    """The number of neurons that may differ."""
    return 1 if population.is_shared else population.size


def _at(term: Any, where: np.ndarray, width: int) -> list[np.ndarray]:
    return [np.broadcast_to(x, (width,))[where] for x in term]


def _meet(first: Any, second: Any) -> np.ndarray:
    """Whether two terms share a count, neuron by neuron."""
    low, high, period, low2, high2, period2 = np.broadcast_arrays(
        *(np.atleast_1d(x) for x in (*first, *second))
    )
    step = np.gcd(period, period2)
    latest, earliest = np.maximum(low, low2), np.minimum(high, high2)
    possible = (latest <= earliest) & ((low2 - low) % step == 0)
    # Where one period divides the other, the sparser progression decides.
    sparse_low = np.where(period >= period2, low, low2)
    stride = np.maximum(period, period2)
    common = sparse_low + -(-np.maximum(latest - sparse_low, 0) // stride) * stride
    meets = possible & (common <= earliest)
    for index in np.flatnonzero(possible & (step < np.minimum(period, period2))):
        # By the Chinese remainder theorem: low + period * n is in the second progression first at
        # this n, and then in every (period2 / step)-th one.
        p, q, g = int(period[index]), int(period2[index]), int(step[index])
        gap = int(low2[index]) - int(low[index])
        n = gap // g * pow(p // g, -1, q // g) % (q // g)
        shared, apart = int(low[index]) + p * n, p // g * q
        behind = int(latest[index]) - shared
        shared += max(0, -(-behind // apart)) * apart
        meets[index] = shared <= int(earliest[index])
    return meets


def _target_problems(system: "PopulationSystem") -> Iterator[_Finding]:
    """Targets of plasticity that are not graphs to populations."""
    for index, population, number, template in plastic_templates(system):
        for name, given in template.targets.items():
            place = Place("rule", index, number, ("plasticity", "targets", name))
            what = f"population {population.name!r}, rule {number + 1}, targets in {name!r}"
            if name not in system.populations:
                yield place, f"{what}: there is no such population (use the name of one)"
                continue
            try:
                graph = description_of(given)
                graph.check(population.size, system.populations[name].size)
            except (ValueError, TypeError) as error:
                yield place, f"{what}: {error}"
                continue
            if graph.weight_range() != (1, 1):
                yield place, f"{what}: created synapses have weight 1 (leave out the weights)"


def plasticity_problems(system: "PopulationSystem") -> Iterator[_Finding]:
    """What is wrong with the plasticity of a system that is valid without it."""
    found = list(_target_problems(system))
    try:
        rules = None if found else system.plastic_rules
    except NotEnoughMemory as error:
        first, _, number, _ = next(plastic_templates(system))
        rules, found = None, [(Place("rule", first, number), str(error))]
    if rules is None:
        yield from found
        return
    rule, size = rules.rule_of_target, system.num_neurons
    pair = rule * size + rules.targets
    has_self = np.zeros(len(rules.neuron), bool)
    has_self[rule[rules.targets == rules.neuron[rule]]] = True
    has_twice = np.zeros(len(rules.neuron), bool)
    has_twice[rule[1:][pair[1:] == pair[:-1]]] = True
    options = []
    if system.signed:
        options.append("with plasticity counts are never negative (remove signed=True)")
    if not system.compatibility.may_be_plastic:
        options.append(
            "of all compatibility options plasticity may have `delete_within_N` only "
            f"(remove the others of {system.compatibility})"
        )
    wrongs = {
        "{} has no targets (give it some, or a guard without counts)": np.diff(rules.starts) == 0,
        "the targets of {} hold the neuron itself (remove it)": has_self,
        "the targets of {} hold a neuron twice (name it once)": has_twice,
    }
    for index, population, number, _ in plastic_templates(system):
        place = Place("rule", index, number, ("plasticity", "targets"))
        what = f"population {population.name!r}, rule {number + 1}"
        yield from ((replace(place, part=()), f"{what}: {message}") for message in options)
        options = []
        own = system.slices[population.name]
        is_its = (own.start <= rules.neuron) & (rules.neuron < own.stop) & (rules.number == number)
        for message, wrong in wrongs.items():
            where = rules.neuron[is_its & wrong]
            if len(where):
                neuron = f"neuron {system.name_of(int(where[0]))}"
                yield place, f"{what}: {message.format(neuron)}"
    for index, population in enumerate(system.populations.values()):
        for number, text in _repetitions(population, system):
            yield Place("rule", index, number), text
    yield from _plastic_synapse_problems(system, rules)


def _plastic_synapse_problems(
    system: "PopulationSystem", rules: PlasticRules
) -> Iterator[_Finding]:
    """Synapses of plastic neurons that are there twice, and those with a weight that may be created
    again."""
    size = system.num_neurons
    seen = np.zeros(0, np.int64)
    initial = np.sort(rules.initial.source.astype(np.int64) * size + rules.initial.target)
    if rules.initial.value is None and np.all(initial[1:] > initial[:-1]):
        return
    for index, projection, edges in leaving_edges(system, rules.is_plastic):
        what = f"projection {projection.source!r} -> {projection.target!r}"
        pairs = edges.source.astype(np.int64) * size + edges.target
        is_repeated = np.isin(pairs, seen)
        is_repeated[np.delete(np.arange(len(pairs)), np.unique(pairs, return_index=True)[1])] = True
        weights = np.ones(len(edges)) if edges.value is None else edges.value
        seen = np.concatenate([seen, pairs])
        is_weighted = (weights != 1) & np.isin(pairs, rules.created)
        for edge in np.flatnonzero(is_weighted | is_repeated)[:1].tolist():
            source, target = (system.name_of(int(x[edge])) for x in (edges.source, edges.target))
            message = (
                f"is there twice, but the plasticity of {source} creates and deletes single "
                "synapses (leave one out)"
            )
            if is_weighted[edge]:
                message = (
                    f"has weight {weights[edge]}, and the plasticity of {source} may create it "
                    "again, for which no definition says a weight (give it weight 1, or leave "
                    "it out of the targets)"
                )
            yield Place("synapse", index), f"{what}: the synapse ({source}, {target}) {message}"


def compatibility_problems(system: "PopulationSystem") -> Iterator[_Finding]:
    """What the compatibility options of a system that is valid without them cannot take."""
    compatibility = system.compatibility
    if compatibility.is_textbook:
        return
    fix = "use `expand().with_compatibility(...)`"
    if compatibility.stop_at_closed_target and system.projections:
        message = f"`stop_at_closed_target`: synapses of a projection have no order ({fix})"
        yield Place("synapse", 0), message
    for index, projection in enumerate(system.projections):
        if compatibility.no_self_synapses and projection.source == projection.target:
            what = f"projection {projection.source!r} -> {projection.target!r}"
            message = f"{what}: `no_self_synapses` takes single synapses ({fix})"
            yield Place("synapse", index), message
    for index, population in enumerate(system.populations.values()):
        for number, template in enumerate(population.templates, start=1):
            try:
                raised_terms(template, compatibility)
            except ValueError as error:
                what = f"population {population.name!r}, rule {number}"
                yield Place("rule", index, number - 1), f"{what}: {error}"


def _projection_problems(system: "PopulationSystem") -> Iterator[_Finding]:
    for index, projection in enumerate(system.projections):
        place = Place("synapse", index)
        if not isinstance(projection, Projection):
            yield (
                place,
                f"{projection!r} is not a projection (write Projection(source, target, ...))",
            )
            continue
        what = f"projection {projection.source!r} -> {projection.target!r}"
        ends = {"synapse_source": projection.source, "synapse_target": projection.target}
        missing = [kind for kind, name in ends.items() if name not in system.populations]
        for kind in missing:
            message = f"{what}: {ends[kind]!r} is not a population (name one of them)"
            yield replace(place, kind=kind), message
        if missing:
            continue
        source, target = (
            system.populations[name] for name in (projection.source, projection.target)
        )
        try:
            graph = projection.description
            graph.check(source.size, target.size)
        except (ValueError, TypeError) as error:
            yield replace(place, part=("graph",)), f"{what}: {error}"
            continue
        if graph.weight_range()[0] < 0 and not system.signed:
            yield place, f"{what} has a negative weight (build the system with signed=True)"
        if graphs.has_zero_weights(graph):
            yield place, f"{what} has synapses of weight 0 (leave them out)"


def not_strict(system: "PopulationSystem") -> Iterator[Problem]:
    """What level strict refuses in a valid system, once for every template and projection."""
    for index, population in enumerate(system.populations.values()):
        for number, template in enumerate(population.templates):
            what = f"population {population.name!r}, rule {number + 1}"
            for code, where, text in _of_template(population, template):
                if where.any():
                    message = f"{what} {text} in {_nth(population, where)}"
                    yield Problem(code, "error", Place("rule", index, number), message)
    for index, projection in enumerate(system.projections):
        what = f"projection {projection.source!r} -> {projection.target!r}"
        sizes = (system.populations[projection.source].size,) * 2
        if projection.source == projection.target and _has_self_edges(projection, *sizes):
            message = f"{what} leads from a neuron to itself"
            yield Problem("self_synapse", "error", Place("synapse", index), message)
        low, high = projection.description.weight_range()
        if (low, high) != (1, 1):
            message = f"{what} has weights from {low} to {high}"
            yield Problem("weighted_synapse", "error", Place("synapse", index), message)


def _of_template(
    population: Population, template: AbstractTemplate
) -> Iterator[tuple[str, np.ndarray, str]]:
    """Code, neurons and words for what a rule does that level strict does not have."""
    if population.size == 0 or isinstance(template, PlasticityTemplate):
        return
    size = _width(population)
    has = has_rule(template, size)
    consume, produce = (column(x, size) for x in (template.consume, template.produce))
    text = "produces more than it consumes"
    yield "produce_exceeds_consume", has & (produce > consume) & (consume != ALL), text
    forgets = has & (produce == 0)
    if not forgets.any():
        return
    terms = [tuple(column(x, size) for x in term) for term in template.terms()]
    used = sum((low <= high).astype(int) for low, high, _ in terms)
    is_its_own = [(low == consume) & ((high - low) // step == 0) for low, high, step in terms]
    is_exact = (used == 1) & np.any(is_its_own, axis=0)
    text = "forgets under a guard that is not exactly what it removes"
    yield "forgetting_guard", forgets & (consume != ALL) & ~is_exact, text
    forgotten = raised_terms(template) if np.any(consume == ALL) else [(consume, consume, 1)]
    overlaps = np.zeros(size, bool)
    for other in population.templates:
        fires = has_rule(other, size) & (column(other.produce, size) > 0)
        where = np.flatnonzero(forgets & fires & ~overlaps)
        for first, second in product(forgotten, other.terms()):
            if len(where):
                overlaps[where] |= _meet(_at(first, where, size), _at(second, where, size))
    yield "forgetting_overlap", overlaps, "forgets spikes at which a firing rule applies too"


def _has_self_edges(projection: Projection, num_sources: int, num_targets: int) -> bool:
    graph = projection.description
    match graph:
        case graphs.AllToAll():
            return graph.self_edges and num_sources > 0
        case graphs.OneToOne():
            return num_sources > 0
        case graphs.Intervals():
            own = np.arange(num_sources)
            return bool(np.any((graph.start <= own) & (own < graph.stop)))
        case graphs.Blocks() if num_sources:
            # A pair of groups that has a neuron in common has the first one of either.
            of_source, of_target = (num_sources // groups for groups in graph.weights.shape)
            first = np.concatenate(
                [np.arange(0, num_sources, of_source), np.arange(0, num_sources, of_target)]
            )
            return bool(np.any(graph.weights[first // of_source, first // of_target]))
    edges = graph.edges(num_sources, num_targets)
    return bool(np.any(edges.source == edges.target))
