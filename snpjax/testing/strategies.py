"""Hypothesis strategies: guards, rules, systems, inputs and runs, small first and including the odd
ones.

```python
from hypothesis import given
from snpjax.testing import systems

@given(systems(max_neurons=6))
def test_mine(system): ...
```
"""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

from .._text.optional import installing
from ..spiking.model.communication_variants import Channels, Requests
from ..spiking.model.guard import Guard
from ..spiking.model.rule import (
    ALPHAS,
    AnyRule,
    BuddingRule,
    DivisionRule,
    PlasticityRule,
    RequestRule,
    Rule,
)
from ..spiking.model.system import Neuron, SpikingSystem
from ..spiking.model.timed_variants import (
    DendriticDelays,
    Schedule,
    ScheduledSynapses,
    SynapseDelays,
)
from ..spiking.model.validity import Level, ModelWarning
from ..spiking.model.variants import (
    AntiSpikes,
    Astrocyte,
    Astrocytes,
    Exhaustive,
    RuledSynapse,
    SynapseRules,
)
from .reference import Choice, Computation, Configuration, alternatives, decisions, run


try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Drawing systems needs Hypothesis, which is not installed ({installing('testing')})"
    ) from error


@st.composite
def guards(draw: Any, *, max_count: int = 6) -> Guard:
    """A strategy of guards: exact counts, intervals, arithmetic progressions, sets and unions.

    **Arguments:**

    - `max_count`: the largest constant in a guard, 1 or more.

    **Returns:** a Hypothesis strategy of `Guard`s.

    ```python
    @given(guards())
    def test_complement(guard):
        assert guard.isdisjoint(~guard)
    ```
    """
    counts = st.integers(0, max_count)
    kind = draw(st.sampled_from(["exactly", "interval", "from", "progression", "set", "union"]))
    if kind == "exactly":
        return Guard.exactly(draw(counts))
    if kind == "interval":
        low, high = sorted([draw(counts), draw(counts)])
        return Guard.interval(low, high)
    if kind == "from":
        return Guard.interval(draw(counts))
    if kind == "progression":
        period = draw(st.integers(1, max_count))
        return Guard.exactly(draw(counts)).concatenate(Guard.exactly(period).star())
    if kind == "set":
        return Guard.from_lengths(draw(st.sets(counts, min_size=1)))
    return draw(guards(max_count=max_count)) | draw(guards(max_count=max_count))


@st.composite
def rules(draw: Any, *, level: Level = "extended", max_count: int = 4, max_delay: int = 3) -> Rule:
    """A strategy of spiking and forgetting rules, each valid by itself; some can never apply.

    **Arguments:**

    - `level`: the level at which the rules are valid, `"strict"` or `"extended"`.
    - `max_count`: the largest number of spikes that a rule consumes or produces.
    - `max_delay`: the largest delay, in steps.

    **Returns:** a Hypothesis strategy of `Rule`s.

    ```python
    @given(rules(max_delay=0))
    def test_text(rule):
        assert snp.Rule.parse(str(rule)) == rule
    ```
    """
    consume = draw(st.integers(1, max_count))
    is_forgetting = draw(st.integers(0, 3)) == 0
    if is_forgetting:
        guard = None if level == "strict" else draw(st.none() | guards())
        return Rule(guard, consume)
    guard = draw(st.none() | guards())
    produce = draw(st.integers(1, consume if level == "strict" else max_count))
    return Rule(guard, consume, produce, draw(st.sampled_from([0, 0, *range(max_delay + 1)])))


