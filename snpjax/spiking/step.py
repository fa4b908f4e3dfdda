"""One step of a static SN P system: pure functions of a program, a state and a choice."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ..choice import NO_RULE, AbstractChoice, is_valid
from ..machine import Record
from ..results import RESULTS
from .lower import SpikingProgram


class SpikingState(eqx.Module):
    """What the next step needs.

    - `spikes`: k_i of every neuron.
    - `timers`: steps until the neuron opens, 0 when it is open.
    - `pending`: spikes that leave when the timer reaches 0, else 0.
    - `step`: steps made. With an input train, min(step, horizon) is part of the configuration.
    - `status`: a failure of `RESULTS`, or `RESULTS.halted` while there is none; a failed state
      steps to itself.
    - `culprit`: the first neuron that failed, if any.
    """

    spikes: Int[Array, " neurons"]
    timers: Int[Array, " neurons"]
    pending: Int[Array, " neurons"]
    step: Int[Array, ""]
    status: Any
    culprit: Int[Array, ""]


class Selection(eqx.Module):
    """How a step was made.

    - `rules`: the rule that each neuron selected, counted within the neuron, or `NO_RULE`.
    - `emissions`: the spikes that left each neuron in this step.
    """

    rules: Int[Array, " neurons"]
    emissions: Int[Array, " neurons"]


def initial_state(program: SpikingProgram) -> SpikingState:
    """The initial configuration: every neuron open."""
    zeros = jnp.zeros(program.num_neurons, jnp.int32)
    return SpikingState(
        spikes=program.initial,
        timers=zeros,
        pending=jnp.zeros_like(program.initial),
        step=jnp.zeros((), jnp.int32),
        status=RESULTS.halted,
        culprit=jnp.zeros((), jnp.int32),
    )


def applicable(program: SpikingProgram, state: SpikingState) -> Bool[Array, "slots neurons"]:
    """Which rules may be selected: k in L(E) and k >= c, in an open neuron."""
    if program.initial.dtype == np.int64 and not jax.config.jax_enable_x64:  # pyright: ignore
        raise ValueError(
            "This program counts in 64 bits. Call its functions inside `jax.enable_x64(True)`."
        )
    spikes = state.spikes[None]
    matches = (program.low <= spikes) & (spikes <= program.high)
    if program.period is not None:
        matches &= (spikes - program.low) % program.period == 0
    if program.extra_low.shape[0] > 0:
        there = state.spikes.at[program.extra_neuron].get(mode="fill", fill_value=0)
        extra = (program.extra_low <= there) & (there <= program.extra_high)
        extra &= (there - program.extra_low) % program.extra_period == 0
        matches = matches.at[program.extra_slot, program.extra_neuron].max(extra, mode="drop")
    return matches & (state.timers == 0)[None]


def halted(program: SpikingProgram, state: SpikingState) -> Bool[Array, ""]:
    """No rule is applicable, every neuron is open, and no input remains."""
    return (
        ~jnp.any(applicable(program, state))
        & jnp.all(state.timers == 0)
        & (state.step >= program.horizon)
    )


def step(
    program: SpikingProgram, state: SpikingState, choice: AbstractChoice
) -> tuple[SpikingState, Record]:
    """The configuration one step later, and what was done.

    Select, consume, close, count down, emit, deliver, in this order: a rule of delay d selected in
    step t keeps its neuron closed in steps t, ..., t+d-1; in step t+d it emits, is open and
    receives. A halting state is a fixed point, and so is a failed one. For a program with 64-bit
    counts, call it inside `jax.enable_x64(True)`.

    **Arguments:**

    - `choice`: picks among the applicable rules of each neuron; use `choice.for_path(p)` for path p
      of a run.

    **Returns:** the new state, and a `Record` whose `output` is the emissions of the output neurons
    and whose `detail` is a `Selection`.

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2006. Where texts differ: a neuron closed at the end of a step loses
        what is sent to it, and the neuron that opens in step t+d selects its next rule in step
        t+d+1.
    """
    can_apply = applicable(program, state)
    # In a halting state time stops, whatever is chosen.
    is_live = jnp.any(can_apply) | jnp.any(state.timers > 0) | (state.step < program.horizon)
    rules = choice.select(can_apply, state.step)
    if choice.may_be_invalid:
        rules = jnp.where(is_live, rules, NO_RULE)
    fires = rules != NO_RULE
    produced = _of_rule(program.produce, rules)

    if program.delay is None:
        timers, pending, emissions = state.timers, state.pending, produced
    else:
        delay = _of_rule(program.delay, rules)
        timers = jnp.where(fires, delay, jnp.maximum(state.timers - 1, 0))
        is_open = timers == 0
        leaving = jnp.where(fires, produced, state.pending)
        emissions = jnp.where(is_open, leaving, 0)
        pending = jnp.where(is_open, 0, leaving)

    if program.rows is None:
        change = -_of_rule(program.consume, rules)
    else:
        vector = program.rows.spiking_vector(rules)
        change = program.rows.matrix.deliver(vector, accumulate=emissions.dtype)
    arriving = jnp.zeros_like(change)
    if program.synapses is not None:
        arriving = program.synapses.deliver(emissions, accumulate=emissions.dtype)
    if program.trains.shape[0] > 0:
        # Rows past the last one are zero: index them there instead of adding a padding row.
        row = program.trains.at[state.step].get(mode="fill", fill_value=0)
        arriving = arriving.at[program.inputs].add(row, mode="drop")
    if program.delay is not None:
        arriving = jnp.where(timers == 0, arriving, 0)

    change += arriving
    spikes = state.spikes + change
    # Sound because fewer than a quarter of the type's range can arrive in one step (`lower` checks
    # it), and no more is consumed than is there.
    overflows = jnp.where(change >= 0, spikes < state.spikes, spikes > state.spikes)
    is_refused = ~is_valid(can_apply, rules) if choice.may_be_invalid else jnp.zeros_like(fires)

    failure = RESULTS.where(
        jnp.any(is_refused),
        RESULTS.choice_refused,
        RESULTS.where(jnp.any(overflows), RESULTS.spike_overflow, RESULTS.halted),
    )
    status = RESULTS.where(state.status == RESULTS.halted, failure, state.status)
    is_failed = status != RESULTS.halted
    culprit = jnp.argmax(jnp.where(jnp.any(is_refused), is_refused, overflows)).astype(jnp.int32)

    def unless_failed(new: Array, old: Array) -> Array:
        return jnp.where(is_failed, old, new)

    new_state = SpikingState(
        spikes=unless_failed(spikes, state.spikes),
        timers=unless_failed(timers, state.timers),
        pending=unless_failed(pending, state.pending),
        step=unless_failed(state.step + is_live.astype(jnp.int32), state.step),
        status=status,
        culprit=jnp.where(state.status == RESULTS.halted, culprit, state.culprit),
    )
    emissions = unless_failed(emissions, jnp.zeros_like(emissions))
    rules = unless_failed(rules, jnp.full_like(rules, NO_RULE))
    output = emissions.at[program.outputs].get(mode="fill", fill_value=0)
    return new_state, Record(output, Selection(rules, emissions))


def _of_rule(table: Int[Array, "slots neurons"], rules: Int[Array, " neurons"]) -> Array:
    """The entry of each neuron's selected rule, 0 where none is."""
    num_slots = table.shape[0]
    if num_slots <= 4:
        # A few selects fuse with their surroundings; a gather does not.
        selected = jnp.zeros_like(table[0])
        for slot in range(num_slots):
            selected = jnp.where(rules == slot, table[slot], selected)
        return selected
    index = jnp.clip(rules, 0, num_slots - 1)
    return jnp.where(
        rules == NO_RULE, 0, jnp.take_along_axis(table, index[None], axis=0, mode="clip")[0]
    )
