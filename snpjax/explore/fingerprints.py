"""Fingerprints of 64 bits, by which a set on the device knows configurations that are elsewhere."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from snpjax_formats.mixing import mixed

from .._tiered import tiered
from .search import Made, Outcome, StateSpace, put_rows


#: Words of a fingerprint.
NUM_WORDS = 2


def fingerprints(
    words: UInt32[Array, "batch words"], seed: UInt32[Array, ""] | np.uint32
) -> UInt32[Array, "batch 2"]:
    """Two sums of hashes of the words; another seed takes other hashes."""
    own = jnp.arange(1, words.shape[1] + 1, dtype=jnp.uint32) * np.uint32(0x9E3779B9)
    halves = []
    for half in range(NUM_WORDS):
        number = seed * np.uint32(NUM_WORDS) + np.uint32(half + 1)
        salt = mixed(mixed(own + number * np.uint32(0x85EBCA77)) + own)[None]
        hashes = mixed(words ^ salt) * (salt | np.uint32(1))
        halves.append(mixed(jnp.sum(hashes, axis=1, dtype=jnp.uint32)))
    return jnp.stack(halves, axis=1)


def probability_of_collision(num: int) -> float:
    """That any two of that many configurations have the same fingerprint, at most."""
    return num * num / 2.0 ** (32 * NUM_WORDS + 1)


@tiered()
def fingerprints_of(
    words: UInt32[Array, "words batch"], seed: UInt32[Array, ""]
) -> UInt32[Array, "batch 2"]:
    return fingerprints(words.T, seed)


@tiered(donate_argnames=("space",))
def put_fingerprints(
    space: StateSpace,
    made: Made,
    seed: UInt32[Array, ""],
    most_found: Int[Array, ""],
    takes_overflow: Bool[Array, ""],
) -> tuple[StateSpace, Outcome]:
    """`search.put` into a space that knows configurations by their fingerprints."""
    rows = fingerprints(made.words, seed)
    return put_rows(space, rows, made, most_found, takes_overflow)
