"""Descriptions of graphs, which know no sizes until they are placed between sources and targets.

Everything here is on the host. A description gives the list of its edges, the layout that suits its
structure, and bounds on what arrives, the last two without listing the edges where it has
structure. Weights are integers for now.
"""

import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float64, Int

from . import implicit
from .arguments import as_integer, explain_arguments
from .by_value import ComparedByValue
from .edges import Edges
from .interval import Interval, checked_runs, rows_of
from .layout import AbstractLayout
from .scaled import Scaled
from .window import AbstractWindowed, Window


# Targets of which a random graph is drawn at a time. It is part of what a seed means.
_BLOCK = 4096

OfSources: TypeAlias = Float64[np.ndarray, " sources"]
OfTargets: TypeAlias = Float64[np.ndarray, " targets"]


class AbstractGraph(abc.ABC):
    """A graph of weighted edges between any number of sources and of targets, or of a number that
    `check` accepts."""

    @abc.abstractmethod
    def check(self, num_sources: int, num_targets: int) -> None:
        """Check that the graph fits two populations.

        **Arguments:**

        - `num_sources`, `num_targets`: their sizes.

        **Raises:** `ValueError` if it does not.
        """

    @abc.abstractmethod
    def weight_range(self) -> tuple[int, int]:
        """The least and the largest weight of any edge that there may be."""

    @abc.abstractmethod
    def edges(self, num_sources: int, num_targets: int, targets: range | None = None) -> Edges:
        """List the edges.

        **Arguments:**

        - `num_sources`, `num_targets`: the numbers of nodes.
        - `targets`: list only the edges into these, whose numbers are then counted from the first
          of them; by default all.
        """

    @abc.abstractmethod
    def num_edges(self, num_sources: int, num_targets: int) -> int:
        """The number of all edges.

        **Arguments:**

        - `num_sources`, `num_targets`: the numbers of nodes.
        """

    @abc.abstractmethod
    def layout(self, num_sources: int, num_targets: int) -> AbstractLayout | None:
        """The layout with the same structure.

        **Arguments:**

        - `num_sources`, `num_targets`: the numbers of nodes.

        **Returns:** the layout; `None` if the edges must be listed, and a layout chosen for them.
        """

    @abc.abstractmethod
    def window(
        self, num_sources: int, num_targets: int, first: int, size: int
    ) -> AbstractLayout | None:
        """The layout of the edges into consecutive targets.

        **Arguments:**

        - `num_sources`, `num_targets`: the numbers of nodes.
        - `first`: the first of these targets; shapes do not depend on it.
        - `size`: the number of these targets, some of which may not exist.

        **Returns:** the layout; `None` if the edges must be listed.
        """

    @abc.abstractmethod
    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        """The sum of `|weight| * x[source]` over the edges into each target.

        With the largest possible `x` it bounds what is delivered. It is exact below 2^53, and never
        too small.

        **Arguments:**

        - `x`: `(sources,)` values of 0 or more; `inf` is allowed.
        - `num_targets`: the number of targets.

        **Returns:** `(targets,)` sums.
        """


class AbstractWeighted(AbstractGraph):
    """A graph whose edges all weigh `weight`, or that many each."""

    weight: Any  # an integer, an array of one for each edge, or None: 1

    def weight_range(self) -> tuple[int, int]:
        return _range(self.weight)


class AbstractListed(AbstractWeighted):
    """Edges without a structure that a layout could use."""

    @abc.abstractmethod
    def _listed(self, num_sources: int, num_targets: int, targets: range) -> tuple[Edges, Any]:
        """The edges into some targets, counted from the first of them, without their weights; and
        these.

        **Raises:** what `check` does.
        """

    def edges(self, num_sources: int, num_targets: int, targets: range | None = None) -> Edges:
        targets = range(num_targets) if targets is None else targets
        return _weighted(*self._listed(num_sources, num_targets, targets))

    def layout(self, num_sources: int, num_targets: int) -> None:
        self.check(num_sources, num_targets)

    def window(self, num_sources: int, num_targets: int, first: int, size: int) -> None:
        del first, size
        self.check(num_sources, num_targets)


