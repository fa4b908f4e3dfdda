"""What is decided of all paths at once is so of each of them."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from snpjax.check.query.formula import comparisons
from snpjax.check.query.parse import parse_query
from snpjax.check.temporal.kripke import Structure
from snpjax.check.temporal.labels import Labelling
from snpjax.check.temporal.paths import Checker
from snpjax.check.temporal.product import Path
from snpjax.check.temporal.vacuity import along, vacuous
from tests.support.helpers import many
from tests.support.lassos import Lasso, is_true, lassos, truths


NAMES = ("p", "q", "r")
MAX_LENGTH = 5

#: What is checked on all paths; conditions in capitals.
ON_ALL_PATHS = """
P; always P; never P; eventually P; next P; infinitely often P; steady P; P until Q; P weak until Q
P followed by Q; P preceded by Q; always eventually P; eventually always P; always next P
always (P implies next Q); always (P implies eventually Q); always (P implies next next Q)
always (P or next (Q or next R)); eventually next P; next eventually P; next always P
always (P implies (Q until R)); always (P implies always Q); (next P) until Q
(eventually P) until Q
(always eventually P) weak until Q; eventually (P until Q); eventually (P or eventually Q)
eventually P or eventually Q; next P or next Q; (infinitely often P) or (infinitely often Q)
eventually P and always Q and steady R; P implies (eventually Q and next R)
eventually (P and always Q); eventually (P and always (Q and R)); eventually (P and never Q)
steady (always P); steady next P; infinitely often next P; infinitely often steady P
steady eventually P; infinitely often eventually P; steady (infinitely often P and steady Q)
eventually steady P; eventually infinitely often P; eventually (steady P and infinitely often Q)
(P and next Q) until (not P and next R); (P and eventually Q) weak until (not P and always R)
not (P until Q); not (P weak until Q); not eventually P; not infinitely often P
not (P followed by Q)
not (always P); not (P preceded by Q); not (P until next Q); not next P; not steady P
(always P) implies Q; (P followed by Q) and (Q followed by R); always (P preceded by Q)
always (P followed by Q); next (P followed by Q); always never P; never eventually P
always (next P or next Q); always (eventually P or (Q or eventually R)); not not eventually P
(steady P) and (P until (P and Q)); (not P and next Q) until (P and next R)
"""

#: Of the same kind, but about some path.
ON_SOME_PATH = """
P; always P; never P; eventually P; next P; infinitely often P; steady P; P until Q; P weak until Q
P followed by Q; P preceded by Q; eventually (P and next Q); eventually (P and eventually Q)
eventually always P; always eventually P; P until (Q and next R); next P and next Q
always P and always Q; eventually (P and always Q); eventually P or eventually Q; not (P until Q)
not (P followed by Q); infinitely often P or steady Q; eventually (P and infinitely often Q)
P until (always Q); P until eventually Q; (steady P) and (steady Q); not (P preceded by Q)
"""


def patterns(text):
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


conditions = st.sampled_from(
    ["p = 1", "q = 1", "r = 1", "p + q = 1", "p <= q", "not r = 1", "(p = 1 and q = 0)", "p >= 0"]
)


@st.composite
def queries(draw):
    """A pattern with conditions put in."""
    all_paths = draw(st.booleans())
    text = draw(st.sampled_from(patterns(ON_ALL_PATHS if all_paths else ON_SOME_PATH)))
    for letter in "PQR":
        text = text.replace(letter, f"({draw(conditions)})")
    return text if all_paths else f"on some path ({text})"


def formulas():
    """Anything."""
    unary = ["always", "never", "eventually", "next", "infinitely often", "steady", "not"]
    binary = "until, weak until, followed by, preceded by, implies, and, or".split(", ")
    quantifiers = st.sampled_from(["", "on some path ", "on all paths "])
    some = st.recursive(
        conditions,
        lambda below: st.one_of(
            st.builds("{} ({})".format, st.sampled_from(unary), below),
            st.builds("({1}) {0} ({2})".format, st.sampled_from(binary), below, below),
        ),
        max_leaves=4,
    )
    return st.builds("{}{}".format, quantifiers, some)


@st.composite
def structures(draw):
    """Successors of every state, and the values of `NAMES`."""
    size = draw(st.integers(1, 5))
    own = st.lists(st.integers(0, size - 1), min_size=1, max_size=2)
    successors = draw(st.lists(own, min_size=size, max_size=size))
    bits = st.lists(st.integers(0, 1), min_size=len(NAMES), max_size=len(NAMES))
    return successors, draw(st.lists(bits, min_size=size, max_size=size))


def holds_at(values):
    def holds(comparison, state):
        total = sum(x * values[state][NAMES.index(v.neuron)] for v, x in comparison.terms)
        difference = total - comparison.constant
        match comparison.relation:
            case "=":
                return difference == 0
            case "<=":
                return difference <= 0
        return difference >= 0

    return holds


def checker_of(successors, values, query, is_open=()):
    size, holds = len(successors), holds_at(values)
    own = [[] if state in is_open else successors[state] for state in range(size)]
    structure = Structure(
        np.cumsum([0, *map(len, own)]),
        np.asarray([target for some in own for target in some], np.int32),
        np.asarray([state in is_open for state in range(size)]),
    )
    truth = {}
    for comparison in comparisons(query.formula):
        column = np.asarray([holds(comparison, state) for state in range(size)])
        truth[comparison] = (column, column)
    return Checker(structure, Labelling(size, truth))


def check_on_paths(text, successors, values):
    query = parse_query(text)
    checker = checker_of(successors, values, query)
    holds = holds_at(values)
    sure, may = (checker.holds(query.quantified, may=may) for may in (False, True))
    assert np.array_equal(sure, may)
    for initial in range(len(successors)):
        path = checker.path(query.quantified, initial)
        assert (path is None) == (sure[initial] == query.on_all_paths)
        assert checker.may_have_path(query.quantified, initial) == (path is not None)
        if path is None:
            kept = (
                is_true(query.formula, lasso, holds) == query.on_all_paths
                for lasso in lassos(successors, initial, MAX_LENGTH)
            )
            assert all(kept), "a path that was overlooked"
        else:
            assert_path(path, successors, initial)
            for lasso in continued(path, successors):
                assert is_true(query.formula, lasso, holds) != query.on_all_paths


def assert_path(path, successors, initial):
    assert path.states[0] == initial
    steps = zip(path.states[:-1], path.states[1:], strict=True)
    assert all(target in successors[source] for source, target in steps)
    if path.loop is not None:
        assert path.loop < len(path.states) - 1
        assert path.states[-1] == path.states[path.loop]


def continued(path, successors):
    """The path if it never ends, or all ways to go on, as far as they are short."""
    if path.loop is not None:
        return [Lasso(tuple(path.states[:-1]), path.loop)]
    before = tuple(path.states[:-1])
    return [
        Lasso(before + lasso.states, lasso.loop + len(before))
        for lasso in lassos(successors, path.states[-1], 4)
    ]


@given(queries(), structures())
def test_patterns_are_right_on_every_path(text, structure):
    check_on_paths(text, *structure)


@given(formulas(), structures())
def test_formulas_are_right_on_every_path(text, structure):
    check_on_paths(text, *structure)


@pytest.mark.slow
@settings(max_examples=many(15_000, part=64))
@given(st.one_of(queries(), formulas()), structures())
def test_many_formulas(text, structure):
    check_on_paths(text, *structure)


@given(queries(), structures(), st.data())
def test_what_is_not_known_changes_no_answer(text, structure, data):
    successors, values = structure
    query = parse_query(text)
    form = query.quantified
    is_open = data.draw(st.sets(st.integers(0, len(successors) - 1)))
    whole = checker_of(successors, values, query).holds(form, may=True)
    part = checker_of(successors, values, query, is_open)
    sure, may = part.holds(form, may=False), part.holds(form, may=True)
    assert not np.any(sure & ~whole) and not np.any(whole & ~may)


def test_witnesses_are_shortest():
    """Two ways to the goal, of 3 and of 2 steps; two loops, of 3 and of 1."""
    successors = [[1, 4], [2], [3], [3], [3, 0]]
    values = [[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]
    for text, states, loop in (
        ("never p = 1", [0, 4, 3], None),
        ("eventually q = 1", [0, 4, 0], 0),
        ("always (p = 1 implies eventually p = 0)", [0, 4, 3, 3], 2),
        ("next next p = 1", [0, 1, 2], None),
    ):
        query = parse_query(text)
        checker = checker_of(successors, values, query)
        assert not checker.holds(query.quantified, may=True)[0]
        path = checker.path(query.quantified, 0)
        assert path is not None and (path.states, path.loop) == (states, loop)


def test_a_long_chain_is_checked_in_one_search():
    """A level for every state: 300,000 of them would take minutes one by one."""
    size = 300_000
    targets = np.minimum(np.arange(1, size + 1), size - 1).astype(np.int32)
    structure = Structure(np.arange(size + 1), targets, np.zeros(size, bool))
    query = parse_query("eventually p = 1")
    last = np.arange(size) == size - 1
    (comparison,) = comparisons(query.formula)
    checker = Checker(structure, Labelling(size, {comparison: (last, last)}))
    assert checker.holds(query.quantified, may=False).all()
    never = Checker(structure, Labelling(size, {comparison: (~last & last, ~last & last)}))
    path = never.path(query.quantified, 0)
    assert path is not None and len(path.states) == size + 1


def test_several_edges_between_two_states():
    """A structure on which scipy's components never end, if each edge is given to it."""
    counts = [6, 2, 2, 2, 2, 1, 1, 3, 2, 3, 2, 1, 1, 3, 2, 1, 6, 4, 2, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2]
    counts += [0, 2, 2, 0, 0, 0, 0]
    targets = "1 2 3 4 5 6 7 8 9 10 8 8 10 10 11 12 13 14 15 14 14 16 17 18 17 17 14 17 19 20 21"
    targets += " 20 20 20 22 23 24 25 26 27 24 25 24 25 24 25 28 28 29 29 30 30 31 31 32 33 32 33"
    targets += " 29 29 33 33 33 33"
    first_edge = np.concatenate([[0], np.cumsum(counts)])
    numbers = np.asarray(targets.split(), np.int32)
    structure = Structure(first_edge, numbers, np.diff(first_edge) == 0)
    assert not structure.on_cycles().any()
    assert structure.targets.tolist() == numbers.tolist()
    assert np.diff(structure.first_edge).tolist() == counts


