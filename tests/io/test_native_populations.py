"""The native JSON of populations: written as they are, read as they were, mistakes in place."""

import dataclasses
import json
import re
import time
import warnings

import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

import snpjax as snp
from snpjax import graphs
from snpjax.io import native_schema
from snpjax.io.losses import Losses
from snpjax.io.native import read_native, write_native
from snpjax.io.source import Source
from snpjax.spiking import UNBOUNDED
from tests.spiking.test_plastic_populations import plastic_populations
from tests.spiking.test_population import population_systems, sorter
from tests.support.command import invoke
from tests.support.helpers import many


VALIDATOR = Draft202012Validator(native_schema())

SORTER = """{
  "schema": "snpjax/1",
  "name": "",
  "signed": false,
  "populations": [
    {"name": "i", "size": 3, "spikes": [3, 1, 2], "rules": ["a+/a -> a"]},
    {"name": "s", "size": 3, "spikes": 0, "rules": [{"consume": [3, 2, 1], "produce": 1}, \
{"guard": [[1, [2, 1, 0]], [[4, 3, 2], 3]], "consume": "all"}]},
    {"name": "o", "size": 3, "spikes": 0, "rules": []}
  ],
  "projections": [
    {"from": "i", "to": "s", "graph": {"kind": "all_to_all"}},
    {"from": "s", "to": "o", "graph": {"kind": "intervals", "start": [0, 1, 2], "stop": [3, 3, 3]}}
  ],
  "input": {},
  "output": ["o"]
}
"""


def parse(text, level="extended"):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_native(Source("f", text), level)


def again(system):
    """What is read from what is written, without loss and as the schema says."""
    losses = Losses("native")
    text = write_native(system, losses)
    assert not losses.items
    VALIDATOR.validate(json.loads(text))
    assert write_native(parse(text), losses) == text
    return parse(text)


def errors(text, level="extended"):
    """`line:column` and message of every error."""
    with pytest.raises(snp.ReadError) as caught:
        parse(text, level)
    return {f"{d.line}:{d.column}": d.message for d in caught.value.diagnostics}


def model(populations='[{"name": "p", "size": 3}]', rest="", projections="[]"):
    """A file with the populations on line 2, the projections on line 4 and the rest on line 5."""
    start = f'{{"schema": "snpjax/1", "populations":\n{populations}, "projections":'
    return f"{start}\n\n{projections}\n{rest}}}"


def assert_equal(system, other):
    """The same arguments of every part, but for the types of numbers and the form of guards and of
    graphs that are no description."""
    assert isinstance(system, snp.PopulationSystem) and isinstance(other, snp.PopulationSystem)
    assert (system.name, system.signed, system.output) == (other.name, other.signed, other.output)
    assert system.compatibility == other.compatibility
    for p, q in zip(system.populations.values(), other.populations.values(), strict=True):
        assert (p.name, p.size, len(p.templates)) == (q.name, q.size, len(q.templates))
        same(p.spikes, q.spikes)
        assert (p.indices is None) == (q.indices is None)
        if p.indices is not None:
            same(p.indices, q.indices)
        for a, b in zip(p.templates, q.templates, strict=True):
            for name in ("consume", "produce", "delay"):
                same_but_for_zeros(getattr(a, name), getattr(b, name))
            assert type(a) is type(b)
            if isinstance(a, snp.PlasticityTemplate) and isinstance(b, snp.PlasticityTemplate):
                same(a.alpha, b.alpha)
                same(a.k, b.k)
                assert list(a.targets) == list(b.targets)
                for name, graph in a.descriptions.items():
                    same_graph(graph, b.descriptions[name])
            for term, its_term in zip(a.terms(), b.terms(), strict=True):
                for x, y in zip(term, its_term, strict=True):
                    same(x, y)
    for p, q in zip(system.projections, other.projections, strict=True):
        assert (p.source, p.target) == (q.source, q.target)
        same_graph(p.description, q.description)
    assert list(system.input) == list(other.input)
    for name, train in system.input.items():
        same(train, other.input[name])


def same_graph(graph, other):
    assert type(graph) is type(other)
    for field in dataclasses.fields(graph):
        x, y = (getattr(each, field.name) for each in (graph, other))
        assert (x is None) == (y is None)
        same(x, y)


def same(x, y):
    assert np.shape(x) == np.shape(y)
    assert np.asarray(x).tolist() == np.asarray(y).tolist()


