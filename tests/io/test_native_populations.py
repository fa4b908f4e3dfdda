"""The native JSON of populations: written as they are, read as they were, mistakes in place."""

import dataclasses
import json
import time

import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from jsonschema import Draft202012Validator

import snpjax as snp
from snpjax import graphs
from snpjax.io import native_schema
from snpjax.io.losses import Losses
from snpjax.io.native import write_native
from snpjax.spiking import UNBOUNDED
from tests.io.tables.mistakes import findings, marked, quietly, read_silently, reread
from tests.spiking.test_plastic_populations import plastic_populations
from tests.spiking.test_population import population_systems, sorter
from tests.support.command import invoke
from tests.support.helpers import many


def parse(text, level="extended"):
    return read_silently("native", text, level)


def errors(text, level="extended"):
    return findings("native", text, level)


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


def again(system):
    """What is read from what is written, without loss and as the schema says."""
    text, again = reread("native", system)
    VALIDATOR.validate(json.loads(text))
    assert reread("native", again)[0] == text
    return parse(text)


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


def test_every_part_is_read_again():
    for system in systems_of_every_part():
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
    assert quietly(other.expand) == quietly(system.expand)


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
        ('"all_to_all"', "leads from a neuron to itself"),
        ('"all_to_all", "self_edges": false', ""),
        ('"all_to_all", "self_edges": false, "weight": 2', "has weights from 2 to 2"),
        ('"blocks", "weights": [[0, 1], [1, 0]]', "weights from 0 to 1"),
        ('"blocks", "weights": [[0, 1, 1, 1], [1, 1, 1, 0]]', "leads from a neuron to itself"),
        ('"blocks", "weights": [[1]]', "leads from a neuron to itself"),
        ('"random_in_degree", "in_degree": 0, "seed": 1', ""),
        ('"random_in_degree", "in_degree": 4, "seed": 1', "leads from a neuron to"),
        ('"random_pairs", "probability": 1, "seed": 1', "leads from a neuron to"),
        ('"procedural", "probability": 1, "seed": 1', "leads from a neuron to"),
    ],
)
def test_self_synapses_at_level_strict(graph, message):
    projection = f'[{{"from": "p", "to": "p", "graph": {{"kind": {graph}}}}}]'
    text = model('[{"name": "p", "size": 4}]', projections=projection)
    assert parse(text).populations["p"].size == 4
    found = findings("native", text, "strict") if message else {}
    assert message in found.get("4:2", "") and ("to itself" in str(found)) == ("leads" in message)


@pytest.mark.parametrize(
    "graph",
    [
        '"random_in_degree", "in_degree": 100',
        '"random_pairs", "probability": 0.5',
        '"procedural", "probability": 1e-9',
        '"procedural", "in_degree": 100',
    ],
)
def test_large_random_graphs_are_not_drawn(graph):
    size = 2**31 - 1
    projection = f'[{{"from": "p", "to": "p", "graph": §{{"kind": {graph}, "seed": 1}}}}]'
    text = model(f'[{{"name": "p", "size": {size}}}]', projections=projection)
    text, places = marked(text)
    assert parse(text).num_neurons == size
    found = errors(text, "strict")
    assert list(found) == places and "too large to look for self-synapses" in found[places[0]]


def test_targets_without_memory_for_them():
    targets = '{"p": {"kind": "all_to_all", "self_edges": false}}'
    change = f'{{"alpha": "+", "k": 1, "targets": {targets}}}'
    rule = f'{{"guard": "a+", "consume": 1, "plasticity": {change}}}'
    found = errors(model(f'[{{"name": "p", "size": {2**31 - 2}, "rules": [{rule}]}}]'))
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
