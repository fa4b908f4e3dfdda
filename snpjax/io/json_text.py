"""JSON with places: Python's `json` reads the values, and a scan of the text finds where a value
stands.

The scan runs only when there is something to report, and decodes only what lies on the way.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeAlias

from snpjax_formats.strict_json import MAX_DEPTH, TOO_DEEP, JsonError, parse_json

from .source import Report


_BLANK = re.compile(r"[ \t\n\r]*")
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)  # values do not matter here


_NUM_MANY = 64


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of `_NUM_MANY` items of a list, and of a member of an object whose groups are the key and
    what follows it. They match values that are nested a little, which nearly all are."""
    string = r'"(?:[^"\\]++|\\.)*+"'
    scalar = value = rf"{string}|[-+.0-9A-Za-z]++"
    for _ in range(3):
        pair = rf"{string}\s*+:\s*+(?:{value})\s*+"
        items = rf"\[\s*+(?:(?:{value})\s*+(?:,\s*+(?:{value})\s*+)*+)?\]"
        value = rf"{scalar}|{items}|\{{\s*+(?:{pair}(?:,\s*+{pair})*+)?\}}"
    many = re.compile(rf"(?:(?:{value})\s*+,\s*+){{{_NUM_MANY}}}", re.DOTALL)
    end = r"\s*+(?:,\s*+|(?=\}))"
    return many, re.compile(rf"({string})(\s*+:\s*+)(?:{value}){end}", re.DOTALL)


class Key(NamedTuple):
    """A key of an object, as the last step of a path; the `occurrence`-th of that name, from 0."""

    name: str
    occurrence: int = 0


class InString(NamedTuple):
    """A character of a string value, as the last step of a path."""

    character: int


Step: TypeAlias = str | int | Key | InString
JsonPath: TypeAlias = tuple[Step, ...]


class RepeatedKeys(dict):
    """An object in which keys stand twice."""

    keys_twice: tuple[str, ...] = ()


def mapping_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these keys and values, the last of repeated keys counts."""
    result = dict(pairs)
    if len(result) < len(pairs):
        times = Counter(key for key, _ in pairs)
        result = RepeatedKeys(result)
        result.keys_twice = tuple(key for key, count in times.items() if count > 1)
    return result


@dataclass(frozen=True, slots=True)
class NoNumber:
    """What stands in place of NaN, an infinity or a number with too many digits."""

    text: str


def decode(report: Report) -> object | None:
    """The value of a JSON text; `None` after an error, which is reported.

    Keys that stand twice and what is no number are left to the checks, which say what they are of.
    """
    try:
        return parse_json(report.source.text, repeated_keys=mapping_of, not_a_number=NoNumber)
    except JsonError as error:
        report.error(error.offset, error.problem)
    return None


def report_depth(report: Report) -> None:
    """Report the place from which on a text is nested too deep."""
    report.error(_too_deep(report.source.text), TOO_DEEP)


def _too_deep(text: str) -> int:
    depth = 0
    for match in _STRUCTURE.finditer(text):
        if match.group() in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return match.start()
        elif match.group() in "]}":
            depth -= 1
    return 0


def locate(text: str, paths: Iterable[JsonPath]) -> dict[JsonPath, int]:
    """The character offset of every path in a JSON text; the object's if a step is missing."""
    wanted: defaultdict[JsonPath, set[Step]] = defaultdict(set)
    for path in paths:
        for depth, step in enumerate(path):
            wanted[path[:depth]].add(step)
    places: dict[JsonPath, int] = {(): _skip(text, 0)}
    missing: set[JsonPath] = set()
    for outer in sorted(wanted, key=len):
        start = places[outer]
        found = {} if outer in missing else _inside(text, start, wanted[outer])
        for step in wanted[outer]:
            places[*outer, step] = found.get(step, start)
            if step not in found:
                missing.add((*outer, step))
    return places


def _inside(text: str, start: int, wanted: set[Step]) -> dict[Step, int]:
    """Where what is wanted stands in the value at `start`."""
    if text[start] == '"':
        return {x: _character(text, start, x[0]) for x in wanted if isinstance(x, InString)}
    if text[start] == "{":
        return _in_object(text, start, wanted)
    return _in_list(text, start, wanted) if text[start] == "[" else {}


def _in_object(text: str, start: int, wanted: set[Step]) -> dict[Step, int]:
    found: dict[Step, int] = {}
    seen: Counter[str] = Counter()
    offset = _skip(text, start + 1)
    _, pattern = _patterns()
    while text[offset] != "}":
        member = pattern.match(text, offset)
        if member is not None:
            key, value, after = member[1], member.end(2), member.end()
            key = key[1:-1] if "\\" not in key else _DECODER.decode(key)
        else:  # nested deeper than the pattern
            key, after = _DECODER.raw_decode(text, offset)
            value = _skip(text, _skip(text, after) + 1)
            after = _after(text, value)
        if (at_key := Key(key, seen[key])) in wanted:
            found[at_key] = offset
        seen[key] += 1
        if key in wanted:  # the last of repeated keys counts
            found[key] = value
        offset = after
    return found


def _in_list(text: str, start: int, wanted: set[Step]) -> dict[Step, int]:
    found: dict[Step, int] = {}
    numbers = sorted(x for x in wanted if isinstance(x, int))
    number, offset = 0, _skip(text, start + 1)
    pattern, _ = _patterns()
    for step in numbers:
        while number < step and text[offset] != "]":
            many = pattern.match(text, offset) if number + _NUM_MANY <= step else None
            offset = many.end() if many is not None else _after(text, offset)
            number += 1 if many is None else _NUM_MANY
        if text[offset] == "]":
            break
        found[step] = offset
    return found


def _after(text: str, offset: int) -> int:
    """Where the next item begins, or the bracket at the end, after the value at an offset."""
    offset = _skip(text, _DECODER.raw_decode(text, offset)[1])
    return _skip(text, offset + 1) if text[offset] == "," else offset


def _skip(text: str, offset: int) -> int:
    match = _BLANK.match(text, offset)
    return offset if match is None else match.end()


def _character(text: str, start: int, index: int) -> int:
    """The offset of character `index` of the string whose opening quote is at `start`."""
    offset = start + 1
    for _ in range(index):
        if text[offset] == '"':
            break
        if text[offset] != "\\":
            offset += 1
        elif text[offset + 1] != "u":
            offset += 2
        elif re.match(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]", text[offset : offset + 12]):
            offset += 12  # two escapes, one character
        else:
            offset += 6
    return offset