def same_but_for_zeros(x, y):
    """Zeros of all neurons are one zero."""
    same(x if np.any(x) else 0, y if np.any(y) else 0)


LOW = np.array([2, 0, 5])
RULES = [
    "a^2/a -> a; 1",
    snp.Rule("a(aa)*", 1, 2),
    snp.RuleTemplate([(LOW, [7, 9, 5]), (LOW + 20, None, [2, 3, 4]), (40, 39)], [1, 2, 3], LOW),
    snp.RuleTemplate([(0, np.array([3, UNBOUNDED, -1]), 2)], snp.ALL),
    snp.RuleTemplate(np.array([11, 12, 13]), 4, 5, [0, 1, 2]),
    snp.RuleTemplate((30, None), 31, 1),
    snp.RuleTemplate(((50, 52), (54, 54)), 1, 1),
    snp.RuleTemplate({61, 63, 70}, 2),
    snp.RuleTemplate(17, 3, 1),
    snp.RuleTemplate(None, 10**9, 10**12, 2**31 - 2),
    snp.RuleTemplate([], 1),
]
GRAPHS = [
    graphs.AllToAll(),
    graphs.AllToAll(-3, self_edges=False),
    graphs.OneToOne(2**40),
    graphs.Intervals([0, 1, 3], [2, 1, 3]),
    graphs.Intervals([[0, 1, 2], [2, 2, 3]], [[1, 2, 3], [3, 3, 3]], by="target", weight=2),
    graphs.Pairs([0, 2, 2], [1, 1, 0]),
    graphs.Pairs([0, 2], [1, 1], 5),
    graphs.Pairs(np.array([0, 2], np.int32), [1, 1], [-4, 7], sizes=(3, 3)),
    graphs.Pairs([], []),
    graphs.RandomInDegree(2, 2**70, 3),
    graphs.RandomPairs(0.1, 7),
    graphs.RandomPairs(1, 0, 2),
    graphs.Procedural(3, in_degree=1, weight=2),
    graphs.Procedural(2**32 - 1, probability=1e-9),
    graphs.Blocks([[1, 0, -2], [4, 5, 6], [0, 0, 0]]),
]


def systems_of_every_part():
    yield snp.PopulationSystem([])
    yield snp.PopulationSystem(
        [snp.Population("p", 3, [1, 2, 3], RULES), snp.Population('"\n{é', 0, [], ["a -> a"])],
        name="é\U0001d4d0",
        input={"p": [[1, 0, 2], [0, 0, 0]], "p[1]": [4, 5], '"\n{é': [[], []]},
        output=["p[2]", '"\n{é'],
    )
    yield snp.PopulationSystem(
        [snp.Population("p", 3, [-1, -2, 0])], signed=True, input={"p": [-3]}
    )
    plain = snp.Population("q", 1, 2, [], np.zeros((1, 0), int))
    for indices in ([5, -2, 9], [[0, 1], [1, 0], [1, 1]], [[4], [2], [3]]):
        yield snp.PopulationSystem([snp.Population("p", 3, 0, [], indices), plain], output="q")
    for graph in GRAPHS:
        yield snp.PopulationSystem(
            [snp.Population("p", 3)], [snp.Projection("p", "p", graph)], signed=True
        )
    for options in (snp.Compatibility(closed_receives=True), snp.Compatibility(guard_modulo=9)):
        yield snp.PopulationSystem([snp.Population("p", 3, 0, ["a -> a"])], compatibility=options)


def test_sorter():
    assert write_native(sorter([3, 1, 2]), Losses("native")) == SORTER
    assert_equal(parse(SORTER), sorter([3, 1, 2]))
    assert snp.run(parse(SORTER)).spikes_of("o").tolist() == [1, 2, 3]


@pytest.mark.parametrize("system", list(systems_of_every_part()))
def test_every_part_is_read_again(system):
    assert_equal(again(system), system)


def test_names_of_neurons_with_indices():
    indices = np.array([[1, 2], [0, 7], [1, -2], [0, 1]])
    system = snp.PopulationSystem([snp.Population("p", 4, 0, (), indices)], output=["p{1,-2}"])
    assert again(system).output == ("p{1,-2}",)
    assert [system.slice_of(system.name_of(i)).start for i in range(4)] == [0, 1, 2, 3]
    assert not any(map(system.has, ["p{1}", "p{1,3}", "p{2,2}", "p{0,07}", "p{1,2,3}"]))


