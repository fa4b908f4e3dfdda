"""Families: what is said of all sizes is true of all, and what is shown of some is said of them."""

import itertools
import sys
import time

import pytest
import z3

import snpjax as snp
from snpjax import Family, Group, Wiring, prove_family
from snpjax.check.families.all_sizes import AllSizes, SpikeBound, WeightedTotal
from snpjax.testing import reference_graph


RING = Family([Group("cell", ["a -> a", "a -> lambda"], first=1)], [Wiring("cell", "cell", "ring")])
KEEPING = Family([Group("cell", ["a -> a"], first=1)], [Wiring("cell", "cell", "ring")])
DELAYED = Family([Group("cell", ["a -> a; 2"], first=1)], [Wiring("cell", "cell", "ring")])
ARRAY = Family(
    [Group("cell", ["a -> a"], first=1), Group("out", single=True)],
    [Wiring("cell", "cell", "next"), Wiring("cell", "out", "all")],
)
STAR = Family(
    [Group("leaf", ["a -> a"], spikes=1), Group("hub", single=True)], [Wiring("leaf", "hub", "all")]
)
CLIQUE = Family(
    [Group("cell", ["a^3 -> a"], spikes=1)], [Wiring("cell", "cell", "all")]
)  # nobody ever has three spikes
SMALL = range(2, 4)


@pytest.mark.parametrize(
    ("family", "property"),
    [
        pytest.param(RING, "always cell{i} <= 1", marks=pytest.mark.slow),
        (RING, "always cell{i} + cell{j} <= 1"),
        (KEEPING, "never (cell1 = 1 and cell2 = 1)"),
        (DELAYED, "always (open(cell{i}) or open(cell{j}))"),
        (DELAYED, "never cell{i} + pending(cell{i}) + cell{j} > 1"),
        pytest.param(ARRAY, "always cell{i} <= 1", marks=pytest.mark.slow),
        pytest.param(STAR, "always hub <= {n}", marks=pytest.mark.slow),
        (STAR, "always leaf{i} + hub <= {n}"),
        (CLIQUE, "always cell{i} <= 2"),
    ],
)
def test_all_sizes(family, property):
    verdict = prove_family(family, property, sizes=SMALL)
    assert verdict.is_proved_for_all and verdict, str(verdict)
    assert "proved for all n >= 2 (invariant: " in str(verdict)
    assert list(verdict.verdicts) == [2, 3]


@pytest.mark.parametrize(
    ("family", "property"),
    [
        (STAR, "always hub <= 3"),  # false for n = 4
        (RING, "never (cell1 = 1 and step = 5)"),  # false for n = 5
        (RING, "eventually (cell1 = 0 or cell2 = 0)"),
    ],
)
def test_some_sizes_are_not_all(family, property):
    verdict = prove_family(family, property, sizes=SMALL)
    assert not verdict.is_proved_for_all and verdict.reason
    assert verdict.summary == "proved for n = 2, 3"
    with pytest.raises(ValueError, match="is proved for n = 2, 3"):
        bool(verdict)


def test_it_is_false_where_it_was_not_shown():
    verdict = prove_family(STAR, "always hub <= 3", sizes=[2, 3, 4, 5])
    assert verdict.summary == "proved for n = 2, 3; refuted for n = 4, 5" and not verdict


def test_a_function_is_known_for_the_sizes_that_are_tried():
    """It may do anything for others."""

    def ring(size):
        return KEEPING(size) if size < 5 else crowd(size)

    crowd = Family([Group("cell", ["a -> a"], spikes=1)], [Wiring("cell", "cell", "all")])

    verdict = prove_family(ring, "always cell1 <= 1", sizes=range(2, 5))
    assert verdict.summary == "proved for n = 2..4" and "all" not in str(verdict)
    assert "only a `Family`" in verdict.reason
    assert not prove_family(ring, "always cell1 <= 1", sizes=[2, 6])


