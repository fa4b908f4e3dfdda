"""Formulas in conjunctive normal form from DIMACS files (`.cnf`).

Lines that begin with `c` are comments. The header `p cnf VARIABLES CLAUSES` comes first; then every
clause is a list of literals, v or -v for the variables v = 1, 2, ..., that ends with 0, over as
many lines as it takes or several on one. A line that begins with `%` ends the file, as in SATLIB.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from snpjax.io import Report, Source, decoded, load


_MAX_ERRORS = 1_000  # of one file; more are not useful, and each takes memory
_MAX_DIGITS = 18
_WORD = re.compile(r"\S+")
_LITERAL = re.compile(r"0|-?0*[1-9][0-9]*")
_HEADER = "p cnf VARIABLES CLAUSES"

_Word: TypeAlias = tuple[int, str]  # with its offset


@dataclass(frozen=True)
class Formula:
    """A formula in conjunctive normal form.

    **Arguments:**

    - `num_variables`: the variables are 1, 2, ..., `num_variables`.
    - `clauses`: of literals v and -v, each a disjunction; a clause without literals is false.

    **Raises:** `ValueError` for a literal that names no variable.
    """

    num_variables: int
    clauses: tuple[tuple[int, ...], ...]

    def __init__(self, num_variables: int, clauses: Sequence[Sequence[int]]) -> None:
        object.__setattr__(self, "num_variables", num_variables)
        object.__setattr__(self, "clauses", tuple(map(tuple, clauses)))
        for number, clause in enumerate(self.clauses, start=1):
            for literal in clause:
                if not 1 <= abs(literal) <= num_variables:
                    raise ValueError(
                        f"clause {number}: there is no literal {literal} {_literals(num_variables)}"
                    )


def read_dimacs(path_or_text: str | os.PathLike[str]) -> Formula:
    """The formula in a DIMACS file; a string of several lines is the text itself.

    **Raises:** `ReadError` with every independent error, each `path:line:column: problem (fix)`.
    """
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        source = decoded("<text>", path_or_text.encode(errors="surrogatepass"))
    else:
        source = load(path_or_text)
    report = Report(source)
    reader = _Reader(report)
    try:
        reader.read()
    except _Stop:
        pass
    report.finish()
    return Formula(reader.num_variables, reader.clauses)


class _Stop(Exception):
    """The rest of the text cannot be read; the reason is reported."""


class _Reader:
    def __init__(self, report: Report):
        self.report = report
        self.num_variables = 0
        self.clauses: list[tuple[int, ...]] = []
        self._num_errors = 0

    def read(self) -> None:
        lines = _lines(self.report.source)
        num_clauses, announced_at = self._header(lines)
        clause: list[int] = []
        last = announced_at
        for words in lines:
            for last, word in words:
                literal = self._literal(last, word)
                if literal == 0:
                    self.clauses.append(tuple(clause))
                    clause = []
                elif literal is not None:
                    clause.append(literal)
        if clause:
            self._error(last, "the last clause does not end (write 0 after it)")
            self.clauses.append(tuple(clause))
        if len(self.clauses) != num_clauses:
            message = (
                f"the header says {num_clauses} clauses, and there are {len(self.clauses)} "
                "(correct the number, or the clauses)"
            )
            self._error(announced_at, message)

    def _header(self, lines: Iterator[list[_Word]]) -> tuple[int, int]:
        """The number of clauses, and its offset."""
        words = next(lines, None)
        if words is None or words[0][1] != "p":
            at = words[0][0] if words else len(self.report.source.text.rstrip())
            self._fail(at, f'there is no header (begin with "{_HEADER}")')
        if len(words) != 4 or words[1][1] != "cnf":
            self._fail(words[0][0], f'this is not a header of clauses (write "{_HEADER}")')
        (variables_at, variables), (clauses_at, clauses) = words[2:]
        self.num_variables = self._announced(variables_at, variables, "variables")
        return self._announced(clauses_at, clauses, "clauses"), clauses_at

    def _announced(self, offset: int, word: str, what: str) -> int:
        if not (word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS):
            self._fail(
                offset, f"the number of {what} is {_shown(word)} (write an integer, 0 or more)"
            )
        return int(word)

    def _literal(self, offset: int, word: str) -> int | None:
        """A literal or 0; `None` after a mistake, which is reported."""
        if word == "p":
            self._fail(offset, "there is a second header (remove it)")
        if not _LITERAL.fullmatch(word):
            fix = "write v or -v for a variable v, and 0 after a clause"
            self._error(offset, f"{_shown(word)} is not a literal ({fix})")
            return None
        if len(word) > _MAX_DIGITS or abs(int(word)) > self.num_variables:
            self._error(
                offset, f"there is no literal {_shown(word)} {_literals(self.num_variables)}"
            )
            return None
        return int(word)

    def _error(self, offset: int, message: str) -> None:
        self.report.error(offset, message)
        self._num_errors += 1
        if self._num_errors >= _MAX_ERRORS:
            raise _Stop

    def _fail(self, offset: int, message: str) -> NoReturn:
        self.report.error(offset, message)
        raise _Stop


def _lines(source: Source) -> Iterator[list[_Word]]:
    """The words of every line that is neither blank nor a comment, up to that with `%`."""
    start = 0
    for line in source.text.split("\n"):
        words = [(start + word.start(), word.group()) for word in _WORD.finditer(line)]
        if words and words[0][1].startswith("%"):
            return
        if words and not words[0][1].startswith("c"):
            yield words
        start += len(line) + 1


def _literals(num_variables: int) -> str:
    if num_variables == 0:
        return "(there are no variables)"
    return f"(the variables are 1 to {num_variables})"


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:37] + "...")
