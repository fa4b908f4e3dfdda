"""Populations and projections: the same system as neuron by neuron, and what is refused."""

import re
import sys
import tracemalloc
import warnings

import jax
import jax.random as jr
import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import graphs
from snpjax.spiking import lower
from snpjax_formats import (
    ELL,
    BitDense,
    Dense,
    Identity,
    Int8Dense,
    Interval,
    NotEnoughMemory,
    Ones,
    SlicedELL,
    Sum,
)
from tests.spiking.test_properties import seeds
from tests.support.helpers import MAX_STEPS, assert_same_run, many


def sorter(numbers) -> snp.PopulationSystem:
    """The sorting system of Ionescu and Sburlan; s[j] fires at n - j spikes."""
    n = len(numbers)
    place = np.arange(n)
    fires = n - place
    forget = [(1, fires - 1), (fires + 1, n)]
    return snp.PopulationSystem(
        [
            snp.Population("i", n, numbers, ["a+/a -> a"]),
            snp.Population(
                "s", n, 0, [snp.RuleTemplate(None, fires, 1), snp.RuleTemplate(forget, snp.ALL)]
            ),
            snp.Population("o", n),
        ],
        [
            snp.Projection("i", "s", graphs.AllToAll()),
            snp.Projection("s", "o", graphs.Intervals(place, np.full(n, n))),
        ],
        output="o",
    )


@pytest.mark.parametrize("layout", ["auto", ELL, Dense, SlicedELL])
def test_sorts(layout):
    numbers = np.random.default_rng(0).integers(0, 101, 100)  # some of them equal
    solution = snp.run(sorter(numbers), layout=layout, save=snp.SAVE_FINAL)
    assert solution.halted and solution.steps == numbers.max() + 1
    assert solution.spikes_of("o").tolist() == sorted(numbers.tolist())
    assert not solution.spikes_of("i").any() and not solution.spikes_of("s").any()


@pytest.fixture
def joins(monkeypatch):
    """Say whether parts of small systems are joined, which auto does on GPUs."""
    module = sys.modules["snpjax.spiking.lower.storage"]
    return lambda whether: monkeypatch.setattr(module, "is_best_joined", lambda size: whether)


def test_each_projection_keeps_its_structure(joins):
    joins(False)
    synapses = lower_of(sorter(np.arange(1, 3000))).synapses
    assert isinstance(synapses, Sum)
    assert [type(part) for part in synapses.parts] == [Ones, Interval]
    assert synapses.nbytes < 30_000, "nine million synapses"
    system = snp.PopulationSystem(
        [snp.Population("a", 300, 1, ["a -> a"]), snp.Population("b", 300)],
        [snp.Projection("a", "b", graphs.OneToOne())],
    )
    assert isinstance(lower_of(system).synapses.parts[0], Identity)


def test_parts_that_are_better_joined(joins):
    """As on a GPU, where a kernel less counts for more than structure in small systems."""
    joins(True)
    numbers = np.random.default_rng(0).permutation(150) + 1
    system = sorter(numbers)
    assert isinstance(lower_of(system).synapses, BitDense)
    solution = snp.run(system, save=snp.SAVE_FINAL)
    assert solution.spikes_of("o").tolist() == list(range(1, 151))


def lower_of(system):
    return snp.lower(system).machine.program


def test_neurons_of_one_type_share_their_rules():
    rules = ["a -> a", "a^2 -> a; 1", "a(aa)+/a^3 -> a"]
    shared = lower_of(snp.PopulationSystem([snp.Population("p", 5000, 0, rules)]))
    assert shared.type_of is not None and shared.low.shape[1] < 20
    listed = snp.SpikingSystem([snp.Neuron(f"n{i}", 0, rules) for i in range(300)])
    assert lower(listed).type_of is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = snp.PopulationSystem(
            [snp.Population("p", 300, np.arange(300) % 5, rules), snp.Population("q", 300)],
            [snp.Projection("p", "q", graphs.OneToOne())],
        )
        solution, expected = snp.run(system), snp.run(system.expand())
    assert lower_of(system).type_of is not None
    assert solution.configurations.tolist() == expected.configurations.tolist()
    assert solution.rules.tolist() == expected.rules.tolist()


# ---- any system of populations equals the reference on its expansion ----


