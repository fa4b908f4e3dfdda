"""Deciding formulas in the states of a structure, and a path that shows what is so."""

from dataclasses import dataclass, replace

import numpy as np

from ..query.formula import And, Formula, Implies, Not, Or, Quantified, parts_of
from .automaton import automaton_of
from .kripke import States, Structure
from .labels import Labelling
from .normal import normal
from .product import Path, Product


@dataclass(frozen=True, eq=False)
class Checker:
    """In which states of a structure formulas hold.

    What is not known, successors or values, is taken for the worst (`may=False`) or for the best.
    Where both give the same answer, it is that of everything that the unknown may turn out to be.

    - `fair`: paths are those of which these formulas hold.

    ??? cite "Source"
        Emerson, Lei 1987, Modalities for model checking: branching time logic strikes back. A
        formula of CTL* is decided from the inside: what is quantified is a condition outside.
    """

    structure: Structure
    labels: Labelling
    fair: tuple[Formula, ...] = ()

    def holds(self, formula: Formula, *, may: bool) -> States:
        """The states in which a formula surely holds, or may hold: one about single configurations,
        which what is quantified is.

        **Raises:** `TooLarge` for a formula with too many operators.
        """
        self._learn(formula)
        return self.labels.where(formula, may=may)

    def impossible(self, formula: Formula) -> States:
        """Return the states from which no path satisfies a formula.

        The answer is not recorded in the labels: a path shares those of its structure, in which
        other paths may satisfy the formula.
        """
        every = np.ones(self.structure.num_states, bool)
        return ~self._product(Quantified(False, formula), may=True, starts=every).accepting

    def path(self, quantified: Quantified, state: int) -> Path | None:
        """A path from a state that surely shows a formula to hold on some path, or not on all.

        What is quantified inside is shown as well, if it is one formula about the end of the path.
        """
        path = self._product(quantified, may=False, starts=self._only(state)).path(state)
        if path is None:
            return None
        unseen = [x for own in path.conditions for x in self._evidence(own, path.states[-1])]
        match unseen:
            case [(inner, holds)] if inner.on_all_paths != holds:
                rest = self.path(inner, path.states[-1])
                return None if rest is None else rest.after(path.states)
        return replace(path, unseen=tuple(unseen))

    def may_have_path(self, quantified: Quantified, state: int) -> bool:
        """Whether there may be such a path."""
        return bool(self._product(quantified, may=True, starts=self._only(state)).accepting[state])

    def _only(self, state: int) -> States:
        return np.arange(self.structure.num_states) == state

    def _learn(self, formula: Formula) -> None:
        """Add what is quantified in a formula to what is known of the states."""
        for part in parts_of(formula):
            self._learn(part)
        if isinstance(formula, Quantified) and formula not in self.labels.truth:
            every = np.ones(self.structure.num_states, bool)
            sure, may = (
                self._product(formula, may=may, starts=every).accepting for may in (False, True)
            )
            self.labels.truth[formula] = (~may, ~sure) if formula.on_all_paths else (sure, may)

    def _product(self, quantified: Quantified, *, may: bool, starts: States) -> Product:
        """Where paths are that show it."""
        self._learn(quantified.part)
        part = Not(quantified.part) if quantified.on_all_paths else quantified.part
        form = normal(And((*self.fair, part)) if self.fair else part)
        return Product(self.structure, automaton_of(form), self.labels, starts, may)

    def _evidence(
        self, condition: Formula, state: int, positive: bool = True
    ) -> list[tuple[Quantified, bool]]:
        """What is quantified and makes a condition, or its negation, true in a state, and whether
        it holds there."""
        match condition:
            case Quantified():
                return [(condition, positive)]
            case Not(part):
                return self._evidence(part, state, not positive)
            case Implies(left, right):
                return self._evidence(Or((Not(left), right)), state, positive)
        parts = parts_of(condition)
        if isinstance(condition, And) == positive:
            return [x for part in parts for x in self._evidence(part, state, positive)]
        signed = [part if positive else Not(part) for part in parts]
        holding = [x for x in signed if self.labels.where(x, may=False)[state]]
        return min((self._evidence(x, state) for x in holding), key=len, default=[])
