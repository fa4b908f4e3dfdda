"""The exact expectation of the final histogram, and its covariance."""

import functools
from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int

from .._xla import precision, refuse_fork
from .binning import NO_BIN, AbstractBins, BinRule, bins_of_model, check_bins
from .family import family_means, family_second_moments
from .law import Gamma, Normal
from .model import CellType, ProliferationModel
from .moments import NARROW, Method
from .pairs import NARROWEST, narrow_second_moments
from .program import NARROW_SECONDS, Parameters, ProliferationProgram, gamma_error, lower
from .table import SparseHistogram, merged


@dataclass(frozen=True, eq=False)
class Expected:
    """What a model predicts, as host arrays.

    Axes: `types` in the order of the model; `channels` are those that hold cells at the beginning;
    generation k of channel phi has the fluorescence phi / 2^k.

    - `family_mean`: E[N_k] of one family of each type without a threshold.
    - `family_second_moment`: E[N_k N_l].
    - `fluorescence`: `(channels, generations)`.
    - `last`: the last generation of each channel.
    - `mean_error`, `second_error`: bounds of the errors of the two, as fractions of their largest
      entries (or of 1).
    """

    model: ProliferationModel
    family_mean: Float[np.ndarray, "types generations"]
    family_second_moment: Float[np.ndarray, "types generations generations"]
    fluorescence: Float[np.ndarray, "channels generations"]
    counts: Int[np.ndarray, " channels"]
    last: Int[np.ndarray, " channels"]
    mean_error: float
    second_error: float

    @property
    def proportions(self) -> Float[np.ndarray, " types"]:
        return np.array([cell_type.proportion for cell_type in self.model.types])

    @property
    def is_there(self) -> np.ndarray:
        """`(channels, generations)`: whether cells can be there."""
        return np.arange(self.model.generations)[None, :] <= self.last[:, None]

    @functools.cached_property
    def family_covariance(self) -> Float[np.ndarray, "generations generations"]:
        """Of the numbers of a family whose type is not known."""
        mean = self.proportions @ self.family_mean
        return np.tensordot(self.proportions, self.family_second_moment, 1) - np.outer(mean, mean)

    @functools.cached_property
    def mean(self) -> Float[np.ndarray, "channels generations"]:
        """Expected cells."""
        mean = self.proportions @ self.family_mean
        return np.where(self.is_there, self.counts[:, None] * mean, 0.0)

    @functools.cached_property
    def sd(self) -> Float[np.ndarray, "channels generations"]:
        """Standard deviations of the cells of one experiment."""
        variance = np.maximum(np.diag(self.family_covariance), 0)
        return np.sqrt(np.where(self.is_there, self.counts[:, None] * variance, 0.0))

    @functools.cached_property
    def by_type(self) -> Float[np.ndarray, "types channels generations"]:
        """Expected cells of each type."""
        mean = self.proportions[:, None] * self.family_mean
        return np.where(self.is_there, self.counts[:, None] * mean[:, None, :], 0.0)

    @functools.cached_property
    def type_variance(self) -> Float[np.ndarray, "types generations"]:
        """Variances, for one initial cell, of the numbers of one type."""
        square = np.diagonal(self.family_second_moment, axis1=1, axis2=2)
        mean = self.proportions[:, None] * self.family_mean
        return np.maximum(self.proportions[:, None] * square - mean**2, 0)

    @property
    def _families(self) -> Int[np.ndarray, " generations"]:
        """How many initial cells can have offspring in each generation."""
        return self.counts @ self.is_there

    @property
    def type_generation(self) -> Float[np.ndarray, "types generations"]:
        """Expected cells of each type and generation."""
        return self._families * self.proportions[:, None] * self.family_mean

    @property
    def type_generation_sd(self) -> Float[np.ndarray, "types generations"]:
        return np.sqrt(self._families * self.type_variance)

    @property
    def total(self) -> float:
        """Expected number of cells."""
        return float(self.mean.sum())

    @property
    def total_sd(self) -> float:
        """Standard deviation of the number of cells."""
        sums = self.family_covariance.cumsum(0).cumsum(1)  # of generations up to each
        return float(np.sqrt(max(self.counts @ np.diag(sums)[self.last], 0.0)))

    def table(self) -> SparseHistogram:
        """The histogram: fluorescences that can occur in ascending order, means and sds."""
        return merged(self.fluorescence, self.mean, self.by_type, variance=self.sd**2)

    def binned(
        self,
        bins: AbstractBins,
        *,
        rule: BinRule = BinRule.CALIBRATION,
        phi_min: float | None = None,
    ) -> tuple[Float[np.ndarray, " bins"], Float[np.ndarray, "bins bins"]]:
        """The mean and the covariance of the cells of each bin.

        **Arguments:**

        - `bins`: the bins.
        - `rule`: what happens to values outside the bins.
        - `phi_min`: the threshold below which `BinRule.DISPLAY` drops values; by default the
          model's.

        **Returns:** `(bins,)` means and `(bins, bins)` covariances.
        """
        check_bins(bins.num, lambda num: 2 * 8 * num**2)
        index = bins_of_model(self.model, bins, rule=rule, phi_min=phi_min)
        return binned_mean(index, self.mean, bins.num), binned_covariance(
            index, self.counts, self.family_covariance, bins.num
        )


