"""Laws of the division time, in hours."""

import math
from dataclasses import dataclass
from typing import ClassVar, TypeAlias


@dataclass(frozen=True)
class Normal:
    """A normal division time, redrawn until it is positive: the normal law given T > 0.

    - `mean`, `sd`: of the normal law before redrawing, in hours. The mean division time is longer
      (46.1 and 28.9 give 49.5 h, see `effective_mean`).
    """

    mean: float
    sd: float
    fields: ClassVar[tuple[str, str]] = ("mean", "sd")

    @property
    def effective_mean(self) -> float:
        """The mean of what is drawn, in hours."""
        a = self.mean / self.sd
        density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
        return self.mean + self.sd * density / (math.erfc(-a / math.sqrt(2)) / 2)

    def problems(self) -> list[str]:
        found = [*_not_positive(self, "mean")]
        if isinstance(self.sd, int | float) and self.sd == 0:
            found.append("sd is 0 (write Fixed(mean) for a division time without spread)")
            return found
        return [*found, *_not_positive(self, "sd")]


@dataclass(frozen=True)
class Gamma:
    """A gamma division time.

    - `shape`: without unit; `scale`: in hours. The mean is their product.
    """

    shape: float
    scale: float
    fields: ClassVar[tuple[str, str]] = ("shape", "scale")

    @property
    def effective_mean(self) -> float:
        """The mean, in hours."""
        return self.shape * self.scale

    def problems(self) -> list[str]:
        return [*_not_positive(self, "shape"), *_not_positive(self, "scale")]


@dataclass(frozen=True)
class Fixed:
    """Every division takes `mean` hours: the normal law as its sd goes to 0."""

    mean: float
    fields: ClassVar[tuple[str]] = ("mean",)

    @property
    def effective_mean(self) -> float:
        """The division time, in hours."""
        return self.mean

    def problems(self) -> list[str]:
        return _not_positive(self, "mean")


Law: TypeAlias = Normal | Gamma | Fixed


def _not_positive(law: Law, name: str) -> list[str]:
    value = getattr(law, name)
    if is_number(value) and value > 0:
        return []
    unit = "" if name == "shape" else " of hours"
    return [f"{name} is {value!r} (write a positive number{unit})"]


def is_number(value: object) -> bool:
    """Whether a value is a finite real number."""
    if isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        return False
