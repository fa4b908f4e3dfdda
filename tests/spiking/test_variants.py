"""Variants of the model: anti-spikes, exhaustive use of rules, astrocytes, rules on synapses,
channels."""

import itertools
import pickle
import warnings
from dataclasses import replace

import jax.random as jr
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings, strategies as st

import snpjax as snp
from snpjax import write_graph
from snpjax.explore import Stop
from snpjax.spiking.lower.host_program import host_program_of
from snpjax.spiking.model.communication_variants import Channels, Requests
from snpjax.spiking.model.rule import AnyRule
from snpjax.spiking.model.validity import Place
from snpjax.spiking.model.variants import (
    MAX_ALTERNATIVES,
    AntiSpikes,
    Astrocyte,
    Astrocytes,
    Exhaustive,
    SynapseRules,
)
from snpjax.testing import guards, reference, reference_graph, runs, systems, variant_systems
from snpjax.testing.reference_variants import ConflictingQueries
from snpjax_formats import BitDense, Int8Dense
from tests.explore.test_explore import assert_same_graph as assert_same_graph_of_neurons
from tests.support.computations import followed, without_decisions
from tests.support.graph_readers import read_aut
from tests.support.helpers import assert_same_run, many


KINDS = ["anti-spikes", "exhaustive", "astrocytes", "synapse-rules", "channels", "requests"]
#: Every run is at most this long, so that those of one variant share compilations.
MAX_STEPS = 8
MAX_CONFIGURATIONS = 30
CHUNKS = (64,)
seeds = st.integers(0, 2**32 - 1)

_PAIRS = [("x", "y"), ("x", "z")]

# Terms of one rule, all of which can apply, periodic and delayed; and a count above 127, so that
# searches of all systems count in 16 bits.
_RULE = snp.Rule("a{9,10}|a{12}|a{15,17}|a{20}|a{25,28}|a{33}|a{201}(aaaa)*", 9, 1, 1)
_MANY = [snp.Rule("a{201}", 50, produce) for produce in range(1, 11)]


