"""Halves of characters: what Python holds in a text, but no file in UTF-8 can."""

import re


_LONE = re.compile("[\ud800-\udfff]")
#: Escapes of JSON up to the first that is half of a character.
_WHOLE = re.compile(
    r"(?:[^\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\(?!u[dD][89a-fA-F]).)*+",
    re.DOTALL,
)

HALF = "half of a character (a lone surrogate), which no file can hold"


def lone_surrogate(text: str) -> int | None:
    """Where the first half of a character stands in a text."""
    found = None if text.isascii() else _LONE.search(text)
    return None if found is None else found.start()


def lone_escape(text: str) -> int | None:
    r"""Where the first escape of half a character stands in JSON, such as `\ud800`."""
    if r"\ud" not in text and r"\uD" not in text:
        return None
    match = _WHOLE.match(text)
    end = 0 if match is None else match.end()
    return end if end + 1 < len(text) else None