class AbstractStructured(AbstractWeighted):
    """Edges that a layout describes."""

    @abc.abstractmethod
    def _stored(self, num_sources: int, num_targets: int) -> AbstractLayout:
        """That layout, without the weight.

        **Raises:** what `check` does.
        """

    @abc.abstractmethod
    def _window(self, num_sources: int, num_targets: int, first: int, size: int) -> AbstractLayout:
        """That of a `window`, without the weight.

        **Raises:** what `check` does.
        """

    def edges(self, num_sources: int, num_targets: int, targets: range | None = None) -> Edges:
        if targets is None:
            stored = self._stored(num_sources, num_targets)
        else:
            stored = self._window(num_sources, num_targets, targets.start, len(targets))
        edges, weight = stored.edges(), _check_weight(self.weight)
        return _weighted(edges, weight if edges.value is None else weight * edges.value)

    def layout(self, num_sources: int, num_targets: int) -> AbstractLayout:
        return self._scaled(self._stored(num_sources, num_targets))

    def window(self, num_sources: int, num_targets: int, first: int, size: int) -> AbstractLayout:
        return self._scaled(self._window(num_sources, num_targets, first, size))

    def _scaled(self, stored: AbstractLayout) -> AbstractLayout:
        weight = _check_weight(self.weight)
        return stored if weight == 1 else Scaled(stored, _on_device(weight))


class AbstractComputed(AbstractStructured):
    """Edges whose layout computes the products of any of its targets."""

    @abc.abstractmethod
    def _stored(self, num_sources: int, num_targets: int) -> AbstractWindowed: ...

    def _window(self, num_sources: int, num_targets: int, first: int, size: int) -> Window:
        return Window.of(self._stored(num_sources, num_targets), first, size)


@dataclass(frozen=True)
class AllToAll(AbstractComputed):
    """Every source reaches every target; without `self_edges`, all but the one of its own
    number."""

    weight: int = 1
    self_edges: bool = True

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    def check(self, num_sources: int, num_targets: int) -> None:
        _check_self_edges(self.self_edges, num_sources, num_targets)

    def _stored(self, num_sources: int, num_targets: int) -> AbstractWindowed:
        self.check(num_sources, num_targets)
        return implicit.Ones(num_sources, num_targets, self.self_edges)

    def num_edges(self, num_sources: int, num_targets: int) -> int:
        self.check(num_sources, num_targets)
        return num_sources * (num_targets if self.self_edges else max(num_targets - 1, 0))

    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        self.check(len(x), num_targets)
        if self.self_edges:
            return _times(self.weight, np.full(num_targets, x.sum()))
        # The sum of the others, without a difference, which could lose a small one.
        before = np.concatenate([[0.0], np.cumsum(x)])[:num_targets]
        after = np.concatenate([np.cumsum(x[::-1])[::-1], [0.0]])[1:]
        return _times(self.weight, before + after)


@dataclass(frozen=True)
class OneToOne(AbstractComputed):
    """Source i reaches target i; there are as many sources as targets."""

    weight: int = 1

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    def check(self, num_sources: int, num_targets: int) -> None:
        if num_sources != num_targets:
            raise ValueError(
                f"One-to-one needs equal sizes, but there are {num_sources} sources and "
                f"{num_targets} targets. Change a size, or use Pairs."
            )

    def _stored(self, num_sources: int, num_targets: int) -> AbstractWindowed:
        self.check(num_sources, num_targets)
        return implicit.Identity(num_sources)

    def num_edges(self, num_sources: int, num_targets: int) -> int:
        self.check(num_sources, num_targets)
        return num_sources

    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        self.check(len(x), num_targets)
        return _times(self.weight, x)


