"""How probable something is, estimated from random computations: for systems too large to explore.

Every interval here holds with at least the stated confidence, whatever the probability is: it is
exact, and no normal approximation is used.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Integer, Key, PyTree
from scipy.special import betainccinv, betaincinv

from snpjax_formats import bucket
from snpjax_formats.arguments import as_integer

from ...choice import (
    AbstractChoice,
    Applicable,
    Choosers,
    Numbers,
    Places,
    Selected,
    Steps,
    UniformChoice,
    WeightedChoice,
)
from ...machine import LayoutLike, LoweringOptions
from ...results import RESULTS
from ...run import run
from ...scale.checkpoint import Checkpoint, Checkpoints, checkpoints_of
from ...scale.paths import from_all
from ...spiking.lower.lower_division import Capacity
from ...spiking.model.population import AnySystem
from ...trajectory import Save
from ..tracing import on_host
from .path_property import Judge, Judged, PathProperty, asked


# Most paths of one batch, and most bytes of their histories.
_MAX_BLOCK = 2**14
_MAX_BYTES = 2**28


@dataclass(frozen=True)
class Estimate:
    """The probability of a property under uniform choice, between `low` and `high`.

    - `confidence`: how probable it is, at least, that an estimate made in this way is right.
    - `paths`: computations that were made; of `holds` of them the property holds, and `undecided`
      were cut before that could be said.
    - `precision`: what was asked for, or `None`.
    """

    text: str = field(repr=False)
    low: float
    high: float
    confidence: float
    paths: int
    holds: int
    undecided: int
    max_steps: int
    precision: float | None = None

    @property
    def probability(self) -> float:
        """The share of the decided paths of which it holds, or NaN if there is none."""
        decided = self.paths - self.undecided
        return self.holds / decided if decided else math.nan

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def __contains__(self, probability: float) -> bool:
        return self.low <= probability <= self.high

    def __str__(self) -> str:
        cut = ""
        if self.undecided:
            cut = f", {self.undecided:,} not decided within {self.max_steps:,} steps"
        return (
            f"{self.text}: probability {self.low:.4g} to {self.high:.4g} with confidence "
            f"{self.confidence:g} ({self.holds:,} of {self.paths:,} paths{cut})"
        )


@on_host("estimate")
def estimate(
    system: AnySystem,
    property: PathProperty | Judge | str,
    /,
    *,
    key: Key[Array, ""],
    max_steps: int,
    paths: int = 1024,
    confidence: float = 0.95,
    precision: float | None = None,
    logits: Float[np.ndarray | Array, "rules neurons"] | None = None,
    layout: LayoutLike = "auto",
    capacity: Capacity | None = None,
    mesh: Mesh | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Estimate the probability that a computation has a property, when every neuron chooses among
    its applicable rules uniformly or with weights.

    **Arguments:**

    - `system`: a system of neurons or of populations.
    - `property`: `halts()`, `emits(output)`, `reaches(predicate)`, the same as a query such as
      `"eventually n3 >= 4"`, or a function that maps a `SolutionBatch` to one truth value for each
      path. Such a function judges only the first `max_steps` steps; it returns a `Judged` to leave
      paths undecided.
    - `key`: a typed PRNG key; it is consumed. Path p is path p of `snpjax.run(paths=...)` with
      `UniformChoice(key)`, or with `WeightedChoice(logits, key)`.
    - `max_steps`: the largest number of steps of a path. The interval of `halts`, `emits` and
      `reaches` covers computations of any length: undecided paths, including those that overflow,
      count as failures at its lower end and as successes at its upper end.
    - `paths`: the number of paths; with `precision`, the number before the first look.
    - `confidence`: the probability with which the interval contains the true value, between 0 and
      1.
    - `precision`: run more paths until the interval is at most 2 * `precision` wide. Undecided
      paths may leave it wider: the largest number of paths is fixed beforehand.
    - `logits`: `(rules, neurons)` weights of the choices, see `WeightedChoice`; equal by default.
    - `layout`, `capacity`, `mesh`: see `snpjax.run`; the estimate does not depend on them.
    - `checkpoint`: where to save the results of the paths so far, see `snpjax.Checkpoint`.
    - `progress`: called regularly with the number of paths that have been run, and with the number
      at the next look.

    **Returns:** an `Estimate`, whose interval contains the probability with at least `confidence`.

    **Raises:** `ValueError` for an argument out of range; `QueryError` for a query that is not
    valid.

    The interval is that of Clopper and Pearson, each end with half of 1 - `confidence`. With
    `precision` the numbers of paths at which it is computed (the looks) are fixed beforehand,
    doubling from `paths` to a last one that is enough by Hoeffding's inequality; each of these J
    intervals has confidence 1 - (1 - `confidence`) / J, so that all of them hold together (union
    bound), and it does not matter which one is taken.

    ??? cite "Source"
        Clopper, Pearson 1934; Hoeffding 1963.
    """
    if isinstance(property, str):
        property = asked(property)
    wanted = property if isinstance(property, PathProperty) else PathProperty(property)
    text = wanted.text
    paths = as_integer("paths", paths)
    looks = _looks(paths, confidence, precision)
    risk = (1 - confidence) / len(looks)
    choice = UniformChoice(key) if logits is None else WeightedChoice(logits, key)
    lowering: LoweringOptions = {}
    if layout != "auto":
        lowering["layout"] = layout
    if capacity is not None:
        lowering["capacity"] = capacity
    rows = _Paths(system, wanted, choice, max_steps, looks, lowering, mesh, progress)
    holds = undecided = 0
    low, high = 0.0, 1.0
    made = 0
    saved = checkpoints_of(
        checkpoint,
        "estimate",
        model=system,
        property=wanted,
        key=key,
        max_steps=max_steps,
        paths=paths,
        confidence=confidence,
        precision=precision,
        logits=logits,
        **lowering,
    )
    with saved as checkpoints:
        rows.restore(checkpoints)
        for made in looks:
            holds, undecided = rows.count(made, checkpoints)
            low, high = interval(holds, holds + undecided, made, risk)
            if precision is not None and high - low <= 2 * precision:
                break
        checkpoints.finish(rows.saved)
    return Estimate(text, low, high, confidence, made, holds, undecided, max_steps, precision)


