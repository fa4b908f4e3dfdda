"""A net as arrays, its transitions in order of priority."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Int


class Rows(eqx.Module):
    """What a firing needs and moves, transition by transition.

    Entry k of a transition says that it takes `take[k]` tokens from `place[k]` for each copy, and
    that the place has `gain[k]` tokens more after a copy. Padding has place `num_places`.
    """

    starts: Int[Array, " transitions_and_one"]
    place: Int[Array, " entries"]
    take: Int[Array, " entries"]
    gain: Int[Array, " entries"]
    widest: int = eqx.field(static=True)  # entries of one transition, padded


class NetProgram(eqx.Module):
    """A Sleptsov net as arrays, its transitions numbered in order of priority.

    - `initial`: the marking; padding places hold nothing.
    - `unbounded`: which transitions have no regular input arc.
    - `beats`: pairs (t, u), t beats u, in order of u; padding pairs name `num_transitions`.
    - `has_order_only`: whether it is unknown which transitions are comparable.
    """

    rows: Rows
    initial: Int[Array, " places"]
    unbounded: Bool[Array, " transitions"]
    beats: Int[Array, "two pairs"]
    has_order_only: bool = eqx.field(static=True)

    @property
    def num_transitions(self) -> int:
        """Transitions with padding."""
        return len(self.rows.starts) - 1

    @property
    def num_places(self) -> int:
        """Places with padding."""
        return len(self.initial)

    @property
    def dtype(self) -> np.dtype:
        """What tokens are counted in."""
        return np.dtype(self.initial.dtype)
