"""What can be said of configurations and of the steps between them: spikes, timers, rules, output,
by the names of the neurons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Bool, Int

from ...choice import NO_RULE, GivenChoices
from ...trajectory import path_of
from ..model.lookup import number_of_label, position_of
from ..model.system import SpikingSystem, is_growing
from ..model.variants import Astrocytes
from .snapshot import Network, has_synapse, names_of_labels, network_history, network_of
from .timing import in_flight


if TYPE_CHECKING:
    from ..model.population import AnySystem
    from ..step.step import Selection, SpikingState
    from .solution import Solution, SolutionBatch


@dataclass(frozen=True, eq=False)
class Configurations:
    """Some configurations of a system.

    `configurations["n3"]` are the spikes of a neuron; compared with a number they make what
    `Graph.where` and `check` take.

    - `spikes`, `timers`: of every neuron; a timer is the number of steps until it is open.
    - `pending`: the spikes that leave a closed neuron when it opens.
    - `step`: the steps made, as far as they matter: up to the end of the input, of the clock, or of
      schedules.
    - `is_halting`: whether nothing can happen any more.
    - `state`: what of the networks changes, as the search has it; see `network`.

    Where neurons divide or bud, `neurons` are slots: as many as there is room for, and 0 where
    there is none yet. Names are labels then: `configurations["x"]` are the spikes of all neurons
    with a label, and `timer` is the longest of theirs.
    """

    system: "AnySystem"
    spikes: Int[np.ndarray, "configurations neurons"] = field(repr=False)
    timers: Int[np.ndarray, "configurations neurons"] = field(repr=False)
    pending: Int[np.ndarray, "configurations neurons"] = field(repr=False)
    step: Int[np.ndarray, " configurations"] = field(repr=False)
    is_halting: Bool[np.ndarray, " configurations"] = field(repr=False)
    state: Any = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, name: str) -> Int[np.ndarray, "configurations *neurons"]:
        """The spikes of a neuron, or of a population's neurons."""
        if self.labels is not None:
            return np.sum(self.spikes * _bear(self, name), axis=1)
        return self.spikes[:, position_of(self.system, name)]

    def timer(self, name: str) -> Int[np.ndarray, "configurations *neurons"]:
        """How long a neuron stays closed; 0 when it is open."""
        if self.labels is not None:
            return np.max(self.timers * _bear(self, name), axis=1, initial=0)
        return self.timers[:, position_of(self.system, name)]

    def pending_of(self, name: str) -> Int[np.ndarray, "configurations *neurons"]:
        """The spikes that leave a closed neuron when it opens; 0 when it is open."""
        if self.labels is not None:
            return np.sum(self.pending * _bear(self, name), axis=1)
        return self.pending[:, position_of(self.system, name)]

    def in_flight(self, name: str) -> Int[np.ndarray, "configurations delays"]:
        """What arrives at a neuron in 1, 2, ... steps, where synapses or dendrites have delays."""
        found = in_flight(self.system, self.state, len(self))
        return found[:, :, position_of(self.system, name)].T

    def num_in_flight(self, name: str) -> Int[np.ndarray, " configurations"]:
        """The spikes under way to a neuron, whenever they arrive."""
        if self.labels is not None:  # with division or budding synapses have no delays
            return np.zeros(len(self), np.int64)
        return np.sum(self.in_flight(name), axis=-1)

    def is_open(self, name: str) -> Bool[np.ndarray, "configurations *neurons"]:
        """Whether a neuron can receive and select rules."""
        return self.timer(name) == 0

    @cached_property
    def labels(self) -> "np.ndarray | None":
        """The label of every neuron where neurons divide or bud, empty where there is none; `None`
        for other systems."""
        if not is_growing(self.system):
            return None
        return names_of_labels(self.system, self._known.labels)

    def is_cut(self, saturate: Mapping[str, int]) -> Bool[np.ndarray, "configurations neurons"]:
        """Where a count stands for all larger ones, too, if these are of a graph that was explored
        with `saturate`."""
        is_cut = np.zeros(self.spikes.shape, bool)
        for name, most in saturate.items():
            if self.labels is None:
                own = position_of(self.system, name)
                is_cut[:, own] = self.spikes[:, own] >= most
            else:
                is_cut |= _bear(self, name) & (self.spikes >= most)
        return is_cut

    def network(self, number: int) -> Network:
        """The neurons and synapses of a configuration, by its place here."""
        return network_of(self.system, path_of(self._known, number))

    def has_synapse(self, source: str, target: str) -> Bool[np.ndarray, " configurations"]:
        """Whether there is a synapse between two neurons, or between any two with these labels:
        `graph.where(lambda c: c.has_synapse("i", "j"))`.

        **Arguments:**

        - `source`, `target`: names of neurons; where neurons divide or bud, labels.

        **Returns:** `(configurations,)` truth values.

        **Raises:** `KeyError` for an unknown name.
        """
        check = position_of if self.labels is None else number_of_label
        for name in (source, target):
            check(self.system, name)
        return has_synapse(self.system, self._known, source, target, len(self))

    @property
    def _known(self) -> Any:
        """The state of the networks."""
        if self.state is None and self.system.changes_network:
            raise ValueError("Of these configurations it is not known how the network changed.")
        return self.state


