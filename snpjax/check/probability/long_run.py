"""The share of the steps in which a condition holds, in the long run."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from ...explore.conditions import Where
from ...explore.strongly_connected import strong_parts
from .enclosure import Bounds, mixed
from .mdp import Decisions


_GAP = 1e-11
_MAX_ITERATIONS = 100_000


class Parts(NamedTuple):
    """The strongly connected part of each configuration, and whether nothing leads out of it."""

    part: Int[np.ndarray, " configurations"]
    is_bottom: Where


def bottom_parts(decisions: Decisions) -> Parts:
    """Where a chain ends up."""
    size = decisions.num_configurations
    rows, columns = decisions.matrix.nonzero()
    sources = decisions.owner[rows]
    ones = np.ones(len(rows), bool)
    num_parts, part = strong_parts(csr_array((ones, (sources, columns)), shape=(size, size)))
    leaves = np.zeros(num_parts, bool)
    leaves[part[sources][part[sources] != part[columns]]] = True
    return Parts(part, ~leaves[part])


def long_run(decisions: Decisions, surely: Where, may: Where, is_open: Where) -> Bounds:
    """Bounds of the long-run probability of a condition from every configuration of a chain; of a
    periodic one, of the mean over its steps. What halts stays as it is.

    - `surely`, `may`: where the condition holds, and may hold.
    - `is_open`: what may go anywhere.
    """
    part, is_bottom = bottom_parts(decisions)
    bounds = []
    for side, holds in enumerate((surely & ~is_open, may | is_open)):
        share = np.bincount(part, holds) / np.bincount(part)
        known = np.where(is_bottom, share[part], np.nan)
        for one in np.unique(part[is_bottom & (share[part] > 0) & (share[part] < 1)]):
            own = np.flatnonzero(part == one)
            known[own] = _share(decisions, own, holds[own].astype(float))[side]
        every = np.ones(len(decisions.owner), bool)
        for value in (0.0, 1.0):
            differs, _ = decisions.can_reach(is_bottom & (known != value), every)
            known[~differs] = value
        bounds.append(mixed(decisions, known)[side])
    return Bounds(bounds[0], bounds[1])


def _share(
    decisions: Decisions,
    own: Int[np.ndarray, " own"],
    reward: Float[np.ndarray, " own"],
) -> tuple[float, float]:
    """Bounds of the mean reward of a step in configurations that all lead to each other.

    For any numbers h it is between the least and the largest reward + P h - h (Puterman 1994,
    theorem 8.5.5); h here is what is gained until the first one returns.
    """
    actions = decisions.first_action[own]
    matrix = csr_array(decisions.matrix[actions].tocsc()[:, own])
    size = len(own)
    every = np.arange(size)
    chain = Decisions(np.arange(size + 1), every, matrix, decisions.most_choices)
    known = np.full(size, np.nan)
    known[0] = 0.0
    gained = chain.solve(known, reward, every, "max").values
    steps = chain.solve(known, 1.0, every, "max").values
    mean = float(reward[0] + (matrix @ gained)[0]) / (1 + (matrix @ steps)[0])
    h = gained - mean * steps
    step = reward + matrix @ h - h
    size_of = reward + matrix @ np.abs(h) + np.abs(h)
    error = (2 * decisions.most_choices + 8) * np.finfo(float).eps * size_of
    return max(float((step - error).min()), 0.0), min(float((step + error).max()), 1.0)
