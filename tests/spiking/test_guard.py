"""Guards: normal forms, every accepted and rejected spelling, limits, terms and text."""

import copy
import pickle
import random
import time

import numpy as np
import pytest

from snpjax.spiking.model.guard import GUARD_LIMIT, Guard, GuardError, _parsed_short, shared_budget


NORMAL_FORMS = [
    ("a", (1,), 2, 1, ()),
    ("a{5}", (5,), 6, 1, ()),
    ("a*", (), 0, 1, (0,)),
    ("a+", (), 1, 1, (1,)),
    ("a(aa)+", (), 2, 2, (3,)),
    ("(aa)*", (), 0, 2, (0,)),
    ("a{3,}", (), 3, 1, (3,)),
    ("a{1,3}|a{5}(aaa)*", (1, 2, 3), 4, 3, (5,)),
    ("a(aa)*", (), 0, 2, (1,)),
    ("a{0}", (0,), 1, 1, ()),
    ("∅", (), 0, 1, ()),
    ("(aaa)*|(aaa)*a|(aaa)*aa", (), 0, 1, (0,)),
]


@pytest.mark.parametrize("text, finite, tail, period, residues", NORMAL_FORMS)
def test_normal_form(text, finite, tail, period, residues):
    guard = Guard.parse(text)
    assert (guard.finite, guard.tail, guard.period, guard.residues) == (
        finite,
        tail,
        period,
        residues,
    )
    assert guard == Guard.from_normal_form(finite, tail, period, residues)
    assert guard == Guard.from_normal_form(finite, tail, 2 * period, _unrolled(residues, period))


def _unrolled(residues, period):
    return residues + tuple(r + period for r in residues)


@pytest.mark.parametrize(
    "text, same",
    [
        (" a a\t{ 2 } ", "a{3}"),
        ("^a+$", "a+"),
        (" ^ a | aa $ ", "a{1,2}"),
        ("aUaa", "a{1,2}"),
        ("a∪aa", "a{1,2}"),
        (r"a \cup aa", "a{1,2}"),
        ("a^2", "a{2}"),
        ("a^{12}", "a{12}"),
        ("a^{ 2 }", "a{2}"),
        ("a^2a", "a{3}"),
        ("(aa)^3", "a{6}"),
        ("a^*", "a*"),
        ("a^{*}", "a*"),
        ("a^+", "a+"),
        ("a(aa)^{+}", "a(aa)+"),
        (r"a^\ast", "a*"),
        (r"a^{\ast}", "a*"),
        (r"a\ast", "a*"),
        ("a^2*", "(aa)*"),
        ("a^{2}+", "(aa)+"),
        ("a^2{3}", "a{6}"),
        ("a^2^*", "(aa)*"),
        ("aa?", "a{1,2}"),
        ("aa*", "a+"),
        ("((a))", "a"),
        ("(a*)*", "a*"),
        ("(a|aa){2}", "a{2,4}"),
        ("(aa){1,}", "(aa)+"),
        ("a{0,0}", "a{0}"),
        ("a{007}", "a{7}"),
        ("∅*", "a{0}"),
        ("a∅|aa", "aa"),
        ("(a{3}|a{5})*", "a{0}|a{3}|a{5}|a{6}|a{8,}"),
    ],
)
def test_spellings(text, same):
    assert Guard.parse(text) == Guard.parse(same)