@dataclass(frozen=True, eq=False)
class Intervals(ComparedByValue, AbstractStructured):
    """Each source reaches the targets `[start, stop)`, or with `by="target"` each target hears
    the sources `[start, stop)`.

    `start` and `stop` have one entry for each row, or several: `(runs, rows)`. The runs of one row
    may be empty but do not overlap.
    """

    start: Int[np.ndarray, "*runs rows"]
    stop: Int[np.ndarray, "*runs rows"]
    by: Literal["source", "target"] = "source"
    weight: int = 1

    def __post_init__(self) -> None:
        _check_weight(self.weight)
        _set_arrays(self, "start", "stop")

    def check(self, num_sources: int, num_targets: int) -> None:
        self._runs(num_sources, num_targets)

    def num_edges(self, num_sources: int, num_targets: int) -> int:
        start, stop = self._runs(num_sources, num_targets)
        return int((stop - start).sum())

    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        start, stop = self._runs(len(x), num_targets)
        sums = _run_sums if self.by == "target" else _covering_sums
        num_terms = len(start) * (start.size + len(x) + num_targets)
        of_runs = partial(sums, start=start, stop=stop, num_targets=num_targets)
        return _times(self.weight, _safe(of_runs, x, num_terms))

    def _runs(self, num_sources: int, num_targets: int) -> tuple[np.ndarray, np.ndarray]:
        return checked_runs(self.start, self.stop, self.by, num_sources, num_targets)

    def _stored(self, num_sources: int, num_targets: int) -> AbstractLayout:
        return Interval.from_runs(
            self.start, self.stop, by=self.by, num_sources=num_sources, num_targets=num_targets
        )

    def _window(self, num_sources: int, num_targets: int, first: int, size: int) -> AbstractLayout:
        start, stop = self._runs(num_sources, num_targets)
        if self.by == "source":
            start, stop = (np.clip(end - first, 0, size) for end in (start, stop))
        else:
            start, stop = (rows_of(ends, first, size) for ends in (start, stop))
        return Interval.from_runs(
            start, stop, by=self.by, num_sources=num_sources, num_targets=size, turn=False
        )


@dataclass(frozen=True, eq=False)
class Pairs(ComparedByValue, AbstractListed):
    """The listed edges `source[e] -> target[e]`, of one weight or of one each; parallel edges add
    up."""

    source: Int[np.ndarray, " edges"]
    target: Int[np.ndarray, " edges"]
    weight: int | Int[np.ndarray, " edges"] | None = None  # None: 1
    sizes: tuple[int, int] | None = None  # of sources and targets; None: any that hold the edges

    def __post_init__(self) -> None:
        _set_arrays(self, "source", "target")
        if self.source.ndim != 1 or self.source.shape != self.target.shape:
            raise ValueError(
                f"`source` has shape {self.source.shape} and `target` {self.target.shape}. Give "
                "two lists of equal length."
            )
        if self.weight is not None:
            weight = _check_weight(self.weight)
            if weight.shape not in ((), self.source.shape):
                raise ValueError(
                    f"`weight` has shape {weight.shape}, but there are {len(self.source)} edges. "
                    "Give one number, or one for each edge."
                )
            object.__setattr__(self, "weight", weight if weight.ndim else int(weight))

    @classmethod
    def of(cls, edges: Edges) -> "Pairs":
        """A list of edges as a description."""
        return cls(edges.source, edges.target, edges.value)

    def check(self, num_sources: int, num_targets: int) -> None:
        if self.sizes not in (None, (num_sources, num_targets)):
            raise ValueError(
                f"The graph has {self.sizes[0]} sources and {self.sizes[1]} targets, but there are "
                f"{num_sources} and {num_targets}. Change a size."
            )
        for name, index, size in (
            ("source", self.source, num_sources),
            ("target", self.target, num_targets),
        ):
            outside = np.flatnonzero((index < 0) | (index >= size))
            if len(outside):
                edge = outside[0]
                raise ValueError(
                    f"Edge {edge} has {name} {index[edge]}, but there are {size} {name}s. Count "
                    f"them from 0 to {size - 1}."
                )

    def _listed(self, num_sources: int, num_targets: int, targets: range) -> tuple[Edges, Any]:
        self.check(num_sources, num_targets)
        weight, some = self.weight, slice(None)
        if len(targets) < num_targets:
            some = (self.target >= targets.start) & (self.target < targets.stop)
            weight = weight[some] if isinstance(weight, np.ndarray) else weight
        source = self.source[some].astype(np.int32)
        target = (self.target[some] - targets.start).astype(np.int32)
        return Edges(source, target, None, num_sources, len(targets)), weight

    def num_edges(self, num_sources: int, num_targets: int) -> int:
        self.check(num_sources, num_targets)
        return len(self.source)

    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        return self.edges(len(x), num_targets).arrivals(x)


