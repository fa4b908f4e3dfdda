"""Layouts of structured graphs, descriptions of graphs, and the sums they are made of, against
dense oracles."""

import re
from dataclasses import FrozenInstanceError, replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from snpjax_formats import COO, ELL, Edges, TwoWay, bits, graphs, implicit, prefix
from snpjax_formats.bit_kernel import sum_of_bits
from snpjax_formats.bits import BitDense, BitGather
from snpjax_formats.implicit import (
    FixedInDegree,
    FixedProbability,
    Grouped,
    Identity,
    Ones,
    hashed_pair,
)
from snpjax_formats.interval import Interval
from snpjax_formats.prefix import prefix_sum, slot_sum
from snpjax_formats.scaled import Scaled
from snpjax_formats.sum import Sum
from tests.support.layouts import check_products, dense_of, products


FROM_EDGES = [Interval, BitDense, BitGather, Sum]


def edges_of(dense: np.ndarray) -> Edges:
    """The edges of weight 1 where `dense` is not 0."""
    target, source = np.nonzero(dense)
    return Edges(source.astype(np.int32), target.astype(np.int32), None, *dense.shape[::-1])


@st.composite
def patterns(draw) -> np.ndarray:
    """Matrices of 0 and 1 in runs of several lengths, with empty rows: more sources than a word has
    bits. (Other sizes, and none, are in test_layouts.py.)"""
    num_targets, num_sources = 3, 70
    dense = np.zeros((num_targets, num_sources), np.int64)
    block = st.tuples(
        *(st.integers(0, size) for size in (num_targets, num_targets, num_sources, num_sources))
    )
    for top, bottom, left, right in draw(st.lists(block, max_size=4)):
        dense[top:bottom, left:right] ^= 1
    return dense


# Prefix sums


@jax.jit
def sums_and_masked(x):
    """What this device takes, and the form of a GPU where it takes that."""
    forms = [prefix_sum] + [lambda x, _: prefix._masked(x)] * (1 < len(x) <= 49_153)
    return [form(x, x.dtype) for form in forms]


@pytest.mark.parametrize("size", [0, 1, 2, 256, 257, 512, 513, 49_152, 49_153])
def test_prefix_sum(size):
    x = np.random.default_rng(size).integers(-(2**31), 2**31, size, np.int32)
    sums = np.cumsum(x, dtype=np.int64).astype(np.int32)  # modulo 2^32
    for y in sums_and_masked(x):
        assert y.dtype == jnp.int32 and y.tolist() == sums.tolist()


@pytest.mark.parametrize("size", [3, 700])
def test_prefix_sum_of_a_batch(size):
    batch = np.random.default_rng(size).integers(-9, 9, (size, 2, 3)).astype(np.int8)
    y = jax.jit(prefix_sum, static_argnums=1)(batch, jnp.int32)
    assert y.tolist() == np.cumsum(batch, axis=0, dtype=np.int32).tolist()
    for form in (prefix._masked, prefix._in_steps, prefix._one_by_one):
        assert jax.jit(form)(batch.astype(np.int32)).tolist() == y.tolist()


def test_prefix_sum_in_64_bits():
    with jax.enable_x64(True):
        x = np.random.default_rng(0).integers(-(2**60), 2**60, 700)
        for size in (500, 700):
            for y in sums_and_masked(x[:size]):
                assert y.dtype == jnp.int64 and y.tolist() == np.cumsum(x[:size]).tolist()


def test_prefix_sum_refuses_floats():
    with pytest.raises(ValueError, match="of integers, not float32. Use ELL"):
        prefix_sum(jnp.zeros(3), jnp.float32)


@pytest.mark.parametrize("num_slots", [0, 16, 17, 64, 103])
def test_slot_sum(num_slots):
    numbers = np.arange(num_slots * 2, dtype=np.int32).reshape(num_slots, 2) ** 2

    @jax.jit
    def totals(numbers):
        def term(slot):
            return numbers[slot]

        ones = jnp.ones(2, jnp.int32)
        of_gpu = prefix._accumulated(ones, num_slots, term, min(num_slots, 32))
        return slot_sum(num_slots, term, ones), of_gpu

    for total in totals(numbers):
        assert total.tolist() == (1 + numbers.sum(axis=0)).tolist()


# Layouts built from edges


@pytest.mark.parametrize("layout", FROM_EDGES)
@settings(max_examples=10)
@given(patterns(), st.integers(0, 2**31))
def test_layout_of_edges_equals_the_oracle(layout, dense, seed):
    stored = layout.from_edges(edges_of(dense))
    check_products(stored, dense, seed=seed)
    assert stored.nbytes == layout.bytes_needed(edges_of(dense))
    again = layout.from_edges(stored.edges())
    assert again.to_dense().tolist() == dense.tolist()


@pytest.mark.parametrize("layout", [Interval, BitDense, BitGather, Ones, Identity])
def test_weights_and_parallel_edges_are_refused(layout):
    zero = np.zeros(2, np.int32)
    for edges in (Edges(zero, zero, None, 3, 3), Edges(zero[:1], zero[:1], zero[:1] + 2, 3, 3)):
        with pytest.raises(ValueError, match="Use (ELL|Dense)") as error:
            layout.from_edges(edges)
        assert layout.obstacle(edges.canonical()) == str(error.value)
    assert layout.obstacle(Identity(1).edges()) is None


@pytest.mark.parametrize("layout", [Interval, BitDense, BitGather])
def test_floats_are_refused(layout):
    stored = layout.from_edges(edges_of(np.eye(3)))
    for call in (stored.deliver, stored.deliver_transposed):
        with pytest.raises(ValueError, match="sums integers, not float32.* Use ELL"):
            call(jnp.ones(3), accumulate=jnp.float32)
        with pytest.raises(ValueError, match="sums integers, not int32 in float32. Use ELL"):
            call(jnp.ones(3, jnp.int32), accumulate=jnp.float32)


