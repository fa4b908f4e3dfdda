"""The text of guards: expressions over the letter `a`, read for a stack machine, and written.

Nothing is computed here. The instructions come in postfix order (operands first), so evaluating
them does not recurse, and reading nests `NESTING_LIMIT` deep at most: a hostile text cannot exhaust
Python's stack.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, NoReturn, TypeAlias

from ..._text.pickling import PickledError


#: An arithmetic progression (lo, hi, period) of counts; hi is `None` where it does not end.
Term: TypeAlias = tuple[int, int | None, int]

GUARD_LIMIT = 2**22
TEXT_LIMIT = 100_000
NESTING_LIMIT = 100

_DIGITS = "0123456789"
_NUMBER = re.compile("[0-9]+")
_LETTERS = re.compile(r"a(?:\s*a)*")
_UNIONS = ("|", "U", "∪", r"\cup")
_STARS = {"*": 0, r"\ast": 0, "+": 1}  # how often at least
_POWER_FIX = '(write "a^2", "a^{2}" or "a^*")'


class GuardError(PickledError, ValueError):
    """A guard text that does not parse, or whose set of counts is too large.

    - `message`: what is wrong and how to write it, without the position.
    - `text`: the whole guard.
    - `position`: 0-based index into `text`; it equals `len(text)` where something is missing at the
        end. For a brace or parenthesis that is never closed it is the opening one.
    """

    def __init__(self, subject: str, fault: str, text: str, position: int):
        super().__init__(subject, fault, text, position)
        self.subject, self.fault = subject, fault
        self.message = f"{subject} {fault}"
        self.text, self.position = text, position

    def __str__(self) -> str:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return f"guard {shown!r}: {self.subject} at character {self.position + 1} {self.fault}"


class GuardInstruction(NamedTuple):
    """One step of the stack machine; `position` is where its operator stands in the text.

    - `letters`: push the set {low}.
    - `nothing`: push the empty set.
    - `concatenate`, `unite`: replace the two topmost sets.
    - `repeat`: replace the topmost set L by the union of its powers L^n, low <= n <= high (`None`:
        without end).
    """

    operation: Literal["letters", "nothing", "concatenate", "unite", "repeat"]
    position: int
    low: int = 0
    high: int | None = 0


def read_guard(text: str) -> list[GuardInstruction]:
    """Read a guard into instructions. **Raises:** `GuardError` at the first mistake."""
    if len(text) > TEXT_LIMIT:
        fault = f"passes the limit of {TEXT_LIMIT} characters (use Guard.from_lengths)"
        raise GuardError("the text", fault, text, TEXT_LIMIT)
    return _Reader(text).read()


class _Reader:
    """By recursive descent: an expression is a union of products of atoms."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0
        stripped = text.rstrip()
        # A final `$` ends the text; everything after `end` reads as nothing.
        self.end = len(stripped) - 1 if stripped.endswith("$") else len(text)
        self.opened: list[int] = []  # where the parentheses around this place are
        self.instructions: list[GuardInstruction] = []

    def read(self) -> list[GuardInstruction]:
        if self.peek() == "^":
            self.at += 1
        self.union()
        return self.instructions

    def union(self) -> None:
        """An expression up to the parenthesis that closes it, or to the end."""
        self.product()
        while union := self.token(_UNIONS):
            self.at += len(union)
            self.product()
            self.emit("unite", self.at)

    def product(self) -> None:
        stops = (*_UNIONS, ")") if self.opened else _UNIONS
        has_factor = False
        while char := self.peek():
            position = self.at
            if char == "a":
                self.letters()
            elif char == "∅":
                self.emit("nothing", position)
                self.at += 1
            elif char == "(":
                self.group()
            elif self.token(stops):
                break
            else:
                self.reject(char)
            self.powers()
            if has_factor:
                self.emit("concatenate", position)
            has_factor = True
        if self.opened and not char:
            fault = 'is not closed (add a ")")'
            self.fail("the parenthesis opened", fault, self.opened[-1])
        if not has_factor:
            fault = 'is missing (write "a", or "a{0}" for no spike)'
            self.fail("an expression", fault, self.at)

    def peek(self) -> str:
        """The next character that is not a blank, or "" at the end."""
        while self.at < self.end and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at] if self.at < self.end else ""

    def token(self, tokens) -> str | None:
        self.peek()
        return next((t for t in tokens if self.text.startswith(t, self.at, self.end)), None)

    def emit(self, operation, position: int, low: int = 0, high: int | None = 0) -> None:
        self.instructions.append(GuardInstruction(operation, position, low, high))

    def fail(self, subject: str, fault: str, position: int) -> NoReturn:
        raise GuardError(subject, fault, self.text, position)

    def letters(self) -> None:
        """Letters as one count, but for the last one: a quantifier would bind to it alone."""
        match = _LETTERS.match(self.text, self.at, self.end)
        assert match is not None
        before, last = match[0].count("a") - 1, match.end() - 1
        self.emit("letters", self.at, before or 1)
        self.at = last if before else last + 1

    def group(self) -> None:
        if len(self.opened) == NESTING_LIMIT:
            fault = f"is nested deeper than {NESTING_LIMIT} levels (remove parentheses)"
            self.fail("the parenthesis", fault, self.at)
        self.opened.append(self.at)
        self.at += 1
        char = self.peek()
        if char == "?":
            fault = 'starts with "(?", which is not part of a guard (write plain parentheses)'
            self.fail("the group", fault, self.opened[-1])
        if char == ")":
            self.fail("the group", 'is empty (remove it, or write "a{0}")', self.opened[-1])
        self.union()
        self.at += 1
        self.opened.pop()

    def powers(self) -> None:
        """What follows an atom: at most one power and then at most one quantifier."""
        previous = None
        while found := self.postfix():
            kind, low, high, start = found
            if previous in ("quantifier", kind):
                self.reject_second(start)
            self.emit("repeat", start, low, high)
            previous = kind

    def postfix(self) -> tuple[str, int, int | None, int] | None:
        char, start = self.peek(), self.at
        if star := self.token(_STARS):
            self.at += len(star)
            return "quantifier", _STARS[star], None, start
        if char == "?":
            self.at += 1
            return "quantifier", 0, 1, start
        if char == "{":
            low, high = self.braces()
            return "quantifier", low, high, start
        if char == "^":
            self.at += 1
            return *self.power(), start
        return None

    def braces(self) -> tuple[int, int | None]:
        opened = self.at
        self.at += 1
        low = self.number(opened)
        high: int | None = low
        if self.peek() == ",":
            self.at += 1
            high = self.number(opened) if self.peek() in ("", *_DIGITS) else None
        self.close_brace(opened)
        if high is not None and low > high:
            fault = f'has its ends exchanged (write "{{{high},{low}}}")'
            self.fail("the range", fault, opened)
        return low, high

    def power(self) -> tuple[str, int, int | None]:
        opened = None
        if self.peek() == "{":
            opened = self.at
            self.at += 1
        if star := self.token(_STARS):
            self.at += len(star)
            found = ("quantifier", _STARS[star], None)
        elif opened is None and not self.peek():
            self.fail("a power", f"is missing {_POWER_FIX}", self.at)
        elif opened is None and self.peek() not in _DIGITS:
            self.fail(repr(self.peek()), f"is not a power {_POWER_FIX}", self.at)
        else:
            count = self.number(opened)
            found = ("power", count, count)
        if opened is not None:
            self.close_brace(opened)
        return found

    def number(self, opened: int | None) -> int:
        char = self.peek()
        match = _NUMBER.match(self.text, self.at, self.end)
        if match is None:
            if opened is not None and "}" not in self.text[self.at : self.end]:
                self.fail_unclosed(opened)
            if char == "}":
                self.fail("a count", 'is missing (write "a{2}")', self.at)
            if char == ",":
                self.fail("the lower end", 'is missing (write "{0,3}")', self.at)
            self.fail(repr(char), 'is not a count (write "a{2}")', self.at)
        digits = match[0].lstrip("0") or "0"
        # The length is tested first: int() itself refuses texts of thousands of digits.
        if len(digits) > len(str(GUARD_LIMIT)) or int(digits) > GUARD_LIMIT:
            fault = f"is above the limit of {GUARD_LIMIT} (use smaller counts)"
            self.fail("the count", fault, self.at)
        self.at = match.end()
        return int(digits)

    def close_brace(self, opened: int) -> None:
        char = self.peek()
        if char == "}":
            self.at += 1
        elif "}" not in self.text[self.at : self.end]:
            self.fail_unclosed(opened)
        else:
            fault = 'is not part of a count (write "a{2}", "a{2,}", "a{2,3}", "a^2" or "a^*")'
            self.fail(repr(char), fault, self.at)

    def fail_unclosed(self, opened: int) -> NoReturn:
        inside = "".join(self.text[opened + 1 : self.at].split()) or "2"
        before = self.text[:opened].strip()
        before = before if len(before) <= 40 else "..." + before[-40:]
        self.fail("the brace opened", f'is not closed (write "{before}{{{inside}}}")', opened)

    def reject_second(self, position: int) -> NoReturn:
        char = self.text[position]
        kind = {"?": "lazy ", "+": "possessive "}.get(char, "repeated ")
        fault = (
            f"follows another one ({kind}quantifiers are not part of a guard: leave it out, or put "
            'what it repeats in parentheses, "(a*)*")'
        )
        self.fail(f'the quantifier "{char}"', fault, position)

    def reject(self, char: str) -> NoReturn:
        if char == ")":
            self.fail('the ")"', "closes nothing (remove it)", self.at)
        if char in _DIGITS:
            match = _NUMBER.match(self.text, self.at)
            number = match[0][:7] if match else char
            before = self.text[: self.at].rstrip()[-1:]
            fix = f'write "a^{number}" or "a{{{number}}}"'
            if before and before in "*+?}":
                fix = f'a count belongs in braces: write "a{{{number}}}"'
            self.fail("the number", f"is outside braces and powers ({fix})", self.at)
        if char in "*+?{^" or self.token(_STARS):
            fault = 'has nothing to repeat (write "a" or a group before it)'
            self.fail(f'the quantifier "{char}"', fault, self.at)
        faults = {
            ".": 'is not part of a guard (the only letter is "a": write "a")',
            "[": 'opens a character class, which is not part of a guard (write "a" or "(a|aa)")',
            "\\": r'starts an escape or a back reference (only "\cup" and "\ast" are known)',
            "$": "is not at the end (remove it: a guard always matches the whole count)",
            "}": "closes nothing (remove it)",
        }
        no_spike = ' and no spike is "a{0}"' if char in "λεΛ" else ""
        default = f'is not part of a guard (the only letter is "a"{no_spike})'
        self.fail(repr(char), faults.get(char, default), self.at)


