"""The engine `FullScan`: every arc in every step."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ...choice import AbstractChoice, FirstChoice
from ...machine import AbstractMachine, Record, fresh_state
from ..model.rules import AbstractRule
from .candidates import check_choice, chosen, selected, undominated
from .conditions import ConditionTable
from .firing import fire
from .program import NetProgram
from .state import (
    Firing,
    NetState,
    initial_state,
    is_failed,
    with_failure,
    with_refusal,
)


class ScanningMachine(AbstractMachine):
    """A Sleptsov net of which one transition fires in a step.

    - `positions`: in the order of priority, of each transition, padding having none; `None` in a
      search, where nothing is chosen by number.
    """

    program: NetProgram
    columns: ConditionTable
    rule: AbstractRule
    counts: bool = eqx.field(static=True)
    positions: Int[Array, " transitions"] | None = None

    def init(self) -> NetState:
        return fresh_state(initial_state(self.program, counts=self.counts, events=None))

    def step(self, state: NetState, choice: AbstractChoice) -> tuple[NetState, Record]:
        check_choice(self.program, choice)
        size = self.program.num_transitions
        if isinstance(choice, FirstChoice):
            transition = self.columns.first(state.marking)
        elif choice.tells_numbers:
            assert self.positions is not None
            candidates = undominated(self.program, self.columns.fireable(state.marking))
            transition, is_refused = selected(choice, self.positions, candidates, state)
            state = with_refusal(state, is_refused)
        else:
            fireable = self.columns.fireable(state.marking)
            transition = chosen(self.program, choice, fireable, state.step)
        wanted = (transition < size) & ~is_failed(state)
        marking, copies, failure = fire(self.program, self.rule, state.marking, transition, wanted)
        made = copies > 0
        fired = state.fired
        if fired is not None:
            where = jnp.where(made, transition, size)
            at = where if where.ndim == 0 else (where, jnp.arange(where.shape[0]))
            fired = fired.at[at].add(1, mode="drop")
        state = with_failure(state, failure)
        state = replace(
            state, marking=marking, step=state.step + made.astype(jnp.int32), fired=fired
        )
        return state, Record(None, Firing(jnp.where(made, transition, 0), copies), made)

    def halted(self, state: NetState) -> Bool[Array, "*paths"]:
        return self.columns.first(state.marking) == self.program.num_transitions

    def status(self, state: NetState) -> Any:
        return state.status
