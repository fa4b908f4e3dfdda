"""From a model to arrays: a program with static shapes, padded so that systems of similar size
share a compilation."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from snpjax_formats import ELL, Edges, bucket, check_free, device_array, free_bytes
from snpjax_formats.stored import SMALL, TINY

from ..._xla import precision
from ...choice import NO_RULE
from ...machine import AbstractCapacity, Lowered
from ..model.compatibility import TEXTBOOK, Compatibility
from ..model.rule_table import SlotTable
from ..model.system import SpikingSystem
from ..step.ordered import OrderedSynapses
from ..step.program import SpikingProgram
from ..step.reserve import GrowingMachine
from ..step.step import SpikingMachine
from .growth_bound import GrowthBound
from .host_program import (
    HostProgram,
    Padding,
    count_type,
    most_together,
    padded_neurons,
)
from .storage import LayoutLike, Storage, stored_rows, stored_synapses
from .transition import Transition


if TYPE_CHECKING:
    from ..view.solution import Solution, SolutionBatch
    from .lower_division import Capacity


# A table by type is read through a gather; it pays where it is so small that it stays in the cache,
# and much smaller than one by neuron.
_MAX_TYPES = 1024
_NEURONS_PER_TYPE = 4

# Rules of fewer bytes fit everywhere; to read how much memory is free takes longer than to lower
# a small system.
_FEW_BYTES = 2**20


def lowered(
    system: SpikingSystem,
    layout: LayoutLike,
    count_dtype: np.dtype | type | None,
    faithful: bool,
    capacity: "Capacity | None",
    paths: int,
) -> "Lowered[Solution, SolutionBatch]":
    """A system of single neurons."""
    check_options(system, layout, capacity)
    if system.is_growing:
        from .lower_division import Capacity, lower_growing  # which imports this module

        capacity, bound = capacity or Capacity(), GrowthBound.of(system)
        program = lower_growing(system, capacity=capacity, count_dtype=count_dtype, bound=bound)
        return Lowered(system, GrowingMachine(program, device_array(np.asarray(bound, np.int32))))
    has_rows = isinstance(layout, Transition)
    columns = system.columns(faithful=faithful or has_rows)
    return lowered_columns(columns, layout, count_dtype, paths)


def check_options(
    system: SpikingSystem, layout: LayoutLike, capacity: AbstractCapacity | None
) -> None:
    """**Raises:** `ValueError` for a layout of a system that divides or buds, and a capacity of any
    other one; `TypeError` for what is not a capacity.
    """
    if isinstance(layout, AbstractCapacity):
        raise TypeError("`layout` is a Capacity. Pass it as `capacity=`.")
    if system.is_growing and layout != "auto":
        raise ValueError(
            f"`layout` is {layout!r}, but the synapses of a system that divides or buds are a "
            "list. Leave `layout` out; `capacity=` says how much room there is."
        )
    if capacity is None:
        return
    if not isinstance(capacity, AbstractCapacity):
        raise TypeError(f"`capacity` is {capacity!r}. Give a snpjax.Capacity(neurons, synapses).")
    if not system.is_growing:
        raise ValueError(
            "`capacity` is for systems that divide or bud, and in this one the number of neurons "
            "is fixed. Leave it out."
        )


def lowered_columns(
    columns: HostProgram, layout: LayoutLike, count_dtype: np.dtype | type | None, paths: int
) -> "Lowered[Solution, SolutionBatch]":
    """A system in columns with a fixed number of neurons."""
    program = lower_columns(columns, layout=layout, count_dtype=count_dtype, paths=paths)
    return Lowered(
        columns.system,
        SpikingMachine(program),
        columns.table.families is None,
        columns.safe_steps(np.dtype(program.initial.dtype)),
        SpikingMachine(replace(program, may_overflow=False)),
        (columns.table.num_rules, columns.num_choosers),
    )


def lower(
    system: SpikingSystem,
    *,
    layout: LayoutLike = "auto",
    count_dtype: np.dtype | type | None = None,
    faithful: bool = False,
) -> SpikingProgram:
    """Lower a static system to a `SpikingProgram`.

    **Arguments:**

    - `system`: a system of neurons whose network does not change.
    - `layout`: the class that stores the synapses, a `Transition`, or a chooser such as
      `snpjax_formats.select.Measured()`; `"auto"` is the choice of `snpjax_formats.choose`.
    - `count_dtype`: int32 or int64 spike counts. By default int32 where it is safe: all constants
      fit, and fewer than 2^30 spikes can arrive at one neuron in one step, so that a sign check
      after the addition finds every overflow.
    - `faithful`: keep every forgetting rule as an alternative of its own; otherwise families of
      them become one consume-all rule, which changes no configuration. A `Transition` is always
      faithful.

    **Returns:** the program, on the default device.

    The `compatibility` of the system is kept, and rewritten into rules and synapses as far as
    possible. Where it has `stop_at_closed_target` and the system has delays, `layout` must be
    `"auto"`, because synapses are then delivered in their order.

    **Raises:** `NotEnoughMemory` for what does not fit in the memory of the device, before it is
    built; `ValueError` if counts do not fit the requested type, or any type.
    """
    columns = system.columns(faithful=faithful or isinstance(layout, Transition))
    return lower_columns(columns, layout=layout, count_dtype=count_dtype)


def lower_columns(
    columns: HostProgram,
    *,
    layout: LayoutLike = "auto",
    count_dtype: np.dtype | type | None = None,
    padding: Padding | None = None,
    paths: int = 1,
) -> SpikingProgram:
    """Lower a system that is already in columns.

    `paths` says how many will run at once, for many of which other layouts are best; a `padding`
    shared with other systems gives their programs one shape.
    """
    dtype = count_type([columns], count_dtype)
    is_alone = padding is None
    padding = padding or Padding.of([columns])
    size = max(padding.neurons, padded_neurons(columns.num_choosers))
    if size != padding.neurons:  # given choices have a column for each chooser
        padding = replace(padding, neurons=size)
    compatibility = columns.system.compatibility
    if compatibility is not TEXTBOOK:
        compatibility = compatibility.in_steps(has_delays=padding.has_delays)
    if is_alone:
        check_order(compatibility, layout)
    together = None
    if compatibility.early_reopen is not None or columns.is_exhaustive:
        together = most_together(columns, dtype)
    most = padding.most if together is None else int(together.max(initial=0))
    tiny = _tiny_edges(columns, size) if layout == "auto" else None
    # With anti-spikes what is delivered may be negative.
    most = None if columns.has_anti_spikes else most
    storage = None if tiny is not None else Storage.of(layout, dtype, most, paths)
    spread = Spread.of(columns.table, padding, dtype, by_type=is_alone)
    with precision(dtype):
        rows, synapses, ordered, network = None, None, None, None
        if isinstance(layout, Transition) and storage is not None:
            rows = stored_rows(columns, storage, padding)
        if columns.network is not None and storage is not None:
            network = columns.network.lowered(size, padding.slots, storage.carried)
        requests = None
        if columns.requests is not None:
            requests = columns.requests.lowered(size, padding.slots, dtype)
        if compatibility.stop_at_closed_target:
            edges = columns.joined().parts[0].edges.resized(size, size)
            ordered = OrderedSynapses.of(edges.typed(dtype))
        elif tiny is not None:
            synapses = ELL.from_edges(tiny.typed(dtype))
        elif storage is not None and (rows is None or not rows.has_production):
            synapses = stored_synapses(columns, size, storage)
        if together is not None:
            together = device_array(np.pad(together, (0, size - len(together))))
        return SpikingProgram(
            **rules_of(columns.table, spread, padding),
            **_environment(columns, padding, dtype),
            type_of=spread.type_of,
            rows=rows,
            synapses=synapses,
            ordered=ordered,
            initial=device_array(np.pad(columns.spikes, (0, size - len(columns.spikes))), dtype),
            network=network,
            requests=requests,
            most_together=together,
            has_families=padding.has_families and not columns.has_anti_spikes,
            may_overflow=True,
            compatibility=compatibility,
            is_exhaustive=columns.is_exhaustive,
        )


def _tiny_edges(columns: HostProgram, size: int) -> Edges | None:
    """The synapses of a system so small that every layout is as fast, if they are a list."""
    graph = columns.parts[0].graph if len(columns.parts) == 1 else None
    is_whole = columns.parts[0].num_sources == columns.num_neurons if columns.parts else False
    is_tiny = size <= TINY and columns.network is None and is_whole
    return graph.resized(size, size) if is_tiny and isinstance(graph, Edges) else None


def rules_of(table: SlotTable, spread: "Spread", padding: Padding) -> dict[str, Any]:
    """The tables of rules, without those that say nothing."""
    kept = table.kept
    if kept is None:  # of a batch in which rules of another system repeat
        kept = np.arange(table.num_slots)[:, None].repeat(table.num_types, axis=1)
    return {
        "low": spread(table.low_for(spread.dtype), 1),
        "high": spread(table.high, 0),
        "period": spread(table.period, 1) if padding.has_periods else None,
        "consume": spread(table.consume, 0),
        "produce": spread(table.produce, 0),
        "delay": spread(table.delay, 0, np.int32) if padding.has_delays else None,
        "number": spread(table.number, 0, np.int32) if padding.is_renumbered else None,
        "kept": spread(kept, NO_RULE - 1, np.int32) if padding.has_repeats else None,
    }


def _environment(columns: HostProgram, padding: Padding, dtype: np.dtype) -> dict[str, Any]:
    """Outputs, inputs and what is sent to them."""
    steps, num_inputs = columns.trains.shape
    missing = ((0, padding.steps - steps), (0, padding.inputs - num_inputs))
    return {
        "outputs": padded_indices(columns.outputs, padding.neurons, padding.outputs),
        "inputs": padded_indices(columns.inputs, padding.neurons, padding.inputs),
        "trains": device_array(np.pad(columns.trains, missing), dtype),
        "horizon": device_array(steps, jnp.int32),
    }


def check_order(compatibility: Compatibility, layout: LayoutLike) -> None:
    """Refuse a layout where synapses are delivered in their order.

    **Raises:** `ValueError`.
    """
    if compatibility.stop_at_closed_target and layout != "auto":
        raise ValueError(
            "With `stop_at_closed_target` synapses are delivered in their order, which no layout "
            'keeps. Leave `layout` at "auto".'
        )


def num_columns(table: SlotTable, size: int) -> int:
    """The columns of the tables of `size` neurons: one a neuron, or fewer where types are few."""
    num_types = bucket(table.num_types + 1)
    is_smaller = num_types <= _MAX_TYPES and num_types * _NEURONS_PER_TYPE <= size
    return num_types if size > SMALL and is_smaller else size


class Spread:
    """Makes device tables of host tables, padded and with a column a neuron, or a column a type
    where types are few."""

    def __init__(self, columns: np.ndarray, type_of: Array | None, num_slots: int, dtype: np.dtype):
        self.columns = columns  # the type of each device column; -1 is padding
        self.type_of = type_of
        self.num_slots = num_slots
        self.dtype = dtype

    @classmethod
    def of(cls, table: SlotTable, padding: Padding, dtype: np.dtype, *, by_type: bool) -> "Spread":
        num_slots, size = padding.slots, padding.neurons
        neurons = np.pad(table.type_of, (0, size - len(table.type_of)), constant_values=-1)
        num_types = num_columns(table, size)
        if by_type and num_types < size:
            columns = np.arange(num_types)
            columns[table.num_types :] = -1
            neurons = np.where(neurons < 0, table.num_types, neurons)
            type_of = device_array(neurons, jnp.int32)
        else:
            columns, type_of = neurons, None
        spread = cls(columns, type_of, num_slots, dtype)
        needed = 7 * num_slots * len(columns) * dtype.itemsize
        if needed > _FEW_BYTES:
            check_free(
                needed,
                free_bytes(),
                f"The tables of {num_slots:,} rules of each of {len(columns):,} neurons need",
                "Share the work of the neuron with most rules among several, or use a machine "
                "with more memory.",
            )
        return spread

    def __call__(self, table: np.ndarray, empty: int, dtype: type | None = None) -> Array:
        of = np.dtype(dtype or self.dtype)
        limit = np.iinfo(of)
        spread = np.full((self.num_slots, len(self.columns)), empty, of)
        used = self.columns >= 0
        # Terms without end reach up to the largest count there is.
        clipped = np.clip(table, limit.min, limit.max).astype(of)
        spread[: len(table), used] = clipped[:, self.columns[used]]
        return device_array(spread)


def padded_indices(
    values: Int[np.ndarray, " given"] | list[int], empty: int, size: int | None = None
) -> Int[Array, " padded"]:
    """Indices filled up with one that does not exist, by default to a size that others share."""
    size = bucket(len(values), at_least=4) if size is None else size
    padding = (0, size - len(values))
    return device_array(np.pad(np.asarray(values, np.int32), padding, constant_values=empty))
