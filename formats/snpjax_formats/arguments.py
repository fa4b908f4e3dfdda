"""Errors of public calls name the argument that caused them.

A call that fails inside the library is examined afterwards, so successful calls cost nothing and
nothing that works is refused: arguments are compared with the annotations of the signature only
once an exception arrives, and a misspelt keyword is compared with those that exist.
"""

import dis
import operator
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import wraps
from traceback import walk_tb
from types import FrameType, FunctionType, ModuleType
from typing import Any


_UNKNOWN = re.compile(r"(\S+)\(\) got an unexpected keyword argument '(\w+)'")
#: What wrong arguments raise deep inside, from Python, NumPy or JAX.
_INTERNAL = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
_RAISE = dis.opmap["RAISE_VARARGS"]
_PACKAGES = ("snpjax", "snpjax_formats")
#: What the library itself calls; all other code belongs to the user.
_LIBRARIES = {
    *_PACKAGES,
    *sys.stdlib_module_names,
    *("jax", "jaxlib", "jaxtyping", "equinox", "numpy", "scipy", "lark"),
    *("hypothesis", "matplotlib", "networkx", "nir", "optax", "orbax", "sklearn", "yaml", "z3"),
}


def explain_arguments(package: str) -> None:
    """Let the public functions and classes of a package name wrong arguments, see `explain`."""
    this = sys.modules[package]
    for name, value in list(vars(this).items()):
        if not name.startswith("_") and isinstance(value, FunctionType | type):
            if f"{value.__module__}.".startswith(f"{package}."):
                explain(this, name)


def explain(package: ModuleType, name: str) -> Any:
    """Return the public object of that name, whose errors name the argument that caused them.

    A class keeps its identity. A function is replaced, also in the module that defines it, where
    pickle finds it; signature, documentation and types stay those of the original. A protocol stays
    as it is: a constructor of its own would hide those of the other bases of a class.
    """
    value = getattr(package, name)
    if getattr(value, "_is_protocol", False):
        return value
    if isinstance(value, type):
        if not issubclass(value, BaseException | Enum):
            for method in ("__init__", "__check_init__"):
                _replace(value, method, vars(value).get(method))
            constructor = vars(value).get("__new__")
            if isinstance(constructor, staticmethod) and "_fields" not in dir(value):
                _replace(value, "__new__", constructor.__func__, staticmethod)
        return value
    if isinstance(value, FunctionType):
        home = sys.modules[value.__module__]
        _replace(package, name, value)
        if vars(home).get(name) is value:
            setattr(home, name, getattr(package, name))
    return getattr(package, name)


def as_integer(name: str, number: object) -> int:
    """Return an argument as an integer.

    **Raises:** `TypeError` for what is not an integer, with the name of the argument.
    """
    try:
        return operator.index(number)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise TypeError(f"`{name}` is {number!r:.60}. Give an integer.") from None


def _replace(
    holder: object, name: str, function: object, kind: Callable[..., Any] = lambda x: x
) -> None:
    if isinstance(function, FunctionType) and function.__code__ is not _CALL:
        setattr(holder, name, kind(_wrapped(function)))


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except _INTERNAL as error:
            if _is_of_user(error) or _is_intended(error):
                raise
            message = _suggestion(function, f"{error}")
            if message:
                error.args = (f"{error}{message}",)
                raise
            from .annotations import explanation  # only on the way to an error

            clear = None
            with suppress(Exception):  # an odd object must not hide the error
                clear = explanation(function, arguments, keywords, error)
            if clear is not None:
                raise clear from error
            raise

    return call


_CALL = _wrapped(explain).__code__


def _is_of_user(error: BaseException) -> bool:
    """Return whether the error passed through code of the user, such as a callback or a layer."""
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    return any(_package_of(frame) not in _LIBRARIES for frame in frames)


def _package_of(frame: FrameType) -> str:
    """The package of a frame; code that is compiled without a module counts as `builtins`."""
    return frame.f_globals.get("__name__", "builtins").partition(".")[0]


def _is_intended(error: BaseException) -> bool:
    """Whether a `raise` statement of ours is where the error comes from, other than the one here:
    if a public function calls another with an argument of its own, it names that."""
    step = error.__traceback__
    if step is None:
        return False
    while step.tb_next is not None:
        step = step.tb_next
    code = step.tb_frame.f_code
    if isinstance(error, AssertionError):
        # An `assert` does not load the name; it and reports of bugs may be due to wrong arguments.
        if "AssertionError" not in code.co_names or "please report" in f"{error}":
            return False
    is_ours = _package_of(step.tb_frame) in _PACKAGES and code is not _CALL
    return is_ours and code.co_code[step.tb_lasti] == _RAISE


def _suggestion(function: Callable[..., Any], message: str) -> str:
    """What to add to the message of a call of this function with an unknown keyword.

    Python itself suggests it from 3.13 on.
    """
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
