"""Tables of a net that single engines need."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from snpjax_formats import bucket, device_array

from ..._xla import precision
from ..model.arcs import CompressedArcs
from ..model.net import SleptsovNet
from ..step.conditions import ConditionBlock, ConditionTable
from ..step.dependents import Dependents
from ..step.disjoint import Touches
from ..step.program import NetProgram
from .lower import Conditions, padded, positions


# Widths are joined where that adds no more slots than this: every width is some kernels more.
_FEW_SLOTS = 4096


def condition_table(conditions: Conditions, program: NetProgram) -> ConditionTable:
    """The conditions by the width of their transitions. Nothing here has the size of the widest
    transition times their number."""
    size, dtype = program.num_transitions, program.dtype
    arcs = np.arange(len(conditions.place))
    by = CompressedArcs.of(conditions.transition, arcs, arcs, conditions.num_transitions)
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
            block = ConditionBlock(
                place=device_array(place),
                flip=device_array(flip, dtype) if np.any(flip) else None,
                bound=device_array(bound),
                position=device_array(padded(members, num, size), jnp.int32),
            )
            blocks.append(block)
        return ConditionTable(tuple(blocks), device_array(column_of, jnp.int32))


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


def dependents_of(conditions: Conditions, program: NetProgram) -> Dependents:
    arcs = np.arange(len(conditions.place))
    by = CompressedArcs.of(conditions.place, arcs, arcs, program.num_places)
    length = bucket(len(arcs))

    def entries(values: np.ndarray, dtype: np.dtype | type) -> Array:
        return device_array(padded(values[by.others], length, 0), dtype)

    with precision(program.dtype):
        return Dependents(
            starts=device_array(by.starts, jnp.int32),
            transition=entries(conditions.transition, np.int32),
            flip=entries(conditions.flip, program.dtype),
            bound=entries(conditions.bound, program.dtype),
            num_transitions=device_array(conditions.num_transitions, jnp.int32),
        )


def touches_of(net: SleptsovNet, program: NetProgram) -> Touches:
    kinds = (net.inputs, net.outputs, net.inhibitors, net.tests)
    transition = positions(net)[np.concatenate([arcs.transition for arcs in kinds])]
    place = np.concatenate([arcs.place for arcs in kinds])
    pairs = np.unique(np.stack([transition, place], axis=1), axis=0)
    size = bucket(len(pairs))
    with precision(program.dtype):
        return Touches(
            device_array(padded(pairs[:, 0], size, program.num_transitions), jnp.int32),
            device_array(padded(pairs[:, 1], size, program.num_places), jnp.int32),
        )
