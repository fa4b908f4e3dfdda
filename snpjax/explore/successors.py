"""What follows each configuration, halting ones following themselves."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Int


if TYPE_CHECKING:
    from .graph import Graph

#: In place of an edge: a halting configuration stays as it is.
NO_EDGE = -1


def ranges(
    first: Int[np.ndarray, " rows_and_one"], rows: Int[np.ndarray, " some"]
) -> tuple[Int[np.ndarray, " places"], Int[np.ndarray, " places"]]:
    """The places `first[i]` to `first[i + 1]` of some rows i, one row after the other, and which of
    the rows each is of."""
    counts = first[rows + 1] - first[rows]
    of = np.repeat(np.arange(len(rows)), counts)
    return np.arange(len(of)) + (first[rows] - (np.cumsum(counts) - counts))[of], of


class Following(NamedTuple):
    """Steps, those of configuration i from `first[i]` to `first[i + 1]`: its edges or, where it
    halts, one to itself. Where more may follow there is none.

    - `targets`: where each step leads.
    - `edges`: the edge of each, or `NO_EDGE`.
    """

    first: Int[np.ndarray, " configurations_and_one"]
    targets: Int[np.ndarray, " steps"]
    edges: Int[np.ndarray, " steps"]


def following(graph: "Graph") -> Following:
    """The steps of a graph. **Raises:** `ValueError` if its edges were not kept."""
    is_halting = graph.is_halting
    counts = is_halting.astype(np.int64)
    counts[: graph.num_expanded] += np.diff(graph.first_edge)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    halts = np.flatnonzero(is_halting)
    is_loop = np.zeros(first[-1], bool)
    is_loop[first[halts]] = True
    targets = np.empty(len(is_loop), graph.edge_targets.dtype)
    targets[is_loop], targets[~is_loop] = halts, graph.edge_targets
    edges = np.full(len(is_loop), NO_EDGE)
    edges[~is_loop] = np.arange(graph.num_choices)
    return Following(first, targets, edges)
