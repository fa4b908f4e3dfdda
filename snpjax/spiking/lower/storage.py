"""The layouts that store the synapses of a system: chosen, forced, and how large they are."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import jax
import numpy as np

from snpjax_formats import (
    AbstractChooser,
    AbstractLayout,
    Decision,
    Edges,
    Sum,
    check_free,
    choose,
    choose_for,
    fitting,
    free_bytes,
    is_best_joined,
)

from ..model.population import PopulationSystem
from ..model.rule import Rule
from ..model.system import SpikingSystem
from ..model.variants import AntiSpikes, Exhaustive
from ..step.program import RuleRows
from .host_program import HostProgram, Padding, SynapsePart, edges_of, padded_neurons
from .transition import Transition, has_delays, padded_rows, rule_rows


#: How to store synapses: a class of `snpjax_formats`, a `Transition`, or what suits the graph, by
#: default or in the eyes of a chooser.
LayoutLike: TypeAlias = type[AbstractLayout] | Transition | AbstractChooser | Literal["auto"]


# As many paths as fill the lanes of a processor are many.
_MANY_ON_CPU, _MANY_ON_GPU = 8, 1024


@dataclass(frozen=True)
class Storage:
    """How edges are stored.

    - `layout`: what was requested.
    - `most`: the most that is delivered by an edge of weight 1, if it is bounded.
    - `many_paths`: whether many will run at once.
    """

    layout: type[AbstractLayout] | AbstractChooser | str
    dtype: np.dtype
    most: int | None
    many_paths: bool

    @classmethod
    def of(cls, layout: LayoutLike, dtype: np.dtype, most: int | None, paths: int) -> "Storage":
        """**Raises:** `TypeError` for what is no layout."""
        stored = layout.layout if isinstance(layout, Transition) else layout
        is_layout = isinstance(stored, type) and issubclass(stored, AbstractLayout)
        is_open = stored == "auto" or isinstance(stored, AbstractChooser)
        if stored is AbstractLayout or not (is_layout or is_open):
            raise TypeError(f'`layout` is {stored!r}. Give a class of snpjax_formats, or "auto".')
        is_cpu = jax.default_backend() == "cpu"
        return cls(stored, dtype, most, paths >= (_MANY_ON_CPU if is_cpu else _MANY_ON_GPU))

    def listed(self, edges: Edges, most: int | None) -> AbstractLayout:
        """Edges in the layout that was requested, or in what suits them."""
        edges, layout = edges.typed(self.dtype).canonical(), self.layout
        if not isinstance(layout, type):
            chooser = None if isinstance(layout, str) else layout
            layout = choose(
                edges, max_input=most, many_paths=self.many_paths, chooser=chooser
            ).layout
        return fitting(layout, edges, max_input=most)

    def carried(self, edges: Edges, largest: int = 1) -> AbstractLayout:
        """Edges that carry up to `largest` as well."""
        return self.listed(edges, None if self.most is None else max(self.most, largest))


def stored_rows(columns: HostProgram, storage: Storage, padding: Padding) -> RuleRows | None:
    """The rules of single neurons as rows of a matrix, if a class stores them."""
    system = columns.system
    if not isinstance(storage.layout, type):
        return None
    assert isinstance(system, SpikingSystem)  # populations refuse a `Transition`
    edges = padded_rows(system).typed(storage.dtype)
    if padding.has_delays:  # refuse before either is built
        _check_both(storage.layout, edges, columns, padding.neurons)
    return rule_rows(system, fitting(storage.layout, edges, max_input=1))


def stored_synapses(columns: HostProgram, size: int, storage: Storage) -> AbstractLayout:
    """One layout, or a sum of layouts where there are several parts or one has structure."""
    is_auto = storage.layout == "auto"
    if not columns.parts or (is_auto and is_best_joined(size)):
        columns = columns.joined()
    structured = [
        _structured(part, storage.most, storage.many_paths) if is_auto else None
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


def _structured(
    part: SynapsePart, most: int | None, many_paths: bool = False
) -> AbstractLayout | None:
    """The layout of the structure of a graph, if it has any."""
    if isinstance(part.graph, Edges):
        return None
    sizes = part.num_sources, part.num_targets
    return choose_for(part.graph, *sizes, max_input=most, many_paths=many_paths)


def _check_both(layout: type[AbstractLayout], rows: Edges, columns: HostProgram, size: int) -> None:
    """Consumption and weights of a `Transition` with delays must fit together."""
    weights = columns.parts[0].edges.resized(size, size)
    alone = layout.bytes_needed(weights)
    needed = layout.bytes_needed(rows) + alone
    check_free(
        needed,
        free_bytes(),
        f"Transition({layout.__name__}), for the consumption and the weights of a system with "
        "delays, needs",
        f"Use the layout alone, without Transition: {alone:,} bytes.",
    )


def chosen_layout(system: SpikingSystem, chooser: AbstractChooser | None = None) -> Decision:
    """Predict which layout `layout="auto"`, or a chooser, selects for a single run.

    **Arguments:**

    - `system`: a system of neurons.
    - `chooser`: a chooser of `snpjax_formats.select`; by default that of `"auto"`.

    **Returns:** a `Decision`: the layout and the reasons for it.
    """
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
        own = _structured(part, most)
        if own is not None:
            chosen.append((type(own), own.nbytes))
            continue
        edges = _measurable(part.edges)
        layout = choose(edges, max_input=most).layout
        chosen.append((layout, layout.bytes_needed(edges)))
    return chosen


def bytes_needed(system: SpikingSystem, layout: LayoutLike = "auto") -> int:
    """The bytes that a layout would need for the synapses of a system, without storing them.

    Rules, counts and timers, which every form has, are not included.

    **Arguments:**

    - `system`: a system of neurons.
    - `layout`: a layout class, a chooser, `"auto"` or a `Transition`. Weights have 32 bits.

    **Returns:** the number of bytes.

    **Raises:** `NotImplementedError` for the `Transition` of a network that changes; `ValueError`
    for a layout that cannot store such synapses.
    """
    edges, most = _measured(system)
    if isinstance(layout, Transition):
        rows = _measurable(padded_rows(system))
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


def _measured(system: SpikingSystem) -> tuple[Edges, int | None]:
    """The synapses as they would be stored, with small weights, and the most that is delivered."""
    size = padded_neurons(len(system.neurons))
    edges = _measurable(edges_of(system).resized(size, size))
    if isinstance(system.variant, AntiSpikes | Exhaustive):  # negative, or of several firings
        return edges, None
    return edges, max((r.produce for r in system.rules if isinstance(r, Rule)), default=0)


def _measurable(edges: Edges) -> Edges:
    """The edges with small weights, to be measured and not stored."""
    value = None if edges.value is None else np.sign(edges.value).astype(np.int32)
    return replace(edges, value=value).canonical()
