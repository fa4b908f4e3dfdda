"""What the text formats of Tina share: names in braces, numbers in thousands, arcs with marks."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..losses import Losses
from .draft import Kind
from .numbers import MOST


#: A name: letters, digits, primes, `_`; or anything in braces, with escapes.
NAME = r"[\w']+|\{(?:[^{}\\\n]|\\.)*\}"
_PLAIN_NAME = re.compile(r"[\w']+")
_NUMBER = re.compile(r"([0-9]+)([KM]?)", re.ASCII)
_FACTORS = {"": 1, "K": 1_000, "M": 1_000_000}
_ESCAPED = re.compile(r"\\(.)")
_MARKS: dict[str, Kind] = {"*": "input", "?-": "inhibitor", "?": "test"}
_MAX_DIGITS = 30


def name_of(word: str) -> str:
    """The name that a word is; of braces without them."""
    return _ESCAPED.sub(r"\1", word[1:-1]) if word.startswith("{") else word


def quoted(name: str) -> str:
    """A name as it is written, with braces where it needs them."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return "{" + re.sub(r"([{}\\])", r"\\\1", name) + "}"


def written_names(names: Iterable[str], losses: Losses) -> list[str]:
    """Names as they are written, each on one line."""
    written = []
    for name in names:
        if "\n" in name or "\r" in name:
            losses.add(f"the line end in the name {name!r}", "written as a blank")
            name = name.replace("\n", " ").replace("\r", " ")
        written.append(quoted(name))
    return written


def number_of(text: str) -> int | None:
    """A number such as 12, 3K or 2M; `None` if it is none, or does not fit in 64 bits."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > _MAX_DIGITS:
        return None
    number = int(match[1]) * _FACTORS[match[2]]
    return number if number <= MOST else None


class Mark(NamedTuple):
    """What is written after the name at an arc: its kind, and its weight or threshold."""

    kind: Kind
    weight: int


PLAIN_ARC = Mark("input", 1)


def mark_of(text: str, *, may_test: bool = True) -> Mark | str:
    """The mark that a text is, or what is wrong with it.

    - `may_test`: false at an arc from a transition to a place.
    """
    if text.startswith("!"):
        return f"{text} is a stopwatch arc, which a Sleptsov net does not have (remove it)"
    sign = "?-" if text.startswith("?-") else text[0]
    weight = number_of(text[len(sign) :])
    if sign not in _MARKS or weight is None:
        return f"{text!r} is not a mark of an arc (write *2, ?2 for a test, ?-2 for an inhibitor)"
    if weight == 0:
        return f"{text} has the weight 0 (write 1 or more)"
    if sign != "*" and not may_test:
        return f"{text} at an output: only input arcs test or inhibit (write *{weight})"
    return Mark(_MARKS[sign], weight)
