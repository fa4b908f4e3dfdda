"""What can be said of configurations and of the steps between them: spikes, timers, rules, output,
by the names of the neurons."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int


if TYPE_CHECKING:
    from .population import PopulationSystem
    from .step import Selection, SpikingState
    from .system import SpikingSystem


@dataclass(frozen=True, eq=False)
class Configurations:
    """Some configurations of a system.

    `configurations["n3"]` are the spikes of a neuron; compared with a number they make what
    `Graph.where` and `check` take.

    - `spikes`, `timers`: of every neuron; a timer is the number of steps until it is open.
    - `pending`: the spikes that leave a closed neuron when it opens.
    - `step`: the steps made, as far as they matter: up to the end of the input, or of the clock.
    - `is_halting`: whether nothing can happen any more.
    """

    system: "SpikingSystem | PopulationSystem"
    spikes: Int[np.ndarray, "configurations neurons"] = field(repr=False)
    timers: Int[np.ndarray, "configurations neurons"] = field(repr=False)
    pending: Int[np.ndarray, "configurations neurons"] = field(repr=False)
    step: Int[np.ndarray, " configurations"] = field(repr=False)
    is_halting: Bool[np.ndarray, " configurations"] = field(repr=False)

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, name: str) -> Int[np.ndarray, "configurations *neurons"]:
        """The spikes of a neuron, or of a population's neurons."""
        return self.spikes[:, position_of(self.system, name)]

    def timer(self, name: str) -> Int[np.ndarray, "configurations *neurons"]:
        """How long a neuron stays closed; 0 when it is open."""
        return self.timers[:, position_of(self.system, name)]

    def is_open(self, name: str) -> Bool[np.ndarray, "configurations *neurons"]:
        """Whether a neuron can receive and select rules."""
        return self.timer(name) == 0


@dataclass(frozen=True, eq=False)
class Transitions:
    """Some steps of a system.

    - `sources`, `targets`: the numbers of the configurations before and after.
    - `rules`: the rule that each neuron selected, counted within the neuron, or `NO_RULE`.
    - `emissions`: the spikes that left each neuron.
    """

    system: "SpikingSystem | PopulationSystem"
    sources: Int[np.ndarray, " transitions"] = field(repr=False)
    targets: Int[np.ndarray, " transitions"] = field(repr=False)
    rules: Int[np.ndarray, "transitions neurons"] = field(repr=False)
    emissions: Int[np.ndarray, "transitions neurons"] = field(repr=False)

    def __len__(self) -> int:
        return len(self.sources)

    def emitted(self, name: str) -> Int[np.ndarray, "transitions *neurons"]:
        """The spikes that left a neuron."""
        return self.emissions[:, position_of(self.system, name)]

    def fired(self, name: str, rule: int) -> Bool[np.ndarray, "transitions *neurons"]:
        """Whether a neuron selected this rule, counted from 0."""
        return self.rules[:, position_of(self.system, name)] == rule


def position_of(system: "SpikingSystem | PopulationSystem", name: str) -> int | slice:
    """The position of a neuron, or those of a population's neurons.

    **Raises:** `KeyError` that says what there is.
    """
    if not system.has(name):
        raise KeyError(f"There is no neuron {name!r} in {system!r}.")
    return system.position_of(name)


def configurations_of(
    system: "SpikingSystem | PopulationSystem",
    state: "SpikingState",
    is_halting: Bool[np.ndarray, " configurations"],
) -> Configurations:
    """States, configurations last, as arrays of the host."""
    size = system.num_neurons
    # A search counts in few bits; here sums and products of counts must not wrap.
    spikes, timers, pending = (
        np.asarray(x)[:size].T.astype(np.int64) for x in (state.spikes, state.timers, state.pending)
    )
    return Configurations(system, spikes, timers, pending, np.asarray(state.step), is_halting)


def transitions_of(
    system: "SpikingSystem | PopulationSystem",
    sources: Int[np.ndarray, " transitions"],
    targets: Int[np.ndarray, " transitions"],
    detail: "Selection",
) -> Transitions:
    """Steps, transitions last, as arrays of the host."""
    size = system.num_neurons
    rules, emissions = (
        np.asarray(x)[:size].T.astype(np.int64) for x in (detail.rules, detail.emissions)
    )
    return Transitions(system, sources, targets, rules, emissions)