def interval(least: int, most: int, paths: int, risk: float) -> tuple[float, float]:
    """An interval for a probability of which `least` to `most` of this many paths are instances,
    wrong with at most probability `risk`."""
    low = 0.0 if least == 0 else float(betaincinv(least, paths - least + 1, risk / 2))
    high = 1.0 if most == paths else float(betainccinv(most + 1, paths - most, risk / 2))
    return low, high


def _looks(paths: int, confidence: float, precision: float | None) -> list[int]:
    """The numbers of paths at which the interval is looked at."""
    if paths < 1:
        raise ValueError(f"`paths` is {paths}. Give 1 or more.")
    if not 0 < confidence < 1:
        raise ValueError(f"`confidence` is {confidence}. Give a number between 0 and 1, as 0.95.")
    if precision is None:
        return [paths]
    if not 0 < precision < 1:
        raise ValueError(f"`precision` is {precision}. Give a number between 0 and 1, as 0.01.")
    looks = [paths]
    # The interval lies within Hoeffding's, because its ends are where the probability of what was
    # seen, and more, passes a level that Hoeffding's bound passes earlier.
    risk = 1 - confidence
    while looks[-1] < _enough(precision, risk / len(looks)):
        looks.append(min(2 * looks[-1], _enough(precision, risk / (len(looks) + 1))))
    return looks


def _enough(precision: float, risk: float) -> int:
    return math.ceil(math.log(2 / risk) / (2 * precision**2))


