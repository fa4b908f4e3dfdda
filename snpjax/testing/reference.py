"""The reference interpreter of SN P systems: pure Python, slow, and meant to be obviously right.

It follows the definition step by step with lists and integers, shares nothing with the compiled
step but the model classes, and never imports JAX. Every engine is tested against it. What the
`compatibility` of a system changes stands where it changes it; networks that change are in
`reference_network`, and variants in `reference_variants`, and know no other compatibility than
`delete_within_N`.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from snpjax_formats.arguments import explain_arguments

from .._text.counts import plural
from ..spiking.model.communication_variants import Requests
from ..spiking.model.compatibility import Compatibility
from ..spiking.model.rule import PlasticityRule, RequestRule, Rule
from ..spiking.model.system import SpikingSystem
from ..spiking.model.variants import AntiSpikes, Astrocytes, SynapseRules
from .reference_network import (
    NeuronAction,
    ReferenceNetwork,
    alternatives_in_network,
    applicable_in_network,
    changed_network,
    initial_network,
    rules_of,
)
from .reference_timing import (
    ReferenceTiming,
    delivered_in_time,
    initial_timing,
    schedule_end,
)
from .reference_variants import (
    applicable_on_synapses,
    effect,
    is_applicable,
    is_satisfiable,
    on_astrocytes,
    step_on_request,
    step_on_synapses,
    suppressed,
)


class Configuration(NamedTuple):
    """Spikes, timers and pending emissions of every neuron, and min(steps made, horizon of the
    input); the network where it can change."""

    spikes: tuple[int, ...]
    timers: tuple[int, ...]
    pending: tuple[int, ...]
    input_position: int = 0
    network: ReferenceNetwork | None = None
    timing: ReferenceTiming | None = None


#: What each neuron does in a step: the index of a rule, or None; with plasticity also the targets.
#: With astrocytes, what each of them decides follows.
Choice = tuple[NeuronAction, ...]


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
    """The last step in which input arrives.

    **Arguments:**

    - `system`: a system.

    **Returns:** the number of this step, the first being 1; 0 if there is no input.
    """
    return max(
        (step for train in system.input.values() for step, x in enumerate(train, 1) if x), default=0
    )


def initial(system: SpikingSystem) -> Configuration:
    """The initial configuration C_0, in which every neuron is open.

    **Arguments:**

    - `system`: a system.

    **Returns:** the configuration.
    """
    zeros = (0,) * len(system.neurons)
    spikes = tuple(n.spikes for n in system.neurons)
    network = initial_network(system) if system.changes_network else None
    return Configuration(spikes, zeros, zeros, 0, network, initial_timing(system))


def applicable(system: SpikingSystem, configuration: Configuration) -> list[list[int]]:
    """The applicable rules of each neuron.

    **Arguments:**

    - `system`: a system.
    - `configuration`: one of its configurations.

    **Returns:** for each neuron the indices of its applicable rules, ascending; none while it is
    closed. A repeated rule counts once, where it first appears.
    """
    if configuration.network is not None:
        return applicable_in_network(system, configuration, configuration.network)
    if isinstance(system.variant, SynapseRules):
        return applicable_on_synapses(system, configuration)
    # A neuron that opens in this step may select in it already, where it reopens early.
    selects_from = 0 if system.compatibility.early_reopen is None else 1
    found = []
    for neuron, k, timer in zip(
        system.neurons, configuration.spikes, configuration.timers, strict=True
    ):
        rules = [(i, r) for i, r in enumerate(neuron.rules) if r not in neuron.rules[:i]]
        applies = [i for i, r in rules if isinstance(r, Rule) and _applies(r, k, system)]
        applies += [
            i
            for i, r in rules
            if isinstance(r, RequestRule)
            and k in r.guard
            and is_satisfiable(system, r, configuration.spikes)
        ]
        found.append(applies if timer <= selects_from else [])
    return found


def _applies(rule: Rule, k: int, system: SpikingSystem) -> bool:
    """Whether a rule is applicable in an open neuron with k spikes."""
    if isinstance(system.variant, AntiSpikes):
        return is_applicable(rule, k)
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
    """Whether no rule is applicable, every neuron is open, no input remains, no plasticity rule has
    its second half to do, and no spike is in flight.

    **Arguments:**

    - `system`: a system.
    - `configuration`: one of its configurations.

    **Returns:** whether the computation ends in this configuration.
    """
    network, timing = configuration.network, configuration.timing
    return (
        not any(applicable(system, configuration))
        and not any(configuration.timers)
        and configuration.input_position >= horizon(system)
        and (network is None or all(half is None for half in network.second))
        and (timing is None or not timing.in_flight)
    )


def alternatives(system: SpikingSystem, configuration: Configuration) -> list[list[NeuronAction]]:
    """What each neuron may do in the next step.

    **Arguments:**

    - `system`: a system.
    - `configuration`: one of its configurations.

    **Returns:** for each neuron the indices of its applicable rules, or only `None` where none is
    applicable. A plasticity rule has one alternative for every set of targets, `(rule, targets)`; a
    neuron that has the second half of one to do has `(None, targets)`.
    """
    rules = applicable(system, configuration)
    if configuration.network is not None:
        return alternatives_in_network(system, configuration.network, rules)
    return [[*own] or [None] for own in rules]


def choices(system: SpikingSystem, configuration: Configuration) -> Iterator[Choice]:
    """Enumerate the valid spiking vectors of a configuration.

    **Arguments:**

    - `system`: a system.
    - `configuration`: one of its configurations.

    **Returns:** an iterator of choices, the last neuron varying fastest.
    """
    for choice in itertools.product(*alternatives(system, configuration)):
        for decided in itertools.product(*decisions(system, configuration, choice)):
            yield (*choice, *decided)


def decisions(
    system: SpikingSystem, configuration: Configuration, choice: Choice
) -> list[list[NeuronAction]]:
    """What each astrocyte may decide, see `reference_variants`.

    **Arguments:**

    - `system`: a system.
    - `configuration`: one of its configurations.
    - `choice`: what the neurons select.

    **Returns:** the possible decisions of each astrocyte; empty without the variant `Astrocytes`.
    """
    if not isinstance(system.variant, Astrocytes):
        return []
    return on_astrocytes(system, _fired(system, configuration, choice)[1])


def step(
    system: SpikingSystem, configuration: Configuration, choice: Choice
) -> tuple[Configuration, tuple[int, ...]]:
    """Make one step, in which each neuron selects the rule that `choice` names.

    **Arguments:**

    - `system`: a system.
    - `configuration`: one of its configurations.
    - `choice`: a valid spiking vector, see `choices`.

    **Returns:** the next configuration, and the emissions of all neurons. Neurons created in this
    step have an emission of 0.

    **Raises:** `ValueError` if `choice` is not a valid spiking vector.
    """
    if is_halting(system, configuration):
        return configuration, (0,) * len(configuration.spikes)
    _check_choice(system, configuration, choice)
    compatibility, variant = system.compatibility, system.variant
    fired, emitted = _fired(system, configuration, choice)
    spikes, emissions = list(fired.spikes), list(emitted)
    names, network = system.names, configuration.network
    called = list(names)  # what each neuron is called where it has an input
    synapses = [(names[source], names[target], w) for source, target, w in system.synapses]
    is_open = [timer == 0 or compatibility.closed_receives for timer in fired.timers]
    created: list[int] = []
    if network is not None:
        # Delivered on the new graph: whoever edits synapses in this step emits nothing over the
        # others, so for plasticity this is the graph before the step.
        network, created, changing = changed_network(system, network, choice)
        called = list(network.labels) if system.is_growing else called
        synapses = list(network.synapses)
        new = (0,) * (len(network.labels) - len(spikes))
        spikes, emissions = [*spikes, *new], [*emissions, *new]
        fired = fired._replace(timers=fired.timers + new, pending=fired.pending + new)
        is_open = [t == 0 and slot not in changing for slot, t in enumerate(fired.timers)]
    if isinstance(variant, SynapseRules):
        emissions, synapses = step_on_synapses(system, spikes, choice), []
    if isinstance(variant, Requests):
        spikes = step_on_request(system, spikes, choice)
    arriving: list[tuple[int, int]] = []
    timing = configuration.timing
    if timing is not None:
        number = configuration.input_position + 1
        synapses, arriving, timing = delivered_in_time(system, timing, number, emissions)
    closed = suppressed(system, emissions, choice)
    closed = {(names[source], names[target]) for source, target in closed}
    stopped = set()
    for source, target, weight in synapses:
        if source in stopped or (compatibility.no_self_synapses and source == target):
            continue
        if (source, target) in closed:
            continue
        if is_open[target]:
            spikes[target] += weight * emissions[source]
        elif compatibility.stop_at_closed_target:
            stopped.add(source)
    for target in created:
        spikes[target] += is_open[target]
    for target, late in arriving:
        spikes[target] += late if is_open[target] else 0
    position = configuration.input_position
    for slot, name in enumerate(called):
        train = system.input.get(name, ())
        if is_open[slot] and position < len(train):
            spikes[slot] += train[position]
    if compatibility.unchecked_consumption == "clamp":
        spikes = [max(k, 0) for k in spikes]
    position = min(position + 1, max(horizon(system), schedule_end(system)))
    after = fired._replace(
        spikes=tuple(spikes), input_position=position, network=network, timing=timing
    )
    return after, tuple(emissions)


def _fired(
    system: SpikingSystem, configuration: Configuration, choice: Choice
) -> tuple[Configuration, tuple[int, ...]]:
    """What is left when the neurons have used their rules, and the emissions, before anything is
    delivered."""
    compatibility, network = system.compatibility, configuration.network
    labels = [n.label for n in system.neurons] if network is None else network.labels
    spikes = list(configuration.spikes)
    timers = list(configuration.timers)
    pending = list(configuration.pending)
    emissions = [0] * len(spikes)
    for i, selected in enumerate(choice[: len(spikes)]):
        timers[i] = max(timers[i] - 1, 0)
        number = selected[0] if isinstance(selected, tuple) else selected
        if number is None or isinstance(system.variant, SynapseRules):
            continue
        rule = rules_of(system, labels[i])[number]
        match rule:
            case Rule():
                consumed, produced = effect(system, rule, spikes[i])
                spikes[i] -= consumed
                timers[i] = rule.delay
                leaves_together = compatibility.early_reopen == "accumulate" or (
                    compatibility.early_reopen == "overwrite_delayed" and rule.delay == 0
                )
                pending[i] = produced + (pending[i] if leaves_together else 0)
            case PlasticityRule():
                spikes[i] -= rule.consume
            case RequestRule():
                pass  # see `step_on_request`
            case _:  # who divides or buds is empty afterwards
                spikes[i] = 0
    keeps_emissions = compatibility.repeats_emissions and any(timers[:1])
    for i, timer in enumerate(timers):
        if timer == 0:  # open: what was pending, or was produced without delay, leaves
            emissions[i] = pending[i]
            pending[i] = pending[i] if keeps_emissions else 0
    after = Configuration(tuple(spikes), tuple(timers), tuple(pending))
    return after, tuple(emissions)


def _check_choice(system: SpikingSystem, configuration: Configuration, choice: Choice) -> None:
    options = alternatives(system, configuration)
    variant = system.variant
    size = len(options) + (len(variant.astrocytes) if isinstance(variant, Astrocytes) else 0)
    if len(choice) != size:
        raise ValueError(f"the choice is of {plural(len(choice), 'neuron')}, not of {size}")
    for i, (selected, own) in enumerate(zip(choice, options, strict=False)):
        if selected not in own:
            network = configuration.network
            name = system.neurons[i].name if network is None else f"{network.labels[i]} (slot {i})"
            raise ValueError(
                f"neuron {name!r} cannot select {selected}: its alternatives are {own}"
            )
    decided = choice[len(options) :]
    own_decisions = decisions(system, configuration, choice[: len(options)])
    for i, (decision, own) in enumerate(zip(decided, own_decisions, strict=True), start=1):
        if decision not in own:
            raise ValueError(f"astrocyte {i} cannot decide {decision}: it may {own}")


def first(system: SpikingSystem, configuration: Configuration) -> Choice:
    """The default choice: the first applicable rule of every neuron in order of declaration.

    **Arguments:**

    - `system`: a system.
    - `configuration`: one of its configurations.

    **Returns:** the choice; plasticity rules take their first set of targets.
    """
    choice = tuple(own[0] for own in alternatives(system, configuration))
    return choice + tuple(own[0] for own in decisions(system, configuration, choice))


def run(
    system: SpikingSystem,
    choose: Callable[[SpikingSystem, Configuration], Choice] = first,
    *,
    max_steps: int,
) -> Computation:
    """Run a system until it halts or `max_steps` steps are made.

    **Arguments:**

    - `system`: a system.
    - `choose`: maps the system and a configuration to a valid spiking vector.
    - `max_steps`: the largest number of steps.

    **Returns:** the `Computation`.

    **Raises:** `ValueError` if `choose` returns a spiking vector that is not valid.
    """
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


explain_arguments(__name__)
