"""How a run ended."""

import equinox as eqx


class RESULTS(eqx.Enumeration):
    """The status that a run carries; the first failure wins.

    `halted` and `max_steps_reached` are ordinary ends. The others are failures, which
    `run(throw=True)` raises.
    """

    halted = "The system halted."
    max_steps_reached = (
        "The step limit was reached before the system halted. Try increasing `max_steps`."
    )
    spike_overflow = (
        "A neuron holds more spikes than its count type can. Try 64-bit counts, `numpy.int64`."
    )
    choice_refused = (
        "A given choice is not a valid spiking vector. Give every open neuron with applicable "
        "rules one of them, and every other neuron `NO_RULE`."
    )
