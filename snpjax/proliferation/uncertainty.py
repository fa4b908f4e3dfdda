"""How sure a calibration is: standard errors, intervals, profiles, goodness of fit."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.special import chdtrc, chdtri, ndtri

from .._text.progress import ProgressLike, progress_of
from .._text.warn import warn
from .binning import BinRule
from .calibrate import Calibration, descend, pooled
from .distance import Fit, Objective, drawn_on_host
from .expected import expected


#: A fit whose p value is below this is rejected.
REJECTED = 1e-3
# Information is not less than this, so that a number without any has an error far above its bounds.
_LEAST = 1e-8


class PoorFit(UserWarning):
    """A fit is rejected, and its intervals are not to be trusted."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Standard errors of the fitted numbers, from the Fisher information of the measured cells.

    If the model does not fit (`goodness.is_rejected`), no error of it can be trusted, because the
    numbers mean nothing beyond the model. Errors and intervals are then those of a
    quasi-likelihood: the covariance is multiplied by the estimated over-dispersion, `statistic /
    degrees`.

    Numbers on a bound are taken as known: their errors are 0, and those of the others too small if
    the truth lies beyond. Numbers that the data do not determine have infinite errors: the mean of
    a type without cells, or the shares of two types that cannot be distinguished. That is, their
    standard error would exceed the distance of their bounds.

    - `names`, `values`: of all numbers that were searched, and `lower` and `upper`, their bounds.
    - `standard_errors`, `covariance`: with the exact covariance of the bins: the measured cells are
      a sample of a population whose divisions were random, too.
    - `multinomial_errors`: as if only the drawing of the cells were random, without
      over-dispersion.
    - `types`: their names, with `proportions` and `proportion_errors`.
    - `undetermined_types`: those about whose divisions the data say nothing.
    - `goodness`: the goodness of fit.
    - `overdispersion`: the factor of `covariance`; 1 for a fit that is not rejected.
    """

    names: tuple[str, ...]
    values: Float[np.ndarray, " numbers"]
    lower: Float[np.ndarray, " numbers"]
    upper: Float[np.ndarray, " numbers"]
    standard_errors: Float[np.ndarray, " numbers"]
    covariance: Float[np.ndarray, "numbers numbers"]
    multinomial_errors: Float[np.ndarray, " numbers"]
    types: tuple[str, ...]
    proportions: Float[np.ndarray, " types"]
    proportion_errors: Float[np.ndarray, " types"]
    undetermined_types: tuple[str, ...]
    goodness: "Goodness"
    overdispersion: float

    @property
    def correlations(self) -> Float[np.ndarray, "numbers numbers"]:
        """Of the numbers; 0 with those on a bound, or that the data do not determine."""
        own = np.sqrt(np.diag(self.covariance))
        scale = np.where(own > 0, own, 1.0)
        return self.covariance / np.outer(scale, scale)

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float] | None]:
        """Confidence intervals from the normal approximation.

        They end at the bounds of the search; the interval of a parameter that the data do not
        determine covers all values between them.

        **Arguments:**

        - `level`: the confidence, between 0 and 1.

        **Returns:** the lower and the upper end by the name of the parameter (`fast mean`, in
        hours) or of the proportion (`fast proportion`). A parameter on a bound has `None`: the
        data favour values beyond the bound. It is taken as known in the intervals of proportions.
        """
        factor = float(ndtri((1 + level) / 2))
        low = np.maximum(self.values - factor * self.standard_errors, self.lower)
        high = np.minimum(self.values + factor * self.standard_errors, self.upper)
        numbers = zip(self.names, low.tolist(), high.tolist(), self.standard_errors, strict=True)
        found = {name: (a, b) if error > 0 else None for name, a, b, error in numbers}
        width = factor * self.proportion_errors
        low, high = np.maximum(self.proportions - width, 0), np.minimum(self.proportions + width, 1)
        for name, *interval in zip(self.types, low.tolist(), high.tolist(), strict=True):
            found[f"{name} proportion"] = (interval[0], interval[1])
        return found


@dataclass(frozen=True)
class Goodness:
    """Whether the model could have made the measured histogram.

    - `statistic`: the squared distance in standard deviations, with the exact covariance of bins
      pooled to 5 cells or more; `degrees`: its expectation if the model is right.
    - `p_value`: the probability of so large a distance then.
    - `deviance`: twice the logarithm of the ratio of the multinomial likelihoods of a perfect fit
      and this one.
    """

    statistic: float
    degrees: int
    p_value: float
    deviance: float

    @property
    def is_rejected(self) -> bool:
        """Whether the model does not fit: `p_value` is below 0.001."""
        return self.p_value < REJECTED

    @property
    def overdispersion(self) -> float:
        """How many times the residuals vary as much as the model allows, estimated by `statistic /
        degrees`, where it is rejected; else 1."""
        return self.statistic / self.degrees if self.is_rejected else 1.0

    @property
    def advice(self) -> str | None:
        """A sentence about a fit that is rejected, and its intervals."""
        if not self.is_rejected:
            return None
        effect = (
            f"They are widened {np.sqrt(self.overdispersion):.3g} times, for an over-dispersion of "
            f"{self.overdispersion:.3g} (quasi-likelihood)."
            if np.isfinite(self.overdispersion)
            else "They cover all values between the bounds."
        )
        problem = f"The model does not fit ({self.p_text})"
        return f"{problem}, so its intervals are not to be trusted. {effect}"

    @property
    def p_text(self) -> str:
        """The p value in words."""
        return f"p = {self.p_value:.3g}" if self.p_value > 0 else "p < 1e-300"


@dataclass(frozen=True, eq=False)
class Profile:
    """The likelihood along one number, with all others refitted for each of its values.

    - `name`, `values`: of the number.
    - `loss`: twice the loss of log-likelihood (multinomial) from its maximum.
    - `points`: `(values, numbers)` all numbers at each.
    - `overdispersion`: as in `Uncertainty`; it divides the loss of an interval.
    """

    name: str
    values: Float[np.ndarray, " values"]
    loss: Float[np.ndarray, " values"]
    points: Float[np.ndarray, "values numbers"]
    overdispersion: float = 1.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval in which the loss stays below its limit.

        The limit is the quantile of the asymptotic law, chi-square with one degree of freedom,
        times the over-dispersion of a fit that is rejected. Where the loss stays below it, the
        interval ends with the profile.

        **Arguments:**

        - `level`: the confidence, between 0 and 1.

        **Returns:** the lower and the upper end, in the unit of the parameter.
        """
        limit = float(chdtri(1, 1 - level)) * self.overdispersion
        best = int(np.argmin(self.loss))

        def crossing(indices: list[int]) -> float:
            for inner, outer in zip(indices, indices[1:], strict=False):
                if self.loss[outer] >= limit:
                    a, b = self.loss[inner], self.loss[outer]
                    w = (limit - a) / (b - a)
                    return float(self.values[inner] * (1 - w) + self.values[outer] * w)
            return float(self.values[indices[-1]])

        return (
            crossing(list(range(best, -1, -1))),
            crossing(list(range(best, self.values.size))),
        )