@pytest.mark.parametrize(
    "text, position, words",
    [
        ("", 0, 'write "a"'),
        ("  ", 2, "missing"),
        ("^$", 1, "missing"),
        ("b", 0, '"a"'),
        ("aλ", 1, 'no spike is "a{0}"'),
        ("A", 0, "letter"),
        ("a.", 1, "letter"),
        ("a[a]", 1, "character class"),
        ("a]", 1, "not part"),
        ("a(?=a)", 1, "(?"),
        ("(?:a)", 0, "plain parentheses"),
        (r"(a)\1", 3, "back reference"),
        (r"\d", 0, "escape"),
        ("()", 0, "empty"),
        ("a( )a", 1, "empty"),
        ("a|", 2, "missing"),
        ("|a", 0, "missing"),
        ("a||a", 2, "missing"),
        ("(a|)", 3, "missing"),
        ("(|a)", 1, "missing"),
        ("(a", 0, 'add a ")"'),
        ("a((a)", 1, 'add a ")"'),
        ("a)", 1, "remove it"),
        ("a}", 1, "remove it"),
        ("a$a", 1, "not at the end"),
        ("a{2", 1, 'write "a{2}"'),
        ("aa{", 2, 'write "aa{2}"'),
        ("a{2,", 1, 'write "a{2,}"'),
        ("a{2,3(a)", 1, "not closed"),
        ("a^{2", 2, 'write "a^{2}"'),
        ("a{}", 2, "a count is missing"),
        ("a{,3}", 2, 'write "{0,3}"'),
        ("a{x}", 2, "not a count"),
        ("a{1 2}", 4, "not part of a count"),
        ("a{3,2}", 1, 'write "{2,3}"'),
        ("a^", 2, "missing"),
        ("a^x", 2, "not a power"),
        ("a^(a)", 2, "not a power"),
        ("a^{2,3}", 4, "not part of a count"),
        ("*a", 0, "nothing to repeat"),
        (r"\ast a", 0, "nothing to repeat"),
        ("a|+", 2, "nothing to repeat"),
        ("({2})", 1, "nothing to repeat"),
        ("(^a)", 1, "nothing to repeat"),
        ("a*?", 2, "lazy"),
        ("a+?", 2, "lazy"),
        ("a??", 2, "lazy"),
        ("a*+", 2, "possessive"),
        ("a{2}+", 4, "possessive"),
        ("a**", 2, "repeated"),
        ("a{2}{3}", 4, "repeated"),
        ("a*^2", 2, "repeated"),
        ("a^2^3", 3, "repeated"),
        ("a^2**", 4, "repeated"),
        ("a2", 1, 'write "a^2"'),
        ("a*3", 2, "belongs in braces"),
        ("3", 0, "a{3}"),
        ("a²", 1, "letter"),
        ("a^99999999999999999999", 2, "limit"),
        ("a{" + "9" * 10_000 + "}", 2, "limit"),
        ("a{4194303}", 1, "limit"),
        ("aa|((a{1000}){1000}){1000}", 20, "limit"),
        ("a(a{1999993})*(a{1999979})*", 14, "limit"),
        ("(" * 200 + "a" + ")" * 200, 100, "nested"),
        ("a" * 100_001, 100_000, "100000 characters"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_rejected(text, position, words):
    started = time.thread_time()
    with pytest.raises(GuardError) as caught:
        Guard.parse(text)
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert words in error.message
    assert f"at character {position + 1} " in str(error)
    assert "at character" not in error.message
    assert len(str(error)) < 400
    assert time.thread_time() - started < 2


def test_error_text():
    with pytest.raises(GuardError) as caught:
        Guard.parse("a{2")
    error = caught.value
    assert str(error) == (
        "guard 'a{2': the brace opened at character 2 is not closed (write \"a{2}\")"
    )
    assert error.message == 'the brace opened is not closed (write "a{2}")'
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    "text, tail, period",
    [
        ("a{46000}", 46001, 1),
        ("(a{997}|a{1009})*", 996 * 1008, 1),
        ("(a{46000})*", 0, 46000),
        ("(a{1000,2000})*", 1000, 1),
        ("a{0,4000000}", 4000001, 1),
        ("(a{1999}|a{2003})*", 1998 * 2002, 1),
        ("((aa)*|a{2000001})((aaa)*|a{2000003})", 2, 1),
        ("(a{1000000,1999999})*", 1000000, 1),
        ("a" * 100_000, 100_001, 1),
        ("(" * 100 + "a" + ")*" * 100, 0, 1),
    ],
    ids=lambda value: str(value)[:30],
)
def test_large_guards_are_quick(text, tail, period):
    started = time.thread_time()
    guard = Guard.parse(text)
    assert (guard.tail, guard.period) == (tail, period)
    assert time.thread_time() - started < 2  # each takes well below 0.2 s


def test_limit():
    assert Guard.exactly(GUARD_LIMIT - 2).tail == GUARD_LIMIT - 1
    for too_large in (GUARD_LIMIT - 1, GUARD_LIMIT + 1, 10**5000):
        with pytest.raises(ValueError, match="limit"):
            Guard.exactly(too_large)
    with pytest.raises(ValueError, match="negative"):
        Guard.exactly(-(10**5000))
    first, second = Guard.parse("(a{2999})*"), Guard.parse("(a{3001})*a")
    for refused in (Guard.__or__, Guard.__and__, Guard.__sub__, Guard.concatenate):
        with pytest.raises(ValueError, match="limit"):
            refused(first, second)
    assert not first.isdisjoint(second) and not first.issubset(second)
    assert Guard.parse("(a{2998})*").isdisjoint(Guard.parse("(a{3000})*a"))


@pytest.mark.parametrize(
    "value, text",
    [
        (Guard.parse("a+"), "a+"),
        ("a+", "a+"),
        (3, "a{3}"),
        (0, "a{0}"),
        (np.int32(3), "a{3}"),
        (range(2, 5), "a{2,4}"),
        (range(9, 0, -3), "a{3}|a{6}|a{9}"),
        (range(0), "∅"),
        (range(0, 4_000_000), "a{0,3999999}"),
        ({1, 4}, "a|a{4}"),
        (frozenset(), "∅"),
        ((2, 4), "a{2,4}"),
        ((2, None), "a{2,}"),
    ],
)
def test_of(value, text):
    assert Guard.of(value) == Guard.parse(text)


@pytest.mark.parametrize(
    "value, words",
    [
        (True, "not a number"),
        (-1, "negative"),
        (2.0, "not a number"),
        (None, "not a number"),
        ([1, 2], "not a number"),
        ({1, -2}, "negative"),
        ({1, "a"}, "not a number"),
        (range(-1, 3), "negative"),
        (range(10**12), "limit"),
        ((3, 2), "exchanged"),
        ((1, 2, 3), "two ends"),
        ((None, 2), "not a number"),
        ((1, True), "not a number"),
        ("a{", "not closed"),
    ],
)
def test_of_refuses(value, words):
    with pytest.raises(ValueError, match=words):
        Guard.of(value)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (((), 0, 0, ()), "period is 0"),
        (((3,), 3, 1, ()), "below the tail"),
        (((), 3, 2, (2,)), "outside"),
        (((), 3, 2, (5,)), "outside"),
        (((), -1, 2, ()), "negative"),
        (((), GUARD_LIMIT, 1, (GUARD_LIMIT,)), "limit"),
    ],
)
def test_from_normal_form_refuses(arguments, words):
    with pytest.raises(ValueError, match=words):
        Guard.from_normal_form(*arguments)