def with_ballast(system: snp.SpikingSystem) -> snp.SpikingSystem:
    """`system` and inert neurons that have one of everything, so that random systems of a variant
    share one compilation: they never fire, and have no synapse with the others."""
    ballast = [snp.Neuron("ballast 1", 0, [_RULE]), snp.Neuron("ballast 2")]
    variant = system.variant
    if isinstance(variant, Astrocytes):
        own = Astrocyte([("ballast 1", "ballast 2")], 1)
        variant = Astrocytes([*variant.astrocytes, own])
    elif isinstance(variant, SynapseRules):
        ballast[0] = snp.Neuron("ballast 1")
        # A hundred alternatives.
        own = [(("ballast 1", f"ballast {number}"), _MANY) for number in (1, 2)]
        periodic = (("ballast 2", None), [snp.Rule("a{40}(aaaa)*", 1, 1)])
        variant = SynapseRules([*variant.rules, *own, periodic])
    elif isinstance(variant, Channels):
        ballast[0] = snp.Neuron("ballast 1", 0, [replace(_RULE, delay=0, channel="x")])
        ends = [("ballast 1", "ballast 2"), ("ballast 2", "ballast 1")]
        variant = variant.extended("x", ends)
    elif isinstance(variant, Requests):
        asking = snp.RequestRule(_RULE.guard, [(201, "ballast 2"), (None, "ballast 3")])
        ballast[0] = snp.Neuron("ballast 1", 0, [asking])
        with_names = [*system.neurons, *ballast, snp.Neuron("ballast 3")]
        return system.replace(neurons=with_names, input={**system.input, "ballast 2": (0, 0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return system.replace(
            neurons=[*system.neurons, *ballast],
            synapses=[
                *system.synapses,
                ("ballast 1", "ballast 2", 2),
                ("ballast 2", "ballast 1", 2),
            ],
            input={**system.input, "ballast 2": (0, 0)},
            output=[*system.output, "ballast 2"],
            variant=variant,
        )


def given_choices(
    system: snp.SpikingSystem, computation: reference.Computation
) -> snp.GivenChoices:
    """The choices of a computation, with a column for each astrocyte."""
    size = system.num_neurons
    rules = [[*choice[:size], *[None] * len(choice[size:])] for choice in computation.choices]
    subsets = [[0] * size + [x or 0 for x in choice[size:]] for choice in computation.choices]
    return snp.GivenChoices(rules, subsets)


def assert_same_graph(graph: snp.Graph, expected: reference_graph.ReferenceGraph) -> None:
    """The decisions of astrocytes, and all else."""
    size = graph.system.num_neurons
    subsets = graph.transitions().subsets
    decided = [[x or 0 for x in choice[size:]] for _, choice, _, _ in expected.edges]
    if subsets is not None:
        assert subsets[:, size:].tolist() == decided
    edges = tuple((s, choice[:size], emitted, t) for s, choice, emitted, t in expected.edges)
    assert_same_graph_of_neurons(graph, replace(expected, edges=edges))


def assert_follows(solution: snp.Solution) -> None:
    """A run is one of the reference, to its end or to a true overflow."""
    computation = followed(solution)
    if solution.result == snp.RESULTS.queries_conflict:
        with pytest.raises(ConflictingQueries):
            for choice in reference.choices(solution.system, computation.configurations[-1]):
                reference.step(solution.system, computation.configurations[-1], choice)
    elif solution.result == snp.RESULTS.spike_overflow:
        system, last = solution.system, computation.configurations[-1]
        assert isinstance(system.variant, Exhaustive | Requests) and not computation.halted
        # A rule emits, or a neuron holds, more than an eighth of what the type counts.
        most = max(max(last.spikes), *(max(row) for row in _next_emissions(system, last)))
        assert most > np.iinfo(solution.spikes.dtype).max // 8 // _fan_in(system)
    else:
        assert computation.halted or solution.steps == MAX_STEPS
    assert_same_run(solution, without_decisions(computation))


def _next_emissions(system, configuration):
    for choice in itertools.islice(reference.choices(system, configuration), 1):
        after, emissions = reference.step(system, configuration, choice)
        yield (*emissions, *after.spikes, *after.pending)


def _fan_in(system) -> int:
    """How many times what one neuron emits may arrive at one in a step, at most."""
    return sum(weight for _, _, weight in system.synapses) + 12


def check_random_path(system, seed):
    system = with_ballast(system)
    choice = snp.UniformChoice(jr.key(seed))
    assert_follows(snp.run(system, choice=choice, max_steps=MAX_STEPS, throw=False))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(st.data(), seeds)
def test_random_path_is_a_path_of_the_reference(kind, data, seed):
    check_random_path(data.draw(variant_systems(kind)), seed)


def check_given(system, data):
    system = with_ballast(system)
    try:
        computation = data.draw(runs(system, max_steps=MAX_STEPS))
    except ConflictingQueries:
        reject()
    choice = given_choices(system, computation)
    solution = snp.run(system, choice=choice, max_steps=computation.steps, throw=False)
    if solution.result != snp.RESULTS.spike_overflow:  # see `assert_follows`
        assert_same_run(solution, without_decisions(computation))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(st.data())
def test_given_choices_make_the_run_of_the_reference(kind, data):
    check_given(data.draw(variant_systems(kind)), data)


def check_graph(system):
    system = with_ballast(system)
    graph = snp.explore(system, max_configurations=MAX_CONFIGURATIONS, chunks=CHUNKS)
    try:
        expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    except ConflictingQueries:
        assert graph.stop is Stop.CONFLICT
        return
    if graph.stop is Stop.OVERFLOW:  # numbers of the reference have no end
        assert isinstance(system.variant, Exhaustive | Requests)
        assert max(max(c.spikes) for c in expected.configurations) > 2**20
    else:
        assert_same_graph(graph, expected)


@pytest.mark.parametrize("kind", ["astrocytes"])
@settings(max_examples=8)
@given(st.data())
def test_graph_equals_the_reference(kind, data):
    check_graph(data.draw(variant_systems(kind)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=many(600, part=40), suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), seeds)
def test_many_systems(kind, data, seed):
    system = data.draw(variant_systems(kind))
    check_random_path(system, seed)
    check_given(system, data)
    first = snp.run(with_ballast(system), max_steps=MAX_STEPS, throw=False)
    assert_follows(first)
    if first.result not in (snp.RESULTS.spike_overflow, snp.RESULTS.queries_conflict):
        expected = reference.run(with_ballast(system), max_steps=MAX_STEPS)
        assert_same_run(first, without_decisions(expected))
    check_graph(system)


# Anti-spikes


def negated(system: snp.SpikingSystem) -> snp.SpikingSystem:
    """Spikes and anti-spikes exchanged everywhere."""
    neurons = [
        snp.Neuron(
            n.name,
            -n.spikes,
            [snp.Rule(r.guard, r.consume, -r.produce, r.delay, -r.sign) for r in n.rules],
        )
        for n in system.neurons
    ]
    input = {name: [-spikes for spikes in train] for name, train in system.input.items()}
    return system.replace(neurons=neurons, input=input)


@settings(max_examples=12)
@given(variant_systems("anti-spikes"), seeds)
def test_exchanging_spikes_and_anti_spikes_exchanges_them_in_the_run(system, seed):
    system = with_ballast(system)
    choice = snp.UniformChoice(jr.key(seed))
    run, other = (
        snp.run(each, choice=choice, max_steps=MAX_STEPS) for each in (system, negated(system))
    )
    assert other.configurations.tolist() == (-run.configurations).tolist()
    assert other.emissions.tolist() == (-run.emissions).tolist()
    assert other.rules.tolist() == run.rules.tolist()


signed_rules = st.builds(
    snp.Rule, guards(), st.integers(1, 4), st.just(1), st.just(0), st.sampled_from([1, -1])
)


@given(st.lists(signed_rules, min_size=1, max_size=4, unique=True))
def test_rules_apply_at_the_same_counts_in_every_type(own):
    """Also far below zero, where terms without end begin."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = snp.SpikingSystem([snp.Neuron("x", 0, own)], variant=AntiSpikes())
    table = host_program_of(system, faithful=False).table
    for dtype in map(np.dtype, (np.int8, np.int16, np.int32, np.int64)):
        limit = np.iinfo(dtype)
        low = np.maximum(table.low_for(dtype), limit.min)[:, 0].tolist()
        slots = list(
            zip(low, table.high[:, 0], table.period[:, 0], table.number[:, 0], strict=True)
        )
        for k in (*range(-30, 30), *range(limit.min, limit.min + 30)):
            found = [n for start, end, p, n in slots if start <= k <= end and (k - start) % p == 0]
            configuration = reference.Configuration((k,), (0,), (0,))
            assert found == reference.applicable(system, configuration)[0]


def test_a_periodic_rule_of_very_many_anti_spikes():
    """2^31 anti-spikes are 2 modulo 3, and the rule wants multiples of 3."""
    least = -(2**31)
    neurons = [
        snp.Neuron("x", least + 2, ["ā{3}(ā{3})*/ā^2 -> a"]),
        snp.Neuron("y", least, ["ā{3}(ā{3})*/ā^2 -> a"]),
        snp.Neuron("z", least, ["ā{2}(ā{3})*/ā^3 -> ā"]),
    ]
    system = snp.SpikingSystem(neurons, variant=AntiSpikes())
    first = snp.run(system, max_steps=1)
    assert first.spikes.tolist() == [least + 4, least, least + 3]
    assert first.emissions.tolist() == [[1, 0, -1]]
    solution = snp.run(system, max_steps=1, count_dtype=np.int64)
    assert solution.spikes.tolist() == first.spikes.tolist()


def test_too_many_anti_spikes_overflow():
    neurons = [snp.Neuron("x", -3, ["ā+/ā -> ā"]), snp.Neuron("y", 1 - 2**31)]
    system = snp.SpikingSystem(neurons, [("x", "y")], variant=AntiSpikes())
    solution = snp.run(system, throw=False)
    assert solution.result == snp.RESULTS.spike_overflow
    assert solution.spikes.tolist() == [-2, -(2**31)] and solution.steps == 1


def test_neither_families_nor_layouts_of_bits_mistake_anti_spikes():
    """Rules that forget one spike, and emissions below 0 of ones."""
    forgetting = ["a -> lambda", "a^2 -> lambda", "ā -> lambda", "ā^2 -> lambda", "ā^3/ā -> ā"]
    names = [f"n{i}" for i in range(12)]
    neurons = [snp.Neuron(name, -3, forgetting) for name in names]
    synapses = [(x, y) for x in names for y in names if x < y]
    system = snp.SpikingSystem(neurons, synapses, variant=AntiSpikes())
    expected = reference.run(system, max_steps=MAX_STEPS)
    for layout in ("auto", BitDense, Int8Dense):
        solution = snp.run(system, max_steps=MAX_STEPS, layout=layout)
        assert_same_run(solution, expected)


# Exhaustive use of rules


def doubling() -> snp.SpikingSystem:
    neurons = [snp.Neuron(name, int(name == "1"), ["a+/a -> a"]) for name in "123"]
    synapses = [("1", "2"), ("1", "3"), ("2", "1"), ("3", "1")]
    return snp.SpikingSystem(neurons, synapses, variant=Exhaustive())


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_overflow_of_an_exhaustive_step_keeps_the_state_before(dtype):
    """The emissions of 2 and 3 together are at most a quarter of the range, so that their sum is
    counted; and no smaller ones are refused."""
    most = int(np.iinfo(dtype).max)
    solution = snp.run(doubling(), max_steps=200, count_dtype=dtype, throw=False)
    assert solution.result == snp.RESULTS.spike_overflow
    half, is_odd = divmod(solution.steps, 2)
    assert solution.spikes.tolist() == ([0, 2**half, 2**half] if is_odd else [2**half, 0, 0])
    assert solution.configurations[-1].tolist() == solution.spikes.tolist()
    assert 2**half > most // 8
    with pytest.raises(snp.RunFailed, match="neuron '[123]', step"):
        snp.run(doubling(), max_steps=200, count_dtype=dtype)
    if dtype == np.int64:
        assert solution.configurations[62].tolist() == [2**31, 0, 0]


@pytest.mark.parametrize("delay", [0, 2])
def test_a_product_is_not_cut(delay):
    """65,537 times 65,536 is 65,536 modulo 2^32."""
    neurons = [snp.Neuron("x", 65_537, [snp.Rule("a+", 1, 65_536, delay)]), snp.Neuron("y")]
    system = snp.SpikingSystem(neurons, [("x", "y")], variant=Exhaustive())
    solution = snp.run(system, throw=False, count_dtype=np.int32, max_steps=9)
    assert solution.result == snp.RESULTS.spike_overflow and solution.steps == 0
    solution = snp.run(system, count_dtype=np.int64, max_steps=9)
    assert solution.spikes.tolist() == [0, 65_537 * 65_536]


def test_an_exhaustive_rule_with_a_rest_and_a_delay():
    """x holds 7: a^3 is used twice, 1 is left, and 2 * 2 spikes leave two steps later. It is closed
    then, and y, which gets 4, uses a^2 twice."""
    neurons = [
        snp.Neuron("x", 7, [snp.Rule("a{7}", 3, 2, 2)]),
        snp.Neuron("y", 0, ["a{2,}/a^2 -> a"]),
        snp.Neuron("z"),
    ]
    system = snp.SpikingSystem(neurons, [("x", "y"), ("y", "z", 3)], variant=Exhaustive())
    solution = snp.run(system)
    expected = [[7, 0, 0], [1, 0, 0], [1, 0, 0], [1, 4, 0], [1, 0, 6]]
    assert solution.configurations.tolist() == expected
    assert_same_run(solution, reference.run(system, max_steps=20))


def once_only(rule: AnyRule) -> snp.Rule:
    """A rule that applies below 2c spikes only."""
    assert isinstance(rule, snp.Rule)
    guard = rule.guard & snp.Guard.interval(rule.consume, 2 * rule.consume - 1)
    return snp.Rule(guard, rule.consume, rule.produce, rule.delay)


@settings(max_examples=12)
@given(systems(max_neurons=5, max_rules=3, max_delay=2), seeds)
def test_below_twice_their_consumption_rules_are_used_once(system, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = system.replace(
            neurons=[snp.Neuron(n.name, n.spikes, map(once_only, n.rules)) for n in system.neurons]
        )
    system = with_ballast(system)
    choice = snp.UniformChoice(jr.key(seed))
    ordinary, exhaustive = (
        snp.run(each, choice=choice, max_steps=MAX_STEPS)
        for each in (system, system.replace(variant=Exhaustive()))
    )
    assert exhaustive.configurations.tolist() == ordinary.configurations.tolist()
    assert exhaustive.rules.tolist() == ordinary.rules.tolist()


# Astrocytes


def controlled(threshold=1) -> snp.SpikingSystem:
    """x and y send to o by synapses under control, x to p by one that is not."""
    neurons = [snp.Neuron("x", 3, ["a+/a -> a"]), snp.Neuron("y", 1, ["a+/a -> a"])]
    neurons += [snp.Neuron("o"), snp.Neuron("p")]
    astrocyte = Astrocyte([("x", "o"), ("y", "o")], threshold)
    return snp.SpikingSystem(
        neurons, [("x", "o"), ("y", "o"), ("x", "p")], variant=Astrocytes([astrocyte])
    )


@pytest.mark.parametrize(
    "threshold, decisions, o",
    [
        # 2, 1 and 1 spikes are on the two synapses in steps 1, 2 and 3.
        (0, [0, 0, 0], [0, 0, 0]),  # always more than the threshold
        (1, [0, 0, 0], [0, 1, 2]),  # suppressed in step 1; then chosen to pass
        (1, [0, 0, 1], [0, 1, 1]),
        (1, [1, 1, 0], [0, 0, 1]),  # what is decided in step 1 does not matter
        (2, [0, 0, 0], [2, 3, 4]),  # chosen in step 1, fewer later
        (2, [1, 1, 1], [0, 1, 2]),
        (3, [1, 1, 1], [2, 3, 4]),  # always fewer
    ],
)
def test_what_an_astrocyte_lets_pass(threshold, decisions, o):
    """x fires in steps 1, 2 and 3, y in step 1. p is not concerned: it gets 1 in every step."""
    system = controlled(threshold)
    rules = [[0, 0 if step == 0 else None, None, None, None] for step in range(3)]
    subsets = [[0, 0, 0, 0, decision] for decision in decisions]
    solution = snp.run(system, choice=snp.GivenChoices(rules, subsets), max_steps=3)
    expected = [[3 - t, max(1 - t, 0), own, t] for t, own in enumerate([0, *o])]
    assert solution.configurations.tolist() == expected and solution.halted
    if not any(decisions):
        assert snp.run(system, max_steps=3).configurations.tolist() == expected


def test_astrocytes_count_weights_and_decide_for_all_at_once():
    """One spike on a synapse of weight 2 and one of weight 1: n = 3. In 200 paths of one step both
    decisions are made, for both targets or for none."""
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y"), snp.Neuron("z")],
        [("x", "y", 2), ("x", "z")],
        variant=Astrocytes([Astrocyte([("x", "y"), ("x", "z")], 3)]),
    )
    batch = snp.run(system, choice=snp.UniformChoice(jr.key(0)), paths=200)
    found, counts = np.unique(batch.spikes.T, axis=0, return_counts=True)
    assert found.tolist() == [[0, 0, 0], [0, 2, 1]]
    assert abs(counts[0] - 100) < 6 * 200**0.5 / 2
    astrocyte = Astrocyte([("x", "y"), ("x", "z")], 2)
    assert snp.run(system.replace(variant=Astrocytes([astrocyte]))).spikes.tolist() == [0, 0, 0]


def test_a_decision_that_there_is_not_is_refused():
    rules, subsets = [[0, 0, None, None, None]], [[0, 0, 0, 0, 2]]
    solution = snp.run(controlled(), choice=snp.GivenChoices(rules, subsets), throw=False)
    assert solution.result == snp.RESULTS.choice_refused and solution.steps == 0
    assert "column 5 of the given choices" in solution.failure


def test_choices_for_as_many_columns_as_the_program_has_neurons():
    """16 neurons and two astrocytes: the choices are wider than the neurons need to be padded."""
    neurons = [snp.Neuron(f"n{i}", 1, ["a -> a"]) for i in range(16)]
    synapses = [("n0", "n1"), ("n2", "n3")]
    variant = Astrocytes([Astrocyte([synapse], 1) for synapse in synapses])
    system = snp.SpikingSystem(neurons, synapses, variant=variant)
    choice = snp.GivenChoices([[0] * 16 + [None] * 2], [[0] * 16 + [1, 0]])
    solution = snp.run(system, choice=choice, max_steps=1)
    assert solution.spikes.tolist() == [0, 0, 0, 1] + [0] * 12


@settings(max_examples=12)
@given(systems(max_neurons=5, max_rules=3, max_delay=2), st.data(), seeds)
def test_a_threshold_out_of_reach_changes_nothing(system, data, seed):
    pairs = [synapse[:2] for synapse in system.synapses]
    some = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=7)) if pairs else []
    variant = Astrocytes([Astrocyte(some, 10**6)] if some else [])
    choice = snp.UniformChoice(jr.key(seed))
    ordinary, other = (
        snp.run(with_ballast(each), choice=choice, max_steps=MAX_STEPS)
        for each in (system, system.replace(variant=variant))
    )
    assert other.configurations.tolist() == ordinary.configurations.tolist()
    assert other.rules.tolist() == ordinary.rules.tolist()


def test_every_decision_of_astrocytes_is_an_edge(tmp_path):
    """x and y have their turn twice; only where as many spikes as the threshold are on the synapses
    there are two edges, and a witness says which was taken."""
    system = controlled(1)
    graph = snp.explore(system, chunks=CHUNKS)
    assert np.diff(graph.first_edge).tolist() == [1, 2, 2, 2, 0, 0, 0]
    assert graph.is_complete and sorted(graph.spikes[graph.halting(), 2].tolist()) == [0, 1, 2]
    verdict = snp.check(graph, "eventually o > 0")
    assert verdict.is_refuted and verdict.replay().spikes.tolist() == [0, 0, 0, 3]
    assert "  step 2: x: a+/a -> a, astrocyte 1 suppresses | x = 1, p = 2" in str(verdict)
    labels = {label for _, label, _ in read_aut(write_graph(graph, tmp_path / "g.aut")[0]).edges}
    assert labels == {"x:0, y:0", "x:0", "x:0, astrocyte 1:.1"}
    most = snp.explore(system, chunks=CHUNKS, edges=False)
    assert most.path_to(4) == graph.path_to(4) and most.num_choices == graph.num_choices


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_limits_in_the_middle_of_decisions(limit):
    system = controlled(1)
    expected = reference_graph.explore(system, max_configurations=limit)
    graph = snp.explore(system, max_configurations=limit, chunks=CHUNKS)
    assert_same_graph(graph, expected)
    for number in range(graph.num_configurations):
        steps = int(graph.depths[number])
        solution = snp.run(system, choice=graph.witness(number), max_steps=steps)
        assert solution.spikes.tolist() == graph.spikes[number].tolist()


def test_what_an_astrocyte_counts_is_no_overflow():
    """2^30 - 1 spikes on each of three synapses are more than 31 bits count."""
    most = 2**30 - 1
    neurons = [snp.Neuron(name, 1, [snp.Rule("a", 1, most)]) for name in "xyz"]
    neurons += [snp.Neuron(name) for name in "uvw"]
    synapses = [("x", "u"), ("y", "v"), ("z", "w")]
    system = snp.SpikingSystem(neurons, synapses, variant=Astrocytes([Astrocyte(synapses, 5)]))
    solution = snp.run(system)
    assert solution.spikes.tolist() == [0] * 6 and solution.spikes.dtype == np.int64
    with pytest.raises(ValueError, match="too many to detect every overflow"):
        snp.run(system, count_dtype=np.int32)


# Rules on synapses


def ruled() -> snp.SpikingSystem:
    return snp.SpikingSystem(
        [snp.Neuron("s", 4), snp.Neuron("t"), snp.Neuron("u")],
        [("s", "u", 2)],
        output="s",
        variant=SynapseRules(
            {
                ("s", "t"): ["a+/a -> a", "a{4}/a^2 -> a^3"],
                ("s", "u"): ["(aa)+/a -> a", "a{4}/a -> a^2"],
                ("s", None): ["a{1,3}/a -> a"],
            }
        ),
    )


def test_rules_on_synapses_step_by_step():
    """The numbers of s, with c = 1 first (t has one such rule, u two, the environment one; 11 are
    possible, None last) and then c = 2 (11: only t).

    At 4 spikes: c = 1 by t, by u in two ways, not by the environment: numbers 1 (t, u first rule)
    and 3 (t, u second rule); or c = 2: 11. At 3: t and the environment, 4. At 2: t, u first rule
    and the environment, 0. At 1: 4 again.

    Step 1 takes 3: t + 1, u + 2 * 2. Step 2, at 3: t + 1, 1 to the environment. Step 3, at 2:
    t + 1, u + 2, 1 to the environment. Step 4, at 1: t + 1, 1 to the environment.
    """
    system = ruled()
    initial = reference.initial(system)
    assert reference.applicable(system, initial) == [[1, 3, 11], [], []]
    rows = [[number, None, None] for number in (3, 4, 0, 4)]
    solution = snp.run(system, choice=snp.GivenChoices(rows))
    expected = [[4, 0, 0], [3, 1, 4], [2, 2, 4], [1, 3, 6], [0, 4, 6]]
    assert solution.configurations.tolist() == expected
    assert solution.train().tolist() == [0, 1, 1, 1] and solution.halted
    # With c = 2 two spikes are consumed, and t gets three.
    rows = [[number, None, None] for number in (11, 0, 4)]
    solution = snp.run(system, choice=snp.GivenChoices(rows))
    assert solution.configurations.tolist() == [[4, 0, 0], [2, 3, 0], [1, 4, 2], [0, 5, 2]]
    graph = snp.explore(system, chunks=CHUNKS)
    assert_same_graph(graph, reference_graph.explore(system, max_configurations=30))
    assert system.rule_text(0, 3) == "a+/a -> a (t), a^4/a -> a^2 (u)"
    assert system.rule_text(0, 11) == "a^4/a^2 -> a^3 (t)"
    assert len(system.variant.alternatives("s")) == system.variant.num_alternatives("s") == 12


@settings(max_examples=12)
@given(systems(max_neurons=5, max_rules=3, max_delay=0), seeds)
def test_equal_rules_on_all_synapses_of_a_neuron_are_its_own(system, seed):
    """Where the guards of a neuron are disjoint: else two synapses could use two rules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = system.replace(
            neurons=[snp.Neuron(n.name, n.spikes, disjoint(n.rules)) for n in system.neurons]
        )
        own = {n.name: n.rules for n in system.neurons}
        pairs = [synapse[:2] for synapse in system.synapses] + [(name, None) for name in own]
        other = system.replace(
            neurons=[snp.Neuron(n.name, n.spikes) for n in system.neurons],
            variant=SynapseRules({pair: own[pair[0]] for pair in pairs}),
        )
    choice = snp.UniformChoice(jr.key(seed))
    first, second = (
        snp.run(with_ballast(each), choice=choice, max_steps=MAX_STEPS) for each in (system, other)
    )
    assert second.configurations.tolist() == first.configurations.tolist()
    assert second.emissions.tolist() == first.emissions.tolist()
    assert second.spike_trains.tolist() == first.spike_trains.tolist()


def disjoint(rules) -> list[snp.Rule]:
    seen, found = snp.Guard.from_lengths(()), []
    for rule in rules:
        guard = rule.guard & snp.Guard.interval(rule.consume) - seen
        found.append(snp.Rule(guard, rule.consume, rule.produce))
        seen |= guard
    return found


def test_too_many_combinations_name_the_neuron():
    """Twelve synapses with one rule each are 2^12 - 1 combinations, thirteen too many."""

    def star(size):
        names = [f"t{i}" for i in range(size)]
        neurons = [snp.Neuron("centre", 1), *map(snp.Neuron, names)]
        rules = {("centre", name): ["a -> a"] for name in names}
        return snp.SpikingSystem(neurons, variant=SynapseRules(rules))

    assert snp.run(star(12), max_steps=1).spikes.tolist() == [0] + [1] * 12
    with pytest.raises(snp.InvalidSystem, match="'centre' has 8,191 combinations") as refusal:
        star(13)
    assert f"at most {MAX_ALTERNATIVES:,}" in str(refusal.value)


def test_guards_that_cannot_be_combined_name_the_neuron():
    periods = [2039, 2053, 2063]  # their product is a period that no guard has
    rules = {("s", f"t{p}"): [snp.Rule(f"(a{{{p}}})*", 1, 1)] for p in periods}
    neurons = [snp.Neuron("s", 1), *(snp.Neuron(f"t{p}") for p in periods)]
    system = snp.SpikingSystem(neurons, variant=SynapseRules(rules))
    with pytest.raises(ValueError, match="synapses of neuron 's' cannot be combined"):
        snp.run(system)


def test_a_neuron_whose_synapses_have_rules_is_not_saturated():
    with pytest.raises(ValueError, match="has rules"):
        snp.explore(ruled(), saturate={"s": 2})
    assert snp.explore(ruled(), saturate={"t": 2}).is_complete


# Channels


def routed() -> snp.SpikingSystem:
    rules = ["a{4,5}/a -> a^2(1)", "a{5}/a^2 -> a(2)", "a{3}/a -> a(2)", "a^2 -> lambda"]
    return snp.SpikingSystem(
        [
            snp.Neuron("s", 5, rules),
            *map(snp.Neuron, "tuv"),
        ],
        [("s", "v", 3)],
        output="s",
        variant=Channels({"1": [("s", "t"), ("s", "u")], "2": [("s", "u"), ("s", "v")]}),
    )


def test_channels_step_by_step():
    """Step 1 sends a^2 to t and u, step 2 the same; step 3 sends a to u and, threefold, to v; then
    two spikes are forgotten. The environment gets what s emits on either channel."""
    system = routed()
    solution = snp.run(system)
    expected = [[5, 0, 0, 0], [4, 2, 2, 0], [3, 4, 4, 0], [2, 4, 5, 3], [0, 4, 5, 3]]
    assert solution.configurations.tolist() == expected
    assert solution.train().tolist() == [2, 2, 1, 0]
    assert system.rule_text(0, 1) == "a^5/a^2 -> a(2)"
    assert solution.emissions[:, 0].tolist() == [2, 2, 1, 0]
    # The other rule at 5 spikes leaves 3.
    rows = [[1, None, None, None], [2, None, None, None], [3, None, None, None]]
    solution = snp.run(system, choice=snp.GivenChoices(rows))
    expected = [[5, 0, 0, 0], [3, 0, 1, 3], [2, 0, 2, 6], [0, 0, 2, 6]]
    assert solution.configurations.tolist() == expected
    graph = snp.explore(system, chunks=CHUNKS)
    assert_same_graph(graph, reference_graph.explore(system, max_configurations=30))


def test_a_register_is_added_to_by_one_of_two_channels():
    """A module ADD (r, j, k): neuron l adds a spike to r and starts j or k, by its channel."""
    neurons = [
        snp.Neuron("l", 1, ["a -> a(1)", "a -> a(2)"]),
        *(snp.Neuron(name, 0, ["a -> a(1)"]) for name in "jk"),
        snp.Neuron("r", 2),
    ]
    ends = {"1": [("l", "r"), ("l", "j"), ("k", "l")], "2": [("l", "r"), ("l", "k")]}
    system = snp.SpikingSystem(neurons, output="j", variant=Channels(ends))
    graph = snp.explore(system, saturate={"r": 5}, chunks=CHUNKS)
    assert graph.is_complete
    halting = graph.spikes[graph.halting()].tolist()
    # Through k as often as it likes, then once through j.
    assert sorted(halting) == [[0, 0, 0, 3], [0, 0, 0, 4], [0, 0, 0, 5]]


@settings(max_examples=12)
@given(systems(max_neurons=5, max_rules=3, max_delay=0), seeds)
def test_one_channel_changes_nothing(system, seed):
    neurons = [
        snp.Neuron(
            n.name,
            n.spikes,
            [replace(r, channel="1" if r.produce else None) for r in n.rules],
        )
        for n in system.neurons
    ]
    pairs = [synapse[:2] for synapse in system.synapses]
    other = system.replace(neurons=neurons, variant=Channels({"1": pairs}))
    choice = snp.UniformChoice(jr.key(seed))
    first, second = (
        snp.run(with_ballast(each), choice=choice, max_steps=MAX_STEPS) for each in (system, other)
    )
    assert second.configurations.tolist() == first.configurations.tolist()
    assert second.emissions.tolist() == first.emissions.tolist()


def test_any_input_reaches_a_system_with_channels():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a -> a(1)", "a^2 -> a(2)"]), *map(snp.Neuron, "yz")],
        variant=Channels({"1": [("x", "y")], "2": [("x", "z")]}),
    )
    any_input = system.with_input(snp.AnyInput(1, most=2, neurons=["x"]))
    graph = snp.explore(any_input, chunks=CHUNKS)
    spikes = {tuple(row[:3]) for row in graph.spikes[graph.halting()].tolist()}
    assert spikes == {(0, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_a_channel_that_leads_nowhere_is_a_warning():
    neurons = [snp.Neuron("x", 1, ["a -> a(1)"]), snp.Neuron("y", 0, ["a -> a(2)"])]
    variant = Channels({"1": [("x", "y")]})
    with pytest.warns(snp.ModelWarning, match="no synapse of channel '2' leaves neuron 'y'"):
        snp.SpikingSystem(neurons, variant=variant)
    assert not snp.SpikingSystem(neurons, output="y", variant=variant).problems


@pytest.mark.parametrize(
    "text, label",
    [
        ("a -> a(1)", "1"),
        ("a->aa( out );2", "out"),
        ('a -> a(a)("a")', "a"),
        ('a -> a("x;y")', "x;y"),
    ],
)
def test_texts_of_channels(text, label):
    rule = snp.Rule.parse(text)
    assert rule.channel == label and snp.Rule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    "text, message, position",
    [
        ("a -> a(1)x", "text after the channel", 9),
        ("a -> a(1), a(2)", "a rule names one channel \\(for several, give their syn", 9),
        ("a -> a(1)(2)", "a rule names one channel", 9),
        ("a -> (1)", "number of spikes is missing", 4),
        ('a -> a("\\x")', "not a quoted name", 7),
    ],
)
def test_texts_of_channels_that_do_not_parse(text, message, position):
    with pytest.raises(snp.RuleError, match=message) as refusal:
        snp.Rule.parse(text)
    assert refusal.value.position == position


# Communication on request


def asking() -> snp.SpikingSystem:
    """x asks y for two spikes and z for all; z asks y for two, too."""
    return snp.SpikingSystem(
        [
            snp.Neuron("x", 1, ["a/Q(a^2, y)(a^inf, z)"]),
            snp.Neuron("y", 5),
            snp.Neuron("z", 3, ["a^3/Q(a^2, y)", "a{2}/Q(a^inf, x)"]),
        ],
        variant=Requests(),
    )


def test_requests_step_by_step():
    """The two spikes of y are replicated: x has 1 + 2 + 3, and z 3 - 3 + 2. Then z asks for all of
    x, and its 8 match no rule."""
    system = asking()
    solution = snp.run(system)
    assert solution.configurations.tolist() == [[1, 5, 3], [6, 3, 2], [0, 3, 8]]
    assert solution.halted and not solution.emissions.any()
    assert solution.rules.tolist() == [[0, snp.NO_RULE, 0], [snp.NO_RULE, snp.NO_RULE, 1]]
    assert system.rule_text(0, 0) == "a/Q(a^2, y)(a^inf, z)"
    assert system.asked == {"x", "y", "z"} and system.num_rules == 3
    graph = snp.explore(system, chunks=CHUNKS)
    assert_same_graph(graph, reference_graph.explore(system, max_configurations=30))


def test_a_query_waits_for_its_spikes():
    """x asks y, which gets one spike in each of the first three steps, for two."""
    neurons = [snp.Neuron("x", 0, ["a*/Q(a^2, y)"]), snp.Neuron("y")]
    system = snp.SpikingSystem(neurons, input={"y": [1, 1, 1]}, variant=Requests())
    solution = snp.run(system)
    assert solution.configurations.tolist() == [[0, 0], [0, 1], [0, 2], [2, 1]]
    assert_same_run(solution, reference.run(system, max_steps=9))


def arithmetic(x: int, y: int, *neurons: snp.Neuron) -> snp.Solution:
    """The run of neurons with two operands on request."""
    operands = [neurons[0], snp.Neuron("x", x), snp.Neuron("y", y), *neurons[1:]]
    return snp.run(snp.SpikingSystem(operands, variant=Requests()), max_steps=20)


@pytest.mark.parametrize("x", range(5))
@pytest.mark.parametrize("y", range(4))
def test_arithmetic_on_request(x, y):
    """An adder, a subtracter and a multiplier, which Jiang, Kong and Zhu 2018 implement with
    systems of their own."""
    # All of x, all of y and the spike that starts it.
    added = arithmetic(
        x, y, snp.Neuron("sum", 0, ["a^0/Q(a, t)(a^inf, x)(a^inf, y)"]), snp.Neuron("t", 1)
    )
    assert added.spikes_of("sum") == x + y + 1 and added.steps == 1
    # Pairs, as long as there are any.
    taken = arithmetic(x, y, snp.Neuron("pairs", 0, ["(aa)*/Q(a, x)(a, y)"]))
    assert (taken.spikes_of("x"), taken.spikes_of("y")) == (max(x - y, 0), max(y - x, 0))
    assert taken.spikes_of("pairs") == 2 * taken.steps == 2 * min(x, y)
    # For every spike of y all of x is replicated, with a spike more each time.
    copy = snp.Neuron("copy", 0, ["a^0/Q(a^inf, first)(a, y)"])
    first = snp.Neuron("first", x + 1, ["a^0/Q(a^inf, copy)(a, y)"])
    rule = "a*/Q(a^inf, first)(a^inf, copy)(a, y)"
    times = arithmetic(x, y, snp.Neuron("product", 0, [rule]), first, copy)
    assert times.spikes_of("product") == (x + 1) * y + y * (y + 1) // 2 and times.steps == y


@pytest.mark.parametrize("other", ["(a, y)", "(a^inf, y)"])
def test_different_queries_to_one_neuron_end_the_run(other):
    """In step 2, when z has got the spike of w by which its rule applies."""
    neurons = [
        snp.Neuron("x", 0, ["a/Q(a^2, y)", "a^0/Q(a, v)"]),
        snp.Neuron("y", 2),
        snp.Neuron("z", 0, ["a^0/Q(a, w)", f"a/Q{other}"]),
        snp.Neuron("w", 1),
        snp.Neuron("v", 1),
    ]
    system = snp.SpikingSystem(neurons, variant=Requests())
    solution = snp.run(system, throw=False)
    assert solution.result == snp.RESULTS.queries_conflict and solution.steps == 1
    assert solution.configurations.tolist() == [[0, 2, 0, 1, 1], [1, 2, 1, 0, 0]]
    with pytest.raises(snp.RunFailed, match="neuron 'y', step 2.* receives different queries"):
        snp.run(system)
    with pytest.raises(ConflictingQueries, match="y"):
        reference.run(system, max_steps=2)
    graph = snp.explore(system, chunks=CHUNKS)
    assert graph.stop is Stop.CONFLICT and not graph.is_complete and graph.num_configurations == 2
    batch = snp.run(system, choice=snp.UniformChoice(jr.key(0)), paths=3, throw=False)
    assert (batch.steps == 1).all() and batch.spikes[:, 0].tolist() == [1, 2, 1, 0, 0]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_replicated_spikes_overflow_in_time(dtype):
    """Of three neurons two hold all, and then the third: their sum doubles in two steps."""
    neurons = [
        snp.Neuron("x", 1, ["a^0/Q(a^inf, y)(a^inf, z)"]),
        snp.Neuron("y", 0, ["a^0/Q(a^inf, x)"]),
        snp.Neuron("z", 0, ["a^0/Q(a^inf, x)"]),
    ]
    system = snp.SpikingSystem(neurons, variant=Requests())
    solution = snp.run(system, max_steps=200, count_dtype=dtype, throw=False)
    assert solution.result == snp.RESULTS.spike_overflow
    half, is_odd = divmod(solution.steps, 2)
    assert solution.spikes.tolist() == ([0, 2**half, 2**half] if is_odd else [2**half, 0, 0])
    assert 2**half > np.iinfo(dtype).max // 16


def test_spikes_that_others_ask_for_are_not_saturated():
    with pytest.raises(ValueError, match="has rules"):
        snp.explore(asking(), saturate={"y": 2})


@given(variant_systems("requests"))
def test_the_text_of_a_request_is_read_again(system):
    for neuron in system.neurons:
        assert snp.Neuron("x", 0, [str(rule) for rule in neuron.rules]).rules == neuron.rules


@pytest.mark.parametrize(
    "text, message, position",
    [
        ("a/Q(a^2 y)", "the neuron asked is missing", 4),
        ("a/Q(a+, y)", "not one number of spikes", 4),
        ("a/Q(a, y)(a, z", 'expected "\\)"', 14),
        ("a/Q(a, y); 2", "a request has no delay", 9),
        ("b/Q(a, y)", "'b'", 0),
    ],
)
def test_requests_that_do_not_parse(text, message, position):
    with pytest.raises(snp.InvalidSystem, match=message) as refusal:
        snp.SpikingSystem([snp.Neuron("x", 0, [text])], variant=Requests())
    assert f"at character {position + 1}" in str(refusal.value)


@pytest.mark.parametrize(
    "rule, words",
    [
        ("a -> a", "is not a request"),
        (snp.RequestRule("a", []), "has no queries"),
        (snp.RequestRule("a", [(0, "y")]), "asked for is 0"),
        ("a/Q(a, x)", "asks itself"),
        ("a/Q(a, q)", "there is no neuron 'q'"),
        ("a/Q(a, y)(a^2, y)", "asks neuron 'y' 2 times"),
    ],
)
def test_rules_that_are_no_requests(rule, words):
    neurons = [snp.Neuron("x", 1, [rule]), snp.Neuron("y")]
    with pytest.raises(snp.InvalidSystem) as refusal:
        snp.SpikingSystem(neurons, variant=Requests())
    (problem,) = refusal.value.problems
    assert words in problem.message and problem.place == Place("rule", 0, 0)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"synapses": [("x", "y")]}, "remove the synapses"),
        ({"output": "y"}, "remove the output"),
        ({"signed": True}, "remove signed=True"),
        ({"variant": None}, "is a request \\(build the system with variant=Requests"),
    ],
)
def test_what_requests_have_not(options, words):
    neurons = [snp.Neuron("x", 1, ["a/Q(a, y)"]), snp.Neuron("y")]
    with pytest.raises(snp.InvalidSystem, match=words):
        snp.SpikingSystem(neurons, **{"variant": Requests(), **options})