@pytest.mark.parametrize(
    "layout", [pytest.param(x, marks=[pytest.mark.slow] * (x is BitDense)) for x in FROM_EDGES[:3]]
)
def test_dtypes_wide_and_narrow(layout):
    """Large and negative numbers, int64, int8, uint8 and bool."""
    dense = np.tri(40, 40, -28, dtype=np.int64)
    stored = layout.from_edges(edges_of(dense))
    random = np.random.default_rng(0)
    dtypes = [np.int8, np.uint8, np.int32, np.uint32]
    ranges = [np.iinfo(dtype) for dtype in dtypes]
    xs = [
        random.integers(of.min, of.max, 40, dtype, endpoint=True)
        for dtype, of in zip(dtypes, ranges, strict=True)
    ]
    xs.append(xs[0] > 5)
    for x, y in zip(xs, products(stored, xs)[0], strict=True):
        exact = dense @ x.astype(np.int64)
        assert y.dtype == jnp.int32 and y.tolist() == exact.astype(np.int32).tolist()
    with jax.enable_x64(True):
        xs = [xs[0], xs[2], random.integers(-(2**56), 2**56, 40)]
        for x, y, z in zip(xs, *products(stored, xs, xs, jnp.int64), strict=True):
            assert y.dtype == z.dtype == jnp.int64
            assert y.tolist() == (dense @ x.astype(np.int64)).tolist()
            assert z.tolist() == (dense.T @ x.astype(np.int64)).tolist()


@pytest.mark.parametrize("layout", FROM_EDGES)
def test_vmap_takes_the_batch_last(layout):
    dense = np.tri(4, 6, dtype=np.int64)
    stored = layout.from_edges(edges_of(dense))
    x = jnp.arange(6 * 5 * 2, dtype=jnp.int32).reshape(5, 6, 2) - 30

    def deliver(x):
        return stored.deliver(x, accumulate=jnp.int32)

    y = jax.vmap(jax.vmap(deliver), 2, 2)(x)
    assert y.tolist() == np.einsum("ts,bsc->btc", dense, np.asarray(x)).tolist()


# Intervals


@st.composite
def runs(draw):
    """Runs of one row or several, sorted or not, with empty ones, by either side."""
    by = draw(st.sampled_from(["source", "target"]))
    num_runs, num_rows, num_columns = draw(st.sampled_from([(1, 5, 9), (2, 5, 9), (2, 5, 0)]))
    order = draw(st.sampled_from([None, 1, -1]))
    cuts = draw(
        st.lists(
            st.lists(st.integers(0, num_columns), min_size=2 * num_runs, max_size=2 * num_runs).map(
                sorted
            ),
            min_size=num_rows,
            max_size=num_rows,
        )
    )
    cuts = np.asarray(cuts).reshape(num_rows, num_runs, 2).transpose(2, 1, 0)
    if order is not None:
        cuts = np.sort(cuts, axis=2)[..., ::order]
    return by, *cuts, num_columns


@settings(max_examples=25)
@given(runs())
def test_interval_of_runs_equals_the_oracle(drawn):
    by, start, stop, num_columns = drawn
    dense = np.zeros((start.shape[1], num_columns), np.int64)
    for row, column in np.ndindex(*dense.shape):
        dense[row, column] = ((start[:, row] <= column) & (column < stop[:, row])).sum()
    if by == "source":
        dense = dense.T
    if dense.max(initial=0) > 1:  # sorting the cuts of several runs may have made them overlap
        with pytest.raises(ValueError, match="overlap"):
            Interval.from_runs(start, stop, by=by, num_sources=5, num_targets=num_columns)
        return
    num_targets, num_sources = dense.shape
    sizes = {"num_sources": num_sources, "num_targets": num_targets}
    stored = Interval.from_runs(start, stop, by=by, **sizes)
    check_products(stored, dense)
    if len(start) == 1:
        same = Interval.from_runs(start[0], stop[0], by=by, **sizes)
        assert same.to_dense().tolist() == dense.tolist()
        for direction in (1, -1):
            ends = np.concatenate([start, stop])[:, ::direction]
            if (np.diff(ends) >= 0).all():
                assert stored.by == "target"
    # Both arrays are the same graph, read by the other side.
    other = {"source": "target", "target": "source"}
    turned = Interval(stored.start, stored.stop, other[stored.by], num_targets, num_sources)
    assert turned.to_dense().tolist() == dense.T.tolist()


def test_interval_by_target_where_sources_are_monotone():
    """The sorting system: source i reaches all targets from i on."""
    n = 50
    stored = Interval.from_runs(
        np.arange(n), np.full(n, n), by="source", num_sources=n, num_targets=n
    )
    assert stored.by == "target" and stored.nbytes == 8 * n
    check_products(stored, np.tri(n, dtype=np.int64))
    back = Interval.from_runs(
        np.zeros(n, int), n - np.arange(n), by="source", num_sources=n, num_targets=n
    )
    assert back.by == "target"
    check_products(back, np.tri(n, dtype=np.int64)[:, ::-1].T[::-1].T[::-1])
    # Empty runs may be given anywhere.
    start, stop = np.asarray([[5, 8, 9, 2, 6], [6, 8, 9, 2, 7]])
    some = Interval.from_runs(start, stop, by="source", num_sources=5, num_targets=9)
    assert some.by == "target" and some.edges().source.tolist() == [0, 4]
    stop[0] = 7  # target 6 has sources 0 and 4, and none between
    some = Interval.from_runs(start, stop, by="source", num_sources=5, num_targets=9)
    assert some.by == "source"


def test_interval_takes_the_side_with_fewer_runs():
    stripes = np.zeros((8, 6), np.int64)
    stripes[::2] = 1  # a target has one run of all sources, a source four runs
    for dense, by in ((stripes, "target"), (stripes.T, "source"), (np.ones((4, 5), int), "target")):
        stored = Interval.from_edges(edges_of(dense))
        assert stored.by == by and stored.start.shape[0] == 1
    forced = Interval.from_edges(edges_of(stripes), by="source")
    assert forced.start.shape == (4, 6)
    assert forced.nbytes == Interval.bytes_needed(edges_of(stripes), by="source")
    check_products(forced, stripes)


