"""The machine of a system that divides or buds, which reserves more neurons and synapses."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool

from snpjax_formats import check_free, free_bytes

from ...results import RESULTS
from .division import DivisionTables, GrownState
from .program import SpikingProgram
from .step import AbstractSpikingMachine, SpikingState


# A step that grows sorts up to nine times as many, whose places are 32-bit.
MOST = 2**27
# Room for this many times what there is at first by default, and each time that it is too little.
GROWTH_FACTOR = 4


class GrowingMachine(AbstractSpikingMachine):
    """Of a system whose neurons divide or bud; it can be given more room."""

    program: SpikingProgram

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
        size = GROWTH_FACTOR * program.num_neurons
        room = GROWTH_FACTOR * len(growth.initial.source)
        check_room(size, room)
        initial = _widened(growth.initial, size, room, growth.num_labels)
        growth = replace(growth, initial=initial)
        program = replace(program, initial=_longer(program.initial, size, 0), network=growth)
        state = replace(
            state,
            spikes=_longer(state.spikes, size, 0),
            timers=_longer(state.timers, size, 0),
            pending=_longer(state.pending, size, 0),
            network=_widened(state.network, size, room, growth.num_labels),
            status=jax.tree.map(lambda x, y: jnp.full(y.shape, x), RESULTS.halted, state.status),
            culprit=jax.tree.map(jnp.zeros_like, state.culprit),
        )
        return GrowingMachine(program), state


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
        f"Room for {size:,} neurons and {room:,} synapses takes about {needed:,} bytes",
        "Give a smaller `Capacity`, or use a machine with more memory.",
    )


def _widened(network: GrownState, size: int, room: int, num_labels: Array) -> GrownState:
    old = len(network.labels)

    def ends(index: Array) -> Array:
        return _longer(jnp.where(index == old, size, index), room, size)

    weights = network.weights
    return GrownState(
        labels=_longer(network.labels, size, num_labels),
        source=ends(network.source),
        target=ends(network.target),
        weights=None if weights is None else _longer(weights, room, 0),
        starts=_longer(network.starts, size + 1, network.starts[-1]),
        num=network.num,
    )


def _longer(values: Array, size: int, empty: ArrayLike) -> Array:
    missing = (size - len(values), *values.shape[1:])
    return jnp.concatenate([values, jnp.broadcast_to(jnp.asarray(empty, values.dtype), missing)])
