"""What decides between layouts: sizes, degrees and structure of a graph."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int

from ..edges import Edges
from ..hybrid import parts_of
from ..sliced_ell import cut
from ..stored import slot_bucket, value_bytes


#: Up to this many edges structure that needs sorting is read from all of them, beyond from a part.
_SAMPLE = 1 << 16
_TILE = 16  # of `BSR`
_SLICES = 16  # of `SlicedELL`


@dataclass(frozen=True)
class Degrees:
    """The distribution of the degrees on one side of a graph."""

    least: int
    most: int
    mean: float
    deviation: float
    high: float  # of 95 % of the nodes at most this

    @classmethod
    def of(cls, degree: Int[np.ndarray, " nodes"]) -> "Degrees":
        if not len(degree):
            return cls(0, 0, 0.0, 0.0, 0.0)
        # Degrees are few numbers many times: their histogram is sorted already.
        nodes = np.bincount(degree)
        value = np.arange(len(nodes))
        mean = float(nodes @ value / len(degree))
        deviation = float(np.sqrt(nodes @ (value - mean) ** 2 / len(degree)))
        high = int(np.searchsorted(np.cumsum(nodes), 0.95 * len(degree)))
        return cls(int(degree.min()), len(nodes) - 1, mean, deviation, float(high))


@dataclass(frozen=True)
class Features:
    """Numbers about a graph, each computed in time linear in its edges.

    Degrees count edges into a target, or out of a source; a run is a maximal row of consecutive
    sources that one target listens to. `max_weight` is the largest absolute weight, 1 where every
    edge weighs 1. What starts with `sampled` is of a part of a large graph, always the same one,
    so that the same graph always has the same features.
    """

    num_sources: int
    num_targets: int
    num_edges: int
    is_iso: bool
    is_float: bool  # weights
    weight_bytes: int  # 0 where every edge weighs 1
    max_weight: float
    into: Degrees
    out_of: Degrees
    num_runs: int
    max_runs: int
    sampled_push_runs: float  # runs of targets that sources have, all together
    sampled_max_push_runs: int
    sampled_gap: float  # mean logarithm of the distance between neighbouring sources of a target
    sampled_distance: float  # mean distance from the diagonal, in units of the matrix
    sampled_tiles: float  # tiles with an edge
    sampled_half_full: float  # share of the edges that are in tiles more than half full
    ell_slots: int
    push_slots: int
    sliced_slots: int  # slots times rows, of all slices
    num_slices: int
    hybrid_width: int
    hybrid_entries: int

    @property
    def density(self) -> float:
        return self.num_edges / max(self.num_sources * self.num_targets, 1)

    @property
    def max_in_degree(self) -> int:
        return self.into.most

    @property
    def max_out_degree(self) -> int:
        return self.out_of.most

    @property
    def in_skew(self) -> float:
        """The largest in-degree over the mean one."""
        return self.into.most / max(self.into.mean, 1e-9)

    @property
    def has_slices(self) -> bool:
        """Whether `SlicedELL` is anything but `ELL`: some targets have fewer slots than others."""
        return self.sliced_slots < self.ell_slots * self.num_targets

    @property
    def has_overflow(self) -> bool:
        """Whether `Hybrid` is anything but `ELL`."""
        return self.hybrid_entries > 0

    @cached_property
    def bucket(self) -> str:
        """A name that graphs share which are alike: sizes to a quarter of a power of two, shares
        to a tenth."""
        parts = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            for number in dataclasses.astuple(value) if isinstance(value, Degrees) else [value]:
                parts.append(f"{round(4 * float(np.log2(1 + abs(number))))}")
        return "-".join(parts)


def features_of(edges: Edges) -> Features:
    """Measure the features of a graph from which a layout is chosen.

    **Arguments:**

    - `edges`: canonical edges.

    **Returns:** the features.
    """
    in_degree = np.bincount(edges.target, minlength=edges.num_targets)
    out_degree = np.bincount(edges.source, minlength=edges.num_sources)
    into, out_of = Degrees.of(in_degree), Degrees.of(out_degree)
    runs = _runs(edges, in_degree)
    push_runs, max_push_runs = _push_runs(edges)
    gap, distance = _locality(edges)
    tiles, half_full = _tiles(edges)
    slots, rows = cut(in_degree, _SLICES)
    weight_bytes = value_bytes(edges)
    _, hybrid_width, hybrid_entries = parts_of(in_degree)
    weights = edges.value
    return Features(
        num_sources=edges.num_sources,
        num_targets=edges.num_targets,
        num_edges=len(edges),
        is_iso=weights is None,
        is_float=weights is not None and np.issubdtype(weights.dtype, np.inexact),
        weight_bytes=weight_bytes,
        max_weight=1.0 if weights is None else float(np.abs(weights).max(initial=0)),
        into=into,
        out_of=out_of,
        num_runs=int(runs.sum()),
        max_runs=int(runs.max(initial=0)),
        sampled_push_runs=push_runs,
        sampled_max_push_runs=max_push_runs,
        sampled_gap=gap,
        sampled_distance=distance,
        sampled_tiles=tiles,
        sampled_half_full=half_full,
        ell_slots=slot_bucket(into.most, edges.num_targets),
        push_slots=slot_bucket(out_of.most, edges.num_sources),
        sliced_slots=int((slots * rows).sum()),
        num_slices=len(slots),
        hybrid_width=hybrid_width,
        hybrid_entries=hybrid_entries,
    )


def _runs(edges: Edges, in_degree: Int[np.ndarray, " targets"]) -> Int[np.ndarray, " targets"]:
    """Runs of sources of each target: its edges that are not next to the one before."""
    is_next = np.zeros(len(edges) + 1, np.int32)
    np.equal(edges.source[1:], edges.source[:-1] + np.int32(1), out=is_next[1:-1], casting="unsafe")
    stop = np.cumsum(in_degree)
    start = stop - in_degree
    is_next[start[in_degree > 0]] = 0
    total = np.cumsum(is_next)
    before = np.where(start > 0, total[start - 1], 0)
    return in_degree - np.where(in_degree > 0, total[stop - 1] - before, 0)


def _push_runs(edges: Edges) -> tuple[float, int]:
    """Runs of targets: of some sources, as many as if all had them, and the most of one source."""
    every = -(-len(edges) // _SAMPLE)
    chosen = slice(None)
    if every > 1:
        is_chosen = np.zeros(edges.num_sources, bool)
        is_chosen[::every] = True
        chosen = np.flatnonzero(is_chosen[edges.source])
    source, target = edges.source[chosen].astype(np.int64), edges.target[chosen]
    if not len(source):
        return 0.0, 0
    key = np.sort(source * edges.num_targets + target)
    is_first = np.ones(len(key), bool)
    is_first[1:] = (np.diff(key) != 1) | (key[1:] % edges.num_targets == 0)
    most = np.bincount(key[is_first] // edges.num_targets).max()
    return float(is_first.sum() * len(edges) / len(key)), int(most)


def _locality(edges: Edges) -> tuple[float, float]:
    """Gap and distance as in `Features`."""
    if not len(edges):
        return 0.0, 0.0
    at = np.arange(len(edges))
    if len(edges) > _SAMPLE:  # not at even distances, which could be those of the structure
        at = np.random.default_rng(0).integers(0, len(edges) - 1, _SAMPLE)
    source, target = edges.source[at].astype(float), edges.target[at]
    across = source / edges.num_sources - target / edges.num_targets
    at = at[at < len(edges) - 1]
    after = at + 1
    is_row = edges.target[at] == edges.target[after]
    gap = (edges.source[after] - edges.source[at])[is_row]
    mean = float(np.log2(gap).mean()) if len(gap) else float(np.log2(edges.num_sources))
    return mean, float(np.abs(across).mean())


def _tiles(edges: Edges) -> tuple[float, float]:
    """Tiles with an edge, and the share of edges in tiles more than half full: of some rows of
    tiles."""
    if not len(edges):
        return 0.0, 0.0
    rows = -(-edges.num_targets // _TILE)
    wanted = max(1, int(rows * _SAMPLE / len(edges)))
    if wanted >= rows:
        source, target = edges.source, edges.target
    else:
        row = np.unique(np.linspace(0, rows - 1, wanted).astype(np.int64))
        starts = np.searchsorted(edges.target, row * _TILE)
        stops = np.searchsorted(edges.target, (row + 1) * _TILE)
        at = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
        source, target = edges.source[at], edges.target[at]
        if not len(source):
            return float(len(edges)), 0.0
    across = -(-edges.num_sources // _TILE)
    key = target.astype(np.int64) // _TILE * across + source // _TILE
    _, fill = np.unique(key, return_counts=True)
    share = len(edges) / len(source)
    return float(len(fill) * share), float(fill[fill > _TILE**2 // 2].sum() / len(source))
