"""The steps of a model as formulas of the solver, written from the rules of the reference
interpreters: a case for every rule of a neuron, and for every transition of a net.

Nothing here is shared with lowered programs or with the search for proofs.
"""

import abc
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from types import ModuleType
from typing import Any, TypeAlias

from ...sleptsov.model.arcs import Arcs
from ...sleptsov.model.execution import Execution
from ...sleptsov.model.rules import Petri
from ...spiking.model.guard import Guard
from ...spiking.model.rule import Rule
from ...spiking.model.system import Neuron, SpikingSystem
from ..query.formula import Observed, Variable
from ..query.written import variable_text
from .conditions import Logic


#: A term of the solver, or a Python constant.
Term: TypeAlias = Any
#: The numbers of a configuration.
Values: TypeAlias = Mapping[Variable, Term]

_STEP = Variable(Observed.STEP)


class AbstractStepFormulas(abc.ABC):
    """Configurations and steps of a model, as terms of a solver."""

    z3: ModuleType

    def __init__(self, z3: ModuleType, *, counts_steps: bool) -> None:
        self.z3, self.counts_steps = z3, counts_steps
        self.logic = Logic(z3.And, z3.Or, z3.Not)
        self._number = count()

    def fresh(self, name: str) -> Term:
        return self.z3.Int(f"{name} {next(self._number)}")

    def step_number(self) -> Term:
        """The steps made so far, or 0 where nothing depends on them."""
        return self.fresh("step") if self.counts_steps else self.z3.IntVal(0)

    def shown(self) -> list[Variable]:
        """The numbers of a configuration that are not constant."""
        some = self.configuration().items()
        return [variable for variable, term in some if not self.z3.is_int_value(term)]

    def numbers(self, now: Values, solution: Any) -> dict[str, int]:
        """A configuration in a solution of the solver."""
        return {
            variable_text(variable): solution.eval(now[variable], model_completion=True).as_long()
            for variable in self.shown()
        }

    @abc.abstractmethod
    def configuration(self) -> Values:
        """New variables for a configuration."""

    @abc.abstractmethod
    def initial(self, now: Values) -> Iterable[Term]: ...

    @abc.abstractmethod
    def in_range(self, now: Values) -> Iterable[Term]:
        """What the definition of a configuration says of its numbers."""

    @abc.abstractmethod
    def steps(self, now: Values) -> Iterable[tuple[Term, Values]]:
        """The steps from a configuration, with the stutter of a halted one: when each is made, and
        the configuration after it."""

    @abc.abstractmethod
    def is_halting(self, now: Values) -> Term: ...

    def is_final(self, now: Values) -> Term:
        return False

    def value(self, now: Values, variable: Variable) -> Term:
        """The term of a variable of a condition."""
        match variable.observed:
            case Observed.HALTED:
                return self.z3.If(self.is_halting(now), 1, 0)
            case Observed.FINAL:
                return self.z3.If(self.is_final(now), 1, 0)
        return now[variable]


