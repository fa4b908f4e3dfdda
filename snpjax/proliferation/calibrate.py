"""Fitting a model to a measured histogram."""

import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float
from scipy.optimize import minimize

from .._text.progress import ProgressLike, progress_of
from .._xla import refuse_fork
from ..memory import Footprint, check_fits
from ..scale.checkpoint import Checkpoint, checkpoints_of
from ..scale.shares import Crew, spread, summed
from .binning import BinRule, Bins, bins_of_model
from .distance import Fit, Objective, hellinger, pairs_of, weights_of
from .evaluations import Evaluations
from .histogram import Histogram, check_same_axis
from .model import ProliferationModel
from .program import lower
from .sample import contents
from .search import ParameterSpace, TypeBounds, search_of


#: A number this near to a bound, in parts of the range, is on it.
_ACTIVE = 1e-6
_CANDIDATES_PER_START = 16
_EVALUATIONS = 400


@dataclass(frozen=True, eq=False)
class Calibration:
    """A fitted model.

    - `model`: with the best parameters.
    - `values`: the numbers that were searched by name; `x1`, `x2`, ... are shares of what the types
      before leave.
    - `active`: the names of those that sit on a bound: the data favour values beyond it.
    - `distance`: the Hellinger distance on counts; `normalised`: in [0, 1].
    - `objective`: the value that was made small; `starts`: that of every start, best first.
    - `expected`, `observed`: cells in the bins, the expected ones scaled to those observed.
    - `evaluations`: of the objective, with its gradient.
    - `fit`, `search`, `point`: for `uncertainty` and `profile`.
    """

    model: ProliferationModel
    values: dict[str, float]
    active: tuple[str, ...]
    distance: float
    normalised: float
    objective: float
    starts: tuple[float, ...]
    bins: Bins
    expected: Float[np.ndarray, " bins"]
    observed: Float[np.ndarray, " bins"]
    evaluations: int
    fit: Fit
    search: ParameterSpace
    point: Float[np.ndarray, " numbers"]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name} {value:.4g}" for name, value in self.values.items())
        bounds = f"; on a bound: {', '.join(self.active)}" if self.active else ""
        return (
            f"Calibration(Hellinger distance {self.distance:.4f}, normalised "
            f"{self.normalised:.5f}; {numbers}{bounds})"
        )


