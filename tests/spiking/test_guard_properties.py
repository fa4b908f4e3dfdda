"""Guards against Python's `re` on words, and against sets of integers for the algebra."""

import itertools
import re

from hypothesis import assume, given, strategies as st

from snpjax.spiking.model.guard import Guard


BOUND = 60

_numbers = st.integers(0, 3)


@st.composite
def _repeated(draw, inner):
    # Python's `re` needs the group, or a quantifier of a quantifier would be lazy or possessive.
    body = f"({draw(inner)})"
    low = draw(_numbers)
    return body + draw(
        st.sampled_from(
            ["*", "+", "?", f"{{{low}}}", f"{{{low},}}", f"{{{low},{low + draw(_numbers)}}}"]
        )
    )


expressions = st.recursive(
    st.sampled_from(["a", "aa", "aaa", "a{5}", "a*", "a{2,}", "(aaa)*", "a{7}"]),
    lambda inner: (
        _repeated(inner)
        | st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})")
        | st.tuples(inner, inner).map("".join)
    ),
    max_leaves=4,
)


@st.composite
def normal_forms(draw):
    """The arguments of `from_normal_form`, reduced or not."""
    tail, period = draw(st.integers(0, 12)), draw(st.integers(1, 8))
    finite = draw(st.sets(st.integers(0, tail - 1))) if tail else set()
    residues = draw(st.sets(st.integers(tail, tail + period - 1)))
    return finite, tail, period, residues


guards = normal_forms().map(lambda form: Guard.from_normal_form(*form))


def members(guard, bound=BOUND):
    return {k for k in range(bound) if k in guard}


def sums(first, second, bound=BOUND):
    return {i + j for i, j in itertools.product(first, second) if i + j < bound}


def power(counts, exponent):
    result = {0}
    for _ in range(exponent):
        result = sums(result, counts)
    return result


def closure(counts):
    result = {0}
    while (larger := result | sums(result, counts)) != result:
        result = larger
    return result


@given(expressions)
def test_parse_agrees_with_re(text):
    # `re` backtracks, so words stay short: nested stars cost up to 2^length.
    guard, pattern = Guard.parse(text), re.compile(text)
    assert members(guard, 13) == {k for k in range(13) if pattern.fullmatch("a" * k)}


@given(expressions)
def test_other_spellings_agree(text):
    spelled = re.sub(r"\{(\d+)\}", r"^{\1}", text)
    spelled = spelled.replace("*", r"^{\ast}").replace("|", r" \cup ")
    assert Guard.parse(f"^ {spelled} $") == Guard.parse(text)


@given(normal_forms())
def test_from_normal_form_holds_what_it_says(form):
    finite, tail, period, residues = form
    later = {r + i * period for r in residues for i in range(BOUND) if r + i * period < BOUND}
    assert members(Guard.from_normal_form(*form)) == finite | later


@given(guards)
def test_normal_form_is_least(guard):
    finite, tail, period, residues = guard.finite, guard.tail, guard.period, guard.residues
    assert all(k < tail for k in finite) and all(tail <= k < tail + period for k in residues)
    assert Guard.from_normal_form(finite, tail, period, residues) == guard
    inside = [k in guard for k in range(tail + 3 * period)]
    if not residues:
        assert period == 1
    for shorter in range(1, period):
        assert any(inside[k] != inside[k + shorter] for k in range(tail, tail + 2 * period))
    if tail:
        assert inside[tail - 1] != inside[tail - 1 + period]


@given(normal_forms(), st.integers(1, 4), st.integers(0, 9))
def test_equal_languages_are_equal_objects(form, factor, extra):
    finite, tail, period, residues = form
    guard = Guard.from_normal_form(*form)
    longer, new_tail = factor * period, tail + extra
    again = Guard.from_normal_form(
        {k for k in range(new_tail) if k in guard},
        new_tail,
        longer,
        {k for k in range(new_tail, new_tail + longer) if k in guard},
    )
    assert again == guard and hash(again) == hash(guard)
    assert (finite, residues) != (set(), set()) or guard.is_empty


