"""What a search may say of a system: its configurations and steps by name, and in which words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from ..choice import GivenChoices
from .observed import (
    Configurations,
    Transitions,
    configurations_of,
    rules_of,
    transitions_of,
)
from .rule import AnyRule
from .system import is_growing


if TYPE_CHECKING:
    from .population import PopulationSystem
    from .system import SpikingSystem
    from .witness import SystemWitness
    from .written import WrittenSystem


@dataclass(frozen=True)
class SystemObserver:
    """A system as searches look at it, see `explore.observed.Observer`."""

    system: "SpikingSystem | PopulationSystem"

    @property
    def outputs(self) -> Sequence[str]:
        return self.system.output

    @cached_property
    def _rules(self) -> dict[str, Sequence[AnyRule | str]]:
        return rules_of(self.system)

    @cached_property
    def names(self) -> Sequence[str]:
        """Of all neurons, or labels."""
        if is_growing(self.system):
            return list(self._rules)
        return [self.system.name_of(index) for index in range(self.system.num_neurons)]

    def configurations(
        self, states: Any, is_halting: Bool[np.ndarray, " configurations"]
    ) -> Configurations:
        return configurations_of(self.system, states, is_halting)

    def steps(
        self,
        sources: Int[np.ndarray, " edges"],
        targets: Int[np.ndarray, " edges"],
        detail: Any,
    ) -> Transitions:
        return transitions_of(self.system, sources, targets, detail)

    def counts(self, some: Configurations) -> Int[np.ndarray, "configurations names"]:
        if some.labels is None:
            return some.spikes
        return np.stack([some[label] for label in self.names], axis=1)

    def is_stuck(self, some: Configurations) -> Bool[np.ndarray, " configurations"]:
        """Where a neuron that has rules holds spikes."""
        left = some.spikes != 0
        if some.labels is None:
            left &= self._has_rules
        else:
            left &= np.isin(some.labels, np.asarray(self.names)[self._has_rules])
        return np.any(left, axis=1)

    @cached_property
    def _has_rules(self) -> Bool[np.ndarray, " names"]:
        return np.asarray([bool(own) for own in self._rules.values()], bool)

    def alternatives(self) -> list[tuple[str, int]]:
        """Neuron, or label, and number of every rule."""
        return [(name, n) for name, own in self._rules.items() for n in range(len(own))]

    def selected(self, steps: Transitions) -> set[tuple[str, int]]:
        found = set()
        for i, name in enumerate(self._rules):
            own = steps.rules[:, i] if steps.labels is None else steps.rules[steps.labels == name]
            found.update((name, rule) for rule in np.unique(own).tolist() if rule >= 0)
        return found

    @property
    def written(self) -> "WrittenSystem":
        from .written import WrittenSystem

        return WrittenSystem(self.system)

    def witness(
        self, some: Configurations, choices: GivenChoices, saturate: Mapping[str, int]
    ) -> "SystemWitness":
        from .witness import SystemWitness

        return SystemWitness(some, choices, saturate)
