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
from .questions import goal_of
from .random_runs import run_to
from .reductions import ALL_REDUCTIONS, AbstractReduction


#: How many configurations are looked at before random runs are tried, where these may decide a
#: query, and how many before reductions, unless these are given.
_FEW, _FIRST = 2**12, 2**16

#: Explores a model for a query, up to a number of configurations.
Search: TypeAlias = Callable[[Explorable[Any, Any], Needs, int], Graph[Any, Any]]
#: Decides the query in a graph.
Check: TypeAlias = Callable[[Graph[Any, Any], Query], Verdict[Any, Any]]


class FullGraph:
    """The graph of a model, explored as far as it is needed for queries that share it.

    - `needs`: how it is explored.
    - `limit`: the most configurations to explore.
    - `is_over`: whether the time for that is over.
    """

    def __init__(
        self,
        model: Explorable[Any, Any],
        needs: Needs,
        search: Search,
        limit: int,
        is_over: Callable[[], bool],
    ) -> None:
        self.model, self.needs, self.search = model, needs, search
        self.limit, self.is_over = limit, is_over
        self._graph: Graph[Any, Any] | None = None
        self._most = 0

    def explored(self, most: int | None = None) -> Graph[Any, Any]:
        """The graph, as far as it is known already if these are `most` configurations or more, up
        to the limit."""
        most = self.limit if most is None else min(most, self.limit)
        is_cut = self._graph is None or self._graph.stop is Stop.MAX_CONFIGURATIONS
        if self._graph is None or (is_cut and self._most < most):
            self._graph, self._most = self.search(self.model, self.needs, most), most
        return self._graph


def decided_by(
    full: FullGraph,
    query: Query,
    reductions: Sequence[AbstractReduction] | None,
    check: Check,
    *,
    saturate: Mapping[str, int] | None,
) -> Verdict[Any, Any]:
    """The verdict on a query.

    With `reductions`, from a graph that those of them reduce that apply. By default from the full
    graph; only if that is too large, from one that is reduced by all that apply. Where the
    question is whether a configuration is reachable, and a small graph does not decide it, random
    runs are tried before a larger one.
    """
    if reductions == ():
        return check(full.explored(), query)
    plan = None
    if reductions is not None:
        plan = reduced(full.model, query, reductions, saturate=full.needs.saturate)
    found = _in_few(full, plan, query, check, saturate)
    if plan is not None:
        if found is None:
            found = _found(full, plan, query, check, full.limit, saturate)[1]
        return replace(found, reductions=plan.used, not_reduced=plan.unused)
    if found is not None:
        return found
    graph = full.explored(_FIRST)
    first = check(graph, query)
    if not _is_cut_short(graph, first):
        return first
    plan = reduced(full.model, query, ALL_REDUCTIONS, saturate=full.needs.saturate)
    if plan.used:
        _, found = _found(full, plan, query, check, full.limit, saturate)
        if found.is_decided:
            return replace(found, reductions=plan.used)
    return first if full.limit <= _FIRST else check(full.explored(), query)


def _in_few(
    full: FullGraph,
    plan: ReducedModel | None,
    query: Query,
    check: Check,
    saturate: Mapping[str, int] | None,
) -> Verdict[Any, Any] | None:
    """The verdict on whether a configuration is reachable in a small graph or, if it is larger, by
    random runs; `None` where neither decides it, and for other queries."""
    if goal_of(query) is None:
        return None
    graph, found = _found(full, plan or ReducedModel(full.model), query, check, _FEW, saturate)
    if not _is_cut_short(graph, found):
        return found
    run = run_to(query, full.model, full.needs, graph.lowering, full.is_over)
    if run is None:
        return None
    return replace(
        check(run, query),
        graph=graph,
        depth=graph.whole_depth,
        vacuous=(),
        computation=run,
        found_by="random runs",
    )


def _is_cut_short(graph: Graph[Any, Any], found: Verdict[Any, Any]) -> bool:
    """Whether a graph is too large for a verdict."""
    return not found.is_decided and graph.stop is Stop.MAX_CONFIGURATIONS


def _found(
    full: FullGraph,
    plan: ReducedModel,
    query: Query,
    check: Check,
    most: int,
    saturate: Mapping[str, int] | None,
) -> tuple[Graph[Any, Any], Verdict[Any, Any]]:
    """The graph of a reduced model, and the verdict in it with a computation of the original one.
    Where nothing is reduced, those of the model itself."""
    if not plan.used:
        graph = full.explored(most)
        return graph, check(graph, query)
    needs = own = full.needs
    if plan.kept is not None:
        names = set(plan.schema().columns or ())
        given = {name: most for name, most in (saturate or {}).items() if name in names}
        own = needs_of(query, plan, saturate=given, max_depth=None)
    graph = full.search(plan, own, min(most, full.limit))
    found = check(graph, query)
    if plan.families or plan.watched is not None:
        found = replace(found, vacuous=())  # parts of the query may be true elsewhere
    if plan.watched is not None and not found.is_decided:
        found = replace(found, depth=0)  # steps that were left out may come earlier
    if found.witness is None:
        return graph, found
    shown = lifted(full.model, plan, graph, found.witness, found.loop, needs)
    is_made = np.asarray(shown.edges) != NO_EDGE
    return graph, replace(
        found,
        witness=tuple(range(shown.graph.num_configurations)),
        loop=shown.loop,
        edges=tuple(shown.edges.tolist()),
        choices=shown.graph.choices_along(shown.edges, is_made),
        computation=shown.graph,
    )
