"""A search whose configurations are split over devices: what each of them does.

Each configuration has an owner, found from a hash of its fields. The owner stores its words and
makes its successors, which travel to their own owners. A successor carries its position on the line
of all choices, which decides which of several equal ones comes first. Numbers follow from these
positions, so they do not depend on the devices.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Int, Shaped, UInt, UInt8, UInt32

from snpjax_formats.mixing import mixed

from .._tiered import estimated_sum
from .._xla import shard_map
from ..machine import Enumerable
from ..scale.mesh import CONFIGURATIONS
from .packing import Packing
from .search import (
    MAX_CHOICES,
    FrontierBlock,
    Part,
    add,
    choices_of,
    largest_fields,
    successors_and_fields,
)
from .table import EMPTY, insert


#: In place of a position in a chunk: greater than any.
NO_POSITION = np.int32(2**31 - 1)

#: On every device, and split along the first or the second axis.
ALL, SPLIT, SPLIT_LAST = (
    PartitionSpec(),
    PartitionSpec(CONFIGURATIONS),
    PartitionSpec(None, CONFIGURATIONS),
)


class Sizes(NamedTuple):
    """How much is done at once.

    - `chunk`: choices of the line, a multiple of 32.
    - `batch`: successors that a device makes in one turn, and parents that it expands.
    - `sent`: successors that a device sends to each in one round.
    - `window`: new configurations that one device may have, and what it receives at once.
    """

    chunk: int
    batch: int
    sent: int
    window: int

    @classmethod
    def of(cls, chunk: int, devices: int) -> "Sizes":
        """For about that many successors of all devices together."""
        chunk = 32 * -(-chunk // 32)
        # Hashes spread configurations almost evenly; what is left takes another turn or round. Of
        # successors many may be the same.
        share = -(-chunk // devices)
        batch = min(share + 6 * math.isqrt(share) + 4, chunk)
        sent = batch * 9 // (8 * devices) + 4
        return cls(chunk, batch, sent, 2 * batch + devices * sent)


class BitPlace(NamedTuple):
    """Where the bit of a number is. Numbers of configurations may exceed 32 bits."""

    word: Any
    bit: Any

    @classmethod
    def of(cls, number: Any) -> "BitPlace":
        """Of a number on the host, or of many."""
        number = np.asarray(number)
        return cls((number >> 5).astype(np.int32), (number & 31).astype(np.int32))

    @property
    def number(self) -> UInt32[Array, ""]:
        """Modulo 2^32."""
        return self.word.astype(jnp.uint32) * np.uint32(32) + self.bit.astype(jnp.uint32)


class OwnedSet(NamedTuple):
    """The configurations of a device, in the order of their numbers.

    - `store`: their words; `table`: finds the row of words.
    - `bits`: one for each number of all devices, set for those here; the first one lowest. Those
      from the first free number on mean nothing.
    - `numbers`: those of rows, modulo 2^32, where edges are kept.
    """

    store: UInt32[Array, "capacity words"]
    table: Int[Array, " table"]
    bits: UInt32[Array, " words_of_bits"]
    numbers: UInt32[Array, " capacity"] | None


class OwnedBlock(NamedTuple):
    """Neighbouring configurations on their owners, and how many choices they have.

    - `at`: which of the block each is.
    - `starts`: its first choice on the line of the block.
    """

    words: UInt32[Array, "words batch"]
    at: Int[Array, " batch"]
    counts: Int[Array, " batch"]
    starts: Int[Array, " batch"]


class OwnedPart(NamedTuple):
    """Choices of the line of a block, of its first `cut` configurations.

    - `first`: where positions are counted from.
    - `bases`, `ends`: of each device, between which choices it makes those of the configurations
      that it has.
    """

    cut: Int[Array, ""]
    first: Int[Array, ""]
    bases: Int[Array, " devices"]
    ends: Int[Array, " devices"]


class OwnedNumbers(NamedTuple):
    """What the host needs to know of a chunk; nothing was put in unless `fits`, `failed` is none,
    and it is not `full`."""

    fits: Any
    failed: Any  # the position of the first failure in the chunk, or none
    overflows: Any  # whether that is one of counts
    full: Any  # a device had no room for all that it received
    sent: Any  # rounds of `all_to_all`

    def array(self) -> Int[Array, " numbers"]:
        return jnp.stack([jnp.asarray(x, jnp.int32) for x in self])


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
    split.__name__ = function.__name__  # which logs and profiles show
    return jax.jit(split, donate_argnums=donated)


def owner_of(fields: UInt[Array, "fields batch"], devices: int) -> Int[Array, " batch"]:
    """The owners of configurations. Computed from fields, because words change with the packing."""
    odd = np.arange(len(fields), dtype=np.uint32) * np.uint32(0x9E3779B2) + np.uint32(0x85EBCA6B)
    bits = jnp.sum(fields.astype(jnp.uint32) * odd[:, None], axis=0, dtype=jnp.uint32)
    return (mixed(bits) % np.uint32(devices)).astype(jnp.int32)


def _own(numbers: Int[Array, " devices"]) -> Int[Array, ""]:
    return numbers[lax.axis_index(CONFIGURATIONS)]


class OwnedChoices(NamedTuple):
    """The choices of the configurations of a block, on all devices.

    - `counts`: of each, and zeros.
    - `numbers`: how many configurations are in the block, how many before the first that has too
      many choices, whether those of one device may have more than `MAX_CHOICES`, and of each device
      the configurations in the block and their choices.
    """

    counts: Int[Array, " chunk"]
    numbers: Int[Array, " three_and_two_of_each_device"]


def frontier(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    own: OwnedSet,
    first_rows: Int[Array, " devices"],
    low: BitPlace,
    num: Int[Array, ""],
    *,
    sizes: Sizes,
) -> tuple[OwnedBlock, OwnedChoices]:
    """The choices of `num` configurations from `low` on, or of as many before as no device has more
    than `batch` of."""
    chunk, batch = sizes.chunk, sizes.batch
    (at,) = jnp.nonzero(_are_set(own.bits, low, chunk), size=batch + 1, fill_value=chunk)
    end = lax.pmin(jnp.minimum(at[batch].astype(jnp.int32), num), CONFIGURATIONS)
    is_in = at[:batch] < end
    at = jnp.where(is_in, at[:batch].astype(jnp.int32), chunk)
    rows = _own(first_rows) + jnp.arange(batch, dtype=jnp.int32)
    # Or XLA would gather them again for every field.
    words = lax.optimization_barrier(own.store.at[rows].get(mode="clip").T)
    num_own = jnp.sum(is_in, dtype=jnp.int32)
    counts, is_too_much = choices_of(machine, choosers, packing, words, num_own)
    line = jnp.zeros(chunk, jnp.int32).at[at].set(counts, mode="drop")
    line = lax.psum(line, CONFIGURATIONS)
    # It wraps only after configurations that are cut off.
    starts = (jnp.cumsum(line) - line).at[at].get(mode="clip")
    usable = lax.pmin(jnp.min(jnp.where(is_too_much, at, end)), CONFIGURATIONS)
    sums = jnp.stack([num_own, jnp.sum(counts, dtype=jnp.int32)])
    sums = lax.all_gather(sums, CONFIGURATIONS, axis=1).reshape(-1)
    is_much = estimated_sum(counts) > 1.0001 * MAX_CHOICES
    is_much = lax.pmax(is_much.astype(jnp.int32), CONFIGURATIONS)
    numbers = jnp.concatenate([jnp.stack([end, usable, is_much]), sums])
    return OwnedBlock(words, at, counts, starts), OwnedChoices(line, numbers)


def spread(block: OwnedBlock, counts: Int[Array, " chunk"]) -> OwnedBlock:
    """Of a block of no more than `batch` configurations all, with these counts, on every device."""
    batch = len(block.at)
    words = jnp.zeros_like(block.words).at[:, block.at].set(block.words, mode="drop")
    words, counts = lax.psum(words, CONFIGURATIONS), counts[:batch]
    return OwnedBlock(
        words, jnp.arange(batch, dtype=jnp.int32), counts, jnp.cumsum(counts) - counts
    )


def _are_set(bits: UInt32[Array, " words"], low: BitPlace, num: int) -> Bool[Array, " num"]:
    """Which of the bits of `num` numbers are set, a multiple of 32."""
    at = low.word + jnp.arange(num // 32 + 1, dtype=jnp.int32)
    words = bits.at[at].get(mode="fill", fill_value=0)
    each = words[:, None] >> jnp.arange(32, dtype=jnp.uint32)[None] & 1
    return lax.dynamic_slice_in_dim(each.reshape(-1), low.bit, num) > 0


def _with_bits(
    bits: UInt32[Array, " words"], first: BitPlace, are_set: Bool[Array, " num"]
) -> UInt32[Array, " words"]:
    """With these bits from `first` on, a multiple of 32, and none after them nearby."""
    each = jnp.zeros(len(are_set) + 32, bool)
    each = lax.dynamic_update_slice_in_dim(each, are_set, first.bit, 0).reshape(-1, 32)
    words = jnp.sum(each.astype(jnp.uint32) << jnp.arange(32, dtype=jnp.uint32)[None], axis=1)
    before = bits[first.word] & _below(first.bit)
    return lax.dynamic_update_slice_in_dim(bits, words.at[0].add(before), first.word, 0)


def _below(bit: Int[Array, "*some"]) -> UInt32[Array, "*some"]:
    """Words in which the bits below that one are set."""
    return (np.uint32(1) << bit.astype(jnp.uint32)) - np.uint32(1)


class _Line(NamedTuple):
    """The choices of a device, one after the other."""

    block: FrontierBlock
    base: Int[Array, ""]  # the first of the chunk
    end: Int[Array, ""]
    shift: Int[Array, " batch"]  # to positions in the chunk, by parent

    def part(self, turn: Int[Array, ""], batch: int) -> Part:
        base = jnp.minimum(self.base + turn * batch, self.end)
        # This 0 is not a constant for XLA, which would leave out conditions on it.
        return Part(jnp.minimum(self.base, 0), base, jnp.minimum(base + batch, self.end))

    def turns(self, batch: int) -> Int[Array, ""]:
        """After which every device has made all of the chunk."""
        return lax.pmax(-((self.base - self.end) // batch), CONFIGURATIONS)


def _line(block: OwnedBlock, packing: Packing, part: OwnedPart) -> _Line:
    is_in = block.at < part.cut
    counts = jnp.where(is_in, block.counts, 0)
    starts = jnp.where(is_in, block.starts, 0)
    ends = jnp.cumsum(counts)

    def before(position: Int[Array, ""]) -> Int[Array, ""]:
        return jnp.sum(jnp.clip(position - starts, 0, counts), dtype=jnp.int32)

    own = FrontierBlock(block.words, packing, ends, counts, ends[-1])
    shift = starts - (ends - counts) - part.first
    return _Line(own, before(_own(part.bases)), before(_own(part.ends)), shift)


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
    - `numbers`: `OwnedNumbers` of these.
    """

    rows: UInt32[Array, "batch words_and_one"]
    order: Int[Array, " batch"]
    bounds: Int[Array, " devices_and_one"]
    numbers: Int[Array, " numbers"]


