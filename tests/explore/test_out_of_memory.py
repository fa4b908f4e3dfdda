"""A search that gets no memory ends with the graph so far, or goes on with the words elsewhere."""

import contextlib
import errno
import itertools
import os

import jax
import pytest

import snpjax as snp
from snpjax._tiered import Tiered
from snpjax.explore import (
    Stop,
    device_search,
    explore,
    extent,
    graph as graph_module,
    host_arrays,
    owned_memory,
    search_memory,
    sharded,
)
from snpjax.explore.memory_limits import Budget
from snpjax.explore.words_on_device import WordsOnDevice
from tests.support.graphs import assert_is_beginning, assert_same_graph
from tests.support.known_graphs import CHUNKS as MESH_CHUNKS, countdown
from tests.support.meshes import mesh_of


CHUNKS = (8,)
SYSTEM = countdown(9)
NO_FILES = snp.MemoryLimits(disk=0)
LITTLE = snp.MemoryLimits(device=3000, host=400)


@pytest.fixture(scope="module")
def expected():
    return explore(SYSTEM, chunks=CHUNKS)


def exhausted():
    return jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.")


class Failing:
    """Programs of the search, of which call number `at` fails, or also all after it."""

    def __init__(self, monkeypatch, at, *, error=exhausted, for_ever=False):
        self.num_calls = 0

        def call(program, *args, **kwargs):
            if program.__module__.startswith("snpjax.explore."):
                self.num_calls += 1
                left = self.num_calls - 1 - at
                if left == 0 or (left > 0 and for_ever):
                    raise error()
            return original(program, *args, **kwargs)

        original = Tiered.__call__
        monkeypatch.setattr(Tiered, "__call__", call)
        self.undo = lambda: monkeypatch.setattr(Tiered, "__call__", original)


def ends(monkeypatch, expected, memory, step, **how):
    """Why a search ends when call 0 fails, or call `step`, or call `2 * step`, and so on; its graph
    is right each time."""
    at, found = 0, []
    while True:
        failing = Failing(monkeypatch, at, **how)
        try:
            graph = explore(SYSTEM, chunks=CHUNKS, memory=memory)
        except MemoryError as refused:
            assert "There is no memory for the first configurations" in f"{refused}"
            graph = None
        failing.undo()
        if failing.num_calls <= at:
            return found
        if graph is None:
            found.append(None)
        else:
            is_complete = graph.stop is Stop.COMPLETE
            (assert_same_graph if is_complete else assert_is_beginning)(graph, expected)
            found.append(graph.stop)
        at += step


#: Every call fails once in turn, or some do.
STEPS = pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 9])


