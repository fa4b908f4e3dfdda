"""Invariants that are found before anything is searched for: the strongest ones of some kinds.

Every kind of fact is a set of configurations that can be joined with one more: sums with a constant
value, sums with a constant remainder, intervals of sums, conditions of a list. The product of all
is the least fixpoint over the steps of the model: as long as a step leads out of it, the
configuration after that step is joined to each.
"""

import abc
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..query.formula import Comparison, Formula, Observed, Variable, comparisons
from ..structural.integer_kernel import minimal_solutions, null_space
from .conditions import compared, congruent
from .nets import NetRelation
from .relation import AbstractRelation, State, holds
from .solver import StepSolver


#: A sum of variables times coefficients.
Sum = Mapping[Variable, int]

_MAX_PAIRS = 100  # sums of two variables whose intervals are kept
_MAX_TRAPS = 64
_MAX_SOLUTIONS = 300  # vectors on the way to sums without negative coefficients
_LARGE_PRIME = 2**31 - 1  # two sums are taken for independent if they are modulo this
_WALK = 24  # steps from a configuration outside, all of which are outside or have to be inside


class AbstractFacts(abc.ABC):
    """A set of configurations of one kind.

    - `origin`: in words, how its conditions were found.
    """

    origin: str

    @abc.abstractmethod
    def join(self, state: State) -> None:
        """Make the configuration one of the set."""

    @abc.abstractmethod
    def conditions(self) -> list[Formula]:
        """What is true of the set, and of nothing else."""


class ConstantSums(AbstractFacts):
    """All linear equations: the smallest affine space. Its equations are the null space of the
    differences between its configurations (Karr 1976, with an exact best transformer); as many of
    them as possible have no negative coefficients."""

    origin = "sum that no step changes"

    def __init__(self, relation: AbstractRelation) -> None:
        self.initial, self.kept = relation.initial, _numbers_of(relation)
        self.rows: list[dict[int, int]] = []
        self.equations = null_space([], len(self.kept))
        self._known: tuple[int, list[Formula]] = (-1, [])

    def join(self, state: State) -> None:
        row = {
            at: state[i] - self.initial[i]
            for at, (i, _) in enumerate(self.kept)
            if state[i] != self.initial[i]
        }
        if any(sum(y.get(at, 0) * x for at, x in row.items()) for y in self.equations):
            self.rows.append(row)
            self.equations = null_space(self.rows, len(self.kept))

    def conditions(self) -> list[Formula]:
        if self._known[0] != len(self.rows):
            self._known = len(self.rows), [self._equation(y) for y in self._readable()]
        return self._known[1]

    def _equation(self, y: dict[int, int]) -> Formula:
        value = sum(x * self.initial[self.kept[at][0]] for at, x in y.items())
        return compared({self.kept[at][1]: x for at, x in sorted(y.items())}, "=", value)

    def _readable(self) -> list[dict[int, int]]:
        """A basis of the equations: first those without negative coefficients, the short ones
        first."""
        positive = minimal_solutions(self.rows, len(self.kept), limit=_MAX_SOLUTIONS) or []
        some = [*sorted(positive, key=len), *sorted(self.equations, key=len)]
        pivots: dict[int, dict[int, int]] = {}
        return [y for y in some if insert(pivots, y, _LARGE_PRIME)]


class Remainders(AbstractFacts):
    """All linear congruences of a prime modulus that do not follow from the constant sums."""

    def __init__(self, relation: AbstractRelation, prime: int, sums: ConstantSums) -> None:
        self.prime, self.initial, self.sums = prime, relation.initial, sums
        self.origin = f"remainder modulo {prime} that no step changes"
        self.kept = _numbers_of(relation)
        self.pivots: dict[int, dict[int, int]] = {}  # rows in reduced form, by their pivots

    def join(self, state: State) -> None:
        row = {at: state[i] - self.initial[i] for at, (i, _) in enumerate(self.kept)}
        insert(self.pivots, row, self.prime)

    def conditions(self) -> list[Formula]:
        found: list[Formula] = []
        known: dict[int, dict[int, int]] = {}
        for equation in self.sums.equations:
            insert(known, equation, self.prime)
        for at in range(len(self.kept)):
            if at in self.pivots:
                continue
            y = {at: 1}
            for pivot, row in self.pivots.items():
                if at in row:
                    y[pivot] = -row[at] % self.prime
            if not insert(known, y, self.prime):
                continue
            value = sum(x * self.initial[self.kept[k][0]] for k, x in y.items())
            terms = {self.kept[k][1]: x for k, x in sorted(y.items())}
            found.append(congruent(terms, self.prime, value))
        return found