def uncertainty(calibration: Calibration) -> Uncertainty:
    """Compute the standard errors of a calibration at its optimum.

    They hold for a likelihood and for a Hellinger distance, whose minima have the same errors for
    many cells.

    **Arguments:**

    - `calibration`: the result of `calibrate`.

    **Returns:** an `Uncertainty`: standard errors, covariance and confidence intervals. Types that
    the data do not determine are listed, with infinite errors.

    **Warns:** `PoorFit` if the goodness of fit has a p value below 0.001: intervals are not to be
    trusted. They are widened for the estimated over-dispersion (quasi-likelihood).
    """
    result = _uncertainty(calibration)
    if result.goodness.advice is not None:
        warn(PoorFit(result.goodness.advice))
    return result


def _uncertainty(calibration: Calibration) -> Uncertainty:
    search, found = calibration.search, _information(calibration)
    total, free, p, slopes = calibration.observed.sum(), found.free, found.p, found.slopes
    mean, covariance = found.mean, found.covariance
    goodness = goodness_of_fit(calibration)
    dispersion = goodness.overdispersion
    drawn = drawn_on_host(mean, covariance, total)[np.ix_(found.seen, found.seen)]
    inverse = (found.vectors / np.maximum(found.weights, _LEAST)) @ found.vectors.T
    # The estimate moves by inverse @ slopes.T @ (residual / p): its covariance for any covariance
    # of the residuals.
    lever = inverse @ (slopes.T / p)
    exact = lever @ drawn @ lever.T
    if np.isfinite(dispersion) and goodness.is_rejected:
        exact *= dispersion
    of_shares = found.proportion_slopes
    scale = (search.upper - search.lower)[free]
    size = len(search.names)
    is_undetermined = np.zeros(size, bool)
    is_undetermined[free] = (np.diag(inverse) >= 1) | np.isinf(dispersion)
    # A law whose slopes all vanish is not determined on a bound, either.
    is_undetermined |= np.diag(found.all) < 1
    full, plain = np.zeros((size, size)), np.zeros(size)
    full[np.ix_(free, free)] = exact * np.outer(scale, scale)
    full[is_undetermined] = full[:, is_undetermined] = 0
    plain[free] = np.sqrt(np.maximum(np.diag(inverse), 0)) * scale
    errors = np.sqrt(np.maximum(np.diag(full), 0))
    shares = np.sqrt(np.maximum(np.diag(of_shares @ exact @ of_shares.T), 0))
    spread = np.diag(of_shares @ inverse @ of_shares.T)
    shares[(spread >= 1) | ((spread > 0) & np.isinf(dispersion))] = np.inf
    values = np.array([calibration.values[name] for name in search.names])
    types = calibration.model.names
    undetermined = [types[i] for i in search.numbers.types_of(is_undetermined)]
    return Uncertainty(
        names=search.names,
        values=values,
        lower=search.lower,
        upper=search.upper,
        standard_errors=np.where(is_undetermined, np.inf, errors),
        covariance=full,
        multinomial_errors=np.where(is_undetermined, np.inf, plain),
        types=types,
        proportions=found.proportions,
        proportion_errors=shares,
        undetermined_types=tuple(undetermined),
        goodness=goodness,
        overdispersion=dispersion,
    )


