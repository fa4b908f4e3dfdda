"""What is chosen besides rules: the subsets of synapses that plasticity takes, and the decisions of
astrocytes."""

from collections.abc import Iterable, Mapping, Sequence
from math import comb
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from ...choice import NO_RULE
from ...choice.subsets import MAX_SUBSETS, number_of_subset
from ...spiking import Astrocytes, Network, PlasticityRule, Rule, SpikingSystem
from ...spiking.step.plasticity import PlasticState


#: What astrocytes choose among.
PASS, SUPPRESS = 0, 1


class Subsets(NamedTuple):
    """The subsets among which a chooser takes one; it is numbered as in `GivenChoices`.

    - `change`: `"+"` creates synapses to some neurons, `"-"` deletes those, and `""` is of an
      astrocyte, whose candidates are `PASS` and `SUPPRESS`.
    - `size`: how many candidates are taken.
    - `candidates`: ascending.
    """

    change: str
    size: int
    candidates: tuple[int, ...]

    @property
    def number(self) -> int:
        """How many there are."""
        return comb(len(self.candidates), self.size)

    def number_of(self, taken: Iterable[int]) -> int:
        """The number of one of them."""
        return number_of_subset(self.candidates, taken)


#: The subset that somebody chose: its number, or what it holds.
ChosenSubset: TypeAlias = int | Sequence[int]

#: By chooser and rule: `NO_RULE` for the second turn of a rule, and for astrocytes.
SubsetsOfRules = dict[int, dict[int, Subsets]]


def subsets_of_plasticity(
    system: SpikingSystem,
    network: Network,
    options: Mapping[int, Iterable[int]],
    pending: Mapping[int, int],
) -> SubsetsOfRules:
    """The subsets that plasticity rules may take, where there are several that have numbers.

    **Arguments:**

    - `system`: a system.
    - `network`: the synapses before the step.
    - `options`: the applicable rules of each neuron.
    - `pending`: the rule of each neuron whose second turn is due.

    **Returns:** the subsets by neuron and rule.
    """
    within, targets_of = system.compatibility.delete_within_N, dict[int, set[int]]()
    for source, target, _ in network.synapses:
        targets_of.setdefault(source, set()).add(target)
    turns = [(i, r, r, 0) for i, rules in options.items() for r in rules]
    turns += [(i, NO_RULE, r, 1) for i, r in pending.items()]
    found: SubsetsOfRules = {}
    for neuron, key, number, turn in turns:
        rule = system.neurons[neuron].rules[number]
        if not isinstance(rule, PlasticityRule):
            continue
        there = targets_of.get(neuron, set())
        named, change = {system.names[x] for x in rule.targets}, rule.alpha[turn]
        deleted = there & named if within else there
        candidates = tuple(sorted(deleted if change == "-" else named - there))
        own = Subsets(change, rule.k, candidates)
        if 1 < own.number < MAX_SUBSETS:
            found.setdefault(neuron, {})[key] = own
    return found


def pending_turns(
    machine: Any, state: PlasticState, number: Int[np.ndarray, "slots neurons"] | None
) -> dict[int, int]:
    """The rules whose second turn is due, by neuron; `number` says which rule a slot is."""
    neurons, second = np.asarray(machine.program.network.neurons), np.asarray(state.second)
    due = {int(neurons[i]): int(second[i]) - 1 for i in np.flatnonzero(second)}
    return {i: slot if number is None else int(number[slot, i]) for i, slot in due.items()}


def subsets_of_astrocytes(
    system: SpikingSystem, options: Mapping[int, Iterable[int]], opening: Mapping[int, int]
) -> SubsetsOfRules:
    """The decisions of those astrocytes that may come to decide, by their numbers as choosers.

    **Arguments:**

    - `system`: a system.
    - `options`: the applicable rules of each neuron.
    - `opening`: the spikes that leave neurons which do not select in this step.

    **Returns:** the subsets, of which `SUPPRESS` has the number 1.
    """
    if not isinstance(system.variant, Astrocytes):
        return {}
    low, high = (np.zeros(system.num_neurons, np.object_) for _ in range(2))
    for neuron, spikes in opening.items():
        low[neuron] = high[neuron] = spikes
    for neuron, rules in options.items():
        own = [system.neurons[neuron].rules[rule] for rule in rules]
        sent = [r.produce if isinstance(r, Rule) and r.delay == 0 else 0 for r in own]
        low[neuron], high[neuron] = min(sent), max(sent)
    bounds = zip(counted(system, low), counted(system, high), strict=True)
    may = [
        0 < astrocyte.threshold and least <= astrocyte.threshold <= most
        for astrocyte, (least, most) in zip(system.variant.astrocytes, bounds, strict=True)
    ]
    either = {NO_RULE: Subsets("", 1, (PASS, SUPPRESS))}
    return {system.num_neurons + a: either for a in np.flatnonzero(may).tolist()}


def counted(system: SpikingSystem, emissions: Any) -> list[int]:
    """The spikes on the synapses of each astrocyte.

    **Arguments:**

    - `system`: a system with astrocytes.
    - `emissions`: `(neurons,)` what each neuron emits.
    """
    assert isinstance(system.variant, Astrocytes)
    weights = {(s, t): weight for s, t, weight in system.synapses}
    return [
        sum(weights[s, t] * int(emissions[system.names[s]]) for s, t in astrocyte.synapses)
        for astrocyte in system.variant.astrocytes
    ]


def taken_by_plasticity(
    subsets: SubsetsOfRules, before: Network, after: Network, rules: Mapping[int, int]
) -> dict[int, int]:
    """The numbers of the subsets that plasticity took in a step in which neurons selected `rules`;
    those without a number are 0."""
    changed: dict[int, set[int]] = {}
    for source, target, _ in set(before.synapses) ^ set(after.synapses):
        changed.setdefault(source, set()).add(target)
    found = {}
    for neuron, own in subsets.items():
        taken = own.get(rules.get(neuron, NO_RULE))
        found[neuron] = 0 if taken is None else taken.number_of(changed.get(neuron, ()))
    return {neuron: number for neuron, number in found.items() if number}


def taken_by_astrocytes(
    system: SpikingSystem, emissions: Any, passes: Bool[np.ndarray, " astrocytes"]
) -> dict[int, int]:
    """The decisions of those astrocytes that suppressed where they could have let pass."""
    assert isinstance(system.variant, Astrocytes)
    pairs = zip(system.variant.astrocytes, counted(system, emissions), strict=True)
    return {
        system.num_neurons + a: SUPPRESS
        for a, (astrocyte, n) in enumerate(pairs)
        if n == astrocyte.threshold > 0 and not passes[a]
    }
