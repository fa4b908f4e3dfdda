"""Transition relations: what one step of a model does to the numbers of a configuration."""

import abc
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from ..query.formula import And, Comparison, Formula, Implies, Not, Observed, Or, Variable


#: The value of every variable of a relation, in order.
State: TypeAlias = tuple[int, ...]
#: What every chooser selects in a step, `None` where it selects nothing.
Choice: TypeAlias = tuple[int | None, ...]
#: An expression of z3.
Term: TypeAlias = Any
#: The expressions of the variables in one configuration.
Frame: TypeAlias = Mapping[Variable, Term]

STEP = Variable(Observed.STEP)


class AbstractRelation(abc.ABC):
    """The steps of a model on unbounded integers, twice: on numbers and as formulas of z3. Both are
    written from the definitions, not from lowered tables.

    A halting configuration follows itself. Where several alternatives are applicable, Booleans that
    nothing else restricts say which one is taken: the first that is marked, or else the first. So
    every configuration has a successor whatever these are, see `chosen`.

    - `variables`: what makes two configurations different.
    - `initial`: their values in C_0.
    - `least`, `most`: of each variable by its kind; `None` where there is no bound. Steps are
      counted up to the largest that matters.
    - `thresholds`: numbers that guards and arcs compare with, ascending.
    - `moduli`: periods of guards, for each variable.
    """

    variables: tuple[Variable, ...]
    initial: State
    least: tuple[int | None, ...]
    most: tuple[int | None, ...]
    thresholds: tuple[int, ...]
    moduli: Mapping[Variable, Sequence[int]]

    # ---- on numbers ----

    @abc.abstractmethod
    def alternatives(self, state: State) -> list[list[int]]:
        """What each chooser may select; nothing where it selects nothing."""

    @abc.abstractmethod
    def step(self, state: State, choice: Choice) -> State:
        """The next configuration."""

    @abc.abstractmethod
    def is_halting(self, state: State) -> bool: ...

    def is_final(self, state: State) -> bool:
        """Whether it is a final marking of a net."""
        del state
        return False

    def value(self, state: State, variable: Variable) -> int:
        """The value of a variable of a query."""
        match variable.observed:
            case Observed.HALTED:
                return int(self.is_halting(state))
            case Observed.FINAL:
                return int(self.is_final(state))
        position = self.positions.get(variable)
        return 0 if position is None else state[position]  # what is not kept is always 0

    @cached_property
    def positions(self) -> Mapping[Variable, int]:
        return {variable: position for position, variable in enumerate(self.variables)}

    # ---- in the words of the model ----

    @abc.abstractmethod
    def configurations(self, states: Sequence[State]) -> Any:
        """States as what a query looks at."""

    @abc.abstractmethod
    def transitions(self, states: Sequence[State], choices: Sequence[Choice]) -> Any:
        """The steps between states, one after the other."""

    # ---- as formulas ----

    @abc.abstractmethod
    def steps(self, z3: Any, now: Frame, after: Frame, marks: "Marks") -> list[Term]:
        """What holds of two configurations, one a step after the other."""

    @abc.abstractmethod
    def halting(self, z3: Any, now: Frame) -> Term: ...

    def final(self, z3: Any, now: Frame) -> Term:
        del now
        return z3.BoolVal(False)

    def frame(self, z3: Any, number: int) -> Frame:
        """Unknown values of all variables."""
        return {v: z3.Int(f"x{i}@{number}") for i, v in enumerate(self.variables)}

    def domain(self, z3: Any, now: Frame) -> list[Term]:
        """What the definition of a configuration says of its numbers; every step keeps it."""
        del z3
        return self.bounds(now)

    def bounds(self, now: Frame) -> list[Term]:
        """The least and the largest value of every variable."""
        found = []
        for v, least, most in zip(self.variables, self.least, self.most, strict=True):
            found += [] if least is None else [now[v] >= least]
            found += [] if most is None else [now[v] <= most]
        return found

    def expression(self, z3: Any, now: Frame, variable: Variable) -> Term:
        """The value of a variable of a query."""
        match variable.observed:
            case Observed.HALTED:
                return z3.If(self.halting(z3, now), 1, 0)
            case Observed.FINAL:
                return z3.If(self.final(z3, now), 1, 0)
        return now.get(variable, z3.IntVal(0))


class Marks:
    """The Booleans of one step that resolve choices, by chooser and alternative."""

    def __init__(self, z3: Any, number: int) -> None:
        self.z3, self.number = z3, number
        self.made: dict[tuple[int, int], Term] = {}

    def of(self, chooser: int, alternative: int) -> Term:
        key = (chooser, alternative)
        if key not in self.made:
            self.made[key] = self.z3.Bool(f"mark{chooser}.{alternative}@{self.number}")
        return self.made[key]

    def taken(self, chooser: int, applicable: Mapping[int, Term]) -> dict[int, Term]:
        """When each alternative is taken, if these are applicable under conditions."""
        z3 = self.z3
        marked = {a: z3.And(x, self.of(chooser, a)) for a, x in applicable.items()}
        is_marked, found = z3.Or(*marked.values()), {}
        before: list[Term] = []
        marked_before: list[Term] = []
        for a, is_applicable in applicable.items():
            found[a] = z3.Or(
                z3.And(marked[a], *map(z3.Not, marked_before)),
                z3.And(z3.Not(is_marked), is_applicable, *map(z3.Not, before)),
            )
            before.append(is_applicable)
            marked_before.append(marked[a])
        return found


def chosen(alternatives: Sequence[Sequence[int]], marked: Callable[[int, int], bool]) -> Choice:
    """What every chooser selects: the first alternative that is marked, or else the first."""
    return tuple(
        next((a for a in own if marked(chooser, a)), own[0] if own else None)
        for chooser, own in enumerate(alternatives)
    )


def holds(formula: Formula, relation: AbstractRelation, state: State) -> bool:
    """Whether a condition is true of a configuration."""
    match formula:
        case Comparison(_, kind, constant):
            terms = formula.linear_terms
            total = sum(factor * relation.value(state, v) for v, factor in terms)
            if formula.modulus is not None:
                return total % formula.modulus == constant
            return {"=": total == constant, "<=": total <= constant, ">=": total >= constant}[kind]
        case Not(part):
            return not holds(part, relation, state)
        case And(parts):
            return all(holds(part, relation, state) for part in parts)
        case Or(parts):
            return any(holds(part, relation, state) for part in parts)
        case Implies(left, right):
            return not holds(left, relation, state) or holds(right, relation, state)
    raise AssertionError("This is a bug of snpjax, please report it.")


def encoded(z3: Any, formula: Formula, relation: AbstractRelation, now: Frame) -> Term:
    """A condition on a configuration as a formula of z3."""
    match formula:
        case Comparison(_, kind, constant):
            terms = formula.linear_terms
            expressions = [(relation.expression(z3, now, v), factor) for v, factor in terms]
            total = z3.Sum([x if factor == 1 else factor * x for x, factor in expressions])
            if formula.modulus is not None:
                return total % formula.modulus == constant
            if kind == "=":
                return total == constant
            return total <= constant if kind == "<=" else total >= constant
        case Not(part):
            return z3.Not(encoded(z3, part, relation, now))
        case And(parts):
            return z3.And(*(encoded(z3, part, relation, now) for part in parts))
        case Or(parts):
            return z3.Or(*(encoded(z3, part, relation, now) for part in parts))
        case Implies(left, right):
            first = encoded(z3, left, relation, now)
            return z3.Implies(first, encoded(z3, right, relation, now))
    raise AssertionError("This is a bug of snpjax, please report it.")
