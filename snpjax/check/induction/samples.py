"""Configurations that are reached, as far as a moment allows."""

import itertools
import random

from ..query.formula import Formula
from .relation import AbstractRelation, Choice, State, holds
from .solver import Clock


_MAX_SUCCESSORS = 256
_MAX_KEPT = 300  # of the breadth-first search
_WALKS, _MAX_WALK = 12, 200  # random computations, and their steps
_KEPT_OF_WALK, _EVERY = 20, 10  # of a walk the first ones are kept, then every tenth
_LONG_WALK = 4_000


class Samples:
    """Configurations that a breadth-first search and random computations reach.

    - `parents`: how each was reached; `None` for the initial one.
    - `kept`: those that candidates for invariants are compared with.
    - `broken`: one that breaks the condition, if there is any: nothing more is looked for then.
    - `is_complete`: these are all that are reached.
    - `depth`: all configurations at up to this many steps are among them.
    """

    def __init__(self, relation: AbstractRelation, wanted: Formula, clock: Clock) -> None:
        self.relation, self.wanted, self.clock = relation, wanted, clock
        self.parents: dict[State, tuple[State, Choice] | None] = {}
        self.broken: State | None = None
        self.depth = 0
        self._found(relation.initial, None)
        self.is_complete = self._search()
        self.kept = list(self.parents)
        if not self.is_complete:
            lengths = [*[_MAX_WALK] * _WALKS, _LONG_WALK]
            for seed, length in enumerate(lengths):
                self._walk(seed, length)

    def path(self, state: State) -> tuple[list[State], list[Choice]]:
        """A computation from the initial configuration, and its choices."""
        states, choices = [state], []
        while (parent := self.parents[states[-1]]) is not None:
            states.append(parent[0])
            choices.append(parent[1])
        return states[::-1], choices[::-1]

    def _found(self, state: State, parent: tuple[State, Choice] | None) -> bool:
        """Whether a configuration is a new one."""
        if state in self.parents:
            return False
        self.parents[state] = parent
        if not holds(self.wanted, self.relation, state):
            self.broken = state
        return True

    @property
    def _is_over(self) -> bool:
        return self.broken is not None or self.clock.left <= 0

    def _search(self) -> bool:
        """Whether all configurations were found."""
        layer = [self.relation.initial]
        while layer:
            following: list[State] = []
            for state in layer:
                own = [x or [None] for x in self.relation.alternatives(state)]
                choices = itertools.islice(itertools.product(*own), _MAX_SUCCESSORS + 1)
                for number, choice in enumerate(choices):
                    if number == _MAX_SUCCESSORS or self._is_over:
                        return False
                    after = self.relation.step(state, choice)
                    if self._found(after, (state, choice)):
                        following.append(after)
                if len(self.parents) > _MAX_KEPT:
                    return False
            layer = following
            self.depth += 1
        return True

    def _walk(self, seed: int, length: int) -> None:
        chooser, state = random.Random(seed), self.relation.initial
        for number in range(length):
            if self._is_over:
                return
            own = self.relation.alternatives(state)
            choice = tuple(chooser.choice(x) if x else None for x in own)
            after = self.relation.step(state, choice)
            if after == state:
                return
            is_kept = number < _KEPT_OF_WALK or number % _EVERY == 0
            if self._found(after, (state, choice)) and is_kept and number < _MAX_WALK:
                self.kept.append(after)
            state = after
