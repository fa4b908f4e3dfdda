"""Property-directed strengthening: clauses that exclude what would break a condition.

Frames F_0, F_1, ... hold all configurations that are reached in that many steps; each is a set of
clauses. A configuration of the last frame that a step leads out of the condition is excluded by a
clause, after what leads to it has been. When a frame equals the next one, it is an invariant.

??? cite "Source"
    Bradley 2011 (IC3); Een, Mishchenko, Brayton 2011 (PDR), with literals of linear arithmetic as
    templates: bounds of variables and of sums of two, and remainders.
"""

import heapq
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ..query.formula import Comparison, Formula, Observed, Or, comparisons
from .conditions import compared, congruent, negated
from .facts import Sum
from .relation import Choice, State, Term, holds
from .samples import Samples
from .solver import StepSolver, needed


#: A set of configurations: all of these conditions hold.
Cube: TypeAlias = tuple[Comparison, ...]

_MAX_PAIRED = 8  # variables whose sums are templates
_MAX_WEAKER = 6  # other constants that are tried for a bound


class Counterexample(NamedTuple):
    """Configurations one after the other, and what is selected between them."""

    states: list[State]
    choices: list[Choice]


class Refuted(Exception):
    """A computation breaks the condition."""

    def __init__(self, computation: Counterexample) -> None:
        super().__init__()
        self.computation = computation


@dataclass(order=True)
class _Obligation:
    """Configurations of a frame that lead out of the condition, with the choices on the way."""

    frame: int
    number: int
    cube: Cube = field(compare=False)
    marked: tuple[dict[tuple[int, int], bool], ...] = field(compare=False)


