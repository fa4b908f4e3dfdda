"""Deciding a form on all paths of a structure, and a path that shows it is not so."""

from dataclasses import dataclass, field

import numpy as np

from .ctl_fragment import All, Eventually, Form, Next, Now, Release, Steady, Unless
from .kripke import States, Structure, Way
from .labels import Labelling


@dataclass(frozen=True)
class Path:
    """States of a structure; where `loop` is a position, the last one is the state there once more,
    and what lies between is repeated for ever."""

    states: list[int]
    loop: int | None = None

    def after(self, states: list[int]) -> "Path":
        """This path, come to by others of which the last is its first."""
        before = states[:-1]
        loop = None if self.loop is None else self.loop + len(before)
        return Path(before + self.states, loop)


@dataclass(frozen=True, eq=False)
class Checker:
    """From which states of a structure forms hold on all paths.

    What is not known, successors or values, is taken for the worst (`may=False`) or for the best.
    Where both give the same answer, it is that of everything that the unknown may turn out to be.
    """

    structure: Structure
    labels: Labelling
    # By the identity of forms, with the forms so that they stay what they are.
    _known: dict[tuple[int, bool], tuple[Form, States]] = field(default_factory=dict)
    _ways: dict[int, Way] = field(default_factory=dict)

    def holds(self, form: Form, *, may: bool) -> States:
        """The states from which a form surely holds on all paths, or may hold."""
        key = id(form), may
        if key not in self._known:
            self._known[key] = form, self._holds(form, may)
        return self._known[key][1]

    def _holds(self, form: Form, may: bool) -> States:
        structure = self.structure
        match form:
            case Now(condition):
                return self.labels.where(condition, may=may)
            case All(parts):
                return np.logical_and.reduce([self.holds(part, may=may) for part in parts])
            case Unless(condition, inner):
                return self.labels.where(condition, may=may) | self.holds(inner, may=may)
            case Next(inner):
                wrong = ~self.holds(inner, may=may)
                broken = np.zeros(structure.num_states, bool)
                broken[structure.sources[wrong[structure.steps.indices]]] = True
                return ~broken if may else ~(broken | structure.is_open)
            case Release() | Eventually() | Steady():
                way = self._way_to_broken(form, may)
                if may:
                    self._ways[id(form)] = way
                return ~way.found

    def _way_to_broken(self, form: Release | Eventually | Steady, may: bool) -> Way:
        """From where a form is not kept, and the way to where that is seen."""
        structure, where = self.structure, self.labels.where
        unknown = np.zeros_like(structure.is_open) if may else structure.is_open
        match form:
            case Release(condition, inner):
                bound = ~where(condition, may=may)
                wrong = ~self.holds(inner, may=may)
                return structure.way_to(wrong | (unknown & bound), through=bound)
            case Eventually(condition):
                without = ~where(condition, may=may)
                ends = structure.on_cycles(without) | unknown
                return structure.way_to(ends & without, through=without)
            case Steady(condition):
                returns = structure.on_cycles() & ~where(condition, may=may)
                return structure.way_to(returns | unknown)

    def counterexample(self, form: Form, state: int) -> Path:
        """A path on which a form does not hold, from a state where it cannot hold on all.

        Every part of it is a shortest one: to where a promise is broken, to a loop, round it.
        """
        structure = self.structure
        match form:
            case Now():
                return Path([state])
            case All(parts):
                broken = [part for part in parts if not self.holds(part, may=True)[state]]
                paths = [self.counterexample(part, state) for part in broken]
                return min(paths, key=lambda path: len(path.states))
            case Unless(_, inner):
                return self.counterexample(inner, state)
            case Next(inner):
                after = structure.successors(state)
                wrong = int(after[~self.holds(inner, may=True)[after]][0])
                return self.counterexample(inner, wrong).after([state, wrong])
        self.holds(form, may=True)  # which finds the way
        path = self._ways[id(form)].path(state)
        match form:
            case Release(_, inner):
                return self.counterexample(inner, path[-1]).after(path)
            case Eventually(condition):
                without = ~self.labels.where(condition, may=True)
                return Path(structure.cycle(path[-1], without), 0).after(path)
        return Path(structure.cycle(path[-1]), 0).after(path)
