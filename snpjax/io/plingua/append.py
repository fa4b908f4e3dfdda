"""More statements at the end of a file's `main`, for what a changed model has besides.

`revise` carries a change over to where it belongs. Where the file makes neurons in loops or calls
there is no such place, but statements can be added to those of the loops.
"""

import re
from collections import Counter
from collections.abc import Iterator

from .labels import with_table_of
from .scan import end_of_previous, marks


_LIST = re.compile(r"\s*(@(?:mu|marcs|mdict|mout|min)\b)\s*\+?=(.*)", re.DOTALL)
_MAIN = re.compile(r"\s*main\b")


def appended(text: str, before: str, after: str) -> Iterator[str]:
    """Add the statements to a file that a changed model has besides.

    **Arguments:**

    - `text`: a P-Lingua file.
    - `before`, `after`: what the writer makes of the model in it, and of the changed model.

    **Returns:** the text with new statements and the table of names; none where the changed model
    lacks something, or there is no `main`. Whether the text says what `after` says is for the
    caller to check.
    """
    old, new = Counter(_statements(before)), Counter(_statements(after))
    end = _end_of_main(text)
    if end is not None and not old - new:
        added = "".join(f"\n  {statement};" for statement in (new - old).elements())
        yield with_table_of(f"{text[:end]}{added}{text[end:]}", after)


def _statements(text: str) -> Iterator[str]:
    """The statements of `main`, lists item by item."""
    body = _body(text)
    if body is None:
        return
    at = body[0]
    for offset, mark in marks(text, *body):
        if mark == ";":
            statement, at = text[at:offset].strip(), offset + 1
            found = _LIST.fullmatch(statement)
            if found is None:
                yield statement
            else:
                yield from (f"{found[1]} += {item}" for item in _items(found[2]))


def _items(text: str) -> Iterator[str]:
    """What top-level commas separate."""
    depth = at = 0
    for offset, character in enumerate(text):
        depth += (character in "({[") - (character in ")}]")
        if character == "," and not depth:
            yield text[at:offset].strip()
            at = offset + 1
    yield text[at:].strip()


def _body(text: str) -> tuple[int, int] | None:
    """The offsets between the braces of `main`."""
    depth, start, is_main = 0, 0, False
    for offset, mark in marks(text, 0, len(text)):
        if mark[0] in "dD":
            is_main = _MAIN.match(text, offset + len(mark)) is not None
        elif mark == "{":
            start = offset + 1 if not depth else start
            depth += 1
        elif mark == "}":
            depth -= 1
            if not depth and is_main:
                return start, offset
    return None


def _end_of_main(text: str) -> int | None:
    """Where the last statement of `main` ends, and comments behind it on its line."""
    body = _body(text)
    if body is None:
        return None
    start, end = body
    last = end_of_previous(text, start, end)
    newline = text.find("\n", last, end)
    return max(last, len(text[:newline].rstrip())) if newline >= 0 else last
