"""How far a prediction is from what was measured."""

import enum

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .binning import NO_BIN, check_bins
from .family import family_mean_slopes, mixed_covariance, mixed_means
from .program import Parameters, ProliferationProgram
from .search import ParameterVector


#: Under the square root of an empty bin, for its gradient.
FLOOR = 1e-12


class Objective(enum.Enum):
    """What a calibration makes as small as possible.

    - `HELLINGER` (default): the squared Hellinger distance of the expected histogram, scaled to the
      number of cells measured, over that number.
    - `MULTINOMIAL`: minus the logarithm of the likelihood of the measured cells, drawn from the
      expected histogram, relative to that of a perfect fit; per cell.
    - `GAUSSIAN`: the same with the exact covariance: that of the drawing, and that of the divisions
      before, which makes bins depend on each other. It is slower, and wants an sd of 2 % of the
      duration or more.
    """

    HELLINGER = "hellinger"
    MULTINOMIAL = "multinomial"
    GAUSSIAN = "gaussian"


def hellinger(
    simulated: Float[np.ndarray, " bins"], observed: Float[np.ndarray, " bins"]
) -> tuple[float, float]:
    """The Hellinger distance of two histograms.

    **Arguments:**

    - `simulated`: `(bins,)` cells, scaled to the total of `observed`.
    - `observed`: `(bins,)` cells.

    **Returns:** the distance in counts, and the normalised distance in [0, 1].
    """
    simulated, observed = np.asarray(simulated, float), np.asarray(observed, float)
    total = observed.sum()
    scaled = simulated * (total / simulated.sum())
    distance = np.sqrt(((np.sqrt(scaled) - np.sqrt(observed)) ** 2).sum() / 2)
    return float(distance), float(distance / np.sqrt(total))


class Fit(eqx.Module):
    """An objective as a function of numbers between 0, the lower bounds, and 1, the upper ones.

    - `weights`: cells that one expected cell of each generation puts into each bin.
    - `pairs`: the same of two generations and two bins, `None` unless needed.
    - `observed`: measured cells.
    """

    program: ProliferationProgram
    fixed: Parameters
    weights: Float[Array, "bins generations"]
    pairs: Float[Array, "pairs both"] | None
    observed: Float[Array, " bins"]
    lower: Float[Array, " numbers"]
    upper: Float[Array, " numbers"]
    meaning: ParameterVector = eqx.field(static=True)
    objective: Objective = eqx.field(static=True)

    def numbers(self, z: Float[Array, " numbers"]) -> Float[Array, " numbers"]:
        return self.lower + (self.upper - self.lower) * z

    def parameters(self, z: Float[Array, " numbers"]) -> Parameters:
        return self.meaning.parameters(self.numbers(z), self.fixed)

    def fractions(self, z: Float[Array, " numbers"]) -> Float[Array, " bins"]:
        """The expected share of each bin."""
        return self._shares(mixed_means(self.program, self.parameters(z)))

    def _shares(self, means: Float[Array, " generations"]) -> Float[Array, " bins"]:
        mean = self.weights @ means
        return mean / jnp.sum(mean)

    def value(self, z: Float[Array, " numbers"]) -> Float[Array, ""]:
        """The objective."""
        if self.objective is Objective.GAUSSIAN:
            return self._gaussian(z) / jnp.sum(self.observed)
        return self._distance(mixed_means(self.program, self.parameters(z)))

    def value_and_gradient(
        self, z: Float[Array, " numbers"]
    ) -> tuple[Float[Array, ""], Float[Array, " numbers"]]:
        """The objective and its gradient."""
        if self.objective is Objective.GAUSSIAN:
            return jax.value_and_grad(self.value)(z)
        parameters, back = jax.vjp(self.parameters, z)
        means, slopes = family_mean_slopes(self.program, parameters)

        def distance(means: Array, proportions: Array) -> Array:
            return self._distance(proportions @ means)

        value, (by_means, by_proportions) = jax.value_and_grad(distance, (0, 1))(
            means, parameters.proportions
        )
        first, second = jnp.einsum("dtk,tk->dt", slopes, by_means)
        nothing = jnp.zeros_like(parameters.duration)
        return value, *back(Parameters(by_proportions, first, second, nothing))

    def _distance(self, means: Float[Array, " generations"]) -> Float[Array, ""]:
        p, total = self._shares(means), jnp.sum(self.observed)
        if self.objective is Objective.HELLINGER:
            expected = jnp.sqrt(jnp.maximum(p * total, FLOOR))
            return jnp.sum((expected - jnp.sqrt(self.observed)) ** 2) / (2 * total)
        share = self.observed / total
        seen = jnp.where(share > 0, share, 1)
        return jnp.sum(jnp.where(share > 0, share * jnp.log(seen / jnp.maximum(p, FLOOR)), 0))

    def _gaussian(self, z: Float[Array, " numbers"]) -> Float[Array, ""]:
        assert self.pairs is not None
        parameters = self.parameters(z)
        mean = self.weights @ mixed_means(self.program, parameters)
        bins = mean.shape[0]
        of_cells = mixed_covariance(self.program, parameters).ravel() @ self.pairs
        total = jnp.sum(self.observed)
        covariance = drawn_covariance(mean, of_cells.reshape(bins, bins), total)
        # Totals are equal, so that one bin follows from the others.
        residual = (self.observed - total * mean / jnp.sum(mean))[:-1]
        root = jnp.linalg.cholesky(covariance[:-1, :-1])
        half = jax.scipy.linalg.solve_triangular(root, residual, lower=True)
        return jnp.sum(half**2) / 2 + jnp.sum(jnp.log(jnp.diagonal(root)))


