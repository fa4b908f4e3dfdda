"""An environment that may send any input: choices of its own instead of given trains."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .guard import Guard
from .rule import Rule


if TYPE_CHECKING:
    from .system import SpikingSystem


@dataclass(frozen=True)
class AnyInput:
    """Any train in each input neuron: 0 to `most` spikes a step, for `length` steps.

    - `length`: steps 1 to `length` have input; nothing comes after.
    - `neurons`: those that get it; by default those that have a train in the system.
    """

    length: int
    most: int = 1
    neurons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.length < 0 or self.most < 0:
            raise ValueError(f"{self} has a negative number. Give steps and spikes, 0 or more.")

    def neurons_of(self, system: "SpikingSystem") -> tuple[str, ...]:
        """The neurons of a system that get it."""
        return self.neurons or tuple(system.input)


def environment_of(neuron: str) -> str:
    """The name of the neuron that sends any input to `neuron`."""
    return f"environment of {neuron}"


def with_any_input(system: "SpikingSystem", input: AnyInput) -> "SpikingSystem":
    """The system with an environment: for every input neuron one that holds a spike for each step
    to come and uses up one of them in each, with any emission. The system does not halt before.

    **Raises:** `ValueError` when there is no input neuron.
    """
    from .system import Neuron

    neurons = input.neurons_of(system)
    unknown = [name for name in neurons if not system.has(name)]
    if unknown or not neurons:
        which = f"There is no neuron {unknown[0]!r}" if unknown else "No neuron has an input train"
        raise ValueError(f"{which}. Name the input neurons: AnyInput(..., neurons=[...]).")
    rules = [Rule(Guard.interval(1), 1, spikes) for spikes in range(input.most + 1)]
    added = [Neuron(environment_of(name), input.length, rules) for name in neurons]
    return system.replace(
        neurons=(*system.neurons, *added),
        synapses=(*system.synapses, *((environment_of(name), name, 1) for name in neurons)),
        input={name: train for name, train in system.input.items() if name not in neurons},
        level="extended",
    )