# All variants


def one_of_each() -> list[snp.SpikingSystem]:
    anti = snp.SpikingSystem([snp.Neuron("x", -1, ["ā -> a"])], variant=AntiSpikes())
    return [anti, doubling(), controlled(), ruled(), routed(), asking()]


@pytest.mark.parametrize("system", one_of_each(), ids=lambda system: type(system.variant).__name__)
def test_a_variant_stays_with_its_system(system):
    name = type(system.variant).__name__
    assert name in repr(system) and not system.is_static and not system.changes_network
    for other in (pickle.loads(pickle.dumps(system)), system.replace(name="other")):
        assert other.variant == system.variant and other.num_synapses == system.num_synapses
    assert system != system.replace(name="other")
    with pytest.raises(NotImplementedError, match=f"has the variant {name}"):
        snp.SystemBatch([system]).lower()
    with pytest.raises(snp.InvalidSystem, match="follows its definition only"):
        system.with_compatibility(snp.Compatibility(closed_receives=True))
    with pytest.raises(TypeError, match="`variant` is"):
        system.replace(variant=name)


def test_a_spike_that_is_not_used_up_exhausts_no_environment():
    for system in (doubling(), ruled()):
        with pytest.raises(ValueError, match="Give trains"):
            system.with_input(snp.AnyInput(3, neurons=[system.neurons[0].name]))


