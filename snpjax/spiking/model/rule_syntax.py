"""Reading the texts of rules, of every kind."""

import json
import re
from typing import NoReturn, cast

from ..._text.surrogates import HALF, lone_escape
from .guard import Guard, GuardError
from .rule import (
    ANTI_SPIKE,
    ONE_CHANNEL,
    PLAIN_CHANNEL,
    PLAIN_NAME,
    Alpha,
    AnyRule,
    BuddingRule,
    DivisionRule,
    PlasticityRule,
    RequestRule,
    Rule,
    RuleError,
    SpikeQuery,
)


_MAX_SHOWN = 60  # characters of a rule that a message repeats
_MAX_DIGITS = 10
_REQUEST = re.compile(r"/\s*Q(?=\s*\()")
_ALL_SPIKES = frozenset({"a^inf", "a^∞", r"a^\infty", r"a^{\infty}"})
_ARROW = re.compile(r"-+>|→|\\to(?![a-z])|\\rightarrow")
_LAMBDA = frozenset({"lambda", "λ", r"\lambda", "#", "0", "empty"})
_BLANKS = re.compile(r"\s*")
_ALPHA = re.compile(r"\+\s*-|-\s*\+|[+±∓-]")
_SIGNS = {"±": "+-", "∓": "-+"}
_ANTI_SPIKES = re.compile(r"\s*-\s*a")  # a production that is not a plasticity
_GROWTH, _CHANGE = "[a^2]_i -> []_j || []_k", "a/a -> +2(i, {j, k})"  # in messages
_QUERIES = "a^2/Q(a^3, j)(a^inf, k)"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_NAME = re.compile(rf"{PLAIN_NAME.pattern}|{_QUOTED}")
_CHANNEL = re.compile(rf"\(\s*(?:({PLAIN_CHANNEL.pattern})|({_QUOTED}))\s*\)")


def parse_rule(text: str, label: str | None = None) -> AnyRule:
    r"""Read a rule: `"a^2/a -> a; 1"`, `"a^3 -> lambda"`, `"[a^2]_i -> []_j || []_k"`, `"[a]_i ->
    []_i / []_j"`, `"a/a -> +2(i, {j, k})"`, `"a^2/Q(a^3, j)(a^inf, k)"`.

    Anti-spikes are written `ā`, or with a minus before the whole guard or number: `"ā^2/ā -> a"` is
    also `"-a^2/-a -> a"`. A channel follows what it carries, as in `"a -> a(1)"`; a channel whose
    label consists of letters `a` alone must be quoted. Blanks may stand anywhere. `||` is also `‖`,
    `+-` is also `±`, `-+` is also `∓`. A label that is not a plain word must be quoted:
    `[]_"Cx1,0"`.

    **Arguments:**

    - `label`: that of the neuron whose rule it is. The text may leave it out (`[a^2] -> []_j ||
      []_k`, `[a] -> [] / []_j`, `a/a -> +2 {j, k}`), but not say another.

    **Raises:** `RuleError` with the position of the mistake.
    """
    if text.lstrip().startswith("["):
        return _Scanner(text, 0, label, _GROWTH).growth()
    request, arrow = _REQUEST.search(text), _ARROW.search(text)
    if request is not None and (arrow is None or request.start() < arrow.start()):
        guard = _guard(text[: request.start()], text, 0)
        return RequestRule(guard, _Scanner(text, request.end(), label, _QUERIES).queries())
    if arrow is None:
        raise RuleError('there is no arrow (write "a^2/a -> a; 1")', text, len(text))
    guard, consume, sign = _left(text, arrow.start())
    is_change = text[arrow.end() :].lstrip()[:1] in ("+", "-", "±", "∓")
    if is_change and not _ANTI_SPIKES.match(text, arrow.end()):
        if sign < 0:
            raise RuleError("a plasticity rule has no anti-spikes (write a)", text, 0)
        change = _Scanner(text, arrow.end(), label, _CHANGE).change()
        return PlasticityRule(guard, consume, *change)
    produce, channel, delay = _production(text, arrow.end())
    return Rule(guard, consume, produce, delay, sign, channel)


