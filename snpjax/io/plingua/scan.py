"""The marks of a P-Lingua text that split it: braces and semicolons outside comments and quoted
texts; and its comments.
"""

import re
from collections.abc import Iterator


_MARK = re.compile(
    r'/\*.*?\*/|/\*|"[^"\n]*"|"|[{}()\[\];]|(?<![A-Za-z_0-9@\'])def\b', re.DOTALL | re.I
)
_BRACE = re.compile(
    r'\{[^{}"/\n]{0,60}\}|/\*.*?\*/|/\*|"[^"\n]*"|"|[{}]|(?<![A-Za-z_0-9@\'])def\b',
    re.DOTALL | re.I,
)
_COMMENT = re.compile(r'/\*.*?(?:\*/|\Z)|"[^"\n]*"', re.DOTALL)
_BLOCK = 256
_GAP = re.compile(r"(?:\s++|/\*.*?\*/)*+", re.DOTALL)


def marks(
    text: str, start: int, end: int, *, only_braces: bool = False
) -> Iterator[tuple[int, str]]:
    """Offset and text of every brace, bracket, parenthesis, semicolon and `def`, and of a `/*` or
    `"` that never ends; or without brackets, parentheses, semicolons and the braces of indices, of
    which there are many more."""
    for match in (_BRACE if only_braces else _MARK).finditer(text, start, end):
        mark = match.group()
        if len(mark) == 1 or mark == "/*" or mark[0] in "dD":
            yield match.start(), mark


def comments(text: str) -> Iterator[re.Match[str]]:
    """Every comment outside quoted texts; one that never ends reaches to the end of the text."""
    return (match for match in _COMMENT.finditer(text) if match[0][0] == "/")


def skip_gap(text: str, start: int, end: int) -> int:
    """The first offset from `start` on that is neither blank nor in a comment."""
    match = _GAP.match(text, start, end)
    return start if match is None else match.end()


def end_of_previous(text: str, start: int, offset: int) -> int:
    """The offset after the last character before `offset` outside blanks and comments."""
    while offset > start:
        block = text[max(start, offset - _BLOCK) : offset]
        solid = len(block.rstrip())
        offset -= len(block) - solid
        if not solid:
            continue
        opening = text.rfind("/*", start, offset - 2) if text.endswith("*/", start, offset) else -1
        if opening < 0:
            return offset
        offset = opening
    return start
