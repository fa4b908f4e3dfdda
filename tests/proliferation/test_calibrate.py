"""Calibration: known answers are found, errors are honest, and what makes no sense is refused."""

import dataclasses
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snpjax import proliferation as pr
from snpjax.io.proliferation import calibration_record
from snpjax.proliferation.distance import pairs_of
from snpjax.proliferation.search import search_of
from snpjax.proliferation.uncertainty import squared_distance
from snpjax_formats import NotEnoughMemory
from tests.proliferation.test_proliferation import AXIS, CASES
from tests.support.helpers import many, needs_shared


CALIBRATE = sys.modules["snpjax.proliferation.calibrate"]
TRUTH = (pr.CellType("rest", 0.25), pr.CellType("go", 0.75, pr.Normal(38.0, 12.0)))
GUESS = (pr.CellType("rest", 0.6), pr.CellType("go", 0.4, pr.Normal(60.0, 20.0)))
BOUNDS = {"go": {"mean": (20.0, 120.0), "sd": (4.0, 40.0)}}
BINS = pr.Bins(1.0, 1000.0, 28)


def initial() -> pr.Histogram:
    weights = np.exp(-(((np.arange(AXIS.size) - 29) / 1.5) ** 2))
    return pr.Histogram(AXIS, np.round(weights / weights.sum() * 20_000).astype(int))


def population(types=TRUTH) -> pr.ProliferationModel:
    return pr.ProliferationModel(initial(), types, duration=120.0, phi_min=1.5)


def on_axis(
    table: pr.SparseHistogram, cells: int, rng: np.random.Generator | None = None
) -> pr.Histogram:
    """The cells of a table on the axis; exactly this many of them, drawn where there is `rng`."""
    counts = np.zeros(AXIS.size)
    counts[np.searchsorted(AXIS, table.fluorescence)] = table.total
    if rng is None:
        return pr.Histogram(AXIS, np.round(counts / counts.sum() * cells).astype(int))
    return pr.Histogram(AXIS, rng.multinomial(cells, counts / counts.sum()))


def test_the_values_behind_the_data_are_found():
    observed, calls = on_axis(pr.expected(population()).table(), 10**9), []
    fit = pr.calibrate(
        population(GUESS),
        observed,
        bins=BINS,
        bounds=BOUNDS,
        starts=2,
        progress=lambda *call: calls.append(call),
    )
    assert calls == [(1, 2), (2, 2)]
    assert fit.values == pytest.approx({"x1": 0.25, "go mean": 38.0, "go sd": 12.0}, rel=1e-4)
    assert fit.distance < 1 and fit.active == () and len(fit.starts) == 2
    assert fit.model.types[1].law == pr.Normal(fit.values["go mean"], fit.values["go sd"])
    # The gradient is that of differences, along each number.
    with jax.enable_x64(True):
        z = jnp.asarray([0.5, 0.3, 0.2])
        _, gradient = CALIBRATE._value_and_gradient(fit.fit, z)
        steps = 1e-6 * jnp.eye(3)
        ahead, behind = (CALIBRATE._values(fit.fit, z[None] + s) for s in (steps, -steps))
        assert np.allclose((ahead - behind) / 2e-6, gradient, rtol=1e-4)


@pytest.mark.slow
def test_errors_cover_what_was_drawn():
    """10 experiments: standardised errors of the estimates have the variance 1."""
    rng = np.random.default_rng(4)
    sample = pr.simulate(population(), jax.random.key(4), runs=10)
    scores = []
    for run in range(10):
        observed = on_axis(sample.table(run), 5_000, rng)
        fit = pr.calibrate(population(), observed, bins=BINS, bounds=BOUNDS, starts=1)
        errors = pr.uncertainty(fit)
        truth = np.array([0.25, 38.0, 12.0])
        scores.append((errors.values - truth) / errors.standard_errors)
        assert np.all(errors.standard_errors >= 0.99 * errors.multinomial_errors)
    scores = np.array(scores)
    assert np.abs(scores.mean(0)).max() < 4 / np.sqrt(10)
    assert 0.3 < (scores**2).mean() < 2.5  # 30 correlated squares
    goodness = pr.goodness_of_fit(fit)
    assert goodness.p_value > 1e-4
    assert np.allclose(np.diag(errors.correlations), 1)
    assert errors.undetermined_types == ()
    low, high = errors.intervals()["go proportion"]
    assert low < 0.75 < high
    low, high = errors.intervals()["go mean"]
    assert low < fit.values["go mean"] < high
    profile = pr.profile(fit, "go mean", num=3)
    low_, high_ = profile.interval()
    assert abs((high_ - low_) / (high - low) - 1) < 0.25 and profile.loss.min() == 0
    with pytest.raises(ValueError, match="there is no 'x9'"):
        pr.profile(fit, "x9")


