"""An environment that may send any input: choices of its own instead of given trains."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snpjax_formats.arguments import as_integer

from .communication_variants import Channels
from .guard import Guard
from .rule import AnyRule, BuddingRule, DivisionRule, Rule


if TYPE_CHECKING:
    from .population import AnySystem
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
        for name, number in (("length", self.length), ("most", self.most)):
            if not 0 <= as_integer(name, number) < 2**31:
                raise ValueError(f"`{name}` is {number}. Give a number from 0 to 2^31 - 1.")

    def neurons_of(self, system: "AnySystem") -> tuple[str, ...]:
        """The neurons of a system that get it."""
        return self.neurons or tuple(system.input)


def environment_of(neuron: str) -> str:
    """The name of the neuron that sends any input to `neuron`."""
    return f"environment of {neuron}"


def fed_by(name: str, rules: Sequence[AnyRule | str]) -> str | None:
    """The neuron to which one of this name, with these rules, sends any input, see
    `with_any_input`; `None` if it is none of the environment."""
    fed = name.removeprefix(environment_of(""))
    sent = [rule.produce for rule in rules if isinstance(rule, Rule)]
    is_environment = fed != name and sent == list(range(len(rules)))
    return fed if is_environment else None


def with_any_input(system: "SpikingSystem", input: AnyInput) -> "SpikingSystem":
    """The system with an environment: for every input neuron one that holds a spike for each step
    to come and uses up one of them in each, with any emission. The system does not halt before.

    Where neurons divide or bud an input neuron is a label, and the environment sends to all neurons
    with it, also to those that are new.

    **Raises:** `ValueError` when there is no input neuron, or one that divides into others, which
    would inherit what the environment sends by.
    """
    from .system import Neuron

    neurons = input.neurons_of(system)
    called = {name: (name,) for name in system.names}
    if system.is_growing:
        called = {
            label: tuple(neuron.name for neuron in system.neurons if neuron.label == label)
            for label in system.label_numbers
        }
    unknown = [name for name in neurons if name not in called]
    if unknown or not neurons:
        which = f"There is no neuron {unknown[0]!r}" if unknown else "No neuron has an input train"
        raise ValueError(f"{which}. Name the input neurons: AnyInput(..., neurons=[...]).")
    added_synapses = [(environment_of(name), own) for name in neurons for own in called[name]]
    variant, channel = system.variant, None
    if isinstance(variant, Channels):
        variant, channel = variant.extended("input", added_synapses), "input"
    rules = [
        Rule(Guard.interval(1), 1, spikes, channel=channel if spikes else None)
        for spikes in range(input.most + 1)
    ]
    for name in neurons if system.is_growing else ():
        _check_stays(system, name)
    # Labels that nobody bears at first have no synapse.
    unborn = [(environment_of(name), name) for name in neurons if not called[name]]
    added = [Neuron(environment_of(name), input.length, rules) for name in neurons]
    return system.replace(
        neurons=(*system.neurons, *added),
        synapses=(
            *system.synapses,
            *((source, target, 1) for source, target in added_synapses),
        ),
        dictionary=(*system.dictionary, *unborn),
        input={name: train for name, train in system.input.items() if name not in neurons},
        level="extended",
        variant=variant,
    )


def _check_stays(system: "SpikingSystem", label: str) -> None:
    """**Raises:** `ValueError` if a neuron with a label turns into one with another label."""
    for rule in system.rules_of_labels.get(label, ()):
        after = ()
        if isinstance(rule, DivisionRule):
            after = (rule.left, rule.right)
        elif isinstance(rule, BuddingRule) and rule.parent is not None:
            after = (rule.parent,)
        for other in after:
            if other != label:
                raise ValueError(
                    f"A neuron with the label {label!r} turns into one with {other!r}, which would "
                    "inherit what any input is sent by. Give trains instead of AnyInput."
                )
