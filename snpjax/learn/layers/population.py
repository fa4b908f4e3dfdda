"""Neurons that share the parameters of their rules, and their runs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from snpjax_formats import Sum

from ...choice import FirstChoice
from ...spiking.model.population import PopulationSystem
from ...spiking.model.population_parts import Population
from ...spiking.model.rule import Rule
from ...spiking.model.system import Neuron
from ...spiking.step.program import SpikingProgram
from ..relaxed import AbstractSpikingModel, Constants, RelaxedSystem, constants_of, nameless, relax
from ..step import RelaxedState, initial_state, step
from ..surrogate import AbstractSurrogate, tapped
from .synapses import AbstractSynapses, arrivals


class SpikingPopulation(AbstractSpikingModel):
    """Neurons in channels: all of a channel share the parameters of their rules.

    - `model`: a neuron for each channel, with the parameters.
    - `channels`, `copies`: the numbers of channels, and of neurons in each. Neurons are counted
      channel by channel.
    - `start`: the first channel among the neurons of `model`.
    - `slots`: the rules of a neuron, see `RelaxedSystem`.
    - `most_sent`: the most spikes that a rule sends before training.
    """

    model: RelaxedSystem
    channels: int = eqx.field(static=True)
    copies: int = eqx.field(static=True)
    start: int = eqx.field(static=True)
    slots: int = eqx.field(static=True)
    most_sent: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        """The number of neurons."""
        return self.channels * self.copies

    def run(
        self,
        arriving: Float[Array, "steps neurons *paths"],
        *,
        initial: Float[Array, "neurons *paths"] | None = None,
        offset: Float[Array, " channels"] | None = None,
        feedback: AbstractSynapses | None = None,
    ) -> tuple[Float[Array, "steps neurons *paths"], Float[Array, "neurons *paths"]]:
        """Run the neurons on what arrives at the end of each step.

        **Arguments:**

        - `arriving`: `(steps, neurons, *paths)` spikes.
        - `initial`: `(neurons, *paths)` spikes at first; by default those of the model.
        - `offset`: `(channels,)` spikes that every neuron has in addition at first; a negative one
          raises the bounds of its guards instead.
        - `feedback`: exact synapses from the neurons to themselves.

        **Returns:** `(steps, neurons, *paths)` spikes that leave, and `(neurons, *paths)` that
        remain.
        """
        constants, own = self.constants(offset)
        if initial is None:
            spread = jnp.repeat(own, self.copies).reshape(-1, *(1,) * (arriving.ndim - 2))
            initial = jnp.broadcast_to(spread, arriving.shape[1:])
        if self.slots == 0:  # neurons without rules only count
            return jnp.zeros_like(arriving), initial + jnp.sum(arriving, axis=0)
        tables = {name: self._spread(getattr(constants, name)) for name in _TABLES}
        constants = constants._replace(**tables, program=self._program(constants.program))
        model = replace(
            nameless(self.model),
            program=self._program(self.model.program),
            synapses=None,
            is_synapse=None,
            tap=None if self.model.tap is None else self._of_neurons(self.model.tap),
        )
        return _scanned(model, constants, initial, arriving, feedback)

    def constants(
        self, offset: Float[Array, " channels"] | None
    ) -> tuple[Constants, Float[Array, " channels"]]:
        """What a run computes with, and the initial spikes of each channel.

        **Arguments:**

        - `offset`: see `run`.
        """
        constants = constants_of(self.model)
        initial = constants.initial[self._own]
        if offset is None:
            return constants, initial
        raised = _raised(constants, jnp.maximum(-offset, 0), self.start)
        return raised, initial + jnp.maximum(offset, 0)

    @property
    def _own(self) -> slice:
        return slice(self.start, self.start + self.channels)

    def _spread(self, table: Array | None) -> Array | None:
        """A column for each neuron."""
        if table is None:
            return None
        return self._of_neurons(table[: self.slots])

    def _of_neurons(self, table: Array) -> Array:
        return jnp.repeat(table[:, self._own], self.copies, axis=1)

    def _program(self, program: SpikingProgram) -> SpikingProgram:
        tables = (*_TABLES, "period", "delay", "number")
        return replace(
            program,
            **{name: self._spread(getattr(program, name)) for name in tables},
            initial=jnp.zeros(self.size, program.initial.dtype),
            outputs=jnp.arange(self.size),
            inputs=jnp.zeros(0, jnp.int32),
            trains=jnp.zeros((0, 0), program.trains.dtype),
        )


def shared_rules(
    channels: int,
    rules: Sequence[Rule | str],
    *,
    copies: int = 1,
    surrogate: AbstractSurrogate | None = None,
) -> SpikingPopulation:
    """A population whose neurons have these rules, with parameters for each channel."""
    name = "channel" if copies > 1 else "neuron"
    parts = [Population(name, channels, rules=list(rules), indices=range(channels))]
    with jax.ensure_compile_time_eval():  # tables of the host, also where the caller is traced
        model = relax(PopulationSystem(parts, [], output=name, signed=True), surrogate=surrogate)
    slots = slots_of(model, 0, channels)
    return SpikingPopulation(model, channels, copies, 0, slots, most_sent(rules))


_TABLES = ("low", "high", "consume", "produce")


def slots_of(model: RelaxedSystem, start: int, size: int) -> int:
    """How many slots the rules of some neurons take."""
    program = model.program
    used = np.asarray(program.low) <= np.asarray(program.high)
    return int(np.flatnonzero(used[:, start : start + size].any(axis=1)).max(initial=-1)) + 1


def most_sent(rules: Sequence[Rule | str]) -> int:
    """The most spikes that a rule sends."""
    found = Neuron("neuron", 0, list(rules)).rules
    return max((rule.produce for rule in found if isinstance(rule, Rule)), default=0)


def _raised(constants: Constants, by: Float[Array, " channels"], start: int) -> Constants:
    """The guards of neurons that lack some spikes."""
    own = jnp.zeros(constants.low.shape[1]).at[start : start + len(by)].set(by)[None]
    exact = lax.stop_gradient(own).astype(constants.program.low.dtype)
    program = constants.program
    is_slot = program.low <= program.high
    endless = program.high >= jnp.iinfo(program.high.dtype).max
    return constants._replace(
        low=constants.low + own,
        high=constants.high + own,
        program=replace(
            program,
            low=jnp.where(is_slot, program.low + exact, program.low),
            high=jnp.where(is_slot & ~endless, program.high + exact, program.high),
        ),
    )


@eqx.filter_jit
def _scanned(
    model: RelaxedSystem,
    constants: Constants,
    initial: Float[Array, "neurons *paths"],
    arriving: Float[Array, "steps neurons *paths"],
    feedback: AbstractSynapses | None,
) -> tuple[Float[Array, "steps neurons *paths"], Float[Array, "neurons *paths"]]:
    """All steps. What halts is a fixed point, so that no population needs to know of others."""
    num = len(initial)
    none = Sum(parts=(), source_starts=(), target_starts=(), num_sources=num, num_targets=num)
    constants = constants._replace(synapses=none)

    def body(carry: tuple[RelaxedState, Array], row: Array) -> Any:
        state, sent = carry
        new, emitted = step(model, constants, state, FirstChoice(), row)
        if feedback is not None:
            sent = jnp.concatenate([sent, emitted.emissions[None]])
            back = arrivals(feedback, sent, model.is_smooth)[-1]
            back = jnp.where(new.timers == 0, back, 0)
            new, sent = replace(new, spikes=new.spikes + back), sent[1:]
        return (new, sent), emitted.emissions

    before = jnp.zeros((0 if feedback is None else feedback.lag, *initial.shape))
    (final, _), trains = lax.scan(body, (initial_state(initial), before), arriving)
    found = trains, final.spikes
    return found if model.tap is None else tapped(found, trains, model.tap)