@dataclass(frozen=True)
class RandomInDegree(AbstractListed):
    """Each target has `in_degree` different sources, uniformly drawn and independent of the other
    targets; without `self_edges`, none of its own number. The same arguments and sizes give the
    same graph."""

    in_degree: int
    seed: int
    weight: int = 1
    self_edges: bool = True

    def __post_init__(self) -> None:
        _check_weight(self.weight)
        if as_integer("in_degree", self.in_degree) < 0:
            raise ValueError(f"`in_degree` is {self.in_degree}. Use at least 0.")
        _check_seed(self.seed)

    def check(self, num_sources: int, num_targets: int) -> None:
        _check_self_edges(self.self_edges, num_sources, num_targets)
        most = num_sources if self.self_edges else num_sources - 1
        if num_targets and self.in_degree > most:
            raise ValueError(
                f"`in_degree` is {self.in_degree}, but there are only {most} different sources. "
                "Reduce it."
            )

    def _listed(self, num_sources: int, num_targets: int, targets: range) -> tuple[Edges, int]:
        self.check(num_sources, num_targets)
        blocks = [
            self._sources(number, block, num_sources)[some]
            for number, block, some in _blocks(num_targets, targets)
        ]
        sources = np.concatenate([np.zeros((0, self.in_degree), np.int32), *blocks])
        target = np.arange(len(targets), dtype=np.int32).repeat(self.in_degree)
        return Edges(sources.ravel(), target, None, num_sources, len(targets)), self.weight

    def num_edges(self, num_sources: int, num_targets: int) -> int:
        self.check(num_sources, num_targets)
        return self.in_degree * num_targets

    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        """As in `AbstractGraph`; the graph is drawn for it, a block at a time."""
        self.check(len(x), num_targets)
        total = np.zeros(num_targets)
        for number, block, _ in _blocks(num_targets, range(num_targets)):
            sources = self._sources(number, block, len(x))
            for slot in range(self.in_degree):
                total[block.start : block.stop] += x[sources[:, slot]]
        return _times(self.weight, total)

    def _sources(
        self, number: int, block: range, num_sources: int
    ) -> Int[np.ndarray, "targets slots"]:
        """Those of the targets in a block, of a number."""
        if self.self_edges:
            return self._drawn(number, len(block), num_sources)
        others = self._drawn(number, len(block), num_sources - 1)
        return others + (others >= np.asarray(block, np.int32)[:, None]).astype(np.int32)

    def _drawn(
        self, number: int, num_targets: int, num_sources: int
    ) -> Int[np.ndarray, "targets slots"]:
        random = _random(self.seed, number)
        if num_targets == 0 or 2 * self.in_degree <= num_sources:
            return _subsets(random, num_targets, self.in_degree, num_sources)
        others = _subsets(random, num_targets, num_sources - self.in_degree, num_sources)
        is_source = np.ones((num_targets, num_sources), dtype=bool)
        np.put_along_axis(is_source, others, False, axis=1)
        sources = np.nonzero(is_source)[1].astype(np.int32)
        return sources.reshape(num_targets, self.in_degree)


