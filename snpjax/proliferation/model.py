"""The model of a dividing population that is read by the dilution of its fluorescence."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int

from snpjax_formats.articles import kind_of

from .._text.pickling import PickledError
from .histogram import Histogram
from .law import Fixed, Gamma, Law, Normal, is_number
from .start import Start


#: Proportions may miss 1 by this much; they are never rescaled.
TOLERANCE = 1e-6
#: More divisions than any fluorescence allows before it is noise.
MAX_DIVISIONS = 60


class InvalidModel(PickledError, ValueError):
    """A model that is wrong; `problems` lists everything that is."""

    def __init__(self, problems: Sequence[str]):
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class CellType:
    """A type of cells, inherited for ever.

    - `name`: unique in a model.
    - `proportion`: the probability that a cell of the initial histogram is of this type.
    - `law`: of the division time in hours: `Normal(mean, sd)`, `Gamma(shape, scale)` or
      `Fixed(mean)`; `None` is quiescent: such cells never divide.
    """

    name: str
    proportion: float
    law: Law | None = None


@dataclass(frozen=True)
class ProliferationModel:
    """Stained cells that divide; each division halves the fluorescence.

    Each cell of `initial` draws a type by the proportions. A cell divides when its timer, drawn
    again from the law of its type, has run down, if that is not after `duration`: a division at
    exactly `duration` happens. It becomes two cells of half the fluorescence if that is above
    `phi_min`, and none otherwise. Cells do not die and keep their type.

    **Arguments:**

    - `initial`: the measured histogram at time 0.
    - `types`: cell types, whose proportions sum to 1.
    - `duration`: hours from `initial` to the histogram that is predicted.
    - `phi_min`: the fluorescence threshold, tested at division only; by default the smallest
      fluorescence that a cell of `initial` has.
    - `start`: when families divide first. The default, `Start.ASYNC`, delays the first division.

    **Raises:** `InvalidModel` with every problem.
    """

    initial: Histogram
    types: tuple[CellType, ...]
    duration: float
    phi_min: float | None = None
    start: Start = Start.ASYNC

    def __init__(
        self,
        initial: Histogram,
        types: Sequence[CellType],
        *,
        duration: float,
        phi_min: float | None = None,
        start: Start = Start.ASYNC,
    ) -> None:
        object.__setattr__(self, "initial", initial)
        object.__setattr__(self, "types", tuple(types))
        object.__setattr__(self, "duration", duration)
        object.__setattr__(self, "phi_min", phi_min)
        object.__setattr__(self, "start", start)
        problems = [*problems_of_types(self.types), *_problems_of_experiment(self)]
        if problems:
            raise InvalidModel(problems)

    @property
    def threshold(self) -> float:
        """`phi_min`, or its default."""
        return self.initial.lowest if self.phi_min is None else float(self.phi_min)

    @property
    def max_divisions(self) -> "Int[np.ndarray, ' channels']":
        """How often a cell of each channel can divide and leave daughters."""
        return max_divisions(self.initial.fluorescence, self.threshold)

    @property
    def generations(self) -> int:
        """Number of generations that cells can be found in, the first included."""
        held = self.initial.counts > 0
        return int(self.max_divisions[held].max()) + 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(cell_type.name for cell_type in self.types)

    def at(self, duration: float) -> "ProliferationModel":
        """The same population after another time, in hours."""
        return replace(self, duration=duration)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{x.proportion:g} {x.name}" for x in self.types)
        return (
            f"ProliferationModel({self.initial.cells:,} cells; {kinds}; {self.duration:g} h, "
            f"phi_min {self.threshold:g}, start {self.start.value})"
        )


def max_divisions(
    fluorescence: "np.ndarray | Sequence[float]", phi_min: float
) -> "Int[np.ndarray, ' channels']":
    """How often cells can divide and leave daughters, counted by exact halving.

    **Arguments:**

    - `fluorescence`: `(channels,)` fluorescence, in the arbitrary units of the instrument.
    - `phi_min`: the threshold; cells at or below it vanish.

    **Returns:** `(channels,)` the number of m >= 1 with phi / 2^m > `phi_min`.

    **Raises:** `ValueError` for a negative threshold, and for fluorescence without an end.
    """
    if phi_min < 0 or not np.isfinite(fluorescence).all():
        raise ValueError(
            f"`phi_min` is {phi_min:g}, or `fluorescence` infinite, so that cells divide without "
            "end. Give a threshold of 0 or more, and finite values."
        )
    phi = np.array(fluorescence, np.float64)
    count = np.zeros(phi.shape, np.int64)
    while True:
        phi = phi / 2
        above = phi > phi_min
        if not above.any():
            return count
        count += above


def problems_of_types(types: Sequence[CellType]) -> list[str]:
    """What is wrong with the types of a model, in words."""
    if not types:
        return ["there are no cell types (give one or more)"]
    found = []
    for cell_type in types:
        where = f"type {cell_type.name!r}: "
        p = cell_type.proportion
        if not is_number(p) or p < 0:
            found.append(f"{where}proportion is {p!r} (write a number from 0 to 1)")
        if isinstance(cell_type.law, Normal | Gamma | Fixed):
            found += [where + text for text in cell_type.law.problems()]
        elif cell_type.law is not None:
            found.append(f"{where}the law is {cell_type.law!r} (give Normal, Gamma, Fixed or None)")
    for name, times in Counter(cell_type.name for cell_type in types).items():
        if times > 1:
            found.append(f"{times} types are called {name!r} (rename all but one)")
    if all(is_number(x.proportion) for x in types):
        total = math.fsum(x.proportion for x in types)
        if abs(total - 1) > TOLERANCE:
            found.append(f"the proportions are to sum to 1, and sum to {total:.10g} (correct them)")
    return found


def _problems_of_experiment(model: ProliferationModel) -> list[str]:
    found = []
    if not isinstance(model.start, Start):
        found.append(f"start is {model.start!r} (give a Start, such as Start.ASYNC)")
    if not is_number(model.duration) or model.duration < 0:
        found.append(f"duration is {model.duration!r} (write 0 or more hours)")
    if not isinstance(model.initial, Histogram):
        return [*found, f"initial is {kind_of(model.initial)} (give a Histogram)"]
    phi_min = model.phi_min
    if phi_min is None:
        return found
    if not is_number(phi_min) or phi_min <= 0:
        fix = "a threshold of 0 allows a thousand generations; write a positive fluorescence"
        return [*found, f"phi_min is {phi_min!r} ({fix})"]
    held = model.initial.occupied.fluorescence
    if phi_min > held[-1]:
        found.append(
            f"phi_min {phi_min:g} is above every cell, the brightest of which has {held[-1]:g} "
            "(lower it; is it on the scale of the histogram?)"
        )
    elif held[-1] / phi_min > 2.0**MAX_DIVISIONS:
        found.append(
            f"phi_min {phi_min:g} allows more than {MAX_DIVISIONS} divisions of a cell of "
            f"{held[-1]:g} (raise it)"
        )
    return found
