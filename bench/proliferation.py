"""How fast are the exact histogram, its gradient, a calibration and a simulation of dividing cells?

A made-up experiment of the size of published ones: 53,546 cells in some 300 channels, three types,
240 hours, 1.1 million cells at the end. The calibration finds the values that made its data,
samples pass the tests of the exact law. Beside the simulation is the same cell by cell in NumPy.
On a GPU also 10^9 final cells.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from figures import Anchor, Case, figure

from snpjax import proliferation as pr


TYPES = (
    pr.CellType("resting", 0.06),
    pr.CellType("slow", 0.47, pr.Normal(63.7, 28.9)),
    pr.CellType("fast", 0.47, pr.Normal(41.1, 14.3)),
)
BOUNDS = {
    "slow": {"mean": (63.0, 504.0), "sd": (0.0, 30.0)},
    "fast": {"mean": (30.0, 63.0), "sd": (0.0, 20.0)},
}
AXIS = 10.0 ** (4 * np.arange(1024) / 1024)


def experiment(cells: int) -> pr.ProliferationModel:
    near = np.random.default_rng(1).normal(np.log10(4000.0), 0.13, 53_546)
    counts = np.bincount(np.searchsorted(AXIS, 10.0 ** np.minimum(near, 3.99)), minlength=1024)
    counts = counts.astype(np.int64) * max(1, round(cells / 53_546))
    return pr.ProliferationModel(pr.Histogram(AXIS, counts), TYPES, duration=240.0, phi_min=11.0)


def check_sample(expected: pr.Expected, sample: pr.Sample) -> None:
    """Means of channels and of types and generations, and the dispersion, as the exact law says."""
    runs = sample.counts.shape[0]
    for counts, mean, sd in (
        (sample.counts, expected.mean, expected.sd),
        (sample.type_generation, expected.type_generation, expected.type_generation_sd),
    ):
        large = (mean >= 5) & (sd > 0)
        z = (counts.mean(0) - mean)[large] / sd[large] * np.sqrt(runs)
        assert np.abs(z).max() < 5.5, np.abs(z).max()
    large = expected.mean >= 5
    dispersion = (((sample.counts - expected.mean)[:, large] / expected.sd[large]) ** 2).mean()
    assert 0.9 < dispersion < 1.1, dispersion


@figure("proliferation: exact means and covariance")
def expected() -> Case:
    model = experiment(53_546)
    program, parameters = pr.lower(model)
    means = jax.jit(pr.family_means)

    def check(exact: pr.Expected) -> None:
        with jax.enable_x64(True):
            found = np.asarray(means(program, parameters))
        assert np.abs(found - exact.family_mean).max() < 1e-8 * found.max()

    return Case(lambda: pr.expected(model), check)


def data_of(model: pr.ProliferationModel) -> pr.Histogram:
    """The data are the expectation itself, so that the answer is known."""
    final = pr.expected(model)
    table = final.table()
    place = np.minimum(np.searchsorted(AXIS, table.fluorescence), 1023)
    cells = np.round(np.bincount(place, table.total, 1024) / final.total * 5e7).astype(np.int64)
    return pr.Histogram(AXIS, cells)


def calibration(model: pr.ProliferationModel) -> pr.Calibration:
    return pr.calibrate(model, data_of(model), bounds=BOUNDS)


@figure("proliferation: value and gradient of 6 numbers")
def value_and_gradient() -> Case:
    """As an optimizer of one's own would call it, under `jax.jit`."""
    model = experiment(53_546)
    fit = calibration(model)
    search = fit.search
    own = (search.vector(model) - search.lower) / (search.upper - search.lower)
    gradient_of = jax.jit(lambda fit, point: fit.value_and_gradient(point))
    value_of = jax.jit(lambda fit, point: fit.value(point))
    with jax.enable_x64(True):
        point = jnp.asarray(own)

    def call() -> tuple[jax.Array, jax.Array]:
        with jax.enable_x64(True):
            return jax.block_until_ready(gradient_of(fit.fit, point))

    def check(found: tuple[jax.Array, jax.Array]) -> None:
        with jax.enable_x64(True):
            step = jnp.zeros_like(point).at[2].set(1e-5)
            ahead, behind = (value_of(fit.fit, point + s) for s in (step, -step))
            slope = found[1][2]
            assert abs((ahead - behind) / 2e-5 - slope) < 1e-4 * abs(slope) + 1e-9

    return Case(call, check)


