"""The layouts that a chooser chooses among, and what each would cost in bytes and in work."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ..bits import BitDense, BitGather
from ..bsr import BSR
from ..compressed import Compressed
from ..coo import COO
from ..csc import CSC
from ..csr import CSR
from ..dense import Dense
from ..edges import Edges
from ..ell import ELL
from ..hybrid import Hybrid
from ..interval import Interval
from ..layout import AbstractLayout, built
from ..narrow import Float32Dense, Int8Dense
from ..sliced_ell import SlicedELL
from ..stored import bucket, entry_bucket, index_bytes, slot_bucket
from ..two_way import TwoWay
from .features import Features
from .workload import Workload


Direction: TypeAlias = Literal["pull", "push", "product"]

#: Changes whenever a kernel or this table does: what was measured before is then another thing.
LAYOUT_SET = 4

# A layout that works on this many times the numbers that the best of all needs is not considered.
_MAX_WASTE = 24
_NO_WASTE = 1 << 22  # but up to this many numbers it always is

_MAX_INT32 = 2**31 - 1
_FLOAT32_INTEGERS = 2**24
_TILE = 16


@dataclass(frozen=True)
class Candidate:
    """A layout and the direction in which it delivers: targets pull, sources push, or all pairs are
    one product.

    `stored` are the numbers that a product reads, padding included, and `bytes` what they take;
    both from features alone.
    """

    layout: type[AbstractLayout]
    direction: Direction
    stored: Callable[[Features], int]
    bytes: Callable[[Features], int]
    needs: Callable[[Features, Workload], str | None]
    options: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Unique among `CANDIDATES`."""
        return f"{self.layout.__name__} {self.direction}"

    def build(self, edges: Edges, workload: Workload) -> AbstractLayout:
        return built(self.layout, edges, max_input=workload.max_input, options=dict(self.options))

    def obstacle(self, features: Features, workload: Workload, free: int | None) -> str | None:
        """Why it is not a candidate, if it is none."""
        problem = self.needs(features, workload)
        if problem is not None:
            return problem
        if free is not None and self.bytes(features) > free:
            return f"needs {self.bytes(features):,} bytes, but {free:,} are free"
        return None


def feasible(
    features: Features, workload: Workload, *, free: int | None = None
) -> tuple[list[Candidate], dict[str, str]]:
    """The candidates that fit and are exact, and why each of the others is none.

    `free` are bytes on the device, where they are known.
    """
    refused = {c.name: c.obstacle(features, workload, free) for c in CANDIDATES}
    fit = [c for c in CANDIDATES if refused[c.name] is None]
    least = min((c.stored(features) for c in fit), default=0)
    allowed = max(_NO_WASTE, _MAX_WASTE * least)
    kept = [c for c in fit if c.stored(features) <= allowed]
    reasons = {name: why for name, why in refused.items() if why is not None}
    for c in fit:
        if c not in kept:
            reasons[c.name] = (
                f"reads {c.stored(features):,} numbers, over {_MAX_WASTE} times the least"
            )
    return kept, reasons


def _nothing(features: Features, workload: Workload) -> str | None:
    del features, workload
    return None


def _integers(features: Features, workload: Workload) -> str | None:
    if workload.sums_floats or features.is_float:
        return "sums integers only"
    return None


def _pattern(features: Features, workload: Workload) -> str | None:
    """Of a graph without weights, which are not trained."""
    if workload.trained:
        return "its weights are not trained"
    return _integers(features, workload) or (None if features.is_iso else "stores no weights")


def _bits(features: Features, workload: Workload) -> str | None:
    return _pattern(features, workload) or (
        "takes every bit of x apart; give `max_input`" if workload.max_input is None else None
    )


def _int8(features: Features, workload: Workload) -> str | None:
    if workload.trained:
        return "its weights are not trained"
    if features.max_weight > 127:
        return "holds weights up to 127"
    if max(features.num_sources, features.num_targets) > _MAX_INT32 // (127 * 128):
        return "has too many rows for sums in int32"
    return _integers(features, workload)


def _float32(features: Features, workload: Workload) -> str | None:
    if workload.sums_floats:
        return "of floats it is Dense"
    if workload.trained or features.is_float:
        return "holds integers here"
    if workload.max_input is None:
        return "is exact up to a largest input; give `max_input`"
    most = max(features.into.most, features.out_of.most) * features.max_weight
    if most * max(workload.max_input, 1) > _FLOAT32_INTEGERS:
        return "sums may pass 2^24"
    return None


def _back(features: Features, workload: Workload) -> str | None:
    if not workload.gradients:
        return "stores the graph twice, for gradients"
    if not features.is_iso and features.ell_slots * features.num_targets > _MAX_INT32:
        return "has too many slots for int32"
    return None


