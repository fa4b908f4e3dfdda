"""How values are pickled that hold more than their arguments, so that process pools return them."""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, ParamSpec, TypeVar


P = ParamSpec("P")
T = TypeVar("T", bound="PickledAsCall")


class PickledError:
    """Base of exceptions whose `__init__` takes something else than the message.

    Python rebuilds an exception by calling its class with the message; here it gets its message and
    its attributes back without a call of `__init__`.
    """

    args: tuple[Any, ...]

    def __reduce__(self):
        return _rebuild_error, (type(self), self.args, self.__dict__)


def _rebuild_error(kind: type[BaseException], arguments: tuple[Any, ...], attributes: Any) -> Any:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class PickledWithoutCache:
    """Base of values whose cached properties are recomputed rather than pickled: they may hold
    functions, and more bytes than the rest."""

    def __getstate__(self) -> dict[str, Any]:
        kind = type(self)
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }


class PickledAsCall:
    """Base of values with functions that cannot be pickled: what `pickled_as_call` returns is
    rebuilt by the same call. A copy that `dataclasses.replace` changes is pickled as usual."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        call = vars(self).get("_call")
        return object.__reduce_ex__(self, protocol) if call is None else (_rebuild_by_call, call)


def pickled_as_call(build: Callable[P, T]) -> Callable[P, T]:
    """Let the results of a module's function be pickled as the function and its arguments."""

    @wraps(build)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        value = build(*args, **kwargs)
        vars(value)["_call"] = call, args, kwargs
        return value

    return call


def _rebuild_by_call(build: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return build(*args, **kwargs)
