"""A cost model as plain numbers, read and evaluated by NumPy."""

import functools
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from ..atomic import atomic_write
from .candidates import CANDIDATES, LAYOUT_SET, Candidate
from .features import Features
from .gaussian import matern
from .inputs import NUM_OWN, input_names, input_table
from .workload import Workload


# Inputs may lie a little beyond those that a model was trained on: so much of their range.
_MARGIN = 0.05

#: Only these are examined: what else is beyond the range follows from them, or matters little.
_RANGED = ("sources", "targets", "edges", "batch", "bits", "weight bytes")

# Standard deviations from the mean; what is further is taken to be there.
_MOST_STANDARD = 4.0


_MOST_BYTES = 2**28  # of a file that is unpacked


class UnusableModel(UserWarning):
    """A model that cannot be read, or is of other layouts; it is ignored."""


@dataclass(frozen=True, eq=False)
class CostModel:
    """For every candidate a linear function of its inputs and a Gaussian process: the logarithm of
    the seconds of a product.

    Axes: `candidates`; `inputs`, of which those that candidates share come first, and then their
    `own`; `rows`, the graphs that it was trained on. `low` and `high` are the range of the inputs
    there; `center` and `scale` standardise them for all the rest, where a scale of infinity is an
    input that was always the same. `offset`, `slope`, `length` and `weight` are those of a
    `Process` each; a candidate that was not timed on a graph has no weight there.
    """

    title: str
    names: tuple[str, ...]  # of candidates
    low: Float[np.ndarray, " inputs"]
    high: Float[np.ndarray, " inputs"]
    center: Float[np.ndarray, "candidates inputs"]
    scale: Float[np.ndarray, "candidates inputs"]
    offset: Float[np.ndarray, " candidates"]
    slope: Float[np.ndarray, "candidates inputs"]
    length: Float[np.ndarray, "candidates inputs"]
    weight: Float[np.ndarray, "candidates rows"]
    shared: Float[np.ndarray, "rows shared"]  # standardised, of 16 bits
    own: Float[np.ndarray, "candidates rows own"]  # likewise

    def covers(self, features: Features, workload: Workload) -> bool:
        """Whether graph and workload are like those that it was trained on."""
        at = [i for i, name in enumerate(input_names()) if name in _RANGED]
        x = input_table(features, workload, "", CANDIDATES[:1])[0, at]  # of any kind of device
        low, high = self.low[at], self.high[at]
        margin = _MARGIN * (high - low)
        return bool(np.all((x >= low - margin) & (x <= high + margin)))

    def predict(
        self, features: Features, workload: Workload, kind: str, candidates: Sequence[Candidate]
    ) -> Float[np.ndarray, " candidates"]:
        """Seconds of one product on a kind of device, for each of the candidates, all of which are
        in `names`."""
        place = [self.names.index(candidate.name) for candidate in candidates]
        x = input_table(features, workload, kind, candidates)
        return np.exp(self.logs(x, np.asarray(place)))

    def logs(
        self, x: Float[np.ndarray, "some inputs"], place: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, " some"]:
        """The logarithm of the seconds of some candidates on one graph, by their places in
        `names`."""
        z = standard(x, self.center[place], self.scale[place])
        linear = self.offset[place] + np.sum(z * self.slope[place], axis=1)
        num_shared = self.shared.shape[1]
        near = (1 / self.length[place] ** 2).astype(np.float32)
        z = z.astype(np.float32)
        squared = near[:, :num_shared] @ np.square(self.shared - z[0, :num_shared]).T
        apart = np.square(self.own[place] - z[:, None, num_shared:])
        squared += (apart @ near[:, num_shared:, None])[..., 0]
        return linear + np.sum(self.weight[place] * matern(squared), axis=1)

    def write(self, path: Path) -> None:
        """Write the model as a file of arrays."""
        atomic_write(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The content of a file of arrays."""
        arrays = {name: getattr(self, name) for name in _SHAPES}
        arrays |= {name: arrays[name].astype(np.float16) for name in _HALF}
        head = {"layouts": LAYOUT_SET, "title": self.title, "names": np.asarray(self.names)}
        file = BytesIO()
        np.savez_compressed(file, **head, inputs=np.asarray(input_names()), **arrays)
        return file.getvalue()

    @classmethod
    @functools.cache
    def read(cls, path: Path) -> "CostModel | None":
        """The model in a file; `None`, with one warning, for a file that is none, or is of other
        layouts or inputs; `None` for no file."""
        try:
            held = _arrays(path)
            if held["layouts"].tolist() != LAYOUT_SET or held["inputs"].tolist() != input_names():
                raise ValueError("it is of another version")
            names = tuple(held["names"].tolist())
            sizes = {"candidates": len(names), "inputs": len(input_names()), "own": NUM_OWN}
            sizes |= {"shared": sizes["inputs"] - NUM_OWN, "rows": len(held["shared"])}
            for name, axes in _SHAPES.items():
                if held[name].shape != tuple(sizes[axis] for axis in axes.split()):
                    raise ValueError("its arrays do not fit together")
                if held[name].dtype.kind != "f":
                    raise ValueError(f"`{name}` holds no real numbers")
                is_good = np.abs(held[name]) <= np.finfo(np.float32).max
                if name == "scale":  # infinite for an input that was always the same
                    is_good |= held[name] == np.inf
                if name in ("scale", "length"):
                    is_good &= held[name] > 0
                if not is_good.all():
                    raise ValueError(f"a number in `{name}` cannot be")
            held |= {name: held[name].astype(np.float32) for name in _HALF}
            title = str(held["title"])
            title.encode()  # half a character could not be printed
            return cls(title, names, **{name: held[name] for name in _SHAPES})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            text = f"The cost model {path} is ignored, since it cannot be used ({error})."
            warnings.warn(UnusableModel(text), stacklevel=2)
            return None


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file. **Raises:** `OSError`; `ValueError` for a file that is none."""
    with path.open("rb") as raw:
        try:
            with zipfile.ZipFile(raw) as packed:
                size = sum(item.file_size for item in packed.infolist())
            raw.seek(0)
            if size <= _MOST_BYTES:
                # No pickles: a file from elsewhere holds numbers, and runs nothing.
                with np.load(raw, allow_pickle=False) as file:
                    return {name: file[name] for name in file.files}
        except Exception as error:  # a damaged file makes zipfile and NumPy raise many kinds
            raise ValueError(f"{type(error).__name__}: {error}") from None
    raise ValueError(f"unpacked it has {size:,} bytes, more than the {_MOST_BYTES:,} that are read")


def standard(
    x: Float[np.ndarray, "*rows inputs"],
    center: Float[np.ndarray, "*#rows inputs"],
    scale: Float[np.ndarray, "*#rows inputs"],
) -> Float[np.ndarray, "*rows inputs"]:
    """In standard deviations from the mean, up to some."""
    return np.clip((x - center) / scale, -_MOST_STANDARD, _MOST_STANDARD)


_SHAPES = {
    "low": "inputs",
    "high": "inputs",
    "center": "candidates inputs",
    "scale": "candidates inputs",
    "offset": "candidates",
    "slope": "candidates inputs",
    "length": "candidates inputs",
    "weight": "candidates rows",
    "shared": "rows shared",
    "own": "candidates rows own",
}

# Written in 16 bits, which is what training rounds them to: half the size of a file.
_HALF = ("shared", "own")
