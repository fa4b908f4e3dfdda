"""From a model to arrays: what is static, what has gradients, and how fine the computation is to
be."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, Int

from .._xla import precision
from .grid import Grid, grid
from .law import Fixed, Gamma, Normal
from .model import CellType, ProliferationModel
from .moments import NARROW, Method
from .start import Start


class Unresolved(ValueError):
    """A law so narrow that the equations are not solved to their stated error."""


class Parameters(eqx.Module):
    """What of a model has gradients.

    - `proportions`: of the types.
    - `first`, `second`: mean and sd (`Normal`), shape and scale (`Gamma`), mean (`Fixed`) of the
      types, in hours but for the shape; 1 where there is none.
    - `duration`: hours.
    """

    proportions: Float[Array, " types"]
    first: Float[Array, " types"]
    second: Float[Array, " types"]
    duration: Float[Array, ""]


class ProliferationProgram(eqx.Module):
    """The rest of a model, as arrays.

    - `counts`: cells of each channel; `last`: the last generation that its cells are found in.
    """

    counts: Float[Array, " channels"]
    last: Int[Array, " channels"]
    grid: Grid
    methods: tuple[Method, ...] = eqx.field(static=True)
    start: Start = eqx.field(static=True)
    generations: int = eqx.field(static=True)


@dataclass(frozen=True)
class Range:
    """Between which values parameters of a type are going to be; one is traced otherwise."""

    first: tuple[float, float]
    second: tuple[float, float]


#: Nodes of the grid by the least sd / duration, so that means err by at most 1e-8 of the largest
#: (spec: worst of all start rules and mean / sd from 1 to 6; jax 0.10.2, CPU, 2026-11).
_MEAN_SIZES = ((0.03, 48), (0.02, 64), (0.01, 96), (0.006, 160))
#: So that means err by at most 1e-5 anywhere, which no fit sees.
_SEARCH_SIZES = ((0.02, 48), (0.015, 64), (0.008, 96), (0.006, 160))
#: As the first for second moments, where mean / sd < 6, and above it.
_WIDE_SIZES = ((0.04, 48), (0.025, 64), (0.015, 96), (0.01, 160))
_NARROW_SIZES = ((0.04, 48), (0.03, 96), (0.02, 160))
#: Second moments that are searched: to 1e-5, as means.
_SEARCH_SECONDS = ((0.03, 64), (0.02, 96))
_MOST_GAMMA_ERROR = 1e-2
NARROW_SECONDS = _NARROW_SIZES[-1][0]


def lower(
    model: ProliferationModel,
    *,
    ranges: Sequence[Range | None] | None = None,
    second_moments: bool | Sequence[bool] = False,
    generations: int | None = None,
    dtype: DTypeLike = np.float64,
) -> tuple[ProliferationProgram, Parameters]:
    """Lower a model to a program and its parameters, which JAX can compile and differentiate.

    **Arguments:**

    - `model`: a proliferation model.
    - `ranges`: for each type the values that its parameters will take, where they differ from the
      model's. They determine the resolution, so that no mean errs by more than 1e-5 of the largest.
    - `second_moments`: resolve second moments as well, of all types or of some.
    - `generations`: how many to compute, so that models of different histograms share a
      compilation; by default all that can occur.
    - `dtype`: `float64`, or `float32`, which errs by about 1e-6 of the largest mean.

    **Returns:** the program, and its parameters in hours.

    **Raises:** `Unresolved` where no resolution suffices; choose a larger sd, or 0.
    """
    ranges = ranges or [None] * len(model.types)
    if isinstance(second_moments, bool):
        second_moments = [second_moments] * len(model.types)
    if not len(ranges) == len(second_moments) == len(model.types):
        raise ValueError(
            f"`ranges` and `second_moments` have {len(ranges)} and {len(second_moments)} elements. "
            f"Pass one for each of the {len(model.types)} types."
        )
    kinds = [_method(x, r) for x, r in zip(model.types, ranges, strict=True)]
    size = max(
        _size(x, kind, r, model.duration, both)
        for x, kind, r, both in zip(model.types, kinds, ranges, second_moments, strict=True)
    )
    held = model.initial.counts > 0
    with precision(dtype):
        program = ProliferationProgram(
            jnp.asarray(model.initial.counts[held], dtype),
            jnp.asarray(model.max_divisions[held], np.int32),
            _grid_on_device(size, np.dtype(dtype)),
            tuple(kinds),
            model.start,
            max(generations or 0, model.generations),
        )
        return program, parameters_of(model, dtype)


@functools.lru_cache(maxsize=8)
def _grid_on_device(size: int, dtype: np.dtype) -> Grid:
    return jax.tree.map(lambda x: jnp.asarray(x, dtype), grid(size))


def parameters_of(model: ProliferationModel, dtype: DTypeLike = np.float64) -> Parameters:
    """The values of a model's parameters."""
    numbers = [_numbers(cell_type) for cell_type in model.types]
    with precision(dtype):
        return Parameters(
            jnp.asarray([x.proportion for x in model.types], dtype),
            jnp.asarray([first for first, _ in numbers], dtype),
            jnp.asarray([second for _, second in numbers], dtype),
            jnp.asarray(model.duration, dtype),
        )


