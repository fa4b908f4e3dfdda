"""Pieces of text that native files of neurons and of populations have in common."""

import json
from collections.abc import Iterable, Sequence


SCHEMA = "snpjax/1"


def as_string(text: str) -> str:
    """A string of JSON."""
    return json.dumps(text, ensure_ascii=False)


def as_strings(texts: Iterable[str]) -> str:
    """A list of strings on one line."""
    return f"[{', '.join(map(as_string, texts))}]"


def as_lines(opening: str, items: Sequence[str], closing: str) -> str:
    """A list or an object with an item a line."""
    if not items:
        return opening + closing
    return f"{opening}\n    " + ",\n    ".join(items) + f"\n  {closing}"


def as_file(entries: Sequence[str]) -> str:
    """The text of a file of these `"key": value`."""
    return "{\n  " + ",\n  ".join(entries) + "\n}\n"
