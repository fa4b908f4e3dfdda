"""Subsets of a fixed size: the first, the n-th, a random one. The arrays of candidates have the
places among which is chosen as their first axis."""

from collections.abc import Iterable, Sequence
from functools import cache
from math import comb

import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from snpjax_formats.ell import expanded
from snpjax_formats.mixing import mixed

from .._xla import materialize


#: More subsets are not counted; choices by number refuse them.
MAX_SUBSETS = 2**30

# min(k, n - k) of every C(n, k) below `MAX_SUBSETS`.
_MOST_CHOSEN = 16

_WORD = 32


def num_subsets(
    candidates: Int[Array, "*#some"], chosen: Int[Array, "*#some"], most: int
) -> Int[Array, "*some"]:
    """C(candidates, chosen), at most `MAX_SUBSETS`; `most` bounds the candidates. Choosing all, or
    more than there are, is one subset."""
    table = jnp.asarray(_binomials(most))
    least = jnp.clip(jnp.minimum(chosen, candidates - chosen), 0, _MOST_CHOSEN + 1)
    number = table.at[candidates, least].get(mode="clip")
    return jnp.where(chosen >= candidates, 1, number)


def first_subset(
    candidates: Bool[Array, "places *some"], chosen: Int[Array, "*some"]
) -> Bool[Array, "places *some"]:
    """The first candidates.

    **Arguments:**

    - `candidates`: `(places, *some)` whether each place can be taken.
    - `chosen`: `(*some,)` how many to take; all candidates if there are fewer.

    **Returns:** `(places, *some)` whether each place is taken.
    """
    return candidates & (jnp.cumsum(candidates, axis=0, dtype=jnp.int32) <= chosen[None])


def nth_subset(
    candidates: Bool[Array, "places *some"],
    chosen: Int[Array, "*some"],
    number: Int[Array, "*some"],
) -> Bool[Array, "places *some"]:
    """The subset with a number, in lexicographic order from 0.

    **Arguments:**

    - `candidates`: `(places, *some)` whether each place can be taken.
    - `chosen`: `(*some,)` the size of the subset; all candidates if there are fewer.
    - `number`: `(*some,)` the number of the subset.

    **Returns:** `(places, *some)` whether each place is taken; an out-of-range number gives a
    smaller subset.
    """
    places = candidates.shape[0]

    def visit(index, carry):
        left, needed, number, subset = carry
        # This many take this candidate, and stand before those that do not.
        taking = num_subsets(left - 1, needed - 1, places)
        is_taken = candidates[index] & (needed > 0) & (0 <= number) & (number < taking)
        number = jnp.where(candidates[index] & ~is_taken & (needed > 0), number - taking, number)
        subset = subset.at[index].set(is_taken)
        return (
            left - candidates[index].astype(jnp.int32),
            needed - is_taken.astype(jnp.int32),
            number,
            subset,
        )

    left = jnp.sum(candidates, axis=0, dtype=jnp.int32)
    carry = (left, chosen.astype(jnp.int32), number, jnp.zeros_like(candidates))
    return lax.fori_loop(0, places, visit, carry)[-1]


def number_of_subset(candidates: Sequence[int], subset: Iterable[int]) -> int:
    """The number by which `nth_subset` finds a subset.

    **Arguments:**

    - `candidates`: what can be taken, each once, in the order of their places.
    - `subset`: those that are taken.

    **Returns:** the number among the subsets of that size, in lexicographic order from 0.

    **Raises:** `ValueError` for a subset with something that is no candidate.
    """
    wanted = set(subset)
    if unknown := wanted.difference(candidates):
        raise ValueError(f"{min(unknown)} is not among the candidates {list(candidates)}.")
    needed, number = len(wanted), 0
    for left, candidate in zip(reversed(range(len(candidates))), candidates, strict=True):
        if candidate in wanted:
            needed -= 1
        elif needed:
            number += comb(left, needed - 1)  # those that take this candidate stand before
    return number


def random_subset(
    candidates: Bool[Array, "places *some"],
    chosen: Int[Array, "*some"],
    first: UInt32[Array, "*some"],
    second: UInt32[Array, "*some"],
) -> Bool[Array, "places *some"]:
    """A random subset: all are equally likely up to 2^-32 for each place.

    **Arguments:**

    - `candidates`: `(places, *some)` whether each place can be taken.
    - `chosen`: `(*some,)` the size of the subset; all candidates if there are fewer.
    - `first`, `second`: `(*some,)` two random words, from which 32 bits are mixed for each place.

    **Returns:** `(places, *some)` whether each place is taken.

    ??? cite "Source"
        Knuth, The Art of Computer Programming 2, algorithm 3.4.2 S (selection sampling).
    """
    places = candidates.shape[0]
    words = -(-places // _WORD)
    missing = [(0, words * _WORD - places)] + [(0, 0)] * (candidates.ndim - 1)
    padded = jnp.pad(candidates, missing) if words > 1 else candidates
    padded = padded.reshape(words, -1, *candidates.shape[1:])

    def one_word(carry, some):
        """Those taken of up to 32 places as the bits of a word: one result, which is stored, so
        that none of it is recomputed for every place."""
        left, needed, start = carry
        word = jnp.zeros(chosen.shape, jnp.uint32)
        for index in range(some.shape[0]):
            bits = first + (start + np.uint32(index)) * np.uint32(0x9E3779B9)
            bits = mixed(mixed(bits) ^ second)
            is_taken = some[index] & (scaled(bits, left) < needed)
            word |= is_taken.astype(jnp.uint32) << np.uint32(index)
            left -= some[index].astype(jnp.int32)
            needed -= is_taken.astype(jnp.int32)
        return (left, needed, start + np.uint32(_WORD)), word

    left = jnp.sum(candidates, axis=0, dtype=jnp.int32)
    carry = (left, chosen.astype(jnp.int32), jnp.uint32(0))
    if words == 1:
        one = materialize(jnp.any(left >= 0), lambda: one_word(carry, padded[0])[1])
        taken = lax.optimization_barrier(one)[None]
    else:
        _, taken = lax.scan(one_word, carry, padded)
    shift = expanded(jnp.arange(padded.shape[1], dtype=jnp.uint32), candidates.ndim)
    is_taken = (taken[:, None] >> shift[None] & 1).astype(bool)
    return is_taken.reshape(-1, *candidates.shape[1:])[:places]


def scaled(bits: UInt32[Array, "*n"], count: Int[Array, "*n"]) -> Int[Array, "*n"]:
    """floor(bits * count / 2^32) for count < 2^16, in 32-bit arithmetic."""
    count = count.astype(jnp.uint32)
    low = ((bits & 0xFFFF) * count) >> 16
    return (((bits >> 16) * count + low) >> 16).astype(jnp.int32)


@cache
def _binomials(most: int) -> Int[np.ndarray, "candidates chosen"]:
    table = [
        [min(comb(n, k), MAX_SUBSETS) for k in range(_MOST_CHOSEN + 1)] + [MAX_SUBSETS]
        for n in range(most + 1)
    ]
    return np.asarray(table, np.int32)
