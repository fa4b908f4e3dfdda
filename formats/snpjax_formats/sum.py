"""Several layouts at their places in one matrix."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Num, PyTree

from .edges import Edges, merged
from .ell import ELL
from .interval import Interval, runs_of
from .layout import AbstractGeneralLayout, AbstractLayout, BySource, ByTarget


class Sum(AbstractGeneralLayout):
    """The sum of `parts`, each the block of W whose first source and target are given.

    Part p reads the `parts[p].num_sources` sources from `source_starts[p]` on, and adds to as many
    targets as it has from `target_starts[p]` on. Parts may overlap.
    """

    parts: tuple[AbstractLayout, ...]
    source_starts: tuple[int, ...] = eqx.field(static=True)
    target_starts: tuple[int, ...] = eqx.field(static=True)
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        for name in ("source", "target"):
            starts, size = getattr(self, f"{name}_starts"), getattr(self, f"num_{name}s")
            if len(starts) != len(self.parts):
                raise ValueError(
                    f"`{name}_starts` has {len(starts)} entries but there are {len(self.parts)} "
                    "parts."
                )
            for index, (part, start) in enumerate(zip(self.parts, starts, strict=True)):
                stop = start + getattr(part, f"num_{name}s")
                if start < 0 or stop > size:
                    raise ValueError(
                        f"Part {index} has {name}s [{start}, {stop}), but `num_{name}s` is {size}."
                    )

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "Sum":
        """As in `AbstractLayout`: an `Interval` for the targets whose sources lie in few long runs,
        of more than four edges on average, and an `ELL` for the others. With weights, one `ELL`."""
        del max_input
        in_runs, others = _split(edges.canonical())
        parts: list[AbstractLayout] = []
        if len(in_runs):
            parts.append(Interval.from_edges(in_runs, by="target"))
        if len(others) or not len(in_runs):
            parts.append(ELL.from_edges(others))
        zeros = (0,) * len(parts)
        return cls(parts=tuple(parts), source_starts=zeros, target_starts=zeros, **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        in_runs, others = _split(edges.canonical())
        total = Interval.bytes_needed(in_runs, by="target") if len(in_runs) else 0
        return total + (ELL.bytes_needed(others) if len(others) or not len(in_runs) else 0)

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        pieces = [
            part.multiply(x[start : start + part.num_sources], accumulate=accumulate)
            for part, start in zip(self.parts, self.source_starts, strict=True)
        ]
        zeros = jnp.zeros((self.num_targets, *x.shape[1:]), accumulate)
        return _placed(pieces, self.target_starts, zeros)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        pieces = [
            part.multiply_transposed(g[start : start + part.num_targets], accumulate=accumulate)
            for part, start in zip(self.parts, self.target_starts, strict=True)
        ]
        zeros = jnp.zeros((self.num_sources, *g.shape[1:]), accumulate)
        return _placed(pieces, self.source_starts, zeros)

    def edge_products(self, x: BySource, g: ByTarget) -> tuple[PyTree[Num[Array, "..."]], ...]:
        """Of each part, and `None` for one that is not trained."""
        return tuple(
            part.edge_products(x[s : s + part.num_sources], g[t : t + part.num_targets])
            if any(map(eqx.is_inexact_array, jax.tree.leaves(part)))
            else None
            for part, s, t in zip(self.parts, self.source_starts, self.target_starts, strict=True)
        )

    def edges(self) -> Edges:
        lists = [part.edges() for part in self.parts]
        placed = list(zip(lists, self.source_starts, self.target_starts, strict=True))
        return merged(placed, self.num_sources, self.num_targets).canonical()


def _placed(pieces: list[Array], starts: tuple[int, ...], zeros: Array) -> Array:
    """The sum of the pieces, each at its place among zeros."""
    order = sorted(range(len(pieces)), key=lambda p: (starts[p], len(pieces[p])))
    stops = [starts[p] + len(pieces[p]) for p in order]
    is_disjoint = all(stop <= starts[p] for stop, p in zip(stops, order[1:], strict=False))
    if is_disjoint:
        columns, reached = [], 0
        for p, stop in zip(order, stops, strict=True):
            columns += [zeros[reached : starts[p]], pieces[p]]
            reached = stop
        return jnp.concatenate([*columns, zeros[reached:]])
    total = zeros
    for piece, start in zip(pieces, starts, strict=True):
        around = (start, len(zeros) - start - len(piece))
        total = total + jnp.pad(piece, [around] + [(0, 0)] * (piece.ndim - 1))
    return total


def _split(edges: Edges) -> tuple[Edges, Edges]:
    """The edges of targets with few long runs, and the others, of a canonical graph."""
    in_runs = np.zeros(len(edges), dtype=bool)
    if edges.value is None:
        num_runs = np.bincount(runs_of(edges)[0], minlength=edges.num_targets)
        in_degree = np.bincount(edges.target, minlength=edges.num_targets)
        in_runs = (4 * num_runs < in_degree)[edges.target]
    return edges.subset(in_runs), edges.subset(~in_runs)