def calibrate(
    model: ProliferationModel,
    observed: Histogram,
    *,
    bins: Bins = Bins(),  # noqa: B008 (a frozen object)
    objective: Objective = Objective.HELLINGER,
    bounds: Mapping[str, TypeBounds] | None = None,
    sd_floor: float | None = None,
    starts: int = 6,
    seed: int = 0,
    same_axis: bool = True,
    mesh: Mesh | None = None,
    checkpoint: Checkpoint | None = None,
    progress: ProgressLike = True,
) -> Calibration:
    """Fit the proportions and laws of a model to the histogram measured after its duration.

    What is compared is the exact expectation, so that the objective has no noise and has gradients:
    bounded quasi-Newton searches (L-BFGS-B) start from the model's own values, and from the best of
    some random ones.

    **Arguments:**

    - `model`: the initial histogram, the duration and the cell types, whose proportions and laws
      are the first guess.
    - `observed`: cells by fluorescence after `model.duration` hours, on the axis of the initial
      histogram.
    - `bins`: where the two are compared; all cells below go into the first bin.
    - `objective`: what is minimised: a Hellinger distance or a likelihood, see `Objective`.
    - `bounds`: of a type's name and a parameter's, in hours: `{"fast": {"mean": (30, 63)}}`. The
      others are those usual for ten days, in proportion to the duration: mean 30 to 504 h, sd up to
      30 h, shape 6 to 30 (for any duration), scale 5 to 20 h. A default bound that excludes the
      model's own value is half or twice that value instead.
    - `sd_floor`: the least sd in hours, by default 1.25 % of the duration, or half of a smaller sd
      of the model without bounds (`GAUSSIAN`: always 2 %).
    - `starts`: the number of searches.
    - `seed`: of the random starts; nothing else depends on it.
    - `same_axis`: refuse two histograms of different axes: on another scale a comparison is
      meaningless.
    - `mesh`: devices that share the searches, `jax.make_mesh((4,), ("paths",))`; more than `starts`
      of them are of no use. It never changes a result. See `snpjax.scale`.
    - `checkpoint`: where to save the values of the objective found so far, see `snpjax.Checkpoint`.
    - `progress`: whether a line on standard error shows the number of finished searches and the
      time, if it is a terminal and the call takes more than a second; or a function that is called
      after each search with the number of those finished and of all, such as
      `lambda done, all: print(done / all)`.

    **Returns:** the `Calibration`: the fitted model and the value of the objective.

    **Raises:** `ValueError` for axes that differ, cells above the last bin, or bounds in the wrong
    order; `NotEnoughMemory` for more starts than fit in memory; `Unresolved` for an sd that may
    become too small for the duration; `CheckpointError` for checkpoints of another call.

    **Warns:** `GuessOutsideBounds` if `bounds` or `sd_floor` exclude a value of the model, in whose
    place the search starts at the bound.
    """
    refuse_fork("proliferation.calibrate")
    if same_axis:
        check_same_axis(model.initial, observed)
    if starts < 1:
        raise ValueError(f"`starts` is {starts}. Give 1 or more.")
    if objective is Objective.GAUSSIAN and sd_floor is None:
        sd_floor = 0.02 * model.duration
    search = search_of(model, bounds, sd_floor)
    fit = _fit(model, observed, bins, objective, search)
    numbers = 8 * search.lower.size * _CANDIDATES_PER_START  # of what is drawn for a start
    check_fits(
        lambda num: Footprint(0, 3 * num * numbers),
        starts,
        f"{starts:,} starts need",
        "give up to {:,} starts",
    )
    saved = checkpoints_of(
        checkpoint,
        "calibrate",
        model=contents(model),
        observed=(observed.fluorescence, observed.counts),
        bins=bins,
        objective=objective,
        bounds=bounds,
        sd_floor=sd_floor,
        starts=starts,
        seed=seed,
    )
    with spread("calibrate", mesh, fit=fit, starts=starts, seed=seed) as crew:
        with saved as checkpoints, progress_of(progress, "search", starts) as report:
            known = Evaluations(checkpoints)
            points = _starting_points(fit, search, search.vector(model), starts, seed, crew, known)
            rows = _rows(_found_from, fit, points, points[0].size + 2, crew, known, report)
            known.finish()
    found = [(row[:-2], float(row[-2]), int(row[-1])) for row in rows]
    found.sort(key=lambda item: item[1])
    point, value, _ = found[0]
    x = search.lower + (search.upper - search.lower) * point
    x = np.clip(x, search.lower, search.upper)
    cells = bins.count(observed.fluorescence, observed.counts)
    with jax.enable_x64(True):
        fractions = np.asarray(_fractions(fit, jnp.asarray(point)))
    if fractions.size != cells.size:  # bins were pooled
        plain = _fit(model, observed, bins, Objective.HELLINGER, search)
        with jax.enable_x64(True):
            fractions = np.asarray(_fractions(plain, jnp.asarray(point)))
    expected = fractions * cells.sum()
    on_bound = (point < _ACTIVE) | (point > 1 - _ACTIVE)
    return Calibration(
        search.model(x, model),
        dict(zip(search.names, map(float, x), strict=True)),
        tuple(name for name, is_on in zip(search.names, on_bound, strict=True) if is_on),
        *hellinger(expected, cells),
        value,
        tuple(value for _, value, _ in found),
        bins,
        expected,
        cells,
        sum(n for _, _, n in found),
        fit,
        search,
        point,
    )


def _fit(
    model: ProliferationModel,
    observed: Histogram,
    bins: Bins,
    objective: Objective,
    search: ParameterSpace,
) -> Fit:
    is_gaussian = objective is Objective.GAUSSIAN
    program, parameters = lower(model, ranges=search.ranges(), second_moments=is_gaussian)
    index = bins_of_model(model, bins, rule=BinRule.CALIBRATION)
    cells = bins.count(observed.fluorescence, observed.counts)
    counts, num = model.initial.occupied.counts, bins.num
    if is_gaussian:
        groups = pooled(cells)
        index = np.where(index >= 0, groups[np.maximum(index, 0)], index)
        cells = np.bincount(groups, cells)
        num = cells.size
    with jax.enable_x64(True):
        pairs = jnp.asarray(pairs_of(index, counts, num)) if is_gaussian else None
        return Fit(
            program,
            parameters,
            jnp.asarray(weights_of(index, counts, num)),
            pairs,
            jnp.asarray(cells, jnp.float64),
            jnp.asarray(search.lower),
            jnp.asarray(search.upper),
            search.numbers,
            objective,
        )