def check_random(system):
    other = again(system)
    assert_equal(other, system)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        assert other.expand() == system.expand()


@given(population_systems() | plastic_populations())
def test_random_systems_are_read_again(system):
    check_random(system)


@pytest.mark.slow
@settings(max_examples=many(2000))
@given(population_systems() | plastic_populations())
def test_many_random_systems_are_read_again(system):
    check_random(system)


def test_graphs_of_other_libraries_are_written_as_pairs():
    class Ring(graphs.AllToAll):
        """A user's own description."""

        def edges(self, num_sources, num_targets):
            return graphs.Pairs([0, 1], [1, 2], [3, 1]).edges(num_sources, num_targets)

    matrix = scipy.sparse.csr_array(np.asarray([[0, 2, 0], [1, 0, 0], [0, 0, 5]]))
    ring = networkx.cycle_graph(3, create_using=networkx.DiGraph)
    for graph, expected in (
        (matrix, graphs.Pairs([0, 1, 2], [1, 0, 2], [2, 1, 5], (3, 3))),
        (ring, graphs.Pairs([0, 1, 2], [1, 2, 0], [1, 1, 1], (3, 3))),
        (Ring(), graphs.Pairs([0, 1], [1, 2], [3, 1])),
    ):
        one = [snp.Population("p", 3)]
        system = snp.PopulationSystem(one, [snp.Projection("p", "p", graph)])
        plain = snp.PopulationSystem(one, [snp.Projection("p", "p", expected)])
        assert_equal(again(system), plain)


def test_intervals_without_runs():
    """A table without rows does not say how long they are."""
    none = np.zeros((0, 3), int)
    system = snp.PopulationSystem(
        [snp.Population("p", 3)], [snp.Projection("p", "p", graphs.Intervals(none, none))]
    )
    assert again(system).num_synapses == 0


def test_large_systems_take_no_time(tmp_path):
    system = sorter(np.random.default_rng(0).permutation(20_000) + 1)
    start = time.thread_time()
    snp.write(system, tmp_path / "large.snp.json")
    read = snp.read(tmp_path / "large.snp.json")
    assert time.thread_time() - start < 1, "60,000 neurons, 600 million synapses; 0.1 s in 2026"
    assert_equal(read, system)


def test_only_names_and_sizes_are_needed():
    system = parse('{"schema": "snpjax/1", "populations": [{"name": "p", "size": 2}]}')
    assert_equal(system, snp.PopulationSystem([snp.Population("p", 2)]))
    system = parse(model(projections='[{"from": "p", "to": "p"}]'))
    assert system.num_synapses == 9


def test_the_stricter_level_counts():
    text = SORTER.replace('"produce": 1', '"produce": [1, 3, 1]')
    assert parse(text).num_rules == sorter([3, 1, 2]).num_rules
    strict = {
        "7:53": "population 's', rule 1 produces more than it consumes in neuron s[1]",
    }
    assert errors(text, "strict") == strict
    marked = text.replace('"name": "",', '"level": "strict",')
    assert errors(marked) == strict
    assert errors(text.replace('"name": "",', '"level": "loose",')) == {
        "3:12": 'the level is \'loose\' (write "strict" or "extended")'
    }


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ('{"kind": "all_to_all"}', "leads from a neuron to itself"),
        ('{"kind": "all_to_all", "self_edges": false}', None),
        ('{"kind": "all_to_all", "self_edges": false, "weight": 2}', "has weights from 2 to 2"),
        ('{"kind": "blocks", "weights": [[0, 1], [1, 0]]}', None),
        ('{"kind": "blocks", "weights": [[0, 1, 1, 1], [1, 1, 1, 0]]}', "weights from 0 to 1"),
        ('{"kind": "blocks", "weights": [[1]]}', "leads from a neuron to itself"),
        ('{"kind": "random_in_degree", "in_degree": 0, "seed": 1}', None),
        ('{"kind": "random_in_degree", "in_degree": 4, "seed": 1}', "leads from a neuron to"),
        ('{"kind": "random_pairs", "probability": 1, "seed": 1}', "leads from a neuron to"),
        ('{"kind": "procedural", "probability": 1, "seed": 1}', "leads from a neuron to"),
    ],
)
def test_self_synapses_at_level_strict(graph, message):
    projection = f'[{{"from": "p", "to": "p", "graph": {graph}}}]'
    text = model('[{"name": "p", "size": 4}]', projections=projection)
    assert parse(text).populations["p"].size == 4
    if message is None or "weights from 0" in message:
        found = {} if message is None else errors(text, "strict")
        assert not any("itself" in text for text in found.values())
    else:
        assert message in errors(text, "strict")["4:2"]


