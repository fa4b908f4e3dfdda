"""The parameters that a calibration may change, as a vector with bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._text.nearest import nearest
from .._text.warn import warn
from .law import Fixed, Gamma, Normal
from .model import CellType, ProliferationModel
from .program import Parameters, Range


#: Bounds of a type: by the name of a parameter of its law, the least and the largest value.
TypeBounds = Mapping[str, tuple[float, float]]

# The ranges that experiments of ten days are searched in, in hours; others in proportion.
_USUAL_DURATION = 240.0
_USUAL = {"mean": (30.0, 504.0), "sd": (0.0, 30.0), "scale": (5.0, 20.0)}
_USUAL_SHAPE = (6.0, 30.0)
#: An sd is at least 3 h in an experiment of 240 h: what less would mean, bins do not show.
SD_FLOOR = 3.0 / 240.0


class GuessOutsideBounds(UserWarning):
    """A value of the model is outside the bounds of its calibration, which starts at a bound."""


@dataclass(frozen=True)
class ParameterVector:
    """What a vector of numbers means: shares x1, x2, ... of what the types before leave (the
    proportion of the first type is x1, of the second (1 - x1) x2, ..., of the last the rest), then
    the first parameter of each law in the order of the types, then the second.

    - `names`: of the numbers: `x1`, `fast mean`, ....
    - `of_type`: the types that first and second parameters are of.
    """

    names: tuple[str, ...]
    of_type: tuple[int, ...]
    num_types: int

    def split(self, x: Any) -> tuple[Any, Any, Any]:
        """Shares, first and second parameters."""
        n, m = self.num_types - 1, len(self.of_type)
        return x[:n], x[n : n + m], x[n + m :]

    def types_of(self, which: Bool[np.ndarray, " numbers"]) -> list[int]:
        """The types both of whose parameters are among those numbers."""
        _, first, second = self.split(which)
        return [kind for kind, *both in zip(self.of_type, first, second, strict=True) if all(both)]

    def parameters(self, x: Float[Array, " numbers"], fixed: Parameters) -> Parameters:
        """The parameters of a vector; those that are not searched are those of `fixed`."""
        shares, first, second = self.split(x)
        left = jnp.concatenate([jnp.ones((1,), x.dtype), jnp.cumprod(1 - shares)])
        shares = jnp.concatenate([shares, jnp.ones((1,), x.dtype)])
        types = jnp.asarray(self.of_type, jnp.int32)
        return Parameters(
            left * shares,
            fixed.first.at[types].set(first),
            fixed.second.at[types].set(second),
            fixed.duration,
        )


@dataclass(frozen=True, eq=False)
class ParameterSpace:
    """The numbers of a calibration and their bounds."""

    numbers: ParameterVector
    lower: Float[np.ndarray, " numbers"]
    upper: Float[np.ndarray, " numbers"]

    @property
    def names(self) -> tuple[str, ...]:
        return self.numbers.names

    def vector(self, model: ProliferationModel) -> Float[np.ndarray, " numbers"]:
        """The numbers of a model, moved into the bounds."""
        left, shares = 1.0, []
        for cell_type in model.types[:-1]:
            shares.append(cell_type.proportion / left if left > 1e-12 else 0.5)
            left -= cell_type.proportion
        laws = [model.types[i].law for i in self.numbers.of_type]
        numbers = [[getattr(law, law.fields[i]) for law in laws if law] for i in (0, 1)]
        return np.clip(np.array([*shares, *numbers[0], *numbers[1]]), self.lower, self.upper)

    def model(
        self, x: Float[np.ndarray, " numbers"], model: ProliferationModel
    ) -> ProliferationModel:
        """`model` with other numbers."""
        shares, first, second = self.numbers.split(np.asarray(x, float))
        left, proportions = 1.0, []
        for share in shares:
            proportions.append(float(left * share))
            left *= 1 - share
        proportions.append(float(left))
        types = [
            CellType(cell_type.name, p, cell_type.law)
            for cell_type, p in zip(model.types, proportions, strict=True)
        ]
        for i, a, b in zip(self.numbers.of_type, first, second, strict=True):
            law = type(types[i].law)
            assert law is Normal or law is Gamma
            types[i] = CellType(types[i].name, types[i].proportion, law(float(a), float(b)))
        return replace(model, types=tuple(types))

    def ranges(self) -> list[Range | None]:
        """Where the parameters of each type are going to be."""
        found: list[Range | None] = [None] * self.numbers.num_types
        pairs = list(zip(self.lower.tolist(), self.upper.tolist(), strict=True))
        _, *of_laws = self.numbers.split(pairs)
        for i, first, second in zip(self.numbers.of_type, *of_laws, strict=True):
            found[i] = Range(first, second)
        return found


def search_of(
    model: ProliferationModel, bounds: Mapping[str, TypeBounds] | None, sd_floor: float | None
) -> ParameterSpace:
    """The search of all parameters of a model.

    Default bounds include the model's own values: one that excludes a value becomes half or twice
    that value.

    **Raises:** `ValueError` with every bound that makes no sense.

    **Warns:** `GuessOutsideBounds` with the model's own values that other bounds exclude.
    """
    bounds = dict(bounds or {})
    outside: list[str] = []
    problems = [
        f"bounds of {name!r}: there is no such type ({nearest(str(name), model.names, 'types')})"
        for name in bounds
        if name not in model.names
    ]
    floor = SD_FLOOR * model.duration if sd_floor is None else sd_floor
    if not floor > 0:
        problems.append(f"sd_floor is {sd_floor} (give a positive number of hours)")
    of_type, laws = [], ([], [])
    for i, cell_type in enumerate(model.types):
        law = cell_type.law
        if law is None:
            if bounds.get(cell_type.name):
                problems.append(
                    f"bounds of {cell_type.name!r}: a quiescent type has no parameters (leave them "
                    "out)"
                )
            continue
        if isinstance(law, Fixed):
            problems.append(
                f"type {cell_type.name!r} has a fixed division time, which is not calibrated (give "
                "it a Normal law)"
            )
            continue
        of_type.append(i)
        given = dict(bounds.get(cell_type.name, {}))
        for place, field in enumerate(law.fields):
            value, is_default = getattr(law, field), field not in given
            low, high = given.pop(field, _usual(field, model.duration))
            least = floor if field == "sd" else 0.0
            low = max(low, least)
            if is_default:
                low, high = _bounds_around(low, high, value)
            if sd_floor is not None:  # no guess lowers a floor that was passed
                low = max(low, least)
            if not (0 <= low < high < np.inf):
                problems.append(
                    f"bounds of {cell_type.name!r} {field}: {low:g} to {high:g} (give two numbers "
                    "in order)"
                )
            low = max(low, 1e-6 * high)
            if not low <= value <= high:
                nearer = low if value < low else high
                outside.append(
                    f"the first guess of {cell_type.name!r} {field}, {value:g}, is outside its "
                    f"bounds, {low:g} to {high:g}, and the search starts at {nearer:g} (widen the "
                    "bounds, or change the model)"
                )
            laws[place].append((f"{cell_type.name} {field}", low, high))
        problems += [
            f"bounds of {cell_type.name!r}: there is no {name} "
            f"({nearest(str(name), law.fields, 'parameters')})"
            for name in given
        ]
    if not problems and not of_type and len(model.types) == 1:
        problems.append("nothing is to be calibrated (give types that divide)")
    if problems:
        raise ValueError("\n".join(problems))
    if outside:
        warn(GuessOutsideBounds("; ".join(outside)))
    shares = [(f"x{i + 1}", 0.0, 1.0) for i in range(len(model.types) - 1)]
    names, lower, upper = zip(*shares, *laws[0], *laws[1], strict=True)
    numbers = ParameterVector(names, tuple(of_type), len(model.types))
    return ParameterSpace(numbers, np.array(lower, np.float64), np.array(upper, np.float64))


def _bounds_around(low: float, high: float, value: float) -> tuple[float, float]:
    """Default bounds around a value: a bound that excludes it becomes half or twice the value."""
    return value / 2 if value < low else low, 2 * value if value > high else high


def _usual(field: str, duration: float) -> tuple[float, float]:
    if field == "shape":
        return _USUAL_SHAPE
    low, high = _USUAL[field]
    return low * duration / _USUAL_DURATION, high * duration / _USUAL_DURATION
