"""From a formula of linear time to a generalised Büchi automaton."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Int
from scipy.sparse import csr_array

from ..._text.pickling import PickledError
from ...explore.strongly_connected import strong_parts
from ..query.formula import FALSE, TRUE, Formula
from .normal import Both, Either, Form, Next, Now, Release, Until, all_forms, negation, recurring


MAX_STATES = 2**12
_MAX_COVERS = 2**11, 2**14  # of one state, and of all: many are left out again
_MAX_PARTS = 200  # of a formula

_Obligations: TypeAlias = frozenset[Form]
_Conditions: TypeAlias = frozenset[Formula]


class TooLarge(PickledError, ValueError):
    """A formula whose automaton would have more than `MAX_STATES` states."""

    def __init__(self) -> None:
        super().__init__(
            "this has too many operators in each other to be checked: its automaton has more than "
            f"{MAX_STATES:,} states (split the query, or make it simpler)"
        )


class AutomatonStep(NamedTuple):
    """A step of the automaton that reads a configuration.

    - `conditions`: hold of the configuration.
    - `target`: the next state.
    - `marks`: the numbers of the marks that the transition has.
    """

    conditions: tuple[Formula, ...]
    target: int
    marks: frozenset[int]


@dataclass(frozen=True)
class Automaton:
    """A generalised Büchi automaton, from state 0. It accepts the paths that it can read on
    transitions among which those with each mark come infinitely often.

    - `transitions`: those that leave each state.
    - `recurring`: conditions that are to hold infinitely often of the path besides: the marks after
      the first `num_promises`.
    - `done`: the state in which nothing is asked for any more; -1 if there is none, or `recurring`
      conditions remain.
    """

    transitions: tuple[tuple[AutomatonStep, ...], ...]
    num_promises: int
    recurring: tuple[Formula, ...]
    done: int

    @cached_property
    def part_of_loop(self) -> Int[np.ndarray, " states"]:
        """The strongly connected part of each state, from 1, or 0 for those on no loop."""
        size = len(self.transitions)
        matrix = np.zeros((size, size), bool)
        for number, own in enumerate(self.transitions):
            matrix[number, [transition.target for transition in own]] = True
        part = strong_parts(csr_array(matrix))[1] + 1
        on_loop = (np.bincount(part)[part] > 1) | matrix.diagonal()
        return np.where(on_loop, part, 0)

    @cached_property
    def may_accept(self) -> Bool[np.ndarray, " states"]:
        """The states from which a loop leads back that has all marks, but for the conditions."""
        part = self.part_of_loop
        marks: dict[int, set[int]] = {}
        for number, own in enumerate(self.transitions):
            for transition in own:
                if part[number] and part[transition.target] == part[number]:
                    marks.setdefault(int(part[number]), set()).update(transition.marks)
        accepting = [x for x, own in marks.items() if len(own) == self.num_promises]
        return np.isin(part, accepting)

    @property
    def num_marks(self) -> int:
        return self.num_promises + len(self.recurring)


def automaton_of(form: Form) -> Automaton:
    """The automaton that accepts the paths of which a form holds.

    **Raises:** `TooLarge` if it would have too many states.

    ??? cite "Source"
        Gerth, Peled, Vardi, Wolper 1995, Simple on-the-fly automatic verification of linear
        temporal logic. Differs from it in: 1. conditions and marks are those of transitions
        (Couvreur 1999), so that states are what is still asked for; 2. transitions that another
        one makes superfluous are left out; 3. an operator within n steps counts down; 4. conditions
        that recur need no states.
    """
    if sum(1 for _ in islice(all_forms(form), _MAX_PARTS + 1)) > _MAX_PARTS:
        raise TooLarge  # before anything that looks at a shared part each time
    return _automaton_of(form)


@lru_cache(256)
def _automaton_of(form: Form) -> Automaton:
    rest, conditions = _without_recurring(form)
    numbers: dict[_Obligations, int] = {frozenset(rest): 0}
    covers: list[list[_Cover]] = []
    left = _MAX_COVERS[1]
    for state in (listed := list(numbers)):
        most = min(_MAX_COVERS[0], left)
        some = list(islice(_expanded((*state,), _Cover()), most + 1))
        if len(some) > most:
            raise TooLarge
        left -= len(some)
        covers.append(_least(some))
        for cover in covers[-1]:
            if cover.later not in numbers:
                numbers[cover.later] = len(numbers)
                listed.append(cover.later)
        if len(numbers) > MAX_STATES:
            raise TooLarge
    promises = sorted(
        {promise for own in covers for cover in own for promise in cover.postponed}, key=repr
    )
    transitions = tuple(
        tuple(
            AutomatonStep(
                tuple(cover.conditions),
                numbers[cover.later],
                frozenset(i for i, x in enumerate(promises) if x not in cover.postponed),
            )
            for cover in own
        )
        for own in covers
    )
    done = -1 if conditions else numbers.get(frozenset(), -1)
    return Automaton(transitions, len(promises), tuple(conditions), done)


def _without_recurring(form: Form) -> tuple[list[Form], list[Formula]]:
    """The parts of a conjunction, and the conditions that are to hold infinitely often."""
    if isinstance(form, Both):
        left, right = _without_recurring(form.left), _without_recurring(form.right)
        return left[0] + right[0], left[1] + right[1]
    match recurring(form):
        case Now(condition):
            return [], [condition]
    return [form], []


class _Cover(NamedTuple):
    """One way to meet some obligations: conditions now, obligations later, and the `Until`s that
    are put off."""

    conditions: _Conditions = frozenset()
    later: _Obligations = frozenset()
    postponed: frozenset[Until] = frozenset()

    def with_later(self, form: Form) -> "_Cover":
        return self._replace(later=self.later | {form})

    def makes_superfluous(self, other: "_Cover") -> bool:
        return (
            self.conditions <= other.conditions
            and self.later <= other.later
            and self.postponed <= other.postponed
        )


def _expanded(todo: tuple[Form, ...], cover: _Cover) -> Iterator[_Cover]:
    if not todo:
        yield cover
        return
    form, rest = todo[0], todo[1:]
    match form:
        case Now(condition):
            if condition != FALSE and negation(condition) not in cover.conditions:
                own = cover.conditions if condition == TRUE else cover.conditions | {condition}
                yield from _expanded(rest, cover._replace(conditions=own))
        case Both(left, right):
            yield from _expanded((left, right, *rest), cover)
        case Either(left, right):
            yield from _expanded((left, *rest), cover)
            yield from _expanded((right, *rest), cover)
        case Next(part):
            yield from _expanded(rest, cover.with_later(part))
        case Until(left, right, within):
            yield from _expanded((right, *rest), cover)
            if within != 0:
                put_off = cover.with_later(_after_a_step(form))
                if within is None:
                    put_off = put_off._replace(postponed=put_off.postponed | {form})
                yield from _expanded((left, *rest), put_off)
        case Release(left, right, within):
            if within == 0:
                yield from _expanded((right, *rest), cover)
            else:
                yield from _expanded((left, right, *rest), cover)
                yield from _expanded((right, *rest), cover.with_later(_after_a_step(form)))


def _after_a_step(form: Until | Release) -> Form:
    if form.within is None:
        return form
    return type(form)(form.left, form.right, form.within - 1)


def _least(covers: list[_Cover]) -> list[_Cover]:
    """Those that no other makes superfluous."""
    found: list[_Cover] = []
    for cover in covers:
        if not any(other.makes_superfluous(cover) for other in found):
            found = [other for other in found if not cover.makes_superfluous(other)]
            found.append(cover)
    return found