def begin_chunk(nums: Int[Array, " devices"], *, sizes: Sizes, edges: bool) -> Pending:
    """Before a chunk."""
    return Pending(
        _own(nums)[None],
        jnp.full(sizes.window, NO_POSITION),
        jnp.zeros(sizes.window, jnp.int32),
        jnp.full(sizes.chunk, -1, jnp.int32) if edges else None,
        OwnedNumbers(1, NO_POSITION, 0, 0, 0).array(),
    )


def make(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    block: OwnedBlock,
    part: OwnedPart,
    turn: Int[Array, ""],
    *,
    sizes: Sizes,
) -> Outgoing:
    """Make successors by some choices of a block; those of this turn."""
    devices, line = lax.axis_size(CONFIGURATIONS), _line(block, packing, part)
    own = line.part(turn, sizes.batch)
    given = (machine, choosers, packing, line.block, own, sizes.batch)
    successors, fields = successors_and_fields(*given)
    number = jnp.arange(sizes.batch, dtype=jnp.int32)
    positions = own.base + number + line.shift[successors.parents]
    at_failure = positions.at[successors.num_good].get(mode="clip")
    failed = jnp.where(successors.has_failed, at_failure, NO_POSITION)
    numbers = OwnedNumbers(successors.fits, failed, successors.overflows, 0, 0)
    owners = jnp.where(number < successors.num_good, owner_of(fields, devices), devices)
    order = jnp.argsort(owners).astype(jnp.int32)
    each = jnp.arange(devices + 1, dtype=jnp.int32)
    bounds = jnp.sum(owners[None] < each[:, None], axis=1, dtype=jnp.int32)
    column = lax.bitcast_convert_type(positions, jnp.uint32)[:, None]
    rows = jnp.concatenate([successors.words, column], axis=1)
    return Outgoing(rows, order, bounds, numbers.array())


