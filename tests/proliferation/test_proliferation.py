"""Cell proliferation: models, exact moments, and what is refused."""

import functools
import json
import math
import os
from bisect import bisect_left
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from snpjax import proliferation as pr
from snpjax.proliferation.grid import grid
from snpjax.proliferation.moments import NARROW, Method, RenewalEquations, mean, second_moments
from snpjax.proliferation.pairs import narrow_second_moments
from snpjax.testing import reference_proliferation as reference
from tests.support.helpers import SHARED, needs_shared


CASES = SHARED / "cases" / "proliferation"
GENERATIONS = 10

#: Of 16 channels a doubling, so that halving moves by 16.
AXIS = np.concatenate([2.0**power * 2.0 ** (np.arange(4) / 4) for power in range(9)])


def bump(cells: int = 400) -> pr.Histogram:
    """A small stained population."""
    weights = np.exp(-(((np.arange(AXIS.size) - 28) / 2.5) ** 2))
    return pr.Histogram(AXIS, np.round(weights / weights.sum() * cells).astype(int))


TYPES = (
    pr.CellType("resting", 0.2),
    pr.CellType("slow", 0.3, pr.Normal(60.0, 35.0)),
    pr.CellType("fast", 0.5, pr.Normal(35.0, 22.0)),
)


@functools.cache
def compiled(function, method: Method, start: pr.Start, size: int):
    """One compilation for all laws of a kind."""

    def moments(first, second, duration, grid):
        return function(RenewalEquations(method, start, GENERATIONS, grid), first, second, duration)

    jitted = jax.jit(moments)

    def call(first, second, duration):
        with jax.enable_x64(True):
            return np.asarray(jitted(*map(jnp.float64, (first, second, duration)), grid(size)))

    return call


def method_of(law: str, first: float, second: float) -> Method:
    if law == "gamma":
        return Method.GAMMA
    if second == 0:
        return Method.FIXED
    return Method.NARROW if first >= NARROW * second else Method.WIDE


# ---- against published numbers


def families():
    if not SHARED.is_dir():
        return [pytest.param(None, marks=needs_shared, id="no-cases")]
    rows = json.loads((CASES / "families.json").read_text())["rows"]
    names = ("law", "start", "tmax")
    return [pytest.param(row, id="-".join(f"{row[name]}" for name in names)) for row in rows]


@pytest.mark.parametrize("row", families())
def test_families_are_the_published_ones(row):
    first, second = row.get("mean", row.get("shape")), row.get("sd", row.get("scale"))
    method, start = method_of(row["law"], first, second), pr.Start(row["start"])
    found = compiled(mean, method, start, 64)(first, second, row["tmax"])
    wanted = np.array(row["mean_per_family"])
    digits = 4e-6 if "six digits" in row["obtained"] else 1e-8
    assert np.abs(found - wanted).max() <= digits * max(1, wanted.max())
    if "second_moment_per_family" in row:
        found = compiled(second_moments, method, start, 64)(first, second, row["tmax"])
        wanted = np.array(row["second_moment_per_family"])
        assert np.abs(found - wanted).max() <= 1e-7 * max(1, wanted.max())


def golden(*names: str):
    if not SHARED.is_dir():
        return [pytest.param(None, marks=needs_shared, id="no-cases")]
    paths = sorted((CASES / "golden").glob("*.json"))
    fast = ("bm_model3_async_240",)
    if os.environ.get("SNPJAX_SWEEP") != "full":  # one of each kind
        some = (*fast, "bm_gamma_async_120", "bm_trunc_sync_72", "bm_model3_sync_120")
        paths = [path for path in paths if path.stem in some]
    return [
        pytest.param(path, id=path.stem, marks=() if path.stem in fast else pytest.mark.slow)
        for path in paths
    ]


def read_golden(path):
    """The case and its model."""
    from snpjax.io.proliferation import read_histogram

    case = json.loads(path.read_text())
    config = case["config"]
    types = []
    for t in config["types"]:
        law = pr.Gamma(t["shape"], t["scale"]) if "shape" in t else None
        law = pr.Normal(t["mean"], t["sd"]) if "mean" in t else law
        types.append(pr.CellType(t["name"], t["proportion"], law))
    model = pr.ProliferationModel(
        read_histogram(CASES / config["histogram"]),
        types,
        duration=config["tmax"],
        phi_min=config["phi_min"],
        start=pr.Start(config["start"]),
    )
    return case, model


