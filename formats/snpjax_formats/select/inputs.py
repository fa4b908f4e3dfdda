"""What a cost model is told about a graph, a workload and a candidate: a row of numbers."""

from collections.abc import Callable, Sequence

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
    return ["maker", *_COMMON, *_OWN]


def input_table(
    f: Features, w: Workload, kind: str, candidates: Sequence[Candidate] = CANDIDATES
) -> Float[np.ndarray, "candidates inputs"]:
    """The numbers for each candidate, on a kind of device: sizes as logarithms of base 2, shares as
    they are. The last `NUM_OWN` differ between candidates."""
    common = [_MAKER.get(kind, _BETWEEN), *(of(f, w) for of in _COMMON.values())]
    rows = [[*common, *(of(f, w, c) for of in _OWN.values())] for c in candidates]
    return np.asarray(rows, np.float64).reshape(len(candidates), len(input_names()))


def _log(x: float) -> float:
    return float(np.log2(1 + x))


def _each(x: float, f: Features) -> float:
    """A number for each edge."""
    return _log(x / max(f.num_edges, 1))


def _stored(f: Features, candidate: Candidate) -> float:
    return _log(candidate.stored(f))


def _num_bits(w: Workload) -> int:
    return _ALL_BITS if w.max_input is None else max(w.max_input, 1).bit_length()


_DEGREES: dict[str, Callable[[Degrees], float]] = {
    "mean": lambda d: _log(d.mean),
    "most": lambda d: _log(d.most),
    "least": lambda d: _log(d.least),
    "deviation": lambda d: d.deviation / (d.mean + 1e-9),
    "high": lambda d: d.high / (d.mean + 1e-9),
    "skew": lambda d: min(d.most / (d.mean + 1e-9), 1e6),
}
_COMMON: dict[str, Callable[[Features, Workload], float]] = {
    "sources": lambda f, w: _log(f.num_sources),
    "targets": lambda f, w: _log(f.num_targets),
    "edges": lambda f, w: _log(max(f.num_edges, 1)),
    "density": lambda f, w: float(np.log2(f.density + 1e-9)),
    "batch": lambda f, w: float(np.log2(w.batch)),
    "activity": lambda f, w: float(np.log2(w.activity + 1e-3)),
    "iso": lambda f, w: float(f.is_iso),
    "floats": lambda f, w: float(w.sums_floats),
    "bits": lambda f, w: float(np.log2(_num_bits(w))),
    "gradients": lambda f, w: float(w.gradients),
    "weight bytes": lambda f, w: float(f.weight_bytes),
    **{f"in-degree, {name}": lambda f, w, of=of: of(f.into) for name, of in _DEGREES.items()},
    **{f"out-degree, {name}": lambda f, w, of=of: of(f.out_of) for name, of in _DEGREES.items()},
    "ELL slots an edge": lambda f, w: _each(f.ell_slots * f.num_targets, f),
    "sliced slots an edge": lambda f, w: _each(f.sliced_slots, f),
    "slices": lambda f, w: float(f.num_slices),
    "hybrid width": lambda f, w: _log(f.hybrid_width),
    "hybrid share": lambda f, w: f.hybrid_entries / max(f.num_edges, 1),
    "hybrid entries": lambda f, w: _log(f.hybrid_entries),
    "push slots an edge": lambda f, w: _each(f.push_slots * f.num_sources, f),
    "ELL slots": lambda f, w: _log(f.ell_slots),
    "push slots": lambda f, w: _log(f.push_slots),
    "runs an edge": lambda f, w: _each(f.num_runs, f),
    "most runs": lambda f, w: _log(f.max_runs),
    "push runs an edge": lambda f, w: _each(f.sampled_push_runs, f),
    "most push runs": lambda f, w: _log(f.sampled_max_push_runs),
    "gap": lambda f, w: f.sampled_gap,
    "distance": lambda f, w: _log(1000 * f.sampled_distance),
    "edges a tile": lambda f, w: _log(max(f.num_edges, 1) / max(f.sampled_tiles, 1)),
    "half full": lambda f, w: f.sampled_half_full,
}
_OWN: dict[str, Callable[[Features, Workload, Candidate], float]] = {
    "stored": lambda f, w, c: _stored(f, c),
    "read": lambda f, w, c: _stored(f, c) + np.log2(w.batch),
    "bytes": lambda f, w, c: _log(c.bytes(f)),
    "stored a target": lambda f, w, c: _log(c.stored(f) / max(f.num_targets, 1)),
    "stored a source": lambda f, w, c: _log(c.stored(f) / max(f.num_sources, 1)),
    "stored over ELL": lambda f, w, c: _stored(f, c) - _stored(f, BY_NAME["ELL pull"]),
    "stored over hybrid": lambda f, w, c: _stored(f, c) - _stored(f, BY_NAME["Hybrid pull"]),
}

#: The last this many inputs differ between candidates.
NUM_OWN = len(_OWN)
