"""A static SN P system for what looks at its configurations by the million: as vectors of numbers,
with every choice counted."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from snpjax_formats import bucket

from ..choice import AbstractChoice
from ..machine import Record
from ..results import RESULTS
from .lower import SpikingProgram
from .observed import position_of
from .step import SpikingState, applicable, halted, initial_state, step


if TYPE_CHECKING:
    from .population import PopulationSystem
    from .system import SpikingSystem

_NO_CAP = np.uint32(2**32 - 1)


class SearchedMachine(eqx.Module):
    """A `SpikingProgram` whose configurations are vectors of unsigned numbers, its fields: spikes,
    then timers and pending emissions of the neurons that may be closed, then the step as far as it
    matters. Negative counts are large numbers there.

    - `delayed`: the neurons that have delays, padded with the number of neurons.
    - `last_step`: steps from here on are not told apart.
    - `caps`: fields are cut there, see `caps_of`.
    """

    program: SpikingProgram
    delayed: Int[Array, " delayed"]
    last_step: Int[Array, ""]
    caps: UInt32[Array, " fields"] | None

    def init(self) -> SpikingState:
        return initial_state(self.program)

    def step(self, state: SpikingState, choice: AbstractChoice) -> tuple[SpikingState, Record]:
        return step(self.program, state, choice)

    def halted(self, state: SpikingState) -> Bool[Array, "*paths"]:
        return halted(self.program, state)

    def status(self, state: SpikingState) -> Any:
        return state.status

    def alternatives(self, state: SpikingState) -> Bool[Array, "slots neurons *paths"]:
        return applicable(self.program, state)

    def fields(self, state: SpikingState) -> UInt32[Array, "fields *paths"]:
        parts = [state.spikes]
        if self.program.delay is not None:
            some = self.delayed
            parts += [x.at[some].get(mode="fill", fill_value=0) for x in _closing(state)]
        parts.append(jnp.minimum(state.step, self.last_step)[None])
        fields = jnp.concatenate([lax.bitcast_convert_type(x, jnp.uint32) for x in parts])
        if self.caps is None:
            return fields
        return jnp.minimum(fields, self.caps.reshape(-1, *(1,) * (fields.ndim - 1)))

    def state_of(self, fields: UInt32[Array, "fields *paths"]) -> SpikingState:
        values = lax.bitcast_convert_type(fields, jnp.int32)
        size, some = self.program.num_neurons, self.delayed
        spikes, step = values[:size], values[-1]
        timers = pending = jnp.zeros_like(spikes)
        if self.program.delay is not None:
            middle = size + len(some)
            timers = timers.at[some].set(values[size:middle], mode="drop")
            pending = pending.at[some].set(values[middle:-1], mode="drop")
        return SpikingState(
            spikes=spikes,
            timers=timers,
            pending=pending,
            step=step,
            status=jax.tree.map(lambda x: jnp.full(step.shape, x), RESULTS.halted),
            culprit=jnp.zeros_like(step),
        )

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        """The neurons that may have several applicable rules, padded with the number of neurons.

        A rule may apply from the low to the high of its slot; periods are not looked at.
        """
        program = self.program
        low, high = np.asarray(program.low), np.asarray(program.high)
        order = np.argsort(low, axis=0, kind="stable")
        low, high = np.take_along_axis(low, order, 0), np.take_along_axis(high, order, 0)
        high = np.where(low > high, np.iinfo(high.dtype).min, high)  # empty slots end nowhere
        before = np.maximum.accumulate(high, axis=0)[:-1]
        meets = np.any((low[1:] <= before) & (low[1:] <= high[1:]), axis=0)
        if program.type_of is not None:
            meets = meets[np.asarray(program.type_of)]
        return _padded(np.flatnonzero(meets), program.num_neurons)


def searched(
    system: "SpikingSystem | PopulationSystem",
    program: SpikingProgram,
    *,
    saturate: Mapping[str, int],
    clock: int,
) -> SearchedMachine:
    """A program as `snpjax.explore` needs it; `saturate` and `clock` are explained there."""
    if not 0 <= clock < 2**30:
        raise ValueError(f"`clock` is {clock}. Give a number of steps, 0 or more.")
    delayed = _delayed(program)
    caps = caps_of(system, saturate)
    if caps is not None:
        size = program.num_neurons + 2 * len(delayed) + 1
        caps = jnp.asarray(np.pad(caps, (0, size - len(caps)), constant_values=_NO_CAP))
    last_step = jnp.maximum(program.horizon, jnp.asarray(clock, jnp.int32))
    return SearchedMachine(program, jnp.asarray(delayed), last_step, caps)


def caps_of(
    system: "SpikingSystem | PopulationSystem", saturate: Mapping[str, int]
) -> UInt32[np.ndarray, " neurons"] | None:
    """Where the spikes of some neurons are cut: a count at its cap means so many or more. Exact for
    neurons without rules that never lose spikes, because nothing depends on theirs.

    **Raises:** `ValueError` for any other neuron.
    """
    if not saturate:
        return None
    caps = np.full(system.num_neurons, _NO_CAP)
    for name, most in saturate.items():
        position = position_of(system, name)
        neurons = system.neurons[position]
        some = neurons if isinstance(neurons, tuple) else (neurons,)
        if any(neuron.rules for neuron in some):
            raise ValueError(
                f"Neuron {name!r} has rules, which depend on its spikes: saturated, different "
                "configurations would be taken for one. Saturate neurons without rules only."
            )
        if system.signed:
            raise ValueError(
                f"Neuron {name!r} may lose spikes in a signed system, so that `saturate` would "
                "say too much. Explore without it."
            )
        if not 0 < most < 2**31 - 1:
            raise ValueError(f"{name!r} is saturated at {most}. Give a positive number of spikes.")
        caps[position] = most
    return caps


def _closing(state: SpikingState) -> tuple[Array, Array]:
    return state.timers, state.pending


def _delayed(program: SpikingProgram) -> Int[np.ndarray, " delayed"]:
    """The neurons that have delays."""
    if program.delay is None:
        return np.zeros(0, np.int32)
    is_delayed = np.any(np.asarray(program.delay) > 0, axis=0)
    if program.type_of is not None:
        is_delayed = is_delayed[np.asarray(program.type_of)]
    return _padded(np.flatnonzero(is_delayed), program.num_neurons)


def _padded(neurons: Int[np.ndarray, " some"], num_neurons: int) -> Int[np.ndarray, " padded"]:
    size = bucket(len(neurons), at_least=4)
    padding = (0, size - len(neurons))
    return np.pad(neurons.astype(np.int32), padding, constant_values=num_neurons)