@pytest.mark.parametrize(
    "graph",
    [
        '{"kind": "random_in_degree", "in_degree": 100, "seed": 1}',
        '{"kind": "random_pairs", "probability": 0.5, "seed": 1}',
        '{"kind": "procedural", "probability": 1e-9, "seed": 1}',
        '{"kind": "procedural", "in_degree": 100, "seed": 1}',
    ],
)
def test_large_random_graphs_are_not_drawn(graph):
    size = 2**31 - 1
    marked = f'[{{"from": "p", "to": "p", "graph": ¦{graph}}}]'
    text = model(f'[{{"name": "p", "size": {size}}}]', projections=marked.replace("¦", ""))
    assert parse(text).num_neurons == size
    assert_found(4, marked, "too large to look for self-synapses", errors(text, "strict"))


_OTHERS = '{"p": {"kind": "all_to_all", "self_edges": false}}'


def _plastic(alpha='"+"', k="1", targets=_OTHERS, consume="1", more=""):
    """A population with one rule of plasticity."""
    change = f'{{"alpha": {alpha}, "k": {k}, "targets": {targets}}}'
    return f'"rules": [{{"guard": "a+", "consume": {consume}, "plasticity": {change}{more}}}]'


def assert_found(line, marked, message, found):
    place = f"{line}:{marked.index('¦') + 1}"
    assert list(found) == [place] and message in found[place], found


