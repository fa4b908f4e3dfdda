"""A run as one differentiable function."""

from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
from jaxtyping import Array, Float

from ..choice import FirstChoice
from .machine import RateMachine, RateState


def simulate(
    machine: RateMachine,
    state: RateState | None = None,
    /,
    *,
    steps: int,
    checkpoint: bool = False,
) -> tuple[RateState, dict[str, dict[str, Float[Array, "steps neurons"]]]]:
    """Run a network as a pure function of its machine, with derivatives by all of its floats.

    With 64-bit values, call it inside `jax.enable_x64(True)`.

    **Arguments:**

    - `machine`: from `lower(network).machine`.
    - `state`: where to start; by default the initial state.
    - `steps`: the number of steps.
    - `checkpoint`: recompute each step for a gradient, instead of keeping its intermediate values.

    **Returns:** the state after the last step, and by population what is recorded after each step.
    """
    return _simulate(machine, machine.init() if state is None else state, steps, checkpoint)


@eqx.filter_jit
def _simulate(machine: RateMachine, state: RateState, steps: int, checkpoint: bool) -> Any:
    def step(state: RateState, _: None) -> tuple[RateState, Any]:
        state, record = machine.step(state, FirstChoice())
        return state, record.detail

    return lax.scan(jax.checkpoint(step) if checkpoint else step, state, length=steps)
