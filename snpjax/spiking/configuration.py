"""Configurations as vectors of numbers, for what compares and stores them by the million."""

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt32

from snpjax_formats import bucket

from ..results import RESULTS
from .lower import SpikingProgram
from .step import SpikingState


def fields_of(program: SpikingProgram, state: SpikingState) -> UInt32[Array, "fields *paths"]:
    """Spikes, then timers and pending emissions where there are delays, then min(step, horizon):
    equal vectors have equal futures. Negative counts are large numbers here.
    """
    parts = [state.spikes]
    if program.delay is not None:
        parts += [state.timers, state.pending]
    parts.append(jnp.minimum(state.step, program.horizon)[None])
    return jnp.concatenate([lax.bitcast_convert_type(x, jnp.uint32) for x in parts])


def state_of(program: SpikingProgram, fields: UInt32[Array, "fields *paths"]) -> SpikingState:
    """A state with this configuration, its step min(step, horizon)."""
    values = lax.bitcast_convert_type(fields, jnp.int32)
    size = program.num_neurons
    timers = pending = jnp.zeros_like(values[:size])
    if program.delay is not None:
        timers, pending = values[size : 2 * size], values[2 * size : 3 * size]
    step = values[-1]
    return SpikingState(
        spikes=values[:size],
        timers=timers,
        pending=pending,
        step=step,
        status=jax.tree.map(lambda x: jnp.full(step.shape, x), RESULTS.halted),
        culprit=jnp.zeros_like(step),
    )


def choosers_of(program: SpikingProgram) -> Int[np.ndarray, " choosers"]:
    """The neurons that may have several applicable rules, padded with the number of neurons.

    A rule may apply from the low to the high of its slot; periods are not looked at.
    """
    low, high = np.asarray(program.low), np.asarray(program.high)
    order = np.argsort(low, axis=0, kind="stable")
    low, high = np.take_along_axis(low, order, 0), np.take_along_axis(high, order, 0)
    high = np.where(low > high, np.iinfo(high.dtype).min, high)  # empty slots end nowhere
    before = np.maximum.accumulate(high, axis=0)[:-1]
    meets = np.any((low[1:] <= before) & (low[1:] <= high[1:]), axis=0)
    if program.type_of is not None:
        meets = meets[np.asarray(program.type_of)]
    choosers = np.flatnonzero(meets).astype(np.int32)
    size = bucket(len(choosers), at_least=4)
    return np.pad(choosers, (0, size - len(choosers)), constant_values=program.num_neurons)
