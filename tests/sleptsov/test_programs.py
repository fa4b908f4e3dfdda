"""Programs that are nets, against Python integers."""

import json
import re
import warnings
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import snpjax as snp
from snpjax.sleptsov import (
    Arcs,
    Composition,
    HighNet,
    InvalidNet,
    Program,
    SleptsovNet,
    SubNet,
    Substitution,
    link,
    net_of_text,
)
from snpjax.sleptsov.programs import (
    addition_chain,
    double_exponent,
    matrix_product,
    polynomial,
    product_chain,
    started,
)
from snpjax.sleptsov.subnets import LIBRARY, add, clean_move, copy
from snpjax.testing.reference_sleptsov import Reference
from tests.support.helpers import SHARED, needs_shared


CASES = SHARED / "cases" / "sleptsov"
SMALL = st.integers(0, 40)


def final(net: SleptsovNet) -> tuple[int, ...]:
    """The marking in which the net halts."""
    ended = Reference(net).run(max_steps=100_000)
    assert ended.status == "halted"
    return ended.marking


def answer(program: Program) -> Any:
    found = program.decode(final(program.net))
    return found.tolist() if isinstance(found, np.ndarray) else found


def published(name: str) -> SleptsovNet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return snp.read_net(CASES / name)


# Sub-nets


@settings(max_examples=40)
@given(a=SMALL, b=SMALL, name=st.sampled_from(["add", "mul"]))
def test_operations(a, b, name):
    program = started(LIBRARY[name](), a, b)
    marking = final(program.net)
    assert program.decode(marking) == (a + b if name == "add" else a * b)
    assert program.is_done(marking) and not program.is_done(program.net.marking)
    # The control is at rest again, but for the finish place, and the arguments are consumed.
    rest = LIBRARY[name]().net.marking.copy()
    rest[[program.done[0], int(program.answers)]] = 0, program.decode(marking)
    assert marking == tuple(rest.tolist())


@given(a=SMALL, b=SMALL)
def test_transfers(a, b):
    """A copy adds to what is there; a clean-and-move puts in its place."""
    for subnet, expected in ((copy(), (a, a + b)), (clean_move(), (0, a))):
        net = started(subnet, a).net
        marking = net.marking.copy()
        marking[subnet.output] = b
        assert final(net.replace(marking=marking))[:2] == expected


@pytest.mark.parametrize("name", LIBRARY)
@needs_shared
def test_published_subnets(name):
    assert LIBRARY[name]().net == published(f"hsn/{name}.lsn")


# Chains, polynomials, products of matrices


@settings(max_examples=30)
@given(numbers=st.lists(st.integers(0, 9), min_size=2, max_size=5))
def test_chains(numbers):
    assert answer(addition_chain(numbers)) == sum(numbers)
    assert answer(product_chain(numbers[:4])) == int(np.prod(numbers[:4]))


@settings(max_examples=20)
@given(coefficients=st.lists(st.integers(0, 9), min_size=2, max_size=4), x=st.integers(0, 6))
def test_polynomials(coefficients, x):
    expected = sum(c * x**power for power, c in enumerate(coefficients))
    assert answer(polynomial(coefficients, x)) == expected


