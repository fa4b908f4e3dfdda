"""ELLPACK for the regular part of a graph, a coordinate list for what does not fit."""

import operator
from functools import reduce
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Num

from .coo import COO
from .degree_profile import DegreeProfile
from .edges import Edges, merged
from .ell import ELL, slots_of
from .layout import AbstractGeneralLayout, BySource, ByTarget
from .stored import (
    buckets,
    entry_bucket,
    index_bytes,
    pair_bytes,
    slot_bucket,
    storable,
    value_bytes,
)


# What an entry of the overflow costs, a gather and a scatter, in slots of the regular part, each a
# gather. On two CPU cores and on an H200 the best of 1 to 32 for nine random graphs but for a few
# percent; a batch of 64 took 2.3 times as long where bytes counted (jax 0.10.2, 0.11.2; 2026-11).
_SLOTS_AN_ENTRY = 3


class Hybrid(AbstractGeneralLayout):
    """The sum of an `ELL` and a `COO`, for graphs where few targets have many sources: the first
    edges of each target are regular, the rest overflow.

    ??? cite "Source"
        Bell & Garland 2009, who take the entries of the overflow to cost three times the slots of
        the regular part, as here. Differs from them in: 1. the width is the bucket that costs the
        least so, padding included, not the one that a third of the rows reach.
    """

    regular: ELL
    overflow: COO | None  # None: nothing overflows
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        for name, part in zip(("regular", "overflow"), self._parts(), strict=False):
            sizes = part.num_sources, part.num_targets
            if sizes != (self.num_sources, self.num_targets):
                raise ValueError(
                    f"`{name}` is {sizes}, not (num_sources, num_targets) = "
                    f"{(self.num_sources, self.num_targets)}."
                )

    @classmethod
    def from_edges(
        cls,
        edges: Edges,
        *,
        max_input: int | None = None,
        width: int | None = None,
        profile: DegreeProfile | None = None,
    ) -> "Hybrid":
        """As in `AbstractLayout`, with the shape of a `profile`; at most `width` edges of a target
        are regular, by default as many as make the product fast."""
        del max_input
        edges = storable(edges)
        profile = profile or DegreeProfile.of(edges)
        width, _, entries = parts_of(profile.in_degrees, width)
        is_regular = slots_of(edges.target, edges.num_targets) < width
        regular, overflow = edges.subset(is_regular), edges.subset(~is_regular)
        rest = COO.from_edges(overflow, profile=profile.beyond(width)) if entries else None
        first = ELL.from_edges(regular, profile=profile.up_to(width))
        return cls(regular=first, overflow=rest, **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges, *, width: int | None = None) -> int:
        """The `nbytes` of `from_edges` with this `width`; `edges` has no parallel edges."""
        _, slots, entries = parts_of(_in_degrees(edges), width)
        index, pair = index_bytes(edges.num_sources), pair_bytes(edges)
        item = value_bytes(edges)
        return slots * edges.num_targets * (index + item) + entries * (pair + item)

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        products = (part.multiply(x, accumulate=accumulate) for part in self._parts())
        return reduce(operator.add, products)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        products = (part.multiply_transposed(g, accumulate=accumulate) for part in self._parts())
        return reduce(operator.add, products)

    def edge_products(
        self, x: BySource, g: ByTarget
    ) -> tuple[Num[Array, "slots targets"], Num[Array, " entries"] | None]:
        regular = self.regular.edge_products(x, g)
        return regular, None if self.overflow is None else self.overflow.edge_products(x, g)

    def edges(self) -> Edges:
        parts = [(part.edges(), 0, 0) for part in self._parts()]
        return merged(parts, self.num_sources, self.num_targets).canonical()

    def _parts(self) -> list[ELL | COO]:
        return [self.regular] if self.overflow is None else [self.regular, self.overflow]


def _in_degrees(edges: Edges) -> Int[np.ndarray, " targets"]:
    return np.bincount(edges.target, minlength=edges.num_targets)


def parts_of(
    in_degree: Int[np.ndarray, " targets"], width: int | None = None
) -> tuple[int, int, int]:
    """The width of the regular part, by default the bucket of slots with which a product takes the
    least time; its slots, and the entries of the overflow, with padding, or 0 where there are
    none."""
    num_rows, most = len(in_degree), int(in_degree.max(initial=0))
    widths = np.asarray([width])
    if width is None:
        widths = buckets(most, at_least=slot_bucket(0, num_rows))
    targets = np.bincount(in_degree)
    degree = np.flatnonzero(targets)
    overflow = np.maximum(degree - widths[:, None], 0) @ targets[degree]
    slots = np.asarray([slot_bucket(min(most, int(size)), num_rows) for size in widths])
    entries = np.asarray([entry_bucket(int(n), num_rows) if n else 0 for n in overflow])
    best = np.argmin(work_of(slots, num_rows, entries))
    return int(widths[best]), int(slots[best]), int(entries[best])


def work_of(slots: Any, num_rows: int, entries: Any) -> Any:
    """What a product costs, in slots; of numbers or of arrays."""
    return slots * num_rows + _SLOTS_AN_ENTRY * entries
