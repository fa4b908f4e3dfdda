"""The likelihood of a histogram against the multinomial law of its exact expectation."""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multinomial

from snpjax import proliferation as pr
from tests.proliferation.test_calibrate import BINS, population


FEW = pr.Bins(1.0, 1000.0, 4)


def histogram(model, counts):
    """A histogram on the axis of a model, with cells in some of its channels."""
    axis = model.initial.fluorescence
    cells = np.zeros(axis.size, int)
    cells[: len(counts)] = counts
    return pr.Histogram(axis, cells)


def drawn(model, cells, seed):
    table = pr.expected(model).table()
    weights = np.zeros(model.initial.fluorescence.size)
    place = np.searchsorted(model.initial.fluorescence, table.fluorescence)
    np.add.at(weights, place, table.total)
    rng = np.random.default_rng(seed)
    return pr.Histogram(model.initial.fluorescence, rng.multinomial(cells, weights / weights.sum()))


@pytest.fixture(scope="module")
def measured():
    with jax.enable_x64(True):
        return pr.measurement(population(), drawn(population(), 500, 0), bins=BINS)


@pytest.fixture(scope="module")
def value():
    return jax.jit(jax.value_and_grad(pr.log_likelihood, argnums=1))


def test_it_is_the_multinomial_law(measured, value):
    measurement, parameters = measured
    mean, _ = pr.expected(population()).binned(BINS)
    expected = multinomial.logpmf(
        np.asarray(measurement.counts), 500, np.maximum(mean, 0) / np.maximum(mean, 0).sum()
    )
    with jax.enable_x64(True):
        assert float(value(measurement, parameters)[0]) == pytest.approx(expected, rel=1e-9)
        # The probabilities of all ways to measure three cells in four bins.
        model = population()
        mean, _ = pr.expected(model).binned(FEW)
        few, parameters = pr.measurement(model, model.initial, bins=FEW)
        ways = [x for x in itertools.product(range(4), repeat=4) if sum(x) == 3]
        total, log_likelihood = 0.0, jax.jit(pr.log_likelihood)
        for counts in ways:
            own = replace(few, counts=jnp.asarray(counts, float), background=jnp.asarray(0.01))
            total += np.exp(log_likelihood(own, parameters))
    assert total == pytest.approx(1, rel=1e-9)


def test_gradients_are_finite_differences(measured, value):
    measurement, parameters = measured
    with jax.enable_x64(True):
        slopes = value(measurement, parameters)[1]
        for name, index, step in [
            ("proportions", 0, 1e-6),
            ("first", 1, 1e-4),
            ("second", 1, 1e-4),
            ("duration", None, 1e-4),
        ]:
            own = getattr(parameters, name)
            shift = jnp.full_like(own, step) if index is None else jnp.zeros_like(own)
            shift = shift if index is None else shift.at[index].set(step)
            ahead, behind = (
                value(measurement, replace(parameters, **{name: own + sign * shift}))[0]
                for sign in (1, -1)
            )
            found = getattr(slopes, name)
            found = found if index is None else found[index]
            assert float(found) == pytest.approx(float(ahead - behind) / (2 * step), rel=1e-5)


def test_what_is_far_from_the_data_has_finite_gradients(measured, value):
    measurement, parameters = measured
    with jax.enable_x64(True):
        far = replace(
            parameters,
            proportions=jnp.asarray([1.0, 0.0]),
            first=jnp.asarray([1.0, 500.0]),
            second=jnp.asarray([1.0, 3.0]),
        )
        found, slopes = value(measurement, far)
    assert -np.inf < float(found) < -1000
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(slopes))


def test_cells_that_the_model_cannot_have(value):
    model = population()
    stray = histogram(model, [3])
    with pytest.raises(ValueError, match="3 of 3 measured cells are in bins.*`background`"):
        pr.measurement(model, stray, bins=BINS)
    with jax.enable_x64(True):
        measurement, parameters = pr.measurement(model, stray, bins=BINS, background=0.01)
        found, slopes = value(measurement, parameters)
    assert float(found) == pytest.approx(3 * np.log(0.01 / BINS.num), rel=1e-9)
    assert not np.asarray(slopes.proportions).any() and not np.asarray(slopes.first).any()
    with pytest.raises(ValueError, match="`background` is 1"):
        pr.measurement(model, stray, bins=BINS, background=1)
    other = pr.Histogram(2 * stray.fluorescence, stray.counts)
    with pytest.raises(ValueError, match="the axes differ"):
        pr.measurement(model, other, bins=BINS)