@pytest.mark.parametrize("path", golden())
def test_expectation_and_covariance_are_the_published_ones(path):
    case, model = read_golden(path)
    found, exact = pr.expected(model), case["exact"]
    generations = model.generations

    def close(ours, theirs, error):
        theirs = np.array(theirs)
        assert np.abs(ours - theirs).max() <= error * max(1, theirs.max())

    close(found.family_mean, np.array(exact["mean_per_family"])[:, :generations], 1e-8)
    close(found.family_second_moment, exact["second_moment_per_family"], 1e-7)
    close(found.total, exact["total_mean"], 1e-8)
    close(found.total_sd, exact["total_sd"], 1e-7)
    close(found.type_generation, exact["type_generation_mean"], 1e-8)
    # Squares: a root makes much of what is nearly 0.
    close(found.type_generation_sd**2, np.square(exact["type_generation_sd"]), 1e-6)
    binned, covariance = found.binned(pr.Bins(), rule=pr.BinRule.DISPLAY, phi_min=1e-9)
    close(binned, exact["rebinned_mean"], 1e-8)
    close(np.diag(covariance), np.square(exact["rebinned_sd"]), 1e-6)
    # The published runs, z of 20 of them.
    z = (case["total"]["mean"] - found.total) / (found.total_sd / math.sqrt(20))
    assert abs(z) < 3.89
    rows = np.searchsorted(np.flatnonzero(model.initial.counts), [c["row"] for c in seen(case)])
    k = [c["generation"] for c in seen(case)]
    means = np.array([c["mean"] for c in seen(case)])
    large = found.mean[rows, k] >= 5
    z = (means - found.mean[rows, k])[large] / found.sd[rows, k][large] * math.sqrt(20)
    assert np.abs(z).max() < 5.49


def seen(case):
    """The channels of a case, as records."""
    channels = case["channels"]
    if isinstance(channels, dict):
        names = list(channels)
        return [
            dict(zip(names, values, strict=True)) for values in zip(*channels.values(), strict=True)
        ]
    return channels


# ---- against the reference, and laws that hold


LAWS = st.one_of(
    st.tuples(st.just("normal"), st.floats(20, 90), st.floats(8, 40)),
    st.tuples(st.just("gamma"), st.floats(3, 12), st.floats(3, 12)),
)


@settings(max_examples=8)
@given(LAWS, st.floats(30, 150), st.sampled_from(list(pr.Start)))
def test_means_are_those_of_the_reference(law, duration, start):
    kind, first, second = law
    found = compiled(mean, method_of(kind, first, second), start, 64)(first, second, duration)
    if method_of(kind, first, second) is Method.NARROW and first < 6.2 * second:
        return  # what the reference redraws, the closed form does not
    wanted = reference.family_mean(
        law, duration=duration, start=start.value, generations=4, steps=60
    )
    assert np.abs(found[:4] - wanted).max() < 5e-3 * max(1, max(wanted))


@settings(max_examples=25)
@given(st.floats(25, 200), st.floats(0.09, 0.95), st.floats(60, 260), st.sampled_from(pr.Start))
def test_moments_obey_the_sum_rules(m, ratio, duration, start):
    sd = max(m * ratio, 0.04 * duration)
    found = compiled(mean, Method.WIDE, start, 64)(m, sd, duration)
    square = compiled(second_moments, Method.WIDE, start, 64)(m, sd, duration)
    # The label is conserved as far as generations are counted; later ones hold the rest.
    label = found @ 2.0 ** -np.arange(GENERATIONS)
    assert label <= 1 + 1e-8
    assert found[-1] > 1e-6 or abs(label - 1) < 1e-6
    assert found.sum() >= 1 - 1e-8 or found[-1] > 1e-6
    scale = max(1, square.max())
    assert np.abs(square - square.T).max() <= 1e-12 * scale
    assert np.all(np.diag(square) >= found - 1e-6 * scale)
    assert np.linalg.eigvalsh(square - np.outer(found, found)).min() > -1e-6 * scale


