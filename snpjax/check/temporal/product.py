"""The product of a structure with an automaton: where paths that it accepts begin, and one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np
from jaxtyping import Bool, Int
from scipy.sparse import csr_array

from ...explore.strongly_connected import strong_parts
from ..query.formula import Formula, Quantified
from .automaton import Automaton
from .kripke import States, Structure
from .labels import Labelling


_MAX_STEPS = 2**31 - 2  # which SciPy can number, with the pairs


@dataclass(frozen=True)
class Path:
    """States of a structure; where `loop` is a position, the last one is the state there once more,
    and what lies between is repeated for ever. Otherwise any way to go on will do.

    - `conditions`: those that the last one is to meet.
    - `unseen`: what is quantified, and whether it holds in the last one, as it should; the path
      does not show that.
    """

    states: list[int]
    loop: int | None = None
    conditions: tuple[Formula, ...] = ()
    unseen: tuple[tuple[Quantified, bool], ...] = ()

    def after(self, states: list[int]) -> "Path":
        """This path, come to by others of which the last is its first."""
        before = states[:-1]
        loop = None if self.loop is None else self.loop + len(before)
        return replace(self, states=before + self.states, loop=loop)

    def shortest(self) -> "Path":
        """The same infinite path, written as short as possible."""
        if self.loop is None:
            return self
        before, around = self.states[: self.loop], self.states[self.loop : -1]
        size = len(around)
        period = next(
            n for n in range(1, size + 1) if size % n == 0 and around == around[:n] * (size // n)
        )
        around = around[:period]
        while before and before[-1] == around[-1]:
            around = [before.pop(), *around[:-1]]
        return Path([*before, *around, around[0]], len(before))


@dataclass(frozen=True, eq=False)
class _Edges:
    """Steps of the product: from where, to where, and the marks of each."""

    sources: Int[np.ndarray, " edges"]
    targets: Int[np.ndarray, " edges"]
    marks: Bool[np.ndarray, "edges marks"]


@dataclass(frozen=True, eq=False)
class Product:
    """Pairs of a state of the automaton and a state of the structure: what is left of a path from
    there is accepted from there.

    - `may`: what is not known, successors or values, is taken for the best; otherwise for the
      worst.
    - `starts`: the states from which paths are looked for. Only pairs that follow are made where
      the automaton has no loops, as within a number of steps.
    """

    structure: Structure
    automaton: Automaton
    labels: Labelling
    starts: States
    may: bool

    @cached_property
    def accepting(self) -> States:
        """The starts of paths that are accepted."""
        found = np.zeros(self.structure.num_states, bool)
        own = self._states[0]
        found[own] = self._pairs.way_to(self._ends).found[: len(own)]
        return found

    def path(self, state: int) -> Path | None:
        """An accepted path from one of the starts, if there is one: a shortest way to where nothing
        more is asked for, or to a loop, and round it."""
        start = int(self._pair(0, np.asarray([state]))[0])
        pairs = self._pairs.path_to(self._ends, start)
        if pairs is None:
            return None
        state_of = np.concatenate(self._states)
        if self._steps[1][pairs[-1]]:
            states = state_of[pairs].tolist()
            number = int(np.searchsorted(self._first, pairs[-1], side="right")) - 1
            return Path(states, None, self._conditions(number, states[-1]))
        path = Path(self._loop(pairs[-1]), 0).after(pairs)
        return Path(state_of[path.states].tolist(), path.loop).shortest()

    def _conditions(self, number: int, state: int) -> tuple[Formula, ...]:
        """What holds where nothing more is asked for."""
        for transition in self.automaton.transitions[number]:
            if transition.target == self.automaton.done:
                if self._where(transition.conditions)[state]:
                    return transition.conditions
        return ()

    def _where(self, conditions: Sequence[Formula]) -> States:
        every = np.ones(self.structure.num_states, bool)
        some = (self.labels.where(condition, may=self.may) for condition in conditions)
        return reduce(np.logical_and, some, every)

    # ---- pairs ----

    @cached_property
    def _states(self) -> list[Int[np.ndarray, " states"]]:
        """The states of the structure that are paired with each one of the automaton."""
        structure, automaton = self.structure, self.automaton
        active = [np.zeros_like(self.starts) for _ in automaton.transitions]
        active[0] = np.ones_like(self.starts) if automaton.part_of_loop[0] else self.starts
        changed = [0]
        while changed:
            number = changed.pop(0)
            for transition in automaton.transitions[number]:
                target = transition.target
                if automaton.part_of_loop[target]:
                    more = np.ones_like(self.starts)
                else:
                    more = structure.after(active[number] & self._where(transition.conditions))
                if target != automaton.done and np.any(more & ~active[target]):
                    active[target] = active[target] | more
                    changed.append(target)
        return [np.flatnonzero(own) for own in active]

    @cached_property
    def _first(self) -> Int[np.ndarray, " states_and_one"]:
        """The number of the first pair of each state of the automaton."""
        return np.cumsum([0, *map(len, self._states)])

    def _pair(self, number: int, states: Int[np.ndarray, " some"]) -> Int[np.ndarray, " some"]:
        own = self._states[number]
        is_all = len(own) == self.structure.num_states
        return self._first[number] + (states if is_all else np.searchsorted(own, states))

    @cached_property
    def _steps(self) -> tuple[_Edges, States]:
        """All steps, and the pairs from which any path is accepted."""
        structure, automaton = self.structure, self.automaton
        sources = structure.sources.astype(np.int64)
        targets = np.asarray(structure.steps.indices, np.int64)
        recurs = [self._where((condition,)) for condition in automaton.recurring]
        goals = np.zeros(self._first[-1], bool)
        some: list[_Edges] = []
        for number, transitions in enumerate(automaton.transitions):
            is_paired = np.zeros(structure.num_states, bool)
            is_paired[self._states[number]] = True
            for transition in transitions:
                reads = self._where(transition.conditions) & is_paired
                is_done = transition.target == automaton.done
                if is_done or self.may:
                    done = np.flatnonzero(reads if is_done else reads & structure.is_open)
                    goals[self._pair(number, done)] = True
                if is_done:
                    continue
                own = np.flatnonzero(reads[sources])
                marks = np.zeros((len(own), automaton.num_marks), bool)
                marks[:, sorted(transition.marks)] = True
                for mark, where in enumerate(recurs, automaton.num_promises):
                    marks[:, mark] = where[sources[own]]
                before = self._pair(number, sources[own])
                some.append(_Edges(before, self._pair(transition.target, targets[own]), marks))
        if sum(len(own.sources) for own in some) + len(goals) > _MAX_STEPS:
            raise MemoryError
        none = np.zeros(0, np.int64)
        edges = _Edges(
            np.concatenate([none, *(own.sources for own in some)]),
            np.concatenate([none, *(own.targets for own in some)]),
            np.concatenate([np.zeros((0, automaton.num_marks), bool), *(x.marks for x in some)]),
        )
        return edges, goals

    @cached_property
    def _pairs(self) -> Structure:
        """The pairs and their steps."""
        size = int(self._first[-1])
        return _structure(self._steps[0].sources, self._steps[0].targets, size)

    # ---- loops ----

    @cached_property
    def _inner(self) -> tuple[_Edges, Int[np.ndarray, " pairs"]]:
        """The steps inside of strongly connected parts in which every mark can be come by again and
        again, and the part of each pair."""
        edges, automaton, size = self._steps[0], self.automaton, int(self._first[-1])
        loop = np.repeat(automaton.part_of_loop * automaton.may_accept, np.diff(self._first))
        kept = np.flatnonzero(
            (loop[edges.sources] == loop[edges.targets]) & (loop[edges.sources] > 0)
        )
        sources, targets = edges.sources[kept], edges.targets[kept]
        part = strong_parts(_structure(sources, targets, size).steps)[1]
        kept = kept[part[sources] == part[targets]]
        own = part[edges.sources[kept]]
        accepted = np.zeros(size, bool)
        accepted[own] = True
        for mark in range(automaton.num_marks):
            with_mark = np.zeros(size, bool)
            with_mark[own[edges.marks[kept, mark]]] = True
            accepted &= with_mark
        kept = kept[accepted[own]]
        return _Edges(edges.sources[kept], edges.targets[kept], edges.marks[kept]), part

    @cached_property
    def _ends(self) -> States:
        """The pairs where all is done, or where a loop begins: with a step that has the last
        mark."""
        ends = self._steps[1].copy()
        if self.automaton.may_accept.any():
            inner, _ = self._inner
            ends[inner.sources[_last_mark(inner)]] = True
        return ends

    def _loop(self, start: int) -> list[int]:
        """Round from a pair where a loop begins, by steps with all marks."""
        pairs, (inner, part) = self._pairs, self._inner
        own = np.flatnonzero(part[inner.sources] == part[start])
        sources, targets, marks = inner.sources[own], inner.targets[own], inner.marks[own]
        back = pairs.way_to(np.arange(pairs.num_states) == start)
        path, missing = [start], np.ones(marks.shape[1], bool)
        helps = _last_mark(inner)[own] & (sources == start)
        while len(path) == 1 or missing.any():
            ends = np.zeros(pairs.num_states, bool)
            ends[sources[helps]] = True
            path += (pairs.path_to(ends, path[-1]) or [])[1:]
            here = np.flatnonzero(helps & (sources == path[-1]))
            more = (marks[here] & missing).sum(axis=1)
            best = here[more == more.max()].tolist()
            step = min(best, key=lambda i: len(back.path(int(targets[i]))))
            path.append(int(targets[step]))
            missing &= ~marks[step]
            helps = (marks & missing).any(axis=1)
        return path + back.path(path[-1])[1:]


def _structure(
    sources: Int[np.ndarray, " steps"], targets: Int[np.ndarray, " steps"], size: int
) -> Structure:
    ones = np.ones(len(sources), bool)
    matrix = csr_array((ones, (sources, targets)), shape=(size, size))
    return Structure(matrix.indptr, matrix.indices, np.zeros(size, bool))


def _last_mark(edges: _Edges) -> Bool[np.ndarray, " edges"]:
    return edges.marks[:, -1] if edges.marks.shape[1] else np.ones(len(edges.sources), bool)
