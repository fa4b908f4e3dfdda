"""How a run ended."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool


class RESULTS(eqx.Enumeration):
    """The status that a run carries; the first failure wins.

    `halted`, `max_steps_reached` and `stopped` are ordinary ends. The others are failures, which
    `run(throw=True)` raises.
    """

    halted = "The system halted."
    max_steps_reached = (
        "The step limit was reached before the system halted. Try increasing `max_steps`."
    )
    stopped = "The condition given as `stop` was reached."
    spike_overflow = (
        "A neuron holds more spikes than its count type can. Run with `count_dtype=numpy.int64`."
    )
    neurons_exceeded = (
        "More neurons are created than there is room for. Try `grow=True`, or a larger "
        "`Capacity(neurons=...)`."
    )
    synapses_exceeded = (
        "More synapses are created than there is room for. Try `grow=True`, or a larger "
        "`Capacity(synapses=...)`."
    )
    choice_refused = (
        "A given choice is not a valid spiking vector. Give every open neuron with applicable "
        "rules one of them, and every other neuron `NO_RULE`."
    )
    token_overflow = (
        "A place holds more tokens than its count type can. Run with `count_dtype=numpy.int64`."
    )
    unbounded_multiplicity = (
        "The chosen transition consumes nothing, so that it fires without end in one step. Give it "
        "an input arc, or run the net under `Petri()`."
    )


def ended_as(result: Any, *ends: Any) -> Bool[np.ndarray, "*paths"]:
    """Whether the result of each path, on the host, is one of `ends`. Comparing the results
    themselves would take a call of the device for each."""
    codes = np.asarray(result._value)
    return np.isin(codes, [np.asarray(end._value) for end in ends])


def select_result(predicate: Bool[Array, "*paths"], if_true: Any, if_false: Any) -> Any:
    """`RESULTS.where`, of every path."""
    return jax.tree.map(lambda x, y: jnp.where(predicate, x, y), if_true, if_false)
