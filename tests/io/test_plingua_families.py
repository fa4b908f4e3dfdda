"""Families of P-Lingua as populations: the same system as one by one, and never listed."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import snpjax as snp
from snpjax import ALL, graphs
from snpjax.io import ReadError, ReadWarning
from snpjax.io.plingua import read_plingua
from snpjax.io.source import Source
from snpjax.testing import reference
from tests.io.tables.mistakes import quietly
from tests.support.helpers import SHARED, many, needs_shared


def main(body):
    return f"@model<spiking_psystems>\ndef main() {{\n{body}\n}}\n"


def read(text, families):
    return quietly(read_plingua, Source("f.pli", text), "extended", families=families)


def families(body):
    """A file read as populations, whatever its size."""
    system = read(main(body), True)
    assert isinstance(system, snp.PopulationSystem)
    check_same(system, read(main(body), False))
    return system


def check_same(populations, system):
    """Equal but for the order of neurons and synapses, and the order within merged families."""
    other = quietly(populations.expand)
    rules = {n.name: [r for r in n.rules if not r.guard.is_empty] for n in other.neurons}
    assert {n.name: n.spikes for n in other.neurons} == {n.name: n.spikes for n in system.neurons}
    for population in populations.populations.values():
        is_merged = any(np.any(t.consume == ALL) for t in population.templates)
        arrange = (lambda x: sorted(x, key=str)) if is_merged else list
        for neuron in system.neurons:
            if populations.populations.get(neuron.name.partition("{")[0]) is population:
                assert arrange(rules[neuron.name]) == arrange(neuron.rules)
    assert sorted(other.synapses) == sorted(system.synapses)
    assert other.output == system.output
    assert other.input == system.input


RING = """
  @mu = relay{k} : 1<=k<=9;
  @mu += tap;
  @ms(relay{k}) = a*(k%3) : 1<=k<=9;
  @ms(relay{1}) += a*4;
  @marcs = (relay{k}, relay{k+1}) : 1<=k<9;
  @marcs += (relay{9}, relay{1});
  @marcs += (relay{2*k}, tap) : 1<=k<=9//2;
  @mout = tap;
  @min = relay{4}; @minst = (2,1), (t,t) : 5<=t<=6;
  [a --> a]'relay{k} "a(aa)*" :: k-1 : 1<=k<=9;
  [a*2 --> a*k]'relay{k} : 2<=k<=9, k<>3;
  { [a*s --> a]'tap; } : 1<=s<=2;
"""


def test_a_ring():
    system = families(RING)
    assert list(system.populations) == ["relay", "tap"]
    assert [len(p.templates) for p in system.populations.values()] == [2, 2]
    assert system.output == ("tap",) and list(system.input) == ["relay{4}"]


def test_neurons_are_named_as_in_the_file():
    system = families(
        "@mu = x{i} : 3<=i<=5; @mu = y; @mu = z{i,2*j} : 1<=i<=2, 0<=j<=1; @mout = x{4};"
    )
    assert [n.name for n in system.neurons] == [
        *("x{3}", "x{4}", "x{5}", "y"),
        *("z{1,0}", "z{2,0}", "z{1,2}", "z{2,2}"),
    ]
    assert [system.name_of(i) for i in (2, 3, 7)] == ["x{5}", "y", "z{2,2}"]
    assert system.position_of("x{5}") == 2 and system.position_of("y") == 3
    assert system.position_of("z") == slice(4, 8) and system.position_of("z{1,2}") == 6
    for name in ("x{2}", "x{03}", "x[0]", "x{3,1}", "y{1}", "w", "z{1}"):
        assert not system.has(name), name


def test_names_by_indices():
    system = snp.PopulationSystem(
        [
            snp.Population("a", 3, [1, 2, 3], ["a -> a"], [9, 4, -1]),
            snp.Population("b", 2, 0, ["a -> a"], [[1, 1], [1, 2]]),
            snp.Population("c", 1, 5, [], np.zeros((1, 0), int)),
            snp.Population("d", 2),
        ],
        [snp.Projection("a", "c"), snp.Projection("b", "a"), snp.Projection("b", "d")],
        input={"b{1,2}": [1, 0, 1]},
        output=["a{4}", "b", "d[1]", "c"],
    )
    names = ["a{9}", "a{4}", "a{-1}", "b{1,1}", "b{1,2}", "c", "d[0]", "d[1]"]
    assert [system.name_of(i) for i in range(8)] == names
    assert [system.position_of(name) for name in names] == list(range(8))
    assert [system.output_columns(name) for name in system.output] == [0, slice(1, 3), 3, 4]
    assert system.num_outputs == 5
    listed = quietly(system.expand)
    assert list(listed.names) == names
    assert listed.output == ("a{4}", "b{1,1}", "b{1,2}", "d[1]", "c")
    assert listed.input == {"b{1,2}": (1, 0, 1)}
    columns = system.columns()
    assert columns.outputs.tolist() == [1, 3, 4, 7, 5] and columns.inputs.tolist() == [4]


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([1, 2], "`indices` names 2 neurons (give one index for each of the 3)"),
        ([1, 2, 1], "two neurons are named x{1} (give each its own index)"),
        ([[1, 2], [3, 4], [1, 2]], "two neurons are named x{1,2}"),
        ([1.0, 2.0, 3.0], "(give integers, (size,) or (size, axes))"),
        (np.zeros((3, 0), int), "two neurons are named x"),
    ],
)
def test_indices_that_name_no_neurons(indices, message):
    with pytest.raises(snp.InvalidSystem) as refusal:
        snp.PopulationSystem([snp.Population("x", 3, 0, [], indices)], output=["x{1}"])
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("ranges", "graph"),
    [
        ("(x{i}, y{j}) : 1<=i<=6, 1<=j<=6", graphs.AllToAll()),
        ("(x{i}, x{j}) : 1<=i<=6, 1<=j<=6, i<>j", graphs.AllToAll(self_edges=False)),
        ("(x{7-i}, y{7-i}) : 1<=i<=6", graphs.OneToOne()),
        ("(x{i}, y{i+1}) : 1<=i<6", graphs.Pairs),
        ("(x{i}, y{j}) : 1<=j<=6, 2<=i<=4", graphs.Intervals),
        ("(x{i}, y{j}) : 2<=j<=5, 1<=i<=6", graphs.Intervals),
        ("(x{i}, y{j}) : 1<=j<=6, 1<=i<=5, j<>i", graphs.Pairs),
    ],
)
def test_the_graph_of_a_family(ranges, graph):
    system = families(f"@mu = x{{i}} : 1<=i<=6; @mu = y{{i}} : 1<=i<=6; @marcs = {ranges};")
    (projection,) = system.projections
    found = projection.description
    assert isinstance(found, graph) if isinstance(graph, type) else found == graph


def test_long_rows_with_a_gap_are_intervals():
    body = "@mu = x{i} : 1<=i<=20; @marcs = (x{i}, x{j}) : 1<=j<=20, 1<=i<=20, j<>21-i;"
    graph = families(body).projections[0].description
    assert isinstance(graph, graphs.Intervals) and graph.start.shape == (2, 20)


def test_forgetting_families_are_one_rule():
    body = """@mu = s{i} : 1<=i<=8;
      [a*(9-i) --> a]'s{i} : 1<=i<=8;
      [a*j --> #]'s{i} : 1<=j<=8, 1<=i<=8, j<>9-i;"""
    _, forget = families(body).populations["s"].templates
    assert np.all(forget.consume == ALL) and len(forget.terms()) == 2
    even = families("@mu = x{i} : 1<=i<=3; [a*(2*j) --> #]'x{i} : 1<=j<=5, 1<=i<=3;")
    assert even.populations["x"].templates[0].terms() == [(2, 10, 2)]


def test_shared_numbers_stay_one_number():
    system = families("@mu = x{i} : 1<=i<=4; @ms(x{i}) = a*7 : 1<=i<=4; [a --> a]'x{i} : 0<i<5;")
    population = system.populations["x"]
    assert population.spikes == 7
    assert [type(population.templates[0].consume), type(population.templates[0].delay)] == [int] * 2


@pytest.mark.parametrize(
    "body",
    [
        "call f(2); } def f(n) { @mu = x{i} : 1<=i<=n; call g(n-1) : 2<=i<=2, n<>1; } "
        "def g(n) { @mu = y{n,i} : 0<=i<=n;",
        "{ @mu = x{i,j} : 1<=j<=3; [a*j --> a*i]'x{i,j} : 1<=j<=3; } : 1<=i<=3;",
        "@mu = x{i} : 1<=i<=6; [a*j --> a]'x{i} : 1<=j<=i, 1<=i<=6;",
        "@mu = x{2*i} : 1<=i<=6; @marcs = (x{i/2*2}, x{4}) : 4<=i<=4;",
        "@mu = x{i} : 0<=i<=9; @ms(x{i}) = a*(2^i//3%5) : 0<=i<=9;",
        "@mu = x{i} : 0<=i<=4; @ms(x{i}) = a*i : 0<=i<=4; @ms(x{i//2}) = a*(i+1) : 0<=i<=4;",
        "@mu = x{i} : 0<=i<=4; @ms(x{i//2}) += a*(i+1) : 0<=i<=4;",
        "@mu = in{i}, out{i} : 1<=i<=3; @mout = out{i} : 1<=i<=3; @mout = in{2};",
        'let n = 3; @mu = {i}, x{i} : 1<=i<=0; @mu = x{i} : 1<=i<=n; [a*n --> a]\'x{1} "a{3,}";',
        "@mu = x{i} : 1<=i<=3; [a --> a]'x{i} \"a+\" : 1<=i<=3; [a --> a]'x{i} : 1<=i<=3;",
        "@mu = 5, {7}, x{i} : 4<=i<=4; @ms(5) = a; @marcs = (5, 7), (7, x{4});",
    ],
)
def test_regular_files(body):
    families(body)


@pytest.mark.parametrize(
    "body",
    [
        "@mu = x{i//2} : 1<=i<=4;",  # repeated labels
        "@mu = x, x{i} : 1<=i<=1;",  # one name with and without indices
        "@mu = {i} : 1<=i<=3;",  # computed labels
        "@mu = x{i} : 1<=i<=3; [a --> a]'x{i} : 1<=i<=3; [a --> a]'x{i} : 2<=i<=3;",
        '@mu = x{i} : 1<=i<=3; [a*5 --> a]\'x{i} "a{2}" : 1<=i<=3;',  # can never apply
        "@mu = x{i} : 1<=i<=3; @mout = x{2}; @mout = x{i} : 1<=i<=3;",
        "@mu = i, j; []'i --> []'i / []'j \"a\";",
        "@mu = x{i} : 1<=i<=3; @mdict = (x{1}, x{2});",
        # Merging the runs of a statement would change the order of a neuron's rules.
        "@mu = x{i} : 1<=i<=70; { [a*(99-i) --> a]'x{1}; [a*(199-i) --> a]'x{1}; } : 1<=i<=70;",
    ],
)
def test_what_is_irregular_is_read_one_by_one(body):
    assert isinstance(read(main(body), True), snp.SpikingSystem)
    assert read(main(body), True) == read(main(body), False)


def test_only_large_files_at_level_extended_are_populations():
    small = main("@mu = x{i} : 1<=i<=100;")
    large = main("@mu = x{i} : 1<=i<=100001;")
    assert isinstance(read(small, None), snp.SpikingSystem)
    assert isinstance(read(large, None), snp.PopulationSystem)
    strict = read_plingua(Source("f", large), "strict")
    assert isinstance(strict, snp.SpikingSystem) and strict.level == "strict"


def test_mistakes_outside_are_told_with_families_too():
    text = main("@mu = x{i} : 1<=i<=100001;") + "def wow() { @mz = x; }"
    with pytest.warns(ReadWarning, match="5:13: in the module wow, which is never called"):
        read_plingua(Source("f", text), "extended")


# Any regular file is the same system read both ways


def amounts():
    return st.sampled_from(["1", "i", "n-i+1", "2*i", "i%2+1", "(i+1)//2", "i^2"])


@st.composite
def regular_files(draw):
    n = draw(st.integers(1, 4))
    names = ["x", "y"][: draw(st.integers(1, 2))]
    lines = [f"let n = {n};"]
    lines += [f"@mu = {name}{{i}} : 1<=i<=n;" for name in names]
    if draw(st.booleans()):
        names.append("tap")
        lines.append("@mu = tap;")

    def label(index="i"):
        name = draw(st.sampled_from(names))
        return name if name == "tap" else f"{name}{{{index}}}"

    ranges = draw(st.sampled_from(["1<=i<=n", "1<=i<n", "2<=i<=n", "1<=i<=n, i<>2"]))
    for _ in range(draw(st.integers(0, 2))):
        sign = draw(st.sampled_from(["=", "+="]))
        lines.append(f"@ms({label()}) {sign} a*({draw(amounts())}) : {ranges};")
    for _ in range(draw(st.integers(0, 2))):
        target = label(draw(st.sampled_from(["i", "n-i+1", "j"])))
        inner = draw(st.sampled_from(["1<=j<=n", "i<=j<=n", "1<=j<=n, j<>i"]))
        lines.append(f"@marcs += ({label()}, {target}) : {inner}, {ranges};")
    for _ in range(draw(st.integers(0, 3))):
        consume, produce = draw(amounts()), draw(amounts())
        guard = draw(st.sampled_from(["", ' "a(aa)*"', ' "a{2,4}|a{6}"', ' "a+"']))
        delay = draw(st.sampled_from(["", " :: i-1", " :: 2"]))
        rule = f"[a*({consume}) --> a*({produce})]'{label()}{guard}{delay} : {ranges};"
        lines.append(rule)
    if draw(st.booleans()):
        name = label()
        lines.append(f"[a*(j+4) --> #]'{name} : 1<=j<=3, {ranges}, j<>i;")
    lines += [f"@mout = {label()} : 1<=i<=n;"] * draw(st.integers(0, 1))
    return main("\n".join(lines))


@given(regular_files())
def test_the_same_system_both_ways(text):
    check_both_ways(text)


@pytest.mark.slow
@settings(max_examples=many(2000))
@given(regular_files())
def test_the_same_system_both_ways_at_length(text):
    check_both_ways(text)


def check_both_ways(text, demand=True):
    """Read both ways, and run both; with `demand`, only files that give populations count."""
    try:
        system = read(text, False)
    except ReadError as error:
        with pytest.raises(ReadError) as caught:
            read(text, True)
        assert str(caught.value) == str(error)
        return
    populations = read(text, True)
    if not isinstance(populations, snp.PopulationSystem):
        assume(not demand)
        assert populations == system
        return
    check_same(populations, system)
    runs = [reference.run(x, max_steps=8) for x in (system, quietly(populations.expand))]
    names = [[n.name for n in x.neurons] for x in (system, quietly(populations.expand))]
    for first, second in zip(*(run.configurations for run in runs), strict=True):
        assert dict(zip(names[0], first.spikes, strict=True)) == dict(
            zip(names[1], second.spikes, strict=True)
        )


PIECES = [
    *("", "i", "j", "k", "9", "0", "-1", "{", "}", "/2", "//0", "^9", "*k", "%0", "x", "tap", "<>"),
    *("<", ",", ";", "relay{1}", "relay{k,k}", "{k}", "a", "#", '"a*"', "99999999999999999999"),
    *(" : 1<=k<=9", " : 1<=j<=k", "+=", "[a --> #]'tap;", "@mout = tap;", "call main();"),
]


def check_changed(text, data):
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 4)))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    check_both_ways(text, demand=False)


