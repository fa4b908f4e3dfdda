"""Readers of matrices: one integer after the other, lines mean nothing, places count from 0."""

import re
from collections.abc import Callable
from itertools import islice

import numpy as np
from jaxtyping import Int

from ..source import MAX_FINDINGS, Report, Source, shortened
from .numbers import MAX_NODES, Words, as_bytes


class Matrices:
    """The integers of a file of matrices, in their order, with what is wrong reported.

    **Arguments:**

    - `header`: the names of the first numbers.
    - `parts`: from these numbers, the names of what follows and the lengths.

    `is_whole` says whether every number is there; only then are there parts.
    """

    def __init__(
        self,
        source: Source,
        report: Report,
        header: tuple[str, ...],
        parts: Callable[..., dict[str, int]],
    ):
        self.source, self.report = source, report
        self.sizes: tuple[int, ...] = (0,) * len(header)
        self._values: Int[np.ndarray, " words"] = np.zeros(0, np.int64)
        self._firsts: dict[str, tuple[int, int]] = {}
        comment = source.text.find("#")
        data = as_bytes(source.text)[: comment if comment >= 0 else None]
        self.is_whole = False
        head = Words(source, data[:_MAX_HEADER], count=len(header))
        if not self._take_header(head, header):
            return
        lengths = parts(*self.sizes)
        count = len(header) + sum(lengths.values())
        self.words = Words(source, data, count=count)
        if len(self.words.values) < count and comment >= 0:
            # Then it stands before the end of the numbers.
            self.words = self._without_comments(count)
        self._values = self.words.values
        for word, problem in list(self.words.wrong.items())[:MAX_FINDINGS]:
            report.error(self.words.offset(word), problem)
        word = len(header)
        for name, length in lengths.items():
            self._firsts[name] = word, length
            missing = word + length - len(self._values)
            if missing > 0:
                message = (
                    f"unexpected end of file: {name} has {max(length - missing, 0)} of its "
                    f"{length} numbers ({count} are expected in all)"
                )
                report.error(max(len(source.text.rstrip()) - 1, 0), message)
                return
            word += length
        self.is_whole = True

    def part(self, name: str, *shape: int) -> Int[np.ndarray, " ..."]:
        """The integers of a part; 0 where a word is none."""
        first, length = self._firsts[name]
        return self._values[first : first + length].reshape(shape)

    def offset(self, name: str, index: int) -> int:
        """Where a number of a part stands."""
        return self.words.offset(self._firsts[name][0] + index)

    @property
    def end(self) -> int:
        """Where the text after the numbers begins."""
        return self.words.end if self.is_whole else 0

    def _take_header(self, head: Words, header: tuple[str, ...]) -> bool:
        named = f"the header `{' '.join(header)}`"
        if len(head.values) < len(header):
            at = max(len(self.source.text.rstrip()) - 1, 0)
            self.report.error(at, f"unexpected end of file: {named} is expected")
            return False
        good = True
        for word, name in enumerate(header):
            number = int(head.values[word])
            problem = head.wrong.get(word)
            if problem is None and number < 0:
                problem = f"{name} is {number} (write 0 or more)"
            elif problem is None and number > MAX_NODES:
                problem = f"{name} is {number}, more than the {MAX_NODES} that are read"
            if problem is not None:
                self.report.error(head.offset(word), f"in {named}: {problem}")
                good = False
        self.sizes = tuple(head.values[: len(header)].tolist())
        return good

    def _without_comments(self, count: int) -> Words:
        """The words when comments are left out; the first ones are reported."""
        text = self.source.text
        words = Words(self.source, _COMMENTS.sub(_blanked, as_bytes(text)), count=count)
        end = words.end if len(words.values) == count else len(text)
        for comment in islice(_COMMENT.finditer(as_bytes(text[:end])), _MAX_COMMENTS):
            message = (
                f"{shortened(text[comment.start() : comment.end()])!r} is a comment among the "
                "numbers (it may follow the last number only)"
            )
            self.report.error(comment.start(), message)
        return words


def _blanked(comment: re.Match[bytes]) -> bytes:
    return b" " * len(comment[0])


_COMMENT = re.compile(rb"#[^\n]*")
_COMMENTS = re.compile(rb"(?:#[^\n]*+\s*+)++")
_MAX_COMMENTS = 100
_MAX_HEADER = 100_000  # characters that may come before its end
