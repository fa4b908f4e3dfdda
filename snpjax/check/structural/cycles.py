"""Which numbers of firings that change nothing can be made: on a configuration graph."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int

from ...choice import NO_RULE
from ...spiking.model.system import SpikingSystem
from ..systems import SpikingGraph
from ..temporal.kripke import Structure
from ..tracing import on_host
from ..verdict import Status
from .invariants import Cycle, Invariants


@dataclass(frozen=True)
class CycleVerdict:
    """Whether some computation comes back to a configuration by the firings of a cycle.

    - `status`: proved, if one does; refuted, if none does.
    - `times`: how often the one that was found makes all firings of the cycle.
    - `loop`: the edges of the graph on its way, in order, from and to one configuration.
    """

    cycle: Cycle
    status: Status
    times: int = 0
    loop: tuple[int, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        often = "once" if self.times == 1 else f"{self.times} times"
        found = f", {often} in {len(self.loop)} steps" if self.loop else ""
        return f"{self.cycle}: {self.status.value}{found}"


@on_host("check.check_cycles")
def check_cycles(graph: SpikingGraph, invariants: Invariants) -> tuple[CycleVerdict, ...]:
    """Find out which of the minimal cycles of a system can be executed.

    Take the edges on which only rules of the cycle fire. Because the cycle is minimal, the firings
    along any closed path of them are a multiple of the cycle: one closed path proves it, and its
    firings are counted again. Only where closed neurons lose spikes may they be something else, and
    the status is `UNKNOWN`. Without a closed path the cycle cannot be executed, provided that the
    graph is complete; otherwise the status is `UNKNOWN`, too.

    **Arguments:**

    - `graph`: the configuration graph of the system, with its edges and without `saturate`.
    - `invariants`: `invariants(graph.system)`.

    **Returns:** one `CycleVerdict` for each minimal cycle, in the order of `invariants.cycles`.

    **Raises:** `ValueError` if the invariants are those of another system or were not computed, or
    if the graph has saturated neurons, whose counts never return, or no edges.
    """
    if invariants.system != graph.system or invariants.cycles is None or graph.saturate:
        raise ValueError(
            "Give `invariants(graph.system)` with a limit that is large enough, and a graph "
            "without `saturate`."
        )
    return tuple(_verdict(graph, invariants.system, cycle) for cycle in invariants.cycles)


def _verdict(graph: SpikingGraph, system: SpikingSystem, cycle: Cycle) -> CycleVerdict:
    loop = _way_round(graph, _only(graph, system, cycle))
    if loop is None:
        return CycleVerdict(cycle, Status.REFUTED if graph.is_complete else Status.UNKNOWN)
    times = _times(graph, system, cycle, loop)
    if times == 0:
        return CycleVerdict(cycle, Status.UNKNOWN)
    return CycleVerdict(cycle, Status.PROVED, times, tuple(loop.tolist()))


def _only(graph: SpikingGraph, system: SpikingSystem, cycle: Cycle) -> Bool[np.ndarray, " edges"]:
    """Edges on which no rules fire but those of the cycle."""
    most = max(len(neuron.rules) for neuron in system.neurons)
    may = np.zeros((system.num_neurons, most + 1), bool)
    may[:, NO_RULE] = True
    for name, rule in cycle.firings:
        may[system.position_of(name), rule] = True
    neurons = np.arange(system.num_neurons)
    return graph.map_transitions(lambda steps: np.all(may[neurons, steps.rules], axis=1))


def _way_round(
    graph: SpikingGraph, some: Bool[np.ndarray, " edges"]
) -> Int[np.ndarray, " loop"] | None:
    """Some edges that lead from a configuration back to it, as few as there are."""
    edges, size = np.flatnonzero(some), graph.num_configurations
    targets = graph.edge_targets[edges]
    first = np.searchsorted(graph.sources[edges], np.arange(size + 1))
    structure = Structure(first, targets, np.zeros(size, bool))
    is_round = structure.on_cycles()
    if not is_round.any():
        return None
    states = structure.cycle(int(np.argmax(is_round)))
    way = [
        first[source] + int(np.flatnonzero(structure.successors(source) == target)[0])
        for source, target in zip(states[:-1], states[1:], strict=True)
    ]
    return edges[way]


def _times(
    graph: SpikingGraph, system: SpikingSystem, cycle: Cycle, loop: Int[np.ndarray, " loop"]
) -> int:
    """How often a loop makes the firings of a cycle; 0 if it makes something else."""
    rules = graph.transitions(loop).rules
    step, neuron = np.nonzero(rules != NO_RULE)
    names = map(system.name_of, neuron.tolist())
    fired = Counter(zip(names, rules[step, neuron].tolist(), strict=True))
    first = next(iter(cycle.firings))
    times, rest = divmod(fired[first], cycle.firings[first])
    wanted = {key: times * number for key, number in cycle.firings.items()}
    return times if rest == 0 and dict(fired) == wanted else 0
