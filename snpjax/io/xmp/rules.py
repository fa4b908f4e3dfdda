"""The rules in a `<rules>` element: `2a/a->a;1 a/a->0;0`, separated by blanks.

A rule is `E/ca->pa;d`: guard, spikes consumed, spikes produced (`0` to forget) and delay. `E/` may
be missing: exactly the spikes consumed. `ka` means k spikes, and `k` may be missing: one.

A guard is a regular expression over such counts with `(...)`, `*`, `+` and `|`. The programs differ
in what a quantifier after a count repeats:

- WebSnapse expands `ka` to k letters and repeats the last one: `ka+` is at least k and `ka*` at
  least k-1;
- sn-p-factory repeats the whole count: `ka+` is the positive multiples of k, `ka*` with 0 also.

After a group, as in `a(2a)*`, and for k = 1 they agree.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from snpjax_formats.strict_json import MAX_DIGITS

from ...spiking.model.guard import Guard
from ...spiking.model.guard_syntax import TEXT_LIMIT
from ...spiking.model.rule import Rule
from ..building import NO_GUARD
from ..environment import PlacedRule
from ..source import Mistake, Report, Unreadable, guard_or_error
from .elements import XmlElement


Dialect: TypeAlias = Literal["websnapse", "factory"]

# Blanks around `/`, `->` and `;` are inside a rule.
_BLANKS_BETWEEN = re.compile(r"(?<![/;>\s])\s+(?![\s/;-])")
_COUNT = re.compile(r"([0-9]*)a")
_DIGITS = re.compile(r"[0-9]+")
_EXAMPLE = '(write "2a/a->a;1" or "2a/2a->0;0")'
_GUARD_EXAMPLE = '(write "3a", "3a+" or "a(2a)*")'


@dataclass(frozen=True, slots=True)
class _RuleText:
    """What a text gives: the rule, if its numbers are there, and what is wrong with it.

    `places` are the characters that problems of the rule are about, by their codes.
    """

    rule: Rule | None
    faults: list[Mistake]
    is_whole: bool = False
    places: Mapping[str, int] = field(default_factory=dict)


class XmpRuleReader:
    """Reads rules of one dialect. A text that was read before is not read again."""

    def __init__(self, dialect: Dialect, report: Report):
        self.report = report
        self._parse = cache(lambda text: _Parser(text, dialect).parse())

    def read_all(self, element: XmlElement) -> list[PlacedRule[int]]:
        """The rules of a `<rules>` element; those of which nothing can be made are left out."""
        rules = []
        for start, text in split_at_blanks(element.text):
            rule = self._read(element, start, text)
            if rule is not None:
                rules.append(rule)
            if self.report.is_full:
                raise Unreadable
        return rules

    def _read(self, element: XmlElement, start: int, text: str) -> PlacedRule[int] | None:
        read = self._parse(text)
        for fault in read.faults:
            self.report.error(element.place(start + fault.offset), fault.message)
        if read.rule is None:
            return None
        places = {code: element.place(start + at) for code, at in read.places.items()}
        place_of = places.get if places else _no_part
        return PlacedRule(read.rule, element.place(start), place_of, read.is_whole)


_no_part = dict[str, int]().get  # shared: most rules need none


def split_at_blanks(text: str) -> list[tuple[int, str]]:
    """The rules in a text, each with the index of its first character."""
    found = []
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    while start < end:
        blanks = _BLANKS_BETWEEN.search(text, start, end)
        stop = end if blanks is None else blanks.start()
        found.append((start, text[start:stop]))
        start = end if blanks is None else blanks.end()
    return found


class _Parser:
    """Reads one rule, and every part of it although another is wrong."""

    def __init__(self, text: str, dialect: Dialect):
        self.text = text
        self.dialect: Dialect = dialect
        self.faults: list[Mistake] = []

    def parse(self) -> _RuleText:
        text = self.text
        arrow = text.find("->")
        if arrow < 0:
            message = f'the rule does not parse: "->" is expected here {_EXAMPLE}'
            return _RuleText(None, [Mistake(len(text), message)])
        slash = text.rfind("/", 0, arrow)
        semicolon = text.find(";", arrow)
        if semicolon < 0:
            message = '";" and the delay are expected here (write ";0")'
            self.faults.append(Mistake(len(text), message))
            semicolon = len(text)
        consume = self._part(self._count, slash + 1, arrow)
        produce = 0
        if text[arrow + 2 : semicolon].strip() != "0":
            produce = self._part(self._count, arrow + 2, semicolon)
        delay = self._part(self._delay, semicolon + 1, len(text)) if semicolon < len(text) else None
        guard = None
        if slash >= 0:
            guard = self._part(self._guard, 0, slash)
        elif consume is not None:
            guard = self._part(self._exactly, 0, arrow)
        rule, places = None, {}
        if consume is not None and produce is not None and delay is not None:
            rule = Rule(NO_GUARD if guard is None else guard, consume, produce, delay)
            if produce > consume:
                places["produce_exceeds_consume"] = self._skip_blanks(arrow + 2)
            if delay:  # the other numbers cannot be wrong
                at = self._skip_blanks(semicolon + 1)
                places |= {"forgetting_delay": at, "bad_number": at}
        faults = sorted(self.faults, key=lambda fault: fault.offset)
        return _RuleText(rule, faults, guard is not None, places)

    def _part(self, read, start: int, end: int):
        """What `read` makes of a part of the text; `None` after a fault, which is noted."""
        try:
            return read(self._skip_blanks(start), end)
        except Mistake as mistake:
            self.faults.append(mistake)
            return None

    def _skip_blanks(self, at: int) -> int:
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def _count(self, start: int, end: int) -> int:
        """A number of spikes such as `3a`, or `aaa` as the first versions wrote it."""
        part = self.text[start:end].rstrip()
        if not part:
            raise Mistake(min(start, end), f"a number of spikes is missing {_EXAMPLE}")
        if len(part) > TEXT_LIMIT:
            message = f"a number of spikes has {len(part)} characters (write at most {TEXT_LIMIT})"
            raise Mistake(start, message)
        total = at = 0
        while at < len(part):
            match = _COUNT.match(part, at)
            if match is None:
                message = f"{part[at]!r} is not part of a number of spikes {_EXAMPLE}"
                raise Mistake(start + at, message)
            total += self._factor(match[1], start + at)
            at = match.end()
        return total

    def _factor(self, digits: str, at: int) -> int:
        if len(digits) > MAX_DIGITS:
            message = f"a number of {len(digits)} digits (write at most {MAX_DIGITS})"
            raise Mistake(at, message)
        factor = int(digits) if digits else 1
        if factor == 0:
            raise Mistake(at, f"0a is no spike at all {_EXAMPLE}")
        return factor

    def _delay(self, start: int, end: int) -> int:
        part = self.text[start:end].rstrip()
        match = _DIGITS.match(part)
        at = 0 if match is None else match.end()
        if at < len(part) or not part:
            found = f"not {part[at]!r}" if part else "and is missing"
            message = f'the delay is a number of steps, {found} (write ";0")'
            raise Mistake(start + at, message)
        if len(part) > MAX_DIGITS:
            raise Mistake(
                start, f"a delay of {len(part)} digits (write less than 2147483648 steps)"
            )
        return int(part)

    def _exactly(self, start: int, end: int) -> Guard:
        try:
            return Guard.exactly(self._count(start, end))
        except ValueError as error:
            raise Mistake(start, str(error)) from None

    def _guard(self, start: int, end: int) -> Guard:
        text, places = self._translated(start, end)
        guard = guard_or_error(text)
        if isinstance(guard, Guard):
            return guard
        at = places[guard.position] if guard.position < len(places) else end
        fault = guard.fault.partition(" (")[0]  # its fix is in the syntax of guards
        message = f"the guard does not parse: {guard.subject} {fault} {_GUARD_EXAMPLE}"
        raise Mistake(at, message)

    def _translated(self, start: int, end: int) -> tuple[str, list[int]]:
        """The guard in the syntax of `Guard.parse`, and the place of each of its characters."""
        if end - start > TEXT_LIMIT:
            message = f"the guard has {end - start} characters (write at most {TEXT_LIMIT})"
            raise Mistake(start, message)
        pieces: list[str] = []
        places: list[int] = []
        at = start
        while at < end:
            match = _COUNT.match(self.text, at, end)
            if match is None and not (self.text[at] in "()*+|" or self.text[at].isspace()):
                message = f"{self.text[at]!r} is not part of a guard {_GUARD_EXAMPLE}"
                raise Mistake(at, f"the guard does not parse: {message}")
            after = at + 1 if match is None else match.end()
            piece = self.text[at]
            if match is not None:
                is_repeated = after < end and self.text[after] in "*+"
                piece = self._letters(self._factor(match[1], at), is_repeated)
            pieces.append(piece)
            places += [at] * len(piece)
            at = after
        return "".join(pieces), places

    def _letters(self, count: int, is_repeated: bool) -> str:
        if count == 1:
            return "a"
        if not is_repeated:
            return f"a{{{count}}}"
        return f"(a{{{count}}})" if self.dialect == "factory" else f"a{{{count - 1}}}a"
