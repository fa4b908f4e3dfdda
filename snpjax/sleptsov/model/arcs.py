"""Arcs of one kind between places and transitions, as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Int


@runtime_checkable
class SupportsArray(Protocol):
    """An array of NumPy, JAX or pandas."""

    def __array__(self) -> np.ndarray: ...


#: Integers, or pairs of them, in any iterable or array.
Integers: TypeAlias = Iterable[int] | Iterable[tuple[int, int]] | SupportsArray


@dataclass(frozen=True, eq=False)
class CompressedArcs:
    """Arcs by the node at one end: those of node i are `others[starts[i] : starts[i + 1]]`, with
    their `weights`."""

    starts: Int[np.ndarray, " nodes_and_one"]
    others: Int[np.ndarray, " arcs"]
    weights: Int[np.ndarray, " arcs"]

    @classmethod
    def of(
        cls, nodes: np.ndarray, others: np.ndarray, weights: np.ndarray, num_nodes: int
    ) -> "CompressedArcs":
        """Sort a list of arcs by the node at one end.

        **Arguments:**

        - `nodes`: `(arcs,)` the node at this end.
        - `others`: `(arcs,)` the node at the other end.
        - `weights`: `(arcs,)` multiplicities.
        - `num_nodes`: the number of nodes at this end.
        """
        order = np.argsort(nodes, kind="stable")
        starts = np.zeros(num_nodes + 1, np.int64)
        np.cumsum(np.bincount(nodes, minlength=num_nodes), out=starts[1:])
        return cls(starts, others[order], weights[order])

    @property
    def degrees(self) -> Int[np.ndarray, " nodes"]:
        """How many arcs each node has."""
        return np.diff(self.starts)

    def slots(self) -> Int[np.ndarray, " arcs"]:
        """The place of each arc among those of its node, from 0."""
        return np.arange(len(self.others)) - np.repeat(self.starts[:-1], self.degrees)

    def nodes(self) -> Int[np.ndarray, " arcs"]:
        """The node of each arc."""
        return np.repeat(np.arange(len(self.starts) - 1), self.degrees)


@dataclass(frozen=True, eq=False)
class Arcs:
    """A set of arcs of one kind, by 0-based numbers of places and transitions.

    They are kept in order of transitions, then places, so that equal sets are equal. `weight` is
    the multiplicity of a regular arc, the threshold of an inhibitor or test arc.
    """

    place: Int[np.ndarray, " arcs"]
    transition: Int[np.ndarray, " arcs"]
    weight: Int[np.ndarray, " arcs"]

    def __init__(self, place: Integers, transition: Integers, weight: Integers) -> None:
        given = {"place": place, "transition": transition, "weight": weight}
        columns = [as_int64(name, column) for name, column in given.items()]
        if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
            shapes = ", ".join(
                f"{len(np.ravel(column))} {n}s" for n, column in zip(given, columns, strict=True)
            )
            raise ValueError(f"An arc needs a place, a transition and a weight; given: {shapes}.")
        order = np.lexsort((columns[0], columns[1]))
        is_sorted = bool(np.all(order[1:] > order[:-1]))
        for name, column in zip(given, columns, strict=True):
            column = column.copy() if is_sorted else column[order]
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @classmethod
    def of(cls, triples: Iterable[tuple[int, int, int]]) -> "Arcs":
        """Arcs from (place, transition, weight)."""
        table = list(triples)
        if not table:
            return cls.none()
        return cls(*zip(*table, strict=True))

    @classmethod
    def none(cls) -> "Arcs":
        """No arcs."""
        return cls((), (), ())

    def triples(self) -> list[tuple[int, int, int]]:
        """(place, transition, weight) of every arc."""
        columns = (self.place.tolist(), self.transition.tolist(), self.weight.tolist())
        return list(zip(*columns, strict=True))

    @cached_property
    def _bytes(self) -> tuple[bytes, bytes, bytes]:
        return self.place.tobytes(), self.transition.tobytes(), self.weight.tobytes()

    def __len__(self) -> int:
        return len(self.place)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Arcs):
            return NotImplemented
        return len(self) == len(other) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"Arcs({len(self):,} arcs)" if len(self) > 12 else f"Arcs.of({self.triples()})"


def as_int64(name: str, numbers: Integers | int) -> Int[np.ndarray, " ..."]:
    """Integers as an array of 64 bits.

    **Raises:** `ValueError` for what is not an integer or does not fit.
    """
    listed = numbers if isinstance(numbers, SupportsArray | int) else list(numbers)
    array = np.asarray(listed)
    if array.dtype.kind not in "iu" and listed is not numbers:
        array = np.asarray(listed, dtype=object)  # NumPy makes floats of large integers
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype == object:  # Python integers beyond 64 bits, or what is not a number
        for index, number in enumerate(np.ravel(array).tolist()):
            if isinstance(number, bool) or not isinstance(number, int):
                raise ValueError(f"`{name}` number {index} is {number!r}. Give an integer.")
            if not -(2**63) <= number < 2**63:
                raise ValueError(f"`{name}` number {index}, {number}, does not fit in 64 bits.")
    elif array.dtype.kind not in "iu":
        raise ValueError(f"`{name}` holds {array.dtype}. Give integers.")
    elif array.dtype == np.uint64 and int(array.max()) >= 2**63:
        index = int(np.argmax(array))
        raise ValueError(f"`{name}` number {index}, {array.max()}, does not fit in 64 bits.")
    return array.astype(np.int64)
