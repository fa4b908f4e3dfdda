"""Guards: which numbers of spikes let a rule apply.

Standard library only: the pure-Python reference interpreter uses this module too.
"""

import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import compress
from math import gcd, lcm
from typing import NoReturn, final

from .guard_syntax import (
    GUARD_LIMIT as GUARD_LIMIT,
    GuardError as GuardError,
    Term as Term,
    read_guard,
    write_guard,
)


_WORK_LIMIT = 2**35  # bytes moved by one operation or by one parsed text: some seconds
_WORK_PER_TERM = 2**12  # bytes that can be moved while Python handles one term
_WORK_OF_FILE = 2**33  # of all guards that are read within `shared_budget`: some 2 seconds
_WORK_PER_TEXT = 2**18  # of these, for each text that is not an interval
#: One count, some, or all from one on, as most guards are: `a{3}`, `a^3`, `a{3,5}`, `a+`, `a{3}a*`.
_INTERVAL = re.compile(
    r"a(?:\{([0-9]{1,6})\}|\^([0-9]{1,6}))?(a\*|(?<=a)\+)?|a\{([0-9]{1,6}),([0-9]{1,6})\}|(a\*)"
)

_SHORT = 64  # characters of a text whose guard is remembered
_MAX_STEP = 64  # the widest step that is tried when a set needs many terms
_FLAGS = bytes.maketrans(b"01", b"\0\1")
_NOT_ZERO = re.compile(rb"[^\0]")
_BYTE_MEMBERS = [[i for i in range(8) if byte >> i & 1] for byte in range(256)]


