"""Moments of the numbers of cells of one family, generation by generation, without a threshold.

Pure functions of JAX arrays, in whatever precision their arguments have: `jit`, `vmap` and `grad`
them. N_k is the number of cells of generation k alive after `duration`.

??? cite "Source"
    Renewal equations of an age-dependent branching process (Bellman and Harris 1952), where two
    daughters are born together and then independent: with f the density of the division time and
    (A g)(t) the integral of f(u) g(t - u) over [0, t],
    E[N_0] = 1 - F, E[N_k] = 2 A E[N_(k-1)], and
    E[N_k N_l] = A(2 E[N_(k-1) N_(l-1)] + 2 E[N_(k-1)] E[N_(l-1)]).
"""

import enum
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammainc, gammaincc, gammaln, ndtr
from jaxtyping import Array, Float

from .grid import Grid, legendre
from .start import Start


#: From this mean / sd on no more than 1e-9 of a normal law is negative.
NARROW = 6.0
_SQRT_TAU = float(np.sqrt(2 * np.pi))
#: A normal law ends this many sds from its mean.
_WIDTH = 7.5

_Scalar: TypeAlias = Float[Array, ""]
_Generations: TypeAlias = Float[Array, " generations"]
_Pairs: TypeAlias = Float[Array, "generations generations"]


class Method(enum.Enum):
    """How the moments of one type are computed.

    - `WIDE`: a normal law with mean / sd < 6, by collocation.
    - `NARROW`: a normal law with mean / sd >= 6, whose sums are normal to 2e-8.
    - `EITHER`: a normal law of traced parameters: whichever of the two holds.
    - `GAMMA`: sums of gamma times are gamma.
    - `FIXED`: sd = 0.
    - `QUIESCENT`: one cell of generation 0.
    """

    WIDE = "wide"
    NARROW = "narrow"
    EITHER = "either"
    GAMMA = "gamma"
    FIXED = "fixed"
    QUIESCENT = "quiescent"


class RenewalEquations(NamedTuple):
    """How the moments of one type are computed, of how many generations."""

    method: Method
    start: Start
    generations: int
    grid: Grid


class _Law(NamedTuple):
    """A law in fractions of the duration, as what the equations need of it."""

    density: Callable[[Array], Array]
    survival: Callable[[Array], Array]
    #: From here on the density is 0.
    end: _Scalar


def mean(
    equations: RenewalEquations, first: _Scalar, second: _Scalar, duration: _Scalar
) -> _Generations:
    """E[N_k] of k = 0, ..., `generations` - 1.

    **Arguments:**

    - `first`, `second`: mean and sd of a normal law, shape and scale of a gamma law, mean of a
      fixed one; in hours, but the shape.
    - `duration`: hours, 0 or more.
    """
    method, start, generations, grid = equations
    a, b, is_some = _scaled(method, first, second, duration)
    if method is Method.QUIESCENT:
        return _one(generations, a)
    if method is Method.FIXED:
        found = _fixed_mean(a, start, generations)
    elif method is Method.NARROW:
        found = _narrow_mean(a, b, start, generations)
    elif method is Method.WIDE:
        found = _wide_mean(a, b, start, generations, grid)
    elif method is Method.GAMMA:
        found = _gamma_mean(a, b, start, generations, grid)
    else:
        # The branch that is not used is given a law for which it holds, so that no gradient of it
        # is infinite.
        is_narrow = a >= NARROW * b
        narrow = _narrow_mean(a, jnp.where(is_narrow, b, a / NARROW), start, generations)
        wide = _wide_mean(a, jnp.where(is_narrow, a / NARROW, b), start, generations, grid)
        found = jnp.where(is_narrow, narrow, wide)
    return jnp.where(is_some, found, _one(generations, a))


