"""The reader of P-Lingua: the meaning of every statement."""

import re
import sys
import warnings

import pytest
from hypothesis import given, strategies as st

from snpjax import BuddingRule, DivisionRule, ModelWarning, PopulationSystem, Rule, Synapse
from snpjax.io import ReadError
from snpjax.io.plingua import read_plingua
from snpjax.io.source import Source
from tests.io.tables.mistakes import findings, quietly, read_silently, read_text
from tests.support.helpers import PAIR, sample_file


RING = """@model<spiking_psystems>
/* a ring of n relays; relay k delays by k-1 steps; the tap hears every second relay */
def main()
{
  call ring(4);
  @mout = tap;
}
def ring(n)
{
  let half = n//2;
  @mu = relay{k} : 1<=k<=n;
  @mu += tap;
  @ms(relay{1}) = a*(n-2);
  @marcs = (relay{k}, relay{k+1}) : 1<=k<n;
  @marcs += (relay{n}, relay{1});
  @marcs += (relay{2*k}, tap) : 1<=k<=half;
  [a --> a]'relay{k} "a(aa)*" :: k-1 : 1<=k<=n;
  [a*2 --> a]'relay{k} : 1<=k<=n, k<>3;
  { [a*s --> a]'tap; } : 1<=s<=2;
}
"""

GROWTH = """@model<spiking_psystems>
def main()
{
  @mu = src, cell, sink, probe;
  @ms(src) = a*4;  @ms(cell) = a*2;
  @marcs = (src,cell), (cell,sink);
  @mdict = (right,probe);
  @mout = sink;
  []'cell --> []'left || []'right "a{2}";
  []'left --> []'left / []'tail "a{2}";
  [a --> a]'src "a+";
  [a --> a]'right "a+" :: 1;
  [a --> a]'tail "a+";
  [a --> a]'sink "a+";
}
"""


def parse(text, level="extended"):
    return read_silently("plingua", text, level)


def quiet(text):
    return quietly(read_text, "plingua", text)


def errors(text, level="extended"):
    return findings("plingua", text, level)


def main(body):
    """A file whose `main` holds `body` from line 3, column 1 on."""
    return f"@model<spiking_psystems>\ndef main() {{\n{body}\n}}\n"


def counts(system):
    return {neuron.name: neuron.spikes for neuron in system.neurons}


def rules(system):
    return {neuron.name: [str(rule) for rule in neuron.rules] for neuron in system.neurons}


# What the language means


def test_pair():
    assert [neuron.rules for neuron in parse(PAIR).neurons] == [
        (Rule("a{2}", 1, 1, 1), Rule(None, 1)),
        (Rule(None, 1, 1), Rule(None, 2)),
    ]


def test_ring():
    system = parse(RING)
    assert counts(system) == {"relay{1}": 2, "relay{2}": 0, "relay{3}": 0, "relay{4}": 0, "tap": 0}
    assert [(s.source, s.target) for s in system.synapses] == [
        ("relay{1}", "relay{2}"),
        ("relay{2}", "relay{3}"),
        ("relay{3}", "relay{4}"),
        ("relay{4}", "relay{1}"),
        ("relay{2}", "tap"),
        ("relay{4}", "tap"),
    ]
    odd = [Rule("a(aa)*", 1, 1, delay) for delay in range(4)]
    two = Rule(None, 2, 1)
    assert [neuron.rules for neuron in system.neurons] == [
        (odd[0], two),
        (odd[1], two),
        (odd[2],),
        (odd[3], two),
        (Rule(None, 1, 1), two),
    ]
    assert system.output == ("tap",)


def test_division_and_budding():
    system = parse(GROWTH, "strict")
    assert not system.is_static
    assert system.neurons[1].rules == (DivisionRule("a{2}", "left", "right"),)
    assert system.rules_by_label == {
        "left": (BuddingRule("a{2}", "tail"),),
        "right": (Rule("a+", 1, 1, 1),),
        "tail": (Rule("a+", 1, 1),),
    }
    assert system.dictionary == (("right", "probe"),)