@st.composite
def templates(draw, size):
    """Rule templates with disjoint terms, some of them empty in some neurons."""

    def number(least, most):
        return draw(
            st.integers(least, most)
            | st.lists(st.integers(least, most), min_size=size, max_size=size).map(np.asarray)
        )

    if draw(st.booleans()):
        return draw(
            st.sampled_from(["a -> a", "a^2/a -> a^2; 1", "a(aa)*/a -> a", "a^3 -> lambda"])
        )
    first = number(0, 3)
    terms = [(first, first + draw(st.integers(-1, 2)))]
    if draw(st.booleans()):
        period = draw(st.sampled_from([1, 2, 3]))
        end = draw(st.sampled_from([None, 9]))
        terms.append((first + 3, end, period))
    if draw(st.integers(0, 2)) == 0:
        bounded = [term if term[1] is not None else (term[0], 9, term[2]) for term in terms]
        return snp.RuleTemplate(bounded, snp.ALL)
    produce = number(0, 2)
    delay = draw(st.sampled_from([0, 0, 1, 2])) if np.all(produce) else 0
    return snp.RuleTemplate(terms, number(1, 3), produce, delay)


@st.composite
def population_systems(draw):
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    populations = [
        snp.Population(
            f"p{index}",
            size,
            draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).map(np.asarray))
            if size
            else 0,
            draw(st.lists(templates(size), max_size=2)) if size else (),
        )
        for index, size in enumerate(sizes)
    ]
    projections = []
    for p in populations:
        for q in populations:
            weight = draw(st.sampled_from([1, 1, 2]))
            choices = [None, graphs.AllToAll(weight), graphs.RandomPairs(0.5, 3, weight)]
            if p.size == q.size:
                choices.append(graphs.OneToOne(weight))
            if p.size and q.size:
                start = np.arange(p.size) % q.size
                choices.append(graphs.Intervals(start, start + 1, weight=weight))
            graph = draw(st.sampled_from(choices))
            if graph is not None:
                projections.append(snp.Projection(p.name, q.name, graph))
    named = [p.name for p in populations]
    output = draw(st.lists(st.sampled_from(named), unique=True, max_size=2))
    fed = draw(st.lists(st.sampled_from(named), unique=True, max_size=1))
    trains = {name: draw(st.lists(st.integers(0, 2), max_size=4)) for name in fed}
    try:
        return snp.PopulationSystem(populations, projections, input=trains, output=output)
    except snp.InvalidSystem as error:
        assert "do the same" in str(error)  # two rules drawn as one
        return snp.PopulationSystem(populations[:0])


def expanded(system):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return system.expand()


@settings(max_examples=6)
@given(population_systems(), seeds)
def test_equals_the_system_neuron_by_neuron(system, seed):
    check_neuron_by_neuron(system, seed)


@pytest.mark.slow
@settings(max_examples=many(40, part=8))
@given(population_systems(), seeds)
def test_equals_many_systems_neuron_by_neuron(system, seed):
    check_neuron_by_neuron(system, seed)


def check_neuron_by_neuron(system, seed):
    """Configuration by configuration on a random path; rule numbers differ where families are."""
    listed = expanded(system)
    choice = snp.UniformChoice(jr.key(seed))
    solution = snp.run(system, choice=choice, max_steps=MAX_STEPS)
    expected = snp.run(listed, choice=choice, max_steps=MAX_STEPS, layout=ELL)
    assert solution.steps == expected.steps and solution.halted == expected.halted
    assert solution.configurations.tolist() == expected.configurations.tolist()
    assert solution.emissions.tolist() == expected.emissions.tolist()
    assert solution.spike_trains.tolist() == expected.spike_trains.tolist()
    apart = snp.run(system, choice=choice, max_steps=MAX_STEPS, faithful=True)
    assert apart.configurations.tolist() == expected.configurations.tolist()


@settings(max_examples=4)
@given(population_systems())
def test_first_choice_equals_the_reference(system):
    from snpjax.testing import reference

    listed = expanded(system)
    solution = snp.run(listed, max_steps=MAX_STEPS)
    computation = reference.run(listed, max_steps=MAX_STEPS)
    assert_same_run(solution, computation)
    own = snp.run(system, max_steps=MAX_STEPS)
    assert own.configurations.tolist() == solution.configurations.tolist()


