"""Searches that end after some seconds, or when they are interrupted."""

import signal
import threading

import numpy as np
import pytest

import snpjax as snp
from snpjax.explore import Patience
from tests.support.known_graphs import CHUNKS, lattice
from tests.support.meshes import mesh_of


@pytest.fixture(scope="module")
def whole():
    return snp.explore(lattice(4), chunks=CHUNKS, max_configurations=1000)


class _After(Patience):
    """It ends after some questions."""

    def __init__(self, questions: int, stop: snp.Stop):
        super().__init__(None)
        self.questions, self.last = questions, stop

    def stop(self):
        self.questions -= 1
        return self.last if self.questions < 0 else None


@pytest.mark.parametrize("stop", [snp.Stop.MAX_SECONDS, snp.Stop.INTERRUPTED])
@pytest.mark.parametrize("questions", [0, 1, 4])
def test_what_was_found_is_the_beginning_of_the_graph(whole, stop, questions):
    options = {"chunks": CHUNKS, "max_configurations": 1000}
    part = snp.explore(lattice(4), **options, seconds=_After(questions, stop))
    assert part.stop is stop and not part.is_complete
    num = part.num_configurations
    assert 1 < num < whole.num_configurations
    some = range(num)
    assert np.array_equal(part.configurations(some).spikes, whole.configurations(some).spikes)
    # What is not open has all of its successors.
    closed = np.flatnonzero(~part.is_open)
    assert part.is_open.any()
    for i in closed.tolist():
        after = [graph.adjacency[[i]].indices.tolist() for graph in (part, whole)]
        assert sorted(after[0]) == sorted(after[1])


def test_a_search_over_a_mesh_ends_too(whole):
    mesh, patience = mesh_of(2, "configurations"), _After(2, snp.Stop.MAX_SECONDS)
    part = snp.explore(lattice(4), chunks=CHUNKS, mesh=mesh, seconds=patience)
    assert part.stop is snp.Stop.MAX_SECONDS
    some = range(part.num_configurations)
    assert np.array_equal(part.configurations(some).spikes, whole.configurations(some).spikes)


def test_the_same_call_goes_on_from_a_checkpoint(whole, tmp_path):
    options = {"chunks": CHUNKS, "max_configurations": 1000, "checkpoint": snp.Checkpoint(tmp_path)}
    first = snp.explore(lattice(4), **options, seconds=_After(3, snp.Stop.MAX_SECONDS))
    assert first.stop is snp.Stop.MAX_SECONDS
    second = snp.explore(lattice(4), **options)
    assert second.num_configurations == whole.num_configurations > first.num_configurations
    assert second.stop is whole.stop and second.num_choices == whole.num_choices


def test_time_passes():
    assert Patience(1e-9).stop() is snp.Stop.MAX_SECONDS
    assert Patience(1e9).stop() is None and Patience(None).stop() is None
    part = snp.explore(lattice(4), max_configurations=10**7, chunks=CHUNKS, seconds=1e-9)
    assert part.stop is snp.Stop.MAX_SECONDS and "the limit of time was reached" in repr(part)


def test_the_second_interrupt_is_an_exception():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        patience = Patience(None)
        with pytest.raises(KeyboardInterrupt), patience.until_interrupted():
            signal.raise_signal(signal.SIGINT)
            assert patience.stop() is snp.Stop.INTERRUPTED
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_and_ignored_signals_change_nothing():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Patience(None).until_interrupted():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        found = []

        def elsewhere():
            with Patience(None).until_interrupted():
                found.append(True)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert found == [True]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_seconds_that_are_none(seconds):
    with pytest.raises(ValueError, match="`seconds` is .*Pass a positive number"):
        snp.explore(lattice(2), seconds=seconds)
