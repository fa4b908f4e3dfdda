"""The sampler on the device: lanes that walk through the trees of families, depth first.

A cell that divides needs one generator call for both daughters; daughters that outlive the duration
are counted at once, and of two that divide one waits. At most one cell waits in each generation, so
that a lane has room for any family, and memory does not depend on the population. A lane whose
family is done takes the next one.
"""

import dataclasses

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from .._xla import materialize
from .draws import MAX_GENERATION, OFFSET, ROOT, Timer, random_words, uniform
from .start import Start


#: Divisions between two looks at which lanes are idle. A family divides some 20 times in a
#: typical experiment, and the look costs as much as a division.
STEPS = 8
#: The node of a lane that has no family.
IDLE = np.uint32(0)


class InitialCells(eqx.Module):
    """Which initial cells are simulated, of one type.

    - `key`: two random words.
    - `first`: the family of the first of them; families are numbered run after run.
    - `num`: how many they are; `cells`: how many there are of each run.
    - `stride`, `offset`: the n-th is number `n * stride + offset` from the first. All are of whole
      runs, of which a device takes every `stride`-th.
    - `ends`: how many of these are in the channels up to each; padded with `cells`.
    - `last`: the last generation of cells of each channel, at most 31.
    - `channels`, `generations`: entries of the histogram are `(runs, channels, generations)`.
    - `lowest`, `highest`: the words of types for which a family is of this type.
    - `divides`: whether the type does.
    """

    key: UInt32[Array, "2"]
    first: UInt32[Array, ""]
    num: UInt32[Array, ""]
    cells: UInt32[Array, ""]
    stride: UInt32[Array, ""]
    offset: UInt32[Array, ""]
    ends: UInt32[Array, " channels"]
    last: Int[Array, " channels"]
    channels: UInt32[Array, ""]
    generations: UInt32[Array, ""]
    lowest: UInt32[Array, ""]
    highest: UInt32[Array, ""]
    divides: Bool[Array, ""]


class Pool(eqx.Module):
    """Families whose first cell divides, to be taken by lanes.

    - `time`: of the first division; `entry`: of the first generation in the histogram.
    - `size`: how many they are; `taken`: by lanes.
    """

    family: UInt32[Array, " families"]
    entry: Int[Array, " families"]
    last: Int[Array, " families"]
    time: Float[Array, " families"]
    size: Int[Array, ""]
    taken: Int[Array, ""]


class Lanes(eqx.Module):
    """The cell that each lane divides next.

    - `node`: its place in the tree of its family, or `IDLE`; `depth`: its generation.
    - `time`: when it divides.
    - `waiting`: bit g is set when a cell of generation g waits; `times[g, lane]`: when it divides.
    """

    family: UInt32[Array, " lanes"]
    entry: Int[Array, " lanes"]
    last: Int[Array, " lanes"]
    node: UInt32[Array, " lanes"]
    depth: Int[Array, " lanes"]
    time: Float[Array, " lanes"]
    waiting: UInt32[Array, " lanes"]
    times: Float[Array, "levels lanes"]


class LaneState(eqx.Module):
    """Lanes, pool, and what was counted since the counts were last taken away.

    - `begun`: families that were examined, of all.
    - `counts`: cells of each entry; `draws`: timers drawn; `turns` made.
    - `is_cut`: whether a cell of the last generation that has numbers divided.
    """

    lanes: Lanes
    pool: Pool
    begun: UInt32[Array, ""]
    counts: Int[Array, " entries"]
    draws: Int[Array, ""]
    turns: Int[Array, ""]
    is_cut: Bool[Array, ""]


