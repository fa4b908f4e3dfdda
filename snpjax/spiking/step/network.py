"""Networks with a state of their own or another delivery: what a step has to know of them."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Int, PyTree

from ...choice import AbstractChoice, Steps
from .shapes import Counts, Flags, Matches, PerSlot, Slots


class Change(NamedTuple):
    """What one step does to a network.

    - `network`: its state afterwards.
    - `is_new`: neurons that lose what is sent to them in this step, if there may be any.
    - `culprit`: the first neuron whose change fails; the number of neurons where none does.
    - `failure`: of `RESULTS`, how it fails then.
    - `detail`: what is saved of the step.
    """

    network: PyTree
    is_new: Bool[Array, "neurons *paths"] | None
    culprit: Int[Array, "*paths"]
    failure: Any
    detail: PyTree


class AbstractNetwork(eqx.Module):
    """Synapses, and maybe neurons, that rules create and delete; or synapses that do not deliver as
    those of the definition do, such as those with delays, schedules or astrocytes.

    What of it changes is its state, a pytree that is part of the state of a run; as there, `paths`
    may be the last axis of all arrays.
    """

    @abc.abstractmethod
    def init(self) -> PyTree:
        """The initial network, of one path."""

    @abc.abstractmethod
    def labels(self, network: PyTree) -> Counts | None:
        """The column of every neuron in the tables of rules; `None` where neurons have their own or
        keep their type."""

    @abc.abstractmethod
    def allowed(self, applicable: Matches, network: PyTree) -> Matches:
        """Which of the slots that apply by their spikes the network allows."""

    @abc.abstractmethod
    def ways(self, applicable: Matches, network: PyTree) -> PerSlot:
        """In how many ways each slot can be used, 0 where it does not apply; with those of what is
        pending, which are chosen, too."""

    @abc.abstractmethod
    def may_choose(self) -> Bool[Array, " neurons"]:
        """Neurons that may have several ways to use one slot."""

    @abc.abstractmethod
    def is_pending(self, network: PyTree) -> Flags | None:
        """Neurons that have something to do in any case; `None` if none ever has."""

    @abc.abstractmethod
    def essential(self, network: PyTree) -> PyTree:
        """What tells states apart."""

    @abc.abstractmethod
    def restored(self, essential: PyTree) -> PyTree:
        """The state with these; of many paths."""

    @abc.abstractmethod
    def change(
        self,
        network: PyTree,
        slots: Slots,
        emissions: Counts,
        choice: AbstractChoice,
        step: Steps,
    ) -> Change:
        """What the selected slots, and what neurons emit, do to it."""

    @abc.abstractmethod
    def deliver(self, network: PyTree, change: Change, emissions: Counts) -> Counts:
        """What arrives at each neuron by the synapses that can change."""