@pytest.mark.parametrize(
    ("population", "message"),
    [
        ("¦7", '"populations" is 7'),
        ("[¦7]", "the population is 7"),
        ('[¦{"size": 3}]', 'the population has no "name"'),
        ('[¦{"name": "p"}]', 'the population has no "size"'),
        ('[{"name": ¦7, "size": 3}]', "the name of a population is 7"),
        ('[{"name": ¦"", "size": 3}]', "the name of a population is empty"),
        ('[{"name": "p", "size": ¦-3}]', "is -3 (write an integer from 0 to 2147483647)"),
        ('[{"name": "p", "size": ¦1e3}]', "the size of a population is 1000.0"),
        ('[{"name": "p", "size": 3}, ¦{"name": "p", "size": 3}]', "two populations are named 'p'"),
        ('"spikes": ¦"1"', "\"spikes\" is '1'"),
        ('"spikes": ¦-1', "`spikes` is -1 in every neuron"),
        ('"spikes": ¦[1, 2]', '"spikes" is a list of 2 (write one number, or one'),
        ('"spikes": [1, ¦true, 2]', 'item 2 of "spikes" is true'),
        ('"spikes": [1, 2, ¦-3]', "`spikes` is -3 in neuron p[2]"),
        ('"spikes": [1, ¦9223372036854775808, 0]', 'item 2 of "spikes" does not fit 64 bits'),
        ('"spikes": ¦4611686018427387905', "give at most 4611686018427387904"),
        ('"spikes": ¦%s' % ("9" * 200), '"spikes" is a number of 200 digits'),
        ('"indices": ¦[1, 2]', "names 2 neurons"),
        ('"indices": ¦[1, 2, 1]', "two neurons are named p{1}"),
        ('"indices": [[1], ¦[2, 3], [3]]', 'row 2 of "indices" has 2 numbers'),
        ('"indices": [[1], ¦2, [3]]', 'row 2 of "indices" is 2'),
        ('¦"weight": 1', "the population has the unknown key 'weight'"),
        ('"rules": ¦"a -> a"', "the list of rules is 'a -> a'"),
        ('"rules": [¦7]', "a rule is 7"),
        ('"rules": ["a - a¦"]', "there is no arrow"),
        ('"rules": ["a¦b/a -> a"]', "'b' is not part of a guard"),
        ('"rules": [¦"a -> lambda; 2"]', "a forgetting rule has no delay"),
        ('"rules": ["a -> a", ¦"a -> a"]', "rules 1 and 2 do the same"),
        ('"rules": [¦{}]', 'the rule has no "consume"'),
        ('"rules": [{"consume": ¦0}]', '"consume" is 0 (write an integer from 1'),
        ('"rules": [{"consume": ¦-1}]', '"consume" is -1 (write an integer from'),
        ('"rules": [{"consume": ¦[1, 2]}]', '"consume" is a list of 2'),
        ('"rules": [{"guard": "a", "consume": [1, 2, ¦0]}]', "in neuron p[2]"),
        ('"rules": [{"guard": "a", "consume": ¦[1, -1, 1]}]', "consume ALL"),
        ('"rules": [{"consume": ¦"some"}]', "\"consume\" is 'some'"),
        ('"rules": [{"consume": 1, ¦"divide": []}]', "unknown key 'divide'"),
        ('"rules": [{"consume": 1, "produce": ¦-1}]', "`produce` is -1 in every"),
        ('"rules": [{"consume": 1, "delay": ¦[0, 0, 2]}]', "has no delay"),
        ('"rules": [{"guard": ¦3, "consume": 1}]', "the guard is 3 (write a text"),
        ('"rules": [{"guard": "¦b", "consume": 1}]', "the guard does not parse"),
        ('"rules": [{"guard": [¦3], "consume": 1}]', "a term of the guard is 3"),
        ('"rules": [{"guard": [¦[]], "consume": 1}]', "is a list of 0"),
        ('"rules": [{"guard": [[¦-1, 3]], "consume": 1}]', "`low` is -1"),
        (
            '"rules": [{"guard": [[1, [3, ¦-7, 4]]], "consume": 1}]',
            "rule 1, term 1: `high` is -7 in neuron p[1]",
        ),
        ('"rules": [{"guard": [[1, 2, ¦0]], "consume": 1}]', "`period` is 0"),
        ('"rules": [{"guard": [[¦null]], "consume": 1}]', "low end is null"),
        ('"rules": [{"guard": [[1, 3], ¦[2]], "consume": 1}]', "share a count"),
        ('"rules": [¦{"consume": "all"}]', 'the rule has no "guard"'),
        (
            '"rules": [{"guard": "a", "consume": "all", "produce": ¦1}]',
            "a rule that consumes ALL forgets",
        ),
        (_plastic(alpha='¦"*"'), "the kind of plasticity is '*' (write one of +, -, +-, -+)"),
        (_plastic(alpha='["+", "-", ¦7]'), "the kind of plasticity is 7"),
        (_plastic(alpha='¦["+", "-"]'), "is a list of 2 (write one text, or one for each of the 3"),
        (_plastic(k="¦0"), "rule 1: `k` is 0 in every neuron"),
        (_plastic(k="[1, ¦-2, 3]"), "rule 1: `k` is -2 in neuron p[1]"),
        (_plastic(k='¦"2"'), "\"k\" is '2'"),
        (_plastic(targets="¦[1]"), '"targets" is a list (write an object'),
        (_plastic(targets='{"p": ¦7}'), "the graph is 7"),
        (_plastic(targets='{"q": ¦{"kind": "all_to_all"}}'), "there is no such population"),
        (_plastic(targets='{"p": ¦{"kind": "all_to_all", "weight": 2}}'), "have weight 1"),
        (_plastic(targets='¦{"p": {"kind": "one_to_one"}}'), "neuron p[0] hold the neuron itself"),
        (
            _plastic(targets='¦{"p": {"kind": "pairs", "source": [0], "target": [1]}}'),
            "p[1] has no",
        ),
        (_plastic(more=', ¦"produce": 1'), "unknown key 'produce'"),
        (_plastic(consume='¦"all"'), "plasticity consumes a number of spikes"),
    ],
)
def test_mistakes_in_populations(population, message):
    """The rest of population p, or all populations. A bar marks the place."""
    is_rest = population.lstrip("¦")[0] == '"'
    marked = f'[{{"name": "p", "size": 3, {population}}}]' if is_rest else population
    assert_found(2, marked, message, errors(model(marked.replace("¦", ""))))