def test_given_choices_name_templates():
    system = snp.PopulationSystem(
        [snp.Population("p", 2, 2, ["a^2/a -> a", snp.RuleTemplate([(1, 3)], snp.ALL)])]
    )
    solution = snp.run(system, choice=snp.GivenChoices([[1, 0], [None, 1]]), max_steps=4)
    assert solution.configurations.tolist() == [[2, 2], [0, 1], [0, 0]]
    assert solution.rules.tolist() == [[1, 0], [-1, 1]]
    refused = snp.run(system, choice=snp.GivenChoices([[1, 0], [0, 1]]), throw=False)
    assert "neuron 'p[0]', step 2" in refused.failure


def test_graphs_of_other_libraries():
    matrix = scipy.sparse.csr_array(np.asarray([[0, 2, 0], [1, 0, 0]]))
    system = snp.PopulationSystem(
        [snp.Population("a", 2, 1, ["a -> a"]), snp.Population("b", 3)],
        [snp.Projection("a", "b", matrix)],
    )
    assert snp.run(system).spikes_of("b").tolist() == [1, 2, 0]
    ring = networkx.cycle_graph(4, create_using=networkx.DiGraph)
    system = snp.PopulationSystem(
        [snp.Population("a", 4, [1, 0, 0, 0], ["a -> a"])], [snp.Projection("a", "a", ring)]
    )
    assert snp.run(system, max_steps=5).spikes_of("a").tolist() == [0, 1, 0, 0]


def test_input_and_output_of_populations():
    relay = snp.Population("relay", 3, 0, ["a -> a", "a^2 -> a^2"])
    one, each = [1, 0, 2], [[1, 2, 0], [0, 0, 1], [0, 0, 0]]
    for train, expected in (
        (one, [[0] * 3, [1] * 3, [0] * 3, [2] * 3]),
        (each, [[0] * 3, [1, 2, 0], [0, 0, 1]]),
    ):
        system = snp.PopulationSystem([relay], input={"relay": train}, output="relay")
        assert snp.run(system).spike_trains.tolist() == expected
        assert snp.run(system).train("relay").shape[1] == 3


def test_names_are_made_on_demand():
    system = sorter(np.arange(1, 1001))
    assert system.name_of(1003) == "s[3]" and system.neurons[2999].name == "o[999]"
    assert len(system.neurons) == 3000 and system.populations["s"].size == 1000
    assert "3,000 neurons" in repr(system) and "1,500,500 synapses" in repr(system)
    solution = snp.run(system, max_steps=3)
    assert "i[0]=" in repr(solution) and "<table>" in solution._repr_html_()


