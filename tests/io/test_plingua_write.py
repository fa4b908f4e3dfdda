"""The writer of P-Lingua: what is written is read again, and what the language cannot hold is
told."""

import re
import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import ALL, SpikingSystem, graphs
from snpjax.io import ReadError, ReadWarning
from snpjax.io.losses import Losses
from snpjax.io.plingua import read_plingua, write_plingua
from snpjax.io.plingua.literals import Literals
from snpjax.io.plingua.scan import comments
from snpjax.io.source import Source
from tests.io.tables.holdable import in_plingua
from tests.io.tables.mistakes import findings, quietly, read_silently
from tests.io.test_plingua import GROWTH, RING
from tests.io.test_plingua_families import check_same
from tests.support.helpers import PAIR, SHARED, many, needs_shared


def read(text, level="extended", families=False):
    return quietly(read_plingua, Source("f.pli", text), level, families=families)


def written(system):
    """The text, and what is lost."""
    losses = Losses("P-Lingua 4")
    return write_plingua(system, losses), losses.items


def check_reads_back(system):
    text, losses = written(system)
    assert losses == []
    assert read(text, system.level) == system


@pytest.mark.parametrize("text", [RING, GROWTH])
def test_own_files_read_back(text):
    check_reads_back(read(text))


def test_repeated_labels_and_wide_lists():
    body = "@mu = x : 1<=i<=2; @mu = y, z{i,3} : 1<=i<=60; @ms(x) = a*5; @marcs = (x, y{1});"
    body = body.replace("y,", "y{i},").replace("y{1}", "z{1,3}")
    system = read(f"@model<spiking_psystems>\ndef main() {{ {body} @mout = x; @min = x; }}")
    assert [n.name for n in system.neurons[:2]] == ["x", "x#2"]
    check_reads_back(system)
    text, _ = written(system)
    assert text.count("@mu") == 1 and max(map(len, text.splitlines())) <= 100


def test_hints_of_the_output_are_notes():
    text = PAIR.replace("@mout", "@moutres_natural(2,false,TRUE); @moutres_binary; @mout")
    system = read(text)
    natural = {"form": "natural", "k": 2, "strong": False, "alternate": True}
    assert system.notes == {"output": [natural, {"form": "binary"}]}
    assert read(written(system)[0]).notes == system.notes
    assert "@moutres" not in written(SpikingSystem([], notes={"output": [{"form": "x"}, 3]}))[0]


def test_names_of_labels_and_families_that_are_no_labels():
    growing = SpikingSystem(
        [snp.Neuron("p 1", 2, ['[a^2] -> []_"né" || []_b']), snp.Neuron("in 2")],
        [("p 1", "in 2")],
        rules_by_label={"né": ["a -> a", '[a] -> []_"né" / []_"b u"']},
        dictionary=[("né", "in 2"), ("in 2", "b")],
        output="né",
        input={"in 2": (0, 1)},
    )
    text, losses = written(growing)
    assert not losses and "@mout = n;" in text and read(text) == growing
    repeated = text.replace("@mu = p_1, in_2;", "@mu = p_1, in_2, in_2;")
    with pytest.warns(ReadWarning, match="given again"):
        again = read_plingua(Source("f", repeated), "extended")
    assert [n.name for n in again.neurons] == ["p 1", "in 2", "in 2#2"]
    families = snp.PopulationSystem(
        [
            snp.Population("große", 4, 1, ["a -> a"], [1, 2, 3, 4]),
            snp.Population("é", 1, 0, (), np.zeros((1, 0), int)),
        ],
        [snp.Projection("große", "é")],
        input={"é": [1]},
        output=["große{2}", "é"],
    )
    text, losses = written(families)
    assert not losses and "gro_e{i}" in text and read(text) == families.expand()
    of_families = read_plingua(Source("f", text), "extended", families=True)
    assert isinstance(of_families, snp.PopulationSystem)
    assert of_families.expand() == families.expand() and of_families.output == families.output


def test_labels_of_a_family_differ_from_those_of_other_populations():
    single = np.zeros((1, 0), int)
    families = snp.PopulationSystem(
        [
            snp.Population("große", 2, 1, ["a -> a"], [1, 2]),
            snp.Population("gro_e{1}", 1, 0, (), single),
        ],
        [snp.Projection("große", "gro_e{1}")],
    )
    text, losses = written(families)
    assert not losses and "gro_e_2{i}" in text
    assert read_plingua(Source("f", text), "extended") == families.expand()


