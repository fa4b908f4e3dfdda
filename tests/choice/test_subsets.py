"""Subsets of a fixed size are those of itertools, in their order; random ones are uniform."""

from itertools import combinations
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from snpjax.choice.subsets import (
    MAX_SUBSETS,
    first_subset,
    nth_subset,
    num_subsets,
    number_of_subset,
    random_subset,
)


PLACES = 7

#: Which of the places are candidates, and how many of them are chosen.
cases = st.lists(st.booleans(), min_size=PLACES, max_size=PLACES).flatmap(
    lambda some: st.tuples(st.just(some), st.integers(0, sum(some)))
)

_first, _nth, _random = jax.jit(first_subset), jax.jit(nth_subset), jax.jit(random_subset)


def subsets_of(some, chosen):
    """All of them, as rows of booleans."""
    places = np.flatnonzero(some)
    rows = np.zeros((comb(len(places), chosen), len(some)), bool)
    for row, subset in zip(rows, combinations(places, chosen), strict=True):
        row[list(subset)] = True
    return rows


@given(cases)
def test_the_nth_subset(case):
    some, chosen = case
    wanted = subsets_of(some, chosen)
    most = comb(PLACES, PLACES // 2)  # of all cases
    number = jnp.asarray([*range(most), *range(-most, 0)], jnp.int32)
    candidates = jnp.broadcast_to(jnp.asarray(some)[:, None], (PLACES, 2 * most))
    found = np.asarray(_nth(candidates, jnp.full(2 * most, chosen, jnp.int32), number)).T
    assert found[: len(wanted)].tolist() == wanted.tolist()
    first = _first(candidates[:, 0], jnp.asarray(chosen, jnp.int32))
    assert first.tolist() == wanted[0].tolist()
    if chosen:  # there are no others
        assert (found[len(wanted) :].sum(axis=1) < chosen).all()


@given(cases)
def test_the_number_of_a_subset(case):
    """It is that of `subsets_of`, which `nth_subset` gives back."""
    some, chosen = case
    places = np.flatnonzero(some).tolist()
    rows = subsets_of(some, chosen)
    numbers = [number_of_subset(places, np.flatnonzero(row).tolist()) for row in rows]
    assert numbers == list(range(len(rows)))


def test_something_that_is_no_candidate_has_no_number():
    with pytest.raises(ValueError, match=r"4 is not among the candidates \[1, 3\]"):
        number_of_subset([1, 3], [3, 4])


def test_the_number_of_subsets():
    most = 60
    candidates, chosen = np.meshgrid(np.arange(most + 1), np.arange(most + 1), indexing="ij")
    found = num_subsets(jnp.asarray(candidates), jnp.asarray(chosen), most)
    for n in range(most + 1):
        for k in range(most + 1):
            assert found[n, k] == (1 if k >= n else min(comb(n, k), MAX_SUBSETS)), (n, k)


@given(cases, st.integers(0, 2**32 - 1))
def test_a_random_subset_is_one(case, seed):
    some, chosen = case
    words = jax.random.bits(jax.random.key(seed % 1000), (2,), jnp.uint32)
    found = _random(jnp.asarray(some), jnp.asarray(chosen, jnp.int32), *words)
    assert found.tolist() in subsets_of(some, chosen).tolist()


@pytest.mark.parametrize("places", [6, 100])
def test_random_subsets_are_uniform(places):
    """Chi-square over all subsets; also in the loop that is taken for many places."""
    some = np.zeros(places, bool)
    some[[0, 2, 3, 5]] = True
    wanted = subsets_of(some, 2)
    size = 6_000
    words = jax.random.bits(jax.random.key(1), (2, size), jnp.uint32)
    candidates = jnp.broadcast_to(jnp.asarray(some)[:, None], (places, size))
    found = np.asarray(_random(candidates, jnp.full(size, 2, jnp.int32), *words)).T
    counts = [int((found == row).all(axis=1).sum()) for row in wanted]
    assert sum(counts) == size
    mean = size / len(wanted)
    # 5 degrees of freedom: 20.5 is exceeded once in a thousand keys.
    assert sum((count - mean) ** 2 / mean for count in counts) < 20.5


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_as_many_are_taken_as_asked_for(places, chosen, word):
    chosen = min(chosen, places)
    words = jnp.uint32(word), jnp.uint32(0)
    candidates = np.arange(40) < places  # one program for all
    found = np.asarray(_random(candidates, jnp.asarray(chosen, jnp.int32), *words))
    assert found.sum() == chosen and not found[~candidates].any()
