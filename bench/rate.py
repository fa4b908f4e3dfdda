"""Two populations of rate-coded neurons: what does a step cost beside the bare sparse product?

The benchmark of Dinkelbach et al. 2022: `r = sum(exc) + 1`, here with weights so small that rates
stay finite, 1,000 steps, float32. Beside it cuSPARSE (CSR, through CuPy) on a GPU or scipy.sparse
on a CPU, and the dense product. The answer is checked against the library's.

    PYTHONPATH=.:formats python bench/rate.py [n] [probability]
"""

import sys
import time

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np

from snpjax_formats import ELL, Dense, Edges, Hybrid, SlicedELL, Workload, choose, fitting


STEPS, REPEATS = 100, 5


def random_graph(n: int, p: float) -> Edges:
    """Rows of sorted random sources, made without sorting all pairs."""
    rng = np.random.default_rng(0)
    degree = rng.binomial(n, p, n)
    gaps = rng.standard_exponential(int(degree.sum()) + n).astype(np.float32)
    ends = np.cumsum(degree + 1)
    total = np.cumsum(gaps, dtype=np.float64)
    before = np.concatenate([[0], total[ends[:-1] - 1]])
    is_edge = np.ones(len(gaps), bool)
    is_edge[ends - 1] = False
    target = np.repeat(np.arange(n, dtype=np.int32), degree)
    slot = np.arange(len(target)) - np.repeat(np.cumsum(degree) - degree, degree)
    share = (total[is_edge] - before[target]) / (total[ends - 1] - before)[target]
    source = (share * (n - degree + 1)[target]).astype(np.int32) + slot.astype(np.int32)
    value = rng.uniform(0, 1 / (n * p), len(target)).astype(np.float32)
    return Edges(source, target, value, n, n)


def of_layout(stored, x: np.ndarray, expected: np.ndarray) -> float:
    """Microseconds of one product and the step around it, and the answer checked."""

    @jax.jit
    def run(stored, x):
        step = lambda _, r: stored.deliver(r, accumulate=jnp.float32) + 1  # noqa: E731
        return lax.fori_loop(0, STEPS, step, x)

    once = jax.jit(lambda stored, x: stored.deliver(x, accumulate=jnp.float32))
    np.testing.assert_allclose(np.asarray(once(stored, x)), expected, rtol=1e-4)
    device_x = jax.device_put(x)
    run(stored, device_x).block_until_ready()

    def seconds() -> float:
        began = time.perf_counter()
        run(stored, device_x).block_until_ready()
        return time.perf_counter() - began

    return 1e6 * min(seconds() for _ in range(REPEATS)) / STEPS


def of_library(edges: Edges, x: np.ndarray) -> tuple[str, float, np.ndarray]:
    row_ptr = np.searchsorted(edges.target, np.arange(edges.num_targets + 1)).astype(np.int32)
    parts = edges.value, edges.source, row_ptr
    shape = (edges.num_targets, edges.num_sources)
    if jax.default_backend() == "cpu":
        import scipy.sparse

        matrix = scipy.sparse.csr_array(parts, shape=shape)
        expected = matrix @ x

        def seconds() -> float:
            began = time.perf_counter()
            for _ in range(STEPS):
                matrix @ x
            return time.perf_counter() - began

        return "scipy CSR", 1e6 * min(seconds() for _ in range(REPEATS)) / STEPS, expected
    import cupy  # pyright: ignore[reportMissingImports]
    import cupyx.scipy.sparse as sparse  # pyright: ignore[reportMissingImports]

    matrix = sparse.csr_matrix(tuple(map(cupy.asarray, parts)), shape=shape)
    vector = cupy.asarray(x)
    expected = (matrix @ vector).get()
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()

    def milliseconds() -> float:
        begin.record()
        for _ in range(STEPS):
            matrix @ vector
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end)

    milliseconds()
    us = 1e3 * min(milliseconds() for _ in range(REPEATS)) / STEPS
    return "cuSPARSE CSR", us, expected


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    p = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    edges = random_graph(n, p)
    x = np.random.default_rng(1).random(n).astype(np.float32)
    name, theirs, expected = of_library(edges, x)
    print(f"{n:,} x {n:,}, {len(edges):,} edges\n  {name:12} {theirs:10.1f} us", flush=True)
    decision = choose(edges, workload=Workload(accumulate=np.float32))
    layouts = dict.fromkeys((decision.layout, ELL, SlicedELL, Hybrid, Dense))
    for layout in layouts:
        stored = fitting(layout, edges)
        us = of_layout(stored, x, expected)
        mark = "  <- auto" if layout is decision.layout else ""
        print(
            f"  {layout.__name__:12} {us:10.1f} us  {theirs / us:6.2f} x the speed{mark}",
            flush=True,
        )
        del stored
    print(decision)
    # Imported here, so that products are timed where what the command needs is missing.
    import snpjax as snp
    from snpjax import rate

    # Not constant: a product that is the same in each step would be made once.
    fades = rate.Update(lambda v, x, p: {"r": 0.999 * v["r"]})
    sums = rate.Update(lambda v, x, p: {"r": x["exc"] + 1})
    network = rate.RateNetwork(
        [
            rate.RatePopulation("pre", n, fades, {"r": x}, {}),
            rate.RatePopulation("post", n, sums, {"r": 0.0}, {}),
        ],
        [rate.RateProjection("pre", "post", edges)],
        record=[],
    )
    began = time.perf_counter()
    machine = snp.lower(network).machine
    assert isinstance(machine, rate.RateMachine)
    lowered = time.perf_counter() - began

    def seconds() -> float:
        began = time.perf_counter()
        state, _ = rate.simulate(machine, steps=1000)
        jax.block_until_ready(state)
        return time.perf_counter() - began

    seconds()
    best = min(seconds() for _ in range(3))
    print(
        f"two populations: 1,000 steps in {best:.3f} s, {1e3 * best:.1f} us a step; lowered in "
        f"{lowered:.1f} s"
    )
    final, _ = rate.simulate(machine, steps=2)
    np.testing.assert_allclose(final.variables["post"]["r"], 0.999 * expected + 1, rtol=1e-4)


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# NVIDIA H200, jax 0.11.2, 2026-11-22, `python bench/rate.py 20000 0.1`:
#   20,000 x 20,000, 39,995,081 edges
#     cuSPARSE CSR      100.5 us
#     Hybrid            114.0 us    0.88 x the speed  <- auto
#     ELL               157.4 us    0.64 x the speed
#     SlicedELL         118.7 us    0.85 x the speed
#     Dense             381.2 us    0.26 x the speed
#   two populations: 1,000 steps in 0.108 s, 107.8 us a step; lowered in 5.1 s
# Of CPUs: docs/rate.md.
