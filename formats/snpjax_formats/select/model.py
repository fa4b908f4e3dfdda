"""A cost model as plain numbers, read and evaluated by NumPy."""

import functools
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from jaxtyping import Float

from .candidates import CANDIDATES, LAYOUT_SET, Candidate
from .features import Features
from .inputs import input_names, input_table
from .trees import Trees
from .workload import Workload


# Inputs may lie a little beyond those that a model was trained on: so much of their range.
_MARGIN = 0.05

#: Only these are looked at: what else is beyond the range follows from them, or matters little.
_RANGED = ("sources", "targets", "edges", "batch", "bits", "weight bytes")

# Standard deviations from the mean that the linear part follows.
_MOST_STANDARD = 4.0


class UnusableModel(UserWarning):
    """A model that cannot be read, or is of other layouts; it is ignored."""


@dataclass(frozen=True, eq=False)
class CostModel:
    """For every candidate a linear function of its inputs and a sum of trees: the logarithm of the
    seconds of a product.

    Axes: `candidates`, `inputs`. `low` and `high` are the range of the inputs that it was trained
    on; `center` and `scale` standardise those of each candidate for `slope`.
    """

    title: str
    names: tuple[str, ...]  # of candidates
    low: Float[np.ndarray, " inputs"]
    high: Float[np.ndarray, " inputs"]
    center: Float[np.ndarray, "candidates inputs"]
    scale: Float[np.ndarray, "candidates inputs"]
    slope: Float[np.ndarray, "candidates inputs"]
    offset: Float[np.ndarray, " candidates"]
    trees: Trees

    def covers(self, features: Features, workload: Workload) -> bool:
        """Whether graph and workload are like those that it was trained on."""
        at = [i for i, name in enumerate(input_names()) if name in _RANGED]
        x = input_table(features, workload, CANDIDATES[:1])[0, at]
        low, high = self.low[at], self.high[at]
        margin = _MARGIN * (high - low)
        return bool(np.all((x >= low - margin) & (x <= high + margin)))

    def predict(
        self, features: Features, workload: Workload, candidates: Sequence[Candidate]
    ) -> Float[np.ndarray, " candidates"]:
        """Seconds of one product for each of the candidates, all of which are in `names`."""
        place = [self.names.index(candidate.name) for candidate in candidates]
        return np.exp(self.logs(input_table(features, workload, candidates), np.asarray(place)))

    def logs(
        self, x: Float[np.ndarray, "rows inputs"], place: np.ndarray
    ) -> Float[np.ndarray, " rows"]:
        """The logarithm of the seconds of each row's candidate, the one at its place in `names`."""
        standard = (x - self.center[place]) / self.scale[place]
        standard = np.clip(standard, -_MOST_STANDARD, _MOST_STANDARD)
        linear = self.offset[place] + np.sum(standard * self.slope[place], axis=1)
        return linear + self.trees.sums(x, place)

    def write(self, path: Path) -> None:
        """The model as a file of arrays."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f"trees_{f.name}": getattr(self.trees, f.name) for f in fields(Trees)}
        head = {"layouts": LAYOUT_SET, "title": self.title, "names": np.asarray(self.names)}
        with path.open("wb") as file:
            np.savez_compressed(file, **head, inputs=np.asarray(input_names()), **arrays)

    @classmethod
    @functools.cache
    def read(cls, path: Path) -> "CostModel | None":
        """The model in a file; `None`, with one warning, for a file that is none, or is of other
        layouts or inputs; `None` for no file."""
        try:
            # No pickles: a file from elsewhere holds numbers, and runs nothing.
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                held = {name: file[name] for name in file.files}
            if int(held["layouts"]) != LAYOUT_SET or held["inputs"].tolist() != input_names():
                raise ValueError("it is of another version")
            names = tuple(held["names"].tolist())
            shape = (len(names), len(input_names()))
            if any(held[name].shape != shape for name in ("center", "scale", "slope")):
                raise ValueError("its arrays do not fit together")
            return cls(
                title=str(held["title"]),
                names=names,
                trees=Trees(**{f.name: held[f"trees_{f.name}"] for f in fields(Trees)}),
                **{name: held[name] for name in _ARRAYS},
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            text = f"The cost model {path} is ignored, since it cannot be used ({error})."
            warnings.warn(UnusableModel(text), stacklevel=2)
            return None


_ARRAYS = ("low", "high", "center", "scale", "slope", "offset")
