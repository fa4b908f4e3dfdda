"""Choices other than rules: the synapses of plasticity rules, and the decisions of astrocytes."""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...choice import NO_RULE
from ...spiking import Astrocytes, Solution, SpikingSystem
from .moment import Moment
from .subsets import (
    SubsetsOfRules,
    pending_turns,
    subsets_of_astrocytes,
    subsets_of_plasticity,
    taken_by_astrocytes,
    taken_by_plasticity,
)


class AbstractChoosers(abc.ABC):
    """Choices other than rules: of neurons their synapses, of astrocytes their decisions."""

    system: SpikingSystem

    @abc.abstractmethod
    def subsets(self, moment: Moment[Solution], number: Any) -> SubsetsOfRules:
        """What may be chosen next; `number` says which rule a slot is."""

    @abc.abstractmethod
    def taken(
        self, before: Moment[Solution], moment: Moment[Solution], record: Any
    ) -> Mapping[int, int]:
        """What was chosen in the step between two configurations."""


@dataclass(frozen=True)
class NoChoosers(AbstractChoosers):
    """Where all is decided by rules."""

    system: SpikingSystem

    def subsets(self, moment: Moment[Solution], number: Any) -> SubsetsOfRules:
        del moment, number
        return {}

    def taken(
        self, before: Moment[Solution], moment: Moment[Solution], record: Any
    ) -> Mapping[int, int]:
        del before, moment, record
        return {}


@dataclass(frozen=True)
class PlasticChoosers(AbstractChoosers):
    """Neurons whose plasticity rules create and delete synapses."""

    system: SpikingSystem

    def subsets(self, moment: Moment[Solution], number: Any) -> SubsetsOfRules:
        assert moment.network is not None
        due = pending_turns(moment.machine, moment.state.network, number)
        return subsets_of_plasticity(self.system, moment.network, moment.options, due)

    def taken(
        self, before: Moment[Solution], moment: Moment[Solution], record: Any
    ) -> Mapping[int, int]:
        del record
        assert before.network is not None and moment.network is not None
        rules = moment.solution.rules[0].tolist()
        fired = {neuron: rule for neuron, rule in enumerate(rules) if rule != NO_RULE}
        return taken_by_plasticity(before.subsets, before.network, moment.network, fired)


@dataclass(frozen=True)
class AstrocyteChoosers(AbstractChoosers):
    """Astrocytes that let spikes pass or suppress them."""

    system: SpikingSystem

    def subsets(self, moment: Moment[Solution], number: Any) -> SubsetsOfRules:
        del number
        state, size = moment.state, self.system.num_neurons
        opens = np.flatnonzero(np.asarray(state.timers)[:size] == 1).tolist()
        leaves = {neuron: int(state.pending[neuron]) for neuron in opens}
        return subsets_of_astrocytes(self.system, moment.options, leaves)

    def taken(
        self, before: Moment[Solution], moment: Moment[Solution], record: Any
    ) -> Mapping[int, int]:
        del before
        emissions = moment.solution.emissions[0]
        return taken_by_astrocytes(self.system, emissions, record.detail.network)


def choosers_of(system: SpikingSystem) -> AbstractChoosers:
    """The choices other than rules in a system."""
    if isinstance(system.variant, Astrocytes):
        return AstrocyteChoosers(system)
    if system.is_growing or system.plastic_rules is None:
        return NoChoosers(system)
    return PlasticChoosers(system)
