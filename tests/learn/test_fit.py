"""Training in minibatches: what is trained, what is compiled, and where it stops."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from snpjax import learn
from snpjax_formats import NotEnoughMemory


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
    """One sample is NaN: the step is the one that drew it, and the model the one before."""
    y = 3 * X + 1
    y[7] = np.nan
    with pytest.raises(learn.NotFinite, match=r"The loss of step \d+ is nan and the grad") as stop:
        fit(y, epochs=9, batch_size=3)
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
    with pytest.raises(ValueError, match=r"have \[20, 21\] rows"):
        fit(X[1:])
    with pytest.raises(ValueError, match="`batch_size` is 22"):
        fit(X, batch_size=22)
    with pytest.raises(ValueError, match="nothing to train"):
        fit(X, where=lambda line: ())


def synapses(network):
    return network.model.synapses


def counts_lost(network, x, y, key):
    del key
    return jnp.mean((network(x.T)[0] - y) ** 2)


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