class SystemStepFormulas(AbstractStepFormulas):
    """The definition of SN P systems with delays, weights and input trains."""

    def __init__(self, z3: ModuleType, system: SpikingSystem, *, counts_steps: bool) -> None:
        trains = system.input.values()
        self.horizon = max((t for own in trains for t, x in enumerate(own, 1) if x), default=0)
        super().__init__(z3, counts_steps=counts_steps or self.horizon > 0)
        self.system = system
        self.arriving: dict[str, list[tuple[int, str]]] = {n.name: [] for n in system.neurons}
        for source, target, weight in system.synapses:
            self.arriving[target].append((int(weight), source))

    def configuration(self) -> Values:
        now: dict[Variable, Term] = {_STEP: self.step_number()}
        for neuron in self.system.neurons:
            own = {kind: Variable(kind, neuron.name) for kind in _OF_NEURON}
            is_closing = any(isinstance(rule, Rule) and rule.delay for rule in neuron.rules)
            for kind, variable in own.items():
                is_constant = kind is not Observed.SPIKES and not is_closing
                name = f"{kind.value} {neuron.name}"
                now[variable] = self.z3.IntVal(0) if is_constant else self.fresh(name)
        return now

    def initial(self, now: Values) -> Iterable[Term]:
        yield now[_STEP] == 0
        for neuron in self.system.neurons:
            spikes, timer, pending = _numbers(now, neuron)
            yield from (spikes == int(neuron.spikes), timer == 0, pending == 0)

    def in_range(self, now: Values) -> Iterable[Term]:
        every, some, _ = self.logic
        yield now[_STEP] >= 0
        for neuron in self.system.neurons:
            spikes, timer, pending = _numbers(now, neuron)
            if not self.system.signed:
                yield spikes >= 0
            closed = [
                every([timer >= 1, timer <= rule.delay, pending == rule.produce])
                for rule in neuron.rules
                if isinstance(rule, Rule) and rule.delay
            ]
            yield some([every([timer == 0, pending == 0]), *closed])

    def steps(self, now: Values) -> Iterable[tuple[Term, Values]]:
        every, some, _ = self.logic
        parts, then = [], self.configuration()
        if self.counts_steps:
            parts.append(then[_STEP] == now[_STEP] + self.z3.If(self.is_halting(now), 0, 1))
        emissions = {n.name: self.fresh(f"emission {n.name}") for n in self.system.neurons}
        for neuron in self.system.neurons:
            left = self.fresh(f"left {neuron.name}")
            spikes, timer, pending = _numbers(then, neuron)
            found = left, timer, emissions[neuron.name], pending
            cases = [
                every([condition, *(x == y for x, y in zip(found, result, strict=True))])
                for condition, result in self.cases(neuron, now)
            ]
            parts.append(some(cases))
            arrives = [weight * emissions[source] for weight, source in self.arriving[neuron.name]]
            train = self.system.input.get(neuron.name, ())
            arrives += [
                self.z3.If(now[_STEP] == step, int(x), 0) for step, x in enumerate(train) if x
            ]
            total = self.z3.Sum(arrives) if arrives else 0
            parts.append(spikes == left + self.z3.If(timer == 0, total, 0))
        yield every(parts), then

    def cases(
        self, neuron: Neuron, now: Values
    ) -> Iterable[tuple[Term, tuple[Term, Term, Term, Term]]]:
        """What a neuron may do: when, and then its spikes, before any arrive, its timer, what it
        emits and what is pending."""
        every, some, negate = self.logic
        spikes, timer, pending = _numbers(now, neuron)
        yield timer > 1, (spikes, timer - 1, 0, pending)
        yield timer == 1, (spikes, 0, pending, 0)
        applicable = self.applicable(neuron, now)
        for rule, applies in applicable:
            emitted, late = (0, rule.produce) if rule.delay else (rule.produce, 0)
            condition = every([timer == 0, applies])
            yield condition, (spikes - rule.consume, rule.delay, emitted, late)
        idle = every([timer == 0, negate(some([applies for _, applies in applicable]))])
        yield idle, (spikes, 0, pending, 0)

    def applicable(self, neuron: Neuron, now: Values) -> list[tuple[Rule, Term]]:
        spikes, _, _ = _numbers(now, neuron)
        return [
            (rule, self.logic.every([spikes >= rule.consume, self._holds(rule.guard, spikes)]))
            for rule in neuron.rules
            if isinstance(rule, Rule)
        ]

    def _holds(self, guard: Guard, spikes: Term) -> Term:
        """Whether a count is in L(E), by the normal form of the guard."""
        every, some, _ = self.logic
        runs: list[list[int]] = []
        for k in guard.finite:
            if runs and runs[-1][1] == k - 1:
                runs[-1][1] = k
            else:
                runs.append([k, k])
        parts = [every([spikes >= low, spikes <= high]) for low, high in runs]
        for residue in guard.residues:
            remainder = spikes % guard.period == residue % guard.period
            parts.append(every([spikes >= guard.tail, remainder]))
        return some(parts)

    def is_halting(self, now: Values) -> Term:
        some, negate = self.logic.some, self.logic.negate
        goes_on = [now[_STEP] < self.horizon]
        for neuron in self.system.neurons:
            goes_on.append(_numbers(now, neuron)[1] > 0)
            goes_on += [applies for _, applies in self.applicable(neuron, now)]
        return negate(some(goes_on))


