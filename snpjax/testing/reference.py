"""The reference interpreter of SN P systems: pure Python, slow, and meant to be obviously right.

It follows the definition step by step with lists and integers, shares nothing with the compiled
step but the model classes, and never imports JAX. Every engine is tested against it.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..spiking.rule import Rule
from ..spiking.system import SpikingSystem


class Configuration(NamedTuple):
    """Spikes, timers and pending emissions of every neuron, and min(steps made, horizon of the
    input)."""

    spikes: tuple[int, ...]
    timers: tuple[int, ...]
    pending: tuple[int, ...]
    input_position: int = 0


#: The rule index that each neuron selects in a step, or None.
Choice = tuple[int | None, ...]


@dataclass(frozen=True)
class Computation:
    """A run: `configurations[t]` is C_t; `choices[t - 1]`, `emissions[t - 1]` belong to step t."""

    configurations: tuple[Configuration, ...]
    choices: tuple[Choice, ...]
    emissions: tuple[tuple[int, ...], ...]
    halted: bool

    @property
    def steps(self) -> int:
        return len(self.choices)


def horizon(system: SpikingSystem) -> int:
    """The last step in which input arrives, 0 if there is none."""
    return max(
        (step for train in system.input.values() for step, x in enumerate(train, 1) if x), default=0
    )


def initial(system: SpikingSystem) -> Configuration:
    """C_0: every neuron open."""
    zeros = (0,) * len(system.neurons)
    return Configuration(tuple(n.spikes for n in system.neurons), zeros, zeros, 0)


def applicable(system: SpikingSystem, configuration: Configuration) -> list[list[int]]:
    """The indices of each neuron's applicable rules; none while it is closed.

    A repeated rule counts once, where it stands first.
    """
    found = []
    for neuron, k, timer in zip(
        system.neurons, configuration.spikes, configuration.timers, strict=True
    ):
        rules = [(i, r) for i, r in enumerate(neuron.rules) if r not in neuron.rules[:i]]
        found.append([i for i, r in rules if timer == 0 and k in r.guard and k >= r.consume])  # pyright: ignore
    return found


def is_halting(system: SpikingSystem, configuration: Configuration) -> bool:
    """No rule is applicable, every neuron is open, and no input remains."""
    return (
        not any(applicable(system, configuration))
        and not any(configuration.timers)
        and configuration.input_position >= horizon(system)
    )


def choices(system: SpikingSystem, configuration: Configuration) -> Iterator[Choice]:
    """All valid spiking vectors, the last neuron varying fastest."""
    options = [rules or [None] for rules in applicable(system, configuration)]
    yield from itertools.product(*options)


def step(
    system: SpikingSystem, configuration: Configuration, choice: Choice
) -> tuple[Configuration, tuple[int, ...]]:
    """The next configuration and the emissions, when each neuron selects the rule that `choice`
    names.

    **Raises:** `ValueError` if `choice` is not a valid spiking vector.
    """
    if is_halting(system, configuration):
        return configuration, (0,) * len(system.neurons)
    spikes = list(configuration.spikes)
    timers = list(configuration.timers)
    pending = list(configuration.pending)
    emissions = [0] * len(spikes)
    options = applicable(system, configuration)
    for i, selected in enumerate(choice):
        if selected not in (options[i] or [None]):
            raise ValueError(
                f"neuron {system.neurons[i].name!r} cannot select rule {selected}: its applicable "
                f"rules are {options[i]}"
            )
        if configuration.timers[i] > 0:  # closed: count down, and emit on opening
            timers[i] -= 1
            if timers[i] == 0:
                emissions[i], pending[i] = pending[i], 0
        elif selected is not None:
            rule = system.neurons[i].rules[selected]
            assert isinstance(rule, Rule)
            spikes[i] -= rule.consume
            if rule.delay == 0:
                emissions[i] = rule.produce
            else:
                timers[i], pending[i] = rule.delay, rule.produce
    names = system.names
    for source, target, weight in system.synapses:
        if timers[names[target]] == 0:
            spikes[names[target]] += weight * emissions[names[source]]
    position = configuration.input_position
    for name, train in system.input.items():
        if timers[names[name]] == 0 and position < len(train):
            spikes[names[name]] += train[position]
    position = min(position + 1, horizon(system))
    after = Configuration(tuple(spikes), tuple(timers), tuple(pending), position)
    return after, tuple(emissions)


def first(system: SpikingSystem, configuration: Configuration) -> Choice:
    """The first applicable rule of every neuron in order of declaration."""
    return tuple(rules[0] if rules else None for rules in applicable(system, configuration))


def run(
    system: SpikingSystem,
    choose: Callable[[SpikingSystem, Configuration], Choice] = first,
    *,
    max_steps: int,
) -> Computation:
    """Step until a halting configuration or `max_steps`."""
    configurations = [initial(system)]
    made: list[Choice] = []
    emissions: list[tuple[int, ...]] = []
    while len(made) < max_steps and not is_halting(system, configurations[-1]):
        choice = choose(system, configurations[-1])
        after, emitted = step(system, configurations[-1], choice)
        configurations.append(after)
        made.append(choice)
        emissions.append(emitted)
    halted = is_halting(system, configurations[-1])
    return Computation(tuple(configurations), tuple(made), tuple(emissions), halted)