# ---- triggers that never occur ----

TRIGGERS = "P; next P; eventually P; always P; P until Q; P weak until Q; next next P; never P"


def after(successors, states):
    return {target for state in states for target in successors[state]}


def from_on(successors, states):
    found = set(states)
    while more := after(successors, found) - found:
        found |= more
    return found


def now(successors):
    return {0}


def then(successors):
    return after(successors, {0})


def ever(successors):
    return from_on(successors, {0})


#: Where the trigger of a query is looked at.
PLACES = {
    "T implies R": now,
    "(T implies R) and always R": now,
    "next (T implies R)": then,
    "R or next (T implies R)": then,
    "always (T implies R)": ever,
    "eventually (T implies R)": ever,
    "R until (T implies R)": ever,
    "T followed by R": ever,
    "T preceded by R": ever,
    "never (T and p >= 0)": ever,
    "always (not T or R)": ever,
    "next next always (T implies R)": lambda x: from_on(x, after(x, then(x))),
}


@st.composite
def triggers(draw):
    """A trigger, a query that has it, and where it is looked at."""
    place = draw(st.sampled_from(list(PLACES)))
    trigger = draw(st.sampled_from(patterns(TRIGGERS)))
    for letter in "PQ":
        trigger = trigger.replace(letter, f"({draw(conditions)})")
    # What never comes together would be triggers of their own, as would a negation in the response.
    assume(not trigger.startswith("never ((p = 1 and"))
    response = draw(conditions.filter(lambda text: not text.startswith("not")))
    text = place.replace("R", f"({response})").replace("T", f"({trigger})")
    return parse_query(trigger), parse_query(text), PLACES[place]


