"""Numbers that hold exactly: how probable something is, and how long it takes, on a complete graph.

Under uniform choice every neuron chooses uniformly among its applicable rules, so that all choices
of a configuration are equally likely and the graph is a Markov chain. Where some or all neurons are
`chosen` for, by whoever wants the least or the most, it is a Markov decision process.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from ...explore.conditions import Where, certain_condition
from ...explore.graph import Graph
from ...machine import ConfigurationsT, StepsT
from ..tracing import on_host
from .mdp import Amounts, Decisions, PolicyValues


#: Configurations by what holds of them, by number, or one truth value each.
Target: TypeAlias = (
    Callable[[ConfigurationsT], np.ndarray] | Sequence[int] | Int[np.ndarray, " some"] | Where
)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A number for every configuration that a computation may start from.

    `float(quantity)` is that of the initial configuration.

    - `values`: in double precision.
    - `error`: no finite value is wrong by more: from the residual of the linear equations, and how
      much that can be enlarged. Values that follow from the graph alone (probabilities 0 and 1,
      infinite times) are exact. Where rules are chosen this is the error for the choices that were
      found, of which no change in one configuration gains more than 1e-11 of the value; infinite
      if no such choices were found because of rounding.
    """

    values: Amounts = field(repr=False)
    error: float

    def __float__(self) -> float:
        return float(self.values[0])

    def __str__(self) -> str:
        value = float(self)
        exactly = self.error == 0 or np.isinf(value)
        return f"{value:.10g}" if exactly else f"{value:.10g} (error below {self.error:.1g})"


@on_host("check.reach_probability")
def reach_probability(
    graph: Graph[ConfigurationsT, StepsT], target: Target[ConfigurationsT]
) -> Quantity:
    """How probable it is, under uniform choice, to reach some configurations.

    **Arguments:**

    - `graph`: a complete one.
    - `target`: a predicate as `Graph.where` takes (`lambda c: c["n3"] > 4`), numbers of
      configurations, or one truth value each. `graph.halting()` is where computations halt.

    **Returns:** a `Quantity`; a configuration of the target has 1.

    **Raises:** `ValueError` for a graph that is not complete.
    """
    return _least_probability(Decisions.of(graph, ()), _holds(graph, target))


@on_host("check.reach_probability_range")
def reach_probability_range(
    graph: Graph[ConfigurationsT, StepsT],
    target: Target[ConfigurationsT],
    *,
    chosen: Sequence[str] | None = None,
) -> tuple[Quantity, Quantity]:
    """The least and the largest probability to reach some configurations, over all ways to choose.

    **Arguments:**

    - `graph`, `target`: as in `reach_probability`.
    - `chosen`: neurons whose rules are chosen, knowing the configuration; all others choose
      uniformly at the same time. With `AnyInput` the environment neurons
      (`"environment of x"`) are the natural ones: the worst and the best input. `None` chooses for
      all, and leaves only the probabilities 0 and 1: reached on no or some path, on some or every
      path.

    **Returns:** two `Quantity`s. Where they are not 0 or 1 for sure they come from policy
    iteration.
    """
    decisions, goal = Decisions.of(graph, chosen), _holds(graph, target)
    reached, first = decisions.can_reach(goal, np.ones(len(decisions.owner), bool))
    known = _known(~reached, decisions.surely_some(goal)[0], 1.0)
    return _least_probability(decisions, goal), _quantity(decisions.solve(known, 0.0, first, "max"))


@on_host("check.halting_time")
def halting_time(graph: Graph[ConfigurationsT, StepsT]) -> Quantity:
    """The expected number of steps until the system halts, under uniform choice.

    **Arguments:**

    - `graph`: a complete configuration graph.

    **Returns:** a `Quantity`: the value for each configuration and its bounds, in steps; infinite
    where the halt is not reached with probability 1.

    **Raises:** `ValueError` for a graph that is not complete.
    """
    return _most_time(Decisions.of(graph, ()), graph.is_halting)