def test_a_property_of_the_size():
    verdict = prove_family(STAR, lambda n: f"always hub <= {n}", sizes=SMALL)
    assert verdict.summary == "proved for n = 2, 3" and not verdict.invariant
    assert verdict.query == "always hub <= 2"


def test_all_sizes_are_not_tried_unasked():
    verdict = prove_family(STAR, "always hub <= {n}", all_n=False, sizes=SMALL)
    assert verdict.summary == "proved for n = 2, 3" and not verdict.reason


def test_no_time_and_no_answer_prove_nothing(monkeypatch):
    verdict = prove_family(STAR, "always hub <= {n}", seconds=0, sizes=SMALL)
    assert verdict.summary == "proved for n = 2, 3" and "0 seconds" in verdict.reason
    monkeypatch.setattr(z3.Solver, "check", lambda *_: z3.unknown)
    verdict = prove_family(STAR, "always hub <= {n}", sizes=SMALL)
    assert verdict.summary == "proved for n = 2, 3"


def test_neurons_have_no_braces():
    words = r"query:1:8: the neurons of group 'leaf' are leaf1, leaf2.*write leaf2, or leaf\{i\}"
    with pytest.raises(snp.QueryError, match=words):
        prove_family(STAR, "always leaf{2} <= 1", sizes=SMALL)


