"""The matrix form of the sorting system for three numbers, as the papers print it."""

import re

import numpy as np
import pytest

import snpjax as snp
from snpjax.spiking import Transition, TransitionMatrix, lower
from snpjax_formats import LAYOUTS, BitDense, BitGather, Dense, Interval, NotEnoughMemory


def sorter(*numbers: int) -> snp.SpikingSystem:
    """The sorting system; the firing rule of each sorter comes first, as in the papers' tables."""
    n = len(numbers)
    inputs = [snp.Neuron(f"i{j + 1}", k, ["a+/a -> a"]) for j, k in enumerate(numbers)]
    sorters = []
    for j in range(1, n + 1):
        fires = n + 1 - j
        forgets = [k for k in range(n, 0, -1) if k != fires]
        if j == n:
            forgets.reverse()
        rules = [f"a^{fires} -> a", *(f"a^{k} -> lambda" for k in forgets)]
        sorters.append(snp.Neuron(f"s{j}", 0, rules))
    outputs = [snp.Neuron(f"o{j}") for j in range(1, n + 1)]
    synapses = [(f"i{i}", f"s{j}") for i in range(1, n + 1) for j in range(1, n + 1)]
    synapses += [(f"s{i}", f"o{j}") for i in range(1, n + 1) for j in range(i, n + 1)]
    return snp.SpikingSystem([*inputs, *sorters, *outputs], synapses, level="strict")


MATRIX = """\
       i1 i2 i3 s1 s2 s3 o1 o2 o3
 r1/i1 -1  0  0  1  1  1  0  0  0
 r2/i2  0 -1  0  1  1  1  0  0  0
 r3/i3  0  0 -1  1  1  1  0  0  0
 r4/s1  0  0  0 -3  0  0  1  1  1
 r5/s1  0  0  0 -2  0  0  0  0  0
 r6/s1  0  0  0 -1  0  0  0  0  0
 r7/s2  0  0  0  0 -2  0  0  1  1
 r8/s2  0  0  0  0 -3  0  0  0  0
 r9/s2  0  0  0  0 -1  0  0  0  0
r10/s3  0  0  0  0  0 -1  0  0  1
r11/s3  0  0  0  0  0 -2  0  0  0
r12/s3  0  0  0  0  0 -3  0  0  0"""
ELL = """\
   r1    r2    r3    r4    r5    r6    r7    r8    r9   r10   r11   r12
-1,i1 -1,i2 -1,i3 -3,s1 -2,s1 -1,s1 -2,s2 -3,s2 -1,s2 -1,s3 -2,s3 -3,s3
 1,s1  1,s1  1,s1  1,o1     .     .  1,o2     .     .  1,o3     .     .
 1,s2  1,s2  1,s2  1,o2     .     .  1,o3     .     .     .     .     .
 1,s3  1,s3  1,s3  1,o3     .     .     .     .     .     .     .     ."""
COMPRESSED = """\
i1 i2 i3 s1 s2 s3 o1 o2 o3
 3  3  3  6  7  8  9  9  9
 4  4  4  7  8  9  9  9  9
 5  5  5  8  9  9  9  9  9"""
RUN = [
    [3, 1, 2, 0, 0, 0, 0, 0, 0],
    [2, 0, 1, 3, 3, 3, 0, 0, 0],
    [1, 0, 0, 2, 2, 2, 1, 1, 1],
    [0, 0, 0, 1, 1, 1, 1, 2, 2],
    [0, 0, 0, 0, 0, 0, 1, 2, 3],
]


def test_tables_of_sorting_three_numbers():
    matrix = TransitionMatrix(sorter(3, 1, 2))
    assert str(matrix) == MATRIX
    assert matrix.ell_table() == ELL
    assert matrix.compressed_table() == COMPRESSED
    assert len(matrix.ell()) * matrix.num_rules == 48, "positions; the paper prints 60"
    assert np.count_nonzero(matrix.matrix) == 27
    assert matrix.words() == {"sparse": 163, "ell": 151, "compressed": 103}