def second_moments(
    equations: RenewalEquations, first: _Scalar, second: _Scalar, duration: _Scalar
) -> _Pairs:
    """E[N_k N_l], by collocation whatever the law; arguments as those of `mean`."""
    method, start, generations, grid = equations
    a, b, is_some = _scaled(method, first, second, duration)
    one = jnp.diag(_one(generations, a))
    if method is Method.QUIESCENT:
        return one
    if method is Method.FIXED:
        sizes = jnp.asarray(2.0 ** np.arange(generations), a.dtype)
        found = jnp.diag(_fixed_mean(a, start, generations) * sizes)
    else:
        law = _gamma_law(a, b) if method is Method.GAMMA else _normal_law(a, b)
        found = _second_moments(law, start, generations, grid)
    return jnp.where(is_some, found, one)


def _scaled(method: Method, first: _Scalar, second: _Scalar, duration: _Scalar):
    """The parameters in fractions of the duration, and whether there is any time at all."""
    is_some = duration > 0
    duration = jnp.where(is_some, duration, jnp.ones_like(duration))
    if method is Method.FIXED:  # the number of means in the duration, as it is said
        return duration / first, second, is_some
    first = first if method is Method.GAMMA else first / duration
    return first, second / duration, is_some


def _one(generations: int, like: _Scalar) -> _Generations:
    return jnp.asarray(np.arange(generations) == 0, like.dtype)


# ---- collocation


def _normal_law(m: _Scalar, s: _Scalar) -> _Law:
    whole = ndtr(m / s)

    def density(t: Array) -> Array:
        z = (t - m) / s
        return jnp.exp(-z * z / 2) / (_SQRT_TAU * s * whole)

    return _Law(density, lambda t: ndtr((m - t) / s) / whole, m + 9 * s)


def _gamma_law(shape: _Scalar, scale: _Scalar) -> _Law:
    def density(t: Array) -> Array:
        x = jnp.maximum(t / scale, jnp.finfo(t.dtype).tiny)
        return jnp.exp((shape - 1) * jnp.log(x) - x - gammaln(shape)) / scale

    def survival(t: Array) -> Array:
        return gammaincc(jnp.broadcast_to(shape, t.shape), t / scale)

    return _Law(density, survival, scale * (shape + 12 * jnp.sqrt(shape) + 40))


def _convolution(law: _Law, grid: Grid) -> Float[Array, "nodes nodes"]:
    """The matrix of A: from values at the nodes to those of the convolution with the density."""
    nodes = jnp.asarray(grid.nodes, law.end.dtype)[:, None]
    points = jnp.asarray(grid.points, law.end.dtype)[None, :]
    weights = jnp.asarray(grid.weights, law.end.dtype)[None, :]
    kernel = law.density(nodes * points) * nodes * weights
    return jnp.einsum("mq,mqn->mn", kernel, jnp.asarray(grid.values, law.end.dtype))


def _clock_zero(
    law: _Law, convolution: Array, generations: int, grid: Grid
) -> Float[Array, "generations nodes"]:
    """E[N_k] at the nodes, of a family whose first cell has just been born."""
    values = [law.survival(jnp.asarray(grid.nodes, law.end.dtype))]
    for _ in range(generations - 1):
        values.append(2 * convolution @ values[-1])
    return jnp.stack(values)


class _Beginning(NamedTuple):
    """How the start rule reads functions of time: as `weights @ values`, plus `never`, the
    probability that nothing begins at all, or that of no division."""

    weights: Float[Array, " nodes"]
    never: _Scalar
    #: Whether the weights are those of the first division, not of an offset before the clock.
    is_division: bool


def _beginning(law: _Law, start: Start, grid: Grid) -> _Beginning:
    dtype = law.end.dtype
    if start is Start.SYNC:
        return _Beginning(jnp.asarray(np.eye(grid.size)[-1], dtype), jnp.zeros((), dtype), False)
    weights, never = offset_density(law, start, grid)
    read = weights @ jnp.asarray(grid.offset_values, dtype)
    return _Beginning(read, never, start is not Start.ASYNC)


