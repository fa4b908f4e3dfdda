"""What the checkpoints of a simulation hold."""

from collections.abc import Callable
from typing import TypeVar

import jax
import numpy as np
from jaxtyping import Int, PyTree

from ..scale.checkpoint import Checkpoints
from ..scale.segment import Json


T = TypeVar("T", bound=PyTree)


class SavedCounts:
    """The cells of each type in each batch of runs, which are appended, and the state of the type
    that is being simulated.

    - `batch`: how many runs are simulated together, or `None` if there is no checkpoint yet.
    - `setup`: what the saved state depends on, such as the number of devices.
    """

    def __init__(self, checkpoints: Checkpoints):
        restored = checkpoints.restored
        note = {} if restored is None else restored.note
        self.batch: int | None = note.get("batch")
        self.setup: dict[str, Json] = note.get("setup", {})
        self._checkpoints, self._restored = checkpoints, restored
        self._place: list[int] = note.get("place", [])  # where the saved state belongs
        self._at: list[int] = []
        self._parts = {
            (part.note["first"], part.note["type"]): part
            for part in ([] if restored is None else restored.segments)
        }
        self._note: dict[str, Json] = {}
        self._own_setup: dict[str, Json] = {}

    def begin(self, batch: int, **setup: Json) -> None:
        """Save that many runs at a time from now on, and states of this setup."""
        self._note, self._own_setup = {"batch": batch, "setup": setup}, setup

    def counts_of(
        self,
        first: int,
        index: int,
        simulated: Callable[[], tuple[Int[np.ndarray, "runs channels generations"], int]],
    ) -> tuple[Int[np.ndarray, "runs channels generations"], int]:
        """The cells of a type in the batch that begins with run `first`, and the timers drawn:
        restored, or simulated and saved."""
        if (part := self._parts.get((first, index))) is not None:
            return part.arrays()["counts"], part.note["draws"]
        self._at = [first, index]
        counts, draws = simulated()
        if jax.process_index() == 0:  # all processes have the same
            self._checkpoints.append({"counts": counts}, first=first, type=index, draws=draws)
        if self._checkpoints.is_due():
            self._checkpoints.save({}, **self._note)
        return counts, draws

    def state(self, like: T) -> T | None:
        """The saved state of the type that is being simulated, in the structure of `like`, or
        `None` if there is none of this setup."""
        if self._restored is None or (self._place, self.setup) != (self._at, self._own_setup):
            return None
        return self._restored.state(like)

    def offer(self, state: PyTree) -> None:
        """Save the state of the type that is being simulated, if it is time. Several processes
        do not: each takes as many turns as its own families need."""
        if jax.process_count() == 1 and self._checkpoints.is_due():
            self._checkpoints.save(state, **self._note, place=self._at)

    def finish(self) -> None:
        """Write the last checkpoint."""
        self._checkpoints.finish({}, **self._note)
