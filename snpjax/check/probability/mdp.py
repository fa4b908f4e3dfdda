"""A configuration graph as a Markov decision process: who chooses, and what follows from it for
every way to choose.

In each configuration somebody first takes an action; then all choices that agree with it are
equally likely. An action is what some neurons select; the others choose uniformly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csc_array, csr_array, eye_array, vstack
from scipy.sparse.linalg import bicgstab, splu

from ...explore.conditions import Where
from ...explore.graph import Graph
from ...explore.strongly_connected import strong_parts
from ...explore.successors import ranges
from ...machine import ConfigurationsT, StepsT
from ..reduction.plan import ReducedModel
from ..systems import positions, system_of
from ..temporal.kripke import search


#: A number for every configuration.
Amounts: TypeAlias = Float[np.ndarray, " configurations"]
#: An action for every configuration; -1 where there is none.
FirstActions: TypeAlias = Int[np.ndarray, " configurations"]
# An action is better when it is by more than this part.
_BETTER = 1e-11
_MAX_ROUNDS = 10_000
# Strong components from this size on are worth an order of their own.
_LARGE_PART = 4096
_MAX_ITERATIONS = 200
# I - P needs no pivoting: its diagonal dominates.
_DIAGONAL = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


class PolicyValues(NamedTuple):
    """What policy iteration found.

    - `error`: no finite value is wrong by more, for this policy; infinite if it is not settled.
    - `policy`: the action of each configuration whose value was not known, and -1 elsewhere.
    - `is_settled`: whether no other policy seemed better. Rounding errors may prevent that.
    """

    values: Amounts
    error: float
    policy: FirstActions
    is_settled: bool = True


@dataclass(frozen=True, eq=False)
class Decisions:
    """Actions of configurations, numbered in the order of the configurations.

    - `first_action`: the actions of configuration i are `first_action[i]` to
      `first_action[i + 1]`; a halting configuration has none.
    - `owner`: the configuration of each action.
    - `matrix`: the probability of each configuration after each action.
    - `most_choices`: how many choices agree with one action, at most.
    """

    first_action: Int[np.ndarray, " starts"]
    owner: Int[np.ndarray, " actions"]
    matrix: csr_array
    most_choices: int

    @classmethod
    def of(cls, graph: Graph[ConfigurationsT, StepsT], chosen: Sequence[str] | None) -> "Decisions":
        """Actions are what the neurons `chosen` select; `None` is all of them.

        **Raises:** `ValueError` for a graph that is not complete.
        """
        if isinstance(graph.system, ReducedModel):
            raise ValueError("This graph was reduced for a query. Pass a graph of `explore`.")
        if not graph.is_complete:
            raise ValueError(
                f"The graph is not complete: {graph.reason}. Explore it with higher limits, "
                "or use `estimate`."
            )
        every = np.arange(graph.num_configurations)
        return cls.on_states(graph, every, graph.edge_targets, chosen)

    @classmethod
    def on_states(
        cls,
        graph: Graph[ConfigurationsT, StepsT],
        configuration: Int[np.ndarray, " states"],
        targets: Int[np.ndarray, " edges"],
        chosen: Sequence[str] | None,
    ) -> "Decisions":
        """The same of states that each stand for a configuration; `targets` are the states that the
        edges of theirs lead to, one state after the other. Where the graph is not complete, open
        configurations have no actions."""
        size = len(configuration)
        counts = np.zeros(graph.num_configurations + 1, np.int64)
        counts[1 : graph.num_expanded + 1] = np.diff(graph.first_edge)
        edges, sources = ranges(np.cumsum(counts), configuration)
        own = np.zeros(len(edges), np.int64)
        if chosen is None:
            own = np.arange(len(edges))
        elif len(chosen):
            own = _agreeing(graph, chosen)[edges]
        num_own = int(own.max(initial=0)) + 1
        found, action = np.unique(sources * num_own + own, return_inverse=True)
        owner = found // num_own
        choices = np.bincount(action, minlength=len(owner))
        share = 1.0 / choices[action]
        matrix = csr_array((share, (action, targets)), shape=(len(owner), size))
        first = np.searchsorted(owner, np.arange(size + 1))
        return cls(first, owner, matrix, int(choices.max(initial=1)))

    def with_steps(
        self,
        states: Int[np.ndarray, " some"],
        targets: Int[np.ndarray, " some"],
        size: int | None = None,
    ) -> "Decisions":
        """One action more for some states: the step to another state. `size` is the number of
        states then; those that are new have no actions."""
        size = self.num_configurations if size is None else size
        owner = np.concatenate([self.owner, states])
        order = np.argsort(owner, kind="stable")
        every, ones = np.arange(len(states)), np.ones(len(states))
        steps = csr_array((ones, (every, targets)), shape=(len(states), size))
        old = self.matrix
        old = csr_array((old.data, old.indices, old.indptr), shape=(len(self.owner), size))
        first = np.searchsorted(owner[order], np.arange(size + 1))
        matrix = csr_array(vstack([old, steps]))[order]
        return Decisions(first, owner[order], matrix, self.most_choices)

    def only(self, kept: Bool[np.ndarray, " actions"]) -> "Decisions":
        """Some of the actions."""
        owner = self.owner[kept]
        first = np.searchsorted(owner, np.arange(self.num_configurations + 1))
        return Decisions(first, owner, self.matrix[np.flatnonzero(kept)], self.most_choices)

    def merged(
        self, part: Int[np.ndarray, " configurations"], kept: Bool[np.ndarray, " actions"]
    ) -> tuple["Decisions", Int[np.ndarray, " kept"]]:
        """Some of the actions between parts, numbered from 0, and which of them each one was."""
        order = np.flatnonzero(kept)
        order = order[np.argsort(part[self.owner[order]], kind="stable")]
        size, owner = int(part.max()) + 1, part[self.owner[order]]
        every = np.arange(len(part))
        joins = csr_array((np.ones(len(part)), (every, part)), shape=(len(part), size))
        first = np.searchsorted(owner, np.arange(size + 1))
        matrix = csr_array(self.matrix[order] @ joins)
        return Decisions(first, owner, matrix, self.most_choices), order

    @property
    def num_configurations(self) -> int:
        return len(self.first_action) - 1

    @property
    def is_chain(self) -> bool:
        """Whether nobody has a choice."""
        return bool(np.all(np.diff(self.first_action) <= 1))

    # ---- what holds for sure: by the graph alone, hence exactly ----

    def can_reach(
        self, target: Where, among: Bool[np.ndarray, " actions"]
    ) -> tuple[Where, FirstActions]:
        """From where a target can be reached by some of the actions, and by which first action on
        a shortest way; -1 at the targets and where there is none."""
        size, actions = self.num_configurations, np.flatnonzero(among)
        picked = self.matrix[actions].tocsc()
        # Backwards: from configurations to the actions that lead there, and on to their owners.
        after = np.concatenate([size + picked.indices, self.owner[actions]]).astype(np.int32)
        ends = picked.indptr[-1] + np.arange(1, len(actions) + 1)
        begins = np.concatenate([picked.indptr, ends]).astype(np.int64)
        starts = np.concatenate([target, np.zeros(len(actions), bool)])
        found, before = search(after, begins, starts)
        reached = found[:size]
        is_way = reached & ~target
        first = np.full(size, -1)
        first[is_way] = actions[before[:size][is_way] - size]
        return reached, first

    def may_avoid(self, target: Where) -> Where:
        """From where some way to choose avoids the targets for sure."""
        columns = self.matrix.tocsc()
        forced = target.copy()
        hit = np.zeros(len(self.owner), bool)
        left = np.diff(self.first_action)
        frontier = np.flatnonzero(target)
        while len(frontier):
            hits = np.unique(columns.indices[ranges(columns.indptr, frontier)[0]])
            hits = hits[~hit[hits]]
            hit[hits] = True
            np.subtract.at(left, self.owner[hits], 1)
            owners = np.unique(self.owner[hits])
            frontier = owners[(left[owners] == 0) & ~forced[owners]]
            forced[frontier] = True
        return ~forced

    def stays(self, inside: Where) -> Bool[np.ndarray, " actions"]:
        """Whether an action certainly leads to some configurations."""
        return np.equal(self.matrix @ (~inside).astype(float), 0.0)

    def surely_some(self, target: Where) -> tuple[Where, FirstActions]:
        """From where some way to choose reaches the targets with probability 1, and how it starts.

        ??? cite "Source"
            de Alfaro 1997; Baier, Katoen 2008, algorithm 45.
        """
        inside = np.ones(self.num_configurations, bool)
        while True:
            reached, first = self.can_reach(target, self.stays(inside))
            if np.array_equal(reached, inside):
                return inside, first
            inside = reached

    def surely_all(self, target: Where) -> Where:
        """From where every way to choose reaches the targets with probability 1."""
        before = ~target[self.owner]
        return ~self.can_reach(self.may_avoid(target), before)[0] | target

    # ---- numbers ----

    def solve(
        self,
        known: Amounts,
        cost: Float[np.ndarray, " actions"] | float,
        policy: FirstActions,
        best: Literal["min", "max"],
    ) -> PolicyValues:
        """The least or largest x = cost + P x where `known` is NaN, by policy iteration from a
        policy that leaves these configurations with probability 1.

        ??? cite "Source"
            Howard 1960. That only better actions are taken keeps the policy one that leaves:
            Bertsekas, Tsitsiklis 1991.
        """
        open_ones = np.flatnonzero(np.isnan(known))
        found = np.full(len(known), -1)
        if not len(open_ones):
            return PolicyValues(known, 0.0, found)
        sign = 1.0 if best == "max" else -1.0
        policy = policy[open_ones]
        counts = np.diff(self.first_action)[open_ones]
        actions, _ = ranges(self.first_action, open_ones)
        starts = np.cumsum(counts) - counts
        matrix = self.matrix[actions]
        cost = np.broadcast_to(cost, self.owner.shape)
        x, error, is_settled = np.where(np.isnan(known), 0.0, known), np.inf, False
        for _ in range(_MAX_ROUNDS):
            try:
                x, error = self._evaluate(known, cost, policy, open_ones)
            except RuntimeError:  # a singular matrix: what seemed better stays for ever
                break
            # An action that leads where x is infinite is no candidate of a least x, and there is
            # none of a largest.
            with np.errstate(invalid="ignore"):
                values = sign * (cost[actions] + matrix @ np.where(np.isinf(x), -sign * 1e300, x))
            top = np.maximum.reduceat(values, starts)
            now = sign * x[open_ones]
            is_better = top > now + _BETTER * np.maximum(1.0, np.abs(now))
            is_better &= counts > 1
            if not is_better.any():
                is_settled = True
                break
            is_top = np.flatnonzero(values == np.repeat(top, counts))
            _, firsts = np.unique(np.searchsorted(starts, is_top, "right"), return_index=True)
            policy = np.where(is_better, actions[is_top[firsts]], policy)
        found[open_ones] = policy
        return PolicyValues(x, error if is_settled else np.inf, found, is_settled)

    def _evaluate(
        self,
        known: Amounts,
        cost: Float[np.ndarray, " actions"],
        policy: Int[np.ndarray, " open"],
        open_ones: Int[np.ndarray, " open"],
    ) -> tuple[Amounts, float]:
        """x = cost + P x of one policy, and a bound on its error. (I - P) has an inverse without
        negative entries, whose largest row sum is the longest expected stay: so much may a residual
        be enlarged. Whatever is at least 1 after multiplication with I - P bounds the stay."""
        rows = self.matrix[policy]
        inner = rows[:, open_ones]
        outer = np.where(np.isnan(known), 0.0, known)
        constant = cost[policy] + rows @ outer
        system = eye_array(len(open_ones), format="csc") - inner.tocsc()
        solve = _solver(system)
        x = solve(constant)
        stay = solve(np.ones(len(open_ones)))
        residual = np.abs(constant - system @ x).max()
        terms = int(np.diff(rows.indptr).max()) + 4
        rounding = terms * np.finfo(float).eps * max(1.0, np.abs(x).max())
        whole = known.copy()
        whole[open_ones] = x
        reached = float((system @ stay).min())  # 1, but for errors
        bound = stay.max() / reached if reached > 0.5 else np.inf
        return whole, float((residual + rounding) * bound)


def _solver(system: csc_array) -> Callable[[np.ndarray], np.ndarray]:
    """Solves (I - P) x = b, by an iteration where a large part of P is strongly connected and mixes
    well, so that factors would fill; else by factors."""
    num_parts, part = strong_parts(system)
    sizes = np.bincount(part, minlength=num_parts)
    factors: list[Callable[[np.ndarray], np.ndarray]] = []

    def solve(right: np.ndarray) -> np.ndarray:
        if not factors and sizes.max() > _LARGE_PART:
            x, _ = bicgstab(system, right, rtol=1e-14, maxiter=_MAX_ITERATIONS)
            largest = max(np.abs(right).max(), np.abs(x).max())
            if np.abs(right - system @ x).max() <= 1e-13 * largest:  # never so of NaN
                return x
        if not factors:
            factors.append(_factored(system, part, np.flatnonzero(sizes > _LARGE_PART)))
        x = factors[0](right)
        return x + factors[0](right - system @ x)

    return solve


def _factored(
    system: csc_array, part: Int[np.ndarray, " open"], large: Int[np.ndarray, " some"]
) -> Callable[[np.ndarray], np.ndarray]:
    """LU factors in an order that leaves zeros zero.

    Strong components come one after the other, those that others lead to first (scipy numbers them
    so; only the speed depends on it): without cycles nothing fills in. SuperLU's orders for the
    whole take minutes there (300,000 states without cycles; 3 s so; scipy 1.17, one core).
    """
    rank = np.zeros(len(part), np.int64)
    for one in large:
        own = np.flatnonzero(part == one)
        block = system[own][:, own].tocsc()
        rank[own] = splu(block, permc_spec="MMD_AT_PLUS_A", **_DIAGONAL).perm_c
    order = np.lexsort((rank, part))
    factors = splu(system[order][:, order].tocsc(), permc_spec="NATURAL", **_DIAGONAL)

    def solve(right: np.ndarray) -> np.ndarray:
        solution = np.empty_like(right)
        solution[order] = factors.solve(right[order])
        return solution

    return solve


def _agreeing(graph: Graph[Any, Any], chosen: Sequence[str]) -> Int[np.ndarray, " edges"]:
    """The same number for edges of a source on which some neurons select the same."""
    if not chosen:
        return np.unique(graph.sources, return_inverse=True)[1]
    columns = positions(system_of(graph), chosen)
    rules = graph.map_transitions(lambda steps: steps.rules[:, columns])
    keys = np.concatenate([graph.sources[:, None], rules], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
