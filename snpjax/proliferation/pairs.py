"""Second moments of narrow normal laws, cell by cell of a pair.

A collocation would need ever more nodes as sd / duration goes to 0. Here mean / sd >= 6, so that
sums of division times are normal, and every integral is one over some thousand panels of one sd.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from .grid import legendre
from .start import Start


#: Narrower laws than this fraction of the duration are refused.
NARROWEST = 1e-5
_WIDTH = 9.0


def narrow_second_moments(
    mean: float, sd: float, duration: float, *, start: Start, generations: int
) -> Float[np.ndarray, "generations generations"]:
    """E[N_k N_l] of a normal law with mean / sd >= 6, to 2e-8 of the largest.

    Two cells of generations k and l that part at the (a + 1)-th division of their line, at time S,
    live on independently: of each such pair of positions, 2^(k + l - a - 1) ordered ones,
    P = E[P_(k - a - 1)(t - S) P_(l - a - 1)(t - S)], with P_k = E[N_k] / 2^k.
    """
    m, s = mean / duration, sd / duration
    x, w = legendre(8)
    panels = np.linspace(0.0, 1.0, int(np.ceil(1 / s)) + 1)
    step = np.diff(panels)
    time = (panels[:-1, None] + step[:, None] * x).ravel()
    weights = (step[:, None] * w).ravel()
    k = np.arange(generations + 1)[:, None]
    left = 1 - time[None, :]
    with np.errstate(divide="ignore"):
        reached = np.where(k == 0, 1.0, ndtr((left - k * m) / (s * np.sqrt(k))))
    means = 2.0 ** k[:-1] * (reached[:-1] - reached[1:])
    end = np.array([1.0])
    own = np.array([1.0, *(_reached(end, n, m, s, start)[0] for n in range(1, generations + 1))])
    found = np.diag(2.0 ** np.arange(generations) * (own[:-1] - own[1:]))
    for a in range(generations - 1):
        density = _density(time, a + 1, m, s, start) * weights
        some = means[: generations - a - 1]
        found[a + 1 :, a + 1 :] += 2.0 ** (a + 1) * (some * density) @ some.T
    return found


def _terms(time: np.ndarray, n: int, m: float, s: float, start: Start):
    """Nodes and weights over U, as far as the n-th division depends on it around `time`, the
    standard score there, the sd, and where that begins."""
    before = n - 1 if start is Start.RESIDUAL else n
    rest = n if start is Start.ASYNC else n - 1
    widest = rest + (4 if start is Start.STRETCH else 1)
    middle, width = time / m - before, _WIDTH * s * np.sqrt(widest) / m
    low, high = np.clip(middle - width, 0, 1), np.clip(middle + width, 0, 1)
    y, w = legendre(48)
    u = low[:, None] + (high - low)[:, None] * y
    sd = s * np.sqrt(rest + ((1 + u) ** 2 if start is Start.STRETCH else u**2))
    return (time[:, None] - (before + u) * m) / sd, sd, low, high, w


def _reached(time: np.ndarray, n: int, m: float, s: float, start: Start) -> np.ndarray:
    """P(the n-th division is not after `time`)."""
    if start is Start.SYNC:
        return ndtr((time - n * m) / (s * np.sqrt(n)))
    if start is Start.RESIDUAL and n == 1:
        return ndtr((time - m) / s) + time * _residual(time, m, s)
    z, _, low, high, w = _terms(time, n, m, s, start)
    return low + (high - low) * (ndtr(z) @ w)


def _density(time: np.ndarray, n: int, m: float, s: float, start: Start) -> np.ndarray:
    """The density of the n-th division."""
    if start is Start.SYNC:
        sd = s * np.sqrt(n)
        return np.exp(-(((time - n * m) / sd) ** 2) / 2) / (np.sqrt(2 * np.pi) * sd)
    if start is Start.RESIDUAL and n == 1:
        return _residual(time, m, s)
    z, sd, low, high, w = _terms(time, n, m, s, start)
    return (high - low) * ((np.exp(-z * z / 2) / (np.sqrt(2 * np.pi) * sd)) @ w)


def _residual(time: np.ndarray, m: float, s: float) -> np.ndarray:
    """The density of (1 - U) T: the integral of f(v) / v over v >= time."""
    y, w = legendre(64)
    low, high = (np.maximum(time, m + side * _WIDTH * s) for side in (-1, 1))
    v = np.maximum(low, 1e-9)[:, None] + (high - low)[:, None] * y
    f = np.exp(-(((v - m) / s) ** 2) / 2) / (np.sqrt(2 * np.pi) * s)
    return (high - low) * ((f / v) @ w)
