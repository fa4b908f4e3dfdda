"""The query language: what is read, and what is said of what is not."""

import re
from importlib import resources

import pytest
from hypothesis import given, strategies as st

import snpjax as snp
from snpjax.check.query.formula import (
    And,
    Comparison,
    Implies,
    InOrder,
    Not,
    Observed,
    Or,
    Quantified,
    Temporal,
    Variable,
    Within,
)
from snpjax.check.query.messages import KEYWORDS
from snpjax.check.query.parse import MAX_DEPTH, MAX_LENGTH, parse_query
from snpjax.check.query.printing import to_nuxmv, to_prism
from snpjax.sleptsov import Arcs


P, Q, R = (Comparison(((Variable(Observed.SPIKES, name), 1),), "=", 1) for name in "pqr")


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("always p = 1 and q = 1", And((Temporal("always", P), Q))),
        ("always not p = 1", Temporal("always", Not(P))),
        ("not p = 1 or q = 1 and r = 1", Or((Not(P), And((Q, R))))),
        ("p = 1 or q = 1 until r = 1", InOrder(Or((P, Q)), "until", R)),
        ("p = 1 until q = 1 implies r = 1", Implies(InOrder(P, "until", Q), R)),
        ("p = 1 implies q = 1 implies r = 1", Implies(P, Implies(Q, R))),
        ("p = 1 weak until q = 1", InOrder(P, "weak until", Q)),
        ("p = 1 followed by q = 1", InOrder(P, "followed by", Q)),
        ("p = 1 preceded by q = 1", InOrder(P, "preceded by", Q)),
        ("infinitely often steady p = 1", Temporal("infinitely often", Temporal("steady", P))),
        ("never (next p = 1)", Temporal("never", Temporal("next", P))),
        ("eventually\n\tp=1", Temporal("eventually", P)),
    ],
)
def test_precedence(text, formula):
    assert parse_query(text).formula == formula


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("always for 5 steps p = 1", Within(5, Temporal("always", P))),
        ("never for 1 step p = 1 and q = 1", And((Within(1, Temporal("never", P)), Q))),
        ("never within 5 steps p = 1", Within(5, Temporal("never", P))),
        ("p = 1 until within 5 steps q = 1", Within(5, InOrder(P, "until", Q))),
        ("p = 1 followed by within 5 steps q = 1", Within(5, InOrder(P, "followed by", Q))),
        (
            "next on some path p = 1 and q = 1 until r = 1",
            Temporal("next", Quantified(False, InOrder(And((P, Q)), "until", R))),
        ),
        (
            "(on all paths p = 1) implies on some path next q = 1",
            Implies(Quantified(True, P), Quantified(False, Temporal("next", Q))),
        ),
    ],
)
def test_steps_and_path_quantifiers(text, formula):
    assert parse_query(text).formula == formula


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("G p = 1 & F q = 1", "always p = 1 and eventually q = 1"),
        ("p = 1 -> q = 1 -> r = 1", "p = 1 implies q = 1 implies r = 1"),
        ("p = 1 & q = 1 U r = 1", "p = 1 and (q = 1 until r = 1)"),
        ("!p = 1 | X G !q = 1", "not p = 1 or next always not q = 1"),
        ("p = 1 W q = 1", "p = 1 weak until q = 1"),
        ("p = 1 R q = 1", "q = 1 weak until (p = 1 and q = 1)"),
        ("p = 1 V q = 1", "q = 1 weak until (p = 1 and q = 1)"),
        (
            "p = 1 <-> F q = 1",
            "(p = 1 implies eventually q = 1) and (eventually q = 1 implies p = 1)",
        ),
        ("F<=5 p = 1", "eventually within 5 steps p = 1"),
        ("G<5 p = 1", "always for 4 steps p = 1"),
        ("F [0,5] p = 1", "eventually within 5 steps p = 1"),
        ("G [2,5] p = 1", "next next always for 3 steps p = 1"),
        ("p = 1 U<=5 q = 1", "p = 1 until within 5 steps q = 1"),
        ("EF p = 1", "on some path eventually p = 1"),
        ("AG EF p = 1", "always on some path eventually p = 1"),
        ("AX p = 1 & EG q = 1", "(on all paths next p = 1) and on some path always q = 1"),
        ("E [ p = 1 U q = 1 ]", "on some path p = 1 until q = 1"),
        ("A [ G (p = 1 => F<=5 q = 1) ]", "always (p = 1 implies eventually within 5 steps q = 1)"),
        ("A [ (F p = 1) & (G q = 1) ]", "eventually p = 1 and always q = 1"),
        ("E [ F A [ G p = 1 ] ]", "on some path eventually on all paths always p = 1"),
        ('G (mod("p", 2) = 1)', "always p mod 2 = 1"),
        ("G ((p + q) mod 2 = 1 & timer(p) > 0)", "always ((p + q) mod 2 = 1 and timer(p) > 0)"),
    ],
)
def test_symbols_of_nuxmv_and_prism(text, words):
    found, wanted = parse_query(text), parse_query(words)
    assert (found.on_all_paths, found.formula) == (wanted.on_all_paths, wanted.formula)


