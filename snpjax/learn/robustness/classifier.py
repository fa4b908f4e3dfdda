"""A system as a classifier: which neurons hold the input, and which number is the answer."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, cast

import numpy as np
from jaxtyping import Int
from scipy import sparse

from ...spiking.model.rule import Rule
from ...spiking.model.system import Neuron, SpikingSystem
from ..replay import replay


#: The rules of a neuron.
Rules: TypeAlias = tuple[Rule, ...]

_PATHS = 16_384  # of one run


class Decoder(enum.Enum):
    """Which number of an output neuron counts; the answer is the first output with the most.

    - `SPIKES_LEFT`: the spikes in the neuron after the last step (`Response.spikes`).
    - `SPIKES_SENT`: the spikes that left the neuron in all steps (`network(counts)`).
    """

    SPIKES_LEFT = "spikes left"
    SPIKES_SENT = "spikes sent"


@dataclass(frozen=True, eq=False)
class Classifier:
    """The system, with the positions of its inputs and outputs. Rules are the first applicable."""

    system: SpikingSystem
    inputs: Int[np.ndarray, " inputs"]
    outputs: Int[np.ndarray, " outputs"]
    steps: int
    decoder: Decoder

    @staticmethod
    def of(
        system: SpikingSystem, inputs: Sequence[str] | None, steps: int, decoder: Decoder | None
    ) -> "Classifier":
        """**Raises:** `ValueError` for a system that is not such a network, with the fix."""
        _check(system, steps)
        positions = _without_incoming(system)
        if inputs is not None:
            positions = np.array([system.position_of(name) for name in inputs], np.int64)
            if len(set(positions.tolist())) < len(positions):
                raise ValueError("`inputs` names a neuron twice. Name each once.")
        outputs = np.array([system.names[name] for name in system.output], np.int64)
        return Classifier(system, positions, outputs, steps, decoder or _decoder_of(system))

    def numbers(self, spikes: Int[np.ndarray, "inputs paths"]) -> Int[np.ndarray, "outputs paths"]:
        """What counts of each output, by runs of the system from these spikes of its inputs."""
        count = spikes.shape[1]
        found = []
        for start in range(0, count, _PATHS):
            some = spikes[:, start : start + _PATHS]
            # Runs of a few sizes share their programs.
            size = min(_PATHS, 1 << max(some.shape[1] - 1, 0).bit_length())
            initial = np.repeat(self._initial[:, None], size, axis=1)
            initial[self.inputs, : some.shape[1]] = some
            run = replay(self.system, initial, steps=self.steps)
            left = self.decoder is Decoder.SPIKES_LEFT
            numbers = run.spikes[self.outputs] if left else run.trains.sum(axis=0)
            found.append(numbers[:, : some.shape[1]].astype(np.int64))
        return np.concatenate([np.zeros((len(self.outputs), 0), np.int64), *found], axis=1)

    @cached_property
    def _initial(self) -> Int[np.ndarray, " neurons"]:
        return np.array([neuron.spikes for neuron in self.system.neurons], np.int64)

    @cached_property
    def is_source(self) -> np.ndarray:
        """The inputs that no synapse and no train reaches: what they send depends on their own
        spikes alone."""
        trains = [self.system.names[name] for name in self.system.input]
        return np.isin(self.inputs, _without_incoming(self.system)) & ~np.isin(self.inputs, trains)

    @cached_property
    def rules(self) -> list[Rules]:
        """The rules of each neuron."""
        found = [tuple(neuron.rules) for neuron in self.system.neurons]
        return cast(list[Rules], found)  # `_check` has seen them

    @cached_property
    def weights(self) -> sparse.csc_array:
        """`(neurons, neurons)`, from rows to columns."""
        edges, num = self.system.edges, self.system.num_neurons
        value = np.ones(len(edges), np.int64) if edges.value is None else np.asarray(edges.value)
        ends = np.asarray(edges.source), np.asarray(edges.target)
        return sparse.csc_array((value.astype(np.int64), ends), shape=(num, num))

    @cached_property
    def arrivals(self) -> Int[np.ndarray, "steps neurons"]:
        """What the input trains bring in each step."""
        table = np.zeros((self.steps, self.system.num_neurons), np.int64)
        for name, train in self.system.input.items():
            known = np.asarray(train[: self.steps], np.int64)
            table[: len(known), self.system.names[name]] += known
        return table

    def required(self, answer: int) -> Int[np.ndarray, " outputs"]:
        """By how much the number of the answer must exceed each other one, so that it stays the
        first of the largest."""
        return (np.arange(len(self.outputs)) < answer).astype(np.int64)


def _decoder_of(system: SpikingSystem) -> Decoder:
    """Outputs with rules send their spikes, and those without rules keep them."""
    fires = {name: _emits(system.neurons[system.names[name]]) for name in system.output}
    if len(set(fires.values())) == 1:
        return Decoder.SPIKES_SENT if all(fires.values()) else Decoder.SPIKES_LEFT
    sends, keeps = (next(x for x, y in fires.items() if y is what) for what in (True, False))
    raise ValueError(
        f"Output {sends!r} has rules and output {keeps!r} has none. Say which numbers are "
        "compared: pass `decoder=Decoder.SPIKES_SENT` or `decoder=Decoder.SPIKES_LEFT`."
    )


def _emits(neuron: Neuron) -> bool:
    """Whether a neuron has a rule that sends spikes, and does not only forget."""
    return any(not isinstance(rule, Rule) or rule.produce > 0 for rule in neuron.rules)


def _without_incoming(system: SpikingSystem) -> Int[np.ndarray, " neurons"]:
    return np.setdiff1d(np.arange(system.num_neurons), np.asarray(system.edges.target))


def _check(system: SpikingSystem, steps: int) -> None:
    if steps < 1:
        raise ValueError(f"`steps` is {steps}. Pass the steps that the network was trained with.")
    if not system.is_static or system.variant is not None:
        raise ValueError(
            "Robustness is defined for systems of spiking and forgetting rules on a fixed network. "
            "Export one with `snpjax.learn.to_system`."
        )
    if not system.compatibility.is_textbook:
        raise ValueError("Pass a system without `compatibility`: the definition is followed.")
    if len(system.output) < 2:
        raise ValueError(
            f"The system has {len(system.output)} output neurons. Name one for each class in "
            "`output`."
        )
    for neuron in system.neurons:
        for number, rule in enumerate(neuron.rules):
            if not isinstance(rule, Rule) or rule.delay:
                raise ValueError(
                    f"Neuron {neuron.name!r}, rule {number} ({rule}) has a delay. Robustness is "
                    "decided for networks without delays."
                )
