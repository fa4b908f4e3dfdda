"""How a run ended."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from snpjax_formats.arguments import explain_arguments


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
    out_of_memory = (
        "Memory ran out, and the run ended there. Run fewer `paths` at a time, or keep less of "
        "them with `save=`."
    )
    queries_conflict = (
        "The neuron receives different queries in one step, none of which has precedence. Let all "
        "that ask it at once ask for the same number of spikes."
    )
    value_overflow = (
        "A variable, an output or the value of a production function exceeds the largest number of "
        "float64. Use smaller coefficients, or stop earlier with `max_steps`."
    )


#: Results on the host, as `codes_of` gives them.
HALTED = int(RESULTS.halted._value)
OUT_OF_MEMORY = int(RESULTS.out_of_memory._value)
_ORDINARY = tuple(
    int(x._value) for x in (RESULTS.halted, RESULTS.max_steps_reached, RESULTS.stopped)
)


def name_of(result: Any) -> str:
    """The name of the result of one path."""
    code = int(result._value)
    return next(
        name for name in RESULTS._name_to_item if int(getattr(RESULTS, name)._value) == code
    )


def codes_of(result: Any) -> Int[np.ndarray, "*paths"]:
    """The results of all paths as numbers. Comparing the results themselves would take a call of
    the device for each."""
    return np.asarray(result._value)


def has_failed(result: Any) -> Bool[np.ndarray, "*paths"]:
    """Which paths did not end as a run may end."""
    codes = codes_of(result)
    if not codes.ndim:
        return np.asarray(int(codes) not in _ORDINARY)
    is_ordinary = (codes == _ORDINARY[0]) | (codes == _ORDINARY[1]) | (codes == _ORDINARY[2])
    return np.asarray(~is_ordinary)


def select_result(predicate: Bool[Array, "*paths"], if_true: Any, if_false: Any) -> Any:
    """Select between two results for every path: `RESULTS.where` for arrays of results.

    **Arguments:**

    - `predicate`: `(*paths,)` which paths take `if_true`.
    - `if_true`, `if_false`: results of `RESULTS`, of one path or of every path.

    **Returns:** the results of all paths.
    """
    return jax.tree.map(lambda x, y: jnp.where(predicate, x, y), if_true, if_false)


explain_arguments(__name__)
