"""Products of numbers that vary, in queries."""

import operator
from dataclasses import replace

import pytest

import snpjax as snp
from snpjax.check import QueryError, Symmetry, certify, parse_query, to_nuxmv, to_prism
from snpjax.check.query.formula import Comparison
from snpjax.sleptsov import Execution, Petri, net_of_text


MOVE = Execution(net_of_text("a: p -> q", {"p": 5, "q": 0}), rule=Petri())


@pytest.fixture(scope="module")
def moved():
    """The graph of five tokens that move one by one."""
    return snp.explore(MOVE)


@pytest.mark.parametrize("relation", ["=", "!=", "<=", ">"])
@pytest.mark.parametrize(
    "text, value",
    [
        ("p * q", lambda p, q: p * q),
        ("2 * p * q * p - 3 * q + 1", lambda p, q: 2 * p * q * p - 3 * q + 1),
        ("(p - q) * (q - 2) - p * q", lambda p, q: (p - q) * (q - 2) - p * q),
    ],
)
def test_products_are_those_of_brute_force(moved, text, value, relation):
    compare = {"=": operator.eq, "!=": operator.ne, "<=": operator.le, ">": operator.gt}[relation]
    values = [value(p, 5 - p) for p in range(6)]
    for constant in (0, 5, 6, 12):
        verdict = snp.check(moved, f"on some path eventually {text} {relation} {constant}")
        assert verdict.is_proved == any(compare(x, constant) for x in values)
        assert verdict.is_refuted != verdict.is_proved


def test_products_of_spikes_and_remainders():
    system = snp.SpikingSystem(
        [snp.Neuron("a", 4, ["a+ / a -> a"]), snp.Neuron("b", 0, [])], [("a", "b")]
    )
    # Neurons without rules are counted up to what the query needs: here, exactly.
    found = snp.check(
        system,
        [
            "on some path eventually a * b = 4",
            "on some path eventually a * b = 2",
            "on some path eventually b * b * b mod 5 = 4",
            "on some path eventually step * b >= 16",
        ],
        max_depth=6,
    )
    assert [x.is_proved for x in found] == [True, False, True, True]


def test_products_are_exact_beyond_64_bits():
    most = 2**31 - 1
    graph = snp.explore(Execution(net_of_text("a: p + q ->", {"p": most, "q": 0}), rule=Petri()))
    for text, holds in (
        (f"p * p * p * p * p mod 1000 = {most**5 % 1000}", True),
        ("p * p * p <= 0", False),
        ("p * p * p * p > p * p * p", True),
        ("p * p * p * p * p * p = 0", False),
    ):
        assert snp.check(graph, f"always {text}").is_proved == holds, text


def test_expected_sums_of_products(moved):
    value = snp.check(moved, "E=? [ p * q U halted ]").value
    assert value is not None and value[0] <= 4 + 6 + 6 + 4 <= value[1]


def test_a_cut_factor_leaves_open_what_it_may_decide():
    system = snp.SpikingSystem(
        [snp.Neuron("a", 1, ["a -> a"]), snp.Neuron("b", 1, ["a -> a"]), snp.Neuron("c", 0, [])],
        [("a", "b"), ("b", "a"), ("a", "c")],
    )
    graph = snp.explore(system, saturate={"c": 3})
    for text, is_decided in (
        ("on some path eventually a * c >= 3", True),
        ("always a * c * c <= 9", False),
        ("on some path eventually b * c = 4", False),
    ):
        assert snp.check(graph, text, induction=False).is_decided == is_decided, text


@pytest.mark.parametrize(
    "text",
    ["always p * q <= 6", "always 3 * p * p - 2 * q * p <= 4", "always (p * q) mod 3 = 1"],
)
def test_products_are_printed_and_read(text):
    query = parse_query(text)
    assert parse_query(to_nuxmv(text)).formula == query.formula
    assert parse_query(to_prism(text)).formula == query.formula


def test_products_are_multiplied_out():
    def comparison(text):
        (found,) = parse_query(f"always {text}").comparisons
        return found

    assert comparison("q * p - p * q = 0") == Comparison((), "=", 0)
    assert comparison("(p + q) * (p - q) > 0") == comparison("p * p - q * q > 0")
    assert comparison("0 * p * q + p = 1") == comparison("p = 1")


def test_products_in_the_names_of_files(moved):
    assert to_nuxmv("always p * q <= 6", graph=moved) == "G (tokens_p * tokens_q <= 6)"


def test_what_needs_linear_conditions_says_so():
    with pytest.raises(QueryError, match=r"query:1:8: .*only linear .*use `snpjax.check`"):
        snp.prove(MOVE, "always p * q <= 6")
    certificate = snp.prove(MOVE, "always p + q <= 5").certificate
    assert certificate is not None
    reason = certify(MOVE, replace(certificate, property="always p * q <= 6")).reason
    assert "only linear conditions" in reason and ":1:8:" in reason
    reduced = snp.check(MOVE, "always p * q <= 6", reductions=[Symmetry()])
    assert reduced.is_proved and "multiplies numbers" in f"{reduced.not_reduced}"
    ring = snp.Family([snp.Group("c", ["a -> a"], first=1)], [snp.Wiring("c", "c", "ring")])
    with pytest.raises(QueryError, match="only linear"):
        snp.prove_family(ring, "always c{i} * c{j} = 0", sizes=[2])


_SUM = " + ".join(f"n{i}" for i in range(40))


@pytest.mark.parametrize(
    "text, place, words",
    [
        ("always p * emits(q) > 0", 18, "`emits` is of a step"),
        ("always " + " * ".join(["p"] * 17) + " > 0", 72, "at most 16 numbers"),
        (f"always ({_SUM}) * ({_SUM}) = 1", len(_SUM) + 14, "more than 1,000 terms"),
    ],
)
def test_products_that_are_refused(text, place, words):
    with pytest.raises(QueryError, match=words) as error:
        parse_query(text)
    assert error.value.at + 1 == place
