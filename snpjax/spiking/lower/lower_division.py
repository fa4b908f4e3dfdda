"""Systems whose neurons divide or bud, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from snpjax_formats import bucket, device_array

from ..._xla import precision
from ...choice import NO_RULE
from ...machine import AbstractCapacity
from ..model.compatibility import TEXTBOOK
from ..model.rule import BuddingRule, DivisionRule
from ..model.rule_table import SlotTable, slots_of_neurons
from ..step.division import DivisionTables, GrownState
from ..step.program import SpikingProgram
from ..step.reserve import GROWTH_FACTOR, MOST, check_room, room_for
from .growth_bound import NO_BOUND, UNBOUNDED, GrowthBound
from .host_program import NARROW, least_fitting, trains_of
from .lower import Spread, padded_indices


if TYPE_CHECKING:
    from ..model.system import SpikingSystem


_FEWEST = {"neurons": 256, "synapses": 1024}
# Small systems share compilations.
_FEWEST_LABELS, _FEWEST_SLOTS, _FEWEST_ROWS = 48, 8, 32
# Each step looks at all of it. A larger bound is for the second compilation, if any.
_MOST_AT_FIRST = {"neurons": 2**18, "synapses": 2**21}
#: A search holds many networks.
FEW = {"neurons": 32, "synapses": 64}


@dataclass(frozen=True)
class Capacity(AbstractCapacity):
    """How many neurons and synapses a system that divides or buds can hold.

    Creating more ends in `neurons_exceeded` or `synapses_exceeded`, unless `run(grow=True)`
    enlarges the capacity. `None` is what the labels can produce at most, as far as that is bounded
    and not above some hundred thousand neurons; otherwise a few times the initial size, or a
    part of the bound.
    """

    neurons: int | None = None
    synapses: int | None = None

    def __post_init__(self) -> None:
        for name in ("neurons", "synapses"):
            size = getattr(self, name)
            if size is not None and not 0 < size <= MOST:
                raise ValueError(f"`{name}` is {size}. Give a number from 1 to {MOST:,}.")

    def for_system(
        self, system: "SpikingSystem", fewest: Mapping[str, int], bound: GrowthBound
    ) -> "Capacity":
        """Fill in the sizes that are `None`, so that the system's own neurons and synapses fit.

        **Arguments:**

        - `system`: a system that divides or buds.
        - `fewest`: the smallest size of each kind.
        - `bound`: how large the system can become, where that is known.

        **Returns:** a capacity with both sizes.

        **Raises:** `ValueError` if the system does not fit into the sizes that were set.
        """
        sizes = {}
        for name, there in (("neurons", system.num_neurons), ("synapses", system.num_synapses)):
            given = getattr(self, name)
            if given is None:
                given = bucket(GROWTH_FACTOR * there, at_least=fewest[name])
                most, limit = getattr(bound, name), _MOST_AT_FIRST[name]
                if most <= limit:
                    given = max(fewest[name], room_for(most))
                elif most < UNBOUNDED:
                    given = max(given, limit // 16)
            if given < there:
                raise ValueError(
                    f"The system has {there:,} {name} in the beginning, and room for {given:,}. "
                    f"Give a larger `Capacity({name}=...)`."
                )
            sizes[name] = given
        return Capacity(**sizes)


def lower_growing(
    system: "SpikingSystem",
    *,
    capacity: Capacity,
    count_dtype: np.dtype | type | None = None,
    at_least: np.dtype | None = None,
    largest: int = 0,
    bound: GrowthBound = NO_BOUND,
) -> SpikingProgram:
    """Lower a system that divides or buds: its tables of rules have a column for every label.

    **Arguments:**

    - `count_dtype`: as `lower` has it.
    - `at_least`: of the narrow types, take the least from this one on that is safe and holds
      `largest`, too, and the numbers of labels and neurons.
    - `bound`: what there is room for at first, as far as `capacity` does not say.

    **Raises:** `ValueError` when counts do not fit the requested type, or any type.
    """
    from ..model.system import Neuron  # which needs no arrays

    capacity = capacity.for_system(system, _FEWEST if at_least is None else FEW, bound)
    size, room = capacity.neurons, capacity.synapses
    assert size is not None and room is not None
    labels, rules = system.label_numbers, system.rules_of_labels
    table = slots_of_neurons(
        [Neuron(label, 0, rules.get(label, ())) for label in labels], faithful=True
    )
    trains = trains_of(system)
    horizon, num_inputs = trains.shape
    arrivals = _most_arriving(system, table, size)
    numbers = [table.largest, *(neuron.spikes for neuron in system.neurons)]
    numbers += [weight for _, _, weight in system.synapses]
    numbers += [spikes for train in system.input.values() for spikes in train]
    if at_least is not None:
        numbers += [largest, size, len(labels) + 1]
    dtype = _count_type(max(map(abs, numbers)), arrivals, count_dtype, at_least)
    num_slots = bucket(table.num_slots, at_least=_FEWEST_SLOTS)
    num_columns = bucket(len(labels) + 1, at_least=_FEWEST_LABELS)
    spread = Spread(
        np.pad(table.type_of, (0, num_columns - len(labels)), constant_values=-1),
        None,
        num_slots,
        dtype,
    )
    padded = bucket(num_inputs, at_least=4) if num_inputs else 0
    num_rows = bucket(horizon, at_least=_FEWEST_ROWS) if num_inputs else 0
    rows = np.pad(trains, ((0, num_rows - horizon), (0, padded - num_inputs)))
    check_room(size, room)
    initial = np.zeros(size, np.int64)
    initial[: system.num_neurons] = [neuron.spikes for neuron in system.neurons]
    with precision(dtype):
        return SpikingProgram(
            low=spread(table.low, 1),
            high=spread(table.high, 0),
            period=spread(table.period, 1) if (table.period > 1).any() else None,
            consume=spread(table.consume, 0),
            produce=spread(table.produce, 0),
            delay=spread(table.delay, 0, np.int32) if table.delay.any() else None,
            number=spread(table.number, 0, np.int32),
            kept=None if table.kept is None else spread(table.kept, NO_RULE - 1, np.int32),
            type_of=None,
            rows=None,
            synapses=None,
            ordered=None,
            initial=device_array(initial, dtype),
            outputs=padded_indices([labels[name] for name in system.output], num_columns),
            inputs=padded_indices([labels[name] for name in system.input], num_columns, padded),
            trains=device_array(rows, dtype),
            horizon=device_array(horizon, jnp.int32),
            most_together=None,
            network=_growth(system, labels, table, num_slots, num_columns, size, room, dtype),
            has_families=True,
            may_overflow=True,
            compatibility=TEXTBOOK.in_steps(has_delays=bool(table.delay.any())),
        )


def _growth(
    system: "SpikingSystem",
    labels: dict[str, int],
    table: SlotTable,
    num_slots: int,
    num_columns: int,
    size: int,
    room: int,
    dtype: np.dtype,
) -> DivisionTables:
    divides, buds = (np.zeros((num_slots, num_columns), bool) for _ in range(2))
    parent, child = (np.full((num_slots, num_columns), -1, np.int32) for _ in range(2))
    for label, rules in system.rules_of_labels.items():
        column = labels[label]
        own = table.type_of[column]
        for slot in np.flatnonzero(table.low[:, own] <= table.high[:, own]).tolist():
            rule = rules[int(table.number[slot, own])]
            if isinstance(rule, DivisionRule):
                divides[slot, column] = True
                parent[slot, column], child[slot, column] = labels[rule.left], labels[rule.right]
            elif isinstance(rule, BuddingRule):
                buds[slot, column] = True
                parent[slot, column] = labels[label if rule.parent is None else rule.parent]
                child[slot, column] = labels[rule.bud]
    pairs = {(labels[x], labels[y]) for x, y in system.dictionary}
    of_neurons = [labels[neuron.label] for neuron in system.neurons]
    graph = system.edges
    pairs |= {
        (of_neurons[s], of_neurons[t]) for s, t in zip(graph.source, graph.target, strict=True)
    }
    order = np.lexsort((graph.source, graph.target))

    def listed(values: np.ndarray, empty: int) -> np.ndarray:
        return np.pad(values[order].astype(np.int32), (0, room - len(order)), constant_values=empty)

    target = listed(graph.target, size)
    weights = None if graph.value is None else device_array(listed(graph.value, 0), dtype)
    state = GrownState(
        labels=padded_indices(of_neurons, len(labels), size),
        source=device_array(listed(graph.source, size)),
        target=device_array(target),
        weights=weights,
        starts=device_array(np.searchsorted(target, np.arange(size + 1)), jnp.int32),
        num=device_array(system.num_neurons, jnp.int32),
    )
    return DivisionTables(
        divides=device_array(divides),
        buds=device_array(buds),
        parent=device_array(parent),
        child=device_array(child),
        growing=device_array(_ranked(divides | buds)),
        comes_from=_partners({(y, x) for x, y in pairs}, num_columns),
        initial=state,
        num_labels=device_array(len(labels), jnp.int32),
    )


def _ranked(holds: Bool[np.ndarray, "slots labels"]) -> Int[np.ndarray, "few labels"]:
    """The slots of each label for which it holds, then `NO_RULE`."""
    rank = np.cumsum(holds, axis=0) - 1
    table = np.full(
        (bucket(int(rank.max(initial=0)) + 1, at_least=2), holds.shape[1]), NO_RULE, np.int32
    )
    slot, label = np.nonzero(holds)
    table[rank[slot, label], label] = slot
    return table


def _most_arriving(system: "SpikingSystem", table: SlotTable, size: int) -> int:
    """A bound on the spikes that arrive at one neuron in one step: every neuron may come to have a
    synapse to it, one each."""
    weight = max((abs(weight) for _, _, weight in system.synapses), default=1)
    produced = int(table.produce.max(initial=0))
    return size * max(weight, 1) * produced + max(
        (spikes for train in system.input.values() for spikes in train), default=0
    )


def _count_type(
    largest: int, arriving: int, requested: np.dtype | type | None, at_least: np.dtype | None
) -> np.dtype:
    types = (*NARROW, np.dtype(np.int64))
    if requested is not None:
        types = (np.dtype(requested),)
    else:
        types = types[types.index(NARROW[-1] if at_least is None else at_least) :]
    found = least_fitting(types, largest, arriving)
    if found is None:
        raise ValueError(
            f"With this many neurons up to {arriving:,} spikes could arrive at one of them in one "
            f"step, too many to detect every overflow of {types[-1]}. Give a smaller `Capacity`."
        )
    return found


def _partners(pairs: set[tuple[int, int]], num_columns: int) -> Int[Array, "..."]:
    """The second labels of each first one, padded with an out-of-range label."""
    some: list[list[int]] = [[] for _ in range(num_columns)]
    for first, second in sorted(pairs):
        some[first].append(second)
    most = bucket(max(map(len, some)), at_least=8)
    table = np.full((num_columns, most), num_columns, np.int32)
    for first, own in enumerate(some):
        table[first, : len(own)] = own
    return device_array(table)