def test_names_that_a_file_does_not_keep_are_noted():
    losses = Losses("P-Lingua 4")
    text = write_plingua(SpikingSystem([snp.Neuron("x\ud800"), snp.Neuron("p 1")]), losses)
    assert losses.renamed == [r"name 'x\ud800' of a neuron (written as 'x')"]
    assert list(read(text).names) == ["x", "p 1"]
    populations = [snp.Population("p", 2, 1), snp.Population("q", 2, 1, (), [1, 2])]
    losses = Losses("P-Lingua 4")
    text = write_plingua(snp.PopulationSystem(populations), losses)
    assert losses.renamed == ["the names p[0], ... of a population (read as p{0}, ...)"]
    assert list(read(text).names) == ["p{0}", "p{1}", "q{1}", "q{2}"]


def test_a_table_may_not_give_a_name_that_a_repeated_label_makes():
    text, _ = written(SpikingSystem([snp.Neuron("p 1"), snp.Neuron("p 1#2")]))
    repeated = text.replace("@mu = p_1, ", "@mu = p_1, p_1, ")
    assert repeated != text
    with pytest.raises(ReadError, match=r"f:3:4: table of names: .*'p 1#2'"):
        read_plingua(Source("f", repeated), "extended")


TABLE = '/* names that are not labels of P-Lingua:\n   p_1 = "p 1" */\n'
TABLE_OF_Q = TABLE.replace("p_1", "q").replace("p 1", "q 1")
NEURONS = "@model<spiking_psystems>\n{}def main()\n{{\n  @mu = p_1, q;\n}}\n"


@pytest.mark.parametrize(
    ("comment", "names"),
    [
        (TABLE, "p 1"),
        (TABLE.replace("Lingua:", "Lingua: \t"), "p 1"),
        (TABLE.replace("Lingua:\n  ", "Lingua:"), "p 1"),
        (TABLE.replace("Lingua:", "Lingua:\n"), "p 1"),
        (TABLE.replace("/* ", "/*\n"), "p 1"),
        (f"/* the old ones:\n{TABLE_OF_Q}{TABLE}", "p 1"),  # a comment ends at the first */
        # Only a comment that begins with the head is a table.
        (f"/* {TABLE}", "p_1"),
        (f"/* the old {TABLE[3:]}", "p_1"),
        (TABLE.replace("/*", "/**"), "p_1"),
        (TABLE.replace("Lingua:", "Lingua"), "p_1"),
    ],
)
def test_which_comments_are_tables(comment, names):
    assert list(read_silently("plingua", NEURONS.format(comment)).names) == [names, "q"]


def test_a_neuron_of_a_population_has_no_name_of_its_own():
    family = NEURONS.replace("p_1, q;", "q{{i}} : 1<=i<=3;")
    text = family.format(TABLE_OF_Q.replace(" */", '\n   q{2} = "two"\n   p{2} = "p 2" */'))
    assert "unknown label 'p{2}'" in findings("plingua", text, of="warnings")["5:4"]
    assert list(read(text, families=False).names) == ["q 1{1}", "two", "q 1{3}"]
    with pytest.warns(ReadWarning) as caught:
        found = read_plingua(Source("f", text), "extended", families=True)
    assert list(found.populations) == ["q 1"]
    first, second = caught[0].message.diagnostics
    assert "'q{2}' is one neuron of a population, which cannot have its own name (" in first.message
    assert "unknown label 'p{2}'" in second.message


def test_quoted_texts_contain_no_comments():
    text = '"/* x */" /* "a" */ "\n/*b*/ "/*" /*/ c */ "/* d'
    assert [comment[0] for comment in comments(text)] == ['/* "a" */', "/*b*/", "/*/ c */", "/* d"]


def test_names_that_are_no_labels():
    names = ["env_{out}", "env_out", "p 1", "2b", "*/ x", "é", "05", "in{1}", "7", "in{01}", "a"]
    system = SpikingSystem([snp.Neuron(name) for name in names], output="env_{out}")
    text, losses = written(system)
    assert losses == []
    again = read(text)
    expected = ["env_out_2", "env_out", "p_1", "n2b", "x", "n", "n05", "in{1}", "7", "in_01", "a"]
    assert f"@mu = {', '.join(expected)};" in text and "@mout = env_out_2;" in text
    assert again == system
    table = dict(re.findall(r"^   (\w+) = (.*?)(?: \*/)?$", text, re.MULTILINE))
    assert table["env_out_2"] == '"env_{out}"' and table["n"] == r'"\u00e9"'
    assert len(table) == 7


