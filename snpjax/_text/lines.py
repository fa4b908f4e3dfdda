"""Millions of lines of text: columns of bytes side by side, whose holes are left out.

A graph may have 10^8 edges, so that nothing here loops over lines in Python.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Int, UInt8


#: A part of every line; bytes of value 0 are holes.
Column: TypeAlias = "UInt8[np.ndarray, 'lines _width'] | bytes"
#: What stands at an edge: the rules of a choice, or what is emitted.
EdgeLabels: TypeAlias = Literal["rules", "emissions"]


class Table(NamedTuple):
    """Numbers, or names, of many configurations or steps: a row each, or one for each.

    - `prefix`: what the number of one column is called, before the name of that.
    - `empty`: the number that stands for none, if one does.
    - `words`: how a number other than 0 is put in words next to the count, `closed, {} to go`.
      Empty for other tables.
    - `mark`: the same in pictures, as a superscript of the count.
    """

    prefix: str
    values: np.ndarray
    empty: int | None = None
    words: str = ""
    mark: str = "({})"

    def cut(self, width: int) -> "Table":
        """The first columns."""
        return self if self.values.ndim == 1 else self._replace(values=self.values[:, :width])


class EdgeStyle(NamedTuple):
    """How a format writes what stands at an edge: `name equals number`, with separators, and
    `nothing` where there is nothing; the number of a subset after `subset`, and how often something
    is done, if it has a place for that, after `times`."""

    labels: EdgeLabels
    equals: bytes
    separator: bytes
    nothing: bytes
    subset: bytes = b"."
    times: bytes = b""


def lines(*columns: Column) -> bytes:
    """All lines, each made of these columns. At least one of them is an array."""
    size = next(len(column) for column in columns if not isinstance(column, bytes))
    arrays = [
        np.broadcast_to(np.frombuffer(column, np.uint8), (size, len(column)))
        if isinstance(column, bytes)
        else column
        for column in columns
    ]
    table = np.concatenate(arrays, axis=1)
    return table[table != 0].tobytes()


def numbers(
    values: Int[np.ndarray, " lines"], present: Bool[np.ndarray, " lines"] | None = None
) -> Column:
    """A number in every line, or in those where it is present."""
    values = values.astype(np.int64)
    if present is not None:
        values = np.where(present, values, 0)
    sizes = np.abs(values)
    powers = 10 ** np.arange(len(str(sizes.max(initial=0))) - 1, -1, -1)
    digits = (sizes[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    digits[:, :-1][sizes[:, None] < powers[:-1]] = 0
    sign = np.where(values < 0, ord("-"), 0).astype(np.uint8)
    table = np.concatenate([sign[:, None], digits], axis=1)
    return table if present is None else table * present[:, None]


def text(value: bytes, present: Bool[np.ndarray, " lines"]) -> Column:
    """A text in the lines where it is present."""
    return np.frombuffer(value, np.uint8) * present[:, None]


def scalars(values: np.ndarray) -> list[Column]:
    """In every line a number, or whether something holds."""
    if values.dtype == bool:
        return [text(b"true", values), text(b"false", ~values)]
    return [numbers(values)]


def one_of(values: np.ndarray, text_of: Callable[[Any], str]) -> Column:
    """In every line the text of its value, of which there are few."""
    distinct, which = np.unique(values, return_inverse=True)
    texts = [text_of(value).encode() for value in distinct.tolist()]
    width = max(map(len, texts), default=0)
    table = np.frombuffer(b"".join(x.ljust(width, b"\0") for x in texts), np.uint8)
    return table.reshape(len(texts), width)[which.reshape(-1)]


def rows(
    values: Int[np.ndarray, "lines columns"],
    *,
    separator: bytes = b",",
    empty: int | None = None,
    null: bytes = b"null",
) -> list[Column]:
    """The numbers of every row with separators, and `null` in place of `empty`."""
    columns: list[Column] = []
    for i in range(values.shape[1]):
        if i:
            columns.append(separator)
        present = None if empty is None else values[:, i] != empty
        columns.append(numbers(values[:, i], present))
        if present is not None:
            columns.append(text(null, ~present))
    return columns


def label_rows(labels: np.ndarray, written: Callable[[str], str] = json.dumps) -> list[Column]:
    """The names of every row, each a string of JSON, `null` where there is none."""
    columns: list[Column] = []
    for i in range(labels.shape[1]):
        own = one_of(labels[:, i], lambda x: written(x) if x else "null")
        columns += [b"," if i else b"", own]
    return columns


def distinct_names(labels: Sequence[str]) -> tuple[str, ...]:
    """A name for every neuron: its label, with its number where several bear it."""
    counts = Counter(labels)
    return tuple(
        label if counts[label] == 1 else f"{label}#{number}" for number, label in enumerate(labels)
    )
