"""Intervals that certainly hold least and largest probabilities and expected sums.

Every bound is checked, or iterated, with roundings that are all added on its own side.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from ...explore.conditions import Where
from .equations import OptimalityEquations, of_expected, of_probability
from .mdp import Amounts, Decisions


#: Lower and upper bounds are refined until they are closer, of values above 1 in relation to them.
GAP = 1e-9
_MAX_ITERATIONS = 100_000
_EPSILON = float(np.finfo(float).eps)
# How far a bound that is checked lies from the solution, in expected steps: first, and most.
_MARGIN, _WIDER, _WIDEST = 1e-15, 4.0, 1e-4
# Choices within this part of the best are as good.
_TIE = 1e-9


class Enclosure(NamedTuple):
    """Of a number for every configuration.

    - `is_settled`: whether policy iteration found the guess that they were made from; otherwise
      they hold, but may be far from each other.
    """

    low: Amounts
    high: Amounts
    is_settled: bool = True

    def at_most_1(self) -> "Enclosure":
        return self._replace(high=np.minimum(self.high, 1.0))


def probability(
    decisions: Decisions, target: Where, through: Where, best: Literal["min", "max"]
) -> Enclosure:
    """Bounds of the least or largest probability to reach a target through some configurations."""
    return _enclosed(of_probability(decisions, target, through, best)).at_most_1()


def expected(
    decisions: Decisions,
    reward: Float[np.ndarray, " configurations"],
    target: Where,
    best: Literal["min", "max"],
) -> Enclosure:
    """Bounds of the least or largest expected sum of what is at least 0 in each configuration,
    until a target is reached; infinite where that is not so with probability 1."""
    return _enclosed(of_expected(decisions, reward, target, best))


def within(
    decisions: Decisions,
    target: Where,
    through: Where,
    steps: int,
    best: Literal["min", "max"],
) -> Enclosure:
    """Bounds of the least or largest probability to reach a target within some steps. Whoever
    chooses knows how many steps are left."""
    decisions = decisions.only(through[decisions.owner] & ~target[decisions.owner])
    cost = np.zeros(len(decisions.owner))
    known = np.where(target, 1.0, np.where(np.diff(decisions.first_action) > 0, np.nan, 0.0))
    low = high = target.astype(float)
    for _ in range(steps):
        low = _best(decisions, cost, low, best, "low", known)
        high = _best(decisions, cost, high, best, "high", known)
    return Enclosure(low, high).at_most_1()


def after_a_step(
    decisions: Decisions, target: Where, remains: Where, best: Literal["min", "max"]
) -> Enclosure:
    """Bounds of the least or largest probability to be in a target after one step; where there is
    none, `remains` says whether that is so."""
    known = np.where(np.diff(decisions.first_action) > 0, np.nan, remains.astype(float))
    cost, x = np.zeros(len(decisions.owner)), target.astype(float)
    low, high = (_best(decisions, cost, x, best, side, known) for side in ("low", "high"))
    return Enclosure(low, high).at_most_1()


def mixed(decisions: Decisions, known: Amounts, best: Literal["min", "max"] = "max") -> Enclosure:
    """Bounds of the least or largest mean of what is known where a process ends, at most 1."""
    equations = OptimalityEquations(decisions, known, np.zeros(len(decisions.owner)), best)
    return _enclosed(equations).at_most_1()


def _enclosed(equations: OptimalityEquations) -> Enclosure:
    """Bounds of the solution: the guess of policy iteration is moved until it can be checked that
    the equations do not make it worse (Hartmanns, Kaminski 2020), and iterated."""
    if not equations.is_open.any():
        return Enclosure(equations.known, equations.known)
    equations, part = equations.without_end_components()
    low, high, is_settled = _enclosed_merged(equations)
    return Enclosure(low[part], high[part], is_settled)


def _enclosed_merged(equations: OptimalityEquations) -> Enclosure:
    decisions, known = equations.decisions, equations.known
    cost, best = equations.cost, equations.best
    is_open = np.isnan(known)
    is_sum = bool(cost.any())
    low = np.where(is_open, 0.0, known)
    high = np.where(is_open, np.inf if is_sum else 1.0, known)
    _, policy = decisions.surely_some(~is_open & np.isfinite(known))
    x, _, _, is_settled = decisions.solve(known, cost, policy, best)
    scale = max(1.0, float(x[is_open].max()))
    # The longest stay, over all choices or, where some take for ever, over the best ones.
    quick = decisions
    if is_sum and best == "min":
        value = cost + decisions.matrix @ np.where(np.isfinite(x), x, 0.0)
        quick = decisions.only(value <= x[decisions.owner] + _TIE * scale)
        if np.any(np.diff(quick.first_action)[is_open] == 0):  # the guess is none
            quick = decisions
    ending = np.where(is_open, np.nan, 0.0)
    stay = quick.solve(ending, 1.0, quick.first_action[:-1], "max").values
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
    return Enclosure(low, high, is_settled)


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
