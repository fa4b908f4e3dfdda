"""The engine `EventDriven` behind the protocol of machines."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ..._xla import one_kernel, precision
from ...choice import AbstractChoice, FirstChoice
from ...machine import AbstractMachine, Record, fresh_state
from ...results import RESULTS, select_result
from ..model.rules import AbstractRule
from .candidates import check_choice
from .dependents import Dependents, event_state
from .event_loop import OVERFLOW, LoopState, event_loop, is_live
from .program import NetProgram
from .state import EventState, Firing, NetState, initial_state, is_failed


class EventMachine(AbstractMachine):
    """A Sleptsov net of which one transition fires in a step; it makes many steps at once."""

    program: NetProgram
    dependents: Dependents
    rule: AbstractRule
    counts: bool = eqx.field(static=True)

    def init(self) -> NetState:
        events = self.events_of(self.program.initial)
        return fresh_state(replace(self.without_events(), events=events))

    def without_events(self) -> NetState:
        """The initial state but for what the engine keeps about its marking."""
        return initial_state(self.program, counts=self.counts, events=None)

    def events_of(self, marking: Int[Array, "places *paths"]) -> EventState:
        """What the engine keeps about a marking."""
        with precision(self.program.dtype):
            return event_state(self.dependents, marking, size=self.program.num_transitions)

    def step(self, state: NetState, choice: AbstractChoice) -> tuple[NetState, Record]:
        state, made, trace = self.leap(state, choice, jnp.ones_like(state.step), rows=1)
        assert trace is not None
        detail = Firing(trace.transition[0], trace.multiplicity[0])
        return state, Record(None, detail, made == 1)

    def leap(
        self,
        state: NetState,
        choice: AbstractChoice,
        most: Int[Array, "*paths"],
        *,
        rows: int | None,
    ) -> tuple[NetState, Int[Array, "*paths"], Firing | None]:
        """At most `most` steps of each path, how many each made, and their first `rows` details
        unless that is `None`; `choice` is that of the paths."""
        check_choice(self.program, choice)
        if choice.tells_numbers:
            raise ValueError(
                f"EventDriven() takes FirstChoice() and UniformChoice(key), not "
                f"{type(choice).__name__}. Lower the net with `engine=FullScan()`."
            )
        return _leap(self, state, choice, most, rows=rows)

    def kept(self, state: NetState) -> NetState:
        """The state without what can be counted again."""
        return replace(state, events=None)

    def halted(self, state: NetState) -> Bool[Array, "*paths"]:
        return ~is_live(self.program, _events(state).words)

    def status(self, state: NetState) -> Any:
        return state.status


@partial(jax.jit, static_argnames="rows")
def _leap(
    machine: EventMachine,
    state: NetState,
    choice: AbstractChoice,
    most: Int[Array, "*paths"],
    *,
    rows: int | None,
) -> tuple[NetState, Int[Array, "*paths"], Firing | None]:
    start = initial_loops(machine, state, rows)
    if isinstance(choice, FirstChoice) and jax.default_backend() == "gpu":
        from .gpu_loop import event_loop_on_gpu  # Pallas takes long to import

        end = event_loop_on_gpu(machine.program, machine.dependents, machine.rule, start, most)
    else:
        looped = event_loop if state.step.ndim == 0 else _loop_all
        given = (machine.program, machine.dependents, machine.rule, choice, start, state.step, most)
        end = one_kernel(looped, *given)
    failed = end.failure != 0
    failure = select_result(
        end.failure == OVERFLOW, RESULTS.token_overflow, RESULTS.unbounded_multiplicity
    )
    new_state = NetState(
        marking=end.marking,
        step=state.step + end.made,
        status=select_result(failed, failure, state.status),
        transition=jnp.where(failed, end.transition, state.transition),
        multiplicity=jnp.where(failed, end.multiplicity, state.multiplicity),
        place=jnp.where(failed, end.place, state.place),
        fired=end.fired,
        widest=None,
        events=EventState(end.unsatisfied, end.words),
    )
    return new_state, end.made, None if end.trace is None else Firing(*end.trace)


def initial_loops(machine: EventMachine, state: NetState, rows: int | None) -> LoopState:
    """The loops of the paths before their first step, with room for this many details."""
    live = is_live(machine.program, _events(state).words) & ~is_failed(state)
    trace = None
    if rows is not None:
        shape = (rows, *state.step.shape)
        trace = (jnp.zeros(shape, jnp.int32), jnp.zeros(shape, machine.program.dtype))
    return LoopState(
        made=jnp.zeros_like(state.step),
        marking=state.marking,
        unsatisfied=_events(state).unsatisfied,
        words=_events(state).words,
        fired=state.fired,
        goes_on=live,
        failure=jnp.zeros_like(state.step),
        transition=state.transition,
        multiplicity=state.multiplicity,
        place=state.place,
        trace=trace,
    )


def _events(state: NetState) -> EventState:
    assert state.events is not None
    return state.events


def _loop_all(
    program: NetProgram,
    dependents: Dependents,
    rule: AbstractRule,
    choice: AbstractChoice,
    start: LoopState,
    step: Int[Array, " paths"],
    most: Int[Array, " paths"],
) -> LoopState:
    """`event_loop` of all paths, one after the other, so that a marking stays in the cache."""
    # A key of every path, or what all of them share.
    own, shared = eqx.partition(choice, lambda x: eqx.is_array(x) and x.ndim > 0)

    def one(path):
        begin, own_step, own_choice, own_most = path
        choice = eqx.combine(own_choice, shared)
        return event_loop(program, dependents, rule, choice, begin, own_step, own_most)

    first = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), start)
    looped = lax.map(one, (first, step, own, most))
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), looped)