@final
class Guard:
    """A set of spike counts: the lengths of the words of a regular expression over the letter `a`.

    Regular languages over one letter are exactly the ultimately periodic sets, so every guard has
    one normal form (finite, tail, period, residues): k belongs to it iff k is in `finite` (all <
    `tail`), or k >= `tail` and k is congruent modulo `period` to one of `residues`, which are
    written as counts in [tail, tail + period). The period is the least possible, then the tail; an
    empty periodic part has period 1. Two guards are equal iff they hold the same counts.

    A guard says nothing about consumption: that a rule also needs k >= c is not part of it.

    Sets are computed on bits of Python integers and words are never written out. A guard with
    tail + period above `GUARD_LIMIT` is refused with a `ValueError` (`GuardError` when it was read
    from text); so is one that passes the limit on the way, or needs more than some seconds.

    `Guard(text)` is `Guard.parse(text)`; `Guard.of` also takes counts, sets and intervals.

    ??? cite "Source"
        Parikh 1966: unary regular languages are the ultimately periodic sets. Chrobak 1986 for
        their normal form.
    """

    __slots__ = ("_low", "_bits_from_low", "_tail", "_residue_bits", "_period")

    # The finite counts from the least one on: a file may hold a million guards a{n} with large n.
    _low: int  # 0 if there are none
    _bits_from_low: int  # bit k: the count low + k, below the tail
    _tail: int
    _residue_bits: int  # bit i: the counts tail + i + j * period, for i < period
    _period: int

    def __new__(cls, text: str) -> "Guard":
        return cls.parse(text)

    # ---- making ----

    @staticmethod
    def parse(text: str) -> "Guard":
        r"""Read a regular expression over `a`: `a(aa)*`, `a{2,5}|a{7,}`, `a^2 \cup a^{3}(a^2)^*`.

        Matching is always on the whole count. Besides `a`, juxtaposition, `|`, parentheses, `*`,
        `+`, `?` and braces it knows `U`, `∪`, `\cup` for `|`, powers `a^2`, `a^{2}`, `(aa)^*`,
        `\ast`, and `∅` for no count at all.

        **Raises:** `GuardError` with the position of the mistake.
        """
        if not isinstance(text, str):
            raise ValueError(f"{_shown(text)} is not a guard text (use Guard.of)")
        return (_parsed_short if len(text) <= _SHORT else _parsed)(text)

    @staticmethod
    def exactly(n: int) -> "Guard":
        """The one count `n`."""
        return Guard.interval(n, n)

    @staticmethod
    def interval(low: int, high: int | None = None) -> "Guard":
        """The counts from `low` to `high`, both included; `None` means no upper bound.

        **Raises:** `ValueError` if `low` exceeds `high`.
        """
        low = _as_count(low)
        if high is None:
            return _normal(0, low, 1, 1)
        high = _as_count(high)
        if low > high:
            raise ValueError(
                f"the interval from {low} to {high} has its ends exchanged (write {high}, {low})"
            )
        if high + 2 > GUARD_LIMIT:
            _refuse()
        return _build(low, _mask(high - low + 1), high + 1, 0, 1)

    @staticmethod
    def from_lengths(lengths: Iterable[int]) -> "Guard":
        """The counts given, in any order."""
        if isinstance(lengths, range) and len(lengths) > 1:  # without a loop: ranges may be long
            low, high = sorted((_as_count(lengths[0]), _as_count(lengths[-1])))
            bits = _progression(1 << low, abs(lengths.step), len(lengths), high + 1)
        else:
            bits = _bits_of([_as_count(length) for length in lengths])
        return _normal(bits, bits.bit_length(), 0, 1)

    @staticmethod
    def from_normal_form(
        finite: Iterable[int], tail: int, period: int, residues: Iterable[int]
    ) -> "Guard":
        """The set of counts with a periodic form.

        **Arguments:**

        - `finite`: the counts below `tail`.
        - `tail`: from this count on the set is periodic.
        - `period`: the period, 1 or more; `tail` and `period` need not be the smallest possible.
        - `residues`: the counts in [`tail`, `tail + period`).

        **Returns:** the guard.

        **Raises:** `ValueError` for a count outside these ranges, or a period of 0.
        """
        tail, period = _as_count(tail), _as_count(period)
        finite = [_as_count(k) for k in finite]
        residues = [_as_count(k) for k in residues]
        if period == 0:
            raise ValueError(
                "the period is 0 (without a periodic part write period 1, residues ())"
            )
        if any(k >= tail for k in finite):
            raise ValueError(f"a finite count is not below the tail {tail} (raise the tail)")
        if any(not tail <= k < tail + period for k in residues):
            raise ValueError(
                f"a residue is outside [{tail}, {tail + period}) (write it as a count in "
                "[tail, tail + period))"
            )
        return _normal(_bits_of(finite), tail, _bits_of([k - tail for k in residues]), period)

    @staticmethod
    def of(value: object) -> "Guard":
        """A guard from any of its spellings.

        A `Guard`, the text of one, an integer (exactly), a range or set of integers, or an interval
        `(low, high)` whose `high` may be `None`.
        """
        if isinstance(value, Guard):
            return value
        if isinstance(value, str):
            return Guard.parse(value)
        if isinstance(value, range | set | frozenset):
            return Guard.from_lengths(value)
        if isinstance(value, tuple):
            if len(value) != 2:
                raise ValueError(
                    f"an interval has two ends, not {len(value)} (write (low, high), (low, None) "
                    "or a set of counts)"
                )
            return Guard.interval(*value)
        return Guard.exactly(value)  # pyright: ignore[reportArgumentType]  (checked there)

    # ---- the normal form ----

    @property
    def _finite_bits(self) -> int:
        """Bit k: the count k, for k < tail."""
        return self._bits_from_low << self._low

    @property
    def finite(self) -> tuple[int, ...]:
        """The counts below `tail`, ascending."""
        return tuple(self._low + k for k in _members(self._bits_from_low))

    @property
    def tail(self) -> int:
        """From here on the set is periodic; for a finite set, one more than its largest count (0 if
        empty).
        """
        return self._tail

    @property
    def period(self) -> int:
        """The least period; 1 if the set is finite."""
        return self._period

    @property
    def residues(self) -> tuple[int, ...]:
        """The counts in [tail, tail + period), ascending."""
        return tuple(self._tail + i for i in _members(self._residue_bits))

    @property
    def nbytes(self) -> int:
        """The bytes that its bits take."""
        return (self._bits_from_low.bit_length() + self._residue_bits.bit_length()) // 8

    # ---- questions ----

    def __contains__(self, k: object) -> bool:
        count = as_integer(k)
        if count is None:
            return False
        if count < self._tail:
            return count >= self._low and bool(self._bits_from_low >> (count - self._low) & 1)
        return bool(self._residue_bits >> (count - self._tail) % self._period & 1)

    @property
    def is_empty(self) -> bool:
        return not (self._bits_from_low or self._residue_bits)

    @property
    def is_finite(self) -> bool:
        return not self._residue_bits

    @property
    def minimum(self) -> int | None:
        """The least count, or `None` if there is none."""
        if self._bits_from_low:
            return self._low
        return self._tail + _lowest(self._residue_bits) if self._residue_bits else None

    def is_exactly(self, n: int) -> bool:
        """Whether `n` is the one and only count."""
        return self.is_finite and n == self._tail - 1 and self._bits_from_low == 1

    def isdisjoint(self, other: "Guard") -> bool:
        """Whether no count is in both. Never refused, however large the common period is."""
        tail = max(self._tail, other._tail)
        if _expand(self, tail) & _expand(other, tail):
            return False
        # Beyond both tails, by the Chinese remainder theorem, two classes meet iff they agree
        # modulo the gcd of the periods; so it is enough to compare both periodic parts folded to
        # that gcd.
        step = gcd(self._period, other._period)
        first, second = (
            _fold(_expand(guard, tail + guard._period) >> tail, guard._period, step)
            for guard in (self, other)
        )
        return not first & second

    def issubset(self, other: "Guard") -> bool:
        """Whether every count of this set is in `other`. Never refused."""
        return self.isdisjoint(~other)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Guard) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    # ---- algebra ----

    def __or__(self, other: "Guard") -> "Guard":
        return _unite(self, other, _Budget()) if isinstance(other, Guard) else NotImplemented

    def __and__(self, other: "Guard") -> "Guard":
        if not isinstance(other, Guard):
            return NotImplemented
        first, second, tail, period = _align(self, other)
        return _split(first & second, tail, period)

    def __sub__(self, other: "Guard") -> "Guard":
        if not isinstance(other, Guard):
            return NotImplemented
        first, second, tail, period = _align(self, other)
        return _split(first & ~second, tail, period)

    def __bool__(self) -> bool:
        raise TypeError(
            "`and`, `or` and `not` cannot combine guards. Write `a & b`, `a | b` or `~a`, or test "
            "`guard.is_empty`."
        )

    def __invert__(self) -> "Guard":
        """All counts that are not in this set."""
        finite = self._finite_bits ^ _mask(self._tail)
        residues = self._residue_bits ^ _mask(self._period)
        return _normal(finite, self._tail, residues, self._period)

    def concatenate(self, other: "Guard") -> "Guard":
        """All sums of a count of this set and one of `other`."""
        return _concatenate(self, other, _Budget())

    def star(self) -> "Guard":
        """All sums of any number of counts of this set; 0 is always one."""
        return _star(self, _Budget())

    def repeat(self, low: int, high: int | None = None) -> "Guard":
        """All sums of `low` to `high` counts of this set (`None`: no upper bound), like the braces
        `{low,high}`.

        **Raises:** `ValueError` if `low` exceeds `high`.
        """
        low = _as_count(low)
        if high is not None and low > (high := _as_count(high)):
            raise ValueError(
                f"the repetition from {low} to {high} has its ends exchanged (write {high}, {low})"
            )
        return _repeat(self, low, high, _Budget())

    # ---- what lowering and people read ----

    def terms(self, minimum: int = 0) -> tuple[Term, ...]:
        """Disjoint arithmetic progressions `(lo, hi, period)` that make up the counts >= `minimum`.

        They come by ascending lo. A term holds the counts k with lo <= k <= hi (`None`: without
        end) and k - lo divisible by period. Neighbouring counts are one term of period 1 and evenly
        spaced single ones one term; one count is `(n, n, 1)`. Terms are few, but the least number
        is not sought. Neighbouring residues are separate terms.
        """
        minimum = _as_count(minimum)
        if self.is_finite and minimum <= self._low:
            low, terms = self._low, _finite_terms(self._bits_from_low)
            return tuple(sorted((low + lo, low + (hi or 0), period) for lo, hi, period in terms))
        finite_bits = self._finite_bits >> minimum << minimum
        plain = self._terms_from(finite_bits, self._residue_bits << self._tail, minimum)
        if not self._residue_bits or not finite_bits:
            return plain
        # Each residue may reach down into the tail. That can save terms, {5} | {0, 2, 4, ...} is
        # two instead of three, or merely cut runs to pieces; so both are tried.
        size, step = self._tail + self._period, self._period
        broken = _expand(self, size) ^ _mask(size)
        shift = step
        while shift < size:
            broken |= broken >> shift
            shift *= 2
        unbroken = broken ^ _mask(size)
        reaching = self._terms_from(
            finite_bits & ~unbroken, unbroken & ~(unbroken << step) & _mask(size), minimum
        )
        return reaching if len(reaching) < len(plain) else plain

    def _terms_from(self, finite_bits: int, starts: int, minimum: int) -> tuple[Term, ...]:
        terms = list(_finite_terms(finite_bits))
        period = self._period
        for start in _members(starts):
            late = max(0, minimum - start)
            terms.append((start + -(-late // period) * period, None, period))
        return tuple(sorted(terms, key=lambda term: term[0]))

    def __str__(self) -> str:
        return write_guard(self.terms())

    def __repr__(self) -> str:
        return f"Guard({str(self)!r})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Guard is immutable (build a new one to change `{name}`)")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Guard is immutable")

    def __reduce__(self):
        return _build, self._key()

    def _key(self) -> tuple[int, int, int, int, int]:
        return self._low, self._bits_from_low, self._tail, self._residue_bits, self._period


class _Refused(ValueError):
    """The set is too large; `fault` is the message without its subject, for use with a position."""

    def __init__(self, fault: str):
        super().__init__(f"the guard {fault}")
        self.fault = fault


class _Budget:
    """The work that one call may do; texts whose every step is below the limit can take minutes."""

    def __init__(self, work: int = _WORK_LIMIT) -> None:
        self.left = work

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise _Refused("takes too much work: its counts are large and irregular (simplify it)")


_SHARED: ContextVar[_Budget | None] = ContextVar("_SHARED", default=None)


@contextmanager
def shared_budget() -> Iterator[None]:
    """Let all guards that are parsed here share the work that may be done. Beyond it, each is a
    `GuardError`."""
    token = _SHARED.set(_Budget(_WORK_OF_FILE))
    try:
        yield
    finally:
        _SHARED.reset(token)


def _refuse() -> NoReturn:
    raise _Refused(
        f"needs a tail + period above the limit of {GUARD_LIMIT} (use smaller counts and periods)"
    )


def _build(low: int, bits_from_low: int, tail: int, residue_bits: int, period: int) -> Guard:
    guard = object.__new__(Guard)
    object.__setattr__(guard, "_low", low)
    object.__setattr__(guard, "_bits_from_low", bits_from_low)
    object.__setattr__(guard, "_tail", tail)
    object.__setattr__(guard, "_residue_bits", residue_bits)
    object.__setattr__(guard, "_period", period)
    return guard


def _normal(finite: int, tail: int, residues: int, period: int) -> Guard:
    """The guard with this periodic form, brought to the least period and then the least tail."""
    if not residues:
        period = 1
    for prime in _prime_factors(period):
        while period % prime == 0:
            shorter = period // prime
            if _rotate(residues, period, shorter) != residues:
                break
            residues, period = residues & _mask(shorter), shorter
    # The pattern continued below the tail; the last count where it is wrong ends the least tail.
    continued = _cycle(_rotate(residues, period, -tail % period), period, tail)
    least = (finite ^ continued).bit_length()
    residues = _rotate(residues, period, (least - tail) % period)
    if least + period > GUARD_LIMIT:
        _refuse()
    finite &= _mask(least)
    low = _lowest(finite) if finite else 0
    return _build(low, finite >> low, least, residues, period)


def _split(bits: int, tail: int, period: int) -> Guard:
    return _normal(bits & _mask(tail), tail, bits >> tail, period)


def _align(first: Guard, second: Guard) -> tuple[int, int, int, int]:
    """Both sets as bits up to a common tail + period."""
    tail, period = max(first._tail, second._tail), lcm(first._period, second._period)
    if period > GUARD_LIMIT:
        _refuse()
    return _expand(first, tail + period), _expand(second, tail + period), tail, period


def _unite(first: Guard, second: Guard, budget: _Budget) -> Guard:
    left, right, tail, period = _align(first, second)
    budget.spend(tail + period)  # some copies of an eighth of it
    return _split(left | right, tail, period)


def _concatenate(first: Guard, second: Guard, budget: _Budget) -> Guard:
    if first.is_empty or second.is_empty:
        return NOTHING
    period = lcm(first._period, second._period)
    tail = first._tail + second._tail
    if period > GUARD_LIMIT or (first.is_finite and second.is_finite and tail > GUARD_LIMIT):
        _refuse()
    if not (first.is_finite or second.is_finite):
        # All sums i p + j q are the multiples of gcd(p, q) from lcm(p, q) on, and earlier than
        # that.
        tail += period + gcd(first._period, second._period)
    size = tail + period
    budget.spend(size)
    if first._tail + first._period > second._tail + second._period:
        first, second = second, first
    terms = first.terms()
    budget.spend(_WORK_PER_TERM * len(terms))
    if len(terms) > 8 and first is not second:  # perhaps the larger set is the simpler one
        second_terms = second.terms()
        budget.spend(_WORK_PER_TERM * len(second_terms))
        if len(second_terms) < len(terms):
            terms, second = second_terms, first
    return _split(_shifted_union(_expand(second, size), terms, size, budget), tail, period)


def _star(guard: Guard, budget: _Budget) -> Guard:
    """The numerical semigroup that the counts generate.

    With m its least positive count and g the gcd of all, once m / g consecutive multiples of g are
    in, adding m again and again shows that all later ones are. Where that happens is not known in
    advance, so the bound is doubled.
    """
    terms = guard.terms(1)
    if not terms:
        return Guard.exactly(0)
    budget.spend(_WORK_PER_TERM * len(terms) + guard._tail + guard._period)
    least = terms[0][0]
    step = gcd(*(lo for lo, _, _ in terms), *(p for lo, hi, p in terms if hi != lo))
    last_size = GUARD_LIMIT + 2 * least
    size = min(4 * least + 64, last_size)
    while True:
        bits = _generated(terms, size, budget)
        full, length = bits, 1
        while length < least // step:
            more = min(length, least // step - length)
            full &= full >> more * step
            length += more
            budget.spend(size // 8)
        if full:
            tail = _lowest(full)
            return _normal(bits & _mask(tail), tail, 1, step)
        if size == last_size:
            _refuse()
        size = min(2 * size, last_size)


def _generated(terms: Sequence[Term], size: int, budget: _Budget) -> int:
    """The sums below `size` of any number of members of `terms`."""
    bits = 1
    for lo, hi, period in terms:
        if lo >= size:
            break
        count = _count_below(lo, hi, period, size)
        budget.spend(size // 8 * (1 + count.bit_length()))
        if not _progression(1 << lo, period, count, size) & ~bits:
            continue
        # The n-fold sums of a progression are one again, starting at n lo. Going through n = 1, 2,
        # 4, ... reaches every number of summands.
        fold = 1
        while fold * lo < size:
            count = _count_below(fold * lo, None if hi is None else fold * hi, period, size)
            budget.spend(size // 8 * (1 + count.bit_length()))
            bits |= _progression(bits << fold * lo, period, count, size)
            fold *= 2
    return bits


def _parsed(text: str) -> Guard:
    interval = _INTERVAL.fullmatch(text)
    if interval is not None:
        if interval[6]:
            return Guard.interval(0)
        low = int(interval[1] or interval[2] or interval[4] or 1)
        high = low if interval[4] is None else int(interval[5])
        if low <= high:
            return Guard.interval(low, None if interval[3] else high)
    shared = _SHARED.get()
    if shared is None:
        return _evaluated(text, _Budget())
    if shared.left < _WORK_PER_TEXT:
        fault = "take too much work (simplify them, or use fewer different ones)"
        raise GuardError("the guards up to this one", fault, text, 0)
    budget = _Budget(shared.left - _WORK_PER_TEXT)
    try:
        return _evaluated(text, budget)
    finally:
        shared.left = budget.left


def _evaluated(text: str, budget: _Budget) -> Guard:
    stack: list[Guard] = []
    for operation, position, low, high in read_guard(text):
        try:
            budget.spend(_WORK_PER_TERM)
            if operation == "letters":
                stack.append(Guard.exactly(low))
            elif operation == "nothing":
                stack.append(NOTHING)
            elif operation == "repeat":
                stack.append(_repeat(stack.pop(), low, high, budget))
            else:
                right, left = stack.pop(), stack.pop()
                unite = operation == "unite"
                stack.append((_unite if unite else _concatenate)(left, right, budget))
        except _Refused as refused:
            raise GuardError("the expression", refused.fault, text, position) from None
    return stack.pop()


#: Listed systems write a few short guards very often.
_parsed_short = lru_cache(64)(_parsed)


def _repeat(guard: Guard, low: int, high: int | None, budget: _Budget) -> Guard:
    if high is None:
        star = _star(guard, budget)
        if low <= 1:
            # One or more: the star, without 0 unless 0 was there before.
            return star if low == 0 or 0 in guard else star - Guard.exactly(0)
        return _concatenate(_power(guard, low, budget), star, budget)
    if guard.is_finite and high * (guard._tail - 1) >= GUARD_LIMIT:
        _refuse()
    power = _power(guard, low, budget)
    if low == high:
        return power
    optional = _power(_unite(guard, Guard.exactly(0), budget), high - low, budget)
    return _concatenate(power, optional, budget)


def _power(guard: Guard, exponent: int, budget: _Budget) -> Guard:
    if exponent == 0:
        return Guard.exactly(0)
    if (guard.minimum or 0) * exponent > GUARD_LIMIT:
        _refuse()
    if guard.is_exactly(guard._tail - 1):
        return Guard.exactly((guard._tail - 1) * exponent)
    power = guard
    for digit in bin(exponent)[3:]:
        power = _concatenate(power, power, budget)
        if digit == "1":
            power = _concatenate(power, guard, budget)
    return power


def _expand(guard: Guard, size: int) -> int:
    """The counts below `size`."""
    if size <= guard._tail:
        return guard._finite_bits & _mask(size)
    cycled = _cycle(guard._residue_bits, guard._period, size - guard._tail)
    return guard._finite_bits | cycled << guard._tail


def _shifted_union(bits: int, terms: Iterable[Term], size: int, budget: _Budget) -> int:
    """All sums below `size` of a member of `bits` and a member of `terms`."""
    groups: dict[tuple[int, int | None], list[int]] = {}
    for lo, hi, period in terms:
        if lo < size:
            groups.setdefault((period, None if hi is None else hi - lo), []).append(lo)
    for (period, length), starts in groups.items():  # all of it before the first: refuse quickly
        doublings = _count_below(0, length, period, size).bit_length()
        budget.spend(size // 8 * (len(starts) + doublings))
    union = 0
    for (period, length), starts in groups.items():
        count = _count_below(0, length, period, size)
        shifted = 0
        for start in starts:
            shifted |= bits << start
        union |= _progression(shifted, period, count, size)
    return union


# ---- arguments ----


def as_integer(value: object) -> int | None:
    """The integer that `value` is; `None` for what is none, such as 2.0."""
    try:
        return operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        return None


def _as_count(value: object) -> int:
    count = None if isinstance(value, bool) else as_integer(value)
    if count is None:
        raise ValueError(
            f"{_shown(value)} is not a number of spikes (write an integer >= 0, or a guard as text)"
        )
    if count < 0:
        raise ValueError(f"the number of spikes {_shown(count)} is negative (write one >= 0)")
    if count > GUARD_LIMIT:
        _refuse()
    return count


def _shown(value: object) -> str:
    # Python refuses to print integers of thousands of digits.
    return "a huge number" if isinstance(value, int) and abs(value) > 10**12 else repr(value)


NOTHING = _build(0, 0, 0, 0, 1)


# ---- sets of counts as bits of Python integers: bit k stands for the count k ----


def _mask(size: int) -> int:
    """The counts below `size`."""
    return (1 << size) - 1


def _lowest(bits: int) -> int:
    """The least count of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


def _members(bits: int) -> Iterable[int]:
    """The positions of the ones, ascending. Shifting them out one by one takes quadratic time."""
    if bits.bit_count() * 16 > bits.bit_length():
        flags = bin(bits)[:1:-1].encode().translate(_FLAGS)
        return compress(range(len(flags)), flags)
    data = bits.to_bytes(bits.bit_length() // 8 + 1, "little")
    return (8 * m.start() + i for m in _NOT_ZERO.finditer(data) for i in _BYTE_MEMBERS[m[0][0]])


def _bits_of(counts: Sequence[int]) -> int:
    """The set of these counts."""
    size = max(counts, default=0) + 1
    digits = bytearray(b"0") * size
    for count in counts:
        digits[size - 1 - count] = ord("1")
    return int(digits, 2)


def _cycle(pattern: int, period: int, size: int) -> int:
    """`pattern` repeated with its period, below `size`."""
    if not pattern:
        return 0
    while period < size:
        pattern |= pattern << period
        period *= 2
    return pattern & _mask(size)


def _rotate(pattern: int, period: int, shift: int) -> int:
    """The cyclic pattern read from position `shift`, 0 <= shift <= period."""
    return pattern >> shift | (pattern & _mask(shift)) << period - shift


def _fold(pattern: int, period: int, step: int) -> int:
    """The pattern's positions modulo `step`, a divisor of `period`."""
    pieces = period // step
    while pieces > 1:
        pieces = (pieces + 1) // 2
        pattern = pattern & _mask(pieces * step) | pattern >> pieces * step
    return pattern


def _progression(bits: int, period: int, count: int, size: int) -> int:
    """The union of `bits` shifted by 0, period, ..., (count - 1) period, below `size`."""
    done = 1
    bits &= _mask(size)
    while done < count and done * period < size:
        more = min(done, count - done)
        bits |= bits << more * period & _mask(size)
        done += more
    return bits


def _count_below(lo: int, hi: int | None, period: int, size: int) -> int:
    """How many members below `size` a progression has."""
    last = size - 1 if hi is None else min(hi, size - 1)
    return (last - lo) // period + 1


def _finite_terms(bits: int) -> Sequence[Term]:
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
        (lo, hi, 1) for lo, hi in zip(_members(run_starts), _members(run_ends), strict=True)
    ]
    first = last = -1
    gap = 0
    for k in _members(bits ^ in_run):
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
    starts = sorted(_members(bits & ~(bits << step)), key=lambda k: k % step)
    ends = sorted(_members(bits & ~(bits >> step)), key=lambda k: k % step)
    return [(lo, hi, step if lo < hi else 1) for lo, hi in zip(starts, ends, strict=True)]


def _prime_factors(number: int) -> Iterable[int]:
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