@pytest.mark.parametrize(
    "text",
    ["G (a = 1 -> b = 1)", "(a = 1) V (b = 1)", "(a = 1) W (b = 1)", "G ((a = 1) W (X b = 1))"],
)
def test_printing_is_stable(text):
    printed = to_nuxmv(text)
    assert to_nuxmv(printed) == printed and len(printed) <= len(text) + 20
    assert to_prism(to_prism(text)) == to_prism(text)


def test_printed_names_are_those_of_files(tmp_path):
    neurons = [
        snp.Neuron("in{7}", 1, ["a -> a; 2"]),
        snp.Neuron("t", 0, ["a -> a"]),
        snp.Neuron("o"),
    ]
    system = snp.SpikingSystem(neurons, [("in{7}", "t"), ("t", "o")])
    graph = snp.explore(system, clock=3)
    query = "always ('in{7}' + timer('in{7}') >= pending(t) or halted or timer(t) = step)"
    smv, prism = to_nuxmv(query, graph=graph), to_prism(query, graph=graph)
    assert smv == ("G ((spikes_in_7_ + timer_in_7_ >= 0) | halting | (-step = 0))")
    assert prism == 'A [ G ((spikes_in_7_ + timer_in_7_ >= 0) | "halting" | (-step = 0)) ]'
    text = "".join(x.read_text() for x in snp.write_graph(graph, tmp_path / "g.smv"))
    assert all(f"  {x} :" in text for x in ("spikes_in_7_", "timer_in_7_", "step", "halting"))
    files = snp.write_graph(graph, tmp_path / "g.tra")
    states = next(x for x in files if x.suffix == ".sta").read_text().splitlines()[0]
    assert {"spikes_in_7_", "timer_in_7_", "step"} <= {*states.strip("()").split(",")}
    assert '"halting"' in next(x for x in files if x.suffix == ".lab").read_text()
    for text, problem in (
        ("always emits(t) <= 1", "no `emits` as queries mean it"),
        ("never fires(t, 0)", "no `fires` as queries mean it"),
        ("always step <= 9", "does not tell these steps apart"),
        ("always x = 1", "there is no neuron 'x'"),
    ):
        for write in (to_nuxmv, to_prism):
            with pytest.raises(ValueError, match=problem):
                write(text, graph=graph)
    cut = snp.explore(system, saturate={"o": 1})
    assert to_prism("always o <= 0", graph=cut) == "A [ G (spikes_o <= 0) ]"
    with pytest.raises(ValueError, match="counts 'o' up to 1 only"):
        to_nuxmv("always o <= 1", graph=cut)


def test_names_of_places_in_files():
    net = snp.SleptsovNet([1, 0], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([(1, 0, 1)]))
    assert to_nuxmv("never p2 = 2", graph=snp.explore(net)) == "G !(tokens_p2 = 2)"


def test_release_is_printed_as_it_was_read():
    assert to_nuxmv("a=1 V b=1") == "(a = 1) V (b = 1)"


def test_true_and_false():
    assert parse_query("true until halted").formula == parse_query("0 = 0 until halted").formula
    assert parse_query("E [ true U halted ]").formula == parse_query("E [ 0 = 0 U halted ]").formula
    assert parse_query("never false").formula == parse_query("never 0 = 1").formula
    assert parse_query("always 'true' = 1").formula.part.terms[0][0].neuron == "true"
    assert to_nuxmv("always 'true' = 1") == 'G ("true" = 1)'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("never deadlock", "did you mean 'halted'?"),
        ("E F halted", "write EF as one word"),
        ("A G halted", "write AG as one word"),
        ("P=? [ F halted ]", "asks for a number, which only `snpjax.check` answers"),
        ("P >= 0.5 [ F halted ]", "asks for a number"),
        ("steady probability of halted", "asks for a number"),
    ],
)
def test_what_was_meant(text, problem):
    for read in (parse_query, to_prism):
        with pytest.raises(snp.QueryError, match=re.escape(problem)):
            read(text)