def test_interval_with_many_runs():
    """More runs than are unrolled, and more columns than are summed in one row."""
    dense = np.zeros((3, 600), np.int64)
    dense[1, ::4], dense[1, 1::4], dense[2, 5:300] = 1, 1, 1
    stored = Interval.from_edges(edges_of(dense), by="target")
    assert stored.start.shape == (192, 3)
    check_products(stored, dense)


@pytest.mark.parametrize(
    "start, stop, by, message",
    [
        ([0, 2], [1, 9], "source", "run of source 1 is [2, 9). Keep runs within [0, 3), the targ"),
        ([0, -1], [1, 2], "source", "run of source 1 is [-1, 2). Keep runs"),
        ([2, 0], [1, 2], "source", "run of source 0 is [2, 1). Exchange them"),
        ([0], [1], "source", "there are 2 sources. Give one run for each source, or (runs, 2)"),
        ([0, 1], [1, 1], "target", "there are 3 targets"),
        ([0, 1], [1], "source", "`start` has shape (2,) but `stop` has (1,)"),
        ([0.0, 1], [1, 1], "source", "are float64 and int64. Use integers"),
        ([0, 1], [1, 1], "row", "`by` is 'row'. Use"),
        (
            [[0, 1], [2, 0]],
            [[1, 2], [3, 2]],
            "source",
            "runs [0, 2) and [1, 2) of source 1 overlap. Join them",
        ),
    ],
)
def test_bad_runs_are_refused(start, stop, by, message):
    start, stop = np.asarray(start), np.asarray(stop)
    with pytest.raises(ValueError, match=re.escape(message)):
        Interval.from_runs(start, stop, by=by, num_sources=2, num_targets=3)
    if by != "row":
        message = message.replace("float64 and int64", "float64").replace("are f", "array of f")
        with pytest.raises(ValueError, match="|".join(map(re.escape, [message, "Use integers"]))):
            graphs.Intervals(start, stop, by).check(2, 3)


# Bits


@pytest.mark.parametrize("layout", [BitDense, BitGather])
@pytest.mark.parametrize("num_sources, num_targets", [(32, 5), (700, 3)])
def test_bits_at_the_edge_of_words(layout, num_sources, num_targets):
    random = np.random.default_rng(num_sources)
    dense = (random.random((num_targets, num_sources)) < 0.3).astype(np.int64)
    g = np.arange(num_targets, dtype=np.int32) - 9
    for max_input, num_planes in ((0, 1), (1, 1), (200, 8)):
        stored = layout.from_edges(edges_of(dense), max_input=max_input)
        assert stored.num_planes == num_planes
        x = random.integers(0, max_input, (num_sources, 2), np.int32, endpoint=True)
        (y,), (z,) = products(stored, [x], [g])
        assert y.tolist() == (dense @ x).tolist() and z.tolist() == (dense.T @ g).tolist()


def test_forms_of_other_devices():
    random = np.random.default_rng(0)
    words = jnp.asarray(random.integers(0, 2**32, (40, 7), np.uint32))
    for batch in [(), (3,)]:
        fired = jnp.asarray(random.integers(0, 2**32, (40, *batch), np.uint32))
        of_words = words.reshape(*words.shape, *(1,) * len(batch))
        y = jax.jit(bits._word_by_word)(of_words, fired)
        assert y.tolist() == jax.jit(bits._summed)(of_words, fired).tolist()
        g = jnp.asarray(random.integers(-99, 99, (7, *batch), np.int32))
        y = jax.jit(bits._target_by_target)(words, g)
        assert y.tolist() == jax.jit(bits._bit_by_bit)(words, g).tolist()


