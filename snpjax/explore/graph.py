"""The configuration graph: what exploration found, and what can be read off it."""

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

import jax
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt32

from snpjax_formats import device_array

from .._text.conditions import elementwise
from .._text.pickling import PickledWithoutCache
from .._text.rule_text import under_rule
from .._tiered import tiered
from ..choice import NO_RULE, GivenChoices, NumberedChoice
from ..machine import (
    ConfigurationsT,
    Enumerable,
    LoweringOptions,
    RedundantChoices,
    Schema,
    SomeConfigurations,
    StepsT,
)
from .dot import to_dot
from .edges import GraphEdges
from .extent import power_of_two
from .language import halting_trains, intervals
from .nodes import to_networkx
from .packing import Packing
from .picture import graph_html, graph_svg, to_svg
from .search import state_in
from .stored import StoredWords
from .strongly_connected import strong_parts
from .text import count_table, label_table, names_of


if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Some configurations or edges, by their numbers.
Which: TypeAlias = slice | Int[np.ndarray, " some"]

# Configurations and edges are examined in blocks of one of these sizes, padded, so that all share
# few compilations; of this many numbers at most, beyond the first size.
_BLOCKS = (2**8, 2**12, 2**16)
_NUMBERS_IN_BLOCK = 2**25


class Stop(enum.Enum):
    """Why an exploration ended."""

    COMPLETE = "every configuration was found, and every choice followed"
    MAX_CONFIGURATIONS = "the limit of configurations was reached"
    MAX_DEPTH = "the limit of depth was reached"
    MAX_SECONDS = "the limit of time was reached"
    INTERRUPTED = "the search was interrupted"
    ONE_COMPUTATION = "it is a single computation"
    OVERFLOW = "a number left the range of 32 bits"
    CAPACITY = (
        "more neurons or synapses are created than there is room for; explore with a larger "
        "capacity=Capacity(neurons=..., synapses=...)"
    )
    CONFLICT = "a neuron receives different queries in one step, none of which has precedence"
    TOO_MANY_CHOICES = "a configuration has more than 2^30 choices"
    OUT_OF_MEMORY = "there is no memory for more"


@runtime_checkable
class _WithSpikes(SomeConfigurations, Protocol):
    """Configurations of a spiking system."""

    @property
    def spikes(self) -> Int[np.ndarray, "configurations neurons"]: ...

    @property
    def timers(self) -> Int[np.ndarray, "configurations neurons"]: ...

    @property
    def pending(self) -> Int[np.ndarray, "configurations neurons"]: ...


@runtime_checkable
class _Network(Protocol):
    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def synapses(self) -> tuple[tuple[int, int, int], ...]: ...


@runtime_checkable
class _WithNetwork(SomeConfigurations, Protocol):
    """Configurations of a machine whose network may change."""

    def network(self, number: int) -> _Network: ...


SpikesT = TypeVar("SpikesT", bound=_WithSpikes)
NetworkT = TypeVar("NetworkT", bound=_WithNetwork)


