"""Neurons that share the parameters of their rules, and their runs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from snpjax_formats import Sum

from ..choice import FirstChoice
from ..spiking.model.population import PopulationSystem
from ..spiking.model.population_parts import Population
from ..spiking.model.rule import Rule
from ..spiking.step.program import SpikingProgram
from .relaxed import AbstractSpikingModel, Constants, RelaxedSystem, constants_of, nameless, relax
from .rules import most_sent
from .step import RelaxedState, initial_state, step
from .surrogate import AbstractSurrogate, tapped
from .synapses.abstract import AbstractSynapses, arrivals


class NeuronRange(NamedTuple):
    """Where a population stands among the neurons of a model.

    - `slots`: of the rules of its neurons.
    """

    start: int
    size: int
    slots: int

    @property
    def neurons(self) -> slice:
        """Its neurons."""
        return slice(self.start, self.start + self.size)


class PopulationRun(NamedTuple):
    """What the neurons of a population did.

    - `trains`: the spikes that left each in each step.
    - `left`: those that remain.
    - `counts`: those before the first step and after each; `None` unless they were kept.
    """

    trains: Float[Array, "steps neurons *paths"]
    left: Float[Array, "neurons *paths"]
    counts: Float[Array, "steps_and_one neurons *paths"] | None


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
        keeps: bool = False,
    ) -> "PopulationRun":
        """Run the neurons on what arrives at the end of each step.

        **Arguments:**

        - `arriving`: `(steps, neurons, *paths)` spikes.
        - `initial`: `(neurons, *paths)` spikes at first; by default those of the model.
        - `offset`: `(channels,)` spikes that every neuron has in addition at first; a negative one
          raises the bounds of its guards instead, if it has rules.
        - `feedback`: exact synapses from the neurons to themselves.
        - `keeps`: whether to keep the spikes of all steps.

        **Returns:** a `PopulationRun`.
        """
        constants, own = self.constants(offset)
        if initial is None:
            spread = jnp.repeat(own, self.copies).reshape(-1, *(1,) * (arriving.ndim - 2))
            initial = jnp.broadcast_to(spread, arriving.shape[1:])
        given = constants, initial, arriving, len(arriving)
        return self.run_from(*given, feedback=feedback, keeps=keeps)

    def run_from(
        self,
        constants: Constants,
        initial: Float[Array, "neurons *paths"],
        arriving: Float[Array, "steps neurons *paths"] | None,
        steps: int,
        *,
        feedback: AbstractSynapses | None = None,
        keeps: bool = False,
    ) -> "PopulationRun":
        """As `run`, with the constants of the model.

        **Arguments:**

        - `constants`: those of `model`, which several populations may share.
        - `initial`: `(neurons, *paths)` spikes at first.
        - `arriving`: `(steps, neurons, *paths)` spikes; `None` for none.
        - `steps`: the length of the run.
        - `feedback`, `keeps`: see `run`.

        **Returns:** a `PopulationRun`.
        """
        if self.slots == 0:  # neurons without rules only count
            silent = jnp.zeros((steps, *initial.shape))
            left = initial if arriving is None else initial + jnp.sum(arriving, axis=0)
            counts = silent if arriving is None else jnp.cumsum(arriving, axis=0)
            counts = jnp.concatenate([initial[None], initial[None] + counts]) if keeps else None
            return PopulationRun(silent, left, counts)
        sizes = {"num_sources": self.size, "num_targets": self.size}
        none = Sum(parts=(), source_starts=(), target_starts=(), **sizes)
        tables = {name: self._spread(getattr(constants, name)) for name in _TABLES}
        program = self._program(constants.program)
        constants = constants._replace(**tables, program=program, synapses=none)
        model = replace(
            nameless(self.model),
            program=self._program(self.model.program),
            synapses=None,
            is_synapse=None,
            tap=None if self.model.tap is None else self._of_neurons(self.model.tap),
        )
        return _scanned(model, constants, initial, arriving, feedback, steps, keeps)

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
        if self.slots == 0:
            return constants, initial + offset
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
        own = table[:, self._own]
        return own if self.copies == 1 else jnp.repeat(own, self.copies, axis=1)

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
    (place,) = places_of(model, (channels,))
    return replace(population_at(model, place, most_sent(rules)), copies=copies)


_TABLES = ("low", "high", "consume", "produce")


def population_at(model: RelaxedSystem, place: NeuronRange, most: int = 0) -> SpikingPopulation:
    """The neurons of a place, each with parameters of its own, whose rules send up to `most`."""
    return SpikingPopulation(model, place.size, 1, place.start, place.slots, most)


def places_of(model: RelaxedSystem, sizes: Sequence[int]) -> tuple[NeuronRange, ...]:
    """Where populations of these sizes stand, one after the other."""
    with jax.ensure_compile_time_eval():  # also where the caller is traced
        is_slot = np.asarray(model.is_slot)
    start, places = 0, []
    for size in sizes:
        used = np.flatnonzero(is_slot[:, start : start + size].any(axis=1))
        places.append(NeuronRange(start, size, int(used[-1]) + 1 if len(used) else 0))
        start += size
    return tuple(places)


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
    arriving: Float[Array, "steps neurons *paths"] | None,
    feedback: AbstractSynapses | None,
    steps: int,
    keeps: bool,
) -> PopulationRun:
    """All steps. What halts is a fixed point, so that no population needs to know of others."""

    def body(carry: tuple[RelaxedState, Array | None], row: Array | None) -> Any:
        state, sent = carry
        new, emitted = step(model, constants, state, FirstChoice(), row)
        if feedback is not None:
            assert sent is not None
            sent = jnp.concatenate([sent, emitted.emissions[None]])
            back = arrivals(feedback, sent, model.is_smooth)[-1]
            back = jnp.where(new.timers == 0, back, 0)
            new, sent = replace(new, spikes=new.spikes + back), sent[1:]
        return (new, sent), (emitted.emissions, new.spikes if keeps else None)

    before = None if feedback is None else jnp.zeros((feedback.lag, *initial.shape))
    given = (initial_state(initial), before), arriving
    (final, _), (trains, counts) = lax.scan(body, *given, length=steps)
    if keeps:
        counts = jnp.concatenate([initial[None], counts])
    found = trains, final.spikes, counts
    return PopulationRun(*(found if model.tap is None else tapped(found, trains, model.tap)))