def _numbers_of(relation: AbstractRelation) -> list[tuple[int, Variable]]:
    """The variables that sums are of, with their places: all but the steps made so far."""
    return [(i, v) for i, v in enumerate(relation.variables) if v.observed is not Observed.STEP]


def insert(pivots: dict[int, dict[int, int]], row: Mapping[int, int], prime: int) -> bool:
    """Whether a row is linearly independent, modulo a prime, of others in reduced form, to which it
    is added."""
    left = {at: x % prime for at, x in row.items() if x % prime}
    for pivot in sorted(left.keys() & pivots.keys()):
        left = _without(left, pivots[pivot], pivot, prime)
    if not left:
        return False
    pivot = min(left)
    inverse = pow(left[pivot], -1, prime)
    left = {at: x * inverse % prime for at, x in left.items()}
    for other, own in pivots.items():
        if pivot in own:
            pivots[other] = _without(own, left, pivot, prime)
    pivots[pivot] = left
    return True


def _without(row: dict[int, int], other: dict[int, int], at: int, prime: int) -> dict[int, int]:
    factor, keys = row.get(at, 0), row.keys() | other.keys()
    total = {k: (row.get(k, 0) - factor * other.get(k, 0)) % prime for k in keys}
    return {k: x for k, x in total.items() if x}


@dataclass
class ValueRange:
    """From `low` to `high`; `None` where there is no bound."""

    low: int | None
    high: int | None

    def plus(self, other: "ValueRange", sign: int) -> "ValueRange":
        """The sums of numbers of both, or the differences."""
        low, high = (other.low, other.high) if sign > 0 else (other.high, other.low)
        return ValueRange(_sum(self.low, low, sign), _sum(self.high, high, sign))


def _sum(first: int | None, second: int | None, sign: int) -> int | None:
    return None if first is None or second is None else first + sign * second


#: A sum whose interval is not known better than this.
NO_BOUND = ValueRange(None, None)


class BoundedSums(AbstractFacts):
    """Least and largest values of sums. A bound that is broken moves to the next threshold, or is
    given up after the last one.

    - `implied`: what is known of each sum without this; only tighter bounds are conditions.
    """

    origin = "interval that no step leaves"

    def __init__(
        self,
        relation: AbstractRelation,
        sums: Sequence[tuple[Sum, ValueRange]],
        thresholds: Sequence[int],
        samples: Sequence[State],
    ) -> None:
        self.sums, self.thresholds = [own for own, _ in sums], thresholds
        self.implied = [interval for _, interval in sums]
        self.places = [
            [(relation.positions[v], factor) for v, factor in own.items()] for own in self.sums
        ]
        columns = _columns(samples)
        values = [sum(factor * columns[i] for i, factor in places) for places in self.places]
        self.own = [ValueRange(int(np.min(some)), int(np.max(some))) for some in values]

    def join(self, state: State) -> None:
        for places, own in zip(self.places, self.own, strict=True):
            value = sum(factor * state[i] for i, factor in places)
            if own.high is not None and value > own.high:
                own.high = next((x for x in self.thresholds if x >= value), None)
            if own.low is not None and value < own.low:
                own.low = next((x for x in reversed(self.thresholds) if x <= value), None)

    def conditions(self) -> list[Formula]:
        found: list[Formula] = []
        for terms, own, implied in zip(self.sums, self.own, self.implied, strict=True):
            if own.low is not None and own.low == own.high:
                found.append(compared(terms, "=", own.low))
                continue
            if own.low is not None and (implied.low is None or own.low > implied.low):
                found.append(compared(terms, ">=", own.low))
            if own.high is not None and (implied.high is None or own.high < implied.high):
                found.append(compared(terms, "<=", own.high))
        return found


class Listed(AbstractFacts):
    """Conditions of a list, as long as no configuration breaks them."""

    def __init__(self, relation: AbstractRelation, origin: str, some: Sequence[Formula]) -> None:
        self.relation, self.origin, self.some = relation, origin, list(some)

    def join(self, state: State) -> None:
        self.some = [x for x in self.some if holds(x, self.relation, state)]

    def conditions(self) -> list[Formula]:
        return self.some