def test_random_graphs_are_those_of_their_seed():
    def system(seed):
        return snp.PopulationSystem(
            [snp.Population("a", 400, 1, ["a -> a"]), snp.Population("b", 400)],
            [snp.Projection("a", "b", graphs.RandomPairs(0.1, seed))],
        )

    runs = [snp.run(system(seed)).spikes_of("b").tolist() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("options", [{"in_degree": 3}, {"probability": 0.02, "weight": 2}])
def test_random_graphs_that_are_not_stored(options, joins):
    joins(False)
    system = snp.PopulationSystem(
        [snp.Population("a", 300, np.arange(300) % 2, ["a -> a"]), snp.Population("b", 200)],
        [snp.Projection("a", "b", graphs.Procedural(7, **options))],
    )
    assert lower_of(system).synapses.nbytes <= 4
    spikes = snp.run(system).spikes_of("b")
    assert spikes.any() and spikes.tolist() == snp.run(expanded(system)).spikes[300:].tolist()
    assert spikes.tolist() == snp.run(system, layout=ELL).spikes_of("b").tolist()


def test_one_structured_population_is_not_listed():
    system = snp.PopulationSystem(
        [snp.Population("a", 10**6, 1, ["a -> a"])], [snp.Projection("a", "a")]
    )
    assert lower_of(system).synapses.nbytes == 0
    with pytest.raises(NotEnoughMemory, match="1,000,000,000,000 edges takes .* Leave `layout`"):
        system.lower(layout=ELL)
    sorting = sorter(np.arange(1, 200_001))
    with pytest.raises(NotEnoughMemory, match="forgetting rules .* Leave `faithful` out"):
        sorting.lower(faithful=True)


def test_given_choices_do_not_take_families_apart():
    rule = snp.RuleTemplate([(1, None)], snp.ALL)
    system = snp.PopulationSystem([snp.Population("a", 2, 3, [rule])])
    solution = snp.run(system, choice=snp.GivenChoices([[0, 0]]))
    assert solution.halted and solution.spikes.tolist() == [0, 0]


def test_texts_of_rules():
    rules = [
        snp.RuleTemplate(None, [1, 2], 1),
        snp.RuleTemplate([(3, 9, 2), (11, None)], 3, 2, 1),
        snp.RuleTemplate([(10, 10**7)], snp.ALL),
    ]
    system = snp.PopulationSystem([snp.Population("a", 2, 2, rules)])
    assert [system.rule_text(1, number) for number in range(3)] == [
        "a^2 -> a",
        "{3..9 by 2, 11..}/a^3 -> a^2; 1",
        "{10..10000000}/all -> lambda",
    ]
    assert "a[1]: a^2 -&gt; a" in snp.run(system)._repr_html_()


def test_trains_of_a_population():
    relay = snp.Population("relay", 3, 0, ["a -> a"])
    system = snp.PopulationSystem(
        [relay], input={"relay": [[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1]]}, output="relay"
    )
    solution = snp.run(system)
    assert solution.counts().tolist() == [2, 2, 1]
    assert solution.intervals().tolist() == [1, 3, None]
    assert solution.intervals().mean() == 2
    for alone, instead in (
        ("spike_times", "train"),
        ("interval", "intervals"),
        ("count", "counts"),
    ):
        with pytest.raises(ValueError, match=f"several neurons. Use `{instead}`"):
            getattr(solution, alone)()
    with pytest.raises(ValueError, match="neither a neuron nor a population 'b'"):
        solution.spikes_of("b")


def test_an_array_as_guard_means_exactly_these_counts():
    rule = snp.RuleTemplate(np.array([1, 3, 3]), 1, 1)
    system = snp.PopulationSystem([snp.Population("a", 3, [1, 2, 3], [rule])])
    assert snp.run(system).spikes.tolist() == [0, 2, 2]


def test_large_consumption_is_no_overflow():
    """Consuming more than a quarter of the range, and receiving as much."""
    system = snp.PopulationSystem(
        [
            snp.Population("x", 1, 2**31 - 1, [snp.RuleTemplate([(1, None)], snp.ALL)]),
            snp.Population("y", 1, 1, ["a -> a"]),
        ],
        [snp.Projection("y", "x", graphs.AllToAll(-(2**29)))],
        signed=True,
    )
    solution = snp.run(system, count_dtype=np.int32)
    assert solution.spikes_of("x").tolist() == [-(2**29)]


@pytest.mark.slow
def test_projections_between_the_same_neurons_add_up():
    system = snp.PopulationSystem(
        [snp.Population("a", 2, 1, ["a -> a"]), snp.Population("b", 2)],
        [snp.Projection("a", "b"), snp.Projection("a", "b", graphs.OneToOne(2))],
    )
    assert snp.run(system).spikes_of("b").tolist() == [4, 4]
    assert snp.run(system.expand()).spikes[2:].tolist() == [4, 4]


def test_a_million_neurons_with_different_guards_are_checked_at_once():
    """Vectorised: a loop over neurons took 23 seconds."""
    low = np.arange(10**6) % 1000
    rules = [snp.RuleTemplate([(low, None, 3)], 1, produce) for produce in (1, 2, 3)]
    assert snp.PopulationSystem([snp.Population("a", 10**6, 0, rules)]).num_rules == 3 * 10**6


def test_a_neuron_without_a_count_has_no_rule():
    """Neither in the list of neurons, where it would be a rule that can never apply."""
    low, high = np.array([1, 1, 4]), np.array([0, 3, 4])
    system = snp.PopulationSystem(
        [snp.Population("x", 3, 4, [snp.RuleTemplate([(low, high)], 1, 1), "a+/a -> a; 1"])]
    )
    assert [[str(rule) for rule in neuron.rules] for neuron in system.neurons] == [
        ["a+/a -> a; 1"],
        ["a{1,3}/a -> a", "a+/a -> a; 1"],
        ["a^4/a -> a", "a+/a -> a; 1"],
    ]
    assert system.num_rules == system.expand().num_rules == 5


@pytest.mark.parametrize(("low", "high", "count"), [(0, 6, 3), (3, 3, 1), (2, None, 1)])
def test_consume_all_rules_count_as_their_members(low, high, count):
    rule = snp.RuleTemplate([(low, high, 2)], snp.ALL)
    system = snp.PopulationSystem([snp.Population("x", 4, 0, [rule])])
    assert system.num_rules == 4 * count
    if high is not None:
        assert system.expand().num_rules == 4 * count


def test_paths_of_populations():
    """The same paths as the system neuron by neuron."""
    system = snp.PopulationSystem(
        [snp.Population("c", 300, 1, ["a -> a", "a -> a; 1"]), snp.Population("o", 1)],
        [snp.Projection("c", "o")],
        output="o",
    )
    options = {"choice": snp.UniformChoice(jr.key(3)), "max_steps": 5, "save": snp.SAVE_ALL}
    solution = snp.run(system, paths=6, **options)
    expected = snp.run(expanded(system), paths=6, **options)
    assert solution.rules.tolist() == expected.rules.tolist()
    assert solution.emissions.tolist() == expected.emissions.tolist()
    assert len({tuple(path) for path in solution.rules[0].T.tolist()}) == 6
    first = solution.emissions[0, :300].sum(axis=0)
    assert solution.configurations[1, -1].tolist() == first.tolist()


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: [snp.Population("a", -1)], "population 'a' has size -1 (give a number >= 0)"),
        (lambda: [snp.Population("a", 1), snp.Population("a", 1)], "two populations are named 'a'"),
        (lambda: [snp.Population("a", 2, [1, 2, 3])], "`spikes` has shape (3,)"),
        (lambda: [snp.Population("a", 2, [1, -2])], "`spikes` is -2 in neuron a[1]"),
        (lambda: [snp.Population("a", 2, 1.5)], "`spikes` is 1.5 (give integers)"),
        (lambda: [snp.Population(["a"], 1)], "population 0 has the name ['a']"),
        (lambda: ["a"], "'a' is not a population"),
        (lambda: [snp.Population("a", 1, 0, 5)], "5 are not rules (give a list)"),
        (lambda: [snp.Population("a", 1, 0, [5])], "5 is not a rule"),
        (lambda: [snp.Population("a", 1, 0, [snp.RuleTemplate([1, 3], 1)])], "a term of the guard"),
        (lambda: [snp.Population("a", 2, 0, ["a -> "])], "population 'a': rule 'a -> '"),
        (
            lambda: [snp.Population("a", 2, 0, [snp.RuleTemplate([(1, 2)], [1, 0])])],
            "population 'a', rule 1: `consume` is 0 in neuron a[1] (give at least 1)",
        ),
        (
            lambda: [snp.Population("a", 2, 0, [snp.RuleTemplate([(1, 2), ([3, 2], 4)], 1)])],
            "terms 1 and 2 share a count in neuron a[1]",
        ),
        (
            lambda: [snp.Population("a", 1, 0, [snp.RuleTemplate([(1, None, 4), (3, 9, 2)], 1)])],
            "terms 1 and 2 share a count in every neuron",
        ),
        (
            lambda: [snp.Population("a", 2, 0, [snp.RuleTemplate([(1, 2)], [1, snp.ALL])])],
            "only some neurons consume ALL",
        ),
        (
            lambda: [snp.Population("a", 2, 0, [snp.RuleTemplate([(1, 2)], snp.ALL, 1)])],
            "a rule that consumes ALL forgets",
        ),
        (
            lambda: [
                snp.Population("a", 2, 0, ["a -> lambda", snp.RuleTemplate([(1, 2)], snp.ALL)])
            ],
            "rules 1 and 2 do the same at one count",
        ),
        (
            lambda: [snp.Population("a", 3, 0, ["a -> a", snp.RuleTemplate(None, [2, 1, 3], 1)])],
            "rules 1 and 2 do the same at one count in neuron a[1]",
        ),
    ],
)
def test_wrong_population_is_refused(build, message):
    with pytest.raises(snp.InvalidSystem, match=re.escape(message)):
        snp.PopulationSystem(build())