_OF_NEURON = (Observed.SPIKES, Observed.TIMER, Observed.PENDING)


def _numbers(now: Values, neuron: Neuron) -> tuple[Term, Term, Term]:
    spikes, timer, pending = (now[Variable(kind, neuron.name)] for kind in _OF_NEURON)
    return spikes, timer, pending


class NetStepFormulas(AbstractStepFormulas):
    """The definition of nets whose transitions fire one after another: in maximal multiplicity, or
    once."""

    def __init__(self, z3: ModuleType, execution: Execution, *, counts_steps: bool) -> None:
        super().__init__(z3, counts_steps=counts_steps)
        self.net, self.fires_once = execution.net, isinstance(execution.rule, Petri)
        self.places = [Variable(Observed.SPIKES, name) for name in self.net.place_names]
        kinds = (self.net.inputs, self.net.outputs, self.net.inhibitors, self.net.tests)
        self.inputs, self.outputs, self.inhibitors, self.tests = map(self._by_transition, kinds)
        self.above: list[set[int]] = [set() for _ in range(self.net.num_transitions)]
        for t, u in self.net.priorities.tolist():
            self.above[u].add(t)
        before: list[set[int]] = []
        while before != self.above:  # who beats one that beats a transition beats it, too
            before = self.above
            self.above = [own.union(*(before[u] for u in own)) for own in before]

    def _by_transition(self, arcs: Arcs) -> list[list[tuple[int, int]]]:
        found: list[list[tuple[int, int]]] = [[] for _ in range(self.net.num_transitions)]
        for place, transition, weight in arcs.triples():
            found[transition].append((place, weight))
        return found

    def configuration(self) -> Values:
        return {_STEP: self.step_number(), **{p: self.fresh(p.neuron) for p in self.places}}

    def initial(self, now: Values) -> Iterable[Term]:
        yield now[_STEP] == 0
        for place, tokens in zip(self.places, self.net.marking.tolist(), strict=True):
            yield now[place] == tokens

    def in_range(self, now: Values) -> Iterable[Term]:
        return (number >= 0 for number in now.values())

    def _fireable(self, now: Values, t: int) -> Term:
        tokens = [now[place] for place in self.places]
        return self.logic.every(
            [
                *(tokens[p] >= w for p, w in self.inputs[t]),
                *(tokens[p] < w for p, w in self.inhibitors[t]),
                *(tokens[p] >= w for p, w in self.tests[t]),
            ]
        )

    def steps(self, now: Values) -> Iterable[tuple[Term, Values]]:
        every, some, negate = self.logic
        for t in range(self.net.num_transitions):
            copies = 1 if self.fires_once else self.fresh("copies")
            parts = [
                self._fireable(now, t),
                *(negate(self._fireable(now, u)) for u in self.above[t]),
            ]
            if not self.fires_once:
                # The least quotient: all places suffice, and one does not for one copy more.
                own = [(now[self.places[p]], w) for p, w in self.inputs[t]]
                parts += [copies * w <= tokens for tokens, w in own]
                parts.append(some([copies * w + w > tokens for tokens, w in own]))
            change = Counter(dict(self.outputs[t]))
            change.subtract(dict(self.inputs[t]))
            then = dict(now)
            if self.counts_steps:
                then[_STEP] = now[_STEP] + 1
            for p, by in change.items():
                if by:
                    then[self.places[p]] = now[self.places[p]] + copies * by
            yield every(parts), then
        yield self.is_halting(now), now

    def is_halting(self, now: Values) -> Term:
        able = [self._fireable(now, t) for t in range(self.net.num_transitions)]
        return self.logic.negate(self.logic.some(able))

    def is_final(self, now: Values) -> Term:
        tokens = [now[place] for place in self.places]
        return self.logic.some(
            [
                self.logic.every([x == y for x, y in zip(tokens, row, strict=True)])
                for row in self.net.final_markings.tolist()
            ]
        )