def pooled(cells: Float[np.ndarray, " bins"], least: float = 5.0) -> np.ndarray:
    """A group for each bin: neighbours together until they hold `least` cells."""
    groups, group, held = np.zeros(cells.size, np.int64), 0, 0.0
    for i, number in enumerate(cells):
        groups[i] = group
        held += number
        if held >= least:
            group, held = group + 1, 0.0
    if held < least and group > 0:
        groups[groups == group] = group - 1
    return groups


def _rows(
    of_point: Callable[[Fit, np.ndarray, Evaluations], Float[np.ndarray, " columns"]],
    fit: Fit,
    points: Sequence[np.ndarray],
    columns: int,
    crew: Crew | None,
    known: Evaluations,
    report: Callable[[int, int], None] = lambda done, all: None,
) -> Float[np.ndarray, "points columns"]:
    """`of_point(fit, points[i], known)` for each i, on whichever device of the crew is idle.

    `report` is called after each point with the number of finished points and of all.
    """
    found = np.zeros((len(points), columns))
    if crew is None:
        with jax.enable_x64(True):
            for i, x in enumerate(points):
                found[i] = of_point(fit, x, known)
                report(i + 1, len(points))
        return found
    idle: queue.SimpleQueue[Fit] = queue.SimpleQueue()
    with jax.enable_x64(True):
        for device in crew.mesh.devices:
            idle.put(jax.device_put(fit, device))

    def row(point: np.ndarray) -> Float[np.ndarray, " columns"]:
        own = idle.get()
        try:
            with jax.enable_x64(True):  # it holds for one thread
                return of_point(own, point, known)
        finally:
            idle.put(own)

    size = crew.size if known.are_shared else len(points)  # of a round
    with ThreadPoolExecutor(len(crew.mesh.devices)) as pool:
        for first in range(0, len(points), size):
            every = range(first, min(first + size, len(points)))
            own = [i for i in every if i % crew.size in crew.places]
            for i, values in zip(own, pool.map(row, [points[i] for i in own]), strict=True):
                found[i] = values
                report(i + 1, len(points))
            known.end_round()
    return summed(found.view(np.int64)).view(np.float64)  # 0 in all processes but one


def _starting_points(
    fit: Fit,
    search: ParameterSpace,
    own: np.ndarray,
    starts: int,
    seed: int,
    crew: Crew | None,
    known: Evaluations,
) -> list[np.ndarray]:
    """The model's own values, and the best of random points."""
    first = (own - search.lower) / (search.upper - search.lower)
    if starts == 1:
        return [first]
    rng = np.random.default_rng(seed)
    num = _CANDIDATES_PER_START * (starts - 1)
    # One in each of equal parts of every range (a Latin hypercube).
    rows = np.stack([rng.permutation(num) for _ in range(first.size)], axis=1)
    candidates = (rows + rng.random(rows.shape)) / num
    blocks = np.split(candidates, starts - 1)  # in a batch of another size bits may differ
    values = _rows(_values_at, fit, blocks, _CANDIDATES_PER_START, crew, known).ravel()
    best = np.argsort(np.where(np.isfinite(values), values, np.inf))[: starts - 1]
    return [first, *candidates[best]]


def _found_from(
    fit: Fit, start: np.ndarray, known: Evaluations
) -> Float[np.ndarray, " numbers_and_two"]:
    """What `descend` finds, in one array."""
    point, value, evaluations = descend(fit, start, known)
    return np.append(point, [value, evaluations])


def _values_at(fit: Fit, points: np.ndarray, known: Evaluations) -> Float[np.ndarray, " points"]:
    return known.at(points, lambda: np.asarray(_values(fit, jnp.asarray(points))))


def descend(
    fit: Fit, start: np.ndarray, known: Evaluations | None = None, *, held: int | None = None
) -> tuple[np.ndarray, float, int]:
    """The nearest minimum: the point, the value, and how often it was evaluated. Some evaluations
    may be known; one number may be held."""
    known = Evaluations() if known is None else known

    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, *slopes = known.at(z, lambda: np.append(*_value_and_gradient(fit, z)))
        gradient = np.array(slopes)
        if held is not None:
            gradient[held] = 0
        return float(value), gradient

    bounds = [(0.0, 1.0)] * start.size
    if held is not None:
        bounds[held] = (float(start[held]), float(start[held]))
    found = minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxfun": _EVALUATIONS, "maxcor": 20, "ftol": 1e-11, "gtol": 1e-8},
    )
    return found.x, float(found.fun), int(found.nfev)


_value_and_gradient = jax.jit(Fit.value_and_gradient)
_values = jax.jit(jax.vmap(Fit.value, (None, 0)))
_fractions = jax.jit(Fit.fractions)