class _Scanner:
    """Goes through the part of a text that names neurons. `example` is a right text."""

    def __init__(self, text: str, position: int, label: str | None, example: str):
        self.text, self.position, self.label, self.example = text, position, label, example

    def growth(self) -> DivisionRule | BuddingRule:
        self._expect("[")
        start, end = self.position, self.text.find("]", self.position)
        if end < 0:
            self._fail(f'the bracket is not closed (write "{self.example}")', start - 1)
        if not self.text[start:end].strip():
            self._fail(f'the guard is missing (write "{self.example}")', start)
        guard = _guard(self.text[start:end], self.text, start)
        self.position = end + 1
        owner = self.label
        if self._accept("_"):
            owner = self._owner()
        if not self._match(_ARROW):
            self._fail(f'there is no arrow (write "{self.example}")')
        first_at, first = self._child()
        if self._accept("||") or self._accept("‖"):
            second_at, second = self._child()
            for at, child in ((first_at, first), (second_at, second)):
                if child is None:
                    self._fail("the label of a new neuron is missing (write []_j)", at)
            rule = DivisionRule(guard, cast(str, first), cast(str, second))
        elif self._accept("/"):
            second_at, second = self._child()
            if second is None:
                self._fail("the label of the bud is missing (write []_j)", second_at)
            rule = BuddingRule(guard, second, None if first == owner else first)
        else:
            self._fail('expected "||" for a division, or "/" for a budding')
        self._end("a division or budding rule")
        return rule

    def change(self) -> tuple[Alpha, int, list[str]]:
        sign = self._match(_ALPHA)
        assert sign is not None
        alpha = "".join(sign.split())
        digits = self._match(re.compile("[0-9]+"))
        if digits is None:
            self._fail(f'the number k of synapses is missing (write "{self.example}")')
        if len(digits) > _MAX_DIGITS:
            self._fail("the number k of synapses is too large", self.position - len(digits))
        has_owner = self._accept("(")
        if has_owner:
            self._owner()
            self._expect(",")
        self._expect("{")
        targets = []
        while not self._accept("}"):
            if targets:
                self._expect(",")
            targets.append(self._name())
        if has_owner:
            self._expect(")")
        self._end("a plasticity rule")
        return cast(Alpha, _SIGNS.get(alpha, alpha)), int(digits), targets

    def queries(self) -> list[SpikeQuery]:
        found = []
        while not found or self._next() == "(":
            self._expect("(")
            comma = self.text.find(",", self.position)
            if comma < 0:
                self._fail(f'the neuron asked is missing (write "{self.example}")')
            part = self.text[self.position : comma]
            is_all = "".join(part.split()) in _ALL_SPIKES
            count = None if is_all else _count(part, self.text, self.position)
            self.position = comma + 1
            found.append(SpikeQuery(count, self._name()))
            self._expect(")")
            self._accept(",")
        self._end("a request")
        return found

    def _next(self) -> str:
        self._skip()
        return self.text[self.position : self.position + 1]

    def _child(self) -> tuple[int, str | None]:
        """Where the label of a new neuron stands or is missing, and the label."""
        self._expect("[")
        if not self._accept("]"):
            self._fail("a new neuron is empty (write []_j)")
        has_label = self._accept("_")
        at = self.position
        return at, self._name() if has_label else None

    def _owner(self) -> str:
        self._skip()
        at = self.position
        owner = self._name()
        if self.label not in (None, owner):
            message = (
                f"it is written for neuron {owner!r} "
                f"(write {self.label!r} there, or give the rule to {owner!r})"
            )
            self._fail(message, at)
        return owner

    def _name(self) -> str:
        name = self._match(_NAME)
        if name is None:
            self._fail("the name of a neuron is missing (put unusual ones in quotes)")
        if not name.startswith('"'):
            return name
        return _quoted(name, self.text, self.position - len(name))

    def _end(self, what: str) -> None:
        if self._accept(";"):
            self._fail(f"{what} has no delay (remove it)", self.position - 1)
        self._skip()
        if self.position < len(self.text):
            self._fail("there is text after the rule (remove it)")

    def _skip(self) -> None:
        blanks = _BLANKS.match(self.text, self.position)
        assert blanks is not None
        self.position = blanks.end()

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        self._skip()
        match = pattern.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match.group()

    def _accept(self, token: str) -> bool:
        self._skip()
        is_there = self.text.startswith(token, self.position)
        self.position += len(token) if is_there else 0
        return is_there

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            self._fail(f'expected "{token}" (write "{self.example}")')

    def _fail(self, message: str, position: int | None = None) -> NoReturn:
        raise RuleError(message, self.text, self.position if position is None else position)


