"""WebSnapse `.xmp` and the XML of sn-p-factory: both dialects. What holds for all formats is in
test_conformance.py, and files of other authors are in test_samples.py."""

import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import Guard, Neuron, Rule, SpikingSystem
from snpjax.testing import reference
from tests.io.tables.mistakes import findings, quietly, read_silently, read_text
from tests.io.tables.pairs import PAIRS
from tests.support.helpers import many


BOTH = ("xmp", "factory-xml")


def parse(text, format="xmp"):
    return read_silently(format, text)


def content(*neurons):
    """A file with each neuron on its own line, from line 2 on."""
    return "<content>\n" + "\n".join(neurons) + "\n</content>"


def neuron(name, inside="", rules=""):
    rules = rules and f"<rules>{rules.replace('>', '&gt;')}</rules>"
    return f"<{name}><id>{name}</id>{inside}{rules}</{name}>"


def rule_of(text, format="xmp"):
    (rule,) = parse(content(neuron("x", rules=text)), format).rules
    return rule


# What is read


def test_pair():
    system = parse(PAIRS["xmp"])
    assert dict(system.notes) == {
        "positions": {"p": [0, 0], "q": [150, -0.5], "o": [300, 0]},
        "outputs": {"o": [["q", 1]]},
    }
    spikes = [c.spikes for c in reference.run(system, max_steps=10).configurations]
    assert spikes == [(2, 1), (1, 0), (1, 1), (1, 0), (0, 0)]


def test_starting_spikes_say_the_dialect(tmp_path):
    """Without an initial content besides the current one, a file is one of sn-p-factory."""
    text = content(neuron("x", "<{0}>4</{0}>", "3a+/a->a;0"))
    for name in ("a.xmp", "a.xml"):
        path = tmp_path / name
        path.write_text(text.replace("{0}", "startingSpikes"))
        assert snp.read(path).rules == (Rule("a{3,}", 1, 1),)
        assert snp.read(path, format="factory-xml").rules == (Rule("(aaa)+", 1, 1),)
        path.write_text(text.replace("{0}", "spikes"))
        assert snp.read(path).rules == (Rule("(aaa)+", 1, 1),)
        assert snp.read(path, format="xmp").rules == (Rule("a{3,}", 1, 1),)
        assert snp.read(path).neurons[0].spikes == 4


@pytest.mark.parametrize(
    ("text", "websnapse", "factory"),
    [
        ("a", "a", "a"),
        ("5a", "a{5}", "a{5}"),
        ("aaa", "a{3}", "a{3}"),
        ("a+", "a+", "a+"),
        ("a*", "a*", "a*"),
        ("3a+", "a{3,}", "(aaa)+"),
        ("3a*", "a{2,}", "(aaa)*"),
        ("aaa+", "a{3,}", "a{3,}"),
        ("a(2a)*", "a(aa)*", "a(aa)*"),
        ("a(2a)+", "a(aa)+", "a(aa)+"),
        ("4a(3a)*", "a{4}(aaa)*", "a{4}(aaa)*"),
        ("4a(3a)+", "a{7}(aaa)*", "a{7}(aaa)*"),
        ("(2a)*", "(aa)*", "(aa)*"),
        ("((2a)*(3a)*)+", "((aa)*(aaa)*)+", "((aa)*(aaa)*)+"),
        ("(2a+)*", "(a{2,})*", "(aa)*"),
        ("a|3a", "a|aaa", "a|aaa"),
        ("2a(3a*|a)", "aa(a{2,}|a)", "aa((aaa)*|a)"),
        ("4194302a", "a{4194302}", "a{4194302}"),
    ],
)
def test_guards(text, websnapse, factory):
    for format, guard in (("xmp", websnapse), ("factory-xml", factory)):
        assert rule_of(f"{text}/a->a;0", format) == Rule(guard, 1, 1)


