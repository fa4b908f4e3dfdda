"""Compiled plasticity: choices of subsets, witnesses, properties and published systems."""

from functools import cache

import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import equivalent, growth
from snpjax.testing import plastic_systems, reference, reference_graph, variant_systems
from tests.support.changing import (
    assert_same_graph,
    assert_same_run,
    explore,
    followed,
    given_choices,
    network_of,
    random_run,
    run,
    with_ballast,
)
from tests.support.helpers import case_system, load_cases


systems = plastic_systems().map(with_ballast)
seeds = st.integers(0, 1000)
MAX_CONFIGURATIONS = 40


# ---- deletion within N ----

WITHIN = snp.Compatibility(delete_within_N=True)


@pytest.mark.slow
@settings(max_examples=8)
@given(systems, seeds)
def test_deletion_within_its_targets_equals_the_reference(system, seed):
    system = system.with_compatibility(WITHIN)
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    assert_same_graph(explore(system, max_configurations=MAX_CONFIGURATIONS), expected)
    computation = random_run(system, seed)
    assert_same_run(run(system, choice=given_choices(system, computation)), computation)


@settings(max_examples=5)
@given(variant_systems("plastic-anti-spikes").map(with_ballast), seeds)
def test_plasticity_with_anti_spikes_equals_the_reference(system, seed):
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    assert_same_graph(explore(system, max_configurations=MAX_CONFIGURATIONS), expected)
    computation = random_run(system, seed)
    assert_same_run(run(system, choice=given_choices(system, computation)), computation)


@pytest.mark.parametrize("sign, held", [("a", [2, 0, 3]), ("ā", [0, 0, -3])])
def test_a_synapse_that_is_created_carries_anti_spikes(sign, held):
    """i creates the synapse to j, which a spike comes by, and then sends one of its own by it, and
    three by the weighted one to k."""
    neurons = [
        snp.Neuron("i", 2, ["a{2}/a -> +1(i, {j})", f"a -> {sign}"]),
        snp.Neuron("j"),
        snp.Neuron("k"),
    ]
    system = snp.SpikingSystem(neurons, [("i", "k", 3)], variant=snp.AntiSpikes())
    solution = snp.run(system)
    assert solution.configurations.tolist() == [[2, 0, 0], [1, 1, 0], [0, held[0], held[2]]]
    assert solution.network().synapses == ((0, 1, 1), (0, 2, 3))


def test_a_weighted_synapse_that_is_deleted_is_gone():
    neurons = [snp.Neuron("i", 3, ["a{2}/a -> -1(i, {j})", "a{3}/a -> a", "a -> a"])]
    neurons += [snp.Neuron("j"), snp.Neuron("k")]
    system = snp.SpikingSystem(neurons, [("i", "j", 5)])
    solution = snp.run(system)
    assert solution.configurations.tolist() == [[3, 0, 0], [2, 5, 0], [1, 5, 0], [0, 5, 0]]
    assert snp.run(system, max_steps=1).network().synapses == ((0, 1, 5),)
    assert solution.network().synapses == ()
    graph = snp.explore(system, chunks=(16,))
    assert_same_graph(graph, reference_graph.explore(system, max_configurations=9))


def test_weights_of_both_signs_do_not_cancel_in_bounds_on_counts():
    """i sends 2^20 spikes times 2^12 to k; j would send as many anti-spikes, but never fires."""
    rules = ["a{3}/a -> -1(i, {o})", "a/a -> a^1048576"]
    neurons = [snp.Neuron("i", 1, rules), snp.Neuron("j")]
    neurons[1] = snp.Neuron("j", 0, [rule.replace("(i", "(j") for rule in rules])
    neurons += [snp.Neuron("k"), snp.Neuron("o")]
    weights = [("i", "k", 4096), ("j", "k", -4096), ("i", "o"), ("j", "o")]
    system = snp.SpikingSystem(neurons, weights, variant=snp.AntiSpikes())
    with pytest.raises(ValueError, match="arrive at neuron 'k', too many"):
        snp.run(system, count_dtype=np.int32)
    assert snp.run(system, count_dtype=np.int64).configurations[-1].tolist() == [0, 0, 2**32, 2**20]


def test_what_deletion_may_take():
    """Of two synapses to j and k, N names k only."""
    neurons = [snp.Neuron("i", 1, ["a -> -1(i, {k})"]), snp.Neuron("j"), snp.Neuron("k")]
    system = with_ballast(snp.SpikingSystem(neurons, [("i", "j"), ("i", "k")]))

    def left(system):
        graph = explore(system)
        ends = [graph.network(number).synapses for number in graph.halting().tolist()]
        return {target for end in ends for source, target, _ in end if source == 0}

    assert left(system) == {1, 2}
    assert left(system.with_compatibility(WITHIN)) == {1}


# ---- choices of subsets ----


def chooser(*more):
    """Creates two of four synapses: six subsets."""
    names = ["p", "q", "r", "s"]
    rule = snp.PlasticityRule("a", 1, "+", 2, names)
    neurons = [snp.Neuron("i", 1, [rule]), *map(snp.Neuron, names), *more]
    return snp.SpikingSystem(neurons)


