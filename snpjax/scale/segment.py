"""Segments: files of arrays that are written once, such as a part of a history.

A file begins with the length of a header, which is JSON: a list of what was appended, each with a
note and its arrays, by their names: dtype, shape, and place behind the header.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from snpjax_formats.strict_json import parse_json

from .saved_arrays import in_structure, named


T = TypeVar("T", bound=PyTree)

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"

_LENGTH = 8  # bytes of the number that comes first


class Appended(NamedTuple):
    """Arrays to be written once, and what is said of them."""

    note: Mapping[str, Json]
    arrays: Mapping[str, np.ndarray]


class Segment:
    """What was appended at a time.

    - `note`: what was said of it.
    """

    def __init__(self, path: Path, start: int, entry: Mapping[str, Any]):
        self.note: dict[str, Any] = entry["note"]
        self._path, self._start, self._places = path, start, entry["arrays"]

    def arrays(self) -> dict[str, np.ndarray]:
        """Its arrays, by their places in the tree that was appended."""
        return self._read(self._places)

    def load(self, like: T) -> T:
        """Its arrays, in the structure of `like`, which may have fewer."""
        return in_structure(like, self._read(named(like)))

    def _read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        found = {}
        with open(self._path, "rb") as file:
            for name in names:
                dtype, shape, place = self._places[name]
                x = np.empty(shape, jnp.dtype(dtype))
                file.seek(self._start + place)
                file.readinto(_as_bytes(x))
                found[name] = x
        return found


def segment_blocks(parts: Sequence[Appended]) -> Iterator[bytes | memoryview]:
    """The file of what was appended."""
    entries, at = [], 0
    for part in parts:
        places = {}
        for name, x in part.arrays.items():
            places[name] = x.dtype.name, x.shape, at
            at += x.nbytes
        entries.append({"note": part.note, "arrays": places})
    header = json.dumps(entries).encode()
    yield len(header).to_bytes(_LENGTH, "little") + header
    for part in parts:
        yield from (_as_bytes(np.ascontiguousarray(x)) for x in part.arrays.values() if x.size)


def segments_in(path: Path) -> list[Segment]:
    """What is in a file."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        entries = parse_json(file.read(length), path=path)
    return [Segment(path, _LENGTH + length, entry) for entry in entries]


def _as_bytes(x: np.ndarray) -> memoryview:
    return x.reshape(-1).view(np.uint8).data