def test_budding_may_relabel_the_parent_when_extended():
    text = main("@mu = i; []'i --> []'x / []'y \"a\"; [a --> a]'x;")
    assert parse(text).neurons[0].rules == (BuddingRule("a", "y", "x"),)


def test_the_last_range_is_the_outermost_loop():
    system = parse(main("@mu = x{i,j} : 1<=j<=i, 1<=i<=2;"))
    assert [n.name for n in system.neurons] == ["x{1,1}", "x{2,1}", "x{2,2}"]
    system = parse(main("@mu = x{i,j} : 1<=i<=2, 0<j<3;"))
    assert [n.name for n in system.neurons] == ["x{1,1}", "x{2,1}", "x{1,2}", "x{2,2}"]
    assert "variable i is not defined" in errors(main("@mu = x{i,j} : 1<=i<=2, 1<=j<=i;"))["3:31"]


def test_filters_are_tested_innermost_and_empty_ranges_do_nothing():
    system = parse(main("@mu = x{i,j} : i<>j, 1<=i<=2, 1<=j<=2;\n@mu = y{i} : 3<=i<=2;"))
    assert [n.name for n in system.neurons] == ["x{2,1}", "x{1,2}"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2^3^2", 64),
        ("1+2*(5+2^3)", 27),
        ("10-2-3", 5),
        ("7//2*2", 6),
        ("3/2*4", 6),
        ("7%4", 3),
        ("0-2^2+9", 5),
        ("-2+5", 3),
        ("2*-3+7", 1),
        ("4^-1*8", 2),
        ("(1/3+2/3)*5", 5),
    ],
)
def test_expressions_are_exact(expression, value):
    assert counts(parse(main(f"@mu = x; @ms(x) = a*({expression});"))) == {"x": value}


def test_labels():
    text = main("let e = 3; @mu = in{1+1}, {e}, 5, {e+4}, X, x; @ms(in{2}) = a; @ms(3) = a*2;")
    assert counts(parse(text)) == {"in{2}": 1, "3": 2, "5": 0, "7": 0, "X": 0, "x": 0}


def test_keywords_and_modules_ignore_case():
    text = "@Model<Spiking_PSystems>\nDEF Main() { CALL Net(2); }\n"
    text += "Def NET(n) { @MU = x; @ms(x) = a*n; }"
    assert counts(parse(text)) == {"x": 2}


def test_contents_replace_or_add_and_reach_every_neuron_of_the_label():
    assert counts(parse(main("@ms(x) = a*7; @mu = x; @ms(x) = a*2; @ms(x) += a;"))) == {"x": 3}
    system = quiet(main("@mu = x, x; @ms(x) = a*2; [a --> a]'x;"))
    assert counts(system) == {"x": 2, "x#2": 2}
    assert [n.label for n in system.neurons] == ["x", "x"]
    assert rules(system) == {"x": ["a -> a"], "x#2": ["a -> a"]}


def test_input_trains():
    text = "@mu = x, y; @min = y; @minst = (9,9); @min = x; @minst = (1,1), (4,2), (5,1);"
    text += "@minst = (5,0);"
    assert parse(main(text)).input == {"x": (1, 0, 0, 2)}


def test_globals_are_seen_everywhere_and_parameters_only_in_their_module():
    text = "@model<spiking_psystems>\nlet n = 2;\nm = n*2;\ndef main() { @mu = x; call f(m); }\n"
    text += "def f(k) { @ms(x) = a*(k+n); }"
    assert counts(parse(text)) == {"x": 6}
    text = main("let n = 1; @mu = x; call f();\n}\ndef f() { @ms(x) = a*n;")
    assert "variable n is not defined" in errors(text)["5:22"]


