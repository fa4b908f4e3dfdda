"""Real-valued relatives: the formulas of the papers in NumPy."""

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from snpjax import learn


INPUTS, HIDDEN, STEPS = 3, 4, 5
TRAIN = np.random.default_rng(0).normal(size=(STEPS, INPUTS))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def doubled(cell):
    """The parameters of a cell in NumPy, of 64 bits."""
    return {k: np.asarray(v, np.float64) for k, v in vars(cell).items() if eqx.is_array(v)}


def test_lstm_snp():
    cell = learn.LSTMSNPCell(INPUTS, HIDDEN, key=jr.key(0))
    train = jnp.asarray(TRAIN, jnp.float32)
    _, outputs = lax.scan(lambda u, x: cell(x, u), jnp.full(HIDDEN, 0.5), train)
    own, u = doubled(cell), np.full(HIDDEN, 0.5)
    for x, output in zip(TRAIN, np.asarray(outputs), strict=True):
        r, c, o, a = np.split(own["weight_in"] @ x + own["weight_state"] @ u + own["bias"], 4)
        u = sigmoid(r) * u - sigmoid(c) * np.tanh(a)
        np.testing.assert_allclose(output, sigmoid(o) * np.tanh(a), rtol=1e-5, atol=1e-6)


def test_gsnp():
    cell = learn.GSNPCell(INPUTS, HIDDEN, key=jr.key(1))
    state = jnp.full(HIDDEN, 0.5), jnp.full(HIDDEN, -0.25)
    own, u, h = doubled(cell), *(np.asarray(x, np.float64) for x in state)
    for x in TRAIN:
        state = cell(jnp.asarray(x, jnp.float32), state)
        total = own["weight_in"] @ x + own["weight_state"] @ u + own["bias"]
        r, c = np.split(sigmoid(total[: 2 * HIDDEN] + own["weight_out"] @ h), 2)
        a = np.tanh(total[2 * HIDDEN :])
        u, h = r * u - c * a, a
        np.testing.assert_allclose(np.stack(state), [u, h], rtol=1e-5, atol=1e-6)


def test_conv_snp_activates_before_it_convolves():
    layer = learn.ConvSNP(1, 2, 3, 2, key=jr.key(2), activation=jnp.tanh)
    x = np.random.default_rng(1).normal(size=(2, 6))
    weight, bias = (
        np.asarray(w, np.float64) for w in (layer.convolution.weight, layer.convolution.bias)
    )
    windows = np.stack([np.tanh(x)[:, i : i + 2] for i in range(5)], axis=-1)
    expected = np.einsum("oik,ikt->ot", weight, windows) + bias
    found = layer(jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_nonlinear_snp():
    cell = learn.NonlinearSNP(INPUTS, key=jr.key(3), consume=jnp.sin)
    state = jnp.asarray([0.2, -0.4, 1.0])
    weight, x = np.asarray(cell.weight, np.float64), np.asarray(state, np.float64)
    for sent in (*TRAIN, None):
        state = cell(None if sent is None else jnp.asarray(sent, jnp.float32), state)
        x = x - np.sin(x) + weight @ np.tanh(x) + (0 if sent is None else sent)
        np.testing.assert_allclose(state, x, rtol=1e-5, atol=1e-6)


def test_cells_are_trained_and_refused():
    cell = learn.LSTMSNPCell(INPUTS, HIDDEN, key=jr.key(0), use_bias=False)
    train = jnp.asarray(TRAIN, jnp.float32)

    def loss(cell):
        return jnp.sum(lax.scan(lambda u, x: cell(x, u), jnp.zeros(HIDDEN), train)[1] ** 2)

    assert cell.bias is None
    slopes = jax.tree.leaves(eqx.filter_grad(loss)(cell))
    assert len(slopes) == 2 and all(jnp.any(x != 0) for x in slopes)
    with pytest.raises(ValueError, match="Give sizes of 1 or more"):
        learn.GSNPCell(0, HIDDEN, key=jr.key(0))