@figure("proliferation: value of 512 candidates", on="gpu")
def candidates() -> Case:
    fit = calibration(experiment(53_546))
    values = eqx.filter_jit(lambda fit, points: jax.vmap(fit.value)(points))
    with jax.enable_x64(True):
        many = jnp.asarray(np.random.default_rng(0).random((512, fit.search.lower.size)))

    def call() -> jax.Array:
        with jax.enable_x64(True):
            return jax.block_until_ready(values(fit.fit, many))

    def check(found: jax.Array) -> float:
        with jax.enable_x64(True):
            one = values(fit.fit, many[3:4])[0]
            assert abs(found[3] - one) < 1e-9
        return 512

    return Case(call, check, unit="us per candidate")


@figure("proliferation: calibration from 6 starts")
def calibrating() -> Case:
    model = experiment(53_546)
    observed = data_of(model)

    def check(fit: pr.Calibration) -> None:
        # Moved to the channels of the axis, some cells are in the next bin.
        assert abs(fit.values["slow mean"] - 63.7) < 1, fit
        assert abs(fit.values["fast mean"] - 41.1) < 0.5, fit

    return Case(lambda: pr.calibrate(model, observed, bounds=BOUNDS), check)


def plain(model: pr.ProliferationModel, rng: np.random.Generator) -> int:
    """The same simulation in NumPy, generation by generation; the number of final cells."""
    held = model.initial.occupied
    last = model.max_divisions[model.initial.counts > 0]
    laws = [x.law for x in model.types]
    means = np.array([law.mean if isinstance(law, pr.Normal) else 1e9 for law in laws], np.float32)
    sds = np.array([law.sd if isinstance(law, pr.Normal) else 1 for law in laws], np.float32)

    def draw(kind: np.ndarray) -> np.ndarray:
        times = rng.standard_normal(kind.size, np.float32) * sds[kind] + means[kind]
        again = np.flatnonzero(times <= 0)
        while again.size:
            which = kind[again]
            times[again] = rng.standard_normal(which.size, np.float32) * sds[which] + means[which]
            again = again[times[again] <= 0]
        return times

    channel = np.repeat(np.arange(held.counts.size, dtype=np.int32), held.counts)
    kind = rng.choice(3, channel.size, p=[x.proportion for x in model.types])
    clock = rng.random(channel.size, np.float32) * draw(kind)
    total = 0
    for k in range(model.generations):
        clock = clock + draw(kind)
        stays = clock > model.duration
        total += np.bincount(channel[stays]).sum()
        goes = ~stays & np.greater(last[channel], k)
        channel, clock, kind = (np.repeat(x[goes], 2) for x in (channel, clock, kind))
    return int(total)


@figure("proliferation: simulation of 2.2 million cells")
def sample() -> Case:
    model = experiment(53_546)
    exact = pr.expected(model)

    def check(_: pr.Sample) -> None:
        check_sample(exact, pr.simulate(model, jax.random.key(1), runs=20))

    def anchor() -> Anchor:
        rng = np.random.default_rng(0)
        assert abs(plain(model, rng) - exact.total) < 5 * exact.total_sd
        return Anchor("NumPy", lambda: plain(model, rng))

    return Case(lambda: pr.simulate(model, jax.random.key(0)), check, anchor=anchor)


@figure("proliferation: simulation of 10^9 final cells", 10**9, 8 * 2**30, on="gpu")
def huge(final_cells: int, budget: int) -> Case:
    one = pr.expected(experiment(53_546))
    model = experiment(round(final_cells / one.total * 53_546))
    exact = pr.expected(model)

    def check(sample: pr.Sample) -> float:
        assert abs(int(sample.total) - exact.total) < 5 * exact.total_sd
        return sample.draws

    return Case(lambda: pr.simulate(model, jax.random.key(0), budget=budget), check, unit="cells/s")