@dataclass(frozen=True, eq=False)
class Transitions:
    """Some steps of a system.

    - `sources`, `targets`: the numbers of the configurations before and after.
    - `rules`: the rule that each neuron selected, counted within the neuron, or `NO_RULE`.
    - `emissions`: the spikes that left each neuron.
    - `subsets`: the number of the subset of synapses that each plasticity rule took, and 1 of each
      astrocyte that decided to suppress: these stand after the neurons. `None` in a system without
      either.
    - `labels`: where neurons divide or bud, the label of every neuron before the step. Names are
      labels then, as for `Configurations`.
    """

    system: "AnySystem"
    sources: Int[np.ndarray, " transitions"] = field(repr=False)
    targets: Int[np.ndarray, " transitions"] = field(repr=False)
    rules: Int[np.ndarray, "transitions neurons"] = field(repr=False)
    emissions: Int[np.ndarray, "transitions neurons"] = field(repr=False)
    subsets: Int[np.ndarray, "transitions choosers"] | None = field(repr=False, default=None)
    labels: np.ndarray | None = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def choices(self) -> GivenChoices:
        """These steps, one after the other, for `snpjax.run(choice=...)`."""
        if self.subsets is None:
            return GivenChoices(self.rules)
        more = ((0, 0), (0, self.subsets.shape[1] - self.rules.shape[1]))  # astrocytes
        return GivenChoices(np.pad(self.rules, more, constant_values=NO_RULE), self.subsets)

    def emitted(self, name: str) -> Int[np.ndarray, "transitions *neurons"]:
        """The spikes that left a neuron."""
        if self.labels is not None:
            return np.sum(self.emissions * _bear(self, name), axis=1)
        return self.emissions[:, position_of(self.system, name)]

    def fired(self, name: str, rule: int) -> Bool[np.ndarray, "transitions *neurons"]:
        """Whether a neuron selected a rule.

        **Arguments:**

        - `name`: the name of the neuron; where neurons divide or bud, a label.
        - `rule`: the index of the rule, from 0.

        **Returns:** `(transitions,)` truth values, or `(transitions, neurons)` for a population.
        """
        if self.labels is not None:
            return np.any((self.rules == rule) & _bear(self, name), axis=1)
        return self.rules[:, position_of(self.system, name)] == rule


def _bear(some: Configurations | Transitions, label: str) -> Bool[np.ndarray, "some neurons"]:
    """Which neurons have a label."""
    number_of_label(some.system, label)
    return some.labels == label


def configurations_of(
    system: "AnySystem", state: "SpikingState", is_halting: Bool[np.ndarray, " configurations"]
) -> Configurations:
    """States, configurations last, as arrays of the host."""
    # A search counts in few bits; here sums and products of counts must not wrap.
    spikes, timers, pending = (
        np.asarray(x)[: _size(system)].T.astype(np.int64)
        for x in (state.spikes, state.timers, state.pending)
    )
    step = np.asarray(state.step)
    return Configurations(system, spikes, timers, pending, step, is_halting, state.network)


def transitions_of(
    system: "AnySystem",
    sources: Int[np.ndarray, " transitions"],
    targets: Int[np.ndarray, " transitions"],
    detail: "Selection",
) -> Transitions:
    """Steps, transitions last, as arrays of the host."""
    rules, emissions = (
        np.asarray(x)[: _size(system)].T.astype(np.int64) for x in (detail.rules, detail.emissions)
    )
    if not is_growing(system):
        subsets = detail.subsets
        if subsets is not None:
            choosers = system.num_neurons + len(astrocytes_of(system))
            subsets = np.asarray(subsets)[:choosers].T.astype(np.int64)
        return Transitions(system, sources, targets, rules, emissions, subsets)
    labels = names_of_labels(system, detail.network)
    return Transitions(system, sources, targets, rules, emissions, labels=labels)


def visited(solution: "Solution | SolutionBatch") -> Configurations:
    """The configurations of a run or of all paths of a batch, a row of all of them after the
    other."""
    histories = solution.configurations, solution.timer_history, solution.pending_history
    states: Any = solution.trajectory.states
    networks = states.network
    if np.ndim(solution.steps) == 0:
        histories, networks = jax.tree.map(lambda x: x[..., None], (histories, networks))
    spikes, timers, pending = (
        np.moveaxis(history, 2, 1).reshape(-1, history.shape[1]) for history in histories
    )
    steps = np.atleast_1d(solution.steps)
    row = np.arange(len(spikes) // len(steps))[:, None]
    step = np.minimum(row, steps)
    is_halting = (row >= steps) & solution.halted
    return Configurations(
        solution.system,
        spikes,
        timers,
        pending,
        step.reshape(-1),
        is_halting.reshape(-1),
        network_history(solution.system, networks, spikes.shape[1]),
    )


def astrocytes_of(system: "AnySystem") -> list[str]:
    """The names of the astrocytes of a system, which choose after its neurons."""
    variant = system.variant if isinstance(system, SpikingSystem) else None
    num = len(variant.astrocytes) if isinstance(variant, Astrocytes) else 0
    return [f"astrocyte {number}" for number in range(1, num + 1)]


def _size(system: "AnySystem") -> int | None:
    """How many neurons are examined; `None` for all slots."""
    return None if is_growing(system) else system.num_neurons
