"""Invariants of the transition matrix M: sums of spikes that no rule changes, and firings that
change nothing; computed exactly, and checked on a configuration graph.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Int

from ...spiking.model.rule import Rule
from ...spiking.model.system import SpikingSystem
from ...spiking.view.configurations import Configurations
from ...spiking.view.transition_matrix import TransitionMatrix
from ..systems import SpikingGraph, refuse_nets
from ..tracing import on_host
from ..verdict import Status
from .integer_kernel import minimal_solutions, null_space


@dataclass(frozen=True)
class ConservedSum:
    """A weighted sum of spikes that no rule changes (a P-invariant): y with M y = 0.

    It counts the spikes that neurons hold, and those that are on their way: what a closed neuron
    will emit counts as it will when it has arrived. So it stays the same in every step in which no
    spike is lost at a closed neuron of the sum, and no input comes to one.

    - `weights`: of the neurons in the sum, by name; at least one is positive.
    - `value`: of the initial configuration.
    - `is_certain`: that it holds follows from the system alone: by the definition, no neuron of the
      sum that others send to is ever closed, and none has input.
    """

    system: SpikingSystem = field(repr=False)
    weights: Mapping[str, int]
    value: int
    is_certain: bool

    def of(self, configurations: Configurations) -> np.ndarray:
        """The value of the sum in some configurations.

        **Arguments:**

        - `configurations`: configurations of the same system.

        **Returns:** `(configurations,)` exact integers: Python integers where 64 bits could be too
        few.
        """
        at = np.asarray([self.system.position_of(name) for name in self.weights], int)
        weights = list(self.weights.values())
        delayed = np.flatnonzero(np.any(configurations.pending != 0, axis=0))
        arriving = [self._arriving[i] for i in delayed]
        spikes, pending = configurations.spikes[:, at], configurations.pending[:, delayed]
        return _product(spikes, weights) + _product(pending, arriving)

    @cached_property
    def _arriving(self) -> list[int]:
        """What one spike that a neuron emits is in the sum when it has arrived."""
        arriving = [0] * self.system.num_neurons
        for source, target, weight in self.system.synapses:
            arriving[self.system.position_of(source)] += weight * self.weights.get(target, 0)
        return arriving

    def __str__(self) -> str:
        return f"{_sum(self.weights.items())} = {self.value}"


@dataclass(frozen=True)
class Cycle:
    """Numbers of firings that together change nothing (a T-invariant): x >= 0 with x M = 0.

    Whether the rules can be applied so often, in some order, is not said. By the definition every
    cycle of the graph of a system without delays and input is a sum of such numbers.

    - `firings`: by neuron and rule, counted from 0 within the neuron.
    """

    firings: Mapping[tuple[str, int], int]

    def __str__(self) -> str:
        return _sum((f"{neuron}[{rule}]", times) for (neuron, rule), times in self.firings.items())


@dataclass(frozen=True)
class Invariants:
    """The invariants of a system.

    - `conserved`: a basis of all conserved sums, in reduced form: each has a neuron of its own that
      no other one has, the last possible; no number divides all its weights.
    - `bounding`: the minimal ones without negative weights; or `None` if more than the limit stood
      on the way to them.
    - `cycles`: the minimal cycles, likewise.
    - `num_cycle_dimensions`: of the space of all rational solutions of x M = 0.
    """

    system: SpikingSystem = field(repr=False)
    conserved: tuple[ConservedSum, ...]
    bounding: tuple[ConservedSum, ...] | None
    cycles: tuple[Cycle, ...] | None
    num_cycle_dimensions: int

    def __str__(self) -> str:
        found = [
            ("conserved", self.conserved),
            ("bounding", self.bounding),
            ("cycles", self.cycles),
        ]
        lines = []
        for name, own in found:
            if own is None:
                lines.append(f"{name}: not computed, too many; try a larger `limit`")
            else:
                lines += [f"{name}: {len(own)}", *(f"  {one}" for one in own)]
        return "\n".join(lines)


@on_host("invariants")
def invariants(system: SpikingSystem, *, limit: int = 2_000) -> Invariants:
    """Compute the invariants of a static system from its transition matrix.

    **Arguments:**

    - `system`: a system whose network does not change.
    - `limit`: the largest number of intermediate vectors in the search for minimal invariants, of
      which there may be exponentially many. If it is exceeded, `bounding` or `cycles` is `None`.

    **Returns:** the `Invariants`, in exact integers of any size.

    **Raises:** `NotImplementedError` for a network that changes; `TypeError` for a net, with what
    to use.

    ??? cite "Source"
        Martinez, Silva 1982, for the minimal ones (Farkas' algorithm). M is that of Zeng et al.
        2011. With delays C_t = C_{t-1} + S_t M does not hold, and the sums count pending spikes.
    """
    refuse_nets("invariants", system, "`prove`, which finds an invariant of what is asked, or")
    matrix = TransitionMatrix(system)
    edges = matrix.edges
    assert edges.value is not None
    by_rule: list[dict[int, int]] = [{} for _ in range(matrix.num_rules)]
    by_neuron: list[dict[int, int]] = [{} for _ in range(matrix.num_neurons)]
    entries = (edges.source.tolist(), edges.target.tolist(), edges.value.tolist())
    for rule, neuron, value in zip(*entries, strict=True):
        if value:
            by_rule[rule][neuron] = by_neuron[neuron][rule] = value
    names = [(neuron.name, i) for neuron in system.neurons for i in range(len(neuron.rules))]
    bounding = minimal_solutions(by_rule, matrix.num_neurons, limit=limit)
    cycles = minimal_solutions(by_neuron, matrix.num_rules, limit=limit)
    return Invariants(
        system=system,
        conserved=tuple(_conserved(system, y) for y in null_space(by_rule, matrix.num_neurons)),
        bounding=None if bounding is None else tuple(_conserved(system, y) for y in bounding),
        cycles=None
        if cycles is None
        else tuple(Cycle({names[rule]: x[rule] for rule in sorted(x)}) for x in cycles),
        num_cycle_dimensions=len(null_space(by_neuron, matrix.num_rules)),
    )


def _conserved(system: SpikingSystem, y: dict[int, int]) -> ConservedSum:
    weights = {system.name_of(i): y[i] for i in sorted(y)}
    value = sum(weight * system.neurons[i].spikes for i, weight in y.items())
    closes = {
        neuron.name
        for neuron in system.neurons
        if any(isinstance(rule, Rule) and rule.delay for rule in neuron.rules)
    }
    receives = {target for _, target, _ in system.synapses}
    fed = {name for name, train in system.input.items() if any(train)}
    loses = weights.keys() & (closes & receives | fed)
    return ConservedSum(system, weights, value, system.compatibility.is_textbook and not loses)


@dataclass(frozen=True)
class InvariantVerdict:
    """What a graph says of a conserved sum.

    - `edge`: where it is refuted, the first configuration with another value, and the one from
      which it was found first: `graph.witness(edge[1])` leads there.
    """

    invariant: ConservedSum
    status: Status
    edge: tuple[int, int] | None = None

    def __str__(self) -> str:
        where = ""
        if self.edge is not None:
            where = f": not in the step from configuration {self.edge[0]} to {self.edge[1]}"
        return f"{self.invariant}: {self.status.value}{where}"


@on_host("check_invariants")
def check_invariants(graph: SpikingGraph, invariants: Invariants) -> tuple[InvariantVerdict, ...]:
    """Check on a graph whether conserved sums keep their initial value.

    Every configuration is reached from the initial one, so no edge changes a sum if and only if all
    configurations have its initial value.

    **Arguments:**

    - `graph`: the graph of a spiking system, from `explore`.
    - `invariants`: those of `graph.system`, from `invariants(graph.system)`.

    **Returns:** one verdict for each sum, first those of `conserved`, then those of `bounding`. A
    sum that follows from the rules alone is proved without the graph. On an incomplete graph any
    other sum can only be refuted. If a neuron of the sum is saturated, its count is not known and
    the status is `UNKNOWN`.

    **Raises:** `ValueError` if the invariants belong to another system.
    """
    if invariants.system != graph.system:
        raise ValueError(
            "The invariants are those of another system. Give `invariants(graph.system)`."
        )
    sums = (*invariants.conserved, *(invariants.bounding or ()))
    return tuple(_verdict(graph, one) for one in sums)


def _verdict(graph: SpikingGraph, one: ConservedSum) -> InvariantVerdict:
    if one.is_certain:
        return InvariantVerdict(one, Status.PROVED)
    arriving = {target for _, target, _ in one.system.synapses}
    if graph.saturate.keys() & one.weights.keys() & (arriving | set(one.system.input)):
        return InvariantVerdict(one, Status.UNKNOWN)
    differs = np.flatnonzero(graph.map(lambda seen: one.of(seen) != one.value))
    if len(differs):
        before, first = [0, *graph.path_to(int(differs[0]))][-2:]
        return InvariantVerdict(one, Status.REFUTED, (before, first))
    return InvariantVerdict(one, Status.PROVED if graph.is_complete else Status.BOUNDED)


def _product(counts: Int[np.ndarray, "some neurons"], weights: list[int]) -> np.ndarray:
    """counts @ weights, in 64 bits where that is safe."""
    largest = int(np.abs(counts.astype(np.int64)).max(initial=0))
    if largest * sum(map(abs, weights)) < 2**62:
        return counts.astype(np.int64) @ np.asarray(weights, np.int64)
    return counts.astype(object) @ np.asarray(weights, object)


def _sum(terms: Iterable[tuple[str, int]]) -> str:
    """`2 x + y - 3 z`."""
    text = ""
    for name, number in terms:
        sign = "-" if number < 0 else "+"
        size = "" if abs(number) == 1 else f"{abs(number)} "
        text += f" {sign} {size}{name}" if text else f"{'-' if number < 0 else ''}{size}{name}"
    return text or "0"
