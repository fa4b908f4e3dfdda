"""What `run` returns for a rate network, with its names."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float

from .._text.counts import plural
from .._text.named import variables_by_name
from ..trajectory import AbstractSavedRun
from .machine import RateState


if TYPE_CHECKING:
    from .network import RateNetwork


@final
@dataclass(frozen=True, eq=False, repr=False)
class RateSolution(AbstractSavedRun):
    """A run of a rate network, of one path or many, as host arrays.

    Where there are many, `paths` is the last axis of every array. The result is
    `RESULTS.max_steps_reached`, for a rate network never halts.
    """

    network: "RateNetwork"

    @property
    def rates(self) -> dict[str, dict[str, Float[np.ndarray, "steps neurons *paths"]]]:
        """By population and variable, what was recorded after each step, or after every n-th one
        with `Save(every=n)`; `times` are those of the rows.

        **Raises:** `NotSaved`; `KeyError` for a name that was not recorded.
        """
        if self.trajectory.details is None:
            raise self.trajectory.not_saved(
                "details", "Rates", "save=snp.Save(every=None, outputs=False)"
            )
        every = self._every
        rows = {
            name: {variable: x[every - 1 :: every] for variable, x in variables.items()}
            for name, variables in self.trajectory.details.items()
        }
        fix = "The network keeps what `record=` lists, by default the rates."
        return variables_by_name("population", "recorded populations", rows, fix)

    @property
    def variables(self) -> dict[str, dict[str, Float[np.ndarray, "neurons *paths"]]]:
        """By population and variable, what they are after the last step."""
        variables = self.trajectory.final.variables
        return variables_by_name("population", "populations", variables)

    @property
    def state(self) -> RateState:
        """The state after the last step: what `RateMachine.edges` reads learned weights from, and
        what `run(network, initial=state)` continues from."""
        return self.trajectory.final

    @property
    def steps(self) -> int:
        """Steps made."""
        return int(np.max(self.trajectory.steps, initial=0))

    @property
    def failure(self) -> str | None:
        """Where memory ran out, or a variable is not finite at the end, in words."""
        if self.shortage is not None:
            return self.shortage
        for name, variables in self.variables.items():
            for variable, x in variables.items():
                bad = np.argwhere(~np.isfinite(x))
                if len(bad):
                    return (
                        f"Neuron {bad[0][0]} of population {name!r} has {variable} = "
                        f"{x[tuple(bad[0])]} after {self.steps} steps. Take a smaller `dt`, or "
                        "`ExponentialEuler()`."
                    )
        return None

    @property
    def times(self) -> Float[np.ndarray, " steps"]:
        """The milliseconds after which each row of `rates` was recorded."""
        return self.network.dt * np.arange(self._every, self.steps + 1, self._every)

    @property
    def _every(self) -> int:
        return self.trajectory.saved.every or 1

    def __repr__(self) -> str:
        names = ", ".join(f"{p.name} ({p.size:,})" for p in self.network.populations)
        return (
            f"RateSolution of {names} after {plural(self.steps, 'step')} of {self.network.dt:g} ms"
        )
