"""A static SN P system behind the protocol of machines."""

from typing import Any

from jaxtyping import Array, Bool

from ..choice import AbstractChoice
from ..machine import AbstractMachine, Record
from .lower import SpikingProgram
from .step import SpikingState, halted, initial_state, step


class SpikingMachine(AbstractMachine):
    """Runs a `SpikingProgram`."""

    program: SpikingProgram

    def init(self) -> SpikingState:
        return initial_state(self.program)

    def step(self, state: SpikingState, choice: AbstractChoice) -> tuple[SpikingState, Record]:
        return step(self.program, state, choice)

    def halted(self, state: SpikingState) -> Bool[Array, "*paths"]:
        return halted(self.program, state)

    def status(self, state: SpikingState) -> Any:
        return state.status