@given(guards, guards)
def test_equality_is_equality_of_languages(first, second):
    # Two sets with tails below 13 and periods below 9 are equal iff they agree below 13 + lcm.
    assert (first == second) == (members(first, 200) == members(second, 200))


@given(guards, guards)
def test_set_operations(first, second):
    left, right = members(first), members(second)
    assert members(first | second) == left | right
    assert members(first & second) == left & right
    assert members(first - second) == left - right
    assert members(~first) == set(range(BOUND)) - left
    assert ~~first == first
    assert first - second == first & ~second
    assert first.isdisjoint(second) == (first & second).is_empty
    assert first.issubset(second) == (first - second).is_empty
    assert first.issubset(first | second) and (first & second).issubset(second)


@given(guards, guards)
def test_concatenation(first, second):
    product = first.concatenate(second)
    assert members(product) == sums(members(first), members(second))
    assert product == second.concatenate(first)
    assert members(product, 200) == sums(members(first, 200), members(second, 200), 200)


@given(guards, st.integers(0, 4), st.none() | st.integers(0, 3))
def test_repetition(guard, low, more):
    counts = members(guard)
    assert members(guard.star()) == closure(counts)
    assert guard.star().star() == guard.star()
    least = power(counts, low)
    if more is None:
        assert members(guard.repeat(low)) == sums(least, closure(counts))
    else:
        expected = set().union(*(power(counts, low + i) for i in range(more + 1)))
        assert members(guard.repeat(low, low + more)) == expected


@given(st.sets(st.integers(1, 40), max_size=5))
def test_star_of_finite_sets_is_the_semigroup(counts):
    reachable = [True] + [False] * 1999
    for k in range(1, 2000):
        reachable[k] = any(c <= k and reachable[k - c] for c in counts)
    star = Guard.from_lengths(counts).star()
    assert [k in star for k in range(2000)] == reachable


@given(guards | st.sets(st.integers(0, 300)).map(Guard.from_lengths))
def test_text_reads_back(guard):
    assert Guard.parse(str(guard)) == guard
    assert str(Guard.parse(str(guard))) == str(guard)


@given(
    guards | st.sets(st.integers(0, 300), max_size=150).map(Guard.from_lengths), st.integers(0, 70)
)
def test_terms_cover_the_guard_once(guard, minimum):
    terms = guard.terms(minimum)
    bound = 400
    covered = [
        k for lo, hi, step in terms for k in range(lo, bound if hi is None else hi + 1, step)
    ]
    assert sorted(covered) == [k for k in range(minimum, bound) if k in guard]
    for lo, hi, step in terms:
        assert lo >= minimum and step >= 1
        assert hi is None or (hi >= lo and (hi - lo) % step == 0 and (hi > lo or step == 1))
    assert [lo for lo, _, _ in terms] == sorted(lo for lo, _, _ in terms)


@given(guards)
def test_questions(guard):
    counts = members(guard)
    assert guard.minimum == min(counts, default=None)
    assert guard.is_empty == (not counts)
    assert guard.is_finite == (not guard.residues)
    for n in range(15):
        assert guard.is_exactly(n) == (guard == Guard.exactly(n))


@given(st.integers(0, 30), st.integers(0, 30))
def test_intervals(low, more):
    assert members(Guard.interval(low, low + more), 80) == set(range(low, low + more + 1))
    assert members(Guard.interval(low), 80) == set(range(low, 80))
    assert Guard.interval(low, low + more) == Guard.of(range(low, low + more + 1))


@given(st.text(alphabet="a()|*+?{},^$0123 U\\\\∅b.", max_size=12))
def test_any_text_is_read_or_refused_inside_it(text):
    try:
        guard = Guard.parse(text)
    except ValueError as error:
        assert 0 <= error.position <= len(text)  # pyright: ignore[reportAttributeAccessIssue]
        return
    plain = text.strip().strip("^$ ")
    assume(not set(plain) & set("^$U\\∅ ") and "{,}" not in plain)
    assert members(guard, 10) == {k for k in range(10) if re.fullmatch(plain, "a" * k)}