@dataclass
class Facts:
    """Conditions that are together inductive, with their origins, and the kinds that make them."""

    kinds: list[AbstractFacts] = field(default_factory=list)

    def join(self, state: State) -> None:
        for kind in self.kinds:
            kind.join(state)

    def origins(self) -> dict[Formula, str]:
        """Every condition with its origin, the first one if there are several."""
        found: dict[Formula, str] = {}
        for kind in self.kinds:
            for condition in kind.conditions():
                if not _is_trivial(condition):
                    found.setdefault(condition, kind.origin)
        return found


def _is_trivial(condition: Formula) -> bool:
    return isinstance(condition, Comparison) and not condition.terms


def few_facts(relation: AbstractRelation, samples: Sequence[State], query: Formula) -> Facts:
    """What is true of the samples, before steps are looked at: constant sums, intervals of the
    variables, and what guards and arcs suggest."""
    asked = list(comparisons(query))
    numbers = {*relation.thresholds, *(abs(x.constant) for x in asked)}
    numbers |= {x + 1 for x in numbers} | {-x for x in numbers}
    sums: list[tuple[Sum, ValueRange]] = [
        ({v: 1}, ValueRange(relation.least[i], relation.most[i])) for i, v in _numbers_of(relation)
    ]
    sums += [
        (dict(x.linear_terms), NO_BOUND)
        for x in asked
        if len(x.terms) > 1 and all(v in relation.positions for v in x.variables)
    ]
    is_net = isinstance(relation, NetRelation)
    traps, siphons = (traps_of(relation), siphons_of(relation)) if is_net else ((), ())
    return _joined(
        samples,
        ConstantSums(relation),
        BoundedSums(relation, sums, sorted(numbers), samples),
        Listed(relation, "remainder of a guard", _single_remainders(relation, asked)),
        Listed(relation, "marked trap", list(traps)),
        Listed(relation, "empty siphon", list(siphons)),
    )


def more_facts(
    relation: AbstractRelation, samples: Sequence[State], query: Formula, few: Facts
) -> Facts:
    """The same and, besides, remainders, and intervals of sums and differences of two variables,
    where these are not in smaller ones that `few` implies."""
    found = few_facts(relation, samples, query)
    sums = found.kinds[0]
    assert isinstance(sums, ConstantSums)
    moduli = {2, 3, *itertools.chain.from_iterable(relation.moduli.values())}
    moduli |= {x.modulus for x in comparisons(query) if x.modulus is not None}
    primes = sorted({p for m in moduli for p in _prime_factors(m)})
    added = _joined(
        samples,
        BoundedSums(relation, _pairs(relation, samples, few), [], samples),
        *(Remainders(relation, p, sums) for p in primes),
    )
    return Facts([*found.kinds, *added.kinds])


def _joined(samples: Sequence[State], *kinds: AbstractFacts) -> Facts:
    for kind in kinds:
        if not isinstance(kind, BoundedSums):  # which begin with the samples
            for state in samples:
                kind.join(state)
    return Facts(list(kinds))


def strongest(solver: StepSolver, facts: Facts, assumed: Sequence[Formula]) -> dict[Formula, str]:
    """The least product of these facts that no step leaves, where `assumed` holds before the step.

    **Raises:** `OutOfTime`.
    """
    relation = solver.relation
    while True:
        some = facts.origins()
        before = [solver.literal(x, 0) for x in (*some, *assumed)]
        broken = solver.one_broken(some, 1)
        if not some or not solver.is_satisfiable(*before, broken):
            return some
        state = solver.state(1)
        # What follows from there is inside, too, unless something assumed is broken on the way.
        for _ in range(_WALK):
            facts.join(state)
            if not all(holds(x, relation, state) for x in assumed):
                break
            choice = tuple(x[-1] if x else None for x in relation.alternatives(state))
            state = relation.step(state, choice)


