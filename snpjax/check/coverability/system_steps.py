"""SN P systems as steps between configurations; the larger ones can do what smaller ones can."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...spiking.model.rule import Rule
from ...spiking.model.system import SpikingSystem
from ..unboundedness.growth import applies_always, applies_never
from .tree import OMEGA, AbstractSteps, Counts


class SystemSteps(AbstractSteps):
    """A configuration is the spikes, timers and pending emissions of the neurons, and how much of
    the input has arrived.

    Neurons that may hold more spikes than in a covered configuration: whatever their rules do, they
    consume one spike at a time, are never closed, apply from some count on, and what they send
    reaches only such neurons. Then one more spike leads to at least as many spikes everywhere.
    """

    def __init__(self, system: SpikingSystem):
        _check(system)
        self.system = system
        num = system.num_neurons
        self.neurons = [_rules(neuron.rules) for neuron in system.neurons]
        self.targets: list[list[tuple[int, int]]] = [[] for _ in range(num)]
        for source, target, weight in system.synapses:
            self.targets[system.names[source]].append((system.names[target], weight))
        trains = system.input
        self.horizon = max(
            (at for train in trains.values() for at, x in enumerate(train, 1) if x), default=0
        )
        self.input = [
            {system.names[name]: train[step] for name, train in trains.items() if step < len(train)}
            for step in range(self.horizon)
        ]
        spikes = tuple(neuron.spikes for neuron in system.neurons)
        self.initial = (*spikes, *(0,) * (2 * num + 1))
        self.may_grow = np.concatenate([self._monotone(), np.zeros(2 * num + 1, bool)])

    def _monotone(self) -> np.ndarray:
        found = np.array(
            [
                all(
                    rule.consume == 1 and rule.delay == 0 and _is_upward_closed(rule)
                    for rule in rules
                )
                for rules in self.neurons
            ]
        )
        while True:  # a neuron that sends to another one depends on it
            is_kept = np.array(
                [
                    not rules or all(found[target] for target, _ in self.targets[neuron])
                    for neuron, rules in enumerate(self.neurons)
                ]
            )
            if (found & is_kept == found).all():
                return found
            found &= is_kept

    def successors(self, counts: Counts) -> Iterator[tuple[Any, Counts]]:
        num = len(self.neurons)
        spikes, timers, pending = counts[:num], counts[num : 2 * num], counts[2 * num : 3 * num]
        position = counts[-1]
        options = [
            self._applicable(neuron, spikes[neuron]) if timers[neuron] == 0 else []
            for neuron in range(num)
        ]
        if not any(options) and not any(timers) and position >= self.horizon:
            return  # a halting configuration
        for choice in itertools.product(*(own or [None] for own in options)):
            yield choice, self._after(choice, list(spikes), list(timers), list(pending), position)

    def _applicable(self, neuron: int, count: int) -> list[int | None]:
        return [
            number
            for number, rule in enumerate(self.neurons[neuron])
            if rule not in self.neurons[neuron][:number]  # a repeated rule counts once
            and (count == OMEGA or (count >= rule.consume and count in rule.guard))
        ]

    def _after(
        self,
        choice: Sequence[int | None],
        spikes: list[int],
        timers: list[int],
        pending: list[int],
        position: int,
    ) -> Counts:
        sent = [0] * len(spikes)
        for neuron, number in enumerate(choice):
            if timers[neuron] > 0:
                timers[neuron] -= 1
                if timers[neuron] == 0:
                    sent[neuron], pending[neuron] = pending[neuron], 0
            elif number is not None:
                rule = self.neurons[neuron][number]
                if spikes[neuron] != OMEGA:
                    spikes[neuron] -= rule.consume
                if rule.delay:
                    timers[neuron], pending[neuron] = rule.delay, rule.produce
                else:
                    sent[neuron] = rule.produce
        arriving = dict(self.input[position]) if position < self.horizon else {}
        for neuron, emitted in enumerate(sent):
            for target, weight in self.targets[neuron] if emitted else ():
                arriving[target] = arriving.get(target, 0) + weight * emitted
        for neuron, more in arriving.items():
            if timers[neuron] == 0 and spikes[neuron] != OMEGA:
                spikes[neuron] += more
        return (*spikes, *timers, *pending, min(position + 1, self.horizon))

    def can_repeat(self, path: list[Counts], actions: list[Any], grows: list[int]) -> bool:
        """The same rules must apply however often the loop was made, as in `growth`."""
        num, first, last = len(self.neurons), path[0], path[-1]
        delta = {neuron: last[neuron] - first[neuron] for neuron in grows}
        # What has become `OMEGA` on the way grows by any number.
        delta |= {i: 1 for i in range(num) if first[i] != OMEGA == last[i] and i not in delta}
        return all(
            counts[neuron] == OMEGA or self._is_same(neuron, action[neuron], counts[neuron], by)
            for counts, action in zip(path[:-1], actions, strict=True)
            for neuron, by in delta.items()
        )

    def taken(self, counts: Counts, action: Sequence[int | None]) -> dict[int, int]:
        return {
            neuron: max(rule.guard.minimum or 1 for rule in rules)
            for neuron, rules in enumerate(self.neurons)
            if rules and counts[neuron] == OMEGA
        }

    def _is_same(self, neuron: int, selected: int | None, count: int, delta: int) -> bool:
        rules = self.neurons[neuron]
        if selected is not None:
            return applies_always(rules[selected], count, delta)
        return all(applies_never(rule, count, delta) for rule in rules)


def _is_upward_closed(rule: Rule) -> bool:
    """Whether it applies to every count from some count on, and to none below."""
    guard = rule.guard
    return not guard.finite and guard.period == 1 and not guard.is_finite


def _rules(rules: Sequence[Any]) -> list[Rule]:
    return [rule for rule in rules if isinstance(rule, Rule)]


def _check(system: SpikingSystem) -> None:
    if not system.is_static:
        raise NotImplementedError(
            "Coverability is decided for a bounded number of neurons, fixed synapses and the rules "
            "of the definition. Explore this system instead."
        )
    if system.signed:
        raise NotImplementedError(
            "Coverability is decided for counts that are never negative, and this system is "
            "signed. Explore it instead."
        )
    if not system.compatibility.is_textbook:
        raise NotImplementedError(
            f"Coverability follows the definition, and the system has {system.compatibility}. "
            "Pass it without `compatibility`."
        )