@dataclass(frozen=True)
class RandomPairs(AbstractListed):
    """Each source reaches each target with the same probability, independently; without
    `self_edges`, none of its own number. The same seed and sizes give the same graph."""

    probability: float
    seed: int
    weight: int = 1
    self_edges: bool = True

    def __post_init__(self) -> None:
        _check_weight(self.weight)
        if not 0 <= self.probability <= 1:
            raise ValueError(f"`probability` is {self.probability}. Use 0 to 1.")
        _check_seed(self.seed)

    def check(self, num_sources: int, num_targets: int) -> None:
        _check_self_edges(self.self_edges, num_sources, num_targets)

    def _listed(self, num_sources: int, num_targets: int, targets: range) -> tuple[Edges, int]:
        self.check(num_sources, num_targets)
        found = [np.zeros((2, 0), np.int32)]
        for number, block, some in _blocks(num_targets, targets):
            pairs = self._pairs(number, block, num_sources)
            target, source = np.divmod(pairs, max(num_sources, 1))
            kept = slice(*np.searchsorted(target, (some.start, some.stop)))
            target += block.start - targets.start
            found.append(np.stack([source[kept], target[kept]]).astype(np.int32))
        source, target = np.concatenate(found, axis=1)
        return Edges(source, target, None, num_sources, len(targets)), self.weight

    def num_edges(self, num_sources: int, num_targets: int) -> int:
        """As in `AbstractGraph`; the graph is drawn for it, a block at a time."""
        blocks = _blocks(num_targets, range(num_targets))
        return sum(len(self._pairs(number, block, num_sources)) for number, block, _ in blocks)

    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        """As in `AbstractGraph`; the graph is drawn for it, a block at a time."""
        total = np.zeros(num_targets)
        for number, block, _ in _blocks(num_targets, range(num_targets)):
            pairs = self._pairs(number, block, len(x))
            target, source = np.divmod(pairs, max(len(x), 1))
            terms = _times(self.weight, x[source])
            total[block.start : block.stop] = _totals(target, terms, len(block))
        return total

    def _pairs(self, number: int, block: range, num_sources: int) -> Int[np.ndarray, " edges"]:
        """The numbers of the chosen pairs of a block, ascending: source + target * num_sources,
        with targets counted within the block."""
        pairs = self._drawn(number, num_sources * len(block))
        if self.self_edges or num_sources == 0:
            return pairs
        target, source = np.divmod(pairs, num_sources)
        return pairs[source != target + block.start]

    def _drawn(self, number: int, num_pairs: int) -> Int[np.ndarray, " edges"]:
        """Those with self-edges: the gaps between them are geometric."""
        if self.probability == 0:
            return np.zeros(0, np.int64)
        random = _random(self.seed, number)
        expected = num_pairs * self.probability
        size = int(expected + 4 * np.sqrt(expected)) + 16
        chosen, reached = [], -1
        while reached < num_pairs:
            rest = num_pairs - reached
            gaps = np.minimum(random.geometric(self.probability, size), rest)
            used = np.searchsorted(np.cumsum(gaps, dtype=np.float64), rest) + 1  # more may wrap
            chosen.append(reached + np.cumsum(gaps[:used]))
            reached = int(chosen[-1][-1])
        pairs = np.concatenate(chosen)
        return pairs[: np.searchsorted(pairs, num_pairs)]


@dataclass(frozen=True)
class Procedural(AbstractComputed):
    """Random edges that each product computes again from the seed: nothing is stored.

    Either `in_degree` edges into each target, whose sources may repeat and then add up, or each
    pair with the same `probability`; without `self_edges`, none between the same numbers. Other
    edges than those of `RandomInDegree` and `RandomPairs` with the same seed.
    """

    seed: int
    in_degree: int | None = None
    probability: float | None = None
    weight: int = 1
    self_edges: bool = True

    def __post_init__(self) -> None:
        _check_weight(self.weight)
        if (self.in_degree is None) == (self.probability is None):
            raise ValueError("Give either `in_degree` or `probability`.")
        as_integer("seed", self.seed)
        if self.in_degree is not None:
            as_integer("in_degree", self.in_degree)
        self._stored(2, 2)  # what its layout refuses

    def check(self, num_sources: int, num_targets: int) -> None:
        self._stored(num_sources, num_targets)

    def num_edges(self, num_sources: int, num_targets: int) -> int:
        """As in `AbstractGraph`; with `probability` they are listed for it."""
        if self.in_degree is not None:
            return self.in_degree * num_targets
        return len(self.edges(num_sources, num_targets))

    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        """A bound only: as if the largest entries of x were the sources of each target."""
        largest = x.max(initial=0)
        bound = x.sum() if self.in_degree is None else self.in_degree * largest
        return _times(self.weight, np.full(num_targets, bound))

    def _stored(self, num_sources: int, num_targets: int) -> AbstractWindowed:
        _check_self_edges(self.self_edges, num_sources, num_targets)
        sizes = {"num_sources": num_sources, "num_targets": num_targets}
        if self.in_degree is not None:
            return implicit.FixedInDegree(
                in_degree=self.in_degree, seed=self.seed, self_edges=self.self_edges, **sizes
            )
        assert self.probability is not None
        return implicit.FixedProbability(
            probability=self.probability, seed=self.seed, self_edges=self.self_edges, **sizes
        )


