"""Every layout against the dense oracle: sums, transposes, batches, derivatives, round trips,
bytes."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from snpjax_formats import (
    CSR,
    ELL,
    AbstractLayout,
    Compressed,
    Dense,
    Edges,
    Float32Dense,
    Int8Dense,
    TwoWay,
    bucket,
    ell,
)


#: The largest |x| that the tests deliver.
MAX_INPUT = 200
LAYOUTS: list[type[AbstractLayout]] = [Dense, Int8Dense, Float32Dense, ELL, Compressed, CSR, TwoWay]
TRAINED = [Dense, ELL, Compressed, CSR, Float32Dense, TwoWay]  # their values have a cotangent
FLOATS = [layout for layout in LAYOUTS if layout is not Int8Dense]


@eqx.filter_jit
def products(stored, x, g):
    y = stored.deliver(x, accumulate=jnp.int32)
    return y, stored.deliver_transposed(g, accumulate=jnp.int32)


def edges_of(pairs, weights, num_sources, num_targets) -> Edges:
    source = np.asarray([s for s, _ in pairs], np.int32)
    target = np.asarray([t for _, t in pairs], np.int32)
    value = None if weights is None else np.asarray(weights, np.int32)
    return Edges(source, target, value, num_sources, num_targets)


@st.composite
def graphs(draw) -> Edges:
    """Graphs with empty rows, isolated nodes, parallel edges and no nodes at all, in two sizes
    only."""
    num_sources, num_targets = draw(st.sampled_from([(5, 7), (8, 8), (0, 3), (3, 0)]))
    pair = st.tuples(
        st.integers(0, max(num_sources - 1, 0)), st.integers(0, max(num_targets - 1, 0))
    )
    is_empty = num_sources == 0 or num_targets == 0
    pairs = [] if is_empty else draw(st.lists(pair, max_size=7))
    weight = st.integers(-3, 3).filter(bool)
    weights = draw(st.none() | st.lists(weight, min_size=len(pairs), max_size=len(pairs)))
    return edges_of(pairs, weights, num_sources, num_targets)


def oracle(edges: Edges) -> np.ndarray:
    dense = np.zeros((edges.num_targets, edges.num_sources), np.int64)
    value = np.ones(len(edges), int) if edges.value is None else edges.value
    for s, t, v in zip(edges.source, edges.target, value, strict=True):
        dense[t, s] += v
    return dense


@pytest.mark.parametrize("layout", LAYOUTS)
@given(graphs(), st.integers(0, 2**31))
def test_products_equal_the_oracle(layout, edges, seed):
    stored, dense = layout.from_edges(edges, max_input=MAX_INPUT), oracle(edges)
    random = np.random.default_rng(seed)
    for batch in [(), (3,)]:
        x = random.integers(-50, 50, (edges.num_sources, *batch)).astype(np.int32)
        g = random.integers(-50, 50, (edges.num_targets, *batch)).astype(np.int32)
        y, z = products(stored, jnp.asarray(x), jnp.asarray(g))
        assert y.dtype == jnp.int32 and y.tolist() == np.tensordot(dense, x, 1).tolist()
        assert z.dtype == jnp.int32 and z.tolist() == np.tensordot(dense.T, g, 1).tolist()
        # <g, W x> = <W^T g, x>
        assert (g * np.asarray(y)).sum() == (np.asarray(z) * x).sum()


@pytest.mark.parametrize("layout", LAYOUTS)
@given(graphs())
def test_round_trip(layout, edges):
    stored = layout.from_edges(edges, max_input=MAX_INPUT)
    assert stored.to_dense().tolist() == oracle(edges).tolist()
    again = layout.from_edges(stored.edges(), max_input=MAX_INPUT)
    assert again.to_dense().tolist() == stored.to_dense().tolist()
    out = stored.edges()
    keys = list(zip(out.target.tolist(), out.source.tolist(), strict=True))
    assert keys == sorted(set(keys)), "canonical: sorted by (target, source), no duplicates"
    assert stored.num_sources == edges.num_sources and stored.num_targets == edges.num_targets


@pytest.mark.parametrize("layout", LAYOUTS)
@given(graphs())
def test_bytes_are_known_before_building(layout, edges):
    stored = layout.from_edges(edges, max_input=MAX_INPUT)
    assert stored.nbytes == sum(leaf.nbytes for leaf in jax.tree.leaves(stored))
    assert stored.nbytes == layout.bytes_needed(edges.canonical())


def some_graph(dtype=np.float32) -> tuple[Edges, np.ndarray]:
    pairs = [(s, t) for s in range(6) for t in range(5) if (s * t + s) % 3]
    edges = edges_of(pairs, [1 + (s + t) % 4 for s, t in pairs], 6, 5)
    edges = Edges(edges.source, edges.target, edges.value.astype(dtype), 6, 5)
    return edges, oracle(edges).astype(dtype)


@pytest.mark.parametrize("layout", FLOATS)
def test_every_transformation(layout, getkey):
    """The primitive under vmap on any axis, nested vmap, jvp, vjp, hessian, scan, checkpoint."""
    edges, dense = some_graph()
    stored = layout.from_edges(edges)
    x = jax.random.normal(getkey(), (6, 4, 3))
    g = jax.random.normal(getkey(), (5,))

    def deliver(x):
        return stored.deliver(x, accumulate=jnp.float32)

    def same(actual, expected):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)

    product = np.einsum("ts,sbc->tbc", dense, x)
    same(jax.jit(deliver)(x), product)
    for axis in (1, 2):
        same(jax.vmap(deliver, axis, axis)(x), product)
    same(jax.vmap(jax.vmap(deliver, 1, 1), 1, 1)(x), product)
    same(jax.vmap(deliver, 1, 0)(x), np.moveaxis(product, 1, 0))
    one = x[:, 0, 0]
    same(jax.vjp(deliver, one)[1](g)[0], dense.T @ g)
    same(jax.jvp(deliver, (one,), (x[:, 1, 0],))[1], product[:, 1, 0])
    same(jax.linear_transpose(deliver, one)(g)[0], dense.T @ g)

    def loss(x):
        return jnp.sum(deliver(x) ** 3)

    expected = 6 * dense.T @ np.diag(dense @ one) @ dense
    same(jax.hessian(loss)(one) / 100, expected / 100)
    same(jax.jacfwd(jax.grad(loss))(one) / 100, expected / 100)
    gradients = jax.vmap(jax.grad(loss), 1)(x[..., 0])
    same(gradients, jnp.stack([jax.grad(loss)(x[:, i, 0]) for i in range(4)]))
    same(jax.grad(lambda x: jnp.sum(jax.vmap(loss, 1)(x)))(x[..., 0]), gradients.T)
    same(jax.grad(jax.checkpoint(loss))(one), jax.grad(loss)(one))
    same(jax.lax.scan(lambda c, x: (c, deliver(x)), 0, x[..., 0].T)[1], product[..., 0].T)
    transposed = stored.deliver_transposed(g, accumulate=jnp.float32)
    same(transposed, dense.T @ g)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_narrow_inputs_are_summed_in_the_accumulator(layout):
    edges, dense = some_graph(np.int32)
    stored = layout.from_edges(edges, max_input=127)
    y = stored.deliver(jnp.full(6, 127, jnp.int8), accumulate=jnp.int32)
    assert y.tolist() == (dense.sum(axis=1) * 127).tolist()


@pytest.mark.parametrize("layout", [Dense, Int8Dense, ELL, Compressed, CSR, TwoWay])
def test_large_and_negative_counts_are_exact(layout):
    """Counts that int8, bfloat16 and float32 do not hold."""
    edges, dense = some_graph(np.int32)
    x = np.asarray([2**24 + 1, -(2**25) - 3, 257, -1, 0, 2**21 + 5], np.int32)
    y = layout.from_edges(edges).deliver(jnp.asarray(x), accumulate=jnp.int32)
    assert y.tolist() == (dense.astype(np.int64) @ x).tolist()


def test_gradient_of_a_two_way_layout_does_not_scatter():
    edges, _ = some_graph()
    x = jnp.ones(6)

    def gradient(stored):
        def loss(x):
            return jnp.sum(stored.deliver(x, accumulate=jnp.float32) ** 2)

        return jax.jit(jax.grad(loss)).lower(x).as_text()

    assert "scatter" not in gradient(TwoWay.from_edges(edges))
    assert "scatter" in gradient(ELL.from_edges(edges)), "else this test could not fail"


@pytest.mark.parametrize("layout", TRAINED)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_edge_products_are_the_cotangent_of_the_values(layout, batch, getkey):
    pairs = [(0, 1), (2, 1), (3, 0), (4, 6)]
    floats = Edges(
        np.asarray([s for s, _ in pairs], np.int32),
        np.asarray([t for _, t in pairs], np.int32),
        np.asarray([1.0, 2.0, 3.0, 4.0], np.float32),
        5,
        7,
    )
    stored = layout.from_edges(floats)
    x = jax.random.normal(getkey(), (5, *batch))
    g = jax.random.normal(getkey(), (7, *batch))

    def product(values):
        changed = eqx.tree_at(lambda stored: stored.values, stored, values)
        return jnp.sum(g * changed.deliver(x, accumulate=jnp.float32))

    # The kernel differentiated by JAX itself is the oracle of the primitive's rule.
    def kernel(values):
        changed = eqx.tree_at(lambda stored: stored.values, stored, values)
        return jnp.sum(g * changed.multiply(x, accumulate=jnp.float32))

    cotangent = jax.grad(product)(stored.values)
    assert cotangent.shape == stored.values.shape
    np.testing.assert_allclose(cotangent, jax.grad(kernel)(stored.values), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(cotangent, stored.edge_products(x, g), rtol=1e-4, atol=1e-6)


def test_weights_of_narrow_layouts_are_not_trained():
    edges, _ = some_graph(np.int32)
    with pytest.raises(ValueError, match="not trained"):
        Int8Dense.from_edges(edges).edge_products(jnp.ones(6), jnp.ones(5))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_many_slots_loop_and_hub(layout):
    """A hub with more sources than are unrolled, on both forms of the ELL sum."""
    edges = edges_of([(s, 0) for s in range(100)] + [(7, 3)], None, 100, 300)
    x = jnp.arange(100, dtype=jnp.int32)
    stored = layout.from_edges(edges, max_input=MAX_INPUT)
    y = stored.deliver(x, accumulate=jnp.int32)
    assert y[:4].tolist() == [4950, 0, 0, 7] and y.shape == (300,)
    if isinstance(stored, ELL):
        assert ell._fused(stored.sources, stored.values, x, jnp.int32).tolist() == y.tolist()


def test_worked_example_of_sorting_three_numbers():
    """The block from s to o of the sorting system: y = T x for x = 0 1 0."""
    edges = edges_of([(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)], None, 3, 3)
    for layout in LAYOUTS:
        stored = layout.from_edges(edges, max_input=MAX_INPUT)
        assert stored.to_dense().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
        y = stored.deliver(jnp.asarray([0, 1, 0], jnp.int32), accumulate=jnp.int32)
        assert y.tolist() == [0, 1, 1]
        assert stored.num_edges == 6


def test_buckets():
    assert [bucket(n) for n in (0, 8, 9, 12, 13, 17, 25, 33, 49, 97)] == [
        8, 8, 12, 12, 16, 24, 32, 48, 64, 128,
    ]  # fmt: skip
    assert [bucket(n, at_least=1) for n in range(1, 9)] == [1, 2, 3, 4, 6, 6, 8, 8]
    for n in range(1, 2000):
        assert n <= bucket(n) and (n < 8 or 2 * n >= bucket(n) or bucket(n) == 8)
        assert bucket(bucket(n)) == bucket(n)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: edges_of([(5, 0)], None, 5, 5), "Edge 0 has source 5, but num_sources is 5"),
        (lambda: edges_of([(0, 0), (0, -1)], None, 5, 5), "Edge 1 has target -1"),
        (lambda: edges_of([(0, 0)], [1, 2], 5, 5), "`value` has 2 entries"),
        (lambda: edges_of([], None, 2**31, 1), "does not fit int32"),
        (lambda: Edges(np.zeros(1, int), np.zeros(2, int), None, 3, 3), "`source` has 1 entries"),
        (lambda: Dense(jnp.zeros((2, 3)), 2, 3), "`values` has shape"),
        (lambda: Int8Dense.from_edges(edges_of([(0, 0)], [128], 2, 2)), "weight is above 127"),
        (lambda: Int8Dense.from_edges(edges_of([], None, 200_000, 1)), "More than 133144 rows"),
        (lambda: Float32Dense.from_edges(edges_of([(0, 0)], [2], 2, 2)), "Sums may pass 2^24"),
        (lambda: CSR(jnp.zeros(3, int), jnp.zeros(8, int), None, 3, 3), "`row_ptr` has shape"),
        (lambda: ELL(jnp.zeros((1, 2), int), None, 3, 3), "`sources` has 2 columns"),
        (lambda: ELL(jnp.zeros((1, 3), int), jnp.zeros((2, 3)), 3, 3), "`values` has shape"),
    ],
)
def test_what_does_not_fit_is_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()
