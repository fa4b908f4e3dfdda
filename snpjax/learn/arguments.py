"""Arguments that several functions check in the same way."""

import operator
from typing import Any

import jax
import numpy as np


def integer(given: Any, name: str) -> int:
    """The argument as an integer. **Raises:** `TypeError` for anything else, such as 1.5."""
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"`{name}` is {given!r:.60}. Give an integer.") from None


def check_key(key: Any) -> None:
    """Refuse what is not a key for random numbers, such as a seed."""
    if not isinstance(key, jax.Array | np.ndarray):
        raise TypeError(f"`key` is {key!r:.60}. Give a key, such as `jax.random.key(0)`.")
