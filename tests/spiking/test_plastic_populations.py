"""Plasticity rules of populations: the same as neuron by neuron, and what is refused."""

import re
import sys

import jax
import jax.random as jr
import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, reject, settings, strategies as st

import snpjax as snp
from snpjax import graphs
from snpjax.spiking.lower.lower import lower_columns
from snpjax.spiking.view.summary import summary
from snpjax.testing import reference_graph
from tests.spiking.test_population import expanded
from tests.spiking.test_properties import seeds
from tests.support.changing import assert_same_graph, assert_same_run, followed
from tests.support.helpers import many


ALPHAS = ("+", "-", "+-", "-+")


@st.composite
def plastic_populations(draw, *, may_lack=True):
    """Two or three populations in which numbers, kinds and targets differ from neuron to neuron;
    neurons may lack a rule."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    names = [f"p{index}" for index in range(len(sizes))]
    start = np.cumsum([0, *sizes])

    def per_neuron(elements, size):
        listed = st.lists(elements, min_size=size, max_size=size).map(np.asarray)
        return draw(elements | listed)

    def targets(population):
        pairs = []
        for own in range(sizes[population]):
            others = [n for n in range(start[-1]) if n != start[population] + own]
            drawn = draw(st.lists(st.sampled_from(others), unique=True, min_size=1, max_size=4))
            pairs += [(own, target) for target in drawn]
        source, target = np.asarray(pairs).T
        of = np.searchsorted(start, target, side="right") - 1
        return {
            names[p]: graphs.Pairs(source[of == p], target[of == p] - start[p])
            for p in np.unique(of)
        }

    def template(population):
        size = sizes[population]
        consume = draw(st.integers(1, 2))
        guard = draw(st.sampled_from([None, "a+", "a{2,4}", "a(aa)+"]))
        if may_lack and draw(st.booleans()):
            low = per_neuron(st.integers(0, 3), size)
            guard = [(low, low + draw(st.integers(-1, 1))), (5, None, 2)][: draw(st.integers(1, 2))]
        return snp.PlasticityTemplate(
            guard,
            consume,
            per_neuron(st.sampled_from(ALPHAS), size),
            per_neuron(st.integers(1, 3), size),
            targets(population),
        )

    populations = []
    for index, size in enumerate(sizes):
        rules = [template(index)] if index == 0 or draw(st.booleans()) else []
        rules += [template(index)] if rules and draw(st.booleans()) else []
        rules += draw(st.lists(st.sampled_from(["a -> a", "a{2}/a -> a; 1"]), max_size=1))
        spikes = per_neuron(st.integers(0, 3), size)
        populations.append(snp.Population(names[index], size, spikes, draw(st.permutations(rules))))
    projections = []
    for source in range(len(sizes)):
        for target in range(len(sizes)):
            choices = [None, None, graphs.AllToAll(), graphs.RandomPairs(0.5, 3)]
            graph = draw(st.sampled_from(choices))
            if graph is not None:
                projections.append(snp.Projection(names[source], names[target], graph))
    try:
        system = snp.PopulationSystem(populations, projections, output=names[-1])
    except snp.InvalidSystem as error:
        assert "do the same" in str(error)  # two rules drawn as one
        reject()
    assume(system.changes_network)
    return system


def assert_one_program(system, other):
    """Both are lowered to the same arrays, byte for byte."""
    own, others = (lower_columns(x.columns().joined()) for x in (system, other))
    assert jax.tree.structure(own) == jax.tree.structure(others)
    for x, y in zip(jax.tree.leaves(own), jax.tree.leaves(others), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


@settings(max_examples=30)
@given(plastic_populations(may_lack=False))
def test_one_program_whether_neurons_are_listed_or_not(system):
    assert_one_program(system, expanded(system))


def ring(n, z=3, **changes):
    """n neurons, each with z possible synapses to those behind it."""
    steps = np.arange(1, z + 1)
    targets = (np.arange(n)[:, None] + steps) % n
    numbers = {"guard": "a+", "consume": 1, "alpha": "+-", "k": 1, **changes}
    pairs = graphs.Pairs(np.repeat(np.arange(n), z), targets.ravel())
    template = snp.PlasticityTemplate(**{"targets": {"n": pairs}, **numbers})
    population = snp.Population("n", n, 2, [template, "a^7 -> a"])
    rest = snp.Population("rest", 3, 1, ["a -> a"])
    projections = [
        snp.Projection("n", "n", graphs.Pairs([0, 5], [2, 1])),
        snp.Projection("rest", "n", graphs.AllToAll(2)),
    ]
    return snp.PopulationSystem([population, rest], projections, output="rest")


@pytest.mark.parametrize("alpha", ["+-", np.resize(ALPHAS, 300)])
def test_one_program_of_many_neurons(alpha):
    """Of so many that tables of rules are stored by type."""
    system = ring(300, alpha=alpha)
    assert lower_columns(system.columns()).type_of is not None
    assert_one_program(system, system.expand())


@settings(max_examples=4)
@given(plastic_populations(), seeds)
def test_runs_as_neuron_by_neuron(system, seed):
    check_runs(system, seed)


@pytest.mark.slow
@settings(max_examples=many(40, part=8))
@given(plastic_populations(), seeds)
def test_many_run_as_neuron_by_neuron(system, seed):
    check_runs(system, seed)


def check_runs(system, seed):
    listed, choice = expanded(system), snp.UniformChoice(jr.key(seed))
    solution, expected = (snp.run(x, choice=choice, max_steps=8) for x in (system, listed))
    assert_same_run(expected, followed(expected))
    assert solution.configurations.tolist() == expected.configurations.tolist()
    assert solution.emissions.tolist() == expected.emissions.tolist()
    for row in range(len(solution.configurations)):
        assert solution.network(row) == expected.network(row)
    fired = solution.rules != snp.NO_RULE
    assert fired.tolist() == (expected.rules != snp.NO_RULE).tolist()
    for step, neuron in np.argwhere(fired).tolist():
        assert system.rule_text(neuron, int(solution.rules[step, neuron]))


def test_weighted_synapses_are_deleted_as_neuron_by_neuron():
    """None of the three is created again: two kinds only delete, and one names another neuron."""
    others = {"p": graphs.Pairs([0, 1, 2], [1, 2, 1])}
    rules = [snp.PlasticityTemplate("a{2}a+", 1, ["-", "-", "+-"], 1, others), "a{2}/a -> a"]
    edges = snp.Projection("p", "p", graphs.Pairs([0, 1, 2], [1, 2, 0], [3, 2, 5]))
    system = snp.PopulationSystem([snp.Population("p", 3, [2, 2, 2], rules)], [edges])
    check_explored(system)
    check_runs(system, 0)
    solution = snp.run(system, max_steps=1)
    assert solution.network().synapses == ((0, 1, 3), (1, 2, 2), (2, 0, 5))
    assert solution.spikes.tolist() == [6, 4, 3]


def test_explored_as_neuron_by_neuron():
    others = {"p": graphs.AllToAll(self_edges=False)}
    rules = [snp.PlasticityTemplate("a+", 1, ["+", "-+", "+-"], [1, 2, 1], others), "a^2 -> a"]
    edges = snp.Projection("p", "p", graphs.Pairs([0, 1], [1, 2]))
    check_explored(snp.PopulationSystem([snp.Population("p", 3, [2, 1, 0], rules)], [edges]))


@pytest.mark.slow
@settings(max_examples=many(20, part=7))
@given(plastic_populations())
def test_many_are_explored_as_neuron_by_neuron(system):
    check_explored(system)


def check_explored(system):
    listed = expanded(system)
    graph, same = (snp.explore(x, max_configurations=40, chunks=(16,)) for x in (system, listed))
    assert_same_graph(same, reference_graph.explore(listed, max_configurations=40))
    assert graph.num_configurations == same.num_configurations
    assert graph.num_transitions == same.num_transitions
    seen, expected = graph.configurations(), same.configurations()
    assert seen.spikes.tolist() == expected.spikes.tolist()
    names = [neuron.name for neuron in listed.neurons]
    for target in names[1:]:
        found = seen.has_synapse(names[0], target)
        assert found.tolist() == expected.has_synapse(names[0], target).tolist()
    assert graph.network(0) == same.network(0)


def test_words_of_rules_and_synapses():
    system = ring(6, k=np.arange(1, 7))
    targets = '{"n[2]", "n[3]", "n[4]"}'
    assert system.rule_text(1, 0) == f"{{1..}}/a -> +-2 {targets}"
    assert str(system.neurons[1].rules[0]) == f"a+/a -> +-2 {targets}"
    assert system.changes_network and not system.is_static
    solution = snp.run(system, max_steps=1)
    before, after = solution.network(0), solution.network(1)
    assert (0, 2, 1) in before.synapses and (6, 0, 2) in before.synapses
    assert (0, 1, 1) in after.synapses
    assert solution.network().names[:2] == ("n[0]", "n[1]")


def test_a_picture_of_populations_has_their_rules_and_possible_synapses():
    cards, links = summary(ring(300), 60)
    assert cards[0].lines[1] == "a⁺/a → ±1 {n}"
    assert [(link.source, link.target, link.label, link.is_dashed) for link in links] == [
        (0, 0, "2 synapses", False),
        (1, 0, "all to all × 2", False),
        (0, 0, "900 synapses", True),
    ]
    differing = summary(ring(300, alpha=np.resize(ALPHAS, 300)), 60)[0][0].lines[1]
    assert differing.startswith("{1..}/a → +1 {n}  …  {1..}/a → ∓1")


def test_neurons_without_the_rule_keep_their_synapses():
    """Only the first of three neurons is plastic; the second sends 2 along its synapse."""
    guard = [(np.asarray([1, 1, 1]), np.asarray([9, 0, 0]))]
    rules = [
        snp.PlasticityTemplate(guard, 1, "-", 1, {"p": graphs.AllToAll(self_edges=False)}),
        snp.RuleTemplate([(np.asarray([1, 2, 2]), np.asarray([0, 9, 0]))], 2, 2),
    ]
    edges = graphs.Pairs([0, 1], [2, 2])
    system = snp.PopulationSystem(
        [snp.Population("p", 3, [1, 2, 0], rules)], [snp.Projection("p", "p", edges)]
    )
    assert_same_run(snp.run(system.expand()), followed(snp.run(system.expand())))
    solution = snp.run(system)
    assert solution.spikes.tolist() == [0, 0, 2]
    assert solution.network().synapses == ((1, 2, 1),)


def test_deletion_within_the_targets():
    edges = graphs.Pairs([0, 0], [1, 2])
    template = snp.PlasticityTemplate("a", 1, "-", 1, {"p": graphs.Pairs([0, 1, 2], [2, 2, 1])})
    system = snp.PopulationSystem(
        [snp.Population("p", 3, [1, 0, 0], [template])], [snp.Projection("p", "p", edges)]
    )
    assert snp.run(system).network().synapses == ((0, 2, 1),)
    within = system.with_compatibility(snp.Compatibility(delete_within_N=True))
    assert snp.run(within).network().synapses == ((0, 1, 1),)


def test_targets_of_other_libraries():
    matrix = scipy.sparse.coo_array(np.asarray([[0, 1, 1], [1, 0, 0], [0, 1, 0]]))
    system = snp.PopulationSystem(
        [snp.Population("p", 3, 1, [snp.PlasticityTemplate("a", 1, "+", 2, {"p": matrix})])]
    )
    assert snp.run(system).network().synapses == ((0, 1, 1), (0, 2, 1), (1, 0, 1), (2, 1, 1))


def test_nothing_is_done_for_a_single_neuron():
    """Building and lowering make as many calls for many neurons as for few."""

    def num_calls(n):
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            snp.lower(ring(n))
        finally:
            sys.setprofile(None)
        return calls

    num_calls(4000)  # what is only done once
    assert num_calls(16_000) < num_calls(4000) + 1000


# ---- what is refused ----


def build(rule, *more, projections=(), size=3, **options):
    populations = [snp.Population("p", size, 1, [rule, *more]), snp.Population("q", 2)]
    return snp.PopulationSystem(populations, projections, **options)


def plastic(**changes):
    others = {"p": graphs.AllToAll(self_edges=False)}
    numbers = {"guard": "a", "consume": 1, "alpha": "+", "k": 1, "targets": others}
    return snp.PlasticityTemplate(**{**numbers, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"consume": 0},
            "population 'p', rule 1: `consume` is 0 in every neuron (give at least 1)",
        ),
        (
            {"consume": snp.ALL},
            "rule 1: plasticity consumes a number of spikes (give one, not ALL)",
        ),
        ({"k": [1, 0, 2]}, "rule 1: `k` is 0 in neuron p[1] (give at least 1)"),
        ({"k": [1, 2]}, "`k` has shape (2,) (give one number, or one for each of the 3 neurons)"),
        ({"alpha": "*"}, "rule 1: `alpha` is '*' in every neuron (give one of +, -, +-, -+)"),
        ({"alpha": ["+", "-", "x"]}, "rule 1: `alpha` is 'x' in neuron p[2] (give one of"),
        ({"alpha": ["+"]}, "rule 1: `alpha` has shape (1,) (give one text, or one for each"),
        ({"guard": "b"}, "population 'p', rule 1: "),
        ({"targets": ["p"]}, "rule 1: `targets` is ['p'] (give a graph for each population)"),
        ({"targets": {"p": 3}}, "rule 1: 3 is not a graph (give one of snpjax.graphs"),
        ({"targets": {}}, "rule 1: neuron p[0] has no targets (give it some, or a guard without"),
        (
            {"targets": {"z": graphs.AllToAll()}},
            "rule 1, targets in 'z': there is no such population (use the name of one)",
        ),
        (
            {"targets": {"q": graphs.OneToOne()}},
            "rule 1, targets in 'q': One-to-one needs equal sizes",
        ),
        (
            {"targets": {"q": graphs.AllToAll(2)}},
            "rule 1, targets in 'q': created synapses have weight 1 (leave out the weights)",
        ),
        (
            {"targets": {"q": graphs.Pairs([0, 2], [1, 0])}},
            "rule 1: neuron p[1] has no targets (give it some, or a guard without counts)",
        ),
        (
            {"targets": {"p": graphs.Pairs([0, 1, 2], [1, 1, 0])}},
            "rule 1: the targets of neuron p[1] hold the neuron itself (remove it)",
        ),
        (
            {"targets": {"q": graphs.Pairs([0, 1, 2, 1], [1, 1, 0, 1])}},
            "rule 1: the targets of neuron p[1] hold a neuron twice (name it once)",
        ),
    ],
)
def test_wrong_rule_is_refused(changes, message):
    with pytest.raises(snp.InvalidSystem, match=re.escape(message)):
        build(plastic(**changes))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            graphs.Pairs([0, 1, 1], [0, 0, 1], [1, 1, 3]),
            "projection 'p' -> 'q': the synapse (p[1], q[1]) has weight 3, and the plasticity of "
            "p[1] may create it again, for which no definition says a weight (give it weight 1, ",
        ),
        (
            graphs.Pairs([0, 1, 1], [0, 1, 1]),
            "the synapse (p[1], q[1]) is there twice, but the plasticity of p[1] creates and "
            "deletes single synapses (leave one out)",
        ),
    ],
)
def test_wrong_synapses_are_refused(graph, message):
    to_q = {"q": graphs.AllToAll()}
    with pytest.raises(snp.InvalidSystem, match=re.escape(message)):
        build(plastic(targets=to_q), projections=[snp.Projection("p", "q", graph)])
    guard = [([1, 1, 1], [1, 0, 1])]  # p[1] is not plastic
    build(plastic(guard=guard), projections=[snp.Projection("p", "q", graph)])


def test_synapses_of_two_projections_are_not_added_up():
    both = [snp.Projection("p", "q", graphs.AllToAll()), snp.Projection("p", "q")]
    with pytest.raises(snp.InvalidSystem, match=re.escape("(p[0], q[0]) is there twice")):
        build(plastic(), projections=both)


def test_options_that_plasticity_does_not_have():
    with pytest.raises(snp.InvalidSystem, match=re.escape("(remove signed=True)")):
        build(plastic(), signed=True)
    with pytest.raises(snp.InvalidSystem, match="plasticity may have `delete_within_N` only"):
        build(plastic(), compatibility=snp.Compatibility(closed_receives=True))
    with pytest.raises(NotImplementedError, match="the system has plasticity rules"):
        snp.lower(snp.SystemBatch([build(plastic())]))


def test_rules_that_do_the_same():
    """In p[1] both have the targets p[0] and p[2]."""
    other = {"p": graphs.Pairs([0, 1, 1, 2], [1, 2, 0, 0])}
    message = "rules 1 and 2 do the same at one count in neuron p[1]"
    with pytest.raises(snp.InvalidSystem, match=re.escape(message)):
        build(plastic(), plastic(targets=other))
    for change in ({"k": 2}, {"alpha": "-"}, {"guard": "a^2"}):
        build(plastic(), plastic(targets=other, **change))
    build(plastic(), "a -> lambda", "a -> a")


@pytest.mark.parametrize(
    "rule", ["a -> +1 {q}", snp.PlasticityRule("a", 1, "+", 1, ["q"])], ids=["text", "rule"]
)
def test_a_rule_that_names_neurons(rule):
    message = "names neurons (write PlasticityTemplate(guard, consume, alpha, k, {population: graph"
    with pytest.raises(snp.InvalidSystem, match=re.escape(message)):
        build(rule)
