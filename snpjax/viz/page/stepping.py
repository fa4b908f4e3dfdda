"""A system stepped by hand: from any configuration seen so far, by chosen rules."""

import abc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer, PyTree

from ..._text.counts import plural
from ..._xla import precision_of
from ...choice import NO_RULE, AbstractChoice, FirstChoice, UniformChoice
from ...choice.subsets import nth_subset
from ...machine import AbstractMachine, Growable, Record
from ...results import RESULTS, select_result
from ...spiking import (
    Astrocytes,
    BuddingRule,
    DivisionRule,
    Network,
    Solution,
    SpikingSystem,
    SynapseRules,
    applicable,
)
from ...spiking.view.run_text import label_rules
from ...trajectory import Save, Trajectory
from .arguments import Refused
from .choosers import choosers_of
from .described import exact, listed, network_json
from .moment import Moment, SolutionT
from .subsets import ChosenSubset


#: Who chooses where nobody did: the first applicable rule, or a draw from a seed.
Rest: TypeAlias = Literal["first"] | int


class GuidedChoice(AbstractChoice):
    """Alternatives that somebody chose, and `NO_RULE` where `rest` chooses, as it does alone; and
    likewise the numbers of the subsets that plasticity rules take, and what astrocytes decide."""

    wanted: Int[Array, " choosers"]
    subsets: Int[Array, " choosers"]
    rest: AbstractChoice

    may_be_invalid: ClassVar[bool] = False
    tells_numbers: ClassVar[bool] = False  # `wanted` are slots

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "GuidedChoice":
        return GuidedChoice(self.wanted, self.subsets, self.rest.for_path(path))

    def select(
        self, applicable: Bool[Array, "alternatives choosers"], step: Int[Array, ""], state: PyTree
    ) -> Int[Array, " choosers"]:
        rest = self.rest.select(applicable, step, state)
        return jnp.where(self.wanted == NO_RULE, rest, self.wanted)

    def subset(
        self,
        candidates: Bool[Array, "places some"],
        chosen: Int[Array, " some"],
        choosers: Int[Array, " some"],
        step: Int[Array, ""],
    ) -> Bool[Array, "places some"]:
        number = self.subsets.at[choosers].get(mode="fill", fill_value=NO_RULE)
        given = nth_subset(candidates, chosen, jnp.maximum(number, 0))
        free = self.rest.subset(candidates, chosen, choosers, step)
        return jnp.where((number == NO_RULE)[None], free, given)