@STEPS
@pytest.mark.parametrize("memory, error", [(snp.MemoryLimits(), exhausted), (LITTLE, MemoryError)])
def test_a_search_goes_on_after_a_failure(small_steps, monkeypatch, expected, memory, error, step):
    """With the words on the host. There it ends when the next one fails."""
    stops = ends(monkeypatch, expected, memory, step, error=error)
    num_first = stops.index(Stop.COMPLETE)
    assert stops[:num_first] == [None] * num_first
    in_memory = num_first + (20 // step if memory is LITTLE else len(stops) - num_first)
    assert set(stops[num_first:in_memory]) == {Stop.COMPLETE}
    assert (Stop.OUT_OF_MEMORY in stops[num_first:]) == (memory is LITTLE)


@STEPS
@pytest.mark.parametrize("memory", [snp.MemoryLimits(), NO_FILES, LITTLE])
def test_a_search_ends_when_all_fails(small_steps, monkeypatch, expected, memory, step):
    stops = ends(monkeypatch, expected, memory, step, for_ever=True)
    assert set(stops) == {None, Stop.OUT_OF_MEMORY}


@pytest.mark.parametrize(
    "memory, first, step",
    [
        (snp.MemoryLimits(), 41, 1000),
        *(pytest.param(x, 0, 7, marks=pytest.mark.slow) for x in (snp.MemoryLimits(), LITTLE)),
    ],
)
def test_checkpoints_have_all_after_a_failure(
    small_steps, monkeypatch, expected, memory, first, step, tmp_path
):
    """Also one that failed itself: the next one has what it should have had."""
    for at in itertools.count(first, step):
        how = {"memory": memory, "checkpoint": snp.Checkpoint(tmp_path / f"{at}", every_seconds=0)}
        failing = Failing(monkeypatch, at, for_ever=at % 2)
        with contextlib.suppress(MemoryError):
            explore(SYSTEM, chunks=CHUNKS, **how)
        failing.undo()
        if failing.num_calls <= at:
            break
        assert_same_graph(explore(SYSTEM, chunks=CHUNKS, **how), expected)
    assert at > 30


@pytest.mark.parametrize("memory", [snp.MemoryLimits(), NO_FILES])
def test_arrays_that_were_lost(small_steps, monkeypatch, expected, memory):
    """A program that fails may take with it what it was to change. There is another search then,
    with the words on the host, or one that ends earlier."""
    stops, original = [], WordsOnDevice.put
    for at in range(0, 12, 3):
        calls = []

        def put(memory, *given, at=at, calls=calls, **options):
            calls.append(memory)
            if len(calls) - 1 == at:
                memory.found.space.store.delete()
                raise exhausted()
            return original(memory, *given, **options)

        with monkeypatch.context() as patched:
            patched.setattr(WordsOnDevice, "put", put)
            graph = explore(SYSTEM, chunks=CHUNKS, memory=memory)
        is_complete = graph.stop is Stop.COMPLETE
        (assert_same_graph if is_complete else assert_is_beginning)(graph, expected)
        stops.append(graph.stop)
    assert set(stops) == {Stop.OUT_OF_MEMORY if memory is NO_FILES else Stop.COMPLETE}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("at", range(6))
def test_a_full_disk(small_steps, monkeypatch, expected, number, at):
    """Half of a row may have been written."""
    writes = []

    def write(file, rows):
        writes.append(rows.nbytes)
        if len(writes) > at:
            file.write(bytes(rows)[: rows.nbytes // 2])
            raise OSError(number, os.strerror(number))
        original(file, rows)

    original = host_arrays._write
    monkeypatch.setattr(host_arrays, "_write", write)
    graph = explore(SYSTEM, chunks=CHUNKS, memory=LITTLE)
    assert_is_beginning(graph, expected)
    assert len(writes) > at


def test_disks_are_not_filled(small_steps, expected):
    graph = explore(SYSTEM, chunks=CHUNKS, memory=snp.MemoryLimits(device=3000, host=400, disk=500))
    assert_is_beginning(graph, expected)


def test_other_errors_are_not_hidden(small_steps, monkeypatch):
    for error in (lambda: ValueError("a bug"), lambda: jax.errors.JaxRuntimeError("INTERNAL: x")):
        failing = Failing(monkeypatch, 9, error=error)
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match="a bug|INTERNAL"):
            explore(SYSTEM, chunks=CHUNKS)
        failing.undo()


def test_a_search_over_a_mesh(monkeypatch, expected):
    """Ends with the graph so far, or, if that was lost, with half of it."""
    mesh, original, stops = mesh_of(2, "configurations"), sharded.program, []
    for at in range(0, 60, 5):
        calls = []

        def program(function, *args, at=at, calls=calls, **options):
            calls.append(function)
            if len(calls) - 1 != at:
                return original(function, *args, **options)

            def fails(*arrays):
                for number in options.get("donated", ()) if at % 2 else ():
                    jax.tree.map(lambda x: x.delete(), arrays[number])
                raise exhausted()

            return fails

        with monkeypatch.context() as patched:
            patched.setattr(sharded, "program", program)
            patched.setattr(owned_memory, "program", program)
            try:
                graph = explore(SYSTEM, chunks=MESH_CHUNKS, mesh=mesh)
            except MemoryError as refused:
                assert "There is no memory for the first configurations" in f"{refused}"
                continue
        is_complete = graph.stop is Stop.COMPLETE
        (assert_same_graph if is_complete else assert_is_beginning)(graph, expected)
        stops.append(graph.stop)
    assert stops[0] is Stop.OUT_OF_MEMORY


def test_arrays_of_large_models_are_bounded_before_they_are_made(monkeypatch, expected):
    """One successor may take more than a chunk of small ones; the graph is the same."""
    monkeypatch.setattr(extent, "_MUCH", 2**10)
    monkeypatch.setattr(graph_module, "_NUMBERS_IN_BLOCK", 8)
    made, successors = [], device_search.successors

    def make(*args, chunk):
        made.append(chunk)
        return successors(*args, chunk=chunk)

    monkeypatch.setattr(device_search, "successors", make)
    graph = explore(SYSTEM, chunks=CHUNKS)
    assert_same_graph(graph, expected)
    assert graph.bounds() == expected.bounds()
    assert max(made) < CHUNKS[0]
    first = WordsOnDevice.first(graph.machine, 1, Budget(snp.MemoryLimits()), 100)
    assert 4 * first.packing.num_words * first.found.capacity <= 2**10
    assert search_memory.part_of(2**8) == 1