def _left(text: str, end: int) -> tuple[Guard | None, int, int]:
    """The guard and the spikes consumed, which stand before the arrow, and their sign."""
    guard_text, slash, consume_text = text[:end].rpartition("/")
    start = len(guard_text) + len(slash)
    sign, consume_text = _sign(consume_text, text, start)
    guard = None
    if slash:
        guard_sign, guard_text = _sign(guard_text, text, 0)
        if guard_sign != sign:
            message = "the guard and what is consumed are not both of spikes, or of anti-spikes"
            raise RuleError(message, text, 0)
        guard = _guard(guard_text, text, 0)
    one = "a" if sign > 0 else "-a"
    fix = "" if slash else f"{text[:end].strip()}/{one} {text[end:].strip()}"
    return guard, _count(consume_text, text, start, fix), sign


def _sign(part: str, text: str, start: int) -> tuple[int, str]:
    """The sign of a part of a rule, and the part in plain spikes, as long as before."""
    plain = part.lstrip()
    at = start + len(part) - len(plain)
    if ANTI_SPIKE not in part:
        return (-1, part.replace("-", " ", 1)) if plain.startswith("-") else (1, part)
    if "a" in part or plain.startswith("-"):
        raise RuleError("spikes and anti-spikes are mixed (write one of them)", text, at)
    return -1, part.replace(ANTI_SPIKE, "a")


def _production(text: str, start: int) -> tuple[int, str | None, int]:
    """The spikes produced, their channel and the delay, which stand after the arrow."""
    channel, semicolon = _CHANNEL.search(text, start), text.find(";", start)
    end = after = len(text) if semicolon < 0 else semicolon
    label = None
    if channel is not None and channel.start() < end:
        end, after = channel.span()
        plain, quoted = channel.groups()
        label = plain or _quoted(quoted, text, channel.start(2))
    right, produce = text[start:end], 0
    if right.strip().lower() not in _LAMBDA:
        sign, right = _sign(right, text, start)
        produce = sign * _count(right, text, start)
    gap, has_delay, delay_text = text[after:].partition(";")
    if gap.strip():
        message = "there is text after the channel (remove it)"
        if gap.lstrip()[0] in ",(":
            message = f"a rule names one channel ({ONE_CHANNEL})"
        raise RuleError(message, text, after)
    if not has_delay:
        return produce, label, 0
    digits, at = delay_text.strip(), after + len(gap) + 1
    if not (digits.isascii() and digits.isdigit()):
        raise RuleError('the delay is not a number of steps (write "; 2")', text, at)
    if len(digits) > _MAX_DIGITS:
        raise RuleError("the delay is too large", text, at)
    return produce, label, int(digits)


def _quoted(name: str, text: str, at: int) -> str:
    """A name between quotes."""
    half = lone_escape(name)
    if half is not None:
        message = f"{name[half : half + 6]} is {HALF} (write both halves)"
        raise RuleError(message, text, at + half)
    try:
        return json.loads(name, strict=False)
    except ValueError:
        message = "this is not a quoted name (write it as a string of JSON)"
        raise RuleError(message, text, at) from None


def _guard(part: str, text: str, start: int) -> Guard:
    try:
        return Guard.parse(part)
    except GuardError as error:
        raise RuleError(error.message, text, start + error.position) from error


def _count(part: str, text: str, start: int, fix: str = "") -> int:
    """The number of spikes that a part of a rule is.

    - `fix`: the rule that was meant by a guard instead of the spikes consumed.
    """
    if not part.strip():
        raise RuleError('a number of spikes is missing (write "a", "a^3" or "lambda")', text, start)
    spikes = _guard(part, text, start)
    if spikes.minimum is not None and spikes.is_exactly(spikes.minimum):
        return spikes.minimum
    own = text[start : start + len(part)].lstrip()
    at, own = start + len(part) - len(own), own.rstrip()
    is_short = len(text) <= _MAX_SHOWN
    if fix:
        named, fix = (f"the guard {own}", fix) if is_short else ("this guard", "a+/a -> a")
        message = f'{named} does not say how many spikes are consumed (write "{fix}")'
        raise RuleError(message, text, at)
    named = own if is_short else "this"
    raise RuleError(f'{named} is not one number of spikes (write "a^3")', text, at)
