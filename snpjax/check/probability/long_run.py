"""The share of the steps in which a condition holds, in the long run."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from ...explore.conditions import Where
from ...explore.strongly_connected import strong_parts
from .enclosure import Enclosure, mixed
from .equations import end_components
from .mdp import Amounts, Decisions


_GAP = 1e-11
_MAX_ITERATIONS = 20_000  # in one end component


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


def long_run(
    decisions: Decisions,
    surely: Where,
    may: Where,
    is_open: Where,
    best: Literal["min", "max"] = "min",
) -> Enclosure:
    """Bounds of the long-run probability of a condition from every configuration, the least or
    largest one; where it is periodic, of the mean over its steps. What halts stays as it is.

    - `surely`, `may`: where the condition holds, and may hold.
    - `is_open`: what may go anywhere.
    """
    sides = surely & ~is_open, may | is_open
    if decisions.is_chain:
        worst, most = (_of_chain(decisions, holds) for holds in sides)
    else:
        worst, most = (_of_process(decisions, holds, best) for holds in sides)
    return Enclosure(worst.low, most.high, worst.is_settled and most.is_settled)


def _of_chain(decisions: Decisions, holds: Where) -> Enclosure:
    part, is_bottom = bottom_parts(decisions)
    share = np.bincount(part, holds) / np.bincount(part)
    low = high = np.where(is_bottom, share[part], np.nan)
    for one in np.unique(part[is_bottom & (share[part] > 0) & (share[part] < 1)]):
        own = np.flatnonzero(part == one)
        low, high = low.copy(), high.copy()
        low[own], high[own] = _share(decisions, own, holds[own].astype(float))
    return _mixed(decisions, low, high, "max")


def _of_process(decisions: Decisions, holds: Where, best: Literal["min", "max"]) -> Enclosure:
    """Whoever chooses can stay in an end component as long as they like, and there reach the best
    share from everywhere.

    ??? cite "Source"
        Ashok, Chatterjee, Daca, Křetínský, Meggendorfer 2017, Value iteration for long-run average
        reward in Markov decision processes.
    """
    size = decisions.num_configurations
    part, inner = end_components(decisions, np.ones(len(decisions.owner), bool))
    stays = np.zeros(size, bool)
    stays[decisions.owner[inner]] = True
    has_actions = np.diff(decisions.first_action) > 0
    numbers, component = np.unique(part[stays], return_inverse=True)
    bounds = np.zeros((len(numbers), 2))
    for number, one in enumerate(numbers):
        own = np.flatnonzero(stays & (part == one))
        if holds[own].all() or not holds[own].any():
            bounds[number] = holds[own[0]]
        else:
            bounds[number] = _best_share(decisions, inner, own, holds[own].astype(float), best)
    # To stay in a component is to go to an end of its own.
    ends = decisions.with_steps(np.flatnonzero(stays), size + component, size + len(numbers))
    low, high = (np.concatenate([np.where(has_actions, np.nan, holds), side]) for side in bounds.T)
    found = _mixed(ends, low, high, best)
    return Enclosure(found.low[:size], found.high[:size], found.is_settled)


def _mixed(
    decisions: Decisions, low: Amounts, high: Amounts, best: Literal["min", "max"]
) -> Enclosure:
    """Bounds of the mean of numbers in an interval; exactly 0 or 1 where they, or the best of them
    that are surely reached, are."""
    bounds, every = [], np.ones(len(decisions.owner), bool)
    is_known = ~np.isnan(low)
    for known in (low, high):
        own = known.copy()
        for value in (0.0, 1.0):
            differs, _ = decisions.can_reach(is_known & (known != value), every)
            own[~differs] = value
        value = 0.0 if best == "min" else 1.0
        own[decisions.surely_some(known == value)[0]] = value
        bounds.append(mixed(decisions, own, best))
    below, above = bounds
    return Enclosure(below.low, above.high, below.is_settled and above.is_settled)


def _best_share(
    decisions: Decisions,
    inner: Bool[np.ndarray, " actions"],
    own: Int[np.ndarray, " own"],
    reward: Float[np.ndarray, " own"],
    best: Literal["min", "max"],
) -> tuple[float, float]:
    """Bounds of the least or largest mean reward of a step in an end component, in which all can be
    reached from everywhere.

    For any numbers h it is between the least and the largest best of reward + P h - h (Puterman
    1994, theorem 8.5.5). Here h comes from value iteration, in which each step is only made half of
    the time, so that it converges where the best choices are periodic as well.
    """
    actions = np.flatnonzero(inner & np.isin(decisions.owner, own))
    matrix = csr_array(decisions.matrix[actions].tocsc()[:, own])
    first = np.searchsorted(decisions.owner[actions], own)
    pick = np.maximum if best == "max" else np.minimum
    h = np.zeros(len(own))
    low, high = 0.0, 1.0
    for _ in range(_MAX_ITERATIONS):
        gained = reward + pick.reduceat(matrix @ h, first) - h
        largest = 1 + 2 * float(np.abs(h).max())
        error = (2 * decisions.most_choices + 8) * float(np.finfo(float).eps) * largest
        low, high = max(low, float(gained.min()) - error), min(high, float(gained.max()) + error)
        if high - low <= _GAP:
            break
        h = h + gained / 2
        h -= h[0]
    return low, high


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
