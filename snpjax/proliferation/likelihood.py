"""The likelihood of a measured histogram, with gradients, for samplers and optimizers."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, DTypeLike, Float

from .._xla import precision
from .binning import BinRule, Bins, bins_of_model
from .distance import FLOOR, weights_of
from .family import mixed_means
from .histogram import Histogram
from .model import ProliferationModel
from .program import Parameters, ProliferationProgram, Range, lower


class Measurement(eqx.Module):
    """A measured histogram, and what a model needs to predict its bins. A pytree, so that functions
    of it can be compiled; make it with `measurement`.

    - `program`: the model without its parameters.
    - `weights`: cells that one expected cell of each generation puts into each bin.
    - `counts`: measured cells.
    - `background`: the share of the cells that fall into any bin with equal probability.
    """

    program: ProliferationProgram
    weights: Float[Array, "bins generations"]
    counts: Float[Array, " bins"]
    background: Float[Array, ""]


def measurement(
    model: ProliferationModel,
    observed: Histogram,
    *,
    bins: Bins = Bins(),  # noqa: B008 (a frozen object)
    ranges: Sequence[Range | None] | None = None,
    background: float = 0.0,
    dtype: DTypeLike = np.float64,
) -> tuple[Measurement, Parameters]:
    """Prepare a histogram for `log_likelihood`, once for many parameters.

    **Arguments:**

    - `model`: the initial histogram, the duration and the cell types.
    - `observed`: cells by fluorescence after `model.duration` hours, on the axis of the initial
      histogram.
    - `bins`: where the two are compared; all cells below go into the first bin.
    - `ranges`: for each type the values that its parameters will take, in hours, as for `lower`; by
      default those of the model alone.
    - `background`: the share of measured cells, such as debris, that fall into any bin with equal
      probability, at least 0 and less than 1.
    - `dtype`: `float64`, or `float32`, which errs by about 1e-6 of the largest mean.

    **Returns:** a `Measurement`, and the parameters of the model.

    **Raises:** `ValueError` for axes that differ, cells above the last bin, a background that is
    not a share, and cells in bins that no cell of the model can reach, unless there is a
    background; `Unresolved` as in `lower`.
    """
    if not model.initial.axis.agrees(observed.axis):
        raise ValueError(
            f"the axes differ: the initial histogram has {model.initial.axis}, the observed one "
            f"{observed.axis} (export both on one scale)"
        )
    if not 0 <= background < 1:
        raise ValueError(f"`background` is {background}. Give a share of at least 0 and below 1.")
    program, parameters = lower(model, ranges=ranges, dtype=dtype)
    index = bins_of_model(model, bins, rule=BinRule.CALIBRATION)
    weights = weights_of(index, model.initial.occupied.counts, bins.num)
    cells = bins.count(observed.fluorescence, observed.counts)
    lost = np.flatnonzero((cells > 0) & ~weights.any(axis=1))
    if len(lost) and not background:
        raise ValueError(
            f"{cells[lost].sum():,.10g} of {cells.sum():,.10g} measured cells are in bins that no "
            f"cell of the model can reach, the first up to {bins.edges[lost[0]]:.4g}. Give a "
            "`background`, such as 1e-4, or another `phi_min` or other bins."
        )
    with precision(dtype):
        measured = Measurement(
            program,
            jnp.asarray(weights, dtype),
            jnp.asarray(cells, dtype),
            jnp.asarray(background, dtype),
        )
    return measured, parameters


def log_likelihood(measured: Measurement, parameters: Parameters) -> Float[Array, ""]:
    """The logarithm of the probability of the measured cells, drawn from the expected histogram.

    The cells of each bin are multinomial, with the expected shares of the bins. It can be
    differentiated in all parameters, compiled and batched; call it inside `jax.enable_x64(True)`
    for double precision. Shares below 1e-12 count as 1e-12, so that value and gradient are finite.

    The expected shares are taken as those of the population. Where as many cells are measured as
    the population has, its own random divisions matter as well, and a posterior is too narrow;
    `uncertainty` accounts for them.

    **Arguments:**

    - `measured`: what `measurement` returned.
    - `parameters`: in hours; those that `measurement` returned with other values in place. The
      proportions must sum to 1.

    **Returns:** the natural logarithm, with the multinomial coefficient.
    """
    means = measured.weights @ mixed_means(measured.program, parameters)
    background, counts = measured.background, measured.counts
    share = (1 - background) * means / jnp.sum(means) + background / counts.shape[0]
    logs = jnp.where(counts > 0, counts * jnp.log(jnp.maximum(share, FLOOR)), 0)
    return gammaln(jnp.sum(counts) + 1) + jnp.sum(logs - gammaln(counts + 1))
