"""Models as text of bounded length: a row for each element, and sets in one line."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from .counts import plural
from .quoting import printable


_MAX_ROWS, _MAX_ITEMS, _MAX_RULES = 20, 8, 8
_MAX_NAME, _MAX_WIDTH = 24, 110  # characters


def table_lines(rows: Iterable[tuple[str, ...]], total: int, noun: str) -> list[str]:
    """The first of a total of rows in aligned columns, and how many are left out."""
    shown = [(_cut(row[0], _MAX_NAME), *row[1:]) for row in islice(rows, _MAX_ROWS)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]
    more = [f"... and {plural(total - _MAX_ROWS, f'more {noun}')}"] * (total > _MAX_ROWS)
    return [f"  {_cut(line, _MAX_WIDTH)}" for line in lines + more]


def set_lines(**sets: tuple[Iterable[str], int]) -> list[str]:
    """A line with the first elements of each set, which comes with its size, unless it is empty."""
    lines = []
    for name, (elements, size) in sets.items():
        shown = [_cut(element, 2 * _MAX_NAME) for element in islice(elements, _MAX_ITEMS)]
        shown += [f"... and {size - _MAX_ITEMS:,} more"] * (size > _MAX_ITEMS)
        lines += [f"  {name}: {', '.join(shown)}"] * (size > 0)
    return lines


def rules_cell(rules: Sequence[Any], text_of: Callable[[Any], str]) -> str:
    """The texts of the first rules side by side, and how many rules are left out."""
    left = len(rules) - _MAX_RULES
    more = [f"... and {left:,} more"] * (left > 0)
    return ",  ".join([*map(text_of, rules[:_MAX_RULES]), *more])


def _cut(text: str, most: int) -> str:
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 3]}..."
