"""Rules of formats that give one in each line: few kinds of rules, millions of lines."""

from array import array
from functools import cached_property

import numpy as np

from ..spiking.model.guard import Guard
from ..spiking.model.rule import Rule
from .source import Report


MAX_KINDS = 1_000_000  # different rules in one file

_ANY = Guard.interval(0)


class RuleLines:
    """The rules of a file in its order: owner, kind and offset of each in a few bytes."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.owners = array("i")
        self.kinds = array("i")
        self.offsets = array("q")
        self._rules: list[Rule] = []
        self._kind_of: dict[tuple[int | None, int, int, int], int] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    def kind(self, guard: int | None, consume: int, produce: int, delay: int, offset: int) -> int:
        """The number of the rule with the guard "exactly `guard`" (`None`: any count), which stands
        at `offset`.

        **Raises:** `ValueError` when the guard is too large, `Unreadable` at too many rules.
        """
        key = guard, consume, produce, delay
        kind = self._kind_of.get(key)
        if kind is None:
            kind = len(self._rules)
            exactly = _ANY if guard is None else Guard.exactly(guard)
            if kind == MAX_KINDS:
                message = f"from here on there are more than {MAX_KINDS:,} different rules"
                self._report.fail(offset, f"{message} (describe families with populations)")
            self._rules.append(Rule(exactly, consume, produce, delay))
            self._kind_of[key] = kind
        return kind

    def add(self, owner: int, kind: int, offset: int) -> None:
        """One more rule of the owner, which stands at `offset`."""
        self.owners.append(owner)
        self.kinds.append(kind)
        self.offsets.append(offset)

    def rules(self, num_owners: int) -> list[tuple[Rule, ...]]:
        """The rules of every owner, in the order of the file."""
        kinds = np.asarray(self.kinds)
        sorted_kinds, starts, rules = kinds[self._order], self._starts.tolist(), self._rules
        of_owners = [
            tuple([rules[kind] for kind in sorted_kinds[first:last].tolist()])
            for first, last in zip(starts[:-1], starts[1:], strict=True)
        ]
        return of_owners + [()] * (num_owners - len(of_owners))

    def offset(self, owner: int, number: int) -> int:
        """Where the rule of that number (from 0) of an owner stands."""
        return self.offsets[int(self._order[self._starts[owner] + number])]

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(np.asarray(self.owners), kind="stable")

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(np.bincount(np.asarray(self.owners)))])
