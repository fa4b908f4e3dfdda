"""What every layer has, to be joined and exported."""

import abc
from collections.abc import Iterable
from typing import NamedTuple, cast

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ...spiking.model.rule import Rule
from ..exact_rules import rules_of_neurons
from ..population import PopulationRun, SpikingPopulation
from ..synapses.abstract import SynapseList
from .norm import SpikingNorm


class NeuronGroup(NamedTuple):
    """Neurons of the exact system.

    - `spikes`, `rules`: of each channel.
    - `copies`: neurons in each channel, counted channel by channel.
    """

    spikes: list[int]
    rules: list[list[Rule]]
    copies: int

    @property
    def size(self) -> int:
        """The number of neurons."""
        return len(self.spikes) * self.copies

    @property
    def most_sent(self) -> int:
        """The most spikes that a rule sends."""
        return max((rule.produce for rules in self.rules for rule in rules), default=0)

    def rules_of(self, neuron: int) -> list[Rule]:
        """The rules of a neuron."""
        return self.rules[neuron // self.copies]


class LayerParts(NamedTuple):
    """A layer in the exact system.

    - `neurons`: those of the layer. `None` where it only adds spikes: the synapses of the next one
      then come from all sources of `synapses`, which have weight 1.
    - `synapses`: from the inputs.
    - `recurrent`: from the neurons to themselves, if there are any.
    """

    neurons: NeuronGroup | None
    synapses: SynapseList
    recurrent: SynapseList | None = None


class AbstractLayer(eqx.Module):
    """A function of trains that is a part of an exact system: what `Sequential` joins.

    What is asked for here is all that joining, running and exporting layers takes. Override these
    defaults in a layer with parameters.
    """

    @property
    @abc.abstractmethod
    def in_size(self) -> int:
        """The number of inputs."""

    @property
    @abc.abstractmethod
    def out_size(self) -> int:
        """The number of outputs: neurons, or sums of inputs."""

    @property
    @abc.abstractmethod
    def has_neurons(self) -> bool:
        """Whether the outputs are neurons."""

    @abc.abstractmethod
    def run(
        self,
        train: Float[Array, "steps inputs *paths"],
        more: Float[Array, "steps outputs *paths"] | None = None,
        *,
        keeps: bool = False,
    ) -> PopulationRun:
        """Run the layer, without checks.

        **Arguments:**

        - `train`: `(steps, inputs, *paths)` spikes from the inputs in each step.
        - `more`: `(steps, outputs, *paths)` spikes that arrive in addition; `None` always unless
          `takes_more`.
        - `keeps`: whether to keep the spikes of all steps.

        **Returns:** a `PopulationRun`.
        """

    @abc.abstractmethod
    def most_sent(self, received: int) -> int:
        """The most spikes that leave an output in a step, before training.

        **Arguments:**

        - `received`: the most that an input sends.
        """

    @abc.abstractmethod
    def parts(self) -> LayerParts:
        """The layer in the exact system. Parameters are rounded."""

    @property
    @abc.abstractmethod
    def is_smooth(self) -> bool:
        """Whether firing itself is a smooth function, so that nothing is exact."""

    @abc.abstractmethod
    def roundings(self) -> Iterable[tuple[str, Float[Array | np.ndarray, "..."]]]:
        """By how much each parameter is rounded, with its name, such as `"the weight"`: all
        parameters but those of `population`, and `()` if there are none. Unless `round` is true,
        `to_system` refuses what would be rounded."""

    @property
    def max_steps(self) -> int | None:
        """The largest length of a train; `None` for any."""
        return None

    @property
    def is_batch_first(self) -> bool | None:
        """Whether calls of the layer on its own have the batch as the first axis. In a network the
        batch is where the network has it; `None` in a layer that suits any."""
        return None

    @property
    def takes_more(self) -> bool:
        """Whether skips may lead to the outputs: whether `run` adds `more`."""
        return False

    @property
    def population(self) -> SpikingPopulation | None:
        """The neurons, if they have parameters."""
        return None

    def problem(self, received: int) -> str | None:
        """Why the layer cannot be part of a network, if it cannot, as the end of a sentence.

        **Arguments:**

        - `received`: the most that an input sends in a step.
        """
        del received
        return None

    @property
    def norms(self) -> tuple[SpikingNorm, ...]:
        """Its normalisations. The layer is exported once all have `inference=True`."""
        return ()

    def observed(
        self, train: Float[Array, "steps inputs *paths"], momentum: float
    ) -> "AbstractLayer":
        """The layer with the running statistics of `norms` updated by a batch.

        **Arguments:**

        - `train`: `(steps, inputs, *paths)` spikes from the inputs in each step.
        - `momentum`: see `Sequential.observed`.
        """
        del train, momentum
        return self


def group_of(
    population: SpikingPopulation, offset: Float[Array, " channels"] | None = None
) -> NeuronGroup:
    """The exact neurons of a population, with an `offset` as in a run."""
    constants, initial = population.constants(offset)
    own = slice(population.start, population.start + population.channels)
    rules = rules_of_neurons(population.model, constants)[own]
    rules = cast("list[list[Rule]]", rules)  # no population has plasticity
    return NeuronGroup(np.asarray(initial).astype(int).tolist(), rules, population.copies)
