"""The configuration graph: what exploration found, and what can be read off it."""

import enum
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt32
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..choice import GivenChoices, NumberedChoice
from .language import Generated, halting_trains, intervals
from .packing import Packing


if TYPE_CHECKING:
    from .search import Enumerable


# Configurations and edges are looked at in blocks of so many, padded so that all share a
# compilation.
_BLOCK = 4096


class Stop(enum.Enum):
    """Why an exploration ended."""

    COMPLETE = "every configuration was found, and every choice followed"
    MAX_CONFIGURATIONS = "the limit of configurations was reached"
    MAX_DEPTH = "the limit of depth was reached"
    OVERFLOW = "a number of spikes left the range of 32 bits"
    TOO_MANY_CHOICES = "a configuration has 2^31 choices or more"
    OUT_OF_MEMORY = "the device has no memory for more"


@dataclass(frozen=True, eq=False)
class Graph:
    """Configurations, numbered breadth-first from 0, the initial one, and the choices between them.

    The successors of a configuration stand in the order of its choices, so that numbers depend on
    the system only. The first `num_expanded` configurations have all their choices here; the
    others, if any, were not followed.

    - `system`: the model that was explored.
    - `words`: the configurations as `packing` stores them; see `spikes`, `timers`, `pending`.
    - `depth_starts`: number of the first configuration at each depth, and the end.
    - `first_edge`: the choices of configuration i are edges `first_edge[i]` to
      `first_edge[i + 1]`; halting configurations have none.
    - `targets`: the configuration that each edge leads to.
    - `parents`, `parent_choices`: from where, and by which of its choices, each configuration was
      found first; a shortest path.
    """

    system: Any
    machine: "Enumerable"
    packing: Packing = field(repr=False)
    words: UInt32[np.ndarray, "configurations words"] = field(repr=False)
    depth_starts: Int[np.ndarray, " depths"] = field(repr=False)
    first_edge: Int[np.ndarray, " expanded"] = field(repr=False)
    targets: Int[np.ndarray, " edges"] | None = field(repr=False)
    parents: Int[np.ndarray, " configurations"] = field(repr=False)
    parent_choices: UInt32[np.ndarray, " configurations"] = field(repr=False)
    stop: Stop

    # ---- sizes ----

    @property
    def num_configurations(self) -> int:
        return len(self.parents)

    @property
    def num_expanded(self) -> int:
        return len(self.first_edge) - 1

    @property
    def num_choices(self) -> int:
        """Choice vectors over all expanded configurations."""
        return int(self.first_edge[-1])

    @property
    def is_complete(self) -> bool:
        return self.stop is Stop.COMPLETE

    @property
    def depth(self) -> int:
        """The largest distance from the initial configuration."""
        return len(self.depth_starts) - 2

    @cached_property
    def is_halting(self) -> Bool[np.ndarray, " expanded"]:
        """Of the expanded configurations."""
        return np.diff(self.first_edge) == 0

    @cached_property
    def sources(self) -> Int[np.ndarray, " edges"]:
        """The configuration that each edge leaves."""
        return np.repeat(np.arange(self.num_expanded), np.diff(self.first_edge))

    @cached_property
    def depths(self) -> Int[np.ndarray, " configurations"]:
        """Distance of every configuration from the initial one."""
        return np.repeat(np.arange(self.depth + 1), np.diff(self.depth_starts))

    # ---- configurations ----

    @cached_property
    def states(self) -> PyTree:
        """The state of every configuration, with the configurations as the last axis."""
        blocks = []
        for start in range(0, self.num_configurations, _BLOCK):
            block = self.words[start : start + _BLOCK]
            padding = ((0, _BLOCK - len(block)), (0, 0))
            state = _states(self.machine, self.packing, jnp.asarray(np.pad(block, padding)))
            own = slice(0, len(block))
            blocks.append(jax.tree.map(lambda x, own=own: np.asarray(x)[..., own], state))
        return jax.tree.map(lambda *xs: np.concatenate(xs, axis=-1), *blocks)

    def _of_neurons(self, values: Int[np.ndarray, "neurons configurations"]) -> np.ndarray:
        return values[: self.system.num_neurons].T

    @property
    def spikes(self) -> Int[np.ndarray, "configurations neurons"]:
        return self._of_neurons(self.states.spikes)

    @property
    def timers(self) -> Int[np.ndarray, "configurations neurons"]:
        return self._of_neurons(self.states.timers)

    @property
    def pending(self) -> Int[np.ndarray, "configurations neurons"]:
        return self._of_neurons(self.states.pending)

    # ---- edges ----

    def details(
        self, edges: Int[np.ndarray, " edges"] | None = None
    ) -> tuple[Int[np.ndarray, "edges neurons"], Int[np.ndarray, "edges neurons"]]:
        """The rule that each neuron selects, or `NO_RULE`, and what leaves it, on these edges (by
        default all)."""
        edges = np.arange(self.num_choices) if edges is None else np.asarray(edges)
        source = np.searchsorted(self.first_edge, edges, side="right") - 1
        return self._details(source, edges - self.first_edge[source])

    def _details(
        self, source: Int[np.ndarray, " edges"], choice: Int[np.ndarray, " edges"]
    ) -> tuple[np.ndarray, np.ndarray]:
        choosers = jnp.asarray(self.machine.choosers())
        rules = [np.zeros((0, self.system.num_neurons), np.int32)]
        emissions = list(rules)
        for start in range(0, len(source), _BLOCK):
            own, number = source[start : start + _BLOCK], choice[start : start + _BLOCK]
            padding = (0, _BLOCK - len(own))
            words = jnp.asarray(self.words[np.pad(own, padding)])
            numbers = jnp.asarray(np.pad(number, padding), jnp.uint32)
            made = _made(self.machine, self.packing, choosers, words, numbers)
            for found, kept in zip(made, (rules, emissions), strict=True):
                kept.append(self._of_neurons(np.asarray(found))[: len(own)])
        return np.concatenate(rules), np.concatenate(emissions)

    @property
    def edge_targets(self) -> Int[np.ndarray, " edges"]:
        """`targets`. **Raises:** `ValueError` if the edges were not kept."""
        if self.targets is None:
            raise ValueError("The edges were not kept. Explore with `edges=True`.")
        return self.targets

    def emitted(self, output: str | None = None) -> Int[np.ndarray, " edges"]:
        """What an output neuron emits on each edge; it may be left out when there is one only."""
        names = self.system.output
        if output is None and len(names) == 1:
            output = names[0]
        if output not in names:
            known = ", ".join(names) or "none"
            raise ValueError(f"{output!r} is no output neuron. Name one of: {known}.")
        return self._emissions[:, self.system.position_of(output)]

    @cached_property
    def _emissions(self) -> Int[np.ndarray, "edges neurons"]:
        return self.details()[1]

    @cached_property
    def num_transitions(self) -> int:
        """Distinct (source, emissions, target): two choices may make the same transition."""
        columns = [self.sources[:, None], self.edge_targets[:, None], self._emissions]
        return len(np.unique(np.concatenate(columns, axis=1), axis=0))

    # ---- paths ----

    def path_to(self, configuration: int) -> list[int]:
        """The configurations of a shortest path from the initial one, both ends included."""
        path = [configuration]
        while path[-1] != 0:
            path.append(int(self.parents[path[-1]]))
        return path[::-1]

    def witness(self, configuration: int) -> GivenChoices:
        """The choices that lead there in the fewest steps, for `snpjax.run(choice=...)`."""
        path = np.asarray(self.path_to(configuration))
        choices = self.parent_choices[path[1:]].astype(np.int64)
        return GivenChoices(self._details(path[:-1], choices)[0])

    # ---- what can be read off ----

    @property
    def is_deterministic(self) -> bool:
        """Whether no configuration that was expanded has a choice."""
        return bool(np.all(np.diff(self.first_edge) <= 1))

    @property
    def is_confluent(self) -> bool | None:
        """Whether all computations meet: any two configurations have a common successor, or are
        on the way to one. `None` for a graph that is not complete."""
        if not self.is_complete:
            return None
        size = self.num_configurations
        matrix = csr_array((np.ones(self.num_choices, bool), self.edge_targets, self.first_edge))
        matrix.resize(size, size)
        num_parts, part = connected_components(matrix, directed=True, connection="strong")
        leaves = part[self.sources] != part[self.edge_targets]
        is_last = np.ones(num_parts, bool)
        is_last[part[self.sources[leaves]]] = False
        return int(is_last.sum()) == 1

    def bounds(self) -> dict[str, tuple[int, int]]:
        """The least and the largest number of spikes of every neuron, of what was found."""
        spikes = self.spikes
        low, high = spikes.min(axis=0).tolist(), spikes.max(axis=0).tolist()
        return {self.system.name_of(i): (low[i], high[i]) for i in range(spikes.shape[1])}

    def unused_rules(self) -> list[tuple[str, int]]:
        """Neuron and number of the rules that no choice selects."""
        selected = self.details()[0]
        neurons = range(self.system.num_neurons)
        used = [set(np.unique(selected[:, i]).tolist()) for i in neurons]
        return [
            (neuron.name, number)
            for neuron, own in zip(self.system.neurons, used, strict=True)
            for number in range(len(neuron.rules))
            if number not in own
        ]

    def intervals(self, up_to: int, output: str | None = None) -> Generated:
        """The numbers that the system computes, see `snpjax.explore.language`."""
        return intervals(self, up_to, output)

    def halting_trains(self, up_to: int, output: str | None = None) -> Generated:
        """The trains of halting computations, see `snpjax.explore.language`."""
        return halting_trains(self, up_to, output)


@jax.jit
def _states(machine: "Enumerable", packing: Packing, words: UInt32[Array, "block words"]) -> PyTree:
    return machine.state_of(packing.unpack(words.T))


@jax.jit
def _made(
    machine: "Enumerable",
    packing: Packing,
    choosers: Int[Array, " choosers"],
    words: UInt32[Array, "block words"],
    number: UInt32[Array, " block"],
) -> tuple[Int[Array, "neurons block"], Int[Array, "neurons block"]]:
    """Rules and emissions of choices."""
    state = machine.state_of(packing.unpack(words.T))
    _, record = machine.step(state, NumberedChoice(number, choosers))
    return record.detail.rules, record.detail.emissions
