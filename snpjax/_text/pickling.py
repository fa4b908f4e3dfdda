"""How values are pickled that hold more than their arguments, so that process pools return them."""

from functools import cached_property
from typing import Any


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
