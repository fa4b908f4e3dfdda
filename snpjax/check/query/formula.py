"""Formulas of the query language, as they were written."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias


Relation: TypeAlias = Literal["=", "<=", ">="]
Operator: TypeAlias = Literal["always", "never", "eventually", "next", "infinitely often", "steady"]
Order: TypeAlias = Literal["until", "weak until", "followed by", "preceded by"]


class Observed(enum.Enum):
    """What of a neuron or a configuration is looked at. The last two belong to the step that led
    to the configuration."""

    SPIKES = "spikes"
    TIMER = "timer"
    PENDING = "pending"
    IN_FLIGHT = "in_flight"
    STEP = "step"
    HALTED = "halted"
    FINAL = "final"
    EMITS = "emits"
    FIRES = "fires"

    @property
    def is_of_step(self) -> bool:
        return self in (Observed.EMITS, Observed.FIRES)


@dataclass(frozen=True)
class Variable:
    """A number that every configuration has. `rule` is that of `FIRES`; conditions are 0 or 1."""

    observed: Observed
    neuron: str = ""
    rule: int = 0
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, kw_only=True)
class AbstractPlaced:
    """What stands from character `start` to `end` of the query."""

    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Comparison(AbstractPlaced):
    """The sum of variables times coefficients, compared with a constant; with a modulus, "=" says
    that this is the remainder of the sum."""

    terms: tuple[tuple[Variable, int], ...]
    relation: Relation
    constant: int
    modulus: int | None = None

    @property
    def decides_a_number(self) -> bool:
        """Whether one variable alone decides it, and from some number on always in the same way."""
        return len(self.terms) == 1 and self.modulus is None

    @property
    def is_of_step(self) -> bool:
        return any(variable.observed.is_of_step for variable, _ in self.terms)


@dataclass(frozen=True)
class Not(AbstractPlaced):
    part: "Formula"


@dataclass(frozen=True)
class And(AbstractPlaced):
    parts: tuple["Formula", ...]


@dataclass(frozen=True)
class Or(AbstractPlaced):
    parts: tuple["Formula", ...]


@dataclass(frozen=True)
class Implies(AbstractPlaced):
    left: "Formula"
    right: "Formula"


@dataclass(frozen=True)
class Temporal(AbstractPlaced):
    """An operator that looks into the future of a path, on one formula."""

    operator: Operator
    part: "Formula"


@dataclass(frozen=True)
class InOrder(AbstractPlaced):
    """An operator that says in which order two formulas hold."""

    left: "Formula"
    operator: Order
    right: "Formula"


Formula: TypeAlias = Comparison | Not | And | Or | Implies | Temporal | InOrder


@dataclass(frozen=True)
class Query:
    """A formula that is to hold on all paths, or on some path, of a system."""

    text: str
    on_all_paths: bool
    formula: Formula

    def source(self, formula: Formula) -> str:
        """A part of the query as it was written."""
        return " ".join(self.text[formula.start : formula.end].split())


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly below an operator."""
    match formula:
        case And(parts) | Or(parts):
            return parts
        case Not(part) | Temporal(_, part):
            return (part,)
        case Implies(left, right) | InOrder(left, _, right):
            return left, right
    return ()


def all_parts(formula: Formula) -> Iterator[Formula]:
    """A formula and everything below it."""
    yield formula
    for part in parts_of(formula):
        yield from all_parts(part)


def comparisons(formula: Formula) -> Iterator[Comparison]:
    """What a formula says of single configurations."""
    return (part for part in all_parts(formula) if isinstance(part, Comparison))


def is_about_one(formula: Formula) -> bool:
    """Whether a formula speaks of one configuration only, not of the future."""
    return not any(isinstance(part, Temporal | InOrder) for part in all_parts(formula))


def negates(one: Formula, other: Formula) -> bool:
    """Whether one formula is written as the negation of the other."""
    return one == Not(other) or other == Not(one)
