"""Training in minibatches: what is trained, what is compiled, and where it stops."""

import importlib
import signal
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from snpjax import Checkpoint, learn
from snpjax.scale import CheckpointError
from snpjax_formats import NotEnoughMemory
from tests.support.helpers import quietly


class Line(eqx.Module):
    slope: jax.Array
    start: jax.Array


class Descent(NamedTuple):
    """Plain steps downhill, by what `fit` asks of an optimiser."""

    rate: float

    def init(self, parameters):
        return jnp.zeros((), jnp.int32)

    def update(self, slopes, state, parameters):
        del parameters
        return jax.tree.map(lambda g: -self.rate * g, slopes), state + 1


LINE = Line(jnp.zeros(()), jnp.asarray(0.5))
X = np.linspace(-1, 1, 21, dtype=np.float32)
DESCENT = Descent(0.1)
traces = 0


def loss(line, x, y, key):
    global traces
    traces += 1
    del key
    return jnp.mean((line.slope * x + line.start - y) ** 2)


def slope_only(line):
    return line.slope


def fit(y, *, where=lambda line: line, optimiser=DESCENT, seed=0, **options):
    data, options = (X, y.astype(np.float32)), {"epochs": 3, "batch_size": 5, **options}
    return learn.fit(LINE, loss, optimiser, data, key=jr.key(seed), where=where, **options)


def test_a_line_is_fitted():
    found = fit(3 * X + 1, epochs=60)
    assert len(found.losses) == 60 * 4  # what does not fill a batch is left out
    np.testing.assert_allclose([found.model.slope, found.model.start], [3, 1], atol=1e-3)
    assert found.losses[-1] < 1e-5 < found.losses[0]


def test_what_is_not_named_stays_and_calls_share_a_compilation():
    global traces
    traces = 0
    one, other = (fit(2 * X + k, where=slope_only, seed=k) for k in (0, 1))
    assert traces == 1
    assert one.model.start == other.model.start == 0.5 and one.model.slope != other.model.slope
    again = fit(2 * X, where=slope_only)
    assert again.losses.tolist() == one.losses.tolist()


def test_no_epoch_changes_nothing():
    found = fit(X, epochs=0)
    assert found.model.slope == 0 and found.losses.tolist() == []


def test_training_stops_where_the_loss_is_no_number():
    """The loss of one sample is NaN: the step is the one that drew it, and the model the one
    before."""

    def with_roots(line, x, y, key):
        return loss(line, x, jnp.where(y < -50, jnp.sqrt(y), y), key)

    y = (3 * X + 1).astype(np.float32)
    y[7] = -99
    with pytest.raises(learn.NotFinite, match=r"The loss of step \d+ is nan and the grad") as stop:
        options = {"epochs": 9, "batch_size": 3, "key": jr.key(0), "where": lambda line: line}
        learn.fit(LINE, with_roots, DESCENT, (X, y), **options)
    error = stop.value
    assert error.parameter == ".slope" and np.isnan(error.loss)
    assert 1 <= error.step <= 7 and np.isfinite(error.model.slope)
    rest = fit(3 * X + 1, epochs=1, batch_size=3)  # the same order of samples, without it
    assert (error.model.slope == 0) == (error.step == 1)
    assert np.isfinite(rest.losses).all()


def test_an_infinite_loss_stops_training():
    def endless(line, x, y, key):
        del key
        return jnp.where(line.slope > 0.2, jnp.inf, loss(line, x, y, None))

    with pytest.raises(learn.NotFinite, match=r"is inf\. Try") as stop:
        data = (X, 3 * X)
        learn.fit(LINE, endless, DESCENT, data, epochs=5, key=jr.key(0), batch_size=7)
    assert stop.value.parameter is None and stop.value.model.slope > 0.2


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(ValueError, match="columns of `data` have 21, 20 rows"):
        fit(X[1:])
    with pytest.raises(ValueError, match="`batch_size` is 22 and `data` has 21 rows"):
        fit(X, batch_size=22)
    with pytest.raises(ValueError, match="`epochs` is -1"):
        fit(X, epochs=-1)
    with pytest.raises(ValueError, match="nothing to train"):
        fit(X, where=lambda line: ())