def test_inputs_and_outputs_are_labels_where_neurons_divide():
    rules = ["[a]_x -> []_y || []_z"]
    system = SpikingSystem(
        [snp.Neuron("x", 1, rules), snp.Neuron("x#2", 1, rules, "x")],
        output=("z", "x"),
        input={"y": (1, 2)},
    )
    text, losses = written(system)
    assert not losses and "@mout = z, x;" in text and "@min = y;" in text
    with pytest.warns(ReadWarning, match="given again"):
        assert read_plingua(Source("f", text), "extended", families=False) == system
    with pytest.raises(ReadError, match="f:8:11: output: there is no label 'w'") as caught:
        read_plingua(Source("f", text.replace("= z, x", "= w")), "extended", families=False)
    assert len(caught.value.diagnostics) == 1


def test_labels_that_only_unborn_neurons_create():
    """Their rules are lost together: a file with some of them would not be read."""
    divides = {"x": ["[a]_x -> []_y || []_y"], "y": ["[a]_y -> []_p || []_p"]}
    system = snp.SpikingSystem([snp.Neuron("p")], rules_by_label=divides)
    text, losses = written(system)
    assert len(losses) == 2 and all("no neuron ever bears it" in loss for loss in losses)
    assert read(text).rules_by_label == {}


# Literal statements: as the grammar reads them, and so are mistakes


def outcome(text):
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            system = read_plingua(Source("f", text), "extended", families=False)
        return system, [str(warning.message) for warning in caught]
    except ReadError as error:
        return str(error)


def check_as_the_grammar(text):
    with mock.patch.object(Literals, "read", lambda self, start, end: None):
        expected = outcome(text)
    assert outcome(text) == expected


@given(in_plingua("extended"))
def test_literal_statements_are_read_as_by_the_grammar(system):
    text, _ = written(system)
    found = Literals(text).read(text.index("{") + 1, text.rindex("}"))
    assert (found is not None) == bool(system.neurons)
    check_as_the_grammar(text)


PIECES = [
    *("", " ", "\n", "/* */", "/* ; ", "{", "}", "(", ")", ";", ",", '"', "'", "[", "]", "-->"),
    *("a", "A", "a*2", "_a", "#", "::", ":", ": 1<=i<=2", "=", "+=", "@mu", "@ms", "@marcs"),
    *("@MS", "in{1}", "in{ 2 , 3}", "{1}", "x", "01", "1x", "0", "-1", "é", "let", "def"),
]


@settings(max_examples=150)
@given(st.data())
def test_changed_texts_are_read_as_by_the_grammar(data):
    text = data.draw(st.sampled_from([PAIR, GROWTH, RING, ODD]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 6)))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    check_as_the_grammar(text)


ODD = """@model<spiking_psystems>
def main()
{
  /* every spelling */ @Mu += p , in{ 2 , -3}, /* last */ 7 ;
  @mS ( p )=a * 3; @ms(p) += a; @ms(in{2,-3}) = a*0;
  @MARCS += ( p,7 ) , /* one */ /*;*/
    (7 , in{2,-3});
  [ a * 2 --> a ] ' p "a(aa)+" :: 2 ; [a --> #]'7; [a-->a*1]'in{2,-3}:: 0;
}
"""


def test_odd_spellings_are_literal():
    start, end = ODD.index("{") + 1, ODD.rindex("}")
    literals = Literals(ODD)
    while (found := literals.read(start, end)) is not None:
        start = found[1]
    assert not ODD[start:end].strip()
    check_as_the_grammar(ODD)


@pytest.mark.parametrize(
    "body",
    [
        "@mu = x; @marcs = (x,y), (z,x);",
        "@mu = x, x; @marcs = (x,x), (x,x);",
        '@mu = x; [a --> a]\'x "a"; [a --> a]\'x "b"; [a*3 --> a]\'x "a";',
        "@mu = x; [a*3 --> #]'x :: 2; [a*3 --> #]'x :: 2; [a*0 --> a*5]'x;",
        "@mu = x; [a*9999999 --> a]'x; [a --> a]'y; [a --> a]'y;",
        "@mu = x; @ms(x) = a; @ms(y) = a; @ms(x) = a*5 @mout = x;",
        "call f(); call f(); } def f() { @mu = x; [a --> a]'x; @ms(x) += a;",
        "{ @mu = x; [a --> a]'x; } : 1<=i<=2;",
    ],
)
def test_mistakes_in_literal_statements_are_told_as_by_the_grammar(body):
    check_as_the_grammar(f"@model<spiking_psystems>\ndef main() {{\n{body}\n}}\n")


def test_long_failures_take_linear_time():
    body = (
        "@mu = x; [a --> a]'x"
        + 200_000 * " "
        + "/* "
        + 200_000 * "* "
        + "*/ @mu = "
        + "y" * 200_000
    )
    assert "expected ';'" in str(outcome(f"@model<spiking_psystems>\ndef main() {{\n{body}\n}}\n"))


