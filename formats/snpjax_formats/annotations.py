"""Comparison of arguments with the annotations of a signature, on the way to an error."""

import inspect
import numbers
import operator
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import islice, zip_longest
from typing import Any, Literal, TypeVar, Union

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np

from .articles import with_article
from .free_memory import NotEnoughMemory


#: Parts of the messages of JAX about arrays that are too large.
_OF_MEMORY = ("RESOURCE_EXHAUSTED", "size exceeding 2 ** 64")
#: At most this many elements of a collection are compared.
_MAX_ELEMENTS = 100
_MAX_SHOWN = 60
#: Smaller numbers do not exhaust the memory.
_LARGE = 2**16
#: Modules of optional packages whose classes stand in signatures.
_OTHERS = ("matplotlib.axes", "matplotlib.figure", "networkx")


def explanation(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
    error: BaseException,
) -> Exception | None:
    """Return an error of one sentence about the first argument that does not have its annotated
    type, or about the largest number where numbers are too large.

    **Arguments:**

    - `function`, `arguments`, `keywords`: the call. A `__check_init__` has no arguments; its
      object's fields are compared with the parameters of the constructor.
    - `error`: what it ended in.

    **Returns:** the error, or `None` if there is nothing to say about any argument.
    """
    name = re.sub(r"\.__(init|check_init|new)__$", "", function.__qualname__)
    constructor = function
    if function.__name__ == "__check_init__":
        constructor = type(arguments[0]).__init__
        values = {**vars(arguments[0])}
    else:
        try:
            values = dict(inspect.signature(function).bind(*arguments, **keywords).arguments)
        except TypeError:
            return None
    scope = getattr(inspect.unwrap(constructor), "__globals__", {})
    parameters = inspect.signature(constructor).parameters.values()
    for is_strict in (False, True):
        for parameter in parameters:
            if parameter.name not in values or parameter.kind is parameter.VAR_KEYWORD:
                continue
            value, annotation = values[parameter.name], parameter.annotation
            if parameter.kind is parameter.VAR_POSITIONAL:
                annotation = tuple[_resolved(annotation, scope), ...]
            if value is not parameter.default and not fits(value, annotation, scope, is_strict):
                expected = describe(parameter.annotation)
                return TypeError(f"{name}: `{parameter.name}` is {_shown(value)}. Pass {expected}.")
    is_memory = isinstance(error, MemoryError) or any(x in f"{error}" for x in _OF_MEMORY)
    sizes = {
        x: y
        for x, y in values.items()
        if isinstance(y, int | np.integer) and not isinstance(y, bool) and abs(int(y)) >= _LARGE
    }
    largest = max(sizes, key=lambda x: abs(int(sizes[x])), default=None)
    is_beyond = largest is not None and abs(int(sizes[largest])) >= 2**63  # for NumPy and JAX
    if largest is None or not (is_memory or is_beyond or isinstance(error, OverflowError)):
        return None
    text = f"{name}: `{largest}` is {sizes[largest]}"
    if is_memory:
        return NotEnoughMemory(f"{text}, for which there is not enough memory.")
    return ValueError(f"{text}. Pass a smaller number.")


def fits(value: object, annotation: Any, scope: Mapping[str, Any], is_strict: bool = False) -> bool:
    """Return whether a value may be meant by an annotation; what cannot be decided fits.

    **Arguments:**

    - `scope`: the names that a quoted annotation may use.
    - `is_strict`: numbers and lists of numbers are no arrays.
    """
    annotation = _resolved(annotation, scope)
    match annotation:
        case inspect.Parameter.empty | typing.Any:
            return True
        case None:
            return value is None
        case TypeVar(__bound__=bound):
            return bound is None or fits(value, bound, scope, is_strict)
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, part, scope, is_strict) for part in parts)
    if origin is Literal:
        return isinstance(value, str | int) and value in parts
    if origin is type:
        return isinstance(value, type) and all(
            issubclass(value, part) for part in parts if isinstance(part, type)
        )
    if origin is Callable and callable(value):
        return _takes(value, *parts)
    if isinstance(origin, type):
        return _fits_class(value, origin, is_strict) and all(
            fits(x, part, scope, is_strict) for x, part in _elements(value, origin, parts)
        )
    if isinstance(annotation, type(jaxtyping.PyTree)):
        leaf = getattr(annotation, "leaftype", Any)
        return all(fits(x, leaf, scope, is_strict) for x in jax.tree.leaves(value))
    return not isinstance(annotation, type) or _fits_class(value, annotation, is_strict)


def _takes(function: Callable[..., Any], parameters: Any = ..., result: Any = Any) -> bool:
    """Return whether a function takes that many arguments; a class does not return None."""
    if isinstance(function, type) and result in (None, type(None)):
        return False
    if isinstance(parameters, list):
        try:
            inspect.signature(function).bind(*parameters)
        except TypeError:
            return False
        except ValueError:  # a function of C without a signature
            pass
    return True


