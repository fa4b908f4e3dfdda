"""How fast are the exact histogram, its gradient, a calibration and a simulation of dividing cells,
beside cell-by-cell simulation in NumPy in the same run?

A made-up experiment of the size of published ones: 53,546 cells in some 300 channels, three types,
240 hours, 1.1 million cells at the end. Each answer is checked before its time is printed: the
calibration finds the values that made its data, samples pass the tests of the exact law. On a GPU
also 10^9 final cells.

    PYTHONPATH=.:formats python bench/proliferation.py
"""

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

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


def best(function: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of some calls, after one that compiles."""
    jax.block_until_ready(function())
    found = []
    for _ in range(times):
        began = time.perf_counter()
        jax.block_until_ready(function())
        found.append(time.perf_counter() - began)
    return min(found)


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


def measure_expected(model: pr.ProliferationModel) -> None:
    exact = pr.expected(model)
    program, parameters = pr.lower(model)
    with jax.enable_x64(True):
        means = jax.jit(pr.family_means)
        found = np.asarray(means(program, parameters))
        assert np.abs(found - exact.family_mean).max() < 1e-8 * found.max()
        seconds = best(lambda: means(program, parameters), 200)
    both = best(lambda: pr.expected(model).total_sd, 20)
    print(
        f"exact means of three types: {seconds * 1e3:.2f} ms; with covariance {both * 1e3:.1f} ms"
    )


def measure_fit(model: pr.ProliferationModel) -> None:
    """The data are the expectation itself, so that the answer is known."""
    final = pr.expected(model)
    table = final.table()
    place = np.minimum(np.searchsorted(AXIS, table.fluorescence), 1023)
    cells = np.round(np.bincount(place, table.total, 1024) / final.total * 5e7).astype(np.int64)
    observed = pr.Histogram(AXIS, cells)
    began = time.perf_counter()
    fit = pr.calibrate(model, observed, bounds=BOUNDS)
    fresh = time.perf_counter() - began
    # Moved to the channels of the axis, some cells are in the next bin.
    assert abs(fit.values["slow mean"] - 63.7) < 1 and abs(fit.values["fast mean"] - 41.1) < 0.5, (
        fit
    )
    search = fit.search
    own = (search.vector(model) - search.lower) / (search.upper - search.lower)
    gradient_of = jax.jit(lambda fit, point: fit.value_and_gradient(point))
    values = jax.jit(lambda fit, points: jax.vmap(fit.value)(points))
    with jax.enable_x64(True):
        point = jnp.asarray(own)
        value, gradient = gradient_of(fit.fit, point)
        step = jnp.zeros_like(point).at[2].set(1e-5)
        ahead, behind = (values(fit.fit, (point + s)[None])[0] for s in (step, -step))
        assert abs((ahead - behind) / 2e-5 - gradient[2]) < 1e-4 * abs(gradient[2]) + 1e-9, value
        one = best(lambda: gradient_of(fit.fit, point), 300)
        many = jnp.asarray(np.random.default_rng(0).random((512, point.size)))
        batch = best(lambda: values(fit.fit, many), 5)
    again = best(lambda: pr.calibrate(model, observed, bounds=BOUNDS).distance, 3)
    print(f"value and gradient, 6 numbers: {one * 1e3:.2f} ms")
    print(f"512 candidates as a batch: {batch / 512 * 1e3:.3f} ms each")
    print(
        f"calibration, 6 starts, {fit.evaluations} evaluations: {again:.3f} s "
        f"(first time {fresh:.1f} s)"
    )


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


def measure_sample(model: pr.ProliferationModel) -> None:
    expected = pr.expected(model)
    check_sample(expected, pr.simulate(model, jax.random.key(1), runs=20))
    rng = np.random.default_rng(0)
    assert abs(plain(model, rng) - expected.total) < 5 * expected.total_sd
    draws = pr.simulate(model, jax.random.key(0)).draws
    ours, theirs = [], []
    for _ in range(8):  # interleaved: the machine is shared
        ours.append(best(lambda: pr.simulate(model, jax.random.key(0)).total, 1))
        theirs.append(best(lambda: plain(model, rng), 1))
    print(
        f"simulation of {draws:,} cells: {min(ours) * 1e3:.1f} ms "
        f"({draws / min(ours):.3g} cells a second), NumPy {min(theirs) * 1e3:.1f} ms: "
        f"{min(theirs) / min(ours):.2f} times"
    )


def measure_huge(final_cells: int, budget: int) -> None:
    one = pr.expected(experiment(53_546))
    model = experiment(round(final_cells / one.total * 53_546))
    expected = pr.expected(model)
    sample = pr.simulate(model, jax.random.key(0), budget=budget)
    assert abs(int(sample.total) - expected.total) < 5 * expected.total_sd
    seconds = best(lambda: pr.simulate(model, jax.random.key(1), budget=budget).total, 2)
    stats = jax.devices()[0].memory_stats() or {}
    peak = stats.get("peak_bytes_in_use", 0) / 2**30
    print(
        f"{int(sample.total):,} final cells, {sample.draws:,} simulated: {seconds:.2f} s, "
        f"{sample.draws / seconds:.3g} cells a second, peak {peak:.2f} GiB on the device"
    )


def main() -> None:
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    model = experiment(53_546)
    measure_expected(model)
    measure_fit(model)
    measure_sample(model)
    if jax.default_backend() != "cpu":
        for budget in (2**30, 8 * 2**30):
            measure_huge(10**9, budget)


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# Two cores of the H200's host, jax 0.11.2, 2026-11-22, OPENBLAS_NUM_THREADS=1 (with more, the small
# solves of L-BFGS-B wait where cores are busy, and a calibration takes 0.3 to 3 s):
#   exact means of three types: 0.15 ms; with covariance 1.5 ms
#   value and gradient, 6 numbers: 0.26 ms (in reverse mode, before: 0.57 ms)
#   512 candidates as a batch: 0.133 ms each
#   calibration, 6 starts, 201 evaluations: 0.101 s (first time 3.8 s)
#   simulation of 2,232,640 cells: 47.9 ms (4.66e+07 cells a second), NumPy 84.2 ms: 1.76 times
# The published Python simulator takes 3.1 to 3.4 s for as many cells: 65 to 71 times as long.
#
# One NVIDIA H200, jax 0.11.2, 2026-11-22 (the same host; calibration waits for the device):
#   exact means of three types: 0.11 ms; with covariance 3.9 ms
#   value and gradient, 6 numbers: 0.23 ms (in reverse mode)
#   512 candidates as a batch: 0.001 ms each
#   calibration, 6 starts, 201 evaluations: 0.610 s (first time 7.5 s)
#   simulation of 2,232,640 cells: 24.8 ms (9.02e+07 cells a second), NumPy 93.9 ms: 3.79 times
#   1,000,403,971 final cells, 1,959,214,938 simulated: 0.80 s, 2.44e+09 cells a second, 0.15 GiB
#   the same with a budget of 8 GiB: 0.66 s, 2.97e+09 cells a second, 0.76 GiB on the device
