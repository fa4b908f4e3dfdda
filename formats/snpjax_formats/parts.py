"""A graph in parts, each with the edges into some of the targets, in layouts of one shape."""

from dataclasses import replace

import numpy as np

from .bits import BitDense, BitGather
from .compressed import Compressed
from .coo import COO
from .csr import CSR
from .degree_profile import DegreeProfile
from .dense import Dense
from .edges import Edges
from .ell import ELL
from .hybrid import Hybrid
from .layout import AbstractLayout
from .memory import fitting
from .narrow import Float32Dense, Int8Dense
from .sliced_ell import SlicedELL


#: Layouts whose shape follows from the numbers of sources and targets.
_MATRICES: tuple[type[AbstractLayout], ...] = (Dense, Int8Dense, Float32Dense, BitDense)

#: Layouts of which parts have one shape.
PARTITIONED: tuple[type[AbstractLayout], ...] = (
    *(ELL, SlicedELL, Hybrid, BitGather, Compressed, CSR, COO),
    *_MATRICES,
)


def check_partitioned(layout: type[AbstractLayout]) -> None:
    """**Raises:** `ValueError` for a layout of which parts may differ in shape."""
    if layout not in PARTITIONED:
        names = ", ".join(known.__name__ for known in PARTITIONED)
        raise ValueError(
            f"{layout.__name__} is a layout that cannot be partitioned over the neurons of a mesh. "
            f"Use one of {names}."
        )


def edges_into(edges: Edges, first: int, num_targets: int) -> Edges:
    """The edges into the targets from `first` on, which are counted from 0 then; there may be
    fewer than `num_targets` of them, and none before 0."""
    stop = first + num_targets
    if edges.is_canonical:
        some = slice(*np.searchsorted(edges.target, (first, stop)).tolist())
    else:
        some = (edges.target >= first) & (edges.target < stop)
    return Edges(
        edges.source[some],
        edges.target[some] - np.int32(first),
        None if edges.value is None else edges.value[some],
        edges.num_sources,
        num_targets,
        is_canonical=edges.is_canonical,
    )


def part_of(
    layout: type[AbstractLayout], edges: Edges, profile: DegreeProfile, *, max_input: int | None
) -> AbstractLayout:
    """The layout of a part of a graph, with the shape of the profile that covers all parts.

    **Raises:** as `fitting`, and `ValueError` for a layout that cannot be partitioned.
    """
    check_partitioned(layout)
    edges = edges.canonical()
    if edges.value is None and profile.value_dtype is not None:
        edges = replace(edges, value=np.ones(len(edges), profile.value_dtype))
    options = {} if layout in _MATRICES else {"profile": profile}
    return fitting(layout, edges, max_input=max_input, options=options)
