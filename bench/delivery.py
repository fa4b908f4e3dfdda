"""Which layout delivers fastest on which graph, beside the sparse product of a well-kept library?

Graphs of n nodes with k edges into each: random, random with power-law out-degrees, and intervals.
Sources send 0 or 1. On a GPU the library is cuSPARSE (CSR, float32, through CuPy), on a CPU
scipy.sparse (CSR, int32). A call is a loop of products under `jit`, so that the time of one is that
of a product.
"""

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from figures import Anchor, Case, Missing, figure, is_cpu
from library import csr_product

from snpjax_formats import (
    COO,
    CSC,
    CSR,
    ELL,
    AbstractLayout,
    BitGather,
    Compressed,
    Edges,
    Hybrid,
    Interval,
    NotEnoughMemory,
    SlicedELL,
    choose,
    fitting,
    graphs,
)


def random(n: int, k: int) -> Edges:
    return graphs.RandomInDegree(k, 0).edges(n, n)


def power_law(n: int, k: int) -> Edges:
    """Out-degrees fall as rank^-0.65, the largest about 10^5 of 32 million; targets are random."""
    generator = np.random.default_rng(2)
    share = np.cumsum(np.arange(1, n + 1) ** -0.65)
    source = np.searchsorted(share / share[-1], generator.random(n * k)).clip(0, n - 1)
    source = generator.permutation(n)[source]
    key = np.unique(generator.integers(0, n, n * k) * np.int64(n) + source)
    return Edges((key % n).astype(np.int32), (key // n).astype(np.int32), None, n, n)


def intervals(n: int, k: int) -> Edges:
    start = np.random.default_rng(3).integers(0, n - k, n)
    return graphs.Intervals(start, start + k, by="target").edges(n, n)


GRAPHS = {"random": random, "power-law": power_law, "intervals": intervals}
LAYOUTS = (BitGather, ELL, SlicedELL, Hybrid, Compressed, CSC, COO, CSR)


def deliver(graph: str, layout: type[AbstractLayout] | None) -> Case:
    """One product, by the layout that `choose` names if none is given."""
    n, k, loops = (100_000, 128, 5) if is_cpu() else (1_000_000, 32, 200)
    # Parallel edges of the power-law graph are one, so that it has a few less.
    edges = GRAPHS[graph](n, k).canonical()
    x = (np.random.default_rng(1).random(n) < 0.3).astype(np.int32)
    expected = np.bincount(edges.target, weights=x[edges.source], minlength=n).astype(np.int32)
    try:
        stored = fitting(layout or choose(edges, max_input=1).layout, edges, max_input=1)
    except NotEnoughMemory as error:
        raise Missing(str(error)) from None
    own = jnp.asarray(x)

    @jax.jit
    def many(stored: AbstractLayout, x: jax.Array) -> jax.Array:
        def product(_: int, x: jax.Array) -> jax.Array:
            return (stored.deliver(x, accumulate=jnp.int32) >> 3) & 1

        return lax.fori_loop(0, loops, product, x)

    def check(_: jax.Array) -> float:
        product = jax.jit(lambda stored, x: stored.deliver(x, accumulate=jnp.int32))
        assert np.array_equal(np.asarray(product(stored, own)), expected)
        return loops

    def anchor() -> Anchor:
        value = np.ones(len(edges), np.int32 if is_cpu() else np.float32)
        return csr_product(edges, value, x, expected, loops)

    return Case(lambda: many(stored, own), check, unit="ms per product", anchor=anchor)


for name in GRAPHS:
    figure(f"deliver {name}, chosen", name, None)(deliver)
    for layout in (*LAYOUTS, *([Interval] if name == "intervals" else [])):
        figure(f"deliver {name}, {layout.__name__}", name, layout, on="")(deliver)
