"""The marks of a P-Lingua text that split it: braces and semicolons outside comments and quoted
texts.
"""

import re
from collections.abc import Iterator


_MARK = re.compile(
    r'/\*.*?\*/|/\*|"[^"\n]*"|"|[{}()\[\];]|(?<![A-Za-z_0-9@\'])def\b', re.DOTALL | re.I
)
_BRACE = re.compile(r'/\*.*?\*/|/\*|"[^"\n]*"|"|[{}]|(?<![A-Za-z_0-9@\'])def\b', re.DOTALL | re.I)
_DEFINED = re.compile(r"(?:let\s+)?([A-Za-z_][A-Za-z_0-9]*)\s*=", re.I)
_GAP = re.compile(r"(?:\s+|/\*.*?\*/)*", re.DOTALL)


def marks(
    text: str, start: int, end: int, *, only_braces: bool = False
) -> Iterator[tuple[int, str]]:
    """Offset and text of every brace, bracket, parenthesis, semicolon and `def`, and of a `/*` or
    `"` that never ends; or without brackets, parentheses and semicolons, of which there are many
    more."""
    for match in (_BRACE if only_braces else _MARK).finditer(text, start, end):
        mark = match.group()
        if len(mark) == 1 or mark == "/*" or mark[0] in "dD":
            yield match.start(), mark


def skip_gap(text: str, start: int, end: int) -> int:
    """The first offset from `start` on that is neither blank nor in a comment."""
    match = _GAP.match(text, start, end)
    return start if match is None else match.end()


def lost_name(definition: str) -> str | None:
    """The variable that a definition which does not parse was to define."""
    match = _DEFINED.match(definition, skip_gap(definition, 0, len(definition)))
    return None if match is None else match.group(1)


def end_of_previous(text: str, start: int, offset: int) -> int:
    """The offset after the last character before `offset` outside blanks and comments."""
    while True:
        before = len(text[start:offset].rstrip()) + start
        if not text.endswith("*/", start, before):
            return before
        opening = text.rfind("/*", start, before - 2)
        if opening < 0:
            return before
        offset = opening
