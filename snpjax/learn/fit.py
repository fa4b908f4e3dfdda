"""Training in minibatches, which stops where numbers are no longer finite."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import jax.tree_util as jtu
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array, Float, Int, Key, PyTree, Shaped

from snpjax_formats.arguments import as_integer

from .._text.counts import plural
from .._text.pickling import PickledError
from .._text.progress import ProgressLike, progress_of
from .._xla import fetched, refuse_fork
from ..explore.patience import Patience
from ..memory import Footprint, check_fits, compiled_bytes
from ..scale.checkpoint import Checkpoint, Checkpoints, checkpoints_of
from ..scale.hosts import check_agreement
from ..scale.mesh import PATHS, placement, replicated, size_of
from ..scale.shares import alike, on_all
from .adam import Adam
from .arguments import check_key
from .data import Column, check_memory, check_validation, columns_of, on_devices
from .firing import PopulationFiring, firing_of, warn_of_firing
from .trainable import selected_by


ModelT = TypeVar("ModelT")


@runtime_checkable
class Optimiser(Protocol):
    """What is needed of an optimiser, as those of optax have it."""

    @property
    def init(self) -> Callable[..., Any]: ...

    @property
    def update(self) -> Callable[..., Any]: ...


@runtime_checkable
class ChecksColumns(Protocol):
    """A loss that refuses unusable data, such as `CrossEntropy`."""

    def __call__(self, *arguments: Any, **options: Any) -> Float[Array, ""]: ...

    def check_columns(self, model: Any, columns: Sequence[Column], name: str) -> None:
        """Raise `ValueError` for data of the wrong kind, before anything is compiled.

        **Arguments:**

        - `model`: the model.
        - `columns`: the data, with a row for each sample.
        - `name`: of the data, `"data"` or `"validation"`.
        """


class Fitted(NamedTuple, Generic[ModelT]):
    """A trained model, and the loss of each step.

    - `model`: the model after the last update.
    - `losses`: the loss of each batch, before its update.
    - `best`: the model after the epoch with the lowest validation loss, the first of equal ones;
      without validation data, or epochs, `model`.
    - `validation_losses`: the loss of the validation data after each epoch; none without such data.
    - `firing`: how the populations of `best` fire, a `PopulationFiring` for each that has rules,
      inputs left out; none for models without SN P systems.
    - `is_interrupted`: whether Ctrl-C ended the training early; losses are those of the epochs
      before it.
    """

    model: ModelT
    losses: Float[np.ndarray, " steps"]
    best: ModelT
    validation_losses: Float[np.ndarray, " epochs"]
    firing: tuple[PopulationFiring, ...] = ()
    is_interrupted: bool = False

    def __repr__(self) -> str:
        parts = [f"{type(self.model).__name__}, {plural(len(self.losses), 'step')}"]
        if self.is_interrupted:
            parts.append("interrupted")
        for name, losses in (("loss", self.losses), ("validation", self.validation_losses)):
            if len(losses):
                numbers = (
                    f"{losses[0]:.4g} to {losses[-1]:.4g}, lowest {np.fmin.reduce(losses):.4g}"
                )
                parts.append(f"{name} {numbers}")
        parts += [
            f"{own.population} of {own.neurons}: {own.spikes:.3g} spikes a run, {own.dead:.0%} "
            f"dead, {own.saturated:.0%} saturated"
            for own in self.firing
        ]
        return f"Fitted({'; '.join(parts)})"


class NotFinite(PickledError, FloatingPointError):
    """A loss or a gradient that is NaN or infinite: in which step, counted from 1, of which
    parameter, or `None` where only the loss is; the `model` before that step, and the `best` one by
    validation, see `Fitted`."""

    def __init__(self, step: int, loss: float, parameter: str | None, model: Any, best: Any = None):
        self.step, self.loss, self.parameter, self.model = step, loss, parameter, model
        self.best = model if best is None else best
        what = "" if parameter is None else f" and the gradient of `{parameter}` is not finite"
        if step == 1:
            fix = "No update was made yet, so check the loss function, the labels and the model."
        else:
            fix = "Try a smaller learning rate; the error's `model` is the one before that step."
        super().__init__(f"The loss of step {step} is {loss}{what}. {fix}")


#: Folded into the key for validation and for firing; epochs are folded in by their numbers.
_VALIDATION, _FIRING = 2**32 - 1, 2**32 - 2


# How long training takes by default.
_BATCH, _EPOCHS, _UPDATES = 64, 20, 1500


class _Carry(NamedTuple):
    parameters: PyTree
    state: PyTree
    failure: Int[Array, ""]  # the step that failed; 0: none did
    culprit: Int[Array, ""]  # the number of the parameter; that of all where none is one


def fit(
    model: ModelT,
    loss: Callable[..., Float[Array, ""]],
    optimiser: Optimiser,
    data: Sequence[Column],
    /,
    *,
    epochs: int | None = None,
    key: Key[Array, ""],
    batch_size: int | None = None,
    validation: Sequence[Column] | None = None,
    where: Callable[[ModelT], PyTree] | ModelT | None = None,
    parts: int = 1,
    mesh: Mesh | None = None,
    checkpoint: Checkpoint | None = None,
    progress: ProgressLike = True,
) -> Fitted[ModelT]:
    """Train a model with `Adam`, an optimiser of optax, or any other that has `init` and `update`.

    The first Ctrl-C ends the training after the epoch in progress, and `fit` returns what it has
    reached, with `is_interrupted`; a second one raises `KeyboardInterrupt`.

    **Arguments:**

    - `model`: the model, an Equinox module or any other pytree.
    - `loss`: `loss(model, *batch, key)` returns a scalar; `batch` are rows of `data`. For example
      `CrossEntropy()`. A loss with a method `check_columns(model, columns, name)` can refuse
      data before anything is compiled; `name` is the argument, `"data"` or `"validation"`.
    - `optimiser`: for example `Adam()`, whose rate falls so that it reaches 0 at the end, or
      `optax.adam(1e-2)`. Those with extra arguments get the loss, its gradient and its function as
      `value`, `grad` and `value_fn`.
    - `data`: arrays of finite numbers with a row for each sample. Every epoch takes them in another
      order, and leaves out what does not fill a batch. Arrays that are shared among devices stay
      where they are, and these devices share each batch, if it can be divided like the rows.
    - `epochs`: the number of passes through the data, 0 or more; by default 20, and more
      for small data: at least 1,500 updates are made.
    - `key`: a typed PRNG key, of the order of samples and of the losses; it is consumed.
    - `batch_size`: the number of samples in a batch; by default 64, or all if they are fewer.
    - `validation`: other data, with the same columns, that are not trained on. Their loss is
      computed after each epoch, the mean over all rows, with the same key each time, and
      `Fitted.best` is the model with the lowest one.
    - `where`: what is trained; by default `trainable(model)`, the weights. Pass another filter, a
      pytree of booleans such as `trainable(model, parameters=("synapses", "low"))`, or a function
      that maps the model to the part of it that is trained, as in `eqx.tree_at`. Only arrays of
      floats are.
    - `parts`: the loss of a batch is the mean of the losses of this many equal parts of it, each
      with a key of its own; gradients are added in the order of the parts. One part after the other
      is computed, and the gradients of all are kept until they are added.
    - `mesh`: devices that share the parts, `jax.make_mesh((4,), ("paths",))`: as many parts each.
      Results depend on `parts`, not on `mesh`. Each device has all the data. See `snpjax.scale`.
    - `checkpoint`: where to save parameters and losses, between epochs; see `snpjax.Checkpoint`.
    - `progress`: called after each epoch with the number of epochs made, and of all. By default a
      line shows them where standard error is a terminal; `False` shows nothing.

    Calls with the same functions, and models and data of the same shapes, share one compilation: a
    lambda is another function each time it is made.

    **Returns:** the model after the last update, the best one by `validation`, and the loss of each
    step, computed before its update: that of the last model itself is not among them. A
    `FiringWarning` names populations most of which are dead or saturated, with what helps.

    **Raises:** `NotFinite` at the end of the epoch in which a loss or a gradient was not; from that
    step on nothing was changed. `ValueError` for data that are not finite or fit no batch, what
    the loss refuses, such as labels that are not numbers of classes, validation data with other
    columns, and parts that do not divide a batch or are not divided by the devices; `TypeError`
    for arguments of another kind;
    `NotEnoughMemory` for batches that do not fit in memory; `CheckpointError` for checkpoints of
    another call.
    """
    refuse_fork("learn.fit")
    _check_functions(loss, optimiser)
    check_key(key)
    columns = columns_of(data, "data")
    held_out = () if validation is None else columns_of(validation, "validation")
    if held_out:
        check_validation(held_out, columns)
    if isinstance(loss, ChecksColumns):
        for name, own in (("data", columns), ("validation", held_out)):
            if own:
                loss.check_columns(model, own, name)
    rows = len(columns[0])
    batch_size = as_integer("batch_size", min(_BATCH, rows) if batch_size is None else batch_size)
    parts = as_integer("parts", parts)
    if epochs is None:
        epochs = max(_EPOCHS, -(-_UPDATES // max(rows // max(batch_size, 1), 1)))
    epochs = as_integer("epochs", epochs)
    if not rows:
        raise ValueError("`data` has no rows. Give one for each sample.")
    if not 1 <= batch_size <= rows:
        raise ValueError(
            f"`batch_size` is {batch_size} and `data` has {plural(rows, 'row')}. Give a size from "
            f"1 to {rows}."
        )
    if epochs < 0:
        raise ValueError(f"`epochs` is {epochs}. Give 0 or more passes through the data.")
    if parts < 1 or batch_size % parts:
        raise ValueError(
            f"`parts` is {parts} and `batch_size` {batch_size}. Give a number of parts that "
            "divides the batch."
        )
    mesh, device = placement("fit", mesh, (PATHS,))
    devices = size_of(mesh, PATHS)
    if parts % devices:
        raise ValueError(
            f"`parts` is {parts}, and `mesh` has {devices} devices. Give a multiple of that: each "
            "device computes as many parts of a batch as the others."
        )
    saved = checkpoints_of(
        checkpoint,
        "fit",
        model=model,
        loss=loss,
        optimiser=optimiser,
        data=columns,
        epochs=epochs,
        key=key,
        batch_size=batch_size,
        validation=held_out,
        where=where,
        parts=parts,
    )
    if isinstance(optimiser, Adam) and optimiser.updates is None:
        optimiser = Adam(optimiser.rate, max(epochs * (rows // batch_size), 1))
    with device, saved as checkpoints, progress_of(progress, "epoch", epochs) as report:
        how = epochs, key, batch_size, where, parts, mesh, checkpoints, report
        return _fit(model, loss, optimiser, columns, held_out, *how)


def _fit(
    model: ModelT,
    loss: Callable[..., Float[Array, ""]],
    optimiser: Optimiser,
    data: Sequence[Column],
    held_out: Sequence[Column],
    epochs: int,
    key: Key[Array, ""],
    batch_size: int,
    where: Callable[[ModelT], PyTree] | ModelT | None,
    parts: int,
    mesh: Mesh | None,
    checkpoints: Checkpoints,
    report: Callable[[int, int], None],
) -> Fitted[ModelT]:
    parameters, fixed = eqx.partition(model, selected_by(where, model))
    if not jax.tree.leaves(parameters):
        raise ValueError(
            "`where` selects no array of floats, so there is nothing to train. Select some."
        )
    check_memory(data, held_out, epochs, batch_size)
    columns, others = (tuple(map(on_devices, given)) for given in (data, held_out))
    zero = jnp.zeros((), jnp.int32)
    carry = _Carry(parameters, optimiser.init(parameters), zero, zero)
    # Without validation data the best model is the last one.
    best = parameters if others else None
    losses = np.zeros((epochs, len(columns[0]) // batch_size), np.float32)
    validated = np.zeros(epochs if others else 0, np.float32)
    restored, begun = checkpoints.restored, 0
    if restored is not None:
        begun = restored.note["epochs"]
        carry, best = jax.tree.map(jnp.asarray, restored.state((carry, best)))
        for part in restored.segments:
            epoch, arrays = part.note["epoch"], part.arrays()
            losses[epoch] = arrays["losses"]
            validated[epoch : epoch + 1] = arrays["validation"]
    shardings = tuple(
        x.sharding if mesh is None and isinstance(x.sharding, NamedSharding) else None
        for x in columns
    )
    task = _Task(fixed, loss, optimiser.update, columns, others, shardings, batch_size, parts)
    if mesh is not None:
        options = {"epochs": epochs, "batch_size": batch_size, "parts": parts}
        check_agreement("fit", model=model, data=columns, validation=others, key=key, **options)
        task, carry, best = on_all((task, carry, best), mesh)
    lowest = np.fmin.reduce(validated[:begun], initial=np.inf)
    validation_key = jr.fold_in(key, _VALIDATION)
    if mesh is not None:
        validation_key = replicated(validation_key, mesh)

    is_shared = mesh is not None or any(len(x.devices()) > 1 for x in columns)

    def trained(found: PyTree) -> ModelT:
        if is_shared:  # any device may continue with it
            found = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), found)
        return eqx.combine(found, fixed)

    done, patience = begun, Patience(None)
    with patience.until_interrupted():
        for epoch in range(begun, epochs):
            given = jr.fold_in(key, epoch), jnp.asarray(epoch * losses.shape[1], jnp.int32)
            if mesh is not None:
                given = replicated(given, mesh)
            if epoch == begun:
                needed = compiled_bytes(_epoch, task, carry, *given, mesh)
                _check_batches(needed, batch_size, mesh)
            carry, found = _epoch(task, carry, *given, mesh)
            losses[epoch] = fetched(found)
            if step := int(carry.failure):
                names = [jtu.keystr(path) for path, _ in jtu.tree_leaves_with_path(parameters)]
                culprit = [*names, None][int(carry.culprit)]
                reached = float(losses.ravel()[step - 1])
                last = trained(carry.parameters)
                chosen = None if best is None else trained(best)
                raise NotFinite(step, reached, culprit, last, chosen)
            if best is not None:
                validated[epoch] = fetched(_validation_loss(task, carry, validation_key, mesh))
                if epoch == 0 or validated[epoch] < lowest:
                    best = carry.parameters
                lowest = np.fmin(lowest, validated[epoch])  # NaN is no loss
            if jax.process_index() == 0:  # all processes have the same
                found = {"losses": losses[epoch], "validation": validated[epoch : epoch + 1]}
                checkpoints.append({name: x.copy() for name, x in found.items()}, epoch=epoch)
            done = epoch + 1
            report(done, epochs)
            if done < epochs and (patience.is_interrupted or checkpoints.is_due()):
                checkpoints.save((carry, best), epochs=done)
            if patience.is_interrupted:
                break
    if done == epochs:
        checkpoints.finish((carry, best), epochs=epochs)
    last = trained(carry.parameters)
    chosen = last if best is None else trained(best)
    measured = chosen, loss, columns, batch_size // parts, jr.fold_in(key, _FIRING)
    firing, has_no_input = firing_of(*measured)
    warn_of_firing(firing, has_no_input)
    reached = losses[:done].ravel(), chosen, validated[:done]
    return Fitted(last, *reached, firing, is_interrupted=done < epochs)


def _check_functions(loss: Any, optimiser: Any) -> None:
    """Refuse a loss that is not a function, and an optimiser without `init` and `update`."""
    for name, given in (("loss", loss), ("optimiser", optimiser)):
        if isinstance(given, type):
            raise TypeError(f"`{name}` is the class {given.__name__}. Give `{given.__name__}()`.")
    if not callable(loss):
        raise TypeError(f"`loss` is {loss!r:.60}. Give a function `loss(model, *batch, key)`.")
    if not isinstance(optimiser, Optimiser):
        if isinstance(optimiser, FunctionType):
            name = optimiser.__name__
            raise TypeError(f"`optimiser` is the function {name}. Call it, as `{name}(1e-2)`.")
        raise TypeError(
            f"`optimiser` is {optimiser!r:.60}. Give one with `init` and `update`, such as "
            "`Adam()` or `optax.adam(1e-2)`."
        )


def _check_batches(needed: int, batch_size: int, mesh: Mesh | None) -> None:
    """Refuse batches whose losses and gradients need more bytes on a device than are free."""
    check_fits(
        lambda num: Footprint(needed * num // batch_size),
        batch_size,
        f"Batches of {batch_size:,} rows need",
        "give `batch_size={}`",
        "cut each into more `parts`",
        mesh=mesh,
    )


class _Task(eqx.Module):
    """What is the same in every epoch."""

    fixed: Any  # the model without its parameters
    loss: Callable[..., Float[Array, ""]]
    update: Callable[..., Any]
    columns: tuple[Shaped[Array, "samples ..."], ...]
    held_out: tuple[Shaped[Array, "samples ..."], ...]
    shardings: tuple[NamedSharding | None, ...] = eqx.field(static=True)  # of columns
    batch_size: int = eqx.field(static=True)
    parts: int = eqx.field(static=True)


@eqx.filter_jit
def _epoch(
    task: _Task, carry: _Carry, key: Key[Array, ""], start: Int[Array, ""], mesh: Mesh | None
) -> tuple[_Carry, Float[Array, " batches"]]:
    """All batches of the data once, in a random order. Devices share the parts of each."""
    if mesh is None:
        return _batches(task, carry, key, start, 1)
    return alike(partial(_batches, devices=mesh.size), mesh, task, carry, key, start)


@eqx.filter_jit
def _validation_loss(
    task: _Task, carry: _Carry, key: Key[Array, ""], mesh: Mesh | None
) -> Float[Array, ""]:
    """The mean loss of the validation data. Each device of a mesh computes all of it."""
    if mesh is None:
        return _mean_loss(task, carry.parameters, key)
    return alike(_mean_loss, mesh, task, carry.parameters, key)


def _mean_loss(task: _Task, parameters: PyTree, key: Key[Array, ""]) -> Float[Array, ""]:
    """The mean of the losses of batches, and of what does not fill one, by their rows."""
    model = eqx.combine(parameters, task.fixed)
    rows, size = len(task.held_out[0]), task.batch_size
    batches, left = divmod(rows, size)
    total = jnp.zeros((), jnp.float32)
    if batches:
        full = [x[: batches * size].reshape(batches, size, *x.shape[1:]) for x in task.held_out]
        keys = jr.split(jr.fold_in(key, 0), batches)
        found = lax.map(lambda row: task.loss(model, *row[:-1], row[-1]), (*full, keys))
        total = jnp.sum(found) * size
    if left:
        rest = [x[batches * size :] for x in task.held_out]
        total = total + task.loss(model, *rest, jr.fold_in(key, 1)) * left
    return (total / rows).astype(jnp.float32)


def _batches(
    task: _Task, carry: _Carry, key: Key[Array, ""], start: Int[Array, ""], devices: int
) -> tuple[_Carry, Float[Array, " batches"]]:
    batches = len(task.columns[0]) // task.batch_size
    order_key, own_key = jr.split(key)
    order = jr.permutation(order_key, len(task.columns[0]))[: batches * task.batch_size]

    def body(carry: _Carry, row: Any) -> tuple[_Carry, Float[Array, ""]]:
        chosen, own, step = row
        value, slopes = _slopes(task, carry.parameters, chosen, own, step, devices)
        finite = [jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(slopes)]
        is_bad = ~jnp.stack([*finite, jnp.isfinite(value)])
        culprit = jnp.argmax(is_bad).astype(jnp.int32)
        is_failed = (carry.failure > 0) | jnp.any(is_bad)
        value_of = partial(_value, task, chosen=chosen, key=own)
        more = _taken(task.update, {"value": value, "grad": slopes, "value_fn": value_of})
        changes, state = task.update(slopes, carry.state, carry.parameters, **more)
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
        order.reshape(batches, task.batch_size),
        jr.split(own_key, batches),
        start + jnp.arange(batches, dtype=jnp.int32),
    )
    return lax.scan(body, carry, rows)


def _rows(
    chosen: Int[Array, " rows"],
    column: Shaped[Array, "samples ..."],
    sharding: NamedSharding | None,
) -> Shaped[Array, "rows ..."]:
    """Rows of a column, shared among its devices as the column is if they can be."""
    rows = column[chosen]
    if sharding is None or sharding.shard_shape(column.shape)[0] == len(column):
        return rows
    num = len(column) // sharding.shard_shape(column.shape)[0]
    return rows if len(rows) % num else lax.with_sharding_constraint(rows, sharding)


def _taken(update: Callable[..., Any], more: dict[str, Any]) -> dict[str, Any]:
    """Those extra arguments that an optimiser takes, as some of optax do."""
    parameters = inspect.signature(update).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return more
    return {name: value for name, value in more.items() if name in parameters}


def _value(
    task: _Task, parameters: PyTree, chosen: Int[Array, " rows"], key: Key[Array, ""]
) -> Float[Array, ""]:
    """The loss of a batch, the mean of those of its parts."""
    if task.parts == 1:
        return _loss_of_part(task, parameters, chosen, key)
    rows, numbers = chosen.reshape(task.parts, -1), jnp.arange(task.parts)

    def of_part(row: tuple[Array, Array]) -> Float[Array, ""]:
        return _loss_of_part(task, parameters, row[0], jr.fold_in(key, row[1]))

    return jnp.mean(lax.map(of_part, (rows, numbers)))


def _loss_of_part(
    task: _Task, parameters: PyTree, chosen: Int[Array, " rows"], key: Key[Array, ""]
) -> Float[Array, ""]:
    model = eqx.combine(parameters, task.fixed)
    batch = map(partial(_rows, chosen), task.columns, task.shardings)
    return task.loss(model, *batch, key)


def _slopes(
    task: _Task,
    parameters: PyTree,
    chosen: Int[Array, " rows"],
    key: Key[Array, ""],
    step: Int[Array, ""],
    devices: int,
) -> tuple[Float[Array, ""], PyTree]:
    """The loss of a batch and its gradient: those of the parts, in their order.

    Sums of floats depend on their order, and how a compiler fuses them on what is around. So there
    is one loop that computes parts, whichever device does, and one that adds them; the numbers of
    their turns are unknown to the compiler, which would dissolve a loop of one turn.
    """

    gradient = eqx.filter_value_and_grad(
        lambda parameters, chosen, key: _loss_of_part(task, parameters, chosen, key)
    )
    if task.parts == 1:
        return gradient(parameters, chosen, key)
    rows = chosen.reshape(task.parts, -1)
    share = task.parts // devices
    first = lax.axis_index(PATHS) * share if devices > 1 else 0
    is_real = step >= 0

    def with_part(i: Array, found: PyTree) -> PyTree:
        own = gradient(parameters, rows[first + i], jr.fold_in(key, first + i))
        return jax.tree.map(lambda x, y: x.at[i].set(y), found, own)

    shapes = jax.eval_shape(gradient, parameters, rows[0], key)
    found = jax.tree.map(lambda x: jnp.zeros((share, *x.shape), x.dtype), shapes)
    found = lax.fori_loop(0, jnp.where(is_real, share, 0), with_part, found)
    if devices > 1:
        found = jax.tree.map(lambda x: lax.all_gather(x, PATHS, tiled=True), found)

    def added(i: Array, total: PyTree) -> PyTree:
        return jax.tree.map(lambda x, y: x + y[i], total, found)

    total = jax.tree.map(lambda x: x[0], found)
    total = lax.fori_loop(1, jnp.where(is_real, task.parts, 1), added, total)
    return jax.tree.map(lambda x: x / task.parts, total)