@pytest.mark.filterwarnings("default:The Pallas Triton backend:DeprecationWarning")
@pytest.mark.parametrize(
    "num_sources, num_targets, degree", [(64, 3, 1), (700, 513, 33), (70_000, 600, 64)]
)
def test_the_kernel_that_gathers_bits(num_sources, num_targets, degree):
    """Interpreted on the host: slots that no chunk holds, and a part of a program's targets."""
    random = np.random.default_rng(degree)
    source = random.integers(0, num_sources, (num_targets, degree), np.int32).ravel()
    target = np.repeat(np.arange(num_targets, dtype=np.int32), degree)
    keys = np.unique(target * np.int64(num_sources) + source)
    target, source = (part.astype(np.int32) for part in np.divmod(keys, num_sources))
    edges = Edges(source, target, None, num_sources, num_targets)
    stored = BitGather.from_edges(edges, max_input=1)
    x = random.integers(0, 2, num_sources).astype(np.uint32)

    @jax.jit
    def found(x):
        table = bits.packed_bits(x, num_sources // 32 + 1)
        return sum_of_bits(stored.sources, table, interpret=True)

    assert found(x).tolist() == np.bincount(target, x[source], num_targets).tolist()


# Implicit layouts


def implicit_layouts():
    return [
        Ones(5, 3),
        Ones(4, 4, False),
        Ones(0, 3),
        Ones(3, 0),
        Identity(4),
        Identity(0),
        Grouped(jnp.asarray([[1, -2, 0], [0, 0, 3]], jnp.int32), 6, 4),
        Grouped(jnp.asarray([[1, 2]], jnp.int32), 4, 0),
        Grouped(jnp.zeros((2, 0), jnp.int32), 0, 4),
        FixedInDegree(3, 7, 5, 40),
        FixedInDegree(70, 7, 50, 4),
        FixedInDegree(0, 7, 0, 4),
        FixedInDegree(3, 7, 5, 0),
        FixedInDegree(3, 7, 5, 5, False),
        FixedProbability(0.3, 7, 50, 20),
        FixedProbability(1.0, 7, 5, 2),
        FixedProbability(0.0, 7, 5, 2),
        FixedProbability(1.0, 7, 5, 5, False),
        FixedProbability(0.5, 7, 0, 2),
        FixedProbability(0.5, 7, 2, 0),
    ]


@pytest.mark.parametrize("stored", implicit_layouts(), ids=repr)
def test_implicit_layout_equals_its_edges(stored):
    check_products(stored, dense_of(stored.edges()))


def test_what_implicit_layouts_mean():
    assert Ones(3, 2).to_dense().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert Ones(2, 2, False).to_dense().tolist() == [[0, 1], [1, 0]]
    assert Identity(2).to_dense().tolist() == [[1, 0], [0, 1]]
    grouped = Grouped(jnp.asarray([[1, -2], [0, 3]], jnp.int32), 4, 2)
    assert grouped.to_dense().tolist() == [[1, 1, -2, -2], [0, 0, 3, 3]]
    assert FixedProbability(1.0, 3, 2, 3).to_dense().tolist() == [[1, 1]] * 3
    assert Ones(3, 2).nbytes == Identity(3).nbytes == FixedInDegree(2, 0, 9, 9).nbytes == 0


def murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3_x86_32 of whole words, in Python integers."""

    def rotated(word, bits):
        return ((word << bits) | (word >> (32 - bits))) % 2**32

    hashed = seed
    for place in range(0, len(data), 4):
        word = int.from_bytes(data[place : place + 4], "little")
        word = rotated(word * 0xCC9E2D51 % 2**32, 15) * 0x1B873593 % 2**32
        hashed = (rotated(hashed ^ word, 13) * 5 + 0xE6546B64) % 2**32
    hashed ^= len(data)
    hashed = (hashed ^ (hashed >> 16)) * 0x85EBCA6B % 2**32
    hashed = (hashed ^ (hashed >> 13)) * 0xC2B2AE35 % 2**32
    return hashed ^ (hashed >> 16)


def test_procedural_edges_are_those_of_the_documented_hash():
    assert murmur3(b"test", 0) == 0xBA6BD213 and murmur3(b"test", 0x9747B28C) == 0x704B81DC
    random = np.random.default_rng(0)
    first, second = random.integers(0, 2**32, (2, 20), np.uint32)
    for seed in (0, 12345, 2**32 - 1):
        expected = [
            murmur3(int(a).to_bytes(4, "little") + int(b).to_bytes(4, "little"), seed)
            for a, b in zip(first, second, strict=True)
        ]
        assert hashed_pair(seed, first, second).tolist() == expected
        assert hashed_pair(seed, jnp.asarray(first), jnp.asarray(second)).tolist() == expected
    word = {n: n.to_bytes(4, "little") for n in range(10)}
    dense = np.zeros((6, 9), int)
    for t, k in np.ndindex(6, 4):
        dense[t, murmur3(word[t] + word[k], 5) % 9] += 1
    assert FixedInDegree(4, 5, 9, 6).to_dense().tolist() == dense.tolist()
    chosen = [[murmur3(word[s] + word[t], 5) < 0.25 * 2**32 for s in range(9)] for t in range(6)]
    assert FixedProbability(0.25, 5, 9, 6).to_dense().tolist() == np.int64(chosen).tolist()


def test_procedural_graphs_are_spread_evenly():
    in_degree = FixedInDegree(20, 1, 100, 500).edges()
    value = np.ones(len(in_degree), int) if in_degree.value is None else in_degree.value
    hits = np.bincount(in_degree.source, value, 100)
    assert hits.sum() == 10_000 and abs(hits - 100).max() < 5 * 10
    listed = FixedProbability(0.2, 1, 300, 400).edges()
    deviation = np.sqrt(300 * 400 * 0.2 * 0.8)
    assert abs(len(listed) - 24_000) < 5 * deviation
    for index, size, other in ((listed.source, 300, 400), (listed.target, 400, 300)):
        degree = np.bincount(index, minlength=size)
        assert abs(degree - 0.2 * other).max() < 5.5 * np.sqrt(0.16 * other)


def test_blocks_do_not_matter():
    stored = FixedProbability(0.4, 3, 23, 7)
    dense = stored.to_dense()
    forms = [
        partial(stored._block_by_block, pairs=pairs, row_sums=row_sums)
        for pairs, row_sums in (
            (1, implicit._fused_sums),
            (50, implicit._matrix_sums),
            (10_000, implicit._fused_sums),
        )
    ]

    @jax.jit
    def sums(x, g):
        zero = jnp.zeros((), jnp.int32)
        return [
            (
                of_block(x, zero, to_sources=False, num_rows=7),
                of_block(g, zero, to_sources=True, num_rows=23),
            )
            for of_block in forms
        ]

    random = np.random.default_rng(0)
    for batch in [(), (3,)]:
        x, g = (random.integers(-9, 9, (n, *batch), np.int32) for n in (23, 7))
        for y, z in sums(x, g):
            assert y.tolist() == (dense @ x).tolist() and z.tolist() == (dense.T @ g).tolist()


def test_edges_that_an_implicit_layout_has():
    for layout, stored in (
        (Ones, Ones(3, 2)),
        (Ones, Ones(3, 3, False)),
        (Ones, Ones(0, 2)),
        (Identity, Identity(3)),
    ):
        again = layout.from_edges(stored.edges())
        assert again.to_dense().tolist() == stored.to_dense().tolist()
        assert layout.bytes_needed(stored.edges()) == again.nbytes == 0
    tri = edges_of(np.tri(3))
    for layout in (Ones, Identity):
        with pytest.raises(ValueError, match=r"are not .*-to-.* Use (Dense|ELL)"):
            layout.from_edges(tri)
    for layout in (Grouped, FixedInDegree, FixedProbability, Scaled):
        for method in (layout.from_edges, layout.bytes_needed):
            with pytest.raises(ValueError, match="Use ELL"):
                method(tri)


# Scaled and Sum


def test_scaled_multiplies_by_the_factor_of_the_source():
    dense = np.tri(4, 5, dtype=np.int64)
    factors = np.asarray([2, -1, 0, 7, 3], np.int32)
    for layout, factor in ((Interval, factors), (BitGather, np.int32(-3)), (ELL, factors)):
        stored = layout.from_edges(edges_of(dense))
        check_products(Scaled(stored, jnp.asarray(factor)), dense * factor)
    repeated = FixedInDegree(20, 3, 5, 4)  # parallel edges: weights of its own
    check_products(Scaled(repeated, jnp.asarray(factors)), repeated.to_dense() * factors)
    floats = Scaled(Ones(5, 4), jnp.asarray([0.5, 1, 2, 4, 8]))
    assert floats.edges().value.dtype == np.float32
    np.testing.assert_array_equal(floats.to_dense(), [[0.5, 1, 2, 4, 8]] * 4)


def some_sum(dtype=np.int32):
    """Disjoint in neither direction: two parts share targets, two share sources."""
    weighted = np.asarray([[1, 0, 2], [0, 3, 0]], dtype)
    target, source = np.nonzero(weighted)
    value = weighted[target, source]
    parts = (
        Identity(3),
        COO.from_edges(Edges(source.astype(np.int32), target.astype(np.int32), value, 3, 2)),
        Ones(2, 4),
    )
    dense = np.zeros((7, 6), np.int64)
    dense[0:3, 1:4] += np.eye(3, dtype=int)
    dense[2:4, 2:5] += weighted.astype(int)
    dense[3:7, 0:2] += 1
    return Sum(parts, (1, 2, 0), (0, 2, 3), 6, 7), dense


def test_sum_adds_overlapping_parts():
    check_products(*some_sum())


@pytest.mark.parametrize(
    "starts", [((0, 3), (0, 2)), ((3, 0), (4, 0)), ((1, 5), (2, 6)), ((0, 0), (0, 0))]
)
def test_sum_places_parts(starts):
    (s0, s1), (t0, t1) = starts
    dense = np.zeros((9, 8), np.int64)
    dense[t0 : t0 + 2, s0 : s0 + 3] += 1
    dense[t1 : t1 + 3, s1 : s1 + 3] += np.eye(3, dtype=int)
    stored = Sum((Ones(3, 2), Identity(3)), *starts, 8, 9)
    check_products(stored, dense)
    text = jax.jit(lambda x: stored.multiply(x, accumulate=jnp.int32)).lower(jnp.zeros(8, int))
    is_disjoint = t0 + 2 <= t1 or t1 + 3 <= t0
    assert ("concatenate" in text.as_text()) == is_disjoint
    assert ("stablehlo.pad" in text.as_text()) != is_disjoint


def test_sum_of_nothing():
    check_products(Sum((), (), (), 4, 3), np.zeros((3, 4), np.int64))
    nothing = np.zeros((3, 4), np.int64)
    check_products(Sum((Ones(2, 0), Ones(0, 2)), (0, 2), (1, 0), 4, 3), nothing)


def test_sum_of_edges_takes_intervals_for_long_runs():
    dense = np.zeros((30, 60), np.int64)
    dense[:10, 5:40] = 1  # one run of 35
    dense[10:20, ::9] = 1  # runs of one edge
    dense[3, 50:52] = 1
    stored = Sum.from_edges(edges_of(dense))
    assert [type(part) for part in stored.parts] == [Interval, ELL]
    assert stored.parts[0].num_edges == 352 and stored.parts[1].num_edges == 70
    assert stored.nbytes == Sum.bytes_needed(edges_of(dense))
    check_products(stored, dense)
    only_runs = Sum.from_edges(edges_of(dense[:10]))
    assert [type(part) for part in only_runs.parts] == [Interval]
    edges = edges_of(dense)
    weighted = Edges(edges.source, edges.target, np.full(len(edges), 3, np.int32), 60, 30)
    stored = Sum.from_edges(weighted)
    assert [type(part) for part in stored.parts] == [ELL]
    assert stored.nbytes == Sum.bytes_needed(weighted)
    check_products(stored, dense * 3)


# Derivatives


def float_layouts():
    edges = edges_of(np.tri(6, 6))
    floats = Edges(edges.source, edges.target, np.linspace(1, 2, 21, dtype=np.float32), 6, 6)
    weighted = ELL.from_edges(floats), Ones(2, 3), TwoWay.from_edges(floats)
    return [
        Ones(6, 6, False),
        Identity(6),
        Grouped(jnp.asarray([[1.0, -2, 0.5], [0, 3, 1]]), 6, 6),
        FixedInDegree(3, 7, 6, 6),
        FixedProbability(0.5, 7, 6, 6),
        Scaled(Ones(6, 6), jnp.asarray(2.5)),
        Scaled(ELL.from_edges(edges), jnp.linspace(-1, 1, 6)),
        Sum(weighted, (0, 3, 0), (0, 2, 0), 6, 6),
        Sum((Ones(3, 2), Scaled(Identity(4), jnp.asarray(0.5))), (0, 2), (0, 2), 6, 6),
    ]


def mostly_slow():
    """Those with weights of their own or of several parts, and the others as a sweep."""
    return [
        pytest.param(x, id=type(x).__name__, marks=[pytest.mark.slow] * (i in (0, 3, 4, 5, 8)))
        for i, x in enumerate(float_layouts())
    ]


@pytest.mark.parametrize("stored", mostly_slow())
def test_derivatives(stored):
    dense = np.zeros((6, 6), np.float32)
    edges = stored.edges()
    dense[edges.target, edges.source] = 1 if edges.value is None else edges.value
    x, tangent, g, *batches = np.random.default_rng(0).normal(size=(9, 6)).astype(np.float32)
    x_batch, g_batch = np.stack(batches[:3], axis=1), np.stack(batches[3:], axis=1)
    weights, rest = eqx.partition(stored, eqx.is_inexact_array)

    @jax.jit
    def derivatives(x):
        def deliver(x):
            return stored.deliver(x, accumulate=jnp.float32)

        return {
            "product": deliver(x),
            "batch": jax.vmap(deliver, 1, 1)(x_batch),
            "vjp": jax.vjp(deliver, x)[1](g)[0],
            "jvp": jax.jvp(deliver, (x,), (tangent,))[1],
            "linear_transpose": jax.linear_transpose(deliver, x)(g)[0],
            "hessian": jax.hessian(lambda x: jnp.sum(deliver(x) ** 3))(x),
        }

    expected = {
        "product": dense @ x,
        "batch": dense @ x_batch,
        "vjp": dense.T @ g,
        "jvp": dense @ tangent,
        "linear_transpose": dense.T @ g,
        "hessian": 6 * dense.T @ np.diag(dense @ x) @ dense,
    }
    for name, actual in derivatives(x).items():
        scale = abs(expected[name]).max()
        np.testing.assert_allclose(actual / scale, expected[name] / scale, atol=1e-5, err_msg=name)

    if not jax.tree.leaves(weights):
        with pytest.raises(ValueError, match=r"not trained. Use (ELL|Dense)"):
            stored.edge_products(x, g)
        return

    @jax.jit
    def of_weights(weights, x, g):
        """By the rule of the primitive, by JAX through the kernel, and by hand."""

        def product(weights, name):
            changed = getattr(eqx.combine(weights, rest), name)
            return jnp.sum(g * changed(x, accumulate=jnp.float32))

        by_rule, by_jax = (jax.grad(product)(weights, name) for name in ("deliver", "multiply"))
        return by_rule, by_jax, stored.edge_products(x, g)

    for of_x, of_g in ((x, g), (x_batch, g_batch)):
        of = [jax.tree.leaves(tree) for tree in (weights, *of_weights(weights, of_x, of_g))]
        for weight, by_rule, by_jax, by_hand in zip(*of, strict=True):
            assert weight.shape == by_rule.shape == by_hand.shape
            np.testing.assert_allclose(by_rule, by_jax, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(by_hand, by_jax, rtol=1e-4, atol=1e-5)


# Descriptions


def descriptions():
    """Each with sizes that fit."""
    pairs = graphs.Pairs([0, 2, 2, 2], [1, 0, 3, 3])
    return [
        (graphs.AllToAll(), [(3, 4), (0, 2), (2, 0)]),
        (graphs.AllToAll(-3, False), [(4, 4), (1, 1), (0, 0)]),
        (graphs.OneToOne(), [(4, 4), (0, 0)]),
        (graphs.OneToOne(5), [(3, 3)]),
        (graphs.Intervals([0, 1, 2], [4, 4, 4]), [(3, 4), (3, 6)]),
        (graphs.Intervals([[0, 5], [3, 1]], [[1, 6], [6, 3]], weight=-2), [(2, 6)]),
        (graphs.Intervals([2, 0, 1], [3, 2, 1], "target"), [(3, 3), (5, 3)]),
        (graphs.Intervals([], []), [(0, 5), (0, 0)]),
        (pairs, [(3, 4), (5, 9)]),
        (graphs.Pairs([0, 2], [1, 0], 4), [(3, 2)]),
        (graphs.Pairs(np.asarray([1, 0, 1]), [1, 1, 1], [-2, 7, 5]), [(2, 2)]),
        (graphs.Pairs([], []), [(0, 0), (2, 3)]),
        (graphs.RandomInDegree(3, 0), [(3, 5), (40, 30), (4, 6), (0, 0)]),
        (graphs.RandomInDegree(0, 0, 7), [(0, 5), (2, 2)]),
        (graphs.RandomInDegree(2, 0, self_edges=False), [(6, 6), (3, 3), (0, 0)]),
        (graphs.RandomPairs(0.3, 1, -2), [(20, 30), (0, 4), (4, 0)]),
        (graphs.RandomPairs(1, 1), [(3, 4)]),
        (graphs.RandomPairs(0.0, 1), [(3, 4)]),
        (graphs.RandomPairs(0.6, 1, self_edges=False), [(7, 7), (1, 1), (0, 0)]),
        (graphs.Blocks([[1, 0], [-2, 3], [0, 4]]), [(6, 8), (3, 2), (0, 4), (3, 0)]),
        (graphs.Blocks(np.zeros((0, 2), int)), [(0, 4)]),
    ]


@pytest.mark.parametrize("graph, sizes", descriptions(), ids=lambda of: type(of).__name__)
def test_description_equals_its_edges(graph, sizes):
    for num_sources, num_targets in sizes:
        graph.check(num_sources, num_targets)
        edges = graph.edges(num_sources, num_targets)
        dense = dense_of(edges)
        assert dense.shape == (num_targets, num_sources)
        assert graph.num_edges(num_sources, num_targets) == len(edges)
        assert edges.source.dtype == edges.target.dtype == np.int32
        assert edges.value is None or edges.value.dtype == np.int32
        low, high = graph.weight_range()
        listed = [1] if edges.value is None else edges.value
        assert not len(listed) or (low <= min(listed) and max(listed) <= high)
        same = graph.edges(num_sources, num_targets)
        assert dense_of(same).tolist() == dense.tolist()
        stored = graph.layout(num_sources, num_targets)
        if stored is not None:
            check_products(stored, dense)
        x = np.random.default_rng(0).integers(0, 1000, num_sources).astype(np.float64)
        value = np.ones(len(edges)) if edges.value is None else np.abs(edges.value)
        arrives = np.zeros(num_targets)
        np.add.at(arrives, edges.target, value * x[edges.source])
        actual = graph.arrivals(x, num_targets)
        assert actual.shape == (num_targets,) and actual.dtype == np.float64
        assert actual.tolist() == arrives.tolist()
        if num_sources:
            # An endless source reaches its own targets, and no other.
            x[0] = np.inf
            reached = np.bincount(edges.target[edges.source == 0], minlength=num_targets) > 0
            expected = np.where(reached, np.inf, arrives)
            assert graph.arrivals(x, num_targets).tolist() == expected.tolist()


RANDOM = (
    graphs.RandomInDegree(4, 1, self_edges=False),
    graphs.RandomInDegree(1, 1, self_edges=False),
    graphs.RandomPairs(1.0, 1, self_edges=False),
    graphs.Procedural(1, in_degree=4, self_edges=False),
    graphs.Procedural(1, probability=1.0, self_edges=False),
)


@pytest.mark.parametrize("graph", RANDOM, ids=repr)
def test_random_graphs_without_self_edges(graph):
    """No node reaches itself, and every other one may be reached."""
    dense = dense_of(graph.edges(5, 5))
    assert not dense.diagonal().any()
    many = [dense_of(replace(graph, seed=seed).edges(5, 5)) for seed in range(60)]
    assert ((np.sum(many, axis=0) > 0) == ~np.eye(5, dtype=bool)).all()
    with pytest.raises(ValueError, match="without self-edges needs equal sizes, but .* 5 sources"):
        graph.check(5, 6)


def test_an_in_degree_without_self_edges_has_one_source_less():
    with pytest.raises(ValueError, match="`in_degree` is 5, but there are only 4 different"):
        graphs.RandomInDegree(5, 0, self_edges=False).check(5, 5)


def test_what_descriptions_mean():
    assert dense_of(graphs.AllToAll(2).edges(2, 1)).tolist() == [[2, 2]]
    assert dense_of(graphs.AllToAll(1, False).edges(2, 2)).tolist() == [[0, 1], [1, 0]]
    assert dense_of(graphs.OneToOne(2).edges(2, 2)).tolist() == [[2, 0], [0, 2]]
    assert dense_of(graphs.Intervals([0, 1], [1, 3]).edges(2, 3)).tolist() == [
        [1, 0],
        [0, 1],
        [0, 1],
    ]
    by_target = graphs.Intervals([0, 1], [1, 3], "target", 5)
    assert dense_of(by_target.edges(3, 2)).tolist() == [[5, 0, 0], [0, 5, 5]]
    assert dense_of(graphs.Pairs([0, 0], [1, 1], [2, 3]).edges(1, 2)).tolist() == [[0], [5]]
    assert dense_of(graphs.Blocks([[1, 2], [0, 3]]).edges(4, 2)).tolist() == [
        [1, 1, 0, 0],
        [2, 2, 3, 3],
    ]


def test_weights_of_64_bits():
    large = -(2**40)
    for graph in (graphs.OneToOne(large), graphs.Blocks([[large]]), graphs.Pairs([0], [0], large)):
        edges = graph.edges(1, 1)
        assert edges.value.tolist() == [large] and edges.value.dtype == np.int64
        assert graph.weight_range() == (large, large)
        assert graph.arrivals(np.ones(1), 1).tolist() == [2.0**40]
        with jax.enable_x64(True):
            stored = graph.layout(1, 1) or ELL.from_edges(edges)
            y = stored.deliver(jnp.asarray([3]), accumulate=jnp.int64)
            assert y.tolist() == [3 * large]


def test_layouts_of_descriptions_are_structured():
    def type_of(graph, *sizes):
        stored = graph.layout(*sizes)
        return type(stored), type(stored.layout) if isinstance(stored, Scaled) else None

    assert type_of(graphs.AllToAll(), 3, 3) == (Ones, None)
    assert type_of(graphs.AllToAll(2), 3, 3) == (Scaled, Ones)
    assert type_of(graphs.OneToOne(), 3, 3) == (Identity, None)
    assert type_of(graphs.Intervals([0], [1], weight=4), 1, 1) == (Scaled, Interval)
    assert type_of(graphs.Blocks([[1]]), 3, 3) == (Grouped, None)
    assert graphs.Pairs([0], [0]).layout(1, 1) is None
    with pytest.raises(FrozenInstanceError):
        graphs.AllToAll().weight = 3  # pyright: ignore


@given(
    st.lists(st.sampled_from([0.0, 1.0, 3.0, 2.0**54 - 2, 1e200, np.inf]), min_size=5, max_size=5),
    st.sampled_from(["source", "target"]),
)
@example([2.0**54 - 2, 0.0, 0.0, 0.0, 3.0], "target")  # 2 by differences alone
@settings(max_examples=20)
def test_arrivals_are_never_too_small(x, by):
    """Also where sums of others, which do not reach a target, are infinite or lose digits."""
    graph = graphs.Intervals([0, 2, 4, 1, 3], [3, 5, 5, 1, 4], by)
    dense = dense_of(graph.edges(5, 5))
    actual = graph.arrivals(np.asarray(x), 5)
    for row, bound in zip(dense, actual, strict=True):
        arriving = [amount for amount, weight in zip(x, row, strict=True) if weight]
        exact = np.inf if np.inf in arriving else sum(int(amount) for amount in arriving)
        assert bound >= exact
        assert any(arriving) or bound == 0


@pytest.mark.parametrize("in_degree, num_sources", [(1, 7), (3, 7), (4, 7), (6, 7), (7, 7)])
def test_random_in_degree_draws_every_subset_alike(in_degree, num_sources):
    edges = graphs.RandomInDegree(in_degree, 3).edges(num_sources, 20_000)
    sources = edges.source.reshape(20_000, in_degree)
    assert (np.diff(sources, axis=1) > 0).all() and (np.diff(edges.target) >= 0).all()
    subset, count = np.unique((1 << sources).sum(axis=1), return_counts=True)
    num_subsets = len(subset)
    expected = 20_000 / num_subsets
    assert num_subsets == {1: 7, 3: 35, 4: 35, 6: 7, 7: 1}[in_degree]
    assert abs(count - expected).max() <= 4.5 * np.sqrt(expected)
    other = graphs.RandomInDegree(in_degree, 4).edges(num_sources, 20_000)
    assert in_degree == 7 or (other.source != edges.source).any()


def test_random_pairs_are_independent():
    dense = dense_of(graphs.RandomPairs(0.05, 3).edges(150, 200))
    assert dense.max() == 1
    assert abs(dense.sum() - 1500) < 5 * np.sqrt(1425)
    for axis, other in ((0, 200), (1, 150)):
        degree = dense.sum(axis=axis)
        assert abs(degree.mean() - 0.05 * other) < 1
        assert 0.6 < degree.var() / (0.05 * 0.95 * other) < 1.5
    other = dense_of(graphs.RandomPairs(0.05, 4).edges(150, 200))
    assert (dense != other).any()
    for probability in (1e-18, 1e-13):  # about no edge and two of 2^44 pairs
        assert len(graphs.RandomPairs(probability, 0).edges(2**30, 2**14)) < 9


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: graphs.AllToAll(1, False).layout(3, 4), "needs equal sizes, but there are 3 s"),
        (lambda: graphs.AllToAll(True), "weight is of type bool. Use integers"),
        (lambda: graphs.OneToOne(2.5), "weight is of type float64. Use integers"),
        (lambda: graphs.OneToOne(2**63), "does not fit int64"),
        (lambda: graphs.OneToOne(2**31).layout(3, 3), "does not fit int32. Use `jax.enable_x64"),
        (lambda: graphs.Blocks([[2**31]]).layout(3, 3), "does not fit int32. Use `jax.enable_x64"),
        (lambda: graphs.OneToOne().edges(3, 4), "needs equal sizes, but there are 3 sources"),
        (lambda: graphs.OneToOne().num_edges(3, 4), "needs equal sizes"),
        (lambda: graphs.Pairs([0, 1], [0]), "`source` has shape (2,) and `target` (1,)"),
        (lambda: graphs.Pairs([0.5], [0]), "`source` is an array of float64. Use integers"),
        (lambda: graphs.Pairs([0], [0], [1, 2]), "`weight` has shape (2,), but there are 1 edges"),
        (lambda: graphs.Pairs([0], [0], [True]), "weight is of type bool"),
        (lambda: graphs.Pairs([0, 5], [0, 0]).check(5, 1), "Edge 1 has source 5, but there are 5"),
        (lambda: graphs.Pairs([0, 0], [0, -1]).check(5, 2), "Edge 1 has target -1, but there"),
        (lambda: graphs.RandomInDegree(-1, 0), "`in_degree` is -1. Use at least 0"),
        (lambda: graphs.RandomInDegree(4, 0).check(3, 1), "only 3 different sources. Reduce it"),
        (lambda: graphs.RandomPairs(1.5, 0), "`probability` is 1.5. Use 0 to 1"),
        (lambda: graphs.RandomPairs(float("nan"), 0), "`probability` is nan"),
        (lambda: graphs.Blocks([1, 2]), "`weights` has shape (2,)"),
        (lambda: graphs.Blocks([[1, 2]]).check(3, 5), "5 targets do not form 2 equal groups"),
        (lambda: graphs.Blocks([[1, 0.5]]), "weight is of type float64"),
        (lambda: Ones(2, 3, False), "`has_self` is False, but there are 2 sources"),
        (lambda: Grouped(jnp.ones((2, 2)), 4, 5), "5 targets do not form 2 equal groups"),
        (lambda: FixedInDegree(-1, 0, 3, 3), "`in_degree` is -1"),
        (lambda: FixedInDegree(1, 0, 0, 3), "no sources to draw from"),
        (lambda: FixedInDegree(1, -1, 3, 3), "`seed` is -1. Use 0 to 2^32 - 1"),
        (lambda: FixedProbability(-0.5, 0, 3, 3), "`probability` is -0.5"),
        (lambda: Scaled(Identity(3), jnp.ones(2)), "`factor` has shape (2,), neither () nor"),
        (lambda: Scaled(Scaled(Identity(3), jnp.ones(3)), jnp.ones(3)), "weights of its own"),
        (lambda: Sum((Identity(3),), (0,), (1,), 3, 3), "Part 0 has targets [1, 4), but `num_t"),
        (lambda: Sum((Identity(3),), (), (0,), 3, 3), "`source_starts` has 0 entries"),
        (lambda: BitDense(jnp.zeros((1, 3), jnp.uint32), None, 33, 3), "`words` has shape (1, 3)"),
        (lambda: BitGather(jnp.zeros((1, 3), int), None, 3, 4), "`sources` has 3 columns"),
        (lambda: Interval(*jnp.zeros((2, 1, 3), int), "target", 3, 4), "`start` has shape (1, 3)"),
    ],
)
def test_what_does_not_fit_is_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()


def test_from_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    weights = np.asarray([[0, 2, 0], [1, 0, -4]])
    for matrix in (
        sparse.csr_array(weights),
        sparse.coo_matrix(weights),
        sparse.dok_array(weights),
    ):
        assert dense_of(graphs.from_scipy(matrix).edges(2, 3)).tolist() == weights.T.tolist()
    with pytest.raises(ValueError, match="type float64. Use integers"):
        graphs.from_scipy(sparse.csr_array(weights * 0.5))


class SmallGraph:
    """What `from_networkx` uses of a graph."""

    def __init__(self, nodes, edges, is_directed):
        self.nodes, self.listed, self.is_directed = nodes, edges, lambda: is_directed

    def __iter__(self):
        return iter(self.nodes)

    def edges(self, data):
        assert data
        return self.listed


@pytest.mark.parametrize("is_directed", [False, True])
@pytest.mark.parametrize("library", [False, True])
def test_from_networkx(is_directed, library):
    edges = [("b", "a", {"weight": 5}), ("a", "c", {}), ("c", "c", {"weight": 2, "delay": 3})]
    if library:
        networkx = pytest.importorskip("networkx")
        graph = networkx.DiGraph() if is_directed else networkx.Graph()
        graph.add_nodes_from("bac")
        graph.add_edges_from(edges)
    else:
        graph = SmallGraph("bac", edges, is_directed)
    once = np.asarray([[0, 0, 0], [5, 0, 0], [0, 1, 2]])
    back = 0 if is_directed else np.triu(once.T, 1)
    assert dense_of(graphs.from_networkx(graph).edges(3, 3)).tolist() == (once + back).tolist()
    pattern = dense_of(graphs.from_networkx(graph, weight=None).edges(3, 3))
    assert pattern.tolist() == (once + back != 0).astype(int).tolist()
    delays = dense_of(graphs.from_networkx(graph, weight="delay").edges(3, 3))
    assert delays[2, 2] == 3 and delays[1, 0] == 1
    empty = graphs.from_networkx(SmallGraph("ab", [], is_directed))
    assert len(empty.edges(2, 2)) == 0
