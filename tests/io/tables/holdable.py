"""Random models that a format holds, and what it reads of others."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np

import snpjax as snp
from snpjax import BuddingRule, DivisionRule, Neuron, Rule, SpikingSystem
from snpjax.sleptsov import Arcs, Numbered, SleptsovNet
from snpjax.testing import (
    dividing_systems,
    guards,
    plastic_systems,
    rules,
    systems,
    variant_systems,
)
from tests.io.tables.mistakes import quietly


VARIANTS = [
    *("anti-spikes", "plastic-anti-spikes", "exhaustive", "astrocytes", "synapse-rules"),
    *("channels", "requests", "synapse-delays", "dendritic-delays", "scheduled-synapses"),
]
any_variant = st.sampled_from(VARIANTS).flatmap(variant_systems)
any_system = systems() | plastic_systems() | dividing_systems() | any_variant

# WebSnapse

NAMES = st.lists(st.text("ab_{},1 '\"é\n", max_size=6), unique=True, max_size=4)


@st.composite
def renamed(draw, level):
    """A random system with names of any text, and with weights and trains of any size."""
    system = draw(systems(level=level).filter(lambda system: not system.signed))
    names = draw(NAMES) + [f"n{i}" for i in range(len(system.neurons))]
    by_old = dict(zip(system.names, names, strict=False))
    large = st.sampled_from([0, 1, 9, 10, 99, 12345])
    return quietly(
        SpikingSystem,
        [Neuron(by_old[n.name], n.spikes, n.rules) for n in system.neurons],
        [(by_old[s], by_old[t], w) for s, t, w in system.synapses],
        input={by_old[n]: draw(st.lists(large, max_size=4)) for n in system.input},
        output=[by_old[name] for name in system.output],
        level=system.level,
    )


@st.composite
def growing(draw):
    """A random system with division rules: labels are made by rules, some are initial neurons."""
    labels = [f"l_{{{i}}}" if draw(st.booleans()) else f"l_{i}" for i in range(5)]
    born = labels[: draw(st.integers(1, 3))]
    label = st.sampled_from(labels)
    division = st.builds(DivisionRule, guards().filter(lambda g: not g.is_empty), label, label)
    its_rules = {x: draw(st.lists(rules() | division, max_size=3)) for x in labels}
    its_rules[born[0]] += [DivisionRule("a", x, labels[-1]) for x in labels if x not in born]
    pairs = draw(st.lists(st.tuples(label, label), unique=True))
    both = [pair for pair in pairs if set(pair) <= set(born)]
    return quietly(
        SpikingSystem,
        [Neuron(x, draw(st.integers(0, 3)), its_rules[x]) for x in born],
        [(*pair, draw(st.integers(1, 3))) for pair in both],
        dictionary=[pair for pair in pairs if pair not in both],
        rules_by_label={x: its for x, its in its_rules.items() if its and x not in born},
        output=draw(st.lists(st.sampled_from(born), unique=True)),
        input={x: [1, 0, 11] for x in draw(st.lists(st.sampled_from(born), unique=True))},
    )


# P-Lingua


def without_last_zeros(system: SpikingSystem) -> SpikingSystem:
    trains = {name: tuple(np.trim_zeros(x, "b")) for name, x in system.input.items()}
    return system.replace(input=trains)


def only_one_input(system: SpikingSystem) -> SpikingSystem:
    return without_last_zeros(system.replace(input=dict(list(system.input.items())[:1])))


def in_plingua(level):
    """Random systems of the language: no weights, one input neuron, no zeros at a train's end."""
    return systems(level=level, weights=False).map(only_one_input)


def one_of_each_label(system: SpikingSystem) -> SpikingSystem:
    """Without weights, and without the neurons whose label another one bears before."""
    first = {}
    for neuron in system.neurons:
        first.setdefault(neuron.label, neuron)
    label_of = {neuron.name: label for label, neuron in first.items()}
    kept = [s for s in system.synapses if s.source in label_of and s.target in label_of]
    return only_one_input(system).replace(
        neurons=[Neuron(x, n.spikes, n.rules) for x, n in first.items()],
        synapses=[(label_of[s.source], label_of[s.target]) for s in kept],
    )


