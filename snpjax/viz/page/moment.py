"""A configuration or marking of a computation on the page, and the step that led to it."""

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Int, PyTree

from ...sleptsov import NetSolution
from ...spiking import Network, Solution
from .subsets import SubsetsOfRules


SolutionT = TypeVar("SolutionT", Solution, NetSolution)


class Moment(NamedTuple, Generic[SolutionT]):
    """A configuration or marking, and the step that led to it.

    - `solution`: the step as a run of its own: the rules, the emissions, the spikes after it; of
      the initial configuration the spikes only.
    - `options`: the rules that each neuron may select next, by its position, and the number by
      which a choice takes each of them. In a net one chooser selects transitions.
    - `network`: the neurons and synapses, where they change.
    - `subsets`: what else may be chosen next, by chooser and rule.
    - `taken`: the number of the subset that each chooser took in this step, but for those that took
      number 0. With the rules these are the row of `GivenChoices` that makes the step again.
    """

    machine: Any
    state: PyTree
    options: dict[int, dict[int, int]]
    solution: SolutionT
    is_halted: bool
    network: Network | None
    subsets: SubsetsOfRules
    taken: Mapping[int, int]

    @property
    def counts(self) -> Int[np.ndarray, " columns"]:
        """The spikes of the neurons, or the tokens of the places."""
        solution = self.solution
        return solution.marking if isinstance(solution, NetSolution) else solution.spikes