@st.composite
def systems(
    draw: Any,
    *,
    level: Level = "extended",
    min_neurons: int = 0,
    max_neurons: int = 6,
    max_rules: int = 4,
    max_spikes: int = 5,
    max_delay: int = 3,
    inputs: bool = True,
    weights: bool = True,
    signed: bool | None = False,
    min_outputs: int = 0,
    max_outputs: int = 2,
) -> SpikingSystem:
    """A strategy of static systems.

    **Arguments:**

    - `level`: the level at which the systems are valid, `"strict"` or `"extended"`.
    - `min_neurons`, `max_neurons`: bounds of the number of neurons.
    - `max_rules`: the largest number of rules of a neuron.
    - `max_spikes`: the largest number of initial spikes of a neuron.
    - `max_delay`: the largest delay of a rule, in steps.
    - `inputs`: whether some neurons may have an input train.
    - `weights`: whether synapses may have weights above 1 (only at level *extended*).
    - `signed`: whether weights and initial spikes may be negative; `None` draws it.
    - `min_outputs`, `max_outputs`: bounds of the number of output neurons, of which there are at
      most as many as neurons.

    **Returns:** a Hypothesis strategy of `SpikingSystem`s.

    ```python
    @given(systems(max_neurons=4, min_neurons=1, min_outputs=1, max_outputs=1))
    def test_itself(system):
        assert_equivalent(system, system, max_depth=5, bounded=True)
    ```
    """
    is_signed = draw(st.booleans()) if signed is None else signed
    names = [f"n{i}" for i in range(draw(st.integers(min_neurons, max_neurons)))]
    neurons = []
    for name in names:
        drawn = draw(st.lists(rules(level=level, max_delay=max_delay), max_size=max_rules))
        if level == "strict":
            drawn = _without_overlap(drawn)
        lowest = -2 if is_signed else 0
        neurons.append(Neuron(name, draw(st.integers(lowest, max_spikes)), drawn))
    pairs = [(x, y) for x in names for y in names if x != y or level == "extended"]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    weight = st.just(1)
    if weights and level == "extended":
        weight = st.sampled_from([1, 1, 2, 3])
        if is_signed:
            weight = st.sampled_from([1, 2, -1, -2])
    synapses = [(x, y, draw(weight)) for x, y in chosen]
    input: dict[str, list[int]] = {}
    if inputs and names:
        fed = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
        input = {name: draw(st.lists(st.integers(0, 3), max_size=6)) for name in fed}
    least, most = min(min_outputs, len(names)), min(max_outputs, len(names))
    output = []
    if names:
        output = draw(st.lists(st.sampled_from(names), unique=True, min_size=least, max_size=most))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # dead and repeated rules are wanted here
        return SpikingSystem(
            neurons, synapses, input=input, output=output, level=level, signed=is_signed
        )


def _without_overlap(drawn: list[Rule]) -> list[Rule]:
    """Drop forgetting rules at whose count a firing rule applies too."""
    firing = [rule for rule in drawn if not rule.is_forgetting]
    return [
        rule
        for rule in drawn
        if not rule.is_forgetting or not any(rule.consume in other.guard for other in firing)
    ]


# A network that hardly changes tests little: most rules that change it apply at the few spikes that
# their neurons have at the start.
_frequent_guards = st.sampled_from([Guard.interval(1), Guard.exactly(1), Guard.interval(2)])
_changing_guards = _frequent_guards | _frequent_guards | guards()
_changing_spikes = st.sampled_from([1, 2, 3, 0])


def _before_changes(
    level: Level, num_neurons: tuple[int, int], max_rules: int, max_delay: int, inputs: bool
) -> st.SearchStrategy[SpikingSystem]:
    """Systems of few spikes, to which rules are added that change the network."""
    least, most = num_neurons
    return systems(
        level=level,
        min_neurons=least,
        max_neurons=most,
        max_rules=max_rules,
        max_spikes=3,
        max_delay=max_delay,
        inputs=inputs,
    )


@st.composite
def plastic_systems(
    draw: Any,
    *,
    level: Level = "extended",
    max_neurons: int = 5,
    max_rules: int = 2,
    max_plasticity: int = 3,
    max_delay: int = 2,
    inputs: bool = True,
) -> SpikingSystem:
    """A strategy of systems with plasticity rules of all four kinds.

    **Arguments:**

    - `level`: the level at which the systems are valid, `"strict"` or `"extended"`.
    - `max_neurons`: the largest number of neurons, at least 2, because a neuron cannot create a
      synapse to itself.
    - `max_rules`: the largest number of spiking and forgetting rules of a neuron.
    - `max_plasticity`: the largest number of plasticity rules of the system, which has at least
      one.
    - `max_delay`: the largest delay of a rule, in steps.
    - `inputs`: whether some neurons may have an input train.

    **Returns:** a Hypothesis strategy of `SpikingSystem`s.

    ```python
    @given(plastic_systems(), st.data())
    def test_nobody_is_born(system, data):
        run = data.draw(runs(system))
        assert {len(c.spikes) for c in run.configurations} == {system.num_neurons}
    ```
    """
    system = draw(_before_changes(level, (2, max_neurons), max_rules, max_delay, inputs))
    names = list(system.names)
    rules_of: dict[str, list[AnyRule | str]] = {n.name: [*n.rules] for n in system.neurons}
    plastic = set()
    created: dict[str, set[str]] = {name: set() for name in names}
    for _ in range(draw(st.integers(1, max_plasticity))):
        name = draw(st.sampled_from(names))
        others = [other for other in names if other != name]
        rule = PlasticityRule(
            draw(_changing_guards),
            draw(st.sampled_from([1, 1, 2])),
            draw(st.sampled_from(ALPHAS)),
            draw(st.integers(1, 3)),
            draw(st.lists(st.sampled_from(others), unique=True, min_size=1)),
        )
        rules_of[name].insert(draw(st.integers(0, len(rules_of[name]))), rule)
        plastic.add(name)
        created[name].update(rule.targets if "+" in rule.alpha else ())
    return system.replace(
        neurons=[
            Neuron(
                n.name, draw(_changing_spikes) if n.name in plastic else n.spikes, rules_of[n.name]
            )
            for n in system.neurons
        ],
        # What may be created has no weight.
        synapses=[(x, y, 1 if y in created[x] else w) for x, y, w in system.synapses],
    )


