"""Intervals that certainly hold least and largest probabilities and expected sums.

Every bound is checked, or iterated, with roundings that are all added on its own side.
"""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from ...explore.conditions import Where
from ...explore.strongly_connected import strong_parts
from .mdp import Amounts, Decisions


#: Lower and upper bounds are refined until they are closer, of values above 1 in relation to them.
GAP = 1e-9
_MAX_ITERATIONS = 100_000
_EPSILON = float(np.finfo(float).eps)
# How far a bound that is checked lies from the solution, in expected steps: first, and most.
_MARGIN, _WIDER, _WIDEST = 1e-15, 4.0, 1e-4
# Choices within this part of the best are as good.
_TIE = 1e-9


def probability(
    decisions: Decisions, target: Where, through: Where, best: Literal["min", "max"]
) -> tuple[Amounts, Amounts]:
    """Bounds of the least or largest probability to reach a target through some configurations."""
    decisions = decisions.only(through[decisions.owner] & ~target[decisions.owner])
    if best == "min":
        zero, one = decisions.may_avoid(target), decisions.surely_all(target)
    else:
        zero = ~decisions.can_reach(target, np.ones(len(decisions.owner), bool))[0]
        one = decisions.surely_some(target)[0]
    known = np.where(one, 1.0, np.where(zero, 0.0, np.nan))
    cost = np.zeros(len(decisions.owner))
    low, high = _enclose(decisions, known, cost, best)
    return low, np.minimum(high, 1.0)


def expected(
    decisions: Decisions,
    reward: Float[np.ndarray, " configurations"],
    target: Where,
    best: Literal["min", "max"],
) -> tuple[Amounts, Amounts]:
    """Bounds of the least or largest expected sum of what is at least 0 in each configuration,
    until a target is reached; infinite where that is not so with probability 1."""
    decisions = decisions.only(~target[decisions.owner])
    if best == "min":
        surely, _ = decisions.surely_some(target)
        decisions = decisions.only(decisions.stays(surely))
    else:
        surely = decisions.surely_all(target)
    known = np.where(target, 0.0, np.where(surely, np.nan, np.inf))
    return _enclose(decisions, known, reward[decisions.owner], best)


def within(
    decisions: Decisions,
    target: Where,
    through: Where,
    steps: int,
    best: Literal["min", "max"],
) -> tuple[Amounts, Amounts]:
    """Bounds of the least or largest probability to reach a target within some steps, by who knows
    their number."""
    decisions = decisions.only(through[decisions.owner] & ~target[decisions.owner])
    cost = np.zeros(len(decisions.owner))
    known = np.where(target, 1.0, np.where(np.diff(decisions.first_action) > 0, np.nan, 0.0))
    low = high = target.astype(float)
    for _ in range(steps):
        low = _best(decisions, cost, low, best, "low", known)
        high = _best(decisions, cost, high, best, "high", known)
    return low, np.minimum(high, 1.0)


def after_a_step(
    decisions: Decisions, target: Where, remains: Where, best: Literal["min", "max"]
) -> tuple[Amounts, Amounts]:
    """Bounds of the least or largest probability to be in a target after one step; where there is
    none, `remains` says whether that is so."""
    known = np.where(np.diff(decisions.first_action) > 0, np.nan, remains.astype(float))
    cost, x = np.zeros(len(decisions.owner)), target.astype(float)
    low, high = (_best(decisions, cost, x, best, side, known) for side in ("low", "high"))
    return low, np.minimum(high, 1.0)


def mixed(decisions: Decisions, known: Amounts) -> tuple[Amounts, Amounts]:
    """Bounds of the mean of what is known where a chain ends, at most 1, from everywhere."""
    low, high = _enclose(decisions, known, np.zeros(len(decisions.owner)), "max")
    return low, np.minimum(high, 1.0)


def _enclose(
    decisions: Decisions,
    known: Amounts,
    cost: Float[np.ndarray, " actions"],
    best: Literal["min", "max"],
) -> tuple[Amounts, Amounts]:
    """Bounds of x = cost + P x, the least or largest, where `known` is NaN. Every configuration
    there has an action, and those where costs are 0 may form end components."""
    is_open = np.isnan(known)
    if not is_open.any():
        return known, known
    kept = is_open[decisions.owner]
    decisions, cost = decisions.only(kept), cost[kept]
    part, inner = end_components(decisions, (cost == 0) & decisions.stays(is_open))
    if inner.any():
        merged, order = decisions.merged(part, ~inner)
        size = merged.num_configurations
        known_there = np.full(size, np.nan)
        known_there[part[~is_open]] = known[~is_open]
        low, high = _enclose_merged(merged, known_there, cost[order], best)
        return low[part], high[part]
    return _enclose_merged(decisions, known, cost, best)


