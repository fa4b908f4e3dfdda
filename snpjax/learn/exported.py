"""Pytrees of snpjax in functions that `jax.export` stores."""

import inspect
import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax import export

from snpjax_formats.strict_json import parse_json

from ..results import RESULTS
from ..spiking.model.rule import Rule


_PACKAGES = ("snpjax", "snpjax_formats")
_registered: set[type] = set()


class _Plain(eqx.Module):
    """A module without fields, of which equinox's mark of a field that is not set is taken."""


_MISSING = jax.tree.structure(_Plain()).node_data()[1][0]  # pyright: ignore[reportOptionalSubscript]


def register_for_export(*types: type) -> None:
    """Let states, results, solutions, models and layouts of snpjax be arguments and results of
    functions that `jax.export` stores.

    A function of arrays alone needs no registration. Call this before `Exported.serialize`, and
    before `jax.export.deserialize` in the process that loads the function. Storing needs
    flatbuffers, which the extra `export` installs.

    **Arguments:**

    - `types`: classes of your own to register as well: equinox modules and named tuples.

    **Raises:** `TypeError` for a class that is neither an equinox module nor a named tuple. Storing
    raises `TypeError` for a static field that has no text, such as a function.
    """

    import_module("snpjax.simulate")  # whose classes are among those that are found
    for cls in (eqx.Module, tuple):
        for found in _descendants(cls):
            if _is_own(found) and not inspect.isabstract(found):
                _register(found)
    if type(RESULTS.halted) not in _registered:
        try:
            _register(type(RESULTS.halted))  # a class of equinox, for all enumerations
        except ValueError:  # another library has registered it
            _registered.add(type(RESULTS.halted))
    for cls in types:
        if not issubclass(cls, eqx.Module) and not _is_named_tuple(cls):
            raise TypeError(
                f"{cls.__name__} is neither an equinox module nor a named tuple. Register it with "
                "`jax.export.register_pytree_node_serialization`."
            )
        _register(cls)


def _register(cls: type) -> None:
    if cls in _registered:
        return
    if _is_named_tuple(cls):
        export.register_namedtuple_serialization(cls, serialized_name=_name(cls))
    elif issubclass(cls, eqx.Module):
        export.register_pytree_node_serialization(
            cls,
            serialized_name=_name(cls),
            serialize_auxdata=lambda static: json.dumps(_encoded(static)).encode(),
            deserialize_auxdata=lambda data: _decoded(parse_json(data)),
        )
    else:
        return
    _registered.add(cls)


def _descendants(cls: type) -> Iterator[type]:
    for own in type.__subclasses__(cls):
        yield own
        yield from _descendants(own)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and "_fields" in vars(cls)


def _is_own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in _PACKAGES


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _encoded(value: Any) -> Any:
    """Static fields as JSON: what JSON does not have is an object with one key."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if value is _MISSING:
        return {"missing": True}
    if isinstance(value, tuple):
        kind = "" if type(value) is tuple else _name(type(value))
        return {"tuple": [kind, *map(_encoded, value)]}
    if isinstance(value, Rule):
        return {"rule": str(value)}
    if is_dataclass(value) and _is_own(type(value)):
        held = {field.name: _encoded(getattr(value, field.name)) for field in fields(value)}
        return {"fields": [_name(type(value)), held]}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, type):
        return {"class": _name(value)}
    raise TypeError(
        f"A static field has the value {value!r:.60}, which cannot be stored. Close over the "
        "object instead of passing it to the exported function."
    )


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((key, held),) = value.items()
    if key == "missing":
        return _MISSING
    if key == "tuple":
        kind, *rest = held
        values = map(_decoded, rest)
        return _class(kind)(*values) if kind else tuple(values)
    if key == "fields":
        name, own = held
        return _class(name)(**{field: _decoded(x) for field, x in own.items()})
    if key == "rule":
        return Rule.parse(held)
    return np.dtype(held) if key == "dtype" else _class(held)


def _class(name: str) -> Any:
    """A class by its name. Only those of snpjax, and registered ones: a file names them."""
    own = {_name(cls): cls for cls in _registered}
    if name in own:
        return own[name]
    module, _, path = name.partition(":")
    if module.partition(".")[0] not in _PACKAGES:
        raise ValueError(f"{name} is not registered. Pass the class to `register_for_export`.")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found
