"""Null spaces against a search of all supports, and invariants against the graph of the
reference."""

import dataclasses
import itertools
import warnings
from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.check.structural.cycles import check_cycles
from snpjax.check.structural.integer_kernel import minimal_solutions, null_space
from snpjax.check.structural.invariants import check_invariants, invariants
from snpjax.check.verdict import Status
from snpjax.explore import Stop, explore
from snpjax.spiking import TransitionMatrix
from snpjax.testing import reference_graph, systems
from tests.support.helpers import many, with_ballast


CHUNKS = (64,)
LIMIT = 40

matrices = st.integers(1, 5).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(-3, 3), min_size=columns, max_size=columns), min_size=1, max_size=5
    )
)


def rank(matrix):
    """By elimination with fractions."""
    rows = [[Fraction(value) for value in row] for row in matrix]
    found = 0
    for column in range(len(matrix[0]) if matrix else 0):
        pivot = next((row for row in rows[found:] if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows = [
            [x - row[column] / pivot[column] * y for x, y in zip(row, pivot, strict=True)]
            if i >= found
            else row
            for i, row in enumerate(rows)
        ]
        rows.insert(found, pivot)
        found += 1
    return found


def sparse(matrix):
    return [{j: value for j, value in enumerate(row) if value} for row in matrix]


def dense(vectors, size):
    return [[y.get(j, 0) for j in range(size)] for y in vectors]


def is_solution(matrix, y):
    return all(sum(a * b for a, b in zip(row, y, strict=True)) == 0 for row in matrix)


@given(matrices)
def test_the_basis_is_one_and_reduced(matrix):
    size = len(matrix[0])
    basis = dense(null_space(sparse(matrix), size), size)
    assert len(basis) == size - rank(matrix) == (rank(basis) if basis else 0)
    for y in basis:
        assert is_solution(matrix, y) and gcd(*y) == 1
    free = [max(j for j in range(size) if y[j]) for y in basis]
    for y, own in itertools.product(basis, free):
        assert (y[own] > 0) == (y is basis[free.index(own)]) and (y[own] != 0) == (y[own] > 0)
    shuffled = [matrix[-1], *matrix, matrix[0]]
    assert dense(null_space(sparse(shuffled), size), size) == basis


@given(matrices)
def test_minimal_solutions_are_those_of_all_supports(matrix):
    """A support is minimal iff the solutions on it are the multiples of one positive vector."""
    size = len(matrix[0])
    wanted = []
    for some in itertools.product([False, True], repeat=size):
        columns = [j for j in range(size) if some[j]]
        own = null_space(sparse([[row[j] for j in columns] for row in matrix]), len(columns))
        if len(own) == 1 and len(own[0]) == len(columns) and min(own[0].values()) > 0:
            wanted.append(
                [
                    dict(zip(columns, dense(own, len(columns))[0], strict=True)).get(j, 0)
                    for j in range(size)
                ]
            )
    found = minimal_solutions(sparse(matrix), size, limit=1000)
    assert found is not None and sorted(dense(found, size)) == sorted(wanted)


def test_a_limit_is_reported():
    """Two equal halves of eight: 64 minimal solutions."""
    row = [1] * 8 + [-1] * 8
    assert len(minimal_solutions(sparse([row]), 16, limit=100) or ()) == 64
    assert minimal_solutions(sparse([row]), 16, limit=50) is None


def test_numbers_of_any_size():
    """Far beyond 64 bits: a chain of doublings by large factors."""
    large = 2**40
    matrix = [[large if j == i else -1 if j == i + 1 else 0 for j in range(5)] for i in range(4)]
    assert dense(null_space(sparse(matrix), 5), 5) == [[large**i for i in range(5)]]


def check_loops(graph, found, expected):
    """Loops are loops, with the firings they should have; what is refuted no loop of the reference
    makes."""
    loops = loops_of(expected, 4)
    delay_free = all(r.delay == 0 for n in graph.system.neurons for r in n.rules)
    for verdict in check_cycles(graph, found):
        firings = verdict.cycle.firings
        if verdict.status is Status.PROVED:
            edges = [expected.edges[edge] for edge in verdict.loop]
            ends = [target for _, _, _, target in edges]
            assert [source for source, _, _, _ in edges] == [ends[-1], *ends[:-1]]
            fired = counted(graph.system, [choice for _, choice, _, _ in edges])
            assert fired == {key: verdict.times * n for key, n in firings.items()}
        elif verdict.status is Status.REFUTED:
            assert graph.is_complete
            assert not any(set(own) == set(firings) for own in loops(graph.system))
        else:
            assert not graph.is_complete or not delay_free


def counted(system, choices):
    fired = [
        (system.neurons[i].name, rule)
        for choice in choices
        for i, rule in enumerate(choice)
        if rule is not None
    ]
    return {key: fired.count(key) for key in fired}


def loops_of(expected, most):
    """The firings of all closed walks of at most this many steps."""
    by_source = {}
    for source, choice, _, target in expected.edges:
        by_source.setdefault(source, []).append((choice, target))

    def walks(start, at, made):
        if made and at == start:
            yield made
        elif len(made) < most:
            for choice, target in by_source.get(at, ()):
                yield from walks(start, target, [*made, choice])

    def firings(system):
        for start in by_source:
            for made in itertools.islice(walks(start, start, []), 50):
                yield counted(system, made)

    return firings


def check_system(system):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = with_ballast(system)
    found = invariants(system, limit=300)
    matrix = TransitionMatrix(system).matrix
    expected = reference_graph.explore(system, max_configurations=LIMIT)
    weights = TransitionMatrix(system).weights
    for one in (*found.conserved, *(found.bounding or ())):
        y = np.asarray([one.weights.get(neuron.name, 0) for neuron in system.neurons])
        assert not (matrix @ y).any()
        values = [
            int(y @ np.asarray(c.spikes) + np.asarray(c.pending) @ weights @ y)
            for c in expected.configurations
        ]
        assert values[0] == one.value
        if one.is_certain:
            assert set(values) == {one.value}
    for cycle in found.cycles or ():
        names = [(n.name, i) for n in system.neurons for i in range(len(n.rules))]
        x = np.asarray([cycle.firings.get(name, 0) for name in names])
        assert not (x @ matrix).any() and x.min() >= 0 and x.any()
    graph = explore(system, max_configurations=LIMIT, chunks=CHUNKS)
    if found.cycles:
        check_loops(graph, found, expected)
    for verdict in check_invariants(graph, found):
        one = verdict.invariant
        y = np.asarray([one.weights.get(neuron.name, 0) for neuron in system.neurons])
        values = [
            int(y @ np.asarray(c.spikes) + np.asarray(c.pending) @ weights @ y)
            for c in expected.configurations
        ]
        if verdict.status is Status.REFUTED:
            assert verdict.edge is not None
            before, after = verdict.edge
            assert values[after] != one.value == values[before]
            assert set(values[:after]) == {one.value}
            assert (before, after) in {(i, j) for i, _, _, j in expected.edges}
        else:
            assert set(values) == {one.value}
            assert one.is_certain or graph.is_complete == (verdict.status is Status.PROVED)


@settings(max_examples=15)
@given(systems(max_neurons=4))
def test_invariants_hold_where_they_are_said_to(system):
    check_system(system)


@pytest.mark.slow
@settings(max_examples=many(600, part=20))
@given(systems(max_neurons=6))
def test_invariants_of_many_systems(system):
    check_system(system)


def ring(size, *, delay=0):
    rule = snp.Rule(snp.Guard.interval(1), 1, 1, delay)
    neurons = [snp.Neuron(f"x{i}", int(i == 0), [rule]) for i in range(size)]
    return snp.SpikingSystem(neurons, [(f"x{i}", f"x{(i + 1) % size}") for i in range(size)])


def test_a_ring_keeps_its_spike():
    found = invariants(ring(3))
    assert [str(one) for one in found.conserved] == ["x0 + x1 + x2 = 1"]
    assert found.bounding == found.conserved and found.conserved[0].is_certain
    assert [str(one) for one in found.cycles or ()] == ["x0[0] + x1[0] + x2[0]"]
    assert "bounding: 1\n  x0 + x1 + x2 = 1" in str(found)


def test_which_cycles_can_be_made():
    """The ring does; two neurons that need two spikes each and have one never start."""
    graph = explore(with_ballast(ring(3)), chunks=CHUNKS)
    (verdict,) = (
        v for v in check_cycles(graph, invariants(graph.system)) if ("x0", 0) in v.cycle.firings
    )
    assert str(verdict) == "x0[0] + x1[0] + x2[0]: proved, once in 3 steps"
    pair = [snp.Neuron(name, 1, ["a^2 -> a^2"]) for name in "xy"]
    stuck = with_ballast(snp.SpikingSystem(pair, [("x", "y"), ("y", "x")]))
    graph = explore(stuck, chunks=CHUNKS)
    assert [v.status for v in check_cycles(graph, invariants(stuck))] == [Status.REFUTED]


def test_spikes_on_their_way_count():
    """With delays the spike is under way; nothing is lost here, because one spike only is there."""
    system = with_ballast(ring(3, delay=1))
    graph = explore(system, chunks=CHUNKS)
    found = invariants(graph.system)
    (ring_sum,) = (one for one in found.conserved if "x0" in one.weights)
    assert not ring_sum.is_certain and graph.pending.any()
    assert ring_sum.of(graph.configurations()).tolist() == [1] * graph.num_configurations
    verdicts = check_invariants(graph, found)
    assert verdicts[0].invariant == ring_sum and verdicts[0].status is Status.PROVED
    cut = dataclasses.replace(graph, stop=Stop.MAX_DEPTH)
    assert check_invariants(cut, found)[0].status is Status.BOUNDED


def test_a_closed_neuron_loses_spikes():
    """The worked trace of a loss: two of three spikes never arrive."""
    rules = ["a+/a -> a"], ["a -> a; 2"], ()
    neurons = [snp.Neuron(*x) for x in zip("sco", (3, 1, 0), rules, strict=True)]
    system = with_ballast(snp.SpikingSystem(neurons, [("s", "c"), ("c", "o")]))
    graph = explore(system, chunks=CHUNKS)
    verdicts = check_invariants(graph, invariants(system))
    (lost,) = (v for v in verdicts[: len(verdicts) // 2] if "s" in v.invariant.weights)
    assert str(lost) == "s + c + o = 4: refuted: not in the step from configuration 0 to 1"
    with pytest.raises(ValueError, match="another system"):
        check_invariants(graph, invariants(ring(3)))
    rows = explore(system, saturate={"o": 2}, chunks=CHUNKS)
    assert Status.UNKNOWN in {v.status for v in check_invariants(rows, invariants(system))}
