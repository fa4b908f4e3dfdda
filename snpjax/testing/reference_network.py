"""The part of the reference interpreter that is for networks that change: plasticity, division and
budding.

A neuron is a slot, a position in the tuples of a configuration; its rules are those of its label.
While a step is made the synapses are a dictionary from (source slot, target slot) to weight.
"""

import itertools
from typing import TYPE_CHECKING, NamedTuple

from snpjax_formats.arguments import explain_arguments

from ..spiking.model.rule import AnyRule, BuddingRule, DivisionRule, PlasticityRule, Rule
from ..spiking.model.system import SpikingSystem
from .reference_variants import is_applicable


if TYPE_CHECKING:
    from .reference import Choice, Configuration


class ReferenceNetwork(NamedTuple):
    """What can change of a network.

    - `labels`: the label of every slot.
    - `synapses`: `(source slot, target slot, weight)`, sorted, none twice.
    - `second`: per slot the number of the plasticity rule whose second half (of `+-` or `-+`) it
      still has to do, or None.
    """

    labels: tuple[str, ...]
    synapses: tuple[tuple[int, int, int], ...]
    second: tuple[int | None, ...]


#: What one neuron does in a step: nothing, or a rule by its index. With plasticity the rule, which
#: is None for the second half of one, and the slots to which synapses are created or deleted.
NeuronAction = int | None | tuple[int | None, tuple[int, ...]]

_Synapses = dict[tuple[int, int], int]


def initial_network(system: SpikingSystem) -> ReferenceNetwork | None:
    """The initial network of a system.

    **Arguments:**

    - `system`: a system.

    **Returns:** the network; `None` if it never changes.
    """
    if system.is_static:
        return None
    names = system.names
    synapses = sorted((names[s], names[t], weight) for s, t, weight in system.synapses)
    labels = tuple(neuron.label for neuron in system.neurons)
    return ReferenceNetwork(labels, tuple(synapses), (None,) * len(labels))


def rules_of(system: SpikingSystem, label: str) -> tuple[AnyRule, ...]:
    """The rules of every neuron with a label.

    **Arguments:**

    - `system`: a system.
    - `label`: the label; one without rules has none.

    **Returns:** the rules in order of declaration.
    """
    for neuron in system.neurons:  # on purpose not `rules_of_labels`, which lowering uses
        if neuron.label == label:
            return neuron.rules  # pyright: ignore[reportReturnType]
    return system.rules_by_label.get(label, ())  # pyright: ignore[reportReturnType]


def applicable_in_network(
    system: SpikingSystem, configuration: "Configuration", network: ReferenceNetwork
) -> list[list[int]]:
    """The counterpart of `reference.applicable` for a network that can change.

    **Arguments:**

    - `system`: a system.
    - `configuration`: one of its configurations.
    - `network`: the network of this configuration.

    **Returns:** for each slot the indices of its applicable rules; none while it is closed, or has
    the second half of a plasticity rule to do.
    """
    found = []
    for slot, label in enumerate(network.labels):
        rules = rules_of(system, label)
        is_busy = configuration.timers[slot] > 0 or network.second[slot] is not None
        applies = [
            number
            for number, rule in enumerate(rules)
            if rule not in rules[:number]
            and _is_enabled(rule, configuration.spikes[slot], slot, network)
        ]
        found.append([] if is_busy else applies)
    return found


def _is_enabled(rule: AnyRule, k: int, slot: int, network: ReferenceNetwork) -> bool:
    """Whether a rule is applicable in the open neuron of a slot with k spikes."""
    match rule:
        case DivisionRule():
            pairs = [(source, target) for source, target, _ in network.synapses]
            neighbours = {t if s == slot else s for s, t in pairs if slot in (s, t)}
            labels = {network.labels[neighbour] for neighbour in neighbours}
            return k >= 1 and k in rule.guard and not {rule.left, rule.right} & labels
        case BuddingRule():
            labels = {network.labels[target] for s, target, _ in network.synapses if s == slot}
            return k >= 1 and k in rule.guard and rule.bud not in labels
        case PlasticityRule():
            return k >= rule.consume and k in rule.guard
    assert isinstance(rule, Rule)  # there are no requests in a network that changes
    return is_applicable(rule, k)


def alternatives_in_network(
    system: SpikingSystem, network: ReferenceNetwork, applicable: list[list[int]]
) -> list[list[NeuronAction]]:
    """The counterpart of `reference.alternatives` for a network that can change.

    **Arguments:**

    - `system`: a system.
    - `network`: its current network.
    - `applicable`: for each slot the indices of its applicable rules.

    **Returns:** for each slot its rules, ascending, and the sets of targets of each in
    lexicographic order.
    """
    found: list[list[NeuronAction]] = []
    for slot, numbers in enumerate(applicable):
        rules = rules_of(system, network.labels[slot])
        options: list[NeuronAction] = []
        half = network.second[slot]
        if half is not None:
            rule = rules[half]
            assert isinstance(rule, PlasticityRule)
            options += [(None, t) for t in _target_sets(system, network, slot, rule, rule.alpha[1])]
        for number in numbers:
            rule = rules[number]
            if isinstance(rule, PlasticityRule):
                sets = _target_sets(system, network, slot, rule, rule.alpha[0])
                options += [(number, targets) for targets in sets]
            else:
                options.append(number)
        found.append(options or [None])
    return found