def test_words_of_sorting_a_hundred_numbers():
    """The corrected formulas: 3n^3 + 6n^2 + 9n + 1, 2n^3 + 7n^2 + 11n + 1, 7n^2 + 13n + 1."""
    words = TransitionMatrix(sorter(*range(1, 101))).words()
    n = 100
    assert words["sparse"] == 3 * n**3 + 6 * n**2 + 9 * n + 1 == 3_060_901
    assert words["ell"] == 2 * n**3 + 7 * n**2 + 11 * n + 1 == 2_071_101
    assert words["compressed"] == 7 * n**2 + 13 * n + 1 == 71_301


@pytest.mark.parametrize("layout", LAYOUTS)
def test_worked_run_in_every_form(layout):
    # M has weights, which these do not store.
    forms = [layout] if layout in (BitDense, BitGather, Interval) else [layout, Transition(layout)]
    for form in forms:
        solution = snp.run(sorter(3, 1, 2), layout=form)
        assert solution.halted and solution.configurations.tolist() == RUN


def test_run_by_hand():
    matrix = TransitionMatrix(sorter(3, 1, 2))
    solution = snp.run(matrix.system)
    vector = matrix.spiking_vector(solution.rules[2])
    fired = [matrix.rule_names[r] for r in np.flatnonzero(vector)]
    assert fired == ["r1/i1", "r5/s1", "r7/s2", "r11/s3"]
    assert matrix.next(solution.configurations[2], vector).tolist() == RUN[3]
    with pytest.raises(ValueError, match="9 neurons"):
        matrix.spiking_vector(np.zeros(3, int))


def test_where_the_equation_is_exact():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 2, ["a^2/a -> a; 1", "a -> a"]), snp.Neuron("y")], [("x", "y", 3)]
    )
    matrix = TransitionMatrix(system)
    assert not matrix.is_exact
    assert matrix.matrix.tolist() == [[-1, 3], [-1, 3]]
    assert matrix.next(np.array([1, 0]), np.array([0, 1])).tolist() == [0, 3]
    with pytest.raises(ValueError, match="r1/x has a delay"):
        matrix.next(np.array([2, 0]), np.array([1, 0]))
    assert matrix.words()["compressed"] == 2 * 1 + 3 * 2 + 4 * 2 + 1 + 2 + 2 * 2


def test_self_synapse_adds_to_the_consumption():
    system = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a^2"])], [("x", "x")])
    assert TransitionMatrix(system).matrix.tolist() == [[1]]
    for form in ("auto", Transition(Dense)):
        assert snp.run(system, max_steps=3, layout=form).configurations[:2, 0].tolist() == [1, 2]


def test_network_that_changes_has_no_matrix():
    system = snp.SpikingSystem([snp.Neuron("x", 1, [snp.DivisionRule("a", "y", "z")])])
    with pytest.raises(NotImplementedError, match="A transition matrix needs a network that"):
        TransitionMatrix(system)


def test_layout_that_does_not_fit_is_refused_with_what_would(monkeypatch):
    monkeypatch.setattr("snpjax_formats.memory.free_bytes", lambda: 2000)
    assert lower(sorter(3, 1, 2)).synapses is not None
    with pytest.raises(
        NotEnoughMemory, match="Dense for .* needs 2,304 bytes, but 2,000 are free. Use .*ELL"
    ):
        lower(sorter(*range(1, 8)), layout=Dense)
    monkeypatch.setattr("snpjax_formats.memory.free_bytes", lambda: 1)
    with pytest.raises(NotEnoughMemory, match="Use a machine with more memory"):
        lower(sorter(3, 1, 2))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: m.spiking_vector([2, -1]), "2 is not a rule of neuron 'x', which has 1"),
        (lambda m: m.spiking_vector([0, -2]), "-2 is not a rule of neuron 'y'"),
        (lambda m: m.spiking_vector([0]), "Give one a neuron"),
        (lambda m: m.next([1], [0, 0, 0]), "(1,) spikes and (3,) rules for a system of 2"),
    ],
)
def test_what_is_no_rule_has_no_spiking_vector(call, message):
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 1, ["a -> a", "a^2 -> a"])]
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        call(TransitionMatrix(system))


def test_entries_above_64_bits_are_refused():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, [snp.Rule(None, 1, 2**40)]), snp.Neuron("y")], [("x", "y", 2**30)]
    )
    with pytest.raises(ValueError, match="above 64 bits"):
        TransitionMatrix(system).matrix  # noqa: B018
