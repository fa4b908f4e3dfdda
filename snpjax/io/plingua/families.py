"""Statements of P-Lingua as arrays: what a family of neurons, synapses or rules holds, without a
Python object for any one of them.

What 64 bits cannot hold, what is not an integer and what is an error is `Irregular`, and left to
those who run the instances one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from ..source import Mistake
from . import tree
from .expression import ARRAY_LIMIT, Expression, FollowUp, Scope, most_of
from .ranges import MAX_AT_ONCE, MAX_INSTANCES


MAX_LOOPS = 10_000  # of blocks and calls under ranges, which are run one by one
MAX_LITERALS = 1_000  # a file of single neurons is not a file of families
MAX_STATEMENTS = 20_000  # run, each over all its instances at once


class Irregular(Exception):
    """What cannot be read as families; the scalar path reads it, or tells what is wrong."""


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of a statement in order; in `scope` its range variables are arrays."""

    count: int
    scope: Scope

    def integers(
        self, expression: Expression | None, least: int | None = 0
    ) -> Int[np.ndarray, " instances"]:
        """One integer for each instance, at least `least`; 1 where there is no expression.

        **Raises:** `Irregular`.
        """
        try:
            values = np.asarray(1 if expression is None else expression.value(self.scope))
        except (Mistake, FollowUp, OverflowError):  # a number that 64 bits do not hold
            raise Irregular from None
        if values.dtype != np.int64 or most_of(values) >= ARRAY_LIMIT:
            raise Irregular
        if least is not None and self.count and values.min() < least:
            raise Irregular
        return np.broadcast_to(values, (self.count,))


def instances(statement: tree.Statement, scope: Scope) -> Instances:
    """All instances of a statement with ranges, in the order of its loops.

    **Raises:** `Irregular`, before anything large is made.
    """
    current = Instances(1, scope)
    variables: dict[str, Int[np.ndarray, " instances"]] = {}
    for bounds in reversed(statement.bounds):
        low = current.integers(bounds.low) + bounds.low_shift
        high = current.integers(bounds.high) + bounds.high_shift
        counts = np.maximum(high - low + 1, 0)
        if counts.sum(dtype=float) > MAX_AT_ONCE:
            raise Irregular
        total = int(counts.sum())
        starts = np.cumsum(counts) - counts
        variables = {name: np.repeat(values, counts) for name, values in variables.items()}
        variables[bounds.variable] = np.arange(total) + np.repeat(low - starts, counts)
        current = Instances(total, {**scope, **variables})
    for condition in statement.filters:
        differs = current.integers(condition.left, None) != current.integers(condition.right, None)
        variables = {name: values[differs] for name, values in variables.items()}
        current = Instances(int(differs.sum()), {**scope, **variables})
    return current


@dataclass(frozen=True, slots=True)
class LabelFamily:
    """Labels of one name with as many indices; axes: `instances` and `axes` of the indices."""

    name: str
    indices: Int[np.ndarray, "instances axes"]


@dataclass(frozen=True, slots=True)
class ContentsFamily:
    labels: LabelFamily
    spikes: Int[np.ndarray, " instances"]
    adds: bool


@dataclass(frozen=True, slots=True)
class RuleFamily:
    """Rules of one statement, run for the `number`-th time of all statements. `guard` is its text,
    `None` for exactly what is consumed."""

    labels: LabelFamily
    guard: str | None
    consume: Int[np.ndarray, " instances"]
    produce: Int[np.ndarray, " instances"]
    delay: Int[np.ndarray, " instances"]
    statement: int
    number: int


