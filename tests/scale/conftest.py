"""What tests of checkpoints share."""

import itertools

import pytest

from snpjax.scale import checkpoint
from tests.support.long_calls import CountedCalls, short_chunks


@pytest.fixture
def clock_of_calls(monkeypatch):
    """Work is done in short chunks, and each time that a checkpoint might be due a second has
    passed."""
    monkeypatch.setattr(checkpoint, "_now", itertools.count().__next__)
    with short_chunks():
        yield


@pytest.fixture
def counted():
    """The calls to the device."""
    calls = CountedCalls()
    with calls.counted():
        yield calls