@st.composite
def dividing_systems(
    draw: Any,
    *,
    level: Level = "extended",
    max_neurons: int = 4,
    max_rules: int = 2,
    max_growth: int = 3,
    max_delay: int = 2,
    inputs: bool = True,
) -> SpikingSystem:
    """A strategy of systems with division and budding rules and a synapse dictionary, in which
    several neurons may have one label.

    They grow slowly: labels are ordered, and of the two neurons that a rule creates at most one has
    the label of their parent, while the other has a later one.

    **Arguments:**

    - `level`: the level at which the systems are valid, `"strict"` or `"extended"`.
    - `max_neurons`: the largest number of initial neurons.
    - `max_rules`: the largest number of spiking and forgetting rules of a label.
    - `max_growth`: the largest number of division and budding rules of the system, which has at
      least one.
    - `max_delay`: the largest delay of a rule, in steps.
    - `inputs`: whether some neurons may have an input train.

    **Returns:** a Hypothesis strategy of `SpikingSystem`s.

    ```python
    @given(dividing_systems(), st.data())
    def test_slots_are_never_lost(system, data):
        run = data.draw(runs(system))
        sizes = [len(c.spikes) for c in run.configurations]
        assert sizes == sorted(sizes)
    ```
    """
    system = draw(_before_changes(level, (1, max_neurons), max_rules, max_delay, inputs))
    label_of: dict[str, str] = {}
    for name in system.names:
        label_of[name] = draw(st.sampled_from([name, name, *label_of.values()]))
    first = list(dict.fromkeys(label_of.values()))
    labels = [*first, "x", "y"]
    rules_of: dict[str, list[AnyRule | str]] = {
        label: [*system.neurons[system.names[label]].rules] for label in first
    }
    for label in ("x", "y"):
        own = draw(st.lists(rules(level=level, max_delay=max_delay), max_size=max_rules))
        rules_of[label] = [*(_without_overlap(own) if level == "strict" else own)]
    growing, born = set(), set(first)
    for number in range(draw(st.integers(1, max_growth))):
        # At least one is of a label that a neuron has from the start.
        label = draw(st.sampled_from([*first, "x"] if number else first))
        rule = draw(_growth_rules(label, labels[labels.index(label) + 1 :], level=level))
        rules_of[label].insert(draw(st.integers(0, len(rules_of[label]))), rule)
        growing.add(label)
        if label in first:
            born.add(rule.right if isinstance(rule, DivisionRule) else rule.bud)
    called = st.sampled_from(sorted(born))  # inputs and outputs name labels
    pairs = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    neurons = []
    for neuron in system.neurons:
        label = label_of[neuron.name]
        spikes = draw(_changing_spikes) if label in growing else neuron.spikes
        neurons.append(Neuron(neuron.name, spikes, rules_of[label], label))
    return system.replace(
        neurons=neurons,
        input={draw(called): train for train in system.input.values()},
        output=[draw(called) for _ in system.output],
        dictionary=draw(st.lists(pairs, unique=True, max_size=3)),
        # A label without rules need not be there.
        rules_by_label={x: rules_of[x] for x in ("x", "y") if rules_of[x]},
    )


@st.composite
def _growth_rules(
    draw: Any, label: str, later: Sequence[str], *, level: Level
) -> DivisionRule | BuddingRule:
    """Division and budding rules of a label, whose new neurons bear it or `later` labels."""
    guard = draw(_changing_guards)
    new = draw(st.sampled_from(later))
    kept = draw(st.sampled_from([label, *later]))
    if draw(st.booleans()):
        return DivisionRule(guard, *draw(st.permutations([kept, new])))
    if level == "strict" or kept == label:
        return BuddingRule(guard, new)
    parent, bud = draw(st.sampled_from([(kept, new), (new, label)]))
    return BuddingRule(guard, bud, parent)


