"""What a run of a rate network gives back, with its names."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..trajectory import Trajectory
from .machine import RateState


if TYPE_CHECKING:
    from .network import RateNetwork


@dataclass(frozen=True, eq=False)
class RateSolution:
    """A run of a rate network, as host arrays.

    - `rates`: by population and variable, what was recorded after each step: `(steps, neurons)`,
      in a batch with `paths` last; `None` if not saved.
    - `variables`: by population and variable, after the last step.
    - `state`: after the last step: what `RateMachine.edges` reads learned weights from, and what
      `simulate` goes on from.
    - `result`: `RESULTS.max_steps_reached`, for a rate network never halts.
    - `failure`: where a variable is not finite at the end, in words.
    """

    network: "RateNetwork"
    rates: dict[str, dict[str, Float[np.ndarray, "steps neurons *paths"]]] | None
    variables: dict[str, dict[str, Float[np.ndarray, "neurons *paths"]]]
    state: RateState
    steps: int
    result: Any
    failure: str | None

    @classmethod
    def of(cls, network: "RateNetwork", trajectory: Trajectory) -> "RateSolution":
        final = trajectory.final
        failure = None
        for name, variables in final.variables.items():
            for variable, x in variables.items():
                bad = np.argwhere(~np.isfinite(x))
                if failure is None and len(bad):
                    failure = (
                        f"Neuron {bad[0][0]} of population {name!r} has {variable} = "
                        f"{x[tuple(bad[0])]} after {np.max(trajectory.steps)} steps. Take a "
                        "smaller `dt`, or `ExponentialEuler()`."
                    )
        return cls(
            network,
            trajectory.details,
            final.variables,
            final,
            int(np.max(trajectory.steps, initial=0)),
            trajectory.result,
            failure,
        )

    @property
    def times(self) -> Float[np.ndarray, " steps"]:
        """The milliseconds after which each row of `rates` was recorded."""
        return self.network.dt * np.arange(1, self.steps + 1)

    def __repr__(self) -> str:
        names = ", ".join(f"{p.name} ({p.size:,})" for p in self.network.populations)
        return f"RateSolution of {names} after {self.steps:,} steps of {self.network.dt:g} ms"