def reached(structure):
    """The part of a structure that state 0 leads to."""
    successors, values = structure
    kept = sorted(ever(successors))
    return [[kept.index(x) for x in successors[s]] for s in kept], [values[s] for s in kept]


@given(triggers(), structures())
def test_a_trigger_is_remarked_if_it_never_occurs(triggered, structure):
    """On any path from where it is looked at, or on the path shown."""
    trigger, query, place = triggered
    successors, values = reached(structure)
    holds = holds_at(values)
    checker = checker_of(successors, values, query)

    def is_remarked(structure, labels):
        return any(vacuous(query, structure, labels, "is never true"))

    occurs = any(
        is_true(trigger.formula, lasso, holds)
        for state in place(successors)
        for lasso in lassos(successors, state, MAX_LENGTH)
    )
    assert is_remarked(checker.structure, checker.labels) == (not occurs)
    lasso = next(lassos(successors, 0, MAX_LENGTH))
    path = Path([*lasso.states, lasso.states[lasso.loop]], lasso.loop)
    positions = place([[lasso.after(x)] for x in range(len(lasso.states))])
    occurs = any(truths(trigger.formula, lasso, holds)[x] for x in positions)
    assert is_remarked(*along(path, checker.labels)) == (not occurs)


def test_remarks_on_a_path_do_not_repeat_what_holds_on_other_paths():
    query = parse_query("(next (q = 1)) implies (p = 1)")
    checker = checker_of([[0, 1], [0]], [[0, 0, 0], [0, 1, 0]], query)
    assert not any(vacuous(query, checker.structure, checker.labels, "never"))
    on_the_loop = along(Path([0, 0], 0), checker.labels)
    assert list(vacuous(query, *on_the_loop, "never")) == ["`next (q = 1)` never"]


@given(triggers(), structures(), st.data())
def test_nothing_is_remarked_that_may_yet_occur(triggered, structure, data):
    _, query, place = triggered
    assume(place in (now, ever))  # which are known without the successors
    successors, values = reached(structure)
    is_open = data.draw(st.sets(st.integers(0, len(successors) - 1)))
    part = checker_of(successors, values, query, is_open)
    whole = checker_of(successors, values, query)
    remarks = set(vacuous(query, part.structure, part.labels, "is never true"))
    assert remarks <= set(vacuous(query, whole.structure, whole.labels, "is never true"))
