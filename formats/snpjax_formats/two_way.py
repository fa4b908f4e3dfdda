"""One graph stored both ways, so that both products gather."""

import equinox as eqx
from jaxtyping import Array, DTypeLike, Num

from .edges import Edges
from .ell import ELL
from .layout import AbstractLayout


class TwoWay(AbstractLayout):
    """`forward` delivers and `backward`, the same graph with its edges reversed, transposes.

    With two pull layouts neither product scatters: gradients through the forward product gather. It
    costs the bytes of both, and its weights are not trained.
    """

    forward: AbstractLayout
    backward: AbstractLayout
    values: None  # pyright: ignore[reportIncompatibleVariableOverride]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        sizes = (self.backward.num_targets, self.backward.num_sources)
        if sizes != (self.num_sources, self.num_targets):
            raise ValueError("`backward` is not the transposed graph of `forward`.")

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "TwoWay":
        """Two `ELL`s. Other pairs are made with `TwoWay(...)` itself."""
        return cls(
            forward=ELL.from_edges(edges, max_input=max_input),
            backward=ELL.from_edges(edges.transposed(), max_input=max_input),
            values=None,
            num_sources=edges.num_sources,
            num_targets=edges.num_targets,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        return ELL.bytes_needed(edges) + ELL.bytes_needed(edges.transposed())

    def multiply(
        self, x: Num[Array, "sources *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "targets *batch"]:
        return self.forward.multiply(x, accumulate=accumulate)

    def multiply_transposed(
        self, g: Num[Array, "targets *batch"], *, accumulate: DTypeLike
    ) -> Num[Array, "sources *batch"]:
        return self.backward.multiply(g, accumulate=accumulate)

    def edge_products(
        self, x: Num[Array, "sources *batch"], g: Num[Array, "targets *batch"]
    ) -> Num[Array, "..."]:
        raise ValueError("The weights of TwoWay are not trained. Use one of its halves.")

    def edges(self) -> Edges:
        return self.forward.edges()
