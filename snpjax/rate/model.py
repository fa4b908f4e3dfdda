"""Rate-coded networks as users think of them: populations, and projections between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from snpjax_formats import AbstractChooser, AbstractLayout, Edges, graphs
from snpjax_formats.articles import kind_of
from snpjax_formats.by_value import ComparedByValue
from snpjax_formats.memory import listed

from .._text.nearest import nearest
from .equation import Derivative, Update, leaky
from .plasticity import Plasticity


#: One number for all neurons, or one for each.
PerNeuron: TypeAlias = "float | Float[np.ndarray, ' neurons']"

#: A class of `snpjax_formats`, or what suits the graph, by default or in the eyes of a chooser.
LayoutLike: TypeAlias = type[AbstractLayout] | AbstractChooser | Literal["auto"]

#: What a projection takes: a description, edges, or a matrix `(post, pre)` of weights.
RateGraph: TypeAlias = graphs.AbstractGraph | Edges | np.ndarray | graphs.SparseMatrix


@dataclass(frozen=True, eq=False)
class RatePopulation(ComparedByValue):
    """`size` neurons with the same equation.

    **Arguments:**

    - `equation`: a `Derivative` or an `Update`.
    - `initial`: the variables before the first step; `r` is what projections send.
    - `parameters`: what the equation reads besides; leaves of the machine, so that they have
      gradients.
    - `drive`: `(rows, size)`, what arrives from outside as the input `drive`: row t in the steps
      from `t * drive_every` on, nothing after the last.

    **Raises:** `TypeError` for an equation of another type, such as a text.
    """

    name: str
    size: int
    equation: Derivative | Update = field(default_factory=leaky)
    initial: Mapping[str, PerNeuron] = field(default_factory=lambda: {"r": 0.0})
    parameters: Mapping[str, PerNeuron] = field(default_factory=lambda: {"tau": 10.0, "b": 0.0})
    drive: "Float[np.ndarray, 'rows neurons'] | None" = None
    drive_every: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.equation, Derivative | Update):
            raise TypeError(
                f"`equation` of population {self.name!r} is {self.equation!r:.60}. Give "
                "`rate.leaky()`, `rate.Derivative(function)` or `rate.Update(function)`."
            )


@dataclass(frozen=True)
class Uniform:
    """Weights drawn uniformly from [low, high), by NumPy from `seed`."""

    low: float
    high: float
    seed: int = 0

    def draw(self, number: int) -> Float[np.ndarray, " edges"]:
        return np.random.default_rng(self.seed).uniform(self.low, self.high, number)


@dataclass(frozen=True, eq=False)
class RateProjection(ComparedByValue):
    """Edges from the neurons of `pre` to those of `post`, which add `W r` to the input `target`.

    **Arguments:**

    - `graph`: a description of `snpjax.graphs`, `Edges`, a matrix `(post, pre)` of NumPy or
      scipy.sparse, whose entries are the weights.
    - `weights`: one for all edges, one for each edge in the order of (target, source), or
      `Uniform`; by default those of the graph.
    - `delay`: in milliseconds, of all edges or of each: a rate arrives `delay / dt` steps later.
    - `plasticity`: how the weights change.
    - `layout`: how they are stored.
    """

    pre: str
    post: str
    graph: RateGraph = field(default_factory=graphs.AllToAll)
    weights: "float | Float[np.ndarray, ' edges'] | Uniform | None" = None
    target: str = "exc"
    delay: "float | Float[np.ndarray, ' edges']" = 0.0
    plasticity: Plasticity | None = None
    layout: LayoutLike = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.plasticity, Plasticity | None):
            raise TypeError(
                f"`plasticity` is {self.plasticity!r:.60}. Give `rate.hebb(...)`, `rate.oja(...)`, "
                "`rate.Plasticity(function)` or None."
            )

    def edges(self, num_sources: int, num_targets: int) -> Edges:
        """The canonical list of all edges, with weights in float64.

        **Arguments:**

        - `num_sources`, `num_targets`: the sizes of the two populations.

        **Raises:** `ValueError` if the graph or the weights do not fit.
        """
        edges = _edges_of(self.graph, num_sources, num_targets)
        if isinstance(self.weights, Uniform):
            value = self.weights.draw(len(edges))
        elif self.weights is not None:
            value = np.array(np.broadcast_to(np.asarray(self.weights, np.float64), len(edges)))
        elif edges.value is None:
            value = np.ones(len(edges))
        else:
            value = edges.value.astype(np.float64)
        return Edges(edges.source, edges.target, value, edges.num_sources, edges.num_targets)

    def problems(self, num_sources: int, num_targets: int) -> list[str]:
        """Check that graph, weights and delays fit, without listing the edges of a described graph.

        **Arguments:**

        - `num_sources`, `num_targets`: the sizes of the two populations.

        **Returns:** the problems, each a sentence.
        """
        try:
            if isinstance(self.graph, graphs.AbstractGraph):
                self.graph.check(num_sources, num_targets)
                number = self.graph.num_edges(num_sources, num_targets)
                has_own = self.graph.weight_range() != (1, 1)
                own = np.zeros(0)
            else:
                edges = _edges_of(self.graph, num_sources, num_targets)
                number, own = len(edges), edges.value
                has_own = own is not None and not np.all(own == 1)
                own = np.zeros(0) if own is None else own
        except (ValueError, TypeError) as error:
            return [str(error)]
        problems = []
        is_given = self.weights is not None and not isinstance(self.weights, Uniform)
        given = np.asarray(self.weights if is_given else 0.0, np.float64)
        for name, numbers in (("weights", given), ("delay", np.asarray(self.delay))):
            if numbers.ndim and numbers.shape != (number,):
                problems.append(
                    f"`{name}` has shape {numbers.shape}, but there are {number:,} edges."
                )
        if self.weights is not None and has_own:
            problems.append("the graph has weights of its own. Leave `weights` out.")
        if not np.all(np.isfinite(given if is_given else own)):
            problems.append("a weight is not finite.")
        return problems


def _edges_of(graph: RateGraph, num_sources: int, num_targets: int) -> Edges:
    """**Raises:** `ValueError` where sizes differ; `TypeError` for what is not a graph."""
    if isinstance(graph, graphs.AbstractGraph):
        graph.check(num_sources, num_targets)
        fix = "Use fewer neurons, or connect all to all with one weight."
        return listed(graph, num_sources, num_targets, fix).canonical()
    if isinstance(graph, Edges):
        edges = graph
    elif isinstance(graph, np.ndarray) and graph.ndim == 2:
        target, source = np.nonzero(graph)
        edges = Edges(source, target, graph[target, source], *graph.shape[::-1])
    elif isinstance(graph, graphs.SparseMatrix):
        found = graph.tocoo()
        edges = Edges(found.col, found.row, found.data, *found.shape[::-1])
    else:
        raise TypeError(
            f"`graph` is {kind_of(graph)}. Give a graph of `snpjax.graphs`, `Edges`, or a "
            "matrix of NumPy or scipy.sparse."
        )
    if (edges.num_sources, edges.num_targets) != (num_sources, num_targets):
        raise ValueError(
            f"`graph` is from {edges.num_sources} to {edges.num_targets} neurons, but the "
            f"populations have {num_sources} and {num_targets}."
        )
    return edges.canonical()


def problems_of(
    populations: Sequence[RatePopulation], projections: Sequence[RateProjection], dt: float
) -> list[str]:
    """Everything that is wrong with a network, each with its place and the fix."""
    problems = []
    if not (np.isfinite(dt) and dt > 0):
        problems.append(f"`dt` is {dt}. Give the milliseconds of a step, more than 0.")
    names = [p.name for p in populations]
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.append(f"Population {name!r} is there {names.count(name)} times. Rename it.")
    for p in populations:
        problems += [f"Population {p.name!r}: {text}" for text in _of_population(p)]
    sizes = {p.name: p.size for p in populations}
    for number, projection in enumerate(projections):
        place = f"Projection {number} ({projection.pre!r} to {projection.post!r})"
        problems += [f"{place}: {text}" for text in _of_projection(projection, sizes, dt)]
    return problems


def _of_population(p: RatePopulation) -> list[str]:
    problems = []
    if p.size < 0:
        problems.append(f"`size` is {p.size}. Give 0 or more neurons.")
    if "r" not in p.initial:
        problems.append("`initial` has no `r`, which is what projections send. Add it.")
    for what, numbers in (("initial", p.initial), ("parameters", p.parameters)):
        for name, value in numbers.items():
            shape = np.shape(value)
            if shape not in ((), (p.size,)):
                problems.append(f"`{what}[{name!r}]` has shape {shape}, not () or ({p.size},).")
            elif not np.all(np.isfinite(np.asarray(value, np.float64))):
                problems.append(f"`{what}[{name!r}]` is not finite.")
    if p.drive is not None and (np.ndim(p.drive) != 2 or np.shape(p.drive)[1] != p.size):
        problems.append(f"`drive` has shape {np.shape(p.drive)}, not (rows, {p.size}).")
    if p.drive_every < 1:
        problems.append(f"`drive_every` is {p.drive_every}. Give 1 or more steps.")
    return problems


def _of_projection(p: RateProjection, sizes: Mapping[str, int], dt: float) -> list[str]:
    problems = [
        f"there is no population {name!r} ({nearest(str(name), sizes, 'populations')})."
        for name in dict.fromkeys((p.pre, p.post))
        if name not in sizes
    ]
    delay = np.asarray(p.delay, np.float64)
    if not np.all(np.isfinite(delay) & (delay >= 0)):
        problems.append("`delay` is negative or not finite. Give milliseconds from 0 on.")
    elif dt > 0 and np.any(np.abs(delay / dt - np.rint(delay / dt)) > 1e-6):
        problems.append(f"`delay` is not a multiple of dt = {dt}. Round it.")
    is_open = p.layout == "auto" or isinstance(p.layout, AbstractChooser)
    if not is_open and not (isinstance(p.layout, type) and issubclass(p.layout, AbstractLayout)):
        problems.append(f'`layout` is {p.layout!r}. Give a class of snpjax_formats, or "auto".')
    if not problems:
        problems += p.problems(sizes[p.pre], sizes[p.post])
    return problems
