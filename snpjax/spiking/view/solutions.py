"""What a run of different systems side by side gives back."""

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np

from ...trajectory import Trajectory
from ..model.population import PopulationSystem
from ..model.system import SpikingSystem
from ..step.step import SpikingState
from .solution import Solution


class Solutions(tuple[Solution, ...]):
    """The solutions of a batch of systems, in its order.

    - `state`: all final states, to go on from: `run(batch, initial=solutions.state)`.
    """

    state: SpikingState

    def __new__(cls, solutions: Iterable[Solution], state: SpikingState) -> "Solutions":
        self = super().__new__(cls, solutions)
        self.state = state
        return self

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


def solutions_of(
    systems: Sequence[SpikingSystem | PopulationSystem], trajectory: Trajectory
) -> Solutions:
    """The solution of each system of a batch."""
    each = [system.solution(_path(trajectory, path)) for path, system in enumerate(systems)]
    return Solutions(each, trajectory.final)


def _path(trajectory: Trajectory, path: int) -> Trajectory:
    """One path of a batch, cut to its own length."""

    def own(tree: Any) -> Any:
        return jax.tree.map(lambda x: x[..., path], tree)

    steps = int(trajectory.steps[path])
    every = trajectory.every

    def history(tree: Any, rows: int) -> Any:
        return None if tree is None else jax.tree.map(lambda x: x[:rows, ..., path], tree)

    return Trajectory(
        initial=own(trajectory.initial),
        final=own(trajectory.final),
        states=history(trajectory.states, steps // (every or 1)),
        outputs=history(trajectory.outputs, steps),
        details=history(trajectory.details, steps),
        every=every,
        steps=np.asarray(steps),
        result=own(trajectory.result),
    )
