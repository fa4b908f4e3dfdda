"""Graphs in parts: the edges into some of the targets, and layouts of one shape for all parts."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from snpjax_formats import COO, CSC, BitDense, BitGather, Edges, Float32Dense, graphs
from snpjax_formats.degree_profile import DegreeProfile
from snpjax_formats.parts import PARTITIONED, edges_into, part_of
from tests.formats.test_structured import descriptions
from tests.support.layouts import dense_of, products


PATTERNS = (BitDense, BitGather)


@st.composite
def listed(draw):
    """Edges between few nodes, some parallel, with weights or without."""
    sizes = 9, 12
    pairs = st.tuples(st.integers(0, sizes[0] - 1), st.integers(0, sizes[1] - 1))
    drawn = draw(st.lists(pairs, max_size=30, unique=draw(st.booleans())))
    source, target = np.asarray(drawn, np.int32).reshape(-1, 2).T
    value = None
    if draw(st.booleans()):
        value = np.asarray(draw(st.lists(st.integers(-3, 3), min_size=30, max_size=30)), np.int32)
        value = value[: len(source)]
    return Edges(source, target, value, *sizes)


@pytest.mark.parametrize("layout", PARTITIONED)
@settings(max_examples=6)
@given(listed(), st.sampled_from([1, 5]), st.booleans())
def test_parts_have_one_shape(layout, edges, size, is_large):
    """Each part is the block of its targets, and all have the same static shape."""
    if is_large:  # other buckets, and several slices
        source, target = (np.concatenate([x, x + 300]) for x in (edges.source, edges.target))
        value = None if edges.value is None else np.tile(edges.value, 2)
        edges, size = Edges(source, target, value, 310, 400), 90 * size
    if layout in (*PATTERNS, Float32Dense):
        _, first = np.unique(np.stack([edges.source, edges.target]), axis=1, return_index=True)
        edges = Edges(edges.source[first], edges.target[first], None, **edges.sizes)
    dense = dense_of(edges)
    starts = range(0, edges.num_targets, size)
    blocks = [edges_into(edges, first, size).canonical() for first in starts]
    profile = DegreeProfile.covering([DegreeProfile.of(block) for block in blocks])
    parts = [part_of(layout, block, profile, max_input=1) for block in blocks]
    assert len({jax.tree.structure(part) for part in parts}) == 1
    assert len({tuple((x.shape, x.dtype) for x in jax.tree.leaves(p)) for p in parts}) == 1
    for first, part in zip(starts, parts, strict=True):
        own = dense[first : first + size]
        np.testing.assert_array_equal(part.to_dense()[: len(own)], own)
        assert not part.to_dense()[len(own) :].any()
        if layout is not COO:  # the same arrays as for the part alone, if the shape is
            x = np.arange(edges.num_sources, dtype=np.int32) % 2
            (y,), _ = products(part, [x])
            np.testing.assert_array_equal(y[: len(own)], own @ x)


def test_edges_into_a_canonical_graph():
    edges = Edges(np.asarray([2, 0, 1]), np.asarray([4, 1, 1]), None, 3, 5)
    for given_edges in (edges, edges.canonical()):
        found = edges_into(given_edges, 1, 3)
        assert dense_of(found).tolist() == dense_of(edges)[1:4].tolist()
        assert found.is_canonical == given_edges.is_canonical


def test_a_layout_that_cannot_be_partitioned():
    edges = Edges(np.zeros(1, np.int32), np.zeros(1, np.int32), None, 1, 1)
    with pytest.raises(ValueError, match="CSC is a layout that cannot be partitioned"):
        part_of(CSC, edges, DegreeProfile.of(edges), max_input=None)


PLACED = [
    *((graph, sizes[0]) for graph, sizes in descriptions()),
    (graphs.Intervals([0, 3, 1, 7], [4, 9, 1, 8], weight=3), (4, 9)),
    (graphs.Procedural(5, in_degree=3, weight=-2), (6, 7)),
    (graphs.Procedural(5, probability=0.4), (6, 7)),
    (graphs.Procedural(5, in_degree=3, self_edges=False), (7, 7)),
    (graphs.Procedural(5, probability=0.4, self_edges=False), (7, 7)),
]


@pytest.mark.parametrize("graph, sizes", PLACED, ids=lambda of: type(of).__name__)
def test_windows_of_descriptions(graph, sizes, monkeypatch):
    """The edges into some targets are those of the whole, and so is the layout of a window, which
    may reach past the targets on both sides."""
    monkeypatch.setattr(graphs, "_BLOCK", 3)
    num_sources, num_targets = sizes
    dense = dense_of(graph.edges(*sizes))
    x = np.arange(num_sources, dtype=np.int32) % 5
    for size in (3, num_targets + 2):
        around = np.zeros((num_targets + 2 * size + 9, num_sources), np.int64)
        around[size : size + num_targets] = dense
        for first in (-size, -1, 0, 2, num_targets - 1):
            window = graph.window(*sizes, first, size)
            if window is not None:
                own = around[size + first :][:size]
                np.testing.assert_array_equal(window.to_dense(), own)
                g = np.arange(size, dtype=np.int32)
                (y,), (z,) = products(window, [x], [g])
                np.testing.assert_array_equal(y, own @ x)
                np.testing.assert_array_equal(z, g @ own)
    for start in range(0, num_targets, 3):
        targets = range(start, min(start + 4, num_targets))
        found = dense_of(graph.edges(*sizes, targets))
        np.testing.assert_array_equal(found, dense[targets.start : targets.stop])


@pytest.mark.parametrize(
    "graph", [graphs.RandomInDegree(3, 5), graphs.RandomPairs(0.01, 5, weight=2)], ids=repr
)
def test_random_graphs_do_not_depend_on_ranges(graph):
    """Beyond one block, too: 10,000 targets."""
    whole = graph.edges(50, 10_000)
    assert graph.num_edges(50, 10_000) == len(whole)
    bound = graph.arrivals(np.ones(50), 10_000)
    np.testing.assert_array_equal(bound, dense_of(whole).sum(axis=1))
    for targets in (range(100, 4_096), range(4_000, 9_000), range(9_999, 10_000), range(7, 7)):
        part, expected = graph.edges(50, 10_000, targets), dense_of(whole)
        assert dense_of(part).tolist() == expected[targets.start : targets.stop].tolist()
    # Blocks are drawn apart.
    assert not (dense_of(whole)[:4_096] == dense_of(whole)[4_096:8_192]).all()
