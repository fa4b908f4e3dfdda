"""Sets of inputs: spike counts within bounds, and at most some spikes away from given ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from ..arguments import whole_counts


@dataclass(frozen=True, eq=False, repr=False)
class SpikeBox:
    """For each case the initial spikes x of some neurons with `low <= x <= high` and, where
    `changes` is given, with a sum of `abs(x - centre)` of at most `changes`.

    `SpikeBox.around(counts)` makes one; the constructor takes any bounds.

    **Arguments:**

    - `centre`: `(inputs, cases)`, the spikes whose answer is to stay.
    - `low`, `high`: `(inputs, cases)`, both included.
    - `changes`: how many spikes may be added and removed in all, or `None`.

    **Raises:** `ValueError` for shapes that differ, numbers that are not whole or not below 2^30,
    negative counts, and a centre outside its bounds.
    """

    centre: Int[np.ndarray, "inputs cases"]
    low: Int[np.ndarray, "inputs cases"]
    high: Int[np.ndarray, "inputs cases"]
    changes: int | None = None

    def __post_init__(self) -> None:
        for name in ("centre", "low", "high"):
            object.__setattr__(self, name, _counts(getattr(self, name), name))
        shapes = {self.centre.shape, self.low.shape, self.high.shape}
        if len(shapes) > 1:
            raise ValueError(
                f"`centre`, `low` and `high` have the shapes {self.centre.shape}, "
                f"{self.low.shape} and {self.high.shape}. Pass three of the same shape."
            )
        wrong = np.argwhere((self.low > self.centre) | (self.centre > self.high))
        if len(wrong):
            row, case = wrong[0].tolist()
            bounds = f"{self.low[row, case]} to {self.high[row, case]}"
            raise ValueError(
                f"Input {row} of case {case} has {self.centre[row, case]} spikes, outside its "
                f"bounds of {bounds}. Widen `low` and `high`."
            )
        if self.changes is not None and (self.changes < 0 or self.changes != int(self.changes)):
            raise ValueError(f"`changes` is {self.changes}. Pass a number of spikes, or None.")

    @staticmethod
    def around(
        counts: Any,
        /,
        *,
        each: int = 1,
        changes: int | None = None,
        low: int = 0,
        high: int | None = None,
    ) -> "SpikeBox":
        """All inputs near given ones.

        **Arguments:**

        - `counts`: `(inputs, cases)`, whole numbers of spikes.
        - `each`: how far the number of each input may be from its own.
        - `changes`: how many spikes may be added and removed in all; `None` allows `each` for every
          input at the same time.
        - `low`, `high`: no count leaves these bounds, whatever `each` is.

        **Returns:** a `SpikeBox`.

        **Raises:** `ValueError` as `SpikeBox` does, and for a negative `each`.
        """
        centre = _counts(counts, "counts")
        if each < 0:
            raise ValueError(f"`each` is {each}. Pass a number of spikes, 0 or more.")
        above = centre + each if high is None else np.minimum(centre + each, high)
        return SpikeBox(centre, np.maximum(centre - each, low), above, changes)

    @property
    def num_inputs(self) -> int:
        """The inputs of each case."""
        return self.centre.shape[0]

    @property
    def num_cases(self) -> int:
        """How many cases there are."""
        return self.centre.shape[1]

    def case(self, number: int) -> "SpikeBox":
        """The box of one case, with a `cases` axis of length 1."""
        return self.cases(np.array([number]))

    def cases(self, numbers: Int[np.ndarray, " some"]) -> "SpikeBox":
        """The boxes of some cases, by their numbers."""
        return SpikeBox(
            self.centre[:, numbers], self.low[:, numbers], self.high[:, numbers], self.changes
        )

    def members(self, case: int, limit: int) -> Int[np.ndarray, "inputs members"] | None:
        """All inputs of one `case`, the centre first; `None` if there are more than `limit`."""
        centre = self.centre[:, case]
        found, used = np.zeros((1, self.num_inputs), np.int64), np.zeros(1, np.int64)
        for row in range(self.num_inputs):
            moves = np.arange(self.low[row, case], self.high[row, case] + 1) - centre[row]
            parts, costs = [found], [used]
            for move in moves[moves != 0].tolist():
                cost = used + abs(move)
                fits = slice(None) if self.changes is None else cost <= self.changes
                moved = found[fits].copy()
                moved[:, row] += move
                parts.append(moved)
                costs.append(cost[fits])
                if sum(map(len, parts)) > limit:
                    return None
            found, used = np.concatenate(parts), np.concatenate(costs)
        return centre[:, None] + found.T

    def contains(self, spikes: Int[np.ndarray, "inputs cases"]) -> np.ndarray:
        """Whether the spikes of each case are in its box."""
        inside = ((self.low <= spikes) & (spikes <= self.high)).all(axis=0)
        if self.changes is not None:
            inside &= np.abs(spikes - self.centre).sum(axis=0) <= self.changes
        return np.asarray(inside)

    def __repr__(self) -> str:
        changes = "" if self.changes is None else f", changes={self.changes}"
        return f"SpikeBox({self.num_inputs} inputs, {self.num_cases} cases{changes})"


def _counts(values: Any, name: str) -> Int[np.ndarray, "inputs cases"]:
    given = np.asarray(values)
    if given.ndim != 2:
        raise ValueError(f"`{name}` has the shape {given.shape}. Pass (inputs, cases).")
    return whole_counts(given, name)
