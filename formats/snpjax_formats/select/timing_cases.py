"""Graphs and workloads to be timed, each drawn from a number, so that a data set can be made again.

A *cell* is a size, a distribution of degrees and a workload; its members differ in where the edges
are. Members of a cell share most of their compilations, and never part in a split.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from jaxtyping import Float, Int

from ..arguments import explain_arguments
from ..edges import Edges
from .workload import LARGEST_COUNT, Workload


Family: TypeAlias = Literal["random", "window", "blocks", "runs", "hubs", "sorting", "paper"]
Kind: TypeAlias = Literal["binary", "counts", "weighted", "rates", "learned"]

_KINDS: tuple[Kind, ...] = ("binary", "counts", "weighted", "rates", "learned")
_SPREADS = ("constant", "poisson", "lognormal 0.5", "lognormal 1", "lognormal 1.5", "power")
_BATCHES = (1, 1, 1, 8, 64)
_ACTIVITIES = (0.01, 0.1, 0.5, 1.0)
_PLACES: tuple[Family, ...] = ("window", "blocks", "runs", "hubs")
_LARGEST_WEIGHT = 9


@dataclass(frozen=True)
class Limits:
    """The largest graphs of a data set, by what its device does in a few milliseconds."""

    nodes: int
    edges: int
    products: int  # edges times batch


CPU_LIMITS = Limits(nodes=2**17, edges=2**21, products=2**24)
GPU_LIMITS = Limits(nodes=2**20, edges=2**23, products=2**28)


@dataclass(frozen=True)
class TimingCase:
    """One graph and its workload. Two are equal only if all of their fields are."""

    cell: int
    seed: int
    family: Family
    kind: Kind
    num_sources: int
    num_targets: int
    mean_degree: float
    spread: str
    size: int  # of a window, a block or a run; 0 elsewhere
    batch: int
    activity: float

    @property
    def name(self) -> str:
        return f"{self.family}-{self.seed}-{self.cell}"

    @property
    def workload(self) -> Workload:
        is_float = self.kind in ("rates", "learned")
        return Workload(
            batch=self.batch,
            accumulate=np.float32 if is_float else np.int32,
            max_input={"binary": 1, "counts": LARGEST_COUNT}.get(self.kind),
            activity=self.activity,
            gradients=self.kind == "learned",
        )

    def edges(self) -> Edges:
        """The graph, canonical."""
        rng = np.random.default_rng([self.seed, self.cell, _PLACE[self.family]])
        if self.family == "sorting":
            return _sorting(self.size)
        degree = _degrees(self, rng)
        edges = _placed(self, degree, rng)
        value = None
        if self.kind in ("rates", "learned"):
            value = rng.standard_normal(len(edges), np.float32)
        elif self.kind == "weighted":
            value = rng.integers(1, _LARGEST_WEIGHT + 1, len(edges)).astype(np.int32)
        return Edges(edges.source, edges.target, value, edges.num_sources, edges.num_targets)

    def inputs(self, count: int) -> np.ndarray:
        """What is multiplied, see `Workload.inputs`."""
        rng = np.random.default_rng([self.seed, self.cell, 99])
        return self.workload.inputs(count, self.num_sources, rng)


_PLACE = {name: i for i, name in enumerate(get_args(Family))}


def members(cell: int, *, seed: int, limits: Limits) -> list[TimingCase]:
    """The configurations of a cell: a random graph and one with structure; every eighth cell
    resembles those that [ANN] timed, every sixteenth is a sorting system.

    **Arguments:**

    - `cell`: the number of the cell.
    - `seed`: of the random numbers of all cells.
    - `limits`: the largest graphs.

    **Returns:** one or two configurations.
    """
    rng = np.random.default_rng([seed, cell])
    if cell % 4 == 1:
        return _of_paper(cell, seed, limits, rng)
    if cell % 16 == 2:
        return [_sorter(cell, seed, rng, limits)]
    kind = _KINDS[rng.choice(len(_KINDS), p=[0.25, 0.15, 0.15, 0.3, 0.15])]
    batch = int(rng.choice(_BATCHES))
    sources, targets = (_size(rng, 9, math.log2(limits.nodes)) for _ in range(2))
    if rng.random() < 0.6:
        targets = sources
    room = limits.edges / 2 ** rng.uniform(0, 4)  # not half of all graphs as large as can be
    most = min(room, limits.products / batch) / targets
    mean = 2 ** rng.uniform(0, math.log2(max(min(4096.0, most, sources / 2), 1.5)))
    spread = str(rng.choice(_SPREADS, p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1]))
    activity = float(rng.choice(_ACTIVITIES))

    def member(family: Family, size: int) -> TimingCase:
        numbers = sources, targets, float(np.round(mean, 3)), spread, size, batch, activity
        return TimingCase(cell, seed, family, kind, *numbers)

    place = _PLACES[rng.integers(len(_PLACES))]
    size = {
        "window": lambda: max(8, int(mean * 2 ** rng.uniform(1, 5))),
        "blocks": lambda: max(8, int(mean / rng.uniform(0.3, 1))),
        "runs": lambda: max(2, int(2 ** rng.uniform(1, math.log2(max(mean, 4))))),
        "hubs": lambda: 0,
    }[place]()
    return [member("random", 0), member(place, min(size, sources))]


def _of_paper(cell: int, seed: int, limits: Limits, rng: np.random.Generator) -> list[TimingCase]:
    """Random weights in float32, a probability or a number of sources for each target."""
    n = int(rng.integers(1_000, 20_001))
    most = min(n, limits.edges / 2 ** rng.uniform(0, 4) / n)
    out = []
    for spread, mean in (
        ("poisson", n * 10 ** rng.uniform(-2, 0)),
        ("constant", 2 ** rng.uniform(2, math.log2(n))),
    ):
        mean = float(np.round(min(mean, most), 3))
        out.append(TimingCase(cell, seed, "paper", "rates", n, n, mean, spread, 0, 1, 1.0))
    return out


def _sorter(cell: int, seed: int, rng: np.random.Generator, limits: Limits) -> TimingCase:
    n = int(2 ** rng.uniform(5, min(10, math.log2(limits.edges) / 2)))
    return TimingCase(
        cell,
        seed,
        "sorting",
        "binary",
        3 * n,
        3 * n,
        0.0,
        "sorting",
        n,
        int(rng.choice([1, 8])),
        0.5,
    )


def _size(rng: np.random.Generator, low: float, high: float) -> int:
    """A power of two, or one and a half times one: few sizes, so that programs are shared."""
    exponent = rng.uniform(low, high)
    power = 2 ** int(exponent)
    return power if exponent % 1 < 0.5 else 3 * power // 2


def _degrees(c: TimingCase, rng: np.random.Generator) -> Int[np.ndarray, " targets"]:
    n, mean = c.num_targets, c.mean_degree
    match c.spread.split():
        case ["constant"]:
            degree = np.full(n, round(mean))
        case ["poisson"]:
            degree = rng.binomial(c.num_sources, min(mean / c.num_sources, 1), n)
        case ["lognormal", sigma]:
            s = float(sigma)
            degree = np.rint(mean * rng.lognormal(-s * s / 2, s, n)).astype(np.int64)
        case _:
            tail = np.minimum(rng.pareto(1.3, n) + 0.3, 300)
            degree = np.rint(mean * tail / tail.mean()).astype(np.int64)
    room = c.size if c.family in ("window", "blocks") else c.num_sources
    return np.minimum(degree, room).astype(np.int64)


def _placed(c: TimingCase, degree: Int[np.ndarray, " targets"], rng: np.random.Generator) -> Edges:
    """Increasing sources for every target: `degree` of those that its place allows."""
    n = c.num_sources
    center = (np.arange(c.num_targets) * n // c.num_targets).astype(np.int64)
    if c.family == "window":
        room = np.full(c.num_targets, c.size)
        low = np.clip(center - c.size // 2, 0, n - c.size)
    elif c.family == "blocks":
        low = center // c.size * c.size
        room = np.minimum(c.size, n - low)
    else:
        low, room = np.zeros(c.num_targets, np.int64), np.full(c.num_targets, n)
    run = c.size if c.family == "runs" else 1
    units = np.minimum(-(-degree // run), room // run)
    degree = np.minimum(degree, units * run)
    skew = 3.0 if c.family == "hubs" else 1.0
    target = np.repeat(np.arange(c.num_targets, dtype=np.int32), units)
    slot = np.arange(len(target)) - np.repeat(np.cumsum(units) - units, units)
    position = _increasing(units, rng) ** skew
    unit = (position * np.repeat(room // run - units + 1, units)).astype(np.int64) + slot
    source = np.repeat(low, units) + unit * run
    if run > 1:
        length = np.where(
            slot == np.repeat(units, units) - 1, np.repeat(degree, units) - slot * run, run
        )
        within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
        source, target = np.repeat(source, length) + within, np.repeat(target, length)
    return Edges(source.astype(np.int32), target, None, n, c.num_targets)


def _increasing(
    units: Int[np.ndarray, " targets"], rng: np.random.Generator
) -> Float[np.ndarray, " units"]:
    """For every target this many sorted numbers in [0, 1), as if uniform: by gaps, not sorting."""
    gaps = rng.standard_exponential(int(units.sum()) + len(units), np.float32).astype(np.float64)
    total = np.cumsum(gaps)
    ends = np.cumsum(units + 1)
    start = np.repeat(np.concatenate([[0.0], total[ends[:-1] - 1]]), units)
    span = np.repeat(total[ends - 1], units) - start
    is_unit = np.ones(len(gaps), bool)
    is_unit[ends - 1] = False
    return np.clip((total[is_unit] - start) / span, 0, 1 - 1e-12)


def _sorting(n: int) -> Edges:
    """The synapses of the system that sorts n numbers: all inputs to all sorters, and sorter j to
    the outputs from j on."""
    output, sorter = np.tril_indices(n)
    source = np.concatenate([np.tile(np.arange(n), n), n + sorter])
    target = np.concatenate([n + np.repeat(np.arange(n), n), 2 * n + output])
    return Edges(source.astype(np.int32), target.astype(np.int32), None, 3 * n, 3 * n)


explain_arguments(__name__)
