"""Every layout against the dense oracle: sums, transposes, batches, derivatives, round trips,
bytes."""

import re
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from snpjax_formats import (
    BSR,
    COO,
    CSC,
    CSR,
    ELL,
    ELLPACKR,
    LAYOUTS,
    AbstractLayout,
    BitDense,
    BitGather,
    Compressed,
    Dense,
    Edges,
    Float32Dense,
    Hybrid,
    Int8Dense,
    Interval,
    NotEnoughMemory,
    SlicedELL,
    Sum,
    TwoWay,
    bsr,
    bucket,
    ell,
    fitting,
)
from snpjax_formats.stored import buckets, entry_bucket
from tests.support.helpers import many
from tests.support.layouts import check_products, dense_of, products


#: The largest |x| that the tests deliver.
MAX_INPUT = 200

# What a layout declines; a new one is tested in everything.
INTEGER_ONLY = {Int8Dense, BitDense, BitGather, Interval}  # no floats, and not trained
ISO_ONLY: set[type[AbstractLayout]] = {BitDense, BitGather, Interval}  # no weights
BOUNDED = {Float32Dense}  # needs `max_input`, and is exact up to it only
NONNEGATIVE = {BitDense, BitGather}  # with `max_input` they deliver 0 to that


def all_but(*declining: set[type[AbstractLayout]]) -> list[type[AbstractLayout]]:
    return [layout for layout in LAYOUTS if not any(layout in some for some in declining)]


FLOATS = all_but(INTEGER_ONLY)
TRAINED = all_but(INTEGER_ONLY, ISO_ONLY)
UNBOUNDED = all_but(BOUNDED)


def mostly_slow(layouts: list[type[AbstractLayout]]) -> list[Any]:
    """Those that differ most, and the others as a sweep."""
    some = {Dense, ELL, CSR, Sum}
    return [x if x in some else pytest.param(x, marks=pytest.mark.slow) for x in layouts]


def bound(layout: type[AbstractLayout], most: int = MAX_INPUT) -> int | None:
    """The `max_input` under which the layout delivers x of both signs."""
    return None if layout in NONNEGATIVE else most


def edges_of(pairs, weights, num_sources, num_targets) -> Edges:
    source = np.asarray([s for s, _ in pairs], np.int32)
    target = np.asarray([t for _, t in pairs], np.int32)
    value = None if weights is None else np.asarray(weights, np.int32)
    return Edges(source, target, value, num_sources, num_targets)


#: Sources and targets; each is a compilation of every layout.
SIZES = [(5, 7)]
SIZES_WITHOUT_NODES = [(0, 3), (3, 0)]


@st.composite
def graphs(draw, sizes=SIZES + SIZES_WITHOUT_NODES) -> Edges:
    """Graphs with empty rows, isolated nodes, parallel edges and no nodes at all, in few sizes."""
    num_sources, num_targets = draw(st.sampled_from(sizes))
    pair = st.tuples(
        st.integers(0, max(num_sources - 1, 0)), st.integers(0, max(num_targets - 1, 0))
    )
    is_empty = num_sources == 0 or num_targets == 0
    pairs = [] if is_empty else draw(st.lists(pair, max_size=7))
    weight = st.integers(-3, 3).filter(bool)
    weights = draw(st.none() | st.lists(weight, min_size=len(pairs), max_size=len(pairs)))
    return edges_of(pairs, weights, num_sources, num_targets)


def typed(edges: Edges, dtype) -> Edges:
    """The graph with weights of that type, if it has weights."""
    return edges if edges.value is None else replace(edges, value=edges.value.astype(dtype))


def suited(layout: type[AbstractLayout], edges: Edges) -> Edges:
    """The graph without what the layout declines."""
    if layout not in ISO_ONLY:
        return edges
    edges = edges.canonical()
    return Edges(edges.source, edges.target, None, edges.num_sources, edges.num_targets)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=many(45, part=5))
@given(graphs(SIZES), st.integers(0, 2**31))
def test_products_equal_the_oracle(layout, edges, seed):
    check_graph(layout, edges, seed)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=5)
@given(graphs(SIZES_WITHOUT_NODES), st.integers(0, 2**31))
def test_products_of_no_nodes(layout, edges, seed):
    check_graph(layout, edges, seed)


def check_graph(layout, edges, seed):
    edges = suited(layout, edges)
    stored = layout.from_edges(edges, max_input=bound(layout))
    check_products(stored, dense_of(edges), most=MAX_INPUT, seed=seed)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=many(45, part=5))