@pytest.mark.slow
def test_another_start_rule_does_not_fit():
    sample = pr.simulate(population(), jax.random.key(4))
    observed = on_axis(sample.table(), 5_000, np.random.default_rng(4))
    wrong = pr.ProliferationModel(
        initial(), GUESS, duration=120.0, phi_min=1.5, start=pr.Start.RESIDUAL
    )
    bounds = {"go": {"mean": (80.0, 120.0)}}
    with pytest.warns(pr.GuessOutsideBounds, match="starts at 80"):
        fit = pr.calibrate(wrong, observed, bins=BINS, bounds=bounds, starts=1)
    assert fit.active and pr.goodness_of_fit(fit).p_value < 1e-4


def test_numbers_on_a_bound_are_named_and_a_model_that_does_not_fit(monkeypatch):
    observed = on_axis(pr.expected(population()).table(), 10**6)
    bounds = {"go": {"mean": (45.0, 120.0), "sd": (4.0, 40.0)}}
    fit = pr.calibrate(population(GUESS), observed, bins=BINS, bounds=bounds, starts=1)
    assert "go mean" in fit.active and fit.values["go mean"] == 45.0
    with pytest.warns(pr.PoorFit, match="does not fit .* intervals are not to be trusted"):
        errors = pr.uncertainty(fit)
    assert errors.standard_errors[errors.names.index("go mean")] == 0
    assert errors.intervals()["go mean"] is None
    assert calibration_record(fit, errors)["intervals_95"]["go mean"] is None
    assert "on a bound: go mean" in repr(fit)
    goodness = pr.goodness_of_fit(fit)
    assert goodness == errors.goodness and goodness.is_rejected and goodness.p_value < 1e-3
    assert errors.overdispersion == goodness.statistic / goodness.degrees > 2
    record = calibration_record(fit, errors)
    assert next(iter(record.items())) == ("warning", goodness.advice)
    assert record["overdispersion"] == errors.overdispersion
    # Nothing else is widened than what is rejected.
    monkeypatch.setattr(sys.modules["snpjax.proliferation.uncertainty"], "REJECTED", 0.0)
    plain = pr.uncertainty(fit)
    assert plain.overdispersion == 1 and "warning" not in calibration_record(fit, plain)
    width = np.sqrt(errors.overdispersion)
    assert np.allclose(errors.covariance, plain.covariance * width**2)
    assert np.allclose(errors.proportion_errors, plain.proportion_errors * width)
    assert np.array_equal(errors.multinomial_errors, plain.multinomial_errors)
    values = np.array([0.0, 1.0, 2.0])
    profile = pr.Profile("go sd", values, 4 * (values - 1) ** 2, np.zeros((3, 1)))
    wide = dataclasses.replace(profile, overdispersion=1.04)
    assert wide.interval()[1] > profile.interval()[1]


def test_cells_where_the_model_has_none_are_a_poor_fit():
    statistic, residuals = squared_distance(
        np.array([10.0, 0.0, 10.0]), np.diag([10.0, 0.0, 10.0]), np.array([9.0, 9.0, 9.0])
    )
    assert statistic == np.inf and residuals == 2


def test_types_without_cells_are_named():
    """Their means may be anything between the bounds."""
    cells = (pr.CellType("rest", 1.0), pr.CellType("go", 0.0, pr.Normal(38.0, 12.0)))
    observed = on_axis(pr.expected(population(cells)).table(), 10**6)
    fit = pr.calibrate(population(GUESS), observed, bins=BINS, bounds=BOUNDS, starts=1)
    errors = pr.uncertainty(fit)
    assert errors.undetermined_types == ("go",)
    assert errors.standard_errors.tolist()[1:] == [np.inf, np.inf]
    found = errors.intervals()
    assert found["go mean"] == (20.0, 120.0) and found["go sd"] == (4.0, 40.0)
    assert found["go proportion"][1] < 1e-3 and found["rest proportion"][0] > 0.999
    assert np.isfinite(errors.correlations).all()
    record = calibration_record(fit, errors)
    assert record["undetermined_types"] == ["go"]
    assert json.loads(json.dumps(record, allow_nan=False))["standard_errors"]["go mean"] is None


