"""An SN P system for what looks at its configurations by the million: as vectors of numbers,
with every choice counted."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt, UInt32

from snpjax_formats import bucket, device_array
from snpjax_formats.ell import expanded

from ...choice import NO_RULE, AbstractChoice, DecodedChoice, NumberedChoice, Ways
from ...machine import LARGEST_CAP, Encoding, Record, paths_told_apart
from ...results import RESULTS
from ..model.lookup import number_of_label, position_of, rules_of
from ..model.population import AnySystem
from ..model.system import SpikingSystem, is_growing
from ..model.variants import SynapseRules
from ..step.network import AbstractNetwork
from ..step.program import SpikingProgram
from ..step.shapes import Counts, Matches
from ..step.step import Selection, SpikingState, applicable, halted, initial_state, step
from .astrocytes import ControlledSynapses
from .host_program import NARROW, least_type, trains_of
from .lower import lower_columns
from .lower_division import Capacity, lower_growing
from .storage import LayoutLike


_NO_CAP = np.uint32(2**32 - 1)
_LITTLE = 127  # 8 bits


class SearchedMachine(eqx.Module):
    """A `SpikingProgram` whose configurations are vectors of unsigned numbers, its fields: spikes,
    then timers and pending emissions of the neurons that may be closed, then the step as far as it
    matters, then what of the network changes. Negative counts are large numbers there.

    - `delayed`: the neurons that have delays, padded with the number of neurons.
    - `delayed_of`: where each neuron stands among them; past the last one where it does not.
    - `last_step`: steps from here on are not distinguished.
    - `caps`: spikes are cut there, see `caps_of`; of every neuron, or of every label where neurons
      divide or bud.
    - `usual`: what the fields are likely to reach, where that is little.
    """

    program: SpikingProgram
    delayed: Int[Array, " delayed"]
    delayed_of: Int[Array, " neurons"]
    last_step: Int[Array, ""]
    caps: Int[Array, " neurons_or_labels"] | None
    usual: UInt32[Array, " fields"]

    @property
    def count_dtype(self) -> np.dtype:
        """What all fields are counted in."""
        return np.dtype(self.program.initial.dtype)

    @property
    def encoding(self) -> Encoding:
        wider = NARROW[NARROW.index(self.count_dtype) + 1 :]
        return Encoding(
            dtype=np.dtype(f"uint{8 * self.count_dtype.itemsize}"),
            usual=self.usual,
            last_step=self.last_step,
            wider=wider[0] if wider else None,
            may_conflict=self.program.requests is not None,
        )

    def init(self) -> SpikingState:
        state = initial_state(self.program)
        return eqx.tree_at(lambda s: s.timers, state, state.timers.astype(self.count_dtype))

    def step(self, state: SpikingState, choice: AbstractChoice) -> tuple[SpikingState, Record]:
        if self.program.network is None:
            return step(self.program, state, choice)
        assert isinstance(choice, NumberedChoice)
        can_apply = applicable(self.program, state)
        slots, subsets = choice.decoded(self._ways(can_apply, state))
        # Those with something else to choose select no rule.
        slots = jnp.where(jnp.any(can_apply, axis=0), slots, NO_RULE)
        labels = self.program.network.labels(state.network)
        state, record = step(self.program, state, DecodedChoice(slots, subsets))
        detail = replace(record.detail, subsets=subsets, network=labels)
        return state, record._replace(detail=detail)

    def halted(self, state: SpikingState) -> Bool[Array, "*paths"]:
        return halted(self.program, state)

    def status(self, state: SpikingState) -> Any:
        return state.status

    def alternatives(self, state: SpikingState) -> Ways:
        can_apply = applicable(self.program, state)
        return can_apply if self.program.network is None else self._ways(can_apply, state)

    def _ways(self, can_apply: Matches, state: SpikingState) -> Int[Array, "slots choosers *paths"]:
        network = self.program.network
        assert network is not None
        ways = network.ways(can_apply, state.network)
        if isinstance(network, ControlledSynapses):
            ways = network.with_decisions(ways, *_emitted(self.program, state, can_apply))
        return ways

    @property
    def has_redundant_choices(self) -> bool:
        return isinstance(self.program.network, ControlledSynapses)

    def is_redundant(self, detail: Selection) -> Bool[Array, "*paths"]:
        network = self.program.network
        assert isinstance(network, ControlledSynapses) and detail.subsets is not None
        return network.is_redundant(detail.emissions, detail.subsets)

    def encode(self, state: SpikingState) -> UInt[Array, "fields *paths"]:
        parts = [self._cut(state)]
        if self.program.delay is not None:
            for closing in (state.timers, state.pending):
                parts.append(closing.at[self.delayed].get(mode="fill", fill_value=0))
        parts.append(jnp.minimum(state.step, self.last_step)[None])
        if self.program.network is not None:
            essential = jax.tree.leaves(self.program.network.essential(state.network))
            parts += [x.reshape(-1, *state.step.shape) for x in essential]
        parts = [part.astype(self.count_dtype) for part in parts]
        return lax.bitcast_convert_type(jnp.concatenate(parts), self.encoding.dtype)

    def _cut(self, state: SpikingState) -> Counts:
        """The spikes, where they are saturated up to that."""
        if self.caps is None:
            return state.spikes
        network = self.program.network
        labels = None if network is None else network.labels(state.network)
        if labels is not None:
            return jnp.minimum(state.spikes, self.caps[labels])
        return jnp.minimum(state.spikes, expanded(self.caps, state.spikes.ndim))

    def decode(self, fields: UInt[Array, "fields *paths"]) -> SpikingState:
        values = lax.bitcast_convert_type(fields, self.count_dtype)
        size, num_delayed = self.program.num_neurons, len(self.delayed)
        start = size + 2 * num_delayed * (self.program.delay is not None)
        spikes, step = values[:size], values[start].astype(jnp.int32)
        timers = pending = jnp.zeros_like(spikes)
        if self.program.delay is not None:
            starts = (size, size + num_delayed)
            timers, pending = (
                values[start : start + num_delayed]
                .at[self.delayed_of]
                .get(mode="fill", fill_value=0)
                for start in starts
            )
        return SpikingState(
            spikes=spikes,
            timers=timers,
            pending=pending,
            step=step,
            status=jax.tree.map(lambda x: jnp.full(step.shape, x), RESULTS.halted),
            culprit=jnp.zeros_like(step),
            network=self._network_of(values[start + 1 :]),
        )

    def _network_of(self, values: Int[Array, "fields *paths"]) -> PyTree:
        network = self.program.network
        if network is None:
            return None
        shapes, tree = jax.tree.flatten(_essential(network))
        if not shapes:
            return network.restored(tree.unflatten([]))
        ends = np.cumsum([shape.size for shape in shapes])
        parts = jnp.split(values, ends[:-1].tolist())
        leaves = [
            part.reshape(*shape.shape, *values.shape[1:]).astype(shape.dtype)
            for part, shape in zip(parts, shapes, strict=True)
        ]
        return network.restored(jax.tree.unflatten(tree, leaves))

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        """The neurons that may have several applicable rules, or several ways to use one, padded
        with the number of neurons.

        A rule may apply from the low to the high of its slot; periods are not examined.
        """
        program = self.program
        if program.is_labelled:
            return np.arange(program.num_neurons, dtype=np.int32)  # any label may come anywhere
        low, high = np.asarray(program.low), np.asarray(program.high)
        order = np.argsort(low, axis=0, kind="stable")
        low, high = np.take_along_axis(low, order, 0), np.take_along_axis(high, order, 0)
        high = np.where(low > high, np.iinfo(high.dtype).min, high)  # empty slots end nowhere
        before = np.maximum.accumulate(high, axis=0)[:-1]
        meets = np.any((low[1:] <= before) & (low[1:] <= high[1:]), axis=0)
        if program.type_of is not None:
            meets = meets[np.asarray(program.type_of)]
        if program.network is not None:
            meets |= np.asarray(program.network.may_choose())
        if isinstance(program.network, ControlledSynapses):
            astrocytes = np.asarray(program.network.choosers)
            meets[astrocytes[astrocytes < len(meets)]] = True
        return _padded(np.flatnonzero(meets), program.num_neurons)


def searched(
    system: AnySystem,
    layout: LayoutLike,
    capacity: Capacity | None,
    saturate: Mapping[str, int],
    clock: int,
    at_least: np.dtype | None,
) -> SearchedMachine:
    """A system as `snpjax.explore` needs it, where `saturate` and `clock` are explained.

    - `at_least`: no narrower type counts; by default the least one that holds the model's numbers.
    """
    if not 0 <= clock <= LARGEST_CAP:
        raise ValueError(f"`clock` is {clock}. Give a number of steps from 0 to 2^30 - 1.")
    caps = caps_of(system, saturate)
    if is_growing(system):
        if caps is None:  # all searches share one compilation
            caps = np.full(len(system.label_numbers), _NO_CAP)
        last_step = max(clock, len(trains_of(system)))
        program = lower_growing(
            system,
            capacity=capacity or Capacity(),
            at_least=at_least or NARROW[0],
            largest=last_step,
        )
        return _searched(program, caps, last_step, np.zeros(program.num_neurons, np.uint32))
    columns = system.columns(faithful=True)
    last_step = max(clock, len(columns.trains), columns.schedule_end)
    # A negative number is a large one of its own type only.
    is_plain = not system.signed and system.compatibility.is_textbook
    at_least = at_least or (NARROW[0] if is_plain else NARROW[-1])
    dtype = least_type(columns, at_least=at_least, largest=last_step)
    program = lower_columns(columns, layout=layout, count_dtype=dtype, paths=paths_told_apart()[-1])
    usual = np.zeros(program.num_neurons, np.uint32)
    usual[: len(columns.arrivals)] = np.where(columns.arrivals <= _LITTLE, columns.arrivals, 0)
    return _searched(program, caps, last_step, usual)


def _searched(
    program: SpikingProgram,
    caps: UInt32[np.ndarray, " neurons_or_labels"] | None,
    last_step: int,
    usual: UInt32[np.ndarray, " neurons"],
) -> SearchedMachine:
    dtype = np.dtype(program.initial.dtype)
    if program.delay is not None:
        program = eqx.tree_at(lambda p: p.delay, program, program.delay.astype(dtype))
    delayed, size = _delayed(program), program.num_neurons
    delayed_of = np.full(size + 1, len(delayed), np.int32)
    delayed_of[delayed[::-1]] = np.arange(len(delayed))[::-1]
    if program.delay is not None:
        closing = [int(jnp.max(program.delay, initial=0)), int(jnp.max(program.produce, initial=0))]
        usual = np.concatenate([usual, np.repeat(closing, len(delayed))])
    usual = np.append(usual, last_step).astype(np.uint32)
    if program.network is not None:
        changing = jax.tree.leaves(_essential(program.network))
        usual = np.pad(usual, (0, sum(x.size for x in changing)))
    cut_at = None
    if caps is not None:
        num_columns = program.low.shape[1] if program.is_labelled else size
        caps = np.pad(caps, (0, num_columns - len(caps)), constant_values=_NO_CAP)
        cut_at = device_array(np.minimum(caps, np.iinfo(dtype).max), dtype)
    return SearchedMachine(
        program=program,
        delayed=device_array(delayed),
        delayed_of=device_array(delayed_of[:-1]),
        last_step=device_array(last_step, jnp.int32),
        caps=cut_at,
        usual=device_array(usual),
    )


def _emitted(
    program: SpikingProgram, state: SpikingState, can_apply: Matches
) -> tuple[Counts, Counts]:
    """The least and the most that each neuron may emit in the next step."""
    dims = can_apply.ndim
    emits = expanded(program.of_neurons(program.produce), dims)
    other = jnp.zeros_like(state.spikes)
    if program.delay is not None:
        emits = jnp.where(expanded(program.of_neurons(program.delay), dims) > 0, 0, emits)
        other = jnp.where(state.timers == 1, state.pending, 0)
    largest = jnp.iinfo(state.spikes.dtype).max
    least = jnp.min(jnp.where(can_apply, emits, largest), axis=0)
    most = jnp.max(jnp.where(can_apply, emits, 0), axis=0)
    fires = jnp.any(can_apply, axis=0)
    return jnp.where(fires, least, other), jnp.where(fires, most, other)


def caps_of(
    system: AnySystem, saturate: Mapping[str, int]
) -> UInt32[np.ndarray, " neurons_or_labels"] | None:
    """Where the spikes of some neurons are cut: a count at its cap means it or more. Exact for
    neurons without rules that never lose spikes, because nothing depends on theirs.

    Where neurons divide or bud these are labels, by their numbers: each neuron with that label is
    cut. One without rules never gets another label.

    **Raises:** `ValueError` for any other neuron or label.
    """
    if not saturate:
        return None
    what, size = "neuron", system.num_neurons
    if is_growing(system):
        what, size = "label", len(system.label_numbers)
    caps = np.full(size, _NO_CAP)
    for name, most in saturate.items():
        position, has_rules = column_of(system, name)
        if has_rules:
            raise ValueError(
                f"{what.capitalize()} {name!r} has rules, which depend on its spikes: saturated, "
                f"different configurations would be taken for one. Saturate {what}s without rules "
                "only."
            )
        if system.signed:
            raise ValueError(
                f"Neuron {name!r} may lose spikes in a signed system, so that `saturate` would "
                "say too much. Explore without it."
            )
        if not 0 < most <= LARGEST_CAP:
            raise ValueError(
                f"{name!r} is saturated at {most}. Give a number of spikes from 1 to 2^30 - 1."
            )
        caps[position] = most
    return caps


def column_of(system: AnySystem, name: str) -> tuple[int | slice, bool]:
    """The place of a neuron, a population or a label, and whether it has rules, or its synapses."""
    if is_growing(system):
        return number_of_label(system, name), bool(rules_of(system)[name])
    position = position_of(system, name)
    neurons = system.neurons[position]
    some = neurons if isinstance(neurons, tuple) else (neurons,)
    has_rules = any(neuron.rules for neuron in some)
    if isinstance(system, SpikingSystem) and isinstance(system.variant, SynapseRules):
        has_rules |= name in system.variant.leaving
    if isinstance(system, SpikingSystem) and system.asked:
        has_rules |= name in system.asked
    return position, has_rules


def _essential(network: AbstractNetwork) -> PyTree:
    """The shapes of what tells the states of a network apart."""
    return jax.eval_shape(lambda: network.essential(network.init()))


def _delayed(program: SpikingProgram) -> Int[np.ndarray, " delayed"]:
    """The neurons that have delays."""
    if program.delay is None:
        return np.zeros(0, np.int32)
    # Any neuron may keep its emission, or come to have any label.
    if program.compatibility.repeats_emissions or program.is_labelled:
        return np.arange(program.num_neurons, dtype=np.int32)
    is_delayed = np.any(np.asarray(program.delay) > 0, axis=0)
    if program.type_of is not None:
        is_delayed = is_delayed[np.asarray(program.type_of)]
    return _padded(np.flatnonzero(is_delayed), program.num_neurons)


def _padded(neurons: Int[np.ndarray, " some"], num_neurons: int) -> Int[np.ndarray, " padded"]:
    size = bucket(len(neurons), at_least=4)
    padding = (0, size - len(neurons))
    return np.pad(neurons.astype(np.int32), padding, constant_values=num_neurons)
