"""What can be said of the markings of a net and of the steps between them, by name."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from ...choice import GivenChoices


if TYPE_CHECKING:
    from ..model.net import SleptsovNet
    from ..step.state import Firing, NetState
    from .solution import NetSolution


@dataclass(frozen=True, eq=False)
class Markings:
    """Some markings of a net: `markings["p3"]` are the tokens of a place.

    - `step`: the steps made, as far as they matter: up to the clock of the search.
    - `is_halting`: whether nothing can fire any more.
    """

    net: "SleptsovNet"
    marking: Int[np.ndarray, "markings places"] = field(repr=False)
    step: Int[np.ndarray, " markings"] = field(repr=False)
    is_halting: Bool[np.ndarray, " markings"] = field(repr=False)

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, place: str) -> Int[np.ndarray, " markings"]:
        return self.marking[:, self.net.place(place)]

    @property
    def is_final(self) -> Bool[np.ndarray, " markings"]:
        """Which are final markings of the net."""
        found = np.zeros(len(self), bool)
        for final in self.net.final_markings:
            found |= np.all(self.marking == final, axis=1)
        return found


@dataclass(frozen=True, eq=False)
class Firings:
    """Some steps between markings.

    - `sources`, `targets`: the numbers of the markings.
    - `transition`, `multiplicity`: what fired, and in how many copies.
    """

    net: "SleptsovNet"
    sources: Int[np.ndarray, " firings"] = field(repr=False)
    targets: Int[np.ndarray, " firings"] = field(repr=False)
    transition: Int[np.ndarray, " firings"] = field(repr=False)
    multiplicity: Int[np.ndarray, " firings"] = field(repr=False)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def choices(self) -> GivenChoices:
        """These steps, one after the other, for `snpjax.run(choice=...)`."""
        return GivenChoices(self.transition[:, None])

    @property
    def names(self) -> list[str]:
        """The name of each transition."""
        return [self.net.transition_name(t) for t in self.transition.tolist()]

    def text(self, number: int) -> str:
        """One of them in words."""
        name = self.net.transition_name(int(self.transition[number]))
        copies = int(self.multiplicity[number])
        return name if copies == 1 else f"{name} x {copies}"

    def texts(self) -> list[str]:
        """Each in words."""
        return [self.text(number) for number in range(len(self))]


def markings_of(net: "SleptsovNet", states: "NetState", is_halting: np.ndarray) -> Markings:
    """The markings in states of a search."""
    marking = np.asarray(states.marking)[: net.num_places].T
    return Markings(net, marking, np.asarray(states.step), is_halting)


def firings_of(
    net: "SleptsovNet", sources: np.ndarray, targets: np.ndarray, detail: "Firing | Any"
) -> Firings:
    """The steps that a search made."""
    transition = net.priority_order[detail.transition] if net.num_transitions else sources[:0]
    return Firings(net, sources, targets, transition, np.asarray(detail.multiplicity))


def visited(solution: "NetSolution") -> Markings:
    """The markings of a run, a row each."""
    assert solution.markings is not None
    step = np.arange(len(solution.markings))
    return Markings(solution.net, solution.markings, step, solution.halted & (step == step[-1]))
