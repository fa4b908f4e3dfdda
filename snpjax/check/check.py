"""`check`: a property of all computations of a system, decided from its configuration graph."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Int

from ..choice import GivenChoices
from ..explore import Graph, Inputs, MemoryLimits, Patience, Stop, explore
from ..explore.conditions import condition_of
from ..explore.explore import with_inputs
from ..explore.successors import NO_EDGE
from ..machine import (
    AbstractCapacity,
    ConfigurationsT,
    Explorable,
    LayoutLike,
    StepsT,
    advice_on,
)
from ..scale.checkpoint import Checkpoint
from .induction.prove import decided
from .probability.answer import answer, check_choices, check_choosers
from .query.errors import QueryError
from .query.formula import Query, all_parts
from .query.names import Needs, check_clock, check_names, needs_of
from .query.number_query import NumberQuery, parse_property
from .reduction.decide import decided_by
from .reduction.plan import ReducedModel
from .reduction.reductions import AbstractReduction
from .temporal.automaton import TooLarge
from .temporal.kripke import Structure
from .temporal.kripke_of_graph import labels_of, view_of, without_steps
from .temporal.labels import Labelling
from .temporal.paths import Checker
from .temporal.product import Path
from .temporal.vacuity import along, needless, vacuous
from .tracing import on_host
from .verdict import LIMITS, Status, Verdict


#: Found of a system, if no other limit is given.
MAX_CONFIGURATIONS = 1_000_000


@on_host("check")
def check(
    subject: Explorable[ConfigurationsT, StepsT] | Graph[ConfigurationsT, StepsT],
    property: str | Callable[[ConfigurationsT], Bool[np.ndarray, " configurations"]],
    /,
    *,
    fair: Sequence[str] = (),
    chosen: Sequence[str] | Literal["all"] = (),
    max_configurations: int | None = None,
    max_depth: int | None = None,
    inputs: Inputs | None = None,
    saturate: Mapping[str, int] | None = None,
    layout: LayoutLike | None = None,
    capacity: AbstractCapacity | None = None,
    mesh: Mesh | None = None,
    memory: MemoryLimits | None = None,
    exact: bool | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None] | None = None,
    induction: bool = True,
    reductions: Sequence[AbstractReduction] | None = None,
    seconds: float | None = None,
) -> Verdict[ConfigurationsT, StepsT]:
    """Whether a property holds of all computations of a system.

    **Arguments:**

    - `subject`: a system, a net, another model that `explore` takes, or a graph of `explore`.
    - `property`: a query, see `docs/checking.md`, or a function of `Configurations` that says of
      each whether it is as it always should be: `lambda c: c["n3"] <= 4`.
    - `fair`: conditions that hold infinitely often on all paths that the query is about; or
      formulas of these paths, such as `infinitely often p implies infinitely often q`.
    - `chosen`: of a question for a number, the neurons whose rules somebody chooses, knowing the
      configuration, or `"all"`; of a net only that. All other choices are random: each choice of a
      configuration that agrees with what is chosen is equally likely.
    - `max_configurations` (1,000,000 by default), `max_depth`, `inputs`, `saturate`, `layout`,
      `capacity`, `mesh`, `memory`, `exact`, `checkpoint`, `progress`: how a system is explored, see
      `explore`. For a query, neurons without rules are saturated, and steps told apart, as far as
      it needs; `saturate` has precedence.
    - `induction`: where a limit ends the search, and the query says that a condition always holds,
      try a proof by induction, see `prove`.
    - `reductions`: how to decide a query from fewer configurations: `Symmetry()`, `StubbornSets()`
      and `ConeOfInfluence()`, of which those are used whose conditions hold. By default all of
      them, but only if the full graph is larger than 65,536 configurations; `()` for none.
    - `seconds`: the time for all of that; `None` for no limit. When it is over, or after the first
      Ctrl-C, the verdict is about what was found until then. A second Ctrl-C is an exception.

    **Returns:** a `Verdict`. One step is one transition, and halting configurations follow
    themselves, so that all computations are infinite.

    **Raises:** `QueryError` (a `ValueError`) for a query that does not parse, names no neuron, or
    has too many operators, with the place; `ValueError` for a function that gives no booleans;
    `CheckpointError` for checkpoints of another call.
    """
    asked = parse_property(property, fair=fair) if isinstance(property, str) else None
    question = asked if isinstance(asked, NumberQuery) else None
    query = None if isinstance(asked, NumberQuery) else asked
    if question is not None:
        check_choices(question, chosen)
    elif len(chosen):
        raise ValueError("`chosen` is for questions for a number, such as `Pmin=? [ ... ]`.")
    if asked is None and not callable(property):
        raise TypeError(f"{property!r} is no property. Give a query, or a function.")
    if asked is None and fair:
        raise ValueError("A function is checked in each configuration. Give a query for `fair`.")
    if isinstance(subject, Graph):
        graph = subject
        check_choosers(graph.system, chosen)
        limits = (max_configurations, max_depth, inputs, saturate, layout, capacity)
        how = (mesh, memory, exact, checkpoint, progress, reductions, seconds)
        if any(x is not None for x in (*limits, *how)):
            raise ValueError("A graph is explored already. Give limits and inputs to `explore`.")
        if graph.stop is Stop.ONE_COMPUTATION or isinstance(graph.system, ReducedModel):
            raise ValueError(
                "This graph is not the full one: it was reduced for another query, or is a single "
                "computation. Check the model, or a graph of `explore`."
            )
    elif not isinstance(subject, Explorable):
        fix = "Pass a system, a net, a graph, or a model with `enumerable` and `schema`."
        raise TypeError(f"{subject!r} cannot be checked. {advice_on(subject, fix)}")
    else:
        if inputs is not None:
            subject = with_inputs(subject, inputs)
        check_choosers(subject, chosen)
        limit = MAX_CONFIGURATIONS if max_configurations is None else max_configurations
        patience = Patience(seconds)

        def search(model: Explorable, needs: Needs, most: int) -> Graph:
            return explore(
                model,
                max_configurations=most,
                max_depth=max_depth,
                saturate=needs.saturate,
                clock=needs.clock,
                layout="auto" if layout is None else layout,
                capacity=capacity,
                mesh=mesh,
                memory=memory or MemoryLimits(),
                exact=exact is not False,
                checkpoint=checkpoint,
                progress=progress,
                seconds=patience,
            )

        with patience.until_interrupted():
            if question is not None and reductions:
                raise ValueError("A number is computed from the graph. Leave out `reductions`.")
            if question is not None:
                needs = needs_of(question.query, subject, saturate=saturate, max_depth=max_depth)
                graph = search(subject, needs, limit)
            elif query is not None:
                verdict = decided_by(
                    subject,
                    query,
                    _reductions(reductions, is_plain=mesh is None and checkpoint is None),
                    search,
                    lambda graph: _check_query(graph, query),
                    max_configurations=limit,
                    max_depth=max_depth,
                    saturate=saturate,
                )
                return _by_induction(verdict, query, subject, patience) if induction else verdict
            elif reductions:
                raise ValueError(
                    "What a function reads is unknown. Give a query, or no `reductions`."
                )
            else:
                graph = search(subject, Needs(saturate or {}, 0), limit)
    if question is not None:
        check_names(question.query, graph.schema)
        check_clock(question.query, graph.clock)
        return answer(graph, question, None if chosen == "all" else chosen)
    if query is None:
        assert not isinstance(property, str)
        holds, is_cut = condition_of(graph, property)
        name = getattr(property, "__name__", repr(property))
        return _Claim(graph, f"always {name}", True).always(holds & ~is_cut, holds | is_cut)
    verdict = _check_query(graph, query)
    return _by_induction(verdict, query, graph.system) if induction else verdict


def _by_induction(
    verdict: Verdict, query: Query, model: Any, patience: Patience | None = None
) -> Verdict:
    """The verdict, or what induction finds where a limit left it open. Counterexamples and proofs
    are about all paths, fair or not."""
    if query.fair or (patience is not None and patience.stop() is not None):
        return verdict
    return decided(verdict, query, model, None if patience is None else patience.left)


def _reductions(
    given: Sequence[AbstractReduction] | None, *, is_plain: bool
) -> Sequence[AbstractReduction] | None:
    """The reductions to use; `None` for those that turn out to be needed.

    **Raises:** `TypeError` for what is not a reduction; `ValueError` with a mesh or a checkpoint.
    """
    if given is None:
        return None if is_plain else ()
    if isinstance(given, AbstractReduction):
        given = (given,)
    for one in given:
        if not isinstance(one, AbstractReduction):
            fix = "Give Symmetry(), StubbornSets() or ConeOfInfluence()"
            raise TypeError(f"`reductions` has {one!r}. {fix}, or () for none.")
    if given and not is_plain:
        raise ValueError(
            "A search over a mesh, or with checkpoints, is not reduced. Leave out `reductions`, or "
            "`mesh` and `checkpoint`."
        )
    return tuple(given)


def _check_query(graph: Graph, query: Query) -> Verdict:
    """The verdict in a graph. **Raises:** `QueryError` for names that the graph does not have, and
    for too many operators."""
    check_names(query, graph.schema)
    check_clock(query, graph.clock)
    try:
        return _decided_in(graph, query)
    except TooLarge as error:
        raise QueryError(query.text, 0, str(error)) from None
    except MemoryError:
        reason = "the product of the graph with the query does not fit into memory"
        return Verdict(Status.UNKNOWN, query.text, graph, depth=graph.whole_depth, reason=reason)


def _decided_in(graph: Graph, query: Query) -> Verdict:
    some, claim = query.comparisons, _Claim(graph, query.text, query.on_all_paths)
    always = query.invariant
    if always is not None and not any(comparison.is_of_step for comparison in some):
        labels = labels_of(graph, some)
        surely, may = (labels.where(always, may=may) for may in (False, True))
        found = claim.always(surely, may)
        path = None if found.witness is None else Path(list(found.witness))
        return _remarked(found, query, without_steps(graph), labels, path)
    view = view_of(graph, some)
    checker, initial = (
        Checker(view.structure, view.labels, query.fair_paths),
        view.structure.initial,
    )
    path = checker.path(query.quantified, initial)
    if path is not None:
        edges = view.edges(path.states)
        choices = graph.choices_along(edges, edges != NO_EDGE)
        states = view.configuration[path.states].tolist()
        found = claim.shown(states, edges, choices, path.loop)
        own = {part: query.source(part) for part in all_parts(query.formula)}
        unseen = (f"`{own[x]}` is {'true' if holds else 'false'}" for x, holds in path.unseen)
        found = replace(found, unseen=tuple(unseen))
    else:
        is_exact = view.labels.are_exact
        is_sure = is_exact and not view.structure.is_open.any()
        is_sure = is_sure or not checker.may_have_path(query.quantified, initial)
        found = claim.without_witness(is_sure, is_exact=is_exact)
    remarked = _remarked(found, query, view.structure, view.labels, path)
    if remarked.is_proved and not remarked.vacuous:
        remarks = dict.fromkeys(needless(query, checker, initial))
        remarked = replace(remarked, vacuous=tuple(remarks))
    return remarked


class _Claim(NamedTuple):
    """What is claimed of a graph, and the verdicts on it."""

    graph: Graph
    text: str
    on_all_paths: bool

    def always(self, surely: np.ndarray, may: np.ndarray) -> Verdict:
        """Of a condition on all configurations: the numbers of these are in breadth-first order, so
        that no edges are needed."""
        graph = self.graph
        if not may.all():
            first = int(np.argmin(may))
            path, edges = graph.path_to(first), graph.edges_to(first)
            return self.shown(path, edges, graph.witness(first))
        is_sure = graph.is_complete and bool(surely.all())
        return self.without_witness(is_sure, is_exact=np.array_equal(surely, may))

    def shown(
        self,
        path: Sequence[int],
        edges: Int[np.ndarray, " steps"],
        choices: GivenChoices,
        loop: int | None = None,
    ) -> Verdict:
        """The verdict that a path shows."""
        return Verdict(
            Status.REFUTED if self.on_all_paths else Status.PROVED,
            self.text,
            self.graph,
            witness=tuple(path),
            loop=loop,
            edges=tuple(edges.tolist()),
            choices=choices,
            depth=self.graph.whole_depth,
        )

    def without_witness(self, is_sure: bool, *, is_exact: bool) -> Verdict:
        """The verdict that no path shows."""
        graph = self.graph
        status, reason = Status.PROVED if self.on_all_paths else Status.REFUTED, ""
        if not is_sure:
            status = Status.BOUNDED if graph.stop in LIMITS and is_exact else Status.UNKNOWN
            reason = graph.reason
            if not is_exact:
                reason = "a number was cut off where it is compared, by `saturate` or `clock`"
        return Verdict(status, self.text, graph, depth=graph.whole_depth, reason=reason)


def _remarked(
    verdict: Verdict,
    query: Query,
    structure: Structure,
    labels: Labelling,
    path: Path | None,
) -> Verdict:
    """With remarks on what is vacuous: in all configurations, or on the path that is asked for."""
    if verdict.is_refuted or verdict.status is Status.UNKNOWN:
        return verdict
    if not query.on_all_paths and path is None:
        return verdict
    never, is_path = "is never true", path is not None
    if path is not None:
        structure, labels = along(path, labels)
        never = "is never true on the path shown"
    elif verdict.graph is not None and not verdict.graph.is_complete:
        never = "is true in no configuration that was found"
    found = vacuous(query, structure, labels, never, query.fair_paths, is_path=is_path)
    remarks = dict.fromkeys(found)
    return replace(verdict, vacuous=tuple(remarks))
