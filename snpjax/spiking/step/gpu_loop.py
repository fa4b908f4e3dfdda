"""Many steps of one path on a GPU in one kernel: no step waits for the host or for a kernel to
start.

The neurons are divided among programs that run at the same time, each on a multiprocessor of its
own. In each step a program writes down what its neurons send and reads what it needs of the others.
There is no barrier between programs: one bit of each exchanged word tells the step in which it was
written, and a reader polls until all of its words are those of this step. Words of odd and even
steps have separate places. Each program reads a word of every other one in each step, so no program
is ever two steps ahead of another, and no word is overwritten before it was read.

All values in the kernel are vectors with an element or a few for each thread. Triton lays matrices
out so that threads repeat each other's work: a step with a matrix of bits took 22 us that way, and
takes 2 (H200, jax 0.11.2, 2026-11).
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
from ...machine import Stride
from ...results import RESULTS
from ...trajectory import Save
from .program import SpikingProgram
from .step import Selection, SpikingState


# A program for each multiprocessor at most, since all of them must run at the same time. Small ones
# wait for each other longer than they work: a step of 15,000 neurons takes 2.55 us in 60 programs
# of 128 threads, 3.0 in 120 or in 30 (H200, jax 0.11.2, 2026-11).
_MOST_PROGRAMS = 128
_LEAST_NEURONS, _FEW, _LEAST_OF_MANY = 128, 4096, 256
_MOST_NEURONS = 1024  # of one program; no fewer than there are programs
_LEAST_THREADS, _MOST_THREADS = 128, 256

# Most registers of a thread for one kind of table.
_MAX_RULES = 64
_MAX_READ = 64
_MAX_BITS = 96  # words of a matrix, for each plane: 128 take 4 s to compile, 256 took 12
_MAX_PLANES = 4
_MAX_OUTPUTS = 64
_MAX_INPUTS = 8

_HALF = 16  # bits of sources in an exchanged word
_SIGN = jnp.iinfo(jnp.int32).min

Words: TypeAlias = Int[Array, " neurons"]


class Placed(NamedTuple):
    """A part of the synapses, and its first source and target."""

    layout: AbstractLayout
    source: int
    target: int


@dataclass(frozen=True)
class Sharing:
    """How neurons are divided: `neurons` to each of `programs`, which have `warps` each."""

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
    has_families: bool
    is_interpreted: bool

    @property
    def room(self) -> int:
        return self.sharing.programs * self.sharing.neurons

    def has(self, *kinds: str) -> bool:
        return any(kind in kinds for kind, *_ in self.parts)

    def memory(self, num_words: int) -> int:
        """The words that a program writes for itself if matrices of bits have `num_words` rows."""
        return self.sharing.neurons + self.planes * num_words

    @property
    def sections(self) -> dict[str, int]:
        """Where the words of a step begin, by what they say; the end as well."""
        has_runs = self.has("ones", "runs")
        sizes = {
            "flags": self.sharing.programs,
            "totals": self.sharing.programs if has_runs else 0,
            "sums": self.room if has_runs else 0,
            "bits": self.planes * self.room // _HALF,
            "values": self.room if self.has("list", "same") else 0,
        }
        starts, at = {}, 0
        for name, size in sizes.items():
            starts[name], at = at, at + size
        return starts | {"end": at}


def num_cores() -> int:
    """The multiprocessors of the GPU on which arrays are by default; 0 if it is not NVIDIA's."""
    device = jax.devices()[0]
    is_other = jax.config.jax_default_device is not None  # pyright: ignore
    return 0 if is_other or "NVIDIA" not in device.device_kind else device.core_count