@pytest.mark.slow
@pytest.mark.parametrize("order", [("fast", "rest", "slow"), ("rest", "fast", "slow")])
def test_shares_that_cannot_be_told_apart_have_no_interval(order, monkeypatch):
    """Cells that divide after the end look like those that never do."""
    cells = {
        "fast": pr.CellType("fast", 0.5, pr.Normal(38.0, 12.0)),
        "rest": pr.CellType("rest", 0.3),
        "slow": pr.CellType("slow", 0.2, pr.Normal(600.0, 20.0)),
    }
    types = [cells[name] for name in order]
    observed = on_axis(pr.expected(population(types)).table(), 10**6)
    bounds = {"slow": {"mean": (500.0, 700.0), "sd": (10.0, 40.0)}, "fast": BOUNDS["go"]}
    fit = pr.calibrate(population(types), observed, bins=BINS, bounds=bounds, starts=1)
    errors = pr.uncertainty(fit)
    found = errors.intervals()
    assert errors.undetermined_types == ("slow",)
    assert found["rest proportion"] == found["slow proportion"] == (0.0, 1.0)
    low, high = found["fast proportion"]
    assert 0.49 < low < 0.5 < high < 0.51
    assert 37 < found["fast mean"][0] < 38 < found["fast mean"][1] < 39
    # Three numbers are determined: the share of fast, its mean and sd. The information of before
    # says so, and is not computed again.
    monkeypatch.delattr(sys.modules["snpjax.proliferation.uncertainty"], "_with_slopes")
    groups = CALIBRATE.pooled(fit.observed)
    assert pr.goodness_of_fit(fit).degrees == int(groups[-1]) - 3