def test_neurons_may_have_the_names_of_symbols():
    """In words they are not quoted."""
    assert parse_query("always F <= 3").formula == parse_query("always 'F' <= 3").formula
    assert to_prism("always F <= 3 and next U = 1") == 'A [ (G ("F" <= 3)) & (X ("U" = 1)) ]'


@pytest.mark.parametrize(
    ("words", "nuxmv", "prism"),
    [
        ("always p - 2 * q <= 3", "G (p - 2 * q <= 3)", "A [ G (p - 2 * q <= 3) ]"),
        ("infinitely often p = 1", "G F (p = 1)", "A [ G F (p = 1) ]"),
        ("eventually within 5 steps halted", "F [0,5] halted", "A [ F<=5 halted ]"),
        ("p = 1 followed by q = 1", "G ((p = 1) -> (F (q = 1)))",
         "A [ G ((p = 1) => (F (q = 1))) ]"),
        ("always on some path p = 1 until q = 1", "AG E [ (p = 1) U (q = 1) ]",
         "A [ G E [ (p = 1) U (q = 1) ] ]"),
        ("never p mod 2 = 1", "G !((p) mod 2 = 1)", "A [ G !(mod(p, 2) = 1) ]"),
    ],
)  # fmt: skip
def test_queries_are_printed_in_symbols(words, nuxmv, prism):
    assert (to_nuxmv(words), to_prism(words)) == (nuxmv, prism)


def test_what_cannot_be_printed_is_refused():
    with pytest.raises(ValueError, match=r"no formula for `G F \(p = 1\)` on some path"):
        to_nuxmv("on some path infinitely often p = 1")
    for write in (to_nuxmv, to_prism):
        with pytest.raises(ValueError, match="fair paths are not written"):
            write(parse_query("always p = 1", fair=["q = 1"]))


@pytest.mark.parametrize(
    ("text", "terms", "relation", "constant"),
    [
        ("p <= 3", {"p": 1}, "<=", 3),
        ("p < 3", {"p": 1}, "<=", 2),
        ("3 < p", {"p": -1}, "<=", -4),
        ("p > 3", {"p": 1}, ">=", 4),
        ("p + q = r", {"p": 1, "q": 1, "r": -1}, "=", 0),
        ("2 * (p - 3 * -q) + 1 >= p", {"p": 1, "q": 6}, ">=", -1),
        ("2*3*p - p*2 = 007", {"p": 4}, "=", 7),
        ("p - p = 0", {}, "=", 0),
    ],
)
def test_comparisons_are_linear(text, terms, relation, constant):
    found = parse_query(text).formula
    assert isinstance(found, Comparison)
    assert {v.neuron: x for v, x in found.terms} == terms
    assert (found.relation, found.constant) == (relation, constant)


@pytest.mark.parametrize(
    ("text", "variable", "relation", "constant"),
    [
        ("open(p)", Variable(Observed.TIMER, "p"), "=", 0),
        ("timer(p) > 1", Variable(Observed.TIMER, "p"), ">=", 2),
        ("pending(p) > 1", Variable(Observed.PENDING, "p"), ">=", 2),
        ("in_flight(p) > 1", Variable(Observed.IN_FLIGHT, "p"), ">=", 2),
        ("fires(p, 2)", Variable(Observed.FIRES, "p", 2), ">=", 1),
        ("emits(p)", Variable(Observed.EMITS, "p"), ">=", 1),
        ("(emits(p)) = 2", Variable(Observed.EMITS, "p"), "=", 2),
        ("halted", Variable(Observed.HALTED), ">=", 1),
        ("step <= 9", Variable(Observed.STEP), "<=", 9),
        ("'step' <= 9", Variable(Observed.SPIKES, "step"), "<=", 9),
        ('"in{7}" <= 9', Variable(Observed.SPIKES, "in{7}"), "<=", 9),
        (r'"a \"b\\" <= 9', Variable(Observed.SPIKES, 'a "b\\'), "<=", 9),
        ("σ_1 <= 9", Variable(Observed.SPIKES, "σ_1"), "<=", 9),
    ],
)
def test_what_is_looked_at(text, variable, relation, constant):
    assert parse_query(text).formula == Comparison(((variable, 1),), relation, constant)