# Populations


def populations():
    place = np.arange(8)
    forget = [(1, 7 - place), (9 - place, 8)]
    return snp.PopulationSystem(
        [
            snp.Population("in", 8, 8 - place, ["a+/a -> a"], place + 1),
            snp.Population(
                "s",
                8,
                0,
                [snp.RuleTemplate(None, 8 - place, 1), snp.RuleTemplate(forget, ALL)],
                place,
            ),
            snp.Population("o", 8, place % 3, ["a(aa)*/a -> a; 2"], place + 5),
            snp.Population("tap", 1, 4, ["a -> a", "a^2 -> lambda"], np.zeros((1, 0), int)),
        ],
        [
            snp.Projection("in", "s"),
            snp.Projection("s", "o", graphs.Intervals(place, np.full(8, 8))),
            snp.Projection("o", "tap"),
            snp.Projection("o", "o", graphs.AllToAll(self_edges=False)),
            snp.Projection("in", "in", graphs.OneToOne()),
            snp.Projection("s", "in", graphs.Pairs(place[::2], place[::2] + 1)),
        ],
        input={"in{3}": [0, 2, 1]},
        output=["tap", "o", "s{0}"],
    )


def test_populations_are_written_with_ranges():
    system = populations()
    text, losses = written(system)
    assert losses == []
    assert (
        text
        == """@model<spiking_psystems>
def main()
{
  @mu = in{i} : 1<=i<=8;
  @mu = s{i} : 0<=i<=7;
  @mu = o{i} : 5<=i<=12;
  @mu = tap;
  @ms(in{i}) = a*(9-i) : 1<=i<=8;
  @ms(o{6}) = a;
  @ms(o{7}) = a*2;
  @ms(o{9}) = a;
  @ms(o{10}) = a*2;
  @ms(o{12}) = a;
  @ms(tap) = a*4;
  @marcs = (in{i}, s{j}) : 0<=j<=7, 1<=i<=8;
  @marcs = (s{i}, o{j}) : i+5<=j<=12, 0<=i<=7;
  @marcs = (o{i}, tap) : 5<=i<=12;
  @marcs = (o{i}, o{j}) : 5<=j<=12, 5<=i<=12, i<>j;
  @marcs = (in{i}, in{i}) : 1<=i<=8;
  @marcs = (s{2*i}, in{2*i+2}) : 0<=i<=3;
  @min = in{3};
  @minst = (2, 2), (3, 1);
  @mout = tap;
  @mout = o{i} : 5<=i<=12;
  @mout = s{0};
  [a --> a]'in{i} "a+" : 1<=i<=8;
  [a*(8-i) --> a]'s{i} : 0<=i<=7;
  [a*j --> #]'s{i} : 1<=j<=7-i, 0<=i<=6;
  [a*j --> #]'s{i} : 9-i<=j<=8, 1<=i<=7;
  [a --> a]'o{i} "a(aa)*" :: 2 : 5<=i<=12;
  [a --> a]'tap;
  [a*2 --> #]'tap;
}
"""
    )
    check_same(system, read(text))
    again = read(text, families=True)
    assert isinstance(again, snp.PopulationSystem)
    check_same(again, read(text))
    assert again.input.keys() == {"in{3}"} and again.output == system.output


@st.composite
def population_systems(draw):
    size = draw(st.integers(1, 6))
    first = draw(st.integers(0, 2))

    def numbers(least, most):
        if draw(st.booleans()):
            return draw(st.integers(least, most))
        return draw(st.lists(st.integers(least, most), min_size=size, max_size=size).map(np.array))

    low = numbers(1, 3)
    templates = [
        snp.RuleTemplate(None, numbers(7, 9), numbers(1, 2), numbers(0, 1)),
        snp.RuleTemplate([(low, low + numbers(-1, 2), numbers(1, 2))], numbers(1, 2), 1),
        snp.RuleTemplate([(numbers(10, 12), numbers(9, 16), numbers(1, 3))], ALL),
        "a{20,}/a -> a",
    ]
    chosen = draw(st.lists(st.sampled_from(templates), unique_by=id))
    index = np.arange(first, first + size)
    many = st.lists(st.integers(0, size - 1), min_size=size, max_size=size).map(np.array)
    pairs = draw(st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))))
    start = draw(many)
    graph = draw(
        st.sampled_from(
            [
                graphs.AllToAll(),
                graphs.OneToOne(),
                graphs.Intervals(start, np.minimum(start + draw(many), size)),
                graphs.Intervals(start, np.minimum(start + 2, size), by="target"),
                graphs.Pairs(*np.array(sorted(pairs), int).reshape(-1, 2).T),
            ]
        )
    )
    return snp.PopulationSystem(
        [
            snp.Population("x", size, numbers(0, 3), chosen, draw(st.sampled_from([index, None]))),
            snp.Population("y", size, 0, [], index),
            snp.Population("z", 1, 1, ["a -> a"], np.zeros((1, 0), int)),
        ],
        [snp.Projection("x", "y", graph), snp.Projection("z", "x"), snp.Projection("y", "z")],
        output=draw(st.sampled_from(["y", "z", f"y{{{first}}}"])),
    )


