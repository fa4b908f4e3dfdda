"""Block sparse rows: the matrix cut into square tiles, of which only those with edges are kept."""

from functools import partial

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Int, Num

from .edges import Edges
from .ell import expanded, gathered
from .layout import AbstractGeneralLayout, BySource, ByTarget, check_shape
from .stored import device_array, slot_bucket, storable, stored_dtype


# Up to here the columns of a tile are unrolled on a CPU; larger tiles are matrix products.
_MAX_UNROLLED_COLUMNS = 32


class BSR(AbstractGeneralLayout):
    """Dense tiles where the edges are, for clustered graphs: best where most tiles are over half
    full.

    Axes: `tiles` is the number of tiles with an edge, rounded to a bucket; `columns` and `rows` are
    the sources and the targets of one tile, equally many. `tile_rows` and `tile_columns` say where
    a tile is, in units of tiles; one of padding is past the end of both, and 0.

    A graph whose edges all weigh 1 is stored in int8. As in `Dense`, an edge of weight 0 is no
    edge, and training makes edges of all pairs in a tile.
    """

    values: Num[Array, "tiles columns rows"]
    tile_rows: Int[Array, " tiles"]
    tile_columns: Int[Array, " tiles"]
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        tiles, columns, rows = self.values.shape
        if columns != rows:
            raise ValueError(f"`values` has tiles of {columns} x {rows}, which are not square.")
        check_shape("tile_rows", self.tile_rows, "values", (tiles,))
        check_shape("tile_columns", self.tile_columns, "values", (tiles,))

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None, tile: int = 16) -> "BSR":
        """As in `AbstractLayout`; tiles are `tile` x `tile`."""
        del max_input
        edges = storable(edges)
        key_of_edge = _keys(edges, tile)
        keys = np.unique(key_of_edge)
        num_tiles = _num_tiles(len(keys), edges)
        values = np.zeros((num_tiles, tile, tile), _dtype(edges))
        weights = 1 if edges.value is None else edges.value
        places_in_tile = edges.source % tile, edges.target % tile
        values[np.searchsorted(keys, key_of_edge), *places_in_tile] = weights
        across = _ceil(edges.num_sources, tile)
        places = np.full((2, num_tiles), [[_ceil(edges.num_targets, tile)], [across]], np.int32)
        places[:, : len(keys)] = np.divmod(keys, max(across, 1))
        row, column = map(device_array, places)
        return cls(values=device_array(values), tile_rows=row, tile_columns=column, **edges.sizes)

    @classmethod
    def bytes_needed(cls, edges: Edges, *, tile: int = 16) -> int:
        """The `nbytes` of `from_edges` with this `tile`; `edges` has no parallel edges."""
        num_tiles = _num_tiles(len(np.unique(_keys(edges, tile))), edges)
        return num_tiles * (8 + tile**2 * _dtype(edges).itemsize)

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        x = gathered(_tiled(x, self._tile), self.tile_columns)
        sums = _tile_sums(self.values, x, accumulate)
        return _added(sums, self.tile_rows, self.num_targets)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        g = gathered(_tiled(g, self._tile), self.tile_rows)
        sums = _tile_sums(jnp.swapaxes(self.values, 1, 2), g, accumulate)
        return _added(sums, self.tile_columns, self.num_sources)

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "tiles columns rows"]:
        x = gathered(_tiled(x, self._tile), self.tile_columns)
        g = gathered(_tiled(g, self._tile), self.tile_rows)
        return jnp.einsum("tc...,tr...->tcr", x, g, precision="highest")

    def edges(self) -> Edges:
        values = np.asarray(self.values)
        tile, column, row = np.nonzero(values)
        value = values[tile, column, row]
        source = np.asarray(self.tile_columns)[tile] * self._tile + column
        target = np.asarray(self.tile_rows)[tile] * self._tile + row
        is_iso = value.dtype == np.int8 and (value == 1).all()
        return self.listed(source, target, None if is_iso else value).canonical()

    @property
    def _tile(self) -> int:
        return self.values.shape[1]


def _tiled(x: Array, tile: int) -> Array:
    """x cut into pieces of `tile` and padded with 0: `(pieces, tile, *batch)`."""
    num_pieces = _ceil(x.shape[0], tile)
    padding = [(0, num_pieces * tile - x.shape[0]), *[(0, 0)] * (x.ndim - 1)]
    return jnp.pad(x, padding).reshape(num_pieces, tile, *x.shape[1:])


def _added(sums: Array, pieces: Array, size: int) -> Array:
    """The sums of all tiles in the same row of tiles, cut to `size`."""
    tile = sums.shape[1]
    total = jax.ops.segment_sum(sums, pieces, _ceil(size, tile))
    return total.reshape(total.shape[0] * tile, *total.shape[2:])[:size]


def _tile_sums(
    tiles: Num[Array, "tiles columns rows"],
    x: Num[Array, "tiles columns *batch"],
    accumulate: DTypeLike,
) -> Num[Array, "tiles rows *batch"]:
    """The product of each tile with its piece of x."""
    # CPU, 20,000 tiles of 16 x 16, int32 / float32: 0.9 / 0.6 ms column by column, 1.4 / 1.5 ms as
    # a batched product; with a batch of 32 31 / 31 and 68 / 45 ms; int8 tiles 0.4 and 3.0 ms (two
    # shared cores, jax 0.10.2, 2026-10).
    if tiles.shape[1] > _MAX_UNROLLED_COLUMNS:
        return _batched(tiles, x, accumulate=accumulate)
    return lax.platform_dependent(
        tiles,
        x,
        cpu=partial(_column_by_column, accumulate=accumulate),
        default=partial(_batched, accumulate=accumulate),
    )


def _column_by_column(tiles: Array, x: Array, accumulate: DTypeLike) -> Array:
    tiles, x = tiles.astype(accumulate), x.astype(accumulate)
    total = jnp.zeros((x.shape[0], tiles.shape[2], *x.shape[2:]), accumulate)
    for column in range(tiles.shape[1]):
        total += expanded(tiles[:, column], x.ndim) * x[:, column, None]
    return total


def _batched(tiles: Array, x: Array, accumulate: DTypeLike) -> Array:
    return jnp.einsum(
        "tcr,tc...->tr...",
        tiles.astype(accumulate),
        x.astype(accumulate),
        precision="highest",  # else a float32 product may run as TF32
        preferred_element_type=accumulate,
    )


def _keys(edges: Edges, tile: int) -> Int[np.ndarray, " edges"]:
    """The number of the tile that each edge is in, row by row."""
    across = _ceil(edges.num_sources, tile)
    return edges.target.astype(np.int64) // tile * across + edges.source // tile


def _num_tiles(used: int, edges: Edges) -> int:
    return slot_bucket(used, max(edges.num_sources, edges.num_targets))


def _dtype(edges: Edges) -> np.dtype:
    return np.dtype(np.int8) if edges.value is None else stored_dtype(edges.value.dtype)


def _ceil(size: int, tile: int) -> int:
    return -(-size // tile)
