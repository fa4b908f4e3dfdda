"""Many steps of one path on a GPU in one kernel: no step waits for the host or for a kernel to
start.

The neurons are shared out among programs that run at the same time, each on a multiprocessor. In
each step a program writes down what its neurons send and reads what others sent to them. Nobody
waits at a barrier: each word that is exchanged says by one bit in which step it was written, and
whoever reads a word of an earlier step reads it again. Words of odd and even steps have places of
their own. A program reads something of all others in each step, so that none is ever two steps
ahead, and no word is written over before it was read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.lax as lax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Int, PyTree

from snpjax_formats import (
    ELL,
    AbstractLayout,
    BitDense,
    BitGather,
    Identity,
    Interval,
    Ones,
    Sum,
)

from ...choice import NO_RULE
from ...results import RESULTS
from ...trajectory import Save
from .program import SpikingProgram
from .step import Selection, SpikingState


# All programs must run at the same time. Of so many, with so many warps, several fit even on a part
# of a GPU.
_MOST_PROGRAMS = 64
_LEAST_NEURONS = 64
_MOST_NEURONS = 4096  # of one program

_MAX_SLOTS = 16
_MAX_LISTED = 64  # sources of a target, or runs of them
_MAX_TILE = 2**14  # words of a matrix that a program holds
_MAX_PLANES = 4
_MAX_OUTPUTS = 64
_MAX_INPUTS = 8

_HALF = 16  # bits of sources in an exchanged word
_SIGN = jnp.iinfo(jnp.int32).min

Words: TypeAlias = Int[Array, "*shape"]


class Placed(NamedTuple):
    """A part of the synapses, and its first source and target."""

    layout: AbstractLayout
    source: int
    target: int


class SavedRows(NamedTuple):
    """What is kept of steps; `None` for what is not."""

    states: SpikingState | None
    outputs: Int[Array, "rows outputs"] | None
    details: Selection | None


@dataclass(frozen=True)
class Sharing:
    """How neurons are shared out: `neurons` to each of `programs`, of so many `warps`."""

    programs: int
    neurons: int
    warps: int


@dataclass(frozen=True)
class _Plan:
    """What is known of a kernel when it is compiled."""

    sharing: Sharing
    neurons: int
    parts: tuple[tuple[str, int, int, int, int], ...]  # kind, first source, target; how many
    planes: int
    every: int | None
    in_order: bool  # interpreted: one program, nothing to wait for

    @property
    def room(self) -> int:
        return self.sharing.programs * self.sharing.neurons

    def has(self, *kinds: str) -> bool:
        return any(kind in kinds for kind, *_ in self.parts)

    @property
    def sections(self) -> dict[str, int]:
        """Where the words of a step begin, by what they say; the end as well. Those before `sums`
        are read by all programs."""
        has_runs = self.has("ones", "runs")
        sizes = {
            "bits": self.planes * self.room // _HALF,
            "flags": self.sharing.programs,
            "totals": self.sharing.programs if has_runs else 0,
            "sums": self.room if has_runs else 0,
            "values": self.room if self.has("list", "same") else 0,
        }
        starts, at = {}, 0
        for name, size in sizes.items():
            starts[name], at = at, at + size
        return starts | {"end": at}


def is_supported(program: SpikingProgram, save: Save) -> bool:
    """Whether a kernel makes the steps of a program, by the first applicable rules."""
    return (
        program.initial.dtype == jnp.int32
        and not program.may_overflow
        and not program.is_exhaustive
        and program.compatibility.is_textbook
        and program.network is None
        and program.ordered is None
        and program.rows is None
        and program.low.ndim == program.trains.ndim == 2
        and program.low.shape[0] <= _MAX_SLOTS
        and program.inputs.shape[0] <= _MAX_INPUTS
        and (program.outputs.shape[0] <= _MAX_OUTPUTS or not save.outputs)
        and program.synapses is not None
        and sharing_of(program.num_neurons, program.synapses) is not None
    )


def parts_of(layout: AbstractLayout, source: int = 0, target: int = 0) -> list[Placed] | None:
    """The synapses as parts that the kernel knows, or `None`."""
    if isinstance(layout, Sum):
        starts = zip(layout.parts, layout.source_starts, layout.target_starts, strict=True)
        found = [parts_of(part, source + s, target + t) for part, s, t in starts]
        if any(parts is None for parts in found):
            return None
        return [part for parts in found if parts is not None for part in parts]
    match layout:
        case Ones():
            is_known = layout.has_self
        case Interval():
            is_known = layout.by == "target" and len(layout.start) <= _MAX_LISTED
        case BitDense():
            planes = layout.num_planes
            is_known = source % (2 * _HALF) == 0 and planes is not None and planes <= _MAX_PLANES
        case ELL():
            values = layout.values
            is_known = len(layout.sources) <= _MAX_LISTED and (
                values is None or jnp.issubdtype(values.dtype, jnp.integer)
            )
        case BitGather():
            is_known = layout.num_planes is not None and len(layout.sources) <= _MAX_LISTED
        case Identity():
            is_known = True
        case _:
            is_known = False
    return [Placed(layout, source, target)] if is_known else None


def sharing_of(num_neurons: int, layout: AbstractLayout) -> Sharing | None:
    """How the neurons are shared out, or `None` where no program could hold its share."""
    parts = parts_of(layout)
    if parts is None or num_neurons == 0:
        return None
    own = max(_power(-(-num_neurons // _MOST_PROGRAMS)), _LEAST_NEURONS)
    tiles = [_power(len(p.layout.words)) for p in parts if isinstance(p.layout, BitDense)]
    tiles += [_power(len(p.layout.sources)) for p in parts if isinstance(p.layout, ELL | BitGather)]
    if own > _MOST_NEURONS or own * max(tiles, default=1) > _MAX_TILE:
        return None
    # No more threads than neurons: see `_Reading`.
    return Sharing(-(-num_neurons // own), own, min(own // 32, 8))


def steps_on_gpu(
    program: SpikingProgram,
    state: SpikingState,
    most: Int[Array, ""],
    *,
    save: Save,
    rows: int,
    sharing: Sharing | None = None,
    interpret: bool = False,
) -> tuple[SpikingState, Int[Array, ""], SavedRows]:
    """At most `most` steps by the first applicable rules, how many were made, and what was to be
    saved of the first `rows` ones.

    **Arguments:**

    - `interpret`: run the kernel without a GPU, for tests, as one program.
    """
    assert program.synapses is not None
    parts = parts_of(program.synapses)
    sharing = sharing or sharing_of(program.num_neurons, program.synapses)
    assert parts is not None and sharing is not None
    if interpret:
        sharing = Sharing(1, _power(program.num_neurons), 1)
    known = [_known(part) for part in parts]
    every = save.every
    plan = _Plan(
        sharing=sharing,
        neurons=program.num_neurons,
        parts=tuple(static for static, _ in known),
        planes=max(
            [p.layout.num_planes or 0 for p in parts if isinstance(p.layout, BitDense)] + [0]
        ),
        every=every,
        in_order=interpret,
    )
    tables = {
        name: getattr(program, name)
        for name in ("low", "high", "period", "consume", "produce", "delay", "number", "type_of")
    }
    most = jnp.where(state.status == RESULTS.halted, most, 0)
    horizon = program.horizon if program.trains.shape[0] else jnp.zeros((), jnp.int32)
    given = {
        "tables": tables,
        "parts": [arrays for _, arrays in known],
        "limits": jnp.stack([most, state.step, horizon]).astype(jnp.int32),
        "outputs": program.outputs if save.outputs and program.outputs.shape[0] else None,
        "trains": (program.inputs, program.trains) if program.trains.size else None,
        "state": (state.spikes, state.timers, state.pending),
    }
    changing = program.delay is not None
    size = program.num_neurons
    kept = {"exchange": jnp.zeros(2 * plan.sections["end"], jnp.int32)}
    if every is not None:
        names = ("spikes", "timers", "pending") if changing else ("spikes",)
        state_rows = rows // every + 1
        kept |= {f"state {name}": jnp.zeros((state_rows, size), jnp.int32) for name in names}
    if save.details:
        kept |= {"rules": jnp.full((rows, size), NO_RULE, jnp.int32)}
        kept |= {"emissions": jnp.zeros((rows, size), jnp.int32)}
        if program.has_families:
            kept |= {"consumed": jnp.zeros((rows, size), jnp.int32)}
    if save.outputs:
        kept |= {"outputs": jnp.zeros((rows, len(program.outputs)), jnp.int32)}
    aliased = {name: x for name, x in kept.items() if x.size}
    leaves, tree = jax.tree.flatten((given, aliased))
    num_read = len(jax.tree.leaves(given))
    ended = {"made": jnp.zeros(1, jnp.int32), "spikes": state.spikes}
    if changing:
        ended |= {"timers": state.timers, "pending": state.pending}
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in jax.tree.leaves((aliased, ended))]
    call = pl.pallas_call(
        partial(
            _kernel,
            tree=tree,
            ended=jax.tree.structure((aliased, ended)),
            plan=plan,
            has_families=program.has_families,
        ),
        out_shape=shapes,
        grid=(sharing.programs,),
        input_output_aliases={num_read + i: i for i in range(len(aliased))},
        compiler_params=plgpu.CompilerParams(num_warps=sharing.warps, num_stages=1),
        interpret=interpret,
    )
    written, end = jax.tree.unflatten(jax.tree.structure((aliased, ended)), call(*leaves))
    kept |= written
    made = end["made"][0]
    culprit = jnp.where(most > 0, program.num_neurons, state.culprit)  # nobody
    new_state = SpikingState(
        spikes=end["spikes"],
        timers=end.get("timers", state.timers),
        pending=end.get("pending", state.pending),
        step=state.step + made,
        status=state.status,
        culprit=culprit,
    )
    states = details = None
    if every is not None:
        num = len(kept["state spikes"])

        def same(x: PyTree) -> PyTree:
            return jax.tree.map(lambda one: jnp.broadcast_to(one, (num, *one.shape)), x)

        states = SpikingState(
            spikes=kept["state spikes"],
            timers=kept.get("state timers", same(state.timers)),
            pending=kept.get("state pending", same(state.pending)),
            step=(state.step // every + 1 + jnp.arange(num, dtype=jnp.int32)) * every,
            status=same(state.status),
            culprit=same(culprit),
        )
    if save.details:
        details = Selection(kept["rules"], kept["emissions"], kept.get("consumed"))
    return new_state, made, SavedRows(states, kept.get("outputs"), details)


def _known(part: Placed) -> tuple[tuple[str, int, int, int, int], dict[str, Array | None]]:
    """A part as the kernel takes it."""
    layout, source, target = part
    sizes = (source, target, layout.num_sources, layout.num_targets)
    match layout:
        case Ones():
            return ("ones", *sizes), {}
        case Interval():
            return ("runs", *sizes), {"start": layout.start, "stop": layout.stop}
        case BitDense():
            return ("bits", *sizes), {"words": lax.bitcast_convert_type(layout.words, jnp.int32)}
        case ELL():
            return ("list", *sizes), {"sources": layout.sources, "values": layout.values}
        case BitGather():
            return ("list", *sizes), {"sources": layout.sources, "values": None}
    return ("same", *sizes), {}


def _kernel(*refs: Any, tree: Any, ended: Any, plan: _Plan, has_families: bool) -> None:
    num_written = ended.num_leaves
    given, _ = jax.tree.unflatten(tree, refs[:-num_written])
    kept, end = jax.tree.unflatten(ended, refs[-num_written:])
    tables = given["tables"]
    own_size, num_programs = plan.sharing.neurons, plan.sharing.programs
    block = pl.program_id(0)
    own = block * own_size + lax.iota(jnp.int32, own_size)
    inside = own < plan.neurons
    limits = given["limits"]
    most, first_step, horizon = limits[0], limits[1], limits[2]
    sections, exchange = plan.sections, kept["exchange"]
    is_alone = num_programs == 1

    def of_own(ref: Any, *lead: Any) -> Words:
        return plgpu.load(ref.at[(*lead, own)], mask=inside, other=0)

    column = own if tables["type_of"] is None else of_own(tables["type_of"])

    def column_of(name: str, slot: int) -> Words | None:
        if tables[name] is None:
            return None
        return plgpu.load(tables[name].at[slot, column], mask=inside, other=0)

    slots = [
        {name: column_of(name, slot) for name in tables if name != "type_of"}
        for slot in range(tables["low"].shape[0])
    ]
    reading = _Reading(plan, given["parts"], own)

    def select(spikes: Words, is_open: Words | None) -> dict[str, Words]:
        """The first applicable rule of each neuron: its number, what it makes, and whether it is
        there."""
        found = {"rules": jnp.full_like(spikes, NO_RULE)}
        found |= {name: jnp.zeros_like(spikes) for name in ("consume", "produce", "delay")}
        for slot in reversed(range(len(slots))):
            rule = slots[slot]
            applies = inside & (rule["low"] <= spikes) & (spikes <= rule["high"])
            if rule["period"] is not None:
                period = jnp.maximum(rule["period"], 1)
                applies &= lax.rem(spikes - rule["low"], period) == 0
            if is_open is not None:
                applies &= is_open
            number = jnp.full_like(spikes, slot) if rule["number"] is None else rule["number"]
            values = rule | {"rules": number}
            found = {
                name: old if values[name] is None else jnp.where(applies, values[name], old)
                for name, old in found.items()
            }
        return found

    def turn(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        left, made, spikes, timers, pending = carry
        used = select(spikes, None if timers is None else timers == 0)
        fires = used["rules"] != NO_RULE
        consumed = used["consume"]
        if has_families:
            consumed = jnp.where(consumed < 0, spikes, consumed)
        is_active, emissions = fires, used["produce"]
        if timers is not None:
            is_active |= timers > 0
            timers = jnp.where(fires, used["delay"], jnp.maximum(timers - 1, 0))
            leaving = jnp.where(fires, used["produce"], pending)
            emissions = jnp.where(timers == 0, leaving, 0)
            pending = jnp.where(timers == 0, 0, leaving)
        mark = (((made >> 1) & 1) ^ 1) << 31
        at = (made & 1) * sections["end"]
        _publish(plan, exchange, at, mark, block, emissions)
        active = jnp.max(is_active.astype(jnp.int32))
        exchange[at + sections["flags"] + block] = active | mark
        if is_alone and not plan.in_order:
            plgpu.debug_barrier()

        def look() -> tuple[Words, ...]:
            return tuple(
                plgpu.load(exchange.at[at + index], volatile=not is_alone)
                for index in reading.indices
            )

        words = look()
        if not is_alone:
            words = lax.while_loop(
                lambda seen: reading.is_late(seen, mark), lambda _: look(), words
            )
        active, arriving = reading.found(words)
        step = first_step + made
        live = jnp.maximum(active, (step < horizon).astype(jnp.int32))
        if given["trains"] is not None:
            inputs, trains = given["trains"]
            for one in range(inputs.shape[0]):
                is_there = (own == inputs[one]) & (step < trains.shape[0])
                sent = trains[jnp.minimum(step, trains.shape[0] - 1), one]
                arriving += jnp.where(is_there, sent, 0)
        if timers is not None:
            arriving = jnp.where(timers == 0, arriving, 0)
        spikes = spikes - consumed + arriving

        def keep(name: str, row: Any, values: Words, mask: Any) -> None:
            if name in kept:
                plgpu.store(kept[name].at[row, own], values, mask=inside & mask)

        is_made = live != 0
        keep("rules", made, used["rules"], is_made)
        keep("emissions", made, emissions, is_made)
        keep("consumed", made, consumed, is_made)
        if given["outputs"] is not None and "outputs" in kept:
            _keep_outputs(given["outputs"], kept["outputs"], own, made, emissions, is_made)
        if plan.every is not None:
            row = (step + 1) // plan.every - 1 - first_step // plan.every
            is_kept = is_made & ((step + 1) % plan.every == 0)
            row = jnp.where(is_kept, row, 0)
            keep("state spikes", row, spikes, is_kept)
            if timers is not None:
                keep("state timers", row, timers, is_kept)
                keep("state pending", row, pending, is_kept)
        return (left - live) * live, made + live, spikes, timers, pending

    start = [of_own(x) for x in given["state"]]
    if tables["delay"] is None:
        start[1:] = [None, None]
    # One comparison: Triton's compiler (jax 0.10.2) fails over a conjunction here.
    _, made, *last = lax.while_loop(lambda now: now[0] > 0, turn, (most, jnp.int32(0), *start))
    end["made"][0] = made
    for name, values in zip(("spikes", "timers", "pending"), last, strict=True):
        if values is not None:
            plgpu.store(end[name].at[own], values, mask=inside)


def _publish(
    plan: _Plan, exchange: Any, at: Array, mark: Array, block: Array, emissions: Words
) -> None:
    """What the neurons of a program send, in all forms that others read."""
    size = plan.sharing.neurons
    place = lax.iota(jnp.int32, size)

    def put(section: str, offset: Array | int, values: Words) -> None:
        where = at + plan.sections[section] + offset
        exchange[where] = (values & ~_SIGN) | mark

    if plan.has("ones", "runs"):
        sums = lax.cumsum(emissions)
        put("sums", block * size + place, sums)
        total = exchange.at[at + plan.sections["totals"] + block + jnp.zeros_like(place)]
        plgpu.store(total, (sums & ~_SIGN) | mark, mask=place == size - 1)
    if plan.has("list", "same"):
        put("values", block * size + place, emissions)
    for plane in range(plan.planes):
        bits = ((emissions >> plane) & 1).reshape(size // _HALF, _HALF)
        lane = lax.broadcasted_iota(jnp.int32, (size // _HALF, _HALF), 1)
        half = jnp.sum(bits << lane, axis=1)
        first = plane * plan.room // _HALF + block * (size // _HALF)
        put("bits", first + lax.iota(jnp.int32, size // _HALF), half)


def _keep_outputs(
    outputs: Any, kept: Any, own: Words, row: Array, emissions: Words, is_made: Array
) -> None:
    """The emissions of those output neurons that are a program's own."""
    num = outputs.shape[0]
    which = lax.iota(jnp.int32, _power(num))
    neuron = plgpu.load(outputs.at[which], mask=which < num, other=-1)
    is_one = neuron[:, None] == own[None, :]
    sent = jnp.sum(jnp.where(is_one, emissions[None, :], 0), axis=1)
    is_own = jnp.max(is_one.astype(jnp.int32), axis=1) != 0
    plgpu.store(kept.at[row, which], sent, mask=is_own & is_made)


