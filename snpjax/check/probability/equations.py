"""The equations of least and largest probabilities and expected sums."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from ...explore.conditions import Where
from ...explore.strongly_connected import strong_parts
from .mdp import Amounts, Decisions


@dataclass(frozen=True, eq=False)
class OptimalityEquations:
    """The least or largest x = cost + P x where `known` is NaN; every configuration there has an
    action."""

    decisions: Decisions
    known: Amounts
    cost: Float[np.ndarray, " actions"]
    best: Literal["min", "max"]

    @property
    def is_open(self) -> Where:
        return np.isnan(self.known)

    def without_end_components(
        self,
    ) -> tuple["OptimalityEquations", Int[np.ndarray, " configurations"]]:
        """The same equations with what can stay together for ever without costs as one
        configuration, and the number of each configuration there. Then they have one solution;
        where some choices take for ever they cost infinitely much (Bertsekas, Tsitsiklis 1991)."""
        kept = self.is_open[self.decisions.owner]
        decisions, cost = self.decisions.only(kept), self.cost[kept]
        part, inner = end_components(decisions, (cost == 0) & decisions.stays(self.is_open))
        if not inner.any():
            every = np.arange(decisions.num_configurations)
            return OptimalityEquations(decisions, self.known, cost, self.best), every
        merged, order = decisions.merged(part, ~inner)
        known = np.full(merged.num_configurations, np.nan)
        known[part[~self.is_open]] = self.known[~self.is_open]
        return OptimalityEquations(merged, known, cost[order], self.best), part


def of_probability(
    decisions: Decisions, target: Where, through: Where, best: Literal["min", "max"]
) -> OptimalityEquations:
    """Of the probability to reach a target through some configurations."""
    decisions = decisions.only(through[decisions.owner] & ~target[decisions.owner])
    if best == "min":
        zero, one = decisions.may_avoid(target), decisions.surely_all(target)
    else:
        zero = ~decisions.can_reach(target, np.ones(len(decisions.owner), bool))[0]
        one = decisions.surely_some(target)[0]
    known = np.where(one, 1.0, np.where(zero, 0.0, np.nan))
    return OptimalityEquations(decisions, known, np.zeros(len(decisions.owner)), best)


def of_expected(
    decisions: Decisions,
    reward: Float[np.ndarray, " configurations"],
    target: Where,
    best: Literal["min", "max"],
) -> OptimalityEquations:
    """Of the expected sum of what is at least 0 in each configuration, until a target is reached;
    infinite where that is not so with probability 1."""
    decisions = decisions.only(~target[decisions.owner])
    if best == "min":
        surely, _ = decisions.surely_some(target)
        decisions = decisions.only(decisions.stays(surely))
    else:
        surely = decisions.surely_all(target)
    known = np.where(target, 0.0, np.where(surely, np.nan, np.inf))
    return OptimalityEquations(decisions, known, reward[decisions.owner], best)


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
