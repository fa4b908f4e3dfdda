"""Sets of counts as bits of Python integers: bit k stands for the count k."""

import re
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import TypeAlias


#: An arithmetic progression (lo, hi, period) of counts; hi is `None` where it does not end.
Term: TypeAlias = tuple[int, int | None, int]

_MAX_STEP = 64  # the widest step that is tried when a set needs many terms
_FLAGS = bytes.maketrans(b"01", b"\0\1")
_NOT_ZERO = re.compile(rb"[^\0]")
_BYTE_MEMBERS = [[i for i in range(8) if byte >> i & 1] for byte in range(256)]


def mask(size: int) -> int:
    """The counts below `size`."""
    return (1 << size) - 1


def lowest(bits: int) -> int:
    """The least count of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


def members(bits: int) -> Iterable[int]:
    """The positions of the ones, ascending. Shifting them out one by one takes quadratic time."""
    if bits.bit_count() * 16 > bits.bit_length():
        flags = bin(bits)[:1:-1].encode().translate(_FLAGS)
        return compress(range(len(flags)), flags)
    data = bits.to_bytes(bits.bit_length() // 8 + 1, "little")
    return (8 * m.start() + i for m in _NOT_ZERO.finditer(data) for i in _BYTE_MEMBERS[m[0][0]])


def bits_of(counts: Sequence[int]) -> int:
    """The set of these counts."""
    size = max(counts, default=0) + 1
    digits = bytearray(b"0") * size
    for count in counts:
        digits[size - 1 - count] = ord("1")
    return int(digits, 2)


def cycle(pattern: int, period: int, size: int) -> int:
    """`pattern` repeated with its period, below `size`."""
    if not pattern:
        return 0
    while period < size:
        pattern |= pattern << period
        period *= 2
    return pattern & mask(size)


def rotate(pattern: int, period: int, shift: int) -> int:
    """The cyclic pattern read from position `shift`, 0 <= shift <= period."""
    return pattern >> shift | (pattern & mask(shift)) << period - shift


def fold(pattern: int, period: int, step: int) -> int:
    """The pattern's positions modulo `step`, a divisor of `period`."""
    pieces = period // step
    while pieces > 1:
        pieces = (pieces + 1) // 2
        pattern = pattern & mask(pieces * step) | pattern >> pieces * step
    return pattern


def progression(bits: int, period: int, count: int, size: int) -> int:
    """The union of `bits` shifted by 0, period, ..., (count - 1) period, below `size`."""
    done = 1
    bits &= mask(size)
    while done < count and done * period < size:
        more = min(done, count - done)
        bits |= bits << more * period & mask(size)
        done += more
    return bits


def count_below(lo: int, hi: int | None, period: int, size: int) -> int:
    """How many members below `size` a progression has."""
    last = size - 1 if hi is None else min(hi, size - 1)
    return (last - lo) // period + 1


def finite_terms(bits: int) -> Sequence[Term]:
    """Runs and evenly spaced singles, or, where that gives many terms, progressions of one step."""
    in_run = bits & (bits >> 1 | bits << 1)
    run_starts = in_run & ~(in_run << 1)
    raw = run_starts.bit_count() + (bits ^ in_run).bit_count()
    step, chains = 1, raw
    if raw > _MAX_STEP:
        counts = ((bits & ~(bits << d)).bit_count() for d in range(2, _MAX_STEP + 1))
        chains, step = min((count, d) for d, count in enumerate(counts, start=2))
    if 4 * chains < raw:
        return _chains(bits, step)
    run_ends = in_run & ~(in_run >> 1)
    terms: list[Term] = [
        (lo, hi, 1) for lo, hi in zip(members(run_starts), members(run_ends), strict=True)
    ]
    first = last = -1
    gap = 0
    for k in members(bits ^ in_run):
        if first >= 0 and first != last and k - last != gap:
            terms.append((first, last, gap))
            first = -1
        if first < 0:
            first, gap = k, 1
        else:
            gap = k - last
        last = k
    if first >= 0:
        terms.append((first, last, gap))
    return terms if len(terms) <= chains else _chains(bits, step)


def _chains(bits: int, step: int) -> Sequence[Term]:
    """The longest progressions of this step, which never overlap."""
    starts = sorted(members(bits & ~(bits << step)), key=lambda k: k % step)
    ends = sorted(members(bits & ~(bits >> step)), key=lambda k: k % step)
    return [(lo, hi, step if lo < hi else 1) for lo, hi in zip(starts, ends, strict=True)]


def prime_factors(number: int) -> Iterable[int]:
    """The distinct prime factors, ascending."""
    factor = 2
    while factor * factor <= number:
        if number % factor == 0:
            yield factor
            while number % factor == 0:
                number //= factor
        factor += 1
    if number > 1:
        yield number
