"""A system stepped by hand: from any configuration seen so far, by chosen rules."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer, PyTree

from ..._xla import precision_of
from ...choice import NO_RULE, AbstractChoice, FirstChoice, UniformChoice
from ...choice.subsets import nth_subset
from ...machine import AbstractMachine, Growable, Record
from ...results import RESULTS
from ...spiking import Network, Solution, SpikingSystem, applicable
from ...trajectory import Save, Trajectory


#: Who chooses where nobody did: the first applicable rule, or a draw from a seed.
Rest: TypeAlias = Literal["first"] | int


class GuidedChoice(AbstractChoice):
    """Alternatives that somebody chose, and `NO_RULE` where `rest` chooses, as it does alone; and
    likewise the numbers of the subsets that plasticity rules take."""

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


class Moment(NamedTuple):
    """A configuration, and the step that led to it.

    - `solution`: the step as a run of its own: the rules, the emissions, the spikes after it; of
      the initial configuration the spikes only.
    - `options`: the rules that each neuron may select next, by its position.
    - `network`: the neurons and synapses, where they change.
    """

    machine: Any
    state: PyTree
    slots: dict[int, dict[int, int]]  # the slot of each of the options
    solution: Solution
    is_halted: bool
    network: Network | None

    @property
    def options(self) -> dict[int, list[int]]:
        return {neuron: sorted(rules) for neuron, rules in self.slots.items()}


class Refused(ValueError):
    """A step that cannot be made: a rule that does not apply, a configuration that is not known."""


class Stepper:
    """The configurations of one computation, which may be left at any of them for another one.

    Counts have 64 bits, and what divides gets the room it needs, so that a step fails only where
    the model has no next configuration.
    """

    def __init__(self, system: SpikingSystem):
        self.system = system
        machine = system.lower(numbered=True, count_dtype=np.int64).machine
        with precision_of(machine):
            state, *seen = _start(machine)
        self.moments = [self._moment(machine, state, None, *seen)]

    def prepare(self) -> None:
        """Compile what a step by a seed needs, as nearly all are made."""
        machine, state, *_ = self.moments[0]
        nobody = _numbers({}, len(state.spikes))
        with precision_of(machine):
            _advance(machine, state, GuidedChoice(nobody, nobody, choice_of_rest(0)))

    def step(
        self,
        at: int,
        chosen: Mapping[int, int],
        rest: Rest,
        subsets: Mapping[int, int] | None = None,
    ) -> Moment:
        """The configuration after that of number `at`, whose later ones are forgotten.

        **Arguments:**

        - `chosen`: the rule of each neuron that somebody chose for, both by number.
        - `rest`: how the other neurons choose. A seed makes the path of `snpjax.run` with
          `UniformChoice(jax.random.key(seed))`.
        - `subsets`: the number of the subset of synapses that some plasticity rules take.

        **Raises:** `Refused` for a rule that is not applicable, in a halting configuration, and
        where the model has no next one.
        """
        if not 0 <= at < len(self.moments):
            raise Refused(f"There is no configuration {at}: they are 0 to {len(self.moments) - 1}.")
        before = self.moments[at]
        for neuron, rule in chosen.items():
            if rule not in before.slots.get(neuron, {}):
                raise Refused(f"Rule {rule + 1} of neuron {neuron + 1} is not applicable now.")
        if before.is_halted:
            raise Refused(f"The system halted after {before.solution.steps} steps.")
        slots = {neuron: before.slots[neuron][rule] for neuron, rule in chosen.items()}
        machine, state = before.machine, before.state
        while True:
            size = len(state.spikes)
            with precision_of(machine):
                choice = GuidedChoice(
                    _numbers(slots, size), _numbers(subsets or {}, size), choice_of_rest(rest)
                )
                after, record, *seen = _advance(machine, state, choice)
                if not (isinstance(machine, Growable) and bool(np.any(machine.is_full(after)))):
                    break
                machine, state = machine.grown(machine.refused(state, after))
        moment = self._moment(machine, after, record, *seen)
        if moment.solution.failure is not None:
            raise Refused(moment.solution.failure)
        del self.moments[at + 1 :]
        self.moments.append(moment)
        return moment

    def _moment(
        self,
        machine: Any,
        state: PyTree,
        record: Record | None,
        can_apply: Bool[Array, "slots neurons"],
        number: Int[Array, "slots neurons"] | None,
        is_halted: Bool[Array, ""],
        result: Any,
    ) -> Moment:
        state = jax.device_get(state)
        made = record is not None
        rows = jax.tree.map(lambda x: np.asarray(x)[None], record)
        steps = int(state.step)
        trajectory = Trajectory(
            final=state,
            states=None,
            outputs=rows.output if made else None,
            details=rows.detail if made else None,
            saved=Save(every=None, outputs=made, details=made),
            steps=np.asarray(steps),
            result=jax.device_get(result),
        )
        solution = self.system.solution(trajectory)
        slots: dict[int, dict[int, int]] = {}
        holds = np.asarray(can_apply)[:, : len(solution.spikes)]
        for neuron, slot in np.argwhere(holds.T).tolist():
            rule = slot if number is None else int(number[slot, neuron])
            slots.setdefault(neuron, {}).setdefault(rule, slot)
        changes = self.system.changes_network
        network = solution.network() if changes else None
        return Moment(machine, state, slots, solution, bool(is_halted), network)


def _numbers(given: Mapping[int, int], size: int) -> Int[Array, " choosers"]:
    numbers = np.full(size, NO_RULE, np.int32)
    numbers[list(given.keys())] = list(given.values())
    return jnp.asarray(numbers)


def choice_of_rest(rest: Rest) -> AbstractChoice:
    """The choice of path 0 of a run."""
    if rest == "first":
        return FirstChoice()
    return UniformChoice(jax.random.key(rest)).for_path(0)


@jax.jit
def _start(machine: AbstractMachine) -> tuple[PyTree, ...]:
    state = machine.init()
    return state, *_seen(machine, state)


@jax.jit
def _advance(machine: AbstractMachine, state: PyTree, choice: AbstractChoice) -> tuple[Any, ...]:
    state, record = machine.step(state, choice)
    return state, record, *_seen(machine, state)


def _seen(machine: Any, state: PyTree) -> tuple[Any, ...]:
    """Which slots apply in a state, the rules that they are, whether it halts, and its failure."""
    program = machine.program
    number = program.number
    if number is not None:
        labels = None if program.network is None else program.network.labels(state.network)
        number = program.of_neurons(number) if labels is None else number[:, labels]
    status = machine.status(state)
    is_halted = machine.halted(state)
    ended = RESULTS.where(is_halted, RESULTS.halted, RESULTS.max_steps_reached)
    result = RESULTS.where(status == RESULTS.halted, ended, status)
    return applicable(program, state), number, is_halted, result
