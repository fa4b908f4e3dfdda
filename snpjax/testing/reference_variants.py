"""The part of the reference interpreter that is for the variants of the model: what they change of
a step."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from snpjax_formats.arguments import explain_arguments

from ..spiking.model.communication_variants import Channels
from ..spiking.model.rule import RequestRule, Rule, SpikeQuery
from ..spiking.model.system import SpikingSystem
from ..spiking.model.variants import AntiSpikes, Astrocytes, Exhaustive, SynapseRules


if TYPE_CHECKING:
    from .reference import Configuration
    from .reference_network import NeuronAction

#: What an astrocyte decides, where it has to.
PASS, SUPPRESS = 0, 1


def is_applicable(rule: Rule, k: int) -> bool:
    """Whether a rule is applicable.

    **Arguments:**

    - `rule`: a spiking or forgetting rule.
    - `k`: the spikes of the neuron; a rule of anti-spikes requires negative ones.

    **Returns:** whether there are enough spikes and their number satisfies the guard.
    """
    number = k if rule.sign > 0 else -k
    return number >= rule.consume and number in rule.guard


def effect(system: SpikingSystem, rule: Rule, k: int) -> tuple[int, int]:
    """What a selected rule consumes and produces.

    **Arguments:**

    - `system`: a system.
    - `rule`: an applicable rule.
    - `k`: the spikes of the neuron.

    **Returns:** the numbers of consumed and of produced spikes.
    """
    match system.variant:
        case AntiSpikes():
            return rule.sign * rule.consume, rule.produce
        case Exhaustive():
            times = k // rule.consume
            return times * rule.consume, times * rule.produce
    return rule.consume, rule.produce


def on_astrocytes(system: SpikingSystem, emissions: Sequence[int]) -> "list[list[NeuronAction]]":
    """What each astrocyte may decide.

    **Arguments:**

    - `system`: a system of the variant `Astrocytes`.
    - `emissions`: the spikes that each neuron emits in the step.

    **Returns:** for each astrocyte `PASS` and `SUPPRESS` if the spikes on its synapses equal its
    threshold, otherwise only `None`.

    **Raises:** `TypeError` for a system of another variant.
    """
    if not isinstance(system.variant, Astrocytes):
        raise TypeError("`system` is not of the variant Astrocytes.")
    counts = _counts(system, emissions)
    return [
        [PASS, SUPPRESS] if n == astrocyte.threshold and n > 0 else [None]
        for n, astrocyte in zip(counts, system.variant.astrocytes, strict=True)
    ]


def suppressed(
    system: SpikingSystem, emissions: Sequence[int], choice: tuple[object, ...]
) -> set[tuple[str, str]]:
    """The synapses that transmit nothing in a step, because an astrocyte suppresses them or because
    they belong to another channel than the rule that their source uses.

    **Arguments:**

    - `system`: a system.
    - `emissions`: the spikes that each neuron emits in the step.
    - `choice`: the rules of the neurons, followed by the decisions of astrocytes.

    **Returns:** pairs of a source and a target.
    """
    decisions = choice[len(system.neurons) :]
    if isinstance(system.variant, Channels):
        return _of_other_channels(system, system.variant, choice)
    if not isinstance(system.variant, Astrocytes):
        return set()
    found: set[tuple[str, str]] = set()
    counts = _counts(system, emissions)
    for n, astrocyte, decision in zip(counts, system.variant.astrocytes, decisions, strict=True):
        if n > astrocyte.threshold or decision == SUPPRESS:
            found |= set(astrocyte.synapses)
    return found


def _of_other_channels(
    system: SpikingSystem, variant: Channels, choice: tuple[object, ...]
) -> set[tuple[str, str]]:
    found = {(source, target) for source, target, _ in system.synapses}
    for neuron, selected in zip(system.neurons, choice, strict=True):
        rule = neuron.rules[selected] if isinstance(selected, int) else None
        for label, synapses in variant.channels:
            if isinstance(rule, Rule) and rule.channel == label:
                found -= {(source, target) for source, target in synapses if source == neuron.name}
    return found


def _counts(system: SpikingSystem, emissions: Sequence[int]) -> list[int]:
    """The spikes on the synapses of each astrocyte."""
    if not isinstance(system.variant, Astrocytes):
        raise TypeError("`system` is not of the variant Astrocytes.")
    return [
        sum(
            weight * emissions[system.names[source]]
            for source, target, weight in system.synapses
            if (source, target) in astrocyte.synapses
        )
        for astrocyte in system.variant.astrocytes
    ]


class ConflictingQueries(ValueError):
    """Different queries to one neuron in one step, on which the step is not defined."""


def is_satisfiable(system: SpikingSystem, rule: RequestRule, spikes: Sequence[int]) -> bool:
    """Whether the queries of a rule can be satisfied.

    **Arguments:**

    - `system`: a system of the variant `Requests`.
    - `rule`: a rule on request.
    - `spikes`: the spikes of all neurons.

    **Returns:** whether every neuron that the rule queries has the number of spikes it asks for.
    """
    return all(count is None or spikes[system.names[j]] >= count for count, j in rule.queries)


def step_on_request(
    system: SpikingSystem, spikes: Sequence[int], choice: tuple[object, ...]
) -> list[int]:
    """Answer all queries of the chosen rules.

    **Arguments:**

    - `system`: a system of the variant `Requests`.
    - `spikes`: the spikes of all neurons before the step.
    - `choice`: the index of the rule of each neuron, or `None`.

    **Returns:** the spikes of all neurons afterwards.

    **Raises:** `ConflictingQueries` if one neuron receives different queries.
    """
    if len(choice) != len(system.neurons) or len(spikes) != len(system.neurons):
        raise ValueError("`spikes` and `choice` do not have one element for each neuron.")
    after = list(spikes)
    asked: dict[str, SpikeQuery] = {}
    for i, selected in enumerate(choice):
        rule = system.neurons[i].rules[selected] if isinstance(selected, int) else None
        for query in rule.queries if isinstance(rule, RequestRule) else ():
            j = system.names[query.neuron]
            moved = spikes[j] if query.spikes is None else query.spikes
            if query.neuron not in asked:  # the first one takes them, and all get as many
                asked[query.neuron] = query
                after[j] -= moved
            elif asked[query.neuron] != query:
                raise ConflictingQueries(query.neuron)
            after[i] += moved
    return after


#: The c of an alternative, and which rule each synapse of the neuron uses, by number or not at all.
_Use = tuple[int, tuple[int | None, ...]]


def _synapses_of(system: SpikingSystem, source: str) -> list[tuple[str | None, list[Rule]]]:
    if not isinstance(system.variant, SynapseRules):
        raise TypeError("`system` is not of the variant SynapseRules.")
    return [
        (target, [rule for rule in dict.fromkeys(rules) if isinstance(rule, Rule)])
        for (owner, target), rules in system.variant.rules
        if owner == source
    ]


def _uses(system: SpikingSystem, source: str) -> list[_Use]:
    """All that a neuron may ever do, in the order in which it is numbered: by c as it first
    appears, then every combination of a rule or None for each synapse, the last varying fastest."""
    synapses = _synapses_of(system, source)
    found: list[_Use] = []
    for c in dict.fromkeys(rule.consume for _, rules in synapses for rule in rules):
        own = [[n for n, r in enumerate(rules) if r.consume == c] for _, rules in synapses]
        combinations = itertools.product(*([*numbers, None] for numbers in own))
        found += [(c, some) for some in combinations if any(n is not None for n in some)]
    return found


def applicable_on_synapses(
    system: SpikingSystem, configuration: "Configuration"
) -> list[list[int]]:
    """The counterpart of `reference.applicable` for rules on synapses.

    In each alternative a neuron consumes one number of spikes, and each of its synapses that has
    applicable rules with this consumption uses one of them.

    **Arguments:**

    - `system`: a system of the variant `SynapseRules`.
    - `configuration`: one of its configurations.

    **Returns:** for each neuron the numbers of its alternatives, ascending.
    """
    found = []
    for neuron, k in zip(system.neurons, configuration.spikes, strict=True):
        synapses = _synapses_of(system, neuron.name)
        possible = []
        for number, (c, used) in enumerate(_uses(system, neuron.name)):
            options = [
                [n for n, rule in enumerate(rules) if rule.consume == c and is_applicable(rule, k)]
                for _, rules in synapses
            ]
            if all(n in (own or [None]) for n, own in zip(used, options, strict=True)):
                possible.append(number)
        found.append(possible)
    return found


def step_on_synapses(
    system: SpikingSystem, spikes: list[int], choice: tuple[object, ...]
) -> list[int]:
    """Use rules on synapses.

    **Arguments:**

    - `system`: a system of the variant `SynapseRules`.
    - `spikes`: the spikes of all neurons; they are consumed and delivered in place.
    - `choice`: the number of the alternative of each neuron, or `None`.

    **Returns:** the spikes that each neuron emits to the environment.
    """
    emissions = [0] * len(spikes)
    weights = {(source, target): weight for source, target, weight in system.synapses}
    for i, (neuron, selected) in enumerate(zip(system.neurons, choice, strict=True)):
        if not isinstance(selected, int):
            continue
        c, used = _uses(system, neuron.name)[selected]
        spikes[i] -= c
        for (target, rules), number in zip(_synapses_of(system, neuron.name), used, strict=True):
            produced = 0 if number is None else rules[number].produce
            if target is None:
                emissions[i] += produced
            else:
                spikes[system.names[target]] += weights[neuron.name, target] * produced
    return emissions


explain_arguments(__name__)