@st.composite
def variant_systems(
    draw: Any,
    kind: Literal[
        "anti-spikes",
        "plastic-anti-spikes",
        "exhaustive",
        "astrocytes",
        "synapse-rules",
        "channels",
        "requests",
        "synapse-delays",
        "dendritic-delays",
        "scheduled-synapses",
    ],
    *,
    max_neurons: int = 5,
    max_rules: int = 3,
    max_delay: int = 2,
    inputs: bool = True,
) -> SpikingSystem:
    """A strategy of systems of one variant.

    **Arguments:**

    - `kind`: the variant; `"plastic-anti-spikes"` combines anti-spikes with plasticity. A system
      has at most two astrocytes, three channels, and seven delays or schedules.
    - `max_neurons`: the largest number of neurons.
    - `max_rules`: the largest number of rules of a neuron; a synapse has at most two.
    - `max_delay`: the largest delay of a rule, in steps. With rules on synapses, channels or
      requests no rule has a delay.
    - `inputs`: whether some neurons may have an input train.

    **Returns:** a Hypothesis strategy of `SpikingSystem`s.

    ```python
    @given(variant_systems("anti-spikes"), st.data())
    def test_mine(system, data):
        run = data.draw(runs(system))
    ```
    """
    system = draw(
        systems(
            min_neurons=1,
            max_neurons=max_neurons,
            max_rules=max_rules,
            max_delay=max_delay,
            inputs=inputs,
        )
    )
    if kind == "anti-spikes":
        return draw(_with_anti_spikes(system))
    if kind == "plastic-anti-spikes":
        system = draw(plastic_systems(max_neurons=max_neurons, max_rules=max_rules, inputs=inputs))
        return draw(_with_anti_spikes(system))
    if kind == "exhaustive":
        return system.replace(variant=Exhaustive())
    if kind == "astrocytes":
        return draw(_with_astrocytes(system))
    if kind == "channels":
        return draw(_with_channels(system))
    if kind == "requests":
        return draw(_with_requests(system))
    if kind == "synapse-rules":
        return draw(_with_synapse_rules(system))
    if kind == "scheduled-synapses":
        return system.replace(variant=ScheduledSynapses(draw(_schedules(system))))
    delays = st.integers(0, 4)
    if kind == "dendritic-delays":
        own = st.dictionaries(st.sampled_from(sorted(system.names)), delays)
        return system.replace(variant=DendriticDelays(draw(own)))
    pairs = [(source, target) for source, target, _ in system.synapses]
    own = st.dictionaries(st.sampled_from(pairs), delays, max_size=7) if pairs else st.just({})
    return system.replace(variant=SynapseDelays(draw(own)))


_signs = st.sampled_from([1, -1])


@st.composite
def _with_anti_spikes(draw: Any, system: SpikingSystem) -> SpikingSystem:
    neurons = [
        Neuron(
            n.name,
            draw(_signs) * n.spikes,
            [
                Rule(r.guard, r.consume, draw(_signs) * r.produce, r.delay, draw(_signs))
                if isinstance(r, Rule)
                else r
                for r in n.rules
            ],
        )
        for n in system.neurons
    ]
    synapses = [
        (x, y, weight if system.changes_network and weight == 1 else draw(_signs) * weight)
        for x, y, weight in system.synapses
    ]
    input = {x: [draw(_signs) * k for k in train] for x, train in system.input.items()}
    return system.replace(neurons=neurons, synapses=synapses, input=input, variant=AntiSpikes())


@st.composite
def _with_astrocytes(draw: Any, system: SpikingSystem) -> SpikingSystem:
    pairs = [(source, target) for source, target, _ in system.synapses]
    controlled = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=7)) if pairs else []
    cut = draw(st.integers(0, len(controlled)))
    groups = [group for group in (controlled[:cut], controlled[cut:]) if group]
    # Small ones, which are often reached exactly.
    astrocytes = [Astrocyte(group, draw(st.sampled_from([1, 2, 3, 0, 6]))) for group in groups]
    return system.replace(variant=Astrocytes(astrocytes))


