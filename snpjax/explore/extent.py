"""How large the arrays of a search become, before any of them is allocated."""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

import jax


# Every capacity is a compilation, so that arrays grow by much, while that costs little memory.
FIRST_CAPACITY = 2**13
_FIRST_GROWTH, _GROWTH = 4, 16
_MUCH, _GPU_MUCH = 2**28, 2**32  # bytes

#: Places of a table have int32 numbers. A table is at most half full, while it has no more places
#: than the first number says, or while there is memory; then three quarters.
MAX_HALF_FULL, MAX_PLACES = 2**30, 7 * 2**28
_PLACE = 4  # bytes
_LEAST_PART = 2**17
#: Of a search on one device.
MAX_CONFIGURATIONS = MAX_PLACES // 4 * 3

# This part of the memory may be taken without need.
_LITTLE = 8


class Extent(NamedTuple):
    """The arrays of a search: rows of the store, the bytes of each, and places of the table."""

    capacity: int
    row: int
    places: int

    @property
    def num_bytes(self) -> int:
        return self.row * self.capacity + _PLACE * self.places

    def peak(self, larger: "Extent") -> int:
        """The bytes that are taken beyond these arrays while they grow: a larger store is made
        beside the old one, then a table in place of the old one."""
        store = larger.row * larger.capacity if larger.capacity > self.capacity else 0
        return max(store, larger.num_bytes - self.num_bytes)


def next_extent(
    now: Extent,
    wanted: int,
    free: Callable[[], int | None],
    *,
    most: int = MAX_CONFIGURATIONS,
    devices: int = 1,
) -> Extent | None:
    """Arrays for `wanted` configurations on each device.

    They grow by a factor. Where memory is too short for the growth after this one, the store takes
    nearly all that is left at once, because later it could not be copied to a larger one.

    **Arguments:**

    - `free`: the bytes that may be taken beyond those of `now`, or `None` if that is not known;
      called only if arrays have to grow.
    - `most`: configurations there may be.

    **Returns:** the extent, or `None` if there is not enough memory.
    """
    if wanted <= now.capacity and (2 * wanted <= now.places or now.places == MAX_PLACES):
        return now
    available = free()
    little = much() if available is None else min(much(), (available + now.num_bytes) // _LITTLE)
    capacity, places = now.capacity, now.places
    if wanted > capacity:
        capacity = grown(capacity, wanted, now.row, little, devices)
    if 2 * wanted > places:
        places = max(places, places_for(wanted, little, devices))
    usual = Extent(capacity, now.row, places)
    if usual == now or available is None:
        return usual
    if capacity == now.capacity:
        return next((x for x in _tables(now, wanted, usual) if now.peak(x) <= available), None)
    then = Extent(2 * capacity, now.row, fewest_places(2 * capacity))
    at_last = usual.num_bytes - now.num_bytes + usual.peak(then)
    is_followed = capacity >= most or at_last <= available
    if is_followed and now.peak(usual) <= available:
        return usual
    return _last(now, wanted, available, most)


def _tables(now: Extent, wanted: int, usual: Extent) -> list[Extent]:
    """Tables that may be chosen, the best one first."""
    least = max(now.places, fewest_places(wanted))
    return [usual, now._replace(places=least)]


def _last(now: Extent, wanted: int, available: int, most: int) -> Extent | None:
    """The largest store that fits, with a table for it."""

    def of(capacity: int) -> Extent:
        return Extent(capacity, now.row, max(now.places, fewest_places(capacity)))

    fits = lambda capacity: now.peak(of(capacity)) <= available  # noqa: E731
    capacities = range(wanted, max(most, wanted) + 1)
    number = bisect_left(capacities, True, key=lambda capacity: not fits(capacity))
    if number == 0:
        return None
    capacity = capacities[number - 1]
    if capacity < most:  # in steps, so that few capacities are compiled
        capacity -= capacity % (1 << max(capacity.bit_length() - 6, 0))
    return of(max(capacity, wanted))


def rows_without_need(row: int, devices: int = 1) -> int:
    """The number of rows of `row` bytes, a power of two, that each device may take without need."""
    return power_of_two(much() // devices // max(row, 1))


def power_of_two(most: int) -> int:
    """The largest power of two up to a number; at least 1."""
    return 1 << max(most.bit_length() - 1, 0)


def grown(capacity: int, wanted: int, row: int, little: int | None = None, devices: int = 1) -> int:
    """The capacity of a larger store, of which each device has a part, with rows of `row` bytes.
    All of them together may take `little` bytes without need."""
    little = (much() if little is None else little) // devices
    growth = _GROWTH if _GROWTH * wanted * row <= little else 2
    growth = _FIRST_GROWTH if wanted <= _FIRST_GROWTH * FIRST_CAPACITY // devices else growth
    return min(max(growth * capacity, 1 << (wanted - 1).bit_length()), MAX_CONFIGURATIONS)


def places_for(wanted: int, little: int | None = None, devices: int = 1) -> int:
    """Of a table for that many configurations, of which each device has one."""
    little = (much() if little is None else little) // devices
    if 2 * wanted > MAX_HALF_FULL:
        return MAX_HALF_FULL if wanted <= MAX_HALF_FULL // 4 * 3 else MAX_PLACES
    growth = _GROWTH if 8 * wanted * _GROWTH <= little else 2
    places = max(2 * growth * wanted, 4 * FIRST_CAPACITY // devices)
    return min(1 << (places - 1).bit_length(), MAX_HALF_FULL)


def fewest_places(wanted: int) -> int:
    """Of a table that is three quarters full at most: a power of two, or up to 7 times a large one,
    so that no part of it is much fuller than others."""
    least = -(-4 * wanted // 3)
    unit = 1 << max(least.bit_length() - 3, 0)
    if unit < _LEAST_PART:
        return 1 << (least - 1).bit_length()
    return min(unit * -(-least // unit), MAX_PLACES)


def much() -> int:
    """The bytes that a search may take without need."""
    return _MUCH if jax.default_backend() == "cpu" else _GPU_MUCH
