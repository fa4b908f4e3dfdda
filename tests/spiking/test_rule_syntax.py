"""Texts of rules that change the network. Those of spiking rules are in test_validity."""

import re

import pytest
from hypothesis import given, strategies as st

import snpjax as snp
from snpjax.spiking.model.rule import ALPHAS, AnyRule, rule_text
from snpjax.spiking.model.rule_syntax import parse_rule
from snpjax.testing import guards, rules


DIVISION = snp.DivisionRule("a^2", "j", "k")
BUDDING = snp.BuddingRule("a", "j")
PLASTICITY = snp.PlasticityRule("a", 1, "+", 2, ["j", "k"])


@pytest.mark.parametrize(
    "text, rule",
    [
        ("[a^2]_i -> []_j || []_k", DIVISION),
        ("[a^2] -> []_j || []_k", DIVISION),
        (" [ aa ] _ i --> [ ] _ j ‖ [ ] _ k ", DIVISION),
        (r"[a{2}]_i\to[]_j||[]_k", DIVISION),
        ('[a]_"i" → []_"Cx1,0"||[]_in{1,-2}', snp.DivisionRule("a", "Cx1,0", "in{1,-2}")),
        ("[a+]_i -> []_i || []_i", snp.DivisionRule("a+", "i", "i")),
        ("[a]_i -> []_i / []_j", BUDDING),
        ("[a] -> [] / []_j", BUDDING),
        ("[a]_i->[]/[]_j", BUDDING),
        ("[a]_i -> []_x / []_j", snp.BuddingRule("a", "j", "x")),
        ("a/a -> +2(i, {j, k})", PLASTICITY),
        ("a->+2{j,k}", PLASTICITY),
        ("a -> + 2 ( i , { j , k } )", PLASTICITY),
        ("a -> +-1 (i, {j, m})", snp.PlasticityRule("a", 1, "+-", 1, ["j", "m"])),
        ("a -> ±1(i, {j, m})", snp.PlasticityRule("a", 1, "+-", 1, ["j", "m"])),
        ("a -> ∓1(i, {j})", snp.PlasticityRule("a", 1, "-+", 1, ["j"])),
        ("a -> - + 1(i, {j})", snp.PlasticityRule("a", 1, "-+", 1, ["j"])),
        ("a -> -1(i, {j})", snp.PlasticityRule("a", 1, "-", 1, ["j"])),
        ("a+/a^3 --> -10(i, {})", snp.PlasticityRule("a+", 3, "-", 10, [])),
        (r'a -> +1(i, {"j, k", "\"\u00e9"})', snp.PlasticityRule("a", 1, "+", 1, ["j, k", '"é'])),
    ],
)
def test_text(text, rule):
    assert parse_rule(text, "i") == rule
    assert snp.Neuron("i", 0, [text]).rules == (rule,)


@pytest.mark.parametrize(
    "rule, text",
    [
        (DIVISION, "[a^2]_i -> []_j || []_k"),
        (snp.DivisionRule("a(aa)*", "j 1", "i"), '[a(aa)*]_i -> []_"j 1" || []_i'),
        (BUDDING, "[a]_i -> []_i / []_j"),
        (snp.BuddingRule("a", "j", "x"), "[a]_i -> []_x / []_j"),
        (PLASTICITY, "a -> +2(i, {j, k})"),
        (snp.PlasticityRule("a+", 1, "+-", 1, ["j"]), "a+/a -> +-1(i, {j})"),
        (snp.Rule("a^2", 1, 1), "a^2/a -> a"),
    ],
)
def test_text_of(rule, text):
    assert rule_text(rule, "i") == text
    system = snp.SpikingSystem(
        [snp.Neuron("i", 0, [rule]), *map(snp.Neuron, ("j", "k"))], name="rules"
    )
    assert system.rule_text(0, 0) == text
    assert text.replace('"', "&quot;").replace(">", "&gt;") in system._repr_html_()


names = st.sampled_from(["i", "j", "k'", "in{1,2}", "x#2", "7", "x/Q(y", "p->q"]) | st.text(
    max_size=4
)


@st.composite
def changes(draw) -> AnyRule:
    """Rules that change the network; the parent of a bud that keeps its label is `None`."""
    guard = draw(guards().filter(lambda guard: not guard.is_empty))
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return snp.DivisionRule(guard, draw(names), draw(names))
    if kind == 1:
        return snp.BuddingRule(guard, draw(names), draw(st.none() | names))
    targets = draw(st.lists(names, max_size=3))
    consume, k = draw(st.integers(1, 4)), draw(st.integers(0, 12))
    return snp.PlasticityRule(guard, consume, draw(st.sampled_from(ALPHAS)), k, targets)  # pyright: ignore


