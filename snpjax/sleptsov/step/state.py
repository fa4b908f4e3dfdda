"""What a run of a net carries from step to step, and how it records a step."""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ...results import RESULTS, select_result
from .program import NetProgram


#: No transition, in records and traces.
NO_TRANSITION = -1


class Firing(NamedTuple):
    """One firing, transitions by their positions in the order of priority. Multiplicity 0: none."""

    transition: Int[Array, "*paths"]
    multiplicity: Int[Array, "*paths"]


class Round(NamedTuple):
    """How often each transition fired in a round of `Disjoint`."""

    multiplicities: Int[Array, "transitions *paths"]


class EventState(eqx.Module):
    """What the engine `EventDriven` knows of a marking.

    - `unsatisfied`: how many input arcs of each transition are not satisfied.
    - `words`: the set of transitions without any, as bits of 32-bit words; then the set of words
      that are not 0, and so on up to a single word.
    """

    unsatisfied: Int[Array, "transitions *paths"]
    words: Int[Array, "words *paths"]


class NetState(eqx.Module):
    """A marking, and how the run stands.

    - `transition`, `multiplicity`, `place`: what failed, where `status` is a failure.
    - `fired`: how often each transition fired, copies not counted; `None` if nobody asks.
    - `widest`: the most that fired in one round, under `Disjoint`.
    """

    marking: Int[Array, "places *paths"]
    step: Int[Array, "*paths"]
    status: Any
    transition: Int[Array, "*paths"]
    multiplicity: Int[Array, "*paths"]
    place: Int[Array, "*paths"]
    fired: Int[Array, "transitions *paths"] | None
    widest: Int[Array, "*paths"] | None
    events: EventState | None


class Failure(NamedTuple):
    """Why a step cannot be made: which of both, and where."""

    is_unbounded: Bool[Array, "*paths"]
    is_overflow: Bool[Array, "*paths"]
    transition: Int[Array, "*paths"]
    multiplicity: Int[Array, "*paths"]
    place: Int[Array, "*paths"]


def initial_state(
    program: NetProgram, *, counts: bool = False, rounds: bool = False, events: EventState | None
) -> NetState:
    """The state before the first step."""
    zero = jnp.zeros((), jnp.int32)
    fired = jnp.zeros(program.num_transitions, jnp.int32) if counts or rounds else None
    return NetState(
        marking=program.initial,
        step=zero,
        status=RESULTS.halted,
        transition=zero,
        multiplicity=jnp.zeros((), program.initial.dtype),
        place=zero,
        fired=fired,
        widest=zero if rounds else None,
        events=events,
    )


def is_failed(state: NetState) -> Bool[Array, "*paths"]:
    return state.status != RESULTS.halted


def with_failure(state: NetState, failure: Failure) -> NetState:
    """The state with a failure, where there is one and was none before."""
    fails = (failure.is_unbounded | failure.is_overflow) & ~is_failed(state)
    status = select_result(
        failure.is_overflow, RESULTS.token_overflow, RESULTS.unbounded_multiplicity
    )
    return replace(
        state,
        status=select_result(fails, status, state.status),
        transition=jnp.where(fails, failure.transition, state.transition),
        multiplicity=jnp.where(fails, failure.multiplicity, state.multiplicity),
        place=jnp.where(fails, failure.place, state.place),
    )


def with_refusal(state: NetState, is_refused: Bool[Array, "*paths"]) -> NetState:
    """The state where a given choice is refused, if nothing failed before."""
    fails = is_refused & ~is_failed(state)
    status = select_result(fails, RESULTS.choice_refused, state.status)
    return replace(state, status=status)