@pytest.mark.parametrize(
    "graph, message",
    [
        (graphs.OneToOne(), "projection 'a' -> 'b': One-to-one needs equal sizes"),
        (graphs.Intervals([0, 0], [4, 3]), "4"),
        (graphs.Pairs([0], [3]), "Edge 0 has target 3, but there are 3 targets"),
        (graphs.RandomInDegree(3, 0), "`in_degree` is 3, but there are only 2"),
        (graphs.AllToAll(-1), "has a negative weight (build the system with signed=True)"),
        ("all", "'all' is not a graph"),
        (graphs.AllToAll(0), "has synapses of weight 0"),
        (graphs.Pairs([0, 1], [0, 1], [1, 0]), "has synapses of weight 0"),
        (scipy.sparse.csr_array((4, 7), dtype=int), "has 4 sources and 7 targets, but there are 2"),
    ],
)
def test_wrong_projection_is_refused(graph, message):
    populations = [snp.Population("a", 2), snp.Population("b", 3)]
    with pytest.raises(snp.InvalidSystem, match=re.escape(message)):
        snp.PopulationSystem(populations, [snp.Projection("a", "b", graph)])


@pytest.mark.parametrize(
    "train, message",
    [
        ([[1, 2], [1]], "is not an array of integers"),
        (np.array([2**64 - 3], np.uint64), "has 18446744073709551613 spikes"),
        ([-1], "is negative"),
        (np.zeros((2, 3), int), "has shape (2, 3)"),
    ],
)
def test_wrong_input_is_refused(train, message):
    with pytest.raises(snp.InvalidSystem, match=re.escape(message)):
        snp.PopulationSystem([snp.Population("p", 2, 5)], input={"p": train})


