"""What a search needs of choices: their numbers in mixed radix."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snpjax.choice import NO_RULE, NumberedChoice, num_alternatives


COUNT = jax.jit(num_alternatives)
SELECT = jax.jit(lambda number, ways, choosers: NumberedChoice(number, choosers).decoded(ways)[0])


@pytest.mark.parametrize("most", [2, 3, 4, 127, 128])
def test_numbers_are_those_of_all_combinations(most):
    """With radices of two and four, which are decoded by shifts, and with others; by bytes and
    beyond."""
    rng = np.random.default_rng(most)
    for largest in {2, min(most, 4)}:
        ways = np.zeros((most, 6), bool)
        for chooser in range(6):  # of which the fourth has no alternative, and two are no choosers
            num = 0 if chooser == 3 else 1 if chooser in (0, 5) else largest
            ways[rng.choice(most, num, replace=False), chooser] = True
        choosers = np.asarray([1, 2, 3, 4, 6, 6], np.int32)  # padded
        lists = [np.flatnonzero(column).tolist() or [NO_RULE] for column in ways.T]
        every = list(itertools.product(*lists))
        number = np.arange(len(every), dtype=np.uint32)
        paths = jnp.asarray(np.repeat(ways[:, :, None], len(every), axis=2))
        counts = np.asarray(COUNT(paths, choosers))
        assert counts.prod(axis=0).tolist() == [len(every)] * len(every)
        found = np.asarray(SELECT(number, paths, choosers))
        assert found.T.tolist() == [list(of) for of in every]


def test_the_largest_numbers_are_decoded():
    """Near 2^30 choices, by divisions and by shifts."""
    for radix, choosers in ((2, 30), (4, 15), (3, 18), (127, 4)):
        ways = jnp.ones((radix, choosers, 5), bool)
        number = radix**choosers - np.arange(1, 6)
        digits = [[n // radix**i % radix for i in reversed(range(choosers))] for n in number]
        found = SELECT(number.astype(np.uint32), ways, np.arange(choosers, dtype=np.int32))
        assert np.asarray(found).T.tolist() == digits
