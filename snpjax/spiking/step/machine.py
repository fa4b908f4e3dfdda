"""SN P systems behind the protocol of machines."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ...choice import AbstractChoice, FirstChoice
from ...machine import AbstractMachine, Record, Stride
from ...results import RESULTS
from ...trajectory import Save
from .program import SpikingProgram
from .reserve import with_more_room
from .step import SpikingState, halted, initial_state, step


class AbstractSpikingMachine(AbstractMachine):
    """Runs a `SpikingProgram`."""

    program: eqx.AbstractVar[SpikingProgram]

    def init(self) -> SpikingState:
        return initial_state(self.program)

    def step(self, state: SpikingState, choice: AbstractChoice) -> tuple[SpikingState, Record]:
        return step(self.program, state, choice)

    def halted(self, state: SpikingState) -> Bool[Array, "*paths"]:
        return halted(self.program, state)

    def status(self, state: SpikingState) -> Any:
        return state.status


class SpikingMachine(AbstractSpikingMachine):
    """Of a system whose neurons stay as many."""

    program: SpikingProgram

    def stride(
        self,
        state: SpikingState,
        choice: AbstractChoice,
        most: Int[Array, ""],
        *,
        rows: int,
        save: Save,
    ) -> Stride | None:
        """In one kernel, on a GPU, where nothing is drawn and that kernel knows the program."""
        if jax.default_backend() != "gpu" or not isinstance(choice, FirstChoice):
            return None
        from .gpu_loop import is_supported, steps_on_gpu  # Pallas takes long to import

        if not is_supported(self.program, save):
            return None
        return Stride(*steps_on_gpu(self.program, state, most, save=save, rows=rows))


class GrowingMachine(AbstractSpikingMachine):
    """Of a system whose neurons divide or bud; it can be given more room."""

    program: SpikingProgram

    def is_full(self, state: SpikingState) -> Bool[Array, "*paths"]:
        """Whether a step failed because the capacity was exceeded."""
        return (state.status == RESULTS.neurons_exceeded) | (
            state.status == RESULTS.synapses_exceeded
        )

    def refused(self, state: SpikingState, failed: SpikingState) -> SpikingState:
        """The state before a failure, with that failure."""
        return replace(state, status=failed.status, culprit=failed.culprit)

    def grown(self, state: SpikingState) -> "tuple[GrowingMachine, SpikingState]":
        """The same with more room, to make the step that was refused."""
        program, state = with_more_room(self.program, state)
        zero = jax.tree.map(jnp.zeros_like, state.culprit)
        went_on = jax.tree.map(lambda x, y: jnp.full(y.shape, x), RESULTS.halted, state.status)
        return GrowingMachine(program), replace(state, status=went_on, culprit=zero)
