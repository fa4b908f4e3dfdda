"""A million small random systems in batches that share their programs: each step is that of the
reference."""

import os

import pytest

from tests.support.many_systems import KINDS, PER_BATCH


NUM_BATCHES = -(-int(os.environ.get("SNPJAX_SYSTEMS", 1_000_000)) // PER_BATCH)
PER_TEST = 20  # batches


@pytest.mark.parametrize("kind", KINDS[:2], ids=str)
def test_batches_equal_the_reference(kind):
    assert kind.check(1, size=40) == kind.check(9, size=40), "they share a program"


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(-(-NUM_BATCHES // PER_TEST)))
def test_a_million_systems(part):
    kind = KINDS[part % len(KINDS)]
    numbers = range(NUM_BATCHES)[part * PER_TEST :][:PER_TEST]
    programs = {kind.check(number) for number in numbers}
    assert len(programs) <= 4, "batches share them: of two layouts, with rules merged or not"
