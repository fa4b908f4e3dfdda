"""One step of an SN P system: pure functions of a program, a state and a choice; and the machine.

A state is one configuration, or those of many paths, with `paths` as the last axis of every array.
`vmap` would do that as well, but it turns arrays around wherever a table of the program meets a
state.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer, PyTree

from snpjax_formats.ell import expanded

from ..._xla import materialize
from ...choice import (
    NO_RULE,
    AbstractChoice,
    FirstChoice,
    GivenChoices,
    Steps,
    answer_of,
    has_weights,
    is_valid,
    of_slots,
)
from ...machine import AbstractMachine, Record, Stride, fresh_state
from ...results import RESULTS, select_result
from ...trajectory import Save
from .network import Change
from .program import SpikingProgram
from .requests import Moved
from .shapes import Counts, Flags, Matches, PerSlot, Table


# For many paths this many slots are searched, which CPUs do for many paths at once, and gathers
# one by one: 16 neurons with 16 rules, 8,192 paths, 0.3 us a path against 1.1 (one core, jax
# 0.10.2, 2026-11).
_MAX_SELECTED = 32


class SpikingState(eqx.Module):
    """What the next step needs.

    - `spikes`: k_i of every neuron.
    - `timers`: steps until the neuron opens, 0 when it is open.
    - `pending`: spikes that leave when the timer reaches 0, else 0.
    - `step`: steps made. With an input train, min(step, horizon) is part of the configuration.
    - `status`: a failure of `RESULTS`, or `RESULTS.halted` while there is none; a failed state
      steps to itself.
    - `culprit`: the first neuron that failed, if any.
    - `network`: the state of the program's `network`, if that changes.
    """

    spikes: Int[Array, "neurons *paths"]
    timers: Int[Array, "neurons *paths"]
    pending: Int[Array, "neurons *paths"]
    step: Int[Array, "*paths"]
    status: Any
    culprit: Int[Array, "*paths"]
    network: PyTree = None


class Selection(eqx.Module):
    """How a step was made.

    - `rules`: the rule that each neuron selected, counted within the neuron, or `NO_RULE`; of a
      consume-all family the first member.
    - `emissions`: the spikes that left each neuron in this step.
    - `consumed`: the spikes that the rules removed, which tell the member of a family; `None` in a
      program without families.
    - `network`: how the network was changed, if it can be.
    - `subsets`: the number of the subset that each plasticity rule took, where it is known.
    """

    rules: Int[Array, "neurons *paths"]
    emissions: Int[Array, "neurons *paths"]
    consumed: Int[Array, "neurons *paths"] | None
    network: PyTree = None
    subsets: Int[Array, "neurons *paths"] | None = None


def initial_state(program: SpikingProgram) -> SpikingState:
    """The initial configuration, in which every neuron is open.

    **Arguments:**

    - `program`: a lowered system.

    **Returns:** the state of one path.
    """
    zeros = jnp.zeros(program.num_neurons, jnp.int32)
    return SpikingState(
        spikes=program.initial,
        timers=zeros,
        pending=jnp.zeros_like(program.initial),
        step=jnp.zeros((), jnp.int32),
        status=RESULTS.halted,
        culprit=jnp.zeros((), jnp.int32),
        network=None if program.network is None else program.network.init(),
    )


def applicable(program: SpikingProgram, state: SpikingState) -> Bool[Array, "slots neurons *paths"]:
    """Which slots may be selected: those with k in L(E) and k >= c, in an open neuron.

    A slot is a rule, or a term of a rule's guard; `program.number` holds the number of the rule.

    **Arguments:**

    - `program`: a lowered system.
    - `state`: its configuration, of one path or of all paths.

    **Returns:** `(slots, neurons, *paths)` truth values.

    **Raises:** `ValueError` for a program with 64-bit counts outside `jax.enable_x64(True)`.
    """
    compatibility = program.compatibility
    if program.initial.dtype == np.int64 and not jax.config.jax_enable_x64:  # pyright: ignore
        raise ValueError(
            "This program counts in 64 bits. Call its functions inside `jax.enable_x64(True)`."
        )
    spikes = state.spikes[None]
    if compatibility.negative_is_zero:
        spikes = jnp.maximum(spikes, 0)
    low = _of_neurons(program, program.low, state)
    matches = (low <= spikes) & (spikes <= _of_neurons(program, program.high, state))
    if program.period is not None:
        matches &= (spikes - low) % _of_neurons(program, program.period, state) == 0
    if program.delay is not None:  # otherwise nothing ever closes
        # A neuron that reopens early opens in the step to come.
        last = 0 if compatibility.early_reopen is None else 1
        matches &= (state.timers <= last)[None]
    if program.network is not None:
        matches = program.network.allowed(matches, state.network)
    if program.requests is not None:
        matches = program.requests.satisfiable(matches, state.spikes)
    return matches


def halted(program: SpikingProgram, state: SpikingState) -> Bool[Array, "*paths"]:
    """Whether no rule is applicable, every neuron is open, and no input remains.

    **Arguments:**

    - `program`: a lowered system.
    - `state`: its configuration, of one path or of all paths.

    **Returns:** `(*paths,)` truth values.
    """
    return ~_anywhere(
        program, _is_live(program, state, jnp.any(applicable(program, state), axis=0))
    )


def _is_live(
    program: SpikingProgram, state: SpikingState, is_active: Flags
) -> Bool[Array, "*paths"]:
    """Whether time continues, where some of these neurons can fire."""
    if program.delay is not None:
        is_active |= state.timers > 0  # one reduction: on a GPU each is a kernel of its own
    if program.network is not None:
        pending = program.network.is_pending(state.network)
        is_active = is_active if pending is None else is_active | pending
    return jnp.any(is_active, axis=0) | (state.step < _horizon(program, state))


def step(
    program: SpikingProgram, state: SpikingState, choice: AbstractChoice
) -> tuple[SpikingState, Record]:
    """The configuration one step later, and a record of the step.

    Select, consume, close, count down, emit, deliver, in this order: a rule of delay d selected in
    step t keeps its neuron closed in steps t, ..., t+d-1; in step t+d it emits, is open and
    receives. A halting state is a fixed point, and so is a failed one. For a program with 64-bit
    counts, call it inside `jax.enable_x64(True)`. The effects of the system's `Compatibility` are
    selected when the step is traced, and cost nothing by default.

    **Arguments:**

    - `program`: a lowered system.
    - `state`: its configuration, of one path or of all paths.
    - `choice`: picks among the applicable rules of each neuron; use `choice.for_path(p)` for path p
      of a run.

    **Returns:** the new state, and a `Record` whose `output` is the emissions of the output neurons
    and whose `detail` is a `Selection`.

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2006. Where texts differ: a neuron closed at the end of a step loses
        what is sent to it, and the neuron that opens in step t+d selects its next rule in step
        t+d+1.
    """
    selected = _select(program, state, choice)
    used = _consume(program, state, selected)
    sent = _emit(program, state, selected, used)
    everywhere, is_live = _exchanged(program, sent.emissions, selected.is_live)
    selected = selected._replace(is_live=is_live)
    change = None
    if program.network is not None:
        change = program.network.change(
            state.network, selected.slots, sent.emissions, choice, state.step
        )
    moved = None
    if program.requests is not None:
        moved = program.requests.moved(selected.slots, state.spikes)
    arrived = _deliver(program, state, used, sent, everywhere, change, moved)
    failure = _failure(program, state, selected, sent, arrived, change, moved, choice)
    return _finish(program, state, selected, used, sent, everywhere, arrived, change, failure)


class AbstractSpikingMachine(AbstractMachine):
    """Runs a `SpikingProgram`."""

    program: eqx.AbstractVar[SpikingProgram]

    def init(self) -> SpikingState:
        return fresh_state(initial_state(self.program))

    def step(self, state: SpikingState, choice: AbstractChoice) -> tuple[SpikingState, Record]:
        return step(self.program, state, choice)

    def halted(self, state: SpikingState) -> Bool[Array, "*paths"]:
        return halted(self.program, state)

    def status(self, state: SpikingState) -> Any:
        return state.status

    def arrays_by_path(self) -> PyTree[bool]:
        nothing = super().arrays_by_path()
        if self.program.trains.ndim == 2:
            return nothing
        return eqx.tree_at(lambda m: (m.program.trains, m.program.horizon), nothing, (True, True))


class SpikingMachine(AbstractSpikingMachine):
    """Of a system whose neurons stay as many."""

    program: SpikingProgram

    def stride(
        self,
        state: SpikingState,
        choice: AbstractChoice,
        most: Int[Array, ""],
        *,
        start: Int[Array, ""],
        rows: int,
        save: Save,
    ) -> Stride | None:
        """Make the steps in one kernel, on a GPU, if nothing is drawn and the kernel supports the
        program.

        **Arguments:**

        - `state`, `choice`, `most`, `start`, `rows`, `save`: see `snpjax.machine.Striding`.
        """
        if jax.default_backend() != "gpu" or not isinstance(choice, FirstChoice):
            return None
        from .gpu_loop import is_supported, num_cores, steps_on_gpu  # Pallas takes long to import

        cores = num_cores()
        if not is_supported(self.program, save, cores):
            return None
        return steps_on_gpu(
            self.program, state, most, start=start, rows=rows, save=save, cores=cores
        )


class _Selected(NamedTuple):
    """The slot that each neuron uses, which fire, and whether time continues: for these neurons, or
    for all."""

    can_apply: Bool[Array, "slots neurons *paths"]
    slots: Int[Array, "neurons *paths"]
    fires: Bool[Array, "neurons *paths"]
    is_live: Bool[Array, "*paths"]


class _Used(NamedTuple):
    """The rules that were used, as the model numbers them, and what they produce and consume."""

    rules: Int[Array, "neurons *paths"]
    produced: Int[Array, "neurons *paths"]
    consumed: Int[Array, "neurons *paths"]


class _Sent(NamedTuple):
    """The timers afterwards, the emissions that wait for them, all that is to leave, and what does
    in this step."""

    timers: Int[Array, "neurons *paths"]
    pending: Int[Array, "neurons *paths"]
    leaving: Int[Array, "neurons *paths"]
    emissions: Int[Array, "neurons *paths"]


class _Arrived(NamedTuple):
    """The spikes that were not consumed, and those that arrive."""

    left: Int[Array, "neurons *paths"]
    arriving: Int[Array, "neurons *paths"]

    @property
    def spikes(self) -> Counts:
        return self.left + self.arriving


def _select(program: SpikingProgram, state: SpikingState, choice: AbstractChoice) -> _Selected:
    """One applicable rule of each open neuron that has any."""
    can_apply = applicable(program, state)
    if program.exchange is not None:
        choice = program.exchange.part_of(choice, program.num_neurons)
    names_slots = not choice.tells_numbers or has_weights(choice)
    if isinstance(choice, GivenChoices) and program.is_labelled:
        choice = choice.within(program.num_neurons)  # more of them may come later
    if has_weights(choice):
        if program.is_labelled:
            raise ValueError(
                "The rules of a neuron change where neurons divide or bud, so that it has no "
                "logits. Give `UniformChoice(key)`."
            )
        if program.number is not None:
            choice = of_slots(choice, program.of_neurons(program.number))

    def selected() -> Counts:
        # What is applicable is computed again: it would be stored otherwise, and is larger. A
        # network is not worth looking at twice.
        some = can_apply if program.network is not None else applicable(program, state)
        if names_slots or program.number is None:
            return answer_of(choice, some, state.step, state)
        return answer_of(choice, _by_number(program, state, some), state.step, state)

    slots = _kept(state, selected)
    if not names_slots:
        slots = _slots_of(program, state, can_apply, slots)
    if not choice.may_be_invalid:  # whoever can fire does
        fires = slots != NO_RULE
        return _Selected(can_apply, slots, fires, _is_live(program, state, fires))
    # In a halting state time stops, whatever is chosen.
    is_live = _anywhere(program, _is_live(program, state, jnp.any(can_apply, axis=0)))
    slots = jnp.where(is_live[None], slots, NO_RULE)
    return _Selected(can_apply, slots, slots != NO_RULE, is_live)


def _consume(program: SpikingProgram, state: SpikingState, selected: _Selected) -> _Used:
    """What the selected rules use up and produce."""
    slots = selected.slots
    produced = _of_slot(program, program.produce, state, slots)
    consumed = _of_slot(program, program.consume, state, slots)
    if program.has_families:
        consumed = jnp.where(consumed < 0, state.spikes, consumed)
    if program.is_exhaustive:
        produced, consumed = _exhausted(program, state, selected.fires, produced, consumed)
    rules = slots
    if program.number is not None:
        rules = _of_slot(program, program.number, state, slots)
    return _Used(jnp.where(selected.fires, rules, NO_RULE), produced, consumed)


def _emit(program: SpikingProgram, state: SpikingState, selected: _Selected, used: _Used) -> _Sent:
    """Close the neurons with a delay, count down, and let open ones emit."""
    produced = used.produced
    if program.delay is None:
        timers, pending, leaving, emissions = state.timers, state.pending, produced, produced
    else:
        delay = _of_slot(program, program.delay, state, selected.slots)
        timers = jnp.where(selected.fires, delay, jnp.maximum(state.timers - 1, 0))
        is_open = timers == 0
        leaving = _leaving(program, state, selected.fires, produced, delay)
        emissions = jnp.where(is_open, leaving, 0)
        forgets = is_open
        if program.compatibility.repeats_emissions:
            of_first = is_open[:1]
            if program.exchange is not None:
                of_first = program.exchange.of_first(of_first)
            forgets = is_open & of_first
        pending = jnp.where(forgets, 0, leaving)
    # Every synapse reads them, and XLA would compute them again for each: 200 steps of 100,000
    # neurons x 8, gathered, took 0.71 to 0.79 s, and take 0.46 (two cores, jax 0.10.2, 2026-11).
    return _Sent(timers, pending, leaving, _stored(state, lambda: emissions))


def _deliver(
    program: SpikingProgram,
    state: SpikingState,
    used: _Used,
    sent: _Sent,
    everywhere: Integer[Array, "sources *paths"],
    change: Change | None,
    moved: Moved | None,
) -> _Arrived:
    """What is left in each neuron, and what arrives: by synapses and from the environment."""
    emissions, left = sent.emissions, state.spikes
    arriving = jnp.zeros_like(left)
    if program.rows is None:
        left = left - used.consumed
    else:
        own = program.rows.matrix.deliver(
            program.rows.spiking_vector(used.rules), accumulate=emissions.dtype
        )
        left, arriving = (left, own) if program.rows.has_production else (left + own, arriving)
    if program.synapses is not None:
        arriving = program.synapses.deliver(everywhere, accumulate=emissions.dtype)
    if program.network is not None and change is not None:
        arriving += program.network.deliver(state.network, change, emissions)
    if moved is not None:
        arriving += moved.change
    if program.ordered is not None:
        arriving = program.ordered.deliver(emissions, sent.timers > 0)
    if program.trains.shape[0] > 0:
        arriving = _with_input(program, state, arriving, _input_of(program, state))
    if program.delay is not None and not program.compatibility.closed_receives:
        arriving = jnp.where(sent.timers == 0, arriving, 0)
    if change is not None and change.is_new is not None:
        arriving = jnp.where(change.is_new, 0, arriving)
    return _Arrived(left, arriving)


def _failure(
    program: SpikingProgram,
    state: SpikingState,
    selected: _Selected,
    sent: _Sent,
    arrived: _Arrived,
    change: Change | None,
    moved: Moved | None,
    choice: AbstractChoice,
) -> tuple[Any, Int[Array, "*paths"]]:
    """How the step fails, if it does, and the first neuron for which it does."""
    left, arriving = arrived
    nobody = jnp.full(state.step.shape, program.total_neurons, jnp.int32)
    failure, culprit = RESULTS.halted, nobody
    if program.may_overflow:
        # Sound because no more is consumed than is there, or that is checked, and less than a
        # quarter of the type's range can arrive in one step (`lower` checks it).
        overflows = jnp.where(arriving >= 0, arrived.spikes < left, arrived.spikes > left)
        if program.compatibility.unchecked_consumption is not None:
            overflows |= left > state.spikes
        if program.most_together is not None:
            leaving = sent.leaving
            overflows |= (leaving > _along(program.most_together, state)) | (leaving < 0)
        culprit = _first_anywhere(program, overflows)
        failure = select_result(culprit < nobody, RESULTS.spike_overflow, failure)
    if moved is not None:
        for fails, how in (
            (moved.is_too_much, RESULTS.spike_overflow),
            (moved.are_conflicting, RESULTS.queries_conflict),
        ):
            first = _first_anywhere(program, fails)
            failure = select_result(first < nobody, how, failure)
            culprit = jnp.where(first < nobody, first, culprit)
    if change is not None:
        refused = change.culprit
        failure = select_result(refused < nobody, change.failure, failure)
        culprit = jnp.where(refused < nobody, refused, culprit)
    if choice.may_be_invalid:
        refused = _first_anywhere(program, ~is_valid(selected.can_apply, selected.slots))
        failure = select_result(refused < nobody, RESULTS.choice_refused, failure)
        culprit = jnp.where(refused < nobody, refused, culprit)
    return failure, culprit


def _finish(
    program: SpikingProgram,
    state: SpikingState,
    selected: _Selected,
    used: _Used,
    sent: _Sent,
    everywhere: Integer[Array, "sources *paths"],
    arrived: _Arrived,
    change: Change | None,
    failed: tuple[Any, Int[Array, "*paths"]],
) -> tuple[SpikingState, Record]:
    """The new state and the record of the step; where it fails, or has failed, nothing changes."""
    failure, culprit = failed
    status = select_result(state.status == RESULTS.halted, failure, state.status)
    is_failed = status != RESULTS.halted
    made = selected.is_live & ~is_failed

    def unless(stops: Bool[Array, "*paths"], new: Array, old: Array) -> Array:
        leading = new.ndim - stops.ndim
        return jnp.where(jnp.expand_dims(stops, range(leading)), old, new)

    unless_failed = partial(unless, is_failed)

    spikes = arrived.spikes
    if program.compatibility.unchecked_consumption == "clamp":  # a halting state stays
        spikes = jnp.where(selected.is_live[None], jnp.maximum(spikes, 0), spikes)
    network = None
    if change is not None:
        # In a halting state time stops for it, too.
        network = jax.tree.map(partial(unless, ~made), change.network, state.network)
    new_state = SpikingState(
        spikes=unless_failed(spikes, state.spikes),
        timers=unless_failed(sent.timers, state.timers),
        pending=unless_failed(sent.pending, state.pending),
        step=state.step + made.astype(jnp.int32),
        status=status,
        culprit=jnp.where(state.status == RESULTS.halted, culprit, state.culprit),
        network=network,
    )
    emissions = unless_failed(sent.emissions, jnp.zeros_like(sent.emissions))
    rules = unless_failed(used.rules, jnp.full_like(used.rules, NO_RULE))
    consumed = None
    if program.has_families:
        consumed = unless_failed(used.consumed, jnp.zeros_like(used.consumed))
    detail = None if change is None else change.detail
    output = _output(program, state, everywhere).astype(emissions.dtype)
    output = unless_failed(output, jnp.zeros_like(output))
    return new_state, Record(output, Selection(rules, emissions, consumed, detail), made)


def _exhausted(
    program: SpikingProgram, state: SpikingState, fires: Flags, produced: Counts, consumed: Counts
) -> tuple[Counts, Counts]:
    """What the selected rules produce and consume when each is used as often as it can be. A
    product that is not safe to count is -1, which is found to be an overflow."""
    assert program.most_together is not None
    times = jnp.where(fires, state.spikes // jnp.maximum(consumed, 1), 0)
    most = _along(program.most_together, state)
    is_safe = (produced == 0) | (times <= most // jnp.maximum(produced, 1))
    return jnp.where(is_safe, produced * times, -1), consumed * times


def _input_of(program: SpikingProgram, state: SpikingState) -> Int[Array, "inputs *paths"]:
    """What the environment sends in this step; nothing after the last row."""
    at = (state.step,)
    if program.trains.ndim == 3:  # trains of its own for each path
        at = (state.step, slice(None), jnp.arange(len(state.step)))
    row = program.trains.at[at].get(mode="fill", fill_value=0)
    return jnp.moveaxis(row, -1, 0)


def _horizon(program: SpikingProgram, state: SpikingState) -> Steps:
    """The steps after which nothing is sent; paths that pad a batch have none."""
    if program.horizon.ndim == 0:
        return program.horizon
    return program.horizon.at[jnp.arange(len(state.step))].get(mode="fill", fill_value=0)


def _with_input(
    program: SpikingProgram, state: SpikingState, arriving: Counts, row: Int[Array, "inputs *paths"]
) -> Counts:
    """What arrives, with that from the environment: at neurons, or at all of a label."""
    labels = _labels(program, state)
    if labels is None:
        return arriving.at[program.inputs].add(row, mode="drop")
    for label, spikes in zip(program.inputs, row, strict=True):
        arriving += jnp.where(labels == label, spikes, 0)
    return arriving


def _output(
    program: SpikingProgram, state: SpikingState, emissions: Integer[Array, "sources *paths"]
) -> Int[Array, "outputs *paths"]:
    """What goes to the environment: from neurons, or from all of a label."""
    labels = _labels(program, state)
    if labels is None:
        return emissions.at[program.outputs].get(mode="fill", fill_value=0)
    own = [jnp.where(labels == label, emissions, 0) for label in program.outputs]
    sums = [jnp.sum(some, axis=0, dtype=emissions.dtype) for some in own]
    return jnp.stack(sums) if sums else jnp.zeros((0, *emissions.shape[1:]), emissions.dtype)


def _leaving(
    program: SpikingProgram, state: SpikingState, fires: Flags, produced: Counts, delay: Counts
) -> Counts:
    """The spikes that leave each neuron when it is open next."""
    match program.compatibility.early_reopen:
        case None | "overwrite":
            return jnp.where(fires, produced, state.pending)
        case "accumulate":
            return state.pending + produced
        case "overwrite_delayed":
            return produced + jnp.where(delay > 0, 0, state.pending)


def _kept(state: SpikingState, function: Callable[[], Array]) -> Array:
    """What a step uses many times; of many paths it is worth storing."""
    return function() if state.step.ndim == 0 else _stored(state, function)


def _stored(state: SpikingState, function: Callable[[], Array]) -> Array:
    return materialize(jnp.any(state.step >= 0), function)


def _of_neurons(program: SpikingProgram, table: Table, state: SpikingState) -> PerSlot:
    """A table with a column for every neuron, and the axes of a state."""
    labels = _labels(program, state)
    return _along(program.of_neurons(table), state) if labels is None else table[:, labels]


def _labels(program: SpikingProgram, state: SpikingState) -> Counts | None:
    """The column of each neuron in tables, where that changes."""
    return None if program.network is None else program.network.labels(state.network)


def _along(table: Array, state: SpikingState) -> Array:
    """A table whose last axis is neurons, for what has the axes of a state."""
    return expanded(table, table.ndim + state.step.ndim)


def _anywhere(program: SpikingProgram, holds: Bool[Array, "*paths"]) -> Bool[Array, "*paths"]:
    """Whether it holds for the neurons of any device."""
    return holds if program.exchange is None else program.exchange.any(holds)


def _exchanged(
    program: SpikingProgram, emissions: Counts, is_live: Bool[Array, "*paths"]
) -> tuple[Integer[Array, "sources *paths"], Bool[Array, "*paths"]]:
    """The emissions of the neurons of all devices, and whether time continues for any."""
    if program.exchange is None:
        return emissions, is_live
    return program.exchange.gathered(emissions, is_live)


def _first_anywhere(program: SpikingProgram, holds: Flags) -> Int[Array, "*paths"]:
    """The first neuron of any device for which it holds, or the number of them all."""
    first = _first(holds)
    return first if program.exchange is None else program.exchange.first(first, len(holds))


def _first(holds: Flags) -> Int[Array, "*paths"]:
    """The first neuron for which it holds, or the number of neurons."""
    size = len(holds)
    # Of few neurons in bytes: all paths of a search come by here at once.
    dtype = next(t for t in (jnp.uint8, jnp.uint16, jnp.int32) if size <= jnp.iinfo(t).max)
    index = expanded(jnp.arange(size, dtype=dtype), holds.ndim)
    nobody = jnp.asarray(size, dtype)
    first = jnp.min(jnp.where(holds, index, nobody), axis=0, initial=nobody)
    return first.astype(jnp.int32)


def _by_number(
    program: SpikingProgram, state: SpikingState, can_apply: Matches
) -> Bool[Array, "rules neurons *paths"]:
    """Which rules apply, where a rule has several slots."""
    assert program.number is not None
    number = _of_neurons(program, program.number, state)
    rules = range(can_apply.shape[0])  # at most
    return jnp.stack([jnp.any(can_apply & (number == rule), axis=0) for rule in rules])


def _slots_of(
    program: SpikingProgram, state: SpikingState, can_apply: Matches, rules: Counts
) -> Counts:
    """The applicable slot of each given rule; without one, a slot that does not exist."""
    if program.kept is not None:
        is_one = (rules >= 0) & (rules < len(program.kept))
        rules = jnp.where(is_one, _of_slot(program, program.kept, state, rules), rules)
    if program.number is None:
        return rules
    is_meant = can_apply & (_of_neurons(program, program.number, state) == rules[None])
    slot = jnp.argmax(is_meant, axis=0).astype(rules.dtype)
    slot = jnp.where(jnp.any(is_meant, axis=0), slot, can_apply.shape[0])
    return jnp.where(rules == NO_RULE, NO_RULE, slot)


def _of_slot(program: SpikingProgram, table: Table, state: SpikingState, slots: Counts) -> Counts:
    """The entry of each neuron's selected slot, 0 where none is."""
    num_slots = table.shape[0]
    if num_slots <= (4 if state.step.ndim == 0 else _MAX_SELECTED):
        # A few selects fuse with their surroundings; a gather does not.
        table = _of_neurons(program, table, state)
        selected = jnp.zeros(slots.shape, table.dtype)
        for slot in range(num_slots):
            selected = jnp.where(slots == slot, table[slot], selected)
        return selected
    index = jnp.clip(slots, 0, num_slots - 1)
    column = _labels(program, state)
    if column is None:
        column = jnp.arange(len(index)) if program.type_of is None else program.type_of
        column = _along(column, state)
    entry = table.at[index, column].get(mode="promise_in_bounds")
    return jnp.where(slots == NO_RULE, 0, entry)
