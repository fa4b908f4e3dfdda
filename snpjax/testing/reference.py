"""The reference interpreter of SN P systems: pure Python, slow, and meant to be obviously right.

It follows the definition step by step with lists and integers, shares nothing with the compiled
step but the model classes, and never imports JAX. Every engine is tested against it. What the
`compatibility` of a system changes stands where it changes it.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..spiking.compatibility import Compatibility
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
    # A neuron that opens in this step may select in it already, where it reopens early.
    selects_from = 0 if system.compatibility.early_reopen is None else 1
    found = []
    for neuron, k, timer in zip(
        system.neurons, configuration.spikes, configuration.timers, strict=True
    ):
        rules = [(i, r) for i, r in enumerate(neuron.rules) if r not in neuron.rules[:i]]
        applies = [i for i, r in rules if isinstance(r, Rule) and _applies(r, k, system)]
        found.append(applies if timer <= selects_from else [])
    return found


def _applies(rule: Rule, k: int, system: SpikingSystem) -> bool:
    """Whether a rule is applicable in an open neuron with k spikes."""
    compatibility = system.compatibility
    if compatibility.unchecked_consumption is None and k < rule.consume:
        return False
    if compatibility.needs_spikes and k < 1:
        return False
    return _holds(rule, max(k, 0) if compatibility.negative_is_zero else k, compatibility)


def _holds(rule: Rule, k: int, compatibility: Compatibility) -> bool:
    """Whether k is in L(E)."""
    guard = rule.guard

    def constant(n: int) -> int:
        return n if compatibility.guard_modulo is None else n % compatibility.guard_modulo

    if compatibility.threshold_rules and guard.is_exactly(rule.consume):
        return k >= constant(rule.consume)
    if compatibility.guard_modulo is None or guard.period > 1 and not guard.is_finite:
        return k in guard  # one with a period has small constants only
    is_tail = not guard.is_finite and k >= constant(guard.tail)
    return is_tail or k in {constant(n) for n in guard.finite}


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
    compatibility = system.compatibility
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
        timers[i] = max(timers[i] - 1, 0)
        if selected is not None:
            rule = system.neurons[i].rules[selected]
            assert isinstance(rule, Rule)
            spikes[i] -= rule.consume
            timers[i] = rule.delay
            leaves_together = compatibility.early_reopen == "accumulate" or (
                compatibility.early_reopen == "overwrite_delayed" and rule.delay == 0
            )
            pending[i] = rule.produce + (pending[i] if leaves_together else 0)
    keeps_emissions = compatibility.repeats_emissions and any(timers[:1])
    for i, timer in enumerate(timers):
        if timer == 0:  # open: what was pending, or was produced without delay, leaves
            emissions[i] = pending[i]
            pending[i] = pending[i] if keeps_emissions else 0
    names = system.names
    stopped = set()
    for source, target, weight in system.synapses:
        if source in stopped or (compatibility.no_self_synapses and source == target):
            continue
        if timers[names[target]] == 0 or compatibility.closed_receives:
            spikes[names[target]] += weight * emissions[names[source]]
        elif compatibility.stop_at_closed_target:
            stopped.add(source)
    position = configuration.input_position
    for name, train in system.input.items():
        is_open = timers[names[name]] == 0 or compatibility.closed_receives
        if is_open and position < len(train):
            spikes[names[name]] += train[position]
    if compatibility.unchecked_consumption == "clamp":
        spikes = [max(k, 0) for k in spikes]
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
