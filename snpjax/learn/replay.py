"""Exact runs from many initial configurations at once."""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer

from ..choice import FirstChoice
from ..results import RESULTS
from ..spiking.lower import SpikingProgram
from ..spiking.step import SpikingState, halted, initial_state, step
from ..spiking.system import SpikingSystem


class Replay(NamedTuple):
    """What a system did from each configuration.

    - `trains`: spikes that left the output neurons in each step.
    - `spikes`: the last configuration.
    - `halted`: whether it halted by then.
    """

    trains: Int[np.ndarray, "steps outputs paths"]
    spikes: Int[np.ndarray, "neurons paths"]
    halted: np.ndarray


def replay(
    system: SpikingSystem, spikes: Integer[Array | np.ndarray, "neurons paths"], /, *, steps: int
) -> Replay:
    """So many steps of an exact system from each of many configurations, by the machine that
    `snpjax.run` runs: integers, and the first applicable rule of each neuron.

    It runs where `spikes` is, if that is a JAX array, else on the default device.

    **Raises:** `ValueError` for counts that are no whole numbers or of other neurons, for a network
    that changes, and for counts that overflow.
    """
    given = np.asarray(spikes)
    if given.ndim != 2 or given.shape[0] != system.num_neurons:
        raise ValueError(
            f"`spikes` has the shape {given.shape}. Give ({system.num_neurons}, paths)."
        )
    if not system.is_static:
        raise ValueError("A network that changes is not replayed. Use `snpjax.run`.")
    whole = np.round(given).astype(np.int64)
    if (whole != given).any() or np.abs(whole).max(initial=0) >= 2**30:
        raise ValueError("`spikes` has a count that is no whole number below 2^30.")
    program = system.lower(count_dtype=np.int32).program
    padding = (0, program.num_neurons - len(whole)), (0, 0)
    start = jnp.asarray(np.pad(whole, padding), jnp.int32)
    if isinstance(spikes, jax.Array):
        program, start = jax.device_put((program, start), spikes.sharding.device_set.pop())
    state, trains, is_halted = _replayed(program, start, steps)
    failed = np.flatnonzero(np.asarray(state.status != RESULTS.halted))
    if len(failed):
        raise ValueError(f"A count of path {failed[0]} does not fit 32 bits.")
    return Replay(
        np.asarray(trains)[:, : system.num_outputs],
        np.asarray(state.spikes)[: system.num_neurons],
        np.asarray(is_halted),
    )


@eqx.filter_jit
def _replayed(
    program: SpikingProgram, spikes: Int[Array, "neurons paths"], steps: int
) -> tuple[SpikingState, Int[Array, "steps outputs paths"], Array]:
    def each(x: Array) -> Array:
        return jnp.broadcast_to(x[..., None], (*x.shape, spikes.shape[1]))

    start = replace(jax.tree.map(each, initial_state(program)), spikes=spikes)

    def body(state: SpikingState, _: None) -> tuple[SpikingState, Any]:
        state, record = step(program, state, FirstChoice())
        return state, record.output

    final, trains = lax.scan(body, start, None, length=steps)
    return final, trains, halted(program, final)
