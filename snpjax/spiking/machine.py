"""A static SN P system behind the protocol of machines."""

from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from ..choice import AbstractChoice
from ..machine import AbstractMachine, Record
from .configuration import choosers_of, fields_of, state_of
from .lower import SpikingProgram
from .step import SpikingState, applicable, halted, initial_state, step


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

    # What exploration needs besides.

    def alternatives(self, state: SpikingState) -> Bool[Array, "slots neurons *paths"]:
        return applicable(self.program, state)

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        return choosers_of(self.program)

    def fields(self, state: SpikingState) -> UInt32[Array, "fields *paths"]:
        return fields_of(self.program, state)

    def state_of(self, fields: UInt32[Array, "fields *paths"]) -> SpikingState:
        return state_of(self.program, fields)
