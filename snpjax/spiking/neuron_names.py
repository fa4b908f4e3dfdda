"""The names of a population's neurons, each made when it is asked for."""

import re
from dataclasses import dataclass

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
            row = np.asarray(match[2].split(","), np.int64)
            if len(row) != self.indices.shape[1]:
                return None
            found = np.flatnonzero((self.indices == row).all(axis=1))
            number = int(found[0]) if len(found) else -1
        is_its_name = 0 <= number < self.size and self.of(number) == name  # no leading zeros
        return number if is_its_name else None


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