def drawn_covariance(
    mean: Float[Array, " bins"], covariance: Float[Array, "bins bins"], total: Float[Array, ""]
) -> Float[Array, "bins bins"]:
    """The covariance of `total` measured cells in bins, drawn from a final population with this
    mean and covariance: of the drawing, and of the shares it draws from."""
    size = jnp.sum(mean)
    p = mean / size
    centred = covariance - p[:, None] * jnp.sum(covariance, 0)[None, :]
    centred = centred - jnp.sum(centred, 1)[:, None] * p[None, :]
    of_drawing = total * (jnp.diag(p) - p[:, None] * p[None, :])
    return of_drawing + total * (total - 1) * centred / size**2


def drawn_on_host(
    mean: Float[np.ndarray, " bins"], covariance: Float[np.ndarray, "bins bins"], total: float
) -> Float[np.ndarray, "bins bins"]:
    """`drawn_covariance` of host arrays, in double precision."""
    with jax.enable_x64(True):
        given = (jnp.asarray(x, jnp.float64) for x in (mean, covariance, total))
        return np.asarray(drawn_covariance(*given))


def weights_of(
    index: Int[np.ndarray, "channels generations"], counts: Int[np.ndarray, " channels"], bins: int
) -> Float[np.ndarray, "bins generations"]:
    """`Fit.weights`."""
    weights = np.zeros((bins, index.shape[1]))
    channel, k = np.nonzero(index != NO_BIN)
    np.add.at(weights, (index[channel, k], k), counts[channel])
    return weights


def pairs_of(
    index: Int[np.ndarray, "channels generations"], counts: Int[np.ndarray, " channels"], bins: int
) -> Float[np.ndarray, "pairs both"]:
    """`Fit.pairs`."""
    generations = index.shape[1]
    check_bins(bins, lambda num: 2 * 8 * (generations * num) ** 2)
    pairs = np.zeros((generations**2, bins**2))
    for k in range(generations):
        for other in range(generations):
            is_in = (index[:, k] != NO_BIN) & (index[:, other] != NO_BIN)
            both = index[is_in, k] * bins + index[is_in, other]
            np.add.at(pairs[k * generations + other], both, counts[is_in])
    return pairs