def exchange(
    own: OwnedSet,
    pending: Pending,
    nums: Int[Array, " devices"],
    out: Outgoing,
    *,
    sizes: Sizes,
) -> tuple[OwnedSet, Pending]:
    """Send successors to their owners, which put them into their sets."""
    first, bounds = _own(nums), out.bounds
    rounds = lax.pmax(-jnp.min((bounds[:-1] - bounds[1:]) // sizes.sent), CONFIGURATIONS)

    def more(turn: Int[Array, ""], carry: tuple[Array, Array, Pending]) -> tuple:
        number = turn * sizes.sent + jnp.arange(sizes.sent, dtype=jnp.int32)
        at = bounds[:-1, None] + number[None]
        there = out.rows[out.order.at[at].get(mode="clip")]
        is_one = at < bounds[1:, None]
        there = there.at[..., -1].set(jnp.where(is_one, there[..., -1], np.uint32(NO_POSITION)))
        here = lax.all_to_all(there, CONFIGURATIONS, 0, 0, tiled=True)
        return _receive(*carry, here.reshape(-1, here.shape[-1]), first)

    store, table, pending = lax.fori_loop(0, rounds, more, (own.store, own.table, pending))
    now, its = OwnedNumbers(*pending.numbers), OwnedNumbers(*out.numbers)
    is_first = now.failed == NO_POSITION
    numbers = OwnedNumbers(
        fits=now.fits & its.fits,
        failed=jnp.where(is_first, its.failed, now.failed),
        overflows=jnp.where(is_first, its.overflows, now.overflows),
        full=now.full,
        sent=now.sent + rounds,
    )
    return own._replace(store=store, table=table), pending._replace(numbers=numbers.array())


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
    wanted = (positions < NO_POSITION) & ~full
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
        numbers._replace(full=full).array(),
    )
    return added.store, added.table, pending


class Brought(NamedTuple):
    """What a chunk brought, on all devices.

    - `is_new`: a bit for each position whose successor is new, the first one highest.
    - `targets`: by position, the number of the target of each edge, modulo 2^32.
    - `nums`: how many configurations each device has.
    - `numbers`: `OwnedNumbers` of all.
    """

    is_new: UInt8[Array, " bytes"]
    targets: UInt32[Array, " chunk"] | None
    nums: Int[Array, " devices"]
    numbers: Int[Array, " numbers"]


def end_chunk(
    own: OwnedSet,
    pending: Pending,
    nums: Int[Array, " devices"],
    total: BitPlace,
    *,
    chunk: int,
) -> tuple[OwnedSet, Brought]:
    """Number what is new, from `total` on, and have it in this order."""
    first, window = _own(nums), len(pending.positions)
    is_new = pending.positions < NO_POSITION
    at = jnp.where(is_new, pending.positions, chunk)
    is_first = jnp.zeros(chunk, bool).at[at].set(True, mode="drop")
    rank = jnp.cumsum(is_first, dtype=jnp.int32) - 1
    # Every bit is set by one device at most.
    words = lax.bitcast_convert_type(jnp.packbits(is_first).reshape(-1, 4), jnp.uint32)
    words = lax.psum(words, CONFIGURATIONS)
    all_new = lax.bitcast_convert_type(words, jnp.uint8).reshape(-1)
    among_all = jnp.cumsum(jnp.unpackbits(all_new), dtype=jnp.int32) - 1

    row = rank.at[at].get(mode="clip")
    to = jnp.where(is_new, row, window)
    found = lax.dynamic_slice_in_dim(own.store, first, window)
    ordered = jnp.zeros_like(found).at[to].set(found, mode="drop")
    store = lax.dynamic_update_slice_in_dim(own.store, ordered, first, 0)
    place = jnp.where(is_new, pending.places, len(own.table))
    table = own.table.at[place].set(first + row, mode="drop")
    number = among_all.at[at].get(mode="clip")
    are_own = jnp.zeros(chunk, bool).at[jnp.where(is_new, number, chunk)].set(True, mode="drop")
    bits = _with_bits(own.bits, total, are_own)

    targets, numbers = None, own.numbers
    if pending.reached is not None and numbers is not None:
        new = total.number + number.astype(jnp.uint32)
        rows = pending.reached
        found = jnp.where(
            rows < first,
            numbers.at[rows].get(mode="clip"),
            new.at[rows - first].get(mode="clip"),
        )
        targets = lax.psum(jnp.where(rows >= 0, found, np.uint32(0)), CONFIGURATIONS)
        ordered = jnp.zeros_like(new).at[to].set(new, mode="drop")
        numbers = lax.dynamic_update_slice_in_dim(numbers, ordered, first, 0)
    mine = OwnedNumbers(*pending.numbers)
    failed = lax.pmin(mine.failed, CONFIGURATIONS)
    flags = jnp.stack(
        [1 - mine.fits, jnp.where(mine.failed == failed, mine.overflows, 0), mine.full]
    )
    misfits, overflows, full = lax.pmax(flags, CONFIGURATIONS)
    told = OwnedNumbers(1 - misfits, failed, overflows, full, mine.sent)
    nums = lax.all_gather(pending.num, CONFIGURATIONS, tiled=True)
    brought = Brought(all_new, targets, nums, told.array())
    return OwnedSet(store, table, bits, numbers), brought


def largest(
    machine: Enumerable,
    choosers: Int[Array, " choosers"],
    packing: Packing,
    block: OwnedBlock,
    part: OwnedPart,
    *,
    batch: int,
) -> UInt[Array, " fields"]:
    """The largest value of every field in successors, of each device before its first failure."""
    line = _line(block, packing, part)

    def more(turn: Int[Array, ""], most: UInt[Array, " fields"]) -> UInt[Array, " fields"]:
        found = largest_fields(machine, choosers, line.block, line.part(turn, batch), batch)
        return jnp.maximum(most, found.astype(most.dtype))

    most = jnp.zeros(packing.num_fields, jnp.uint32)
    return lax.pmax(lax.fori_loop(0, line.turns(batch), more, most), CONFIGURATIONS)


# ---- all that is stored ----


def enlarged(
    rows: Shaped[Array, "capacity *row"], *, capacity: int
) -> Shaped[Array, "larger *row"]:
    return jnp.pad(rows, [(0, capacity - len(rows)), *[(0, 0)] * (rows.ndim - 1)])


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


def ranks(bits: UInt32[Array, " words"]) -> Int[Array, " words"]:
    """How many bits are set before each word: the row of the first configuration of it."""
    counts = lax.population_count(bits).astype(jnp.int32)
    return jnp.cumsum(counts) - counts


def gathered(
    store: UInt32[Array, "capacity words"],
    bits: UInt32[Array, " words_of_bits"],
    before: Int[Array, " words_of_bits"],
    numbers: BitPlace,
) -> UInt32[Array, "words block"]:
    """The words of some configurations, on all devices."""
    word = bits[numbers.word]
    is_own = word >> numbers.bit.astype(jnp.uint32) & 1 > 0
    lower = lax.population_count(word & _below(numbers.bit))
    rows = before[numbers.word] + lower.astype(jnp.int32)
    words = store.at[jnp.where(is_own, rows, 0)].get(mode="clip").T
    return lax.psum(jnp.where(is_own, words, np.uint32(0)), CONFIGURATIONS)
