"""An inductive invariant of a family for all sizes: bounds of single neurons, and sums over all.

A step is looked at from one neuron of each kind, with those that it receives from. What is known of
all other neurons is only that their part of a sum is not negative. The size n is a variable of the
solver. So everything that is found unsatisfiable is so for every size.
"""

import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

from ...spiking.model.rule import Rule
from ...spiking.model.system import Neuron, SpikingSystem
from ..certificate.conditions import Logic, truth_of
from ..certificate.step_formulas import SystemStepFormulas, Term, Values
from ..query.formula import Formula, Observed, Variable
from ..satisfiability import is_satisfiable
from .family import Family, Group, Wiring


_SEED = 0
_BOUNDS = 5  # bounds 0 to 4 of single neurons are tried, and the initial spikes

#: A number for a size, or for the size as a variable of the solver.
OfSize: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True)
class SpikeBound:
    """In every neuron of a group are at most `most` spikes."""

    group: str
    most: int

    def __str__(self) -> str:
        return f"{self.group} <= {self.most} for all"

    def text(self, family: Family, size: int) -> str:
        """As a condition of the system of a size."""
        names = family.group(self.group).names(size)
        return " and ".join(f"{name} <= {self.most}" for name in names)


@dataclass(frozen=True)
class WeightedTotal:
    """The sum of the weighted spikes of all neurons, with those that are pending counted where they
    arrive, is the initial one, or at most that."""

    weights: tuple[tuple[str, int], ...]
    is_equal: bool

    def __str__(self) -> str:
        parts = [f"{x} * {name}" if x > 1 else name for name, x in self.weights if x]
        relation = "stays the same" if self.is_equal else "does not grow"
        return f"the sum of {' + '.join(parts)}, with pending spikes, {relation}"

    def text(self, family: Family, size: int) -> str:
        """As a condition of the system of a size."""
        weights, parts = dict(self.weights), []
        for group in family.groups:
            sent = sent_weight(family, weights, group)(size)
            for name in group.names(size):
                own = {name: weights[group.name]}
                own |= {f"pending({name})": sent} if group.closes else {}
                parts += [f"{x} * {what}" for what, x in own.items() if x]
        total = initial_total(family, weights)(size)
        return f"{' + '.join(parts)} {'=' if self.is_equal else '<='} {total}"


Fact: TypeAlias = SpikeBound | WeightedTotal


def initial_total(family: Family, weights: Mapping[str, int]) -> OfSize:
    def total(size: Any) -> Any:
        found = 0
        for group in family.groups:
            rest = 0 if group.single else group.spikes * (size - 1)
            found = found + weights[group.name] * (group.leader + rest)
        return found

    return total


def sent_weight(family: Family, weights: Mapping[str, int], group: Group) -> OfSize:
    """What a spike that a neuron emits weighs where it arrives, if nothing is lost; a neuron at the
    end of a `"next"` link is counted as one in the middle."""

    def sent(size: Any) -> Any:
        found = 0
        for link in family.links:
            if link.source == group.name:
                others = size - (link.target == link.source) if _fans(family, link) else 1
                found = found + link.weight * weights[link.target] * others
        return found

    return sent


def _fans(family: Family, link: Wiring) -> bool:
    """Whether a neuron sends to a number of neurons that grows with n."""
    return link.shape == "all" and not family.group(link.target).single


class _Member:
    """One neuron of a group: any, before and after a step."""

    def __init__(self, z3: ModuleType, group: Group, number: int) -> None:
        self.group = group
        neuron = Neuron(f"{group.name} {number}", 0, group.rules)
        self.steps = SystemStepFormulas(z3, SpikingSystem([neuron]), counts_steps=False)
        self.now: Values = self.steps.configuration()
        kinds = (Observed.SPIKES, Observed.TIMER, Observed.PENDING)
        self.spikes, self.timer, self.pending = (
            self.now[Variable(kind, neuron.name)] for kind in kinds
        )
        results = ("left", "then timer", "emission", "then pending")
        self.left, self.then_timer, self.emission, self.then_pending = (
            z3.Int(f"{what} {neuron.name}") for what in results
        )
        found = self.left, self.then_timer, self.emission, self.then_pending
        self.moves = z3.Or(
            [
                z3.And(condition, *(x == y for x, y in zip(found, result, strict=True)))
                for condition, result in self.steps.cases(neuron, self.now)
            ]
        )

    def value(self, observed: Observed) -> Term:
        """A number before the step."""
        match observed:
            case Observed.SPIKES:
                return self.spikes
            case Observed.TIMER:
                return self.timer
        return self.pending


