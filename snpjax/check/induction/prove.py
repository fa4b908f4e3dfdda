"""`prove`: a condition on every reachable configuration, by induction."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._text.optional import z3
from ...explore import Inputs
from ...explore.explore import with_inputs
from ...explore.patience import Patience
from ...machine import ConfigurationsT, Explorable, StepsT, advice_on
from ..certificate.certificate import Certificate
from ..certificate.certify import certified
from ..certificate.model_digest import model_digest
from ..query.errors import QueryError
from ..query.formula import And, Formula, Implies, Or, Query, Temporal, is_about_one, parts_of
from ..query.names import check_names, clock_for
from ..query.parse import parse_query
from ..tracing import on_host
from ..verdict import Status, Verdict
from .computation import ComputationView
from .conditions import compared, conjuncts, text_of
from .facts import Facts, few_facts, more_facts, strongest
from .invariance import Invariance, invariance_of
from .minimal import is_kept, k_inductive, minimised
from .models import relation_of
from .relation import STEP, AbstractRelation, State, holds
from .samples import Samples
from .solver import Clock, OutOfTime, StepSolver
from .strengthening import Counterexample, Refuted, Strengthening


#: For a proof, if no other limit is given.
SECONDS = 10.0

_SAMPLES, _MAX_SAMPLES = 0.05, 0.5  # of the seconds, for configurations that are reached at once
_FACTS = 0.4  # of what is left, for each kind of facts
_UNROLLED, _MAX_K = 0.1, 8  # of what is left, for k-induction, and the largest k
_MAX_LISTED = 64  # configurations whose list is an invariant
_SEARCH = 0.8  # of what is left then, to find an invariant; the rest is to check it
_LEAST = 1.0  # seconds to check an invariant that was found, also where less is left
_CERTIFIED = 1_000  # configurations of random runs that are checked


@on_host("prove")
def prove(
    system: Explorable[ConfigurationsT, StepsT],
    query: str,
    /,
    *,
    seconds: float = SECONDS,
    inputs: Inputs | None = None,
) -> Verdict[ConfigurationsT, StepsT]:
    """Whether a condition holds of every reachable configuration, by induction: nothing is
    explored, and spikes and tokens have no bound.

    **Arguments:**

    - `system`: a system of neurons whose network does not change, without variants; or a net under
      `Sleptsov()` or `Petri()`.
    - `query`: `always p` or `never p`, where p is a condition on one configuration, or
      `on some path eventually p`; see `docs/checking.md`.
    - `seconds`: how long it may take.
    - `inputs`: input trains by neuron instead of the system's own, or `AnyInput(length)`.

    **Returns:** a `Verdict` without a graph. `certificate` holds the invariant of a proof. A
    computation that breaks the condition is its witness, and has been run. If the time is too
    short, or the first Ctrl-C ends the search, the verdict is bounded by the steps for which the
    condition is known to hold.

    **Raises:** `QueryError` (a `ValueError`) for a query that does not parse, names no neuron, or
    says something else; `NotImplementedError` for models without a transition relation;
    `ImportError` without z3, the extra `prove`.

    ??? cite "Source"
        Bradley 2011 (IC3), after facts as in Karr 1976; see `snpjax.check.induction.facts`.
    """
    if not isinstance(query, str):
        raise TypeError(f"`query` is {query!r}. Give a text, such as 'always n1 <= 4'.")
    if not isinstance(seconds, int | float | np.number) or not 0 < seconds < math.inf:
        raise ValueError(f"`seconds` is {seconds!r:.60}. Give a positive number.")
    parsed = parse_query(query)
    if not isinstance(system, Explorable):
        fix = "Pass a system of neurons, or a net."
        kind = type(system).__name__
        raise TypeError(f"An object of the type {kind} cannot be checked. {advice_on(system, fix)}")
    if inputs is not None:
        system = with_inputs(system, inputs)
    check_names(parsed, system.schema())
    wanted = invariance_of(parsed)
    if wanted is None:
        problem = (
            "only what holds of every configuration is proved by induction (write `always p` or "
            "`never p`, or use `snpjax.check`)"
        )
        raise QueryError(parsed.text, parsed.formula.start, _too_short(parsed) or problem)
    if wanted.problem is not None:
        raise QueryError(parsed.text, *wanted.problem)
    patience = Patience(seconds)
    with patience.until_interrupted():
        verdict = proved(system, wanted, seconds, patience)
    return replace(verdict, rule=system.schema().rule)


def _too_short(query: Query) -> str:
    """What to write where `always` takes only the first of several conditions; empty elsewhere."""
    first, others = query.formula, []
    while isinstance(first, And | Or | Implies):
        first, *rest = parts_of(first)
        others += rest
    match first:
        case Temporal("always" | "never", part) if others and all(
            map(is_about_one, (part, *others))
        ):
            start, end = query.formula.start, query.formula.end
            operator = query.text[first.start : part.start].rstrip("( \n\t")
            if first.start == start:
                meant = " ".join(query.text[start + len(operator) : end].split())
                taken = query.source(part)
                return f"`{operator}` takes only `{taken}` (write `{operator} ({meant})`)"
    return ""


def proved(
    system: Any, wanted: Invariance, seconds: float, patience: Patience
) -> Verdict[Any, Any]:
    """The verdict on a condition, after these seconds, or when the search is interrupted.

    **Raises:** `NotImplementedError` for models without a transition relation; `ImportError`
    without z3.
    """
    clock = Clock(seconds, patience)
    relation = relation_of(system, clock=clock_for(wanted.query, None))
    search = _Search(relation, wanted.condition, clock)
    yes, no = Status.PROVED, Status.REFUTED
    if wanted.is_negated:
        yes, no = no, yes
    try:
        invariant = search.run()
    except Refuted as found:
        return _shown(system, relation, wanted, no, found.computation)
    except OutOfTime:
        depth = search.depth
        status = Status.BOUNDED if depth else Status.UNKNOWN
        reason = f"no invariant was found in {seconds:g} seconds"
        if patience.is_interrupted:
            reason = "the search for an invariant was interrupted"
        return Verdict(status, wanted.query.text, None, depth=depth, reason=reason)
    origins = dict.fromkeys(search.origins[x] for x in invariant)
    certificate = Certificate(
        wanted.text,
        text_of(And(tuple(invariant))),
        model_digest(system),
        tuple(origins),
        search.k,
        system.schema().rule,
    )
    left = max(clock.left, _LEAST)
    checked = certified(system, certificate, left, _CERTIFIED, patience)
    if not checked.is_accepted:
        reason = f"an invariant was found, but not accepted: {checked.reason}"
        return Verdict(Status.UNKNOWN, wanted.query.text, None, reason=reason)
    return Verdict(yes, wanted.query.text, None, certificate=certificate)


def decided(
    verdict: Verdict[Any, Any], query: Query, model: Any, patience: Patience
) -> Verdict[Any, Any]:
    """A verdict on a part of a graph, or what induction finds where a limit left it open.

    - `patience`: no more than its seconds are used, and no more than 10.
    """
    wanted = invariance_of(query)
    if verdict.status is not Status.BOUNDED or wanted is None or wanted.problem is not None:
        return verdict
    seconds = SECONDS if patience.left is None else min(patience.left, SECONDS)
    try:
        found = proved(model, wanted, seconds, patience)
    except NotImplementedError:
        return verdict
    except ImportError as error:
        return replace(verdict, reason=f"{verdict.reason}; without a proof by induction: {error}")
    if found.witness is not None:
        return found
    if found.is_decided:
        return replace(found, graph=verdict.graph, depth=verdict.depth)
    depth = max(found.depth, verdict.depth)
    return replace(verdict, depth=depth, reason=f"{verdict.reason}, and {found.reason}")


class _Search:
    """The search for an invariant, and how far it got."""

    def __init__(self, relation: AbstractRelation, wanted: Formula, clock: Clock) -> None:
        self.relation, self.wanted, self.clock = relation, wanted, clock
        self.origins: dict[Formula, str] = {}
        self.samples: Samples | None = None
        self.frames: Strengthening | None = None
        self.k = 1

    @property
    def depth(self) -> int:
        """Up to this many steps the condition holds."""
        some = 0 if self.samples is None else self.samples.depth
        return max(some, 0 if self.frames is None else self.frames.depth)

    def run(self) -> list[Formula]:
        """An invariant that is inductive and implies the condition.

        **Raises:** `Refuted`; `OutOfTime`.
        """
        z3()  # at once, where it is missing
        moment = self.clock.part(_SAMPLES, most=_MAX_SAMPLES)
        self.samples = Samples(self.relation, self.wanted, moment)
        if (broken := self.samples.broken) is not None:
            raise Refuted(Counterexample(*self.samples.path(broken)))
        solver = StepSolver(self.relation, self.clock.part(_SEARCH))
        wanted = list(conjuncts(self.wanted))
        found = self._facts(solver, wanted)
        clauses: list[Formula] = []
        if not is_kept(solver, wanted, [*found, *wanted]):
            unrolled = self._unrolled(wanted, list(found))
            if unrolled is not None:
                solver, self.k = unrolled, len(unrolled.marks)
            else:
                clauses = self._clauses(solver, list(found))
        self.origins = {**dict.fromkeys(clauses, "strengthening"), **found}
        self.origins.update(dict.fromkeys(wanted, "the property"))
        solver.clock = self.clock
        return minimised(solver, wanted, [*found, *clauses])

    def _unrolled(self, wanted: Sequence[Formula], facts: Sequence[Formula]) -> StepSolver | None:
        """The steps by which the wanted conditions are k-inductive, if that is found in a part of
        the time."""
        assert self.samples is not None
        solver = StepSolver(self.relation, self.clock.part(_UNROLLED))
        most = _MAX_K if self.samples.is_complete else min(_MAX_K, self.samples.depth)
        try:
            return solver if k_inductive(solver, wanted, facts, most) else None
        except OutOfTime:
            return None

    def _clauses(self, solver: StepSolver, facts: Sequence[Formula]) -> list[Formula]:
        """Clauses that make facts and condition inductive; if none are found in time, the
        configurations themselves, where these are few.

        **Raises:** `Refuted`; `OutOfTime`.
        """
        assert self.samples is not None
        self.frames = Strengthening(solver, self.wanted, facts, self.samples)
        try:
            return self.frames.run()
        except OutOfTime:
            if self.samples.is_complete and len(self.samples.parents) <= _MAX_LISTED:
                return [Or(tuple(self._listed(state) for state in self.samples.parents))]
            raise

    def _listed(self, state: State) -> Formula:
        """A configuration as a condition. The last step that is counted stands for all later
        ones."""
        values = zip(self.relation.variables, state, self.relation.most, strict=True)
        return And(
            tuple(
                compared({v: 1}, ">=" if v == STEP and x == last else "=", x)
                for v, x, last in values
            )
        )

    def _facts(self, solver: StepSolver, wanted: Sequence[Formula]) -> dict[Formula, str]:
        """Conditions that are inductive together with what is wanted: no more than are needed, or
        as many as are found in some of the time.

        **Raises:** `OutOfTime`.
        """
        assert self.samples is not None
        relation, samples = self.relation, self.samples.kept
        if is_kept(solver, wanted):
            return {}
        few = few_facts(relation, samples, self.wanted)
        found = self._strongest(solver, few, wanted)
        if found is None or is_kept(solver, wanted, [*found, *wanted]):
            return found or {}
        more = more_facts(relation, samples, self.wanted, few)
        return self._strongest(solver, more, wanted) or found

    def _strongest(
        self, solver: StepSolver, facts: Facts, wanted: Sequence[Formula]
    ) -> dict[Formula, str] | None:
        """The facts that are inductive, if they are found in a part of the time."""
        whole = solver.clock
        solver.clock = whole.part(_FACTS)
        try:
            return strongest(solver, facts, wanted)
        except OutOfTime:
            return None
        finally:
            solver.clock = whole


def _shown(
    system: Any,
    relation: AbstractRelation,
    wanted: Invariance,
    status: Status,
    computation: Counterexample,
) -> Verdict[Any, Any]:
    """The verdict that a computation shows, which is run."""
    states, choices = computation
    assert not holds(wanted.condition, relation, states[-1])
    view = ComputationView(relation, system, states, choices)
    verdict = Verdict(
        status,
        wanted.query.text,
        None,
        witness=tuple(range(len(states))),
        edges=tuple(range(len(choices))),
        choices=view.choices,
        depth=len(choices),
        computation=view,
    )
    verdict.replay()
    return verdict
