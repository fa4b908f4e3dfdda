"""Searches over a mesh find the graph of one device, number for number."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from jax.experimental import multihost_utils

import snpjax as snp
from snpjax.explore import Stop, explore, memory_limits, owned_memory, searched
from snpjax.explore.owners import Sizes
from snpjax.explore.searched import SearchedModel, SearchOptions
from snpjax.testing import systems
from tests.support.graphs import assert_is_beginning, assert_same_graph
from tests.support.helpers import many, with_ballast
from tests.support.known_graphs import (
    CHUNKS,
    countdown,
    dividing,
    doubling,
    growing,
    lattice,
    many_sinks,
    net,
    plastic,
    senders,
    size_of_countdown,
    too_many_choices,
)
from tests.support.meshes import generator, mesh_of
from tests.support.processes import run_processes


MAX_CONFIGURATIONS = 60
SLOW = pytest.mark.slow


def both(system, devices=2, **options):
    """The graph of a mesh and that of one device."""
    options = {"chunks": CHUNKS, **options}
    mesh = mesh_of(devices, "configurations")
    return explore(system, mesh=mesh, **options), explore(system, **options)


@pytest.mark.parametrize("devices", [2, *(pytest.param(num, marks=SLOW) for num in (1, 4))])
@settings(max_examples=many(80))
@given(systems(max_neurons=6))
def test_graphs_are_those_of_one_device(devices, system):
    options = {"max_configurations": MAX_CONFIGURATIONS}
    assert_same_graph(*both(with_ballast(system), devices, **options))


@pytest.mark.parametrize("limit", [1, 6, 1000])
@pytest.mark.parametrize("spikes", [2**30, 2**31 - 4])
def test_limits_and_overflows(limit, spikes):
    assert_same_graph(*both(senders(spikes), max_configurations=limit))


@pytest.mark.parametrize("most", [100, *(pytest.param(num, marks=SLOW) for num in (200, 40_000))])
def test_counts_grow_out_of_their_types(most):
    found, expected = both(growing(most), max_configurations=300)
    assert_same_graph(found, expected)
    assert found.spikes.max() > (130 if most == 100 else most - 1)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_depths(depth):
    found, expected = both(countdown(9), max_depth=depth)
    assert_same_graph(found, expected)
    assert found.stop is Stop.MAX_DEPTH


@pytest.mark.parametrize(
    "sizes", [pytest.param(Sizes(64, 16, 1, 128), marks=SLOW), Sizes(64, 16, 16, 65)]
)
def test_more_arrive_than_there_is_room_for(sizes, monkeypatch):
    """Where many have one owner, they travel in many rounds; or half as many are made at once."""
    monkeypatch.setattr(Sizes, "of", lambda chunk, devices: sizes)
    assert_same_graph(*both(lattice(4), max_configurations=600))


@SLOW
def test_one_configuration_has_too_many_choices():
    assert_same_graph(*both(too_many_choices()))


@pytest.mark.slow
def test_fields_are_packed_again_and_tightly():
    """In the middle of a search, whatever the sizes of chunks."""
    found, expected = both(countdown(130), chunks=(64, 512), edges=False)
    assert_same_graph(found, expected)
    assert found.num_configurations == size_of_countdown(130) > 2**12


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_words_packed_again(fails, monkeypatch):
    """Without memory for it, words are read with the packing in which they are stored."""
    packed, original = [], owned_memory.program

    def program(function, *args, **options):
        made = original(function, *args, **options)

        def repacked(*arrays):
            packed.append(arrays)
            if fails and len(packed) == 2:
                raise MemoryError("no memory for words")
            return made(*arrays)

        return repacked if function is owned_memory.repacked else made

    monkeypatch.setattr(owned_memory, "program", program)
    monkeypatch.setattr(searched, "_TIGHT_FROM", 4)
    monkeypatch.setattr(searched, "_TIGHT_AGAIN", 2)
    found, expected = both(many_sinks(), max_configurations=300)
    assert len(packed) >= 2
    if fails:
        assert found.stop is Stop.OUT_OF_MEMORY and found.num_configurations > 1
        assert_is_beginning(found, expected)
    else:
        assert_same_graph(found, expected)


def test_what_is_read_off_is_the_same():
    found, expected = both(generator())
    assert found.intervals(9) == expected.intervals(9)
    last = found.num_configurations - 1
    assert np.array_equal(found.witness(last).rules, expected.witness(last).rules)
    for query in ("always n1 <= 2", "eventually n3 = 2"):
        one, other = snp.check(found, query), snp.check(expected, query)
        assert found.traffic.exchanged > 0 == expected.traffic.exchanged
        assert (one.status, one.witness, one.depth) == (other.status, other.witness, other.depth)


@pytest.mark.parametrize(
    "build", [net, *(pytest.param(x, marks=SLOW) for x in (plastic, dividing))]
)
def test_other_machines(build):
    assert_same_graph(*both(build(), max_configurations=300))


def test_meshes_of_other_axes_are_refused():
    with pytest.raises(ValueError, match="The axes that `explore` splits are `configurations`"):
        explore(countdown(2), mesh=mesh_of(2, "paths"))


def on_first_device():
    """The bytes of all buffers there: an array and the arrays of its shards share them."""
    first = jax.devices()[0]
    shards = (shard for x in jax.live_arrays() for shard in x.addressable_shards)
    own = (shard.data for shard in shards if shard.device == first)
    return sum({x.unsafe_buffer_pointer(): x.nbytes for x in own}.values())


def test_processes_choose_the_same_sizes(monkeypatch):
    """Chunks fit the process that has the least memory: others would wait for it."""
    mesh, chosen = mesh_of(2, "configurations"), []
    for own, other in ((2**20, 2**9), (2**9, 2**20), (None, 2**9), (2**9, None)):
        of_all = np.asarray([[-1 if x is None else x] for x in (own, other)], np.int32)
        free = None if own is None else own * 2**20
        with monkeypatch.context() as patched:
            patched.setattr(jax, "process_count", lambda: 2)
            patched.setattr(multihost_utils, "process_allgather", lambda x, all=of_all: all)
            patched.setattr(memory_limits, "free_bytes", lambda mesh=None, free=free: free)
            options = SearchOptions({}, 0, {})
            model = SearchedModel(countdown(9), options, (8, 2**30), mesh=mesh)
        chosen.append(model.sizes)
    assert chosen[0] == chosen[1] != (8, 2**30)
    assert chosen[2] == chosen[3] == (8, 2**30)


@pytest.mark.slow
def test_a_device_keeps_a_quarter():
    """Of four, while a search goes on: the words and the tables."""

    def most(mesh):
        before, seen = on_first_device(), []
        graph = explore(
            doubling(18),
            edges=False,
            mesh=mesh,
            progress=lambda *_: seen.append(on_first_device() - before),
        )
        assert graph.num_configurations == 2**19
        return max(seen)

    assert most(mesh_of(4, "configurations")) <= 1.1 * most(None) / 4


@pytest.mark.slow
def test_two_processes_explore_one_graph(tmp_path):
    script = Path(__file__).with_name("search_together.py")
    ended = run_processes(script, "60", tmp_path / "saved", seconds=3000)
    assert [one.returncode for one in ended] == [0, 0], ended[0].stderr + ended[1].stderr
    first, second = [json.loads(one.stdout.splitlines()[-1]) for one in ended]
    assert first == second
    large = explore(countdown(60))
    assert first["configurations"] == large.num_configurations == size_of_countdown(60)
    assert first["halting"] == len(large.halting()) == 1 and first["depth"] == large.depth
    assert first["last"] == large.configurations(np.asarray([-1])).spikes.tolist()
    graph = explore(countdown(20))
    last = graph.num_configurations - 1
    assert first["targets"] == graph.targets.tolist()
    assert first["spikes"] == graph.spikes.tolist()
    assert first["path"] == graph.path_to(last)
    assert first["rules"] == np.asarray(graph.witness(last).rules).tolist()
    assert first["verdict"] == str(snp.check(graph, lambda x: x.spikes.max(axis=1) > 0).status)
