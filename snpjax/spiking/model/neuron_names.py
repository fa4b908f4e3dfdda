"""The names of a population's neurons, each created on demand."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int


_INDEXED = re.compile(r"(.*)\{(-?[0-9]{1,18}(?:,-?[0-9]{1,18})*)\}", re.DOTALL)
_NUMBERED = re.compile(r"(.*)\[([0-9]{1,18})\]", re.DOTALL)


@dataclass(frozen=True, eq=False)
class NeuronNames:
    """`name[0]`, `name[1]`, ..., or with `indices` `name{i}` or `name{i,j}`; without axes, `name`
    itself."""

    name: str
    size: int
    indices: Int[np.ndarray, "neurons axes"] | None

    @property
    def are_plain(self) -> bool:
        """Whether the one neuron is named as its population."""
        return self.indices is not None and self.indices.shape[1] == 0

    def of(self, neuron: int) -> str:
        """The name of the neuron of this number in its population."""
        if self.indices is None:
            return f"{self.name}[{neuron}]"
        if self.are_plain:
            return self.name
        return f"{self.name}{{{','.join(map(str, self.indices[neuron]))}}}"

    def find(self, name: str) -> int | None:
        """The number of the neuron of a name; `None` if there is none."""
        if self.are_plain:
            return 0 if name == self.name else None
        match = (_NUMBERED if self.indices is None else _INDEXED).fullmatch(name)
        if match is None or match[1] != self.name:
            return None
        if self.indices is None:
            number = int(match[2])
        else:
            number = self._number_of([int(index) for index in match[2].split(",")])
        is_its_name = 0 <= number < self.size and self.of(number) == name  # no leading zeros
        return number if is_its_name else None

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """The order of the rows of `indices`, and the rows in it: names may be many."""
        order = np.lexsort(self.indices.T[::-1])  # pyright: ignore[reportOptionalMemberAccess]
        return order, self.indices[order]  # pyright: ignore[reportOptionalSubscript]

    def _number_of(self, row: list[int]) -> int:
        """The number of the neuron with these indices, -1 if there is none."""
        order, rows = self._sorted
        if len(row) != rows.shape[1]:
            return -1
        low, high = 0, len(rows)
        for axis, index in enumerate(row):
            of_axis = rows[low:high, axis]
            low, high = (low + int(of_axis.searchsorted(index, side)) for side in ("left", "right"))
        return int(order[low]) if low < high else -1


def base_of(name: str) -> str:
    """The population that a neuron of this name belongs to."""
    match = _INDEXED.fullmatch(name) or _NUMBERED.fullmatch(name)
    return name if match is None else match[1]


def problem_of(name: str, size: int, indices: object) -> str | None:
    """What is wrong with the indices of a population, in words."""
    array = np.asarray(indices)
    if not np.issubdtype(array.dtype, np.integer) or array.ndim not in (1, 2):
        return f"`indices` is {indices!r} (give integers, (size,) or (size, axes))"
    if len(array) != size:
        return f"`indices` names {len(array)} neurons (give one index for each of the {size})"
    rows = array if array.ndim == 2 else array[:, None]
    if len(rows) < 2:
        return None
    if rows.shape[1] == 1 and np.all(rows[1:] > rows[:-1]):
        return None
    order = np.lexsort(rows.T) if rows.shape[1] else np.arange(size)
    repeated = np.flatnonzero((rows[order[1:]] == rows[order[:-1]]).all(axis=1))
    if len(repeated):
        twice = NeuronNames(name, size, rows).of(int(order[repeated[0]]))
        return f"two neurons are named {twice} (give each its own index)"
    return None
