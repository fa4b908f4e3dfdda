"""What `run` returns for a `SystemBatch`."""

from collections.abc import Iterable, Sequence
from typing import Any

from ...trajectory import Trajectory
from ..model.population import AnySystem
from ..step.step import SpikingState
from .solution import Solution


class Solutions(tuple[Solution, ...]):
    """The solutions of a batch of systems, in its order.

    - `state`: all final states, to continue from: `run(batch, initial=solutions.state)`.
    """

    state: SpikingState

    def __new__(cls, solutions: Iterable[Solution], state: SpikingState) -> "Solutions":
        self = super().__new__(cls, solutions)
        self.state = state
        return self

    def __reduce__(self):
        return Solutions, (tuple(self), self.state)

    @property
    def result(self) -> tuple[Any, ...]:
        return tuple(solution.result for solution in self)

    @property
    def failure(self) -> str | None:
        """The first failure in words, with the number of its system."""
        for number, solution in enumerate(self):
            if solution.failure is not None:
                return f"system {number}: {solution.failure}"
        return None


def solutions_of(systems: Sequence[AnySystem], trajectory: Trajectory) -> Solutions:
    """The solution of each system of a batch, or of those that are run by this process."""
    numbers = range(len(systems)) if trajectory.numbers is None else trajectory.numbers
    each = [systems[n].solution(trajectory.of_path(path)) for path, n in enumerate(numbers)]
    return Solutions(each, trajectory.final)