def test_a_group_of_a_count_repeats_in_both_dialects():
    for format in BOTH:
        assert [k in rule_of("(3a)*/a->a;0", format).guard for k in range(7)] == [
            True, False, False, True, False, False, True
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("3a/2a->a;4", Rule("aaa", 2, 1, 4)),
        ("3a/2a->12a;0", Rule("aaa", 2, 12)),
        ("3a/2a->0;0", Rule("aaa", 2)),
        ("2a->a;0", Rule("aa", 2, 1)),
        ("aa/aa->aa;01", Rule("aa", 2, 2, 1)),
        ("2a / a -> a ; 1", Rule("aa", 1, 1, 1)),
        ("a+/99999999a->a;0", Rule("a+", 99999999, 1)),
    ],
)
def test_rules(text, rule):
    assert rule_of(text) == rule_of(text, "factory-xml") == rule


def test_rules_are_separated_by_blanks():
    text = "\n\ta/a->a;0\t 2a/a -> a; 1\r\n3a->0;0  "
    rules = parse(content(neuron("x", rules=text))).rules
    assert rules == (Rule("a", 1, 1), Rule("aa", 1, 1, 1), Rule("aaa", 3))
    assert parse(content("<x><id>x</id><rules> </rules></x>")).rules == ()


def test_weights_and_defaults():
    text = content(
        neuron("x", "<out>y</out><out>z</out><outWeights><z>3.0</z></outWeights>"),
        neuron("y", "<startingSpikes>2.0</startingSpikes><spikes>7</spikes><out/><outWeights/>"),
        neuron("z", "<spikes>+4.00</spikes>"),
    )
    for format in BOTH:
        assert parse(text, format) == SpikingSystem(
            [Neuron("x"), Neuron("y", 2), Neuron("z", 4)], [("x", "y"), ("x", "z", 3)]
        )
    assert parse("<content/>") == SpikingSystem([])


def test_the_id_is_authoritative():
    text = content(
        "<n1><id> 1 </id><out>n 2</out><outWeights><n2>3</n2></outWeights></n1>",
        "<n2><id>n 2</id><out>1</out></n2>",
    )
    assert parse(text) == SpikingSystem(
        [Neuron("1"), Neuron("n 2")], [("1", "n 2", 3), ("n 2", "1")]
    )


def test_weights_without_out_are_synapses_of_the_factory():
    text = content(neuron("x", "<outWeights><y>2</y></outWeights>"), neuron("y"))
    assert parse(text, "factory-xml").synapses == (("x", "y", 2),)


def test_the_declared_encoding():
    text = '<?xml version="1.0" encoding="latin-1"?>\n' + content(neuron("\u00e9"))
    assert parse(text.replace("latin-1", "utf-8")) == SpikingSystem([Neuron("\u00e9")])
    assert parse(text.replace("\u00e9", "e")) == SpikingSystem([Neuron("e")])


def test_escapes_and_sections():
    text = content(
        "<x><id>a&amp;b<![CDATA[<c>]]>&#233;</id><!-- none --><rules>a/a->a;0</rules></x>"
    )
    assert parse(text) == SpikingSystem([Neuron("a&b<c>\u00e9", 0, ["a -> a"])])


def source_node(name, bits, *targets):
    out = "".join(f"<out>{target}</out>" for target, _ in targets)
    weights = "".join(f"<{target}>{weight}</{target}>" for target, weight in targets)
    return neuron(
        name,
        f"<isInput>true</isInput><bitstring>{bits}</bitstring>{out}"
        f"<outWeights>{weights}</outWeights>",
    )


OUTPUT = "<isOutput>true</isOutput>"


def test_numbers_of_a_train():
    nodes = (source_node("i", "1, 0,2.0,12", ("x", 1)), source_node("k", " ", ("x", 1)))
    assert parse(content(*nodes, neuron("x"))).input == {"x": (1, 0, 2, 12)}
    ignored = neuron("o", OUTPUT + "<bitstring>1,0</bitstring>")
    assert parse(content(neuron("x", "<out>o</out>"), ignored)).output == ("x",)


