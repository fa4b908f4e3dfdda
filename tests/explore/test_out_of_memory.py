"""A search that gets no memory ends with the graph so far, or goes on with the words elsewhere."""

import errno
import os

import jax
import numpy as np
import pytest

import snpjax as snp
from snpjax._tiered import Tiered
from snpjax.explore import Stop, device_search, explore, host_arrays, words_on_device
from tests.explore.test_storage import CHUNKS, small_steps  # noqa: F401 (a fixture)
from tests.support.graphs import assert_is_beginning, assert_same_graph
from tests.support.known_graphs import countdown


SYSTEM = countdown(9)
NO_FILES = snp.Storage(disk=0)


@pytest.fixture(scope="module")
def expected():
    return explore(SYSTEM, chunks=CHUNKS)


def exhausted():
    return jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.")


class Failing:
    """Programs of the search, of which a call fails: number `at`, counted from 0."""

    def __init__(self, monkeypatch, at, *, error=exhausted, and_all_after=False):
        self.num_calls = 0

        def call(program, *args, **kwargs):
            if program.__module__.startswith("snpjax.explore."):
                self.num_calls += 1
                left = self.num_calls - 1 - at
                if left == 0 or (left > 0 and and_all_after):
                    raise error()
            return original(program, *args, **kwargs)

        original = Tiered.__call__
        monkeypatch.setattr(Tiered, "__call__", call)
        self.undo = lambda: monkeypatch.setattr(Tiered, "__call__", original)


def num_first_calls(monkeypatch):
    """Before the search begins, when there is no graph yet."""
    model = None
    failing = Failing(monkeypatch, 10**9)
    limits = device_search.Limits(100, True, snp.Storage())
    del model, limits
    failing.undo()


@pytest.mark.parametrize("error", [exhausted, MemoryError])
@pytest.mark.parametrize("storage", [snp.Storage(), NO_FILES, snp.Storage(device=3000, host=400)])
def test_every_program_may_fail(small_steps, monkeypatch, expected, storage, error):  # noqa: F811
    at, stops = 0, []
    while True:
        failing = Failing(monkeypatch, at, error=error)
        try:
            graph = explore(SYSTEM, chunks=CHUNKS, storage=storage)
        except MemoryError as refused:
            assert "first configurations" in f"{refused}"
            graph = None
        failing.undo()
        if failing.num_calls <= at:
            break
        if graph is None:
            stops.append(None)
        elif graph.stop is Stop.COMPLETE:
            assert_same_graph(graph, expected)
            stops.append(graph.stop)
        else:
            assert_is_beginning(graph, expected)
            stops.append(graph.stop)
        at += 1
    assert None in stops and Stop.OUT_OF_MEMORY in stops