class AllSizes:
    """The search for an invariant, and the check that it is one.

    - `end`: the time of `time.monotonic` at which to give up.
    """

    def __init__(self, z3: ModuleType, family: Family, end: float) -> None:
        self.z3, self.family, self.end = z3, family, end
        self.size = z3.Int("n")
        self._number = itertools.count()

    def invariant(self, claim: Formula) -> list[Fact] | None:
        """Facts that together are inductive for all sizes and imply a condition, or `None`.

        Names in the condition are those of single neurons, or of a group with anything in braces
        behind it, for different neurons; `{n}` is the size.
        """
        facts = self._kept(list(self._candidates()))
        if not self._implies(facts, claim):
            return None
        for fact in list(facts):  # fewer are easier to read
            fewer = [x for x in facts if x is not fact]
            if self._kept(fewer) == fewer and self._implies(fewer, claim):
                facts = fewer
        return facts

    def _candidates(self) -> Iterator[Fact]:
        """What holds initially, in every size."""
        groups = self.family.groups
        for group in groups:
            least = max(group.spikes, group.leader)
            for most in sorted({*range(_BOUNDS), least}):
                if most >= least:
                    yield SpikeBound(group.name, most)
        largest = 2 if len(groups) <= 4 else 1
        for weights in itertools.product(range(largest + 1), repeat=len(groups)):
            if math.gcd(*weights) == 1:
                names = [group.name for group in groups]
                for is_equal in (True, False):
                    fact = WeightedTotal(tuple(zip(names, weights, strict=True)), is_equal)
                    if self._is_linear(fact):
                        yield fact

    def _is_linear(self, fact: WeightedTotal) -> bool:
        """Whether no number of pending spikes is multiplied by n."""
        return not any(
            _fans(self.family, link)
            and self.family.group(link.source).closes
            and dict(fact.weights)[link.target]
            for link in self.family.links
        )

    def _kept(self, facts: list[Fact]) -> list[Fact]:
        """The facts that every step keeps, if all of these hold before it."""
        while True:
            kept = [fact for fact in facts if self._is_kept(fact, facts)]
            if len(kept) == len(facts):
                return kept
            facts = kept

    def _is_kept(self, fact: Fact, facts: Sequence[Fact]) -> bool:
        if isinstance(fact, SpikeBound):
            return self._bound_is_kept(fact, facts)
        return all(self._total_is_kept(fact, group, facts) for group in self.family.groups)

    def _bound_is_kept(self, fact: SpikeBound, facts: Sequence[Fact]) -> bool:
        z3 = self.z3
        one = self._member(fact.group)
        view, arrives, totals = [one], [], []
        for link in self.family.links:
            if link.target != fact.group:
                continue
            source = self.family.group(link.source)
            if link.shape == "all" and not source.single:
                total = z3.Int(f"emissions of {source.name} {next(self._number)}")
                totals.append((source, total))
                arrives.append(link.weight * total)
            else:
                other = self._member(source.name)
                view.append(other)
                # The first neuron of "next" has none before it.
                exists = z3.Bool(f"before {next(self._number)}") if link.shape == "next" else True
                arrives.append(link.weight * z3.If(exists, other.emission, 0))
        then = one.left + z3.If(one.then_timer == 0, z3.Sum([z3.IntVal(0), *arrives]), 0)
        known = [*self._known(view, facts, totals), *(member.moves for member in view)]
        return self._is_impossible([*known, then > fact.most])

    def _total_is_kept(self, fact: WeightedTotal, group: Group, facts: Sequence[Fact]) -> bool:
        """By any neuron of a group: what it consumes weighs as much as what it sends, or more.
        While it is closed nothing changes, as pending spikes weigh what they do on arrival."""
        weights, one = dict(fact.weights), self._member(group.name)
        sent = sent_weight(self.family, weights, group)(self.size)
        known = self._known([one], facts)
        for rule in group.own_rules:
            change = sent * rule.produce - weights[group.name] * rule.consume
            wrong = change != 0 if fact.is_equal else change > 0
            applies = self._applies(one, rule)
            if not self._is_impossible([*known, applies, wrong]):
                return False
        if not fact.is_equal:
            return True  # what is lost makes the sum smaller
        for link in self.family.links:
            if link.source != group.name or not weights[link.target]:
                continue
            if link.shape == "next":  # the last one has nobody to send to
                if not self._is_impossible([*known, one.moves, one.emission > 0]):
                    return False
            elif self.family.group(link.target).closes:
                other = self._member(link.target)
                both = self._known([one, other], facts)
                lost = [one.moves, other.moves, one.emission > 0, other.then_timer > 0]
                if not self._is_impossible([*both, *lost]):
                    return False
        return True

    def _applies(self, one: _Member, rule: Rule) -> Term:
        (neuron,) = one.steps.system.neurons
        found = [term for own, term in one.steps.applicable(neuron, one.now) if own is rule]
        return self.z3.And(one.timer == 0, self.z3.Or(found))

    def _implies(self, facts: Sequence[Fact], claim: Formula) -> bool:
        members: dict[str, _Member] = {}

        def value(variable: Variable) -> Term:
            if variable.neuron == "{n}":
                return self.size
            if variable.neuron not in members:
                members[variable.neuron] = self._member(re.sub(r"\{.*", "", variable.neuron))
            return members[variable.neuron].value(variable.observed)

        logic = Logic(self.z3.And, self.z3.Or, self.z3.Not)
        wrong = logic.negate(truth_of(claim, value, logic))
        return self._is_impossible([*self._known(list(members.values()), facts), wrong])

    # ---- what is known ----

    def _member(self, group: str) -> _Member:
        return _Member(self.z3, self.family.group(group), next(self._number))

    def _known(
        self,
        view: Sequence[_Member],
        facts: Sequence[Fact],
        totals: Sequence[tuple[Group, Term]] = (),
    ) -> list[Term]:
        """What facts say of some different neurons, and of the sums of what all others of a group
        emit."""
        found = [self.size >= 2, *(total >= 0 for _, total in totals)]
        found += [total == 0 for group, total in totals if self._is_silent(group, facts)]
        for group in self.family.groups:
            if not group.single:
                found.append(self.size >= sum(member.group is group for member in view))
        for member in view:
            found += member.steps.in_range(member.now)
        for fact in facts:
            if isinstance(fact, SpikeBound):
                own = (member for member in view if member.group.name == fact.group)
                found += [member.spikes <= fact.most for member in own]
                continue
            parts = [self._part(fact, member) for member in view]
            parts += [total for group, total in totals if self._pays(fact, group, facts)]
            most = initial_total(self.family, dict(fact.weights))(self.size)
            found.append(self.z3.Sum([self.z3.IntVal(0), *parts]) <= most)
        return found

    def _part(self, fact: WeightedTotal, member: _Member) -> Term:
        """What a neuron adds to a sum; it is never negative."""
        weights = dict(fact.weights)
        own = weights[member.group.name] * member.spikes
        if not member.group.closes:
            return own
        return own + sent_weight(self.family, weights, member.group)(self.size) * member.pending

    def _is_silent(self, group: Group, facts: Sequence[Fact]) -> bool:
        """Whether no neuron of a group emits."""
        one = self._member(group.name)
        local = [x for x in facts if isinstance(x, SpikeBound)]
        return self._is_impossible([*self._known([one], local), one.moves, one.emission > 0])

    def _pays(self, fact: WeightedTotal, group: Group, facts: Sequence[Fact]) -> bool:
        """Whether no neuron of a group emits more spikes than it adds to a sum."""
        one = self._member(group.name)
        local = [x for x in facts if isinstance(x, SpikeBound)]
        wrong = [one.moves, one.emission > self._part(fact, one)]
        return self._is_impossible([*self._known([one], local), *wrong])

    def _is_impossible(self, terms: Sequence[Term]) -> bool:
        """Whether no size has neurons of which all of this is true; if in doubt, not."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        solver = self.z3.Solver()
        solver.set("random_seed", _SEED)
        solver.add(list(terms))
        return is_satisfiable(solver, left) is False