def test_without_z3_the_sizes_are_checked(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    verdict = prove_family(STAR, "always hub <= {n}", sizes=SMALL)
    assert verdict.summary == "proved for n = 2, 3" and "pip install" in verdict.reason


def test_an_invariant_that_certify_rejects_proves_nothing(monkeypatch):
    monkeypatch.setattr(AllSizes, "invariant", lambda *_: [SpikeBound("hub", 1)])
    verdict = prove_family(STAR, "always hub <= {n}", sizes=SMALL)
    assert verdict.summary == "proved for n = 2, 3" and "not accepted for n = 2" in verdict.reason


def test_limits_leave_sizes_undecided():
    grows = Family(
        [Group("cell", ["a -> a"], first=1), Group("out", single=True)],
        [Wiring("cell", "cell", "ring"), Wiring("cell", "out", "all")],
    )
    verdict = prove_family(grows, "eventually out = 90", max_configurations=5, sizes=SMALL)
    assert verdict.summary == "not decided for n = 2, 3"


# ---- the argument for all sizes against single sizes ----

SHAPES = ["ring", "next", "all"]
RULES = [["a -> a"], ["a^2 -> a"], ["a+/a -> a"], ["a -> a; 1"], ["a -> lambda"], ["a^2 -> a^2; 1"]]


@pytest.mark.parametrize(
    ("shape", "rules"),
    [
        pytest.param(*x, marks=[pytest.mark.slow] * (x != ("next", ["a -> a; 1"])))
        for x in itertools.product(SHAPES, RULES)
    ],
    ids=str,
)
def test_what_holds_for_all_sizes_holds_for_each(shape, rules):
    """Facts are those of the graphs of small systems."""
    family = Family(
        [Group("x", rules, spikes=1, first=2), Group("y", ["a -> a"], single=True)],
        [Wiring("x", "x", shape), Wiring("x", "y", "all")],
    )
    search = AllSizes(z3, family, time.monotonic() + 60)
    facts = search._kept(list(search._candidates()))
    for size in (2, 3):
        reached = set(reference_numbers(family(size), 300))
        for fact in facts:
            for numbers in reached:
                assert is_true_of(fact, family, size, dict(numbers)), (fact, numbers)


def reference_numbers(system, most):
    for one in reference_graph.explore(system, max_configurations=most).configurations:
        columns = (one.spikes, one.pending)
        yield tuple(zip(system.names, zip(*columns, strict=True), strict=True))


def is_true_of(fact, family, size, numbers):
    if isinstance(fact, SpikeBound):
        names = family.group(fact.group).names(size)
        return all(numbers[name][0] <= fact.most for name in names)
    system, weights = family(size), {}
    for group in family.groups:
        weights |= dict.fromkeys(group.names(size), dict(fact.weights)[group.name])
    # As is said: pending spikes count as they arrive, to a neuron at the end as if in the middle.
    total = sum(weights[name] * spikes for name, (spikes, _) in numbers.items())
    for source, target, weight in system.synapses:
        total += weights[target] * weight * numbers[source][1]
    first = sum(weights[neuron.name] * neuron.spikes for neuron in system.neurons)
    return total == first if fact.is_equal else total <= first


def test_weights_of_an_invariant():
    """Two spikes of a leaf become six at the hub."""
    family = Family(
        [Group("leaf", ["a^2 -> a^3"], spikes=2), Group("hub", single=True)],
        [Wiring("leaf", "hub", "all", 1)],
    )
    assert prove_family(family, "always 3 * leaf{i} + 2 * hub <= 6 * {n}", sizes=SMALL).reason
    half = Family(
        [Group("leaf", ["a^2 -> a"], spikes=2), Group("hub", single=True)],
        [Wiring("leaf", "hub", "all", 1)],
    )
    verdict = prove_family(half, "always hub <= {n}", sizes=SMALL)
    assert verdict.invariant == ("the sum of leaf + 2 * hub, with pending spikes, does not grow",)
    assert WeightedTotal((("leaf", 1), ("hub", 2)), True).text(half, 2) == (
        "1 * leaf1 + 1 * leaf2 + 2 * hub = 4"
    )


# ---- mistakes ----


@pytest.mark.parametrize(
    ("groups", "wirings", "words"),
    [
        ([Group("x")], [Wiring("x", "z", "all")], "there is no group 'z'"),
        ([Group("x"), Group("x")], [], "have one name"),
        ([Group("x")], [Wiring("x", "x", "ring"), Wiring("x", "x", "all")], "another"),
        ([Group("x"), Group("y")], [Wiring("x", "y", "ring")], "for the neurons of one group"),
        ([Group("x"), Group("y", single=True)], [Wiring("x", "y", "each")], "two groups"),
        ([Group("y", single=True)], [Wiring("y", "y", "all")], "no synapse to itself"),
        ([Group("x")], [Wiring("x", "x", "ring", 0)], "no positive integer"),
        ([Group("x")], [Wiring("x", "x", "star")], "the shape is none of"),  # pyright: ignore
    ],
)  # fmt: skip
def test_wrong_families(groups, wirings, words):
    with pytest.raises(ValueError, match=words):
        Family(groups, wirings)


def test_wrong_groups_and_calls():
    with pytest.raises(ValueError, match="no word that ends in a letter"):
        Group("x1")
    with pytest.raises(ValueError, match="changes the network"):
        Group("i", ["[a]_i -> []_j || []_k"])
    with pytest.raises(snp.InvalidSystem):
        Group("x", ["a -> b"])
    with pytest.raises(ValueError, match="The size is 1"):
        RING(1)
    with pytest.raises(ValueError, match="`sizes` is empty"):
        prove_family(RING, "always cell1 <= 1", sizes=[])
    with pytest.raises(snp.QueryError, match="no neuron 'cell9'"):
        prove_family(RING, "always cell9 <= 1", sizes=SMALL)
    with pytest.raises(ValueError, match="which only `always p`"):
        prove_family(RING, "eventually cell{i} = 0", sizes=SMALL)
    with pytest.raises(ValueError, match="Use letters only, or numbers"):
        prove_family(RING, "always cell{i} + cell1 <= 1", sizes=SMALL)


def test_products_are_checked_size_by_size():
    verdict = prove_family(RING, "always cell1 * cell2 * {n} <= 4", sizes=[2])
    assert verdict.verdicts[2].is_proved and "p is a linear condition" in verdict.reason
    with pytest.raises(snp.QueryError, match="1:18: numbers that vary are multiplied"):
        prove_family(RING, "always {n} + 1 + cell{i} * cell{j} <= 9", sizes=[2])
