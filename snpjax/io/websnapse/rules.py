r"""Rules in LaTeX: `a^{2}/a\to a;1`, `a\to\lambda`, `\left[a\right]_{i}\to\left[\ \right]_{j}\ ||\
\left[\ \right]_{k}`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from ...spiking.model.guard import Guard
from ...spiking.model.guard_syntax import TEXT_LIMIT
from ...spiking.model.rule import DivisionRule, Rule
from ..building import NO_GUARD
from ..json_checks import Findings
from ..json_text import InString, JsonPath
from ..source import Mistake, guard_or_error, shortened
from ..yaml_text import Plain
from .values import is_null


_ARROW = re.compile(r"\\(?:rightarrow|to)")
#: What says nothing: sizes of brackets, and blanks. They are read as blanks, so places stay.
_NOTHING = re.compile(r"\\(?:left|right)(?![a-zA-Z])|\\[ ,:!]")
_BLANK = re.compile(r"\s*")
_COUNT = re.compile(
    r"(?P<letters>a(?:\s*a)*)\s*(?:\^\s*(?:(?P<bare>[0-9]+)|\{\s*(?P<braced>[0-9]+)\s*\})\s*)?"
)
#: What JSON makes of `\to` and `\rightarrow` where the backslash stands once.
_EATEN_ARROW = re.compile("\to|\rightarrow")
_BARE_POWER = re.compile(r"\^\s*([0-9]{2,})")
_UNION = re.compile(r"[()]|\||∪|U|\\cup")
_BARS = re.compile(r"\|\s*\||\\\||\\parallel|\\(?:mid|vert)\s*\\(?:mid|vert)")
_LAMBDA = (r"\lambda", "λ", "0")
_MAX_DIGITS = 18
_SPIKING = r'write "a^{2}/a\to a;0"'
_DIVISION = r"write \left[E\right]_{i}\to\left[\ \right]_{j}\ ||\ \left[\ \right]_{k}"


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A label in a rule text and where it stands."""

    text: str
    position: int


@dataclass(slots=True)
class ParsedRule:
    """A rule text taken apart. Nothing of it depends on where the text stands.

    `label` is what follows the bracket, `_{i}`; the children of a division rule are labels too.
    `rule` is `None` if nothing can be made of the text; `is_whole` is false when only the numbers
    of the rule can be trusted. `places` are those of problem codes.
    """

    text: str
    rule: Rule | DivisionRule | None = None
    label: PlacedLabel | None = None
    children: tuple[PlacedLabel, PlacedLabel] | None = None
    is_whole: bool = True
    places: Mapping[str, int] = field(default_factory=dict)
    errors: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PlacedRuleText:
    """A rule text and where it stands."""

    parsed: ParsedRule
    path: JsonPath

    def at(self, position: int) -> JsonPath:
        """The path of a character of the text."""
        return (*self.path, InString(position))

    def place_of(self, code: str) -> JsonPath | None:
        """The path of what a problem is about, if that is a part of the rule."""
        position = self.parsed.places.get(code)
        return None if position is None else self.at(position)


