"""Searches over a mesh find the graph of one device, number for number."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings

import snpjax as snp
from snpjax.explore import Stop, explore
from snpjax.testing import systems
from tests.support.helpers import many, with_ballast
from tests.support.meshes import mesh_of


CHUNKS = (64,)
MAX_CONFIGURATIONS = 60


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


def both(system, devices, **options):
    """The graph of a mesh and that of one device."""
    options = {"chunks": CHUNKS, **options}
    mesh = mesh_of(devices, "configurations")
    return explore(system, mesh=mesh, **options), explore(system, **options)


@pytest.mark.parametrize("devices", [1, 2, 4])
@settings(max_examples=many(160))
@given(systems(max_neurons=6))
def test_graphs_are_those_of_one_device(devices, system):
    options = {"max_configurations": MAX_CONFIGURATIONS}
    assert_same_graph(*both(with_ballast(system), devices, **options))


def senders(spikes, num=7):
    """Neurons that send a spike or not to a sink with this many spikes."""
    neurons = [snp.Neuron(f"n{i}", 1, ["a -> lambda", "a -> a"]) for i in range(num)]
    synapses = [(f"n{i}", "sink") for i in range(num)]
    return snp.SpikingSystem([*neurons, snp.Neuron("sink", spikes)], synapses)


@pytest.mark.parametrize("limit", [1, 6, 1000])
@pytest.mark.parametrize("spikes", [2**30, 2**31 - 4])
def test_limits_and_overflows(limit, spikes):
    found, expected = both(senders(spikes), 4, max_configurations=limit)
    assert_same_graph(found, expected)


@pytest.mark.parametrize("most", [100, 200, 40_000])
def test_counts_grow_out_of_their_types(most):
    sender = snp.Neuron("sender", most, ["a+/a -> a", "a^2(aa)*/a^2 -> a"])
    system = snp.SpikingSystem([sender, snp.Neuron("sink")], [("sender", "sink", 50)])
    found, expected = both(system, 4, max_configurations=300)
    assert_same_graph(found, expected)
    assert found.spikes.max() > (130 if most == 100 else most - 1)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_depths(depth):
    sender = snp.Neuron("sender", 9, ["a+/a -> a", "a^2(aa)*/a^2 -> a"])
    system = snp.SpikingSystem([sender, snp.Neuron("sink")], [("sender", "sink", 50)])
    found, expected = both(system, 4, max_depth=depth)
    assert_same_graph(found, expected)
    assert found.stop is Stop.MAX_DEPTH