def write_guard(terms: Sequence[Term]) -> str:
    """The canonical text of these terms, which reads back to the same set."""
    parts: list[str] = []
    index = 0
    while index < len(terms):
        lo, hi, period = terms[index]
        index += 1
        if hi is not None:
            parts.append(_written_finite(lo, hi, period))
        elif period == 1:
            parts.append({0: "a*", 1: "a+"}.get(lo, f"a{{{lo},}}"))
        else:
            last = lo  # neighbouring residues share their star
            while index < len(terms) and terms[index] == (last + 1, None, period):
                last, index = last + 1, index + 1
            prefix = "" if last == 0 else _written_finite(lo, last, 1)
            parts.append(f"{prefix}({_letters(period)})*")
    return "|".join(parts) or "∅"


def _written_finite(lo: int, hi: int, period: int) -> str:
    if lo == hi:
        return "a" if lo == 1 else f"a{{{lo}}}"
    if period == 1:
        return f"a{{{lo},{hi}}}"
    if hi - lo < 3 * period:
        return "|".join(_written_finite(k, k, 1) for k in range(lo, hi + 1, period))
    prefix = "" if lo == 0 else _written_finite(lo, lo, 1)
    return f"{prefix}({_letters(period)}){{0,{(hi - lo) // period}}}"


def _letters(count: int) -> str:
    return "a" * count if count <= 3 else f"a{{{count}}}"
