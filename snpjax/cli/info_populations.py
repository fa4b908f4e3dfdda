"""What `snpjax info` says of a system of populations, from its arrays: no neuron is listed."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Int

from ..spiking import ALL, PlasticityTemplate, PopulationSystem
from ..spiking.lower.degrees import degrees_of
from ..spiking.lower.storage import chosen_for_parts
from ..spiking.model.population_validity import not_strict
from ..spiking.model.rule_table import UNBOUNDED
from ..spiking.model.template import (
    AbstractTemplate,
    column,
    guard_of,
    has_rule,
    num_rules_of,
    text_of_terms,
)
from .info import described_degrees, span
from .info_behaviour import described_variant
from .options import option_name
from .text import listed


_MAX_GUARDS = 10_000  # listed of one template
_MAX_SHOWN = 20  # projections in the reason for a layout
_LARGEST = 2**10  # constant of a guard that is written as a regular expression


def describe_populations(system: PopulationSystem, file: str) -> dict[str, Any]:
    """All that `info` says, as plain values, in the form of `info.describe`.

    It differs from that of the same system neuron by neuron in: 1. inputs and outputs are named by
    population, and reasons tell the first neuron of a template; 2. a consume-all rule counts as its
    members in `"rules"`, but once in `"guards"`, of which the most frequent ones are listed; 3.
    `"layouts"` are those that a run takes by itself, with their bytes; 4. initial spikes are the
    sum over a population; 5. bounds on spikes and whether neurons may choose are not computed.
    """
    reasons = list(not_strict(system))
    kinds, delays = _kinds(system), _delays(system)
    guards, num_guards = _guards(system)
    weights = [p.description.weight_range() for p in system.projections]
    num_synapses = system.num_synapses
    auto, sizes = _layouts(system)
    least_and_most = span([x for both in weights for x in both]) or {}
    return {
        "file": file,
        "name": system.name,
        "neurons": system.num_neurons,
        "rules": {"all": sum(kinds.values()), **kinds},
        "guards": guards,
        "num_guards": num_guards,
        "delays": span(delays.tolist()),
        "synapses": num_synapses,
        "weights": {**least_and_most, "count": num_synapses} if num_synapses else None,
        **described_degrees(*degrees_of(system)),
        "inputs": {name: _horizon(train) for name, train in system.input.items()},
        "outputs": list(system.output),
        "initial_spikes": _initial_spikes(system),
        "bounds": {},
        "deterministic": None,
        "choosing": [],
        **described_variant(system.variant),
        "level": "extended" if reasons else "strict",
        "reasons": [{"code": p.code, "message": p.message} for p in reasons],
        "auto": auto,
        "layouts": sizes,
    }


def _initial_spikes(system: PopulationSystem) -> dict[str, int]:
    sums = {
        name: int(column(x.spikes, x.size).sum(dtype=np.int64))
        for name, x in system.populations.items()
    }
    return {name: spikes for name, spikes in sums.items() if spikes}


def _templates(system: PopulationSystem) -> Iterator[tuple[AbstractTemplate, int]]:
    for population in system.populations.values():
        for template in population.templates:
            yield template, population.size


def _kinds(system: PopulationSystem) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for template, size in _templates(system):
        if np.any(np.asarray(template.consume) == ALL):
            kinds["forgetting"] += num_rules_of(template, size)
            continue
        has = has_rule(template, size)
        if isinstance(template, PlasticityTemplate):
            kinds["plasticity"] += int(np.count_nonzero(has))
            continue
        fires = int(np.count_nonzero(has & (np.asarray(template.produce) > 0)))
        kinds["firing"] += fires
        kinds["forgetting"] += int(np.count_nonzero(has)) - fires
    return +kinds


def _delays(system: PopulationSystem) -> np.ndarray:
    delays = [np.zeros(0, np.int64)]
    for template, size in _templates(system):
        if np.any(np.asarray(template.delay)):
            delays.append(column(template.delay, size)[has_rule(template, size)])
    together = np.concatenate(delays)
    return together[together > 0]


def _guards(system: PopulationSystem) -> tuple[dict[str, int], int]:
    """The most frequent guards, and the number of all of them: exact unless some are not listed
    or have terms that could be fewer."""
    uses: Counter[tuple[tuple[int, ...], ...]] = Counter()
    num_unlisted = 0
    for template, size in _templates(system):
        rows, first, counts = _distinct(template, size)
        order = np.argsort(-counts, kind="stable")
        num_unlisted += len(order[_MAX_GUARDS:])
        for index in order[:_MAX_GUARDS]:
            terms = rows[:, first[index]].reshape(-1, 3).tolist()
            used = tuple(sorted(_canonical(*t) for t in terms if t[0] <= t[1]))
            if used:
                uses[used] += int(counts[index])
    listed: Counter[str] = Counter()
    for terms, count in uses.items():
        listed[_guard_text(terms)] += count
    return dict(listed.most_common()), len(listed) + num_unlisted


def _distinct(
    template: AbstractTemplate, size: int
) -> tuple[np.ndarray, Int[np.ndarray, " distinct"], Int[np.ndarray, " distinct"]]:
    """The terms of all neurons, a column each, the first neuron of every different column, and how
    many neurons have it."""
    rows = np.asarray([column(x, size) for term in template.terms() or [(1, 0, 1)] for x in term])
    order = np.lexsort(rows)
    in_order = rows[:, order]
    is_new = np.any(in_order[:, 1:] != in_order[:, :-1], axis=0)
    starts = np.flatnonzero(np.concatenate([[True] * (size > 0), is_new]))
    return rows, order[starts], np.diff(np.append(starts, size))


def _canonical(low: int, high: int, period: int) -> tuple[int, int, int]:
    if high == UNBOUNDED:
        return low, high, period
    high -= (high - low) % period
    return low, high, period if high > low else 1


def _guard_text(terms: tuple[tuple[int, ...], ...]) -> str:
    low, high, _ = terms[0]
    if len(terms) == 1 and low == high > 1:
        return f"a{{{low}}}"
    if max(high if high < UNBOUNDED else low + step for low, high, step in terms) < _LARGEST:
        return str(guard_of(terms))
    return text_of_terms(terms)


def _horizon(train: Any) -> int:
    """The last step in which any neuron of a population gets spikes."""
    used = np.flatnonzero(np.any(np.atleast_2d(np.asarray(train).T), axis=0))
    return int(used[-1]) + 1 if len(used) else 0


def _layouts(system: PopulationSystem) -> tuple[dict[str, str], dict[str, int]]:
    chosen = [(option_name(layout), size) for layout, size in chosen_for_parts(system)]
    sizes: dict[str, int] = {}
    for name, size in chosen:
        sizes[name] = sizes.get(name, 0) + size
    if len(chosen) != len(system.projections) or not chosen:
        name = chosen[0][0] if chosen else "sum"
        what = "all projections" if system.is_static else "the synapses that no rule changes"
        return {"layout": name, "reason": f"{what} together"}, sizes
    parts = [
        f"{p.source} to {p.target} as {name}"
        for p, (name, _) in zip(system.projections, chosen, strict=True)
    ]
    reason = listed(parts[:_MAX_SHOWN], len(parts))
    return {"layout": "sum" if len(chosen) > 1 else chosen[0][0], "reason": reason}, sizes