def _entries_fit(rows: Callable[[Features], int]) -> Callable[[Features, Workload], str | None]:
    def needs(features: Features, workload: Workload) -> str | None:
        del workload
        fits = entry_bucket(features.num_edges, rows(features)) <= _MAX_INT32
        return None if fits else "has too many entries for int32"

    return needs


def _pairs(f: Features) -> int:
    return f.num_sources * f.num_targets


def _aligned_pairs(f: Features) -> int:
    return -(-f.num_sources // 4) * 4 * (-(-f.num_targets // 4) * 4)


def _pulled(f: Features) -> int:
    return f.ell_slots * f.num_targets


def _pushed(f: Features) -> int:
    return f.push_slots * f.num_sources


def _by_target(f: Features) -> int:
    return entry_bucket(f.num_edges, f.num_targets)


def _by_source(f: Features) -> int:
    return entry_bucket(f.num_edges, f.num_sources)


def _tiles(f: Features) -> int:
    return slot_bucket(int(np.ceil(f.sampled_tiles)), max(f.num_sources, f.num_targets))


def _source(f: Features) -> int:
    """Bytes of the index of a source."""
    return index_bytes(f.num_sources)


def _target(f: Features) -> int:
    return index_bytes(f.num_targets)


CANDIDATES: tuple[Candidate, ...] = (
    Candidate(ELL, "pull", _pulled, lambda f: _pulled(f) * (_source(f) + f.weight_bytes), _nothing),
    Candidate(
        SlicedELL,
        "pull",
        lambda f: f.sliced_slots + f.num_targets,
        lambda f: 4 * f.num_targets + f.sliced_slots * (_source(f) + f.weight_bytes),
        lambda f, w: None if f.has_slices else "is ELL here: all targets have as many slots",
    ),
    Candidate(
        Hybrid,
        "pull",
        lambda f: f.hybrid_width * f.num_targets + f.hybrid_entries,
        lambda f: (
            f.hybrid_width * f.num_targets * (_source(f) + f.weight_bytes)
            + f.hybrid_entries * (_source(f) + _target(f) + f.weight_bytes)
        ),
        lambda f, w: None if f.has_overflow else "is ELL here: nothing overflows",
    ),
    Candidate(BitGather, "pull", _pulled, lambda f: _source(f) * _pulled(f), _bits),
    Candidate(
        CSR,
        "pull",
        _by_target,
        lambda f: 4 * (f.num_targets + 1) + _by_target(f) * (_source(f) + f.weight_bytes),
        _entries_fit(lambda f: f.num_targets),
    ),
    Candidate(
        Interval,
        "pull",
        lambda f: bucket(f.max_runs, at_least=1) * f.num_targets + f.num_sources,
        lambda f: 8 * bucket(f.max_runs, at_least=1) * f.num_targets,
        _pattern,
        (("by", "target"),),
    ),
    Candidate(
        COO,
        "push",
        _by_target,
        lambda f: _by_target(f) * (_source(f) + _target(f) + f.weight_bytes),
        _nothing,
    ),
    Candidate(
        CSC,
        "push",
        _by_source,
        lambda f: (
            4 * (f.num_sources + 1) + _by_source(f) * (_source(f) + _target(f) + f.weight_bytes)
        ),
        _entries_fit(lambda f: f.num_sources),
    ),
    Candidate(
        Compressed, "push", _pushed, lambda f: _pushed(f) * (_target(f) + f.weight_bytes), _nothing
    ),
    Candidate(
        Interval,
        "push",
        lambda f: bucket(f.sampled_max_push_runs, at_least=1) * f.num_sources + f.num_targets,
        lambda f: 8 * bucket(f.sampled_max_push_runs, at_least=1) * f.num_sources,
        _pattern,
        (("by", "source"),),
    ),
    Candidate(
        BSR,
        "product",
        lambda f: _tiles(f) * _TILE**2,
        lambda f: _tiles(f) * (8 + _TILE**2 * (f.weight_bytes or 1)),
        _nothing,
    ),
    Candidate(
        Dense,
        "product",
        _pairs,
        lambda f: _pairs(f) * (f.weight_bytes or 4),
        _nothing,
    ),
    Candidate(Int8Dense, "product", _aligned_pairs, _aligned_pairs, _int8),
    Candidate(Float32Dense, "product", _pairs, lambda f: 4 * _pairs(f), _float32),
    Candidate(
        BitDense,
        "product",
        lambda f: -(-f.num_sources // 32) * f.num_targets,
        lambda f: 4 * -(-f.num_sources // 32) * f.num_targets,
        _bits,
    ),
    Candidate(
        TwoWay,
        "pull",
        lambda f: _pulled(f) + _pushed(f),
        lambda f: (
            _pulled(f) * (_source(f) + f.weight_bytes)
            + _pushed(f) * (_target(f) + (0 if f.is_iso else 4))
        ),
        _back,
    ),
)

BY_NAME: dict[str, Candidate] = {candidate.name: candidate for candidate in CANDIDATES}