def refusal(**given):
    """The message of `fit` for other arguments."""
    given = {"loss": loss, "optimiser": DESCENT, "data": (X, X), "key": jr.key(0), **given}
    with pytest.raises((TypeError, ValueError, learn.NotFinite)) as error:
        learn.fit(LINE, *(given.pop(name) for name in ("loss", "optimiser", "data")), **given)
    return str(error.value)


def test_arguments_of_another_kind_are_refused():
    assert "`optimiser` is the class Adam. Give `Adam()`" in refusal(optimiser=learn.Adam)
    assert "is the function loss. Call it" in refusal(optimiser=loss)
    assert "`optimiser` is 0.1. Give one with `init`" in refusal(optimiser=0.1)
    assert "the class CrossEntropy. Give `C" in refusal(loss=learn.CrossEntropy)
    assert "`loss` is 3. Give a function" in refusal(loss=3)
    assert "`data` is an array of the shape (21,). Give a tuple" in refusal(data=X)
    assert "`data[1]` is a single number" in refusal(data=(X, 3.0))
    assert "`data[1]` holds entries of the type <U1" in refusal(data=(X, ["a"] * 21))
    assert "`data` has no rows" in refusal(data=(X[:0], X[:0]))
    assert "`epochs` is 1.5. Give an integer" in refusal(epochs=1.5)
    assert "`key` is 0. Give a key" in refusal(key=0)


@pytest.mark.parametrize("to_array", [np.asarray, jnp.asarray])
def test_data_that_are_not_finite_are_refused_with_their_place(to_array):
    rows = np.ones((21, 4), np.float32)
    rows[5, 2] = rows[6, 0] = np.nan
    told = "is nan in row 5, column 2, counted from 0 (NaN or infinite in 2 places)"
    assert f"`data[1]` {told}" in refusal(data=(X, to_array(rows)))
    assert "`data[0]` is nan in row 5, counted from 0" in refusal(data=(to_array(rows[:, 2]), X))
    rows[5:7] = np.inf
    found = refusal(validation=(to_array(rows[:, 1]), X))
    assert "`validation[0]` is inf in row 5, counted from 0" in found
    deep = to_array(np.where(np.arange(21 * 8).reshape(21, 2, 2, 2) == 13, np.nan, 0))
    assert "is nan at [1, 1, 0, 1] (NaN" in refusal(data=(X, deep))


class CheckedLoss(eqx.Module):
    """A loss that takes no negative targets."""

    def check_columns(self, model, columns, name):
        assert model is LINE
        if (columns[1] < 0).any():
            raise ValueError(f"`{name}[1]` is negative")

    def __call__(self, line, x, y, key):
        return loss(line, x, y, key)


def test_a_loss_refuses_data_before_anything_is_compiled():
    global traces
    traces = 0
    options = {"epochs": 1, "batch_size": 5, "key": jr.key(0)}
    good, bad = (X, np.abs(X)), (X, X)
    with pytest.raises(ValueError, match=r"`data\[1\]` is negative"):
        learn.fit(LINE, CheckedLoss(), DESCENT, bad, **options)
    with pytest.raises(ValueError, match=r"`validation\[1\]` is negative"):
        learn.fit(LINE, CheckedLoss(), DESCENT, good, validation=bad, **options)
    assert traces == 0
    learn.fit(LINE, CheckedLoss(), DESCENT, good, validation=good, **options)


class LossWithACheck(eqx.Module):
    """Its method `check` has nothing to do with `fit`."""

    def check(self):
        raise AssertionError

    def __call__(self, line, x, y, key):
        return loss(line, x, y, key)


def test_a_loss_may_have_a_method_check_of_its_own():
    options = {"epochs": 1, "batch_size": 5, "key": jr.key(0)}
    found = learn.fit(LINE, LossWithACheck(), DESCENT, (X, X), **options)
    assert len(found.losses) == 4
    assert isinstance(CheckedLoss(), learn.ChecksColumns)
    assert isinstance(learn.CrossEntropy(), learn.ChecksColumns)
    assert not isinstance(LossWithACheck(), learn.ChecksColumns)


