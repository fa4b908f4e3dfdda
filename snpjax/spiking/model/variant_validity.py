"""What is wrong with the variant of a system: findings as `validity` makes them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .communication_validity import check_channels, check_requests
from .communication_variants import Channels, Requests
from .rule import (
    AnyRule,
    BuddingRule,
    DivisionRule,
    PlasticityRule,
    Rule,
    is_count,
)
from .timed_validity import check_timed
from .timed_variants import DendriticDelays, ScheduledSynapses, SynapseDelays
from .validity import (
    Place,
    bad_numbers,
    can_apply,
    is_integer,
    parse_failure,
    unknown_neuron,
)
from .variants import MAX_ALTERNATIVES, AntiSpikes, Astrocytes, Exhaustive, SynapseRules


if TYPE_CHECKING:
    from .system import SpikingSystem
    from .validity import _Finding


#: Why a variant has no meaning together with plasticity, or with division and budding. Any variant
#: is here, except those that may be combined with plasticity.
_NOT_WITH_PLASTICITY: dict[type, str] = {
    Exhaustive: "a rule that is used several times at once creates and deletes synapses once",
    Astrocytes: "no definition says which astrocyte controls a synapse that is created",
    SynapseRules: "a synapse that is created has no rules",
    Channels: "no definition says to which channel a synapse that is created belongs",
    Requests: "there are no synapses to create or delete",
    SynapseDelays: "no definition says which delay a synapse that is created has",
    DendriticDelays: "no definition says whether a synapse that is created ends at the dendrite",
    ScheduledSynapses: "no definition says whether a rule creates a synapse that its schedule ends",
}
_WITH_PLASTICITY = (AntiSpikes,)
_NOT_WITH_GROWTH: dict[type, str] = {
    AntiSpikes: "no definition says at which anti-spikes a neuron divides",
    Exhaustive: "a neuron that divides is empty, and cannot divide as often as its spikes allow",
    Astrocytes: "no definition says which astrocyte controls the synapses of a new neuron",
    SynapseRules: "no definition says which rules the synapses of a new neuron have",
    Channels: "no definition says to which channels the synapses of a new neuron belong",
    Requests: "a query names one neuron, and several or none may come to bear its label",
    SynapseDelays: "no definition says which delays the synapses of a new neuron have",
    DendriticDelays: "no definition says which delay the dendrite of a new neuron has",
    ScheduledSynapses: "no definition says which schedules the synapses of a new neuron have",
}


def check_variant(system: "SpikingSystem") -> Iterator["_Finding"]:
    """The problems of a variant, and of what does not go together with it."""
    variant = system.variant
    name, place = type(variant).__name__, Place("variant", 0)
    message = f'the variant {name} is not part of the definition (use level "extended")'
    yield "variant", place, message, None
    rules = [
        (Place("rule", index, number), rule)
        for index, neuron in enumerate(system.neurons)
        for number, rule in enumerate(neuron.rules)
    ]
    grows = [at for at, rule in rules if isinstance(rule, DivisionRule | BuddingRule)]
    grows += [Place("rule", label, 0) for label in system.rules_by_label]
    rewires = [at for at, rule in rules if isinstance(rule, PlasticityRule)]
    for what, dynamic, reasons in (
        ("plasticity", rewires, _NOT_WITH_PLASTICITY),
        ("division and budding", grows, _NOT_WITH_GROWTH),
    ):
        if dynamic and not (dynamic is rewires and isinstance(variant, _WITH_PLASTICITY)):
            reason = reasons[type(variant)]
            message = (
                f"the variant {name} cannot be combined with {what}: {reason} "
                "(remove such rules, or the variant)"
            )
            yield "variant_options", dynamic[0], message, None
    if not system.compatibility.is_textbook:
        message = (
            f"the variant {name} follows its definition only "
            f"(remove the compatibility {system.compatibility})"
        )
        yield "variant_options", place, message, None
    if isinstance(variant, Astrocytes):
        yield from _check_astrocytes(system, variant)
    if isinstance(variant, SynapseRules):
        yield from _check_synapse_rules(system, variant)
    if isinstance(variant, Channels):
        yield from check_channels(system, variant)
    if isinstance(variant, Requests):
        yield from check_requests(system)
    if isinstance(variant, SynapseDelays | DendriticDelays | ScheduledSynapses):
        yield from check_timed(system, variant)


def _check_astrocytes(system: "SpikingSystem", variant: Astrocytes) -> Iterator["_Finding"]:
    weight_of = {(source, target): weight for source, target, weight in system.synapses}
    controlled: dict[tuple[str, str], Place] = {}
    for number, astrocyte in enumerate(variant.astrocytes):
        place, here = Place("variant", number), f"astrocyte {number + 1}"
        if not is_count(astrocyte.threshold):
            message = (
                f"{here}: the threshold is {astrocyte.threshold!r} (write an integer, 0 or more)"
            )
            yield "bad_number", place, message, None
        if not astrocyte.synapses:
            yield "astrocyte", place, f"{here} controls no synapse (name some)", None
        for source, target in astrocyte.synapses:
            synapse = f"{here}, synapse ({source}, {target})"
            weight = weight_of.get((source, target), 1)
            if (source, target) in controlled:
                message = f"{synapse}: an astrocyte controls it already (leave it to one of them)"
                yield "astrocyte", place, message, controlled[source, target]
            elif (source, target) not in weight_of:
                yield from _unknown_synapse(system, source, target, place, synapse)
            elif is_integer(weight) and weight < 0:
                message = (
                    f"{synapse} has the negative weight {weight}, so that it carries no number of "
                    "spikes (give it a positive one)"
                )
                yield "astrocyte", place, message, None
            controlled.setdefault((source, target), place)


def _unknown_synapse(
    system: "SpikingSystem", source: str, target: str, place: Place, here: str
) -> Iterator["_Finding"]:
    unknown = [name for name in (source, target) if name not in system.names]
    for name in unknown:
        yield "unknown_neuron", place, f"{here}: {unknown_neuron(name, system.names)}", None
    if not unknown:
        yield "astrocyte", place, f"{here}: there is no such synapse (add it to the system)", None


def _check_synapse_rules(system: "SpikingSystem", variant: SynapseRules) -> Iterator["_Finding"]:
    for index, neuron in enumerate(system.neurons):
        if neuron.rules:
            message = (
                f"neuron {neuron.name!r} has rules, but rules sit on synapses here "
                "(give them to the synapses of the variant)"
            )
            yield "synapse_rules", Place("rule", index, 0), message, None
    pairs: dict[tuple[str, str | None], Place] = {}
    has_all_numbers = True
    for number, ((source, target), rules) in enumerate(variant.rules):
        to = "the environment" if target is None else target
        here, place = f"synapse ({source}, {to})", Place("variant", number)
        if (source, target) in pairs:
            message = f"{here} has rules twice (write them in one list)"
            yield "synapse_rules", place, message, pairs[source, target]
        pairs.setdefault((source, target), place)
        # The other names are those of a synapse, which is examined anyway.
        if target is None and source not in system.names:
            message = f"{here}: {unknown_neuron(source, system.names)}"
            yield "unknown_neuron", place, message, None
        seen: dict[AnyRule, Place] = {}
        for rule_number, rule in enumerate(rules):
            at = Place("variant", number, rule_number)
            for code, message in _check_rule(rule, f"{here}, rule {rule_number + 1}"):
                has_all_numbers = has_all_numbers and code != "bad_number"
                yield code, at, message, None
            if isinstance(rule, Rule):
                if rule in seen:
                    message = f"{here}, rule {rule_number + 1} repeats {rule} (remove one)"
                    yield "duplicate_rule", at, message, seen[rule]
                seen.setdefault(rule, at)
    for index, neuron in enumerate(system.neurons if has_all_numbers else ()):
        count = variant.num_alternatives(neuron.name)
        if count > MAX_ALTERNATIVES:
            message = (
                f"neuron {neuron.name!r} has {count:,} combinations of rules of its synapses, and "
                f"at most {MAX_ALTERNATIVES:,} are possible (share its synapses among several "
                "neurons)"
            )
            yield "synapse_rules", Place("neuron", index), message, None


def _check_rule(rule: AnyRule | str, here: str) -> Iterator[tuple[str, str]]:
    """The codes and messages of one rule of a synapse."""
    if isinstance(rule, str):
        yield "bad_guard", f"{here}: {parse_failure(rule, None)}"
        return
    if not isinstance(rule, Rule):
        yield "synapse_rules", f"{here}: {rule!r} is not a spiking rule (write Rule(...) or a text)"
        return
    numbers = list(bad_numbers(rule, False))
    for name, value, fix in numbers:
        yield "bad_number", f"{here}: {name} is {value!r} ({fix})"
    if numbers:
        return
    if rule.delay:
        yield "synapse_rules", f"{here}: rules of synapses have no delay (remove '; {rule.delay}')"
    if rule.sign < 0:
        yield "anti_spikes", f"{here}: {rule} is of anti-spikes (write a)"
    if rule.channel is not None:
        yield "channel", f"{here}: a rule of a synapse has no channel (remove it from {rule})"
    if not can_apply(rule.guard, rule.consume):
        yield "dead_rule", f"{here}: {rule} can never apply (no count in its guard is large enough)"
