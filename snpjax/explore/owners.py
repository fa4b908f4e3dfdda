"""A search whose configurations are split over devices: what each of them does.

Each configuration has an owner, found from a hash of its fields. The owner stores its words and
makes its successors, which travel to their own owners. A successor carries its position on the line
of all choices, by which equal ones are told first and later, and from which numbers follow: so they
do not depend on the devices.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Int, UInt, UInt8, UInt32

from snpjax_formats.mixing import mixed

from .._xla import shard_map
from ..machine import Enumerable
from ..scale.mesh import CONFIGURATIONS
from .packing import Packing
from .search import (
    NO_ONE,
    FrontierBlock,
    Part,
    add,
    choices_of,
    largest_fields,
    successors_and_fields,
)
from .table import EMPTY, insert


#: On every device, and split along the first or the second axis.
ALL, SPLIT, SPLIT_LAST = (
    PartitionSpec(),
    PartitionSpec(CONFIGURATIONS),
    PartitionSpec(None, CONFIGURATIONS),
)


class Sizes(NamedTuple):
    """How much is done at once.

    - `chunk`: choices of the line, a multiple of 32.
    - `made`: successors that a device makes, and parents that it expands.
    - `sent`: successors that a device sends to each in one round.
    - `window`: new configurations that one device may have, and what it receives at once.
    """

    chunk: int
    made: int
    sent: int
    window: int

    @classmethod
    def of(cls, chunk: int, devices: int) -> "Sizes":
        """For about that many successors of all devices together."""
        chunk = 32 * -(-chunk // 32)
        # Hashes spread them almost evenly; what is left takes another turn or round.
        made = min(chunk * 9 // (8 * devices) + 4, chunk)
        sent = made * 9 // (8 * devices) + 4
        return cls(chunk, made, sent, 2 * made + devices * sent)


class OwnedBlock(NamedTuple):
    """Neighbouring configurations on their owners, and how many choices they have.

    - `at`: which of the block each is.
    - `starts`: its first choice on the line of the block.
    """

    words: UInt32[Array, "words made"]
    at: Int[Array, " made"]
    counts: Int[Array, " made"]
    starts: Int[Array, " made"]


class OwnedPart(NamedTuple):
    """Choices of a block: from `base` to `end` of its line, of its first `cut` configurations."""

    cut: Int[Array, ""]
    base: Int[Array, ""]
    end: Int[Array, ""]


class OwnedNumbers(NamedTuple):
    """What the host needs to know of a chunk; nothing was put in unless `fits`, `failed` is none,
    and it is not `full`."""

    fits: Any
    failed: Any  # the position of the first failure in the chunk, or none
    overflows: Any  # whether that is one of counts
    full: Any  # a device had no room for all that it received
    sent: Any  # rounds of `all_to_all`


@lru_cache(maxsize=512)
def program(
    function: Callable[..., Any],
    mesh: Mesh,
    ins: tuple[PartitionSpec, ...],
    outs: Any,
    donated: tuple[int, ...] = (),
    **static: Any,
) -> Callable[..., Any]:
    """What each device does, as one call for all of them."""
    # What differs between devices is not part of the types: machines do not know of meshes.
    split = shard_map(partial(function, **static), mesh=mesh, in_specs=ins, out_specs=outs)
    return jax.jit(split, donate_argnums=donated)


def owner_of(fields: UInt[Array, "fields batch"], devices: int) -> Int[Array, " batch"]:
    """The owners of configurations. The words do not say them, which change with the packing."""
    odd = np.arange(len(fields), dtype=np.uint32) * np.uint32(0x9E3779B2) + np.uint32(0x85EBCA6B)
    bits = jnp.sum(fields.astype(jnp.uint32) * odd[:, None], axis=0, dtype=jnp.uint32)
    return (mixed(bits) % np.uint32(devices)).astype(jnp.int32)


def _own(numbers: Int[Array, " devices"]) -> Int[Array, ""]:
    return numbers[lax.axis_index(CONFIGURATIONS)]


def frontier(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    store: UInt32[Array, "capacity words"],
    first_rows: Int[Array, " devices"],
    owners: UInt[Array, " block"],
    *,
    made: int,
) -> tuple[OwnedBlock, Int[Array, " block"], Bool[Array, " block"], Int[Array, " devices_and_one"]]:
    """The choices of the configurations of a block, `made` of one owner at most: on the owners, and
    on all how many each has, which have too many, how many each device has, and how many
    configurations have too many."""
    block = len(owners)
    is_own = owners.astype(jnp.int32) == lax.axis_index(CONFIGURATIONS)
    (at,) = jnp.nonzero(is_own, size=made, fill_value=block)
    at = at.astype(jnp.int32)
    words = store.at[_own(first_rows) + jnp.arange(made)].get(mode="clip").T
    num = jnp.sum(is_own, dtype=jnp.int32)
    counts, is_too_much = choices_of(machine, choosers, packing, words, num)
    found = jnp.stack([counts, is_too_much.astype(jnp.int32)])
    line = jnp.zeros((2, block), jnp.int32).at[:, at].set(found, mode="drop")
    line, is_too_much = lax.psum(line, CONFIGURATIONS)
    # It wraps only after configurations that are cut off.
    starts = (jnp.cumsum(line) - line).at[at].get(mode="clip")
    own = jnp.sum(counts, dtype=jnp.int32)[None]
    sums = lax.all_gather(own, CONFIGURATIONS, tiled=True)
    sums = jnp.concatenate([sums, jnp.sum(is_too_much, dtype=jnp.int32)[None]])
    return OwnedBlock(words, at, counts, starts), line, is_too_much > 0, sums


class _Line(NamedTuple):
    """The choices of a device, one after the other."""

    block: FrontierBlock
    base: Int[Array, ""]  # the first of the chunk
    end: Int[Array, ""]
    shift: Int[Array, " made"]  # to positions in the chunk, by parent

    def part(self, turn: Int[Array, ""], made: int) -> Part:
        base = jnp.minimum(self.base + turn * made, self.end)
        return Part(jnp.zeros_like(base), base, jnp.minimum(base + made, self.end))

    def turns(self, made: int) -> Int[Array, ""]:
        """After which every device has made all of the chunk."""
        return lax.pmax(-((self.base - self.end) // made), CONFIGURATIONS)


def _line(block: OwnedBlock, packing: Packing, part: OwnedPart) -> _Line:
    is_in = block.at < part.cut
    counts = jnp.where(is_in, block.counts, 0)
    starts = jnp.where(is_in, block.starts, 0)
    ends = jnp.cumsum(counts)

    def before(position: Int[Array, ""]) -> Int[Array, ""]:
        return jnp.sum(jnp.clip(position - starts, 0, counts), dtype=jnp.int32)

    own = FrontierBlock(block.words, packing, ends, counts, ends[-1])
    shift = starts - (ends - counts) - part.base
    return _Line(own, before(part.base), before(part.end), shift)


class Pending(NamedTuple):
    """What a device has in the middle of a chunk, beside its store and its table.

    - `num`: its configurations.
    - `positions`, `places`: of each new configuration, the least position in the chunk of a
      successor with its words, and where it stands in the table.
    - `reached`: by position, the row of the target that is here.
    - `numbers`: `OwnedNumbers`, of this device.
    """

    num: Int[Array, "1"]
    positions: Int[Array, " window"]
    places: Int[Array, " window"]
    reached: Int[Array, " chunk"] | None
    numbers: Int[Array, " numbers"]


class Outgoing(NamedTuple):
    """Successors on the device that made them, and their positions in the last column.

    - `order`: by owner; `bounds`: where each owner begins in it, and the end.
    """

    rows: UInt32[Array, "made words_and_one"]
    order: Int[Array, " made"]
    bounds: Int[Array, " devices_and_one"]


def begin_chunk(nums: Int[Array, " devices"], *, sizes: Sizes, edges: bool) -> Pending:
    """Before a chunk."""
    return Pending(
        _own(nums)[None],
        jnp.full(sizes.window, NO_ONE),
        jnp.zeros(sizes.window, jnp.int32),
        jnp.full(sizes.chunk, -1, jnp.int32) if edges else None,
        jnp.asarray(OwnedNumbers(fits=1, failed=int(NO_ONE), overflows=0, full=0, sent=0)),
    )


def make(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    block: OwnedBlock,
    part: OwnedPart,
    turn: Int[Array, ""],
    numbers: Int[Array, " numbers"],
    *,
    sizes: Sizes,
) -> tuple[Outgoing, Int[Array, " numbers"]]:
    """Make successors by some choices of a block; those of this turn."""
    devices, line = lax.axis_size(CONFIGURATIONS), _line(block, packing, part)
    own = line.part(turn, sizes.made)
    given = (machine, choosers, packing, line.block, own, sizes.made)
    successors, fields = successors_and_fields(*given)
    number = jnp.arange(sizes.made, dtype=jnp.int32)
    positions = own.base + number + line.shift[successors.parents]
    now = OwnedNumbers(*numbers)
    is_first = successors.has_failed & (now.failed == NO_ONE)
    at_failure = positions.at[successors.num_good].get(mode="clip")
    now = now._replace(
        fits=now.fits & successors.fits.astype(jnp.int32),
        failed=jnp.where(is_first, at_failure, now.failed),
        overflows=jnp.where(is_first, successors.overflows.astype(jnp.int32), now.overflows),
    )
    owners = jnp.where(number < successors.num_good, owner_of(fields, devices), devices)
    order = jnp.argsort(owners).astype(jnp.int32)
    bounds = jnp.searchsorted(owners[order], jnp.arange(devices + 1)).astype(jnp.int32)
    column = lax.bitcast_convert_type(positions, jnp.uint32)[:, None]
    rows = jnp.concatenate([successors.words, column], axis=1)
    return Outgoing(rows, order, bounds), jnp.stack([jnp.asarray(x, jnp.int32) for x in now])


def exchange(
    store: UInt32[Array, "capacity words"],
    table: Int[Array, " table"],
    pending: Pending,
    nums: Int[Array, " devices"],
    out: Outgoing,
    *,
    sizes: Sizes,
) -> tuple[UInt32[Array, "capacity words"], Int[Array, " table"], Pending]:
    """Send successors to their owners, which put them into their sets."""
    first, bounds = _own(nums), out.bounds
    rounds = lax.pmax(-jnp.min((bounds[:-1] - bounds[1:]) // sizes.sent), CONFIGURATIONS)

    def more(turn: Int[Array, ""], carry: tuple[Array, Array, Pending]) -> tuple:
        number = turn * sizes.sent + jnp.arange(sizes.sent, dtype=jnp.int32)
        at = bounds[:-1, None] + number[None]
        there = out.rows[out.order.at[at].get(mode="clip")]
        is_one = at < bounds[1:, None]
        there = there.at[..., -1].set(jnp.where(is_one, there[..., -1], np.uint32(NO_ONE)))
        here = lax.all_to_all(there, CONFIGURATIONS, 0, 0, tiled=True)
        return _receive(*carry, here.reshape(-1, here.shape[-1]), first)

    store, table, pending = lax.fori_loop(0, rounds, more, (store, table, pending))
    numbers = OwnedNumbers(*pending.numbers)
    numbers = numbers._replace(sent=numbers.sent + rounds)
    return store, table, pending._replace(numbers=jnp.stack(list(numbers)))


def _receive(
    store: UInt32[Array, "capacity words"],
    table: Int[Array, " table"],
    pending: Pending,
    received: UInt32[Array, "received words_and_position"],
    first: Int[Array, ""],
) -> tuple[UInt32[Array, "capacity words"], Int[Array, " table"], Pending]:
    """Look up what came from all devices, and put in what is new."""
    window, num = len(pending.positions), pending.num[0]
    words = received[:, :-1]
    positions = lax.bitcast_convert_type(received[:, -1], jnp.int32)
    numbers = OwnedNumbers(*pending.numbers)
    full = (numbers.full > 0) | (num - first + len(received) > window)
    num = jnp.where(full, first, num)
    wanted = (positions < NO_ONE) & ~full
    added = add(store, table, num, words, wanted)
    at = jnp.where(wanted & (added.targets >= first), added.targets - first, window)
    at_new = jnp.where(added.is_new, added.rows - first, window)
    reached = pending.reached
    if reached is not None:
        position = jnp.where(wanted, positions, len(reached))
        reached = reached.at[position].set(added.targets, mode="drop")
    pending = Pending(
        (num + jnp.sum(added.is_new, dtype=jnp.int32))[None],
        pending.positions.at[at].min(positions, mode="drop"),
        pending.places.at[at_new].set(added.places, mode="drop"),
        reached,
        jnp.stack(list(numbers._replace(full=full.astype(jnp.int32)))),
    )
    return added.store, added.table, pending


def end_chunk(
    store: UInt32[Array, "capacity words"],
    table: Int[Array, " table"],
    pending: Pending,
    nums: Int[Array, " devices"],
    *,
    chunk: int,
) -> tuple[
    UInt32[Array, "capacity words"],
    Int[Array, " table"],
    UInt8[Array, "planes bytes"],
    UInt32[Array, " chunk"] | None,
    Int[Array, " devices"],
    Int[Array, " numbers"],
]:
    """After a chunk.

    **Returns:** the stores and tables, in which rows past the numbers before are in the order of
    positions; a bit for each position whose successor is new, and one for each bit of its owner;
    by position, the target of each edge, `row * devices + owner`; how many configurations each
    device has; and `OwnedNumbers` of all.
    """
    devices, first = lax.axis_size(CONFIGURATIONS), _own(nums)
    window, me = len(pending.positions), lax.axis_index(CONFIGURATIONS)
    is_new = pending.positions < NO_ONE
    at = jnp.where(is_new, pending.positions, chunk)
    is_first = jnp.zeros(chunk, bool).at[at].set(True, mode="drop")
    bits = jnp.arange(max(devices - 1, 1).bit_length(), dtype=jnp.int32)
    planes = jnp.concatenate([is_first[None], is_first[None] & ((me >> bits & 1) > 0)[:, None]])
    words = jnp.packbits(planes, axis=1).reshape(len(planes), -1, 4)
    # Every bit is set by one device at most.
    words = lax.psum(lax.bitcast_convert_type(words, jnp.uint32), CONFIGURATIONS)
    planes = lax.bitcast_convert_type(words, jnp.uint8).reshape(len(planes), -1)

    rank = jnp.cumsum(is_first, dtype=jnp.int32) - 1
    own = rank.at[at].get(mode="clip")
    to = jnp.where(is_new, own, window)
    found = lax.dynamic_slice_in_dim(store, first, window)
    ordered = jnp.zeros_like(found).at[to].set(found, mode="drop")
    store = lax.dynamic_update_slice_in_dim(store, ordered, first, 0)
    place = jnp.where(is_new, pending.places, len(table))
    table = table.at[place].set(first + own, mode="drop")

    codes = None
    if pending.reached is not None:
        rows = pending.reached
        is_late = rows >= first
        rows = jnp.where(is_late, first + own.at[rows - first].get(mode="clip"), rows)
        codes = rows.astype(jnp.uint32) * np.uint32(devices) + me.astype(jnp.uint32)
        codes = lax.psum(jnp.where(pending.reached >= 0, codes, np.uint32(0)), CONFIGURATIONS)
    mine = OwnedNumbers(*pending.numbers)
    failed = lax.pmin(mine.failed, CONFIGURATIONS)
    flags = jnp.stack(
        [1 - mine.fits, jnp.where(mine.failed == failed, mine.overflows, 0), mine.full]
    )
    misfits, overflows, full = lax.pmax(flags, CONFIGURATIONS)
    numbers = OwnedNumbers(1 - misfits, failed, overflows, full, mine.sent)
    nums = lax.all_gather(pending.num, CONFIGURATIONS, tiled=True)
    return store, table, planes, codes, nums, jnp.stack(list(numbers))


def largest(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    block: OwnedBlock,
    part: OwnedPart,
    *,
    made: int,
) -> UInt[Array, " fields"]:
    """The largest value of every field in successors, of each device before its first failure."""
    line = _line(block, packing, part)

    def more(turn: Int[Array, ""], most: UInt[Array, " fields"]) -> UInt[Array, " fields"]:
        found = largest_fields(machine, choosers, line.block, line.part(turn, made), made)
        return jnp.maximum(most, found.astype(most.dtype))

    most = jnp.zeros(packing.num_fields, jnp.uint32)
    return lax.pmax(lax.fori_loop(0, line.turns(made), more, most), CONFIGURATIONS)


# ---- all that is stored ----


def enlarged(
    store: UInt32[Array, "capacity words"], *, capacity: int
) -> UInt32[Array, "larger words"]:
    return jnp.pad(store, ((0, capacity - store.shape[0]), (0, 0)))


def table_of(
    store: UInt32[Array, "capacity words"],
    nums: Int[Array, " devices"],
    *,
    places: int,
    part: int,
) -> Int[Array, " places"]:
    """A table with all configurations of a device."""
    num = _own(nums)

    def more(turn: Int[Array, ""], table: Int[Array, " places"]) -> Int[Array, " places"]:
        # The last part may begin in the one before it, which is found again.
        start = jnp.minimum(turn * part, len(store) - part)
        words = lax.dynamic_slice_in_dim(store, start, part)
        return insert(table, store, words, start, start + jnp.arange(part) < num)[0]

    return lax.fori_loop(0, -(-num // part), more, jnp.full(places, EMPTY))


def repacked(
    store: UInt32[Array, "capacity words"],
    nums: Int[Array, " devices"],
    old: Packing,
    new: Packing,
    *,
    part: int,
) -> UInt32[Array, "capacity new_words"]:
    """The configurations of a device in other words."""

    def more(turn: Int[Array, ""], words: UInt32[Array, "capacity new_words"]) -> Array:
        start = jnp.minimum(turn * part, len(store) - part)
        fields = old.unpack(lax.dynamic_slice_in_dim(store, start, part).T, old.dtype)
        return lax.dynamic_update_slice_in_dim(words, new.pack(fields)[0].T, start, 0)

    empty = jnp.zeros((len(store), new.num_words), jnp.uint32)
    return lax.fori_loop(0, -(-_own(nums) // part), more, empty)


def most_of(
    store: UInt32[Array, "capacity words"],
    nums: Int[Array, " devices"],
    packing: Packing,
    *,
    part: int,
) -> UInt32[Array, " fields"]:
    """The largest value of every field, of all configurations."""
    num = _own(nums)

    def more(turn: Int[Array, ""], most: UInt32[Array, " fields"]) -> UInt32[Array, " fields"]:
        start = jnp.minimum(turn * part, len(store) - part)
        fields = packing.unpack(lax.dynamic_slice_in_dim(store, start, part).T, jnp.uint32)
        is_one = start + jnp.arange(part) < num
        return jnp.maximum(most, jnp.max(jnp.where(is_one, fields, np.uint32(0)), axis=1))

    most = jnp.zeros(packing.num_fields, jnp.uint32)
    return lax.pmax(lax.fori_loop(0, -(-num // part), more, most), CONFIGURATIONS)


def gathered(
    store: UInt32[Array, "capacity words"],
    owners: Int[Array, " block"],
    rows: Int[Array, " block"],
) -> UInt32[Array, "words block"]:
    """The words of some configurations, on all devices."""
    is_own = owners == lax.axis_index(CONFIGURATIONS)
    words = store.at[jnp.where(is_own, rows, 0)].get(mode="clip").T
    return lax.psum(jnp.where(is_own, words, np.uint32(0)), CONFIGURATIONS)