def test_limits():
    wide = compiled(mean, Method.WIDE, pr.Start.ASYNC, 64)
    assert wide(40.0, 10.0, 0.0).tolist() == [1.0] + [0.0] * (GENERATIONS - 1)
    yule = compiled(mean, Method.GAMMA, pr.Start.SYNC, 64)(1.0, 25.0, 50.0)
    k = np.arange(GENERATIONS)
    poisson = np.exp(-2.0) * 2.0**k / [math.factorial(i) for i in k]
    assert np.allclose(yule, 2.0**k * poisson, rtol=1e-12)
    # sd -> 0: as the law without spread, away from the times of division.
    for start in (pr.Start.SYNC, pr.Start.ASYNC):
        fixed = compiled(mean, Method.FIXED, start, 64)(40.0, 1.0, 110.0)
        narrow = compiled(mean, Method.NARROW, start, 64)(40.0, 0.001, 110.0)
        assert np.allclose(fixed, narrow, atol=1e-3)
    # A division at exactly the end happens, also where a quotient is rounded.
    fixed = compiled(mean, Method.FIXED, pr.Start.SYNC, 64)
    assert fixed(40.0, 1.0, 120.0)[3] == 8 and fixed(40.0, 1.0, 119.999)[2] == 4


def test_closed_forms_meet_the_grid_where_both_hold():
    for start in (pr.Start.ASYNC, pr.Start.RESIDUAL):
        wide = compiled(mean, Method.WIDE, start, 64)(60.0, 10.0, 200.0)
        narrow = compiled(mean, Method.NARROW, start, 64)(60.0, 10.0, 200.0)
        assert np.abs(wide - narrow).max() <= 2e-8 * wide.max()
        square = compiled(second_moments, Method.WIDE, start, 64)(60.0, 10.0, 200.0)
        pairs = narrow_second_moments(60.0, 10.0, 200.0, start=start, generations=GENERATIONS)
        assert np.abs(square - pairs).max() <= 1e-7 * square.max()


def test_gradients_are_those_of_differences():
    """In all parameters and the duration, also where the method is chosen while running."""
    model = pr.ProliferationModel(bump(), TYPES, duration=120.0, phi_min=2.0)
    program, parameters = pr.lower(
        model, ranges=[None, pr.Range((30, 300), (8, 40)), pr.Range((20, 63), (8, 30))]
    )
    weights = np.random.default_rng(0).normal(size=(program.counts.size, model.generations))
    with jax.enable_x64(True):

        @jax.jit
        def value(vector):
            changed = pr.Parameters(vector[:3], vector[3:6], vector[6:9], vector[9])
            return jnp.sum(jnp.asarray(weights) * pr.expected_counts(program, changed))

        vector = jnp.concatenate(
            [
                parameters.proportions,
                parameters.first,
                parameters.second,
                parameters.duration[None],
            ]
        )
        for first in (60.0, 250.0):  # collocation, and the closed form
            at = vector.at[4].set(first)
            gradient = jax.grad(value)(at)
            assert jnp.all(jnp.isfinite(gradient))
            for i in range(10):
                step = 1e-4 * max(float(at[i]), 0.1)
                difference = (value(at.at[i].add(step)) - value(at.at[i].add(-step))) / (2 * step)
                assert abs(difference - gradient[i]) <= 1e-5 * (1 + abs(difference)), i


def test_expectation_is_linear_and_knows_no_order():
    model = pr.ProliferationModel(bump(), TYPES, duration=120.0, phi_min=2.0)
    whole = pr.expected(model)
    assert math.isclose(whole.mean.sum(), whole.type_generation.sum())
    half = pr.Histogram(AXIS, np.array(bump().counts) * 2)
    twice = pr.expected(pr.ProliferationModel(half, TYPES, duration=120.0, phi_min=2.0))
    assert np.allclose(twice.mean, 2 * whole.mean, rtol=1e-12)
    assert math.isclose(twice.total_sd**2, 2 * whole.total_sd**2)
    # Two types of one law are one type.
    split = [TYPES[0], TYPES[1], *(pr.CellType(x, 0.25, TYPES[2].law) for x in "ab")]
    merged = pr.expected(pr.ProliferationModel(bump(), split, duration=120.0, phi_min=2.0))
    assert np.allclose(merged.mean, whole.mean, rtol=1e-10)
    assert np.allclose(merged.sd, whole.sd, rtol=1e-8)
    # A power of two in fluorescence changes nothing.
    scaled = pr.Histogram(AXIS * 8, bump().counts)
    other = pr.expected(pr.ProliferationModel(scaled, TYPES, duration=120.0, phi_min=16.0))
    assert np.array_equal(other.mean, whole.mean)
    assert np.array_equal(other.table().fluorescence, whole.table().fluorescence * 8)
    # A higher threshold takes entries away and changes no other.
    raised = pr.expected(pr.ProliferationModel(bump(), TYPES, duration=120.0, phi_min=30.0))
    assert np.all(raised.last <= whole.last)
    inside = raised.is_there
    columns = inside.shape[1]
    assert np.allclose(raised.mean[inside], whole.mean[:, :columns][inside], rtol=1e-9)