def _target_sets(
    system: SpikingSystem, network: ReferenceNetwork, slot: int, rule: PlasticityRule, sign: str
) -> list[tuple[int, ...]]:
    """The slots to which one half of a plasticity rule may create or delete synapses: at most k
    candidates are all taken, of more any k."""
    out = {target for source, target, _ in network.synapses if source == slot}
    named = {system.names[name] for name in rule.targets}
    # As printed, a deletion takes any of the neuron's synapses, whatever N is.
    deleted = out & named if system.compatibility.delete_within_N else out
    candidates = deleted if sign == "-" else named - out
    return list(itertools.combinations(sorted(candidates), min(rule.k, len(candidates))))


class NetworkChange(NamedTuple):
    """What a step makes of a network: the new one, the targets of the synapses that plasticity
    created, which get a spike each, and the slots that are closed while they divide or bud."""

    network: ReferenceNetwork
    created: list[int]
    changing: set[int]


def changed_network(
    system: SpikingSystem, network: ReferenceNetwork, choice: "Choice"
) -> NetworkChange:
    """Change a network as the selected rules demand; a neuron edits only its own synapses.

    **Arguments:**

    - `system`: a system.
    - `network`: its current network.
    - `choice`: a valid spiking vector.

    **Returns:** the `NetworkChange`.
    """
    labels = list(network.labels)
    second: list[int | None] = [None] * len(labels)
    synapses = {(source, target): weight for source, target, weight in network.synapses}
    created: list[int] = []
    divisions: list[tuple[int, DivisionRule]] = []
    buddings: list[tuple[int, BuddingRule]] = []
    for slot, selected in enumerate(choice):
        number, targets = selected if isinstance(selected, tuple) else (selected, ())
        is_second = number is None and network.second[slot] is not None
        number = network.second[slot] if is_second else number
        if number is None:
            continue
        rule = rules_of(system, labels[slot])[number]
        match rule:
            case DivisionRule():
                divisions.append((slot, rule))
            case BuddingRule():
                buddings.append((slot, rule))
            case PlasticityRule():
                if not is_second:
                    second[slot] = number if len(rule.alpha) == 2 else None
                for target in targets:
                    if rule.alpha[1 if is_second else 0] == "+":
                        synapses[slot, target] = 1
                        created.append(target)
                    else:
                        del synapses[slot, target]

    # All divisions, all buddings, then the dictionary.
    newborn: list[int] = []  # whom the dictionary gives synapses
    changing: set[int] = set()
    for slot, rule in divisions:
        right = len(labels)
        labels[slot] = rule.left
        labels.append(rule.right)
        synapses = _divided(synapses, slot, right)
        newborn += [slot, right]
        changing |= {slot, right}
    for slot, rule in buddings:
        bud = len(labels)
        labels.append(rule.bud)
        synapses = _budded(synapses, slot, bud)
        newborn.append(bud)
        changing |= {slot, bud}
        if rule.parent is not None:
            labels[slot] = rule.parent
            newborn.append(slot)
    pairs = _dictionary(system)
    for slot, other in itertools.product(newborn, range(len(labels))):
        if slot != other and (labels[slot], labels[other]) in pairs:
            synapses.setdefault((slot, other), 1)
        if slot != other and (labels[other], labels[slot]) in pairs:
            synapses.setdefault((other, slot), 1)
    second += [None] * (len(labels) - len(second))
    listed = tuple(sorted((s, t, w) for (s, t), w in synapses.items()))
    return NetworkChange(ReferenceNetwork(tuple(labels), listed, tuple(second)), created, changing)


def _divided(synapses: _Synapses, slot: int, right: int) -> _Synapses:
    """Both children have every synapse of their parent; the left child takes its slot. A synapse of
    the parent with itself becomes all four between the children."""
    children = {slot: (slot, right)}
    return {
        (x, y): weight
        for (source, target), weight in synapses.items()
        for x in children.get(source, (source,))
        for y in children.get(target, (target,))
    }


def _budded(synapses: _Synapses, slot: int, bud: int) -> _Synapses:
    """The bud takes over the outgoing synapses, and gets one from its parent."""
    moved = {(bud if source == slot else source, t): w for (source, t), w in synapses.items()}
    return {**moved, (slot, bud): 1}


def _dictionary(system: SpikingSystem) -> set[tuple[str, str]]:
    """The label pairs of the initial synapses, and the declared ones."""
    labels = {neuron.name: neuron.label for neuron in system.neurons}
    return {(labels[s], labels[t]) for s, t, _ in system.synapses} | set(system.dictionary)


explain_arguments(__name__)
