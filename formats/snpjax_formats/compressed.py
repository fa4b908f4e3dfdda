"""ELLPACK by source: each source lists its targets."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Integer, Num

from .degree_profile import DegreeProfile
from .edges import Edges
from .ell import gather_sum, gathered, in_slots, scatter_sum, slot_table, slots_of, stable_order
from .layout import AbstractGeneralLayout, BySource, ByTarget, check_columns, check_shape
from .stored import device_array, index_bytes, slot_bucket, storable, value_bytes


class Compressed(AbstractGeneralLayout):
    """Push form of ELLPACK: each source lists its targets, slot by slot.

    Axes: `slots` is the largest out-degree rounded to a bucket, `sources` the number of sources.
    Padding holds `num_targets`, to which nothing is delivered. Without values this is the
    compressed synapse matrix of SN P simulators; with values it is the ELL form of a matrix whose
    rows are the sources.

    Several sources may add to one target at once. Integers are exact in any order, but on GPUs such
    contention costs: the slots of each source are rotated by its number, so that neighbouring
    sources with equal lists write different targets.

    ??? cite "Source"
        Martinez-del-Amor et al. 2017; Hernandez-Tello et al. 2024, Algorithm 3. Differs from them
        in: 1. the rotation; 2. closed targets are masked by the caller, not here.
    """

    targets: Integer[Array, "slots sources"]
    values: Num[Array, "slots sources"] | None  # None: every edge weighs 1
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        check_columns("targets", self.targets, "num_sources", self.num_sources)
        check_shape("values", self.values, "targets", self.targets.shape)

    @classmethod
    def from_edges(
        cls, edges: Edges, *, max_input: int | None = None, profile: DegreeProfile | None = None
    ) -> "Compressed":
        """As in `AbstractLayout`, with the shape of a `profile`."""
        del max_input
        targets, values = _table(storable(edges), profile)
        return cls(targets=device_array(targets), values=device_array(values), **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        index = index_bytes(edges.num_targets)
        return _num_slots(edges) * edges.num_sources * (index + value_bytes(edges))

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return scatter_sum(self.targets, self.values, x, self.num_targets, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return gather_sum(self.targets, self.values, g, accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "slots sources"]:
        products = gathered(g, self.targets) * x[None]
        return jnp.sum(products, axis=range(2, products.ndim))

    def edges(self) -> Edges:
        source, target, value = in_slots(self.targets, self.values, self.num_targets)
        return self.listed(source, target, value).canonical()


def _table(edges: Edges, profile: DegreeProfile | None) -> tuple[np.ndarray, np.ndarray | None]:
    """The slots of a canonical graph, on the host; what sorts it is freed before the copy."""
    order = stable_order(edges.source)
    source, target = edges.source[order], edges.target[order]
    num_slots = _num_slots(edges, profile)
    slot = slots_of(source, edges.num_sources)
    slot += source % num_slots
    slot[slot >= num_slots] -= num_slots
    value = None if edges.value is None else edges.value[order]
    shape = num_slots, edges.num_sources
    return slot_table(shape, (slot, source), target, value, edges.num_targets)


def _num_slots(edges: Edges, profile: DegreeProfile | None = None) -> int:
    most = edges.max_out_degree() if profile is None else profile.max_out_degree
    return slot_bucket(most, edges.num_sources)