def test_tables_add_what_falls_on_one_value():
    model = pr.ProliferationModel(bump(), TYPES, duration=120.0, phi_min=2.0)
    found = pr.expected(model)
    table = found.table()
    assert np.all(np.diff(table.fluorescence) > 0) and table.sd is not None
    assert math.isclose(table.total.sum(), found.total, rel_tol=1e-12)
    value = table.fluorescence[len(table.fluorescence) // 2]
    here = found.fluorescence == value
    assert here.sum() > 1  # channels an octave apart
    at = np.searchsorted(table.fluorescence, value)
    assert math.isclose(table.total[at], found.mean[here].sum())
    assert math.isclose(table.sd[at] ** 2, (found.sd[here] ** 2).sum())


# ---- binning and distance


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(0.5, 9999), st.integers(0, 50)), min_size=1, max_size=30))
def test_binning_is_that_of_the_reference(pairs):
    values, counts = np.array([v for v, _ in pairs]), np.array([c for _, c in pairs])
    bins = pr.Bins(num=20)
    wanted = np.zeros(20)
    for value, count in pairs:
        wanted[bisect_left(bins.edges.tolist(), value)] += count
    assert bins.count(values, counts).tolist() == wanted.tolist()
    shown = bins.count(values, counts, rule=pr.BinRule.DISPLAY, phi_min=20.0)
    assert shown.sum() == counts[values >= 20].sum()


def test_an_edge_belongs_to_the_bin_below():
    bins = pr.Bins(1.0, 100.0, 3)
    assert bins.edges.tolist() == [1.0, 10.0, 100.0]
    assert bins.of(np.array([0.1, 1.0, 1.1, 10.0, 100.0])).tolist() == [0, 0, 1, 1, 2]
    with pytest.raises(ValueError, match="5 of 7 cells are above the last edge, 100"):
        bins.count(np.array([5.0, 500.0]), np.array([2, 5]))
    with pytest.warns(pr.CellsDropped):
        counts = bins.count(np.array([5.0, 500.0]), np.array([2, 5]), rule=pr.BinRule.DISPLAY)
    assert counts.sum() == 2


