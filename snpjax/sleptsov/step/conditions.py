"""The conditions of all transitions, a column each, stored by width, slot by slot."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from snpjax_formats.ell import expanded


# Up to this many slots are examined one after the other: on CPUs that is faster than a reduction.
_MAX_UNROLLED = 16


class ConditionBlock(eqx.Module):
    """The columns of the transitions of about one width. Padding slots are satisfied by anything;
    padding columns have the position `num_transitions`."""

    place: Int[Array, "slots columns"]
    flip: Int[Array, "slots columns"] | None  # None: no inhibitors
    bound: Int[Array, "slots columns"]
    position: Int[Array, " columns"]

    def holds(self, marking: Int[Array, "places *paths"]) -> Bool[Array, "columns *paths"]:
        """Whether all conditions of a column are satisfied."""
        num_slots = len(self.place)
        if num_slots > _MAX_UNROLLED:
            return jnp.all(self._slot(marking, slice(None)), axis=0)
        holds = self._slot(marking, 0)
        for slot in range(1, num_slots):
            holds &= self._slot(marking, slot)
        return holds

    def _slot(self, marking: Int[Array, "places *paths"], slot: int | slice) -> Bool[Array, "..."]:
        tokens = marking.at[self.place[slot]].get(mode="promise_in_bounds")
        if self.flip is not None:
            tokens ^= expanded(self.flip[slot], tokens.ndim)
        return tokens >= expanded(self.bound[slot], tokens.ndim)


class ConditionTable(eqx.Module):
    """All conditions of a net."""

    blocks: tuple[ConditionBlock, ...]
    column_of: Int[Array, " transitions"]  # in the blocks one after the other

    def fireable(self, marking: Int[Array, "places *paths"]) -> Bool[Array, "transitions *paths"]:
        """Which transitions can fire, by position."""
        holds = [block.holds(marking) for block in self.blocks]
        joined = holds[0] if len(holds) == 1 else jnp.concatenate(holds)
        return joined.at[self.column_of].get(mode="fill", fill_value=False)

    def first(self, marking: Int[Array, "places *paths"]) -> Int[Array, "*paths"]:
        """The first of them, or `num_transitions`."""
        size = len(self.column_of)
        found = []
        for block in self.blocks:
            position = expanded(block.position, marking.ndim)
            here = jnp.where(block.holds(marking), position, size)
            found.append(jnp.min(here, axis=0, initial=size))
        first = found[0]
        for other in found[1:]:
            first = jnp.minimum(first, other)
        return first