def test_a_text_may_be_an_argument():
    text = main('@mu = x; call f("a+");\n}\ndef f(E) { [a --> a]\'x E;')
    assert parse(text).neurons[0].rules == (Rule("a+", 1, 1),)


_NUMBER_OF_GUARD = ["i", "2*i", "i+n", "n*i-1", "(i+1)*(n-1)", "7"]
_GUARD_PARTS = ["a{%s}", "(a{%s})*", "a{%s,}", "(aa){%s}", "a"]


@given(
    st.lists(
        st.tuples(st.sampled_from(_GUARD_PARTS), st.sampled_from(_NUMBER_OF_GUARD)), max_size=4
    ),
    st.integers(1, 3),
    st.booleans(),
)
def test_numbers_in_the_braces_of_a_guard_are_expressions(parts, n, is_argument):
    """A family is what is written by hand for each value."""

    def guard(values):
        return "a" + "|a".join(
            part % eval(number, {}, values) if "%" in part else part for part, number in parts
        )

    text = "a" + "|a".join(part % number if "%" in part else part for part, number in parts)
    rule = f'[a --> a]\'x{{i}} "{text}"'
    family = f"{rule} : 1<=i<=3;"
    if is_argument:
        family = f'{{ call add(i, "{text}"); }} : 1<=i<=3;'
    neurons = "@mu = x{i} : 1<=i<=3;\n"
    add = "def add(i, guard) { [a --> a]'x{i} guard; }"
    head = f"@model<spiking_psystems>\nn = {n};\ndef main() {{ {neurons}"
    each = [f'[a --> a]\'x{{{i}}} "{guard({"i": i, "n": n})}";' for i in (1, 2, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # of rules that are never used
        by_hand, listed, families = (
            read_plingua(Source("x.pli", f"{head}{rules} }} {add}"), "extended", families=families)
            for rules, families in ((" ".join(each), False), (family, False), (family, True))
        )
        if isinstance(families, PopulationSystem):
            families = families.expand()
    assert listed == families == by_hand


@pytest.mark.parametrize("power", ["*", "+", " * ", r"\ast", r" \ast ", "2"])
def test_braces_of_a_power_in_latex_are_no_expression(power):
    guard = f"a(aa)^{{{power}}}"
    calls = f'@mu = x; call f("{guard}"); [a --> a]\'x "{guard}";\n}}'
    text = f"{calls}\ndef f(E) {{ [a*2 --> a]'x E;"
    assert parse(main(text)).neurons[0].rules == (Rule(guard, 2, 1), Rule(guard, 1, 1))


def test_a_parameter_may_be_used_in_a_guard_only():
    text = '@model<spiking_psystems>\ndef main(n) { @mu = x; [a --> a]\'x "a{n}a*"; }'
    system = read_plingua(Source("x.pli", text), "extended", parameters={"n": 4})
    assert system.neurons[0].rules == (Rule("a{4,}", 1, 1),)


def test_recursion_ends_with_an_empty_range():
    text = main("call f(5);\n}\ndef f(n) { @mu = x{n}; call f(n-1) : 2<=i<=2, n<>1;")
    assert [n.name for n in parse(text).neurons] == ["x{5}", "x{4}", "x{3}", "x{2}", "x{1}"]
    assert "do not end" in errors(main("call main();"))["3:1"]


def test_hints_and_modes_that_are_off_are_accepted():
    text = "let n = 1; @mseq = 0; @masynch = n-1; @mu = x; @moutres_binary; @MOUTRES_Summatories;"
    text += "@moutres_natural(n+1,false,true); @moutres_natural;"
    system = parse(main(text))
    assert counts(system) == {"x": 0}
    assert system.notes["output"] == [
        {"form": "binary"},
        {"form": "summatories"},
        {"form": "natural", "k": 2, "strong": False, "alternate": True},
        {"form": "natural"},
    ]
    assert parse(main("@mu = x;")).notes == {}


def test_a_module_that_is_never_called_need_only_balance_its_braces():
    text = main("@mu = x;") + "def other(n) { @ms(in{i}) = i*n : }"
    (message,) = findings("plingua", text, of="warnings").items()
    assert message[0] == "5:29" and "in the module other, which is never called: exp" in message[1]
    assert counts(quiet(text)) == {"x": 0}
    assert counts(parse(main("@mu = x;") + "def other(n) { @ms(in{i}) = a*i; }")) == {"x": 0}
    assert "expected '}'" in errors(main("@mu = x;") + "def other(n) { {")["5:17"]


def test_triangular_families():
    text = "@mu = m{i} : 1<=i<=100; @marcs = (m{i}, m{j}) : i<j<=100, 1<=i<=100;"
    system = parse(main(text))
    assert len(system.synapses) == 100 * 99 // 2
    assert system.synapses[0] == Synapse("m{1}", "m{2}")


# Places of mistakes


def test_a_repeated_label_is_told():
    text = main("@mu = x, x; @ms(x) = a*2; [a --> a]'x;")
    told = findings("plingua", text, of="warnings")
    assert "the label 'x' is given again, first at 3:7" in told["3:10"]


def test_warnings_have_places():
    text = main("@mu = x; [a --> a]'x; [a --> a]'x;\n [a*3 --> a]'x \"a\";")
    found = findings("plingua", text, of="warnings")
    assert list(found) == ["3:23", "4:2"] and "can never apply" in found["4:2"]
    first = found["3:23"]
    assert first.startswith("neuron 'x', rule 2 repeats a -> a") and first.endswith("first at 3:10")


def test_rules_of_labels_that_no_neuron_bears_are_warned_of():
    text = main("@mu = x, y;\n[a --> a]'z; [a --> a]'x;\n[a --> a]'q{i} : 1<=i<=9;")
    found = findings("plingua", text, of="warnings")
    assert quiet(text) == parse(main("@mu = x, y;\n[a --> a]'x;"))
    assert list(found) == ["4:11", "5:11"] and found["5:11"].endswith("; and 8 more like it")
    first = found["4:11"]
    assert first.startswith("rule: there is no neuron 'z' (the neurons are 'x', 'y')")
    assert first.endswith("the rule is never used (remove it, or correct the label)")


PATTERN = "!firing { [a --> b]'h; }\n"
DEFINITION = "@model(spiking_psystems) = firing, other;\n"


@pytest.mark.parametrize(
    "head",
    [
        DEFINITION,
        PATTERN + DEFINITION,
        f"/* both */ {DEFINITION}{PATTERN}",
        f"{DEFINITION}@model<spiking_psystems>\n",
        f"@model(transition) = firing;\n{DEFINITION}",
        f"@model(transition) = firing;\n{PATTERN}@MODEL < spiking_psystems >\n",
    ],
)
def test_headers_of_plingua_5(head):
    text = f"{head}def main() {{ @mu = x; @ms(x) = a; [a --> a]'x; }}"
    told = str(findings("plingua", text, of="warnings"))
    assert re.search(r"the definition of the model '\w+' is not applied", told)
    assert quiet(text) == parse(main("@mu = x; @ms(x) = a; [a --> a]'x;"))
    ((place, message),) = errors(text.replace("(x) =", "(y) =")).items()
    assert "no neuron 'y'" in message and place.split(":")[0] == f"{1 + head.count(chr(10))}"


@pytest.mark.parametrize(
    ("mistake", "place"),
    [
        ("[a --> a]'x{1} \"a+;", "4:16"),
        ("@mout x{1};", "4:7"),
        ("/* never closed", "4:1"),
        ("{ @mout = x{1};", "5:2"),
        ("call other();\n}\ndef other() { @mu = ;", "6:21"),
    ],
)
def test_nothing_is_expanded_after_a_syntax_error(monkeypatch, mistake, place):
    """One unclosed quote in a file of three million neurons took 28 seconds."""
    for name in ("expand", "expand_families"):
        monkeypatch.setattr(f"snpjax.io.plingua.read.{name}", None)
    assert list(errors(main(f"@mu = x{{i}} : 1<=i<=3000000;\n{mistake}")))[0] == place


def test_statements_that_parse_are_read_after_a_syntax_error():
    text = """@mu = p, q;
@marcs = (p, q), (q, r);
[a -> a]'p "a{2}";
[a --> a]'q "a{2";
@mout q;"""
    found = errors(main(text))
    assert list(found) == ["4:22", "5:4", "6:15", "7:7"] and "no neuron 'r'" in found["4:22"]
    assert list(errors(main(text.replace("@mout", "@mu")))) == ["5:4", "6:15", "7:5"]
    growing = """@mu = x; []'x --> []'y || [] "a"; @mout = y; [a --> a]'x "b";"""
    assert list(errors(main(growing))) == ["3:30", "3:59"]
    for needed in ("@min q;", "let n 2;", "call;", "@mo = q;", "{ @ms(p) a; };", "@ms(p) = @min;"):
        found = errors(main(text.replace("@mout q;", needed)))
        assert "5:4" in found and not {"4:22", "6:15"} & found.keys(), needed


def test_a_statement_that_does_not_parse_has_no_follow_up_errors():
    """Wherever it is, and whether its semicolon is missing, or a word is wrong."""
    inputs = "@min = p; @minst = (1,1);"
    rest = (
        "@mu = p, q; @ms(p) = a*2; @marcs = (p, q); @mout = q; [a*2 --> a]'p \"aa+\"; [a --> #]'p;"
    )
    for text in (LITERAL, rest + inputs):
        assert parse(main(text)).num_neurons > 1
        for end in (i for i, char in enumerate(text) if char == ";"):
            for broken in (text[:end] + " ?" + text[end:], text[:end] + text[end + 1 :]):
                assert len(errors(main(broken))) == 1, broken


def test_a_few_syntax_errors_are_enough():
    found = errors(main("@mu = x;\n" + "@mout x;\n" * 5_000))
    assert len(found) == 100 and list(found)[-1] == "103:7"


#: What has no variables is not left to the grammar, which is slow.
LITERAL = """@mu = x, y, z{1};  @mu += w;
  []'x --> []'y || []'z{1} "a{2}";  [] 'y --> []'y / []'w "a";   [a --> a]'w;
  @mdict = (x,y), (z{1}, w);
  @min = w;  @minst = (1,2), (3 , 1);  @minst += (4,1);
"""


def test_statements_without_variables_need_no_grammar(monkeypatch):
    system = parse(main(LITERAL))
    assert system.neurons[0].rules == (DivisionRule("a{2}", "y", "z{1}"),)
    assert system.neurons[1].rules == (BuddingRule("a", "w"),)
    assert system.dictionary == (("x", "y"), ("z{1}", "w"))
    assert system.input == {"w": (2, 0, 1, 1)}
    by_grammar = LITERAL.replace("=", "= /**/").replace("-->", "--> /**/")
    assert parse(main(by_grammar)) == system
    # `@min = w` and the head of the module are all that is left.
    monkeypatch.setattr("snpjax.io.plingua.syntax.MAX_WORDS", 60)
    assert parse(main(LITERAL + "@mdict = (x,y);\n" * 500)) == system
    text = main(LITERAL).replace("(3 , 1)", "(0 , 1)").replace('"a";', '"b";')
    assert list(errors(text)) == ["4:60", "6:31"]


# Files as their authors wrote them


def sample(name, level="extended"):
    return quietly(read_text, "plingua", sample_file(f"plingua/{name}").read_text(), level)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("five_neurons.pli", (5, 8, 11)),
        ("natural_numbers.pli", (3, 5, 4)),
        ("input_train.pli", (4, 5, 3)),
        ("input_no_clock.pli", (2, 2, 1)),
        ("output_with_synapse.pli", (2, 2, 1)),
        ("forgetting_overlap.pli", (2, 2, 1)),
        ("bad_produce_gt_consume.pli", (2, 1, 1)),
        ("division_unknown_dictionary_label.pli", (3, 3, 2)),
        ("sort_8.pli", (24, 72, 100)),
        ("sorting_network_6.pli", (18, 42, 57)),
        ("declarations.pli", (20, 5, 2)),
    ],
)
def test_samples_that_read(name, sizes):
    system = sample(name)
    assert (len(system.neurons), len(system.rules), len(system.synapses)) == sizes