def test_lists_are_columns():
    wanted = fit(3 * X)
    data, options = (X.tolist(), (3 * X).tolist()), {"epochs": 3, "batch_size": 5}
    found = learn.fit(LINE, loss, DESCENT, data, key=jr.key(0), **options, where=lambda line: line)
    assert found.losses.tolist() == wanted.losses.tolist()


def test_progress_is_reported_after_each_epoch():
    calls = []
    fit(3 * X + 1, progress=lambda *call: calls.append(call))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_the_first_step_gets_no_advice_about_the_learning_rate():
    found = refusal(loss=lambda line, x, y, key: jnp.nan * line.slope)
    assert "step 1 is nan" in found and "learning rate" not in found and "check the loss" in found


class Interrupting(Descent):
    """Sends Ctrl-C during the update of a chosen step."""

    def update(self, slopes, state, parameters):
        def interrupt(step):
            if step == 5:
                signal.raise_signal(signal.SIGINT)

        jax.debug.callback(interrupt, state, ordered=True)
        return super().update(slopes, state, parameters)


def test_an_interrupted_training_returns_what_it_reached(tmp_path):
    """The epoch in progress is finished; with checkpoints, the same call continues from there."""
    y, options = (3 * X).astype(np.float32), {"epochs": 4, "batch_size": 5, "key": jr.key(0)}
    options |= {"where": lambda line: line, "validation": (X, y)}
    where = Checkpoint(tmp_path / "c")
    found = learn.fit(LINE, loss, Interrupting(0.1), (X, y), checkpoint=where, **options)
    wanted = fit(y, epochs=4, validation=(X, y))
    assert found.is_interrupted and not wanted.is_interrupted
    assert found.losses.tolist() == wanted.losses[:8].tolist()  # four steps in each of two epochs
    assert found.validation_losses.tolist() == wanted.validation_losses[:2].tolist()
    assert "8 steps; interrupted; loss" in repr(found)
    after = learn.fit(LINE, loss, Interrupting(0.1), (X, y), checkpoint=where, **options)
    assert after.losses.tolist() == wanted.losses.tolist() and not after.is_interrupted
    assert after.best.slope == wanted.best.slope


def test_a_fit_has_a_short_representation():
    found = fit(3 * X, epochs=1, validation=(X, X))
    text = repr(found)
    assert text.startswith("Fitted(Line, 4 steps; loss ") and "; validation" in text
    assert f"lowest {found.losses.min():.4g}" in text and len(text) < 150


