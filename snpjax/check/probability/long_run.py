"""The share of the steps in which a condition holds, in the long run."""

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from ...explore.conditions import Where
from ...explore.strongly_connected import strong_parts
from .enclosure import mixed
from .mdp import Amounts, Decisions


def long_run(
    decisions: Decisions, surely: Where, may: Where, is_open: Where
) -> tuple[Amounts, Amounts]:
    """Bounds of the long-run probability of a condition from every configuration of a chain; of a
    periodic one, of the mean over its steps. What halts stays as it is.

    - `surely`, `may`: where the condition holds, and may hold.
    - `is_open`: what may go anywhere.
    """
    size = decisions.num_configurations
    rows, columns = decisions.matrix.nonzero()
    sources = decisions.owner[rows]
    ones = np.ones(len(rows), bool)
    num_parts, part = strong_parts(csr_array((ones, (sources, columns)), shape=(size, size)))
    leaves = np.zeros(num_parts, bool)
    leaves[part[sources][part[sources] != part[columns]]] = True
    ends = ~leaves[part]
    bounds = []
    for side, holds in enumerate((surely & ~is_open, may | is_open)):
        share = np.bincount(part, holds, num_parts) / np.bincount(part, minlength=num_parts)
        known = np.where(ends, share[part], np.nan)
        for one in np.flatnonzero(~leaves & (share > 0) & (share < 1)):
            own = np.flatnonzero(part == one)
            known[own] = _share(decisions, own, holds[own].astype(float))[side]
        every = np.ones(len(decisions.owner), bool)
        for value in (0.0, 1.0):
            differs, _ = decisions.can_reach(ends & (known != value), every)
            known[~differs] = value
        bounds.append(mixed(decisions, known)[side])
    return bounds[0], bounds[1]


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
    gained, _ = chain.solve(known, reward, every, "max")
    steps, _ = chain.solve(known, 1.0, every, "max")
    mean = float(reward[0] + (matrix @ gained)[0]) / (1 + (matrix @ steps)[0])
    h = gained - mean * steps
    step = reward + matrix @ h - h
    size_of = reward + matrix @ np.abs(h) + np.abs(h)
    error = (2 * decisions.most_choices + 8) * np.finfo(float).eps * size_of
    return max(float((step - error).min()), 0.0), min(float((step + error).max()), 1.0)
