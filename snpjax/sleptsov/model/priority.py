"""Priorities: a total order of the transitions that extends the relation."""

import numpy as np
from jaxtyping import Int


def priority_order(
    pairs: Int[np.ndarray, "pairs 2"], num_transitions: int
) -> Int[np.ndarray, " transitions"] | None:
    """The canonical order, the first to be asked first; `None` if the relation has a cycle.

    The layer of a transition is the length of the longest chain of priorities above it. Layers
    come one after the other; in the first one transitions are in order, in any other by the
    position of the first of their direct predecessors, then in order.
    """
    layers = _layers(pairs, num_transitions)
    return None if layers is None else np.concatenate([np.zeros(0, np.int64), *layers])


def num_layers(pairs: Int[np.ndarray, "pairs 2"], num_transitions: int) -> int:
    """How many transitions the longest chain of priorities has."""
    layers = _layers(pairs, num_transitions)
    return 0 if layers is None else len(layers)


def _layers(
    pairs: Int[np.ndarray, "pairs 2"], num_transitions: int
) -> list[Int[np.ndarray, " layer"]] | None:
    """The transitions by layers, each in order."""
    if len(pairs) == 0:
        return [np.arange(num_transitions)] if num_transitions else []
    beats, beaten = pairs[np.argsort(pairs[:, 0], kind="stable")].T
    starts = np.zeros(num_transitions + 1, np.int64)
    np.cumsum(np.bincount(beats, minlength=num_transitions), out=starts[1:])
    num_above = np.bincount(beaten, minlength=num_transitions)  # those not placed yet
    first_above = np.full(num_transitions, num_transitions)
    layer = np.flatnonzero(num_above == 0)
    layers, placed = [], 0
    while len(layer):
        layer = layer[np.lexsort((layer, first_above[layer]))]
        layers.append(layer)
        degrees = starts[layer + 1] - starts[layer]
        position = np.repeat(np.arange(placed, placed + len(layer)), degrees)
        placed += len(layer)
        within = np.arange(len(position)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
        below = beaten[np.repeat(starts[layer], degrees) + within]
        np.minimum.at(first_above, below, position)
        np.subtract.at(num_above, below, 1)
        below = np.unique(below)
        layer = below[num_above[below] == 0]
    return layers if placed == num_transitions else None


def cycles(pairs: Int[np.ndarray, "pairs 2"], num_transitions: int) -> list[list[int]]:
    """The members of each cycle: the sets of transitions that all beat each other, and those that
    beat themselves."""
    from scipy.sparse import csr_array  # takes long to import
    from scipy.sparse.csgraph import connected_components

    shape = (num_transitions, num_transitions)
    unique = np.unique(pairs, axis=0)  # repeated entries can make SciPy 1.17 loop for ever
    graph = csr_array((np.ones(len(unique), bool), (unique[:, 0], unique[:, 1])), shape=shape)
    _, part = connected_components(graph, directed=True, connection="strong")
    is_inside = part[unique[:, 0]] == part[unique[:, 1]]
    members = [np.flatnonzero(part == p).tolist() for p in np.unique(part[unique[is_inside, 0]])]
    return sorted(members)
