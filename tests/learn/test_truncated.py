"""Truncated backpropagation: its values, its gradients and its memory."""

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn


STEPS = 7
TARGETS = jnp.asarray(np.random.default_rng(0).integers(0, 3, (STEPS, 2, 3)), jnp.float32)
INPUT = {"x": jnp.asarray([[1.0, 0, 2], [2, 1, 0], [0, 1, 1], [1, 2, 0], [3, 1, 1]])}


def cycle():
    """Two neurons that excite each other, one with a delay, and two outputs; x takes the input."""
    neurons = [
        snp.Neuron("x", 2, ["a+/a -> a"]),
        snp.Neuron("y", 1, ["a{2,}/a^2 -> a;1", "a -> lambda"]),
        snp.Neuron("p", 0, ["a{3,}/a^2 -> a"]),
        snp.Neuron("q", 0),
    ]
    arcs = [("x", "y", 2), ("y", "x", 1), ("x", "p", 1), ("y", "p", 2), ("x", "q", 1), ("y", "q")]
    system = snp.SpikingSystem(neurons, arcs, output=["p", "q"], input={"x": [0]})
    return learn.relax(system, surrogate=learn.FastSigmoid(0.5, height=0.5))


def loss(response, targets):
    """Of each step's emissions, and of what is left at the end of the window."""
    return jnp.sum((response.trains - targets) ** 2) + jnp.sum(response.spikes * targets[-1])


@eqx.filter_jit
def _step(model, constants, state, arriving):
    return learn.step(model, constants, state, snp.FirstChoice(), arriving)


def reference(model, window):
    """Step by step, with no gradient from one window to the next."""
    constants = learn.constants_of(model)
    size = model.program.num_neurons
    state = learn.initial_state(jnp.broadcast_to(constants.initial[:, None], (size, 3)))
    total, sent = 0.0, []
    for t in range(STEPS):
        arriving = jnp.zeros((size, 3))
        if t < 5:
            arriving = arriving.at[0].set(INPUT["x"][t])
        state, emitted = _step(model, constants, state, arriving)
        sent.append(emitted.emissions[2:4])
        if (t + 1) % window == 0 or t == STEPS - 1:
            response = learn.Response(jnp.stack(sent), state.spikes[2:4])
            total, sent = total + loss(response, TARGETS[t + 1 - len(sent) : t + 1]), []
            state = lax.stop_gradient(state)
    return total


def truncated(model, window, spikes=None):
    options = {"rows": [TARGETS], "input": INPUT, "spikes": spikes}
    return learn.truncated_loss(model, loss, steps=STEPS, window=window, **options)


def slopes_of(f, model):
    value, slopes = eqx.filter_jit(eqx.filter_value_and_grad(f))(model)
    return value, jax.tree.leaves(slopes)


@pytest.mark.parametrize("window", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_gradients_stop_between_windows(window):
    model = cycle()
    value, slopes = slopes_of(lambda m: truncated(m, window), model)
    # A step is compiled once, instead of all of them in one program.
    wanted, expected = eqx.filter_value_and_grad(reference)(model, window)
    expected = jax.tree.leaves(expected)
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    for x, y in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    assert sum(bool(jnp.any(x != 0)) for x in slopes) >= 4


@pytest.mark.slow
def test_one_window_is_full_backpropagation():
    """That of `run`; and truncation changes the gradient."""
    spikes = jnp.broadcast_to(jnp.asarray([3.0, 1, 0, 2])[:, None], (4, 3))

    def full(model):
        found = learn.run(model, steps=STEPS, input=INPUT, spikes=spikes)
        return loss(learn.Response(found.outputs, found.spikes[2:4]), TARGETS)

    value, expected = slopes_of(full, cycle())
    same, found = slopes_of(lambda m: 3 * truncated(m, STEPS, spikes), cycle())
    assert 3 * value == same
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, 3 * y, rtol=1e-4, atol=1e-5)
    _, short = slopes_of(lambda m: 3 * truncated(m, 2, spikes), cycle())
    assert any(jnp.any(jnp.abs(x - y) > 0.1) for x, y in zip(short, found, strict=True))


def test_systems_with_own_input_run_on_several_paths():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a+/a -> a"])], [], output=["x"], input={"x": [1, 0, 2]}
    )
    model = learn.relax(system)
    found = learn.run(model, steps=6, paths=2)
    assert found.outputs[:, 0].T.tolist() == 2 * [[0, 1, 0, 1, 1, 0]]

    def sent(response):
        return jnp.sum(response.trains)

    spikes = jnp.asarray([[1.0, 3]])
    options = {"steps": 6, "window": 4, "spikes": spikes}
    assert eqx.filter_jit(learn.truncated_loss)(model, sent, **options) == 4 + 6


def bytes_of(steps, window):
    """What the gradient of a run takes between its arguments and its result."""
    made = learn.SpikingNetwork(
        (8, 16, 4),
        (learn.SENDER, "a{2,}/a^2 -> a", "a{2,}/a^2 -> a"),
        key=jr.key(0),
        steps=steps,
        projections=[(0, 1), (1, 1), (1, 2)],
    )
    spikes = made.initial_spikes(jnp.full((8, 32), 3.0))
    targets = jnp.zeros((steps, 4))
    weights, rest = eqx.partition(made.model, eqx.is_inexact_array)

    def off(response, targets):
        return jnp.sum((response.trains - targets[..., None]) ** 2)

    def total(weights, targets):
        options = {"spikes": spikes, "rows": [targets], "window": window}
        return learn.truncated_loss(eqx.combine(weights, rest), off, steps=steps, **options)

    program = jax.jit(jax.grad(total)).lower(weights, targets).compile()
    stats = program.memory_analysis()
    assert stats is not None
    return stats.temp_size_in_bytes


@pytest.mark.slow
def test_memory_does_not_grow_with_the_steps():
    short, long, full = bytes_of(16, 8), bytes_of(1024, 8), bytes_of(1024, 1024)
    assert long < 1.05 * short < full / 4


def test_windows_and_rows_fit_the_run():
    model = cycle()
    for window in (0, STEPS + 1):
        with pytest.raises(ValueError, match=f"Pass 1 to {STEPS}, the number of steps"):
            learn.truncated_loss(model, loss, steps=STEPS, window=window)
    with pytest.raises(ValueError, match=f"has {STEPS} steps"):
        learn.truncated_loss(model, loss, steps=STEPS, window=2, rows=[TARGETS[:3]])


def test_smooth_systems_have_no_delays():
    system = snp.SpikingSystem([snp.Neuron("x", 2, ["a+/a -> a;1"])], [], output=["x"])
    model = learn.relax(system, surrogate=learn.Smooth())
    with pytest.raises(ValueError, match="a neuron is closed or not. Choose another surrogate"):
        learn.run(model, steps=3)
    with pytest.raises(ValueError, match="a neuron is closed or not. Choose another surrogate"):
        learn.truncated_loss(model, lambda response: jnp.sum(response.trains), steps=3, window=1)