@st.composite
def dynamic_systems(draw):
    """Division and budding rules, and rules of labels that are still to come."""
    old, new = ["p", "q", "r{1}"], ["s", "t{0,-2}", "5"]
    labels = st.sampled_from([*old, *new])

    def rule():
        guard = draw(guards())
        kind = draw(st.integers(0, 2))
        if kind == 0:
            return DivisionRule(guard, draw(labels), draw(labels))
        if kind == 1:
            return BuddingRule(guard, draw(labels), draw(st.none() | st.sampled_from(new)))
        return Rule(guard, draw(st.integers(1, 3)), 1, draw(st.integers(0, 2)))

    rules = {x: [rule() for _ in range(draw(st.integers(0, 2)))] for x in [*old, *new]}
    # A parent that keeps its label is written `None`.
    rules = {
        x: [
            BuddingRule(r.guard, r.bud) if isinstance(r, BuddingRule) and r.parent == x else r
            for r in its
        ]
        for x, its in rules.items()
    }
    born = {
        child
        for its in rules.values()
        for r in its
        if not isinstance(r, Rule)
        for child in ((r.left, r.right) if isinstance(r, DivisionRule) else (r.bud, r.parent))
    }
    # What gives birth may be unborn itself: such rules are the label's only while it is born.
    return quietly(
        SpikingSystem,
        [Neuron(label, draw(st.integers(0, 3)), rules[label]) for label in old],
        draw(st.lists(st.sampled_from([(x, y) for x in old for y in old]), unique=True)),
        dictionary=draw(st.lists(st.tuples(labels, labels), max_size=3)),
        rules_by_label={label: rules[label] for label in new if label in born and rules[label]},
    )


# cuSNP


def numbered(system: SpikingSystem) -> SpikingSystem:
    """The system as it is read: neurons named by their positions, synapses sorted by sources."""
    names = {neuron.name: str(index) for index, neuron in enumerate(system.neurons)}
    synapses = [(names[x], names[y], w) for x, y, w in system.synapses]
    return quietly(
        replace,
        system,
        neurons=[Neuron(names[n.name], n.spikes, n.rules) for n in system.neurons],
        synapses=sorted(synapses, key=lambda synapse: int(synapse[0])),
        notes={},
    )


def is_in_cusnp(rule: Rule) -> bool:
    least = rule.guard.minimum
    return rule.guard == snp.Guard("a*") or (least is not None and rule.guard.is_exactly(least))


@st.composite
def in_cusnp(draw, level):
    system = draw(systems(level=level, inputs=False, weights=False))
    guards = st.sampled_from(["a*", "a", "a{2}", "a{5}", "a{30}"])

    def its_rules(neuron):
        if level == "strict":
            return [rule for rule in neuron.rules if is_in_cusnp(rule)]
        drawn = draw(st.lists(st.tuples(rules(), guards), max_size=3))
        return [Rule(guard, r.consume, r.produce, r.delay) for r, guard in drawn]

    neurons = [Neuron(n.name, n.spikes, its_rules(n)) for n in system.neurons]
    return numbered(quietly(replace, system, neurons=neurons, output=()))


# Nets

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1)
PLAIN = WORDS.filter(lambda name: name == name.strip() and len(name) < 20)


@st.composite
def nets(draw: Any, *, thresholds: bool = True, final: bool = False) -> SleptsovNet:
    """Nets of every kind: no nodes, self-loops, weights, dead and unbounded transitions."""
    m, n = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    ends = st.tuples(st.integers(0, max(m - 1, 0)), st.integers(0, max(n - 1, 0)))
    weights = st.integers(1, 3) | st.just(2**63 - 1)

    def arcs(weights: Any) -> Arcs:
        drawn = draw(st.dictionaries(ends, weights, max_size=8 if m and n else 0))
        return Arcs.of([(p, t, w) for (p, t), w in drawn.items()])

    def names(count: int) -> Any:
        return draw(st.lists(PLAIN, min_size=count, max_size=count, unique=True))

    pairs = draw(st.sets(st.tuples(*[st.integers(0, max(n - 1, 0))] * 2), max_size=5))
    order = draw(st.permutations(range(n)))
    number = {t: at for at, t in enumerate(order)}
    named = draw(st.booleans())
    marking = st.lists(st.integers(0, 3), min_size=m, max_size=m)
    return quietly(
        SleptsovNet,
        draw(st.lists(st.integers(0, 9) | st.just(2**63 - 1), min_size=m, max_size=m)),
        inputs=arcs(weights),
        outputs=arcs(weights),
        inhibitors=arcs(weights if thresholds else st.just(1)),
        tests=arcs(weights) if thresholds else None,
        priorities=[pair for pair in pairs if n and number[pair[0]] < number[pair[1]]],
        num_transitions=n,
        place_names=names(m) if named else None,
        transition_names=names(n) if named else None,
        final_markings=draw(st.lists(marking, max_size=2)) if final else (),
        name=draw(st.just("") | PLAIN),
    )