def test_repeat_refuses_exchanged_ends():
    with pytest.raises(ValueError, match="exchanged"):
        Guard.exactly(1).repeat(3, 2)


def test_questions():
    guard = Guard.parse("a{2}|a{5}(aa)*")
    assert [k for k in range(10) if k in guard] == [2, 5, 7, 9]
    assert 10**30 + 1 in guard and 10**30 not in guard
    assert np.int64(5) in guard and -1 not in guard and "a" not in guard and 2.0 not in guard
    assert (guard.minimum, guard.is_finite, guard.is_empty) == (2, False, False)
    nothing = Guard.from_lengths(())
    assert (nothing.minimum, nothing.is_finite, nothing.is_empty) == (None, True, True)
    assert nothing.terms() == () and not nothing.is_exactly(-1)
    assert Guard.exactly(0).is_exactly(0) and Guard.exactly(7).is_exactly(7)
    assert not guard.is_exactly(2) and not Guard.parse("a{1,2}").is_exactly(2)
    assert not Guard.parse("a{2}a*").is_exactly(1)


def test_is_a_value():
    guard = Guard("a+")
    assert guard == Guard.parse("aa*") and hash(guard) == hash(Guard.parse("aa*"))
    assert guard != "a+" and guard != Guard("a*")
    assert eval(repr(guard)) == guard
    assert pickle.loads(pickle.dumps(guard)) == guard == copy.deepcopy(guard)
    with pytest.raises(AttributeError, match="immutable"):
        guard.tail = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError, match="immutable"):
        del guard._tail
    with pytest.raises(TypeError):
        _ = guard | "a"  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize(
    "guard, terms",
    [
        (Guard("∅"), ()),
        (Guard("a{7}"), ((7, 7, 1),)),
        (Guard("a*"), ((0, None, 1),)),
        (Guard("a(aa)*"), ((1, None, 2),)),
        (Guard("a{1,9}") - Guard("a{4}"), ((1, 3, 1), (5, 9, 1))),
        (~Guard("a{4}"), ((0, 3, 1), (5, None, 1))),
        (Guard("(aa)*|a{5}"), ((0, None, 2), (5, 5, 1))),
        (Guard("a{1,3}|a{5}(aaa)*"), ((1, 3, 1), (5, None, 3))),
        (Guard.from_lengths({3, 7, 11, 15, 40}), ((3, 15, 4), (40, 40, 1))),
        (Guard("(a{6})*a{0,1}"), ((0, None, 6), (1, None, 6))),
    ],
)
def test_terms(guard, terms):
    assert guard.terms() == terms


