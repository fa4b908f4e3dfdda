"""Whether the edges of a graph and a layout of them fit in memory, before any is allocated."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .compressed import Compressed
from .coo import COO
from .csr import CSR
from .dense import Dense
from .edges import Edges
from .ell import ELL
from .free_memory import NotEnoughMemory, check_free, free_bytes
from .graphs import AbstractGraph, RandomPairs
from .host_memory import host_free_bytes
from .hybrid import Hybrid
from .layout import AbstractLayout, built, refuse
from .narrow import Float32Dense, Int8Dense
from .sliced_ell import SlicedELL
from .stored import storable


# What `fitting` suggests: layouts for any graph, whose bytes are known from its degrees.
_GENERAL = (Dense, Int8Dense, Float32Dense, ELL, SlicedELL, Hybrid, Compressed, CSR, COO)

# What building takes on the host at its peak: the layout once in NumPy and once more, where the
# device is the host, and what sorts the edges. Measured beyond the edges themselves, in bytes of
# the layout: 2.0 for a matrix; for 40 edges a node 1.5 to 3.3, for which this says 3.7 to 9.8; for
# all pairs in sparse layouts 2.2 to 9.0 (Hybrid), for which it says 5.9 to 9.8 (CPU, jax 0.10.2,
# NumPy 2.4, 2026-10). So it refuses sparse graphs somewhat early.
_COPIES = 2
_BYTES_PER_EDGE = 32

# Two indices and a key to sort them by.
_BYTES_PER_LISTED_EDGE = 16


def listed(graph: AbstractGraph, num_sources: int, num_targets: int, fix: str) -> Edges:
    """The edges of a graph.

    **Raises:** `NotEnoughMemory` before more is listed than the host has memory for; `fix` says
    what to do.
    """
    count = num_listed(graph, num_sources, num_targets)
    needed = _BYTES_PER_LISTED_EDGE * count
    check_free(needed, host_free_bytes(), f"Listing {count:,} edges takes", fix)
    return graph.edges(num_sources, num_targets)


def num_listed(graph: AbstractGraph, num_sources: int, num_targets: int) -> int:
    """About how many edges a graph has."""
    if isinstance(graph, RandomPairs):  # to count them would be to list them
        return int(graph.probability * num_sources * num_targets)
    return graph.num_edges(num_sources, num_targets)


def fitting(
    layout: type[AbstractLayout],
    edges: Edges,
    *,
    max_input: int | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> AbstractLayout:
    """Build a layout if it fits in memory: on the device, and on the host at the peak of building
    it.

    **Arguments:**

    - `layout`: the class of the layout.
    - `edges`: the edges of the graph.
    - `max_input`: the largest value that will be delivered; `None` if it is unknown.
    - `options`: further arguments of `layout.from_edges`.

    **Returns:** the layout.

    **Raises:** `NotEnoughMemory` with the bytes that it would need and the general layouts that
    would fit; one for structured edges may need far less. `ValueError` if the layout cannot hold
    these edges.
    """
    edges = storable(edges)
    refuse(layout.obstacle(edges, max_input=max_input))
    device, host = free_bytes(), host_free_bytes()

    def check(layout: type[AbstractLayout], fix: str) -> None:
        of = f"for {edges.num_sources:,} x {edges.num_targets:,} with {len(edges):,} edges"
        needed = layout.bytes_needed(edges)
        check_free(needed, device, f"{layout.__name__} {of} needs", fix)
        peak = _COPIES * needed + _BYTES_PER_EDGE * len(edges)
        check_free(peak, host, f"To build {layout.__name__} {of} on the host takes", fix)

    def fits(layout: type[AbstractLayout]) -> bool:
        try:
            check(layout, "")
        except NotEnoughMemory:
            return False
        return layout.obstacle(edges, max_input=max_input) is None

    if not fits(layout):
        fit = [f"{x.__name__} ({x.bytes_needed(edges):,} bytes)" for x in _GENERAL if fits(x)]
        check(layout, f"Use {' or '.join(fit) or 'a machine with more memory'}.")
    return built(layout, edges, max_input=max_input, options=options)
