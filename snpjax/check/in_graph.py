"""A query decided in a configuration graph."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from ..choice import GivenChoices
from ..explore import Graph
from ..explore.successors import NO_EDGE
from .query.errors import QueryError
from .query.formula import Query, all_parts
from .query.names import check_clock, check_names
from .temporal.automaton import TooLarge
from .temporal.kripke import Structure
from .temporal.kripke_of_graph import labels_of, view_of, without_steps
from .temporal.labels import Labelling
from .temporal.paths import Checker
from .temporal.product import Path
from .temporal.vacuity import along, needless, vacuous
from .verdict import LIMITS, Status, Verdict


def check_query(graph: Graph, query: Query) -> Verdict:
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
    some, claim = query.comparisons, Claim(graph, query.text, query.on_all_paths)
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


class Claim(NamedTuple):
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
    """With remarks on what is vacuous: in all configurations, or on the path of the witness."""
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
