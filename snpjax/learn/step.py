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
from ..spiking.step.plasticity import PlasticSynapses
from ..spiking.step.step import SpikingState, applicable, halted
from .plastic import RelaxedSynapses, changed, first_synapses
from .relaxed import Constants, RelaxedSystem, step_of
from .surrogate import Smooth, fires


class RelaxedState(eqx.Module):
    """A configuration: whole numbers in float32, see `SpikingState`.

    - `largest`: the largest absolute count so far; from 2^24 on nothing is exact.
    - `plastic`: the synapses that plasticity may change, if there are any.
    """

    spikes: Float[Array, "neurons *paths"]
    timers: Int[Array, "neurons *paths"]
    pending: Float[Array, "neurons *paths"]
    step: Int[Array, "*paths"]
    largest: Float[Array, ""]
    plastic: RelaxedSynapses | None = None


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


def initial_state(
    spikes: Float[Array, "neurons *paths"], constants: Constants | None = None
) -> RelaxedState:
    """The initial configuration: every neuron open.

    **Arguments:**

    - `spikes`: `(neurons, *paths)` integers in float32.
    - `constants`: those of a model with plasticity; others have nothing more at the start.

    **Returns:** the `RelaxedState` before the first step.
    """
    plastic = None if constants is None else constants.plastic
    return RelaxedState(
        spikes=spikes,
        timers=jnp.zeros(spikes.shape, jnp.int32),
        pending=jnp.zeros_like(spikes),
        step=jnp.zeros(spikes.shape[1:], jnp.int32),
        largest=_largest(spikes),
        plastic=None if plastic is None else first_synapses(plastic, spikes.shape[1:]),
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
    or a forgetting rule declared after r, as a leak must not hide what would fire. The margin of a
    guard of several terms is their largest; where a margin has a kink, its derivative is the mean
    of those on both sides. Spikes that a closed neuron loses have no derivative, nor has a delayed
    rule that did not fire in what it produces. A halting state is a fixed point only by value: the
    derivatives there are those of any other state, so that a system in which nothing fires can be
    trained.

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
        network=None if state.plastic is None else state.plastic.exact,
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
    if isinstance(program.network, PlasticSynapses):  # a second turn excludes all rules
        is_open &= ~program.network.is_pending(exact.network)
    may_fire = is_fired | (slots == NO_RULE)[None]
    if len(can_apply) > 1:
        forgets = jnp.any(is_fired & expanded(program.produce == 0, ndim), axis=0)
        may_fire |= forgets[None] & (numbers < slots[None])
    counts = expanded(model.is_slot, ndim) & is_open[None] & may_fire
    if isinstance(model.surrogate, Smooth):
        # Each rule fires as far as those before it leave it to, in its first slot.
        own, is_rule = margin, model.is_slot
        if program.number is not None:
            own = _of_rules(expanded(program.number, ndim), margin)
            is_rule &= model.first == jnp.arange(len(margin))[:, None]
        own = jnp.where(expanded(is_rule, ndim), model.surrogate.value(own), 0)
        left = jnp.cumprod(1 - own, axis=0)
        fired = own * jnp.concatenate([jnp.ones_like(left[:1]), left[:-1]])
    else:
        if program.number is not None:
            counts = jnp.where(counts, _shares(expanded(program.number, ndim), margin), 0)
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
    plastic = state.plastic
    if plastic is not None:
        assert constants.plastic is not None and isinstance(program.network, PlasticSynapses)
        plastic, more = changed(
            constants.plastic,
            program.network,
            plastic,
            fired,
            slots,
            emissions,
            choice,
            state.step,
        )
        received = received + more
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
        plastic=plastic,
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
    """How far the count is inside each term of a guard, or outside of it; -inf without a term.

    At a kink the derivative in the count is the mean of those on both sides, so 0 at the count of a
    point guard, and at every accepted count of a periodic one and halfway between two of them.
    """
    low, high = expanded(constants.low, ndim), expanded(constants.high, ndim)
    above, below = spikes[None] - low, high - spikes[None]
    margin = jnp.minimum(above, below)  # equal ones share the derivative
    if model.program.period is not None:
        period = expanded(step_of(model), ndim)
        turns = lax.stop_gradient(above / period)
        last = jnp.maximum(jnp.floor(lax.stop_gradient(high - low) / period), 0)
        apart = above - period * jnp.clip(jnp.round(turns), 0, last)
        is_halfway = (turns - jnp.floor(turns) == 0.5) & (turns > 0) & (turns < last)
        side = jnp.where(is_halfway, 0, jnp.sign(lax.stop_gradient(apart)))
        distance = jnp.where(is_halfway, period / 2, side * apart)
        nearest = jnp.where(below < 0, jnp.minimum(-distance, below), -distance)
        margin = jnp.where(period == 1, margin, nearest)
    return jnp.where(expanded(model.is_slot, ndim), margin + 0.5, -jnp.inf)


def _shares(
    number: Int[Array, "slots neurons"], margin: Float[Array, "slots neurons *paths"]
) -> Float[Array, "slots neurons *paths"]:
    """The slots with the largest margin of each rule; those of one rule add up to 1."""
    margin = lax.stop_gradient(margin)
    largest, equals = margin, jnp.zeros_like(margin)
    for own, row in zip(number, margin, strict=True):
        largest = jnp.where(own[None] == number, jnp.maximum(largest, row[None]), largest)
    is_largest = margin == largest
    for own, row in zip(number, is_largest, strict=True):
        equals += ((own[None] == number) & row[None]).astype(equals.dtype)
    return jnp.where(is_largest, 1 / equals, 0)


def _of_rules(
    number: Int[Array, "slots neurons"], margin: Float[Array, "slots neurons *paths"]
) -> Float[Array, "slots neurons *paths"]:
    """The largest margin of the rule of each slot."""
    shares = _shares(number, margin)
    parts = jnp.where(shares > 0, shares * margin, 0)
    total = jnp.zeros_like(margin)
    for own, row in zip(number, parts, strict=True):
        total += jnp.where(own[None] == number, row[None], 0)
    return total


def _largest(counts: Float[Array, "neurons *paths"]) -> Float[Array, ""]:
    return jnp.max(jnp.abs(lax.stop_gradient(counts)), initial=0)
