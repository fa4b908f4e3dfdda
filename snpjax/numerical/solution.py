"""What `run` returns for a numerical system, with its names."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float64, Int

from .._text.counts import plural
from .._text.named import Named, variables_by_name
from ..results import RESULTS, codes_of
from ..trajectory import (
    AbstractCheckedRun,
    AbstractManyPaths,
    AbstractOnePath,
    Trajectory,
)
from .machine import NumericalState


if TYPE_CHECKING:
    from .model import NumericalSystem

_REFUSED = int(RESULTS.choice_refused._value)


@dataclass(frozen=True, eq=False, repr=False)
class AbstractNumericalSolution(AbstractCheckedRun):
    """What runs of a numerical system with one path and with many have in common.

    In a batch `paths` is the last axis of every array. A history that was not saved raises
    `NotSaved`.
    """

    system: "NumericalSystem"

    @property
    def state(self) -> NumericalState:
        """The final state, to continue from: `run(system, initial=state)`."""
        return self.trajectory.final

    @property
    def variables(self) -> dict[str, dict[str, Float64[np.ndarray, "rows *paths"]]]:
        """By neuron and variable, the initial value, then those after every `saved.every`-th step;
        after a path's end the last one."""
        if self.trajectory.states is None:
            raise self.trajectory.not_saved("states", "Variables", "save=snp.SAVE_ALL")
        return self._named(self.trajectory.states.values.swapaxes(1, 2))

    @property
    def final(self) -> dict[str, dict[str, Float64[np.ndarray, "*paths"]]]:
        """By neuron and variable, the final value; where a step failed, that before it."""
        return self._named(self.trajectory.final.values.swapaxes(0, 1))

    @property
    def outputs(self) -> dict[str, Float64[np.ndarray, "steps *paths"]]:
        """By output, what was sent to it in each step; 0 after a path's end."""
        if self.trajectory.outputs is None:
            raise self.trajectory.not_saved("outputs", "Outputs", "save=snp.SAVE_OUTPUTS")
        names = self.system.senders
        values = {name: self.trajectory.outputs[:, i] for i, name in enumerate(names)}
        return Named("output", "outputs", values)

    @property
    def productions(self) -> Int[np.ndarray, "steps neurons *paths"]:
        """The number of the production function that each neuron used in each step, or
        `NO_RULE`."""
        if self.trajectory.details is None:
            raise self.trajectory.not_saved("details", "Production functions", "save=snp.SAVE_ALL")
        return self.trajectory.details

    def _named(self, values: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
        """Values with the axes `(*rows, neurons, variables, *paths)`, by their names."""
        lead = (slice(None),) * (values.ndim - 2 - self.trajectory.steps.ndim)
        tables = {
            neuron.name: {name: values[*lead, i, k] for k, name in enumerate(neuron.variables)}
            for i, neuron in enumerate(self.system.neurons)
        }
        return variables_by_name("neuron", "neurons", tables)

    def _failure(self, failed: Int[np.ndarray, " failed"]) -> str:
        steps, codes = np.ravel(self.trajectory.steps), np.ravel(codes_of(self.result))
        path = int(failed[0])
        where = f"step {int(steps[path]) + 1}"
        if self.trajectory.steps.ndim:
            where += f", path {path} ({len(failed):,} of {len(steps):,} paths failed)"
        result = RESULTS.choice_refused if codes[path] == _REFUSED else RESULTS.value_overflow
        return f"{where}: {RESULTS[result]}"


@final
class NumericalSolution(AbstractNumericalSolution, AbstractOnePath):
    """A run of a numerical system, as host arrays: one path. See `AbstractNumericalSolution`."""

    def __repr__(self) -> str:
        lines = [f"NumericalSolution of {self.system!r}: {self.ending}"]
        if self.failure is not None:
            lines.append(f"  {self.failure}")
        if self.trajectory.outputs is not None:
            lines += [f"  {name}: {_shown(sent)}" for name, sent in self.outputs.items()]
        return "\n".join(lines)


@final
class NumericalSolutionBatch(AbstractNumericalSolution, AbstractManyPaths[NumericalSolution]):
    """Many runs of a numerical system side by side, whose last axis is `paths`. `batch[path]` is
    the `NumericalSolution` of one path, cut to its own length. See `AbstractNumericalSolution`."""

    def _solution(self, trajectory: Trajectory) -> NumericalSolution:
        return NumericalSolution(trajectory, self.system)

    def __repr__(self) -> str:
        what = f"{plural(self.paths, 'path')} of {self.system!r}: {self.ending}"
        return f"NumericalSolutionBatch({what})"


def _shown(sent: np.ndarray) -> str:
    """The first numbers of an output."""
    first = ", ".join(f"{x:g}" for x in sent[:12].tolist())
    return f"{first}, ..." if len(sent) > 12 else first or "nothing"
