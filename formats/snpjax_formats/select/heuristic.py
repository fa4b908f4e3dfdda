"""The starting tree: a layout by rules of thumb, each with the measurement behind it.

Two shared cores, jax 0.10.2, and one H200, jax 0.11.2, 2026-11; tables in bench/README.md. `Hybrid`
was never slower than `SlicedELL` where integers are summed, on either, nor where floats are on the
H200, so that the tree takes `SlicedELL` for floats on a CPU only.
"""

from dataclasses import dataclass

import jax

from ..bits import BitDense, BitGather
from ..coo import COO
from ..csr import CSR
from ..dense import Dense
from ..ell import ELL
from ..free_memory import NotEnoughMemory
from ..graphs import AbstractGraph
from ..hybrid import Hybrid, work_of
from ..interval import Interval
from ..layout import AbstractLayout
from ..narrow import Int8Dense
from ..sliced_ell import SlicedELL
from ..stored import SMALL, TINY
from .decision import AbstractChooser, Decision, Question
from .features import Features


#: Up to this many nodes on a CPU runs were timed, not products alone: see `small_on_cpu`.
SMALL_ON_CPU = 512

# One run costs about as much as this many edges of a gather.
_EDGES_PER_RUN = 4

#: Words of 32 pairs against indices of 32 bits: from here on bits take fewer bytes, and from a
#: sixteenth on against those of 16 bits.
BIT_DENSITY = 1 / 32

_INT8_DENSITY = 0.2
_EVEN = 1.3

# A graph that takes so much less work as `Hybrid` is stored as one, not as `ELL`. (Floats, H200,
# 40M, largest in-degree 1.1 times the mean: 0.112 ms against 0.154; two cores, jax 0.10.2, 200,000:
# 0.15 against 0.24; 2026-11.)
_PADDED = 0.9

# Above it a matrix of floats is faster than ELL (two shared cores, jax 0.10.2; on GPUs an
# estimate). In whole runs of 64 to 512 rate neurons it is 2 to 9 times as fast, and CSR, which
# `Published` takes where a target has more than 128 edges, 2 to 7 times slower than ELL (2026-11).
_CPU_FLOAT_DENSITY = 0.18
_GPU_FLOAT_DENSITY = 0.25

# In-degrees up to this many times the mean may be padded where bits are gathered: H200, 31M edges,
# largest 2.0 times the mean, 0.10 ms against 0.16 for ELL without padded bits.
_PADDED_BITS = 4.0

# Up to this many pairs a CPU counts bits faster than it takes prefix sums: 500 x 500 in 1 us
# against 2.5 (two shared cores, jax 0.10.2, 2026-11).
_CPU_BIT_PAIRS = 2**20

#: Up to this many nodes a product on a GPU takes as long as its kernels take to start: one layout
# of bits is two of them, each part of a sum one or more. Sorting 1,000 numbers takes 7.1 us a step
# joined and 12.6 in parts, 2,700 numbers 7.8 and 9.1, but then a second more is spent on listing
# the edges.
MAX_JOINED = 4096


# Up to this many nodes many paths are one product of matrices on a GPU.
_MAX_PRODUCT = 1024


@dataclass(frozen=True)
class StartingTree(AbstractChooser):
    """The rules of thumb above: for integers, and for the graphs that no model was trained on.

    `many_paths`: many vectors will be multiplied at once.
    """

    many_paths: bool = False

    def decide(self, question: Question) -> Decision:
        features, max_input = question.features, question.workload.max_input
        size = max(features.num_sources, features.num_targets)
        is_float = question.workload.sums_floats or features.is_float
        is_float |= question.workload.trained
        may_product = size <= _MAX_PRODUCT and features.max_weight <= 127 and not is_float
        if self.many_paths and question.device != "cpu" and may_product:
            return Decision(Int8Dense, "a small product of matrices", question)
        if is_float:
            layout, reason = _tree_of_floats(features, question)
        else:
            layout, reason = _tree(features, max_input, question.device)
        free, edges = question.free, question.edges
        if free is not None and (needed := layout.bytes_needed(edges)) > free:
            for other in (Hybrid, CSR):
                if other.bytes_needed(edges) <= free and other.obstacle(edges) is None:
                    reason = f"{layout.__name__} does not fit in {free:,} bytes"
                    return Decision(other, reason, question)
            raise too_large(question, {layout.__name__: needed})
        return Decision(layout, reason, question)


def too_large(question: Question, needed: dict[str, int]) -> NotEnoughMemory:
    """What to raise where no layout fits."""
    f = question.features
    sizes = {**needed, **{o.__name__: o.bytes_needed(question.edges) for o in (Hybrid, CSR, COO)}}
    each = ", ".join(f"{name} {size:,}" for name, size in sorted(sizes.items(), key=lambda x: x[1]))
    return NotEnoughMemory(
        f"No layout for {f.num_sources:,} x {f.num_targets:,} with {f.num_edges:,} edges fits in "
        f"the {question.free:,} bytes that are free; they need: {each}. Use a machine with more "
        "memory."
    )