def _enclose_merged(
    decisions: Decisions,
    known: Amounts,
    cost: Float[np.ndarray, " actions"],
    best: Literal["min", "max"],
) -> tuple[Amounts, Amounts]:
    """The same without end components. Then a bound that the equations do not make worse is one of
    their only solution; where some choices take for ever they cost infinitely much (Bertsekas,
    Tsitsiklis 1991). So the guess of policy iteration is moved until that can be checked
    (Hartmanns, Kaminski 2020), and iterated."""
    is_open = np.isnan(known)
    is_sum = bool(cost.any())
    low = np.where(is_open, 0.0, known)
    high = np.where(is_open, np.inf if is_sum else 1.0, known)
    _, policy = decisions.surely_some(~is_open & np.isfinite(known))
    x, _ = decisions.solve(known, cost, policy, best)
    scale = max(1.0, float(x[is_open].max()))
    # The longest stay, over all choices or, where some take for ever, over the best ones.
    quick = decisions
    if is_sum and best == "min":
        value = cost + decisions.matrix @ np.where(np.isfinite(x), x, 0.0)
        quick = decisions.only(value <= x[decisions.owner] + _TIE * scale)
    ending = np.where(is_open, np.nan, 0.0)
    stay, _ = quick.solve(ending, 1.0, quick.first_action[:-1], "max")
    margin = _MARGIN * scale
    while margin <= _WIDEST * scale:
        below = np.where(is_open, np.maximum(x - margin * stay, 0.0), known)
        if np.all(below <= _best(decisions, cost, below, best, "low", known)):
            low = np.maximum(low, below)
            break
        margin *= _WIDER
    margin = _MARGIN * scale
    while margin <= _WIDEST * scale:
        above = np.where(is_open, x + margin * stay, known)
        if np.all(above >= _best(decisions, cost, above, best, "high", known)):
            high = np.minimum(high, above)
            break
        margin *= _WIDER
    for _ in range(_MAX_ITERATIONS):
        gap = np.where(is_open, high, 0.0) - np.where(is_open, low, 0.0)
        if np.isinf(gap).any() or np.all(gap <= GAP / 2 * np.maximum(1.0, low)):
            break
        new_low = np.maximum(low, _best(decisions, cost, low, best, "low", known))
        new_high = np.minimum(high, _best(decisions, cost, high, best, "high", known))
        if np.array_equal(new_low, low) and np.array_equal(new_high, high):
            break
        low, high = new_low, new_high
    return low, high


def _best(
    decisions: Decisions,
    cost: Float[np.ndarray, " actions"],
    x: Amounts,
    best: Literal["min", "max"],
    side: Literal["low", "high"],
    known: Amounts,
) -> Amounts:
    """The best cost + P x of every configuration without a negative number, rounded to a side by
    more than all errors; `known` where there are no actions, or it is given."""
    error = (2 * decisions.most_choices + 8) * _EPSILON
    values = (cost + decisions.matrix @ x) * (1 + (error if side == "high" else -error))
    found = known.copy()
    has = np.flatnonzero(np.diff(decisions.first_action))
    if len(has):
        pick = np.maximum if best == "max" else np.minimum
        found[has] = pick.reduceat(values, decisions.first_action[has])
    return np.where(np.isnan(known), found, known)


def end_components(
    decisions: Decisions, among: Bool[np.ndarray, " actions"]
) -> tuple[Int[np.ndarray, " configurations"], Bool[np.ndarray, " actions"]]:
    """The largest sets of configurations that some of the actions keep within, and connect: the
    number of each configuration's, alone or not, and the actions that do so.

    ??? cite "Source"
        de Alfaro 1997, algorithm 3.1.
    """
    inner = among.copy()
    size = decisions.num_configurations
    rows, columns = decisions.matrix.nonzero()
    while True:
        kept = inner[rows]
        pairs = np.unique(decisions.owner[rows[kept]] * size + columns[kept])
        ones = np.ones(len(pairs), bool)
        edges = csr_array((ones, (pairs // size, pairs % size)), shape=(size, size))
        _, part = strong_parts(edges)
        leaves = rows[part[columns] != part[decisions.owner[rows]]]
        left = inner.copy()
        left[leaves] = False
        if np.array_equal(left, inner):
            return part, inner
        inner = left