class AbstractStepper(abc.ABC, Generic[SolutionT]):
    """The configurations of one computation, which may be left at any of them for another one.

    Counts have 64 bits, and what divides gets the room it needs, so that a step fails only where
    the model has no next configuration.
    """

    moments: list[Moment[SolutionT]]
    words: ClassVar[tuple[str, str]]  # what a configuration and the model are called

    def prepare(self) -> None:
        """Compile what a step by a seed needs, as nearly all are made."""
        self.after(self.moments[0], {}, 0, {})

    def step(
        self,
        at: int,
        chosen: Mapping[int, int],
        rest: Rest,
        subsets: Mapping[int, ChosenSubset] | None = None,
    ) -> Moment[SolutionT]:
        """The configuration after that of number `at`, whose later ones are forgotten.

        **Arguments:**

        - `chosen`: the rule of each neuron that somebody chose for, both by number.
        - `rest`: how the other neurons choose. A seed makes the path of `snpjax.run` with
          `UniformChoice(jax.random.key(seed))`.
        - `subsets`: the subsets that some choosers take, each by its number or by what it holds:
          neurons with a plasticity rule, and astrocytes, which are numbered after the neurons.

        **Raises:** `Refused` for a rule that is not applicable, a subset that cannot be taken, in a
        halting configuration, and where the model has no next one.
        """
        configuration, model = self.words
        if not 0 <= at < len(self.moments):
            last = len(self.moments) - 1
            raise Refused(f"There is no {configuration} {at}: they are 0 to {last}.")
        before = self.moments[at]
        for neuron, rule in chosen.items():
            if rule not in before.options.get(neuron, {}):
                raise Refused(self.not_now(before, neuron, rule))
        ranks = {
            chooser: self._number_of_subset(before, chooser, subset, chosen)
            for chooser, subset in (subsets or {}).items()
        }
        if before.is_halted:
            raise Refused(f"The {model} halted after {plural(before.solution.steps, 'step')}.")
        numbers = {neuron: before.options[neuron][rule] for neuron, rule in chosen.items()}
        moment = self.after(before, numbers, rest, ranks)
        if moment.solution.failure is not None:
            raise Refused(moment.solution.failure)
        del self.moments[at + 1 :]
        self.moments.append(moment)
        return moment

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Steps of which all are made, or none: if one fails, the computation is the one before,
        which the page still shows."""
        before = list(self.moments)
        try:
            yield
        except BaseException:
            self.moments = before
            raise

    def _number_of_subset(
        self,
        moment: Moment[SolutionT],
        chooser: int,
        subset: ChosenSubset,
        chosen: Mapping[int, int],
    ) -> int:
        """The number of a subset of the rule that the chooser will use.

        **Raises:** `Refused` for one that it cannot take.
        """
        rules = list(moment.options.get(chooser, (NO_RULE,)))
        rule = chosen.get(chooser, rules[0])
        name = self.name_of(moment, chooser)
        if subset != 0 and len(rules) > 1 and chooser not in chosen:
            raise Refused(f"{name} has several rules. Choose one, then its subset.")
        known = moment.subsets.get(chooser, {}).get(rule)
        if isinstance(subset, int):
            most = 1 if known is None else known.number
            if 0 <= subset < most:
                return subset
            raise Refused(f"{name} has no subset {subset} now: the last is {most - 1}.")
        if known is None or len(set(subset)) != known.size or set(subset) - set(known.candidates):
            raise Refused(f"{name} cannot take this subset now. Choose another one.")
        return known.number_of(subset)

    @abc.abstractmethod
    def name_of(self, moment: Moment[SolutionT], chooser: int) -> str:
        """What a chooser is called at the beginning of a sentence."""

    @abc.abstractmethod
    def not_now(self, moment: Moment[SolutionT], chooser: int, rule: int) -> str:
        """Why a chooser may not select a rule."""

    @abc.abstractmethod
    def after(
        self,
        before: Moment[SolutionT],
        numbers: Mapping[int, int],
        rest: Rest,
        subsets: Mapping[int, int],
    ) -> Moment[SolutionT]:
        """One step later, by the numbers of the options that were chosen."""

    @abc.abstractmethod
    def row_json(
        self, moment: Moment[SolutionT], before: Moment[SolutionT] | None
    ) -> dict[str, Any]:
        """A configuration or marking and the step that led to it; what is 0 or nothing in most
        neurons is listed by neuron: `[neuron, value]`."""


class Stepper(AbstractStepper[Solution]):
    """The configurations of a system."""

    words = ("configuration", "system")

    def __init__(self, system: SpikingSystem):
        self.system, self._choosers = system, choosers_of(system)
        machine = system.lower(numbered=True, count_dtype=np.int64).machine
        with precision_of(machine):
            self.moments = [self._moment(machine, begun(machine, _seen))]

    def name_of(self, moment: Moment[Solution], chooser: int) -> str:
        system, network = self.system, moment.network
        size = system.num_neurons if network is None else len(network.names)
        if 0 <= chooser < size:
            name = system.name_of(chooser) if network is None else network.names[chooser]
            return f"Neuron {name}"
        variant, astrocyte = system.variant, chooser - size
        if isinstance(variant, Astrocytes) and 0 <= astrocyte < len(variant.astrocytes):
            own = variant.astrocytes[astrocyte].synapses
            return f"The astrocyte of {', '.join(f'({s}, {t})' for s, t in own)}"
        return f"The unknown neuron {chooser + 1}"

    def not_now(self, moment: Moment[Solution], chooser: int, rule: int) -> str:
        name = self.name_of(moment, chooser)
        applicable = [self._text(moment, chooser, r) for r in moment.options.get(chooser, ())]
        some = f"Choose one of: {', '.join(applicable)}." if applicable else "It can select none."
        return f"{name} cannot select its rule {rule + 1} now. {some}"

    def _text(self, moment: Moment[Solution], neuron: int, rule: int) -> str:
        if moment.network is None or not self.system.is_growing:
            return self.system.rule_text(neuron, rule)
        return label_rules(self.system)[moment.network.labels[neuron]][rule]

    def after(
        self,
        before: Moment[Solution],
        numbers: Mapping[int, int],
        rest: Rest,
        subsets: Mapping[int, int],
    ) -> Moment[Solution]:
        machine, state = before.machine, before.state
        while True:
            size = len(state.spikes)
            with precision_of(machine):
                choice = GuidedChoice(
                    _numbers(numbers, size), _numbers(subsets, size), choice_of_rest(rest)
                )
                made = advanced(machine, state, choice, _seen)
                if not (isinstance(machine, Growable) and np.any(machine.is_full(made.state))):
                    return self._moment(machine, made, before)
                machine, state = machine.grown(machine.refused(state, made.state))

    def row_json(self, moment: Moment[Solution], before: Moment[Solution] | None) -> dict[str, Any]:
        system, solution = self.system, moment.solution
        value: dict[str, Any] = {
            "step": solution.steps,
            "spikes": [exact(x) for x in solution.spikes.tolist()],
            "timers": listed(solution.timers),
            "pending": listed(solution.pending),
            "flights": _flights(solution),
            "options": [[neuron, list(rules)] for neuron, rules in moment.options.items()],
            "subsets": [
                [chooser, rule, *own]
                for chooser, by_rule in moment.subsets.items()
                for rule, own in by_rule.items()
            ],
            "taken": [[chooser, number] for chooser, number in moment.taken.items()],
            "halted": moment.is_halted,
            "fired": [],
            "emitted": [],
            "outputs": None,
        }
        if isinstance(system.variant, SynapseRules):
            value["texts"] = [
                [neuron, [system.rule_text(neuron, rule) for rule in rules]]
                for neuron, rules in moment.options.items()
            ]
        if before is not None:
            fired = [(i, r) for i, r in enumerate(solution.rules[0].tolist()) if r != NO_RULE]
            value["fired"] = [[i, r, self._text(before, i, r)] for i, r in fired]
            value["emitted"] = listed(solution.emissions[0])
            value["outputs"] = [exact(x) for x in solution.spike_trains[0].tolist()]
        if moment.network is not None and (before is None or moment.network != before.network):
            value["network"] = network_json(moment.network)
            if before is not None and before.network is not None and system.is_growing:
                value["parents"] = self._parents(before.network, solution)
        return value

    def _parents(self, before: Network, solution: Solution) -> list[int]:
        """The neurons that the new ones came from, which are numbered after the others: first right
        children, then buds, each in the order of their parents."""
        own, found = self.system.rules_of_labels, dict[type, list[int]]()
        for neuron, rule in enumerate(solution.rules[0].tolist()):
            if rule != NO_RULE:
                found.setdefault(type(own[before.labels[neuron]][rule]), []).append(neuron)
        return found.get(DivisionRule, []) + found.get(BuddingRule, [])

    def _moment(
        self, machine: Any, made: "Reached", before: Moment[Solution] | None = None
    ) -> Moment[Solution]:
        made, system = jax.device_get(made), self.system
        solution = system.solution(made.trajectory(has_outputs=True))
        can_apply, number = made.seen
        slots: dict[int, dict[int, int]] = {}
        holds = np.asarray(can_apply)[:, : len(solution.spikes)]
        for neuron, slot in np.argwhere(holds.T).tolist():
            rule = slot if number is None else int(number[slot, neuron])
            slots.setdefault(neuron, {}).setdefault(rule, slot)
        options = {neuron: dict(sorted(rules.items())) for neuron, rules in slots.items()}
        network = solution.network() if system.changes_network else None
        moment = Moment(
            machine, made.state, options, solution, bool(made.is_halted), network, {}, {}
        )
        subsets = self._choosers.subsets(moment, number)
        if before is None:
            return moment._replace(subsets=subsets)
        taken = self._choosers.taken(before, moment, made.record)
        return moment._replace(subsets=subsets, taken=taken)


def _flights(solution: Solution) -> list[list[int | str]]:
    """What is in flight, by neuron: `[neuron, steps, spikes]`."""
    due = solution.in_flight().T
    return [[i, n + 1, exact(int(due[i, n]))] for i, n in np.argwhere(due).tolist()]


def _numbers(given: Mapping[int, int], size: int) -> Int[Array, " choosers"]:
    numbers = np.full(size, NO_RULE, np.int32)
    numbers[list(given.keys())] = list(given.values())
    return jnp.asarray(numbers)


def choice_of_rest(rest: Rest) -> AbstractChoice:
    """The choice of path 0 of a run."""
    if rest == "first":
        return FirstChoice()
    return UniformChoice(jax.random.key(rest)).for_path(0)


class Reached(NamedTuple):
    """A state, the record of the step that led to it, whether it halts, how a run would end here,
    and what else was seen in it."""

    state: PyTree
    record: Record | None
    is_halted: Bool[Array, ""]
    result: RESULTS
    seen: Any

    def trajectory(self, *, has_outputs: bool) -> Trajectory:
        """The step as a run of its own; of an initial state, no step."""
        made = self.record is not None
        rows = jax.tree.map(lambda x: np.asarray(x)[None], self.record)
        return Trajectory(
            final=self.state,
            states=None,
            outputs=rows.output if made and has_outputs else None,
            details=rows.detail if made else None,
            saved=Save(every=None, outputs=made and has_outputs, details=made),
            steps=np.asarray(self.state.step),
            result=self.result,
        )


Look: TypeAlias = Callable[[Any, PyTree], Any]


@partial(jax.jit, static_argnames="look")
def begun(machine: AbstractMachine, look: Look) -> Reached:
    """The initial state, and what `look` sees in it."""
    return _made(machine, machine.init(), None, look)


@partial(jax.jit, static_argnames="look")
def advanced(
    machine: AbstractMachine, state: PyTree, choice: AbstractChoice, look: Look
) -> Reached:
    """One step, and what `look` sees after it."""
    return _made(machine, *machine.step(state, choice), look)


def _made(machine: AbstractMachine, state: PyTree, record: Record | None, look: Look) -> Reached:
    status, is_halted = machine.status(state), machine.halted(state)
    ended = select_result(is_halted, RESULTS.halted, RESULTS.max_steps_reached)
    result = select_result(status == RESULTS.halted, ended, status)
    return Reached(state, record, is_halted, result, look(machine, state))


def _seen(machine: Any, state: PyTree) -> tuple[Any, ...]:
    """Which slots apply in a state, and the rules that they are."""
    program = machine.program
    number = program.number
    if number is not None:
        labels = None if program.network is None else program.network.labels(state.network)
        number = program.of_neurons(number) if labels is None else number[:, labels]
    return applicable(program, state), number