def small_on_cpu(question: Question, *, many_paths: bool) -> tuple[type[AbstractLayout], str]:
    """What is fastest in whole runs of up to `SMALL_ON_CPU` neurons, by bench/small_graphs.py: the
    tables are in docs/selecting.md. There the work of a product is less than what surrounds it, and
    what is one loop without branches is best."""
    edges, most = question.edges, question.workload.max_input
    size = max(edges.num_sources, edges.num_targets)
    slots, mean = edges.max_in_degree(), len(edges) / max(edges.num_targets, 1)
    if size <= TINY:
        return ELL, "a small graph"
    if question.workload.sums_floats or question.workload.trained:
        density = len(edges) / max(edges.num_sources * edges.num_targets, 1)
        layout = Dense if density > _CPU_FLOAT_DENSITY else ELL
        return layout, f"a small graph of floats, density {density:.2f}"
    crowd = _CROWD_OF_MANY if many_paths else _CROWD
    is_crowded = slots * crowd > size
    suits_bits = is_crowded and most == 1 if many_paths else _are_few_bits(most)
    if suits_bits and edges.value is None:
        return BitDense, "a small graph, few spikes at a time"
    if size > _EVEN_SIZE and slots > _UNEVEN * mean:
        return Hybrid, f"a small graph, the largest in-degree {slots / mean:.1f} times the mean"
    is_crowded |= not many_paths and size <= _EVEN_SIZE
    if is_crowded and Int8Dense.obstacle(edges) is None:
        return Int8Dense, f"a small graph, up to {slots} edges into a node"
    return ELL, f"a small graph, up to {slots} edges into a node"


# Numbers of `small_on_cpu`.
_FEW_BITS = 3
_EVEN_SIZE, _UNEVEN = 128, 8.0
_CROWD, _CROWD_OF_MANY = 20, 12


def _are_few_bits(max_input: int | None) -> bool:
    return max_input is not None and max_input.bit_length() <= _FEW_BITS


def choose_for(
    graph: AbstractGraph,
    num_sources: int,
    num_targets: int,
    *,
    max_input: int | None = None,
    device: str | None = None,
    many_paths: bool = False,
) -> AbstractLayout | None:
    """The layout of a graph that is described by its structure.

    **Arguments:**

    - `graph`: the description, such as `AllToAll()`.
    - `num_sources`, `num_targets`: the numbers of nodes.
    - `max_input`: the largest value that will be delivered; `None` if it is unknown.
    - `device`: `"cpu"` or `"gpu"`; by default JAX's own.
    - `many_paths`: whether many vectors will be multiplied at once.

    **Returns:** the layout; `None` where a layout of its edges is faster.
    """
    layout = graph.layout(num_sources, num_targets)
    is_cpu = (device or jax.default_backend()) == "cpu"
    if isinstance(layout, Interval) and is_cpu and not many_paths:
        is_small = max(num_sources, num_targets) <= SMALL_ON_CPU and _are_few_bits(max_input)
        if is_small or (max_input == 1 and num_sources * num_targets <= _CPU_BIT_PAIRS):
            return None
    return layout


def is_best_joined(size: int, *, device: str | None = None) -> bool:
    """Whether parts of a matrix are faster if they are stored as one layout.

    **Arguments:**

    - `size`: the number of rows or columns, whichever is larger.
    - `device`: `"cpu"` or `"gpu"`; by default JAX's own.

    **Returns:** whether to join them.
    """
    return (device or jax.default_backend()) != "cpu" and size <= MAX_JOINED


def _tree_of_floats(features: Features, question: Question) -> tuple[type[AbstractLayout], str]:
    dense = _CPU_FLOAT_DENSITY if question.device == "cpu" else _GPU_FLOAT_DENSITY
    if features.density > dense:
        return Dense, f"density {features.density:.2f}"
    return _pulled(features, uneven=SlicedELL if question.device == "cpu" else Hybrid)


def _pulled(
    features: Features, *, uneven: type[AbstractLayout]
) -> tuple[type[AbstractLayout], str]:
    skew = f"the largest in-degree is {features.in_skew:.1f} times the mean"
    is_other = features.has_overflow if uneven is Hybrid else features.has_slices
    if features.in_skew > _EVEN and is_other:
        return uneven, skew
    rows = features.num_targets
    work = work_of(features.hybrid_width, rows, features.hybrid_entries)
    return (Hybrid if work < _PADDED * features.ell_slots * rows else ELL), skew


def _tree(
    features: Features, max_input: int | None, device: str
) -> tuple[type[AbstractLayout], str]:
    if max(features.num_sources, features.num_targets) <= SMALL:
        return ELL, "a small graph"
    is_binary = features.is_iso and max_input == 1
    rows = max(features.num_targets, 1)
    pairs = features.num_sources * features.num_targets
    few = _CPU_BIT_PAIRS if device == "cpu" else MAX_JOINED**2
    if is_binary and pairs <= few and features.density > BIT_DENSITY:
        return BitDense, f"density {features.density:.2f}, zeros and ones"
    if features.is_iso and features.max_runs * rows * _EDGES_PER_RUN < features.num_edges:
        return Interval, f"targets listen to {features.num_runs:,} runs of sources"
    if is_binary and features.density > BIT_DENSITY:
        return BitDense, f"density {features.density:.2f}, zeros and ones"
    if features.density > _INT8_DENSITY and features.max_weight <= 127:
        return Int8Dense, f"density {features.density:.2f}"
    if is_binary and features.in_skew <= (_PADDED_BITS if device == "gpu" else _EVEN):
        return BitGather, "sparse, zeros and ones"
    return _pulled(features, uneven=Hybrid)
