"""The data of `fit`, checked on the host before anything is compiled."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array, Bool, Shaped

from .._text.counts import plural
from ..memory import Footprint, check_fits


#: An array with a row for each sample.
Column: TypeAlias = Shaped[Array, "samples ..."] | Shaped[np.ndarray, "samples ..."]


def columns_of(given: Any, name: str) -> tuple[Column, ...]:
    """The columns of data as arrays, which hold numbers and neither NaN nor infinity.

    **Arguments:**

    - `given`: arrays, or lists of numbers, with a row for each sample.
    - `name`: of the argument.

    **Raises:** `TypeError` for what is not a sequence of columns of numbers; `ValueError` for
    columns of different lengths, and for numbers that are not finite, with the first place.
    """
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        is_array = isinstance(given, np.ndarray | jax.Array)
        what = f"an array of the shape {given.shape}" if is_array else repr(given)
        raise TypeError(
            f"`{name}` is {what:.80}. Give a tuple of columns, such as `(counts, labels)`."
        )
    columns = tuple(x if isinstance(x, jax.Array) else np.asarray(x) for x in given)
    for number, column in enumerate(columns):
        own = f"{name}[{number}]"
        if not column.ndim:
            raise TypeError(f"`{own}` is a single number. Give a column with a row per sample.")
        _check_numbers(column, own)
        _check_finite(column, own)
    rows = [len(column) for column in columns]
    if len(set(rows)) > 1:
        raise ValueError(
            f"The columns of `{name}` have {', '.join(map(str, rows))} rows. Give columns of one "
            "length, with a row for each sample."
        )
    return columns


def first_place(is_wrong: Bool[np.ndarray, "..."]) -> str | None:
    """The first place of an array where something is wrong, as the end of a sentence."""
    if not is_wrong.any():
        return None
    place = np.argwhere(is_wrong)[0].tolist()
    if len(place) > 2:
        return f"at {place}"
    text = "in " + ", ".join(
        f"{axis} {i}" for axis, i in zip(("row", "column"), place, strict=False)
    )
    return f"{text}, counted from 0"


def check_validation(held_out: Sequence[Column], data: Sequence[Column]) -> None:
    """Refuse validation data whose columns are not those of the data."""
    shapes = [[column.shape[1:] for column in columns] for columns in (held_out, data)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"The columns of `validation` have rows of the shapes {shapes[0]}, and those of `data` "
            f"{shapes[1]}. Give the same columns."
        )
    if not len(held_out[0]):
        raise ValueError("`validation` has no rows. Give one or more, or leave it out.")


def check_memory(
    data: Sequence[Column], held_out: Sequence[Column], epochs: int, batch_size: int
) -> None:
    """Refuse data that do not fit on the device, and more losses than fit on the host."""
    rows = len(data[0]) + (len(held_out[0]) if held_out else 0)
    losses = np.dtype(np.float32).itemsize * epochs * (len(data[0]) // batch_size)
    new = sum(x.nbytes for x in (*data, *held_out) if not isinstance(x, jax.Array))
    what = f"{rows:,} rows of data and the losses of {epochs:,} epochs need"
    check_fits(lambda _: Footprint(new, losses), 1, what, "", "give fewer rows", "fewer `epochs`")


def on_devices(given: Column) -> Shaped[Array, "samples ..."]:
    """A column of data on the devices that have it. Axes of a mesh are not part of its type, which
    batches of random rows could not have."""
    column = jnp.asarray(given)
    if not isinstance(column.sharding, NamedSharding):
        return column
    mesh = column.sharding.mesh
    assert isinstance(mesh, Mesh)
    mesh = Mesh(mesh.devices, mesh.axis_names)
    return jax.device_put(column, NamedSharding(mesh, column.sharding.spec))


def is_on_host(array: Any) -> bool:
    """Whether this process has all of an array."""
    return not isinstance(array, jax.Array) or array.is_fully_addressable


def _check_numbers(column: Column, name: str) -> None:
    kinds = np.number, np.bool_, jax.dtypes.prng_key
    if not any(jnp.issubdtype(column.dtype, kind) for kind in kinds):
        raise TypeError(
            f"`{name}` holds entries of the type {column.dtype}. Give numbers; of names of classes "
            "`numpy.unique(names, return_inverse=True)[1]` makes some."
        )


def _check_finite(column: Column, name: str) -> None:
    if not jnp.issubdtype(column.dtype, np.inexact):
        return
    if isinstance(column, jax.Array):
        if bool(jnp.isfinite(column).all()):
            return
        if not is_on_host(column):
            raise ValueError(f"`{name}` holds NaN or infinity. Give finite numbers.")
    values = np.asarray(column)
    is_wrong = ~np.isfinite(values)
    if place := first_place(is_wrong):
        value, places = values[is_wrong][0], plural(int(is_wrong.sum()), "place")
        raise ValueError(
            f"`{name}` is {value} {place} (NaN or infinite in {places}). Give finite numbers, or "
            "leave these samples out."
        )