class RuleList:
    """Reads lists of rules. A text that is repeated is parsed once, its warnings reported once."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self._parse = cache(parse_rule_text)
        self._warned: set[str] = set()

    def read(self, value: object, path: JsonPath, what: str) -> list[PlacedRuleText]:
        """The rules in a list, with their mistakes reported; all that can be of use."""
        if is_null(value):
            return []
        rules = []
        for here, item in self.findings.items(value, path, what):
            text = item.text if isinstance(item, Plain) else item
            if not isinstance(text, str):
                self.findings.wrong(item, here, "a rule", r'write a text, such as "a^{2}/a\to a;0"')
                continue
            read = PlacedRuleText(self._parse(text), here)
            for fault in read.parsed.errors:
                self.findings.error(read.at(fault.offset), fault.message)
            if read.parsed.warnings and text not in self._warned:
                self._warned.add(text)
                for fault in read.parsed.warnings:
                    self.findings.warning(read.at(fault.offset), fault.message)
            rules.append(read)
        return rules


def parse_rule_text(text: str) -> ParsedRule:
    """What a rule text says, and what is wrong with it."""
    parsed = ParsedRule(text)
    if len(text) > TEXT_LIMIT:
        fault = Mistake(0, f"the rule has more than {TEXT_LIMIT} characters (shorten it)")
        parsed.errors.append(fault)
        return parsed
    plain = _NOTHING.sub(lambda match: " " * len(match[0]), text)
    start = _skip(plain, 0)
    try:
        if plain.startswith("[", start):
            _read_bracket(parsed, plain, start)
        else:
            _read_spiking(parsed, plain, 0, len(plain))
    except Mistake as fault:
        parsed.errors.append(fault)
        parsed.rule = None
    power = _BARE_POWER.search(plain)
    if power is not None:
        message = (
            f"{power[0]!r} is read as {power[1]} spikes, but WebSnapse Reloaded takes the first "
            f"digit only (write ^{{{power[1]}}})"
        )
        parsed.warnings.append(Mistake(power.start(), message))
    return parsed


def _read_bracket(parsed: ParsedRule, plain: str, start: int) -> None:
    r"""Read `[rule]_{i}` or `[E]_{i}\to[]_{j}||[]_{k}`."""
    end = plain.find("]", start)
    if end < 0:
        raise Mistake(start, r"the bracket opened here is not closed (add \right])")
    parsed.label, after = _read_label(parsed.text, plain, end + 1)
    arrow = _ARROW.match(plain, after)
    if arrow is None:
        if after < len(plain):
            message = rf"{_excerpt(plain, after)} follows the rule (remove it, or {_DIVISION})"
            raise Mistake(after, message)
        _read_spiking(parsed, plain, start + 1, end)
        return
    guard = _read_guard(parsed, plain, start + 1, end)
    left, after = _read_child(parsed.text, plain, arrow.end())
    bars = _BARS.match(plain, after)
    if bars is None:
        if plain.startswith("/", after):
            message = "not supported: budding in WebSnapse (write P-Lingua or the native format)"
            raise Mistake(after, message)
        raise Mistake(after, f"there is no || between the two neurons ({_DIVISION})")
    right, after = _read_child(parsed.text, plain, bars.end())
    if after < len(plain):
        raise Mistake(after, f"{_excerpt(plain, after)} follows the rule (remove it)")
    parsed.children = left, right
    parsed.is_whole = guard is not None
    parsed.rule = DivisionRule(NO_GUARD if guard is None else guard, left.text, right.text)


def _read_child(text: str, plain: str, start: int) -> tuple[PlacedLabel, int]:
    start = _skip(plain, start)
    if not plain.startswith("[", start):
        raise Mistake(start, f"there is no empty bracket of a new neuron ({_DIVISION})")
    end = _skip(plain, start + 1)
    if not plain.startswith("]", end):
        message = r"the bracket of a new neuron is not empty (write \left[\ \right])"
        raise Mistake(min(end, len(plain)), message)
    label, after = _read_label(text, plain, end + 1)
    if label is None:
        raise Mistake(end, "the new neuron has no label (write _{j} after its bracket)")
    return label, after


def _read_label(text: str, plain: str, start: int) -> tuple[PlacedLabel | None, int]:
    """The label `_{i}` or `_i`, and where the text continues after blanks."""
    start = _skip(plain, start)
    if not plain.startswith("_", start):
        return None, start
    start = _skip(plain, start + 1)
    if not plain.startswith("{", start):
        word = re.compile(r"\w*").match(text, start)
        assert word is not None
        if not word[0]:
            raise Mistake(start, "a label is missing after _ (write _{i})")
        return PlacedLabel(word[0], start), _skip(plain, word.end())
    depth = 0
    for brace in re.compile("[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            label = text[start + 1 : brace.start()]
            place = start + 1 + len(label) - len(label.lstrip())
            if not label.strip():
                raise Mistake(place, "the label is empty (write _{i})")
            return PlacedLabel(label.strip(), place), _skip(plain, brace.end())
    raise Mistake(start, "the brace opened here is not closed (write _{i})")


def _read_spiking(parsed: ParsedRule, plain: str, start: int, end: int) -> None:
    arrow = _ARROW.search(plain, start, end)
    if arrow is None:
        eaten = _EATEN_ARROW.search(parsed.text, start, end)
        if eaten is not None:
            message = r"there is no arrow: the quotes took the backslash (write it twice: \\to)"
            raise Mistake(eaten.start(), message)
        raise Mistake(end, f"there is no arrow ({_SPIKING})")
    slash = plain.rfind("/", start, arrow.start())
    guard = None
    if slash >= 0:
        guard = _read_guard(parsed, plain, start, slash)
    consume, consume_at = _read_count(plain, slash + 1 if slash >= 0 else start, arrow.start())
    semicolon = plain.find(";", arrow.end(), end)
    produce_end = end if semicolon < 0 else semicolon
    produced = plain[arrow.end() : produce_end].strip()
    produce, produce_at = 0, _skip(plain, arrow.end())
    if produced not in _LAMBDA:
        produce, produce_at = _read_count(plain, arrow.end(), produce_end)
    delay, delay_at = 0, end
    if semicolon >= 0:
        delay, delay_at = _read_delay(plain, semicolon + 1, end)
    if slash < 0:
        try:
            guard = Guard.exactly(consume)
        except ValueError as error:
            raise Mistake(consume_at, str(error)) from None
    parsed.is_whole = guard is not None
    parsed.rule = Rule(NO_GUARD if guard is None else guard, consume, produce, delay)
    parsed.places = {
        "produce_exceeds_consume": produce_at,
        "forgetting_delay": delay_at,
        "bad_number": delay_at if consume else consume_at,
    }


def _read_guard(parsed: ParsedRule, plain: str, start: int, end: int) -> Guard | None:
    text = plain[start:end]
    guard = guard_or_error(text)
    if not isinstance(guard, Guard):
        fault = Mistake(start + guard.position, f"the guard does not parse: {guard.message}")
        parsed.errors.append(fault)
        return None
    loose = _loose_union(text)
    if loose is not None:
        message = (
            "the union is read as such, but WebSnapse Reloaded anchors its first part only at the "
            "start and its last part only at the end (put it in parentheses)"
        )
        parsed.warnings.append(Mistake(start + loose, message))
    return guard


def _loose_union(text: str) -> int | None:
    """Where the first union outside parentheses stands."""
    depth = 0
    for match in _UNION.finditer(text):
        if match[0] in "()":
            depth += 1 if match[0] == "(" else -1
        elif depth == 0:
            return match.start()
    return None


def _read_count(plain: str, start: int, end: int) -> tuple[int, int]:
    """A number of spikes and its place."""
    start = _skip(plain, start)
    text = plain[start:end].strip()
    if not text:
        message = r'a number of spikes is missing (write "a", "a^{3}" or "\lambda")'
        raise Mistake(min(start, end), message)
    match = _COUNT.fullmatch(text)
    if match is None:
        message = f'{_excerpt(text, 0)} is not one number of spikes (write "a" or "a^{{3}}")'
        raise Mistake(start, message)
    letters, digits = match["letters"].count("a"), match["bare"] or match["braced"]
    if digits is None:
        return letters, start
    digits = digits.lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS:
        raise Mistake(start, "the number of spikes is too large (write at most 18 digits)")
    return letters - 1 + int(digits), start


def _read_delay(plain: str, start: int, end: int) -> tuple[int, int]:
    start = min(_skip(plain, start), end)
    digits = plain[start:end].strip()
    if not (digits.isascii() and digits.isdigit()):
        raise Mistake(start, 'the delay is not a number of steps (write ";2")')
    if len(digits) > _MAX_DIGITS:
        raise Mistake(start, "the delay is too large (write less than 2147483648 steps)")
    return int(digits), start


def _skip(text: str, start: int) -> int:
    match = _BLANK.match(text, start)
    return start if match is None else match.end()


def _excerpt(text: str, start: int) -> str:
    return repr(shortened(text[start:].rstrip(), 20))
