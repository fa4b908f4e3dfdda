"""Arguments that several functions check in the same way."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from ..machine import advice_on
from ..spiking.model.population import AnySystem
from .data import first_place


def check_system(system: object) -> None:
    """Refuse what is not a system, such as a model that was not exported."""
    if not isinstance(system, AnySystem):
        fix = advice_on(system, "Give a system of neurons.")
        raise TypeError(f"`system` is a {type(system).__name__}. {fix}")


def whole_counts(given: Any, name: str) -> Int[np.ndarray, "..."]:
    """Numbers of spikes as integers. **Raises:** `ValueError` for any other number."""
    values = np.asarray(given)
    is_wrong = ~((values >= 0) & (values < 2**30) & (values == np.round(values)))
    if place := first_place(is_wrong):
        raise ValueError(
            f"`{name}` is {values[is_wrong][0]} {place}. Give whole numbers from 0 to 2^30 - 1."
        )
    return values.astype(np.int64)


def check_key(key: Any) -> None:
    """Refuse what is not a key for random numbers, such as a seed."""
    if not isinstance(key, jax.Array | np.ndarray):
        raise TypeError(f"`key` is {key!r:.60}. Give a key, such as `jax.random.key(0)`.")
