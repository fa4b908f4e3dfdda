"""`and`, `or` and `not` between conditions on many things at once, which Python cannot overload."""

from collections.abc import Callable
from typing import TypeVar

import jax.errors


A = TypeVar("A")
B = TypeVar("B")


def elementwise(condition: Callable[[A], B]) -> Callable[[A], B]:
    """The same condition. Where it asks an array of many truth values for one, as `and` does, it
    raises a `TypeError` that says what to write."""

    def asked(about: A) -> B:
        try:
            return condition(about)
        except (ValueError, jax.errors.TracerBoolConversionError) as error:
            is_traced = isinstance(error, jax.errors.TracerBoolConversionError)
            if not is_traced and "truth value of an array" not in str(error):
                raise
            raise TypeError(
                "A condition uses `and`, `or`, `not`, `if` or a chained comparison on arrays. "
                "Write `(a > 0) & (b > 0)`, `|`, `~`, with each comparison in parentheses."
            ) from error

    return asked
