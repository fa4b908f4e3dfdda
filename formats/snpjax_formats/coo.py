"""Coordinate lists: each entry names its source and its target."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Integer, Num

from .degree_profile import DegreeProfile
from .edges import Edges
from .entries import AbstractEntries, entries_needed
from .layout import AbstractGeneralLayout, check_shape
from .stored import index_array, pair_bytes, storable, value_array, value_bytes


class COO(AbstractEntries, AbstractGeneralLayout):
    """The coordinate list on the device: the simplest form, and blind to degrees.

    Axes: `entries` is the number of edges rounded to a bucket. Entries are sorted by (target,
    source), the padding last; it holds `num_sources` and `num_targets`, so it reads 0 and adds to
    nothing. Both products scatter: float sums on a GPU depend on the order of its writes.
    """

    sources: Integer[Array, " entries"]
    targets: Integer[Array, " entries"]
    values: Num[Array, " entries"] | None  # None: every edge weighs 1
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        check_shape("targets", self.targets, "sources", self.sources.shape)
        check_shape("values", self.values, "sources", self.sources.shape)

    @classmethod
    def from_edges(
        cls, edges: Edges, *, max_input: int | None = None, profile: DegreeProfile | None = None
    ) -> "COO":
        """As in `AbstractLayout`, with the shape of a `profile`."""
        del max_input
        edges = storable(edges)
        length = entries_needed(edges, profile)
        sources = index_array(edges.source, edges.num_sources, length)
        targets = index_array(edges.target, edges.num_targets, length)
        values = value_array(edges.value, length)
        return cls(sources=sources, targets=targets, values=values, **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return entries_needed(edges) * (pair_bytes(edges) + value_bytes(edges))

    def edges(self) -> Edges:
        target = np.asarray(self.targets)
        count = np.searchsorted(target, self.num_targets)
        value = None if self.values is None else np.asarray(self.values)[:count]
        return self.listed(np.asarray(self.sources)[:count], target[:count], value)