@on_host("check.halting_time_range")
def halting_time_range(
    graph: Graph[ConfigurationsT, StepsT], *, chosen: Sequence[str] | None = None
) -> tuple[Quantity, Quantity]:
    """The least and the largest expected number of steps until the system halts, over all ways to
    choose.

    **Arguments:**

    - `graph`: a complete configuration graph.
    - `chosen`: neurons whose rules are chosen, as in `reach_probability_range`. By default all are:
      the two values are the lengths of the shortest and of the longest computation.

    **Returns:** the least and the largest value for each configuration, in steps; infinite where
    the halt is not reached with probability 1.

    **Raises:** `ValueError` for a graph that is not complete, or an unknown name in `chosen`.
    """
    decisions, halting = Decisions.of(graph, chosen), graph.is_halting
    surely, first = decisions.surely_some(halting)
    known = _known(halting, ~surely, np.inf)
    return _quantity(decisions.solve(known, 1.0, first, "min")), _most_time(decisions, halting)


@on_host("check.halting_distribution")
def halting_distribution(
    graph: Graph[ConfigurationsT, StepsT], up_to: int
) -> Float[np.ndarray, " steps"]:
    """The distribution of the number of steps until the system halts, under uniform choice.

    **Arguments:**

    - `graph`: a complete configuration graph.
    - `up_to`: the largest number of steps, 0 or more.

    **Returns:** `(up_to + 1,)` probabilities of halting after exactly 0, 1, ..., `up_to` steps.
    They sum to 1 minus the probability of not halting within `up_to` steps. Every entry is a sum of
    products without cancellation, and is wrong by about `up_to` roundings.

    **Raises:** `ValueError` for a graph that is not complete, or a negative `up_to`.
    """
    if up_to < 0:
        raise ValueError(f"`up_to` is {up_to}. Give a number of steps, 0 or more.")
    decisions, halting = Decisions.of(graph, ()), graph.is_halting
    after = decisions.matrix.T.tocsr()
    now = np.zeros(graph.num_configurations)
    now[0] = 1.0
    found = np.zeros(up_to + 1)
    for step in range(up_to + 1):
        found[step] = now[halting].sum()
        now = after @ now[decisions.owner]  # from halting configurations nothing leads on
        if not now.any():
            break
    return found


def _holds(graph: Graph[ConfigurationsT, StepsT], target: Target[ConfigurationsT]) -> Where:
    size = graph.num_configurations
    if callable(target):
        return certain_condition(graph, target)
    given = np.asarray(target)
    if given.dtype == bool:
        if given.shape != (size,):
            raise ValueError(f"`target` has shape {given.shape}. Give {size} truth values.")
        return given
    if given.size and not (
        np.issubdtype(given.dtype, np.integer) and 0 <= given.min() <= given.max() < size
    ):
        raise ValueError(f"`target` names no configurations of the graph: it has 0 to {size - 1}.")
    holds = np.zeros(size, bool)
    holds[given.astype(np.int64)] = True
    return holds


def _known(zero: Where, other: Where, value: float) -> Amounts:
    known = np.full(len(zero), np.nan)
    known[other] = value
    known[zero] = 0.0
    return known


def _quantity(solution: PolicyValues) -> Quantity:
    return Quantity(solution.values, solution.error)


def _least_probability(decisions: Decisions, target: Where) -> Quantity:
    known = _known(decisions.may_avoid(target), decisions.surely_all(target), 1.0)
    # Every way to choose leaves the rest: where it could stay for ever, it could avoid the target.
    return _quantity(decisions.solve(known, 0.0, decisions.first_action[:-1], "min"))


def _most_time(decisions: Decisions, halting: Where) -> Quantity:
    known = _known(halting, ~decisions.surely_all(halting), np.inf)
    return _quantity(decisions.solve(known, 1.0, decisions.first_action[:-1], "max"))
