"""Sizes are rounded up to few values, so that graphs of similar size share one compilation."""

import numpy as np
from jaxtyping import Int


#: Graphs of up to this many rows are padded generously: they are cheap, and share compilations.
SMALL = 256

#: Up to this many rows every layout takes as long.
TINY = 8

# Above this many entries a bucket up to half as large again costs more than it saves.
_MANY_ENTRIES = 4_096
_STEPS_PER_OCTAVE = 16


def bucket(size: int, *, at_least: int = 8) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, ... that is at least both arguments."""
    wanted = max(size, at_least, 1)
    power = 1 << (wanted - 1).bit_length()
    three_quarters = 3 * power // 4
    return three_quarters if power >= 4 and three_quarters >= wanted else power


def buckets(most: int, *, at_least: int = 8) -> Int[np.ndarray, " buckets"]:
    """Every value of `bucket(size, at_least=at_least)` for sizes up to `most`, ascending."""
    sizes = [bucket(0, at_least=at_least)]
    while sizes[-1] < most:
        sizes.append(bucket(sizes[-1] + 1, at_least=at_least))
    return np.asarray(sizes)


def slot_bucket(size: int, num_rows: int) -> int:
    """Slots for rows of at most `size` edges. In large graphs there may be one: padding three to
    eight would cost more than it saves."""
    return bucket(size, at_least=4 if num_rows <= SMALL else 1)


def entry_bucket(size: int, num_rows: int) -> int:
    """The length of a list of `size` edges; a long one is padded by a sixteenth at most."""
    if size <= _MANY_ENTRIES:
        return bucket(size, at_least=64 if num_rows <= SMALL else 1)
    step = (1 << (size - 1).bit_length()) // (2 * _STEPS_PER_OCTAVE)
    return -(-size // step) * step