def offset_density(law: _Law, start: Start, grid: Grid) -> tuple[Float[Array, " offsets"], Array]:
    """Of U T', (1 - U) T or (1 + U) T: its density times the weights of the offsets of the grid,
    and the probability that it is more than the duration."""
    dtype = law.end.dtype
    s = jnp.asarray(grid.offsets, dtype)
    weights = jnp.asarray(grid.offset_weights, dtype)
    one = jnp.ones((1,), dtype)
    if start is Start.STRETCH:
        # (1 + U) T has the density of v / s in [1/2, 1]: integral of f(v) / v from s/2 to s.
        y, w = jnp.asarray(grid.tail, dtype), jnp.asarray(grid.tail_weights, dtype)
        inner = law.density(s[:, None] * (1 + y)[None, :] / 2) / (1 + y)[None, :]
        half = 1 / (1 + y)  # from 1/2 to 1: what is above 1 when stretched by U
        late = law.density(half) * (2 - 1 / half) * half**2
        never = law.survival(one)[0] + late @ w
        return weights * (inner @ w), never
    tail = _tail(law, jnp.concatenate([s, one]), grid)
    return weights * tail[:-1], law.survival(one)[0] - tail[-1]


def _tail(law: _Law, s: Float[Array, " offsets"], grid: Grid) -> Float[Array, " offsets"]:
    """The density of U T at s: the integral of f(v) / v over v >= s, with v = s (end / s)^y."""
    dtype = law.end.dtype
    y, w = jnp.asarray(grid.tail, dtype), jnp.asarray(grid.tail_weights, dtype)
    range_ = jnp.log(jnp.maximum(law.end / s, 1))
    v = s[:, None] * jnp.exp(range_[:, None] * y[None, :])
    return (law.density(v) @ w) * range_


def _read(begin: _Beginning, values: Float[Array, "generations nodes"]) -> _Generations:
    read = values @ begin.weights
    if begin.is_division:
        read = jnp.concatenate([jnp.zeros_like(read[:1]), 2 * read[:-1]])
    return read.at[0].add(begin.never)


def _wide_mean(m: _Scalar, s: _Scalar, start: Start, generations: int, grid: Grid) -> _Generations:
    law = _normal_law(m, s)
    values = _clock_zero(law, _convolution(law, grid), generations, grid)
    # The recursion leaves entries of -1e-13 of the largest; clipping inside it would be a bias.
    return jnp.maximum(_read(_beginning(law, start, grid), values), 0)


def _second_moments(law: _Law, start: Start, generations: int, grid: Grid) -> _Pairs:
    convolution = _convolution(law, grid)
    values = _clock_zero(law, convolution, generations, grid)
    begin = _beginning(law, start, grid)
    # Of generations k and k + d, as one array over d; row k + d of `values` is 0 from the end on.
    padded = jnp.concatenate([values, jnp.zeros_like(values)])
    shifted = jnp.stack([padded[d : d + generations] for d in range(generations)])
    rows = [jnp.zeros((generations, grid.size), law.end.dtype).at[0].set(values[0])]
    for k in range(1, generations):
        born = 2 * (rows[-1] + values[k - 1][None, :] * shifted[:, k - 1])
        rows.append(born @ convolution.T)
    if begin.is_division:
        born = [2 * (rows[k] + values[k][None, :] * shifted[:, k]) for k in range(generations - 1)]
        read = [jnp.zeros((generations,), law.end.dtype), *(x @ begin.weights for x in born)]
    else:
        read = [x @ begin.weights for x in rows]
    by_distance = jnp.stack(read).at[0, 0].add(begin.never)
    k = np.arange(generations)
    row, column = k[:, None], k[None, :]
    return jnp.maximum(by_distance[np.minimum(row, column), np.abs(row - column)], 0)


# ---- closed forms


def _differences(reached: Float[Array, " generations+1"]) -> _Generations:
    """E[N_k] = 2^k (F_k - F_(k+1)) from F_0, ..., F_generations."""
    sizes = jnp.asarray(2.0 ** np.arange(reached.shape[0] - 1), reached.dtype)
    return jnp.maximum(sizes * (reached[:-1] - reached[1:]), 0)


