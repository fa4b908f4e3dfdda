"""A system whose neurons no longer divide or bud, as a static one."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Int

from snpjax_formats import Edges

from ..._xla import precision
from ...choice import NO_RULE, AbstractChoice, FirstChoice, UniformChoice
from ...machine import AnyMachine, Settled
from ..model.rule import BuddingRule, DivisionRule
from ..model.rule_table import EMPTY, SlotTable, slots_of_neurons
from ..model.system import Neuron
from ..step.division import DivisionTables
from ..step.program import SpikingProgram
from ..step.reserve import GrowingMachine
from ..step.step import Selection, SpikingMachine, SpikingState
from .host_program import HostProgram, SynapsePart
from .lower import lower_columns


if TYPE_CHECKING:
    from ..model.system import SpikingSystem


def settled(
    system: "SpikingSystem", machine: AnyMachine, state: SpikingState, choice: AbstractChoice
) -> Settled | None:
    """The static machine in which a run of one path continues, once no rule of division or budding
    can apply again; `None` before that.

    Only these rules change the network. A rule of a neuron is blocked by the labels of the
    neighbours that the neuron has, as the network is; and if all such rules of all neurons are
    blocked, no network follows but this one, whatever the spikes are.

    Choices that name rules by their numbers, or that may look at the state, stay with the machine
    that they began with.
    """
    if not isinstance(machine, GrowingMachine) or type(choice) not in (FirstChoice, UniformChoice):
        return None
    program, tables = machine.program, machine.program.network
    assert isinstance(tables, DivisionTables)
    network = jax.device_get(state.network)
    if _may_change(tables, network):
        return None
    columns = _columns(system, program, network)
    try:
        static = lower_columns(columns, count_dtype=np.dtype(program.initial.dtype))
    except ValueError:  # it does not fit in the memory, or the counts do not fit the type
        return None
    with precision(np.dtype(program.initial.dtype)):
        static = replace(static, has_families=True)
    presented = _Presented(system, program, network, columns)
    return Settled(SpikingMachine(static), presented.hidden(state, static), presented)


def _may_change(tables: DivisionTables, network: Any) -> bool:
    """Whether a rule of division or budding is not blocked."""
    num = int(network.num)
    labels, last = network.labels[:num], int(network.starts[num])
    growing = np.asarray(tables.growing)[:, labels]
    if not (growing != NO_RULE).any():
        return False
    divides, parent, child = (np.asarray(x) for x in (tables.divides, tables.parent, tables.child))
    source, target = network.source[:last], network.target[:last]
    of_source, of_target = labels[source], labels[target]
    for slot in growing:
        at = np.maximum(slot, 0), labels
        twins = divides[at]
        left, right = np.where(twins, parent[at], -1), child[at]
        blocked = slot == NO_RULE
        blocked[source[(right[source] == of_target) | (left[source] == of_target)]] = True
        is_hit = (right[target] == of_source) | (left[target] == of_source)
        blocked[target[is_hit & twins[target]]] = True
        if not blocked.all():
            return True
    return False


def _columns(system: "SpikingSystem", program: SpikingProgram, network: Any) -> HostProgram:
    """The system with the neurons and synapses that there are."""
    num, names = int(network.num), system.label_numbers
    labels, last = network.labels[:num], int(network.starts[num])
    weights = None if network.weights is None else network.weights[:last].astype(np.int64)
    edges = Edges(network.source[:last], network.target[:last], weights, num, num)
    table = _rules(system)
    trains = np.asarray(program.trains)[: int(program.horizon)]
    inputs = [np.flatnonzero(labels == names[name]) for name in system.input]
    column = np.repeat(np.arange(len(inputs)), [len(own) for own in inputs])
    none = np.zeros(0, np.int64)
    return HostProgram(
        system=system,
        table=replace(table, type_of=table.type_of[labels]),
        spikes=np.zeros(num, np.int64),
        parts=(SynapsePart(edges, 0, num, 0, num),),
        outputs=np.concatenate(
            [none, *(np.flatnonzero(labels == names[x]) for x in system.output)]
        ),
        inputs=np.concatenate([none, *inputs]),
        trains=trains[:, column].astype(np.int64),
        largest=max(table.largest, 1 if weights is None else int(np.abs(weights).max(initial=0))),
    )


def _rules(system: "SpikingSystem") -> SlotTable:
    """The rules of all labels, of which those of division and budding never apply."""
    rules = system.rules_of_labels
    every = [Neuron(label, 0, rules.get(label, ())) for label in system.label_numbers]
    table = slots_of_neurons(every, faithful=False)
    low, high = table.low.copy(), table.high.copy()
    for own, kind in zip(every, table.type_of.tolist(), strict=True):
        numbers = [
            n for n, rule in enumerate(own.rules) if isinstance(rule, DivisionRule | BuddingRule)
        ]
        never = np.isin(table.number[:, kind], numbers)
        low[never, kind], high[never, kind] = EMPTY[:2]
    return replace(table, low=low, high=high)


class _Presented:
    """Histories of a static machine as the machine that grew has them."""

    def __init__(
        self,
        system: "SpikingSystem",
        program: SpikingProgram,
        network: Any,
        columns: HostProgram,
    ):
        labels = network.labels[: int(network.num)]
        self.network, self.table = network, columns.table
        self.size, self.num = program.num_neurons, len(labels)
        self.num_outputs = len(program.outputs)
        numbers = [system.label_numbers[name] for name in system.output]
        self.bearers = [int(np.sum(labels == number)) for number in numbers]

    def hidden(self, state: SpikingState, program: SpikingProgram) -> SpikingState:
        """A state of the machine that grew, as that of the static one."""

        def cut(values: Any) -> np.ndarray:
            kept = np.asarray(values)[: self.num]
            return np.pad(kept, (0, program.num_neurons - self.num))

        return replace(
            state,
            spikes=cut(state.spikes),
            timers=cut(state.timers),
            pending=cut(state.pending),
            network=None,
        )

    def state(self, state: Any) -> SpikingState:
        """One state, or rows of them."""
        rows, size = np.shape(state.step), state.spikes.shape[-1]
        nobody = np.asarray(self.size, np.int32)
        return replace(
            state,
            spikes=self._wide(state.spikes, 0),
            timers=self._wide(state.timers, 0),
            pending=self._wide(state.pending, 0),
            culprit=np.where(state.culprit == size, nobody, state.culprit),
            network=jax.tree.map(lambda x: np.broadcast_to(x, rows + x.shape), self.network),
        )

    def outputs(self, outputs: Int[np.ndarray, "rows outputs"]) -> Int[np.ndarray, "rows outputs"]:
        """Those of all neurons of a label together."""
        found = np.zeros((len(outputs), self.num_outputs), outputs.dtype)
        ends = np.cumsum([0, *self.bearers])
        for column, (first, last) in enumerate(zip(ends, ends[1:], strict=False)):
            found[:, column] = outputs[:, first:last].sum(axis=1, dtype=outputs.dtype)
        return found

    def details(self, details: Any) -> Selection:
        consumed = details.consumed[:, : self.num]
        rules = self.table.members(details.rules[:, : self.num], consumed)
        return replace(
            details,
            rules=self._wide(rules, NO_RULE),
            emissions=self._wide(details.emissions, 0),
            consumed=self._wide(consumed, 0),
        )

    def _wide(self, values: np.ndarray, empty: int) -> np.ndarray:
        wide = np.full((*values.shape[:-1], self.size), empty, values.dtype)
        wide[..., : self.num] = values[..., : self.num]
        return wide
