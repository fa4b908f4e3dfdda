"""The starting tree: which layout for which graph, and why."""

import numpy as np
import pytest

from snpjax_formats import (
    ELL,
    LAYOUTS,
    AllToAll,
    BitDense,
    BitGather,
    Edges,
    Hybrid,
    Int8Dense,
    Interval,
    choose,
    choose_for,
    graphs,
    is_best_joined,
)
from snpjax_formats.select import features_of


def hub(n: int) -> Edges:
    """Two edges into every node, and all into the first."""
    two = graphs.RandomInDegree(2, 0).edges(n, n)
    source = np.concatenate([two.source, np.arange(n, dtype=np.int32)])
    target = np.concatenate([two.target, np.zeros(n, np.int32)])
    key = np.unique(target.astype(np.int64) * n + source)
    return Edges((key % n).astype(np.int32), (key // n).astype(np.int32), None, n, n)


RANDOM = graphs.RandomInDegree(8, 0).edges(4000, 4000)
WEIGHTED = graphs.RandomInDegree(8, 0, weight=3).edges(4000, 4000)
CROWDED = graphs.RandomPairs(0.3, 0).edges(600, 600)
STARTS = np.arange(3000)
RUNS = graphs.Intervals(STARTS, STARTS + 40, by="target").edges(3040, 3000)


@pytest.mark.parametrize(
    "edges, max_input, device, layout",
    [
        (graphs.RandomInDegree(3, 0).edges(100, 100), 1, "cpu", ELL),
        (RANDOM, 1, "cpu", BitGather),
        (RANDOM, 2, "cpu", ELL),
        (RANDOM, None, "gpu", ELL),
        (RANDOM, 1, "gpu", BitGather),
        (WEIGHTED, 1, "gpu", ELL),
        (CROWDED, 1, "cpu", BitDense),
        (CROWDED, 1, "gpu", BitDense),
        (CROWDED, 5, "cpu", Int8Dense),
        (RUNS, 7, "cpu", Interval),
        (RUNS, 1, "gpu", Interval),
        (hub(4000), 1, "gpu", Hybrid),
        (hub(4000), 3, "cpu", Hybrid),
        (Edges(np.zeros(0, int), np.zeros(0, int), None, 0, 0), None, "cpu", ELL),
    ],
)
def test_choice(edges, max_input, device, layout):
    decision = choose(edges, max_input=max_input, device=device)
    assert decision.layout is layout
    assert str(decision).startswith(f"{layout.__name__}: ") and len(decision.reason) > 5
    assert choose(edges, max_input=max_input, device=device) == decision
    assert layout.obstacle(edges.canonical(), max_input=max_input) is None
    assert layout in LAYOUTS


def test_features_of_a_graph():
    features = features_of(RUNS)
    assert (features.num_runs, features.max_runs, features.max_in_degree) == (3000, 1, 40)
    assert features.is_iso and features.num_edges == 120_000
    assert features.density == 120_000 / (3040 * 3000) and features.in_skew == 1
    assert features_of(WEIGHTED).max_weight == 3 and not features_of(WEIGHTED).is_iso
    assert features_of(hub(100).canonical()).max_in_degree == 100


def test_parallel_edges_are_weights():
    twice = Edges(np.zeros(2, int), np.zeros(2, int), None, 600, 600)
    assert not choose(twice).features.is_iso


def test_structure_is_kept_where_it_is_faster():
    small, large = graphs.Intervals([0], [500]), graphs.AllToAll()
    assert choose_for(small, 1, 500, max_input=1, device="cpu") is None  # bits
    assert isinstance(choose_for(small, 1, 500, max_input=1, device="gpu"), Interval)
    assert isinstance(choose_for(small, 1, 500, max_input=2, device="cpu"), Interval)
    assert isinstance(choose_for(large, 10**6, 10**6, device="cpu"), AllToAll)
    assert choose_for(graphs.RandomPairs(0.5, 0), 10, 10) is None
    assert is_best_joined(1000, device="gpu") and not is_best_joined(10**5, device="gpu")
    assert not is_best_joined(1000, device="cpu")
