"""Graphs that are compared number for number."""

import jax
import numpy as np

from snpjax.explore import Stop


def assert_same_graph(found, expected):
    """All that is public."""
    assert found.stop is expected.stop and found.num_expanded == expected.num_expanded
    assert found.depth_starts.tolist() == expected.depth_starts.tolist()
    assert found.first_edge.tolist() == expected.first_edge.tolist()
    num = expected.num_configurations - 1
    assert found.edges.found_by[:num].tolist() == expected.edges.found_by[:num].tolist()
    if expected.targets is not None:
        assert found.targets.tolist() == expected.targets.tolist()
        assert found.targets.dtype == expected.targets.dtype
    same = jax.tree.map(np.array_equal, _of(found), _of(expected))
    assert all(jax.tree.leaves(same)), same


def _of(graph):
    """Its configurations and steps as arrays."""
    configurations = vars(graph.configurations())
    steps = {} if graph.targets is None else vars(graph.transitions())
    return [
        {name: x for name, x in some.items() if isinstance(x, np.ndarray)}
        for some in (configurations, steps)
    ]


def assert_is_beginning(found, expected):
    """Of a search that ended for want of memory."""
    num, edges = found.num_configurations, found.num_choices
    assert found.stop is Stop.OUT_OF_MEMORY
    assert 0 <= found.num_expanded <= num <= expected.num_configurations
    assert found.num_expanded < expected.num_configurations
    assert found.depth_starts[:-1].tolist() == expected.depth_starts[: found.depth + 1].tolist()
    first = expected.first_edge[: found.num_expanded + 1]
    assert found.first_edge.tolist() == first.tolist()
    ways = expected.edges.found_by[: num - 1]
    assert found.edges.found_by[: num - 1].tolist() == ways.tolist()
    if expected.targets is not None:
        assert found.targets.tolist() == expected.targets[:edges].tolist()
    own, others = (x.configurations(slice(0, num)) for x in (found, expected))
    halting = expected.is_halting[:num]
    assert found.is_halting.tolist() == halting.tolist()
    for name, values in vars(own).items():
        if isinstance(values, np.ndarray):
            assert np.array_equal(values, vars(others)[name]), name
