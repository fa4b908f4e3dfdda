"""Formulas of the query language, as they were written."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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
class VariableProduct:
    """Two or more variables multiplied with each other."""

    factors: tuple[Variable, ...]

    @property
    def at(self) -> int:
        return min(variable.at for variable in self.factors)


#: What a term of a sum multiplies by its coefficient.
Monomial: TypeAlias = Variable | VariableProduct


def factors_of(monomial: Monomial) -> tuple[Variable, ...]:
    """The variables of a term."""
    return monomial.factors if isinstance(monomial, VariableProduct) else (monomial,)


@dataclass(frozen=True)
class Comparison(AbstractPlaced):
    """The sum of monomials times coefficients, compared with a constant; with a modulus, "=" says
    that this is the remainder of the sum."""

    terms: tuple[tuple[Monomial, int], ...]
    relation: Relation
    constant: int
    modulus: int | None = None

    @property
    def decides_a_number(self) -> bool:
        """Whether one variable alone decides it, and from some number on always in the same way."""
        return len(self.terms) == 1 and self.modulus is None and not self.products

    @property
    def is_of_step(self) -> bool:
        return any(variable.observed.is_of_step for variable in self.variables)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All numbers that it reads."""
        return tuple(variable for monomial, _ in self.terms for variable in factors_of(monomial))

    @property
    def products(self) -> tuple[VariableProduct, ...]:
        """Its terms that are not linear."""
        return tuple(x for x, _ in self.terms if isinstance(x, VariableProduct))

    @property
    def linear_terms(self) -> tuple[tuple[Variable, int], ...]:
        """The terms, for methods that `first_product` keeps all others from."""
        assert not self.products
        return tuple((x, factor) for x, factor in self.terms if isinstance(x, Variable))


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


@dataclass(frozen=True)
class Within(AbstractPlaced):
    """An operator that looks at most a number of steps ahead: `always`, `never`, `eventually`, or
    one of order, of which `followed by` asks for the answer within these steps."""

    steps: int
    part: Temporal | InOrder


@dataclass(frozen=True)
class Quantified(AbstractPlaced):
    """A formula that holds on all paths that begin in a configuration, or on some path."""

    on_all_paths: bool
    part: "Formula"


Formula: TypeAlias = (
    Comparison | Not | And | Or | Implies | Temporal | InOrder | Within | Quantified
)

#: Always true, and never.
TRUE, FALSE = And(()), Or(())


@dataclass(frozen=True)
class Query:
    """A formula that is to hold on all paths, or on some path, of a system.

    - `fair`: conditions that hold infinitely often on these paths, or formulas of them.
    """

    text: str
    on_all_paths: bool
    formula: Formula
    fair: tuple["Query", ...] = ()

    def source(self, formula: Formula) -> str:
        """A part of the query as it was written."""
        return " ".join(self.text[formula.start : formula.end].split())

    @property
    def quantified(self) -> Quantified:
        """It as a formula about the initial configuration."""
        return Quantified(self.on_all_paths, self.formula)

    @property
    def fair_paths(self) -> tuple[Formula, ...]:
        """What holds of fair paths."""
        some = (query.formula for query in self.fair)
        return tuple(Temporal("infinitely often", x) if is_state_formula(x) else x for x in some)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What is said of single configurations, here and of fair paths."""
        some = (query.formula for query in (self, *self.fair))
        return tuple(x for formula in some for x in comparisons(formula))

    @property
    def invariant(self) -> Formula | None:
        """The condition that is to hold in every configuration, if the query says no more; for one
        about some path, that its negation says no more."""
        match self.on_all_paths, self.formula:
            case _ if self.fair:
                return None
            case (True, Temporal("always", part)) if is_about_one(part):
                return part
            case (True, Temporal("never", part)) if is_about_one(part):
                return Not(part)
            case (False, Temporal("eventually", part)) if is_about_one(part):
                return Not(part)
        return None


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly below an operator."""
    match formula:
        case And(parts) | Or(parts):
            return parts
        case Not(part) | Temporal(_, part) | Within(_, part) | Quantified(_, part):
            return (part,)
        case Implies(left, right) | InOrder(left, _, right):
            return left, right
    return ()


def with_part(formula: Formula, number: int, part: Formula) -> Formula:
    """A formula with another one in place of one of its `parts_of`."""
    match formula:
        case And(parts) | Or(parts):
            return replace(formula, parts=(*parts[:number], part, *parts[number + 1 :]))
        case Implies() | InOrder():
            return replace(formula, **{("left", "right")[number]: part})
        case Not() | Temporal() | Quantified():
            return replace(formula, part=part)
        case Within(_, inner):
            assert isinstance(part, type(inner))
            return replace(formula, part=part)
    raise AssertionError("This is a bug of snpjax, please report it.")


def all_parts(formula: Formula) -> Iterator[Formula]:
    """A formula and everything below it."""
    yield formula
    for part in parts_of(formula):
        yield from all_parts(part)


def comparisons(formula: Formula) -> Iterator[Comparison]:
    """What a formula says of single configurations."""
    return (part for part in all_parts(formula) if isinstance(part, Comparison))


def first_product(formula: Formula) -> VariableProduct | None:
    """The first product of varying numbers in a formula, for methods that are for linear sums."""
    found = (product for comparison in comparisons(formula) for product in comparison.products)
    return min(found, key=lambda product: product.at, default=None)


def is_about_one(formula: Formula) -> bool:
    """Whether a formula is a condition that a single configuration decides: it says nothing of the
    future."""
    ahead = (Temporal, InOrder, Within, Quantified)
    return not any(isinstance(part, ahead) for part in all_parts(formula))


def is_state_formula(formula: Formula) -> bool:
    """Whether a formula says something of a configuration, not of the path that it is on. What is
    quantified does: it is a property of the configuration in which its paths begin."""
    match formula:
        case Quantified():
            return True
        case Temporal() | InOrder() | Within():
            return False
    return all(map(is_state_formula, parts_of(formula)))