def from_zero(net: SleptsovNet) -> SleptsovNet:
    """The net with names from 0."""
    return net.replace(
        place_names=Numbered("p", net.num_places, 0),
        transition_names=Numbered("t", net.num_transitions, 0),
    )


def _has_own_names(net: SleptsovNet) -> bool:
    return not set(net.place_names) & set(net.transition_names)


def _has_one_arc_a_cell(net: SleptsovNet) -> bool:
    regular = {(p, t) for p, t, _ in net.inputs.triples()}
    return not any((p, t) in regular for p, t, _ in net.inhibitors.triples())


_plain_nets = nets(thresholds=False) | nets(thresholds=False).map(from_zero)
_in_websnapse = renamed("extended") | renamed("strict") | growing()

#: By format: models that it holds, so that they are read as they were.
HOLDABLE: dict[str, Any] = {
    "native": any_system,
    "plingua": in_plingua("extended") | in_plingua("strict"),
    "websnapse": _in_websnapse,
    "factory-yaml": _in_websnapse,
    "cusnp": in_cusnp("extended") | in_cusnp("strict"),
    "lsn": _plain_nets,
    "mcc": _plain_nets,
    "msn": _plain_nets.filter(_has_one_arc_a_cell),
    "net": nets(),
    "ndr": nets().filter(_has_own_names),
    "pnml": nets(final=True),
}
#: By format: random systems beside `any_system` that it may not hold.
OTHERS: dict[str, Any] = {"plingua": dividing_systems().map(one_of_each_label) | dynamic_systems()}


def _without_pairs_of_synapses(system: SpikingSystem) -> SpikingSystem:
    ends = {(source, target) for source, target, _ in system.synapses}
    return system.replace(dictionary=[pair for pair in system.dictionary if pair not in ends])


#: By format: the system that is read from the file of a system without losses.
AS_READ: dict[str, Callable[[SpikingSystem], SpikingSystem]] = {
    "native": lambda system: system,
    "plingua": without_last_zeros,
    # A pair that a synapse gives anyway is not written.
    "websnapse": _without_pairs_of_synapses,
    "factory-yaml": _without_pairs_of_synapses,
    "cusnp": numbered,
}


def _is_in_websnapse(system: SpikingSystem) -> bool:
    everything = [*system.rules, *(r for its in system.rules_by_label.values() for r in its)]
    return not any(isinstance(rule, BuddingRule) for rule in everything)


def _is_in_plingua(system: SpikingSystem) -> bool:
    return all(weight == 1 for _, _, weight in system.synapses) and len(system.input) < 2


def _is_in_cusnp(system: SpikingSystem) -> bool | None:
    is_plain = system.is_static and not (system.input or system.output or system.dictionary)
    if not is_plain or {weight for _, _, weight in system.synapses} > {1}:
        return False
    # A guard such as a+ is written as a* where the rule consumes enough.
    return all(map(is_in_cusnp, system.rules)) or None


#: By format: whether it holds a published case; `None` where that depends.
HOLDS_CASE: dict[str, Callable[[SpikingSystem], bool | None]] = {
    "native": lambda system: True,
    "plingua": _is_in_plingua,
    "websnapse": _is_in_websnapse,
    "factory-yaml": _is_in_websnapse,
    "cusnp": _is_in_cusnp,
}
