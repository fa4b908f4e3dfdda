"""Integers of 64 bits and arrays of them, out of decoded JSON."""

from itertools import chain, islice

import numpy as np
from jaxtyping import Int

from ..json_checks import Findings
from ..json_text import JsonPath


_LIMITS = np.iinfo(np.int64)
_MAX_TOLD = 20  # wrong numbers of one array


class NumberReader:
    """Takes numbers. Each method gives `None` after a mistake, which is noted at its place.

    An item `null` of an array is the number `null`, where one is given.
    """

    def __init__(self, findings: Findings):
        self.findings = findings

    def integer(
        self, value: object, path: JsonPath, what: str, *, null: int | None = None
    ) -> int | None:
        if value is None and null is not None:
            return null
        number = self.findings.integer(value, path, what)
        if number is None or _LIMITS.min <= number <= _LIMITS.max:
            return number
        self.findings.error(path, f"{what} does not fit 64 bits (write a smaller number)")
        return None

    def row(
        self, value: object, path: JsonPath, what: str, *, null: int | None = None
    ) -> Int[np.ndarray, " items"] | None:
        """A list of integers."""
        items = self.findings.sequence(value, path, what)
        if items is None:
            return None
        if null is not None:
            items = [null if item is None else item for item in items]
        array = _as_array(items)
        if array is None:
            is_right = [type(x) is int and _LIMITS.min <= x <= _LIMITS.max for x in items]
            wrong = ((i, x) for i, x in enumerate(items) if not is_right[i])
            for index, item in islice(wrong, _MAX_TOLD):
                self.integer(item, (*path, index), f"item {index + 1} of {what}")
        return array

    def table(
        self, value: object, path: JsonPath, what: str
    ) -> "Int[np.ndarray, 'rows columns'] | None":
        """A list of lists of integers, each as long as the first."""
        rows = self.findings.sequence(value, path, what)
        if rows is None:
            return None
        if all(type(row) is list for row in rows) and len(set(map(len, rows))) <= 1:
            width = len(rows[0]) if rows else 0
            array = _as_array(list(chain.from_iterable(rows)))
            if array is not None:
                return array.reshape(len(rows), width)
        sound = [self.row(row, (*path, i), f"row {i + 1} of {what}") for i, row in enumerate(rows)]
        for index, row in enumerate(sound):
            if row is not None and sound[0] is not None and len(row) != len(sound[0]):
                message = (
                    f"row {index + 1} of {what} has {len(row)} numbers, and the first one "
                    f"{len(sound[0])} (write rows of one length)"
                )
                self.findings.error((*path, index), message, (*path, 0))
                break
        return None

    def row_or_table(
        self, value: object, path: JsonPath, what: str
    ) -> "Int[np.ndarray, '*rows columns'] | None":
        """A list of integers, or a list of lists of them."""
        is_table = isinstance(value, list) and value and isinstance(value[0], list)
        return self.table(value, path, what) if is_table else self.row(value, path, what)

    def integer_or_row(
        self, value: object, path: JsonPath, what: str, *, null: int | None = None
    ) -> "int | Int[np.ndarray, ' items'] | None":
        """An integer, or a list of them."""
        take = self.row if isinstance(value, list) else self.integer
        return take(value, path, what, null=null)

    def per_neuron(
        self, value: object, path: JsonPath, what: str, size: int | None, *, null: int | None = None
    ) -> "int | Int[np.ndarray, ' neurons'] | None":
        """A number that all neurons share, or one for each of `size` (`None`: of any number)."""
        numbers = self.integer_or_row(value, path, what, null=null)
        if size is None or not isinstance(numbers, np.ndarray) or len(numbers) == size:
            return numbers
        message = (
            f"{what} is a list of {len(numbers)} (write one number, or one for each of the {size} "
            "neurons)"
        )
        self.findings.error(path, message)
        return None


def _as_array(items: list) -> Int[np.ndarray, " items"] | None:
    if not set(map(type, items)) <= {int}:  # a truth value is not a number
        return None
    try:
        return np.array(items, np.int64)
    except OverflowError:
        return None
