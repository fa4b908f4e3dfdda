"""One solver for one model: a configuration, the next one, and the step between them."""

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

from ..._text.optional import z3 as import_z3
from ...explore.patience import Patience
from ..query.formula import Formula
from ..satisfiability import is_satisfiable
from .conditions import negated
from .relation import AbstractRelation, Choice, Marks, State, Term, chosen, encoded


class OutOfTime(Exception):
    """The time is used up, or the solver gave up on a question."""


class Clock:
    """What is left of the seconds of a proof: nothing once it is interrupted."""

    def __init__(self, seconds: float, patience: Patience | None = None) -> None:
        self.end = time.monotonic() + seconds
        self.patience = Patience(None) if patience is None else patience

    @property
    def left(self) -> float:
        return 0.0 if self.patience.is_interrupted else self.end - time.monotonic()

    def check(self) -> None:
        """**Raises:** `OutOfTime` when nothing is left."""
        if self.left <= 0:
            raise OutOfTime

    def part(self, share: float, *, most: float = math.inf) -> "Clock":
        """A clock with a share of what is left, but no more than `most` seconds."""
        return Clock(min(max(self.left, 0) * share, most), self.patience)


class StepSolver:
    """An incremental solver that holds a relation between configurations 0, 1, ..., `length`.

    Conditions become Booleans that imply them, once each, so that questions are sets of assumptions
    and everything that was learned is kept. Conditions that are not assumed cost nothing.
    """

    def __init__(self, relation: AbstractRelation, clock: Clock) -> None:
        self.z3: Any = import_z3()
        self.relation, self.clock = relation, clock
        self.solver = self.z3.Solver()
        self.solver.set("random_seed", 0)
        self.frames = [relation.frame(self.z3, 0)]
        self.solver.add(*relation.domain(self.z3, self.frames[0]))
        self.marks: list[Marks] = []
        self._terms: dict[tuple[Formula, int], Term] = {}
        self._literals: dict[tuple[Formula, int], Term] = {}
        self._num_fresh = 0
        self.extend()

    def extend(self) -> None:
        """One more step."""
        number = len(self.marks)
        before, after = self.frames[-1], self.relation.frame(self.z3, number + 1)
        marks = Marks(self.z3, number)
        self.solver.add(*self.relation.domain(self.z3, after))
        self.solver.add(*self.relation.steps(self.z3, before, after, marks))
        self.frames.append(after)
        self.marks.append(marks)

    # ---- conditions ----

    def term(self, condition: Formula, frame: int) -> Term:
        key = (condition, frame)
        if key not in self._terms:
            self._terms[key] = encoded(self.z3, condition, self.relation, self.frames[frame])
        return self._terms[key]

    def literal(self, condition: Formula, frame: int) -> Term:
        """A Boolean that makes the condition true when it is assumed."""
        key = (condition, frame)
        if key not in self._literals:
            fresh = self.fresh()
            self.solver.add(self.z3.Implies(fresh, self.term(condition, frame)))
            self._literals[key] = fresh
        return self._literals[key]

    def fresh(self) -> Term:
        self._num_fresh += 1
        return self.z3.Bool(f"literal{self._num_fresh}")

    def one_broken(self, some: Iterable[Formula], frame: int) -> Term:
        """A Boolean that makes one of the conditions false when it is assumed."""
        fresh = self.fresh()
        broken = [self.literal(negated(x), frame) for x in some]
        self.solver.add(self.z3.Implies(fresh, self.z3.Or(*broken)))
        return fresh

    def is_state(self, state: State, frame: int) -> list[Term]:
        values = zip(self.relation.variables, state, strict=True)
        return [self.frames[frame][v] == value for v, value in values]

    # ---- questions ----

    def is_satisfiable(self, *assumptions: Term) -> bool:
        """**Raises:** `OutOfTime` if that is not known in time."""
        self.clock.check()
        clock = self.clock
        answer = is_satisfiable(self.solver, clock.left, *assumptions, patience=clock.patience)
        if answer is None:
            raise OutOfTime
        return answer

    def core(self) -> set[int]:
        """The identities of assumptions that contradict each other, after a refusal."""
        return {term.get_id() for term in self.solver.unsat_core()}

    def state(self, frame: int) -> State:
        """A configuration of the model that was found."""
        model = self.solver.model()
        frame_terms = self.frames[frame]
        return tuple(
            model.eval(frame_terms[v], model_completion=True).as_long()
            for v in self.relation.variables
        )

    def marked(self, step: int = 0) -> dict[tuple[int, int], bool]:
        """How the choices of a step are resolved in the model that was found."""
        model, z3 = self.solver.model(), self.z3
        made = self.marks[step].made
        return {key: z3.is_true(model.eval(term)) for key, term in made.items()}

    def choice(self, state: State, marked: dict[tuple[int, int], bool]) -> Choice:
        """What is selected in a configuration."""
        own = self.relation.alternatives(state)
        return chosen(own, lambda chooser, a: marked.get((chooser, a), False))


def needed(terms: Sequence[Term], core: set[int]) -> list[int]:
    """Which of the terms are in a core."""
    return [at for at, term in enumerate(terms) if term.get_id() in core]
