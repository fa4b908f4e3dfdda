"""The transition relation of Sleptsov and Petri nets."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...sleptsov import Arcs, Execution, Firings, Markings, Petri
from ..query.formula import Observed, Variable
from .relation import STEP, AbstractRelation, Choice, Frame, Marks, State, Term


class NetRelation(AbstractRelation):
    """One transition fires in a step, which no fireable transition beats: once under `Petri`, in
    its maximal multiplicity under `Sleptsov`.

    ??? cite "Source"
        Formulas (1) to (3) of Zaitsev, Ajima, Bartlett, Kumar, IJPEDS 2025.
    """

    def __init__(self, execution: Execution, *, clock: int = 0) -> None:
        net = execution.net
        self.net, self.is_petri, self.last = net, isinstance(execution.rule, Petri), clock
        self.num_places, self.num_transitions = net.num_places, net.num_transitions
        self.inputs, self.outputs, self.inhibitors, self.tests = (
            _by_transition(arcs, net.num_transitions)
            for arcs in (net.inputs, net.outputs, net.inhibitors, net.tests)
        )
        self.order: list[int] = net.priority_order.tolist()
        self.above = _above(net.priorities.tolist(), self.order)
        names = [net.place_name(place) for place in range(net.num_places)]
        self.variables = (
            *(Variable(Observed.SPIKES, name) for name in names),
            *([STEP] if clock else []),
        )
        self.initial = (*net.marking.tolist(), *([0] if clock else []))
        self.least = (0,) * len(self.variables)
        self.most = (*[None] * net.num_places, *([clock] if clock else []))
        numbers = {0, *self.initial}
        for kind in (net.inputs, net.outputs, net.inhibitors, net.tests):
            numbers |= {x for weight in kind.weight.tolist() for x in (weight - 1, weight)}
        self.thresholds = tuple(sorted(numbers))
        self.moduli = {}

    # ---- on numbers ----

    def _multiplicity(self, marking: State, t: int) -> int:
        """C(t), 1 where nothing bounds it."""
        if any(marking[p] >= w for p, w in self.inhibitors[t]):
            return 0
        if any(marking[p] < w for p, w in self.tests[t]):
            return 0
        return min((marking[p] // w for p, w in self.inputs[t]), default=1)

    def alternatives(self, state: State) -> list[list[int]]:
        able = [t for t in self.order if self._multiplicity(state, t)]
        return [[t for t in able if not self.above[t].intersection(able)]]

    def step(self, state: State, choice: Choice) -> State:
        (t,) = choice
        if t is None:
            return state
        marking = list(state)
        copies = 1 if self.is_petri else self._multiplicity(state, t)
        for p, w in self.inputs[t]:
            marking[p] -= copies * w
        for p, w in self.outputs[t]:
            marking[p] += copies * w
        if self.last:
            marking[-1] = min(marking[-1] + 1, self.last)
        return tuple(marking)

    def is_halting(self, state: State) -> bool:
        return not any(self._multiplicity(state, t) for t in range(self.num_transitions))

    def is_final(self, state: State) -> bool:
        marking = list(state[: self.num_places])
        return any(marking == final for final in self.net.final_markings.tolist())

    # ---- in the words of the model ----

    def configurations(self, states: Sequence[State]) -> Markings:
        table = np.asarray(states, np.int64)
        step = table[:, -1] if self.last else np.zeros(len(states), np.int64)
        is_halting = np.asarray([self.is_halting(state) for state in states])
        return Markings(self.net, table[:, : self.num_places], step, is_halting)

    def transitions(self, states: Sequence[State], choices: Sequence[Choice]) -> Firings:
        fired = [(s, t) for s, (t,) in zip(states, choices, strict=False) if t is not None]
        copies = [1 if self.is_petri else self._multiplicity(s, t) for s, t in fired]
        numbers = np.arange(len(fired))
        fires = np.asarray([t for _, t in fired], np.int64)
        return Firings(self.net, numbers, numbers + 1, fires, np.asarray(copies, np.int64))

    # ---- as formulas ----

    def _fireable(self, z3: Any, now: Frame) -> dict[int, Term]:
        tokens, found = [now[v] for v in self.variables], {}
        for t in self.order:
            conditions = [tokens[p] >= w for p, w in (*self.inputs[t], *self.tests[t])]
            conditions += [tokens[p] < w for p, w in self.inhibitors[t]]
            found[t] = z3.And(*conditions)
        return found

    def steps(self, z3: Any, now: Frame, after: Frame, marks: Marks) -> list[Term]:
        number, tokens = marks.number, [now[v] for v in self.variables]
        able = {t: z3.Bool(f"fireable{t}@{number}") for t in self.order}
        facts = [able[t] == x for t, x in self._fireable(z3, now).items()]
        unbeaten = {
            t: z3.And(able[t], *(z3.Not(able[u]) for u in sorted(self.above[t])))
            for t in self.order
        }
        taken = marks.taken(0, unbeaten)
        fires = {t: z3.Bool(f"fires{t}@{number}") for t in self.order}
        facts += [fires[t] == x for t, x in taken.items()]
        copies = z3.IntVal(1) if self.is_petri else z3.Int(f"copies@{number}")
        if not self.is_petri:
            for t in self.order:  # min of floor(mu(p) / b): none is exceeded, and one is reached
                within = [w * copies <= tokens[p] for p, w in self.inputs[t]]
                reached = [tokens[p] < w * copies + w for p, w in self.inputs[t]]
                facts.append(z3.Implies(fires[t], z3.And(*within, z3.Or(*reached))))
        changes: list[list[Term]] = [[] for _ in range(self.num_places)]
        for t in self.order:
            effect: dict[int, int] = {}
            for arcs, sign in ((self.inputs[t], -1), (self.outputs[t], 1)):
                for p, w in arcs:
                    effect[p] = effect.get(p, 0) + sign * w
            for p, change in effect.items():
                if change:
                    changes[p].append(z3.If(fires[t], change * copies, 0))
        for p, change in enumerate(changes):
            got = z3.Sum(change) if change else z3.IntVal(0)
            facts.append(after[self.variables[p]] == tokens[p] + got)
        if self.last:
            step = self.variables[-1]
            goes_on = z3.And(z3.Or(*fires.values()), now[step] < self.last)
            facts.append(after[step] == z3.If(goes_on, now[step] + 1, now[step]))
        return facts

    def halting(self, z3: Any, now: Frame) -> Term:
        return z3.And(*(z3.Not(x) for x in self._fireable(z3, now).values()))

    def final(self, z3: Any, now: Frame) -> Term:
        tokens = [now[v] for v in self.variables[: self.num_places]]
        markings = self.net.final_markings.tolist()
        equal = [[x == n for x, n in zip(tokens, final, strict=True)] for final in markings]
        return z3.Or(*(z3.And(*some) for some in equal))


def _by_transition(arcs: Arcs, num_transitions: int) -> list[list[tuple[int, int]]]:
    of: list[list[tuple[int, int]]] = [[] for _ in range(num_transitions)]
    for place, transition, weight in arcs.triples():
        of[transition].append((place, weight))
    return of


def _above(pairs: list[list[int]], order: list[int]) -> dict[int, set[int]]:
    """Who beats each transition, directly or through others; the order extends the relation."""
    found: dict[int, set[int]] = {t: set() for t in order}
    for t in order:
        for beats, beaten in pairs:
            if beaten == t:
                found[t] |= {beats, *found[beats]}
    return found