@dataclass(frozen=True, eq=False)
class Blocks(ComparedByValue, AbstractGraph):
    """Sources and targets lie in equal consecutive groups; every source of group a reaches every
    target of group b with weight `weights[a, b]`, 0 for no edge."""

    weights: Int[np.ndarray, "source_groups target_groups"]

    def __post_init__(self) -> None:
        weights = _check_weight(self.weights)
        if weights.ndim != 2:
            raise ValueError(
                f"`weights` has shape {weights.shape}, not (source_groups, target_groups)."
            )
        object.__setattr__(self, "weights", weights)

    def check(self, num_sources: int, num_targets: int) -> None:
        for name, size, num_groups in zip(
            ("sources", "targets"), (num_sources, num_targets), self.weights.shape, strict=True
        ):
            if size != num_groups * (size // num_groups if num_groups else 0):
                raise ValueError(
                    f"{size} {name} do not form {num_groups} equal groups. Use a multiple of "
                    f"{num_groups}, or other `weights`."
                )

    def weight_range(self) -> tuple[int, int]:
        return _range(self.weights)

    def edges(self, num_sources: int, num_targets: int, targets: range | None = None) -> Edges:
        self.check(num_sources, num_targets)
        return implicit.edges_of_groups(self.weights.T, num_sources, num_targets, targets)

    def num_edges(self, num_sources: int, num_targets: int) -> int:
        self.check(num_sources, num_targets)
        per_pair = num_sources * num_targets // max(self.weights.size, 1)
        return int(np.count_nonzero(self.weights)) * per_pair

    def layout(self, num_sources: int, num_targets: int) -> implicit.Grouped:
        self.check(num_sources, num_targets)
        return implicit.Grouped(
            weights=_on_device(self.weights.T), num_sources=num_sources, num_targets=num_targets
        )

    def window(self, num_sources: int, num_targets: int, first: int, size: int) -> Window:
        return Window.of(self.layout(num_sources, num_targets), first, size)

    def arrivals(self, x: OfSources, num_targets: int) -> OfTargets:
        self.check(len(x), num_targets)
        num_source_groups, num_target_groups = self.weights.shape
        sums = (
            x.reshape(num_source_groups, -1).sum(axis=1) if len(x) else np.zeros(num_source_groups)
        )
        of_group = _times(self.weights, sums[:, None]).sum(axis=0)
        return of_group.repeat(num_targets // num_target_groups if num_target_groups else 0)


@runtime_checkable
class SparseMatrix(Protocol):
    """Any matrix of `scipy.sparse`."""

    def tocoo(self) -> Any: ...


@runtime_checkable
class NetworkxGraph(Protocol):
    """Any graph of `networkx`."""

    @property
    def nodes(self) -> Any: ...

    @property
    def edges(self) -> Any: ...


#: What a projection takes.
AnyGraph: TypeAlias = AbstractGraph | SparseMatrix | NetworkxGraph


def from_scipy(matrix: SparseMatrix) -> Pairs:
    """Convert a `scipy.sparse` matrix to a graph.

    **Arguments:**

    - `matrix`: integers of any sparse format: rows are sources, columns are targets, and the stored
      entries are weights.

    **Returns:** the edges, with the shape of the matrix.
    """
    listed = matrix.tocoo()
    num_sources, num_targets = listed.shape
    return Pairs(listed.row, listed.col, listed.data, (num_sources, num_targets))


def from_networkx(graph: Any, weight: str | None = "weight") -> Pairs:
    """Convert a `networkx` graph, whose nodes are numbered in their own order.

    **Arguments:**

    - `graph`: a directed or undirected graph. An undirected edge becomes two edges, unless it joins
      a node to itself.
    - `weight`: the edge attribute of the weights, which are integers; an edge without it weighs 1.
      With `None` all edges do.

    **Returns:** the edges.

    **Raises:** `TypeError` for another object.
    """
    if "edges" not in dir(graph):
        raise TypeError(f"`graph` is of the type {type(graph).__name__}. Pass a networkx graph.")
    number = {node: index for index, node in enumerate(graph)}
    edges = [
        (number[source], number[target], attributes.get(weight, 1))
        for source, target, attributes in graph.edges(data=True)
    ]
    if not graph.is_directed():
        edges += [(target, source, value) for source, target, value in edges if source != target]
    source, target, value = zip(*edges, strict=True) if edges else ((), (), ())
    sizes = (len(number), len(number))
    return Pairs(_integers(source), _integers(target), _integers(value), sizes)


def _integers(of: Sequence[Any]) -> np.ndarray:
    """An array of numbers, of integers if there are none."""
    return np.asarray(of) if len(of) else np.zeros(0, np.int64)


def has_zero_weights(graph: AbstractGraph) -> bool:
    """Whether an edge may have weight 0, which a `Dense` layout does not distinguish from no edge.

    **Arguments:**

    - `graph`: the description of a graph.

    **Returns:** whether there may be such an edge.
    """
    if isinstance(graph, Pairs) and graph.weight is not None:
        return bool(np.any(np.asarray(graph.weight) == 0))
    return graph.weight_range() == (0, 0)


def _set_arrays(graph: AbstractGraph, *names: str) -> None:
    for name in names:
        array = np.asarray(getattr(graph, name))
        array = array.astype(np.int64) if array.size == 0 else array
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"`{name}` is an array of {array.dtype}. Use integers.")
        object.__setattr__(graph, name, array)


def _check_weight(weight: Any) -> Int[np.ndarray, "..."]:
    """The weights as int32, or as int64 if they need it."""
    array = np.asarray(1 if weight is None else weight)
    array = array.astype(np.int32) if array.size == 0 else array
    if array.dtype == object and all(isinstance(w, int) for w in array.flat):
        raise ValueError("A weight does not fit int64. Use smaller ones.")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"A weight is of type {array.dtype}. Use integers, such as 1 for True.")
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError("A weight does not fit int64. Use smaller ones.")
    limit = np.iinfo(np.int32)
    is_small = array.size == 0 or (limit.min <= array.min() and array.max() <= limit.max)
    return array.astype(np.int32 if is_small else np.int64)


