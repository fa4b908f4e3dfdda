"""Lists of synapses as the graphs that they are."""

import numpy as np
from jaxtyping import Int

from snpjax_formats import graphs

from .families import Irregular


def graph_of(
    source: Int[np.ndarray, " edges"],
    target: Int[np.ndarray, " edges"],
    num_sources: int,
    num_targets: int,
) -> graphs.AbstractGraph:
    """The description of a list of edges that needs least."""
    key = source * np.int64(num_targets) + target
    if np.any(key[1:] <= key[:-1]):
        key.sort()
    if np.any(key[1:] == key[:-1]):
        raise Irregular  # a repeated synapse
    if len(key) == num_sources * num_targets:
        return graphs.AllToAll()
    source, target = (x.astype(np.int32) for x in np.divmod(key, num_targets))
    if num_sources == num_targets:
        if len(key) == num_sources and np.array_equal(source, target):
            return graphs.OneToOne()
        if len(key) == num_sources * (num_sources - 1) and not np.any(source == target):
            return graphs.AllToAll(self_edges=False)
    intervals = intervals_of(source, target, num_sources, num_targets, least=_LEAST_RUN)
    return graphs.Pairs(source, target) if intervals is None else intervals


_MAX_RUNS = 4
_LEAST_RUN = 4  # shorter ones on average are better listed


def intervals_of(
    source: Int[np.ndarray, " edges"],
    target: Int[np.ndarray, " edges"],
    num_sources: int,
    num_targets: int,
    *,
    least: int,
) -> graphs.Intervals | None:
    """Edges, sorted by source, as runs of targets or of sources; `None` where there are many for
    one neuron, or they are shorter than `least` on average."""
    runs = _runs(source, target, num_sources, least)
    if runs is not None:
        return graphs.Intervals(*runs)
    order = np.lexsort((source, target))
    runs = _runs(target[order], source[order], num_targets, least)
    return None if runs is None else graphs.Intervals(*runs, by="target")


def _runs(
    row: np.ndarray, column: np.ndarray, num_rows: int, least: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """`start` and `stop` of each row's runs, `(runs, rows)`; `None` where they are many or short.

    The edges are sorted by row, then column.
    """
    begins = np.concatenate([[True], (row[1:] != row[:-1]) | (column[1:] != column[:-1] + 1)])
    first = np.flatnonzero(begins)
    if len(row) < least * len(first):
        return None
    owner = row[first]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    num_runs = int(rank.max()) + 1
    if num_runs > _MAX_RUNS:
        return None
    start = np.zeros((num_runs, num_rows), np.int32)
    stop = np.zeros((num_runs, num_rows), np.int32)
    start[rank, owner] = column[first]
    stop[rank, owner] = column[np.append(first[1:], len(row)) - 1] + 1
    return (start[0], stop[0]) if num_runs == 1 else (start, stop)
