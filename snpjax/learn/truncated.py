"""Truncated backpropagation through time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree, Shaped

from ..choice import FirstChoice
from .attached import attached
from .relaxed import RelaxedSystem, constants_of, nameless
from .response import Response
from .run import arriving_in, begun, scanned
from .step import RelaxedState, initial_state


def truncated_loss(
    model: RelaxedSystem,
    loss: Callable[..., Float[Array, ""]],
    /,
    *,
    steps: int,
    window: int,
    rows: Sequence[Shaped[Array, "steps ..."]] = (),
    spikes: Float[Array, "neurons *paths"] | None = None,
    input: Mapping[str, Float[Array, "train *paths"]]
    | Float[Array, "train neurons *paths"]
    | None = None,
) -> Float[Array, ""]:
    """The loss of a run, with its gradient by truncated backpropagation through time.

    The run is divided into windows, which are computed one after the other: each continues from the
    final state of the one before, and gradients do not pass from one window to the next. The value
    is exact: the sum of the losses of the windows of one run of all steps. With `window=steps` the
    gradient is that of backpropagation through all steps.

    The gradient is computed together with the value, window by window, so the memory is that of the
    steps of one window, of `rows` and of `input`, and does not grow with the number of windows. Use
    it as any loss: in `jax.value_and_grad`, `eqx.filter_grad` or `fit`. Neurons take the first
    applicable rule. Call it under `jit`, as `fit` does; outside, every call compiles.

    **Arguments:**

    - `model`: a relaxed system, such as `network.model`. It alone gets the truncated gradient, with
      that of its initial spikes in the first window.
    - `loss`: `loss(response, *rows)` returns the loss of one window as a scalar, from a `Response`
      with what left the output neurons in its steps, `(window, outputs, *paths)`, and what was left
      in them after the last one, `(outputs, *paths)`.
    - `steps`: the number of steps of the run.
    - `window`: the number of steps of a window, from 1 to `steps`; the last window may be shorter.
    - `rows`: arrays with an entry for each step, such as targets; each window gets its own entries.
    - `spikes`, `input`: as in `run`; they get no gradient.

    **Returns:** the sum of the losses of all windows.

    **Raises:** `ValueError` for a window that is empty or longer than the run, for `rows` of
    another length, and as `run` does.

    ??? cite "Source"
        Williams, Peng 1990.
    """
    if not 1 <= window <= steps:
        raise ValueError(f"`window` is {window}. Pass 1 to {steps}, the number of steps.")
    rows = checked_rows(rows, steps)
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)
    frozen, spikes, input = lax.stop_gradient((parameters, spikes, input))
    constants, start, own_trains = begun(eqx.combine(frozen, rest), steps, spikes, input)
    trains = full_length(input, steps) if isinstance(input, Mapping) else own_trains
    outputs = model.program.outputs[: model.num_outputs]

    def of_window(
        parameters: PyTree, state: RelaxedState, is_first: Array, trains: Any, rows: Any, size: int
    ) -> tuple[Float[Array, ""], RelaxedState]:
        own = eqx.combine(parameters, rest)
        numbers = constants_of(own)._replace(program=constants.program)
        if spikes is None:
            initial = numbers.initial.reshape(-1, *(1,) * (start.ndim - 1))
            first = initial_state(jnp.broadcast_to(initial, start.shape))
            state = jax.tree.map(lambda x, y: jnp.where(is_first, x, y), first, state)
        arriving = arriving_in(own, size, trains)[0] if isinstance(trains, dict) else trains
        run = nameless(own), numbers, FirstChoice(), state, arriving, size, True, False
        final, (sent, _, _) = scanned(*run)
        response = Response(sent[:, : model.num_outputs], final.spikes[outputs])
        return loss(response, *rows), final

    gradient = eqx.filter_value_and_grad(of_window, has_aux=True)

    def body(carry: Any, own: Any, size: int = window) -> tuple[Any, None]:
        total, slopes, state, is_first = carry
        trains, rows = own
        (value, state), more = gradient(frozen, state, is_first, trains, rows, size)
        slopes = jax.tree.map(jnp.add, slopes, more)
        return (total + value, slopes, state, jnp.zeros((), bool)), None

    zeros = jax.tree.map(jnp.zeros_like, frozen)
    carry = jnp.zeros(()), zeros, initial_state(start), jnp.ones((), bool)
    windows, left = divmod(steps, window)

    def in_windows(x: Array) -> Array:
        return x[: windows * window].reshape(windows, window, *x.shape[1:])

    carry, _ = lax.scan(body, carry, jax.tree.map(in_windows, (trains, rows)), windows)
    if left:
        rest_of = jax.tree.map(lambda x: x[windows * window :], (trains, rows))
        carry, _ = body(carry, rest_of, left)
    total, slopes, *_ = carry
    return attached(total, parameters, slopes)


def checked_rows(
    rows: Sequence[Shaped[Array, "steps ..."]], steps: int
) -> tuple[Shaped[Array, "steps ..."], ...]:
    """The rows as arrays, which must have an entry for each step."""
    arrays = tuple(map(jnp.asarray, rows))
    if any(x.ndim < 1 or len(x) != steps for x in arrays):
        shapes = [x.shape for x in arrays]
        raise ValueError(
            f"`rows` have the shapes {shapes}, and the run has {steps} steps. Pass an entry for "
            "each step."
        )
    return arrays


def full_length(
    input: Mapping[str, Float[Array, "train *paths"]], steps: int
) -> dict[str, Float[Array, "steps *paths"]]:
    """Input trains with an entry for each step."""
    trains = {name: jnp.asarray(train, jnp.float32) for name, train in input.items()}
    return {
        name: jnp.pad(x, ((0, steps - len(x)), *((0, 0),) * (x.ndim - 1)))
        for name, x in trains.items()
    }
