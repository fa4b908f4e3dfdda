"""The machine of a system that divides or buds, which reserves more neurons and synapses."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool, Int

from snpjax_formats import check_free, device_array, free_bytes
from snpjax_formats.stored import entry_bucket

from ...results import RESULTS
from .division import DivisionTables
from .program import SpikingProgram
from .step import AbstractSpikingMachine, SpikingState


# A step that grows sorts up to nine times as many, whose places are 32-bit.
MOST = 2**27
# Room for this many times what there is at first where labels set no bound, and each time that it
# is too little.
GROWTH_FACTOR = 4
# Room for the bound that labels set is made at once, unless it is more than this many times what
# there is.
_LARGEST_LEAP = 64


class GrowingMachine(AbstractSpikingMachine):
    """Of a system whose neurons divide or bud; it can be given more room. There are never more
    neurons and synapses than `most`."""

    program: SpikingProgram
    most: Int[Array, "two"]

    def is_full(self, state: SpikingState) -> Bool[Array, "*paths"]:
        """Whether a step failed because the capacity was exceeded."""
        return (state.status == RESULTS.neurons_exceeded) | (
            state.status == RESULTS.synapses_exceeded
        )

    def refused(self, state: SpikingState, failed: SpikingState) -> SpikingState:
        """The state before a failure, with that failure."""
        return replace(state, status=failed.status, culprit=failed.culprit)

    def grown(self, state: SpikingState) -> "tuple[GrowingMachine, SpikingState]":
        """The same with more room for neurons and for synapses, since every room is a compilation,
        to make the step that was refused."""
        program, growth = self.program, self.program.network
        assert isinstance(growth, DivisionTables)
        most_neurons, most_synapses = np.asarray(self.most).tolist()
        size = _larger(program.num_neurons, most_neurons)
        room = _larger(len(growth.initial.source), most_synapses)
        if (size, room) == (program.num_neurons, len(growth.initial.source)):
            # There is more than the bound, which would be our own mistake.
            size, room = GROWTH_FACTOR * size, GROWTH_FACTOR * room
        check_room(size, room)
        # On the host: each operation on the device would be a program of its own.
        held: Any = (state, growth.initial, program.initial)
        state, initial, first = jax.device_get(held)
        num_labels = np.asarray(growth.num_labels)
        growth = replace(growth, initial=jax.device_put(_widened(initial, size, room, num_labels)))
        program = replace(program, initial=device_array(_longer(first, size, 0)), network=growth)
        state = replace(
            state,
            spikes=_longer(state.spikes, size, 0),
            timers=_longer(state.timers, size, 0),
            pending=_longer(state.pending, size, 0),
            network=_widened(state.network, size, room, num_labels),
            status=jax.tree.map(
                lambda x, y: np.full(y.shape, x, y.dtype), RESULTS.halted, state.status
            ),
            culprit=np.zeros_like(state.culprit),
        )
        return GrowingMachine(program, self.most), state


def room_for(count: int) -> int:
    """Room for that many, which is padded little where they are many."""
    return entry_bucket(count, count)


def _larger(size: int, most: int) -> int:
    """The next room: for all that there can be, if that is not far."""
    if size < most <= _LARGEST_LEAP * size:
        return room_for(most)
    return size if size >= most else GROWTH_FACTOR * size


def check_room(size: int, room: int) -> None:
    if max(size, room) > MOST:
        raise ValueError(
            f"Room for {size:,} neurons and {room:,} synapses is more than {MOST:,} of either. "
            "Give a `Capacity` that says how many there will be."
        )
    needed = 100 * room + 40 * size  # synapses are sorted with those that may be added to them
    check_free(
        needed,
        free_bytes(),
        f"Room for {size:,} neurons and {room:,} synapses takes about",
        "Give a smaller `Capacity`, or use a machine with more memory.",
    )


def _widened(network: Any, size: int, room: int, num_labels: np.ndarray) -> Any:
    old = len(network.labels)

    def ends(index: np.ndarray) -> np.ndarray:
        return _longer(np.where(index == old, index.dtype.type(size), index), room, size)

    weights = network.weights
    return network._replace(
        labels=_longer(network.labels, size, num_labels),
        source=ends(network.source),
        target=ends(network.target),
        weights=None if weights is None else _longer(weights, room, 0),
        starts=_longer(network.starts, size + 1, network.starts[-1]),
    )


def _longer(values: Any, size: int, empty: np.ndarray | int) -> np.ndarray:
    missing = (size - len(values), *values.shape[1:])
    return np.concatenate([values, np.broadcast_to(np.asarray(empty, values.dtype), missing)])