def test_findings_are_bounded(monkeypatch):
    monkeypatch.setattr("snpjax.io.source.MAX_FINDINGS", 100)
    found = findings("xmp", content(*["<x/>"] * 1000))
    assert len(found) == 100 and list(found)[-1] == "101:1"
    weights = "".join(f"<n{i}>1</n{i}>" for i in range(1000))
    text = content(neuron("x", f"<outWeights>{weights}</outWeights>"))
    assert len(findings("xmp", text, of="warnings")) == 100


def test_hints_of_long_names_take_no_time():
    long = "ab" * 500
    text = content(
        *(neuron(f"{long[:-2]}{i}") for i in range(10)), neuron("x", f"<out>{long}</out>")
    )
    assert "there is no neuron" in findings("xmp", text)["12:19"]


# Random systems


@st.composite
def guards(draw, format):
    """The text of a guard, and the guard by the table of the specification."""
    k, m = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    count = "a" if k == 1 else f"{k}a"
    group = "(a)" if m == 1 else f"({m}a)"
    factory = format == "factory-xml"
    return draw(
        st.sampled_from(
            [
                (count, Guard.exactly(k)),
                ("a" * k, Guard.exactly(k)),
                (count + "+", Guard.exactly(k).repeat(1) if factory else Guard.interval(k)),
                (count + "*", Guard.exactly(k).star() if factory else Guard.interval(k - 1)),
                (count + group + "*", Guard.from_normal_form((), k, m, (k,))),
                (count + group + "+", Guard.from_normal_form((), k + m, m, (k + m,))),
                (group + "*", Guard.from_normal_form((), 0, m, (0,))),
            ]
        )
    )


@st.composite
def drawings(draw, format):
    """The text of a file and the system it describes."""
    names = [f"n{i}-{draw(st.text('ab_', max_size=3))}" for i in range(draw(st.integers(0, 5)))]
    trains = draw(st.dictionaries(st.sampled_from(names or [""]), st.lists(st.integers(0, 12))))
    trains = {name: train for name, train in trains.items() if name}
    outputs = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    nodes, neurons, synapses = [], [], []
    for name in names:
        rules, texts = [], []
        for _ in range(draw(st.integers(0, 3))):
            consume, produce = draw(st.integers(1, 3)), draw(st.integers(0, 3))
            delay = draw(st.integers(0, 2)) if produce else 0
            text, guard = draw(guards(format))
            sent = f"{produce}a" if produce > 1 else "a" if produce else "0"
            texts.append(f"{text}/{consume if consume > 1 else ''}a->{sent};{delay}")
            rules.append(Rule(guard, consume, produce, delay))
        spikes = draw(st.integers(0, 9))
        neurons.append(Neuron(name, spikes, rules))
        targets = draw(st.lists(st.sampled_from(names), unique=True))
        weights = {target: draw(st.integers(1, 3)) for target in targets}
        synapses += [(name, target, weight) for target, weight in weights.items()]
        written = {t: w for t, w in weights.items() if w != 1 or draw(st.booleans())}
        weights_text = "".join(f"<{t}>{w}</{t}>" for t, w in written.items())
        out = "".join(f"<out>{t}</out>" for t in (*targets, *(["o"] if name in outputs else [])))
        start = "startingSpikes" if format == "xmp" else "spikes"
        inside = f"<{start}>{spikes}</{start}>{out}<outWeights>{weights_text}</outWeights>"
        nodes.append(neuron(name, inside, " ".join(texts)))
    for name, train in trains.items():
        nodes.append(source_node(f"in-{name}", ",".join(map(str, train)), (name, 1)))
    system = quietly(
        SpikingSystem,
        neurons,
        synapses,
        input=trains,
        output=[name for name in names if name in outputs],
    )
    return content(*nodes, neuron("o", OUTPUT)), system


def check(format, drawing):
    text, system = drawing
    assert quietly(read_text, format, text) == system


@pytest.mark.parametrize("format", BOTH)
@given(data=st.data())
def test_random_systems(format, data):
    check(format, data.draw(drawings(format)))


@pytest.mark.slow
@pytest.mark.parametrize("format", BOTH)
@settings(max_examples=many(2000))
@given(data=st.data())
def test_many_random_systems(format, data):
    check(format, data.draw(drawings(format)))
