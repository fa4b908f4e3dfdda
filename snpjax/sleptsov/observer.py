"""What a search may say of a net: its markings and firings by name, and in which words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from ..choice import GivenChoices
from .net import SleptsovNet
from .observed import Firings, Markings, firings_of, markings_of
from .rules import AbstractRule


if TYPE_CHECKING:
    from .witness import NetWitness
    from .written import WrittenNet


@dataclass(frozen=True)
class NetObserver:
    """A net as searches look at it, under one rule, see `explore.observed.Observer`."""

    net: SleptsovNet
    rule: AbstractRule

    @property
    def outputs(self) -> Sequence[str]:
        """Nothing leaves a net."""
        return ()

    @property
    def names(self) -> Sequence[str]:
        """The places."""
        return self.net.place_names

    def configurations(
        self, states: Any, is_halting: Bool[np.ndarray, " configurations"]
    ) -> Markings:
        return markings_of(self.net, states, is_halting)

    def steps(
        self,
        sources: Int[np.ndarray, " edges"],
        targets: Int[np.ndarray, " edges"],
        detail: Any,
    ) -> Firings:
        return firings_of(self.net, sources, targets, detail)

    def counts(self, some: Markings) -> Int[np.ndarray, "markings places"]:
        return some.marking

    def is_stuck(self, some: Markings) -> Bool[np.ndarray, " markings"]:
        """Where a place from which some transition takes holds tokens."""
        is_taken_from = np.zeros(self.net.num_places, bool)
        is_taken_from[self.net.inputs.place] = True
        return np.any((some.marking != 0) & is_taken_from, axis=1)

    def alternatives(self) -> list[str]:
        """The names of all transitions."""
        return list(self.net.transition_names)

    def selected(self, steps: Firings) -> set[str]:
        return {self.net.transition_name(t) for t in np.unique(steps.transition).tolist()}

    @property
    def written(self) -> "WrittenNet":
        from .written import WrittenNet

        return WrittenNet(self.net)

    def witness(
        self, some: Markings, choices: GivenChoices, saturate: Mapping[str, int]
    ) -> "NetWitness":
        from .witness import NetWitness

        del saturate  # nets are not
        return NetWitness(self.rule, some, choices)
