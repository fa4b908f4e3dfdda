"""Gaussian processes: smooth functions of many inputs, from a few hundred noisy values."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


# Scales are found on this many rows, since that takes their third power; what matters most is most
# likely to be among them.
_FOR_SCALES = 320
_STEPS, _RATE = 60, 0.06

# Logarithms of what is likely before anything is seen, within a factor of e: lengths of several
# standard deviations, and small slopes; and of the variances that the search begins with.
_LENGTH, _SLOPE = np.log(6.0), np.log(0.1)
_VARIANCE, _OFFSET, _NOISE = np.log(0.3), np.log(1.0), np.log(3e-3)
_LEAST_NOISE = 1e-6


_Array = TypeVar("_Array", np.ndarray, Array)


@dataclass(frozen=True, eq=False)
class Process:
    """A function of standardised inputs z: `offset + slope @ z`, and the sum over the rows that it
    was fitted to of `weight * matern(squared distance)`, each input measured in its `length`."""

    offset: float
    slope: Float[np.ndarray, " inputs"]
    length: Float[np.ndarray, " inputs"]
    weight: Float[np.ndarray, " rows"]


def matern(squared: _Array, numpy: ModuleType = np) -> _Array:
    """The Matern kernel of order 5/2 by squared distances; `numpy` may be `jax.numpy`."""
    distance = numpy.sqrt(5 * numpy.maximum(squared, 1e-12))
    return (1 + distance + distance * distance / 3) * numpy.exp(-distance)


def fitted(
    z: Float[np.ndarray, "rows inputs"],
    y: Float[np.ndarray, " rows"],
    noise: Float[np.ndarray, " rows"],
) -> Process:
    """The mean of the process with a linear and a Matern kernel, whose scales are the most likely
    ones (Rasmussen & Williams 2006, chapters 2 and 5). `noise` are variances, up to a factor.

    **Raises:** `ValueError` where numbers are too far apart for it.
    """
    mean = float(y.mean())
    y = y - mean
    most = min(_FOR_SCALES, len(y))
    share = 1 / noise / (1 / noise).sum()
    some = np.random.default_rng(0).choice(len(y), most, replace=False, p=share)
    is_row = np.arange(_FOR_SCALES) < most  # one size, one compilation
    at = np.resize(some, _FOR_SCALES)
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, _scales(z[at], y[at], noise[at], is_row))
    kernel = _kernel(found, z, np) + np.diag(_noise(found, noise, np))
    weight = np.linalg.solve(kernel, y)
    if not np.all(np.isfinite(weight)):
        raise ValueError(
            "The timings are not a smooth function of the features: no scales were found."
        )
    return Process(
        offset=mean + float(np.exp(found["offset"]) * weight.sum()),
        slope=np.exp(2 * found["slope"]) * (z.T @ weight),
        length=np.exp(found["length"]),
        weight=np.exp(found["variance"]) * weight,
    )


@jax.jit
def _scales(z: Array, y: Array, noise: Array, is_row: Array) -> dict[str, Array]:
    """Logarithms of scales, by steps of Adam on their likelihood times what was likely before."""
    begin = {
        "length": jnp.full(z.shape[1], _LENGTH),
        "slope": jnp.full(z.shape[1], _SLOPE),
        "variance": jnp.asarray(_VARIANCE),
        "offset": jnp.asarray(_OFFSET),
        "noise": jnp.asarray(_NOISE),
    }

    def unlikelihood(scales: dict[str, Array]) -> Array:
        pairs = is_row[:, None] & is_row[None]
        own = jnp.where(is_row, _noise(scales, noise, jnp), 1)
        factor = jnp.linalg.cholesky(jnp.where(pairs, _kernel(scales, z, jnp), 0) + jnp.diag(own))
        white = jax.scipy.linalg.solve_triangular(factor, jnp.where(is_row, y, 0), lower=True)
        before = jnp.sum((scales["length"] - _LENGTH) ** 2 + (scales["slope"] - _SLOPE) ** 2)
        return (white @ white + before) / 2 + jnp.sum(jnp.log(jnp.diag(factor)))

    def step(i: Array, state: Any) -> Any:
        scales, first, second = state
        gradient = jax.grad(unlikelihood)(scales)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradient)
        rate = _RATE * jnp.sqrt(1 - 0.99 ** (i + 1.0)) / (1 - 0.9 ** (i + 1.0))
        move = lambda x, m, v: x - rate * m / (jnp.sqrt(v) + 1e-8)  # noqa: E731
        return jax.tree.map(move, scales, first, second), first, second

    zeros = jax.tree.map(jnp.zeros_like, begin)
    return jax.lax.fori_loop(0, _STEPS, step, (begin, zeros, zeros))[0]


def _kernel(scales: Any, z: Any, numpy: ModuleType) -> Any:
    """The covariance of all pairs of rows, without noise."""
    near, along = z * numpy.exp(-scales["length"])[None], z * numpy.exp(scales["slope"])[None]
    sizes = numpy.sum(near * near, axis=1)
    squared = sizes[:, None] + sizes[None] - 2 * near @ near.T
    smooth = numpy.exp(scales["variance"]) * matern(squared, numpy)
    return smooth + along @ along.T + numpy.exp(scales["offset"])


def _noise(scales: Any, noise: Any, numpy: ModuleType) -> Any:
    return numpy.exp(scales["noise"]) * noise + _LEAST_NOISE
