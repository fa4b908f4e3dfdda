"""Sliced ELLPACK: targets of similar in-degree share a slice, and each slice has its own number
of slots."""

from itertools import accumulate as running_sums, pairwise

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Integer, Num

from .degree_profile import DegreeProfile
from .edges import Edges
from .ell import ELL, slot_table, slots_of, stable_order
from .layout import AbstractGeneralLayout, BySource, ByTarget
from .stored import SMALL, buckets, device_array, index_bytes, slot_bucket, storable, value_bytes


class SlicedELL(AbstractGeneralLayout):
    """Pull form of sliced ELLPACK, for uneven in-degrees: the slices hold the targets sorted by
    in-degree, the largest first.

    Axes: slice i has `slots` and `rows` of its own; its padding holds `num_sources`, which gathers
    as 0. Behind the rows of all slices comes one that is 0, for the targets without sources.
    `position` says which of these rows is that of each target: one gather at the end undoes the
    sorting.

    ??? cite "Source"
        Kreutzer et al. 2014 (SELL-C-sigma). Differs from it in: 1. all targets are sorted at once;
        2. slices have no common height, but are cut where the number of slots changes.
    """

    sources: tuple[Integer[Array, "_slots _rows"], ...]
    values: tuple[Num[Array, "_slots _rows"], ...] | None  # None: every edge weighs 1
    position: Int[Array, " targets"]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        if self.position.shape != (self.num_targets,):
            raise ValueError(
                f"`position` has shape {self.position.shape} but `num_targets` is "
                f"{self.num_targets}."
            )
        if self.values is not None and len(self.values) != len(self.sources):
            raise ValueError(
                f"`values` has {len(self.values)} slices but `sources` has {len(self.sources)}."
            )
        self._slices()  # checks the rest

    @classmethod
    def from_edges(
        cls,
        edges: Edges,
        *,
        max_input: int | None = None,
        num_slices: int = 16,
        profile: DegreeProfile | None = None,
    ) -> "SlicedELL":
        """As in `AbstractLayout`, with the shape of a `profile`; there are at most `num_slices`
        slices."""
        del max_input
        edges = storable(edges)
        degree = np.bincount(edges.target, minlength=edges.num_targets)
        slots, rows = cut(degree if profile is None else profile.in_degrees, num_slices)
        slice_from_smallest = np.where(degree == 0, -1, np.searchsorted(slots[::-1], degree))
        order = np.argsort(-slice_from_smallest, kind="stable")
        position = np.empty(edges.num_targets, np.int32)
        position[order] = np.arange(edges.num_targets)

        row = position[edges.target]
        by_row = stable_order(row)
        row, source = row[by_row], edges.source[by_row]
        slot = slots_of(row, edges.num_targets)
        starts = np.concatenate([[0], np.cumsum(rows)])
        cuts = np.searchsorted(row, starts)
        sources, values = [], []
        for i, shape in enumerate(zip(slots.tolist(), rows.tolist(), strict=True)):
            of = slice(cuts[i], cuts[i + 1])
            place = slot[of], row[of] - starts[i]
            value = None if edges.value is None else edges.value[by_row[of]]
            table, weights = slot_table(shape, place, source[of], value, edges.num_sources)
            sources.append(device_array(table))
            values.append(device_array(weights))
        return cls(
            sources=tuple(sources),
            values=None if edges.value is None else tuple(values),
            position=device_array(np.minimum(position, starts[-1]).astype(np.int32)),
            **edges.sizes,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges, *, num_slices: int = 16) -> int:
        """The `nbytes` of `from_edges` with this `num_slices`; `edges` has no parallel edges."""
        degree = np.bincount(edges.target, minlength=edges.num_targets)
        slots, rows = cut(degree, num_slices)
        index = index_bytes(edges.num_sources)
        return 4 * edges.num_targets + int((slots * rows).sum()) * (index + value_bytes(edges))

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        sums = [part.multiply(x, accumulate=accumulate) for part in self._slices()]
        zero = jnp.zeros((1, *x.shape[1:]), accumulate)
        rows = jnp.concatenate([*sums, zero])
        return rows.at[self.position].get(mode="promise_in_bounds")

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        total = jnp.zeros((self.num_sources, *g.shape[1:]), accumulate)
        for part, rows in zip(self._slices(), self._rows(g), strict=True):
            total += part.multiply_transposed(rows, accumulate=accumulate)
        return total

    def edge_products(self, x: BySource, g: ByTarget) -> tuple[Num[Array, "_slots _rows"], ...]:
        pairs = zip(self._slices(), self._rows(g), strict=True)
        return tuple(part.edge_products(x, rows) for part, rows in pairs)

    def edges(self) -> Edges:
        parts = [part.edges() for part in self._slices()]
        target_of = np.argsort(np.asarray(self.position), kind="stable")
        targets = [
            target_of[start + part.target]
            for (start, _), part in zip(self._bounds(), parts, strict=True)
        ]
        value = None
        if self.values is not None:
            value = np.concatenate([part.value for part in parts if part.value is not None])
        source = np.concatenate([part.source for part in parts])
        return self.listed(source, np.concatenate(targets), value).canonical()

    def _slices(self) -> list[ELL]:
        values = [None] * len(self.sources) if self.values is None else self.values
        return [
            ELL(
                sources=sources,
                values=value,
                num_sources=self.num_sources,
                num_targets=sources.shape[1],
            )
            for sources, value in zip(self.sources, values, strict=True)
        ]

    def _bounds(self) -> list[tuple[int, int]]:
        """The first row of each slice and the first behind it."""
        return list(pairwise(running_sums((s.shape[1] for s in self.sources), initial=0)))

    def _rows(self, g: Array) -> list[Array]:
        """g of the targets in each slice."""
        bounds = self._bounds()
        rows = jnp.zeros((bounds[-1][1] + 1, *g.shape[1:]), g.dtype).at[self.position].set(g)
        return [rows[start:stop] for start, stop in bounds]


def cut(
    degree: Int[np.ndarray, " targets"], num_slices: int
) -> tuple[Int[np.ndarray, " slices"], Int[np.ndarray, " slices"]]:
    """The slots and the rows of each slice, the most slots first.

    One slice for each bucket of degrees has the least padding; while these are too many, the one
    that costs least is joined to the next larger. Not always the best cut, but close.
    """
    most = int(degree.max(initial=0))
    if len(degree) <= SMALL:  # one slice, so that small graphs share compilations
        return np.asarray([slot_bucket(most, len(degree))]), np.asarray([len(degree)])
    sizes = buckets(most, at_least=1)
    rows = np.bincount(np.searchsorted(sizes, degree[degree > 0]), minlength=len(sizes))
    used = rows > 0
    used[-1] = True  # never no slice at all
    slots, rows = sizes[used], rows[used]
    while len(slots) > max(num_slices, 1):
        least = np.argmin(rows[:-1] * np.diff(slots))
        rows[least + 1] += rows[least]
        slots, rows = np.delete(slots, least), np.delete(rows, least)
    return slots[::-1], rows[::-1]