def expected(model: ProliferationModel, *, dtype: type = np.float64) -> Expected:
    """The exact expectation and covariance of the final histogram.

    Nothing is sampled: the error is that of solving the equations of `moments`, of which `Expected`
    states a bound. A normal law with mean / sd of 6 or more has closed forms; another is resolved
    the finer, the smaller sd / duration is.

    **Arguments:**

    - `model`: a proliferation model.
    - `dtype`: `float64`, or `float32` for an error of about 1e-6 of the largest mean (its program
      is for a GPU).

    **Returns:** host arrays, for any number of cells at the same cost. To differentiate, batch or
    compile, `lower` a model and use `expected_counts`, `family_means`, ....

    **Raises:** `Unresolved` for an sd below 1 % of the duration that mean / sd < 6 goes with (more
    divisions than any dilution shows), and for a gamma law of a shape below 0.7 that is not an
    integer.
    """
    refuse_fork("proliferation.expected")
    paired = [_by_pairs(cell_type, model.duration) for cell_type in model.types]
    program, parameters = lower(
        model, second_moments=[not is_paired for is_paired in paired], dtype=dtype
    )
    with precision(dtype):
        means, seconds = _solved(program, parameters)
        means, seconds = np.asarray(means, np.float64), np.array(seconds, np.float64)
    for i, cell_type in enumerate(model.types):
        if paired[i]:
            assert isinstance(cell_type.law, Normal)
            seconds[i] = narrow_second_moments(
                cell_type.law.mean,
                cell_type.law.sd,
                model.duration,
                start=model.start,
                generations=model.generations,
            )
    held = model.initial.occupied
    k = np.arange(model.generations)
    is_single = np.dtype(dtype) == np.float32
    laws = (cell_type.law for cell_type in model.types)
    gamma_errors = [0.0, *(gamma_error(law.shape) for law in laws if isinstance(law, Gamma))]
    return Expected(
        model,
        means,
        seconds,
        np.ldexp(held.fluorescence[:, None], -k[None, :]),
        held.counts,
        model.max_divisions[model.initial.counts > 0],
        1e-5 if is_single else 2e-8 if Method.NARROW in program.methods else 1e-8,
        max(1e-4 if is_single else 1e-7, *gamma_errors),
    )


def _by_pairs(cell_type: CellType, duration: float) -> bool:
    """Whether the second moments of a type are those of `pairs`: the grid does not resolve it."""
    law = cell_type.law
    if not isinstance(law, Normal) or law.mean < NARROW * law.sd or duration == 0:
        return False
    return NARROWEST <= law.sd / duration < NARROW_SECONDS


@eqx.filter_jit
def _solved(program: ProliferationProgram, parameters: Parameters):
    return family_means(program, parameters), family_second_moments(program, parameters)


def binned_mean(
    index: Int[np.ndarray, "channels generations"],
    mean: Float[np.ndarray, "channels generations"],
    num_bins: int,
) -> Float[np.ndarray, " bins"]:
    """The sum over what is in each bin."""
    is_in = index != NO_BIN
    return np.bincount(index[is_in], mean[is_in], num_bins)


def binned_covariance(
    index: Int[np.ndarray, "channels generations"],
    counts: Int[np.ndarray, " channels"],
    covariance: Float[np.ndarray, "generations generations"],
    num_bins: int,
) -> Float[np.ndarray, "bins bins"]:
    """The covariance of the cells in bins: channels are independent, generations of one are not."""
    is_in = index != NO_BIN
    both = is_in[:, :, None] & is_in[:, None, :]
    pair = index[:, :, None] * num_bins + index[:, None, :]
    values = counts[:, None, None] * covariance
    flat = np.bincount(pair[both], values[both], num_bins**2)
    return flat.reshape(num_bins, num_bins)