@settings(max_examples=9)
@given(entries=st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_products_of_matrices(entries):
    a, b = np.reshape(entries, (2, 2, 2))
    program = matrix_product(a, b)
    marking = final(program.net)
    assert program.decode(marking).tolist() == (a @ b).tolist()
    # What is multiplied keeps its value.
    assert np.array(marking)[[10, 11]].tolist() == [program.net.marking[10], marking[11]]


def test_answers_of_a_batch():
    program = started(add(), 7, 5)
    marking = np.stack([final(started(add(), a, 5).net) for a in range(4)], axis=1)
    assert program.decode(marking).tolist() == [5, 6, 7, 8]
    assert program.is_done(marking).all()
    square = matrix_product(np.eye(2, dtype=int), [[1, 2], [3, 4]])
    both = np.stack([final(square.net)] * 2, axis=1)
    assert square.decode(both)[..., 1].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("levels", [1, 2])
def test_double_exponents(levels):
    program = double_exponent(levels)
    ended = Reference(program.net).run()
    assert ended.steps == {1: 36, 2: 306}[levels]
    assert all(copies == 1 for _, _, copies in ended.trace)
    assert program.decode(ended.marking).tolist() == [2 ** (2**levels)] * 3


@needs_shared
@pytest.mark.parametrize("name", ["d1", "d2", "d3", "d4", "d5_20000"])
def test_published_double_exponents(name):
    assert double_exponent(int(name[1])).net == published(f"nets/{name}.lsn")


@needs_shared
@pytest.mark.parametrize("name", ["add_1", "add_10", "mul_3", "mul_10"])
def test_published_chains(name):
    net = published(f"nets/{name}.lsn")
    k = int(name[4:])
    numbers = net.marking[[k + 1, *range(k + 2, 3 * k + 2, 2)]].tolist()
    program = (addition_chain if name.startswith("add") else product_chain)(numbers)
    assert program.net == net
    assert program.answers == 3 * k + 1


@needs_shared
@pytest.mark.parametrize("name", ["pol_2", "pol_2_wide", "pol_3", "pol_10"])
def test_published_polynomials(name):
    case = json.loads((CASES / f"expected/{name}.json").read_text())
    known = {"pol_2_wide": ([1, 0, 2], 50_000), "pol_2": ([1, 5, 8], 2)}
    if name not in known:
        x, listed = re.findall(
            r"at x=(\d+), coefficients from the highest: ([\d ]+)", case["what"]
        )[0]
        known[name] = [int(c) for c in listed.split()][::-1], int(x)
    program = polynomial(*known[name])
    assert program.net == published(case["net"])
    assert int(program.answers) == case["answer"][0]["place"]
    assert program.decode(np.array(case["runs"][0]["final_marking"])) == case["answer"][0]["value"]


@needs_shared
@pytest.mark.parametrize("name", ["mmul_2", "mmul_2b", "mmul_3", "mmul_3b", "mmul_4"])
def test_published_products_of_matrices(name):
    case = json.loads((CASES / f"expected/{name}.json").read_text())
    a, b = (json.loads(text) for text in re.findall(r"\[\[.*?\]\]", case["what"]))
    program = matrix_product(a, b)
    assert program.net == published(case["net"])
    assert program.answers.ravel().tolist() == [entry["place"] for entry in case["answer"]]
    final_marking = np.array(case["runs"][0]["final_marking"])
    assert program.decode(final_marking).tolist() == (np.array(a) @ b).tolist()


def sizes(net: SleptsovNet) -> tuple[int, int, int]:
    """Places, transitions and the most arcs that one transition has on one side."""
    n = net.num_transitions
    inputs = [np.bincount(a.transition, minlength=n) for a in (net.inputs, net.inhibitors)]
    outputs = np.bincount(net.outputs.transition, minlength=n)
    return net.num_places, n, int(max(np.max(sum(inputs)), np.max(outputs)))


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_sizes(k):
    """Those of the published nets."""
    q = k * (k + 1) // 2
    assert sizes(addition_chain([1] * (k + 1)).net) == (17 * k + 2, 17 * k, 4)
    assert sizes(product_chain([1] * (k + 1)).net) == (27 * k + 2, 30 * k, 4)
    assert sizes(polynomial([1] * (k + 1), 2).net) == (27 * q + 17 * k + 2, 30 * q + 17 * k, 4)
    d = double_exponent(k)
    assert sizes(d.net) == (22 * k + 2, 19 * k - 4, 7)
    assert d.answers.tolist() == [22 * k - 1, 22 * k, 22 * k + 1]
    if k > 1:
        check_matrix_product(k)


def check_matrix_product(k: int) -> None:
    program = matrix_product(np.ones((k, k), int), np.ones((k, k), int))
    expected = 44 * k**3 - 15 * k**2 + 2, 47 * k**3 - 17 * k**2 + 2, k**2 + 1
    assert sizes(program.net) == expected
    blocks = np.arange(k * k).reshape(k, k)
    assert program.answers.tolist() == (6 * k + blocks * (6 * k - 1)).tolist()


@pytest.mark.slow
def test_the_product_of_20_by_20_is_linked():
    check_matrix_product(20)


# Composition


@needs_shared
def test_published_mixture():
    """p7 := p5 * p6, a plain transition, p9 := p7 + p8."""
    program = Composition()
    controls = [program.control(running=t == 0) for t in range(4)]
    a, b, product, c, total = (program.data(n) for n in (6, 7, 0, 4, 0))
    # The file has the arcs of its transitions in another order, which does not count.
    program.mul(a, b, product, *controls[:2])
    program.step(*controls[1:3])
    program.add(product, c, total, *controls[2:])
    assert program.link() == published("hsn/mixed.hsn") == published("nets/mixed.lsn")
    assert final(program.link())[total] == 46


@needs_shared
def test_published_subnet_of_a_user():
    net = net_of_text(
        "t1: p1 !p3 -> 2p2\nt2: p4 !p1 !p3 -> p3",
        {"p3": 1, "p4": 1},
        places=["p1", "p2", "p3", "p4"],
    )
    double = SubNet(net, (0,), 1, 2, 3)
    program = Composition()
    controls = [program.control(running=t == 0) for t in range(3)]
    x, twice, y, total = (program.data(n) for n in (21, 99, 8, 5))
    program.call(double, [x], twice, *controls[:2], name="double.lsn")
    program.add(twice, y, total, *controls[1:])
    assert program.link() == published("nets/user_subnet.lsn")
    assert final(program.link())[3:7] == (21, 42, 8, 50)


@settings(max_examples=12)
@given(numbers=st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_parts_that_run_at_once(numbers):
    """(a * b + c) * (d + e + f), both factors at once, into the place of a."""
    a, b, c, d, e, f = numbers
    program = Composition()
    start, finish, joined = program.control(running=True), program.control(), program.control()
    left = [program.control() for _ in range(3)]
    right = [program.control() for _ in range(3)]
    places = [
        program.data(number, name=name) for number, name in zip(numbers, "abcdef", strict=True)
    ]
    x, y = program.data(name="x"), program.data(name="y")
    program.fork(start, [left[0], right[0]])
    program.mul(places[0], places[1], x, left[0], left[1])
    program.add(x, places[2], x, left[1], left[2])
    program.add(places[3], places[4], y, right[0], right[1])
    program.add(y, places[5], y, right[1], right[2])
    program.join([left[2], right[2]], joined)
    program.mul(x, y, places[0], joined, finish)
    net = program.link()
    marking = dict(zip(net.place_names, final(net), strict=True))
    assert marking["a"] == (a * b + c) * (d + e + f)
    assert [marking[name] for name in "bcdef"] == numbers[1:]
    assert marking["p2"] == 0 and "t2.copy1.p4" in marking


def test_plain_transitions_of_a_program():
    """7 = 2 * 3 + 1: fives and twos are counted by priority."""
    program = Composition()
    amount, threes, rest = program.data(7), program.data(), program.data()
    first = program.transition([amount] * 3, [threes], name="three")
    second = program.transition([amount], [rest])
    program.priority(first, second)
    net = program.link()
    assert net.inputs.triples() == [(0, 0, 3), (0, 1, 1)]
    assert final(net) == (0, 2, 1)
    assert net.transition_names == ("three", "t2")


def test_a_program_within_a_program():
    """The square of a sum, by a sub-net that is a program itself."""
    inner = Composition()
    start, middle, finish = (inner.control() for _ in range(3))
    a, b, total, again, square = (inner.data() for _ in range(5))
    inner.add(a, b, total, start, middle)
    zero = inner.data()
    second, third = inner.control(), inner.control()
    inner.step(middle, second)
    inner.add(total, zero, again, second, third)
    inner.mul(total, again, square, third, finish)
    high = inner.high_net()
    for subnet in (high, link(high)):
        outer = SleptsovNet(
            [0, 1, 3, 4, 0],
            inputs=Arcs.of([(1, 0, 1)]),
            outputs=Arcs.of([(0, 0, 1)]),
            inhibitors=Arcs.of([(0, 0, 1)]),
        )
        one = Substitution(0, subnet, ((2, a), (3, b)), (4, square), (0, start), (1, finish))
        assert final(link(HighNet(outer, (one,))))[:5] == (1, 0, 3, 4, 49)


# Mistakes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: addition_chain([1]), "at least two"),
        (lambda: addition_chain([]), "Give a list"),
        (lambda: product_chain([1, -2]), "holds -2"),
        (lambda: product_chain([1, 2**63]), "does not fit"),
        (lambda: polynomial([1], 2), "at least two coefficients"),
        (lambda: polynomial([1, 2], -1), "`x` holds -1"),
        (lambda: matrix_product([[1]], [[1]]), "2 or more"),
        (lambda: matrix_product([[1, 2]], [[1], [2]]), "Give two square ones"),
        (lambda: matrix_product([[1, 2], [3, 4]], [[1, 2], [3, -4]]), "`b` holds -4"),
        (lambda: matrix_product([[0.5, 2], [3, 4]], [[1, 2], [3, 4]]), "float64"),
        (lambda: double_exponent(0), "1 or more"),
        (lambda: started(add(), 1), "takes 2 inputs, not 1"),
        (lambda: started(add(), 1, 2).decode(started(add(), 1, 2).net.marking), "not at its end"),
        (lambda: started(add(), 1, 2).decode([1, 2]), "5 places"),
        (lambda: Composition().add(1, 1, 2, 3, 4), r"twice among the inputs \[2, 2\]"),
        (lambda: Composition().call(copy(), [1, 2], 0, 3, 4), "takes 1 input, not 2"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_mistakes_of_substitutions_are_told_at_once():
    plain = net_of_text("t: a -> b\nu: b -> a\nt > u", {"a": 1})
    inner, nothing = add().net, SleptsovNet([0], inputs=Arcs.none(), outputs=Arcs.none())
    unused = (0, 0)
    one = Substitution(0, inner, ((0, 0), (9, 1)), (1, 2), (0, 7), (1, 4))
    none = Substitution(0, nothing, (), unused, unused, unused)
    far = Substitution(5, inner, ((0, 0),), unused, unused, unused)
    with pytest.raises(ValueError) as caught:
        HighNet(plain, (one, none, far))
    for piece in (
        "input: place 10 is out of range (there are 2)",
        "start: place 8 is outside of the sub-net, which has 5 places",
        "transition 1 is substituted twice",
        "has no transition",
        "has no input",
        "no transition 6 to substitute",
        "a priority names transition 1",
    ):
        assert piece in str(caught.value)
    ordered = plain.replace(order=[0, 1])
    with pytest.raises(ValueError, match="given order"):
        HighNet(ordered, ())
    with pytest.raises(ValueError, match="given order"):
        HighNet(plain, (Substitution(1, ordered, ((0, 0),), unused, unused, unused),))


# Nets as text


def test_nets_as_text():
    net = net_of_text(
        "t: 2a !b !3c ?4d -> a 5e  # a comment\n\nu: e ->\nt > u",
        {"d": 7, "x": 1},
        places=[*"abcdex"],
    )
    assert net.place_names == ("a", "b", "c", "d", "e", "x")
    assert net.transition_names == ("t", "u")
    assert net.marking.tolist() == [0, 0, 0, 7, 0, 1]
    assert net.inputs.triples() == [(0, 0, 2), (4, 1, 1)]
    assert net.inhibitors.triples() == [(1, 0, 1), (2, 0, 3)]
    assert net.tests.triples() == [(3, 0, 4)]
    assert net.outputs.triples() == [(0, 0, 1), (4, 0, 5)]
    assert net.priorities.tolist() == [[0, 1]]


def test_a_misspelt_place_of_a_marking_is_refused():
    """It used to be one more place, and the net halted at once."""
    with pytest.raises(
        ValueError, match=r"`marking`: there is no place 'X' \(did you mean 'x'\?; "
    ):
        net_of_text("t: x -> y", {"X": 1})
    net = net_of_text("t: x -> y", {"x": 1, "z": 2}, places=["x", "y", "z"])
    assert net.marking.tolist() == [1, 0, 2]


def test_mistakes_of_texts_are_told_at_once():
    with pytest.raises(ValueError) as caught:
        net_of_text("t: a -> !b\nt: 2 -> a\nword\nt > v\nt: a -> c", {"z": 1}, places=["a", "b"])
    for piece in ("line 2: '2'", "line 3: 'word'", "no place 'c'", "no place 'z'"):
        assert piece in str(caught.value)
    for piece in (
        "two transitions",
        "!b is among the outputs",
        "line 4: there is no transition 'v'",
    ):
        assert piece in str(caught.value)
    with pytest.raises(InvalidNet, match="cycle"):
        net_of_text("t: a ->\nu: a ->\nt > u > t")