def test_terms_from_a_minimum():
    assert Guard("(aa)*").terms(1) == ((2, None, 2),)
    assert Guard("a*").terms(3) == ((3, None, 1),)
    assert Guard("a{1,9}").terms(4) == ((4, 9, 1),)
    assert Guard("a{1,9}").terms(10) == ()
    assert Guard("a{2}(aaa)*").terms(1000) == ((1001, None, 3),)


def test_terms_of_a_semigroup_are_few():
    guard = Guard("(a{97}|a{109})*")
    terms = guard.terms()
    assert len(terms) < 200
    covered = [
        k for lo, hi, step in terms for k in range(lo, (12_000 if hi is None else hi) + 1, step)
    ]
    assert sorted(covered) == [k for k in range(12_001) if k in guard]


@pytest.mark.parametrize(
    "text",
    [
        *("∅", "a{0}", "a", "a{5}", "a{1,3}", "a{0,1}", "a*", "a+", "a{3,}", "a(aa)*"),
        *("a{5}(aaa)*", "(aa)*", "(a{7})*", "a{1,3}|a{5}(aaa)*", "(aa)*|a{5}", "a|a{4}"),
        *("(aa){0,4}", "a(a{5}){0,3}", "a{4,5}(a{9})*"),
    ],
)
def test_canonical_text(text):
    assert str(Guard.parse(text)) == text
    assert repr(Guard.parse(text)) == f"Guard({text!r})"


def test_irregular_work_is_refused():
    """Sums of two irregular sets would take minutes although the result is below the limit."""
    irregular = Guard.from_lengths(random.Random(0).sample(range(1_900_000), 300_000))
    started = time.thread_time()
    with pytest.raises(ValueError, match="too much work"):
        irregular.concatenate(irregular)
    assert time.thread_time() - started < 5


def test_large_counts_take_little_memory():
    """A file may hold a million rules a^n -> lambda with large n."""
    guards = [Guard.exactly(3_000_000), Guard.parse("a{2999990,3000000}"), Guard.of({2**21})]
    for guard in guards:
        assert len(pickle.dumps(guard)) < 200
        assert guard.minimum in guard and guard.tail - 1 in guard and guard.tail not in guard
        assert guard.terms() == ((guard.minimum, guard.tail - 1, 1),)


def test_guards_may_share_the_work_that_they_take(monkeypatch):
    """A file of many short guards, each of which takes some milliseconds, took hours."""
    monkeypatch.setattr("snpjax.spiking.model.guard._WORK_OF_FILE", 2**24)
    texts = [f"(a{{997}}|a{{{number}}})+" for number in range(100, 300)]
    with shared_budget():
        found = []
        for text in texts:
            try:
                found.append(Guard.parse(text))
            except GuardError as error:
                found.append(str(error))
                assert Guard.parse("a{7}a*") == Guard.interval(7)  # takes none
    num_read = sum(isinstance(guard, Guard) for guard in found)
    assert 1 < num_read < 100 and "take too much work" in found[-1]
    assert all(isinstance(guard, Guard) for guard in found[:num_read])
    assert Guard.parse(texts[-1]).period == 1  # on its own it is small


@pytest.mark.parametrize(
    "text",
    ["a", "a+", "a*", "aa*", "a{0}a*", "a^3", "a^3a*", "a{007}", "a{3,5}", "a{4,4}", "a{0,2}"],
)
def test_intervals_are_read_at_once(text, monkeypatch):
    evaluated = Guard.parse(f"({text})")
    _parsed_short.cache_clear()
    monkeypatch.setattr("snpjax.spiking.model.guard.read_guard", None)
    assert Guard.parse(text) == evaluated