@pytest.mark.parametrize(
    "variant, words",
    [
        (Astrocytes([Astrocyte([("x", "y")], -1)]), ["threshold is -1"]),
        (Astrocytes([Astrocyte([], 1)]), ["astrocyte 1 controls no synapse"]),
        (Astrocytes([Astrocyte([("x", "q")], 1)]), ["there is no neuron 'q'"]),
        (Astrocytes([Astrocyte([("y", "x")], 1)]), ["no such synapse"]),
        (Astrocytes([Astrocyte([("x", "y")] * 2, 1)]), ["controls it already"]),
        (Astrocytes([Astrocyte([("x", "z")], 1)]), ["(x, z) has the negative weight -1"]),
        (SynapseRules({("x", "q"): ["a -> a"]}), ["there is no neuron 'q'"]),
        (SynapseRules({("q", None): ["a -> a"]}), ["(q, the environment): there is no neuron"]),
        (SynapseRules({("x", "y"): ["a -> a; 1"]}), ["rule 1: rules of synapses have no delay"]),
        (SynapseRules({("x", "y"): ["a -> ", "ā -> a"]}), ["rule 1: rule 'a -> '", "anti-spikes"]),
        (SynapseRules({("x", "y"): [snp.Rule("a", 0, -1)]}), ["consumed is 0", "produced is -1"]),
        (SynapseRules({("x", "y"): ["[a] -> []_u || []_v"]}), ["is not a spiking rule"]),
        (SynapseRules([(("x", "y"), ["a -> a"])] * 2), ["has rules twice"]),
        (SynapseRules({("x", "y"): ["a -> a(1)"]}), ["a rule of a synapse has no channel"]),
        (Channels([("1", _PAIRS), ("1", [])]), ["channel '1' is declared twice"]),
        (Channels({"1": _PAIRS, "": []}), ["the channel '' has no name"]),
        (Channels({"1": [*_PAIRS, _PAIRS[0]]}), ["has synapse (x, y) twice"]),
    ],
)
def test_misuse_is_one_located_problem(variant, words):
    is_synapse = isinstance(variant, SynapseRules) and variant.rules[0][0] == ("x", "q")
    neurons = [snp.Neuron(name) for name in "xyz"]
    with pytest.raises(snp.InvalidSystem) as refusal:
        snp.SpikingSystem(neurons, [("x", "y"), ("x", "z", -1)], signed=True, variant=variant)
    for problem, word in zip(refusal.value.problems, words, strict=True):
        assert word in problem.message
        # A synapse of the rules is one of the system.
        assert problem.place.kind == ("synapse_target" if is_synapse else "variant")


