"""Two populations of rate-coded neurons: what does a step cost beside the bare sparse product?

The benchmark of Dinkelbach et al. 2022: `r = sum(exc) + 1`, here with weights so small that rates
stay finite, float32. Beside it cuSPARSE (CSR, through CuPy) on a GPU or scipy.sparse on a CPU.
"""

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from figures import Anchor, Case, figure
from library import csr_product

import snpjax as snp
from snpjax import rate
from snpjax_formats import (
    ELL,
    AbstractLayout,
    Dense,
    Edges,
    Hybrid,
    SlicedELL,
    Workload,
    choose,
    fitting,
)


STEPS = 100


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


def weights_and_rates(n: int, p: float) -> tuple[Edges, np.ndarray, np.ndarray]:
    """The edges, rates, and their product in float64."""
    edges = random_graph(n, p)
    assert edges.value is not None
    x = np.random.default_rng(1).random(n).astype(np.float32)
    weights = edges.value.astype(np.float64) * x[edges.source]
    return edges, x, np.bincount(edges.target, weights=weights, minlength=n).astype(np.float32)


def beside(edges: Edges, x: np.ndarray, expected: np.ndarray) -> Anchor:
    assert edges.value is not None
    return csr_product(edges, edges.value, x, expected, STEPS)


def product(n: int, p: float, layout: type[AbstractLayout] | None) -> Case:
    """A product and the step around it, by the layout that `choose` names if none is given."""
    edges, x, expected = weights_and_rates(n, p)
    decision = choose(edges, workload=Workload(accumulate=np.float32))
    stored = fitting(layout or decision.layout, edges)
    own = jnp.asarray(x)

    @jax.jit
    def many(stored: AbstractLayout, x: jax.Array) -> jax.Array:
        def step(_: int, x: jax.Array) -> jax.Array:
            return stored.deliver(x, accumulate=jnp.float32) + 1

        return lax.fori_loop(0, STEPS, step, x)

    def check(_: jax.Array) -> float:
        once = jax.jit(lambda stored, x: stored.deliver(x, accumulate=jnp.float32))
        np.testing.assert_allclose(np.asarray(once(stored, own)), expected, rtol=1e-4)
        return STEPS

    return Case(
        lambda: many(stored, own),
        check,
        unit="us per product",
        anchor=lambda: beside(edges, x, expected),
    )


for size in (2_000, 20_000):
    for layout in (None, ELL, SlicedELL, Hybrid, Dense):
        name = "chosen" if layout is None else layout.__name__
        figure(f"rate product {size:,} x {size:,}, {name}", size, 0.1, layout, on="")(product)


@figure("rate network of 2 x 20,000, 10 %", 20_000, 0.1, on="gpu")
@figure("rate network of 2 x 2,000, 10 %", 2_000, 0.1, on="cpu")
def network(n: int, p: float) -> Case:
    edges, x, expected = weights_and_rates(n, p)
    # Not constant: a product that is the same in each step would be made once.
    fades = rate.Update(lambda v, x, p: {"r": 0.999 * v["r"]})
    sums = rate.Update(lambda v, x, p: {"r": x["exc"] + 1})
    model = rate.RateNetwork(
        [
            rate.RatePopulation("pre", n, fades, {"r": x}, {}),
            rate.RatePopulation("post", n, sums, {"r": 0.0}, {}),
        ],
        [rate.RateProjection("pre", "post", edges)],
        record=[],
    )

    def check(_: object) -> float:
        machine = snp.lower(model).machine
        assert isinstance(machine, rate.RateMachine)
        final, _ = rate.simulate(machine, steps=2)
        np.testing.assert_allclose(final.variables["post"]["r"], 0.999 * expected + 1, rtol=1e-4)
        return STEPS

    def kept(_: object):
        machine = snp.lower(model).machine
        assert isinstance(machine, rate.RateMachine)
        return lambda: rate.simulate(machine, steps=STEPS)

    return Case(
        lambda: snp.run(model, max_steps=STEPS),
        check,
        unit="us per step",
        kept=kept,
        anchor=lambda: beside(edges, x, expected),
    )