class Traffic(NamedTuple):
    """What each device of a mesh exchanged with the others to find a graph, in bytes.

    - `exchanged`: what it sent to others, successors to their owners.
    - `combined`: arrays that all devices have and that were summed up over them, which takes some
      twice as many bytes.
    """

    exchanged: int = 0
    combined: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Graph(PickledWithoutCache, Generic[ConfigurationsT, StepsT]):
    """The configuration graph that `snpjax.explore` returns: the reachable configurations of a
    model, and the choices that lead from one to another.

    Configurations are numbered breadth-first; 0 is the initial one. The successors of a
    configuration are numbered in the order of its choices, so that numbers depend only on the
    system. The first `num_expanded` configurations have all their choices in the graph. If a limit
    ended the exploration, the others were not expanded; those that do not halt are *open*
    (`is_open`).

    Attributes describe the graph (`num_configurations`, `is_complete`), or each configuration or
    choice in order (`depths`, `is_halting`). Methods select, list or compute: `halting()`,
    `deadlocks()`, `path_to(9)`, `bounds()`, `intervals(20)`.

    - `system`: the model that was explored, with its environment if it had any input.
    - `machine`: the model as arrays.
    - `packing`: how configurations are stored.
    - `words`: the configurations on the device or devices, in main memory or in a file; read them
      with `configurations`.
    - `depth_starts`: the number of the first configuration at each depth, and the end.
    - `edges`: the choices; see `first_edge`, `targets` and `found_by`.
    - `stop`: why the exploration ended.
    - `saturate`, `clock`, `lowering`: arguments of `explore`, the last one its `layout` or
      `capacity`.
    - `traffic`: what devices exchanged during the exploration.
    - `missed`: an upper bound of the probability that a configuration is missing; see
      `explore(exact=)`.
    """

    system: Any
    machine: Enumerable
    packing: Packing
    words: StoredWords
    depth_starts: Int[np.ndarray, " depths"]
    edges: GraphEdges
    stop: Stop
    saturate: Mapping[str, int] = field(default_factory=dict)
    clock: int = 0
    lowering: LoweringOptions = field(default_factory=LoweringOptions)
    traffic: Traffic = Traffic()
    missed: float = 0.0

    # ---- sizes ----

    @property
    def num_configurations(self) -> int:
        return int(self.depth_starts[-1])

    @property
    def num_expanded(self) -> int:
        return self.edges.num_sources

    @property
    def num_choices(self) -> int:
        """Choice vectors over all expanded configurations: the edges."""
        return int(self.first_edge[-1])

    @property
    def is_complete(self) -> bool:
        return self.stop is Stop.COMPLETE

    @property
    def reason(self) -> str:
        """Why the exploration ended, in the words of the model."""
        if self.stop is Stop.OVERFLOW:
            return f"a number of {self.schema.counted} left the range of 32 bits"
        return self.stop.value

    @property
    def depth(self) -> int:
        """The largest distance from the initial configuration."""
        return len(self.depth_starts) - 2

    @property
    def whole_depth(self) -> int:
        """All computations of this many steps are in the graph."""
        if self.num_expanded >= self.num_configurations:
            return self.depth
        return int(np.searchsorted(self.depth_starts, self.num_expanded, side="right")) - 1

    @property
    def first_edge(self) -> Int[np.ndarray, " expanded_and_one"]:
        """The choices of configuration i are edges `first_edge[i]` to `first_edge[i + 1]`; halting
        configurations have none."""
        return self.edges.first

    @property
    def targets(self) -> Int[np.ndarray, " edges"] | None:
        """The configuration that each edge leads to, if that was kept."""
        return self.edges.targets

    @cached_property
    def sources(self) -> Int[np.ndarray, " edges"]:
        """The configuration that each edge leaves."""
        return np.repeat(np.arange(self.num_expanded), np.diff(self.first_edge))

    @property
    def edge_targets(self) -> Int[np.ndarray, " edges"]:
        """`targets`. **Raises:** `ValueError` if the edges were not kept."""
        if self.targets is None:
            raise ValueError("The edges were not kept. Explore with `edges=True`.")
        return self.targets

    @cached_property
    def depths(self) -> Int[np.ndarray, " configurations"]:
        """Distance of every configuration from the initial one."""
        return np.repeat(np.arange(self.depth + 1), np.diff(self.depth_starts))

    @cached_property
    def is_halting(self) -> Bool[np.ndarray, " configurations"]:
        """Whether nothing can happen any more, of all configurations."""
        is_halting = np.diff(self.first_edge) == 0
        left = np.arange(self.num_expanded, self.num_configurations)
        if not len(left):
            return is_halting
        blocks = (self._seen(own)[1] for own in self._padded(left))
        return np.concatenate([is_halting, _concatenated(blocks, len(left))])

    @cached_property
    def is_open(self) -> Bool[np.ndarray, " configurations"]:
        """Where more may follow than is in the graph: neither expanded nor halting."""
        is_open = ~self.is_halting
        is_open[: self.num_expanded] = False
        return is_open

    # ---- configurations and steps ----

    @cached_property
    def schema(self) -> Schema[ConfigurationsT, StepsT]:
        """The names of the model."""
        return self.system.schema()

    @cached_property
    def num_columns(self) -> int:
        """How many columns of configurations are ever in use."""
        if self.schema.columns is not None:
            return len(self.schema.columns)
        in_use = self.map(lambda some: np.sum(label_table(self.schema, some) != "", axis=1))
        return int(in_use.max())

    def configurations(self, which: Which = slice(None)) -> ConfigurationsT:
        """The configurations with some numbers.

        **Arguments:**

        - `which`: a slice or an array of numbers; by default all configurations, which may need
          much memory: see `map`.

        **Returns:** the configurations: of a spiking system `c["name"]` are the spikes of a neuron,
        in the order of `which`.
        """
        numbers = np.arange(self.num_configurations)[which]
        blocks = (self._seen(block) for block in self._padded(numbers))
        states, is_halting = _concatenated(blocks, len(numbers))
        return self.schema.configurations(states, is_halting)

    def _seen(self, numbers: Int[np.ndarray, " block"]) -> tuple[PyTree, Bool[Array, " block"]]:
        return _seen(self.machine, self.packing, self.words.of(numbers))

    def transitions(self, which: Which = slice(None)) -> StepsT:
        """The steps of some edges.

        **Arguments:**

        - `which`: a slice or an array of numbers; by default all edges, which may need much memory:
          see `map_transitions`.

        **Returns:** the steps, in the order of `which`.

        **Raises:** `ValueError` if the edges were not kept.
        """
        edges = np.arange(self.num_choices)[which]
        return self.transitions_to(edges, self.edge_targets[edges])

    def _source_of(self, edges: Int[np.ndarray, " some"]) -> Int[np.ndarray, " some"]:
        return np.searchsorted(self.first_edge, edges, side="right") - 1

    def transitions_to(
        self, edges: Int[np.ndarray, " some"], targets: Int[np.ndarray, " some"]
    ) -> StepsT:
        """The steps of some edges whose targets are known, even if the edges were not kept.

        **Arguments:**

        - `edges`: `(some,)` numbers of edges.
        - `targets`: `(some,)` the configuration that each leads to.

        **Returns:** the steps, in the order of `edges`.
        """
        sources = self._source_of(edges)
        detail = self._of_choices(_made, sources, self.edges.choices(edges, sources))
        return self.schema.steps(sources, targets, detail)

    def _of_choices(
        self,
        function: Callable[..., PyTree],
        sources: Int[np.ndarray, " some"],
        choices: Int[np.ndarray, " some"],
    ) -> PyTree:
        """What a function gives for choices of some configurations."""
        own = self.machine, self.packing, device_array(self.machine.choosers())
        blocks = zip(self._padded(sources), self._padded(choices), strict=True)
        made = (
            (function(*own, self.words.of(some), device_array(numbers, np.uint32)),)
            for some, numbers in blocks
        )
        (found,) = _concatenated(made, len(sources))
        return found

    def without_redundant_choices(self) -> "Graph[ConfigurationsT, StepsT]":
        """The graph without choices that repeat an earlier one, see `RedundantChoices`."""
        machine = self.machine
        if not isinstance(machine, RedundantChoices) or not machine.has_redundant_choices:
            return self
        kept, numbers = [], []
        for block in self._blocks(self.edges.num_all):
            edges = np.arange(block.start, block.stop)
            sources = self._source_of(edges)
            choices = self.edges.choices(edges, sources)
            kept.append(~self._of_choices(_redundant, sources, choices))
            numbers.append(choices)
        edges = self.edges.subset(np.concatenate(kept), np.concatenate(numbers))
        return replace(self, edges=edges)

    def _padded(self, numbers: Int[np.ndarray, " some"]) -> Iterator[Int[np.ndarray, " block"]]:
        """Numbers in blocks, the last one padded with 0; at least one block."""
        most = self._most_in_block()
        sizes = [size for size in _BLOCKS if size <= most] or [most]
        block = next((size for size in sizes if size >= len(numbers)), sizes[-1])
        for start in range(0, max(len(numbers), 1), block):
            own = numbers[start : start + block]
            yield np.pad(own, (0, block - len(own)))

    def _most_in_block(self) -> int:
        """The number of configurations that are examined together at most."""
        return power_of_two(_NUMBERS_IN_BLOCK // max(self.packing.num_fields, 1))

    def _blocks(self, size: int) -> Iterator[slice]:
        """The range of that many configurations or edges, in parts; at least one."""
        step = min(_BLOCKS[-1], self._most_in_block())
        for start in range(0, max(size, 1), step):
            yield slice(start, min(start + step, size))

    def map(self, function: Callable[[ConfigurationsT], np.ndarray]) -> np.ndarray:
        """What `function` says of each configuration: it is given them block by block, and returns
        an array whose first axis is theirs."""
        blocks = self._blocks(self.num_configurations)
        asked = elementwise(function)
        return np.concatenate([asked(self.configurations(block)) for block in blocks])

    def map_transitions(self, function: Callable[[StepsT], np.ndarray]) -> np.ndarray:
        """What `function` says of each edge, see `map`."""
        blocks = self._blocks(self.num_choices)
        asked = elementwise(function)
        return np.concatenate([asked(self.transitions(block)) for block in blocks])

    def where(self, holds: Callable[[ConfigurationsT], np.ndarray]) -> Int[np.ndarray, " some"]:
        """The numbers of the configurations of which it holds: `graph.where(lambda c: c["n3"] >
        4)`. The nearest to the initial one come first."""
        return np.flatnonzero(self.map(holds))

    @cached_property
    def _all(self) -> ConfigurationsT:
        return self.configurations()

    @property
    def spikes(self: "Graph[SpikesT, StepsT]") -> Int[np.ndarray, "configurations neurons"]:
        return self._all.spikes

    @property
    def timers(self: "Graph[SpikesT, StepsT]") -> Int[np.ndarray, "configurations neurons"]:
        return self._all.timers

    @property
    def pending(self: "Graph[SpikesT, StepsT]") -> Int[np.ndarray, "configurations neurons"]:
        return self._all.pending

    def network(self: "Graph[NetworkT, StepsT]", configuration: int) -> _Network:
        """The neurons and synapses of a configuration, if the network can change.

        **Arguments:**

        - `configuration`: its number.
        """
        return self.configurations(np.asarray([configuration])).network(0)

    def emitted(self, output: str | None = None) -> Int[np.ndarray, " edges"]:
        """The spikes that an output neuron emits on each edge.

        **Arguments:**

        - `output`: the name of the output neuron; not needed if there is only one.

        **Returns:** `(edges,)` spikes.

        **Raises:** `ValueError` for any other name.
        """
        names, emitted = self.schema.outputs, self.schema.emitted
        name = names[0] if output is None and len(names) == 1 else output
        if name is None or name not in names or emitted is None:
            known = ", ".join(names) or "none"
            raise ValueError(f"{output!r} is not an output neuron. Name one of: {known}.")
        return self.map_transitions(lambda steps: emitted(steps, name))

    @cached_property
    def num_transitions(self) -> int:
        """Distinct (source, emissions, target): two choices may make the same transition."""
        total = 0
        for edges in self.whole_sources():
            steps = self.transitions(edges)
            columns = [steps.sources[:, None], steps.targets[:, None]]
            if self.schema.emissions is not None:
                columns.append(self.schema.emissions(steps))
            total += len(np.unique(np.concatenate(columns, axis=1), axis=0))
        return total

    def whole_sources(self) -> Iterator[slice]:
        """The edges in blocks that hold all edges of their sources."""
        start = 0
        while start < self.num_choices:
            source = int(np.searchsorted(self.first_edge, start + _BLOCKS[-1], side="right")) - 1
            stop = int(self.first_edge[source])
            if stop <= start:  # one source has more edges than a block
                stop = int(self.first_edge[np.searchsorted(self.first_edge, start, "right")])
            yield slice(start, stop)
            start = stop

    # ---- paths ----

    def path_to(self, configuration: int) -> list[int]:
        """A shortest path from the initial configuration.

        **Arguments:**

        - `configuration`: the number of the last configuration.

        **Returns:** the numbers of its configurations, both ends included.
        """
        return [*self._source_of(self.edges_to(configuration)).tolist(), configuration]

    def edges_to(self, configuration: int) -> Int[np.ndarray, " steps"]:
        """The edges of the path that `path_to` returns.

        **Arguments:**

        - `configuration`: the number of the last configuration.

        **Returns:** `(steps,)` numbers of edges.
        """
        edges = []
        while configuration:
            edges.append(self.edges.found_by[configuration - 1])
            configuration = int(np.searchsorted(self.first_edge, edges[-1], side="right")) - 1
        return np.asarray(edges[::-1], np.int64)

    def witness(self, configuration: int) -> GivenChoices:
        """The choices that lead to a configuration in the fewest steps.

        **Arguments:**

        - `configuration`: the number of the last configuration.

        **Returns:** choices for `snpjax.run(choice=...)`.
        """
        return self.steps_to(configuration).choices

    def steps_to(self, configuration: int) -> StepsT:
        """The steps of the path that `path_to` returns.

        **Arguments:**

        - `configuration`: the number of the last configuration.

        **Returns:** the steps, as `transitions` returns them.
        """
        edges, path = self.edges_to(configuration), self.path_to(configuration)
        return self.transitions_to(edges, np.asarray(path[1:], np.int64))

    def choices_along(
        self, edges: Int[np.ndarray, " steps"], is_made: Bool[np.ndarray, " steps"]
    ) -> GivenChoices:
        """The choices of a sequence of edges.

        **Arguments:**

        - `edges`: `(steps,)` numbers of edges.
        - `is_made`: `(steps,)` where a step is made; elsewhere nothing is chosen.

        **Returns:** choices for `snpjax.run(choice=...)`.
        """
        made = self.transitions(edges[is_made]).choices
        num_made, num_choosers = int(is_made.sum()), made.rules.shape[1]
        rules, subsets = (np.full((len(edges), num_choosers), x) for x in (NO_RULE, 0))
        rules[is_made] = np.asarray(made.rules)[:num_made]
        if made.subsets is not None:
            subsets[is_made] = np.asarray(made.subsets)[:num_made]
        return GivenChoices(rules, subsets)

    # ---- what can be read off ----

    @property
    def is_deterministic(self) -> bool | None:
        """Return whether no configuration has a choice, as far as is known: `False` also where a
        limit cut the successors of a configuration with a choice, and `None` if the choices of no
        configuration were counted."""
        if self.stop is Stop.TOO_MANY_CHOICES or np.any(np.diff(self.depth_starts) > 1):
            return False
        if self.edges.num_all > self.num_choices + 1:  # of the one configuration at the last depth
            return False
        counts = self.edges.known_counts
        return bool(np.all(counts <= 1)) if len(counts) else None

    @cached_property
    def adjacency(self) -> "csr_array":
        """Which configurations follow which: a sparse matrix of the edges, in their order."""
        from scipy.sparse import csr_array  # takes long to import

        size = self.num_configurations
        rows = np.full(size + 1, self.num_choices, self.first_edge.dtype)
        rows[: len(self.first_edge)] = self.first_edge
        ones = np.ones(self.num_choices, bool)
        return csr_array((ones, self.edge_targets, rows), shape=(size, size))

    @property
    def is_confluent(self) -> bool | None:
        """Whether all computations meet: any two configurations have a common successor, or are
        on the way to one. `None` for a graph that is not complete."""
        if not self.is_complete:
            return None
        num_parts, part = strong_parts(self.adjacency)
        leaves = part[self.sources] != part[self.edge_targets]
        is_last = np.ones(num_parts, bool)
        is_last[part[self.sources[leaves]]] = False
        return int(is_last.sum()) == 1

    def bounds(self) -> dict[str, tuple[int, int]]:
        """The least and the largest number of spikes of every neuron, or of tokens of every place,
        of what was found; where neurons divide, of all neurons with each label together."""
        blocks = self._blocks(self.num_configurations)
        some = [self._counts(self.configurations(own)) for own in blocks]
        low = np.min([counts.min(axis=0) for counts in some], axis=0).tolist()
        high = np.max([counts.max(axis=0) for counts in some], axis=0).tolist()
        return {name: (low[i], high[i]) for i, name in enumerate(names_of(self.schema))}

    def _counts(self, some: ConfigurationsT) -> Int[np.ndarray, "configurations names"]:
        """What each of the names has."""
        if self.schema.names is None:
            return count_table(self.schema, some).values
        return np.stack([some[name] for name in self.schema.names], axis=1)

    def unused_rules(self) -> list[Any]:
        """What no choice selects: neuron, or label, and number of a rule; of a net the name of a
        transition."""
        used = set()
        for block in self._blocks(self.num_choices):
            used |= self.schema.selected(self.transitions(block))
        return [one for one in self.schema.alternatives if one not in used]

    def halting(self) -> Int[np.ndarray, " some"]:
        """The numbers of the halting configurations."""
        return np.flatnonzero(self.is_halting)

    def deadlocks(self) -> Int[np.ndarray, " some"]:
        """The numbers of the deadlocks: of a net its dead markings, in which no transition can
        fire; of a system the halting configurations in which a neuron that has rules still holds
        spikes, for a system also halts where it is done. The label `deadlock` of PRISM files holds
        in the same configurations."""
        return self.where(self.is_deadlock)

    def is_deadlock(self, some: ConfigurationsT) -> Bool[np.ndarray, " some"]:
        """Which of some configurations are deadlocks, see `deadlocks`."""
        is_stuck = self.schema.is_stuck
        return some.is_halting if is_stuck is None else some.is_halting & is_stuck(some)

    intervals = intervals
    halting_trains = halting_trains

    # ---- pictures ----

    to_networkx = to_networkx
    to_dot = to_dot
    to_svg = to_svg
    _repr_svg_ = graph_svg
    _repr_html_ = graph_html

    def __repr__(self) -> str:
        edges = "" if self.targets is None else f", {self.num_choices:,} choices"
        return (
            f"Graph({self.num_configurations:,} configurations{edges}, depth {self.depth}"
            f"{under_rule(self.schema.rule)}: "
            f"{self.stop.value}{missed_text(self.missed)})"
        )


def missed_text(missed: float) -> str:
    """The probability that a configuration is missing, if there is one."""
    return f"; one is missed with probability {missed:.1e} at most" if missed else ""


def _concatenated(blocks: Iterator[PyTree], size: int) -> PyTree:
    """Trees of arrays whose last axis is that of blocks, as one on the host, without padding."""
    found = [jax.tree.map(np.asarray, block) for block in blocks]
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=-1)[..., :size], *found)


@tiered()
def _seen(
    machine: Enumerable,
    packing: Packing,
    words: UInt32[Array, "words block"],
) -> tuple[PyTree, Bool[Array, " block"]]:
    """States, and whether they halt."""
    state = state_in(machine, packing, words)
    return state, machine.halted(state)


@tiered()
def _made(
    machine: Enumerable,
    packing: Packing,
    choosers: Int[Array, " choosers"],
    words: UInt32[Array, "words block"],
    choices: UInt32[Array, " block"],
) -> PyTree:
    """How the steps of choices are made."""
    state = state_in(machine, packing, words)
    _, record = machine.step(state, NumberedChoice(choices, choosers))
    return record.detail


@tiered()
def _redundant(
    machine: RedundantChoices,
    packing: Packing,
    choosers: Int[Array, " choosers"],
    words: UInt32[Array, "words block"],
    choices: UInt32[Array, " block"],
) -> Bool[Array, " block"]:
    """Whether choices repeat earlier ones."""
    assert isinstance(machine, Enumerable)
    return machine.is_redundant(_made(machine, packing, choosers, words, choices))
