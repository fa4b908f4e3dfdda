"""ELLPACK-R: ELL that knows the in-degree of each target."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Int, Integer, Num

from .edges import Edges
from .ell import ELL, AbstractELL
from .layout import check_columns, check_shape
from .stored import device_array, storable


class ELLPACKR(AbstractELL):
    """ELL with the number of slots that each target uses.

    Axes: `slots` and `targets` as in `ELL`; padding holds `num_sources`. A kernel written by hand
    stops at the degree of a row; XLA cannot, so this computes exactly as `ELL` and is not faster.
    It is here for comparison with simulators that use it, and to read the degrees.

    ??? cite "Source"
        Vazquez et al. 2011. Differs from it in: 1. padded slots are computed too.
    """

    sources: Integer[Array, "slots targets"]
    values: Num[Array, "slots targets"] | None  # None: every edge weighs 1
    degree: Int[Array, " targets"]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        check_columns("sources", self.sources, "num_targets", self.num_targets)
        check_shape("values", self.values, "sources", self.sources.shape)
        check_shape("degree", self.degree, "sources", self.sources.shape[1:])

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "ELLPACKR":
        del max_input
        edges = storable(edges)
        ell = ELL.from_edges(edges)
        degree = np.bincount(edges.target, minlength=edges.num_targets)
        degree = device_array(degree.astype(np.int32))
        return cls(sources=ell.sources, values=ell.values, degree=degree, **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return ELL.bytes_needed(edges) + 4 * edges.num_targets
