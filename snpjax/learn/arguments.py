"""Arguments that several functions check in the same way."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Int

from .._text.counts import plural
from ..machine import advice_on
from ..spiking.model.population import AnySystem
from .data import first_place, is_on_host
from .relaxed import RelaxedSystem


def check_system(system: object) -> None:
    """Refuse what is not a system, such as a model that was not exported."""
    if not isinstance(system, AnySystem):
        fix = advice_on(system, "Give a system of neurons.")
        raise TypeError(f"`system` is of the type {type(system).__name__}. {fix}")


def whole_counts(given: Any, name: str) -> Int[np.ndarray, "..."]:
    """Numbers of spikes as integers. **Raises:** `ValueError` for any other number."""
    values = np.asarray(given)
    is_wrong = ~((values >= 0) & (values < 2**30) & (values == np.round(values)))
    if place := first_place(is_wrong):
        raise ValueError(
            f"`{name}` is {values[is_wrong][0]} {place}. Give whole numbers from 0 to 2^30 - 1."
        )
    return values.astype(np.int64)


def relayed(model: RelaxedSystem, neurons: slice) -> int | None:
    """The most spikes that neurons with the rules of `relay` send; `None` for other rules, and for
    a model that is traced."""
    tables = model.low, model.high, model.consume, model.produce, model.is_slot
    if any(isinstance(x, Tracer) or x.ndim != 2 for x in tables):
        return None
    *numbers, is_slot = (np.asarray(x)[:, neurons] for x in tables)
    most = int(is_slot.sum(axis=0).max(initial=0))
    own = np.arange(1, most + 1)[:, None]
    is_relay = is_slot[:most].all() and all((x[:most] == own).all() for x in numbers)
    return most if most and is_relay else None


def check_sent(given: Any, name: str, most_of: Callable[[], int | None]) -> None:
    """Refuse NaN, and counts of inputs above `most_of()`, which no rule sends. Numbers that are
    traced or on other devices pass, for which the most is not computed."""
    if isinstance(given, Tracer) or not is_on_host(given):
        return
    most = most_of()
    values = np.asarray(given)
    if place := first_place(np.isnan(values)):
        raise ValueError(f"`{name}` is nan {place}. Give numbers of spikes.")
    is_lost = values > (np.inf if most is None else most + 0.5)
    if place := first_place(is_lost):
        count = values[is_lost][0]
        raise ValueError(
            f"`{name}` is {count:g} {place}, but the inputs have rules for at most "
            f"{plural(most or 0, 'spike')}, and would send none of them. Give smaller counts, or "
            f"make the model for larger ones: `relay({count:g})`, `levels` of `classifier`, or "
            "`max_input` of `from_nir`."
        )


def check_key(key: Any) -> None:
    """Refuse what is not a key for random numbers, such as a seed."""
    if not isinstance(key, jax.Array | np.ndarray):
        raise TypeError(f"`key` is {key!r:.60}. Give a key, such as `jax.random.key(0)`.")
