"""The rule `Disjoint`: rounds of transitions that share no place."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from snpjax_formats.ell import expanded

from ...choice import AbstractChoice, FirstChoice
from ...machine import AbstractMachine, Record, fresh_state
from .conditions import ConditionTable
from .program import NetProgram
from .state import Failure, NetState, Round, initial_state, is_failed, with_failure


class Touches(eqx.Module):
    """Which places every transition has an arc with. Padding names an out-of-range place."""

    transition: Int[Array, " touches"]
    place: Int[Array, " touches"]


class DisjointMachine(AbstractMachine):
    """A Sleptsov net under the rule `Disjoint`."""

    program: NetProgram
    columns: ConditionTable
    touches: Touches

    def init(self) -> NetState:
        return fresh_state(initial_state(self.program, rounds=True, events=None))

    def step(self, state: NetState, choice: AbstractChoice) -> tuple[NetState, Record]:
        if not isinstance(choice, FirstChoice):
            raise ValueError("`Disjoint` asks transitions in order of priority. Give no choice.")
        accepted = self._accepted(self.columns.fireable(state.marking)) & ~is_failed(state)[None]
        marking, copies, failure = _fire_all(self.program, state.marking, accepted)
        fails = failure.is_unbounded | failure.is_overflow
        copies = jnp.where(fails[None], 0, copies)
        fires = copies > 0
        num = jnp.sum(fires, axis=0, dtype=jnp.int32)
        made = num > 0
        assert state.fired is not None and state.widest is not None
        new_state = replace(
            with_failure(state, failure),
            marking=jnp.where(fails[None], state.marking, marking),
            step=state.step + made.astype(jnp.int32),
            fired=state.fired + fires.astype(jnp.int32),
            widest=jnp.maximum(state.widest, num),
        )
        return new_state, Record(None, Round(copies), made)

    def _accepted(
        self, fireable: Bool[Array, "transitions *paths"]
    ) -> Bool[Array, "transitions *paths"]:
        """Those that are the first to take each of their places."""
        size, touches = len(fireable), self.touches
        own = expanded(touches.transition, fireable.ndim)
        able = fireable.at[touches.transition].get(mode="fill", fill_value=False)
        first = jnp.full((self.program.num_places, *fireable.shape[1:]), size, jnp.int32)
        first = first.at[touches.place].min(jnp.where(able, own, size), mode="drop")
        comes_late = first.at[touches.place].get(mode="fill", fill_value=size) < own
        return fireable & ~jnp.zeros_like(fireable).at[touches.transition].max(
            comes_late, mode="drop"
        )

    def halted(self, state: NetState) -> Bool[Array, "*paths"]:
        return self.columns.first(state.marking) == self.program.num_transitions

    def status(self, state: NetState) -> Any:
        return state.status


def _fire_all(
    program: NetProgram,
    marking: Int[Array, "places *paths"],
    accepted: Bool[Array, "transitions *paths"],
) -> tuple[Int[Array, "places *paths"], Int[Array, "transitions *paths"], Failure]:
    """The marking after all of them fired, how often each did, and the failure of the first that
    could not."""
    rows, most = program.rows, jnp.iinfo(marking.dtype).max
    size, places = len(accepted), program.num_places
    entries = jnp.arange(len(rows.place), dtype=jnp.int32)
    of = jnp.searchsorted(rows.starts, entries, side="right").astype(jnp.int32) - 1
    take, gain = (expanded(x, marking.ndim) for x in (rows.take, rows.gain))
    tokens = marking.at[rows.place].get(mode="fill", fill_value=0)
    bounds = jnp.where(take > 0, tokens // jnp.maximum(take, 1), most)
    copies = jnp.full(accepted.shape, most, marking.dtype).at[of].min(bounds, mode="drop")
    copies = jnp.where(accepted, copies, 0)
    own = copies.at[of].get(mode="fill", fill_value=0)
    overflows = (gain > 0) & (own > (most - tokens) // jnp.maximum(gain, 1))
    new = marking.at[rows.place].add(own * gain, mode="drop")

    unbounded = accepted & expanded(program.unbounded, accepted.ndim)
    first_unbounded = _first(unbounded)
    transition = expanded(of, marking.ndim)
    first_over = jnp.min(jnp.where(overflows, transition, size), axis=0, initial=size)
    overflows &= transition == first_over[None]
    place = expanded(rows.place, marking.ndim)
    culprit = jnp.minimum(first_unbounded, first_over)
    at = jnp.minimum(culprit, size - 1)[None]
    is_overflow = first_over < first_unbounded
    failure = Failure(
        is_unbounded=(first_unbounded < size) & (first_unbounded <= first_over),
        is_overflow=is_overflow,
        transition=culprit,
        multiplicity=jnp.where(is_overflow, jnp.take_along_axis(copies, at, axis=0)[0], 0),
        place=jnp.min(jnp.where(overflows, place, places), axis=0, initial=places),
    )
    return new, copies, failure


def _first(holds: Bool[Array, "transitions *paths"]) -> Int[Array, "*paths"]:
    position = expanded(jnp.arange(len(holds), dtype=jnp.int32), holds.ndim)
    return jnp.min(jnp.where(holds, position, len(holds)), axis=0, initial=len(holds))