@pytest.mark.slow
def test_the_exact_covariance_finds_it_too():
    observed = on_axis(pr.expected(population()).table(), 10**6)
    fit = pr.calibrate(
        population(),
        observed,
        bins=BINS,
        bounds=BOUNDS,
        starts=1,
        objective=pr.Objective.GAUSSIAN,
    )
    assert fit.values == pytest.approx({"x1": 0.25, "go mean": 38.0, "go sd": 12.0}, rel=0.01)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bounds": {"og": {}}}, "'og': there is no such type (the types are 'rest'"),
        ({"bounds": {"go": {"mean": (9, 3)}}}, "bounds of 'go' mean: 9 to 3"),
        ({"bounds": {"go": {"shape": (1, 3)}}}, "bounds of 'go': there is no shape"),
        ({"bounds": {"go": {"maen": (1, 3)}}}, "there is no maen (did you mean 'mean'?)"),
        ({"starts": 0}, "`starts` is 0"),
        ({"bins": pr.Bins(1.0, 100.0)}, "cells are above the last edge, 100"),
        ({"observed": pr.Histogram([1.0, 2.0], [1, 1])}, "the axes differ: the initial"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, said):
    arguments = {"observed": initial(), "bins": BINS, **changes}
    with pytest.raises(ValueError) as error:
        pr.calibrate(population(), **arguments)
    assert said in str(error.value)


def test_default_bounds_include_the_values_of_the_model():
    def bounds_of(law, bounds=None, sd_floor=None) -> list[tuple[float, float]]:
        space = search_of(population((pr.CellType("go", 1.0, law),)), bounds, sd_floor)
        pairs = list(zip(space.lower.tolist(), space.upper.tolist(), strict=True))
        assert all(low < high for low, high in pairs)
        return pairs

    usual = [(15.0, 252.0), (1.5, 15.0)]
    assert bounds_of(pr.Normal(60.0, 15.0)) == usual
    assert bounds_of(pr.Normal(60.0, 22.0)) == [usual[0], (1.5, 44.0)]
    assert bounds_of(pr.Normal(10.0, 1.0)) == [(5.0, 252.0), (0.5, 15.0)]
    assert bounds_of(pr.Normal(300.0, 10.0)) == [(15.0, 600.0), usual[1]]
    assert bounds_of(pr.Gamma(40.0, 1.0)) == [(6.0, 80.0), (0.5, 10.0)]
    with pytest.warns(pr.GuessOutsideBounds, match="'go' sd, 22, is outside its bounds, 1.5 to 12"):
        assert bounds_of(pr.Normal(60.0, 22.0), {"go": {"sd": (1.0, 12.0)}})[1] == (1.5, 12.0)
    with pytest.warns(pr.GuessOutsideBounds, match="and the search starts at 4 "):
        assert bounds_of(pr.Normal(60.0, 1.0), sd_floor=4.0)[1] == (4.0, 15.0)


def test_types_without_spread_are_not_calibrated():
    fixed = [pr.CellType("a", 1.0, pr.Fixed(40.0))]
    with pytest.raises(ValueError, match="has a fixed division time"):
        pr.calibrate(population(fixed), initial(), bins=BINS)


# ---- published data


def published(number: int, start: str = "async") -> tuple[pr.ProliferationModel, dict]:
    from snpjax.io.proliferation import read_histogram, read_model

    folder = CASES / "histograms"
    file = read_model(CASES / "models" / f"model{number}.json")
    first = read_histogram(folder / "AML9_Exp3_t10d_UT1_BM_GFPpos.txt")
    return file.model(first, start=pr.Start(start)), dict(file.bounds)


@needs_shared
@pytest.mark.slow
def test_distances_and_gradient_of_the_published_models():
    from snpjax.io.proliferation import read_histogram

    cases = json.loads((CASES / "calibration.json").read_text())
    rows = {
        (row["model"], row["start"]): row
        for row in cases["shipped_models_hd"]
        if row["bins"] == 100
    }
    target = read_histogram(CASES / cases["pairs"][0]["target"])
    bins = pr.Bins()
    measured = bins.count(target.fluorescence, target.counts)
    assert measured.tolist() == cases["target_counts_rule_C"]["DOX3_100"]
    model, bounds = published(3)
    mean, _ = pr.expected(model).binned(bins)
    distance, normalised = pr.hellinger(mean, measured)
    wanted = rows["model3", "async"]["train"]
    assert abs(distance - wanted[0]) < 2e-4 and abs(normalised - wanted[1]) < 2e-6
    # HD with respect to x1, x2 and the means and sds; the published second share is of slow cells.
    fit = pr.calibrate(model, target, bounds=bounds)
    assert fit.distance < 11.63 and "slowly proliferating sd" in fit.active
    search = fit.search
    z = (search.vector(model) - search.lower) / (search.upper - search.lower)
    with jax.enable_x64(True):
        value, gradient = CALIBRATE._value_and_gradient(fit.fit, jnp.asarray(z))
    # The objective is HD^2 / n, and numbers are scaled.
    gradient = np.asarray(gradient) / (search.upper - search.lower)
    gradient *= measured.sum() / (2 * np.sqrt(float(value) * measured.sum()))
    order = ("x1", "x2", "fast proliferating mean", "slowly proliferating mean")
    order += ("fast proliferating sd", "slowly proliferating sd")
    ours = [gradient[search.names.index(name)] for name in order]
    assert np.allclose(ours, [-2.6698, -4.8016, -0.2384, 0.0086, -0.2053, -0.0117], atol=2e-4)


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("start", ["async", "sync"])
@pytest.mark.parametrize("number", [1, 2, 3, 4] if many(2, 2) == 2 else [1, 4])
def test_published_refits(number, start):
    from snpjax.io.proliferation import read_histogram

    cases = json.loads((CASES / "calibration.json").read_text())
    (best,) = (
        row["hd_best_known"]
        for row in cases["refits_train_100_bins"]
        if row["model"] == f"model{number}" and row["start"] == start
    )
    target = read_histogram(CASES / cases["pairs"][0]["target"])
    bounds = cases["search_bounds"][f"model{number}"]
    model, _ = published(number, start)
    named = {"slowly proliferating": "slow", "fast proliferating": "fast", "proliferating": "1"}
    limits = {
        x.name: {key: bounds[f"{key}_{named[x.name]}"] for key in ("mean", "sd")}
        for x in model.types
        if x.law is not None
    }
    fit = pr.calibrate(model, target, bounds=limits)
    assert fit.distance <= best + 0.005
    if start == "async":
        with pytest.raises(ValueError, match="the axes differ"):
            other = CASES / "histograms" / "AML9_Exp3_t21d_DOX_SPL_GFPpos.txt"
            pr.calibrate(model, read_histogram(other))


def test_more_starts_than_fit_are_refused(free):
    free(10**6)
    observed = on_axis(pr.expected(population()).table(), 10**6)
    with pytest.raises(NotEnoughMemory, match=r"10,000,000 starts need .* Give up to \d+ starts"):
        pr.calibrate(population(GUESS), observed, bins=BINS, bounds=BOUNDS, starts=10**7)


def test_more_bins_or_slots_than_fit_are_refused(free, key):
    free(10**6)
    with pytest.raises(NotEnoughMemory, match=r"^1,000,000,000 bins need .* Give up to \d"):
        pr.Bins(num=10**9).count(np.array([20.0]), np.array([1]))
    with pytest.raises(NotEnoughMemory, match=r"^1,000,000,000 slots need .* Give up to \d"):
        pr.sample_lattice(population(), key, slots=10**9)
    with pytest.raises(NotEnoughMemory, match=r"^1,000,000 runs need .* Give up to \d"):
        pr.sample_lattice(population(), key, slots=8, runs=10**6)
    with pytest.raises(NotEnoughMemory, match=r"^1,000 bins need .* Give up to \d"):
        pairs_of(np.zeros((1, 3), int), np.ones(1, int), 1000)
