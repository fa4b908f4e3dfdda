"""Strongly connected parts of a graph."""

from typing import Any

import numpy as np
from jaxtyping import Int


def strong_parts(matrix: Any) -> tuple[int, Int[np.ndarray, " nodes"]]:
    """How many there are, and the part of every node of a sparse matrix of edges.

    Every edge is given once: repeated ones can make SciPy 1.17 loop for ever.
    """
    from scipy.sparse import csr_array  # takes long to import
    from scipy.sparse.csgraph import connected_components

    edges = csr_array(matrix, copy=True)
    edges.data = np.ones(len(edges.data), bool)
    edges.sum_duplicates()  # in place, the indices too
    return connected_components(edges, directed=True, connection="strong")