@pytest.mark.parametrize(
    ("name", "level", "message"),
    [
        ("forgetting_overlap.pli", "strict", "5:21: neuron 'x', rule 2 forgets 2 spikes"),
        ("bad_produce_gt_consume.pli", "strict", "3:49: neuron 'x', rule 1 produces 2"),
        ("bad_forgetting_delay.pli", "strict", "a forgetting rule has no delay"),
        ("bad_forgetting_delay.pli", "extended", "a forgetting rule has no delay"),
        ("sequential_mode.pli", "extended", "4:3: not supported: sequential mode"),
        ("antispikes.pli", "extended", "5:26: not supported: anti-spikes"),
        ("astrocyte.pli", "extended", "5:3: not supported: astrocytes"),
    ],
)
def test_samples_that_are_refused(name, level, message):
    with pytest.raises(ReadError) as caught:
        sample(name, level)
    assert message in str(caught.value)


def test_repeated_labels_of_a_sample():
    system = sample("declarations.pli")
    assert {n.name: n.spikes for n in system.neurons if n.label == "jn{1}"} == {
        "jn{1}": 5,
        "jn{1}#2": 5,
    }
    assert counts(system)["n3"] == 27
    rules_of = {n.name: n.rules for n in system.neurons}
    for i in (1, 2, 3):
        assert rules_of[f"test{{{i}}}"] == (Rule(None, 1, 1, i + 1),)