def _check_self_edges(self_edges: bool, num_sources: int, num_targets: int) -> None:
    if not self_edges and num_sources != num_targets:
        raise ValueError(
            f"A graph without self-edges needs equal sizes, but there are {num_sources} sources "
            f"and {num_targets} targets. Set `self_edges=True`, or change a size."
        )


def _check_seed(seed: int) -> None:
    if as_integer("seed", seed) < 0:
        raise ValueError(f"`seed` is {seed}. Use at least 0.")


def _range(weight: Any) -> tuple[int, int]:
    array = _check_weight(weight)
    return (int(array.min()), int(array.max())) if array.size else (1, 1)


def _weighted(edges: Edges, weight: int | np.ndarray) -> Edges:
    weight = _check_weight(weight)
    is_iso = (weight == 1).all()
    value = None if is_iso else np.array(np.broadcast_to(weight, len(edges)))
    return replace(edges, value=value)


def _on_device(weight: Int[np.ndarray, "..."]) -> Int[Array, "..."]:
    if weight.dtype == np.int64 and not jax.config.jax_enable_x64:  # pyright: ignore
        raise ValueError("A weight does not fit int32. Use `jax.enable_x64(True)`.")
    return jnp.asarray(weight)


def _times(weight: int | np.ndarray, x: np.ndarray) -> np.ndarray:
    """`|weight| * x`, where 0 times infinity is 0."""
    size = np.abs(np.asarray(weight, np.float64))
    return np.where(size == 0, 0.0, size) * np.where(size == 0, 0.0, x)


