"""A query decided from fewer configurations, where that is possible."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ...explore import Graph, Stop
from ...explore.successors import NO_EDGE
from ...machine import Explorable
from ..query.formula import Query
from ..query.names import Needs, needs_of
from ..verdict import Verdict
from .lifting import lifted
from .plan import ReducedModel, reduced
from .questions import asks_for_deadlocks
from .random_runs import halting_run
from .reductions import ALL_REDUCTIONS, AbstractReduction


#: How many configurations are looked at without reductions first, unless these are given.
_FIRST = 2**16

#: Explores a model for a query, up to a number of configurations.
Search: TypeAlias = Callable[[Explorable[Any, Any], Needs, int], Graph[Any, Any]]
#: Decides the query in a graph.
Check: TypeAlias = Callable[[Graph[Any, Any]], Verdict[Any, Any]]


def decided_by(
    model: Explorable[Any, Any],
    query: Query,
    reductions: Sequence[AbstractReduction] | None,
    search: Search,
    check: Check,
    *,
    max_configurations: int,
    max_depth: int | None,
    saturate: Mapping[str, int] | None,
) -> Verdict[Any, Any]:
    """The verdict on a query.

    With `reductions`, from a graph that those of them reduce that apply. By default from the full
    graph; only if that is too large, from one that is reduced by all that apply. Where the
    question is whether something halts, and the graph is too large, random runs are tried, too.
    """
    needs = needs_of(query, model, saturate=saturate, max_depth=max_depth)
    if reductions == ():
        return check(search(model, needs, max_configurations))
    if reductions is not None:
        plan = reduced(model, query, reductions, saturate=needs.saturate)
        most = max_configurations
        graph, found = _found(model, plan, query, needs, search, check, most, saturate)
        if _is_cut_short(graph, found):
            shown = _by_random_runs(model, query, needs, graph, check)
            found = found if shown is None else shown
        return replace(found, reductions=plan.used, not_reduced=plan.unused)
    graph = search(model, needs, min(max_configurations, _FIRST))
    first = check(graph)
    if not _is_cut_short(graph, first):
        return first
    shown = _by_random_runs(model, query, needs, graph, check)
    if shown is not None:
        return shown
    plan = reduced(model, query, ALL_REDUCTIONS, saturate=needs.saturate)
    if plan.used:
        most = max_configurations
        _, found = _found(model, plan, query, needs, search, check, most, saturate)
        if found.is_decided:
            return replace(found, reductions=plan.used)
    if max_configurations <= _FIRST:
        return first
    return check(search(model, needs, max_configurations))


def _is_cut_short(graph: Graph[Any, Any], found: Verdict[Any, Any]) -> bool:
    """Whether a graph is too large for a verdict."""
    return not found.is_decided and graph.stop is Stop.MAX_CONFIGURATIONS


def _by_random_runs(
    model: Explorable[Any, Any],
    query: Query,
    needs: Needs,
    graph: Graph[Any, Any],
    check: Check,
) -> Verdict[Any, Any] | None:
    """The verdict that a random run shows, where the question is whether something halts.

    - `graph`: the part of the graph that was explored.
    """
    if not asks_for_deadlocks(query):
        return None
    run = halting_run(model, needs, graph.lowering)
    shown = None if run is None else check(run)
    if shown is None or shown.witness is None:
        return None
    return replace(shown, graph=graph, depth=graph.whole_depth, vacuous=(), computation=run)


def _found(
    model: Explorable[Any, Any],
    plan: ReducedModel,
    query: Query,
    needs: Needs,
    search: Search,
    check: Check,
    max_configurations: int,
    saturate: Mapping[str, int] | None,
) -> tuple[Graph[Any, Any], Verdict[Any, Any]]:
    """The graph of a reduced model, and the verdict in it with a computation of the original one.
    Where nothing is reduced, those of the model itself."""
    if not plan.used:
        graph = search(model, needs, max_configurations)
        return graph, check(graph)
    own = needs
    if plan.kept is not None:
        names = set(plan.schema().columns or ())
        given = {name: most for name, most in (saturate or {}).items() if name in names}
        own = needs_of(query, plan, saturate=given, max_depth=None)
    graph = search(plan, own, max_configurations)
    found = check(graph)
    if plan.families or plan.watched is not None:
        found = replace(found, vacuous=())  # parts of the query may be true elsewhere
    if plan.watched is not None and not found.is_decided:
        found = replace(found, depth=0)  # steps that were left out may come earlier
    if found.witness is None:
        return graph, found
    shown = lifted(model, plan, graph, found.witness, found.loop, needs)
    is_made = np.asarray(shown.edges) != NO_EDGE
    return graph, replace(
        found,
        witness=tuple(range(shown.graph.num_configurations)),
        loop=shown.loop,
        edges=tuple(shown.edges.tolist()),
        choices=shown.graph.choices_along(shown.edges, is_made),
        computation=shown.graph,
    )