def _narrow_mean(m: _Scalar, s: _Scalar, start: Start, generations: int) -> _Generations:
    """Sums of normal times are normal; what redrawing changes is at most 2e-8 of the largest."""
    k = np.arange(1, generations + 1)
    if start is Start.SYNC:
        n = jnp.asarray(k, m.dtype)
        reached = ndtr((1 - n * m) / (s * jnp.sqrt(n)))
        return _differences(jnp.concatenate([jnp.ones_like(reached[:1]), reached]))
    # Given U = u the k-th division is at mean (k_0 + u) m and variance (k_0 + v(u)) s^2. The
    # integral over u is that over the width of the transition; before it is 1, after it 0.
    before = k - 1 if start is Start.RESIDUAL else k
    others = k - 1 if start is not Start.ASYNC else k
    base = jnp.asarray(before, m.dtype)
    rest = jnp.asarray(others, m.dtype)
    largest = rest + (4 if start is Start.STRETCH else 1)
    middle, width = 1 / m - base, _WIDTH * s * jnp.sqrt(largest) / m
    low, high = jnp.clip(middle - width, 0, 1), jnp.clip(middle + width, 0, 1)
    y, w = (jnp.asarray(x, m.dtype) for x in legendre(48))
    u = low[:, None] + (high - low)[:, None] * y[None, :]
    own = (1 + u) ** 2 if start is Start.STRETCH else u**2
    z = (1 - (base[:, None] + u) * m) / (s * jnp.sqrt(rest[:, None] + own))
    reached = low + (high - low) * (ndtr(z) @ w)
    if start is Start.RESIDUAL:
        # The transition of (1 - U) T is narrower, the nearer U is to 1: integrated over T instead.
        bottom, top = jnp.maximum(m - _WIDTH * s, 1), jnp.maximum(m + _WIDTH * s, 1)
        v = bottom + (top - bottom) * y
        late = (top - bottom) * (jnp.exp(-(((v - m) / s) ** 2) / 2) / v) @ w
        reached = reached.at[0].set(ndtr((1 - m) / s) + late / (_SQRT_TAU * s))
    return _differences(jnp.concatenate([jnp.ones_like(reached[:1]), reached]))


def _fixed_mean(means: _Scalar, start: Start, generations: int) -> _Generations:
    """The k-th division is k means after a beginning that is uniform, or certain."""
    k = jnp.asarray(np.arange(1, generations + 1), means.dtype)
    if start is Start.SYNC:
        reached = (means >= k).astype(means.dtype)  # a division at exactly the end happens
    else:
        reached = jnp.clip(means - (k - 1 if start is Start.RESIDUAL else k), 0, 1)
    return _differences(jnp.concatenate([jnp.ones_like(reached[:1]), reached]))


def _gamma_mean(
    shape: _Scalar, scale: _Scalar, start: Start, generations: int, grid: Grid
) -> _Generations:
    """Sums of k gamma times of one scale are gamma with shape k times as large."""
    if start is Start.SYNC:
        return _gamma_clock_zero(shape, scale, jnp.ones((1,), shape.dtype), generations)[:, 0]
    law = _gamma_law(shape, scale)
    weights, never = offset_density(law, start, grid)
    left = 1 - jnp.asarray(grid.offsets, shape.dtype)
    values = _gamma_clock_zero(shape, scale, left, generations)
    return _read(_Beginning(weights, never, start is not Start.ASYNC), values)


def _gamma_clock_zero(
    shape: _Scalar, scale: _Scalar, times: Float[Array, " times"], generations: int
) -> Float[Array, "generations times"]:
    k = jnp.asarray(np.arange(1, generations + 1), shape.dtype)
    shapes, x = jnp.broadcast_arrays((k * shape)[:, None], (times / scale)[None, :])
    reached = gammainc(shapes, x)
    reached = jnp.concatenate([jnp.ones_like(reached[:1]), reached])
    return jax.vmap(_differences, in_axes=1, out_axes=1)(reached)
