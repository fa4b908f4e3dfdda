"""Digests of what a call is given: models, options and arrays."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np


_SCALARS = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis))


def digest(thing: object, *, keys: bool = True) -> str:
    """32 hexadecimal digits that tell things apart, the same in every process.

    Objects are compared by their type and their fields, containers by their elements, functions by
    their own code, their defaults and the variables that they enclose, but not by the global
    functions that they call.

    **Arguments:**

    - `keys`: whether two PRNG keys differ; otherwise all of one shape are alike.
    """
    found = hashlib.sha256()
    for part in _parts(thing, keys, ()):
        # With its length, so that neighbours cannot be confused.
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()[:32]


def is_key(x: object) -> bool:
    """Whether it is an array of typed PRNG keys."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _parts(x: Any, keys: bool, above: tuple[int, ...]) -> Iterator[bytes | memoryview]:
    if isinstance(x, _SCALARS):
        yield f"{type(x).__name__} {x!r}".encode(errors="surrogatepass")
        return
    if isinstance(x, jax.Array | np.ndarray | np.generic):
        yield from _of_array(x, keys)
        return
    if id(x) in above:
        yield f"as {len(above) - above.index(id(x))} above".encode()
        return
    above = (*above, id(x))
    if isinstance(x, type | ModuleType | BuiltinFunctionType | np.dtype):
        yield f"{x!r}".encode()
    elif isinstance(x, CodeType):
        yield from _parts((x.co_code, x.co_names, x.co_consts), keys, above)
    elif isinstance(x, FunctionType):
        yield f"function {x.__module__}.{x.__qualname__}".encode()
        cells = tuple(cell.cell_contents for cell in x.__closure__ or ())
        yield from _parts((x.__code__, x.__defaults__, x.__kwdefaults__, cells), keys, above)
    elif isinstance(x, MethodType):
        yield from _parts((x.__func__, x.__self__), keys, above)
    elif isinstance(x, Enum):
        yield f"{type(x).__qualname__}.{x.name}".encode()
    elif isinstance(x, Mapping):
        yield f"mapping of {len(x)}".encode()
        # In their order, which may matter: neurons are listed by name.
        for name, value in x.items():
            yield from _parts(name, keys, above)
            yield from _parts(value, keys, above)
    elif isinstance(x, Set):
        yield f"set of {len(x)}".encode()
        yield from (one.encode() for one in sorted(digest(one, keys=keys) for one in x))
    elif is_dataclass(x):
        yield _name_of(x)
        for field in fields(x):
            if field.compare:
                yield field.name.encode()
                yield from _parts(getattr(x, field.name, None), keys, above)
    elif isinstance(x, Sequence):
        yield f"{type(x).__name__} of {len(x)}".encode()
        for one in x:
            yield from _parts(one, keys, above)
    else:
        yield from _of_object(x, keys, above)


def _name_of(x: object) -> bytes:
    return f"{type(x).__module__}.{type(x).__qualname__}".encode()


def _of_array(x: Any, keys: bool) -> Iterator[bytes | memoryview]:
    if is_key(x):
        yield f"{x.dtype}{x.shape}".encode()
        if not keys:
            return
        x = jr.key_data(x)
    yield f"{x.dtype}{x.shape}".encode()
    # Of what is split over processes, each has its own part.
    if not isinstance(x, jax.Array) or x.is_fully_addressable or x.is_fully_replicated:
        host = np.asarray(x)
        if host.dtype.hasobject:
            yield from _parts(host.tolist(), keys, ())
        else:
            yield np.ascontiguousarray(host).reshape(-1).view(np.uint8).data


def _of_object(x: object, keys: bool, above: tuple[int, ...]) -> Iterator[bytes | memoryview]:
    """An object of any other class: its attributes, or what it would be pickled as."""
    kind = type(x)
    yield _name_of(x)
    if kind.__reduce__ is object.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__:
        own = getattr(x, "__dict__", None)
        if own is not None and not isinstance(x, type):
            for name in sorted(own):
                if not isinstance(getattr(kind, name, None), cached_property):
                    yield name.encode()
                    yield from _parts(own[name], keys, above)
            return
    try:
        _, *parts = x.__reduce_ex__(2)  # pyright: ignore
    except TypeError:  # a tree structure, a compiled function, ...
        # Addresses differ.
        yield re.sub(r" at 0x[0-9a-f]+", "", repr(x)).encode()
        return
    for part in parts:
        yield from _parts(list(part) if isinstance(part, Iterator) else part, keys, above)
