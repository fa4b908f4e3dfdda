"""One graph stored both ways, so that both products gather."""

from dataclasses import replace

import equinox as eqx
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Num

from .edges import Edges
from .ell import ELL, gather_sum, gathered, slots_needed, slots_of, stable_order
from .layout import AbstractLayout, BySource, ByTarget, refuse
from .stored import device_array, storable, too_long


class TwoWay(AbstractLayout):
    """ELLPACK by target and by source: neither product scatters, so that gradients gather too.

    Axes: `slots` and `targets` as in `ELL`; `back_slots` and `sources` likewise for the reversed
    graph. `forward` and `backward` hold no weights: `values` has them once, in forward order, and
    `places` says where each backward slot finds its own in the flattened `values`; padding names
    the place behind the last. It costs about twice the bytes of `ELL`.
    """

    forward: ELL
    backward: ELL
    values: Num[Array, "slots targets"] | None  # None: every edge weighs 1
    places: Int[Array, "back_slots sources"] | None
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "TwoWay":
        del max_input
        edges = storable(edges)
        refuse(cls.obstacle(edges))
        forward = ELL.from_edges(edges)
        order = stable_order(edges.source)
        source = edges.source[order]
        by_source = Edges(edges.target[order], source, None, edges.num_targets, edges.num_sources)
        backward = ELL.from_edges(by_source)
        places = None
        if forward.values is not None:
            place = slots_of(edges.target, edges.num_targets)
            place *= edges.num_targets  # below MAX_PLACE: the obstacle
            place += edges.target
            places = np.full(backward.sources.shape, forward.sources.size, np.int32)
            places[slots_of(source, edges.num_sources), source] = place[order]
        pattern = replace(forward, values=None)
        return cls(
            forward=pattern,
            backward=backward,
            values=forward.values,
            places=device_array(places),
            **edges.sizes,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        back = Edges(edges.target, edges.source, None, edges.num_targets, edges.num_sources)
        both = ELL.bytes_needed(edges) + ELL.bytes_needed(back)
        return both if edges.value is None else both + 4 * slots_needed(back) * back.num_targets

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        del max_input
        if edges.value is None:
            return None
        return too_long(cls, slots_needed(edges) * edges.num_targets, "slots")

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return gather_sum(self.forward.sources, self.values, x, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        values = None
        if self.values is not None and self.places is not None:
            values = gathered(self.values.ravel(), self.places)
        return gather_sum(self.backward.sources, values, g, accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "slots targets"]:
        return self.forward.edge_products(x, g)

    def edges(self) -> Edges:
        return replace(self.forward, values=self.values).edges()
