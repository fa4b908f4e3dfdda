"""Which layout delivers fastest on which graph, beside the sparse product of a well-kept library?

Graphs of n nodes with k edges into each: random, random with power-law out-degrees, and intervals.
Sources send 0 or 1. On a GPU the library is cuSPARSE (CSR, float32, through CuPy), on a CPU
scipy.sparse (CSR, int32). Times are of one product, the least of several loops of many; the answer
is checked first.

    PYTHONPATH=.:formats python bench/delivery.py [n k]
"""

import sys
import time

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np

from snpjax_formats import (
    COO,
    CSC,
    CSR,
    ELL,
    BitGather,
    Compressed,
    Edges,
    Hybrid,
    Interval,
    LayoutTooLarge,
    SlicedELL,
    choose,
    fitting,
    graphs,
)


REPEATS = 7


def power_law(n: int, num_edges: int) -> Edges:
    """Out-degrees fall as rank^-0.65, the largest about 10^5 of 32 million; targets are random."""
    random = np.random.default_rng(2)
    share = np.cumsum(np.arange(1, n + 1) ** -0.65)
    source = np.searchsorted(share / share[-1], random.random(num_edges)).clip(0, n - 1)
    source = random.permutation(n)[source]
    key = np.unique(random.integers(0, n, num_edges) * np.int64(n) + source)
    return Edges((key % n).astype(np.int32), (key // n).astype(np.int32), None, n, n)


def intervals(n: int, k: int) -> Edges:
    start = np.random.default_rng(3).integers(0, n - k, n)
    return graphs.Intervals(start, start + k, by="target").edges(n, n)


@jax.jit
def product(stored, x):
    return stored.deliver(x, accumulate=jnp.int32)


def ours(stored, x: np.ndarray, expected: np.ndarray, loops: int) -> float:
    """Milliseconds of one product."""
    assert np.array_equal(np.asarray(product(stored, jnp.asarray(x))), expected)

    @jax.jit
    def many(stored, x):
        step = lambda _, x: (stored.deliver(x, accumulate=jnp.int32) >> 3) & 1  # noqa: E731
        return lax.fori_loop(0, loops, step, x)

    def once() -> float:
        began = time.perf_counter()
        many(stored, jnp.asarray(x)).block_until_ready()
        return time.perf_counter() - began

    once()
    return min(once() for _ in range(REPEATS)) / loops * 1e3


def theirs(edges: Edges, x: np.ndarray, expected: np.ndarray, loops: int) -> tuple[str, float]:
    row_ptr = np.searchsorted(edges.target, np.arange(edges.num_targets + 1))
    if jax.default_backend() == "cpu":
        import scipy.sparse

        value = np.ones(len(edges), np.int32)
        matrix = scipy.sparse.csr_array((value, edges.source, row_ptr), shape=(len(expected),) * 2)
        assert np.array_equal(matrix @ x, expected)

        def once() -> float:
            began = time.perf_counter()
            for _ in range(loops):
                matrix @ x
            return (time.perf_counter() - began) / loops * 1e3

        return "scipy CSR", min(once() for _ in range(REPEATS))
    import cupy  # pyright: ignore[reportMissingImports]
    import cupyx.scipy.sparse as sparse  # pyright: ignore[reportMissingImports]

    value = cupy.ones(len(edges), cupy.float32)
    parts = (value, cupy.asarray(edges.source), cupy.asarray(row_ptr.astype(np.int32)))
    matrix = sparse.csr_matrix(parts, shape=(len(expected),) * 2)
    vector = cupy.asarray(x.astype(np.float32))
    assert np.array_equal((matrix @ vector).get(), expected)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()

    def loop() -> float:
        begin.record()
        for _ in range(loops):
            matrix @ vector
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end) / loops

    return "cuSPARSE CSR", min(loop() for _ in range(REPEATS))


def main() -> None:
    is_cpu = jax.default_backend() == "cpu"
    given = [int(number) for number in sys.argv[1:]]
    n, k = given or ((100_000, 128) if is_cpu else (1_000_000, 32))
    loops = 5 if is_cpu else 20
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    for name, edges in (
        ("random", graphs.RandomInDegree(k, 0).edges(n, n)),
        ("power-law out-degrees", power_law(n, n * k)),
        ("intervals", intervals(n, k)),
    ):
        edges = edges.canonical()
        x = (np.random.default_rng(1).random(n) < 0.3).astype(np.int32)
        expected = np.bincount(edges.target, weights=x[edges.source], minlength=n).astype(np.int32)
        degrees = f"largest degrees {edges.max_in_degree():,} in, {edges.max_out_degree():,} out"
        print(f"\n{name}: {n:,} nodes, {len(edges):,} edges, {degrees}")
        # Parallel edges of the power-law graph are one, so that it has a few less.
        peer, time_of_peer = theirs(edges, x, expected, loops)
        print(f"  {peer:14} {time_of_peer:9.4f} ms")
        layouts = [BitGather, ELL, SlicedELL, Hybrid, Compressed, CSC, COO, CSR]
        if name == "intervals":
            layouts.insert(0, Interval)
        chosen = choose(edges, max_input=1).layout
        for layout in layouts:
            try:
                stored = fitting(layout, edges, max_input=1)
            except LayoutTooLarge:
                print(f"  {layout.__name__:14} does not fit: {layout.bytes_needed(edges):,} bytes")
                continue
            ms = ours(stored, x, expected, loops)
            mark = "  <- choose" if layout == chosen else ""
            print(
                f"  {layout.__name__:14} {ms:9.4f} ms  {time_of_peer / ms:6.2f} x the speed  "
                f"{stored.nbytes:13,} bytes{mark}",
                flush=True,
            )
            del stored


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# Tables with machine, versions and date: bench/README.md.