@given(graphs())
def test_round_trip(layout, edges):
    graph = suited(layout, edges)
    for edges in [graph] if layout in INTEGER_ONLY else [graph, typed(graph, np.float32)]:
        stored = layout.from_edges(edges, max_input=bound(layout))
        assert stored.to_dense().tolist() == dense_of(edges).tolist()
        out, weight = stored.edges(), edges.canonical().value
        again = layout.from_edges(out, max_input=bound(layout))
        assert again.to_dense().tolist() == stored.to_dense().tolist()
        keys = list(zip(out.target.tolist(), out.source.tolist(), strict=True))
        assert keys == sorted(set(keys)), "canonical: sorted by (target, source), no duplicates"
        assert stored.num_sources == edges.num_sources and stored.num_targets == edges.num_targets
        if out.value is not None:
            assert weight is not None and out.value.dtype == weight.dtype
        elif weight is not None:  # integers that are all 1 may be none
            assert weight.dtype == np.int32 and (weight[weight != 0] == 1).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=10)
@given(graphs())
def test_bytes_are_known_before_building(layout, edges):
    edges = suited(layout, edges)
    stored = layout.from_edges(edges, max_input=bound(layout))
    assert stored.nbytes == layout.bytes_needed(edges.canonical())


#: Bytes without padding (specs/formats.md, section 3): of `e` edges with weights of `v` bytes, of
#: which a source has at most `out` and a target at most `into`, among `s` sources and `t` targets
#: that 16 bits number.
FORMULAS = {
    Dense: lambda e, v, out, into, s, t: s * t * (v or 4),
    Int8Dense: lambda e, v, out, into, s, t: (s + -s % 4) * (t + -t % 4),
    Float32Dense: lambda e, v, out, into, s, t: 4 * s * t,
    ELL: lambda e, v, out, into, s, t: into * t * (2 + v),
    ELLPACKR: lambda e, v, out, into, s, t: into * t * (2 + v) + 4 * t,
    SlicedELL: lambda e, v, out, into, s, t: e * (2 + v) + 4 * t,
    Hybrid: lambda e, v, out, into, s, t: e * (2 + v),
    Compressed: lambda e, v, out, into, s, t: out * s * (2 + v),
    CSR: lambda e, v, out, into, s, t: 4 * (t + 1) + e * (2 + v),
    CSC: lambda e, v, out, into, s, t: 4 * (s + 1) + e * (4 + v),
    COO: lambda e, v, out, into, s, t: e * (4 + v),
    BSR: lambda e, v, out, into, s, t: -(-s // 16) * -(-t // 16) * (8 + 256 * (v or 1)),
    TwoWay: lambda e, v, out, into, s, t: into * t * (2 + v) + out * s * (6 if v else 2),
    BitDense: lambda e, v, out, into, s, t: -(-s // 32) * t * 4,
    BitGather: lambda e, v, out, into, s, t: into * t * 2,
    Interval: lambda e, v, out, into, s, t: 8 * into * t,  # random edges: hardly a run of two
    Sum: lambda e, v, out, into, s, t: into * t * (2 + v),
}
PADDED = {Dense: 1, Int8Dense: 1, Float32Dense: 1, COO: 17 / 16, CSC: 17 / 16, CSR: 17 / 16}
PADDED[BitDense] = 1


@pytest.mark.parametrize("dtype", [None, np.int8, np.int64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bytes_follow_the_formulas(layout, dtype):
    """5,000 edges, which a bucket of powers would pad to 6,144; a tile everywhere."""
    pair = np.random.default_rng(0).choice(300 * 500, 5000, replace=False)
    value = None if dtype is None else np.full(5000, 2, dtype)
    edges = Edges(pair % 500, pair // 500, value, 500, 300)
    stored = layout.from_edges(suited(layout, edges), max_input=bound(layout))
    value_bytes = 0 if dtype is None or layout in ISO_ONLY else min(np.dtype(dtype).itemsize, 4)
    degrees = edges.max_out_degree(), edges.max_in_degree()
    least = FORMULAS[layout](5000, value_bytes, *degrees, 500, 300)
    assert least <= stored.nbytes <= PADDED.get(layout, 1.5) * least
    assert stored.nbytes == layout.bytes_needed(edges.canonical())


#: One more source or target than 16 bits number besides the padding, and one and two fewer.
LAST = [pytest.param(65_534, marks=pytest.mark.slow), 65_535, 65_536]
STRUCTURED = (Dense, Int8Dense, Float32Dense, BSR, BitDense, Interval)


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout not in STRUCTURED])
@pytest.mark.parametrize("size", LAST)
def test_indices_of_the_last_nodes(layout, size):
    """Many and few of both, with padding, and edges of the first and the last node of each."""
    ends = np.asarray([0, 1, size - 2, size - 1, size - 1], np.int32)
    few = np.asarray([2, 0, 0, 1, 2], np.int32)
    for edges in (Edges(ends, few, None, size, 3), Edges(few, ends, None, 3, size)):
        stored = layout.from_edges(suited(layout, edges), max_input=bound(layout))
        assert stored.nbytes == layout.bytes_needed(edges.canonical())
        x = np.arange(1, edges.num_sources + 1, dtype=np.int32) % 7
        g = np.arange(1, edges.num_targets + 1, dtype=np.int32) % 5
        y = np.bincount(edges.target, x[edges.source], minlength=edges.num_targets)
        back = np.bincount(edges.source, g[edges.target], minlength=edges.num_sources)
        for actual, wanted in zip(products(stored, [x], [g]), (y, back), strict=True):
            assert np.array_equal(actual[0], wanted)
        found, expected = stored.edges().canonical(), edges.canonical()
        assert found.source.dtype == found.target.dtype == np.int32
        assert np.array_equal(found.source, expected.source)
        assert np.array_equal(found.target, expected.target)


def test_indices_take_16_bits_where_they_suffice():
    edges = edges_of([(0, 0)], None, 65_535, 2)
    assert ELL.from_edges(edges).sources.dtype == np.uint16
    assert ELL.from_edges(edges.resized(65_536, 2)).sources.dtype == np.int32
    assert Compressed.from_edges(edges.resized(65_536, 2)).targets.dtype == np.uint16


#: Layouts with and without their options, each of which a large graph uses. Those whose arrays are
#: alike in small graphs and large ones are a sweep.
ALIKE = {Dense, Float32Dense, ELLPACKR, Compressed, CSC, COO, TwoWay}
VARIANTS = [
    *(pytest.param(x, {}, marks=[pytest.mark.slow] * (x in ALIKE)) for x in LAYOUTS),
    (SlicedELL, {"num_slices": 1}),
    (SlicedELL, {"num_slices": 3}),
    (Hybrid, {"width": 0}),
    (Hybrid, {"width": 3}),
    (Hybrid, {"width": 500}),
    (BSR, {"tile": 5}),
    (BSR, {"tile": 40}),
]


def large_graph(dtype) -> Edges:
    """Above the size up to which small graphs share compilations: empty rows, one hub each way,
    parallel edges, and in-degrees from 1 to 30."""
    random = np.random.default_rng(0)
    degree = random.geometric(0.15, 260).clip(max=30)
    degree[::7] = 0
    source = np.concatenate([random.integers(0, 310, degree.sum()), np.arange(300), [9] * 250])
    target = np.concatenate([np.arange(260).repeat(degree), [11] * 300, np.arange(250)])
    value = random.integers(-9, 10, len(source))
    value[value == 0] = 1
    return Edges(source.astype(np.int32), target.astype(np.int32), value.astype(dtype), 310, 260)


@pytest.mark.parametrize("layout, options", VARIANTS)
def test_large_graph(layout, options):
    edges = suited(layout, large_graph(np.int32))
    stored = layout.from_edges(edges, max_input=bound(layout, 1000), **options)
    dense = dense_of(edges)
    assert stored.to_dense().tolist() == dense.tolist()
    assert stored.nbytes == layout.bytes_needed(edges.canonical(), **options)
    random = np.random.default_rng(1)
    x, g = (random.integers(-999, 1000, (n, 2)).astype(np.int32) for n in (310, 260))
    (y,), (z,) = products(stored, [x], [g])
    assert y.tolist() == (dense @ x).tolist() and z.tolist() == (dense.T @ g).tolist()


@pytest.mark.parametrize("layout", [SlicedELL, Hybrid, BSR])
def test_cotangent_of_weights_in_several_parts(layout, getkey):
    stored = layout.from_edges(large_graph(np.float32))
    x, g = (jax.random.normal(getkey(), (n,)) for n in (310, 260))
    same_cotangents(stored, x, g)


def some_graph(dtype=np.float32) -> tuple[Edges, np.ndarray]:
    pairs = [(s, t) for s in range(6) for t in range(5) if (s * t + s) % 3]
    edges = edges_of(pairs, [1 + (s + t) % 4 for s, t in pairs], 6, 5)
    edges = Edges(edges.source, edges.target, edges.value.astype(dtype), 6, 5)
    return edges, dense_of(edges).astype(dtype)


@pytest.mark.parametrize("layout", mostly_slow(FLOATS))
def test_every_transformation(layout, getkey):
    """The primitive under vmap on any axis, nested vmap, jvp, vjp, hessian, scan, checkpoint."""
    edges = suited(layout, some_graph()[0])
    dense = dense_of(edges).astype(np.float32)
    stored = layout.from_edges(edges)
    x = jax.random.normal(getkey(), (6, 4, 3))
    g = jax.random.normal(getkey(), (5,))

    def deliver(x):
        return stored.deliver(x, accumulate=jnp.float32)

    def loss(x):
        return jnp.sum(deliver(x) ** 3)

    product = np.einsum("ts,sbc->tbc", dense, x)
    one = x[:, 0, 0]
    hessian = 6 * dense.T @ np.diag(dense @ one) @ dense
    gradients = np.stack([3 * dense.T @ (dense @ x[:, i, 0]) ** 2 for i in range(4)])

    @jax.jit  # one compilation instead of many
    def transformed(x, g):
        one, other = x[:, 0, 0], x[:, 1, 0]
        return [
            (deliver(x), product),
            *((jax.vmap(deliver, axis, axis)(x), product) for axis in (1, 2)),
            (jax.vmap(jax.vmap(deliver, 1, 1), 1, 1)(x), product),
            (jax.vmap(deliver, 1, 0)(x), np.moveaxis(product, 1, 0)),
            (jax.vjp(deliver, one)[1](g)[0], dense.T @ g),
            (jax.jvp(deliver, (one,), (other,))[1], product[:, 1, 0]),
            (jax.linear_transpose(deliver, one)(g)[0], dense.T @ g),
            (jax.hessian(loss)(one) / 100, hessian / 100),
            (jax.vmap(jax.grad(loss), 1)(x[..., 0]), gradients),
            (jax.grad(lambda x: jnp.sum(jax.vmap(loss, 1)(x)))(x[..., 0]), gradients.T),
            (jax.grad(jax.checkpoint(loss))(one), gradients[0]),
            (jax.lax.scan(lambda c, x: (c, deliver(x)), 0, x[..., 0].T)[1], product[..., 0].T),
        ]

    for actual, expected in transformed(x, g):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(deliver(one), product[:, 0, 0], rtol=1e-5, atol=1e-5)  # not jitted


@pytest.mark.parametrize("layout", mostly_slow(FLOATS))
def test_derivatives_of_the_transposed_product(layout, getkey):
    """In g, and in the weights."""
    edges = suited(layout, some_graph()[0])
    stored, dense = layout.from_edges(edges), dense_of(edges).astype(np.float32)
    x, g = (jax.random.normal(getkey(), (n, 2)) for n in (6, 5))
    weights, rest = eqx.partition(stored, eqx.is_inexact_array)

    @jax.jit
    def back(weights, g):
        def product(weights, g):
            changed = eqx.combine(weights, rest)
            return changed.deliver_transposed(g, accumulate=jnp.float32)

        y, pullback = jax.vjp(product, weights, g)
        return y, *pullback(x), stored.edge_products(x, g)

    y, of_weights, of_g, products = back(weights, g)
    np.testing.assert_allclose(y, dense.T @ g, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(of_g, dense @ x, rtol=1e-5, atol=1e-5)
    for one, other in zip(jax.tree.leaves(of_weights), jax.tree.leaves(products), strict=False):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_narrow_and_large_counts_are_exact(layout):
    """Of int8, which are summed in the accumulator, and counts that int8, bfloat16 and float32 do
    not hold."""
    edges = suited(layout, some_graph(np.int32)[0])
    dense = dense_of(edges)
    xs = [np.asarray([127, -128, 127, 127, -128, 127], np.int8)]  # the lowest has no absolute value
    if layout not in BOUNDED:
        xs.append(np.asarray([2**24 + 1, -(2**25) - 3, 257, -1, 0, 2**21 + 5], np.int32))
    stored = layout.from_edges(edges, max_input=128 if layout in BOUNDED else None)
    for x, y in zip(xs, products(stored, xs)[0], strict=True):
        assert y.dtype == jnp.int32 and y.tolist() == (dense @ x.astype(np.int64)).tolist()


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64]
)
def test_digits_cover_every_input(dtype):
    """The lowest and the highest of each type, with and without a bound."""
    edges = some_graph(np.int32)[0]
    limit = np.iinfo(np.int8 if dtype is bool else dtype)
    low, high = (0, 1) if dtype is bool else (limit.min, limit.max)
    if dtype == np.int64:
        low, high = low // 64, high // 64  # the sums must fit
    x = np.asarray([low, high, 0, 1, high, low]).astype(dtype)
    y = dense_of(edges) @ x.astype(np.int64)
    with jax.enable_x64(True):
        for max_input in (None, max(-low, high)):
            stored = Int8Dense.from_edges(edges, max_input=max_input)
            assert stored.deliver(x, accumulate=jnp.int64).tolist() == y.tolist()
        floats = stored.deliver(x, accumulate=jnp.float64)
        assert floats.tolist() == y.astype(float).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_inputs_of_another_length_are_refused(layout):
    edges = suited(layout, some_graph(np.int32)[0])
    stored = layout.from_edges(edges, max_input=bound(layout))
    for size in (5, 7):  # a longer one would be read by padding
        message = f"`x` has {size} rows but the layout has 6 sources."
        with pytest.raises(ValueError, match=message):
            stored.deliver(jnp.ones((size, 2), jnp.int32), accumulate=jnp.int32)
        with pytest.raises(ValueError, match=f"`g` has {size - 1} rows .* has 5 targets"):
            stored.deliver_transposed(jnp.ones(size - 1, jnp.int32), accumulate=jnp.int32)
    with pytest.raises(ValueError, match="`x` has no rows"):
        stored.deliver(jnp.int32(1), accumulate=jnp.int32)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_64_bits_are_never_cut(layout):
    """Neither of weights, nor of sums, nor of what is delivered from the host."""
    edges = suited(layout, some_graph(np.int64)[0])
    stored = layout.from_edges(edges, max_input=bound(layout))
    assert stored.to_dense().dtype == np.int32
    assert stored.to_dense().tolist() == dense_of(edges).tolist()
    for product, size in ((stored.deliver, 6), (stored.deliver_transposed, 5)):
        with pytest.raises(ValueError, match="`accumulate` is int64.*enable_x64"):
            product(jnp.ones(size, jnp.int32), accumulate=jnp.int64)
        with pytest.raises(ValueError, match="An entry of `.` is 1099511627776.*enable_x64"):
            product(np.full(size, 2**40), accumulate=jnp.int32)
    if layout not in ISO_ONLY:
        large = Edges(np.arange(2), np.arange(2), np.asarray([1, -(2**40)]), 2, 2)
        with pytest.raises(ValueError, match=r"-1099511627776"):
            layout.from_edges(large, max_input=1)
        if layout not in INTEGER_ONLY | BOUNDED:
            with jax.enable_x64(True):
                stored = layout.from_edges(large)
                assert stored.nbytes == layout.bytes_needed(large)
                assert stored.to_dense().tolist() == dense_of(large).tolist()


@pytest.mark.parametrize("layout", UNBOUNDED)
def test_counts_of_64_bits_are_exact(layout):
    edges = suited(layout, some_graph(np.int32)[0])
    x = np.asarray([2**40 + 1, -(2**41) - 3, 257, -1, 0, 2**33 + 5])
    with jax.enable_x64(True):
        stored = layout.from_edges(edges, max_input=bound(layout, 2**42))
        y = stored.deliver(jnp.asarray(x), accumulate=jnp.int64)
        assert y.dtype == jnp.int64 and y.tolist() == (dense_of(edges) @ x).tolist()


def test_gradient_of_a_two_way_layout_does_not_scatter():
    edges, _ = some_graph()
    x = jnp.ones(6)

    def gradient(stored):
        def loss(x):
            return jnp.sum(stored.deliver(x, accumulate=jnp.float32) ** 2)

        return jax.jit(jax.grad(loss)).lower(x).as_text()

    assert "scatter" not in gradient(TwoWay.from_edges(edges))
    assert "scatter" in gradient(ELL.from_edges(edges)), "else this test could not fail"


def same_cotangents(stored, x, g):
    """`edge_products` and the primitive's rule, against the kernel differentiated by JAX itself."""
    weights, rest = eqx.partition(stored, eqx.is_inexact_array)

    @jax.jit
    def cotangents(weights):
        def product(weights):
            changed = eqx.combine(weights, rest)
            return jnp.sum(g * changed.deliver(x, accumulate=jnp.float32))

        def kernel(weights):
            changed = eqx.combine(weights, rest)
            return jnp.sum(g * changed.multiply(x, accumulate=jnp.float32))

        return jax.grad(product)(weights), jax.grad(kernel)(weights), stored.edge_products(x, g)

    by_rule, by_jax, by_hand = map(jax.tree.leaves, cotangents(weights))
    for weight, *of in zip(jax.tree.leaves(weights), by_rule, by_jax, by_hand, strict=True):
        assert all(cotangent.shape == weight.shape for cotangent in of)
        for cotangent in of:
            np.testing.assert_allclose(cotangent, of[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", mostly_slow(TRAINED))
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

    same_cotangents(stored, x, g)


@pytest.mark.parametrize("layout", mostly_slow(TRAINED))
def test_edge_products_of_no_nodes(layout):
    """There is nothing to gather, not even for padding."""
    for num_sources, num_targets in ((0, 300), (300, 0)):
        stored = layout.from_edges(typed(edges_of([], [], num_sources, num_targets), np.float32))
        products = stored.edge_products(jnp.ones(num_sources), jnp.ones(num_targets))
        weights = eqx.filter(stored, eqx.is_inexact_array)
        for product, weight in zip(*map(jax.tree.leaves, (products, weights)), strict=True):
            assert product.shape == weight.shape and not product.any()


@pytest.mark.parametrize("product", ["deliver", "deliver_transposed"])
@pytest.mark.parametrize("layout", [ELL, Compressed])
def test_batches_do_not_store_a_product_for_every_edge(layout, product):
    edges = edges_of([(s, t) for s in range(50) for t in range(50)], None, 50, 50)
    stored, x = layout.from_edges(edges), jnp.ones((50, 40), jnp.int32)
    compiled = eqx.filter_jit(getattr(stored, product)).lower(x, accumulate=jnp.int32).compile()
    memory = compiled.compiled.memory_analysis()
    assert memory.temp_size_in_bytes < len(edges) * 40 * 4 / 10


def test_float32_sums_are_proved():
    """An integer sum from a layout of float32 is exact or refused."""
    pairs = [(s, 0) for s in range(4)]
    edges = edges_of(pairs, [2**22 - 1, -(2**22), 2**22, 2**22], 5, 5)
    stored = Float32Dense.from_edges(edges, max_input=1)
    y = stored.deliver(jnp.asarray([1, -1, 1, 1, 0], jnp.int32), accumulate=jnp.int32)
    assert y[0] == 2**24 - 1
    assert stored.edges().value.dtype == np.int32  # which need a proof again
    with pytest.raises(ValueError, match="Sums may pass 2\\^24"):
        Float32Dense.from_edges(stored.edges(), max_input=2)
    stored = Float32Dense.from_edges(typed(edges, np.float32))
    assert stored.edges().value.dtype == np.float32
    for product in (stored.deliver, stored.deliver_transposed):
        with pytest.raises(ValueError, match="sums floats, not int32"):
            product(jnp.ones(5, jnp.int32), accumulate=jnp.int32)


def test_float32_is_checked_before_it_is_allocated():
    edges = edges_of([(0, 0)], [2**24], 10**6, 10**6)  # 4 TB
    with pytest.raises(ValueError, match="Sums may pass"):
        Float32Dense.from_edges(edges, max_input=2)


@pytest.mark.parametrize("layout", [CSR, CSC, TwoWay])
def test_places_past_int32_are_refused(layout, monkeypatch):
    edges = some_graph()[0]
    monkeypatch.setattr("snpjax_formats.stored.MAX_PLACE", 19)
    with pytest.raises(ValueError, match=f"{layout.__name__} would have .* 19. Use ELL"):
        layout.from_edges(edges)


def test_weights_of_narrow_layouts_are_not_trained():
    edges, _ = some_graph(np.int32)
    with pytest.raises(ValueError, match="not trained"):
        Int8Dense.from_edges(edges).edge_products(jnp.ones(6), jnp.ones(5))


def test_tiles_are_summed_by_column_and_at_once():
    """The same sums in both forms, of a hub with more sources than a tile has columns."""
    edges = edges_of([(s, 0) for s in range(100)] + [(7, 3)], None, 100, 300)
    stored = BSR.from_edges(edges)
    y = stored.deliver(jnp.arange(100, dtype=jnp.int32), accumulate=jnp.int32)
    assert y[:4].tolist() == [4950, 0, 0, 7] and y.shape == (300,)
    tiles = jnp.arange(stored.values.size, dtype=jnp.int32).reshape(stored.values.shape)
    pieces = jnp.arange(2 * tiles.size, dtype=jnp.int32).reshape(len(tiles), 16, 32) * 99
    one = bsr._column_by_column(tiles, pieces, jnp.int32)
    assert one.tolist() == bsr._batched(tiles, pieces, jnp.int32).tolist()


@eqx.filter_jit
def sums_of_slots(indices, values, x):
    """Each form of both sums, with weights and without."""
    g, total = x[: indices.shape[1]], jnp.zeros_like(x)
    gathers, scatters = (
        (ell._fused, ell._slot_by_slot),
        (ell._scatter_at_once, ell._scatter_by_slot),
    )
    return [
        (
            [form(indices, weights, x, jnp.int32) for form in gathers],
            [form(total, indices, weights, g) for form in scatters],
        )
        for weights in (values, None)
    ]


@pytest.mark.parametrize(
    "num_slots, num_rows, batch, index",
    [
        (1, 5, (), np.int32),
        (16, 5, (), np.uint16),
        (24, 5, (), np.uint16),
        (24, 0, (), np.uint16),
        (32, 5, (), np.int32),
        (100, 5, (), np.uint16),
        (8, 5, (3,), np.uint16),
        (24, 5, (3,), np.int32),
        (32, 0, (3,), np.int32),
        (48, 5, (2, 2), np.int32),
        (96, 5, (3,), np.uint16),
        (100, 5, (3,), np.int32),
    ],
)
def test_sums_of_slots_are_the_same_in_each_form(num_slots, num_rows, batch, index):
    """Gathered in one sum, in parts or slot by slot; scattered at once or slot by slot."""
    rng = np.random.default_rng(num_slots)
    indices = rng.integers(0, 8, (num_slots, num_rows)).astype(index)  # 7 is past the end
    values = rng.integers(1, 9, (num_slots, num_rows), np.int32)
    x = rng.integers(0, 7, (7, *batch), np.int32)
    for weights, sums in zip((values, None), sums_of_slots(indices, values, x), strict=True):
        dense = np.zeros((num_rows, 8), np.int64)
        for slot, row in np.ndindex(*indices.shape):
            dense[row, indices[slot, row]] += 1 if weights is None else weights[slot, row]
        expected = np.tensordot(dense[:, :7], x, 1), np.tensordot(dense[:, :7].T, x[:num_rows], 1)
        for forms, wanted in zip(sums, expected, strict=True):
            for actual in forms:
                assert actual.tolist() == wanted.tolist()


def test_few_products_are_scattered_at_once_on_a_gpu(monkeypatch):
    """Of more, which take memory, and of one slot, each slot is scattered by itself everywhere."""

    def is_by_device(slots: int) -> bool:
        indices, g = jnp.zeros((slots, 5), int), jnp.ones((5, 3))
        traced = jax.make_jaxpr(lambda g: ell.scatter_sum(indices, None, g, 4, jnp.float32))(g)
        return "platform_index" in str(traced)

    assert is_by_device(2) and not is_by_device(1)
    monkeypatch.setattr(ell, "_MOST_SCATTERED", 29)
    assert not is_by_device(2)


def test_worked_example_of_sorting_three_numbers():
    """The block from s to o of the sorting system: y = T x for x = 0 1 0."""
    edges = edges_of([(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)], None, 3, 3)
    for layout in LAYOUTS:
        stored = layout.from_edges(edges, max_input=bound(layout))
        assert stored.to_dense().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
        assert stored.num_edges == 6
    y = ELL.from_edges(edges).deliver(jnp.asarray([0, 1, 0], jnp.int32), accumulate=jnp.int32)
    assert y.tolist() == [0, 1, 1]


def test_sliced_ell_pads_little_and_sorts_by_degree():
    degree = np.random.default_rng(0).poisson(16, 5000)
    source = np.random.default_rng(1).integers(0, 10**6, degree.sum()).astype(np.int32)
    target = np.arange(5000, dtype=np.int32).repeat(degree)
    edges = Edges(source, target, None, 10**6, 5000).canonical()
    stored = SlicedELL.from_edges(edges)
    slots = [part.shape[0] for part in stored.sources]
    assert slots == sorted(slots, reverse=True) and 1 < len(slots) <= 16
    entries = sum(part.size for part in stored.sources)
    assert len(edges) <= entries < 1.3 * len(edges)
    assert entries < 0.7 * ELL.bytes_needed(edges) / 4


def test_hybrid_takes_the_width_of_least_work():
    """300 rows of 4 sources and a hub: the rows are regular, the hub overflows. Where a
    third of the rows has 12 sources, they are regular too, though that takes more bytes."""
    rows = [(s, t) for t in range(300) for s in range(4)] + [(s, 0) for s in range(4, 100)]
    more = [(s, t) for t in range(110) for s in range(4, 12)]
    for pairs, width in ((rows, 4), (sorted({*rows, *more}), 12)):
        edges = edges_of(pairs, None, 100, 300)
        stored = Hybrid.from_edges(edges)
        assert stored.regular.sources.shape == (width, 300)
        assert stored.overflow is not None and stored.overflow.num_edges > 80

        def work(width: int, edges=edges) -> int:
            parts = Hybrid.from_edges(edges, width=width)
            entries = 0 if parts.overflow is None else parts.overflow.sources.size
            return parts.regular.sources.size + 3 * entries

        assert work(width) == min(work(w) for w in range(130))
        sizes = [Hybrid.bytes_needed(edges, width=w) for w in range(130)]
        assert stored.nbytes == sizes[width] and (width == 4) == (min(sizes) == sizes[width])


def test_buckets():
    assert [bucket(n) for n in (0, 8, 9, 12, 13, 17, 25, 33, 49, 97)] == [
        8, 8, 12, 12, 16, 24, 32, 48, 64, 128,
    ]  # fmt: skip
    assert type(bucket(2, at_least=np.int8(3))) is int  # pyright: ignore[reportArgumentType]
    assert [bucket(n, at_least=1) for n in range(1, 9)] == [1, 2, 3, 4, 6, 6, 8, 8]
    assert buckets(9, at_least=1).tolist() == [1, 2, 3, 4, 6, 8, 12]
    assert buckets(0).tolist() == [8]
    for n in range(1, 2000):
        assert n <= bucket(n) and (n < 8 or 2 * n >= bucket(n) or bucket(n) == 8)
        assert bucket(bucket(n)) == bucket(n)
    lengths = [entry_bucket(n, 257) for n in range(1, 70_000)]
    assert lengths == sorted(lengths) and len(set(lengths)) < 100
    for n in (1, 65, 4096, 4097, 5000, 65_536, 65_537):
        assert n <= entry_bucket(n, 257) <= max(n * 17 / 16, bucket(n, at_least=1) * (n <= 4096))
        assert entry_bucket(entry_bucket(n, 257), 257) == entry_bucket(n, 257)


@pytest.fixture
def memory(monkeypatch):
    """Sets what the device and the host have free."""

    def set_free(device, host):
        monkeypatch.setattr("snpjax_formats.memory.free_bytes", lambda: device)
        monkeypatch.setattr("snpjax_formats.memory.host_free_bytes", lambda: host)

    return set_free


def test_what_does_not_fit_in_memory_is_refused(memory):
    edges = edges_of([(s, s) for s in range(300)] * 2, None, 300, 300)  # parallel: 300 edges of 2
    memory(1800, None)
    assert fitting(ELL, edges).nbytes == 1800
    memory(None, 2 * 1800 + 32 * 300)
    assert fitting(ELL, edges).nbytes == 1800
    memory(None, None)
    assert fitting(Dense, edges).nbytes == 360_000
    memory(None, 2 * 1800 + 32 * 300 - 1)
    message = "To build ELL for 300 x 300 .* on the host takes 13,200 bytes, but 13,199 are free"
    with pytest.raises(NotEnoughMemory, match=message):
        fitting(ELL, edges)


@pytest.mark.parametrize(
    "weight, max_input, has_int8, has_float32",
    [
        (np.int32(127), 1, True, True),
        (np.int32(128), 1, False, True),
        (np.int32(1), None, True, False),
        (np.int32(1), 2**25, True, False),
        (np.float32(1), None, False, True),
    ],
)
def test_only_layouts_that_take_the_edges_are_suggested(
    memory, weight, max_input, has_int8, has_float32
):
    pairs = [(s, t) for s in range(300) for t in range(300) if s % 3]
    edges = edges_of(pairs, None, 300, 300)
    edges = replace(edges, value=np.full(len(pairs), weight))
    memory(360_000, None)
    with pytest.raises(NotEnoughMemory) as refused:
        fitting(ELL, edges, max_input=max_input)
    suggested = str(refused.value).split("Use ")[1]
    assert "Dense (360,000 bytes)" in suggested
    assert ("Int8Dense" in suggested) == has_int8
    assert ("Float32Dense" in suggested) == has_float32


ZEROS = jnp.zeros(3, int)
EMPTY_PARTS = [part.from_edges(edges_of([], None, 3, 3)) for part in (ELL, COO)]


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: edges_of([(5, 0)], None, 5, 5), "Edge 0 has source 5, but num_sources is 5"),
        (lambda: edges_of([(0, 0), (0, -1)], None, 5, 5), "Edge 1 has target -1"),
        (lambda: edges_of([(0, 0)], [1, 2], 5, 5), "`value` has 2 entries"),
        (lambda: edges_of([], None, 2**31, 1), "does not fit int32 indices. Split the graph"),
        (lambda: Edges(np.zeros(1, int), np.zeros(2, int), None, 3, 3), "`source` has 1 entries"),
        (lambda: Dense(jnp.zeros((2, 3)), 2, 3), "`values` has shape"),
        (lambda: Int8Dense.from_edges(edges_of([(0, 0)], [128], 2, 2)), "A weight is 128"),
        (
            lambda: Int8Dense.from_edges(typed(edges_of([(0, 0)], [-128], 2, 2), np.int8)),
            "A weight is -128",
        ),
        (
            lambda: Int8Dense.from_edges(typed(edges_of([(0, 0)], [1], 2, 2), np.float32)),
            "stores integers, not float32",
        ),
        (lambda: Int8Dense.from_edges(edges_of([], None, 200_000, 1)), "at most 132,104 rows"),
        (lambda: Float32Dense.from_edges(edges_of([(0, 0)], [2], 2, 2)), "Give `max_input`"),
        (lambda: CSR(jnp.zeros(3, int), jnp.zeros(8, int), None, 3, 3), "`row_ptr` has shape"),
        (lambda: ELL(jnp.zeros((1, 2), int), None, 3, 3), "`sources` has 2 columns"),
        (lambda: ELL(jnp.zeros((1, 3), int), jnp.zeros((2, 3)), 3, 3), "`values` has shape"),
        (lambda: COO(ZEROS, jnp.zeros(2, int), None, 3, 3), "`targets` has shape (2,)"),
        (lambda: COO(ZEROS, ZEROS, jnp.zeros(4), 3, 3), "`values` has shape (4,)"),
        (lambda: CSC(ZEROS, ZEROS, ZEROS, None, 3, 3), "`col_ptr` has shape (3,)"),
        (lambda: CSC(ZEROS, ZEROS, jnp.zeros(4, int), None, 2, 3), "`targets` has shape (4,)"),
        (lambda: ELLPACKR(ZEROS[None], None, ZEROS[:2], 3, 3), "`degree` has shape (2,)"),
        (lambda: ELLPACKR(ZEROS[None], None, ZEROS, 3, 4), "`sources` has 3 columns"),
        (lambda: SlicedELL((ZEROS[None],), None, ZEROS, 3, 4), "`position` has shape (3,)"),
        (lambda: SlicedELL((ZEROS[None],), (), ZEROS, 3, 3), "`values` has 0 slices"),
        (
            lambda: SlicedELL((ZEROS[None],), (jnp.zeros((2, 3)),), ZEROS, 3, 3),
            "`values` has shape (2, 3)",
        ),
        (lambda: Hybrid(*EMPTY_PARTS, 3, 4), "`regular` is (3, 3), not"),
        (lambda: BSR(jnp.zeros((3, 4, 5)), ZEROS, ZEROS, 3, 3), "tiles of 4 x 5"),
        (lambda: BSR(jnp.zeros((3, 4, 4)), ZEROS, ZEROS[:2], 3, 3), "`tile_columns` has shape"),
    ],
)
def test_what_does_not_fit_is_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()
