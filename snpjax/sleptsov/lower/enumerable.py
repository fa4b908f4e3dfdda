"""A net for what looks at its markings by the million: as vectors of numbers, with every choice
counted."""

from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt, UInt32

from ...choice import AbstractChoice, Ways
from ...machine import Encoding, Record
from ...results import RESULTS, select_result
from ..step.candidates import undominated
from ..step.full_scan import ScanningMachine
from ..step.state import NetState


class SearchedNet(eqx.Module):
    """A machine whose markings, of 32 bits, are vectors of unsigned numbers; the step comes last,
    as far as it matters. There is one chooser, whose alternatives are the fireable transitions that
    none of them beats."""

    machine: ScanningMachine
    last_step: Int[Array, ""]
    usual: UInt32[Array, " fields"]  # see `Encoding`

    @property
    def encoding(self) -> Encoding:
        return Encoding(np.dtype(np.uint32), self.usual, self.last_step)

    def init(self) -> NetState:
        return self.machine.init()

    def step(self, state: NetState, choice: AbstractChoice) -> tuple[NetState, Record]:
        return self.machine.step(state, choice)

    def halted(self, state: NetState) -> Bool[Array, "*paths"]:
        return self.machine.halted(state)

    def status(self, state: NetState) -> Any:
        """Overflows as a search knows them."""
        status = self.machine.status(state)
        return select_result(status == RESULTS.token_overflow, RESULTS.spike_overflow, status)

    def alternatives(self, state: NetState) -> Ways:
        fireable = self.machine.columns.fireable(state.marking)
        return undominated(self.machine.program, fireable)[:, None]

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        return np.zeros(1, np.int32)

    def encode(self, state: NetState) -> UInt[Array, "fields *paths"]:
        step = jnp.minimum(state.step, self.last_step)[None]
        return lax.bitcast_convert_type(jnp.concatenate([state.marking, step]), jnp.uint32)

    def decode(self, fields: UInt[Array, "fields *paths"]) -> NetState:
        values = lax.bitcast_convert_type(fields, jnp.int32)
        paths = values.shape[1:]
        blank = jax.tree.map(
            lambda x: jnp.broadcast_to(x.reshape(x.shape + (1,) * len(paths)), x.shape + paths),
            self.machine.init(),
        )
        return eqx.tree_at(lambda s: (s.marking, s.step), blank, (values[:-1], values[-1]))
