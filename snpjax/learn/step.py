"""One step of a relaxed system: the values of the exact step, with derivatives."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from snpjax_formats.ell import expanded

from ..choice import NO_RULE, AbstractChoice, WeightedChoice, of_slots
from ..results import RESULTS
from ..spiking.step.step import SpikingState, applicable, halted
from .relaxed import Constants, RelaxedSystem, step_of
from .surrogate import Smooth, fires


class RelaxedState(eqx.Module):
    """A configuration: whole numbers in float32, see `SpikingState`.

    - `largest`: the largest absolute count so far; from 2^24 on nothing is exact.
    """

    spikes: Float[Array, "neurons *paths"]
    timers: Int[Array, "neurons *paths"]
    pending: Float[Array, "neurons *paths"]
    step: Int[Array, "*paths"]
    largest: Float[Array, ""]


class Emitted(NamedTuple):
    """What a step gave.

    - `emissions`: spikes that left each neuron.
    - `is_live`: whether a step was made.
    - `slots`: the slot that each neuron selected, or `NO_RULE`.
    - `log_probability`: of what was chosen, where it was drawn with weights.
    """

    emissions: Float[Array, "neurons *paths"]
    is_live: Bool[Array, "*paths"]
    slots: Int[Array, "neurons *paths"]
    log_probability: Float[Array, "*paths"]


def initial_state(spikes: Float[Array, "neurons *paths"]) -> RelaxedState:
    """The initial configuration: every neuron open.

    **Arguments:**

    - `spikes`: `(neurons, *paths)` integers in float32.

    **Returns:** the `RelaxedState` before the first step.
    """
    return RelaxedState(
        spikes=spikes,
        timers=jnp.zeros(spikes.shape, jnp.int32),
        pending=jnp.zeros_like(spikes),
        step=jnp.zeros(spikes.shape[1:], jnp.int32),
        largest=_largest(spikes),
    )


def step(
    model: RelaxedSystem,
    constants: Constants,
    state: RelaxedState,
    choice: AbstractChoice,
    arriving: Float[Array, "neurons *paths"] | None,
) -> tuple[RelaxedState, Emitted]:
    """The configuration one step later.

    The exact step of the same numbers determines which rules are selected, when neurons are closed
    and whether the system halts. The derivative of the firing of rule r in the count of its neuron
    is the surrogate's at the margin of its guard, where the neuron is open and selected r, nothing,
    or a forgetting rule declared after r, as a leak must not hide what would fire; of a rule of
    several terms, at the term with the largest margin. Spikes that a closed neuron loses have no
    derivative, nor has a delayed rule that did not fire in what it produces. A halting state is a
    fixed point only by value: the derivatives there are those of any other state, so that a system
    in which nothing fires can be trained.

    **Arguments:**

    - `model`: a relaxed model.
    - `constants`: `constants_of(model)`.
    - `state`: the configuration before the step.
    - `choice`: picks among the applicable rules of each neuron; use `choice.for_path(p)` for path
      p.
    - `arriving`: `(neurons, *paths)` spikes from the environment in this step; `None` for none.

    **Returns:** the new state, and what was `Emitted`.
    """
    program = constants.program
    exact = SpikingState(
        spikes=lax.stop_gradient(state.spikes).astype(program.initial.dtype),
        timers=state.timers,
        pending=lax.stop_gradient(state.pending).astype(program.initial.dtype),
        step=state.step,
        status=RESULTS.halted,
        culprit=jnp.zeros_like(state.step),
    )
    can_apply = applicable(program, exact)
    # What fires a little everywhere never halts.
    is_live = jnp.ones(state.step.shape, bool) if model.is_smooth else ~halted(program, exact)
    if program.number is not None:
        choice = of_slots(choice, program.number)
    slots = choice.select(can_apply, state.step, state)
    numbers = expanded(jnp.arange(len(can_apply), dtype=slots.dtype), 1 + slots.ndim)
    is_fired = slots[None] == numbers
    ndim = 1 + state.spikes.ndim
    margin = _margin(model, constants, state.spikes, ndim)
    is_open = state.timers == 0
    may_fire = is_fired | (slots == NO_RULE)[None]
    if len(can_apply) > 1:
        forgets = jnp.any(is_fired & expanded(program.produce == 0, ndim), axis=0)
        may_fire |= forgets[None] & (numbers < slots[None])
    counts = expanded(model.is_slot, ndim) & is_open[None] & may_fire
    if isinstance(model.surrogate, Smooth):
        # Each slot fires as far as those before it leave it to.
        own = jnp.where(expanded(model.is_slot, ndim), model.surrogate.value(margin), 0)
        left = jnp.cumprod(1 - own, axis=0)
        fired = own * jnp.concatenate([jnp.ones_like(left[:1]), left[:-1]])
    else:
        if program.number is not None:
            counts &= _is_nearest(expanded(program.number, ndim), margin, is_fired)
        fired = fires(margin, is_fired, counts, model.surrogate)
    log_probability = jnp.zeros(state.step.shape)
    if isinstance(choice, WeightedChoice):
        fired, log_probability = _drawn(model, choice, can_apply, slots, state.step, fired)

    consumed = jnp.sum(fired * expanded(constants.consume, ndim), axis=0)
    produce = expanded(constants.produce, ndim)
    if program.delay is None:
        timers, pending = state.timers, state.pending
        emissions = jnp.sum(fired * produce, axis=0)
    else:
        delay = expanded(program.delay, ndim)
        soon = jnp.where(is_fired | (delay == 0), fired * produce, 0)
        chosen = jnp.sum(jnp.where(is_fired, delay, 0), axis=0)
        has_fired = slots != NO_RULE
        timers = jnp.where(has_fired, chosen, jnp.maximum(state.timers - 1, 0))
        leaving = jnp.sum(soon, axis=0) + jnp.where(has_fired, 0, state.pending)
        emissions = jnp.where(timers == 0, leaving, 0)
        pending = jnp.where(timers == 0, 0, leaving)
    received = constants.synapses.deliver(emissions, accumulate=jnp.float32)
    if arriving is not None:
        received = received + arriving
    if program.delay is not None:
        received = jnp.where(timers == 0, received, 0)
    spikes = state.spikes - consumed + received

    largest = jnp.maximum(state.largest, jnp.maximum(_largest(spikes), _largest(emissions)))
    new_state = RelaxedState(
        spikes=spikes,
        timers=timers,
        pending=pending,
        step=state.step + is_live.astype(jnp.int32),
        largest=largest,
    )
    return new_state, Emitted(emissions, is_live, slots, log_probability)


def _drawn(
    model: RelaxedSystem,
    choice: WeightedChoice,
    can_apply: Bool[Array, "slots neurons *paths"],
    slots: Int[Array, "neurons *paths"],
    step: Int[Array, "*paths"],
    fired: Float[Array, "slots neurons *paths"],
) -> tuple[Float[Array, "slots neurons *paths"], Float[Array, "*paths"]]:
    """What fired, with the derivative of the Gumbel-softmax in the logits (straight through: Jang,
    Gu, Poole 2017), and the logarithm of its probability."""
    is_chooser = jnp.any(can_apply, axis=0)
    logits = expanded(choice.padded(*can_apply.shape[:2]), can_apply.ndim)

    def among(x: Array) -> Array:
        # Where nothing applies there is no logarithm of it, nor a derivative.
        return jnp.where(can_apply | ~is_chooser[None], x, -jnp.inf)

    if model.temperature is not None:
        soft = jax.nn.softmax(among(choice.perturbed(can_apply, step)) / model.temperature, axis=0)
        soft = jnp.where(can_apply, soft, 0)
        fired = fired + (soft - lax.stop_gradient(soft))
    chances = jax.nn.log_softmax(among(logits), axis=0)
    own = jnp.take_along_axis(chances, jnp.maximum(slots, 0)[None], axis=0)[0]
    return fired, jnp.sum(jnp.where(slots == NO_RULE, 0, own), axis=0)


def _margin(
    model: RelaxedSystem, constants: Constants, spikes: Float[Array, "neurons *paths"], ndim: int
) -> Float[Array, "slots neurons *paths"]:
    """How far the count is inside each term of a guard, or outside of it."""
    low, high = expanded(constants.low, ndim), expanded(constants.high, ndim)
    above = spikes[None] - low
    margin = jnp.minimum(above + 0.5, high - spikes[None] + 0.5)
    if model.program.period is None:
        return margin
    period = expanded(step_of(model), ndim)
    nearest = period * jnp.round(lax.stop_gradient(above / period))
    between = 0.5 - jnp.abs(above - nearest)
    return jnp.where(period == 1, margin, jnp.minimum(margin, between))


def _is_nearest(
    number: Int[Array, "slots neurons *paths"],
    margin: Float[Array, "slots neurons *paths"],
    is_fired: Bool[Array, "slots neurons *paths"],
) -> Bool[Array, "slots neurons *paths"]:
    """The slot of each rule that fired, or whose margin is the largest, the first of equal ones."""
    nearest = jnp.ones(margin.shape, bool)
    size = len(margin)
    for slot in range(size):
        same = number == number[slot][None]
        own = margin[slot][None]
        earlier = expanded(jnp.arange(size) > slot, margin.ndim)
        beats = (own > margin) | ((own == margin) & earlier)
        nearest &= ~(same & (beats | is_fired[slot][None])) | is_fired
    return nearest


def _largest(counts: Float[Array, "neurons *paths"]) -> Float[Array, ""]:
    return jnp.max(jnp.abs(lax.stop_gradient(counts)), initial=0)