@given(
    st.lists(st.floats(0.01, 3), min_size=1, max_size=60),
    st.integers(1, 30),
    st.floats(1e-3, 1e3),
)
def test_bins_of_channels_hold_equally_many(steps, max_bins, lowest):
    channels = np.exp(np.cumsum(steps))
    bins = pr.ChannelBins.of_channels(channels, lowest=lowest, max_bins=max_bins)
    edges = bins.edges
    assert np.all(np.diff(edges) > 0) and bins.num == len(edges) <= 2 * max_bins
    assert edges[0] <= lowest * (1 + 1e-9)
    assert bins.lowest == edges[0] < channels[0]
    held = [sum(low < x <= high for x in channels) for low, high in pairwise(edges)]
    assert sum(held) == len(channels)  # none outside
    per_bin = -(-len(channels) // max_bins)
    above = -(-len(channels) // per_bin) - 1  # bins over the first one with channels
    assert set(held[len(held) - above :]) <= {per_bin}


def test_halves_of_channels_make_no_comb():
    """Equal cells in channels of one ratio, which is no root of 2: bins of generations are full."""
    channels = 10.0 ** (np.arange(300) / 100)
    bins = pr.ChannelBins.of_channels(channels, lowest=1 / 64)
    for generation in range(4):
        cells = bins.count(channels / 2**generation, np.ones(300, int))
        assert set(cells[cells > 0][1:-1]) == {3.0}
    other = pr.Bins(1.0, 1000.0, 128)  # which follow no channels
    assert len(set(other.count(channels, np.ones(300, int))[1:-1])) > 1


def test_distance_is_that_of_the_reference():
    rng = np.random.default_rng(0)
    s, h = rng.random(30) * 9, rng.integers(0, 20, 30)
    distance, normalised = pr.hellinger(s, h)
    assert math.isclose(distance, reference.hellinger(s.tolist(), h.tolist()))
    assert 0 <= normalised <= 1 and pr.hellinger(h * 3.0, h)[1] < 1e-7


# ---- what is refused


@pytest.mark.parametrize(
    ("fluorescence", "counts", "said"),
    [
        ([1.0, 2.0], [3, -1], "channel 1 (fluorescence 2, count -1): negative count"),
        ([2.0, 1.0], [3, 1], "channel 1 (fluorescence 1, count 1): not in ascending order"),
        (
            [1.0, 1.0],
            [3, 1],
            "channel 1 (fluorescence 1, count 1): this fluorescence appears twice",
        ),
        ([1.0, math.nan], [3, 1], "channel 1 (fluorescence nan, count 1): fluorescence is to be"),
        ([1.0, 2.0], [3.0, math.nan], "channel 1 (fluorescence 2, count nan): the count is not fi"),
        ([1.0, 2.0], [3.0, 0.5], "channel 1 (fluorescence 2, count 0.5): the count is not an int"),
        ([0.0, 2.0], [3, 1], "channel 0 (fluorescence 0, count 3): fluorescence is to be positive"),
        ([1.0, 2.0], [0, 0], "there are no cells"),
        ([1.0], [1, 2], "`fluorescence` has 1 channels and `counts` 2"),
    ],
)
def test_histograms_that_are_none(fluorescence, counts, said):
    with pytest.raises(ValueError) as error:
        pr.Histogram(fluorescence, counts)
    assert said in str(error.value)


def test_everything_wrong_with_a_model_is_said_at_once():
    with pytest.raises(pr.InvalidModel) as error:
        pr.ProliferationModel(
            bump(),
            [
                pr.CellType("a", 0.5, pr.Normal(40.0, 0.0)),
                pr.CellType("a", 0.4, pr.Gamma(math.nan, 5.0)),
                pr.CellType("b", -0.1),
            ],
            duration=-1.0,
            phi_min=1e9,
        )
    assert [text.split(" (")[0] for text in error.value.problems] == [
        "type 'a': sd is 0",
        "type 'a': shape is nan",
        "type 'b': proportion is -0.1",
        "2 types are called 'a'",
        "the proportions are to sum to 1, and sum to 0.8",
        "duration is -1.0",
        "phi_min 1e+09 is above every cell, the brightest of which has 304.437",
    ]


@pytest.mark.parametrize("phi_min", [0.0, -1.0, math.nan, 1e-30])
def test_thresholds_that_are_refused(phi_min):
    with pytest.raises(pr.InvalidModel, match="phi_min"):
        pr.ProliferationModel(bump(), TYPES, duration=10.0, phi_min=phi_min)


def test_proportions_are_never_rescaled():
    pr.ProliferationModel(bump(), [pr.CellType("a", 1 + 9e-7)], duration=1.0)
    with pytest.raises(pr.InvalidModel, match=r"sum to 1.000002 \(correct them\)"):
        pr.ProliferationModel(bump(), [pr.CellType("a", 1 + 2e-6)], duration=1.0)


def test_a_law_that_the_grid_does_not_resolve_is_refused():
    model = pr.ProliferationModel(
        bump(), [pr.CellType("a", 1.0, pr.Normal(5.0, 1.0))], duration=1000.0
    )
    with pytest.raises(pr.Unresolved, match="type 'a': an sd of 0.001 of the duration"):
        pr.expected(model)


@given(st.floats(0.01, 1e4), st.floats(0.001, 1e4))
def test_divisions_are_counted_by_halving(phi, phi_min):
    assert pr.max_divisions([phi], phi_min).tolist() == [reference.max_divisions(phi, phi_min)]