class Strengthening:
    """The frames of a condition that is to hold always.

    **Arguments:**

    - `facts`: conditions that hold of all configurations as long as `wanted` does.
    """

    def __init__(
        self,
        solver: StepSolver,
        wanted: Formula,
        facts: Sequence[Formula],
        samples: Samples,
    ) -> None:
        self.solver, self.relation = solver, solver.relation
        self.wanted, self.facts, self.samples = wanted, facts, samples
        initial = solver.fresh()
        first = solver.is_state(self.relation.initial, 0)
        solver.solver.add(solver.z3.Implies(initial, solver.z3.And(*first)))
        self.activated: list[Term] = [initial, solver.fresh()]
        self.clauses: list[set[Cube]] = [set(), set()]
        self.known = [solver.literal(x, 0) for x in (*facts, wanted)]
        self.broken = solver.literal(negated(wanted), 1)
        self.sums = self._sums()
        numbers = {x for n in self.relation.thresholds for x in (n, n + 1)}
        numbers |= {x.constant + more for x in comparisons(wanted) for more in (-1, 0, 1)}
        self.constants = sorted(numbers)
        self._ticket = itertools.count()

    @property
    def depth(self) -> int:
        """Up to this many steps, the condition is known to hold."""
        return 0 if len(self.clauses) == 2 else len(self.clauses) - 1  # the first step comes first

    def run(self) -> list[Formula]:
        """Clauses that make facts and condition inductive.

        **Raises:** `Refuted`; `OutOfTime`.
        """
        while True:
            last = len(self.clauses) - 1
            while (bad := self._bad(last)) is not None:
                self._block(bad)
            self.clauses.append(set())
            self.activated.append(self.solver.fresh())
            self._push()
            for frame in range(1, len(self.clauses) - 1):
                if not self.clauses[frame]:
                    left = itertools.chain.from_iterable(self.clauses[frame + 1 :])
                    return [clause_of(cube) for cube in left]

    # ---- what breaks the condition ----

    def _bad(self, frame: int) -> _Obligation | None:
        """Configurations of the frame from which a step breaks the condition."""
        if not self.solver.is_satisfiable(*self._frame(frame), self.broken):
            return None
        state, marked = self.solver.state(0), self.solver.marked()
        target = self.solver.literal(self.wanted, 1)
        return self._obligation(frame, self._lifted(state, marked, target), (marked,))

    def _obligation(
        self, frame: int, cube: Cube, marked: tuple[dict[tuple[int, int], bool], ...]
    ) -> _Obligation:
        return _Obligation(frame, next(self._ticket), cube, marked)

    def _block(self, first: _Obligation) -> None:
        todo = [first]
        while todo:
            self.solver.clock.check()
            now = heapq.heappop(todo)
            reached = next((s for s in self.samples.kept if self._contains(now.cube, s)), None)
            if reached is not None:
                raise Refuted(self._computation(reached, now.marked))
            if now.frame == 0:
                # Nothing but the initial configuration is in F_0, and that is a sample.
                raise AssertionError("This is a bug of snpjax, please report it.")
            if any(set(own) <= set(now.cube) for own in self._learned(now.frame)):
                if now.frame < len(self.clauses) - 1:
                    heapq.heappush(todo, self._obligation(now.frame + 1, now.cube, now.marked))
                continue
            core = self._blocked(now.cube, now.frame)
            if core is None:
                state, marked = self.solver.state(0), self.solver.marked()
                target = self._none_of(now.cube)
                cube = self._lifted(state, marked, target)
                before = self._obligation(now.frame - 1, cube, (marked, *now.marked))
                heapq.heappush(todo, before)
                heapq.heappush(todo, now)
                continue
            cube = self._generalised(now.cube, core, now.frame)
            frame = now.frame
            while frame < len(self.clauses) - 1 and self._blocked(cube, frame + 1) is not None:
                frame += 1
            self._learn(cube, frame)
            if frame < len(self.clauses) - 1:
                heapq.heappush(todo, self._obligation(frame + 1, now.cube, now.marked))

    def _computation(self, start: State, marked: Iterable[dict[tuple[int, int], bool]]):
        states, choices = self.samples.path(start)
        for own in marked:
            choices.append(self.solver.choice(states[-1], own))
            states.append(self.relation.step(states[-1], choices[-1]))
        return Counterexample(states, choices)

    # ---- frames ----

    def _frame(self, frame: int) -> list[Term]:
        some = self.activated[:1] if frame == 0 else self.activated[frame:]
        return [*self.known, *some]

    def _learned(self, frame: int) -> Iterable[Cube]:
        return itertools.chain.from_iterable(self.clauses[frame:])

    def _learn(self, cube: Cube, frame: int) -> None:
        z3 = self.solver.z3
        for own in self.clauses[1 : frame + 1]:
            own -= {other for other in own if set(cube) <= set(other)}
        self.clauses[frame].add(cube)
        clause = z3.Or(*(self.solver.literal(negated(x), 0) for x in cube))
        self.solver.solver.add(z3.Implies(self.activated[frame], clause))

    def _push(self) -> None:
        """Move clauses as far on as they hold."""
        for frame in range(1, len(self.clauses) - 1):
            for cube in sorted(self.clauses[frame], key=str):
                after = [self.solver.literal(x, 1) for x in cube]
                if not self.solver.is_satisfiable(*self._frame(frame), *after):
                    self.clauses[frame].discard(cube)
                    self._learn(cube, frame + 1)

    # ---- cubes ----

    def _blocked(self, cube: Cube, frame: int) -> Cube | None:
        """The part of a cube that no step from the frame before, outside the cube, leads to; `None`
        if one does, which the solver then holds."""
        after = [self.solver.literal(x, 1) for x in cube]
        if self.solver.is_satisfiable(*self._frame(frame - 1), self._none_of(cube, 0), *after):
            return None
        kept = needed(after, self.solver.core())
        return tuple(cube[at] for at in kept)

    def _none_of(self, cube: Cube, frame: int = 1) -> Term:
        """A Boolean that makes the configuration lie outside the cube, when it is assumed."""
        return self.solver.one_broken(cube, frame)

    def _lifted(self, state: State, marked: dict[tuple[int, int], bool], outside: Term) -> Cube:
        """A part of what is true of a configuration from which a step, with the choices resolved
        so, makes `outside` false."""
        cube, made = self._true_of(state), self.solver.marks[0].made
        literals = [self.solver.literal(x, 0) for x in cube]
        choices = [
            made[k] if is_marked else self.solver.z3.Not(made[k]) for k, is_marked in marked.items()
        ]
        facts = self.known[:-1]
        if self.solver.is_satisfiable(*facts, *choices, outside, *literals):
            raise AssertionError("This is a bug of snpjax, please report it.")
        return tuple(cube[at] for at in needed(literals, self.solver.core()))

    def _true_of(self, state: State) -> Cube:
        """The templates that are true of a configuration, and of few others together."""
        found: list[Comparison] = []
        for variable, value in zip(self.relation.variables, state, strict=True):
            for m in self.relation.moduli.get(variable, ()):
                found.append(congruent({variable: 1}, m, value))
        for terms in self.sums:
            value = sum(factor * state[self.relation.positions[v]] for v, factor in terms.items())
            # The last step that is counted stands for all later ones.
            if not self._is_last(terms, value):
                found.append(compared(terms, "<=", value))
            found.append(compared(terms, ">=", value))
        return tuple(dict.fromkeys(found))

    def _is_last(self, terms: Sum, value: int) -> bool:
        (variable, *_), most = terms, self.relation.most
        is_step = variable.observed is Observed.STEP
        return is_step and value == most[self.relation.positions[variable]]

    def _sums(self) -> list[Sum]:
        """The sums whose bounds are templates: all single variables, those of the query and, where
        there are few, of two."""
        kept = self.relation.variables
        found: list[Sum] = [{v: 1} for v in kept]
        found += [
            dict(x.linear_terms)
            for x in comparisons(self.wanted)
            if len(x.terms) > 1 and all(v in self.relation.positions for v in x.variables)
        ]
        spikes = [v for v in kept if v.observed is Observed.SPIKES]
        if len(spikes) <= _MAX_PAIRED:
            found += [{x: 1, y: 1} for x, y in itertools.combinations(spikes, 2)]
        return found

    def _contains(self, cube: Cube, state: State) -> bool:
        return all(holds(x, self.relation, state) for x in cube)

    def _generalised(self, full: Cube, core: Cube, frame: int) -> Cube:
        """A larger cube that is excluded, too, and that no sample is in."""
        cube = self._without_samples(full, core)
        if cube != core and self._blocked(cube, frame) is None:
            cube = full
        for literal in sorted(cube, key=lambda x: -len(x.terms)):
            smaller = tuple(x for x in cube if x != literal)
            if smaller and self._is_excluded(smaller, frame):
                cube = smaller
        for literal in cube:
            for weaker in self._weaker(literal):
                larger = tuple(weaker if x == literal else x for x in cube)
                if self._is_excluded(larger, frame):
                    cube = larger
                    break
        return cube

    def _is_excluded(self, cube: Cube, frame: int) -> bool:
        if any(self._contains(cube, state) for state in self.samples.kept):
            return False
        return self._blocked(cube, frame) is not None

    def _without_samples(self, full: Cube, core: Cube) -> Cube:
        """The core and as many more of the cube as keep all samples out."""
        cube = list(core)
        inside = [s for s in self.samples.kept if self._contains(core, s)]
        while inside:
            literal = min(full, key=lambda x: sum(holds(x, self.relation, s) for s in inside))
            cube.append(literal)
            inside = [s for s in inside if holds(literal, self.relation, s)]
        return tuple(cube)

    def _weaker(self, literal: Comparison) -> list[Comparison]:
        """The same bound with constants of guards and of the query, the weakest first."""
        terms, constant = dict(literal.linear_terms), literal.constant
        if literal.modulus is not None or any(v.observed is Observed.STEP for v in terms):
            return []
        if literal.relation == "<=":
            some = [x for x in self.constants if x > constant][: -_MAX_WEAKER - 1 : -1]
        else:
            some = [x for x in self.constants if x < constant][:_MAX_WEAKER]
        return [compared(terms, literal.relation, x) for x in some]


def clause_of(cube: Cube) -> Formula:
    """What is true outside a cube."""
    parts = tuple(negated(x) for x in cube)
    return parts[0] if len(parts) == 1 else Or(parts)
