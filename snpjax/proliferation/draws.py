"""Random division times, each a function of the key and of the place of its cell in the population.

A cell is named by its family, the number of the initial cell that it descends from, and its node in
the tree of that family: the root is 1, the daughters of node n are 2 n and 2 n + 1. The 64 bits
that Threefry makes of (family, n) are the timers of the two daughters of n; so no draw depends on
what else is simulated, in which order, or on how many devices.
"""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32
from scipy.special import gammainccinv, gammaincinv, ndtr

from .law import Gamma, Law, Normal


#: Nodes whose words are not timers of daughters: type and timer of the root, and its offset.
ROOT = np.uint32(0)
OFFSET = np.uint32(0xFFFFFFFF)
#: Nodes are numbered in 32 bits, so that generations are 0 to 31.
MAX_GENERATION = 31

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
#: Scores beyond this have less than the probability 2^-32 of the rarest draw.
_WIDEST_SCORE = 6.6
_NUM_COEFFICIENTS = 48

_Words = UInt32[Array, " cells"]


def random_words(key: UInt32[Array, "2"], family: _Words, node: _Words) -> tuple[_Words, _Words]:
    """Two random words for each cell: Threefry-2x32 with 20 rounds (Salmon et al. 2011), the
    generator of `jax.random`, with the family and the node as its counter."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    x, y = family + keys[0], node + keys[1]
    for i in range(5):
        for rotation in _ROTATIONS[i % 2]:
            x = x + y
            y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x = x + keys[(i + 1) % 3]
        y = y + keys[(i + 2) % 3] + np.uint32(i + 1)
    return x, y


def uniform(words: _Words) -> tuple[Float[Array, " cells"], Float[Array, " cells"]]:
    """Uniform numbers u in (0, 1) and 1 - u, both exact near 0."""
    scale, half = np.float32(2.0**-31), np.float32(2.0**-32)
    low = (words >> np.uint32(1)).astype(jnp.int32)
    high = np.int32(2**31 - 1) - low
    return low.astype(jnp.float32) * scale + half, high.astype(jnp.float32) * scale + half


class NormalTimer(eqx.Module):
    """Draws of `Normal` by inversion, as fractions of the duration; single precision."""

    mean: Float[Array, ""]
    sd: Float[Array, ""]
    #: The probability that a normal time is positive, and that it is not.
    kept: Float[Array, ""]
    redrawn: Float[Array, ""]

    def __call__(self, words: _Words) -> Float[Array, " cells"]:
        # Long times have small q, whose tail is resolved best.
        u, rest = uniform(words)
        score = normal_score(u * self.kept, rest + u * self.redrawn)
        return jnp.maximum(self.mean - self.sd * score, np.float32(1e-30))


class GammaTimer(eqx.Module):
    """Draws of `Gamma` by inversion: the logarithm of its quantile is a smooth function of the
    normal score, of which these are Chebyshev coefficients."""

    coefficients: Float[Array, " coefficients"]

    def __call__(self, words: _Words) -> Float[Array, " cells"]:
        x = normal_score(*uniform(words)) * np.float32(1 / _WIDEST_SCORE)
        x = jnp.clip(x, -1, 1)
        before, last = jnp.zeros_like(x), jnp.zeros_like(x)
        for i in range(_NUM_COEFFICIENTS - 1, 0, -1):  # Clenshaw
            before, last = self.coefficients[i] + 2 * x * before - last, before
        return jnp.exp(self.coefficients[0] + x * before - last)


Timer = NormalTimer | GammaTimer


def timer_of(law: Law, duration: float) -> Timer:
    """The timer of a law with spread."""
    if isinstance(law, Normal):
        score = law.mean / law.sd
        numbers = law.mean / duration, law.sd / duration, float(ndtr(score)), float(ndtr(-score))
        return NormalTimer(*(jnp.asarray(x, jnp.float32) for x in numbers))
    assert isinstance(law, Gamma)
    return GammaTimer(jnp.asarray(_gamma_coefficients(law.shape, law.scale / duration)))


def _gamma_coefficients(shape: float, scale: float) -> Float[np.ndarray, " coefficients"]:
    n = 4 * _NUM_COEFFICIENTS
    x = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    z = x * _WIDEST_SCORE
    quantile = np.where(
        z < 0, gammaincinv(shape, ndtr(np.minimum(z, 0))), gammainccinv(shape, ndtr(-np.abs(z)))
    )
    # A small shape has times below the least number; they are instantaneous.
    values = np.log(np.maximum(quantile, 1e-300)) + math.log(scale)
    values = np.maximum(values, math.log(1e-30))
    coefficients = 2 / n * np.cos(np.outer(np.arange(_NUM_COEFFICIENTS), np.arccos(x))) @ values
    coefficients[0] /= 2
    return coefficients.astype(np.float32)


def normal_score(q: Float[Array, " cells"], rest: Float[Array, " cells"]) -> Float[Array, " cells"]:
    """The standard normal quantile of q, with `rest` = 1 - q, to 4e-7 (Giles 2012)."""
    w = -jnp.log(4 * q * rest)
    x = w - np.float32(2.5)
    middle = _horner(x, _CENTRAL)
    outer = _horner(jnp.sqrt(jnp.maximum(w, 5)) - np.float32(3), _TAIL)
    return np.float32(math.sqrt(2)) * (q - rest) * jnp.where(w < 5, middle, outer)


_CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


def _horner(x: Array, coefficients: tuple[float, ...]) -> Array:
    value = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        value = value * x + np.float32(c)
    return value
