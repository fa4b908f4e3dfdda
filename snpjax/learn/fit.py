"""Training in minibatches, which stops where numbers are no longer finite."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import jax.tree_util as jtu
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree, Shaped


ModelT = TypeVar("ModelT")


class Optimiser(Protocol):
    """What is needed of an optimiser, as those of optax have it."""

    @property
    def init(self) -> Callable[..., Any]: ...

    @property
    def update(self) -> Callable[..., Any]: ...


class Fitted(NamedTuple, Generic[ModelT]):
    """A trained model, and the loss of each step."""

    model: ModelT
    losses: Float[np.ndarray, " steps"]


class NotFinite(FloatingPointError):
    """A loss or a gradient that is NaN or infinite: in which step, counted from 1, of which
    parameter, or `None` where only the loss is; and the `model` before that step."""

    def __init__(self, step: int, loss: float, parameter: str | None, model: Any):
        self.step, self.loss, self.parameter, self.model = step, loss, parameter, model
        what = "" if parameter is None else f" and the gradient of `{parameter}` is not finite"
        super().__init__(
            f"The loss of step {step} is {loss}{what}. Try a smaller learning rate; the model "
            "before that step is the error's `model`."
        )


class _Carry(NamedTuple):
    parameters: PyTree
    state: PyTree
    failure: Int[Array, ""]  # the step that failed; 0: none did
    culprit: Int[Array, ""]  # the number of the parameter; that of all where none is one


def fit(
    model: ModelT,
    loss: Callable[..., Float[Array, ""]],
    optimiser: Optimiser,
    data: Sequence[Shaped[Array | np.ndarray, "samples ..."]],
    /,
    *,
    epochs: int,
    key: Key[Array, ""],
    batch_size: int = 64,
    where: Callable[[ModelT], PyTree] = lambda model: model,
) -> Fitted[ModelT]:
    """Train a model by any optimiser that has `init` and `update`, as those of optax have.

    **Arguments:**

    - `loss`: `loss(model, *batch, key)`, a number; `batch` are rows of `data`.
    - `data`: arrays with a row for each sample. Every epoch takes them in another order, and leaves
      out what does not fill a batch.
    - `key`: it is consumed.
    - `where`: what of the model is trained, as `eqx.tree_at` says it: its arrays of floats.

    Calls with the same functions, and models and data of the same shapes, share one compilation: a
    lambda is another function each time it is made.

    **Returns:** the model and the losses.

    **Raises:** `NotFinite` at the end of the epoch in which a loss or a gradient was not; from that
    step on nothing was changed. `ValueError` for data that fit no batch.
    """
    rows = {len(column) for column in data}
    if len(rows) != 1 or not 1 <= batch_size <= max(rows) or epochs < 0:
        raise ValueError(
            f"The data have {sorted(rows)} rows, `batch_size` is {batch_size}, `epochs` {epochs}. "
            "Give columns of one length, of a batch or more."
        )
    columns = tuple(jnp.asarray(column) for column in data)
    parameters = eqx.filter(where(model), eqx.is_inexact_array)
    if not jax.tree.leaves(parameters):
        raise ValueError("`where` names no array of floats, so there is nothing to train.")
    zero = jnp.zeros((), jnp.int32)
    carry = _Carry(parameters, optimiser.init(parameters), zero, zero)
    losses = np.zeros((epochs, max(rows) // batch_size), np.float32)
    for epoch in range(epochs):
        own = jr.fold_in(key, epoch)
        start = jnp.asarray(epoch * losses.shape[1], jnp.int32)
        carry, found = _epoch(
            model, loss, optimiser.update, where, batch_size, columns, carry, own, start
        )
        losses[epoch] = found
        if step := int(carry.failure):
            names = [jtu.keystr(path) for path, _ in jtu.tree_leaves_with_path(parameters)]
            culprit = [*names, None][int(carry.culprit)]
            last = _with(model, where, carry.parameters)
            raise NotFinite(step, float(losses.ravel()[step - 1]), culprit, last)
    return Fitted(_with(model, where, carry.parameters), losses.ravel())


@eqx.filter_jit
def _epoch(
    model: ModelT,
    loss: Callable[..., Float[Array, ""]],
    update: Callable[..., Any],
    where: Callable[[ModelT], PyTree],
    batch_size: int,
    columns: tuple[Shaped[Array, "samples ..."], ...],
    carry: _Carry,
    key: Key[Array, ""],
    start: Int[Array, ""],
) -> tuple[_Carry, Float[Array, " batches"]]:
    """All batches of the data once, in a random order."""
    batches = len(columns[0]) // batch_size
    order_key, own_key = jr.split(key)
    order = jr.permutation(order_key, len(columns[0]))[: batches * batch_size]

    def body(carry: _Carry, row: Any) -> tuple[_Carry, Float[Array, ""]]:
        chosen, own, step = row

        def of_parameters(parameters: PyTree) -> Float[Array, ""]:
            return loss(_with(model, where, parameters), *(x[chosen] for x in columns), own)

        value, slopes = eqx.filter_value_and_grad(of_parameters)(carry.parameters)
        finite = [jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(slopes)]
        is_bad = ~jnp.stack([*finite, jnp.isfinite(value)])
        culprit = jnp.argmax(is_bad).astype(jnp.int32)
        is_failed = (carry.failure > 0) | jnp.any(is_bad)
        changes, state = update(slopes, carry.state, carry.parameters)
        new = _Carry(
            eqx.apply_updates(carry.parameters, changes),
            state,
            jnp.where(carry.failure > 0, carry.failure, step + 1),
            jnp.where(carry.failure > 0, carry.culprit, culprit),
        )
        # What was reached stays: first failure wins.
        kept = _Carry(carry.parameters, carry.state, new.failure, new.culprit)
        fine = _Carry(new.parameters, new.state, carry.failure, carry.culprit)
        return jax.tree.map(lambda x, y: jnp.where(is_failed, x, y), kept, fine), value

    rows = (
        order.reshape(batches, batch_size),
        jr.split(own_key, batches),
        start + jnp.arange(batches, dtype=jnp.int32),
    )
    return lax.scan(body, carry, rows)


def _with(model: ModelT, where: Callable[[ModelT], PyTree], parameters: PyTree) -> ModelT:
    """The model with these parameters."""
    return eqx.tree_at(where, model, eqx.combine(parameters, where(model)))