def created(solution):
    """Which of the four were created on every path: they hold a spike."""
    return solution.spikes[1:5].T.tolist()


def test_random_subsets_are_uniform():
    size = 3_000
    choice = snp.UniformChoice(jr.key(3))
    batch = snp.run(chooser(), choice=choice, paths=size)
    counts = {}
    for row in created(batch):
        counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    assert len(counts) == 6 and all(sum(row) == 2 for row in counts)
    # Five degrees of freedom: 26 is exceeded once in ten thousand keys.
    assert sum((count - size / 6) ** 2 / (size / 6) for count in counts.values()) < 26


@pytest.mark.slow
def test_a_random_subset_depends_on_its_path_only():
    choice = snp.UniformChoice(jr.key(3))
    few = created(snp.run(chooser(), choice=choice, paths=20))
    assert few == created(snp.run(chooser(), choice=choice, paths=3_000))[:20]
    wider = chooser(*(snp.Neuron(f"idle {number}") for number in range(30)))
    assert few == created(snp.run(wider, choice=choice, paths=20))
    # More places and slots, none of which are candidates.
    rules = [snp.PlasticityRule("a^5", 5, "-", 1, [f"idle {n}" for n in range(9)])] * 1
    first, *others = wider.neurons
    first = snp.Neuron(first.name, 1, [*first.rules, *rules])
    assert few == created(snp.run(wider.replace(neurons=[first, *others]), choice=choice, paths=20))


@pytest.mark.parametrize("number", [6, -1, 2**20])
def test_a_subset_that_there_is_not(number):
    choice = snp.GivenChoices([[0, *[None] * 4]], [[number, *[0] * 4]])
    failed = snp.run(chooser(), choice=choice, throw=False)
    assert failed.result == snp.RESULTS.choice_refused and failed.steps == 0
    assert failed.failure is not None and "neuron 'i', step 1" in failed.failure


@pytest.mark.slow
def test_too_many_subsets_are_said():
    names = [f"n{number}" for number in range(40)]
    rule = snp.PlasticityRule("a", 1, "+", 20, names)
    system = snp.SpikingSystem([snp.Neuron("i", 1, [rule]), *map(snp.Neuron, names)])
    assert snp.explore(system, chunks=(16,)).stop is snp.Stop.TOO_MANY_CHOICES
    solution = snp.run(system, choice=snp.UniformChoice(jr.key(0)))
    assert solution.spikes.sum() == 20


# ---- queries ----


@settings(max_examples=5)
@given(systems, st.integers(0, 2), st.integers(0, 1000))
def test_bounds_are_decided_as_the_reference_does(system, most, seed):
    name = list(system.names)[seed % (system.num_neurons - 6)]  # none of the ballast
    graph = explore(system, max_configurations=MAX_CONFIGURATIONS)
    expected = reference_graph.explore(system, max_configurations=MAX_CONFIGURATIONS)
    counts = [configuration.spikes[system.names[name]] for configuration in expected.configurations]
    verdict = snp.check(graph, f'always "{name}" <= {most}')
    if max(counts) > most:
        assert verdict.is_refuted
        first = next(number for number, count in enumerate(counts) if count > most)
        assert verdict.num_steps == expected.depths[first]
        solution = verdict.replay()
        assert solution.spikes[system.names[name]] == counts[first]
        assert solution.network() == network_of(expected.configurations[first])
    elif graph.is_complete:
        assert verdict.is_proved


def wanderer():
    """The published system that generates 3r + 1: in each round it chooses where its spike goes."""
    relays = [snp.Neuron(name, int(name == "m"), ["a -> a"]) for name in "jlm"]
    rule = snp.PlasticityRule("a", 1, "+-", 1, ["j", "m"])
    synapses = [("j", "l"), ("l", "i")]
    return snp.SpikingSystem([snp.Neuron("i", 1, [rule]), *relays], synapses, output="m")


@cache
def wandering():
    return snp.explore(wanderer(), chunks=(16,))


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("always m <= 1", True),
        ("always l = 0", False),
        ("eventually halted", False),
        ("on some path eventually halted", True),
        ("on some path always not halted", True),
        ("emits(m) = 1 preceded by i = 1", True),
        ("on some path infinitely often j = 1", True),
        ("always (j = 0 or m = 0)", True),
        ("on some path eventually (i = 0 and j = 0 and l = 0 and m = 1)", True),
    ],
)
def test_queries_about_a_plastic_system(query, holds):
    verdict = snp.check(wandering(), query)
    assert verdict.is_decided and bool(verdict) is holds
    if verdict.witness is not None:
        solution = verdict.replay()
        assert solution.steps <= verdict.num_steps


