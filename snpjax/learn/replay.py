"""Exact runs from many initial configurations at once."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Int, Integer

from ..results import RESULTS
from ..run import run
from ..spiking.model.system import SpikingSystem
from ..trajectory import SAVE_OUTPUTS
from .arguments import check_system


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
    system: SpikingSystem,
    spikes: Integer[Array | np.ndarray, "neurons paths"],
    /,
    *,
    steps: int,
    input: Integer[Array | np.ndarray, "train inputs paths"] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Run an exact system from each of many configurations, with the first applicable rule.

    The machine is that of `snpjax.run`, and counts are integers. It runs where `spikes` is, if that
    is a JAX array, else on the default device.

    **Arguments:**

    - `system`: a system whose network does not change.
    - `spikes`: `(neurons, paths)`, the spikes of each neuron before the first step.
    - `steps`: how many steps each path makes.
    - `input`: `(train, inputs, paths)` spikes that the first neurons receive from the environment
      in up to `steps` steps, instead of the trains of the system; as `Sequential.response` takes
      it.
    - `progress`: as in `snpjax.run`.

    **Returns:** a `Replay`.

    **Raises:** `ValueError` for counts that are not whole numbers or of other neurons, for
    `input` of another shape, for a network that changes, and for counts that overflow.
    """
    check_system(system)
    given = np.asarray(spikes)
    if given.ndim != 2 or given.shape[0] != system.num_neurons:
        raise ValueError(
            f"`spikes` has the shape {given.shape}. Give ({system.num_neurons}, paths)."
        )
    if not system.is_static:
        raise ValueError("A network that changes is not replayed. Use `snpjax.run`.")
    whole = np.round(given).astype(np.int64)
    if (whole != given).any() or np.abs(whole).max(initial=0) >= 2**30:
        raise ValueError("`spikes` has a count that is not a whole number below 2^30.")
    train = None if input is None else np.asarray(input)
    if train is not None:
        most = (steps, len(given), whole.shape[1])
        fits = train.ndim == 3 and train.shape[2] == most[2]
        if not fits or any(x > y for x, y in zip(train.shape, most, strict=True)):
            raise ValueError(
                f"`input` has the shape {train.shape}. Give up to {most[0]} steps of up to "
                f"{most[1]} neurons, and exactly {most[2]} paths."
            )
        if (train != np.round(train)).any() or train.min(initial=0) < 0:
            raise ValueError("`input` has a count that is not a whole number of 0 or more.")
        train = train.astype(np.int64)
        first = system.neurons[: train.shape[1]]
        system = system.replace(input={neuron.name: [] for neuron in first})
    device = next(iter(spikes.devices())) if isinstance(spikes, jax.Array) else None
    with jax.default_device(device):
        solution = run(
            system,
            paths=whole.shape[-1],
            initial=whole,
            inputs=train,
            max_steps=steps,
            save=SAVE_OUTPUTS,
            count_dtype=np.int32,
            throw=False,
            progress=progress,
        )
    failed = np.flatnonzero(np.asarray(solution.result == RESULTS.spike_overflow))
    if len(failed):
        raise ValueError(f"A count of path {failed[0]} does not fit 32 bits.")
    missing = steps - len(solution.spike_trains)  # nothing is sent once all have halted
    trains = np.pad(solution.spike_trains, ((0, missing), (0, 0), (0, 0)))
    return Replay(trains, solution.spikes, solution.halted)