@pytest.mark.parametrize("parts", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_optimisers_get_the_loss_and_its_function(parts):
    """`lbfgs` searches along a line, for which it needs the function. After a plateau the rate is
    almost 0, so that losses stay."""
    optax = pytest.importorskip("optax")
    options = {"epochs": 6, "batch_size": 20, "parts": parts, "key": jr.key(0)}
    data, options["where"] = (X[:20], 3 * X[:20] + 1), lambda line: line
    plateau = optax.contrib.reduce_on_plateau(patience=2, factor=1e-6, rtol=1.0)
    with jax.numpy_dtype_promotion("standard"):  # which optax needs
        found = learn.fit(LINE, loss, optax.lbfgs(), data, **options)
        assert found.losses[-1] < 1e-3 < found.losses[0]
        found = learn.fit(LINE, loss, optax.chain(optax.sgd(0.1), plateau), data, **options)
    assert found.losses[-1] == pytest.approx(found.losses[-2], rel=1e-4)
    assert found.losses[0] > 1.1 * found.losses[-1]


def test_checkpoints_of_another_number_of_epochs_are_refused_by_that_name(tmp_path):
    options = {"batch_size": 21, "key": jr.key(0), "checkpoint": Checkpoint(tmp_path / "c")}
    given = LINE, loss, learn.Adam(), (X, X)
    learn.fit(*given, epochs=1, **options)
    with pytest.raises(CheckpointError, match="epochs") as error:
        learn.fit(*given, epochs=2, **options)
    assert "optimiser" not in str(error.value)


def test_the_best_model_is_that_of_the_lowest_validation_loss():
    """Large steps go past the minimum and back: one epoch at a time says what each reached."""
    y, options = (3 * X + 1).astype(np.float32), {"batch_size": 7, "optimiser": Descent(0.95)}
    found = fit(y, epochs=5, validation=(X[3:12], y[3:12]), **options)
    reached = [fit(y, epochs=n, **options).model for n in range(1, 6)]
    expected = [np.mean((m.slope * X[3:12] + m.start - y[3:12]) ** 2) for m in reached]
    np.testing.assert_allclose(found.validation_losses, expected, rtol=1e-5)
    best = reached[int(np.argmin(expected))]
    assert np.argmin(expected) < 4  # otherwise the last one is the best
    assert (found.best.slope, found.best.start) == (best.slope, best.start)
    assert found.model.slope == reached[-1].slope and len(found.losses) == 15


def test_validation_changes_no_training():
    plain, other = fit(3 * X), fit(3 * X, validation=(X, X))
    assert plain.losses.tolist() == other.losses.tolist()
    assert plain.best is plain.model and plain.validation_losses.shape == (0,)
    assert fit(X, epochs=0, validation=(X, X)).best.slope == 0


def noisy(line, x, y, key):
    return jnp.mean(line.slope * x - y) + jr.uniform(key)


class Still(Descent):
    """Changes nothing."""

    def update(self, slopes, state, parameters):
        return jax.tree.map(jnp.zeros_like, slopes), state


def test_validation_has_the_same_key_in_every_epoch_and_the_first_of_equal_ones_is_best():
    options = {"epochs": 3, "key": jr.key(0), "batch_size": 5, "validation": (X, X)}
    found = learn.fit(LINE, noisy, Still(0.0), (X, X), **options)
    assert len({*found.validation_losses.tolist()}) == 1


def test_a_validation_loss_that_is_no_number_is_not_the_best():
    def until(line, x, y, key):
        value = loss(line, x, y, key)
        return jnp.where((line.slope > 0.5) & (x[0] == 5), jnp.nan, value)

    options = {"key": jr.key(0), "batch_size": 5, "validation": (X + 6, 3 * X)}
    found = learn.fit(LINE, until, Descent(0.02), (X, 3 * X), epochs=9, **options)
    finite = np.isfinite(found.validation_losses)
    assert finite[0] and not finite[-1]
    few = int(np.nanargmin(found.validation_losses)) + 1
    assert found.best.slope == fit(3 * X, epochs=few, optimiser=Descent(0.02)).model.slope


def test_the_best_model_outlives_a_training_that_fails():
    def endless(line, x, y, key):
        return jnp.where(line.slope > 1, jnp.inf, loss(line, x, y, key))

    with pytest.raises(learn.NotFinite) as stop:
        options = {"key": jr.key(0), "batch_size": 5, "validation": (X, 0 * X)}
        learn.fit(LINE, endless, DESCENT, (X, 3 * X), epochs=30, **options)
    assert stop.value.best.slope == fit(3 * X, epochs=1).model.slope < stop.value.model.slope


@pytest.mark.parametrize("held_out", [(X,), (X, X[1:]), (X[:0], X[:0]), (X, X[:, None])])
def test_validation_data_have_the_columns_of_the_data(held_out):
    with pytest.raises(ValueError, match="Give (the same c|columns of one l|one or more)"):
        fit(X, validation=held_out)


def test_a_fit_goes_on_with_its_best_model(tmp_path):
    options = {"optimiser": Descent(0.95), "batch_size": 7, "validation": (X[3:], 3 * X[3:])}
    straight = fit(3 * X, epochs=5, **options)
    for _ in range(2):  # the second call begins where the first one ended
        saved = fit(3 * X, epochs=5, checkpoint=Checkpoint(tmp_path / "c"), **options)
        assert saved.validation_losses.tolist() == straight.validation_losses.tolist()
        assert (saved.best.slope, saved.best.start) == (straight.best.slope, straight.best.start)


def synapses(network):
    return network.model.synapses


def counts_lost(network, x, y, key):
    del key
    return jnp.mean((network(x.T)[0] - y) ** 2)


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
def test_shared_data_stay_on_their_devices(monkeypatch, kind):
    """Each device has its rows in all epochs, and computes its share of each batch."""
    module = importlib.import_module("snpjax.learn.fit")
    mesh = jax.make_mesh((4,), ("rows",), axis_types=(getattr(AxisType, kind),))
    x = jnp.linspace(-1, 1, 24)
    data = [jax.device_put(own, NamedSharding(mesh, PartitionSpec("rows"))) for own in (x, 3 * x)]
    tasks, make = [], module._Task
    monkeypatch.setattr(module, "_Task", lambda *given: tasks.append(make(*given)) or tasks[-1])
    options = {"epochs": 2, "batch_size": 8, "key": jr.key(0), "where": lambda line: line}
    found = learn.fit(LINE, loss, DESCENT, data, validation=data, **options)
    columns = [*tasks[0].columns, *tasks[0].held_out]
    assert tasks[0].shardings == tuple(own.sharding for own in tasks[0].columns)
    assert [own.sharding.shard_shape(own.shape) for own in columns] == [(6,)] * 4
    chosen = jnp.arange(8)
    rows = [jax.jit(partial(module._rows, sharding=own.sharding))(chosen, own) for own in columns]
    assert [own.sharding.shard_shape(own.shape) for own in rows] == [(2,)] * 4
    odd = jax.jit(partial(module._rows, sharding=columns[0].sharding))(chosen[:6], columns[0])
    assert odd.sharding.is_fully_replicated and odd.tolist() == x[:6].tolist()
    assert data[0].sharding.mesh.axis_types == (getattr(AxisType, kind),)
    wanted = learn.fit(LINE, loss, DESCENT, (x, 3 * x), validation=(x, 3 * x), **options)
    assert found.best.slope.devices() == {jax.devices()[0]}
    np.testing.assert_allclose(found.model.slope, wanted.model.slope, rtol=1e-5)
    np.testing.assert_allclose(found.validation_losses, wanted.validation_losses, rtol=1e-5)


@pytest.mark.slow
def test_a_network_is_trained_by_optax():
    optax = pytest.importorskip("optax")
    network = learn.SpikingNetwork(
        (2, 6, 1),
        (learn.relay(2), "a{2,}/a^2 -> a", "a+/a -> a"),
        key=jr.key(0),
        steps=6,
        surrogate=learn.FastSigmoid(0.5, height=0.5),
    )
    x = np.asarray([[0, 0], [0, 2], [2, 0], [2, 2]] * 4, np.float32)
    y = 3 * np.float32(x[:, 0] != x[:, 1])  # no single layer can
    adam, options = optax.adam(0.1), {"epochs": 40, "key": jr.key(1), "batch_size": 16}
    with jax.numpy_dtype_promotion("standard"):  # which optax needs
        found = learn.fit(network, counts_lost, adam, (x, y), where=synapses, **options)
    assert found.losses.min() < 0.3 * found.losses[0]
    assert found.model.model.low.tolist() == network.model.low.tolist()
    quietly(learn.verify, found.model, x.T.astype(int))


def test_what_does_not_fit_in_memory_is_refused(free):
    with pytest.raises(NotEnoughMemory, match="21 rows of data and the losses of 1,000,000,0"):
        fit(X, epochs=10**12)

    def quadratic(line, x, y, key):
        del key
        table = line.slope * x[None, :, None] - y[None, None, :] * jnp.ones((99, 1, 1))
        return jnp.mean(jnp.sort(table, axis=0))

    options = {"epochs": 1, "batch_size": 20}
    data = X, X
    free(10**5)
    with pytest.raises(NotEnoughMemory, match="Batches of 20 rows need .* `batch_size=1?[0-9]`"):
        learn.fit(LINE, quadratic, DESCENT, data, key=jr.key(0), **options)
    free(10)
    with pytest.raises(NotEnoughMemory, match="10 are free. Give fewer rows or fewer `epochs`"):
        fit(X)
