"""How a system behaves, for `snpjax info`, as far as its rules and synapses alone show it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..spiking import (
    Astrocytes,
    Channels,
    DendriticDelays,
    Requests,
    Rule,
    Schedule,
    ScheduledSynapses,
    SynapseDelays,
    SynapseRules,
)
from ..spiking.model.compatibility import rules_overlap
from .options import option_name
from .text import plural


if TYPE_CHECKING:
    from ..spiking import SpikingSystem
    from ..spiking.model.variants import Variant

#: Invariants are computed for systems of this many rules at most, from as many vectors.
_MAX_RULES, _MAX_VECTORS = 200, 200


def described_behaviour(system: "SpikingSystem") -> dict[str, Any]:
    """Spikes and choices of a system of single neurons, and its variant, as plain values.

    - `"initial_spikes"`: of the neurons that have any.
    - `"bounds"`: the most spikes of a neuron in any computation, for those of which the rules and
      synapses alone show a bound.
    - `"deterministic"`: `True` where no two rules of a neuron can apply at once; `False` where two
      can, at some number of spikes that need not be reached; `None` where the rules do not decide.
    - `"choosing"`: the neurons of these two rules.
    """
    choosing = _choosing(system)
    return {
        "initial_spikes": {x.name: x.spikes for x in system.neurons if x.spikes},
        "bounds": _bounds(system),
        "deterministic": None if choosing is None else not choosing,
        "choosing": choosing or [],
        **described_variant(system.variant),
    }


def described_variant(variant: "Variant | None") -> dict[str, Any]:
    """The variant of a system and its entries, as text; `None` for the definition."""
    if variant is None:
        return {"variant": None}
    return {"variant": {"kind": option_name(type(variant)), "entries": _entries(variant)}}


def _choosing(system: "SpikingSystem") -> list[str] | None:
    """The neurons that may have to choose; `None` where more than their guards decides."""
    if system.is_growing or isinstance(system.variant, SynapseRules | Astrocytes | Requests):
        return None
    overlaps: dict[tuple[Any, ...], bool] = {}
    found = []
    for neuron in system.neurons:
        if not all(isinstance(rule, Rule) for rule in neuron.rules):
            return None
        rules = [rule for rule in neuron.rules if isinstance(rule, Rule)]
        key = tuple(rules)
        if key not in overlaps:
            # A neuron holds spikes or anti-spikes.
            by_sign = [[rule for rule in rules if rule.sign == sign] for sign in (1, -1)]
            overlaps[key] = any(rules_overlap(own, system.compatibility) for own in by_sign)
        if overlaps[key]:
            found.append(neuron.name)
    return found


def _bounds(system: "SpikingSystem") -> dict[str, int]:
    from ..check import invariants

    variant, compatibility = system.variant, system.compatibility
    if not system.is_static or variant is not None or not compatibility.is_textbook:
        return {}
    receives = {target for _, target, _ in system.synapses} | set(system.input)
    bounds = {x.name: x.spikes for x in system.neurons if x.name not in receives}
    if 0 < system.num_rules <= _MAX_RULES:
        for one in invariants(system, limit=_MAX_VECTORS).bounding or ():
            for name, weight in one.weights.items() if one.is_certain else ():
                bound = one.value // weight
                bounds[name] = min(bounds.get(name, bound), bound)
    return {x.name: bounds[x.name] for x in system.neurons if x.name in bounds}


def _entries(variant: "Variant") -> list[str]:
    """What a variant says of single neurons and synapses."""
    match variant:
        case SynapseDelays():
            return [f"{_pair(pair)}: {plural(delay, 'step')}" for pair, delay in variant.delays]
        case DendriticDelays():
            return [f"{name}: {plural(delay, 'step')}" for name, delay in variant.delays]
        case ScheduledSynapses():
            return [_schedule(schedule) for schedule in variant.schedules]
        case Channels():
            return [f"{label}: {_pairs(synapses)}" for label, synapses in variant.channels]
        case Astrocytes():
            return [f"{_pairs(x.synapses)}: threshold {x.threshold:,}" for x in variant.astrocytes]
        case SynapseRules():
            return [f"{_pair(pair)}: {', '.join(map(str, own))}" for pair, own in variant.rules]
    return []


def _schedule(schedule: Schedule) -> str:
    start, stop, reference = schedule.start, schedule.stop, schedule.reference
    steps = f"from step {start:,}" if stop is None else f"steps {start:,} to {stop - 1:,}"
    after = "" if reference is None else f" after {reference} emits"
    return f"{_pair((schedule.source, schedule.target))}: {steps}{after}"


def _pairs(synapses: Sequence[tuple[str, str | None]]) -> str:
    return ", ".join(map(_pair, synapses))


def _pair(synapse: tuple[str, str | None]) -> str:
    source, target = synapse
    return f"{source} to {'the environment' if target is None else target}"