def _fits_class(value: object, kind: type, is_strict: bool) -> bool:
    if issubclass(kind, jaxtyping.AbstractArray):
        return _fits_array(value, kind, is_strict)
    if kind is int:
        return _is_whole(value)
    if kind is float:
        return isinstance(value, numbers.Real | np.number) or _is_scalar(value)
    if kind is bool:
        return isinstance(value, bool | np.bool_) or _is_scalar(value)
    if kind in (jax.Array, np.ndarray):
        return _numbers_of(value, is_strict) is not None
    if typing.is_typeddict(kind):
        return isinstance(value, Mapping)
    if getattr(kind, "_is_protocol", False):
        return _members(kind) <= {*dir(value)}
    return isinstance(value, kind)


def _members(protocol: type) -> set[str]:
    """The attributes that a protocol asks for."""
    bases = [x for x in protocol.__mro__ if getattr(x, "_is_protocol", False)]
    names = {name for x in bases for name in {**vars(x), **vars(x).get("__annotations__", {})}}
    return {name for name in names if not name.startswith("_")}


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        return False
    return True


def _is_scalar(value: object) -> bool:
    array = _numbers_of(value, True)
    return array is not None and array.ndim == 0 and not _is_key(array)


def _is_key(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jax.dtypes.prng_key))


def _numbers_of(value: object, is_strict: bool) -> Any:
    """An array of numbers with the shape and type of a value, or `None`."""
    array = value
    if not isinstance(value, jax.Array | np.ndarray | np.generic):
        try:
            array = None if is_strict else np.asarray(value)
        except (TypeError, ValueError):
            return None
    is_other = isinstance(array, np.ndarray | np.generic) and array.dtype.kind in "OSUMm"
    return None if is_other else array


def _fits_array(value: object, kind: Any, is_strict: bool) -> bool:
    """Whether a value converts to an array of this kind of numbers with this number of axes."""
    array = _numbers_of(value, is_strict)
    if array is None:
        return False
    num_axes = len(kind.dims)
    has_axes = array.ndim == num_axes or (
        kind.index_variadic is not None and array.ndim >= num_axes - 1
    )
    name = kind.dtype.__name__
    if name == "Key" or _is_key(array):
        return has_axes and (name == "Key") == _is_key(array)
    is_whole = array.size == 0 or array.dtype.kind not in "fc"
    return has_axes and (is_whole or not name.startswith(("Int", "UInt", "Bool")))


def _elements(value: Any, origin: type, parts: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Elements of a collection, each with the annotation of its place."""
    is_array = isinstance(value, jax.Array | np.ndarray) and value.ndim > 0
    collections = tuple | list | dict | set | frozenset | range | str | bytes
    if not is_array and not isinstance(value, collections):
        return
    if isinstance(value, dict) and issubclass(origin, Mapping):
        for item in islice(value.items(), _MAX_ELEMENTS):
            yield from zip(item, parts, strict=True)
    elif origin is tuple and parts[-1:] != (...,):
        yield from zip_longest(value, parts)  # a missing element fits nothing
    elif issubclass(origin, Iterable) and parts:
        yield from ((x, parts[0]) for x in islice(value, _MAX_ELEMENTS))


def _resolved(annotation: Any, scope: Mapping[str, Any]) -> Any:
    """The object that a quoted annotation names; `Any` where it cannot be found."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {}, _Names(scope))  # an annotation in our own source, not input
    except (AttributeError, NameError, TypeError):
        return Any


class _Names(dict[str, Any]):
    """The names of a module, and those of all modules of ours, since some are imported for type
    checkers only."""

    def __missing__(self, name: str) -> Any:
        ours = [x for x in sys.modules if x.partition(".")[0] in ("snpjax", "snpjax_formats")]
        for module in [*ours, *_OTHERS]:
            with suppress(ImportError):
                members = vars(import_module(module))
                if name in members:
                    return members[name]
        raise KeyError(name)


def _shown(value: object) -> str:
    kind = type(value).__name__
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, jax.Array | np.ndarray):
        return f"an array of the type {value.dtype} and the shape {value.shape}"
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}... ({kind})"
    return f"of the type {kind}"


def describe(annotation: Any) -> str:
    """Return the words for an annotation: its source without the modules of its classes."""
    alternatives = [*_alternatives(annotation)]
    *first, last = dict.fromkeys(alternatives)
    return f"{', '.join(first)} or {last}" if first else last


def _alternatives(annotation: Any) -> Iterator[str]:
    if typing.get_origin(annotation) in (Union, types.UnionType):
        for part in typing.get_args(annotation):
            yield from _alternatives(part)
        return
    if annotation is type(None) or annotation is None:
        yield "None"
    elif isinstance(annotation, type) and issubclass(annotation, jaxtyping.AbstractArray):
        kind, shape = annotation.dtype.__name__, annotation.dim_str.strip()
        yield f"an array {kind}[{shape}]" if shape else f"a scalar {kind}"
    elif isinstance(annotation, type) and typing.get_origin(annotation) is None:
        yield with_article(annotation.__name__)
    else:
        text = annotation if isinstance(annotation, str) else repr(annotation)
        text = re.sub(r"<class '([^']*)'>|ForwardRef\('([^']*)'\)", r"\1\2", text)
        text = re.sub(r"\b(?:\w+\.)+(?=\w)", "", text).replace("~", "")
        yield f"`{text}`"