@given(changes() | rules(), names)
def test_text_reads_back(rule, label):
    (kept,) = snp.Neuron("x", 0, [rule], label).rules  # a parent of its own label becomes `None`
    assert parse_rule(rule_text(kept, label), label) == kept
    assert parse_rule(str(kept), label) == kept
    assert parse_rule(rule_text(kept, label)) == kept


def test_a_bud_says_in_one_way_that_its_parent_keeps_the_label():
    assert snp.Neuron("i", 0, [snp.BuddingRule("a", "j", "i")]).rules == (BUDDING,)


@pytest.mark.parametrize(
    "text, at, word",
    [
        ("[a]_x -> []_j || []_k", "x", "written for neuron 'x' (write 'i' there, or give"),
        ("a -> +1(x, {j})", "x", "written for neuron 'x'"),
        ("[a]_i -> []_j || []_k; 2", ";", "a division or budding rule has no delay (remove it)"),
        ("[a]_i -> []_i / []_k ;1", ";", "no delay"),
        ("a -> +1(i, {j}); 1", ";", "a plasticity rule has no delay (remove it)"),
        ("[a]_i -> []_j || []_k []", "[]$", "text after the rule"),
        ("[a]_i -> []_j []_k", "[]_k", 'expected "||" for a division, or "/" for a budding'),
        ("[a]_i []_j || []_k", "[]_j", "no arrow"),
        ("[a -> []_j || []_k", "-", "not part of a guard"),
        ("[a", "[", "bracket is not closed"),
        ("[ ]_i -> []_j || []_k", " ]", "guard is missing"),
        ("[a{2]_i -> []_j || []_k", "{", "brace"),
        ("[a]_ -> []_j || []_k", "->", "name of a neuron is missing"),
        ("[a]_i -> [] || []_k", "|| ", "label of a new neuron is missing"),
        ("[a]_i -> []_j || []", "$", "label of a new neuron is missing"),
        ("[a]_i -> []_j / []", "$", "label of the bud is missing"),
        ("[a]_i -> [a]_j / []_k", "a]_j", "a new neuron is empty"),
        (r'[a]_i -> []_"\q" / []_k', r'"\q', "not a quoted name"),
        ("a -> +(i, {j})", "(", "number k of synapses is missing"),
        ("a -> +12345678901(i, {j})", "12", "number k of synapses is too large"),
        ("a -> +1", "$", 'expected "{"'),
        ("a -> +1(i {j})", "{", 'expected ","'),
        ("a -> +1(i, j)", "j)", 'expected "{" (write "a/a -> +2(i, {j, k})")'),
        ("a -> +1(i, {j k})", "k}", 'expected ","'),
        ("a -> +1(i, {j, })", "})", "name of a neuron is missing"),
        ("a -> +1(i, {j}", "$", 'expected ")"'),
        (
            "a* -> +1(i, {j})",
            "a*",
            'the guard a* does not say how many spikes are consumed (write "a*/a -> +1(i, {j})")',
        ),
        (
            " a+ -> a; 2",
            "a+",
            'the guard a+ does not say how many spikes are consumed (write "a+/a',
        ),
        ("-a+ -> a", "-a+", '(write "-a+/-a -> a")'),
        ("a|a^3 -> a", "a|", '(write "a|a^3/a -> a")'),
        (f"a({'a' * 60})+ -> a", "a(", "this guard does not say how many spikes are consumed"),
        ("a+/a+ -> a", "a+ ", 'a+ is not one number of spikes (write "a^3")'),
        ("a -> a+", "a+", 'a+ is not one number of spikes (write "a^3")'),
        (f"a -> a({'a' * 60})+", "a(", 'this is not one number of spikes (write "a^3")'),
    ],
)
def test_mistakes_are_located(text, at, word):
    pattern = "$" if at == "$" else re.escape(at.removesuffix("$")) + "$" * at.endswith("$")
    place = re.search(pattern, text)
    assert place is not None
    with pytest.raises(snp.RuleError) as refusal:
        parse_rule(text, "i")
    assert refusal.value.position == place.start() and word in refusal.value.message
