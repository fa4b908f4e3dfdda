"""What a cost model is told about a graph, a workload and a candidate: a row of numbers."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from .candidates import BY_NAME, CANDIDATES, Candidate
from .device import CPU_KINDS
from .features import Degrees, Features
from .workload import Workload


_ALL_BITS = 32  # of an x of which no largest value is known

# Processors take their time for different things; those that no model was trained on are taken to
# be between the others. Slowdown of a model of both, five folds: on the Xeon 1.029 told and 1.042
# untold, on the EPYC 1.040 told and 1.057 by a model of itself alone (jax 0.10.2, 2026-11).
_MAKER = {kind: float(i) for i, kind in enumerate(CPU_KINDS.values())}
_BETWEEN = 0.5


def input_names() -> list[str]:
    """The names of the numbers, in their order."""
    return [*_COMMON, *_OWN]


def input_table(
    f: Features, w: Workload, kind: str, candidates: Sequence[Candidate] = CANDIDATES
) -> Float[np.ndarray, "candidates inputs"]:
    """The numbers for each candidate, on a kind of device: sizes as logarithms of base 2, shares as
    they are. The last `NUM_OWN` differ between candidates."""
    common = [_MAKER.get(kind, _BETWEEN), *_common(f, w).values()]
    batch = np.log2(w.batch)
    pulled, mixed = (_log(BY_NAME[name].stored(f)) for name in ("ELL pull", "Hybrid pull"))
    rows = []
    for candidate in candidates:
        number = candidate.stored(f)
        stored = _log(number)
        own = (
            stored,
            stored + batch,
            _log(candidate.bytes(f)),
            _log(number / max(f.num_targets, 1)),
            _log(number / max(f.num_sources, 1)),
            stored - pulled,
            stored - mixed,
        )
        rows.append([*common, *own])
    return np.asarray(rows, np.float64).reshape(len(candidates), len(_COMMON) + len(_OWN))


def _common(f: Features, w: Workload) -> dict[str, float]:
    edges = max(f.num_edges, 1)
    sides = {}
    for side, d in (("in", f.into), ("out", f.out_of)):
        sides |= {f"{side}-degree, {name}": x for name, x in _degrees(d).items()}
    return {
        "sources": _log(f.num_sources),
        "targets": _log(f.num_targets),
        "edges": _log(f.num_edges),
        "density": float(np.log2(f.density + 1e-9)),
        "batch": float(np.log2(w.batch)),
        "activity": float(np.log2(w.activity + 1e-3)),
        "iso": float(f.is_iso),
        "floats": float(w.sums_floats),
        "bits": float(np.log2(_bits(w))),
        "gradients": float(w.gradients),
        "weight bytes": float(f.weight_bytes),
        **sides,
        "ELL slots an edge": _log(f.ell_slots * f.num_targets / edges),
        "sliced slots an edge": _log(f.sliced_slots / edges),
        "slices": float(f.num_slices),
        "hybrid width": _log(f.hybrid_width),
        "hybrid share": f.hybrid_entries / edges,
        "hybrid entries": _log(f.hybrid_entries),
        "push slots an edge": _log(f.push_slots * f.num_sources / edges),
        "ELL slots": _log(f.ell_slots),
        "push slots": _log(f.push_slots),
        "runs an edge": _log(f.num_runs / edges),
        "most runs": _log(f.max_runs),
        "push runs an edge": _log(f.sampled_push_runs / edges),
        "most push runs": _log(f.sampled_max_push_runs),
        "gap": f.sampled_gap,
        "distance": _log(1000 * f.sampled_distance),
        "edges a tile": _log(edges / max(f.sampled_tiles, 1)),
        "half full": f.sampled_half_full,
    }


def _bits(w: Workload) -> int:
    return _ALL_BITS if w.max_input is None else max(w.max_input, 1).bit_length()


def _degrees(d: Degrees) -> dict[str, float]:
    mean = d.mean + 1e-9
    return {
        "mean": _log(d.mean),
        "most": _log(d.most),
        "least": _log(d.least),
        "deviation": d.deviation / mean,
        "high": d.high / mean,
        "skew": min(d.most / mean, 1e6),
    }


def _log(x: float) -> float:
    return float(np.log2(1 + x))


_DEGREES = ("mean", "most", "least", "deviation", "high", "skew")
_COMMON = (
    "maker",
    "sources",
    "targets",
    "edges",
    "density",
    "batch",
    "activity",
    "iso",
    "floats",
    "bits",
    "gradients",
    "weight bytes",
    *(f"{side}-degree, {name}" for side in ("in", "out") for name in _DEGREES),
    "ELL slots an edge",
    "sliced slots an edge",
    "slices",
    "hybrid width",
    "hybrid share",
    "hybrid entries",
    "push slots an edge",
    "ELL slots",
    "push slots",
    "runs an edge",
    "most runs",
    "push runs an edge",
    "most push runs",
    "gap",
    "distance",
    "edges a tile",
    "half full",
)
_OWN = (
    "stored",
    "read",
    "bytes",
    "stored a target",
    "stored a source",
    "stored over ELL",
    "stored over hybrid",
)

#: The last this many inputs differ between candidates.
NUM_OWN = len(_OWN)