@pytest.mark.parametrize(
    ("projection", "message"),
    [
        ("¦7", '"projections" is 7'),
        ("[¦7]", "the projection is 7"),
        ('[¦{"to": "p"}]', 'the projection has no "from"'),
        ('[{"from": "p", "to": ¦3}]', '"to" of a projection is 3'),
        ('[{"from": ¦"q", "to": "p"}]', "'q' is not a population"),
        ('[{"from": "p", "to": ¦"p[1]"}]', "'p[1]' is not a population"),
        ('[{"from": "p", "to": "p", ¦"weight": 3}]', "unknown key 'weight'"),
        (
            '{"kind": ¦"one_to_all"}',
            "the kind of graph is 'one_to_all' (write one of all_to_all, one_to",
        ),
        ('{"kind": "all_to_all", "weight": ¦"2"}', "\"weight\" is '2'"),
        ('{"kind": "all_to_all", "weight": ¦[2]}', '"weight" is a list'),
        (
            '{"kind": "all_to_all", ¦"seed": "1"}',
            "the graph has the unknown key 'seed' (known: kind, weig",
        ),
        (
            '{"kind": "all_to_all", ¦"kind": "one_to_one"}',
            "the key 'kind' appears twice in the graph",
        ),
        ('¦{"kind": "intervals"}', "the graph 'intervals' has no"),
        ('¦{"kind": "intervals", "start": [0, 0], "stop": [1, 1], "by": "target"}', "3"),
        ('¦{"kind": "intervals", "start": [0, 0, 1], "stop": [1, 1, 9], "by": "source"}', "9"),
        ('{"kind": "intervals", "start": [0], "stop": [1], "by": ¦"both"}', "\"by\" is 'both'"),
        ('{"kind": "pairs", "source": [0, ¦"1"], "target": [1, 1]}', 'item 2 of "source"'),
        (
            '{"kind": "random_pairs", "probability": ¦"0.5", "seed": 1}',
            "(write a number from 0 to 1)",
        ),
        ('¦{"kind": "intervals", "stop": [1]}', 'has no "start"'),
        ('¦{"kind": "pairs", "source": [0], "target": [3]}', "Edge 0 has target 3"),
        ('¦{"kind": "random_in_degree", "in_degree": 4, "seed": 0}', "only 3"),
        ('¦{"kind": "random_pairs", "probability": 0.5}', 'has no "seed"'),
        ('¦{"kind": "random_pairs", "seed": -1, "probability": 1}', "is -1"),
        ('¦{"kind": "random_pairs", "seed": 1, "probability": 1.5}', "is 1.5"),
        ('¦{"kind": "procedural", "seed": 1}', "either `in_degree` or"),
        ('¦{"kind": "procedural", "seed": 4294967296, "in_degree": 1}', "2^32"),
        ('¦{"kind": "blocks", "weights": [[1, 1]]}', "3 targets do not form 2 equal"),
        ('{"kind": "blocks", "weights": [¦1]}', 'row 1 of "weights" is 1'),
    ],
)
def test_mistakes_in_projections(projection, message):
    """A graph of the neurons p, or all projections. A bar marks the place."""
    is_graph = projection.lstrip("¦")[0] == "{"
    marked = f'[{{"from": "p", "to": "p", "graph": {projection}}}]' if is_graph else projection
    assert_found(4, marked, message, errors(model(projections=marked.replace("¦", ""))))


@pytest.mark.parametrize(
    ("rest", "place", "message"),
    [
        (', "neurons": []', "5:3", "unknown key 'neurons'"),
        (', "notes": {}', "5:3", "unknown key 'notes'"),
        (', "signed": 1', "5:13", '"signed" is 1'),
        (', "input": []', "5:12", '"input" is a list'),
        (', "input": {"q": [1]}', "5:13", "input 'q' is not a population"),
        (', "input": {"P": [1]}', "5:13", "input 'P' is not a population (did you mean 'p'?)"),
        (', "input": {"p": 3}', "5:18", "an input train is 3"),
        (', "input": {"p": [-1]}', "5:13", "the input of 'p' is negative"),
        (', "input": {"p": [[1, 2]]}', "5:13", "the input of 'p' has shape (1, 2)"),
        (', "input": {"p[3]": [1]}', "5:13", "'p[3]' is not a population"),
        (', "output": "p"', "5:13", "\"output\" is 'p'"),
        (
            ', "output": ["p", "p[0]", "q"]',
            "5:27",
            "'q' is not a population (the only one is",
        ),
        (', "compatibility": {"early": 1}', "5:21", "unknown key 'early'"),
        (', "compatibility": {"stop_at_closed_target": true}', "4:2", "have no order"),
    ],
)
def test_mistakes_in_the_rest(rest, place, message):
    projections = '[{"from": "p", "to": "p"}]' if "closed" in rest else "[]"
    found = errors(model(rest=rest, projections=projections))
    assert list(found) == [place] and message in found[place]


