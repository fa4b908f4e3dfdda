"""Equality by value for dataclasses with arrays in their fields."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import jax
import numpy as np


class ComparedByValue:
    """Base of dataclasses with `eq=False` that are equal if all of their fields are.

    Arrays are equal if their shapes and entries are; a sequence of numbers equals an array of them.
    Equal objects have equal hashes, which are those of their class and texts.
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            have_same_value(getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)  # pyright: ignore[reportArgumentType]
        )

    def __hash__(self) -> int:
        values = (getattr(self, field.name) for field in fields(self))  # pyright: ignore[reportArgumentType]
        return hash((type(self), *(value for value in values if isinstance(value, str))))


_ARRAYS = (np.ndarray, np.generic, jax.Array)


def have_same_value(first: Any, second: Any) -> bool:
    """Compare two values of fields, which may be arrays, or hold some."""
    if first is second:
        return True
    if isinstance(first, _ARRAYS) or isinstance(second, _ARRAYS):
        return bool(np.array_equal(first, second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            have_same_value(value, second[key]) for key, value in first.items()
        )
    if isinstance(first, str) or isinstance(second, str):
        return bool(first == second)
    if isinstance(first, Sequence) and isinstance(second, Sequence):
        return len(first) == len(second) and all(map(have_same_value, first, second))
    if type(first).__module__.startswith("scipy.sparse"):
        return _are_same_matrix(first, second)
    return bool(first == second)


def _are_same_matrix(first: Any, second: Any) -> bool:
    """Compare matrices of scipy.sparse."""
    is_alike = type(first) is type(second) and first.shape == second.shape
    return is_alike and (first != second).nnz == 0