def test_synapses_of_configurations():
    system = wanderer()
    graph = wandering()
    seen = graph.configurations()
    names = list(system.names)
    for source in names:
        for target in names:
            wanted = [
                (names.index(source), names.index(target), 1) in graph.network(number).synapses
                for number in range(graph.num_configurations)
            ]
            assert seen.has_synapse(source, target).tolist() == wanted
    with pytest.raises(KeyError, match="no neuron 'x'"):
        seen.has_synapse("x", "i")
    found = graph.where(lambda c: c.has_synapse("i", "m") & (c["m"] == 1))
    assert len(found)
    assert (0, 3, 1) in snp.run(
        system, choice=graph.witness(found[0]), max_steps=graph.depths[found[0]]
    ).network().synapses  # fmt: skip


def test_a_loop_that_grows_has_its_subsets():
    """Only a neuron that deletes the synapse of its second target each time sends for ever."""
    rules = [snp.PlasticityRule("a+", 1, "+-", 1, ["q", "sink"])]
    system = snp.SpikingSystem(
        [
            snp.Neuron("tick", 1, ["a -> a"]),
            snp.Neuron("tock", 0, ["a -> a"]),
            snp.Neuron("i", 1, rules),
            snp.Neuron("q", 0, ["a -> lambda"]),
            snp.Neuron("sink"),
        ],
        [("tick", "tock"), ("tock", "tick"), ("tick", "i")],
    )
    graph = snp.explore(system, max_configurations=60, chunks=(16,))
    found = growth(graph)
    assert found is not None and dict(found.grows).keys() == {"sink"}
    prefix, loop = found.num_steps
    assert found.loop_subsets is not None and found.loop_subsets.any()
    for rounds in (1, 4):
        steps = prefix + rounds * loop
        solution = snp.run(system, choice=found.replay(rounds), max_steps=steps)
        assert solution.steps == steps
        assert solution.spikes_of("sink") == solution.configurations[prefix, 4] + (
            rounds * found.grows["sink"]
        )


@pytest.mark.slow
def test_equivalence_replays_subsets():
    other = wanderer()
    other = other.replace(neurons=[*other.neurons[:3], snp.Neuron("m", 1, ["a -> a; 1"])])
    found = equivalent(wanderer(), other, max_configurations=100)
    assert not found and found.difference is not None
    for one in found.difference.runs:
        if one is not None:
            solution = one.replay()
            assert solution.steps == one.steps
            for name, train in one.outputs.items():
                assert solution.train(name).tolist() == list(train)


# ---- published systems, and what always holds ----


CASES = [
    case
    for case in load_cases("spiking", schema="snpjax-case/1")
    if case.values[0] is None or case.values[0]["variant"] == "plasticity"
]


@pytest.mark.parametrize("case", CASES)
def test_published_systems(case):
    system, expected = case_system(case), case["expected"]
    graph = snp.explore(system, chunks=(16,))
    wanted = expected["graph"]
    assert graph.is_complete and graph.num_configurations == wanted["configurations"]
    assert graph.num_transitions == wanted["transitions"]
    assert len(graph.halting()) == wanted["halting"]
    assert_same_graph(graph, reference_graph.explore(system, max_configurations=1_000))
    after = [graph.network(int(number)) for number in np.unique(graph.targets[graph.sources == 0])]
    names = list(system.names)
    found = [[[names[s], names[t]] for s, t, _ in network.synapses] for network in after]
    assert sorted(found) == sorted(x["synapses"] for x in expected["successors"])
    if "intervals" in expected:
        up_to = expected["intervals"]["up_to"]
        assert list(graph.intervals(up_to).values) == expected["intervals"]["values"]
    for seed in range(5):
        solution = snp.run(system, choice=snp.UniformChoice(jr.key(seed)), max_steps=20)
        assert_same_run(solution, followed(solution))


@settings(max_examples=5)
@given(systems, seeds, st.randoms(use_true_random=False))
def test_the_order_of_neurons_changes_their_columns_only(system, seed, source):
    """And the order of subsets, so that these are given."""
    computation = random_run(system, seed)
    order = list(range(system.num_neurons))
    source.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    moved = system.replace(neurons=[system.neurons[old] for old in order])

    def choose(_, configuration):
        choice = computation.choices[steps.pop()]
        found = (choice[old] for old in order)
        return tuple(
            (x[0], tuple(sorted(place[target] for target in x[1]))) if isinstance(x, tuple) else x
            for x in found
        )

    steps = list(range(computation.steps))[::-1]
    permuted = reference.run(moved, choose, max_steps=computation.steps)
    solution = run(moved, choice=given_choices(moved, permuted), max_steps=computation.steps)
    assert_same_run(solution, permuted)
    wanted = np.asarray([configuration.spikes for configuration in computation.configurations])
    assert solution.configurations.tolist() == wanted[:, order].tolist()


@settings(max_examples=5)
@given(systems, seeds)
def test_an_isolated_neuron_changes_nothing(system, seed):
    wider = system.replace(neurons=[*system.neurons, snp.Neuron("idle", 3)])
    choice = snp.UniformChoice(jr.key(seed))
    first, second = run(system, choice=choice), run(wider, choice=choice)
    assert first.steps == second.steps
    assert second.configurations[:, :-1].tolist() == first.configurations.tolist()
    assert second.network().synapses == first.network().synapses
