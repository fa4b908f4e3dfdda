"""Strict JSON: the one reader of both packages, whatever the text is for.

Python's `json` takes the last of repeated keys, reads NaN, infinities and numbers of any length,
rounds 1e400 to infinity, guesses encodings, and lets a text of 100,000 brackets exhaust the stack.
"""

import json
import os
import re
from collections.abc import Callable
from typing import Any, NoReturn


MAX_DEPTH = 100
MAX_DIGITS = 100  # of an integer

HALF = "half of a character (a lone surrogate), which no file can hold"
TOO_DEEP = f"this is nested more than {MAX_DEPTH} deep (no model needs that)"

#: Escapes of JSON up to the first that is half of a character.
_WHOLE = re.compile(
    r"(?:[^\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\(?!u[dD][89a-fA-F]).)*+",
    re.DOTALL,
)
_TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]++|\\.)*+")\s*+:|"(?:[^"\\]++|\\.)*+"'
    r"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<number>[-+.0-9A-Za-z]++)",
    re.DOTALL,
)

Pairs = list[tuple[str, Any]]


class JsonError(ValueError):
    """A text that is not strict JSON: the message has the place, what is wrong, and the fix.

    - `problem`: the message without the place.
    - `offset`: the character at which it stands.
    - `first`: for a key that appears twice, the character at which it stands first.
    """

    def __init__(
        self, path: str, text: str, problem: str, offset: int, *, first: int | None = None
    ) -> None:
        line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
        place = f"{path}:{line}:{column}" if path else f"line {line}, column {column}"
        super().__init__(f"{place}: {problem}")
        self.problem, self.offset, self.first = problem, offset, first


class JsonSyntaxError(JsonError):
    """A text that is not JSON at all, such as one that was cut off."""


def parse_json(
    text: str | bytes,
    *,
    path: str | os.PathLike[str] = "",
    repeated_keys: Callable[[Pairs], Any] | None = None,
    not_a_number: Callable[[str], Any] | None = None,
    half_characters: bool = False,
) -> Any:
    """Return the value of a JSON text.

    **Arguments:**

    - `text`: the text; bytes are UTF-8.
    - `path`: the file that errors name.
    - `repeated_keys`: builds the value of an object that has a key twice from its items. By default
      this is an error.
    - `not_a_number`: returns what stands in place of NaN, an infinity, and an integer of more than
      `MAX_DIGITS` digits. By default these are errors.
    - `half_characters`: accept halves of characters (lone surrogates) in strings.

    **Raises:** `JsonError` with the place of the first mistake: a syntax error, a key that appears
    twice, a number that is none, lists and objects that are nested more than `MAX_DEPTH` deep, or
    half of a character.
    """
    path = os.fspath(path)
    if isinstance(text, bytes):
        text = _decode(path, text)

    def mapping(pairs: Pairs) -> Any:
        result = dict(pairs)
        if len(result) == len(pairs):
            return result
        return _reject() if repeated_keys is None else repeated_keys(pairs)

    def constant(digits: str) -> Any:
        return _reject() if not_a_number is None else not_a_number(digits)

    def integer(digits: str) -> Any:
        return int(digits) if len(digits) <= MAX_DIGITS else constant(digits)

    def decimal(digits: str) -> Any:
        value = float(digits)
        return value if abs(value) != float("inf") else constant(digits)

    try:
        value = json.loads(
            text,
            object_pairs_hook=mapping,
            parse_int=integer,
            parse_float=decimal,
            parse_constant=constant,
        )
    except json.JSONDecodeError as error:
        is_escape = error.msg.startswith("Invalid \\escape")
        fix = r"write a backslash twice: \\" if is_escape else "fix the syntax here"
        problem = f"not well-formed JSON: {error.msg} ({fix})"
        raise JsonSyntaxError(path, text, problem, error.pos) from None
    except (_Rejected, RecursionError):
        raise _first_mistake(path, text) from None
    if _is_too_deep(value):
        raise _first_mistake(path, text)
    half = None if half_characters else lone_escape(text)
    if half is not None:
        problem = f"{text[half : half + 6]} is {HALF} (write both halves)"
        raise JsonError(path, text, problem, half)
    return value


class _Rejected(Exception):
    """A value is not strict JSON; the place is yet to be found."""


def _reject() -> NoReturn:
    raise _Rejected


def _decode(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        problem = f"not UTF-8: byte {data[error.start]:#04x} (save the text as UTF-8)"
        raise JsonSyntaxError(path, before, problem, len(before)) from None


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        nested = []
        for outer in level:
            if isinstance(outer, dict | list):
                items = outer.values() if isinstance(outer, dict) else outer
                nested += [x for x in items if isinstance(x, dict | list)]
        if not nested:
            return False
        level = nested
    return True


def _first_mistake(path: str, text: str) -> JsonError:
    """Find the first mistake in a text that is well-formed up to there."""
    objects: list[dict[str, int]] = []  # of each open bracket, where its keys stand
    for match in _TOKEN.finditer(text):
        kind, at = match.lastgroup, match.start()
        if kind == "open":
            objects.append({})
            if len(objects) > MAX_DEPTH:
                return JsonError(path, text, TOO_DEEP, at)
        elif kind == "close":
            objects.pop()
        elif kind == "key":
            key = json.loads(match["key"])
            if key in objects[-1]:
                short = repr(key if len(key) <= 60 else f"{key[:57]}...")
                problem = f"the key {short} appears twice in an object (remove one)"
                return JsonError(path, text, problem, at, first=objects[-1][key])
            objects[-1][key] = at
        elif kind == "number" and (problem := _number_problem(match["number"])):
            return JsonError(path, text, problem, at)
    return JsonError(path, text, TOO_DEEP, 0)


def _number_problem(number: str) -> str:
    if number in ("true", "false", "null"):
        return ""
    if re.match("-?[A-Za-z]", number):
        return f"{number[:20]} is not a number of JSON (write a finite number)"
    if number.lstrip("-").isdigit():
        is_long = len(number) > MAX_DIGITS
        return f"a number has {len(number)} digits (write at most {MAX_DIGITS})" if is_long else ""
    is_finite = abs(float(number)) != float("inf")
    return "" if is_finite else f"{number[:20]} is too large for a float (write a finite number)"


def lone_escape(text: str) -> int | None:
    r"""Where the first escape of half a character stands in JSON, such as `\ud800`."""
    if r"\ud" not in text and r"\uD" not in text:
        return None
    match = _WHOLE.match(text)
    end = 0 if match is None else match.end()
    return end if end + 1 < len(text) else None