def empty(lanes: int, pool: int, levels: int, entries: int) -> LaneState:
    """Nothing begun. Cells can wait in generations below `levels`."""

    def zeros(size: int, dtype: type) -> Array:
        return jnp.zeros((size,), dtype)

    word, number, time = jnp.uint32, jnp.int32, jnp.float32
    of_lanes = (zeros(lanes, x) for x in (word, number, number, word, number, time, word))
    of_pool = (zeros(pool, x) for x in (word, number, number, time))
    zero = jnp.zeros((), jnp.int32)
    return LaneState(
        Lanes(*of_lanes, times=jnp.zeros((levels, lanes), jnp.float32)),
        Pool(*of_pool, size=zero, taken=zero),
        jnp.zeros((), jnp.uint32),
        zeros(entries, jnp.int32),
        zero,
        zero,
        jnp.zeros((), bool),
    )


def is_done(state: LaneState, families: InitialCells) -> Bool[Array, ""]:
    """Whether every family was simulated to its end."""
    is_left = (state.begun < families.num) | (state.pool.taken < state.pool.size)
    return ~(is_left | jnp.any(state.lanes.node != IDLE))


def advance(
    state: LaneState, families: InitialCells, timer: Timer, limit: Int[Array, ""], *, start: Start
) -> LaneState:
    """Turns until every family is done, or `limit` of them: each fills the pool if it is empty,
    gives families to idle lanes, and divides one cell of each lane `STEPS` times."""

    def goes_on(state: LaneState) -> Array:
        return (state.turns < limit) & ~is_done(state, families)

    def turn(state: LaneState) -> LaneState:
        is_empty = (state.pool.taken >= state.pool.size) & (state.begun < families.num)
        state = lax.cond(
            is_empty, lambda state: begin(state, families, timer, start), lambda state: state, state
        )
        state = take(state)
        state = lax.fori_loop(0, STEPS, lambda _, state: divide(state, families.key, timer), state)
        return dataclasses.replace(state, turns=state.turns + 1)

    return lax.while_loop(goes_on, turn, state)


def begin(state: LaneState, families: InitialCells, timer: Timer, start: Start) -> LaneState:
    """Fill the pool with the next families. Of those of the type, the undivided are counted."""
    size = state.pool.family.shape[0]
    place = state.begun + jnp.arange(size, dtype=jnp.uint32)
    is_here = (place < families.num) & (place >= state.begun)
    number = place * families.stride + families.offset
    family = families.first + number
    run = number // families.cells
    channel = jnp.searchsorted(families.ends, number - run * families.cells, side="right")
    channel = jnp.where(is_here, channel, 0).astype(jnp.uint32)
    of_type, own = random_words(families.key, family, jnp.full_like(family, ROOT))
    is_here &= (of_type >= families.lowest) & (of_type <= families.highest)
    time = first_division(families.key, family, own, timer, start)
    divides = (time <= 1) & families.divides
    entry = ((run * families.channels + channel) * families.generations).astype(jnp.int32)
    last = families.last[channel]
    keeps = is_here & divides & (last > 0)
    through = jnp.cumsum(keeps, dtype=jnp.int32)
    to = jnp.where(keeps, through - 1, size)
    index = jnp.zeros((size,), jnp.int32).at[to].set(jnp.arange(size, dtype=jnp.int32), mode="drop")
    left = families.num - state.begun
    return LaneState(
        state.lanes,
        Pool(
            family[index],
            entry[index],
            last[index],
            time[index],
            through[-1],
            jnp.zeros((), jnp.int32),
        ),
        jnp.where(left <= size, families.num, state.begun + np.uint32(size)),
        state.counts.at[entry].add((is_here & ~divides).astype(jnp.int32), mode="drop"),
        state.draws + jnp.sum(is_here, dtype=jnp.int32),
        state.turns,
        state.is_cut,
    )


def first_division(
    key: UInt32[Array, "2"],
    family: UInt32[Array, " families"],
    own: UInt32[Array, " families"],
    timer: Timer,
    start: Start,
) -> Float[Array, " families"]:
    """When families divide first; `own` are the words of their roots' timers."""
    time = timer(own)
    if start is Start.SYNC:
        return time
    share, other = random_words(key, family, jnp.full_like(family, OFFSET))
    u, rest = uniform(share)
    if start is Start.ASYNC:
        return u * timer(other) + time
    return rest * time if start is Start.RESIDUAL else (1 + u) * time


