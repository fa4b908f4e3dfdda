"""Neurons, labels and their rules by name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._text.nearest import nearest
from .rule import AnyRule
from .system import SpikingSystem, is_growing


if TYPE_CHECKING:
    from .population import AnySystem


def number_of_label(system: "AnySystem", label: str) -> int:
    """The number of a label of a system that divides or buds.

    **Raises:** `KeyError` that says what there is.
    """
    assert is_growing(system)
    if label not in system.label_numbers:
        raise KeyError(f"No neuron of {system!r} ever has the label {label!r}.")
    return system.label_numbers[label]


def near_neuron(system: "AnySystem", name: str) -> str:
    """Ask for the neurons or populations that an unknown name resembles, see `nearest`."""
    if isinstance(system, SpikingSystem):
        return nearest(name, system.names, "neurons")
    return nearest(name, system.populations, "populations")


def position_of(system: "AnySystem", name: str) -> int | slice:
    """The position of a neuron, or those of a population's neurons.

    **Raises:** `KeyError` that says what there is.
    """
    if not system.has(name):
        raise KeyError(f"There is no neuron {name!r} in {system!r} ({near_neuron(system, name)}).")
    return system.position_of(name)


def rules_of(system: "AnySystem") -> dict[str, Sequence[AnyRule | str]]:
    """The rules of every neuron by its name, or of every label where neurons divide or bud."""
    if is_growing(system):
        own = system.rules_of_labels
        return {label: own.get(label, ()) for label in system.label_numbers}
    return {neuron.name: neuron.rules for neuron in system.neurons}