class _Later(AbstractChoice):
    """The choice of the paths from a number on."""

    choice: AbstractChoice
    first: Integer[Array, ""]

    may_be_invalid: ClassVar[bool] = False
    tells_numbers: ClassVar[bool] = False

    def for_path(self, path: Integer[Array, "*paths"] | int) -> AbstractChoice:
        return self.choice.for_path(jnp.asarray(path, jnp.uint32) + self.first)

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        return self.choice.select(applicable, step, state)

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        return self.choice.subset(candidates, chosen, choosers, step)


class _Paths:
    """Paths made in blocks of one size, which share a compilation."""

    def __init__(
        self,
        system: AnySystem,
        property: PathProperty,
        choice: AbstractChoice,
        max_steps: int,
        looks: list[int],
        lowering: LoweringOptions,
        mesh: Mesh | None,
        progress: Callable[[int, int], None] | None,
    ):
        self.mesh, self.progress = mesh, progress
        self.system, self.property, self.choice = system, property, choice
        self.max_steps, self.lowering = max_steps, lowering
        row = 4 * _numbers_of_a_step(system, property.save)
        room = max(_MAX_BYTES // max(row * max_steps, 1), 1)
        wanted = max(looks[0], looks[-1] // 8)
        self.block = min(bucket(wanted), _MAX_BLOCK, 1 << room.bit_length() - 1)
        self.holds = np.zeros(0, bool)
        self.undecided = np.zeros(0, bool)

    @property
    def saved(self) -> dict[str, np.ndarray]:
        """What a checkpoint has."""
        return {"holds": self.holds, "undecided": self.undecided}

    def restore(self, checkpoints: Checkpoints) -> None:
        """Know what the last checkpoint knew of the first paths."""
        if checkpoints.restored is not None:
            found = checkpoints.restored.state(self.saved)
            self.holds, self.undecided = found["holds"], found["undecided"]

    def count(self, paths: int, checkpoints: Checkpoints) -> tuple[int, int]:
        """How many of the first paths, this many of them, hold, and how many are undecided."""
        while len(self.holds) < paths:
            if checkpoints.is_due():
                checkpoints.save(self.saved)
            holds, undecided = self._block(len(self.holds))
            self.holds = np.concatenate([self.holds, holds])
            self.undecided = np.concatenate([self.undecided, undecided])
            if self.progress is not None:
                self.progress(min(len(self.holds), paths), paths)
        return int(self.holds[:paths].sum()), int(self.undecided[:paths].sum())

    def _block(self, first: int) -> tuple[np.ndarray, np.ndarray]:
        wanted = self.property.save
        solution = run(
            self.system,
            max_steps=self.max_steps,
            choice=_Later(self.choice, jnp.asarray(first, jnp.uint32)),
            paths=self.block,
            **self.lowering,
            save=replace(wanted, budget=max(wanted.budget or 0, 4 * _MAX_BYTES)),
            throw=False,
            mesh=self.mesh,
        )
        judged = self.property.judge(solution)
        if not isinstance(judged, Judged):
            judged = Judged(np.asarray(judged), np.zeros(solution.paths, bool))
        holds, is_undecided = np.asarray(judged.holds), np.asarray(judged.is_undecided)
        for answer in (holds, is_undecided):
            if answer.shape != (solution.paths,) or answer.dtype != bool:
                raise ValueError(
                    f"The property gives an array of {answer.dtype} of shape {answer.shape} for "
                    f"{solution.paths} paths. Give one truth value a path."
                )
        ended = (solution.result == RESULTS.halted) | (solution.result == RESULTS.max_steps_reached)
        is_undecided = is_undecided | ~np.asarray(ended)
        flags = np.stack([holds & ~is_undecided, is_undecided], axis=1)
        flags = from_all(flags, solution.path_numbers, self.block).astype(bool)
        return flags[:, 0], flags[:, 1]


def _numbers_of_a_step(system: AnySystem, save: Save) -> int:
    """How many numbers are kept of each step of a path."""
    states = 0 if save.every is None else 3 * system.num_neurons / save.every
    details = 3 * system.num_neurons if save.details else 0
    return math.ceil(states) + details + (system.num_outputs if save.outputs else 0)
