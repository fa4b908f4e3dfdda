"""Invariants that are found before anything is searched for: the strongest ones of some kinds.

Every kind of fact is a set of configurations that can be joined with one more: sums with a constant
value, sums with a constant remainder, intervals of sums, conditions of a list. The product of all
is the least fixpoint over the steps of the model: as long as a step leads out of it, the
configuration after that step is joined to each.
"""

import abc
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..query.formula import Comparison, Formula, Observed, Or, Variable
from ..structural.integer_kernel import null_space
from .conditions import compared, congruent
from .nets import NetRelation
from .relation import AbstractRelation, State, holds
from .solver import StepSolver


#: A sum of variables times coefficients.
Sum = Mapping[Variable, int]

_MAX_PAIRS = 400  # sums of two variables whose intervals are kept
_MAX_TRAPS = 64
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
    differences between its configurations (Karr 1976, with an exact best transformer)."""

    origin = "sum that no step changes"

    def __init__(self, relation: AbstractRelation) -> None:
        self.initial = relation.initial
        # The steps made so far are no number of the model.
        self.kept = [
            (i, v) for i, v in enumerate(relation.variables) if v.observed is not Observed.STEP
        ]
        self.rows: list[dict[int, int]] = []
        self.equations = null_space([], len(self.kept))

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
        found: list[Formula] = []
        for y in self.equations:
            value = sum(x * self.initial[self.kept[at][0]] for at, x in y.items())
            found.append(compared({self.kept[at][1]: x for at, x in sorted(y.items())}, "=", value))
        return found


class Remainders(AbstractFacts):
    """All linear congruences of a prime modulus."""

    def __init__(self, relation: AbstractRelation, prime: int) -> None:
        self.prime, self.initial = prime, relation.initial
        self.origin = f"remainder modulo {prime} that no step changes"
        self.kept = [
            (i, v) for i, v in enumerate(relation.variables) if v.observed is not Observed.STEP
        ]
        self.pivots: dict[int, dict[int, int]] = {}  # rows in reduced form, by their pivots

    def join(self, state: State) -> None:
        p = self.prime
        row = {at: (state[i] - self.initial[i]) % p for at, (i, _) in enumerate(self.kept)}
        row = {at: x for at, x in row.items() if x}
        for pivot in sorted(row.keys() & self.pivots.keys()):
            row = self._without(row, self.pivots[pivot], pivot)
        if not row:
            return
        pivot = min(row)
        inverse = pow(row[pivot], -1, p)
        row = {at: x * inverse % p for at, x in row.items()}
        for other, own in self.pivots.items():
            if pivot in own:
                self.pivots[other] = self._without(own, row, pivot)
        self.pivots[pivot] = row

    def _without(self, row: dict[int, int], other: dict[int, int], at: int) -> dict[int, int]:
        factor = row.get(at, 0)
        keys = row.keys() | other.keys()
        total = {k: (row.get(k, 0) - factor * other.get(k, 0)) % self.prime for k in keys}
        return {k: x for k, x in total.items() if x}

    def conditions(self) -> list[Formula]:
        found: list[Formula] = []
        for at in range(len(self.kept)):
            if at in self.pivots:
                continue
            y = {at: 1}
            for pivot, row in self.pivots.items():
                if at in row:
                    y[pivot] = -row[at] % self.prime
            value = sum(x * self.initial[self.kept[k][0]] for k, x in y.items())
            terms = {self.kept[k][1]: x for k, x in sorted(y.items())}
            found.append(congruent(terms, self.prime, value))
        return found


@dataclass
class _Interval:
    low: int | None
    high: int | None


class Intervals(AbstractFacts):
    """Least and largest values of sums. A bound that is broken moves to the next threshold, or is
    given up after the last one."""

    origin = "interval that no step leaves"

    def __init__(
        self,
        relation: AbstractRelation,
        sums: Sequence[Sum],
        thresholds: Sequence[int],
        samples: Iterable[State],
    ) -> None:
        self.sums, self.thresholds = sums, thresholds
        self.places = [
            [(relation.positions[v], factor) for v, factor in own.items()] for own in sums
        ]
        self.own: list[_Interval] = []
        values = [[self._value(places, s) for s in samples] for places in self.places]
        self.own = [_Interval(min(some), max(some)) for some in values]

    def _value(self, places: list[tuple[int, int]], state: State) -> int:
        return sum(factor * state[i] for i, factor in places)

    def join(self, state: State) -> None:
        for places, own in zip(self.places, self.own, strict=True):
            value = self._value(places, state)
            if own.high is not None and value > own.high:
                own.high = next((x for x in self.thresholds if x >= value), None)
            if own.low is not None and value < own.low:
                own.low = next((x for x in reversed(self.thresholds) if x <= value), None)

    def conditions(self) -> list[Formula]:
        found: list[Formula] = []
        for coefficients, own in zip(self.sums, self.own, strict=True):
            if own.low is not None and own.low == own.high:
                found.append(compared(coefficients, "=", own.low))
                continue
            found += [] if own.low is None else [compared(coefficients, ">=", own.low)]
            found += [] if own.high is None else [compared(coefficients, "<=", own.high)]
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


def possible_facts(relation: AbstractRelation, samples: Sequence[State], query: Formula) -> Facts:
    """What is true of the samples, before steps are looked at."""
    from ..query.formula import comparisons  # the comparisons of the query are sums of their own

    asked = list(comparisons(query))
    numbers = {*relation.thresholds, *(abs(x.constant) for x in asked)}
    numbers |= {x + 1 for x in numbers} | {-x for x in numbers}
    singles: list[Sum] = [{v: 1} for v in relation.variables]
    own: list[Sum] = [
        dict(x.terms)
        for x in asked
        if len(x.terms) > 1 and all(v in relation.positions for v, _ in x.terms)
    ]
    primes = {2, 3}
    for m in {*itertools.chain.from_iterable(relation.moduli.values())}:
        primes |= set(_prime_factors(m))
    for comparison in asked:
        primes |= set(_prime_factors(comparison.modulus or 1))
    kinds: list[AbstractFacts] = [
        ConstantSums(relation),
        Intervals(relation, [*singles, *own], sorted(numbers), samples),
        Intervals(relation, _pairs(relation, samples), [], samples),
        Listed(relation, "remainder of a guard", _single_remainders(relation, asked)),
    ]
    if isinstance(relation, NetRelation):
        kinds.append(Listed(relation, "marked trap", list(_traps(relation))))
    else:
        kinds.append(Listed(relation, "what a closed neuron emits", _pending(relation, samples)))
    kinds += [Remainders(relation, p) for p in sorted(primes)]
    found = Facts(kinds)
    for state in samples:
        found.join(state)
    return found


def strongest(solver: StepSolver, facts: Facts, assumed: Sequence[Formula]) -> dict[Formula, str]:
    """The least product of these facts that no step leaves, where `assumed` holds before the step.

    **Raises:** `OutOfTime`.
    """
    relation = solver.relation
    while True:
        some = facts.origins()
        before = [solver.literal(x, 0) for x in (*some, *assumed)]
        broken = solver.any_of(solver.z3.Not(solver.literal(x, 1)) for x in some)
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


def _pairs(relation: AbstractRelation, samples: Sequence[State]) -> list[Sum]:
    """Sums and differences of two variables whose values in the samples are in a smaller interval
    than follows from their own, those of small values first."""
    kept = [v for v in relation.variables if v.observed is not Observed.STEP]
    columns = {v: [s[relation.positions[v]] for s in samples] for v in kept}
    spread = {v: max(x) - min(x) for v, x in columns.items()}
    found: list[tuple[int, Sum]] = []
    changing = sorted((v for v in kept if spread[v]), key=lambda v: spread[v])
    for x, y in itertools.islice(itertools.combinations(changing, 2), 4 * _MAX_PAIRS):
        for sign in (1, -1):
            values = [a + sign * b for a, b in zip(columns[x], columns[y], strict=True)]
            width = max(values) - min(values)
            if 0 < width < spread[x] + spread[y]:
                found.append((width, {x: 1, y: sign}))
    found.sort(key=lambda pair: pair[0])
    return [own for _, own in found[:_MAX_PAIRS]]


def _single_remainders(relation: AbstractRelation, asked: Sequence[Comparison]) -> list[Formula]:
    """Constant remainders of single variables modulo the periods of guards, and of the sums that
    the query takes remainders of."""
    found: list[Formula] = []
    for v, moduli in relation.moduli.items():
        value = relation.initial[relation.positions[v]]
        found += [congruent({v: 1}, m, value) for m in moduli]
    for x in asked:
        if x.modulus is not None:
            value = sum(factor * relation.value(relation.initial, v) for v, factor in x.terms)
            found.append(congruent(dict(x.terms), x.modulus, value))
    return found


def _pending(relation: AbstractRelation, samples: Sequence[State]) -> list[Formula]:
    """A neuron is open, or a given number is pending; and that number is 0 where it is open."""
    found: list[Formula] = []
    for v in relation.variables:
        if v.observed is not Observed.PENDING:
            continue
        timer, place = Variable(Observed.TIMER, v.neuron), relation.positions[v]
        is_open = Comparison(((timer, 1),), "=", 0)
        found.append(Or((Comparison(((timer, 1),), ">=", 1), Comparison(((v, 1),), "=", 0))))
        for number in sorted({s[place] for s in samples} - {0}):
            found.append(Or((is_open, Comparison(((v, 1),), "=", number))))
    return found


def _traps(relation: NetRelation) -> Iterator[Formula]:
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


def _prime_factors(number: int) -> list[int]:
    found, divisor = [], 2
    while number > 1 and divisor <= 97:
        if number % divisor == 0:
            found.append(divisor)
            number //= divisor
        else:
            divisor += 1
    return found