@pytest.mark.parametrize(
    ("text", "terms", "constant", "modulus"),
    [
        ("p mod 2 = 1", {"p": 1}, 1, 2),
        ("2 * p mod 3 = 2", {"p": 2}, 2, 3),
        ("(p - timer(q) + 1) mod 4 = 0", {"p": 1, "q": -1}, 3, 4),
        ("(p - p) mod 1 = 0", {}, 0, 1),
    ],
)
def test_congruences(text, terms, constant, modulus):
    found = parse_query(text).formula
    assert isinstance(found, Comparison)
    assert {v.neuron: x for v, x in found.terms} == terms
    assert (found.relation, found.constant, found.modulus) == ("=", constant, modulus)
    assert parse_query(text.replace("=", "!=")).formula == Not(found)


def test_quantifiers():
    by_default, on_all = parse_query("always halted"), parse_query("on all paths always halted")
    assert by_default.on_all_paths and on_all.on_all_paths
    assert by_default.formula == on_all.formula
    assert not parse_query("on some path always halted").on_all_paths


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "1:1", "expected a formula, but the query ends"),
        ("always", "1:7", "but the query ends"),
        ("always (p = 1", "1:14", "expected ')'"),
        ("always p == 1", "1:11", "equality is written ="),
        ("p = 1 &&\n q = 1", "1:7", "write and"),
        ("p = 1 and\n q <> 1", "2:5", "the relations are"),
        ("1 < p < 3", "1:7", "join two comparisons"),
        ("always p", "1:8", "compare it: p > 0"),
        ("p = 1 + halted", "1:9", "this is a condition"),
        ("p * emits(q) = 1", "1:11", "multiplied by constants only"),
        ("p = 2147483648", "1:5", "too large"),
        ("p = " + "9" * 5000, "1:5", "too large"),
        ("1000000000 * p + 1000000000 * q = 1", "1:1", "too large"),
        ("in{7} > 2", "1:3", 'quote the names of neurons that are not plain words: "in{7}"'),
        ("always 'in", "1:8", "the quote is not closed"),
        ('eventualy "in{7}" > 3', "1:11", "did you mean 'eventually'?"),
        ("always \"x\" 'y' > 3", "1:12", "not \"'y'\""),
        ("in_flight > 3", "1:11", 'a neuron of this name is quoted: "in_flight"'),
        ("open > 3", "1:6", 'a neuron of this name is quoted: "open"'),
        ("p = 1 and weak > 3", "1:11", 'a neuron of this name is quoted: "weak"'),
        ("infinitely p = 1", "1:12", "expected 'often'"),
        ("on all p = 1", "1:8", "expected 'paths'"),
        ("on some paths p = 1", "1:9", "expected 'path'"),
        ("p = 1 until q = 1 until r = 1", "1:19", "put one of the two in parentheses"),
        ("fires(p)", "1:8", "expected ','"),
        ("p mod 0 = 0", "1:7", "nothing is divided by 0"),
        ("p mod 3 = 3", "1:11", "a remainder modulo 3 is at most 2, not 3"),
        ("p + q mod 2 = 1", "1:1", "put it in parentheses: (p + q) mod 2"),
        ("p mod q = 1", "1:7", "expected a number, not 'q'"),
        ("p mod 2", "1:8", "expected '=' or '!=', but the query ends"),
        ("p mod 2 > 0", "1:9", "expected '=' or '!='"),
        ("p % 2 = 0", "1:3", "a remainder is written with mod"),
        ("mod > 3", "1:1", 'a neuron of this name is quoted: "mod"'),
        ("p.q = 1", "1:2", "not '.'"),
        ("always within 5 steps p = 1", "1:8", "write `for 5 steps` here"),
        ("eventually for 5 steps p = 1", "1:12", "write `within 5 steps` here"),
        ("next within 5 steps p = 1", "1:1", "`next` has no number of steps"),
        ("always for 5 p = 1", "1:14", "expected 'steps'"),
        ("always for 5000 steps p = 1", "1:8", "at most 1,000 steps"),
        ("F [5,2] p = 1", "1:3", "the first number is at most the second"),
        ("F [99,100] p = 1", "1:3", "begins too late"),
        ("p = 1 U [1,2] q = 1", "1:7", "write a number alone: U<=5"),
        ("AG EF", "1:6", "expected a formula, but the query ends"),
        ("A [ G p = 1", "1:12", "expected ']'"),
        ("A [ F p = 1 & q = 1 ]", "1:5", "nuXmv and PRISM read this differently"),
        ("A [ p = 1 & q = 1 U r = 1 ]", "1:13", "use parentheses"),
        ("G (p = 1 && q = 1)", "1:11", "write &"),
        ("G p = 1 always q = 1", "1:9", "expected `&`, `|`, `->`, `U`"),
        ("always (p = 1 & q = 1)", "1:15", "write and"),
        ("(" * 9 + "p = 1" + " <-> q = 1)" * 9, None, "at most 8 equivalences"),
        ("p = 1\x00", "1:6", "the character '\\x00'"),
        ("not " * (MAX_DEPTH + 5) + "halted", None, "deep"),
        ("p" * (MAX_LENGTH + 1), "1:1", "characters"),
    ],
)
def test_syntax_errors_have_a_place(text, place, words):
    with pytest.raises(snp.QueryError) as caught:
        parse_query(text)
    error = caught.value
    assert words in str(error)
    if place is not None:
        assert str(error).startswith(f"query:{place}: ") and f"{error.line}:{error.column}" == place
        line, mark = str(error).split("\n")[1:]
        assert mark.index("^") == error.column + 1 and len(line) >= error.column


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("alway p <= 3", "always"),
        ("eventualy p = 1", "eventually"),
        ("p = 3 untill q = 4", "until"),
        ("p = 3 adn q = 4", "and"),
        ("p = 3 until withn 5 steps q = 4", "within"),
        ("always emit(p) < 3", "emits"),
        ("eventually halt", "halted"),
        ("p = 3 and eventually alwasy", "always"),
    ],
)
def test_misspelt_words(text, word):
    with pytest.raises(snp.QueryError, match=rf"\(did you mean '{word}'\?\)"):
        parse_query(text)