@pytest.mark.slow
def test_a_sample_of_a_million_rules_at_level_strict():
    system = sample("sorting_network_1024.pli", "strict")
    sizes = len(system.neurons), len(system.rules), len(system.synapses)
    assert sizes == (3_072, 1_049_600, 1_573_376)


@pytest.mark.slow
def test_a_large_file_of_explicit_statements():
    count = 100_000
    body = "@mu = " + ", ".join(f"n{i}" for i in range(count)) + ";\n"
    body += "@marcs = " + ",\n".join(f"(n{i}, n{i + 1})" for i in range(count - 1)) + ";\n"
    body += "".join(
        f'[a*{i % 9 + 1} --> a]\'n{i} "a{{{i % 7 + 9},}}" :: {i % 3};\n' * 1 for i in range(count)
    )
    system = parse(main(body))
    assert (system.num_neurons, system.num_rules, system.num_synapses) == (count, count, count - 1)
    assert "n{1}" in errors(main(body + "@ms(n{1}) = a;"))[f"{2 * count + 3}:5"]


def test_an_unknown_module_is_told_before_ranges_are_run(monkeypatch):
    def fail(*_):
        raise AssertionError("the ranges were run")

    for name in ("expand", "expand_families"):
        monkeypatch.setattr(sys.modules["snpjax.io.plingua.read"], name, fail)
    text = """@model<spiking_psystems>
    def main() { call large(9); { call smal(1); }; }
    def large(n) { @mu = x{i} : 1<=i<=n; call also(n); }
    def small(n) { @mu = y; }
    """
    with pytest.raises(ReadError) as error:
        parse(text)
    assert "there is no module smal (did you mean 'small'?)" in str(error.value)
    assert "there is no module also" in str(error.value)