def _subsets(
    random: np.random.Generator, num_rows: int, size: int, num_elements: int
) -> Int[np.ndarray, "rows size"]:
    """Sorted subsets of `range(num_elements)`, uniformly drawn; quick up to half of the elements.

    What repeats within a row is drawn again until nothing does. That favours no element, so that
    all subsets are equally likely.
    """
    drawn = random.integers(0, max(num_elements, 1), (num_rows, size), dtype=np.int32)
    drawn.sort(axis=1)
    rows = np.flatnonzero((drawn[:, 1:] == drawn[:, :-1]).any(axis=1))
    while len(rows):
        part = drawn[rows]
        repeats = part[:, 1:] == part[:, :-1]
        part[:, 1:][repeats] = random.integers(0, num_elements, repeats.sum(), dtype=np.int32)
        part.sort(axis=1)
        drawn[rows] = part
        rows = rows[(part[:, 1:] == part[:, :-1]).any(axis=1)]
    return drawn


def _random(seed: int, block: int) -> np.random.Generator:
    """What draws a block of targets, whatever the others are."""
    sequence = np.random.SeedSequence(seed, spawn_key=(block,) if block else ())
    return np.random.Generator(np.random.PCG64(sequence))


def _blocks(num_targets: int, targets: range) -> Iterator[tuple[int, range, slice]]:
    """The blocks in which random graphs are drawn that some targets lie in: their numbers, their
    targets, and which of these are meant, counted within the block."""
    if len(targets) == 0:
        return
    for number in range(targets.start // _BLOCK, (targets.stop - 1) // _BLOCK + 1):
        start = number * _BLOCK
        block = range(start, min(start + _BLOCK, num_targets))
        first, stop = max(targets.start, start), min(targets.stop, block.stop)
        yield number, block, slice(first - start, stop - start)


def _totals(
    index: Int[np.ndarray, " terms"], x: Float64[np.ndarray, " terms"], size: int
) -> Float64[np.ndarray, " size"]:
    """The sum of the terms of each index."""
    return np.bincount(index, x, size).astype(np.float64)  # integers where there are no terms


def _run_sums(
    x: np.ndarray, start: np.ndarray, stop: np.ndarray, num_targets: int
) -> Float64[np.ndarray, " targets"]:
    """The sum of x over the runs of each target."""
    del num_targets
    before = np.concatenate([[0.0], np.cumsum(x)])
    return (before[stop] - before[start]).sum(axis=0)


def _covering_sums(
    x: np.ndarray, start: np.ndarray, stop: np.ndarray, num_targets: int
) -> Float64[np.ndarray, " targets"]:
    """The sum of x over the runs of sources that cover each target."""
    x = np.broadcast_to(x, start.shape).ravel()
    starts = _totals(start.ravel(), x, num_targets + 1)
    stops = _totals(stop.ravel(), x, num_targets + 1)
    return np.cumsum(starts - stops)[:num_targets]


def _safe(sums: Callable[[np.ndarray], np.ndarray], x: np.ndarray, num_terms: int) -> np.ndarray:
    """Differences of long sums of x >= 0, no smaller than they are where x is infinite or digits
    are lost."""
    is_huge = ~(x < 2.0**100)
    total = sums(np.where(is_huge, 0.0, x))
    largest = x[~is_huge].sum()
    if largest >= 2.0**53:
        arrives = sums((x > 0).astype(np.float64)) > 0.5
        total = np.where(arrives, np.maximum(total, 0) + largest * num_terms * 2.0**-50, 0)
    reached = sums(is_huge.astype(np.float64)) > 0.5
    return np.where(reached, np.inf, total)


explain_arguments(__name__)