@pytest.mark.parametrize(
    ("text", "place", "name"),
    [
        ("always n 1 <= 3", "1:10", '"n 1"'),
        ("eventually (n 12 = 3)", "1:15", '"n 12"'),
        ("always y-2 <= 3", "1:8", '"y-2"'),
        ("always y-2-b <= 3", "1:8", '"y-2-b"'),
    ],
)
def test_names_that_need_quotes(text, place, name):
    names = ["n 1", "n 12", "y", "y-2", "y-2-b", "y.1"]
    system = snp.SpikingSystem([snp.Neuron(x) for x in names if x != "y"])
    with pytest.raises(snp.QueryError, match="quote") as caught:
        snp.check(system, text)
    assert name in str(caught.value) and str(caught.value).startswith(f"query:{place}: ")
    with_y = snp.SpikingSystem([snp.Neuron(x) for x in names])
    assert snp.check(with_y, "always y-2 <= 3")  # a difference


def test_words_of_the_language_are_those_of_its_grammar():
    package = resources.files("snpjax.check")
    names = ("grammar.lark", "conditions.lark")
    grammar = "\n".join(package.joinpath(name).read_text() for name in names)
    assert {*KEYWORDS} == {*re.findall(r'^[A-Z_]+: "([a-z_]+)"$', grammar, re.MULTILINE)}


@pytest.mark.parametrize("text", ["p 3", "always p", "p = 3 q = 4", "zebra zebra"])
def test_words_like_no_other(text):
    with pytest.raises(snp.QueryError) as caught:
        parse_query(text)
    assert "did you mean" not in str(caught.value)


@given(st.text(alphabet="pq ()=<1+-*'\"andorxtils\n", max_size=30))
def test_any_text_is_a_query_or_an_error(text):
    try:
        parse_query(text)
    except snp.QueryError as error:
        assert str(error).startswith(f"query:{error.line}:{error.column}: ")


@given(st.recursive(st.sampled_from(["p = 1", "q <= 2 + r", "open(p)", "emits(q) > 1"]), lambda f: (
    st.one_of(
        st.builds("{} ({})".format, st.sampled_from(["not", "always", "infinitely often"]), f),
        st.builds("({1}) {0} ({2})".format, st.sampled_from(["and", "until", "implies"]), f, f),
    )
)))  # fmt: skip
def test_a_part_knows_its_text(text):
    """What a formula was read from reads as that formula."""
    query = parse_query(text)
    assert parse_query(query.source(query.formula)).formula == query.formula
