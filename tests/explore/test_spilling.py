"""Searches whose words move from the device to main memory and to a file find the same graphs."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax._tiered import tiered
from snpjax.explore import (
    device_search,
    explore,
    fingerprints,
    host_arrays,
    memory_limits,
    searched,
    words_on_host,
)
from snpjax.explore.stored import HostStore
from snpjax.testing import systems
from tests.support.graphs import assert_same_graph
from tests.support.helpers import many, slow, with_ballast
from tests.support.known_graphs import countdown, dividing, many_sinks, net, plastic
from tests.support.meshes import mesh_of


CHUNKS = (8,)
MAX_CONFIGURATIONS = 60


def bytes_in_files(graph):
    return graph.words.rows.bytes_in_file if isinstance(graph.words, HostStore) else -1


def both(system, device, host, **options):
    """The graph of a search with little memory, and that of one with enough."""
    options = {"chunks": CHUNKS, **options}
    little = snp.MemoryLimits(device=device, host=host)
    return explore(system, memory=little, **options), explore(system, **options)


@pytest.mark.parametrize(
    "host, edges",
    [
        (100, True),
        *(pytest.param(*x, marks=pytest.mark.slow) for x in ((400, False), (10**6, True))),
    ],
)
@settings(max_examples=many(64), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(systems(max_neurons=6))
def test_graphs_are_those_of_a_search_in_memory(small_steps, monkeypatch, host, edges, system):
    if host > 1000:  # as beside a GPU
        monkeypatch.setattr(memory_limits, "_is_host", lambda: False)
    options = {"max_configurations": MAX_CONFIGURATIONS, "edges": edges}
    found, expected = both(with_ballast(system), 3000, host, **options)
    assert_same_graph(found, expected)
    if expected.num_configurations > 45:
        assert (bytes_in_files(found) > 0) == (host < 1000)


@pytest.mark.parametrize("build", [plastic, *slow(dividing, net)])
def test_other_machines(small_steps, build):
    found, expected = both(build(), 3000, 400, max_configurations=300)
    assert_same_graph(found, expected)


def test_options(small_steps):
    neurons = [snp.Neuron("in", 0, ["a+/a -> a"]), snp.Neuron("a", 1, ["a -> a", "a -> a; 1"])]
    system = snp.SpikingSystem(
        [*neurons, snp.Neuron("out")], [("in", "a"), ("a", "out")], output="a", input={"in": ()}
    )
    options = {"inputs": snp.AnyInput(4), "saturate": {"out": 3}, "clock": 5, "max_depth": 9}
    found, expected = both(system, 3000, 400, **options)
    assert_same_graph(found, expected)
    assert bytes_in_files(found) > 0
    assert (
        snp.check(found, "always out <= 4").summary
        == snp.check(expected, "always out <= 4").summary
    )


@pytest.mark.slow
def test_words_are_packed_again_on_the_host(small_steps, monkeypatch):
    monkeypatch.setattr(searched, "_TIGHT_FROM", 4)
    monkeypatch.setattr(searched, "_TIGHT_AGAIN", 2)
    monkeypatch.setattr(searched, "_ROOM_UNTIL", 0)
    packings = []

    def repack(memory, packing, chunk):
        packings.append(packing.classes)
        return original(memory, packing, chunk)

    original = words_on_host.WordsOnHost.repack
    monkeypatch.setattr(words_on_host.WordsOnHost, "repack", repack)
    system = many_sinks()
    found, expected = both(system, 5000, 500, max_configurations=300)
    assert_same_graph(found, expected)
    assert packings and bytes_in_files(found) > 0


def test_searches_without_comparisons_say_how_sure_they_are(small_steps):
    system = countdown(9)
    found = explore(system, chunks=CHUNKS, exact=False)
    assert_same_graph(found, explore(system, chunks=CHUNKS))
    assert found.missed == found.num_configurations**2 / 2**65
    assert "missed with probability" in repr(found)
    verdict = snp.check(found, "always x <= 9")
    assert verdict and f"{found.missed:.1e}" in verdict.summary
    assert "missed" not in snp.check(system, "always x <= 9").summary


def with_narrow_fingerprints(monkeypatch, bits):
    """Fingerprints of few bits, so that those of many configurations are the same."""
    original = fingerprints.fingerprints

    def narrow(words, seed):
        return original(words, seed) & np.uint32(2**bits - 1)

    monkeypatch.setattr(fingerprints, "fingerprints", narrow)

    # New functions, of which JAX has no traces.
    def put_fingerprints(space, made, seed, most_found, takes_overflow):
        return put(space, made, seed, most_found, takes_overflow)

    put = vars(fingerprints.put_fingerprints)["__wrapped__"]
    narrow_put = tiered(donate_argnames=("space",))(put_fingerprints)
    monkeypatch.setattr(words_on_host, "put_fingerprints", narrow_put)
    narrow_of = tiered()(lambda words, seed: narrow(words.T, seed))
    monkeypatch.setattr(words_on_host, "fingerprints_of", narrow_of)


@pytest.mark.parametrize("most", [2**28, 200, 0])
def test_equal_fingerprints_are_found_out(small_steps, monkeypatch, most):
    """When words are compared, and when all fingerprints are made again. Then there is another
    search with other fingerprints, until none are equal."""
    seeds = set()

    def run(search, max_depth):
        seeds.add(search.limits.seed)
        return original(search, max_depth)

    original = device_search.DeviceSearch.run
    monkeypatch.setattr(device_search.DeviceSearch, "run", run)
    monkeypatch.setattr(words_on_host, "_MOST_WAITING", most)
    system = countdown(9)
    expected = explore(system, chunks=CHUNKS)
    with_narrow_fingerprints(monkeypatch, 5)
    little = snp.MemoryLimits(device=3000, host=400)
    found = explore(system, chunks=CHUNKS, memory=little)
    assert_same_graph(found, expected)
    assert len(seeds) > 1
    inexact = explore(system, chunks=CHUNKS, exact=False)
    assert inexact.num_configurations < expected.num_configurations


def test_fingerprints_depend_on_every_bit():
    """Of configurations that look alike: counters in one word or another."""
    num = 2**16
    words = np.zeros((3 * num, 4), np.uint32)
    for column in range(3):
        words[column * num : (column + 1) * num, column] = np.arange(num)
        words[column * num : (column + 1) * num, column + 1] = np.arange(num) << 16
    words = np.unique(words, axis=0)
    expected = len(words) ** 2 / 2**33
    halves, make = [], jax.jit(fingerprints.fingerprints)
    for seed in range(3):
        prints = np.asarray(make(jnp.asarray(words), jnp.uint32(seed)))
        halves += [*prints.T, prints[:, 0] << 16 | prints[:, 1] & 0xFFFF]
    for half in halves:
        repeated = len(words) - len(np.unique(half))
        assert abs(repeated - expected) < 5 * expected**0.5


# ---- arrays of the host ----


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=12), st.integers(0, 2**31))
def test_arrays_in_memory_and_in_a_file(steps, seed):
    rng = np.random.default_rng(seed)
    array = host_arrays.HostArray(np.dtype(np.uint32), (3,))
    rows = np.zeros((0, 3), np.uint32)
    for num, is_written in steps:
        more = rng.integers(2**32, size=(num, 3), dtype=np.uint32)
        array.append(more)
        rows = np.concatenate([rows, more])
        if is_written:
            array.spill(None)
            assert array.num_bytes == 0 and array.bytes_in_file == rows.nbytes
        assert len(array) == len(rows)
        assert np.array_equal(np.concatenate([rows[:0], *array.parts()]), rows)
        low, high = sorted(rng.integers(len(rows) + 1, size=2))
        assert np.array_equal(array.block(low, high + 5), rows[low : high + 5])
        if len(rows):
            numbers = rng.integers(len(rows), size=20)
            assert np.array_equal(array.take(numbers), rows[numbers])


def test_files_have_no_names(small_steps, tmp_path):
    """So that nothing is left of them, however the process ends."""
    seen = []
    graph = explore(
        countdown(9),
        chunks=CHUNKS,
        memory=snp.MemoryLimits(device=3000, host=100, folder=tmp_path),
        progress=lambda *_: seen.extend(os.listdir(tmp_path)),
    )
    assert bytes_in_files(graph) > 0
    assert seen == [] == os.listdir(tmp_path)


def test_edges_are_in_a_file_too(small_steps):
    """And so are the arrays that are made of them."""
    graph = both(countdown(20), 4000, 100)[0]
    for array in (graph.edges.counts[0], graph.first_edge, graph.targets, graph.edges.found_by):
        assert not array.flags.owndata
    assert len(graph.edges.counts) == len(graph.edges.reached) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": -1}, "`device` is -1. Give a number of bytes"),
        ({"folder": "/no/such/folder"}, "'/no/such/folder', which is not a folder"),
    ],
)
def test_limits_that_makes_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        snp.MemoryLimits(**options)


def test_a_mesh_keeps_all_on_its_devices():
    mesh = mesh_of(2, "configurations")
    for options in ({"memory": snp.MemoryLimits(device=5)}, {"exact": False}):
        with pytest.raises(ValueError, match="A search over a mesh keeps all words"):
            explore(countdown(3), mesh=mesh, **options)
