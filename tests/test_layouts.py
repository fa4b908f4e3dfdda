"""Every layout against the dense oracle: sums, transposes, batches, derivatives, round trips,
bytes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from snpjax_formats import ELL, AbstractLayout, Dense, Edges, bucket, ell


LAYOUTS: list[type[AbstractLayout]] = [Dense, ELL]


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
    stored, dense = layout.from_edges(edges), oracle(edges)
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
    stored = layout.from_edges(edges)
    assert stored.to_dense().tolist() == oracle(edges).tolist()
    again = layout.from_edges(stored.edges())
    assert again.to_dense().tolist() == stored.to_dense().tolist()
    out = stored.edges()
    keys = list(zip(out.target.tolist(), out.source.tolist(), strict=True))
    assert keys == sorted(set(keys)), "canonical: sorted by (target, source), no duplicates"
    assert stored.num_sources == edges.num_sources and stored.num_targets == edges.num_targets


@pytest.mark.parametrize("layout", LAYOUTS)
@given(graphs())
def test_bytes_are_known_before_building(layout, edges):
    stored = layout.from_edges(edges)
    assert stored.nbytes == sum(leaf.nbytes for leaf in jax.tree.leaves(stored))
    assert stored.nbytes == layout.bytes_needed(edges.canonical())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_vmap_grad_and_narrow_inputs(layout, getkey):
    pairs = [(s, t) for s in range(6) for t in range(5) if (s * t + s) % 3]
    weights = [1 + (s + t) % 4 for s, t in pairs]
    edges = edges_of(pairs, weights, 6, 5)
    floats = Edges(edges.source, edges.target, edges.value.astype(np.float32), 6, 5)
    stored, dense = layout.from_edges(floats), oracle(edges).astype(np.float32)
    x = jax.random.normal(getkey(), (6, 4))

    def deliver(x):
        return stored.deliver(x, accumulate=jnp.float32)

    expected = dense @ x
    np.testing.assert_allclose(jax.vmap(deliver, -1, -1)(x), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(deliver)(x), expected, rtol=1e-5)
    g = jax.random.normal(getkey(), (5,))
    _, pullback = jax.vjp(deliver, x[:, 0])
    np.testing.assert_allclose(pullback(g)[0], dense.T @ g, rtol=1e-5, atol=1e-5)
    transposed = stored.deliver_transposed(g, accumulate=jnp.float32)
    np.testing.assert_allclose(transposed, dense.T @ g, rtol=1e-5, atol=1e-5)
    _, tangent = jax.jvp(deliver, (x[:, 0],), (x[:, 1],))
    np.testing.assert_allclose(tangent, expected[:, 1], rtol=1e-5, atol=1e-5)
    # 8-bit inputs are summed in the accumulator: 127 * 4 + ... does not wrap
    narrow = layout.from_edges(edges).deliver(jnp.full(6, 127, jnp.int8), accumulate=jnp.int32)
    assert narrow.tolist() == (oracle(edges).sum(axis=1) * 127).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
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

    def product(stored):
        return jnp.sum(g * stored.deliver(x, accumulate=jnp.float32))

    gradient = jax.tree.leaves(jax.grad(product, allow_int=True)(stored))
    products = stored.edge_products(x, g)
    cotangent = next(leaf for leaf in gradient if leaf.dtype == jnp.float32)
    assert products.shape == cotangent.shape
    np.testing.assert_allclose(products, cotangent, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_many_slots_loop_and_hub(layout):
    """A hub with more sources than are unrolled, on both forms of the ELL sum."""
    edges = edges_of([(s, 0) for s in range(100)] + [(7, 3)], None, 100, 300)
    x = jnp.arange(100, dtype=jnp.int32)
    stored = layout.from_edges(edges)
    y = stored.deliver(x, accumulate=jnp.int32)
    assert y[:4].tolist() == [4950, 0, 0, 7] and y.shape == (300,)
    if isinstance(stored, ELL):
        assert ell._fused(stored, x, jnp.int32).tolist() == y.tolist()


def test_worked_example_of_sorting_three_numbers():
    """The block from s to o of the sorting system: y = T x for x = 0 1 0."""
    edges = edges_of([(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)], None, 3, 3)
    for layout in LAYOUTS:
        stored = layout.from_edges(edges)
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
        (lambda: ELL(jnp.zeros((1, 2), int), None, 3, 3), "`sources` has 2 columns"),
        (lambda: ELL(jnp.zeros((1, 3), int), jnp.zeros((2, 3)), 3, 3), "`values` has shape"),
    ],
)
def test_what_does_not_fit_is_refused(build, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        build()
