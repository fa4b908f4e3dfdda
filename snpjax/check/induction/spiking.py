"""The transition relation of SN P systems."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...choice import NO_RULE
from ...spiking.model.guard import Guard
from ...spiking.model.rule import Rule
from ...spiking.model.system import SpikingSystem
from ...spiking.view.configurations import Configurations, Transitions
from ..query.formula import Observed, Variable
from .relation import STEP, AbstractRelation, Choice, Frame, Marks, State, Term


class SpikingRelation(AbstractRelation):
    """Steps of the definition: spikes of every neuron; timer and pending emission of every neuron
    that may be closed; the steps made, up to the end of the input.

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2006; the order within a step is that of `docs/semantics.md`.
    """

    def __init__(self, system: SpikingSystem, *, clock: int = 0) -> None:
        self.system = system
        neurons = system.neurons
        self.names = [neuron.name for neuron in neurons]
        # A repeated rule counts once, where it stands first.
        self.rules: list[dict[int, Rule]] = [
            {
                i: rule
                for i, rule in enumerate(neuron.rules)
                if isinstance(rule, Rule) and rule not in neuron.rules[:i]
            }
            for neuron in neurons
        ]
        self.delayed = [
            i for i, own in enumerate(self.rules) if any(rule.delay for rule in own.values())
        ]
        self.trains = {system.names[name]: train for name, train in system.input.items()}
        ends = (t for train in self.trains.values() for t, x in enumerate(train, 1) if x)
        self.horizon = max(ends, default=0)
        self.last = max(self.horizon, clock)
        self.into: list[list[tuple[int, int]]] = [[] for _ in neurons]
        for source, target, weight in system.synapses:
            self.into[system.names[target]].append((system.names[source], weight))
        self._bound()

    def _bound(self) -> None:
        num, delayed = len(self.names), self.delayed
        names = [self.names[i] for i in delayed]
        self.variables = (
            *(Variable(Observed.SPIKES, name) for name in self.names),
            *(Variable(Observed.TIMER, name) for name in names),
            *(Variable(Observed.PENDING, name) for name in names),
            *([STEP] if self.last else []),
        )
        zeros = (0,) * (2 * len(delayed) + bool(self.last))
        self.initial = (*(neuron.spikes for neuron in self.system.neurons), *zeros)
        self.least = (*[None if self.system.signed else 0] * num, *zeros)
        longest = [max(rule.delay for rule in self.rules[i].values()) for i in delayed]
        largest = [max(r.produce for r in self.rules[i].values() if r.delay) for i in delayed]
        self.most = (*[None] * num, *longest, *largest, *([self.last] if self.last else []))
        numbers = {0, *(abs(k) for k in self.initial)}
        moduli: dict[Variable, set[int]] = {}
        for variable, own in zip(self.variables, self.rules, strict=False):
            for rule in own.values():
                numbers |= {rule.consume, rule.produce}
                for low, high, period in terms_of(rule):
                    numbers |= {low, low - 1} | (set() if high is None else {high, high + 1})
                    if period > 1:
                        moduli.setdefault(variable, set()).add(period)
        self.thresholds = tuple(sorted(numbers))
        self.moduli = {variable: sorted(some) for variable, some in moduli.items()}

    @cached_property
    def _place(self) -> dict[int, tuple[int, int]]:
        """Where timer and pending emission of a neuron stand in a state."""
        num, more = len(self.names), len(self.delayed)
        return {i: (num + at, num + more + at) for at, i in enumerate(self.delayed)}

    # ---- on numbers ----

    def alternatives(self, state: State) -> list[list[int]]:
        found = []
        for i, own in enumerate(self.rules):
            is_open = i not in self._place or state[self._place[i][0]] == 0
            k = state[i]
            applies = (r for r, rule in own.items() if k >= rule.consume and k in rule.guard)
            found.append(list(applies) if is_open else [])
        return found

    def step(self, state: State, choice: Choice) -> State:
        return self._made(state, choice)[0]

    def _made(self, state: State, choice: Choice) -> tuple[State, list[int]]:
        """The next configuration, and the emissions."""
        num = len(self.names)
        spikes, emissions, is_open = list(state[:num]), [0] * num, [True] * num
        timers, pending = [0] * len(self.delayed), [0] * len(self.delayed)
        for at, i in enumerate(self.delayed):
            timer, waiting = (state[place] for place in self._place[i])
            timers[at] = max(timer - 1, 0)
            if timer == 1:
                emissions[i] = waiting
            elif timer > 1:
                pending[at] = waiting
        for i, selected in enumerate(choice):
            if selected is None:
                continue
            rule = self.rules[i][selected]
            spikes[i] -= rule.consume
            if rule.delay:
                at = self.delayed.index(i)
                timers[at], pending[at] = rule.delay, rule.produce
            else:
                emissions[i] = rule.produce
        for at, i in enumerate(self.delayed):
            is_open[i] = timers[at] == 0
        position = state[-1] if self.last else 0
        for i in range(num):
            if is_open[i]:
                spikes[i] += sum(weight * emissions[j] for j, weight in self.into[i])
                train = self.trains.get(i, ())
                spikes[i] += train[position] if position < len(train) else 0
        made = [min(position + 1, self.last)] if self.last else []
        if made and self.is_halting(state):
            made = [position]
        return (*spikes, *timers, *pending, *made), emissions

    def is_halting(self, state: State) -> bool:
        num = len(self.names)
        is_waiting = any(state[num : num + len(self.delayed)])
        has_input = self.horizon > 0 and state[-1] < self.horizon
        return not (is_waiting or has_input or any(self.alternatives(state)))

    # ---- in the words of the model ----

    def configurations(self, states: Sequence[State]) -> Configurations:
        num, delayed = len(self.names), self.delayed
        timers, pending = np.zeros((2, len(states), num), np.int64)
        table = np.asarray(states, np.int64)
        timers[:, delayed] = table[:, num : num + len(delayed)]
        pending[:, delayed] = table[:, num + len(delayed) : num + 2 * len(delayed)]
        step = table[:, -1] if self.last else np.zeros(len(states), np.int64)
        is_halting = np.asarray([self.is_halting(state) for state in states])
        return Configurations(self.system, table[:, :num], timers, pending, step, is_halting)

    def transitions(self, states: Sequence[State], choices: Sequence[Choice]) -> Transitions:
        shape = (len(choices), len(self.names))
        rules = [[NO_RULE if r is None else r for r in choice] for choice in choices]
        pairs = zip(states, choices, strict=False)
        emissions = [self._made(state, choice)[1] for state, choice in pairs]
        numbers = np.arange(len(choices))
        return Transitions(
            self.system,
            numbers,
            numbers + 1,
            np.asarray(rules, np.int64).reshape(shape),
            np.asarray(emissions, np.int64).reshape(shape),
        )

    # ---- as formulas ----

    def domain(self, z3: Any, now: Frame) -> list[Term]:
        """The bounds of all variables, and that a closed neuron waits for one of its rules."""
        found = self.bounds(now)
        for i in self.delayed:
            timer = now[Variable(Observed.TIMER, self.names[i])]
            pending = now[Variable(Observed.PENDING, self.names[i])]
            late = [rule for rule in self.rules[i].values() if rule.delay]
            own = [z3.And(timer >= 1, timer <= x.delay, pending == x.produce) for x in late]
            found.append(z3.Or(z3.And(timer == 0, pending == 0), *own))
        return found

    def _applicable(self, z3: Any, now: Frame) -> list[dict[int, Term]]:
        """When each rule of each neuron is applicable."""
        found = []
        for variable, i in zip(self.variables, range(len(self.names)), strict=False):
            timer = now.get(Variable(Observed.TIMER, self.names[i]))
            is_open = [] if timer is None else [timer == 0]
            own = {r: _in_guard(z3, rule, now[variable]) for r, rule in self.rules[i].items()}
            found.append({r: z3.And(*is_open, x) for r, x in own.items()})
        return found

    def steps(self, z3: Any, now: Frame, after: Frame, marks: Marks) -> list[Term]:
        number, facts = marks.number, []
        emissions: list[Term] = []
        closed: list[Term | None] = []
        left: list[Term] = []
        for i, applicable in enumerate(self._applicable(z3, now)):
            own, name = self.rules[i], self.names[i]
            fires = applicable if self._is_deterministic(i) else marks.taken(i, applicable)
            fired = {r: z3.Bool(f"fires{i}.{r}@{number}") for r in fires}
            facts += [fired[r] == x for r, x in fires.items()]
            spikes = now[Variable(Observed.SPIKES, name)]
            left.append(spikes - _total(z3, fired, {r: rule.consume for r, rule in own.items()}))
            now_sent = {r: 0 if rule.delay else rule.produce for r, rule in own.items()}
            sent, timer_after = _total(z3, fired, now_sent), None
            if i in self._place:
                timer = now[Variable(Observed.TIMER, name)]
                waiting = now[Variable(Observed.PENDING, name)]
                timer_after = after[Variable(Observed.TIMER, name)]
                delays = {r: rule.delay for r, rule in own.items()}
                later = {r: rule.produce if rule.delay else 0 for r, rule in own.items()}
                starts, pending = _total(z3, fired, delays), _total(z3, fired, later)
                facts.append(timer_after == z3.If(timer > 0, timer - 1, starts))
                pending = z3.If(timer > 1, waiting, z3.If(timer == 1, 0, pending))
                facts.append(after[Variable(Observed.PENDING, name)] == pending)
                sent = z3.If(timer == 1, waiting, sent)
            closed.append(timer_after)
            emissions.append(sent)
        senders = {j for own in self.into for j, _ in own}
        emitted = {j: z3.Int(f"emits{j}@{number}") for j in sorted(senders)}
        facts += [emitted[j] == emissions[j] for j in emitted]
        position = now.get(STEP)
        for i, name in enumerate(self.names):
            arriving = [weight * emitted[j] for j, weight in self.into[i]]
            for step, spikes in enumerate(self.trains.get(i, ())):
                arriving += [z3.If(position == step, spikes, 0)] if spikes else []
            got = z3.Sum(arriving) if arriving else z3.IntVal(0)
            if closed[i] is not None:
                got = z3.If(closed[i] == 0, got, 0)
            facts.append(after[Variable(Observed.SPIKES, name)] == left[i] + got)
        if position is not None:
            made = z3.If(position < self.last, position + 1, position)
            if self.last > self.horizon:
                made = z3.If(self.halting(z3, now), position, made)
            facts.append(after[STEP] == made)
        return facts

    def halting(self, z3: Any, now: Frame) -> Term:
        rules = [z3.Not(x) for own in self._applicable(z3, now) for x in own.values()]
        timers = [now[Variable(Observed.TIMER, self.names[i])] == 0 for i in self.delayed]
        over = [now[STEP] >= self.horizon] if self.horizon else []
        return z3.And(*rules, *timers, *over)

    def _is_deterministic(self, neuron: int) -> bool:
        """Whether at most one rule of a neuron is ever applicable."""
        guards = [r.guard & Guard.interval(r.consume) for r in self.rules[neuron].values()]
        return all(x.isdisjoint(y) for at, x in enumerate(guards) for y in guards[:at])


def terms_of(rule: Rule) -> Sequence[tuple[int, int | None, int]]:
    """The counts at which a rule is applicable: k in L(E) and k >= c."""
    return rule.guard.terms(max(rule.consume, 1))


def _in_guard(z3: Any, rule: Rule, k: Term) -> Term:
    found = []
    for low, high, period in terms_of(rule):
        if low == high:
            found.append(k == low)
            continue
        bounds = [k >= low, *([] if high is None else [k <= high])]
        bounds += [] if period == 1 else [k % period == low % period]
        found.append(z3.And(*bounds))
    return z3.Or(*found)


def _total(z3: Any, fired: dict[int, Term], numbers: dict[int, int]) -> Term:
    """The number of the rule that fires, 0 if none does."""
    some = [z3.If(fired[r], number, 0) for r, number in numbers.items() if number]
    return z3.Sum(some) if some else z3.IntVal(0)
