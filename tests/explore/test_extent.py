"""How much the arrays of a search grow, and that they fit in memory while they do."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from snpjax.explore import extent as extents, table as tables
from snpjax.explore.extent import Extent, fewest_places, next_extent, places_for
from tests.support.helpers import slow


GIB = 2**30


def grow_until(wanted, row, memory, *, most, chunk=2**21):
    """Extents of a search on a device with that many bytes, which takes a chunk after the other;
    until there are `wanted` configurations, or until the memory is short."""
    now, num = Extent(2**13, row, 2**15), 1
    found = [now]
    while num < wanted:
        num += chunk
        after = next_extent(now, num, lambda now=now: memory - now.num_bytes, most=most)
        if after is None:
            break
        if after != now:
            assert now.num_bytes + now.peak(after) <= memory
            assert after.capacity >= num and 4 * num <= 3 * after.places
            found.append(after)
            now = after
    return found


@pytest.mark.parametrize("memory", [75 * GIB, 105 * GIB])
def test_a_billion_configurations_fit_on_one_device(memory):
    """Of ten words each, as in subset sum of 29 numbers."""
    wanted = 2**30 + 1000
    found = grow_until(wanted, 40, memory, most=1_200_000_000)
    assert found[-1].capacity >= wanted
    assert max(a.capacity for a in found) < 2**31 and found[-1].places < 2**31
    assert found[-1].places % 2**28 == 0 and found[-1].places > 2**30


def test_the_last_store_takes_most_of_the_memory():
    """Also where no power of two does: the old one and the new one are there together only once."""
    for memory in range(8 * GIB, 80 * GIB, 5 * GIB):
        found = grow_until(2**31, 40, memory, most=extents.MAX_CONFIGURATIONS)
        last, before = found[-1].num_bytes, found[-2].num_bytes
        at_the_end = 2 * last > 3 * before
        assert last >= memory // 2 and (at_the_end or before >= memory // 2), (memory, found)


@given(st.integers(1, 200), st.integers(2**16, 2**24), st.integers(0, 10), st.integers(1, 2**14))
def test_no_growth_takes_more_than_there_is(words, memory, chunk, wanted):
    grow_until(wanted, 4 * words, memory, most=2 * wanted, chunk=2**chunk)


def test_a_set_that_is_made_again_takes_all_it_can():
    """Of fingerprints, 8 bytes each and a place of 4 in a table that is three quarters full."""
    for memory in range(2**23, 2**28, 5 * 2**20):
        wanted = int(memory / 15)
        found = next_extent(Extent(0, 8, 0), wanted, lambda memory=memory: memory)
        assert found is not None and wanted <= found.capacity
        assert found.num_bytes <= memory and 4 * found.capacity <= 3 * found.places


def test_memory_is_not_looked_up_while_nothing_grows():
    now = Extent(2**13, 8, 2**15)

    def free():
        raise AssertionError("looked up")

    assert next_extent(now, 2**13, free) == now
    assert next_extent(now, 2**14, lambda: None) is not None


def test_tables():
    assert places_for(100) == places_for(1000) == 2**15 < places_for(2000)
    assert places_for(2**29) == 2**30 == places_for(2**29 + 1)
    assert places_for(2**30) == extents.MAX_PLACES
    for wanted in (1, 5, 1000, 12345, 2**20, 2**20 + 1, 2**30):
        places = fewest_places(wanted)
        part = places & -places
        assert 4 * wanted <= 3 * places and places // part <= 7
        assert part == places or part >= 2**17 and 3 * places <= 5.1 * wanted


@pytest.mark.parametrize(
    "size",
    [3 * 2**14, *slow(7 * 2**13, 5 * 2**13, 2**15)],
)
def test_a_table_that_is_no_power_of_two(size):
    """Is a set all the same, also when it is three quarters full; its parts are filled evenly."""
    num = size * 3 // 4
    rng = np.random.default_rng(size)
    words = jnp.asarray(rng.choice(2**22, num, replace=False).astype(np.uint32)[:, None])
    store, all_of_them = jnp.concatenate([words, words]), jnp.ones(num, bool)
    own, table = np.arange(num), tables.empty_table(size)
    table, found, places = tables.insert(table, store, words, jnp.int32(0), all_of_them)
    assert np.asarray(found).tolist() == own.tolist()
    _, again, _ = tables.insert(table, store, words, jnp.int32(num), all_of_them)
    assert np.asarray(again).tolist() == own.tolist()
    table = np.asarray(table)
    assert table[np.asarray(places)].tolist() == own.tolist()
    assert np.sum(table != tables.EMPTY) == num
    part = size & -size
    filled = (table != tables.EMPTY).reshape(-1, part).mean(axis=1)
    assert np.all(np.abs(filled - 0.75) < 0.03)
