"""The starting tree: a layout by rules of thumb, each with the measurement behind it.

Two shared cores, jax 0.10.2, and one H200, jax 0.11.2, 2026-11; tables in bench/README.md. `Hybrid`
was never slower than `SlicedELL` where integers are summed, on either, so that the tree has no
place for it.
"""

from dataclasses import dataclass

import jax

from ..bits import BitDense, BitGather
from ..csr import CSR
from ..edges import Edges
from ..ell import ELL
from ..graphs import AbstractGraph
from ..hybrid import Hybrid
from ..interval import Interval
from ..layout import AbstractLayout
from ..memory import free_bytes
from ..narrow import Int8Dense
from .features import Features, features_of


# Graphs up to this size are all stored alike: they are fast in every layout, and systems of similar
# size share their compilations.
_SMALL = 256

# One run costs about as much as so many edges of a gather.
_EDGES_PER_RUN = 4

# Words of 32 pairs against indices of 32 bits: from here on bits take fewer bytes.
_BIT_DENSITY = 1 / 32

_INT8_DENSITY = 0.2
_EVEN = 1.3

# In-degrees up to so many times the mean may be padded where bits are gathered: H200, 31M edges,
# largest 2.0 times the mean, 0.10 ms against 0.16 for ELL without padded bits.
_PADDED_BITS = 4.0

# Up to so many pairs a CPU counts bits faster than it takes prefix sums: 500 x 500 in 1 us against
# 2.5 (two shared cores, jax 0.10.2, 2026-11).
_CPU_BIT_PAIRS = 2**20

# Up to so many nodes a product on a GPU takes as long as its kernels take to start: one layout of
# bits is two of them, each part of a sum one or more. Sorting 1,000 numbers takes 7.1 us a step
# joined and 12.6 in parts, 2,700 numbers 7.8 and 9.1, but then a second more is spent on listing
# the edges.
_MAX_JOINED = 4096


# Up to so many nodes many paths are one product of matrices on a GPU.
_MAX_PRODUCT = 1024


@dataclass(frozen=True)
class Decision:
    """A layout and why it was chosen."""

    layout: type[AbstractLayout]
    reason: str
    features: Features

    def __str__(self) -> str:
        return f"{self.layout.__name__}: {self.reason}"


def choose(
    edges: Edges,
    *,
    max_input: int | None = None,
    device: str | None = None,
    many_paths: bool = False,
) -> Decision:
    """The layout for sums of integers over this graph.

    **Arguments:**

    - `max_input`: the largest value that will be delivered, if it is known; 1 allows layouts of
      bits.
    - `device`: `"cpu"` or `"gpu"`; by default JAX's own.
    - `many_paths`: thousands of vectors will be multiplied at once.
    """
    edges = edges.canonical()
    device = device or jax.default_backend()
    features = features_of(edges)
    size = max(features.num_sources, features.num_targets)
    if many_paths and device != "cpu" and size <= _MAX_PRODUCT and features.max_weight <= 127:
        return Decision(Int8Dense, "a small product of matrices", features)
    layout, reason = _tree(features, max_input, "cpu" if device == "cpu" else "gpu")
    free = free_bytes()
    if free is not None and layout.bytes_needed(edges) > free:
        for other in (Hybrid, CSR):
            if other.bytes_needed(edges) <= free and other.obstacle(edges) is None:
                reason = f"{layout.__name__} does not fit in {free:,} bytes"
                return Decision(other, reason, features)
    return Decision(layout, reason, features)


def choose_for(
    graph: AbstractGraph,
    num_sources: int,
    num_targets: int,
    *,
    max_input: int | None = None,
    device: str | None = None,
) -> AbstractLayout | None:
    """The layout of the structure of a description; `None` where one of its edges is better."""
    layout = graph.layout(num_sources, num_targets)
    is_cpu = (device or jax.default_backend()) == "cpu"
    pairs = num_sources * num_targets
    if isinstance(layout, Interval) and is_cpu and max_input == 1 and pairs <= _CPU_BIT_PAIRS:
        return None
    return layout


def is_best_joined(size: int, *, device: str | None = None) -> bool:
    """Whether parts of a matrix are better stored as one."""
    return (device or jax.default_backend()) != "cpu" and size <= _MAX_JOINED


def _tree(
    features: Features, max_input: int | None, device: str
) -> tuple[type[AbstractLayout], str]:
    if max(features.num_sources, features.num_targets) <= _SMALL:
        return ELL, "a small graph"
    is_binary = features.is_iso and max_input == 1
    rows = max(features.num_targets, 1)
    pairs = features.num_sources * features.num_targets
    few = _CPU_BIT_PAIRS if device == "cpu" else _MAX_JOINED**2
    if is_binary and pairs <= few and features.density > _BIT_DENSITY:
        return BitDense, f"density {features.density:.2f}, zeros and ones"
    if features.is_iso and features.max_runs * rows * _EDGES_PER_RUN < features.num_edges:
        return Interval, f"targets listen to {features.num_runs:,} runs of sources"
    if is_binary and features.density > _BIT_DENSITY:
        return BitDense, f"density {features.density:.2f}, zeros and ones"
    if features.density > _INT8_DENSITY and features.max_weight <= 127:
        return Int8Dense, f"density {features.density:.2f}"
    if is_binary and features.in_skew <= (_PADDED_BITS if device == "gpu" else _EVEN):
        return BitGather, "sparse, zeros and ones"
    skew = f"the largest in-degree is {features.in_skew:.1f} times the mean"
    return (ELL if features.in_skew <= _EVEN else Hybrid), skew
