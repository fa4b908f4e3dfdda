"""What a misspelt keyword argument may have meant.

Python itself suggests it from 3.13 on; for older versions a call that fails so is wrapped.
"""

import re
import sys
from collections.abc import Callable
from enum import Enum
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any


_UNKNOWN = re.compile(r"(\S+)\(\) got an unexpected keyword argument '(\w+)'")


def suggest_keywords(package: str) -> None:
    """Let the public functions and classes of a package suggest keywords, see `suggesting`."""
    this = sys.modules[package]
    for name, value in list(vars(this).items()):
        if not name.startswith("_") and isinstance(value, FunctionType | type):
            if value.__module__.startswith(f"{package}."):
                suggesting(this, name)


def suggesting(package: ModuleType, name: str) -> Any:
    """The public object of that name; a call with an unknown keyword suggests one of its own.

    A class keeps its identity. A function is replaced, also in the module that defines it, where
    pickle finds it; signature, documentation and types stay those of the original. One that takes
    any keyword is left alone.
    """
    value = getattr(package, name)
    if sys.version_info >= (3, 13):
        return value
    if isinstance(value, type):
        if not issubclass(value, BaseException | Enum):
            _replace(value, "__init__", vars(value).get("__init__"))
        return value
    if isinstance(value, FunctionType):
        home = sys.modules[value.__module__]
        _replace(package, name, value)
        if vars(home).get(name) is value:
            setattr(home, name, getattr(package, name))
    return getattr(package, name)


def _replace(holder: object, name: str, function: object) -> None:
    if not isinstance(function, FunctionType) or function.__code__ is _CALL:
        return
    from inspect import CO_VARKEYWORDS, unwrap  # not needed by `import snpjax`

    original = unwrap(function)
    if isinstance(original, FunctionType) and not original.__code__.co_flags & CO_VARKEYWORDS:
        setattr(holder, name, _wrapped(function))


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except TypeError as error:
            hint = _suggestion(function, f"{error}")
            if hint:
                error.args = (f"{error}{hint}",)
            raise

    return call


_CALL = _wrapped(suggesting).__code__


def _suggestion(function: Callable[..., Any], message: str) -> str:
    """What to add to the message of a call of this function with an unknown keyword."""
    from difflib import get_close_matches  # only on the way to an error
    from inspect import Parameter, signature

    found = _UNKNOWN.fullmatch(message)
    if found is None or found[1] != function.__qualname__:
        return ""
    parameters = signature(function).parameters.values()
    known = [x.name for x in parameters if x.kind is not Parameter.POSITIONAL_ONLY]
    known = [name for name in known if name != "self"]
    near = get_close_matches(found[2], known, 1) if found[2] not in known else ()
    return f". Did you mean '{near[0]}'?" if near else ""
