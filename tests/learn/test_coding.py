"""Encoders against loops over steps, and decoders of populations."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snpjax import learn


def test_even_trains_are_as_regular_as_integers_allow():
    counts = jnp.asarray([[0.0, 1, 3], [7, 8, 17]])
    found = learn.even_train(counts, 7)
    for t in range(7):
        so_far = np.sum(np.asarray(found)[: t + 1], axis=0)
        assert so_far.tolist() == [[(t + 1) * int(k) // 7 for k in row] for row in counts]
    assert set(np.unique(found[:, 0])) == {0.0, 1.0}
    slopes = jax.grad(lambda k: learn.even_train(k, 7).sum())(counts)
    np.testing.assert_allclose(slopes, 1, rtol=1e-6)


def signal(seed=0, steps=12):
    """Multiples of 1/4, so that all sums are exact."""
    moves = np.random.default_rng(seed).integers(-6, 7, (steps, 2, 3)) / 4
    return np.asarray(np.cumsum(moves, axis=0))


def test_deltas_are_changes_between_steps():
    values, threshold = signal(), 1.0
    found = np.asarray(learn.delta_train(jnp.asarray(values), threshold))
    assert found.shape == (12, 4, 3)
    rises, falls = np.zeros(values.shape), np.zeros(values.shape)
    for t in range(1, 12):
        rises[t] = values[t] - values[t - 1] >= threshold
        falls[t] = values[t - 1] - values[t] >= threshold
    assert rises.any() and falls.any()
    assert found.tolist() == np.concatenate([rises, falls], axis=1).tolist()
    signed = learn.delta_train(jnp.asarray(values), threshold, signed=True)
    assert signed.tolist() == (rises - falls).tolist()


def test_deltas_since_the_last_spike_follow_the_signal():
    values, threshold = signal(1), 0.5
    found = np.asarray(learn.delta_train(jnp.asarray(values), threshold, since_spike=True))
    level: np.ndarray = np.array(values[0])
    wanted = np.zeros_like(found)
    for t, row in enumerate(values):
        for i, p in np.ndindex(row.shape):
            while row[i, p] - level[i, p] >= threshold:
                level[i, p] += threshold
                wanted[t, i, p] += 1
            while level[i, p] - row[i, p] >= threshold:
                level[i, p] -= threshold
                wanted[t, 2 + i, p] += 1
    assert found.tolist() == wanted.tolist()
    assert found.max() > 1
    followed = values[0] + threshold * np.cumsum(found[:, :2] - found[:, 2:], axis=0)
    assert np.abs(followed - values).max() < threshold
    assert (np.minimum(found[:, :2], found[:, 2:]) == 0).all()


@pytest.mark.parametrize("given", [(jnp.zeros((3, 1)), 0.0), (jnp.zeros(3), 1.0)])
def test_deltas_need_a_threshold_and_inputs(given):
    with pytest.raises(ValueError, match="Pass a threshold above 0, and a signal of shape"):
        learn.delta_train(*given)


def test_latencies():
    values = jnp.asarray([-1.0, 0, 0.2, 0.5, 0.9, 1, 3])
    found = learn.latencies(values, 11)
    assert found.tolist() == [0, 0, 9, 6, 2, 1, 1]
    assert learn.latencies(values, 11, threshold=0.5).tolist() == [0, 0, 0, 0, 3, 1, 1]
    assert learn.latency_train(found, 11).sum(axis=0).tolist() == [0, 0, 1, 1, 1, 1, 1]
    charged = learn.latencies(values, 6, threshold=0.15, time_constant=5.0)
    wanted = []
    for value in np.minimum(np.asarray(values), 1):
        reached = [t for t in range(1, 7) if value * (1 - math.exp(-t / 5.0)) >= 0.15]
        wanted.append(min(reached, default=0))
    assert charged.tolist() == wanted and 0 < wanted[3] < 6 and wanted[2] == 0


@pytest.mark.parametrize(
    "options",
    [{"threshold": 1.0}, {"threshold": -0.1}, {"time_constant": 2.0}]
    + [{"threshold": 0.5, "time_constant": 0.0}],
)
def test_latencies_need_a_threshold_that_is_reached(options):
    with pytest.raises(ValueError, match="with a time constant, both above 0"):
        learn.latencies(jnp.zeros(2), 5, **options)


def test_populations_respond_by_their_distance():
    values = jnp.asarray([[0.0, 0.5], [1.0, 9.0]])
    centres = jnp.linspace(0, 1, 3)
    found = learn.population_counts(values, centres, width=0.25, most=8)
    wanted = [
        [round(8 * math.exp(-(((float(x) - c) / 0.25) ** 2) / 2)) for x in row]
        for row in values
        for c in (0.0, 0.5, 1.0)
    ]
    assert found.tolist() == wanted and found[:3, 0].tolist() == [8, 1, 0]
    slope = jax.grad(lambda x: learn.population_counts(x, centres, width=0.25, most=8)[1, 0])
    np.testing.assert_allclose(slope(values)[0, 0], 8 * math.exp(-2) * 8, rtol=1e-5)
    with pytest.raises(ValueError, match="standard deviation above 0"):
        learn.population_counts(values, centres, width=0.0, most=8)


def test_neurons_of_a_class_are_added():
    scores = jnp.arange(12.0).reshape(6, 2)
    assert learn.by_class(scores, 3).tolist() == [[2, 4], [10, 12], [18, 20]]
    with pytest.raises(ValueError, match="6 output neurons cannot be divided among 4 classes"):
        learn.by_class(scores, 4)


def test_the_first_spike_has_the_derivative_of_its_step():
    """Counted by removing the spike: one step later for every step up to the next one."""
    outputs = jnp.asarray([0.0, 1, 0, 0, 1])[:, None]
    slopes = jax.grad(lambda x: learn.first_spike(x).sum())(outputs)[:, 0]
    # Without it the first spike would come 3 steps later. A spike in step 1 would come 1 earlier.
    assert slopes.tolist() == [-1, -3, 0, 0, 0]
    silent = jax.grad(lambda x: learn.first_spike(x).sum())(jnp.zeros((4, 1)))[:, 0]
    assert silent.tolist() == [-4, -3, -2, -1]


def test_the_batch_may_be_first():
    counts, values = jnp.asarray([[0.0, 1, 3], [7, 8, 17]]), jnp.asarray(signal())
    moved = jnp.moveaxis(values, -1, 0)
    first = {"batch_first": True}
    found = learn.even_train(counts, 7, **first)
    assert jnp.moveaxis(found, 1, 0).tolist() == learn.even_train(counts, 7).tolist()
    for options in ({}, {"signed": True}, {"since_spike": True}):
        found = learn.delta_train(moved, 1.0, **options, **first)
        wanted = learn.delta_train(values, 1.0, **options)
        assert jnp.moveaxis(found, 0, -1).tolist() == wanted.tolist()
    centres, fields = jnp.linspace(0, 1, 3), {"width": 0.5, "most": 9}
    wanted = learn.population_counts(values[0], centres, **fields)
    found = learn.population_counts(moved[:, 0], centres, width=0.5, most=9, batch_first=True)
    assert found.T.tolist() == wanted.tolist()
    assert learn.by_class(found, 2, **first).T.tolist() == learn.by_class(wanted, 2).tolist()


def test_products_beyond_32_bits_are_refused():
    with pytest.raises(ValueError, match="too much for 32 bits"):
        learn.even_train(jnp.asarray([50_000.0]), 100_000)
    found = learn.even_train(jnp.asarray([20_000.0]), 100_000)
    assert int(jnp.sum(found)) == 20_000


@pytest.mark.parametrize("count", [6.0, -1.0, np.nan])
def test_counts_that_do_not_fit_a_train_are_refused(count):
    """Where they are not traced."""
    counts = jnp.asarray([1.0, count])
    with pytest.raises(ValueError, match=f"`counts` is {count:g} in row 1, .* `steps` is 5"):
        learn.count_train(counts, 5)
    assert jax.jit(lambda x: learn.count_train(x, 5))(counts).shape == (5, 2)
