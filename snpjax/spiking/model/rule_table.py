"""Rules as slots: what a neuron may do at which spike counts, in columns by type of neuron."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Int

from ...choice import NO_RULE
from .compatibility import TEXTBOOK, Compatibility
from .guard import Guard, Term
from .rule import AnyRule, PlasticityRule, RequestRule, Rule


if TYPE_CHECKING:
    from .system import Neuron


#: The consumption of a consume-all rule: all spikes that are there.
ALL = -1

#: The upper end of a term without end.
UNBOUNDED = int(np.iinfo(np.int64).max)


class Slot(NamedTuple):
    """One term of one rule, for k spikes with low <= k <= high and (k - low) % period == 0.

    `number` is the rule, counted within the neuron; for a consume-all family its first member.
    Without `low`, which only rules of anti-spikes lack, periods are counted from `high`.
    """

    low: int | None
    high: int | None
    period: int
    consume: int
    produce: int
    delay: int
    number: int


@dataclass(frozen=True, eq=False)
class RuleFamilies:
    """The members of the consume-all families of all types, to report them by their own numbers.

    Axes: `families`, and `members` of all families. Keys are `type * width + x` for a family's
    number or a member's count x, ascending.
    """

    family_keys: Int[np.ndarray, " families"]
    member_keys: Int[np.ndarray, " members"]
    member_numbers: Int[np.ndarray, " members"]
    width: int


@dataclass(frozen=True, eq=False)
class SlotTable:
    """The rules of all neurons as slots; neurons with equal rules share a column.

    Axes: `slots`, in order of declaration, where a rule whose guard has several terms takes several
    slots of which at most one applies; `types`; `neurons`. Empty slots have low > high; a low of
    -`UNBOUNDED` has no end, see `low_for`. `consume` is `ALL` in a consume-all slot. `largest`
    bounds the absolute value of every constant, also of those too large for 64 bits. `kept[r, t]`
    is the rule that counts in place of rule r, which may repeat it; `None` where no rule repeats
    another.
    """

    low: Int[np.ndarray, "slots types"]
    high: Int[np.ndarray, "slots types"]
    period: Int[np.ndarray, "slots types"]
    consume: Int[np.ndarray, "slots types"]
    produce: Int[np.ndarray, "slots types"]
    delay: Int[np.ndarray, "slots types"]
    number: Int[np.ndarray, "slots types"]
    type_of: Int[np.ndarray, " neurons"]
    families: RuleFamilies | None
    largest: int
    kept: Int[np.ndarray, "slots types"] | None = None

    @property
    def num_slots(self) -> int:
        return self.low.shape[0]

    @property
    def num_types(self) -> int:
        return self.low.shape[1]

    @property
    def num_rules(self) -> int:
        """The most rules of any type."""
        if self.kept is not None:
            return len(self.kept)
        return int(np.max(self.number[self.low <= self.high], initial=-1)) + 1

    def largest_production(self) -> Int[np.ndarray, " neurons"]:
        """The most spikes, or anti-spikes, that each neuron can emit by one rule."""
        return np.abs(self.produce).max(axis=0, initial=0)[self.type_of]

    def low_for(self, dtype: np.dtype) -> Int[np.ndarray, "slots types"]:
        """`low` for counts of a type: without end, the least one that the period allows."""
        least = int(np.iinfo(dtype).min)
        # Where there is no end, high is negative, and the difference no overflow.
        aligned = least + (np.minimum(self.high, -1) - least) % self.period
        return np.where(self.low == -UNBOUNDED, aligned, self.low)

    def members(
        self,
        rules: Int[np.ndarray, "steps neurons *paths"],
        consumed: Int[np.ndarray, "steps neurons *paths"],
    ) -> Int[np.ndarray, "steps neurons *paths"]:
        """Selected rules with every family replaced by the member that consumed that many."""
        if self.families is None:
            return rules
        families = self.families
        types = np.unique(families.family_keys // families.width)
        has_family = np.flatnonzero(np.isin(self.type_of, types))
        base = self.type_of[has_family] * families.width
        base = base.reshape(-1, *[1] * (rules.ndim - 2))
        numbered = rules.copy()
        for step in range(len(rules)):  # step by step: a history may fill the memory
            own = rules[step, has_family]
            is_family = (own != NO_RULE) & np.isin(base + own, families.family_keys)
            key = np.where(is_family, base + consumed[step, has_family], 0)
            place = np.searchsorted(families.member_keys, key)
            place = np.minimum(place, len(families.member_keys) - 1)
            numbered[step, has_family] = np.where(is_family, families.member_numbers[place], own)
        return numbered


def slots_of_neurons(
    neurons: "Sequence[Neuron]", *, faithful: bool, compatibility: Compatibility = TEXTBOOK
) -> SlotTable:
    """The slots of neurons whose rules are given one by one, rewritten according to
    `compatibility`.

    Unless `faithful`, forgetting rules `a^s -> lambda` of one neuron become one consume-all rule
    whose guard holds every s. At each count at most one member applies, so choices, probabilities
    and random paths stay what they were.
    """
    types: dict[tuple[Any, ...], int] = {}
    known: dict[int, int] = {}  # by identity: hashing long lists of rules again would take long
    type_of = np.zeros(len(neurons), np.int64)
    builder = _Builder(compatibility)
    for index, neuron in enumerate(neurons):
        rules = neuron.rules
        if id(rules) not in known:
            number = known[id(rules)] = types.setdefault(_slot_key(rules), len(types))
            if number == len(builder.slots):
                builder.add(rules, faithful)
        type_of[index] = known[id(rules)]
    return builder.table(type_of)


def _slot_key(rules: tuple[AnyRule | str, ...]) -> tuple[Any, ...]:
    """What the slots of a neuron depend on. That is not how plasticity changes its synapses, unless
    some of its rules repeat others."""
    num_plastic = sum(isinstance(rule, PlasticityRule) for rule in rules)
    if num_plastic == 0 or (num_plastic > 1 and len(set(rules)) < len(rules)):
        return rules
    return tuple((r.guard, r.consume) if isinstance(r, PlasticityRule) else r for r in rules)


def table_of_slots(slots: list[list[Slot]], type_of: Int[np.ndarray, " neurons"]) -> SlotTable:
    """The table of types whose slots are given."""
    builder = _Builder(TEXTBOOK)
    builder.slots = slots
    return builder.table(type_of)


class _Builder:
    """Collects the slots of each type, then makes columns of them."""

    def __init__(self, compatibility: Compatibility) -> None:
        self.compatibility = compatibility
        self._terms_of: dict[tuple[Guard, int], tuple[tuple[int, int | None, int], ...]] = {}
        self.slots: list[list[Slot]] = []
        self.members: list[tuple[int, int, int]] = []  # type, count, number
        self.families: list[tuple[int, int]] = []  # type, number of the first member
        self.repeated: list[tuple[int, list[int]]] = []  # type, the rule that is kept of each

    def add(self, rules: tuple[AnyRule | str, ...], faithful: bool) -> None:
        type_index = len(self.slots)
        slots: list[Slot] = []
        first: dict[AnyRule, int] = {}
        kept = [first.setdefault(_parsed(rule), number) for number, rule in enumerate(rules)]
        if len(first) < len(kept):
            self.repeated.append((type_index, kept))
        distinct = [(number, rule) for rule, number in first.items()]
        groups = [[x] for x in distinct] if faithful else _families(distinct, self.compatibility)
        for group in groups:
            number, rule = group[0]
            if len(group) == 1:
                slots += [_slot(term, rule, number) for term in self._terms(rule)]
                continue
            self.families.append((type_index, number))
            consumed = {n: member.consume for n, member in group if isinstance(member, Rule)}
            self.members += [(type_index, count, n) for n, count in consumed.items()]
            guard = Guard.from_lengths(consumed.values())
            slots += [Slot(*term, ALL, 0, 0, number) for term in guard.terms(1)]
        self.slots.append(slots)

    def _terms(self, rule: AnyRule) -> tuple[tuple[int, int | None, int], ...]:
        """Where a rule applies; the terms of a long guard are sought once."""
        key = (rule.guard, _effect(rule)[0])
        if key not in self._terms_of:
            guard, least = _counts(rule, self.compatibility)
            self._terms_of[key] = guard.terms(least)
        return self._terms_of[key]

    def table(self, type_of: Int[np.ndarray, " neurons"]) -> SlotTable:
        counts = np.asarray([len(slots) for slots in self.slots], np.int64)
        num_repeated = max((len(kept) for _, kept in self.repeated), default=0)
        shape = (max(int(counts.max(initial=0)), num_repeated), len(counts))
        owner = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        flat = [slot for slots in self.slots for slot in slots]
        columns = list(zip(*flat, strict=True)) or [()] * len(Slot._fields)
        finite = [[end for end in ends if end is not None] for ends in columns[:2]]
        finite += columns[2:6]
        for end, empty in enumerate((-UNBOUNDED, UNBOUNDED)):
            columns[end] = tuple(empty if x is None else x for x in columns[end])

        def dense(values: Iterable[int], empty: int) -> np.ndarray:
            table = np.full(shape, empty, np.int64)
            table[place, owner] = as_int64(values)
            return table

        return SlotTable(
            *(dense(values, empty) for values, empty in zip(columns, EMPTY, strict=True)),
            type_of=type_of,
            families=self._families(),
            largest=max((max(map(abs, values), default=0) for values in finite), default=0),
            kept=self._kept(shape),
        )

    def _kept(self, shape: tuple[int, int]) -> Int[np.ndarray, "slots types"] | None:
        if not self.repeated:
            return None
        table = np.repeat(np.arange(shape[0])[:, None], shape[1], axis=1)
        for type_index, kept in self.repeated:
            table[: len(kept), type_index] = kept
        return table

    def _families(self) -> RuleFamilies | None:
        if not self.families:
            return None
        types, counts, numbers = np.asarray(self.members, np.int64).T
        # More than any count or number of any type, or keys of two types would meet.
        width = 1 + max(
            int(counts.max()), max(slot.number for slots in self.slots for slot in slots)
        )
        order = np.argsort(types * width + counts)
        return RuleFamilies(
            np.asarray([t * width + n for t, n in self.families], np.int64),
            (types * width + counts)[order],
            numbers[order],
            width,
        )


def _parsed(rule: AnyRule | str) -> AnyRule:
    assert not isinstance(rule, str)  # a neuron parses its rules
    return rule


def _effect(rule: AnyRule) -> tuple[int, int, int]:
    """What a rule consumes, and produces with which delay. Division and budding empty the neuron;
    what else they and plasticity do is not an effect of a slot."""
    if isinstance(rule, Rule):
        return rule.consume, rule.produce, rule.delay
    if isinstance(rule, RequestRule):
        return 0, 0, 0
    return rule.consume if isinstance(rule, PlasticityRule) else ALL, 0, 0


def _slot(term: Term, rule: AnyRule, number: int) -> Slot:
    """A term of a rule; one of the numbers of anti-spikes is turned around."""
    consume, produce, delay = _effect(rule)
    if not isinstance(rule, Rule) or rule.sign > 0:
        return Slot(*term, consume, produce, delay, number)
    low, high, period = term
    least = None if high is None else -(high - (high - low) % period)
    return Slot(least, -low, period, -consume, produce, delay, number)


def _counts(rule: AnyRule, compatibility: Compatibility) -> tuple[Guard, int]:
    """The guard of a rule, and the least count at which it may apply."""
    if compatibility is TEXTBOOK and isinstance(rule, Rule):
        return rule.guard, rule.consume
    return compatibility.counts(rule)


#: What an empty slot holds, in the order of `Slot`.
EMPTY = (1, 0, 1, 0, 0, 0, 0)


def _families(
    rules: list[tuple[int, AnyRule]], compatibility: Compatibility
) -> list[list[tuple[int, AnyRule]]]:
    """Groups of rules in order: the members of a consume-all family, or one rule.

    A member joins the last family if no other rule that was declared since that family began
    applies at its count; so the first applicable rule, and the order among applicable ones, stay
    what they were.
    """

    is_textbook = compatibility is TEXTBOOK

    def is_member(rule: AnyRule) -> bool:
        # Both as written, so that no two members have one count, and as rewritten.
        return (
            isinstance(rule, Rule)
            and rule.produce == 0
            and rule.delay == 0
            and rule.guard.is_exactly(rule.consume)
            and (is_textbook or compatibility.counts(rule)[0].is_exactly(rule.consume))
        )

    def applies(rule: AnyRule, count: int) -> bool:
        guard, least = _counts(rule, compatibility)
        return least <= count and count in guard

    groups: list[list[tuple[int, AnyRule]]] = []
    family: list[tuple[int, AnyRule]] | None = None
    since: list[AnyRule] = []
    for number, rule in rules:
        if not is_member(rule):
            since.append(rule)
            groups.append([(number, rule)])
            continue
        assert isinstance(rule, Rule)
        if family is None or any(applies(other, rule.consume) for other in since):
            family, since = [], []
            groups.append(family)
        family.append((number, rule))
    return groups


def as_int64(values: Iterable[int]) -> Int[np.ndarray, " values"]:
    """An array of 64 bits; what does not fit is cut, for the caller knows the largest value."""
    values = list(values)
    try:
        return np.asarray(values, np.int64)
    except OverflowError:
        limit = np.iinfo(np.int64)
        return np.asarray([min(max(v, limit.min), limit.max) for v in values], np.int64)
