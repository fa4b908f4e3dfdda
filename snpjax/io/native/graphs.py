"""Graphs of projections in the native JSON: `{"kind": "intervals", "start": [0], "stop": [3]}`.

A kind is a class of `snpjax.graphs`, and the other keys are its arguments.
"""

from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np

from snpjax_formats import graphs

from ..json_checks import Findings
from ..json_text import JsonPath
from .numbers import NumberReader


KINDS: dict[str, type[graphs.AbstractGraph]] = {
    "all_to_all": graphs.AllToAll,
    "one_to_one": graphs.OneToOne,
    "intervals": graphs.Intervals,
    "pairs": graphs.Pairs,
    "random_in_degree": graphs.RandomInDegree,
    "random_pairs": graphs.RandomPairs,
    "procedural": graphs.Procedural,
    "blocks": graphs.Blocks,
}


def read_graph(findings: Findings, value: object, path: JsonPath) -> graphs.AbstractGraph | None:
    """The graph, or `None` after a mistake, which is noted."""
    entries = findings.entries(value, path, "the graph", required=("kind",))
    if entries is None:
        return None
    kind = entries.values["kind"]
    of_kind = KINDS.get(kind) if isinstance(kind, str) else None
    if of_kind is None:
        fix = f"write one of {', '.join(KINDS)}"
        return findings.wrong(kind, (*path, "kind"), "the kind of graph", fix)
    arguments = {field.name: field for field in fields(of_kind)}  # pyright: ignore[reportArgumentType]
    findings.mapping(value, path, "the graph", ("kind", *arguments))
    is_sound = entries.values.keys() <= {"kind", *arguments}
    entries = replace(entries, what=f"the graph {kind!r}")
    readers, taken = _readers(findings), {}
    if kind == "pairs":
        readers["weight"] = NumberReader(findings).integer_or_row
    for name, field in arguments.items():
        if name in entries or field.default is MISSING:
            taken[name] = entries.take(name, readers.get(name, NumberReader(findings).integer))
            is_sound &= taken[name] is not None
    if not is_sound:
        return None
    try:
        return of_kind(**taken)
    except ValueError as error:
        findings.error(path, f"the graph {kind!r}: {error}")
        return None


def _readers(findings: Findings) -> dict[str, Callable[[object, JsonPath, str], Any]]:
    """What reads each argument; those that are not here are integers of 64 bits."""
    numbers = NumberReader(findings)

    def side(value: object, path: JsonPath, what: str) -> str | None:
        if value in ("source", "target"):
            return f"{value}"
        return findings.wrong(value, path, what, 'write "source" or "target"')

    def sizes(value: object, path: JsonPath, what: str) -> tuple[int, int] | None:
        sizes = numbers.row(value, path, what)
        if sizes is None or len(sizes) == 2:
            return None if sizes is None else (int(sizes[0]), int(sizes[1]))
        message = f"{what} has {len(sizes)} numbers (write those of sources and of targets)"
        findings.error(path, message)
        return None

    def probability(value: object, path: JsonPath, what: str) -> float | None:
        if type(value) in (int, float):
            return value  # pyright: ignore[reportReturnType]
        return findings.wrong(value, path, what, "write a number from 0 to 1")

    return {
        "self_edges": findings.truth,
        "by": side,
        **dict.fromkeys(("start", "stop"), numbers.row_or_table),
        **dict.fromkeys(("source", "target"), numbers.row),
        "weights": numbers.table,
        "sizes": sizes,
        "probability": probability,
        "seed": findings.integer,  # of any number of bits
    }


def graph_entries(
    graph: graphs.AbstractGraph, num_sources: int, num_targets: int
) -> dict[str, Any]:
    """A graph as values of JSON; of a class that is none of `snpjax.graphs` that of its edges."""
    names = {of_kind: kind for kind, of_kind in KINDS.items()}
    if type(graph) not in names:
        graph = graphs.Pairs.of(graph.edges(num_sources, num_targets))
    entries: dict[str, Any] = {"kind": names[type(graph)]}
    for field in fields(graph):  # pyright: ignore[reportArgumentType]
        value = getattr(graph, field.name)
        if field.default is MISSING or not np.array_equal(value, field.default):
            entries[field.name] = _plain(value)
    return entries


def num_random(graph: graphs.AbstractGraph, size: int) -> float:
    """The random numbers that listing a graph from a population to itself takes."""
    match graph:
        case graphs.RandomInDegree():
            return size * graph.in_degree if 2 * graph.in_degree <= size else size * size
        case graphs.RandomPairs():
            return graph.probability * size * size
        case graphs.Procedural():
            return size * (size if graph.in_degree is None else graph.in_degree)
    return 0


def _plain(value: Any) -> Any:
    """A value of JSON. A table without rows cannot say how long they are: it gets an empty run."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and len(value) == 0:
        return [[0] * value.shape[1]]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
