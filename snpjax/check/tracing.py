"""Functions of the host, which JAX cannot trace."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..lowering import refuse_tracers


P = ParamSpec("P")
T = TypeVar("T")


def on_host(call: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make `snpjax.{call}` raise a `TypeError` that says what to use instead where it is traced."""

    def refusing(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            instead = "simulate(lowered.machine, state, choice, max_steps=...)"
            refuse_tracers(call, instead, (args, kwargs))
            return function(*args, **kwargs)

        return checked

    return refusing