def test_all_mistakes_are_reported_together():
    text = model(
        '[{"name": "p", "size": 2, "spikes": [1, "x"], "rules": ["b", "a -> a"]}, {"name": "q"}]',
        ', "output": ["r", "p"], "input": {"q[1]": [true]}',
        '[{"from": "q", "to": "p"}, {"from": "p", "to": "p", "graph": {"kind": "blocks"}}]',
    )
    assert list(errors(text)) == ["2:41", "2:59", "2:74", "4:62", "5:44"]


def test_targets_in_a_population_with_a_mistake():
    """Which may be the one that is named."""
    rule = _plastic(targets='{"q": {"kind": "all_to_all"}}')
    found = errors(model(f'[{{"name": "p", "size": 3, {rule}}},\n{{"name": "q"}}]'))
    assert list(found) == ["3:1"] and 'has no "size"' in found["3:1"]


def test_targets_without_memory_for_them():
    found = errors(model(f'[{{"name": "p", "size": {2**31 - 2}, {_plastic()}}}]'))
    (message,) = found.values()
    assert "2,147,483,646 plasticity rules with 4,611,686,0" in message
    assert "Give plastic neurons fewer targets and synapses." in message


def test_rules_that_cannot_all_be_compared():
    rules = ", ".join(f'"a^{k} -> a"' for k in range(1, 1001))
    found = errors(model(f'[{{"name": "p", "size": 2, "rules": [{rules}]}}]'))
    (message,) = found.values()
    assert list(found) == ["2:36"] and "too many rules to compare them, 1,000 terms" in message


def test_many_mistakes_in_one_array():
    found = errors(model(f'[{{"name": "p", "size": 999, "spikes": {json.dumps(["x"] * 999)}}}]'))
    assert len(found) == 20


PIECES = st.sampled_from(
    ["", "{", "}", "[", "]", ",", '"', "1", "null", "-1", "1e5", "a", "[[1]]", "[]", "{}", "[1, 2]"]
)


@given(st.data())
def test_mutations_raise_nothing_but_read_errors(data):
    text = SORTER.replace('{"kind": "all_to_all"}', data.draw(st.sampled_from(GRAPH_TEXTS)))
    for _ in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 6)))
        text = text[:start] + data.draw(PIECES) + text[end:]
    try:
        level = data.draw(st.sampled_from(["strict", "extended"]))
        read_native(Source("f", text), level)
    except snp.ReadError as error:
        assert error.diagnostics


GRAPH_TEXTS = [
    re.search(r'"graph": (\{.*\})\}', write_native(system, Losses("native")))[1]  # pyright: ignore
    for system in systems_of_every_part()
    if system.projections
]


# ---- the command ----


FAMILY = """@model<spiking_psystems>
def main()
{
  @mu = r{k} : 1<=k<=60000;
  @marcs = (r{k}, r{k+1}) : 1<=k<60000;
  @ms(r{1}) = a;
  [a --> a]'r{k} "a(aa)*" : 1<=k<=60000;
  @mout = r{60000};
}
"""


def test_convert_info_and_run(tmp_path):
    family, native, back = (tmp_path / x for x in ("family.pli", "family.snp.json", "back.pli"))
    family.write_text(FAMILY)
    result = invoke("convert", family, native)
    assert result.exit_code == 0 and "60,000 neurons" in result.stdout
    assert native.read_text().count("\n") < 30
    assert_equal(snp.read(native), snp.read(family))
    told = [invoke("info", file, "--json").stdout for file in (family, native)]
    assert told[0].replace("family.pli", "") == told[1].replace("family.snp.json", "")
    assert invoke("convert", native, back).exit_code == 0
    assert "1<=k" in back.read_text() or "60000" in back.read_text()
    small = tmp_path / "sorter.snp.json"
    small.write_text(SORTER)
    result = invoke("run", small)
    assert result.exit_code == 0 and "final spikes: o[0]=1, o[1]=2, o[2]=3" in result.stdout
    assert "spike train of o[1]: 0 0 0 0" in result.stdout
    for options in (["--json"], ["--csv"], ["--paths", 2], ["--paths", 2, "--json"]):
        result = invoke("run", small, *options)
        assert result.exit_code == 0 and "o[1]" in result.stdout