@st.composite
def _schedules(draw: Any, system: SpikingSystem) -> list[Schedule]:
    pairs = [(source, target) for source, target, _ in system.synapses]
    found = []
    for source, target in draw(st.lists(st.sampled_from(pairs), max_size=7)) if pairs else []:
        start = draw(st.integers(0, 4))
        stop = draw(st.none() | st.integers(start + 1, 6))
        reference = draw(st.none() | st.sampled_from(sorted(system.names)))
        found.append(Schedule(source, target, start, stop, reference))
    return found


@st.composite
def _with_synapse_rules(draw: Any, system: SpikingSystem) -> SpikingSystem:
    own = st.lists(rules(max_delay=0, max_count=3), max_size=2)
    ruled: dict[RuledSynapse, list[Rule]] = {}
    for neuron in system.neurons:
        targets = [target for source, target, _ in system.synapses if source == neuron.name]
        for target in [*targets[:2], *draw(st.lists(st.none(), max_size=1))]:
            ruled[neuron.name, target] = draw(own)
    neurons = [Neuron(neuron.name, neuron.spikes) for neuron in system.neurons]
    return system.replace(neurons=neurons, variant=SynapseRules(ruled))


@st.composite
def _with_channels(draw: Any, system: SpikingSystem) -> SpikingSystem:
    labels = st.sampled_from(["1", "2", "a"])
    channels: dict[str, list[tuple[str, str]]] = {}
    for source, target, _ in system.synapses:
        for label in draw(st.lists(labels, min_size=1, max_size=2, unique=True)):
            channels.setdefault(label, []).append((source, target))
    neurons = [
        Neuron(
            n.name,
            n.spikes,
            [
                Rule(r.guard, r.consume, r.produce, channel=draw(labels) if r.produce else None)
                for r in n.rules
                if isinstance(r, Rule)
            ],
        )
        for n in system.neurons
    ]
    return system.replace(neurons=neurons, variant=Channels(channels))


@st.composite
def _with_requests(draw: Any, system: SpikingSystem) -> SpikingSystem:
    counts = st.sampled_from([1, None, 2, 1, 3])
    neurons = []
    for neuron in system.neurons:
        others = [name for name in system.names if name != neuron.name]
        asked = st.lists(st.sampled_from(others), min_size=1, max_size=2, unique=True)
        requests = [
            RequestRule(rule.guard, [(draw(counts), name) for name in draw(asked)])
            for rule in neuron.rules
            if others and isinstance(rule, Rule)
        ]
        neurons.append(Neuron(neuron.name, neuron.spikes, requests))
    return system.replace(neurons=neurons, synapses=(), output=(), variant=Requests())


@st.composite
def inputs(
    draw: Any,
    system: SpikingSystem,
    length: int,
    *,
    most: int = 1,
    neurons: Sequence[str] | None = None,
) -> dict[str, list[int]]:
    """A strategy of input trains, for `system.with_input`.

    **Arguments:**

    - `system`: the system that receives them.
    - `length`: the number of steps of each train.
    - `most`: the largest number of spikes in a step.
    - `neurons`: the neurons that receive input; by default those that have a train in the system.

    **Returns:** a Hypothesis strategy of trains by the name of their neuron.

    ```python
    @given(st.data())
    def test_sum(data):
        trains = data.draw(inputs(adder, 6))
        assert total(snp.run(adder.with_input(trains))) == expected(trains)
    ```
    """
    train = st.lists(st.integers(0, most), min_size=length, max_size=length)
    return {name: draw(train) for name in (system.input if neurons is None else neurons)}


@st.composite
def runs(draw: Any, system: SpikingSystem, *, max_steps: int = 10) -> Computation:
    """A strategy of computations by the reference interpreter, with every choice drawn.

    `snpjax.GivenChoices(run.choices)` repeats one with another implementation.

    **Arguments:**

    - `system`: the system that is run.
    - `max_steps`: the largest number of steps.

    **Returns:** a Hypothesis strategy of `Computation`s.

    ```python
    @given(st.data())
    def test_bound(data):
        run = data.draw(runs(system))
        assert all(sum(c.spikes) <= 5 for c in run.configurations)
    ```
    """

    def choose(system: SpikingSystem, configuration: Configuration) -> Choice:
        def drawn(options: list[list[Any]]) -> Choice:
            return tuple(draw(st.sampled_from(own)) if len(own) > 1 else own[0] for own in options)

        choice = drawn(alternatives(system, configuration))
        return choice + drawn(decisions(system, configuration, choice))

    return run(system, choose, max_steps=draw(st.integers(0, max_steps)))