def test_all_problems_are_said_at_once():
    with pytest.raises(snp.InvalidSystem) as error:
        snp.PopulationSystem(
            [snp.Population("a", 2, -1), snp.Population("b", 2, 0, ["a ->"])],
            [snp.Projection("a", "c")],
            input={"a": [[1, 2, 3]], "d": [1]},
            output="e",
        )
    assert len(error.value.problems) == 6


def test_consume_all_without_end_has_no_members():
    rule = snp.RuleTemplate([(1, None)], snp.ALL)
    system = snp.PopulationSystem([snp.Population("a", 2, 3, [rule])])
    assert snp.run(system).spikes.tolist() == [0, 0]
    with pytest.raises(ValueError, match="no list of members"):
        system.expand()
    with pytest.raises(ValueError, match="cannot be taken apart"):
        snp.run(system, faithful=True)


def test_arrivals_that_need_64_bits_are_found_without_listing_synapses():
    def system(spikes):
        return snp.PopulationSystem(
            [
                snp.Population("a", 2**20, 1, [snp.RuleTemplate(None, 1, spikes)]),
                snp.Population("b", 4),
            ],
            [snp.Projection("a", "b")],
        )

    assert snp.lower(system(1000)).machine.program.initial.dtype == np.int32
    machine = snp.lower(system(2**20)).machine
    assert machine.program.initial.dtype == np.int64
    with pytest.raises(ValueError, match=re.escape("can arrive at neuron 'b[0]'")):
        system(2**20).lower(count_dtype=np.int32)
    final = snp.run(system(2**20), save=snp.SAVE_FINAL).spikes_of("b")
    assert final.tolist() == [2**40] * 4


# ---- batches of different systems ----


@pytest.mark.slow
def test_batch_of_different_systems_equals_single_runs():
    """A sweep over rules, spikes, sizes, synapses and inputs, each halting in its own step."""
    systems = [
        snp.SpikingSystem(
            [
                snp.Neuron("x", spikes, ["a+/a -> a", "a^2/a -> a; 1"]),
                *(snp.Neuron(f"y{i}", 0, ["a -> a", "a -> lambda"][:k]) for i in range(k)),
                snp.Neuron("out"),
            ],
            [("x", f"y{i}", 1) for i in range(k)] + [(f"y{i}", "out", 1 + i) for i in range(k)],
            input={"x": [0, k]} if k else {},
            output="x",
        )
        for k, spikes in enumerate([3, 1, 6])
    ]
    choice = snp.UniformChoice(jr.key(1))
    solutions = snp.run(snp.SystemBatch(systems), choice=choice, max_steps=30, save=snp.SAVE_ALL)
    assert len({solution.steps for solution in solutions}) > 1
    for path, (system, solution) in enumerate(zip(systems, solutions, strict=True)):
        expected = snp.run(system, choice=choice, paths=path + 1, max_steps=30, save=snp.SAVE_ALL)
        steps = expected.steps[path]
        assert solution.halted and solution.steps == steps
        assert (
            solution.configurations.tolist()
            == expected.configurations[: steps + 1, :, path].tolist()
        )
        assert solution.rules.tolist() == expected.rules[:steps, :, path].tolist()
        assert solution.train().tolist() == expected.train()[:steps, path].tolist()