def take(state: LaneState) -> LaneState:
    """Idle lanes take the next families of the pool, while there are some."""
    lanes, pool = state.lanes, state.pool
    is_idle = lanes.node == IDLE
    through = pool.taken + jnp.cumsum(is_idle, dtype=jnp.int32)
    takes = is_idle & (through <= pool.size)
    index = jnp.where(takes, through - 1, 0)

    def taken(own: Array, theirs: Array) -> Array:
        return jnp.where(takes, theirs[index], own)

    lanes = dataclasses.replace(
        lanes,
        family=taken(lanes.family, pool.family),
        entry=taken(lanes.entry, pool.entry),
        last=taken(lanes.last, pool.last),
        time=taken(lanes.time, pool.time),
        node=jnp.where(takes, jnp.uint32(1), lanes.node),
        depth=jnp.where(takes, 0, lanes.depth),
    )
    pool = dataclasses.replace(pool, taken=jnp.minimum(through[-1], pool.size))
    return dataclasses.replace(state, lanes=lanes, pool=pool)


def divide(state: LaneState, key: UInt32[Array, "2"], timer: Timer) -> LaneState:
    """Every lane divides its cell, and continues with a daughter that divides, or with the youngest
    cell that waits."""
    lanes = state.lanes
    is_active = lanes.node != IDLE
    # All that follows uses these: they are computed once.
    holds = state.turns >= 0
    words = materialize(holds, lambda: random_words(key, lanes.family, lanes.node))
    times = materialize(holds, lambda: [lanes.time + timer(word) for word in words])
    first, second = (is_active & (time <= 1) for time in times)
    depth = lanes.depth + 1
    survivors = jnp.where(is_active, 2 - first.astype(jnp.int32) - second.astype(jnp.int32), 0)
    counts = state.counts.at[lanes.entry + depth].add(survivors, mode="drop")
    has_daughters = depth < lanes.last
    is_cut = is_active & (first | second) & ~has_daughters & (depth == MAX_GENERATION)
    first, second = first & has_daughters, second & has_daughters
    goes_down, one_waits = first | second, first & second

    deep = depth.astype(jnp.uint32)
    waiting = lanes.waiting | (one_waits.astype(jnp.uint32) << deep)
    number = jnp.arange(depth.shape[0], dtype=jnp.int32)
    row = jnp.where(one_waits, depth, lanes.times.shape[0])
    waits = lanes.times.at[row, number].set(times[1], mode="drop", unique_indices=True)
    # Where the line ends: the sister of the ancestor, which was a first daughter.
    back = np.int32(31) - lax.clz(waiting | np.uint32(1)).astype(jnp.int32)
    has_any = waiting > 0
    up = (lanes.depth - back).astype(jnp.uint32) & np.uint32(31)
    sister = jnp.where(has_any, (lanes.node >> up) + np.uint32(1), IDLE)
    waited = waits.at[back, number].get(mode="promise_in_bounds")
    time = jnp.where(goes_down, jnp.where(first, times[0], times[1]), waited)
    daughter = 2 * lanes.node + (~first).astype(jnp.uint32)
    ended = waiting & ~(has_any.astype(jnp.uint32) << back.astype(jnp.uint32))
    return dataclasses.replace(
        state,
        lanes=Lanes(
            lanes.family,
            lanes.entry,
            lanes.last,
            jnp.where(is_active, jnp.where(goes_down, daughter, sister), IDLE),
            jnp.where(goes_down, depth, back),
            time,
            jnp.where(goes_down, waiting, ended),
            waits,
        ),
        counts=counts,
        draws=state.draws + 2 * jnp.sum(is_active, dtype=jnp.int32),
        is_cut=state.is_cut | jnp.any(is_cut),
    )
