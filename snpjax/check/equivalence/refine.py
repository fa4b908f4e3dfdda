"""Bisimilarity by partition refinement, all configurations of a round at once."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, UInt64

from .labelled import Labelled


@dataclass(frozen=True, eq=False)
class Refinement:
    """The rounds of a refinement: `rounds[k][i]` is the block of configuration i, which has the
    configurations that cannot be told apart from it within k steps. If no round tells the initial
    configurations apart, the last blocks are bisimilarity, unless `max_rounds` came first.
    """

    rounds: list[Int[np.ndarray, " configurations"]]

    def splits(self, one: int, other: int) -> int | None:
        """The first round that tells two configurations apart."""
        for number, blocks in enumerate(self.rounds):
            if blocks[one] != blocks[other]:
                return number
        return None


def refine(labelled: Labelled, *, max_rounds: int | None = None) -> Refinement:
    """Refine until the initial configurations are told apart, nothing changes, or `max_rounds`.

    Two configurations of a block stay together when the same labels lead to the same blocks.
    Signatures are compared by their hashes, and then in full within each block: no two different
    ones are ever merged.

    ??? cite "Source"
        Kanellakis and Smolka 1990, the naive method, by signatures as in Blom and Orzan 2003: its
        rounds are what the witness is made of. A round takes time in the number of steps; there are
        at most as many as configurations, and rarely more than a few tens.
    """
    rounds = [np.zeros(labelled.num_configurations, np.int64)]
    one, other = labelled.starts
    while max_rounds is None or len(rounds) <= max_rounds:
        blocks = _split(labelled, rounds[-1])
        if blocks.max(initial=0) == rounds[-1].max(initial=0):
            break
        rounds.append(blocks)
        if blocks[one] != blocks[other]:
            break
    return Refinement(rounds)


def _split(
    labelled: Labelled, blocks: Int[np.ndarray, " configurations"]
) -> Int[np.ndarray, " configurations"]:
    """The blocks of the next round."""
    source = np.repeat(np.arange(labelled.num_configurations), np.diff(labelled.first_step))
    pair = labelled.labels * (int(blocks.max(initial=0)) + 1) + blocks[labelled.targets]
    order = np.lexsort((pair, source))
    pair = pair[order]  # sources were ascending before
    is_new = np.ones(len(pair), bool)
    is_new[1:] = (source[1:] != source[:-1]) | (pair[1:] != pair[:-1])
    pair = pair[is_new]
    starts = np.concatenate([[0], np.cumsum(is_new)])[labelled.first_step]
    for seed in range(16):
        totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_hash(pair, seed))])
        own = totals[starts[1:]] - totals[starts[:-1]]
        _, first, found = np.unique(
            own + _hash(blocks, seed + 16), return_index=True, return_inverse=True
        )
        # Every configuration has to have the block and the signature of the one that it is like.
        like, counts = first[found], np.diff(starts)
        if np.array_equal(blocks, blocks[like]) and np.array_equal(counts, counts[like]):
            place = np.arange(len(pair)) + np.repeat(starts[like] - starts[:-1], counts)
            if np.array_equal(pair, pair[place]):
                return found
    raise AssertionError("Hashes of signatures are equal for 16 seeds; please report this as a bug")


def _hash(values: Int[np.ndarray, " some"], seed: int) -> UInt64[np.ndarray, " some"]:
    """Steele, Lea and Flood 2014 (SplitMix64)."""
    x = values.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 & (2**64 - 1))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