def _numbers(cell_type: CellType) -> tuple[float, float]:
    match cell_type.law:
        case Normal(mean, sd):
            return mean, sd
        case Gamma(shape, scale):
            return shape, scale
        case Fixed(mean):
            return mean, 1.0
    return 1.0, 1.0


def _method(cell_type: CellType, range_: Range | None) -> Method:
    law = cell_type.law
    if law is None:
        return Method.QUIESCENT
    if isinstance(law, Gamma):
        return Method.GAMMA
    if isinstance(law, Fixed):
        return Method.FIXED
    if range_ is None:
        return Method.NARROW if law.mean >= NARROW * law.sd else Method.WIDE
    if range_.first[0] >= NARROW * range_.second[1]:
        return Method.NARROW
    return Method.WIDE if range_.first[1] < NARROW * range_.second[0] else Method.EITHER


def _size(
    cell_type: CellType, kind: Method, range_: Range | None, duration: float, seconds: bool
) -> int:
    """Nodes of the grid that one type needs."""
    law = cell_type.law
    if duration == 0 or kind in (Method.QUIESCENT, Method.FIXED):
        return 48
    if isinstance(law, Gamma):
        shape, scale = (range_.first[0], range_.second[0]) if range_ else (law.shape, law.scale)
        if not seconds:
            return 48
        if gamma_error(shape) > _MOST_GAMMA_ERROR:
            raise Unresolved(
                f"type {cell_type.name!r}: the covariance of a gamma law of shape {shape:g} is not "
                "resolved (give a shape of 0.7 or more; `simulate` takes any)"
            )
        width = math.sqrt(shape) * scale / duration
        # The convolution of a density that is not smooth at 0 converges slowly.
        size = _least(_NARROW_SIZES if shape > 30 else _WIDE_SIZES, width, cell_type)
        return size if shape >= 6 else 160
    assert isinstance(law, Normal)
    mean, sd = (range_.first[0], range_.second[0]) if range_ else (law.mean, law.sd)
    if seconds and range_ is not None:
        return _least(_SEARCH_SECONDS, sd / duration, cell_type)
    if seconds and kind is not Method.WIDE:
        return _least(_NARROW_SIZES, sd / duration, cell_type)
    if kind is Method.NARROW:
        return 48
    wide = max(sd, mean / NARROW) if kind is Method.EITHER else sd
    sizes = _WIDE_SIZES if seconds else _SEARCH_SIZES if range_ else _MEAN_SIZES
    return _least(sizes, wide / duration, cell_type)


def gamma_error(shape: float) -> float:
    """What second moments of a gamma law err by: its density is not smooth at 0 unless the shape is
    an integer, and polynomials of degree n approach t^shape as n^(-2 shape)."""
    return 0.0 if shape == round(shape) else 10 * 160.0 ** (-2 * shape)


def _least(sizes: Sequence[tuple[float, int]], width: float, cell_type: CellType) -> int:
    for least, size in sizes:
        if width >= least * (1 - 1e-9):
            return size
    raise Unresolved(
        f"type {cell_type.name!r}: an sd of {width:.2g} of the duration is not resolved (give one "
        f"of at least {sizes[-1][0]:g}, or Fixed(mean) for none; `simulate` takes any)"
    )
