"""The names of SN P systems for graphs, queries, witnesses, exports and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Int

from ..._text.counts import plural
from ..._text.lines import EdgeLabels, Table, distinct_names
from ..._text.pickling import pickled_as_call
from ...choice import NO_RULE
from ...schema import Action, LazyNames, Link, Schema
from ..lower.enumerable import column_of
from ..model.environment import environment_of, fed_by
from ..model.lookup import position_of, rules_of
from ..model.population import AnySystem, PopulationSystem
from ..model.rule import AnyRule
from ..model.system import SpikingSystem, is_growing
from ..model.validity import unknown_neuron
from ..step.plasticity import PlasticState
from .configurations import (
    Configurations,
    Transitions,
    astrocytes_of,
    configurations_of,
    transitions_of,
    visited,
)
from .run_text import label_rules
from .timing import timing_tables


@pickled_as_call
def schema_of(system: AnySystem) -> Schema[Configurations, Transitions]:
    """Columns are neurons or, where they divide or bud, slots. What a query may name are neurons
    or, where they divide or bud, labels."""
    own, grows = _Names(system), is_growing(system)
    changes = system.changes_network
    labels = LazyNames(lambda: list(own.rules))
    return Schema(
        title=system.name,
        counted="spikes",
        column_kind="neurons",
        columns=None if grows else LazyNames(lambda: own.choosers[: system.num_neurons]),
        configurations=partial(configurations_of, system),
        steps=partial(transitions_of, system),
        tables=own.tables,
        step_tables=own.step_tables,
        actions=own.actions,
        action_names=labels if grows else LazyNames(lambda: own.choosers),
        alternatives=LazyNames(own.alternatives),
        selected=own.selected,
        words=own.words,
        names=labels if grows else None,
        outputs=system.output,
        emitted=Transitions.emitted,
        emissions=lambda steps: steps.emissions,
        lists={"output": system.output},
        rules=own.rule_texts,
        is_stuck=own.is_stuck,
        links=own.links if (changes or isinstance(system, SpikingSystem)) and not grows else None,
        networks=own.network if changes else None,
        changing=_changing if changes else None,
        quantities={
            "timer": Configurations.timer,
            "pending": Configurations.pending_of,
            "in_flight": Configurations.num_in_flight,
        },
        step_quantities={
            "emits": lambda steps, name, _: steps.emitted(name),
            "fires": Transitions.fired,
        },
        problem_of=own.problem_of,
        is_cut=Configurations.is_cut,
        plus=lambda some, more: replace(some, spikes=some.spikes + more),
        inert=own.inert,
        visited=visited,
        countdown=own.countdown,
    )


@dataclass(frozen=True)
class _Names:
    """What the schema of a system is made of."""

    system: AnySystem

    @cached_property
    def rules(self) -> dict[str, Sequence[AnyRule | str]]:
        return rules_of(self.system)

    @cached_property
    def choosers(self) -> list[str]:
        """The names of the neurons, then of the astrocytes."""
        neurons = [self.system.name_of(i) for i in range(self.system.num_neurons)]
        return neurons + astrocytes_of(self.system)

    # ---- configurations ----

    def tables(self, some: Configurations) -> dict[str, Table]:
        labels = {} if some.labels is None else {"labels": Table("label", some.labels)}
        return {
            **labels,
            "spikes": Table("spikes", some.spikes),
            "timers": Table("timer", some.timers, words="closed, {} to go"),
            "pending": Table("pending", some.pending),
            **timing_tables(self.system, some.state, len(some)),
        }

    def is_stuck(self, some: Configurations) -> Bool[np.ndarray, " configurations"]:
        """Where a neuron that has rules holds spikes."""
        left = some.spikes != 0
        if some.labels is None:
            left &= self._has_rules
        else:
            left &= np.isin(some.labels, np.asarray(list(self.rules))[self._has_rules])
        return np.any(left, axis=1)

    @cached_property
    def _has_rules(self) -> Bool[np.ndarray, " names"]:
        return np.asarray([bool(own) for own in self.rules.values()], bool)

    def links(self, some: Configurations) -> list[Link]:
        """The synapses that plasticity may create and delete."""
        if not isinstance(some.state, PlasticState):
            return []
        plastic = self.system.plastic_columns
        assert plastic is not None
        exists = np.asarray(some.state.exists)
        return [
            Link(neuron, target, exists[place, number])
            for number, neuron in enumerate(plastic.neurons.tolist())
            for place, target in enumerate(plastic.targets[:, number].tolist())
            if target >= 0
        ]

    def network(self, some: Configurations, number: int) -> dict[str, Any]:
        network = some.network(number)
        return {"neurons": network.names, "synapses": network.synapses}

    # ---- steps ----

    def step_tables(self, steps: Transitions) -> dict[str, Table]:
        subsets = {} if steps.subsets is None else {"subsets": Table("subset", steps.subsets)}
        return {
            "rules": Table("rule", steps.rules, NO_RULE),
            "emissions": Table("emission", steps.emissions),
            **subsets,
        }

    def actions(self, steps: Transitions, labels: EdgeLabels) -> list[Action]:
        """The rules that neurons select, or what the output neurons emit; without output neurons
        what all neurons emit.

        The variant of a rule of plasticity is the number of the subset that it takes, so that no
        two choices have the same rules at their edges. Where there is no number, it is the second
        turn of a rule, or an astrocyte that decides to suppress.
        """
        values, subsets = steps.emissions, np.zeros_like(steps.rules)
        if labels == "rules":
            subsets = subsets if steps.subsets is None else steps.subsets
            astrocytes = ((0, 0), (0, subsets.shape[1] - steps.rules.shape[1]))
            values = np.pad(steps.rules, astrocytes, constant_values=NO_RULE)
        is_number = values != (NO_RULE if labels == "rules" else 0)
        present = is_number | (subsets != 0)
        if labels == "emissions" and self.system.output:
            present = present & self._is_output(steps)
        return [
            Action(
                present=present[:, i],
                name=self.choosers[i] if steps.labels is None else steps.labels[:, i],
                number=values[:, i],
                is_numbered=is_number[:, i],
                variant=subsets[:, i],
            )
            for i in np.flatnonzero(present.any(axis=0)).tolist()
        ]

    def _is_output(self, steps: Transitions) -> Bool[np.ndarray, "..."]:
        if steps.labels is not None:
            return np.isin(steps.labels, self.system.output)
        is_output = np.zeros(self.system.num_neurons, bool)
        for name in self.system.output:
            is_output[self.system.position_of(name)] = True
        return is_output

    def alternatives(self) -> list[tuple[str, int]]:
        """Neuron, or label, and number of every rule."""
        return [(name, n) for name, own in self.rules.items() for n in range(len(own))]

    def selected(self, steps: Transitions) -> set[tuple[str, int]]:
        found = set()
        for i, name in enumerate(self.rules):
            own = steps.rules[:, i] if steps.labels is None else steps.rules[steps.labels == name]
            found.update((name, rule) for rule in np.unique(own).tolist() if rule >= 0)
        return found

    # ---- words ----

    @cached_property
    def _label_rules(self) -> dict[str, list[str]]:
        return label_rules(self.system) if is_growing(self.system) else {}

    def rule_texts(self) -> list[list[str]] | dict[str, list[str]]:
        """The rules of every neuron, or of every label."""
        if is_growing(self.system):
            return self._label_rules
        num_rules = [len(neuron.rules) for neuron in self.system.neurons]
        text = self.system.rule_text
        return [[text(i, r) for r in range(n)] for i, n in enumerate(num_rules)]

    def words(self, steps: Transitions, number: int) -> list[str]:
        """The rules that neurons select, and the astrocytes that suppress."""
        rules = steps.rules[number]
        own = [(i, int(rules[i])) for i in np.flatnonzero(rules != NO_RULE).tolist()]
        if steps.labels is not None:
            labels = steps.labels[number].tolist()
            names = distinct_names(labels)
            return [
                self._input(labels[i], rule) or f"{names[i]}: {self._label_rules[labels[i]][rule]}"
                for i, rule in own
            ]
        texts = [
            self._input(self.choosers[i], rule)
            or f"{self.choosers[i]}: {self.system.rule_text(i, rule)}"
            for i, rule in own
        ]
        if steps.subsets is not None:
            of_astrocytes = steps.subsets[number, self.system.num_neurons :].tolist()
            pairs = zip(astrocytes_of(self.system), of_astrocytes, strict=False)
            texts += [f"{name} suppresses" for name, subset in pairs if subset]
        return texts

    def _fed_by(self, name: str) -> str | None:
        """The neuron, or label, that gets any input from the environment's neuron of this name."""
        if not name.startswith(environment_of("")):
            return None
        return fed_by(name, self.rules.get(name, ()))

    def _input(self, name: str, rule: int) -> str | None:
        """What a neuron of the environment sends by one of its rules, in words."""
        fed = self._fed_by(name)
        if fed is None:
            return None
        return f"input to {fed}: {plural(rule, 'spike')}" if rule else f"no input to {fed}"

    def countdown(self, name: str, count: int) -> str | None:
        """What the spikes of a neuron of the environment stand for, in words."""
        fed = self._fed_by(name)
        if fed is None:
            return None
        return f"any input to {fed} in {'step 1' if count == 1 else f'steps 1 to {count}'}"

    # ---- queries ----

    def problem_of(self, function: str, name: str, number: int) -> str | None:
        """What is wrong with `name`, `timer(name)` and the like, or `fires(name, number)`."""
        system = self.system
        if is_growing(system):
            if name not in self.rules:
                return unknown_neuron(name, dict.fromkeys(self.rules, 0), "label")
            what, num_rules = "label", len(self.rules[name])
        elif not system.has(name):
            names = system.names if isinstance(system, SpikingSystem) else system.populations
            return unknown_neuron(name, dict.fromkeys(names, 0))
        else:
            position = system.position_of(name)
            if isinstance(position, slice):
                first, count = system.name_of(position.start), position.stop - position.start
                return (
                    f'{name!r} is a population of {count:,} neurons (name one of them: "{first}")'
                )
            what, num_rules = "neuron", len(system.neurons[position].rules)
        if function == "fires" and number >= num_rules:
            known = f"0 to {num_rules - 1}" if num_rules else "none"
            return f"{what} {name!r} has no rule {number} (its rules: {known})"
        return None

    def inert(self, mentioned: Sequence[str]) -> list[str]:
        """Neurons, labels or whole populations without rules, first those that are not mentioned.
        In a signed system a count may fall again, so that there is none."""
        system = self.system
        if system.signed:
            return []
        own = [name for name in mentioned if not column_of(system, name)[1]]
        if isinstance(system, PopulationSystem):
            positions = [position_of(system, name) for name in mentioned]
            touched = {system.population_at(at)[0] for at in positions if isinstance(at, int)}
            populations = system.populations.items()
            others = [x for x, some in populations if not some.rules and x not in touched]
        else:
            names = self.rules if is_growing(system) else system.names
            others = [x for x in names if x not in mentioned and not column_of(system, x)[1]]
        return [*others, *own]


def _changing(some: Configurations) -> Int[np.ndarray, "configurations numbers"]:
    """The state of the networks."""
    leaves = [np.asarray(x) for x in jax.tree.leaves(some.state)]
    return np.concatenate([x.reshape(-1, len(some)) for x in leaves]).T