class _Reading:
    """What a program reads in each step: places of words, and what follows from them.

    Words that may be late are read into vectors with at least an element a thread. Of shorter ones
    each warp would read a copy, and some warps would wait where others go on.
    """

    def __init__(self, plan: _Plan, parts: list[dict[str, Any]], own: Words):
        self.plan = plan
        num_near = plan.sections["sums"]
        self._size = max(_power(num_near), 32 * plan.sharing.warps, 2)
        self._near = lax.iota(jnp.int32, self._size)
        self.indices: list[Words] = [jnp.minimum(self._near, num_near - 1)]
        self._terms: list[Callable[[tuple[Words, ...]], Words]] = []
        runs: list[tuple[list[tuple[int, int]], Words, Words]] = []
        for (kind, source, target, num_sources, num_targets), arrays in zip(
            plan.parts, parts, strict=True
        ):
            local = own - target
            inside = (local >= 0) & (local < num_targets)
            if kind == "bits":
                self._add_bits(arrays["words"], source, local, inside)
            elif kind == "list":
                self._add_list(arrays, source, num_sources, local, inside)
            elif kind == "same":
                index = self._index("values", jnp.where(inside, local + source, 0))
                self._terms.append(partial(_of_one, index, inside))
            else:
                count = 1 if kind == "ones" else arrays["start"].shape[0]
                for run in range(count):
                    if kind == "ones":
                        begin = jnp.where(inside, source, 0)
                        stop = jnp.where(inside, source + num_sources, 0)
                    else:
                        begin, stop = (
                            plgpu.load(arrays[name].at[run, local], mask=inside, other=-source)
                            + source
                            for name in ("start", "stop")
                        )
                    _place(runs, (target, target + num_targets), begin, stop)
        for _, begin, stop in runs:
            self._add_run(begin, stop)

    def _index(self, section: str, index: Words) -> int:
        self.indices.append(self.plan.sections[section] + index)
        return len(self.indices) - 1

    def _add_run(self, begin: Words, stop: Words) -> None:
        """A run of sources: the difference of two sums."""
        is_some = begin < stop
        ends = [jnp.where(is_some, x, 0) for x in (begin, stop)]
        at = [self._index("sums", jnp.maximum(x - 1, 0)) for x in ends]
        block = [jnp.where(x > 0, (x - 1) // self.plan.sharing.neurons, 0) for x in ends]

        def term(words: tuple[Words, ...]) -> Words:
            low, high = (jnp.where(x > 0, words[i], 0) for i, x in zip(at, ends, strict=True))
            total = high - low
            if self.plan.sharing.programs > 1:
                number = (self._near - self.plan.sections["totals"])[:, None]
                is_between = (number >= block[0][None]) & (number < block[1][None])
                total += jnp.sum(jnp.where(is_between, words[0][:, None], 0), axis=0)
            return total

        self._terms.append(term)

    def _add_bits(self, matrix: Any, source: int, local: Words, inside: Words) -> None:
        num_words = matrix.shape[0]
        pair = lax.iota(jnp.int32, self._size // 2)
        for plane in range(self.plan.planes):
            word = pair - (plane * self.plan.room + source) // (2 * _HALF)
            is_word = (word >= 0) & (word < num_words)
            held = plgpu.load(
                matrix.at[word[:, None], local[None]],
                mask=is_word[:, None] & inside[None],
                other=0,
            )

            def term(words: tuple[Words, ...], held: Words = held, plane: int = plane) -> Words:
                halves = (words[0] & 0xFFFF).reshape(self._size // 2, 2)
                shift = lax.broadcasted_iota(jnp.int32, halves.shape, 1) * _HALF
                sent = jnp.sum(halves << shift, axis=1)
                return jnp.sum(lax.population_count(held & sent[:, None]), axis=0) << plane

            self._terms.append(term)

    def _add_list(
        self, arrays: dict[str, Any], source: int, num_sources: int, local: Words, inside: Words
    ) -> None:
        num_slots = arrays["sources"].shape[0]
        slot = lax.iota(jnp.int32, _power(num_slots))
        at = (slot[:, None], local[None])
        there = (slot < num_slots)[:, None] & inside[None]
        sources = plgpu.load(arrays["sources"].at[at], mask=there, other=0).astype(jnp.int32)
        there &= sources < num_sources
        weights = there.astype(jnp.int32)
        if arrays["values"] is not None:
            values = plgpu.load(arrays["values"].at[at], mask=there, other=0)
            weights = jnp.where(there, values.astype(jnp.int32), 0)
        index = self._index("values", jnp.where(there, sources + source, 0))
        self._terms.append(lambda words: jnp.sum(_signed(words[index]) * weights, axis=0))

    def is_late(self, words: tuple[Words, ...], mark: Array) -> Array:
        """Whether some words are those of an earlier step."""
        late: dict[tuple[int, ...], Words] = {}
        for word in words:
            late[word.shape] = late.get(word.shape, 0) | (word ^ mark)
        return sum(jnp.sum((x < 0).astype(jnp.int32)) for x in late.values()) != 0

    def found(self, words: tuple[Words, ...]) -> tuple[Array, Words]:
        """Whether any neuron is active, and what arrives."""
        number = self._near - self.plan.sections["flags"]
        is_flag = (number >= 0) & (number < self.plan.sharing.programs)
        active = jnp.max(jnp.where(is_flag, words[0] & ~_SIGN, 0))
        total = jnp.zeros(self.plan.sharing.neurons, jnp.int32)
        for term in self._terms:
            total = total + term(words)
        return active, _signed(total)


def _of_one(index: int, inside: Words, words: tuple[Words, ...]) -> Words:
    return jnp.where(inside, _signed(words[index]), 0)


def _place(
    runs: list[tuple[list[tuple[int, int]], Words, Words]],
    targets: tuple[int, int],
    begin: Words,
    stop: Words,
) -> None:
    """Put a run beside those of other targets, so that they are read together."""
    for at, (taken, *ends) in enumerate(runs):
        if all(targets[1] <= first or last <= targets[0] for first, last in taken):
            runs[at] = ([*taken, targets], ends[0] + begin, ends[1] + stop)
            return
    runs.append(([targets], begin, stop))


def _signed(words: Words) -> Words:
    """The number of 31 bits in each word."""
    return (words << 1) >> 1


def _power(size: int) -> int:
    """The least power of 2 that is at least as much."""
    return 1 << max(size - 1, 0).bit_length()