@given(st.data())
def test_changed_families_are_the_same_both_ways(data):
    check_changed(main(RING), data)


@pytest.mark.slow
@settings(max_examples=many(2000))
@given(st.data())
def test_changed_families_are_the_same_both_ways_at_length(data):
    check_changed(main(RING), data)


# Files as their authors wrote them, and large ones


def sample(name, families):
    return read((SHARED / "samples" / "plingua" / name).read_text(), families)


@needs_shared
def test_a_sorting_network_read_both_ways_gives_the_same_run():
    populations, system = (sample("sorting_network_6.pli", x) for x in (True, False))
    check_same(populations, system)
    solution = snp.run(populations)
    assert solution.halted and solution.steps == 7
    assert solution.spikes_of("o").tolist() == [6, 5, 4, 3, 2, 1]
    assert [solution.spikes_of(f"o{{{i}}}") for i in range(1, 7)] == [6, 5, 4, 3, 2, 1]
    computation = reference.run(system, max_steps=20)
    assert solution.configurations.tolist() == [list(c.spikes) for c in computation.configurations]


@needs_shared
def test_a_sample_of_a_million_rules_is_never_listed():
    system = sample("sorting_network_1024.pli", None)
    assert isinstance(system, snp.PopulationSystem)
    assert system.num_neurons == 3_072 and system.num_synapses == 1_573_376
    first, second = (p.description for p in system.projections)
    assert first == graphs.AllToAll() and isinstance(second, graphs.Intervals)
    assert [len(p.templates) for p in system.populations.values()] == [1, 2, 0]
    assert system.position_of("m{1024}") == 2_047


@pytest.mark.slow
def test_a_million_neurons():
    system = read(main(RING.replace("9", "1000000").replace(" :: k-1", " :: k%5")), None)
    assert isinstance(system, snp.PopulationSystem)
    assert system.num_neurons == 1_000_001 and system.num_synapses == 1_500_000
    assert system.name_of(999_999) == "relay{1000000}"
    assert system.position_of("relay{77}") == 76
