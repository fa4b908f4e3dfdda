"""Least and largest probabilities and expected sums as exact fractions, for small graphs.

All random choices are uniform, so that every probability of a step is a fraction with a small
denominator, and all results are fractions or infinite.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from ...explore.conditions import Where
from ...explore.strongly_connected import strong_parts
from .equations import OptimalityEquations, of_expected, of_probability
from .long_run import bottom_parts
from .mdp import Decisions


#: A fraction, or infinity.
Number: TypeAlias = Fraction | float

# Multiplications of one solution, where numbers of many bits count more: a second or two.
_MAX_WORK = 2**19
# Up to here a fraction is certainly the one with a small denominator that is next to its rounding.
_MAX_CHOICES = 1000
_MAX_ROUNDS = 100


class TooLong(ValueError):
    """Equations that would take too long with fractions, or are not solved so."""


def probability(
    start: int, decisions: Decisions, target: Where, through: Where, best: Literal["min", "max"]
) -> Number:
    """The least or largest probability to reach a target through some configurations.

    **Raises:** `TooLong`, as do all others here.
    """
    return _solved(start, of_probability(decisions, target, through, best))


def expected(
    start: int,
    decisions: Decisions,
    reward: Float[np.ndarray, " configurations"],
    target: Where,
    best: Literal["min", "max"],
) -> Number:
    """The least or largest expected sum until a target is reached."""
    return _solved(start, of_expected(decisions, reward, target, best))


def within(
    start: int,
    decisions: Decisions,
    target: Where,
    through: Where,
    steps: int,
    best: Literal["min", "max"],
) -> Number:
    """The least or largest probability to reach a target within some steps."""
    decisions = decisions.only(through[decisions.owner] & ~target[decisions.owner])
    actions = _Actions(decisions)
    layers = [{start}]
    for _ in range(steps):
        actions.work -= sum(len(row) for i in layers[-1] for row in actions.of(i))
        if actions.work < 0:
            raise TooLong
        layers.append({j for i in layers[-1] for row in actions.of(i) for j in row})
    values = {i: Fraction(bool(target[i])) for i in layers[-1]}
    for layer in reversed(layers[:-1]):
        values = {
            i: _best([actions.mean(row, values) for row in own], best)
            if (own := actions.of(i))
            else Fraction(bool(target[i]))
            for i in layer
        }
    return values[start]


def after_a_step(
    start: int, decisions: Decisions, target: Where, remains: Where, best: Literal["min", "max"]
) -> Number:
    """The least or largest probability to be in a target after one step; where there is none,
    `remains` says whether that is so."""
    actions = _Actions(decisions)
    own = actions.of(start)
    if not own:
        return Fraction(bool(remains[start]))
    values = {j: Fraction(bool(target[j])) for row in own for j in row}
    return _best([actions.mean(row, values) for row in own], best)


def long_run(start: int, decisions: Decisions, holds: Where) -> Number:
    """The share of the steps in which a condition holds; of a chain only."""
    if not decisions.is_chain:
        raise TooLong
    parts = bottom_parts(decisions)
    known = np.where(parts.is_bottom, 0.0, np.nan)
    actions, shares = _Actions(decisions), {}
    for one in np.unique(parts.part[parts.is_bottom]).tolist():
        own = np.flatnonzero(parts.part == one).tolist()
        share = _share(actions, own, holds)
        shares.update(dict.fromkeys(own, share))
    equations = OptimalityEquations(decisions, known, np.zeros(len(decisions.owner)), "max")
    return _solved(start, equations, shares)


def _share(actions: "_Actions", own: Sequence[int], holds: Where) -> Fraction:
    """In configurations that all lead to each other, without end: what is gained until the first
    one returns, by the number of these steps."""
    first, rest = own[0], own[1:]
    if not actions.of(first):
        return Fraction(bool(holds[first]))
    rows = {i: {j: p for j, p in actions.of(i)[0].items() if j != first} for i in rest}
    totals = []
    for reward in (holds, np.ones(len(holds))):
        constants = {i: Fraction(int(reward[i])) for i in rest}
        gained = actions.solved(rows, constants, rest)
        gained[first] = Fraction(0)
        totals.append(int(reward[first]) + actions.mean(actions.of(first)[0], gained))
    return totals[0] / totals[1]


def _solved(
    start: int, equations: OptimalityEquations, known: Mapping[int, Fraction] | None = None
) -> Number:
    """The solution in one configuration, by policy iteration from what it finds in double
    precision.

    - `known`: exact numbers of configurations, instead of those in the equations.
    """
    if not np.isnan(equations.known[start]):
        given = float(equations.known[start])
        return given if np.isinf(given) else (known or {}).get(start, Fraction(given))
    merged, part = equations.without_end_components()
    exact = {int(part[i]): value for i, value in (known or {}).items()}
    start = int(part[start])
    decisions, is_open = merged.decisions, merged.is_open
    _, policy = decisions.surely_some(~is_open & np.isfinite(merged.known))
    policy = decisions.solve(merged.known, merged.cost, policy, merged.best).policy
    actions = _Actions(decisions)
    needed, ends = _needed(start, actions, is_open)
    values: dict[int, Fraction] = {i: exact.get(i, Fraction(merged.known[i])) for i in ends}
    taken = {i: int(policy[i]) for i in needed}
    costs = {k: Fraction(merged.cost[k]) for i in needed for k in actions.numbers(i)}
    for _ in range(_MAX_ROUNDS):
        rows = {i: actions.rows[taken[i]] for i in needed}
        found = _by_parts(actions, rows, {i: costs[taken[i]] for i in needed}, values)
        better = {}
        for i in needed:
            own = {k: costs[k] + actions.mean(actions.rows[k], found) for k in actions.numbers(i)}
            top = _best(own.values(), merged.best)
            if top != found[i]:
                better[i] = next(k for k, value in own.items() if value == top)
        if not better:
            return found[start]
        taken |= better
    raise TooLong


def _needed(start: int, actions: "_Actions", is_open: Where) -> tuple[list[int], set[int]]:
    """The configurations that equations must be solved for, and the known ones that they lead
    to."""
    found, ends = [start], set[int]()
    seen = {start}
    for i in found:
        for j in {j for row in actions.of(i) for j in row} - seen:
            seen.add(j)
            if is_open[j]:
                found.append(j)
            else:
                ends.add(j)
    return found, ends


def _by_parts(
    actions: "_Actions",
    rows: Mapping[int, Mapping[int, Fraction]],
    constants: Mapping[int, Fraction],
    known: Mapping[int, Fraction],
) -> dict[int, Fraction]:
    """The solution of x = constant + P x: strongly connected parts one after the other, those that
    others lead to first."""
    own = list(rows)
    number = {i: at for at, i in enumerate(own)}
    pairs = [(at, number[j]) for at, i in enumerate(own) for j in rows[i] if j in number]
    table = np.asarray(pairs, np.int64).reshape(-1, 2)
    sources, targets = table[:, 0], table[:, 1]
    shape = len(own), len(own)
    edges = csr_array((np.ones(len(pairs), bool), (sources, targets)), shape=shape)
    num_parts, part = strong_parts(edges)
    members: list[list[int]] = [[] for _ in range(num_parts)]
    for at, i in enumerate(own):
        members[part[at]].append(i)
    found = dict(known)
    for one in _sinks_first(num_parts, part[sources], part[targets]):
        block = members[one]
        inside = {i: {j: p for j, p in rows[i].items() if j not in found} for i in block}
        outside = {i: {j: p for j, p in rows[i].items() if j in found} for i in block}
        right = {i: constants[i] + actions.mean(outside[i], found) for i in block}
        found |= actions.solved(inside, right, block)
    return found


def _sinks_first(
    num_parts: int, sources: Int[np.ndarray, " edges"], targets: Int[np.ndarray, " edges"]
) -> list[int]:
    """All parts, each after those that it leads to."""
    after: list[set[int]] = [set() for _ in range(num_parts)]
    before: list[set[int]] = [set() for _ in range(num_parts)]
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        if source != target:
            after[source].add(target)
            before[target].add(source)
    order = [one for one in range(num_parts) if not after[one]]
    for one in order:
        for other in before[one]:
            after[other].discard(one)
            if not after[other]:
                order.append(other)
    return order


def _best(values: Iterable[Fraction], best: Literal["min", "max"]) -> Fraction:
    pick: Callable[[Iterable[Fraction]], Fraction] = min if best == "min" else max
    return pick(values)


@dataclass(eq=False)
class _Actions:
    """What follows each action, with fractions; and how much they may be computed with."""

    decisions: Decisions
    work: int = field(default_factory=lambda: _MAX_WORK)

    def __post_init__(self) -> None:
        if self.decisions.most_choices > _MAX_CHOICES or self.decisions.matrix.nnz > self.work:
            raise TooLong

    @cached_property
    def rows(self) -> list[dict[int, Fraction]]:
        """The probability of each configuration after each action."""
        matrix, most = self.decisions.matrix, self.decisions.most_choices
        shares, which = np.unique(matrix.data, return_inverse=True)
        exact = [Fraction(x).limit_denominator(most) for x in shares.tolist()]
        columns, first = np.asarray(matrix.indices).tolist(), np.asarray(matrix.indptr)
        numbers = which.tolist()
        return [
            {columns[at]: exact[numbers[at]] for at in range(begin, end)}
            for begin, end in pairwise(first.tolist())
        ]

    def numbers(self, configuration: int) -> range:
        first = self.decisions.first_action
        return range(int(first[configuration]), int(first[configuration + 1]))

    def of(self, configuration: int) -> list[dict[int, Fraction]]:
        return [self.rows[action] for action in self.numbers(configuration)]

    def mean(self, row: Mapping[int, Fraction], values: Mapping[int, Fraction]) -> Fraction:
        total = Fraction(0)
        for j, p in row.items():
            self.spend(values[j])
            total += p * values[j]
        return total

    def solved(
        self,
        rows: Mapping[int, Mapping[int, Fraction]],
        constants: Mapping[int, Fraction],
        order: Sequence[int],
    ) -> dict[int, Fraction]:
        """x = constant + P x, by elimination; `TooLong` where x has no only value."""
        left: dict[int, dict[int, Fraction]] = {}
        right: dict[int, Fraction] = {}
        for at, i in enumerate(order):
            row, constant = dict(rows[i]), constants[i]
            self.work -= at // 16
            for k in order[:at]:
                factor = row.pop(k, None)
                if factor is None:
                    continue
                for j, p in left[k].items():
                    self.spend(p)
                    row[j] = row.get(j, Fraction(0)) + factor * p
                constant += factor * right[k]
            stays = row.pop(i, Fraction(0))
            if stays == 1:
                raise TooLong
            left[i] = {j: p / (1 - stays) for j, p in row.items()}
            right[i] = constant / (1 - stays)
        found: dict[int, Fraction] = {}
        for i in reversed(order):
            found[i] = right[i] + self.mean(left[i], found)
        return found

    def spend(self, number: Fraction) -> None:
        """A multiplication. **Raises:** `TooLong` as soon as all is spent."""
        self.work -= 1 + (number.denominator.bit_length() // 128) ** 2
        if self.work < 0:
            raise TooLong