def test_batch_of_population_systems():
    numbers = [np.random.default_rng(seed).permutation(9 + seed) + 1 for seed in range(3)]
    solutions = snp.run(snp.SystemBatch([sorter(n) for n in numbers]), layout=Dense)
    for given_numbers, solution in zip(numbers, solutions, strict=True):
        assert solution.spikes_of("o").tolist() == sorted(given_numbers.tolist())
        assert solution.steps == len(given_numbers) + 1


def test_batches_refuse_what_single_runs_refuse():
    dynamic = snp.SpikingSystem([snp.Neuron("x", 1, [snp.DivisionRule("a", "y", "z")])])
    with pytest.raises(NotImplementedError, match="neuron 'x' has the rule"):
        snp.run(snp.SystemBatch([dynamic]))
    with pytest.raises(TypeError, match="Element 0 of the batch is a str. Give systems"):
        snp.SystemBatch(["x"])


def test_systems_that_emit_different_numbers_share_a_dense_layout():
    systems = [
        snp.SpikingSystem([snp.Neuron("x", 1, [f"a -> a^{p}"]), snp.Neuron("y")], [("x", "y")])
        for p in (1, 200)
    ]
    for layout in (BitDense, Int8Dense):
        solutions = snp.run(snp.SystemBatch(systems), layout=layout)
        assert [solution.spikes_of("y") for solution in solutions] == [1, 200]


def test_history_of_a_batch_of_systems():
    """Every second configuration, in 64 bits, with families and an unrolled loop."""
    rules = ["a^9 -> a", "a -> lambda", "a^2 -> lambda", "a{3,8}/a -> a"]
    systems = [
        snp.SpikingSystem([snp.Neuron("x", k, rules), snp.Neuron("y")], [("x", "y")])
        for k in (8, 5, 2)
    ]
    options = {"save": snp.Save(every=2), "count_dtype": np.int64, "unroll": 3}
    solutions = snp.run(snp.SystemBatch(systems), **options)
    for system, solution in zip(systems, solutions, strict=True):
        alone = snp.run(system, **options)
        assert solution.configurations.tolist() == alone.configurations.tolist()
        assert solution.rules.tolist() == alone.rules.tolist()
        assert solution.spikes.dtype == np.int64
    assert solutions[0].rules[-1, 0] == 2, "the member a^2 -> lambda"


def test_failure_in_a_batch_names_the_system():
    fine = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])])
    full = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 2**31 - 1)], [("x", "y")]
    )
    with pytest.raises(snp.RunFailed, match="system 1: neuron 'y', step 1"):
        snp.run(snp.SystemBatch([fine, full]), count_dtype=np.int32)
    with pytest.raises(ValueError, match="one path"):
        snp.run(snp.SystemBatch([fine]), paths=3)
    with pytest.raises(ValueError, match="no system"):
        snp.SystemBatch([])


def test_step_takes_the_program_of_a_population_system():
    """The pure functions take the program of a population system like any other."""
    program = lower_of(sorter([2, 1]))
    state = snp.spiking.initial_state(program)
    stepped = jax.jit(lambda s: snp.spiking.step(program, s, snp.FirstChoice())[0])(state)
    assert stepped.spikes[:6].tolist() == [1, 0, 2, 2, 0, 0]


def test_populations_that_do_not_fit_are_refused(free):
    def system(size):
        return snp.PopulationSystem([snp.Population("p", size, 1, ["a -> a"])], [])

    free(8_000_055)
    message = "100,000 neurons in populations need 8,000,056 bytes, but 8,000,055 are free"
    with pytest.raises(NotEnoughMemory, match=message):
        snp.lower(system(100_000))
    free(None)
    snp.lower(system(100_000))  # what is imported and compiled is no part of it
    tracemalloc.start()
    snp.lower(system(200_000))
    peak = tracemalloc.get_traced_memory()[1] / 200_000
    tracemalloc.stop()
    assert 70 < peak < 90, "it is said to be 80 bytes a neuron"
