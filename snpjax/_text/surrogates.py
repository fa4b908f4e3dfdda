"""Halves of characters: what Python holds in a text, but no file in UTF-8 can."""

import re

from snpjax_formats.strict_json import HALF as HALF, lone_escape as lone_escape


_LONE = re.compile("[\ud800-\udfff]")


def lone_surrogate(text: str) -> int | None:
    """Where the first half of a character stands in a text."""
    found = None if text.isascii() else _LONE.search(text)
    return None if found is None else found.start()
