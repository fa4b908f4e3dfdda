"""Pytrees of snpjax in functions that `jax.export` stores."""

import inspect
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.tree_util as jtu
import numpy as np
from jax import export

from snpjax_formats.articles import with_article
from snpjax_formats.strict_json import parse_json

from ..results import RESULTS
from ..spiking.model.compatibility import Compatibility
from .nir.wiring import NirWiring, Operator, Unit
from .population import NeuronRange
from .synapses.windows import Windows


_PACKAGES = ("snpjax", "snpjax_formats")
_LEAF = jax.tree.structure(0)
_DTYPES = {
    name: jnp.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
}
_registered: set[type] = set()


class _Parts(NamedTuple):
    """What a stored module says of itself: the fields that are children, and the static ones."""

    children: tuple[str, ...]
    static: dict[str, Any]


def register_for_export(*types: type) -> None:
    """Let states, results, solutions, models and layouts of snpjax be arguments and results of
    functions that `jax.export` stores.

    A function of arrays alone needs no registration. Call this before `Exported.serialize`, and
    before `jax.export.deserialize` in the process that loads the function. Storing needs
    flatbuffers, which the extra `export` installs.

    A stored function names classes. Only registered ones are looked up, and no code of a file runs
    while it is loaded; calling the function runs its program in XLA.

    **Arguments:**

    - `types`: classes of your own to register as well: equinox modules and named tuples.

    **Raises:** `TypeError` for a class that is neither an equinox module nor a named tuple. Storing
    raises `TypeError` for a static field that has no text, such as a function.
    """

    import_module("snpjax.simulate")  # whose classes are among those that are found
    for cls in (eqx.Module, tuple):
        for subclass in _descendants(cls):
            if _is_own(subclass) and not inspect.isabstract(subclass):
                _register(subclass)
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
        if _is_named_tuple(cls):
            _VALUES[_name(cls)] = cls


def _register(cls: type) -> None:
    if cls in _registered:
        return
    if _is_named_tuple(cls):
        export.register_namedtuple_serialization(cls, serialized_name=_name(cls))
    elif issubclass(cls, eqx.Module):
        export.register_pytree_node_serialization(
            cls,
            serialized_name=_name(cls),
            serialize_auxdata=lambda aux: json.dumps(_text_of(cls, aux)).encode(),
            deserialize_auxdata=lambda data: _parts_of(cls, parse_json(data)),
            from_children=lambda aux_data, children: _build(cls, aux_data, children),
        )
    else:
        return
    _registered.add(cls)


def _descendants(cls: type) -> Iterator[type]:
    for subclass in type.__subclasses__(cls):
        yield subclass
        yield from _descendants(subclass)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and "_fields" in vars(cls)


def _is_own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in _PACKAGES


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


#: The classes that values of static fields have, by name. The values of a file are checked against
#: the fields; the constructor of `Compatibility` checks them further, the others are named tuples.
_VALUES: dict[str, type] = {
    _name(cls): cls for cls in (Compatibility, NeuronRange, NirWiring, Operator, Unit, Windows)
}
#: The classes that are themselves values of static fields.
_CLASSES: dict[str, type] = {_name(RESULTS): RESULTS}


def _field_names(cls: type, *, is_static: bool) -> list[str]:
    return [field.name for field in fields(cls) if bool(field.metadata.get("static")) is is_static]


def _text_of(cls: type, aux: Any) -> Any:
    """The fields of a module as JSON, from what JAX stores of it. How equinox lays that out is its
    own business: a module is rebuilt, with placeholders for children."""
    names = _field_names(cls, is_static=False)
    node = jtu.PyTreeDef.from_node_data_and_children(
        jtu.default_registry, (cls, aux), [_LEAF] * len(names)
    )
    attributes = vars(jtu.tree_unflatten(node, [0] * len(names)))
    static = _field_names(cls, is_static=True)
    others = attributes.keys() - {*names, *static}
    if others:
        raise TypeError(
            f"{with_article(cls.__name__, 'A')} that wraps a function has no text ({min(others)}). "
            "Close over it instead of passing it to the exported function."
        )
    return {
        "children": [name for name in names if name in attributes],
        "static": {name: _encoded(attributes[name]) for name in static if name in attributes},
    }


def _parts_of(cls: type, stored: Any) -> _Parts:
    if not isinstance(stored, dict) or stored.keys() != {"children", "static"}:
        raise _malformed(cls, "its fields are not listed")
    children, static = stored["children"], stored["static"]
    names = _field_names(cls, is_static=False)
    if not isinstance(children, list) or children != [x for x in names if x in children]:
        raise _malformed(cls, f"its children are not among {names}")
    if not isinstance(static, dict) or not static.keys() <= {*_field_names(cls, is_static=True)}:
        raise _malformed(cls, "it has other static fields")
    return _Parts(tuple(children), {name: _decoded(x) for name, x in static.items()})


def _build(cls: type, parts: Any, children: Sequence[Any]) -> Any:
    """A module whose structure JAX takes. As when JAX rebuilds one, `__init__` does not run."""
    if len(children) != len(parts.children):
        raise _malformed(cls, f"it has {len(children)} children")
    module = object.__new__(cls)
    for name, value in (*zip(parts.children, children, strict=True), *parts.static.items()):
        object.__setattr__(module, name, value)
    return module


def _malformed(cls: type, problem: str) -> ValueError:
    return ValueError(
        f"The stored function has {with_article(cls.__name__)} of another form: {problem}. Store "
        "it with this version of snpjax."
    )


def _encoded(value: Any) -> Any:
    """Static fields as JSON: what JSON does not have is an object with one key."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": f"{value}"}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    name = _name(type(value))
    if type(value) is tuple:
        return {"tuple": [_encoded(x) for x in value]}
    if name in _VALUES:
        names = _value_fields(_VALUES[name])
        return {"value": [name, {field: _encoded(getattr(value, field)) for field in names}]}
    if isinstance(value, np.dtype) and value.name in _DTYPES:
        return {"dtype": value.name}
    if isinstance(value, type) and _name(value) in _CLASSES:
        return {"class": _name(value)}
    raise TypeError(
        f"A static field has the value {value!r:.60}, which cannot be stored. Close over the "
        "object instead of passing it to the exported function."
    )


def _value_fields(cls: type) -> tuple[str, ...]:
    if issubclass(cls, tuple):
        return cls._fields  # pyright: ignore[reportAttributeAccessIssue]
    return tuple(field.name for field in fields(cls))


def _decoded(value: Any) -> Any:
    """The value of a static field in a file, which may be forged."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case {"tuple": [*items]} if len(value) == 1:
            return tuple(_decoded(x) for x in items)
        case {"float": "nan" | "inf" | "-inf" as number} if len(value) == 1:
            return float(number)
        case {"value": [str(name), dict(items)]} if len(value) == 1 and name in _VALUES:
            cls = _VALUES[name]
            if items.keys() == {*_value_fields(cls)}:
                return cls(**{field: _decoded(x) for field, x in items.items()})
        case {"dtype": str(name)} if len(value) == 1 and name in _DTYPES:
            return _DTYPES[name]
        case {"class": str(name)} if len(value) == 1 and name in _CLASSES:
            return _CLASSES[name]
    raise ValueError(
        f"The stored function has the static field {value!r:.100}, which is of no registered "
        "class. Store it with this version of snpjax, and load files of people whom you trust."
    )
