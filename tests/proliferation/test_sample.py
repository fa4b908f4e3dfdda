"""The samplers: the same key, the same cells; and the exact law, by tests that wrong ones fail."""

import dataclasses
import functools
import sys

import jax
import jax.random as jr
import numpy as np
import pytest

from snpjax import proliferation as pr
from snpjax.proliferation.draws import OFFSET, ROOT, random_words, timer_of, uniform
from snpjax.testing import reference_proliferation as reference
from snpjax_formats import NotEnoughMemory
from tests.proliferation.test_proliferation import TYPES, bump, golden, read_golden
from tests.support.proliferation_acceptance import accept


SAMPLE = sys.modules["snpjax.proliferation.sample"]
RUNS = 30


@functools.cache
def model(start: pr.Start = pr.Start.ASYNC) -> pr.ProliferationModel:
    return pr.ProliferationModel(bump(), TYPES, duration=150.0, phi_min=2.0, start=start)


@functools.cache
def expected() -> pr.Expected:
    return pr.expected(model())


# ---- the same cells


def followed(model: pr.ProliferationModel, key, run: int = 0) -> np.ndarray:
    """The sampler's histogram, cell by cell through the reference, from the sampler's draws."""
    held = model.initial.occupied
    words = jax.random.bits(jax.random.fold_in(key, 0), (2,), np.uint32)
    num = held.cells
    family = np.arange(num, dtype=np.uint32) + np.uint32(run * num)

    def of(nodes):
        return [np.asarray(x) for x in random_words(words, family, np.full_like(family, nodes))]

    of_type, own = of(ROOT)
    share, other = of(OFFSET)
    bounds = np.cumsum([0.0, *(x.proportion for x in model.types)]) * 2**32
    u, rest = (np.asarray(x) for x in uniform(share))
    counts = np.zeros((held.counts.size, model.generations), np.int64)
    channel = np.repeat(np.arange(held.counts.size), held.counts)
    last = model.max_divisions[model.initial.counts > 0]
    tree = {node: of(node) for node in range(1, 2 ** (model.generations - 1))}
    for j, cell_type in enumerate(model.types):
        members = np.flatnonzero((of_type >= bounds[j]) & (of_type < bounds[j + 1]))
        if cell_type.law is None:
            np.add.at(counts, (channel[members], 0), 1)
            continue
        timer = timer_of(cell_type.law, model.duration)
        first, second = np.asarray(timer(own)), np.asarray(timer(other))
        begins = {
            pr.Start.SYNC: first,
            pr.Start.ASYNC: u * second + first,
            pr.Start.RESIDUAL: rest * first,
            pr.Start.STRETCH: (1 + u) * first,
        }[model.start]
        times = {n: [np.asarray(timer(x)) for x in pair] for n, pair in tree.items()}
        for i in members:
            alive, removed = reference.family(
                begins[i],
                lambda node, i=i, times=times: times[node // 2][node % 2][i],
                np.float32(1),
                int(last[channel[i]]),
            )
            assert reference.label(alive, removed, int(last[channel[i]])) == 1
            for k, n in alive.items():
                counts[channel[i], k] += n
    return counts


@pytest.mark.parametrize(
    "start", [pr.Start.ASYNC, pytest.param(pr.Start.STRETCH, marks=pytest.mark.slow)]
)
def test_lanes_follow_every_cell(start):
    """The traversal of the device is that of the reference, given the same draws."""
    small = pr.ProliferationModel(bump(60), TYPES, duration=150.0, phi_min=8.0, start=start)
    key = jax.random.key(5)
    sample = pr.simulate(small, key, runs=2)
    # The sums of single precision may be fused on one side only: a cell in a million.
    assert np.array_equal(sample.counts[0], followed(small, key))
    assert np.array_equal(sample.counts[1], followed(small, key, run=1))


def test_threefry_is_that_of_jax():
    key = np.array([0x13198A2E, 0x03707344], np.uint32)
    words = random_words(key, np.array([0x243F6A88], np.uint32), np.array([0x85A308D3], np.uint32))
    assert [int(x[0]) for x in words] == [0xC4923A9C, 0x483DF7A0]  # Random123, known answers


def test_the_same_key_is_the_same_histogram(monkeypatch):
    key = jax.random.key(1)
    many = pr.simulate(model(), key, runs=5, by_type=True)
    assert many.by_type is not None
    assert np.array_equal(many.counts, many.by_type.sum(1))
    assert np.array_equal(many.type_generation, many.by_type.sum(2))
    assert np.array_equal(pr.simulate(model(), key).counts, many.counts[0])
    # Other capacities, chunks and batches of runs.
    monkeypatch.setattr(SAMPLE, "_MOST_LANES", {"cpu": 64})
    monkeypatch.setattr(SAMPLE, "_SECONDS_PER_CALL", 1e-4)
    assert np.array_equal(pr.simulate(model(), key, runs=5).counts, many.counts)
    monkeypatch.setattr(SAMPLE, "_MAX_ENTRIES", 1)
    assert np.array_equal(pr.simulate(model(), key, runs=3).counts, many.counts[:3])
    assert not np.array_equal(pr.simulate(model(), jax.random.key(2)).counts, many.counts[0])


def test_batches_end_with_the_runs_that_are_numbered_together(monkeypatch):
    plan_of = SAMPLE._Plan.of

    def total(batch: int) -> list[int]:
        def of(*given):
            return dataclasses.replace(plan_of(*given), group=3, batch=batch)

        monkeypatch.setattr(SAMPLE._Plan, "of", of)
        return pr.simulate(model(), jr.key(0), runs=5).total.tolist()

    assert total(2) == total(1)


def test_counts_stay_within_the_tree():
    sample = pr.simulate(model(), jax.random.key(3), runs=5)
    held = model().initial.occupied.counts
    k = np.arange(model().generations)
    assert np.all(sample.counts <= held[:, None] * 2**k)
    assert np.all(sample.counts[:, ~expected().is_there] == 0)
    table = sample.table(2)
    assert table.total.sum() == sample.total[2] and np.all(table.total > 0)
    assert sample.binned(pr.Bins(1.0)).sum(-1).tolist() == sample.total.tolist()


def test_what_cannot_be_simulated():
    with pytest.raises(ValueError, match="`runs` is 0"):
        pr.simulate(model(), jax.random.key(0), runs=0)
    with pytest.raises(TypeError, match="typed key"):
        pr.simulate(model(), 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="`budget` is 1000 bytes"):
        pr.simulate(model(), jax.random.key(0), budget=1000)
    huge = pr.Histogram([8.0], [2**32])
    with pytest.raises(pr.SampleFailed, match="families are numbered in 32 bits"):
        pr.simulate(pr.ProliferationModel(huge, TYPES, duration=1.0), jax.random.key(0))
    deep = pr.ProliferationModel(
        pr.Histogram([2.0**40], [1]),
        [pr.CellType("a", 1.0, pr.Normal(10.0, 2.0))],
        duration=60.0,
        phi_min=1.0,
    )
    assert pr.simulate(deep, jax.random.key(0)).total > 0  # room for 40 divisions, none needed


@pytest.mark.parametrize("by_type", [False, True])
def test_histograms_that_do_not_fit_are_refused(by_type, free):
    """The bytes are those of the arrays of a sample, and of the lanes of a device."""
    free(None)
    sample = pr.simulate(model(), jr.key(0), runs=3, by_type=by_type)
    kept = [sample.counts, sample.type_generation, *([sample.by_type] if by_type else [])]
    of_run = sum(x.nbytes for x in kept) // 3
    plan = SAMPLE._Plan.of(model(), 3, None, None)
    lanes = 2 * sum(x.nbytes for x in jax.tree.leaves(SAMPLE.empty(*plan.sizes)))
    needed = lanes + 3 * of_run
    free(needed)
    SAMPLE._check_memory(model(), plan, 3, by_type, None)
    free(needed - 1)
    message = f"3 runs need {needed:,} bytes, but {needed - 1:,} are free. Simulate 2 runs at a"
    with pytest.raises(NotEnoughMemory, match=message):
        SAMPLE._check_memory(model(), plan, 3, by_type, None)
    free(10**8)
    with pytest.raises(NotEnoughMemory, match="The histograms of 1,000,000,000 runs need"):
        pr.simulate(model(), jr.key(0), runs=10**9, by_type=by_type)


def test_a_budget_that_is_not_free_is_refused(free):
    whole = pr.simulate(model(), jr.key(0))
    free(10**6)  # by default no more than that is used
    assert (pr.simulate(model(), jr.key(0)).counts == whole.counts).all()
    free(10**4)
    with pytest.raises(NotEnoughMemory, match="ive a smaller `budget`"):
        pr.simulate(model(), jr.key(0), budget=2**30)


@pytest.mark.slow
def test_division_times_without_spread():
    types = [pr.CellType("a", 0.5, pr.Fixed(40.0)), pr.CellType("b", 0.5)]
    sync = pr.ProliferationModel(bump(), types, duration=120.0, phi_min=2.0, start=pr.Start.SYNC)
    sample = pr.simulate(sync, jax.random.key(0))
    cells = sample.type_generation
    assert cells[0].nonzero()[0].tolist() == [3] and cells[1].nonzero()[0].tolist() == [0]
    assert cells[0, 3] / 8 + cells[1, 0] <= sync.initial.cells
    for start in (pr.Start.ASYNC, pr.Start.RESIDUAL):
        some = pr.ProliferationModel(bump(), types, duration=130.0, phi_min=2.0, start=start)
        sample = pr.simulate(some, jax.random.key(1), runs=RUNS)
        assert not accept(pr.expected(some), sample.counts, sample.type_generation).failures


# ---- the exact law, and what is not


def test_samples_have_the_exact_law():
    sample = pr.simulate(model(), jax.random.key(7), runs=RUNS)
    report = accept(expected(), sample.counts, sample.type_generation)
    assert not report.failures, report
    lattice = pr.sample_lattice(model(), jax.random.key(7), runs=RUNS, slots=64)
    report = accept(expected(), lattice.counts, lattice.type_generation)
    assert not report.failures, report
    again = pr.sample_lattice(model(), jax.random.key(7), slots=64)
    assert np.array_equal(again.counts, lattice.counts[0]) and again.sampler == "lattice"


def test_gamma_samples_have_the_exact_law():
    types = [TYPES[0], pr.CellType("a", 0.8, pr.Gamma(7.0, 6.0))]
    gamma = pr.ProliferationModel(bump(), types, duration=150.0, phi_min=2.0)
    sample = pr.simulate(gamma, jax.random.key(8), runs=RUNS)
    assert not accept(pr.expected(gamma), sample.counts, sample.type_generation).failures


@pytest.mark.parametrize("start", [s for s in pr.Start if s is not pr.Start.ASYNC])
def test_a_wrong_start_rule_is_rejected(start):
    sample = pr.simulate(model(start), jax.random.key(7), runs=RUNS)
    failures = accept(expected(), sample.counts, sample.type_generation).failures
    assert "type_generation" in failures


@pytest.mark.parametrize("redraw", [np.abs, lambda t: np.maximum(t, 0), lambda t: t])
def test_an_untruncated_normal_is_rejected(redraw):
    """Absolute value, clipping, or nothing instead of redrawing."""
    counts, table = simulated(lambda rng, m, s, n: redraw(rng.normal(m, s, n)))
    assert "type_generation" in accept(expected(), counts, table).failures


def test_sisters_with_one_timer_are_rejected():
    counts, table = simulated(redrawn, sisters_share=True)
    assert "dispersion" in accept(expected(), counts, table).failures
    counts, table = simulated(redrawn)
    assert not accept(expected(), counts, table).failures


def test_independent_poisson_noise_is_rejected():
    found = expected()
    rng = np.random.default_rng(0)
    counts = rng.poisson(found.by_type, (RUNS, *found.by_type.shape))
    failures = accept(found, counts.sum(1), counts.sum(2)).failures
    assert failures and set(failures) <= {"dispersion", "total_dispersion"}, failures


def redrawn(rng, m, s, n):
    times = rng.normal(m, s, n)
    while np.any(times <= 0):
        times = np.where(times <= 0, rng.normal(m, s, n), times)
    return times


def simulated(draw, *, sisters_share: bool = False):
    """A simulation in NumPy whose draws may be wrong; counts and the table of types."""
    this = model()
    held, rng = this.initial.occupied, np.random.default_rng(3)
    last = this.max_divisions[this.initial.counts > 0]
    shape = (RUNS, len(TYPES), held.counts.size, this.generations)
    counts = np.zeros(shape, np.int64)
    shares = [x.proportion for x in TYPES]
    for run in range(RUNS):
        cells = rng.multinomial(held.counts, shares)
        counts[run, 0, :, 0] = cells[:, 0]
        for j in (1, 2):
            law = TYPES[j].law
            assert isinstance(law, pr.Normal)
            channel = np.repeat(np.arange(held.counts.size), cells[:, j])
            clock = rng.random(channel.size) * draw(rng, law.mean, law.sd, channel.size)
            for k in range(this.generations):
                if sisters_share and k:
                    timers = np.repeat(draw(rng, law.mean, law.sd, channel.size // 2), 2)
                else:
                    timers = draw(rng, law.mean, law.sd, channel.size)
                clock = clock + timers
                stays = clock > this.duration
                counts[run, j, :, k] = np.bincount(channel[stays], minlength=held.counts.size)
                goes = ~stays & (last[channel] > k)
                channel, clock = np.repeat(channel[goes], 2), np.repeat(clock[goes], 2)
    return counts.sum(1), counts.sum(2)


@pytest.mark.slow
@pytest.mark.parametrize("path", golden())
def test_published_configurations(path):
    case, this = read_golden(path)
    found = pr.expected(this)
    runs = 20
    sample = pr.simulate(this, jax.random.key(7), runs=runs)
    report = accept(found, sample.counts, sample.type_generation)
    assert not report.failures, report
    theirs = np.array(case["type_generation"]["runs"])[:, :, : this.generations]
    large = (found.type_generation >= 5) & (found.type_generation_sd > 0)
    z = (sample.type_generation.mean(0) - theirs.mean(0))[large]
    z /= found.type_generation_sd[large] * np.sqrt(1 / runs + 1 / 20)
    assert np.abs(z).max() < 4.6
    binned, covariance = found.binned(pr.Bins(), rule=pr.BinRule.DISPLAY, phi_min=1e-9)
    ours = sample.binned(pr.Bins(), rule=pr.BinRule.DISPLAY, phi_min=1e-9)
    sds = np.sqrt(np.diag(covariance))
    z = (ours.mean(0) - binned)[binned >= 5] / sds[binned >= 5] * np.sqrt(runs)
    assert np.abs(z).max() < 4.89