class _Information(NamedTuple):
    """The Fisher information of the numbers of a calibration, each over the distance of its bounds.

    - `free`: which numbers are on no bound; `weights` and `vectors` are eigenvalues and
      eigenvectors of the information of these, `all` that of all numbers.
    - `seen`: the bins that may have cells, and their shares `p` with `slopes` by the free numbers.
    - `proportions`: of the types, with their slopes by the free numbers.
    - `mean`, `covariance`: expected cells of the bins.
    """

    free: Bool[np.ndarray, " numbers"]
    weights: Float[np.ndarray, " free"]
    vectors: Float[np.ndarray, "free free"]
    all: Float[np.ndarray, "numbers numbers"]
    seen: Bool[np.ndarray, " bins"]
    p: Float[np.ndarray, " seen"]
    slopes: Float[np.ndarray, "seen free"]
    proportions: Float[np.ndarray, " types"]
    proportion_slopes: Float[np.ndarray, "types free"]
    mean: Float[np.ndarray, " bins"]
    covariance: Float[np.ndarray, "bins bins"]


#: What was computed of calibrations that are still there: `uncertainty` and `goodness_of_fit` need
#: the same.
_kept: WeakKeyDictionary[Calibration, _Information] = WeakKeyDictionary()


def _information(calibration: Calibration) -> _Information:
    """The information of a calibration, computed once."""
    if calibration not in _kept:
        _kept[calibration] = _computed(calibration)
    return _kept[calibration]


def _computed(calibration: Calibration) -> _Information:
    fit, search = _multinomial(calibration.fit), calibration.search
    free = np.array([name not in calibration.active for name in search.names])
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, _with_slopes(fit, jnp.asarray(calibration.point)))
    (p, proportions), (slopes, proportion_slopes) = found
    seen = p > 1e-12
    p, slopes = p[seen], slopes[seen]
    everything = calibration.observed.sum() * (slopes.T / p) @ slopes
    weights, vectors = np.linalg.eigh(everything[np.ix_(free, free)])
    shares = proportions, proportion_slopes[:, free]
    binned = expected(calibration.model).binned(calibration.bins, rule=BinRule.CALIBRATION)
    return _Information(
        free, weights, vectors, everything, seen, p, slopes[:, free], *shares, *binned
    )