@pytest.mark.parametrize(
    "rule, words",
    [
        ("a -> a(1); 2", "rules have no delay (remove '; 2')"),
        ("a -> a", "names no channel"),
        ("a -> lambda(1)", "sends nothing (remove the channel)"),
        (snp.Rule("a", 1, 1, channel=""), "the channel is ''"),
        (snp.Rule("a", 1, 1, channel=1), "the channel is 1"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_rules_that_no_channel_takes(rule, words):
    neurons = [snp.Neuron("x", 1, [rule]), snp.Neuron("y")]
    with pytest.raises(snp.InvalidSystem) as refusal:
        snp.SpikingSystem(neurons, variant=Channels({"1": [("x", "y")]}))
    assert words in refusal.value.problems[0].message
    assert refusal.value.problems[0].place == Place("rule", 0, 0)


def test_channels_need_their_variant_and_synapses_a_channel():
    neurons = [snp.Neuron("x", 1, ["a -> a(1)"]), snp.Neuron("y"), snp.Neuron("z")]
    with pytest.raises(snp.InvalidSystem, match="variant=Channels"):
        snp.SpikingSystem(neurons, [("x", "y")])
    with pytest.raises(snp.InvalidSystem, match=r"\(x, z\) belongs to no channel"):
        snp.SpikingSystem(neurons, [("x", "z")], variant=Channels({"1": [("x", "y")]}))
    for text in ("a -> a(1)", "ā -> a"):
        with pytest.raises(snp.InvalidSystem, match="is of a variant"):
            snp.PopulationSystem([snp.Population("p", 2, 0, [text])])


def test_rules_of_neurons_are_refused_beside_rules_on_synapses():
    neurons = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")]
    with pytest.raises(snp.InvalidSystem, match="neuron 'x' has rules, but rules sit on"):
        snp.SpikingSystem(neurons, variant=SynapseRules({("x", "y"): ["a -> a"]}))


def test_anti_spikes_need_their_variant():
    with pytest.raises(snp.InvalidSystem, match="produced is -1 .*variant=AntiSpikes"):
        snp.SpikingSystem([snp.Neuron("x", 0, ["a -> ā"])])
    with pytest.raises(snp.InvalidSystem, match="the sign is 2"):
        rule = snp.Rule("a", 1, 1, 0, 2)
        snp.SpikingSystem([snp.Neuron("x", 0, [rule])], variant=AntiSpikes())


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("ā^2/ā -> a", "ā^2/ā -> a"),
        ("-a^2/-a -> a", "ā^2/ā -> a"),
        ("a->-aa; 1", "a -> ā^2; 1"),
        ("- a -> lambda", "ā -> lambda"),
        ("ā(āā)*/ā^3 -> ā", "ā(āā)*/ā^3 -> ā"),
    ],
)
def test_texts_of_anti_spikes(text, canonical):
    rule = snp.Rule.parse(text)
    assert str(rule) == canonical and snp.Rule.parse(canonical) == rule


@pytest.mark.parametrize(
    "text, message, position",
    [
        ("ā/a -> a", "not both", 0),
        (" aā -> a", "mixed", 1),
        ("a -> aā", "mixed", 5),
        ("-ā -> a", "mixed", 0),
        ("-b/-a -> a", "b", 1),
        ("a -> -b", "b", 6),
        ("ā -> +1 {j}", "no anti-spikes", 0),
    ],
)
def test_texts_that_mix_are_refused_where_they_do(text, message, position):
    with pytest.raises(snp.RuleError, match=message) as refusal:
        snp.Rule.parse(text)
    assert refusal.value.position == position


@given(variant_systems("anti-spikes"))
def test_the_text_of_a_rule_is_read_again(system):
    for rule in system.rules:
        assert snp.Rule.parse(str(rule)) == rule


@pytest.mark.parametrize("suffix", ["pli", "yaml", "dot"])
def test_no_file_loses_a_variant_silently(suffix, tmp_path):
    system = snp.SpikingSystem([snp.Neuron("x", 3, ["a+/a -> a"])], variant=snp.Exhaustive())
    with pytest.raises(snp.WriteError, match="variant Exhaustive"):
        snp.write(system, tmp_path / f"model.{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["pli", "json", "yaml", "in"])
@pytest.mark.parametrize("system", [routed(), asking()], ids=["routed", "asking"])
def test_what_only_a_variant_gives_is_dropped_on_request(system, suffix, tmp_path):
    form = {"json": "websnapse"}.get(suffix)
    path = tmp_path / f"model.{suffix}"
    kind = type(system.variant).__name__
    with pytest.raises(snp.WriteError, match=f"the variant {kind}"):
        snp.write(system, path, format=form)
    with pytest.warns(snp.io.WriteWarning):
        snp.write(system, path, format=form, lossy=True)
    found = snp.read(path, format=form)
    assert found.variant is None and found.num_neurons == system.num_neurons
    assert not any(rule.channel for rule in found.rules)