@dataclass(slots=True)
class FamilyDraft:
    """A system as the statements tell it, by families of labels, in the order of the statements."""

    num_instances: int = 0
    neurons: list[LabelFamily] = field(default_factory=list)
    contents: list[ContentsFamily] = field(default_factory=list)
    arcs: list[tuple[LabelFamily, LabelFamily]] = field(default_factory=list)
    outputs: list[LabelFamily] = field(default_factory=list)
    rules: list[RuleFamily] = field(default_factory=list)
    num_literals: int = 0
    num_statements: int = 0

    def take(self, statement: tree.Statement, scope: Scope) -> bool:
        """Add all instances of a statement at once; false if it is one of those that are run one by
        one, such as a call.

        **Raises:** `Irregular` for what families cannot hold, and for every mistake.
        """
        instruction = statement.instruction
        self.num_statements += 1
        if isinstance(instruction, _REFUSED) or self.num_statements > MAX_STATEMENTS:
            raise Irregular
        take = _ACTIONS.get(type(instruction))
        if take is None and not statement.bounds:
            return False
        found = instances(statement, scope)
        if statement.bounds:
            self.num_instances += found.count
        if self.num_instances > MAX_INSTANCES or (take is None and found.count > MAX_LOOPS):
            raise Irregular
        if take is None:
            return False
        if found.count:
            take(self, instruction, found)
        return True

    def _new_neurons(self, node: tree.NewNeurons, found: Instances) -> None:
        self.neurons += [_labels(label, found) for label in node.labels]

    def _contents(self, node: tree.Contents, found: Instances) -> None:
        spikes = _spikes(node.spikes, found)
        self.contents.append(ContentsFamily(_labels(node.label, found), spikes, node.adds))

    def _synapses(self, node: tree.Synapses, found: Instances) -> None:
        self.arcs += [(_labels(arc.source, found), _labels(arc.target, found)) for arc in node.arcs]

    def _outputs(self, node: tree.Outputs, found: Instances) -> None:
        self.outputs += [_labels(label, found) for label in node.labels]

    def _spiking(self, node: tree.SpikingRule, found: Instances) -> None:
        nothing = np.broadcast_to(np.int64(0), (found.count,))
        guard = None
        if node.guard is not None:
            try:
                guard = node.guard.resolve(found.scope)
            except (Mistake, FollowUp):
                raise Irregular from None
        self.rules.append(
            RuleFamily(
                _labels(node.label, found),
                guard,
                _spikes(node.consume, found),
                nothing if node.produce is None else _spikes(node.produce, found),
                nothing if node.delay is None else found.integers(node.delay),
                node.offset,
                self.num_statements,
            )
        )

    def _literal(self, node: tree.Literal, found: Instances) -> None:
        del found
        lists = node.neurons, node.contents, node.offsets, node.rules
        self.num_literals += sum(map(len, lists))
        if self.num_literals > MAX_LITERALS:
            raise Irregular
        self.neurons += [one_label(label) for label, _ in node.neurons]
        for _, label, spikes, adds in node.contents:
            self.contents.append(ContentsFamily(one_label(label), np.asarray([spikes]), adds))
        pairs = zip(node.sources, node.targets, strict=True)
        self.arcs += [(one_label(x), one_label(y)) for x, y in pairs]
        for offset, label, key in node.rules:
            if key is None:
                raise Irregular
            guard, *numbers = key
            self.num_statements += 1
            consume, produce, delay = (np.asarray([number]) for number in numbers)
            run, owner = self.num_statements, one_label(label)
            self.rules.append(RuleFamily(owner, guard, consume, produce, delay, offset, run))


def one_label(label: str) -> LabelFamily:
    """The family of one label, from its text."""
    name, brace, indices = label.partition("{")
    row = [int(index) for index in indices[:-1].split(",")] if brace else []
    if any(abs(index) >= 2**62 for index in row):
        raise Irregular
    return LabelFamily(name, np.asarray([row], np.int64))


def _labels(label: tree.Label, found: Instances) -> LabelFamily:
    if label.name is None:
        try:
            one = one_label(label.resolve(found.scope))
        except (Mistake, FollowUp):
            raise Irregular from None
        return LabelFamily(one.name, np.repeat(one.indices, found.count, axis=0))
    columns = [found.integers(index, None) for index in label.indices]
    if len(columns) == 1:
        return LabelFamily(label.name, columns[0][:, None])
    empty = np.zeros((found.count, 0), np.int64)
    return LabelFamily(label.name, np.stack(columns, axis=1) if columns else empty)


def _spikes(spikes: tree.Spikes, found: Instances) -> Int[np.ndarray, " instances"]:
    if spikes.is_anti:
        raise Irregular
    return found.integers(spikes.count)


_REFUSED = tree.GrowthRule | tree.Dictionary
_ACTIONS: dict[type, Callable[[FamilyDraft, Any, Instances], None]] = {
    tree.NewNeurons: FamilyDraft._new_neurons,
    tree.Contents: FamilyDraft._contents,
    tree.Synapses: FamilyDraft._synapses,
    tree.Outputs: FamilyDraft._outputs,
    tree.SpikingRule: FamilyDraft._spiking,
    tree.Literal: FamilyDraft._literal,
}