def check_populations_read_back(system):
    text, losses = written(system)
    assert losses == []
    (x, *others) = system.populations.values()
    if x.indices is None:  # the language has no names x[0], x[1], ...
        x = snp.Population(x.name, x.size, x.spikes, x.rules, np.arange(x.size))
        system = snp.PopulationSystem([x, *others], system.projections, output=system.output)
    check_same(system, read(text))


@given(population_systems())
def test_populations_read_back(system):
    check_populations_read_back(system)


@pytest.mark.slow
@settings(max_examples=many(2000))
@given(population_systems())
def test_two_thousand_systems_of_populations_read_back(system):
    check_populations_read_back(system)


def test_populations_that_have_no_ranges_are_listed():
    system = snp.PopulationSystem(
        [
            snp.Population("x", 3, [1, 0, 2], ["a -> a"], [7, 2, 4]),
            snp.Population("y", 2, 0, [], [[1, 2], [2, 1]]),
        ],
        [snp.Projection("x", "y")],
    )
    text, losses = written(system)
    assert losses == [] and "@mu = x{7}, x{2}, x{4}, y{1,2}, y{2,1};" in text
    check_same(system, read(text))


def test_what_is_lost_of_populations():
    system = snp.PopulationSystem(
        [
            snp.Population("x", 3, [1, -1, -2], [snp.RuleTemplate([(2, None)], ALL)]),
            snp.Population("p q", 2, 0),
        ],
        [
            snp.Projection("x", "x", graphs.AllToAll(3)),
            snp.Projection("x", "p q", graphs.Pairs([0, 1], [0, 1], [1, 2])),
        ],
        input={"x": [1]},
        signed=True,
    )
    text, losses = written(system)
    assert [re.sub(r" \(.*\)$", "", item) for item in losses] == [
        "the declaration that counts may be negative",
        "the negative spikes of 2 neurons of 'x'",
        "weight 3 of projection 'x' -> 'x'",
        "the weights of 1 synapse of projection 'x' -> 'p q'",
        "the input of neuron 'x[1]'",
        "the input of neuron 'x[2]'",
        "population 'x', rule 1, {2..}/all -> lambda: it has no end",
    ]
    assert '   p_q = "p q"' in text
    assert [n.name for n in read(text).neurons][2:4] == ["x{2}", "p q{0}"]


@needs_shared
@pytest.mark.parametrize("name", ["sorting_network_6.pli", "sorting_network_1024.pli"])
def test_samples_keep_their_families(name):
    source = Source(name, (SHARED / "samples" / "plingua" / name).read_text())
    system = quietly(read_plingua, source, "extended", families=True)
    text, losses = written(system)
    assert losses == [] and len(text) < 1_000
    again = read(text, families=True)
    assert isinstance(again, snp.PopulationSystem) and again.num_synapses == system.num_synapses
    for name, population in system.populations.items():
        other = again.populations[name]
        assert np.array_equal(other.indices, population.indices)
        assert np.array_equal(other.spikes, population.spikes)
    if system.num_neurons < 100:
        check_same(again, system.expand())


def test_rules_of_populations_that_are_lost():
    far = snp.RuleTemplate([(5, np.array([9, 10**9]))], 1, 1)
    text, losses = written(snp.PopulationSystem([snp.Population("x", 2, 0, [far])]))
    rule = "population 'x', rule 1, {5..1000000000}/a -> a"
    assert losses == [f"{rule}: its guard has no text (left out)"]
    assert [len(neuron.rules) for neuron in read(text).neurons] == [1, 0]
    targets = {"p": snp.graphs.AllToAll(self_edges=False)}
    change = snp.PlasticityTemplate("a+", 1, "+-", 2, targets)
    text, losses = written(snp.PopulationSystem([snp.Population("p", 3, 1, [change])]))
    rule = "population 'p', rule 1, the plasticity rule {1..}/a -> +-2 {p}"
    assert losses == [f"{rule} (left out)"] and "-->" not in text
