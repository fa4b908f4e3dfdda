"""From a model to arrays: a program with static shapes, padded so that systems of similar size
share a compilation."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from snpjax_formats import (
    AbstractChooser,
    AbstractLayout,
    Decision,
    Edges,
    Sum,
    bucket,
    check_free,
    choose,
    choose_for,
    fitting,
    free_bytes,
    is_best_joined,
)

from ..._xla import precision
from ...choice import NO_RULE
from ..model.compatibility import Compatibility
from ..model.population import PopulationSystem
from ..model.rule import Rule
from ..model.rule_table import SlotTable
from ..model.system import SpikingSystem
from ..step.ordered import OrderedSynapses
from ..step.program import RuleRows, SpikingProgram
from .count_dtype import count_type, most_together
from .host_program import HostProgram, edges_of, host_program_of
from .padding import SMALL, Padding, padded_neurons
from .transition import Transition, has_delays, padded_rows, rule_rows


#: How to store synapses: a class of `snpjax_formats`, a `Transition`, or what suits the graph, by
#: default or in the eyes of a chooser.
LayoutLike: TypeAlias = type[AbstractLayout] | Transition | AbstractChooser | Literal["auto"]

# A table by type is read through a gather; it pays where it is so small that it stays in the cache,
# and much smaller than one by neuron.
_MAX_TYPES = 1024
_NEURONS_PER_TYPE = 4


def lower(
    system: SpikingSystem,
    *,
    layout: LayoutLike = "auto",
    count_dtype: np.dtype | type | None = None,
    faithful: bool = False,
) -> SpikingProgram:
    """Lower a static system to a `SpikingProgram`.

    **Arguments:**

    - `layout`: the class that stores the synapses, or a `Transition`; `"auto"` takes what
      `snpjax_formats.choose` says, a chooser such as `snpjax_formats.select.Measured()` what that
      says.
    - `count_dtype`: int32 or int64 spike counts. By default int32 where it is safe: all constants
      fit, and fewer than 2^30 spikes can arrive at one neuron in one step, so that a sign check
      after the addition finds every overflow.
    - `faithful`: keep every forgetting rule as one alternative; otherwise families of them become
      one consume-all rule, which changes no configuration. A `Transition` is always faithful.

    The `compatibility` of the system is kept, and rewritten into rules and synapses as far as that
    goes; where it has `stop_at_closed_target` and the system delays, no layout can be given, for
    synapses are delivered in their order.

    **Raises:** `LayoutTooLarge` for what does not fit in the memory of the device, before it is
    built; `ValueError` when counts do not fit the requested type, or any type.
    """
    has_rows = isinstance(layout, Transition)
    return lower_columns(
        host_program_of(system, faithful=faithful or has_rows),
        layout=layout,
        count_dtype=count_dtype,
        rows_of=system if has_rows else None,
    )


def lower_columns(
    columns: HostProgram,
    *,
    layout: LayoutLike = "auto",
    count_dtype: np.dtype | type | None = None,
    rows_of: SpikingSystem | None = None,
    padding: Padding | None = None,
    many_paths: bool = False,
) -> SpikingProgram:
    """Lower a system that is already in columns.

    `many_paths` says that thousands of paths will run at once, which other layouts suit; `rows_of`
    is the system whose rules are the rows of a `Transition`; a `padding` shared with other systems
    gives their programs one shape.
    """
    dtype = count_type([columns], count_dtype)
    is_alone = padding is None
    padding = padding or Padding.of([columns])
    size = max(padding.neurons, padded_neurons(columns.num_choosers))
    if size != padding.neurons:  # given choices have a column for each chooser
        padding = replace(padding, neurons=size)
    compatibility = columns.compatibility.in_steps(has_delays=padding.has_delays)
    if is_alone:
        check_order(compatibility, layout)
    together = None
    if compatibility.early_reopen is not None or columns.is_exhaustive:
        together = most_together(columns, dtype)
    most = padding.most if together is None else int(together.max(initial=0))
    # With anti-spikes what is delivered may be negative.
    storage = _Storage.of(layout, dtype, None if columns.has_anti_spikes else most, many_paths)
    spread = Spread.of(columns.table, padding, dtype, by_type=is_alone)
    with precision(dtype):
        rows = None if rows_of is None else _rows(rows_of, storage, padding, columns)
        synapses, ordered, network = None, None, None
        if columns.network is not None:
            network = columns.network.lowered(size, padding.slots, storage.carried)
        if compatibility.stop_at_closed_target:
            edges = columns.joined().parts[0].edges.resized(size, size)
            ordered = OrderedSynapses.of(_typed(edges, dtype))
        elif rows is None or not rows.has_production:
            synapses = _synapses(columns, size, storage)
        if together is not None:
            together = jnp.asarray(np.pad(together, (0, size - len(together))))
        return SpikingProgram(
            **_rules(columns.table, spread, padding),
            **_environment(columns, padding, dtype),
            type_of=spread.type_of,
            rows=rows,
            synapses=synapses,
            ordered=ordered,
            initial=jnp.asarray(np.pad(columns.spikes, (0, size - len(columns.spikes))), dtype),
            network=network,
            most_together=together,
            has_families=padding.has_families and not columns.has_anti_spikes,
            may_overflow=True,
            compatibility=compatibility,
            is_exhaustive=columns.is_exhaustive,
        )


@dataclass(frozen=True)
class _Storage:
    """How edges are stored.

    - `layout`: what was asked for.
    - `most`: the most that is delivered by an edge of weight 1, if it is bounded.
    - `many_paths`: whether thousands will run at once.
    """

    layout: type[AbstractLayout] | AbstractChooser | str
    dtype: np.dtype
    most: int | None
    many_paths: bool

    @classmethod
    def of(
        cls, layout: LayoutLike, dtype: np.dtype, most: int | None, many_paths: bool
    ) -> "_Storage":
        """**Raises:** `TypeError` for what is no layout."""
        stored = layout.layout if isinstance(layout, Transition) else layout
        is_layout = isinstance(stored, type) and issubclass(stored, AbstractLayout)
        is_open = stored == "auto" or isinstance(stored, AbstractChooser)
        if stored is AbstractLayout or not (is_layout or is_open):
            raise TypeError(f'`layout` is {stored!r}. Give a class of snpjax_formats, or "auto".')
        return cls(stored, dtype, most, many_paths)

    def listed(self, edges: Edges, most: int | None) -> AbstractLayout:
        """Edges in the layout that was asked for, or in what suits them."""
        edges, layout = _typed(edges, self.dtype).canonical(), self.layout
        if not isinstance(layout, type):
            chooser = None if isinstance(layout, str) else layout
            layout = choose(
                edges, max_input=most, many_paths=self.many_paths, chooser=chooser
            ).layout
        return fitting(layout, edges, max_input=most)

    def carried(self, edges: Edges, largest: int = 1) -> AbstractLayout:
        """Edges that carry up to `largest` as well."""
        return self.listed(edges, max(self.most or 0, largest))


def _rules(table: SlotTable, spread: "Spread", padding: Padding) -> dict[str, Array | None]:
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


def _environment(columns: HostProgram, padding: Padding, dtype: np.dtype) -> dict[str, Array]:
    """Outputs, inputs and what is sent to them."""
    steps, num_inputs = columns.trains.shape
    missing = ((0, padding.steps - steps), (0, padding.inputs - num_inputs))
    return {
        "outputs": _indices(columns.outputs, padding.outputs, padding.neurons),
        "inputs": _indices(columns.inputs, padding.inputs, padding.neurons),
        "trains": jnp.asarray(np.pad(columns.trains, missing), dtype),
        "horizon": jnp.asarray(steps, jnp.int32),
    }


def _rows(
    system: SpikingSystem, storage: _Storage, padding: Padding, columns: HostProgram
) -> RuleRows | None:
    """The rules as rows of a matrix, if a class stores them."""
    if not isinstance(storage.layout, type):
        return None
    edges = _typed(padded_rows(system), storage.dtype)
    if padding.has_delays:  # refuse before either is built
        _check_both(storage.layout, edges, columns, padding.neurons)
    return rule_rows(system, fitting(storage.layout, edges, max_input=1))


def check_order(compatibility: Compatibility, layout: LayoutLike) -> None:
    """Refuse a layout where synapses are delivered in their order.

    **Raises:** `ValueError`.
    """
    if compatibility.stop_at_closed_target and layout != "auto":
        raise ValueError(
            "With `stop_at_closed_target` synapses are delivered in their order, which no layout "
            'keeps. Leave `layout` at "auto".'
        )


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
        num_types = bucket(table.num_types + 1)
        is_smaller = num_types <= _MAX_TYPES and num_types * _NEURONS_PER_TYPE <= size
        if by_type and size > SMALL and is_smaller:
            columns = np.arange(num_types)
            columns[table.num_types :] = -1
            neurons = np.where(neurons < 0, table.num_types, neurons)
            type_of = jnp.asarray(neurons, jnp.int32)
        else:
            columns, type_of = neurons, None
        spread = cls(columns, type_of, num_slots, dtype)
        needed = 7 * num_slots * len(columns) * dtype.itemsize
        check_free(
            needed,
            free_bytes(),
            f"The rules need {needed:,} bytes for {num_slots:,} rules of each of {len(columns):,} "
            "neurons",
            "Share the work of the neuron with most rules among several, or use a machine with "
            "more memory.",
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
        return jnp.asarray(spread)


def _synapses(columns: HostProgram, size: int, storage: _Storage) -> AbstractLayout:
    """One layout, or a sum of layouts where there are several parts or one has structure."""
    is_auto = storage.layout == "auto"
    if not columns.parts or (is_auto and is_best_joined(size)):
        columns = columns.joined()
    structured = [
        choose_for(part.graph, part.num_sources, part.num_targets, max_input=storage.most)
        if is_auto
        else None
        for part in columns.parts
    ]
    is_one_graph = len(columns.parts) == 1 and columns.parts[0].num_sources == columns.num_neurons
    if is_one_graph and structured[0] is None:
        # Padded, so that systems of similar size share compilations.
        return storage.listed(columns.parts[0].edges.resized(size, size), storage.most)
    return Sum(
        parts=tuple(
            storage.listed(part.edges, storage.most) if own is None else own
            for part, own in zip(columns.parts, structured, strict=True)
        ),
        source_starts=tuple(part.source_start for part in columns.parts),
        target_starts=tuple(part.target_start for part in columns.parts),
        num_sources=size,
        num_targets=size,
    )


def _check_both(layout: type[AbstractLayout], rows: Edges, columns: HostProgram, size: int) -> None:
    """Consumption and weights of a `Transition` with delays must fit together."""
    weights = columns.parts[0].edges.resized(size, size)
    alone = layout.bytes_needed(weights)
    needed = layout.bytes_needed(rows) + alone
    check_free(
        needed,
        free_bytes(),
        f"Transition({layout.__name__}) needs {needed:,} bytes for the consumption and the "
        "weights of a system with delays",
        f"Use the layout alone, without Transition: {alone:,} bytes.",
    )


def chosen_layout(system: SpikingSystem, chooser: AbstractChooser | None = None) -> Decision:
    """What `layout="auto"`, or a chooser, stores the synapses in, and why."""
    edges, most = _measured(system)
    return choose(edges, max_input=most, chooser=chooser)


def chosen_for_parts(system: PopulationSystem) -> list[tuple[type[AbstractLayout], int]]:
    """What `layout="auto"` stores each projection in, or all of them together, and its bytes with
    32-bit weights. Graphs without structure of their own are listed for it."""
    columns = system.columns()
    if is_best_joined(padded_neurons(system.num_neurons)):
        columns = columns.joined()
    most = int(columns.table.produce.max(initial=0))
    chosen = []
    for part in columns.parts:
        own = choose_for(part.graph, part.num_sources, part.num_targets, max_input=most)
        if own is not None:
            chosen.append((type(own), own.nbytes))
            continue
        edges = _typed(part.edges, np.dtype(np.int32), cut=True).canonical()
        layout = choose(edges, max_input=most).layout
        chosen.append((layout, layout.bytes_needed(edges)))
    return chosen


def bytes_needed(system: SpikingSystem, layout: LayoutLike = "auto") -> int:
    """The bytes in which `layout` would store a system with 32-bit weights, without storing it.

    Rules, counts and timers, which every form has, are left out.

    **Raises:** `NotImplementedError` for the `Transition` of a network that changes; `ValueError`
    for a layout that cannot store such synapses.
    """
    edges, most = _measured(system)
    if isinstance(layout, Transition):
        rows = _typed(padded_rows(system), np.dtype(np.int32), cut=True)
        needed = layout.layout.bytes_needed(rows)
        return needed + (layout.layout.bytes_needed(edges) if has_delays(system) else 0)
    if isinstance(layout, type):
        chosen = layout
    else:
        chooser = None if isinstance(layout, str) else layout
        chosen = choose(edges, max_input=most, chooser=chooser).layout
    obstacle = chosen.obstacle(edges, max_input=most)
    if obstacle is not None:
        raise ValueError(obstacle)
    return chosen.bytes_needed(edges)


def _measured(system: SpikingSystem) -> tuple[Edges, int]:
    """The synapses as they would be stored, with small weights, and the most that is delivered."""
    size = padded_neurons(len(system.neurons))
    edges = _typed(edges_of(system).resized(size, size), np.dtype(np.int32), cut=True).canonical()
    return edges, max((r.produce for r in system.rules if isinstance(r, Rule)), default=0)


def _typed(edges: Edges, dtype: np.dtype, *, cut: bool = False) -> Edges:
    """The edges with weights of the count type; `cut` where they are measured, not stored."""
    if edges.value is None:
        return edges
    value = np.sign(edges.value) if cut else edges.value
    return replace(edges, value=value.astype(dtype))


def _indices(neurons: Int[np.ndarray, " given"], size: int, missing: int) -> Int[Array, " padded"]:
    return jnp.asarray(
        np.pad(neurons, (0, size - len(neurons)), constant_values=missing), jnp.int32
    )
