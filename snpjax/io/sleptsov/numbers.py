"""Files of integers, read all at once: matrices of millions of numbers, and where each stands.

The text is kept as one byte per character, so that the place of a byte is an offset in the source.
"""

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from ..source import MAX_FINDINGS, Source, shortened


MAX_NODES = 2**25  # places, or transitions, of one file: half of it are names, the other markings
MOST = 2**63 - 1  # what fits in a marking

_BLANKS = b" \t\n\r\v\f"
_IS_BLANK = np.zeros(256, bool)
_IS_BLANK[list(_BLANKS)] = True
_PLAIN = b"0123456789-" + _BLANKS
_IS_SOUND = np.zeros(256, bool)
_IS_SOUND[list(b"0123456789")] = True
_BLANK = re.compile(rb"[ \t\n\r\v\f]")
_BLOCK = 2**21  # characters that are read at once
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_DASH = ord("-")
_SAFE_DIGITS = 18  # any number of this many digits fits in 64 bits
_ROWS = 10_000  # written at once
_MAX_DIGITS = 1000  # an integer of more digits is none that anybody meant


def as_bytes(text: str) -> bytes:
    """The text as one byte per character; those that no file of integers has become `?`."""
    return text.encode("latin-1", "replace")


def starts_of(data: bytes, *, ends: bool = False) -> Int[np.ndarray, " words"]:
    """Where each word begins, or ends."""
    blank = _IS_BLANK[np.frombuffer(data, np.uint8)]
    edges = ~blank
    if ends:
        edges[:-1] &= blank[1:]
        return np.flatnonzero(edges) + 1
    edges[1:] &= blank[:-1]
    return np.flatnonzero(edges)


def plain_integers(data: bytes) -> Int[np.ndarray, " words"] | None:
    """The words as integers; `None` where some may be none, and each must be examined."""
    if data.translate(None, _PLAIN) or not _has_sound_words(data):
        return None
    if not data or data.isspace():  # which NumPy reads as one 0
        return np.zeros(0, np.int64)
    return np.fromstring(data, np.int64, sep=" ")  # type: ignore[call-overload]


def _has_sound_words(data: bytes) -> bool:
    """Whether words of digits and dashes are integers that surely fit in 64 bits."""
    characters = np.frombuffer(data + b" ", np.uint8)
    dashes = np.flatnonzero(characters == _DASH)
    after = characters[dashes + 1] if len(dashes) else dashes
    before = characters[dashes - 1] if len(dashes) else dashes
    if len(dashes) and dashes[0] == 0:
        before = before[1:]
    if np.any(_IS_BLANK[after] | (after == _DASH)) or not np.all(_IS_BLANK[before]):
        return False
    run = ~_IS_BLANK[characters]
    for shift in (1, 2, 4, 8, _SAFE_DIGITS - 15):  # then true where 19 characters in a row are
        run = run[:-shift] & run[shift:]
    return not np.any(run)


class Words:
    """The words of a text, the first `count` of them, with their integers where they are any.

    `first` is the offset of `data` in the source. The text is read block by block; where a block
    holds a word that may be no integer, each of its words is examined.
    """

    def __init__(self, source: Source, data: bytes, first: int = 0, count: int = -1):
        self.source, self.first = source, first
        self._data = data
        #: What is wrong with the words that are not integers, by their number.
        self.wrong: dict[int, str] = {}
        most = (len(data) + 1) // 2
        room = most if count < 0 else min(count, most)
        values, found = np.empty(room, np.int64), 0
        self._last_block = 0, 0, 0  # where it begins and ends, and the words before it
        for start, end in _blocks(data):
            if found >= room:
                break
            block = plain_integers(data[start:end])
            self._last_block = start, end, found
            if block is None:
                block = self._looked_at(start, end, found, room - found)
            block = block[: room - found]
            values[found : found + len(block)] = block
            found += len(block)
        #: The integers; 0 where there is none.
        self.values: Int[np.ndarray, " words"] = values[:found]

    def _looked_at(self, start: int, end: int, number: int, most: int) -> Int[np.ndarray, " words"]:
        """The integers of a block that begins with a word of this number. Words that may be none
        are examined one by one, until many are wrong."""
        block = self._data[start:end]
        characters = np.frombuffer(block, np.uint8)
        starts = starts_of(block)[:most]
        after = starts_of(block, ends=True)[: len(starts)]
        inside = np.append(0, np.cumsum(~_IS_SOUND[characters]))  # dashes too
        begins_with_dash = characters[starts] == _DASH
        num_other = inside[after] - inside[starts] - begins_with_dash
        length = after - starts - begins_with_dash
        doubtful = (num_other > 0) | (length == 0) | (length > _SAFE_DIGITS)
        if len(starts) == 0:
            return np.zeros(0, np.int64)
        steps = np.zeros(len(block) + 1, np.int8)
        steps[starts[doubtful]] += 1
        steps[after[doubtful]] -= 1
        sound = np.where(np.cumsum(steps[:-1], dtype=np.int8), np.uint8(ord(" ")), characters)
        sound[starts[doubtful]] = ord("0")
        text = sound[: after[-1]].tobytes()
        values = np.fromstring(text, np.int64, sep=" ")  # type: ignore[call-overload]
        for word in np.flatnonzero(doubtful).tolist():
            if len(self.wrong) > MAX_FINDINGS:
                break
            found = integer(self._text(start + int(starts[word])))
            if isinstance(found, int):
                values[word] = found
            else:
                self.wrong[number + word] = found
        return values

    @cached_property
    def starts(self) -> Int[np.ndarray, " words"]:
        return starts_of(self._data)

    @property
    def is_sound(self) -> Bool[np.ndarray, " words"]:
        """Which words are integers."""
        sound = np.ones(len(self.values), bool)
        sound[list(self.wrong)] = False
        return sound

    def offset(self, word: int) -> int:
        """Where a word stands in the source; the end of the text for the number of words."""
        if word >= len(self.starts):
            return self.first + len(self._data.rstrip())
        return self.first + int(self.starts[word])

    @property
    def end(self) -> int:
        """Where the last of the words ends."""
        start, end, before = self._last_block
        number = len(self.values) - before
        if number == 0:
            return self.first + start
        last = start + int(starts_of(self._data[start:end])[number - 1])
        return self.first + last + len(self._text(last))

    def _text(self, start: int) -> str:
        blank = _BLANK.search(self._data, start)
        end = len(self._data) if blank is None else blank.start()
        return self.source.text[self.first + start : self.first + end]


def _blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Where blocks begin and end, each between two words."""
    start = 0
    while start < len(data):
        match = _BLANK.search(data, start + _BLOCK)
        end = match.end() if match else len(data)
        yield start, end
        start = end


def integer(text: str) -> int | str:
    """The integer that a word is, if it fits in 64 bits; else what is wrong with it."""
    if len(text) > _MAX_DIGITS or not _INTEGER.fullmatch(text):
        return f"{shortened(text)!r} is not an integer (write one)"
    number = int(text)
    if not -MOST <= number <= MOST:
        return f"{shortened(text)} does not fit in int64 (write at most {MOST})"
    return number


def lines_of(numbers: np.ndarray) -> str:
    """Rows of integers as lines."""
    row = " ".join(["%d"] * numbers.shape[1]) + "\n"
    blocks = np.array_split(numbers, 1 + len(numbers) // _ROWS) if len(numbers) else []
    return "".join([row * len(block) % tuple(np.ravel(block).tolist()) for block in blocks])
