"""Values of an objective, which checkpoints keep."""

import threading
from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import Float

from ..scale.checkpoint import Checkpoints


class Evaluations:
    """The points where an objective was evaluated, and what it was there. A search that begins
    again is led to where it was by these values, to the bit, without computing them again.

    - `are_shared`: whether several processes save what each has evaluated. They do so together, at
      the ends of rounds; a single process saves at any time, from any of its threads.
    """

    def __init__(self, checkpoints: Checkpoints | None = None):
        self._checkpoints = Checkpoints() if checkpoints is None else checkpoints
        self.are_shared = self._checkpoints.is_active and jax.process_count() > 1
        self._lock = threading.Lock()
        self._known: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}
        if self._checkpoints.restored is not None:
            for part in self._checkpoints.restored.segments:
                found = part.arrays()
                self._known[_key(found["point"])] = found["value"]

    def at(
        self,
        point: Float[np.ndarray, "..."],
        evaluated: Callable[[], Float[np.ndarray, " numbers"]],
    ) -> Float[np.ndarray, " numbers"]:
        """The value at a point, or those of a block of points: restored, or evaluated and saved."""
        known = self._known.get(_key(point))
        if known is not None:
            return known.copy()
        value = evaluated()
        if self._checkpoints.is_active:
            with self._lock:
                self._checkpoints.append({"point": point.copy(), "value": value.copy()})
                if not self.are_shared:
                    self._save_if_due()
        return value

    def end_round(self) -> None:
        """Save what all processes have evaluated, if it is time."""
        if self.are_shared:
            self._save_if_due()

    def finish(self) -> None:
        """Write the last checkpoint."""
        self._checkpoints.finish({})

    def _save_if_due(self) -> None:
        if self._checkpoints.is_due():
            self._checkpoints.save({})


def _key(point: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    return point.shape, point.tobytes()
