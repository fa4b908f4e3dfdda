"""Populations and projections from families of labels."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from ...spiking.model.guard import Guard
from ...spiking.model.guard_syntax import GUARD_LIMIT
from ...spiking.model.population import PopulationSystem
from ...spiking.model.population_parts import Population, Projection
from ...spiking.model.rule_table import ALL, UNBOUNDED
from ...spiking.model.template import PerNeuron, RuleTemplate
from ...spiking.model.validity import InvalidSystem
from ..source import guard_or_error
from .families import FamilyDraft, Irregular, LabelFamily, RuleFamily, one_label
from .projections import graph_of


MAX_POPULATIONS = 1_000
MAX_TERMS = 64  # of all rules of a neuron
_LIMIT = 2**62


def system_of(
    families: FamilyDraft, input: "tuple[str, tuple[int, ...]] | None"
) -> PopulationSystem:
    """The system of populations that a file describes.

    The neurons of one name are a population, which stands where its first neuron is created.

    **Raises:** `Irregular` if there is none, or the file has a mistake or gives a warning.
    """
    built = _System(families)
    populations = [
        Population(
            name,
            place.size,
            _shared(built.spikes[name]),
            _templates([rule for rule in families.rules if rule.labels.name == name], place),
            place.indices,
        )
        for name, place in built.places.items()
    ]
    try:
        return PopulationSystem(
            populations,
            built.projections(),
            input={} if input is None else {built.input_name(input[0]): np.asarray(input[1], int)},
            output=built.outputs(),
        )
    except (InvalidSystem, OverflowError):
        raise Irregular from None


class _System:
    def __init__(self, families: FamilyDraft):
        self.families = families
        self.places: dict[str, _Places] = {}
        rows: dict[str, list[np.ndarray]] = {}
        for labels in families.neurons:
            rows.setdefault(labels.name, []).append(labels.indices)
        if len(rows) > MAX_POPULATIONS:
            raise Irregular
        for name, its_rows in rows.items():
            if len({part.shape[1] for part in its_rows}) > 1:
                raise Irregular
            self.places[name] = _Places(np.concatenate(its_rows))
        for rule in families.rules:
            if rule.labels.name not in self.places:
                raise Irregular
        self.spikes = {name: np.zeros(p.size, np.int64) for name, p in self.places.items()}
        for contents in families.contents:
            where, spikes = self.find(contents.labels), self.spikes[contents.labels.name]
            if contents.adds:
                most = float(spikes.max(initial=0)) + contents.spikes.sum(dtype=float)
                if most >= _LIMIT:
                    raise Irregular
                np.add.at(spikes, where, contents.spikes)
            else:
                spikes[where] = contents.spikes  # of several for one neuron, the last stays

    def find(self, labels: LabelFamily) -> Int[np.ndarray, " instances"]:
        """The numbers of neurons in their population."""
        place = self.places.get(labels.name)
        if place is None:
            raise Irregular
        return place.find(labels.indices)

    def projections(self) -> list[Projection]:
        pairs: dict[tuple[str, str], list[tuple[np.ndarray, np.ndarray]]] = {}
        for source, target in self.families.arcs:
            key = source.name, target.name
            found = self.find(source).astype(np.int32), self.find(target).astype(np.int32)
            pairs.setdefault(key, []).append(found)
        if len(pairs) > MAX_POPULATIONS:
            raise Irregular
        return [
            Projection(
                source,
                target,
                graph_of(
                    np.concatenate([s for s, _ in parts]),
                    np.concatenate([t for _, t in parts]),
                    self.places[source].size,
                    self.places[target].size,
                ),
            )
            for (source, target), parts in pairs.items()
        ]

    def outputs(self) -> list[str]:
        """Whole populations, or single neurons; each once."""
        given: dict[str, list[np.ndarray]] = {}
        names: dict[str, None] = {}
        for labels in self.families.outputs:
            found, place = self.find(labels), self.places[labels.name]
            given.setdefault(labels.name, []).append(found)
            if len(found) == place.size and np.array_equal(found, np.arange(place.size)):
                names[labels.name] = None
                continue
            if len(found) > MAX_POPULATIONS:
                raise Irregular
            names |= dict.fromkeys(place.name_of(labels.name, number) for number in found)
        for name, parts in given.items():
            if name in names and len(parts) > 1:
                raise Irregular  # some of its neurons are named besides
        return list(names)

    def input_name(self, label: str) -> str:
        labels = one_label(label)
        (number,) = self.find(labels)
        return self.places[labels.name].name_of(labels.name, number)


class _Places:
    """Where the neurons of one name stand in their population, by their indices."""

    def __init__(self, indices: Int[np.ndarray, "neurons axes"]):
        self.indices = indices
        self.size = len(indices)
        if self.size == 0:
            self.low = self.spans = np.zeros(indices.shape[1], np.int64)
        else:
            self.low = indices.min(axis=0)
            self.spans = indices.max(axis=0) - self.low + 1
        if np.prod(self.spans.astype(float)) >= _LIMIT:
            raise Irregular
        keys = self._keys(indices)
        self._is_run = self.size > 0 and bool(np.all(keys == np.arange(self.size)))
        if not self._is_run:
            self._order = np.argsort(keys, kind="stable")
            self._keys_sorted = keys[self._order]
            if np.any(self._keys_sorted[1:] == self._keys_sorted[:-1]):
                raise Irregular  # a repeated label

    def _keys(self, indices: np.ndarray) -> np.ndarray:
        keys = np.zeros(len(indices), np.int64)
        for axis, (low, span) in enumerate(zip(self.low, self.spans, strict=True)):
            keys = keys * span + (indices[:, axis] - low)
        return keys

    def find(self, indices: Int[np.ndarray, "instances axes"]) -> Int[np.ndarray, " instances"]:
        if indices.shape[1] != len(self.low):
            raise Irregular
        if len(indices) == 0:
            return np.zeros(0, np.int64)
        if np.any(indices.min(axis=0) < self.low) or np.any(
            indices.max(axis=0) >= self.low + self.spans
        ):
            raise Irregular
        keys = self._keys(indices)
        if self._is_run:
            return keys
        place = np.minimum(np.searchsorted(self._keys_sorted, keys), self.size - 1)
        if np.any(self._keys_sorted[place] != keys):
            raise Irregular
        return self._order[place]

    def name_of(self, name: str, number: int) -> str:
        row = self.indices[number]
        return f"{name}{{{','.join(map(str, row))}}}" if len(row) else name


def _shared(values: np.ndarray) -> PerNeuron:
    """One number where all are the same."""
    return int(values[0]) if len(values) and np.all(values == values[0]) else values


# Rules


def _templates(families: Sequence[RuleFamily], place: _Places) -> list[RuleTemplate]:
    merged: dict[tuple[int, str | None], list[RuleFamily]] = {}
    are_few = len(families) <= MAX_TERMS
    for family in families:
        # Runs of one statement, for one neuron or layer each, are one rule where they are many.
        key = family.number if are_few else family.statement
        merged.setdefault((key, family.guard), []).append(family)
    templates: list[RuleTemplate] = []
    last = np.zeros(place.size, np.int64)
    for (_, guard), runs in merged.items():
        rules = _Rules(guard, runs, place)
        rules.check_order(last)
        templates += rules.templates()
        # Rules and terms are compared with each other when the system is checked.
        if sum(len(template.terms()) for template in templates) > MAX_TERMS:
            raise Irregular
    return templates


class _Rules:
    """The rules of one statement in one population, each neuron's in order."""

    def __init__(self, guard: str | None, runs: Sequence[RuleFamily], place: _Places):
        self.size = place.size
        self.guard = _guard(guard)
        where = np.concatenate([place.find(run.labels.indices) for run in runs])
        columns = [
            np.concatenate([getattr(run, name) for run in runs])
            for name in ("consume", "produce", "delay")
        ]
        number = np.repeat([run.number for run in runs], [len(run.consume) for run in runs])
        if not np.all(where[1:] > where[:-1]):
            order = np.argsort(where, kind="stable")
            where, number = where[order], number[order]
            columns = [column[order] for column in columns]
        self.where, self.number = where, number
        self.consume, self.produce, self.delay = columns
        is_first = np.concatenate([[True], where[1:] != where[:-1]])
        self.first = np.flatnonzero(is_first)
        self.rank = np.arange(len(where)) - np.repeat(
            self.first, np.diff(np.append(self.first, len(where)))
        )
        self._check()

    def _check(self) -> None:
        """What makes a rule wrong, or gives a warning."""
        consume, produce, delay = self.consume, self.produce, self.delay
        if consume.min() < 1 or delay.max() >= 2**31 - 2:
            raise Irregular
        if np.any((produce == 0) & (delay > 0)):
            raise Irregular
        most = int(consume.max())
        if self.guard is None:
            if most + 2 > GUARD_LIMIT:
                raise Irregular
        elif self.guard.is_finite and self.guard.tail <= most:
            raise Irregular  # it can never apply

    def check_order(self, last: Int[np.ndarray, " neurons"]) -> None:
        """Refuse where merging the runs of a statement would change the order of a neuron's rules;
        `last` is the number of each neuron's latest rule before."""
        if np.any(self.number[self.first] <= last[self.where[self.first]]) or np.any(
            (self.rank > 0) & (self.number != np.roll(self.number, 1))
        ):
            raise Irregular
        last[self.where] = self.number

    def templates(self) -> list[RuleTemplate]:
        num_ranks = int(self.rank.max()) + 1
        if num_ranks == 1:
            return [self._template(np.ones(len(self.where), bool))]
        if self.guard is None and not self.produce.any():
            return [self._consume_all()]
        if num_ranks > MAX_TERMS:
            raise Irregular
        return [self._template(self.rank == rank) for rank in range(num_ranks)]

    def _template(self, chosen: Bool[np.ndarray, " rules"]) -> RuleTemplate:
        where = self.where[chosen]
        consume, produce, delay = (
            self._column(where, column[chosen])
            for column in (self.consume, self.produce, self.delay)
        )
        if len(where) == self.size:
            return RuleTemplate(self.guard, consume, produce, delay)
        has = np.zeros(self.size, bool)
        has[where] = True
        if not isinstance(delay, int):  # where there is no rule a delay would be one too many
            delay = np.where(has, delay, 0)
        terms = [(consume, consume, 1)] if self.guard is None else self.guard.terms()
        return RuleTemplate(
            [
                (
                    np.where(has, low, 1),
                    np.where(has, UNBOUNDED if high is None else high, 0),
                    period,
                )
                for low, high, period in terms
            ],
            consume,
            produce,
            delay,
        )

    def _column(self, where: np.ndarray, values: np.ndarray) -> PerNeuron:
        """One number a neuron, 1 where there is no rule, or one for all of them."""
        if np.all(values == values[0]):
            return int(values[0])
        column = np.ones(self.size, np.int64)
        column[where] = values
        return column

    def _consume_all(self) -> RuleTemplate:
        """A family of forgetting rules as one, its counts as runs with one stride."""
        order = np.lexsort((self.consume, self.where))
        where, counts = self.where[order], self.consume[order]
        same = where[1:] == where[:-1]
        steps = np.diff(counts)
        if np.any(same & (steps == 0)):
            raise Irregular  # a repeated rule
        stride = int(np.gcd.reduce(steps[same]))
        starts = np.flatnonzero(np.concatenate([[True], ~same | (steps != stride)]))
        ends = np.append(starts[1:], len(where)) - 1
        owner = where[starts]
        first_run = np.searchsorted(owner, owner)
        rank = np.arange(len(owner)) - first_run
        num_terms = int(rank.max()) + 1
        if num_terms > MAX_TERMS:
            raise Irregular
        terms = []
        for nth in range(num_terms):
            low, high = np.ones(self.size, np.int64), np.zeros(self.size, np.int64)
            low[owner[rank == nth]] = counts[starts[rank == nth]]
            high[owner[rank == nth]] = counts[ends[rank == nth]]
            terms.append((_shared(low), _shared(high), stride))
        return RuleTemplate(terms, ALL)


def _guard(text: str | None) -> Guard | None:
    if text is None:
        return None
    guard = guard_or_error(text)
    if not isinstance(guard, Guard):
        raise Irregular
    return guard