def goodness_of_fit(calibration: Calibration) -> Goodness:
    """Compare the measured bins with the fitted model, beyond their own noise.

    **Arguments:**

    - `calibration`: the result of `calibrate`.

    **Returns:** a `Goodness`.
    """
    information = _information(calibration)
    statistic, residuals = squared_distance(
        information.mean, information.covariance, calibration.observed
    )
    fitted = int(np.sum(information.weights >= 1))  # the others are not determined
    degrees = max(residuals - fitted, 1)
    fit, total = _multinomial(calibration.fit), calibration.observed.sum()
    with jax.enable_x64(True):
        deviance = 2 * total * float(_value(fit, jnp.asarray(calibration.point)))
    return Goodness(statistic, degrees, float(chdtrc(degrees, statistic)), deviance)


def squared_distance(
    mean: Float[np.ndarray, " bins"],
    covariance: Float[np.ndarray, "bins bins"],
    observed: Float[np.ndarray, " bins"],
) -> tuple[float, int]:
    """The squared distance of measured from expected cells, in standard deviations, with the exact
    covariance of bins pooled to 5 cells or more; and the number of independent residuals."""
    total = observed.sum()
    groups = pooled(observed)
    sums = np.eye(groups[-1] + 1)[groups].T
    drawn = drawn_on_host(sums @ mean, sums @ covariance @ sums.T, total)
    residual = (sums @ observed - total * (sums @ mean) / mean.sum())[:-1]
    try:
        statistic = float(residual @ np.linalg.solve(drawn[:-1, :-1], residual))
    except np.linalg.LinAlgError:
        statistic = np.nan
    # Cells were measured where the model has none.
    return (np.inf if np.isnan(statistic) else statistic), residual.size


def profile(
    calibration: Calibration,
    name: str,
    *,
    num: int = 15,
    widths: float = 4.0,
    progress: ProgressLike = True,
) -> Profile:
    """Compute the profile likelihood of one parameter: the best fit at each of its values.

    **Arguments:**

    - `calibration`: the result of `calibrate`.
    - `name`: the parameter, which the calibration has searched.
    - `num`: the number of values on each side of the best one.
    - `widths`: how far the values reach, in standard errors, within the bounds of the search.
    - `progress`: as that of `calibrate`, for the values of the parameter.

    **Returns:** a `Profile`.

    **Raises:** `ValueError` for a name that was not searched.
    """
    search = calibration.search
    if name not in search.names:
        raise ValueError(f"there is no {name!r} (the numbers are {', '.join(search.names)})")
    index = search.names.index(name)
    fit = _multinomial(calibration.fit)
    lower, upper = search.lower[index], search.upper[index]
    uncertain = _uncertainty(calibration)
    errors = uncertain.standard_errors[index]
    reach = widths * errors / (upper - lower) if errors > 0 else 0.25
    all = 2 * num + 1
    with jax.enable_x64(True), progress_of(progress, "value", all) as report:
        best, value, _ = descend(fit, calibration.point)
        found = [(best[index], value, best)]
        for end in (max(best[index] - reach, 0.0), min(best[index] + reach, 1.0)):
            point = best
            for place in np.linspace(best[index], end, num + 1)[1:]:
                point = point.copy()
                point[index] = place  # from the fit beside it
                point, loss, _ = descend(fit, point, held=index)
                found.append((place, loss, point))
                report(len(found), all)
    found.sort(key=lambda item: item[0])
    least = min(loss for _, loss, _ in found)
    total = float(calibration.observed.sum())
    scale = search.upper - search.lower
    return Profile(
        name,
        np.array([lower + (upper - lower) * z for z, _, _ in found]),
        np.array([2 * total * (loss - least) for _, loss, _ in found]),
        np.array([search.lower + scale * z for _, _, z in found]),
        uncertain.overdispersion,
    )


def _multinomial(fit: Fit) -> Fit:
    if fit.objective is Objective.GAUSSIAN:
        return dataclasses.replace(fit, objective=Objective.MULTINOMIAL, pairs=None)
    return dataclasses.replace(fit, objective=Objective.MULTINOMIAL)


_value = jax.jit(Fit.value)


@jax.jit
def _with_slopes(fit: Fit, z: Float[Array, " numbers"]):
    """Shares of the bins and proportions of the types, and their derivatives."""

    def function(z: Array) -> tuple[Array, Array]:
        return fit.fractions(z), fit.parameters(z).proportions

    return function(z), jax.jacfwd(function)(z)
