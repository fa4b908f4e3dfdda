"""ELLPACK for the regular part of a graph, a coordinate list for what does not fit."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Num

from .buckets import buckets, entry_bucket, slot_bucket
from .coo import COO
from .edges import Edges, merged
from .ell import ELL, slots_of
from .layout import AbstractLayout
from .stored import storable, value_bytes


class Hybrid(AbstractLayout):
    """The sum of an `ELL` and a `COO`, for graphs where few targets have many sources: the first
    edges of each target are regular, the rest overflow.

    ??? cite "Source"
        Bell & Garland 2009. Differs from them in: 1. the width of the regular part is the one that
        needs the fewest bytes, not the one that a third of the rows reach.
    """

    regular: ELL
    overflow: COO
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        for name, part in (("regular", self.regular), ("overflow", self.overflow)):
            sizes = part.num_sources, part.num_targets
            if sizes != (self.num_sources, self.num_targets):
                raise ValueError(
                    f"`{name}` is {sizes}, not (num_sources, num_targets) = "
                    f"{(self.num_sources, self.num_targets)}."
                )

    @classmethod
    def from_edges(
        cls, edges: Edges, *, max_input: int | None = None, width: int | None = None
    ) -> "Hybrid":
        """As in `AbstractLayout`; at most `width` edges of a target are regular, by default as many
        as need the fewest bytes."""
        del max_input
        edges = storable(edges)
        width = _best_width(edges) if width is None else width
        is_regular = slots_of(edges.target, edges.num_targets) < width
        regular, overflow = edges.subset(is_regular), edges.subset(~is_regular)
        return cls(
            regular=ELL.from_edges(regular),
            overflow=COO.from_edges(overflow),
            num_sources=edges.num_sources,
            num_targets=edges.num_targets,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges, *, width: int | None = None) -> int:
        widths = _widths(edges) if width is None else np.asarray([width])
        return int(bytes_of_widths(_in_degrees(edges), widths, value_bytes(edges)).min())

    def multiply(
        self, x: Num[Array, "sources *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "targets *batch"]:
        regular = self.regular.multiply(x, accumulate=accumulate)
        return regular + self.overflow.multiply(x, accumulate=accumulate)

    def multiply_transposed(
        self, g: Num[Array, "targets *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "sources *batch"]:
        regular = self.regular.multiply_transposed(g, accumulate=accumulate)
        return regular + self.overflow.multiply_transposed(g, accumulate=accumulate)

    def edge_products(
        self, x: Num[Array, "sources *batch"], g: Num[Array, "targets *batch"]
    ) -> tuple[Num[Array, "slots targets"], Num[Array, " entries"]]:
        return self.regular.edge_products(x, g), self.overflow.edge_products(x, g)

    def edges(self) -> Edges:
        parts = [(self.regular.edges(), 0, 0), (self.overflow.edges(), 0, 0)]
        return merged(parts, self.num_sources, self.num_targets).canonical()


def _best_width(edges: Edges) -> int:
    widths, sizes = _widths(edges), _in_degrees(edges)
    return int(widths[np.argmin(bytes_of_widths(sizes, widths, value_bytes(edges)))])


def _in_degrees(edges: Edges) -> Int[np.ndarray, " targets"]:
    return np.bincount(edges.target, minlength=edges.num_targets)


def _widths(edges: Edges) -> Int[np.ndarray, " widths"]:
    return widths_up_to(edges.max_in_degree(), edges.num_targets)


def widths_up_to(max_in_degree: int, num_targets: int) -> Int[np.ndarray, " widths"]:
    """The buckets of slots up to the largest in-degree."""
    return buckets(max_in_degree, at_least=slot_bucket(0, num_targets))


def bytes_of_widths(
    in_degree: Int[np.ndarray, " targets"], widths: Int[np.ndarray, " widths"], vb: int
) -> Int[np.ndarray, " widths"]:
    """What each width of the regular part needs, where a weight has `vb` bytes."""
    slots, entries = parts_of_widths(in_degree, widths)
    return slots * len(in_degree) * (4 + vb) + entries * (8 + vb)


def parts_of_widths(
    in_degree: Int[np.ndarray, " targets"], widths: Int[np.ndarray, " widths"]
) -> tuple[Int[np.ndarray, " widths"], Int[np.ndarray, " widths"]]:
    """Slots of the regular part and entries of the overflow for each width, with padding."""
    num_rows = len(in_degree)
    targets = np.bincount(in_degree)
    degree = np.flatnonzero(targets)
    overflow = np.maximum(degree - widths[:, None], 0) @ targets[degree]
    slots = np.minimum(degree.max(initial=0), widths)
    slots = np.asarray([slot_bucket(int(size), num_rows) for size in slots])
    entries = np.asarray([entry_bucket(int(size), num_rows) for size in overflow])
    return slots, entries
