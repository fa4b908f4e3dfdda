"""The conditions of all transitions as columns, stored by width, slot by slot."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from snpjax_formats import bucket
from snpjax_formats.ell import expanded

from ...precision import precision
from ..lower.lower import Conditions, NetProgram, padded
from ..model.arcs import Compressed


# Widths are joined where that adds no more slots than this: every width is some kernels more.
_FEW_SLOTS = 4096

# Up to so many slots are looked at one after the other: on CPUs that is faster than a reduction.
_MAX_UNROLLED = 16


class Block(eqx.Module):
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


class Columns(eqx.Module):
    """All conditions of a net."""

    blocks: tuple[Block, ...]
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


def columns_of(conditions: Conditions, program: NetProgram) -> Columns:
    """The conditions by the width of their transitions. Nothing here has the size of the widest
    transition times their number."""
    size, dtype = program.num_transitions, program.dtype
    arcs = np.arange(len(conditions.place))
    by = Compressed.of(conditions.transition, arcs, arcs, conditions.num_transitions)
    blocks, column_of, start = [], np.full(size, 2**31 - 1, np.int64), 0
    with precision(dtype):
        for width, members in _widths(by.degrees):
            num = bucket(len(members))
            column = np.full(conditions.num_transitions, -1)
            column[members] = np.arange(len(members))
            column_of[members] = start + np.arange(len(members))
            start += num
            own = np.flatnonzero(column[by.nodes()] >= 0)
            where = (by.slots()[own], column[by.nodes()[own]])
            arc = by.others[own]
            place, flip = (np.zeros((width, num), np.int32) for _ in range(2))
            bound = np.full((width, num), np.iinfo(dtype).min, dtype)
            place[where] = conditions.place[arc]
            flip[where] = conditions.flip[arc]
            bound[where] = conditions.bound[arc]
            block = Block(
                place=jnp.asarray(place),
                flip=jnp.asarray(flip, dtype) if np.any(flip) else None,
                bound=jnp.asarray(bound),
                position=jnp.asarray(padded(members, num, size), jnp.int32),
            )
            blocks.append(block)
        return Columns(tuple(blocks), jnp.asarray(column_of, jnp.int32))


def _widths(degrees: Int[np.ndarray, " transitions"]) -> list[tuple[int, np.ndarray]]:
    """Transitions by width, padded to buckets; few narrow ones go with the wider."""
    width_of = np.asarray(
        [bucket(int(width), at_least=1) for width in range(1 + max(degrees, default=0))]
    )
    wanted = width_of[degrees]
    groups: list[tuple[int, np.ndarray]] = []
    waiting = np.zeros(0, np.int64)
    widths = np.unique(wanted).tolist() or [1]
    for width, wider in zip(widths, [*widths[1:], None], strict=True):
        members = np.union1d(waiting, np.flatnonzero(wanted == width))
        if wider is not None and (wider - width) * len(members) <= _FEW_SLOTS:
            waiting = members
            continue
        groups.append((width, members))
        waiting = np.zeros(0, np.int64)
    return groups
