"""The names that the files of `snpjax.io.write_graph` have for what a query speaks of."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...explore import Graph
from ...explore.text import column_names, configuration_blocks, count_table, tables
from ..exports.identifiers import identifiers
from .formula import (
    Comparison,
    Formula,
    Observed,
    Query,
    Variable,
    comparisons,
    factors_of,
    parts_of,
    with_part,
)
from .names import check_clock, check_names, decided_from


#: The text of a number or condition.
Word = Callable[[Variable], str]


def in_files(
    query: Query, formula: Formula, graph: Graph[Any, Any], *, prism: bool
) -> tuple[Formula, Word]:
    """A formula of a query without what is 0 in a graph's file, and the names of all else.

    **Raises:** `QueryError` for names and steps that the graph does not have; `ValueError` for what
    the file does not have.
    """
    check_names(query, graph.schema)
    check_clock(query, graph.clock)
    if graph.schema.columns is None:
        raise ValueError("The files of a network that changes have slots. Write the names by hand.")
    for comparison in comparisons(formula):
        _check(comparison, graph)
    names = column_names(graph)
    ids = dict(zip(names, identifiers(names), strict=True))
    counts = count_table(graph.schema, graph.configurations(slice(0, 1))).prefix
    closing = _ever_closed(graph) if prism else _delayed(graph)

    def word(variable: Variable) -> str:
        match variable.observed:
            case Observed.HALTED:
                return '"halting"' if prism else "halting"
            case Observed.STEP:
                return "step"
            case Observed.SPIKES:
                return f"{counts}_{ids[variable.neuron]}"
        return f"{variable.observed.value}_{ids[variable.neuron]}"

    def kept(part: Formula) -> Formula:
        if isinstance(part, Comparison):
            terms = tuple(
                (monomial, x)
                for monomial, x in part.terms
                if all(
                    v.observed not in _OF_DELAYS or v.neuron in closing
                    for v in factors_of(monomial)
                )
            )
            return Comparison(terms, part.relation, part.constant, part.modulus)
        for number, inner in enumerate(parts_of(part)):
            part = with_part(part, number, kept(inner))
        return part

    return kept(formula), word


_OF_DELAYS = (Observed.TIMER, Observed.PENDING)
_WRITTEN = (Observed.SPIKES, Observed.STEP, Observed.HALTED, *_OF_DELAYS)


def _check(comparison: Comparison, graph: Graph[Any, Any]) -> None:
    for variable in comparison.variables:
        observed, name = variable.observed, variable.neuron
        if observed not in _WRITTEN:
            raise ValueError(
                f"The files have no `{observed.value}` as queries mean it: of the step that led to "
                "a configuration, or of a kind of its own. Leave it out, or leave out `graph`."
            )
        cap = graph.saturate.get(name) if observed is Observed.SPIKES else None
        if cap is not None and not (
            comparison.decides_a_number and decided_from(comparison) <= cap
        ):
            raise ValueError(f"The graph counts {name!r} up to {cap} only. Explore it up to more.")


def _delayed(graph: Graph[Any, Any]) -> set[str]:
    """The neurons whose timers an .smv file has."""
    neurons = getattr(graph.system, "neurons", ())
    return {n.name for n in neurons if any(getattr(rule, "delay", 0) for rule in n.rules)}


def _ever_closed(graph: Graph[Any, Any]) -> set[str]:
    """The neurons whose timers a .sta file has."""
    names = column_names(graph)
    is_used = np.zeros(len(names), bool)
    for _, some in configuration_blocks(graph):
        for table in tables(graph, some).values():
            if table.prefix in ("timer", "pending"):
                is_used |= table.values.any(axis=0)
    return {name for name, used in zip(names, is_used.tolist(), strict=True) if used}
