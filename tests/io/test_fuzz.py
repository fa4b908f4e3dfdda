"""Readers raise nothing but what they promise, for models, nets, cell proliferation and what
layouts are selected by. Coverage-guided fuzzing: tests/support/fuzz/readers.py."""

from pathlib import Path

import pytest

from tests.support.file_readers import file_readers
from tests.support.mutants import read_mutants


NUM_MUTANTS = 300
NUM_OF_SWEEP = 100_000  # of all readers
NAMES = tuple(file_readers(Path()))


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    return file_readers(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("name", NAMES)
def test_seeds_are_read(name, readers):
    assert all(map(readers[name].outcome, readers[name].seeds))


@pytest.mark.parametrize("name", NAMES)
def test_mutants_raise_nothing_else(name, readers):
    assert 0 < read_mutants(readers[name], NUM_MUTANTS, name) < NUM_MUTANTS


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_many_mutants_raise_nothing_else(name, readers):
    """The others of 100,000, each with 5 seconds."""
    count = NUM_OF_SWEEP // len(NAMES)
    assert 0 < read_mutants(readers[name], count, f"many of {name}") < count
