"""Products over a list of entries, one an edge, each with the index it reads and the one it adds
to."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, DTypeLike, Integer, Num

from .degree_profile import DegreeProfile
from .edges import Edges
from .ell import expanded, gathered
from .layout import AbstractLayout, BySource, ByTarget
from .stored import entry_bucket


def entries_needed(edges: Edges, profile: DegreeProfile | None = None) -> int:
    """The entries of a list of these edges, with padding."""
    size = len(edges) if profile is None else profile.num_edges
    return entry_bucket(size, edges.num_targets)


def weighted_entries(
    columns: Integer[Array, " entries"],
    values: Num[Array, " entries"] | None,
    x: Num[Array, "columns *batch"],
    accumulate: DTypeLike,
) -> Num[Array, "entries *batch"]:
    """`values * x[columns]`; an index past the end reads 0."""
    products = gathered(x, columns).astype(accumulate)
    if values is None:
        return products
    return products * expanded(values.astype(accumulate), products.ndim)


def entry_sum(
    columns: Integer[Array, " entries"],
    rows: Integer[Array, " entries"],
    values: Num[Array, " entries"] | None,
    x: Num[Array, "columns *batch"],
    num_rows: int,
    accumulate: DTypeLike,
) -> Num[Array, "rows *batch"]:
    """The sum of `values * x[columns]` in each row; an index past the end reads 0 or adds to
    nothing. With a batch it stores entries x batch products."""
    products = weighted_entries(columns, values, x, accumulate)
    # Never told that rows are sorted, even where they are. CPU, 100,000 rows x 128, int32: 32 ms
    # unsorted, 34 ms sorted, 43 ms by `.at[].add`, and 55, 55 and 76 ms in float32 (two shared
    # cores, jax 0.10.2, 2026-10). On a GPU the flag costs more: 1.9 against 1.2 ms (H200, jax
    # 0.11.2, 1,000,000 rows x 32).
    return jax.ops.segment_sum(products, rows, num_rows)


def entry_products(
    sources: Integer[Array, " entries"],
    targets: Integer[Array, " entries"],
    x: Num[Array, "sources *batch"],
    g: Num[Array, "targets *batch"],
) -> Num[Array, " entries"]:
    """`g[t] * x[s]` of each entry, summed over the batch; 0 for padding."""
    products = gathered(x, sources) * gathered(g, targets)
    return jnp.sum(products, axis=range(1, products.ndim))


class AbstractEntries(AbstractLayout):
    """A layout that lists the source and the target of every edge."""

    sources: eqx.AbstractVar[Integer[Array, " entries"]]
    targets: eqx.AbstractVar[Integer[Array, " entries"]]
    values: eqx.AbstractVar[Num[Array, " entries"] | None]

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        return entry_sum(self.sources, self.targets, self.values, x, self.num_targets, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        return entry_sum(self.targets, self.sources, self.values, g, self.num_sources, accumulate)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, " entries"]:
        return entry_products(self.sources, self.targets, x, g)