def _pairs(
    relation: AbstractRelation, samples: Sequence[State], few: Facts
) -> list[tuple[Sum, ValueRange]]:
    """Sums and differences of two variables whose values in the samples are in a smaller interval
    than those of the variables give, those of few values first."""
    sums, intervals = few.kinds[:2]
    assert isinstance(sums, ConstantSums) and isinstance(intervals, BoundedSums)
    kept = [v for _, v in _numbers_of(relation)]
    own = dict(zip(kept, intervals.own, strict=False))
    same = {
        kept[max(y)]  # of two variables with a constant sum or difference, one
        for y in sums.equations
        if len(y) == 2 and all(abs(x) == 1 for x in y.values())
    }
    table = _columns(samples)
    columns = {v: table[relation.positions[v]] for v in relation.variables}
    changing = [v for v, x in own.items() if x.low is None or x.low != x.high]
    changing = [v for v in changing if v not in same]
    changing.sort(key=lambda v: int(columns[v].max()) - int(columns[v].min()))
    found: list[tuple[int, Sum, ValueRange]] = []
    for x, y in itertools.islice(itertools.combinations(changing, 2), 4 * _MAX_PAIRS):
        for sign in (1, -1):
            values, implied = columns[x] + sign * columns[y], own[x].plus(own[y], sign)
            low, high = int(values.min()), int(values.max())
            is_tighter = implied.low is None or low > implied.low
            if is_tighter or implied.high is None or high < implied.high:
                found.append((high - low, {x: 1, y: sign}, implied))
    found.sort(key=lambda triple: triple[0])
    return [(terms, implied) for _, terms, implied in found[:_MAX_PAIRS]]


def _columns(samples: Sequence[State]) -> np.ndarray:
    """The values of each variable, as Python's integers where 64 bits could be too few."""
    is_large = any(abs(x) >= 2**31 for state in samples for x in state)
    return np.asarray(samples, object if is_large else np.int64).T


def _single_remainders(relation: AbstractRelation, asked: Sequence[Comparison]) -> list[Formula]:
    """Constant remainders of single variables modulo the periods of guards, and of the sums that
    the query takes remainders of."""
    found: list[Formula] = []
    for v, moduli in relation.moduli.items():
        value = relation.initial[relation.positions[v]]
        found += [congruent({v: 1}, m, value) for m in moduli]
    for x in asked:
        if x.modulus is not None:
            value = sum(
                factor * relation.value(relation.initial, v) for v, factor in x.linear_terms
            )
            found.append(congruent(dict(x.linear_terms), x.modulus, value))
    return found


def traps_of(relation: NetRelation) -> Iterator[Formula]:
    """Sets of places that, once marked, stay so: whatever takes from one puts into one."""
    takers: list[list[int]] = [[] for _ in range(relation.num_places)]
    for t, arcs in enumerate(relation.inputs):
        for p, _ in arcs:
            takers[p].append(t)
    given = [{p for p, _ in arcs} for arcs in relation.outputs]
    seen: set[frozenset[int]] = set()
    todo = [frozenset([p]) for p in range(relation.num_places)]
    budget, found = 40 * _MAX_TRAPS, 0
    while todo and budget and found < _MAX_TRAPS:
        some = todo.pop(0)
        budget -= 1
        losing = next((t for p in some for t in takers[p] if not given[t] & some), None)
        if losing is None:
            if any(relation.initial[p] for p in some):
                found += 1
                yield compared({relation.variables[p]: 1 for p in sorted(some)}, ">=", 1)
            continue
        for p in sorted(given[losing]):
            larger = some | {p}
            if larger not in seen:
                seen.add(larger)
                todo.append(larger)


def siphons_of(relation: NetRelation) -> Iterator[Formula]:
    """The largest set of places that, once empty, stays so: whatever puts into one of them takes
    from one, or tests one. It holds all smaller ones that are empty in the beginning."""
    some = {p for p in range(relation.num_places) if not relation.initial[p]}
    needs = [
        {p for kind in (relation.inputs, relation.tests) for p, _ in kind[t]}
        for t in range(relation.num_transitions)
    ]
    while filled := {
        p
        for t, arcs in enumerate(relation.outputs)
        for p, _ in arcs
        if p in some and not needs[t] & some
    }:
        some -= filled
    if some:
        yield compared({relation.variables[p]: 1 for p in sorted(some)}, "=", 0)


def _prime_factors(number: int) -> list[int]:
    found, divisor = [], 2
    while number > 1 and divisor <= 97:
        if number % divisor == 0:
            found.append(divisor)
            number //= divisor
        else:
            divisor += 1
    return found