def is_supported(program: SpikingProgram, save: Save, cores: int) -> bool:
    """Whether a kernel on that many multiprocessors makes the steps of a program, by the first
    applicable rules."""
    return (
        program.initial.dtype == jnp.int32
        and not program.may_overflow
        and not program.is_exhaustive
        and program.compatibility.is_textbook
        and program.network is None
        and program.requests is None
        and program.ordered is None
        and program.rows is None
        and program.low.ndim == program.trains.ndim == 2
        and program.inputs.shape[0] <= _MAX_INPUTS
        and (program.outputs.shape[0] <= _MAX_OUTPUTS or not save.outputs)
        and sharing_of(program, cores) is not None
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
            is_known = layout.by == "target"
        case BitDense():
            planes = layout.num_planes
            is_known = source % (2 * _HALF) == 0 and planes is not None and planes <= _MAX_PLANES
        case ELL():
            values = layout.values
            is_known = values is None or jnp.issubdtype(values.dtype, jnp.integer)
        case BitGather():
            is_known = layout.num_planes is not None
        case Identity():
            is_known = True
        case _:
            is_known = False
    return [Placed(layout, source, target)] if is_known else None


def sharing_of(program: SpikingProgram, cores: int) -> Sharing | None:
    """How the neurons are divided, or `None` where no program could hold its share."""
    size = program.num_neurons
    parts = None if program.synapses is None else parts_of(program.synapses)
    most = min(cores, _MOST_PROGRAMS)
    if parts is None or size == 0 or most == 0:
        return None
    least = _LEAST_NEURONS if size <= _FEW else _LEAST_OF_MANY
    own = max(_power(-(-size // most)), least)
    threads = min(max(own // 2, _LEAST_THREADS), _MOST_THREADS)
    rules, read, bits = program.low.shape[0], 0, 0
    for layout, *_ in parts:
        match layout:
            case ELL() | BitGather():
                read += len(layout.sources)
            case Interval():
                read += 2 * len(layout.start)
            case BitDense():
                bits += len(layout.words) * (layout.num_planes or 0)
            case _:
                read += 2
    held = own // threads
    fits = rules * held <= _MAX_RULES and read * held <= _MAX_READ and bits * held <= _MAX_BITS
    is_one = own <= _MOST_NEURONS and fits
    return Sharing(-(-size // own), own, threads // 32) if is_one else None


def steps_on_gpu(
    program: SpikingProgram,
    state: SpikingState,
    most: Int[Array, ""],
    *,
    start: Int[Array, ""],
    rows: int,
    save: Save,
    cores: int,
    sharing: Sharing | None = None,
    interpret: bool = False,
) -> Stride:
    """At most `most` steps by the first applicable rules, see `Striding`.

    **Arguments:**

    - `cores`: the multiprocessors of the GPU.
    - `sharing`: how the neurons are divided, for tuning.
    - `interpret`: run the kernel without a GPU, for tests, as one program.
    """
    assert program.synapses is not None
    parts = parts_of(program.synapses)
    sharing = sharing or sharing_of(program, cores)
    assert parts is not None and sharing is not None
    if interpret:
        sharing = Sharing(1, max(_power(program.num_neurons), _LEAST_NEURONS), 1)
    known = [_known(part) for part in parts]
    every = save.every
    planes = [p.layout.num_planes or 0 for p in parts if isinstance(p.layout, BitDense)]
    plan = _Plan(
        sharing=sharing,
        neurons=program.num_neurons,
        parts=tuple(static for static, _ in known),
        planes=max(planes, default=0),
        every=every,
        has_families=program.has_families,
        is_interpreted=interpret,
    )
    tables = ("low", "high", "period", "consume", "produce", "delay", "number", "type_of")
    most = jnp.where(state.status == RESULTS.halted, most, 0)
    horizon = program.horizon if program.trains.shape[0] else jnp.zeros((), jnp.int32)
    given = {
        "tables": {name: getattr(program, name) for name in tables},
        "parts": [arrays for _, arrays in known],
        "limits": jnp.stack([most, state.step, horizon, start]).astype(jnp.int32),
        "outputs": program.outputs if save.outputs and program.outputs.shape[0] else None,
        "trains": (program.inputs, program.trains) if program.trains.size else None,
        "state": (state.spikes, state.timers, state.pending),
    }
    has_delay = program.delay is not None
    size = program.num_neurons
    num_words = sum(len(p.layout.words) for p in parts if isinstance(p.layout, BitDense))
    kept = {
        "exchange": jnp.zeros(2 * plan.sections["end"], jnp.int32),
        "memory": jnp.zeros(sharing.programs * plan.memory(num_words), jnp.int32),
    }
    if every is not None:
        names = ("spikes", "timers", "pending") if has_delay else ("spikes",)
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
    if has_delay:
        ended |= {"timers": state.timers, "pending": state.pending}
    written, written_tree = jax.tree.flatten((aliased, ended))
    call = pl.pallas_call(
        partial(_kernel, tree=tree, written=written_tree, plan=plan),
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in written],
        grid=(sharing.programs,),
        input_output_aliases={num_read + i: i for i in range(len(aliased))},
        compiler_params=plgpu.CompilerParams(num_warps=sharing.warps, num_stages=1),
        interpret=interpret,
    )
    changed, end = jax.tree.unflatten(written_tree, call(*leaves))
    kept |= changed
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
            step=state.step
            - start
            + (start // every + 1 + jnp.arange(num, dtype=jnp.int32)) * every,
            status=same(state.status),
            culprit=same(culprit),
        )
    if save.details:
        details = Selection(kept["rules"], kept["emissions"], kept.get("consumed"))
    return Stride(new_state, made, (states, kept.get("outputs"), details))


def _known(part: Placed) -> tuple[tuple[str, int, int, int, int], dict[str, Any]]:
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


def _kernel(*refs: Any, tree: Any, written: Any, plan: _Plan) -> None:
    given, _ = jax.tree.unflatten(tree, refs[: -written.num_leaves])
    kept, end = jax.tree.unflatten(written, refs[-written.num_leaves :])
    tables = given["tables"]
    size = plan.sharing.neurons
    block = pl.program_id(0)
    place = lax.iota(jnp.int32, size)
    own = block * size + place
    inside = own < plan.neurons
    limits = given["limits"]
    most, first_step, horizon, begun = limits[0], limits[1], limits[2], limits[3]
    exchange = kept["exchange"]

    def of_own(ref: Any, *lead: Any) -> Words:
        return plgpu.load(ref.at[(*lead, own)], mask=inside, other=0)

    column = own if tables["type_of"] is None else of_own(tables["type_of"])

    def column_of(name: str, slot: int) -> Any:
        if tables[name] is None:
            return None
        return plgpu.load(tables[name].at[slot, column], mask=inside, other=0)

    slots = [
        {name: column_of(name, slot) for name in tables if name != "type_of"}
        for slot in range(tables["low"].shape[0])
    ]
    num_words = sum(len(part["words"]) for part in given["parts"] if "words" in part)
    first = block * plan.memory(num_words)
    reading = _Reading(plan, given["parts"], own, place, kept["memory"], first)

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
            for name, value in values.items():
                if name in found and value is not None:
                    found[name] = jnp.where(applies, value, found[name])
        return found

    def turn(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        left, made, spikes, timers, pending = carry
        used = select(spikes, None if timers is None else timers == 0)
        fires = used["rules"] != NO_RULE
        consumed = used["consume"]
        if plan.has_families:
            consumed = jnp.where(consumed < 0, spikes, consumed)
        is_active, emissions = fires, used["produce"]
        if timers is not None:
            is_active |= timers > 0
            timers = jnp.where(fires, used["delay"], jnp.maximum(timers - 1, 0))
            leaving = jnp.where(fires, used["produce"], pending)
            emissions = jnp.where(timers == 0, leaving, 0)
            pending = jnp.where(timers == 0, 0, leaving)
        mark = (((made >> 1) & 1) ^ 1) << 31
        at = (made & 1) * plan.sections["end"]
        _publish(plan, exchange, at, mark, block, place, emissions)
        active = jnp.max(is_active.astype(jnp.int32))
        exchange[at + plan.sections["flags"] + block] = active | mark
        active, arriving = reading.arrived(exchange, at, mark)
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
            num = given["outputs"].shape[0]
            for one in range(num):
                is_own = inside & (own == given["outputs"][one])
                where = kept["outputs"].at[made, jnp.where(is_own, one, num)]
                plgpu.store(where, emissions, mask=is_own & is_made)
        if plan.every is not None:
            now = begun + made + 1
            row = now // plan.every - 1 - begun // plan.every
            is_kept = is_made & (now % plan.every == 0)
            row = jnp.where(is_kept, row, 0)
            keep("state spikes", row, spikes, is_kept)
            if timers is not None:
                keep("state timers", row, timers, is_kept)
                keep("state pending", row, pending, is_kept)
        return (left - live) * live, made + live, spikes, timers, pending

    spikes, timers, pending = (of_own(x) for x in given["state"])
    start = (spikes, None, None) if tables["delay"] is None else (spikes, timers, pending)
    # One comparison: Triton's compiler (jax 0.10.2) fails over a conjunction here.
    _, made, *last = lax.while_loop(lambda now: now[0] > 0, turn, (most, jnp.int32(0), *start))
    end["made"][0] = made
    for name, values in zip(("spikes", "timers", "pending"), last, strict=True):
        if values is not None:
            plgpu.store(end[name].at[own], values, mask=inside)


def _publish(
    plan: _Plan,
    exchange: Any,
    at: Array,
    mark: Array,
    block: Array,
    place: Words,
    emissions: Words,
) -> None:
    """What the neurons of a program send, in all forms that others read."""
    size = plan.sharing.neurons

    def put(section: str, offset: Words, values: Words, mask: Array | None = None) -> None:
        index = at + plan.sections[section] + offset
        if mask is not None:  # interpreted, what is masked is written as it was
            index = jnp.where(mask, index, 2 * plan.sections["end"])
        plgpu.store(exchange.at[index], (values & ~_SIGN) | mark, mask=mask)

    if plan.has("ones", "runs"):
        sums = lax.cumsum(emissions)
        put("sums", block * size + place, sums)
        put("totals", block + jnp.zeros_like(place), sums, place == size - 1)
    if plan.has("list", "same"):
        put("values", block * size + place, emissions)
    for plane in range(plan.planes):
        # 16 bits are the difference of two of these words.
        bits = lax.cumsum(((emissions >> plane) & 1) << (place % _HALF))
        first = (plane * plan.room + block * size) // _HALF
        put("bits", first + place // _HALF, bits, place % _HALF == _HALF - 1)


class _Reading:
    """What a program reads in each step: places of words, and what follows from them."""

    def __init__(
        self,
        plan: _Plan,
        parts: list[dict[str, Any]],
        own: Words,
        place: Words,
        memory: Any,
        first: Array,
    ):
        self.plan = plan
        self.place = place
        self.memory = memory
        self.first = first  # of the words of memory that are the program's own
        self._used = plan.sharing.neurons
        self._indices: list[Words] = []
        self._prepare: list[Callable[[list[Words]], None]] = []
        self._terms: list[Callable[[list[Words]], Words]] = []
        self._index("flags", jnp.minimum(place, plan.sharing.programs - 1))
        runs: list[tuple[list[tuple[int, int]], Words, Words]] = []
        for (kind, source, target, num_sources, num_targets), arrays in zip(
            plan.parts, parts, strict=True
        ):
            local = own - target
            inside = (local >= 0) & (local < num_targets)
            local = jnp.where(inside, local, 0)
            if kind == "bits":
                self._add_bits(arrays["words"], source, local, inside)
            elif kind == "list":
                self._add_list(arrays, source, num_sources, local, inside)
            elif kind == "same":
                self._add_value(source + local, inside.astype(jnp.int32))
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
        if runs:
            self._prepare_runs()
        for _, begin, stop in runs:
            self._add_end(stop, begin < stop, 1)
            self._add_end(begin, begin < stop, -1)

    def _index(self, section: str, index: Words) -> int:
        self._indices.append(self.plan.sections[section] + index)
        return len(self._indices) - 1

    def _prepare_runs(self) -> None:
        """What the programs before each one sent, in all."""
        programs = self.plan.sharing.programs
        index = self._index("totals", jnp.minimum(self.place, programs - 1))

        def prepare(words: list[Words]) -> None:
            totals = jnp.where(self.place < programs, words[index], 0)
            before = lax.cumsum(totals) - totals
            plgpu.store(self.memory.at[self.first + self.place], before)

        self._prepare.append(prepare)

    def _add_end(self, end: Words, is_some: Words, sign: int) -> None:
        """What all neurons before the end of a run sent."""
        is_some = is_some & (end > 0)
        last = jnp.where(is_some, end - 1, 0)
        index = self._index("sums", last)
        block = last // self.plan.sharing.neurons

        def term(words: list[Words]) -> Words:
            before = plgpu.load(self.memory.at[self.first + block])
            return jnp.where(is_some, sign * (words[index] + before), 0)

        self._terms.append(term)

    def _add_bits(self, matrix: Any, source: int, local: Words, inside: Words) -> None:
        plan, place = self.plan, self.place
        num_words = matrix.shape[0]
        held = [plgpu.load(matrix.at[w, local], mask=inside, other=0) for w in range(num_words)]
        for plane in range(plan.planes):
            at = self._used
            self._used += num_words
            for first in range(0, num_words, plan.sharing.neurons):
                word = jnp.minimum(first + place, num_words - 1)
                half = (plane * plan.room + source) // _HALF + 2 * word
                is_first = half % (plan.sharing.neurons // _HALF) == 0
                low, high = self._index("bits", half), self._index("bits", half + 1)
                before = self._index("bits", jnp.where(is_first, half, half - 1))

                def prepare(
                    words: list[Words],
                    where: Words = at + word,
                    places: tuple[int, int, int] = (before, low, high),
                    is_first: Words = is_first,
                ) -> None:
                    before, low, high = (words[i] for i in places)
                    before = jnp.where(is_first, 0, before)
                    packed = ((low - before) & 0xFFFF) | ((high - low) << _HALF)
                    plgpu.store(self.memory.at[self.first + where], packed)

                self._prepare.append(prepare)

            def term(_: list[Words], at: int = at, plane: int = plane) -> Words:
                total = jnp.zeros_like(place)
                for w, own in enumerate(held):
                    total += lax.population_count(own & self.memory[self.first + at + w])
                return total << plane

            self._terms.append(term)

    def _add_list(
        self, arrays: dict[str, Any], source: int, num_sources: int, local: Words, inside: Words
    ) -> None:
        for slot in range(arrays["sources"].shape[0]):
            sources = plgpu.load(arrays["sources"].at[slot, local], mask=inside, other=0)
            sources = sources.astype(jnp.int32)
            there = inside & (sources < num_sources)
            weights = there.astype(jnp.int32)
            if arrays["values"] is not None:
                values = plgpu.load(arrays["values"].at[slot, local], mask=inside, other=0)
                weights = jnp.where(there, values.astype(jnp.int32), 0)
            self._add_value(jnp.where(there, sources + source, 0), weights)

    def _add_value(self, neuron: Words, weights: Words) -> None:
        index = self._index("values", neuron)
        self._terms.append(lambda words: words[index] * weights)

    def arrived(self, exchange: Any, at: Array, mark: Array) -> tuple[Array, Words]:
        """Whether any neuron is active, and what arrives, once all words are of this step."""

        def look(_: Any = None) -> tuple[Array, ...]:
            words = [plgpu.load(exchange.at[at + i], volatile=True) for i in self._indices]
            late = jnp.zeros_like(self.place)
            for word in words:
                late |= word ^ mark
            # Whether some are late, and whether any neuron is active, in one reduction.
            return (jnp.max(jnp.where(late < 0, 2, words[0] & 1)), *words)

        active, *words = lax.while_loop(lambda seen: seen[0] > 1, look, look())
        words = [word & ~_SIGN for word in words]
        for prepare in self._prepare:
            prepare(words)
        if self._prepare and not self.plan.is_interpreted:
            plgpu.debug_barrier()
        total = jnp.zeros_like(self.place)
        for term in self._terms:
            total += term(words)
        return active, (total << 1) >> 1  # 31 bits of it are known


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


def _power(size: int) -> int:
    """The least power of 2 that is at least as much."""
    return 1 << max(size - 1, 0).bit_length()
